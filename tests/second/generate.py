# SPDX-License-Identifier: BSD-3-Clause
"""Random sessions: ranks that join, contribute, leave and end, and a network that misbehaves."""

import codec

IP = 0x0a000001
START_WALL = 1_700_000_000_000
CAUSES = (codec.ABORTED, codec.MISMATCH, codec.GONE, codec.CORRUPTED, codec.DEVICE, 0)


def is_of_a_switch(packet):
    """Whether it speaks for several ranks, as switches do among themselves: see section 8."""
    if len(packet) < codec.HEADER.size + 106:
        return False
    head = codec.parse_header(packet)
    asks = head.type == codec.KEEPALIVE and head.handle == 0 and any(head.payload)
    return asks or head.type == codec.JOIN and any(head.payload[104:106])


class Rank:
    """A rank that means well: it learns handle and epoch from the STATUS messages it gets."""

    def __init__(self, random, name, wid, plan):
        self.random, self.name, self.wid, self.plan = random, name, wid, plan
        self.address_base = (IP + wid, 40000 + 100 * plan["index"])
        self.incarnation = random.getrandbits(64) | 1
        self.base, self.handle, self.epoch, self.rounds = 0, 0, 0, {}
        self.running, self.missed = False, 0

    def address(self):
        ip, port = self.address_base
        return ip, port + self.random.randrange(self.plan["ports"])

    def restart(self):
        self.__init__(self.random, self.name, self.wid, self.plan)

    def status(self, head):
        body = codec.parse_status_body(head.payload)
        if body.state == codec.UNKNOWN and head.handle == self.handle:
            self.running = False
        if body.key != codec.fnv1a(self.name) or body.state not in (codec.FORMING, codec.RUNNING):
            return
        running = body.state == codec.RUNNING
        if running and body.incarnation == self.incarnation and head.epoch > self.base:
            self.handle, self.epoch, self.base = head.handle, head.epoch, head.epoch
            self.running, self.rounds, self.slots, self.p = True, {}, body.slots, body.p
        elif head.epoch > self.epoch:
            self.handle, self.running = head.handle, False
            self.base = max(self.base, head.epoch if running else head.epoch - 1)

    def result(self, head):
        if self.running and head.epoch == self.epoch and self.rounds.get(head.slot) == head.round:
            self.rounds[head.slot] = head.round + 1

    def join(self):
        plan, ranges = self.plan, ()
        if self.random.random() < 0.05:
            pair = self.random.choice((0, 0, 1)), plan["world"]
            ranges = (pair,) * self.random.choice((1, 1, 2))
        return codec.build(codec.JOIN, codec.build_join_body(
            max(codec.JOIN_LEN, plan["p"]), incarnation=self.incarnation, base=self.base,
            world=plan["world"], slots=plan["slots"], p=plan["p"], port=self.address_base[1],
            ports=plan["ports"], flags=plan["fixed"] | plan["check"], name=self.name, ranges=ranges), wid=self.wid)

    def data(self):
        """What this rank would (re)transmit now; all ranks agree on kind, length and descriptor."""
        slot = self.random.choice(self.plan["used"])
        if slot >= codec.SE:
            slot = codec.SE + (slot - codec.SE) % self.slots
        rnd = self.rounds.setdefault(slot, 0)
        mix = (slot * 7919 + rnd * 104729) & 0xffff
        kind = codec.MAX8 if slot < codec.SE else 1 + mix % 5
        size = min(self.p, 32 * (1 + mix % 4))
        values = self.random.randbytes(size)
        flags = 0
        if self.random.random() < 0.12:
            flags, values = codec.EMPTY, bytes(32)
        elif kind == codec.ADD32SAT and self.random.random() < 0.1:
            flags = codec.SATURATED
        return codec.build(codec.DATA, values, kind=kind, flags=flags, handle=self.handle,
                           epoch=self.epoch, slot=slot, round=rnd, desc=mix * 65537, wid=self.wid)

    def talk(self):
        kind = self.random.choices((codec.KEEPALIVE, codec.END, codec.LEAVE), (8, 1, 2))[0]
        body = bytes(codec.LEAVE_LEN if kind == codec.LEAVE else codec.KEEPALIVE_LEN)
        where = {}
        if kind == codec.END:
            body = codec.build_status_body(codec.STATUS_LEN, cause=self.random.choice(CAUSES),
                                           a=self.wid, b=self.random.randrange(4),
                                           desc_a=self.random.randbytes(32), desc_b=bytes(32))
        elif kind == codec.KEEPALIVE:
            where = dict(slot=self.random.choice(self.plan["used"]), round=self.random.randrange(4))
        return codec.build(kind, body, handle=self.handle, epoch=self.epoch, wid=self.wid, **where)

    def next_packet(self):
        packet = self.next_message()
        return codec.seal(packet) if self.plan["check"] else packet

    def next_message(self):
        if not self.running:
            return self.join() if self.random.random() < 0.97 else self.talk()
        return self.data() if self.random.random() < 0.985 else self.talk()


