"""A step by hand: collect the moving weights from their blocks, run the recorded update on arrays, and write back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..scalar import Block
from ..scalar.kernel import numpy_form
from ..scalar.weight import Indices
from ..tape import Tape
from ..tape.tape import Node, Terms

FloatArray = NDArray[np.float64]


Rows = Sequence[Any] | NDArray[Any]
"""One number for all weights, or a row (lanes,), each."""


PIECE = 16384
"""Weights of a piece of many: larger temporary arrays are new memory of the system each time, which takes longer."""


def prepared(tape: Tape) -> Callable[[Rows, Rows], list[FloatArray]]:
    """Return `tape` as a function of inputs and parameters: arrays (lanes,) to as many outputs as it has."""
    names: dict[str, Any] = {}
    lines = [f"v{row} = {_line(node, row, names)}" for row, node in enumerate(tape.nodes)]
    last = {k: row for row, node in enumerate(tape.nodes) for k in node.operands()}
    for k, row in last.items():  # the next array gets its memory
        if k not in tape.outputs:
            lines[row] += f"; del v{k}"
    outputs = ", ".join(f"v{row}" for row in tape.outputs)
    exec("\n    ".join(["def run(inputs, theta):", *lines, f"return {outputs},"]), names)
    run = names["run"]

    def call(inputs: Rows, theta: Rows) -> list[FloatArray]:
        many = len(inputs[0])
        if many > 2 * PIECE:
            parts = [call([row[k : k + PIECE] for row in inputs], theta) for k in range(0, many, PIECE)]
            return [np.concatenate(rows) for rows in zip(*parts, strict=True)]
        with np.errstate(all="ignore"):
            found = run(inputs, theta)
        return [row if np.ndim(row) else np.full(many, row) for row in found]

    return call


def _line(node: Node, row: int, names: dict[str, Any]) -> str:
    """Return the expression of a node; constants and functions go into `names`."""
    if node.code in ("input", "param"):
        return f"{'inputs' if node.code == 'input' else 'theta'}[{node.index}]"
    operands = [f"v{k}" for k in node.args]
    if node.code == "const":
        names[f"c{row}"] = np.float64(node.number)
        return f"c{row}"
    if node.terms is not None:
        return _dot(node.terms, operands, row, names)
    name = "first_max" if node.code == "max" else node.code
    names[name] = numpy_form(name, np.dtype(np.float64))[0]
    if node.code == "max":
        return reduce(lambda a, b: f"first_max({a}, {b})", operands)
    return f"{name}({', '.join(operands)})"


def _dot(terms: Terms, operands: list[str], row: int, names: dict[str, Any]) -> str:
    names[f"w{row}"] = [np.float64(w) for w in terms.weights] if terms.kind == "const" else []
    written = {"const": f"w{row}[{{0}}]", "param": "theta[{1}]", "row": "v{1}"}[terms.kind]
    products = [f"{written.format(k, w)} * {x}" for k, (w, x) in enumerate(zip(terms.weights, operands, strict=True))]
    # from 0.0 on, one product alone would lose the sign of -0.0
    start = (
        [] if terms.bias is None and len(products) == 1 else ["0.0" if terms.bias is None else f"theta[{terms.bias}]"]
    )
    return " + ".join([*start, *products])


Held = Sequence[tuple[Block, Indices]]
Places = Indices | slice
EVERY = slice(None)


def moving_of(held: Held) -> list[tuple[Places, Places]]:
    """Return, for each block, the places in the state arrays and the flat indices of the weights that move."""
    found: list[tuple[Places, Places]] = []
    start = 0
    for block, places in held:
        count = len(places)
        # bytes are searched much faster than NumPy compares small arrays
        whole = count == block.size and b"\0" not in block.computed.tobytes()
        if whole and b"\1" not in block.frozen_flags.tobytes():
            found.append((slice(start, start + count), EVERY))
        else:
            # a gradient that somebody wrote by hand counts, too
            known = (block.computed[places] != 0) | (block.flat_grad[places] != 0)
            moves = known & (block.frozen_flags[places] == 0)
            found.append((start + np.flatnonzero(moves), places[moves]))
        start += count
    return found


def places_in(moving: Sequence[tuple[Places, Places]], count: int) -> Places:
    """Return the places in the state arrays of all weights that move, of `count`."""
    if all(index is EVERY for _, index in moving):
        return EVERY
    return np.concatenate([np.arange(count)[place] for place, _ in moving])


def gathered(held: Held, attribute: str, moving: Sequence[tuple[Places, Places]]) -> FloatArray:
    """Return values or gradients of the moving weights, block after block."""
    parts = [getattr(block, attribute)[index] for (block, _), (_, index) in zip(held, moving, strict=True)]
    return np.concatenate(parts, dtype=np.float64)


def scatter(held: Held, values: FloatArray, moving: Sequence[tuple[Places, Places]]) -> None:
    start = 0
    for (block, _), (_, index) in zip(held, moving, strict=True):
        count = block.size if index is EVERY else len(index)  # type: ignore[arg-type]
        block.flat_value[index] = values[start : start + count]
        start += count
