"""The 2-D painter: pixels of shapes whose geometry is known exactly; glyphs, their widths and their atlas."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from PIL import ImageFont
from vispy import gloo

import scalarviz as sv
from kit.benches import rgb
from scalarviz.errors import InputError
from scalarviz.view.ink.painter import Painter
from scalarviz.view.ink.sketch import VERTEX, Sketch, TextItem, dashes, rgba, within
from scalarviz.view.ink.text import CAP_HEIGHT, GlyphAtlas, font_path, measure
from scalarviz.view.out import offscreen as module
from scalarviz.view.out.offscreen import MAX_SIDE, offscreen, shrink

pytestmark = pytest.mark.gl

WHITE = (1.0, 1.0, 1.0)
CHARACTERS = "0123456789 abcxyz ABCXYZ .,:·×±σδ∞→#%()[]=\N{MINUS SIGN}"


def drawn(draw, size=(64, 48), scale=1.0):
    """What is drawn on black, as whole numbers."""
    wide, high = round(size[0] * scale), round(size[1] * scale)
    return offscreen().render(lambda box: draw(), (wide, high)).astype(int)


def paint(build, size=(64, 48), scale=1.0):
    """What a painter makes of a sketch that `build` fills."""
    sketch = Sketch()
    build(sketch)
    return drawn(lambda: Painter(size, scale).draw([sketch]), size, scale)


def test_a_rectangle_covers_its_pixels_a_border_lies_inside_and_later_shapes_blend_over_earlier_ones():
    rows, columns = np.mgrid[:48, :64]
    filled = (rows >= 20) & (rows < 28) & (columns >= 10) & (columns < 40)
    picture = paint(lambda s: s.rect(10, 20, 30, 8, fill=(1.0, 0.5, 0.0)))
    assert np.abs(picture - filled[..., None] * np.array([255, 128, 0])).max() <= 1
    inner = (rows >= 21) & (rows < 27) & (columns >= 11) & (columns < 39)
    picture = paint(lambda s: s.rect(10, 20, 30, 8, stroke=WHITE, border=1.0))
    assert np.array_equal(picture[..., 0] > 128, filled & ~inner)

    def two(sketch):
        sketch.rect(0, 0, 64, 48, fill=(1.0, 0.0, 0.0))
        sketch.rect(0, 0, 64, 24, fill=(0.0, 0.0, 1.0, 0.5))

    picture = paint(two)
    assert np.allclose(picture[10, 10], (128, 0, 128), atol=1)
    assert tuple(picture[40, 10]) == (255, 0, 0)


@pytest.mark.parametrize("scale", [1.0, 2.0])
@pytest.mark.parametrize(
    ("area", "edge", "build"),
    [
        (np.pi * 15.3**2, 0, lambda s: s.disc(31.2, 23.7, 15.3, WHITE)),
        (3.0 * np.hypot(40, 25), 0, lambda s: s.line((10, 10), (50, 35), WHITE, 3.0)),
        (40 * 30 - (4 - np.pi) * 36, 0, lambda s: s.rect(12, 9, 40, 30, fill=WHITE, radius=6)),
        (0.5 * 33 * 21, 97, lambda s: s.polygon([(10, 10), (43, 10), (20, 31)], WHITE)),
    ],
)
def test_areas_agree_with_geometry(area, edge, build, scale):
    """A polygon's edge is smoothed inwards only: half a device pixel along its outline."""
    painted = paint(build, scale=scale)[:, :, 0].sum() / 255 / scale**2
    assert abs(painted - area) / area < 0.01 + edge * (0.01 / 97 + 0.25 / area / scale)


