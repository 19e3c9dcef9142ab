"""What `sides=` and `batch=` say: names that the file has, whole numbers; the rest is refused, not swallowed."""

from __future__ import annotations

import numpy as np
import pytest
from onnx_models import Made, computed

import scalarviz as sv
from scalarviz.errors import InputError, TypeMismatchError
from scalarviz.scalar.nested import flatten


def made(*shape):
    """Scaled rows, so that each axis of (N, L, 3) can count samples."""
    model = Made(shape)
    model.node("Mul", model.node("Tanh", "x"), model.weight("scale", 3), to="y")
    return model


@pytest.mark.parametrize("sides", [
    {"K": 4, "L": 2}, {"L": 0}, {"L": -1}, {"L": 2.5}, {"L": "2"}, {"L": True}, {"L": None}, {"x": 3}, {"x": "L"},
    {"x": (2.0, 3)}, {"x": (2, 0)}, {"x": (3,)}, {"x": (2, 2, 3)}, {"x": ()}, {"y": (2, 3)}, {"x": np.array([2, 3])},
    {"x[1]": 2}, [2], {3: 3},
])  # fmt: skip
def test_what_a_file_has_not_or_no_side_can_be_is_refused(tmp_path, sides):
    path = made("N", "L", 3).save(tmp_path, "y")
    with pytest.raises((InputError, TypeMismatchError), match="sides") as caught:
        sv.load_onnx(path, sides=sides)
    assert "\n" not in str(caught.value)


def test_the_refusal_names_what_there_is(tmp_path):
    path = made("N", None, 3).save(tmp_path, "y")
    with pytest.raises(InputError, match=r"no such side; open sides: 'N', 'x\[1\]'; inputs: 'x'"):
        sv.load_onnx(path, sides={"length": 3})
    assert len(flatten(sv.load_onnx(path, sides={"x[1]": 2})([[1.0, 2.0, 3.0]] * 2))) == 6


@pytest.mark.parametrize(("batch", "sides", "sample"), [
    (None, {"L": 4}, (4, 3)), (None, {"x": (4, 3)}, (4, 3)), (None, {"x": [np.int64(4), 3]}, (4, 3)),
    ("L", {"N": 2}, (2, 3)), ("L", {"x": (2, 3)}, (2, 3)), (1, {"x": (2, 3)}, (2, 3)), (-2, {"N": 2}, (2, 3)),
    (False, {"x": (2, 4, 3)}, (2, 4, 3)), (False, {"N": 2, "L": 4}, (2, 4, 3)),
])  # fmt: skip
def test_a_sample_has_the_sides_that_are_told_wherever_the_samples_stand(tmp_path, batch, sides, sample):
    path = made("N", "L", 3).save(tmp_path, "y")
    net = sv.load_onnx(path, batch=batch, sides=sides)
    x = np.random.default_rng(2).normal(size=(2, 4, 3)).astype(np.float32)
    wanted = computed(path, x)
    samples = [(x, wanted)] if batch is False else [
        (np.take(x, k, (batch and 1) or 0), np.take(wanted, k, (batch and 1) or 0)) for k in range(2)]  # fmt: skip
    for one, result in samples:
        assert one.shape == sample
        np.testing.assert_allclose([v.data for v in flatten(net(one))], result.ravel(), rtol=1e-5)
