"""What cannot be written is refused in one line, before anything is written; a file is there whole or not at all."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

import scalarviz as sv
from scalarviz import nn
from scalarviz.errors import InputError, MissingDependencyError, ScalarvizError, TracingError, TypeMismatchError
from scalarviz.scalar import mask

sys.path.append(str(Path(__file__).parent))
from exported import operators, session


@pytest.fixture
def net():
    return nn.Sequential(nn.Linear(2, 3, seed=0), nn.Tanh())


class OfFunction(nn.Module):
    """A module of a function."""

    def __init__(self, function):
        self.forward = function


def refused(net, tmp_path, kind, match, *args, **more):
    path = tmp_path / "net.onnx"
    with pytest.raises(kind, match=match) as caught:
        net.to_onnx(path, *args, **more)
    assert isinstance(caught.value, ScalarvizError)
    assert "\n" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


UNSAID = {
    "a convolution": nn.Conv2d(1, 2, 3, seed=0),
    "an activation": nn.Sequential(nn.ReLU()),
    "nothing": nn.Sequential(),
    "a function": OfFunction(lambda x: x),
    "an embedding first": nn.Sequential(nn.Embedding(3, 2), nn.Flatten()),
}


@pytest.mark.parametrize("name", UNSAID)
def test_a_shape_that_nobody_said_is_asked_for(tmp_path, name):
    refused(UNSAID[name], tmp_path, InputError, r"give the shape of one.*shape=\(1, 28, 28\)")


KNOWN = {
    "a linear layer": (lambda: nn.Linear(4, 2, seed=0), ["N", 4]),
    "behind activations": (lambda: nn.Sequential(nn.Dropout(), nn.Tanh(), nn.PReLU(), nn.Linear(3, 1)), ["N", 3]),
    "a row that becomes a picture": (lambda: nn.Sequential(nn.Unflatten((1, 3, 3)), nn.Conv2d(1, 1, 2)), ["N", 9]),
    "inside others": (lambda: nn.Sequential(nn.Sequential(nn.MLP(5, [2], 1))), ["N", 5]),
    "a perceptron": (lambda: nn.Perceptron(6), ["N", 6]),
}  # fmt: skip


@pytest.mark.parametrize("name", KNOWN)
def test_a_shape_that_is_known_is_not_asked_for(tmp_path, name):
    make, shape = KNOWN[name]
    make().to_onnx(tmp_path / "net.onnx")
    assert session(tmp_path / "net.onnx").get_inputs()[0].shape == shape


@pytest.mark.parametrize("shape", [3, "3", (0,), (-1,), (2.5,), (True,), [3], ((1, 2),), {3}, None.__class__], ids=repr)
def test_shapes_that_are_none(net, tmp_path, shape):
    refused(net, tmp_path, (InputError, TypeMismatchError), "to_onnx.*shape", shape)


def test_a_shape_that_the_module_does_not_take(net, tmp_path):
    refused(net, tmp_path, InputError, r"Linear\(2, 3\) '0' takes 2 inputs, got 5", (5,))


@pytest.mark.parametrize("dtype", [None, "float16", 32, float], ids=str)
def test_other_dtypes(net, tmp_path, dtype):
    refused(net, tmp_path, ScalarvizError, "to_onnx: dtype", dtype=dtype)


def test_a_branch_on_a_number_names_where(tmp_path):
    refused(OfFunction(lambda x: x[0] if x[0] > 0 else x[1]), tmp_path, TracingError, r"sv\.where", (2,))


def test_masks_that_are_drawn_in_evaluation_too(tmp_path):
    net = OfFunction(lambda x: [v * m for v, m in zip(x, mask.factors(2, 0.5), strict=True)])
    refused(net, tmp_path, InputError, "drawn anew at every step", (2,))


def test_what_returns_no_values(tmp_path):
    refused(OfFunction(lambda x: "abc"), tmp_path, InputError, "must return a Value or a list", (2,))
    refused(OfFunction(lambda x: None), tmp_path, InputError, "must return a Value or a list", (2,))


def test_places_that_cannot_be_written_are_told_before_the_network_is_looked_at(tmp_path):
    net = OfFunction(lambda x: 1 / 0)
    for path in (tmp_path, "", 3, None):
        with pytest.raises(ScalarvizError):
            net.to_onnx(path, (2,))
    with pytest.raises(ZeroDivisionError):
        net.to_onnx(tmp_path / "net.onnx", (2,))


def test_without_the_package(net, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "onnx", None)
    refused(net, tmp_path, MissingDependencyError, r'pip install "scalarviz\[onnx\]"')


def test_more_than_two_gigabytes(tmp_path, monkeypatch):
    from scalarviz.onnx.export import proto

    monkeypatch.setattr(proto, "LARGEST", 10)
    refused(nn.Linear(2, 3), tmp_path, InputError, "at most 2 GiB.*safetensors")


def test_a_file_that_was_there_stays_where_writing_fails(net, tmp_path):
    path = tmp_path / "net.onnx"
    net.to_onnx(path)
    before = path.read_bytes()
    with pytest.raises(InputError):
        net.to_onnx(path, (7,))
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["net.onnx"]


def test_the_same_network_gives_the_same_bytes(net, tmp_path):
    net.to_onnx(tmp_path / "a.onnx")
    net.to_onnx(tmp_path / "b.onnx")
    assert (tmp_path / "a.onnx").read_bytes() == (tmp_path / "b.onnx").read_bytes()


def test_names_that_are_taken_already(tmp_path):
    """Weights whose names are those that nodes, inputs and outputs would get."""
    net = OfFunction(lambda x: [net.Mul * v * net.input + net.number for v in x])
    net.Mul, net.input, net.output, net.number = (sv.Weight(float(k)) for k in (2, 3, 4, 5))
    net.to_onnx(tmp_path / "net.onnx", (2,))
    run = session(tmp_path / "net.onnx")
    assert [run.get_inputs()[0].name, run.get_outputs()[0].name] == ["input_2", "output_2"]
    assert run.run(None, {"input_2": [[1.0, 2.0]]})[0].tolist() == [[11.0, 17.0]]


def test_a_network_of_a_live_run_is_written_as_it_is(net, tmp_path):
    run = sv.Run(net, nn.MSELoss(), sv.optim.SGD(net.parameters(), lr=0.1), data=([[0.0, 1.0]], [[0.0, 1.0, 0.5]]))
    run.step(2)
    before = run.steps, run.loss, net.state_dict()
    net.to_onnx(tmp_path / "net.onnx")
    assert (run.steps, run.loss) == before[:2]
    [found] = session(tmp_path / "net.onnx").run(None, {"input": [[0.0, 1.0]]})
    assert found == pytest.approx(run.predict([[0.0, 1.0]]), rel=1e-6)
    run.close()
    import onnx

    assert operators(onnx.load(tmp_path / "net.onnx")) == ["Gemm", "Tanh"]
