"""What `scalarviz digits` does: data, accuracy, files, and input that cannot be used."""

from __future__ import annotations

import gzip
import struct

import numpy as np
import pytest
from scalarviz.scenes import digits as scene_digits
from scalarviz.scenes._digits_data import load_digits

import scalarviz as sv
from scalarviz import nn, optim
from scalarviz.io import load_picture, load_tensors


@pytest.fixture
def digits(cli):
    """`scalarviz digits`, headless, with the engine that needs no compiling."""
    return lambda *arguments: cli("digits", "--headless", "--engine", "numpy", *arguments)


def write_idx(path, array):
    """As the format's description has it."""
    head = struct.pack(f">BBBB{array.ndim}I", 0, 0, 8, array.ndim, *array.shape)
    path.write_bytes(gzip.compress(head + array.tobytes()) if path.suffix == ".gz" else head + array.tobytes())


@pytest.fixture
def mnist(tmp_path):
    """Four files of pictures of 12 x 8 pixels; each digit is a bright bar in a place of its own."""
    folder = tmp_path / "mnist"
    folder.mkdir()
    for part, count, end in (("train", 200, ""), ("t10k", 50, ".gz")):
        labels = np.arange(count, dtype=np.uint8) % 10
        pictures = np.zeros((count, 8, 12), np.uint8)
        for picture, label in zip(pictures, labels, strict=True):
            picture[label // 5 * 4 : label // 5 * 4 + 3, label % 5 * 2 : label % 5 * 2 + 2] = 255
        write_idx(folder / f"{part}-images-idx3-ubyte{end}", pictures)
        write_idx(folder / f"{part}-labels-idx1-ubyte{end}", labels)
    return folder


def test_the_data_are_scikit_learns():
    datasets = pytest.importorskip("sklearn.datasets")
    theirs, ours = datasets.load_digits(), load_digits("sklearn")
    assert ours.train.shape[1:] == (1, 8, 8)
    pictures = np.concatenate([ours.train, ours.test]).reshape(-1, 64) * 16
    labels = np.concatenate([ours.train_labels, ours.test_labels])
    order, theirs_order = (np.lexsort(np.c_[p, t].T) for p, t in ((pictures, labels), (theirs.data, theirs.target)))
    np.testing.assert_array_equal(pictures[order], theirs.data[theirs_order])
    np.testing.assert_array_equal(labels[order], theirs.target[theirs_order])


def test_training_and_test_share_no_digit_and_each_class_is_in_both():
    data = load_digits("sklearn")
    assert (len(data.train), len(data.test)) == (1438, 359)
    for labels in (data.train_labels, data.test_labels):
        assert np.bincount(labels, minlength=10).min() > 0.07 * len(labels)
    again = load_digits("sklearn")
    np.testing.assert_array_equal(data.test, again.test)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 6])
def test_the_default_steps_read_95_of_100_digits_that_were_not_trained_on(digits, seed):
    result = digits("--seed", seed, "--json")
    line = result.json
    assert line["steps"] == scene_digits.Options().steps
    assert line["accuracy"] >= 0.95
    assert f"accuracy {line['accuracy']:.4g}" in result.err


