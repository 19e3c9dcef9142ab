"""The panel of controls in a window: by control, key and edit is the same; a hand makes one edit."""

from __future__ import annotations

import numpy as np
import pytest

from kit.commands import make_scene
from kit.windows import Hand, live_hand
from scalarviz import Run, nn, optim
from scalarviz.run import Scene
from scalarviz.run.controls import Slider
from scalarviz.run.edits import SetBatchSize, SetOptimizer
from scalarviz.run.panels import LossCurve
from scalarviz.view.ink.widgets import track_of

pytestmark = pytest.mark.gl
X = np.random.default_rng(0).random((64, 3))
NOTHING, RATE = (400.0, 90.0), "learning rate"


def made(lr=0.5, *parts, **others):
    net = nn.Sequential(*(parts or (nn.Linear(3, 3, seed=1), nn.Sigmoid())))
    run = Run(net, nn.MSELoss(), optim.SGD(net.parameters(), lr=lr), (X, 1 - X), batch_size=16, engine="numpy")
    return Scene("t", run, panels=(LossCurve("64 samples"),), **others)


class Desk(Hand):
    """A hand on the panel of controls of a window."""

    def open(self):
        self.key("p")
        assert self.panel.has_place
        return self

    @property
    def panel(self):
        return self.bench.controls

    @property
    def log(self):
        return [entry.what for entry in self.run.log]

    @property
    def hidden(self):
        """Units of the hidden layers."""
        return [tensor.shape[0] for tensor in self.run.tensors if tensor.role == "weight"][:-1]

    def item(self, name):
        return self.panel.item(name)

    def value(self, name):
        return self.item(name).value

    def spot(self, name, value=""):
        return self.middle(next(spot.box for spot in self.panel.spots if spot.click == (name, value)))

    def notch(self, name, value):
        """Where a slider has a value."""
        left, right, y = track_of(self.panel.spot(name).box)
        return self.at((left + (right - left) * self.item(name).control.share(value), y))

    def key(self, *names, **held):
        for name in names:
            self.view.key(name, {"Space": " "}.get(name, name if len(name) == 1 else ""), **held)
            self.rest()

    def click(self, name, value=""):
        self.press(self.spot(name, value))

    def slide(self, name, value):
        self.press(self.notch(name, value))

    def hold(self, *points):
        """A drag that goes on."""
        start, *others = points
        self.view.move(start)
        self.view.press(start)
        for point in others:
            self.view.move(point)
            self.host.pass_time(0.05)

    def sent(self):
        """The names of actions that are sent from now on."""
        names, former = [], self.view.send
        self.view.send = lambda name, value=None: names.append(name) or former(name, value)
        return names


@pytest.fixture
def desk():
    with live_hand(made(), kind=Desk) as desk:
        desk.do("step", 3)
        yield desk


@pytest.fixture
def layers():
    """Two hidden ones, of six and five units."""
    parts = nn.Linear(3, 6, seed=1), nn.Tanh(), nn.Linear(6, 5, seed=2), nn.Tanh(), nn.Linear(5, 3, seed=3)
    with live_hand(made(0.1, *parts), kind=Desk) as desk:
        yield desk.open()


def by_arrow(desk):
    desk.slide(RATE, 0.5)  # gives it the keys; it stands there already
    desk.key("Right")


def type_over(desk, name, value, text):
    """Double-click a number; the keys behind the second click are all typed, none does what it does elsewhere."""
    for _ in range(2):
        desk.click(name, value)
    desk.type(text)


def by_typing(desk):
    type_over(desk, RATE, "typed", "1.0")
    assert desk.view.notice().startswith(f"{RATE}: 1.0|  ·  Enter sets it, Escape cancels  ·  0.0")
    desk.key("Enter")


@pytest.mark.parametrize("do", [by_arrow, by_typing, lambda desk: desk.key("Escape", "Up"),
                                lambda desk: desk.slide(RATE, 1.0), lambda desk: desk.click("batch", 0)])  # fmt: skip
def test_by_control_by_key_and_by_edit_is_the_same(desk, do):
    do(desk.open())
    desk.rest()
    plain = made().run
    plain.step(3)
    plain.do(SetBatchSize(1) if desk.run.batch_size == 1 else SetOptimizer({"lr": 1.0}))
    assert [entry.what for entry in plain.log] == desk.log
    desk.do("step", 5)
    plain.step(5)
    assert plain.values.tobytes() == desk.run.values.tobytes()


