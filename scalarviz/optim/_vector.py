"""A recorded update on arrays: every node once, over all weights."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..scalar import ops
from ..scalar.emit import NUMPY, function_source
from ..scalar.erf import erf, erfc
from ..tape import Tape

FloatArray = NDArray[np.float64]


@cache
def _function(entry: ops.Op) -> Callable[..., Any]:
    namespace: dict[str, Any] = {"_np": np, "_erf": erf, "_erfc": erfc, "_infinity": np.inf}
    exec(function_source("value", entry.args, (entry.value,), NUMPY), namespace)
    function: Callable[..., Any] = namespace["value"]
    return function


def run_tape(tape: Tape, inputs: FloatArray, theta: FloatArray) -> FloatArray:
    """The outputs of `tape`.

    Parameters
    ----------
    inputs : ndarray, shape (n_inputs, lanes)
    theta : ndarray, shape (n_parameters,)

    Returns
    -------
    ndarray, shape (n_outputs, lanes)
    """
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
    total = 0.0 if terms.bias is None else theta[terms.bias]
    return sum((w * rows[x] for w, x in zip(weights, node.args, strict=True)), total)
