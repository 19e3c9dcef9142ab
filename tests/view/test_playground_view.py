"""The scene `playground` in a window: hands on its map and controls, a table that is pasted, its curve."""

from __future__ import annotations

from contextlib import ExitStack

import numpy as np
import pytest

from kit.benches import bench_of, middle
from kit.commands import make_scene, reader_of
from kit.windows import live_hand
from scalarviz.io import parse_csv
from scalarviz.run.panels import CurveFit, Features, LossCurve, NeuronMaps, PlaneMap

TREES = ("ash", "elm", "oak")
THREE = "leaf\theight\ttree\n" + "".join(
    f"{10 + 4 * (k % 3) + k % 7 / 10:.2f}\t{200 + 30 * (k % 2) + k % 11}\t{TREES[k % 3]}\n" for k in range(90)
)
HOURS = "hour,temp\n" + "".join(f"{k / 4},{12 + 6 * np.sin(k / 15):.3f}\n" for k in range(96))


@pytest.fixture
def watched():
    with ExitStack() as opened:
        yield lambda **flags: opened.enter_context(live_hand(make_scene("playground", **flags)))


@pytest.fixture
def hand(watched):
    return watched()


def points_of(hand):
    """All points of the data, also held-out ones."""
    return hand.view.scene.first.points_in(hand.run.frame().data)


def at(hand, place):
    return hand.at(hand.drawer(PlaneMap).axes.point(*place))


def paste(hand, text):
    hand.host.clipboard = text
    hand.view.key("V", "v", ctrl=True)
    hand.settled()


def edit(hand, edit):
    hand.bench.subject.source.edit(edit)
    hand.settled()


def change(hand, label, value):
    """What a hand does at the panel of controls."""
    control = next(one for one in hand.view.scene.controls if one.label == label)
    edit(hand, control.change(value, reader_of(hand.view.scene)))


def names(hand):
    panel = hand.drawer(PlaneMap).panel
    return panel.across.name, panel.classes or panel.says


def test_hands_on_the_map_add_and_take_away_points_and_none_that_is_held_out(hand):
    corner, points = at(hand, (-5.5, 5.5)), points_of(hand).inputs
    hand.press(corner)
    x, y = hand.run.samples()
    assert len(x) == 251
    np.testing.assert_allclose([*x[-1], *y[-1]], (-5.5, 5.5, 1.0), atol=0.05)
    hand.press(corner, "right")
    assert len(hand.run.samples()[0]) == 250
    for number, says in ((3, "right click: remove it"), (400, "held-out: it stays")):
        hand.view.move(at(hand, points[number]))
        assert says in hand.words()
    hand.press(at(hand, points[400]), "right")
    assert len(hand.drawer(PlaneMap).spots) == len(points) == len(points_of(hand).inputs)
    assert [done.what for done in hand.run.log] == ["add a point", "remove a point"]
    hand.do("toggle_controls")  # the wheel over the map in this panel moves no cube
    assert hand.view.controls.scroll(middle(hand.bench.controls.side["plane"]), -3.0)
    assert not hand.view.controls.scroll((300.0, 300.0), -3.0)


def test_a_table_of_one_input_is_a_curve_with_points_that_a_hand_adds(watched, tmp_path):
    (tmp_path / "hours.csv").write_text(HOURS)
    hand = watched(csv=tmp_path / "hours.csv", hidden=(4,))
    drawer, before, table = hand.drawer(CurveFit), hand.run.samples(), parse_csv(HOURS)
    across, up, points = drawer.panel.across, drawer.panel.up, points_of(hand)
    assert (across.name, up.name) == ("hour", "temp")
    found = sorted(zip(across.units(points.inputs[:, 0]), up.units(points.targets), strict=True))
    np.testing.assert_allclose(found, np.column_stack([table.numbers("hour"), table.numbers("temp")]), atol=1e-9)
    hand.press(hand.at(drawer.spots[7]))
    np.testing.assert_allclose(hand.bench.subject.probe, points.inputs[7])
    assert hand.run.log == []
    x, y, wide, high = drawer.axes.box
    free = hand.at((x + 0.5 * wide, y + 0.05 * high))  # above all points
    wanted = [axis.ends[0] + share * (axis.ends[1] - axis.ends[0]) for axis, share in ((across, 0.5), (up, 0.95))]
    hand.press(free)
    inputs, targets = hand.run.samples()
    (point,) = hand.view.scene.first.points_in(hand.view.shown.data).recipe.added
    assert [float(part) for part in point.split(",")] == pytest.approx(wanted, abs=0.011)
    assert [across.units(inputs[-1, 0]), up.units(targets[-1, 0])] == pytest.approx(wanted, abs=0.01)
    assert len(inputs) == len(before[0]) + 1
    hand.press(free, "right")
    assert all(np.array_equal(now, then) for now, then in zip(hand.run.samples(), before, strict=True))


