"""A live cell with a page in Python: numbers, edits, time; the window's actions; and its life.

No thread stays, no bit differs, at most thirty messages go in a second and two are unanswered.
"""

import itertools
import pathlib
import re
import threading
import time

import numpy as np
import pytest

import scalarviz as sv
from kit.commands import make_scene
from scalarviz import Weight, mistakes, nn
from scalarviz.errors import InputError, StateError, UnknownNameError
from scalarviz.run.edits import SetFrozen, SetWeights
from scalarviz.run.source import RunSource
from scalarviz.run.worker import Worker
from scalarviz.view import cube
from scalarviz.view.cell.asked import ALLOWED, NOT_HERE, OWN, keys_of, markdown
from scalarviz.view.cell.channel import RATE, UNANSWERED
from scalarviz.view.ink.text import loss_text
from scalarviz.view.watch.actions import ACTIONS


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


def test_what_is_hidden_is_neither_shown_nor_done_and_act_does_what_a_key_does(cell, watch, scene):
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
    page = watch(cell(scene, controls=False))  # and without controls `act` does what a key does
    page.wait(lambda p: p.step == 0)
    assert (page.known["controls"], page.known["tools"]) == ([], [])
    page.shown.act("step", 5)
    page.wait(lambda p: p.step == scene.run.steps == 5)
    with pytest.raises(InputError, match="allowed: 1 to"):
        page.shown.act("step", 0)


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


def test_a_mistake_is_named_and_a_look_is_there_as_long_as_they_are_on(cell, watch, scene):
    def named(page):
        return "mistake on: no_zero_grad" in page.known["head"]["pace"]

    page, other = watch(cell([Weight(0.5, name="a")])), watch(cell(scene))
    handle = cube(scene.run.model[0].weight[1][2])
    with mistakes.no_zero_grad():
        page.wait(lambda p: p.frames and named(p))
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


# ---- the actions of the window, and whatever else is sent

DOCS = pathlib.Path(__file__).parents[3] / "docs" / "notebooks.md"


def test_each_action_is_done_by_python_or_by_the_browser_or_named_as_not_there_also_in_the_docs():
    assert sorted([*ALLOWED, *OWN, *NOT_HERE]) == sorted(one.name for one in ACTIONS)
    assert {one["name"] for one in keys_of(())} == {*ALLOWED, *OWN}
    (table,) = re.findall(r"<!-- keys: [^\n]*-->\n(.*)\n?<!-- end of keys -->", DOCS.read_text("utf-8"), re.DOTALL)
    assert table.strip() == markdown().strip(), "docs/notebooks.md: put scalarviz.view.cell.asked.markdown() in"


def test_what_python_does_is_done_or_its_reason_is_said(cell, watch, scene):
    """Every action of the table, after a step, with a cube selected: none raises, what it refuses it says."""
    page, quiet = watch(cell(scene)).stepped(3), set()
    page.say(kind="select", index=3)

    def why(play, name):
        play.viewer.say("")
        return play.asked.take({"kind": "do", "name": name}), play.viewer.notice()

    for name in ALLOWED:
        trouble, notice = page.ask(lambda play, name=name: why(play, name))
        page.settle()
        assert trouble == "", name
        quiet |= set() if notice else {name}
    assert not page.shown.error
    assert {"cooler", "warmer", "show_moment"}.isdisjoint(quiet)  # SGD keeps nothing, and no words are read here
    assert {"freeze", "toggle_sizes", "next_map", "hide_more", "undo"} <= quiet
    for name in (*NOT_HERE, *OWN):
        with pytest.raises(UnknownNameError, match=f"no action {name!r} in a cell"):
            page.shown.act(name)


