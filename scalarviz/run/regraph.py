"""`Made`: another graph with all that it takes to go on with it; and a run going on with it, between two steps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..engine.problem import Sampling, default_block
from ..nn._losses import batch_reduction, batch_shares
from ..optim._groups import GroupNumbers
from ..optim._pace import PaceMoment
from ..scalar.store import Block, Store
from .dataset import Dataset, data_of
from .gather import release
from .graph import Graph
from .optimizer import columns_of, hand_back, record_rules, record_update, starts
from .taking import take_over

if TYPE_CHECKING:
    from .run import Run


class Carried(NamedTuple):
    """Flat weights that go on: where they begin now, where they began before, and how many."""

    to: int
    start: int
    size: int


class Fresh(NamedTuple):
    """Flat weights that are new: where they begin, their values and flags."""

    start: int
    values: NDArray[Any]
    frozen: NDArray[np.uint8]


@dataclass(frozen=True, slots=True, eq=False)
class Made:
    """What a run goes on with.

    Attributes
    ----------
    graph : Graph
    before : Graph
        That of the run so far.
    carried : tuple of Carried
        Weights that go on, with their gradients, flags and what the optimiser gathered.
    fresh : tuple of Fresh
        The others.
    numbers : GroupNumbers or None
        What the optimiser's are to be, by parameter groups; None: as they are.
    anew : bool
        Whether the optimiser begins: its state with 0, its steps with 1.
    lr : float or None
        What the learning rate is to be; None: as it is.
    pace : PaceMoment or None
        The rates that an optimiser begins with; None: those of now go on.
    batch : int or None
    sampling : {"epochs", "replacement"} or None
        None: as now.
    words : str
        What became of the weights, where that is to be said.
    """

    graph: Graph
    before: Graph
    carried: tuple[Carried, ...]
    fresh: tuple[Fresh, ...] = ()
    numbers: GroupNumbers | None = None
    anew: bool = False
    lr: float | None = None
    pace: PaceMoment | None = None
    batch: int | None = None
    sampling: Sampling | None = None
    words: str = ""


def same_blocks(new: Graph, old: Graph) -> list[Carried]:
    """The weights that both graphs have."""
    before = starts(old.tape)
    return [Carried(to, before[b], b.size) for b, to in starts(new.tape).items() if b in before]


def put_graph(run: Run, graph: Graph) -> None:
    """Let a run go on with a graph that it had; its numbers are put back by whoever does that.

    Raises
    ------
    ScalarvizError
        The engine cannot be made for it; nothing is changed then.
    """
    if graph is not run._graph:
        pace = graph.optimizer.lr_pace.moment()
        put_made(run, Made(graph, run._graph, tuple(same_blocks(graph, run._graph)), pace=pace))


def put_made(run: Run, made: Made) -> None:
    """Let a run go on with another graph.

    Raises
    ------
    ScalarvizError
        The engine cannot be made for it; nothing is changed then.
    """
    if made.graph.blocks == run._graph.blocks:
        _put(run, made, run._store)
        return
    values = {block: block.flat_value.copy() for block in made.graph.blocks}
    try:
        take_over(run, made.graph.blocks, partial(_put, run, made))
    except BaseException:
        _give_back(run, values)
        raise


def _give_back(run: Run, values: Mapping[Block, NDArray[Any]]) -> None:
    """Blocks that were taken and are not used: those of the run to its store, the others stand alone as they were."""
    ours = starts(run._graph.tape)
    for block, numbers in values.items():
        owner = None if block.store.owner is None else block.store.owner()
        if block.store is run._store or owner is not run:
            continue
        if block in ours:
            block._move(run._store, ours[block])
        else:
            release([block], block.store)
            block.flat_value[:] = numbers


def _put(run: Run, made: Made, store: Store) -> None:
    """All but the weights' own numbers is tried first, and put back where the engine cannot be made."""
    graph, old, training = made.graph, run._graph, run._training
    before = _Before(run)
    store.gate = run._store.gate
    if graph.optimizer is not old.optimizer:
        hand_back(old.optimizer, old.tape, run.problem, training)
    numbers, pace = graph.optimizer.moment(), graph.optimizer.lr_pace.moment()
    try:
        graph.optimizer.put_moment(made.numbers or numbers)
        graph.optimizer.lr_pace.put(_pace(made, old))
        if made.lr is not None:
            graph.optimizer.put({"lr": made.lr})
        run._put_on(graph)
        _prepare(run, made, store, before)
        training.trainer.release()  # room for the other one
        trainer = run._make_trainer(run.problem)
    except BaseException:
        graph.optimizer.put_moment(numbers)
        graph.optimizer.lr_pace.put(pace)
        before.put_back(run)
        raise
    training.change(trainer)
    run.__dict__.pop("full_speed", None)
    _arrive(run, made, before)


