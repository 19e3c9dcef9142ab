"""A picture of one micro-step, and the outputs of a net that tells classes apart."""

from __future__ import annotations

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import nn, optim
from scalarviz.errors import InputError
from scalarviz.run import Scene
from scalarviz.view.ink.theme import DARK, mixed, rgb
from scalarviz.view.micro.still import told_of
from scalarviz.view.micro.told import BACKWARD, FORWARD
from scalarviz.view.shown.subject import subject_of

pytestmark = pytest.mark.gl
X = np.random.default_rng(0).random((32, 3))


@pytest.fixture
def run():
    net = nn.Sequential(nn.Linear(3, 3, seed=1), nn.Sigmoid())
    run = sv.Run(net, nn.MSELoss(), optim.SGD(net.parameters(), lr=0.5), (X, 1 - X), engine="numpy", batch_size=8)
    run.step(4)
    return run


@pytest.fixture
def classes():
    rng = np.random.default_rng(1)
    net = nn.Sequential(nn.Linear(6, 16, seed=1), nn.ReLU(), nn.Linear(16, 7, seed=2))
    return sv.Run(net, nn.CrossEntropyLoss(), optim.Adam(net.parameters()), (rng.random((20, 6)), np.arange(20) % 7),
                  engine="numpy")  # fmt: skip


def violet(picture):
    wanted = np.array([*mixed(DARK.gradient[3], DARK.panel, 0.5)]) * 255
    return int((np.abs(picture.astype(int) - wanted).max(axis=2) <= 4).sum())


def test_a_picture_of_a_micro_step_has_its_ribbon_and_the_run_is_as_it_was(run):
    before = run.values.tobytes(), run.steps
    plain, inside = sv.render(run), sv.render(run, inside=32)
    assert violet(plain) == 0
    assert violet(inside) > 5000
    assert (run.values.tobytes(), run.steps) == before


def test_the_last_is_minus_one(run):
    assert np.array_equal(sv.render(run, inside=-1), sv.render(run, inside=44))
    assert not np.array_equal(sv.render(run, inside=-1), sv.render(run, inside=-1, whole_batch=True))


@pytest.mark.parametrize("number", [0, 45, -45, 1000])
def test_a_micro_step_that_there_is_not_is_refused_with_those_that_there_are(run, number):
    with pytest.raises(InputError, match="micro-steps 1 to 44"):
        sv.render(run, inside=number)


def test_bad_input_of_a_still(run):
    for given in ("last", True, 1.5):
        with pytest.raises(InputError, match="inside: got"):
            sv.render(run, inside=given)
    with pytest.raises(InputError, match="give a Run, a Scene or a recording"):
        sv.render({"a": np.eye(3)}, inside=1)


def test_nothing_is_drawn_in_the_colour_of_gradients_before_they_are_there(run):
    picture = sv.render(run, inside=5)
    column = picture[100:530, 40:600].astype(int)
    assert (np.abs(column - np.array(rgb(DARK.pulse)) * 255).max(axis=2) < 10).sum() == 0


def test_of_many_outputs_each_has_its_delta_beside_what_it_was(classes):
    subject = subject_of(Scene("t", classes))
    frame = subject.frame()
    told = told_of(subject, frame, -1)
    opened = classes.open(sample=0)
    assert [output.value for output in told.outputs] == pytest.approx(frame.activations["2"].tolist())
    assert [output.delta for output in told.outputs] == pytest.approx(opened.deltas["2"][:, 0].tolist())
    assert [k for k, output in enumerate(told.outputs) if output.wanted] == [0]
    share = np.exp(frame.activations["2"] - frame.activations["2"].max())
    assert [output.delta for output in told.outputs] == pytest.approx((share / share.sum() - np.eye(7)[0]).tolist())


def test_an_output_and_its_delta_come_when_they_are_computed(classes):
    subject = subject_of(Scene("t", classes))
    frame = subject.frame()
    at = [told_of(subject, frame, k) for k in range(1, told_of(subject, frame, 1).count + 1)]
    values = [np.isfinite([o.value for o in told.outputs]).all() for told in at]
    deltas = [np.isfinite([o.delta for o in told.outputs]).all() for told in at]
    assert values == sorted(values)
    assert deltas == sorted(deltas)
    assert at[values.index(True)].phase == FORWARD
    assert at[deltas.index(True)].phase == BACKWARD
    assert [told.layers[-1].largest == told.layers[-1].largest for told in at] == [
        bool(told.frame.computed[-7:].all()) for told in at
    ]


def test_of_a_batch_outputs_and_deltas_are_means_and_none_is_wanted(classes):
    subject = subject_of(Scene("t", classes))
    told = told_of(subject, subject.frame(), -1, whole_batch=True)
    inputs, _ = classes.samples()
    assert [output.value for output in told.outputs] == pytest.approx(classes.predict(inputs).mean(axis=0), abs=1e-6)
    assert [output.delta for output in told.outputs] == pytest.approx(classes.open().gradient[-7:])
    assert not any(output.wanted for output in told.outputs)


@pytest.mark.parametrize("whole_batch", [False, True])
@pytest.mark.parametrize(("loss", "once"), [("mean", "mean"), ("sum", "Σ")])
def test_a_gradient_of_several_products_of_a_sample_is_called_their_sum(whole_batch, loss, once):
    wx, rec, b = (sv.Weight(v, name=name) for name, v in (("wx", 0.5), ("wRec", 2.0), ("b", 1.0)))

    def model(x):
        s = 0.0
        for value in x:
            s = s * rec + value * wx
        return s + b

    data = [[1.0, 0.0, 1.0], [0.0, 1.0, 1.0]], [[2.0], [1.0]]
    run = sv.Run(model, nn.MSELoss(loss), optim.SGD([wx, rec, b], lr=0.1), data, engine="numpy", dtype="float64")
    subject = subject_of(run)
    steps = run.open().micro_steps()
    last = max(k for k, step in enumerate(steps, 1) if step.phase == "gradients")
    told = told_of(subject, subject.frame(), last, whole_batch=whole_batch)
    above = [told.faces[k].above for k in range(3)]
    assert above[:2] == ["Σ δ·x", "Σ δ·x"]
    assert above[2] == f"{once} δ·x" if whole_batch else above[2].endswith("× 1")
    stage = next(k for k, step in enumerate(steps, 1) if step.kind == "stage")
    told = told_of(subject, subject.frame(), stage, whole_batch=whole_batch)
    assert told.sentence.meaning.startswith("1 number of this ")
    assert [formula.letters for formula in told.sentence.formulas] == ["output"]


@pytest.mark.parametrize("number", [20, 60, 93])
def test_inside_a_trial_step_dropout_shows_what_its_mask_left(number):
    net = nn.Sequential(nn.Linear(3, 4, seed=1), nn.Tanh(), nn.Dropout(0.5), nn.Linear(4, 2, seed=2), nn.Sigmoid())
    data = X[:8], X[:8, :2]
    run = sv.Run(net, nn.MSELoss(), optim.SGD(net.parameters(), lr=0.5), data, engine="numpy", seed=5)
    run.step(5)
    subject = subject_of(run)
    told = told_of(subject, subject.frame(), number)
    factors = run._problem.draws(5, 0).factors(0, np.arange(4), 1, 0.5, np.float64)[:, 0]
    assert 0 < (factors == 0).sum() < 4
    shown = told.frame.activations
    np.testing.assert_allclose(shown["2"], shown["1"] * factors, rtol=1e-12)
    plain = run.activations(subject.probe)
    np.testing.assert_array_equal(plain["2"], plain["1"])
