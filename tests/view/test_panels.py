"""The panels: axes, curves, legends, colour cubes and pictures against what can be computed in another way."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from scalarviz.view.cubes.scale import LegendScale
from scalarviz.view.ink.axes import scale_of, tick_text
from scalarviz.view.ink.maps import displayed, get_map
from scalarviz.view.ink.places import LABEL, MARGIN, Wanted, arrange, check_size
from scalarviz.view.ink.sketch import Sketch
from scalarviz.view.ink.text import loss_text, measure, rate_text
from scalarviz.view.ink.theme import DARK
from scalarviz.view.out.offscreen import render
from scalarviz.view.panels.colour_cube import CubePlaces, colours_discs
from scalarviz.view.panels.drawer import Headline
from scalarviz.view.panels.loss import Line, loss_panel, thin_out
from scalarviz.view.panels.pictures import picture_boxes, thumbnail, to_bytes
from scalarviz.view.screen.hud import HudState, fitted, hud
from scalarviz.view.screen.hud import keys as key_line
from scalarviz.view.screen.strip import bar_pixels, legend

BOX = (24.0, 40.0, 344.0, 76.0)
WANTED = (Wanted("pictures", 117), Wanted("colours", 166, worth=2), Wanted("loss", 150, 420, first=True))


def _painted(*sketches: Sketch, size: tuple[int, int] = (400, 300)) -> np.ndarray:
    from scalarviz.view.ink.painter import Painter

    return render(lambda _: Painter(size).draw(list(sketches)), size)


# axes and curves


@settings(max_examples=150, deadline=None)
@given(values=st.lists(st.floats(1e-12, 1e6), min_size=1, max_size=20), most=st.integers(3, 7))
def test_a_log_axis_holds_the_values_between_few_nice_ticks(values: list[float], most: int) -> None:
    scale = scale_of(np.array(values), most)
    assert scale.log
    assert scale.low <= min(values) <= max(values) <= scale.high
    assert 2 <= len(scale.ticks) <= most
    assert scale.low <= scale.ticks[0] < scale.ticks[-1] <= scale.high
    span = max(np.log(max(values) / min(values)) + 2 * np.log(1.02), 2 * np.log(1.7))  # a flat curve has some air
    assert np.log(scale.high / scale.low) <= 1.6 * span + 1e-9  # most of the height is the curve's
    for tick in scale.ticks:
        mantissa = float(f"{tick:.6e}".split("e")[0])
        assert mantissa in (1, 1.5, 2, 3, 4, 5, 7)
    assert np.allclose(scale.place(np.array([scale.low, scale.high])), [0, 1])


@settings(max_examples=100, deadline=None)
@given(values=st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=20))
@example(values=[5e-324, -6.0])
def test_a_linear_axis_holds_negative_values(values: list[float]) -> None:
    values = [*values, -1.0]
    scale = scale_of(np.array(values))
    assert not scale.log
    assert scale.low <= min(values) <= max(values) <= scale.high
    assert 2 <= len(scale.ticks) <= 8
    assert np.ptp(np.diff(scale.ticks)) <= 1e-9 * (scale.high - scale.low)


@pytest.mark.parametrize("values", [[], [float("nan")], [0.0, 0.0], [0.1, float("inf")], [0.0, 0.5]])
def test_an_axis_of_odd_values_exists(values: list[float]) -> None:
    scale = scale_of(np.array(values))
    assert scale.low < scale.high


def test_known_axes() -> None:
    assert scale_of(np.array([0.1, 0.0367]), most=6).ticks == (0.03, 0.04, 0.05, 0.07, 0.1, 0.15)
    assert scale_of(np.array([0.1, 0.012]), most=6).ticks == (0.01, 0.02, 0.05, 0.1, 0.2)
    assert scale_of(np.array([0.09, 0.0012]), most=6).ticks == (0.001, 0.003, 0.01, 0.03, 0.1)
    low = scale_of(np.array([3.0, 0.1]), most=3)  # in a low panel; not 0.01, 1 and 100
    assert low.ticks == (0.1, 1)
    assert (low.low, low.high) == pytest.approx((0.1, 3), rel=0.03)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.05, "0.05"),
        (0.001, "0.001"),
        (1e-4, "1e\N{MINUS SIGN}4"),
        (0.0, "0"),
        (-2.0, "\N{MINUS SIGN}2"),
        (100.0, "100"),
    ],
)
def test_tick_texts(value: float, text: str) -> None:
    assert tick_text(value) == text


def test_a_thinned_curve_keeps_means_extremes_and_its_ends() -> None:
    steps, losses = np.arange(1.0, 1001.0), np.random.default_rng(0).random(1000)
    middle, mean, low, high = thin_out(steps, losses, 50)
    groups = losses.reshape(50, 20)
    assert np.allclose(mean[1:-1], groups.mean(1)[1:-1])
    assert np.array_equal(low, groups.min(1))
    assert np.array_equal(high, groups.max(1))
    assert np.allclose(middle[1:-1], steps.reshape(50, 20).mean(1)[1:-1])
    assert (middle[0], mean[0]) == (1.0, losses[0])
    assert middle[-1] == 1000.0
    assert mean[-1] == pytest.approx(groups[-1].mean())  # the loss of one batch would be a cliff at its end


@pytest.mark.gl
def test_dashes_are_seen_where_they_run_along_the_other_curve() -> None:
    steps, losses = np.arange(1, 161), 0.1 * np.exp(-np.arange(1, 161) / 60)
    line, same = Line("batch", steps, losses), Line("test", steps, losses, dashed=True)
    alone = _painted(loss_panel((20, 10, 304, 280), DARK, [line]), size=(360, 300)).astype(int)
    both = _painted(loss_panel((20, 10, 304, 280), DARK, [same, line]), size=(360, 300)).astype(int)
    line_only = (slice(90, 262), slice(70, 320))
    changed = np.abs(both - alone)[line_only].max(axis=2)[alone[line_only].min(axis=2) > 200]
    assert 0.3 < (changed > 30).mean() < 0.8


def test_names_stand_on_no_spread_where_a_corner_is_free() -> None:
    """Losses of single batches reach far below their mean: both lower corners are theirs."""
    rng = np.random.default_rng(0)
    steps = np.arange(20_000)
    losses = np.exp(-steps / 5000) * 10.0 ** -rng.uniform(0, 6, len(steps))
    sketch = loss_panel((20, 10, 304, 280), DARK, [Line("batches", steps, losses)])
    name = next(text for text in sketch.texts if text.text == "batches")
    assert name.x > 180
    assert name.y < 80


@pytest.mark.gl
def test_the_curve_passes_where_the_axis_says() -> None:
    steps = np.arange(1, 161)
    losses = 0.1 * np.exp(-steps / 60)
    sketch = loss_panel((20, 10, 304, 280), DARK, [Line("batch", steps, losses)])
    picture = _painted(sketch, size=(360, 300))
    scale = scale_of(losses, most=6)
    plot_top, plot_height, left, width = 10 + 30, 280 - 52, 20 + 40, 264 - 6
    for step in (20, 80, 140):
        x = left + width * (step - 1) / 159
        y = plot_top + plot_height * (1 - float(scale.place(losses[step - 1 : step])[0]))
        assert picture[int(y) - 1 : int(y) + 2, int(x) - 1 : int(x) + 2].max() > 200
        assert picture[int(y) + 8 : int(y) + 14, int(x)].max() < 100


@pytest.mark.parametrize(
    "curves",
    [
        [],
        [Line("b", np.empty(0), np.empty(0))],
        [Line("b", np.array([1]), np.array([np.nan]))],
        [Line("b", np.array([1]), np.array([0.5]))],
    ],
)
def test_a_curve_without_points_is_an_empty_frame(curves: list[Line]) -> None:
    sketch = loss_panel((20, 10, 304, 280), DARK, curves)
    assert sketch.texts[0].text == "loss"
    assert np.isfinite(sketch.triangles).all()


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


# colour cube


def _grid(side: int) -> np.ndarray:
    axis_ = np.linspace(0, 1, side)
    return np.stack(np.meshgrid(axis_, axis_, axis_, indexing="ij"), -1).reshape(-1, 3)


@pytest.mark.gl
def test_leaving_out_hidden_discs_changes_no_pixel() -> None:
    colours = _grid(16)
    places = CubePlaces(colours, (10, 10, 146, 144))
    assert 700 < len(places.visible) < 2000
    everything = CubePlaces(colours, (10, 10, 146, 144))
    order = np.argsort(-np.linalg.norm(_camera_points(colours) - everything._camera.eye[:3], axis=1), kind="stable")
    full = Sketch()
    full.discs(everything._camera.project(_camera_points(colours[order])), places.diameter, colours[order])
    thin = colours_discs(places, colours[places.visible])
    difference = np.abs(_painted(full, size=(180, 180)).astype(int) - _painted(thin, size=(180, 180)))
    assert (difference.max(axis=2) > 12).mean() < 1e-3


def _camera_points(rgb: np.ndarray) -> np.ndarray:
    return np.stack([rgb[:, 1], -rgb[:, 0], -rgb[:, 2]], axis=1)


def test_corners_of_the_cube_stand_where_they_belong() -> None:
    colours = _grid(2)
    places = CubePlaces(colours, (0, 0, 146, 144))
    at = {tuple(colours[i].astype(int)): places.centres[k] for k, i in enumerate(places.visible)}
    red, green, white, yellow = at[1, 0, 0], at[0, 1, 0], at[1, 1, 1], at[1, 1, 0]
    assert red[0] < yellow[0] < green[0]
    assert white[1] > yellow[1]  # blue runs downwards
    assert np.all((places.centres >= 0) & (places.centres <= 146))


@pytest.mark.parametrize("count", [1, 2, 3])
def test_a_few_colours_are_a_cube_as_well(count: int) -> None:
    places = CubePlaces(np.random.default_rng(0).random((count, 3)), (0, 0, 146, 144))
    assert len(places.visible) >= 1
    assert 3 <= places.diameter <= 24


def test_outputs_that_are_no_colours_are_shown_all_the_same() -> None:
    shown = displayed([[np.nan, np.inf, -np.inf], [2.0, -1.0, 0.5]])
    assert shown.tolist() == [[0.0, 1.0, 0.0], [1.0, 0.0, 0.5]]
    assert displayed([[0.25]]).tolist() == [[0.25] * 3]


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


@pytest.mark.parametrize(
    ("loss", "text"),
    [
        (0.0367, "0.0367"),
        (0.0015, "0.0015"),
        (0.00088, "0.00088"),
        (1.8e-5, "1.8e\N{MINUS SIGN}5"),
        (12.5, "12.50"),
        (float("nan"), "\N{EN DASH}"),
        (0.0, "0.0000"),
        (float("inf"), "+∞"),
        (25000.0, "2.5e4"),
    ],
)
def test_loss_texts(loss: float, text: str) -> None:
    assert loss_text(loss) == text


@pytest.mark.parametrize(
    ("lr", "text"),
    [(1.0, "1.0"), (0.01, "0.01"), (3e-5, "3e\N{MINUS SIGN}5"), (0.5, "0.5"), (4096.0, "4,096"), (1000.5, "1,000.5")],
)
def test_rate_texts(lr: float, text: str) -> None:
    assert rate_text(lr) == text


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


def test_the_discs_of_a_few_colours_stay_below_the_title() -> None:
    corners = np.array([[r, g, b] for r in (0, 1) for g in (0, 1) for b in (0, 1)], float)
    for colours in (corners, corners[:1], corners[[0, 7]]):
        places = CubePlaces(colours, (0, 22, 146, 144))
        assert places.centres[:, 1].min() - places.diameter / 2 >= 22
        assert places.centres[:, 1].max() + places.diameter / 2 <= 22 + 144


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
