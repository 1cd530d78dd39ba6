# SPDX-License-Identifier: BSD-3-Clause
"""Runs the PTX that nvcc has made of the kernels: each kernel becomes a Python function, a thread calls it.

Registers are integers without sign, float32 by its bits. What this does not know is an error, as
is an access that is not aligned or outside all buffers, a register read before it is written, and
a meeting that not all lanes of a warp come to.
"""

import functools
import inspect
import random
import re
import struct

LANES = 32


class Fault(Exception):
    """What a kernel must not do."""


# --- What the emitted code calls -----------------------------------------------------------------

WORD, FLOAT = struct.Struct("<I"), struct.Struct("<f")


def float_of(bits):
    return FLOAT.unpack(WORD.pack(bits))[0]


def bits_of(value):
    """Rounded to nearest even, as the C library's conversion does; NaN is the device's own."""
    if value != value:
        return 0x7fffffff
    try:
        return WORD.unpack(FLOAT.pack(value))[0]
    except OverflowError:
        return 0xff800000 if value < 0 else 0x7f800000


def float_mul(a, b):
    """A product of two float32 is exact as a double, so it is rounded once."""
    return bits_of(float_of(a) * float_of(b))


def divide(a, b):
    if b == 0:
        raise Fault("division by 0")
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


class Memory:
    """Buffers of this process: (address, bytes, whether it may be written). Only atomic operations write twice at a place."""

    def __init__(self, buffers):
        import ctypes
        self.parts = []
        for at, size, writable in buffers:
            if size:
                view = memoryview((ctypes.c_char * size).from_address(at)).cast("B")
                self.parts.append((at, at + size, view, bytearray(size) if writable else None))

    def find(self, at, size, align, what="load"):
        if at % align:
            raise Fault("%s of %d bytes at %#x is not aligned" % (what, size, at))
        for begin, end, view, written in self.parts:
            if begin <= at and at + size <= end:
                offset = at - begin
                if what != "load" and written is None:
                    break
                if what == "store":
                    if any(written[offset:offset + size]):
                        raise Fault("a second store of %d bytes at %#x" % (size, at))
                    written[offset:offset + size] = b"\1" * size
                return view, offset
        raise Fault("%s of %d bytes at %#x is outside" % (what, size, at))

    def load(self, at, size):
        view, offset = self.find(at, size, size)
        return int.from_bytes(view[offset:offset + size], "little")

    def store(self, at, size, value):
        view, offset = self.find(at, size, size, "store")
        view[offset:offset + size] = (value & ((1 << 8 * size) - 1)).to_bytes(size, "little")

    def load_many(self, at, nr):
        view, offset = self.find(at, 4 * nr, 4 * nr)
        return struct.unpack_from("<%dI" % nr, view, offset)

    def store_many(self, at, *words):
        view, offset = self.find(at, 4 * len(words), 4 * len(words), "store")
        struct.pack_into("<%dI" % len(words), view, offset, *words)

    def add(self, at, size, more):
        view, offset = self.find(at, size, size, "atomic")
        old = int.from_bytes(view[offset:offset + size], "little")
        view[offset:offset + size] = (old + more & (1 << 8 * size) - 1).to_bytes(size, "little")
        return old


# --- Parsing -------------------------------------------------------------------------------------

class Kernel:
    """Parameters as (name, bytes); code as [guard, opcode, operands] or a label's name."""

    def __init__(self, name, params, code):
        self.name, self.params, self.code = name, params, code


def split_operands(text):
    return re.findall(r"\{[^}]*\}|\[[^\]]*\]|[^,\s]+", text)


def parse_param(text):
    array = re.search(r"\.b8\s+(\w+)\[(\d+)\]", text)
    if array:
        return array.group(1), int(array.group(2))
    plain = re.search(r"\.[usbf](\d+)\b.*?(\w+)\s*$", text)
    return plain.group(2), int(plain.group(1)) // 8


