"""`Keyframes`: which moments are kept, within a budget of bytes.

Keyframes stand `SPACING` seconds of the engine's work apart, so that a replay from one to the next takes so long. Where
they are more than the budget holds, those of left branches go first, then every second one, and the spacing doubles. So
the longest replay is as short as the budget allows, wherever one goes. The beginning of a line, and its newest moment,
are always kept.
"""

from __future__ import annotations

from collections.abc import Callable

from .line import OVERHEAD, Key, Line
from .traveller import Kept

BUDGET = 64 << 20
"""Bytes."""
SPACING = 0.1
"""Seconds of the engine's work between two keyframes."""
FINE = 0.008
"""Likewise, where somebody goes back and forth."""
FINE_SHARE = 8
"""The finer ones may fill the budget's so-manieth part."""
LEFT_SHARE = 4
"""Where left branches fill more than this part of it, they go before the spacing of the others doubles."""


class Keyframes:
    """The keyframes of all lines.

    Parameters
    ----------
    lines : list of Line
        All there are; the owner adds to it.

    Attributes
    ----------
    spacing : float
        Seconds between keyframes as they are now.
    nbytes : int
        What is held, start and newest included.
    """

    def __init__(self, lines: list[Line]) -> None:
        self._lines = lines
        self.budget = BUDGET
        self.spacing = SPACING
        self.clock = 0.0
        self._since = 0.0
        self._since_fine = 0.0
        self.nbytes = 0
        self._fine = self._size = 0

    def pass_time(self, seconds: float) -> None:
        """The engine has worked so long."""
        self.clock += seconds
        self._since += seconds
        self._since_fine += seconds

    def begin(self) -> None:
        """Somebody stands at a kept moment: time counts from here."""
        self._since = self._since_fine = 0.0

    @property
    def due(self) -> bool:
        """Whether it is time for a keyframe."""
        return self._since >= self.spacing

    @property
    def due_fine(self) -> bool:
        """Likewise for one that serves who goes back and forth."""
        return self._since_fine >= FINE and self.fine_room >= 4

    @property
    def fine_room(self) -> int:
        """How many of these may be kept."""
        return self.budget // FINE_SHARE // max(self._size, 1)

    def add(self, line: Line, key: Key) -> None:
        """Keep a moment of a line."""
        self._since_fine = 0.0
        if not key.fine:
            self._since = 0.0
        self._size = key.nbytes
        if line.add(key):
            self.nbytes += key.nbytes
            self._fine += key.nbytes * key.fine

    def keep_tip(self, line: Line, kept: Kept | None) -> None:
        """Keep the newest moment of a line, or (None) no longer."""
        if line.tip is not None:
            self.nbytes -= line.tip.nbytes + OVERHEAD
        line.tip = kept
        if kept is not None:
            self.nbytes += kept.nbytes + OVERHEAD

    def keep_rest(self, line: Line, nbytes: int) -> None:
        """Count what else a line holds while nobody stands on it: its own steps and edits."""
        self.nbytes += nbytes - line.rest
        line.rest = nbytes

    def drop(self, line: Line, going: Callable[[Key], bool]) -> None:
        """Let go of keyframes of a line."""
        kept = []
        for key in line.keys:
            if going(key):
                self.nbytes -= key.nbytes
                self._fine -= key.nbytes * key.fine
            else:
                kept.append(key)
        line.keys = kept

    def fit(self, current: Line, step: int) -> bool:
        """Let go of what can be computed again until the budget is kept; False if that is not enough."""
        if self._fine > self.budget // FINE_SHARE:
            self._drop_far(current, step)
        if self.nbytes <= self.budget:
            return True
        for line in self._lines:
            self.drop(line, lambda key: key.fine)
        way = {id(line): (step, edits) for line, step, edits in current.path()}
        for line in self._lines:
            if self.nbytes > self.budget:
                self._drop_left(line, way.get(id(line), (-1, -1)))
        for line in self._lines:
            if self.nbytes > self.budget and line is not current:
                self.keep_tip(line, None)
        left = sum(line.rest + sum(key.nbytes for key in line.keys) for line in self._lines if id(line) not in way)
        if self.nbytes > self.budget and left > self.budget // LEFT_SHARE:
            return False
        while self.nbytes > self.budget and any(not key.whole for line in self._lines for key in line.keys):
            self.spacing = max(2 * self.spacing, FINE)
            for line in self._lines:
                self._drop_close(line)
        return self.nbytes <= self.budget

    def _drop_left(self, line: Line, last: tuple[int, int]) -> None:
        """Keyframes that are not on the way to where the run stands, which leaves this line at a place."""
        self.drop(line, lambda key: not key.whole and (key.step > last[0] or key.edits > last[1]))

    def _drop_close(self, line: Line) -> None:
        """Keyframes that follow the last one that stays by less than the spacing."""
        last, going = 0.0, set[int]()  # a spacing longer than all work so far lets go of all
        for key in line.keys:
            if key.whole or (key.at - last >= self.spacing and key.nbytes <= self.budget):
                last = key.at
            else:
                going.add(id(key))
        self.drop(line, lambda key: id(key) in going)

    def _drop_far(self, current: Line, step: int) -> None:
        """The half of the fine keyframes that are farther from where the run stands."""
        fine = [key for line in self._lines for key in line.keys if key.fine]
        fine.sort(key=lambda key: abs(key.step - step))
        going = {id(key) for key in fine[len(fine) // 2 :]}
        for line in self._lines:
            self.drop(line, lambda key: id(key) in going)
