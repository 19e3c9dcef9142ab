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
from scalarviz.run.edits import Change, Edit, SetBatchSize, SetOptimizer
from scalarviz.run.panels import LossCurve
from scalarviz.view.ink.widgets import track_of
from scalarviz.view.out.offscreen import offscreen
from scalarviz.view.out.unseen import Unseen
from scalarviz.view.screen.control_rows import Item
from scalarviz.view.screen.controls import OPENS, ControlsPanel
from scalarviz.view.watch.live import LiveView

pytestmark = pytest.mark.gl
X = np.random.default_rng(0).random((64, 3))
SIZE = (1280, 720)
Point = tuple[float, float]


def made(lr: float = 0.5, *parts: nn.Module, **others: Any) -> Scene:
    net = nn.Sequential(*(parts or (nn.Linear(3, 3, seed=1), nn.Sigmoid())))
    run = Run(net, nn.MSELoss(), optim.SGD(net.parameters(), lr=lr), (X, 1 - X), batch_size=16, engine="numpy")
    return Scene("t", run, panels=(LossCurve("64 samples"),), **others)


@pytest.fixture
def opening() -> Iterator[Any]:
    """Windows without a window, closed at the end."""
    hosts: list[Unseen] = []

    def open_one(scene: Scene, size: tuple[int, int] = SIZE, *, playing: bool = False) -> Unseen:
        hosts.append(Unseen(lambda size: LiveView(scene, size, playing=playing), size))
        hosts[-1].pass_time()
        return hosts[-1]

    yield open_one
    for host in hosts:
        host.view.close()


@pytest.fixture
def host(opening: Any) -> Unseen:
    return opening(made())  # type: ignore[no-any-return]


def live(host: Unseen) -> LiveView:
    assert isinstance(host.view, LiveView)
    return host.view


def panel(host: Unseen) -> ControlsPanel:
    return host.view.bench.controls


def opened(host: Unseen) -> Unseen:
    key(host, "p", "p")
    host.pass_time(OPENS)
    host.pass_time()
    assert panel(host).stands
    return host


def settled(host: Unseen) -> None:
    live(host).worker.settle()
    host.pass_time()
    host.pass_time()


def key(host: Unseen, name: str, text: str = "", **held: bool) -> None:
    with offscreen():
        host.view.key(name, text, **held)
    settled(host)


def send(host: Unseen, name: str, value: Any = None) -> None:
    with offscreen():
        host.view.send(name, value)
    settled(host)


def step(host: Unseen, count: int) -> None:
    with offscreen():
        live(host).step(count)
    settled(host)


def item(host: Unseen, name: str) -> Item:
    found = panel(host).item(name)
    assert found is not None
    return found


def middle(host: Unseen, name: str, value: int | str = "") -> Point:
    x, y, wide, high = next(spot.box for spot in panel(host).spots if spot.does == (name, value))
    return x + wide / 2, y + high / 2


def at_value(host: Unseen, name: str, value: float) -> Point:
    spot, control = panel(host).spot(name), item(host, name).control
    assert spot is not None
    assert isinstance(control, Slider)
    left, right, y = track_of(spot.box)
    return left + (right - left) * control.share(value), y


def drag(host: Unseen, *points: Point, button: str = "left", release: bool = True) -> None:
    with offscreen():
        host.view.move(points[0])
        host.view.press(points[0], button)
        for point in points[1:]:
            host.view.move(point)
        if release:
            host.view.release(points[-1])
    settled(host)


def click(host: Unseen, at: Point) -> None:
    drag(host, at)


def log(host: Unseen) -> list[str]:
    return [entry.what for entry in live(host).run.log]


# ---- by control, by key, by edit


def by_arrow(host: Unseen) -> None:
    click(host, at_value(host, "learning rate", 0.5))  # gives it the keys; it stands there already
    key(host, "Right")


def by_typing(host: Unseen) -> None:
    for _ in range(2):
        click(host, middle(host, "learning rate", "typed"))
    title, text, then = host.fields.pop()
    assert (title, text) == ("learning rate", "0.5")
    then("1.0")


