"""Weights are selected and changed by hand: each change is one edit, by key, button, pointer and typing alike."""

from __future__ import annotations

import numpy as np
import pytest

from kit.runs import bits
from kit.windows import X, live_hand, make_colour_run, make_colour_scene, mirror_hand
from scalarviz import nn, optim
from scalarviz.run.edits import SetFrozen, SetWeights
from scalarviz.run.panels import ColourCube
from scalarviz.view.watch.pointer import DOUBLE, REST, SCROLL, SWEEP

pytestmark = pytest.mark.gl
NEURON = [3, 4, 5, 10]


@pytest.fixture
def hand():
    with live_hand() as made:
        made.view.send("step", 5)
        made.settled()
        yield made


def indices(hand):
    inspector = hand.inspector
    return None if inspector is None else np.flatnonzero(inspector.selection.mask(0, 12)).tolist()


def selected(hand, index=4):
    hand.click(hand.face(index))
    hand.settled()
    return hand.inspector


def test_clicks_select_a_weight_its_neuron_a_part_or_several(hand):
    hand.double(hand.face(4))
    assert indices(hand) == NEURON
    hand.view.key("Escape")
    hand.click(hand.face(4))
    hand.view.tick(DOUBLE + 0.1)
    hand.click(hand.face(4))  # two slow clicks
    assert indices(hand) == [4]
    for kind, expected in (("row", [3, 4, 5]), ("column", [1, 4, 7]), ("tensor", list(range(9))),
                           ("layer", list(range(12))), ("neuron", NEURON), ("weight", [4])):  # fmt: skip
        hand.click(hand.spot("part", kind))
        hand.settled()
        assert (indices(hand), hand.view.bench.selected) == (expected, 4)
    for count in (3, 4, 9, 12, 1):
        hand.key("a")
        assert len(indices(hand)) == count
    hand.view.key("Escape")
    for index, expected in ((4, [4]), (8, [4, 8]), (4, [8]), (8, None)):
        hand.click(hand.face(index), ctrl=True)
        assert indices(hand) == expected


def test_a_click_on_the_inspector_reaches_no_panel_and_beside_it_closes_it(hand):
    bench, cube = hand.view.bench, hand.view.bench.side.drawer(ColourCube)
    stood = cube.box
    x, y, width, height = selected(hand, 5).box
    assert cube.box is None
    for at in (hand.number(), ((x + width - 20) * bench.scale, (y + height - 10) * bench.scale), (x + 4, y + 4)):
        hand.click(at, shift=True)
        assert bench.selected == 5
    for at, said in (((600.0, 300.0), False), (hand.number(), True)):
        hand.view.move(at)
        hand.view.tick(0.02)
        assert ("to change this weight" in hand.texts()) is said
    hand.click((900.0, 100.0))
    hand.settled()
    assert (bench.selected, cube.box, hand.run.log) == (None, stood, [])


@pytest.mark.parametrize(("name", "key", "factor"), [("zero", "x", 0.0), ("halve", "/", 0.5), ("double", "*", 2.0)])
@pytest.mark.parametrize("kind", ["weight", "neuron", "column"])
def test_a_change_is_one_edit_and_undone_at_once(hand, name, key, factor, kind):
    selected(hand)
    hand.view.selected.select_part(kind)
    hand.view.refresh()
    hand.settled()
    before, selection = hand.run.values.copy(), hand.inspector.selection
    wanted = np.where(selection.mask(0, 12), before * np.float32(factor), before)
    for change in (lambda: hand.key(key), lambda: hand.click(hand.spot(name))):
        change()
        assert np.array_equal(hand.settled().values, wanted)
        (entry,) = hand.run.log
        assert selection.words in entry.what or kind == "weight"
        assert np.array_equal(hand.key("z", ctrl=True).values, before)


def test_freezing_and_drawing_anew(hand):
    hand.double(hand.face(4))
    assert np.flatnonzero(hand.key("k").frozen).tolist() == NEURON
    kept = hand.run.values[NEURON].copy()
    hand.view.send("step", 3)
    assert np.array_equal(hand.settled().values[NEURON], kept)
    hand.click(hand.spot("freeze"))
    assert not hand.settled().frozen.any()
    drawn = hand.key("i").values.copy()
    what = ["freeze neuron g of layer", "free neuron g of layer", "re-initialise neuron g of layer"]
    assert [entry.what for entry in hand.run.log] == what
    hand.key("z", ctrl=True)
    assert np.array_equal(hand.key("i").values, drawn)  # the same step of the same seed
    hand.click(hand.face(0))
    hand.key("k")
    assert hand.run.log[-1].edit == SetFrozen(0, np.array([True]))


