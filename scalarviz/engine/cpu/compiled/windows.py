"""Maxima over windows of two by two, for one sample: the tiles stand in ``vector/pool``."""

from __future__ import annotations

from ..vector.emitter import lanes_of
from ..vector.pool import window_adjoints, window_maxima
from .tiles import Row, Words


def windows_one(
    code: Words, space: Words, pool: Words, numbers: Row, theta: Row, grad: Row, n: int, unused: int
) -> None:  # fmt: skip
    """``rows[to + j]`` = the largest of window j. Fields: to, windows of a run, `down`, list of runs, its length."""
    for lane in range(0, code[3], lanes_of(theta)):
        window_maxima(space, pool, theta, code[2], code[3], code[4], code[5], code[6], lane)


def windows_back_one(
    code: Words, space: Words, pool: Words, numbers: Row, theta: Row, grad: Row, n: int, unused: int
) -> None:  # fmt: skip
    """Adjoints of the operands of `windows_one`. Further fields: row of the first adjoint, 1 to add (0 stores)."""
    for lane in range(0, code[3], lanes_of(theta)):
        window_adjoints(space, pool, theta, code[2], code[3], code[4], code[5], code[6], lane, code[7], code[8])
