"""Panels of words and of handwritten digits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...checks import integer
from ...errors import InputError, shown
from ..source import Moment
from .base import Panel, above_zero, arrays_of

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
    """A word that a network made up, and how probable each of its letters was."""

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
        integer("WordBoard: most", self.most, 1)
        if len(self.word) > self.most or not set(self.word) <= set(self.letters):
            raise InputError(
                f"WordBoard: the word is made of at most {self.most} of the letters {shown(self.letters)}, "
                f"got {shown(self.word)}"
            )
        above_zero(self.temperature, "WordBoard: temperature")


# ---- Panels of tasks whose samples are handwritten digits


@dataclass(frozen=True, slots=True, eq=False)
class DigitBoard(Panel):
    """Digits that are not trained on, each in the column of the class that it is read as.

    Attributes
    ----------
    inputs : ndarray, shape (N, H * W)
        0 is paper, 1 is ink.
    labels : ndarray of int, shape (N,)
        The classes, 0 .. 9.
    side : (int, int)
        H and W.
    """

    inputs: Float
    labels: NDArray[np.integer]
    side: tuple[int, int]

    def __post_init__(self) -> None:
        Panel.__post_init__(self)
        high, wide = self.side
        inputs, labels = arrays_of(self, "inputs", "labels")
        if labels.ndim != 1 or not len(labels) or inputs.shape != (len(labels), high * wide):
            raise InputError(
                f"DigitBoard of {high} x {wide} pixels: got shapes {inputs.shape} and {labels.shape}; allowed: "
                f"(N, {high * wide}) and (N,)"
            )
        if labels.dtype.kind not in "iu" or labels.min() < 0 or labels.max() > 9:
            raise InputError(f"DigitBoard: labels are whole numbers 0 to 9, got {shown(labels)}")


@dataclass(frozen=True, slots=True, eq=False)
class DigitPad(Panel):
    """The one sample whose way is drawn as a sheet to draw on, and what it is read as.

    Attributes
    ----------
    side : (int, int)
        H and W of the sample's picture; 0 is paper, 1 is ink.
    """

    speaks_of = "sheet"

    side: tuple[int, int]
