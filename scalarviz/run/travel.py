"""Move a run through its past: the interface for its timeline, restarts, and the past of a weight."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..arguments import first_of
from ..engine.table import lost
from ..errors import InputError, StateError
from ..optim._pace import Pace
from ..tape import Tape
from . import state
from .core.gather import drawn_weights, starts
from .core.optimizer import begun
from .core.setup import setup_of
from .core.training import Training, in_turn
from .edits import Applied, Edit, SetFrozen, SetWeights
from .engines import advance, make_trainer
from .state import State
from .transaction import Transaction
from .validation import seed_of

if TYPE_CHECKING:
    from .core.frame import Frame
    from .run import Run


def enter(run: Run) -> None:
    """Log unannounced writes; beside a training thread, do nothing."""
    if run._store.gate_here() is None:
        run.timeline.enter()


def span(run: Run) -> tuple[int, int]:
    """Return first and newest step at which the run can stand, on the current branch."""
    enter(run)
    return run.timeline.span


TWIN_ENGINES = ("numpy", "numba")
"""Engines that can compute a second time beside the run."""


class Traveller:
    """The interface of a run for its timeline. It refers to the run weakly, because the run holds its timeline."""

    def __init__(self, run: Run) -> None:
        self._ref = weakref.ref(run)
        self._shadow: tuple[NDArray[Any], NDArray[np.uint8]] | None = None

    @property
    def run(self) -> Run:
        """The run."""
        run = self._ref()
        assert run is not None  # it holds the timeline that asks
        return run

    def whole(self) -> State:
        """Return the whole state of the moment."""
        return state.whole_state(self.run)

    def same_data(self, kept: State) -> bool:
        """Return whether the data is unchanged since then; False if a file was changed from outside."""
        return bool(kept.data.version == kept.data_version)

    def forget_step(self) -> None:
        """Clear gradient and update, which are unknown here."""
        store, problem = self.run._store, self.run._problem
        store.grad[:], store.computed[:] = 0, 0
        np.copyto(problem.previous, store.value)
        self.run._training._update = None

    def put(self, kept: State) -> None:
        """Set the run to a kept moment."""
        engine = kept.engine.name
        if lost(engine):
            raise StateError(
                f"step {kept.step:,} cannot be recomputed: this process has lost {engine}, which computed it"
            )
        with Transaction(self.run, numbers=False):  # the traveller restores the numbers
            state.put_state(self.run, kept)

    def advance(self, most: int) -> int:
        """Do new steps in one call of the engine."""
        return advance(self.run, most)

    def redo_edit(self, edit: Edit) -> None:
        """Repeat an edit."""
        with Transaction(self.run):
            edit.apply(self.run._access)

    def twin(self, kept: State) -> Training | None:
        """Return a training on copies from a kept moment, beside the run; None if more than numbers differ from now."""
        run, then = self.run, kept.setup
        now = setup_of(run._problem, run.optimizer)
        alike = (
            kept.graph is run._graph
            and kept.data is run._dataset
            and kept.engine.name == run._choice.name in TWIN_ENGINES
            and self.same_data(kept)
            and replace(then, pace=now.pace) == now
            and then.pace.schedule is now.pace.schedule
            and len(then.pace.momenta) == len(now.pace.momenta)
            and [*kept.gathered] == [*run.optimizer.state]
        )
        if not alike:
            return None
        twin = run._training.twin(partial(make_trainer, run))
        twin.pace.restore(then.pace)
        state.put_numbers(twin, kept)
        return twin

    def keyframe_of(self, twin: Training, kept: State) -> State:
        """Return the keyframe of a twin that began at a kept moment."""
        setup = replace(kept.setup, pace=twin.pace.moment())
        return state.keyframe_of(twin, kept.gathered, setup, kept.graph, kept.engine, kept.data, kept.data_version)

    # ---- unannounced writes

    def lend(self) -> None:
        """Note that a writable view is handed out; from now on, writes have to be looked for."""
        if self._shadow is None:
            store = self.run._store
            self._shadow = store.value.copy(), store.frozen.copy()

    def announce(self) -> None:
        """Mark the current numbers as announced and show them to recorders."""
        self.mark_announced()
        for recorder in self.run._recorders:
            recorder.look(self.run)

    def mark_announced(self) -> None:
        """Mark the writes so far as known."""
        if self._shadow is not None:
            store = self.run._store
            if self._shadow[0].shape != store.value.shape:
                self._shadow = store.value.copy(), store.frozen.copy()
            else:
                np.copyto(self._shadow[0], store.value)
                np.copyto(self._shadow[1], store.frozen)

    def find_changes(self) -> list[Applied]:
        """Return changes since the last look, as edits."""
        if self._shadow is None:
            return []
        store, training = self.run._store, self.run._training
        values, frozen = self._shadow
        edits: list[Edit] = []
        span = _changed(values, store.value)
        if span is not None:
            if training._update is None:  # later writes are not part of the last step's update
                with np.errstate(invalid="ignore", over="ignore"):
                    training._update = values - self.run._problem.previous
            store.revision += 1
            edits.append(SetWeights(span.start, store.value[span]))
        span = _changed(frozen, store.frozen)
        if span is not None:
            training.flags_changed = True
            edits.append(SetFrozen(span.start, store.frozen[span] != 0))
        return [Applied(training.steps, edit, edit.words(self.run._graph.name_of)) for edit in edits]


def _changed(before: NDArray[Any], now: NDArray[Any]) -> slice | None:
    """Return the slice from the first to the last element with other bits, or None."""
    if before is now or np.array_equal(before.view(np.uint8), now.view(np.uint8)):
        return None
    sides = before.view(np.uint8).reshape(len(before), -1), now.view(np.uint8).reshape(len(now), -1)
    places = np.flatnonzero((sides[0] != sides[1]).any(axis=1))
    return slice(int(places[0]), int(places[-1]) + 1)


# ---- restart


MOST_NAMED = 6
"""Most weights that an error names."""


@in_turn
def restart(run: Run, seed: int | None) -> None:
    """Restart on a new branch."""
    run._enter()
    values = None if seed is None else seeded(run, seed)
    here, today = run._training.steps, state.whole_state(run)
    run.timeline.to(span(run)[0])
    home, place = state.whole_state(run), run.timeline.place()
    run.timeline.to(here)
    if values is None and home.graph.blocks != today.graph.blocks:
        values = seeded_as_before(run, home)
    again = _again(values, home, today)
    why = "restart" if seed is None else f"restart with seed {seed}"
    with Transaction(run, lines=True), run.timeline.jump(why, place, run.timeline.line.seed if seed is None else seed):
        state.put_state(run, again)


def _again(values: NDArray[Any] | None, home: State, today: State) -> State:
    """Return the state `today` with the numbers of `home`, or with new weights and an optimiser without state.

    The rates are the current ones, or the first ones of their schedule.
    """
    first, before = home, home.setup.before
    if values is not None:
        zeros, before = np.zeros_like(values), -home.step
        first = replace(
            home, values=values, gradient=zeros, previous=values, computed=np.zeros_like(today.computed), edited=False,
            update=None, gathered={},
        )  # fmt: skip
    known = first.gathered if home.setup.optimizer == today.setup.optimizer else {}
    gathered = {
        name: known[name] if name in known else begun(today.graph.optimizer, name, array)
        for name, array in today.gathered.items()
    }
    pace = Pace()
    pace.restore(today.setup.pace)
    setup = replace(today.setup, before=before, pace=pace.restarted())
    return replace(
        first, gathered=gathered, setup=setup, frozen=today.frozen, graph=today.graph, engine=today.engine,
        data=today.data, data_version=today.data_version,
    )  # fmt: skip


def seed_shown(frame: Frame) -> int:
    """Return the seed of the first weights of a frame's line: the run's seed, or that of a restart."""
    if frame.past is not None and frame.past.seed is not None:
        return frame.past.seed
    return 0 if frame.settings is None else frame.settings.seed


def seeded_as_before(run: Run, home: State) -> NDArray[Any]:
    """Return first weights, (P,), of a changed model: those of `home`, and others drawn with the run's seed."""
    first, graph = home.values, home.graph
    before = starts(graph.tape)
    try:
        values = seeded(run, seed_shown(run.frame()))
    except InputError as error:
        raise StateError(
            f"restart: the model was changed, from {len(first):,} to {len(run._store.value):,} weights; "
            f"{str(error).removeprefix('restart: ')}, or go back before that change with run.to"
        ) from None
    for block, to in starts(run._tape).items():
        if block in before:
            values[to : to + block.size] = first[before[block] : before[block] + block.size]
    return values


