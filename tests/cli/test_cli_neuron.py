"""What `scalarviz neuron` does: descent on a parabola as one works it out on paper, and input that cannot be used."""

from __future__ import annotations

import numpy as np
import pytest
from scalarviz.scenes import neuron


@pytest.fixture
def scene(cli):
    """`scalarviz neuron`, headless, with the engine that needs no compiling."""
    return lambda *arguments: cli("neuron", "--headless", "--engine", "numpy", *arguments)


def test_the_points_are_as_the_file_says():
    x, y = neuron.points(0.0, 3)
    assert (x.shape, y.shape) == ((9, 1), (9, 1))
    assert (x.mean(), (x**2).mean()) == (pytest.approx(0.5), pytest.approx(1.0))
    np.testing.assert_allclose(y, 0.8 * x + 0.5)


@pytest.mark.parametrize("rate", [0.1, 0.25, 0.9])
@pytest.mark.parametrize("steps", [1, 7])
def test_each_step_goes_the_same_share_of_the_way(scene, rate, steps):
    """The loss is (w - w*)^2 and a constant, so w - w* is multiplied by 1 - 2 lr; w* = mean(x y) = 0.8 + 0.5 / 2."""
    line = scene("--steps", steps, "--lr", rate, "--w", 3.0, "--dtype", "float64", "--json").json
    away = (1 - 2 * rate) ** steps * (3.0 - 1.05)
    assert line["w"] == pytest.approx(1.05 + away, rel=1e-12)
    assert line["loss"] == pytest.approx(away**2 + 0.75 * 0.25, rel=1e-9)  # what no line through 0 can reach


def test_half_goes_straight_there_and_more_than_one_lands_higher_each_time(scene):
    assert scene("--steps", 1, "--lr", 0.5, "--dtype", "float64", "--json").json["w"] == pytest.approx(1.05)
    found = [scene("--steps", steps, "--lr", 1.1, "--json").json["w"] for steps in (1, 2, 3)]
    np.testing.assert_allclose(np.diff(np.abs(np.array(found) - 1.05)) > 0, True)
    assert np.sign(np.array(found) - 1.05).tolist() == [1, -1, 1]


@pytest.mark.parametrize(("weights", "wanted"), [(1, {"w": 1.05}), (2, {"w": 0.8, "b": 0.5})])
def test_the_defaults_arrive(scene, weights, wanted):
    line = scene("--weights", weights, "--json").json
    assert {name: line[name] for name in wanted} == pytest.approx(wanted, abs=5e-3)
    assert line["weights"] == weights


def test_with_noise_it_is_the_least_squares(scene):
    line = scene("--weights", 2, "--noise", 0.4, "--seed", 5, "--steps", 400, "--dtype", "float64", "--json").json
    x, y = neuron.points(0.4, 5)
    assert [line["w"], line["b"]] == pytest.approx(np.polyfit(x[:, 0], y[:, 0], 1).tolist(), abs=1e-6)
    assert not np.allclose(y, neuron.points(0.4, 6)[1])


def test_two_weights_diverge_in_words(scene):
    result = scene("--weights", 2, "--lr", 1.1, "--save", "w.safetensors")
    assert result.code == 2
    assert "training diverged at step" in result.err
    assert result.err.endswith("lr is 1.1; try a tenth of it, as --lr 0.11\n")
    assert "run.to" not in result.err
    assert "w.safetensors was not written" in result.err


def test_a_file_goes_on(scene):
    assert scene("--steps", 3, "--lr", 0.2, "--save", "w.safetensors").code == 0
    assert scene("--steps", 4, "--load", "w.safetensors", "--json").json["steps"] == 7
    result = scene("--weights", 2, "--load", "w.safetensors")
    assert (result.code, len(result.err.splitlines())) == (2, 1)


@pytest.mark.parametrize(
    ("flags", "says"),
    [
        (("--weights", 3), "allowed: 1 (w) or 2 (w and b), got 3"),
        (("--weights", "two"), "--weights"),
        (("--w", "inf"), "--w"),
        (("--noise", -1), "--noise"),
        (("--lr", 0), "--lr"),
        (("--batch", 3), "no such option"),
    ],
)
def test_what_it_refuses(scene, tmp_path, flags, says):
    result = scene(*flags)
    assert result.code == 2
    assert says.lower() in result.err.lower()
    assert len(result.err.splitlines()) <= 2
    assert not list(tmp_path.iterdir())
