"""The map of a plane: its colours are the network's answers at the frame shown, its points are the scene's."""

from __future__ import annotations

import importlib
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import scalarviz as sv
from scalarviz import nn, optim
from scalarviz.errors import TypeMismatchError
from scalarviz.io import parse_csv
from scalarviz.run.edits import AddSamples, Refill
from scalarviz.run.panels import Axis, LossCurve, PlaneMap, PointEdits, Points
from scalarviz.run.source import Moment, RunSource
from scalarviz.view.ink.axes import zero_lines
from scalarviz.view.ink.maps import class_colours, get_map, signed_shades
from scalarviz.view.ink.sketch import Cells
from scalarviz.view.ink.theme import DARK, LIGHT, rgb
from scalarviz.view.out.offscreen import offscreen
from scalarviz.view.panels.plane import BACK as HELD_BACK
from scalarviz.view.panels.plane import HARD, TEST
from scalarviz.view.panels.plane_picture import SHARE, boundary, shades
from scalarviz.view.panels.plane_work import BUDGET, LEVELS, PlaneWork
from scalarviz.view.watch.live import LiveView
from scalarviz.view.workbench import Workbench

pytestmark = pytest.mark.gl
RNG = np.random.default_rng(3)
X = RNG.uniform(-1, 1, (40, 2))
T = np.where(X[:, 0] > 0, 1.0, -1.0)
BACK = np.arange(40) >= 30
ACROSS, UP = Axis("x", -1.25, 1.25), Axis("y", -1.0, 1.0, (0.0, 50.0))


def net_of(classes: int = 1) -> nn.Module:
    return nn.Sequential(nn.Linear(2, 4, seed=1), nn.Tanh(), nn.Linear(4, classes, seed=2))


def scene_of(panel: PlaneMap, classes: int = 1, steps: int = 20) -> sv.Scene:
    net, targets = net_of(classes), T[:30, None] if classes == 1 else (T[:30, None] > 0).astype(int)
    loss = nn.MSELoss() if classes == 1 else nn.CrossEntropyLoss()
    run = sv.Run(net, loss, optim.SGD(net.parameters(), lr=0.2), (X[:30], targets), engine="numpy", seed=0)
    run.step(steps)
    return sv.Scene("plane", run, input_names=("x", "y"), panels=(panel, LossCurve()))


def given_points(moment: Moment) -> Points:
    return Points(X, T, BACK)


PANEL = PlaneMap("the plane", ACROSS, UP, span=(-1.0, 1.0), says=("left", "right"))


def bench_of(scene: sv.Scene, theme: str = "dark", *, hands: bool = False) -> Workbench:
    with offscreen():
        bench = Workbench(scene, (1280, 720), theme, keys=(("?", "all keys"),) if hands else ())
        bench.update(bench.subject.frame())
    return bench


def drawer(bench):
    return bench.side.drawers["plane"]


def picture_of(bench: Workbench) -> np.ndarray:
    return offscreen().render(bench.draw, bench.size).astype(int)


def pixel(bench: Workbench, at: np.ndarray) -> tuple[int, int]:
    """Row and column of the picture where a point of the plane is drawn."""
    x, y, wide, high = drawer(bench)._parts.map
    across = (at[0] - ACROSS.least) / (ACROSS.most - ACROSS.least)
    up = (at[1] - UP.least) / (UP.most - UP.least)
    return round(y + (1 - up) * high), round(x + across * wide)


def words(bench: Workbench) -> list[str]:
    above = [sketch for layer in bench.overlays for sketch in layer]
    return [t.text for sketch in [*bench.sketches, *above] for t in sketch.texts]


# the picture


@pytest.mark.parametrize("theme", ["dark", "light"])
def test_every_square_has_the_colour_of_the_answer_in_its_middle(theme):
    scene = scene_of(replace(PANEL, cells=5))
    bench = bench_of(scene, theme)
    picture, colours = picture_of(bench), get_map("weight", theme)
    for row in range(5):
        for column in range(5):
            at = np.array([-1.25 + 2.5 * (column + 0.5) / 5, 1.0 - 2.0 * (row + 0.5) / 5])
            y, x = pixel(bench, at + np.array([0.15, 0.1]))  # off the middle, through which the line may run
            answer = float(scene.run.predict(at[None])[0, 0])
            expected = colours(np.clip(answer, -1, 1) * SHARE) * 255
            near = np.abs(picture[y - 4 : y + 5, x - 4 : x + 5] - expected).max(axis=2)
            assert (near <= 2).mean() > 0.4, (row, column, answer)


