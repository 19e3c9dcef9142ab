"""The 2-D painter: pixels of shapes whose geometry is known exactly, and what a sketch holds."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from scalarviz.view.ink.sketch import VERTEX, Sketch, dashes, rgba

os.environ.setdefault("EGL_PLATFORM", "surfaceless")
WHITE = (1.0, 1.0, 1.0)


@pytest.fixture(scope="module")
def paint() -> Iterator[Callable[..., np.ndarray]]:
    """Draw sketches on black in a framebuffer of their own; returns (H, W, 3) uint8, first row on top."""
    from vispy import app, gloo

    from scalarviz.view.ink.painter import Painter

    app.use_app("egl")
    canvas: Any = app.Canvas(size=(16, 16))
    canvas.set_current()

    def draw(sketch: Sketch, size: tuple[int, int] = (64, 48), scale: float = 1.0) -> np.ndarray:
        wide, high = round(size[0] * scale), round(size[1] * scale)
        target = gloo.FrameBuffer(color=gloo.RenderBuffer((high, wide)))
        with target:
            gloo.set_viewport(0, 0, wide, high)
            gloo.clear("black")
            Painter(size, scale).draw([sketch])
            return np.asarray(gloo.read_pixels((0, 0, wide, high), alpha=False))

    yield draw
    canvas.close()


@pytest.mark.gl
def test_a_rectangle_covers_its_pixels_and_no_other(paint: Callable[..., np.ndarray]) -> None:
    sketch = Sketch()
    sketch.rect(10, 20, 30, 8, fill=(1.0, 0.5, 0.0))
    expected = np.zeros((48, 64, 3), np.uint8)
    expected[20:28, 10:40] = (255, 128, 0)
    assert np.abs(paint(sketch).astype(int) - expected).max() <= 1


@pytest.mark.gl
def test_the_border_lies_inside_and_is_one_pixel_wide(paint: Callable[..., np.ndarray]) -> None:
    sketch = Sketch()
    sketch.rect(10, 20, 30, 8, stroke=WHITE, border=1.0)
    lit = paint(sketch)[:, :, 0] > 128
    expected = np.zeros((48, 64), bool)
    expected[20:28, 10:40] = True
    expected[21:27, 11:39] = False
    assert np.array_equal(lit, expected)


@pytest.mark.gl
@pytest.mark.parametrize("scale", [1.0, 2.0])
def test_areas_agree_with_geometry(paint: Callable[..., np.ndarray], scale: float) -> None:
    cases = []
    for area, build in (
        (np.pi * 15.3**2, lambda s: s.disc(31.2, 23.7, 15.3, WHITE)),
        (3.0 * np.hypot(40, 25), lambda s: s.line((10, 10), (50, 35), WHITE, 3.0)),
        (40 * 30 - (4 - np.pi) * 36, lambda s: s.rect(12, 9, 40, 30, fill=WHITE, radius=6)),
        (0.5 * 33 * 21, lambda s: s.polygon([(10, 10), (43, 10), (20, 31)], WHITE)),
    ):
        sketch = Sketch()
        build(sketch)
        painted = paint(sketch, scale=scale)[:, :, 0].sum() / 255 / scale**2
        cases.append(abs(painted - area) / area)
    # A polygon's edge is smoothed inwards only: half a device pixel along its outline of 97.
    assert max(cases[:3]) < 0.01
    assert cases[3] < 0.02 + 97 * 0.25 / 346 / scale


@pytest.mark.gl
def test_later_shapes_cover_earlier_ones_and_alpha_blends(paint: Callable[..., np.ndarray]) -> None:
    sketch = Sketch()
    sketch.rect(0, 0, 64, 48, fill=(1.0, 0.0, 0.0))
    sketch.rect(0, 0, 64, 24, fill=(0.0, 0.0, 1.0, 0.5))
    picture = paint(sketch)
    assert np.allclose(picture[10, 10], (128, 0, 128), atol=1)
    assert tuple(picture[40, 10]) == (255, 0, 0)


@pytest.mark.gl
def test_a_picture_is_shown_unchanged_and_upright(paint: Callable[..., np.ndarray]) -> None:
    pixels = np.random.default_rng(0).integers(0, 256, (12, 17, 3), dtype=np.uint8)
    sketch = Sketch()
    sketch.image((5, 7, 17, 12), pixels, linear=False)
    assert np.array_equal(paint(sketch)[7:19, 5:22], pixels)


@pytest.mark.gl
@pytest.mark.parametrize("scale", [1.0, 1.5, 5 / 3])
def test_a_sprite_shows_nothing_of_the_cell_beside_it(paint: Callable[..., np.ndarray], scale: float) -> None:
    """A green cell whose neighbours are red, at many fractions of a pixel: no pixel on an edge is red."""
    pixels = np.zeros((20, 30, 3), np.uint8)
    pixels[..., 0] = 255
    pixels[:10, 10:20] = (0, 255, 0)
    for shift in np.arange(0.0, 1.0, 1 / 20):
        sketch = Sketch()
        rects = [(4 + shift + 18.2 * k, 5 + shift + 2.3 * k, 14.0, 30.0) for k in range(3)]
        sketch.sprites(rects, [(1 / 3, 0.0, 1 / 3, 0.5)] * 3, pixels)
        picture = paint(sketch, scale=scale)
        assert (picture[..., 1] == 255).sum() > 1000
        assert not picture[..., 0].any()


@pytest.mark.gl
def test_discs_have_their_colour_in_the_middle_and_the_last_is_in_front(paint: Callable[..., np.ndarray]) -> None:
    sketch = Sketch()
    sketch.discs([(20.5, 20.5), (24.5, 20.5)], 9.0, [(1.0, 0.0, 0.0), (0.0, 1.0, 0.0)])
    picture = paint(sketch)
    assert tuple(picture[20, 24]) == (0, 255, 0)
    assert picture[20, 17, 0] > 180
    assert picture[20, 21, 1] > 150
    assert not picture[20, 40].any()


@pytest.mark.gl
def test_a_painter_draws_what_changed(paint: Callable[..., np.ndarray]) -> None:
    from vispy import gloo

    from scalarviz.view.ink.painter import Painter

    painter = Painter((64, 48))
    target = gloo.FrameBuffer(color=gloo.RenderBuffer((48, 64)))
    seen = []
    with target:
        gloo.set_viewport(0, 0, 64, 48)
        for count in (1, 700, 2, 0):  # also beyond the first buffer, and fewer afterwards
            sketch = Sketch()
            for i in range(count):
                sketch.rect(i % 64, 2 * (i // 64), 1, 1, fill=WHITE)
            gloo.clear("black")
            painter.draw([sketch])
            seen.append(int((gloo.read_pixels((0, 0, 64, 48), alpha=False)[:, :, 0] > 128).sum()))
    assert seen == [1, 700, 2, 0]


@pytest.mark.gl
def test_the_background_is_exact_in_the_corners_and_glows_in_the_middle() -> None:
    from vispy import gloo

    from scalarviz.view.ink.painter import Painter

    target = gloo.FrameBuffer(color=gloo.RenderBuffer((90, 160)))
    with target:
        gloo.set_viewport(0, 0, 160, 90)
        Painter((160, 90)).background("#14161a", "#1b1e24")
        picture = np.asarray(gloo.read_pixels((0, 0, 160, 90), alpha=False))
    for row, column in ((0, 0), (0, -1), (-1, 0), (-1, -1)):
        assert tuple(picture[row, column]) == (0x14, 0x16, 0x1A)
    assert np.abs(picture[40, 67].astype(int) - (0x1B, 0x1E, 0x24)).max() <= 1


@pytest.mark.gl
def test_text_survives_a_new_atlas(paint: Callable[..., np.ndarray]) -> None:
    from vispy import gloo

    from scalarviz.view.ink.painter import Painter

    title, painter = Sketch(), Painter((300, 48))
    title.text(4, 30, "loss 0.0367", 22, WHITE)
    expected = paint(title, (300, 48))
    with gloo.FrameBuffer(color=gloo.RenderBuffer((48, 300))):
        gloo.set_viewport(0, 0, 300, 48)
        for size in range(20, 160, 4):
            other = Sketch()
            other.text(500, 500, "ABCDEFGHIJKLMNOPQRSTUVWXYZ", size, WHITE)
            painter.draw([title, other])
        gloo.clear("black")
        painter.draw([title])
        picture = np.asarray(gloo.read_pixels((0, 0, 300, 48), alpha=False))
    assert picture.max() == 255
    assert np.array_equal(picture, expected)


def test_dashes_cover_their_share_of_the_path() -> None:
    path = np.array([[0, 0], [30, 0], [30, 40]], np.float32)
    starts, ends = dashes(path, 6, 4)
    assert np.hypot(*(ends - starts).T).sum() == pytest.approx(42.0)
    assert np.all(np.hypot(*(ends - starts).T) <= 6.001)


def test_no_path_no_dashes() -> None:
    assert len(dashes(np.empty((0, 2), np.float32), 6, 4)[0]) == 0


def test_an_empty_sketch_has_no_triangles() -> None:
    assert Sketch().triangles.shape == (0, VERTEX)


def test_colours_in_every_form() -> None:
    assert rgba("#ff8000") == pytest.approx((1.0, 128 / 255, 0.0, 1.0))
    assert rgba((0.1, 0.2, 0.3), 0.5) == pytest.approx((0.1, 0.2, 0.3, 0.5))
    assert rgba(np.array([0.1, 0.2, 0.3, 0.5]), 0.5)[3] == pytest.approx(0.25)
