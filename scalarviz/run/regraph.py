"""Continue a run with another graph: match layers, keep weights and numbers, and switch between two steps."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..arguments import first_of
from ..engine.outside import FIRST, Outside
from ..engine.problem import Sampling, default_block
from ..errors import InputError, ScalarvizError
from ..nn import Activation, Module, Sequential
from ..nn._losses import batch_reduction, batch_shares
from ..optim import Optimizer
from ..optim._groups import GroupNumbers
from ..optim._optimizer import holding
from ..optim._pace import PaceMoment
from ..scalar.store import Block, Store
from .core.gather import as_blocks, blocks_of, buffers_in, owners_of, release, starts
from .core.graph import ActivationPlace, Graph, recorded
from .core.optimizer import columns_of, record_rules, record_update
from .core.setup import Dataset, data_of
from .core.training import hand_back
from .edits.change import ACTIVATIONS, LOSSES, OPTIMIZERS, Change
from .engines import prepare_anew
from .making import put_on, take_weights
from .transaction import Transaction
from .validation import batch_of, check_run

if TYPE_CHECKING:
    from .run import Run


# ---- Match layers of two models: by name and shape, in Sequentials by order


Layer = list[tuple[str, tuple[int, ...], Block]]
"""Name, shape and block of each weight and buffer of one module."""
Pairs = tuple[tuple[int, int], ...]

MOST_NAMED = 6
"""Most layers that a text names."""


def fitting_blocks(old: Graph, model: Any) -> dict[Block, Block]:
    """Return each block of `model` that keeps numbers, with the block of the old graph that has them.

    A block in both keeps its own. Between two Sequentials a longest common row of layers with equal shapes, in order,
    is matched; between other modules, layers with equal names and shapes.
    """
    own = set(old.blocks)
    if not isinstance(model, Module):
        return {block: block for block in own}
    new, before = layers_of(model), layers_of(old.model)
    by_order = isinstance(model, Sequential) and isinstance(old.model, Sequential)
    pairs = _in_order(new, before) if by_order else [(name, name) for name in new if name in before]
    found = {block: block for layer in new.values() for _, _, block in layer if block in own}
    taken = set(found.values())
    for name, other in pairs:
        mine, theirs = new[name], before[other]
        if _shapes(mine) == _shapes(theirs):
            for (_, _, block), (_, _, source) in zip(mine, theirs, strict=True):
                if block not in found and source in own and source not in taken:
                    found[block] = source
                    taken.add(source)
    return found


def names_in(model: Any) -> dict[Block, str]:
    """Return the names of a model's weights in it."""
    return {
        block: f"{path}.{name}" if path else name
        for path, layer in layers_of(model).items()
        for name, shape, block in layer
        if block.size == prod(shape)  # not a single weight of many
    }


def layers_of(model: Any) -> dict[str, Layer]:
    """Return the modules of a model with own weights or buffers, by path."""
    found: dict[str, Layer] = {}
    parts: dict[str, Any] = dict(model.named_parameters()) if isinstance(model, Module) else {}
    for name, part in (parts | buffers_in(model)).items():
        (block,) = as_blocks([part])
        path, _, own = name.rpartition(".")
        found.setdefault(path, []).append((own, getattr(part, "shape", ()), block))
    return found


def _shapes(layer: Layer) -> list[tuple[str, tuple[int, ...]]]:
    return [(name, shape) for name, shape, _ in layer]


def _in_order(new: Mapping[str, Layer], old: Mapping[str, Layer]) -> list[tuple[str, str]]:
    """Return a longest common row of layers; a layer in both matches only itself."""
    both = {block for layer in old.values() for block in _blocks(layer)}

    def alike(mine: Layer, theirs: Layer) -> bool:
        shared = not both.isdisjoint(_blocks(mine))
        return _blocks(mine) == _blocks(theirs) if shared else _shapes(mine) == _shapes(theirs)

    same = [[alike(mine, theirs) for theirs in old.values()] for mine in new.values()]
    return [(list(new)[i], list(old)[j]) for i, j in _longest(same)]


