# SPDX-License-Identifier: BSD-3-Clause
"""A flat switch as docs/protocol.md sections 3, 5 and 6 describe it, written from the text.

Readable before fast. Switch.input() takes one packet and says under which counter it falls and what
goes out.
"""

import codec
from codec import Drop, NOBODY, Record

AHEAD_MS = 5000
MS = 1000 * 1000
SECOND = 1000 * MS
STALE, LOST, IDLE, MADE, ASK = 60 * SECOND, 900 * SECOND, 5 * SECOND, 20 * MS, 200 * MS
WORLD_MAX = 64
OWN_PLACES, OWN_SLOTS = 8, 512 + codec.SE
WORLD, CHUNK, FLAGS, RANK, SLOTS, RANGES = range(1, 7)


class Member:
    def __init__(self, wid, join, ip, now):
        self.wid, self.join, self.ip, self.heard = wid, join, ip, now
        self.incarnation, self.port, self.ports = join.incarnation, join.port, join.ports
        self.fixed = bool(join.flags & 1)

    def owns(self, address):
        return address[0] == self.ip and self.port <= address[1] < self.port + self.ports

    def is_base(self, address, join):
        return (address[0], join.port) == (self.ip, self.port)


class Cell:
    def __init__(self, epoch=0, rnd=0, packet=None):
        self.epoch, self.round, self.have, self.filled = epoch, rnd, 0, False
        self.kind = packet.kind if packet else 0
        self.desc = packet.desc if packet else 0
        self.saturated, self.values = False, b""


class Job:
    def __init__(self, join, handle, epoch, now, ip):
        self.name, self.key = join.name, codec.fnv1a(join.name)
        self.handle, self.epoch, self.running = handle, epoch, False
        self.p, self.slots, self.lease, self.cells = 0, 0, None, {}
        self.ended = Record(cause=0, a=NOBODY, b=NOBODY, epoch=0, descs=(b"", b""))
        self.begin_anew(join, now, ip)

    def begin_anew(self, join, now, ip):
        self.owner = ip
        self.world, self.all, self.since = join.world, (1 << join.world) - 1, now
        self.flags = join.flags & ~codec.CHUNK_FIXED
        self.members, self.joined, self.left, self.gone = {}, 0, 0, 0
        self.asked = self.first_asked = self.waits = 0
        self.rival, self.ran = None, False

    def quiet_since(self, leavers=True):
        return max([self.since] + [m.heard for m in self.members.values()
                                   if leavers or not self.left >> m.wid & 1])

    def silent(self, now, since=SECOND):
        return sum(1 << m.wid for m in self.members.values() if now - m.heard > since)