def _pace(made: Made, old: Graph) -> PaceMoment:
    """The rates that it goes on with: those of now, their schedule told whose it is; or those that it begins with."""
    now, optimizer = old.optimizer.lr_pace.moment(), made.graph.optimizer
    if made.pace is not None:
        return made.pace
    if now.schedule is None:
        return now
    optimizer.lr_pace.put(now._replace(schedule=None))  # edits that were undone since may have left it more groups
    return now._replace(schedule=now.schedule.bound(optimizer))


class _Before:
    """What of a run is replaced with its graph, its arrays among it."""

    def __init__(self, run: Run) -> None:
        problem = run.problem
        self.graph, self.store, self.dataset = run._graph, run._store, run._dataset
        names = ("plan", "update", "store", "state", "data", "batch", "sampling", "reduction", "share", "trained",
                 "previous", "block", "t_start", "columns", "rules", "n_weights")  # fmt: skip
        self.fields = {name: getattr(problem, name) for name in names}
        self.update = run._training._update
        self.state = dict(zip(run.optimizer.state, problem.state, strict=True))

    def put_back(self, run: Run) -> None:
        """All of it again."""
        run._store, run._dataset = self.store, self.dataset
        run._put_on(self.graph)
        for name, part in self.fields.items():
            setattr(run.problem, name, part)


def _prepare(run: Run, made: Made, store: Store, before: _Before) -> None:
    """The problem of the new graph, its optimiser's state carried over."""
    graph, problem, dtype = made.graph, run.problem, np.dtype(run._stored)
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
        given = problem.data.given(0, n), problem.data.given(n, n + m)
        run._dataset = Dataset(data_of(graph, run._stored, problem.whole, *given, ours=True))
        problem.data = run._dataset.joined()
    problem.n_weights = graph.n_weights
    problem.columns = columns_of(graph.optimizer, graph.tape, run._stored)
    problem.rules = record_rules(graph.optimizer, problem.limits)
    problem.trained = np.zeros(len(store.value), bool)
    if store is not before.store:
        problem.previous = _carried(made, before.fields["previous"], len(store.value), dtype)


def _carried(
    made: Made, array: NDArray[Any] | None, size: int, dtype: np.dtype[Any], start: float = 0.0
) -> NDArray[Any]:  # fmt: skip
    """A flat array of the new weights from one of the old: `start` where they are new, or nothing was gathered."""
    found = np.full(size, start, dtype)
    if array is not None:
        for part in made.carried:
            found[part.to : part.to + part.size] = array[part.start : part.start + part.size]
    return found


def _arrive(run: Run, made: Made, before: _Before) -> None:
    """The weights' numbers, and everybody who knew the old ones."""
    graph, training, store = made.graph, run._training, run._store
    if store is not before.store:
        _numbers(run, made, before)
        training.data_changed |= before.store.revision != training._revision  # an edit of the old weights stays one
        store.revision = before.store.revision + 1
        training._revision = store.revision
        release(before.graph.blocks, before.store)
        if store.gate is not None:
            before.store.gate = None
            store.gate.moved(partial(_place, made.carried))
    training._held, training._name_of, training.flags_changed = graph.held, graph.name_of, True
    training.pace = graph.optimizer.lr_pace
    if graph.plan is not before.graph.plan:
        training.data_changed = True  # the last loss is not that of now
    if graph.optimizer is not before.graph.optimizer or graph.tape is not before.graph.tape:
        run._left.detach()
        if graph.optimizer is not before.graph.optimizer:
            before.graph.optimizer.attach(None)
        run._attach()


def _place(carried: tuple[Carried, ...], start: int, size: int) -> int | None:
    """Where flat weights are now; None where they are not all in one piece that goes on."""
    for part in carried:
        if part.start <= start and start + size <= part.start + part.size:
            return part.to + start - part.start
    return None


def _numbers(run: Run, made: Made, before: _Before) -> None:
    new, old = run._store, before.store
    for to, start, size in made.carried:
        for name in ("value", "grad", "computed", "frozen"):
            getattr(new, name)[to : to + size] = getattr(old, name)[start : start + size]
    previous, training = run.problem.previous, run._training
    for part in made.fresh:
        span = slice(part.start, part.start + len(part.values))
        new.value[span], new.frozen[span], new.grad[span], new.computed[span] = part.values, part.frozen, 0, 0
        previous[span] = new.value[span]
    if before.update is not None:
        training._update = _carried(made, before.update, len(new.value), new.value.dtype)
