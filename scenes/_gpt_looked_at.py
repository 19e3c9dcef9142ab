"""What a picture of the GPT shows: who looks back at whom, what comes next, and words that nobody wrote.

The forward pass once more, in plain NumPy over whole words: it takes the weights of the frame that is on screen, so all
that is shown belongs to one moment.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from scalarviz import rng
from scalarviz.run import Group, Moment, Placed, Plan, Room
from scalarviz.run.panels import Invented, Reading, WordBoard

from ._gpt import EPSILON
from ._words import Words

Float = NDArray[np.floating]
TEMPERATURE = 0.6


def read(moment: Moment, ids: list[int], heads: int, layers: int) -> Reading:
    """The network of that moment reads a word, given as numbers of its letters; attention is that of the last layer."""
    x = _rmsnorm(moment.tensor("token.weight")[ids] + moment.tensor("position.weight")[: len(ids)])
    unseen = ~np.tri(len(ids), dtype=bool)
    shares: Float = np.zeros((heads, len(ids), len(ids)))
    hidden, stream = shares, [x]
    for k in range(layers):
        q, key, value, o, up, down = (
            moment.tensor(f"layers.{k}.{part}.weight").T for part in ("q", "k", "v", "o", "up", "down")
        )
        before, x = x, _rmsnorm(x)
        asked, offered, taken = (_by_head(x @ part, heads) for part in (q, key, value))
        scores = asked @ offered.transpose(0, 2, 1) * asked.shape[2] ** -0.5
        shares = _softmax(np.where(unseen, -np.inf, scores))
        x = (shares @ taken).transpose(1, 0, 2).reshape(x.shape) @ o + before
        stream.append(x)
        hidden = np.maximum(_rmsnorm(x) @ up, 0)
        x = hidden @ down + x
        stream.append(x)
    likely = _softmax(x @ moment.tensor("letters.weight").T)
    best = tuple(int(k) for k in np.argmax(likely, axis=1))
    uses = (("token.weight", tuple(ids)), ("position.weight", tuple(range(len(ids)))), ("letters.weight", best))
    return Reading(shares, likely, tuple(stream), (f"layers.{layers - 1}.up.weight", hidden), uses)


def _rmsnorm(x: Float) -> Float:
    return np.asarray(x / np.sqrt(np.mean(x * x, axis=-1, keepdims=True) + EPSILON))


def _by_head(x: Float, heads: int) -> Float:
    return x.reshape(len(x), heads, -1).transpose(1, 0, 2)


def _softmax(x: Float) -> Float:
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return np.asarray(e / e.sum(axis=-1, keepdims=True))


def new_word(moment: Moment, words: Words, heads: int, layers: int, number: int, temperature: float) -> Invented:
    """A word that the network of that moment makes up, letter by letter; the same dice at every moment."""
    ids, surely, dice = [words.end], list[float](), rng.uniform(number, rng.Stream.DATA, 0, words.context)
    for die in dice[: words.context]:
        likely = read(moment, ids, heads, layers).likely[-1]
        tempered = likely ** (1 / temperature)
        chosen = int(np.searchsorted(np.cumsum(tempered / tempered.sum()), die))
        if chosen >= words.end or len(ids) == words.context:
            break
        ids.append(chosen)
        surely.append(float(likely[chosen]))
    return Invented("".join(words.letters[k] for k in ids[1:]), tuple(surely))


def board(words: Words, word: str, heads: int, layers: int) -> WordBoard:
    """The panel: `word` at first, and any that is typed."""

    def look(moment: Moment, word: str) -> Reading:
        return read(moment, [words.end, *words.ids(word)], heads, layers)

    def make(moment: Moment, temperature: float, number: int) -> Invented:
        return new_word(moment, words, heads, layers, number, temperature)

    return WordBoard(word, words.letters, words.context - 1, look, make, TEMPERATURE)


def plan_of(layers: int, embd: int) -> Plan:
    """Where the tensors stand: embedding, attention, network, head; in one layer numbers go through them in this order.

    Several layers are too much for one row: there the names alone are used.
    """
    groups = [Group("embedding", ((Placed("token.weight", "token"), Placed("position.weight", "position")),))]
    for k in range(layers):
        more, own = (f" {k + 1}", f"layers.{k}") if layers > 1 else ("", "layers.0")
        q, key, value, o, up = (Placed(f"{own}.{part}.weight", f"{part}{more}") for part in ("q", "k", "v", "o", "up"))
        down = Placed(f"{own}.down.weight", f"down{more}", turned=True)
        rooms = (Room(f"attention{more}", 104.0),), (Room(f"hidden{more}", 34.0),)
        groups.append(Group(f"attention{more}", ((q, key, value), *rooms[0], (o,))))
        groups.append(Group(f"MLP{more}", ((up,), *rooms[1], (down,))))
    groups.append(Group("head", ((Placed("letters.weight", "letters"),), Room("next", 64.0))))
    return Plan(tuple(groups), f"residual stream: {embd} numbers a letter")