@pytest.mark.parametrize(
    ("do", "edit"),
    [
        (by_arrow, SetOptimizer({"lr": 1.0})),  # type: ignore[arg-type]
        (by_typing, SetOptimizer({"lr": 1.0})),  # type: ignore[arg-type]
        (lambda host: click(host, at_value(host, "learning rate", 1.0)), SetOptimizer({"lr": 1.0})),  # type: ignore[arg-type]
        (lambda host: key(host, "Escape") or key(host, "Up"), SetOptimizer({"lr": 1.0})),  # type: ignore[arg-type,func-returns-value]
        (lambda host: click(host, middle(host, "batch", 0)), SetBatchSize(1)),
    ],
    ids=["arrow", "typed", "pointer", "its own key", "batch"],
)
def test_by_control_by_key_and_by_edit_is_the_same(host: Unseen, do: Any, edit: Edit) -> None:
    step(host, 5)
    do(opened(host))
    settled(host)
    send(host, "step", 5)
    plain = made().run
    plain.step(5)
    plain.do(edit)
    plain.step(5)
    assert plain.values.tobytes() == live(host).run.values.tobytes()
    assert [entry.what for entry in plain.log] == log(host)


@pytest.mark.parametrize("by", ["panel", "code while it was closed"])
def test_an_optimiser_that_comes_back_has_the_numbers_that_it_had(host: Unseen, by: str) -> None:
    step(host, 2)
    if by == "panel":
        click(opened(host), middle(host, "optimiser", 2))
        assert live(host).run.lr == 0.01
    else:
        with offscreen():
            host.view.change(Change(optimizer="Adam", numbers=(("lr", 0.2),)))
        settled(host)
        opened(host)
    assert item(host, "optimiser").value == "Adam"
    click(host, middle(host, "optimiser", 0))
    assert live(host).run.lr == item(host, "learning rate").value == 0.5
    click(host, middle(host, "optimiser", 1))
    assert item(host, "momentum").value == 0.9
    click(host, at_value(host, "momentum", 0.99))
    assert live(host).run.optimizer.momentum == 0.99
    click(host, middle(host, "optimiser", 0))
    assert panel(host).item("momentum") is None
    click(host, middle(host, "optimiser", 1))
    assert item(host, "momentum").value == 0.99


def test_buttons_are_actions_and_the_pace_is_that_of_its_keys(host: Unseen) -> None:
    sent: list[str] = []
    former = host.view.send
    opened(host)
    host.view.send = lambda name, value=None: sent.append(name) or former(name, value)  # type: ignore[assignment,method-assign]
    for name in ("one step", "begin anew", "run or pause"):
        click(host, middle(host, name))
    assert sent == ["step", "restart", "toggle_run"]
    key(host, "]", "]")
    assert (item(host, "pace").shown, item(host, "pace").keys) == ("2x", "[, ]")
    for value, speed in ((8.0, 8.0), (1e9, float("inf"))):
        click(host, at_value(host, "pace", value))
        assert live(host).playback.speed == speed
    key(host, "\\", "\\")
    assert item(host, "pace").shown == "1x"
    assert log(host) == []  # it is no edit


def test_another_seed_begins_anew_with_its_weights_and_says_so(host: Unseen) -> None:
    step(host, 3)
    click(opened(host), middle(host, "reseed"))
    with offscreen():
        live(host).playback.pause()
    send(host, "first")
    other = made().run
    other.restart(seed=1)
    assert live(host).run.values.tobytes() == other.values.tobytes()
    assert item(host, "seed").value == 1


# ---- one hand, one edit; one moment, one value


def test_a_drag_while_it_trains_is_one_edit_and_training_goes_on_after_it(opening: Any) -> None:
    host = opened(opening(made(), playing=True))
    view = live(host)
    drag(host, at_value(host, "learning rate", 0.1), release=False)
    for value in (0.2, 0.05, 2.0, 1.0):
        with offscreen():
            view.move(at_value(host, "learning rate", value))
        host.pass_time(0.05)
        assert item(host, "learning rate").shown == f"{value:g}"
    before = view.run.steps
    with offscreen():
        view.release(at_value(host, "learning rate", 1.0))
    for _ in range(40):
        host.pass_time(0.05)
    assert view.playback.running
    assert view.run.steps > before
    assert log(host) == ["lr = 1"]


