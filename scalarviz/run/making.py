"""A run is made: its arguments are checked, its graph is recorded, the weights become its own, the engine begins."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from threading import Event, Lock
from typing import TYPE_CHECKING, Any

import numpy as np

from ..checks import integer, one_of
from ..engine.cost import processors
from ..engine.problem import DTYPES, HALF, SAMPLINGS, Limits, Problem, Sampling
from ..engine.table import choose, known
from ..nn._losses import batch_reduction, batch_shares
from ..scalar.store import Block, Store
from ..tape import Plan
from .callbacks import end_callbacks
from .checks import as_pair, batch_of, check_run, limits_of, of_values, sample_shape, seed_of
from .core.gather import gather, owners_of, release
from .core.graph import Graph, recorded, weights_of
from .core.loss_scale import loss_scale_of
from .core.optimizer import columns_of, flat_state, record_rules, record_update
from .core.setup import Dataset, data_of
from .core.training import Training, in_turn
from .engines import first_trainer
from .past.timeline import Timeline
from .questions.breakpoints import Breakpoints
from .travel import Traveller

if TYPE_CHECKING:
    from .run import Run


def make(
    run: Run, parts: tuple[Any, Any, Any], data: Any, batch: tuple[int | None, Sampling], seed: int, engine: str,
    dtype: str, limits: tuple[Any, ...], loss_scale: Any, threads: int | None,
) -> None:  # fmt: skip
    """Check what a run is made of, of which `parts` are model, loss and optimiser, and make it."""
    model, loss, optimizer = parts
    run._threads = processors() if threads is None else integer("threads", threads, 1)
    one_of(dtype, (HALF, *DTYPES), "dtype")
    of_values(model, "model")
    of_values(loss, "loss")
    inputs, targets = as_pair(data)
    run._shapes = sample_shape(inputs, data[0]), sample_shape(targets, data[1])
    vars(run).update(seed=seed_of(seed), dtype=dtype)
    run._loss_scale = loss_scale_of(loss_scale, dtype)
    run._stored = "float64" if dtype == "float64" else "float32"
    sampling = batch[1]
    size = batch_of(batch[0], len(inputs), one_of(sampling, SAMPLINGS, "sampling"))
    checked = limits_of(*limits)
    update = record_update(optimizer, checked)
    check_run(sum(b.size for b in weights_of(model, optimizer)), run._stored, len(optimizer.state), known(engine))
    graph = recorded(run, model, loss, optimizer, run._shapes)
    graph.check("data", inputs, targets)
    run._choice = choose(engine, run._stored, graph.plan, update, size)
    check_run(graph.tape.n_parameters, run._stored, len(optimizer.state), run._choice.name)  # auto has chosen
    whole = sampling == "epochs" and size == len(inputs)
    data_set = Dataset(data_of(graph, run._stored, whole, inputs, targets))
    put_on(run, graph)
    before = [block.flat_value for block in graph.blocks]
    run._stands = Event()  # other threads find the run by its weights, and wait until it is made
    try:
        take_over(run, graph.blocks, partial(_begin, run, update, data_set, (size, sampling), checked, before))
    finally:
        run._stands.set()


def _begin(
    run: Run,
    update: Plan,
    data: Dataset,
    batch: tuple[int, Sampling],
    limits: Limits,
    before: Sequence[Any],
    store: Store,
) -> None:
    graph, run._store, run._callbacks = run._graph, store, []
    try:
        problem = _problem(run, update, data, batch, limits)
        vars(run).update(breakpoints=Breakpoints())
        run._problem = problem
        run._training = Training(
            problem, first_trainer(run, problem), graph.held, graph.optimizer.lr_pace, graph.name_of, run._loss_scale
        )
    except BaseException:  # the weights are not left to a run that there is not, nor rounded by it
        release(graph.blocks, store)
        for block, values in zip(graph.blocks, before, strict=True):
            block.flat_value[:] = values
        raise
    run._traveller = Traveller(run)
    vars(run).update(timeline=Timeline(run._traveller, run._training))
    run._attach()


def _problem(run: Run, update: Plan, data: Dataset, batch: tuple[int, Sampling], limits: Limits) -> Problem:
    run._dataset = data
    return Problem(
        plan=run._graph.plan,
        update=update,
        store=run._store,
        state=flat_state(run.optimizer, run._tape, run._stored),
        data=data.joined(),
        batch=batch[0],
        sampling=batch[1],
        seed=run.seed,
        reduction=batch_reduction(run.loss_function),
        share=batch_shares(run.loss_function),
        trained=np.zeros(run._tape.n_parameters, bool),
        previous=run._store.value.copy(),
        t_start=run.optimizer.steps,
        threads=run._threads,
        limits=limits,
        columns=columns_of(run.optimizer, run._tape, run._stored),
        rules=record_rules(run.optimizer, limits),
        n_weights=run._graph.n_weights,
        tape=run._tape if run._loss_scale is not None else None,
    )


def put_on(run: Run, graph: Graph) -> None:
    """What a graph says of a run is what the run says."""
    run._graph = graph
    vars(run).update(
        model=graph.model, loss_function=graph.loss, optimizer=graph.optimizer, tensors=graph.tensors,
        stages=graph.forward.stages,
    )  # fmt: skip
    run._tape, run._forward = graph.tape, graph.forward
    run._trained = graph.trained
    graph.put_activations()


@in_turn
def close(run: Run) -> None:
    """Return the weights to stand-alone float64."""
    run._check_stands()
    if not run._closed:
        run._closed = True
        hand_over(run)
        release(run._tape.blocks, run._store)


def hand_over(run: Run, taker: Run | None = None) -> None:
    """Give the optimiser its state, so that `taker` or a hand-written loop can go on."""
    if run._taken_by is None:
        run.optimizer.attach(None)
        run._left()
        run._training.trainer.release()
        end_callbacks(run)
        run.timeline.close()
        run._taken_by = taker


# ---- the weights become a run's own


_ONE_BY_ONE = Lock()
"""Held while the owner of blocks changes: threads that make runs over the same blocks do not mix them up."""


def take_over(run: Run, blocks: Sequence[Block], use: Callable[[Store], None]) -> None:
    """Move the weights of `blocks` into a new store of `run`, and let `use` have it.

    Runs that trained them give them away between two of their steps. A run that another thread is making over the
    same weights is waited for: it owns them before it can be asked for anything.
    """
    while not _taken(run, blocks, use, _standing(blocks)):
        pass  # another thread was faster: the weights are its run's by now


def _standing(blocks: Sequence[Block]) -> list[Run]:
    """The owners of blocks, all of them made to the end, in an order in which no two threads wait for each other."""
    while True:
        owners: list[Run] = owners_of(blocks)
        unfinished = [run for run in owners if not run._stands.is_set()]
        if not unfinished:
            return sorted(owners, key=id)
        unfinished[0]._stands.wait()  # no turn is held meanwhile


def _taken(run: Run, blocks: Sequence[Block], use: Callable[[Store], None], owners: Sequence[Run]) -> bool:
    """Whether the weights are the run's now: not when another run than `owners`, who are asked, has got them."""
    take: Callable[[], bool] = partial(_moved, run, blocks, use, owners)
    for owner in owners:
        take = partial(owner._in_turn, take)
    return take()


def _moved(run: Run, blocks: Sequence[Block], use: Callable[[Store], None], asked: Sequence[Run]) -> bool:
    with _ONE_BY_ONE:
        owners: list[Run] = owners_of(blocks)
        if any(owner not in asked for owner in owners):
            return False
        store = gather(blocks, run._stored, run)
    for former in owners:
        if former is not run:
            hand_over(former, run)
            release(former._tape.blocks, former._store)  # what nobody takes stands alone again
    use(store)
    return True
