"""`State`: all that a run is at one moment between two steps, as one immutable record.

Random numbers come from the step, so nothing else is needed to go on with the same bits. Arrays that the run writes to
are copied; what is never written to (data, functions, the recorded graph) is referred to.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from ..engine.table import EngineChoice, lost
from ..errors import InputError, StateError, TypeMismatchError, listing
from .atomic import Atomic
from .core.gather import asked, constants_of
from .core.graph import Graph
from .core.setup import Dataset, Setup, setup_of
from .core.training import Training, in_turn

if TYPE_CHECKING:
    from .run import Run


@dataclass(frozen=True, slots=True, eq=False)
class State:
    """A moment of a run: ``run.state()`` gives one, ``run.take(state)`` goes back to it.

    Attributes
    ----------
    step : int
        Steps that the run had done.
    loss : float
        Of the last of them.
    values : ndarray
        The weights, (P,).
    setup : Setup
        How the run trained.
    place : Place or None
        Where it stands on the run's timeline.
    """

    step: int
    loss: float
    lr: float | None  # the rate of the last step, None before the first
    values: NDArray[Any]  # (P,), as all that follow
    computed: NDArray[np.uint8]
    frozen: NDArray[np.uint8]
    gathered: Mapping[str, NDArray[Any]]  # by the optimiser, by name
    edited: bool
    setup: Setup
    graph: Graph
    engine: EngineChoice
    data: Dataset
    files: int  # how often data that is not ours was found changed
    # what the last step left; None in a keyframe: one more step brings it
    gradient: NDArray[Any] | None = None
    previous: NDArray[Any] | None = None
    update: NDArray[Any] | None = None  # where weights were set from outside since
    # of the modules of the model, by name; None in what a timeline keeps: they stay as they are
    buffers: Mapping[str, NDArray[Any]] | None = None
    modes: Mapping[str, bool] | None = None
    place: Any = None

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays that it holds alone; data that is referred to is not counted."""
        own = (self.values, self.computed, self.frozen, self.gradient, self.previous, self.update)
        arrays = (*own, *self.gathered.values(), *(self.buffers or {}).values())
        return sum(array.nbytes for array in arrays if array is not None)

    def check(self, run: Run) -> None:
        """Raise InputError if `run` cannot go back to it; nothing is changed."""
        if self.graph.of() is not run:
            raise InputError("the state is of another Run: its model and loss were recorded for that one")
        if self.setup.seed != run._problem.seed:
            raise InputError(f"the state is of a run with seed {self.setup.seed}, this one has {run._problem.seed}")
        if not lost(self.engine.name):
            run._hands.check_engine(self.engine.name)
        if self.buffers is not None:
            _check_buffers(constants_of(self.graph.model), self.buffers)
        modules = dict(asked(self.graph.model, "named_modules"))
        if self.modes is not None and self.modes.keys() != modules.keys():
            raise InputError(f"the state is of a model with other modules: {listing(sorted(self.modes))}")

    def __deepcopy__(self, memo: dict[int, Any]) -> State:
        return self  # nothing of it is ever changed

    def __reduce__(self) -> NoReturn:
        raise StateError(
            "a State belongs to the Run that gave it and cannot be pickled: save(path) writes weights and optimiser"
        )


def _check_buffers(own: Mapping[str, NDArray[Any]], kept: Mapping[str, NDArray[Any]]) -> None:
    other = [name for name in kept if name not in own or not np.array_equal(own[name], kept[name], equal_nan=True)]
    if other or len(own) != len(kept):
        raise InputError(
            f"the state's numbers of {listing(other or sorted(set(own) ^ set(kept)))} are not the model's, which "
            "its recorded graph holds as constants; put them back into the model first"
        )


def keyframe(run: Run) -> State:
    """What it takes to do the next step again, and no more."""
    setup, data = setup_of(run._problem, run.optimizer), run._dataset
    return keyframe_of(run._training, run.optimizer.state, setup, run._graph, run._choice, data, data.version)


def keyframe_of(
    training: Training, names: Iterable[str], setup: Setup, graph: Graph, engine: EngineChoice, data: Dataset,
    files: int,
) -> State:  # fmt: skip
    """Likewise of a training, whose optimiser gathers arrays of these names."""
    store = training.problem.store
    gathered = {name: array.copy() for name, array in zip(names, training.problem.state, strict=True)}
    return State(
        training.steps, training.loss, training.lr, store.value.copy(), store.computed.copy(), store.frozen.copy(),
        gathered, training.edited, setup, graph, engine, data, files,
    )  # fmt: skip


def whole(run: Run) -> State:
    """All that differs from step to step, the last step's gradient and update included."""
    gradient, previous = run._store.grad.copy(), run._problem.previous.copy()
    return replace(keyframe(run), gradient=gradient, previous=previous, update=run._training._update)


@in_turn
def of_now(run: Run) -> State:
    """All that the run is now, and where that stands on its timeline."""
    run._check_stands()
    run.timeline.enter()
    modes = {name: module.training for name, module in asked(run.model, "named_modules")}
    place = run.timeline.place()
    place.line.settle(place.edits)  # somebody may come back
    return replace(whole(run), buffers=constants_of(run.model), modes=modes, place=place)


@in_turn
def take(run: Run, state: State) -> None:
    """Go back to a state of this run, on a branch of its own."""
    run._enter()
    if not isinstance(state, State):
        raise TypeMismatchError(f"take: a State is wanted, as run.state() gives it; got {type(state).__name__}")
    with Atomic(run, lines=True), run.timeline.jump("back to a state", state.place):
        put(run, state)


def put(run: Run, state: State) -> None:
    """Go back to what a state holds; what it does not hold stays."""
    state.check(run)
    with Atomic(run) as atomic:
        run._hands.put_graph(state.graph)
        _put_engine(run, state.engine)
        if state.data is not run._dataset:
            run._hands.put_data(state.data)
        run._hands.put_batch(state.setup.batch_size, state.setup.sampling)
        put_setup(run, state.setup)
        if state.modes is not None:
            for name, module in asked(state.graph.model, "named_modules"):
                atomic.refer(module)
                module.training = state.modes[name]
        put_numbers(run._training, state, atomic.keep)


def put_setup(run: Run, setup: Setup) -> None:
    """Let `run` train by it from its next step on, with the samples of now."""
    run._hands.put_limits(setup.limits)
    run._hands.put_moment(setup.groups, setup.pace)
    run._problem.t_start = setup.before


def _put_engine(run: Run, engine: EngineChoice) -> None:
    if engine.name != run._choice.name:
        if lost(engine.name):  # the engine that went on stays
            return
        run._hands.put_engine(engine.name, engine.why)
    run._choice = engine


def put_numbers(training: Training, state: State, keep: Callable[[NDArray[Any]], None] | None = None) -> None:
    """Let a training that computes the same stand at a state; what is about to be written over is told to `keep`."""
    problem, store = training.problem, training.problem.store
    arrays = (store.value, store.grad, problem.previous, store.computed, store.frozen)
    given = (state.values, state.gradient, state.previous, state.computed, state.frozen)
    for array, kept in zip(arrays, given, strict=True):
        if kept is not None:
            if keep is not None:
                keep(array)
            np.copyto(array, kept)
    problem.state = [array.copy() for array in state.gathered.values()]
    store.revision += 1
    training._revision, training.data_changed, training.flags_changed = store.revision, state.edited, True
    training._update = state.update  # never written to
    training.stands_at(state.step, state.loss, state.lr)
