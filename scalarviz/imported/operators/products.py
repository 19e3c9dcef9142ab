"""Matrix products."""

from __future__ import annotations

import numpy as np

from .alike import Array, bare, both, dressed, made, room, values
from .sums import product, weighted_rows
from .table import Call, operator


@operator("MatMul")
def matmul(call: Call) -> list[Array]:
    """As NumPy has it: the last two axes, the others broadcast."""
    a, b = call.input(0), call.input(1)
    if not a.ndim or not b.ndim or a.shape[-1] != b.shape[-2 if b.ndim > 1 else 0]:
        raise call.wrong(f"the shapes {a.shape} and {b.shape} do not fit together")
    outer = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    room([*outer, *a.shape[-2:-1], *(b.shape[-1:] if b.ndim > 1 else ())], not call.known)
    return [np.asarray(np.matmul(a, b)) if call.known else matrix_product(a, b)]


def matrix_product(a: Array, b: Array) -> Array:
    """``a @ b``, of any dimensions, where one of them holds Values."""
    left = bare(a)[None, :] if a.ndim == 1 else bare(a)
    right = bare(b)[:, None] if b.ndim == 1 else bare(b)
    outer = np.broadcast_shapes(left.shape[:-2], right.shape[:-2])
    if right.ndim == 2 and outer:  # the same matrix for all: one product of many rows
        found = product(left.reshape(-1, left.shape[-1]), right)
        found = found.reshape(*left.shape[:-1], right.shape[-1])
    else:
        left = np.broadcast_to(left, (*outer, *left.shape[-2:]))
        right = np.broadcast_to(right, (*outer, *right.shape[-2:]))
        found = np.empty((*outer, left.shape[-2], right.shape[-1]), object)
        for index in np.ndindex(*outer):
            found[index] = bare(product(left[index], right[index]))
    rows = found.shape[-2:-1] if a.ndim > 1 else ()
    columns = found.shape[-1:] if b.ndim > 1 else ()
    return dressed(bare(found).reshape((*outer, *rows, *columns)))


@operator("Gemm")
def gemm(call: Call) -> list[Array]:
    """``alpha * A @ B + beta * C`` of matrices, each of which may be transposed first."""
    a, b = (x.T if call.attribute(name, 0) else x for x, name in ((call.input(0), "transA"), (call.input(1), "transB")))
    if a.ndim != 2 or b.ndim != 2 or a.shape[1] != b.shape[0]:
        raise call.wrong(f"the shapes {a.shape} and {b.shape} do not fit together as matrices")
    room((a.shape[0], b.shape[1]), not call.known)
    alpha, beta = float(call.attribute("alpha", 1.0)), float(call.attribute("beta", 1.0))
    c = call.inputs[2] if call.given(2) else None
    if alpha == beta == 1.0 and a.dtype == object and c is not None and c.shape == (b.shape[1],) and not call.known:
        found = weighted_rows(b.T, a, c)
        return [values([v for row in found for v in row], (a.shape[0], b.shape[1]))]
    total = product(a, b) if made(a, b) else np.asarray(a @ b)
    total = total if alpha == 1.0 else _times(total, alpha)
    if c is None:
        return [total]
    return [both("add", np.add, total, c if beta == 1.0 else _times(c, beta))]


def _times(x: Array, factor: float) -> Array:
    return both("mul", np.multiply, x, np.asarray(factor, None if x.dtype == object else x.dtype))
