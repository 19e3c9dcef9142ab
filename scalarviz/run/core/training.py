"""`Training`: an engine at work, which splits the steps into calls of a steady duration; and errors of divergence."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import replace
from functools import wraps
from threading import RLock
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from ...engine.problem import NextReadback, Problem, Rates, Trainer, rates_of
from ...errors import DivergedError, InputError, TypeMismatchError
from ...optim import Optimizer
from ...optim._pace import Pace
from ...scalar.store import Store
from ...tape import Tape
from ...tape.half import TOO_LARGE
from .history import History
from .interrupts import DelayedInterrupt
from .optimizer import LossScale, places_of

P = ParamSpec("P")
R = TypeVar("R")
S = TypeVar("S", bound=Any)


def on_training_thread(method: Callable[Concatenate[S, P], R]) -> Callable[Concatenate[S, P], R]:
    """Make a method of a run wait for its turn: a worker that trains calls it between two engine calls.

    The caller gets its result or error. Without a worker, and in the worker's thread, it is called directly.
    """

    @wraps(method)
    def taken(self: S, /, *args: P.args, **kwargs: P.kwargs) -> R:
        gate = self._store.gate_here()
        return method(self, *args, **kwargs) if gate is None else gate.call(lambda: method(self, *args, **kwargs))

    return taken


def exclusive(method: Callable[Concatenate[S, P], R]) -> Callable[Concatenate[S, P], R]:
    """Make a method of a run wait until no other thread is in one; several threads may step or change a run."""

    @wraps(method)
    def held(self: S, /, *args: P.args, **kwargs: P.kwargs) -> R:
        with self._training.turn:
            return method(self, *args, **kwargs)

    return held


def in_turn(method: Callable[Concatenate[S, P], R]) -> Callable[Concatenate[S, P], R]:
    """Combine both: for a method that changes a run, or reads more than one number of it."""
    return on_training_thread(exclusive(method))


# ---- `Training`: an engine at work. It splits the steps into calls and stops when a run diverges


CALL_SECONDS = 0.05
"""Wall time in seconds of an engine call without a view: Ctrl-C and progress are served between calls."""

OVERHEAD = 0.05
"""Largest share of overhead in a call; calls of an engine that copies are made long enough."""
_WORTH = (1 - OVERHEAD) / OVERHEAD
_LONGEST = 1 << 20


def full_speed(
    problem: Problem, make_trainer: Callable[[Problem], Trainer], seconds: float = 0.01, alone: bool = False
) -> float:
    """Return the engine's steps per second without interruption, measured on a copy of the numbers.

    A run that is shown step by step makes calls of one step, so its own speed would mostly measure the calls.
    `alone`: each step is a call of its own, as with a loss scale that the engine does not watch.
    """
    trainer = make_trainer(copied(problem))
    trainer.prepare()  # compiling is not part of a step

    def timed(steps: int) -> float:
        start = time.perf_counter()
        for count in [1] * steps if alone and not trainer.stops else [steps]:
            trainer.snapshot()
            trainer.train(0, count, 0.0)
        return _of_steps(time.perf_counter() - start, trainer)

    count, elapsed = 1, 0.0
    while elapsed < seconds:
        usual = 4 * elapsed
        count *= 4 if elapsed < seconds / 8 else 2
        elapsed = timed(count)
        if elapsed >= seconds and (elapsed < 20 * seconds or 0.0 < 4 * usual < elapsed):
            # another program may have had the processor
            elapsed = min(elapsed, timed(count))
    return count / elapsed


def copied(problem: Problem) -> Problem:
    """Return the same problem with copies of all numbers that steps change."""
    store = Store(len(problem.store.value), problem.store.value.dtype)
    store.value[:], store.frozen[:] = problem.store.value, problem.store.frozen
    state = [array.copy() for array in problem.state]
    return replace(problem, store=store, state=state, previous=problem.previous.copy(), trained=problem.trained.copy())


class Onlooker(Protocol):
    """May make a call of the engine end earlier."""

    def until(self, first: int, losses: NDArray[np.float64], lr: Rates) -> int | None:
        """Return how many steps of a call to keep: of those after `first`, with these losses. None keeps all."""

    def after(self) -> None:
        """Called after the steps of a call, before any other change."""


class Training:
    """Steps of one problem by one engine.

    `loss` and `lr` are those of the last step; NaN and None before the first, and after numbers were loaded. The
    thread that steps or changes the run holds `turn`. A change of the data, or of the flags of frozen weights, sets
    `data_changed` or `flags_changed`; the next step clears them.
    """

    def __init__(
        self, problem: Problem, trainer: Trainer, held: NDArray[np.bool_], pace: Pace, name_of: Callable[[int], str],
        scale: LossScale | None = None,
    ) -> None:  # fmt: skip
        self.problem, self.trainer = problem, trainer
        self.steps = 0
        self.history = History()  # another one after the run takes other numbers
        self.lr: float | None = None
        self.loss = math.nan
        self._update: NDArray[Any] | None = None  # never written to
        self.call_seconds = CALL_SECONDS
        self.data_changed, self.flags_changed = False, True
        self.onlooker: Onlooker | None = None
        self._readback: NextReadback | None = None
        self._revision = problem.store.revision
        self._held, self._name_of, self.pace, self._scale = held, name_of, pace, scale
        self.seconds_a_step = math.inf  # as last measured; infinite before the first
        self._seconds, self._timed = 0.0, 0
        self._t_start = problem.t_start  # before the last call
        self.turn = RLock()

    def change(self, trainer: Trainer) -> None:
        """Continue with another engine; its speed and the length of a call are measured again."""
        self.trainer.next_readback = None
        self.trainer = trainer
        trainer.next_readback = self._readback
        self.seconds_a_step = math.inf
        self._seconds, self._timed = 0.0, 0

    def watch(self, asked: NextReadback | None) -> None:
        """Let an engine with long calls give numbers in the middle of one; None ends that."""
        self._readback = self.trainer.next_readback = asked

    def twin(self, make_trainer: Callable[[Problem], Trainer]) -> Training:
        """Return the same training on copies of all numbers; it does not change this one."""
        problem = copied(self.problem)
        twin = Training(problem, make_trainer(problem), self._held, self.pace.twin(), self._name_of, self._scale)
        twin.steps = self.steps
        return twin

    @property
    def steps_per_second(self) -> float:
        """Speed of the engine so far, without anything else; NaN before its first step."""
        return self._timed / self._seconds if self._seconds > 0 else math.nan

    def update(self) -> NDArray[Any]:
        """Return a copy of the last step's change of the weights."""
        with np.errstate(invalid="ignore", over="ignore"):  # a diverged run holds infinities
            return self.problem.store.value - self.problem.previous if self._update is None else self._update.copy()

    def keep_update(self) -> None:
        """Keep the last step's update, because weights will be set from outside."""
        if self._update is None:
            self._update = self.update()

    @property
    def edited(self) -> bool:
        """True if weights or data changed since the last step, so that its loss does not belong to them."""
        return self.data_changed or self.problem.store.revision != self._revision

    def advance(self, most: int, *, again: bool = False) -> int:
        """Call the engine once for at most `most` steps, as many as fit into `call_seconds`; return how many.

        Ctrl-C, or an error of the model, leaves the numbers of a whole step.
        """
        trainer = self.trainer
        if not trainer.ready:
            trainer.prepare()
        begun = time.perf_counter()
        count = self.problem.read_ahead(self.steps, self._count(trainer, most))
        reading = time.perf_counter() - begun
        count, lr = self._rates(count)
        with DelayedInterrupt() as whole:
            # a single compiled step is never undone, as it ends at the bad step anyhow; repeated steps do not diverge
            several = count > 1 and (not again or self.onlooker is not None)
            kept = several or trainer.breakable or self._scale is not None
            if kept:
                trainer.snapshot()
                self._t_start = self.problem.t_start
            start = time.perf_counter()
            losses = self._called(trainer, count, lr, kept, whole)
            seconds = reading + time.perf_counter() - start
            self.seconds_a_step = _of_steps(seconds, trainer) / len(losses)
            self._seconds, self._timed = self._seconds + seconds, self._timed + len(losses)
            at = None if self.onlooker is None else self.onlooker.until(self.steps, losses, lr)
            if at is not None and at < len(losses):  # steps up to where the onlooker stops are repeated
                self.rewind()
                losses = self._called(trainer, at, lr, True, whole)
            if again:
                self._finish_steps(losses, lr)
            else:
                if not is_finite(trainer, losses):
                    stop_at_divergence(self, kept and count > 1, losses, lr)
                self._book(losses, lr)
        return len(losses)

    def _rates(self, count: int) -> tuple[int, Rates]:
        """Return the rates of the coming steps; of only one if the schedule gives none for later ones."""
        try:
            return count, self.pace.table(count, self.problem.epoch)
        except (InputError, TypeMismatchError):
            if count == 1:
                raise
            return 1, self.pace.table(1, self.problem.epoch)

    def _count(self, trainer: Trainer, most: int) -> int:
        """Return the number of steps of a call; one if only the host can follow a loss scale."""
        if self._scale is not None:
            if not trainer.stops:
                return 1
            most = min(most, self._scale.unchanged(self.problem))
        soonest = self.pace.steps_until_change(self.problem.epoch)
        most = most if soonest is None else min(most, soonest)
        overhead = trainer.call_overhead
        least = math.ceil(_WORTH * overhead / self.seconds_a_step)
        fitting = max((self.call_seconds - overhead) / self.seconds_a_step, least)
        return max(1, min(most, _LONGEST, int(min(fitting, 8.0 * max(1, self._timed)))))

    def _called(
        self, trainer: Trainer, count: int, lr: Rates, kept: bool, whole: DelayedInterrupt
    ) -> NDArray[np.float64]:
        """Return the losses of `count` steps; if they are interrupted, the `kept` numbers are restored."""
        try:
            whole.waits = not trainer.breakable
            losses = self._train(trainer, count, lr)
            whole.waits = True
            if self._scale is not None and len(losses):
                skipped = self._scale.overflows(self.problem)
                if skipped and not trainer.stops:
                    self._undo(trainer)
                self._scale.follow(self.problem, len(losses) - skipped, skipped=skipped)
        except BaseException:
            whole.waits = True
            if kept:
                self.rewind()
            raise
        return losses

    def _undo(self, trainer: Trainer) -> None:
        """Undo a step whose gradient float16 cannot hold; the gradient stays visible."""
        gradient = self.problem.store.grad.copy()
        trainer.rewind()
        self.problem.store.grad[:] = gradient
        self.problem.previous[:] = self.problem.store.value

    def rewind(self) -> None:
        """Return to where the last call began."""
        self.trainer.rewind()
        self.problem.t_start = self._t_start

    def _train(self, trainer: Trainer, count: int, lr: Rates) -> NDArray[np.float64]:
        self.take_flags()
        self.problem.undoes = self._scale is not None and self._scale.skips(self.problem)
        return trainer.train(self.steps, count, rates_of(lr, 0, count))

    def take_flags(self) -> None:
        """Let changed flags of frozen weights take effect, as the next step does."""
        if self.flags_changed:
            self.problem.trained = self._held & (self.problem.store.frozen == 0)
            self.flags_changed = False

    def _book(self, losses: NDArray[np.float64], lr: Rates) -> None:
        self.history.extend(self.steps, losses, lr[: len(losses), 0] if isinstance(lr, np.ndarray) else lr)
        self._finish_steps(losses, lr)

    def first(self, flags: NDArray[np.bool_]) -> tuple[int, str] | None:
        """Return index and name of the first flat number with a flag."""
        found = np.flatnonzero(flags)
        return (int(found[0]), self._name_of(int(found[0]))) if len(found) else None

    def set_position(self, step: int, loss: float = math.nan, lr: float | None = None) -> None:
        """Note that the numbers are those after `step`; the caller sets the matching history."""
        self.steps, self.loss, self.lr = step, loss, lr

    def _finish_steps(self, losses: NDArray[np.float64], lr: Rates) -> None:
        self.problem.store.computed[: self.problem.n_weights] = 1
        last = float(lr[len(losses) - 1, 0]) if isinstance(lr, np.ndarray) else lr
        self.loss, self.lr, self._update = float(losses[-1]), last, None
        self.steps += len(losses)
        self.data_changed, self._revision = False, self.problem.store.revision
        self.pace.advance(losses, self.problem.epoch)
        if self.onlooker is not None:
            self.onlooker.after()