@pytest.mark.parametrize(("text", "number"), [("1e-3", 1e-3), (".5", 0.5), ("-0,5", -0.5)])
def test_a_typed_number_is_set_by_enter(hand, text, number):
    selected(hand)
    for wrong in ("-", "1e999", "--1"):
        hand.view.key("Enter", "\r")
        hand.type(wrong)
        hand.view.key("Return", "\r")
        assert "allowed: a number" in hand.view.notice()
        for key in ("Escape", "Enter", "Enter"):  # nothing was typed: nothing is set
            hand.key(key)
    assert hand.run.log == []
    hand.view.key("Enter", "\r")
    hand.type(text)
    hand.view.key("Return", "\r")
    assert hand.settled().values[4] == np.float32(number)
    assert [entry.edit for entry in hand.run.log] == [SetWeights(4, np.array([number]))]
    assert hand.inspector.entry is None


def test_while_a_number_is_typed_keys_do_nothing_else_and_several_weights_are_multiplied(hand):
    inspector = selected(hand)
    hand.double(hand.number())  # as the Enter key
    look = hand.view.bench.colouring.quantity
    hand.type("gxk /*72")
    for key in ("Right", "Backspace"):
        hand.key(key)
    assert (hand.view.bench.colouring.quantity, hand.run.log, hand.run.steps) == (look, [], 5)
    assert (inspector.entry.text, "7" in hand.texts(), "Enter sets" in hand.view.notice()) == ("7", True, True)
    hand.key("Escape")
    assert hand.inspector.entry is None
    hand.double(hand.face(4))
    before = hand.run.values.copy()
    hand.key("Enter")
    hand.type("-3")
    assert np.array_equal(hand.key("Enter").values[NEURON], before[NEURON] * np.float32(-3))
    assert [entry.what for entry in hand.run.log] == ["neuron g of layer × -3"]


def test_what_cannot_be_done_is_said_and_a_weight_that_is_not_finite_is_mended(hand):
    for key in "xki/*va":
        hand.view.key(key, key)
        assert "click a cube first" in hand.view.notice(), key
    hand.run.lr = 1.7e308
    hand.settled()
    assert hand.view.key("Up")
    assert "lr" in hand.view.notice()
    hand.settled()
    assert (hand.run.lr, hand.view.message()) == (1.7e308, "")
    hand.view.set_weight(4, float("nan"))
    hand.settled()
    selected(hand)
    assert "NaN" in hand.texts()
    hand.view.scroll(hand.face(4), (0.0, 1.0), shift=True)  # the wheel begins at 0
    assert np.isfinite(hand.settled().values[4])


@pytest.mark.parametrize("by", ["number", "wheel", "keys"])
def test_a_gesture_changes_the_weight_by_its_way_is_one_edit_and_given_up_by_escape(hand, by):
    selected(hand, 1)
    before, span, at = hand.run.values.copy(), hand.view.bench.extent_of(1), hand.number()
    if by == "number":
        hand.drag(at, (20, 0), (60, 5), (30, 40))
    for sign in (1, 1, 1, -1, 1) if by != "number" else ():
        if by == "wheel":
            hand.view.scroll(hand.face(1), (0.0, sign), shift=True)
        else:
            hand.view.key("+" if sign > 0 else "-", "+" if sign > 0 else "-")
        hand.view.tick(0.1)
    hand.until(lambda: hand.run.log)  # the hand has let go
    after = hand.settled(1, 0.02).values
    assert after[1] == pytest.approx(before[1] + (30 / SWEEP if by == "number" else 3 * SCROLL) * span)
    assert np.array_equal(np.delete(after, 1), np.delete(before, 1))
    (entry,) = hand.run.log
    assert (entry.edit.start, *entry.edit.numbers.astype(np.float32)) == (1, after[1])
    hand.view.tick(REST + 0.01)
    hand.view.scroll(hand.face(1), (-2.0, 0.0), shift=True)  # a wheel on its side
    assert hand.settled().values[1] < after[1]
    hand.view.scroll(hand.face(7), (0.0, 1.0), shift=True)
    before = hand.settled().values.copy()
    assert [entry.edit.start for entry in hand.run.log] == [1, 1, 7]
    hand.view.tick(REST + 0.01)
    hand.view.press(at) if by == "number" else hand.view.scroll(hand.face(3), (0.0, 3.0), shift=True)
    hand.view.move((at[0] + 80, at[1]))
    assert not np.array_equal(hand.settled(1, 0.02).values, before)
    assert np.array_equal(hand.key("Escape").values, before)  # it puts back what a hand is doing
    hand.view.move((at[0] + 200, at[1]))
    hand.view.release((at[0] + 200, at[1]))
    assert (np.array_equal(hand.settled(1, 0.02).values, before), hand.view.bench.selected) == (True, 1)


