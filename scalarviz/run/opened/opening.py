"""`Opening`: the part of a run that opens steps."""

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
from ...errors import InputError, TypeMismatchError, shown
from ...optim import Optimizer
from ...scalar.store import Gate, Store
from ...tape import Tape
from ..checks import check_targets
from ..forward import Forward
from ..frame import Frame, Tensor
from ..limited import limited_rule
from ..samples import Shape, fitting
from ..timeline import Timeline
from ..training import Training
from ..turns import in_turn
from .network import Network
from .opened import Opened
from .taken import Own, Taken

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
