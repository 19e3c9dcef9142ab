"""What each instruction means, as a line of Python over vectors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from .emit import CC, code
from .text import SIZES

if TYPE_CHECKING:
    from .emit import Emitter

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