def test_the_picture_is_of_the_frame_and_not_of_the_run():
    scene = scene_of(replace(PANEL, cells=4))
    with offscreen():
        bench = Workbench(scene, (1280, 720))
        frame = bench.subject.frame()
        middles = drawer(bench).work.points
        then = scene.run.predict(middles).reshape(4, 4)
        scene.run.step(40)
        bench.update(frame)
    np.testing.assert_allclose(drawer(bench).work.rows[..., 0], then, rtol=1e-6)
    assert not np.allclose(then, scene.run.predict(middles).reshape(4, 4))


def test_looking_changes_no_bit_of_the_run():
    one, other = scene_of(replace(PANEL, points=given_points)), scene_of(PANEL)
    with offscreen():
        bench = Workbench(one, (1280, 720), keys=(("?", "all keys"),))
        for _ in range(8):
            bench.update(bench.subject.frame(), "", 1 / 30)
            one.run.step()
    other.run.step(8)
    np.testing.assert_array_equal(one.run.values, other.run.values)


def test_the_network_gets_what_the_scene_makes_of_a_point():
    net = nn.Sequential(nn.Linear(3, 1, seed=1))
    data = np.stack([X[:, 0], X[:, 1], X[:, 0] * X[:, 1]], axis=1)
    run = sv.Run(net, nn.MSELoss(), optim.SGD(net.parameters(), lr=0.1), (data, T[:, None]), engine="numpy")
    panel = replace(PANEL, cells=3, inputs=lambda p: np.stack([p[:, 0], p[:, 1], p[:, 0] * p[:, 1]], axis=1))
    bench = bench_of(sv.Scene("s", run, panels=(panel,)))
    x, y = np.meshgrid([-2.5 / 3, 0, 2.5 / 3], [2 / 3, 0, -2 / 3])
    weight, bias = np.asarray(net[0].weight.data)[0], float(net[0].bias.data[0])
    np.testing.assert_allclose(
        drawer(bench).work.rows[..., 0], weight[0] * x + weight[1] * y + weight[2] * x * y + bias, rtol=1e-5, atol=1e-6
    )


def test_nan_is_a_checkerboard_and_infinity_an_end():
    rows = np.array([[np.nan, np.inf], [np.nan, -np.inf]])
    found = signed_shades(rows, (-1, 1))
    ends = get_map("weight").bytes([1.0, -1.0])
    np.testing.assert_array_equal(found[:, 1], ends)
    inks = {tuple(np.rint(255 * np.array(rgb(c))).astype(int)) for c in (DARK.ink, DARK.paper)}
    assert {tuple(found[0, 0]), tuple(found[1, 0])} == inks


def test_hard_answers_have_two_colours_and_classes_their_own():
    rows = RNG.uniform(-1, 1, (6, 6, 1))
    hard = shades(PANEL, rows, DARK, hard=True)
    assert len(np.unique(hard.reshape(-1, 3), axis=0)) == 2
    np.testing.assert_array_equal(hard, signed_shades(np.sign(rows[..., 0]), (-1, 1), DARK, SHARE))
    panel = replace(PANEL, classes=("a", "b", "c"))
    sure = shades(panel, np.eye(3)[None], LIGHT)[0]
    expected = SHARE * class_colours(3) * 255 + (1 - SHARE) * 255 * np.array(rgb(LIGHT.background))
    assert np.abs(sure - expected).max() <= 1


def test_probabilities_are_those_of_softmax():
    scene = scene_of(replace(PANEL, classes=("left", "right"), cells=6), classes=2)
    bench = bench_of(scene)
    work = drawer(bench).work
    raised = np.exp(scene.run.predict(work.points).astype(float))
    np.testing.assert_allclose(work.rows.reshape(-1, 2), raised / raised.sum(axis=1, keepdims=True), rtol=1e-5)
    assert {"left", "right"} <= set(words(bench))


