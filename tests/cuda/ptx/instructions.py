"""What each instruction means, as a line of Python over NumPy vectors; a basic block is the text of a function.

A value is an array with one number a thread, or with a single number where all threads have the same.
"""

from __future__ import annotations

import re
import struct
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .text import SIZES, Statement, Unsupported, Variable, split

CC = "%CC"  # the carry flag
SPECIAL = re.compile(
    r"%(tid|ntid|ctaid|nctaid)\.([xyz])$|%(laneid|warpid|nwarpid|smid|gridid|clock|clock64|dynamic_smem_size|total_smem_size)$"
)


def code(kind: str) -> str:
    """The NumPy code of a PTX type: "u4" for b32 and u32, "i4" for s32."""
    if kind == "pred":
        return "b1"
    if kind not in SIZES or kind == "b128":
        raise Unsupported(f"type {kind}")
    return {"b": "u", "u": "u", "s": "i", "f": "f"}[kind[0]] + str(SIZES[kind])


@dataclass
class Words:
    """What the blocks of a kernel share: types of the names, constants, symbols."""

    registers: dict[str, str]
    parameters: dict[str, tuple[int, Variable]]
    spaces: dict[str, str]  # symbol -> its state space
    contract: bool = False  # fuse a product with the sum that it goes into, as ptxas may where both let it
    constants: dict[str, Any] = field(default_factory=dict)

    def constant(self, value: bytes, dtype: str) -> str:
        name = f"k_{dtype}_{value.hex()}"
        if name not in self.constants:
            array = np.frombuffer(value, dtype).copy()
            array.flags.writeable = False
            self.constants[name] = array
        return name


def number(text: str, dtype: str) -> bytes | None:
    """The bytes of a literal as that type; None if it is no literal."""
    size = int(dtype[1:])
    if re.fullmatch(r"0[fF][0-9a-fA-F]{8}|0[dD][0-9a-fA-F]{16}", text):
        raw = bytes.fromhex(text[2:])[::-1]
        if dtype[0] != "f" or len(raw) == size:
            return raw[:size]
        return np.array(struct.unpack("<f" if len(raw) == 4 else "<d", raw)[0], dtype).tobytes()
    if re.fullmatch(r"-?(0[xX][0-9a-fA-F]+|\d+)U?", text):
        value = int(text.rstrip("U"), 0) if "x" in text.lower() else int(text.rstrip("U"))
        if dtype == "b1":
            return bytes([value != 0])
        if dtype[0] == "f":
            return np.array(float(value), dtype).tobytes()
        return (value % (1 << 8 * size)).to_bytes(size, "little")
    if re.fullmatch(r"-?\d+\.\d*([eE][-+]?\d+)?", text):
        return np.array(float(text), dtype).tobytes()
    return None


