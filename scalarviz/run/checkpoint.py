"""A run on disk: weights, optimiser state, step and how it trains, in one safetensors file with PyTorch's names."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Collection, Mapping
from dataclasses import asdict, dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..checks import integer, mapping, text
from ..engine.problem import DTYPES, HALF, Limits
from ..errors import FileFormatError, InputError, TypeMismatchError, listing, shown
from ..io.weights import OPTIMIZER, OURS, load_tensors, parse_json, save_tensors, under
from ..optim import Optimizer
from ..optim._described import described, remade
from ..optim._groups import GroupNumbers
from ..optim._pace import Pace, PaceMoment
from ..scalar.single import at_least_zero
from .checks import limits_of, seed_of, steps_of
from .core.frame import Tensor
from .core.gather import constants_of, without_constants
from .core.loss_scale import NAME
from .core.optimizer import by_name, places_of
from .core.optimizer import restore as put_by_name
from .core.signals import Whole
from .core.training import in_turn
from .former import all_or_nothing, keep

if TYPE_CHECKING:
    from .run import Run


_ONE = np.zeros(0, np.intp)
LIMITS = ("l1", "l2", "clip_norm", "clip_value")
SCHEDULE = "schedule"


@dataclass(frozen=True, slots=True)
class Rule:
    """What a run is to train by."""

    numbers: GroupNumbers  # the parameter groups, all but their rates
    limits: Limits
    pace: PaceMoment
    before: int  # steps that the optimiser had done before the run's first
    frozen: Any = None  # None: as they are


def written(run: Run) -> dict[str, Any]:
    """The entries of a file that say how `run` trains. Numbers that JSON cannot hold, as functions, are left out."""
    optimizer = run.optimizer
    groups = [
        {name: plain(number) for name, number in group.items() if storable(plain(number)) and _is_number(number)}
        for group in (
            {**numbers, "lr": rate}
            for numbers, rate in zip(optimizer.moment().numbers, optimizer.lr_pace.rates, strict=True)
        )
    ]
    frozen = {t.name: _spans(t, run._store.frozen) for t in run._graph.kept}
    schedule = optimizer.lr_schedule
    return {
        "groups": groups,
        "members": _members(run) if len(groups) > 1 else {},
        "limits": asdict(run._problem.limits),
        "before": run._problem.t_start,
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


def _members(run: Run) -> dict[str, list[int]]:
    """The parameter group of each weight of a tensor: how many, their group, how many, their group, ..."""
    flat = np.full(run.n_weights, -1)
    flat[places_of(run.optimizer, run._tape)] = run.optimizer.group_of
    found = {}
    for tensor in run._graph.kept:
        if tensor.buffer:  # nobody trains it
            continue
        own = flat[tensor.start : tensor.start + tensor.size]
        ends = [*(np.flatnonzero(np.diff(own)) + 1).tolist(), tensor.size]
        found[tensor.name] = [n for start, end in pairwise([0, *ends]) for n in (end - start, int(own[start]))]
    return found


def _groups_of(run: Run, said: Any, count: int) -> Any:
    """The group of each held weight by what a file says of the tensors; that of now where it says nothing."""
    optimizer, tensors = run.optimizer, {t.name: t for t in run._graph.kept}
    if not said:
        if count != len(optimizer.rules):
            raise InputError(f"it has {count} parameter groups, this run {len(optimizer.rules)}")
        return optimizer.group_of
    flat = np.full(run.n_weights, -1)
    for name, runs in mapping(said, "members").items():
        if name not in tensors or not isinstance(runs, list) or len(runs) % 2:
            raise InputError(f"members: {shown(name)} is no tensor with counts and groups")
        tensor, at = tensors[name], 0
        for given, group in zip(runs[::2], runs[1::2], strict=True):
            many = integer(f"members: {name}", given, 0, tensor.size - at)
            flat[tensor.start + at : tensor.start + at + many] = integer(f"members: {name}", group, -1, count - 1)
            at += many
    held = flat[places_of(optimizer, run._tape)]
    if (held < 0).any() or len(np.unique(held)) != count:
        raise InputError(f"its {count} parameter groups are not groups of the weights that this run trains")
    return held.astype(np.intp)


def rule_of(run: Run, about: Mapping[str, Any], keep: Collection[str]) -> Rule | None:
    """What a file says, for `run`, which is left as it is; None: nothing, as files of earlier versions.

    `about`: what :func:`written` gave. `keep`: names that stay as they are in the run: of numbers of the
    optimiser, :data:`LIMITS`, ``"schedule"``.

    Raises InputError, TypeMismatchError: it does not fit the run.
    """
    optimizer, problem = run.optimizer, run._problem
    if "groups" not in about:
        return None
    groups = about["groups"]
    of = _groups_of(run, about.get("members"), len(groups)) if len(groups) > 1 or len(optimizer.rules) > 1 else _ONE
    rules = optimizer.rules if len(groups) == len(optimizer.rules) else optimizer.rules[:1] * len(groups)
    numbers = GroupNumbers(tuple(_numbers(rule, said, keep) for rule, said in zip(rules, groups, strict=True)), of)
    given = {name: number for name, number in about.get("limits", {}).items() if name not in keep}
    limits = limits_of(**{**asdict(problem.limits), **given})
    if {"lr", SCHEDULE} & set(keep) and len(rules) != len(optimizer.rules):
        raise InputError(f"it has {len(groups)} parameter groups, this run {len(optimizer.rules)}: no rate can be kept")
    rates = optimizer.lr_pace.rates if "lr" in keep else tuple(float(said.get("lr", 0.0)) for said in groups)
    pace = optimizer.lr_pace.moment()
    if SCHEDULE not in keep:
        pace = _pace(run, about.get(SCHEDULE, {}), rates, "lr" in keep)
        moved = _of_groups("momenta", about, pace.momenta, len(groups))
        if moved and optimizer.momentum_name is None:
            raise InputError(f"momenta: {type(optimizer).__name__} has none")
        pace = pace._replace(momenta=moved, initial=_of_groups("initial", about, pace.initial, len(groups)))
    return Rule(numbers, limits, pace, about.get("before", problem.t_start), _flags(run, about.get("frozen")))


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


def _pace(run: Run, said: Mapping[str, Any], rates: tuple[float, ...], own: bool) -> PaceMoment:
    """The rates and where their schedule stands; `own`: it begins with the rates that the run begins with."""
    if not said:
        return Pace(rates).moment()
    before = run.optimizer.lr_schedule
    about = {name: part for name, part in said.items() if name != "state"}
    if own:
        about["base_lrs"] = list(rates if before is None else before.base_lrs)
    schedule = remade(about, run.optimizer, len(rates))
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


def _flags(run: Run, said: Any) -> Any:
    if said is None:
        return None
    flags, tensors = np.zeros(len(run._store.value), bool), {t.name: t for t in run._graph.kept}
    for name, spans in mapping(said, "frozen").items():
        if name not in tensors or not isinstance(spans, list) or len(spans) % 2:
            raise InputError(f"frozen: {shown(name)} is no tensor with pairs of places")
        tensor = tensors[name]
        places = [integer(f"frozen: {name}", place, 0, tensor.size) for place in spans]
        for start, stop in zip(places[::2], places[1::2], strict=True):
            flags[tensor.start + start : tensor.start + stop] = True
    return flags


def put_rule(run: Run, rule: Rule) -> None:
    """Let `run` train by it, between two steps."""
    run._hands.put_moment(rule.numbers, rule.pace)
    run._hands.put_limits(rule.limits)
    run._problem.t_start = rule.before
    if rule.frozen is not None:
        run._hands.put_frozen(0, rule.frozen)


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


# ---- A run on disk: weights, optimiser state and step, in one safetensors file with PyTorch's names


KEY = OURS + "run"
RULE = ("groups", "members", "momenta", "initial", "limits", "before", "frozen", "schedule")


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """What a file of weights holds.

    Attributes
    ----------
    tensors : dict of str to ndarray
        By the names of ``named_parameters``.
    optimizer_state : dict of str to ndarray
        By ``"<state>.<tensor>"``; empty for a file of another program.
    steps, seed : int
    dtype : str
        Empty for a file of another program.
    optimizer : str
        Class name; empty for a file of another program.
    hyperparameters : dict
        Of the optimiser.
    schedule : dict
        Of the learning rate: ``"kind"``, its class, ``"state"``, where it stood, and where numbers say them its
        ``"arguments"``; empty if there was none.
    rule : dict
        How it trained, the schedule included: ``"groups"``, the numbers of each parameter group, ``"members"``,
        ``"momenta"``, ``"initial"``, ``"limits"``, ``"before"``, ``"frozen"``; no groups in files of earlier versions.
    notes : dict of str to str
        What the writer added.
    """

    tensors: dict[str, NDArray[Any]]
    optimizer_state: dict[str, NDArray[Any]]
    steps: int
    seed: int
    dtype: str
    optimizer: str
    hyperparameters: dict[str, Any]
    notes: dict[str, str]
    schedule: dict[str, Any] = field(default_factory=dict)
    rule: dict[str, Any] = field(default_factory=dict)


def save_run(run: Run, path: str | Path, notes: Mapping[str, str] | None = None) -> None:
    """Write weights, optimiser state and step of `run`, whole or not at all.

    Parameters
    ----------
    run : Run
    path : path
    notes : mapping of str to str, optional
        Text that comes back in :attr:`Checkpoint.notes`.

    Raises
    ------
    InputError
        The file cannot be written.
    """
    for name, note in mapping({} if notes is None else notes, "save: the notes").items():
        text(note, f"save: the note {shown(name)}")
    state = {OPTIMIZER + name: array for name, array in optimizer_state(run).items()}
    save_tensors(path, {**run.state_dict(), **state}, {KEY: said_of(run, notes)})


def said_of(run: Run, notes: Mapping[str, str] | None = None) -> str:
    """What is said of `run` beside its weights and its optimiser's arrays, as JSON."""
    about = {
        "steps": run.steps,
        "seed": run.seed,
        "dtype": run.dtype,
        "optimizer": type(run.optimizer).__name__,
        "hyperparameters": {name: plain(number) for name, number in run.optimizer.hyperparameters().items()},
        **written(run),
        "notes": {str(key): str(text) for key, text in (notes or {}).items()},
    }
    return json.dumps(about)


