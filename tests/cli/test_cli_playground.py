"""What `scalarviz playground` does without a window: its points, what it reaches, what it tells, and bad flags."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scalarviz.scenes import playground
from scalarviz.scenes._points import KINDS, PEAKS, points_of

from scalarviz.io import load_tensors, save_tensors


@pytest.fixture
def play(cli):
    """`scalarviz playground`, headless, with the engine that needs no compiling."""
    return lambda *arguments: cli("playground", "--headless", "--engine", "numpy", *arguments)


def label_of(kind, x, y):
    """What a point without noise is, as the original says it: one point at a time, in plain Python."""
    if kind == "circle":
        return 1.0 if math.hypot(x, y) < 2.5 else -1.0
    if kind == "xor":
        return 1.0 if x * y >= 0 else -1.0
    if kind == "plane":
        return (x + y) / 10
    best = 0.0
    for cx, cy, sign in PEAKS:
        height = sign * max(0.0, 1 - math.hypot(x - cx, y - cy) / 2)
        best = height if abs(height) > abs(best) else best
    return best


@pytest.mark.parametrize("kind", ["circle", "xor", "plane", "regress-gauss"])
def test_without_noise_the_label_is_the_formulas(kind):
    points, labels = points_of(kind, 0.0, 3)
    assert points.shape == (KINDS[kind].count, 2)
    np.testing.assert_allclose(labels, [label_of(kind, *point) for point in points], atol=1e-12)


def test_the_ring_is_apart_from_the_disc_and_as_large_as_it():
    points, labels = points_of("circle", 0.0, 0)
    away = np.hypot(*points.T)
    assert (labels > 0).sum() == 250
    assert away[labels > 0].max() < 2.5
    assert 3.5 <= away[labels < 0].min() < away[labels < 0].max() < 5.0


def test_the_spirals_are_each_others_half_turn():
    points, labels = points_of("spiral", 0.0, 5)
    one, other = points[labels > 0], -points[labels < 0]
    order, its = np.argsort(np.hypot(*one.T)), np.argsort(np.hypot(*other.T))
    np.testing.assert_allclose(one[order], other[its], atol=1e-12)
    radius = np.sort(np.hypot(*one.T))
    np.testing.assert_allclose(radius, np.arange(250) / 250 * 5, atol=1e-12)


def test_the_clouds_have_the_variance_of_the_noise():
    for noise, variance in ((0.0, 0.5), (0.5, 4.0)):
        points, labels = points_of("gauss", noise, 1)
        for sign in (1, -1):
            cloud = points[labels == sign]
            np.testing.assert_allclose(cloud.mean(axis=0), 2 * sign, atol=5 * (variance / 250) ** 0.5)
            np.testing.assert_allclose(cloud.var(axis=0), variance, rtol=0.35)


@pytest.mark.parametrize("kind", KINDS)
def test_noise_moves_labels_or_points_and_a_seed_is_one_data_set(kind):
    plain, noisy = points_of(kind, 0.0, 7), points_of(kind, 0.3, 7)
    assert any(not np.array_equal(a, b) for a, b in zip(plain, noisy, strict=True))
    again = points_of(kind, 0.3, 7)
    assert all(np.array_equal(a, b) for a, b in zip(noisy, again, strict=True))
    assert not np.array_equal(noisy[0], points_of(kind, 0.3, 8)[0])
    first = noisy[1][: len(noisy[1]) // 2]  # shuffled: a half is a fair sample
    assert abs(first.mean() - noisy[1].mean()) < 0.2


@pytest.mark.parametrize("seed", [0, 13])
def test_the_circle_is_learnt_by_step_3000(play, seed):
    line = play("--seed", seed, "--json").json
    assert line["steps"] == 3000
    assert line["weights"] == 25
    assert line["accuracy"] > 0.97


def test_numbers_are_those_of_the_saved_weights_by_hand(play):
    line = play("--steps", 700, "--hidden", "3", "--features", "x,y,xy", "--save", "w.safetensors", "--json").json
    w, _ = load_tensors("w.safetensors")
    points, labels = points_of("circle", 0.0, 0)
    rows = np.column_stack([points, points[:, 0] * points[:, 1]])
    inner = np.tanh(rows @ w["1.weight"].T + w["1.bias"])
    outputs = np.tanh(inner @ w["3.weight"].T + w["3.bias"])[:, 0]
    halves = 0.5 * (outputs - labels) ** 2
    assert line["loss"] == pytest.approx(halves[:250].mean(), rel=1e-4)
    assert line["test_loss"] == pytest.approx(halves[250:].mean(), rel=1e-4)
    assert line["accuracy"] == np.mean((outputs > 0) == (labels > 0), where=np.arange(500) >= 250)


def test_a_slope_is_found_and_has_no_accuracy(play):
    line = play("--data", "plane", "--steps", 1500, "--json").json
    assert line["test_loss"] < 0.005
    assert "accuracy" not in line


def test_no_hidden_layer_is_one_neuron(play):
    """The published page's easiest state: the squares of x and y, and nothing between."""
    line = play("--hidden", "", "--features", "x2,y2", "--lr", 0.1, "--steps", 1500, "--json").json
    assert line["weights"] == 3
    assert line["accuracy"] > 0.97


