"""Selecting by hand, and what is done to a selection: one edit each, undone at once, by keys, buttons and typing."""

from __future__ import annotations

import time

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import Run, nn, optim
from scalarviz.run import Scene
from scalarviz.run.edits import SetFrozen, SetWeights, Together
from scalarviz.run.panels import ColourCube, LossCurve
from scalarviz.view.ink.text import measure
from scalarviz.view.out.offscreen import offscreen
from scalarviz.view.screen.touch import plate_of
from scalarviz.view.shown.subject import subject_of
from scalarviz.view.watch.live import LiveView
from scalarviz.view.watch.mirror import Mirror
from scalarviz.view.watch.pointer import DOUBLE, REST

pytestmark = pytest.mark.gl
SIZE = (1280, 720)
X = np.random.default_rng(0).random((32, 3))
COLOURS = np.stack(np.meshgrid(*[np.linspace(0, 1, 4)] * 3, indexing="ij"), axis=-1).reshape(-1, 3)


def scene(*, loss_curve=True):
    net = nn.Sequential(nn.Linear(3, 3, seed=1), nn.Sigmoid())
    run = Run(net, nn.MSELoss(), optim.SGD(net.parameters(), lr=0.5), (X, 1 - X), engine="numpy")
    panels = (ColourCube(COLOURS, 1 - COLOURS), *((LossCurve(),) if loss_curve else ()))
    names = ("r", "g", "b")
    return Scene("t", run, X[0], 1 - X[0], names, names, panels)


@pytest.fixture
def view():
    with offscreen():
        made = LiveView(scene(), SIZE, playing=False)
        made.send("step", 5)
        settled(made)
        yield made
        made.close()


def settled(view, ticks=4):
    """What was asked for is done and shown."""
    worker = getattr(view, "worker", None)
    for _ in range(ticks):
        if worker is not None:
            worker.settle()
        view.tick(0.25)
    return view.shown


def face(view, index):
    plate = plate_of(view.bench.layout, index)
    x, y = view.bench.project([plate.centre_of(index - plate.start) + plate.depth * plate.axes[2]])[0]
    return float(x) * view.bench.scale, float(y) * view.bench.scale


def click(view, at, **held):
    view.press(at, **held)
    view.release(at)
    view.tick(0.02)


def double(view, at):
    click(view, at)
    click(view, at)
    settled(view)


def spot(view, name, value=""):
    """The middle of the place that a click of this kind belongs to."""
    found = next(s for s in view.bench.touch.inspector.spots if s.does == (name, value))
    x, y, width, height = found.box
    return (x + width / 2) * view.bench.scale, (y + height / 2) * view.bench.scale


def selection(view):
    return view.bench.touch.inspector.selection


def indices(view):
    return np.flatnonzero(selection(view).mask(0, 12)).tolist()


def picture(view):
    return offscreen().render(view.draw, SIZE).astype(int)


# selecting


def test_a_double_click_selects_the_neuron_and_its_cubes_are_outlined(view):
    before = picture(view)
    double(view, face(view, 4))
    assert indices(view) == [3, 4, 5, 10]
    assert selection(view).words == "neuron 1 of layer 0"
    changed = (np.abs(picture(view) - before).max(axis=2) > 60)[:, :900]
    rows, columns = np.nonzero(changed)
    for index in (3, 5, 10):
        x, y = face(view, index)
        near = (np.abs(columns - x) < 90) & (np.abs(rows - y) < 70)
        assert near.any(), index
    for index in (0, 8):
        x, y = face(view, index)
        assert not changed[int(y) - 12 : int(y) + 12, int(x) - 30 : int(x) + 30].any()


def test_two_slow_clicks_are_no_double_click(view):
    click(view, face(view, 4))
    view.tick(DOUBLE + 0.1)
    click(view, face(view, 4))
    assert indices(view) == [4]
    click(view, face(view, 5))
    assert indices(view) == [5]


def test_ctrl_click_adds_and_removes_a_weight(view):
    click(view, face(view, 4), ctrl=True)
    click(view, face(view, 8), ctrl=True)
    click(view, face(view, 10), ctrl=True)
    assert indices(view) == [4, 8, 10]
    assert selection(view).words == "3 weights"
    click(view, face(view, 8), ctrl=True)
    assert indices(view) == [4, 10]
    for index in (4, 10):
        click(view, face(view, index), ctrl=True)
    assert view.bench.touch.inspector is None


