"""A weight in the hand: what changes it, what does not, and what is written down of it."""

from __future__ import annotations

import time

import numpy as np
import pytest

from scalarviz import Run, nn, optim
from scalarviz.run import Scene
from scalarviz.run.edits import SetOptimizer, SetWeights
from scalarviz.run.panels import ColourCube, Image
from scalarviz.view.out.offscreen import offscreen
from scalarviz.view.out.unseen import Unseen
from scalarviz.view.screen.touch import plate_of
from scalarviz.view.shown.subject import subject_of
from scalarviz.view.watch.actions import ACTIONS
from scalarviz.view.watch.live import LiveView
from scalarviz.view.watch.mirror import Mirror
from scalarviz.view.watch.pointer import REST, SCROLL, SWEEP

pytestmark = pytest.mark.gl
SIZE = (1280, 720)
X = np.random.default_rng(0).random((32, 3))
COLOURS = np.stack(np.meshgrid(*[np.linspace(0, 1, 4)] * 3, indexing="ij"), axis=-1).reshape(-1, 3)


def scene():
    net = nn.Sequential(nn.Linear(3, 3, seed=1), nn.Sigmoid())
    run = Run(net, nn.MSELoss(), optim.SGD(net.parameters(), lr=0.5), (X, 1 - X), engine="numpy")
    return Scene("t", run, probe=X[0], probe_target=1 - X[0], panels=(ColourCube(COLOURS, 1 - COLOURS),))


@pytest.fixture
def view():
    with offscreen():
        made = LiveView(scene(), SIZE, playing=False)
        made.tick(0.0)
        yield made
        made.close()


def face(view, index):
    plate = plate_of(view.bench.layout, index)
    x, y = view.bench.project([plate.centre_of(index - plate.start) + plate.depth * plate.axes[2]])[0]
    return float(x) * view.bench.scale, float(y) * view.bench.scale


def number(view):
    x, y, width, height = view.bench.touch.inspector.number
    return (x + width / 2) * view.bench.scale, (y + height / 2) * view.bench.scale


def settled(view):
    view.worker.settle()
    view.tick(0.02)
    return view.worker.latest


def select(view, index):
    view.press(face(view, index))
    view.release(face(view, index))
    view.tick(0.02)
    assert view.bench.selected == index


def drag(view, start, *ways):
    view.press(start)
    for dx, dy in ways:
        view.move((start[0] + dx, start[1] + dy))
        view.tick(0.02)
    view.release((start[0] + ways[-1][0], start[1] + ways[-1][1]))
    view.tick(0.02)


def test_dragging_the_number_changes_the_weight_by_the_way_and_is_one_edit(view):
    select(view, 4)
    before, span = view.run.values.copy(), view.bench.extent_of(4)
    drag(view, number(view), (20, 0), (60, 5), (30, 40))
    after = settled(view).values
    assert after[4] == pytest.approx(before[4] + 30 / SWEEP * span)
    assert np.array_equal(np.delete(after, 4), np.delete(before, 4))
    (entry,) = view.run.log
    assert isinstance(entry.edit, SetWeights)
    assert (entry.edit.start, *entry.edit.numbers.astype(np.float32)) == (4, after[4])
    span = view.bench.extent_of(4)  # it has grown
    drag(view, number(view), (-30, 0))
    assert settled(view).values[4] == pytest.approx(after[4] - 30 / SWEEP * span)
    assert len(view.run.log) == 2  # another gesture is another edit


def test_the_weight_is_seen_to_move_while_it_is_dragged(view):
    select(view, 0)
    at, seen = number(view), []
    view.press(at)
    for dx in (10, 20, 30):
        view.move((at[0] + dx, at[1]))
        seen.append(float(settled(view).values[0]))
    view.release(at)
    assert seen == sorted(set(seen))
    assert view._shown.edited


def test_training_waits_while_a_hand_holds_a_weight(view):
    select(view, 2)
    view.playback.play()
    until(view, lambda: view.run.steps > 5)
    at = number(view)
    view.press(at)
    view.move((at[0] + 50, at[1]))
    settled(view)
    held = view.run.steps
    for _ in range(20):
        view.tick(0.05)
    assert view.worker.settle().step == held
    assert view.playback.running  # no pause: it goes on by itself
    view.move((at[0] + 70, at[1]))
    settled(view)
    assert len(view.run.log) == 1
    view.release((at[0] + 70, at[1]))
    until(view, lambda: view.run.steps > held + 5)
    view.playback.pause()
    assert len(view.run.log) == 1


