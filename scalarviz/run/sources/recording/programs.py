"""What a recording holds so that each of its steps opens: programs, data sets and rules, written and read.

A *program* is a run's model with its loss as a tape; a *rule* says which program, data set and settings make a
step, with the optimiser's update as tapes. Nothing of it is code: tapes are checked, and their operations are looked
up by name.
"""

from __future__ import annotations

import json
import math
import operator
import sqlite3
import zlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cache, partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ....engine.arrays.program import encoded
from ....engine.data import Data
from ....engine.outside import Outside as FromFiles
from ....engine.problem import DTYPES, Limits, Problem, Reduction, Sampling, Share
from ....engine.table import ENGINES
from ....errors import FileFormatError, InputError
from ....optim._pace import Pace
from ....scalar.store import Store
from ....tape import Plan, Tape, lower
from ....tape.stored import read_tape, tape_text
from ...core.gather import OUTPUTS, weight_name
from ...core.graph import Forward
from ...core.optimizer import SCALE_NAME, LossScale
from ...core.setup import Dataset, Setup, counted
from ...core.training import Training
from ...frames import RuleOfStep
from ...opened.network import Network
from ...run import Run
from ...validation import limited_rule
from .index import Shapes, read_stages
from .items import Item, Moment, Put, put, stage_rows
from .tables import DAMAGED, Cell

if TYPE_CHECKING:
    from pydantic import TypeAdapter

DATA_LIMIT = 64 << 20
"""Most bytes that all data of a recording takes, unless the caller says otherwise."""
WORTH = 8
"""A data set that is this many times as large is not even compressed."""
MOST_SHARES = 1 << 18
"""Most numbers of different targets for a mean whose samples count differently."""
MOST_BYTES = 1 << 28
"""Most bytes of a program or a rule."""
SMALL = ("u1", "i1", "u2", "i2", "f2", "f4", "f8")
"""Types of stored samples, the smallest first."""
MOST_RULES = 8
"""Most rules, and most networks, that are held with their trainings at a time."""
COMPARED = 64
"""A rule is looked for among so many last ones: a schedule may make one for each frame."""
MOST_DATA = 1 << 33
"""Most bytes of a part of a data set."""
NO_DATA = "its data is not in the file (data=False)"


# ---- writing


