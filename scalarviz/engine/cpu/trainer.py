"""`NumbaTrainer`: the compiled engine at work on one problem."""

from __future__ import annotations

import time
from threading import Thread
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ... import rng
from ...tape import Plan, Program
from ..arrays.updates import Updater
from ..coupled import check_coupled, factor_of
from ..data import Data
from ..host import HostTrainer
from ..problem import Array, Problem, Rates
from .cache.loader import function
from .compiled.meet import ARRIVED, EVERYBODY
from .feed import Feeder
from .machine import Loaded
from .pieces import Pieces
from .team import Turns, groups_of, threads_for, yield_address

UPDATE_BLOCK = 512
"""Parameters that go through the optimiser's program together."""


class NumbaTrainer(HostTrainer):
    """Trains a `Problem` with compiled kernels. See :class:`scalarviz.engine.problem.Trainer`.

    Several trainers may work in different threads: each has its own workspaces, and a call holds no lock.

    Parameters
    ----------
    problem : Problem
        Its arrays are read and written in place; they must be C-contiguous.

    Attributes
    ----------
    threads : int
        How many take part in a step, as long as that is quicker than one.
    """

    name = "numba"
    breakable = False

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        plan, dtype = problem.plan, problem.store.value.dtype
        self._train = function("train", dtype.name)
        derived = plan.prologue
        seeds = tuple(derived.outputs.tolist()) if derived is not None else ()
        block = min(problem.block, problem.batch)
        check_coupled(plan.body, problem.batch, 2 * plan.body.n_rows * dtype.itemsize)
        groups = groups_of(plan.body, problem.batch, block)
        self.threads = threads_for(problem.threads, groups)
        self._turns = Turns(self.threads)
        self._bodies = _bodies(plan.body, dtype, block, problem.batch, self.threads)
        groups = max(1, groups) if plan.body.couples else groups
        self._feeder = Feeder(plan.body)
        self._prologue = Loaded(derived, dtype, 1, seeds)
        self._update = Loaded(problem.update.body, dtype, UPDATE_BLOCK)
        self._updater = Updater(problem)
        width = problem.update.n_parameters + problem.update.n_derived
        self._pieces = Pieces(problem, self._update, width, UPDATE_BLOCK) if problem.rules else None
        size = plan.n_parameters + plan.n_derived
        self._theta, self._grad = np.zeros(size, dtype), np.zeros(size, dtype)
        self._buffers, self._parts = np.zeros((max(groups - 1, 0), size), dtype), np.zeros(groups)
        left, right, rounds = problem.order_shape
        shape = np.array([left, right, np.uint64(rounds)], np.uint64)
        self._everything = np.zeros(0, np.bool_)
        self._order = (np.array(rng.split(problem.seed), np.uint64), shape)

    def train(self, first: int, count: int, lr: Rates) -> NDArray[np.float64]:
        """Do the steps ``first + 1 .. first + count``; returns their losses, float64 of shape (count,)."""
        hyper, losses, done = self._updater.hyper(first, count, lr), np.empty(count), 0
        if self._pieces is not None:
            hyper = np.concatenate([hyper, *self._pieces.hyper(self.problem, first, count, lr)], axis=1)
        for workers, steps in self._turns.pieces(count):
            end = done + steps
            while done < end:
                some = self.problem.ready(first + done, end - done)
                piece, start = slice(done, done + some), time.perf_counter()
                self._run(first + done, hyper[piece], losses[piece], True, workers)
                self._turns.took(workers, (time.perf_counter() - start) / some)
                done += some
        return losses

    def gradient(self, step: int) -> float:
        """Forward and backward of the batch of step ``step + 1``; fills ``store.grad``, returns the loss."""
        nothing = np.empty((0, 0), self._theta.dtype)
        losses = np.empty(1)
        self._run(step, nothing, losses, False, self._turns.workers)
        return float(losses[0])

    def _run(self, first: int, hyper: Array, losses: NDArray[np.float64], commit: bool, workers: int) -> None:
        problem, store = self.problem, self.problem.store
        n, samples = problem.plan.n_parameters, problem.data.shape[1]
        data, ahead = problem.batches(first)
        data.lay(problem.whole)
        derived = problem.plan.n_derived > 0
        scales, limits = problem.scales(first, len(losses)), problem.limits
        penalties = np.zeros(len(losses) if limits.penalised else 0)
        tracks, factors = _tracks(problem)
        theta, grad = (self._theta, self._grad) if derived else (store.value, store.grad)
        trained = self._everything if problem.trained.all() else problem.trained
        # gathered at every call: the arrays of a problem may be replaced between calls
        columns = [store.value, grad, *problem.state, *problem.columns]
        shared = (
            self._prologue.machine, self._update.machine, theta, grad, store.value, problem.previous,
            np.array([c.ctypes.data for c in columns], np.int64), self._feeder.lines(data), samples, ahead,
            problem.batch, self._order, scales.astype(theta.dtype), trained, np.ascontiguousarray(hyper), first, losses,
            commit, self._buffers, self._parts, limits.numbers(problem.n_weights), penalties, tracks, factors,
            team := np.array([0, yield_address()], np.int64),
        )  # fmt: skip
        others = [
            Thread(target=self._train, args=(body.machine, *shared, worker, workers))
            for worker, body in enumerate(self._bodies[:workers]) if worker > 0
        ]  # fmt: skip
        try:
            for thread in others:
                thread.start()
            self._train(self._bodies[0].machine, *shared, 0, workers)
        except BaseException:  # an interrupt before the call: nobody is to wait for this thread
            team[ARRIVED] = EVERYBODY
            raise
        finally:
            for thread in others:
                if thread.ident is not None:
                    thread.join()
        if derived:
            store.grad[:] = grad[:n]
        with np.errstate(invalid="ignore"):  # samples that are all left out: 0 / 0
            losses *= scales
        if limits.penalised:
            losses += penalties


