"""What `scalarviz uinn` does: full-batch descent by hand, its start, its seeds, and input that cannot be used."""

from __future__ import annotations

import numpy as np
import pytest
from scalarviz.scenes import uinn

from scalarviz.io import load_tensors

INPUTS = np.array([[0.0, 0], [1, 0], [0, 1], [1, 1]])
WANTED = np.array([[1.0], [0], [0], [1]])


@pytest.fixture
def scene(cli):
    """`scalarviz uinn`, headless, with the engine that needs no compiling."""
    return lambda *arguments: cli("uinn", "--headless", "--engine", "numpy", *arguments)


def layers_in(path):
    tensors = load_tensors(path)[0]
    numbers = sorted({int(name.partition(".")[0]) for name in tensors if name[0].isdigit()})
    return [(tensors[f"{n}.weight"].copy(), tensors[f"{n}.bias"].copy()) for n in numbers]


def passed(layers):
    """What enters each layer, and the outputs."""
    entering, row = [], INPUTS
    for number, (w, b) in enumerate(layers):
        entering.append(row)
        row = row @ w.T + b
        row = row if number + 1 == len(layers) else np.maximum(row, 0)
    return entering, row


@pytest.mark.parametrize("hidden", ["8,8", "5", "4,3,6"])
def test_it_is_two_passes_of_back_propagation_by_hand(scene, hidden):
    """First the derivative by each layer's output, along the chain; then each layer's weight and bias."""
    flags = ("--hidden", hidden, "--seed", 2, "--lr", 0.03, "--dtype", "float64")
    assert scene(*flags, "--steps", 1, "--save", "one.safetensors").code == 0
    line = scene(*flags, "--steps", 81, "--save", "all.safetensors", "--json").json
    layers = layers_in("one.safetensors")
    for _ in range(80):
        entering, out = passed(layers)
        deltas = [(out - WANTED) / len(INPUTS)]
        for (w, _), below in zip(layers[:0:-1], entering[:0:-1], strict=True):
            deltas.insert(0, deltas[0] @ w * (below > 0))
        leaves = [(delta.T @ x, delta.sum(axis=0)) for delta, x in zip(deltas, entering, strict=True)]
        layers = [(w - 0.03 * dw, b - 0.03 * db) for (w, b), (dw, db) in zip(layers, leaves, strict=True)]
    told = 0.5 * float(((passed(layers)[1] - WANTED) ** 2).mean())  # of the weights that are shown, not of the step
    assert line["loss"] == pytest.approx(told, rel=1e-9)
    for (w, b), (own, bias) in zip(layers, layers_in("all.safetensors"), strict=True):
        np.testing.assert_allclose(own, w, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(bias, b, rtol=1e-9, atol=1e-12)


def test_it_begins_as_he_and_others_have_it(scene):
    assert scene("--hidden", "300,200", "--lr", 1e-30, "--steps", 1, "--save", "w.safetensors").code == 0
    for w, b in layers_in("w.safetensors"):
        for numbers, bound in ((w, np.sqrt(6 / w.shape[1])), (b, np.sqrt(6 / w.shape[0]))):
            assert np.abs(numbers).max() <= bound
            if numbers.size >= 200:
                assert np.abs(numbers).max() > 0.9 * bound
                assert np.std(numbers) == pytest.approx(bound / np.sqrt(3), rel=0.15)


@pytest.mark.slow
def test_every_one_of_the_first_twenty_seeds_learns_it():
    stuck = []
    for seed in range(20):
        options = uinn.Options(seed=seed, engine="numpy", headless=True)
        with uinn.build(options).run as run:
            run.step(options.steps)
            found = run.predict(INPUTS)
        stuck += [seed] * (not ((found > 0.5) == (WANTED > 0.5)).all())
    assert stuck == []


def test_the_defaults(scene):
    result = scene("--json")
    assert (result.json["steps"], result.json["weights"], result.json["right"]) == (1000, 105, 4)
    assert "right 4" in result.err


def test_a_file_brings_its_layers(scene):
    assert scene("--steps", 5, "--hidden", "3,4", "--lr", 0.02, "--save", "w.safetensors").code == 0
    line = scene("--steps", 4, "--load", "w.safetensors", "--json").json
    assert (line["steps"], line["weights"]) == (9, 3 * 3 + 4 * 4 + 5)
    result = scene("--steps", 4, "--load", "w.safetensors", "--hidden", "8,8")
    assert (result.code, len(result.err.splitlines())) == (2, 1)
    assert "--hidden 8,8 contradicts w.safetensors, whose hidden layers are: 3,4" in result.err


@pytest.mark.parametrize(
    ("flags", "says"),
    [
        (("--hidden", "8,x"), "wanted whole numbers from 1 to 99999"),
        (("--hidden", "99999,99999"), "memory"),
        (("--lr", -1), "--lr"),
        (("--steps", 0), "--steps"),
        (("--batch", 2), "no such option"),
        (("--load", "gone.safetensors"), "gone.safetensors"),
    ],
)
def test_what_it_refuses(scene, tmp_path, flags, says):
    result = scene(*flags)
    assert result.code == 2
    assert says.lower() in result.err.lower()
    assert len(result.err.splitlines()) <= 2
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0.25, "0.2500"),
        (-0.25, "\N{MINUS SIGN}0.2500"),
        (-0.00001, "0.0000"),
        (float("nan"), "NaN"),
        (float("inf"), "+\N{INFINITY}"),
        (-float("inf"), "\N{MINUS SIGN}\N{INFINITY}"),
        (-1e30, "\N{MINUS SIGN}1.00e30"),
    ],
)
def test_the_table_writes_numbers_as_the_rest_of_the_picture_does(number, text):
    class Moment:
        def predict(self, inputs):
            return np.full((len(inputs), 1), number)

    assert [row[2] for row in uinn.FOUR.rows(Moment())] == [text] * 4
