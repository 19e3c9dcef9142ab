"""What `to_onnx` cannot write and what `load_onnx` is asked wrongly: refused in one line, and no file is left."""

import os
import sys

import numpy as np
import pytest

import scalarviz as sv
from kit.onnx_files import Made
from kit.refusals import Refusal, refusals
from scalarviz import nn
from scalarviz.errors import (
    InputError,
    MissingDependencyError,
    ScalarvizError,
    TracingError,
    TypeMismatchError,
)  # fmt: skip
from scalarviz.scalar import mask  # noqa: F401 (rows)

BOTH = (InputError, TypeMismatchError)


class Of(nn.Module):
    """A module of a function."""

    def __init__(self, function):
        self.forward = function


def net():
    return nn.Sequential(nn.Linear(2, 3, seed=0), nn.Tanh())


def write(folder, made, *args, **more):
    made.to_onnx(folder / "net.onnx", *args, **more)


ASKS = (InputError, "shape", "(1, 28, 28)")
UNWRITTEN = {
    "convolution of what?": ("write(it, nn.Conv2d(1, 2, 3, seed=0))", *ASKS),
    "activation of what?": ("write(it, nn.Sequential(nn.ReLU()))", *ASKS),
    "nothing of what?": ("write(it, nn.Sequential())", *ASKS),
    **{f"shape {text}": (f"write(it, net(), {text})", BOTH, "to_onnx", "shape") for text in
       ("3", "[]", "[(3,), (3,)]", "(0,)", "(2.5,)", "[3]")},
    "a shape it does not take": ("write(it, net(), (5,))", InputError, "Linear(2, 3) '0'", "length 2", "5"),
    **{f"dtype {text}": (f"write(it, net(), dtype={text})", ScalarvizError, "to_onnx", "dtype") for text in
       ("None", "'float16'", "32", "float")},
    "a branch on a number": ("write(it, Of(lambda x: x[0] if x[0] > 0 else x[1]), (2,))", TracingError,
        "sv.where"),
    "a mask drawn in evaluation": (
        "write(it, Of(lambda x: [v * m for v, m in zip(x, mask.factors(2, 0.5))]), (2,))", InputError,
            "redrawn",
    ),
    "returns nothing": ("write(it, Of(lambda x: None), (2,))", InputError, "Value", "list"),
}  # fmt: skip


def step(folder, layer="Tanh()", loss=None, **more):
    net = nn.Sequential(nn.Linear(2, 2, seed=0), eval(f"nn.{layer}"))
    data = np.ones((3, 2)), np.zeros((3, 2))
    sv.Run(net, loss or nn.MSELoss(), sv.optim.SGD(net.parameters()), data, engine="numpy", **more).to_onnx(
        folder / "net.onnx", training=True
    )


class Shared(nn.MSELoss):
    """A loss that divides by a number of its own."""

    def batch_shares(self, targets):
        return np.ones(len(targets))


class Function:
    """A run of a function, which no file holds."""

    def __init__(self):
        self.weight = sv.Weight(1.0)

    def to_onnx(self, path):
        data = [[1.0]], [[0.0]]
        sv.Run(lambda x: self.weight * x[0], nn.MSELoss(), sv.optim.SGD([self.weight]), data).to_onnx(path)


UNWRITTEN |= {
    "a step that draws": ("step(it, 'Dropout(0.5)')", InputError, "Dropout", "eval()"),
    "a step in float16": ("step(it, dtype='float16')", InputError, "float16", "dtype='float32'"),
    "a step that divides by code": ("step(it, loss=Shared())", InputError, "batch_shares", "Shared"),
    "a function that is trained": ("write(it, Function())", InputError, "function", "nn.Module"),
}  # fmt: skip


def rows(table):
    """The rows with their calls: texts that see `it`, the folder."""
    return {
        name: (lambda it, text=text: eval(text, globals(), {"it": it}), *more) for name, (text, *more) in table.items()
    }


@refusals(rows(UNWRITTEN))
def test_what_cannot_be_written_is_refused_and_nothing_is_left(tmp_path, refusal):
    refusal.check(tmp_path)
    assert os.listdir(tmp_path) == []
    kept = tmp_path / "net.onnx"
    kept.write_bytes(b"old")
    refusal.check(tmp_path)
    assert (kept.read_bytes(), os.listdir(tmp_path)) == (b"old", ["net.onnx"])


