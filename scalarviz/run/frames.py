"""Frames and numbers of a run: forward passes beside it, opened steps, and why a weight moved.

`PendingCall` and `FrameRequest` carry a request from one thread to another that trains.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import Future, InvalidStateError
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..checks import integer, position
from ..engine.data import Data
from ..engine.outside import Outside
from ..engine.problem import Midway, Problem
from ..errors import InputError, StateError, TypeMismatchError, shown, typed
from ..scalar.number import at_least_zero
from ..scalar.weight import Weight
from ..tape import Tape
from .core.frame import Coming, Frame, Units
from .core.gather import index_of
from .core.graph import Forward
from .core.optimizer import float16_weights
from .core.setup import Setup, setup_of
from .core.training import Training, in_turn
from .opened.network import Network
from .opened.opened import Opened
from .opened.passes import EngineStep, StepData
from .opened.why import Comparison, Why, compared, say
from .opened.why import why as terms_of
from .validation import Shape, as_pair, check_targets, fitting, flat, limited_rule

if TYPE_CHECKING:
    from .run import Run


LOOK = 0.1
"""Seconds between two checks of a waiting thread that the answering thread still exists."""


class PendingCall(Future[Any]):
    """A function without arguments for another thread to call; it can be cancelled until the call begins."""

    def __init__(self, function: Callable[[], Any]) -> None:
        super().__init__()
        self._function = function

    def run(self, before_answer: Callable[[], object] = lambda: None) -> bool:
        """Call the function in this thread, then `before_answer`; then set the result or error. False if cancelled."""
        if not self.set_running_or_notify_cancel():
            return False
        error: BaseException | None = None
        try:
            try:
                result = self._function()
            except BaseException as raised:  # the waiting caller gets it
                error = raised
            before_answer()
        finally:
            if error is None:
                self.set_result(result)
            else:
                self.set_exception(error)
                del error  # it holds this frame
        return True


class FrameRequest:
    """The result of :meth:`scalarviz.Run.request_frame`. Any thread may use it, and ``await`` it under asyncio.

    Requests of one moment share one frame. The frame is never older than the request, nor than an edit that was asked
    for before it; its numbers are all of one step.

    Parameters
    ----------
    sample : ndarray, shape (n_inputs,), optional
        The frame gets the activations of this sample.
    see_to : callable, optional
        ``see_to(request)`` is called while a thread waits; it answers if no training thread is left.
    state : bool
        Include the optimiser's arrays.

    Attributes
    ----------
    known_to_engine : bool
        Whether an engine learnt of the request in the middle of a call.
    """

    def __init__(
        self,
        sample: NDArray[Any] | None = None,
        see_to: Callable[[FrameRequest], object] | None = None,
        *,
        state: bool = False,
    ) -> None:
        self._sample, self._see_to, self.state = sample, see_to, state
        self._future: Future[Frame] = Future()
        self._making = threading.Lock()
        self._frame: Frame | None = None
        self.known_to_engine = False

    @classmethod
    def of(cls, frame: Frame) -> FrameRequest:
        """Return a request that already has its frame."""
        request = cls()
        request.give(frame)
        return request

    def __repr__(self) -> str:
        came = "waiting" if not self.done else "done" if self._future.exception() is None else "failed"
        return f"<FrameRequest {came}>"

    @property
    def done(self) -> bool:
        """True if the frame or an error is ready; never waits."""
        return self._future.done()

    def result(self, timeout: float | None = None) -> Frame:
        """Wait for the frame and return it; `timeout` in seconds (None: no limit).

        Raises
        ------
        StateError
            The time is over. The frame may still come; ask again.
        InputError
            `timeout` is not a number of seconds.
        Exception
            The error that kept the run from giving a frame.
        """
        end = None if timeout is None else time.monotonic() + at_least_zero(timeout, "result: timeout")
        while not self.done:
            if self._see_to is not None:
                self._see_to(self)
            left = LOOK if end is None else min(LOOK, end - time.monotonic())
            with suppress(TimeoutError):
                self._future.exception(max(0.0, left))
            if left <= 0.0 and not self.done:
                raise StateError(f"no frame within {timeout:g} s: the engine is still computing; use a longer timeout")
        try:
            return self._with_rows()
        finally:
            del self  # an error holds this frame

    def __await__(self) -> Generator[Any, Any, Frame]:
        """Wait for the frame under asyncio; the event loop continues meanwhile."""
        return self._awaited().__await__()

    async def _awaited(self) -> Frame:
        import asyncio

        await asyncio.shield(asyncio.wrap_future(self._future))  # a waiter that stops does not cancel it
        return await asyncio.get_running_loop().run_in_executor(None, self._with_rows)  # it may take a forward pass

    def _with_rows(self) -> Frame:
        """Return the frame with the activations of the sample; the first caller computes them."""
        frame, sample = self._future.result(), self._sample
        if sample is None or frame.forward is None:
            return frame
        with self._making:
            if self._frame is None:
                self._frame = frame.with_activations(frame.forward.activations(sample, frame.exact))
            return self._frame

    def give(self, frame: Frame) -> None:
        """Answer with a frame; an earlier answer stays."""
        self._see_to = None
        with suppress(InvalidStateError):
            self._future.set_result(frame)

    def fail(self, error: BaseException) -> None:
        """Answer with an error; an earlier answer stays."""
        self._see_to = None
        with suppress(InvalidStateError):
            self._future.set_exception(error)


def request_frame(run: Run, probe: ArrayLike | None, state: bool) -> FrameRequest:
    """Return a request that is answered at once, or at the next pause of the thread that trains."""
    sample = None if probe is None else run._forward.sample(probe)
    if (gate := run._store.gate_here()) is not None:
        return cast(FrameRequest, gate.request(sample, state=state))
    request = FrameRequest(sample)
    request.give(frame_now(run, state))
    return request


def frame_now(run: Run, state: bool = False, midway: Midway | None = None) -> Frame:
    """Return a frame of the current numbers; `state` adds the optimiser's arrays. For the thread that trains.

    `midway` gives the numbers of an engine call that is not finished.
    """
    store, training, data, forward = run._store, run._training, run._problem.data, run._forward
    if midway is None:
        run.timeline.enter()
        step, loss, next_lr = training.steps, training.loss, float(run.optimizer.lr)
        lr = next_lr if training.lr is None else training.lr
        values, gradient, update = store.value.copy(), store.grad.copy(), training.update()
        computed, past = store.computed.astype(bool), run.timeline.past()
        curve = training.history.curve_to(step, training.loss, training.lr)
    else:
        done = len(midway.losses)
        step, loss = training.steps + done, float(midway.losses[-1])
        coming = training.pace.table(done + 1, run._problem.epoch)
        rates = coming[:, 0] if isinstance(coming, np.ndarray) else np.full(done + 1, coming)
        lr, next_lr = float(rates[-2]), float(rates[-1])
        with np.errstate(invalid="ignore", over="ignore"):  # a diverged run holds infinities
            values, gradient, update = midway.values, midway.gradient, midway.values - midway.previous
        computed, past = run._problem.of_weights, run.timeline.past()
        curve = training.history.curve().followed(step, midway.losses, rates[:-1])
        if past is not None and step > past.newest:
            past = replace(past, newest=step, curve=curve)
    units, half = Units(forward, values, data, step), run._loss_scale is not None
    setup = setup_of(run._problem, run.optimizer)
    return Frame(
        step=step,
        loss=loss,
        lr=lr,
        values=float16_weights(values, forward.tensors) if half else values,
        master=values if half else None,
        gradient=gradient,
        update=update,
        computed=computed,
        frozen=store.frozen.astype(bool),
        dead=units.dead,
        saturated=units.saturated,
        units=units,
        curve=curve,
        past=past,
        stopped_by="" if run._stop is None or run._stop.step != step else str(run._stop),
        edited=midway is None and training.edited,
        next_lr=next_lr,
        forward=forward,
        settings=setup,
        coming=coming_of(run, values, step, setup),
        data=data,
        state=_state_now(run) if state else {},
    )


def coming_of(run: Run, values: NDArray[Any], step: int, setup: Setup) -> Coming | None:
    """Return the batch after `step`, for the loss of `values`; None if its samples are read from a file."""
    data = run._problem.data
    if isinstance(data, Outside):
        return None
    return Coming(run._trained, values, data, setup, step)


def _state_now(run: Run) -> dict[str, NDArray[Any]]:
    """Return copies of the optimiser's arrays (P,) by name."""
    return {name: array.copy() for name, array in zip(run.optimizer.state, run._problem.state, strict=True)}


