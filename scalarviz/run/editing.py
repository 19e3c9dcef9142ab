"""Apply edits: all go through ``run.do(edit)``. `RunAccess` is the interface through which an edit changes a run."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import asdict
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..checks import real_array, text
from ..engine.data import Data
from ..engine.outside import Outside, as_source
from ..engine.problem import Limits, Sampling
from ..engine.table import usable
from ..errors import InputError, TypeMismatchError, UnknownAttributeError, shown, typed
from ..optim import Schedule
from ..optim._groups import GroupNumbers
from ..optim._pace import PaceMoment
from . import regraph
from .core.gather import drawn_weights
from .core.graph import Graph
from .core.optimizer import begun, columns_of, places_of, record_rules, record_update
from .core.setup import Dataset, Given, data_of
from .core.training import in_turn
from .edits import Call, SetBatchSize, SetEngine, SetFrozen, SetLimits, SetOptimizer, SetSampling, SetWeights, Together
from .edits.base import Applied, Edit, within
from .edits.change import Change
from .edits.numbers import Spans
from .engines import go_on_with, prepare_anew
from .regraph import PreparedChange, put_graph, put_prepared
from .transaction import Transaction, keep
from .validation import as_pair, batch_of, check_targets, fitting, fitting_source

if TYPE_CHECKING:
    from .run import Run


_CALLS = {
    "loss_function": "run.change(loss=...)",
    "seed": "run.restart(seed=...) for new random weights, or a new Run(..., seed=...) for a new order of the samples",
    "dtype": "a new Run(..., dtype=...)",
    "threads": "a new Run(..., threads=...)",
    "device": "run.change(engine=...)",
    "learning_rate": "run.lr = ...",
    "values": "run.set_weights(start, numbers)",
    "weights": "run.set_weights(start, numbers)",
    "steps": "run.step(n) or run.to(step)",
    "stages": "run.change(model=...)",
    "tensors": "run.change(model=...)",
    "breakpoints": "run.break_on(condition)",
    "data": "run.refill(inputs, targets)",
    "inputs": "run.refill(inputs, targets)",
    "targets": "run.set_targets(targets)",
}
"""Hints for attributes that cannot be set, unless ``run.change`` has an argument of that name."""


class Unchanged:
    """Type of the default value that leaves a setting unchanged."""

    def __repr__(self) -> str:
        return "as now"


UNCHANGED = Unchanged()


@in_turn
def do(run: Run, edit: Edit, gesture: str) -> None:
    """Apply an edit between two steps and log it."""
    if not isinstance(edit, Edit):
        raise TypeMismatchError(f"run.do: expected an Edit, such as SetWeights(0, [0.5]), got {typed(edit)}")
    text(gesture, "run.do: the gesture")
    run._enter()
    edit = edit.resolved(run._access)
    edit.check(run._access)
    if isinstance(edit, Call):
        _call(run, edit, gesture)
        return
    # an applied edit is in the log
    with Transaction(run, setup=not isinstance(edit, SetWeights | SetFrozen | Together)) as change:
        change.waits = not isinstance(edit, SetEngine)  # it may take long
        edit.apply(run._access)
        change.waits = True
        _note(run, edit, gesture)


def _call(run: Run, edit: Call, gesture: str) -> None:
    """Call a user's function. It cannot be repeated, so the log gets the edits that it made and its writes as edits."""
    revision, said = run.timeline.revision, run._said
    run._said = said or edit.words()
    run._traveller.lend()
    try:
        edit.apply(run._access)
        written = tuple(change.edit for change in run._traveller.find_changes())
        if written or run.timeline.revision == revision:  # edits of the function say more
            _note(run, edit, gesture, does=written)
    finally:
        run._said = said


def _note(run: Run, edit: Edit, gesture: str, does: tuple[Edit, ...] | None = None) -> None:
    what = run._said or edit.words(run._graph.name_of)
    run.timeline.note(Applied(run._training.steps, edit, what, gesture, does))


