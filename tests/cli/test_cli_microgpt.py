"""What `scalarviz microgpt` does: the script's own gradients, its words, its picture's numbers, and bad input."""

from __future__ import annotations

import itertools
import math
from types import SimpleNamespace

import numpy as np
import pytest
from scalarviz.scenes import microgpt
from scalarviz.scenes._gpt import GPT, next_letter, weights_of
from scalarviz.scenes._gpt_looked_at import board, new_word, read
from scalarviz.scenes._words import NAMES, Words, load_words

from scalarviz import Run, optim
from scalarviz.errors import FileFormatError, InputError
from scalarviz.run import Moment
from scalarviz.run.run_source import RunSource


class Scalar:
    """The script's own: a number, its children, and the derivatives by them."""

    def __init__(self, data, children=(), slopes=()):
        self.data, self.grad, self.children, self.slopes = data, 0.0, children, slopes

    def __add__(self, other):
        other = other if isinstance(other, Scalar) else Scalar(other)
        return Scalar(self.data + other.data, (self, other), (1.0, 1.0))

    def __mul__(self, other):
        other = other if isinstance(other, Scalar) else Scalar(other)
        return Scalar(self.data * other.data, (self, other), (other.data, self.data))

    def __pow__(self, power):
        return Scalar(self.data**power, (self,), (power * self.data ** (power - 1),))

    def log(self):
        return Scalar(math.log(self.data), (self,), (1 / self.data,))

    def exp(self):
        return Scalar(math.exp(self.data), (self,), (math.exp(self.data),))

    def relu(self):
        return Scalar(max(0.0, self.data), (self,), (float(self.data > 0),))

    def __truediv__(self, other):
        return self * (other**-1 if isinstance(other, Scalar) else 1 / other)

    def __sub__(self, other):
        return self + (-other)

    __radd__, __rmul__ = __add__, __mul__

    def backward(self):
        order, seen, stack = [], set(), [(self, False)]
        while stack:
            node, done = stack.pop()
            if done:
                order.append(node)
            elif node not in seen:
                seen.add(node)
                stack += [(node, True), *((child, False) for child in node.children)]
        self.grad = 1.0
        for node in reversed(order):
            for child, slope in zip(node.children, node.slopes, strict=True):
                child.grad += slope * node.grad


def linear(x, w):
    return [sum(wi * xi for wi, xi in zip(wo, x, strict=True)) for wo in w]


def softmax(logits):
    top = max(value.data for value in logits)
    exps = [(value - top).exp() for value in logits]
    total = sum(exps)
    return [e / total for e in exps]


def rmsnorm(x):
    scale = (sum(xi * xi for xi in x) / len(x) + 1e-5) ** -0.5
    return [xi * scale for xi in x]


def script_loss(state, tokens, heads):
    """The script's loop over one word, ``gpt(token_id, pos_id, keys, values)`` inside."""
    keys, values, losses = [], [], []
    size = len(state["position.weight"][0]) // heads
    for place, (token, target) in enumerate(itertools.pairwise(tokens)):
        x = [t + p for t, p in zip(state["token.weight"][token], state["position.weight"][place], strict=True)]
        x = rmsnorm(x)
        before, x = x, rmsnorm(x)
        q = linear(x, state["layers.0.q.weight"])
        keys.append(linear(x, state["layers.0.k.weight"]))
        values.append(linear(x, state["layers.0.v.weight"]))
        attention = []
        for h in range(heads):
            own = slice(h * size, (h + 1) * size)
            logits = [sum(a * b for a, b in zip(q[own], k[own], strict=True)) / size**0.5 for k in keys]
            weights = softmax(logits)
            attention += [sum(w * v[own][j] for w, v in zip(weights, values, strict=True)) for j in range(size)]
        x = [a + b for a, b in zip(linear(attention, state["layers.0.o.weight"]), before, strict=True)]
        before, x = x, rmsnorm(x)
        x = linear([xi.relu() for xi in linear(x, state["layers.0.up.weight"])], state["layers.0.down.weight"])
        x = [a + b for a, b in zip(x, before, strict=True)]
        losses.append(softmax(linear(x, state["letters.weight"]))[target].log() * -1.0)
    return sum(losses) / len(losses)


