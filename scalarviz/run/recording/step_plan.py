"""`Plan`: what every step of a network has in common, read from a file that anybody may have made."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import FileFormatError
from ..opened.micro import PHASES, MicroStep
from ..opened.walk import FEW
from ..opened.writing import Quantity, Token
from .networks import Shapes
from .schema import LONGEST_NAME, clean
from .step_written import DELTA, DIGITS, MOST_SAID

MOST_STEPS = 10_000
MOST_RULES = 1000
KINDS = {
    "zero": ("clear",),
    "forward": ("product", "sum", "unit", "stage"),
    "loss": ("loss",),
    "backward": ("delta", "stage"),
    "gradients": ("gradient", "stage"),
    "update": ("update", "stage", "statistic"),
}
"""Of the micro-steps of a phase."""
JOINED = ("", "the", "mean", "sum")
"""How the numbers of a stage are joined that are listed; "the" is the one sample's, "" that none are."""
Rows = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Rule:
    """How a weight is moved, in letters.

    Attributes
    ----------
    why : str
        Why it is not moved by a rule.
    lines : tuple of (str, tuple of (str or Quantity))
        Name and tokens of each; the number of a quantity is NaN where each step has its own.
    """

    why: str
    lines: tuple[tuple[str, tuple[Token, ...]], ...]

    @property
    def size(self) -> int:
        """Numbers that its lines have in a step."""
        return sum(len(DIGITS) + 1 + sum(map(is_open, tokens)) for _, tokens in self.lines)


def is_open(token: Token) -> bool:
    """Whether a token is a quantity whose number each step has."""
    return isinstance(token, Quantity) and token.value != token.value


@dataclass(frozen=True, slots=True)
class Plan:
    """The micro-steps of a network's steps.

    Attributes
    ----------
    steps : tuple of MicroStep
        Without their numbers.
    own : tuple of int
        How many numbers each has of its own.
    joined : tuple of str
        Of `JOINED`.
    rules : tuple of Rule
    """

    steps: tuple[MicroStep, ...]
    own: tuple[int, ...]
    joined: tuple[str, ...]
    rules: tuple[Rule, ...]


def read_plan(text: Any, shapes: Shapes) -> Plan:
    """A plan for a network.

    Raises
    ------
    FileFormatError
        It is none: another phase, kind, stage, or weights than there are.
    """
    try:
        said = json.loads(text) if isinstance(text, str) and len(text) <= MOST_SAID else None
    except (ValueError, RecursionError):
        said = None
    if not isinstance(said, dict) or not isinstance(said.get("steps"), list) or not isinstance(said.get("rules"), list):
        raise FileFormatError("they are not written as micro-steps are")
    if not 0 < len(said["steps"]) <= MOST_STEPS or len(said["rules"]) > MOST_RULES:
        raise FileFormatError(f"there are {len(said['steps']):,} of them")
    found = [_step(one, shapes) for one in said["steps"]]
    phases = [PHASES.index(step.phase) for step, _ in found]
    if phases != sorted(phases) or phases.count(PHASES.index("loss")) != 1 or not {0, len(PHASES) - 1} <= {*phases}:
        raise FileFormatError("they come in no order that a step has")
    own = tuple(_own(step, joined) for step, joined in found)
    rules = tuple(map(_rule, said["rules"]))
    return Plan(tuple(step for step, _ in found), own, tuple(joined for _, joined in found), rules)


def _own(step: MicroStep, joined: str) -> int:
    if step.kind == "delta":
        return DELTA
    return len(step.units) if joined and step.phase == "backward" else 0


def _step(said: Any, shapes: Shapes) -> tuple[MicroStep, str]:
    if not isinstance(said, list) or len(said) != 9:
        raise FileFormatError("one of them is none")
    phase, kind, stage, words, formula, column, joined, units, weights = said
    if not _whole(phase, 0, len(PHASES)) or kind not in KINDS[PHASES[phase]] or joined not in JOINED:
        raise FileFormatError("one of them is of a phase or kind that there is not")
    if not _whole(stage, -1, len(shapes.stages)) or not _whole(column, -1, 1 << 53):
        raise FileFormatError("one of them is of a stage that there is not")
    outputs = shapes.stages[stage].outputs if stage >= 0 else 0
    name = shapes.stages[stage].name if stage >= 0 else ""
    step = MicroStep(PHASES[phase], kind, _words(words), _numbers(units, outputs), _numbers(weights, shapes.size),
                     name, _words(formula), column=column)  # fmt: skip
    _check(step, shapes, joined)
    return step, joined


def _check(step: MicroStep, shapes: Shapes, joined: str) -> None:
    """What every kind has to have, so that nobody who shows it looks into nothing."""
    one_unit = step.kind in ("product", "sum", "unit", "delta")
    one_weight = step.kind in ("product", "gradient", "update")
    staged = one_unit or step.phase in ("forward", "backward")
    layer = next((s.weight for s in shapes.stages if s.name == step.stage), None)
    wrong = (
        (one_unit and len(step.units) != 1)
        or (one_weight and len(step.weights) != 1)
        or (staged and not any(s.name == step.stage for s in shapes.stages))
        or (step.kind in ("product", "sum") and layer is None)
        or (step.phase in ("gradients", "update") and not len(step.weights))
        or (joined and not (step.kind == "stage" and 0 < len(step.units) <= FEW))
    )
    if wrong:
        raise FileFormatError("one of them is about other numbers than its kind is")


def _numbers(runs: Any, count: int) -> Rows:
    """Whole numbers below `count`, none of them twice."""
    if not isinstance(runs, list) or len(runs) > MOST_STEPS:
        raise FileFormatError("one of them names no numbers")
    for run in runs:
        if (
            not isinstance(run, list)
            or len(run) != 2
            or not _whole(run[0], 0, count)
            or not _whole(run[1], 1, count + 1)
        ):
            raise FileFormatError("one of them names numbers that there are not")
    if sum(stop - start for start, stop in runs) > count:
        raise FileFormatError("one of them names numbers twice")
    return np.concatenate([np.zeros(0, np.int64), *(np.arange(start, stop) for start, stop in runs)])


def _rule(said: Any) -> Rule:
    lines = said.get("lines") if isinstance(said, dict) else None
    if not isinstance(lines, list) or len(lines) > MOST_RULES:
        raise FileFormatError("a rule of theirs is none")
    return Rule(_words(said.get("why")), tuple(map(_line, lines)))


def _line(said: Any) -> tuple[str, tuple[Token, ...]]:
    if not isinstance(said, list) or len(said) != 2 or not isinstance(said[1], list) or len(said[1]) > MOST_RULES:
        raise FileFormatError("a rule of theirs has a line that is none")
    return _words(said[0], LONGEST_NAME), tuple(map(_token, said[1]))


def _token(said: Any) -> Token:
    if not isinstance(said, list):
        return _words(said)
    if not 1 <= len(said) <= 2 or (len(said) == 2 and not isinstance(said[1], float)):
        raise FileFormatError("a rule of theirs has a number that is none")
    return Quantity(_words(said[0], LONGEST_NAME), said[1] if len(said) == 2 else math.nan)


def _words(given: Any, most: int | None = None) -> str:
    if not isinstance(given, str):
        raise FileFormatError("words of theirs are none")
    return clean(given) if most is None else clean(given, most)


def _whole(given: Any, least: int, end: int) -> bool:
    return type(given) is int and least <= given < end