class Emitter:
    """Writes the lines of one block and notes which names it reads before it writes them, and which it writes."""

    def __init__(self, words: Words) -> None:
        self.words = words
        self.lines: list[str] = []
        self.uses: set[str] = set()
        self.defs: set[str] = set()
        self.written: Counter[str] = Counter()  # how often a name was written so far
        self.products: dict[str, tuple[str, str, dict[str, int]]] = {}  # factors, and how often they were written then
        self.line = 0

    @staticmethod
    def local(name: str) -> str:
        """The Python name of a register or of a call's parameter."""
        return "v_" + re.sub(r"\W", "_", name)

    def fail(self, what: str) -> Unsupported:
        return Unsupported(f"line {self.line}: {what}")

    def variable(self, name: str) -> str:
        if name not in self.defs:
            self.uses.add(name)
        return self.local(name)

    def register(self, name: str, kind: str) -> str:
        """The value of a register as that type: its lower bits if it is wider."""
        have, want = code(self.words.registers[name]), code(kind)
        have = have.replace("i", "u")
        text = self.variable(name)
        if have == want:
            return text
        if have[1:] == want[1:] and "b" not in (have[0], want[0]):
            return f"{text}.view('{want}')"
        if int(have[1:]) > int(want[1:]) and have[0] == "u" and want[0] != "b":
            return f"{text}.astype('u{want[1:]}').view('{want}')"
        raise self.fail(f"{name}, a {self.words.registers[name]}, as {kind}")

    def read(self, operand: str, kind: str) -> str:
        """An expression of an operand's value as that type."""
        if operand in self.words.registers:
            return self.register(operand, kind)
        if operand[0] == "!" and operand[1:] in self.words.registers:
            return f"~{self.register(operand[1:], kind)}"
        if SPECIAL.match(operand):
            return f"x.special('{operand[1:]}', T).astype('{code(kind)}')"
        literal = number(operand, code(kind))
        if literal is not None:
            return self.words.constant(literal, code(kind))
        name, offset = self.symbol(operand)
        if name in self.words.spaces:
            return f"x.symbol('{name}', {offset})"
        raise self.fail(f"operand {operand}")

    def symbol(self, text: str) -> tuple[str, int]:
        """``name+4`` -> name and offset."""
        found = re.fullmatch(r"\s*([#%$\w.]+)\s*(?:\+\s*(-?\w+))?\s*", text)
        if found is None:
            raise self.fail(f"operand {text}")
        return found[1], int(found[2], 0) if found[2] else 0

    def write(self, name: str, kind: str, text: str) -> None:
        """Give a register the value of an expression of that type; a narrower one is extended."""
        if name == "_":
            return
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
        self.written[name] += 1
        self.lines.append(f"{self.local(name)} = {text}")

    def keep_product(self, name: str, operands: Sequence[str], p: str, q: str) -> None:
        """A product that may be fused with a sum behind it."""
        if self.words.contract:
            self.products[name] = p, q, {n: self.written[n] for n in (name, *operands)}

    def product(self, name: str) -> tuple[str, str] | None:
        """The factors of a register that is a product still, where products are fused."""
        p, q, then = self.products.get(name, ("", "", {"": 1}))
        return (p, q) if all(self.written[n] == k for n, k in then.items()) else None

    def address(self, operand: str) -> tuple[str, str]:
        """An operand in brackets: the symbol it names ("" for a register), and the address as an expression."""
        inner = operand.strip()[1:-1].strip()
        name, offset = self.symbol(inner) if number(inner, "u8") is None else (inner, 0)
        if name in self.words.registers or number(name, "u8") is not None:
            text = self.read(name, self.words.registers.get(name, "b64"))
            if code(self.words.registers.get(name, "b64")) == "u4":  # 32-bit shared addresses
                text = f"{text}.astype('u8')"
            if offset:
                text += " + " + self.words.constant((offset % (1 << 64)).to_bytes(8, "little"), "u8")
            return "", text
        return name, str(offset)

    def vector(self, operand: str) -> list[str]:
        """``{a, b}`` -> its parts; a single operand is a part."""
        return split(operand.strip()[1:-1]) if operand.startswith("{") else [operand]

    def emit(self, statement: Statement) -> None:
        from .instructions import HANDLERS

        self.line = statement.line
        handler = HANDLERS.get(statement.opcode[0])
        if handler is None:
            raise self.fail(f"instruction {'.'.join(statement.opcode)}")
        before = len(self.lines)
        handler(self, statement.opcode, statement.operands)
        if any("x." in line for line in self.lines[before:]):  # what may raise says where it stands
            self.lines.insert(before, f"x.line = {statement.line}")


Opcode = tuple[str, ...]
Handler = Callable[["Emitter", Opcode, Sequence[str]], None]
HANDLERS: dict[str, Handler] = {}
DIRECTED = {"rz": 1, "rm": 2, "rp": 3}


def handles(*names: str) -> Callable[[Handler], Handler]:
    def keep(handler: Handler) -> Handler:
        HANDLERS.update(dict.fromkeys(names, handler))
        return handler

    return keep


def mode(op: Opcode) -> int:
    """The rounding mode if it is another than to nearest."""
    return next((DIRECTED[part] for part in op if part in DIRECTED), 0)


def values(e: Emitter, op: Opcode, operands: Sequence[str], kind: str) -> list[str]:
    """The operands' values, flushed where the instruction says ``.ftz``."""
    texts = [e.read(operand, kind) for operand in operands]
    return [f"flush({t})" for t in texts] if "ftz" in op and kind[0] == "f" else texts


