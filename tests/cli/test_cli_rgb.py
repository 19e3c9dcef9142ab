"""What `scalarviz rgb` does: tasks, files, JSON, going on, being interrupted."""

from __future__ import annotations

import os
import signal

import numpy as np
import pytest
import safetensors.numpy
from scalarviz.scenes import rgb as scene_rgb

import scalarviz as sv
from scalarviz import data
from scalarviz.cli.console import Progress
from scalarviz.io import load_picture, load_tensors, read_cube, save_picture
from scalarviz.run.panels import ColourCube, LossCurve, Pictures


def test_the_json_line(rgb):
    line = rgb("--steps", 30, "--seed", 7, "--json").json
    assert list(line) == ["scene", "steps", "loss", "weights", "engine", "dtype", "seed", "steps_per_s", "seconds"]
    assert line["scene"] == "rgb"
    assert (line["steps"], line["weights"], line["seed"]) == (30, 12, 7)
    assert (line["engine"], line["dtype"]) == ("numpy", "float32")
    assert 0 < line["loss"] < 1
    assert line["steps_per_s"] > 0
    assert line["seconds"] > 0


def test_without_json_stdout_is_empty(rgb):
    result = rgb("--steps", 3)
    assert (result.code, result.out) == (0, "")
    assert "step 3" in result.err


def test_headless_writes_nothing_that_is_not_named(rgb, tmp_path):
    assert rgb("--steps", 3).code == 0
    assert os.listdir(tmp_path) == []


def test_a_network_by_hand_gives_the_same_loss(rgb):
    """The scene against NumPy: data, start, loss and update written out."""
    x = data.random_colours(1024, 5)
    w = scene_rgb.build(scene_rgb.Options(seed=5, engine="numpy")).run.state_dict()["0.weight"].astype(float)
    b = np.zeros(3)
    assert 0 <= w.min() < w.max() < 1
    for _ in range(20):
        out = 1 / (1 + np.exp(-(x @ w.T + b)))
        delta = 2 * (out - (1 - x)) * out * (1 - out) / out.size
        loss = np.mean((out - (1 - x)) ** 2)
        w -= 0.5 * delta.T @ x
        b -= 0.5 * delta.sum(0)
    assert rgb("--steps", 20, "--seed", 5, "--dtype", "float64", "--json").json["loss"] == pytest.approx(loss, rel=1e-6)


@pytest.mark.parametrize(
    ("arguments", "bound"),
    [([], 0.004), (["--hidden", "16,16", "--optimizer", "adam", "--lr", "0.01"], 0.0003)],
)
def test_invert_is_learnt(rgb, arguments, bound):
    assert rgb("--steps", 3000, "--seed", 0, *arguments, "--json").json["loss"] < bound


@pytest.mark.parametrize("target", data.TARGETS)
def test_every_target_is_learnt_somewhat(rgb, target):
    flags = ["--target", target, "--optimizer", "adam", "--lr", "0.05", "--json"]
    assert rgb("--steps", 300, *flags).json["loss"] < 0.3 * rgb("--steps", 1, *flags).json["loss"]


@pytest.mark.parametrize("batch", [1, 100, 3000])
def test_any_batch(rgb, batch):
    assert rgb("--steps", 5, "--batch", batch).code == 0


def test_a_batch_larger_than_the_data_is_said(rgb):
    pairs = ["--pair", "#000:#fff", "--pair", "#fff:#000"]
    for given, said in ((pairs[:2], "the one colour that there is"), (pairs, "all 2 colours that there are")):
        result = rgb("--steps", 2, *given, "--batch", 64)
        assert result.code == 0
        assert f"a batch is {said}, not 64" in result.err
        assert "a batch is" not in rgb("--steps", 2, *given).err


def test_colours_drawn_with_replacement(rgb):
    """Other ones than in order, as many as are asked for, and as the same command again."""
    flags = ["--steps", 30, "--batch", 64, "--sampling", "replacement", "--json"]
    lines = [rgb(*flags).json["loss"], rgb(*flags).json["loss"], rgb(*flags[:4], "--json").json["loss"]]
    assert lines[0] == lines[1] != lines[2]
    result = rgb("--steps", 2, "--pair", "#000:#fff", "--batch", 64, "--sampling", "replacement")
    assert (result.code, "a batch is" in result.err) == (0, False)
    result = rgb("--sampling", "twice")
    assert (result.code, "--sampling" in result.err) == (2, True)


