"""A live cell with a page in Python: numbers, the window's actions, and its life; no thread stays, no bit differs."""

import pathlib
import re
import threading
import time

import numpy as np
import pytest

import scalarviz as sv
from kit import keys
from kit.commands import make_scene
from kit.unseen import Unseen
from kit.windows import wait_until
from scalarviz import Weight, mistakes, nn
from scalarviz.errors import InputError, StateError, UnknownNameError
from scalarviz.run.edits import SetFrozen, SetWeights
from scalarviz.run.scene.scene import SIDES
from scalarviz.run.source import RunSource
from scalarviz.run.worker import Worker
from scalarviz.view import cube
from scalarviz.view.cell.play import NOT_HERE
from scalarviz.view.ink.listed import Listed
from scalarviz.view.ink.text import loss_text
from scalarviz.view.watch import live
from scalarviz.view.watch.actions import ACTIONS
from scalarviz.view.watch.live import LiveView


def steady(records):
    """Without the speed, which is measured."""
    return [one for one in records if "steps/s" not in str(one)]


def told(bench):
    sketches = [*bench.parts.items(), ("over", [one for layer in bench.overlays for one in layer])]
    return {f"list {part}": steady(Listed(bench.theme).records(some)) for part, some in sketches}


@pytest.mark.gl
@pytest.mark.parametrize(
    ("name", "theme"), [("rgb", "dark"), ("xor", "light"), ("digits", "light"), ("microgpt", "dark")]
)
def test_the_list_is_that_of_a_window_of_the_same_size_and_parts_that_go_alone_make_it_whole(
    cell, watch, name, theme, monkeypatch
):
    # a busy machine may rehearse the steps of one and not of the other, and only axes with room for them differ
    monkeypatch.setattr(live, "rehearse", lambda *_, **__: None)
    window = Unseen(lambda size: LiveView(make_scene(name), size, theme=theme, wait=None), (960, 640))
    for _ in range(200):
        window.pass_time()
    wanted = told(window.view.bench)  # before the first step: later ranges grow by what was seen
    del wanted["list still"]  # a key cap breathes there
    window.close_soon()
    page = watch(cell(make_scene(name)), theme=theme)

    def shows(wanted):
        return all(steady(page.known.get(part, ())) == records for part, records in wanted.items())

    wait_until(lambda: shows(wanted))
    page.stepped(2)
    for key in ("g", "p", "?", "Escape", "Escape", "l", ".", ".", "Tab", "ArrowRight"):
        page.key(key)
        page.ask(lambda play: play.pass_time(0.1))
    page.ask(lambda play: play.viewer.micro.close())
    wait_until(lambda: shows(page.ask(lambda play: told(play.viewer.bench))))


def test_the_loss_is_that_of_all_samples_and_the_saved_picture_says_which_one_it_has(cell, watch):
    playground = make_scene("playground")
    page = watch(cell(playground)).stepped(3)
    whole, lost = RunSource(playground.run).whole_loss(), playground.run.history.loss[-1]
    page.wait(lambda p: p.says(loss_text(whole)))
    assert loss_text(whole) != loss_text(lost)
    assert f"loss {loss_text(whole)} of all 250 samples:" in sv.view.picture(playground, (320, 240)).words


