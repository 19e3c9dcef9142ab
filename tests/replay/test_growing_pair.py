"""Two recordings that are compared while they are written: the window goes along with both."""

from __future__ import annotations

import threading
import time

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import Run, nn, optim
from scalarviz.run.recording import following
from scalarviz.view.benches import bench_of
from scalarviz.view.watch.replay import Replay
from scalarviz.view.window.unseen import Unseen

pytestmark = pytest.mark.gl
X = np.random.default_rng(0).random((8, 3))


def run(seed):
    net = nn.Sequential(nn.Linear(3, 4, seed=seed), nn.Tanh(), nn.Linear(4, 3, seed=seed))
    return Run(net, nn.MSELoss(), optim.SGD(net.parameters(), lr=0.2), (X, 1 - X), engine="numpy")


@pytest.fixture(autouse=True)
def at_once(monkeypatch):
    """Looked for without a pause worth the name; no thread stays."""
    monkeypatch.setattr(following, "PAUSE", 0.01)
    monkeypatch.setattr(following, "SHARE", 0)
    yield
    assert not [thread for thread in threading.enumerate() if thread.name == "scalarviz-following"]


@pytest.fixture
def two(tmp_path):
    """Two runs of 10 and of 4 steps, their recordings, which go on, and the window of both."""
    runs = [run(1), run(2)]
    files = [tmp_path / "a.svz", tmp_path / "b.svz"]
    recordings = [sv.Recording(one, path=file, activations=True) for one, file in zip(runs, files, strict=True)]
    for one, recording, steps in zip(runs, recordings, (10, 4), strict=True):
        one.step(steps)
        recording.flush()
    reads = [sv.load_recording(one.path) for one in recordings]
    pair = reads[0].compare(reads[1])
    host = Unseen(lambda size: Replay(bench_of(pair, size, hands=True)), (1280, 720))
    host.pass_time()
    yield runs, recordings, pair, host
    host.close_soon()
    for one in pair.pair:
        one.close()
    for one in (*reads, *recordings):
        one.close()


def until(host, condition):
    end = time.monotonic() + 60
    while not condition(host.view):
        assert time.monotonic() < end, (host.view.shown.step, host.view.pace_text(), host.view.notice())
        host.pass_time()
        time.sleep(0.005)


def go_on(runs, recordings, which, steps):
    runs[which].step(steps)
    recordings[which].flush()


def values(one):
    return np.asarray(one.values, np.float32)


def test_at_its_end_it_goes_along_with_both(two):
    runs, recordings, _, host = two
    assert "both are still being recorded: at its end it goes along" in host.view.pace_text()
    host.view.key("End")
    host.pass_time()
    go_on(runs, recordings, 1, 3)  # the one that is behind: the step stays, its numbers are newer
    until(host, lambda view: view.shown.b.step == 7)
    assert host.view.shown.step == 10
    assert np.array_equal(host.view.shown.b.values, values(runs[1]))
    go_on(runs, recordings, 1, 9)
    go_on(runs, recordings, 0, 10)
    until(host, lambda view: (view.shown.a.step, view.shown.b.step) == (20, 16))
    frame = host.view.shown
    assert frame.step == 20
    assert np.array_equal(frame.a.values, values(runs[0]))
    assert np.array_equal(frame.values, values(runs[1]).astype(float) - values(runs[0]))
    for _ in range(30):  # words are written ten times a second
        host.pass_time()
    host.picture()
    bar = host.view.bench.bar
    assert bar._plan.past.newest == 20
    assert bar.other.step.tolist() == list(range(1, 17))
    words = [text.text for sketch in host.view.bench.sketches for text in sketch.texts]
    assert {"20", "16", "its last before 20"} <= set(words)


def test_elsewhere_it_stays_and_its_card_has_what_is_new(two):
    runs, recordings, pair, host = two
    host.view.key("Home")
    host.view.bench.select(2)
    host.pass_time()
    before = host.view.shown.values.copy()
    go_on(runs, recordings, 0, 20)
    until(host, lambda view: view.shown.past.newest == 30)
    assert host.view.shown.step == 0
    assert np.array_equal(host.view.shown.values, before)
    (a, b) = host.view.bench._chosen.records
    assert (a.steps[-1], b.steps[-1]) == (30, 4)
    assert a.values[-1] == values(runs[0])[2]
    assert pair.steps.tolist() == list(range(31))


def test_it_says_when_one_of_them_has_ended_and_goes_on_with_the_other(two):
    runs, recordings, _, host = two
    host.view.key("End")
    host.pass_time()
    recordings[0].close()
    until(host, lambda view: "a: the recording is complete: it ends at step 10" in view.notice())
    assert "b is still being recorded" in host.view.pace_text()
    go_on(runs, recordings, 1, 20)
    until(host, lambda view: view.shown.step == 24)
    assert host.view.shown.a.step == 10
    recordings[1].close()
    until(host, lambda view: "being recorded" not in view.pace_text())


def test_another_branch_and_its_edits_are_followed(two):
    runs, recordings, _, host = two
    host.view.key("End")
    host.pass_time()
    runs[0].back(4)
    runs[0].set_weights(0, [2.0])
    go_on(runs, recordings, 0, 7)
    until(host, lambda view: view.shown.a.step == 13)
    assert np.array_equal(host.view.shown.a.values, values(runs[0]))
    assert [edit.what.partition(":")[0] for edit in host.view.shown.past.edits] == ["a"]


def test_of_another_network_what_was_compared_stays(two):
    runs, recordings, pair, host = two
    host.view.key("End")
    host.pass_time()
    go_on(runs, recordings, 0, 2)
    until(host, lambda view: view.shown.a.step == 12)
    before = values(runs[0])
    wider = nn.Sequential(nn.Linear(3, 7, seed=1), nn.Tanh(), nn.Linear(7, 3, seed=1))
    runs[0].change(model=wider)
    go_on(runs, recordings, 0, 5)
    until(host, lambda view: "got another network" in view.notice())
    go_on(runs, recordings, 1, 10)
    until(host, lambda view: view.shown.b.step == 14)
    frame = host.view.shown
    assert frame.a.step <= 12
    assert np.array_equal(frame.b.values, values(runs[1]))
    assert frame.a.step < 12 or np.array_equal(frame.a.values, before)
    assert any("when it got another network" in clause for clause in pair.left_out)
    host.picture()
