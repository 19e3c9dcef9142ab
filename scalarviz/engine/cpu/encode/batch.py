"""Means over the batch: two lines each, between which all blocks of the batch are done with the first."""

from __future__ import annotations

import numpy as np

from ....tape import Instruction
from .writer import Lines, Writer


def mean_forward(w: Writer, i: Instruction) -> Lines:
    """Lines of means: what the blocks leave, and what is made of it."""
    return _lines(w, i.args[0].tolist(), list(range(i.dst, i.dst + i.count)), [1] * i.count)


def mean_backward(w: Writer, i: Instruction) -> Lines:
    """Lines that carry the means of their adjoints to their operands."""
    upstream = [w.adjoint(row) for row in range(i.dst, i.dst + i.count)]
    return _lines(w, upstream, *w.targets(np.asarray(i.args[0])))


def _lines(w: Writer, source: list[int], to: list[int], fresh: list[int]) -> Lines:
    place, n = w.places, len(source)
    w.places += n
    return [
        [*w.kernel("batch_sums"), w.keep(source), n, place],
        [*w.kernel("batch_spread"), w.keep(to), n, place, w.keep(fresh)],
    ]
