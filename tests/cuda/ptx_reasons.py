# SPDX-License-Identifier: BSD-3-Clause
"""Why a change of the kernels' PTX makes no difference: found from the code around it.

A reason here is one for all data that a kernel may be given, not only for those that it was tried with; is_last() has
the only exception.
"""

import re


class Place:
    """An instruction of a kernel and what it is changed to."""

    def __init__(self, kernel, site, new):
        self.name, self.code, self.site = kernel.name, kernel.code, site
        self.old, self.new = kernel.code[site], new
        self.op, self.args = self.old[1], self.old[2]

    def steps(self):
        return [step for step in self.code if not isinstance(step, str)]

    def before(self, nr):
        return [step for step in self.code[max(0, self.site - nr):self.site] if not isinstance(step, str)]

    def readers(self):
        """Others that read the register that the instruction writes; those that follow it come first."""
        return [step for step in self.code[self.site + 1:] + self.code[:self.site]
                if not isinstance(step, str) and self.args[0] in registers(step)]

    def branches(self):
        return [step for step in self.steps() if step[0].split()[-1:] == [self.args[0][1:]]]


def registers(step):
    """Those that an instruction reads."""
    reads = re.findall(r"%\w+", " ".join(step[2] if step[1][:2] == "st" else step[2][1:]))
    return reads + ["%" + step[0].split()[-1]] if step[0] else reads


def writers(code, register, site):
    """Places of the instructions whose value the register can have there."""
    found, seen, left = set(), set(), [site]
    while left:
        nr = left.pop()
        before = [nr - 1] if nr and (isinstance(code[nr - 1], str) or not ends(code[nr - 1])) else []
        if isinstance(code[nr], str):
            before += [i for i, step in enumerate(code) if step[1:] == ["bra", [code[nr]]] or
                       step[1:] == ["bra.uni", [code[nr]]]]
        for nr in before:
            if nr in seen:
                continue
            seen.add(nr)
            step = code[nr]
            writes = not isinstance(step, str) and step[1][:2] != "st" and step[2] and register in re.findall(
                r"%\w+", step[2][0])
            if writes:
                found.add(nr)
            if not writes or step[0]:
                left.append(nr)
    return found


def ends(step):
    """Whether what follows an instruction comes after something else."""
    return not step[0] and step[1] in ("ret", "bra", "bra.uni")


def possible_bits(code, register, site, depth=8):
    """Bits that a register can have there, from whatever has written it."""
    found, full = 0, 0xffffffff
    for nr in writers(code, register, site):
        name, ops = code[nr][1].split(".")[0], code[nr][2][1:]
        bits = [int(op, 0) & full if re.match(r"-?(0x)?\d", op) and not op.startswith("0f") else
                possible_bits(code, op, nr, depth - 1) if depth and re.match(r"%rs?\d", op) else full for op in ops]
        if name in ("mov", "selp") and not ops[0].startswith("{"):
            found |= bits[0] | (bits[1] if name == "selp" else 0)
        elif name == "and":
            found |= bits[0] & bits[1]
        elif name in ("or", "xor"):
            found |= bits[0] | bits[1]
        elif name == "shr" and ".s" not in code[nr][1] and ops[1].isdigit():
            found |= bits[0] >> int(ops[1])
        elif name == "cvt" and code[nr][1].endswith(".u16"):
            found |= bits[0] & 0xffff
        else:
            return full
    return found


def is_alignment(at):
    """More pieces than necessary are thought not to be aligned."""
    return at.op.startswith("and.b") and at.args[2] in ("15", "7", "3", "1") and at.new[1].startswith("or.b")


def is_length(at):
    """No block is thought to be full."""
    return at.op == "setp.eq.s32" and at.args[2] == "256" and at.new[2][2] == "257"


def is_full(at):
    """walk_length() of a full block."""
    return at.op == "setp.gt.u64" and at.args[2] == "255" and at.new[2][2] == "256"


def is_limit(at):
    """qm_quantize() saturates at a number that qm_quantize16() lowers to its limit."""
    saturates = [at.old] if at.op == "selp.b32" else at.readers() if at.op == "setp.gt.s32" else []
    return (at.name.startswith("tally_quantize_") and at.name.endswith("_16") and saturates and
            all(step[1] == "selp.b32" and "2147483647" in step[2] for step in saturates) and
            (at.op == "selp.b32" or (at.args[2], at.new[1]) == ("157", "setp.ge.s32")))


def is_vanishing(at):
    """qm_round() of what is less than half of the smallest float32, from 16 bits on the wire: it would be 0."""
    if not re.match(r"tally_dequantize_\w+_16", at.name):
        return False
    if at.op in ("mov.u32", "mov.b32") and at.args[1] == "0":
        near = [step for step in at.code[max(0, at.site - 4):at.site + 4] if not isinstance(step, str)]
        asked = {step[2][0] for step in near if step[1] == "setp.gt.s32" and step[2][2].startswith("%")}
        return any(step[1] == "bra" and "%" + step[0] in asked for step in near)
    return ((at.op, at.new[1]) == ("setp.gt.s32", "setp.ge.s32") and at.args[2].startswith("%") and
            any(step[1].startswith("bra") for step in at.branches()))