def parse(text):
    kernels = {}
    for found in re.finditer(r"\.entry\s+(\w+)\s*\(([^)]*)\)[^{]*\{(.*?)\n\}", text, re.S):
        name, params, body = found.groups()
        code = []
        # One half of a register, the other one into nowhere.
        body = re.sub(r"\{ \.reg \.b16 tmp; (.*?;) \}", lambda half: half.group(1).replace("tmp", "%tmp"), body)
        for line in body.split("\n"):
            line = line.split("//")[0].strip()
            label = re.match(r"(\$\w+):$", line)
            step = re.match(r"(?:@(!?)%(p\d+)\s+)?([a-z][\w.:]*)\s*([^;]*);$", line)
            if label:
                code.append(label.group(1))
            elif step:
                guard = ("not " if step.group(1) else "") + (step.group(2) or "")
                code.append([guard, step.group(3), split_operands(step.group(4))])
            elif line and not line.startswith("."):
                raise Fault("%s: what is \"%s\"?" % (name, line))
        kernels[name] = Kernel(name, [parse_param(p) for p in params.split(",")], code)
    return kernels


# --- Translation of one instruction --------------------------------------------------------------

SPECIAL = {"%tid.x": "tid", "%ntid.x": "ntid", "%ctaid.x": "ctaid", "%nctaid.x": "nctaid"}
COMPARE = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">=", "neu": "!="}
PLAIN = {"and": "&", "or": "|", "xor": "^"}


def width_of(kind):
    return 1 if kind == "pred" else int(kind[1:])


def mask_of(kind):
    return (1 << width_of(kind)) - 1


def value(text, kind):
    """A register's name, or a constant of that kind."""
    if text in SPECIAL:
        return SPECIAL[text]
    if text.startswith("%"):
        return text[1:]
    if text.startswith("0f"):
        return str(int(text[2:], 16))
    return str(int(text, 0) & mask_of(kind))


def signed(text, kind):
    """The expression's value as a number of that kind."""
    if kind[0] != "s":
        return text
    half = 1 << (width_of(kind) - 1)
    return "((%s ^ %d) - %d)" % (text, half, half)


def address(text):
    base, offset = re.match(r"\[%(\w+)(?:\+(-?\d+))?\]$", text).groups()
    return base if not offset else "%s + %s" % (base, offset)


def names(text):
    return [one.strip() for one in text.strip("{}").split(",")]


def permuted(a, b, selector):
    """prmt with a constant selector, as shifts of the bytes that are chosen."""
    parts = []
    for i in range(4):
        chosen = selector >> 4 * i & 15
        if chosen > 7:
            raise Fault("prmt with a sign")
        parts.append("(%s >> %d & 255) << %d" % (b if chosen > 3 else a, chosen % 4 * 8, 8 * i))
    return " | ".join(parts)


def move(ops, kind):
    half = width_of(kind) // 2 if kind != "pred" else 0
    if ops[1].startswith("{"):
        low, high = names(ops[1])
        return "%s = %s | %s << %d" % (ops[0][1:], low[1:], high[1:], half)
    if ops[0].startswith("{"):
        low, high = names(ops[0])
        return "%s, %s = %s & %d, %s >> %d" % (low[1:], high[1:], ops[1][1:], (1 << half) - 1, ops[1][1:], half)
    return "%s = %s" % (ops[0][1:], value(ops[1], kind))


def convert(parts, ops):
    source = value(ops[1], parts[-1])
    if parts[-2] == "f32" and parts[1] == "rn":
        return "bits_of(float(%s))" % signed(source, parts[-1])
    if parts[-2][0] not in "us" or parts[-1][0] not in "us" or len(parts) != 3 or width_of(parts[-2]) < 16:
        raise Fault("cvt." + ".".join(parts[1:]))
    return "%s & %d" % (signed("(%s & %d)" % (source, mask_of(parts[-1])), parts[-1]), mask_of(parts[-2]))


def access(parts, ops):
    """Loads and stores of global memory: one word, or 2 or 4 of 32 bits."""
    size, many = width_of(parts[-1]) // 8, "v2" in parts or "v4" in parts
    if parts[-1][0] not in "usbf" or (parts[-1][0] == "s" and size < 4) or (many and size != 4):
        raise Fault(".".join(parts))
    if parts[0] == "ld":
        if not many:
            return "%s = load(%s, %d)" % (ops[0][1:], address(ops[1]), size)
        regs = names(ops[0])
        return "%s = load_many(%s, %d)" % (", ".join(r[1:] for r in regs), address(ops[1]), len(regs))
    if not many:
        return "store(%s, %d, %s)" % (address(ops[0]), size, value(ops[1], parts[-1]))
    return "store_many(%s, %s)" % (address(ops[0]), ", ".join(value(r, parts[-1]) for r in names(ops[1])))


