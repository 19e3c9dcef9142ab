"""A layer in tiles of up to 4 x 4 weights, for a batch that fits one vector (``compiled/few``)."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from ....tape import Instruction
from ..wire import FEW

FEW_SUMS = 2
"""Most tiles of a layer forward: with more, the loops of the usual kernel are as quick."""
FEW_OUTER = 8
"""Most tiles of its weights' gradients."""


def pieces(rows: NDArray[np.int64]) -> list[tuple[int, int]]:
    """Spans ``(start, length)`` of up to four neighbours in a list of rows."""
    numbered = groupby(enumerate(rows.tolist()), key=lambda item: item[1] - item[0])
    spans = [[position for position, _ in group] for _, group in numbered]
    return [(first, min(FEW, span[-1] + 1 - first)) for span in spans for first in range(span[0], span[-1] + 1, FEW)]


def tiles_of(i: Instruction, most: int) -> list[tuple[tuple[int, int], tuple[int, int]]]:
    """The tiles of a layer: spans of its results and of its operands. Nothing if there are more than `most`."""
    results, operands = pieces(np.arange(i.count)), pieces(i.args[0])
    if len(results) * len(operands) > most:
        return []
    return [(to, source) for to in results for source in operands]


def forward_fields(i: Instruction) -> Iterator[list[int]]:
    """Fields of the instructions that compute a layer."""
    n = i.args.shape[1]
    for (to, height), (source, width) in tiles_of(i, FEW_SUMS):
        first = source == 0
        bias = i.bias + to if i.bias >= 0 and first else -1
        weight = int(i.weights[0]) + to * n + source
        yield [i.dst + to, height, int(i.args[0, source]), width, weight, n, 1, bias, int(not first)]


def outer_fields(i: Instruction, upstream: int) -> Iterator[list[int]]:
    """Fields of those that add up its weights' gradients; the adjoints of its results begin at row `upstream`."""
    n = i.args.shape[1]
    for (to, height), (source, width) in tiles_of(i, FEW_OUTER):
        bias = i.bias + to if i.bias >= 0 and source == 0 else -1
        weight = int(i.weights[0]) + to * n + source
        yield [upstream + to, height, int(i.args[0, source]), width, weight, n, bias]


def backward_fields(i: Instruction, upstream: int, start: int, to: list[int], adding: bool) -> Iterator[list[int]]:
    """Fields of those that make the adjoints `to` of the operands from number `start` on."""
    n, results, targets = i.args.shape[1], pieces(np.arange(i.count)), pieces(np.array(to))
    if len(results) * len(targets) > FEW_SUMS:
        return
    for position, width in targets:
        for source, height in results:
            weight = int(i.weights[0]) + source * n + start + position
            more = int(adding or source > 0)
            yield [to[position], width, upstream + source, height, weight, 1, n, -1, more]
