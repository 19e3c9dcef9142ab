"""`RunTraveller`: a run as its timeline sees it, and steps of it that are done again beside it."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..engine.table import lost
from ..errors import StateError
from . import state
from .edits import Applied, Edit, SetFrozen, SetWeights
from .history import History
from .state import State

if TYPE_CHECKING:
    from .run import Run

BESIDE = ("numpy", "numba")
"""The engines of which a second one computes beside the run's."""


class RunTwin:
    """Steps of a run done again on copies of its numbers.

    Parameters
    ----------
    run : Run
    kept : State
        Where it begins; it differs from the run in numbers alone.
    """

    def __init__(self, run: Run, kept: State) -> None:
        self._training = run._training.twin(run._make_trainer)
        self._training.pace.put(kept.parts["optimizer"]["pace"])
        self._kept = kept
        problem, weights = self._training.problem, kept.parts["weights"]
        store = problem.store
        store.value[:], store.frozen[:] = weights.values, weights.frozen
        for array, then in zip(problem.state, kept.parts["optimizer"]["arrays"].values(), strict=True):
            array[:] = then
        self._training.stands_at(*kept.parts["step"])

    @property
    def steps(self) -> int:
        """Where it stands."""
        return self._training.steps

    def replay(self, most: int) -> int:
        """One call of the engine."""
        return self._training.replay(most)

    def keyframe(self) -> State:
        """What the run needs to do the next step."""
        training, parts = self._training, dict(self._kept.parts)
        store, names = training.problem.store, parts["optimizer"]["arrays"]
        arrays = {name: array.copy() for name, array in zip(names, training.problem.state, strict=True)}
        flags = training.problem.of_weights.astype(np.uint8), store.frozen.copy()
        parts["weights"] = state.Weights(store.value.copy(), None, None, *flags, False, None)
        parts["optimizer"] = {**parts["optimizer"], "arrays": arrays, "pace": training.pace.moment()}
        parts["step"] = state.Step(training.steps, training.loss, training.lr)
        return State(MappingProxyType(parts))


class RunTraveller:
    """A run as its timeline sees it; see :class:`scalarviz.run.timeline.Traveller`.

    Parameters
    ----------
    run : Run
        Referred to weakly: the run holds its timeline.
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
        return state.give(self.run, state.MOVED)

    def same_data(self, kept: Any) -> bool:
        """Whether the data is as it was then: not so where a file was changed by others."""
        return bool(kept.parts["data"].version == kept.parts["files"])

    def forget_step(self) -> None:
        """Gradient and update of the step before are not known here."""
        store, problem = self.run._store, self.run.problem
        store.grad[:], store.computed[:] = 0, 0
        np.copyto(problem.previous, store.value)
        self.run._training._update = None

    def put(self, kept: Any) -> None:
        """Stand there again."""
        engine = kept.parts["engine"].name
        if lost(engine):
            raise StateError(
                f"step {kept.step:,} was computed by {engine}, which this process has lost: it cannot be done again"
            )
        state.put(self.run, kept)

    def advance(self, most: int) -> int:
        """One call of the engine, of new steps."""
        return self.run._advance(most)

    def replay(self, most: int) -> int:
        """One call of the engine, of steps that were done before."""
        return self.run._training.replay(most)

    def again(self, edit: Edit) -> None:
        """Do an edit that was done before."""
        edit.apply(self.run.hands)

    def twin(self, kept: Any) -> RunTwin | None:
        """Steps beside the run from a kept moment on, where only its numbers differ from those of now."""
        run, parts = self.run, kept.parts
        now = state.give(run, ("graph", "engine", "data", "sampler", "limits", "optimizer")).parts
        mine, then = now["optimizer"], parts["optimizer"]
        alike = all(
            parts[name] is now[name] or parts[name] == now[name] for name in ("graph", "data", "sampler", "limits")
        )
        alike = alike and parts["engine"].name == now["engine"].name in BESIDE
        alike = alike and self.same_data(kept)
        names = ("class", "numbers", "before")
        if (
            not alike
            or any(mine[name] != then[name] for name in names)
            or mine["pace"].schedule is not then["pace"].schedule
            or len(mine["pace"].momenta) != len(then["pace"].momenta)
            or mine["arrays"].keys() != then["arrays"].keys()
        ):
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
        """The numbers of now are announced."""
        if self._shadow is not None:
            store = self.run._store
            if self._shadow[0].shape != store.value.shape:
                self._shadow = store.value.copy(), store.frozen.copy()
            else:
                np.copyto(self._shadow[0], store.value)
                np.copyto(self._shadow[1], store.frozen)
        for recorder in self.run._recorders:
            recorder.look(self.run)

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
                    training._update = values - self.run.problem.previous
            store.revision += 1
            edits.append(SetWeights(span.start, store.value[span]))
        span = _changed(frozen, store.frozen)
        if span is not None:
            training.flags_changed = True
            edits.append(SetFrozen(span.start, store.frozen[span] != 0))
        return [Applied(training.steps, edit, edit.words(self.run.weight_name)) for edit in edits]


def _changed(before: NDArray[Any], now: NDArray[Any]) -> slice | None:
    """From the first to the last element that has other bits."""
    if before is now or np.array_equal(before.view(np.uint8), now.view(np.uint8)):
        return None
    sides = before.view(np.uint8).reshape(len(before), -1), now.view(np.uint8).reshape(len(now), -1)
    places = np.flatnonzero((sides[0] != sides[1]).any(axis=1))
    return slice(int(places[0]), int(places[-1]) + 1)
