"""`Setup`: how a run trains. It is all that is set and not learnt: one immutable record, and JSON that says the same.

A frame, a state, a keyframe and a file of a run each hold one. Behind it: `Dataset`, the samples.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, replace
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ...checks import integer, mapping
from ...engine.arrays.program import encoded
from ...engine.data import Data, joined
from ...engine.outside import Held, Outside, Source
from ...engine.problem import NO_LIMITS, Limits, Problem, Sampling
from ...errors import InputError, TypeMismatchError, listing, shown
from ...optim import Optimizer
from ...optim._described import described, remade
from ...optim._groups import GroupNumbers
from ...optim._pace import Pace, PaceMoment
from ...scalar.single import at_least_zero
from ..checks import limits_of
from .frame import Tensor
from .graph import Graph
from .optimizer import places_of

if TYPE_CHECKING:
    from .graph import Graph


_ONE = np.zeros(0, np.intp)
LIMITS = ("l1", "l2", "clip_norm", "clip_value")
SCHEDULE = "schedule"


@dataclass(frozen=True, slots=True)
class Setup:
    """How a run trains.

    Attributes
    ----------
    optimizer : str
        Its class.
    groups : GroupNumbers
        The numbers of its parameter groups, all but their rates.
    pace : PaceMoment
        The rates of the coming step, and where their schedule stands.
    batch_size, samples : int
    before : int
        Steps that the optimiser had done before the run's first.
    sampling : {"epochs", "replacement"}
    limits : Limits
        Penalties of the loss and limits of the gradient.
    seed : int
        Of the order of the samples.
    """

    optimizer: str
    groups: GroupNumbers
    pace: PaceMoment
    batch_size: int
    samples: int
    before: int = 0
    sampling: Sampling = "epochs"
    limits: Limits = NO_LIMITS
    seed: int = 0

    @property
    def numbers(self) -> dict[str, Any]:
        """The numbers of the first parameter group by name, its rate as ``"lr"``."""
        return {"lr": self.pace.rates[0], **self.groups.numbers[0]}


def setup_of(problem: Problem, optimizer: Optimizer) -> Setup:
    """That of now; for the thread that trains."""
    return Setup(
        type(optimizer).__name__, optimizer.moment(), optimizer.lr_pace.moment(), problem.batch,
        problem.data.shape[1], problem.t_start, problem.sampling, problem.limits, problem.seed,
    )  # fmt: skip


# ---- as JSON, by the names of the tensors; what is left out stays as it is in the run that reads it


def written(problem: Problem, graph: Graph) -> dict[str, Any]:
    """The entries of a file that say how a run trains. Numbers that JSON cannot hold, as functions, are left out."""
    optimizer = graph.optimizer
    groups = [
        {name: plain(number) for name, number in group.items() if storable(plain(number)) and _is_number(number)}
        for group in (
            {**numbers, "lr": rate}
            for numbers, rate in zip(optimizer.moment().numbers, optimizer.lr_pace.rates, strict=True)
        )
    ]
    frozen = {t.name: _spans(t, problem.store.frozen) for t in graph.kept}
    schedule = optimizer.lr_schedule
    return {
        "groups": groups,
        "members": _members(graph) if len(groups) > 1 else {},
        "limits": asdict(problem.limits),
        "before": problem.t_start,
        "momenta": list(optimizer.lr_pace.momenta),
        "initial": list(optimizer.lr_pace.initial),
        "frozen": {name: spans for name, spans in frozen.items() if spans},
        SCHEDULE: {} if schedule is None else {**described(schedule), "state": schedule.state_dict()},
    }


def _spans(tensor: Tensor, flags: Any) -> list[int]:
    """Where the frozen weights of a tensor begin and end, one after the other."""
    own = flags[tensor.start : tensor.start + tensor.size] != 0
    found: list[int] = np.flatnonzero(np.diff(np.concatenate([[False], own, [False]]).astype(np.int8))).tolist()
    return found


def _members(graph: Graph) -> dict[str, list[int]]:
    """The parameter group of each weight of a tensor: how many, their group, how many, their group, ..."""
    flat = np.full(graph.tape.n_parameters, -1)
    flat[places_of(graph.optimizer, graph.tape)] = graph.optimizer.group_of
    found = {}
    for tensor in graph.kept:
        if tensor.buffer:  # nobody trains it
            continue
        own = flat[tensor.start : tensor.start + tensor.size]
        ends = [*(np.flatnonzero(np.diff(own)) + 1).tolist(), tensor.size]
        found[tensor.name] = [n for start, end in pairwise([0, *ends]) for n in (end - start, int(own[start]))]
    return found


def _groups_of(graph: Graph, said: Any, count: int) -> Any:
    """The group of each held weight by what a file says of the tensors; that of now where it says nothing."""
    optimizer, tensors = graph.optimizer, {t.name: t for t in graph.kept}
    if not said:
        if count != len(optimizer.rules):
            raise InputError(f"it has {count} parameter groups, this run {len(optimizer.rules)}")
        return optimizer.group_of
    flat = np.full(graph.tape.n_parameters, -1)
    for name, runs in mapping(said, "members").items():
        if name not in tensors or not isinstance(runs, list) or len(runs) % 2:
            raise InputError(f"members: {shown(name)} is no tensor with counts and groups")
        tensor, at = tensors[name], 0
        for given, group in zip(runs[::2], runs[1::2], strict=True):
            many = integer(f"members: {name}", given, 0, tensor.size - at)
            flat[tensor.start + at : tensor.start + at + many] = integer(f"members: {name}", group, -1, count - 1)
            at += many
    held = flat[places_of(optimizer, graph.tape)]
    if (held < 0).any() or len(np.unique(held)) != count:
        raise InputError(f"its {count} parameter groups are not groups of the weights that this run trains")
    return held.astype(np.intp)


def read(
    problem: Problem, graph: Graph, about: Mapping[str, Any], keep: Collection[str]
) -> tuple[Setup, NDArray[np.bool_] | None]:
    """What a file says, for a run, which is left as it is, and which weights are frozen; None: those of now.

    `about`: what :func:`written` gave. `keep`: names that stay as they are in the run: of numbers of the
    optimiser, :data:`LIMITS`, ``"schedule"``.

    Raises InputError, TypeMismatchError: it does not fit the run.
    """
    optimizer, groups = graph.optimizer, about["groups"]
    of = _groups_of(graph, about.get("members"), len(groups)) if len(groups) > 1 or len(optimizer.rules) > 1 else _ONE
    rules = optimizer.rules if len(groups) == len(optimizer.rules) else optimizer.rules[:1] * len(groups)
    numbers = GroupNumbers(tuple(_numbers(rule, said, keep) for rule, said in zip(rules, groups, strict=True)), of)
    given = {name: number for name, number in about.get("limits", {}).items() if name not in keep}
    limits = limits_of(**{**asdict(problem.limits), **given})
    if {"lr", SCHEDULE} & set(keep) and len(rules) != len(optimizer.rules):
        raise InputError(f"it has {len(groups)} parameter groups, this run {len(optimizer.rules)}: no rate can be kept")
    rates = optimizer.lr_pace.rates if "lr" in keep else tuple(float(said.get("lr", 0.0)) for said in groups)
    now = setup_of(problem, optimizer)
    pace = now.pace
    if SCHEDULE not in keep:
        pace = _pace(optimizer, about.get(SCHEDULE, {}), rates, "lr" in keep)
        moved = _of_groups("momenta", about, pace.momenta, len(groups))
        if moved and optimizer.momentum_name is None:
            raise InputError(f"momenta: {type(optimizer).__name__} has none")
        pace = pace._replace(momenta=moved, initial=_of_groups("initial", about, pace.initial, len(groups)))
    setup = replace(now, groups=numbers, limits=limits, pace=pace, before=about.get("before", now.before))
    return setup, _flags(graph, about.get("frozen"))


def _numbers(rule: Optimizer, said: Mapping[str, Any], keep: Collection[str]) -> dict[str, Any]:
    now = rule.hyperparameters()
    given = {
        name: tuple(number) if isinstance(number, list) and isinstance(now.get(name), tuple) else number
        for name, number in said.items()
        if name != "lr" and name not in keep
    }
    found = rule.checked({**{n: part for n, part in now.items() if n != "lr"}, **given})
    rule.checked({"lr": said.get("lr", 0.0)})
    return found


def _pace(optimizer: Optimizer, said: Mapping[str, Any], rates: tuple[float, ...], own: bool) -> PaceMoment:
    """The rates and where their schedule stands; `own`: it begins with the rates that the run begins with."""
    if not said:
        return Pace(rates).moment()
    before = optimizer.lr_schedule
    about = {name: part for name, part in said.items() if name != "state"}
    if own:
        about["base_lrs"] = list(rates if before is None else before.base_lrs)
    schedule = remade(about, optimizer, len(rates))
    moment = schedule.loaded(said["state"])
    return moment if own else moment._replace(rates=rates)


def _of_groups(name: str, about: Mapping[str, Any], computed: tuple[float, ...], groups: int) -> tuple[float, ...]:
    """What a file says of each parameter group, such as momenta to which a schedule moved them; else what is so."""
    said = about.get(name)
    if not said:
        return computed
    if not isinstance(said, list) or len(said) != groups:
        raise InputError(f"{name}: one a parameter group is wanted, got {shown(said)}")
    return tuple(at_least_zero(one, name) for one in said)


def _flags(graph: Graph, said: Any) -> NDArray[np.bool_] | None:
    if said is None:
        return None
    flags, tensors = np.zeros(graph.tape.n_parameters, bool), {t.name: t for t in graph.kept}
    for name, spans in mapping(said, "frozen").items():
        if name not in tensors or not isinstance(spans, list) or len(spans) % 2:
            raise InputError(f"frozen: {shown(name)} is no tensor with pairs of places")
        tensor = tensors[name]
        places = [integer(f"frozen: {name}", place, 0, tensor.size) for place in spans]
        for start, stop in zip(places[::2], places[1::2], strict=True):
            flags[tensor.start + start : tensor.start + stop] = True
    return flags


def names_kept(optimizer: Optimizer) -> tuple[str, ...]:
    """What may stay as it is when a file is loaded."""
    return *optimizer.hyperparameters(), *LIMITS, SCHEDULE


def checked_keep(keep: Any, optimizer: Optimizer) -> tuple[str, ...]:
    """Names of what stays as it is when a file is loaded.

    Raises TypeMismatchError: no list of names. InputError: there is no such name.
    """
    if isinstance(keep, str) or not isinstance(keep, Collection):
        raise TypeMismatchError(f"load: keep is a list of names, such as ['lr'], got {shown(keep)}")
    there = names_kept(optimizer)
    unknown = [name for name in keep if name not in there]
    if unknown:
        raise InputError(f"load: keep has no {listing(map(str, unknown))}; there are {listing(there)}")
    return tuple(keep)


def storable(value: Any) -> bool:
    """Whether a number of an optimiser fits into JSON: a finite number, a switch, a text, nothing, or some of these."""
    if isinstance(value, list):
        return all(storable(one) and not isinstance(one, list) for one in value)
    if isinstance(value, int | float) and not isinstance(value, bool):
        return abs(value) < math.inf  # false for NaN, too
    return value is None or isinstance(value, bool | str)


def plain(value: Any) -> Any:
    """What JSON can hold of an optimiser's number: of NumPy's kinds Python's, of a function or an object its text."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, list | tuple):
        value = [plain(one) for one in value]
    return value if storable(value) else shown(value)


