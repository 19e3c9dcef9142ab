"""`scalarviz train`: what it learns, what it writes, what it refuses."""

from __future__ import annotations

import json

import numpy as np
import onnx
import onnxruntime
import pytest

import scalarviz as sv
from scalarviz import nn
from scalarviz.cli.main import main
from scalarviz.errors import InputError
from scalarviz.io import save_picture


@pytest.fixture
def ring(tmp_path, monkeypatch):
    """A network that ends with a softmax, and points that are inside a ring or outside."""
    monkeypatch.chdir(tmp_path)
    x = np.random.default_rng(0).normal(size=(200, 2)).astype(np.float32)
    np.savez("ring.npz", x=x, y=(np.hypot(*x.T) > 1.1).astype(int))
    net = nn.Sequential(nn.Linear(2, 8, seed=1), nn.Tanh(), nn.Linear(8, 2, seed=2), nn.Softmax())
    net.to_onnx("net.onnx")
    return x


def trained(*flags):
    return main(["train", *flags, "--headless", "--engine", "numpy", "--json"])


def test_it_learns_classes_and_writes_what_onnxruntime_reads(ring, capsys):
    assert trained("net.onnx", "--data", "ring.npz", "--steps", "150", "--lr", "0.05", "--onnx", "out.onnx") == 0
    told = capsys.readouterr()
    said = json.loads(told.out)
    assert said["scene"] == "train"
    assert said["accuracy"] > 0.85
    assert "160 samples to learn from, 40 for the test" in told.err
    assert "the softmax at its end is in the loss" in told.err
    session = onnxruntime.InferenceSession("out.onnx", providers=["CPUExecutionProvider"])
    shares = session.run(None, {session.get_inputs()[0].name: ring})[0]
    np.testing.assert_allclose(shares.sum(axis=1), 1.0, rtol=1e-5)
    assert (shares.argmax(axis=1) == (np.hypot(*ring.T) > 1.1)).mean() > 0.85
    assert type(sv.load_onnx("out.onnx")[-1]) is nn.Softmax


def test_what_is_not_named_stays(ring):
    assert trained("net.onnx", "--data", "ring.npz", "--steps", "5", "--trained", "2.*", "--onnx", "out.onnx") == 0
    before, after = (sv.load_onnx(path).state_dict() for path in ("net.onnx", "out.onnx"))
    assert [name for name in before if (before[name] != after[name]).any()] == ["2.weight", "2.bias"]


def test_numbers_are_learnt_by_mean_squares(ring, capsys):
    nn.MLP(2, 8, 1, seed=1).to_onnx("line.onnx")
    np.savez("line.npz", x=ring[:150], y=ring[:150, :1] * 2, x_test=ring[150:], y_test=ring[150:, :1] * 2)
    assert trained("line.onnx", "--data", "line.npz", "--steps", "200", "--lr", "0.05") == 0
    assert json.loads(capsys.readouterr().out)["test_loss"] < 0.1


def test_a_folder_of_pictures_has_a_class_a_subfolder(ring, capsys, tmp_path):
    for name, bright in (("dark", 0.1), ("light", 0.9)):
        (tmp_path / "set" / name).mkdir(parents=True)
        for k in range(6):
            save_picture(tmp_path / "set" / name / f"{k}.png", np.full((4, 5, 3), bright + 0.01 * k, np.float32))
    net = nn.Sequential(nn.Conv2d(1, 2, 3, seed=1), nn.Tanh(), nn.Flatten(), nn.Linear(12, 2, seed=2))
    net.to_onnx("grey.onnx", (1, 4, 5))
    assert trained("grey.onnx", "--data", "set", "--steps", "200", "--lr", "0.05", "--test", "0.25") == 0
    assert json.loads(capsys.readouterr().out)["accuracy"] == 1.0


class Pair(nn.Module):
    """Two outputs, the second a part of the first."""

    def __init__(self):
        self.whole = nn.Linear(2, 2, seed=0)

    def forward(self, x):
        y = self.whole(x)
        return y, [y[0]]


