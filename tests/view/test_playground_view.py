"""The scene `playground` in a window: hands on its map and controls, a table that is pasted, its curve."""

from __future__ import annotations

import numpy as np
import pytest

from kit.benches import middle
from kit.commands import make_scene, reader_of
from kit.windows import Window
from scalarviz.io import parse_csv
from scalarviz.run import Moment
from scalarviz.run.panels import CurveFit, Features, LossCurve, NeuronMaps, PlaneMap

TREES = ("ash", "elm", "oak")
THREE = "leaf\theight\ttree\n" + "".join(
    f"{10 + 4 * (k % 3) + k % 7 / 10:.2f}\t{200 + 30 * (k % 2) + k % 11}\t{TREES[k % 3]}\n" for k in range(90)
)
HOURS = "hour,temp\n" + "".join(f"{k / 4},{12 + 6 * np.sin(k / 15):.3f}\n" for k in range(96))


@pytest.fixture
def watched():
    opened = []

    def watch(**flags):
        opened.append(Window(make_scene("playground", **flags)))
        return opened[-1]

    yield watch
    for one in opened:
        one.__exit__()


@pytest.fixture
def watch(watched):
    return watched()


def points_of(window, kind=PlaneMap):
    return window.drawer(kind).panel.points(Moment(window.view.shown, window.bench.subject.source))


def at(window, place):
    return window.drawer(PlaneMap).axes.point(*place)


def change(window, label, value):
    """What a hand does at the panel of controls."""
    control = next(one for one in window.scene.controls if one.label == label)
    window.edit(control.change(value, reader_of(window.scene)))


def names(window):
    panel = window.drawer(PlaneMap).panel
    return panel.across.name, panel.classes or panel.says


# ---- hands on the points


def test_hands_on_the_map_add_and_take_away_points_and_none_that_is_held_back(watch):
    corner = at(watch, (-5.5, 5.5))
    watch.press(corner)
    x, y = watch.run.samples()
    assert len(x) == 251
    np.testing.assert_allclose([*x[-1], *y[-1]], (-5.5, 5.5, 1.0), atol=0.05)
    watch.press(corner, "right")
    assert len(watch.run.samples()[0]) == 250
    points = points_of(watch)
    for number, says in ((3, "right click: take it away"), (400, "held back: it stays")):
        watch.move(at(watch, points.x[number]))
        assert says in watch.words
    watch.press(at(watch, points.x[400]), "right")
    assert [done.what for done in watch.run.log] == ["one point more", "one point less"]


def test_a_table_of_one_input_is_a_curve_with_points_that_a_hand_adds(watched, tmp_path):
    (tmp_path / "hours.csv").write_text(HOURS)
    watch = watched(csv=tmp_path / "hours.csv", hidden=(4,))
    run, drawer = watch.run, watch.drawer(CurveFit)
    panel, points, before = drawer.panel, points_of(watch, CurveFit), run.samples()
    assert (panel.across.name, panel.up.name) == ("hour", "temp")
    table, pairs = parse_csv(HOURS), zip(points.x[:, 0], points.target, strict=True)
    found = sorted((panel.across.units(x), panel.up.units(t)) for x, t in pairs)
    np.testing.assert_allclose(found, np.column_stack([table.numbers("hour"), table.numbers("temp")]), atol=1e-9)
    watch.press(tuple(drawer.spots[7]))
    np.testing.assert_allclose(watch.bench.subject.probe, points.x[7])
    assert run.log == []
    x, y, wide, high = drawer.axes.box
    free = x + 0.5 * wide, y + 0.05 * high  # above all points
    hour, temp = (
        axis.ends[0] + share * (axis.ends[1] - axis.ends[0]) for axis, share in ((panel.across, 0.5), (panel.up, 0.95))
    )
    watch.move(free)
    said = [next(text for text in watch.words if text.startswith(start)) for start in ("hour ", "click: add temp ")]
    assert [float(text.split()[-1]) for text in said] == pytest.approx([hour, temp], abs=0.011)
    watch.press(free)
    inputs, targets = run.samples()
    assert len(inputs) == len(before[0]) + 1
    assert panel.across.units(float(inputs[-1, 0])) == pytest.approx(hour, abs=0.01)
    assert panel.up.units(float(targets[-1, 0])) == pytest.approx(temp, abs=0.01)
    (point,) = watch.scene.first.of(watch.view.shown.data).recipe.added
    assert [float(part) for part in point.split(",")] == pytest.approx([hour, temp], abs=0.01)
    watch.press(free, "right")
    assert all(np.array_equal(now, then) for now, then in zip(run.samples(), before, strict=True))


