"""Loose Weights that lists hold: one tensor a list, of its shape; files keep a name a Weight."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import nn, optim
from scalarviz.errors import UnknownNameError
from scalarviz.run import Run
from scalarviz.run.core.gather import weight_name


class Typed(nn.Module):
    """A matrix and a vector of loose Weights, rows of unequal lengths, and one that stands alone."""

    def __init__(self) -> None:
        self.w = [[sv.Weight(10 * i + j) for j in range(3)] for i in range(4)]
        self.ragged = [[sv.Weight(1.0)], [sv.Weight(2.0), sv.Weight(3.0)]]
        self.bias = [sv.Weight(0.1 * i) for i in range(4)]
        self.scale = sv.Weight(0.5)

    def forward(self, x: Any) -> Any:
        rows = [sum(w * v for w, v in zip(row, x, strict=True)) + b for row, b in zip(self.w, self.bias, strict=True)]
        return self.scale * sum(rows) + sum(w * x[0] for row in self.ragged for w in row)


def run_of(net: Any) -> Run:
    data = np.ones((4, 3)), np.zeros((4, 1))
    return Run(net, nn.MSELoss(), optim.Adam(net.parameters(), lr=0.01), data, engine="numpy", dtype="float64")


def test_a_list_is_one_tensor_of_its_shape_and_a_weight_is_found_by_each_of_its_names():
    run = run_of(Typed())
    assert [(t.name, t.shape, t.role) for t in run.tensors] == [
        ("w", (4, 3), "weight"), ("ragged.0", (1,), "weight"), ("ragged.1", (2,), "weight"), ("bias", (4,), "bias"),
        ("scale", (), "value"),
    ]  # fmt: skip
    np.testing.assert_array_equal(run.tensors[0].of(run.values), [[10 * i + j for j in range(3)] for i in range(4)])
    named = {0: "w[0][0]", 7: "w[2][1]", 12: "ragged.0[0]", 14: "ragged.1[1]", 18: "bias[3]", 19: "scale"}
    assert {index: weight_name(run.tensors, index) for index in named} == named
    weight = run.model.w[2][1]
    assert weight.name == "w.2.1"
    assert list(run.state_dict()) == list(run.model.state_dict())
    Typed().load_state_dict(run.state_dict())
    run.step(1)
    opened = run.open()
    for given in (weight, "w[2][1]", "w.2.1"):
        assert opened.update(given).before == opened.update(7).before == run.values[7]
    with pytest.raises(UnknownNameError, match=r"w\[0\.\.3\]\[0\.\.2\]"):
        opened.update("v.2.1")
