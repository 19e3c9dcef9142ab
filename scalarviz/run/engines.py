"""`Engines`: the part of a run that makes its engine, and moves to another one between two steps."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from functools import cached_property
from typing import Any

from ..engine.arrays.trainer import NumpyTrainer
from ..engine.choose import EngineChoice, choose
from ..engine.objects import ObjectsTrainer
from ..engine.problem import Problem, Trainer
from ..errors import InputError
from .checks import operations
from .training import Training, full_speed


class Engines:
    """Making trainers; the numbers stay where they are, in the problem's arrays."""

    engine: EngineChoice
    problem: Problem
    dtype: str
    loss_function: Callable[..., Any]
    _on_rows: Callable[..., Any]
    _training: Training
    _check_live: Callable[[], None]

    def adopt_engine(self, engine: str, why: str = "asked for") -> None:
        """Go on with another engine from the next step on.

        Between two steps. Weights, gradients, the optimiser's state, frozen flags, data, the order of the samples and
        the history stay as they are; ``run.engine`` says the step since which the new engine computes. It rounds
        differently, so the bits of the steps to come are not those of a run without the change.

        Parameters
        ----------
        engine : {"objects", "numpy", "numba"}
        why : str
            What ``run.engine.why`` is to say.

        Raises
        ------
        InputError
            No such engine, or "auto", which chooses once, when a run starts.
        StateError
            The run is closed, or another Run took its weights.
        """
        self._check_live()
        if engine == "auto":
            raise InputError("adopt_engine: 'auto' chooses when a run starts; name an engine, as 'numba'")
        chosen = choose(engine, self.dtype, operations(self.problem.plan, self.problem.update))
        trainer = self._trainer(chosen.name, self.problem)  # first: if that fails, nothing has changed
        self.engine = replace(chosen, why=why, threads=_threads(trainer), since=self._training.steps)
        self._training.change(trainer)
        self.__dict__.pop("full_speed", None)

    def load_engine(self, engine: str) -> None:
        """Load what `engine` needs, in whatever thread this is, so that :meth:`adopt_engine` is quick."""
        self._trainer(engine, self.problem)

    @cached_property
    def full_speed(self) -> float:
        """Steps a second without interruptions: measured once on a copy, or so far (objects: they have no copy)."""
        if self.engine.name == "objects":
            return self._training.steps_per_second
        return full_speed(self.problem, self._make_trainer)

    def speed_now(self) -> float:
        """:attr:`full_speed`, measured anew."""
        self.__dict__.pop("full_speed", None)
        return self.full_speed

    def _make_trainer(self, problem: Problem) -> Trainer:
        """The run's engine on `problem`."""
        trainer = self._trainer(self.engine.name, problem)
        self.engine = replace(self.engine, threads=_threads(trainer))
        return trainer

    def _trainer(self, engine: str, problem: Problem) -> Trainer:
        if engine == "objects":
            return ObjectsTrainer(problem, self._on_rows, self.loss_function)
        if engine == "numba":
            return _compiled(problem)
        return NumpyTrainer(problem)


def _compiled(problem: Problem) -> Trainer:
    from ..engine.cpu import cache_is_warm

    warm = cache_is_warm(problem.store.value.dtype.name, operations(problem.plan, problem.update))
    # compiling takes a while and leaves cycles behind
    with _collector_paused() if warm else nullcontext():
        from ..engine.cpu import NumbaTrainer

        return NumbaTrainer(problem)


@contextmanager
def _collector_paused() -> Iterator[None]:
    """Loading numba makes a million objects that stay; looking through them for garbage takes a tenth of the time."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _threads(trainer: Trainer) -> int:
    return getattr(trainer, "threads", 1)