def test_the_outline_selects_what_is_clicked(view):
    click(view, face(view, 4))
    settled(view)
    for kind, expected in (
        ("row", [3, 4, 5]), ("column", [1, 4, 7]), ("tensor", list(range(9))), ("layer", list(range(12))),
        ("neuron", [3, 4, 5, 10]), ("weight", [4]),
    ):  # fmt: skip
        click(view, spot(view, "part", kind))
        settled(view)
        assert indices(view) == expected, kind
        assert selection(view).main == 4


def test_a_selects_more_and_in_the_end_the_weight_again(view):
    click(view, face(view, 4))
    seen = []
    for _ in range(5):
        view.key("a")
        settled(view)
        seen.append(len(indices(view)))
    assert seen == [3, 4, 9, 12, 1]


def test_escape_lets_go_of_a_selection(view):
    double(view, face(view, 4))
    view.key("Escape")
    assert view.bench.touch.inspector is None


def test_below_the_inspector_no_panel_answers(view):
    cube = view.bench.side.drawer(ColourCube)
    x, y, width, height = cube.box
    click(view, face(view, 4))
    settled(view)
    assert cube.box is None
    probe = view.bench.subject.probe.copy()
    rng = np.random.default_rng(1)
    for _ in range(15):
        click(view, (x + width * rng.random(), y + height * rng.random()), shift=True)
        if view.bench.touch.inspector is None:
            break
    assert not any(isinstance(a.edit, SetWeights) for a in view.run.log if a.what.startswith("other"))
    view.key("Escape")
    assert cube.box == (x, y, width, height)
    assert probe.shape == view.bench.subject.probe.shape


# deeds


DEEDS = [
    ("x", "zero", lambda v, m: np.where(m, 0, v)),
    ("/", "halve", lambda v, m: np.where(m, v * np.float32(0.5), v)),
    ("*", "double", lambda v, m: np.where(m, v * np.float32(2), v)),
]


@pytest.mark.parametrize(("key", "name", "made"), DEEDS, ids=[d[1] for d in DEEDS])
@pytest.mark.parametrize("by", ["key", "button"])
@pytest.mark.parametrize("kind", ["weight", "neuron", "column", "layer"])
def test_a_deed_is_one_edit_and_undone_at_once(view, key, name, made, by, kind):
    click(view, face(view, 4))
    view.selected.select_part(kind)
    view.refresh()
    settled(view)
    before, mask = view.run.values.copy(), selection(view).mask(0, 12)
    if by == "key":
        view.key(key, key)
    else:
        click(view, spot(view, name))
    after = settled(view).values
    assert np.array_equal(after, made(before, mask))
    (entry,) = view.run.log
    assert selection(view).words in entry.what or kind == "weight"
    view.key("z", ctrl=True)
    settled(view)
    assert np.array_equal(view.run.values, before)


def test_a_row_is_zeroed_in_these_words(view):
    click(view, face(view, 7))
    view.selected.select_part("row")
    view.key("x")
    settled(view)
    assert view.run.log[-1].what == "zero row 2 of 0.weight"
    assert isinstance(view.run.log[-1].edit, Together)


def test_freezing_and_freeing(view):
    double(view, face(view, 4))
    view.key("k")
    frozen = settled(view).frozen
    assert np.flatnonzero(frozen).tolist() == [3, 4, 5, 10]
    kept = view.run.values[[3, 4, 5, 10]].copy()
    view.send("step", 3)
    assert np.array_equal(settled(view).values[[3, 4, 5, 10]], kept)
    assert "all frozen" in [t.text for layer in view.bench.overlays for s in layer for t in s.texts]
    click(view, spot(view, "freeze"))
    assert not settled(view).frozen.any()
    assert [a.what for a in view.run.log] == ["freeze neuron 1 of layer 0", "free neuron 1 of layer 0"]
    click(view, face(view, 0))
    view.key("k")
    settled(view)
    assert view.run.log[-1].edit == SetFrozen(0, np.array([True]))


