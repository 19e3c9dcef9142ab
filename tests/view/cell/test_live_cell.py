"""A live cell with a page in Python: numbers, actions, edits, time."""

import importlib
import time

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import Value, Weight, mistakes, nn
from scalarviz.errors import InputError, TypeMismatchError, UnknownNameError
from scalarviz.run.source import RunSource
from scalarviz.view import cube
from scalarviz.view.cell.asked import ALLOWED
from scalarviz.view.ink.text import loss_text


def test_a_page_gets_the_numbers_of_the_run(cell, watch, scene):
    page = watch(cell(scene))
    page.wait(lambda p: p.step == 0)
    assert np.array_equal(page.values, scene.run.values.astype(np.float32))
    assert page.known["head"]["step"] == "0"
    assert not page.known["running"]
    assert page.known["tools"] == ["restart", "back", "toggle_run", "step", "micro_next"]


def test_run_and_pause(cell, watch, scene):
    page = watch(cell(scene))
    page.do("toggle_run")
    page.wait(lambda p: p.step > 5 and p.known["running"])
    page.do("toggle_run")
    page.wait(lambda p: not p.known["running"] and p.step == scene.run.steps)
    assert np.array_equal(page.values, scene.run.values.astype(np.float32))


def test_watched_training_computes_the_bits_of_unwatched_training(cell, watch, scene, made):
    page = watch(cell(scene))
    page.do("toggle_run")
    page.wait(lambda p: p.step > 20)
    page.do("micro_next")
    page.say(kind="select", index=3)
    page.do("show_gradients")
    page.wait(lambda p: p.known.get("micro") and p.known.get("inspector"))
    page.do("step", 40)
    page.wait(lambda p: p.known.get("micro") is None)
    page.do("step", 40)
    page.wait(lambda p: not p.known["running"] and p.step == scene.run.steps and p.step > 40)
    page.shown.close()
    alone = made().run
    alone.step(scene.run.steps)
    assert np.array_equal(alone.values, scene.run.values)
    assert np.array_equal(alone.history.loss, scene.run.history.loss)


def test_a_cell_that_computes_stops_neither_frames_nor_a_slider(cell, watch, scene):
    page = watch(cell(scene))
    page.do("toggle_run")
    page.wait(lambda p: p.step > 3)
    before, until = len(page.frames), time.monotonic() + 60.0
    page.say(kind="control", name="learning rate", value=0.125)
    while (len(page.frames) <= before + 5 or scene.run.lr != 0.125) and time.monotonic() < until:
        sum(range(1000))  # the user's own cell: the main thread neither waits nor sleeps
    assert len(page.frames) > before + 5
    assert scene.run.lr == 0.125


def test_where_the_head_has_the_loss_of_all_samples_the_time_bar_says_which_one_it_has(cell, watch):
    playground = importlib.import_module("scalarviz.scenes.playground")
    playground = playground.build(playground.Options())
    page = watch(cell(playground))
    page.do("step", 3)
    page.wait(lambda p: p.step == 3)
    of_all = RunSource(playground.run).whole_loss()
    lost = loss_text(page.frames[-1][0]["loss"])
    assert page.known["head"]["loss"] == loss_text(of_all) != lost
    assert page.known["time"]["stepLoss"] == "of its batch"
    words = sv.view.picture(playground, (320, 240)).words
    assert f"loss {lost} of its batch:" in words


def test_the_slider_changes_the_rate_and_one_hand_makes_one_edit(cell, watch, scene):
    page = watch(cell(scene))
    page.do("step", 3)
    page.wait(lambda p: p.step == 3)
    for value in (0.4, 0.3, 0.2):
        page.say(kind="control", name="learning rate", value=value, held=True)
    page.say(kind="release")
    page.wait(lambda p: p.known["time"]["edits"] == [[3, "lr = 0.2"]])
    assert scene.run.lr == 0.2
    page.do("raise_rate")
    page.wait(lambda p: scene.run.lr == 0.4)


