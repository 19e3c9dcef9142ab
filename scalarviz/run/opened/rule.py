"""The optimiser's rule for one weight as lines of text and numbers, and what a step does to the weight."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...engine.arrays.program import PlanRunner
from ...tape import Node, Tape, Terms
from ...tape.passes import kernel_of
from .digits import DIGITS, MINUS, digits_of, digits_that_give, rounded
from .network import LEAVES
from .passes import StepData

HYPER = ("lr", "t", "clip")
"""Names of the rule's numbers: the learning rate, the step, and the factor of clipping."""
PLAIN = f"w {MINUS} lr · g"
"""The formula of plain gradient descent; its numbers fit on one line."""
SIGNS = {"add": "+", "sub": MINUS, "mul": "·", "div": "/", "pow": "^", "gt": ">", "lt": "<"}
_BINDS = {"gt": 0, "lt": 0, "add": 1, "sub": 1, "mul": 2, "div": 2, "neg": 2, "pow": 4, "square": 4}
_ATOM = 5


class Quantity(NamedTuple):
    """A number in a formula: its name (for a constant, its digits) and its value."""

    name: str
    value: float


Token = str | Quantity


@dataclass(frozen=True, slots=True)
class RuleFormula:
    """One formula of the rule."""

    name: str  # name of the result: ``"w'"`` is the new weight, ``"m'"`` the new state m
    tokens: tuple[Token, ...]  # signs, and numbers with their names
    result: float
    # every operation inside it, innermost first: its formula and its result
    parts: tuple[tuple[str, float], ...] = ()
    # returns the result if each number is rounded to so many digits
    evaluate_rounded: Callable[[int], float] = field(default=lambda digits: math.nan, repr=False)

    @property
    def formula(self) -> str:
        """The formula with names: ``"w − lr · g"``."""
        return text_of(self.tokens)

    def equation(self, digits: int = DIGITS) -> str:
        """Return the formula with numbers, and the result: ``"−0.4698 − 0.5 · (−0.006) = −0.4668"``.

        The result has `digits` significant digits, the numbers as many as it needs; ``≈`` if none are enough.
        """
        enough = digits_that_give(self.evaluate_rounded, self.result, digits)
        sign = "≈" if enough is None else "="
        return f"{self.numbers(enough or digits)} {sign} {digits_of(self.result, digits)}"

    def numbers(self, digits: int = DIGITS) -> str:
        """Return the formula with numbers in place of names: ``"−0.4698 − 0.5 · (−0.006)"``."""
        return "".join(self.pieces(digits))

    def pieces(self, digits: int = DIGITS) -> list[str]:
        """Return the texts of :meth:`numbers`, one per token."""
        return _written(self.tokens, lambda quantity: digits_of(quantity.value, digits))

    def __str__(self) -> str:
        return f"{self.name} = {self.formula} = {self.equation()}"


def text_of(tokens: Sequence[Token]) -> str:
    """Return the tokens as one text, with names."""
    return "".join(_written(tokens, lambda quantity: quantity.name))


def _written(tokens: Sequence[Token], written: Callable[[Quantity], str]) -> list[str]:
    """Return one text per token; negative numbers are in brackets, except a first one without a power."""
    found = [""]
    for token, after in zip(tokens, [*tokens[1:], ""], strict=True):
        part = token if isinstance(token, str) else written(token)
        if part.startswith(MINUS) and not isinstance(token, str):
            power = isinstance(after, str) and after.startswith(("²", "^"))
            inside = not found[-1] or found[-1].endswith(("(", ", "))
            part = part if inside and not power else f"({part})"
        found.append(part)
    return found[1:]


class Writer:
    """Writes one line of a rule with the `names` of rows; `seen` has every operation and its result."""

    def __init__(self, tape: Tape, names: Mapping[int, str], values: Sequence[float], theta: Sequence[float]) -> None:
        self.nodes, self.names, self.values, self.theta = tape.nodes, names, values, theta
        self.seen: dict[str, float] = {}

    def line(self, row: int) -> list[Token]:
        """Return the expression of `row`, even if it has a name."""
        node = self.nodes[row]
        return (self._written(row) if node.code in LEAVES else self._operation(node))[0]

    def evaluate_rounded(self, row: int, digits: int, *, inside: bool = False) -> float:
        """Return the result of `row`'s expression if its numbers are rounded to so many digits."""
        node = self.nodes[row]
        if node.code in LEAVES or (inside and row in self.names):
            return rounded(self.values[row], digits)
        return result_of(
            node,
            lambda below: self.evaluate_rounded(below, digits, inside=True),
            lambda index: rounded(self.theta[index], digits),
            lambda constant: rounded(constant, digits),
        )

    def _written(self, row: int) -> tuple[list[Token], int]:
        """Return the expression of `row`, or its name, and how strongly it binds."""
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
        if node.code in SIGNS:
            left = _bracketed(*parts[0], binds + (node.code in ("pow", "gt", "lt")))
            right = _bracketed(*parts[1], binds + (node.code in ("sub", "div", "gt", "lt")))
            sign = SIGNS[node.code]
            return [*left, "^" if sign == "^" else f" {sign} ", *right], binds
        if node.code == "neg":
            return [MINUS, *_bracketed(*parts[0], 3)], binds
        if node.code == "sqrt":
            return ["√", *_bracketed(*parts[0], _ATOM)], _ATOM
        inner = [token for tokens, _ in parts for token in (", ", *tokens)]
        return [f"{node.code}(", *inner[1:], ")"], _ATOM

    def _sum(self, node: Node, terms: Terms) -> list[Token]:
        """Return the tokens of a weighted sum."""
        tokens: list[Token] = []
        for weight, row in zip(terms.weights, node.args, strict=True):
            if terms.kind == "row":
                factor = _bracketed(*self._written(int(weight)), 2)
            else:
                factor = [self._hyper(weight) if terms.kind == "param" else Quantity(digits_of(weight), weight)]
            tokens += [" + ", *factor, " · ", *_bracketed(*self._written(row), 2)]
        return tokens[1:] if terms.bias is None else [*tokens[1:], " + ", self._hyper(terms.bias)]

    def _hyper(self, index: float) -> Quantity:
        return Quantity(HYPER[int(index)], self.theta[int(index)])


