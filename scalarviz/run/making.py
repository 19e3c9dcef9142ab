"""Make a run: check its arguments, trace its graph, take its weights, start the engine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from threading import Event, Lock
from typing import TYPE_CHECKING, Any

import numpy as np

from ..checks import integer, one_of
from ..engine.cost import processors
from ..engine.problem import DTYPES, HALF, SAMPLINGS, Problem, Sampling
from ..engine.table import checked_name, choose
from ..nn._losses import batch_reduction, batch_shares
from ..scalar.store import Block, Store
from .callbacks import end_callbacks
from .core.gather import gather, owners_of, release
from .core.graph import Graph, recorded, weights_of
from .core.optimizer import columns_of, flat_state, loss_scale_of, record_rules, record_update
from .core.setup import Dataset, data_of
from .core.training import Training, in_turn
from .engines import first_trainer
from .past.timeline import Timeline
from .questions.breakpoints import Breakpoints
from .travel import Traveller
from .validation import as_pair, batch_of, check_run, from_torch, limits_of, of_values, sample_shape, seed_of

if TYPE_CHECKING:
    from .run import Run


def dtype_name(dtype: Any) -> Any:
    """Return the name of NumPy's type, such as ``np.float32`` or an array's dtype; anything else as it is."""
    known = isinstance(dtype, np.dtype) or (isinstance(dtype, type) and issubclass(dtype, np.generic))
    return np.dtype(dtype).name if known else dtype


def make(
    run: Run, parts: tuple[Any, Any, Any], data: Any, batch: tuple[int | None, Sampling], seed: int, engine: str,
    dtype: str, limits: tuple[Any, ...], loss_scale: Any, threads: int | None,
) -> None:  # fmt: skip
    """Check the arguments of a run and make it; `parts` are model, loss and optimiser."""
    (model, loss, optimizer), (batch_size, sampling) = parts, batch
    run._threads = processors() if threads is None else integer("threads", threads, 1)
    dtype = one_of(dtype_name(dtype), (HALF, *DTYPES), "dtype")
    of_values(model, "model")
    of_values(loss, "loss")
    data, batch_size = from_torch(data, batch_size)
    inputs, targets = as_pair(data)
    run._shapes = sample_shape(inputs, data[0]), sample_shape(targets, data[1])
    vars(run).update(seed=seed_of(seed), dtype=dtype)
    run._loss_scale = loss_scale_of(loss_scale, dtype)
    run._stored = "float64" if dtype == "float64" else "float32"
    size = batch_of(batch_size, len(inputs), one_of(sampling, SAMPLINGS, "sampling"))
    checked = limits_of(*limits)
    update = record_update(optimizer, checked)
    weights = sum(block.size for block in weights_of(model, optimizer))
    check_run(weights, run._stored, len(optimizer.state), checked_name(engine))
    graph = recorded(run, model, loss, optimizer, run._shapes)
    graph.check("data", inputs, targets)
    run._choice = choose(engine, run._stored, graph.plan, update, size)
    check_run(graph.tape.n_parameters, run._stored, len(optimizer.state), run._choice.name)  # auto has chosen
    whole = sampling == "epochs" and size == len(inputs)
    run._dataset = Dataset(data_of(graph, run._stored, whole, inputs, targets))
    put_on(run, graph)
    before = [block.flat_value for block in graph.blocks]

    def begin(store: Store) -> None:
        run._store, run._callbacks = store, []
        vars(run).update(breakpoints=Breakpoints())
        try:
            run._problem = problem = Problem(
                plan=graph.plan,
                update=update,
                store=store,
                state=flat_state(optimizer, graph.tape, run._stored),
                data=run._dataset.joined(),
                batch=size,
                sampling=sampling,
                seed=run.seed,
                reduction=batch_reduction(loss),
                share=batch_shares(loss),
                trained=np.zeros(graph.tape.n_parameters, bool),
                previous=store.value.copy(),
                t_start=optimizer.steps,
                threads=run._threads,
                limits=checked,
                columns=columns_of(optimizer, graph.tape, run._stored),
                rules=record_rules(optimizer, checked),
                n_weights=graph.n_weights,
                tape=graph.tape if run._loss_scale is not None else None,
            )
            run._training = Training(
                problem, first_trainer(run, problem), graph.held, optimizer.lr_pace, graph.name_of, run._loss_scale
            )
        except BaseException:  # the weights are not left to an unfinished run, nor rounded by it
            release(graph.blocks, store)
            for block, values in zip(graph.blocks, before, strict=True):
                block.flat_value[:] = values
            raise
        run._traveller = Traveller(run)
        vars(run).update(timeline=Timeline(run._traveller, run._training))
        run._attach()

    run._stands = Event()  # other threads find the run by its weights, and wait until it is made
    try:
        take_weights(run, graph.blocks, begin)
    finally:
        run._stands.set()


def put_on(run: Run, graph: Graph) -> None:
    """Set the attributes of a run that follow from its graph."""
    run._graph = graph
    vars(run).update(
        model=graph.model, loss_function=graph.loss, optimizer=graph.optimizer, tensors=graph.tensors,
        stages=graph.forward.stages,
    )  # fmt: skip
    run._tape, run._forward, run._trained = graph.tape, graph.forward, graph.trained
    graph.put_activations()


@in_turn
def close(run: Run) -> None:
    """Turn the weights into stand-alone float64 ones."""
    run._check_stands()
    if not run._closed:
        run._closed = True
        hand_over(run)
        release(run._tape.blocks, run._store)


def hand_over(run: Run, taker: Run | None = None) -> None:
    """Give the optimiser its state, so that `taker` or a hand-written loop can continue."""
    if run._taken_by is None:
        run.optimizer.attach(None)
        run._left()
        run._training.trainer.release()
        end_callbacks(run)
        run.timeline.close()
        run._taken_by = taker


# ---- taking weights


_ONE_BY_ONE = Lock()
"""Held while blocks change their owner, so that threads that make runs over the same blocks do not mix them up."""


def take_weights(run: Run, blocks: Sequence[Block], use: Callable[[Store], None]) -> None:
    """Move the weights of `blocks` into a new store of `run`, and call `use` with it.

    Runs that trained them give them away between two of their steps. If another thread is making a run over the
    same weights, wait until that run is finished: it already owns them.
    """
    while True:
        owners: list[Run] = owners_of(blocks)
        unfinished = next((owner for owner in owners if not owner._stands.is_set()), None)
        if unfinished is not None:
            unfinished._stands.wait()  # no turn is held meanwhile
            continue
        take: Callable[[], bool] = partial(_moved, run, blocks, use, owners)
        for owner in sorted(owners, key=id):  # in an order in which no two threads wait for each other
            take = partial(owner._in_turn, take)
        if take():
            return


def _moved(run: Run, blocks: Sequence[Block], use: Callable[[Store], None], asked: Sequence[Run]) -> bool:
    """Return whether the run now has the weights; False if a run that is not in `asked` got them meanwhile."""
    with _ONE_BY_ONE:
        owners: list[Run] = owners_of(blocks)
        if any(owner not in asked for owner in owners):
            return False
        store = gather(blocks, run._stored, run)
    for former in owners:
        if former is not run:
            hand_over(former, run)
            release(former._tape.blocks, former._store)  # what is not taken stands alone again
    use(store)
    return True