def test_pairs_of_colours(rgb):
    pairs = ["--pair", "#ff8800:#0044cc", "--pair", "#000:#fff"]
    line = rgb("--steps", 2000, "--optimizer", "adam", "--lr", "0.05", *pairs, "--save", "w.safetensors", "--json").json
    assert line["loss"] < 1e-3
    scene = scene_rgb.build(scene_rgb.Options(load="w.safetensors", pair=["#ff8800:#0044cc"], engine="numpy"))
    scene.run.load("w.safetensors")
    got = scene.run.predict(data.parse_colour("#ff8800")[None])[0]
    np.testing.assert_allclose(got, data.parse_colour("#0044cc"), atol=0.05)


def panel_of(scene, kind):
    return next(panel for panel in scene.panels if isinstance(panel, kind))


@pytest.fixture
def pictures(tmp_path):
    """A photograph-like picture, its grade, and another picture with alpha, turned by its EXIF data."""
    rng = np.random.default_rng(0)
    source = rng.random((24, 32, 3))
    save_picture(tmp_path / "photo.png", source)
    save_picture(tmp_path / "graded.png", data.target("warm")(source))
    save_picture(tmp_path / "in.png", rng.random((5, 7, 3)), np.linspace(0, 1, 35).reshape(5, 7))


def test_a_colour_grade_is_learnt_and_applied(rgb, pictures, tmp_path):
    grade = ["--source", "photo.png", "--graded", "graded.png", "--hidden", "16", "--optimizer", "adam"]
    wanted = ["--apply", "in.png", "--output", "out.png", "--export-lut", "grade.cube"]
    result = rgb(*grade, "--steps", 1500, "--batch", 768, *wanted, "--json")
    assert result.code == 0
    assert result.json["loss"] < 5e-4
    before, after = load_picture("in.png"), load_picture("out.png")
    np.testing.assert_array_equal(after.alpha, before.alpha)
    assert np.abs(after.rgb - data.target("warm")(before.rgb)).mean() < 0.03
    # the LUT says the same as the network did, up to interpolation and 8 bits
    lut = read_cube("grade.cube")
    assert lut.points == 33
    assert np.abs(lut(before.rgb) - after.rgb).max() < 1 / 255
    assert sorted(os.listdir(tmp_path)) == ["grade.cube", "graded.png", "in.png", "out.png", "photo.png"]


def test_a_picture_larger_than_the_batch_is_read_in_batches(rgb, pictures):
    assert rgb("--source", "photo.png", "--graded", "graded.png", "--steps", 30, "--batch", 100).code == 0


def test_of_a_huge_pair_of_pictures_an_even_share_is_learnt(monkeypatch, pictures, tmp_path):
    monkeypatch.setattr("scalarviz.scenes._rgb_task.LEARNT", 100)
    paths = {"source": tmp_path / "photo.png", "graded": tmp_path / "graded.png"}
    scene = scene_rgb.build(scene_rgb.Options(**paths, engine="numpy"))
    assert panel_of(scene, LossCurve).label == "100 pixels"
    assert scene.notes == ["learning from 100 of 768 pixels, evenly spread"]


def test_pixels_under_full_transparency_are_not_learnt_from(rgb, tmp_path):
    rgb_values, alpha = np.zeros((2, 2, 3)), np.array([[1.0, 0.0], [0.0, 0.0]])
    rgb_values[0, 1:] = 1
    save_picture(tmp_path / "a.png", rgb_values, alpha)
    scene = scene_rgb.build(scene_rgb.Options(source=tmp_path / "a.png", graded=tmp_path / "a.png", engine="numpy"))
    assert panel_of(scene, LossCurve).label == "1 pixel"
    assert panel_of(scene, ColourCube).inputs.tolist() == [[0, 0, 0]]


def test_the_shown_picture(tmp_path):
    save_picture(tmp_path / "my.jpg", np.random.default_rng(0).random((30, 600, 3)))
    scene = scene_rgb.build(scene_rgb.Options(picture=tmp_path / "my.jpg", target="gray", engine="numpy"))
    pictures = panel_of(scene, Pictures)
    assert pictures.source.shape == (8, 160, 3)
    np.testing.assert_allclose(pictures.target, data.target("gray")(pictures.source))
    assert scene.notes == []


def test_without_the_data_extra_one_line_says_so(rgb, monkeypatch):
    monkeypatch.setattr("scalarviz.io.pictures.find_spec", lambda name: None)
    result = rgb("--steps", 1)
    assert result.code == 0
    assert sum("data extra" in line for line in result.err.splitlines()) == 1


def test_a_cold_cache_is_said_before_the_compiling(monkeypatch):
    from types import SimpleNamespace

    from scalarviz.cli.run import _engine_line
    from scalarviz.engine.choose import EngineChoice

    monkeypatch.setattr("scalarviz.engine.cpu.cache_is_warm", lambda dtype, names: False)
    scene = SimpleNamespace(run=SimpleNamespace(engine=EngineChoice("numba", "asked for"), dtype="float32"))
    assert _engine_line("rgb", scene) == "rgb: numba, 1 thread (asked for; compiling its kernels, once)"
    scene.run.engine = EngineChoice("numpy", "asked for")
    assert _engine_line("rgb", scene) == "rgb: numpy, 1 thread (asked for)"