def _blocks(layer: Layer) -> list[Block]:
    return [block for _, _, block in layer]


def _longest(same: list[list[bool]]) -> Pairs:
    """Return a longest row of matching pairs, both sides rising."""
    width = len(same[0]) if same else 0
    below: list[Pairs] = [()] * (width + 1)  # by column: the longest row that begins there, or after it
    for i in reversed(range(len(same))):
        here: list[Pairs] = [()] * (width + 1)
        for j in reversed(range(width)):
            here[j] = ((i, j), *below[j + 1]) if same[i][j] else max(below[j], here[j + 1], key=len)
        below = here
    return below[0]


def layers_words(graph: Graph, old: Graph, fitting: Mapping[Block, Block]) -> str:
    """Return words for kept and new layers; empty if all are the same."""
    new, before = layers_of(graph.model), layers_of(old.model)
    home = {block: path for path, layer in before.items() for _, _, block in layer}
    kept, begun, moved = [], [], False
    for path, layer in new.items():
        sources = {home.get(fitting[b], "") for _, _, b in layer if b in fitting}
        name = path or "the model"
        if not sources:
            begun.append(name)
            continue
        moved = moved or any(fitting.get(b) is not b for _, _, b in layer)
        (source,) = sources if len(sources) == 1 else ("",)
        kept.append(name if source in (path, "") else f"{name} (was {source})")
    if not begun and not moved:
        return ""
    said = [f"keeps the weights of {first_of(kept, MOST_NAMED)}"] if kept else []
    said += [f"new layers: {first_of(begun, MOST_NAMED)}"] if begun else []
    return "; ".join(said)


class Carried(NamedTuple):
    """Kept flat weights: new start, old start, and size."""

    to: int
    start: int
    size: int


class Fresh(NamedTuple):
    """New flat weights: start, values and flags."""

    start: int
    values: NDArray[Any]
    frozen: NDArray[np.uint8]


@dataclass(frozen=True, slots=True, eq=False)
class PreparedChange:
    """A change of graph that is ready to apply."""

    graph: Graph
    before: Graph  # the run's current graph
    carried: tuple[Carried, ...]  # kept weights, with gradients, flags and optimiser state
    fresh: tuple[Fresh, ...] = ()  # the others
    numbers: GroupNumbers | None = None  # new numbers of the optimiser, by parameter group; None: unchanged
    anew: bool = False  # whether the optimiser starts with state 0 at step 1
    lr: float | None = None  # new learning rate; None: unchanged
    pace: PaceMoment | None = None  # first rates of a new optimiser; None: the current ones continue
    batch: int | None = None
    sampling: Sampling | None = None  # None: unchanged
    words: str = ""  # words about the weights, if needed


def same_blocks(new: Graph, old: Graph) -> list[Carried]:
    """Return the weights that both graphs have."""
    before = starts(old.tape)
    return [Carried(to, before[b], b.size) for b, to in starts(new.tape).items() if b in before]


def put_graph(run: Run, graph: Graph) -> None:
    """Continue a run with a former graph; the caller restores the numbers."""
    if graph is not run._graph:
        pace = graph.optimizer.lr_pace.moment()
        put_prepared(run, PreparedChange(graph, run._graph, tuple(same_blocks(graph, run._graph)), pace=pace))


def put_prepared(run: Run, made: PreparedChange) -> None:
    """Continue a run with another graph."""
    if made.graph.blocks == run._graph.blocks:
        _put(run, made, run._store)
        return
    values = {block: block.flat_value.copy() for block in made.graph.blocks}
    with Transaction(run) as change:
        change.on_restore(partial(_give_back, run, values))
        take_weights(run, made.graph.blocks, partial(_put, run, made))


def _give_back(run: Run, values: Mapping[Block, NDArray[Any]]) -> None:
    """Restore blocks that were taken: unused ones stand alone again, those of the run return to its store."""
    for block, numbers in values.items():
        if block.store is not run._store and owners_of([block]) == [run]:
            release([block], block.store)
            block.flat_value[:] = numbers


