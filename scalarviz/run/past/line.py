"""`Line`: one line of steps with its edits; `Keyframes`: which moments are kept; `Ahead`: some of them beforehand."""

from __future__ import annotations

import time
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, Self

from ..core.frame import Flag
from ..core.history import History
from ..core.training import Training
from ..edits import Applied

if TYPE_CHECKING:
    from ..state import State
    from ..travel import Traveller


# ---- `Line`: one line of steps of a run, which may have left another one, with its edits and keyframes
#
# A *place* on a line is a step and a count of edits: those of the line that have been done, from its very beginning.
# A run that stands somewhere has done all edits of its step; only where a line leaves another one may some be left
# out.


OVERHEAD = 2048
"""Bytes of a keyframe beside its arrays."""


@dataclass(slots=True, eq=False)
class Key:
    """A kept moment."""

    step: int  # step and edits: its place
    edits: int
    state: State
    at: float = 0.0  # seconds of the engine's work at which it was taken
    whole: bool = False  # whether one can stand at the place itself: where not, the next step shows all there is
    fine: bool = False  # whether it was taken for somebody who goes back and forth here
    nbytes: int = field(init=False)  # what it takes

    def __post_init__(self) -> None:
        self.nbytes = self.state.nbytes + OVERHEAD


class Place(NamedTuple):
    """A step of a line, and how many of the line's edits are done there."""

    line: Line
    step: int
    edits: int


@dataclass(slots=True, eq=False)
class Twig:
    """One line as a part of the tree that lines are, in memory or in a recording."""

    number: int
    parent: Self | None
    first: int  # first and before: the place where it left its parent, or at which it begins
    before: int
    why: str = ""  # what made it begin
    newest: int = 0  # its last step
    flags: dict[int, str] = field(default_factory=dict)  # moments that were named, by step

    def path_to(self, step: int, edits: int) -> Iterator[tuple[Self, int, int]]:
        """It up to a place, and those that it comes from, each with the last place that belongs to the way there."""
        twig: Self | None = self
        while twig is not None:
            yield twig, step, edits
            step, edits = min(step, twig.first), min(edits, twig.before)
            twig = twig.parent

    @property
    def begins(self) -> int:
        """The first step of the way to it."""
        return min(twig.first for twig, _, _ in self.path_to(0, 0))

    def flags_to(self, step: int) -> tuple[Flag, ...]:
        """The named moments of the way to a step, by step."""
        found: dict[int, str] = {}
        for twig, last, _ in self.path_to(step, 0):
            found |= {at: name for at, name in twig.flags.items() if at <= last}
        return tuple(Flag(at, name) for at, name in sorted(found.items()))


@dataclass(eq=False, kw_only=True)
class Line(Twig):
    """One line of a run."""

    history: History  # of all its steps, its parent's before it left included
    edits: list[Applied] = field(default_factory=list)  # likewise
    jumped_from: tuple[Line, int] | None = None  # where the run stood before it began a line of its own by jumping
    keys: list[Key] = field(default_factory=list)  # its own, by place
    tip: State | None = None  # all of its last moment, while the run stands elsewhere
    cut: bool = False  # whether it was cut down to the part that other lines branch from
    rest: int = 0  # bytes of its own steps and edits, while the run stands on another line
    # edits that stay as they are, although the hand that made the last of them goes on: something refers to
    # them
    settled: int = 0
    # whether it began by a change to other numbers altogether: where it begins is a place of its own
    jumped: bool = False
    seed: int | None = None  # what drew its first weights, where a restart did

    @property
    def own_edits(self) -> list[Applied]:
        """The edits since it left."""
        return self.edits[self.before :]

    @property
    def open_edit(self) -> Applied | None:
        """Its last edit, where another one may still take its place."""
        return self.edits[-1] if len(self.edits) > max(self.before, self.settled) else None

    def settle(self, edits: int) -> None:
        """Somebody refers to a place after so many edits: they stay as they are."""
        self.settled = max(self.settled, edits)

    @property
    def held(self) -> int:
        """Bytes of its own steps and edits."""
        return self.history.nbytes + sum(done.nbytes for done in self.own_edits) + OVERHEAD

    @property
    def empty(self) -> bool:
        """Whether nothing happened on it yet."""
        return self.newest == self.first and len(self.edits) == self.before

    def count_edits(self, step: int) -> int:
        """How many edits are done where one stands at `step`."""
        return bisect_right(self.edits, step, key=lambda edit: edit.step)

    def path(self) -> Iterator[tuple[Line, int, int]]:
        """It and those that it comes from, each with the last place that belongs to the way here."""
        return self.path_to(self.newest, len(self.edits))

    def owner(self, step: int, edits: int) -> Line:
        """The line of the way here that a place belongs to."""
        found = self
        while found.parent is not None and not found.has(step, edits):
            found = found.parent
        return found

    def has(self, step: int, edits: int) -> bool:
        """Whether a place of the way here is its own, and not of a line that it comes from."""
        begins = self.first, self.before
        return step >= self.first and ((step, edits) > begins or (self.jumped and (step, edits) == begins))

    def nearest(self, step: int, edits: int) -> Key | None:
        """The last keyframe of the way here from which one gets to a place."""
        for line, last, most in self.path():
            index = bisect_right(line.keys, min(step, last), key=lambda key: key.step)
            while index > 0:
                index -= 1
                key = line.keys[index]
                if key.edits <= min(edits, most) and (key.step < step or key.whole):
                    return key
        return None

    def last_key(self, step: int, edits: int) -> Key | None:
        """The last keyframe of the way here that is not behind a place, of that place itself too."""
        for line, last, most in self.path():
            for key in reversed(line.keys):
                if key.step <= min(step, last) and key.edits <= min(edits, most):
                    return key
        return None

    def add(self, key: Key) -> bool:
        """Keep a moment; False if there is one at this place."""
        index = bisect_left(self.keys, (key.step, key.edits), key=lambda other: (other.step, other.edits))
        if index < len(self.keys) and (self.keys[index].step, self.keys[index].edits) == (key.step, key.edits):
            return False
        self.keys = [*self.keys[:index], key, *self.keys[index:]]
        return True