def change(
    run: Run, parts: tuple[Any, Any, Any, Any], batch: tuple[int | None, Sampling | None], engine: str | None,
    limits: Mapping[str, Any], numbers: dict[str, Any],
) -> None:  # fmt: skip
    """Change how the run trains. `parts` are as for :class:`Change`; None and `UNCHANGED` leave a setting."""
    edits: list[Edit] = []
    if any(part is not None for part in parts):
        edits.append(Change(*parts, tuple(numbers.items()), *batch))
    else:
        edits += [SetOptimizer(tuple(numbers.items()))] if numbers else []
        if batch[1] is not None:
            edits.append(SetSampling(batch[1], batch[0]))
        elif batch[0] is not None:
            edits.append(SetBatchSize(batch[0]))
    changed = {name: limit for name, limit in limits.items() if not isinstance(limit, Unchanged)}
    edits += [SetLimits(**{**asdict(run._problem.limits), **changed})] if changed else []
    edits += [] if engine is None else [SetEngine(engine)]
    for edit in edits[1:]:  # the first one is checked when it is applied
        edit.check(run._access)
    for edit in edits:
        run.do(edit)


def checked_pair(inputs: Any, targets: Any, what: str) -> Any:
    """Return inputs and targets: numbers as arrays, lazily read data as sources."""
    named = ((inputs, f"{what}: the inputs"), (targets, f"{what}: the targets"))
    sources = [as_source(given, name) for given, name in named]
    return tuple(s if s is not None else real_array(*given) for s, given in zip(sources, named, strict=True))


# ---- assigning to an attribute


def can_be_set(run: Run, name: str) -> bool:
    """Return whether a public attribute can be assigned: a property with a setter, or a subclass's attribute."""
    known: Any = inspect.getattr_static(type(run), name, None)
    if isinstance(known, property):
        return known.fset is not None
    return known is not None and not hasattr(type(known), "__get__")


def not_set(run: Run, name: str) -> UnknownAttributeError:
    """Return the error for an assignment that would change nothing."""
    changed = dict.fromkeys(inspect.signature(run.change).parameters)
    changed |= dict.fromkeys(run.optimizer.hyperparameters())
    if name in _CALLS or name in changed:
        how = _CALLS.get(name) or f"run.change({name}=...)"
        return UnknownAttributeError(f"run.{name} cannot be set; use {how}")
    if name in dir(run):
        return UnknownAttributeError(f"run.{name} cannot be set; it is read-only")
    near = get_close_matches(name, [*(n for n in dir(run) if n[0] != "_"), *changed, *_CALLS], 1, 0.7)
    meant = f"did you mean {near[0]!r}?" if near else "to add an attribute, define it in the body of a subclass"
    return UnknownAttributeError(f"a Run has no attribute {shown(name)}; {meant}")


_ODD = 0x9E3779B97F4A7C15  # consecutive steps of one run share no numbers with those of the next seed