def _put(run: Run, made: PreparedChange, store: Store) -> None:
    graph, old, training = made.graph, run._graph, run._training
    state = dict(zip(run.optimizer.state, run._problem.state, strict=True))
    before = _Before(old, run._store, run._problem.previous, training._update, state)
    store.gate = run._store.gate
    if graph.optimizer is not old.optimizer:
        hand_back(old.optimizer, old.tape, run._problem, training)
        with Transaction(run) as change:
            change.refer(graph.optimizer, graph.optimizer.lr_pace, *graph.optimizer.rules)
    if made.numbers is not None:
        graph.optimizer.put_moment(made.numbers)
    graph.optimizer.lr_pace.restore(_pace(made, old))
    if made.lr is not None:
        graph.optimizer.put({"lr": made.lr})
    put_on(run, graph)
    _prepare(run, made, store, before)
    prepare_anew(run)
    run._full_speed = None
    _arrive(run, made, before)


def _pace(made: PreparedChange, old: Graph) -> PaceMoment:
    """Return the rates to continue with: the current ones, with a rebound schedule, or the first ones."""
    now, optimizer = old.optimizer.lr_pace.moment(), made.graph.optimizer
    if made.pace is not None:
        return made.pace
    if now.schedule is None:
        return now
    optimizer.lr_pace.restore(now._replace(schedule=None))  # undone edits may have left it more groups
    return now._replace(schedule=now.schedule.bound(optimizer))


class _Before(NamedTuple):
    """Arrays that continue in the new graph."""

    graph: Graph
    store: Store
    previous: NDArray[Any]
    update: NDArray[Any] | None
    state: dict[str, NDArray[Any]]


def _prepare(run: Run, made: PreparedChange, store: Store, before: _Before) -> None:
    """Set the problem for the new graph and carry over the optimiser's state."""
    graph, problem, dtype = made.graph, run._problem, np.dtype(run._stored)
    run._store = problem.store = store
    problem.update = record_update(graph.optimizer, problem.limits)
    gathered = {} if made.anew else before.state
    problem.state = [
        _carried(made, gathered.get(n), len(store.value), dtype, graph.optimizer.state_start(n))
        for n in graph.optimizer.state
    ]
    if made.anew:
        problem.t_start = -run._training.steps
    problem.batch, problem.sampling = made.batch or problem.batch, made.sampling or problem.sampling
    if graph.plan is not before.graph.plan:
        problem.plan, problem.reduction = graph.plan, batch_reduction(graph.loss)
        problem.share = batch_shares(graph.loss)
        problem.block = default_block(graph.plan.body, dtype.itemsize)
        n, m = graph.tape.n_inputs, graph.tape.n_targets
        given = problem.data.numbers_of(0, n), problem.data.numbers_of(n, n + m)
        again = data_of(graph, run._stored, problem.full_batch, *given, ours=True)
        again.about = problem.data.about
        run._dataset = Dataset(again)
        problem.data = run._dataset.joined()
    problem.n_weights = graph.n_weights
    problem.columns = columns_of(graph.optimizer, graph.tape, run._stored)
    problem.rules = record_rules(graph.optimizer, problem.limits)
    problem.trained = np.zeros(len(store.value), bool)
    if store is not before.store:
        problem.previous = _carried(made, before.previous, len(store.value), dtype)


def _carried(
    made: PreparedChange, array: NDArray[Any] | None, size: int, dtype: np.dtype[Any], start: float = 0.0
) -> NDArray[Any]:  # fmt: skip
    """Return a flat array for the new weights from an old one; `start` for new weights, or without an old array."""
    found = np.full(size, start, dtype)
    if array is not None:
        for part in made.carried:
            found[part.to : part.to + part.size] = array[part.start : part.start + part.size]
    return found