class Switch:
    def __init__(self, limits, start):
        """limits: jobs, slots and P at most, without and with CHECK."""
        self.jobs_max, self.slots_max, self.p_plain, self.p_check = limits
        self.start, self.last, self.jobs, self.told = start, 0, {}, {}
        self.places, self.turn = [None] * limits[0], 0

    # --- What all messages share -----------------------------------------------------------------
    def input(self, now, wall, address, packet):
        """(counter, [(address, packet)])"""
        self.now, self.wall, self.address, self.out = now, wall, address, []
        try:
            head = codec.parse_header(packet)
            codec.check(head)
            if head.version != codec.VERSION_NR:
                return self.other_version(head), self.out
            name = {codec.DATA: self.data, codec.JOIN: self.join, codec.END: self.end,
                    codec.LEAVE: self.leave, codec.KEEPALIVE: self.keepalive}[head.type](head)
        except Drop as drop:
            name = drop.args[0]
        return name, self.out

    def other_version(self, head):
        if head.type == codec.JOIN:
            head.slot = head.round = 0
            self.answer(head, None, state=codec.REFUSED, cause=codec.VERSION, a=NOBODY, b=head.wid,
                        value_a=codec.VERSION_NR)
        return "bad_version"

    def booting(self):
        if self.now - self.start < 2 * MS:
            raise Drop("too_early")

    def next_epoch(self, above=0):
        if max(self.last, above) >= self.wall:
            raise Drop("too_early")
        self.last = self.wall
        return self.last

    def is_member(self, job, wid):
        member = job.members.get(wid)
        return member is not None and member.owns(self.address)

    def find(self, head):
        """The job, if the packet comes from its wid's address; section 3, steps 1 to 3."""
        job = self.jobs.get(head.handle)
        current = job is not None and job.running and head.epoch == job.epoch
        inside = job is not None and head.wid < job.world
        if inside:
            self.check_seal(job, head)
        if inside and self.is_member(job, head.wid):
            job.members[head.wid].heard = self.now
            return job
        if not current:
            self.answer_unknown(head)
        if job is None:
            raise Drop("unknown_job")
        if not inside:
            raise Drop("bad_wid")
        raise Drop("spoofed" if current else "unknown_job")

    @staticmethod
    def check_seal(job, head):
        """What can change something is sealed as the job's messages are."""
        changes = head.epoch == job.epoch if job.running else head.type == codec.LEAVE
        if changes and head.sealed != bool(job.flags & codec.CHECK):
            raise Drop("bad_length")

    def p_max(self, flags):
        return self.p_check if flags & codec.CHECK else self.p_plain

    # --- STATUS ----------------------------------------------------------------------------------
    def allows(self, address, join=False):
        """At most one answer per source and ms to what did not ask for it; JOIN counts by itself."""
        if self.told.get((address, join), 0) > self.now:
            return False
        self.told[address, join] = self.now + MS
        return True

    def answer(self, head, job, **fields):
        """STATUS to the packet's source."""
        asked = job and head.type != codec.DATA and self.is_member(job, head.wid)
        sizes = [n for n in (32, 96, 160) if n <= len(head.payload)]
        join = head.type == codec.JOIN
        if not asked and not self.allows(self.address, join) or not sizes:
            return
        size = sizes[-1]
        if head.type == codec.JOIN and size == 160:
            size = min(len(head.payload), codec.P_MAX)
        place = dict(handle=job.handle if job else head.handle, slot=head.slot, round=head.round,
                     epoch=job.epoch if job else head.epoch, wid=head.wid)
        body = codec.build_status_body(size, **fields)
        packet = codec.build(codec.STATUS, body, **place)
        self.out.append((self.address, codec.seal(packet) if head.sealed else packet))

    def answer_unknown(self, head, key=0):
        self.answer(head, None, state=codec.UNKNOWN, a=NOBODY, b=NOBODY, key=key)

    def answer_job(self, head, job, **more):
        self.answer(head, job, **{**self.describe(job, head.wid), **more})

    def describe(self, job, wid):
        joins = [m.join for m in job.members.values() if job.joined >> m.wid & 1]
        p, slots = job.p, job.slots
        if not job.running:
            p = min((j.p for j in joins), default=0)
            slots = min((j.slots for j in joins), default=0)
        member = job.members.get(wid)
        return dict(state=codec.RUNNING if job.running else codec.FORMING, cause=job.ended.cause,
                    a=job.ended.a, b=job.ended.b, ended=job.ended.epoch, key=job.key, p=p,
                    incarnation=member.incarnation if member else 0, slots=slots, se=codec.SE,
                    world=job.world, shards=1, flags=job.flags, joined=job.joined, silent=job.silent(self.now),
                    missing=job.all & ~job.joined, desc_a=job.ended.descs[0],
                    desc_b=job.ended.descs[1])

    def tell(self, job, member, head=None, **more):
        fields = {**self.describe(job, member.wid), **more}
        body = codec.build_status_body(codec.STATUS_LEN, **fields)
        place = dict(slot=head.slot, round=head.round) if head else {}
        packet = codec.build(codec.STATUS, body, handle=job.handle, epoch=job.epoch, wid=member.wid,
                             **place)
        self.out.append(((member.ip, member.port), self.sealed(job, packet)))

    @staticmethod
    def sealed(job, packet):
        return codec.seal(packet) if job.flags & codec.CHECK else packet

    def tell_all(self, job, but=None):
        for member in job.members.values():
            if member.wid != but:
                self.tell(job, member)

    def end_epoch(self, job, cause, a=NOBODY, b=NOBODY, descs=(b"", b""), above=0):
        epoch = self.next_epoch(above)
        job.ended = Record(cause=cause, a=a, b=b, epoch=job.epoch, descs=descs)
        job.members = {w: m for w, m in job.members.items() if not job.left >> w & 1}
        job.epoch, job.running, job.lease, job.cells = epoch, False, None, {}
        job.joined = job.left = job.gone = job.waits = 0

    def break_epoch(self, job, cause, a=NOBODY, b=NOBODY, descs=(b"", b""), above=0):
        self.end_epoch(job, cause, a, b, descs, above)
        self.tell_all(job)

    # --- DATA: the steps of section 3 ------------------------------------------------------------
    def data(self, head):
        job = self.find(head)
        if not job.running or head.epoch != job.epoch:
            self.answer_job(head, job)
            return "old_epoch"
        if head.flags & codec.PARTIAL:
            raise Drop("bad_flag")
        if head.slot >= codec.SE + job.slots:
            raise Drop("bad_slot")
        if len(head.payload) > job.p:
            raise Drop("no_room")
        if head.round >= 1 << 31:
            self.break_epoch(job, codec.ROUNDS)
            return "rounds"
        return self.add(head, job)

    def add(self, head, job):
        bit, key = 1 << head.wid, (head.slot, head.round & 1)
        cell = job.cells.get(key, Cell())
        if cell.epoch == job.epoch and cell.round > head.round:
            return "stale"
        if cell.epoch != job.epoch or cell.round < head.round or not cell.have:
            other = job.cells.get((head.slot, ~head.round & 1), Cell())
            before = (other.epoch, other.round, other.have)
            if head.round and before != (job.epoch, head.round - 1, job.all):
                self.break_epoch(job, codec.PROTOCOL, head.wid)
                return "gap"
            cell = job.cells[key] = Cell(job.epoch, head.round, head)
        elif cell.have & bit:
            if cell.have != job.all:
                return self.wait(job, cell, "duplicate")
            self.out.append((self.address, self.result(job, cell, head)))
            return "repeated"
        elif self.differs(cell, head):
            self.break_epoch(job, codec.MISMATCH, head.wid, lowest(cell.have),
                             self.descriptors(cell, head))
            return "mismatch"
        self.combine(cell, head)
        cell.have |= bit
        if cell.have != job.all:
            return self.wait(job, cell, "held")
        for member in job.members.values():
            if not job.left >> member.wid & 1:
                to = (member.ip, member.port + head.slot % member.ports)
                self.out.append((to, self.result(job, cell, head)))
        return "completed"

    def wait(self, job, cell, name):
        """The chunk waits for others: in vain, if one of them has left or is gone."""
        lacking = job.left & ~cell.have
        try:
            if lacking:
                self.break_epoch(job, codec.LEFT, lowest(lacking))
                return "left"
            if name == "duplicate":
                self.retry_gone(job)
        except Drop:
            pass
        return name

    def retry_gone(self, job):
        if job.gone and job.running:
            self.break_epoch(job, codec.GONE, lowest(job.gone))

    @staticmethod
    def differs(cell, head):
        if (cell.kind, cell.desc) != (head.kind, head.desc):
            return True
        empty = head.flags & codec.EMPTY
        return bool(cell.filled and not empty and len(cell.values) != len(head.payload))

    @staticmethod
    def descriptors(cell, head):
        theirs = head.kind == codec.MAX8 and not head.flags & codec.EMPTY
        ours = cell.kind == codec.MAX8 and cell.filled
        return head.payload[:32] if theirs else b"", cell.values[:32] if ours else b""

    @staticmethod
    def combine(cell, head):
        cell.saturated |= bool(head.flags & codec.SATURATED)
        if head.flags & codec.EMPTY:
            return
        if not cell.filled:
            cell.values, cell.filled = head.payload, True
            return
        cell.values, saturated = codec.combine_words(cell.kind, cell.values, head.payload)
        cell.saturated |= saturated

    def result(self, job, cell, head):
        flags = (codec.SATURATED if cell.saturated else 0) | (0 if cell.filled else codec.EMPTY)
        packet = codec.build(codec.RESULT, cell.values if cell.filled else bytes(32), flags=flags,
                             kind=cell.kind, handle=job.handle, epoch=job.epoch, slot=head.slot,
                             round=head.round, desc=cell.desc, wid=NOBODY)
        return self.sealed(job, packet)

    # --- JOIN: section 5 -------------------------------------------------------------------------
    def join(self, head):
        join = codec.parse_join_body(head.payload)
        codec.check_join(join, head.sealed)
        self.booting()
        if join.incarnation == 0 or join.base >= self.wall + AHEAD_MS:
            raise Drop("bad_field")
        if not join.port <= self.address[1] < join.port + join.ports:
            raise Drop("spoofed")
        name = self.unfit(head, join)
        if name:
            return name
        job = next((j for j in self.jobs.values() if j.name == join.name), None)
        if job is None:
            job = self.make(head, join)
            if job is None:
                return "join"
        difference = self.difference(job, head, join)
        if difference:
            self.settle(job, head, join, difference)
        elif job.running:
            self.join_running(job, head, join)
        else:
            self.join_forming(job, head, join)
        return "join"

    def unfit(self, head, join):
        """What no job of this switch could have."""
        own = join.ranges[0] if join.nr_ranges else (0, join.world)
        if own[1] > WORLD_MAX:
            self.refuse(None, head, join, codec.PARAMETERS, (WORLD, WORLD_MAX, own[1]))
            return "join"
        if head.wid >= join.world:
            self.refuse(None, head, join, codec.PARAMETERS, (RANK, join.world, head.wid))
            return "bad_wid"
        if join.nr_ranges > 1 or own != (0, join.world):
            value = join.nr_ranges if join.nr_ranges > 1 else own[0] << 16 | own[1]
            self.refuse(None, head, join, codec.PARAMETERS, (RANGES, join.world, value))
            return "join"
        most = self.p_max(join.flags)
        if join.flags & codec.CHUNK_FIXED and join.p > most:
            self.refuse(None, head, join, codec.PARAMETERS, (CHUNK, most, join.p))
            return "join"
        return None

    def make(self, head, join):
        if not self.free_place(self.address[0]):
            self.ask_others(None, every=True)
            self.refuse(None, head, join, codec.NO_SLOTS, (SLOTS, self.jobs_max, 0))
            return None
        epoch = self.next_epoch(join.base)
        job = Job(join, self.free_handle(epoch), epoch, self.now, self.address[0])
        self.jobs[job.handle] = job
        self.places[self.places.index(None)] = job
        return job

    def remove(self, job):
        del self.jobs[job.handle]
        self.places[self.places.index(job)] = None

    def free_handle(self, epoch):
        handle = epoch & 0xffff
        while handle == 0 or handle in self.jobs:
            handle = handle + 1 & 0xffff
        return handle

    # --- Room that is wanted: slots, or a place in the table --------------------------------------
    def has_place(self, owner):
        free = self.jobs_max - len(self.jobs)
        own = sum(j.owner == owner for j in self.jobs.values())
        return free > 0 and (own < OWN_PLACES or own + 1 <= free - 1)

    def free_place(self, owner):
        """Whether there is one for a job of this owner; those that nobody wants any more make room."""
        while not self.has_place(owner):
            forming = [j for j in self.places if j and not j.running]
            made = [j for j in forming if j.owner == owner and not j.members and self.now - j.since > MADE]
            idle = [j for j in forming if self.now - j.quiet_since() > IDLE]
            job = min(made or idle, key=Job.quiet_since) if made or idle else self.end_dead()
            if not job:
                return False
            self.remove(job)
        return True

    def end_dead(self):
        """Ends a job that nobody is there of any more, as far as can be known."""
        dead = [j for j in self.places if j and self.is_dead(j)]
        if not dead:
            return None
        job = min(dead, key=Job.quiet_since)
        try:
            self.break_epoch(job, codec.SILENT, lowest(job.all & ~job.left))
        except Drop:
            return None
        return job

    def is_dead(self, job):
        heard = job.quiet_since(leavers=False)
        return (job.running and self.now - heard > LOST and job.first_asked > heard
                and self.now - job.first_asked >= SECOND)

    def ask_others(self, job, every=False):
        """Silent members of other jobs are asked for a sign of life; about 64 at a time."""
        asked = 0
        for _ in self.places:
            if asked >= 64:
                break
            other, self.turn = self.places[self.turn], (self.turn + 1) % self.jobs_max
            if other and other is not job and (every or other.lease):
                asked += self.ask(other)

    def ask(self, job):
        silent = job.silent(self.now, ASK) & ~job.left
        if not silent or self.now - job.asked < ASK:
            return 0
        if job.quiet_since(leavers=False) >= job.first_asked:
            job.first_asked = self.now
        job.asked = self.now
        for wid, member in sorted(job.members.items()):
            if silent >> wid & 1 and self.allows((member.ip, member.port)):
                self.tell(job, member)
        return bin(silent).count("1")

    def may_get_more(self, job):
        job.waits = job.waits or self.now
        return self.now - job.waits <= SECOND and any(
            other.quiet_since(leavers=False) <= job.waits
            for other in self.jobs.values() if other is not job and other.lease)

    @staticmethod
    def difference(job, head, join):
        """(field, the job's value, the asker's, the rank of the job's), or None."""
        others = [m for w, m in sorted(job.members.items())
                  if job.joined >> w & 1 and w != head.wid]
        if join.world != job.world:
            return WORLD, job.world, join.world, others[0].wid if others else NOBODY
        flags = join.flags & ~codec.CHUNK_FIXED
        if flags != job.flags:
            return FLAGS, job.flags, flags, others[0].wid if others else NOBODY
        fixed = join.flags & 1
        for member in others:
            theirs = member.join.p
            if (fixed and (join.p > theirs or member.fixed and join.p != theirs)
                    or member.fixed and theirs > join.p):
                return CHUNK, theirs, join.p, member.wid
        return None

    def settle(self, job, head, join, difference):
        if job.running:
            if self.now - job.quiet_since(leavers=False) > (SECOND if job.left else STALE):
                self.replace(job, head, join)
            else:
                self.ask(job)
                self.refuse(job, head, join, codec.PARAMETERS, difference)
        elif job.joined & ~job.silent(self.now) and not self.overruled(job, head, join, difference):
            pass
        elif join.base == job.epoch - 1:
            self.replace(job, head, join)
        else:
            self.answer_job(head, job)

    def overruled(self, job, head, join, difference):
        """Whether those that wait, of whom one at least was heard, give way; if not, all are told."""
        living = job.joined & ~job.silent(self.now)
        state = codec.FORMING
        if living & living - 1 == 0:
            asked = (join.world, join.flags, join.flags & 1 and join.p,
                     join.ranges[0] if join.nr_ranges else (0, join.world))
            last, job.rival = job.rival, (self.now, head.wid, (self.address[0], join.port), asked)
            if (last and self.now - last[0] <= SECOND and last[1] != head.wid
                    and last[2] != job.rival[2] and last[3] == asked):
                return True
            state = codec.REFUSED
        if job.joined >> head.wid & 1 and self.is_taken(job, head, join):
            self.refuse(job, head, join, codec.PARAMETERS, difference)
            return False
        self.refuse_all(job, head, join, codec.PARAMETERS, difference, state)
        return False

    def replace(self, job, head, join):
        enters = join.base == (job.epoch if job.running else job.epoch - 1)
        self.break_epoch(job, codec.RESTARTED, head.wid)
        job.begin_anew(join, self.now, self.address[0])
        if enters:
            self.accept(job, head, join)
        self.answer_job(head, job)

    def is_taken(self, job, head, join):
        member = job.members.get(head.wid)
        return (member is not None
                and not member.is_base(self.address, join)
                and self.now - member.heard <= (STALE if job.running else SECOND))

    def accept(self, job, head, join):
        if not job.joined:
            job.owner = self.address[0]
        job.members[head.wid] = Member(head.wid, join, self.address[0], self.now)
        job.joined |= 1 << head.wid

    def join_late(self, job, head, join):
        member = job.members.get(head.wid)
        if member and member.incarnation == join.incarnation and member.is_base(self.address, join):
            member.heard = self.now
        self.answer_job(head, job)

    def refuse_taken(self, job, head, join):
        member = job.members[head.wid]
        if job.running:
            self.ask(job)
        self.refuse(job, head, join, codec.DUPLICATE_RANK,
                    (RANK, member.ip << 16 | member.port, (self.now - member.heard) // MS, head.wid))

    def join_running(self, job, head, join):
        if join.base < job.epoch:
            return self.join_late(job, head, join)
        if not job.left >> head.wid & 1 and self.is_taken(job, head, join):
            return self.refuse_taken(job, head, join)
        if join.base > job.epoch:
            self.break_epoch(job, codec.PROTOCOL, head.wid, above=join.base)
        else:
            self.end_epoch(job, codec.RESTARTED, head.wid)
            self.accept(job, head, join)
            self.tell_all(job, head.wid)
        self.answer_job(head, job)

    def join_forming(self, job, head, join):
        if join.base < job.epoch - 1:
            return self.join_late(job, head, join)
        if self.is_taken(job, head, join) and (
                job.joined >> head.wid & 1 or job.members[head.wid].ip != self.address[0]):
            return self.refuse_taken(job, head, join)
        if join.base >= job.epoch:
            self.break_epoch(job, codec.PROTOCOL, head.wid, above=join.base)
        else:
            self.accept(job, head, join)
            if job.joined == job.all:
                wanted = self.begin(job)
                if wanted is None:
                    return self.answer_job(head, job)
                if wanted:
                    return self.refuse_all(job, head, join, codec.NO_SLOTS,
                                           (SLOTS, 0, wanted, NOBODY))
                self.tell_all(job, head.wid)
        self.answer_job(head, job)

    def begin(self, job):
        """All have joined: 0, or the slots wanted where none are free; None: it waits for more."""
        joins = [m.join for m in job.members.values()]
        wanted = min(j.slots for j in joins)
        if self.free_slots(job.owner) < wanted:
            self.ask_others(job)
        while not self.free_slots(job.owner) and self.end_dead():
            pass
        most = self.free_slots(job.owner)
        if not most:
            return wanted
        if most < wanted and self.may_get_more(job):
            return None
        job.waits = 0
        job.p = min([self.p_max(job.flags)] + [j.p for j in joins])
        job.slots = min(wanted, most)
        first = next(a for a, b in self.gaps() if b - a >= codec.SE + job.slots)
        job.ran = True
        job.lease, job.running, job.cells = (first, first + codec.SE + job.slots), True, {}
        return 0

    def gaps(self):
        at, gaps = 0, []
        for first, end in sorted(j.lease for j in self.jobs.values() if j.lease):
            gaps.append((at, first))
            at = end
        return gaps + [(at, self.slots_max)]

    def free_slots(self, owner):
        """For a job of this owner that has none: in one piece, and no more than its share."""
        gaps = [end - first for first, end in self.gaps()]
        own = sum(j.lease[1] - j.lease[0] for j in self.jobs.values() if j.lease and j.owner == owner)
        share = max((sum(gaps) - own) // 2, OWN_SLOTS - own)
        return max(0, min(max(gaps), share) - codec.SE)

    def refusal(self, job, head, join, cause, difference):
        field, ours, theirs, rank = difference + (NOBODY,) * (4 - len(difference))
        fields = self.describe(job, head.wid) if job else dict(key=codec.fnv1a(join.name))
        fields.update(state=codec.REFUSED, cause=cause, a=rank, b=head.wid, ended=0, field=field,
                      value_a=ours, value_b=theirs, desc_a=b"", desc_b=b"")
        return fields

    def refuse(self, job, head, join, cause, difference):
        self.answer(head, job, **self.refusal(job, head, join, cause, difference))

    def refuse_all(self, job, head, join, cause, difference, state=codec.REFUSED):
        fields = self.refusal(job, head, join, cause, difference)
        for wid, member in sorted(job.members.items()):
            asker = wid == head.wid and member.is_base(self.address, join)
            if job.joined >> wid & 1 and not asker and self.allows((member.ip, member.port)):
                self.tell(job, member, **{**fields, "state": state,
                                          "incarnation": member.incarnation})
        self.answer(head, job, **fields)

    # --- END, LEAVE, KEEPALIVE, port unreachable -------------------------------------------------
    def end(self, head):
        body = codec.parse_status_body(head.payload)
        codec.check_end(body)
        self.booting()
        job = self.find(head)
        if body.state == codec.UNKNOWN and job.left >> head.wid & 1:
            return "end"
        if job.running and head.epoch == job.epoch:
            if body.cause in (codec.CORRUPTED, codec.DEVICE):
                self.end_epoch(job, body.cause, head.wid)
            elif body.cause == codec.MISMATCH:
                other = body.b if body.b < job.world else NOBODY
                self.end_epoch(job, body.cause, head.wid, other, (body.desc_a, body.desc_b))
            else:
                self.end_epoch(job, codec.ABORTED, head.wid)
            self.tell_all(job, head.wid)
        self.answer_job(head, job)
        return "end"

    def leave(self, head):
        job, bit = self.find(head), 1 << head.wid
        if job.running and head.epoch == job.epoch:
            job.left |= bit
            empty = job.left == job.all
        elif not job.running and head.epoch in (0, job.epoch):
            job.joined &= ~bit
            empty = not job.joined
        else:
            self.answer_job(head, job)
            return "leave"
        if empty:
            self.remove(job)
            self.answer_unknown(head, job.key)
        else:
            self.answer_job(head, job, cause=codec.LEFT, a=head.wid, b=NOBODY, ended=0)
        return "leave"

    def keepalive(self, head):
        job = self.jobs.get(head.handle)
        if job is None:
            self.answer_unknown(head)
            return "unknown_job" if head.handle else "keepalive"
        if head.epoch != job.epoch or head.wid >= job.world:
            job = self.find(head)
        else:
            self.check_seal(job, head)
            self.keepalive_heard(job, head)
        more = {}
        if job.running and head.epoch == job.epoch and head.slot < codec.SE + job.slots:
            more["missing"] = self.missing(job, head)
        self.answer_job(head, job, **more)
        return "keepalive"

    def keepalive_heard(self, job, head):
        if not self.is_member(job, head.wid):
            return
        job.members[head.wid].heard = self.now
        self.poke(job, head)
        try:
            self.retry_gone(job)
        except Drop:
            pass

    @staticmethod
    def missing(job, head):
        cell = job.cells.get((head.slot, head.round & 1), Cell())
        here = (cell.epoch, cell.round) == (job.epoch, head.round)
        return job.all & ~cell.have if here else job.all

    def poke(self, job, head):
        """Ranks that are missing and silent are sent the answer, too."""
        if not job.running or head.slot >= codec.SE + job.slots:
            return
        missing = self.missing(job, head)
        for wid, member in sorted(job.members.items()):
            if (job.silent(self.now) & missing & ~job.left) >> wid & 1:
                if self.allows((member.ip, member.port)):
                    self.tell(job, member, head, missing=missing)

    def gone(self, now, wall, address):
        """An ICMP port-unreachable about a packet to address."""
        self.now, self.wall, self.address, self.out = now, wall, address, []
        names = {self.gone_from(job) for job in self.places if job} - {None}
        return "gone" if "gone" in names else "too_early" if names else "not_mine", self.out

    def gone_from(self, job):
        wid = next((w for w, m in sorted(job.members.items())
                    if m.owns(self.address) and not job.left >> w & 1), None)
        if wid is None:
            return None
        if not job.running:
            job.joined &= ~(1 << wid)
            del job.members[wid]
            if not job.members:
                self.remove(job)
            return "gone"
        try:
            self.break_epoch(job, codec.GONE, wid)
        except Drop:
            job.gone |= 1 << wid
            return "too_early"
        return "gone"


def lowest(bits):
    return (bits & -bits).bit_length() - 1
