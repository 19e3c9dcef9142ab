"""A step by hand: collect the moving weights from their blocks, run the recorded update on arrays, and write back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..scalar import Block, ops
from ..scalar.emit import NUMPY, function_source
from ..scalar.erf import erf, erfc
from ..scalar.weight import Indices
from ..tape import Tape

FloatArray = NDArray[np.float64]


@cache
def _function(entry: ops.Op) -> Callable[..., Any]:
    namespace: dict[str, Any] = {"_np": np, "_erf": erf, "_erfc": erfc, "_infinity": np.inf}
    exec(function_source("value", entry.args, (entry.value,), NUMPY), namespace)
    function: Callable[..., Any] = namespace["value"]
    return function


def run_tape(tape: Tape, inputs: FloatArray, theta: FloatArray) -> FloatArray:
    """Return the outputs of `tape`, (n_outputs, lanes), for `inputs` (n_inputs, lanes) and parameters `theta`."""
    rows: list[Any] = []
    with np.errstate(all="ignore"):
        for node in tape.nodes:
            if node.code == "input":
                rows.append(inputs[node.index])
            elif node.code == "param":
                rows.append(theta[node.index])
            elif node.code == "const":
                rows.append(np.float64(node.number))
            elif node.code == "dot":
                rows.append(_dot(node, rows, theta))
            elif node.code == "max":
                rows.append(reduce(_function(ops.FIRST_MAX), [rows[a] for a in node.args]))
            else:
                rows.append(_function(ops.get(node.code))(*[rows[a] for a in node.args]))
    lanes = inputs.shape[1]
    return np.stack([np.broadcast_to(rows[i], lanes) for i in tape.outputs])


def _dot(node: Any, rows: list[Any], theta: FloatArray) -> Any:
    terms = node.terms
    weights = terms.weights
    if terms.kind != "const":
        source = theta if terms.kind == "param" else rows
        weights = [source[i] for i in weights]
    # from 0.0 on, one product alone would lose the sign of -0.0
    total = (-0.0 if len(weights) == 1 else 0.0) if terms.bias is None else theta[terms.bias]
    return sum((w * rows[x] for w, x in zip(weights, node.args, strict=True)), total)


Held = Sequence[tuple[Block, Indices]]
Moving = Sequence[tuple[Indices, Indices]]


def moving_of(held: Held) -> list[tuple[Indices, Indices]]:
    """Return, for each block, the places in the state arrays and the flat indices of the weights that move."""
    found, start = [], 0
    for block, places in held:
        moves = (block.computed[places] != 0) & (block.frozen_flags[places] == 0)
        found.append((start + np.flatnonzero(moves), places[moves]))
        start += len(places)
    return found


def gathered(held: Held, attribute: str, moving: Moving) -> FloatArray:
    """Return values or gradients of the moving weights, block after block."""
    pairs = zip(held, moving, strict=True)
    return np.concatenate([getattr(block, attribute)[index].astype(np.float64) for (block, _), (_, index) in pairs])


def scatter(held: Held, values: FloatArray, moving: Moving) -> None:
    start = 0
    for (block, _), (_, index) in zip(held, moving, strict=True):
        block.flat_value[index] = values[start : start + len(index)]
        start += len(index)