def _arrive(run: Run, made: PreparedChange, before: _Before) -> None:
    """Set the weights' numbers, and update everything that refers to the old ones."""
    graph, training, store = made.graph, run._training, run._store
    if store is not before.store:
        _keep_numbers(run, made, before)
        training.data_changed |= before.store.revision != training._revision  # an edit of the old weights stays an edit
        store.revision = before.store.revision + 1
        training._revision = store.revision
        release(before.graph.blocks, before.store)
        if store.gate is not None:
            before.store.gate = None
            store.gate.moved(partial(_place, made.carried))
    training._held, training._name_of, training.flags_changed = graph.held, graph.name_of, True
    training.pace = graph.optimizer.lr_pace
    if graph.plan is not before.graph.plan:
        training.data_changed = True  # the last loss does not belong to this graph
    if graph.optimizer is not before.graph.optimizer or graph.tape is not before.graph.tape:
        run._left.detach()
        if graph.optimizer is not before.graph.optimizer:
            before.graph.optimizer.attach(None)
        run._attach()


def _place(carried: tuple[Carried, ...], start: int, size: int) -> int | None:
    """Return the new start of flat weights, or None unless they are in one kept piece."""
    for part in carried:
        if part.start <= start and start + size <= part.start + part.size:
            return part.to + start - part.start
    return None


def _keep_numbers(run: Run, made: PreparedChange, before: _Before) -> None:
    new, old = run._store, before.store
    for to, start, size in made.carried:
        for name in ("value", "grad", "computed", "frozen"):
            getattr(new, name)[to : to + size] = getattr(old, name)[start : start + size]
    previous, training = run._problem.previous, run._training
    for part in made.fresh:
        span = slice(part.start, part.start + len(part.values))
        new.value[span], new.frozen[span], new.grad[span], new.computed[span] = part.values, part.frozen, 0, 0
        previous[span] = new.value[span]
    if before.update is not None:
        training._update = _carried(made, before.update, len(new.value), new.value.dtype)


# ---- Prepare a `Change`: its new graph, and the kept weights and numbers


def prepare_change(run: Run, change: Change) -> PreparedChange:
    """Prepare `change` completely; the run and the models do not change."""
    old = run._graph
    model = old.model if change.model is None else change.model
    loss = LOSSES[change.loss]() if isinstance(change.loss, str) else change.loss
    fitting = fitting_blocks(old, model)
    optimizer = _optimizer(run, change, model, fitting)
    numbers = _numbers(run, optimizer, dict(change.numbers))
    graph = old
    if any(part is not None for part in (change.model, change.loss, change.activation, change.optimizer)):
        with _activations(model, change.activation):
            own = zip(old.blocks, (tensor.name for tensor in old.kept), strict=True)
            names = names_in(model) if change.model is not None else dict(own)
            graph = recorded(run, model, old.loss if loss is None else loss, optimizer, run._shapes, names)
    check_run(graph.tape.n_parameters, run._stored, len(optimizer.state), run.engine.name)
    weights = _weights(run, graph, old, fitting)
    words = "" if change.model is None else layers_words(graph, old, fitting)
    anew = change.optimizer is not None
    if anew and run.optimizer.lr_schedule is not None and optimizer.lr_schedule is None:  # it was the former's
        words = ", ".join(filter(None, (words, "schedule = None")))
    pace = optimizer.lr_pace.restarted() if anew else None
    lr = optimizer.checked({"lr": dict(change.numbers)["lr"]})["lr"] if "lr" in dict(change.numbers) else None
    return PreparedChange(graph, old, *weights, numbers, anew, lr, pace, change.batch_size, change.sampling, words)


def check_prepared(run: Run, found: PreparedChange) -> None:
    """Check that loss and batches fit the current data."""
    tape, problem = found.graph.tape, run._problem
    if found.graph is not run._graph:
        some = slice(0, FIRST) if isinstance(problem.data, Outside) else slice(None)  # the rest when it is read
        targets = problem.data[tape.n_inputs : tape.n_inputs + tape.n_targets, some].T
        found.graph.check("change", problem.data[: tape.n_inputs, some].T, targets)
    batch_of(found.batch or problem.batch, problem.data.shape[1], found.sampling or problem.sampling)


# ---- activations


@contextmanager
def _activations(model: Any, wanted: str | Activation | None) -> Iterator[None]:
    """Give the hidden modules of a Sequential this activation in the block."""
    if wanted is None:
        yield
        return
    hidden = _hidden(model)
    try:
        for sequential, name, _ in hidden:
            setattr(sequential, name, ACTIVATIONS[wanted]() if isinstance(wanted, str) else copy.deepcopy(wanted))
        yield
    finally:
        for sequential, name, former in hidden:
            setattr(sequential, name, former)


