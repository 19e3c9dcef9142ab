"""`Setup`: all training settings of a run in one immutable record, and the same as JSON.

Frames, states, keyframes and files of a run each hold one. Also here: `Dataset`, the samples.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...checks import integer, mapping
from ...engine.arrays.program import encoded
from ...engine.data import Data, joined
from ...engine.outside import InMemory, Outside, Source
from ...engine.problem import NO_LIMITS, Limits, Problem, Sampling, indices
from ...errors import InputError, TypeMismatchError, listing, shown
from ...optim import Optimizer
from ...optim._groups import GroupNumbers
from ...optim._pace import Pace, PaceMoment
from ...optim.lr_scheduler import described, remade
from ...scalar.number import at_least_zero
from ..validation import limits_of
from .graph import Graph
from .optimizer import places_of
from .tensors import Tensor

_ONE = np.zeros(0, np.intp)
LIMITS = ("l1", "l2", "clip_norm", "clip_value")
SCHEDULE = "schedule"


@dataclass(frozen=True, slots=True)
class Setup:
    """Training settings of a run."""

    optimizer: str  # name of its class
    groups: GroupNumbers  # numbers of its parameter groups, except their rates
    pace: PaceMoment  # the rates of the coming step, and the state of their schedule
    batch_size: int
    samples: int
    before: int = 0  # steps of the optimiser before the run's first
    sampling: Sampling = "epochs"
    limits: Limits = NO_LIMITS  # penalties of the loss and limits of the gradient
    seed: int = 0  # of the order of the samples

    def batch(self, step: int) -> slice | NDArray[np.int64]:
        """Return the samples of step ``step + 1``, as :meth:`Problem.indices` does."""
        if self.sampling == "epochs" and self.batch_size == self.samples:
            return slice(None)
        return indices(self.seed, step, self.samples, self.batch_size, self.sampling)

    @property
    def numbers(self) -> dict[str, Any]:
        """The numbers of the first parameter group by name, its rate as ``"lr"``."""
        return {"lr": self.pace.rates[0], **self.groups.numbers[0]}


def setup_of(problem: Problem, optimizer: Optimizer) -> Setup:
    """Return the current settings; for the thread that trains."""
    return Setup(
        type(optimizer).__name__, optimizer.moment(), optimizer.lr_pace.moment(), problem.batch,
        problem.data.shape[1], problem.t_start, problem.sampling, problem.limits, problem.seed,
    )  # fmt: skip


# ---- as JSON, by tensor names; entries that are left out do not change the run that reads it


def written(problem: Problem, graph: Graph) -> dict[str, Any]:
    """Return the entries of a file with training settings; numbers that JSON cannot hold are left out."""
    optimizer = graph.optimizer
    groups = [
        {name: plain(number) for name, number in {**numbers, "lr": rate}.items() if storable(_own(number))}
        for numbers, rate in zip(optimizer.moment().numbers, optimizer.lr_pace.rates, strict=True)
    ]
    members = {}
    if len(groups) > 1:
        group_of = np.full(graph.tape.n_parameters, -1)
        group_of[places_of(optimizer, graph.tape)] = optimizer.group_of
        members = {t.name: counted(group_of[t.span]) for t in graph.kept if not t.buffer}
    frozen = {
        t.name: [n for *span, flag in _stretches(problem.store.frozen[t.span]) if flag for n in span]
        for t in graph.kept
    }
    schedule = optimizer.lr_schedule
    return {
        "groups": groups,
        "members": members,
        "limits": asdict(problem.limits),
        "before": problem.t_start,
        "momenta": list(optimizer.lr_pace.momenta),
        "initial": list(optimizer.lr_pace.initial),
        "frozen": {name: spans for name, spans in frozen.items() if spans},
        SCHEDULE: {} if schedule is None else {**described(schedule), "state": schedule.state_dict()},
    }


def counted(flat: NDArray[Any]) -> list[int]:
    """Return how often each number follows itself, and the number, one pair after the other."""
    return [n for start, end, number in _stretches(flat) for n in (end - start, number)]


def _stretches(flat: NDArray[Any]) -> list[tuple[int, int, int]]:
    """Return start, end and number of each stretch of equal numbers."""
    ends = [0, *(np.flatnonzero(np.diff(flat)) + 1).tolist(), len(flat)]
    return [(start, end, int(flat[start])) for start, end in pairwise(ends) if end > start]


def _pairs(graph: Graph, said: Any, what: str) -> Iterator[tuple[str, Tensor, list[tuple[Any, Any]]]]:
    """Yield a file's entries about tensors, each as pairs of numbers; InputError for an unknown tensor."""
    tensors = {t.name: t for t in graph.kept}
    for name, row in mapping(said, what).items():
        if name not in tensors or not isinstance(row, list) or len(row) % 2:
            raise InputError(f"{what}: {shown(name)} is no tensor of this run, or its entry is not pairs of numbers")
        yield f"{what}: {name}", tensors[name], list(zip(row[::2], row[1::2], strict=True))


