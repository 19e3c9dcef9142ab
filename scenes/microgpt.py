"""A GPT learns to invent names: that of the well-known 200-line script, with a cube for every weight."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import scalarviz as sv
from scalarviz import nn, optim, rng
from scalarviz.data.words import Words, load_words
from scalarviz.errors import InputError
from scalarviz.run import Group, Moment, Placed, Plan, Room, Story
from scalarviz.run.panels import Invented, LossCurve, Reading, TestCurve, WordBoard

from . import kit
from .options import Positive, SceneOptions, ScheduleFlag, Steps, flag

BETAS = (0.85, 0.99)
SHOWN = "olivia"
FALL = 0.05  # letter frequencies alone give a loss of 2.8, a trained network 2


class Options(SceneOptions):
    """The flags of ``scalarviz microgpt``: each field is one."""

    rates = kit.rates(adam=0.01)
    rare = SceneOptions.rare | {"heads", "context"}
    steps: Steps = flag("training steps", 4000)
    text: Path | None = flag(
        "a file with one word per line, to learn instead of names", None, metavar="FILE", shown="29,494 given names"
    )
    embd: int = flag("size of the embedding: numbers per letter", 16, ge=1, le=256)
    heads: int = flag("attention heads", 4, ge=1, le=256)
    layers: int = flag("layers, each attention and an MLP", 1, ge=1, le=16)
    context: int = flag("context length: letters of the longest word, plus one for its start", 16, ge=2, le=64)
    batch: int = flag("words per step", 64, ge=1, le=10**6)
    lr: Positive = flag("learning rate of Adam", rates["adam"])
    schedule: ScheduleFlag = ("linear", None)


def build(options: Options) -> sv.Scene:
    """Put the scene together: words, network, loss, optimiser, and what to show."""
    if options.embd % options.heads:
        raise InputError(f"--embd must be a multiple of --heads; got --embd {options.embd} --heads {options.heads}")
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
    """The sentence with three words that the network invents."""
    make = partial(new_word, words, options.heads, options.layers)
    made = [make(moment, TEMPERATURE, k).word for k in range(3)]
    return f"They now invent {', '.join(word or 'nothing' for word in made)}."


def report(scene: sv.Scene) -> dict[str, float]:
    """Numbers that this scene adds to the last line and to the JSON: the test loss, and the loss of guessing."""
    curve = next(panel.test for panel in scene.panels if isinstance(panel, LossCurve))
    assert isinstance(curve, TestCurve)
    tokens = next(tensor.shape[0] for tensor in scene.run.tensors if tensor.name == "token.weight")
    found = {"test_loss": scene.run.evaluate(curve.inputs, curve.targets), "guessing": np.log(tokens)}
    return {name: round(float(loss), 4) for name, loss in found.items()}


# ---- The GPT of the well-known 200-line script as a module: letter by letter, each letter attends to those before it.
#
# Read it beside the script. ``state_dict['wte'][token_id]`` there is ``self.token(letter)`` here, ``linear(x, w)`` is
# ``self.q(x)``, and a Run replaces `backward` and Adam.


EPSILON = 1e-5


def rmsnorm(x: Any) -> Any:
    """The numbers of a row, divided by their root mean square."""
    return x * (x @ x * (1.0 / len(x)) + EPSILON) ** -0.5


class Layer(nn.Module):
    """Attention, then an MLP of two layers; each adds its result to its input."""

    def __init__(self, embd: int, heads: int) -> None:
        self.heads, self.head_dim = heads, embd // heads
        self.q, self.k, self.v, self.o = (nn.Linear(embd, embd, bias=False) for _ in range(4))
        self.up, self.down = nn.Linear(embd, 4 * embd, bias=False), nn.Linear(4 * embd, embd, bias=False)

    def forward(self, x: Any, keys: list[Any], values: list[Any]) -> Any:
        """The output for one letter; `keys` and `values` hold those of earlier letters, and this letter's are added."""
        normed = rmsnorm(x)
        q = self.q(normed)
        keys.append(self.k(normed))
        values.append(self.v(normed))
        past, offered, attention = sv.stack(keys, -2), sv.stack(values, -2), []
        for h in range(self.heads):
            own = slice(h * self.head_dim, (h + 1) * self.head_dim)
            scores = q[own] @ past[..., own].transpose(-2, -1) * self.head_dim**-0.5
            attention.append(scores.softmax(-1) @ offered[..., own])
        x = self.o(sv.cat(attention)) + x
        return self.down(self.up(rmsnorm(x)).relu()) + x


class GPT(nn.Module):
    """The network: at every place of a word, one logit for each letter that may follow.

    Parameters
    ----------
    tokens, context : int
        The number of letters plus one for the end; the length of the longest sample.
    embd, heads, layers : int
        Numbers per letter; attention heads; layers.
    seed : int
    """

    def __init__(self, tokens: int, context: int, embd: int, heads: int, layers: int, seed: int = 0) -> None:
        self.token = nn.Embedding(tokens, embd)
        self.position = nn.Embedding(context, embd)
        self.layers = [Layer(embd, heads) for _ in range(layers)]
        self.letters = nn.Linear(embd, tokens, bias=False)
        self.initialize(nn.init.normal(0.0, 0.08), seed=seed)

    def forward(self, word: Iterable[sv.Value]) -> Any:
        """The logits of all places, a row for each: shape (context, tokens)."""
        seen: list[tuple[list[Any], list[Any]]] = [([], []) for _ in self.layers]
        logits = []
        for place, letter in enumerate(word):
            x = rmsnorm(self.token(letter) + self.position(place))
            for layer, (keys, values) in zip(self.layers, seen, strict=True):
                x = layer.forward(x, keys, values)
            logits.append(self.letters(x))
        return sv.stack(logits, -2)


def next_letter(logits: Any, targets: Any) -> Any:
    """The mean of ``-log(probability)`` over a word; `targets` holds the letters, then the share of each."""
    half, one = len(targets) // 2, nn.CrossEntropyLoss()
    return sv.dot(targets[half:], [one(row, letter) for row, letter in zip(logits, targets[:half], strict=True)])


def weights_of(tokens: int, context: int, embd: int, layers: int) -> int:
    """The number of weights of such a network."""
    return embd * (2 * tokens + context + layers * 12 * embd)


# ---- The panels of the GPT: attention, the probabilities of the next letter, and invented words.
#
# This is the forward pass again, in NumPy over whole words. It takes the weights of the frame on screen, so that
# everything shown belongs to one moment.


Float = NDArray[np.floating]
TEMPERATURE = 0.6
DICE = 8  # seeds of new names begin here: from 0 on some are words that no class should read


def read(moment: Moment, ids: list[int], heads: int, layers: int) -> Reading:
    """What the network of a moment computes for a word, given as letter numbers; attention is the last layer's."""
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
    """A word that the network of a moment invents; `number` fixes the random numbers, the same at every moment."""
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
    """The panel that reads `word`, and later any word that you type."""

    def look(moment: Moment, word: str) -> Reading:
        return read(moment, [words.end, *words.ids(word)], heads, layers)

    make = partial(new_word, words, heads, layers)
    return WordBoard(word, words.letters, words.context - 1, look, make, TEMPERATURE)


def plan_of(layers: int, embd: int) -> Plan:
    """The places of the tensors, from the embedding to the output, in the order of the forward pass.

    Several layers need more than one row; then only the names are used.
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
