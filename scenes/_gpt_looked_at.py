"""What a picture of the GPT shows: who looks back at whom, what comes next, and words that nobody wrote.

The forward pass once more, in plain NumPy over whole words: it takes the weights of the frame that is on screen, so all
that is shown belongs to one moment.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from scalarviz import rng
from scalarviz.run import Moment
from scalarviz.run.panels import Image, Table

from ._gpt import EPSILON
from ._words import END, Words

Float = NDArray[np.floating]
GAP, PAPER = 1, 0.12  # columns between heads, and what stands there
LIKELIEST, TEMPERATURE = 4, 0.6


@dataclass(frozen=True, slots=True, eq=False)
class Read:
    """A word as the network reads it.

    Attributes
    ----------
    attention : ndarray, shape (heads, letters, letters)
        Of the last layer: the share that a letter (row) takes of each one up to itself.
    likely : ndarray, shape (letters, tokens)
        The probability of each letter to come next.
    """

    attention: Float
    likely: Float


def read(moment: Moment, ids: list[int], heads: int, layers: int) -> Read:
    """The network of that moment reads a word, given as numbers of its letters."""
    x = moment.tensor("token.weight")[ids] + moment.tensor("position.weight")[: len(ids)]
    x = _rmsnorm(x)
    hidden = ~np.tri(len(ids), dtype=bool)
    shares: Float = np.zeros((heads, len(ids), len(ids)))
    for k in range(layers):
        q, key, value, o, up, down = (
            moment.tensor(f"layers.{k}.{part}.weight").T for part in ("q", "k", "v", "o", "up", "down")
        )
        before, x = x, _rmsnorm(x)
        asked, offered, taken = (_by_head(x @ part, heads) for part in (q, key, value))
        scores = asked @ offered.transpose(0, 2, 1) * asked.shape[2] ** -0.5
        shares = _softmax(np.where(hidden, -np.inf, scores))
        x = (shares @ taken).transpose(1, 0, 2).reshape(x.shape) @ o + before
        x = np.maximum(_rmsnorm(x) @ up, 0) @ down + x
    return Read(shares, _softmax(x @ moment.tensor("letters.weight").T))


def _rmsnorm(x: Float) -> Float:
    return np.asarray(x / np.sqrt(np.mean(x * x, axis=-1, keepdims=True) + EPSILON))


def _by_head(x: Float, heads: int) -> Float:
    return x.reshape(len(x), heads, -1).transpose(1, 0, 2)


def _softmax(x: Float) -> Float:
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return np.asarray(e / e.sum(axis=-1, keepdims=True))


def new_word(moment: Moment, words: Words, heads: int, layers: int, number: int) -> str:
    """A word that the network of that moment makes up, letter by letter; the same dice at every moment."""
    ids, dice = [words.end], rng.uniform(number, rng.Stream.DATA, 0, words.context)
    for die in dice[: words.context]:
        likely = read(moment, ids, heads, layers).likely[-1] ** (1 / TEMPERATURE)
        chosen = int(np.searchsorted(np.cumsum(likely / likely.sum()), die))
        if chosen >= words.end or len(ids) == words.context:
            break
        ids.append(chosen)
    return "".join(words.letters[k] for k in ids[1:])


def panels(words: Words, word: str, heads: int, layers: int) -> tuple[Image, Table, Table]:
    """Attention, what comes next, new words: of `word`, in the order of the column."""
    shown = [words.end, *words.ids(word)][: words.context]
    look = partial(read, ids=shown, heads=heads, layers=layers)
    count = f"{heads} head{'s' if heads > 1 else ''}"
    return (
        Image(f"attention in {word}", lambda moment: maps(look(moment)), f"{count}, brighter: more"),
        Table(f"what comes next in {word}", lambda moment: following(look(moment), words, shown)),
        Table(f"new words, temperature {TEMPERATURE}", lambda moment: _said(moment, words, heads, layers), lines=2),
    )


def _said(moment: Moment, words: Words, heads: int, layers: int) -> list[list[str]]:
    made = [new_word(moment, words, heads, layers, number) or "-" for number in range(6)]
    return [made[:3], made[3:]]


def maps(found: Read) -> Float:
    """The heads side by side: a row a letter, a column each letter that it may look at; H x W x 3 in 0..1."""
    heads, letters, _ = found.attention.shape
    paper = np.full((letters, heads * (letters + GAP) - GAP), PAPER)
    lower = np.tri(letters, dtype=bool)
    for h in range(heads):
        left = h * (letters + GAP)
        paper[:, left : left + letters][lower] = 0.2 + 0.8 * found.attention[h][lower]
    return np.repeat(paper[:, :, None], 3, axis=2)


def following(found: Read, words: Words, shown: list[int]) -> list[list[str]]:
    """Of each letter the likeliest that follow, with their percentages."""
    names = [*words.letters, END]
    rows = []
    for letter, likely in zip(shown, found.likely, strict=True):
        best = np.argsort(likely)[::-1][:LIKELIEST]
        name = "start" if letter == words.end else names[letter]
        rows.append([name, *(f"{names[k]} {100 * likely[k]:.0f} %" for k in best)])
    return rows
