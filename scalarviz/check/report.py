"""`Report`: what a check found, as a truth value, as text and as a box in a notebook; which exercises failed before."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from html import escape
from typing import Any, Literal

from .words import HINTS, LOOKS

State = Literal["right", "wrong", "empty", "failed"]
_SIGNS = {"right": "✓", "wrong": "✗", "empty": "…", "failed": "✗"}
_COLOURS = {"right": "#1a7f37", "wrong": "#b35900", "empty": "#57606a", "failed": "#b35900"}


@dataclass(frozen=True, slots=True)
class Report:
    """What was found; true if the exercise is solved.

    Attributes
    ----------
    title : str
        What was checked, as the pupil called it.
    state : {"right", "wrong", "empty", "failed"}
        "empty": there is still a ``...`` in it. "failed": it raises, gives nothing, or gives something else each time.
    lines : tuple of str
        What is said first: the result, and where it differs.
    cause : str
        Short name of the mistake that gives the same numbers; empty where none was found.
    looks : str
        The cause in words.
    where : str
        The input or weight that differs.
    got, expected : float or None
        There, at the first point that differs.
    hint : str
        From the second failing call in a row on.
    """

    title: str
    state: State
    lines: tuple[str, ...]
    cause: str = ""
    looks: str = ""
    where: str = ""
    got: float | None = None
    expected: float | None = None
    hint: str = ""

    @property
    def passed(self) -> bool:
        """Whether the exercise is solved."""
        return self.state == "right"

    @property
    def text(self) -> str:
        """All that is said, a line each."""
        first, *rest = self.lines
        told = [*rest, *([f"Looks like: {self.looks}"] if self.looks else [])]
        told += [f"Hint: {self.hint}"] if self.hint else []
        return "\n".join([f"{_SIGNS[self.state]} {self.title}: {first}", *(f"  {line}" for line in told)])

    def __bool__(self) -> bool:
        return self.passed

    def __str__(self) -> str:
        return self.text

    __repr__ = __str__

    def _repr_html_(self) -> str:
        """The same in a box, for notebooks."""
        colour = _COLOURS[self.state]
        first, *rest = self.lines
        told = [escape(line) for line in rest]
        told += [f"Looks like: <b>{escape(self.looks)}</b>"] if self.looks else []
        told += [f"Hint: {escape(self.hint)}"] if self.hint else []
        below = "".join(f'<div style="white-space:pre-wrap">{line}</div>' for line in told)
        return (
            f'<div role="status" style="border-left:4px solid {colour};padding:6px 12px;margin:4px 0;max-width:46em">'
            f'<div><span style="color:{colour};font-weight:bold">{_SIGNS[self.state]} {escape(self.title)}</span>: '
            f"{escape(first)}</div>{below}</div>"
        )


class Told(Exception):
    """Ends a check early, with what is to be said."""

    def __init__(self, state: State, cause: str, *lines: str) -> None:
        super().__init__(*lines)
        self.state, self.cause, self.lines = state, cause, lines


_misses: dict[tuple[str, str], int] = {}
"""Failing calls in a row, by the check and what the exercise is called."""


def forget() -> None:
    """Begin anew with counting failing calls: the next one gives no hint."""
    _misses.clear()


def reported(kind: str, title: str, hint: str, find: Callable[[], Report], same: str = "") -> Report:
    """What `find` finds, or is told meanwhile; from the second failing call in a row on with a hint.

    Parameters
    ----------
    kind : str
        Which check.
    title : str
        What the pupil's function is called: calls with one title are one exercise.
    hint : str
        What the author of the exercise says then too.
    same : str
        What calls of one exercise have in common, where that is not the title.
    """
    try:
        found = find()
    except Told as told:
        found = Report(title, told.state, told.lines, told.cause)
    key = kind, same or title
    if found.state == "empty":
        return found
    if found.passed:
        _misses.pop(key, None)
        return found
    _misses[key] = _misses.get(key, 0) + 1
    if _misses[key] < 2:
        return found
    own = HINTS.get(found.cause, HINTS[kind] if found.state == "wrong" else "")
    return replace(found, hint=" ".join(part for part in (own, hint) if part))


def looks_like(cause: str, **details: Any) -> str:
    """The cause in words; empty for an unknown one."""
    return LOOKS[cause].format(**details) if cause else ""
