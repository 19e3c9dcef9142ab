"""Equations as forms of several numbers, which a browser writes again with others: `js/equations.js` has the same.

An equation is a tuple of pieces. Only those whose pieces a form gives are bound; the texts of others are passing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np

from ...run.opened import equations
from ...run.opened.digits import delta_column, descent, digits_apart, digits_of, neuron, number, product, sides_of
from ...run.opened.equations import GAP, PASSED, added
from ..ink.sketch import Bound
from ..ink.text import delta_text
from .step_view import gradient_text, product_text

Number = tuple[str, float]
"""A name and an index, as of a `Bound`."""
SLOPES: dict[str, Callable[[float], float]] = {
    "sigmoid": lambda y: y * (1 - y), "tanh": lambda y: 1 - y * y, "relu": lambda y: float(y > 0),
}  # fmt: skip
"""Slopes of activations, from their outputs."""


def pieces(equation: str) -> tuple[str, ...]:
    """Return the pieces of a written equation: terms, the sign, the result."""
    left, sign, result = sides_of(equation)
    return (*re.split(r"(?= [+−/] )", left), sign, result)


def _product(a: float, b: float, result: float | None = None) -> tuple[str, ...]:
    left, sign, made = sides_of(product(a, b, a * b if result is None else result))
    first, times, x = left.partition(" × ")
    return first, times, x, sign, made


def _sum(total: float, *numbers: float) -> tuple[str, ...]:
    terms = [(numbers[k], numbers[k + 1] if k + 1 < len(numbers) else None) for k in range(0, len(numbers), 2)]
    return sides_of(next(neuron("sum", terms, total)).removeprefix("sum = "))


def _descent(before: float, lr: float, gradient: float, after: float) -> tuple[str, ...]:
    left, sign, result = sides_of(descent(before, lr, gradient, after))
    rest, times, g = left.rpartition(" × ")
    return rest, times, g, sign, result


def _move(before: float, after: float) -> tuple[str, ...]:
    """Return a weight before and after its step, with the fewest decimals from which two digits of the move follow."""
    apart = after - before
    close = (k for k in range(2, 9) if abs(round(after, k) - round(before, k) - apart) < 0.05 * abs(apart))
    digits = next(close, 3)
    return number(before, digits), " to ", number(after, digits)


def _moved(before: float, after: float) -> tuple[str, ...]:
    """Return the sum of a weight and its change."""
    return sides_of(added([before, after - before], after, digits_apart(before, after)))


def _squares(loss: float, *numbers: float) -> tuple[str, ...]:
    found = equations.loss_of(np.array([numbers[::2]]), np.array(numbers[1::2]), loss)
    return () if found is None else pieces(found[1])


def _gap(result: float, y: float, t: float, above: float, below: float) -> tuple[str, ...]:
    return pieces(equations.operated(GAP, (y, t, above / below), result, ""))


def _column(delta: float, y: float, t: float, outer: float, above: float, below: float) -> tuple[str, ...]:
    slope = delta / outer if outer else float("nan")
    return delta_column(y, t, Fraction(int(above), int(below)), outer, slope, delta_text(delta))


def _passed(op: str) -> Callable[..., tuple[str, ...]]:
    name = next(name for name, count in PASSED.items() if count == 1)

    def passed(delta: float, y: float, *pairs: float) -> tuple[str, ...]:
        products = [w * d for w, d in zip(pairs[::2], pairs[1::2], strict=True) if w * d]
        parts = equations.condensed(products, equations.MOST)
        return pieces(equations.operated(name, (SLOPES[op](y), *parts), delta, ""))

    return passed


def _through(op: str) -> Callable[..., tuple[str, ...]]:
    return lambda delta, outer, y: _product(outer, SLOPES[op](y), delta)


def _times(op: str) -> Callable[..., tuple[str, ...]]:
    return lambda delta, w, upper, y: pieces(equations.times((w, upper, SLOPES[op](y)), delta))


def _bent(op: str) -> Callable[..., tuple[str, ...]]:
    return lambda made, x: pieces(equations.applied(op, (), x, made))


def _operated(op: str) -> Callable[..., tuple[str, ...]]:
    return lambda made, *factors: pieces(equations.operated(op, factors, made, "")) if len(factors) == 2 else ()


OF_DIGITS = {f"{digits} digits": lambda value, digits=digits: (digits_of(value, digits),) for digits in (4, 3, 2)}
"""The results of equations over samples."""
EQUATIONS: dict[str, Callable[..., tuple[str, ...]]] = {
    "product": _product,
    "sum": _sum,
    "descent": _descent,
    "move": _move,
    "moved": _moved,
    "squares": _squares,
    "gap": _gap,
    "product face": lambda w, x: product_text(w, x)[:2],
    "gradient face": lambda gradient, delta, x: gradient_text(gradient, (delta, x))[:2],
    "column": _column,
    **OF_DIGITS,
    **{op: _operated(op) for op in ("add", "sub", "mul", "div")},
    **{op: _bent(op) for op in SLOPES},
    **{f"through {op}": _through(op) for op in SLOPES},
    **{f"times {op}": _times(op) for op in SLOPES},
    **{f"passed {op}": _passed(op) for op in SLOPES},
}
"""Equations by form, from their numbers."""


def bounds(
    form: str, texts: Sequence[str], numbers: Sequence[Number], values: Sequence[float], needs: str = ""
) -> list[Bound]:
    """Return which numbers some texts show, as pieces of an equation; those of unknown ones if it gives other texts."""
    made = EQUATIONS[form](*values) if form in EQUATIONS else ()
    if tuple(texts) != tuple(made):
        return [Bound(None)] * len(texts)
    (name, index), *more = numbers
    return [Bound(name, int(index), f"{form}:{k}", more=tuple(more), needs=needs) for k in range(len(texts))]
