"""`CudaTrainer`: trains a problem on a GPU, or in the simulator.

`Work` is everything of a problem on a device; it is cut into smaller parts if memory is short. The memory that a
problem needs is not estimated, but counted on a device without memory. `MidCallReader` delivers numbers from the
middle of a call to a viewer, while the steps continue.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...errors import DeviceMemoryError
from ..arrays.trainer import Updater
from ..outside import Outside
from ..problem import Array, Midway, NextReadback, Problem, Rates, Readback, check_coupled, rates_of
from .block.program import form_of
from .block.steps import BlockSteps, LonelySteps
from .cores.stack import stack_of
from .cores.steps import CoreSteps
from .device import Buffer, Device, ListingDevice, Mark, Repeatable, SimulatedDevice, State
from .halves import halves_of
from .machine import Shape
from .source import update_source
from .steps import Steps


def make_steps(problem: Problem, device: Device, state: State, shape: Shape) -> Steps:
    """The launches of a problem's steps, in the form that its sizes ask for."""
    joined = shape.joined and update_source(problem.update.body) != ""
    stack = stack_of(problem) if shape.cores and joined else None
    if stack is not None and stack.shared <= device.shared_bytes and stack.blocks <= device.blocks_together:
        return CoreSteps(problem, device, state, shape, stack)
    form = form_of(problem.plan, problem.batch, problem.store.value.itemsize, shape)
    if form is None or form.shared > device.shared_bytes:
        plain = Steps(problem, device, state, shape)
        if form is not None:
            plain.remark = f"each step needs many launches, because a block has only {device.shared_bytes >> 10} KB"
        return plain
    if form.alone and joined and not problem.limits.between and halves_of(problem.plan) is None:
        return LonelySteps(problem, device, state, shape, form)
    return BlockSteps(problem, device, state, shape, form)


_UNITS = ((10**9, "GB"), (10**6, "MB"), (10**3, "kB"))


class Need(NamedTuple):
    """Bytes of weights with gradients, of the optimiser's state, of the rows of a chunk, and of data."""

    weights: int
    state: int
    rows: int
    data: int


def need(problem: Problem, shape: Shape) -> Need:
    """Return the memory of a problem on a device."""
    device = ListingDevice()
    kept = State(problem, device)
    numbers, optimiser = device.nbytes, sum(array.nbytes for array in problem.state)
    steps = make_steps(problem, device, kept, shape)
    rows = device.nbytes - numbers
    steps.samples.load()
    return Need(numbers - optimiser, optimiser, rows, device.nbytes - numbers - rows)


def refusal(problem: Problem, device: Device, shape: Shape, error: str) -> str:
    """Return the message for a problem that does not fit even in the smallest parts; its memory is already freed."""
    free, total = device.memory()
    needed = need(problem, shape)
    sizes = (
        f"weights and gradients {size(needed.weights)}, the optimiser's state {size(needed.state)}, activations "
        f"of the samples computed together {size(needed.rows)}, data of a call {size(needed.data)}"
    )
    return (
        f"the run does not fit into the GPU's memory: it needs at least {size(sum(needed))} ({sizes}), but "
        f'{size(free)} of {size(total)} are free. {_advice(problem, shape, free)}, or engine="numba" ({error})'
    )


def _advice(problem: Problem, shape: Shape, free: int) -> str:
    batch = problem.batch // 2
    while batch > 0:
        if sum(need(replace(problem, batch=batch), shape)) <= free:
            return f"A smaller batch fits: batch_size={batch}"
        batch //= 2
    layers = [i for i in problem.plan.body.instructions if i.kind in ("layer", "conv")]
    if not layers:
        return "Not even a batch of one sample fits: use a smaller model"
    widest = max(layers, key=lambda i: len(i.weights) * i.args.shape[1])
    return (
        f"Not even a batch of one sample fits: the largest layer has {len(widest.weights):,} x "
        f"{widest.args.shape[1]:,} weights; use smaller layers"
    )


def size(nbytes: int) -> str:
    """Return a readable number of bytes: ``"1.2 GB"``."""
    for unit, name in _UNITS:
        if nbytes >= unit:
            return f"{nbytes / unit:.3g} {name}"
    return f"{nbytes} bytes"