def test_a_value_that_is_typed_comes_back_in_the_next_frame(cell, watch, scene):
    page = watch(cell(scene))
    page.wait(lambda p: p.step == 0)
    page.say(kind="set", index=4, value=-0.75)
    page.wait(lambda p: p.values[4] == -0.75)
    assert scene.run.values[4] == -0.75
    page.do("undo")
    page.wait(lambda p: p.values[4] != -0.75)


def test_freezing_goes_through_the_selection(cell, watch, scene):
    page = watch(cell(scene))
    page.do("freeze")
    page.wait(lambda p: "click a cube first" in p.known.get("notice", ""))
    page.say(kind="select", index=5)
    page.do("freeze")
    page.wait(lambda p: (p.known.get("inspector") or {}).get("frozen"))
    before = scene.run.values[5]
    page.do("step", 10)
    page.wait(lambda p: p.step == 10)
    assert scene.run.values[5] == before


def test_the_inspector_says_what_run_why_says(cell, watch, scene, capsys):
    page = watch(cell(scene))
    page.do("step", 7)
    page.say(kind="select", index=3)
    page.wait(lambda p: p.step == 7 and ((p.known.get("inspector") or {}).get("why") or {}).get("step") == 8)
    told = page.known["inspector"]
    page.shown.close()
    why = scene.run.why(3, step=8)
    capsys.readouterr()
    assert told["name"] == why.name == "0.weight[1][0]"
    assert told["meaning"] == "from r to g"
    assert [term[0] - 1 for term in told["why"]["terms"]] == [row.sample for row in why.rows[:6]]
    assert float(told["why"]["gradient"].replace("\N{MINUS SIGN}", "-")) == pytest.approx(why.gradient, rel=5e-3)
    assert float(told["exact"]) == scene.run.values[3]


def test_a_micro_step_is_told_in_words(cell, watch, scene):
    page = watch(cell(scene))
    page.do("micro_next")
    page.wait(lambda p: p.known.get("micro") and p.known["micro"]["at"] == 1)
    page.do("micro_next")
    page.wait(lambda p: p.known["micro"]["at"] == 2)
    micro = page.known["micro"]
    assert micro["formulas"][0][0] == "w × x = product"
    assert micro["phases"][micro["phase"]][0] == "forward"
    for _ in range(micro["count"]):
        page.do("micro_next")
    page.wait(lambda p: p.known["micro"] is None and p.step == 1)


def test_the_time_bar_goes_back_and_an_edit_there_begins_a_branch(cell, watch, scene, made):
    page = watch(cell(scene))
    page.do("step", 30)
    page.wait(lambda p: p.step == 30)
    page.say(kind="go", step=12, near=True)
    page.say(kind="go", step=12)
    page.wait(lambda p: p.step == 12)
    alone = made().run
    alone.step(12)
    assert np.array_equal(page.values, alone.values.astype(np.float32))
    page.say(kind="set", index=0, value=1.5)
    page.wait(lambda p: len(p.known["time"]["branches"]) == 2)
    page.say(kind="branch", number=0)
    page.wait(lambda p: p.step == 30 and p.known["time"]["branches"][0]["current"])


def test_a_large_net_is_thinned_and_that_is_said(cell, watch):
    page = watch(cell(nn.Linear(1000, 1000, bias=False)))
    page.wait(lambda p: p.frames)
    assert page.values.shape[0] >= 1_000_000
    pace = page.shown.channel.pace
    assert pace <= 4.0
    assert page.known["thinned"] == f"1,000,000 numbers: {pace:.2g} frames a second"


# ---- what is left out


