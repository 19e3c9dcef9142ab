"""When to do work that is too costly for every frame.

`Pace` decides for one number or picture, `TextPace` for words and numbers. `Grid` computes the outputs of a network at
places in rows and columns, within a share of the time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from time import perf_counter
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from ...run.panels.kinds import Axis
from ...run.run import Run
from ...run.source import Source

T = TypeVar("T")

SHARE = 0.25
"""Share of the time for such work."""
SETTLE = 0.3
"""Seconds that a frame must stay until the words about its age disappear; else they would flicker."""


class Pace:
    """The pace of one number or picture. Frames are compared by a key: any object that differs if they differ."""

    def __init__(self, live: bool, pause: float = 0.0) -> None:
        self._live, self._least, self._pause = live, pause, 0.0
        self._waited = float("inf")
        self._shown: object = None
        self._done: object = None
        self._still, self._lagged = 0.0, False

    def due(self, key: object, seconds: float | None) -> bool:
        """Note a frame `seconds` after the last one (None: not in a window); return whether to do the work now."""
        passed = float("inf") if seconds is None else seconds
        self._waited += passed
        self._still = self._still + passed if key is self._shown else 0.0
        self._shown = key
        if key is self._done:
            return False
        if self._live and self._waited < self._pause:
            self._lagged = True
            return False
        return True

    def mark_done(self, cost: float = 0.0) -> None:
        """Note that the work for the frame shown is done and took `cost` seconds."""
        self._done, self._waited = self._shown, 0.0
        self._pause = max(self._least, cost / SHARE)  # the next seconds include this work

    @property
    def late(self) -> bool:
        """True if the work is of another frame than the shown one."""
        return self._done is not self._shown

    @property
    def old(self) -> bool:
        """True if the work's age is shown: it is late, or was until a moment ago."""
        if self._lagged and not self.late and self._still >= SETTLE:
            self._lagged = False
        return self._live and (self.late or self._lagged)


def answer_at_once(source: Source, look: Callable[[Run], T]) -> T | None:
    """Return the result of `look` on a source's run; None without a run, or if it would have to wait."""
    asked = source.ask(look) if source.can.train else None
    if asked is None or asked.done():
        return None if asked is None else asked.result()
    asked.cancel()
    return None


class TextPace:
    """The pace of words and numbers: a few times a second, so that they are readable.

    All texts of a picture are of one frame.
    """

    def __init__(self, hz: float | None) -> None:
        self._pause = 0.0 if hz is None else 1.0 / hz
        self._waited = float("inf")
        self._written: tuple[object, object] | None = None
        self.late = False  # whether the text is of another frame than the one shown

    def rest(self, seconds: float) -> None:
        """Note `seconds` without drawing, so that the next text need not wait."""
        self._waited += seconds

    def hurry(self) -> None:
        """Write the next frame, however soon it comes."""
        self._waited = float("inf")

    def ready(self, seconds: float | None) -> bool:
        """Return whether a frame `seconds` after the last one (None: not in a window) will be written."""
        return seconds is None or self._waited + seconds >= self._pause

    def due(self, frame: object, words: object, seconds: float | None) -> bool:
        """Note a frame with `words`, `seconds` after the last one; return whether to write it now.

        `seconds` None: not in a window.
        """
        waits, old = not self.ready(seconds), self._written
        self._waited += float("inf") if seconds is None else seconds
        self.late = waits and (old is None or frame is not old[0] or words != old[1])
        if not waits:
            self._waited, self._written = 0.0, (frame, words)
        return not waits


# ---- Outputs of a network at places in rows and columns.

Float = NDArray[np.floating]
Size = tuple[int, int]
"""Rows and columns."""
Ask = Callable[[Float, Float], Float]
"""Returns numbers (H * W, k) at places given as fractions of the way down (H,) and across (W,)."""

AT_REST, FEWEST = 0.016, 2048
"""Seconds of work per call while the frame stays and nothing else is drawn; least places per call, so that it ends."""
_AIR = 0.6  # share of the budget that a finer grid must fit into, to avoid flicker