def finish(e: Emitter, op: Opcode, name: str, kind: str, text: str) -> None:
    """Write a result, flushed and saturated where the instruction says so."""
    if kind[0] == "f":
        text = f"flush({text})" if "ftz" in op else text
        text = f"saturate({text})" if "sat" in op else text
    e.write(name, kind, text)


@handles("add", "sub")
def _add(e: Emitter, op: Opcode, a: Sequence[str]) -> None:
    kind, minus = op[-1], op[0] == "sub"
    if "cc" in op:
        _carry(e, op[0], kind, a[0], e.read(a[1], kind), e.read(a[2], kind), False, True)
        return
    p, q = values(e, op, a[1:], kind)
    if "sat" in op and kind == "s32":
        e.write(a[0], kind, f"clamp({p}.astype('i8') {'-' if minus else '+'} {q}, I4)")
    elif mode(op) and kind == "f32":
        q = f"-({q})" if minus else q
        finish(e, op, a[0], kind, f"fma_directed({p}, F4(1), {q}, {mode(op)})")
    elif mode(op):
        finish(e, op, a[0], kind, f"add_directed({p}, {'-' if minus else ''}({q}), {mode(op)})")
    else:
        finish(e, op, a[0], kind, _fused(e, op, a, p, q) or f"{p} {'-' if minus else '+'} {q}")


def _fused(e: Emitter, op: Opcode, a: Sequence[str], p: str, q: str) -> str:
    """A sum with a product as ptxas may do it, in one rounding; empty if it is none."""
    if op not in (("add", "f32"), ("sub", "f32"), ("add", "f64"), ("sub", "f64")):
        return ""
    minus = "-" if op[0] == "sub" else ""
    if factors := e.product(a[1]):
        return f"fma({factors[0]}, {factors[1]}, {minus}({q}))"
    if factors := e.product(a[2]):
        return f"fma({minus}({factors[0]}), {factors[1]}, {p})"
    return ""


@handles("addc", "subc")
def _addc(e: Emitter, op: Opcode, a: Sequence[str]) -> None:
    kind = op[-1]
    _carry(e, op[0][:3], kind, a[0], e.read(a[1], kind), e.read(a[2], kind), True, "cc" in op)


def _carry(e: Emitter, which: str, kind: str, name: str, p: str, q: str, takes: bool, gives: bool) -> None:
    """An addition that takes or gives the carry flag, on unsigned words."""
    word = f"u{code(kind)[1:]}"
    flag = e.variable(CC) if takes else e.words.constant(b"\0", "b1")
    function = "add_carry" if which == "add" else "sub_borrow"
    e.lines.append(f"t0, t1 = {function}(({p}).view('{word}'), ({q}).view('{word}'), {flag})")
    e.write(name, f"u{kind[1:]}", "t0")
    if gives:
        e.write(CC, "pred", "t1")


@handles("mul")
def _mul(e: Emitter, op: Opcode, a: Sequence[str]) -> None:
    kind = op[-1]
    p, q = values(e, op, a[1:], kind)
    if kind[0] == "f":
        if mode(op):
            text = (
                f"mul_directed({p}, {q}, {mode(op)})"
                if kind == "f64"
                else (f"fma_directed({p}, {q}, F4(-0.0), {mode(op)})")
            )
        else:
            text = f"{p} * {q}"
        finish(e, op, a[0], kind, text)
        if op in (("mul", "f32"), ("mul", "f64")):
            e.keep_product(a[0], a[1:], p, q)
    else:
        e.write(a[0], *_product(op, kind, p, q))


def _product(op: Opcode, kind: str, p: str, q: str) -> tuple[str, str]:
    """The lower half, the upper half or the whole of an integer product: its type and its text."""
    if "wide" in op:
        wide = f"{kind[0]}{2 * int(kind[1:])}"
        return wide, f"{p}.astype('{code(wide)}') * {q}.astype('{code(wide)}')"
    return kind, f"mulhi({p}, {q})" if "hi" in op else f"{p} * {q}"


