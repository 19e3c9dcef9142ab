"""Going back and forth by hand: keys, bar and buttons of a window against a run that nobody watched."""

from __future__ import annotations

import warnings
from types import SimpleNamespace
from unittest.mock import Mock

import numpy as np
import pytest
from scalarviz.scenes import expression, neuron, uinn

from kit.benches import texts
from kit.runs import bits
from kit.windows import live_hand, make_colour_run, make_colour_scene, mirror_hand
from scalarviz import optim
from scalarviz.errors import InputError
from scalarviz.run.panels import LossCurve
from scalarviz.view import render
from scalarviz.view.watch.actions import NO_PAST
from scalarviz.view.watch.travels import REST

pytestmark = pytest.mark.gl


def run_of(steps=0):
    run = make_colour_run(optim.Adam, batch_size=8)
    run.step(steps)
    return run


@pytest.fixture
def hand():
    """A window of a run that has done thirty steps."""
    with live_hand(make_colour_scene(run_of(), (LossCurve(),)), steps=40) as made:
        made.do("step", 30)
        yield made


def stands(hand, step):
    """Whether it stands at a step, at the bits of then."""
    assert hand.view.frame().step == hand.run.steps == step
    np.testing.assert_array_equal(hand.view.frame().values, run_of(step).values)
    return True


def test_keys_go_back_and_forth_and_stand_at_the_bits_of_then(hand):
    pictures = []
    for key, shift, step in (("Left", False, 29), ("Left", True, 19), ("Right", False, 20), ("Left", False, 19),
                             ("Home", False, 0), ("Right", True, 10), ("End", False, 30)):  # fmt: skip
        hand.view.key(key, shift=shift)
        assert hand.arrived().past.newest == 30
        assert stands(hand, step)
        pictures.append(hand.picture())
    assert np.array_equal(pictures[1], pictures[3])
    assert not np.array_equal(pictures[1], pictures[2])
    for keys, step in ((["Left"] * 25, 5), (["Right"] * 5 + ["Left"], 9)):  # a held key makes no queue
        for key in keys:
            hand.view.key(key)
        assert hand.arrived().step == step
    hand.do("step", 25)  # those before follow, and those beyond are trained
    assert stands(hand, 34)
    assert len(hand.run.branches) == 1


def test_what_cannot_be_gone_to_is_said(hand):
    hand.do("back", 40)
    for name, said in (("back", "step 0 is the first"), ("newest", ""), ("newest", "step 30 is the newest")):
        hand.view.say("")
        hand.do(name)
        assert hand.view.notice() == said


def test_the_past_is_said_and_space_plays_on_from_there(hand):
    assert "in the past" not in hand.view.pace_text()
    hand.do("back", 20)
    past = "in the past, 20 steps before the newest  ·  Space plays on from here  ·  End returns"
    assert hand.view.pace_text().startswith(past)
    taken = hand.view.frame()
    hand.do("step", 5)
    assert hand.view.pace_text(taken).startswith(past)  # it is of the frame that is drawn, though the run is ahead
    hand.view.send("toggle_run")
    hand.view.tick(0.01)
    assert "  plays on from here" in hand.view.pace_text()
    hand.until(lambda: hand.run.steps >= 33, tick=0.05)
    hand.do("toggle_run")
    assert "in the past" not in hand.view.pace_text()
    assert stands(hand, hand.run.steps)


def test_space_on_the_way_plays_from_where_it_leads_and_escape_gives_up_a_long_way_which_is_said(hand, monkeypatch):
    hand.view.send("first")
    hand.view.send("toggle_run")
    hand.until(lambda: hand.view.playback.running, tick=0.001)
    assert hand.run.steps <= 1
    hand.do("toggle_run")
    assert hand.run.steps < 15
    hand.do("newest")
    slow = SimpleNamespace(journey_progress=0.43, moving=True, remark="", error=None, travel=Mock(), cancel=Mock())
    with monkeypatch.context() as patch:
        patch.setattr(hand.view.travels, "_guide", slow)
        hand.view.send("first")
        for said in ("", "Going to step 0: 43 % (Esc cancels)"):
            hand.view.tick(0.2)
            assert hand.view.notice() == said
        hand.view.key("Escape")
    slow.cancel.assert_called_once()
    assert (hand.view.notice(), hand.view.travels.goal) == ("stays here", None)


