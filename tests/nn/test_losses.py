"""Losses against PyTorch over a batch, against finite differences, and their conventions."""

from __future__ import annotations

import math

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import Value, nn

LOSSES = {
    "mse": nn.MSELoss, "l1": nn.L1Loss, "bce": nn.BCELoss,
    "huber": lambda reduction: nn.HuberLoss(reduction, delta=0.3),
}  # fmt: skip


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("reduction", ["mean", "sum"])
def test_losses_agree_with_pytorch(oracle, name, reduction):
    arrays = oracle("losses")
    loss = LOSSES[name](reduction)
    outputs = [[Value(x) for x in row] for row in arrays["outputs"]]
    singles = [loss(o, t) for o, t in zip(outputs, arrays["targets"], strict=True)]
    total = sv.sum(singles)
    if nn.batch_reduction(loss) == "mean":
        total = total / len(singles)
    total.backward()
    assert total.data == pytest.approx(float(arrays[f"{name}/{reduction}/value"]), rel=1e-13)
    wanted = arrays[f"{name}/{reduction}/grad"].copy()
    if name == "bce":  # PyTorch's 1e-12 under the derivative is the float32 next to it
        wanted[arrays["outputs"] * (1 - arrays["outputs"]) < 1e-12] *= float(np.float32(1e-12)) / 1e-12
    np.testing.assert_allclose([[v.grad for v in row] for row in outputs], wanted, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("reduction", ["mean", "sum"])
def test_losses_against_finite_differences(name, reduction):
    loss = LOSSES[name](reduction)
    assert sv.gradcheck(lambda a, b, t: loss([a, b], [t, 0.25]), 0.2, 0.7, 0.9)


def test_the_factor_of_the_squared_error():
    o, t = [0.5, 2.0], [0.0, 0.0]
    assert nn.MSELoss()(o, t).data == pytest.approx(4.25 / 2)
    assert nn.MSELoss("sum")(o, t).data == 4.25
    assert nn.MSELoss("sum", factor=0.5)(o, t).data == 2.125
    assert nn.MSELoss(factor=0.5)(o, t).data == pytest.approx(4.25 / 4)
    x = Value(3.0)
    nn.MSELoss("sum", factor=0.5)([x], [1.0]).backward()
    assert x.grad == 2.0  # output - target


def test_one_output_and_arrays_and_values_as_targets():
    loss = nn.MSELoss()
    assert loss(Value(2.0), 1.0).data == 1.0
    assert loss([2.0], np.array([1.0])).data == 1.0
    t = Value(1.0)
    loss([Value(2.0)], [t]).backward()
    assert t.grad == -2.0


def test_the_cross_entropy_at_its_ends():
    loss = nn.BCELoss()
    assert loss([0.0], [0.0]).data == 0.0
    assert loss([0.0], [1.0]).data == 100.0
    assert loss([1.0], [0.0]).data == 100.0
    assert math.isnan(loss([1.5], [0.5]).data)


def test_kinks_of_the_losses():
    for made, x, grad in ((nn.L1Loss("sum"), 1.0, 0.0), (nn.HuberLoss("sum", delta=0.5), 1.5, 0.5)):
        value = Value(x)
        made([value], [1.0]).backward()
        assert value.grad == grad


def test_a_users_function_is_averaged_over_the_batch():
    assert nn.batch_reduction(lambda o, t: o[0] - t[0]) == "mean"
    assert nn.batch_reduction(nn.MSELoss("sum")) == "sum"

    def mine(o, t):
        return o[0]

    mine.batch_reduction = "median"
    with pytest.raises(sv.ScalarvizError, match="median"):
        nn.batch_reduction(mine)


BAD = [
    (lambda: nn.MSELoss("all"), "reduction must be one of mean, sum, none, got 'all'"),
    (lambda: nn.L1Loss(None), "reduction"),
    (lambda: nn.MSELoss(factor=2), "factor must be 1 or 0.5, got 2"),
    (lambda: nn.MSELoss(factor=math.nan), "factor"),
    (lambda: nn.MSELoss(factor="half"), "factor must be a number"),
    (lambda: nn.HuberLoss(delta=0), "delta"),
    (lambda: nn.HuberLoss(delta=math.inf), "delta"),
    (lambda: nn.MSELoss()([1.0, 2.0], [1.0]), r"outputs of shape \(2,\) for targets of shape \(1,\).*CrossEntropyLoss"),
    (
        lambda: nn.BCELoss()([0.5], [1.0, 2.0, 3.0]),
        r"outputs of shape \(1,\) for targets of shape \(3,\).*\(N, 1\)",
    ),
    (lambda: nn.MSELoss()([], []), "no outputs"),
    (lambda: nn.MSELoss()([[0.5, 1.0]], np.ones((2, 1))), "nested in different ways"),
    (lambda: nn.MSELoss()([0.5], "a"), "row of numbers"),
    (lambda: nn.MSELoss()([0.5], ["a"]), "must be a number"),
    (lambda: nn.Loss()([0.5], [0.5]), "defines no term"),
]


@pytest.mark.parametrize(("attempt", "text"), BAD)
def test_bad_input_is_refused(attempt, text):
    with pytest.raises(sv.ScalarvizError, match=text):
        attempt()


def test_losses_print_their_convention():
    assert repr(nn.MSELoss("sum", 0.5)) == "MSELoss(reduction='sum', factor=0.5)"
    assert repr(nn.BCELoss()) == "BCELoss(reduction='mean')"
    assert repr(nn.HuberLoss(delta=2)) == "HuberLoss(reduction='mean', delta=2)"