class StepParts:
    """Numbers the programs, data sets and rules of a run in the order of their use, and gives each to the file once."""

    def __init__(self, probe_target: Sequence[float] | None, data_limit: int | None) -> None:
        self._target, self._limit = probe_target, data_limit
        self._stored = 0  # bytes of data in the file
        self._programs: list[Forward] = []
        self._sets: list[Dataset] = []
        self._rules: list[tuple[object, ...]] = []

    def moment(self, run: Run, setup: Setup, values: NDArray[Any], *, keyframe: bool, found: list[Item]) -> Moment:
        """Return the run's moment; new parts are added to the items. `values` are a copy of its weights."""
        problem, optimizer = run._problem, run.optimizer
        pace, state = optimizer.lr_pace, None
        rates = np.array([problem.t_start + run._training.steps + 1, *pace.rates, *pace.momenta], np.float64)
        own = (values,) if values.dtype == np.float64 else ()
        several = setup.pace.schedule is not None and len(rates) > 2  # the curve has only one rate between two frames
        if keyframe or several or not (own or problem.state):
            state = (*own, *(array.copy() for array in problem.state))
        return Moment(self._rule(run, setup, found), rates, state)

    def _rule(self, run: Run, setup: Setup, found: list[Item]) -> int:
        problem, optimizer = run._problem, run.optimizer
        schedule, data = setup.pace.schedule is not None, self._data_set(run, found)
        key = (
            run._trained, run._training._held, data, schedule, setup.optimizer, setup.batch_size, setup.samples,
            setup.sampling, setup.limits, setup.seed, setup.pace.momenta, run._choice.name, setup.groups,
        )  # fmt: skip
        for number in range(len(self._rules) - 1, max(-1, len(self._rules) - 1 - COMPARED), -1):
            if all(a is b or (k > 1 and a == b) for k, (a, b) in enumerate(zip(self._rules[number], key, strict=True))):
                return number
        self._rules.append(key)
        number = len(self._rules) - 1
        program = self._program(run, found)
        rules = [(tape_text(limited_rule(rule, problem.limits)), rule.state) for rule in optimizer.rules_now()]
        groups = len(optimizer.rules)
        said = {
            "program": program, "data": data, "optimizer": type(optimizer).__name__, "state": [*optimizer.state],
            "update": tape_text(limited_rule(optimizer, problem.limits)), "rules": rules,
            "updates": [tape_text(limited_rule(optimizer, problem.limits, j)) for j in range(groups * (groups > 1))],
            "groups": counted(problem.columns[0]) if problem.columns else [],
            "held": counted(run._training._held), "limits": asdict(problem.limits),
            "reduction": problem.reduction, "sampling": problem.sampling, "seed": problem.seed, "batch": problem.batch,
            "scale": None if run._loss_scale is None else run._loss_scale.fixed, "schedule": schedule,
            "engine": run._choice.name, "dtype": run._stored,
        }  # fmt: skip
        weighed = None
        if problem.share is not None and not isinstance(problem.data, FromFiles):
            first = problem.plan.n_inputs
            weighed = problem.share, problem.data, slice(first, first + problem.plan.n_targets)
        found.append(Put(put("rule", 2).statement, partial(_rule_rows, number, said, weighed, self._target)))
        return number

    def _program(self, run: Run, found: list[Item]) -> int:
        for number, known in enumerate(self._programs):
            if known is run._trained:
                return number
        self._programs.append(forward := run._trained)
        number = len(self._programs) - 1
        shapes = forward.shape, run._shapes[1]
        found.append(Put(put("program", 2).statement, partial(_program_rows, number, forward, shapes)))
        return number

    def _data_set(self, run: Run, found: list[Item]) -> int:
        for same in (operator.is_, _equal):  # every frame asks; an edit that was done again made a copy
            for number, known in enumerate(self._sets):
                if same(known, run._dataset):
                    self._sets[number] = run._dataset
                    return number
        self._sets.append(run._dataset)
        number, data, count = len(self._sets) - 1, run._problem.data, run._tape.n_inputs + run._tape.n_targets
        if isinstance(data, FromFiles) or self._limit is None:
            unsaid = "its samples are read from files or drawn anew, which the recording does not copy"
            why = NO_DATA if self._limit is None else unsaid
            found.append(put("data", 6, (number, 0, 0, 0, "", why.encode())))
        else:
            rows = partial(self._data_rows, number, data.head(count), self._limit)
            found.append(Put(put("data", 6).statement, rows, data.nbytes))
        return number

    def _data_rows(self, number: int, data: Data, limit: int) -> list[tuple[Cell, ...]]:
        """Return the parts of a data set, each in the smallest type that has its numbers; why not, without room."""
        parts = [smallest(part) for part in data.parts]
        size = sum(part.nbytes for part in parts)
        if size <= WORTH * limit:
            packed = [zlib.compress(np.ascontiguousarray(part).tobytes()) for part in parts]
            size = sum(map(len, packed))
        if self._stored + size <= limit:
            self._stored += size
            told = enumerate(zip(parts, packed, strict=True))
            return [(number, k, *part.shape, part.dtype.str.lstrip("<|"), own) for k, (part, own) in told]
        size, more = self._stored + size, ", with that from before it was changed" if number else ""
        said = f"{size / 1e6:,.4g} MB{more}, and the file was to hold at most {limit / 1e6:,.4g} MB (data_limit)"
        return [(number, 0, 0, 0, "", f"its data takes {said}".encode())]


def _equal(one: Dataset, other: Dataset) -> bool:
    """Return whether two data sets in memory have the same samples."""
    if len(one.parts) != len(other.parts) or len(one) != len(other):
        return False
    pairs = [*zip(one.parts, other.parts, strict=True)]
    if any(a is not b and (isinstance(a, FromFiles) or a.shape != b.shape) for a, b in pairs):
        return False
    return all(a is b or all(map(np.array_equal, a.parts, b.parts)) for a, b in pairs)


def _program_rows(number: int, forward: Forward, shapes: tuple[Any, Any]) -> list[tuple[Cell, ...]]:
    said = {"tape": tape_text(forward.tape), "taps": forward.taps, "shapes": shapes,
            "stages": [row[2:] for row in stage_rows(0, forward)]}  # fmt: skip
    return [(number, zlib.compress(json.dumps(said).encode()))]


