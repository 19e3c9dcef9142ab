"""Going back and forth by hand: keys, bar and buttons of a window against a run that nobody watched."""

from __future__ import annotations

import time

import numpy as np
import pytest

from scalarviz import Run, nn, optim
from scalarviz.run import Scene
from scalarviz.run.panels import LossCurve
from scalarviz.view.out.offscreen import offscreen
from scalarviz.view.out.unseen import Unseen
from scalarviz.view.shown.subject import subject_of
from scalarviz.view.watch.live import LiveView
from scalarviz.view.watch.mirror import Mirror
from scalarviz.view.watch.travels import NO_PAST, REST

pytestmark = pytest.mark.gl

X = np.random.default_rng(0).random((32, 3))


def run_of(lr=0.5, engine="numpy"):
    net = nn.Sequential(nn.Linear(3, 3, seed=1), nn.Sigmoid())
    return Run(net, nn.MSELoss(), optim.Adam(net.parameters(), lr=lr), (X, 1 - X), batch_size=8, engine=engine)


def values_at(steps):
    run = run_of()
    run.step(steps)
    return run.values.copy()


@pytest.fixture
def live():
    run = run_of()
    viewer = Unseen(lambda size: LiveView(Scene("t", run, panels=(LossCurve(),)), size, steps=40, playing=False)).view
    with offscreen():
        viewer.tick(0.0)
        yield viewer
        viewer.close()
    run.close()


def settle(viewer, *, ticks=3):
    """Until nothing is on the way, and what came is shown."""
    end = time.monotonic() + 20
    for _ in range(ticks):
        viewer.tick(0.01)
    while viewer.worker.moving or viewer.travels._asked or viewer.travels.goal is not None:
        assert time.monotonic() < end
        viewer.tick(0.01)
        time.sleep(0.001)
    viewer.worker.settle()
    for _ in range(ticks):
        viewer.tick(0.01)


def do(viewer, name, value=None):
    assert viewer.send(name, value)
    settle(viewer)


def picture(viewer):
    viewer.refresh()
    viewer.tick(0.5)
    return offscreen().render(viewer.draw, viewer.bench.size).astype(int)


def point_of(viewer, step):
    """Device pixels of a step of the bar."""
    plan = viewer.bench.bar._plan
    return plan.scale.at(step) * viewer.bench.scale, plan.rail * viewer.bench.scale


def test_keys_go_back_and_forth_and_stand_at_the_bits_of_then(live):
    do(live, "step", 30)
    for key, shift, step in (("Left", False, 29), ("Left", True, 19), ("Right", False, 20), ("Home", False, 0),
                             ("Right", True, 10), ("End", False, 30)):  # fmt: skip
        live.key(key, shift=shift)
        settle(live)
        assert live.frame().step == live.run.steps == step
        np.testing.assert_array_equal(live.frame().values, values_at(step))
        assert live.frame().past.newest == 30
    live.key("Right")
    settle(live)
    assert live.frame().step == live.frame().past.newest == 31


def test_steps_beyond_the_newest_are_trained_and_those_before_follow(live):
    do(live, "step", 5)
    do(live, "back", 3)
    do(live, "step", 10)
    assert live.frame().step == 12
    np.testing.assert_array_equal(live.run.values, values_at(12))
    assert len(live.run.branches) == 1


def test_a_held_key_makes_no_queue_and_ends_where_it_was_let_go(live):
    do(live, "step", 40)
    for _ in range(25):
        live.key("Left")
    settle(live)
    assert live.frame().step == 15
    for _ in range(5):
        live.key("Right")
    live.key("Left")
    settle(live)
    assert live.frame().step == 19


def test_before_the_first_step_and_after_the_newest_it_is_said(live):
    do(live, "step", 2)
    do(live, "back", 10)
    assert live.frame().step == 0
    do(live, "back")
    assert live.notice() == "step 0 is the first"
    do(live, "newest")
    do(live, "newest")
    assert live.notice() == "step 2 is the newest"