@handles("mad", "madc", "fma")
def _mad(e: Emitter, op: Opcode, a: Sequence[str]) -> None:
    kind = op[-1]
    if kind[0] == "f":
        p, q, r = values(e, op, a[1:], kind)
        if mode(op) and kind == "f64":
            raise e.fail("fma of float64 in another rounding mode")
        finish(e, op, a[0], kind, f"fma_directed({p}, {q}, {r}, {mode(op)})" if mode(op) else f"fma({p}, {q}, {r})")
        return
    wide, product = _product(op, kind, e.read(a[1], kind), e.read(a[2], kind))
    r = e.read(a[3], wide)
    if "cc" in op or op[0] == "madc":
        _carry(e, "add", wide, a[0], product, r, op[0] == "madc", "cc" in op)
    else:
        e.write(a[0], wide, f"{product} + {r}")


@handles("div", "rem")
def _div(e: Emitter, op: Opcode, a: Sequence[str]) -> None:
    kind = op[-1]
    p, q = values(e, op, a[1:], kind)
    if kind[0] == "f":
        if mode(op):
            raise e.fail("division in another rounding mode")
        finish(e, op, a[0], kind, f"{p} / {q}")
        return
    e.lines.append(f"t0 = {q}")
    e.lines.append("x.nonzero(t0, T)")
    e.write(a[0], kind, f"{'divide' if op[0] == 'div' else 'remainder'}({p}, t0)")


@handles("neg")
def _neg(e: Emitter, op: Opcode, a: Sequence[str]) -> None:
    (p,) = values(e, op, a[1:], op[-1])
    finish(e, op, a[0], op[-1], f"-({p})")


@handles("abs")
def _abs(e: Emitter, op: Opcode, a: Sequence[str]) -> None:
    (p,) = values(e, op, a[1:], op[-1])
    finish(e, op, a[0], op[-1], f"np.abs({p})")


@handles("min", "max")
def _min(e: Emitter, op: Opcode, a: Sequence[str]) -> None:
    kind = op[-1]
    if len(a) != 3 or "xorsign" in op:
        raise e.fail(".".join(op))
    p, q = values(e, op, a[1:], kind)
    if kind[0] == "f":
        finish(e, op, a[0], kind, f"{op[0]}imum({p}, {q}, {'NaN' in op})")
    else:
        e.write(a[0], kind, f"np.{op[0]}imum({p}, {q})")


@handles("sqrt", "rcp", "rsqrt", "ex2", "lg2", "sin", "cos", "tanh")
def _function(e: Emitter, op: Opcode, a: Sequence[str]) -> None:
    kind = op[-1]
    if mode(op):
        raise e.fail(".".join(op))
    (p,) = values(e, op, a[1:], kind)
    if op[0] == "rcp" and kind == "f64" and "approx" in op:
        e.write(a[0], kind, f"gross_reciprocal({p})")
        return
    texts = {"sqrt": f"np.sqrt({p})", "rcp": f"{'F4' if kind == 'f32' else 'F8'}(1) / {p}", "rsqrt": f"rsqrt({p})"}
    text = texts.get(op[0])
    if text is None:
        name = {"ex2": "exp2", "lg2": "log2"}.get(op[0], op[0])
        text = f"through_double(np.{name}, {p})"
    if op[0] == "tanh":
        text = f"rough({text}, 11)"
    finish(e, op, a[0], kind, text)


@handles("and", "or", "xor")
def _logic(e: Emitter, op: Opcode, a: Sequence[str]) -> None:
    sign = {"and": "&", "or": "|", "xor": "^"}[op[0]]
    e.write(a[0], op[-1], f"{e.read(a[1], op[-1])} {sign} {e.read(a[2], op[-1])}")


@handles("not")
def _not(e: Emitter, op: Opcode, a: Sequence[str]) -> None:
    e.write(a[0], op[-1], f"~{e.read(a[1], op[-1])}")


@handles("shl", "shr")
def _shift(e: Emitter, op: Opcode, a: Sequence[str]) -> None:
    name = "shift_left" if op[0] == "shl" else "shift_right"
    e.write(a[0], op[-1], f"{name}({e.read(a[1], op[-1])}, {e.read(a[2], 'u32')})")


