"""What is too dear for every frame, and when it is worked out.

`Pace` says it of one number or picture, `TextPace` of words and numbers. `Grid` works out what a network
says at places in rows and columns, within a share of the time.
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
"""Part of the time that such work may take."""
SETTLE = 0.3
"""Seconds for which a frame must have stood until the words about its age go: they would flicker otherwise."""


class Pace:
    """One number or picture. Frames are told apart by a key: any object that is another one when they differ."""

    def __init__(self, live: bool, pause: float = 0.0) -> None:
        self._live, self._least, self._pause = live, pause, 0.0
        self._waited = float("inf")
        self._shown: object = None
        self._done: object = None
        self._still, self._lagged = 0.0, False

    def due(self, key: object, seconds: float | None) -> bool:
        """A frame is shown, `seconds` after the last one (None: nobody waits); whether to work it out now."""
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
        """It was worked out for the frame shown, which took `cost` seconds."""
        self._done, self._waited = self._shown, 0.0
        self._pause = max(self._least, cost / SHARE)  # the seconds that follow hold this work, too

    @property
    def late(self) -> bool:
        """Whether it is of another frame than that which is shown."""
        return self._done is not self._shown

    @property
    def old(self) -> bool:
        """Whether its age is to be said: it is late, or was until a moment ago."""
        if self._lagged and not self.late and self._still >= SETTLE:
            self._lagged = False
        return self._live and (self.late or self._lagged)


def answer_at_once(source: Source, look: Callable[[Run], T]) -> T | None:
    """What a run says of itself; None where there is none, or one had to wait for it."""
    asked = source.ask(look) if source.can.open else None
    if asked is None or asked.done():
        return None if asked is None else asked.result()
    asked.cancel()
    return None


class TextPace:
    """Words and numbers change a few times a second: nobody reads faster. Those of one picture are of one frame."""

    def __init__(self, hz: float | None) -> None:
        self._pause = 0.0 if hz is None else 1.0 / hz
        self._waited = float("inf")
        self._written: tuple[object, object] | None = None
        self.late = False  # what is written is of another frame than that which is shown

    def rest(self, seconds: float) -> None:
        """`seconds` have passed in which nothing had to be drawn: what comes next has waited for long enough."""
        self._waited += seconds

    def hurry(self) -> None:
        """The next frame is written, however soon it comes."""
        self._waited = float("inf")

    def ready(self, seconds: float | None) -> bool:
        """Whether a frame that is shown `seconds` after the last one (None: nobody waits) will be written."""
        return seconds is None or self._waited + seconds >= self._pause

    def due(self, frame: object, words: object, seconds: float | None) -> bool:
        """A frame is shown with `words`, `seconds` after the last one (None: nobody waits); whether to write it now."""
        waits, old = not self.ready(seconds), self._written
        self._waited += float("inf") if seconds is None else seconds
        self.late = waits and (old is None or frame is not old[0] or words != old[1])
        if not waits:
            self._waited, self._written = 0.0, (frame, words)
        return not waits


# ---- What a network says at places in rows and columns.

Float = NDArray[np.floating]
Size = tuple[int, int]
"""Rows and columns."""
Ask = Callable[[Float, Float], Float]
"""Numbers (H * W, k) of places whose middles stand at fractions of the way down (H,) and across (W,)."""

AT_REST, FEWEST = 0.016, 2048
"""Seconds that the work may take while a frame stands: nothing else is to be drawn. So many places at least, or it
would never be done."""
_AIR = 0.6  # share of the budget that a finer grid must fit into, so that it does not flicker


class Grid:
    """Numbers of the frame that is shown: at as many places as there is time for, and once it stands at all of them.

    `live`: somebody waits for the window. Then `ladder` are the places along the longer side, from few to many, while
    frames change, and `budget` the seconds of each frame. A film or a still works out all places of every frame.
    """

    def __init__(self, live: bool, ladder: Sequence[int], budget: float) -> None:
        self._live, self._ladder, self._budget = live, ladder, budget
        self._level = len(ladder) // 3
        self._cost = self._spent = 0.0  # seconds a place, and for the numbers that there are
        self._frame: object = None
        self._still = 0.0
        self._done: list[Float] = []  # rows of the whole that are worked out already
        self.numbers: Float | None = None  # (H, W, k), the first row at the top
        self.is_complete = False  # whether they are of all places

    @property
    def unfinished(self) -> bool:
        """Whether there is more to work out of the frame that is shown."""
        return self.numbers is not None and not self.is_complete

    def update(self, frame: object, seconds: float | None, size: Size, ask: Ask) -> bool:
        """Work at a frame, or go on where it is that of last time; returns whether the numbers are others now.

        The whole has so many rows and columns. `seconds` have passed since the last call; None: nobody waits.
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
        """What else is done with the numbers, which takes its time too."""
        start = perf_counter()
        work()
        self._spent += perf_counter() - start if self._spent else 0.0

    def _choose(self, size: Size) -> None:
        """Fewer places or more, by what the last ones took."""
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
        """More rows of the whole, as many as the time of a frame allows; returns whether these were the last."""
        begun = sum(map(len, self._done))
        count = max(1, max(FEWEST, int(AT_REST / max(self._cost, 1e-9))) // size[1])
        down, across = (fractions(count) for count in size)
        self._done.append(_asked(ask, down[begun : begun + count], across))
        self.is_complete = begun + count >= size[0]
        if self.is_complete:
            self.numbers, self._spent = np.concatenate(self._done), 0.0
        return self.is_complete


def reduced(size: Size, longest: int) -> Size:
    """Rows and columns of a grid of `size` with so many along its longer side, never more than it has."""
    share = min(1.0, longest / max(size))
    return max(1, round(size[0] * share)), max(1, round(size[1] * share))


def fractions(count: int) -> Float:
    """How far along the middles of so many places stand."""
    return (np.arange(count) + 0.5) / count


def _asked(ask: Ask, down: Float, across: Float) -> Float:
    return np.asarray(ask(down, across)).reshape(len(down), len(across), -1)


def places(across: Axis, up: Axis, rows: Float, columns: Float) -> Float:
    """Points (N, 2) of a plane at fractions of the way down and across it, row by row from the top."""
    x, y = across.least + columns * (across.most - across.least), up.most - rows * (up.most - up.least)
    return np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2)


# ---- Small maps in one picture.


def tiled(maps: Sequence[NDArray[np.uint8]]) -> NDArray[np.uint8]:
    """Maps (H, W, 3) side by side as one picture, each with an edge of its own colours."""
    return np.concatenate([np.pad(one, ((1, 1), (1, 1), (0, 0)), mode="edge") for one in maps], axis=1)


def tile_cells(numbers: NDArray[np.intp], count: int, cells: int) -> Float:
    """Parts (N, 4) of such a picture of `count` square maps, as fractions and without their edges."""
    tile, ones = cells + 2, np.ones(len(numbers))
    side = ones * cells / tile
    return np.stack([(numbers + 1 / tile) / count, ones / tile, side / count, side], axis=1)
