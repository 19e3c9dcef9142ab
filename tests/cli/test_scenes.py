"""Every scene, every flag that makes it another run: its line, its files, its bits, its way on."""

import os
import re
import shlex
import signal
import sqlite3
from pathlib import Path

import numpy as np
import pytest

import scalarviz as sv
from kit.commands import SCENES, listing, weights_in, write_small_files
from scalarviz.errors import FileFormatError
from scalarviz.io import load_tensors

OF_EVERY_SCENE = ["scene", "steps", "loss", "loss_of", "weights", "engine", "dtype", "seed", "steps_per_s", "seconds"]


@pytest.fixture
def small(blind, tmp_path):
    """Run a scene of SCENES with the flags that make it small, and others."""
    write_small_files(tmp_path)

    def run(name, *more, kept=True):
        scene = SCENES[name]
        return blind(name, *scene.flags, *(scene.kept if kept else ()), *more)

    return run


def cases():
    """Each scene as it is, and each with its variants."""
    for name, scene in SCENES.items():
        for variant in ("", *scene.variants):
            yield pytest.param(name, shlex.split(variant), id=f"{name} {variant}")


every_scene = pytest.mark.parametrize(("name", "flags"), [*cases()])


@pytest.mark.parametrize("name", [pytest.param(n, marks=[pytest.mark.ci] * (n == "microgpt")) for n in SCENES])
def test_the_line_says_the_run_and_nothing_is_written_that_is_not_named(small, tmp_path, name):
    before = listing(tmp_path)
    result = small(name, "--steps", 3, "--seed", 7, "--json")
    assert result.code == 0, result.err
    line = result.json
    assert list(line) == [*OF_EVERY_SCENE, *SCENES[name].says]
    assert (line["scene"], line["steps"], line["weights"], line["seed"]) == (name, 3, SCENES[name].weights, 7)
    assert (line["engine"], line["dtype"]) == ("numpy", "float32")
    assert all(np.isfinite(line[key]) for key in ("loss", *SCENES[name].says))
    assert min(line["loss"], line["steps_per_s"], line["seconds"]) > 0
    for number in ("loss", *SCENES[name].says):  # the last message says the same
        assert f"{number.removeprefix('weight ')} {line[number]:.4g}"[:9] in result.err, (number, result.err)
    assert listing(tmp_path) == before
    plain = small(name, "--steps", 3)
    assert (plain.code, plain.out) == (0, "")
    assert "step 3" in plain.err
    losses = [small(name, "--steps", 3, "--seed", seed, "--json").json["loss"] for seed in (7, 8)]
    assert losses[0] == line["loss"] != losses[1]


@pytest.mark.ci
@every_scene
def test_a_file_goes_on_as_if_nothing_had_been_between_and_a_recording_changes_no_bit(small, tmp_path, name, flags):
    """The file brings its architecture, rate, optimiser and seed; flags of the data are given again."""
    before, recording = listing(tmp_path), ("--every", 3, "--recording", "run.svz")
    whole = small(name, *flags, "--seed", 3, "--steps", 9, *recording, "--save", "whole.safetensors", "--json")
    assert whole.code == 0, whole.err
    assert listing(tmp_path).keys() - before.keys() == {"run.svz", "whole.safetensors"}
    arrays = load_tensors("whole.safetensors")[0]
    with sv.load_recording("run.svz") as recorded:
        assert recorded.steps.tolist() == [0, 3, 6, 9]
        assert (recorded.about.name, recorded.remark) == (name, "")
        assert arrays.keys() & recorded.values.keys()
        for key in arrays.keys() & recorded.values.keys():
            assert np.array_equal(recorded.values[key][-1], arrays[key].astype(np.float32)), key
        if "--random-coordinates" in flags:
            with pytest.raises(FileFormatError, match=r"step 4 .* drawn anew, which the recording does not copy"):
                recorded.open(4)
        else:
            assert [recorded.open(step).step for step in (1, 4, 5)] == [1, 4, 5]
            assert recorded.open(4, 0).trial
    assert small(name, *flags, "--seed", 3, "--steps", 4, "--save", "part.safetensors").code == 0
    again = [] if SCENES[name].brings_seed else ["--seed", 3]
    again += [word for word in flags if not word.startswith(("--start", "a=", "--schedule", "cosine", "step:"))]
    rest = small(
        name, *again, "--load", "part.safetensors", "--steps", 5, "--save", "rest.safetensors", "--json", kept=False
    )
    assert rest.code == 0, rest.err
    keys = set(whole.json) - {"steps_per_s", "seconds"}
    assert {key: rest.json[key] for key in keys} == {key: whole.json[key] for key in keys}
    assert weights_in("rest.safetensors") == weights_in("whole.safetensors")


# ---- runs that end otherwise


@pytest.mark.parametrize("scene", [name for name in SCENES if SCENES[name].diverges])
def test_a_run_that_diverges_keeps_the_former_weights_and_its_recording(blind, scene):
    if scene == "rgb":  # a file that is there stays as it is
        assert blind(scene, "--steps", 2, "--save", "w.safetensors").code == 0
    before = listing()
    flags = shlex.split(SCENES[scene].diverges)
    result = blind(scene, *flags, "--steps", 90, "--save", "w.safetensors", "--recording", "run.svz", "--json")
    assert (result.code, result.out) == (2, "")
    assert "diverged at step" in result.last
    assert re.search(r"lr is \S+; try a tenth of the learning rate: --lr", result.last)
    assert sum("w.safetensors was not written" in line for line in result.err.splitlines()) == 1
    assert "run.to" not in result.err
    assert {**listing(), "run.svz": 0} == {**before, "run.svz": 0}
    with sv.load_recording("run.svz") as recorded:
        assert not np.isfinite(recorded.frame(-1).values).all() or not np.isfinite(recorded.loss[-1])
    with_break = blind(scene, *flags, "--steps", 90, "--break", "nan")
    assert (with_break.code, with_break.last) == (2, result.last)


