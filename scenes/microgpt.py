"""A GPT learns to invent names, as in the well-known 200-line script; every weight is a cube."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import scalarviz as sv
from scalarviz import nn, optim, rng
from scalarviz.data.words import Words, load_words
from scalarviz.errors import InputError
from scalarviz.run import Group, Moment, Placed, Plan, Room, Story
from scalarviz.run.panels import Invented, LossCurve, Reading, TestCurve, WordBoard
from scalarviz.scalar.sums import dot

from . import kit
from .options import Positive, SceneOptions, ScheduleFlag, Steps, flag

BETAS = (0.85, 0.99)
SHOWN = "olivia"
FALL = 0.05  # who knows how frequent letters are has a loss of 2.8, who knows all of the names one of 2


class Options(SceneOptions):
    """The flags of ``scalarviz microgpt``: each field is one."""

    rates = kit.rates(adam=0.01)
    rare = SceneOptions.rare | {"heads", "context"}
    steps: Steps = flag("training steps", 4000)
    text: Path | None = flag(
        "a file of words, one a line, instead of the names", None, metavar="FILE", shown="32,033 given names"
    )
    embd: int = flag("size of the embedding: numbers per letter", 16, ge=1, le=256)
    heads: int = flag("attention heads", 4, ge=1, le=256)
    layers: int = flag("layers, each attention and an MLP", 1, ge=1, le=16)
    context: int = flag("context length: the longest word, with its start", 16, ge=2, le=64)
    batch: int = flag("words per step", 64, ge=1, le=10**6)
    lr: Positive = flag("learning rate of Adam", rates["adam"])
    schedule: ScheduleFlag = ("linear", None)


def build(options: Options) -> sv.Scene:
    """Put the scene together: words, network, loss, optimiser, and what to show."""
    if options.embd % options.heads:
        raise InputError(f"--heads must divide --embd, got {options.embd} numbers for {options.heads} heads")
    words = load_words(options.text, options.context)
    kit.check_memory(options, weights_of(words.tokens, options.context, options.embd, options.layers))
    net = GPT(words.tokens, options.context, options.embd, options.heads, options.layers, options.seed)
    adam = optim.Adam(net.parameters(), lr=options.lr, betas=BETAS)
    count = f"{len(words.train):,} training words, {len(words.test):,} held-out"
    notes = [f"{count}, {len(words.letters)} letters"]
    if longer := sum(len(word) >= options.context for word in (*words.train, *words.test)):
        notes.append(f"{longer:,} of them are longer than --context {options.context} and are cut")
    batch = kit.batch_of(options, len(words.train), "word", notes)
    run = kit.train(options, net, next_letter, words.samples(words.train), adam, batch_size=batch)
    test = TestCurve(f"{len(words.test):,} held-out words", *words.samples(words.test))
    known = set(SHOWN) <= set(words.letters) and len(SHOWN) < options.context
    shown = SHOWN if known else words.test[0][: options.context - 1]
    probe, target = words.samples([shown])
    return sv.Scene(
        name="microgpt",
        run=run,
        options=options,
        probe=probe[0],
        probe_target=target[0],
        panels=(board(words, shown, options.heads, options.layers), LossCurve(f"{batch:,} words a step", test)),
        notes=notes,
        plan=plan_of(options.layers, options.embd),
        story=Story("They learn to invent names, letter by letter.", claim=partial(_claim, words, options), fall=FALL),
    )


def _claim(words: Words, options: Options, moment: Moment) -> str:
    """Words that it makes up, as they come."""
    make = partial(new_word, words, options.heads, options.layers)
    made = [make(moment, TEMPERATURE, k).word for k in range(3)]
    return f"They now invent {', '.join(word or 'nothing' for word in made)}."


def report(scene: sv.Scene) -> dict[str, float]:
    """What the last line and the JSON say beyond what they say of every scene: its loss, and that of pure guessing."""
    curve = next(panel.test for panel in scene.panels if isinstance(panel, LossCurve))
    assert isinstance(curve, TestCurve)
    tokens = next(tensor.shape[0] for tensor in scene.run.tensors if tensor.name == "token.weight")
    found = {"test_loss": scene.run.evaluate(curve.inputs, curve.targets), "guessing": np.log(tokens)}
    return {name: round(float(loss), 4) for name, loss in found.items()}


# ---- A GPT as in the well-known 200-line script, as a module: letter after letter, each looking back at the others.
#
# Read it beside the script. What is ``state_dict['wte'][token_id]`` there is ``self.token(letter)`` here,
# ``linear(x, w)`` is ``self.q(x)``, and a Run takes the place of `backward` and of Adam.


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


# ---- What a picture of the GPT shows: who looks back at whom, what comes next, and words that nobody wrote.
#
# The forward pass once more, in plain NumPy over whole words: it takes the weights of the frame that is on
# screen, so all that is shown belongs to one moment.


Float = NDArray[np.floating]
TEMPERATURE = 0.6
DICE = 8  # seeds of new names begin here: from 0 on some are words that no class should read


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


def new_word(words: Words, heads: int, layers: int, moment: Moment, temperature: float, number: int) -> Invented:
    """A word that the network of that moment makes up, letter by letter; the same dice at every moment."""
    ids, surely = [words.end], list[float]()
    for die in rng.uniform(DICE + number, rng.Stream.DATA, 0, words.context):
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

    make = partial(new_word, words, heads, layers)
    return WordBoard(word, words.letters, words.context - 1, look, make, TEMPERATURE)


def plan_of(layers: int, embd: int) -> Plan:
    """Where the tensors stand, from the embedding to the output; in one layer numbers go through them in this order.

    Several layers are too much for one row: there the names alone are used.
    """
    groups = [Group("embedding", ((Placed("token.weight", "token"), Placed("position.weight", "position")),))]
    for k in range(layers):
        more = f" {k + 1}" if layers > 1 else ""
        q, key, value, o, up, down = (
            Placed(f"layers.{k}.{part}.weight", f"{part}{more}", turned=part == "down")
            for part in ("q", "k", "v", "o", "up", "down")
        )
        groups.append(Group(f"attention{more}", ((q, key, value), Room(f"attention{more}", 104.0), (o,))))
        groups.append(Group(f"MLP{more}", ((up,), Room(f"hidden{more}", 34.0), (down,))))
    groups.append(Group("output", ((Placed("letters.weight", "letters"),), Room("next", 64.0))))
    return Plan(tuple(groups), f"residual stream: {embd} numbers a letter")
