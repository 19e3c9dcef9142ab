"""Recordings that are shown while they are written: the window goes along, and says when they end."""

import shutil

import numpy as np
import pytest

import scalarviz as sv
from kit.runs import make_run

pytestmark = [pytest.mark.gl, pytest.mark.usefixtures("at_once")]
ALONG = "still being recorded: new steps are shown as they come"


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


def test_a_file_that_is_removed_meanwhile_is_shown_as_far_as_it_came(one):
    grows, host = one
    shutil.rmtree(grows.path.parent)
    host.until(host.view.notice)
    assert host.says("there is no recording")
    assert host.says("it ends at step 10")
    assert [host.press(key) for key in ("End", "Left", "Home")] == [10, 9, 0]


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
    a.recording.close()
    host.until(lambda: host.says("a: the recording is complete: it ends at step 20"))
    assert "b is still being recorded" in host.view.pace_text()
    b.step(20)
    host.until(lambda: host.shown.step == 36)
    assert host.shown.a.step == 20
    b.recording.close()
    host.until(lambda: "being recorded" not in host.view.pace_text())


def test_another_branch_is_followed(two):
    a, _, host = two
    host.press("End")
    a.run.back(4)
    a.run.set_weights(0, [2.0])
    a.step(7)
    host.until(lambda: host.shown.a.step == 13)
    assert a.shows(host.shown.a)
    assert [edit.what.partition(":")[0] for edit in host.shown.past.edits] == ["a"]


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
        first, second = host.bench.compared.records(host.bench.selected)
        assert (first.steps[-1], second.steps[-1], first.values[-1]) == (30, 4, grows.run.values[2])
    assert host.press("End") == 30
