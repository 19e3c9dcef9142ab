"""A GPT as in the well-known 200-line script, as a module: letter after letter, each looking back at the others.

Read it beside the script. What is ``state_dict['wte'][token_id]`` there is ``self.token(letter)`` here,
``linear(x, w)`` is ``self.q(x)``, and a Run takes the place of `backward` and of Adam.
"""

from __future__ import annotations

from collections.abc import Sequence

import scalarviz as sv
from scalarviz import nn
from scalarviz.scalar.sums import dot

EPSILON = 1e-5
Vector = list[sv.Value]


def rmsnorm(x: Vector) -> Vector:
    """The numbers divided by the root of the mean of their squares."""
    mean_square = dot(x, x) * (1.0 / len(x))
    scale = (mean_square + EPSILON) ** -0.5
    return [xi * scale for xi in x]


class Layer(nn.Module):
    """Attention, then a network of two layers; each adds to what comes in."""

    def __init__(self, embd: int, heads: int) -> None:
        self.heads, self.head_dim = heads, embd // heads
        self.q, self.k, self.v, self.o = (nn.Linear(embd, embd, bias=False) for _ in range(4))
        self.up, self.down = nn.Linear(embd, 4 * embd, bias=False), nn.Linear(4 * embd, embd, bias=False)

    def forward(self, x: Vector, keys: list[Vector], values: list[Vector]) -> Vector:
        """The numbers of one letter; `keys` and `values` hold those of the letters before it, and get its own."""
        before = x
        x = rmsnorm(x)
        q = self.q(x)
        keys.append(self.k(x))
        values.append(self.v(x))
        attention: Vector = []
        for h in range(self.heads):
            own = slice(h * self.head_dim, (h + 1) * self.head_dim)
            scores = [dot(q[own], key[own]) * self.head_dim**-0.5 for key in keys]
            weights = sv.softmax(scores)
            attention += [dot(weights, channel) for channel in zip(*(value[own] for value in values), strict=True)]
        x = [a + b for a, b in zip(self.o(attention), before, strict=True)]
        before = x
        hidden = [number.relu() for number in self.up(rmsnorm(x))]
        return [a + b for a, b in zip(self.down(hidden), before, strict=True)]


class GPT(nn.Module):
    """From the letters so far to a number for each letter that may follow, at every place of a word.

    Parameters
    ----------
    tokens, context : int
        Letters of the alphabet and one more; the longest sample.
    embd, heads, layers : int
        Numbers a letter; parts of them that look back by themselves; how often.
    seed : int
    """

    def __init__(self, tokens: int, context: int, embd: int, heads: int, layers: int, seed: int = 0) -> None:
        self.token = nn.Embedding(tokens, embd)
        self.position = nn.Embedding(context, embd)
        self.layers = [Layer(embd, heads) for _ in range(layers)]
        self.letters = nn.Linear(embd, tokens, bias=False)
        self.initialize(nn.init.normal(0.0, 0.08), seed=seed)

    def forward(self, word: list[sv.Value]) -> Vector:
        """All places one behind the other: ``context * tokens`` numbers."""
        keys: list[list[Vector]] = [[] for _ in self.layers]
        values: list[list[Vector]] = [[] for _ in self.layers]
        logits: Vector = []
        for place, letter in enumerate(word):
            x = [t + p for t, p in zip(self.token(letter), self.position(place), strict=True)]
            x = rmsnorm(x)
            for layer, seen, offered in zip(self.layers, keys, values, strict=True):
                x = layer.forward(x, seen, offered)
            logits += self.letters(x)
        return logits


def next_letter(outputs: Sequence[sv.Value], targets: Sequence[sv.Value]) -> sv.Value:
    """The mean of ``-log(probability)`` over a word: half of `targets` are the letters, half their shares."""
    context = len(targets) // 2
    tokens = len(outputs) // context
    one = nn.CrossEntropyLoss()
    losses = [one(outputs[t * tokens : (t + 1) * tokens], [targets[t]]) for t in range(context)]
    return dot(targets[context:], losses)


def weights_of(tokens: int, context: int, embd: int, layers: int) -> int:
    """How many weights there are."""
    return embd * (2 * tokens + context + layers * 12 * embd)