def compute(parts, ops):
    """The expression of an instruction that only computes."""
    name, kind = parts[0], parts[-1]
    args = [value(op, kind) for op in ops[1:]]
    a, b = args[0], args[1] if len(args) > 1 else ""
    if name in ("add", "sub") and kind != "f32" and len(parts) == 2:
        return "%s %s %s & %d" % (a, "+" if name == "add" else "-", b, mask_of(kind))
    if name in ("mul", "mad"):
        more = " + " + args[2] if name == "mad" else ""
        if kind == "f32":
            if parts != ["mul", "rn", "f32"]:
                raise Fault(".".join(parts))
            return "float_mul(%s, %s)" % (a, b)
        product = "%s * %s%s" % (signed(a, kind), signed(b, kind), more)
        if parts[1] == "hi" and name == "mul":
            return "(%s) >> %d & %d" % (product, width_of(kind), mask_of(kind))
        return "%s & %d" % (product, (1 << (2 if parts[1] == "wide" else 1) * width_of(kind)) - 1)
    if name == "div":
        return "divide(%s, %s) & %d" % (signed(a, kind), signed(b, kind), mask_of(kind))
    if name in ("min", "max"):
        return "%s(%s, %s) & %d" % (name, signed(a, kind), signed(b, kind), mask_of(kind))
    if name in ("abs", "neg"):
        return "%s %s & %d" % ("abs(%s)" % signed(a, kind) if name == "abs" else "-" + a, "", mask_of(kind))
    if name == "not":
        return "not " + a if kind == "pred" else "%s ^ %d" % (a, mask_of(kind))
    if name in PLAIN:
        return "%s %s %s" % (a, PLAIN[name], b)
    if name == "shl":
        b = value(ops[2], "u32")
        return "%s << %s & %d if %s < %d else 0" % (a, b, mask_of(kind), b, width_of(kind))
    if name == "shr":
        return "%s >> %s & %d" % (signed(a, kind), value(ops[2], "u32"), mask_of(kind))
    if name == "clz":
        return "%d - %s.bit_length()" % (width_of(kind), a)
    if name == "selp":
        return "%s if %s else %s" % (a, ops[3][1:], b)
    if name == "setp" and len(parts) == 3:
        if kind == "f32":
            return "float_of(%s) %s float_of(%s)" % (a, COMPARE[parts[1]], b)
        return "%s %s %s" % (signed(a, kind), COMPARE[parts[1]], signed(b, kind))
    if name == "prmt":
        return permuted(a, b, int(ops[3], 0))
    raise Fault("what is " + ".".join(parts) + "?")


