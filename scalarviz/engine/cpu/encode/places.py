"""A layer at several places of one sample, such as the letters of a text: a layer a place, whose rows stand apart.

Where rows are single numbers a convolution wants its places side by side (:mod:`.shift`). Those of a text are not: what
is side by side there are the operands of a place, as in a layer.
"""

from __future__ import annotations

import numpy as np

from ....tape import Instruction, Program
from .layer import stretches
from .writer import Lines, Writer

WEIGHTS = 64
"""Of a place; below, a call for each place costs more than lanes that are empty."""


def are_layers(program: Program, i: Instruction) -> bool:
    """Whether the places of a convolution are as quick as layers: neighbours, none left out, and enough of them."""
    zeros = program.constant_rows[program.constants == 0.0]
    size = i.args.shape[1] * len(i.weights)
    return size >= WEIGHTS and bool((np.diff(i.args, axis=1) == 1).all()) and not np.isin(i.args, zeros).any()


def places_forward(w: Writer, i: Instruction) -> Lines:
    """Lines of the layer, place by place."""
    (places, n), lines = i.args.shape, []
    for place, rows in enumerate(i.args):
        to = w.keep(range(i.dst + place, i.dst + i.count, places))
        source, weight = w.keep(rows), int(i.weights[0])
        lines.append([*w.kernel("combine"), to, len(i.weights), source, n, weight, n, 1, i.bias, 0])
    return lines


def places_backward(w: Writer, i: Instruction) -> Lines:
    """Lines that add up its weights' gradients and carry the adjoints of its results on, place by place."""
    (places, n), count, weight, up = i.args.shape, len(i.weights), int(i.weights[0]), w.adjoint(i.dst)
    lines: Lines = []
    for place, rows in enumerate(i.args):
        upstream, source = w.keep(range(up + place, up + i.count, places)), w.keep(rows)
        lines.append([*w.kernel("outer"), upstream, count, source, n, weight, n, i.bias])
        for start, to in stretches(rows, w.wanted(rows)):
            zeros, adding = w.adding(to)
            targets = w.keep([w.adjoint(r) for r in to])
            fields = [targets, len(to), upstream, count, weight + start, 1, n, -1, int(adding)]
            lines += [*zeros, [*w.kernel("combine"), *fields]]
    return lines
