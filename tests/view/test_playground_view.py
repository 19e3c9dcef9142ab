"""The scene `playground` in a window: hands on its map, its features, its controls, and a table that is pasted."""

from __future__ import annotations

import time

import numpy as np
import pytest
from scalarviz.scenes import playground

from scalarviz.io import parse_csv
from scalarviz.run import Moment
from scalarviz.run.panels import CurveFit, Features, LossCurve, NeuronMaps, PlaneMap
from scalarviz.view.out.offscreen import offscreen
from scalarviz.view.out.unseen import Unseen
from scalarviz.view.watch.live import LiveView

pytestmark = pytest.mark.gl
TREES = ("ash", "elm", "oak")
THREE = "leaf\theight\ttree\n" + "".join(
    f"{10 + 4 * (k % 3) + k % 7 / 10:.2f}\t{200 + 30 * (k % 2) + k % 11}\t{TREES[k % 3]}\n" for k in range(90)
)


class Watched:
    """A window that nobody sees, and what hands do in it."""

    def __init__(self, **flags):
        self.scene = playground.build(playground.Options(engine="numpy", **flags))
        self.host = Unseen(lambda size: LiveView(self.scene, size, playing=False), (1280, 720))
        self.view = self.host.view

    def rest(self, until=lambda: True):
        """Time passes until all that was asked for is done and drawn."""
        for _ in range(300):
            self.view.advance(0.05)
            if self.view.tick(0.05):
                self.host.picture()
            elif until():
                return
            time.sleep(0.002)
        raise AssertionError("it never came to rest")

    def drawer(self, kind):
        return self.view.bench.side.drawer(kind)

    def at(self, place):
        """Where a point of the plane is in the picture."""
        drawer = self.drawer(PlaneMap)
        x, y, wide, high = drawer._parts.map
        across, up = drawer.panel.across, drawer.panel.up
        share = (place[0] - across.least) / (across.most - across.least), (place[1] - up.least) / (up.most - up.least)
        return x + share[0] * wide, y + (1 - share[1]) * high

    def close(self):
        self.view.close()
        self.scene.run.close()


@pytest.fixture
def watched():
    opened = []

    def watch(**flags):
        opened.append(Watched(**flags))
        opened[-1].rest()
        return opened[-1]

    with offscreen():
        yield watch
        for one in opened:
            one.close()


def test_a_table_that_is_pasted_brings_its_axes_classes_and_an_undo(watched):
    watch = watched()
    view, host = watch.view, watch.host
    before = watch.drawer(PlaneMap).panel
    assert (before.across.name, before.classes) == ("x", ())
    host.clipboard = THREE
    view.key("V", "v", ctrl=True)
    watch.rest()
    panel = watch.drawer(PlaneMap).panel
    assert (panel.across.name, panel.up.name, panel.classes) == ("leaf (x)", "height (y)", TREES)
    table = parse_csv(THREE)
    low, high = panel.across.ends
    assert low < table.numbers("leaf").min() < table.numbers("leaf").max() < high
    for kind in (NeuronMaps, Features):
        assert watch.drawer(kind).panel.across == panel.across
    texts = {text.text for sketch in view.bench.side._drawn["plane"] for text in sketch.texts}
    assert {*TREES, "height (y)"} <= texts
    assert any(text.startswith("leaf") for text in texts), texts
    view.send("undo")
    watch.rest()
    assert watch.drawer(PlaneMap).panel is before
    texts = {text.text for sketch in view.bench.side._drawn["plane"] for text in sketch.texts}
    assert "ash" not in texts


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "there is no text on the clipboard"),
        ("hello", "has names of columns and no rows"),
        ("x,y,kind\n1,2,a\n3,4,a\n", "one class cannot be told from another"),
        ("x,y,kind\n1,2,a\nb,4,c\n", "line 3: column 'x' says 'b'"),
    ],
)
def test_what_is_pasted_and_no_table_is_said_in_the_picture(watched, text, says):
    watch = watched()
    watch.host.clipboard = text
    watch.view.key("V", "v", ctrl=True)
    assert says in watch.view.notice()
    watch.rest()
    assert watch.scene.run.log == []


def test_a_table_that_is_dropped(watched, tmp_path):
    watch = watched()
    (tmp_path / "trees.tsv").write_text(THREE)
    watch.view.open([tmp_path / "trees.tsv"])
    assert "trees.tsv: 90 rows" in watch.view.notice()
    watch.rest()
    assert len(watch.scene.run.samples()[0]) == 45