def is_short(at):
    """The last bit of a float32 from 16 bits on the wire, which nothing has divided."""
    if not re.match(r"tally_dequantize_\w+_16", at.name) or at.op != "and.b64" or (
            at.args[2], at.new[1], at.new[2][2]) != ("1", "and.b64", "0"):
        return False
    shift = [step for step in at.before(4) if step[1] == "shr.u64" and step[2][0] == at.args[1]]
    if not shift:
        return False
    value, drop = ([step for step in at.steps() if step[2][:1] == [register]] for register in shift[0][2][1:])
    return ([step[1] for step in value] == ["cvt.u64.u32"] and
            [(step[1], step[2][2]) for step in drop] == [("add.s32", "-24")])


def is_power(at):
    """Whether the divisor is a power of two, and then a shift."""
    asked = set()
    for less, step in zip(at.steps(), at.steps()[1:]):
        if (less[1], less[2][2:], step[1]) == ("add.s32", ["-1"], "and.b32") and (
                set(step[2][1:]) == {less[2][0], less[2][1]}):
            asked |= {less[2][0], step[2][0]}
    return bool(asked & set(at.args[:2])) and (at.new[1] == "or.b32" or (at.op, at.new[2][2:]) in (
        ("add.s32", ["0"]), ("setp.eq.s32", ["1"])))


def is_pointer(at):
    """The address of an element, where only its alignment is asked."""
    others = at.readers()
    return ((at.op, at.new[1]) == ("add.s64", "sub.s64") and at.args[0] == at.args[1] and at.args[2] in ("64", "128") and
            others and all(step[1] == "and.b64" and step[2][2] in ("1", "3") for step in others))


def is_dropped(at):
    """A sign in all bits, of which a bit is dropped."""
    return (at.op == "shr.s32" and at.new[2][2] == "30" and at.readers() and
            all(step[1] == "shr.u32" and step[2][2] == "1" for step in at.readers()))


def is_loop(at):
    """Where the first element of a block is compared with their number."""
    return ({at.op, at.new[1]} in ({"setp.lt.u64", "setp.le.u64"}, {"setp.gt.u64", "setp.ge.u64"}) and
            at.args[2].startswith("%"))


def is_infinity(at):
    """qm_narrow()'s exponent 255."""
    return at.op in ("setp.eq.s32", "setp.ne.s32") and at.args[2] == "255" and at.new[2][2] == "256"


def is_finite(at):
    """qm_round() of a float32, whose Inf and NaN are dealt with before."""
    return (re.match(r"tally_(unorder|dequantize)_bf16", at.name) and at.op == "setp.gt.s32" and
            at.args[2] == "254" and at.new[2][2] == "255")


def is_unsigned(at):
    """The sign of what only its exponent is read of."""
    numbers = [step[2][2] for step in (at.old, at.new) if step[1] == "and.b32" and re.match(r"-?\d+$", step[2][2])]
    return (at.name.startswith("tally_scan_") and len(numbers) == 2 and
            (int(numbers[0]) ^ int(numbers[1])) & 0xffffffff == 0x80000000)


def is_scan(at):
    """float_times() asks whether its product is a NaN."""
    return (at.name.startswith("tally_scan_") and at.op in ("and.b32", "setp.gt.u32") and
            any(step[1] == "mul.rn.f32" for step in at.before(4)))


def is_payload(at):
    """qm_widen_f16() moves what a NaN has besides its exponent."""
    return re.match(r"tally_(quantize|scan)_f16", at.name) and at.op == "shl.b32" and at.args[2] == "13"


def is_last(at):
    """
    The second half of divisor_quotient(). Where a factor follows, the quotient first becomes a float32, whose last bit
    can then be another: of its products, one in 2^12 or less is so near to a tie of 16 bits that this would show.
    """
    if not re.match(r"tally_dequantize_b?f16_", at.name):
        return False
    if at.op == "shl.b32" and at.args[2] == "16":
        return True
    made = {at.args[0]}
    for step in at.code[at.site + 1:at.site + 16]:
        if isinstance(step, str) or (step[1] == "mul.wide.u32" and step[2][1] in made):
            return False
        if step[1] == "or.b64" and made & set(step[2][1:]):
            return True
        if made & set(registers(step)):
            made.add(step[2][0])
    return False


def is_unset(at):
    """A mask without a bit that is never set."""
    if at.op != "and.b32" or at.new[1] != at.op or at.new[2][1] != at.args[1] or at.args[2].startswith("%"):
        return False
    return not possible_bits(at.code, at.args[1], at.site) & (int(at.args[2]) ^ int(at.new[2][2])) & 0xffffffff


def is_sign(at):
    """A sign is set by adding it."""
    return ({at.op, at.new[1]} == {"add.s32", "sub.s32"} and at.args[2].startswith("%r") and
            possible_bits(at.code, at.args[2], at.site) in (0, 0x80000000))