# the line


@settings(max_examples=30, deadline=None)
@given(
    angle=st.floats(0, 6.28), shift=st.floats(-3, 3), high=st.integers(2, 12), wide=st.integers(2, 12)
)  # fmt: skip
def test_the_line_of_a_plane_is_straight(angle, shift, high, wide):
    row, column = np.mgrid[0:high, 0:wide]

    def plane(x, y):
        return np.cos(angle) * (x - wide / 2) + np.sin(angle) * (y - high / 2) + shift

    starts, ends = zero_lines(plane(column, row))
    for points in (starts, ends):
        np.testing.assert_allclose(plane(points[:, 0], points[:, 1]), 0.0, atol=1e-9)


def test_the_line_of_a_circle_has_its_length_and_none_goes_through_nan():
    row, column = np.mgrid[0:81, 0:81]
    away = np.hypot(column - 40, row - 40) - 25.0
    starts, ends = zero_lines(away)
    assert np.hypot(*(starts - ends).T).sum() == pytest.approx(2 * np.pi * 25, rel=1e-3)
    away[:, 60:] = np.nan
    cut = zero_lines(away)[0]
    assert len(cut)
    assert cut[:, 0].max() <= 59


def test_a_saddle_has_two_pieces():
    assert len(zero_lines([[1.0, -1.0], [-1.0, 1.0]])[0]) == 2
    assert len(zero_lines([[-1.0, 1.0], [1.0, -1.0]])[0]) == 2
    assert len(zero_lines(np.ones((4, 4)))[0]) == 0


def test_the_line_is_drawn_where_the_answer_is_in_the_middle():
    scene = scene_of(PANEL, steps=200)
    bench = bench_of(scene)
    picture = picture_of(bench)
    starts, ends = boundary(PANEL, drawer(bench).work.rows)
    x, y, wide, high = drawer(bench)._parts.map
    middles = (starts + ends) / 2
    seen = [picture[int(y + v * high), int(x + u * wide)] for u, v in middles]
    assert len(seen) > 40
    assert (np.array(seen).min(axis=1) > 180).mean() > 0.9
    plane = np.stack([-1.25 + 2.5 * middles[:, 0], 1.0 - 2.0 * middles[:, 1]], axis=1)
    assert np.abs(scene.run.predict(plane)).max() < 0.02


# the points and the words


def test_points_are_filled_discs_or_hollow_and_have_their_colours():
    two = Points(np.array([[-1.1, -0.9], [1.1, 0.9]]), np.array([-1.0, 1.0]), np.array([False, True]))
    bench = bench_of(scene_of(replace(PANEL, points=lambda moment: two)))
    picture = picture_of(bench)
    y, x = pixel(bench, np.array([-1.1, -0.9]))
    assert np.abs(picture[y, x] - get_map("weight").bytes(-1.0)).max() <= 2
    y, x = pixel(bench, np.array([1.1, 0.9]))
    around = picture[y - 4 : y + 5, x - 4 : x + 5]
    assert np.abs(picture[y, x] - get_map("weight").bytes(1.0)).max() > 20  # the ground, or its dark edge
    assert (np.abs(around - get_map("weight").bytes(1.0)).max(axis=2) <= 30).sum() >= 4


def test_the_words_say_points_ends_and_colours():
    bench = bench_of(scene_of(replace(PANEL, points=given_points)))
    assert {"the plane", "train", "test", f"{chr(8722)}1.25", "x  +1.25", "y", "0", "50", "left", "right"} <= set(
        words(bench)
    )
    assert "discretise" not in words(bench)  # nobody could switch it
    alike = bench_of(scene_of(replace(PANEL, up=Axis("y", -1.25, 1.25))))
    assert {"x, y  +1.25"} <= set(words(alike))
    assert not {"train", "test"} & set(words(alike))