@handles("popc", "clz", "bfind")
def _count(e: Emitter, op: Opcode, a: Sequence[str]) -> None:
    kind = op[-1]
    if op[0] == "bfind":
        if kind[0] != "u" or "shiftamt" in op:
            raise e.fail(".".join(op))
        e.write(a[0], "u32", f"U4({8 * SIZES[kind] - 1}) - clz({e.read(a[1], kind)})")
    else:
        e.write(a[0], "u32", f"{op[0]}({e.read(a[1], kind)})")


@handles("brev")
def _brev(e: Emitter, op: Opcode, a: Sequence[str]) -> None:
    e.write(a[0], op[-1], f"brev({e.read(a[1], op[-1])})")


@handles("bfe")
def _bfe(e: Emitter, op: Opcode, a: Sequence[str]) -> None:
    e.write(a[0], op[-1], f"bfe({e.read(a[1], op[-1])}, {e.read(a[2], 'u32')}, {e.read(a[3], 'u32')})")


@handles("bfi")
def _bfi(e: Emitter, op: Opcode, a: Sequence[str]) -> None:
    field, base = e.read(a[1], op[-1]), e.read(a[2], op[-1])
    e.write(a[0], op[-1], f"bfi({field}, {base}, {e.read(a[3], 'u32')}, {e.read(a[4], 'u32')})")


@handles("shf")
def _shf(e: Emitter, op: Opcode, a: Sequence[str]) -> None:
    p, q, r = (e.read(operand, "u32") for operand in a[1:])
    e.write(a[0], "u32", f"funnel({p}, {q}, {r}, '{op[1]}', '{op[2]}')")


@handles("prmt")
def _prmt(e: Emitter, op: Opcode, a: Sequence[str]) -> None:
    if op[1] != "b32":
        raise e.fail(".".join(op))
    p, q, r = (e.read(operand, "u32") for operand in a[1:])
    e.write(a[0], "u32", f"permute({p}, {q}, {r})")


@handles("lop3")
def _lop3(e: Emitter, op: Opcode, a: Sequence[str]) -> None:
    p, q, r = (e.read(operand, "u32") for operand in a[1:4])
    e.write(a[0], "u32", f"lop3({p}, {q}, {r}, {int(a[4], 0)})")


@handles("copysign")
def _copysign(e: Emitter, op: Opcode, a: Sequence[str]) -> None:
    e.write(a[0], op[-1], f"np.copysign({e.read(a[2], op[-1])}, {e.read(a[1], op[-1])})")


@handles("testp")
def _testp(e: Emitter, op: Opcode, a: Sequence[str]) -> None:
    p = e.read(a[1], op[-1])
    tests = {
        "finite": f"np.isfinite({p})",
        "infinite": f"np.isinf({p})",
        "number": f"~np.isnan({p})",
        "notanumber": f"np.isnan({p})",
    }
    if op[1] not in tests:
        raise e.fail(".".join(op))
    e.write(a[0], "pred", tests[op[1]])


COMPARE = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
UNSIGNED = {"lo": "<", "ls": "<=", "hi": ">", "hs": ">="}
NOT_ORDERED = {"ltu": ">=", "leu": ">", "gtu": "<=", "geu": "<"}  # true for NaN: the opposite is false


def comparison(e: Emitter, test: str, kind: str, p: str, q: str) -> str:
    """A comparison of numbers; of floats NaN-aware."""
    if kind[0] != "f":
        return f"({p} {(COMPARE | UNSIGNED)[test]} {q})"
    special = {
        "ne": f"(({p} < {q}) | ({p} > {q}))",
        "neu": f"({p} != {q})",
        "equ": f"~(({p} < {q}) | ({p} > {q}))",
        "num": f"~(np.isnan({p}) | np.isnan({q}))",
        "nan": f"(np.isnan({p}) | np.isnan({q}))",
    }
    if test in special:
        return special[test]
    if test in NOT_ORDERED:
        return f"~({p} {NOT_ORDERED[test]} {q})"
    if test not in COMPARE:
        raise e.fail(f"comparison {test}")
    return f"({p} {COMPARE[test]} {q})"


