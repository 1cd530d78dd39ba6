#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Computes the results of the vectors of docs/numerics.md from its text alone, in exact fractions.

usage: vectors.py [--write] [FILE]

Compares each result that the table states with the one computed here, and prints a line for each;
with --write the table gets the computed ones instead. None of the product's code is used. So it does
with what section 2 says of another scale.
"""

import os
import re
import sys
from fractions import Fraction
from functools import lru_cache

HERE = os.path.dirname(os.path.abspath(__file__))
DOC = os.path.join(HERE, "..", "..", "docs", "numerics.md")
BEGIN, END = "<!-- vectors -->", "<!-- end of vectors -->"
BLOCK = 256
# Significand without its leading one, exponent, bits of the whole.
FORMATS = {"f32": (23, 8, 32), "f16": (10, 5, 16), "bf16": (7, 8, 16)}
NAN, INF = "nan", "inf"


@lru_cache(None)
def power(exp):
    return Fraction(2) ** exp


@lru_cache(None)
def decode(bits, fmt):
    """A number: Fraction, or (INF, sign), or NAN. The sign of zero is lost."""
    mant, exp_bits, _ = FORMATS[fmt]
    sign = -1 if bits >> (mant + exp_bits) & 1 else 1
    exp = bits >> mant & ((1 << exp_bits) - 1)
    frac = bits & ((1 << mant) - 1)
    bias = (1 << (exp_bits - 1)) - 1
    if exp == (1 << exp_bits) - 1:
        return NAN if frac else (INF, sign)
    if exp == 0:
        return sign * frac * power(1 - bias - mant)
    return sign * (frac | 1 << mant) * power(exp - bias - mant)


def log2_floor(value):
    """Of a positive fraction."""
    low = value.numerator.bit_length() - value.denominator.bit_length() - 1
    while power(low + 1) <= value:
        low += 1
    return low


def encode(value, fmt, clamp=False):
    """The nearest number of the format, ties to even; zero has no sign. Clamp: never infinite."""
    mant, exp_bits, width = FORMATS[fmt]
    bias = (1 << (exp_bits - 1)) - 1
    infinite = ((1 << exp_bits) - 1) << mant
    if value == NAN:
        return infinite | 1 << (mant - 1)
    if isinstance(value, tuple):
        return (1 << (width - 1) if value[1] < 0 else 0) | infinite
    if value == 0:
        return 0
    sign = 1 << (width - 1) if value < 0 else 0
    exp = max(log2_floor(abs(value)), 1 - bias)
    units = round(abs(value) / power(exp - mant))  # of Fractions: ties to even
    if units == 1 << (mant + 1):
        units, exp = units >> 1, exp + 1
    if exp > bias:
        return sign | (infinite - 1 if clamp else infinite)
    if units < 1 << mant:
        return sign | units
    return sign | (exp + bias) << mant | (units - (1 << mant))


def is_finite(value):
    return isinstance(value, (int, Fraction))


def log2_ceil(count):
    return (count - 1).bit_length()


def shift(exp, world, wire):
    """Sections 2 and 3."""
    exp = max(exp, 1)
    if wire == 32:
        return 157 - exp - log2_ceil(world) - (world >= 256)
    return 141 - exp - log2_ceil(world)


def quantize(value, k, world, wire):
    q = round(value * power(k))
    if wire == 16:
        limit = 32767 // world
        q = min(max(q, -limit), limit)
    return q


def biased(value):
    """Biased float32 exponent of a finite number."""
    if value == 0:
        return 0
    return max(log2_floor(abs(value)) + 127, 0)


def scaled(value, factor):
    """As a float32 product."""
    if value == NAN or factor == 1:
        return value
    if isinstance(value, tuple):
        return NAN if factor == 0 else (INF, value[1] * (1 if factor > 0 else -1))
    return decode(encode(value * factor, "f32"), "f32")


def float_sum(vector, ranks):
    """ranks: a list of numbers for each rank. Bits, elements that are NaN, lowest rank to blame."""
    world, wire, fmt = vector["world"], vector["wire"], vector["type"]
    divisor = world if vector["op"] == "avg" else 1
    ranks = [[scaled(x, vector["pre"]) for x in rank] for rank in ranks]
    out, bad, blame = [], 0, set()
    for first in range(0, len(ranks[0]), BLOCK):
        block = [rank[first:first + BLOCK] for rank in ranks]
        wrong = [r for r, rank in enumerate(block) if not all(map(is_finite, rank))]
        if wrong:
            blame.update(wrong)
            bad += len(block[0])
            out += [encode(NAN, fmt)] * len(block[0])
            continue
        k = shift(max(biased(x) for rank in block for x in rank), world, wire)
        for column in zip(*block):
            total = sum(quantize(x, k, world, wire) for x in column)
            if not -1 << (wire - 1) <= total < 1 << (wire - 1):
                sys.exit("%s: the sum %d does not fit" % (vector["name"], total))
            exact = Fraction(total, divisor) / power(k)
            if vector["post"] != 1:
                exact = scaled(decode(encode(exact, "f32", divisor > 1), "f32"), vector["post"])
                out.append(encode(exact, fmt))
            else:
                out.append(encode(exact, fmt, divisor > 1))
    return out, bad, min(blame) if blame else -1


def order(bits, fmt):
    """Sorts floats; -0.0 is below 0.0."""
    mant, exp_bits, _ = FORMATS[fmt]
    magnitude = bits & ((1 << (mant + exp_bits)) - 1)
    return -1 - magnitude if bits >> (mant + exp_bits) else magnitude


def float_extreme(vector, ranks):
    fmt, out = vector["type"], []
    choose = max if vector["op"] == "max" else min
    for column in zip(*ranks):
        if any(decode(bits, fmt) == NAN for bits in column):
            out.append(encode(NAN, fmt))
        else:
            out.append(choose(column, key=lambda bits: order(bits, fmt)))
    return out, 0, -1


def signed(word):
    return word - (1 << 32) if word >> 31 else word


def integers(vector, ranks):
    out = []
    for column in zip(*ranks):
        column = [signed(word) for word in column]
        if vector["op"] in ("max", "min"):
            total = max(column) if vector["op"] == "max" else min(column)
        else:
            total = 0
            for word in column:
                total += word
                if vector["saturate"]:
                    total = min(max(total, -1 << 31), (1 << 31) - 1)
            total = signed(total & 0xffffffff)
            if vector["op"] == "avg":
                total = abs(total) // vector["world"] * (-1 if total < 0 else 1)
        out.append(total & 0xffffffff)
    return out, 0, -1


def mixed(vector, rank, i):
    """Bits of an element that no other has; section 14."""
    h = (i * 2654435761 + rank * 40503 + vector["seed"]) & 0xffffffff
    h ^= h >> 16
    h = h * 0x7feb352d & 0xffffffff
    h ^= h >> 15
    h = h * 0x846ca68b & 0xffffffff
    h ^= h >> 16
    block = i // BLOCK
    if vector["type"] == "f32":
        return (h & 0x807fffff) | (90 + block % 40 + (h >> 23 & 7)) << 23
    if vector["type"] == "bf16":
        return (h >> 16 & 0x807f) | (90 + block % 40 + (h >> 8 & 7)) << 7
    if vector["type"] == "f16":
        return (h >> 16 & 0x83ff) | (5 + block % 8 + (h >> 8 & 7)) << 10
    return h


def ranges(text):
    """"1 3-5": 1, 3, 4, 5."""
    out = []
    for word in text.split():
        first, _, last = word.partition("-")
        out += range(int(first), int(last or first) + 1)
    return out


def elements(text):
    """"3f800000 x2 0": bits."""
    out = []
    for word in text.split():
        if word.startswith("x"):
            out += [out[-1]] * (int(word[1:]) - 1)
        else:
            out.append(int(word, 16))
    return out


def parse(cells):
    name, fmt, op, wire, world, values, result = cells
    options = dict(word.split("=") for word in op.split()[1:] if "=" in word)
    vector = {
        "name": name, "type": fmt, "op": op.split()[0], "wire": int(wire), "world": int(world),
        "saturate": "saturating" in op, "values": values, "result": result,
        "pre": decode(int(options.get("pre", "3f800000"), 16), "f32"),
        "post": decode(int(options.get("post", "3f800000"), 16), "f32"),
    }
    if values.startswith("mix "):
        seed, _, counts = values[4:].partition(":")
        vector["seed"], vector["counts"] = int(seed), ranges(counts)
    return vector


def tensors(vector):
    """Lists of each rank's bits, one for each count."""
    world = vector["world"]
    if "counts" in vector:
        for count in vector["counts"]:
            yield [[mixed(vector, r, i) for i in range(count)] for r in range(world)]
        return
    ranks = [None] * world
    for part in vector["values"].split(";"):
        who, _, bits = part.partition(":")
        for r in range(world) if who.strip() == "*" else ranges(who):
            ranks[r] = ranks[r] or elements(bits)
    yield ranks