def test_hands_on_the_map_and_the_features(watched):
    watch = watched()
    run, view = watch.scene.run, watch.view
    at = watch.at((-5.5, 5.5))
    view.press(at, "left")
    view.release(at)
    watch.rest(lambda: len(run.samples()[0]) == 251)
    x, y = run.samples()
    np.testing.assert_allclose(x[-1], (-5.5, 5.5), atol=0.05)
    assert y[-1] == 1.0
    view.press(at, "right")
    view.release(at)
    watch.rest(lambda: len(run.samples()[0]) == 250)
    assert [done.what for done in run.log] == ["one point more", "one point less"]


def test_a_point_that_is_held_back_says_under_the_pointer_that_it_stays(watched):
    watch = watched()
    run, view = watch.scene.run, watch.view
    points = watch.drawer(PlaneMap).panel.points(Moment(view.shown, view.bench.subject.source))
    for number, says in ((3, "right click: take it away"), (400, "held back: it stays")):
        crowd = np.hypot(*(points.x - points.x[number]).T)
        assert np.sort(crowd)[1] > 0.08, "it stands apart from others"
        at = watch.at(points.x[number])
        view.move(at)
        (label,) = watch.drawer(PlaneMap).label(Moment(view.shown, view.bench.subject.source), (1280, 720))
        assert says in [item.text for item in label.texts]
    view.press(at, "right")
    view.release(at)
    watch.rest()
    assert run.log == []


def test_the_file_of_the_scene_says_what_its_panels_are():
    scene = playground.build(playground.Options(engine="numpy"))
    kinds = [type(panel).__name__ for panel in scene.panels]
    assert kinds == ["PlaneMap", "LossCurve", "NeuronMaps", "Features"]
    scene.run.close()


HOURS = "hour,temp\n" + "".join(f"{k / 4},{12 + 6 * np.sin(k / 15):.3f}\n" for k in range(96))


def test_a_table_of_one_input_is_a_curve(watched, tmp_path):
    (tmp_path / "hours.csv").write_text(HOURS)
    watch = watched(csv=tmp_path / "hours.csv", hidden=(4,))
    run, drawer = watch.scene.run, watch.drawer(CurveFit)
    panel, frame = drawer.panel, watch.view.shown
    assert (panel.across.name, panel.up.name) == ("hour", "temp")
    points = panel.points(Moment(frame, watch.view.bench.subject.source))
    table, pairs = parse_csv(HOURS), zip(points.x[:, 0], points.target, strict=True)
    found = sorted((panel.across.units(x), panel.up.units(t)) for x, t in pairs)
    np.testing.assert_allclose(found, np.column_stack([table.numbers("hour"), table.numbers("temp")]), atol=1e-9)
    spot = drawer.spots[7]
    watch.view.move(tuple(spot))
    watch.view.press(tuple(spot), "left")
    watch.view.release(tuple(spot))
    watch.rest()
    np.testing.assert_allclose(watch.view.bench.subject.probe, points.x[7])
    assert run.log == []


def test_hands_on_the_points_of_a_curve(watched, tmp_path):
    (tmp_path / "hours.csv").write_text(HOURS)
    watch = watched(csv=tmp_path / "hours.csv", hidden=(4,))
    run, view, drawer = watch.scene.run, watch.view, watch.drawer(CurveFit)
    before = run.samples()
    x, y, wide, high = drawer.axes.box
    at = x + 0.5 * wide, y + 0.05 * high  # above all points
    view.move(at)
    panel = drawer.panel
    hour, temp = (axis.ends[0] + share * (axis.ends[1] - axis.ends[0])
                  for axis, share in ((panel.across, 0.5), (panel.up, 0.95)))  # fmt: skip
    (label,) = drawer.label(Moment(view.shown, view.bench.subject.source), (1280, 720))
    head, _, does = (item.text for item in label.texts)
    assert head.startswith("hour ")
    assert does.startswith("click: add temp ")
    said = [float(text.split()[-1]) for text in (head, does)]
    assert said == pytest.approx([hour, temp], abs=0.011)
    view.press(at, "left")
    view.release(at)
    watch.rest(lambda: len(run.samples()[0]) == len(before[0]) + 1)
    inputs, targets = run.samples()
    assert panel.across.units(float(inputs[-1, 0])) == pytest.approx(hour, abs=0.01)
    assert panel.up.units(float(targets[-1, 0])) == pytest.approx(temp, abs=0.01)
    (point,) = watch.scene.first.of(view.shown.data).recipe.added
    assert [float(part) for part in point.split(",")] == pytest.approx([hour, temp], abs=0.01)
    view.move(at)
    view.press(at, "right")
    view.release(at)
    watch.rest(lambda: len(run.samples()[0]) == len(before[0]))
    assert all(np.array_equal(now, then) for now, then in zip(run.samples(), before, strict=True))


