"""`Formula`: a text that is computed with Values, so that it has a graph and derivatives."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, SupportsFloat

from ...errors import shown
from ...scalar import Value, function
from ...scalar import max as largest
from ...scalar import min as smallest
from ...scalar.value import as_value
from .expression import Apply, Expression, Function, Instruction, Load, Push, fault
from .parser import Vocabulary, parse

Number = Value | SupportsFloat

_MANY: Mapping[str, Callable[[Sequence[Number]], Value]] = {"max": largest, "min": smallest}
_NO = "a formula has none; where(a > b, x, y) chooses one of two numbers"
_REFUSED = {
    **dict.fromkeys(("and", "or", "not", "==", "!=", "nan"), _NO),
    **dict.fromkeys(("norm", "sum", "mean", "any", "all"), "it is of arrays, and in a formula every name is a number"),
    "sign": "it has no derivative; where(a > 0, 1, -1) is the same",
}


@dataclass(frozen=True, slots=True, eq=False)
class Formula:
    """A text that makes a Value of numbers.

    Examples
    --------
    >>> from scalarviz.run.questions import formula
    >>> line = formula("w * x + b", ["x"])
    >>> line.others
    ('w', 'b')
    >>> line({"w": 2.0, "b": 1.0, "x": 3.0}).data
    7.0
    """

    expression: Expression
    known: tuple[str, ...]  # known, others: the names in it, in order: those that were given, and the rest
    others: tuple[str, ...]

    @property
    def text(self) -> str:
        """As it was written."""
        return self.expression.text

    @property
    def constants(self) -> dict[str, float]:
        """The numbers in it that were written as names: ``pi``, ``e``, ``inf``."""
        return {i.name: float(i.number) for i in self.expression.instructions if isinstance(i, Push) and i.name}

    def __call__(self, numbers: Mapping[str, Number]) -> Value:
        """The result, with its graph; `numbers` has one for each name."""
        stack: list[Any] = []
        for instruction in self.expression.instructions:
            match instruction:
                case Push(number=number):
                    stack.append(float(number))
                case Load(key=key):
                    stack.append(numbers[key])
                case Apply(function=Function(op=op), count=count):
                    operands = stack[-count:]
                    stack[-count:] = [_MANY[op](operands) if op in _MANY else function(op)(*operands)]
        return as_value(stack[0])

    def __repr__(self) -> str:
        return f"Formula({self.text!r})"


def formula(text: str, names: Iterable[str] = (), what: str = "the formula") -> Formula:
    """Read a text in which every other word is a number as well.

    The grammar is that of `parser`, without what looks back, joins conditions or is of arrays. `names` are known
    beforehand; one of several words is written in quotes. `what`: how messages call it.

    Raises ExpressionError: the text is no formula. InputError, TypeMismatchError: it is too long, or no text.
    """
    known = tuple(names)
    expression = parse(text, Vocabulary(known, free=True), what, "number")
    for instruction in expression.instructions:
        said = _refusal(instruction)
        if said:
            raise fault(text, instruction.start, said, what)
    found = dict.fromkeys(load.key for load in expression.loads)
    mine, others = (tuple(n for n in found if (n in known) is there) for there in (True, False))
    return Formula(expression, mine, others)


def _refusal(instruction: Instruction) -> str:
    """Why a formula cannot have what a condition can; empty where it can."""
    match instruction:
        case Load(before=True) | Apply(function=Function(name="crosses" | "changes")):
            return "'before', 'changes' and 'crosses' look back, and a formula knows nothing of the step before"
        case Load(indices=(_, *_), written=written):
            return f"{shown(written)}: every name is one number and has no [places]"
        case Apply(function=Function(name=name, op=""), count=count):
            return f"{name!r} stands in a chain of comparisons; {_NO}" if count > 2 else f"{name!r}: {_REFUSED[name]}"
    return ""
