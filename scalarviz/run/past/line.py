"""`Line`: steps with their edits; `Keyframes`: the kept moments; `KeyframeMaker`: makes some of them beforehand."""

from __future__ import annotations

import time
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple, Self

from ..core.frame import Branch, Flag
from ..core.history import Curve, History
from ..core.training import Training
from ..edits import Applied
from ..state import State
from ..travel import Traveller

# ---- `Line`: one line of steps of a run, which may have left another one, with its edits and keyframes
#
# A *place* on a line is a step and a count of edits: the line's applied edits, from its very beginning.
# At its place a run has applied all edits of its step; only where a line leaves another one may some be left
# out.


OVERHEAD = 2048
"""Bytes of a keyframe beside its arrays."""


@dataclass(slots=True, eq=False)
class Key:
    """A kept moment."""

    step: int  # step and edits: its place
    edits: int
    state: State
    at: float = 0.0  # seconds of the engine's work before it
    whole: bool = False  # whether the run can stand at the place itself; otherwise the next step completes the numbers
    fine: bool = False  # whether it was taken for short ways back and forth
    nbytes: int = field(init=False)  # its size

    def __post_init__(self) -> None:
        self.nbytes = self.state.nbytes + OVERHEAD


class StepOfLine(NamedTuple):
    """A step of a line, and the number of the line's edits applied there."""

    line: Line
    step: int
    edits: int


@dataclass(slots=True, eq=False)
class Twig:
    """One line as part of a tree, in memory or in a recording."""

    number: int
    parent: Self | None
    first: int  # its place in the parent, or its start
    before: int
    why: str = ""  # the edit that began it
    newest: int = 0  # its last step
    flags: dict[int, str] = field(default_factory=dict)  # named moments, by step

    def path_to(self, step: int, edits: int) -> Iterator[tuple[Self, int, int]]:
        """Yield it and the lines that it comes from, each with the last place on the way to a place."""
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
        """Return the named moments on the way to a step, by step."""
        found: dict[int, str] = {}
        for twig, last, _ in self.path_to(step, 0):
            found |= {at: name for at, name in twig.flags.items() if at <= last}
        return tuple(Flag(at, name) for at, name in sorted(found.items()))

    def branch(self, curve: Curve, edits: Iterable[Applied], current: bool) -> Branch:
        """Return it for pictures, with its own curve and edits."""
        parent = None if self.parent is None else self.parent.number
        return Branch(self.number, parent, self.first, self.newest, curve, tuple(edits), current, self.why)


@dataclass(eq=False, kw_only=True)
class Line(Twig):
    """One line of a run."""

    history: History  # of all its steps, those before it left its parent included
    edits: list[Applied] = field(default_factory=list)  # likewise
    jumped_from: tuple[Line, int] | None = None  # the place before a jump began this line
    keys: list[Key] = field(default_factory=list)  # its own, by place
    tip: State | None = None  # its whole last moment, while the run stands elsewhere
    cut: bool = False  # whether only the part that other lines branch from is kept
    rest: int = 0  # bytes of its own steps and edits, while the run stands on another line
    # edits that stay as they are, although their gesture continues: something refers to them
    # them
    settled: int = 0
    # whether it began by a change to other numbers: its start is its own place
    jumped: bool = False
    seed: int | None = None  # what drew its first weights, after a restart

    @property
    def own_edits(self) -> list[Applied]:
        """The edits since it left its parent."""
        return self.edits[self.before :]

    @property
    def open_edit(self) -> Applied | None:
        """The line's last edit, if another edit may still replace it."""
        return self.edits[-1] if len(self.edits) > max(self.before, self.settled) else None

    def settle(self, edits: int) -> None:
        """Keep the first `edits` edits as they are, because something refers to a place after them."""
        self.settled = max(self.settled, edits)

    @property
    def held(self) -> int:
        """Bytes of its own steps and edits."""
        return self.history.nbytes + sum(done.nbytes for done in self.own_edits) + OVERHEAD

    @property
    def empty(self) -> bool:
        """True if the line has no steps and no edits of its own yet."""
        return self.newest == self.first and len(self.edits) == self.before

    def count_edits(self, step: int) -> int:
        """Return the number of edits applied at `step`."""
        return bisect_right(self.edits, step, key=lambda edit: edit.step)

    def path(self) -> Iterator[tuple[Line, int, int]]:
        """Yield it and the lines that it comes from, each with the last place on the way here."""
        return self.path_to(self.newest, len(self.edits))

    def owner(self, step: int, edits: int) -> Line:
        """Return the line on the way here that a place belongs to."""
        found = self
        while found.parent is not None and not found.has(step, edits):
            found = found.parent
        return found

    def has(self, step: int, edits: int) -> bool:
        """Return whether a place on the way here belongs to this line."""
        begins = self.first, self.before
        return step >= self.first and ((step, edits) > begins or (self.jumped and (step, edits) == begins))

    def nearest(self, step: int, edits: int) -> Key | None:
        """Return the last keyframe on the way here that leads to a place."""
        for line, last, most in self.path():
            index = bisect_right(line.keys, min(step, last), key=lambda key: key.step)
            while index > 0:
                index -= 1
                key = line.keys[index]
                if key.edits <= min(edits, most) and (key.step < step or key.whole):
                    return key
        return None

    def last_key(self, step: int, edits: int) -> Key | None:
        """Return the last keyframe on the way here up to a place, the place itself included."""
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


