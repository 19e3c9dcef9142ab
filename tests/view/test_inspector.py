"""The inspector says the truth: names, meanings, terms of the gradient, and how a value moved."""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Decimal

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import nn, optim
from scalarviz.run.opened.network import SampleGradient
from scalarviz.run.scene.scene import Scene
from scalarviz.view.ink.text import figure
from scalarviz.view.ink.theme import DARK
from scalarviz.view.screen.account import Lines, account_of
from scalarviz.view.screen.inspector import POINTS, Inspector, ValueHistory
from scalarviz.view.screen.selection import who
from scalarviz.view.shown.subject import arrays_subject, subject_of

MINUS = "\N{MINUS SIGN}"
PROBE, TARGET = np.array([0.92, 0.58, 0.18]), np.array([0.1, 0.4, 0.8])


def scene_of(
    *hidden: int, bias: bool = True, batch: int = 64, loss: object = None, steps: int = 3, dtype: str = "float64"
) -> Scene:
    rng = np.random.default_rng(1)
    colours = rng.random((128, 3))
    layers: list[nn.Module] = []
    before = 3
    for count in hidden:
        layers += [nn.Linear(before, count, bias=bias), nn.Tanh()]
        before = count
    net = nn.Sequential(*layers, nn.Linear(before, 3, bias=bias), nn.Sigmoid())
    net.initialize(nn.init.normal(0, 1), seed=2)
    run = sv.Run(net, loss or nn.MSELoss(), optim.SGD(net.parameters(), lr=0.5), data=(colours, 1 - colours),
                 batch_size=batch, engine="numpy", dtype=dtype)  # fmt: skip
    run.step(steps)
    return Scene("rgb", run, PROBE, TARGET, ("r", "g", "b"), ("r", "g", "b"))


@pytest.fixture(params=[(), (5,), (4, 6)], ids=["single", "hidden", "deep"])
def scene(request: pytest.FixtureRequest) -> Iterator[Scene]:
    made = scene_of(*request.param)
    yield made
    made.run.close()


def explanation(scene: Scene, index: int) -> Lines:
    return explanation_of(scene, scene.run.frame(scene.probe), index)


def explanation_of(scene: Scene, frame: sv.run.Frame, index: int) -> Lines:
    return Inspector(subject_of(scene), index).explanation(frame)


# who it is


def test_names_and_meanings_of_a_single_layer() -> None:
    scene = scene_of()
    subject = subject_of(scene)
    assert who(subject, 6).name == "0.weight[2][0]"
    assert who(subject, 6).meaning == "from r to b"
    assert who(subject, 10).name == "0.bias[1]"
    assert who(subject, 10).meaning == "bias of g"
    scene.run.close()


def test_names_and_meanings_of_a_deeper_network() -> None:
    scene = scene_of(4, 6)
    subject = subject_of(scene)
    weight = {t.name: t for t in subject.tensors}
    assert who(subject, weight["0.weight"].start + 4).meaning == "from g to tanh 1"
    assert who(subject, weight["2.weight"].start + 7).meaning == "from tanh 3 to tanh 1"
    assert who(subject, weight["2.bias"].start + 5).meaning == "bias of tanh 5"
    assert who(subject, weight["4.weight"].start + 8).meaning == "from tanh 2 to g"
    scene.run.close()


def test_arrays_without_a_network_have_rows_and_columns() -> None:
    subject, _ = arrays_subject({"a": np.zeros((3, 4)), "k": np.zeros((2, 3, 5, 5))})
    assert (who(subject, 6).name, who(subject, 6).meaning) == ("a[1][2]", "row 1, column 2")
    assert who(subject, 12 + 75 + 25 + 7).meaning == "output 1, input 1, kernel 1, 2"


# why it moved


