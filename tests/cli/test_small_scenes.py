"""What neuron, xor, uinn, rgb and digits compute, against the same written out in NumPy or worked out on paper."""

import csv
import gzip
import hashlib
import io
import json
import struct
from collections import Counter
from unittest.mock import Mock
from urllib.error import URLError
from urllib.parse import urlsplit

import numpy as np
import pytest
import safetensors.numpy
from scalarviz.scenes import neuron

from kit.commands import make_scene, weights_in
from scalarviz import data
from scalarviz.data.digits import load_digits
from scalarviz.io import load_picture, load_tensors, read_cube, save_picture

# ---- neuron


@pytest.mark.parametrize(("rate", "steps"), [(0.1, 7), (0.25, 1), (0.5, 1), (0.9, 7), (1.1, 7)])
def test_each_step_goes_the_same_share_of_the_way(blind, rate, steps):
    """The loss is (w - w*)^2 and a constant, so w - w* is multiplied by 1 - 2 lr; w* = mean(x y) = 0.8 + 0.5 / 2."""
    line = blind("neuron", "--steps", steps, "--lr", rate, "--w", 3.0, "--dtype", "float64", "--json").json
    away = (1 - 2 * rate) ** steps * (3.0 - 1.05)
    assert line["w"] == pytest.approx(1.05 + away, rel=1e-12)
    assert line["loss"] == pytest.approx(away**2 + 0.75 * 0.25, rel=1e-9)  # what no line through 0 can reach


def test_with_noise_it_is_the_least_squares(blind):
    flags = ("--weights", 2, "--noise", 0.4, "--seed", 5, "--steps", 400, "--dtype", "float64")
    line = blind("neuron", *flags, "--json").json
    (x, plain), (again, y) = neuron.points(0.0, 5), neuron.points(0.4, 5)
    assert (x == again).all()
    assert (x.shape, x.mean(), (x**2).mean()) == ((9, 1), pytest.approx(0.5), pytest.approx(1.0))
    np.testing.assert_allclose(plain, 0.8 * x + 0.5)
    assert [line["w"], line["b"]] == pytest.approx(np.polyfit(x[:, 0], y[:, 0], 1).tolist(), abs=1e-6)
    assert not np.allclose(y, neuron.points(0.4, 6)[1])


# ---- xor

BITS = np.array([[0.0, 0, 1], [0, 1, 1], [1, 0, 1], [1, 1, 1]])
EITHER = np.array([0.0, 1, 1, 0])


def answers(weights):
    """The four outputs, written out."""
    hidden = np.tanh(BITS @ weights["0.weight"].T)
    return hidden, np.tanh(hidden @ weights["2.weight"].T)[:, 0]