def test_left_after_right_changes_no_pixel(live):
    do(live, "step", 20)
    do(live, "back", 5)
    before = picture(live)
    do(live, "step")
    assert np.abs(picture(live) - before).max() > 20
    do(live, "back")
    assert np.array_equal(picture(live), before)
    do(live, "newest")
    do(live, "first")
    do(live, "step", 15)
    assert np.array_equal(picture(live), before)


def test_the_past_is_said_and_space_plays_on_from_there(live):
    do(live, "step", 30)
    assert "in the past" not in live.pace_text()
    do(live, "back", 20)
    assert live.pace_text().startswith(
        "in the past, 20 steps before the newest  ·  Space plays on from here  ·  End re"
    )
    live.send("toggle_run")
    live.tick(0.01)
    assert live.playback.running
    assert "plays on from here" in live.pace_text()
    end = time.monotonic() + 20
    while live.run.steps < 33:
        live.tick(0.05)
        time.sleep(0.002)
        assert time.monotonic() < end
    do(live, "toggle_run")
    assert "in the past" not in live.pace_text()
    np.testing.assert_array_equal(live.run.values, values_at(live.run.steps))


def test_the_second_line_is_of_the_frame_that_is_drawn_though_the_run_goes_on_meanwhile(live, monkeypatch):
    do(live, "step", 30)
    do(live, "back", 20)
    taken, drawn = live.frame(), []
    do(live, "step", 5)  # the worker is ahead of the picture
    update = live.bench.update
    monkeypatch.setattr(live, "frame", lambda: taken)
    monkeypatch.setattr(
        live.bench, "update", lambda frame, text, s: (drawn.append((frame, text)), update(frame, text, s))
    )
    live.refresh()
    live.tick(0.01)
    ((frame, text),) = drawn
    assert (frame.step, frame.past.newest) == (10, 30)
    assert text.startswith("in the past, 20 steps before the newest")


def test_an_edit_in_the_past_starts_a_branch_and_says_so(live):
    do(live, "step", 30)
    do(live, "back", 20)
    do(live, "raise_rate")
    assert "a branch of its own from step 10" in live.notice()
    do(live, "step", 5)
    assert [(b.first, b.newest, b.current) for b in live.run.branches] == [(0, 30, False), (10, 15, True)]
    live.tick(0.2)
    bar = live.bench.bar
    ((x, y, wide, high),) = [spot.box for spot in bar.spots if spot.name == "branch"]
    at = x + wide / 2, y + high / 2
    live.press(at)
    live.release(at)
    settle(live)
    assert live.frame().step == live.run.steps == 30
    assert [b.current for b in live.run.branches] == [True, False]
    np.testing.assert_array_equal(live.run.values, values_at(30))


def test_undo_says_what_and_redo_returns(live):
    do(live, "step", 10)
    do(live, "undo")
    assert live.notice().startswith("undo: nothing was changed")
    do(live, "raise_rate")
    do(live, "undo")
    assert live.notice() == "undone: lr = 1"
    assert live.run.lr == 0.5
    live.key("Z", ctrl=True, shift=True)
    settle(live)
    assert live.notice() == "done again: lr = 1"
    assert live.run.lr == 1.0
    do(live, "step", 7)
    assert live.frame().past.undo == "lr = 1"
    do(live, "back", 8)
    assert live.frame().past.undo == ""  # it is of where one stands
    do(live, "newest")
    live.key("z", ctrl=True)
    settle(live)
    assert live.notice() == "undone: lr = 1; the 7 steps after it stay as a branch"
    assert (live.run.steps, live.run.lr) == (10, 0.5)
    np.testing.assert_array_equal(live.run.values, values_at(10))


def test_restart_begins_anew_and_plays(live):
    do(live, "step", 10)
    do(live, "raise_rate")
    live.send("restart")
    settle(live)
    assert live.playback.running
    end = time.monotonic() + 20
    while live.run.steps < 3:
        assert time.monotonic() < end
        live.tick(0.05)
    do(live, "toggle_run")
    do(live, "first")
    assert live.run.lr == 1.0
    np.testing.assert_array_equal(live.run.values, values_at(0))
    newest = live.frame().past.newest
    do(live, "undo")
    assert live.notice() == f"undone: restart; the {newest} steps after it stay as a branch"
    assert live.run.steps == 10
    assert next(b.newest for b in live.run.branches) == 10


