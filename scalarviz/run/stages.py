"""Finding the chain of layers in a recorded model, for the picture."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from ..nn import Flatten
from ..scalar.store import Block
from ..tape import Tape
from .frame import Stage, Tensor
from .samples import Shape


def chain(model: Any, tape: Tape, tensors: Sequence[Tensor], shape: Shape) -> list[tuple[Stage, int]]:
    """The stages from input to output, each with the number of its tap; empty if the model is no chain.

    `shape` is that of one sample.
    A chain starts at the inputs; each linear layer reads exactly the rows of the stage before it, each
    activation its rows one by one, a module that names its ``stage`` ("conv2d") some of them and nothing else; the
    last stage is the output. Modules that only reshape are left out.
    """
    names = {id(module): name for name, module in _named_modules(model)}
    tensor_of = dict(zip(tape.blocks, tensors, strict=True))
    before = tuple(range(tape.n_inputs))
    stages: list[tuple[Stage, int]] = []
    for number, (module, rows) in enumerate(tape.taps):
        if list(_children(module)):
            continue
        kind = _kind(module, tape, rows, before)
        if kind is None:
            return []
        if kind == "identity":
            shape = (
                module.flat_shape(shape) if isinstance(module, Flatten) else getattr(module, "unflattened_size", shape)
            )
            continue
        weight, bias = (
            (tensor_of.get(_block(module, n)) for n in ("weight", "bias")) if kind == "linear" else (None, None)
        )
        made = _shape(module, shape, len(rows))
        if made is None:
            return []
        name = names.get(id(module), str(number))
        stages.append((Stage(name, kind, len(rows), weight, bias, made, shape), number))
        before, shape = rows, made
    return stages if stages and before == tape.outputs else []


def _shape(module: Any, before: Shape, count: int) -> Shape | None:
    """The shape of `count` numbers that a module makes of a sample of the shape `before`; None if it cannot.

    It cannot where the model's own code pads or crops the picture between two modules.
    """
    if len(before) == 3 and all(hasattr(module, name) for name in ("kernel_size", "stride", "padding")):
        sides = zip(before[1:], module.kernel_size, module.stride, module.padding, strict=True)
        height, width = ((side + 2 * border - kernel) // step + 1 for side, kernel, step, border in sides)
        made = getattr(module, "out_channels", before[0]), height, width
        return made if prod(made) == count and min(made) > 0 else None
    return before if prod(before) == count else (count,)


def _kind(module: Any, tape: Tape, rows: tuple[int, ...], before: tuple[int, ...]) -> str | None:
    if rows == before:
        return "identity"
    own: str | None = getattr(module, "stage", None)
    if own is not None:
        return own if _reads_only(tape, rows, before) else None
    nodes = [tape.nodes[r] for r in rows]
    if isinstance(getattr(module, "weight", None), Block):
        return "linear" if all(n.code == "dot" and n.args == before for n in nodes) else None
    codes = {n.code for n in nodes}
    if (
        len(codes) == 1
        and len(rows) == len(before)
        and all(n.args[:1] == (b,) for n, b in zip(nodes, before, strict=True))
    ):
        return codes.pop()
    return None


def _reads_only(tape: Tape, rows: tuple[int, ...], before: tuple[int, ...]) -> bool:
    """Whether `rows` depend on the inputs, and through `before` alone."""
    ends, seen, stack = set(before), set[int](), list(rows)
    while stack:
        row = stack.pop()
        if row not in seen:
            seen.add(row)
            if row in ends:
                continue
            if tape.nodes[row].code == "input":
                return False
            stack.extend(tape.nodes[row].operands())
    return not seen.isdisjoint(ends)


def _block(module: Any, name: str) -> Any:
    return getattr(module, name, None)


def _named_modules(model: Any) -> Any:
    named = getattr(model, "named_modules", None)
    return named() if callable(named) else ()


def _children(module: Any) -> Any:
    children = getattr(module, "children", None)
    return children() if callable(children) else ()
