"""What each instruction means, as a line of Python over NumPy vectors; a basic block is the text of a function.

A value is an array with one number a thread, or with a single number where all threads have the same. The table has
what the compiler makes of the project's kernels; any other instruction is refused by its name.
"""

import re
import struct

import numpy as np
from numba import vectorize
from numba.extending import intrinsic

from .text import SIZES, Unsupported, split

# ---- arithmetic that NumPy has no operator for


@intrinsic
def _fused(typing, a, b, c):
    return a(a, b, c), lambda context, builder, signature, args: builder.fma(*args)


@vectorize(["float32(float32,float32,float32)", "float64(float64,float64,float64)"], cache=True)
def fma(a, b, c):
    """The processor's own instruction, so it is exact in both widths."""
    return _fused(a, b, c)


def fma_directed(a, b, c, mode):
    """Float32 ``a * b + c`` rounded "rz", "rm" or "rp": the nearest one, corrected by the sign of what it lacks."""
    near, p, c = fma(a, b, c), a.astype("f8") * b, c.astype("f8")
    s = p + c  # the product is exact; the sum and its error are, together
    part = s - p
    rest = (s - near) + ((p - (s - part)) + (c - part))
    down = (rest < 0) & ((mode == "rm") | ((mode == "rz") & (near > 0)))
    up = (rest > 0) & ((mode == "rp") | ((mode == "rz") & (near < 0)))
    inf = np.float32(np.inf)
    return np.where(down, np.nextafter(near, -inf), np.where(up, np.nextafter(near, inf), near))


def flush(a):
    """``.ftz``: a subnormal number becomes zero and keeps its sign."""
    return np.where(np.abs(a) < np.finfo(a.dtype).tiny, np.copysign(a.dtype.type(0), a), a)


def saturate(a):
    """``.sat``: into [0, 1]; NaN becomes +0."""
    kind = a.dtype.type
    return np.where(np.isnan(a), kind(0), np.minimum(np.maximum(a, kind(0)), kind(1)) + kind(0))


def minimum(a, b):
    """The number where the other is NaN; -0 below +0."""
    return np.where(a == b, np.where(np.signbit(a), a, b), np.fmin(a, b))


def to_integer(a, mode, kind):
    """A conversion that stops at the bounds. NaN: 0, but from float64 or to 64 bits the upper bit alone."""
    kind, limits, r = np.dtype(kind), np.iinfo(kind), ROUND[mode](a)
    end = np.float64(2.0) ** (limits.bits - (limits.min < 0))  # the first number above; exact in every type
    low, high, nan = r < np.float64(limits.min), r >= end, np.isnan(r)
    out = np.where(low | high | nan, a.dtype.type(0), r).astype(kind)
    out = np.where(high, kind.type(limits.max), np.where(low, kind.type(limits.min), out))
    odd = 0 if a.dtype != np.float64 and limits.bits != 64 else 1 << (limits.bits - 1)
    return np.where(nan, np.array([odd], f"u{limits.bits // 8}").view(kind), out)


def gross_reciprocal(a):
    """``rcp.approx.ftz.f64``: from the upper half of the number, to an upper half."""
    upper = np.uint64(0xFFFFFFFF00000000)
    r = flush(np.float64(1) / flush((a.view(np.uint64) & upper).view(np.float64)))
    return (r.view(np.uint64) & upper).view(np.float64)


def through_double(function, a):
    """An approximate float32 function: that of float64, rounded (the device may be off in its last bits)."""
    return function(a.astype(np.float64)).astype(np.float32)


def mulhi(a, b):
    """The upper half of the product."""
    size, signed = a.dtype.itemsize, a.dtype.kind == "i"
    if size < 8:
        return ((a.astype(f"{a.dtype.kind}8") * b) >> (8 * size)).astype(a.dtype)
    p, q, mask, half = a.view("u8"), b.view("u8"), np.uint64(0xFFFFFFFF), np.uint64(32)
    al, ah, bl, bh = p & mask, p >> half, q & mask, q >> half
    low, one, two = al * bl, ah * bl, al * bh
    middle = (low >> half) + (one & mask) + (two & mask)
    r = (ah * bh + (one >> half) + (two >> half) + (middle >> half)).view(a.dtype)
    return r - np.where(a < 0, b, 0) - np.where(b < 0, a, 0) if signed else r


