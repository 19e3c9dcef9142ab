"""A recording that is shown while it is written: the window goes along, and says when nothing more comes."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import Run, nn, optim
from scalarviz.run.recorded_source import RecordedSource
from scalarviz.run.recording import following
from scalarviz.view.benches import bench_of
from scalarviz.view.watch.replay import Replay
from scalarviz.view.window.unseen import Unseen

pytestmark = pytest.mark.gl
X = np.random.default_rng(0).random((8, 3))
ALONG = "still being recorded: at its end it goes along"


def run():
    net = nn.Sequential(nn.Linear(3, 4, seed=1), nn.Tanh(), nn.Linear(4, 3, seed=2))
    return Run(net, nn.MSELoss(), optim.SGD(net.parameters(), lr=0.2), (X, 1 - X), engine="numpy")


@pytest.fixture(autouse=True)
def at_once(monkeypatch):
    """Looked for without a pause worth the name; no thread stays."""
    monkeypatch.setattr(following, "PAUSE", 0.01)
    monkeypatch.setattr(following, "SHARE", 0)
    yield
    assert not [thread for thread in threading.enumerate() if thread.name == "scalarviz-following"]


def shown(read):
    """What is read as a source, and its window."""
    source = RecordedSource(read)
    host = Unseen(lambda size: Replay(bench_of(source, size, hands=True)), (1280, 720))
    host.pass_time()
    return source, host


@pytest.fixture
def recorded(tmp_path):
    """A run of 10 steps, its recording, which goes on, and its window."""
    done = run()
    with sv.Recording(done, gradients=True, updates=True, path=tmp_path / "run.svz") as recording:
        done.step(10)
        recording.flush()
        with sv.load_recording(recording.path) as read:
            source, host = shown(read)
            yield done, recording, host
            host.close_soon()
            source.close()


def until(host, condition):
    end = time.monotonic() + 60
    while not condition(host.view):
        assert time.monotonic() < end, (host.view.shown.step, host.view.pace_text(), host.view.notice())
        host.pass_time()
        time.sleep(0.005)


def press(host, *keys):
    for key in keys:
        host.view.key(key)
        host.pass_time()
    return host.view.shown.step


def newest(view):
    return view.shown.past.newest


def test_at_its_end_it_goes_along_and_the_time_bar_becomes_longer(recorded):
    done, recording, host = recorded
    assert ALONG in host.view.pace_text()
    assert press(host, "End") == 10
    for steps in (1, 30):
        done.step(steps)
        recording.flush()
        until(host, lambda view: view.shown.step == done.steps)
        assert host.view.shown.values.tobytes() == np.asarray(done.values, np.float32).tobytes()
        assert host.view.shown.loss == done.loss
        assert newest(host.view) == done.steps
        assert host.view.shown.curve.step.tolist() == list(range(1, done.steps + 1))
    host.picture()
    plan = host.view.bench.bar._plan
    assert plan.scale.at(41) - plan.scale.at(10) > 2 * (plan.scale.at(10) - plan.scale.at(0))


def test_elsewhere_it_stays_and_end_leads_to_the_newest(recorded):
    done, recording, host = recorded
    press(host, "End")
    assert press(host, "Left", "Left") == 8
    before = host.view.shown.values.copy()
    done.step(20)
    recording.flush()
    until(host, lambda view: view.bench.subject.source.past.newest == 30)
    host.pass_time()
    assert host.view.shown.step == 8
    assert np.array_equal(host.view.shown.values, before)
    assert newest(host.view) == 30
    assert press(host, "End") == 30


def test_it_goes_along_to_another_branch_and_shows_the_one_that_was_left(recorded):
    done, recording, host = recorded
    press(host, "End")
    done.back(4)
    done.set_weights(0, [2.0])
    done.step(1)
    recording.flush()
    until(host, lambda view: view.shown.step == 7)
    assert "another branch, at step 7" in host.view.notice()
    assert [(b.number, b.newest, b.current) for b in host.view.shown.past.branches] == [(0, 10, False), (1, 7, True)]
    assert [edit.step for edit in host.view.shown.past.edits] == [6]
    assert host.view.shown.values.tobytes() == np.asarray(done.values, np.float32).tobytes()
    host.view.travels.switch(0)  # who went back himself is left there
    host.pass_time()
    done.step(5)
    recording.flush()
    until(host, lambda view: (1, 12) in [(b.number, b.newest) for b in view.bench.subject.source.past.branches])
    host.pass_time()
    assert host.view.shown.step == 10
    assert [b.current for b in host.view.shown.past.branches] == [True, False]


def test_what_plays_goes_on_from_where_it_is(recorded):
    done, recording, host = recorded
    press(host, "Space")
    seen = []
    for _ in range(60):
        host.pass_time(1 / 60)
        seen.append(host.view.shown.step)
    assert 0 < seen[-1] < 10
    done.step(200)
    recording.flush()
    until(host, lambda view: newest(view) == 210)
    while host.view.playback.running:
        host.pass_time(1 / 60)
        seen.append(host.view.shown.step)
    assert seen == sorted(seen)
    assert len(set(seen)) > 100  # no leap to where the longer recording would have been by now
    assert seen[-1] == 210


def test_frames_that_are_let_go_of_leave_it_at_the_one_before(tmp_path):
    done = run()
    with sv.Recording(done, path=tmp_path / "run.svz", budget=150_000) as recording:
        done.step(9)
        recording.flush()
        with sv.load_recording(recording.path) as read:
            source, host = shown(read)
            press(host, "End")
            assert press(host, "Left", "Left") == 7
            done.step(1000)
            recording.flush()
            every = recording.every
            assert every > 1
            until(host, lambda view: newest(view) == 1009 - 1009 % every)
            until(host, lambda view: view.shown.step == 7 - 7 % every)  # it lets go of them bit by bit
            assert host.view.shown.step in source.steps
            host.close_soon()
            source.close()


def test_that_it_is_complete_is_said_and_one_file_is_left(recorded, tmp_path):
    done, recording, host = recorded
    press(host, "End")
    done.step(5)
    recording.close()
    until(host, lambda view: "complete" in view.notice())
    assert host.view.notice() == "the recording is complete: it ends at step 15"
    assert host.view.shown.step == 15
    assert ALONG not in host.view.pace_text()
    host.view.say("")
    done.step(5)
    for _ in range(5):
        host.pass_time()
    assert host.view.shown.step == 15
    assert not host.view.notice()


def test_a_file_that_is_removed_meanwhile_is_shown_as_far_as_it_came(recorded):
    _, recording, host = recorded
    shutil.rmtree(recording.path.parent)
    until(host, lambda view: view.notice())
    assert "there is no recording" in host.view.notice()
    assert "it ends at step 10" in host.view.notice()
    for key, step in (("End", 10), ("Left", 9), ("Home", 0)):
        assert press(host, key) == step


WRITER = """
import sys
sys.path.insert(0, {folder!r})
import importlib.util
spec = importlib.util.spec_from_file_location("growing", {file!r})
growing = importlib.util.module_from_spec(spec); spec.loader.exec_module(growing)
import scalarviz as sv
done = growing.run()
recording = sv.Recording(done, path={path!r})
for line in sys.stdin:
    done.step(int(line))
    recording.flush()
    print(done.steps, flush=True)
"""


@pytest.mark.ci  # a program anew
def test_another_program_writes_it_and_is_killed(tmp_path):
    path = tmp_path / "run.svz"
    code = WRITER.format(folder=os.path.dirname(__file__), file=__file__, path=str(path))
    with subprocess.Popen([sys.executable, "-c", code], stdin=-1, stdout=-1, text=True) as writer:
        for steps in (10, 20):
            writer.stdin.write(f"{steps}\n")
            writer.stdin.flush()
            assert int(writer.stdout.readline()) == (steps if steps == 10 else 30)
            if steps == 10:
                read = sv.load_recording(path)
                assert read.growing
                assert not read.complete
                source, host = shown(read)
                press(host, "End")
        until(host, lambda view: view.shown.step == 30)
        writer.kill()
    until(host, lambda view: "ended without closing it" in view.notice())
    assert host.view.shown.step == 30
    host.close_soon()
    source.close()
    read.close()
    assert [part.name for part in tmp_path.iterdir()] == ["run.svz"]  # who read it last repaired it
    expected = run()
    with sv.load_recording(path) as again:
        assert not again.growing
        assert not again.complete
        expected.step(30)
        assert again.frame(-1).values.tobytes() == np.asarray(expected.values, np.float32).tobytes()
