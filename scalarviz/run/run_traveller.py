"""`RunTraveller`: a run as its timeline sees it: put at a moment, begun anew, its steps done again beside it."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..engine.table import lost
from ..errors import InputError, StateError, listing
from ..optim._pace import Pace
from . import state
from .checks import seed_of
from .core.gather import drawn_weights, starts
from .core.history import History
from .core.optimizer import begun
from .core.setup import setup_of
from .edits import Applied, Edit, SetFrozen, SetWeights
from .engines import advance, make_trainer
from .former import all_or_nothing
from .state import State

if TYPE_CHECKING:
    from .core.frame import Frame
    from .run import Run


MOST_NAMED = 6
"""Weights that an error names."""


def restarted(home: State, today: State) -> State:
    """The weights of `home` in the run of `today`.

    Raises StateError: they are other weights.
    """
    if home.graph.blocks != today.graph.blocks:
        raise StateError(
            f"restart: the run began with {len(home.values):,} weights and has {len(today.values):,} since its model "
            "was changed, others among them; go back before that change (run.to), draw all anew with "
            "restart(seed=...), or make a new Run"
        )
    same = home.setup.optimizer == today.setup.optimizer
    gathered = {
        name: home.gathered[name] if same and name in home.gathered else begun(today.graph.optimizer, name, array)
        for name, array in today.gathered.items()
    }
    first = replace(
        today, values=home.values, gradient=home.gradient, previous=home.previous, computed=home.computed,
        edited=home.edited, update=home.update, gathered=gathered,
    )  # fmt: skip
    return _begun(first, home, home.setup.before)


def redrawn(values: NDArray[Any], home: State, today: State) -> State:
    """The run of `today` at the step of `home`, with other weights and an optimiser that begins."""
    optimizer = today.graph.optimizer
    first = replace(
        today, values=values, gradient=np.zeros_like(values), previous=values, computed=np.zeros_like(today.computed),
        edited=False, update=None,
        gathered={name: begun(optimizer, name, array) for name, array in today.gathered.items()},
    )  # fmt: skip
    return _begun(first, home, -home.step)


def _begun(state: State, home: State, before: int) -> State:
    """It at the step of `home`, with the rates of now, or those that their schedule begins with."""
    pace = Pace()
    pace.put(state.setup.pace)
    setup = replace(state.setup, before=before, pace=pace.begun())
    return replace(state, setup=setup, step=home.step, loss=home.loss, lr=home.lr)


def seed_shown(frame: Frame) -> int:
    """The seed of the first weights of the line of steps that a frame is on: the run's, or that of a restart."""
    if frame.past is not None and frame.past.seed is not None:
        return frame.past.seed
    return 0 if frame.settings is None else frame.settings.seed


def seeded_as_before(run: Run, home: State) -> NDArray[Any]:
    """The weights of a model that was changed since `home`, (P,): those of then, and others as the run's seed draws.

    Raises StateError: some were made by hand.
    """
    first, graph = home.values, home.graph
    before = starts(graph.tape)
    try:
        values = seeded(run, seed_shown(run.frame()))
    except InputError as error:
        raise StateError(
            f"restart: the run began with {len(first):,} weights and has {len(run._store.value):,} since its model was "
            f"changed; {str(error).removeprefix('restart: ')}, or go back before that change (run.to)"
        ) from None
    for block, to in starts(run._tape).items():
        if block in before:
            values[to : to + block.size] = first[before[block] : before[block] + block.size]
    return values


def seeded(run: Run, seed: int) -> NDArray[Any]:
    """All weights as the initialisers that drew them last draw them with this seed, buffers as they were made, (P,).

    In the run's dtype.

    Raises InputError: no seed; or nobody draws some weights, which are named.
    """
    values, known = drawn_weights(run.model, run._tape, seed_of(seed), by_hand=False)
    missing = [t.name for t in run.tensors if not known[t.start : t.start + t.size].all()]
    if missing:
        rest = f" and {len(missing) - MOST_NAMED} more" if len(missing) > MOST_NAMED else ""
        raise InputError(
            f"restart: nobody knows how {listing(missing[:MOST_NAMED])}{rest} may be drawn anew: they were made by "
            "hand. Let an initialiser draw them before the Run is made (net.initialize(...)), or restart without a seed"
        )
    return values.astype(run._stored)


# ---- `RunTraveller`: a run as its timeline sees it, and steps of it that are done again beside it


BESIDE = ("numpy", "numba")
"""The engines of which a second one computes beside the run's."""


