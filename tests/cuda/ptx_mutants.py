# SPDX-License-Identifier: BSD-3-Clause
"""Changes PTX, one instruction at a time: operators, constants, predicates, shifts, registers. The checks have to notice.

A mutant that nothing notices needs an explanation. EQUIVALENT has reasons why a change makes no difference; else it
is counted how often the changed instruction gave another value than the original would have, on the same operands:
if often enough, no result depends on that value, and what reads it is named. What neither fits is an error: no data
came where it matters.
"""

import copy
import re

import ptx
from ptx import mask_of

SWAPS = {"add": "sub", "sub": "add", "and": "or", "or": "and", "xor": "or", "shl": "shr", "shr": "shl",
         "min": "max", "max": "min"}
CONDITIONS = {"eq": "ne", "ne": "eq", "lt": "le", "le": "lt", "gt": "ge", "ge": "gt", "neu": "eq"}
FIRST, LAST = 4000, 150000  # elements until a mutant is thought to survive, and until it does
LONGEST = 3 * LAST  # while its value was hardly ever another
OFTEN = 1000  # times that a value was another, without effect


def constant_for(parts, i, op):
    """Another operand than this one: a constant, or an address without what is added to it."""
    offset = re.match(r"\[(%\w+)\+(\d+)\]$", op)
    if offset and parts[1] != "param":
        return "[%s]" % offset.group(1)
    if not re.match(r"-?(0x)?\w+$", op) or op.startswith("0f"):
        return None
    number = int(op, 0)
    if parts[-1] == "pred":
        return str(1 - number)
    if parts[0] in ("prmt", "shfl"):
        return str(number ^ 1) if i == (3 if parts[0] == "prmt" else 2) else None
    if (parts[0] in ("and", "or") or abs(number) > 0xffff) and number:
        # Without its highest bit: the lower ones of masks and significands are often of no account.
        number &= mask_of(parts[-1])
        return str(number ^ 1 << number.bit_length() - 1)
    return str(number - 1 if parts[0] in ("shl", "shr") and number > 1 else number + 1)


def changes_of(step):
    """Instructions that this one could be mistaken for, and the kind of the mistake."""
    guard, opcode, ops = step
    parts = opcode.split(".")
    made = []
    if guard:
        made.append(("predicate", [guard[4:] if guard.startswith("not ") else "not " + guard, opcode, ops]))
    if parts[0] in SWAPS and not (parts[-1] == "pred" and parts[0] == "xor"):
        made.append(("operator", [guard, ".".join([SWAPS[parts[0]]] + parts[1:]), ops]))
    if parts[0] == "setp":
        made.append(("operator", [guard, ".".join([parts[0], CONDITIONS[parts[1]]] + parts[2:]), ops]))
    if parts[0] == "selp":
        made.append(("operator", [guard, opcode, [ops[0], ops[2], ops[1], ops[3]]]))
    if parts[0] == "mul" and parts[1] == "hi":
        made.append(("operator", [guard, opcode.replace(".hi.", ".lo."), ops]))
    for i, op in enumerate(ops[1:], 1):
        kind = "shift" if parts[0] in ("shl", "shr") else "constant"
        other = constant_for(parts, i, op)
        if other:
            made.append((kind, [guard, opcode, ops[:i] + [other] + ops[i + 1:]]))
    if parts[0] in ("st", "atom"):
        made.append(("store", None))
    return made


def all_of(kernels):
    """For each kernel (its name, place in its code, kind, changed instruction)"""
    made = {}
    for name in sorted(kernels):
        made[name] = [(name, site, kind, new) for site, step in enumerate(kernels[name].code)
                      if not isinstance(step, str) for kind, new in changes_of(step)]
    return made


def sample(made, wanted, draw):
    """So many of all, from one kernel after the other."""
    chosen, names = [], sorted(made)
    draw.shuffle(names)
    for name in names:
        draw.shuffle(made[name])
    for nr in range(wanted):
        own = made[names[nr % len(names)]]
        if own:
            chosen.append(own.pop())
    return chosen


def notices(pieces, kernel, wanted, turn):
    """What is wrong, or nothing; the next turn."""
    try:
        thread = ptx.translate(kernel)
    except (ptx.Fault, SyntaxError) as error:
        return turn, "not translated: %s" % error
    try:
        _, turn, wrong = pieces.compare(kernel, thread, wanted, turn)
    except (ValueError, OverflowError, MemoryError, TypeError) as error:
        wrong = "it cannot go on: %s" % error
    return turn, wrong


def text_of(step):
    if not step:
        return "nothing"
    return "%s%s %s" % ("@%s " % step[0] if step[0] else "", step[1], ", ".join(step[2]))