@pytest.mark.parametrize("size", [(1280, 720), (2560, 1440), (720, 1080), (960, 640)])
@pytest.mark.parametrize("classes", [(), tuple("a class with a name" + str(k) for k in range(8))])
def test_nothing_overlaps(size, classes):
    panel = replace(PANEL, points=given_points, classes=classes)
    scene = scene_of(panel, classes=8 if classes else 1)
    with offscreen():
        bench = Workbench(scene, size, keys=(("?", "all keys"),))
        bench.update(bench.subject.frame())
    from scalarviz.view.ink.text import measure

    box = bench.places.panels["plane"]
    found = [t for s in drawer(bench).draw(Moment(bench._frame, bench.subject.source), box, None) for t in s.texts]
    boxes = []
    for t in found:
        wide = measure(t.text, t.size, t.bold)
        left = t.x - {"left": 0.0, "middle": wide / 2, "right": wide}[t.anchor]
        boxes.append((left, t.y - t.size * 0.75, left + wide, t.y, t.text))
        assert box[0] - 1 <= left
        assert left + wide <= box[0] + box[2] + 1, t.text
        assert t.y <= box[1] + box[3] + 1
    for k, one in enumerate(boxes):
        for other in boxes[:k]:
            apart = one[0] >= other[2] or other[0] >= one[2] or one[1] >= other[3] or other[1] >= one[3]
            assert apart, (one, other)


# how often


class Counted(RunSource):
    asked = 0

    def predict(self, inputs, values=None):
        self.asked += len(inputs)
        return super().predict(inputs, values)


def moments(count: int) -> list[Moment]:
    source = Counted(scene_of(PANEL).run)
    found = []
    for k in range(count):
        source.run.step(min(k, 1))
        found.append(Moment(source.frame(), source))
    return found


def test_a_frame_of_the_same_numbers_is_not_asked_again():
    (moment,) = moments(1)
    work = PlaneWork(ACROSS, UP, lambda p: p, None, live=False)
    assert work.update(moment, lambda m, s: m.predict(s))
    assert moment.source.asked == LEVELS[-1] ** 2
    again = Moment(moment.source.frame(), moment.source)
    moment.source.run.step()
    other = Moment(moment.source.frame(), moment.source)
    assert work.late(other)
    work.update(again, lambda m, s: m.predict(s))
    assert moment.source.asked == LEVELS[-1] ** 2
    assert work.moment is again
    assert work.update(other, lambda m, s: m.predict(s))
    assert moment.source.asked == 2 * LEVELS[-1] ** 2


def test_a_dear_network_is_asked_bit_by_bit_and_at_one_moment(monkeypatch):
    first, second, third = moments(3)
    clock = [0.0]
    monkeypatch.setattr("scalarviz.view.panels.plane_work.perf_counter", lambda: clock[0])

    def ask(moment, samples):
        clock[0] += 1e-4 * len(samples)  # twenty times as long as the smallest map may take
        return moment.predict(samples)

    work = PlaneWork(ACROSS, UP, lambda p: p, 20, live=True)
    while not work.update(first, ask):
        pass
    calls, longest = 0, 0.0
    while True:
        calls, began = calls + 1, clock[0]
        done = work.update(second if calls == 1 else third, ask)
        longest = max(longest, clock[0] - began)
        if done:
            break
        assert work.late(third)
        assert work.moment is first  # what is shown stays whole
    assert calls > 3
    assert longest <= 64 * 1e-4 + BUDGET
    assert work.moment is second
    np.testing.assert_allclose(work.rows.reshape(-1, 1), second.predict(work.points), rtol=1e-6)


def test_the_map_becomes_as_fine_as_there_is_time_and_never_for_a_moment_only(monkeypatch):
    clock, price = [0.0], [1e-8]
    monkeypatch.setattr("scalarviz.view.panels.plane_work.perf_counter", lambda: clock[0])

    def ask(moment, samples):
        clock[0] += price[0] * len(samples)
        return moment.predict(samples)

    def go_on(count: int) -> int:
        for _ in range(count):
            moment.source.run.step()
            other = Moment(moment.source.frame(), moment.source)
            while not work.update(other, ask):
                pass
            work.spent(0.0)
        return work.cells

    (moment,) = moments(1)
    work = PlaneWork(ACROSS, UP, lambda p: p, None, live=True)
    assert go_on(20) == LEVELS[-1]
    price[0] = 1e-5
    assert go_on(2) == LEVELS[-1]
    price[0] = 1e-8
    assert go_on(30) == LEVELS[-1]
    price[0] = 1e-6
    assert go_on(60) == max(n for n in LEVELS if n * n * 1e-6 <= BUDGET)