def test_the_wheel_over_the_map_in_the_panel_of_controls_moves_no_cube(watch):
    watch.send("toggle_controls")
    assert watch.view.desk.scroll(middle(watch.bench.controls.side["plane"]), -3.0)
    assert not watch.view.desk.scroll((300.0, 300.0), -3.0)


# ---- a table


def test_a_table_that_is_pasted_brings_its_axes_classes_and_an_undo(watch):
    before = watch.drawer(PlaneMap).panel
    assert names(watch) == ("x", before.says)
    watch.paste(THREE)
    panel, table = watch.drawer(PlaneMap).panel, parse_csv(THREE)
    assert (panel.across.name, panel.up.name, panel.classes) == ("leaf (x)", "height (y)", TREES)
    low, high = panel.across.ends
    assert low < table.numbers("leaf").min() < table.numbers("leaf").max() < high
    for kind in (NeuronMaps, Features):
        assert watch.drawer(kind).panel.across == panel.across
    assert watch.bench.subject.sample.outputs == TREES
    assert {*TREES, "height (y)", "logits"} <= set(watch.words)  # what the loss takes are no probabilities
    watch.send("undo")
    assert watch.drawer(PlaneMap).panel is before
    assert "ash" not in watch.words


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "there is no text on the clipboard"),
        ("hello", "has names of columns and no rows"),
        ("x,y,kind\n1,2,a\n3,4,a\n", "one class cannot be told from another"),
        ("x,y,kind\n1,2,a\nb,4,c\n", "line 3: column 'x' says 'b'"),
    ],
)
def test_what_is_pasted_and_no_table_is_said_in_the_picture(watch, text, says):
    watch.host.clipboard = text
    watch.view.key("V", "v", ctrl=True)
    assert says in watch.view.notice()
    watch.rest()
    assert watch.run.log == []


def test_a_table_that_is_dropped(watch, tmp_path):
    (tmp_path / "trees.tsv").write_text(THREE)
    watch.view.open([tmp_path / "trees.tsv"])
    assert "trees.tsv: 90 rows" in watch.view.notice()
    watch.rest()
    assert len(watch.run.samples()[0]) == 45


def test_a_curve_that_is_pasted_stands_where_the_plane_was(watch):
    box = watch.drawer(PlaneMap).box
    for step, there, gone in ((HOURS, CurveFit, PlaneMap), ("undo", PlaneMap, CurveFit)):
        watch.send(step) if step == "undo" else watch.paste(step)
        assert watch.drawer(gone) is None
        assert watch.drawer(there).box[:3] == box[:3]


@pytest.mark.parametrize("count", [2, 3])
def test_of_two_tables_with_the_same_numbers_each_has_its_own_names(watch, count):
    both = ("Ara", "cat", "dog")[:count], ("ash", "elm", "oak")[:count]
    for column, kinds in zip(("tail", "leaf"), both, strict=True):
        values = watch.run.values.copy()
        rows = "".join(f"{k}\t{k * k % 7}\t{kinds[k % count]}\n" for k in range(24))
        watch.paste(f"{column}\tb\tkind\n{rows}")
        assert names(watch) == (f"{column} (x)", kinds)
    np.testing.assert_array_equal(watch.run.values, values)  # what was learnt stays
    for action, name, kinds in (("undo", "tail (x)", both[0]), ("redo", "leaf (x)", both[1])):
        watch.send(action)
        assert names(watch) == (name, kinds)
    watch.edit(watch.drawer(PlaneMap).panel.edits.add((0.1, 0.2)))
    assert names(watch) == ("leaf (x)", both[1])


def test_names_of_columns_are_cut_and_not_said_twice(watched, tmp_path):
    rows = "".join(f"{k % 7},{k % 5},{k % 2}\n" for k in range(40))
    for head, wanted in (
        ("x,y", ("x", "y")),
        ("y,x", ("y (x)", "x (y)")),
        (
            "the length of every single leaf in cm,its height above the ground in cm",
            ("the length of every sin\N{HORIZONTAL ELLIPSIS} (x)", "its heig\N{HORIZONTAL ELLIPSIS} (y)"),
        ),
    ):
        (tmp_path / "t.csv").write_text(f"{head},kind\n{rows}")
        drawer = watched(csv=tmp_path / "t.csv").drawer(PlaneMap)
        assert (drawer.panel.across.name, drawer.panel.up.name) == wanted
        assert drawer.axes.box[2] > 200  # the plane has its room


# ---- whose way is drawn after other points


def probed(window):
    return [*window.bench.subject.probe, float(window.bench.subject.target[0])]