def divide(a, b):
    """Towards zero."""
    if a.dtype.kind == "u":
        return a // b
    safe = np.where((a == np.iinfo(a.dtype).min) & (b == -1), a.dtype.type(1), b)  # overflows to itself
    q = a // safe
    return q + ((a % safe != 0) & ((a < 0) != (safe < 0))).astype(a.dtype)


def shift_left(a, by):
    bits = 8 * a.dtype.itemsize
    return np.where(by < bits, a << np.minimum(by, bits - 1).astype(a.dtype), a.dtype.type(0))


def shift_right(a, by):
    bits = 8 * a.dtype.itemsize
    shifted = a >> np.minimum(by, bits - 1).astype(a.dtype)
    return shifted if a.dtype.kind == "i" else np.where(by < bits, shifted, a.dtype.type(0))


def clz(a):
    """Leading zeros: smear the highest one downwards, then count."""
    bits = 8 * a.dtype.itemsize
    for k in (1, 2, 4, 8, 16, 32)[: bits.bit_length() - 1]:
        a = a | (a >> a.dtype.type(k))
    return np.uint32(bits) - np.bitwise_count(a).astype(np.uint32)


def bfi(field, base, position, length):
    at, one = position & np.uint32(255), np.ones(1, base.dtype)
    where = shift_left(shift_left(one, length & np.uint32(255)) - one, at)
    return (base & ~where) | (shift_left(field, at) & where)


def add_carry(a, b, carry):
    s = a + b
    r = s + carry.astype(a.dtype)
    return r, (s < a) | (r < s)


def sub_carry(a, b, borrow):
    d = a - b
    r = d - borrow.astype(a.dtype)
    return r, (a < b) | (r > d)


ROUND = {"rni": np.rint, "rzi": np.trunc, "rmi": np.floor, "rpi": np.ceil}

# ---- the table