def evaluated(run: Run, forward: Forward, inputs: ArrayLike, targets: ArrayLike, values: NDArray[Any]) -> float:
    """Return the loss on other data, of a current or former network of the run."""
    as_pair((inputs, targets))
    x = fitting(inputs, run._shapes[0], "evaluate: the inputs")
    y = fitting(targets, run._shapes[1], "evaluate: the targets")
    graph = run._graph
    if forward in (graph.forward, graph.trained):  # a former network may have had another loss
        check_targets(graph.loss, y, forward.tape)
    return forward.evaluate(x, y, values)


def values_or_now(run: Run, values: NDArray[Any] | None) -> NDArray[Any]:
    """Return the given flat numbers, checked, or the current ones."""
    return run.values if values is None else flat(values, len(run._store.value))


def live_values(run: Run) -> NDArray[Any]:
    """Return the live flat values; beside a training thread, a copy."""
    if (gate := run._store.gate_here()) is not None:
        return gate.read_numbers("value", slice(0, len(run._store.value)))
    run._lend()
    return run._store.value


@in_turn
def samples(run: Run) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return copies of the inputs and targets."""
    n, m = run._tape.n_inputs, run._tape.n_targets
    return run._problem.data[:n].T.copy(), run._problem.data[n : n + m].T.copy()


def sample(run: Run, index: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return inputs (n_inputs,) and targets (n_targets,) of one sample. OutOfRangeError: there is no such sample."""
    n, data = run._tape.n_inputs, run._problem.data
    numbers = data[: n + run._tape.n_targets, position(index, data.shape[1], "the samples")].astype(np.float64)
    return numbers[:n], numbers[n:]


