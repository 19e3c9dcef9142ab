"""What `scalarviz microgpt` computes, shows and invents, against the script that it follows, written out in NumPy."""

import itertools

import numpy as np
import pytest

from kit.commands import moment_of
from kit.inside_scenes import GPT, Words, board, load_words, new_word, next_letter, read_gpt, weights_of
from scalarviz import Run, optim


def softmax(logits):
    exps = np.exp(logits - logits.real.max())
    return exps / exps.sum()


def rmsnorm(x):
    return x * ((x * x).sum() / len(x) + 1e-5) ** -0.5


def script_loss(state, tokens, heads):
    """The script's loop over one word, ``gpt(token_id, pos_id, keys, values)`` inside; also of complex numbers."""
    keys, values, losses = [], [], []
    size = len(state["position.weight"][0]) // heads
    for place, (token, target) in enumerate(itertools.pairwise(tokens)):
        x = rmsnorm(state["token.weight"][token] + state["position.weight"][place])
        before, x = x, rmsnorm(x)
        q = state["layers.0.q.weight"] @ x
        keys.append(state["layers.0.k.weight"] @ x)
        values.append(state["layers.0.v.weight"] @ x)
        attention = []
        for own in (slice(h * size, (h + 1) * size) for h in range(heads)):
            weights = softmax(np.array([(q[own] * k[own]).sum() / size**0.5 for k in keys]))
            attention.append(sum(w * v[own] for w, v in zip(weights, values, strict=True)))
        before = x = state["layers.0.o.weight"] @ np.concatenate(attention) + before
        x = state["layers.0.up.weight"] @ rmsnorm(x)
        x = state["layers.0.down.weight"] @ np.where(x.real > 0, x, 0) + before
        losses.append(-np.log(softmax(state["letters.weight"] @ x)[target]))
    return sum(losses) / len(losses)


@pytest.fixture(scope="module")
def words():
    return load_words(None, 16)


CHOSEN = ["olivia", "bo", "maximilian", "a" * 20]


@pytest.mark.ci
def test_loss_and_gradients_are_those_of_the_script(words):
    """Of one word a step, with larger weights than at the start; derivatives of the script by complex steps."""
    net = GPT(words.tokens, 16, 16, 4, 1, seed=3)
    for parameter in net.parameters():
        parameter.data *= 4
    adam = optim.Adam(net.parameters(), lr=0.01)
    run = Run(net, next_letter, adam, words.samples(CHOSEN), engine="numpy", dtype="float64", batch_size=1)
    assert run.n_weights == 4192 == weights_of(27, 16, 16, 1)
    rng = np.random.default_rng(0)
    for step in range(4):
        state = {t.name: t.of(run.values).astype(complex) for t in run.tensors}
        word = CHOSEN[int(run._problem.indices(step)[0])]
        tokens = [words.end, *words.ids(word), words.end][:17]
        run.step(1)
        assert run.history.loss[-1] == pytest.approx(script_loss(state, tokens, 4).real, rel=1e-13)
        gradient = run.frame().gradient
        for tensor in run.tensors:
            for _ in range(3):
                way = rng.normal(size=tensor.shape)
                moved = {**state, tensor.name: state[tensor.name] + 1e-30j * way}
                slope = script_loss(moved, tokens, 4).imag / 1e-30
                assert float((tensor.of(gradient) * way).sum()) == pytest.approx(slope, rel=1e-6, abs=1e-9), tensor.name


@pytest.mark.parametrize("layers", [1, 2])
def test_what_the_picture_shows_is_what_the_network_says(words, layers):
    net = GPT(words.tokens, 8, 8, 2, layers, seed=1)
    few = Words(words.letters, words.train, words.test, 8)
    run = Run(net, next_letter, optim.Adam(net.parameters(), lr=0.01), few.samples(words.train[:50]), engine="numpy",
              dtype="float64", batch_size=10)  # fmt: skip
    run.step(5)
    ids = [few.end, *few.ids("olivia")]
    found = read_gpt(moment_of(run), ids, 2, layers)
    logits = run.predict(few.samples(["olivia"])[0]).reshape(8, few.tokens)[: len(ids)]
    likely = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(found.likely, likely, rtol=1e-10)
    np.testing.assert_allclose(found.attention.sum(axis=2), 1, rtol=1e-12)
    assert not np.triu(found.attention, 1).any()
    panel = board(few, "olivia", 2, layers)
    np.testing.assert_array_equal(panel.look(moment_of(run), "olivia").likely, found.likely)


@pytest.mark.ci
def test_new_words_are_drawn_by_their_probabilities(words):
    """The first letters of many words are as frequent as the network says at that temperature."""
    net = GPT(words.tokens, 8, 8, 2, 1, seed=1)
    for parameter in net.parameters():
        parameter.data *= 6
    few = Words(words.letters, words.train, words.test, 8)
    run = Run(net, next_letter, optim.Adam(net.parameters(), lr=0.01), few.samples(words.train[:9]), engine="numpy")
    moment = moment_of(run)
    likely = read_gpt(moment, [few.end], 2, 1).likely[0] ** (1 / 0.6)
    wanted = likely[:26] / likely.sum()
    made = [new_word(few, 2, 1, moment, 0.6, number).word for number in range(400)]
    assert made == [new_word(few, 2, 1, moment, 0.6, number).word for number in range(400)]
    found = np.array([sum(word[:1] == letter for word in made) for letter in few.letters]) / 400
    assert np.abs(found - wanted).max() < 4 * np.sqrt(0.25 / 400)
    assert max(map(len, made)) <= 7