def _groups_of(graph: Graph, said: Any, count: int) -> Any:
    """Return the group of each held weight, from a file's entry; without an entry, the current groups."""
    optimizer = graph.optimizer
    if not said:
        if count != len(optimizer.rules):
            raise InputError(f"it has {count} parameter groups, this run has {len(optimizer.rules)}")
        return optimizer.group_of
    flat = np.full(graph.tape.n_parameters, -1)
    for what, tensor, pairs in _pairs(graph, said, "members"):
        at = tensor.start
        for given, group in pairs:
            many = integer(what, given, 0, tensor.span.stop - at)
            flat[at : at + many] = integer(what, group, -1, count - 1)
            at += many
    held = flat[places_of(optimizer, graph.tape)]
    if (held < 0).any() or len(np.unique(held)) != count:
        raise InputError(f"its {count} parameter groups do not match the weights that this run trains")
    return held.astype(np.intp)


def _flags(graph: Graph, said: Any) -> NDArray[np.bool_] | None:
    if said is None:
        return None
    flags = np.zeros(graph.tape.n_parameters, bool)
    for what, tensor, pairs in _pairs(graph, said, "frozen"):
        for pair in pairs:
            start, stop = (tensor.start + integer(what, place, 0, tensor.size) for place in pair)
            flags[start:stop] = True
    return flags


def read(
    problem: Problem, graph: Graph, about: Mapping[str, Any], keep: Collection[str]
) -> tuple[Setup, NDArray[np.bool_] | None]:
    """Return the settings in a file and the frozen weights (None: the current ones); the run does not change."""
    optimizer, groups = graph.optimizer, about["groups"]
    of = _groups_of(graph, about.get("members"), len(groups)) if len(groups) > 1 or len(optimizer.rules) > 1 else _ONE
    rules = optimizer.rules if len(groups) == len(optimizer.rules) else optimizer.rules[:1] * len(groups)
    numbers = GroupNumbers(tuple(_numbers(rule, said, keep) for rule, said in zip(rules, groups, strict=True)), of)
    given = {name: number for name, number in about.get("limits", {}).items() if name not in keep}
    limits = limits_of(**{**asdict(problem.limits), **given})
    if {"lr", SCHEDULE} & set(keep) and len(rules) != len(optimizer.rules):
        raise InputError(
            f"it has {len(groups)} parameter groups, this run has {len(optimizer.rules)}; keep neither lr nor schedule"
        )
    rates = optimizer.lr_pace.rates if "lr" in keep else tuple(float(said.get("lr", 0.0)) for said in groups)
    now = setup_of(problem, optimizer)
    pace = now.pace
    if SCHEDULE not in keep:
        pace = _pace(optimizer, about.get(SCHEDULE, {}), rates, "lr" in keep)
        moved = _of_groups("momenta", about, pace.momenta, len(groups))
        if moved and optimizer.momentum_name is None:
            raise InputError(f"it has momenta, but {type(optimizer).__name__} has none")
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
    """Return rates and schedule from a file; `own`: the schedule starts from the run's own base rates."""
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
    """Return a file's number for each parameter group, such as a scheduled momentum; otherwise `computed`."""
    said = about.get(name)
    if not said:
        return computed
    if not isinstance(said, list) or len(said) != groups:
        raise InputError(f"{name}: expected one number per parameter group, got {shown(said)}")
    return tuple(at_least_zero(one, name) for one in said)


def names_kept(optimizer: Optimizer) -> tuple[str, ...]:
    """Return the names of settings that may stay when a file is loaded."""
    return *optimizer.hyperparameters(), *LIMITS, SCHEDULE