def reduce(vector, ranks):
    if vector["type"] == "i32":
        return integers(vector, ranks)
    if vector["op"] in ("max", "min"):
        return float_extreme(vector, ranks)
    return float_sum(vector, [[decode(bits, vector["type"]) for bits in rank] for rank in ranks])


def spelled(bits, digits):
    """"3f800000 x2 00000000"."""
    out, i = [], 0
    while i < len(bits):
        times = 1
        while i + times < len(bits) and bits[i + times] == bits[i]:
            times += 1
        out.append("%0*x" % (digits, bits[i]) + (" x%d" % times if times > 1 else ""))
        i += times
    return " ".join(out)


def fnv(data, start):
    for byte in data:
        start = (start ^ byte) * 0x100000001b3 & 0xffffffffffffffff
    return start


def compute(vector):
    width = 4 if vector["type"] in ("f32", "i32") else 2
    digest = 0xcbf29ce484222325
    for ranks in tensors(vector):
        bits, bad, blame = reduce(vector, ranks)
        if "counts" not in vector:
            text = spelled(bits, 2 * width)
            return text + ("; NaN %d by %d" % (bad, blame) if bad else "")
        digest = fnv(b"".join(word.to_bytes(width, "little") for word in bits), digest)
    return "hash %016x" % digest


