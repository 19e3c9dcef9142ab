"""A live cell with a page in Python: numbers, edits, time, what is hidden; and what is not trained here."""

import time

import numpy as np
import pytest

import scalarviz as sv
from kit.commands import make_scene
from scalarviz import Weight, mistakes, nn
from scalarviz.errors import InputError, UnknownNameError
from scalarviz.run.source import RunSource
from scalarviz.view import cube
from scalarviz.view.cell.asked import ALLOWED
from scalarviz.view.ink.text import loss_text


def test_a_page_gets_the_numbers_of_the_run_while_it_trains_and_when_it_rests(cell, watch, scene):
    page, end = watch(cell(scene)), time.monotonic() + 60
    page.do("toggle_run")
    page.wait(lambda p: p.step > 5 and p.known["running"])
    before = len(page.frames)
    page.say(kind="control", name="learning rate", value=0.125)
    while (len(page.frames) <= before + 5 or scene.run.lr != 0.125) and time.monotonic() < end:
        sum(range(1000))  # the user's own cell: the main thread neither waits nor sleeps
    assert (len(page.frames) > before + 5, scene.run.lr) == (True, 0.125)
    page.do("toggle_run")
    page.wait(lambda p: not p.known["running"] and p.step == scene.run.steps)
    assert np.array_equal(page.values, scene.run.values.astype(np.float32))


def test_the_head_has_the_loss_of_all_samples_and_the_time_bar_says_which_one_it_has(cell, watch):
    playground = make_scene("playground")
    page = watch(cell(playground)).stepped(3)
    lost = loss_text(page.frames[-1][0]["loss"])
    assert page.known["head"]["loss"] == loss_text(RunSource(playground.run).whole_loss()) != lost
    assert page.known["time"]["stepLoss"] == "of its batch"
    assert f"loss {lost} of its batch:" in sv.view.picture(playground, (320, 240)).words


def test_one_hand_on_a_slider_makes_one_edit_and_the_time_bar_goes_back_to_begin_a_branch(cell, watch, scene):
    page = watch(cell(scene)).stepped(3)
    for value in (0.4, 0.3, 0.2):
        page.say(kind="control", name="learning rate", value=value, held=True)
    page.say(kind="release")
    page.wait(lambda p: p.known["time"]["edits"] == [[3, "lr = 0.2"]])
    page.do("undo")
    page.wait(lambda p: scene.run.lr == 0.5)
    page.stepped(27, 30)
    page.say(kind="go", step=12, near=True)
    page.say(kind="go", step=12)
    page.wait(lambda p: p.step == 12)
    alone = make_scene("rgb").run
    alone.step(12)
    assert np.array_equal(page.values, alone.values.astype(np.float32))
    page.say(kind="set", index=4, value=-0.75)
    page.wait(lambda p: len(p.known["time"]["branches"]) > 1 and p.values[4] == scene.run.values[4] == -0.75)
    page.say(kind="branch", number=0)
    page.wait(lambda p: p.known["time"]["branches"][0]["current"])


def test_a_selected_weight_is_told_as_run_why_does_and_can_be_frozen(cell, watch, scene):
    page = watch(cell(scene))
    page.do("freeze")
    page.wait(lambda p: "click a cube first" in p.known.get("notice", ""))
    page.say(kind="select", index=3)
    page.stepped(7)
    page.wait(lambda p: ((p.known.get("inspector") or {}).get("why") or {}).get("step") == 8)
    told, value = page.known["inspector"], scene.run.values[3]
    page.do("freeze")
    page.stepped(10, 17)
    page.wait(lambda p: p.known["inspector"]["frozen"])
    page.shown.close()
    assert scene.run.values[3] == float(told["exact"]) == value
    scene.run.to(7)
    why = scene.run.why(3, step=8)
    assert (told["name"], told["meaning"]) == (why.name, "from r to g")
    assert [term[0] - 1 for term in told["why"]["terms"]] == [row.sample for row in why.rows[:6]]
    assert float(told["why"]["gradient"].replace("\N{MINUS SIGN}", "-")) == pytest.approx(why.gradient, rel=5e-3)


def test_what_is_hidden_is_neither_shown_nor_done(cell, watch, scene):
    page = watch(cell(scene, hide=("learning rate", "pace", "micro_next", "timeline", "inspector")))
    page.wait(lambda p: p.step == 0)
    names = {item["name"] for row in page.known["controls"] for item in row["items"]}
    assert ("learning rate" in names, "pace" in names, "batch" in names) == (False, False, True)
    assert page.known["tools"] == ["restart", "back", "toggle_run", "step"]
    for said in ({"kind": "control", "name": "learning rate", "value": 2.0}, {"kind": "do", "name": "micro_next"},
                 {"kind": "do", "name": "raise_rate"}, {"kind": "do", "name": "faster"}, {"kind": "go", "step": 0},
                 {"kind": "select", "index": 0}, {"kind": "set", "index": 0, "value": 1}):  # fmt: skip
        page.shown.hear(said)
    with pytest.raises(InputError, match="leaves it out"):
        page.shown.act("micro_next")
    assert (scene.run.lr, len(scene.run.log)) == (0.5, 0)
    assert page.known.get("inspector") is page.known.get("time") is None


