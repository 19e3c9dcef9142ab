"""What is to be tried, as text: values of an option (``0.1 0.5 1``, ``1..8``, ``1e-3..1:log4``), and seeds.

=================  ============================================================
text               values
=================  ============================================================
``0.1 0.5 1``      these, with blanks between; one with blanks stands in quotes
``1..8``           all whole numbers from 1 to 8
``0..1:5``         five evenly from 0 to 1, both included
``1e-3..1:log4``   four from 0.001 to 1, each by the same factor more than the one before
=================  ============================================================

Ranges and single values may stand side by side: ``1..4 8 16``.
"""

from __future__ import annotations

import math
import re
import shlex

from ..errors import InputError, shown

MOST = 10_000
"""Values of one option."""
_RANGE = re.compile(r"([^.:\s](?:[^:\s]*?[^.:\s])?)\.\.([^.:\s][^:\s]*?)(?::(log)?(\d{1,6}))?")
_DIGITS = 12
"""Significant ones of a value in a range: what one would have typed, not 0.30000000000000004."""


def values_of(text: str, what: str) -> list[str]:
    """The values that a text lists, as texts.

    Parameters
    ----------
    text : str
    what : str
        Of what they are, for messages.

    Raises
    ------
    InputError
        A range that is none, a quotation mark that is not closed, more than 10,000 values, or one that stands twice.
    """
    values: list[str] = []
    for part in _parts(text, what):
        found = _RANGE.fullmatch(part)
        ends = (_number(found[1]), _number(found[2])) if found else (None, None)
        if found is None or ends[0] is None or ends[1] is None:
            values.append(part)
        else:
            values += _range(ends[0], ends[1], bool(found[3]), found[4], f"{what} {part}")
        if len(values) > MOST:
            raise InputError(f"{what}: more than {MOST:,} values, of {shown(text)}")
    seen: set[str] = set()
    twice = next((value for value in values if value in seen or seen.add(value)), None)  # type: ignore[func-returns-value]
    if twice is not None:
        raise InputError(f"{what}: {shown(twice)} stands there twice, of {shown(text)}")
    return values


def _parts(text: str, what: str) -> list[str]:
    """What stands between blanks; quotation marks hold together."""
    reader = shlex.shlex(text, posix=True, punctuation_chars=False)
    reader.whitespace_split, reader.escape, reader.commenters = True, "", ""
    try:
        return list(reader)
    except ValueError:
        raise InputError(f"{what}: a quotation mark is left open in {shown(text)}") from None


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) and "_" not in text else None


def plain_value(text: str) -> int | float | str:
    """What a text is for a function: a number where it is one."""
    number = _number(text)
    if number is None:
        return text
    return int(text) if text.lstrip("+-").isdigit() else number


def _range(first: float, last: float, logs: bool, count: str | None, said: str) -> list[str]:
    """The values of a range, as texts."""
    if count is None:
        if first != int(first) or last != int(last):
            raise InputError(f"{said}: how many? {said.rsplit(maxsplit=1)[-1]}:5 is five evenly, :log5 by a factor")
        if not 0 <= last - first < MOST:
            raise InputError(f"{said}: a range goes from the smaller number to the larger one, with at most {MOST:,}")
        return [str(number) for number in range(int(first), int(last) + 1)]
    number = int(count)
    if not 2 <= number <= MOST:
        raise InputError(f"{said}: a range has from 2 to {MOST:,} values, got {number:,}")
    if logs and not (first > 0 and last > 0):
        raise InputError(f"{said}: a range by a factor needs numbers above 0 at both ends")
    shares = (k / (number - 1) for k in range(number))
    if logs:
        found = [math.exp((1 - share) * math.log(first) + share * math.log(last)) for share in shares]
    else:
        found = [(1 - share) * first + share * last for share in shares]
    return [f"{value:.{_DIGITS}g}" for value in [first, *found[1:-1], last]]


def seeds_of(text: str) -> list[int]:
    """Seeds: ``20`` is the first twenty, ``5..9`` and ``0 7 42`` are these.

    Raises
    ------
    InputError
        Something else.
    """
    values = values_of(text, "--seeds")
    if not values or not all(value.isascii() and value.isdigit() and int(value) < 1 << 64 for value in values):
        raise InputError(f"--seeds: how many, as 20, or which ones, as 5..9 or '0 7 42', got {shown(text)}")
    if len(values) > 1 or ".." in text:
        return [int(value) for value in values]
    if not 1 <= int(values[0]) <= MOST:
        raise InputError(f"--seeds: from 1 to {MOST:,} of them, got {shown(text)}; a single one, N, is N..N")
    return list(range(int(values[0])))