def test_a_drag_shows_a_step_near_by_at_once_and_at_rest_the_step_itself(live):
    do(live, "step", 30)
    do(live, "toggle_run")
    live.press(point_of(live, 12))
    assert not live.playback.running
    settle_still(live)
    assert live.frame().step <= 12
    live.move(point_of(live, 7))
    settle_still(live)
    assert live.frame().step <= 7
    np.testing.assert_array_equal(live.frame().values, values_at(live.frame().step))
    live.tick(REST + 0.01)
    settle_still(live)
    assert live.frame().step == 7
    live.move(point_of(live, 21))
    live.release(point_of(live, 21))
    settle(live)
    assert live.frame().step == 21
    np.testing.assert_array_equal(live.frame().values, values_at(21))


def settle_still(viewer):
    """The same without time passing on the viewer's clock."""
    end = time.monotonic() + 20
    while viewer.worker.moving:
        assert time.monotonic() < end
        time.sleep(0.001)
    viewer.tick(0.0)


def test_a_press_on_the_bar_turns_nothing(live):
    do(live, "step", 30)
    camera = live.bench.camera
    for at in (point_of(live, 10), (30.0, live.bench.places.time[1] + 3)):
        live.press(at)
        live.move((at[0] + 60, at[1] - 200))
        live.release((at[0] + 60, at[1] - 200))
    settle(live)
    assert live.bench.camera is camera
    assert live.bench.selected is None


def test_a_button_of_the_bar_does_what_its_key_does(live):
    do(live, "step", 30)
    x, y, *_ = next(spot.box for spot in live.bench.bar.spots if spot.name == "back")
    at = x + 10, y + 10
    live.press(at)
    live.release(at)
    settle(live)
    assert live.frame().step == 29
    live.press(at)
    live.release((at[0] + 300, at[1]))
    settle(live)
    assert live.frame().step == 29


def test_a_click_on_the_loss_curve_goes_to_that_step(live):
    do(live, "step", 30)
    axis = live.bench.side.drawer(LossCurve).switch
    at = axis.axes.point(11, 1.0)[0], axis.axes.box[1] + axis.axes.box[3] / 2
    assert axis.step(at) == 11
    live.press(at)
    live.release(at)
    settle(live)
    assert live.frame().step == 11
    assert axis.step(at) == 11  # nothing rescaled


def test_named_moments_are_played_round_and_round(live):
    do(live, "step", 30)
    do(live, "toggle_loop")
    assert "N names a moment" in live.notice()
    for step in (10, 16):
        do(live, "first")
        do(live, "step", step)
        do(live, "name_moment")
    assert [(flag.step, flag.name) for flag in live.frame().past.flags] == [(10, "flag 1"), (16, "flag 2")]
    do(live, "back", 3)
    live.send("toggle_loop")
    seen = set()
    end = time.monotonic() + 30
    while len(seen) < 7 or live.run.steps != 16:
        live.tick(0.1)
        time.sleep(0.002)
        seen.add(live.worker.latest.step)
        assert time.monotonic() < end
    assert {step for step in seen if step not in range(10, 17)} <= {13}
    end = time.monotonic() + 30
    while live.worker.latest.step >= 16:
        live.tick(0.1)
        time.sleep(0.002)
        assert time.monotonic() < end
    do(live, "toggle_loop")
    assert live.travels.loop is None
    do(live, "toggle_run")
    do(live, "first")
    do(live, "step", 10)
    do(live, "name_moment")
    assert live.notice() == "step 10 is no longer called flag 1"


class Slow:
    """A guide that is on its way for ever."""

    def __init__(self, worker):
        self._worker, self.journey, self.moving, self.given_up = worker, 0.43, True, False
        self.remark = ""

    def travel(self, step, *, nearest=False):
        self.asked = step

    def give_up(self):
        self.given_up, self.journey, self.moving = True, None, False


