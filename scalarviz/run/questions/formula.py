"""`Formula`: a text that is computed with Values, so that it has a graph and derivatives."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, SupportsFloat

from ...errors import InputError, TypeMismatchError, UnknownNameError, shown
from ...scalar import Value, function
from ...scalar import max as largest
from ...scalar import min as smallest
from ...scalar.value import as_value
from .expression import Apply, Expression, Function, Instruction, Load, Push, fault
from .parser import CONSTANTS, Vocabulary, parse


def distinct_names(names: Iterable[str], what: str) -> list[str]:
    """Check them; `what` is how messages call the formula.

    Raises InputError: a name is given twice. TypeMismatchError: they are no list of texts.
    """
    if isinstance(names, str) or not isinstance(names, Iterable):
        raise TypeMismatchError(f"{what}: the names must be a list of texts, got {shown(names)}")
    known = list(names)
    if not all(isinstance(name, str) for name in known):
        raise TypeMismatchError(f"{what}: the names must be texts, got {shown(known)}")
    if len(set(known)) < len(known):
        raise InputError(f"{what}: a name is given twice among {shown(known)}")
    return known


# ---- `Formula`: a text that is computed with Values, so that it has a graph


Number = Value | SupportsFloat

_MANY: Mapping[str, Callable[[Sequence[Number]], Value]] = {"max": largest, "min": smallest}
_WORD = re.compile("[a-z]+")
_NO = "a formula has none; where(a > b, x, y) chooses one of two numbers"
_BACK = "'before', 'changes' and 'crosses' look back, and a formula knows nothing of the step before"
_REFUSED = {
    **dict.fromkeys(("and", "or", "not", "==", "!="), _NO),
    **dict.fromkeys(("norm", "sum", "mean", "any", "all"), "it is of arrays, and in a formula every name is a number"),
    "sign": "it has no derivative; where(a > 0, 1, -1) is the same",
    "nan": _NO,
}  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class Formula:
    """A text that makes a Value of numbers.

    Attributes
    ----------
    expression : Expression
    known, others : tuple of str
        The names in it, in their order: those that were given, and the rest.

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
    known: tuple[str, ...]
    others: tuple[str, ...]

    @property
    def text(self) -> str:
        """As it was written."""
        return self.expression.text

    @property
    def constants(self) -> dict[str, float]:
        """The numbers in it that were written as names: ``pi``, ``e``, ``inf``."""
        starts = [one.start for one in self.expression.instructions if isinstance(one, Push)]
        words = [found[0] for start in starts if (found := _WORD.match(self.text, start))]
        return {word: CONSTANTS[word] for word in words if word in CONSTANTS}

    def __call__(self, numbers: Mapping[str, Number]) -> Value:
        """The result, with its graph.

        `numbers`: by name; more names may be in it.

        Raises UnknownNameError: a name has no number.
        """
        stack: list[Any] = []
        for instruction in self.expression.instructions:
            match instruction:
                case Push(number=number):
                    stack.append(float(number))
                case Load(key=key):
                    if key not in numbers:
                        raise UnknownNameError(self.expression.missing(key, numbers))
                    stack.append(numbers[key])
                case Apply(function=Function(op=op), count=count):
                    operands = stack[-count:]
                    stack[-count:] = [_MANY[op](operands) if op in _MANY else function(op)(*operands)]
        return as_value(stack[0])

    def __repr__(self) -> str:
        return f"Formula({self.text!r})"


def formula(text: str, names: Iterable[str] = (), what: str = "the formula") -> Formula:
    """Read a text in which every other word is a number as well.

    Parameters
    ----------
    text : str
        The grammar of :mod:`scalarviz.run.questions.parser`: numbers, names, ``+ - * / **``, comparisons, parentheses,
        and the functions of the operations table; ``pi``, ``e`` and ``inf`` where no name is called so.
    names : iterable of str
        What is known beforehand; a name of several words is written in quotes.
    what : str
        How messages call it.

    Raises
    ------
    ExpressionError
        The text is no formula: the message says where, what stands there and what may, with a caret under it.
    InputError
        More than 10,000 characters.
    TypeMismatchError
        No text, or names that are none.
    """
    known = distinct_names(names, what)
    expression = parse(text, Vocabulary(tuple(known), free=True), what, "number")
    for instruction in expression.instructions:
        _check(text, instruction, what)
    found = list(dict.fromkeys(i.key for i in expression.instructions if isinstance(i, Load)))
    mine, others = (tuple(n for n in found if (n in known) is there) for there in (True, False))
    return Formula(expression, mine, others)


def _check(text: str, instruction: Instruction, what: str) -> None:
    """Refuse what conditions have and formulas cannot."""
    match instruction:
        case Load(before=True) | Apply(function=Function(name="crosses" | "changes")):
            said = _BACK
        case Load(indices=(_, *_), written=written):
            said = f"{written!r}: every name is one number and has no [places]"
        case Apply(function=Function(name=name, op=""), count=count):
            said = f"{name!r} stands in a chain of comparisons; {_NO}" if count > 2 else f"{name!r}: {_REFUSED[name]}"
        case _:
            return
    raise fault(text, instruction.start, said, what)
