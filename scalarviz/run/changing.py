"""What a run goes on with after a `Change`: its new graph, and which weights and numbers go on in it."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from ..engine.outside import FIRST, Outside
from ..errors import InputError, ScalarvizError
from ..nn import Activation, Sequential
from ..optim import Optimizer
from ..optim._groups import GroupNumbers
from ..optim._optimizer import holding
from ..scalar.store import Block
from .checks import batch_of
from .edits.change import ACTIVATIONS, LOSSES, OPTIMIZERS, Change
from .fitting_layers import fitting_blocks, names_in, said_of
from .gather import blocks_of
from .graph import Graph, Place, activations_of, recorded
from .memory import check_run
from .optimizer import record_update, starts
from .regraph import Carried, Fresh, Made

if TYPE_CHECKING:
    from .run import Run


def made(run: Run, change: Change) -> Made:
    """All that it takes to go on after `change`; the run and the models are left as they are.

    Raises
    ------
    ScalarvizError
        A part of it does not fit the run, its data, or another part.
    """
    old = run._graph
    model = old.model if change.model is None else change.model
    loss = LOSSES[change.loss]() if isinstance(change.loss, str) else change.loss
    fitting = fitting_blocks(old, model)
    optimizer = _optimizer(run, change, model, fitting)
    numbers = _numbers(run, optimizer, dict(change.numbers))
    graph = old
    if any(part is not None for part in (change.model, change.loss, change.activation, change.optimizer)):
        with _activations(model, change.activation):
            names = names_in(model) if change.model is not None else dict(zip(old.blocks, _names(old), strict=True))
            graph = recorded(run, model, old.loss if loss is None else loss, optimizer, run._shapes, names)
    check_run(graph.tape.n_parameters, run._stored, len(optimizer.state), run.engine.name)
    carried, fresh = _weights(run, graph, old, fitting)
    words = "" if change.model is None else said_of(graph, old, fitting)
    anew = change.optimizer is not None
    if anew and run.optimizer.lr_schedule is not None and optimizer.lr_schedule is None:  # it was of the one before
        words = ", ".join(filter(None, (words, "schedule = None")))
    pace = optimizer.lr_pace.begun() if anew else None
    given = optimizer.checked({"lr": dict(change.numbers)["lr"]})["lr"] if "lr" in dict(change.numbers) else None
    return Made(graph, old, carried, fresh, numbers, anew, given, pace, change.batch_size, change.sampling, words)


def _names(graph: Graph) -> list[str]:
    return [tensor.name for tensor in graph.kept]


def check_made(run: Run, found: Made) -> None:
    """Whether its loss and its batches fit the data that there is.

    Raises
    ------
    InputError
    """
    tape, problem = found.graph.tape, run.problem
    if found.graph is not run._graph:
        some = slice(0, FIRST) if isinstance(problem.data, Outside) else slice(None)  # the others when they are read
        targets = problem.data[tape.n_inputs : tape.n_inputs + tape.n_targets, some].T
        found.graph.check("change", problem.data[: tape.n_inputs, some].T, targets)
    batch_of(found.batch or problem.batch, problem.data.shape[1], found.sampling or problem.sampling)


# ---- activations


@contextmanager
def _activations(model: Any, wanted: str | Activation | None) -> Iterator[None]:
    """While the block runs, the hidden modules of a Sequential have this activation."""
    if wanted is None:
        yield
        return
    hidden, before = _hidden(model), tuple(activations_of(model))
    try:
        for sequential, name, _ in hidden:
            setattr(sequential, name, ACTIVATIONS[wanted]() if isinstance(wanted, str) else copy.deepcopy(wanted))
        yield
    finally:
        for sequential, name, activation in before:
            setattr(sequential, name, activation)


def _hidden(model: Any) -> list[Place]:
    """The activations that a module with weights follows.

    Raises
    ------
    InputError
        It is no Sequential, or there are none.
    """
    if not isinstance(model, Sequential):
        raise InputError(
            f"change: activation is for an nn.Sequential, and the model is a {type(model).__name__}; give "
            "model=, another one that holds the same weights"
        )
    leaves = list(_leaves(model))
    last = max((k for k, (_, _, part) in enumerate(leaves) if part.parameters()), default=0)
    found = [place for place in leaves[:last] if isinstance(place[2], Activation)]
    if not found:
        raise InputError("change: the model has no activation before a layer with weights; give model=")
    return found


def _leaves(model: Sequential) -> Iterator[Place]:
    for name, part in vars(model).items():
        if name.isdecimal() and isinstance(part, Sequential):
            yield from _leaves(part)
        elif name.isdecimal():
            yield model, name, part


# ---- the optimiser


def _optimizer(run: Run, change: Change, model: Any, fitting: Mapping[Block, Block]) -> Optimizer:
    """The one that goes on: that of the run where it holds what it held, its like over other weights, or a new one."""
    old = run.optimizer
    if isinstance(change.optimizer, Optimizer):
        return change.optimizer
    held = _held(old, model, fitting) if change.model is not None else old.blocks()
    if change.optimizer is None:
        same = [(b, i.tolist()) for b, i in held] == [(b, i.tolist()) for b, i in old.blocks()]
        if not same and len(old.rules) > 1:
            raise InputError("change: which parameter group new weights are in is not known; give optimizer=, too")
        return old if same else holding(old, held)
    kind = OPTIMIZERS[change.optimizer] if isinstance(change.optimizer, str) else change.optimizer
    parameters = [p for block, places in held for p in _of(block, places)]
    try:
        return kind(parameters, **dict(change.numbers))
    except ScalarvizError:
        raise
    except TypeError as error:
        raise InputError(f"change: optimizer: {error}; give its numbers too, such as lr=") from None


def _of(block: Block, places: Any) -> list[Any]:
    return [block] if len(places) == block.size else [block.weight(int(i)) for i in places]


def _held(old: Optimizer, model: Any, fitting: Mapping[Block, Block]) -> list[tuple[Block, Any]]:
    """What of the new weights is held: of those that go on what was, of the new ones all."""
    before = dict(old.blocks())
    blocks = blocks_of(model)
    if not blocks:  # a function: nobody knows yet what it reads
        return old.blocks()
    found = []
    for block in blocks:
        places = before.get(fitting[block]) if block in fitting else np.arange(block.size)
        if places is not None:
            found.append((block, places))
    return found


def _numbers(run: Run, optimizer: Optimizer, numbers: dict[str, Any]) -> GroupNumbers:
    """All numbers of the optimiser as they are to be; its rule is recorded with them, and nothing is changed."""
    now, pace = optimizer.moment(), optimizer.lr_pace.moment()
    found = optimizer.checked(numbers)
    try:
        optimizer.put(found)
        record_update(optimizer, run.problem.limits)
        return optimizer.moment()
    finally:
        optimizer.put_moment(now)
        optimizer.lr_pace.put(pace)


# ---- weights


def _weights(
    run: Run, graph: Graph, old: Graph, fitting: Mapping[Block, Block]
) -> tuple[tuple[Carried, ...], tuple[Fresh, ...]]:
    """Which of the new graph's weights go on, and how the others begin."""
    before, carried, fresh = starts(old.tape), [], []
    for block, to in starts(graph.tape).items():
        source = block if block in before else fitting.get(block)
        if source is not None:
            carried.append(Carried(to, before[source], block.size))
        else:
            with np.errstate(over="ignore"):
                values = block.flat_value.astype(run._stored)
            if not np.isfinite(values).all():
                raise InputError(
                    f"change: a weight of {block.name or 'the model'} is no finite number of {run._stored}"
                )
            fresh.append(Fresh(to, values, block.frozen_flags.copy()))
    return tuple(carried), tuple(fresh)
