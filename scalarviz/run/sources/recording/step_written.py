"""An opened step as the file has it: the plan that it shares with others, and its own numbers.

The numbers are float64, one after the other: the rows of all stages (of a batch their means), the deltas likewise, the
gradient and the weights after the step (P each); then what is told of single micro-steps, and of single weights. These
stand together by the rule that moves them: the rule, how many they are, and row by row (each as long as that) their
indices, how many terms their gradients have, whether they are biases, delta and x, and of each of the rule's lines the
digits that give it (where a result is printed with as many as `DIGITS` says), its result and its quantities.
"""

from __future__ import annotations

import json
import sqlite3
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from ....errors import ScalarvizError
from ...opened.micro import PHASES, MicroStep, Rows
from ...opened.opened import Opened
from ...opened.passes import Taken
from ...opened.rule import Line, Quantity, Update, digits_of, digits_that_give
from .file import clean
from .taken import Coming, Opener, number

DIGITS = (4, 6)
"""That a line of the optimiser is printed with at least: in pictures, and as text."""
MOST_SAID = 1 << 20
"""Characters of a plan."""
WEIGHT = 5
"""Numbers of a weight beside those of its lines."""
DELTA = 3
"""Numbers of a delta: itself and its two factors, NaN where there are none."""


@dataclass(frozen=True, slots=True)
class Written:
    """One step."""

    said: str  # the plan, as JSON
    step: int  # step and batch: which step it is, and how many samples it learns from
    batch: int
    divisor: float
    loss: float
    lr: float
    numbers: bytes  # deflated


def written(opened: Opened) -> Written | None:
    """The step; None where its plan is too long."""
    steps = opened.micro_steps()
    numbers: list[NDArray[np.float64]] = [
        *(opened.rows[s.name][:, 0] if opened.trial else opened.means[s.name] for s in opened.stages),
        *(opened.joined[s.name] for s in opened.stages),
        opened.gradient, opened.new_values, *(np.array(_own(opened, step)) for step in steps),
    ]  # fmt: skip
    rules: dict[str, list[list[float]]] = {}
    for index in told(opened):
        update, made = opened.update(index), opened.made(index)
        lines = [number for line in update.lines for number in _line(line)]
        mine = [index, made.terms, made.bias, made.delta, made.x, *lines]
        rules.setdefault(json.dumps(_rule(update)), []).append(mine)
    for k, weights in enumerate(rules.values()):
        numbers += [np.array([k, len(weights)], np.float64), np.array(weights, np.float64).T.ravel()]
    plan = {"steps": [_step(opened, step) for step in steps], "rules": [json.loads(rule) for rule in rules]}
    said = json.dumps(plan, separators=(",", ":"))
    if len(said) > MOST_SAID:
        return None
    flat = np.concatenate(numbers).astype("<f8")
    return Written(said, opened.step, len(opened.batch), float(opened.divisor), opened.loss, opened.lr,
                   zlib.compress(flat.tobytes()))  # fmt: skip


def told(opened: Opened) -> list[int]:
    """The weights of which something is told: of each step of gradients or updates that of the largest gradient."""
    found = dict[int, None]()
    for step in opened.micro_steps():
        if step.phase in ("gradients", "update") and len(step.weights):
            sizes = np.abs(np.nan_to_num(opened.gradient[step.weights]))
            found[int(step.weights[np.argmax(sizes)])] = None
    return list(found)


def _own(opened: Opened, step: MicroStep) -> tuple[float, ...]:
    """What is told of a micro-step by itself."""
    if step.kind == "delta":
        return (step.value, *(step.factors if len(step.factors) == 2 else (np.nan, np.nan)))
    if step.kind == "stage" and step.phase == "backward" and step.numbers:
        return tuple(opened.adjoint_sums[step.stage].tolist())
    return ()


def _step(opened: Opened, step: MicroStep) -> list[object]:
    """What of a micro-step is the same in every step of the network, as `StepSaid` reads it."""
    names = [stage.name for stage in opened.stages]
    stage = names.index(step.stage) if step.stage in names else -1
    joined = step.numbers.partition(" ")[0] if len(opened.batch) > 1 else "the"
    listed = joined if step.kind == "stage" and step.numbers else ""
    words = clean(step.words), clean(step.formula)
    return [PHASES.index(step.phase), step.kind, stage, *words, step.column, listed, _runs(step.units),
            _runs(step.weights)]  # fmt: skip


def _runs(numbers: Rows) -> list[list[int]]:
    """Whole numbers as runs that go up by 1: first, and one after the last."""
    if not len(numbers):
        return []
    cuts = [0, *(np.flatnonzero(np.diff(numbers) != 1) + 1).tolist(), len(numbers)]
    return [[int(numbers[a]), int(numbers[b - 1]) + 1] for a, b in pairwise(cuts)]


def _rule(update: Update) -> dict[str, object]:
    """The lines of an update in letters; a quantity is a list of its name, of a constant also of its number."""
    lines = [[line.name, [token if isinstance(token, str) else [*_constant(token)] for token in line.tokens]]
             for line in update.lines]  # fmt: skip
    return {"why": update.why, "lines": lines}


def _constant(quantity: Quantity) -> tuple[str, float] | tuple[str]:
    """Name and number of a quantity that is called by its digits; of another one the name."""
    finite = np.isfinite(quantity.value)
    called = finite and quantity.name == digits_of(quantity.value)
    return (quantity.name, quantity.value) if called else (quantity.name,)


def _line(line: Line) -> Iterator[float]:
    """Digits, result and quantities."""
    for digits in DIGITS:
        yield float(digits_that_give(line.again, line.result, digits) or 0)
    yield line.result
    yield from (q.value for q in line.tokens if isinstance(q, Quantity) and len(_constant(q)) == 1)


# ---- `MicroRows`: opens coming steps in the thread that writes, and writes them beside their frames


MOST_PLANS = 1000
"""That a file holds: each step would have its own if something is not as it is thought here."""


class MicroRows:
    """The tables of micro-steps."""

    def __init__(self, database: sqlite3.Connection) -> None:
        self._database = database
        self._opener = Opener()
        self._plans: dict[tuple[int, str], int] = {}

    def write(self, coming: Coming, network: int, place: tuple[int, int, int]) -> None:
        """The coming step of the frame at a place (branch, step, edits), in place of what was written of it."""
        (frame,) = self._database.execute(
            "SELECT id FROM frame WHERE branch = ? AND step = ? AND edits = ?", place
        ).fetchone()
        self._database.execute("DELETE FROM micro WHERE frame = ?", (frame,))
        for alone, taken in ((1, coming.alone), (0, coming.whole)):
            found = None if taken is None else self._written(taken, alone=bool(alone))
            if found is not None and (plan := self._plan(network, found.said)) is not None:
                given = (frame, alone, plan, found.step, found.batch, found.divisor, number(found.loss),
                         number(found.lr), found.numbers)  # fmt: skip
                self._database.execute("INSERT INTO micro VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", given)

    def _written(self, taken: Taken, *, alone: bool) -> Written | None:
        try:
            with np.errstate(all="ignore"):  # a diverged run holds infinities
                return written(self._opener.opened(taken, alone=alone))
        except ScalarvizError:  # one that cannot be opened has no micro-steps; the frame stays
            return None

    def _plan(self, network: int, said: str) -> int | None:
        """The number of a plan, which is written once."""
        key = network, said
        if key not in self._plans:
            if len(self._plans) >= MOST_PLANS:
                return None
            self._plans[key] = len(self._plans)
            self._database.execute("INSERT INTO plan VALUES (?, ?, ?)", (self._plans[key], *key))
        return self._plans[key]