# ---- `Keyframes`: the kept moments, within a budget of bytes
#
# Keyframes are `SPACING` seconds of the engine's work apart, so that a replay from one to the next takes that long.
# If they exceed the budget, those of left branches go first, then every second one, and the spacing doubles. So the
# longest replay is as short as the budget allows, wherever the run goes. The beginning and the newest moment of a line
# are always kept.


BUDGET = 64 << 20
"""Budget in bytes."""
SPACING = 0.1
"""Seconds of the engine's work between two keyframes."""
FINE = 0.008
"""Seconds between two fine keyframes, for short ways back and forth."""
FINE_SHARE = 8
"""The fine ones may fill the budget divided by this."""
LEFT_SHARE = 4
"""If left branches fill more than the budget divided by this, they go before the spacing of the others doubles."""


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
        """Count seconds of the engine's work."""
        self.clock += seconds
        self._since += seconds
        self._since_fine += seconds

    def begin(self) -> None:
        """Count time from here, a kept moment."""
        self._since = self._since_fine = 0.0

    @property
    def due(self) -> bool:
        """True if a keyframe is due."""
        return self._since >= self.spacing

    @property
    def due_fine(self) -> bool:
        """True if a fine keyframe is due."""
        return self._since_fine >= FINE and self.fine_room >= 4

    @property
    def fine_room(self) -> int:
        """Number of fine keyframes that fit into their budget."""
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
        """Keep the newest moment of a line, or drop it (None)."""
        if line.tip is not None:
            self.nbytes -= line.tip.nbytes + OVERHEAD
        line.tip = kept
        if kept is not None:
            self.nbytes += kept.nbytes + OVERHEAD

    def keep_rest(self, line: Line, nbytes: int) -> None:
        """Count the bytes of a line's own steps and edits while the run stands elsewhere."""
        self.nbytes += nbytes - line.rest
        line.rest = nbytes

    def drop(self, line: Line, going: Callable[[Key], bool]) -> None:
        """Drop keyframes of a line."""
        for key in filter(going, line.keys):
            self.nbytes -= key.nbytes
            self._fine -= key.nbytes * key.fine
        line.keys = [key for key in line.keys if not going(key)]

    def fit(self, lines: list[Line], current: Line, step: int) -> bool:
        """Drop moments that can be computed again until the budget is kept; False if that is not enough."""
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
        """Drop keyframes beside the way to the run's place, which leaves this line at `last`."""
        self.drop(line, lambda key: not key.whole and (key.step > last[0] or key.edits > last[1]))

    def _drop_close(self, line: Line) -> None:
        """Drop keyframes that follow the last kept one by less than the spacing."""
        last, going = 0.0, set[int]()  # a spacing longer than all work so far drops all
        for key in line.keys:
            if key.whole or (key.at - last >= self.spacing and key.nbytes <= self.budget):
                last = key.at
            else:
                going.add(id(key))
        self.drop(line, lambda key: id(key) in going)

    def _drop_far(self, lines: list[Line], step: int) -> None:
        """Drop the half of the fine keyframes that is farther from the run's step."""
        fine = [key for line in lines for key in line.keys if key.fine]
        fine.sort(key=lambda key: abs(key.step - step))
        going = {id(key) for key in fine[len(fine) // 2 :]}
        for line in lines:
            self.drop(line, lambda key: id(key) in going)


# ---- `KeyframeMaker`: keyframes made ahead of need
#
# Keyframes are far apart; a way back step by step would wait for a whole replay at each of them. So the
# gaps before the run's place are replayed beforehand, beside the run, and get finer keyframes.


REACH = 0.25
"""Seconds of the engine's work before the run's place that are prepared."""
SLICE = 0.005
"""Seconds of one part of the work."""
_HOPS = 256


class KeyframeMaker:
    """Makes fine keyframes on the way back."""

    def __init__(self, traveller: Traveller, training: Training, keyframes: Keyframes) -> None:
        self._run, self._training, self._keyframes = traveller, training, keyframes
        self._twin: Training | None = None
        self._gap: tuple[Line, int, int] | None = None  # line, last step, and revision of the past
        self._refused: Key | None = None

    def prepare(self, place: StepOfLine, revision: int) -> bool:
        """Do a part of the work for a run at a place; False if nothing is left to do."""
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

    def _next(self, place: StepOfLine) -> tuple[Key, int] | None:
        """Return the first gap on the way back that takes too long, unless edits lie in it."""
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

    def _go_on(self, twin: Training, place: StepOfLine, begun: Key, end: int) -> None:
        start, edits = time.perf_counter(), begun.edits
        while twin.steps < end - 1 and time.perf_counter() - start < SLICE:
            twin.advance(min(end - 1 - twin.steps, max(1, int(FINE / self._training.seconds_a_step))), again=True)
        owner, kept = place.line.owner(twin.steps, edits), self._run.keyframe_of(twin, begun.state)
        self._keyframes.add(owner, Key(twin.steps, edits, kept, self._keyframes.clock, fine=True))