def test_a_layer_begins_anew_with_data(view):
    double(view, face(view, 4))
    view.key("i")
    drawn = settled(view).values.copy()
    (entry,) = view.run.log
    assert entry.what == "neuron 1 of layer 0 begins anew"
    view.key("z", ctrl=True)
    settled(view)
    view.key("i")
    assert np.array_equal(settled(view).values, drawn)  # the same step of the same seed


def test_a_nudge_is_a_notch_and_several_are_one_edit_until_they_rest(view):
    click(view, face(view, 2))
    before = float(view.run.values[2])
    for key in ("=", "+", "=", "-"):
        view.key(key, key)
        view.tick(0.05)
    after = float(settled(view).values[2])
    assert after > before
    assert len(view.run.log) == 1
    view.tick(REST + 0.1)
    view.key("-", "-")
    settled(view)
    assert len(view.run.log) == 2


# typing


def typed(view, text):
    for character in text:
        view.key(character, character)


@pytest.mark.parametrize(
    ("text", "number"), [("-0.25", -0.25), ("1e-3", 1e-3), ("2", 2.0), (".5", 0.5), ("-0,5", -0.5)]
)
def test_a_typed_number_is_set_by_enter(view, text, number):
    click(view, face(view, 4))
    view.key("Enter", "\r")
    typed(view, text)
    view.key("Return", "\r")
    assert settled(view).values[4] == np.float32(number)
    (entry,) = view.run.log
    assert entry.edit == SetWeights(4, np.array([number]))
    assert view.bench.touch.inspector.entry is None


def test_a_double_click_on_the_number_begins_to_type_and_escape_leaves_it(view):
    click(view, face(view, 4))
    settled(view)
    x, y, width, height = view.bench.touch.inspector.number
    before = view.run.values.copy()
    double(view, (x + width / 2, y + height / 2))
    assert view.bench.touch.inspector.entry is not None
    typed(view, "7")
    shown = [t.text for layer in view.bench.overlays for s in layer for t in s.texts]
    view.tick(0.2)
    shown = [t.text for layer in view.bench.overlays for s in layer for t in s.texts]
    assert "7" in shown
    view.key("Escape")
    assert view.bench.touch.inspector is not None
    assert np.array_equal(settled(view).values, before)
    assert view.run.log == []


def test_while_a_number_is_typed_keys_do_nothing_else(view):
    click(view, face(view, 4))
    view.key("Enter")
    look = view.bench.colouring.quantity
    typed(view, "gxk /*")
    view.key("Right")
    settled(view)
    assert (view.bench.colouring.quantity, view.run.log, view.run.steps) == (look, [], 5)
    assert "Enter sets" in view.notice()
    typed(view, "12")
    view.key("Backspace")
    assert view.bench.touch.inspector.entry.text == "1"


@pytest.mark.parametrize("text", ["-", "1e", "..", "1e999", "--1", "e"])
def test_what_is_no_number_is_not_set(view, text):
    click(view, face(view, 4))
    view.key("Enter")
    typed(view, text)
    view.key("Enter")
    settled(view)
    assert "is no number" in view.notice()
    assert view.run.log == []
    view.key("Escape")
    view.key("Enter")
    view.key("Enter")  # nothing was typed: nothing is set
    settled(view)
    assert view.run.log == []


def test_several_are_multiplied_by_what_is_typed(view):
    double(view, face(view, 4))
    before = view.run.values.copy()
    view.key("Enter")
    typed(view, "-3")
    view.key("Enter")
    after = settled(view).values
    assert np.array_equal(after[[3, 4, 5, 10]], before[[3, 4, 5, 10]] * np.float32(-3))
    assert view.run.log[-1].what == "neuron 1 of layer 0 × -3"


# why, and when


def test_a_term_that_is_clicked_is_shown(view):
    click(view, face(view, 4))
    settled(view)
    term = view.bench.touch.inspector.account.terms[2]
    click(view, spot(view, "sample", term.sample))
    settled(view)
    assert np.allclose(view.bench.subject.probe, X[term.sample])
    assert np.allclose(view.frame().activations["input"], X[term.sample])
    assert view.bench.selected == 4


