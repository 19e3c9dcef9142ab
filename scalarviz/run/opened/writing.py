"""Formulas with their numbers: a recorded expression as tokens, which are printed with names or with numbers."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from ...tape import Node, Tape, Terms
from ...tape.passes import kernel_of

MINUS = "−"
DIGITS = 6
"""That count, of a number in a formula."""
HYPER = ("lr", "t", "clip")
"""What the numbers of a rule are called: the rate, the number of the step, what the gradient is multiplied by."""
_SIGNS = {"add": "+", "sub": MINUS, "mul": "·", "div": "/", "pow": "^", "gt": ">", "lt": "<"}
_BINDS = {"gt": 0, "lt": 0, "add": 1, "sub": 1, "mul": 2, "div": 2, "neg": 2, "pow": 4, "square": 4}
_ATOM = 5


class Quantity(NamedTuple):
    """A number in a formula: how it is called (a constant: its digits) and what it is."""

    name: str
    value: float


Token = str | Quantity


@dataclass(frozen=True, slots=True)
class Line:
    """One formula of the rule.

    Attributes
    ----------
    name : str
        What it gives: ``"w'"`` is the new weight, ``"m'"`` the new state of that name.
    tokens : tuple of (str or Quantity)
        Signs, and numbers with their names.
    result : float
    parts : tuple of (str, float)
        Every operation inside it, the innermost first: its formula and what it gives.
    again : callable
        What the numbers give when each is printed with so many digits.
    """

    name: str
    tokens: tuple[Token, ...]
    result: float
    parts: tuple[tuple[str, float], ...] = ()
    again: Callable[[int], float] = field(default=lambda digits: math.nan, repr=False)

    @property
    def formula(self) -> str:
        """With names: ``"w − lr · g"``."""
        return text_of(self.tokens)

    def equation(self, digits: int = DIGITS) -> str:
        """With numbers, and their result: ``"−0.4698 − 0.5 · (−0.006) = −0.4668"``.

        The result has so many digits, and the numbers as many as it takes that they give it; ``≈`` where none do.
        """
        enough = digits_that_give(self.again, self.result, digits)
        sign = "≈" if enough is None else "="
        return f"{self.numbers(enough or digits)} {sign} {digits_of(self.result, digits)}"

    def numbers(self, digits: int = DIGITS) -> str:
        """With numbers in place of the names: ``"−0.4698 − 0.5 · (−0.006)"``."""
        return _joined(self.tokens, lambda quantity: digits_of(quantity.value, digits))

    def __str__(self) -> str:
        return f"{self.name} = {self.formula} = {self.equation()}"


def text_of(tokens: Sequence[Token]) -> str:
    """The tokens with names."""
    return _joined(tokens, lambda quantity: quantity.name)


def _joined(tokens: Sequence[Token], written: Callable[[Quantity], str]) -> str:
    """One text; a number that brings a sign with it stands in brackets, but for a first one that has no power."""
    text = ""
    for token, after in zip(tokens, [*tokens[1:], ""], strict=True):
        part = token if isinstance(token, str) else written(token)
        power = isinstance(after, str) and after.startswith(("²", "^"))
        first = not power and (not text or text.endswith(("(", ", ")))
        bare = isinstance(token, str) or first or not part.startswith(MINUS)
        text += part if bare else f"({part})"
    return text


def digits_that_give(again: Callable[[int], float], result: float, digits: int, of_result: int = 0) -> int | None:
    """With how many digits (at least so many) numbers must be printed to give `result` as it is printed, likewise.

    `of_result` are the digits of the result where they are others. None if sixteen do not do.
    """
    shown = of_result or digits
    wanted = digits_of(result, shown)
    return next((k for k in range(digits, 17) if digits_of(again(k), shown) == wanted), None)


def rounded(number: float, digits: int) -> float:
    """`number` as it is printed."""
    return float(f"{number:.{digits}g}")


def digits_of(number: float, digits: int = DIGITS) -> str:
    """`number` with so many digits that count, and a minus that is one; the 0 that IEEE calls negative is 0."""
    return f"{number + 0.0:.{digits}g}".replace("-", MINUS)


class Writer:
    """Writes one line of a rule.

    Parameters
    ----------
    tape : Tape
    names : mapping of int to str
        What rows are called; they are written by their name.
    values : sequence of float
        The number of every row.
    theta : sequence of float
        By :data:`HYPER`.

    Attributes
    ----------
    seen : dict of str to float
        Every operation written so far, and what it gives.
    """

    def __init__(self, tape: Tape, names: Mapping[int, str], values: Sequence[float], theta: Sequence[float]) -> None:
        self.nodes, self.names, self.values, self.theta = tape.nodes, names, values, theta
        self.seen: dict[str, float] = {}

    def line(self, row: int) -> list[Token]:
        """The expression of `row`, whatever it is called."""
        node = self.nodes[row]
        if node.code in ("input", "param", "const"):
            return self._written(row)[0]
        return self._operation(node)[0]

    def again(self, row: int, digits: int, *, inside: bool = False) -> float:
        """What the expression of `row` gives when its numbers are printed with so many digits."""
        node = self.nodes[row]
        if node.code in ("input", "param", "const") or (inside and row in self.names):
            return rounded(self.values[row], digits)
        below = [self.again(r, digits, inside=True) for r in node.args]
        terms = node.terms
        if terms is None:
            return float(kernel_of(node).value(*below))
        weights: list[float] = []
        for weight in terms.weights:
            if terms.kind == "row":
                weights.append(self.again(int(weight), digits, inside=True))
            else:
                weights.append(rounded(self.theta[int(weight)] if terms.kind == "param" else weight, digits))
        bias = 0.0 if terms.bias is None else rounded(self.theta[terms.bias], digits)
        return sum(w * x for w, x in zip(weights, below, strict=True)) + bias

    def _written(self, row: int) -> tuple[list[Token], int]:
        """The expression of `row`, or its name; and how strongly it holds together."""
        node = self.nodes[row]
        if row in self.names:
            return [Quantity(self.names[row], self.values[row])], _ATOM
        if node.code == "const":
            return [Quantity(digits_of(node.number), node.number)], _ATOM
        tokens, binds = self._operation(node)
        self.seen[text_of(tokens)] = self.values[row]
        return tokens, binds

    def _operation(self, node: Node) -> tuple[list[Token], int]:
        if node.terms is not None:
            return self._sum(node, node.terms), _BINDS["add"]
        parts = [self._written(row) for row in node.args]
        if node.code == "square" or (node.code == "mul" and node.args[0] == node.args[1]):
            return [*_bracketed(*parts[0], _ATOM), "²"], _BINDS["square"]
        binds = _BINDS.get(node.code, _ATOM)
        if node.code in _SIGNS:
            left = _bracketed(*parts[0], binds + (node.code in ("pow", "gt", "lt")))
            right = _bracketed(*parts[1], binds + (node.code in ("sub", "div", "gt", "lt")))
            sign = _SIGNS[node.code]
            return [*left, "^" if sign == "^" else f" {sign} ", *right], binds
        if node.code == "neg":
            return [MINUS, *_bracketed(*parts[0], 3)], binds
        if node.code == "sqrt":
            return ["√", *_bracketed(*parts[0], _ATOM)], _ATOM
        inner: list[Token] = [f"{node.code}("]
        for k, (tokens, _) in enumerate(parts):
            inner += [*([", "] if k else []), *tokens]
        return [*inner, ")"], _ATOM

    def _sum(self, node: Node, terms: Terms) -> list[Token]:
        """A weighted sum written out."""
        tokens: list[Token] = []
        for weight, row in zip(terms.weights, node.args, strict=True):
            factor = self._weight(terms, weight)
            tokens += [*([" + "] if tokens else []), *factor, " · ", *_bracketed(*self._written(row), 2)]
        if terms.bias is not None:
            tokens += [" + ", self._hyper(terms.bias)]
        return tokens

    def _weight(self, terms: Terms, weight: float) -> list[Token]:
        if terms.kind == "row":
            return _bracketed(*self._written(int(weight)), 2)
        return [self._hyper(int(weight)) if terms.kind == "param" else Quantity(digits_of(weight), weight)]

    def _hyper(self, index: int) -> Quantity:
        return Quantity(HYPER[index], self.theta[index])


def _bracketed(tokens: list[Token], binds: int, wanted: int) -> list[Token]:
    return tokens if binds >= wanted else ["(", *tokens, ")"]
