"""What a step did, of what another library trains: of one step, or said to be of several; without gradients too."""

from __future__ import annotations

import numpy as np
import pytest
from scalarviz.scenes import xor

import scalarviz as sv
from scalarviz.run.recorded_source import RecordedSource
from scalarviz.run.watched.pace import Pace
from scalarviz.view.benches import bench_of
from scalarviz.view.panels.wording import said_of
from scalarviz.view.shown.subject import subject_of
from scalarviz.view.touched.figures import _columns
from scalarviz.view.watch.mirror import Mirror
from scalarviz.view.watch.replay import Replay


def kept(array):
    """Numbers that nobody can change, as arrays of JAX are."""
    array.flags.writeable = False
    return array


@pytest.mark.parametrize("steps", [1, 2, 7])
def test_the_end_of_a_loop_says_of_how_many_steps_its_update_is(steps):
    w = np.zeros(3)
    watched = sv.watch({"w": w})
    for step in range(1, steps + 1):
        w += step
        watched.update(loss=1 / step)
    frame = watched.frame()
    assert (frame.step, frame.together) == (steps, steps)
    assert frame.update.tolist() == [steps * (steps + 1) / 2] * 3
    words = said_of("update", subject_of(watched), frame)
    assert words == ("" if steps == 1 else f"of the last {steps} steps together")
    _, (name, *_) = (names for names, *_ in _columns(frame, subject_of(watched), 0, 120.0))
    assert name == ("last update" if steps == 1 else f"last {steps} updates")


def test_numbers_that_stay_as_they_were_tell_of_the_last_step_however_seldom_it_is_looked_at():
    watched = sv.watch({"w": kept(np.zeros(3))})
    for step in range(1, 8):
        watched.update({"w": kept(np.full(3, step * step, float))})
    frame = watched.frame()
    assert (frame.step, frame.together, frame.update.tolist()) == (7, 1, [13.0] * 3)


def test_numbers_that_are_changed_in_place_are_not_taken_for_the_step_before():
    """The container is another one each time, its array the same."""
    w = np.zeros(3)
    watched = sv.watch({"w": w})
    for _ in range(5):
        w += 1
        watched.update({"w": w})
    frame = watched.frame()
    assert (frame.together, frame.update.tolist()) == (5, [5.0] * 3)


def test_of_a_loop_that_begins_again_it_is_not_known_what_its_first_step_did():
    w = np.zeros(3)
    watched = sv.watch({"w": w})
    for step in (1, 2, 1):
        w += 1
        watched.update(loss=1.0, step=step)
        frame = watched.frame()
        assert bool(frame.known("update").all()) == (step == 2 or watched.rounds == 0)


def test_updates_are_seen_where_nobody_tells_gradients():
    watched = sv.watch({"w": np.zeros((2, 3))})
    mirror = Mirror(subject_of(watched), (900, 600))
    for step in (1, 2):
        watched.update({"w": np.full((2, 3), float(step * step))}, loss=1 / step)
        mirror.tick(0.1)
    mirror.send("show_updates")
    mirror.tick(0.1)
    assert "no update" not in mirror.notice()
    colouring = mirror.bench.colouring
    assert (colouring.quantity, colouring.missing(mirror.shown).any()) == ("update", False)
    assert colouring.flat.tolist() == [3.0] * 6
    mirror.send("show_gradients")
    mirror.tick(0.1)
    assert "no gradient is told" in mirror.notice()


def test_updates_alone_of_a_run_are_seen_when_it_is_replayed(tmp_path):
    """Gradients were not recorded: every cube was hatched."""
    scene = xor.build(xor.Options(engine="numpy"))
    with sv.Recording(scene, every=10, updates=True, path=tmp_path / "run.svz") as recording:
        scene.run.step(20)
    wanted = scene.run.frame().update
    with sv.load_recording(recording.path) as recorded:
        replay = Replay(bench_of(RecordedSource(recorded), (900, 600), "dark", None, hands=True))
        for at, known in (("first", False), ("newest", True)):
            replay.send(at)
            replay.tick(0.1)
            replay.send("show_updates")
            replay.tick(0.1)
            assert replay.bench.colouring.missing(replay.shown).any() != known
        assert np.array_equal(replay.bench.colouring.flat, wanted.astype(np.float32))


@pytest.mark.parametrize("every", [1, 4])
def test_a_recording_leaves_open_what_it_does_not_know(tmp_path, every):
    w = np.zeros(3)
    watched = sv.watch({"w": w})
    with sv.Recording(watched, every=every, updates=True, path=tmp_path / "w.svz") as recording:
        for step in range(1, 11):
            w += step
            watched.update(loss=1 / step)
    with sv.load_recording(recording.path) as recorded:
        updates, steps = recorded.updates["w"][:, 0], recorded.steps.tolist()
        wanted = [np.nan if step == 0 or (step == 10 and every == 4) else step for step in steps]
        assert np.array_equal(updates, np.array(wanted, np.float32), equal_nan=True)
        frames = [recorded.frame(k) for k in range(len(steps))]
        assert [bool(frame.known("update").all()) for frame in frames] == (~np.isnan(wanted)).tolist()
        assert all(np.isfinite(frame.update).all() for frame in frames)
        assert not any(frame.computed.any() for frame in frames)


def test_looks_of_a_fast_loop_know_one_step_each():
    w = np.zeros(3)
    watched = sv.watch({"w": w})
    watched.pace = Pace(rate=1e9, share=1.0)
    for step in range(1, 30):
        w += step
        if watched.update(loss=1.0):
            assert (watched.last.together, watched.last.update[0]) == (1, step)


def test_a_look_just_after_the_copy_for_the_next_one_does_not_take_that_for_the_step_before(tmp_path):
    w = np.zeros(3)
    watched = sv.watch({"w": w})
    with sv.Recording(watched, every=5, updates=True, path=tmp_path / "w.svz"):
        for step in range(1, 5):  # at the fourth the numbers are copied
            w += step
            watched.update(loss=1.0)
        frame = watched.look()
        assert (frame.step, frame.together, frame.update[0]) == (4, 4, 10)
