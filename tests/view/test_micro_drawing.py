"""What is drawn of an opened step, from plain data: the ribbon, the line, the switch, deltas, figures and pulses."""

from __future__ import annotations

from decimal import Decimal
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scalarviz.view.ink.painter import Painter
from scalarviz.view.ink.sketch import spot_at
from scalarviz.view.ink.theme import DARK, LIGHT, mixed, rgb
from scalarviz.view.micro.below import arrows, ribbon, sentence
from scalarviz.view.micro.column import histogram, layer_bars, rule_lines, switch
from scalarviz.view.micro.on_cubes import cut, delta_boxes, delta_chips, pulse
from scalarviz.view.micro.saying import delta_text, face_of_gradient, face_of_product, face_of_update, of_product
from scalarviz.view.micro.told import Formula, Layer, Phase, Sentence, Word
from scalarviz.view.micro.walk import spread_of
from scalarviz.view.notes.layer import WIDE, Rows
from scalarviz.view.out.offscreen import offscreen

BOX = (24.0, 20.0, 1232.0, 44.0)
PHASES = (
    Phase("zero", "12 gradients cleared", 1, 1, "12"), Phase("forward", "9 products, 3 sums, 3 σ", 15, 15),
    Phase("loss", "0.1187", 1, 1), Phase("backward", "3 δ", 3, 3), Phase("gradients", "12 gradients", 5, 12, "12"),
    Phase("update", "12 weights wait", 0, 12, "12"),
)  # fmt: skip


def drawn(sketch, size=(1280, 84), theme=DARK):
    def draw(viewport):
        painter = Painter(size, 1.0)
        painter.background(theme.background, theme.background)
        painter.draw([sketch])

    return offscreen().render(draw, size).astype(int)


def near(pixel, colour, slack=6):
    wanted = np.array(rgb(colour) if isinstance(colour, str) else colour) * 255
    return np.abs(np.asarray(pixel) - wanted).max() <= slack


def texts(sketch):
    return [item.text for item in sketch.texts]


@pytest.mark.gl
@pytest.mark.parametrize("theme", [DARK, LIGHT], ids=["dark", "light"])
def test_the_ribbon_tells_what_is_done_from_what_is_current_and_waits(theme):
    boxes, sketch = arrows(BOX), ribbon(BOX, theme, PHASES, 4)
    assert boxes[0][0] == BOX[0]
    assert boxes[-1][0] + boxes[-1][2] == pytest.approx(BOX[0] + BOX[2])
    assert [right[0] - left[0] - left[2] for left, right in pairwise(boxes)] == pytest.approx([4] * 5)
    pixels = drawn(sketch, theme=theme)
    fills = [mixed(theme.text3, theme.panel, 0.16)] * 4 + [mixed(theme.gradient[3], theme.panel, 0.5), theme.panel]
    assert all(near(pixels[26, int(x + 0.8 * w)], fill) for (x, _, w, _), fill in zip(boxes, fills, strict=True))
    x, y, w, h = boxes[1]  # no seam where its halves meet
    assert np.ptp(pixels[int(y + h / 2) - 3 : int(y + h / 2) + 3, int(x + w - 14)], axis=0).max() <= 2
    row = pixels[int(BOX[1] + 22), int(boxes[4][0] + 100) : int(boxes[4][0] + boxes[4][2] - 10)]
    full = "".join("#" if near(p, theme.pulse, 8) else " " for p in row)
    assert sum(len(run) >= 6 for run in full.split()) == 5  # a square for each micro-step that is done
    assert {"5 of 12", "9 products, 3 sums, 3 σ"} <= set(texts(sketch))
    assert "12 gradients" not in texts(sketch)


@pytest.mark.parametrize("width", [1232, 912, 600, 352, 260])
def test_each_arrow_holds_its_words_and_answers_to_a_click(width):
    box = (24.0, 20.0, float(width), 44.0)
    for current in range(6):
        sketch = ribbon(box, DARK, PHASES, current)
        for item in sketch.texts:
            assert any(x <= item.x and item.x + item.width <= x + w for x, _, w, _ in arrows(box)), item.text
        spots = [spot_at(sketch.spots, (x + w / 2, y + h / 2)) for x, y, w, h in arrows(box)]
        assert [(spot.name, spot.value, spot.words) for spot in spots] == [
            ("phase", k, phase.name) for k, phase in enumerate(PHASES)
        ]