def test_what_is_hidden_is_neither_shown_nor_done_and_act_does_what_a_key_does(cell, watch, scene):
    hidden = ("learning rate", "pace", "micro_next", "timeline", "inspector", "panels")
    page = watch(cell(scene, hide=hidden))
    page.wait(lambda p: p.step == 0)
    page.key("p")
    page.wait(lambda p: "batch" in p.spots)
    assert not page.spots & {"learning rate", "pace", "look inside a step", "newest"}
    assert {"run or pause", "restart"} <= page.spots
    assert not page.says("photo")
    page.key("p")
    for key in (".", "ArrowUp", "]", "Home"):
        page.key(key)
    page.ask(lambda play: play.viewer.bench.select(3))
    page.say(kind="event", type="wheel", x=100, y=190, dx=0, dy=-100, modifiers=["Shift"])
    with pytest.raises(InputError, match="leave it out of hide="):
        page.shown.act("micro_next")
    page.settle()
    assert (scene.run.lr, len(scene.run.log), page.ask(lambda play: play.viewer.bench.selected)) == (0.5, 0, None)
    page = watch(cell(scene, controls=False))  # and without controls `act` does what a key does
    page.shown.act("step", 5)
    page.wait(lambda p: p.step == scene.run.steps == 5)
    assert not page.spots & {"run or pause", "newest"}
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
    page.wait(lambda p: p.values[0] == 2.0 and p.says("0.2500"))
    page.ask(lambda play: play.viewer.set_weight(1, 0.125))
    page.wait(lambda p: p.values[1] == weights[1].data == 0.125)
    with pytest.raises(InputError, match="read in place"):
        page.shown.update({"w": np.zeros(3)})
    net = nn.Sequential(nn.Linear(1000, 1000, bias=False))
    page = watch(cell(net))
    page.wait(lambda p: p.frames)
    assert page.known["thinned"] == "1,000,000 numbers: 4 frames a second"
    net[0].weight[0][1].data = 3.5
    page.shown.look()
    page.wait(lambda p: p.values[1] == 3.5)


def test_a_mistake_is_named_and_a_look_is_there_as_long_as_they_are_on(cell, watch, scene):
    named = "mistake on: no_zero_grad"
    page, other = watch(cell([Weight(0.5, name="a")])), watch(cell(scene))
    handle = cube(scene.run.model[0].weight[1][2])
    with mistakes.no_zero_grad():
        page.wait(lambda p: p.frames and p.says(named))
        handle.colour, handle.label = "#20d060", "this one"
        other.stepped(1)
        assert not other.says(named)  # a Run makes none
    page.wait(lambda p: not p.says(named))  # no number has changed
    other.wait(lambda p: p.known["own"] is not None and p.says("this one"))
    assert other.known["own"].reshape(-1, 4)[5, :3].tolist() == [0x20, 0xD0, 0x60]
    handle.reset()
    other.wait(lambda p: p.known["own"] is None)


def test_of_another_librarys_loop_every_frame_is_of_one_step_and_one_goes_back_and_forth(cell, watch):
    params = {"w": np.zeros((20, 30), np.float32), "b": np.zeros(20, np.float32)}
    shown = cell(params)
    page = watch(shown)
    page.wait(lambda p: p.step == 0)
    for step in range(1, 121):  # each makes new arrays, all numbers of one step alike
        shown.update({name: np.full_like(one, step) for name, one in params.items()}, loss=1.0 / step)
        time.sleep(0.005)
    shown.look()  # as after each cell of the notebook
    page.wait(lambda p: p.step == 120 and p.says("0.0083"))
    assert all((values[:620] == said["step"]).all() for said, values in page.frames)
    assert len(page.frames) >= 2
    page.do("back")
    page.wait(lambda p: 0 < p.step < 120)
    page.do("first")
    page.wait(lambda p: p.step == 0)
    shown.update({name: np.full_like(one, 121) for name, one in params.items()}, loss=0.01)
    shown.look()
    page.do("newest")
    page.wait(lambda p: p.step == 121 and (p.values[:620] == 121).all())


# ---- the actions of the window, and whatever else is sent

DOCS = pathlib.Path(__file__).parents[3] / "docs" / "notebooks.md"


def test_every_action_is_done_or_its_reason_is_said_also_in_the_docs(cell, watch, scene):
    """Of the table, after a step, with a cube selected: none raises, what it refuses it says."""
    (table,) = re.findall(r"<!-- keys: [^\n]*-->\n(.*)\n?<!-- end of keys -->", DOCS.read_text("utf-8"), re.DOTALL)
    assert table.strip() == keys.of_a_cell().strip(), "docs/notebooks.md: put keys.of_a_cell() in"
    page, quiet = watch(cell(scene)).stepped(3), set()
    page.ask(lambda play: play.viewer.bench.select(3))

    def said(play, name):
        play.viewer.say("")
        play.do_action(name)
        return play.viewer.notice()

    for name in (one.name for one in ACTIONS):
        notice = page.ask(lambda play, name=name: said(play, name))
        page.settle()
        assert notice == NOT_HERE.get(name, notice)
        quiet |= set() if notice else {name}
    assert not page.shown.error
    assert {"cooler", "warmer", "show_moment"}.isdisjoint(quiet)  # SGD keeps nothing, and no words are read here
    assert {"freeze", "toggle_sizes", "next_map", "hide_more", "undo", "toggle_layers"} <= quiet
    assert {"save", "full", "copy"} & {one["kind"] for one in page.other} == {"save", "full"}
    with pytest.raises(UnknownNameError, match="no_such"):
        page.shown.act("no_such")


