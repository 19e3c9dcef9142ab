"""Recordings that are shown while they are written: the window goes along, and says when they end."""

import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import scalarviz as sv
from kit.runs import make_run
from scalarviz import nn

pytestmark = [pytest.mark.gl, pytest.mark.usefixtures("at_once")]
ALONG = "still being recorded: at its end it goes along"


class Growing:
    """A run of some steps and its recording, which goes on."""

    def __init__(self, path, steps, weights=1, **options):
        self.run = make_run(optimizer="sgd", dtype="float32", weights=weights)
        self.recording = sv.Recording(self.run, path=path, **options)
        self.path = self.recording.path
        self.step(steps)

    def step(self, count):
        self.run.step(count)
        self.recording.flush()

    def shows(self, frame):
        assert frame.values.tobytes() == self.run.values.tobytes()
        return True


@pytest.fixture
def one(tmp_path, window):
    """A recording that grows from 10 steps on, and its window."""
    grows = Growing(tmp_path / "run.svz", 10, gradients=True, updates=True)
    with grows.recording, sv.load_recording(grows.path) as read:
        host = window(read)
        yield grows, host
        host.close()
        host.source.close()


def newest(host):
    return host.source.past.newest


def test_at_its_end_it_goes_along_and_says_that_the_recording_is_complete(one):
    grows, host = one
    assert ALONG in host.view.pace_text()
    assert host.press("End") == 10
    for steps in (1, 30):
        grows.step(steps)
        host.until(lambda: host.shown.step == grows.run.steps)
        assert grows.shows(host.shown)
        assert (host.shown.loss, host.shown.past.newest) == (grows.run.loss, grows.run.steps)
        assert host.shown.curve.step.tolist() == list(range(1, grows.run.steps + 1))
    host.picture()
    ten, end = host.time_bar(10)[0], host.time_bar(41)[0]
    assert end - ten > 2 * (ten - host.time_bar(0)[0])
    grows.step(5)
    grows.recording.close()
    host.until(lambda: host.says("complete"))
    assert host.says("it ends at step 46")
    assert (host.shown.step, ALONG in host.view.pace_text()) == (46, False)
    host.view.say("")
    grows.run.step(5)
    for _ in range(5):
        host.pass_time()
    assert (host.shown.step, host.view.notice()) == (46, "")


def test_it_goes_along_to_another_branch_and_shows_the_one_that_was_left(one):
    grows, host = one
    host.press("End")
    grows.run.back(4)
    grows.run.set_weights(0, [2.0])
    grows.step(1)
    host.until(lambda: host.shown.step == 7)
    assert host.says("another branch, at step")  # 6 or 7: the edit may be in the file before the step
    past = host.shown.past
    assert [(b.number, b.newest, b.current) for b in past.branches] == [(0, 10, False), (1, 7, True)]
    assert [edit.step for edit in past.edits] == [6]
    assert grows.shows(host.shown)
    host.view.travels.switch(0)  # who went back himself is left there
    host.pass_time()
    grows.step(5)
    host.until(lambda: (1, 12) in [(b.number, b.newest) for b in host.source.past.branches])
    host.pass_time()
    assert host.shown.step == 10
    assert [b.current for b in host.shown.past.branches] == [True, False]


def test_what_plays_goes_on_from_where_it_is(one):
    grows, host = one
    host.press("Space")
    seen = []
    for _ in range(60):
        host.pass_time(1 / 60)
        seen.append(host.shown.step)
    assert 0 < seen[-1] < 10
    grows.step(200)
    host.until(lambda: newest(host) == 210)
    while host.view.playback.running:
        host.pass_time(1 / 60)
        seen.append(host.shown.step)
    assert seen == sorted(seen)
    assert len(set(seen)) > 100  # no leap to where the longer recording would have been by now
    assert seen[-1] == 210


def test_frames_that_are_let_go_of_leave_it_at_the_one_before(tmp_path, window):
    grows = Growing(tmp_path / "run.svz", 9, budget=150_000)
    with grows.recording, sv.load_recording(grows.path) as read:
        host = window(read)
        assert [host.press(key) for key in ("End", "Left", "Left")] == [9, 8, 7]
        grows.step(1000)
        every = grows.recording.every
        assert every > 1
        host.until(lambda: newest(host) == 1009 - 1009 % every)
        host.until(lambda: host.shown.step == 7 - 7 % every)  # it lets go of them bit by bit
        assert host.shown.step in host.source.steps
        host.close()
        host.source.close()


def test_a_file_that_is_removed_meanwhile_is_shown_as_far_as_it_came(one):
    grows, host = one
    shutil.rmtree(grows.path.parent)
    host.until(host.view.notice)
    assert host.says("there is no recording")
    assert host.says("it ends at step 10")
    assert [host.press(key) for key in ("End", "Left", "Home")] == [10, 9, 0]


