"""`exercise`: check an exercise of the lessons by its number."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ..arguments import did_you_mean, explained
from ..checks import text
from ..errors import UnknownNameError, listing, shown
from .answer import answer
from .edits import LONGEST, place_of_mistake
from .points import near
from .pupil_code import numbers_outside
from .report import CAUSE_TEXTS, SECONDS, Report


@explained(name="check.exercise")
def exercise(number: str, given: Any, truth: Any = None, *, seconds: float = SECONDS) -> Report:
    """Check an exercise of the lessons.

    Parameters
    ----------
    number : str
        Lesson and exercise, such as ``"01.1"``.
    given : float, str, callable or type
        The pupil's answer; ``...`` is an empty one.
    truth : float or str, optional
        The right answer, if the notebook drew it at random.
    seconds : float
        The most time for the pupil's code.

    Returns
    -------
    Report

    Raises
    ------
    UnknownNameError
        There is no such exercise.

    Examples
    --------
    >>> print(exercise("01.1", 6))
    ✗ 01.1: not 6.
      This is the slope of the loss with respect to y. Multiply it by the slope of y with respect to w.
    """
    from .answers import ANSWERS as table  # building its networks takes time

    if text(number, "check.exercise: number") not in table and f"0{number}" in table:
        number = f"0{number}"  # of lesson 1, not 01
    entry = table.get(number)
    if entry is None:
        raise UnknownNameError(
            f"check.exercise: no exercise {shown(number)}; allowed: {listing(table)}{did_you_mean(number, table)}"
        )
    if entry.check is answer:
        right = entry.right if truth is None else truth
        return answer(given, right, title=number, hint=entry.hint, slips=entry.slips)
    report = entry.report(given, seconds)
    if report.state != "wrong":
        return report
    for slip, words in entry.slips.items():
        if _same(entry.report(slip), report):
            return replace(report, cause="slip", looks=words)
    for name, value in numbers_outside(given):
        return replace(report, cause="outer", looks=CAUSE_TEXTS["outer"].format(name=name, number=f"{value:.4g}"))
    limit = min(seconds, LONGEST)  # a change may make a loop endless
    words = "" if report.cause else place_of_mistake(given, lambda changed: entry.report(changed, limit), report)
    return replace(report, cause="edit", looks=words) if words else report


def _same(one: Report, other: Report) -> bool:
    """Return whether both are wrong in the same way: at all points, or at the first one if a check stores no others."""
    if one.given is not None and other.given is not None:
        return one.given.shape == other.given.shape and bool(near(one.given, other.given, 1e-8).all())
    first, second = ([report.got or 0.0, report.expected or 0.0] for report in (one, other))
    return one.lines[0] == other.lines[0] and bool(near(first, second, 1e-8).all())
