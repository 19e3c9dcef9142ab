"""Text: widths, the atlas, and that glyphs really arrive where they should."""

from __future__ import annotations

import numpy as np
import pytest

from scalarviz.view.ink.sketch import TextItem
from scalarviz.view.ink.text import CAP_HEIGHT, GlyphAtlas, chip_text, font_path, measure, number, short

INK = (1.0, 1.0, 1.0, 1.0)
CHARACTERS = "0123456789 abcxyz ABCXYZ .,:·×±σδ∞→#%()[]=" + "\N{MINUS SIGN}"


@pytest.mark.parametrize("bold", [False, True])
def test_digits_are_tabular(bold: bool) -> None:
    assert len({round(measure(d, 13, bold), 6) for d in "0123456789"}) == 1
    assert measure("1111", 16, bold) == measure("8888", 16, bold)
    assert measure("+1.11", 16, bold) == measure("\N{MINUS SIGN}8.88", 16, bold)


def test_width_agrees_with_the_font_tables() -> None:
    from PIL import ImageFont

    face = ImageFont.truetype(str(font_path()), 2048, layout_engine=ImageFont.Layout.BASIC)  # one pixel a font unit
    text = "loss of this colour"
    expected = sum(face.getlength(c) for c in text) / 2048 * 13
    assert measure(text, 13) == pytest.approx(expected, rel=1e-3)


@pytest.mark.parametrize("character", list("σδ±×·∞\N{MINUS SIGN}"))
def test_the_signs_we_use_have_glyphs(character: str) -> None:
    atlas = GlyphAtlas()

    def bitmap(c: str) -> bytes:
        x, y, w, h, _, _ = atlas.glyph(c, 26.0, False, 0)
        return atlas.pixels[y : y + h, x : x + w].tobytes()

    assert bitmap(character) != bitmap("\N{SNOWMAN}")  # which the font does not have
    assert max(bitmap(character)) > 100


def test_boxes_do_not_overlap_in_the_atlas() -> None:
    atlas = GlyphAtlas()
    used = np.zeros((4096, 1024), np.uint8)
    for size in (13.0, 22.0, 52.0):
        for bold in (False, True):
            for character in CHARACTERS.replace(" ", ""):
                for phase in range(4):
                    x, y, w, h, _, _ = atlas.glyph(character, size, bold, phase)
                    used[y : y + h, x : x + w] += 1
    assert used.max() == 1
    assert len(atlas.pixels) > 512  # it grew


def test_ink_stands_on_the_baseline_between_the_anchors() -> None:
    atlas = GlyphAtlas()
    wide = measure("HH", 20)
    for anchor, left in (("left", 100.0), ("middle", 100.0 - wide / 2), ("right", 100.0 - wide)):
        quads = atlas.quads([TextItem(100.0, 50.0, "HH", 20, INK, False, anchor)], 1.0)  # type: ignore[arg-type]
        ink = _ink(atlas, quads)
        rows, columns = np.nonzero(ink > 100)
        assert rows.max() == 49
        assert rows.max() - rows.min() + 1 == pytest.approx(20 * CAP_HEIGHT, abs=1)
        assert left <= columns.min() <= left + 3
        assert left + wide - 3 <= columns.max() + 1 <= left + wide


def test_positions_scale_with_the_device() -> None:
    atlas = GlyphAtlas()
    item = TextItem(30.0, 20.0, "0.0367", 13, INK)
    once, twice = atlas.quads([item], 1.0), atlas.quads([item], 2.0)
    assert np.abs(twice[:, :2] / 2 - once[:, :2]).max() < 1.6


def test_an_atlas_says_when_it_is_full() -> None:
    atlas = GlyphAtlas()
    assert not atlas.full
    for size in range(20, 120, 4):
        atlas.quads([TextItem(0.0, 200.0, CHARACTERS, float(size), INK)], 1.0)
    assert atlas.full


def test_numbers_use_the_minus_sign() -> None:
    assert number(-1.985) == "\N{MINUS SIGN}1.99" or number(-1.985) == "\N{MINUS SIGN}1.98"
    assert number(0.693, signed=True) == "+0.69"
    assert number(-0.001, signed=True) == "0.00"
    assert number(float("nan")) == "NaN"
    assert number(float("-inf"), signed=True) == "\N{MINUS SIGN}∞"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (1.989, "1.99"),
        (-0.76, "\N{MINUS SIGN}0.76"),
        (0.00018, "1.8e\N{MINUS SIGN}4"),
        (123.4, "123"),
        (-4.2e-4, "\N{MINUS SIGN}4.2e\N{MINUS SIGN}4"),
        (25000.0, "2.5e4"),
        (0.0501, "0.050"),
        (9.999, "10.00"),
    ],
)
def test_short_numbers(value: float, text: str) -> None:
    assert short(value) == text


def _ink(atlas: GlyphAtlas, quads: np.ndarray) -> np.ndarray:
    """What the GPU would paint: glyph boxes copied pixel by pixel from the atlas."""
    canvas = np.zeros((400, 4000), np.uint8)
    for corner in quads.reshape(-1, 6, 8):
        x0, y0, u0, v0 = corner[0, :4].astype(int)
        x1, y1, u1, v1 = corner[2, :4].astype(int)
        assert (x1 - x0, y1 - y0) == (u1 - u0, v1 - v0)  # no resampling
        np.maximum(canvas[y0:y1, x0:x1], atlas.pixels[v0:v1, u0:u1], out=canvas[y0:y1, x0:x1])
    return canvas


def test_numbers_that_are_new_in_every_frame_fill_no_memory() -> None:
    """Four thousand lines of numbers were kept, half a megabyte a minute until they were there."""
    atlas = GlyphAtlas()
    for k in range(5000):
        atlas.run(f"{k / 7:.6f}", 13.0, False, 0)
        measure(f"{k / 7:.6f}", 13.0)
    assert len(atlas._runs) <= 1024
    assert measure.cache_info().currsize <= 1024


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("power", range(-12, 97, 3))
def test_a_chip_has_room_for_numbers_of_any_size(power, sign):
    for mantissa in (1.0, 4.4, 9.996):
        value = sign * mantissa * 10.0**power
        text = chip_text(value, signed=True)
        assert len(text.lstrip("+−")) <= 4, text
        told = float(text.replace("−", "-"))
        assert told == pytest.approx(value, rel=0.12, abs=0.005)
