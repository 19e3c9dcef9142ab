"""Plots of many runs: what stands where, against the numbers, and that two looks have the same shapes."""

import math
import re
from itertools import pairwise
from xml.etree import ElementTree

import numpy as np
import pytest

from scalarviz.sweep.result import Result
from scalarviz.view.ink.figure import Figure
from scalarviz.view.ink.painter import Painter
from scalarviz.view.ink.sketch import Path, Rect
from scalarviz.view.ink.svg import svg_of
from scalarviz.view.ink.text import measure
from scalarviz.view.ink.theme import get_theme
from scalarviz.view.out.offscreen import offscreen
from scalarviz.view.walls.run_plots import boxes, curves, figures, sentence, sheet, spread
from scalarviz.view.walls.runs import metric_text, options_text, run_text, value_text

DARK = get_theme("dark")
BOX = (0.0, 0.0, 600.0, 400.0)


def made(losses, options=None, reached=None, state="done"):
    options = options or [{}] * len(losses)
    return [
        Result(k, options[k], k, state, 100, loss, reached=None if reached is None else reached[k],
               curve=np.array([[0, 1.0], [50, (1 + loss) / 2], [100, loss]]))
        for k, loss in enumerate(losses)
    ]  # fmt: skip


def words(group):
    return [text.text for text in group.texts]


def discs(group, colour):
    return [s for s in group.shapes if isinstance(s, Rect) and s.fill == colour and s.radius == 3.0]


def test_a_box_goes_from_quartile_to_quartile_and_discs_stand_at_their_losses():
    group = boxes(BOX, DARK, made([0.1, 0.2, 0.4, 0.8, 1.6]))
    (box,) = [shape for shape in group.shapes if isinstance(shape, Rect) and shape.stroke == DARK.text2]
    heights = sorted(disc.y + disc.radius for disc in discs(group, DARK.text2))
    assert len(heights) == 5
    assert np.diff(heights) == pytest.approx([heights[1] - heights[0]] * 4, rel=1e-6)  # equal ratios, equal distances
    assert (box.y, box.y + box.height) == pytest.approx((heights[1], heights[3]))
    (line,) = [shape for shape in group.shapes if isinstance(shape, Path) and shape.width > 2]
    assert line.points[0][1] == pytest.approx(heights[2])
    assert "0.4000" in words(group)


def test_values_of_an_option_stand_side_by_side_with_how_many_learnt():
    group = boxes(
        BOX, DARK, made([0.1, 0.2, 0.3, 0.4], [{"lr": 0.1}, {"lr": 0.5}] * 2, [True, False, True, True]), "lr"
    )
    assert {"0.1", "0.5", "2 of 2 learnt", "1 of 2 learnt", "loss at the end by lr"} <= set(words(group))
    assert len(discs(group, DARK.weight[4])) == 3
    assert len(discs(group, DARK.weight[0])) == 1


def test_what_diverged_stands_in_a_lane_above():
    runs = made([0.1, 0.2, 0.3]) + made([math.nan] * 2, state="diverged")
    group = boxes(BOX, DARK, runs)
    lane = min(s.y for s in group.shapes if isinstance(s, Rect) and s.fill == DARK.text3)
    assert lane < min(disc.y for disc in discs(group, DARK.text2))
    assert "diverged" in words(group)


def test_names_of_many_values_do_not_touch():
    rates = np.geomspace(1e-3, 1, 40).tolist()
    group = boxes(BOX, DARK, made([0.5] * 40, [{"lr": rate} for rate in rates]), "lr")
    names = {value_text(rate) for rate in rates}
    rows = sorted((s.x, measure(s.text, s.size)) for s in group.texts if s.text in names)
    assert len(rows) > 3
    for (left, wide), (right, next_wide) in pairwise(rows):
        assert left + wide / 2 <= right - next_wide / 2