@pytest.fixture(scope="module")
def words():
    return load_words(None, 16)


@pytest.fixture(scope="module")
def run(words):
    """A run of the whole size on some names, in float64, with larger weights than at the start."""
    net = GPT(words.tokens, 16, 16, 4, 1, seed=3)
    for parameter in net.parameters():
        parameter.data *= 4
    chosen = ["olivia", "bo", "maximilian", "a" * 20]
    adam = optim.Adam(net.parameters(), lr=0.01)
    return Run(net, next_letter, adam, words.samples(chosen), engine="numba", dtype="float64", batch_size=1)


@pytest.mark.parametrize("step", range(4))
def test_gradients_are_those_of_the_script(run, words, step):
    """Of one word, as there; 4,192 of them."""
    loss = run._training.trainer.gradient(step)
    state = {t.name: [[Scalar(float(w)) for w in row] for row in t.of(run.values)] for t in run.tensors}
    (sample,) = run.problem.indices(step)
    word = ["olivia", "bo", "maximilian", "a" * 20][sample]
    tokens = [words.end, *words.ids(word), words.end][:17]
    wanted = script_loss(state, tokens, 4)
    wanted.backward()
    assert loss == pytest.approx(wanted.data, rel=1e-13)
    for tensor in run.tensors:
        theirs = np.array([[w.grad for w in row] for row in state[tensor.name]])
        np.testing.assert_allclose(tensor.of(run._store.grad), theirs, rtol=0, atol=1e-12, err_msg=tensor.name)
    assert run.n_weights == 4192 == weights_of(27, 16, 16, 1)


def moment_of(run):
    return Moment(run.frame(), RunSource(run))


@pytest.mark.parametrize("layers", [1, 2])
def test_what_the_picture_shows_is_what_the_network_says(words, layers):
    net = GPT(words.tokens, 8, 8, 2, layers, seed=1)
    few = Words(words.letters, words.train, words.test, 8)
    run = Run(net, next_letter, optim.Adam(net.parameters(), lr=0.01), few.samples(words.train[:50]), engine="numpy",
              dtype="float64", batch_size=10)  # fmt: skip
    run.step(5)
    ids = [few.end, *few.ids("olivia")]
    found = read(moment_of(run), ids, 2, layers)
    logits = run.predict(few.samples(["olivia"])[0]).reshape(8, few.tokens)[: len(ids)]
    likely = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(found.likely, likely, rtol=1e-10)
    np.testing.assert_allclose(found.attention.sum(axis=2), 1, rtol=1e-12)
    assert not np.triu(found.attention, 1).any()
    panel = board(few, "olivia", 2, layers)
    np.testing.assert_array_equal(panel.look(moment_of(run), "olivia").likely, found.likely)


def test_new_words_are_drawn_by_their_probabilities(words):
    """The first letters of many words are as frequent as the network says at that temperature."""
    net = GPT(words.tokens, 8, 8, 2, 1, seed=1)
    for parameter in net.parameters():
        parameter.data *= 6
    few = Words(words.letters, words.train, words.test, 8)
    run = Run(net, next_letter, optim.Adam(net.parameters(), lr=0.01), few.samples(words.train[:9]), engine="numpy")
    moment = moment_of(run)
    likely = read(moment, [few.end], 2, 1).likely[0] ** (1 / 0.6)
    wanted = likely[:26] / likely.sum()
    made = [new_word(moment, few, 2, 1, number, 0.6).word for number in range(400)]
    assert made == [new_word(moment, few, 2, 1, number, 0.6).word for number in range(400)]
    found = np.array([sum(word[:1] == letter for word in made) for letter in few.letters]) / 400
    assert np.abs(found - wanted).max() < 4 * np.sqrt(0.25 / 400)
    assert max(map(len, made)) <= 7