NAN, INF = float("nan"), float("inf")
HOSTILE = {
    "do": [{}, {"name": 3}, *({"name": one} for one in ("__class__", "x" * 10**6, "close", "screenshot", "open")),
           *({"name": "step", "value": one} for one in ("1", -1, 1.5, True, [1])), {"name": "restart", "value": 2}],
    "select": [{"index": -1}, {"index": 12}, {"index": "0"}],
    "set": [{"index": 0}, {"index": 99, "value": 1.0}, {"index": True, "value": 1.0},
            *({"index": 0, "value": one} for one in ("1", None, NAN, INF, 10**400, {"a": 1}))],
    "go": [{"step": -3}, {"step": "3"}, {"step": 1, "near": "yes"}],
    "branch": [{"number": 4}, {"number": -1}, {}],
    "control": [{}, {"name": "no such"}, {"name": "learning rate"}, {"name": "learning rate", "held": 1},
                *({"name": "learning rate", "value": one} for one in ("0.1", NAN, -1.0)),
                *({"name": "optimiser", "value": one} for one in ("LBFGS", [["Adam"] * 1000], {"a": []})),
                {"name": "batch", "value": 3}, {"name": "pace", "value": 3.0}, {"name": "layer 1", "value": 10**9},
                {"name": "seed", "value": -1}],
    "eval": [{"code": "1"}],
    "look": [{}, {"theme": "red"}, {"theme": ["dark"]}, {"theme": 1}],
    "panel": [{}, *({"name": "pictures", "what": "press", "at": [5, 5], "button": "left", **bad} for bad in (
        {"name": 3}, {"name": "no such"}, {"what": "fly"}, {"button": "middle"}, {"button": None},
        *({"at": one} for one in (None, [1], ["1", 2], [NAN, 1], [1e300, 1], [True, 1])), {"what": "key"},
        {"what": "release", "shift": "y"}, {"what": "key", "key": "x"}, {"what": "key", "key": ["7"]}))],
}  # fmt: skip
LATER = [{"kind": "branch", "number": 4}, {"kind": "control", "name": "seed", "value": -1}]
"""The run is asked for these, and it refuses."""


@pytest.mark.gl
def test_hostile_messages_do_nothing_but_say_why(cell, watch, scene):
    shown = cell(scene)
    page = watch(shown).stepped(2)
    values, log = scene.run.values.copy(), len(scene.run.log)
    page.say(kind="panel", name="pictures", what="press", at=[5, 5], button="left")
    told = [{"kind": kind, **said} for kind, some in HOSTILE.items() for said in some]
    for said in [None, [], "step", 7, {}, {"kind": None}, {"kind": ["do"]}, *told]:
        shown.hear(said)
        why = page.ask(lambda play, said=said: play.asked.take(said))
        assert (why and "Traceback" not in why) or said in LATER, said
        assert len(why) < 600
    page.settle()
    assert not shown.error
    assert (scene.run.steps, scene.run.lr, len(scene.run.log)) == (2, 0.5, log)
    assert np.array_equal(scene.run.values, values)
    page.wait(lambda p: p.known["notice"])


def test_a_flood_of_messages_is_forgotten_from_its_beginning_and_places_without_a_name_are_nobody(cell, watch, scene):
    shown = cell(scene)
    for place in (None, 3, "", "x" * 65, ["a"], {}):
        for kind in ("ready", "drawn", "gone"):
            shown.hear({"kind": kind, "place": place, "number": 1})
    assert shown.channel.places == 0
    assert not shown.alive
    page = watch(shown)
    page.wait(lambda p: p.step == 0)
    for _ in range(20_000):
        shown.hear({"kind": "release"})
    page.stepped(1)  # the last 256 are done before it


# ---- its life


def of_cells():
    return {one for one in threading.enumerate() if "scalarviz" in one.name}


def until(condition, seconds=30.0):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_a_run_is_of_the_last_cell_and_of_nobody_in_the_end(cell, watch, scene):
    """Closed, run again without a close, gone: whoever comes next has the run."""
    before, pages = of_cells(), []
    for turn in range(7):
        pages.append(watch(cell(scene), f"place {turn}"))
        pages[-1].do("toggle_run")
        pages[-1].wait(lambda p: p.step > 2)
        if turn % 3 == 0:
            pages[-1].shown.close()
        elif turn % 3 == 1:
            pages[-1].say(kind="gone")
    assert len(of_cells() - before) <= 4  # the last cell's and its worker's, and those of one that ends
    for page, why in ((pages[0], "closed"), (pages[2], "shown by another cell now")):
        page.wait(lambda p, why=why: p.other and p.other[-1] == {"kind": "over", "why": why})
        page.say(kind="ready")  # a page that does not know yet cannot take it back
        page.wait(lambda p: len(p.other) >= 2)
    pages[-1].shown.close()
    until(lambda: of_cells() <= before)
    with Worker(scene.run):
        page = watch(cell(scene))
        page.wait(lambda p: p.other)
        assert page.other[0]["kind"] == "trouble"
        with pytest.raises(StateError, match="another Worker trains this run"):
            page.shown.act("step")


@pytest.mark.parametrize(("after", "gone"), [("LEFT", True), ("ASLEEP", False)])
def test_with_nobody_there_it_sleeps_until_somebody_comes(cell, watch, scene, monkeypatch, after, gone):
    monkeypatch.setattr(f"scalarviz.view.cell.shown.{after}", 0.3)
    page = watch(cell(scene))
    page.wait(lambda p: p.step == 0)
    if gone:
        page.do("toggle_run")
        page.wait(lambda p: p.step > 2)
        page.say(kind="gone")
    until(lambda: not page.shown.alive)
    assert scene.run._store.gate is None
    page.say(kind="ready")
    page.stepped(2, scene.run.steps + 2)


