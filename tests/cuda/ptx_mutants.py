# SPDX-License-Identifier: BSD-3-Clause
"""Changes PTX, one instruction at a time: operators, constants, predicates, shifts, registers. The checks have to notice.

A mutant that nothing notices is held against EQUIVALENT: reasons why such a change makes no
difference. What no reason fits counts as not caught.
"""

import copy
import re

import ptx
from ptx import mask_of

SWAPS = {"add": "sub", "sub": "add", "and": "or", "or": "and", "xor": "or", "shl": "shr", "shr": "shl",
         "min": "max", "max": "min"}
CONDITIONS = {"eq": "ne", "ne": "eq", "lt": "le", "le": "lt", "gt": "ge", "ge": "gt", "neu": "eq"}
FIRST, LAST = 4000, 150000  # elements until a mutant is thought to survive, and until it does


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


def reason(kernels, name, site, new):
    """Why a change makes no difference, or nothing."""
    old, code = kernels[name].code[site], kernels[name].code
    for test, why in EQUIVALENT:
        if new and test(name, code[max(0, site - 4):site], old, new):
            return why
    return ""


def is_alignment(_, __, old, new):
    """More pieces than necessary are thought not to be aligned."""
    return old[1].startswith("and.b") and old[2][2] in ("15", "7") and new[1].startswith("or.b")


def is_loop(_, __, old, new):
    """Where the first element of a block is compared with their number."""
    return {old[1], new[1]} == {"setp.lt.u64", "setp.le.u64"} and old[2][2].startswith("%")


def is_infinity(_, __, old, new):
    """qm_narrow()'s exponent 255."""
    return old[1] in ("setp.eq.s32", "setp.ne.s32") and old[2][2] == "255" and new[2][2] == "256"


def is_scan(name, before, old, _):
    """float_times() asks whether its product is a NaN."""
    return (name.startswith("tally_scan_") and old[1] in ("and.b32", "setp.gt.u32") and
            any(step[1] == "mul.rn.f32" for step in before if not isinstance(step, str)))


def is_payload(name, _, old, __):
    """qm_widen_f16() moves what a NaN has besides its exponent."""
    return re.match(r"tally_(quantize|scan)_f16", name) and old[1] == "shl.b32" and old[2][2] == "13"


def is_last(name, _, old, __):
    """The second half of divisor_quotient()."""
    return re.match(r"tally_dequantize_b?f16_", name) and old[1] == "shl.b32" and old[2][2] == "16"


def is_length(_, __, old, new):
    """No block is thought to be full."""
    return old[1] == "setp.eq.s32" and old[2][2] == "256" and new[2][2] == "257"


def is_limit(name, _, old, __):
    """qm_quantize() saturates at a number that qm_quantize16() lowers to its limit."""
    return name.startswith("tally_quantize_") and name.endswith("_16") and "2147483647" in old[2][1:] and old[1] == "selp.b32"


# What the checks do not notice, and why nobody can. Where such a change can be noticed, it is.
EQUIVALENT = [
    (is_alignment, "taken element by element, it has the same bits"),
    (is_length, "taken element by element, it has the same bits"),
    (is_limit, "both numbers are above the limit of 16 bits"),
    (is_loop, "one block more, which has no elements"),
    (is_infinity, "what is infinite is rounded to infinity, too"),
    (is_scan, "the exponent of a NaN is 255 without it"),
    (is_payload, "all NaN are the same to the numbers that are sent"),
    (is_last, "16 bits of a quotient are enough for 16-bit floats; the others only say \"not exact\""),
]


def attempt(pieces, kernels, one):
    """How a mutant ends: "caught", "equivalent" or "survives", and why."""
    name, site, _, new = one
    mutant = copy.copy(kernels[name])
    mutant.code = list(mutant.code)
    if new:
        mutant.code[site] = new
    else:
        del mutant.code[site]
    turn, wrong = notices(pieces, mutant, FIRST, 0)
    if not wrong:
        turn, wrong = notices(pieces, mutant, LAST - FIRST, turn)
    if wrong:
        return "caught", wrong
    why = reason(kernels, name, site, new)
    return ("equivalent", why) if why else ("survives", "")


def check(pieces, kernels, wanted, label, draw):
    """Tries that many; the number of lines that say "not ok"."""
    made = all_of(kernels)
    possible = sum(len(own) for own in made.values())
    chosen = sample(made, wanted, draw)
    ends, kinds = {"caught": 0, "equivalent": 0, "survives": 0}, {}
    for one in chosen:
        end, why = attempt(pieces, kernels, one)
        ends[end] += 1
        caught = kinds.setdefault(one[2], [0, 0])
        caught[0] += end == "caught"
        caught[1] += 1
        if end != "caught":
            print("# %s %s: \"%s\" for \"%s\" %s" % (label, one[0], text_of(one[3]), text_of(
                kernels[one[0]].code[one[1]]), end + (": " + why if why else "")), flush=True)
    told = ", ".join("%s %d of %d" % (kind, *kinds[kind]) for kind in sorted(kinds))
    real = len(chosen) - ends["equivalent"]
    # A sample says that they are caught, and only a larger one how many.
    good = ends["caught"] > 0 and (10 * ends["caught"] >= 9 * real or real < 20)
    print("%s %s mutants: %d of %d caught (%.1f %%; %d are possible), %d more are equivalent, %d survive; %s" % (
        "ok" if good else "not ok", label, ends["caught"], real, 100.0 * ends["caught"] / max(real, 1),
        possible, ends["equivalent"], ends["survives"], told))
    return 0 if good else 1