class Grid:
    """Numbers of the frame shown, at as many places as time allows, and at all of them once the frame stays.

    `live`: a window, which must not wait. Then `ladder` has the places along the longer side, from few to many, for
    changing frames, and `budget` the seconds per frame. A film or a still computes all places of every frame.
    """

    def __init__(self, live: bool, ladder: Sequence[int], budget: float) -> None:
        self._live, self._ladder, self._budget = live, ladder, budget
        self._level = len(ladder) // 3
        self._cost = self._spent = 0.0  # seconds per place, and for the present numbers
        self._frame: object = None
        self._still = 0.0
        self._done: list[Float] = []  # rows of the whole that are done
        self.numbers: Float | None = None  # (H, W, k), the first row at the top
        self.is_complete = False  # whether all places are done

    @property
    def unfinished(self) -> bool:
        """True if places of the shown frame are missing."""
        return self.numbers is not None and not self.is_complete

    def update(self, frame: object, seconds: float | None, size: Size, ask: Ask) -> bool:
        """Compute numbers for a frame, or more of the same frame; return whether the numbers changed.

        `size` has all rows and columns. `seconds`: time since the last call; None: not in a window.
        """
        if self.numbers is None or frame is not self._frame:
            self._choose(size)
            start, longest = perf_counter(), self._ladder[self._level] if self._live else max(size)
            self._still, self._done, some = 0.0, [], reduced(size, longest)
            self.numbers = _asked(ask, *(fractions(count) for count in some))
            self._frame, self.is_complete, self._spent = frame, some == size, perf_counter() - start
            return True
        self._still += seconds or 0.0
        return not self.is_complete and self._still >= SETTLE and self._go_on(size, ask)

    def paint(self, work: Callable[[], None]) -> None:
        """Do other work with the numbers, and count its time too."""
        start = perf_counter()
        work()
        self._spent += perf_counter() - start if self._spent else 0.0

    def _choose(self, size: Size) -> None:
        """Choose fewer or more places, by the time of the last ones."""
        if not self._spent or self.numbers is None:
            return
        cost, self._spent = self._spent / self.numbers[..., 0].size, 0.0
        self._cost = cost if not self._cost else 0.9 * self._cost + 0.1 * cost
        now, *finer = (self._cost * prod(reduced(size, longest)) for longest in self._ladder[self._level :][:2])
        if now > self._budget:
            self._level = max(0, self._level - 1)
        elif finer and finer[0] < _AIR * self._budget:
            self._level += 1

    def _go_on(self, size: Size, ask: Ask) -> bool:
        """Compute more rows of the whole, as time allows; return whether it is complete."""
        begun = sum(map(len, self._done))
        count = max(1, max(FEWEST, int(AT_REST / max(self._cost, 1e-9))) // size[1])
        down, across = (fractions(count) for count in size)
        self._done.append(_asked(ask, down[begun : begun + count], across))
        self.is_complete = begun + count >= size[0]
        if self.is_complete:
            self.numbers, self._spent = np.concatenate(self._done), 0.0
        return self.is_complete


def reduced(size: Size, longest: int) -> Size:
    """Return rows and columns of a grid of `size` with `longest` along its longer side, at most its own."""
    share = min(1.0, longest / max(size))
    return max(1, round(size[0] * share)), max(1, round(size[1] * share))


def fractions(count: int) -> Float:
    """Return the middles of `count` equal parts as fractions."""
    return (np.arange(count) + 0.5) / count


def _asked(ask: Ask, down: Float, across: Float) -> Float:
    return np.asarray(ask(down, across)).reshape(len(down), len(across), -1)


def places(across: Axis, up: Axis, rows: Float, columns: Float) -> Float:
    """Return points (N, 2) of a plane at fractions of the way down and across it, row by row from the top."""
    x, y = across.least + columns * (across.most - across.least), up.most - rows * (up.most - up.least)
    return np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2)


# ---- Small maps in one picture.


def tiled(maps: Sequence[NDArray[np.uint8]]) -> NDArray[np.uint8]:
    """Return maps (H, W, 3) side by side as one picture, each with an edge of its own colours."""
    return np.concatenate([np.pad(one, ((1, 1), (1, 1), (0, 0)), mode="edge") for one in maps], axis=1)


def tile_cells(numbers: NDArray[np.intp], count: int, cells: int) -> Float:
    """Return the parts (N, 4) of such a picture of `count` square maps, as fractions and without their edges."""
    tile, ones = cells + 2, np.ones(len(numbers))
    side = ones * cells / tile
    return np.stack([(numbers + 1 / tile) / count, ones / tile, side / count, side], axis=1)
