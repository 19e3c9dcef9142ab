"""`scalarviz train`: what it learns of a network's file, and what onnxruntime reads of the file that it writes."""

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import nn
from scalarviz.errors import InputError
from scalarviz.io import save_picture

pytestmark = pytest.mark.ci  # onnx and onnxruntime, which are imported where they are used


@pytest.fixture
def ring(cli):
    """A network that ends with a softmax, and points that are inside a ring or outside."""
    x = np.random.default_rng(0).normal(size=(200, 2)).astype(np.float32)
    np.savez("ring.npz", x=x, y=(np.hypot(*x.T) > 1.1).astype(int))
    net = nn.Sequential(nn.Linear(2, 8, seed=1), nn.Tanh(), nn.Linear(8, 2, seed=2), nn.Softmax())
    net.to_onnx("net.onnx")
    return x


@pytest.fixture
def trained(blind, ring):
    return lambda *flags: blind("train", *flags, "--json")


def test_it_learns_classes_and_writes_what_onnxruntime_reads(trained, ring):
    import onnxruntime

    result = trained("net.onnx", "--data", "ring.npz", "--steps", 150, "--lr", 0.05, "--onnx", "out.onnx")
    assert result.json["scene"] == "train"
    assert result.json["accuracy"] > 0.85
    assert "160 training samples, 40 test samples" in result.err
    assert "the final softmax is part of the loss" in result.err
    session = onnxruntime.InferenceSession("out.onnx", providers=["CPUExecutionProvider"])
    shares = session.run(None, {session.get_inputs()[0].name: ring})[0]
    np.testing.assert_allclose(shares.sum(axis=1), 1.0, rtol=1e-5)
    assert (shares.argmax(axis=1) == (np.hypot(*ring.T) > 1.1)).mean() > 0.85
    assert type(sv.load_onnx("out.onnx")[-1]) is nn.Softmax


def test_what_is_not_named_stays(trained):
    assert trained("net.onnx", "--data", "ring.npz", "--steps", 5, "--trained", "2.*", "--onnx", "out.onnx").code == 0
    before, after = (sv.load_onnx(path).state_dict() for path in ("net.onnx", "out.onnx"))
    assert [name for name in before if (before[name] != after[name]).any()] == ["2.weight", "2.bias"]


def test_a_folder_of_pictures_has_a_class_a_subfolder(trained, tmp_path):
    for name, bright in (("dark", 0.1), ("light", 0.9)):
        (tmp_path / "set" / name).mkdir(parents=True)
        for k in range(6):
            save_picture(tmp_path / "set" / name / f"{k}.png", np.full((4, 5, 3), bright + 0.01 * k, np.float32))
    net = nn.Sequential(nn.Conv2d(1, 2, 3, seed=1), nn.Tanh(), nn.Flatten(), nn.Linear(12, 2, seed=2))
    net.to_onnx("grey.onnx", (1, 4, 5))
    flags = ("--steps", 200, "--lr", 0.05, "--test", 0.25)
    assert trained("grey.onnx", "--data", "set", *flags).json["accuracy"] == 1.0


ODD = {
    "set/dark/more/0.png": ("dark/more", "the folder of a class"),
    "set/third/0.png": ("3 classes (dark, light, third)", "grey.onnx"),
    "set/dark/notes.txt": ("set/dark/notes.txt is not a readable picture",),
    "set/dark/Thumbs.db": (),  # what Windows puts there
}


@pytest.mark.parametrize("odd", ODD)
def test_odd_things_in_a_folder_are_named(trained, tmp_path, odd):
    nn.Sequential(nn.Flatten(), nn.Linear(4, 2, seed=2)).to_onnx("grey.onnx", (1, 2, 2))
    for file in ("set/dark/0.png", "set/light/0.png", odd):
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        if file.endswith(".png"):
            save_picture(tmp_path / file, np.zeros((2, 2, 3), np.float32))
        else:
            (tmp_path / file).write_text("no picture")
    result = trained("grey.onnx", "--data", "set", "--steps", 1)
    assert result.code == (2 if ODD[odd] else 0)
    assert all(said in result.err for said in ODD[odd])


def test_sides_that_the_file_leaves_open_are_those_of_the_data(trained, tmp_path):
    """A convolution and a mean over any picture: a file that leaves height and width open."""
    from kit.onnx_files import Made

    net = Made("N", 1, "high", None)
    mean = net.node("GlobalAveragePool", net.node("Conv", "x", net.weight("w", 2, 1, 3, 3), pads=[1, 1, 1, 1]))
    net.node("Flatten", mean, to="y")
    net.save(tmp_path, "y").rename("open.onnx")
    bright = np.linspace(0, 1, 20, dtype=np.float32)
    x = np.broadcast_to(bright[:, None, None, None], (20, 1, 4, 6))
    np.savez("open.npz", x=x, y=(bright > 0.5).astype(int))
    assert trained("open.onnx", "--data", "open.npz", "--steps", 20, "--onnx", "out.onnx").code == 0
    with pytest.raises(InputError, match=r"size of 'high', 'x\[3\]' is not fixed"):
        sv.load_onnx("open.onnx")
    net = sv.load_onnx("open.onnx", sides={"high": 4, "x[3]": 6})
    assert np.shape(net(x[0].tolist())) == (2,)


def test_a_class_for_each_row_of_numbers_that_the_network_gives(trained):
    """Whole targets (N, T) for a network that gives T rows: a sign, and which of two is larger."""
    import onnxruntime

    x = np.random.default_rng(0).normal(size=(200, 3))
    np.savez("rows.npz", x=x, y=np.stack([x[:, 0] > 0, x[:, 1] > x[:, 2]], axis=1).astype(int))
    nn.Sequential(nn.Linear(3, 6, seed=1), nn.Unflatten((2, 3))).to_onnx("rows.onnx")
    result = trained("rows.onnx", "--data", "rows.npz", "--steps", 200, "--lr", 0.05, "--onnx", "out.onnx",
                     "--onnx-step", "step.onnx")  # fmt: skip
    assert result.json["accuracy"] > 0.9
    step = onnxruntime.InferenceSession("step.onnx")
    *_, loss = step.run(None, {"input": x.astype(np.float32), "target": np.load("rows.npz")["y"]})
    assert 0 < loss < 0.3
    made = onnxruntime.InferenceSession("out.onnx").run(None, {"input": x.astype(np.float32)})[0]
    assert made.shape == (200, 2, 3)


def test_one_output_of_several_is_chosen(trained, tmp_path, ring):
    from kit.onnx_files import Made

    net = Made("N", 2)
    shares = net.node("Softmax", net.node("Gemm", "x", net.weight("w", 2, 2)))
    net.node("ArgMax", shares, to="label", axis=1, keepdims=0)
    net.save(tmp_path, shares, "label").rename("two.onnx")
    refused = trained("two.onnx", "--data", "ring.npz")
    assert refused.code == 2
    assert f"2 outputs ({shares}, label)" in refused.err
    assert "--output" in refused.err
    assert trained("two.onnx", "--data", "ring.npz", "--steps", 2, "--output", shares).code == 0
