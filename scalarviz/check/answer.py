"""`answer`: check a number or a word that a pupil predicts."""

from __future__ import annotations

import math
import zlib
from collections.abc import Mapping
from contextlib import suppress
from types import CodeType, MappingProxyType
from typing import Any

from ..arguments import explained
from ..checks import text
from ..errors import TypeMismatchError, shown, typed
from ..scalar.value import Value
from .points import checked_options, near
from .pupil_code import check_filled
from .report import CheckEnded, Report, run_check, wrong_report

FACTORS = (2.0, 0.5, 10.0, 0.1, 4.0, 0.25)
"""By which a wrong number often differs."""
USUAL = 1e-3
NO_SLIPS: Mapping[Any, str] = MappingProxyType({})
COUNTED = 0.4
"""The accepted error of a whole number: a relative error would accept neighbours of 1,024."""


@explained(name="check.answer")
def answer(
    given: Any,
    truth: Any,
    *,
    tolerance: float = USUAL,
    title: str = "answer",
    hint: str = "",
    slips: Mapping[Any, str] = NO_SLIPS,
) -> Report:
    """Check a number or a word. The report says how a wrong answer differs, but not the right one.

    Parameters
    ----------
    given : float or str
        The pupil's answer; ``...`` is an empty one.
    truth : float, str or callable
        The right answer, or a function without arguments that computes it.
    tolerance : float
        Largest accepted error of a number, relative to ``max(1, |truth|)``. If the truth is a whole number, an answer
        nearer to another one is wrong by default. In words, case, spaces and punctuation do not matter.
    title : str
        Title of the exercise.
    hint : str
        The author's hint, shown from the second failing call in a row.
    slips : dict
        Usual wrong answers, with the report's words for each; ``""`` stands for any other word.

    Returns
    -------
    Report

    Raises
    ------
    TypeMismatchError
        `truth` is neither number nor text, or `slips` is no dict of texts.

    Examples
    --------
    >>> answer(-6.0, 6.0).cause
    'sign'
    >>> print(answer(5, 6, slips={5: "Count the last one too."}))
    ✗ answer: not 5.
      Count the last one too.
    """
    (hint, width), title = checked_options("check.answer", hint, tolerance), text(title, "check.answer: title")
    named: Any = slips
    if not isinstance(named, Mapping) or not all(isinstance(words, str) for words in named.values()):
        raise TypeMismatchError(f"check.answer: slips= must be a dict from wrong answers to texts, got {shown(slips)}")

    def find() -> Report:
        check_filled(given)
        if given is None:
            raise CheckEnded("none", "Expected an answer; you gave None.")
        wanted = truth() if callable(truth) else truth
        if isinstance(wanted, str):
            return _check_word(given, wanted, title, slips)
        counted = isinstance(wanted, int) and width <= USUAL
        return _number(given, _float(wanted, "check.answer: the truth"), title, width, counted, slips)

    return run_check("answer", title, hint, find, f"{title} {_question_key(truth)}")


def _question_key(truth: Any) -> str:
    """Return a key of the question that stays the same when its cell runs again: the code that computes the answer."""
    code = getattr(truth, "__code__", None)
    if code is None:
        return shown(truth)
    numbers = [constant for constant in code.co_consts if not isinstance(constant, CodeType)]
    return f"{code.co_name} {code.co_names} {numbers} {zlib.crc32(code.co_code)}"


def _float(given: Any, what: str) -> float:
    try:
        if isinstance(given, str | bytes | bool):
            raise TypeError
        one = given.item() if getattr(given, "size", 0) == 1 else given  # an array with one number
        return one.data if isinstance(one, Value) else float(one)
    except Exception:
        raise TypeMismatchError(f"{what} must be a number or a text, got {typed(given)}") from None


def _check_word(given: Any, wanted: str, title: str, slips: Mapping[Any, str]) -> Report:
    parts = given if isinstance(given, list | tuple) else [given]
    number = isinstance(given, float) and isinstance(plain(wanted), float)
    if not ((parts and all(isinstance(part, str) for part in parts)) or number):
        raise CheckEnded("kind", f"Expected a word in quotation marks; you gave {shown(given)}.")
    word = plain("".join(map(str, parts)))
    if word == plain(wanted):
        return Report(title, "right", ("right.",))
    named = [words for slip, words in slips.items() if isinstance(slip, str) and plain(slip) in (word, "")]
    return wrong_report(title, (f"not {shown(given)}.", *named[:1]), "slip" if named else "")


def plain(word: str) -> str | float:
    """Return the letters and digits of a word; the value of a number, so that ``1e-6`` and ``1e-06`` are equal."""
    try:
        return float(word)
    except ValueError:
        return "".join(letter for letter in word.casefold() if letter.isalnum())


def _number(given: Any, wanted: float, title: str, tolerance: float, counted: bool, slips: Mapping[Any, str]) -> Report:
    try:
        number = _float(given, "")
    except TypeMismatchError:
        whole = isinstance(given, tuple) and all(isinstance(one, int) for one in given)
        point = " Write a decimal point, not a comma." if whole else " Give one." if isinstance(given, tuple) else ""
        with suppress(ValueError):
            point = f" Write it without quotation marks: {float(given):g}." if isinstance(given, str) else point
        raise CheckEnded("kind", f"Expected a number; you gave {shown(given)}.{point}") from None
    room = tolerance * max(1.0, abs(wanted))
    if abs(number - wanted) <= (min(room, COUNTED) if counted else room):
        return Report(title, "right", ("right.",))
    for slip, words in slips.items():
        other = None if isinstance(slip, str) else _float(slip, "check.answer: a slip")
        if other is not None and (near(number, other, tolerance) or _rounded(number, other, 2)):
            return wrong_report(title, (f"not {number:.6g}.", words), "slip", None, "", number)
    cause, details = _cause(number, wanted, tolerance)
    return wrong_report(title, (f"not {number:.6g}.",), cause, details, "", number)


def _cause(number: float, wanted: float, tolerance: float) -> tuple[str, dict[str, Any]]:
    if not math.isfinite(number):
        return "nan", {}
    if near(number, -wanted, tolerance):
        return "sign", {}
    if wanted:
        for factor in FACTORS:
            if abs(number - factor * wanted) <= tolerance * abs(factor * wanted):
                return "factor", {"factor": f"{factor:g}"}
    if _rounded(number, wanted, 1):
        return "digits", {}
    if number * wanted < 0:
        return "side", {}
    return ("large" if abs(number) > abs(wanted) else "small"), {}


def _rounded(number: float, exact: float, least: int) -> bool:
    """Return whether `number` is `exact`, rounded to `least` or more decimals."""
    return number != 0 and any(number == round(exact, digits) for digits in range(least, 6))
