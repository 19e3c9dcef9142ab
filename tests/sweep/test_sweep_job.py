"""One run of a sweep: it has the bits that it has alone, and whatever goes wrong with it is a result."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import nn, optim
from scalarviz.engine.processors import _of_linux
from scalarviz.errors import InputError, TypeMismatchError
from scalarviz.run.scene_file import load_scene
from scalarviz.sweep.build import FunctionBuild, SceneBuild
from scalarviz.sweep.job import Job, compute
from scalarviz.sweep.result import MOST_POINTS, thinned

INPUTS = np.random.default_rng(0).random((8, 3))


def made(seed: int, lr: float = 0.5) -> sv.Run:
    net = nn.Sequential(nn.Linear(3, 2), nn.Tanh())
    net.initialize(seed=seed)
    data = INPUTS, INPUTS[:, :2]
    return sv.Run(net, nn.MSELoss(), optim.SGD(net.parameters(), lr=lr), data, seed=seed, engine="numpy")


def not_a_run(seed: int) -> int:
    return seed


def job(build, steps=50, **options) -> Job:
    return pickle.loads(pickle.dumps(Job(4, build, options, 7, steps, 3, {"lr": 0.5})))


def test_a_scene_has_the_bits_that_it_has_alone():
    result = compute(job(SceneBuild("xor"), 60, activation="sigmoid", engine="numpy"))
    loaded = load_scene("xor")
    alone = loaded.build(loaded.options(activation="sigmoid", engine="numpy", seed=7)).run
    alone.step(60)
    assert result.state == "done"
    assert result.error == ""
    assert result.steps == 60
    assert result.seed == 7
    assert result.number == 4
    assert result.options == {"lr": 0.5}
    for name, array in alone.state_dict().items():
        assert array.tobytes() == result.weights[name].tobytes()
    assert result.loss == alone.evaluate(*alone.samples())
    losses = 4 * alone.history.loss  # a step learns from one of four samples, and the loss is a sum
    assert result.curve.tolist() == np.column_stack([alone.history.step, losses]).tolist()
    assert result.metrics["right"] in (0, 1, 2, 3, 4)
    assert result.reached is (result.metrics["right"] == 4)
    assert result.processor.startswith("numpy, ")


def test_keyframes_are_the_weights_of_their_steps_and_change_no_bit():
    result = compute(job(FunctionBuild(made)))
    assert list(result.keyframes) == [0, 25, 50]
    run = made(7)
    for step, weights in result.keyframes.items():
        run.step(step - run.steps)
        assert all(weights[name].tobytes() == array.tobytes() for name, array in run.state_dict().items())
    assert all(result.weights[name].tobytes() == array.tobytes() for name, array in run.state_dict().items())
    assert result.reached is None
    assert result.metrics == {}


def test_the_curve_is_on_the_scale_of_the_loss_at_the_end():
    """With steps too small to change a weight each epoch's mean is the loss of all samples, summed or not."""
    for name, options in (("xor", {"lr": 1e-30}), ("rgb", {"lr": 1e-30, "batch": 1024})):
        result = compute(Job(0, SceneBuild(name), {"engine": "numpy", **options}, 3, 100))
        assert result.curve[:, 1].mean() == pytest.approx(result.loss, rel=1e-4)


def test_a_diverged_run_is_a_result_with_its_curve():
    net = nn.Linear(3, 2)
    net.initialize(seed=7)
    alone = sv.Run(net, nn.MSELoss(), optim.SGD(net.parameters(), lr=1e20), (INPUTS, INPUTS[:, :2]), engine="numpy")
    with pytest.raises(sv.ScalarvizError):
        alone.step(50)
    result = compute(job(FunctionBuild(diverging)))
    assert result.state == "diverged"
    assert result.steps == alone.steps
    assert "diverged at step" in result.error
    assert "\n" not in result.error
    assert not np.isfinite(result.loss)
    assert len(result.curve) == alone.steps


def diverging(seed: int) -> sv.Run:
    net = nn.Linear(3, 2)
    net.initialize(seed=seed)
    return sv.Run(net, nn.MSELoss(), optim.SGD(net.parameters(), lr=1e20), (INPUTS, INPUTS[:, :2]), engine="numpy")


def broken(seed: int) -> sv.Run:
    return {}[seed]


@pytest.mark.parametrize(
    ("function", "words"), [(not_a_run, "must return a Run or a Scene, got 7"), (broken, "KeyError: 7")]
)
def test_what_cannot_be_built_has_failed_and_says_why(function, words):
    result = compute(job(FunctionBuild(function)))
    assert result.state == "failed"
    assert words in result.error
    assert not len(result.curve)


def test_a_function_is_asked_before_whether_it_takes_the_options():
    FunctionBuild(made).check(["lr"])
    with pytest.raises(InputError, match=r"takes no hidden=.*made\(seed=0, hidden=...\)"):
        FunctionBuild(made).check(["hidden"])
    with pytest.raises(TypeMismatchError):
        FunctionBuild(not_a_run).built({}, 1)


def test_the_text_of_a_scene_counts_and_not_what_its_file_became(tmp_path):
    path = tmp_path / "mine.py"
    text = "import scalarviz as sv\nfrom scalarviz.scenes.xor import Options, build, report\n"
    path.write_text("raise SystemExit\n", encoding="utf-8")
    result = compute(job(SceneBuild(str(path), text), 5))
    assert result.state == "done"
    assert "right" in result.metrics
    wrong = compute(job(SceneBuild(str(path), "def build(options):\n    return 1 / 0\n"), 5))
    assert wrong.state == "failed"
    assert "mine.py, line 2: ZeroDivisionError" in wrong.error


def test_a_long_curve_is_told_by_the_means_of_its_stretches():
    rng = np.random.default_rng(3)
    for count in (1, MOST_POINTS, MOST_POINTS + 1, 1999, 20_000):
        step, loss = np.arange(1, count + 1), rng.random(count)
        curve = thinned(step, loss)
        assert len(curve) == min(count, MOST_POINTS)
        assert curve[-1, 0] == count
        first = 0
        for last, mean in curve:
            assert mean == pytest.approx(loss[first : int(last)].mean())
            first = int(last)
    loss[-1] = np.nan
    assert np.isnan(thinned(step, loss)[-1, 1])


def test_processors_of_one_name_are_told_apart_by_their_numbers():
    text = "processor\t: 0\ncpu family\t: 25\nmodel\t\t: 17\nmodel name\t: AMD EPYC\nstepping\t: 1\n\nmodel\t: 99\n"
    assert _of_linux(text) == "AMD EPYC (25.17.1)"
