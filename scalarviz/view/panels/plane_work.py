"""`PlaneWork`: what a network says on a grid over a plane, worked out within a share of the time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...run.panels.kinds import Axis
from ...run.source import Moment

Float = NDArray[np.floating]
Inputs = Callable[[Float], Float]
Ask = Callable[[Moment, Float], Float]
"""``ask(moment, samples)``: rows of numbers (N, k) for samples (N, n_inputs) at the values of the moment."""

BUDGET = 0.05 / 30
"""Seconds of a frame in which a map may be worked out: with what is drawn of it less than a tenth, at 30 a second."""
LEVELS = (20, 28, 40, 56, 80, 112)
"""Cells in each direction, from coarse to fine: each has twice as many as the one before.

A picture for which nobody waits, such as one of a film, always has the finest.
"""
_PATIENCE = 6  # works that are too dear or too cheap, one after the other, until that is no accident


class PlaneWork:
    """Numbers on a grid, of one moment, which is the one shown unless the network is dear.

    `inputs` makes of points of the plane what the network gets. `cells` in each direction; None: as many of `levels` as
    there is time for. `live`: somebody waits for the window; a film works out everything at every frame.
    """

    def __init__(
        self, across: Axis, up: Axis, inputs: Inputs, cells: int | None, live: bool, levels: Sequence[int] = LEVELS
    ) -> None:
        self._across, self._up, self._inputs = across, up, inputs
        self._fixed, self._live, self._levels = cells, live, levels
        self.cells = cells or (levels[2] if live else levels[-1])
        self.rows: Float | None = None  # (cells, cells, k), the first row at the top
        self.moment: Moment | None = None  # which they are of
        self._samples: Float | None = None
        self._begun: _Begun | None = None
        self._cost = 0.0  # seconds a cell, when last measured
        self._wished = 0  # how many times in a row another fineness would have done

    def late(self, moment: Moment) -> bool:
        """Whether the numbers are of another moment than this one."""
        return self.moment is None or self.moment.frame is not moment.frame

    def whole(self, moment: Moment, ask: Ask) -> bool:
        """Work while there is time, but find the first numbers as a whole; returns whether they are others."""
        changed = self.update(moment, ask)
        while self.rows is None:
            changed = self.update(moment, ask)
        return changed

    def update(self, moment: Moment, ask: Ask) -> bool:
        """Work for as long as there is time; returns whether the numbers are others than before."""
        if self._begun is None:
            if not self.late(moment):
                return False
            samples = self._inputs(self.points)
            if self._as_before(moment, samples):
                self.moment = moment
                return False
            self._begun = _Begun(moment, samples)
        begun, start, count = self._begun, perf_counter(), 0
        while len(begun.samples) > begun.done:
            part = begun.samples[begun.done : begun.done + self._slice(begun)]
            begun.parts.append(np.asarray(ask(begun.moment, part), float))
            begun.done += len(part)
            count += 1
            if self._live and (perf_counter() - start) * (count + 1) / count > BUDGET:  # no time for one more
                break
        begun.spent += perf_counter() - start
        if begun.done < len(begun.samples):
            return False
        self._end(begun)
        return True

    def _slice(self, begun: _Begun) -> int:
        """Samples that are asked for together."""
        if not self._live or self._cost == 0.0 or self._cost * len(begun.samples) <= BUDGET:
            return len(begun.samples) if not self._live or self._cost else 1024
        return max(64, int(BUDGET / self._cost / 4))

    def _end(self, begun: _Begun) -> None:
        side = self.cells
        self.rows = np.concatenate(begun.parts).reshape(side, side, -1)
        self.moment, self._samples, self._begun = begun.moment, begun.samples, None
        now = begun.spent / len(begun.samples)
        self._cost = now if self._cost == 0.0 else 0.8 * self._cost + 0.2 * now

    def spent(self, seconds: float) -> None:
        """What else was done with the numbers took so long: in the long run they become finer or coarser."""
        if self._fixed is not None or not self._live:
            return
        cost = self._cost + seconds / self.cells**2
        fitting = [n for n in self._levels if cost * n * n <= BUDGET * (0.5 if n > self.cells else 1.0)]
        level = max(fitting, default=self._levels[0])
        self._wished = 0 if level == self.cells else self._wished + 1
        if self._wished >= _PATIENCE:
            self.cells, self._wished = level, 0

    def _as_before(self, moment: Moment, samples: Float) -> bool:
        """Whether the numbers of another moment hold here: the same weights and the same samples."""
        if self.moment is None or self._samples is None or self.rows is None or len(self.rows) != self.cells:
            return False
        one, other = self.moment.frame, moment.frame
        return (
            one.forward is other.forward
            and np.array_equal(one.values, other.values)
            and np.array_equal(self._samples, samples)
        )

    @property
    def points(self) -> Float:
        """The middles of the cells."""
        return middles(self._across, self._up, self.cells)


class _Begun:
    """Work on one moment, part by part."""

    def __init__(self, moment: Moment, samples: Any) -> None:
        self.moment, self.samples = moment, np.asarray(samples)
        self.parts: list[Float] = []
        self.done, self.spent = 0, 0.0


def tiled(maps: Sequence[NDArray[np.uint8]]) -> NDArray[np.uint8]:
    """Maps (H, W, 3) side by side as one picture, each with an edge of its own colours."""
    return np.concatenate([np.pad(one, ((1, 1), (1, 1), (0, 0)), mode="edge") for one in maps], axis=1)


def tile_cells(numbers: NDArray[np.intp], count: int, cells: int) -> Float:
    """Parts (N, 4) of such a picture of `count` square maps, as fractions and without their edges."""
    tile, ones = cells + 2, np.ones(len(numbers))
    side = ones * cells / tile
    return np.stack([(numbers + 1 / tile) / count, ones / tile, side / count, side], axis=1)


def middles(across: Axis, up: Axis, cells: int) -> Float:
    """The middles of square cells over a plane, shape (cells * cells, 2), row by row from the top."""
    part = (np.arange(cells) + 0.5) / cells
    x, y = across.least + part * (across.most - across.least), up.most - part * (up.most - up.least)
    return np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2)
