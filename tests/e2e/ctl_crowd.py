#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""ctl_crowd.py SOCKET - clients of a control socket (a path, or @NAME) that nobody wants, until SIGTERM.

They say nonsense, ask without reading the answers, hold connections open, come by the dozen and vanish in
the middle of it.
"""

import random
import signal
import socket
import sys

CROWD = 24
NONSENSE = (b"", b"x", b"/", b"/tally", b"/tally/stalls,-1", b"/tally/slot,99999999999999999999,job",
            b"/tally/job," + b"j" * 1000, b"/" * 1025, b"\x00" * 8, b"\xff" * 64, b"/help,", b"/tally/reset,1,job",
            b"/tally/impair,1:", b"/tally/jobs,18446744073709551615")


def converse(client, rng):
    """One thing or the other; False: this one is done with."""
    what = rng.randrange(5)
    if what == 0:
        return False
    if what == 1:
        client.send(rng.choice(NONSENSE))
    elif what == 2:
        client.send(rng.randbytes(rng.randrange(1, 2000)))
    elif what == 3:
        for _ in range(50):
            client.send(b"/tally/counters")
    else:
        client.recv(65536)
    return True


def main():
    rng = random.Random(7)
    clients = []
    done = []
    conversations = 0
    path = sys.argv[1]
    if path.startswith("@"):
        path = "\0" + path[1:]
    signal.signal(signal.SIGTERM, lambda *_: done.append(True))
    while not done:
        if len(clients) < CROWD:
            client = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            client.setblocking(False)
            try:
                client.connect(path)
                clients.append(client)
            except BlockingIOError:
                client.close()
        if not clients:
            continue
        client = rng.choice(clients)
        try:
            stays = converse(client, rng)
        except BlockingIOError:
            stays = True
        except OSError:
            stays = False
        if not stays:
            clients.remove(client)
            client.close()
            conversations += 1
            if conversations % 1000 == 0:
                print(conversations, "conversations", flush=True)


if __name__ == "__main__":
    main()
