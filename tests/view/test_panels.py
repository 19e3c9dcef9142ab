"""Legends, pictures, the HUD and the grid of a picture against what can be computed in another way."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scalarviz.view.cubes.scale import LegendScale
from scalarviz.view.ink.maps import get_map
from scalarviz.view.ink.places import LABEL, MARGIN, Wanted, arrange, check_size
from scalarviz.view.ink.sketch import Sketch
from scalarviz.view.ink.text import loss_text, measure, rate_text
from scalarviz.view.ink.theme import DARK
from scalarviz.view.out.offscreen import render
from scalarviz.view.panels.drawer import Headline
from scalarviz.view.panels.pictures import picture_boxes, thumbnail, to_bytes
from scalarviz.view.screen.hud import HudState, fitted, hud
from scalarviz.view.screen.hud import keys as key_line
from scalarviz.view.screen.strip import bar_pixels, legend

BOX = (24.0, 40.0, 344.0, 76.0)
WANTED = (Wanted("pictures", 117), Wanted("colours", 166, worth=2), Wanted("loss", 150, 420, first=True))


def _painted(*sketches: Sketch, size: tuple[int, int] = (400, 300)) -> np.ndarray:
    from scalarviz.view.ink.painter import Painter

    return render(lambda _: Painter(size).draw(list(sketches)), size)


# legend


@pytest.mark.gl
@pytest.mark.parametrize("name", ["weight", "gradient", "grey", "viridis"])
def test_the_legend_has_the_colours_of_the_map(name: str) -> None:
    cmap = get_map(name, DARK)
    bar = bar_pixels(cmap, 344)
    scale = LegendScale(name, "", cmap, [(0, "a"), (1, "b")], np.array([0.25]))
    row = _painted(legend(BOX, DARK, scale, bar))[40 + 14 + 20 + 7, 24 : 24 + 344]
    unit = (np.arange(344) + 0.5) / 344
    expected = cmap(2 * unit - 1 if cmap.diverging else unit) * 255
    assert np.abs(row - expected).max() <= 1.0


@pytest.mark.gl
def test_a_mark_stands_above_its_colour() -> None:
    cmap = get_map("weight", DARK)
    scale = LegendScale("weight", "", cmap, [], np.array([0.0, 0.25, 1.0]))
    picture = _painted(legend(BOX, DARK, scale, bar_pixels(cmap, 344)))
    lit = np.nonzero(picture[40 + 14 + 20 - 4].max(axis=1) > 90)[0]
    assert set(lit) == {24, 24 + 86, 24 + 343}


def test_numbers_that_would_touch_are_left_out_but_never_the_ends() -> None:
    labels = [(0.0, "-1.0e-3"), (0.48, "-1.0e-4"), (0.5, "0"), (0.52, "+1.0e-4"), (1.0, "+1.0e-3")]
    sketch = legend(
        BOX, DARK, LegendScale("g", "", get_map("gradient", DARK), labels, np.empty(0)), np.zeros((1, 9, 3), np.uint8)
    )
    assert [t.text for t in sketch.texts if t.text != "g"] == ["-1.0e-3", "0", "+1.0e-3"]


# pictures


@pytest.mark.parametrize("shape", [(192, 288), (100, 37), (96, 96), (1, 500), (7, 5)])
def test_a_thumbnail_keeps_the_mean_and_the_aspect(shape: tuple[int, int]) -> None:
    picture = np.random.default_rng(0).random((*shape, 3))
    small = thumbnail(picture)
    assert max(small.shape[:2]) <= 96
    assert np.allclose(small.mean(axis=(0, 1)), picture.mean(axis=(0, 1)), atol=1e-5)
    assert small.shape[0] == max(1, round(shape[0] / max(1, max(shape) / 96)))


def test_a_thumbnail_by_a_whole_factor_is_the_mean_of_blocks() -> None:
    picture = np.random.default_rng(0).random((192, 288, 3))
    blocks = picture.reshape(64, 3, 96, 3, 3).mean(axis=(1, 3))
    assert np.allclose(thumbnail(picture), blocks, atol=1e-5)


def test_bytes_of_a_picture() -> None:
    assert to_bytes(np.array([[[0.0, 0.5, 1.0]]])).tolist() == [[[0, 128, 255]]]


@pytest.mark.parametrize("aspect", [0.2, 1.0, 4.0])
def test_pictures_fit_their_panel(aspect: float) -> None:
    for x, y, width, height in picture_boxes((952, 24, 304, 117), aspect):
        assert x >= 952
        assert x + width <= 1256 + 0.5
        assert y + height <= 24 + 117 + 0.5
        assert width / height == pytest.approx(aspect, rel=0.05)


# HUD


def test_losses_and_rates_are_short() -> None:
    losses = {0.0367: "0.0367", 0.0015: "0.0015", 0.00088: "0.00088", 1.8e-5: "1.8e\N{MINUS SIGN}5", 12.5: "12.50",
              float("nan"): "\N{EN DASH}", 0.0: "0.0000", float("inf"): "+∞", 25000.0: "2.5e4"}  # fmt: skip
    rates = {1.0: "1.0", 0.01: "0.01", 3e-5: "3e\N{MINUS SIGN}5", 4096.0: "4,096", 1000.5: "1,000.5"}
    assert {loss: loss_text(loss) for loss in losses} == losses
    assert {rate: rate_text(rate) for rate in rates} == rates


@pytest.mark.parametrize("width", [100, 300, 500, 900])
def test_the_hud_stays_in_its_box(width: int) -> None:
    state = HudState(123456, 0.01234, 0.5, "SGD", 1024, "pace 1 step a frame  ·  60 frames/s  ·  numba", "weight")
    sketch = hud((MARGIN, 16, width, 52), DARK, state)
    spans = []
    for item in sketch.texts:
        wide = measure(item.text, item.size, item.bold)
        left = item.x - wide if item.anchor == "right" else item.x
        spans.append((item.y, left, left + wide))
        assert left >= MARGIN - 0.01
        assert left + wide <= MARGIN + width + 0.01
    for (y, _, end), (next_y, start, _) in zip(sorted(spans), sorted(spans)[1:], strict=False):
        assert y != next_y or end < start


def test_a_line_loses_its_last_parts_first() -> None:
    assert fitted("one  ·  two  ·  three", measure("one  ·  two", 13) + 1) == "one  ·  two"
    assert fitted("one", 1) == ""


# grid


@settings(max_examples=200, deadline=None)
@given(width=st.integers(160, 4000), height=st.integers(160, 4000), keys=st.booleans())
def test_boxes_never_overlap_nor_leave_the_picture(width: int, height: int, keys: bool) -> None:
    places = arrange((width, height), WANTED, keys=keys)
    boxes = [places.scene, *places.panels.values(), *(b for b in (places.hud, places.strip) if b)]
    for k, (x, y, w, h) in enumerate(boxes):
        assert x >= 0
        assert y >= 0
        assert w > 0
        assert h > 0
        assert x + w <= places.size[0] + 0.01
        assert y + h <= places.size[1] + 0.01
        for ox, oy, ow, oh in boxes[:k]:
            assert x + w <= ox + 0.01 or ox + ow <= x + 0.01 or y + h <= oy + 0.01 or oy + oh <= y + 0.01
    assert places.scale >= 1


def test_the_grid_of_the_standard_size() -> None:
    places = arrange((1280, 720), WANTED)
    assert places.scale == 1
    assert places.scene[:3] == (0, 84, 936)
    assert places.panels["pictures"][0] == 952
    assert set(places.panels) == {"pictures", "colours", "loss"}
    assert arrange((1920, 1080), WANTED[-1:]).scale == 1.5


@pytest.mark.parametrize(
    "size", [(0, 100), (1280.5, 720), (100, 100), (9000, 720), ("a", 3), (1280,), None, (float("nan"), 720)]
)
def test_sizes_that_cannot_be_drawn(size: object) -> None:
    from scalarviz.errors import InputError

    with pytest.raises(InputError, match="allowed"):
        check_size(size)  # type: ignore[arg-type]


@pytest.mark.parametrize("size", [(720, 1280), (1080, 1920)])
def test_an_upright_scene_keeps_the_margin(size: tuple[int, int]) -> None:
    places = arrange(size, WANTED)
    x, _, width, _ = places.scene
    assert x >= 20
    assert x + width <= places.size[0] - 20
    assert places.hud is not None
    assert places.hud[0] + places.hud[2] == places.size[0] - 24


@pytest.mark.parametrize(
    ("width", "first", "second"),
    [
        (900.0, ["cubes show", "test accuracy", "86.8 %", "lr 0.03", "SGD", "batch 10"], "paused"),
        (592.0, ["weight", "test accuracy", "86.8 %"], "lr 0.03  \N{MIDDLE DOT}  SGD  \N{MIDDLE DOT}  batch 10"),
    ],
)
def test_what_has_no_room_in_the_first_line_stands_in_the_second(width: float, first: list[str], second: str) -> None:
    more = (Headline("test accuracy", "86.8 %"),)
    state = HudState(1500, 0.0558, 0.03, "SGD", 10, "paused", "weight", more=more)
    sketch = hud((24.0, 16.0, width, 52.0), DARK, state)
    line = [t for t in sketch.texts if t.y == 40.0]
    assert set(first) <= {t.text for t in line}
    assert any(t.text.startswith(second) for t in sketch.texts if t.y == 64.0)
    ends = sorted((t.x - {"left": 0, "right": 1}[t.anchor] * measure(t.text, t.size, t.bold), t) for t in line)
    for (_, one), (left, _) in pairwise(ends):
        right = one.x + (one.anchor == "left") * measure(one.text, one.size, one.bold)
        assert right < left, one.text


@given(
    width=st.floats(1, 2000),
    words=st.lists(st.sampled_from(["run", "a step further", "all that is there"]), max_size=9),
)
def test_a_line_of_keys_keeps_its_last_one_and_the_first_ones(width: float, words: list[str]) -> None:
    table = [*((chr(65 + k), said) for k, said in enumerate(words)), ("?", "all keys")]
    lines = key_line(24.0, 700.0, width, DARK, table).texts
    shown = [(key.text, said.text) for key, said in zip(lines[::2], lines[1::2], strict=True)]
    assert shown in ([], *([*table[:k], table[-1]] for k in range(len(table))))
    assert all(said.x + measure(said.text, LABEL) <= 24 + width for said in lines[1::2])
    whole = sum(measure(key, LABEL, True) + 5 + measure(said, LABEL) + 16 for key, said in table) - 16
    assert (shown == table) == (whole <= width)
