"""A word that a network reads letter by letter, and words that it makes up."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...checks import function, integer, text
from ...errors import InputError, shown
from ..moment import Moment
from .base import Panel

Float = NDArray[np.floating]


@dataclass(frozen=True, slots=True, eq=False)
class Reading:
    """How a network reads a word of n letters, the beginning included.

    Attributes
    ----------
    attention : ndarray, shape (heads, n, n)
        The share that a letter (row) takes of each one up to itself.
    likely : ndarray, shape (n, letters + 1)
        The probability of each letter to come next; the last one is the end.
    """

    attention: Float
    likely: Float


@dataclass(frozen=True, slots=True, eq=False)
class WordBoard(Panel):
    """A word to type: who looks back at whom in it, what comes next after each letter, and new words.

    Attributes
    ----------
    word : str
        The one that stands there at first.
    letters : str
        Those that there are.
    most : int
        The longest word.
    look : callable
        ``look(moment, word) -> Reading``.
    make : callable
        ``make(moment, temperature) -> list of str``: words that the network makes up; the same at the same moment.
    temperature : float
        At first.
    """

    word: str
    letters: str
    most: int
    look: Callable[[Moment, str], Reading]
    make: Callable[[Moment, float], Sequence[str]]
    temperature: float = 0.6

    def __post_init__(self) -> None:
        Panel.__post_init__(self)
        text(self.word, "WordBoard: the word")
        text(self.letters, "WordBoard: the letters")
        integer("WordBoard: most", self.most, 1)
        function(self.look, "WordBoard: look")
        function(self.make, "WordBoard: make")
        if len(self.word) > self.most or not set(self.word) <= set(self.letters):
            raise InputError(
                f"WordBoard: the word is made of at most {self.most} of the letters {shown(self.letters)}, "
                f"got {shown(self.word)}"
            )
        if not 0 < self.temperature < float("inf"):
            raise InputError(f"WordBoard: temperature must be a finite number > 0, got {shown(self.temperature)}")