def checked_keep(keep: Any, optimizer: Optimizer) -> tuple[str, ...]:
    """Check and return the names of settings that stay when a file is loaded."""
    if isinstance(keep, str) or not isinstance(keep, Collection):
        raise TypeMismatchError(f"load: keep must be a list of names, such as ['lr'], got {shown(keep)}")
    there = names_kept(optimizer)
    unknown = [name for name in keep if name not in there]
    if unknown:
        raise InputError(f"load: keep has {listing(map(str, unknown))}; allowed: {listing(there)}")
    return tuple(keep)


def storable(value: Any) -> bool:
    """Return whether JSON can hold an optimiser's number: finite number, boolean, text, None, or a list of these."""
    if isinstance(value, list):
        return all(storable(one) and not isinstance(one, list) for one in value)
    if isinstance(value, int | float) and not isinstance(value, bool):
        return abs(value) < math.inf  # false for NaN, too
    return value is None or isinstance(value, bool | str)


def _own(value: Any) -> Any:
    """Return an optimiser's number as a Python number instead of a NumPy one."""
    if isinstance(value, list | tuple):
        return [_own(one) for one in value]
    return value.item() if isinstance(value, np.generic) else value


def plain(value: Any) -> Any:
    """Return an optimiser's number for JSON; functions and objects as text."""
    own = _own(value)
    return own if storable(own) else shown(value)


def _is_schedule(said: Any) -> bool:
    if not isinstance(said, dict) or not set(said) <= {"kind", "state", "base_lrs", "arguments", "first"}:
        return False
    return not said or (isinstance(said.get("kind"), str) and _storable_dict(said.get("state")))


def _storable_dict(said: Any) -> bool:
    return isinstance(said, dict) and all(map(storable, said.values()))


# Whether an entry of training settings in a file is valid, by name.
CHECKS: dict[str, Callable[[Any], object]] = {
    "groups": lambda groups: isinstance(groups, list) and groups and all(map(_storable_dict, groups)),
    "limits": lambda limits: isinstance(limits, dict) and set(limits) <= set(LIMITS),
    "before": lambda before: type(before) is int and abs(before) <= 2**53,
    SCHEDULE: _is_schedule,
}


# ---- `Dataset`: the samples of a run as the engines take them, kept as a base and added parts.

Given = NDArray[Any] | Source
"""Samples: an array (N, numbers), or data that is not copied."""


class Dataset:
    """Samples, a column each. It never changes: new data is a new Dataset, so keeping an old one costs nothing."""

    __slots__ = ("_outside", "parts")

    def __init__(self, *parts: Data) -> None:
        self.parts = parts
        self._outside: Outside | None = None

    def __len__(self) -> int:
        return sum(part.shape[1] for part in self.parts)

    def with_more(self, part: Data) -> Dataset:
        """Return all samples and `part`; the current ones are shared, not copied."""
        return Dataset(*self.parts, part)

    def joined(self) -> Data:
        """Return all samples as one, shape (numbers of a sample, N)."""
        outside = [part for part in self.parts if isinstance(part, Outside)]
        if not outside or len(self.parts) == 1:
            return joined(self.parts)
        if self._outside is None:  # always the same object, which knows the state of its files
            n, m = outside[-1].numbers
            pairs = [as_sources(part.numbers_of(0, n), part.numbers_of(n, n + m)) for part in self.parts]
            self._outside = outside[-1].with_sources(pairs)
            self._outside.about = self.parts[-1].about
        return self._outside

    @property
    def version(self) -> int:
        """The number of changes found in external data; checks it again."""
        data = self.parts[0] if len(self.parts) == 1 else self._outside
        return data.check_changes() if isinstance(data, Outside) else 0


def as_sources(inputs: Given, targets: Given) -> tuple[Source, Source]:
    """Return inputs and targets as sources; arrays stay in memory."""
    x = InMemory(inputs, "the inputs") if isinstance(inputs, np.ndarray) else inputs
    return x, InMemory(targets, "the targets") if isinstance(targets, np.ndarray) else targets


def data_of(graph: Graph, dtype: str, whole: bool, inputs: Given, targets: Given, ours: bool = False) -> Data:
    """Return samples with the features of a graph's plan; see :func:`scalarviz.engine.arrays.program.encoded`."""
    if isinstance(inputs, np.ndarray) and isinstance(targets, np.ndarray):
        return encoded(graph.plan, dtype, whole, inputs, targets, ours)
    make = partial(encoded, graph.plan, dtype, False, ours=True)
    return Outside(graph.plan, dtype, *as_sources(inputs, targets), make, partial(graph.check, "data"))