def _of_steps(seconds: float, trainer: Trainer) -> float:
    """Return the time of a call's steps. The overhead is not exactly known, so at least a share counts as theirs."""
    return max(seconds - trainer.call_overhead, OVERHEAD * seconds)


# ---- Divergence: a loss or weight is NaN or infinite. Find the step, describe it, and the way back.


BINARY = "binary_cross_entropy"
PROBABILITIES = (
    "BCELoss takes probabilities from 0 to 1, and an output is outside; use nn.BCEWithLogitsLoss() for raw outputs, or "
    "end the network in nn.Sigmoid()"
)


def is_finite(trainer: Trainer, losses: NDArray[np.float64]) -> bool:
    """Return whether all numbers after a call are finite."""
    good = math.isfinite(losses[0]) if len(losses) == 1 else bool(np.isfinite(losses).all())
    return good and trainer.finite()


def stop_at_divergence(training: Training, kept: bool, losses: NDArray[np.float64], lr: Rates) -> None:
    """Replay a call up to its first step with a loss or weight that is not finite (the same bits), then raise."""
    bad = np.flatnonzero(~np.isfinite(losses))
    last = int(bad[0]) + 1 if len(bad) else len(losses)
    given = training.problem.previous
    trainer = training.trainer
    for count in range(max(1, last - 1), last + 1) if kept else ():
        training.rewind()
        given = training.problem.store.value.copy()
        losses = training._train(trainer, count, lr)  # a bad update shows in the next step's loss
        if not is_finite(trainer, losses):
            break
    training._book(losses, lr)
    said = f"training diverged at step {training.steps}: the loss is {losses[-1]:g}{_first(training)}"
    ops = {step.op for step in training.problem.plan.body.instructions}
    if math.isnan(losses[-1]) and np.isfinite(given).all() and BINARY in ops:
        raise DivergedError(f"{said}. {PROBABILITIES}")
    raise diverged(training, said, given, float(training.lr if training.lr is not None else math.nan))


