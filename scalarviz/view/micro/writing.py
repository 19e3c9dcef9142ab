"""Numbers of a micro-step as texts: on cubes in two lines, in formulas so that they are true as printed."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal, InvalidOperation

from ...run.opened.rule import MINUS, Line, digits_of, digits_that_give
from ..ink.equation import Printed, decimals, descent, product, rounds_to
from ..ink.text import chip_text, exponent, number
from .chips import delta_text
from .told import Face, Formula, Tone, Word

DIGITS = 4
"""That count, of a number in the optimiser's lines."""


def face_of_product(weight: float, x: float) -> Face:
    """``−0.47 × 0.97`` over ``= −0.46``; with ``≈`` where so few digits do not give it."""
    left, right, made = chip_text(weight, signed=True), chip_text(x), chip_text(weight * x, signed=True)
    return Face(f"{left} × {right}", f"{_sign(left, right, made)} {made}")


def face_of_gradient(gradient: float, factors: tuple[float, float] | None, joined: str = "mean") -> Face:
    """``+0.060 × 0.97`` over ``≈ +0.0579``, ``=`` where the digits give it; without factors a mean, or a sum."""
    if factors is None:
        return Face(f"{joined} δ·x", f"= {delta_text(gradient)}")
    delta, x = factors
    size = abs(delta)
    left = number(delta, 3, signed=True) if 0.005 <= size < 10 else exponent(delta, signed=True)
    right, made = "1" if x == 1.0 else chip_text(x), delta_text(gradient)
    if x == 1.0:
        left = delta_text(delta)  # there is room for all of it
    return Face(f"{left} × {right}", f"{_sign(left, right, made)} {made}")


def _sign(left: str, right: str, made: str) -> str:
    """``=`` if the product of two numbers as they are written is the third one, rounded as that is; else ``≈``."""
    try:
        a, b, result = (Decimal(text.replace(MINUS, "-").replace(",", "")) for text in (left, right, made))
    except InvalidOperation:  # infinite, or no number
        return "="
    if not all(value.is_finite() for value in (a, b, result)):
        return "="
    place = result.as_tuple().exponent
    assert isinstance(place, int)
    return "=" if rounds_to(a * b, Printed(made, result, Decimal(1).scaleb(place))) else "≈"


def face_of_update(before: float, after: float) -> Face:
    """``w −0.4698`` over ``w' −0.4668``, with as many decimals as show the change, up to four."""
    digits = next((d for d in (2, 3) if number(before, d) != number(after, d)), 4)
    return Face(f"w {number(before, digits, signed=True)}", f"w' {number(after, digits, signed=True)}")


def words_of(equation: str, *, violet: bool = True) -> tuple[Word, ...]:
    """The pieces of ``"−0.051 × 0.12 = −0.0060"``; `violet`: a delta and what it makes are gradients."""
    sign = " = " if " = " in equation else " ≈ "
    left, equals, result = equation.partition(sign)
    first, times, x = left.partition(" × ")
    if not equals:
        return (Word(equation),)
    tone: Tone = "violet" if violet else "plain"
    end = (Word(equals, "dim"), Word(result, tone, True))
    return (Word(first, tone), Word(times, "dim"), Word(x), *end) if times else (Word(left), *end)


def of_product(letters: str, a: float, b: float, result: float, *, violet: bool = True) -> Formula:
    """A product with its numbers."""
    return Formula(letters, words_of(product(a, b, result), violet=violet))


def of_function(letters: str, symbol: str, x: float, y: float) -> Formula:
    """``σ(−0.4104) = 0.3988``."""
    return Formula(letters, (Word(f"{symbol}({decimals(x, 4).text})"), Word(" = ", "dim"),
                             Word(decimals(y, 4).text, bold=True)))  # fmt: skip


def of_rule(lines: Sequence[Line], before: float, lr: float, gradient: float) -> tuple[Formula, ...]:
    """The optimiser's rule with its numbers, the new weight first; plain descent is true as printed."""
    if not lines:
        return ()
    new = lines[-1]
    if len(lines) == 1 and new.formula == "w − lr · g":
        return (Formula("w − lr · g = w'", _descent_words(descent(before, lr, gradient, new.result))),)
    return tuple(_rule_line(line) for line in (new, *lines[:-1]))


def _descent_words(line: str) -> tuple[Word, ...]:
    sign = " = " if " = " in line else " ≈ "
    left, equals, result = line.partition(sign)
    rest, times, gradient = left.rpartition(" × ")
    return (Word(rest), Word(times, "dim"), Word(gradient, "violet"), Word(equals, "dim"), Word(result, bold=True))


def _rule_line(line: Line) -> Formula:
    """With so many digits that what is printed gives the result."""
    enough = digits_that_give(line.again, line.result, DIGITS)
    words: list[Word] = []
    for token in line.tokens:
        if isinstance(token, str):
            words.append(Word(token, "dim"))
            continue
        text = digits_of(token.value, enough or DIGITS)
        first = not words or words[-1].text.endswith(("(", ", "))
        bracketed = text.startswith(MINUS) and not first
        words.append(Word(f"({text})" if bracketed else text, "violet" if token.name == "g" else "plain"))
    sign = " = " if enough is not None else " ≈ "
    end = (Word(sign, "dim"), Word(digits_of(line.result, DIGITS), bold=True))
    return Formula(f"{line.formula} = {line.name}", (*words, *end))
