"""Weighted sums and sums of products, several rows each, and squared errors."""

from __future__ import annotations

from collections.abc import Callable

from ....tape import Instruction
from . import columns
from .writer import Lines, Writer


def dot_forward(w: Writer, i: Instruction) -> Lines:
    """Lines of sums whose weights are parameters."""
    return _by_parts(w, i, columns.columns_forward, weighted_forward)


def dot_backward(w: Writer, i: Instruction) -> Lines:
    """Lines that carry their adjoints to their operands and weights."""
    return _by_parts(w, i, columns.columns_backward, weighted_backward)


def _by_parts(
    w: Writer,
    i: Instruction,
    of_columns: Callable[[Writer, columns.Columns], Lines],
    of_rows: Callable[[Writer, Instruction], Lines],
) -> Lines:
    """Lines of each part by its kind."""
    found = (of_columns(w, p) if isinstance(p, columns.Columns) else of_rows(w, p) for p in columns.parts(w, i))
    return [line for lines in found for line in lines]


def weighted_forward(w: Writer, i: Instruction) -> Lines:
    """Lines of weighted sums."""
    return [[*w.kernel("weighted"), i.dst, *_weighted_fields(w, i), w.number(i.offset)]]


def weighted_backward(w: Writer, i: Instruction) -> Lines:
    """Lines that carry their adjoints to their operands and weights."""
    adjoints, fresh = w.targets(i.args.ravel())
    return [[*w.kernel("weighted_back"), w.adjoint(i.dst), *_weighted_fields(w, i), w.keep(adjoints), w.keep(fresh)]]


def _weighted_fields(w: Writer, i: Instruction) -> list[int]:
    weights = w.keep(i.weights) if i.kind == "dot" else -1
    first = w.number(*i.numbers) if i.kind == "weighted" else -1
    return [i.count, w.keep(i.args.ravel()), i.terms, weights, first, i.bias]


def product_forward(w: Writer, i: Instruction) -> Lines:
    """Lines of sums of products of rows."""
    return [[*w.kernel("product"), i.dst, i.count, w.keep(i.args.ravel()), i.terms, i.bias, w.number(i.offset)]]


def product_backward(w: Writer, i: Instruction) -> Lines:
    """Lines that carry their adjoints to both sides."""
    lists = [w.keep([*left, *right]) for left, right in _sides(w, i)]
    return [[*w.kernel("product_back"), w.adjoint(i.dst), i.count, w.keep(i.args.ravel()), i.terms, i.bias, *lists]]


def squares_forward(w: Writer, i: Instruction) -> Lines:
    """Lines of a squared error."""
    return [[*w.kernel("squares"), i.dst, w.keep(i.args.ravel()), i.args.shape[1], w.number(*i.numbers)]]


def squares_backward(w: Writer, i: Instruction) -> Lines:
    """Lines that carry its adjoint to both sides."""
    adjoints, fresh = ([*left, *right] for left, right in _sides(w, i))
    lists = [w.keep(part) for part in (i.args.ravel(), adjoints, fresh)]
    n, factor = i.args.shape[1], w.number(*i.numbers)
    return [[*w.kernel("squares_back"), w.adjoint(i.dst), lists[0], n, factor, *lists[1:]]]


def _sides(w: Writer, i: Instruction) -> list[list[list[int]]]:
    """Of two rows of operands: adjoint rows (left, right), and whether each is fresh (left, right)."""
    # in the order of the kernels, which go term by term
    pairs = [w.targets(i.args[:, j]) for j in range(i.args.shape[1])]
    return [[[pair[part][side] for pair in pairs] for side in (0, 1)] for part in (0, 1)]