def read_checkpoint(path: str | Path) -> Checkpoint:
    """Read what `save_run` or another program wrote.

    Raises InputError, FileFormatError: no such file, or not one of weights, or damaged.
    """
    tensors, metadata = load_tensors(path)
    weights = {name: array for name, array in tensors.items() if not name.startswith(OPTIMIZER)}
    try:
        return checkpoint_of(weights, under(OPTIMIZER, tensors), metadata.get(KEY, "{}"))
    except FileFormatError as error:
        raise FileFormatError(f"{path}: {error}") from None


def checkpoint_of(weights: dict[str, NDArray[Any]], state: dict[str, NDArray[Any]], said: str) -> Checkpoint:
    """What weights, an optimiser's arrays, and what :func:`said_of` said are together.

    Raises FileFormatError: that was never said of a run.
    """
    try:
        about = _check(parse_json(said))
    except RecursionError:
        raise FileFormatError("its description of the run is nested too deeply") from None
    except ValueError as error:
        raise FileFormatError(f"its description of the run cannot be used: {error}") from None
    return Checkpoint(
        tensors=weights,
        optimizer_state=state,
        steps=about.get("steps", 0),
        seed=about.get("seed", 0),
        dtype=about.get("dtype", ""),
        optimizer=about.get("optimizer", ""),
        hyperparameters=about.get("hyperparameters", {}),
        notes=about.get("notes", {}),
        schedule=about.get("schedule", {}),
        rule={name: about[name] for name in RULE if name in about},
    )