def test_the_median_of_the_curves_is_that_of_the_losses_and_what_diverged_is_infinite_from_then_on():
    runs = made([0.1, 0.2, 0.9])
    runs[2] = Result(2, {}, 2, "diverged", 50, math.nan, curve=np.array([[0, 1.0], [50, 9.0]]))
    steps, (low, middle, high) = spread(runs, [tuple(run.curve.T) for run in runs])
    assert (steps[0], steps[-1]) == (0, 100)
    assert middle[-1] == pytest.approx(0.2)
    assert low[-1] == pytest.approx(0.15)
    assert high[-1] == math.inf
    assert np.isfinite(high[: len(high) // 2]).all()


def test_the_colours_of_the_curves_say_how_they_ended():
    group = curves(BOX, DARK, made([0.1, 0.9], reached=[True, False]))
    assert {"learnt 1", "stuck 1", "median and quartiles"} <= set(words(group))
    assert {s.colour for s in group.shapes if isinstance(s, Path)} >= {DARK.text1, DARK.text2}


@pytest.mark.parametrize("runs", [[], made([0.1]), made([math.nan], state="diverged"), made([0.0, 0.0]),
                                  made([-1.0, 2.0]), made([1e-300, 1e300])])  # fmt: skip
def test_any_results_can_be_drawn(runs):
    for theme in ("dark", "light"):
        for ink in (*figures(runs, theme), sheet(runs, (400, 300), theme)):
            for shape in ink:
                if isinstance(shape, Path):
                    assert np.isfinite(shape.points).all()
                elif isinstance(shape, Rect):
                    assert np.isfinite([shape.x, shape.y, shape.width, shape.height]).all()
                    assert min(shape.width, shape.height) >= 0


def test_a_line_has_its_points_in_svg_and_both_looks():
    inks = [Figure(10, 10, [curves(BOX, get_theme(look), made([0.1, 0.2]))]) for look in ("light", "dark")]
    tree = ElementTree.fromstring(svg_of(inks[0], dark=inks[1]))
    lines = [shape for shape in inks[0] if isinstance(shape, Path)]
    found = tree.findall(".//{*}polyline")
    assert len(found) == len(lines)
    numbers = [float(part) for part in re.split("[ ,]", found[-1].get("points"))]
    assert numbers == pytest.approx(np.ravel(lines[-1].points), abs=0.006)
    assert all(line.get("class") for line in found)


@pytest.mark.gl
def test_a_picture_of_the_plots_has_the_colours_of_their_endings():
    made_of = made([0.1, 0.9] * 4, reached=[True, False] * 4)
    with offscreen() as context:
        painter, ink = Painter((900.0, 500.0)), sheet(made_of, (900.0, 500.0), title="xor").placed()
        picture = context.render(lambda _: painter.draw([ink]), (900, 500))
    assert picture.shape == (500, 900, 3)
    for colour in (DARK.weight[4], DARK.weight[0], DARK.text1):
        wanted = [int(colour[k : k + 2], 16) for k in (1, 3, 5)]
        assert (np.abs(picture.astype(int) - wanted).max(axis=2) <= 2).sum() > 20


def test_words_of_runs():
    runs = made([0.1, 0.2], [{"lr": 0.1, "hidden": "16,16"}, {"lr": 0.5, "hidden": "16,16"}], [True, False])
    assert options_text(runs[0].options) == "lr 0.1, hidden 16,16"
    assert run_text(runs[1], runs).split("  \N{MIDDLE DOT}  ") == ["run 1", "lr 0.5", "seed 1", "loss 0.2000", "stuck"]
    assert sentence(runs).startswith("1 of 2 learnt")
    assert sentence([]) == "no run is done yet"
    assert [value_text(v) for v in (True, 1000, 0.001, (16, 16), "a", None)] == [
        "yes",
        "1,000",
        "0.001",
        "16,16",
        "a",
        "None",
    ]


@pytest.mark.parametrize(("number", "text"), [(4.0, "4"), (4, "4"), (0.0, "0"), (1797.0, "1,797"), (0.97, "0.97")])
def test_what_is_counted_has_no_decimals(number, text):
    assert metric_text(number) == text