def test_the_names_are_split_and_no_word_is_in_both(words):
    assert len(NAMES.read_text().splitlines()) == 32_033
    assert (len(words.train), len(words.test), words.letters) == (28_982, 512, "abcdefghijklmnopqrstuvwxyz")
    assert not set(words.train) & set(words.test)


def test_samples_end_where_the_word_ends(words):
    x, y = words.samples(["bo", "a" * 30])
    assert x[0].tolist() == [26, 1, 14, *[0] * 13]
    assert y[0, :16].tolist() == [1, 14, 26, *[0] * 13]
    assert y[0, 16:].tolist() == [1 / 3] * 3 + [0] * 13
    assert y[1, 16:].tolist() == [1 / 16] * 16
    assert (y[1, :16] == 0).all()


def test_it_learns_and_says_so(cli, tmp_path):
    text = tmp_path / "words.txt"
    text.write_text("\n".join(f"{a}{b}{c}" for a in "abc" for b in "ou" for c in "xyz"))
    found = cli("microgpt", "--headless", "--engine", "numpy", "--text", str(text), "--embd", "4", "--heads", "2",
                "--context", "5", "--batch", "100", "--steps", "60", "--out", str(tmp_path / "x.png"),
                "--json")  # fmt: skip
    assert found.code == 0
    assert "a batch is all 17 words" in found.err + found.out
    said = found.json if hasattr(found, "json") else found.out
    assert "test_loss" in str(said)
    assert (tmp_path / "x.png").stat().st_size > 1000


BAD = {
    "empty": (b"", FileFormatError, "at least 2"),
    "one": (b"only\n", FileFormatError, "1 words"),
    "spaces": (b"good\ntwo words\n", FileFormatError, "line 2"),
    "bytes": (b"ab\ncd\n\xff\xfe", FileFormatError, "UTF-8"),
    "control": (b"ab\ncd\nx\x00y\n", FileFormatError, "line 3"),
    "letters": ("\n".join(chr(0x4E00 + k) for k in range(300)).encode(), FileFormatError, "300 different letters"),
}


@pytest.mark.parametrize("name", BAD)
def test_files_that_are_no_words(tmp_path, name):
    content, kind, text = BAD[name]
    path = tmp_path / "bad.txt"
    path.write_bytes(content)
    with pytest.raises(kind, match=text):
        load_words(path, 16)


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(InputError, match="cannot be read"):
        load_words(tmp_path / "nowhere.txt", 16)
    with pytest.raises(InputError, match="cannot be read"):
        load_words(tmp_path, 16)


def test_heads_must_divide():
    with pytest.raises(InputError, match="--heads must divide --embd"):
        microgpt.build(microgpt.Options(embd=6, heads=4))


def test_words_that_are_longer_are_said(tmp_path):
    path = tmp_path / "words.txt"
    path.write_text("abcdefgh\nab\nabc\n")
    scene = microgpt.build(microgpt.Options(text=path, context=4, embd=2, heads=1, engine="numpy"))
    assert any("1 of them are longer" in note for note in scene.notes)
    assert isinstance(scene.probe, np.ndarray)
    assert SimpleNamespace(**microgpt.report(scene)).test_loss > 0


@pytest.mark.parametrize("context", [2, 3, 8])
def test_words_that_are_all_longer_are_cut_in_the_picture_too(tmp_path, context):
    path = tmp_path / "words.txt"
    path.write_text("\n".join("bcdfghjklm"[k:] + "nopqrstu"[: k + 1] for k in range(7)))
    scene = microgpt.build(microgpt.Options(text=path, context=context, embd=2, heads=1, engine="numpy"))
    assert np.count_nonzero(np.asarray(scene.probe_target)[context:]) == context
    assert SimpleNamespace(**microgpt.report(scene)).test_loss > 0