def test_an_edit_in_the_past_starts_a_branch_and_its_ring_leads_back(hand):
    hand.do("back", 20)
    hand.do("raise_rate")
    assert "New branch from step 10" in hand.view.notice()
    hand.do("step", 5)
    assert [(b.first, b.newest, b.current) for b in hand.run.branches] == [(0, 30, False), (10, 15, True)]
    hand.view.tick(0.2)
    (box,) = [spot.box for spot in hand.view.bench.bar.spots if spot.name == "branch"]
    hand.click(hand.middle(box))
    hand.arrived()
    assert stands(hand, 30)
    assert [b.current for b in hand.run.branches] == [True, False]


def test_undo_says_what_and_redo_returns_and_a_restart_begins_anew_and_can_be_undone(hand):
    hand.do("undo")
    assert hand.view.notice().startswith("undo: there is no edit")
    hand.do("raise_rate")
    for name, said, lr in (("undo", "Undone: lr = 1", 0.5), ("redo", "Redone: lr = 1", 1.0)):
        hand.do(name)
        assert (hand.view.notice(), hand.run.lr) == (said, lr)
    assert hand.do("step", 7).past.undo == "lr = 1"
    assert hand.do("back", 8).past.undo == ""  # it is of where one stands
    hand.do("newest")
    hand.do("undo")
    assert hand.view.notice() == "Undone: lr = 1. The later 7 steps are kept as a branch."
    assert stands(hand, 30)
    hand.do("redo")
    assert (hand.do("restart").step, hand.view.playback.running) == (0, False)  # it was paused, and stays so
    hand.view.send("toggle_run")
    hand.until(lambda: hand.run.steps >= 3, tick=0.05)
    hand.do("toggle_run")
    newest = hand.do("first").past.newest
    assert (hand.run.lr, stands(hand, 0)) == (1.0, True)
    hand.do("undo")
    assert hand.view.notice() == f"Undone: restart. The later {newest} steps are kept as a branch."
    assert (hand.run.steps, next(b.newest for b in hand.run.branches if b.current)) == (37, 37)


def test_named_moments_are_played_round_and_round(hand):
    hand.do("toggle_loop")
    assert "N sets a flag" in hand.view.notice()
    for step in (10, 16):
        hand.do("first")
        hand.do("step", step)
        hand.do("name_moment")
    assert [(flag.step, flag.name) for flag in hand.view.frame().past.flags] == [(10, "flag 1"), (16, "flag 2")]
    hand.do("back", 3)
    hand.view.send("toggle_loop")
    seen = []

    def twice():
        seen.append(hand.view.worker.latest.step)
        return seen.count(16) > 0 and seen[-1] < 16 and len(set(seen)) >= 7

    hand.until(twice, tick=0.1)
    assert {*seen} <= {*range(10, 17)}
    hand.do("toggle_loop")
    assert hand.view.playback.loop is None
    hand.do("toggle_run")
    hand.do("first")
    hand.do("step", 10)
    hand.do("name_moment")
    assert hand.view.notice() == "flag 1 removed from step 10"


def point_of(hand, step):
    """Device pixels of a step of the bar."""
    plan, scale = hand.view.bench.bar._plan, hand.view.bench.scale
    return plan.scale.x_of(step) * scale, plan.rail * scale


def test_a_drag_shows_a_step_near_by_at_once_and_at_rest_the_step_itself(hand):
    def near():
        """What is shown as soon as it is there, without time passing on the viewer's clock."""
        hand.until(lambda: not hand.view.worker.moving, tick=0.0)
        hand.view.tick(0.0)
        frame = hand.view.frame()
        np.testing.assert_array_equal(frame.values, run_of(frame.step).values)
        return frame.step

    hand.do("toggle_run")
    hand.view.press(point_of(hand, 12))
    assert not hand.view.playback.running
    assert near() <= 12
    hand.view.move(point_of(hand, 7))
    assert near() <= 7
    hand.view.tick(REST + 0.01)
    assert near() == 7
    hand.view.move(point_of(hand, 21))
    hand.view.release(point_of(hand, 21))
    hand.arrived()
    assert stands(hand, 21)