def value_at(at, operand, register, number, depth=6):
    """What an operand is where the register has that number; a name, if that does not say."""
    if operand == register:
        return number
    if re.match(r"-?\d+$", operand):
        return int(operand) & 0xffffffff
    writers = [step for step in at.steps() if step[2] and step[2][0] == operand]
    if len(writers) != 1 or not depth or writers[0][0]:
        return operand
    name, ops = writers[0][1].split(".")[0], writers[0][2][1:]
    values = [value_at(at, op, register, number, depth - 1) for op in ops]
    if name not in ("mov", "add", "sub", "shl", "max") or not all(isinstance(one, int) for one in values):
        return operand
    value = {"mov": lambda a: a, "add": lambda a, b: a + b, "sub": lambda a, b: a - b, "shl": lambda a, b: a << b,
             "max": lambda a, b: max((a, b), key=lambda x: (x ^ 1 << 31) - (1 << 31))}[name](*values)
    return value & 0xffffffff


def boundary(at):
    """The number of its first operand for which a comparison now has another outcome, if that is the only one."""
    name, was, now = at.op.split(".")[1], at.args[2], at.new[2][2]
    swapped = {"gt": "ge", "ge": "gt", "lt": "le", "le": "lt"}
    if at.new[1] != at.op:
        return was if at.op.replace(name, swapped.get(name, "-")) == at.new[1] else None
    if name not in swapped or int(now) != int(was) + 1:
        return None
    return now if name in ("gt", "le") else was


def is_choice(at):
    """A comparison that chooses between values, which are equal where it now has the other outcome."""
    limit = boundary(at) if re.match(r"setp\.\w\w\.[su]32", at.op) and at.new[0] == at.old[0] else None
    readers = at.readers()
    if limit is None or not readers or any(step[1] != "selp.b32" for step in readers):
        return False
    for step in readers:
        if re.match(r"-?\d+$", limit):
            both = [value_at(at, op, at.args[1], int(limit) & 0xffffffff) for op in step[2][1:3]]
            if both[0] != both[1]:
                return False
        elif not set(step[2][1:3]) & set(at.args[1:]):
            return False
    return True


def is_butterfly(at):
    """The distances of an exchange among all lanes, or a constant that is one of them."""
    sites = [step for step in at.steps() if step[1].startswith("shfl.")]
    of_mov = at.op in ("mov.u32", "mov.b32") and any(step[2][2] == at.args[0] for step in sites)
    if not sites or not (of_mov or at.op.startswith("shfl.")):
        return False
    constant = {step[2][0]: step[2][1] for step in at.steps() if step[1].startswith("mov.") and len(step[2]) > 1}
    for first in range(0, len(sites), 5):
        changed = [at.new if step is at.old else step for step in sites[first:first + 5]]
        apart = [step[2][2] for step in changed]
        apart = [at.new[2][1] if of_mov and one == at.args[0] else constant.get(one, one) for one in apart]
        if not all(one.isdigit() for one in apart) or reached(apart) != 32:
            return False
    return len(sites) % 5 == 0


def reached(apart):
    """How many lanes a lane hears of through such exchanges, if it hears of each once."""
    lanes = [0]
    for one in apart:
        lanes += [lane ^ int(one) for lane in lanes]
    return len(set(lanes)) if max(lanes) < 32 else 0


# What the checks do not notice, and why nobody can. Where such a change can be noticed, it is.
EQUIVALENT = [
    (is_alignment, "taken element by element, it has the same bits"),
    (is_length, "taken element by element, it has the same bits"),
    (is_full, "a block of which exactly 256 elements are left has 256 by both ways"),
    (is_limit, "both numbers are above the limit of 16 bits"),
    (is_vanishing, "one of 16 bits is at least 2^-149: nothing is that small"),
    (is_unset, "the mask keeps all bits that can be set"),
    (is_short, "the last of 24 bits is never set: there are 15, and one of them is at least 2^-149"),
    (is_power, "a power of two is divided by as other divisors are, too"),
    (is_pointer, "its lowest bits are the same, and others are not read"),
    (is_dropped, "what differs is shifted out"),
    (is_loop, "one block more, which has no elements"),
    (is_infinity, "what is infinite is rounded to infinity, too"),
    (is_finite, "no finite float32 has a higher exponent than 254"),
    (is_unsigned, "an exponent has no sign"),
    (is_scan, "the exponent of a NaN is 255 without it"),
    (is_payload, "all NaN are the same to the numbers that are sent"),
    (is_last, "16 bits of a quotient are enough for 16-bit floats; the others only say \"not exact\""),
    (is_sign, "it is 0 or the highest bit: added and subtracted are the same"),
    (is_choice, "where the comparison has another outcome, both values are the same"),
    (is_butterfly, "by these distances, too, each lane hears of each other one once"),
]


def reason(at):
    """Why a change makes no difference, or nothing."""
    for test, why in EQUIVALENT:
        if at.new and at.new[0] == at.old[0] and test(at):
            return why
    return ""
