"""The panel of controls in a window: by control, key and edit is the same; a hand makes one edit; stills have none."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from scalarviz import Run, nn, optim
from scalarviz.run import Scene
from scalarviz.run.controls import Slider
from scalarviz.run.edits import Change, SetBatchSize, SetOptimizer
from scalarviz.run.panels import LossCurve
from scalarviz.view.ink.text import measure
from scalarviz.view.out.offscreen import offscreen
from scalarviz.view.out.unseen import Unseen
from scalarviz.view.screen.control_drawing import track_of
from scalarviz.view.screen.control_rows import Placed
from scalarviz.view.screen.controls import OPENS, ControlsPanel
from scalarviz.view.watch.live import LiveView

pytestmark = pytest.mark.gl
X = np.random.default_rng(0).random((64, 3))
SIZE = (1280, 720)


def made(lr: float = 0.5, *, end: bool = True, **others: Any) -> Scene:
    parts: list[nn.Module] = [nn.Linear(3, 3, seed=1)]
    net = nn.Sequential(*parts, nn.Sigmoid()) if end else nn.Sequential(*parts)
    run = Run(net, nn.MSELoss(), optim.SGD(net.parameters(), lr=lr), (X, 1 - X), batch_size=16, engine="numpy")
    return Scene("t", run, panels=(LossCurve("64 samples"),), **others)


def shown(scene: Scene, size: tuple[int, int] = SIZE, *, playing: bool = False) -> Unseen:
    return Unseen(lambda size: LiveView(scene, size, playing=playing), size)


@pytest.fixture
def host() -> Iterator[Unseen]:
    found = shown(made())
    found.pass_time()
    yield found
    found.view.close()


def live(host: Unseen) -> LiveView:
    assert isinstance(host.view, LiveView)
    return host.view


def panel(host: Unseen) -> ControlsPanel:
    return host.view.bench.controls


def opened(host: Unseen) -> Unseen:
    with offscreen():
        host.view.key("p", "p")
    settled(host)
    host.pass_time(OPENS)
    host.pass_time()
    assert panel(host).stands
    return host


def settled(host: Unseen) -> None:
    """What was asked for is done, and shown."""
    live(host).worker.settle()
    host.pass_time()
    host.pass_time()


def key(host: Unseen, name: str, text: str = "", **held: bool) -> None:
    with offscreen():
        host.view.key(name, text, **held)
    settled(host)


def place(host: Unseen, name: str) -> Placed:
    found = panel(host)._part(name)
    assert found is not None
    return found


def middle(box: Any) -> tuple[float, float]:
    return box[0] + box[2] / 2, box[1] + box[3] / 2


def click(host: Unseen, at: tuple[float, float]) -> None:
    with offscreen():
        host.view.move(at)
        host.view.press(at)
        host.view.release(at)
    settled(host)


def at_value(host: Unseen, name: str, value: float) -> tuple[float, float]:
    part = place(host, name)
    left, right, y = track_of(part)
    assert isinstance(part.item.control, Slider)
    return left + (right - left) * part.item.control.share(value), y


def stepped(host: Unseen, count: int) -> None:
    with offscreen():
        live(host).step(count)
    settled(host)


def log(host: Unseen) -> list[str]:
    return [entry.what for entry in live(host).run.log]


# ---- by control, by key, by edit


def by_arrow(host: Unseen) -> None:
    opened(host)
    click(host, at_value(host, "learning rate", 0.5))  # gives it the keys; it stands there already
    key(host, "Right")


def by_typing(host: Unseen) -> None:
    opened(host)
    at = (panel(host).box[0] + 300, place(host, "learning rate").box[1] - 8)  # type: ignore[index]
    for _ in range(2):
        click(host, at)
    title, text, then = host.fields.pop()
    assert (title, text) == ("learning rate", "0.5")
    then("1.0")


def by_pointer(host: Unseen) -> None:
    opened(host)
    click(host, at_value(host, "learning rate", 1.0))


@pytest.mark.parametrize("do", [by_arrow, by_typing, by_pointer])
def test_a_rate_by_control_is_that_of_its_key_and_of_its_edit(host: Unseen, do: Any) -> None:
    stepped(host, 5)
    do(host)
    settled(host)
    assert live(host).run.lr == 1.0
    with offscreen():
        host.view.send("step", 5)
    settled(host)
    values, words = live(host).run.values.tobytes(), log(host)

    other = shown(made())
    other.pass_time()
    stepped(other, 5)
    key(other, "Up")
    with offscreen():
        other.view.send("step", 5)
    settled(other)
    assert (live(other).run.values.tobytes(), log(other)) == (values, words)
    other.view.close()

    plain = made().run
    plain.step(5)
    plain.do(SetOptimizer({"lr": 1.0}))  # type: ignore[arg-type]
    plain.step(5)
    assert plain.values.tobytes() == values
    assert [entry.what for entry in plain.log] == words


def test_a_batch_by_control_is_that_of_its_edit(host: Unseen) -> None:
    opened(host)
    click(host, middle(place(host, "batch").cells[0]))
    with offscreen():
        host.view.send("step", 4)
    settled(host)
    plain = made().run
    plain.do(SetBatchSize(1))
    plain.step(4)
    assert plain.values.tobytes() == live(host).run.values.tobytes()


@pytest.mark.parametrize("by", ["panel", "code while it was closed"])
def test_an_optimiser_that_comes_back_has_the_rate_that_it_had(host: Unseen, by: str) -> None:
    stepped(host, 2)
    if by == "panel":
        opened(host)
        click(host, middle(place(host, "optimiser").cells[2]))
        assert live(host).run.lr == 0.01
    else:
        with offscreen():
            host.view.change(Change(optimizer="Adam", numbers=(("lr", 0.2),)))
        settled(host)
        opened(host)
    assert place(host, "optimiser").item.value == "Adam"
    click(host, middle(place(host, "optimiser").cells[0]))
    assert live(host).run.lr == 0.5
    assert place(host, "learning rate").item.value == 0.5
    click(host, middle(place(host, "optimiser").cells[1]))
    assert place(host, "momentum").item.value == 0.9
    click(host, at_value(host, "momentum", 0.99))
    assert live(host).run.optimizer.momentum == 0.99
    click(host, middle(place(host, "optimiser").cells[0]))
    assert panel(host)._part("momentum") is None
    click(host, middle(place(host, "optimiser").cells[1]))
    assert place(host, "momentum").item.value == 0.99


@pytest.mark.parametrize(
    ("name", "action"), [("one step", "step"), ("begin anew", "restart"), ("run or pause", "toggle_run")]
)
def test_buttons_are_actions(host: Unseen, name: str, action: str) -> None:
    sent: list[str] = []
    former = host.view.send
    opened(host)
    host.view.send = lambda name, value=None: sent.append(name) or former(name, value)  # type: ignore[assignment,method-assign]
    click(host, middle(place(host, name).box))
    assert sent == [action]


def test_the_pace_is_that_of_its_keys(host: Unseen) -> None:
    opened(host)
    key(host, "]", "]")
    assert live(host).playback.speed == 2.0
    item = place(host, "pace").item
    assert (item.shown, item.keys) == ("2x", "[, ]")
    click(host, at_value(host, "pace", 8.0))
    assert live(host).playback.speed == 8.0
    click(host, (track_of(place(host, "pace"))[1], track_of(place(host, "pace"))[2]))
    assert live(host).playback.speed == float("inf")
    key(host, "\\", "\\")
    assert place(host, "pace").item.shown == "1x"
    assert live(host).run.log == []  # it is no edit


def test_another_seed_begins_anew_with_its_weights_and_says_so(host: Unseen) -> None:
    stepped(host, 3)
    opened(host)
    click(host, middle(place(host, "reseed").box))
    settled(host)
    with offscreen():
        live(host).playback.pause()
    settled(host)
    other = made().run
    other.restart(seed=1)
    with offscreen():
        host.view.send("first")
    settled(host)
    assert live(host).run.values.tobytes() == other.values.tobytes()
    assert [row.note for row in panel(host)._rows if row.label == "seed"] == ["1"]


def test_layers_by_buttons_change_the_network_and_the_picture_follows(host: Unseen) -> None:
    stepped(host, 2)
    opened(host)
    click(host, middle(place(host, "add a layer").box))
    assert [tensor.shape for tensor in live(host).run.tensors] == [(8, 3), (8,), (3, 8), (3,)]
    assert "layer 1: more units" in {one.name for row in panel(host)._rows for one in row.items}
    click(host, middle(place(host, "layer 1: fewer units").box))
    assert live(host).run.tensors[0].shape == (7, 3)
    assert place(host, "layer 1: fewer units").item.shown == "7"
    stepped(host, 2)
    assert panel(host).stands


# ---- one hand, one edit; one moment, one value


def test_a_drag_while_it_trains_is_one_edit_and_training_goes_on_after_it() -> None:
    host = shown(made(), playing=True)
    for _ in range(5):
        host.pass_time(0.05)
    with offscreen():
        host.view.key("p", "p")
    host.pass_time(OPENS)
    host.pass_time()
    with offscreen():
        host.view.press(at_value(host, "learning rate", 0.1))
    for value in (0.2, 0.05, 2.0, 1.0):
        with offscreen():
            host.view.move(at_value(host, "learning rate", value))
        host.pass_time(0.05)
        assert place(host, "learning rate").item.shown == f"{value:g}"
    before = live(host).run.steps
    with offscreen():
        host.view.release(at_value(host, "learning rate", 1.0))
    for _ in range(40):
        host.pass_time(0.05)
    view = live(host)
    assert view.playback.running
    assert view.run.steps > before
    assert [entry.what for entry in view.run.log] == ["lr = 1"]
    host.view.close()


def test_two_hundred_movements_of_a_drag_are_undone_at_once(host: Unseen) -> None:
    stepped(host, 3)
    opened(host)
    with offscreen():
        host.view.press(at_value(host, "learning rate", 0.01))
        for k in range(200):
            host.view.move(at_value(host, "learning rate", 0.01 * 1.03**k))
            if k % 20 == 0:
                host.pass_time(0.05)
        host.view.release((5000.0, -300.0))  # outside of the window
    settled(host)
    assert live(host).run.lr == pytest.approx(0.01 * 1.03**199, rel=0.01)
    assert len(log(host)) == 1
    mark = [text.text for sketch in host.view.bench.sketches for text in sketch.texts if text.text.startswith("lr = ")]
    assert mark  # the time bar says it, too
    key(host, "z", "", ctrl=True)
    assert live(host).run.lr == 0.5
    assert log(host) == []
    assert place(host, "learning rate").item.value == 0.5


def test_a_value_belongs_to_the_step_that_is_shown_and_an_edit_there_begins_a_branch(host: Unseen) -> None:
    stepped(host, 4)
    key(host, "Up")
    stepped(host, 4)
    opened(host)
    assert place(host, "learning rate").item.value == 1.0
    for _ in range(6):
        with offscreen():
            host.view.send("back")
        settled(host)
    assert host.view.shown.step == 2
    assert place(host, "learning rate").item.value == 0.5
    click(host, at_value(host, "learning rate", 0.01))
    assert live(host).run.lr == 0.01
    past = host.view.shown.past
    assert past is not None
    assert [branch.newest for branch in past.branches if not branch.current] == [8]


def test_a_rate_that_flies_apart_pauses_names_itself_and_offers_the_last_good_step() -> None:
    host = shown(made(0.01, end=False))
    host.pass_time()
    stepped(host, 3)
    opened(host)
    x, y = at_value(host, "learning rate", 10.0)
    click(host, (x - 1, y))
    assert live(host).run.lr > 9
    with offscreen():
        host.view.send("step", 400)
    for _ in range(3):
        settled(host)
    said = host.view.message()
    assert "diverged at step" in said
    assert "lr is " in said
    good = re.search(r"click here to go back to step (\d+), the last good one", said)  # Left is the panel's
    assert good is not None
    assert "run.to" not in said
    assert host.view.bench.touch.message == said
    assert not live(host).playback.running
    assert panel(host).stands
    words = next(t for layer in host.view.bench.overlays for s in layer for t in s.texts if "diverged" in t.text)
    click(host, (words.x + 20, words.y))
    assert host.view.shown.step == int(good[1])
    assert host.view.message() == ""
    assert np.isfinite(live(host).run.values).all()
    before = list(live(host).run.history.loss)
    click(host, at_value(host, "learning rate", 0.01))
    stepped(host, 5)
    assert live(host).run.history.loss[-1] < before[0]
    host.view.close()


@pytest.mark.parametrize("size", [(640, 360), (1280, 720)])
def test_what_is_wrong_is_said_beside_the_panel_and_whole(size: tuple[int, int]) -> None:
    host = shown(made(50.0, end=False), size)
    host.pass_time()
    opened(host)
    with offscreen():
        host.view.send("step", 400)
    for _ in range(3):
        settled(host)
    box, said = panel(host).box, host.view.message()
    assert box is not None
    layer = next(s for layer in host.view.bench.overlays for s in layer if any("diverged" in t.text for t in s.texts))
    assert " ".join(text.text for text in layer.texts if text.text != "!") == said
    assert layer.triangles[:, 0].max() <= box[0]
    assert max(text.x + measure(text.text, text.size, text.bold) for text in layer.texts[1:]) <= box[0]
    host.view.close()


@pytest.mark.parametrize(
    "text", ["", " ", "fast", "1,5,5", "nan", "inf", "-1", "0x10", "9" * 5000, "1e999", "0,05,", ","]
)
def test_what_is_typed_and_is_no_rate_is_refused_in_words(host: Unseen, text: str) -> None:
    opened(host)
    desk = live(host).desk
    assert desk is not None
    desk.typed(place(host, "learning rate").item, text)
    settled(host)
    assert live(host).run.lr == 0.5
    assert host.view.notice()


def test_a_number_is_read_as_people_write_it(host: Unseen) -> None:
    opened(host)
    desk = live(host).desk
    assert desk is not None
    for text, batch in (("32", 32), (" 64 ", 64), ("8", 8), ("1,024", 8), ("16.5", 8), ("0", 8)):  # there are 64
        desk.typed(place(host, "batch").item, text)
        settled(host)
        assert live(host).run.batch_size == batch


def test_a_comma_is_a_decimal_one_where_a_number_need_not_be_whole(host: Unseen) -> None:
    opened(host)
    desk = live(host).desk
    assert desk is not None
    for text, rate in (("0,125", 0.125), ("1,5", 1.5), ("2,5e-3", 2.5e-3), ("0.25", 0.25), ("1,250", 1.25)):
        desk.typed(place(host, "learning rate").item, text)
        settled(host)
        assert live(host).run.lr == rate


# ---- layers are dragged out


def two_layers() -> Unseen:
    net = nn.Sequential(nn.Linear(3, 6, seed=1), nn.Tanh(), nn.Linear(6, 5, seed=2), nn.Tanh(), nn.Linear(5, 3, seed=3))
    run = Run(net, nn.MSELoss(), optim.SGD(net.parameters(), lr=0.1), (X, 1 - X), batch_size=16, engine="numpy")
    host = shown(Scene("t", run, panels=(LossCurve("64 samples"),)))
    host.pass_time()
    return opened(host)


def hidden(host: Unseen) -> list[int]:
    return [tensor.shape[0] for tensor in live(host).run.tensors if tensor.role == "weight"][:-1]


@pytest.mark.parametrize("grip", ["layer 1", "layer 1: fewer units", "layer 1: more units"])
def test_a_layer_that_is_dragged_out_is_taken_away_as_one_edit(grip: str) -> None:
    host = two_layers()
    at = middle(place(host, grip).box)
    away = (at[0] - 300, at[1] - 120)
    with offscreen():
        host.view.press(at)
        host.view.move((at[0], at[1] - 40))
        host.view.move(away)
    host.pass_time()
    texts = [text for layer in host.view.bench.overlays for sketch in layer for text in sketch.texts]
    assert {"layer 1 taken out", "let go"} <= {text.text for text in texts}
    assert any(text.text == "6" and text.x == pytest.approx(away[0]) for text in texts)  # it is where the hand is
    assert hidden(host) == [6, 5]
    with offscreen():
        host.view.release(away)
    settled(host)
    assert hidden(host) == [5]
    assert len(log(host)) == 1
    assert panel(host).stands
    key(host, "z", "", ctrl=True)
    assert hidden(host) == [6, 5]
    host.view.close()


def test_a_layer_that_is_brought_back_or_let_go_of_by_escape_stays() -> None:
    host = two_layers()
    at = middle(place(host, "layer 2").box)
    for escape in (False, True):
        with offscreen():
            host.view.press(at)
            host.view.move((at[0], at[1] - 200))
        if escape:
            key(host, "Escape")
            assert panel(host).open
        else:
            host.view.move(at)
        with offscreen():
            host.view.release(at if not escape else (at[0], at[1] - 200))
        settled(host)
        assert hidden(host) == [6, 5]
    assert log(host) == []
    host.view.close()


def test_units_of_a_layer_are_typed_and_delete_takes_it_away() -> None:
    host = two_layers()
    for _ in range(2):
        click(host, middle(place(host, "layer 2").box))
    title, text, then = host.fields.pop()
    assert (title, text) == ("layer 2", "5")
    then("12")
    settled(host)
    assert hidden(host) == [6, 12]
    for wrong in ("0", "1.5", "100000", "", "nan"):
        desk = live(host).desk
        assert desk is not None
        desk.typed(place(host, "layer 2").item, wrong)
        settled(host)
        assert hidden(host) == [6, 12]
        assert host.view.notice()
    key(host, "Tab")
    while panel(host)._touched.focus != "layer 1: fewer units":
        key(host, "Tab")
    key(host, "Delete")
    assert hidden(host) == [12]
    host.view.close()


# ---- a click on the scene


def test_a_click_on_nothing_closes_it_and_one_on_a_cube_does_not(host: Unseen) -> None:
    stepped(host, 2)
    opened(host)
    bench = host.view.bench
    cube = bench.project(bench.layout.plates[0].corners.mean(0, keepdims=True))[0]
    nothing = (400.0, 90.0)
    assert bench.pick(nothing) is None
    click(host, (float(cube[0]), float(cube[1])))
    assert bench.selected is not None
    assert panel(host).open
    click(host, nothing)  # what was selected is let go of first
    assert bench.selected is None
    assert panel(host).open
    with offscreen():
        host.view.press(nothing)
        host.view.move((nothing[0] + 60, nothing[1]))
        host.view.release((nothing[0] + 60, nothing[1]))
    assert panel(host).open  # it was turned
    with offscreen():
        host.view.press(nothing, "right")
        host.view.release(nothing)
    assert panel(host).open
    click(host, nothing)
    assert not panel(host).open
    assert not host.closed


# ---- keys while it is open


def test_its_keys_are_its_own_and_are_given_back(host: Unseen) -> None:
    opened(host)
    key(host, "Right")  # from the button that runs to the next one
    assert host.view.shown.step == 0
    key(host, "Space")  # that is one step
    assert host.view.shown.step == 1
    key(host, "Tab")
    assert host.view.bench.panels_shown
    key(host, "Escape")
    assert not panel(host).open
    assert not host.closed
    key(host, "Right")
    assert host.view.shown.step == 2
    key(host, "p", "p")
    assert panel(host).open
    key(host, "p", "p")
    assert not panel(host).open


def test_keys_of_the_focused_control_do_not_reach_the_scene(host: Unseen) -> None:
    stepped(host, 4)
    opened(host)
    sent: list[str] = []
    former = host.view.send
    host.view.send = lambda name, value=None: sent.append(name) or former(name, value)  # type: ignore[assignment,method-assign]
    key(host, "Tab")
    while panel(host)._touched.focus != "learning rate":
        key(host, "Tab")
    for name, rate in (
        ("Home", 1e-4), ("End", 10.0), ("PageDown", 1.0), ("Left", 0.5), ("Down", 0.2), ("Right", 0.5), ("Up", 1.0),
        ("PageUp", 10.0), ("Space", 10.0), ("Delete", 10.0), ("Backspace", 10.0),
    ):  # fmt: skip
        key(host, name, " " if name == "Space" else "")
        assert live(host).run.lr == rate, name
    key(host, "Tab")
    for name, batch in (("Home", 1), ("End", 64), ("Left", 16), ("Up", 64), ("PageDown", 1)):
        key(host, name)
        assert live(host).run.batch_size == batch, name
    assert sent == []
    assert host.view.shown.step == 4
    key(host, "Escape")
    key(host, "Home")
    assert host.view.shown.step == 0


def test_space_runs_and_pauses_when_it_has_just_been_opened(host: Unseen) -> None:
    opened(host)
    with offscreen():
        host.view.key("Space", " ")
        assert live(host).playback.running
        host.view.key("Space", " ")
    assert not live(host).playback.running


def test_space_runs_after_a_click_too_as_long_as_no_ring_says_otherwise(host: Unseen) -> None:
    opened(host)
    click(host, middle(place(host, "batch").cells[0]))
    with offscreen():
        host.view.key("Space", " ")
    assert live(host).playback.running
    with offscreen():
        host.view.key("Space", " ")
    assert live(host).run.batch_size == 1


def test_other_keys_go_on_meaning_what_they_mean(host: Unseen) -> None:
    stepped(host, 1)
    opened(host)
    key(host, "g", "g")
    assert host.view.bench.colouring.quantity == "gradient"
    key(host, "z", "", ctrl=True)
    assert "undone" in host.view.notice() or "nothing" in host.view.notice()


def test_the_wheel_over_it_turns_nothing_else(host: Unseen) -> None:
    opened(host)
    camera = host.view.bench.camera
    box = panel(host).box
    assert box is not None
    with offscreen():
        host.view.scroll((box[0] + 100, box[1] + 300), (0.0, 1.0))
        host.view.scroll((box[0] + 100, box[1] + 300), (0.0, -1.0), shift=True)
    settled(host)
    assert host.view.bench.camera == camera


# ---- the picture


def test_no_pixel_of_the_scene_changes_when_it_opens(host: Unseen) -> None:
    stepped(host, 3)
    while host.view.bench.moving:  # the range of the colours grows
        host.pass_time(0.1)
    before = host.picture()
    opened(host)
    after = host.picture()
    changed = np.abs(before.astype(int) - after).max(axis=(0, 2)) > 8
    assert changed[945:1262].mean() > 0.5
    assert not changed[:938].any()
    key(host, "Escape")
    assert np.abs(host.picture().astype(int) - before).max(axis=2)[:, 945:].mean() < 1


def test_a_still_never_shows_it(host: Unseen) -> None:
    stepped(host, 3)
    with offscreen():
        host.view.send("screenshot")
    opened(host)
    key(host, "s", "s")
    first, second = host.shots
    assert np.abs(first.astype(int) - second)[:, 940:].max() <= 8
    assert panel(host).stands  # and it is there again
    assert np.abs(host.picture().astype(int) - second)[:, 940:].max() > 100


def test_an_opened_step_makes_room_for_it(host: Unseen) -> None:
    stepped(host, 2)
    with offscreen():
        host.view.send("micro_next")
    bench = host.view.bench
    for _ in range(20):
        settled(host)
    assert bench.inside.told is not None
    assert bench.inside.column is not None
    opened(host)
    box = panel(host).box
    assert box is not None
    assert bench.inside.column is None
    for one in (text for sketch in bench.sketches for text in sketch.texts):
        wide = measure(one.text, one.size, one.bold)
        assert one.x + wide * {"left": 1.0, "middle": 0.5, "right": 0.0}[one.anchor] <= box[0]
    assert set(panel(host).side) == {"loss"}
    key(host, "Escape")
    assert bench.inside.told is not None  # one thing after the other
    assert bench.inside.column is not None


@pytest.mark.parametrize("size", [(640, 360), (1000, 640), (720, 1080), (300, 300)])
def test_it_opens_and_closes_in_pictures_of_other_sizes(size: tuple[int, int]) -> None:
    host = shown(made(), size)
    host.pass_time()
    stepped(host, 2)
    before = host.picture()
    opened(host)
    box, bench = panel(host).box, host.view.bench
    assert box is not None
    corners = np.concatenate([bench.project(plate.corners) for plate in bench.layout.plates])
    over = (corners[:, 0] > box[0]) & (corners[:, 0] < box[0] + box[2])
    over &= (corners[:, 1] > box[1]) & (corners[:, 1] < box[1] + box[3])
    assert not over.any() or min(size) < 360
    host.picture()
    with offscreen():
        host.view.resize(SIZE)
        host.size = SIZE
    settled(host)
    assert panel(host).box == (940.0, 12.0, 328.0, 696.0)
    with offscreen():
        host.view.resize(size)
        host.size = size
    key(host, "Escape")
    host.pass_time(1.0)
    assert np.abs(host.picture().astype(int) - before).mean() < 4
    host.view.close()


# ---- what a scene adds


def test_what_a_scenes_own_functions_raise_is_said_once_and_ends_nothing() -> None:
    def broken(reader: Any) -> float:
        raise KeyError("noise")

    def refused(value: float, reader: Any) -> None:
        raise ZeroDivisionError("by hand")

    kept: dict[str, Any] = {"least": 0, "most": 1, "change": refused}
    one = Slider("one", "", "Does.", value=broken, **kept)
    other = Slider("other", "", "Does.", value=lambda reader: 0.5, **kept)
    host = opened(shown(made(controls=(one, other), command=broken)))
    assert sorted(host.told) == ["one: KeyError: 'noise'", "the command: KeyError: 'noise'"]
    assert panel(host)._part("one") is None
    click(host, at_value(host, "other", 0.9))
    assert host.view.notice() == "other: ZeroDivisionError: by hand"
    settled(host)
    assert place(host, "other").item.value == 0.5
    host.view.close()


def test_a_scenes_control_and_its_command() -> None:
    told: list[float] = []

    def put(value: float, reader: Any) -> None:
        told.append(value)

    noise = Slider(
        "noise", "--noise", "More noise.", least=0, most=1, value=lambda reader: (told or [0.25])[-1], change=put
    )
    scene = made(controls=(noise,), command=lambda reader: f"scalarviz t --batch {reader.settings.batch_size}")
    host = opened(shown(scene))
    click(host, at_value(host, "noise", 0.75))
    assert told == [pytest.approx(0.75, abs=0.01)]
    assert place(host, "noise").item.value == told[0]
    click(host, middle(place(host, "batch").cells[0]))
    while panel(host).scroll(-1):
        pass
    settled(host)
    click(host, middle(place(host, "copy as command").box))
    assert host.clipboard == "scalarviz t --batch 1"
    assert host.view.notice() == "copied: scalarviz t --batch 1"
    host.view.close()