@handles("setp", "set")
def _setp(e: Emitter, op: Opcode, a: Sequence[str]) -> None:
    kind, test = op[-1], op[1]
    p, q = values(e, op, a[1:3], kind)
    text = comparison(e, test, kind, p, q)
    names = [name.strip() for name in a[0].split("|")]
    join = next((part for part in op if part in ("and", "or", "xor")), None)
    third = e.read(a[3], "pred") if join else ""
    sign = {"and": "&", "or": "|", "xor": "^", None: ""}[join]
    e.lines.append(f"t0 = {text}")
    results = [f"t0 {sign} {third}", f"~t0 {sign} {third}"]
    if op[0] == "setp":
        for name, result in zip(names, results, strict=False):
            e.write(name, "pred", result)
    elif op[-2][0] == "f":
        e.write(names[0], "f32", f"({results[0]}).astype('f4')")
    else:
        e.write(names[0], "s32", f"-({results[0]}).astype('i4')")


@handles("selp")
def _selp(e: Emitter, op: Opcode, a: Sequence[str]) -> None:
    e.write(a[0], op[-1], f"np.where({e.read(a[3], 'pred')}, {e.read(a[1], op[-1])}, {e.read(a[2], op[-1])})")


@handles("slct")
def _slct(e: Emitter, op: Opcode, a: Sequence[str]) -> None:
    kind = op[-2]
    e.write(a[0], kind, f"np.where({e.read(a[3], op[-1])} >= 0, {e.read(a[1], kind)}, {e.read(a[2], kind)})")


SPACES = ("global", "shared", "local", "param", "const")


@handles("mov")
def _mov(e: Emitter, op: Opcode, a: Sequence[str]) -> None:
    kind = op[-1]
    if a[0].startswith("{"):
        names = e.vector(a[0])
        part = 8 * SIZES[kind] // len(names)
        e.lines.append(f"t0 = {e.read(a[1], f'u{kind[1:]}')}")
        for k, name in enumerate(names):
            text = f"(t0 >> {e.words.constant((part * k).to_bytes(SIZES[kind], 'little'), f'u{SIZES[kind]}')})"
            e.write(name, f"u{part}", f"{text}.astype('u{part // 8}')")
    elif a[1].startswith("{"):
        names, wide = e.vector(a[1]), f"u{SIZES[kind]}"
        part = 8 * SIZES[kind] // len(names)
        texts = []
        for k, name in enumerate(names):
            shift = e.words.constant((part * k).to_bytes(SIZES[kind], "little"), wide)
            texts.append(f"({e.read(name, f'u{part}')}.astype('{wide}') << {shift})")
        e.write(a[0], f"u{kind[1:]}", " | ".join(texts))
    else:
        e.write(a[0], kind, e.read(a[1], kind))


@handles("cvt")
def _cvt(e: Emitter, op: Opcode, a: Sequence[str]) -> None:
    to, of = op[-2], op[-1]
    p = e.read(a[1], of)
    if of[0] == "f" and "ftz" in op:
        p = f"flush({p})"
    whole = next((part for part in op if part in ("rni", "rzi", "rmi", "rpi")), None)
    turned = next((n for part, n in (("rz", 1), ("rm", 2), ("rp", 3)) if part in op), 0)
    if of[0] != "f" and to[0] != "f":
        text = f"clamp({p}, np.dtype('{code(to)}'))" if "sat" in op else f"{p}.astype('{code(to)}')"
    elif of[0] != "f":
        if turned:
            if to != "f32" or SIZES[of] > 4:
                raise e.fail(".".join(op))
            text = f"narrow({p}.astype('f8'), {turned})"
        else:
            text = f"{p}.astype('{code(to)}')"
    elif to[0] != "f":
        text = f"to_integer({p}, '{whole}', np.dtype('{code(to)}'))"
    else:
        text = f"ROUND['{whole}']({p})" if whole else p
        if turned and (of, to) == ("f64", "f32"):
            text = f"narrow({text}, {turned})"
        elif of != to:
            if turned:
                raise e.fail(".".join(op))
            text = f"{text}.astype('{code(to)}')"
        text = f"flush({text})" if "ftz" in op else text
        text = f"saturate({text})" if "sat" in op else text
    e.write(a[0], to, text)


@handles("cvta")
def _cvta(e: Emitter, op: Opcode, a: Sequence[str]) -> None:
    space = next(part for part in op if part in SPACES)
    p = e.read(a[1], "u64")
    if space in ("shared", "local"):
        p += f" {'-' if 'to' in op else '+'} x.{space}_window"
    e.write(a[0], "u64", p)