LINE = Sentence("0.weight[2][2]", "from b to b", (
    of_product("δ · x = g", -0.0508, 0.1189, -0.00604),
    Formula("w − lr · g = w'", (Word("−0.4698 − 0.5"), Word(" × ", "dim"), Word("(−0.0060)", "violet"))),
))  # fmt: skip


@pytest.mark.parametrize("width", [900, 700, 480, 330, 200, 120])
@pytest.mark.parametrize("height", [46, 30])
def test_formulas_stay_in_their_box_and_a_wide_one_has_all(width, height):
    sketch = sentence((24.0, 10.0, float(width), float(height)), DARK, LINE)
    assert LINE.name in texts(sketch)
    assert all(item.x + item.width <= 24 + width + 0.5 and item.size >= 13 for item in sketch.texts)
    if (width, height) == (900, 46):
        assert {LINE.meaning, *(formula.letters for formula in LINE.formulas)} <= set(texts(sketch))


@given(st.floats(-30, 30), st.floats(-30, 30))
def test_a_product_is_true_as_printed(w, x):
    """In the line and on a cube: ``=`` stands only where the printed digits give the number."""
    formula, face = of_product("w × x", w, x, w * x), face_of_product(w, x)
    for line, whole in (("".join(word.text for word in formula.numbers), False), (" ".join(face), True)):
        sign = "=" if "=" in line else "≈"
        left, made = line.translate(str.maketrans("−", "-", ",()")).split(sign)
        a, b = (Decimal(part.strip()) for part in left.split("×"))
        result = Decimal(made.strip())
        exact = abs(a * b - result) <= Decimal("0.5") * Decimal(1).scaleb(result.as_tuple().exponent)
        assert exact if sign == "=" else not (whole and exact)
    assert [word.tone for word in formula.numbers if word.tone != "dim"] == ["violet", "plain", "violet"]


def test_numbers_on_cubes():
    assert face_of_gradient(0.0579, (0.0595, 0.97)) == ("+0.059 × 0.97", "≈ +0.0579")
    assert face_of_gradient(0.0579, None) == ("mean δ·x", "= +0.0579")
    assert face_of_gradient(0.0595, (0.0595, 1.0)) == ("+0.0595 × 1", "= +0.0595")
    assert face_of_gradient(-3e-5, (-3e-5, 1.0)) == ("−3.0e−5 × 1", "= −3.0e−5")
    assert face_of_gradient(np.inf, (np.inf, 0.5)).below.startswith("= ")
    assert face_of_update(-0.4698, -0.4668) == ("w −0.470", "w' −0.467")
    assert face_of_update(0.42, 0.44) == ("w +0.42", "w' +0.44")
    assert [delta_text(x) for x in (0.0595, -3e-5, 0.0)] == ["+0.0595", "−3.0e−5", "0.0000"]


def rows(apart):
    anchors = np.array([(100.0, 60.0 + apart * k) for k in range(3)])
    return Rows(anchors, WIDE, ("sum", "output", "target"))


@pytest.mark.parametrize("apart", [86.0, 70.0, 52.0])
def test_a_delta_stands_between_the_chips_of_two_rows_once_it_has_come(apart):
    own = rows(apart)
    boxes = delta_boxes(own, (0, 0, 500, 400))
    for (_, y, _, high), (_, row) in zip(boxes, own.anchors, strict=True):
        assert row + 14 <= y <= y + high <= row + apart - 14
    sketch = delta_chips(own, boxes, DARK, np.array([0.05, np.nan, np.nan]), mean=False)
    assert texts(sketch) == ["δ +0.0500"]
    assert all(shape.y < boxes[1][1] for shape in sketch.shapes if hasattr(shape, "y"))


def test_where_rows_are_too_close_there_are_no_deltas():
    assert delta_boxes(rows(40.0), (0, 0, 500, 400)) is None


@pytest.mark.parametrize("trial", [True, False])
def test_the_switch_says_which_side_is_on(trial):
    sketch = switch((10.0, 10.0, 304.0, 36.0), DARK, "colour", trial=trial, colour=(1.0, 0.5, 0.0))
    assert [item.text for item in sketch.texts if item.bold] == ["this colour" if trial else "whole batch"]
    assert [spot_at(sketch.spots, (x, 20.0)).value for x in (20.0, 300.0)] == [0, 1]
    _, chosen = (shape for shape in sketch.shapes if shape.height > 20)
    assert (chosen.x < 162) == trial