def _rule_rows(
    number: int, said: dict[str, Any], weighed: tuple[Share, Data, slice] | None, target: Sequence[float] | None
) -> list[tuple[Cell, ...]]:
    shares, why = None, ""
    if weighed is not None:
        share, data, columns = weighed
        given = np.asarray(data[columns].T, np.float64)
        own = [np.array([target], np.float64)] if target is not None and len(target) == given.shape[1] else []
        rows = np.unique(np.concatenate([given, *own]), axis=0)
        shares = [*map(list, zip(rows.tolist(), share(rows).tolist(), strict=True))]
        if rows.size > MOST_SHARES:
            shares, why = None, "its loss weighs too many different targets"
    return [(number, zlib.compress(json.dumps({**said, "shares": shares, "why": why}).encode()))]


def smallest(part: NDArray[Any]) -> NDArray[Any]:
    """Return an array in the first type of `SMALL` that has the same numbers, bit for bit."""
    bits = np.ascontiguousarray(part).view(np.uint8)
    for kind in SMALL:
        with np.errstate(all="ignore"):
            small = part.astype("<" + kind)
            if np.array_equal(np.ascontiguousarray(small.astype(part.dtype)).view(np.uint8), bits):
                return small
    return part


# ---- reading: what the file says


@dataclass(slots=True)
class ProgramSaid:
    """A program in JSON."""

    tape: str
    taps: list[int]  # of each stage
    stages: list[list[Any]]
    shapes: tuple[list[int], list[int]]  # of a sample, and of its target


@dataclass(slots=True)
class RuleSaid:
    """A rule in JSON; tapes are texts, `groups` and `held` runs of equal numbers."""

    program: int
    data: int
    optimizer: str
    state: list[str]
    update: str
    rules: list[tuple[str, list[str]]]
    updates: list[str]
    groups: list[int]
    held: list[int]
    limits: Limits
    reduction: Reduction
    sampling: Sampling
    seed: int
    batch: int
    scale: bool | None  # of float16: whether its loss scale is fixed
    schedule: bool
    engine: str
    dtype: str
    shares: list[tuple[list[float], float]] | None
    why: str


@cache
def _readers() -> tuple[TypeAdapter[ProgramSaid], TypeAdapter[RuleSaid]]:
    from pydantic import TypeAdapter

    return TypeAdapter(ProgramSaid), TypeAdapter(RuleSaid)


@dataclass(frozen=True, slots=True, eq=False)
class Rule:
    """A rule that was read, with its program and data: a training that can stand at any step."""

    said: RuleSaid
    training: Training
    network: Network
    of_step: RuleOfStep
    targets: tuple[int, ...]  # the shape of a target


def check(right: bool, said: str) -> None:
    """Raise a FileFormatError that says what is wrong."""
    if not right:
        raise FileFormatError(said)


