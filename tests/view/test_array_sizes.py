"""One number, ten and a million in one picture: each is seen, named, coloured and picked at a sensible size."""

from __future__ import annotations

import numpy as np
import pytest

import scalarviz as sv
from kit.benches import bench_of, box_of, said, texts
from kit.plates import arrays
from scalarviz.view.out.offscreen import offscreen
from scalarviz.view.space.layout import Layout, layout_for
from scalarviz.view.space.plate import grid_for

pytestmark = pytest.mark.gl
SIZES = [(1280, 720), (640, 360), (1920, 1080)]


def together() -> dict[str, np.ndarray]:
    return {"one": np.array(0.5), "ten": np.linspace(-1, 1, 10), "million": np.sin(np.arange(10**6) / 1e4)}


def face(layout: Layout, name: str, element: int) -> np.ndarray:
    """The main face of a cube on screen (4, 2)."""
    return layout.camera.project(layout.plate(name).corners_of(element)[4:])


@pytest.mark.parametrize("size", SIZES)
def test_small_arrays_beside_a_million_numbers_are_seen_picked_and_have_their_colour(size: tuple[int, int]) -> None:
    given = together()
    bench = bench_of(given, size)
    picture = offscreen().render(bench.draw, bench.size)
    least = 12 if size[0] < 1000 else 20
    start = 0
    for name, array in given.items():
        plate = bench.layout.plate(name)
        side = np.ptp(bench.project(plate.corners), axis=0).max()
        assert side > (0.45 * bench.places.size[1] if array.size > 1000 else least)
        for element in range(array.size) if array.size < 100 else ():
            corners = bench.project(plate.corners_of(element)[4:])
            assert np.ptp(corners[:, 1]).min() > 0.7 * least
            middle = corners.mean(axis=0) * bench.scale
            assert bench.pick((float(middle[0]), float(middle[1]))) == start + element
            unit = bench.colouring.range.unit(float(array.ravel()[element]))
            wanted = 255 * bench.colouring.cmap(2.0 * unit - 1.0)
            x, y = (int(c) for c in middle)
            assert np.abs(picture[y, x].astype(float) - wanted).max() <= 4, (name, element)
        start += array.size


@pytest.mark.parametrize("size", SIZES)
def test_each_has_its_name_near_it_and_the_fold_is_said(size: tuple[int, int]) -> None:
    bench = bench_of(together(), size)
    items = {item.text: box_of(item) for item in texts(bench.sketches)}
    for name in together():
        corners = bench.project(bench.layout.plate(name).corners)
        low, high, (left, top, right, bottom) = corners.min(axis=0), corners.max(axis=0), items[name]
        assert np.hypot(*np.maximum(np.maximum(low - (right, bottom), (left, top) - high), 0.0)) < 90
    assert any(text.startswith("1,000,000 in rows of 1,000") for text in items)
    for shape in ((10**6,), (1, 10**6), (10**6, 1)):  # a square whatever its shape
        assert grid_for(shape).cells == (1000, 1000)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("make", [lambda: sv.Weight(0.7, name="w"), lambda: {"w": np.array(0.7)}, lambda: {"w": 0.7}])
def test_a_single_number_is_one_cube_of_sensible_size_with_its_name_and_value(
    make: object, size: tuple[int, int]
) -> None:
    bench = bench_of(make(), size)  # type: ignore[operator]
    corners = bench.project(bench.layout.plates[0].corners)
    assert np.ptp(corners, axis=0).max() < 0.45 * bench.places.size[1]  # a cube, not a wall
    assert np.ptp(face(bench.layout, "w", 0), axis=0).min() > 30
    assert {"w", "+0.70"} <= set(said(bench))
    assert "range of all numbers" in " ".join(said(bench))
    drawn = sv.render(make(), size)  # type: ignore[operator]
    assert np.array_equal(drawn, offscreen().render(bench.draw, bench.size))


def test_ten_numbers_carry_their_values_and_arrays_of_like_size_have_cubes_of_one_size() -> None:
    values = np.linspace(-1, 1, 10)
    assert {f"{value:+.2f}".replace("-", "\N{MINUS SIGN}") for value in values} <= set(said(bench_of({"ten": values})))
    layout = layout_for(*arrays((40, 60), (30, 30), (20, 10), (64,)), (1280, 720))
    assert {round(p.pitch, 9) for p in layout.plates} == {1.0}