def test_a_press_on_the_bar_is_its_own_until_the_button_goes_up_and_a_click_on_the_loss_goes_there(hand):
    view = hand.view
    camera = view.bench.camera
    for at in (point_of(hand, 10), (30.0, view.bench.places.time[1] + 3)):
        view.press(at)
        view.press((700.0, 300.0), "right")  # another button changes nothing
        view.move((at[0] + 60, at[1] - 200))
        view.release((at[0] + 60, at[1] - 200))
    hand.arrived()
    assert (view.bench.camera, view.bench.selected) == (camera, None)
    hand.do("newest")
    at = hand.middle(next(spot.box for spot in view.bench.bar.spots if spot.name == "back"))
    for end in (at, (at[0] + 300, at[1])):  # let go elsewhere it does nothing
        view.press(at)
        view.release(end)
        assert hand.arrived().step == 29
    curve = view.bench.side.drawer(LossCurve)
    at = curve.axes.point(11, 1.0)[0], curve.axes.box[1] + curve.axes.box[3] / 2
    hand.click(at)
    assert hand.arrived().step == 11  # nothing rescaled


def test_closing_the_window_goes_to_the_newest_step_of_this_branch():
    with live_hand(make_colour_scene(run_of(30), ())) as hand:
        hand.do("back", 20)
    assert (hand.view.left_at, hand.run.steps) == (10, 30)
    np.testing.assert_array_equal(hand.run.values, run_of(30).values)


def test_a_window_that_only_shows_goes_back_too_and_nothing_else():
    run = run_of(20)
    with mirror_hand(run) as hand:
        for name, value, step in (("back", 5, 15), ("step", 2, 17), ("first", None, 0), ("step", 50, 20)):
            assert hand.view.send(name, value)
            hand.view.tick(0.01)
            assert hand.view.frame().step == run.steps == step
        assert not hand.view.send("undo")
        hand.view.send("back", 5)
        hand.view.tick(0.01)
        assert hand.view.pace_text().startswith("in the past, 5 steps before the newest  ·  End returns")
    run.close()
    with mirror_hand(run) as hand:  # it has no past any more
        assert hand.view.bench.places.time is None
        assert not hand.view.send("back")
        assert hand.view.notice() == f"Left: {NO_PAST}"


def test_a_picture_shows_any_step_and_the_run_stands_where_it_stood():
    run = run_of(20)
    newest, earlier = bits(run), render(run, (640, 360), step=7)
    assert bits(run) == newest
    assert not np.array_equal(earlier, render(run, (640, 360)))
    run.to(7)
    assert np.array_equal(earlier, render(run, (640, 360)))
    for step in (21, -1, 1.5, "7"):
        with pytest.raises(InputError):
            render(run, step=step)
    with pytest.raises(InputError, match="try a Run or a Scene"):
        render({"a": np.eye(3)}, step=0)
    run.close()


@pytest.mark.parametrize(
    ("scene", "flags"),
    [
        (neuron, {"lr": 3e38}), (neuron, {"lr": 1.1}), (neuron, {"lr": 50.0, "weights": 2}), (uinn, {"lr": 1e30}),
        (expression, {"lr": 1e30, "expr": "a*x*x*x + exp(b*x)"}),
    ],
)  # fmt: skip
def test_the_key_that_is_named_leads_out_of_a_divergence_and_training_goes_on(scene, flags):
    """A scene warns of nothing: that would stand in the terminal, between the lines that are meant."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with live_hand(scene.build(scene.Options(engine="numpy", **flags)), (960, 540)) as hand:
            view, run = hand.view, hand.run
            hand.do("step", 400)
            said = view.message()
            assert not view.playback.running
            good = int(said.partition("go back to step ")[2].partition(",")[0])
            assert said.startswith(f"training diverged at step {run.steps}: ")
            assert f"; click here or press Left to go back to step {good:,}, the last good one, and try a tenth" in said
            if flags["lr"] == 50.0:
                above = (text for layer in view.bench.overlays for text in texts(layer))
                line = next(text for text in above if text.text.startswith("training"))
                hand.click(hand.at((line.x + 20, line.y)))
            else:
                view.key("Left")
            frame, before = hand.arrived(), run.lr
            assert (frame.step, view.message(), np.isfinite(frame.values).all()) == (good, "", True)
            hand.do("lower_rate")
            assert run.lr == before / 2
            view.worker.edit(lambda run: setattr(run, "lr", 1e-3), "lr")
            assert (hand.do("step", 20).step, view.message()) == (good + 20, "")
            assert run.loss <= run.history.loss[0]