def test_places_that_cannot_be_written_are_told_before_the_network_is_looked_at(tmp_path):
    broken = Of(lambda x: 1 / 0)
    for path in (tmp_path, "", 3, None):
        with pytest.raises(ScalarvizError):
            broken.to_onnx(path, (2,))
    with pytest.raises(ZeroDivisionError):
        broken.to_onnx(tmp_path / "net.onnx", (2,))


def test_without_the_package(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "onnx", None)
    Refusal(net().to_onnx, MissingDependencyError, ('pip install "scalarviz[onnx]"',)).check(tmp_path / "net.onnx")
    (tmp_path / "net.onnx").write_bytes(b"\x08\x08")
    Refusal(sv.load_onnx, MissingDependencyError, ('pip install "scalarviz[onnx]"',)).check(tmp_path / "net.onnx")


# ---- loading


MLP = """
a = Gemm(x, fc1.weight:4x3, fc1.bias:4, transB=1) @/fc1/Gemm
b = Relu(a)
y = Gemm(b, fc2.weight:2x4, transB=1) @/fc2/Gemm
"""
PAIRS = "a = Transpose(x, perm=[1, 0])\ny = MatMul(x, a) @all_pairs"
MASKED = "d mask = Dropout(x, ratio:=0.5, on:=True) @drop\ny = Where(mask, d, x)"


def mlp(*shape):
    return Made(*(shape or ("batch_size", 3))).read(MLP)


def scaled(*shape):
    """Scaled rows, so that each axis of (N, L, 3) can count samples."""
    return Made(*shape).read("t = Tanh(x)\ny = Mul(t, scale:3)")


def load(folder, made, *outputs, **options):
    return sv.load_onnx(made.save(folder, *outputs), **options)


SIDES = ("{'K': 4, 'L': 2}", "{'L': 0}", "{'L': 2.5}", "{'x': 3}", "{'x': (2, 0)}", "{'x': (3,)}", "{'y': (2, 3)}",
         "{'x[1]': 2}", "[2]", "{3: 3}")  # fmt: skip
UNREAD = {
    "samples are mixed": ("load(it, Made('N', 3).read(PAIRS))", InputError,
        "MatMul 'all_pairs'", "axis 0 of x", "batch=False"),
    "a mask is used": ("load(it, Made('N', 3).read(MASKED))", InputError, "Dropout 'drop'", "'mask'", "training_mode"),
    "four samples": ("load(it, mlp(4, 3).read('z = Reshape(y, shape:=[4, 1, 2]) @hard'), 'z')", InputError,
        "4 samples", "Reshape 'hard'", "dynamic_axes"),
    "no such side": ("load(it, mlp(), batch='M')", InputError, "batch='M'", "x", "batch_size"),
    "no such axis": ("load(it, mlp(), batch=2)", InputError, "batch=2", "'x'"),
    "a truth": ("load(it, mlp(), batch=True)", ScalarvizError, "batch", "name or the index"),
    "a name in no list": ("load(it, mlp(), trained='fc1')", ScalarvizError, "['fc*']", "'fc1'"),
    "no such parameter": ("load(it, mlp(), trained=['conv*'])", ScalarvizError, "'conv*'", "fc1.weight"),
    "a side that nobody said": ("load(it, mlp('N', 'width'))", InputError, "width", "the sizes in sides="),
    "a sample of another shape": ("load(it, scaled('N', 3))(np.ones((2, 2, 2)))", InputError, "'x'", "(3,)"),
    "two samples": ("load(it, scaled('N', 3))(np.ones(3), np.ones(3))", ScalarvizError, "expected 1", "(x)", "2"),
    "many numbers": ("load(it, Made('N', 1500, 1500).read('y = Abs(x) @large'))", InputError,
        "2,250,000", "Abs 'large'"),
    "a side that is not": ("load(it, scaled('N', None, 3), sides={'length': 3})", InputError, "length", "'N'",
        "'x[1]'", "'x'"),
    **{f"sides {text}": (f"load(it, scaled('N', 'L', 3), sides={text})", BOTH, "sides") for text in SIDES},
}  # fmt: skip


@refusals(rows(UNREAD))
def test_what_is_asked_wrongly_is_refused_in_one_line(tmp_path, refusal):
    refusal.check(tmp_path)
    try:
        refusal.call(tmp_path)
    except ScalarvizError as error:
        assert "\n" not in str(error)  # noqa: PT017