@pytest.mark.parametrize("scale", [1.0, 1.5, 5 / 3])
def test_a_picture_is_shown_upright_and_a_sprite_shows_nothing_of_the_cell_beside_it(scale):
    """A green cell whose neighbours are red, at many fractions of a pixel: no pixel on an edge is red."""
    pixels = np.random.default_rng(0).integers(0, 256, (12, 17, 3), dtype=np.uint8)
    assert np.array_equal(paint(lambda s: s.image((5, 7, 17, 12), pixels, linear=False))[7:19, 5:22], pixels)
    pixels = np.zeros((20, 30, 3), np.uint8)
    pixels[..., 0] = 255
    pixels[:10, 10:20] = (0, 255, 0)
    for shift in np.arange(0.0, 1.0, 1 / 20):
        rects = [(4 + shift + 18.2 * k, 5 + shift + 2.3 * k, 14.0, 30.0) for k in range(3)]
        picture = paint(lambda s, r=rects: s.sprites(r, [(1 / 3, 0.0, 1 / 3, 0.5)] * 3, pixels), scale=scale)
        assert (picture[..., 1] == 255).sum() > 1000
        assert not picture[..., 0].any()


def test_discs_have_their_colour_in_the_middle_and_the_last_is_in_front():
    picture = paint(lambda s: s.discs([(20.5, 20.5), (24.5, 20.5)], 9.0, [(1.0, 0.0, 0.0), (0.0, 1.0, 0.0)]))
    assert tuple(picture[20, 24]) == (0, 255, 0)
    assert picture[20, 17, 0] > 180
    assert picture[20, 21, 1] > 150
    assert not picture[20, 40].any()


