"""`Easel`: paints a picture at as many of its pixels as the time allows, and at all of them once there is time."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...run.panels import psnr
from .pace import SETTLE

Pixels = NDArray[np.floating]
Predict = Callable[[NDArray[np.float32]], NDArray[np.floating]]
"""Colours (N, 3) of places (N, 2)."""

BUDGET = 0.008
"""Seconds that painting may take of a frame, a quarter of the thirtieth of a second."""
AT_REST, FEWEST = 0.016, 2048
"""The same while a frame stands: nothing else is to be drawn. So many pixels at least, or it would never be done."""
LADDER = (12, 16, 24, 32, 48, 64, 80, 96, 128, 160, 192, 224, 256, 304)
"""Pixels of the longer side while somebody waits."""
FILM, STILL = 160, 608
"""Pixels of the longer side in a film and in a picture: always the same, so that both can be made again."""
_BEGIN = LADDER.index(48)
_AIR = 0.75  # share of the budget that a finer picture must fit into, so that it does not flicker


@dataclass(frozen=True, slots=True, eq=False)
class Painted:
    """What a network makes of some pixels of a picture, evenly spread.

    Attributes
    ----------
    colours : ndarray, shape (h, w, 3)
    rows, columns : ndarray of int, shapes (h,) and (w,)
        Which pixels they are.
    psnr : float
        In dB, of these pixels.
    whole : bool
        Whether they are all.
    """

    colours: Pixels
    rows: NDArray[np.int64]
    columns: NDArray[np.int64]
    psnr: float
    whole: bool


class Easel:
    """Paints one picture again and again.

    Parameters
    ----------
    live : bool
        Whether somebody waits for the window; films and stills are always painted at the same pixels.
    """

    def __init__(self, live: bool) -> None:
        self._live, self._place = live, _BEGIN
        self._cost = 0.0  # seconds a pixel
        self._shown: object = None
        self._wanted: Pixels | None = None
        self._still = 0.0
        self._done: list[Pixels] = []  # rows of the whole picture that are painted already
        self.painted: Painted | None = None

    @property
    def unfinished(self) -> bool:
        """Whether there is more to paint of the frame that is shown."""
        return self._live and self.painted is not None and not self.painted.whole

    def paint(self, frame: object, seconds: float | None, wanted: Pixels, predict: Predict) -> Painted:
        """Paint a frame, or go on with it where it is the one of last time.

        Parameters
        ----------
        frame : object
            Another object for another frame.
        seconds : float or None
            Since the last call; None: nobody waits.
        wanted : ndarray, shape (H, W, 3)
            What is to be painted.
        predict : callable
        """
        if self.painted is None or frame is not self._shown or wanted is not self._wanted:
            self._shown, self._wanted, self._still, self._done = frame, wanted, 0.0, []
            self.painted = self._sketched(seconds, wanted, predict)
        elif self.unfinished:
            self._still += seconds or 0.0
            if self._still >= SETTLE:
                self._go_on(wanted, predict)
        return self.painted

    def _sketched(self, seconds: float | None, wanted: Pixels, predict: Predict) -> Painted:
        """Some of the pixels: as many as can be waited for."""
        size = wanted.shape[:2]
        if not self._live:
            return self._some(STILL if seconds is None else FILM, wanted, predict)
        start = time.perf_counter()
        made = self._some(LADDER[self._place], wanted, predict)
        cost = (time.perf_counter() - start) / (len(made.rows) * len(made.columns))
        self._cost = cost if not self._cost else 0.7 * self._cost + 0.3 * cost
        if self._cost * _pixels(size, LADDER[self._place]) > BUDGET:
            self._place = max(0, self._place - 1)
        elif self._place + 1 < len(LADDER) and self._cost * _pixels(size, LADDER[self._place + 1]) < _AIR * BUDGET:
            self._place += 1
        return made

    def _some(self, longest: int, wanted: Pixels, predict: Predict) -> Painted:
        high, wide = wanted.shape[:2]
        rows, columns = (_spread(n, k) for n, k in zip((high, wide), _reduced((high, wide), longest), strict=True))
        made = _colours(predict, rows, columns, (high, wide))
        whole = (len(rows), len(columns)) == (high, wide)
        return Painted(made, rows, columns, psnr(np.clip(made, 0, 1), wanted[np.ix_(rows, columns)]), whole)

    def _go_on(self, wanted: Pixels, predict: Predict) -> None:
        """More rows of the whole picture, as many as the time of a frame allows."""
        high, wide = wanted.shape[:2]
        begun = sum(map(len, self._done))
        count = max(1, max(FEWEST, int(AT_REST / max(self._cost, 1e-9))) // wide)
        rows = np.arange(begun, min(high, begun + count))
        self._done.append(_colours(predict, rows, np.arange(wide), (high, wide)))
        if rows[-1] + 1 == high:
            made = np.concatenate(self._done)
            near = psnr(np.clip(made, 0, 1), wanted)
            self.painted, self._done = Painted(made, np.arange(high), np.arange(wide), near, True), []


def _spread(count: int, some: int) -> NDArray[np.int64]:
    """`some` of `count` pixels in a row, evenly spread."""
    return ((np.arange(some) + 0.5) * count / some).astype(np.int64)


def _reduced(size: tuple[int, int], longest: int) -> tuple[int, int]:
    """Rows and columns of a picture of `size` with so many pixels along its longer side, never more than it has."""
    share = min(1.0, longest / max(size))
    return max(1, round(size[0] * share)), max(1, round(size[1] * share))


def _pixels(size: tuple[int, int], longest: int) -> int:
    high, wide = _reduced(size, longest)
    return high * wide


def _colours(predict: Predict, rows: NDArray[np.int64], columns: NDArray[np.int64], size: tuple[int, int]) -> Pixels:
    """What is made of these pixels, shape (len(rows), len(columns), 3); NaN is black."""
    y, x = (((at + 0.5) / n).astype(np.float32) for at, n in zip((rows, columns), size, strict=True))
    places = np.stack([np.tile(x, len(y)), np.repeat(y, len(x))], axis=1)
    return np.nan_to_num(predict(places)).reshape(len(rows), len(columns), -1)
