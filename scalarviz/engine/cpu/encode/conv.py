"""The lists that the kernels of convolutions read."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Words = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Sums:
    """What the kernel ``conv`` computes, forward or backward. The attributes stand in the pool in this order.

    Attributes
    ----------
    outputs, to_step, weight_step : int
        Output i of place p is row ``to[p] + i * to_step``; its weights begin ``i * weight_step`` further on.
    weight, bias : int
        Indices into theta; bias may be -1.
    adding : int
        1: the rows are added to.
    run, row_step, run_step : int
        Rows of one entry, and the distances of its rows and weights.
    to : ndarray, shape (places,)
    starts : ndarray, shape (places + 1,)
        Which entries belong to each place.
    entries : ndarray, shape (n, 2)
        Row and weight (counted from `weight`) with which each entry begins.
    """

    outputs: int
    to_step: int
    weight_step: int
    weight: int
    bias: int
    adding: int
    run: int
    row_step: int
    run_step: int
    to: Words
    starts: Words
    entries: Words


@dataclass(frozen=True, slots=True)
class Operands:
    """The operands of a convolution, channels apart: ``rows[p, c*taps + t] = base[p, t] + c*step``.

    Attributes
    ----------
    base : ndarray, shape (places, taps)
    there : ndarray of bool, shape (places, taps)
        False where the operand is the constant 0, in every channel.
    channels, step : int
    """

    base: Words
    there: NDArray[np.bool_]
    channels: int
    step: int

    @property
    def taps(self) -> int:
        """Operands of one channel."""
        return int(self.base.shape[1])


def channels_of(rows: Words, zero: NDArray[np.bool_]) -> Operands:
    """Find the largest number of channels that describes a table of operands.

    Parameters
    ----------
    rows : ndarray, shape (places, n)
    zero : ndarray of bool, shape (places, n)
        Which operands are the constant 0.
    """
    n = rows.shape[1]
    for channels in (c for c in range(n, 1, -1) if n % c == 0):
        planes = rows.reshape(len(rows), channels, -1)
        gone = zero.reshape(planes.shape)
        steps = np.diff(planes, axis=1)[~gone[:, 1:]]
        if (gone == gone[:, :1]).all() and len(steps) and (steps == steps[0]).all() and steps[0] != 0:
            return Operands(planes[:, 0], ~gone[:, 0], channels, int(steps[0]))
    return Operands(rows, ~zero, 1, 0)


def forward_sums(table: Operands, dst: int, weights: Words, bias: int) -> Sums:
    """The sums of the forward pass; output i of place p is row ``dst + i * places + p``."""
    places, n = len(table.base), table.taps * table.channels
    place, tap = np.nonzero(table.there)
    return Sums(
        outputs=len(weights), to_step=places, weight_step=n, weight=int(weights[0]), bias=bias, adding=0,
        run=table.channels, row_step=table.step, run_step=table.taps,
        to=dst + np.arange(places), starts=_starts(place, places),
        entries=np.stack([table.base[place, tap], tap], axis=1),
    )  # fmt: skip


def backward_sums(table: Operands, upstream: int, weights: Words, wanted: NDArray[np.bool_], shift: int) -> Sums:
    """The sums that carry the adjoints of a convolution to its operands; they are added to.

    Parameters
    ----------
    upstream : int
        Row of the adjoint of the first output.
    wanted : ndarray of bool
        Which rows want a gradient. All channels of an operand do, or none.
    shift : int
        From a row to its adjoint.
    """
    places, n = len(table.base), table.taps * table.channels
    there = table.there & wanted[np.where(table.there, table.base, 0)]
    place, tap = np.nonzero(there)
    operand = table.base[place, tap]
    order = np.argsort(operand, kind="stable")
    found, counts = np.unique(operand, return_counts=True)
    return Sums(
        outputs=table.channels, to_step=table.step, weight_step=table.taps, weight=int(weights[0]), bias=-1,
        adding=1, run=len(weights), row_step=places, run_step=n,
        to=found + shift, starts=np.concatenate([[0], np.cumsum(counts)]),
        entries=np.stack([upstream + place[order], tap[order]], axis=1),
    )  # fmt: skip


def _starts(place: Words, places: int) -> Words:
    return np.concatenate([[0], np.cumsum(np.bincount(place, minlength=places))])
