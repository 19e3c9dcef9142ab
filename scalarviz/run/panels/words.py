"""A word that a network reads letter by letter, and words that it makes up."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

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
    stream : tuple of ndarray, shapes (n, width)
        The numbers of each letter after each part that adds to them; empty where nobody said.
    hidden : (str, ndarray) or None
        The tensor whose rows make a network's inner numbers, and these numbers (n, rows).
    uses : tuple of (str, tuple of int)
        Tensors of which each letter uses one row, and which; the last one says what comes next.
    """

    attention: Float
    likely: Float
    stream: tuple[Float, ...] = ()
    hidden: tuple[str, Float] | None = None
    uses: tuple[tuple[str, tuple[int, ...]], ...] = ()


class Invented(NamedTuple):
    """A word that a network made up.

    Attributes
    ----------
    word : str
    likely : tuple of float
        How probable each of its letters was.
    """

    word: str
    likely: tuple[float, ...]


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
        ``make(moment, temperature, number) -> Invented``: a word that the network makes up; the same for the same
        moment and number (0, 1, ...).
    temperature : float
        At first.
    """

    word: str
    letters: str
    most: int
    look: Callable[[Moment, str], Reading]
    make: Callable[[Moment, float, int], Invented]
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