SIGNALS = {signal.SIGINT: (130, "interrupted"), signal.SIGTERM: (143, "terminated")}


@pytest.mark.parametrize(("number", "times"), [(number, times) for number in SIGNALS for times in (1, 2)])
def test_a_signal_ends_a_run_after_a_step_and_what_was_named_is_whole(small, press, number, times):
    """The weights are those of a run of as many steps; the recording is closed, and goes as far."""
    name = "rgb" if times == 1 else "xor"
    press(sv.Run, "step", times, number=number)
    wanted = ("--every", 1, "--recording", "run.svz", "--save", "w.safetensors", "--json")
    result = small(name, "--steps", 10**9, *wanted)
    code, word = SIGNALS[number]
    assert result.code == code
    assert word in [line for line in result.err.splitlines() if line.startswith("scalarviz: ")][-1]
    assert "Traceback" not in result.err
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    with sqlite3.connect("file:run.svz?mode=ro", uri=True) as database:
        assert database.execute("PRAGMA journal_mode").fetchone() == ("delete",)
        assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    database.close()
    with sv.load_recording("run.svz") as recorded:
        steps = recorded.steps.tolist()
    assert steps == list(range(len(steps)))
    if times == 1:
        assert result.json["steps"] == steps[-1]
    assert small(name, "--steps", steps[-1], "--save", "same.safetensors").code == 0
    assert weights_in("same.safetensors") == weights_in("w.safetensors")


def test_a_third_ctrl_c_cuts_a_step_and_its_weights_are_not_kept(rgb, press, tmp_path):
    press(sv.Run, "step", 3)
    result = rgb("--steps", 10**9, "--save", "w.safetensors")
    assert result.code == 130
    assert "w.safetensors was not written, because a step was interrupted" in result.err
    assert "interrupted again; nothing was written" in result.last
    assert os.listdir(tmp_path) == []


@pytest.mark.ci
def test_a_run_stops_where_a_condition_becomes_true(rgb):
    whole = rgb("--steps", 2000, "--json").json
    stopped = rgb("--steps", 2000, "--json", "--break", "grad > 99", "--break", "loss < 0.01")
    line = stopped.json
    assert (stopped.code, line["hits"]) == (3, {"grad > 99": 0, "loss < 0.01": 1})
    assert 100 < line["steps"] < whole["steps"]
    assert line["loss"] < 0.01
    assert line["stopped_by"].startswith(f"breakpoint 2 at step {line['steps']:,}: loss < 0.01 (loss 0.00")
    assert stopped.last == f"rgb: stopped by {line['stopped_by']}"
    before = rgb("--steps", line["steps"] - 1, "--json").json
    assert before["loss"] >= 0.01 > line["loss"]
    assert line["stopped_by"].endswith(f"(loss {line['loss']:.6g})")
    assert "stopped_by" not in before
    never = rgb("--steps", 300, "--json", "--break", "loss < 0.001")
    assert (never.code, never.json["steps"], never.json["stopped_by"]) == (0, 300, None)
    assert never.json["loss"] == rgb("--steps", 300, "--json").json["loss"]


@pytest.mark.ci
@pytest.mark.parametrize(("scene", "name"), [("xor", "loss"), ("digits", "loss"), ("xor", "test_loss")])
def test_a_condition_on_a_loss_is_of_the_number_that_a_picture_shows(blind, scene, name):
    stopped = blind(scene, "--steps", 400, "--json", "--out", "a.svg", "--break", f"{name} < 0.5")
    (number,) = re.findall(rf"\({name} (\S+)\)", stopped.json["stopped_by"])
    assert float(number) < 0.5
    shown = re.findall(r">([\d.]+)<", Path("a.svg").read_text(encoding="utf-8"))
    assert any(text.startswith(number[:5]) or f"{float(number):.4f}" == text for text in shown)
    if name == "loss":
        assert float(number) == pytest.approx(stopped.json["loss"], rel=1e-5)


# ---- flags and files


def test_flags_that_are_given_win_over_the_file(rgb):
    assert rgb("--steps", 5, "--lr", 0.5, "--save", "w.safetensors").code == 0
    assert rgb("--steps", 5, "--load", "w.safetensors", "--lr", 0.001, "--save", "slow.safetensors").code == 0
    slow, fast = (load_tensors(f"{name}.safetensors")[0]["0.weight"] for name in ("slow", "w"))
    assert 0 < np.abs(slow - fast).max() < 1e-3
    assert rgb("--steps", 1, "--load", "w.safetensors", "--hidden", "").code == 0  # agrees with the file
    assert rgb("--steps", 1, "--load", "w.safetensors", "--seed", 9, "--json").json["seed"] == 9


def test_a_schedule_that_has_ended_is_said(rgb):
    flags = ("--json", "--schedule", "cosine:30")
    assert "has ended" not in rgb(*flags, "--steps", 35, "--save", "ended.safetensors").err
    still = rgb("--json", "--load", "ended.safetensors", "--steps", 2)
    assert "is 0, as its schedule has ended; no weight will change" in still.err
    again = rgb("--json", "--load", "ended.safetensors", "--steps", 2, "--schedule", "linear")
    assert "has ended" not in again.err
    assert again.json["loss"] < still.json["loss"]