@pytest.mark.gl
@pytest.mark.parametrize("own", [-0.98, -0.5, 0.0, 0.9, 1.0])
def test_a_histogram_holds_every_term_and_nothing_lies_on_its_marks(own):
    found = spread_of(np.linspace(-1, 1, 1000), 0.01, own, "1,024 colours", "colour")
    assert (found.counts.sum(), found.reach) == (1000, 1.0)
    sketch = histogram((20.0, 10.0, 304.0, 150.0), DARK, found)
    assert {"mean +0.0100", f"this colour {delta_text(own)}"} <= set(texts(sketch))
    mean = next(item for item in sketch.texts if item.text.startswith("mean"))
    pixels, base = drawn(sketch, (340, 170)), 10 + 48 + 74
    assert near(pixels[56, int(20 + 304 * 0.505)], DARK.selection, 40)
    beside = pixels[round(mean.y) - 10 : round(mean.y) + 2, 24 : round(mean.x) - 16]
    assert np.ptp(beside.reshape(-1, beside.shape[-1]), axis=0).max() == 0  # no bar is as high as the words
    at = 20 + 304 * (0.5 + 0.5 * own)
    assert near(pixels[base + 7, min(round(at), 323)], DARK.pulse, 40)
    ends = [item for item in sketch.texts if item.y == base + 16 and item.text[1:] == "1.00"]
    assert ends
    assert all(at + 5 <= item.left or at - 5 >= item.left + item.width for item in ends)


def test_a_sum_beyond_its_terms_has_no_mark_among_them():
    found = spread_of(np.full(9, 0.5), 4.5, None, "9 samples", "sample", "sum")
    sketch = histogram((20.0, 10.0, 304.0, 150.0), DARK, found)
    assert "sum +4.5000" in texts(sketch)
    assert not any(getattr(shape, "colour", None) == DARK.selection for shape in sketch.shapes)


def test_terms_that_are_all_zero_have_no_histogram():
    assert spread_of(np.zeros(9), 0.0, None, "9 samples", "sample") is None
    assert spread_of(np.array([np.nan, 1.0]), 0.0, None, "2 samples", "sample") is None


def test_the_bar_of_a_layer_is_its_share_of_four_decades():
    layers = [Layer("0.weight", float("nan")), Layer("2.weight", 0.01), Layer("4.weight", 1.0)]
    sketch = layer_bars((20.0, 10.0, 304.0, 200.0), DARK, layers)
    half, whole = (shape.width for shape in sketch.shapes if shape.fill is not None)  # of the first it is not known
    assert half / whole == pytest.approx(0.5)


def test_the_lines_of_a_rule_are_broken_to_their_column():
    lines = [("0.9 · m + 0.1 · g = m'", "0.9 · 0.01208 + 0.1 · (−4.19) = −0.4081"), ("w − lr · m' = w'", "9 " * 60)]
    sketch = rule_lines((20.0, 10.0, 300.0, 200.0), DARK, "Adam", lines)
    assert max(item.x + item.width for item in sketch.texts) <= 320
    assert rule_lines((20.0, 10.0, 300.0, 60.0), DARK, "Adam", lines) is None


def test_a_path_is_cut_by_its_length():
    path = np.array([(0.0, 0.0), (30.0, 0.0), (30.0, 10.0)])
    ends = [cut(path, share)[-1].tolist() for share in (0.0, 0.5, 0.875, 1.0)]
    assert ends == [[0, 0], [20, 0], [30, 5], [30, 10]]


@pytest.mark.gl
@pytest.mark.parametrize(("back", "colour"), [(True, DARK.pulse), (False, DARK.text2)])
def test_a_pulse_is_a_white_disc_with_a_line_behind_it_in_its_colour(back, colour):
    pixels = drawn(pulse([(20.0, 40.0), (220.0, 40.0)], 0.5, DARK, back=back), (240, 80))
    assert near(pixels[40, 120], "#ffffff")
    assert near(pixels[40, 60], colour, 12)
    assert near(pixels[40, 200], DARK.background)
