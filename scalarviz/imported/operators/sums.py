"""Weighted sums of rows: where the weights are a layer's they are written as one, which engines know."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...scalar import Value, Weight
from ...scalar.dot import Dot, Row
from ...scalar.layer import affine_each
from ...scalar.store import Block
from ...scalar.value import as_value
from .alike import Array, bare, objects, room, values

Terms = Row | tuple[Value, ...]


def neighbours(weights: Sequence[Any]) -> Row | None:
    """The row of a block that these objects are, one behind the other; None if they are something else."""
    first = weights[0] if weights else None
    if not isinstance(first, Weight):
        return None
    block, start = first._block, first._index
    for k, weight in enumerate(weights):
        if not isinstance(weight, Weight) or weight._block is not block or weight._index != start + k:
            return None
    return Row(block, start, len(weights))


def whole_block(weights: Array) -> Block | None:
    """The block whose weights these are, all of them and in order."""
    row = neighbours(bare(weights).ravel().tolist())
    return row.block if row is not None and row.start == 0 and row.length == row.block.size else None


def weighted_rows(weights: Array, xs: Array, bias: Array | None = None) -> list[list[Value]]:
    """Each row of `xs` times each row of `weights`.

    Parameters
    ----------
    weights : ndarray, shape (M, K)
    xs : ndarray, shape (P, K)
        Numbers or Values, as the weights.
    bias : ndarray, shape (M,), optional

    Returns
    -------
    list of P lists of M Values
    """
    room((len(xs), len(weights)), computed=True)
    block = whole_block(weights) if weights.dtype == object and weights.size else None
    bias_block = whole_block(bias) if bias is not None and bias.dtype == object else None
    if block is not None and (bias is None or bias_block is not None):
        return affine_each(block, len(weights), bias_block, bare(objects(xs)).tolist())
    inputs = [tuple(row) for row in bare(objects(xs)).tolist()]
    rows = [_terms(row) for row in bare(objects(weights)).tolist()]
    starts = [None] * len(rows) if bias is None else [_start(b) for b in bare(objects(bias)).tolist()]
    return [[Dot.of(row, x, start) for row, start in zip(rows, starts, strict=True)] for x in inputs]


def _terms(row: list[Any]) -> Terms:
    found = neighbours(row)
    return tuple(row) if found is None else found


def _start(bias: Any) -> Value | Row:
    return Row(bias._block, bias._index, 1) if isinstance(bias, Weight) else as_value(bias)


def product(a: Array, b: Array) -> Array:
    """``a @ b`` of two matrices, of which one or both hold Values."""
    if (a.dtype == object and b.dtype != object) or _weights(b):
        found = weighted_rows(b.T, a)
        return values([v for row in found for v in row], (a.shape[0], b.shape[1]))
    found = weighted_rows(a, b.T)
    return values([found[j][i] for i in range(a.shape[0]) for j in range(b.shape[1])], (a.shape[0], b.shape[1]))


def _weights(x: Array) -> bool:
    return x.dtype == object and x.size > 0 and isinstance(np.ndarray.view(x, np.ndarray).flat[0], Weight)