ODD = {
    "a folder in a class": ("set/dark/more/0.png", "dark/more is no file; the folder of a class holds pictures alone"),
    "a class without pictures": ("set/none/.hidden", "set/none has no pictures; each folder in set is a class"),
    "more classes than outputs": ("set/third/0.png", "set has 3 classes (dark, light, third), grey.onnx gives numbers"),
    "no picture": ("set/dark/notes.txt", "set/dark/notes.txt is not a picture"),
    "what Windows puts there": ("set/dark/Thumbs.db", None),
    "a file beside the classes": ("set/readme.txt", None),
}


@pytest.mark.parametrize("name", ODD)
def test_odd_things_in_a_folder_are_named(name, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    nn.Sequential(nn.Flatten(), nn.Linear(4, 2, seed=2)).to_onnx("grey.onnx", (1, 2, 2))
    odd, said = ODD[name]
    for file in ("set/dark/0.png", "set/light/0.png", odd):
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        if file.endswith(".png"):
            save_picture(tmp_path / file, np.zeros((2, 2, 3), np.float32))
        else:
            (tmp_path / file).write_text("no picture")
    assert trained("grey.onnx", "--data", "set", "--steps", "1") == (0 if said is None else 2)
    assert said is None or said in capsys.readouterr().err


BAD = [
    (["missing.onnx", "--data", "ring.npz"], "there is no ONNX file missing.onnx"),
    (["net.onnx"], "--data: nothing was given"),
    (["--data", "ring.npz"], "NETWORK: nothing was given"),
    (["net.onnx", "--data", "missing.npz"], "there is no data set missing.npz"),
    (["net.onnx", "--data", "net.onnx"], "net.onnx is no .npz file of numbers, or a damaged one; np.savez(path, x="),
    (["net.onnx", "--data", "other.npz"], "other.npz has no array y, it has x"),
    (["net.onnx", "--data", "wide.npz"], "a sample of x has the shape (3,), the network takes (2,)"),
    (["net.onnx", "--data", "short.npz"], "short.npz has 4 samples in x and 3 in y"),
    (["net.onnx", "--data", "."], "is a folder of pictures; the network takes samples of the shape (2,)"),
    (["net.onnx", "--data", "ring.npz", "--trained", "conv*"], "no parameter of Sequential is called 'conv*'"),
    (["net.onnx", "--data", "ring.npz", "--loss", "l1"], "'l1' is not one of 'ce', 'mse'"),
    (["net.onnx", "--data", "ring.npz", "--samples", "M"], "batch='M': no input has such a side"),
    (["net.onnx", "--data", "ring.npz", "--onnx", "out.pt"], "networks are written as .onnx only; try out.onnx"),
    (["net.onnx", "--data", "ring.npz", "--test", "1"], "--test: input should be less than 1, got"),
    (["net.onnx", "--data", "one.npy"], "one.npy is no .npz file of numbers"),
    (["net.onnx", "--data", "nan.npz"], "nan.npz: x[3, 1] is nan; 1 of 4 samples"),
    (["net.onnx", "--data", "half.npz"], "half.npz has no array y_test; a test has both"),
    (["net.onnx", "--data", "test.npz"], "test.npz: y_test: CrossEntropyLoss: the target of sample 1 is 9"),
    (["net.onnx", "--data", "shape.npz"], "a sample of y_test has the shape (2,), one of y ()"),
    (["net.onnx", "--data", "labels.npz"], "labels.npz: y: CrossEntropyLoss: the target of sample 2 is 5"),
    (["one.onnx", "--data", "ring.npz"], "one.onnx gives one number of a sample, cross-entropy takes one for each"),
    (["pair.onnx", "--data", "ring.npz"], "pair.onnx gives 2 outputs, a loss takes one"),
]


@pytest.mark.parametrize(("flags", "said"), BAD)
def test_bad_input_is_one_line(ring, capsys, tmp_path, flags, said):
    np.savez("other.npz", x=ring)
    np.savez("wide.npz", x=np.ones((4, 3)), y=np.ones(4, int))
    np.savez("short.npz", x=np.ones((4, 2)), y=np.ones(3, int))
    x, y = np.ones((4, 2)), np.array([0, 1, 1, 0])
    np.save("one.npy", x)
    np.savez("nan.npz", x=np.where(np.arange(8).reshape(4, 2) == 7, np.nan, x), y=y)
    np.savez("half.npz", x=x, y=y, x_test=x)
    np.savez("test.npz", x=x, y=y, x_test=x, y_test=[0, 9, 0, 0])
    np.savez("shape.npz", x=x, y=y, x_test=x, y_test=np.eye(2)[y])
    np.savez("labels.npz", x=x, y=[0, 1, 5, 0])
    nn.Linear(2, 1, seed=0).to_onnx("one.onnx")
    Pair().to_onnx("pair.onnx", (2,))
    there = sorted(tmp_path.iterdir())
    assert trained(*flags, "--steps", "2") == 2
    told = capsys.readouterr()
    assert said in told.err
    assert "Traceback" not in told.err
    assert sorted(tmp_path.iterdir()) == there


def open_sides(path):
    """A convolution and a mean over any picture: a file that leaves height and width open."""
    weight = np.random.default_rng(3).normal(size=(2, 1, 3, 3)).astype(np.float32)
    nodes = [onnx.helper.make_node("Conv", ["x", "weight", "bias"], ["conv"], pads=[1, 1, 1, 1]),
             onnx.helper.make_node("GlobalAveragePool", ["conv"], ["mean"]),
             onnx.helper.make_node("Flatten", ["mean"], ["y"])]  # fmt: skip
    number = onnx.TensorProto.FLOAT
    graph = onnx.helper.make_graph(
        nodes, "g", [onnx.helper.make_tensor_value_info("x", number, ["N", 1, "high", None])],
        [onnx.helper.make_tensor_value_info("y", number, ["N", 2])],
        [onnx.numpy_helper.from_array(weight, "weight"), onnx.numpy_helper.from_array(np.zeros(2, np.float32), "bias")],
    )  # fmt: skip
    onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8), path)


