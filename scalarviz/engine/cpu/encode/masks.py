"""Dropout masks: four units a line, which one block of random words serves; of one sample all that count up."""

from __future__ import annotations

from ....rng import dropout_threshold
from ....scalar.mask import scale
from ....tape import Instruction
from .. import wire
from .writer import Lines, Writer, runs


def mask_forward(w: Writer, i: Instruction) -> Lines:
    """Lines of a call's masks."""
    p = float(i.numbers[0])
    number, threshold = w.number(scale(p)), dropout_threshold(p)
    if w.lanes:
        spans = runs(i.units[None])
        return [[*w.kernel("masks"), i.dst + at, int(i.units[at]), n, i.call, threshold, number] for at, n in spans]
    rows: dict[int, list[int]] = {}
    for j, unit in enumerate(i.units.tolist()):
        rows.setdefault(unit // 4, [-1] * 4)[unit % 4] = i.dst + j
    return [[*w.kernel("masks"), *_filled(w, four), block, i.call, threshold, number] for block, four in rows.items()]


def _filled(w: Writer, rows: list[int]) -> list[int]:
    """Units that nobody reads go to spare rows, each to one of its own: there are three at most."""
    spare = iter(range(2 * w.program.n_rows + 2, 2 * w.program.n_rows + wire.PADDING))
    return [row if row >= 0 else next(spare) for row in rows]


def mask_backward(w: Writer, i: Instruction) -> Lines:
    """Nothing: nobody asks a mask for its gradient."""
    return []