def _check(about: Any) -> dict[str, Any]:
    """What is written about a run and read of it; InputError for the first entry that has another type or range."""
    checks: dict[str, Callable[[Any], bool]] = {
        "steps": lambda steps: steps_of(steps) >= 0,
        "seed": lambda seed: seed_of(seed) >= 0,
        "dtype": lambda dtype: dtype in ("", HALF, *DTYPES),
        "optimizer": lambda name: isinstance(name, str),
        "hyperparameters": lambda numbers: isinstance(numbers, dict) and all(map(storable, numbers.values())),
        "notes": lambda notes: isinstance(notes, dict) and all(isinstance(text, str) for text in notes.values()),
    }
    if not isinstance(about, dict):
        raise InputError(f"wanted names and values, got {shown(about)}")
    for name, fits in checks.items():
        if name in about and not fits(about[name]):
            raise InputError(f"{name} cannot be {shown(about[name])}")
    if wrong := sound(about):
        raise InputError(wrong)
    lr = about.get("hyperparameters", {}).get("lr", 0.0)
    if isinstance(lr, bool) or not isinstance(lr, int | float) or lr < 0:
        raise InputError(f"lr must be a number, at least 0; got {shown(lr)}")
    return about


# ---- the numbers by name


@in_turn
def state_dict(run: Run) -> dict[str, NDArray[Any]]:
    """Every tensor, and the model's buffers, by name (copies)."""
    return {t.name: t.stored(run._store.value) for t in run._graph.kept} | constants_of(run.model)


@in_turn
def optimizer_state(run: Run) -> dict[str, NDArray[Any]]:
    """The optimiser's state by ``"<state>.<tensor>"`` (copies)."""
    return by_name(run.optimizer, run._problem.state, run._graph.kept)