class RunTwin:
    """Steps of a run done again on copies of its numbers.

    `kept`: where it begins; it differs from the run in numbers alone.
    """

    def __init__(self, run: Run, kept: State) -> None:
        self._training = run._training.twin(partial(make_trainer, run))
        self._training.pace.put(kept.setup.pace)
        self._kept = kept
        problem = self._training.problem
        store = problem.store
        store.value[:], store.frozen[:] = kept.values, kept.frozen
        for array, then in zip(problem.state, kept.gathered.values(), strict=True):
            array[:] = then
        self._training.stands_at(kept.step, kept.loss, kept.lr)

    @property
    def steps(self) -> int:
        """Where it stands."""
        return self._training.steps

    def replay(self, most: int) -> int:
        """One call of the engine."""
        return self._training.advance(most, again=True)

    def keyframe(self) -> State:
        """What the run needs to do the next step."""
        training, kept = self._training, self._kept
        problem = training.problem
        return replace(
            kept, step=training.steps, loss=training.loss, lr=training.lr, values=problem.store.value.copy(),
            computed=problem.of_weights.astype(np.uint8), frozen=problem.store.frozen.copy(), edited=False,
            gradient=None, previous=None, update=None,
            gathered={name: array.copy() for name, array in zip(kept.gathered, problem.state, strict=True)},
            setup=replace(kept.setup, pace=training.pace.moment()),
        )  # fmt: skip


class RunTraveller:
    """A run as its timeline sees it.

    `run`: referred to weakly: the run holds its timeline.
    """

    def __init__(self, run: Run) -> None:
        self._ref = weakref.ref(run)
        self._shadow: tuple[NDArray[Any], NDArray[np.uint8]] | None = None

    @property
    def run(self) -> Run:
        """The run."""
        run = self._ref()
        assert run is not None  # it holds the timeline that asks
        return run

    @property
    def steps(self) -> int:
        """Steps done."""
        return self.run._training.steps

    def in_turn(self, function: Callable[[], object]) -> None:
        """Call a function between two calls of the engine."""
        self.run._in_turn(function)

    def keyframe(self) -> State:
        """What it takes to do the next step again."""
        return state.keyframe(self.run)

    def whole(self) -> State:
        """All of the moment."""
        return state.whole(self.run)

    def same_data(self, kept: State) -> bool:
        """Whether the data is as it was then: not so where a file was changed by others."""
        return bool(kept.data.version == kept.files)

    def forget_step(self) -> None:
        """Gradient and update of the step before are not known here."""
        store, problem = self.run._store, self.run._problem
        store.grad[:], store.computed[:] = 0, 0
        np.copyto(problem.previous, store.value)
        self.run._training._update = None

    def put(self, kept: State) -> None:
        """Stand there again."""
        engine = kept.engine.name
        if lost(engine):
            raise StateError(
                f"step {kept.step:,} was computed by {engine}, which this process has lost: it cannot be done again"
            )
        with all_or_nothing(self.run, numbers=False):  # who travels puts back the numbers
            state.put(self.run, kept)

    def advance(self, most: int) -> int:
        """One call of the engine, of new steps."""
        return advance(self.run, most)

    def replay(self, most: int) -> int:
        """One call of the engine, of steps that were done before."""
        return self.run._training.advance(most, again=True)

    def again(self, edit: Edit) -> None:
        """Do an edit that was done before."""
        with all_or_nothing(self.run):
            edit.apply(self.run._hands)

    def twin(self, kept: State) -> RunTwin | None:
        """Steps beside the run from a kept moment on, where only its numbers differ from those of now."""
        run, then = self.run, kept.setup
        now = setup_of(run._problem, run.optimizer)
        alike = (
            kept.graph is run._graph
            and kept.data is run._dataset
            and kept.engine.name == run._choice.name in BESIDE
            and self.same_data(kept)
            and replace(then, pace=now.pace) == now
            and then.pace.schedule is now.pace.schedule
            and len(then.pace.momenta) == len(now.pace.momenta)
            and [*kept.gathered] == [*run.optimizer.state]
        )
        if not alike:
            return None
        return RunTwin(run, kept)

    @property
    def seconds_a_step(self) -> float:
        """What a step of the engine takes, as measured last."""
        return self.run._training.seconds_a_step

    def write(self, history: History) -> None:
        """Where new steps are booked."""
        self.run._training.history = history

    # ---- what nobody announced

    def lend(self) -> None:
        """A view that can be written to is about to be handed out: from now on one has to look."""
        if self._shadow is None:
            store = self.run._store
            self._shadow = store.value.copy(), store.frozen.copy()

    def looked(self) -> None:
        """The numbers of now are announced, and whoever records them is told."""
        self.announced()
        for recorder in self.run._recorders:
            recorder.look(self.run)

    def announced(self) -> None:
        """What was written so far is known of."""
        if self._shadow is not None:
            store = self.run._store
            if self._shadow[0].shape != store.value.shape:
                self._shadow = store.value.copy(), store.frozen.copy()
            else:
                np.copyto(self._shadow[0], store.value)
                np.copyto(self._shadow[1], store.frozen)

    def found(self) -> list[Applied]:
        """Changes since the last look, as edits."""
        if self._shadow is None:
            return []
        store, training = self.run._store, self.run._training
        values, frozen = self._shadow
        edits: list[Edit] = []
        span = _changed(values, store.value)
        if span is not None:
            if training._update is None:  # what the last step did is not what was written since
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
    """From the first to the last element that has other bits."""
    if before is now or np.array_equal(before.view(np.uint8), now.view(np.uint8)):
        return None
    sides = before.view(np.uint8).reshape(len(before), -1), now.view(np.uint8).reshape(len(now), -1)
    places = np.flatnonzero((sides[0] != sides[1]).any(axis=1))
    return slice(int(places[0]), int(places[-1]) + 1)