class Rules:
    """The rules of a file, each read when it is needed; callers hold its lock. `lacks` says why no step opens."""

    def __init__(self, database: sqlite3.Connection, *, former: bool) -> None:
        self._database = database
        self.keyframe = -1  # the frame from which the last training was reached
        self.lacks = "an older scalarviz made it, and its steps are not in today's form" if former else ""
        if not former and self.one("SELECT 1 FROM moment LIMIT 1") is None:
            self.lacks = "another library trained the network, so there is no program of it"
        elif not former and (why := self.one("SELECT numbers FROM data WHERE kind = '' AND number = 0")):
            self.lacks = bytes(why[0]).decode("utf-8", "replace")[:200]
        self._rules: dict[tuple[int, int], Rule] = {}  # the last ones
        self._sets: dict[tuple[Any, ...], Data] = {}  # the last one, with what it was encoded for
        self._networks: dict[tuple[int, ...], tuple[Network, tuple[int, ...]]] = {}

    @property
    def stored(self) -> tuple[int, int]:
        """Count and bytes of the samples of the first data set; zeros without one."""
        asked = "SELECT max(samples), sum(length(numbers)) FROM data WHERE kind != '' AND number = 0"
        found = None if self.lacks else self.one(asked)
        return (0, 0) if found is None or found[0] is None else (int(found[0]), int(found[1]))

    def one(self, asked: str, given: tuple[int, ...] = ()) -> tuple[Any, ...] | None:
        """Return the first row of an answer, or None; FileFormatError for a damaged file."""
        try:
            found: tuple[Any, ...] | None = self._database.execute(asked, given).fetchone()
        except DAMAGED as error:
            raise FileFormatError(str(error)) from None
        return found

    def rule(self, number: int, network: int, shapes: Shapes) -> Rule:
        """Return a rule for a network of the file; FileFormatError: it does not fit, or makes no sense."""
        key = number, network
        if key not in self._rules:
            said: RuleSaid = self._said("rule", number, _readers()[1])
            check(not said.why, said.why[:200])
            self.keyframe = -1
            self._rules, self._networks = (
                dict([*held.items()][1 - MOST_RULES :]) for held in (self._rules, self._networks)
            )
            self._rules[key] = self._made(said, network, shapes)
        return self._rules[key]

    def _said(self, table: str, number: int, reader: TypeAdapter[Any]) -> Any:
        from pydantic import ValidationError

        found = self.one(f"SELECT said FROM {table} WHERE id = ?", (number,))
        if found is None:
            raise FileFormatError(f"a {table} of it is missing")
        try:
            return reader.validate_json(inflated(found[0], MOST_BYTES), strict=True)
        except ValidationError:
            raise FileFormatError(f"a {table} of it has an invalid format") from None

    def _made(self, said: RuleSaid, network: int, shapes: Shapes) -> Rule:
        size, states, groups = shapes.size, len(said.state), len(said.rules)
        columns = [_spread(said.groups, size, groups).astype(said.dtype)] if said.groups else []
        hyper = 2 + (said.limits.clip_norm is not None)  # learning rate, step number, clipping factor
        rules = tuple((_update(text, 2 + len(own), len(own), hyper)[0], tuple(own)) for text, own in said.rules)
        _, update = _update(said.update, 2 + states + len(columns), states)
        updates = [_update(text, 2 + states, states)[1] for text in said.updates]
        check(groups > 0 and len(updates) in (0, groups) and groups == 1 + (groups - 1) * len(columns),
              "its parameter groups do not fit its rule")  # fmt: skip
        check(all({*own} <= {*said.state} for _, own in rules), "its rule reads an unknown state")
        check(said.dtype in DTYPES and 0 <= said.seed < 1 << 63, "its seed or dtype is impossible")
        net, targets = self._network(said, network, shapes)
        forward, count = net.forward, net.tape.n_inputs + net.tape.n_targets
        key = said.data, said.program, network, said.dtype, said.sampling, said.batch
        if key not in self._sets:
            samples = self._samples(said.data, count, said.dtype)
            fits = said.sampling != "epochs" or said.batch <= samples.shape[1]
            check(said.batch > 0 and fits, "its batch is impossible")
            whole = said.sampling == "epochs" and said.batch == samples.shape[1]
            x, y = samples.numbers_of(0, net.tape.n_inputs), samples.numbers_of(net.tape.n_inputs, count)
            self._sets = {key: encoded(forward.plan, said.dtype, whole, x, y, ours=True)}
        scale = None
        if said.scale is not None:
            scale = LossScale(1 if said.scale else "dynamic")
            own = [tensor for tensor in shapes.tensors if tensor.name == SCALE_NAME and tensor.size == 3]
            check(len(own) == 1, "it has no loss scale")
            scale.buffer.start = own[0].start
        store = Store(size, said.dtype)
        problem = Problem(
            plan=forward.plan, update=update, store=store, state=[store.value.copy() for _ in said.state],
            data=self._sets[key], batch=said.batch, seed=said.seed,
            reduction=said.reduction, trained=np.zeros(size, bool), previous=store.value.copy(),
            sampling=said.sampling, share=forward.share, limits=said.limits, columns=columns, rules=updates,
            n_weights=int(shapes.weights.sum()), tape=None if scale is None else net.tape,
        )  # fmt: skip
        engine = ENGINES["numba" if said.engine == "numba" and not ENGINES["numba"].missing(0) else "numpy"]
        trainer = engine.make(problem, no_model, no_model, 0)
        held = _spread(said.held, size, 2) != 0
        training = Training(problem, trainer, held, Pace((0.0,)), partial(weight_name, shapes.tensors), scale)
        return Rule(said, training, net, RuleOfStep(said.optimizer[:200], tuple(said.state), rules), targets)

    def _network(self, rule: RuleSaid, number: int, shapes: Shapes) -> tuple[Network, tuple[int, ...]]:
        """Return a program as a network with the tensors of `shapes`, and the shape of its targets."""
        key = rule.program, rule.data, number
        if key not in self._networks:
            said: ProgramSaid = self._said("program", rule.program, _readers()[0])
            tape = read_tape(said.tape)
            stages = read_stages(said.stages, shapes.tensors)
            check(tape.n_parameters == shapes.size and tape.loss is not None, "its program does not fit its network")
            check(len(stages) == len(said.taps), "its program has other stages than its network")
            for stage, tap in zip(stages, said.taps, strict=True):
                check(OUTPUTS <= tap < len(tape.taps), "its program lacks a stage")
                rows = tape.outputs if tap == OUTPUTS else tape.taps[tap][1]
                check(len(rows) == stage.outputs, "its program has a stage of another size")
            shape, targets = (tuple(sides) for sides in said.shapes)
            right = math.prod(shape) == tape.n_inputs == shapes.inputs and math.prod(targets) == tape.n_targets
            check(right and min((*shape, *targets), default=1) > 0, "its samples have another shape")
            share = None if rule.shares is None else SharesOfTargets(rule.shares, tape.n_targets)
            forward = Forward(tape, lower(tape.only(loss=True)), shapes.tensors, rule.dtype, (rule.reduction, share),
                              [*zip(stages, said.taps, strict=True)], shape)  # fmt: skip
            self._networks[key] = Network(forward), targets
        return self._networks[key]

    def _samples(self, number: int, rows: int, dtype: str) -> Data:
        """Return a data set; `rows` are the numbers of a sample with its target."""
        parts, at = list[NDArray[Any]](), 0
        while at < rows:
            asked = "SELECT rows, samples, kind, numbers FROM data WHERE number = ? AND part = ?"
            found = self.one(asked, (number, len(parts)))
            check(found is not None, "its data is missing")
            high, wide, kind, packed = found or (0, 0, "", b"")
            if kind == "" and isinstance(packed, bytes):  # left out, and it says why
                raise FileFormatError(packed.decode("utf-8", "replace")[:200])
            right = type(high) is int and type(wide) is int and kind in SMALL and 0 < high <= rows - at and wide > 0
            check(right and all(part.shape[1] == wide for part in parts), "its data does not fit its network")
            size = high * wide * np.dtype(kind).itemsize
            check(size <= MOST_DATA, "its data is too large")
            numbers = np.frombuffer(inflated(packed, size), f"<{kind}")
            check(len(numbers) == high * wide, "its data is cut off")
            parts.append(numbers.reshape(high, wide))
            at += high
        return Data(dtype, *parts)


