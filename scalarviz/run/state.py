"""`State`: all that a run is between two steps, as named parts that their owners give and take.

Random numbers come from the step, so nothing else is needed to go on with the same bits. Each part is copied when it is
given, but for what is never written to (data, functions, the recorded graph): that is referred to. How many arrays an
optimiser has, and how many samples there are, may differ between two states of one run.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..engine.table import lost
from ..errors import InputError, StateError, TypeMismatchError, listing
from .core.data import Dataset
from .core.gather import constants_of
from .core.signals import Whole
from .core.training import in_turn
from .former import all_or_nothing, keep

if TYPE_CHECKING:
    from ..engine.problem import Limits, Sampling
    from ..engine.table import EngineChoice
    from .core.graph import Graph
    from .run import Run


@dataclass(frozen=True, slots=True)
class State:
    """A moment of a run: ``run.state()`` gives one, ``run.take(state)`` goes back to it.

    Attributes
    ----------
    parts : mapping of str to object
        By the names of :data:`PARTS`.
    place : Place or None
        Where it stands on the run's timeline.
    """

    parts: Mapping[str, Any]
    place: Any = None

    @property
    def step(self) -> int:
        """Steps that the run had done."""
        return int(self.parts["step"].number)

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays that it holds alone; data that is referred to is not counted."""
        return sum(_bytes(part) for part in self.parts.values())

    def __deepcopy__(self, memo: dict[int, Any]) -> State:
        return self  # nothing of it is ever changed

    def __reduce__(self) -> NoReturn:
        raise StateError(
            "a State belongs to the Run that gave it and cannot be pickled: save(path) writes weights and optimiser"
        )


def _bytes(part: Any) -> int:
    if isinstance(part, np.ndarray):
        return part.nbytes
    if isinstance(part, OfModel):
        return _bytes(part.parts)
    if isinstance(part, Mapping):
        return sum(map(_bytes, part.values()))
    return part.nbytes if isinstance(part, Weights) else 0


T = TypeVar("T")


class Part(Protocol[T]):
    """One part of a state and its owner's way of giving and taking it."""

    owns: frozenset[str]
    """The attributes of a run (``"problem.batch"``) that it is responsible for."""

    def give(self, run: Run) -> T:
        """The part as it is now."""
        ...

    def check(self, run: Run, part: T) -> None:
        """Raise InputError if the run cannot take it; nothing is changed."""
        ...

    def take(self, run: Run, part: T) -> None:
        """Go back to it."""
        ...


@dataclass(frozen=True, slots=True)
class Weights:
    """Values, gradient, the values before the last step, flags, each of shape (P,).

    `update` is the last step's, where weights were set from outside since. A keyframe has no gradient and no values
    before the step: one more step brings them.
    """

    values: NDArray[Any]
    gradient: NDArray[Any] | None
    previous: NDArray[Any] | None
    computed: NDArray[np.uint8]
    frozen: NDArray[np.uint8]
    edited: bool
    update: NDArray[Any] | None

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        arrays = (self.values, self.gradient, self.previous, self.computed, self.frozen, self.update)
        return sum(array.nbytes for array in arrays if array is not None)


class _Weights:
    owns = frozenset({
        "_store.value", "_store.grad", "_store.computed", "_store.frozen", "_store.revision", "problem.store",
        "problem.previous", "problem.trained", "_training.data_changed", "_training.flags_changed",
        "_training._revision", "_training._update",
    })  # fmt: skip

    def give(self, run: Run) -> Weights:
        store, previous = run._store, run._problem.previous.copy()
        flags = store.computed.copy(), store.frozen.copy()
        training = run._training
        return Weights(store.value.copy(), store.grad.copy(), previous, *flags, training.edited, training._update)

    def check(self, run: Run, part: Weights) -> None:
        """Those of a graph of this run fit it."""

    def take(self, run: Run, part: Weights) -> None:
        store, training = run._store, run._training
        arrays = (store.value, store.grad, run._problem.previous, store.computed, store.frozen)
        given = (part.values, part.gradient, part.previous, part.computed, part.frozen)
        for array, kept in zip(arrays, given, strict=True):
            if kept is not None:
                keep(run, array)
                np.copyto(array, kept)
        store.revision += 1
        training._revision, training.data_changed, training.flags_changed = store.revision, part.edited, True
        training._update = part.update  # never written to


