"""Instructions that move and convert: registers, memory, addresses, lanes of a warp."""

from __future__ import annotations

from collections.abc import Sequence

from .emit import Emitter, code
from .instructions import Opcode, handles
from .text import SIZES

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