def is_shown(window):
    """Whether the sample whose way is drawn is a point of the data of the run, its target that of the point."""
    points = window.scene.first.of(window.run.frame().data)
    *place, wanted = probed(window)
    away = np.abs(points.inputs - place).max(axis=1) + np.abs(points.targets - wanted)
    drawer = window.drawer(PlaneMap) or window.drawer(CurveFit)
    rows = window.view.frame().activations["input"]
    return away.min() < 1e-5 and np.allclose(rows, place, atol=1e-6) and drawer.drawn_way is not None


@pytest.mark.parametrize(
    "other",
    [
        lambda window: window.paste(THREE),
        lambda window: window.paste(HOURS),
        lambda window: change(window, "data", "spiral"),
        lambda window: change(window, "new points", None),
        lambda window: change(window, "learnt from", 0.9),
    ],
    ids=["three classes", "one input", "spiral", "new points", "ratio"],
)
def test_the_way_that_is_drawn_is_that_of_a_point_that_is_shown(watch, other):
    before = probed(watch)
    other(watch)
    assert is_shown(watch)
    watch.send("undo")
    assert is_shown(watch)
    assert probed(watch) == before
    watch.send("redo")
    assert is_shown(watch)


def test_a_point_that_a_hand_chose_comes_back_with_its_data_and_leaves_with_its_own(watch):
    points, first = watch.scene.first, probed(watch)
    watch.press(at(watch, points.inputs[points.learnt + 3]))  # one that is held back
    chosen = probed(watch)
    assert chosen != first
    change(watch, "data", "spiral")
    assert is_shown(watch)
    assert probed(watch) != chosen
    watch.send("undo")
    assert probed(watch) == chosen
    watch.press(at(watch, points.inputs[0]))
    chosen, hand = probed(watch), watch.drawer(PlaneMap).panel.edits
    for edit in (hand.add((0.1, 0.2)), hand.remove(4)):
        watch.edit(edit)
        assert probed(watch) == pytest.approx(chosen)
    watch.edit(hand.remove(0))
    assert is_shown(watch)
    assert probed(watch) != chosen


# ---- the loss curve and the head


def test_the_curve_and_the_head_say_the_same_batch(watch):
    """A table of few rows makes the batch smaller, and one of three classes the picture anew."""

    def batches():
        said = [word for text in watch.words for word in text.split("  ·  ")]
        return {word for word in said if word.startswith("batch ") or word.endswith("points a step")}

    watch.send("step", 2)
    assert batches() == {"10 points a step", "batch 10"}
    watch.paste("\n".join(THREE.splitlines()[:13]) + "\n")
    assert batches() == {"6 points a step", "batch 6"}
    watch.send("undo")
    assert batches() == {"10 points a step", "batch 10"}


def test_the_accuracy_stays_in_the_head_while_its_curve_has_no_room(watch):
    """Of the weights that are shown, counted by hand."""
    watch.send("toggle_controls")
    for steps in (1, 40):
        watch.send("step", steps)
        watch.rest(lambda: watch.view.shown.step in (1, 41))
        assert watch.drawer(LossCurve).box is None
        inputs, targets = watch.scene.first.of(watch.run.frame().data).test
        right = (np.sign(watch.run.predict(inputs)) == targets).mean()
        assert ("test accuracy", f"{100 * right:.1f} %", True) in watch.bench.side.headlines
    watch.send("micro_next")
    assert watch.bench.inside.told is not None
    assert not any("accuracy" in text for text in watch.words)


def test_the_held_back_loss_is_of_the_weights_shown_or_says_of_which_step(watched):
    watch = watched(data="regress-gauss")
    view, run, drawer = watch.view, watch.run, watch.drawer(LossCurve)
    watch.send("step", 3)
    watch.rest(lambda: view.shown.step == 3)
    assert (drawer.headline.words, drawer.headline.fresh) == ("test", True)
    view.send("step", 2)
    view.worker.settle()
    view.tick(0.01)  # too soon for another measurement
    assert (drawer.headline.words, drawer.headline.fresh) == ("test at step 3", False)
    watch.rest()
    assert (drawer.headline.words, drawer.headline.fresh) == ("test", True)
    for weight in (3, 10, 20):  # sooner after one another than it is measured
        view.bench.select(weight)
        view.send("zero")
        view.worker.settle()
        view.tick(0.01)
    watch.rest()
    inputs, targets = watch.scene.first.of(view.shown.data).test
    wanted = float(np.mean((run.predict(inputs) - targets) ** 2) / 2)
    assert float(watch.words[watch.words.index("test") + 1]) == pytest.approx(wanted, abs=6e-5)