def test_training_waits_while_a_weight_is_dragged_and_each_move_is_seen(hand):
    inspector, seen = selected(hand, 2), set()
    hand.view.playback.play()
    hand.until(lambda: seen.add(getattr(inspector.account, "step", None)) or len(seen) > 4, tick=0.05)  # answers come
    at, seen = hand.number(), []
    hand.view.press(at)
    for way in (20, 50, 70):
        hand.view.move((at[0] + way, at[1]))
        seen.append(float(hand.settled(1, 0.02).values[2]))
        held = hand.run.steps
        hand.settled(5, 0.05)
        assert hand.view.worker.settle().step == held
    assert seen == sorted(set(seen))
    assert hand.view.playback.running  # no pause: it goes on by itself
    hand.view.release((at[0] + 70, at[1]))
    hand.until(lambda: hand.run.steps > held + 5)
    hand.view.playback.pause()
    assert len(hand.run.log) == 1


def test_no_gesture_of_a_newcomer_changes_what_is_learnt():
    """Everything but the three that say so: Shift and the wheel, a clicked cube's value, Shift and two colours."""
    with live_hand(make_colour_scene(panels=(ColourCube(X, 1 - X),))) as hand:
        view, rng, before = hand.view, np.random.default_rng(5), hand.run.values.copy()
        touch, to, size = view.bench.interaction, view.bench.to_logical, view.bench.size
        samples, stood = hand.run.samples(), (hand.run.lr, hand.run.steps)
        for _ in range(200):
            at, end = tuple(rng.uniform((0, 0), size)), tuple(rng.uniform((0, 0), size))
            match rng.integers(5):
                case 0:
                    view.scroll(at, (float(rng.integers(-2, 3)), float(rng.integers(-3, 4))))
                case 1:
                    view.move(at)
                case 2:
                    hand.click(hand.face(int(rng.integers(12))))
                case kind if not touch.number_at(to(at)) and not touch.spot_at(to(at)):  # those say what they do
                    view.press(at, "left" if kind == 3 else "right")
                    view.move(end)
                    view.release(end)
            view.tick(0.02)
        assert np.array_equal(hand.settled().values, before)
        assert all(map(np.array_equal, hand.run.samples(), samples))
        assert (hand.run.log, (hand.run.lr, hand.run.steps)) == ([], stood)


def test_a_term_that_is_clicked_is_shown_and_a_click_on_the_history_goes_there(hand):
    hand.view.send("step", 95)
    hand.settled()
    term = selected(hand).account.why.rows[2]
    hand.click(hand.spot("sample", term.sample))
    hand.settled()
    assert np.allclose(hand.view.frame().activations["input"], X[term.sample])
    assert hand.view.bench.selected == 4
    box = next(spot.box for spot in hand.bench.spots if spot.name == "moment")
    record = hand.inspector.record[1]
    known = dict(zip(record.steps.tolist(), record.values.tolist(), strict=True))
    for share in (0.25, 0.75):
        hand.click((box[0] + share * box[2], box[1] + box[3] / 2))
        frame = hand.settled(6)
        assert frame.step == pytest.approx(100 * share, abs=1)
        assert known.get(frame.step, frame.values[4]) == frame.values[4]
    assert (record.steps[0], record.steps[-1]) == (0, 100)  # what is still to come is drawn as well


def test_the_curve_of_a_weight_begins_before_edits_of_the_first_step_and_stays(hand):
    hand.do("first")
    selected(hand)
    before = float(hand.settled(6).values[4])
    for value in (0.9, 0.5, -0.25):
        hand.view.set_weight(4, value)
        hand.settled(8)
        moved = hand.inspector.moved(hand.view.shown)
        assert (moved.values[0], moved.values[-1]) == (before, np.float32(value))
    hand.do("step")
    hand.settled(8)
    moved = hand.inspector.moved(hand.view.shown)
    assert hand.inspector.record[1].steps.tolist() == [0, 1]
    assert (moved.steps.min(), moved.steps.max(), moved.values[0]) == (0, 1, before)


def test_the_account_is_of_the_frame_that_is_shown_after_steps_edits_and_ways_back(hand):
    selected(hand)
    for move in (
        lambda: hand.view.send("step", 3), lambda: hand.view.key("x"), lambda: hand.view.send("back", 4),
        lambda: hand.run.set_weights(3, [3.0]), lambda: hand.view.key("z", ctrl=True), lambda: hand.view.send("step"),
    ):  # fmt: skip
        move()
        frame, inspector = hand.settled(6), hand.inspector
        account, (key, record) = inspector.account, inspector.record
        assert (account.step, account.update.before) == (frame.step, float(frame.values[4]))
        assert account.update.gradient == hand.view.worker.call(hand.run.open).gradient[4]
        assert {f"step {frame.step + 1:,}: 8 largest of 32 terms", f"loss {account.along.loss:.4f}"} <= {*hand.texts()}
        assert (int(record.steps[-1]), key[1]) == (frame.past.newest, frame.past.newest)