def _bracketed(tokens: list[Token], binds: int, wanted: int) -> list[Token]:
    return tokens if binds >= wanted else ["(", *tokens, ")"]


# ---- `Rule`: the optimiser's rule as lines, read from its recording: also that of a user's own optimiser


SHORT = {"exp_avg": "m", "exp_avg_sq": "v", "momentum_buffer": "v"}
"""Textbook symbols of the state that PyTorch named."""
DEEPEST, LARGEST = 8, 24
"""A deeper expression, or one with more operations, is cut into lines of its own."""


class Rule:
    """The recorded rule of an optimiser; `state` are the names of its state."""

    def __init__(self, tape: Tape, state: Sequence[str]) -> None:
        self.tape = tape
        self.symbols = symbols(state)
        leaves = {"input": ("w", "g", *self.symbols.values()), "param": HYPER}
        nodes = [(row, node) for row, node in enumerate(tape.nodes) if node.code in leaves]
        self._names = {row: leaves[node.code][node.index] for row, node in nodes}
        self._cut = self._lines()

    def lines(self, inputs: Sequence[float], theta: Sequence[float]) -> list[RuleFormula]:
        """Return every line for one weight; `inputs` are ``w, g, *state``, `theta` is as `HYPER`."""
        values = evaluated(self.tape, inputs, theta)
        new = self.tape.outputs[0]
        found = [self._line(name, row, values, theta) for name, row in self._cut if row != new or name != "w'"]
        return [*found, self._line("w'", new, values, theta)]

    def _line(self, name: str, row: int, values: Sequence[float], theta: Sequence[float]) -> RuleFormula:
        writer = Writer(self.tape, self._names, values, theta)
        known = self._names.get(row, name)
        if known != name:  # one number under two names
            return RuleFormula(name, (Quantity(known, values[row]),), values[row], (), partial(rounded, values[row]))
        tokens = writer.line(row)
        return RuleFormula(
            name, tuple(tokens), values[row], tuple(writer.seen.items()), partial(writer.evaluate_rounded, row)
        )

    def _lines(self) -> list[tuple[str, int]]:
        """Return name and row of every line except the new weight's, which comes last; name their rows."""
        new, *state = self.tape.outputs
        results = [(f"{symbol}'", row) for symbol, row in zip(self.symbols.values(), state, strict=True)]
        leaves = dict(self._names)
        for name, row in [*results, ("w'", new)]:
            if row not in leaves:
                self._names.setdefault(row, name)
        found = [(name, row) for name, row in results if self._names[row] != name[:-1]]  # kept as it was: no line
        taken = {*self._names.values(), *(name for name, _ in results)}
        fresh = (f"{letter}{k or ''}" for k in range(len(self.tape.nodes)) for letter in "abcdefhpqs")
        names = (name for name in fresh if name not in taken)
        for row in self._long():
            self._names[row] = next(names)
            found.append((self._names[row], row))
        return sorted(found, key=lambda line: line[1])

    def _long(self) -> Iterator[int]:
        """Yield the rows that get a line: they are used more than once, or an expression would be too large."""
        uses = Counter(row for node in self.tape.nodes for row in node.operands())
        depth, size = [0] * len(self.tape.nodes), [0] * len(self.tape.nodes)
        for row, node in enumerate(self.tape.nodes):
            if row in self._names or node.code == "const":
                continue
            below = node.operands()
            depth[row] = 1 + max((depth[r] for r in below), default=0)
            size[row] = 1 + sum(size[r] for r in below)
            if uses[row] > 1 or depth[row] > DEEPEST or size[row] > LARGEST:
                depth[row] = size[row] = 0
                yield row


_ADAM = re.compile(
    r"w(?: · \(1 − lr · (?P<decay>[\d.e−]+)\))? − lr / \(1 − (?P<first>[\d.e−]+)\^t\) · m' / "
    r"\(√v' / √\(1 − (?P<second>[\d.e−]+)\^t\) \+ (?P<small>[\d.e−]+)\)"
)


