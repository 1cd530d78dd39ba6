#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""tshark.py - decodes packets with the Wireshark dissector and compares with what they must be.

usage: tshark.py DISSECTOR golden WIRE_GOLDEN_C DIR | noise WIRE_GOLDEN_C DIR
                 run TOTALS CAPTURES [exact] [port:N] [NAME=N | NAME>N]... | record CAPTURES
"""
import os
import random
import re
import struct
import subprocess
import sys
from collections import Counter

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "second"))
import codec  # noqa: E402

TYPES = ("", "DATA", "RESULT", "JOIN", "STATUS", "END", "LEAVE", "KEEPALIVE")
SUM = ("held", "completed", "repeated", "duplicate", "stale", "partial", "partial_again")
VERDICTS = {"truncated": "shorter than a header", "bad_type": "unknown message type",
            "bad_kind": "unknown or misplaced kind of contribution",
            "bad_flag": "unknown or misplaced flag",
            "bad_length": "length is not one the message type allows",
            "bad_field": "a field is out of its range"}


def tshark(dissector, files, fields, *options):
    """What each packet says: a list of dictionaries, a field's values in a list.

    The first of the two passes has no tree, and shows no Lua error; but where our dissector fails as a heuristic
    one, which comes first, it is called again for the port, and the packet then has been seen before.
    """
    command = ["tshark", "-n", "-2", "-X", "lua_script:" + dissector, "-r", "-", "-T", "fields",
               "-E", "separator=/t", "-E", "aggregator=|", "-o", "udp.try_heuristic_first:TRUE", *options]
    for name in fields:
        command += ["-e", name]
    merged = subprocess.run(["mergecap", "-F", "pcap", "-w", "-", *files], stdout=subprocess.PIPE,
                            check=True) if len(files) > 1 else None
    data = merged.stdout if merged else open(files[0], "rb").read()
    path = files[0] + ".all"
    with open(path, "wb") as out:
        out.write(data)
    command[command.index("-r") + 1] = path
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    if done.returncode or b"Lua" in done.stderr:
        sys.exit("tshark: " + done.stderr.decode(errors="replace"))
    rows = []
    for line in done.stdout.decode(errors="replace").rstrip("\n").split("\n"):
        cells = line.split("\t")
        rows.append({name: cell.split("|") if cell else [] for name, cell in zip(fields, cells)})
    return rows


ALWAYS = ["_ws.malformed", "tally.first_in", "_ws.lua.error", "_ws.lua.text", "_ws.expert.message"]


def sound(rows, malformed=False):
    """No packet may break the dissector, and, unless malformed ones are there, none is malformed."""
    for number, row in enumerate(rows, 1):
        if row["_ws.lua.error"] or row["_ws.lua.text"]:
            sys.exit(f"frame {number}: {row}")
        if row["tally.first_in"] == [str(number)]:
            sys.exit(f"frame {number} has been seen before in itself: an error of the first pass")
        if not malformed and row["_ws.malformed"]:
            sys.exit(f"frame {number} is malformed: {row}")


# Packets as files -----------------------------------------------------------------------------

def frame(payload, sport=50000, dport=codec.PORT, icmp=False):
    udp = struct.pack(">HHHH", sport, dport, 8 + len(payload), 0) + payload
    protocol = 17
    if icmp:
        udp = b"\3\3\0\0\0\0\0\0" + frame(payload, sport, dport)[14:14 + 28 + 60]
        protocol = 1
    ip = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 20 + len(udp), 0, 0x4000, 64, protocol, 0,
                     bytes((10, 0, 0, 1)), bytes((10, 0, 0, 254)))
    return bytes(12) + b"\x08\x00" + ip + udp


def write_pcap(path, frames):
    """Frames, or pairs of one and how many bytes of it were captured."""
    with open(path, "wb") as out:
        out.write(struct.pack("<IHHiIII", 0xa1b2c3d4, 2, 4, 0, 0, 65535, 1))
        for number, item in enumerate(frames):
            data, cut = item if isinstance(item, tuple) else (item, len(item))
            out.write(struct.pack("<IIII", 1700000000, number, min(cut, len(data)), len(data)))
            out.write(data[:cut])


def golden_arrays(path):
    """The byte arrays of wire_golden.c by name."""
    text = re.sub(r"/\*.*?\*/", "", open(path, encoding="utf-8").read(), flags=re.S)
    arrays = {}
    for name, body in re.findall(r"uint8_t (golden_\w+)\[[^\]]*\] = \{(.*?)\}", text, re.S):
        arrays[name] = bytes(ord(item[1]) if item[0] == "'" else int(item, 0)
                             for item in re.findall(r"'.'|0x[0-9a-f]+|\d+", body))
    return arrays


def golden_messages(arrays):
    """As golden_set_type() makes them, STATUS in all lengths; and lane E with the descriptor."""
    head = arrays["golden_head"]

    def chunk(kind_of, kind, length):
        body = bytes((i * 7 + (i >> 8) * 13 + 1) & 0xff for i in range(length))
        return bytes((0x10 + kind_of, kind)) + head[2:] + body
    join_head, join = arrays["golden_join_head"].ljust(22, b"\0"), arrays["golden_join"]
    messages = {"data": chunk(1, 0x62, 1408), "result": chunk(2, 0x42, 1024),
                "join": join_head + join.ljust(1408, b"\0"), "end": chunk(5, 0, 160),
                "leave": chunk(6, 0, 32), "keepalive": chunk(7, 0, 160)}
    for length in (32, 96, 160, 416):
        body = arrays["golden_status"][:length].ljust(length, b"\0")
        messages[f"status{length}"] = b"\x14\0" + head[2:] + body
    desc = arrays["golden_desc"].ljust(32, b"\0")
    messages["lane_e"] = codec.build(
        codec.DATA, desc + bytes(32), kind=codec.MAX8, handle=5, epoch=1700000000123, slot=7,
        desc=int.from_bytes(codec.seal(desc)[-4:], "big"), wid=3)
    floats = struct.pack(">IQBBBBHHHH", 9, 1000, 1, 1, 1, 4, 0, 4, 512, 0).ljust(32, b"\0")
    messages["exponents"] = codec.seal(codec.build(
        codec.DATA, (floats + bytes((0, 200)) + bytes(14) + bytes((7, 8, 9, 10))).ljust(64, b"\0"),
        kind=codec.MAX8, handle=5, epoch=1700000000123, slot=8, desc=1, wid=2))
    messages["int16"] = codec.build(codec.DATA, struct.pack(">16h", *range(-9, 7)), kind=codec.ADD16,
                                    handle=5, epoch=1700000000123, slot=40, wid=1)
    return messages


HEAD = {"tally.version": 1, "tally.job": 0x123, "tally.epoch": 0xa1b2c3d4e5f6, "tally.slot": 0x4567,
        "tally.round": 0x12345678, "tally.desc_crc": 0x8a136a0b, "tally.wid": 41}
STATUS = {"tally.type": 4, "tally.kind": 0, "tally.status.state": 3, "tally.status.cause": 2,
          "tally.status.wid_a": 11, "tally.status.wid_b": 28, "tally.status.ended": 0x0a1b2c3d4e5f,
          "tally.status.key": 0x85944171f73967e8, "tally.status.inc": 0xf0e1d2c3b4a59687,
          "tally.status.p": 1024, "tally.status.slots": 400}
STATUS_LONG = {"tally.status.se": 32, "tally.status.world": 48, "tally.status.shards": 6,
               "tally.status.flags": 0x8009, "tally.status.flags.chunk_fixed": 1,
               "tally.status.flags.check": 0, "tally.status.field": 5, "tally.status.first": 17,
               "tally.status.value_a": 0x1021324354657687, "tally.status.value_b": 0x2031425364758697,
               "tally.status.joined": 0x30415263748596a7, "tally.status.missing": 0x405162738495a6b7,
               "tally.status.silent": 0x50617283 << 32 | 0x94a5b6c7}
NONE = object()
DESCS = {"tally.desc.opno": [0x61626364, 0xa1a2a3a4], "tally.desc.count": [0x65666768696a6b6c, 0xa5a6a7a8a9aaabac],
         "tally.desc.width": [0x70, 0xb0], "tally.desc.world": [0x7374, 0xb3b4], "tally.desc.p": [0x7576, 0xb5b6],
         "tally.desc.flags": [0x7778, 0xb7b8]}
VALUES = {n: [(i * 7 + (i >> 8) * 13 + 1) & 0xff for i in range(n)] for n in (1408, 1024)}


def ints(count):
    return [v for (v,) in struct.iter_unpack(">i", bytes(VALUES[count]))]


EXPECTED = {
    "data": {**HEAD, "tally.type": 1, "tally.kind": 2, "tally.flags": 6, "tally.flags.partial": 1,
             "tally.flags.saturated": 1, "tally.flags.empty": 0, "tally.len": 1408,
             "tally.value32": ints(1408), "tally.lane": "D", "tally.value16": NONE},
    "result": {**HEAD, "tally.type": 2, "tally.kind": 2, "tally.flags": 4, "tally.value32": ints(1024)},
    "join": {"tally.type": 3, "tally.job": 0, "tally.epoch": 0, "tally.wid": 5, "tally.len": 1408,
             "tally.join.inc": 0xfedcba9876543210, "tally.join.base": 0x010203040506,
             "tally.join.flags": 1, "tally.join.flags.chunk_fixed": 1, "tally.join.flags.check": 0,
             "tally.join.world": 13, "tally.join.slots": 529, "tally.join.p": 1408,
             "tally.join.port": 50014, "tally.join.nr_ports": 3, "tally.join.nr_ranges": 2,
             "tally.join.range.first": [4, 0], "tally.join.range.nr": [7, 13],
             "tally.join.name": "run-\u00e97", "tally.join.ranks": 0,
             "tally.join.key": "%016x" % codec.fnv1a("run-\u00e97".encode())},
    "end": {**HEAD, "tally.type": 5, "tally.kind": 0, "tally.status.state": 1, "tally.status.cause": 8,
            "tally.expert.malformed": 1},
    "leave": {**HEAD, "tally.type": 6, "tally.len": 32, "tally.status.state": NONE},
    "keepalive": {**HEAD, "tally.type": 7, "tally.len": 160, "tally.join.name": NONE},
    "status32": {**HEAD, **STATUS, "tally.status.se": NONE},
    "status96": {**HEAD, **STATUS, **STATUS_LONG, "tally.status.desc_a": NONE},
    "status160": {**HEAD, **STATUS, **STATUS_LONG, **DESCS},
    "status416": {**HEAD, **STATUS, **STATUS_LONG, **DESCS, "tally.len": 416},
    "lane_e": {"tally.desc.opno": 0x00010203, "tally.desc.count": 0x1112131415161718,
               "tally.desc.collective": 1, "tally.desc.dtype": 4, "tally.desc.op": 3,
               "tally.desc.width": 2, "tally.desc.root": 0x2122, "tally.desc.world": 0x3132,
               "tally.desc.p": 0x4142, "tally.desc.flags": 0x5152, "tally.desc.flags.saturate": 0,
               "tally.desc_crc.status": "good", "tally.lane": "E", "tally.exponent": NONE},
    "exponents": {"tally.exponent": [7, 8, 9, 10], "tally.origin.rank": 255 + 55,
                  "tally.desc_crc.status": "bad", "tally.seal.status": "good", "tally.expert.origin": 1},
    "int16": {"tally.value16": list(range(-9, 7)), "tally.value32": NONE},
}


def same(want, got):
    if want is NONE:
        return not got
    want = want if isinstance(want, list) else [want]
    words = {"True": 1, "False": 0}
    read = [item if isinstance(want[0], str) else words.get(item) if item in words else int(item, 0)
            for item in got]
    return read == want


def golden(dissector, source, directory):
    messages = golden_messages(golden_arrays(source))
    path = os.path.join(directory, "golden.pcap")
    write_pcap(path, [frame(message) for message in messages.values()])
    fields = sorted({name for want in EXPECTED.values() for name in want})
    # An expert info is a field without a value.
    rows = tshark(dissector, [path], [*fields, *ALWAYS])
    sound(rows, True)
    wrong = []
    for (name, _), row in zip(messages.items(), rows):
        for field, want in EXPECTED[name].items():
            if field.startswith("tally.expert.") and row[field]:
                continue
            if not same(want, row[field]):
                wrong.append(f"{name}: {field} is {row[field][:9]}, not {want if want is not NONE else 'absent'}")
        if row["tally.expert.malformed"] and "tally.expert.malformed" not in EXPECTED[name]:
            wrong.append(f"{name} is malformed: {row['_ws.expert.message']}")
    if wrong or len(rows) != len(messages):
        sys.exit("\n".join(wrong) or "a message is missing")
    print(f"{len(rows)} messages, {sum(len(want) for want in EXPECTED.values())} fields")


# Noise ------------------------------------------------------------------------------------------

def verdict(packet):
    """What the second implementation says of it: a text of VERDICTS, bad_crc, version or nothing."""
    try:
        head = codec.parse_header(packet)
        codec.check(head)
        if head.version != 1:
            return "version"
        if head.type == codec.JOIN or (head.type == codec.KEEPALIVE and head.handle == 0
                                       and head.payload[40]):
            codec.check_join(codec.parse_join_body(head.payload), head.sealed)
        if head.type == codec.END:
            codec.check_end(codec.parse_status_body(head.payload))
    except codec.Drop as drop:
        if str(drop) == "bad_direction":
            return verdict_status(head) if head.type == codec.STATUS else ""
        return VERDICTS.get(str(drop), str(drop))
    return ""


def verdict_status(head):
    body = codec.parse_status_body(head.payload)
    p_fits = body.p == 0 or body.p % 128 == 0 and 128 <= body.p <= 8832
    if not 1 <= body.state <= 4 or body.cause > 14 or not p_fits:
        return VERDICTS["bad_field"]
    if body.state == codec.RUNNING and (body.p == 0 or body.slots == 0):
        return VERDICTS["bad_field"]
    return VERDICTS["bad_field"] if len(head.payload) >= 96 and body.field > 6 else ""


def edges(join):
    """JOINs with fields at the ends of their ranges, and beyond."""
    pieces = ((16, "0000"), (18, "0000"), (20, "0000"), (20, "0540"), (20, "2300"), (22, "0000"), (22, "fffd"),
              (22, "fffe"), (24, "0000"), (24, "0040"), (24, "0041"), (26, "0003"), (26, "0004"), (28, "fff8"),
              (28, "fff9"), (32, "ffff"), (30, "0000"), (40, "20"), (40, "7f"), (40, "00"), (49, "41"),
              (14, "0002"), (14, "0004"), (46, "41"))
    for at, text in pieces:
        data = bytes.fromhex(text)
        packet = join[:22 + at] + data + join[22 + at + len(data):]
        yield packet
        yield codec.seal(packet)


def mutate(rng, packet):
    data = bytearray(packet)
    for _ in range(rng.choice((0, 1, 1, 2, 5))):
        where = rng.randrange(min(len(data), rng.choice((2, 22, 130, 9000)))) if data else 0
        data[where:where + 1] = bytes((rng.choice((0, 1, 0xff, rng.randrange(256))),))
    change = rng.randrange(6)
    if change == 0:
        del data[rng.randrange(len(data) + 1):]
    elif change == 1:
        data += bytes(rng.randrange(256) for _ in range(rng.randrange(70)))
    elif change == 2:
        data = bytearray(codec.seal(bytes(data)))
    elif change == 3:
        del data[22 + 32 * rng.randrange(6):]
    return bytes(data)


def noise_packet(rng, messages):
    if rng.randrange(4) == 0:
        first = rng.choice((rng.randrange(256), 0x10 + rng.randrange(9)))
        size = rng.choice((rng.randrange(80), 22 + 32 * rng.randrange(8), 26 + 32 * rng.randrange(8)))
        return bytes((first,)) * (size > 0) + bytes(rng.randrange(256) for _ in range(size - 1))
    return mutate(rng, rng.choice(messages))


def noise(dissector, source, directory, count=4000):
    rng = random.Random(20240229)
    messages = list(golden_messages(golden_arrays(source)).values())
    frames, wants = [], []
    for packet in edges(golden_messages(golden_arrays(source))["join"]):
        frames.append(frame(packet))
        wants.append(verdict(packet))
    for number in range(count - len(frames)):
        packet = noise_packet(rng, messages)
        kind = rng.randrange(8)
        if kind == 0:
            data = frame(packet)
            frames.append((data, rng.randrange(len(data) + 1)))
            wants.append(None)
        elif kind == 1:
            frames.append(frame(packet, icmp=True))
            wants.append(None)
        elif kind == 2:
            frames.append(frame(packet, dport=rng.randrange(40000, 40100)))
            wants.append(None)
        else:
            ports = (50000, codec.PORT) if number % 3 else (codec.PORT, 50001)
            frames.append(frame(packet, *ports))
            wants.append(verdict(packet) if packet else None)
    path = os.path.join(directory, "noise.pcap")
    write_pcap(path, frames)
    fields = ["tally.expert.malformed", "tally.expert.version", "tally.expert.seal", "udp.payload", *ALWAYS,
              "tally.value32", "tally.exponent", "tally.join.name"]
    rows = tshark(dissector, [path], fields)
    sound(rows, True)
    if len(rows) != count:
        sys.exit(f"{len(rows)} packets of {count}")
    seen = Counter()
    for number, (row, want) in enumerate(zip(rows, wants), 1):
        if want is None:
            continue
        got = next((text for text in VERDICTS.values() if row["tally.expert.malformed"]
                    and text in row["_ws.expert.message"]), "")
        got = "version" if row["tally.expert.version"] else got
        got = "bad_crc" if row["tally.expert.seal"] else got
        got = "exception" if "Exception occurred" in str(row["_ws.expert.message"]) else got
        if got != want:
            sys.exit(f"frame {number} of {path}: '{got}', not '{want}': {row}")
        seen[want] += 1
    print(f"{count} packets; as the second implementation says:", dict(seen))
    if len(seen) < 9:
        sys.exit("too little of it was tried")


# A run ------------------------------------------------------------------------------------------

def run_counts(rows, totals, exact):
    """The packets that came in, by type, against the switch's counters."""
    into = Counter(TYPES[int(row["tally.type"][0])] for row in rows if row["in"])
    # Errors of a udp port, as of an address that nobody is at any more, are no packets of ours.
    errors = totals.get("counter.gone", 0) + totals.get("counter.not_mine", 0)
    if sum(into.values()) != totals["rx"] - errors:
        sys.exit(f"{sum(into.values())} packets in, but rx is {totals['rx']}")
    if not exact:
        return into
    want = {"DATA": sum(totals.get("counter." + name, 0) for name in SUM)}
    for name in ("JOIN", "KEEPALIVE", "LEAVE", "END"):
        want[name] = totals.get("counter." + name.lower(), 0)
    want["RESULT"] = totals.get("counter.up_result", 0) + totals.get("counter.up_stale", 0)
    want["STATUS"] = totals.get("counter.up_status", 0)
    # What has counters of its own for any type: a LEAVE again, for one, when the job is gone.
    rest = sum(totals.get("counter." + name, 0) for name in ("unknown_job", "old_epoch", "too_early"))
    over = {name: into[name] - number for name, number in want.items()}
    if min(over.values()) < 0 or sum(over.values()) != rest:
        sys.exit(f"beyond what the switch counted are {over}, not {rest}: {totals}")
    again = sum(totals.get("counter." + name, 0) for name in ("repeated", "duplicate", "partial_again"))
    found = sum(bool(row["tally.expert.retransmission"] or row["tally.expert.duplicate"])
                for row in rows if row["in"] and row["tally.type"] == ["1"])
    if found != again:
        sys.exit(f"{found} contributions seen before, {again} counted")
    return into