QUIET = ("rn", "ftz", "sat", "lo")
TABLE = {
    "add": ("fi", "ttt", "{0} + {1}"), "sub": ("fi", "ttt", "{0} - {1}"), "mul": ("fi", "ttt", "{0} * {1}"),
    "fma": ("f", "tttt", "fma({0}, {1}, {2})"), "mad": ("i", "tttt", "{0} * {1} + {2}"),
    "mul.hi": ("i", "ttt", "mulhi({0}, {1})"), "div": ("f", "ttt", "{0} / {1}"),
    "mul.wide": ("i", "wtt", "{0}.astype('{w}') * {1}.astype('{w}')"),
    "neg": ("fi", "tt", "-({0})"), "abs": ("f", "tt", "np.abs({0})"), "copysign": ("f", "ttt", "np.copysign({1}, {0})"),
    "sqrt": ("f", "tt", "np.sqrt({0})"), "rcp": ("f", "tt", "{0}.dtype.type(1) / {0}"),
    "ex2.approx": ("f", "tt", "through_double(np.exp2, {0})"), "sin.approx": ("f", "tt", "through_double(np.sin, {0})"),
    "and": ("ip", "ttt", "{0} & {1}"), "or": ("ip", "ttt", "{0} | {1}"), "xor": ("ip", "ttt", "{0} ^ {1}"),
    "not": ("ip", "tt", "~{0}"), "selp": ("fi", "tttp", "np.where({2}, {0}, {1})"),
    "shl": ("i", "ttc", "shift_left({0}, {1})"), "shr": ("i", "ttc", "shift_right({0}, {1})"),
    "clz": ("i", "ct", "clz({0})"), "bfi": ("i", "tttcc", "bfi({0}, {1}, {2}, {3})"),
}  # fmt: skip
"""For which types (float, whole, unsigned, predicate); types of the result and of the operands (the instruction's own,
twice as wide, u32, predicate); the expression."""
WHOLE = ("s32", "s64", "u32", "u64")
BY_TYPE = {
    "rcp.approx.f32": TABLE["rcp"], "rcp.approx.f64": ("f", "tt", "gross_reciprocal({0})"),
    **{f"div.{kind}": ("i", "ttt", "divide({0}, x.nonzero({1}, T))") for kind in WHOLE},
    **{f"rem.{kind}": ("i", "ttt", "{0} - divide({0}, x.nonzero({1}, T)) * {1}") for kind in WHOLE},
    **{f"{name}.{kind}": ("i", "ttt", f"np.{name}imum({{0}}, {{1}})") for name in ("min", "max") for kind in WHOLE},
    **{f"min.{kind}": ("f", "ttt", "minimum({0}, {1})") for kind in ("f32", "f64")},
    **{f"max.{kind}": ("f", "ttt", "-minimum(-({0}), -({1}))") for kind in ("f32", "f64")},
    **{f"add.{mode}.f32": ("f", "ttt", f"fma_directed({{0}}, F4(1), {{1}}, '{mode}')") for mode in ("rz", "rm", "rp")},
    **{f"fma.{mode}.f32": ("f", "tttt", f"fma_directed({{0}}, {{1}}, {{2}}, '{mode}')") for mode in ("rz", "rm", "rp")},
}  # fmt: skip
COMPARE = {
    "eq": "{0} == {1}", "ne": "{0} != {1}", "lt": "{0} < {1}", "le": "{0} <= {1}", "gt": "{0} > {1}", "ge": "{0} >= {1}"
}  # fmt: skip
OF_FLOATS = COMPARE | {
    "ne": "({0} < {1}) | ({0} > {1})", "equ": "~(({0} < {1}) | ({0} > {1}))", "neu": "{0} != {1}",
    "ltu": "~({0} >= {1})", "leu": "~({0} > {1})", "gtu": "~({0} <= {1})", "geu": "~({0} < {1})",
    "num": "~(np.isnan({0}) | np.isnan({1}))", "nan": "np.isnan({0}) | np.isnan({1})",
}  # fmt: skip
"""Of floats: the ordered ones are false for NaN, those with "u" are true."""
CC = "%CC"  # the carry flag
SPECIAL = re.compile(r"%(n?tid|n?ctaid)\.([xyz])$")


def code(kind):
    """The NumPy code of a PTX type: "u4" for b32 and u32, "i4" for s32."""
    if kind not in SIZES:
        raise Unsupported(f"type {kind}")
    return "b1" if kind == "pred" else {"b": "u", "u": "u", "s": "i", "f": "f"}[kind[0]] + str(SIZES[kind])


def number(text, dtype):
    """The bytes of a literal as that type; None if it is no literal."""
    size = int(dtype[1:])
    if re.fullmatch(r"0[fF][0-9a-fA-F]{8}|0[dD][0-9a-fA-F]{16}", text):
        raw = bytes.fromhex(text[2:])[::-1]
        if dtype[0] != "f" or len(raw) == size:
            return raw[:size]
        return np.array(struct.unpack("<f" if len(raw) == 4 else "<d", raw)[0], dtype).tobytes()
    if not re.fullmatch(r"-?(0[xX][0-9a-fA-F]+|\d+)U?", text):
        return None
    value = int(text.rstrip("U"), 0)
    if dtype == "b1":
        return bytes([value != 0])
    if dtype[0] == "f":
        return np.array(float(value), dtype).tobytes()
    return (value % (1 << 8 * size)).to_bytes(size, "little")


class Words:
    """What the blocks of a kernel share: types of the names, state spaces of the symbols, constants."""

    def __init__(self, registers, spaces):
        self.registers, self.spaces, self.constants = registers, spaces, {}

    def constant(self, value, dtype):
        name = f"k_{dtype}_{value.hex()}"
        if name not in self.constants:
            self.constants[name] = np.frombuffer(value, dtype)
        return name


def local(name):
    """The Python name of a register or of a call's parameter."""
    return "v_" + re.sub(r"\W", "_", name)