WRITER = """
import sys
sys.path.insert(0, sys.argv[1])
import scalarviz as sv
from kit.runs import make_run
run = make_run(optimizer="sgd", dtype="float32")
recording = sv.Recording(run, path=sys.argv[2])
for line in sys.stdin:
    run.step(int(line))
    recording.flush()
    print(run.steps, flush=True)
"""


def test_another_program_writes_it_and_is_killed(tmp_path, window):
    path = tmp_path / "run.svz"
    command = [sys.executable, "-c", WRITER, str(Path(__file__).parents[1]), str(path)]
    with subprocess.Popen(command, stdin=-1, stdout=-1, text=True, bufsize=1) as writer:

        def step(count):
            writer.stdin.write(f"{count}\n")
            return int(writer.stdout.readline())

        assert step(10) == 10
        with sv.load_recording(path) as read:
            assert (read.growing, read.complete) == (True, False)
            host = window(read)
            host.press("End")
            assert step(20) == 30
            host.until(lambda: host.shown.step == 30)
            writer.kill()
            host.until(lambda: host.says("ended without closing it"))
            assert host.shown.step == 30
            host.close()
            host.source.close()
    assert [part.name for part in tmp_path.iterdir()] == ["run.svz"]  # who read it last repaired it
    expected = make_run(optimizer="sgd", dtype="float32")
    expected.step(30)
    with sv.load_recording(path) as again:
        assert (again.growing, again.complete) == (False, False)
        assert again.frame(-1).values.tobytes() == expected.values.tobytes()


# ---- two that are compared


@pytest.fixture
def two(tmp_path, window):
    """Two recordings that grow from 10 and from 4 steps on, and the window of both."""
    a = Growing(tmp_path / "a.svz", 10, activations=True)
    b = Growing(tmp_path / "b.svz", 4, weights=2, activations=True)
    with a.recording, b.recording, sv.load_recording(a.path) as first, sv.load_recording(b.path) as second:
        host = window(first.compare(second))
        yield a, b, host
        host.close()
        for source in host.source.pair:
            source.close()


def test_at_its_end_it_goes_along_with_both_until_they_end(two):
    a, b, host = two
    assert f"both are {ALONG}" in host.view.pace_text()
    host.press("End")
    b.step(3)  # the one that is behind: the step stays, its numbers are newer
    host.until(lambda: host.shown.b.step == 7)
    assert host.shown.step == 10
    assert b.shows(host.shown.b)
    b.step(9)
    a.step(10)
    host.until(lambda: (host.shown.a.step, host.shown.b.step) == (20, 16))
    frame = host.shown
    assert frame.step == 20
    assert a.shows(frame.a)
    assert np.array_equal(frame.values, b.run.values.astype(float) - a.run.values)
    for _ in range(30):  # words are written ten times a second
        host.pass_time()
    host.picture()
    assert host.bench.bar.other.step.tolist() == list(range(1, 17))
    assert {"20", "16", "its last before 20"} <= set(host.words())
    a.recording.close()
    host.until(lambda: host.says("a: the recording is complete: it ends at step 20"))
    assert "b is still being recorded" in host.view.pace_text()
    b.step(20)
    host.until(lambda: host.shown.step == 36)
    assert host.shown.a.step == 20
    b.recording.close()
    host.until(lambda: "being recorded" not in host.view.pace_text())


def test_another_branch_is_followed_and_of_another_network_what_was_compared_stays(two):
    a, b, host = two
    host.press("End")
    a.run.back(4)
    a.run.set_weights(0, [2.0])
    a.step(7)
    host.until(lambda: host.shown.a.step == 13)
    assert a.shows(host.shown.a)
    assert [edit.what.partition(":")[0] for edit in host.shown.past.edits] == ["a"]
    before = a.run.values.copy()
    a.run.change(model=nn.Sequential(nn.Linear(3, 7, seed=1), nn.Tanh(), nn.Linear(7, 3, seed=1)))
    a.step(5)
    host.until(lambda: host.says("got another network"))
    b.step(10)
    host.until(lambda: host.shown.b.step == 14)
    frame = host.shown
    assert b.shows(frame.b)
    assert frame.a.step <= 13
    assert frame.a.step < 13 or np.array_equal(frame.a.values, before)
    assert any("when it got another network" in clause for clause in host.source.left_out)
    host.picture()


@pytest.mark.parametrize("shown", ["one", "two"])
def test_elsewhere_it_stays_its_card_has_what_is_new_and_end_leads_there(shown, request):
    grows, *_, host = request.getfixturevalue(shown)
    assert [host.press(key) for key in ("End", "Left", "Left")] == [10, 9, 8]
    host.select(2)
    before = host.shown.values.copy()
    grows.step(20)
    host.until(lambda: host.shown.past.newest == 30)
    assert (host.shown.step, host.source.steps.tolist()) == (8, list(range(31)))
    assert np.array_equal(host.shown.values, before)
    if shown == "two":
        first, second = host.bench._chosen.records
        assert (first.steps[-1], second.steps[-1], first.values[-1]) == (30, 4, grows.run.values[2])
    assert host.press("End") == 30