def test_two_hundred_movements_of_a_drag_are_undone_at_once(host: Unseen) -> None:
    step(host, 3)
    opened(host)
    points = [at_value(host, "learning rate", 0.01 * 1.03**k) for k in range(200)]
    drag(host, *points, (points[-1][0], -300.0))  # it ends outside of the window
    assert live(host).run.lr == pytest.approx(0.01 * 1.03**199, rel=0.01)
    assert len(log(host)) == 1
    assert any(text.text.startswith("lr = ") for sketch in host.view.bench.sketches for text in sketch.texts)
    key(host, "z", "", ctrl=True)
    assert live(host).run.lr == item(host, "learning rate").value == 0.5
    assert log(host) == []


def test_a_value_belongs_to_the_step_that_is_shown_and_an_edit_there_begins_a_branch(host: Unseen) -> None:
    step(host, 4)
    key(host, "Up")
    step(host, 4)
    opened(host)
    assert item(host, "learning rate").value == 1.0
    for _ in range(6):
        send(host, "back")
    assert host.view.shown.step == 2
    assert item(host, "learning rate").value == 0.5
    click(host, at_value(host, "learning rate", 0.01))
    assert live(host).run.lr == 0.01
    past = host.view.shown.past
    assert past is not None
    assert [branch.newest for branch in past.branches if not branch.current] == [8]


@pytest.mark.parametrize("size", [(640, 360), SIZE])
def test_a_rate_that_flies_apart_pauses_and_offers_the_last_good_step(opening: Any, size: Any) -> None:
    host = opened(opening(made(50.0, nn.Linear(3, 3, seed=1)), size))
    send(host, "step", 400)
    for _ in range(3):
        settled(host)
    said, box = host.view.message(), panel(host).box
    good = re.search(r"diverged at step .*lr is .*click here to go back to step (\d+), the last good one", said)
    assert good is not None  # Left is the panel's
    assert "run.to" not in said
    assert not live(host).playback.running
    layer = next(s for layer in host.view.bench.overlays for s in layer if any("diverged" in t.text for t in s.texts))
    assert " ".join(text.text for text in layer.texts if text.text != "!") == said
    assert box is not None
    assert max(*layer.triangles[:, 0], *(text.left + text.width for text in layer.texts)) <= box[0]
    scale, words = host.view.bench.scale, layer.texts[1]
    click(host, ((words.x + 20) * scale, words.y * scale))
    assert (host.view.shown.step, host.view.message()) == (int(good[1]), "")
    assert np.isfinite(live(host).run.values).all()
    with offscreen():
        host.view.change(SetOptimizer({"lr": 0.01}))  # type: ignore[arg-type]
    step(host, 5)
    assert live(host).run.history.loss[-1] < live(host).run.history.loss[-5]


@pytest.mark.parametrize(
    ("name", "typed"),
    [
        ("learning rate", dict.fromkeys(
            ["", " ", "fast", "1,5,5", "nan", "inf", "-1", "0x10", "9" * 5000, "1e999", "0,05,", ","], 0.5)),
        ("learning rate", {"0,125": 0.125, "1,5": 1.5, "2,5e-3": 2.5e-3, "0.25": 0.25, "1,250": 1.25}),
        ("batch", {"32": 32, " 64 ": 64, "8": 8, "1,024": 8, "16.5": 8, "0": 8}),  # there are 64
    ],
    ids=["no rates", "rates", "batches"],
)  # fmt: skip
def test_a_number_is_read_as_people_write_it_or_refused_in_words(host: Unseen, name: str, typed: Any) -> None:
    desk = live(opened(host)).desk
    assert desk is not None
    for text, value in typed.items():
        before = item(host, name).value
        desk.typed(item(host, name), text)
        settled(host)
        assert item(host, name).value == (live(host).run.lr if name == "learning rate" else live(host).run.batch_size)
        assert item(host, name).value == value, text
        assert value != before or host.view.notice()


# ---- layers


@pytest.fixture
def two_layers(opening: Any) -> Unseen:
    parts = nn.Linear(3, 6, seed=1), nn.Tanh(), nn.Linear(6, 5, seed=2), nn.Tanh(), nn.Linear(5, 3, seed=3)
    return opened(opening(made(0.1, *parts)))


def hidden(host: Unseen) -> list[int]:
    return [tensor.shape[0] for tensor in live(host).run.tensors if tensor.role == "weight"][:-1]


def test_layers_by_buttons_change_the_network_and_the_picture_follows(host: Unseen) -> None:
    step(host, 2)
    click(opened(host), middle(host, "add a layer"))
    assert [tensor.shape for tensor in live(host).run.tensors] == [(8, 3), (8,), (3, 8), (3,)]
    click(host, middle(host, "layer 1: fewer units"))
    assert hidden(host) == [7]
    assert item(host, "layer 1").shown == "7"
    step(host, 2)
    assert panel(host).stands