def until(view, condition, seconds=20.0):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        view.tick(0.02)
        time.sleep(0.002)


def test_turns_of_the_wheel_on_one_cube_are_one_edit_until_it_rests(view):
    at, before, span = face(view, 1), float(view.run.values[1]), view.bench.extent_of(1)
    for _ in range(4):
        view.scroll(at, (0.0, 1.0), shift=True)
        view.tick(0.1)
    assert settled(view).values[1] == pytest.approx(before + 4 * SCROLL * span)
    assert len(view.run.log) == 1
    view.tick(REST + 0.01)
    view.scroll(at, (-2.0, 0.0), shift=True)
    assert settled(view).values[1] < before + 3 * SCROLL * span
    assert len(view.run.log) == 2
    view.scroll(face(view, 7), (0.0, 1.0), shift=True)
    settled(view)
    assert [entry.edit.start for entry in view.run.log] == [1, 1, 7]


@pytest.mark.parametrize("by", ["number", "wheel"])
def test_escape_puts_back_what_a_hand_is_doing(view, by):
    select(view, 3)
    before, at = float(view.run.values[3]), number(view)
    if by == "number":
        view.press(at)
        view.move((at[0] + 80, at[1]))
    else:
        view.scroll(face(view, 3), (0.0, 3.0), shift=True)
    assert settled(view).values[3] != before
    view.key("Escape")
    assert settled(view).values[3] == before
    assert view.bench.selected == 3
    view.move((at[0] + 200, at[1]))
    view.release((at[0] + 200, at[1]))
    assert settled(view).values[3] == before


def test_no_gesture_of_a_newcomer_changes_what_is_learnt(view):
    """Everything but the three that say so: Shift and the wheel, a clicked cube's value, Shift and two colours."""
    rng, before = np.random.default_rng(5), view.run.values.copy()
    inputs, targets = view.run.samples()
    lr = view.run.lr
    for _ in range(300):
        kind, at = rng.integers(5), tuple(rng.uniform((0, 0), SIZE))
        end = tuple(rng.uniform((0, 0), SIZE))
        if kind == 0:
            view.scroll(at, (float(rng.integers(-2, 3)), float(rng.integers(-3, 4))))
        elif kind == 1:
            view.move(at)
        else:
            on_number = view.bench.touch.number_at(view.bench.to_logical(at))
            button = "left" if kind == 2 else "right"
            if kind == 3 or on_number:
                at = face(view, int(rng.integers(12)))
            if view.bench.touch.spot_at(view.bench.to_logical(at)):
                continue  # a word of the inspector says what it does: it is no gesture
            view.press(at, button)
            if kind != 3:
                view.move(end)
            view.release(at if kind == 3 else end)
        view.tick(0.02)
    assert np.array_equal(settled(view).values, before)
    assert all(np.array_equal(a, b) for a, b in zip(view.run.samples(), (inputs, targets), strict=True))
    assert view.run.log == []
    assert (view.run.lr, view.run.steps) == (lr, 0)


def test_nothing_below_the_list_of_keys_is_touched_and_a_click_closes_it(view):
    before, camera = view.run.values.copy(), view.bench.camera
    view.send("toggle_help")
    view.tick(0.02)
    at = face(view, 4)
    view.move(at)
    view.scroll(at, (0.0, 2.0), shift=True)
    view.scroll(at, (0.0, 2.0))
    drag(view, at, (50, 0))
    assert view.bench.camera is camera
    assert not view.bench.help
    view.send("toggle_help")
    view.press(at)
    view.release(at)
    assert not view.bench.help
    assert view.bench.selected is view.bench.touch.hovered is None
    assert np.array_equal(settled(view).values, before)


def test_a_weight_behind_a_panel_is_not_changed():
    made = scene()
    made.panels = (Image("mine", lambda moment: np.zeros((40, 40, 3)), place="overlay"),)
    with offscreen():
        view = LiveView(made, SIZE, playing=False)
        view.tick(0.0)
        x, y, width, height = view.bench.side.drawers["image"].box
        middle = np.array([x + width / 2, y + height / 2]) * view.bench.scale
        start = np.array(face(view, 2))
        for _ in range(60):  # the cubes go behind the panel
            start = np.array(face(view, 2))
            view.bench.pan(*(middle - start))
            view.tick(0.02)
        index = view.bench.pick(tuple(middle))
        assert index is not None
        view.scroll(tuple(middle), (0.0, 3.0), shift=True)
        assert view.notice().endswith("there is no cube")
        view.close()
    assert made.run.log == []