def _is_number(value: Any) -> bool:
    """Whether :func:`plain` kept it as it is."""
    if isinstance(value, list | tuple):
        return all(map(_is_number, value))
    return storable(value.item() if isinstance(value, np.generic) else value)


def sound(about: Mapping[str, Any]) -> str:
    """The first entry of how a run trains that cannot be one, in words; empty if all can."""
    groups, limits, schedule = about.get("groups", []), about.get("limits", {}), about.get(SCHEDULE, {})
    if "groups" in about and not groups:
        return f"groups cannot be {shown(groups)}"
    if not isinstance(groups, list) or not all(isinstance(g, dict) and all(map(storable, g.values())) for g in groups):
        return f"groups cannot be {shown(groups)}"
    if not isinstance(limits, dict) or not set(limits) <= set(LIMITS):
        return f"limits cannot be {shown(limits)}"
    before = about.get("before", 0)
    if isinstance(before, bool) or not isinstance(before, int) or abs(before) > 2**53:
        return f"before cannot be {shown(before)}"
    if not isinstance(schedule, dict) or (schedule and not _of_schedule(schedule)):
        return f"schedule cannot be {shown(schedule)}"
    return ""


def _of_schedule(said: Mapping[str, Any]) -> bool:
    state = said.get("state")
    known = set(said) <= {"kind", "state", "base_lrs", "arguments", "first"} and isinstance(said.get("kind"), str)
    return known and isinstance(state, dict) and all(map(storable, state.values()))


