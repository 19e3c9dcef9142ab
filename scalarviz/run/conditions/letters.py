"""From letters to words: numbers, names (``0.weight`` is one), signs."""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

from ...checks import text as checked_text
from ...errors import InputError
from .faults import fault

LONGEST = 10_000
"""Characters that a text may have."""

WORDS = ("and", "or", "not", "crosses", "changes")
"""Names that are operators; a name in quotes is never one."""

Kind = Literal["number", "name", "quoted", "sign", "end"]


END: tuple[Kind, str] = ("end", "the end")
"""Kind and text of the last word."""


class Word(NamedTuple):
    """One word of a text.

    Attributes
    ----------
    kind : {"number", "name", "quoted", "sign", "end"}
        Operators that are words, such as ``and``, are signs.
    text : str
        As written; of a quoted name without the quotes.
    start, stop : int
        Where it stands.
    """

    kind: Kind
    text: str
    start: int
    stop: int


# Nothing here is tried twice (possessive, atomic), so that no text takes longer than its length.
_WORD = re.compile(
    r"""(?P<space>\s++)
    | (?P<number>(?>[0-9]++(?:\.[0-9]*+)?+|\.[0-9]++)(?:[eE][+-]?+[0-9]++)?+(?![\w.]))
    | (?P<name>\w++(?:\.\w++)*+)
    | (?P<quoted>"[^"]*+"|'[^']*+')
    | (?P<sign>\*\*|<=|>=|==|!=|[-+*/<>()\[\],])""",
    re.VERBOSE,
)
_INSTEAD = {
    "=": "== compares", "^": "** is the power", "&": "and joins two conditions", "|": "or joins two conditions",
    "!": "not turns a condition round", "%": "there is no remainder", "≤": "write <=", "≥": "write >=",
    "≠": "write !=", "×": "write *", "·": "write *", "−": "write -", "÷": "write /",
    '"': "the quote has no end", "'": "the quote has no end",
}  # fmt: skip


def words(text: str, what: str = "the expression") -> list[Word]:
    """The words of a text, the last one its end.

    Raises
    ------
    ExpressionError
        A letter that no expression has; the message says what to write instead.
    InputError
        A text of more than `LONGEST` characters.
    TypeMismatchError
        No text.
    """
    checked_text(text, what)
    if len(text) > LONGEST:
        raise InputError(f"{what} has {len(text):,} characters; at most {LONGEST:,} are read")
    found: list[Word] = []
    place = 0
    while place < len(text):
        match = _WORD.match(text, place)
        if match is None:
            letter = text[place]
            instead = f": {_INSTEAD[letter]}" if letter in _INSTEAD else ""
            raise fault(text, place, f"{letter!r} is no part of an expression{instead}", what)
        kind, said = match.lastgroup, match.group()
        if kind == "quoted":
            found.append(Word("quoted", said[1:-1], place, match.end()))
        elif kind != "space":
            found.append(Word("sign" if said in WORDS else kind, said, place, match.end()))  # type: ignore[arg-type]
        place = match.end()
    found.append(Word(*END, len(text), len(text)))
    return found