@pytest.mark.parametrize("apart", [150.0, 900.0])
def test_two_quick_clicks_on_a_number_type_it_however_slow_the_pictures_are(cell, watch, scene, apart):
    page = watch(cell(scene))
    page.key("p")
    page.wait(lambda p: p.frames and "learning rate" in p.spots)
    x, y, wide, high = page.ask(
        lambda play: next(spot.box for spot in play.viewer.bench.spots if spot.click == ("learning rate", "typed"))
    )
    for k in range(2):
        for kind in ("pointer_down", "pointer_up"):
            page.say(kind="event", type=kind, x=x + wide / 2, y=y + high / 2, time=5000.0 + k * apart)
        page.ask(lambda play: play.viewer.tick(0.25) or play.viewer.tick(0.25))  # of two slow pictures
    assert page.ask(lambda play: play.viewer.prompt is not None) == (apart < 400)


def test_keys_that_come_right_after_a_number_is_pressed_are_typed(cell, watch, scene):
    """A button over the number, for those without a pointer, is pressed once."""
    page = watch(cell(scene))
    page.key("p")
    page.wait(lambda p: p.frames and "learning rate" in p.spots)
    page.say(kind="spot", name="learning rate", value="typed")
    for key in (*"0.125", "Enter"):
        page.key(key)
    page.wait(lambda p: scene.run.lr == 0.125)
    assert page.ask(lambda play: (play.viewer.prompt, play.viewer.micro.walk)) == (None, None)


NAN, INF = float("nan"), float("inf")
HOSTILE = [
    None, [], "step", 7, {}, {"kind": None}, {"kind": ["do"]}, {"kind": "eval", "code": "1"}, {"type": "?"},
    *({"kind": "look", **one} for one in ({}, {"theme": "red"}, {"theme": ["dark"]}, {"theme": 1})),
    *({"kind": "paste", **one} for one in ({}, {"text": 3}, {"text": "x" * 10**6})),
    *({"kind": "spot", **one} for one in ({}, {"name": 3}, {"name": "no such"}, {"name": ["step"], "value": {}})),
    *({"kind": "event", "type": kind, **one} for kind in ("pointer_down", "pointer_move", "pointer_up", "wheel")
      for one in ({}, {"x": None, "y": 1}, {"x": "1", "y": 2}, {"x": NAN, "y": 1}, {"x": True, "y": 1})),
    *({"kind": "event", "type": "pointer_down", "x": 1e308, "y": 1, "button": one} for one in ([], None, 10**30)),
    *({"kind": "event", "type": "wheel", "x": 1, "y": 1, **one} for one in ({"dy": "1"}, {"dy": INF}, {"dx": 10**400})),
    *({"kind": "event", "type": "resize", **one} for one in ({}, {"width": NAN, "height": 1}, {"width": "9"})),
    *({"kind": "event", "type": "key_down", "key": one} for one in (None, 3, "x" * 10**6, "", "\0", "Dead", "é")),
    {"kind": "event", "type": "key_down", "key": "b", "modifiers": 3},
    {"kind": "event", "type": "wheel", "x": 1, "y": 1, "modifiers": [[], 3]},
    {"kind": "event", "type": ["key_down"]}, {"kind": "event"},
    {"kind": "event", "type": "resize", "ratio": 0, "width": 900, "height": 600},
]  # fmt: skip