class Traffic:
    """The packets of several jobs over time, as (line's first word, now, wall, address, packet)."""

    def __init__(self, random, limits):
        self.random, self.p_max = random, limits[2]
        # Where there are places and slots for many, jobs that want more of them than is theirs.
        self.slots, most = ((1, 2, 16, 40), 4) if limits[0] <= 4 else ((2, 40, 300, 700), 16)
        self.now, self.wall, self.past, self.ranks = 1_000_000_000, START_WALL, [], []
        for index in range(random.choice((1, 2, most))):
            self.add_job(index)

    def add_job(self, index):
        pick = self.random
        name = b"job-%d-%d" % (index, pick.randrange(3))
        world = pick.choice((1, 2, 2, 3, 5))
        plan = dict(index=index, world=world, slots=pick.choice(self.slots), fixed=0,
                    p=pick.choice((128, 256, 1024)), ports=pick.choice((1, 1, 4)),
                    check=pick.choice((0, codec.CHECK)),
                    used=sorted({pick.randrange(3), codec.SE, codec.SE + pick.randrange(40)}))
        for wid in range(world):
            mine = dict(plan)
            if pick.random() < 0.1:
                mine["p"] = pick.choice((128, 512, 1408))
            if pick.random() < 0.1:
                mine["fixed"] = 1
            if pick.random() < 0.2:
                mine["slots"] = pick.choice((1, 3, 64))
            if pick.random() < 0.08:
                mine["check"] ^= codec.CHECK
            if pick.random() < 0.02:
                mine["world"] = world % 5 + 1
            self.ranks.append(Rank(pick, name, min(wid, mine["world"] - 1), mine))

    def pass_time(self):
        step = self.random.choices((0, 200_000, 3_000_000, 400_000_000, 1_100_000_000,
                                    70_000_000_000, 1_000_000_000_000),
                                   (60, 250, 80, 6, 3, 0.3, 0.1))[0]
        self.now += step
        self.wall = START_WALL + self.now // 1_000_000

    def next_line(self):
        self.pass_time()
        dice = self.random.random()
        rank = self.random.choice(self.ranks)
        if dice < 0.001:
            return "start", None, b""
        if dice < 0.003:
            return "gone", rank.address(), b""
        if dice < 0.006:
            rank.restart()
        if self.past and dice > 0.9:
            address, packet = self.random.choice(self.past)
        else:
            address, packet = rank.address(), rank.next_packet()
            self.past = self.past[-400:] + [(address, packet)]
        if 0.7 < dice < 0.71:
            address, packet = self.rival(rank)
        if dice > 0.985:
            address = self.random.choice(self.ranks).address()
        if 0.8 < dice < 0.84:
            spoilt = self.spoil(packet)
            packet = packet if is_of_a_switch(spoilt) else spoilt
        return "packet", address, packet

    def rival(self, rank):
        """A JOIN for a rank that another process may hold."""
        plan = dict(rank.plan, index=rank.plan["index"] + 50)
        other = Rank(self.random, rank.name, rank.wid, plan)
        other.base = rank.base
        return other.address(), other.next_packet()

    def spoil(self, packet):
        """One field is not what it should be."""
        pick = self.random
        sealed = len(packet) % 32 == (codec.HEADER.size + codec.SEAL) % 32
        if pick.random() < 0.1:
            return packet[:-codec.SEAL] if sealed else codec.seal(packet)
        if sealed and pick.random() < 0.5:
            return codec.seal(self.spoil_field(packet[:-codec.SEAL]))
        return self.spoil_field(packet)

    def spoil_field(self, packet):
        pick = self.random
        packet = bytearray(packet)
        how = pick.randrange(10)
        if how == 0:
            return bytes(packet[:pick.randrange(len(packet) + 1)])
        if how == 1:
            return bytes(packet) + bytes(pick.choice((1, 4, 32, 64, 9000)))
        if how == 2:
            packet[0] = pick.getrandbits(8)
        elif how == 3:
            packet[1] = pick.getrandbits(8)
        elif how == 4 and len(packet) > 60:
            # Fields of the body whose least bit or whole value is at stake.
            at = 22 + pick.choice((0, 1, 13, 14, 15, 16, 17, 18, 19, 20, 21, 23, 24, 25, 27, 29,
                                   31, 36, 37, 38))
            packet[at % len(packet)] = pick.choice((0, 1, 2, 3, 4, 64, 65, 0x80, 0xff))
        elif how == 5:
            packet[2 + pick.randrange(8)] ^= 1 << pick.randrange(8)
        elif how == 9 and packet[0] == 0x11:
            packet[12] |= 0x80
        elif how == 6:
            packet[10 + pick.randrange(6)] ^= 1 << pick.randrange(8)
        elif how == 7:
            packet[21] = pick.choice((0, 1, 2, 5, 63, 64, 255))
        else:
            packet[pick.randrange(len(packet))] ^= 1 << pick.randrange(8)
        return bytes(packet)

    def hear(self, address, packet):
        head = codec.parse_header(packet)
        if not codec.split_seal(head):
            raise ValueError("the switch has sent a wrong seal")
        for rank in self.ranks:
            base = rank.address_base
            if address[0] != base[0] or not base[1] <= address[1] < base[1] + rank.plan["ports"]:
                continue
            if self.random.random() < 0.08:
                continue
            if head.type == codec.STATUS:
                rank.status(head)
            elif rank.handle == head.handle:
                rank.result(head)