# hands


def playing(panel: PlaneMap) -> LiveView:
    view = LiveView(scene_of(panel), (1280, 720), playing=False)
    view.send("step")
    view.worker.settle()
    view.tick(0.02)
    return view


def at_plane(view: LiveView, x: float, y: float) -> tuple[float, float]:
    row, column = pixel(view.bench, np.array([x, y]))
    return column * view.bench.scale, row * view.bench.scale


def press(view: LiveView, at: tuple[float, float], button: str = "left") -> None:
    view.press(at, button)
    view.release(at)
    view.worker.settle()
    view.tick(0.02)


def learnt(moment: Moment) -> Points:
    inputs, targets = moment.source.samples()
    return Points(inputs, targets[:, 0])


def test_a_click_adds_a_point_and_the_right_button_takes_it_away():
    with offscreen():
        learns: list[LiveView] = []

        def remove(index: int) -> Refill:
            inputs, targets = learns[0].bench.subject.source.samples()
            return Refill(np.delete(inputs, index, 0), np.delete(targets, index, 0))

        edits = PointEdits(lambda at: AddSamples(np.array([at]), np.array([[1.0]])), remove)
        view = playing(replace(PANEL, points=learnt, edits=edits))
        learns.append(view)
        source = view.bench.subject.source
        press(view, at_plane(view, -1.15, 0.93))
        inputs, _ = source.samples()
        assert len(inputs) == 31
        np.testing.assert_allclose(inputs[-1], (-1.15, 0.93), atol=0.01)
        assert int(drawer(view.bench).seen.sum()) == 31
        press(view, at_plane(view, -1.15, 0.93), "right")
        assert len(source.samples()[0]) == 30
        press(view, at_plane(view, 1.2, -0.97), "right")  # nothing is there
        assert len(source.samples()[0]) == 30
        view.send("undo")
        view.worker.settle()
        view.tick(0.02)
        assert len(source.samples()[0]) == 31
        view.close()


def test_a_click_on_a_point_shows_its_way_and_a_drag_turns_nothing():
    with offscreen():
        view = playing(replace(PANEL, points=given_points))
        camera = view.bench.camera
        lone = int(np.argmax([np.sort(np.hypot(*(X - p).T))[1] for p in X]))  # no other point is near
        press(view, at_plane(view, *X[lone]))
        np.testing.assert_allclose(view.bench.subject.probe, X[lone])
        np.testing.assert_allclose(view.bench.subject.target, T[lone])
        assert drawer(view.bench)._ringed[2] == lone
        start = at_plane(view, 1.2, 0.0)
        view.press(start)
        view.move((start[0] - 60, start[1] + 40))
        view.release((start[0] - 60, start[1] + 40))
        assert view.bench.camera is camera
        np.testing.assert_allclose(view.bench.subject.probe, X[lone])
        press(view, at_plane(view, -1.24, -0.99))  # an empty place, and no edits
        assert len(view.bench.subject.source.samples()[0]) == 30
        view.close()