def seeded(run: Run, seed: int) -> NDArray[Any]:
    """Return all weights drawn with this seed by their last initialisers, buffers as they were made, (P,).

    In the run's dtype.
    """
    values, known = drawn_weights(run.model, run._tape, seed_of(seed), by_hand=False)
    missing = [t.name for t in run.tensors if not known[t.start : t.start + t.size].all()]
    if missing:
        raise InputError(
            f"restart: {first_of(map(repr, missing), MOST_NAMED)} cannot be re-initialised: these were set by "
            "hand. Call net.initialize(...) before you make the Run, or restart without a seed"
        )
    return values.astype(run._stored)


T = TypeVar("T")
LOOK_BACK_SECONDS = 2.0
"""Most seconds for repeating steps in the background; if it would take longer, only keyframes are visited."""


def looked_back(run: Run, look: Callable[[Run], T], count: int, until: int) -> dict[int, T]:
    """Return `look(run)` at about `count` steps of the run's branch before `until`; early steps are denser.

    The run returns to its step. Call it between two steps, in the thread that may change the run.
    """
    run.timeline.enter()
    first = run.timeline.span[0]
    wanted = first + (np.linspace(0.0, 1.0, count, endpoint=False) ** 2 * (until - first)).astype(int)
    if again_within(run, LOOK_BACK_SECONDS):
        return visited(run, sorted(set(wanted.tolist())), look)
    path = run.timeline.line.path()
    keyframes = {key.step for line, last, _ in path for key in line.keys if key.step <= last}
    kept = np.array(sorted(step for step in keyframes if first <= step < until), int)
    if not len(kept):
        return {}
    near = kept[np.abs(kept[:, None] - wanted).argmin(axis=0)]
    return visited(run, sorted(set(near.tolist())), look, jumps=True)


