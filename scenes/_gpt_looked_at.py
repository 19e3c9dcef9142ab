"""What a picture of the GPT shows: who looks back at whom, what comes next, and words that nobody wrote.

The forward pass once more, in plain NumPy over whole words: it takes the weights of the frame that is on screen, so all
that is shown belongs to one moment.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from scalarviz import rng
from scalarviz.run import Moment
from scalarviz.run.panels import Reading, WordBoard

from ._gpt import EPSILON
from ._words import Words

Float = NDArray[np.floating]
NEW, TEMPERATURE = 6, 0.6


def read(moment: Moment, ids: list[int], heads: int, layers: int) -> Reading:
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
    return Reading(shares, _softmax(x @ moment.tensor("letters.weight").T))


def _rmsnorm(x: Float) -> Float:
    return np.asarray(x / np.sqrt(np.mean(x * x, axis=-1, keepdims=True) + EPSILON))


def _by_head(x: Float, heads: int) -> Float:
    return x.reshape(len(x), heads, -1).transpose(1, 0, 2)


def _softmax(x: Float) -> Float:
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return np.asarray(e / e.sum(axis=-1, keepdims=True))


def new_word(moment: Moment, words: Words, heads: int, layers: int, number: int, temperature: float) -> str:
    """A word that the network of that moment makes up, letter by letter; the same dice at every moment."""
    ids, dice = [words.end], rng.uniform(number, rng.Stream.DATA, 0, words.context)
    for die in dice[: words.context]:
        likely = read(moment, ids, heads, layers).likely[-1] ** (1 / temperature)
        chosen = int(np.searchsorted(np.cumsum(likely / likely.sum()), die))
        if chosen >= words.end or len(ids) == words.context:
            break
        ids.append(chosen)
    return "".join(words.letters[k] for k in ids[1:])


def board(words: Words, word: str, heads: int, layers: int) -> WordBoard:
    """The panel: `word` at first, and any that is typed."""

    def look(moment: Moment, word: str) -> Reading:
        return read(moment, [words.end, *words.ids(word)], heads, layers)

    def make(moment: Moment, temperature: float) -> list[str]:
        return [new_word(moment, words, heads, layers, number, temperature) for number in range(NEW)]

    return WordBoard(word, words.letters, words.context - 1, look, make, TEMPERATURE)
