"""`Engines`: the part of a run that makes its engine, and moves to another one between two steps."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from functools import cached_property

from ..collecting import collection_paused
from ..engine.outside import Outside
from ..engine.problem import Problem, Trainer
from ..engine.table import ENGINES, EngineChoice, find
from ..errors import DeviceLostError, DeviceMemoryError, ScalarvizError, listing
from ..tape import Tape
from .core.graph import Graph
from .core.loss_scale import LossScale
from .core.training import Training, full_speed
from .questions.breakpoints import Breakpoints


class Engines:
    """Making trainers; the numbers stay where they are, in the problem's arrays."""

    _choice: EngineChoice
    breakpoints: Breakpoints
    problem: Problem
    dtype: str
    _graph: Graph
    _loss_scale: LossScale | None
    _training: Training
    lr: float
    _tape: Tape
    _told_modes: Tape | None = None
    """The graph of which was said that its modules are in another mode now."""

    @property
    def engine(self) -> EngineChoice:
        """Which engine trains, and why; what that engine remarks of how it works just now stands behind the reason."""
        choice, training = self._choice, self.__dict__.get("_training")
        if training is None:
            return choice
        data = self.problem.data
        changed = data.remark if isinstance(data, Outside) else ""
        remarks = (choice.why, training.trainer.remark, changed, training.pace.remark, self.breakpoints.remark)
        said = "; ".join(filter(None, remarks))
        return choice if said == choice.why else replace(choice, why=said)

    def _go_on_with(self, engine: str, why: str) -> None:
        """The engine of a name, on the same numbers; if it cannot be made, nothing has changed."""
        self._training.trainer.release()  # room for the other one
        trainer = self._trainer(engine, self.problem)
        trainer.prepare()
        self._choice = EngineChoice(engine, why, threads=_threads(trainer), since=self._training.steps)
        self._training.change(trainer)
        self.__dict__.pop("full_speed", None)

    def _advance(self, most: int) -> int:
        """One call of the engine, of at most so many steps; returns how many were done.

        Where a device breaks off in it, another engine does it: the numbers are those of the call before.
        """
        if self._tape.modes:
            self._tell_modes(self._tape)
        try:
            return self._training.advance(most)
        except DeviceLostError as error:
            self._go_on_without(error)
        return self._training.advance(most)

    def _tell_modes(self, tape: Tape) -> None:
        """Say once that a module is no longer in the mode in which it was recorded."""
        other = [] if self._told_modes is tape else [module for module in tape.modes if not module.training]
        if not other:
            return
        self._told_modes, kinds = tape, listing(sorted({type(module).__name__ for module in other}))
        said = (
            f"eval() was called since the run was made ({kinds}): the run trains on as it was made, predictions are "
            "in eval() anyhow. run.change(model=net) takes the modes of now, net.train() ends this"
        )
        warnings.warn_explicit(said, RuntimeWarning, "scalarviz", 0)

    def _go_on_without(self, lost: DeviceLostError) -> None:
        """An engine of the processor goes on: this process cannot use the device any more."""
        name = "numpy" if ENGINES["numba"].missing(0) else "numba"
        why = f"{self._choice.name} computed {self._training.steps:,} steps before, then {lost}"
        self.adopt_engine(name, why)  # type: ignore[attr-defined]  # a Run has it from Editing
        warnings.warn_explicit(f"{name} goes on with the training: {why}", RuntimeWarning, "scalarviz", 0)

    @property
    def ready(self) -> bool:
        """Whether the first step begins at once; else kernels have to be compiled or loaded before it."""
        return self._training.trainer.ready

    def prepare(self, stopped: Callable[[], bool] = lambda: False) -> None:
        """Compile and load the engine's kernels now; else the first step does it.

        Parameters
        ----------
        stopped : callable
            Asked ten times a second whether to give it up.

        Raises
        ------
        StateError
            It was given up.
        """
        self._training.trainer.prepare(stopped)

    @cached_property
    def full_speed(self) -> float:
        """Steps a second without interruptions: measured once on a copy, or so far (objects: they have no copy)."""
        if self.engine.name == "objects":
            return self._training.steps_per_second
        try:
            return full_speed(self.problem, self._make_trainer, alone=self._loss_scale is not None)
        except DeviceLostError as error:
            self._go_on_without(error)
        except DeviceMemoryError:
            self._training.trainer.release()  # two of them do not fit; the next call takes it again
        return full_speed(self.problem, self._make_trainer, alone=self._loss_scale is not None)

    def _first_trainer(self, problem: Problem) -> Trainer:
        """The run's engine, or what ``"auto"`` takes instead where a GPU is there and cannot be used."""
        try:
            return self._make_trainer(problem)
        except ScalarvizError as error:
            instead = self._choice.instead
            if instead is None:
                raise
            self._choice = replace(instead, why=f"{instead.why}; the GPU cannot be used: {error}")
            return self._make_trainer(problem)

    def _make_trainer(self, problem: Problem) -> Trainer:
        """The run's engine on `problem`."""
        try:
            trainer = self._trainer(self._choice.name, problem)
        except DeviceLostError as error:
            if "_training" not in self.__dict__:  # nothing to go on with
                raise
            self._go_on_without(error)
            trainer = self._trainer(self._choice.name, problem)
        self._choice = replace(self._choice, threads=_threads(trainer))
        return trainer

    @collection_paused()
    def _trainer(self, engine: str, problem: Problem) -> Trainer:
        entry, device = find(engine)
        return entry.make(problem, self._graph.on_rows, self._graph.part, device)


def _threads(trainer: Trainer) -> int:
    return getattr(trainer, "threads", 1)