@pytest.mark.parametrize("grip", ["layer 1", "layer 1: fewer units", "layer 1: more units"])
def test_a_layer_that_is_dragged_out_is_taken_away_as_one_edit(two_layers: Unseen, grip: str) -> None:
    host, (x, y) = two_layers, middle(two_layers, grip)
    away = (x - 300, y - 120)
    drag(host, (x, y), (x, y - 40), away, release=False)
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


@pytest.mark.parametrize("escape", [False, True])
def test_a_layer_that_is_brought_back_or_let_go_of_by_escape_stays(two_layers: Unseen, escape: bool) -> None:
    host, at = two_layers, middle(two_layers, "layer 2")
    away = (at[0], at[1] - 200)
    drag(host, at, away, *([] if escape else [at]), release=False)
    if escape:
        key(host, "Escape")
    with offscreen():
        host.view.release(away if escape else at)
    settled(host)
    assert panel(host).open
    assert (hidden(host), log(host)) == ([6, 5], [])


def test_units_of_a_layer_are_typed_and_delete_takes_it_away(two_layers: Unseen) -> None:
    host = two_layers
    for _ in range(2):
        click(host, middle(host, "layer 2"))
    title, text, then = host.fields.pop()
    assert (title, text) == ("layer 2", "5")
    for typed, units in (("12", 12), ("0", 12), ("1.5", 12), ("100000", 12), ("", 12), ("nan", 12)):
        then(typed)
        settled(host)
        assert hidden(host) == [6, units]
        assert typed == "12" or host.view.notice()
    key(host, "Tab")
    while panel(host).focus != "layer 1: fewer units":
        key(host, "Tab")
    key(host, "Delete")
    assert hidden(host) == [12]


# ---- pointer and keys while it is open


def test_a_click_on_nothing_closes_it_and_one_on_a_cube_does_not(host: Unseen) -> None:
    step(host, 2)
    opened(host)
    bench, nothing = host.view.bench, (400.0, 90.0)
    assert bench.pick(nothing) is None
    x, y = bench.project(bench.layout.plates[0].corners.mean(0, keepdims=True))[0].tolist()
    click(host, (x, y))
    assert bench.selected is not None
    click(host, nothing)  # what was selected is let go of first
    assert bench.selected is None
    drag(host, nothing, (nothing[0] + 60, nothing[1]))  # it is turned
    drag(host, nothing, button="right")
    assert panel(host).open
    click(host, nothing)
    assert not panel(host).open
    assert not host.closed


def test_its_keys_are_its_own_and_are_given_back(host: Unseen) -> None:
    click(opened(host), middle(host, "batch", 0))
    for running in (True, False):  # Space runs and pauses, also after a click, as long as there is no ring
        with offscreen():
            host.view.key("Space", " ")
        assert live(host).playback.running is running
    assert live(host).run.batch_size == 1
    for name in ("Escape", "p"):  # the ring begins where it began at first
        key(host, name, name if name == "p" else "")
    shown = host.view.shown.step
    key(host, "Right")  # from the button that runs to the next one
    assert host.view.shown.step == shown
    key(host, "Space")  # that is one step
    assert host.view.shown.step == shown + 1
    key(host, "Tab")
    assert host.view.bench.panels_shown
    key(host, "g", "g")  # others go on meaning what they mean
    assert host.view.bench.colouring.quantity == "gradient"
    key(host, "Escape")
    assert not panel(host).open
    assert not host.closed
    key(host, "Right")
    assert host.view.shown.step == shown + 2
    for open_now in (True, False):
        key(host, "p", "p")
        assert panel(host).open is open_now


def test_keys_of_the_focused_control_do_not_reach_the_scene(host: Unseen) -> None:
    step(host, 4)
    opened(host)
    sent: list[str] = []
    former = host.view.send
    host.view.send = lambda name, value=None: sent.append(name) or former(name, value)  # type: ignore[assignment,method-assign]
    while panel(host).focus != "learning rate":
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


# ---- the picture