def test_a_click_on_the_inspector_does_not_close_it_and_beside_it_does(view):
    select(view, 5)
    x, y, width, height = view.bench.touch.inspector.box
    for at in (number(view), (x + width - 20, y + height - 10), (x + 4, y + 4)):
        view.press(at)
        view.release(at)
        view.tick(0.02)
        assert view.bench.selected == 5
    view.press((900.0, 100.0))
    view.release((900.0, 100.0))
    assert view.bench.selected is None


def test_pointing_at_the_number_says_what_a_drag_does(view):
    select(view, 5)

    def said():
        view.tick(0.02)
        return [text.text for layer in view.bench.overlays for sketch in layer for text in sketch.texts]

    assert "to change this weight" not in said()
    view.move(number(view))
    assert "to change this weight" in said()
    view.move((600.0, 300.0))
    assert "to change this weight" not in said()


def test_a_number_without_a_finite_value_starts_at_zero(view):
    view.put(0, float("nan"))
    settled(view)
    view.scroll(face(view, 0), (0.0, 1.0), shift=True)
    assert np.isfinite(settled(view).values[0])


def test_arrays_are_looked_at_and_not_touched():
    numbers = np.eye(3)
    with offscreen():
        view = Mirror(subject_of({"a": numbers}), SIZE)
        view.tick(0.0)
        at = face(view, 4)
        view.scroll(at, (0.0, 3.0), shift=True)
        assert view.notice() == "Shift+wheel: these numbers are looked at, not touched"
        view.press(at)
        view.release(at)
        view.tick(0.02)
        assert view.bench.selected == 4
        drag(view, number(view), (60, 0))
        view.close()
    assert np.array_equal(numbers, np.eye(3))


def test_a_mirrored_run_logs_a_gesture_once():
    made = scene()
    with offscreen():
        view = Mirror(subject_of(made), SIZE)
        view.tick(0.0)
        before = float(made.run.values[4])
        select(view, 4)
        drag(view, number(view), (10, 0), (40, 0), (30, 0))
        view.close()
    assert made.run.values[4] == pytest.approx(before + 30 / SWEEP * view.bench.extent_of(4), rel=0.05)
    assert len(made.run.log) == 1


@pytest.mark.parametrize("lr", [1e308, 1.7e308])
def test_what_a_key_asks_for_and_cannot_be_is_said(view, lr):
    view.run.lr = lr
    settled(view)
    assert view.key("Up")
    assert "lr" in view.notice()
    settled(view)
    assert view.run.lr == lr
    assert view.message() == ""


def test_the_learning_rate_is_an_edit_of_its_number(view):
    for key in ("Up", "Up", "Down"):
        view.key(key)
    settled(view)
    assert view.run.lr == 1.0
    assert [entry.edit for entry in view.run.log] == [SetOptimizer({"lr": lr}) for lr in (1.0, 2.0, 1.0)]


KEYS = [key for action in ACTIONS for key in action.keys if not key.startswith("Ctrl")] + [
    "1",
    "Backspace",
    "Left",
    "q",
]


@pytest.mark.parametrize("kind", ["live", "weights", "arrays"])
@pytest.mark.parametrize("size", [SIZE, (400, 300)])
def test_any_order_of_keys_and_hands_is_answered(kind, size):
    things = {"weights": lambda: nn.Linear(3, 3, seed=1), "arrays": lambda: {"a": np.eye(4), "b": np.arange(300.0)}}
    if kind == "live":
        host = Unseen(lambda wanted: LiveView(scene(), wanted, playing=False), size)
    else:
        host = Unseen(lambda wanted: Mirror(subject_of(things[kind]()), wanted), size)
    host.pass_time()
    view, rng = host.view, np.random.default_rng(3)
    for k in range(150):
        at, both = tuple(rng.uniform((-5, -5), np.array(size) + 5)), bool(rng.integers(2))
        key = str(rng.choice(KEYS))
        events = (
            lambda at=at, both=both: view.scroll(at, tuple(map(float, rng.integers(-3, 4, 2))), shift=both),
            lambda at=at, both=both: view.press(at, "left" if both else "right"),
            lambda at=at: view.move(at),
            lambda at=at: view.release(at),
            lambda key=key, both=both: view.key(key, key if len(key) == 1 else "", shift=both),
            view.leave,
        )
        with offscreen():
            events[rng.integers(len(events))]()
        host.pass_time(float(rng.choice([0.016, 0.3])))
        if k % 30 == 0:
            assert host.picture().std() > 0
        if host.closed:  # Escape twice
            return
    host.close_soon()