def _bodies(program: Program, dtype: np.dtype[Any], block: int, batch: int, threads: int) -> list[Loaded]:
    """A machine for each thread; where samples depend on each other all work in the rows of the first."""
    blocks = -(-batch // block)
    first = Loaded(program, dtype, block, (program.loss,), blocks=blocks)
    other = first if program.couples else None
    return [
        first,
        *(Loaded(program, dtype, block, (program.loss,), other=other, blocks=blocks) for _ in range(1, threads)),
    ]


def _tracks(problem: Problem) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """What numbers follow, as ``compiled/coupled.follow`` takes it; those that are frozen left out."""
    found = [track for track in problem.plan.body.tracks if not problem.store.frozen[track.index]]
    tracks = np.array([(t.index, t.row, t.count) for t in found], np.int64).reshape(-1, 3)
    factors = np.array([(t.rate, factor_of(t, problem.batch)) for t in found], np.float64).reshape(-1, 2)
    return tracks, factors


def forward(plan: Plan, theta: Array, data: Array, block: int = 256) -> Array:
    """The outputs of a plan's body for every sample.

    Parameters
    ----------
    plan : Plan
        With its features encoded in `data` already.
    theta : ndarray, shape (n_parameters,)
        float32 or float64; the dtype of the computation.
    data : ndarray, shape (numbers of a sample, N)
        Inputs, targets and features, as far as the body reads them.
    block : int
        Lanes that go through together.

    Returns
    -------
    ndarray, shape (outputs of the body, N)
    """
    dtype = theta.dtype
    block = max(1, data.shape[1]) if plan.body.couples else block  # they are one batch
    extended = np.concatenate([theta, np.zeros(plan.n_derived, dtype)])
    found = np.empty((len(plan.body.outputs), data.shape[1]), dtype)
    body, prologue = Loaded(plan.body, dtype, block), Loaded(plan.prologue, dtype, 1)
    source = Data(dtype, np.ascontiguousarray(data, dtype))
    feed = Feeder(plan.body).lines(source)
    function("evaluate", dtype.name)(body.machine, prologue.machine, extended, plan.n_parameters, feed, found)
    return found