class _Limits:
    owns = frozenset({"problem.limits"})

    def give(self, run: Run) -> Limits:
        return run._problem.limits

    def check(self, run: Run, part: Limits) -> None:
        """Any fit any rule."""

    def take(self, run: Run, part: Limits) -> None:
        run._hands.put_limits(part)


class _Optimizer:
    owns = frozenset({
        "optimizer", "optimizer.state", "optimizer._steps", "optimizer._state", "optimizer.numbers", "optimizer._pace",
        "optimizer._rules", "optimizer._of",
        "_training.pace", "problem.state",
        "problem.update", "problem.t_start", "problem.columns", "problem.rules",
    })  # fmt: skip

    def give(self, run: Run) -> dict[str, Any]:
        arrays = zip(run.optimizer.state, run._problem.state, strict=True)
        return {
            "class": type(run.optimizer).__name__,
            "numbers": run.optimizer.moment(),
            "pace": run.optimizer.lr_pace.moment(),
            "before": run._problem.t_start,
            "arrays": {name: array.copy() for name, array in arrays},
        }

    def check(self, run: Run, part: Mapping[str, Any]) -> None:
        """The numbers of its graph's optimiser are those that it had."""

    def take(self, run: Run, part: Mapping[str, Any]) -> None:
        run._hands.put_moment(part["numbers"], part["pace"])
        run._problem.t_start = part["before"]
        run._problem.state = [part["arrays"][name].copy() for name in run.optimizer.state]


class OfModel(NamedTuple):
    """What the modules of a model have beside weights, by name; the model is referred to."""

    model: Any
    parts: Mapping[str, Any]


class _Buffers:
    owns = frozenset({"model.buffers"})

    def give(self, run: Run) -> OfModel:
        return OfModel(run.model, constants_of(run.model))

    def check(self, run: Run, part: OfModel) -> None:
        own, kept = constants_of(part.model), part.parts
        other = [name for name in kept if name not in own or not np.array_equal(own[name], kept[name], equal_nan=True)]
        if other or len(own) != len(kept):
            raise InputError(
                f"the state's numbers of {listing(other or sorted(set(own) ^ set(kept)))} are not the model's, which "
                "its recorded graph holds as constants; put them back into the model first"
            )

    def take(self, run: Run, part: OfModel) -> None:
        """They are constants of the recorded graph: `check` has found them unchanged."""


class _Modes:
    owns = frozenset({"model.training"})

    def give(self, run: Run) -> OfModel:
        return OfModel(run.model, {name: module.training for name, module in _modules(run.model)})

    def check(self, run: Run, part: OfModel) -> None:
        if part.parts.keys() != {name for name, _ in _modules(part.model)}:
            raise InputError(f"the state is of a model with other modules: {listing(sorted(part.parts))}")

    def take(self, run: Run, part: OfModel) -> None:
        for name, module in _modules(part.model):
            if run._former is not None:
                run._former.refer(module)
            module.training = part.parts[name]


def _modules(model: Any) -> Iterable[tuple[str, Any]]:
    modules = getattr(model, "named_modules", None)
    return modules() if callable(modules) else ()


class _Sampler:
    owns = frozenset({"seed", "problem.seed", "problem.batch", "problem.sampling"})

    def give(self, run: Run) -> tuple[int, int, Sampling]:
        return run._problem.seed, run._problem.batch, run._problem.sampling

    def check(self, run: Run, part: tuple[int, int, Sampling]) -> None:
        if part[0] != run._problem.seed:
            raise InputError(f"the state is of a run with seed {part[0]}, this one has {run._problem.seed}")

    def take(self, run: Run, part: tuple[int, int, Sampling]) -> None:
        run._hands.put_batch(part[1], part[2])


class _Data:
    owns = frozenset({"_dataset", "problem.data"})

    def give(self, run: Run) -> Dataset:
        return run._dataset

    def check(self, run: Run, part: Dataset) -> None:
        """Any samples that this model was given fit it."""

    def take(self, run: Run, part: Dataset) -> None:
        if part is not run._dataset:
            run._hands.put_data(part)


