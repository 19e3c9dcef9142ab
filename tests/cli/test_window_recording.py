"""`scalarviz rgb --recording run.svz` in a window: hands move the run, it ends in several ways, the file is whole.

What is in the file is held against a run that is moved in the same way without a window or a file.
"""

from __future__ import annotations

import signal
import sqlite3
import sys
from contextlib import closing

import numpy as np
import pytest
from scalarviz.scenes import rgb

import scalarviz as sv
from scalarviz.io import load_tensors

from .windowed import SMALL

pytestmark = [
    pytest.mark.gl,
    pytest.mark.slow,  # the whole program, again and again
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="drives an X server"),
]
FLAGS = ["--engine", "numpy", *SMALL, "--steps", 100_000, "--every", 1, "--recording", "run.svz", "--paused"]


def place(path):
    """Branch and step at which the run stands, as the file says while it is written."""
    try:
        with sv.load_recording(path) as recorded:
            return recorded.branch, recorded.step
    except sv.ScalarvizError:
        return None


def press(run, path, key, expected):
    """Press a key until it has come to what is expected of it: one key, one event, whenever that is."""
    run.key(key)
    run.until(lambda: place(path) == expected)


def fresh():
    return rgb.build(rgb.Options(engine="numpy")).run


def is_whole(path):
    """One file, as SQLite sees it."""
    assert [part.name for part in path.parent.glob("run.svz*")] == ["run.svz"]
    with closing(sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)) as database:
        assert database.execute("PRAGMA journal_mode").fetchone() == ("delete",)
        assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def same(recorded, run):
    """Every frame is what the run says of its step, to the bit."""
    stood = run.steps
    for k, step in enumerate(recorded.steps.tolist()):
        run.to(step)
        assert recorded.frame(k).values.tobytes() == np.asarray(run.values, np.float32).tobytes(), step
    run.to(stood)


def test_what_hands_do_to_the_run_is_in_the_file(program, tmp_path):
    path = tmp_path / "run.svz"
    run = program("rgb", *FLAGS, "--save", "w.safetensors").opened(begins=False)
    for step in (1, 2, 3):
        press(run, path, "Right", (0, step))
    run.key("Up")  # twice the learning rate
    press(run, path, "Right", (0, 4))
    press(run, path, "Left", (0, 3))
    press(run, path, "Left", (0, 2))
    run.key("Up")  # in the past: a branch
    press(run, path, "Right", (1, 3))
    press(run, path, "Right", (1, 4))
    run.key("r")  # begins anew, and plays
    run.until(lambda: (place(path) or (0, 0)) > (2, 5))
    run.until(lambda: "w.safetensors" in [part.name for part in tmp_path.iterdir()] or run.key("Escape"))
    assert run.ended() == 0, run.err
    assert "wrote run.svz" in run.err
    assert "Traceback" not in run.err
    is_whole(path)

    expected = fresh()
    expected.step(3)
    rate = expected.lr
    expected.lr = 2 * rate
    expected.step(1)
    expected.to(2)
    expected.lr = 2 * rate
    expected.step(2)
    expected.restart()
    with sv.load_recording(path) as recorded:
        assert not recorded.remark
        expected.step(recorded.step)
        assert [branch.number for branch in recorded.branches] == [0, 1, 2]
        assert recorded.branch == 2
        for branch in (0, 1, 2):
            expected.switch(branch)
            with recorded.on(branch) as way:
                assert way.steps.tolist() == [*range(expected.steps + 1)]
                assert [edit.what for edit in way.edits] == [edit.what for edit in expected.frame().past.edits]
                same(way, expected)
        last = load_tensors(tmp_path / "w.safetensors")[0]
        for name, values in recorded.values.items():
            assert np.array_equal(values[-1], last[name].astype(np.float32)), name


@pytest.mark.parametrize("way", ["SIGTERM", "the display goes away", "kill -9"])
def test_however_it_ends_while_it_trains_the_file_is_what_was_trained(program, tmp_path, x_server, way):
    path = tmp_path / "run.svz"
    with x_server() as (server, name):
        run = program("rgb", *FLAGS, "--save", "w.safetensors", screen=name).opened()
        run.until(lambda: (place(path) or (0, 0))[1] > 20)
        if way == "SIGTERM":
            run.process.send_signal(signal.SIGTERM)
        elif way == "kill -9":
            seen = place(path)[1]
            run.process.kill()
        else:
            server.kill()
        code = run.ended(120)  # the drawing library may wait for the display for a while
    assert code == {"SIGTERM": 143, "kill -9": -9}.get(way, 2), run.err
    assert "Traceback" not in run.err
    if way != "kill -9":
        is_whole(path)
    with sv.load_recording(path) as recorded:
        assert not recorded.remark
        steps = recorded.steps.tolist()
        assert steps == [*range(len(steps))]
        expected = fresh()
        expected.step(steps[-1])
        same(recorded, expected)
        if way == "kill -9":
            assert steps[-1] >= seen
        else:
            last = load_tensors(tmp_path / "w.safetensors")[0]
            assert all(np.array_equal(v[-1], last[n].astype(np.float32)) for n, v in recorded.values.items())
    is_whole(path)  # whoever reads it first repairs what was killed
