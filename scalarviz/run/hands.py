"""`RunHands`: how an edit reaches into a run. Nobody else changes a run from outside."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..engine.data import Data
from ..engine.outside import Outside
from ..engine.problem import Limits, Sampling
from ..engine.table import usable
from ..errors import InputError
from ..optim import Schedule
from ..optim._groups import GroupNumbers
from ..optim._pace import PaceMoment
from . import regraph
from .atomic import keep
from .checks import as_pair, batch_of, check_targets, fitting, fitting_source
from .core.graph import Graph
from .core.optimizer import begun, columns_of, places_of, record_rules, record_update
from .core.setup import Dataset, Given, data_of
from .edits.base import within
from .edits.change import Change
from .edits.weights import Spans
from .engines import go_on_with, make_trainer
from .regraph import Made, put_graph, put_made
from .travel import drawn_anew

if TYPE_CHECKING:
    from .run import Run


_ODD = 0x9E3779B97F4A7C15  # consecutive steps of one run share no numbers with those of the next seed


def redrawn(run: Run, start: int, count: int) -> NDArray[Any]:
    """Flat weights `start` to `start + count` as their initialiser would draw them, in the run's dtype.

    The same at the same step of the same run, and nothing is changed.

    Raises InputError: some of them belong to no module of the model, so that nobody says how they begin.
    """
    values, known = drawn_anew(run, (run.seed + (run.steps + 1) * _ODD) % 2**64)
    span = slice(start, start + count)
    if not known[span].all():
        name = run._graph.name_of(start + int(np.argmin(known[span])))
        raise InputError(f"{name} cannot begin anew: no module of the model says how its weights are drawn")
    return values[span]


class RunHands:
    """What :class:`scalarviz.run.edits.base.Hands` promises, for one run, between two of its steps."""

    def __init__(self, run: Run) -> None:
        self.run = run

    # ---- weights

    @property
    def n_weights(self) -> int:
        """How many flat numbers there are, buffers included."""
        return len(self.run._store.value)

    def values(self, start: int, count: int) -> NDArray[Any]:
        """A copy of some flat weights."""
        return self.run._store.value[start : start + count].copy()

    def drawn(self, start: int, count: int) -> NDArray[Any]:
        """What their initialiser would make of some flat weights at this step."""
        return redrawn(self.run, start, count)

    def put_weights(self, start: int, numbers: NDArray[Any]) -> None:
        """Set flat weights; the update of the last step stays what it was."""
        store, span = self.run._store, slice(start, start + len(numbers))
        keep(self.run, store.value, span)
        with np.errstate(invalid="ignore", over="ignore"):
            self.run._training.keep_update()
            store.value[span] = numbers.astype(store.value.dtype)
        store.revision += 1

    def put_frozen(self, start: int, flags: NDArray[np.bool_]) -> None:
        """Set which weights the optimiser leaves alone."""
        frozen, span = self.run._store.frozen, slice(start, start + len(flags))
        keep(self.run, frozen, span)
        frozen[span] = flags
        self.run._training.flags_changed = True

    # ---- how it trains

    def check_numbers(self, numbers: Mapping[str, Any], group: int | None = None) -> None:
        """Whether the optimiser, or one of its parameter groups, has numbers of these names and takes them."""
        rules = self.run.optimizer.rules
        if group is not None and group >= len(rules):
            raise InputError(f"there is no parameter group {group}, the optimiser has {len(rules)}")
        rules[group or 0].checked(numbers)

    def check_schedule(self, schedule: Schedule | None) -> None:
        """Whether it is for as many parameter groups as the optimiser has."""
        if schedule is not None:
            schedule.bound(self.run.optimizer)

    def put_schedule(self, schedule: Schedule | None) -> None:
        """Let the rates follow it from its beginning."""
        optimizer = self.run.optimizer
        if schedule is not None and schedule.moving:
            self._renumbered(lambda: optimizer.put_schedule(schedule))
        else:
            optimizer.put_schedule(schedule)

    def put_numbers(self, numbers: Mapping[str, Any], group: int | None = None) -> None:
        """Set numbers of the optimiser; state of the same name goes on, other state begins where it starts."""
        optimizer = self.run.optimizer
        found = optimizer.rules[group or 0].checked(numbers)
        if set(found) == {"lr"}:  # an input of the update, not a part of it
            optimizer.put(found, group)
        else:
            self._renumbered(lambda: optimizer.put(found, group))

    def check_numbers_of(self, spans: Spans, numbers: Mapping[str, Any]) -> None:
        """Whether the optimiser holds some of these weights, and their rules have numbers of these names."""
        self._parted(spans, numbers)

    def put_numbers_of(self, spans: Spans, numbers: Mapping[str, Any]) -> None:
        """Set numbers of these weights alone, which become parameter groups of their own."""
        optimizer = self.run.optimizer
        moment, sources, places = self._parted(spans, numbers)
        found = [optimizer.rules[sources[j]].checked(numbers) for j in places]

        def put() -> None:
            optimizer.put_moment(moment)
            optimizer.lr_pace.regroup(sources)
            for place, own in zip(places, found, strict=True):
                optimizer.put(own, place)

        if set(numbers) == {"lr"} and len(sources) == len(optimizer.rules):
            put()  # the rates alone are others
        else:
            self._renumbered(put)

    def _parted(
        self, spans: Spans, numbers: Mapping[str, Any]
    ) -> tuple[GroupNumbers, tuple[int, ...], tuple[int, ...]]:
        run, chosen = self.run, np.zeros(self.n_weights, bool)
        for start, count in spans:
            within(self, start, count)
            chosen[start : start + count] = True
        held = chosen[places_of(run.optimizer, run._tape)]
        if not held.any():
            raise InputError("the optimiser holds none of these weights: they are not trained")
        found = run.optimizer.parted(held, "SetNumbers")
        for j in found[2]:
            run.optimizer.rules[found[1][j]].checked(numbers)
        return found

    def put_moment(self, moment: GroupNumbers, pace: PaceMoment) -> None:
        """Set the parameter groups and all their numbers."""
        optimizer = self.run.optimizer

        def put() -> None:
            optimizer.put_moment(moment)
            optimizer.lr_pace.put(pace)

        if optimizer.moment() == moment and len(optimizer.lr_pace.momenta) == len(pace.momenta):
            optimizer.lr_pace.put(pace)
        else:
            self._renumbered(put)

    def _renumbered(self, put: Callable[[], None]) -> None:
        run, optimizer = self.run, self.run.optimizer
        known = dict(zip(optimizer.state, run._problem.state, strict=True))
        put()
        update = record_update(optimizer, run._problem.limits)
        state = [known.get(n, begun(optimizer, n, run._store.value)) for n in optimizer.state]
        columns, rules = columns_of(optimizer, run._tape, run._stored), record_rules(optimizer, run._problem.limits)
        self._use(update=update, state=state, columns=columns, rules=rules)

    def put_limits(self, limits: Limits) -> None:
        """Set penalties and clipping."""
        if limits != self.run._problem.limits:
            optimizer = self.run.optimizer
            update, rules = record_update(optimizer, limits), record_rules(optimizer, limits)
            self._use(update=update, rules=rules, limits=limits)

    def check_batch(self, batch_size: int | None = None, sampling: Sampling | None = None) -> None:
        """Whether a step can have so many samples that are chosen so; None: as now."""
        problem = self.run._problem
        batch_of(batch_size or problem.batch, len(self.run._dataset), sampling or problem.sampling)

    def put_batch(self, batch_size: int | None = None, sampling: Sampling | None = None) -> None:
        """Set how many samples a step has, and how they are chosen; None: as now."""
        problem = self.run._problem
        new = batch_size or problem.batch, sampling or problem.sampling
        if new != (problem.batch, problem.sampling):
            self._use(batch=new[0], sampling=new[1])

    def check_engine(self, engine: str) -> None:
        """Whether there is such an engine here."""
        if engine == "auto":
            raise InputError("change: engine 'auto' chooses when a run starts; name one, as 'numba'")
        usable(engine, self.run._stored)

    def put_engine(self, engine: str, why: str) -> None:
        """Let another engine go on."""
        go_on_with(self.run, engine, why)

    # ---- what it learns from

    def check_targets(self, targets: NDArray[Any]) -> None:
        """Whether there is a target that the loss can use for every sample."""
        self._targets(targets)

    def _targets(self, targets: NDArray[Any]) -> NDArray[Any]:
        run = self.run
        new, wanted = fitting(targets, run._shapes[1], "set_targets: the targets"), len(run._dataset)
        if len(new) != wanted:
            raise InputError(f"set_targets: there are {wanted} samples, got {len(new)} targets")
        check_targets(run.loss_function, new, run._tape)
        run._forward.ids.check("set_targets", targets=new)
        return new

    def put_targets(self, targets: NDArray[Any]) -> None:
        """Set the targets of the samples there are."""
        inputs: Given = self.run._problem.data.given(0, self.run._tape.n_inputs)
        self._learn_from(Dataset(self._encoded(inputs, self._targets(targets), ours=True)))

    def check_samples(self, inputs: Given, targets: Given, what: str) -> None:
        """Whether these samples fit model and loss."""
        self._samples(inputs, targets, what)

    def _samples(self, inputs: Given, targets: Given, what: str) -> tuple[Given, Given]:
        run = self.run
        as_pair((inputs, targets))
        x = fitting_source(inputs, run._shapes[0], f"{what}: the inputs")
        y = fitting_source(targets, run._shapes[1], f"{what}: the targets")
        run._graph.check(what, x, y)
        if not (isinstance(x, np.ndarray) and isinstance(y, np.ndarray)):
            self._encoded(x, y)  # reads the first samples
        return x, y

    def put_samples(self, inputs: Given, targets: Given, *, more: bool) -> None:
        """Train on these samples, or on them as well."""
        new = self._encoded(*self._samples(inputs, targets, "add_samples" if more else "refill"))
        self._learn_from(self.run._dataset.with_more(new) if more else Dataset(new))

    def _encoded(self, inputs: Given, targets: Given, ours: bool = False) -> Data:
        """Checked samples as the engines take them: a column each."""
        return data_of(self.run._graph, self.run._stored, self.run._problem.whole, inputs, targets, ours)

    def _learn_from(self, data: Dataset) -> None:
        """Where a batch was all the data it still is, and where it no longer fits it becomes all of it."""
        self.put_data(data, len(data) if self.run._problem.whole else None)
        self.run._training.data_changed = True

    def put_data(self, data: Dataset, batch: int | None = None) -> None:
        """Learn from samples as the engines take them, so many a step (default: as now, if there can be so many)."""
        run, count = self.run, len(data)
        ours = not isinstance(run._problem.data, Outside) and not isinstance(data.parts[0], Outside)
        if count == len(run._dataset) and ours:  # engines read the array anew at every call
            run._problem.data = data.joined()
        else:
            most = count if run._problem.sampling == "epochs" else run._problem.batch
            self._use(data=data.joined(), batch=batch or min(run._problem.batch, most))
        run._dataset = data

    # ---- what it computes

    def put_graph(self, graph: Graph) -> None:
        """Go on with a graph that the run had; see :func:`scalarviz.run.regraph.put_graph`."""
        put_graph(self.run, graph)

    def goes_on_with(self, made: Any) -> bool:
        """Whether this was made for the run as it stands now."""
        return isinstance(made, Made) and made.before is self.run._graph

    def made(self, change: Change) -> Made:
        """What the run is to go on with; nothing is changed."""
        return regraph.made(self.run, change)

    def check_made(self, made: Made) -> None:
        """Whether it fits the data that there is."""
        regraph.check_made(self.run, made)

    def put_made(self, made: Made) -> None:
        """Go on with it."""
        put_made(self.run, made)

    # ---- anything

    def call(self, function: Callable[[Any], object]) -> None:
        """Call a function of the run."""
        function(self.run)

    def _use(self, **parts: Any) -> None:
        """Let the engine prepare for a problem of other parts."""
        run = self.run
        for name, part in parts.items():
            setattr(run._problem, name, part)
        run._training.trainer.release()  # room for the other one
        run._training.change(make_trainer(run, run._problem))
