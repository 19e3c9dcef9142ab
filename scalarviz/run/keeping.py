"""`Keeping`: the part of a run that gives its numbers by name, takes them back, and has them on disk."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..checks import flag, mapping
from ..engine.problem import Problem
from ..errors import TypeMismatchError
from ..optim import Optimizer
from ..optim._pace import PaceMoment
from ..scalar.store import Store
from . import state
from .checkpoint import Checkpoint, Rule, load_run, names_kept, put_rule, save_run
from .checks import steps_of
from .core.gather import constants_of, without_constants
from .core.graph import Graph
from .core.loss_scale import NAME, LossScale
from .core.optimizer import by_name, restore
from .core.signals import Whole
from .core.training import Training, in_turn
from .past.timeline import Timeline
from .state import State


class Keeping:
    """State dicts and files."""

    model: Callable[..., Any]
    optimizer: Optimizer
    problem: Problem
    _graph: Graph
    _loss_scale: LossScale | None
    timeline: Timeline
    _store: Store
    _training: Training
    _check_live: Callable[[], None]
    _check_stands: Callable[[], None]

    @in_turn
    def state_dict(self) -> dict[str, NDArray[Any]]:
        """Every tensor, and the model's buffers, by name (copies)."""
        return {t.name: t.stored(self._store.value) for t in self._graph.kept} | constants_of(self.model)

    @in_turn
    def optimizer_state(self) -> dict[str, NDArray[Any]]:
        """The optimiser's state by ``"<state>.<tensor>"`` (copies)."""
        return by_name(self.optimizer, self.problem.state, self._graph.kept)

    @in_turn
    def restore(
        self,
        tensors: dict[str, NDArray[Any]],
        optimizer_state: dict[str, NDArray[Any]],
        steps: int,
        pace: PaceMoment | None = None,
    ) -> None:
        """Take over saved values (by name, all of them), optimiser state and step count; `pace`: rates and schedule.

        Raises
        ------
        InputError
            Lists every missing, unexpected and misshapen tensor at once; or a number is not finite, or too large for
            the run's dtype. Nothing is changed then.

        Notes
        -----
        This is a branch of its own: what was computed before stays in ``run.branches``, and ``run.undo()`` returns.
        """
        self._restore(tensors, optimizer_state, steps, pace)

    @in_turn
    def _restore(
        self, tensors: dict[str, NDArray[Any]], optimizer_state: dict[str, NDArray[Any]], steps: int,
        pace: PaceMoment | None = None, rule: Rule | None = None,
    ) -> None:  # fmt: skip
        """The same, training by the rule of a file."""
        self._check_live()
        steps = steps_of(steps)
        mapping(tensors, "restore: the tensors")
        mapping(optimizer_state, "restore: the optimiser's state")
        if pace is not None and not isinstance(pace, PaceMoment):
            raise TypeMismatchError(f"restore: pace is optimizer.lr_pace.moment(), got {type(pace).__name__}")
        with Whole(), self.timeline.jump(f"loaded step {steps:,}"):
            before = state.give(self, () if rule is None else ("limits", "optimizer", "weights"))  # type: ignore[arg-type]
            try:
                if rule is not None:
                    put_rule(self, rule)  # type: ignore[arg-type]  # a Run is the only Keeping
                targets = {"": self._store.value}
                if optimizer_state:
                    targets |= {f"{n}.": a for n, a in zip(self.optimizer.state, self.problem.state, strict=True)}
                tensors = self._with_own_scale(without_constants(self.model, tensors))
                restore(self._graph.kept, targets, {**tensors, **optimizer_state})
            except BaseException:
                state.put(self, before)  # type: ignore[arg-type]
                raise
            self.problem.previous[:], self._training._update = self._store.value, None
            self._store.revision += 1
            self._training.stands_at(steps)
            if pace is not None:
                self.optimizer.lr_pace.put(pace)

    def _with_own_scale(self, tensors: dict[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
        """Saved values with the loss scale of now where it is fixed or they have none; without one if nobody has it."""
        own = [tensor.stored(self._store.value) for tensor in self._graph.kept if tensor.name == NAME]
        if self._loss_scale is None:
            return tensors if own else {name: array for name, array in tensors.items() if name != NAME}
        (now,) = own
        saved = tensors.get(NAME, now)
        fixed = self._loss_scale.fixed and np.shape(saved) == now.shape
        return {**tensors, NAME: np.array([now[0], *saved[1:]]) if fixed else saved}

    @in_turn
    def state(self) -> State:
        """All that the run is now, to go back to with :meth:`take`."""
        self._check_stands()
        self.timeline.enter()
        moment = state.give(self)  # type: ignore[arg-type]  # a Run is the only Keeping
        return replace(moment, place=self.timeline.settled_place())

    @in_turn
    def take(self, moment: State) -> None:
        """Go back to a state of this run: the next steps have the same bits as those that followed it.

        Raises
        ------
        InputError
            It is of another run; nothing is changed then.
        StateError
            The run is closed, or another Run took its weights.

        Notes
        -----
        The next steps are on a branch of their own; what was computed since stays in ``run.branches``.

        Examples
        --------
        ``before = run.state(); run.step(100); run.take(before)``
        """
        self._check_live()
        place = getattr(moment, "place", None)  # whatever was given: `take` says what is wrong with it
        with Whole(), self.timeline.jump("back to a state", place):
            state.take(self, moment)  # type: ignore[arg-type]

    @in_turn
    def save(self, path: str | Path, notes: Mapping[str, str] | None = None) -> None:
        """Write weights, optimiser state and step as they are where the run stands, in the past too.

        See :func:`scalarviz.run.checkpoint.save_run`; ``run.to(run.span[1])`` goes to the newest step first.
        """
        save_run(self, path, notes)  # type: ignore[arg-type]  # a Run is the only Keeping

    def names_kept(self) -> tuple[str, ...]:
        """What `keep` of :meth:`load` may name: the optimiser's numbers, limits and ``"schedule"``."""
        return names_kept(self.optimizer)

    @in_turn
    def load(self, path: str | Path, *, optimizer: bool = True, keep: Collection[str] = ()) -> Checkpoint:
        """Go on from a file; see :func:`scalarviz.run.checkpoint.load_run`."""
        return load_run(self, path, optimizer=flag(optimizer, "load: optimizer"), keep=keep)  # type: ignore[arg-type]