NO_TABLES = {
    "": "no text",
    "x,y,kind\n1,2,a\n3,4,a\n": "two or more classes",
    "x,y,kind\n1,2,a\nb,4,c\n": "line 3: column 'x'",
}


def test_a_table_that_is_pasted_or_dropped_brings_its_axes_classes_and_an_undo_and_no_table_is_said(hand, tmp_path):
    before = hand.drawer(PlaneMap).panel
    assert names(hand) == ("x", before.says)
    for text, says in NO_TABLES.items():
        hand.host.clipboard = text
        hand.view.key("V", "v", ctrl=True)
        assert says in hand.view.notice()
        hand.settled()
    assert hand.run.log == []
    paste(hand, THREE)
    panel, leaf = hand.drawer(PlaneMap).panel, parse_csv(THREE).numbers("leaf")
    assert (panel.across.name, panel.up.name, panel.classes) == ("leaf (x)", "height (y)", TREES)
    assert panel.across.ends[0] < leaf.min() < leaf.max() < panel.across.ends[1]
    for kind in (NeuronMaps, Features):
        assert hand.drawer(kind).panel.across == panel.across
    assert hand.bench.subject.sample.outputs == TREES
    assert {*TREES, "height (y)", "logits"} <= set(hand.words())  # what the loss takes are no probabilities
    hand.do("undo")
    assert hand.drawer(PlaneMap).panel is before
    assert "ash" not in hand.words()
    (tmp_path / "trees.tsv").write_text(THREE)
    hand.view.open([tmp_path / "trees.tsv"])
    assert "trees.tsv: 90 rows" in hand.view.notice()
    hand.settled()
    assert len(hand.run.samples()[0]) == 45
    box = hand.drawer(PlaneMap).box[:3]
    paste(hand, HOURS)  # a curve stands where the plane was
    assert (hand.drawer(PlaneMap), hand.drawer(CurveFit).box[:3]) == (None, box)
    hand.do("undo")
    assert (hand.drawer(CurveFit), hand.drawer(PlaneMap).box[:3]) == (None, box)


@pytest.mark.parametrize("count", [2, 3])
def test_of_two_tables_with_the_same_numbers_each_has_its_own_names(hand, count):
    both = {"tail": ("Ara", "cat", "dog")[:count], "leaf": TREES[:count]}
    for column, kinds in both.items():
        values = hand.run.values.copy()
        rows = "".join(f"{k}\t{k * k % 7}\t{kinds[k % count]}\n" for k in range(24))
        paste(hand, f"{column}\tb\tkind\n{rows}")
        assert names(hand) == (f"{column} (x)", kinds)
    np.testing.assert_array_equal(hand.run.values, values)  # what was learnt stays
    for action, column in (("undo", "tail"), ("redo", "leaf")):
        hand.do(action)
        assert names(hand) == (f"{column} (x)", both[column])
    edit(hand, hand.drawer(PlaneMap).panel.edits.add((0.1, 0.2)))
    assert names(hand) == ("leaf (x)", both["leaf"])


def probed(hand):
    return [*hand.bench.subject.probe, float(hand.bench.subject.target[0])]