def test_the_account_is_of_the_frame_that_is_shown_after_steps_edits_and_ways_back(view):
    click(view, face(view, 4))
    moves = [
        lambda: view.send("step", 3), lambda: view.key("x"), lambda: view.send("back", 4),
        lambda: view.run.set_weights(0, [3.0]), lambda: view.key("z", ctrl=True), lambda: view.send("step"),
    ]  # fmt: skip
    for move in moves:
        move()
        frame = settled(view, 6)
        account = view.bench.touch.inspector.account
        opened = view.worker.call(view.run.open)
        assert (account.step, account.value) == (frame.step, float(frame.values[4]))
        assert account.gradient == opened.gradient[4]
        texts = [t.text for layer in view.bench.overlays for s in layer for t in s.texts]
        assert f"step {frame.step + 1:,}: 8 largest of 32 terms" in texts
        assert account.along is not None
        key, record = view.bench.touch.inspector.record
        assert (int(record.steps[-1]), key[1]) == (frame.past.newest, frame.past.newest)


def test_below_what_if_stand_weights_and_above_it_the_loss_of_the_one_it_has(view):
    click(view, face(view, 4))
    view.send("step", 3)
    settled(view, 6)
    along = view.bench.touch.inspector.account.along
    texts = [t for layer in view.bench.overlays for s in layer for t in s.texts]
    (title,) = [t for t in texts if t.text == "what if"]
    (loss,) = [t for t in texts if t.text == f"loss {along.loss:.4f}"]
    assert (loss.y, loss.anchor) == (title.y, "right")
    assert title.x + measure(title.text, title.size, True) + 8 <= loss.x - measure(loss.text, loss.size)
    below = [t.text for t in texts if t.y > title.y + 40 and title.x <= t.x <= loss.x and t.text[0] in "+−0"]
    numbers = [float(text.replace("−", "-")) for text in below]
    assert numbers == pytest.approx([along.values.min(), along.values.max(), along.value], rel=0.02, abs=0.006)


def test_while_it_trains_nobody_waits_and_the_answers_come(view):
    click(view, face(view, 4))
    view.playback.play()
    seen, end = set(), time.monotonic() + 20
    while len(seen) < 4 and time.monotonic() < end:
        view.tick(0.05)
        account = view.bench.touch.inspector.account
        if account is not None:
            seen.add(account.step)
        time.sleep(0.002)
    view.playback.pause()
    assert len(seen) >= 4


def test_v_goes_to_where_the_weight_changed_its_sign(view):
    view.run.set_weights(4, [1.0])
    view.send("step", 10)
    settled(view)
    view.run.set_weights(4, [-1.0])
    view.send("step", 10)
    settled(view)
    click(view, face(view, 4))
    view.key("v")
    settled(view, 8)
    assert view.worker.latest.step == 15
    assert "changed its sign at step 15" in view.notice()
    view.key("Home")
    settled(view)
    view.key("v")
    settled(view, 8)
    assert "has not changed its sign before" in view.notice()


# elsewhere


def test_weights_of_a_loop_are_changed_too_but_not_drawn_anew():
    layer = nn.Linear(2, 2, seed=1)
    with offscreen():
        view = Mirror(subject_of([layer.weight, layer.bias]), SIZE)
        view.tick(0.1)
        click(view, face(view, 1))
        before = layer.weight.data.copy()
        view.key("*", "*")
        assert layer.weight[0][1].data == 2 * before[0, 1]
        view.key("k")
        view.tick(0.1)
        assert layer.weight[0][1].frozen
        view.key("x")
        assert layer.weight[0][1].data == 0
        view.key("i")
        assert "cannot do RedrawWeights" in view.notice()
        view.selected.select_part("row")
        view.key("x")
        view.tick(0.1)
        assert np.array_equal(layer.weight.data[0], [0, 0])
        view.key("v")
        assert view.notice().startswith("V: ")


def test_plain_numbers_are_selected_and_not_touched():
    array = np.arange(12.0).reshape(3, 4)
    with offscreen():
        view = Mirror(subject_of({"a": array}), SIZE)
        view.tick(0.1)
        double(view, face(view, 5))
        texts = [t.text for layer in view.bench.overlays for s in layer for t in s.texts]
        assert "row 1 of a" in texts
        for key in "xk/*i":
            view.key(key, key)
            assert "looked at, not touched" in view.notice(), key
        assert np.array_equal(array, np.arange(12.0).reshape(3, 4))