# ---- Opened steps, and questions about them. The run does not change.

Sample = int | tuple[ArrayLike, ArrayLike]


@in_turn
def data_to_open(run: Run, frame: Frame | None, sample: Sample | None, step: int | None) -> StepData:
    """Return copies of all numbers that an opened step needs; the run goes back to the step and returns."""
    run._check_live()
    run.timeline.enter()
    if step is None:
        return current_step_data(run, frame, sample)
    if frame is not None:
        raise InputError("run.open: got a frame and a step; give one of them")
    step = integer("run.open: step", step, 0)
    first, newest = run.timeline.span
    if not first < step <= newest + 1:
        raise InputError(
            f"run.open: there is no step {shown(step)}; allowed: {first + 1:,} to {newest + 1:,} (the next step)"
        )
    own = None
    with _returning(run):
        if step <= newest:
            run.timeline.to(step)
            training, store = run._training, run._store
            own = EngineStep(training.trainer.name, training.loss, store.grad.copy(), store.value.copy())
        run.timeline.to(step - 1)
        return replace(current_step_data(run, None, sample), engine_step=own, done=own is not None)


@contextmanager
def _returning(run: Run) -> Iterator[None]:
    """Bring the run back to its current step at the end of the block."""
    here = run._training.steps
    try:
        yield
    finally:
        run.timeline.to(here)


def current_step_data(run: Run, frame: Frame | None, sample: Sample | None) -> StepData:
    """Return copies of the current numbers, or of those of `frame`."""
    training, optimizer = run._training, run.optimizer
    rates = (float(optimizer.lr), *optimizer.lr_pace.rates[1:], *optimizer.lr_pace.momenta)
    rules = tuple((limited_rule(rule, run._problem.limits), tuple(rule.state)) for rule in optimizer.rules_now())
    rule = RuleOfStep(type(optimizer).__name__, tuple(optimizer.state), rules)
    if frame is None:
        one = None if sample is None else _one_sample(run, sample)
        return step_data(training, _opened_network(run), rule, rates, one)
    before, values, frozen = _of_frame(run, frame)
    if before != training.steps and frame.next_lr is not None:
        rates = (frame.next_lr, *rates[1:])
    one = None if sample is None else _one_sample(run, sample)
    return step_data(training, _opened_network(run), rule, rates, one, (before, values, frozen))


class RuleOfStep(NamedTuple):
    """An optimiser for an opened step."""

    optimizer: str  # class name
    state: tuple[str, ...]  # names of its arrays
    # by parameter group: the recorded update of one weight, and the names of the state that it reads
    rules: tuple[tuple[Tape, tuple[str, ...]], ...]


def step_data(
    training: Training, network: Network, rule: RuleOfStep, rates: tuple[float, ...],
    one: tuple[Data, NDArray[np.int64]] | None = None,
    at: tuple[int, NDArray[Any], NDArray[np.bool_]] | None = None,
) -> StepData:  # fmt: skip
    """Return copies of all numbers of the coming step of a training.

    `rates`: the learning rate, those of other parameter groups, and scheduled momenta. `one`: a sample for a trial step
    alone, as data, and its number in the data. `at`: the step, the weights and the frozen ones of another moment.
    """
    problem, store, scale = training.problem, training.problem.store, training._scale
    before, values, frozen = at or (training.steps, store.value, store.frozen != 0)
    here = before == training.steps or not rule.state
    state = {name: array.copy() for name, array in zip(rule.state, problem.state, strict=True)} if here else None
    if one is None:
        samples, columns = problem.samples_of(before)
        data, batch = samples.head(network.tape.n_inputs + network.tape.n_targets), problem.indices(before)
    else:
        (data, batch), columns = one, None
    return StepData(
        step=before + 1,
        lr=rates[0],
        t=float(problem.t_start + before + 1),
        values=values.copy(),
        state=state,
        skips=scale is not None and scale.skips(problem),
        loss_scale=scale,
        trained=training._held & ~frozen,
        frozen=frozen,
        data=data,
        batch=batch,
        columns=columns,
        arithmetic=np.dtype(np.float64) if training.trainer.name == "objects" else values.dtype,
        reduction=problem.reduction,
        share=problem.share,
        optimizer=rule.optimizer,
        rules=rule.rules,
        of_group=problem.columns,
        rates=rates[1:],
        limits=problem.limits,
        update=problem.update,
        tensors=network.forward.tensors,
        network=network,
        seed=problem.seed,
        norm_batch=None if one is None else _norm_batch(problem, network.tape, before),
    )