def is_shown(hand):
    """Whether the sample whose way is drawn is a point of the data of the run, its target that of the point."""
    hand.settled()
    points, (*place, wanted) = points_of(hand), probed(hand)
    away = np.abs(points.inputs - place).max(axis=1) + np.abs(points.targets - wanted)
    drawer = hand.drawer(PlaneMap) or hand.drawer(CurveFit)
    rows = hand.view.frame().activations["input"]
    return away.min() < 1e-5 and np.allclose(rows, place, atol=1e-6) and drawer.drawn_way is not None


@pytest.mark.parametrize(
    ("what", "value"),
    [("paste", THREE), ("paste", HOURS), ("data", "spiral"), ("new points", None), ("training share", 0.9)],
)
def test_the_way_that_is_drawn_is_that_of_a_point_that_is_shown(hand, what, value):
    before = probed(hand)
    paste(hand, value) if what == "paste" else change(hand, what, value)
    assert is_shown(hand)
    hand.do("undo")
    assert is_shown(hand)
    assert probed(hand) == before
    hand.do("redo")
    assert is_shown(hand)


def test_a_point_that_a_hand_chose_comes_back_with_its_data_and_leaves_with_its_own(hand):
    points, first = points_of(hand), probed(hand)
    hand.press(at(hand, points.inputs[points.learnt + 3]))  # a held-out one
    chosen = probed(hand)
    assert chosen != first
    change(hand, "data", "spiral")
    assert is_shown(hand)
    assert probed(hand) != chosen
    hand.do("undo")
    assert probed(hand) == chosen
    hand.press(at(hand, points.inputs[0]))
    chosen, edits = probed(hand), hand.drawer(PlaneMap).panel.edits
    for one in (edits.add((0.1, 0.2)), edits.remove(4)):
        edit(hand, one)
        assert probed(hand) == pytest.approx(chosen)
    edit(hand, edits.remove(0))
    assert is_shown(hand)
    assert probed(hand) != chosen


def test_the_accuracy_stays_in_the_head_while_its_curve_has_no_room(hand):
    """Of the weights that are shown, counted by hand; else it stands over the curve, too."""
    hand.do("step")
    written = hand.words()
    assert any(text.startswith("test accuracy ") for text in written)  # in one text, while the head has two
    hand.do("toggle_controls")
    for steps in (1, 40):
        hand.do("step", steps)
        inputs, targets = points_of(hand).test
        right = (np.sign(hand.run.predict(inputs)) == targets).mean()
        hand.until(lambda right=right: ("test accuracy", f"{100 * right:.1f} %", True) in hand.bench.side.headlines)
        assert hand.drawer(LossCurve).box is None
    hand.do("micro_next")
    assert not any("accuracy" in text for text in hand.words())


def test_the_held_out_loss_is_of_the_weights_shown_or_says_of_which_step(watched):
    hand = watched(data="regress-gauss")
    view, drawer = hand.view, hand.drawer(LossCurve)
    for steps, tick, words in (
        (3, 1.0, "test loss"),
        (2, 0.01, "test loss at step 3"),
        (0, 1.0, "test loss"),
    ):  # or too soon for it
        view.send("step", steps) if steps else None
        hand.settled(1, tick)
        assert (drawer.headline.words, drawer.headline.fresh) == (words, tick == 1.0)
    for weight in (3, 10, 20):  # sooner after one another than it is measured
        view.bench.select(weight)
        view.send("zero")
        hand.settled(1, 0.01)
    said, (inputs, targets) = hand.words(), points_of(hand).test
    wanted = float(np.mean((hand.run.predict(inputs) - targets) ** 2) / 2)
    assert float(said[said.index("test loss") + 1]) == pytest.approx(wanted, abs=6e-5)


def test_an_arrow_leads_to_each_neurons_map_and_one_from_it_and_the_last_to_the_output():
    places = bench_of(make_scene("playground")).side.drawer(NeuronMaps)._places
    ends = np.array(places.arrows)  # (arrows, start and end, 2)
    assert len(ends) == 2 * len(places.drawn) + 1
    for x, y, wide, high in (places.boxes[unit] for unit in places.drawn):
        near = np.abs(ends - (x + wide / 2, y + high / 2)).max(axis=2) <= max(wide, high) / 2
        assert near.sum(axis=0).tolist() == [1, 1]
    assert ends[-1, 1, 0] > ends[:-1, :, 0].max()
