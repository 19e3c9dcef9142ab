"""`Editing`: the part of a run through which all changes from outside go: ``run.do(edit)``, and shorthand for it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..checks import real_array, text
from ..engine.outside import as_source
from ..engine.problem import Problem, Sampling
from ..errors import TypeMismatchError
from ..nn import Activation
from ..optim import Optimizer, Schedule
from ..scalar.store import Gate
from ..tape import Tape
from .core.optimizer import spans_in
from .core.signals import Whole
from .core.training import Training, in_turn
from .edits import (
    AddSamples,
    Call,
    Change,
    Edit,
    Refill,
    SetBatchSize,
    SetEngine,
    SetFrozen,
    SetLimits,
    SetNumbers,
    SetOptimizer,
    SetSampling,
    SetSchedule,
    SetTargets,
    SetWeights,
)
from .edits.base import Applied
from .hands import RunHands
from .past.timeline import Timeline
from .run_traveller import RunTraveller


class AsNow:
    """Stands for what is left as it is."""

    def __repr__(self) -> str:
        return "as now"


AS_NOW = AsNow()


class Editing:
    """Doing edits, and the shorthand for them."""

    optimizer: Optimizer
    problem: Problem
    gate: Gate | None
    timeline: Timeline
    _traveller: RunTraveller
    _training: Training
    weight_name: Callable[[int], str]
    _tape: Tape
    _check_live: Callable[[], None]
    _said = ""  # how the function that is being called was announced

    @property
    def hands(self) -> RunHands:
        """What edits work with."""
        return RunHands(self)  # type: ignore[arg-type]  # a Run is the only Editing

    @in_turn
    def do(self, edit: Edit, *, gesture: str = "") -> None:
        """Change the run between two steps; what was done stands in ``run.log``.

        Parameters
        ----------
        edit : Edit
            One of :mod:`scalarviz.run.edits`.
        gesture : str, optional
            A name for a movement of the hand: several edits of it that leave nothing of each other are one.

        Raises
        ------
        TypeMismatchError
            Not an Edit.
        InputError
            It does not fit this run; nothing is changed then.
        StateError
            The run is closed, or another Run took its weights.
        """
        if not isinstance(edit, Edit):
            raise TypeMismatchError(f"do: an Edit is wanted, such as SetWeights(0, [0.5]); got {type(edit).__name__}")
        text(gesture, "do: the gesture")
        self._check_live()
        self.timeline.enter()
        edit = edit.resolved(self.hands)
        edit.check(self.hands)
        if isinstance(edit, Call):
            self._call(edit, gesture)
            return
        with Whole() as whole:  # what is done stands in the log
            whole.waits = not isinstance(edit, SetEngine)  # it may take long
            edit.apply(self.hands)
            whole.waits = True
            self._note(edit, gesture)

    def _call(self, edit: Call, gesture: str) -> None:
        """A function cannot be done again: what it did by edits stands in the log, and what it wrote as edits."""
        revision, said = self.timeline.revision, self._said
        self._said = said or edit.words()
        self._traveller.lend()
        try:
            edit.apply(self.hands)
            written = tuple(change.edit for change in self._traveller.found())
            if written or self.timeline.revision == revision:  # what a function did by edits says more
                self._note(edit, gesture, does=written)
        finally:
            self._said = said

    def _note(self, edit: Edit, gesture: str, does: tuple[Edit, ...] | None = None) -> None:
        done = Applied(self._training.steps, edit, self._said or edit.words(self.weight_name), gesture, does)
        last = self.timeline.last() if gesture else None
        self.timeline.note(done, instead=last is not None and _continued(last, done))

    # ---- the owner of its weights

    def _write(self, start: int, numbers: NDArray[Any]) -> None:
        """``w.data = ...``: beside a training thread it waits for its turn, and is seen at once."""
        if self.gate is not None and not self.gate.mine():
            self.gate.write(start, numbers)
        else:
            self.do(SetWeights(start, numbers), gesture="data")

    def _freeze(self, start: int, flags: NDArray[np.bool_]) -> None:
        """``w.frozen = ...``, likewise."""
        if self.gate is not None and not self.gate.mine():
            self.gate.freeze(start, flags)
        else:
            self.do(SetFrozen(start, flags), gesture="frozen")

    # ---- in short

    def change(
        self,
        *,
        batch_size: int | None = None,
        sampling: Sampling | None = None,
        engine: str | None = None,
        activation: str | Activation | None = None,
        loss: str | Callable[..., Any] | None = None,
        optimizer: str | Optimizer | type[Optimizer] | None = None,
        model: Callable[..., Any] | None = None,
        l1: float | AsNow = AS_NOW,
        l2: float | AsNow = AS_NOW,
        clip_norm: float | AsNow | None = AS_NOW,
        clip_value: float | AsNow | None = AS_NOW,
        **numbers: Any,
    ) -> None:
        """Change how the run trains, from the next step on; weights, steps and history stay.

        Parameters
        ----------
        batch_size : int, optional
            Samples a step.
        sampling : {"epochs", "replacement"}, optional
            How they are chosen, see :class:`Run`.
        engine : str, optional
            Another engine. It rounds differently, so the bits of the steps to come are not those without the change.
        activation : str or nn.Activation, optional
            Of the hidden modules of a Sequential, those that a layer with weights follows; the last one stays.
        loss : str or callable, optional
        optimizer : str, Optimizer or class, optional
            It begins, whatever it did before. A name (``"Adam"``) or a class holds what the one before held.
        model : callable, optional
            Layers that still fit go on with the numbers of now: of two Sequentials a longest row of layers of equal
            shapes in order, of other modules those of equal names and shapes. Others begin as they are; the log says
            which. Without `optimizer` that of now goes on over the new weights; those no longer in the run stand alone.
        l1, l2, clip_norm, clip_value : float, optional
            See :class:`Run`; None ends a limit.
        **numbers
            Of the optimiser: ``lr``, ``momentum``, ``betas``, ...

        Raises
        ------
        InputError, TypeMismatchError, TracingError
            One of them does not fit; nothing is changed then.

        Examples
        --------
        ``run.change(lr=0.01, momentum=0.9, batch_size=32)``, ``run.change(activation="relu", optimizer="Adam")``
        """
        edits: list[Edit] = []
        if any(part is not None for part in (activation, loss, optimizer, model)):
            edits.append(Change(activation, model, loss, optimizer, tuple(numbers.items()), batch_size, sampling))
            numbers, batch_size, sampling = {}, None, None
        if numbers:
            edits.append(SetOptimizer(tuple(numbers.items())))
        edits += _of_samples(batch_size, sampling)
        edits += self._limited({"l1": l1, "l2": l2, "clip_norm": clip_norm, "clip_value": clip_value})
        self._do_all([*edits, *([] if engine is None else [SetEngine(engine)])])

    def _do_all(self, edits: list[Edit]) -> None:
        for edit in edits:
            edit.check(self.hands)
        for edit in edits:
            self.do(edit)

    def _limited(self, limits: dict[str, Any]) -> list[Edit]:
        """The edit that sets those that are not left as they are; none if all are."""
        given = {name: limit for name, limit in limits.items() if not isinstance(limit, AsNow)}
        return [SetLimits(**{**asdict(self.problem.limits), **given})] if given else []

    @property
    def lr(self) -> float:
        """Learning rate of the next step, as its schedule says; setting it is an edit.

        It scales a schedule from here on, or ends it where the schedule's own rate is 0.
        """
        gate = self.gate
        return float(self.optimizer.lr if gate is None or gate.mine() else gate.number("lr"))

    @lr.setter
    def lr(self, lr: float) -> None:
        self.change(lr=lr)

    @property
    def batch_size(self) -> int:
        """Samples a step; setting it is an edit."""
        return self.problem.batch

    @batch_size.setter
    def batch_size(self, batch_size: int) -> None:
        self.change(batch_size=batch_size)

    @property
    def sampling(self) -> Sampling:
        """How the samples of a step are chosen, ``"epochs"`` or ``"replacement"``; setting it is an edit."""
        return self.problem.sampling

    @sampling.setter
    def sampling(self, sampling: Sampling) -> None:
        self.change(sampling=sampling)

    def _optimizer_edited(self, numbers: dict[str, Any], group: int | None) -> None:
        """``optimizer.momentum = 0.9`` while this run trains with it."""
        self.do(SetOptimizer(tuple(numbers.items()), group))

    def _scheduled(self, schedule: Schedule | None) -> None:
        """``StepLR(optimizer, ...)`` while this run trains with it."""
        self.do(SetSchedule(schedule))

    def adopt_engine(self, engine: str, why: str = "asked for") -> None:
        """Go on with another engine from the next step on.

        Between two steps. Weights, gradients, the optimiser's state, frozen flags, data, the order of the samples and
        the history stay as they are; ``run.engine`` says the step since which the new engine computes. It rounds
        differently, so the bits of the steps to come are not those of a run without the change.

        Parameters
        ----------
        engine : {"objects", "numpy", "numba", "cuda"}
        why : str
            What ``run.engine.why`` is to say.

        Raises
        ------
        InputError
            No such engine, or "auto", which chooses once, when a run starts.
        StateError
            The run is closed, or another Run took its weights.
        """
        self.do(SetEngine(engine, why))

    def set_weights(self, start: int, numbers: Sequence[float] | NDArray[Any]) -> None:
        """Set the flat weights from `start` on, between two steps; `Frame.update` stays that of the last step.

        Raises
        ------
        InputError
            Not all of them are weights of this run.
        """
        self.do(SetWeights(start, real_array(numbers, "set_weights: the numbers")))

    def set_numbers(self, weights: Any, **numbers: Any) -> None:
        """Another learning rate, or other numbers of the optimiser, for some weights, from the next step on.

        They become parameter groups of their own; see :class:`~scalarviz.run.edits.SetNumbers`.

        Parameters
        ----------
        weights : Parameter, Weight, slice of a Parameter, or a list of them
        **numbers
            ``lr``, ``momentum``, ``weight_decay``, ...

        Raises
        ------
        InputError, TypeMismatchError
            They are not weights of this run, or none of them is trained, or the optimiser has no such number.

        Examples
        --------
        ``run.set_numbers(net[0].weight, lr=0.001)``, ``run.set_numbers(net[2].weight[:, 0], weight_decay=0.1)``
        """
        self.do(SetNumbers(spans_in(weights, self._tape), numbers))  # type: ignore[arg-type]

    def set_targets(self, targets: ArrayLike) -> None:
        """Train towards other targets (N, n_targets) from the next step on.

        Raises
        ------
        InputError
            Another shape, or numbers that are not finite, or targets that the loss cannot use.
        """
        self.do(SetTargets(real_array(targets, "set_targets: the targets")))

    def add_samples(self, inputs: ArrayLike, targets: ArrayLike) -> None:
        """Learn from more samples as well, from the next step on.

        Parameters
        ----------
        inputs, targets : array_like, shapes (K, n_inputs) and (K, n_targets)
            Of the shapes of the run's data; pictures may come as rows. Files mapped into memory and objects that give
            samples when asked are not copied, as in :class:`~scalarviz.Run`.

        Raises
        ------
        InputError
            Shapes that do not fit, numbers that are not finite, targets that the loss cannot use; nothing is
            changed then.

        Notes
        -----
        Where a batch was all the data it still is, and so grows. Otherwise its size stays, and the order of the
        samples from here on is that of the larger set.
        """
        self.do(AddSamples(*_both(inputs, targets, "add_samples")))

    def refill(self, inputs: ArrayLike, targets: ArrayLike) -> None:
        """Learn from other data (N, n_inputs) and (N, n_targets) instead, from the next step on; any N.

        What may be given is what :meth:`add_samples` takes.

        Raises
        ------
        InputError
            As for :meth:`add_samples`.

        Notes
        -----
        Where a batch was all the data it still is; one that is larger than the new data becomes all of it.
        """
        self.do(Refill(*_both(inputs, targets, "refill")))


def _of_samples(batch_size: int | None, sampling: Sampling | None) -> list[Edit]:
    if sampling is not None:
        return [SetSampling(sampling, batch_size)]
    return [] if batch_size is None else [SetBatchSize(batch_size)]


def _both(inputs: Any, targets: Any, what: str) -> Any:
    named = ((inputs, f"{what}: the inputs"), (targets, f"{what}: the targets"))
    sources = [as_source(given, name) for given, name in named]
    return tuple(s if s is not None else real_array(*given) for s, given in zip(sources, named, strict=True))


def _continued(last: Applied, new: Applied) -> bool:
    return (last.gesture, last.step) == (new.gesture, new.step) and new.edit.continues(last.edit)