def other_scale(rounded):
    """n up to 1024 for which n times the largest float32 below 1, scaled by INT32_MAX / n, overflow."""
    most, x = (1 << 31) - 1, 1 - power(-24)

    def product(n):
        exact = x * decode(encode(Fraction(most, n), "f32"), "f32")
        return decode(encode(exact, "f32"), "f32") if rounded else exact

    return [n for n in range(1, 1025) if n * round(product(n)) > most]


def other_scale_check(text):
    """Section 2: how many there are, with the product rounded and exact, and the first."""
    stated = re.search(r"overflow int32 for (\d+) of the n up to 1024 \((\d+) if the product is "
                       r"exact\), the first being (\d+)", " ".join(text.split()))
    seen = [other_scale(True), other_scale(False)]
    computed = [len(seen[0]), len(seen[1]), min(seen[0] + seen[1])]
    stated = [int(word) for word in stated.groups()] if stated else None
    print("%s another scale overflows: stated %s, computed %s"
          % ("ok" if stated == computed else "not ok", stated, computed))
    return stated == computed


def split(line):
    return [cell.strip().strip("`") for cell in line.strip().strip("|").split("|")]


def is_vector(cells):
    return len(cells) == 7 and re.fullmatch(r"f32|f16|bf16|i32", cells[1]) is not None


def main(args):
    write = "--write" in args
    path = ([a for a in args if a != "--write"] or [DOC])[0]
    with open(path, encoding="utf-8") as file:
        lines = file.read().split("\n")
    inside, count, bad = False, 0, 0
    for at, line in enumerate(lines):
        inside = line == BEGIN or (inside and line != END)
        cells = split(line) if inside and line.startswith("|") else []
        if not is_vector(cells):
            continue
        vector = parse(cells)
        result = compute(vector)
        count += 1
        same = result == vector["result"]
        bad += not same
        if not write:
            print("%s %s: stated %s, computed %s" % ("ok" if same else "not ok", vector["name"],
                                                     vector["result"], result))
        head = line.strip().strip("|").split("|")[:-1]
        lines[at] = "|" + "|".join(head) + "| `" + result + "` |"
    if write:
        with open(path, "w", encoding="utf-8") as file:
            file.write("\n".join(lines))
        print("%d vectors, %d results changed" % (count, bad))
        return 0
    bad += not other_scale_check("\n".join(lines))
    print("%d vectors computed in exact fractions, %d results differ from the text" % (count, bad))
    return 0 if count and not bad else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
