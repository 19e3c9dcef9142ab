"""The parts of a run that open steps, and that answer why a weight moved and which moved most."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...checks import integer, position
from ...engine.data import Data
from ...engine.problem import Problem
from ...errors import InputError, StateError, TypeMismatchError, shown
from ...optim import Optimizer
from ...scalar.store import Gate, Store
from ...scalar.weight import Weight
from ...tape import Tape
from ..checks import Shape, check_targets, fitting, limited_rule
from ..core.forward import Forward
from ..core.frame import Frame, Tensor
from ..core.gather import index_of
from ..core.training import Training, in_turn
from ..past.timeline import Timeline
from .network import Network
from .opened import Opened
from .passes import Own, Taken
from .why import MOST, Comparison, Why, compared, say, why

Sample = int | tuple[ArrayLike, ArrayLike]


class Opening:
    """Steps that are looked into. The run changes in no bit."""

    gate: Gate | None
    loss_function: Callable[..., Any]
    optimizer: Optimizer
    problem: Problem
    tensors: tuple[Tensor, ...]
    timeline: Timeline
    _check_live: Callable[[], None]
    _trained: Forward
    _shapes: tuple[Shape, Shape]
    _store: Store
    _tape: Tape
    _training: Training
    _network: Network | None = None

    def open(self, frame: Frame | None = None, sample: Sample | None = None, *, step: int | None = None) -> Opened:
        """A step with every number on the way, computed beside the run: the coming one, or any that was done.

        Parameters
        ----------
        frame : Frame, optional
            Open the step that follows this frame, at its weights and with the batch of that step; default: the one
            that comes now. What the optimiser keeps is known at the run's own step alone.
        sample : int or (x, y), optional
            A trial step with this sample alone: its number in the data, or inputs (n_inputs,) and targets (n_targets,).
            Means over the batch are those of the step's own batch then, as numbers that stand still.
        step : int, optional
            Which step, from 1: one that was done on this branch, or the coming one. The run goes back to it and
            returns: it stands as before, bit for bit.

        Returns
        -------
        Opened

        Raises
        ------
        InputError
            A frame of another run, a sample that does not fit, no such step, or a frame and a step.
        StateError
            The run is closed, another one has its weights, or the step is kept no longer.

        Notes
        -----
        Beside a training thread the numbers are copied between two calls of the engine; the passes are computed in
        the thread that asks. They are float64, all samples of the batch, in blocks: the memory is bounded.
        """
        return Opened(self._to_open(frame, sample, step), trial=sample is not None)

    @in_turn
    def _to_open(self, frame: Frame | None, sample: Sample | None, step: int | None) -> Taken:
        self._check_live()
        self.timeline.enter()
        if step is None:
            return self._taken_here(frame, sample)
        if frame is not None:
            raise InputError("open: a frame says which step is meant; give a frame or a step")
        step = integer("open: step", step, 0)
        first, newest = self.timeline.span
        if not first < step <= newest + 1:
            raise InputError(
                f"open: there is no step {shown(step)}; allowed: {first + 1:,} to {newest + 1:,}, the coming one"
            )
        own = None
        with self._returning():
            if step <= newest:
                self.timeline.to(step)
                own = self._of_the_engine()
            self.timeline.to(step - 1)
            return replace(self._taken_here(None, sample), own=own)

    @contextmanager
    def _returning(self) -> Iterator[None]:
        """Whatever is done inside, the run stands afterwards where it stood."""
        here = self._training.steps
        try:
            yield
        finally:
            self.timeline.to(here)

    def _of_the_engine(self) -> Own:
        store = self._store
        return Own(self._training.trainer.name, self._training.loss, store.grad.copy(), store.value.copy())

    def _taken_here(self, frame: Frame | None, sample: Sample | None) -> Taken:
        """Copies of what there is now."""
        problem, training, store, optimizer = self.problem, self._training, self._store, self.optimizer
        before, values, frozen = training.steps, store.value, store.frozen != 0
        lr = float(optimizer.lr)
        if frame is not None:
            before, values, frozen = self._of_frame(frame)
            if before != training.steps and frame.next_lr is not None:
                lr = frame.next_lr
        here = before == training.steps or not optimizer.state
        data, batch, columns = self._samples_of(before, sample)
        return Taken(
            step=before + 1,
            lr=lr,
            t=float(problem.t_start + before + 1),
            values=values.copy(),
            state={n: a.copy() for n, a in zip(optimizer.state, problem.state, strict=True)} if here else None,
            trained=training._held & ~frozen,
            frozen=frozen,
            data=data,
            batch=batch,
            columns=columns,
            arithmetic=np.dtype(np.float64) if training.trainer.name == "objects" else values.dtype,
            reduction=problem.reduction,
            share=problem.share,
            optimizer=type(optimizer).__name__,
            state_names=tuple(optimizer.state),
            rules=tuple((limited_rule(rule, problem.limits), tuple(rule.state)) for rule in optimizer.rules_now()),
            of_group=problem.columns,
            rates=(*optimizer.lr_pace.rates[1:], *optimizer.lr_pace.momenta),
            limits=problem.limits,
            update=problem.update,
            tensors=self.tensors,
            network=self._opened_network(),
            seed=problem.seed,
            beside=None if sample is None else self._beside(before),
        )

    def _beside(self, before: int) -> NDArray[Any] | None:
        """Inputs and targets of the step's own batch, where a sample is normalised by it."""
        problem, tape = self.problem, self._tape
        if not problem.plan.body.couples:
            return None
        samples, columns = problem.samples_of(before)
        numbers = samples.head(tape.n_inputs + tape.n_targets)
        return numbers[:].copy() if columns is None else numbers[:, columns]

    def _of_frame(self, frame: Any) -> tuple[int, NDArray[Any], NDArray[np.bool_]]:
        if not isinstance(frame, Frame):
            raise TypeMismatchError(
                f"open: frame must be a Frame of this run, got {type(frame).__name__} {shown(frame)}"
            )
        if frame.values.shape != self._store.value.shape:
            raise InputError(
                f"open: the frame has {frame.values.size} weights, this run {len(self._store.value)}; take run.frame()"
            )
        return frame.step, frame.values, frame.frozen

    def _samples_of(self, before: int, sample: Any) -> tuple[Data, NDArray[np.int64], NDArray[np.int64] | None]:
        """Data, the numbers of the batch's samples, and which columns of the data they are."""
        problem, tape = self.problem, self._tape
        data, numbers = problem.data, tape.n_inputs + tape.n_targets
        if sample is None:
            samples, columns = problem.samples_of(before)
            return samples.head(numbers), problem.indices(before), columns
        if isinstance(sample, int | np.integer):
            place = np.array([position(sample, data.shape[1], "open: sample")])
            return Data(data.dtype, data[:numbers, place]), place, None
        if not isinstance(sample, list | tuple) or len(sample) != 2:
            raise TypeMismatchError(
                f"open: sample must be the number of one, or a pair (x, y), got {type(sample).__name__} {shown(sample)}"
            )
        x = fitting([sample[0]], self._shapes[0], "open: the inputs of sample")
        y = fitting([sample[1]], self._shapes[1], "open: the targets of sample")
        check_targets(self.loss_function, y, tape)
        self._trained.ids.check("open", x, y)
        one = Data(data.dtype, np.concatenate([x, y], axis=1).T.astype(data.dtype))
        return one, np.array([-1]), None

    def _opened_network(self) -> Network:
        """The programs, made when the first step is opened, and anew for another model."""
        if self._network is None or self._network.tape is not self._tape:
            forward = self._trained
            stages = list(zip(forward.stages, forward._taps, strict=True))
            self._network = Network(self._tape, stages, lambda: forward._loss_runner)
        return self._network