def test_a_painter_draws_what_changed_and_text_survives_a_new_atlas():
    with offscreen():
        painter, title = Painter((300, 48)), Sketch()
    for count in (1, 700, 2, 0):  # also beyond the first buffer, and fewer afterwards
        sketch = Sketch()
        for i in range(count):
            sketch.rect(i % 64, 2 * (i // 64), 1, 1, fill=WHITE)
        picture = drawn(lambda s=sketch: painter.draw([s]), (300, 48))
        assert (picture[:, :, 0] > 128).sum() == count
    title.text(4, 30, "loss 0.0367", 22, WHITE)
    for size in range(20, 160, 4):
        other = Sketch()
        other.text(500, 500, "ABCDEFGHIJKLMNOPQRSTUVWXYZ", size, WHITE)
        drawn(lambda o=other: painter.draw([title, o]), (300, 48))
    picture = drawn(lambda: painter.draw([title]), (300, 48))
    assert picture.max() == 255
    assert np.array_equal(picture, drawn(lambda: Painter((300, 48)).draw([title]), (300, 48)))


def test_dashes_cover_their_share_of_the_path_and_colours_come_in_every_form():
    starts, ends = dashes(np.array([[0, 0], [30, 0], [30, 40]], np.float32), 6, 4)
    assert np.hypot(*(ends - starts).T).sum() == pytest.approx(42.0)
    assert np.all(np.hypot(*(ends - starts).T) <= 6.001)
    assert len(dashes(np.empty((0, 2), np.float32), 6, 4)[0]) == 0
    assert Sketch().triangles().shape == (0, VERTEX)
    assert rgba("#ff8000") == pytest.approx((1.0, 128 / 255, 0.0, 1.0))
    assert rgba((0.1, 0.2, 0.3), 0.5) == pytest.approx((0.1, 0.2, 0.3, 0.5))
    assert rgba(np.array([0.1, 0.2, 0.3, 0.5]), 0.5)[3] == pytest.approx(0.25)


def test_width_agrees_with_the_font_tables_and_digits_are_tabular():
    face = ImageFont.truetype(str(font_path()), 2048, layout_engine=ImageFont.Layout.BASIC)  # one pixel a font unit
    text = "loss of this colour"
    assert measure(text, 13) == pytest.approx(sum(face.getlength(c) for c in text) / 2048 * 13, rel=1e-3)
    for bold in (False, True):
        assert len({round(measure(d, 13, bold), 6) for d in "0123456789"}) == 1
        assert measure("+1.11", 16, bold) == measure("\N{MINUS SIGN}8.88", 16, bold)


def test_the_atlas_has_the_signs_we_use_each_in_a_box_of_its_own():
    atlas, used = GlyphAtlas(), np.zeros((4096, 1024), np.uint8)
    for size, bold, phase in np.ndindex(3, 2, 4):
        for character in CHARACTERS.replace(" ", ""):
            x, y, w, h, _, _ = atlas.glyph(character, (13.0, 22.0, 52.0)[size], bool(bold), phase)
            used[y : y + h, x : x + w] += 1
    assert used.max() == 1
    assert len(atlas.pixels) > 512  # it grew

    def bitmap(character):
        x, y, w, h, _, _ = atlas.glyph(character, 26.0, False, 0)
        return atlas.pixels[y : y + h, x : x + w].tobytes()

    for character in "σδ±×·∞\N{MINUS SIGN}":
        assert bitmap(character) != bitmap("\N{SNOWMAN}")  # which the font does not have
        assert max(bitmap(character)) > 100


def test_ink_stands_on_the_baseline_between_the_anchors_and_places_scale_with_the_device():
    wide = measure("HH", 20)
    for anchor, left in (("left", 100.0), ("middle", 100.0 - wide / 2), ("right", 100.0 - wide)):
        picture = paint(lambda s, a=anchor: s.text(100, 50, "HH", 20, WHITE, anchor=a), (200, 80))
        rows, columns = np.nonzero(picture[..., 0] > 100)
        assert rows.max() == 49
        assert np.ptp(rows) + 1 == pytest.approx(20 * CAP_HEIGHT, abs=1)
        assert left <= columns.min() <= left + 3
        assert left + wide - 3 <= columns.max() + 1 <= left + wide
    atlas, item = GlyphAtlas(), TextItem(30.0, 20.0, "0.0367", 13, (*WHITE, 1.0))
    once, twice = atlas.quads([item], 1.0), atlas.quads([item], 2.0)
    assert np.abs(twice[:, :2] / 2 - once[:, :2]).max() < 1.6


def test_what_lies_in_a_box_of_triangles_keeps_its_order_its_area_and_its_numbers():
    rng = np.random.default_rng(2)
    corners = rng.uniform(-10, 10, (40, 3, 2)).astype(np.float32)
    whole = np.concatenate([corners, np.repeat(np.arange(40, dtype=np.float32), 3).reshape(40, 3, 1),
                            corners @ np.array([[2.0], [-1.0]], np.float32)], axis=2).reshape(-1, 4)  # fmt: skip
    box = (-4.0, -3.0, 7.0, 8.0)
    found = within(whole, box).reshape(-1, 3, 4)
    for axis in (0, 1):
        assert found[:, :, axis].min() >= box[axis] - 1e-3
        assert found[:, :, axis].max() <= box[axis] + box[axis + 2] + 1e-3
    assert (np.diff(found[:, 0, 2]) >= 0).all()  # those behind stay behind
    np.testing.assert_allclose(found[:, :, 3], found[:, :, :2] @ [2.0, -1.0], atol=1e-4)  # what runs along runs along
    x, y = np.meshgrid(np.linspace(-3.95, 2.95, 70), np.linspace(-2.95, 4.95, 80))
    points = np.stack([x.ravel(), y.ravel()], axis=1)

    def cover(triangles):
        """How many triangles lie over each point."""
        a, b, c = triangles[:, :, None, :2].swapaxes(0, 1)
        ways = [(q - p, points - p) for p, q in ((a, b), (b, c), (c, a))]
        sides = [along[..., 0] * to[..., 1] - along[..., 1] * to[..., 0] for along, to in ways]
        return (np.all(np.array(sides) >= 0, axis=0) | np.all(np.array(sides) <= 0, axis=0)).sum(axis=0)

    assert (cover(found) == cover(whole.reshape(-1, 3, 4))).mean() > 0.995


# ---- Drawing without a window: pictures of the size asked for, in tiles if they are large, from any thread


def quarter(_):
    """Paint the upper left quarter red."""
    program = gloo.Program(
        "attribute vec2 p; void main() { gl_Position = vec4(p, 0.0, 1.0); }",
        "void main() { gl_FragColor = vec4(1.0, 0.0, 0.0, 1.0); }",
    )
    program["p"] = np.array([[-1, 0], [0, 0], [-1, 1], [0, 1]], np.float32)
    gloo.set_state(depth_test=False, cull_face=False, blend=False)
    program.draw("triangle_strip")


def test_a_picture_has_its_size_a_black_ground_and_its_top_on_top_and_a_finer_one_is_averaged(monkeypatch):
    image = offscreen().render(quarter, (40, 30))
    assert (image.shape, image.dtype, image.flags.c_contiguous) == ((30, 40, 3), np.uint8, True)
    assert (image[:15, :20] == [255, 0, 0]).all()
    assert not image[15:].any()
    assert not image[:, 20:].any()
    asked = []
    image = offscreen().render(lambda size: (asked.append(size), quarter(size)), (41, 31), supersample=2)
    assert asked == [(82, 62)]
    assert (image[:15, :20] == [255, 0, 0]).all()
    assert (image[15, :20] == [128, 0, 0]).all(), "half of the row in the middle is painted"
    noise = np.random.default_rng(0).integers(0, 256, (6, 9, 3), dtype=np.uint8)
    blocks = noise.reshape(2, 3, 3, 3, 3).astype(float).mean(axis=(1, 3))
    assert np.abs(shrink(noise, 3) - blocks).max() <= 0.5
    for size in ((0, 5), (5, -1), (MAX_SIDE + 1, 5)):
        with pytest.raises(InputError, match="picture size"):
            offscreen().render(quarter, size)
    monkeypatch.setattr(module.Offscreen, "longest", 1000)
    with pytest.raises(InputError, match="must be 1 to 1000 pixels a side"):
        offscreen().render(quarter, (600, 20), supersample=2)


FORKED = """
import os, sys
from scalarviz.view.out.offscreen import available, offscreen
print(offscreen().render(lambda viewport: None, (3, 2)).shape, flush=True)
child = os.fork()
if not child: os._exit(0 if 'spawn' in available() else 1)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) or bool(available()))
"""


def test_a_fresh_process_needs_no_display_and_no_settings_and_its_forked_child_says_that_it_cannot_draw(tmp_path):
    """It would wait for the parent's threads for ever."""
    environment, command = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path)}, [sys.executable, "-c", FORKED]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout.strip()) == (0, "(2, 3, 3)"), done.stderr