def test_the_pace_is_that_of_its_keys_and_another_seed_brings_its_weights(desk):
    desk.open().key("]")
    assert (desk.item("pace").shown, desk.item("pace").keys) == ("2x", "[, ]")
    for value, speed in ((8.0, 8.0), (1e9, float("inf"))):
        desk.slide("pace", value)
        assert desk.view.playback.speed == speed
    assert desk.log == []  # it is no edit
    desk.click("reseed")
    desk.view.playback.pause()
    desk.do("first")
    other = made().run
    other.restart(seed=1)
    assert desk.run.values.tobytes() == other.values.tobytes()
    assert desk.value("seed") == 1


def test_a_drag_while_it_trains_is_one_edit_that_is_undone_at_once(desk):
    desk.open().view.send("toggle_run")
    ways = [desk.notch(RATE, 0.01 * 1.03**k) for k in range(200)]
    desk.hold(*ways)
    assert desk.item(RATE).shown == f"{desk.value(RATE):g}"
    before = desk.run.steps
    desk.view.release((ways[-1][0], -300.0))  # outside of the window
    for _ in range(40):
        desk.host.pass_time(0.05)
    assert desk.view.playback.running
    assert desk.run.steps > before
    assert desk.run.lr == pytest.approx(0.01 * 1.03**199, rel=0.01)
    assert len(desk.log) == 1
    desk.view.playback.pause()
    desk.key("z", ctrl=True)
    assert desk.run.lr == desk.value(RATE) == 0.5
    assert desk.log == []


def test_a_rate_of_0_says_beside_it_that_no_weight_moves(desk):
    def notes():
        return [row.note for row in desk.view.controls.shown(desk.view.shown) if desk.item(RATE) in row.items]

    type_over(desk.open(), RATE, "typed", "0")
    assert notes() == [""]
    desk.key("Enter")
    assert (desk.run.lr, notes()) == (0.0, ["no weight moves"])
    assert "no weight moves" in desk.words()


NO_RATES = ("", " ", "fast", "1,5,5", "nan", "inf", "-1", "0x10", "9" * 500, "1e999", "0,05,", ",")
RATES = {"0,125": 0.125, "1,5": 1.5, "2,5e-3": 2.5e-3, "0.25": 0.25, "1,250": 1.25}
BATCHES = {"32": 32, " 64 ": 64, "8": 8, "1,024": 8, "16.5": 8, "0": 8}  # there are 64


@pytest.mark.parametrize(("name", "typed"), [(RATE, dict.fromkeys(NO_RATES, 0.5)), (RATE, RATES), ("batch", BATCHES)])
def test_a_number_is_read_as_people_write_it_or_refused_in_words(desk, name, typed):
    for text, value in typed.items():
        before = desk.open().value(name) if not desk.panel.open else desk.value(name)
        desk.view.controls.type(desk.item(name))
        desk.key("Delete")
        desk.type(text)
        desk.key("Enter")
        assert desk.value(name) == (desk.run.lr if name == RATE else desk.run.batch_size) == value, text
        assert value != before or desk.view.notice()
        desk.view.prompt = None


def test_a_layer_is_dragged_out_typed_counted_by_buttons_and_taken_away_by_delete(layers):
    for end in ("brought back", "Escape", "release"):
        x, y = layers.spot("layer 1")
        away = (x - 300, y - 120)
        layers.hold((x, y), (x, y - 40), away)
        held = [text for layer in layers.bench.overlays for sketch in layer for text in sketch.texts]
        assert {"remove layer 1", "release"} <= {text.text for text in held}
        assert any(text.text == "6" and text.x == pytest.approx(away[0]) for text in held)  # it is where the hand is
        assert layers.hidden == [6, 5]
        if end == "brought back":
            layers.view.move((x, y))
        elif end == "Escape":
            layers.key("Escape")
        layers.view.release((x, y) if end == "brought back" else away)
        layers.host.pass_time(1.0)  # the next press is no double click
        layers.rest()
        assert layers.panel.has_place
        assert (layers.hidden, len(layers.log)) == (([5], 1) if end == "release" else ([6, 5], 0))
    layers.key("z", ctrl=True)
    assert (layers.hidden, layers.log) == ([6, 5], [])
    type_over(layers, "layer 2", "", "12")
    layers.key("Enter")
    for typed in ("0", "1.5", "100000", " ", "nan"):
        layers.view.controls.type(layers.item("layer 2"))
        layers.type(typed)
        layers.key("Enter")
        assert layers.hidden == [6, 12]
        assert layers.view.notice()
    layers.key("Escape")
    layers.key("Tab")
    while layers.panel.focus != "layer 1: fewer units":
        layers.key("Tab")
    layers.key("Delete")
    assert layers.hidden == [12]
    layers.click("layer 1: fewer units")
    layers.click("add layer")
    assert (layers.hidden, layers.item("layer 1").shown) == ([11, 11], "11")


