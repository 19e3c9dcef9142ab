"""Plots of many runs: what stands where, against the numbers; words of runs; quartiles as NumPy has them."""

from __future__ import annotations

import math
import re
from itertools import pairwise
from xml.etree import ElementTree

import numpy as np
import pytest

from kit.benches import words
from scalarviz.sweep.result import Result, thinned
from scalarviz.view.ink.figure import Figure, svg_of
from scalarviz.view.ink.sketch import Path, Rect
from scalarviz.view.ink.theme import get_theme
from scalarviz.view.walls.run_plots import boxes, curve_of, curves, figures, sheet, spread
from scalarviz.view.walls.runs import value_text

DARK = get_theme("dark")
BOX = (0.0, 0.0, 600.0, 400.0)
FAR = 1e300  # in the place of infinity, between which and a number NumPy finds none


def made(losses, options=None, reached=None, state="done"):
    options, reached = options or [{}] * len(losses), reached or [None] * len(losses)
    curve = [np.array([[0, 1.0], [50, (1 + loss) / 2], [100, loss]]) for loss in losses]
    return [Result(k, options[k], k, state, 100, losses[k], reached=reached[k], curve=curve[k])
            for k in range(len(losses))]  # fmt: skip


def discs(sketch, colour):
    return [s for s in sketch.shapes if isinstance(s, Rect) and s.fill == colour and s.radius == 3.0]


def test_a_box_goes_from_quartile_to_quartile_discs_stand_at_their_losses_and_what_diverged_in_a_lane_above():
    runs = made([0.1, 0.2, 0.4, 0.8, 1.6])
    sketch = boxes(BOX, DARK, runs)
    (box,) = [shape for shape in sketch.shapes if isinstance(shape, Rect) and shape.stroke == DARK.text2]
    heights = sorted(disc.y + disc.radius for disc in discs(sketch, DARK.text2))
    assert np.diff(heights) == pytest.approx([heights[1] - heights[0]] * 4, rel=1e-6)  # equal ratios, equal distances
    assert (box.y, box.y + box.height) == pytest.approx((heights[1], heights[3]))
    (line,) = [shape for shape in sketch.shapes if isinstance(shape, Path) and shape.width > 2]
    assert line.points[0][1] == pytest.approx(heights[2])
    assert "0.4000" in words([sketch])
    sketch = boxes(BOX, DARK, runs + made([math.nan] * 2, state="diverged"))
    (lane,) = [s for s in sketch.shapes if isinstance(s, Rect) and s.fill == DARK.panel]
    assert lane.y + lane.height < min(disc.y for disc in discs(sketch, DARK.text2))
    assert [lane.y < s.y and s.y + s.height < lane.y + lane.height for s in discs(sketch, DARK.text3)] == [True] * 2
    assert "diverged" in words([sketch])


def test_values_of_an_option_stand_side_by_side_with_how_many_learnt_and_names_do_not_touch():
    runs = made([0.1, 0.2, 0.3, 0.4], [{"lr": 0.1}, {"lr": 0.5}] * 2, [True, False, True, True])
    sketch = boxes(BOX, DARK, runs, "lr")
    assert {"0.1", "0.5", "2 of 2 learnt", "1 of 2 learnt", "loss at the end by lr"} <= set(words([sketch]))
    assert [len(discs(sketch, DARK.weight[k])) for k in (4, 0)] == [3, 1]
    rates = np.geomspace(1e-3, 1, 40).tolist()
    names = set(map(value_text, rates))
    sketch = boxes(BOX, DARK, made([0.5] * 40, [{"lr": rate} for rate in rates]), "lr")
    rows = sorted((text.left, text.left + text.width) for text in sketch.texts if text.text in names)
    assert len(rows) > 3
    assert all(right <= left for (_, right), (left, _) in pairwise(rows))


def drawn_run(rng, number):
    diverged = rng.random() < 0.4
    steps = int(rng.integers(1, 400)) if diverged else int(rng.choice([5, 300]))
    losses = rng.exponential(size=steps)
    if diverged:
        losses[-1] = rng.choice([np.nan, np.inf, 3.0])
    curve = thinned(np.arange(1, steps + 1), losses)
    return Result(number, {}, number, "diverged" if diverged else "done", steps, curve=curve)


def loss_at(result, place):
    """The loss of a run at a place; no number after its end, far away where it had diverged."""
    steps, losses = curve_of(result)
    if place > steps[-1]:
        return FAR if result.state == "diverged" else np.nan
    if not np.isfinite(losses[int(np.searchsorted(steps, place))]):
        return FAR
    return np.interp(place, steps, losses)


@pytest.mark.parametrize("seed", range(12))
def test_quartiles_over_curves_are_numpys_and_count_every_run_also_where_it_diverges(seed):
    """One whose last loss was no number was left out of the place before its end, and the median jumped."""
    rng = np.random.default_rng(seed)
    runs = [drawn_run(rng, number) for number in range(int(rng.integers(2, 20)))]
    places, found = spread(runs, [curve_of(one) for one in runs])
    for k, place in enumerate(places):
        losses = np.array([loss_at(one, place) for one in runs])
        wanted = np.quantile(losses[~np.isnan(losses)], [0.25, 0.5, 0.75])
        for part, number in zip(found, wanted, strict=True):
            assert part[k] == pytest.approx(np.inf if number > FAR / 1e6 else number, rel=1e-9)


def test_the_colours_of_the_curves_say_how_they_ended_and_in_svg_they_have_both_looks():
    runs = made([0.1, 0.9], reached=[True, False])
    light, dark = (Figure(10, 10, [curves(BOX, get_theme(look), runs)]) for look in ("light", "dark"))
    assert {"learnt 1", "stuck 1", "median and quartiles"} <= set(words(dark.parts))
    assert {s.colour for s in dark if isinstance(s, Path)} >= {DARK.text1, DARK.text2}
    lines = [shape for shape in light if isinstance(shape, Path)]
    found = ElementTree.fromstring(svg_of(light, dark=dark)).findall(".//{*}polyline")
    assert len(found) == len(lines)
    numbers = [float(part) for part in re.split("[ ,]", found[-1].get("points"))]
    assert numbers == pytest.approx(np.ravel(lines[-1].points), abs=0.006)
    assert all(line.get("class") for line in found)


@pytest.mark.parametrize("runs", [[], made([0.1]), made([math.nan], state="diverged"), made([0.0, 0.0]),
                                  made([-1.0, 2.0]), made([1e-300, 1e300])])  # fmt: skip
@pytest.mark.parametrize("theme", ["dark", "light"])
def test_any_results_can_be_drawn(runs, theme):
    for shape in (shape for ink in (*figures(runs, theme), sheet(runs, (400, 300), theme)) for shape in ink):
        if isinstance(shape, Path):
            assert np.isfinite(shape.points).all()
        elif isinstance(shape, Rect):
            assert np.isfinite([shape.x, shape.y, shape.width, shape.height]).all()
            assert min(shape.width, shape.height) >= 0
