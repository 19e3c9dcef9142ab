"""Loose Weights that lists hold: one tensor a list, of its shape; files keep a name a Weight."""

from __future__ import annotations

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import nn, optim
from scalarviz.errors import UnknownNameError
from scalarviz.run.frame import Tensor
from scalarviz.run.grouped import grouped
from scalarviz.run.naming import index_of


class Typed(nn.Module):
    """A matrix and a vector of loose Weights, rows of unequal lengths, and one that stands alone."""

    def __init__(self):
        self.w = [[sv.Weight(10 * i + j) for j in range(3)] for i in range(4)]
        self.ragged = [[sv.Weight(1.0)], [sv.Weight(2.0), sv.Weight(3.0)]]
        self.bias = [sv.Weight(0.1 * i) for i in range(4)]
        self.scale = sv.Weight(0.5)

    def forward(self, x):
        rows = [sum(w * v for w, v in zip(row, x, strict=True)) + b for row, b in zip(self.w, self.bias, strict=True)]
        return self.scale * sum(rows) + sum(w * x[0] for row in self.ragged for w in row)


@pytest.fixture
def run():
    net = Typed()
    data = np.ones((4, 3)), np.zeros((4, 1))
    return sv.Run(net, nn.MSELoss(), optim.Adam(net.parameters(), lr=0.01), data, engine="numpy", dtype="float64")


def test_a_list_is_one_tensor_of_its_shape(run):
    assert [(t.name, t.shape, t.role) for t in run.tensors] == [
        ("w", (4, 3), "weight"), ("ragged.0", (1,), "weight"), ("ragged.1", (2,), "weight"), ("bias", (4,), "bias"),
        ("scale", (), "value"),
    ]  # fmt: skip
    np.testing.assert_array_equal(run.tensors[0].of(run.values), [[10 * i + j for j in range(3)] for i in range(4)])
    assert [run.weight_name(k) for k in (0, 7, 12, 14, 18, 19)] == [
        "w[0][0]", "w[2][1]", "ragged.0[0]", "ragged.1[1]", "bias[3]", "scale",
    ]  # fmt: skip


def test_a_weight_is_found_by_each_of_its_names(run):
    weight = run.model.w[2][1]
    assert weight.name == "w.2.1"
    blocks = [part._block for part in run.model.parameters()]
    for given in (weight, "w[2][1]", "w.2.1", 7):
        assert index_of(run.tensors, blocks, given) == 7
    with pytest.raises(UnknownNameError, match=r"there are w\[0\.\.3\]\[0\.\.2\]"):
        index_of(run.tensors, blocks, "v.2.1")


def test_files_have_the_names_of_the_model(run, tmp_path):
    run.step(3)
    assert list(run.state_dict()) == list(run.model.state_dict())
    run.save(tmp_path / "run.safetensors")
    before = run.values.copy()
    run.step(2)
    run.load(tmp_path / "run.safetensors")
    np.testing.assert_array_equal(run.values, before)
    Typed().load_state_dict(run.state_dict())


@pytest.mark.parametrize(
    "names",
    [
        ["w.0"],
        ["w.1", "w.2"],
        ["w.0", "v.1"],
        ["w.0", "w.2"],
        ["w.0.0", "w.1"],
        ["0", "1"],
        ["w.0", "w.0 (2)"],
    ],
)
def test_what_is_no_list_in_order_stays_as_it_is(names):
    tensors = [Tensor(name, (), k, "value") for k, name in enumerate(names)]
    assert grouped(tensors) == tuple(tensors)


def test_a_tensor_between_ends_a_list():
    tensors = [Tensor("w.0", (), 0), Tensor("w.1", (), 1), Tensor("m", (2, 2), 2), Tensor("w.2", (), 6)]
    assert [t.name for t in grouped(tensors)] == ["w", "m", "w.2"]
