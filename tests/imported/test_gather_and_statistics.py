"""Two graphs that a user calls by hand: rows of a table of one dimension, and a norm that gives its statistics."""

from __future__ import annotations

import numpy as np
import pytest
from onnx.reference import ReferenceEvaluator

import scalarviz as sv
from kit.nested import flat, numbers
from kit.onnx_files import Made
from scalarviz import optim


def test_ids_choose_numbers_of_a_row(tmp_path):
    made = Made("N", 2, dtype=np.int64)
    made.node("Gather", made.weight("b", 5), "x", to="y")
    net, ids = sv.load_onnx(made.save(tmp_path, "y")), np.array([[3, 1], [0, 4]])
    wanted = ReferenceEvaluator(made.model("y")).run(None, {"x": ids})[0]
    assert [numbers(net(row)).tolist() for row in ids] == wanted.tolist()


@pytest.mark.parametrize("outputs", [("y", "om", "ov"), ("y", "read")])
def test_statistics_of_a_norm_in_training_are_outputs(tmp_path, outputs):
    made = Made("N", 3, 4)
    parts = [made.weight(name, 3, shift=1.0, scale=0.1) for name in ("scale", "bias", "mean", "var")]
    made.node("BatchNormalization", "x", *parts, to="y", training_mode=1)
    made.nodes[-1].output.extend(["om", "ov"])
    made.node("Add", "om", "ov", to="read")
    net, x = sv.load_onnx(made.save(tmp_path, *outputs)), np.random.default_rng(1).normal(size=(6, 3, 4))
    reference = ReferenceEvaluator(made.model(*outputs))

    def wanted(batch):
        found = dict(zip(outputs, reference.run(None, {"x": batch.astype(np.float32)}), strict=True))
        y = found.pop("y").reshape(len(batch), -1)
        return np.array([np.concatenate([row, *found.values()]) for row in y])

    assert numbers(net(x[0])) == pytest.approx(wanted(x[:1])[0], rel=1e-5, abs=1e-6)
    assert [*net.state_dict()] == ["scale", "bias"]  # the statistics are not trained

    def loss(out, _):
        return sv.sum(flat(out[0])) * sv.sum(out[1]) + sv.sum(out[-1])

    run = sv.Run(net, loss, optim.SGD(net.parameters(), lr=0.1), (x, np.zeros(6)), engine="numpy", dtype="float64")
    run.step(1)
    rows = wanted(x)
    assert run.loss == pytest.approx(np.mean([r[:12].sum() * r[12:15].sum() + r[-3:].sum() for r in rows]), rel=1e-5)