# ---- going on


def test_going_on_counts_and_ends_in_the_same_bits(rgb):
    flags = ["--hidden", "4", "--optimizer", "adam", "--seed", 3, "--dtype", "float64"]
    whole = rgb(*flags, "--steps", 25, "--save", "whole.safetensors", "--json").json
    assert rgb(*flags, "--steps", 10, "--save", "part.safetensors").code == 0
    rest = rgb("--load", "part.safetensors", "--steps", 15, "--save", "rest.safetensors", "--json").json
    keys = ("steps", "loss", "weights", "seed", "dtype")
    assert {k: rest[k] for k in keys} == {k: whole[k] for k in keys}
    one, two = load_tensors("whole.safetensors")[0], load_tensors("rest.safetensors")[0]
    assert one.keys() == two.keys()
    for name in one:
        np.testing.assert_array_equal(one[name], two[name])


def test_flags_that_are_given_win_over_the_file(rgb):
    assert rgb("--steps", 5, "--lr", 0.5, "--save", "w.safetensors").code == 0
    assert rgb("--steps", 5, "--load", "w.safetensors", "--lr", 0.001, "--save", "slow.safetensors").code == 0
    moved = np.abs(load_tensors("slow.safetensors")[0]["0.weight"] - load_tensors("w.safetensors")[0]["0.weight"]).max()
    assert 0 < moved < 1e-3
    assert rgb("--steps", 1, "--load", "w.safetensors", "--hidden", "").code == 0  # agrees with the file
    assert rgb("--steps", 1, "--load", "w.safetensors", "--seed", 9, "--json").json["seed"] == 9


def test_weights_of_pytorch_are_loaded_by_name(rgb):
    rng = np.random.default_rng(0)
    names = {"0.weight": (5, 3), "0.bias": (5,), "2.weight": (3, 5), "2.bias": (3,)}
    safetensors.numpy.save_file({n: rng.random(s).astype(np.float32) for n, s in names.items()}, "torch.safetensors")
    line = rgb("--load", "torch.safetensors", "--steps", 2, "--json").json
    assert (line["steps"], line["weights"]) == (2, 38)


# ---- interrupted


@pytest.mark.parametrize(
    ("number", "code", "word"), [(signal.SIGINT, 130, "interrupted"), (signal.SIGTERM, 143, "terminated")]
)
def test_a_signal_ends_it_and_what_was_asked_for_is_written(rgb, tmp_path, press, number, code, word):
    press(Progress, "update", call=3, number=number)
    result = rgb("--steps", 10**9, "--save", "w.safetensors", "--export-lut", "x.cube", "--json")
    assert result.code == code
    assert 0 < result.json["steps"] < 10**9
    assert sorted(os.listdir(tmp_path)) == ["w.safetensors", "x.cube"]
    assert word in result.err
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    assert rgb("--load", "w.safetensors", "--steps", 1, "--json").json["steps"] == result.json["steps"] + 1


@pytest.mark.parametrize(
    ("flags", "wanted"),
    [([], None), (["--threads", "1"], 1), (["--threads", "2"], 2), (["--threads", "500"], 500)],
)
def test_threads_reach_the_run(rgb, monkeypatch, flags, wanted):
    given = []
    genuine = sv.Run.__init__
    monkeypatch.setattr(sv.Run, "__init__", lambda run, *a, **k: given.append(k["threads"]) or genuine(run, *a, **k))
    result = rgb("--steps", 1, *flags)
    assert (result.code, given) == (0, [wanted])
    assert ("only numba takes more" in result.err) == (wanted is not None and wanted > 1)


def test_one_thread_beside_a_picture():
    options = scene_rgb.Options
    assert (options().of_run["threads"], options(out=["x.png"]).of_run["threads"]) == (1, 1)
    assert (options(threads=3).of_run["threads"], options(headless=True).of_run["threads"]) == (3, None)


def test_threads_show_in_no_number(cli, monkeypatch):
    from scalarviz.engine.cpu import team

    monkeypatch.setattr(team, "processors", lambda: 2)
    found = []
    for threads in (1, 2):
        flags = ["--hidden", "16,16", "--batch", "4000", "--threads", threads, "--save", f"{threads}.safetensors"]
        result = cli("rgb", "--headless", "--engine", "numba", "--steps", 20, *flags)
        assert result.code == 0
        assert f"numba, {threads} thread" in result.err
        found.append(load_tensors(f"{threads}.safetensors")[0])
    assert found[0].keys() == found[1].keys()
    assert all(found[0][name].tobytes() == found[1][name].tobytes() for name in found[0])