def no_model(*given: Any) -> Any:
    """Stand for the model and the loss of an engine that only runs programs."""
    raise FileFormatError("a recording holds programs, not the objects that they were recorded from")


class SharesOfTargets:
    """How much each sample counts in a mean, by its target; a function as a loss has."""

    def __init__(self, known: Sequence[tuple[list[float], float]], width: int) -> None:
        check(all(len(row) == width for row, _ in known), "the shares of its samples do not fit its targets")
        self._known = {tuple(row): share for row, share in known}

    def __call__(self, targets: NDArray[Any]) -> NDArray[np.float64]:
        found = [self._known.get(tuple(row)) for row in np.asarray(targets, np.float64).tolist()]
        if None in found:
            raise InputError("the recording does not say how much a sample with this target counts")
        return np.array(found, np.float64)


def _update(text: str, inputs: int, states: int, hyper: int = 1 << 10) -> tuple[Tape, Plan]:
    """Return the update of one weight: from ``w, g`` and states to ``w`` and `states`, with at most `hyper` numbers."""
    tape = read_tape(text)
    right = tape.n_inputs + tape.n_targets == inputs and len(tape.outputs) == 1 + states and tape.loss is None
    check(right and tape.n_parameters <= hyper, "the update of its optimiser does not fit its state")
    return tape, lower(tape, encode=False)


def _spread(runs: Sequence[int], size: int, end: int) -> NDArray[np.int64]:
    """Return the `size` numbers below `end` that :func:`counted` wrote."""
    counts, numbers = runs[::2], runs[1::2]
    right = len(counts) == len(numbers) and all(count > 0 for count in counts) and sum(counts) == size
    check(right and all(0 <= number < end for number in numbers), "a rule of it does not fit its network")
    return np.repeat(np.array(numbers, np.int64), counts)


def inflated(packed: Any, most: int) -> bytes:
    """Return deflated bytes, at most `most` of them."""
    press = zlib.decompressobj()
    try:
        found = press.decompress(packed if isinstance(packed, bytes) else b"", most + 1)
    except zlib.error:
        raise FileFormatError("a part of it cannot be unpacked") from None
    check(len(found) <= most and press.eof, "a part of it is longer than it may be, or cut off")
    return found