class Emitter:
    """Writes the lines of one block and notes which names it reads before it writes them, and which it writes."""

    def __init__(self, words):
        self.words, self.lines, self.uses, self.defs, self.line = words, [], set(), set(), 0

    def fail(self, what):
        return Unsupported(f"line {self.line}: {what}")

    def variable(self, name):
        if name not in self.defs:
            self.uses.add(name)
        return local(name)

    def read(self, operand, kind):
        """An expression of an operand's value as that type: the lower bits of a register that is wider."""
        want, name = code(kind), operand.removeprefix("!")
        if name in self.words.registers:
            have, text = code(self.words.registers[name]).replace("i", "u"), self.variable(name)
            if have[1:] == want[1:] and (have == want or "b" not in (have[0], want[0])):
                text = text if have == want else f"{text}.view('{want}')"
            elif int(have[1:]) > int(want[1:]) and have[0] == "u" and want[0] != "b":
                text = f"{text}.astype('u{want[1:]}').view('{want}')"
            else:
                raise self.fail(f"{name}, a {self.words.registers[name]}, as {kind}")
            return text if name == operand else f"~{text}"
        if SPECIAL.match(operand):
            return f"x.special('{operand[1:]}', T).astype('{want}')"
        literal = number(operand, want)
        if literal is not None:
            return self.words.constant(literal, want)
        name, offset = self.symbol(operand)
        if name not in self.words.spaces:
            raise self.fail(f"operand {operand}")
        return f"x.symbol('{name}', {offset})"

    def symbol(self, text):
        """``name+4`` -> name and offset."""
        found = re.fullmatch(r"\s*([#%$\w.]+)\s*(?:\+\s*(-?\w+))?\s*", text)
        if found is None:
            raise self.fail(f"operand {text}")
        return found[1], int(found[2], 0) if found[2] else 0

    def write(self, name, kind, text):
        """Give a register the value of an expression of that type; a narrower one is extended."""
        if name not in self.words.registers:
            raise self.fail(f"a result in {name}")
        have, want = code(kind), code(self.words.registers[name]).replace("i", "u")
        if have != want:
            if have[1:] == want[1:] and "b" not in (have[0], want[0]):
                text = f"({text}).view('{want}')"
            elif int(have[1:]) < int(want[1:]) and have[0] in "iu" and want[0] == "u":
                text = f"({text}).astype('{have[0]}{want[1:]}').view('{want}')"
            else:
                raise self.fail(f"{kind} into {name}, a {self.words.registers[name]}")
        self.defs.add(name)
        self.lines.append(f"{local(name)} = {text}")

    def address(self, operand):
        """An operand in brackets: the symbol it names ("" for a register), and the address as an expression."""
        name, offset = self.symbol(operand.strip()[1:-1])
        if name not in self.words.registers:
            return name, str(offset)
        text = self.read(name, self.words.registers[name])
        text = f"{text}.astype('u8')" if code(self.words.registers[name]) == "u4" else text  # 32-bit shared addresses
        if offset:
            text += " + " + self.words.constant((offset % (1 << 64)).to_bytes(8, "little"), "u8")
        return "", text

    def emit(self, statement):
        self.line, op, a = statement.line, statement.opcode, statement.operands
        before, own = len(self.lines), OWN.get(op[0])
        if own is not None:
            own(self, op, a)
        elif "cc" in op or op[0] in ("addc", "subc", "madc"):
            self.carry(op, a)
        else:
            self.from_table(op, a)
        if any("x." in line for line in self.lines[before:]):  # what may raise says where it stands
            self.lines.insert(before, f"x.line = {self.line}")

    def from_table(self, op, a):
        kind, name = op[-1], ".".join(part for part in op[:-1] if part not in QUIET)
        kinds, types, text = BY_TYPE.get(f"{name}.{kind}") or TABLE.get(name, ("", "", ""))
        is_of = {"f": "f", "p": "p", "u": "ui"}.get(kind[0], "i")
        if not set(kinds) & set(is_of) or len(a) != len(types) or (is_of != "f" and {"ftz", "sat"} & set(op)):
            raise self.fail(f"instruction {'.'.join(op)}")
        names = {"t": kind, "c": "u32", "p": "pred", "w": is_of in "ui" and kind[0] + str(2 * int(kind[1:] or 0))}
        given = [self.read(operand, names[t]) for operand, t in zip(a[1:], types[1:], strict=True)]
        given = [f"flush({text})" for text in given] if "ftz" in op else given
        text = text.format(*given, w=code(names["w"]) if "w" in types else "")
        text = f"flush({text})" if "ftz" in op else text
        self.write(a[0], names[types[0]], f"saturate({text})" if "sat" in op else text)

    def carry(self, op, a):
        """An addition that takes or gives the carry flag, on unsigned words."""
        kind = f"u{op[-1][1:]}"
        p, *others, q = (self.read(operand, kind) for operand in a[1:])
        if op[0].startswith("mad"):
            p = f"mulhi({p}, {others[0]})" if "hi" in op else f"{p} * {others[0]}"
        flag = self.variable(CC) if op[0].endswith("c") else self.words.constant(b"\0", "b1")
        self.lines.append(f"t0, t1 = {'sub' if op[0][:3] == 'sub' else 'add'}_carry({p}, {q}, {flag})")
        self.write(a[0], kind, "t0")
        if "cc" in op:
            self.write(CC, "pred", "t1")

    def compare(self, op, a):
        table = OF_FLOATS if op[-1][0] == "f" else COMPARE
        if len(op) != 3 or op[1] not in table or len(a) != 3:
            raise self.fail(f"instruction {'.'.join(op)}")
        self.write(a[0], "pred", table[op[1]].format(self.read(a[1], op[-1]), self.read(a[2], op[-1])))

    def move(self, op, a):
        """A register, or one as two halves."""
        size = SIZES[op[-1]]
        kind, half, shift = op[-1], f"u{4 * size}", self.words.constant((4 * size).to_bytes(size, "little"), f"u{size}")
        if a[0].startswith("{"):
            self.lines.append(f"t0 = {self.read(a[1], kind)}")
            for name, text in zip(split(a[0][1:-1]), ("t0", f"(t0 >> {shift})"), strict=True):
                self.write(name, half, f"{text}.astype('{code(half)}')")
        elif a[1].startswith("{"):
            low, high = (f"{self.read(name, half)}.astype('{code(kind)}')" for name in split(a[1][1:-1]))
            self.write(a[0], kind, f"{low} | ({high} << {shift})")
        else:
            self.write(a[0], kind, self.read(a[1], kind))

    def convert(self, op, a):
        if "f16" in op or "f16x2" in op:
            self.halves(op, a)
            return
        to, of, extra = op[-2], op[-1], set(op[1:-2]) - {"rn"}
        text, whole = self.read(a[1], of), next((part for part in op if part in ROUND), None)
        rounds, saturates = of[0] == "f" and (to[0] != "f" or whole is not None), of[0] == to[0] == "f" and "sat" in op
        if extra != {part for part, there in ((whole, rounds), ("sat", saturates)) if there}:
            raise self.fail(f"instruction {'.'.join(op)}")
        if rounds:
            text = f"ROUND['{whole}']({text})" if to[0] == "f" else f"to_integer({text}, '{whole}', '{code(to)}')"
        text = text if of == to or to[0] != "f" == of[0] else f"{text}.astype('{code(to)}')"
        text = f"saturate({text})" if saturates else text
        self.write(a[0], to, text)

    def to_global(self, op, a):
        if op[1:3] != ("to", "global"):
            raise self.fail(f"instruction {'.'.join(op)}")
        self.write(a[0], "u64", self.read(a[1], "u64"))

    def place(self, op, operand):
        """State space and address of a load or store, or "param" and the parameter with its offset."""
        space = next((part for part in op[1:] if part in ("global", "shared", "local", "param")), "")
        symbol, text = self.address(operand)
        if not space:
            raise self.fail(f"instruction {'.'.join(op)}")
        if space == "param":
            return space, (symbol, int(text))
        return space, f"x.symbol('{symbol}', {text})" if symbol else text

    def load(self, op, a):
        kind, names = op[-1], split(a[0].strip("{}"))
        space, at = self.place(op, a[1])
        if "acquire" in op:
            self.write(a[0], kind, f"x.arrived(T, {at})")
            return
        for k, name in enumerate(names):
            if space == "param":
                slot = f"{at[0]}+{at[1] + k * SIZES[kind]}"
                inlined = at[0].startswith("#")
                if inlined and slot not in self.words.registers:
                    raise self.fail(f"a parameter {slot} that nobody stored so")
                offset = at[1] + k * SIZES[kind]
                text = self.read(slot, kind) if inlined else f"x.parameter('{at[0]}', {offset}, '{code(kind)}')"
                self.write(name, kind, text)
                continue
            if k == 0:
                constant = ", True" if "nc" in op else ""
                self.lines.append(f"t = x.load('{space}', T, {at}, '{code(kind)}', {len(names)}{constant})")
            self.write(name, kind, f"t[{k}]")

    def store(self, op, a):
        kind, parts = op[-1], split(a[1].strip("{}"))
        space, at = self.place(op, a[0])
        if space != "param":
            given = ", ".join(self.read(part, kind) for part in parts)
            self.lines.append(f"x.store('{space}', T, {at}, '{code(kind)}', ({given},))")
            return
        for k, part in enumerate(parts):
            slot = f"{at[0]}+{at[1] + k * SIZES[kind]}"
            self.words.registers.setdefault(slot, kind)
            self.write(slot, kind, self.read(part, kind))

    def halves(self, op, a):
        """Two float32 as float16 in a word, the first in its upper half; or a float16 as float32."""
        if op[1:] == ("rn", "f16x2", "f32"):
            high, low = (f"({self.read(part, 'f32')}).astype('f2').view('u2').astype('u4')" for part in a[1:])
            self.write(a[0], "u32", f"({high} << {self.words.constant((16).to_bytes(4, 'little'), 'u4')}) | {low}")
        elif op[1:] == ("f32", "f16"):
            self.write(a[0], "f32", f"({self.read(a[1], 'u16')}).view('f2').astype('f4')")
        else:
            raise self.fail(f"instruction {'.'.join(op)}")

    def fragments(self, op, a):
        if (op[1:5], op[-2:]) != (("sync", "aligned", "m8n8", "x4"), ("shared", "b16")):
            raise self.fail(f"instruction {'.'.join(op)}")
        symbol, text = self.address(a[1])
        place = f"x.symbol('{symbol}', {text})" if symbol else text
        self.lines.append(f"t = x.fragments(T, {place}, {'trans' in op})")
        for k, name in enumerate(split(a[0].strip("{}"))):
            self.write(name, "u32", f"t[{k}]")

    def matrix_product(self, op, a):
        if op[1:] != ("sync", "aligned", "m16n8k16", "row", "col", "f32", "f16", "f16", "f32"):
            raise self.fail(f"instruction {'.'.join(op)}")
        results, *given = (split(part.strip("{}")) for part in a)
        words = [
            self.read(name, kind) for names, kind in zip(given, ("u32", "u32", "f32"), strict=True) for name in names
        ]
        self.lines.append(f"t = x.matrix_product(T, {', '.join(words)})")
        for k, name in enumerate(results):
            self.write(name, "f32", f"t[{k}]")

    def atomic(self, op, a):
        """The counter of a barrier across the grid; other atomics make sums depend on luck, and kernels have none."""
        if op[1:] != ("acq_rel", "gpu", "global", "add", "u32") or a[2] != "1":
            self.luck(op, a)
        self.write(a[0], "u32", f"x.arrive(T, {self.address(a[1])[1]})")

    def luck(self, op, a):
        raise self.fail(f"{'.'.join(op)}: atomics make sums depend on luck; kernels here have none")


OWN = {
    "setp": Emitter.compare, "mov": Emitter.move, "cvt": Emitter.convert, "cvta": Emitter.to_global,
    "ld": Emitter.load, "st": Emitter.store, "atom": Emitter.atomic, "red": Emitter.luck,
    "ldmatrix": Emitter.fragments, "mma": Emitter.matrix_product,
}  # fmt: skip