def test_threads_that_draw_at_once_draw_what_one_draws_also_after_an_error():
    def draw(size):
        return [sv.render({"w": np.linspace(-1, 1, 12).reshape(3, 4)}, size) for _ in range(3)]

    with pytest.raises(ZeroDivisionError):
        offscreen().render(lambda _: 1 // 0, (160, 160))  # the turn is given back
    sizes = (240, 200), (200, 240), (160, 160)
    alone = [draw(size) for size in sizes]
    with ThreadPoolExecutor(3) as threads:
        together = list(threads.map(draw, sizes, timeout=60))
    assert all(np.array_equal(found, wanted) for found, wanted in zip(together, alone, strict=True))


# ---- tiles


@pytest.mark.parametrize(("size", "supersample"), [((1280, 720), 1), ((641, 363), 2), ((360, 641), 1)])
def test_tiles_make_the_picture_of_one_piece(monkeypatch, size, supersample):
    scene = rgb(40, steps=3)
    scene.run.set_weights(4, [np.nan])  # a mark that is painted by the pixel
    whole = sv.render(scene, size, supersample=supersample).astype(int)
    monkeypatch.setattr(module, "FRAMEBUFFER", 300)
    monkeypatch.setattr(module, "TILE", 260)
    away = np.abs(whole - sv.render(scene, size, supersample=supersample)).max(axis=2)
    if size[1] % 20 == 0:  # else the patterns of marks begin at another pixel, for the whole picture
        assert away.max() <= 2  # the noise that smooths the background
    assert (away > 2).mean() < 0.02
    for seam in range(260 // supersample, min(size), 260 // supersample):
        for lines in (away[seam - 1 : seam + 1], away[:, seam - 1 : seam + 1]):
            assert (lines > 2).mean() < 0.03