def test_what_is_hidden_is_neither_shown_nor_done(cell, watch, scene):
    page = watch(cell(scene, hide=("learning rate", "pace", "micro_next", "timeline", "inspector")))
    page.wait(lambda p: p.step == 0)
    names = [item["name"] for row in page.known["controls"] for item in row["items"]]
    assert {"learning rate", "pace"} & {*names} == set()
    assert "batch" in names
    assert page.known["tools"] == ["restart", "back", "toggle_run", "step"]
    assert page.known.get("time") is None
    for said in ({"kind": "control", "name": "learning rate", "value": 2.0}, {"kind": "do", "name": "micro_next"},
                 {"kind": "do", "name": "raise_rate"}, {"kind": "do", "name": "faster"},
                 {"kind": "go", "step": 0}, {"kind": "select", "index": 0},
                 {"kind": "set", "index": 0, "value": 1}):  # fmt: skip
        page.shown.hear(said)
    with pytest.raises(InputError, match="leaves it out"):
        page.shown.act("micro_next")
    assert scene.run.lr == 0.5
    assert not scene.run.log
    assert page.known.get("inspector") is None


def test_without_controls_there_are_none(cell, watch, scene):
    page = watch(cell(scene, controls=False))
    page.wait(lambda p: p.step == 0)
    assert page.known["controls"] == []
    assert page.known["tools"] == []
    page.do("step")  # keys do the same as in the window
    page.wait(lambda p: p.step == 1)


def test_act_does_what_a_key_does_and_says_why_not(cell, scene):
    shown = cell(scene)
    shown.act("step", 5)
    deadline = time.monotonic() + 10
    while scene.run.steps < 5 and time.monotonic() < deadline:
        time.sleep(0.01)
    assert scene.run.steps == 5
    with pytest.raises(UnknownNameError, match="no action 'fly'"):
        shown.act("fly")
    with pytest.raises(InputError, match="allowed: 1 to"):
        shown.act("step", 0)


def test_every_action_that_may_be_asked_for_has_somebody_who_does_it(cell, scene):
    handlers = cell(scene).session.call(lambda play: set(play.viewer.handlers))
    assert set(ALLOWED) <= handlers


# ---- what is not trained here


def test_weights_are_followed_when_the_loop_says_so(cell, watch):
    weights = [Weight(0.5, name="a"), Weight(-0.25, name="b")]
    page = watch(cell(weights))
    page.wait(lambda p: p.frames)
    weights[0].data = 2.0
    time.sleep(0.3)
    assert page.values[0] == 0.5  # nobody has said that the step is done
    page.shown.update(loss=0.25, step=1)
    page.wait(lambda p: p.values[0] == 2.0 and p.known["head"]["loss"] == "0.2500")
    page.say(kind="set", index=1, value=0.125)
    page.wait(lambda p: p.values[1] == 0.125)
    assert weights[1].data == 0.125


def test_a_module_is_followed(cell, watch):
    net = nn.Sequential(nn.Linear(2, 2), nn.Sigmoid())
    page = watch(cell(net))
    page.wait(lambda p: p.frames)
    net[0].weight[0][1].data = 3.5
    page.shown.look()
    page.wait(lambda p: 3.5 in p.values)


def test_what_has_no_weights_is_refused(cell):
    for bad in (None, 3, "rgb", object(), Value(1.0)):
        with pytest.raises(TypeMismatchError):
            cell(bad)


def test_a_mistake_is_named_as_long_as_it_is_on_and_no_longer(cell, watch, scene):
    def named(page):
        return "mistake on: no_zero_grad" in page.known["head"]["pace"]

    page, other = watch(cell([Weight(0.5, name="a")])), watch(cell(scene))
    for one in (page, other):
        one.wait(lambda p: p.frames)
    with mistakes.no_zero_grad():
        page.wait(named)
        other.do("step")
        other.wait(lambda p: p.step == 1)
        assert not named(other)  # a Run makes none
    page.wait(lambda p: not named(p))  # no number has changed


def test_a_look_given_by_hand_is_in_the_cell_while_it_stands(cell, watch, scene):
    page = watch(cell(scene))
    page.wait(lambda p: p.step == 0 and "own" not in p.known["document"])
    handle = cube(scene.run.model[0].weight[1][2])
    handle.colour, handle.label = "#20d060", "this one"
    try:
        page.wait(lambda p: p.known["document"].get("own") == [[5, "#20d060", None, "this one"]])
    finally:
        handle.reset()
    page.wait(lambda p: "own" not in p.known["document"])