def test_the_gradient_of_a_sample_is_the_numeric_one(scene: Scene) -> None:
    run = scene.run
    values = run.values.astype(float)
    gradient = SampleGradient(run._forward).gradient(PROBE, TARGET, values)
    for index in range(0, run.n_weights, max(1, run.n_weights // 15)):
        shifted = [values.copy(), values.copy()]
        shifted[0][index] += 1e-5
        shifted[1][index] -= 1e-5
        up, down = (run.evaluate(PROBE[None], TARGET[None], v) for v in shifted)
        assert gradient[index] == pytest.approx((up - down) / 2e-5, abs=1e-8)


@pytest.mark.parametrize("lr", [0.5, 1e-4])
def test_a_run_in_float16_says_what_of_its_step_the_network_sees(lr: float) -> None:
    scene = scene_of(5, dtype="float16")
    run = scene.run
    run.lr = lr
    before = run.frame().values
    run.step()
    frame = run.frame()
    coming = [account_of(run, index, along=False).rounded for index in range(run.n_weights)]
    run.step()
    after = run.frame().values
    for index, text in enumerate(coming):
        said = " ".join(ways[0] for ways in explanation_of(scene, frame, index))
        assert f"float32 weight: {frame.master[index]:.7g}" in said
        assert ("same float16" in said) == (before[index] == frame.values[index] and frame.update[index] != 0)
        kept = figure(float(frame.values[index])) + " stays" in text and "too small" in text
        assert kept == (frame.values[index] == after[index])
        assert kept or text.endswith(f"becomes {figure(float(after[index]))}")
    run.close()


def test_the_mean_of_all_terms_is_the_frames_gradient() -> None:
    scene = scene_of(5, batch=128)
    run = scene.run
    frame = run.frame()
    inputs, targets = run.samples()
    terms = SampleGradient(run._forward)
    mean = np.mean([terms.gradient(x, y, frame.values - frame.update) for x, y in zip(inputs, targets, strict=True)], 0)
    assert np.allclose(mean, frame.gradient, rtol=1e-9, atol=1e-12)
    run.close()


def test_looking_at_terms_leaves_the_run_as_it_is(scene: Scene) -> None:
    run = scene.run
    before = [run.values.copy(), run.frame().gradient.copy()]
    explanation(scene, 2)
    assert np.array_equal(run.values, before[0])
    assert np.array_equal(run.frame().gradient, before[1])


def exact(text: str) -> Decimal:
    return Decimal(text.strip("()").replace(MINUS, "-"))


def half_a_digit(text: str) -> Decimal:
    """Half of what the last printed digit is worth."""
    return Decimal(1).scaleb(int(exact(text).as_tuple().exponent)) / 2


def test_the_line_multiplies_out(scene: Scene) -> None:
    run = scene.run
    frame = run.frame(PROBE)
    gradient = SampleGradient(run._forward).gradient(PROBE, TARGET, frame.values - frame.update)
    for tensor in run.tensors:
        for index in range(tensor.start, tensor.start + tensor.size, 3):
            line = explanation(scene, index)[0][0]
            if tensor.role == "bias":
                said, own = re.fullmatch(r"(.*); of this sample (\S+)", line).groups()  # type: ignore[union-attr]
                assert said == "gradient: mean of 64 samples' δ"
            else:
                found = re.fullmatch(r"(.*); of this sample (\S+) × (\S+) = (\S+)", line)
                said, delta, x, own = found.groups()  # type: ignore[union-attr]
                assert said == "gradient: mean of 64 samples' δ·x"
                assert abs(exact(delta) * exact(x) - exact(own)) <= half_a_digit(own)
            assert abs(Decimal(float(gradient[index])) - exact(own)) <= half_a_digit(own)


def test_the_update_line_is_true(scene: Scene) -> None:
    frame = scene.run.frame(PROBE)
    for index in range(0, scene.run.n_weights, 3):
        line = explanation(scene, index)[1][-1]
        before, lr, g, after = re.fullmatch(rf"(\S+) {MINUS} (\S+) × (\S+) = (\S+)", line).groups()  # type: ignore[union-attr]
        assert abs(exact(before) - exact(lr) * exact(g) - exact(after)) <= half_a_digit(after)
        assert exact(lr) == Decimal("0.5")
        assert abs(Decimal(float(frame.values[index])) - exact(after)) <= half_a_digit(after)
        assert exact(before) != exact(after) or frame.update[index] == 0


def test_another_optimiser_has_no_such_line() -> None:
    net = nn.Sequential(nn.Linear(3, 3), nn.Sigmoid())
    net.initialize(nn.init.normal(0, 1), seed=2)
    colours = np.random.default_rng(1).random((32, 3))
    run = sv.Run(net, nn.MSELoss(), optim.Adam(net.parameters(), lr=0.1), data=(colours, colours), engine="numpy")
    run.step(2)
    scene = Scene("adam", run, PROBE, TARGET)
    assert len(explanation(scene, 0)) == 1
    run.close()


def test_without_a_bias_the_factor_is_found_too() -> None:
    scene = scene_of(bias=False)
    assert " × 0.58 = " in explanation(scene, 4)[0][0]
    scene.run.close()


def test_a_loss_with_a_penalty_on_the_weights_gets_no_such_line() -> None:
    net = nn.Sequential(nn.Linear(3, 3), nn.Sigmoid())
    net.initialize(nn.init.normal(0, 1), seed=2)
    mse = nn.MSELoss()

    def loss(outputs: object, targets: object) -> sv.Value:
        return mse(outputs, targets) + 0.1 * net[0].weight[0][0] * net[0].weight[0][0]

    colours = np.random.default_rng(1).random((32, 3))
    run = sv.Run(net, loss, optim.SGD(net.parameters(), lr=0.1), data=(colours, colours), engine="numpy",
                 dtype="float64")  # fmt: skip
    run.step(2)
    scene = Scene("penalty", run, PROBE, TARGET)
    assert explanation(scene, 0)[0] == ("gradient: mean of all 32 samples",)
    assert "δ·x" in explanation(scene, 1)[0][0]
    run.close()


def test_nothing_is_explained_before_the_first_step() -> None:
    scene = scene_of(steps=0)
    assert explanation(scene, 0) == ()
    scene.run.close()


# what the panel says


def words(scene: Scene, index: int, width: float = 524.0) -> list[str]:
    frame = scene.run.frame(scene.probe)
    inspector = Inspector(subject_of(scene), index)
    inspector.follow(frame)
    sketch = inspector.sketch((0.0, 0.0, width, 106.0), DARK, frame, inspector.explanation(frame), low=True)
    return [item.text for item in sketch.texts]


def test_value_gradient_and_update_stand_in_the_panel(scene: Scene) -> None:
    frame, said = scene.run.frame(), words(scene, 1)
    for block in (frame.values, frame.gradient, frame.update):
        assert figure(float(block[1])) in said
    assert "value since step 3" in said
    assert "0.weight[0][1]" in said


def test_a_gradient_that_was_not_computed_is_not_zero() -> None:
    scene = scene_of(steps=0)
    said = words(scene, 1)
    assert "not computed yet" in said
    assert "last update" not in said
    assert "0" not in said
    scene.run.close()


def test_a_frozen_weight_is_called_so() -> None:
    scene = scene_of()
    scene.run.model[0].weight[0][1].frozen = True
    assert "frozen" in words(scene, 1)
    scene.run.close()


@pytest.mark.parametrize("width", [524.0, 330.0, 200.0, 120.0])
def test_nothing_is_wider_than_the_panel(scene: Scene, width: float) -> None:
    from scalarviz.view.ink.text import measure

    frame = scene.run.frame(scene.probe)
    for index in (0, scene.run.n_weights - 1):
        inspector = Inspector(subject_of(scene), index)
        inspector.follow(frame)
        sketch = inspector.sketch((0.0, 0.0, width, 106.0), DARK, frame, inspector.explanation(frame), low=True)
        for item in sketch.texts:
            wide = measure(item.text, item.size, item.bold)
            left = item.x - (wide if item.anchor == "right" else 0.0)
            assert left >= 0, item.text
            assert left + wide <= width, item.text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (-0.2345, f"{MINUS}0.2345"),
        (2.5e-5, f"+2.5e{MINUS}5"),
        (123.456, "+123.5"),
        (float("nan"), "NaN"),
        (float("inf"), "+∞"),
    ],
)
def test_figures(value: float, text: str) -> None:
    assert figure(value) == text


