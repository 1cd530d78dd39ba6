# SPDX-License-Identifier: BSD-3-Clause
"""Packets of the protocol as docs/protocol.md section 6 describes them, written from it alone."""

import struct

DATA, RESULT, JOIN, STATUS, END, LEAVE, KEEPALIVE = range(1, 8)
ADD32, ADD32SAT, ADD16, MAX32, MAX8 = range(1, 6)
EMPTY, PARTIAL, SATURATED, RESERVED = 0x10, 0x20, 0x40, 0x80
UNKNOWN, FORMING, RUNNING, REFUSED = range(1, 5)
(RESTARTED, MISMATCH, ABORTED, LEFT, PROTOCOL, ROUNDS, RESET, PARAMETERS, DUPLICATE_RANK,
 NO_SLOTS, VERSION, GONE, CORRUPTED, SILENT, DEVICE) = range(1, 16)
CHUNK_FIXED, CHECK = 1, 2

VERSION_NR = 1
PORT = 48880
SE = 32
P_MIN, P_MAX, P_UNIT = 128, 8832, 128
NOBODY = 0xffff
PORTS_MAX = 64
HEADER = struct.Struct(">BBHHIHIIH")
JOIN_BODY = struct.Struct(">QHIHHHHHHH6H64s")
STATUS_BODY = struct.Struct(">BBHHHIQQHHHHHHBxxxHxxQQQQQxxxxxxxx32s32s")
JOIN_LEN, STATUS_LEN, LEAVE_LEN, KEEPALIVE_LEN = 160, 160, 32, 160
SEAL = 4


def crc_table():
    table = []
    for byte in range(256):
        for _ in range(8):
            byte = byte >> 1 ^ (0x82f63b78 if byte & 1 else 0)
        table.append(byte)
    return table


CRC_TABLE = crc_table()


def crc32c(data):
    crc = 0xffffffff
    for byte in data:
        crc = crc >> 8 ^ CRC_TABLE[(crc ^ byte) & 0xff]
    return crc ^ 0xffffffff


def seal(packet):
    """With CHECK: the packet and the CRC32C of all of it."""
    return packet + struct.pack(">I", crc32c(packet))


class Drop(Exception):
    """A packet that is dropped; the argument is the counter's name."""


class Record:
    """Named fields, and nothing else."""

    def __init__(self, **fields):
        self.__dict__.update(fields)


def parse_header(packet):
    if len(packet) < HEADER.size:
        raise Drop("truncated")
    first, flags, handle, high, low, slot, rnd, desc, wid = HEADER.unpack_from(packet)
    return Record(version=first >> 4, type=first & 15, flags=flags & 0xf0, kind=flags & 15,
                  handle=handle, epoch=high << 32 | low, slot=slot, round=rnd, desc=desc, wid=wid,
                  payload=packet[HEADER.size:], sealed=False, head=packet[:HEADER.size])


def build(kind_of_message, payload, **fields):
    """A packet; fields that are not named are 0."""
    get = lambda name: fields.get(name, 0)
    epoch = get("epoch")
    version = fields.get("version", VERSION_NR)
    return HEADER.pack(version << 4 | kind_of_message, get("flags") | get("kind"), get("handle"),
                       epoch >> 32, epoch & 0xffffffff, get("slot"), get("round"), get("desc"),
                       get("wid")) + payload


def build_join_body(length, **fields):
    get = lambda name: fields.get(name, 0)
    base = get("base")
    ranges = list(fields.get("ranges", ()))
    flat = [number for pair in ranges for number in pair]
    flat += [0] * (6 - len(flat))
    body = JOIN_BODY.pack(get("incarnation"), base >> 32, base & 0xffffffff, get("flags"),
                          get("world"), get("slots"), get("p"), get("port"), get("ports"),
                          fields.get("nr_ranges", len(ranges)), *flat[:6], get("name") or b"")
    return body.ljust(length, b"\0")


def parse_join_body(payload):
    (incarnation, high, low, flags, world, slots, p, port, ports, nr_ranges, a, b, c, d, e, f,
     name) = JOIN_BODY.unpack_from(payload)
    return Record(incarnation=incarnation, base=high << 32 | low, flags=flags, world=world,
                  slots=slots, p=p, port=port, ports=ports, nr_ranges=nr_ranges,
                  ranges=((a, b), (c, d), (e, f)), name=name, padding=payload[JOIN_BODY.size:])


STATUS_NAMES = ("state", "cause", "a", "b", "ended", "key", "incarnation", "p", "slots", "se",
                "world", "shards", "flags", "field", "first_wid", "value_a", "value_b", "joined",
                "missing", "silent", "desc_a", "desc_b")


def build_status_body(length, **fields):
    """The body of STATUS or END, cut or padded to length."""
    get = lambda name: fields.get(name, b"" if name.startswith("desc") else 0)
    values = [get(name) for name in STATUS_NAMES]
    ended = values[4]
    body = STATUS_BODY.pack(*values[:4], ended >> 32, ended & 0xffffffff, *values[5:])
    return body[:length].ljust(length, b"\0")


def parse_status_body(payload):
    v = STATUS_BODY.unpack_from(payload.ljust(STATUS_BODY.size, b"\0"))
    return Record(**dict(zip(STATUS_NAMES, v[:4] + (v[4] << 32 | v[5],) + v[6:])))