@pytest.mark.parametrize("pictures", [False, pytest.param(True, marks=pytest.mark.gl)])
def test_hostile_messages_change_no_number(cell, watch, scene, pictures):
    shown = cell(scene, pictures=pictures)
    shown.act("step", 2)
    shown.call(lambda play: play.viewer.worker.settle())
    values = scene.run.values.copy()
    for said in HOSTILE:
        shown.hear(said)
        if isinstance(said, dict) and said.get("kind") == "event":  # as jupyter_rfb says it
            shown.hear({name: part for name, part in said.items() if name != "kind"})
        shown.call(lambda play: play.pass_time(0.01))
    shown.call(lambda play: play.viewer.worker.settle())
    assert not shown.error
    assert (scene.run.steps, scene.run.lr, len(scene.run.log)) == (2, 0.5, 0)
    assert np.array_equal(scene.run.values, values)
    assert min(shown.call(lambda play: play.viewer.bench.size)) >= SIDES[0]


def test_a_flood_of_messages_is_forgotten_from_its_beginning_and_places_without_a_name_are_nobody(cell, watch, scene):
    shown = cell(scene)
    for place in (None, 3, "", "x" * 65, ["a"], {}):
        for kind in ("ready", "drawn", "gone"):
            shown.hear({"kind": kind, "place": place, "number": 1})
    assert (shown.channel.places, shown.alive) == (0, False)
    page = watch(shown)
    page.wait(lambda p: p.step == 0)
    for _ in range(20_000):
        shown.hear({"kind": "event", "type": "pointer_leave"})
    page.stepped(1)  # the last 256 are done before it


# ---- its life


def test_a_run_is_of_the_last_cell_and_of_nobody_in_the_end(cell, watch, scene):
    """Closed, run again without a close, gone: whoever comes next has the run."""

    def of_cells():
        return {one for one in threading.enumerate() if "scalarviz" in one.name}

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
    wait_until(lambda: of_cells() <= before)
    with Worker(scene.run):
        page = watch(cell(scene))
        page.wait(lambda p: p.other)
        assert page.other[0]["kind"] == "trouble"
        with pytest.raises(StateError, match="another Worker trains this run"):
            page.shown.act("step")


@pytest.mark.parametrize(("after", "gone"), [("LEFT", True), ("ASLEEP", False)])
def test_with_nobody_there_it_sleeps_until_somebody_comes(cell, watch, scene, monkeypatch, after, gone):
    monkeypatch.setattr(f"scalarviz.view.cell.shown.{after}", 0.3)
    page = watch(cell(scene)).stepped(1)  # before that a key cap breathes
    if gone:
        page.do("toggle_run")
        page.wait(lambda p: p.step > 2)
        page.say(kind="gone")
    wait_until(lambda: not page.shown.alive)
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

    for way in (*rng.permutation(["step", "micro", "rate", "weight", "freeze"]), "step"):
        index, number = int(rng.integers(len(alone.values))), int(rng.integers(1, 9))
        if way == "step":
            page.do("step", number)
            alone.step(number)
        elif way == "micro":
            for _ in range(number):
                page.do("micro_next")
                wait_until(lambda: page.ask(at_rest))
            page.do("step")
            alone.step()
        elif way == "rate":
            page.ask(lambda play, lr=number / 16: play.viewer.worker.ask(lambda run: setattr(run, "lr", lr)))
            alone.lr = number / 16
        elif way == "weight":
            page.ask(lambda play, index=index, value=number / 8: play.viewer.set_weight(index, value))
            alone.do(SetWeights(index, np.array([number / 8])))
        else:
            page.ask(lambda play, index=index: play.viewer.bench.select(index))
            page.do("freeze")
            alone.do(SetFrozen(index, np.array([True])))
        wait_until(lambda: page.ask(at_rest))
    page.shown.close()
    assert (scene.run.steps, scene.run.lr) == (alone.steps, alone.lr)
    assert np.array_equal(scene.run.values, alone.values)
    assert np.array_equal(scene.run.history.loss, alone.history.loss, equal_nan=True)


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
    before = trained.still.output.html
    trained.call(lambda play: play.viewer.set_weight(0, 0.5))
    wait_until(lambda: "step 3, loss 0.0833" in loop.still.output.html and trained.still.output.html != before)