# --- Reasons -------------------------------------------------------------------------------------

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
        """What reads the register that the instruction writes, as far as its next label."""
        found = []
        for step in self.code[self.site + 1:]:
            if isinstance(step, str):
                break
            if self.args[0] in registers(step):
                found.append(step)
        return found or [step for step in self.steps() if self.args[0] in registers(step)]


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
    """qm_round() of what is less than half of the smallest float32, from 16 bits on the wire."""
    if not re.match(r"tally_dequantize_\w+_16", at.name):
        return False
    if at.op in ("mov.u32", "mov.b32") and at.args[1] == "0":
        asked = {step[2][0] for step in at.before(4) if step[1] == "setp.gt.s32" and step[2][2].startswith("%")}
        after = at.code[at.site + 1:at.site + 2]
        return any(not isinstance(step, str) and step[1] == "bra" and "%" + step[0] in asked for step in after)
    return ((at.op, at.new[1]) == ("setp.gt.s32", "setp.ge.s32") and at.args[2].startswith("%") and
            any(step[1].startswith("bra") for step in at.branches()))


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


def is_scan(at):
    """float_times() asks whether its product is a NaN."""
    return (at.name.startswith("tally_scan_") and at.op in ("and.b32", "setp.gt.u32") and
            any(step[1] == "mul.rn.f32" for step in at.before(4)))


def is_payload(at):
    """qm_widen_f16() moves what a NaN has besides its exponent."""
    return re.match(r"tally_(quantize|scan)_f16", at.name) and at.op == "shl.b32" and at.args[2] == "13"


def is_last(at):
    """The second half of divisor_quotient()."""
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
    (is_loop, "one block more, which has no elements"),
    (is_infinity, "what is infinite is rounded to infinity, too"),
    (is_finite, "no finite float32 has a higher exponent than 254"),
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
        if at.new and test(at):
            return why
    return ""


# --- Trying them ---------------------------------------------------------------------------------

def measured(at, seen):
    """What has been seen of a value on which no result depends; nothing: too little."""
    if seen[1] < OFTEN:
        return ""
    readers = at.readers()
    return "its value was another %d of %d times, and no result was%s" % (
        seen[1], seen[0], "; it is read by \"%s\"" % text_of(readers[0]) if readers else "")


def attempt(pieces, kernels, one):
    """How a mutant ends: "caught", "equivalent", "no effect" or "unexplained", and why."""
    name, site, _, new = one
    mutant, seen = copy.copy(kernels[name]), [0, 0]
    mutant.code = list(mutant.code)
    if new:
        mutant.code[site] = ptx.Changed(new, kernels[name].code[site])
        seen = mutant.code[site].seen
    else:
        del mutant.code[site]
    at, turn, wanted = Place(kernels[name], site, new), 0, FIRST
    for until in (FIRST, LAST, LONGEST):
        why = reason(at) if until == LONGEST else ""
        if until == LONGEST and (why or seen[1] >= OFTEN):
            break
        turn, wrong = notices(pieces, mutant, wanted, turn)
        if wrong:
            return "caught", wrong
        wanted = (LAST if until == FIRST else LONGEST) - until
    why = reason(at)
    if why:
        return "equivalent", why
    why = measured(at, seen)
    return ("no effect", why) if why else (
        "unexplained", "its value was another %d of %d times" % (seen[1], seen[0]))


def check(pieces, kernels, wanted, label, draw):
    """Tries that many; the number of lines that say "not ok"."""
    made = all_of(kernels)
    possible = sum(len(own) for own in made.values())
    chosen = sample(made, wanted, draw)
    ends, kinds = dict.fromkeys(("caught", "equivalent", "no effect", "unexplained"), 0), {}
    for one in chosen:
        end, why = attempt(pieces, kernels, one)
        ends[end] += 1
        caught = kinds.setdefault(one[2], [0, 0])
        caught[0] += end == "caught"
        caught[1] += 1
        if end != "caught":
            print("# %s %s: \"%s\" for \"%s\": %s: %s" % (label, one[0], text_of(one[3]), text_of(
                kernels[one[0]].code[one[1]]), end, why), flush=True)
    told = ", ".join("%s %d of %d" % (kind, *kinds[kind]) for kind in sorted(kinds))
    real = len(chosen) - ends["equivalent"]
    # A sample says that they are caught, and only a larger one how many.
    good = ends["caught"] > 0 and (10 * ends["caught"] >= 9 * real or real < 20) and not ends["unexplained"]
    print("%s %s mutants: %d of %d caught (%.1f %%; %d are possible), %d more are equivalent; of the rest, %d have no "
          "effect, %d are unexplained; %s" % (
              "ok" if good else "not ok", label, ends["caught"], real, 100.0 * ends["caught"] / max(real, 1),
              possible, ends["equivalent"], ends["no effect"], ends["unexplained"], told))
    return 0 if good else 1