@pytest.mark.parametrize("pause", [0.02, 0.3, REST + 0.01])
def test_what_if_is_of_the_weights_that_are_shown_while_another_weight_is_moved(hand, pause):
    selected(hand)
    for _ in range(4):
        hand.view.scroll(hand.face(1), (0.0, 1.0), shift=True)
        hand.view.tick(pause)
        hand.settled(1, 0.02)
    frame = hand.settled(6)
    along, shown = hand.inspector.account.along, hand.view.bench.subject.loss(frame)
    assert along.loss == pytest.approx(shown, rel=1e-6)
    assert f"loss {along.loss:.4f}" in hand.texts()
    assert along.loss == hand.view.worker.call(hand.run.open).loss_along(4).loss


def test_v_goes_to_where_the_weight_changed_its_sign_and_a_button_asks_when_training_is_to_stop(hand):
    for value in (1.0, -1.0):
        hand.run.set_weights(4, [value])
        hand.view.send("step", 10)
        hand.settled()
    selected(hand)
    for step, said in ((15, "changed its sign at step 15"), (0, "has never changed its sign")):
        hand.view.key("v")
        hand.settled(8)
        assert (hand.view.worker.latest.step, said in hand.view.notice()) == (step, True)
        hand.key("Home")
    hand.run.set_weights(4, [0.02])
    hand.settled()
    hand.click(hand.spot("break_on"))
    hand.view.key("Enter", "\r")
    hand.settled()
    assert [point.text for point in hand.run.breakpoints] == ["0.weight[1][1] crosses 0"]


def test_looking_changes_no_bit_of_the_run():
    """A weight is looked into while it trains and rests, goes back and forth; another run is not looked at."""
    other = make_colour_run(optim.Adam, lr=0.05, batch_size=8)
    with live_hand(make_colour_scene(make_colour_run(optim.Adam, lr=0.05, batch_size=8))) as hand:
        hand.settled()
        for number in range(4):
            selected(hand, 3 + number)
            hand.view.bench.orbit(5.0, 1.0)
            hand.view.bench.set_look(quantity=("gradient", "weight")[number % 2])
            hand.view.move(hand.face(number))
            for name, value in (("step", 20), ("find_sign", None), ("newest", None), ("back", 7), ("newest", None)):
                hand.view.send(name, value)
                hand.settled(8 if name == "find_sign" else 4)
            other.step(20)
            assert None not in (hand.inspector.record, hand.inspector.account)
            assert hand.view.worker.call(lambda: bits(hand.run)) == bits(other)
        assert hand.run.log == []
    other.close()


def test_weights_of_a_loop_are_changed_too_but_not_drawn_anew_and_a_mirrored_run_logs_a_gesture_once():
    layer, run = nn.Linear(2, 2, seed=1), make_colour_run()
    with mirror_hand([layer.weight, layer.bias]) as hand:
        hand.click(hand.face(1))
        before = layer.weight.data.copy()
        hand.key("*")
        hand.key("k")
        assert (layer.weight[0][1].data, layer.weight[0][1].frozen) == (2 * before[0, 1], True)
        hand.view.key("i")
        assert "cannot do RedrawWeights" in hand.view.notice()
        hand.view.selected.select_part("row")
        hand.key("x")
        assert np.array_equal(layer.weight.data[0], [0, 0])
    with mirror_hand(run) as hand:
        before = float(run.values[4])
        hand.click(hand.face(4))
        span = hand.view.bench.extent_of(4)
        hand.drag(hand.number(), (10, 0), (40, 0), (30, 0))
    assert run.values[4] == pytest.approx(before + 30 / SWEEP * span, rel=0.05)
    assert len(run.log) == 1


def test_plain_numbers_are_selected_and_not_touched():
    array = np.arange(12.0).reshape(3, 4)
    with mirror_hand({"a": array}) as hand:
        hand.double(hand.face(5))
        assert "row 2 in a" in hand.texts()
        for key in "xk/*i":
            hand.view.key(key, key)
            assert "cannot be changed here" in hand.view.notice(), key
        hand.view.scroll(hand.face(5), (0.0, 3.0), shift=True)
        assert hand.view.notice() == "Shift+wheel: these numbers cannot be changed here"
        hand.click(hand.face(6))
        hand.drag(hand.number(), (60, 0))
    assert np.array_equal(array, np.arange(12.0).reshape(3, 4))