@in_turn
def restore(
    run: Run, tensors: dict[str, NDArray[Any]], optimizer_state: dict[str, NDArray[Any]], steps: int,
    pace: PaceMoment | None = None, rule: Rule | None = None,
) -> None:  # fmt: skip
    """Take over saved values (by name, all of them), the optimiser's state and the step count, on a branch of its own.

    `pace`: rates and schedule; `rule`: what to train by.

    Raises InputError: lists every missing, unexpected and misshapen tensor at once; or a number is not
    finite, or too large for the run's dtype. Nothing is changed then.
    """
    run._check_live()
    steps = steps_of(steps)
    mapping(tensors, "restore: the tensors")
    mapping(optimizer_state, "restore: the optimiser's state")
    if pace is not None and not isinstance(pace, PaceMoment):
        raise TypeMismatchError(f"restore: pace is optimizer.lr_pace.moment(), got {type(pace).__name__}")
    run.timeline.enter()
    with Whole(), all_or_nothing(run, lines=True), run.timeline.jump(f"loaded step {steps:,}"):
        if rule is not None:
            put_rule(run, rule)
        targets = {"": run._store.value}
        if optimizer_state:
            targets |= {f"{n}.": a for n, a in zip(run.optimizer.state, run._problem.state, strict=True)}
        for array in (*targets.values(), run._problem.previous):
            keep(run, array)
        tensors = _with_own_scale(run, without_constants(run.model, tensors))
        put_by_name(run._graph.kept, targets, {**tensors, **optimizer_state})
        run._problem.previous[:], run._training._update = run._store.value, None
        run._store.revision += 1
        run._training.stands_at(steps)
        if pace is not None:
            run.optimizer.lr_pace.put(pace)


def _with_own_scale(run: Run, tensors: dict[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """Saved values with the loss scale of now where it is fixed or they have none; without one if nobody has it."""
    own = [tensor.stored(run._store.value) for tensor in run._graph.kept if tensor.name == NAME]
    if run._loss_scale is None:
        return tensors if own else {name: array for name, array in tensors.items() if name != NAME}
    (now,) = own
    saved = tensors.get(NAME, now)
    fixed = run._loss_scale.fixed and np.shape(saved) == now.shape
    return {**tensors, NAME: np.array([now[0], *saved[1:]]) if fixed else saved}


def load_run(run: Run, path: str | Path, *, optimizer: bool = True, keep: Collection[str] = ()) -> Checkpoint:
    """Let `run` go on from a file: weights, step count and, with `optimizer`, how it trained.

    That is the optimiser's state, the numbers of its parameter groups, penalties and clipping, the schedule and where
    it stands, and which weights are frozen: a run with the same model, data, batch, seed and engine goes on bit for
    bit. Files of earlier versions have the state and where the schedule stands alone.

    Parameters
    ----------
    run : Run
    path : path
    optimizer : bool
        False: weights and step count alone.
    keep : collection of str
        What stays as it is in the run: names of the optimiser's numbers (``"lr"``), of limits (``"clip_norm"``), or
        ``"schedule"``.

    Raises
    ------
    InputError
        Tensors are missing, unexpected or misshapen (all are listed), or the optimiser is another one, or a number is
        not finite or too large for the run's dtype. Nothing is changed then.
    """
    keep, saved = checked_keep(keep, run.optimizer), read_checkpoint(path)
    own = type(run.optimizer).__name__
    if optimizer and saved.optimizer and saved.optimizer != own:
        raise InputError(
            f"{path} was trained with {saved.optimizer:.60}, this run uses {own}; use {saved.optimizer:.60}, or load "
            "with optimizer=False to keep the weights and the step alone"
        )
    try:
        if optimizer:
            put_checkpoint(run, saved, keep)
        else:
            restore(run, saved.tensors, {}, saved.steps)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
    return saved


def put_checkpoint(run: Run, saved: Checkpoint, keep: Collection[str] = ()) -> None:
    """Let `run`, which has the same optimiser, go on from what was saved; see :func:`load_run`.

    Raises InputError: it does not fit the run; nothing is changed then.
    """
    rule = _rule(run, saved, keep)
    stands = _stands(run, saved) if rule is None and "schedule" not in keep else None
    restore(run, saved.tensors, saved.optimizer_state, saved.steps, stands, rule)


def _rule(run: Run, saved: Checkpoint, keep: Collection[str]) -> Rule | None:
    try:
        return rule_of(run, saved.rule, keep)
    except TypeMismatchError as error:  # what a file says is not a caller's slip
        raise InputError(str(error)) from None


def _stands(run: Run, saved: Checkpoint) -> PaceMoment | None:
    """Where the schedule of a run stands by a file of an earlier version; None where it has none."""
    schedule = run.optimizer.lr_schedule
    if not saved.schedule:
        return None
    kind = saved.schedule["kind"]
    if schedule is None or type(schedule).__name__ != kind:
        ours = "none" if schedule is None else type(schedule).__name__
        raise InputError(
            f"it was trained with the schedule {kind}, this run has {ours}; make one, "
            f"optim.lr_scheduler.{kind}(run.optimizer, ...), or load with optimizer=False"
        )
    return schedule.loaded(saved.schedule["state"])