class MidCallReader:
    """Reads values, gradient and losses after a step without waiting for them.

    The numbers are copied within the device between two steps, in microseconds, and to the host during the following
    steps. There is one reading at a time.
    """

    def __init__(self, device: Device, state: State, steps: Steps) -> None:
        self.device, self.state, self.steps = device, state, steps
        self._room: tuple[Buffer, Array, Array] | None = None  # a copy on the device, one on the host, and losses
        self._refused = False  # no memory for it: requesters get the numbers after the call
        self._reading: tuple[Readback, Mark, NDArray[np.float64], int] | None = None

    def check_requests(self, asked: NextReadback, before: NDArray[np.float64], done: int) -> None:
        """Start a reading if one is requested, or deliver the last one if it is complete.

        `before` are losses of the call that were already read, `done` the steps queued since then.
        """
        if self._refused:
            return
        if self._reading is None:
            readback = asked()
            if readback is not None:
                self._begin(readback, before, done)
        elif self._reading[1].done():
            self._deliver()

    def settle(self) -> None:
        """Deliver the running reading, because step numbers will start from 0 again."""
        if self._reading is not None:
            self._reading[1].wait()
            self._deliver()

    def cancel(self) -> None:
        """Cancel the running reading; its requester gets the numbers after the call."""
        self._reading = None

    def _begin(self, readback: Readback, before: NDArray[np.float64], done: int) -> None:
        state, n, device = self.state, self.state.n, self.device
        if self._room is None:
            try:
                room = device.empty(3 * n, state.memory.dtype)
            except DeviceMemoryError:
                self._refused = True
                return
            on_host = device.pinned(3 * n, state.memory.dtype), device.pinned(self.steps.losses.size, np.float64)
            self._room = room, *on_host
        copy, host, losses = self._room
        for k, source in enumerate((state.value, state.grad.part(0, n), state.previous)):
            device.copy(copy.part(k * n, n), source)
        size = done * self.steps.loss_slices
        copies = [(copy, host), (self.steps.losses.part(0, size), losses[:size])]
        self._reading = (readback, device.read_aside(copies), before, done)

    def _deliver(self) -> None:
        assert self._reading is not None
        assert self._room is not None
        readback, _, before, done = self._reading
        self._reading = None
        _, host, found = self._room
        values, gradient, previous = host.copy().reshape(3, -1)
        parts = found[: done * self.steps.loss_slices]
        losses = np.concatenate([before, self.steps.summed(parts)])
        readback(Midway(values, gradient, previous, losses))


FINER = (1, 8, 64, 512)
"""The factors by which a problem may be cut into smaller parts, in order."""


class Work:
    """A problem on a device, ready to be trained.

    `together` steps are queued between two checks for requests.
    """

    def __init__(self, problem: Problem, device: Device, shape: Shape) -> None:
        self.device, self.remark_of_memory = device, ""
        self.state = State(problem, device)
        self.steps = make_steps(problem, device, self.state, shape)
        self.reader = MidCallReader(device, self.state, self.steps)
        self.steps_per_check = 1
        self.gradient, self.step = self._recorded()

    def _recorded(self) -> tuple[Repeatable, Repeatable]:
        self.steps.samples.load()
        step = self.steps.recorded(self.steps.step())  # first: it has nearly all kernels, which are compiled together
        return self.steps.recorded(self.steps.gradient()), step

    def upload(self) -> None:
        """Upload what may have changed on the host."""
        if self.steps.samples.changed:
            self.gradient, self.step = self._recorded()
        self.steps.samples.load()
        self.state.upload()

    @property
    def remark(self) -> str:
        """One clause about a limitation, or an empty text."""
        return "; ".join(said for said in (self.remark_of_memory, self.steps.remark, self.device.remark) if said)


def fit_problem(problem: Problem, shape: Shape, open_device: Callable[[], Device]) -> Work:
    """Return the problem on a device, cut into smaller parts, or with its data loaded call by call, if memory is short.

    DeviceMemoryError names the needed memory and a batch that fits. InputError: see :func:`check_coupled`.
    """
    plan, item = problem.plan, problem.store.value.dtype.itemsize
    check_coupled(plan.body, problem.batch, 2 * plan.body.n_rows * item)
    device, error = open_device(), ""
    for tried in _shapes_to_try(problem, shape, device):
        try:
            work = Work(problem, device, tried)
        except DeviceMemoryError as said:
            error = str(said)
            continue
        work.remark_of_memory = _memory_words(tried, shape, isinstance(problem.data, Outside))
        return work
    raise DeviceMemoryError(refusal(problem, device, tried, error))


def _shapes_to_try(problem: Problem, shape: Shape, device: Device) -> Iterator[Shape]:
    """Yield the shapes to try, in order: normal; smaller parts; then data loaded call by call."""
    for resident in (True, False):
        if resident and (isinstance(problem.data, Outside) or problem.data.nbytes > device.memory()[1]):
            continue
        for finer in FINER:
            yield cut(shape, finer, resident)


