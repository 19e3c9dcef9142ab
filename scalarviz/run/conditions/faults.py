"""What is said of a text that cannot be read: where it stops to make sense, what stands there, what may."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

from ...errors import ExpressionError, listing, shown

WIDTH = 72
"""Letters of a line with a caret under it; of a longer text the part around the caret is shown."""
NAMES = 12
"""The most names that a message lists."""


def fault(text: str, place: int, said: str, what: str = "the expression") -> ExpressionError:
    """The error for `text` at `place` (counted from 0).

    Its message has three lines: what is wrong (one that stands alone), the text, and a caret.
    """
    first = f"{what} {shown(text, WIDTH)}: at character {place + 1}, {said}"
    return ExpressionError(f"{first}\n{under(text, place)}", text, place)


def under(text: str, place: int) -> str:
    """Two lines: the text, and a caret under the letter at `place`."""
    start = max(0, min(place - WIDTH // 2, len(text) - WIDTH))
    stop = min(len(text), start + WIDTH)
    line = "".join(letter if letter.isprintable() else " " for letter in text[start:stop])  # tabs and line ends too
    before, after = "..." if start else "", "..." if stop < len(text) else ""
    return f"    {before}{line}{after}\n    {' ' * (len(before) + place - start)}^"


def brief(text: str, most: int = WIDTH) -> str:
    """A text in one line of at most so many letters."""
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[: most - 3]}..."


def nearest(name: str, names: Iterable[str]) -> str:
    """``; did you mean 'loss'?``, or nothing where no name is near."""
    every = list(names)
    found = get_close_matches(name[:100], every, 1) or get_close_matches(name[:100].lower(), every, 1)
    return f"; did you mean {found[0]!r}?" if found else ""


def some(names: Iterable[str]) -> str:
    """A list of names for a message, cut where it would be long."""
    every = list(names)
    more = f" and {len(every) - NAMES:,} more" if len(every) > NAMES else ""
    return listing(every[:NAMES]) + more if every else "none"
