"""`Steps`: the launches of a training step, with its data (`Samples`) and running statistics (`Tracking`).

The data set is in the device's memory; if it does not fit, its batches are loaded call by call.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ... import rng
from ...tape import Program
from ..data import Data
from ..outside import Outside
from ..problem import CLIP, TINY, Array, Problem, factor_of
from .catalog import find, written
from .device import Buffer, Device, Launch, Repeatable, State
from .halves import Halves, halves_of
from .kernels.steps import TREE
from .machine import IN_ORDER, PICKED, STREAMED, Feed, Machine, Shape
from .source import update_source


class Tracking:
    """The tables of a problem's tracks, and the launches that update them: first the counts, then the others."""

    def __init__(self, problem: Problem, body: Machine, state: State) -> None:
        self.problem, self.body, self.state = problem, body, state
        tracks = list(problem.plan.body.tracks)
        order = sorted(range(len(tracks)), key=lambda k: (tracks[k].row >= 0, tracks[k].index, k))
        self._tracks = [tracks[k] for k in order]
        self._later = [  # how often a count grows after the track that reads it
            sum(t.row < 0 and t.index == tracks[k].count for t in tracks[k + 1 :]) for k in order
        ]
        changes = [k for k, t in enumerate(self._tracks) if k == 0 or self._tracks[k - 1].index != t.index]
        self._counting = sum(self._tracks[k].row < 0 for k in changes)
        self._numbers = len(changes)
        self.starts = body.constant(np.array([*changes, len(tracks)], np.int64))
        self.table = body.device.empty(max(1, 4 * len(tracks)), np.int64)
        self.factors = body.device.empty(max(1, 2 * len(tracks)), np.float64)

    def begin(self) -> None:
        """Upload which numbers are frozen, and what depends on the batch."""
        if not self._tracks:
            return
        frozen, batch = self.problem.store.frozen, self.problem.batch
        lines, factors = [], []
        for track, later in zip(self._tracks, self._later, strict=True):
            held = track.count >= 0 and frozen[track.count] != 0
            index = -1 if frozen[track.index] else track.index
            lines.append((index, track.row, max(0, track.count), 0 if held else later))
            factors.append((track.rate, factor_of(track, batch)))
        self.body.device.upload(self.table, np.array(lines, np.int64).ravel())
        self.body.device.upload(self.factors, np.array(factors).ravel())

    def launches(self) -> list[Launch]:
        """Return the launches at the end of a step."""
        body, made = self.body, []
        for first, count in ((0, self._counting), (self._counting, self._numbers - self._counting)):
            if count:
                given = (self.state.value, body.values, self.table, self.factors, self.starts, first, count, body.chunk)
                made.append(body.line("follow", count, given))
        return made


UPLOAD_BYTES = 64 << 20
"""The most bytes of samples that the host reorders together."""