def test_space_on_the_way_plays_from_where_it_leads(live):
    do(live, "step", 30)
    live.send("first")
    live.send("toggle_run")
    for _ in range(3):
        live.tick(0.0)
    end = time.monotonic() + 20
    while not live.playback.running:
        assert time.monotonic() < end
        live.tick(0.001)
    assert live.run.steps <= 1
    do(live, "toggle_run")
    assert live.run.steps < 15


def test_a_long_way_is_said_and_escape_gives_it_up(live):
    do(live, "step", 30)
    travels = live.travels
    travels._guide = slow = Slow(live.worker)
    live.send("first")
    live.tick(0.2)
    assert live.notice() == ""
    live.tick(0.2)
    assert live.notice() == "on the way to step 0: 43 %  ·  Escape gives it up"
    live.key("Escape")
    assert slow.given_up
    assert live.notice() == "stays here"
    assert travels.goal is None
    travels._guide = live.worker
    live.tick(0.1)
    assert live.frame().step == 30


def test_closing_the_window_goes_to_the_newest_step_of_this_branch():
    run = run_of()
    viewer = Unseen(lambda size: LiveView(Scene("t", run), size, playing=False)).view
    with offscreen():
        viewer.tick(0.0)
        do(viewer, "step", 30)
        do(viewer, "back", 20)
        viewer.close()
    assert viewer.left_at == 10
    assert run.steps == 30
    np.testing.assert_array_equal(run.values, values_at(30))


def test_a_window_that_only_shows_goes_back_too_and_nothing_else():
    run = run_of()
    run.step(20)
    viewer = Unseen(lambda size: Mirror(subject_of(run), size)).view
    with offscreen():
        viewer.tick(0.0)
        assert viewer.bench.places.time is not None
        for name, value, step in (("back", 5, 15), ("step", 2, 17), ("first", None, 0), ("step", 50, 20)):
            assert viewer.send(name, value)
            viewer.tick(0.01)
            assert viewer.frame().step == run.steps == step
        assert not viewer.send("undo")
        assert viewer.notice() == "Ctrl+Z: this window only shows, it does not train"
        viewer.send("back", 5)
        viewer.tick(0.01)
        assert viewer.pace_text().startswith("in the past, 5 steps before the newest  ·  End returns")
        viewer.close()


def test_a_run_without_a_past_is_shown_without_a_bar():
    run = run_of()
    run.step(3)
    run.close()
    viewer = Unseen(lambda size: Mirror(subject_of(run), size)).view
    with offscreen():
        viewer.tick(0.0)
        assert viewer.bench.places.time is None
        assert not viewer.send("back")
        assert viewer.notice() == f"Left: {NO_PAST}"
        viewer.close()


def test_a_picture_shows_any_step_and_the_run_stands_where_it_stood():
    from scalarviz.errors import InputError
    from scalarviz.view import render

    run = run_of()
    run.step(20)
    newest, there = run.values.copy(), run.frame().update.copy()
    earlier = render(run, (640, 360), step=7)
    assert run.steps == 20
    np.testing.assert_array_equal(run.values, newest)
    np.testing.assert_array_equal(run.frame().update, there)
    assert not np.array_equal(earlier, render(run, (640, 360)))
    run.to(7)
    assert np.array_equal(earlier, render(run, (640, 360)))
    for step, error in ((21, InputError), (-1, InputError), (1.5, InputError), ("7", InputError)):
        with pytest.raises(error):
            render(run, step=step)
    with pytest.raises(InputError, match="what is watched is shown as it is now; a Run or a Scene keeps its past"):
        render({"a": np.eye(3)}, step=0)
    run.close()


def test_how_the_past_is_kept_is_said_once(live):
    do(live, "step", 30)
    live.worker.ask(lambda run: setattr(run.timeline, "budget", 10)).result(5)
    do(live, "back")
    assert live.notice() == live.run.timeline.remark != ""
    live.say("")
    do(live, "back")
    assert live.notice() == ""
