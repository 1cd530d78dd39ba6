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
LIMITS = [(4, 300, 1024, 896), (2, 90, 8832, 8832), (3, 120, 1408, 1408), (12, 2000, 512, 512)]


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
        self.traffic = generate.Traffic(self.random, limits)
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


def split(words, p):
    """The chunks that words travel in."""
    return [words[at:at + p] for at in range(0, len(words), p)]


def add(kind, ranks, p):
    """The sum of what ranks have, chunk by chunk as a switch adds them."""
    total = ranks[0]
    for words in ranks[1:]:
        pairs = zip(split(total, p), split(words, p))
        total = b"".join(codec.combine_words(kind, a, b)[0] for a, b in pairs)
    return total


def close_words(pick, width, world, count):
    """What a rank sends: of 16 bits no more than their share, so that no sum wraps."""
    limit = 32767 // world if width == 2 else 1 << 31
    values = [pick.choice((-limit, limit - (width == 4), pick.randrange(-limit, limit)))
              for _ in range(count)]
    return b"".join(value.to_bytes(width, "big", signed=True) for value in values)


def closes(path, seed, sums):
    """The sums that were compared, or None: CLOSE of hosts, and that CLOSEs add up to that of the sum."""
    pick, driver = random.Random(seed), Driver(path, LIMITS[0])
    for number in range(sums):
        width, world, p = pick.choice((2, 4)), pick.choice((1, 2, 3, 8, 1000)), 128 * pick.randrange(1, 5)
        count = max(1, pick.randrange(4) * p // width + pick.randrange(-1, 40))
        kind = codec.ADD16 if width == 2 else codec.ADD32
        ranks = [close_words(pick, width, world, count) for _ in range(min(world, 8))]
        own = [codec.close_payload(width, words) for words in ranks]
        _, out = driver.ask("close", width, p, ranks[0].hex())
        if out != [((0, codec.ADD32), own[0])]:
            print("CLOSE of %d words of %d bytes, seed %d: %s, not %s"
                  % (count, width, seed, out, own[0].hex()))
            return None
        if not codec.close_verifies(width == 2, add(codec.ADD32, own, p), width, add(kind, ranks, p)):
            print("CLOSE of sum %d of seed %d does not verify the sum" % (number, seed))
            return None
    driver.close()
    return sums


def main():
    words = [word for word in sys.argv[1:] if word != "-v"]
    if len(words) > 2 or not all(word.isdecimal() for word in words):
        raise SystemExit(__doc__.strip())
    numbers = [int(word) for word in words] + [None, None]
    path = os.environ.get("SECOND_DRIVER", DRIVER)
    sums = closes(path, numbers[1] or 1, 400)
    done = run(path, numbers[0] or 24000, numbers[1] or 1)
    if done is None or sums is None:
        return 1
    total, counts = done
    if "-v" in sys.argv:
        print("\n".join("%8d %s" % (count, name) for name, count in sorted(counts.items())))
    print("%d packets through the switch and %d sums of CLOSE at a host and a second implementation, no "
          "difference; %d counters" % (total, sums, len(counts)))
    return 0


sys.exit(main())
