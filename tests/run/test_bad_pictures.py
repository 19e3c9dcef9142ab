"""Pictures and classes that a run cannot learn from: one clear sentence before anything is trained."""

from __future__ import annotations

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import nn, optim
from scalarviz.errors import InputError

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
        (net(), X, np.eye(10)[:4], "one target a sample.*argmax"),
        (net(), X, Y[:3], "4 inputs but 3 targets"),
        (net(), X[:, :, :7, :5], Y, r"Linear\(72, 10\) '4' takes 72 inputs, got 30"),
    ],
)
def test_what_does_not_fit_is_said_before_the_first_step(model, x, y, says):
    with pytest.raises(InputError, match=says) as caught:
        sv.Run(model, nn.CrossEntropyLoss(), optim.Adam(model.parameters()), (x, y), engine="numpy")
    assert "\n" not in str(caught.value)