def statement(opcode, ops, site):
    parts = re.sub(r"::\w+", "", opcode).split(".")
    if parts[0] == "ret":
        return "return"
    if parts[:2] == ["ld", "param"]:
        name, offset = re.match(r"\[(\w+)(?:\+(\d+))?\]$", ops[1]).groups()
        return "%s = param(%r, %d, %d)" % (ops[0][1:], name, int(offset or 0), width_of(parts[-1]) // 8)
    if parts[0] in ("ld", "st") and parts[1] == "global":
        return access(parts, ops)
    if parts[0] == "mov":
        return move(ops, parts[-1])
    if parts[0] == "cvta":
        return "%s = %s" % (ops[0][1:], ops[1][1:])
    if parts[0] == "cvt":
        return "%s = %s" % (ops[0][1:], convert(parts, ops))
    if parts[0] == "atom" and parts[1:3] == ["global", "add"]:
        return "%s = add(%s, %d, %s)" % (ops[0][1:], address(ops[1]), width_of(parts[-1]) // 8, ops[2][1:])
    if parts[:4] == ["shfl", "sync", "bfly", "b32"]:
        target = ops[0].replace("|", ", ").replace("%", "")
        return "%s = yield (%d, %s)" % (target, site, ", ".join(value(op, "u32") for op in ops[1:]))
    return "%s = %s" % (ops[0][1:], compute(parts, ops))


# --- Translation of a kernel ---------------------------------------------------------------------

class Changed(list):
    """An instruction instead of another one; seen: how often it ran, and how often the other would have given another value."""

    def __init__(self, new, old):
        super().__init__(new)
        self.old, self.seen = old, [0, 0]


def watched(step, lines, site):
    """The instruction's lines, counted. Where only the guard differs or nothing is computed, each time counts."""
    before = ["changed[0] += 1"]
    if step[0] != step.old[0]:
        return before + ["changed[1] += 1"] + lines
    new, old = lines[-1].split(" = ", 1), statement(*step.old[1:], site).split(" = ", 1)
    if len(new) < 2 or "yield" in new[1]:
        return before + ["changed[1] += 1"] + lines
    return before + ["was = (%s)" % old[1], "now = (%s)" % new[1], "changed[1] += was != now", "%s = now" % new[0]]


def blocks_of(kernel):
    """Lines of Python for each label's block; a branch sets `at` and goes on with the loop."""
    labels = [step for step in kernel.code if isinstance(step, str)]
    where = {label: nr + 1 for nr, label in enumerate(labels)}
    blocks = [[]]
    for site, step in enumerate(kernel.code):
        if isinstance(step, str):
            blocks[-1] += ["at = %d" % len(blocks), "continue"]
            blocks.append([])
            continue
        guard, opcode, ops = step
        if opcode.split(".")[0] == "bra":
            lines = ["at = %d" % where[ops[0]], "continue"]
        else:
            lines = [statement(opcode, ops, site)]
        if isinstance(step, Changed):
            lines = watched(step, lines, site)
        blocks[-1] += ["if %s:" % guard] + ["\t" + line for line in lines] if guard else lines
    return blocks


def tree_of(blocks, first, last, indent):
    """Which block comes next, by halving."""
    if last - first == 1:
        return [indent + line for line in blocks[first]] or [indent + "pass"]
    middle = (first + last) // 2
    return ([indent + "if at < %d:" % middle] + tree_of(blocks, first, middle, indent + "\t") +
            [indent + "else:"] + tree_of(blocks, middle, last, indent + "\t"))


def translate(kernel):
    """A function of a thread: a generator, where the kernel has meetings."""
    blocks = blocks_of(kernel)
    lines = ["def thread(memory, param, tid, ntid, ctaid, nctaid):",
             "\tload, store, add = memory.load, memory.store, memory.add",
             "\tload_many, store_many = memory.load_many, memory.store_many",
             "\tat = left = 0",
             "\twhile True:",
             "\t\tleft += 1",
             "\t\tif left > 20000:",
             "\t\t\traise Fault('it does not end')"] + tree_of(blocks, 0, len(blocks), "\t\t")
    scope = dict(globals())
    scope["changed"] = next((step.seen for step in kernel.code if isinstance(step, Changed)), None)
    exec(compile("\n".join(lines), kernel.name, "exec"), scope)
    return scope["thread"]


# --- Launches ------------------------------------------------------------------------------------

def meet(wishes):
    """What a butterfly gives each lane."""
    if len({wish[0] for wish in wishes}) != 1:
        raise Fault("lanes of a warp meet at different places")
    given = []
    for lane, (_, _, apart, clamp, mask) in enumerate(wishes):
        if mask != 0xffffffff or clamp != 31:
            raise Fault("a meeting of a part of a warp")
        other = lane ^ apart
        given.append((wishes[other if other < LANES else lane][1], other < LANES))
    return given


def run_warp(threads, order):
    answers = [None] * LANES
    while True:
        wishes = [None] * LANES
        for lane in order:
            try:
                wishes[lane] = threads[lane].send(answers[lane])
            except StopIteration:
                pass
        if wishes.count(None) == LANES:
            return
        if None in wishes:
            raise Fault("lanes of a warp wait for others that never come")
        answers = meet(wishes)


def launch(kernel, thread, params, memory, grid, threads, seed):
    """params: bytes, in order. Blocks, warps and lanes run in an order that the seed draws."""
    space = {name: data for (name, _), data in zip(kernel.params, params)}

    @functools.lru_cache(None)
    def param(name, offset, size):
        return int.from_bytes(space[name][offset:offset + size], "little")

    draw = random.Random(seed)
    warps = [(block, warp) for block in range(grid) for warp in range(threads // LANES)]
    draw.shuffle(warps)
    for block, warp in warps:
        order = list(range(LANES))
        draw.shuffle(order)
        made = [(memory, param, warp * LANES + lane, threads, block, grid) for lane in range(LANES)]
        try:
            if inspect.isgeneratorfunction(thread):
                run_warp([thread(*args) for args in made], order)
            else:
                for lane in order:
                    thread(*made[lane])
        except (UnboundLocalError, NameError) as error:
            raise Fault("a register is read before it is written: %s" % error)