def test_a_curve_that_is_pasted_stands_where_the_plane_was(watched):
    watch = watched()
    box = watch.drawer(PlaneMap).box
    watch.host.clipboard = HOURS
    watch.view.key("V", "v", ctrl=True)
    watch.rest()
    assert watch.drawer(PlaneMap) is None
    assert watch.drawer(CurveFit).box[:3] == box[:3]
    watch.view.send("undo")
    watch.rest()
    assert watch.drawer(PlaneMap).box[:3] == box[:3]
    assert watch.drawer(CurveFit) is None


def test_the_wheel_over_the_map_in_the_panel_of_controls_moves_no_cube(watched):
    watch = watched()
    view = watch.view
    view.send("toggle_controls")
    for _ in range(20):
        view.advance(0.05)
        view.tick(0.05)
    x, y, wide, high = view.bench.controls.side["plane"]
    assert view.desk.scroll((x + wide / 2, y + high / 2), -3.0)
    assert not view.desk.scroll((300.0, 300.0), -3.0)


def test_long_names_of_columns_leave_the_plane_its_room(watched, tmp_path):
    rows = "".join(f"{k % 7},{k % 5},{k % 2}\n" for k in range(40))
    (tmp_path / "t.csv").write_text(
        "the length of every single leaf in cm,its height above the ground in cm,kind\n" + rows
    )
    watch = watched(csv=tmp_path / "t.csv")
    panel = watch.drawer(PlaneMap).panel
    assert panel.across.name == "the length of every sin\N{HORIZONTAL ELLIPSIS} (x)"
    assert panel.up.name == "its heig\N{HORIZONTAL ELLIPSIS} (y)"
    assert watch.drawer(PlaneMap)._parts.map[2] > 200


def test_the_accuracy_stays_in_the_head_while_its_curve_has_no_room(watched):
    """Of the weights that are shown, counted by hand."""
    watch = watched()
    run, view = watch.scene.run, watch.view
    view.send("toggle_controls")
    watch.rest()
    for steps in (1, 40):
        goal = run.frame().step + steps
        view.send("step", steps)
        watch.rest(lambda goal=goal: view.shown.step == goal)
        assert watch.drawer(LossCurve).box is None
        inputs, targets = watch.scene.first.of(run.frame().data).test
        right = (np.sign(run.predict(inputs)) == targets).mean()
        assert ("test accuracy", f"{100 * right:.1f} %", True) in view.bench.side.headlines
    view.send("micro_next")
    watch.rest()
    assert view.bench.inside.told is not None
    assert not any("accuracy" in text.text for sketch in view.bench._numbers for text in sketch.texts)


def head_of(watch):
    """The first line of the picture, word by word."""
    return [item.text for item in watch.view.bench._numbers[-1].texts]


def test_the_held_back_loss_of_numbers_is_of_the_weights_shown_also_after_a_change_by_hand(watched):
    watch = watched(data="regress-gauss")
    view, run = watch.view, watch.scene.run
    view.send("step", 3)
    watch.rest(lambda: run.steps == 3)
    for weight in (3, 10, 20):  # sooner after one another than it is measured
        view.bench.select(weight)
        view.send("zero")
        view.worker.settle()
        view.tick(0.01)
    watch.rest(lambda: len(run.log) == 3)
    inputs, targets = watch.scene.first.of(view.shown.data).test
    wanted = float(np.mean((run.predict(inputs) - targets) ** 2) / 2)
    head = head_of(watch)
    assert float(head[head.index("test") + 1]) == pytest.approx(wanted, abs=6e-5)


def test_a_held_back_loss_of_another_step_says_of_which_one(watched):
    watch = watched(data="regress-gauss")
    drawer, view = watch.drawer(LossCurve), watch.view
    view.send("step", 3)
    watch.rest(lambda: watch.scene.run.steps == 3)
    assert (drawer.headline.words, drawer.headline.fresh) == ("test", True)
    view.send("step", 2)
    view.worker.settle()
    view.tick(0.01)  # too soon for another measurement
    assert (drawer.headline.words, drawer.headline.fresh) == ("test at step 3", False)
    watch.rest()
    assert (drawer.headline.words, drawer.headline.fresh) == ("test", True)


def test_columns_that_are_called_x_and_y_are_not_said_twice(watched, tmp_path):
    rows = "".join(f"{k % 7},{k % 5},{k % 2}\n" for k in range(40))
    for head, wanted in (("x,y,kind", ("x", "y")), ("y,x,kind", ("y (x)", "x (y)"))):
        (tmp_path / "t.csv").write_text(f"{head}\n{rows}")
        panel = watched(csv=tmp_path / "t.csv").drawer(PlaneMap).panel
        assert (panel.across.name, panel.up.name) == wanted
