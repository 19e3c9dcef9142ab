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
from scalarviz.view.ink.theme import DARK, LIGHT
from scalarviz.view.out.offscreen import render
from scalarviz.view.panels.digits import EASE, DigitColumns, Sheet, field_box, probe_panel, shares
from scalarviz.view.workbench import Workbench

BOX = (10.0, 20.0, 304.0, 240.0)
RNG = np.random.default_rng(2)
BOARD = DigitBoard(RNG.random((80, 64)), np.arange(80) % 10, (8, 8))


def columns_of(theme=DARK):
    made = DigitColumns(BOARD, theme)
    made.place(BOX)
    return made


@pytest.fixture
def columns():
    return columns_of()


def shown(columns):
    """Left, top, width and height of each digit, and whether it has a frame, in the order of `columns.labels`."""
    (item,) = columns.sketch().small
    order = np.argsort(np.rint(item.cells[:, 0] * len(columns.labels)))
    return item.rects[order], item.cells[order, 1] > 0.25


def column_of(boxes):
    return ((boxes[:, 0] + boxes[:, 2] / 2 - BOX[0]) // (BOX[2] / 10)).astype(int)


@pytest.mark.parametrize("wrongly", [0, 7, 30, 60])
def test_six_of_each_class_stand_in_the_column_they_are_read_as_and_wrong_ones_are_framed(columns, wrongly):
    assert np.bincount(columns.labels).tolist() == [6] * 10
    np.testing.assert_array_equal(columns.inputs, BOARD.inputs[:60])
    read = columns.labels.copy()
    read[:wrongly] = RNG.integers(0, 10, wrongly)
    columns.update(read, None)
    boxes, framed = shown(columns)
    np.testing.assert_array_equal(column_of(boxes), read)
    np.testing.assert_array_equal(framed, read != columns.labels)
    assert f"{int(framed.sum())} wrong" in [item.text for item in columns.sketch().texts]


@pytest.mark.parametrize("crowd", [6, 9, 10, 35, 60])
def test_a_crowd_stays_in_the_panel_and_each_digit_is_seen(columns, crowd):
    columns.update(np.where(np.arange(60) < crowd, 4, columns.labels), None)
    boxes, _ = shown(columns)
    assert (boxes[:, :2] >= (BOX[0] - 0.5, BOX[1] + 22)).all()
    assert (boxes[:, :2] + boxes[:, 2:] <= (BOX[0] + BOX[2] + 0.5, BOX[1] + BOX[3] - 20)).all()
    middles = boxes[:, :2] + boxes[:, 2:] / 2
    away = np.abs(middles[:, None] - middles) / boxes[:, None, 2:]
    assert (away < 0.64).all(axis=2).sum() == 60  # each is near itself alone


def test_a_digit_moves_smoothly_turns_where_it_is_and_arrives_exactly(columns):
    columns.update(columns.labels, None)
    start, read, ways = shown(columns)[0][0, 0], columns.labels.copy(), []
    read[0] = 9
    for _ in range(12):
        columns.update(read, EASE / 10)
        ways.append(shown(columns)[0][0, 0])
    assert np.all(np.diff(ways) >= 0)
    assert start < ways[0] < ways[4] < ways[8]
    assert max(np.diff(ways)) < 3 * (ways[-1] - start) / 10
    assert not columns.moving
    settled, _ = shown(columns)
    columns.update(read, None)
    np.testing.assert_array_equal(shown(columns)[0], settled)
    columns.update(columns.labels, EASE / 2)
    there = shown(columns)[0][0]
    columns.update(read, 0.0)
    np.testing.assert_allclose(shown(columns)[0][0], there, atol=1e-4)
    columns.update(read, EASE)
    assert column_of(shown(columns)[0])[0] == 9


@pytest.mark.gl
@pytest.mark.parametrize("theme", [DARK, LIGHT], ids=["dark", "light"])
def test_the_pixels_of_a_digit_are_its_shades_and_a_wrong_one_has_a_frame(theme):
    from scalarviz.view.ink.painter import Painter

    columns = columns_of(theme)
    columns.update(np.where(np.arange(60) == 3, 0, columns.labels), None)
    picture = render(lambda _: Painter((330, 280)).draw([columns.sketch()]), (330, 280)).astype(int)
    ink, paper, frame, panel = (np.array([int(colour[k : k + 2], 16) for k in (1, 3, 5)]) for colour in
                                (theme.activation[-1], theme.activation[0], theme.selection, theme.panel))  # fmt: skip
    for k in (0, 12, 3):
        left, top, width, _ = shown(columns)[0][k]
        pixel = width / 10  # eight and a border of one on each side
        rows, across = ([round(at + (n + 1.5) * pixel - 0.5) for n in range(8)] for at in (top, left))
        brightness = (picture[np.ix_(rows, across)] - paper).sum(axis=2) / (ink - paper).sum()
        assert np.corrcoef(brightness.ravel(), columns.inputs[k])[0, 1] > 0.97
        edge = picture[rows[3], round(left + 0.5 * pixel)]
        assert np.abs(edge - (frame if k == 3 else panel)).max() <= 2


def test_shares_are_pytorchs_softmax_and_do_not_overflow():
    logits = np.array([1000.0, 999.0, -1000.0])
    np.testing.assert_allclose(shares(logits), [1 / (1 + np.exp(-1)), np.exp(-1) / (1 + np.exp(-1)), 0], atol=1e-15)


def panel_of(logits):
    return probe_panel(BOX, DARK, Sheet((8, 8), np.zeros(64), 3), logits, tuple("0123456789"))


@pytest.mark.parametrize("winner", range(10))
def test_numbers_of_the_bars_never_touch(winner):
    """Only one share can be as wide as 100; the ones beside it are then 0."""
    for rest in (0.0, 0.05, 0.3, 0.55):
        likely = np.full(10, rest / 9)
        likely[winner] = 1 - rest
        sketch = panel_of(np.log(likely + 1e-12))
        numbers = sorted((t for t in sketch.texts if t.anchor == "middle" and t.y < field_box(BOX)[1] + 90),
                         key=lambda t: t.left)  # fmt: skip
        assert len(numbers) == 10
        assert all(a.left + a.width < b.left for a, b in pairwise(numbers))
        assert numbers[-1].left + numbers[-1].width <= BOX[0] + BOX[2] + 3
        assert {f"read as {winner}", "is 3"} <= {t.text for t in sketch.texts}


def test_outputs_that_are_not_finite_are_no_share():
    said = [t.text for t in panel_of(np.full(10, np.nan)).texts]
    assert "outputs are not finite" in said
    assert "%" not in said


# drawing


@pytest.mark.parametrize("side", [8, 28])
def test_a_stroke_covers_its_line_softly_and_nothing_far_away(side):
    pad = Sheet((side, side), np.zeros(side * side), None)
    line = (side / 2, 1.0), (side / 2, side - 1.0)
    pad.stroke(*line)
    ink, columns = pad.pixels.copy(), np.abs(np.arange(side) + 0.5 - side / 2)
    assert (ink[2:-2, columns < 0.6] >= 0.75).all()
    assert ink[:, columns > side / 8 + 1.3].max() == 0
    assert ((ink > 0) & (ink < 1)).any()
    pad.stroke(*line)
    np.testing.assert_array_equal(pad.pixels, ink)  # ink does not add up
    pad.stroke(*line, erase=True)
    assert pad.pixels[2:-2, columns < 0.6].max() == 0


def test_the_first_stroke_replaces_a_digit_and_the_next_ones_add():
    pad = Sheet((8, 8), np.ones(64), 3)
    assert (pad.drawn, pad.truth) == (False, "is 3")
    pad.stroke((1, 1), (1, 1))
    assert (pad.drawn, pad.truth) == (True, "")
    assert pad.picture.sum() < 6
    pad.stroke((6, 6), (6, 6))
    assert pad.pixels[0, 0] > 0
    assert pad.pixels[6, 6] > 0


def test_places_on_the_sheet():
    pad = Sheet((8, 8), np.zeros(64), None)
    assert pad.place((5, 5)) is None  # not shown
    pad.box = (100, 50, 80, 80)
    assert [pad.place(at) for at in ((100, 50), (175, 85), (180, 60))] == [(0, 0), (7.5, 3.5), None]


# the whole picture

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
    bench = Workbench(scene, (1280, 720))
    for _ in range(4):
        scene.run.step(5)
        bench.update(scene.run.frame(scene.probe), "", 1 / 30)
        right = f"{100 * np.mean(scene.run.predict(TEST.inputs).argmax(axis=1) == TEST.targets):.1f} %"
        said = [item.text for sketch in bench.sketches for item in sketch.texts]
        assert (said.count(right), said.count(f"test accuracy {right}")) == (1, 1)


@pytest.mark.gl
def test_a_window_measures_it_four_times_a_second_and_at_rest(scene):
    bench = Workbench(scene, (1280, 720), keys=(("Space", "run"),))
    bench.update(scene.run.frame(scene.probe), "", 0.02)
    before, curve = list(bench.side.drawer(LossCurve).steps), bench.side.drawer(LossCurve)
    scene.run.step(1)
    last = scene.run.frame(scene.probe)
    bench.update(last, "", 0.02)
    assert curve.steps == before
    assert bench.moving
    for _ in range(30):
        bench.update(last, "", 0.02)
    assert curve.steps[-1] == last.step
    assert not bench.side.moving


@pytest.mark.gl
def test_drawing_on_the_picture_leaves_the_scenes_own_sample_alone(scene):
    bench, before = Workbench(scene, (1280, 720)), scene.probe.copy()
    bench.side.drawer(DigitPad).sheet.stroke((1, 1), (5, 5))
    np.testing.assert_array_equal(scene.probe, before)
    assert not np.array_equal(bench.subject.probe, before)


@pytest.mark.gl
def test_a_stroke_begins_on_the_sheet_alone(scene):
    pad = Workbench(scene, (1280, 720), keys=(("Space", "run"),)).side.drawer(DigitPad)
    x, y, _, _ = pad.sheet.box
    assert not pad.press((x - 9, y), "left")
    assert not pad.drag((x + 9, y + 9), (18.0, 9.0), "left")
    assert not pad.sheet.drawn
    assert pad.press((x + 9, y + 9), "left")
    assert pad.sheet.drawn