@pytest.mark.ci
def test_loss_right_and_log_are_of_all_four_samples_and_the_log_changes_no_bit(blind):
    assert blind("xor", "--steps", 250, "--save", "plain.safetensors").code == 0
    assert blind("xor", "--steps", 250, "--log", "log.csv", "--save", "logged.safetensors").code == 0
    assert weights_in("logged.safetensors") == weights_in("plain.safetensors")
    with open("log.csv", newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [int(row["step"]) for row in rows] == [step for step in (0, 100, 200) for _ in range(4)]
    for steps in (37, 38, 40, 200):
        result = blind("xor", "--steps", steps, "--save", "w.safetensors", "--json")
        found = answers(load_tensors("w.safetensors")[0])[1]
        assert result.json["loss"] == pytest.approx(0.5 * ((found - EITHER) ** 2).sum(), rel=1e-5)
        assert f"loss {result.json['loss']:.5g} {result.json['loss_of']}," in result.err
        right = result.json["right"]
        assert (right, type(right)) == ((np.abs(found - EITHER) < 0.3).sum(), int)
    assert [[float(row[name]) for name in ("x", "y", "1")] for row in rows[-4:]] == BITS.tolist()
    np.testing.assert_allclose([float(row["computed"]) for row in rows[-4:]], found, rtol=1e-5, atol=1e-6)
    for row in rows:
        assert float(row["error"]) == pytest.approx(float(row["computed"]) - float(row["expected"]), abs=1e-6)


# ---- rgb


@pytest.mark.ci
def test_a_colour_grade_is_learnt_and_applied(rgb, tmp_path):
    rng = np.random.default_rng(0)
    source = rng.random((24, 32, 3))
    save_picture(tmp_path / "photo.png", source)
    save_picture(tmp_path / "graded.png", data.target("warm")(source))
    save_picture(tmp_path / "in.png", rng.random((5, 7, 3)), np.linspace(0, 1, 35).reshape(5, 7))
    grade = ("--source", "photo.png", "--graded", "graded.png")
    wanted = ("--apply", "in.png", "--output", "out.png", "--export-lut", "grade.cube")
    flags = ("--hidden", "16", "--optimizer", "adam", "--steps", 1500, "--batch", 768)
    assert rgb(*grade, *flags, *wanted, "--json").json["loss"] < 5e-4
    before, after = load_picture("in.png"), load_picture("out.png")
    np.testing.assert_array_equal(after.alpha, before.alpha)
    assert np.abs(after.rgb - data.target("warm")(before.rgb)).mean() < 0.03
    lut = read_cube("grade.cube")  # it says the same as the network did, up to interpolation and 8 bits
    assert lut.points == 33
    assert np.abs(lut(before.rgb) - after.rgb).max() < 1 / 255


def test_weights_of_pytorch_are_loaded_by_name(rgb):
    rng = np.random.default_rng(0)
    names = {"0.weight": (5, 3), "0.bias": (5,), "2.weight": (3, 5), "2.bias": (3,)}
    safetensors.numpy.save_file({n: rng.random(s).astype(np.float32) for n, s in names.items()}, "torch.safetensors")
    line = rgb("--load", "torch.safetensors", "--steps", 2, "--json").json
    assert (line["steps"], line["weights"]) == (2, 38)


# ---- schedules

RATES = {
    None: lambda k: np.full(len(k), 0.5),
    "linear": lambda k: 0.5 * np.maximum(1 - k / 40, 0),
    "linear:20": lambda k: 0.5 * np.maximum(1 - k / 20, 0),
    "cosine:10": lambda k: np.where(k < 10, 0.5 * (1 + np.cos(np.pi * k / 10)) / 2, 0),
    "step:7": lambda k: 0.5 * 0.1 ** (k // 7),
}


def rates(said, count=60, **more):
    scene = make_scene("rgb", schedule=said, steps=40, headless=True, batch=8, **more)
    scene.run.step(count)
    return scene.run.history.lr


@pytest.mark.ci
def test_the_rates_are_those_that_the_word_says():
    for said, wanted in RATES.items():
        np.testing.assert_allclose(rates(said), wanted(np.arange(60)), rtol=1e-12, atol=1e-15, err_msg=said)
    up = rates("cycle:50")
    assert (up[0], up.max()) == (pytest.approx(0.5 / 25), pytest.approx(0.5))
    assert (up[51:] < 0.5 * 1e-5).all()
    assert (np.diff(up[: up.argmax()]) > 0).all()
    assert (np.diff(up[up.argmax() : 50]) < 0).all()
    down = rates("decay:100", count=150)
    np.testing.assert_allclose(down[:60], 0.5)
    assert (np.diff(down[60:100]) < 0).all()
    np.testing.assert_allclose(down[101:], 0.5 / 10)
    tenths = rates("plateau:1", count=400, lr=2.0)
    assert set(np.round(np.log10(tenths / 2.0)).astype(int)) <= set(range(-9, 1))
    assert (np.diff(tenths) <= 0).all()


# ---- digits


@pytest.mark.ci
def test_the_accuracy_of_digits_is_that_of_the_saved_weights_by_hand(blind):
    """Of scikit-learn's digits that are not trained on; convolution, rectifier and pool written out in NumPy."""
    line = blind("digits", "--steps", 60, "--save", "w.safetensors", "--json").json
    theirs = pytest.importorskip("sklearn.datasets").load_digits()
    pictures = (theirs.data / 16).astype(np.float32)
    x, y = make_scene("digits").run.samples()
    trained = Counter((picture.tobytes(), int(label)) for picture, label in zip(x, y[:, 0], strict=True))
    every = Counter((picture.tobytes(), int(label)) for picture, label in zip(pictures, theirs.target, strict=True))
    assert trained <= every
    rest = [*(every - trained).elements()]
    assert (len(x), len(rest)) == (1438, 359)
    labels = np.array([label for _, label in rest])
    assert np.bincount(labels, minlength=10).min() > 0.07 * len(labels)
    w, maps = load_tensors("w.safetensors")[0], np.stack([np.frombuffer(p, np.float32) for p, _ in rest])
    maps = maps.reshape(-1, 1, 8, 8)
    for name in ("0", "3"):
        padded = np.pad(maps, ((0, 0), (0, 0), (1, 1), (1, 1)))
        patches = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(2, 3))
        maps = np.einsum("nchwij,ocij->nohw", patches, w[f"{name}.weight"]) + w[f"{name}.bias"][:, None, None]
        n, c, h, width = maps.shape
        maps = np.maximum(maps, 0).reshape(n, c, h // 2, 2, width // 2, 2).max(axis=(3, 5))
    logits = maps.reshape(len(maps), -1) @ w["7.weight"].T + w["7.bias"]
    assert line["accuracy"] == pytest.approx((logits.argmax(1) == labels).mean(), abs=5e-5)


def write_idx(path, array):
    """As the format's description has it."""
    head = struct.pack(f">BBBB{array.ndim}I", 0, 0, 8, array.ndim, *array.shape)
    path.write_bytes(gzip.compress(head + array.tobytes()) if path.suffix == ".gz" else head + array.tobytes())


@pytest.mark.ci
def test_files_of_mnist_and_those_that_cannot_be_used(blind, tmp_path):
    for part, count, end in (("train", 200, ""), ("t10k", 50, ".gz")):
        write_idx(tmp_path / f"{part}-images-idx3-ubyte{end}", np.zeros((count, 8, 12), np.uint8))
        write_idx(tmp_path / f"{part}-labels-idx1-ubyte{end}", np.arange(count, dtype=np.uint8) % 10)

    def run():
        return blind("digits", "--data", f"mnist:{tmp_path}", "--steps", 1, "--batch", 4, "--json")

    assert run().json["weights"] == 6 * 9 + 6 + 12 * 54 + 12 + 10 * 12 * 2 * 3 + 10
    labels, tests = tmp_path / "train-labels-idx1-ubyte", tmp_path / "t10k-images-idx3-ubyte"
    good = labels.read_bytes()
    for change, says in (
        (lambda: labels.write_bytes(good[:-1] + b"\x0b"), ("label 199 is 11", "0 to 9")),
        (lambda: labels.write_bytes(good[:20]), ("its header states",)),
        (lambda: write_idx(labels, np.zeros(7, np.uint8)), ("has 200 pictures",)),
        (labels.unlink, ("has neither train-labels-idx1-ubyte nor",)),
        (lambda: (labels.write_bytes(good), write_idx(tests, np.zeros((50, 9, 9), np.uint8))), ("12 x 8", "9 x 9")),
    ):
        change()
        result = run()
        assert (result.code, result.err.count("\n")) == (2, 1), result.err
        assert all(said in result.err for said in says), result.err


class OpenMl:
    """A stand-in for OpenML: what `fetch_openml` asks for, over pictures of its own."""

    def __init__(self, pictures, labels):
        pixels = [f"pixel{k + 1}" for k in range(784)]
        rows = (
            ",".join(map(str, [*row, label])) for row, label in zip(pictures.tolist(), labels.tolist(), strict=True)
        )
        head = [*(f"@ATTRIBUTE {name} real" for name in pixels), "@ATTRIBUTE class {0,1,2,3,4,5,6,7,8,9}", "@DATA"]
        self.file, self.asked, self.whole = "\n".join(["@RELATION mnist_784", *head, *rows]).encode(), [], True
        said = {
            "is_target": "false",
            "is_ignore": "false",
            "is_row_identifier": "false",
            "number_of_missing_values": "0",
        }
        features = [{**said, "index": str(k), "name": name, "data_type": "numeric"} for k, name in enumerate(pixels)]
        target = {**said, "index": "784", "name": "class", "data_type": "nominal", "is_target": "true"}
        about = {"id": "554", "name": "mnist_784", "version": "1", "format": "ARFF", "file_id": "7", "status": "active",
                 "url": "https://example.org/data/v1/download/7/mnist_784.arff", "default_target_attribute": "class",
                 "description": "digits",
                 "md5_checksum": hashlib.md5(self.file).hexdigest()}  # fmt: skip
        sets = [{"did": 554, "name": "mnist_784", "version": 1, "status": "active", "format": "ARFF"}]
        self.pages = {
            "list": {"data": {"dataset": sets}}, "features": {"data_features": {"feature": [*features, target]}},
            "qualities": {"data_qualities": {"quality": [{"name": "NumberOfInstances", "value": str(len(labels))}]}},
            "about": {"data_set_description": about},
        }  # fmt: skip

    def __call__(self, request, *_, **__):
        path = urlsplit(request.full_url).path
        if "download" in path:
            self.asked.append(path)
            return Answer(self.file if self.whole else self.file[:-100])
        kind = next((kind for kind in ("list", "features", "qualities") if f"/{kind}/" in path), "about")
        return Answer(json.dumps(self.pages[kind]).encode())


class Answer(io.BytesIO):
    def info(self):
        return {}


@pytest.mark.ci
def test_mnist_is_downloaded_once_and_a_refusal_names_the_files_that_need_no_network(blind, tmp_path, monkeypatch):
    pictures = np.random.default_rng(0).integers(0, 256, (70, 784))
    site = OpenMl(pictures, labels := np.arange(70) % 10)
    monkeypatch.setattr("sklearn.datasets._openml.urlopen", site)
    for folder, whole in (("broken", False), ("good", True)):
        monkeypatch.setenv("SCIKIT_LEARN_DATA", str(tmp_path / folder))
        site.whole, site.asked = whole, []
        if not whole:
            result = blind("digits", "--data", "mnist", "--steps", 1)
            assert result.code == 2
            assert all(fact in result.err for fact in ("md5", "--data mnist:FOLDER", "train-images-idx3-ubyte"))
    for _ in range(2):
        result = blind("digits", "--data", "mnist", "--steps", 1, "--batch", 4, "--json")
        assert (result.code, "loading MNIST (mnist_784 of OpenML" in result.err) == (0, True)
    assert len(site.asked) == 1
    digits = load_digits("mnist")
    np.testing.assert_array_equal(digits.train.reshape(60, 784), (pictures[:60] / 255).astype(np.float32))
    np.testing.assert_array_equal(digits.test_labels, labels[60:])
    monkeypatch.setenv("SCIKIT_LEARN_DATA", str(tmp_path / "none"))
    monkeypatch.setattr("sklearn.datasets._openml.urlopen", Mock(side_effect=URLError("no network")))
    monkeypatch.setattr("sklearn.datasets._openml.time.sleep", lambda seconds: None)
    result = blind("digits", "--data", "mnist", "--steps", 1)
    assert (result.code, "URLError" in result.err, "--data mnist:FOLDER" in result.err) == (2, True, True)