class Samples:
    """The source of a step's input rows; the samples of at most `most` steps are on the device at once."""

    def __init__(self, problem: Problem, device: Device, shape: Shape, clock: Buffer, most: int) -> None:
        self.problem, self.device, self.shape, self.clock = problem, device, shape, clock
        self.most = self.steps = most
        self.feed: Feed | None = None
        self._loaded: Data | None = None
        self._host: Array | None = None

    @property
    def changed(self) -> bool:
        """True if the problem's data has a new shape, which needs new launches."""
        return self._loaded is None or self._loaded.shape != self.problem.data.shape

    def load(self) -> None:
        """Upload the problem's data if it is another array; DeviceMemoryError if it does not fit."""
        data = self.problem.data
        if self._loaded is data:
            return
        if self.changed:
            self.feed = self._loaded = None  # free the memory first
            resident = self.shape.resident and not isinstance(data, Outside)
            self.feed = self._resident() if resident else self._streamed()
        if self.feed is not None and self.feed.mode != STREAMED:
            self._upload(self.feed.data)
        self._loaded = data

    def _upload(self, to: Buffer) -> None:
        """Upload all samples, some rows at a time, because the host may have another order or dtype."""
        data, count = self.problem.data, self.problem.data.shape[1]
        step = max(1, UPLOAD_BYTES // (count * data.dtype.itemsize))
        for first in range(0, len(data), step):
            rows = np.ascontiguousarray(data[first : first + step])
            self.device.upload(to.part(first * count, rows.size), rows.reshape(-1))
            if rows.base is None:  # a new array
                self.device.wait()

    def _resident(self) -> Feed:
        """Return memory for all data."""
        data, batch = self.problem.data, self.problem.batch
        samples = data.shape[1]
        memory = self.device.empty(data.size, data.dtype)
        order = self.device.empty(1 if self.problem.full_batch else batch, np.int64)
        mode = IN_ORDER if self.problem.full_batch else PICKED
        return Feed(memory, self._offsets(samples), order, mode, self.clock, batch)

    def _streamed(self) -> Feed:
        """Return memory for the batches of some steps."""
        numbers, batch, dtype = len(self.problem.data), self.problem.batch, self.problem.data.dtype
        self.steps = max(1, min(self.most, self.shape.stream_bytes // (numbers * batch * dtype.itemsize)))
        memory = self.device.empty(numbers * batch * self.steps, dtype)
        self._host = np.empty((numbers, self.steps * batch), dtype)
        offsets = self._offsets(self.steps * batch)
        return Feed(memory, offsets, self.device.empty(1, np.int64), STREAMED, self.clock, batch)

    def _offsets(self, samples: int) -> Buffer:
        """Return the start of the numbers of each input row."""
        offsets = self.problem.plan.body.input_index * np.int64(samples)
        buffer = self.device.empty(max(1, offsets.size), np.int64)
        self.device.upload(buffer.part(0, offsets.size), offsets)
        return buffer

    def begin(self, first: int, count: int) -> None:
        """Prepare the steps ``first + 1 .. first + count``, at most `steps` of them."""
        if self._host is None or self.feed is None:
            return
        batch, problem = self.problem.batch, self.problem
        for k in range(count):
            problem.read_ahead(first + k, count - k)
            data, ids = problem.samples_of(first + k)
            self._host[:, k * batch : (k + 1) * batch] = data[:] if ids is None else data[:, ids]
        self.device.upload(self.feed.data, self._host.reshape(-1))

    def launches(self) -> list[Launch]:
        """Return the launch that chooses the samples of a step."""
        if self.feed is None or self.feed.mode != PICKED:
            return []
        samples, batch, threads = self.problem.data.shape[1], self.problem.batch, self.shape.threads
        words = rng.split(self.problem.seed)
        given = (self.feed.order, self.clock, batch, samples, *words, *self.problem.order_shape)
        kernel = find("batch_order", self.problem.data.dtype.name)
        return [Launch(kernel, (-(-batch // threads), 1), (threads, 1), given)]


PENALTY_BLOCKS = 64
"""The most blocks of threads that add up penalties."""
OVERFLOWS = 2048
"""The most blocks of threads that look for a gradient that overflows."""
LENGTHS = 256
"""The number of threads that add up the squares of a gradient."""


class Steps:
    """The launches of a step, with the same arguments in every step; `remark` names a limitation.

    With `stops`, a step whose gradient overflows is undone, and so are those that were queued behind it.
    """

    remark = ""

    def __init__(self, problem: Problem, device: Device, state: State, shape: Shape) -> None:
        self.problem, self.device, self.state, self.shape = problem, device, state, shape
        plan, self.dtype = problem.plan, problem.store.value.dtype
        item = self.dtype.itemsize
        self.body = self._body()
        self.tracking = Tracking(problem, self.body, state)
        self.prologue = None if plan.prologue is None else self._derives(plan.prologue)
        program, n = problem.update.body, plan.n_parameters
        self.joined = update_source(program) if shape.joined else ""
        self.stopped = device.empty(2, np.int64)
        self.halves = self._halves()
        self.stops = self.halves is not None
        if self.halves is not None:
            self.joined = update_source(program, halves=True)
            state.halves = self.halves.half
            self.half, self.found = self.body.constant(self.halves.half), device.empty(OVERFLOWS + 1, np.float64)
        together = 1 if self.joined else shape.chunk(program.n_rows, item, n)
        self.updates = Machine(program, device, self.dtype, together, shape)
        offsets = np.array([*state.offset, *state.columns], np.int64)
        self.column_offsets = self.body.constant(offsets[program.input_index])
        outputs = [state.offset[0], *state.offset[2:]]
        self.output_offsets = self.body.constant(np.array(outputs, np.int64))
        self.clock = device.empty(3, np.int64)
        most = max(1, min(shape.steps, shape.loss_parts // self.loss_slices))
        self.losses = device.empty(most * self.loss_slices, np.float64)
        self.scales = device.empty(most, self.dtype)
        self._factors: NDArray[np.float64] = np.zeros(0)
        self._kept_scale: float | None = None
        self._host_losses = device.pinned(most * self.loss_slices, np.float64)
        self.samples = Samples(problem, device, shape, self.clock, most)
        self.width = problem.update.n_parameters + problem.update.n_derived
        self.lengths = device.empty(LENGTHS, np.float64)
        self.rates = device.empty(self.width, self.dtype)
        self.table = device.empty(self.width * most, self.dtype)

    def _body(self) -> Machine:
        """Return the program of a batch, and the numbers of chunks of its lanes and of its loss sums."""
        program = self.problem.plan.body
        rows, item = 2 * program.n_rows, self.dtype.itemsize
        self.chunk = self.shape.chunk(rows, item, self.problem.batch, whole=program.couples)
        halves = self.shape.cores and self.device.blocks_together > 0 and halves_of(self.problem.plan) is not None
        body = Machine(program, self.device, self.dtype, self.chunk, self.shape, (program.loss,), halves=halves)
        self.loss_slices = body.loss_slices
        return body

    def _halves(self) -> Halves | None:
        """Return the halves of weights that the update writes; None where derived numbers are computed step by step."""
        plain = self.joined and not self.problem.limits.between and not self.problem.plan.body.tracks
        return halves_of(self.problem.plan) if plain else None

    def _derives(self, program: Program) -> Machine:
        """Return the program of the derived parameters."""
        return Machine(program, self.device, self.dtype, 1, self.shape, tuple(program.outputs.tolist()))

    def recorded(self, launches: Sequence[Launch]) -> Repeatable:
        """Return launches of a gradient or of a step, ready to be repeated."""
        return self.device.record(launches)

    def begin(self, first: int, count: int, table: Array | None) -> None:
        """Prepare the steps ``first + 1 .. first + count``: their clock, samples, rates and scales."""
        self.device.upload(self.clock, np.array([first, first + 1, first], np.int64))
        self.device.upload(self.stopped, np.array([0, self.problem.undoes], np.int64))
        self.samples.begin(first, count)
        self._begin_scales(first, count)
        if table is not None:
            self.tracking.begin()
            self.device.upload(self.table.part(0, table.size), table.reshape(-1))

    def _begin_scales(self, first: int, count: int) -> None:
        """Upload the factors of the samples' losses; not again if they are equal in all steps."""
        scales = self.problem.scales(first, count)
        if not self.problem.steady:
            self._kept_scale, self._factors = None, scales
        elif scales[0] != self._kept_scale:
            self._kept_scale, self._factors = float(scales[0]), np.full(self.scales.size, scales[0])
        else:
            return
        self.device.upload(self.scales.part(0, len(self._factors)), self._factors.astype(self.dtype))

    def done(self, first: int, asked: int) -> int:
        """Return how many of the steps behind `first` are done: fewer if an overflow ended them."""
        if not self.stops:
            return asked
        clock = np.empty(3, np.int64)
        self.device.download(self.clock, clock)
        self.device.wait()
        return int(clock[0]) - first

    def read_losses(self, losses: Array) -> None:
        """Read the losses of the steps since `begin`."""
        parts = self._host_losses[: len(losses) * self.loss_slices]
        self.device.download(self.losses.part(0, parts.size), parts)
        self.device.wait()
        losses[:] = self.summed(parts)

    def summed(self, parts: Array) -> NDArray[np.float64]:
        """Return the losses of steps from their parts, float64 of shape (steps * slices,)."""
        losses: NDArray[np.float64] = parts.reshape(-1, self.loss_slices).sum(axis=1)
        with np.errstate(invalid="ignore"):  # all samples are left out: 0 / 0
            return losses * self._factors[: len(losses)]

    # ---- launches

    def gradient(self) -> list[Launch]:
        """Return the gradient and the loss of a step."""
        return [*self._parts(), *self._join(), *self._penalty()]

    def step(self) -> list[Launch]:
        """Return the launches of a step: the gradient, the loss, the update, and the running statistics."""
        return [*self._updated(), *self.tracking.launches()]

    def _updated(self) -> list[Launch]:
        if self.problem.limits.between:
            update = [self._joined_update(summed=True)] if self.joined else self._update()
            return [*self._parts(), *self._join(), *self._penalty(), *self._coefficient(), *update]
        if not self.joined:
            return [*self._parts(), *self._join(), *self._update()]
        if self.halves is not None:
            parts = self._parts(derived=False)
            return [*parts, *self._half_gradients(self.halves), self._joined_update(summed=True)]
        if self.prologue is None:
            return [*self._parts(), self._joined_update(summed=False)]
        return [*self._parts(), *self._join(), self._joined_update(summed=True)]

    def _penalty(self) -> list[Launch]:
        """Return the launch of the penalties."""
        limits, state = self.problem.limits, self.state
        if not limits.penalised:
            return []
        blocks = min(self.loss_slices, PENALTY_BLOCKS)
        given = (
            self.losses, state.theta, self.problem.n_weights, limits.l1, limits.l2, self.loss_slices, blocks,
            self.scales, self.clock,
        )  # fmt: skip
        return [self.body.trees("penalty", (blocks, 1), (TREE, 1), given)]

    def _coefficient(self) -> list[Launch]:
        """Return the launch of the clipping factor."""
        limits, state, made = self.problem.limits, self.state, self.body
        if limits.clip_norm is None:
            return []
        sums = (self.lengths, state.grad, state.theta, state.trained, state.n, limits.l1, limits.l2, LENGTHS)
        given = (self.table, self.lengths, LENGTHS, limits.clip_norm, TINY, CLIP, self.width, self.clock)
        return [made.line("lengths", LENGTHS, sums), made.line("coefficient", 1, given)]

    def _parts(self, *, derived: bool = True) -> list[Launch]:
        """Return the launches of samples, derived parameters, forward, loss, backward, and parts of the gradients."""
        launches = [*self.samples.launches(), *(self._derived() if derived else [])]
        for start in range(0, self.problem.batch, self.chunk):
            launches += self._chunk(start, min(self.chunk, self.problem.batch - start))
        return launches

    def _half_gradients(self, halves: Halves) -> list[Launch]:
        """Return the launches of the gradients of weights from those of their halves, and of whether one overflows."""
        state, body, n = self.state, self.body, self.problem.plan.n_parameters
        blocks = min(OVERFLOWS, -(-n // TREE))
        given = (
            state.memory, state.size, n, body.parts, body.counts, self.half, halves.scale, state.trained, self.found,
            self.stopped,
        )  # fmt: skip
        return [
            body.trees("half_gradients", (blocks, 1), (TREE, 1), given),
            body.trees("overflow", (1, 1), (TREE, 1), (self.found, blocks, self.stopped)),
        ]

    def _join(self) -> list[Launch]:
        """Return the gradients, from those of the derived parameters too."""
        return [*self.body.join(self.state.grad, fresh=True), *self._derived_back()]

    def _chunk(self, start: int, lanes: int) -> list[Launch]:
        body, theta, feed = self.body, self.state.theta, self.samples.feed
        assert feed is not None
        fresh = start == 0
        return [
            *body.inputs(feed, start, lanes),
            *body.masks(self.problem.seed, self.clock, start, lanes),
            *body.forward(theta, lanes),
            body.loss(theta, self.losses, self.scales, self.clock, fresh, lanes),
            *body.backward(theta, lanes),
            *body.sums(lanes, fresh),
        ]

    def _derived(self) -> list[Launch]:
        if self.prologue is None:
            return []
        made, theta, n = self.prologue, self.state.theta, self.problem.plan.n_parameters
        count = self.problem.plan.n_derived
        given = (theta, n, made.values, made.pool, made.encoded.outputs_at, count)
        return [*made.forward(theta, 1), made.line("derived", count, given)]

    def _derived_back(self) -> list[Launch]:
        if self.prologue is None:
            return []
        made, state, n = self.prologue, self.state, self.problem.plan.n_parameters
        at, count = made.encoded.seeds_at
        given = (made.adjoints, state.grad, n, made.pool, at, count)
        first = [made.line("derived_back", count, given)] if count else []
        return [*first, *made.backward(state.theta, 1), *made.sums(1, True), *made.join(state.grad, fresh=False)]

    def _joined_update(self, *, summed: bool) -> Launch:
        """Return the launch of the update, which also adds up the slices of the gradient, if they are not `summed`."""
        state, n, threads = self.state, self.problem.plan.n_parameters, self.shape.threads
        kernel = written("update", self.joined, self.dtype.name)
        given = (
            state.memory, self.body.parts, n, state.theta.size, self.body.counts, int(summed), state.trained,
            self.table, self.width, self.updates.numbers, self.clock,
            *((self.half, self.stopped) if self.halves is not None else ()),
        )  # fmt: skip
        return Launch(kernel, (-(-n // threads), 1), (threads, 1), given)

    def _update(self) -> list[Launch]:
        """Return the same with the optimiser's rows in memory."""
        state, made, n = self.state, self.updates, self.problem.plan.n_parameters
        launches = [
            made.line("rates", self.width, (self.rates, self.table, self.clock, self.width)),
            made.line("keep", n, (state.previous, state.value, n)),
        ]
        outputs = len(self.problem.update.body.outputs)
        feed = Feed(state.memory, self.column_offsets, self.column_offsets, IN_ORDER, self.clock, 0)
        for start in range(0, n, made.chunk):
            lanes = min(made.chunk, n - start)
            given = (
                state.memory, made.values, made.pool, made.encoded.outputs_at, self.output_offsets, outputs,
                state.trained, start,
            )  # fmt: skip
            launches += [
                *made.inputs(feed, start, lanes),
                *made.forward(self.rates, lanes),
                made.rows("commit", outputs, given, lanes),
            ]
        return [*launches, Launch(find("tick", self.dtype.name), (1, 1), (1, 1), (self.clock,))]