# ---- `Dataset`: the samples of a run as the engines take them, kept as a base and what was added to it.

Given = NDArray[Any] | Source
"""Samples: an array (N, numbers), or what is not copied."""


class Dataset:
    """Samples, a column each. Never written to: other data is another Dataset, so a past one can be kept at no cost.

    `*parts`: the base, then what was added, in order; shape (numbers of a sample, N_k).
    """

    __slots__ = ("_outside", "parts")

    def __init__(self, *parts: Data) -> None:
        self.parts = parts
        self._outside: Outside | None = None

    def __len__(self) -> int:
        return sum(part.shape[1] for part in self.parts)

    def with_more(self, part: Data) -> Dataset:
        """All of it and `part`; what is there is shared, not copied."""
        return Dataset(*self.parts, part)

    def joined(self) -> Data:
        """All of it as one, shape (numbers of a sample, N)."""
        outside = [part for part in self.parts if isinstance(part, Outside)]
        if not outside or len(self.parts) == 1:
            return joined(self.parts)
        if self._outside is None:  # one and the same: it knows what became of its files
            self._outside = outside[-1].of([_sources(part, outside[-1]) for part in self.parts])
            self._outside.about = self.parts[-1].about
        return self._outside

    @property
    def version(self) -> int:
        """How often it was found changed by others; looks again."""
        data = self.parts[0] if len(self.parts) == 1 else self._outside
        return data.look() if isinstance(data, Outside) else 0


def _sources(part: Data, like: Outside) -> tuple[Source, Source]:
    n, m = like.numbers
    pair = part.given(0, n), part.given(n, n + m)
    return as_sources(*pair)


def as_sources(inputs: Given, targets: Given) -> tuple[Source, Source]:
    """What is not copied, beside arrays that go with it."""
    x = Held(inputs, "the inputs") if isinstance(inputs, np.ndarray) else inputs
    return x, Held(targets, "the targets") if isinstance(targets, np.ndarray) else targets


def data_of(graph: Graph, dtype: str, whole: bool, inputs: Given, targets: Given, ours: bool = False) -> Data:
    """Samples with the features of a graph's plan; see :func:`scalarviz.engine.arrays.program.encoded`.

    Raises InputError: a number is too large for the dtype, or the first samples of what is not copied cannot
    be used.
    """
    if isinstance(inputs, np.ndarray) and isinstance(targets, np.ndarray):
        return encoded(graph.plan, dtype, whole, inputs, targets, ours)
    make = partial(encoded, graph.plan, dtype, False, ours=True)
    return Outside(graph.plan, dtype, *as_sources(inputs, targets), make, partial(graph.check, "data"))
