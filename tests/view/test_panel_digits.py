"""The board of digits, the outputs of one digit, and the sheet to draw on."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import nn, optim
from scalarviz.run import Scene
from scalarviz.run.panels import DigitBoard, DigitPad, LossCurve
from scalarviz.run.panels import TestCurve as Curve
from scalarviz.view.ink.places import Wanted, arrange
from scalarviz.view.ink.text import measure
from scalarviz.view.ink.theme import DARK, LIGHT
from scalarviz.view.out.offscreen import offscreen, render
from scalarviz.view.panels.board import EASE, DigitColumns
from scalarviz.view.panels.pad import Sheet, field_box, probe_panel, shares
from scalarviz.view.workbench import Workbench

BOX = (10.0, 20.0, 304.0, 240.0)
RNG = np.random.default_rng(2)
LABELS = np.arange(80) % 10
WANTED = (Wanted("digits", 240, worth=2), Wanted("probe", 152, worth=1), Wanted("loss", 150, 420, first=True))
BOARD = DigitBoard(RNG.random((80, 64)), LABELS, (8, 8))


@pytest.fixture
def columns():
    made = DigitColumns(BOARD, DARK)
    made.place(BOX)
    return made


def rects(columns):
    """Left, top, width and height of each digit, in the order of `columns.labels`."""
    (item,) = columns.sketch().small
    order = np.rint(item.cells[:, 0] * len(columns.labels)).astype(int)
    found = np.empty_like(item.rects)
    found[order] = item.rects
    return found


def framed(columns):
    (item,) = columns.sketch().small
    order = np.rint(item.cells[:, 0] * len(columns.labels)).astype(int)
    found = np.empty(len(order), bool)
    found[order] = item.cells[:, 1] > 0.25
    return found


def column_of(columns):
    boxes = rects(columns)
    return ((boxes[:, 0] + boxes[:, 2] / 2 - BOX[0]) // (BOX[2] / 10)).astype(int)


def test_six_of_each_class_are_shown(columns):
    assert np.bincount(columns.labels).tolist() == [6] * 10
    np.testing.assert_array_equal(columns.inputs, BOARD.inputs[:60])


@pytest.mark.parametrize("wrongly", [0, 7, 30, 60])
def test_each_digit_stands_in_the_column_it_is_read_as_and_wrong_ones_are_framed(columns, wrongly):
    read = columns.labels.copy()
    read[:wrongly] = RNG.integers(0, 10, wrongly)
    columns.update(read, None)
    np.testing.assert_array_equal(column_of(columns), read)
    np.testing.assert_array_equal(framed(columns), read != columns.labels)
    said = [item.text for item in columns.sketch().texts]
    assert f"{int((read != columns.labels).sum())} wrong" in said


@pytest.mark.parametrize("crowd", [6, 9, 10, 35, 60])
def test_a_crowd_stays_in_the_panel_and_each_digit_is_seen(columns, crowd):
    read = np.where(np.arange(60) < crowd, 4, columns.labels)
    columns.update(read, None)
    boxes = rects(columns)
    assert (boxes[:, 0] >= BOX[0] - 0.5).all()
    assert (boxes[:, 0] + boxes[:, 2] <= BOX[0] + BOX[2] + 0.5).all()
    assert (boxes[:, 1] >= BOX[1] + 22).all()
    assert (boxes[:, 1] + boxes[:, 3] <= BOX[1] + BOX[3] - 20).all()
    middles = boxes[:, :2] + boxes[:, 2:] / 2
    for k in range(60):
        away = np.abs(middles - middles[k]) / boxes[k, 2:]
        near = (away < 0.64).all(axis=1)
        assert near.sum() == 1, k


def test_a_digit_moves_smoothly_and_arrives_exactly(columns):
    columns.update(columns.labels, None)
    start = rects(columns)[0]
    read = columns.labels.copy()
    read[0] = 9
    ways = []
    for _ in range(12):
        columns.update(read, EASE / 10)
        ways.append(rects(columns)[0, 0])
    assert np.all(np.diff(ways) >= 0)
    assert start[0] < ways[0] < ways[4] < ways[8]
    assert max(np.diff(ways)) < 3 * (ways[-1] - start[0]) / 10
    assert not columns.moving
    settled = rects(columns)
    columns.update(read, None)
    np.testing.assert_array_equal(rects(columns), settled)


def test_a_turn_on_the_way_begins_where_it_is(columns):
    columns.update(columns.labels, None)
    read = columns.labels.copy()
    read[0] = 9
    columns.update(read, EASE / 2)
    there = rects(columns)[0]
    columns.update(columns.labels, 0.0)
    np.testing.assert_allclose(rects(columns)[0], there, atol=1e-4)
    columns.update(columns.labels, EASE)
    assert column_of(columns)[0] == 0


@pytest.mark.gl
@pytest.mark.parametrize("theme", [DARK, LIGHT], ids=["dark", "light"])
def test_the_pixels_of_a_digit_are_its_shades_and_a_wrong_one_has_a_frame(theme):
    from scalarviz.view.ink.painter import Painter

    columns = DigitColumns(BOARD, theme)
    columns.place(BOX)
    columns.update(np.where(np.arange(60) == 3, 0, columns.labels), None)
    sketch = columns.sketch()
    picture = render(lambda _: Painter((330, 280)).draw([sketch]), (330, 280)).astype(int)
    ink = np.array([int(theme.activation[-1][k : k + 2], 16) for k in (1, 3, 5)])
    paper = np.array([int(theme.activation[0][k : k + 2], 16) for k in (1, 3, 5)])
    for k in (0, 12, 3):
        left, top, width, _ = rects(columns)[k]
        pixel = width / 10  # eight and a border of one on each side
        rows, across = ([round(at + (n + 1.5) * pixel - 0.5) for n in range(8)] for at in (top, left))
        shown = picture[np.ix_(rows, across)]
        brightness = (shown - paper).sum(axis=2) / (ink - paper).sum()
        assert np.corrcoef(brightness.ravel(), columns.inputs[k])[0, 1] > 0.97
        edge = picture[rows[3], round(left + 0.5 * pixel)]
        wanted = theme.selection if k == 3 else theme.panel
        assert np.abs(edge - [int(wanted[c : c + 2], 16) for c in (1, 3, 5)]).max() <= 2


def test_shares_are_pytorchs_softmax_and_do_not_overflow():
    logits = np.array([1000.0, 999.0, -1000.0])
    np.testing.assert_allclose(shares(logits), [1 / (1 + np.exp(-1)), np.exp(-1) / (1 + np.exp(-1)), 0], atol=1e-15)


@pytest.mark.parametrize("winner", range(10))
def test_numbers_of_the_bars_never_touch(winner):
    """Only one share can be as wide as 100; the ones beside it are then 0."""
    for rest in (0.0, 0.05, 0.3, 0.55):
        likely = np.full(10, rest / 9)
        likely[winner] = 1 - rest
        sketch = probe_panel(BOX, DARK, np.zeros((8, 8)), np.log(likely + 1e-12), names=tuple("0123456789"),
                             title="test digit", truth="is 3")  # fmt: skip
        numbers = [t for t in sketch.texts if t.anchor == "middle" and t.y < field_box(BOX)[1] + 90]
        assert len(numbers) == 10
        spans = sorted((t.x - measure(t.text, t.size) / 2, t.x + measure(t.text, t.size) / 2) for t in numbers)
        assert all(a[1] < b[0] for a, b in pairwise(spans))
        assert spans[-1][1] <= BOX[0] + BOX[2] + 3
        assert f"read as {winner}" in [t.text for t in sketch.texts]


def test_outputs_that_are_not_finite_are_no_share():
    sketch = probe_panel(
        BOX, DARK, np.zeros((8, 8)), np.full(10, np.nan), names=tuple("0123456789"), title="", truth=""
    )
    assert "outputs are not finite" in [t.text for t in sketch.texts]


# drawing


@pytest.mark.parametrize("side", [8, 28])
def test_a_stroke_covers_its_line_softly_and_nothing_far_away(side):
    pad = Sheet((side, side), np.zeros(side * side), None)
    across = side / 2
    pad.stroke((across, 1.0), (across, side - 1.0))
    ink = pad.pixels
    columns = np.abs(np.arange(side) + 0.5 - across)
    assert (ink[2:-2, columns < 0.6] >= 0.75).all()
    assert ink[:, columns > side / 8 + 1.3].max() == 0
    assert ((ink > 0) & (ink < 1)).any()
    pad.stroke((across, 1.0), (across, side - 1.0))
    np.testing.assert_array_equal(pad.pixels, ink)  # ink does not add up
    pad.stroke((across, 1.0), (across, side - 1.0), erase=True)
    assert pad.pixels[2:-2, columns < 0.6].max() == 0


def test_the_first_stroke_replaces_a_digit_and_the_next_ones_add():
    picture = np.ones(64)
    pad = Sheet((8, 8), picture, 3)
    assert (pad.title, pad.truth) == ("test digit", "is 3")
    pad.stroke((1, 1), (1, 1))
    assert (pad.title, pad.truth) == ("your drawing", "")
    assert picture.sum() < 6
    pad.stroke((6, 6), (6, 6))
    assert pad.pixels[0, 0] > 0
    assert pad.pixels[6, 6] > 0


def test_places_on_the_sheet():
    pad = Sheet((8, 8), np.zeros(64), None)
    assert pad.place((5, 5)) is None  # not shown
    pad.box = (100, 50, 80, 80)
    assert pad.place((100, 50)) == (0, 0)
    assert pad.place((175, 85)) == (7.5, 3.5)
    assert pad.place((180, 60)) is None


# the whole picture


@pytest.mark.parametrize(
    "size", [(1280, 720), (960, 540), (720, 1080), (1000, 1000), (640, 480), (1920, 1080), (300, 200)]
)
@pytest.mark.parametrize("keys", [False, True])
def test_panels_are_inside_and_apart_at_every_size(size, keys):
    places = arrange(size, WANTED, keys=keys)
    boxes = [*places.panels.values(), places.scene]
    for k, (x, y, wide, high) in enumerate(boxes):
        assert x >= 0
        assert y >= 0
        assert x + wide <= places.size[0] + 0.01
        assert y + high <= places.size[1] + 0.01
        for a, b, width, height in boxes[:k]:
            assert x >= a + width or a >= x + wide or y >= b + height or b >= y + high


TEST = Curve("test", RNG.random((40, 1, 8, 8)), np.arange(40) % 10, accuracy=True)


@pytest.fixture(scope="module")
def scene():
    net = nn.Sequential(nn.Flatten(), nn.Linear(64, 10, seed=1))
    x, y = TEST.inputs, TEST.targets
    run = sv.Run(net, nn.CrossEntropyLoss(), optim.Adam(net.parameters(), lr=0.02), (x, y), engine="numpy")
    return Scene(
        "test", run, probe=x[0].ravel(), probe_target=y[:1].astype(float), output_names=tuple("0123456789"),
        panels=(DigitBoard(x.reshape(40, 64), y, (8, 8)), DigitPad((8, 8)), LossCurve(test=TEST)),
    )  # fmt: skip


@pytest.mark.gl
def test_the_accuracy_on_screen_is_that_of_the_frame(scene):
    with offscreen():
        bench = Workbench(scene, (1280, 720))
        for _ in range(4):
            scene.run.step(5)
            bench.update(scene.run.frame(scene.probe), "", 1 / 30)
            right = np.mean(scene.run.predict(TEST.inputs).argmax(axis=1) == TEST.targets)
            said = [item.text for sketch in bench.sketches for item in sketch.texts]
            assert said.count(f"{100 * right:.1f} %") == 1
            assert f"test accuracy {100 * right:.1f} %" in said


@pytest.mark.gl
def test_a_window_measures_it_four_times_a_second_and_at_rest(scene):
    with offscreen():
        bench = Workbench(scene, (1280, 720), keys=(("Space", "run"),))
        bench.update(scene.run.frame(scene.probe), "", 0.02)
        before = list(bench.side.drawer(LossCurve).steps)
        scene.run.step(1)
        last = scene.run.frame(scene.probe)
        bench.update(last, "", 0.02)
        assert bench.side.drawer(LossCurve).steps == before
        assert bench.moving
        for _ in range(30):
            bench.update(last, "", 0.02)
        assert bench.side.drawer(LossCurve).steps[-1] == last.step
        assert not bench.side.moving


@pytest.mark.gl
def test_drawing_on_the_picture_leaves_the_scenes_own_sample_alone(scene):
    with offscreen():
        bench = Workbench(scene, (1280, 720))
    before = scene.probe.copy()
    bench.side.drawer(DigitPad).sheet.stroke((1, 1), (5, 5))
    np.testing.assert_array_equal(scene.probe, before)
    assert not np.array_equal(bench.subject.probe, before)
