"""`NumbaTrainer`: the compiled engine for one problem, with its threads and parameter groups.

The blocks of a batch are split into at most `MOST_GROUPS` groups, each with its own sum of gradients, and the sums are
added in order. The groups depend only on the sizes of the run, so one thread gives the same bits as two.

With several parameter groups, each range of weights is updated by the program of its group. So no weight needs a
column with its group, and no rule runs for weights that it does not update.
"""

from __future__ import annotations

import ctypes
import operator
import statistics
import sys
import time
from collections import deque
from collections.abc import Callable
from dataclasses import replace
from functools import cache, cached_property, partial
from threading import Thread
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ... import rng
from ...contexts import collection_paused
from ...tape import Program
from ..arrays.trainer import Updater
from ..cache import FEW as FEW_KERNELS
from ..cache import tell
from ..cost import processors, work_of
from ..data import Data
from ..outside import Outside
from ..problem import CLIP, Array, HostTrainer, Problem, Rates, check_coupled, factor_of
from . import wire
from .machine import Addresses, Feeder, Loaded, kernel_at
from .units import Unit, noting, refusal

MOST_GROUPS = 8
"""The most groups, each with its own sum of gradients; the first sum is the gradient itself."""

MANY_WEIGHTS = 65536
"""From this many weights on, clearing and adding buffers takes longer than a block of samples."""

MANY_SAMPLES = 512
"""From `MANY_WEIGHTS` on, each buffer sums at least this many samples if there are more than two groups."""

WORTH = 1_000_000
"""For fewer operations per step, a second thread costs more than it saves."""

TRIAL_SECONDS = 0.25
"""Seconds between two trials of the other number of threads."""