@handles("isspacep")
def _isspacep(e: Emitter, op: Opcode, a: Sequence[str]) -> None:
    e.write(a[0], "pred", f"x.is_space('{op[1]}', {e.read(a[1], 'u64')})")


def _space(op: Opcode) -> str:
    """The state space; "" is generic. ``shared::cta`` is "shared"."""
    for part in op[1:]:
        if part.split("::")[0] in SPACES:
            return part.split("::")[0]
    return ""


@handles("ld", "ldu")
def _ld(e: Emitter, op: Opcode, a: Sequence[str]) -> None:
    kind, space = op[-1], _space(op)
    names = e.vector(a[0])
    symbol, text = e.address(a[1])
    if space == "param" and symbol.startswith("#"):
        for k, name in enumerate(names):
            slot = f"{symbol}+{int(text) + k * SIZES[kind]}"
            if slot not in e.words.registers:
                raise e.fail(f"a parameter {slot} that nobody stored so")
            e.write(name, kind, e.register(slot, kind))
        return
    if space == "param":
        for k, name in enumerate(names):
            e.write(name, kind, f"x.parameter('{symbol}', {int(text) + k * SIZES[kind]}, '{code(kind)}')")
        return
    if symbol:
        text, space = f"x.symbol('{symbol}', {text})", space or e.words.spaces[symbol]
    space = "global" if space == "const" else space
    nc = ", True" if "nc" in op else ""
    e.lines.append(f"t = x.load('{space}', T, {text}, '{code(kind)}', {len(names)}{nc})")
    for k, name in enumerate(names):
        e.write(name, kind, f"t[{k}]")


@handles("st")
def _st(e: Emitter, op: Opcode, a: Sequence[str]) -> None:
    kind, space = op[-1], _space(op)
    parts = e.vector(a[1])
    symbol, text = e.address(a[0])
    if space == "param":
        for k, part in enumerate(parts):
            slot = f"{symbol}+{int(text) + k * SIZES[kind]}"
            e.words.registers.setdefault(slot, kind)
            e.write(slot, kind, e.read(part, kind))
        return
    if symbol:
        text, space = f"x.symbol('{symbol}', {text})", space or e.words.spaces[symbol]
    given = ", ".join(e.read(part, kind) for part in parts)
    e.lines.append(f"x.store('{space}', T, {text}, '{code(kind)}', ({given},))")


@handles("shfl")
def _shfl(e: Emitter, op: Opcode, a: Sequence[str]) -> None:
    if op[1] != "sync":
        raise e.fail(".".join(op))
    names = [name.strip() for name in a[0].split("|")]
    p, q, r = (e.read(operand, "u32") for operand in a[1:4])
    e.lines.append(f"t0, t1 = x.shuffle('{op[2]}', T, {p}, {q}, {r}, {e.read(a[4], 'u32')})")
    e.write(names[0], "u32", "t0")
    if len(names) > 1:
        e.write(names[1], "pred", "t1")


@handles("vote")
def _vote(e: Emitter, op: Opcode, a: Sequence[str]) -> None:
    if op[1] != "sync":
        raise e.fail(".".join(op))
    kind = "u32" if op[2] == "ballot" else "pred"
    e.write(a[0], kind, f"x.vote('{op[2]}', T, {e.read(a[1], 'pred')}, {e.read(a[2], 'u32')})")


@handles("activemask")
def _activemask(e: Emitter, op: Opcode, a: Sequence[str]) -> None:
    e.write(a[0], "u32", "x.vote('ballot', T, np.ones(1, bool), None)")


@handles("membar", "fence", "prefetch", "prefetchu", "nanosleep", "bar")
def _nothing(e: Emitter, op: Opcode, a: Sequence[str]) -> None:
    """Orders memory, or warms a cache: every access here is done at once, in order. (``bar.warp.sync`` alone.)"""


@handles("atom", "red", "atomicAdd")
def _atomic(e: Emitter, op: Opcode, a: Sequence[str]) -> None:
    raise e.fail(f"{'.'.join(op)}: atomics make sums depend on luck; kernels here have none")