# how it got there


def test_a_history_holds_its_ends_and_stays_small() -> None:
    history = ValueHistory()
    for step in range(10_000):
        history.add(step, float(np.sin(step / 700)))
        assert history.steps[0] == 0
        assert history.steps[-1] == step
        assert len(history.steps) <= POINTS
    assert np.allclose(history.values, np.sin(np.array(history.steps) / 700))
    assert np.all(np.diff(history.steps) > 0)
    assert np.max(np.diff(history.steps)) < 120


def test_a_step_back_cuts_and_an_edit_replaces() -> None:
    history = ValueHistory()
    for step, value in ((5, 1.0), (6, 2.0), (7, 3.0), (6, 2.5)):
        history.add(step, value)
    assert (history.steps, history.values) == ([5, 6], [1.0, 2.5])
    history.add(6, 9.0)
    assert (history.steps, history.values) == ([5, 6], [1.0, 9.0])


def test_an_edit_before_the_first_step_is_seen() -> None:
    history = ValueHistory()
    for value in (1.0, 1.0, 2.0, 3.0):
        history.add(0, value)
    assert (history.steps, history.values) == ([0, 0], [1.0, 3.0])


def test_weights_alone_have_names_without_a_meaning() -> None:
    subject, _ = arrays_subject({"w": 1.0, "b": [1.0, 2.0]})
    assert [who(subject, k).name for k in range(3)] == ["w", "b[0]", "b[1]"]
    assert who(subject, 0).meaning == ""
