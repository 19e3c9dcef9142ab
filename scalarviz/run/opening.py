"""A run opens a step, and answers why a weight moved and which moved most. It stands afterwards where it stood."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..checks import integer, position
from ..engine.data import Data
from ..errors import InputError, StateError, TypeMismatchError, shown
from ..scalar.weight import Weight
from .checks import check_targets, fitting, limited_rule
from .core.frame import Frame
from .core.gather import index_of
from .core.training import in_turn
from .opened.network import Network
from .opened.opened import Opened
from .opened.passes import Own, Taken
from .opened.why import Comparison, Why, compared, say
from .opened.why import why as terms_of

if TYPE_CHECKING:
    from .run import Run

Sample = int | tuple[ArrayLike, ArrayLike]


@in_turn
def to_open(run: Run, frame: Frame | None, sample: Sample | None, step: int | None) -> Taken:
    """What a step is opened from: copies of its numbers; the run goes back to it and returns."""
    run._check_live()
    run.timeline.enter()
    if step is None:
        return taken_here(run, frame, sample)
    if frame is not None:
        raise InputError("open: a frame says which step is meant; give a frame or a step")
    step = integer("open: step", step, 0)
    first, newest = run.timeline.span
    if not first < step <= newest + 1:
        raise InputError(
            f"open: there is no step {shown(step)}; allowed: {first + 1:,} to {newest + 1:,}, the coming one"
        )
    own = None
    with _returning(run):
        if step <= newest:
            run.timeline.to(step)
            own = _of_the_engine(run)
        run.timeline.to(step - 1)
        return replace(taken_here(run, None, sample), own=own)


@contextmanager
def _returning(run: Run) -> Iterator[None]:
    """Whatever is done inside, the run stands afterwards where it stood."""
    here = run._training.steps
    try:
        yield
    finally:
        run.timeline.to(here)


def _of_the_engine(run: Run) -> Own:
    store = run._store
    return Own(run._training.trainer.name, run._training.loss, store.grad.copy(), store.value.copy())


def taken_here(run: Run, frame: Frame | None, sample: Sample | None) -> Taken:
    """Copies of what there is now."""
    problem, training, store, optimizer = run._problem, run._training, run._store, run.optimizer
    before, values, frozen = training.steps, store.value, store.frozen != 0
    lr = float(optimizer.lr)
    if frame is not None:
        before, values, frozen = _of_frame(run, frame)
        if before != training.steps and frame.next_lr is not None:
            lr = frame.next_lr
    here = before == training.steps or not optimizer.state
    data, batch, columns = _samples_of(run, before, sample)
    return Taken(
        step=before + 1,
        lr=lr,
        t=float(problem.t_start + before + 1),
        values=values.copy(),
        state={n: a.copy() for n, a in zip(optimizer.state, problem.state, strict=True)} if here else None,
        skips=run._loss_scale is not None and run._loss_scale.skips(problem),
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
        tensors=run.tensors,
        network=_opened_network(run),
        seed=problem.seed,
        beside=None if sample is None else _beside(run, before),
    )


def _beside(run: Run, before: int) -> NDArray[Any] | None:
    """Inputs and targets of the step's own batch, where a sample is normalised by it."""
    problem, tape = run._problem, run._tape
    if not problem.plan.body.couples:
        return None
    samples, columns = problem.samples_of(before)
    numbers = samples.head(tape.n_inputs + tape.n_targets)
    return numbers[:].copy() if columns is None else numbers[:, columns]


def _of_frame(run: Run, frame: Any) -> tuple[int, NDArray[Any], NDArray[np.bool_]]:
    if not isinstance(frame, Frame):
        raise TypeMismatchError(f"open: frame must be a Frame of this run, got {type(frame).__name__} {shown(frame)}")
    if frame.values.shape != run._store.value.shape:
        raise InputError(
            f"open: the frame has {frame.values.size} weights, this run {len(run._store.value)}; take run.frame()"
        )
    return frame.step, frame.values, frame.frozen


def _samples_of(run: Run, before: int, sample: Any) -> tuple[Data, NDArray[np.int64], NDArray[np.int64] | None]:
    """Data, the numbers of the batch's samples, and which columns of the data they are."""
    problem, tape = run._problem, run._tape
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
    x = fitting([sample[0]], run._shapes[0], "open: the inputs of sample")
    y = fitting([sample[1]], run._shapes[1], "open: the targets of sample")
    check_targets(run.loss_function, y, tape)
    run._trained.ids.check("open", x, y)
    one = Data(data.dtype, np.concatenate([x, y], axis=1).T.astype(data.dtype))
    return one, np.array([-1]), None


def _opened_network(run: Run) -> Network:
    """The programs, made when the first step is opened, and anew for another model."""
    if run._network is None or run._network.tape is not run._tape:
        forward = run._trained
        stages = list(zip(forward.stages, forward._taps, strict=True))
        run._network = Network(run._tape, stages, lambda: forward._loss_runner)
    return run._network


def why(run: Run, weight: Weight | str | int, step: int | None) -> Why:
    """Say why a weight moved; see :meth:`scalarviz.Run.why`."""
    index = index_of(run.tensors, run._tape.blocks, weight)
    if step is None:
        step = max(run._training.steps, run.timeline.span[0] + 1)
    opened = Opened(to_open(run, None, None, step))
    if opened.tape is not run._tape:
        raise StateError(f"why: step {step:,} was done with another model; go there first (run.to)")
    found = terms_of(opened, index)
    say(str(found))
    return found


@in_turn
def compare(run: Run, step_a: int, step_b: int, most: int) -> Comparison:
    """Which weights moved most between two steps; see :meth:`scalarviz.Run.compare`."""
    run._check_live()
    steps = integer("compare: step_a", step_a, 0), integer("compare: step_b", step_b, 0)
    most = integer("compare: most", most, 0)
    run.timeline.enter()
    first, newest = run.timeline.span
    wrong = [step for step in steps if not first <= step <= newest]
    if wrong:
        raise InputError(f"compare: there is no step {wrong[0]:,}; allowed: {first:,} to {newest:,}")
    found: dict[int, tuple[NDArray[Any], float]] = {}
    with _returning(run):
        for step in sorted(set(steps)):
            run.timeline.to(step)
            found[step] = run._store.value.copy(), run._training.loss
    if len({len(values) for values, _ in found.values()}) > 1:
        raise StateError(f"compare: the model was changed between step {min(steps):,} and step {max(steps):,}")
    (a, loss_a), (b, loss_b) = (found[step] for step in steps)
    return compared(steps, (a, b), (loss_a, loss_b), run.tensors, most)
