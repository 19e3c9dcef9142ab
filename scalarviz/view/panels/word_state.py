"""`WordState`: what was typed, which letter is looked at, and what the network makes of it at one moment."""

from __future__ import annotations

from dataclasses import dataclass, field

from ...run.panels import Reading
from ..draw.sketch import Box, holds

BEGINNING = "start"


@dataclass(slots=True)
class WordState:
    """The word of one panel.

    Attributes
    ----------
    letters : str
        Those that there are; the place behind them is the end.
    word : str
    chosen : int
        Which letter is looked at; 0 is the beginning.
    typing : bool
        Whether its field is open.
    touched : bool
        Whether a hand has used it since the last step: then it is to be seen.
    places : list of (Box, int)
        What a click on chooses a letter, as it was drawn last.
    field : Box or None
        Where the word stands as a field.
    """

    letters: str
    word: str
    chosen: int = 0
    typing: bool = False
    touched: bool = False
    places: list[tuple[Box, int]] = field(default_factory=list)
    field: Box | None = None

    @property
    def tokens(self) -> tuple[str, ...]:
        """The beginning and the letters."""
        return (BEGINNING, *self.word)

    def follows(self, place: int) -> int:
        """The number of what follows the letter at a place."""
        return self.letters.index(self.word[place]) if place < len(self.word) else len(self.letters)

    def name(self, number: int) -> str:
        """What a number is called."""
        return self.letters[number] if number < len(self.letters) else "end"

    def at(self, point: tuple[float, float]) -> int | None:
        """The letter that a click at a point chooses."""
        return next((number for box, number in self.places if holds(box, point)), None)

    def on_field(self, point: tuple[float, float]) -> bool:
        """Whether a point is on the field."""
        return holds(self.field, point)


@dataclass(frozen=True, slots=True)
class Read:
    """A word, and how it was read.

    Attributes
    ----------
    word : str
    reading : Reading
    """

    word: str
    reading: Reading