def groups_of(program: Program, batch: int, block: int) -> int:
    """Return the number of groups of a step; 0 if its blocks are too few or too small for threads."""
    blocks = -(-batch // block)
    if blocks == 1 or work_of(program) * batch < WORTH:
        return 0
    most = MOST_GROUPS if program.n_theta < MANY_WEIGHTS else max(2, batch // MANY_SAMPLES)
    return min(blocks, MOST_GROUPS, most)


def threads_for(wanted: int, groups: int) -> int:
    """Return the number of threads: at most that of groups and processors, and 1 if threads cannot wait."""
    if wanted == 1 or not yield_address():
        return 1
    return max(1, min(wanted, groups, processors()))


@cache
def yield_address() -> int:
    """Return the address of the system function that yields the processor to other threads; 0 if there is none."""
    try:
        windows = sys.platform == "win32"
        library = ctypes.CDLL("kernel32" if windows else None)
        function = library.SwitchToThread if windows else library.sched_yield
    except (AttributeError, OSError):
        return 0
    return ctypes.cast(function, ctypes.c_void_p).value or 0


class ThreadChoice:
    """Chooses one thread or all for the next steps (`workers`), whichever was faster lately.

    If another program uses a processor, all threads wait for the one that shares it, and a single thread is faster.
    This may change during a run. The number of threads does not change the bits.
    """

    def __init__(self, most: int) -> None:
        self.most = self.workers = most
        self._seconds = {workers: deque[float](maxlen=3) for workers in (most, 1)}
        self._tried = time.perf_counter()

    def pieces(self, count: int) -> list[tuple[int, int]]:
        """Return pairs (workers, steps) for the next `count` steps; sometimes a few steps try the other number."""
        now = time.perf_counter()
        if self.most == 1 or now - self._tried < TRIAL_SECONDS:
            return [(self.workers, count)]
        self._tried = now
        other, few = (1 if self.workers > 1 else self.most), max(1, count // 16)
        return [(other, few), (self.workers, count - few)] if count > few else [(other, count)]

    def took(self, workers: int, seconds: float) -> None:
        """Record the seconds per step with `workers` threads; the median of the last three counts."""
        if self.most == 1:  # the median would take a tenth of a small step
            return
        self._seconds[workers].append(seconds)
        known = {workers: statistics.median(several) for workers, several in self._seconds.items() if several}
        self.workers = min(known, key=lambda workers: known[workers])


SHORT = 64
"""For fewer weights per range on average, computing all rules for every weight is as fast."""
FEW = 16
"""This many ranges are always allowed."""


class Pieces:
    """The programs of the groups and the `count` ranges of weights; 0 means one program for all."""

    def __init__(self, problem: Problem, whole: Loaded, block: int) -> None:
        self._updaters: list[Updater] = []
        self.count = 0
        if not problem.rules:
            return
        groups = problem.columns[0].astype(np.int64)
        ends = [*(np.flatnonzero(np.diff(groups)) + 1).tolist(), len(groups)]
        if len(ends) > max(FEW, len(groups) // SHORT):
            return
        dtype, width = problem.store.value.dtype, problem.update.n_parameters + problem.update.n_derived
        self._updaters = [Updater(replace(problem, update=plan, columns=[])) for plan in problem.rules]
        self._machines = [Loaded(plan.body, dtype, block) for plan in problem.rules]
        starts = np.cumsum([width, *(plan.n_parameters + plan.n_derived for plan in problem.rules)]).tolist()
        clip = -1 if problem.limits.clip_norm is None else CLIP
        lines: list[Any] = []
        for start, end in zip([0, *ends[:-1]], ends, strict=True):
            j = int(groups[start])
            lines += [start, end - start, self._machines[j].machine.ctypes.data, starts[j], clip]
        self.count, self._lines = len(ends), np.array(lines, np.int64)
        assert len(lines) % wire.PIECE == 0
        whole.machine[wire.PIECES : wire.PIECES + 2] = self._lines.ctypes.data, len(self._lines)

    def hyper(self, problem: Problem, first: int, count: int, lr: Rates) -> list[Array]:
        """Return the step numbers of each group, which follow those of the whole update."""
        found = []
        for j, updater in enumerate(self._updaters):
            updater.problem.t_start = problem.t_start
            own = lr[:, j :: len(self._updaters)] if isinstance(lr, np.ndarray) else lr  # its rates, and its momenta
            found.append(updater.hyper(first, count, own))
        return found


UPDATE_BLOCK = 512
"""Parameters that go through the optimiser's program together."""


STREAMED_BYTES = 1 << 20
"""From this many weights on, gradients and former values of a call's last step bypass the cache."""


class Machines:
    """The programs of a problem, ready to run: one per thread, the derived parameters, the update and its parts."""

    def __init__(self, problem: Problem, block: int, threads: int) -> None:
        plan, dtype = problem.plan, problem.store.value.dtype
        seeds = tuple(plan.prologue.outputs.tolist()) if plan.prologue is not None else ()
        self.kernel = Addresses(partial(kernel_at, dtype=dtype.name))
        self.asked: tuple[Any, ...] | None = None  # what the kernels that are named now were chosen for
        self.bodies = _bodies(plan.body, dtype, block, problem.batch, threads)
        self.feeder = Feeder(plan.body)
        self.prologue = Loaded(plan.prologue, dtype, 1, seeds)
        self.update = Loaded(problem.update.body, dtype, UPDATE_BLOCK)
        self.pieces = Pieces(problem, self.update, UPDATE_BLOCK)
        if self.pieces.count:
            self.update.machine[wire.UPDATE] = self.kernel("update_rows")

    @cached_property
    def train(self) -> Callable[..., None]:
        """The kernel that does whole steps, callable from Python."""
        from .loader import callable_at  # loads numba

        return callable_at(self.kernel("train"))


def compile_kernels(units: list[Unit], stopped: Callable[[], bool]) -> None:
    """Compile the kernels of a program, and print a line: it takes seconds, and happens once."""
    from .loader import fill

    said = refusal()
    keeps = f"at every start, since {said}" if said else "once; later starts find them in the cache"
    if len(units) >= FEW_KERNELS:
        tell(f"scalarviz: compiling {len(units)} kernels for this network, {keeps}")
    fill(units, stopped=stopped)


class NumbaTrainer(HostTrainer):
    """Trains a `Problem` with compiled kernels. See :class:`scalarviz.engine.problem.Trainer`.

    Several trainers may run in different threads: each has its own workspaces, and a call holds no lock. The
    arrays must be C-contiguous. A step uses `threads` threads, as long as that is faster than one.
    """

    name = "numba"
    stops = False
    breakable = False

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        plan, dtype = problem.plan, problem.store.value.dtype
        self._block = min(problem.block, problem.batch)
        check_coupled(plan.body, problem.batch, 2 * plan.body.n_rows * dtype.itemsize)
        groups = groups_of(plan.body, problem.batch, self._block)
        self.threads = threads_for(problem.threads, groups)
        self._turns = ThreadChoice(self.threads)
        groups = max(1, groups) if plan.body.couples else groups
        self._updater = Updater(problem)
        size = plan.n_parameters + plan.n_derived
        self._theta, self._grad = np.zeros(size, dtype), np.zeros(size, dtype)
        self._buffers, self._parts = np.zeros((max(groups - 1, 0), size), dtype), np.zeros(groups)
        left, right, rounds = problem.order_shape
        shape = np.array([left, right, np.uint64(rounds)], np.uint64)
        self._order = (np.array(rng.split(problem.seed), np.uint64), shape)
        self._known = max(1, wire.KNOWN // problem.batch)  # steps whose samples are looked up at once
        self._team = np.array([0, yield_address()], np.int64)
        self._columns = np.zeros(2 + len(problem.state) + len(problem.columns), np.int64)
        self._held: tuple[Array | None, ...] = (None,) * len(self._columns)  # whose addresses these are
        self._machines: Machines | None = None
        self._is_finite: bool | None = None  # found by the last call
        self._flags: tuple[NDArray[np.bool_], bool] | None = None  # the last checked flags, and whether all were set
        self._places: dict[str, tuple[Array, int]] = {}

    @property
    def ready(self) -> bool:
        """True if the next call needs no compilation; also loads the cached kernels."""
        return not self.missing()

    @property
    def _ready_machines(self) -> Machines:
        if self._machines is None:
            self.prepare()
        assert self._machines is not None
        return self._machines

    def prepare(self, stopped: Callable[[], bool] = lambda: False) -> None:
        """Load the kernels of this problem; compile the missing ones first."""
        if missing := self.missing():
            compile_kernels(missing, stopped)
            with collection_paused():
                self._machines = self._make_machines()

    def missing(self) -> list[Unit]:
        """Load the kernels if all are in the cache; otherwise return the missing ones."""
        if self._machines is not None:
            return []
        with collection_paused(), noting() as missing:  # loading numba makes a million objects that stay
            made = self._make_machines()
        if not missing:
            self._machines = made
        return missing

    def _make_machines(self) -> Machines:
        problem = self.problem
        made = Machines(problem, self._block, self.threads)
        if not isinstance(problem.data, Outside):  # outside data is not read in advance
            made.feeder.lines(problem.data)
        some = bool(problem.trained.any()) and not problem.trained.all()  # no flag is set before the first step
        self._set_kernels(made, problem.data.shape[1], False, some, True)
        body, place = made.bodies[0].machine, self._address_of
        body[wire.SEED], body[wire.SHAPE] = place("seed", self._order[0]), place("shape", self._order[1])
        body[wire.BATCH], body[wire.LOOKED_UP], body[wire.STATES] = problem.batch, self._known, len(self._columns) - 2
        body[wire.PROLOGUE] = place("prologue", made.prologue.machine)
        body[wire.UPDATER] = place("update", made.update.machine)
        body[wire.BUFFERS_AT], body[wire.GROUPS] = place("buffers", self._buffers), len(self._parts)
        body[wire.PARTS_AT], body[wire.TEAM_AT] = place("parts", self._parts), place("team", self._team)
        body[wire.COLUMNS_AT] = place("columns", self._columns)
        body[wire.WHOLE] = not len(self._parts) and problem.batch <= body[wire.BLOCK]
        body[wire.STREAMED] = problem.store.value.nbytes >= STREAMED_BYTES
        return made

    def _set_kernels(self, made: Machines, samples: int, ahead: bool, some: bool, commit: bool) -> None:
        """Name the kernels that a call needs; `some`: not all weights are trained."""
        problem, body, kernel = self.problem, made.bodies[0].machine, made.kernel
        fused = bool(made.update.machine[wire.FUSED])
        asked = samples, ahead, some, commit, fused, problem.batch, int(self._order[1][2]), problem.limits
        if asked == made.asked:
            return
        made.asked = None  # until all are named: a compilation may be interrupted
        derived, groups, pieces = problem.plan.n_derived > 0, len(self._parts) > 0, made.pieces.count > 0
        chosen = not ahead and (problem.batch < samples or self._order[1][2] == 0)
        rows = pieces or some or not fused
        kernel("train")
        body[wire.THROUGH] = kernel("coupled" if body[wire.BLOCKS] else "groups") if groups else 0
        body[wire.ORDERS] = kernel("orders") if chosen else 0
        body[wire.JOIN] = kernel("join") if groups else 0
        body[wire.DERIVE] = kernel("derive") if derived else 0
        body[wire.DERIVE_BACK] = kernel("derive_back") if derived else 0
        body[wire.PENALISE] = kernel("penalise") if problem.limits.between else 0
        body[wire.UPDATE] = kernel("update_pieces" if pieces else "update_rows") if commit and rows else 0
        body[wire.FOLLOW] = kernel("follow") if problem.plan.body.tracks else 0
        made.asked = asked

    def _address_of(self, name: str, array: Array) -> int:
        """Return the address of an array's numbers; NumPy's own lookup takes longer than a small step."""
        held = self._places.get(name)
        if held is None or held[0] is not array:
            held = self._places[name] = array, array.ctypes.data
        return held[1]

    def _every_weight(self) -> bool:
        """Return whether all weights are trained; cached, because checking millions of flags is a tenth of a step."""
        if self._flags is None or self._flags[0] is not self.problem.trained:
            self._flags = self.problem.trained, bool(self.problem.trained.all())
        return self._flags[1]

    def train(self, first: int, count: int, lr: Rates) -> NDArray[np.float64]:
        """Do the steps ``first + 1 .. first + count``; return their losses, float64 of shape (count,)."""
        pieces = self._ready_machines.pieces
        hyper, losses, done = self._updater.hyper(first, count, lr), np.empty(count), 0
        if pieces.count:
            hyper = np.concatenate([hyper, *pieces.hyper(self.problem, first, count, lr)], axis=1)
        for workers, steps in self._turns.pieces(count):
            end = done + steps
            while done < end:
                some = self.problem.read_ahead(first + done, end - done)
                piece, start = slice(done, done + some), time.perf_counter()
                self._run(first + done, hyper[piece], losses[piece], True, workers)
                self._turns.took(workers, (time.perf_counter() - start) / some)
                done += some
        return losses

    def finite(self) -> bool:
        """Return whether no weight is a NaN or an infinity after the last call."""
        found, self._is_finite = self._is_finite, None  # the numbers may change before the next question
        return super().finite() if found is None else found

    def gradient(self, step: int) -> float:
        """Run forward and backward for the batch of step ``step + 1``; fill ``store.grad``, return the loss."""
        nothing = np.empty((0, 0), self._theta.dtype)
        losses = np.empty(1)
        self._run(step, nothing, losses, False, self._turns.workers)
        return float(losses[0])

    def passes(self, data: Data) -> Callable[[int, Array | None, bool], Array]:
        """Return a function that does one pass of :meth:`gradient`, or both, for a batch of one block.

        It takes the number of a step, the inputs for a forward pass (N, n_inputs), laid out as those of `data`, and
        whether to go backward. It returns all rows, (n_rows, lanes), which stay valid until the next call; the backward
        pass reads them, and fills ``store.grad``. What stands behind the inputs is read from `data`. All other arrays
        must stay the same, and nothing else may use the trainer.
        """
        self.gradient(0)  # sets what is the same in all calls
        machines, store, derived = self._ready_machines, self.problem.store, self.problem.plan.n_derived > 0
        loaded, n, real = machines.bodies[0], self.problem.plan.n_parameters, self._theta.dtype
        body, room = loaded.machine, loaded.workspace
        self._losses_and_scales = np.zeros(1), np.ones(1, real)  # only their addresses are used
        theta, grad = (self._theta, self._grad) if derived else (store.value, store.grad)
        body[wire.LOSSES_AT], body[wire.SCALES_AT] = (array.ctypes.data for array in self._losses_and_scales)
        feed = machines.feeder.lines(data)
        first = np.array([k == 0 for k, *_ in machines.feeder.stretches], bool)
        later, offsets = feed[~first], feed[first, wire.FEED_SOURCE] - data.parts[0].ctypes.data
        at = [array.ctypes.data for array in (theta, grad, store.value)]
        feeds = {True: (feed.ctypes.data, len(feed)), False: (later.ctypes.data, len(later))}
        self._feeds = feed, later  # only their addresses are used
        shape, start = (self.problem.plan.body.n_rows, self.problem.batch), room.address - room.memory.ctypes.data
        lists = [(wire.FORWARD + 1, wire.FORWARD_CUTS + 1), (wire.BACKWARD + 1, wire.BACKWARD_CUTS + 1)]
        lengths = [[int(body[entry]) for entry in entries] for entries in lists]

        def run(step: int, inputs: Array | None, backward: bool) -> Array:
            if forward := inputs is not None:
                feed[first, wire.FEED_SOURCE] = offsets + inputs.ctypes.data
            for entries, counts, wanted in zip(lists, lengths, (forward, backward), strict=True):
                for entry, count in zip(entries, counts, strict=True):
                    body[entry] = count if wanted else 0
            body[wire.FIRST], (body[wire.FEED_AT], body[wire.FEED_LINES]) = step, feeds[forward]
            machines.train(self._address_of("body 0", body), 0, 0, *at, n, len(theta))
            if derived and backward:
                store.grad[:] = grad[:n]
            return np.ndarray(shape, real, room.memory, start, (int(body[wire.STRIDE]), real.itemsize))

        return run

    def _run(self, first: int, hyper: Array, losses: NDArray[np.float64], commit: bool, workers: int) -> None:
        problem, store, machines, place = self.problem, self.problem.store, self._ready_machines, self._address_of
        n, size, derived = problem.plan.n_parameters, len(self._theta), problem.plan.n_derived > 0
        data, ahead = problem.batches(first)
        data.set_layout(problem.full_batch)
        feed, samples, limits = machines.feeder.lines(data), problem.data.shape[1], problem.limits
        scales = problem.scales(first, len(losses))
        factors = scales.astype(self._theta.dtype)
        theta, grad = (self._theta, self._grad) if derived else (store.value, store.grad)
        hyper, every = np.ascontiguousarray(hyper), self._every_weight()
        self._team[wire.ARRIVED] = 0
        self._set_kernels(machines, samples, ahead, not every, commit)
        body, update = machines.bodies[0].machine, machines.update.machine
        # looked up at every call: the arrays of a problem may be replaced between calls
        columns = (store.value, grad, *problem.state, *problem.columns)
        if not all(map(operator.is_, columns, self._held)):
            self._held, self._columns[:] = columns, [column.ctypes.data for column in columns]
        body[wire.PREVIOUS_AT], body[wire.TRAINED_AT] = place("previous", problem.previous), 0
        if not every:
            body[wire.TRAINED_AT] = place("trained", problem.trained)
        body[wire.FEED_AT], body[wire.FEED_LINES] = place("feed", feed), len(feed)
        body[wire.SAMPLES], body[wire.AHEAD] = samples, ahead
        body[wire.SCALES_AT], body[wire.LOSSES_AT] = factors.ctypes.data, losses.ctypes.data
        body[wire.FIRST], body[wire.COUNT], body[wire.COMMIT], body[wire.WORKERS] = first, len(losses), commit, workers
        if commit:
            body[wire.HYPERS_AT], body[wire.HYPER_BYTES] = hyper.ctypes.data, hyper.strides[0]
        # if nothing reads gradients or weights between backward and update, and all weights are trained
        unseen = commit and every and not derived and not limits.between and update[wire.FUSED]
        body[wire.AT_ONCE] = bool(unseen and body[wire.WHOLE])
        penalties = np.zeros(len(losses) if limits.penalised else 0)
        if limits.between:
            bounds = limits.numbers(problem.n_weights)
            body[wire.LIMITS_AT] = bounds.ctypes.data
            body[wire.PENALTIES_AT] = penalties.ctypes.data if limits.penalised else 0
        if problem.plan.body.tracks:
            tracks, rates = _tracks(problem)
            body[wire.TRACKS_AT], body[wire.TRACKS] = tracks.ctypes.data, len(tracks)
            body[wire.FACTORS_AT] = rates.ctypes.data
        if body[wire.ORDERS]:
            indices = np.empty((workers, self._known * problem.batch), np.int64)
        at = place("theta", theta), place("grad", grad), place("value", store.value)

        def work(worker: int) -> None:
            machine = machines.bodies[worker].machine
            if worker:
                machine[wire.SEED], machine[wire.BATCH] = body[wire.SEED], body[wire.BATCH]
                machine[wire.CALL : wire.IDS] = body[wire.CALL : wire.IDS]
            machine[wire.WORKER] = worker
            if body[wire.ORDERS]:
                machine[wire.INDICES_AT] = indices[worker].ctypes.data
            machines.train(place(f"body {worker}", machine), 0, 0, *at, n, size)

        others = [Thread(target=work, args=(worker,)) for worker in range(1, workers)]
        try:
            for thread in others:
                thread.start()
            work(0)
        except BaseException:  # an interrupt before the call: no other thread may wait for this one
            self._team[wire.ARRIVED] = wire.EVERYBODY
            raise
        finally:
            for thread in others:
                if thread.ident is not None:
                    thread.join()
        self._is_finite = not body[wire.STRANGE] if body[wire.AT_ONCE] else None
        if derived:
            store.grad[:] = grad[:n]
        with np.errstate(invalid="ignore"):  # all samples are left out: 0 / 0
            losses *= scales
        if limits.penalised:
            losses += penalties


def _bodies(program: Program, dtype: np.dtype[Any], block: int, batch: int, threads: int) -> list[Loaded]:
    """Return one machine per thread; if samples depend on each other, all share the rows of the first."""
    blocks = -(-batch // block)
    first = Loaded(program, dtype, block, (program.loss,), blocks=blocks)
    other = first if program.couples else None
    return [
        first,
        *(Loaded(program, dtype, block, (program.loss,), other=other, blocks=blocks) for _ in range(1, threads)),
    ]


def _tracks(problem: Problem) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the tracks of numbers that are not frozen, as ``compiled/steps.follow`` reads them."""
    found = [track for track in problem.plan.body.tracks if not problem.store.frozen[track.index]]
    tracks = np.array([(t.index, t.row, t.count) for t in found], np.int64).reshape(-1, 3)
    factors = np.array([(t.rate, factor_of(t, problem.batch)) for t in found], np.float64).reshape(-1, 2)
    return tracks, factors