def test_a_cell_is_closed_while_others_call_it(cell, watch, scene):
    page, said = watch(cell(scene)), []

    def press():
        try:
            while True:
                page.shown.act("step")
        except StateError as error:
            said.append(str(error))

    threads = [threading.Thread(target=press, daemon=True) for _ in range(3)]
    for thread in threads:
        thread.start()
    page.wait(lambda p: p.step > 0)
    page.shown.close()
    for thread in threads:
        thread.join(20)
    assert [("closed" in one) for one in said] == [True] * 3
    with pytest.raises(StateError, match="closed"):
        page.shown.update()
    assert scene.run._store.gate is None


@pytest.mark.parametrize(("name", "engine", "seed"), [("rgb", "numpy", 1), ("xor", "objects", 3)])
def test_watched_and_touched_training_has_the_bits_of_the_same_edits_unwatched(cell, watch, name, engine, seed):
    scene, alone = make_scene(name, engine=engine), make_scene(name, engine=engine).run
    page, rng = watch(cell(scene, hide=("panels",))), np.random.default_rng(seed)
    page.wait(lambda p: p.frames)

    def at_rest(play):
        play.viewer.worker.settle()
        return play.viewer.micro._wanted is None and play.viewer.micro._awaited is None

    def settle():
        until(lambda: page.ask(at_rest))

    for way in (*rng.permutation(["step", "micro", "rate", "weight", "freeze"]), "step"):
        index, number = int(rng.integers(len(alone.values))), int(rng.integers(1, 9))
        if way == "step":
            page.do("step", number)
            alone.step(number)
        elif way == "micro":
            for _ in range(number):
                page.do("micro_next")
                settle()
            if page.ask(lambda play: play.viewer.bench.inside.told) is not None:
                page.do("step")
            settle()
            alone.step(scene.run.steps - alone.steps)
        elif way == "rate":
            page.say(kind="control", name="learning rate", value=number / 16)
            alone.lr = number / 16
        elif way == "weight":
            page.say(kind="set", index=index, value=number / 8)
            alone.do(SetWeights(index, np.array([number / 8])))
        else:
            page.say(kind="select", index=index)
            page.do("freeze")
            alone.do(SetFrozen(index, np.array([True])))
        settle()
    page.shown.close()
    assert (scene.run.steps, scene.run.lr) == (alone.steps, alone.lr)
    assert np.array_equal(scene.run.values, alone.values)
    assert np.array_equal(scene.run.history.loss, alone.history.loss, equal_nan=True)


def test_at_most_thirty_messages_a_second_and_two_unanswered(cell, watch, scene):
    """A browser that draws only the newest of what has come, now and then; and one that is dead or hidden."""
    page = watch(cell(scene, hide=("panels",)), answers=False)
    began, seen = time.monotonic(), 0
    page.do("toggle_run")
    for turn in range(12):
        page.wait(lambda p, seen=seen: len(p.frames) > seen)
        seen = len(page.frames)
        answered = max(0, page.frames[-1][0]["number"] - turn % 2)
        page.answer(answered)
        assert page.shown.channel.sent - answered <= UNANSWERED + 1  # one may be on its way after the answer
    assert len(page.frames) <= RATE * (time.monotonic() - began) + 2
    assert all(b > a for a, b in itertools.pairwise(said["number"] for said, _ in page.frames))
    steps = scene.run.steps
    until(lambda: scene.run.steps > steps + 30)  # nobody answers any more: training goes on
    assert page.shown.channel.sent - answered <= UNANSWERED
    page.answers = True
    page.answer(page.frames[-1][0]["number"])
    page.wait(lambda p: p.step > steps + 30)


@pytest.mark.gl
def test_the_picture_that_stays_is_of_the_end_of_a_loop_and_of_an_edit(cell, watch, scene):
    weights = [Weight(0.5, name="a")]
    loop, trained = cell(weights), cell(scene)
    for shown in (loop, trained):
        shown.appear()
        watch(shown).wait(lambda p: p.frames)
    for step in range(1, 4):
        weights[0].data = 0.5 / step
        loop.update(loss=0.25 / step, step=step)
    loop.look()
    before = trained.still.html
    trained.hear({"kind": "set", "index": 0, "value": 0.5})
    until(lambda: "step 3, loss 0.0833" in loop.still.html and trained.still.html != before, 20.0)