def test_sides_that_the_file_leaves_open_are_those_of_the_data(ring, capsys, tmp_path):
    open_sides("open.onnx")
    bright = np.linspace(0, 1, 20, dtype=np.float32)
    x = np.broadcast_to(bright[:, None, None, None], (20, 1, 4, 6))
    np.savez("open.npz", x=x, y=(bright > 0.5).astype(int))
    assert trained("open.onnx", "--data", "open.npz", "--steps", "20", "--onnx", "out.onnx") == 0
    capsys.readouterr()
    for name in ("dark", "light"):
        (tmp_path / "set" / name).mkdir(parents=True)
        for k in range(2):
            save_picture(tmp_path / "set" / name / f"{k}.png", np.full((4, 5, 3), 0.5, np.float32))
    assert trained("open.onnx", "--data", "set", "--steps", "5") == 0
    assert json.loads(capsys.readouterr().out)["steps"] == 5
    np.savez("rows.npz", x=x.reshape(20, 24), y=np.zeros(20, int))
    assert trained("open.onnx", "--data", "rows.npz", "--steps", "5") == 2
    assert "a sample has the shape (24,), open.onnx takes ('N', 1, 'high', None)" in capsys.readouterr().err
    with pytest.raises(InputError, match=r"how large high, x\[3\] are"):
        sv.load_onnx("open.onnx")
    net = sv.load_onnx("open.onnx", sides={"high": 4, "x[3]": 6})
    assert np.shape(net(x[0].tolist())) == (2,)


def test_a_file_of_float64_stays_one(ring):
    nn.MLP(2, 3, 1, seed=1).to_onnx("wide.onnx", dtype="float64")
    np.savez("line.npz", x=ring, y=ring[:, :1])
    assert trained("wide.onnx", "--data", "line.npz", "--steps", "5", "--dtype", "float64", "--onnx", "out.onnx") == 0
    session = onnxruntime.InferenceSession("out.onnx", providers=["CPUExecutionProvider"])
    assert session.get_inputs()[0].type == "tensor(double)"