class Asking(Opening):
    """Questions whose answers are tables. The run stands afterwards where it stood, bit for bit."""

    def why(self, weight: Weight | str | int, step: int | None = None) -> Why:
        """Print why a weight moved: the terms of its gradient, their sum, the optimiser's rule with every number.

        Parameters
        ----------
        weight : Weight, str or int
            ``net[0].weight[2][1]``, ``"0.weight[2][1]"``, or its flat index.
        step : int, optional
            Which step, from 1: one that was done on this branch, or the coming one. Default: the last one; before the
            first, the first.

        Returns
        -------
        Why
            What was printed, as numbers.

        Raises
        ------
        InputError
            There is no such weight here, or no such step.
        StateError
            The run is closed, or the step is kept no longer.

        Notes
        -----
        The run goes back to the step and returns: it stands as before, bit for bit.
        """
        index = index_of(self.tensors, self._tape.blocks, weight)
        if step is None:
            step = max(self._training.steps, self.timeline.span[0] + 1)
        opened = self.open(step=step)
        if opened.tape is not self._tape:
            raise StateError(f"why: step {step:,} was done with another model; go there first (run.to)")
        found = why(opened, index)
        say(str(found))
        return found

    @in_turn
    def compare(self, step_a: int, step_b: int, most: int = MOST) -> Comparison:
        """Which weights moved most between two steps of this branch.

        Parameters
        ----------
        step_a, step_b : int
            In ``run.span``, in either order.
        most : int
            How many weights have a row of their own.

        Returns
        -------
        Comparison
            ``print`` it for a table.

        Raises
        ------
        InputError
            There is no such step.
        StateError
            The run is closed, or a step is kept no longer.

        Notes
        -----
        The run goes to both and returns: it stands as before, bit for bit.
        """
        self._check_live()
        steps = integer("compare: step_a", step_a, 0), integer("compare: step_b", step_b, 0)
        most = integer("compare: most", most, 0)
        self.timeline.enter()
        first, newest = self.timeline.span
        wrong = [step for step in steps if not first <= step <= newest]
        if wrong:
            raise InputError(f"compare: there is no step {wrong[0]:,}; allowed: {first:,} to {newest:,} (run.span)")
        found: dict[int, tuple[NDArray[Any], float]] = {}
        with self._returning():
            for step in sorted(set(steps)):
                self.timeline.to(step)
                found[step] = self._store.value.copy(), self._training.loss
        if len({len(values) for values, _ in found.values()}) > 1:
            raise StateError(f"compare: the model was changed between step {min(steps):,} and step {max(steps):,}")
        (a, loss_a), (b, loss_b) = (found[step] for step in steps)
        return compared(steps, (a, b), (loss_a, loss_b), self.tensors, most)