def _first(training: Training) -> str:
    """Return words for the first number that is not finite: a weight, otherwise a statistic of the batches."""
    values = training.problem.store.value
    wrong = training.first(~np.isfinite(values))
    if wrong is None:
        return ""
    at, name = wrong
    if at < training.problem.n_weights:
        return f"; the first weight that is not finite is {name}"
    found = f"but {name} became {values[at]:g}"
    return f"; the weights are finite, {found}: the samples are too large for {values.dtype}; scale the inputs"


def diverged(training: Training, said: str, given: NDArray[Any], lr: float) -> DivergedError:
    """Return the error for a step that was taken at the weights `given`, with the way back.

    A NaN in the gradient spreads to the optimiser's state, which setting a weight does not repair.
    """
    problem, scale = training.problem, training._scale
    spoilt = np.any([np.isnan(array) for array in problem.state], axis=0) & problem.trained
    if (wrong := training.first(~np.isfinite(given))) is not None:
        said = f"{said}. {wrong[1]} was {given[wrong[0]]:g} before that step"
        if spoilt.any():
            return DivergedError(f"{said}; the optimiser's state now contains NaN", spoilt=True)
        return DivergedError(f"{said}; set it to a number, or load other weights")
    large = training.first(np.abs(given[: problem.n_weights]) >= TOO_LARGE)
    if scale is not None and large is not None:
        return DivergedError(
            f"{said}. {large[1]} was {given[large[0]]:g} before that step, but float16 holds numbers up to 65,504; set "
            'it to a smaller number, or use dtype="float32"'
        )
    if (before := training.first(spoilt & np.isfinite(problem.store.grad))) is not None:
        return DivergedError(f"{said}. The optimiser's state of {before[1]} was nan before that step", spoilt=True)
    said += f". lr is {lr:g}"
    if scale is not None and scale.fixed and not np.isfinite(problem.store.grad).all():
        now = int(scale.numbers(problem)[0])
        said += f", and a fixed loss_scale={now:,} stays when a gradient overflows; use loss_scale='dynamic'"
    # the way back: the last step with a loss no larger than the first; just before now it may be huge
    steps, losses = training.history.step, training.history.loss
    good = training.steps if np.isnan(losses[0]) else int(steps[np.flatnonzero(losses <= losses[0])[-1]])
    return DivergedError(said, good - 1)


def hand_back(optimizer: Optimizer, tape: Tape, problem: Problem, training: Training) -> None:
    """Give the optimiser the state and step count of a run, so that a hand-written loop can continue."""
    places = places_of(optimizer, tape)
    named = zip(optimizer.state, problem.state, strict=True)
    state = {name: flat[places].astype(np.float64) for name, flat in named}
    optimizer.receive(problem.t_start + training.steps, state)
