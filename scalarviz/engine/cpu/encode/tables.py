"""Gathers: parameters of a table, chosen by the number in a row."""

from __future__ import annotations

from ....tape import Instruction
from .writer import Lines, Writer


def gather_forward(w: Writer, i: Instruction) -> Lines:
    """Lines of a gather."""
    return [[*w.kernel("gather"), i.dst, *_fields(w, i)]]


def gather_backward(w: Writer, i: Instruction) -> Lines:
    """Lines that carry its adjoints to the parameters; the numbers that choose get none."""
    return [[*w.kernel("gather_back"), w.adjoint(i.dst), *_fields(w, i)]]


def _fields(w: Writer, i: Instruction) -> list[int]:
    assert i.table is not None
    ids, weights = w.keep(i.args[0]), w.keep(i.weights)
    return [ids, i.args.shape[1], weights, len(i.weights), i.table.rows, i.table.step]