def hatted(lines: Sequence[RuleFormula]) -> tuple[RuleFormula, ...]:
    """Return Adam's lines as in textbooks, the corrected averages before the new weight; others unchanged."""
    found = _ADAM.fullmatch(lines[-1].formula) if lines else None
    if found is None:
        return tuple(lines)
    known = {token.name: token for token in lines[-1].tokens if isinstance(token, Quantity)}
    w, lr, t, *averages = (known[name] for name in ("w", "lr", "t", "m'", "v'"))
    *rates, small, decay = (known.get(found[k] or "", Quantity("", 0.0)) for k in ("first", "second", "small", "decay"))
    hats = []
    for average, rate in zip(averages, rates, strict=True):
        tokens, again = (average, f" / (1 {MINUS} ", rate, "^", t, ")"), partial(_corrected, average, rate, t)
        hats.append(RuleFormula(f"{average.name[0]}ˆ", tokens, again(17), (), again))
    m, v = (Quantity(line.name, line.result) for line in hats)
    kept = (f" · (1 {MINUS} ", lr, " · ", decay, ")") if found["decay"] else ()
    whole = w, *kept, f" {MINUS} ", lr, " · ", m, " / (√", v, " + ", small._replace(name="ε"), ")"

    def stepped(k: int) -> float:
        before, by, less, first, second, least = (rounded(x.value, k) for x in (w, lr, decay, m, v, small))
        return before * (1 - by * less) - by * first / (math.sqrt(second) + least)

    return (*hats, *lines[:-1], RuleFormula("w'", whole, lines[-1].result, (), stepped))


def _corrected(average: Quantity, rate: Quantity, t: Quantity, digits: int) -> float:
    return rounded(average.value, digits) / (1 - math.pow(rounded(rate.value, digits), t.value))


def symbols(state: Sequence[str]) -> dict[str, str]:
    """Return the symbols of the optimiser's state by its names: `SHORT` if that is free."""
    found: dict[str, str] = {}
    for name in state:
        short = SHORT.get(name, name)
        if short in found.values() or (short != name and short in state):
            short = name
        while short in ("w", "g", *HYPER, *found.values()):
            short += "_"
        found[name] = short
    return found


def evaluated(tape: Tape, inputs: Sequence[float], theta: Sequence[float]) -> list[float]:
    """Return the number of every node, as Python computes it."""
    values: list[float] = []
    given = {"input": inputs, "param": theta}
    for node in tape.nodes:
        if node.code in given:
            values.append(float(given[node.code][node.index]))
        elif node.code == "const":
            values.append(float(node.number))
        else:
            values.append(result_of(node, values.__getitem__, theta.__getitem__, float))
    return values


def result_of(
    node: Node, number: Callable[[int], float], theta: Callable[[int], float], constant: Callable[[float], float]
) -> float:
    """Return the result of an operation; `number` gives a row, `theta` a parameter, `constant` a constant."""
    below, terms = map(number, node.args), node.terms
    if terms is None:
        return float(kernel_of(node).value(*below))
    if terms.kind == "const":
        weights = map(constant, terms.weights)
    else:
        weights = map(number if terms.kind == "row" else theta, map(int, terms.weights))
    bias = 0.0 if terms.bias is None else theta(terms.bias)
    return sum(w * x for w, x in zip(weights, below, strict=True)) + terms.offset + bias


# ---- `Update`: what a step does to one weight, and to all of them


Float = NDArray[np.float64]
SKIPPED = "the step was skipped: its gradient is too large for float16; the loss scale is halved"
"""The reason why no weight moves."""
LANES = 1 << 16
"""Weights that are computed together."""


@dataclass(frozen=True, slots=True)
class Update:
    """One weight before and after a step, with the rule that moves it."""

    index: int
    # before and after: the weight before and after the step, in float64; the engine rounds to the run's dtype
    before: float
    after: float
    gradient: float
    # the optimiser's rule with numbers, the new weight last; empty if the optimiser does not move it
    lines: tuple[RuleFormula, ...] = ()
    why: str = ""  # why the weight stays, or what it follows; empty if the optimiser moves it

    def __str__(self) -> str:
        if not self.lines and self.after != self.before:
            return f"w' = {digits_of(self.after)}: {self.why}"
        if not self.lines:
            return f"w' = w = {digits_of(self.before)}: {self.why}"
        return "\n".join(map(str, self.lines))


def moved(taken: StepData, values: Float, gradient: Float, state: Sequence[NDArray[Any]]) -> Float:
    """Return the weights (P,) after the step, in float64; those that the optimiser leaves alone stay."""
    runner, after = PlanRunner(taken.update, np.float64), values.copy()
    with np.errstate(all="ignore"):
        hyper, _ = runner.extended(np.array([*taken.theta(gradient), *taken.rates]))
        for start in range(0, len(after), LANES):
            part = slice(start, start + LANES)
            given = np.stack([values[part], gradient[part], *(array[part] for array in (*state, *taken.of_group))])
            new = runner.body.forward(hyper, given)[taken.update.body.outputs[0]]
            np.copyto(after[part], new, where=taken.trained[part])
    return after