def _norm_batch(problem: Problem, tape: Tape, before: int) -> NDArray[Any] | None:
    """Return inputs and targets of the step's own batch if the network normalises over the batch; otherwise None."""
    if not problem.plan.body.couples:
        return None
    samples, columns = problem.samples_of(before)
    numbers = samples.head(tape.n_inputs + tape.n_targets)
    return numbers[:].copy() if columns is None else numbers[:, columns]


def _of_frame(run: Run, frame: Any) -> tuple[int, NDArray[Any], NDArray[np.bool_]]:
    if not isinstance(frame, Frame):
        raise TypeMismatchError(f"run.open: frame must be a Frame of this run, got {typed(frame)}")
    if frame.values.shape != run._store.value.shape:
        raise InputError(
            f"run.open: the frame has {frame.values.size} weights, the run {len(run._store.value)}; use run.frame()"
        )
    return frame.step, frame.exact, frame.frozen


def _one_sample(run: Run, sample: Any) -> tuple[Data, NDArray[np.int64]]:
    """Return one sample as data, and its number in the data; -1 for one from outside."""
    if isinstance(sample, list | tuple) and len(sample) == 2:
        y = fitting([sample[1]], run._shapes[1], "run.open: the targets of sample")
        check_targets(run.loss_function, y, run._tape)
    return sample_to_open(run._problem.data, run._trained, run._shapes[1], sample)


def sample_to_open(data: Data, forward: Forward, targets: Shape, sample: Any) -> tuple[Data, NDArray[np.int64]]:
    """Return one sample for a trial step, given as its number in `data` or as (x, y); as data, and its number or -1."""
    if isinstance(sample, int | np.integer):
        place = np.array([position(sample, data.shape[1], "open: sample")])
        return Data(data.dtype, data[: forward.tape.n_inputs + forward.tape.n_targets, place]), place
    if not isinstance(sample, list | tuple) or len(sample) != 2:
        raise TypeMismatchError(f"open: sample must be an index, or a pair (x, y), got {typed(sample)}")
    x = fitting([sample[0]], forward.shape, "open: the inputs of sample")
    y = fitting([sample[1]], targets, "open: the targets of sample")
    forward.ids.check("open", x, y)
    return Data(data.dtype, np.concatenate([x, y], axis=1).T.astype(data.dtype)), np.array([-1])


def _opened_network(run: Run) -> Network:
    """Return the programs for opened steps; made at the first one, and again for another model."""
    if run._network is None or run._network.tape is not run._tape:
        run._network = Network(run._trained)
    return run._network


def why(run: Run, weight: Weight | str | int, step: int | None) -> Why:
    """Print why a weight moved and return the numbers; see :meth:`scalarviz.Run.why`."""
    index = index_of(run.tensors, run._tape, weight)
    if step is None:
        step = max(run._training.steps, run.timeline.span[0] + 1)
    opened = Opened(data_to_open(run, None, None, step))
    if opened.tape is not run._tape:
        raise StateError(f"why: step {step:,} used another model; go there first with run.to({step})")
    found = terms_of(opened, index)
    say(str(found))
    return found


@in_turn
def compare(run: Run, step_a: int, step_b: int, most: int) -> Comparison:
    """Return the weights that moved most between two steps; see :meth:`scalarviz.Run.compare`."""
    run._check_live()
    steps = integer("compare: step_a", step_a, 0), integer("compare: step_b", step_b, 0)
    most = integer("compare: 'most'", most, 0)
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
        raise StateError(
            f"compare: the model changed between step {min(steps):,} and step {max(steps):,}; choose steps of one model"
        )
    (a, loss_a), (b, loss_b) = (found[step] for step in steps)
    return compared(steps, (a, b), (loss_a, loss_b), run.tensors, most)
