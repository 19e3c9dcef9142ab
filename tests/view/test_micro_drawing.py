"""What is drawn of an opened step, from plain data: ribbon, line of formulas, switch, deltas, pulses."""

from __future__ import annotations

from decimal import Decimal
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scalarviz.view.ink.maps import get_map
from scalarviz.view.ink.painter import Painter
from scalarviz.view.ink.text import measure
from scalarviz.view.ink.theme import DARK, LIGHT, mixed, rgb
from scalarviz.view.micro.chips import delta_boxes, delta_chips, delta_text
from scalarviz.view.micro.column import switch
from scalarviz.view.micro.figures import BINS, Layer, histogram, layer_bars, rule_lines, spread_of
from scalarviz.view.micro.pulses import cut, pulse
from scalarviz.view.micro.ribbon import arrow_at, arrows, ribbon
from scalarviz.view.micro.sentence import sentence
from scalarviz.view.micro.told import Formula, Phase, Sentence, Word
from scalarviz.view.micro.writing import face_of_gradient, face_of_product, face_of_update, of_product, words_of
from scalarviz.view.notes.layer import WIDE, Rows
from scalarviz.view.out.offscreen import offscreen

pytestmark = pytest.mark.gl

BOX = (24.0, 20.0, 1232.0, 44.0)
PHASES = tuple(
    Phase(name, words, done, count, short)
    for name, words, done, count, short in [
        ("zero", "12 gradients cleared", 1, 1, "12"), ("forward", "9 products, 3 sums, 3 σ", 15, 15, ""),
        ("loss", "0.1187", 1, 1, ""), ("backward", "3 δ", 3, 3, ""), ("gradients", "12 gradients", 5, 12, "12"),
        ("update", "12 weights wait", 0, 12, "12"),
    ]
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


# ---- the ribbon


def test_six_arrows_fill_the_box_in_their_order():
    boxes = arrows(BOX)
    assert len(boxes) == 6
    assert boxes[0][0] == BOX[0]
    assert boxes[-1][0] + boxes[-1][2] == pytest.approx(BOX[0] + BOX[2])
    for left, right in pairwise(boxes):
        assert right[0] == pytest.approx(left[0] + left[2] + 4)


@pytest.mark.parametrize("theme", [DARK, LIGHT], ids=["dark", "light"])
def test_what_is_done_is_filled_and_what_is_current_is_violet(theme):
    pixels = drawn(ribbon(BOX, theme, PHASES, 4), theme=theme)
    boxes = arrows(BOX)
    at = [pixels[26, int(x + 0.8 * w)] for x, _, w, _ in boxes]
    for done in at[:4]:
        assert near(done, mixed(theme.text3, theme.panel, 0.16))
    assert near(at[4], mixed(theme.gradient[3], theme.panel, 0.5))
    assert near(at[5], theme.panel)
    edge = pixels[20:23, int(boxes[4][0] + 60)]
    assert any(near(p, theme.pulse, 20) for p in edge)


def test_an_arrow_has_no_seam_where_its_halves_meet():
    pixels = drawn(ribbon(BOX, DARK, PHASES, 4))
    x, y, w, h = arrows(BOX)[1]
    column = pixels[int(y + h / 2) - 3 : int(y + h / 2) + 3, int(x + w - 14)]
    assert np.ptp(column, axis=0).max() <= 2


def test_a_square_for_each_micro_step_and_the_done_ones_full():
    pixels = drawn(ribbon(BOX, DARK, PHASES, 4))
    x, _, w, _ = arrows(BOX)[4]
    row = pixels[int(BOX[1] + 22), int(x + 100) : int(x + w - 10)]
    full = np.array([near(p, DARK.pulse, 8) for p in row])
    runs = np.flatnonzero(np.diff(full.astype(int), prepend=0) == 1)
    wide = [int(np.argmin(full[k:])) if not full[k:].all() else len(full) - k for k in runs]
    assert sum(width >= 6 for width in wide) == 5


def test_counts_stand_in_the_current_arrow_and_words_in_the_others():
    said = texts(ribbon(BOX, DARK, PHASES, 4))
    assert "5 of 12" in said
    assert "9 products, 3 sums, 3 σ" in said
    assert "12 gradients" not in said


@pytest.mark.parametrize("width", [1232, 912, 600, 352, 260])
def test_no_word_of_the_ribbon_leaves_its_arrow(width):
    box = (24.0, 20.0, float(width), 44.0)
    for current in range(6):
        sketch = ribbon(box, DARK, PHASES, current)
        for item in sketch.texts:
            end = item.x + measure(item.text, item.size, item.bold)
            assert any(x <= item.x and end <= x + w for x, _, w, _ in arrows(box)), (item.text, current)


def test_a_click_finds_its_arrow():
    for number, (x, y, w, h) in enumerate(arrows(BOX)):
        assert arrow_at(BOX, (x + w / 2, y + h / 2)) == number
    assert arrow_at(BOX, (BOX[0] + 5, BOX[1] - 1)) is None
    assert arrow_at(BOX, (BOX[0] - 5, BOX[1] + 9)) is None


# ---- the line


def line():
    first = of_product("δ · x = g", -0.0508, 0.1189, -0.00604)
    second = Formula("w − lr · g = w'", (Word("−0.4698 − 0.5"), Word(" × ", "dim"), Word("(−0.0060)", "violet")))
    return Sentence("0.weight[2][2]", "from b to b", (first, second))


def test_a_product_is_true_as_printed_and_what_is_a_gradient_is_violet():
    words = of_product("δ · x = g", -0.0508, 0.1189, -0.0508 * 0.1189).numbers
    text = "".join(word.text for word in words)
    left, right = text.replace("−", "-").split(" = ")
    a, b = (float(part.strip("()")) for part in left.split(" × "))
    digits = len(right.split(".")[1])
    assert round(a * b, digits) == float(right)
    assert [word.tone for word in words if word.tone != "dim"] == ["violet", "plain", "violet"]


def test_an_equation_without_a_product_is_taken_apart_too():
    assert [w.text for w in words_of("1.0 = 1.0", violet=False)] == ["1.0", " = ", "1.0"]
    assert [w.text for w in words_of("nothing")] == ["nothing"]


@pytest.mark.parametrize("width", [900, 700, 480, 330, 200, 120])
@pytest.mark.parametrize("height", [46, 30])
def test_formulas_stay_in_their_box(width, height):
    sketch = sentence((24.0, 10.0, float(width), float(height)), DARK, line())
    assert "0.weight[2][2]" in texts(sketch)
    for item in sketch.texts:
        assert item.x + measure(item.text, item.size, item.bold) <= 24 + width + 0.5
        assert item.size >= 13


def test_a_wide_line_has_both_formulas_with_their_letters():
    said = texts(sentence((24.0, 10.0, 900.0, 46.0), DARK, line()))
    assert "δ · x = g" in said
    assert "w − lr · g = w'" in said
    assert "from b to b" in said


# ---- cubes and chips


def test_a_gradient_is_written_with_its_factors_or_as_a_mean():
    assert face_of_gradient(0.0579, (0.0595, 0.97)) == ("+0.059 × 0.97", "≈ +0.0579")
    assert face_of_gradient(0.0579, None) == ("mean δ·x", "= +0.0579")
    assert face_of_gradient(0.0595, (0.0595, 1.0)) == ("+0.0595 × 1", "= +0.0595")
    assert face_of_gradient(-3e-5, (-3e-5, 1.0)) == ("−3.0e−5 × 1", "= −3.0e−5")


@given(st.floats(-30, 30), st.floats(-30, 30))
def test_a_cube_says_equal_only_where_the_digits_on_it_give_the_number(weight, x):
    face = face_of_product(weight, x)
    left, right = (Decimal(part.replace("−", "-")) for part in face.above.split(" × "))
    sign, _, made = face.below.partition(" ")
    result = Decimal(made.replace("−", "-").replace(",", ""))
    exact = abs(left * right - result) <= Decimal("0.5") * Decimal(1).scaleb(result.as_tuple().exponent)
    assert sign == ("=" if exact else "≈")


def test_an_update_is_written_with_the_decimals_that_show_it():
    assert face_of_update(-0.4698, -0.4668) == ("w −0.470", "w' −0.467")
    assert face_of_update(0.42, 0.44) == ("w +0.42", "w' +0.44")


@pytest.mark.parametrize(("value", "text"), [(0.0595, "+0.0595"), (-3e-5, "−3.0e−5"), (0.0, "0.0000")])
def test_a_delta_is_readable_whatever_its_size(value, text):
    assert delta_text(value) == text


def rows(apart):
    anchors = np.array([(100.0, 60.0 + apart * k) for k in range(3)])
    return Rows(anchors, WIDE, ("sum", "output", "target"))


@pytest.mark.parametrize("apart", [86.0, 70.0, 52.0])
def test_a_delta_stands_between_the_chips_of_two_rows(apart):
    boxes = delta_boxes(rows(apart), (0, 0, 500, 400))
    for (_, y, _, high), (_, row) in zip(boxes, rows(apart).anchors, strict=True):
        assert y >= row + 14
        assert y + high <= row + apart - 14


def test_where_rows_are_too_close_there_are_no_deltas():
    assert delta_boxes(rows(40.0), (0, 0, 500, 400)) is None


def test_a_delta_that_has_not_come_is_not_drawn():
    given = rows(86.0)
    boxes = delta_boxes(given, (0, 0, 500, 400))
    said = texts(delta_chips(given, boxes, DARK, np.array([0.05, np.nan, np.nan]), mean=False))
    assert said == ["δ +0.0500"]
    pixels = drawn(delta_chips(given, boxes, DARK, np.array([0.05, np.nan, np.nan]), mean=False), (500, 400))
    marked = [(np.abs(pixels - np.array(rgb(DARK.pulse)) * 255).max(axis=-1) < 30)[int(y) : int(y + h)].any()
              for _, y, _, h in boxes]  # fmt: skip
    assert marked == [True, False, False]


def test_the_switch_says_which_side_is_on():
    for trial in (True, False):
        sketch = switch((10.0, 10.0, 304.0, 36.0), DARK, "colour", trial=trial, colour=(1.0, 0.5, 0.0))
        bold = [item.text for item in sketch.texts if item.bold]
        assert bold == (["this colour"] if trial else ["whole batch"])
        pixels = drawn(sketch, (330, 60))
        sides = [near(pixels[15, x], mixed(DARK.gradient[3], DARK.panel, 0.5)) for x in (30, 290)]
        assert sides == [trial, not trial]


# ---- figures beside


def spread(own=-0.04):
    terms = np.random.default_rng(1).normal(0.01, 0.03, 1024)
    return terms, spread_of(terms, float(terms.mean()), own, "1,024 colours", "colour")


def test_a_histogram_holds_every_term_and_says_mean_and_own():
    terms, found = spread()
    assert found.counts.sum() == 1024
    assert found.reach == pytest.approx(np.abs(terms).max())
    sketch = histogram((20.0, 10.0, 304.0, 150.0), DARK, get_map("gradient", DARK), found, np.linspace(-1, 1, BINS))
    said = texts(sketch)
    assert f"mean {delta_text(float(terms.mean()))}" in said
    assert "this colour −0.0400" in said
    pixels = drawn(sketch, (340, 170))
    at = 20 + 304 * (0.5 + 0.5 * terms.mean() / found.reach)
    assert near(pixels[56, round(at)], DARK.selection, 40)
    own = 20 + 304 * (0.5 - 0.5 * 0.04 / found.reach)
    assert near(pixels[10 + 48 + 74 + 7, round(own)], DARK.pulse, 40)


@pytest.mark.parametrize("own", [-0.98, -0.5, 0.0, 0.9, 1.0])
def test_in_a_histogram_no_bar_lies_below_the_mean_and_no_end_below_the_mark(own):
    terms = np.linspace(-1, 1, 1000)
    found = spread_of(terms, 0.01, own, "1,024 colours", "colour")
    box = (20.0, 10.0, 304.0, 150.0)
    sketch = histogram(box, DARK, get_map("gradient", DARK), found, np.linspace(-1, 1, BINS))
    mean = next(item for item in sketch.texts if item.text.startswith("mean"))
    pixels = drawn(sketch, (340, 170))
    left, base = round(mean.x), 10 + 48 + 74
    beside = pixels[round(mean.y) - 10 : round(mean.y) + 2, 24 : left - 16]
    assert np.ptp(beside.reshape(-1, beside.shape[-1]), axis=0).max() == 0  # nothing as high as the words
    at = 20 + 304 * (0.5 + 0.5 * own)
    ends = [item for item in sketch.texts if item.y == base + 16 and item.text[1:] == "1.00"]
    assert ends
    for item in ends:
        wide = measure(item.text, item.size)
        start = item.x - wide * (item.anchor == "right")
        assert at + 5 <= start or at - 5 >= start + wide


def test_terms_that_are_all_zero_have_no_histogram():
    assert spread_of(np.zeros(9), 0.0, None, "9 samples", "sample") is None
    assert spread_of(np.array([np.nan, 1.0]), 0.0, None, "2 samples", "sample") is None


def test_the_bar_of_a_layer_without_a_gradient_is_empty():
    layers = [Layer("0.weight", float("nan")), Layer("2.weight", 0.01), Layer("4.weight", 1.0)]
    pixels = drawn(layer_bars((20.0, 10.0, 304.0, 200.0), DARK, layers, "gradient by layer"), (340, 200))
    fill = mixed(DARK.pulse, DARK.panel, 0.8)
    wide = [sum(near(p, fill, 10) for p in pixels[10 + 30 + 22 * k + 8]) for k in range(3)]
    assert wide[0] == 0
    assert 0.4 < wide[1] / wide[2] < 0.6  # two of four decades


def test_the_lines_of_a_rule_are_broken_to_their_column():
    lines = [("0.9 · m + 0.1 · g = m'", "0.9 · 0.01208 + 0.1 · (−4.19) = −0.4081"), ("w − lr · m' = w'", "9 " * 60)]
    sketch = rule_lines((20.0, 10.0, 300.0, 200.0), DARK, "Adam", lines)
    assert "Adam, line by line" in texts(sketch)
    assert max(item.x + measure(item.text, item.size, item.bold) for item in sketch.texts) <= 320
    assert rule_lines((20.0, 10.0, 300.0, 60.0), DARK, "Adam", lines) is None


# ---- pulses


def test_a_path_is_cut_by_its_length():
    path = np.array([(0.0, 0.0), (30.0, 0.0), (30.0, 10.0)])
    assert cut(path, 0.5)[-1] == pytest.approx((20.0, 0.0))
    assert cut(path, 0.875)[-1] == pytest.approx((30.0, 5.0))
    assert cut(path, 0.0)[-1] == pytest.approx((0.0, 0.0))
    assert np.array_equal(cut(path, 1.0), path)


@pytest.mark.parametrize(("back", "colour"), [(True, DARK.pulse), (False, DARK.text2)])
def test_a_pulse_is_a_white_disc_with_a_line_behind_it_in_its_colour(back, colour):
    pixels = drawn(pulse([(20.0, 40.0), (220.0, 40.0)], 0.5, DARK, back=back), (240, 80))
    assert near(pixels[40, 120], "#ffffff")
    assert near(pixels[40, 60], colour, 12)
    assert near(pixels[40, 200], DARK.background)