def test_without_controls_there_are_none_and_act_does_what_a_key_does(cell, watch, scene):
    page = watch(cell(scene, controls=False))
    page.wait(lambda p: p.step == 0)
    assert (page.known["controls"], page.known["tools"]) == ([], [])
    page.shown.act("step", 5)
    page.wait(lambda p: p.step == scene.run.steps == 5)
    with pytest.raises(UnknownNameError, match="no action 'fly'"):
        page.shown.act("fly")
    with pytest.raises(InputError, match="allowed: 1 to"):
        page.shown.act("step", 0)
    assert set(ALLOWED) <= page.ask(lambda play: set(play.viewer.handlers))


# ---- what is not trained here


def test_weights_and_modules_are_followed_when_the_loop_says_so_and_a_large_net_is_thinned(cell, watch):
    weights = [Weight(0.5, name="a"), Weight(-0.25, name="b")]
    page = watch(cell(weights))
    page.wait(lambda p: p.frames)
    weights[0].data = 2.0
    time.sleep(0.3)
    assert page.values[0] == 0.5  # nobody has said that the step is done
    page.shown.update(loss=0.25, step=1)
    page.wait(lambda p: p.values[0] == 2.0 and p.known["head"]["loss"] == "0.2500")
    page.say(kind="set", index=1, value=0.125)
    page.wait(lambda p: p.values[1] == weights[1].data == 0.125)
    with pytest.raises(InputError, match="read in place"):
        page.shown.update({"w": np.zeros(3)})
    net = nn.Sequential(nn.Linear(1000, 1000, bias=False))
    page = watch(cell(net))
    page.wait(lambda p: p.frames)
    pace = page.shown.channel.pace
    assert pace <= 4.0
    assert page.known["thinned"] == f"1,000,000 numbers: {pace:.2g} frames a second"
    net[0].weight[0][1].data = 3.5
    page.shown.look()
    page.wait(lambda p: p.values[1] == 3.5)


def test_a_mistake_and_a_look_given_by_hand_are_there_as_long_as_they_are_on(cell, watch, scene):
    def named(page):
        return "mistake on: no_zero_grad" in page.known["head"]["pace"]

    page, other = watch(cell([Weight(0.5, name="a")])), watch(cell(scene))
    for one in (page, other):
        one.wait(lambda p: p.frames)
    handle = cube(scene.run.model[0].weight[1][2])
    with mistakes.no_zero_grad():
        page.wait(named)
        handle.colour, handle.label = "#20d060", "this one"
        other.stepped(1)
        assert not named(other)  # a Run makes none
    page.wait(lambda p: not named(p))  # no number has changed
    other.wait(lambda p: p.known["document"].get("own") == [[5, "#20d060", None, "this one"]])
    handle.reset()
    other.wait(lambda p: "own" not in p.known["document"])


def test_of_another_librarys_loop_every_frame_is_of_one_step_and_one_goes_back_and_forth(cell, watch):
    params = {"w": np.zeros((20, 30), np.float32), "b": np.zeros(20, np.float32)}
    shown = cell(params)
    page = watch(shown)
    page.wait(lambda p: p.step == 0 and p.known.get("time") is None)
    for step in range(1, 121):  # each makes new arrays, all numbers of one step alike
        shown.update({name: np.full_like(one, step) for name, one in params.items()}, loss=1.0 / step)
        time.sleep(0.005)
    shown.look()  # as after each cell of the notebook
    page.wait(lambda p: p.step == 120 and p.known["time"] is not None)
    assert all((values == said["step"]).all() for said, (values, *_) in page.frames)
    assert len(page.frames) >= 2
    assert page.known["head"]["loss"] == "0.0083"
    page.say(kind="select", index=5)
    page.wait(lambda p: p.known.get("inspector"))
    assert not page.known["inspector"]["edits"]
    page.do("back")
    page.wait(lambda p: 0 < p.step < 120)
    page.say(kind="go", step=0, near=False)
    page.wait(lambda p: p.step == 0)
    shown.update({name: np.full_like(one, 121) for name, one in params.items()}, loss=0.01)
    shown.look()
    page.do("newest")
    page.wait(lambda p: p.step == 121 and (p.values == 121).all())