# ---- `Keyframes`: which moments are kept, within a budget of bytes
#
# Keyframes stand `SPACING` seconds of the engine's work apart, so that a replay from one to the next takes so long.
# Where they are more than the budget holds, those of left branches go first, then every second one, and the spacing
# doubles. So the longest replay is as short as the budget allows, wherever one goes. The beginning of a line, and its
# newest moment, are always kept.


BUDGET = 64 << 20
"""Bytes."""
SPACING = 0.1
"""Seconds of the engine's work between two keyframes."""
FINE = 0.008
"""Likewise, where somebody goes back and forth."""
FINE_SHARE = 8
"""The finer ones may fill the budget divided by this."""
LEFT_SHARE = 4
"""Where left branches fill more than this part of it, they go before the spacing of the others doubles."""


class Keyframes:
    """The keyframes of all lines."""

    def __init__(self) -> None:
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

    def keep_tip(self, line: Line, kept: State | None) -> None:
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

    def fit(self, lines: list[Line], current: Line, step: int) -> bool:
        """Let go of what can be computed again until the budget is kept; False if that is not enough."""
        if self._fine > self.budget // FINE_SHARE:
            self._drop_far(lines, step)
        if self.nbytes <= self.budget:
            return True
        for line in lines:
            self.drop(line, lambda key: key.fine)
        way = {id(line): (step, edits) for line, step, edits in current.path()}
        for line in lines:
            if self.nbytes > self.budget:
                self._drop_left(line, way.get(id(line), (-1, -1)))
        for line in lines:
            if self.nbytes > self.budget and line is not current:
                self.keep_tip(line, None)
        left = sum(line.rest + sum(key.nbytes for key in line.keys) for line in lines if id(line) not in way)
        if self.nbytes > self.budget and left > self.budget // LEFT_SHARE:
            return False
        while self.nbytes > self.budget and any(not key.whole for line in lines for key in line.keys):
            self.spacing = max(2 * self.spacing, FINE)
            for line in lines:
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

    def _drop_far(self, lines: list[Line], step: int) -> None:
        """The half of the fine keyframes that are farther from where the run stands."""
        fine = [key for line in lines for key in line.keys if key.fine]
        fine.sort(key=lambda key: abs(key.step - step))
        going = {id(key) for key in fine[len(fine) // 2 :]}
        for line in lines:
            self.drop(line, lambda key: id(key) in going)


# ---- `Ahead`: keyframes are made ahead of need
#
# Keyframes stand far apart; whoever goes back step by step past one of them would wait for a whole replay there. So the
# gaps before the run's place are replayed beforehand, beside the run, and get finer keyframes.


REACH = 0.25
"""Seconds of the engine's work before the run's place that are prepared."""
SLICE = 0.005
"""Seconds that one part of the work takes."""
_HOPS = 256


class KeyframeMaker:
    """Prepares the way back."""

    def __init__(self, traveller: Traveller, training: Training, keyframes: Keyframes) -> None:
        self._run, self._training, self._keyframes = traveller, training, keyframes
        self._twin: Training | None = None
        self._gap: tuple[Line, int, int] | None = None  # the line, the step that it ends at, and what the past was then
        self._refused: Key | None = None

    def prepare(self, place: Place, revision: int) -> bool:
        """A part of the work for a run that stands at a place; False if nothing is left to do."""
        gap = self._next(place)
        if gap is None:
            self._twin = self._gap = None
            return False
        key, end = gap
        here = (place.line, end, revision)
        if self._twin is None or self._gap != here or not key.step <= self._twin.steps < end:
            self._twin, self._gap = self._run.twin(key.state), here
            if self._twin is None:
                self._refused = key
                return True
        self._go_on(self._twin, place, key, end)
        return True

    def _next(self, place: Place) -> tuple[Key, int] | None:
        """The first gap on the way back that takes too long, unless edits lie in it."""
        line, end, edits = place
        second, reached = self._training.seconds_a_step, 0.0
        reach = min(REACH, FINE * (self._keyframes.fine_room // 2))
        for _ in range(_HOPS):
            key = line.nearest(end, edits)
            if key is None or key is self._refused or reached >= reach:
                return None
            length = (end - key.step) * second
            if length > 2 * FINE and end - key.step > 2 and key.edits == line.count_edits(end - 1):
                return key, end
            reached += length
            end, edits = key.step, key.edits
        return None

    def _go_on(self, twin: Training, place: Place, begun: Key, end: int) -> None:
        start, edits = time.perf_counter(), begun.edits
        while twin.steps < end - 1 and time.perf_counter() - start < SLICE:
            twin.advance(min(end - 1 - twin.steps, max(1, int(FINE / self._training.seconds_a_step))), again=True)
        owner, kept = place.line.owner(twin.steps, edits), self._run.keyframe_of(twin, begun.state)
        self._keyframes.add(owner, Key(twin.steps, edits, kept, self._keyframes.clock, fine=True))