def cut(shape: Shape, finer: int, resident: bool) -> Shape:
    """Return a shape that needs a fraction of the memory, weights and data not counted."""
    tiles = shape.tiles
    return replace(
        shape,
        chunk_bytes=shape.chunk_bytes // finer,
        slices=max(1, shape.slices // finer),
        tiles=tiles and replace(tiles, slices=max(1, tiles.slices // finer)),
        loss_parts=shape.loss_parts // finer,
        stream_bytes=shape.stream_bytes // finer,
        resident=resident,
    )


def _memory_words(tried: Shape, shape: Shape, outside: bool) -> str:
    said = [] if tried.slices == shape.slices else ["each step is computed in smaller parts, which changes bits"]
    said += [] if tried.resident or outside else ["data are copied at each call"]
    return f"the GPU's memory is short: {' and '.join(said)}" if said else ""


# ---- The trainer


def open_device(number: int) -> Device:
    """Return the device with this number: numba's simulator if it is switched on, otherwise a GPU."""
    from .jit import SIMULATED

    if SIMULATED:
        return SimulatedDevice(number)
    from .driver import DriverDevice

    return DriverDevice(number)


SHAPE = Shape()
GLANCE = 0.002
"""Seconds of work queued between two checks for requests."""


class CudaTrainer:
    """Trains a `Problem` on a GPU. See :class:`scalarviz.engine.problem.Trainer`.

    A call begins with an upload of everything that the host may have changed, and ends with a download. So
    the arrays of the problem are up to date between two calls. Data is uploaded if it is another array than
    before.
    """

    name = "cuda"
    breakable = False
    threads = 0

    def __init__(self, problem: Problem, number: int = 0, device: Device | None = None) -> None:
        self.problem = problem
        self.next_readback: NextReadback | None = None
        self._open = partial(open_device, number) if device is None else lambda: device
        self._updater = Updater(problem)
        self._work: Work | None = None
        self._open_work()

    @property
    def ready(self) -> bool:
        """True if its kernels are loaded and its memory is allocated."""
        return self._work is not None

    @property
    def stops(self) -> bool:
        """True if a call ends behind a step whose gradient overflows."""
        return self._open_work().steps.stops

    def prepare(self, stopped: Callable[[], bool] = lambda: False) -> None:
        """Allocate the device's memory again, if it was released."""
        self._open_work()

    def _open_work(self) -> Work:
        if self._work is None:
            self._work = fit_problem(self.problem, SHAPE, self._open)
        return self._work

    def release(self) -> None:
        """Free the device's memory; the next call allocates it again."""
        self._work = None

    @property
    def call_overhead(self) -> float:
        """The seconds of the last call's copies."""
        return 0.0 if self._work is None else self._work.state.seconds

    @property
    def remark(self) -> str:
        """One clause about a limitation, or an empty text."""
        return "" if self._work is None else self._work.remark

    def train(self, first: int, count: int, lr: Rates) -> NDArray[np.float64]:
        """Do the steps ``first + 1 .. first + count``; return their losses, float64 of shape (count,)."""
        losses, work, done, ended = np.empty(count), self._open_work(), 0, False
        with _settle_on_error(work):
            work.upload()
            start, most = time.perf_counter(), work.steps.samples.steps
            while done < count and not ended:
                asked = min(most, count - done)
                table = self._updater.hyper(first + done, asked, rates_of(lr, done, asked))
                work.steps.begin(first + done, asked, table)
                self._run(work, asked, losses[:done])
                work.reader.settle()
                steps = work.steps.done(first + done, asked)
                work.steps.read_losses(losses[done : done + steps])
                done, ended = done + steps, steps < asked
            work.steps_per_check = max(1, int(GLANCE * done / (time.perf_counter() - start)))
            work.state.download()
        return losses[:done]

    def _run(self, work: Work, count: int, before: NDArray[np.float64]) -> None:
        """Queue steps; with a viewer only few at once, so that it can read numbers in between."""
        asked = self.next_readback  # another thread may end the watching
        if asked is None:
            work.step.run(count)
            return
        ahead: deque[Mark] = deque()
        done = 0
        while done < count:
            some = min(work.steps_per_check, count - done)
            work.step.run(some)
            done += some
            work.reader.check_requests(asked, before, done)
            ahead.append(work.device.mark())
            if len(ahead) > 2:
                ahead.popleft().wait()

    def gradient(self, step: int) -> float:
        """Run forward and backward for the batch of step ``step + 1``; fill ``store.grad``, return the loss."""
        loss, work = np.empty(1), self._open_work()
        with _settle_on_error(work):
            work.upload()
            work.steps.begin(step, 1, None)
            work.gradient.run()
            work.steps.read_losses(loss)
            work.state.download_gradient()
        return float(loss[0])

    def snapshot(self) -> None:
        """Keep all numbers that a step changes, as they are at the start of the next call."""
        self._open_work().state.keep_upload()

    def rewind(self) -> None:
        """Return to the last snapshot; StateError if there is none."""
        self._open_work().state.restore()

    def finite(self) -> bool:
        """Return whether no weight is a NaN or an infinity."""
        return bool(np.isfinite(self.problem.store.value).all())


@contextmanager
def _settle_on_error(work: Work) -> Iterator[None]:
    """Run a call in the block; if it is interrupted, none of its work stays in the device's queue."""
    try:
        yield
    except BaseException:
        work.device.settle()
        work.reader.cancel()
        raise