def test_a_split_and_another_seed_of_the_points(play):
    assert "150 points to learn from, 350 held back" in play("--split", "0.3", "--steps", 1).err
    one, other = (play("--steps", 1, "--data-seed", seed, "--json").json for seed in (5, 6))
    assert one["test_loss"] != other["test_loss"]
    assert one["seed"] == other["seed"] == 0


def test_a_file_brings_its_hidden_layers(play, tmp_path):
    assert play("--hidden", "3,5", "--steps", 4, "--save", "w.safetensors").code == 0
    line = play("--load", "w.safetensors", "--steps", 3, "--json").json
    assert (line["steps"], line["weights"]) == (7, 9 + 20 + 6)
    assert "the saved numbers do not fit" in play("--load", "w.safetensors", "--hidden", "2", "--steps", 1).err
    save_tensors(tmp_path / "other.safetensors", {"0.weight": np.zeros((3, 3))})
    assert "holds no network of this scene: wanted 1.weight" in play("--load", "other.safetensors").err


def test_it_begins_as_the_original_does():
    """Weights uniform within one half, biases 0.1: of rectifiers that begin at 0 many never learn."""
    scene = playground.build(playground.Options(hidden=(40, 30), engine="numpy"))
    for layer in (scene.run.model[1], scene.run.model[3], scene.run.model[5]):
        weights, biases = layer.weight.numpy(), layer.bias.numpy()
        assert biases == pytest.approx(np.full(biases.shape, 0.1))
        assert np.abs(weights).max() <= 0.5
    weights = scene.run.model[3].weight.numpy()
    assert weights.std() == pytest.approx(1 / math.sqrt(12), rel=0.05)
    assert weights.mean() == pytest.approx(0, abs=0.03)
    scene.run.close()


@pytest.mark.slow
def test_what_the_file_says_of_twenty_seeds():
    """The three lines of the scene's docstring."""
    wide = {"hidden": (8, 8), "steps": 10000}
    for goal, flags in (
        (0.97, {}),
        (0.95, {"data": "spiral", "features": "x,y,sinx,siny", **wide}),
        (0.90, {"data": "spiral", "optimizer": "adam", "batch": 50, **wide}),
    ):
        found = []
        for seed in range(20):
            scene = playground.build(playground.Options(seed=seed, engine="numba", **flags))
            scene.run.step(3000 if not flags else flags["steps"])
            found.append(playground.report(scene)["accuracy"])
            scene.run.close()
        assert min(found) > goal, (flags, sorted(found)[:3])


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--data", "moons"], "--data: there is no 'moons'; allowed: circle, xor, gauss"),
        (["--features", "x,z"], "wanted some of x, y, x2"),
        (["--features", ""], "wanted some of"),
        (["--features", "x,x"], "each once"),
        (["--hidden", "4,0"], "wanted whole numbers"),
        (["--hidden", "none"], 'as 16,16 ("" is none), got'),
        (["--hidden", "65"], "at most 6 layers of at most 64 units"),
        (["--hidden", "1,1,1,1,1,1,1"], "at most 6 layers"),
        (["--activation", "step"], "--activation: there is no 'step'; allowed: tanh, relu"),
        (["--noise", "0.6"], "--noise: input should be less than or equal to 0.5"),
        (["--noise", "nan"], "--noise"),
        (["--split", "1"], "--split"),
        (["--l2", "-1"], "--l2"),
        (["--optimizer", "newton"], "--optimizer: there is no 'newton'"),
        (["--channels", "6,12"], "no such option"),
    ],
)
def test_bad_flags_are_one_line(play, arguments, says):
    result = play("--steps", 1, *arguments)
    assert result.code == 2
    assert says in result.err.lower() if says.islower() else says in result.err
    assert len(result.err.splitlines()) <= 2
    assert result.out == ""