class RunAccess:
    """Changes and checks of a run for edits, between two of its steps. Checks change nothing and raise InputError."""

    def __init__(self, run: Run) -> None:
        self.run = run

    # ---- weights

    @property
    def n_weights(self) -> int:
        """Number of flat numbers, buffers included."""
        return len(self.run._store.value)

    def values(self, start: int, count: int) -> NDArray[Any]:
        """Return a copy of some flat weights."""
        return self.run._store.value[start : start + count].copy()

    def initial_values(self, start: int, count: int) -> NDArray[Any]:
        """Return flat weights as their initialiser would draw them at this step; nothing is changed."""
        run, span = self.run, slice(start, start + count)
        values, known = drawn_weights(run.model, run._tape, (run.seed + (run.steps + 1) * _ODD) % 2**64)
        if not known[span].all():
            name = run._graph.name_of(start + int(np.argmin(known[span])))
            raise InputError(f"{name} cannot be re-initialised: no module of the model has an initialiser for it")
        return values[span].astype(run._stored)

    def put_weights(self, start: int, numbers: NDArray[Any]) -> None:
        """Set flat weights; the update of the last step is kept."""
        store, span = self.run._store, slice(start, start + len(numbers))
        keep(self.run, store.value, span)
        with np.errstate(invalid="ignore", over="ignore"):
            self.run._training.keep_update()
            store.value[span] = numbers.astype(store.value.dtype)
        store.revision += 1

    def put_frozen(self, start: int, flags: NDArray[np.bool_]) -> None:
        """Set which weights the optimiser skips."""
        frozen, span = self.run._store.frozen, slice(start, start + len(flags))
        keep(self.run, frozen, span)
        frozen[span] = flags
        self.run._training.flags_changed = True

    # ---- how it trains

    def check_numbers(self, numbers: Mapping[str, Any], group: int | None = None) -> None:
        """Check that the optimiser, or one of its parameter groups, takes numbers with these names."""
        rules = self.run.optimizer.rules
        if group is not None and group >= len(rules):
            raise InputError(f"there is no parameter group {group}; allowed: 0 to {len(rules) - 1}")
        rules[group or 0].checked(numbers)

    def put_schedule(self, schedule: Schedule | None) -> None:
        """Set the schedule of the rates, from its beginning."""
        optimizer = self.run.optimizer
        if schedule is not None and schedule.moving:
            self._renumbered(lambda: optimizer.put_schedule(schedule))
        else:
            optimizer.put_schedule(schedule)

    def put_numbers(self, numbers: Mapping[str, Any], group: int | None = None) -> None:
        """Set numbers of the optimiser; state of the same name continues, other state starts anew."""
        optimizer = self.run.optimizer
        found = optimizer.rules[group or 0].checked(numbers)
        if set(found) == {"lr"}:  # an input of the update, not a part of it
            optimizer.put(found, group)
        else:
            self._renumbered(lambda: optimizer.put(found, group))

    def put_numbers_of(self, spans: Spans, numbers: Mapping[str, Any]) -> None:
        """Set numbers of these weights alone, which become their own parameter groups."""
        optimizer = self.run.optimizer
        moment, sources, places = self.check_numbers_of(spans, numbers)
        found = [optimizer.rules[sources[j]].checked(numbers) for j in places]

        def put() -> None:
            optimizer.put_moment(moment)
            optimizer.lr_pace.regroup(sources)
            for place, own in zip(places, found, strict=True):
                optimizer.put(own, place)

        if set(numbers) == {"lr"} and len(sources) == len(optimizer.rules):
            put()  # only the rates differ
        else:
            self._renumbered(put)

    def check_numbers_of(
        self, spans: Spans, numbers: Mapping[str, Any]
    ) -> tuple[GroupNumbers, tuple[int, ...], tuple[int, ...]]:
        """Return the resulting parameter groups; the optimiser must hold some of the weights and have the numbers."""
        run, chosen = self.run, np.zeros(self.n_weights, bool)
        for start, count in spans:
            within(self, start, count)
            chosen[start : start + count] = True
        held = chosen[places_of(run.optimizer, run._tape)]
        if not held.any():
            raise InputError("the optimiser holds none of these weights, so they are not trained")
        found = run.optimizer.parted(held, "SetNumbers")
        for j in found[2]:
            run.optimizer.rules[found[1][j]].checked(numbers)
        return found

    def put_moment(self, moment: GroupNumbers, pace: PaceMoment) -> None:
        """Set the parameter groups and all their numbers."""
        optimizer = self.run.optimizer

        def put() -> None:
            optimizer.put_moment(moment)
            optimizer.lr_pace.restore(pace)

        if optimizer.moment() == moment and len(optimizer.lr_pace.momenta) == len(pace.momenta):
            optimizer.lr_pace.restore(pace)
        else:
            self._renumbered(put)

    def put_limits(self, limits: Limits) -> None:
        """Set penalties and clipping."""
        if limits != self.run._problem.limits:
            self._renumbered(lambda: None, limits)

    def _renumbered(self, put: Callable[[], None], limits: Limits | None = None) -> None:
        """Set numbers that are part of the optimiser's rule, and give the engine the new rule."""
        run, optimizer, limits = self.run, self.run.optimizer, limits or self.run._problem.limits
        known = dict(zip(optimizer.state, run._problem.state, strict=True))
        put()
        self._use(
            update=record_update(optimizer, limits),
            rules=record_rules(optimizer, limits),
            limits=limits,
            columns=columns_of(optimizer, run._tape, run._stored),
            state=[known.get(n, begun(optimizer, n, run._store.value)) for n in optimizer.state],
        )

    def check_batch(self, batch_size: int | None = None, sampling: Sampling | None = None) -> None:
        """Check a batch size and a sampling; None: the current one."""
        problem = self.run._problem
        batch_of(batch_size or problem.batch, len(self.run._dataset), sampling or problem.sampling)

    def put_batch(self, batch_size: int | None = None, sampling: Sampling | None = None) -> None:
        """Set batch size and sampling; None: the current one."""
        problem = self.run._problem
        new = batch_size or problem.batch, sampling or problem.sampling
        if new != (problem.batch, problem.sampling):
            self._use(batch=new[0], sampling=new[1])

    def check_engine(self, engine: str) -> None:
        """Check that the engine is available."""
        if engine == "auto":
            raise InputError("change: engine 'auto' is only for a new run; name an engine, such as 'numba'")
        usable(engine, self.run._stored)

    def put_engine(self, engine: str, why: str) -> None:
        """Continue with another engine."""
        go_on_with(self.run, engine, why)

    # ---- data

    def check_targets(self, targets: NDArray[Any]) -> NDArray[Any]:
        """Check and return a target for every sample, which the loss can use."""
        run = self.run
        new, wanted = fitting(targets, run._shapes[1], "set_targets: the targets"), len(run._dataset)
        if len(new) != wanted:
            raise InputError(f"set_targets: give one target for each of the {wanted} samples, got {len(new)}")
        check_targets(run.loss_function, new, run._tape)
        run._forward.ids.check("set_targets", targets=new)
        return new

    def put_targets(self, targets: NDArray[Any], about: object = None) -> None:
        """Replace the targets of the current samples."""
        inputs: Given = self.run._problem.data.numbers_of(0, self.run._tape.n_inputs)
        new = self._encoded(inputs, self.check_targets(targets), ours=True)
        new.about = about
        self._learn_from(Dataset(new))

    def check_samples(self, inputs: Given, targets: Given, what: str) -> tuple[Given, Given]:
        """Check and return samples that fit model and loss."""
        run = self.run
        as_pair((inputs, targets))
        x = fitting_source(inputs, run._shapes[0], f"{what}: the inputs")
        y = fitting_source(targets, run._shapes[1], f"{what}: the targets")
        run._graph.check(what, x, y)
        if not (isinstance(x, np.ndarray) and isinstance(y, np.ndarray)):
            self._encoded(x, y)  # reads the first samples
        return x, y

    def put_samples(self, inputs: Given, targets: Given, *, more: bool, about: object = None) -> None:
        """Replace the training data, or with `more` add to it."""
        new = self._encoded(*self.check_samples(inputs, targets, "add_samples" if more else "refill"))
        new.about = about
        self._learn_from(self.run._dataset.with_more(new) if more else Dataset(new))

    def _encoded(self, inputs: Given, targets: Given, ours: bool = False) -> Data:
        """Return checked samples as the engines take them: a column each."""
        return data_of(self.run._graph, self.run._stored, self.run._problem.full_batch, inputs, targets, ours)

    def _learn_from(self, data: Dataset) -> None:
        """Set the data. A batch of all samples stays one; a batch that is too large becomes one."""
        self.put_data(data, len(data) if self.run._problem.full_batch else None)
        self.run._training.data_changed = True

    def put_data(self, data: Dataset, batch: int | None = None) -> None:
        """Set data as the engines take it, with a batch size (default: the current one, if it fits)."""
        run, count = self.run, len(data)
        ours = not isinstance(run._problem.data, Outside) and not isinstance(data.parts[0], Outside)
        if count == len(run._dataset) and ours:  # engines read the array again at every call
            run._problem.data = data.joined()
        else:
            most = count if run._problem.sampling == "epochs" else run._problem.batch
            self._use(data=data.joined(), batch=batch or min(run._problem.batch, most))
        run._dataset = data

    # ---- model and graph

    def put_graph(self, graph: Graph) -> None:
        """Continue with a former graph; see :func:`scalarviz.run.regraph.put_graph`."""
        put_graph(self.run, graph)

    def is_prepared_for_now(self, made: Any) -> bool:
        """Return whether a change was prepared for the run's current graph."""
        return isinstance(made, PreparedChange) and made.before is self.run._graph

    def prepare_change(self, change: Change) -> PreparedChange:
        """Prepare a change; nothing is changed."""
        return regraph.prepare_change(self.run, change)

    def check_prepared(self, made: PreparedChange) -> None:
        """Check that a prepared change fits the current data."""
        regraph.check_prepared(self.run, made)

    def put_prepared(self, made: PreparedChange) -> None:
        """Apply a prepared change."""
        put_prepared(self.run, made)

    def _use(self, **parts: Any) -> None:
        """Set parts of the problem and prepare the engine again."""
        run = self.run
        for name, part in parts.items():
            setattr(run._problem, name, part)
        prepare_anew(run)