def test_pointing_says_where_and_what_and_switches_switch():
    with offscreen():
        view = playing(replace(PANEL, points=given_points))
        view.move(at_plane(view, 1.21, -0.97))
        view.tick(0.02)
        place = drawer(view.bench).numbers(view.bench.to_logical(at_plane(view, 1.21, -0.97)))
        answer = float(view.bench.subject.source.predict(np.array([place]))[0, 0])
        label = next(text for text in words(view.bench) if text.startswith("x 1.2"))
        assert label.endswith(f", y {(place[1] + 1) * 25:.2f}")  # in the numbers that the axis shows
        assert any(text.lstrip("+").replace(chr(8722), "-") == f"{answer:.3f}" for text in words(view.bench))
        before = picture_of(view.bench)
        for which in (TEST, HARD):
            toggle = drawer(view.bench).toggles[which]
            x, y, wide, high = toggle.box
            was = toggle.on
            press(view, ((x + wide - 6) * view.bench.scale, (y + high / 2) * view.bench.scale))
            assert toggle.on != was
        after = picture_of(view.bench)
        x, y, wide, high = (int(v) for v in drawer(view.bench)._parts.map)
        ends = signed_shades(np.array([-1.0, 1.0]), (-1.0, 1.0), DARK, SHARE).astype(int)
        hard = [
            (np.abs(p[y : y + high, x : x + wide, None] - ends).max(axis=3).min(axis=2) == 0).mean()
            for p in (before, after)
        ]
        assert hard[0] < 0.6
        assert hard[1] > 0.72
        shown = [
            s for sketch in view.bench.sketches for s in sketch.tops if isinstance(s, Cells) and s.rings is not None
        ]
        assert not any(np.isclose(cells.rects[:, 2], HELD_BACK).any() for cells in shown)
        view.close()


def test_what_the_scenes_own_functions_do_wrong_stands_in_the_place():
    def broken(points):
        raise ValueError("no such plane")

    bench = bench_of(scene_of(replace(PANEL, inputs=broken)))
    assert "ValueError: no such plane" in words(bench)
    assert bench.side.ground.notes == ["panel 'the plane': ValueError: no such plane"]
    assert not bench.side.moving
    assert "loss" in words(bench)


@pytest.mark.parametrize("theme", ["dark", "light"])
@pytest.mark.parametrize("back", [False, True])
def test_the_point_whose_way_is_drawn_is_ringed_above_all_points_around_it(theme, back):
    """Four hundred points lie over it, painted later than it."""
    crowd = np.vstack([[0.1, 0.1], RNG.normal(0.1, 0.03, (400, 2))])
    scene = scene_of(replace(PANEL, points=lambda moment: Points(crowd, np.ones(401), np.full(401, back))))
    scene = replace(scene, probe=crowd[0])
    with offscreen():
        bench = Workbench(scene, (1280, 720), theme, keys=(("?", "all keys"),))
        bench.update(bench.subject.frame())
    y, x = pixel(bench, crowd[0])
    picture = picture_of(bench)
    chosen = np.array(rgb((DARK if theme == "dark" else LIGHT).selection)) * 255
    angles = np.linspace(0, 2 * np.pi, 64, endpoint=False)
    around = [
        min(np.abs(picture[round(y + r * np.sin(a)), round(x + r * np.cos(a))] - chosen).max() for r in (6, 7, 8))
        for a in angles
    ]
    assert np.mean(np.array(around) < 60) > 0.9


def test_the_pointer_says_what_a_click_would_add():
    edits = PointEdits(lambda at: AddSamples(np.array([at]), np.array([[1.0]])), lambda index: None, lambda: "right")
    with offscreen():
        view = playing(replace(PANEL, points=given_points, edits=edits))
        view.move(at_plane(view, -1.15, 0.93))
        view.tick(0.02)
        assert any("click: add a point (right)" in word for word in words(view.bench))
        view.close()
    with pytest.raises(TypeMismatchError, match="PointEdits: adds"):
        PointEdits(edits.add, edits.remove, "right")


def test_outputs_are_called_as_the_classes_of_the_table_that_is_learnt_now():
    """A table that is pasted names its classes; one that is pasted after it, of as many, names others."""
    playground = importlib.import_module("scalarviz.scenes.playground")
    scene = playground.build(playground.Options(engine="numpy"))
    with offscreen():
        view = LiveView(scene, (1280, 720), playing=False)
        for part, names in ((7, ("Ara", "cat", "dog")), (5, ("ash", "elm", "oak"))):
            rows = [f"{k}\t{k * k % part}\t{names[k % 3]}" for k in range(24)]
            view.bench.subject.source.edit(scene.table(parse_csv("\n".join(["a\tb\tkind", *rows]))))
            view.worker.settle()
            view.tick(0.02)
            assert view.bench.subject.sample.outputs == names
            said = set(words(view.bench))
            assert set(names) <= said
            assert "logits" in said  # what the loss takes are no probabilities
            assert "output" not in said
        view.close()