def test_without_a_selection_keys_say_so(view):
    for key in "xki/*va":
        view.key(key, key)
        assert "click a cube first" in view.notice(), key
    assert view.run.log == []


def test_a_diverged_weight_can_be_selected_and_mended(view):
    view.run.set_weights(4, [float("nan")])
    settled(view)
    click(view, face(view, 4))
    settled(view)
    texts = [t.text for layer in view.bench.overlays for s in layer for t in s.texts]
    assert "NaN" in texts
    view.key("x")
    assert settled(view).values[4] == 0


def test_lone_and_tied_weights():
    a, b = sv.Weight(0.5, name="a"), sv.Weight(-0.5, name="b")
    run = Run(lambda x: [a * x[0] + b * a], nn.MSELoss(), optim.SGD([a, b], lr=0.1), (X[:, :1], X[:, 1:2]),
              engine="numpy")  # fmt: skip
    with offscreen():
        view = LiveView(Scene("lone", run, panels=(LossCurve(),)), SIZE, playing=False)
        view.send("step", 2)
        settled(view)
        click(view, face(view, 0))
        settled(view)
        account = view.bench.touch.inspector.account
        assert account.count == 64  # a is used twice for each of 32 samples
        view.key("x")
        assert settled(view).values[0] == 0
        view.close()


def test_a_button_asks_when_training_is_to_stop(view):
    view.run.set_weights(4, [0.02])
    settled(view)
    click(view, face(view, 4))
    settled(view)
    click(view, spot(view, "break_on"))
    view.key("Enter", "\r")
    settled(view)
    assert [point.text for point in view.run.breakpoints] == ["0.weight[1][1] crosses 0"]


def test_a_click_on_the_history_goes_to_that_step(view):
    click(view, face(view, 4))
    view.send("step", 95)
    settled(view, 6)
    box = next(spot.box for spot in view.bench.touch.inspector.spots if spot.name == "moment")
    values = {}
    for share in (0.25, 0.75):
        click(view, (box[0] + share * box[2], box[1] + box[3] / 2))
        settled(view, 6)
        assert view.shown.step == pytest.approx(100 * share, abs=1)
        values[view.shown.step] = float(view.shown.values[4])
    record = view.bench.touch.inspector.record[1]
    known = dict(zip(record.steps.tolist(), record.values.tolist(), strict=True))
    assert all(known[step] == value for step, value in values.items() if step in known)
    assert (record.steps[0], record.steps[-1]) == (0, 100)  # what is still to come is drawn as well


@pytest.mark.parametrize("kind", [optim.SGD, optim.Adam])
def test_looking_changes_no_bit_of_the_run(kind):
    """A weight is looked into while it trains and rests, goes back and forth; another run is not looked at."""

    def made():
        net = nn.Sequential(nn.Linear(3, 4, seed=1), nn.Tanh(), nn.Linear(4, 3, seed=2), nn.Sigmoid())
        run = Run(net, nn.MSELoss(), kind(net.parameters(), lr=0.05), (X, 1 - X), engine="numpy", batch_size=8)
        return Scene("t", run, X[0], 1 - X[0], panels=(ColourCube(COLOURS, 1 - COLOURS), LossCurve()))

    with offscreen():
        looked = LiveView(made(), SIZE, playing=False)
        other = made().run
        settled(looked)
        for round_ in range(4):
            click(looked, face(looked, 3 + round_))
            settled(looked)
            looked.send("step", 20)
            settled(looked)
            looked.key("v")
            settled(looked, 8)
            looked.send("newest")
            settled(looked)
            looked.send("back", 7)
            settled(looked)
            looked.send("newest")
            settled(looked)
            other.step(20)
            assert looked.bench.touch.inspector.record is not None
            assert looked.bench.touch.inspector.account is not None
            mine, theirs = looked.worker.call(looked.run.state), other.state()
            assert mine.step == theirs.step == 20 * (round_ + 1)
            for name in ("values", "gradient", "previous", "computed", "frozen"):
                assert getattr(mine, name).tobytes() == getattr(theirs, name).tobytes()
            assert [*map(bytes, mine.gathered.values())] == [*map(bytes, theirs.gathered.values())]
        assert looked.run.log == []
        assert looked.run.history.loss.tobytes() == other.history.loss.tobytes()
        looked.close()
    other.close()
