"""The map of a plane: its colours are the network's answers at the frame shown, its points are the scene's."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import scalarviz as sv
from kit.benches import KEYS, bench_of, middle, pixels_of, said_anywhere, text_boxes
from kit.windows import Window
from scalarviz import nn, optim
from scalarviz.errors import TypeMismatchError
from scalarviz.run.edits import AddSamples, Refill
from scalarviz.run.panels import Axis, LossCurve, PlaneMap, PointEdits, Points
from scalarviz.run.source import Moment, RunSource
from scalarviz.view.ink.maps import class_colours, get_map, signed_shades
from scalarviz.view.ink.sketch import Cells, meet
from scalarviz.view.ink.theme import DARK, LIGHT, rgb
from scalarviz.view.panels.plane import BACK, HARD, RING, SHARE, TEST, boundary, shades
from scalarviz.view.panels.plane_work import BUDGET, LEVELS, PlaneWork

RNG = np.random.default_rng(3)
X = RNG.uniform(-1, 1, (40, 2))
T = np.where(X[:, 0] > 0, 1.0, -1.0)
ACROSS, UP = Axis("x", -1.25, 1.25), Axis("y", -1.0, 1.0, (0.0, 50.0))
POINTS = Points(X, T, np.arange(40) >= 30)
PANEL = PlaneMap("the plane", ACROSS, UP, span=(-1.0, 1.0), says=("left", "right"))
SHOWN = replace(PANEL, points=lambda moment: POINTS)


def scene_of(panel, classes=1, steps=20, **more):
    net = nn.Sequential(nn.Linear(2, 4, seed=1), nn.Tanh(), nn.Linear(4, classes, seed=2))
    targets = T[:30, None] if classes == 1 else (T[:30, None] > 0).astype(int)
    loss = nn.MSELoss() if classes == 1 else nn.CrossEntropyLoss()
    run = sv.Run(net, loss, optim.SGD(net.parameters(), lr=0.2), (X[:30], targets), engine="numpy", seed=0)
    run.step(steps)
    return sv.Scene("plane", run, input_names=("x", "y"), panels=(panel, LossCurve()), **more)


def drawer(bench):
    return bench.side.drawers["plane"]


def cells(bench):
    """All flat discs, with whether they are rings."""
    return [shape for sketch in bench.sketches for shape in sketch.tops if isinstance(shape, Cells)]


# ---- the picture


@pytest.mark.gl
@pytest.mark.parametrize("theme", ["dark", "light"])
def test_every_square_has_the_colour_of_the_answer_in_its_middle(theme):
    scene = scene_of(replace(PANEL, cells=5))
    bench = bench_of(scene, theme=theme)
    picture, colours = pixels_of(bench), get_map("weight", theme)
    for row, column in np.ndindex(5, 5):
        at = np.array([-1.25 + 2.5 * (column + 0.5) / 5, 1.0 - 2.0 * (row + 0.5) / 5])
        x, y = (round(v) for v in drawer(bench).axes.point(at[0] + 0.15, at[1] + 0.1))  # off the line in the middle
        answer = float(scene.run.predict(at[None])[0, 0])
        expected = colours(np.clip(answer, -1, 1) * SHARE) * 255
        near = np.abs(picture[y - 4 : y + 5, x - 4 : x + 5] - expected).max(axis=2)
        assert (near <= 2).mean() > 0.4, (row, column, answer)


def test_the_numbers_are_of_the_frame_and_of_what_the_scene_makes_of_a_point():
    net = nn.Sequential(nn.Linear(3, 1, seed=1))
    made = lambda p: np.stack([p[:, 0], p[:, 1], p[:, 0] * p[:, 1]], axis=1)  # noqa: E731
    run = sv.Run(net, nn.MSELoss(), optim.SGD(net.parameters(), lr=0.1), (made(X), T[:, None]), engine="numpy")
    bench = bench_of(sv.Scene("s", run, panels=(replace(PANEL, cells=3, inputs=made),)))
    frame, (weight, bias) = bench.subject.frame(), (np.array(net[0].weight.data)[0], float(net[0].bias.data[0]))
    run.step(40)
    bench.update(frame)
    x, y = np.meshgrid([-2.5 / 3, 0, 2.5 / 3], [2 / 3, 0, -2 / 3])
    expected = weight[0] * x + weight[1] * y + weight[2] * x * y + bias
    np.testing.assert_allclose(drawer(bench).work.rows[..., 0], expected, rtol=1e-5, atol=1e-6)
    assert not np.allclose(np.asarray(net[0].weight.data)[0], weight)


def test_looking_changes_no_bit_of_the_run():
    one, other = scene_of(SHOWN), scene_of(PANEL)
    bench = bench_of(one, keys=KEYS)
    for _ in range(8):
        bench.update(bench.subject.frame(), "", 1 / 30)
        one.run.step()
    other.run.step(8)
    np.testing.assert_array_equal(one.run.values, other.run.values)


def test_colours_of_nan_of_infinity_of_hard_answers_and_of_classes():
    found = signed_shades(np.array([[np.nan, np.inf], [np.nan, -np.inf]]), (-1, 1))
    np.testing.assert_array_equal(found[:, 1], get_map("weight").bytes([1.0, -1.0]))
    inks = {tuple(np.rint(255 * np.array(rgb(c))).astype(int)) for c in (DARK.ink, DARK.paper)}
    assert {tuple(found[0, 0]), tuple(found[1, 0])} == inks  # a checkerboard
    rows = RNG.uniform(-1, 1, (6, 6, 1))
    hard = shades(PANEL, rows, DARK, hard=True)
    np.testing.assert_array_equal(hard, signed_shades(np.sign(rows[..., 0]), (-1, 1), DARK, SHARE))
    sure = shades(replace(PANEL, classes=("a", "b", "c")), np.eye(3)[None], LIGHT)[0]
    expected = SHARE * class_colours(3) * 255 + (1 - SHARE) * 255 * np.array(rgb(LIGHT.background))
    assert np.abs(sure - expected).max() <= 1


def test_probabilities_are_those_of_softmax():
    scene = scene_of(replace(PANEL, classes=("left", "right"), cells=6), classes=2)
    work = drawer(bench_of(scene)).work
    raised = np.exp(scene.run.predict(work.points).astype(float))
    np.testing.assert_allclose(work.rows.reshape(-1, 2), raised / raised.sum(axis=1, keepdims=True), rtol=1e-5)


@pytest.mark.gl
def test_the_line_is_drawn_where_the_answer_is_in_the_middle():
    scene = scene_of(PANEL, steps=200)
    bench = bench_of(scene)
    picture, (starts, ends) = pixels_of(bench), boundary(PANEL, drawer(bench).work.rows)
    middles = (starts + ends) / 2
    plane = np.stack([-1.25 + 2.5 * middles[:, 0], 1.0 - 2.0 * middles[:, 1]], axis=1)
    columns, rows = drawer(bench).axes.points(*plane.T).astype(int).T
    assert len(plane) > 40
    assert (picture[rows, columns].min(axis=1) > 180).mean() > 0.9
    assert np.abs(scene.run.predict(plane)).max() < 0.02
    three = replace(PANEL, classes=("a", "b", "c"))
    starts, _ = boundary(three, np.stack(np.broadcast_arrays(*np.mgrid[0:9, 0:9], 4.5), axis=-1).astype(float))
    assert len(starts) > 12


# ---- the points and the words


@pytest.mark.gl
def test_points_are_filled_discs_or_hollow_and_have_their_colours():
    two = Points(np.array([[-1.1, -0.9], [1.1, 0.9]]), np.array([-1.0, 1.0]), np.array([False, True]))
    bench = bench_of(scene_of(replace(PANEL, points=lambda moment: two)))
    picture, low, high = pixels_of(bench), *get_map("weight").bytes([-1.0, 1.0])
    (left, below), (right, above) = drawer(bench).spots.round().astype(int)
    assert np.abs(picture[below, left] - low).max() <= 2
    around = picture[above - 4 : above + 5, right - 4 : right + 5]
    assert np.abs(picture[above, right] - high).max() > 20  # the ground, or its dark edge
    assert (np.abs(around - high).max(axis=2) <= 30).sum() >= 4


def test_the_words_say_points_ends_and_colours():
    bench = bench_of(scene_of(SHOWN))
    ends = {f"{chr(8722)}1.25", "x  +1.25", "y", "0", "50"}
    assert {"the plane", "train", "test", "left", "right", *ends} <= set(said_anywhere(bench))
    assert "discretise" not in said_anywhere(bench)  # nobody could switch it
    alike = bench_of(scene_of(replace(PANEL, up=Axis("y", -1.25, 1.25))))
    assert "x, y  +1.25" in said_anywhere(alike)
    assert not {"train", "test"} & set(said_anywhere(alike))


@pytest.mark.parametrize("size", [(1280, 720), (720, 1080), (960, 640)])
@pytest.mark.parametrize("classes", [(), tuple("a class with a name" + str(k) for k in range(8))])
def test_nothing_overlaps(size, classes):
    bench = bench_of(scene_of(replace(SHOWN, classes=classes), 8 if classes else 1), size, keys=KEYS)
    left, top, wide, high = drawer(bench).box
    boxes = [box for box, _ in text_boxes(*bench.side.drawn("plane"))]
    assert len(boxes) > 7
    for k, box in enumerate(boxes):
        assert left - 1 <= box[0] <= box[0] + box[2] <= left + wide + 1
        assert top <= box[1] <= box[1] + box[3] <= top + high + 1
        assert not any(meet(box, other) for other in boxes[:k])


@pytest.mark.parametrize("back", [False, True])
def test_the_point_whose_way_is_drawn_is_ringed_above_all_points_around_it(back):
    """Four hundred points lie over it, painted later than it."""
    crowd = np.vstack([[0.1, 0.1], RNG.normal(0.1, 0.03, (400, 2))])
    points = Points(crowd, np.ones(401), np.full(401, back))
    bench = bench_of(scene_of(replace(PANEL, points=lambda moment: points), probe=crowd[0]), keys=KEYS)
    *_, ring, dot = cells(bench)
    assert ring.rects[0, 2] == RING
    assert (dot.rings is not None) == back
    for one in (ring, dot):
        np.testing.assert_allclose(middle(one.rects[0]), drawer(bench).spots[0], atol=1e-3)


# ---- how often


class Counted(RunSource):
    asked = 0

    def predict(self, inputs, values=None):
        self.asked += len(inputs)
        return super().predict(inputs, values)


def moments(count):
    source = Counted(scene_of(PANEL).run)
    found = []
    for k in range(count):
        source.run.step(min(k, 1))
        found.append(Moment(source.frame(), source))
    return found


def work_of(cells=None, *, live=True):
    return PlaneWork(ACROSS, UP, lambda p: p, cells, live=live)


def test_a_frame_of_the_same_numbers_is_not_asked_again():
    (moment,) = moments(1)
    work, source, ask = work_of(live=False), moment.source, lambda m, s: m.predict(s)
    assert work.update(moment, ask)
    again = Moment(source.frame(), source)
    source.run.step()
    other = Moment(source.frame(), source)
    assert work.late(other)
    assert not work.update(again, ask)
    assert (source.asked, work.moment) == (LEVELS[-1] ** 2, again)
    assert work.update(other, ask)
    assert source.asked == 2 * LEVELS[-1] ** 2


def test_a_dear_network_is_asked_bit_by_bit_and_at_one_moment(monkeypatch):
    first, second, third = moments(3)
    clock = [0.0]
    monkeypatch.setattr("scalarviz.view.panels.plane_work.perf_counter", lambda: clock[0])

    def ask(moment, samples):
        clock[0] += 1e-4 * len(samples)  # twenty times as long as the smallest map may take
        return moment.predict(samples)

    work = work_of(20)
    work.whole(first, ask)
    calls, longest, done = 0, 0.0, False
    while not done:
        assert work.moment is first  # what is shown stays whole
        began = clock[0]
        done = work.update(second if not calls else third, ask)
        calls, longest = calls + 1, max(longest, clock[0] - began)
    assert calls > 3
    assert longest <= 64 * 1e-4 + BUDGET
    assert work.moment is second
    np.testing.assert_allclose(work.rows.reshape(-1, 1), second.predict(work.points), rtol=1e-6)


def test_the_map_becomes_as_fine_as_there_is_time_and_never_for_a_moment_only(monkeypatch):
    clock, price = [0.0], [1e-8]
    monkeypatch.setattr("scalarviz.view.panels.plane_work.perf_counter", lambda: clock[0])
    (moment,) = moments(1)
    work = work_of()

    def ask(moment, samples):
        clock[0] += price[0] * len(samples)
        return moment.predict(samples)

    for cost, frames, fine in (
        (1e-8, 20, LEVELS[-1]),
        (1e-5, 2, LEVELS[-1]),
        (1e-8, 30, LEVELS[-1]),
        (1e-6, 60, max(n for n in LEVELS if n * n * 1e-6 <= BUDGET)),
    ):
        price[0] = cost
        for _ in range(frames):
            moment.source.run.step()
            other = Moment(moment.source.frame(), moment.source)
            while not work.update(other, ask):
                pass
            work.spent(0.0)
        assert work.cells == fine


# ---- hands


def at(window, *place):
    return drawer(window.bench).axes.point(*place)


def test_a_click_adds_a_point_and_the_right_button_takes_it_away():
    def learnt(moment):
        inputs, targets = moment.source.samples()
        return Points(inputs, targets[:, 0])

    def remove(index):
        inputs, targets = window.run.samples()
        return Refill(np.delete(inputs, index, 0), np.delete(targets, index, 0))

    edits = PointEdits(lambda at: AddSamples(np.array([at]), np.array([[1.0]])), remove, lambda: "right")
    with Window(scene_of(replace(PANEL, points=learnt, edits=edits))) as window:
        counts, corner = [], at(window, -1.15, 0.93)
        window.move(corner)
        assert any("click: add a point (right)" in word for word in window.words)
        for button, place in (("left", corner), ("right", corner), ("right", at(window, 1.2, -0.97))):
            window.press(place, button)  # the last one is empty
            counts.append(len(window.run.samples()[0]))
            assert int(drawer(window.bench).seen.sum()) == counts[-1]
        assert counts == [31, 30, 30]
        window.send("undo")
        np.testing.assert_allclose(window.run.samples()[0][-1], (-1.15, 0.93), atol=0.01)
    with pytest.raises(TypeMismatchError, match="PointEdits: adds"):
        PointEdits(edits.add, edits.remove, "right")


def test_a_click_on_a_point_shows_its_way_and_a_drag_turns_nothing():
    with Window(scene_of(SHOWN)) as window:
        camera, subject = window.bench.camera, window.bench.subject
        lone = int(np.argmax([np.sort(np.hypot(*(X - p).T))[1] for p in X]))  # no other point is near
        window.press(at(window, *X[lone]))
        assert drawer(window.bench).drawn_way == lone
        np.testing.assert_allclose([*subject.probe, *subject.target], [*X[lone], T[lone]])
        start = at(window, 1.2, 0.0)
        window.press(start, to=(start[0] - 60, start[1] + 40))
        window.press(at(window, -1.24, -0.99))  # an empty place, and no edits
        assert window.bench.camera is camera
        assert drawer(window.bench).drawn_way == lone
        assert len(window.run.samples()[0]) == 30


def test_pointing_says_where_and_what_and_switches_switch():
    with Window(scene_of(SHOWN)) as window:
        found, place = drawer(window.bench), (1.21, -0.97)
        window.move(at(window, *place))
        answer = float(window.run.predict(np.array([found.numbers(at(window, *place))]))[0, 0])
        (label,) = [text for text in window.words if text.startswith("x 1.2")]
        assert label.endswith(", y 0.75")  # in the numbers that the axis shows
        assert any(text.lstrip("+").replace(chr(8722), "-") == f"{answer:.3f}" for text in window.words)

        def hollow():
            return any(c.rings is not None and np.isclose(c.rects[:, 2], BACK).any() for c in cells(window.bench))

        def inks():
            (picture,) = [i for sketch in window.bench.side.drawn("plane") for i in sketch.images]
            return len(np.unique(picture.pixels.reshape(-1, 3), axis=0))

        assert hollow()
        assert inks() > 9
        for which in (TEST, HARD):
            x, y, wide, high = found.toggles[which].box
            window.press((x + wide - 6, y + high / 2))
        assert not hollow()
        assert np.isfinite(found.spots).all(axis=1).tolist() == (~POINTS.back).tolist()  # none is found there
        assert inks() == 2
        assert {"train", "test", "discretise"} <= set(window.words)


def test_what_the_scenes_own_functions_do_wrong_stands_in_the_place():
    def broken(points):
        raise ValueError("no such plane")

    bench = bench_of(scene_of(replace(PANEL, inputs=broken)))
    assert {"ValueError: no such plane", "loss"} <= set(said_anywhere(bench))
    assert len(bench.side.ground.notes) == 1
    assert not bench.side.moving