def test_a_click_on_nothing_closes_it_and_one_on_a_cube_does_not(desk):
    bench = desk.open().bench
    assert bench.pick(NOTHING) is None
    desk.press(bench.project(bench.layout.plates[0].corners.mean(0, keepdims=True))[0].tolist())
    assert bench.selected is not None
    desk.press(NOTHING)  # what was selected is let go of first
    assert bench.selected is None
    desk.drag(NOTHING, (60, 0))  # it is turned
    desk.press(NOTHING, "right")
    assert desk.panel.open
    desk.press(NOTHING)
    assert (desk.panel.open, desk.host.closed) == (False, False)


def test_its_keys_are_its_own_and_are_given_back(desk):
    desk.open().click("batch", 0)
    for running in (True, False):  # Space runs and pauses, also after a click, as long as there is no ring
        desk.view.key("Space", " ")
        assert desk.view.playback.running is running
    desk.rest()
    assert desk.run.batch_size == 1
    desk.key("Escape", "p")  # the ring begins where it began at first
    shown = desk.view.shown.step
    for key, steps in (("Right", 0), ("Space", 1)):  # from the button that runs to the next one, which is one step
        desk.key(key)
        assert desk.view.shown.step == shown + steps
    sent = desk.sent()
    while desk.panel.focus != RATE:
        desk.key("Tab")
    desk.key("Home", "Left", "Up", "PageUp", "Delete", "Backspace")
    assert (sent, desk.run.lr, desk.view.shown.step) == ([], 0.002, shown + 1)  # all are of what has the ring
    desk.key("g")  # others go on meaning what they mean
    assert desk.bench.panels_shown
    assert desk.bench.colouring.quantity == "gradient"
    desk.key("Escape", "Right")
    assert (desk.panel.open, desk.host.closed, desk.view.shown.step) == (False, False, shown + 2)


def test_a_scene_brings_a_control_and_its_command_and_what_these_raise_is_said_once():
    told = [0.25]

    def broken(reader):
        raise KeyError("noise")

    def changed(value, reader):
        if value > 0.8:
            raise ZeroDivisionError("by hand")
        told.append(value)

    sliders = [Slider(name, "", "Does.", least=0, most=1, value=value, change=changed)
               for name, value in (("one", broken), ("noise", lambda reader: told[-1]))]  # fmt: skip
    with live_hand(made(controls=tuple(sliders), command=broken), kind=Desk) as desk:
        assert sorted(desk.open().host.told) == ["one: KeyError: 'noise'", "the command: KeyError: 'noise'"]
    scene = made(controls=tuple(sliders), command=lambda reader: f"scalarviz t --batch {reader.settings.batch_size}")
    with live_hand(scene, kind=Desk) as desk:
        assert desk.open().host.told == ["one: KeyError: 'noise'"]
        assert desk.item("one") is None
        desk.slide("noise", 0.75)
        assert (len(told), desk.value("noise")) == (2, told[-1])
        assert told[-1] == pytest.approx(0.75, abs=0.01)
        desk.slide("noise", 0.9)
        assert (desk.view.notice(), desk.value("noise")) == ("noise: ZeroDivisionError: by hand", told[-1])
        desk.click("batch", 0)
        while desk.panel.scroll(-1):
            pass
        desk.rest()
        desk.click("copy as command")
        assert desk.host.clipboard == "scalarviz t --batch 1"


@pytest.mark.parametrize("name", ["texture", "rgb"])
def test_weights_are_saved_into_a_file_that_can_be_loaded_and_layers_of_a_painter_can_be_others(
    name, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    with live_hand(make_scene(name), (1280, 1000), Desk) as hand:
        hand.open()
        before = hand.run.values
        hand.click("save")
        hand.rest(lambda: any(tmp_path.glob("*.safetensors")))
        (path,) = tmp_path.glob("*.safetensors")
        hand.run.set_weights(0, [5.0])
        hand.run.load(path)
        assert np.array_equal(hand.run.values, before)
        if name == "texture":
            hand.click("layer 1: fewer units")
            hand.rest()
            assert hand.hidden[0] < 64 == hand.hidden[1]
            assert hand.view.frame().activations["0"].shape == (hand.hidden[0],)