def run_links(rows):
    """Each RESULT to a rank of the capture answers a DATA packet before it, of the same slot and round."""
    for number, row in enumerate(rows, 1):
        if row["tally.type"] != ["2"]:
            continue
        if not row["tally.response_to"] or not row["tally.time"]:
            sys.exit(f"frame {number}: the RESULT answers nothing: {row}")
        asked = rows[int(row["tally.response_to"][0]) - 1]
        for name in ("tally.slot", "tally.round", "tally.epoch"):
            if asked[name] != row[name] or asked["tally.type"] != ["1"]:
                sys.exit(f"frame {number} answers {asked}: {row}")
        if asked["tally.wid"] != row["tally.to_wid"] or not asked["tally.response_in"]:
            sys.exit(f"frame {number} is to rank {row['tally.to_wid']}: {asked}")


def run(dissector, totals_path, captures, *wanted):
    totals = {}
    for line in open(totals_path, encoding="utf-8"):
        key, _, value = line.strip().partition(" ")
        if value.isdigit():
            totals[key] = int(value)
    port = next((word[5:] for word in wanted if word.startswith("port:")), str(codec.PORT))
    files = [os.path.join(captures, name) for name in sorted(os.listdir(captures)) if name.endswith(".pcap")]
    experts = ["malformed", "seal", "desc_crc", "retransmission", "duplicate", "resent", "stale", "old_epoch",
               "mismatch", "missing", "forming", "late", "refused", "ended", "unknown"]
    fields = ["tally.type", "tally.slot", "tally.round", "tally.epoch", "tally.wid", "tally.to_wid",
              "tally.response_to", "tally.response_in", "tally.time", "tally.kind", "udp.dstport", "ip.dst", "icmp.type",
              "tally.job_name", "tally.close.sum", "tally.flags.partial", "tally.seal.status", "tally.value16",
              *("tally.expert." + name for name in experts), *ALWAYS]
    options = [f"-otally.ports:{port}"] if port != "none" else []
    # One item for each value takes most of the time.
    if "value16>0" not in wanted:
        options.append("-otally.values:FALSE")
    rows = tshark(dissector, files, fields, *options)
    sound(rows)
    switch = totals_address(totals_path)
    # A socket's port unreachable is captured as the ICMP packet that the kernel saw.
    rows = [row for row in rows if not row["icmp.type"]]
    for row in rows:
        row["in"] = row["ip.dst"] == [switch]
        if not row["tally.type"]:
            sys.exit(f"not read: {row}")
    into = run_counts(rows, totals, "exact" in wanted)
    if "exact" in wanted:
        run_links(rows)
    have = Counter({name: sum(bool(row["tally.expert." + name]) for row in rows) for name in experts})
    have += Counter({field: sum(bool(row["tally." + field]) for row in rows)
                     for field in ("close.sum", "value16", "job_name")})
    have["partial"] = sum(row["tally.flags.partial"] in (["1"], ["True"]) for row in rows)
    have["sealed"] = sum(bool(row["tally.seal.status"]) for row in rows)
    words = "\n".join(text for row in rows for text in row["_ws.expert.message"])
    for word in wanted:
        name, how, value = re.match(r"([^=>~]*)([=>~]?)(.*)", word, re.S).groups()
        if how == "=" and have[name] != int(value) or how == ">" and have[name] <= int(value):
            sys.exit(f"{words}\n{name} is {have[name]}, not {how}{value}: {dict(have)}")
        if how == "~" and not re.search(value, words):
            sys.exit(f"{words}\nno expert info says '{value}'")
    print(f"{len(rows)} packets: {dict(into)} in; {dict(have)}")


def record(dissector, captures):
    """All that a switch has captured is read."""
    files = [os.path.join(captures, name) for name in sorted(os.listdir(captures)) if ".pcap" in name]
    rows = tshark(dissector, files, ["tally.type", "tally.expert.malformed", *ALWAYS])
    sound(rows)
    types = Counter()
    for number, row in enumerate(rows, 1):
        if not row["tally.type"] or row["tally.expert.malformed"]:
            sys.exit(f"frame {number} is not read: {row}")
        types[TYPES[int(row["tally.type"][0])]] += 1
    print(f"{len(rows)} packets: {dict(types)}, 0 malformed")


def totals_address(path):
    name = re.search(r"^port\.1\.name udp:([0-9.]+)", open(path, encoding="utf-8").read(), re.M)
    return name.group(1)


if __name__ == "__main__":
    {"golden": golden, "noise": noise, "run": run, "record": record}[sys.argv[2]](sys.argv[1], *sys.argv[3:])
