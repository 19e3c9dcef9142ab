"""Pictures and classes that a run cannot learn from: one clear sentence before anything is trained."""

from __future__ import annotations

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import nn, optim
from scalarviz.errors import DivergedError, InputError

X, Y = np.zeros((4, 1, 8, 8)), np.arange(4)


def changed(array, place, number):
    copy = array.astype(float)
    copy[place] = number
    return copy


def net(*, channels=2, inputs=72, kernel=3, pool=1):
    return nn.Sequential(
        nn.Conv2d(1, 2, 3), nn.Conv2d(channels, 2, kernel, padding=kernel // 2), nn.MaxPool2d(pool), nn.Flatten(),
        nn.Linear(inputs, 10),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("model", "x", "y", "says"),
    [
        (net(inputs=50), X, Y, r"Linear\(50, 10\) '4' takes 50 inputs, got 72"),
        (net(channels=3), X, Y, r"Conv2d\(3, 2\) '1' takes a picture of shape \(3, H, W\), got \(2, 6, 6\)"),
        (net(pool=9), X, Y, r"MaxPool2d\(9\) '2': a window of \(9, 9\) is larger than the picture, \(6, 6\)"),
        (net(), X.reshape(4, 64), Y, r"Conv2d\(1, 2\) '0'.*\(64,\)"),
        (net(), changed(X, (2, 0, 3, 4), np.nan), Y, r"data\[0\] \(the inputs\)\[2, 0, 3, 4\] is nan; 1 of 4"),
        (net(), changed(X, (1, 0, 0, 0), -np.inf), Y, "is -inf"),
        (net(), X, changed(Y, 3, np.nan), r"data\[1\] \(the targets\)"),
        (net(), X, changed(Y, 2, 10), "the target of sample 2 is 10.*0 .. 9 for 10 outputs"),
        (net(), X, changed(Y, 1, -1), "the target of sample 1 is -1"),
        (net(), X, changed(Y, 1, 0.5), "the target of sample 1 is 0.5"),
        (net(), X, Y[:3], "4 inputs but 3 targets"),
        (net(), X[:, :, :7, :5], Y, r"Linear\(72, 10\) '4' takes 72 inputs, got 30"),
    ],
)
def test_what_does_not_fit_is_said_before_the_first_step(model, x, y, says):
    with pytest.raises(InputError, match=says) as caught:
        sv.Run(model, nn.CrossEntropyLoss(), optim.Adam(model.parameters()), (x, y), engine="numpy")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("loss", [nn.MSELoss(), nn.L1Loss(), nn.BCELoss(), nn.HuberLoss()])
@pytest.mark.parametrize("engine", ["objects", "numpy"])
def test_a_loss_that_does_not_fit_names_the_layer_and_both_shapes(loss, engine):
    model = nn.Sequential(nn.Linear(3, 2), nn.Sigmoid())
    says = rf"{type(loss).__name__}: outputs of shape \(2,\) from Sigmoid '1' for targets of shape \(4,\).*\(N, 2\)"
    with pytest.raises(InputError, match=says):
        sv.Run(model, loss, optim.SGD(model.parameters()), (np.zeros((4, 3)), np.zeros((4, 4))), engine=engine)


def test_class_numbers_for_another_loss_are_told_the_one_for_classes():
    model = net()
    says = r"outputs of shape \(10,\) from Linear '4' for targets of shape \(1,\).*CrossEntropyLoss"
    with pytest.raises(InputError, match=says):
        sv.Run(model, nn.MSELoss(), optim.SGD(model.parameters()), (X, Y), engine="numpy")


@pytest.mark.parametrize("engine", ["objects", "numpy", "numba"])
def test_weights_that_the_optimiser_does_not_hold_get_gradients_only(engine):
    model = nn.Sequential(nn.Linear(3, 2))
    x, y = np.random.default_rng(0).random((2, 4, 3))
    before = np.array(model.state_dict()["0.weight"])
    run = sv.Run(model, nn.MSELoss(), optim.SGD([model[0].bias], lr=0.1), (x, y[:, :2]), engine=engine)
    run.step(3)
    weight, bias = run.tensors
    frame = run.frame()
    assert np.array_equal(weight.of(frame.values), before.astype(np.float32))
    assert weight.of(frame.gradient).all()
    assert bias.of(frame.update).all()


def test_an_optimiser_of_another_model_is_refused():
    model, other = nn.Sequential(nn.Linear(3, 2)), nn.Sequential(nn.Linear(3, 2))
    with pytest.raises(
        InputError, match=r"holds 8 weights and none of them is in this model's graph.*model\.parameters"
    ):
        sv.Run(model, nn.MSELoss(), optim.SGD(other.parameters()), (np.zeros((4, 3)), np.zeros((4, 2))))


@pytest.mark.parametrize("engine", ["objects", "numpy", "numba"])
@pytest.mark.parametrize("number", [np.inf, np.nan])
def test_a_weight_that_is_not_finite_stops_a_padded_convolution_in_every_engine(engine, number):
    """Its products with the border may be left out or not, as in PyTorch; the run stops at the same step."""
    model = nn.Sequential(nn.Conv2d(1, 1, 3, padding=1), nn.Flatten(), nn.Linear(9, 1))
    run = sv.Run(
        model, nn.MSELoss(), optim.SGD(model.parameters()), (np.ones((8, 1, 3, 3)), np.ones((8, 1))), engine=engine
    )
    run.set_weights(0, [number])
    says = rf"at step 1: .*the first weight is 0\.weight\[0\]\[0\]\[0\]\[0\]\. .* was {number:g} before it: set it"
    with pytest.raises(DivergedError, match=says):
        run.step(5)
    assert np.isnan(run.predict(np.ones((1, 1, 3, 3)))).all()
