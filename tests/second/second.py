#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Runs random sessions through the switch and through the model written from docs/protocol.md.

usage: [SECOND_DRIVER=PROGRAM] second.py [PACKETS [SEED]] [-v]

PROGRAM is built from driver.c; without the variable it is where `make` puts it. The first packet on
which the two differ is shown with both answers.
"""

import os
import random
import subprocess
import sys

sys.dont_write_bytecode = True

import codec
import generate
import model

DRIVER = "build/release/tests/second/driver"

SESSION = 1000
LIMITS = [(4, 300, 1024, 896), (2, 90, 8832, 8832), (3, 120, 1408, 1408)]


class Driver:
    def __init__(self, path, limits):
        try:
            self.process = subprocess.Popen([path] + [str(n) for n in limits],
                                            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                            text=True)
        except OSError as error:
            raise SystemExit("%s: %s: `make check-explore` builds it; SECOND_DRIVER says where it is"
                             % (path, error.strerror))

    def ask(self, *words):
        """(counter, [(address, packet)])"""
        counter, out = None, []
        self.process.stdin.write(" ".join(str(word) for word in words) + "\n")
        self.process.stdin.flush()
        for line in self.process.stdout:
            if line[0] == ".":
                return counter, out
            if line[0] == "=":
                counter = line[2:-1]
            else:
                _, ip, port, data = line.split()
                out.append(((int(ip), int(port)), bytes.fromhex(data)))
        raise SystemExit("the driver ended: %s" % (self.process.wait(),))

    def close(self):
        self.process.stdin.close()
        if self.process.wait():
            raise SystemExit("the driver ended with status %d" % self.process.returncode)


def describe(packet):
    try:
        head = codec.parse_header(packet)
    except codec.Drop:
        return packet.hex() or "(empty)"
    names = ("type", "version", "flags", "kind", "handle", "epoch", "slot", "round", "desc", "wid")
    text = " ".join("%s=%x" % (name, getattr(head, name)) for name in names)
    body = {codec.JOIN: codec.parse_join_body, codec.STATUS: codec.parse_status_body,
            codec.END: codec.parse_status_body}.get(head.type)
    if body and (head.type != codec.JOIN or len(head.payload) >= codec.JOIN_LEN):
        text += " | " + " ".join("%s=%s" % item for item in vars(body(head.payload)).items()
                                 if item[1] and item[0] != "padding")
    else:
        text += " | " + head.payload[:64].hex()
    return "%d bytes: %s" % (len(packet), text)


def show(who, answer):
    print("%s: %s" % (who, answer[0]))
    for address, packet in sorted(answer[1]):
        print("    to %d:%d %s" % (*address, describe(packet)))


class Session:
    """One switch, one model and the traffic through both."""

    def __init__(self, path, limits, seed):
        self.random = random.Random(seed)
        self.driver = Driver(path, limits)
        self.limits, self.seed, self.counts = limits, seed, {}
        self.traffic = generate.Traffic(self.random, limits[2])
        self.start()

    def start(self):
        traffic = self.traffic
        self.driver.ask("start", traffic.now, traffic.wall)
        self.model = model.Switch(self.limits, traffic.now)

    def step(self):
        word, address, packet = self.traffic.next_line()
        now, wall = self.traffic.now, self.traffic.wall
        if word == "start":
            self.start()
            return True
        answer = self.driver.ask(word, now, wall, *address, packet.hex())
        if word == "gone":
            own = self.model.gone(now, wall, address)
        else:
            own = self.model.input(now, wall, address, packet)
        self.counts[own[0]] = self.counts.get(own[0], 0) + 1
        if (own[0], sorted(own[1])) != (answer[0], sorted(answer[1])):
            print("%s at %d ns from %d:%d: %s" % (word, now, *address, describe(packet)))
            show("switch", answer)
            show("model", own)
            return False
        for to, out in answer[1]:
            self.traffic.hear(to, out)
        return True


def run(path, packets, first):
    """(packets, counters seen), or None when the two differ."""
    total, counts = 0, {}
    for seed in range(first, first + (packets + SESSION - 1) // SESSION):
        session = Session(path, LIMITS[seed % len(LIMITS)], seed)
        for number in range(SESSION):
            if not session.step():
                print("they differ at packet %d of seed %d; again: %s %d %d"
                      % (number, seed, sys.argv[0], SESSION, seed))
                return None
        session.driver.close()
        total += SESSION
        for name, count in session.counts.items():
            counts[name] = counts.get(name, 0) + count
    return total, counts


def main():
    words = [word for word in sys.argv[1:] if word != "-v"]
    if len(words) > 2 or not all(word.isdecimal() for word in words):
        raise SystemExit(__doc__.strip())
    numbers = [int(word) for word in words] + [None, None]
    done = run(os.environ.get("SECOND_DRIVER", DRIVER), numbers[0] or 24000, numbers[1] or 1)
    if done is None:
        return 1
    total, counts = done
    if "-v" in sys.argv:
        print("\n".join("%8d %s" % (count, name) for name, count in sorted(counts.items())))
    print("%d packets through the switch and a second implementation, no difference; %d counters"
          % (total, len(counts)))
    return 0


sys.exit(main())
