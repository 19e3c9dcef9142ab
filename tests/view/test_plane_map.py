"""The map of a plane: its colours are the network's answers at the frame shown, its points are the scene's."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import scalarviz as sv
from kit.benches import KEYS, assert_readable, bench_of, pixels_of, said_anywhere, signed
from kit.windows import live_hand
from scalarviz import nn, optim
from scalarviz.run.panels import Axis, LossCurve, PlaneMap, Points
from scalarviz.run.source import Moment, RunSource
from scalarviz.view.ink.maps import class_colours, get_map, signed_shades
from scalarviz.view.ink.sketch import Cells
from scalarviz.view.ink.theme import DARK, LIGHT, rgb
from scalarviz.view.panels.plane import BACK, HARD, SHARE, TEST, boundary, shades
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
    frame, values = bench.subject.frame(), run.values.copy()
    run.step(40)
    bench.update(frame)
    points = np.stack(np.meshgrid([-2.5 / 3, 0, 2.5 / 3], [2 / 3, 0, -2 / 3]), axis=-1).reshape(-1, 2)
    expected = made(points) @ values[:3] + values[3]
    np.testing.assert_allclose(drawer(bench).work.rows.ravel(), expected, rtol=1e-5, atol=1e-6)
    assert not np.allclose(run.values, values)


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


def test_the_line_is_drawn_where_the_answer_is_in_the_middle():
    scene = scene_of(PANEL, steps=200)
    middles = np.mean(boundary(PANEL, drawer(bench_of(scene)).work.rows), axis=0)
    assert len(middles) > 40
    plane = np.stack([-1.25 + 2.5 * middles[:, 0], 1.0 - 2.0 * middles[:, 1]], axis=1)
    assert np.abs(scene.run.predict(plane)).max() < 0.02


@pytest.mark.parametrize("size", [(1280, 720), (720, 1080), (960, 640)])
@pytest.mark.parametrize("classes", [("a", "b"), tuple("a class with a name" + str(k) for k in range(8))])
def test_many_classes_can_be_read(size, classes):
    bench = bench_of(scene_of(replace(SHOWN, classes=classes), len(classes)), size, keys=KEYS)
    assert_readable(bench.side.drawn("plane"), size)
    assert {*classes, "train", "test", "\N{MINUS SIGN}1.25", "x  +1.25", "0", "50"} <= set(said_anywhere(bench))


# ---- how often


class Clock(RunSource):
    """What asking for a sample takes."""

    asked, now, cost = 0, 0.0, 1e-4  # twenty times as long as the smallest map may take

    def ask(self, moment, samples):
        self.now, self.asked = self.now + self.cost * len(samples), self.asked + len(samples)
        return moment.predict(samples)

    def moment(self, steps=1):
        self.run.step(steps)
        return Moment(self.frame(), self)


@pytest.fixture
def clock(monkeypatch):
    made = Clock(scene_of(PANEL).run)
    monkeypatch.setattr("scalarviz.view.panels.plane_work.perf_counter", lambda: made.now)
    return made


def test_a_frame_of_the_same_numbers_is_not_asked_again(clock):
    work, first, again = PlaneWork(ACROSS, UP, lambda p: p, None, live=False), clock.moment(), clock.moment(0)
    assert work.update(first, clock.ask)
    assert work.late(other := clock.moment())
    assert not work.update(again, clock.ask)
    assert (clock.asked, work.moment) == (LEVELS[-1] ** 2, again)
    assert work.update(other, clock.ask)
    assert clock.asked == 2 * LEVELS[-1] ** 2


def test_a_dear_network_is_asked_bit_by_bit_and_at_one_moment(clock):
    first, second, third = (clock.moment() for _ in range(3))
    work, calls, done = PlaneWork(ACROSS, UP, lambda p: p, 20, live=True), 0, False
    work.whole(first, clock.ask)
    while not done:
        assert work.moment is first  # what is shown stays whole
        began, calls = clock.now, calls + 1
        done = work.update(second if calls == 1 else third, clock.ask)
        assert clock.now - began <= 64 * clock.cost + BUDGET
    assert calls > 3
    assert work.moment is second
    np.testing.assert_allclose(work.rows.reshape(-1, 1), second.predict(work.points), rtol=1e-6)


def test_the_map_becomes_as_fine_as_there_is_time_and_never_for_a_moment_only(clock):
    work, fine = PlaneWork(ACROSS, UP, lambda p: p, None, live=True), LEVELS[-1]
    for clock.cost, frames in ((1e-8, 20), (1e-5, 2), (1e-8, 30), (1e-6, 60)):
        for _ in range(frames):
            other = clock.moment()
            while not work.update(other, clock.ask):
                pass
            work.spent(0.0)
        fine = fine if frames < 60 else max(n for n in LEVELS if n * n * 1e-6 <= BUDGET)
        assert work.cells == fine


# ---- hands


def test_pointing_says_where_and_what_and_switches_switch():
    with live_hand(scene_of(SHOWN)) as hand:
        found = drawer(hand.bench)
        place = hand.at(found.axes.point(1.21, -0.97))
        hand.view.move(place)
        said, answer = hand.words(), float(hand.run.predict(np.array([found.numbers(place)]))[0, 0])
        assert any(text.startswith("x 1.2") and text.endswith(", y 0.75") for text in said)  # as the axis says
        assert signed(answer, 3) in said
        for switched in (False, True):
            discs = [c for sketch in hand.bench.sketches for c in sketch.tops if isinstance(c, Cells)]
            hollow = [c.rings is not None and np.isclose(c.rects[:, 2], BACK).any() for c in discs]
            assert any(hollow) != switched
            (picture,) = [i for sketch in hand.bench.side.drawn("plane") for i in sketch.images]
            assert (len(np.unique(picture.pixels.reshape(-1, 3), axis=0)) <= 2) == switched
            for which in (TEST, HARD):
                x, y, wide, high = found.toggles[which].box
                hand.press(hand.at((x + wide - 6, y + high / 2)))
            if not switched:
                assert np.isfinite(found.spots).all(axis=1).tolist() == (~POINTS.back).tolist()