def _hidden(model: Any) -> list[ActivationPlace]:
    """Return the activations before a module with weights."""
    if not isinstance(model, Sequential):
        raise InputError(
            f"change: activation needs an nn.Sequential, but the model is a {type(model).__name__}; give "
            "model= with the new activations"
        )
    leaves = list(_leaves(model))
    last = max((k for k, (_, _, part) in enumerate(leaves) if part.parameters()), default=0)
    found = [place for place in leaves[:last] if isinstance(place[2], Activation)]
    if not found:
        raise InputError("change: the model has no hidden activation; give the new model as model=")
    return found


def _leaves(model: Sequential) -> Iterator[ActivationPlace]:
    for name, part in model._chain().items():
        if isinstance(part, Sequential):
            yield from _leaves(part)
        else:
            yield model, name, part


# ---- the optimiser


def _optimizer(run: Run, change: Change, model: Any, fitting: Mapping[Block, Block]) -> Optimizer:
    """Return the optimiser: the run's own if it holds the same weights, a similar one over others, or a new one."""
    old = run.optimizer
    if isinstance(change.optimizer, Optimizer):
        return change.optimizer
    held = _held(old, model, fitting) if change.model is not None else old.blocks()
    if change.optimizer is None:
        same = [(b, i.tolist()) for b, i in held] == [(b, i.tolist()) for b, i in old.blocks()]
        if not same and len(old.rules) > 1:
            raise InputError("change: the parameter group of the new weights is unknown; give optimizer= too")
        return old if same else holding(old, held)
    kind = OPTIMIZERS[change.optimizer] if isinstance(change.optimizer, str) else change.optimizer
    parameters: list[Any] = []
    for block, places in held:
        parameters += [block] if len(places) == block.size else map(block.weight, places.tolist())
    try:
        return kind(parameters, **dict(change.numbers))
    except ScalarvizError:
        raise
    except TypeError as error:
        raise InputError(f"change: optimizer: {error}; give its arguments too, such as lr=") from None


def _held(old: Optimizer, model: Any, fitting: Mapping[Block, Block]) -> list[tuple[Block, Any]]:
    """Return the held weights of the new model: kept ones as before, all new ones."""
    before = dict(old.blocks())
    blocks = blocks_of(model)
    if not blocks:  # a function: its weights are not known yet
        return old.blocks()
    found = {block: before.get(fitting[block]) if block in fitting else np.arange(block.size) for block in blocks}
    return [(block, places) for block, places in found.items() if places is not None]


def _numbers(run: Run, optimizer: Optimizer, numbers: dict[str, Any]) -> GroupNumbers:
    """Return the new numbers of the optimiser, after tracing its rule with them; nothing changes."""
    now, pace = optimizer.moment(), optimizer.lr_pace.moment()
    found = optimizer.checked(numbers)
    try:
        optimizer.put(found)
        record_update(optimizer, run._problem.limits)
        return optimizer.moment()
    finally:
        optimizer.put_moment(now)
        optimizer.lr_pace.restore(pace)


# ---- weights


def _weights(
    run: Run, graph: Graph, old: Graph, fitting: Mapping[Block, Block]
) -> tuple[tuple[Carried, ...], tuple[Fresh, ...]]:
    """Return the kept weights of the new graph, and the start of the others."""
    before, carried, fresh = starts(old.tape), [], []
    for block, to in starts(graph.tape).items():
        source = block if block in before else fitting.get(block)
        if source is not None:
            carried.append(Carried(to, before[source], block.size))
        else:
            with np.errstate(over="ignore"):
                values = block.flat_value.astype(run._stored)
            if not np.isfinite(values).all():
                whose = block.name or "the model"
                raise InputError(f"change: {whose} has a number that is NaN, infinite or too large for {run._stored}")
            fresh.append(Fresh(to, values, block.frozen_flags.copy()))
    return tuple(carried), tuple(fresh)