def again_within(run: Run, seconds: float) -> bool:
    """Return whether all recorded steps of the run's branch can be repeated in that time."""
    first, newest = run.timeline.span
    measured = run.timeline.keyframes.clock  # seconds of the engine for all branches
    return min(measured, (newest - first) * run._training.seconds_a_step) <= seconds


def visited(run: Run, places: Sequence[int], look: Callable[[Run], T], *, jumps: bool = False) -> dict[int, T]:
    """Return `look(run)` at each of some rising steps.

    All steps between them are repeated, unless `jumps`: then each is reached from the nearest keyframe.
    """
    timeline, here, found = run.timeline, run.steps, dict[int, T]()
    try:
        for step in places:
            if jumps or not found:
                timeline.to(step)
            while run.steps < step:
                timeline.advance(step - run.steps)
            found[step] = look(run)
    finally:
        timeline.to(here)
    return found


# ---- `weight_record`: the past of one weight on the run's branch


POINTS = 160
"""Most steps at which the weight is read, beside those around an edit."""
SECONDS = 0.1
"""Most seconds for repeating the steps; if it would take longer, only keyframes are read."""
_EDITS = 40  # the latest ones, whose jumps are drawn steep


@dataclass(frozen=True, slots=True, eq=False)
class WeightRecord:
    """The values of one weight, on the branch of a moment."""

    index: int  # flat
    steps: NDArray[np.int64]  # in order; shape (N,)
    values: NDArray[np.float64]  # after each of them, edits there included; shape (N,)


def weight_record(run: Run, index: int) -> WeightRecord:
    """Return the values of the weight at flat `index` on the run's branch.

    Its steps are repeated, and the run returns bit for bit. Call it between two steps, in the thread that may change
    the run.
    """
    run.timeline.enter()
    first, newest = run.timeline.span
    place_in = _follower(run._tape, index)

    def now(run: Run) -> float | None:
        place = place_in(run._tape)
        return None if place is None else float(run._store.value[place])

    if newest == first or again_within(run, SECONDS):
        places = {int(step) for step in np.linspace(first, newest, POINTS)}
        places |= {edit.step - beside for edit in run.timeline.line.edits[-_EDITS:] for beside in (0, 1)}
        looks = visited(run, sorted(step for step in places if first <= step <= newest), now)
        found = {step: value for step, value in looks.items() if value is not None}
    else:
        found = _keyframe_values(run, place_in)
    found[run.steps] = float(run._store.value[index])
    steps = sorted(found)
    return WeightRecord(index, np.array(steps, np.int64), np.array([found[step] for step in steps], np.float64))


def _follower(tape: Tape, index: int) -> Callable[[Tape], int | None]:
    """Return a function that maps a former network's tape to the flat index of the weight there, or None."""
    block, begin = next((b, start) for b, start in starts(tape).items() if start <= index < start + b.size)

    def place_in(other: Tape) -> int | None:
        start = starts(other).get(block)
        return None if start is None else start + index - begin

    return place_in


def _keyframe_values(run: Run, place_in: Callable[[Tape], int | None]) -> dict[int, float]:
    """Return the values in the keyframes on the way here."""
    found: dict[int, float] = {}
    now = run.timeline.line
    moments: list[tuple[int, Any]] = [] if now.tip is None else [(now.newest, now.tip)]
    for line, last, _ in now.path():
        keys = (key for key in line.keys if key.step <= last)
        # after all edits there
        moments += [(key.step, key.state) for key in keys if key.edits == now.count_edits(key.step)]
    for step, kept in moments:
        if (place := place_in(kept.graph.tape)) is not None:
            found.setdefault(step, float(kept.values[place]))
    return found