class _Files:
    """How often data that is not ours was found changed: steps are done again only where it is as it was then."""

    owns = frozenset[str]()

    def give(self, run: Run) -> int:
        return run._dataset.version

    def check(self, run: Run, part: int) -> None:
        """One may stand at any moment that was kept."""

    def take(self, run: Run, part: int) -> None:
        """What became of a file stays."""


class _Engine:
    owns = frozenset({"_choice", "_training.trainer", "_threads", "problem.threads", "_full_speed"})

    def give(self, run: Run) -> EngineChoice:
        return run._choice

    def check(self, run: Run, part: EngineChoice) -> None:
        if not lost(part.name):
            run._hands.check_engine(part.name)

    def take(self, run: Run, part: EngineChoice) -> None:
        if part.name != run._choice.name:
            if lost(part.name):  # the engine that went on stays
                return
            run._hands.put_engine(part.name, part.why)
        run._choice = part


class Step(NamedTuple):
    """How many steps were done; loss and learning rate of the last one (None before the first)."""

    number: int
    loss: float
    lr: float | None


class _Step:
    owns = frozenset({"_training.steps", "_training.loss", "_training.lr", "_training.history"})

    def give(self, run: Run) -> Step:
        return Step(run._training.steps, run._training.loss, run._training.lr)

    def check(self, run: Run, part: Step) -> None:
        """Any step may come next: random numbers are made of its number."""

    def take(self, run: Run, part: Step) -> None:
        run._training.stands_at(*part)


class _Graph:
    owns = frozenset({
        "_graph", "model", "loss_function", "_tape", "_shapes", "_forward", "_trained", "stages", "tensors",
        "dtype", "problem.plan", "problem.reduction", "problem.share", "problem.block", "problem.n_weights",
        "_training._held", "_training._name_of",
    })  # fmt: skip

    def give(self, run: Run) -> Graph:
        return run._graph

    def check(self, run: Run, part: Graph) -> None:
        if part.of() is not run:
            raise InputError("the state is of another Run: its model and loss were recorded for that one")

    def take(self, run: Run, part: Graph) -> None:
        run._hands.put_graph(part)


PARTS: Mapping[str, Part[Any]] = MappingProxyType({
    "graph": _Graph(), "engine": _Engine(), "data": _Data(), "files": _Files(), "sampler": _Sampler(),
    "limits": _Limits(),
    "optimizer": _Optimizer(), "buffers": _Buffers(), "modes": _Modes(), "weights": _Weights(), "step": _Step(),
})  # fmt: skip
"""In the order in which they are taken: what others are prepared for comes first."""


MOVED = ("graph", "engine", "data", "files", "sampler", "limits", "optimizer", "weights", "step")
"""The parts that differ from step to step of a record; train/eval and buffers stay as they are when a run goes back."""


def give(run: Run, parts: Collection[str] = PARTS.keys()) -> State:
    """Parts of a run as they are now, all of them by default."""
    return State(MappingProxyType({name: part.give(run) for name, part in PARTS.items() if name in parts}))


def keyframe(run: Run) -> State:
    """What it takes to do the next step again, and no more."""
    parts = {name: part.give(run) for name, part in PARTS.items() if name in MOVED and name != "weights"}
    store = run._store
    values, flags = store.value.copy(), (store.computed.copy(), store.frozen.copy())
    parts["weights"] = Weights(values, None, None, *flags, run._training.edited, None)
    return State(MappingProxyType(parts))


@in_turn
def of_now(run: Run) -> State:
    """All that the run is now, and where that stands on its timeline."""
    run._check_stands()
    run.timeline.enter()
    return replace(give(run), place=run.timeline.settled_place())


@in_turn
def take(run: Run, state: State) -> None:
    """Go back to a state of this run, on a branch of its own."""
    run._check_live()
    if not isinstance(state, State):
        raise TypeMismatchError(f"take: a State is wanted, as run.state() gives it; got {type(state).__name__}")
    run.timeline.enter()
    with Whole(), all_or_nothing(run, lines=True), run.timeline.jump("back to a state", state.place):
        put(run, state)


def put(run: Run, state: State) -> None:
    """Go back to the parts that a state has; the others stay. All are checked before the first one is taken."""
    parts = [(part, state.parts[name]) for name, part in PARTS.items() if name in state.parts]
    for part, kept in parts:
        part.check(run, kept)
    with Whole(), all_or_nothing(run):
        for part, kept in parts:
            part.take(run, kept)
