# SPDX-License-Identifier: BSD-3-Clause
"""Changes PTX, one instruction at a time: operators, constants, predicates, shifts, stores. The checks have to notice.

A mutant that nothing notices needs an explanation. ptx_reasons.py has reasons why a change makes no difference; else
it is counted how often the changed instruction gave another value than the original would have, on the same operands: if
often enough, no result depends on that value, and what reads it is named. What neither fits is an error: no data came
where it matters.
"""

import copy
import re

import ptx
from ptx import mask_of
from ptx_reasons import Place, reason

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
    at, turn, why = Place(kernels[name], site, new), 0, ""
    for more in (FIRST, LAST - FIRST, LONGEST - LAST):
        if more == LONGEST - LAST:
            why = reason(at)
            if why or seen[1] >= OFTEN:
                break
        turn, wrong = notices(pieces, mutant, more, turn)
        if wrong:
            return "caught", wrong
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