def fnv1a(name):
    key = 0xcbf29ce484222325
    for byte in name.rstrip(b"\0"):
        key = (key ^ byte) * 0x100000001b3 & 0xffffffffffffffff
    return key


def combine_words(kind, mine, theirs):
    """(kind, two payloads) -> (combined payload, whether an addition saturated)."""
    code = {ADD32: "i", ADD32SAT: "i", ADD16: "h", MAX32: "i", MAX8: "B"}[kind]
    count = len(mine) // struct.calcsize(code)
    form = ">%d%s" % (count, code)
    pairs = zip(struct.unpack(form, mine), struct.unpack(form, theirs))
    if kind in (MAX32, MAX8):
        return struct.pack(form, *[max(x, y) for x, y in pairs]), False
    bits = 16 if kind == ADD16 else 32
    top = 1 << (bits - 1)
    sums = [x + y for x, y in pairs]
    if kind == ADD32SAT:
        cut = [min(max(s, -top), top - 1) for s in sums]
        return struct.pack(form, *cut), cut != sums
    return struct.pack(form, *[(s + top) % (2 * top) - top for s in sums]), False


def close_sums(width, words):
    """The two sums of CLOSE over words as they are sent, width bytes each."""
    values = struct.unpack(">%d%s" % (len(words) // width, "h" if width == 2 else "i"), words)
    return sum(values), sum(i * value for i, value in enumerate(values))


def close_payload(width, words):
    """What the CLOSE chunk of a sum says: of words as they are sent, with CHECK."""
    digits = [total >> 16 * i & 0xffff for total in close_sums(width, words) for i in range(4)]
    return struct.pack(">8I", *digits)


def close_verifies(floats, payload, width, words):
    """Whether the CLOSE that came back is that of the results."""
    digits = struct.unpack(">8I", payload)
    totals = [sum(digits[4 * k + i] << 16 * i for i in range(4)) for k in range(2)]
    modulus = 1 << (64 if floats else 32)
    return all((a - b) % modulus == 0 for a, b in zip(totals, close_sums(width, words)))


def split_seal(head):
    """Takes a seal off the payload; whether there was none, or a right one."""
    size = len(head.payload)
    head.sealed = size % 32 == SEAL
    if not head.sealed:
        return True
    head.payload, trailer = head.payload[:-SEAL], head.payload[-SEAL:]
    return seal(head.head + head.payload)[-SEAL:] == trailer


def check(head):
    """Raises Drop unless header and length are what the type allows."""
    right = split_seal(head)
    if head.version == VERSION_NR:
        size = len(head.payload)
        if head.type in (DATA, RESULT):
            check_chunk(head, size)
        else:
            check_control(head, size)
    if not right:
        raise Drop("bad_crc")
    if head.version == VERSION_NR and head.type in (RESULT, STATUS):
        raise Drop("bad_direction")


def join_length(join):
    """Of the body: that of the largest chunk of such a job."""
    return max(JOIN_LEN, join.p)


def check_chunk(head, size):
    allowed = EMPTY | (PARTIAL if head.type == DATA else 0)
    if not ADD32 <= head.kind <= MAX8:
        raise Drop("bad_kind")
    if head.kind == ADD32SAT:
        allowed |= SATURATED
    if head.flags & ~allowed:
        raise Drop("bad_flag")
    if size == 0 or size % 32 or size > P_MAX or head.flags & EMPTY and size != 32:
        raise Drop("bad_length")


def check_control(head, size):
    if not JOIN <= head.type <= KEEPALIVE:
        raise Drop("bad_type")
    if head.kind:
        raise Drop("bad_kind")
    if head.flags:
        raise Drop("bad_flag")
    if head.type == JOIN:
        fits = size >= JOIN_LEN and size == join_length(parse_join_body(head.payload))
    elif head.type == STATUS:
        fits = size in (32, 96) or size >= STATUS_LEN and size % 32 == 0
    else:
        fits = size == {END: STATUS_LEN, LEAVE: LEAVE_LEN, KEEPALIVE: KEEPALIVE_LEN}[head.type]
    if not fits or size > P_MAX:
        raise Drop("bad_length")


def check_join(join, sealed):
    """Raises Drop unless the fields of a JOIN are in their ranges."""
    if join.flags & ~(CHUNK_FIXED | CHECK):
        raise Drop("bad_flag")
    name = join.name.rstrip(b"\0")
    ranges = join.ranges[:join.nr_ranges]
    fine = (join.world and join.slots and join.p % P_UNIT == 0 and P_MIN <= join.p <= P_MAX
            and join.port and 1 <= join.ports <= PORTS_MAX and join.port + join.ports <= 65536
            and join.nr_ranges <= 3 and all(nr and first + nr <= NOBODY for first, nr in ranges)
            and name and all(byte > 0x20 and byte != 0x7f for byte in name))
    if not fine:
        raise Drop("bad_field")
    if sealed != bool(join.flags & CHECK):
        raise Drop("bad_length")


def check_end(body):
    p_fits = body.p == 0 or body.p % P_UNIT == 0 and P_MIN <= body.p <= P_MAX
    if body.state > REFUSED or body.cause > DEVICE or body.field > 6 or not p_fits:
        raise Drop("bad_field")