def test_the_accuracy_is_that_of_the_saved_weights_by_hand(digits, tmp_path):
    """Convolution, rectifier and pool written out in NumPy."""
    line = digits("--steps", 60, "--save", "w.safetensors", "--json").json
    w, _ = load_tensors(tmp_path / "w.safetensors")
    test = load_digits("sklearn")
    maps = test.test
    for name in ("0", "3"):
        padded = np.pad(maps, ((0, 0), (0, 0), (1, 1), (1, 1)))
        patches = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(2, 3))
        maps = np.einsum("nchwij,ocij->nohw", patches, w[f"{name}.weight"]) + w[f"{name}.bias"][:, None, None]
        n, c, h, width = maps.shape
        maps = np.maximum(maps, 0).reshape(n, c, h // 2, 2, width // 2, 2).max(axis=(3, 5))
    logits = maps.reshape(len(maps), -1) @ w["7.weight"].T + w["7.bias"]
    assert line["accuracy"] == pytest.approx((logits.argmax(1) == test.test_labels).mean(), abs=5e-5)


def test_a_file_brings_its_architecture_and_settings(digits):
    assert digits("--steps", 5, "--channels", "3,5", "--lr", 0.02, "--save", "w.safetensors").code == 0
    line = digits("--steps", 4, "--load", "w.safetensors", "--json").json
    assert (line["steps"], line["weights"]) == (9, 3 * 9 + 3 + 5 * 27 + 5 + 10 * 20 + 10)
    result = digits("--steps", 4, "--load", "w.safetensors", "--channels", "6,12")
    assert (result.code, result.err.count("\n")) == (2, 1)
    assert "--channels 6,12 contradicts w.safetensors, which holds 3,5" in result.err


def test_weights_of_another_scene_are_refused(digits, cli):
    assert cli("rgb", "--headless", "--engine", "numpy", "--steps", 1, "--save", "rgb.safetensors").code == 0
    result = digits("--load", "rgb.safetensors")
    assert result.code == 2
    assert "holds no network of this scene for pictures of 8 x 8 pixels" in result.err


def test_mnist_files_plain_and_zipped(digits, mnist):
    line = digits("--data", f"mnist:{mnist}", "--steps", 150, "--lr", 0.02, "--batch", 10**6, "--json").json
    assert line["weights"] == 6 * 9 + 6 + 12 * 54 + 12 + 10 * 12 * 2 * 3 + 10
    assert line["accuracy"] > 0.9


def test_mnist_files_that_cannot_be_used(digits, mnist):
    def refused(says):
        result = digits("--data", f"mnist:{mnist}", "--steps", 1)
        assert (result.code, result.err.count("\n")) == (2, 1), result.err
        assert says in result.err

    labels = mnist / "train-labels-idx1-ubyte"
    good = labels.read_bytes()
    labels.write_bytes(good[:-1] + b"\x0b")
    refused("label 199 is 11; allowed: digits 0 to 9")
    labels.write_bytes(good[:20])
    refused("is cut short")
    write_idx(labels, np.zeros(7, np.uint8))
    refused("has 200 pictures")
    labels.unlink()
    refused("holds no train-labels-idx1-ubyte and no")


def test_pictures_of_another_size_are_refused(digits, mnist):
    write_idx(mnist / "t10k-images-idx3-ubyte", np.zeros((50, 9, 9), np.uint8))
    result = digits("--data", f"mnist:{mnist}", "--steps", 1)
    assert (result.code, result.err.count("\n")) == (2, 1)
    assert "12 x 8" in result.err
    assert "9 x 9" in result.err


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--data", "cifar"], "--data 'cifar': allowed are sklearn, or mnist:FOLDER"),
        (["--data", "mnist:"], "allowed are sklearn, or mnist:FOLDER"),
        (["--data", "mnist:/no/such/folder"], "there is no folder /no/such/folder"),
        (["--channels", "4"], "--channels wants two numbers"),
        (["--channels", "4,x"], "--channels: wanted whole numbers"),
        (["--lr", "0"], "--lr"),
    ],
)
def test_options_that_cannot_be_used(digits, arguments, says):
    result = digits("--steps", 1, *arguments)
    assert result.code == 2
    assert says in result.err


def test_without_the_package_of_the_digits(digits, monkeypatch):
    monkeypatch.setattr("scalarviz.scenes._digits_data.find_spec", lambda name: None)
    result = digits("--steps", 1)
    assert result.code == 2
    assert 'pip install "scalarviz[data]"' in result.err


@pytest.mark.gl
def test_a_film_and_a_picture(cli, tmp_path):
    pytest.importorskip("imageio_ffmpeg")
    result = cli(
        "digits", "--engine", "numpy", "--steps", 40, "--out", "d.mp4", "--out", "d.png", "--size", "960x540",
        "--duration", 0.5, "--cmap", "grey", "--theme", "light",
    )  # fmt: skip
    assert result.code == 0, result.err
    assert (tmp_path / "d.mp4").stat().st_size > 20_000
    assert load_picture(tmp_path / "d.png").size == (960, 540)


def test_the_list_of_scenes_names_it(cli):
    listed = dict(line.split(maxsplit=1) for line in cli("scenes").out.splitlines())
    assert listed["digits"].startswith("A convolutional network learns to read handwritten digits")


def test_a_file_of_another_optimiser_is_refused_in_one_line(digits, tmp_path):
    """A file that was trained with something else than Adam."""
    scene = scene_digits.build(scene_digits.Options(engine="numpy"))
    sgd = optim.SGD(scene.run.model.parameters(), lr=0.1)
    data = scene.run.samples()
    other = sv.Run(scene.run.model, nn.CrossEntropyLoss(), sgd, (data[0].reshape(-1, 1, 8, 8), data[1]), engine="numpy")
    other.save(tmp_path / "sgd.safetensors")
    result = digits("--steps", 1, "--load", "sgd.safetensors")
    assert (result.code, result.err.count("\n")) == (2, 1)
    assert "trained with SGD, this run uses Adam" in result.err
