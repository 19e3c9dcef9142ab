"""Words for a network that invents new ones: given names, or any file with one word per line."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from .. import rng
from ..errors import FileFormatError, InputError

NAMES = Path(__file__).with_name("names.txt")
"""32,033 given names (29,494 different ones), from the public-domain list of the US Social Security Administration."""
HELD_OUT = 512
SPLIT_SEED = 42  # seed of the fixed split; the run's seed does not change it, so losses can be compared
MOST_LETTERS, MOST_BYTES = 255, 64 << 20
END = "end"


@dataclass(frozen=True, slots=True, eq=False)
class Words:
    """Words as numbers: each letter is its index in the alphabet; a further number begins and ends a word."""

    letters: str  # the alphabet, in order
    train: list[str]  # training words
    test: list[str]  # held-out words
    context: int  # the most letters of a sample; longer words are cut

    @property
    def end(self) -> int:
        """The number before the first and after the last letter."""
        return len(self.letters)

    @property
    def tokens(self) -> int:
        """The number of different numbers."""
        return len(self.letters) + 1

    def ids(self, word: str) -> list[int]:
        """Return the numbers of a word's letters."""
        return [self.letters.index(letter) for letter in word]

    def samples(self, words: list[str]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return inputs (N, context): letter numbers; and targets (N, 2*context): next letters, then their shares.

        The shares of a word add up to 1. After its end they are 0.
        """
        cut = [word[: self.context] for word in words]
        lengths = np.array([len(word) for word in cut], np.int64)
        rows = np.repeat(np.arange(len(words)), lengths)
        places = np.arange(len(rows)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        lines = np.full((len(words), self.context + 2), float(self.end))  # each word between two ends
        lines[rows, 1 + places] = np.searchsorted(_codes(self.letters), _codes("".join(cut)))
        n = np.minimum(self.context, lengths + 1)[:, None]
        inside = np.arange(self.context) < n
        inputs, follow = np.where(inside, lines[:, :-2], 0.0), np.where(inside, lines[:, 1:-1], 0.0)
        return inputs, np.hstack([follow, np.where(inside, 1.0 / n, 0.0)])


def load_words(path: Path | None, context: int) -> Words:
    """Read the words of a file and hold some out; None: the given names.

    Raises
    ------
    InputError, FileFormatError
        The file cannot be read, or has no suitable words; the message names file and line.
    """
    where = NAMES if path is None else path
    lines = _read(where).splitlines()
    words = [line.strip() for line in lines]
    for number, word in enumerate(words, 1):
        if " " in word or not word.isprintable():  # no other space is printable
            raise FileFormatError(
                f"{where}, line {number}: {word[:40]!r} is not a word; give one word per line, without spaces"
            )
    words = list(dict.fromkeys(word for word in words if word))
    letters = "".join(sorted(set().union(*words)))
    if len(words) < 2:
        raise FileFormatError(f"{where}: give at least 2 words, one per line, got {len(words)}")
    if len(letters) > MOST_LETTERS:
        raise FileFormatError(f"{where}: got {len(letters)} different letters; allowed: at most {MOST_LETTERS}")
    held = min(HELD_OUT, len(words) // 10 or 1)
    order = rng.permute(np.arange(len(words)), len(words), SPLIT_SEED, 0).tolist()
    test, train = ([words[k] for k in part] for part in (order[:held], order[held:]))
    return Words(letters, train, test, context)


def _codes(text: str) -> NDArray[np.uint32]:
    """Return the Unicode numbers of letters."""
    return np.frombuffer(text.encode("utf-32-le"), np.uint32)


def _read(path: Path) -> str:
    try:
        with path.open("rb") as file:
            found = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise InputError(f"--text '{path}' cannot be read: {error.strerror or error}") from None
    if len(found) > MOST_BYTES:
        raise FileFormatError(f"{path} is larger than {MOST_BYTES >> 20} MB; use fewer words")
    try:
        return found.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise FileFormatError(f"{path} is not UTF-8 text (byte {error.start}); save it as UTF-8") from None