def test_no_pixel_of_the_scene_changes_when_it_opens_nor_when_the_wheel_turns_over_it(host: Unseen) -> None:
    step(host, 3)
    while host.view.bench.moving:  # the range of the colours grows
        host.pass_time(0.1)
    before = host.picture()
    opened(host)
    with offscreen():
        host.view.scroll((1040.0, 312.0), (0.0, 1.0))
        host.view.scroll((1040.0, 312.0), (0.0, -1.0), shift=True)
    settled(host)
    changed = np.abs(before.astype(int) - host.picture()).max(axis=(0, 2)) > 8
    assert changed[945:1262].mean() > 0.5
    assert not changed[:938].any()
    key(host, "s", "s")  # a still never shows it
    assert np.abs(before.astype(int) - host.shots[-1])[:, 940:].max() <= 8
    assert panel(host).stands  # and it is there again
    assert np.abs(host.picture().astype(int) - host.shots[-1])[:, 940:].max() > 100
    key(host, "Escape")
    assert np.abs(host.picture().astype(int) - before).max(axis=2)[:, 945:].mean() < 1


def test_an_opened_step_makes_room_for_it(host: Unseen) -> None:
    step(host, 2)
    send(host, "micro_next")
    bench = host.view.bench
    for _ in range(20):
        settled(host)
    assert bench.inside.told is not None
    assert bench.inside.column is not None
    box = panel(opened(host)).box
    assert box is not None
    assert bench.inside.column is None
    assert max(text.left + text.width for sketch in bench.sketches for text in sketch.texts) <= box[0]
    assert set(panel(host).side) == {"loss"}
    key(host, "Escape")
    assert bench.inside.told is not None  # one thing after the other
    assert bench.inside.column is not None


@pytest.mark.parametrize("size", [(640, 360), (1000, 640), (720, 1080), (300, 300)])
def test_it_opens_and_closes_in_pictures_of_other_sizes(opening: Any, size: tuple[int, int]) -> None:
    host = opening(made(), size)
    step(host, 2)
    before = host.picture()
    box, bench = panel(opened(host)).box, host.view.bench
    assert box is not None
    x, y = np.concatenate([bench.project(plate.corners) for plate in bench.layout.plates]).T
    over = (x > box[0]) & (x < box[0] + box[2]) & (y > box[1]) & (y < box[1] + box[3])
    assert not over.any() or min(size) < 360
    for now in (SIZE, size):
        with offscreen():
            host.view.resize(now)
            host.size = now
        settled(host)
        assert now != SIZE or panel(host).box == (940.0, 12.0, 328.0, 696.0)
    key(host, "Escape")
    host.pass_time(1.0)
    assert np.abs(host.picture().astype(int) - before).mean() < 4


# ---- what a scene adds


def test_what_a_scenes_own_functions_raise_is_said_once_and_ends_nothing(opening: Any) -> None:
    def broken(reader: Any) -> float:
        raise KeyError("noise")

    def refused(value: float, reader: Any) -> None:
        raise ZeroDivisionError("by hand")

    kept: dict[str, Any] = {"least": 0, "most": 1, "change": refused}
    one = Slider("one", "", "Does.", value=broken, **kept)
    other = Slider("other", "", "Does.", value=lambda reader: 0.5, **kept)
    host = opened(opening(made(controls=(one, other), command=broken)))
    assert sorted(host.told) == ["one: KeyError: 'noise'", "the command: KeyError: 'noise'"]
    assert panel(host).item("one") is None
    click(host, at_value(host, "other", 0.9))
    assert host.view.notice() == "other: ZeroDivisionError: by hand"
    assert item(host, "other").value == 0.5


def test_a_scenes_control_and_its_command(opening: Any) -> None:
    told: list[float] = []
    noise = Slider(
        "noise",
        "--noise",
        "More noise.",
        least=0,
        most=1,
        value=lambda reader: (told or [0.25])[-1],
        change=lambda value, reader: told.append(value),
    )
    scene = made(controls=(noise,), command=lambda reader: f"scalarviz t --batch {reader.settings.batch_size}")
    host = opened(opening(scene))
    click(host, at_value(host, "noise", 0.75))
    assert told == [pytest.approx(0.75, abs=0.01)]
    assert item(host, "noise").value == told[0]
    click(host, middle(host, "batch", 0))
    while panel(host).scroll(-1):
        pass
    settled(host)
    click(host, middle(host, "copy as command"))
    assert host.clipboard == "scalarviz t --batch 1"
    assert host.view.notice() == "copied: scalarviz t --batch 1"
