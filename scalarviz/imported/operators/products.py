"""Matrix products, Einstein sums, and weighted sums of rows.

If the weights belong to a layer, the sum becomes one that engines know. An Einstein sum is computed as matrix products
of two operands at a time.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from ...errors import shown
from ...scalar import Value, Weight, functions
from ...scalar.store import Block
from ...scalar.sums import Dot, Row, affine_each
from ...scalar.value import as_value
from .arrays import Array, any_values, bare, check_size, dressed, either, objects, reduced, values
from .table import OperatorCall, operator

Terms = Row | tuple[Value, ...]


def neighbours(weights: Sequence[Any]) -> Row | None:
    """Return the row of a block that these objects are, in order; None if they are something else."""
    first = weights[0] if weights else None
    if not isinstance(first, Weight):
        return None
    block, start = first._block, first._index
    for k, weight in enumerate(weights):
        if not isinstance(weight, Weight) or weight._block is not block or weight._index != start + k:
            return None
    return Row(block, start, len(weights))


def whole_block(weights: Array) -> Block | None:
    """Return the block whose weights these are, all of them and in order, or None."""
    row = neighbours(bare(weights).ravel().tolist())
    return row.block if row is not None and row.start == 0 and row.length == row.block.size else None


def weighted_rows(weights: Array, xs: Array, bias: Array | None = None) -> Array:
    """Multiply each row of `xs` by each row of `weights`."""
    check_size((len(xs), len(weights)), computed=True)
    block = whole_block(weights) if weights.dtype == object and weights.size else None
    bias_block = whole_block(bias) if bias is not None and bias.dtype == object else None
    if block is not None and (bias is None or bias_block is not None):
        sums = affine_each(block, len(weights), bias_block, bare(objects(xs)).tolist())
        return values([v for row in sums for v in row], (len(xs), len(weights)))
    inputs = [tuple(row) for row in bare(objects(xs)).tolist()]
    rows = [neighbours(row) or tuple(row) for row in bare(objects(weights)).tolist()]
    starts = [None] * len(rows) if bias is None else [_start(b) for b in bare(objects(bias)).tolist()]
    terms = list(zip(rows, starts, strict=True))
    return values([Dot.create(row, x, start) for x in inputs for row, start in terms], (len(xs), len(weights)))


def _start(bias: Any) -> Value | Row:
    return Row(bias._block, bias._index, 1) if isinstance(bias, Weight) else as_value(bias)


def product(a: Array, b: Array) -> Array:
    """Return ``a @ b`` of two matrices; at least one holds Values."""
    if (a.dtype == object and b.dtype != object) or _weights(b):
        return weighted_rows(b.T, a)
    return dressed(bare(weighted_rows(a, b.T)).T)


def _weights(x: Array) -> bool:
    return x.dtype == object and x.size > 0 and isinstance(np.ndarray.view(x, np.ndarray).flat[0], Weight)


@operator("MatMul")
def matmul(call: OperatorCall) -> list[Array]:
    """Multiply matrices as NumPy does: the last two axes, the others broadcast."""
    a, b = call.input(0), call.input(1)
    if not a.ndim or not b.ndim or a.shape[-1] != b.shape[-2 if b.ndim > 1 else 0]:
        raise call.wrong(f"the shapes {a.shape} and {b.shape} do not fit together")
    outer = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    check_size([*outer, *a.shape[-2:-1], *(b.shape[-1:] if b.ndim > 1 else ())], not call.known)
    return [np.asarray(np.matmul(a, b)) if call.known else matrix_product(a, b)]


def matrix_product(a: Array, b: Array) -> Array:
    """Return ``a @ b`` for any dimensions; at least one operand holds Values."""
    left = bare(a)[None, :] if a.ndim == 1 else bare(a)
    right = bare(b)[:, None] if b.ndim == 1 else bare(b)
    outer = np.broadcast_shapes(left.shape[:-2], right.shape[:-2])
    if right.ndim == 2 and outer:  # one matrix for all: one product of many rows
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
def gemm(call: OperatorCall) -> list[Array]:
    """Return ``alpha * A @ B + beta * C`` of matrices, which may be transposed first."""
    a, b = (x.T if call.attribute(name, 0) else x for x, name in ((call.input(0), "transA"), (call.input(1), "transB")))
    if a.ndim != 2 or b.ndim != 2 or a.shape[1] != b.shape[0]:
        raise call.wrong(f"the shapes {a.shape} and {b.shape} do not fit together as matrices")
    check_size((a.shape[0], b.shape[1]), not call.known)
    alpha, beta = float(call.attribute("alpha", 1.0)), float(call.attribute("beta", 1.0))
    c = call.optional(2)
    if alpha == beta == 1.0 and a.dtype == object and c is not None and c.shape == (b.shape[1],) and not call.known:
        return [weighted_rows(b.T, a, c)]
    total = product(a, b) if any_values(a, b) else np.asarray(a @ b)
    total = total if alpha == 1.0 else _times(total, alpha)
    if c is None:
        return [total]
    return [either("add", np.add, total, c if beta == 1.0 else _times(c, beta))]


def _times(x: Array, factor: float) -> Array:
    return either("mul", np.multiply, x, np.asarray(factor, None if x.dtype == object else x.dtype))


DOTS = "..."
MOST_PRODUCTS = 1 << 35
"""The most products over all axes: a short equation can ask for more than a computer does in a year."""
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


@operator("Einsum")
def einsum(call: OperatorCall) -> list[Array]:
    """Compute ``ij,jk->ik`` and the like; axes that are not in the result are summed over."""
    equation = str(call.attribute("equation", "")).replace(" ", "")
    operands = call.all()
    names, result, sides = _names(call, equation, operands)
    check_size([sides[name] for name in result], not call.known)
    if prod(sides.values()) > MOST_PRODUCTS:
        raise call.wrong(f"it needs {prod(sides.values()):,} products; at most {MOST_PRODUCTS:,} are allowed")
    if call.known:
        return [np.asarray(np.einsum(equation, *operands, optimize="greedy"))]
    parts = [_diagonal(objects(x), own) for x, own in zip(operands, names, strict=True)]
    found, own = parts[0]
    for k, (x, others) in enumerate(parts[1:], start=2):
        later = set(result).union(*(rest for _, rest in parts[k:]))
        found, own = _product(found, own, x, others, later)
    found, own = _summed(found, own, set(result))
    return [found.transpose([own.index(name) for name in result])]


def _names(call: OperatorCall, equation: str, operands: list[Array]) -> tuple[list[str], str, dict[str, int]]:
    """Return the axes of each operand and of the result, one letter each, and their lengths."""
    before, arrow, result = equation.partition("->")
    terms = before.split(",")
    spare = [letter for letter in LETTERS if letter not in equation]
    if len(terms) != len(operands):
        raise call.wrong(f"the equation {shown(equation)} is not for {len(operands)} operands")
    many = [
        x.ndim - len(term.replace(DOTS, "")) if DOTS in term else 0 for term, x in zip(terms, operands, strict=True)
    ]
    dots = "".join(spare[: max(many, default=0)])
    full = [term.replace(DOTS, dots[len(dots) - n :]) for term, n in zip(terms, many, strict=True)]
    if any(len(own) != x.ndim for own, x in zip(full, operands, strict=True)):
        raise call.wrong(f"the equation {shown(equation)} does not fit the shapes {[x.shape for x in operands]}")
    letters = "".join(full)
    sides = {
        (name, side) for own, x in zip(full, operands, strict=True) for name, side in zip(own, x.shape, strict=True)
    }
    if len(sides) != len(set(letters)):
        raise call.wrong(f"the equation {shown(equation)} gives an axis two lengths in {[x.shape for x in operands]}")
    if not arrow:
        result = dots + "".join(sorted(c for c in set(letters) - set(dots) if letters.count(c) == 1))
    wanted = result.replace(DOTS, dots)
    if len(set(wanted)) != len(wanted) or not set(wanted) <= set(letters):
        raise call.wrong(f"the equation {shown(equation)} has a result with axes that no operand has")
    return full, wanted, dict(sides)


def _diagonal(x: Array, own: str) -> tuple[Array, str]:
    """Merge axes of the same name."""
    names = "".join(dict.fromkeys(own))
    if names == own:
        return x, own
    places = np.einsum(f"{own}->{names}", np.arange(x.size).reshape(x.shape))
    return dressed(bare(x).ravel()[places]), names


def _summed(x: Array, own: str, kept: set[str]) -> tuple[Array, str]:
    """Sum over the axes that are no longer needed."""
    gone = tuple(k for k, name in enumerate(own) if name not in kept)
    return (reduced(x, gone, False, functions.sum) if gone else x), "".join(name for name in own if name in kept)


def _product(a: Array, left: str, b: Array, right: str, later: set[str]) -> tuple[Array, str]:
    """Return the product of two arrays, summed over axes that are not needed later."""
    a, left = _summed(a, left, later | set(right))
    b, right = _summed(b, right, later | set(left))
    both = [name for name in left if name in right and name in later]
    inner = [name for name in left if name in right and name not in later]
    rows, columns = ([name for name in own if name not in other] for own, other in ((left, right), (right, left)))
    sides = {**dict(zip(left, a.shape, strict=True)), **dict(zip(right, b.shape, strict=True))}
    shape = [sides[name] for name in both]
    many, deep = prod(sides[name] for name in rows), prod(sides[name] for name in inner)
    wide = prod(sides[name] for name in columns)
    matrix = a.transpose([left.index(n) for n in (*both, *rows, *inner)]).reshape(*shape, many, deep)
    other = b.transpose([right.index(n) for n in (*both, *inner, *columns)]).reshape(*shape, deep, wide)
    found = matrix_product(matrix, other).reshape([sides[name] for name in (*both, *rows, *columns)])
    return found, "".join((*both, *rows, *columns))
