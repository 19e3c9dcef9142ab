"""Nets of one to eight layers, 1 to 64 wide: no plate, name or line lies over another, at any size of window."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from kit.benches import box_of, overlap
from kit.plates import chain
from scalarviz.view.cubes.picking import Picker
from scalarviz.view.ink.theme import DARK
from scalarviz.view.notes.labels import FlowLabels
from scalarviz.view.space.camera import convex_hull
from scalarviz.view.space.layout import Layout, layout_for

SIZES = [(1280, 720), (640, 360), (720, 1280), (1576, 1000)]
# Widths spread evenly over their decades: layers of one and of sixty side by side.
nets = st.lists(st.floats(0, 1).map(lambda u: round(64**u)), min_size=2, max_size=9)
laid = given(nets, st.sampled_from(SIZES), st.booleans())
often = settings(max_examples=60, deadline=None)
eights = example([8] * 7, (1280, 720), True)
EXAMPLES = [[8] * 7, [3, 16, 16, 3], [64] * 9, [3, 64, 2, 33, 1, 8], [4, 24, 24, 10, 2], [49, 30, 1, 36, 1, 21, 2]]


def into(a: np.ndarray, b: np.ndarray) -> float:
    """How far two convex rings reach into each other, by separating axes; 0 or less where they are apart."""
    best = np.inf
    for ring in (a, b):
        edges = np.roll(ring, -1, axis=0) - ring
        normals = np.stack([edges[:, 1], -edges[:, 0]], axis=1)
        lengths = np.hypot(*normals.T)
        normals = normals[lengths > 1e-9] / lengths[lengths > 1e-9][:, None]
        here, there = normals @ a.T, normals @ b.T
        reach = np.minimum(here.max(axis=1) - there.min(axis=1), there.max(axis=1) - here.min(axis=1))
        best = min(best, float(reach.min()))
    return best


def depths(points: np.ndarray, ring: np.ndarray) -> np.ndarray:
    """How deep points (N, 2) lie inside a convex ring; negative outside."""
    edges = np.roll(ring, -1, axis=0) - ring
    cross = edges[:, 0] * (points[:, None, 1] - ring[:, 1]) - edges[:, 1] * (points[:, None, 0] - ring[:, 0])
    turn = np.sign((edges[:, 0] * np.roll(edges[:, 1], -1) - edges[:, 1] * np.roll(edges[:, 0], -1)).sum())
    return np.asarray((turn * cross / np.maximum(np.hypot(*edges.T), 1e-9)).min(axis=1))


def hulls(layout: Layout) -> dict[tuple[str, str], np.ndarray]:
    return {(p.kind, p.name): convex_hull(layout.camera.project(p.corners)) for p in layout.plates}


@laid
@often
@eights
def test_every_cube_shows_its_main_face_and_plates_are_apart(
    widths: list[int], size: tuple[int, int], bias: bool
) -> None:
    layout = layout_for(*chain(*widths, bias=bias), size)
    picker, rng = Picker(layout), np.random.default_rng(len(widths))
    for index, plate in enumerate(layout.plates):
        some = range(plate.size) if plate.size < 30 else rng.choice(plate.size, 30, replace=False)
        for element in map(int, some):
            x, y = layout.camera.project(plate.tops[element])[0]
            hit = picker.pick(layout.camera, (float(x), float(y)))
            assert hit is not None
            assert hit[:2] == (index, element), (plate.name, element, layout.plates[hit.plate].name)
    if not len(layout.trays):  # lying cubes hide each other's sides, as in every picture from above
        for (a, first), (b, second) in combinations(hulls(layout).items(), 2):
            assert into(first, second) < 1.5, (a, b)


@laid
@often
@eights
def test_names_lie_on_no_plate_no_line_and_no_other_name(widths: list[int], size: tuple[int, int], bias: bool) -> None:
    tensors, stages = chain(*widths, bias=bias)
    layout = layout_for(tensors, stages, size)
    x0, y0, x1, y1 = layout.rect
    shapes = {t.name: t.shape for t in tensors if t.role == "weight"}
    kinds = {"input": "input", **{s.name: s.kind for s in stages if s.weight is None}}
    labels = FlowLabels(layout, shapes, kinds, layout.camera.project, (x0, y0, x1 - x0, y1 - y0))
    boxes = [box_of(t) for t in [*labels.names(DARK).texts, *labels.ranges(dict.fromkeys(shapes, 0.5), DARK).texts]]
    lines = along(layout)[0].reshape(-1, 2) if len(layout.flow) else np.zeros((0, 2))
    for left, top, right, bottom in boxes:
        corners = np.array([(left, top), (right, top), (right, bottom), (left, bottom)])
        for key, ring in hulls(layout).items():
            assert into(corners, ring) < 1.0, key
        assert not ((lines > (left, top)) & (lines < (right, bottom))).all(axis=1).any()
    assert not any(overlap(a, b) for a, b in combinations(boxes, 2))


def along(layout: Layout) -> tuple[np.ndarray, np.ndarray]:
    """60 points of each line on screen (S, 60, 2), and how many pitches each is from the line's nearer end (S, 60)."""
    starts, ends = layout.flow[:, :1], layout.flow[:, 1:]
    points = starts + np.linspace(0, 1, 60)[:, None] * (ends - starts)
    away = np.minimum(np.linalg.norm(points - starts, axis=2), np.linalg.norm(points - ends, axis=2))
    return layout.camera.project(points.reshape(-1, 3)).reshape(-1, 60, 2), away


@laid
@often
@eights
def test_lines_run_between_the_plates(widths: list[int], size: tuple[int, int], bias: bool) -> None:
    """Beyond the cubes at their ends; along an edge they may come as near as the side of a cube."""
    layout = layout_for(*chain(*widths, bias=bias), size)
    if not len(layout.flow) or len(layout.trays):
        return
    flat, away = along(layout)
    near = max(3.0, 0.75 * layout.pixels_per_cube())
    for key, ring in hulls(layout).items():
        covered = (depths(flat.reshape(-1, 2), ring).reshape(away.shape) > near) & (away > 1.3)
        lengths = np.hypot(*(flat[:, -1] - flat[:, 0]).T)
        assert (covered.mean(axis=1) * lengths).max() < 10.0, key


@pytest.mark.parametrize("size", [(1280, 720), (640, 360), (1576, 1000)])
@pytest.mark.parametrize("widths", EXAMPLES)
def test_there_are_lines_where_they_have_room(widths: list[int], size: tuple[int, int]) -> None:
    layout = layout_for(*chain(*widths), size)
    assert len(layout.flow) or layout.pixels_per_cube() < 9.0, "without lines, and yet the cubes are large"
    if len(layout.flow):
        gaps = np.diff(along(layout)[0][:, 30], axis=0)
        assert np.hypot(*gaps.T).max() > 3.0


def test_six_layers_of_eight_are_one_chain_at_every_size() -> None:
    for size in [(640, 360), (960, 540), (1280, 720), (1920, 1080)]:
        layout = layout_for(*chain(*[8] * 7), size)
        assert layout.mode == "mlp"
        assert len(layout.flow) >= 8 * (6 + 5)  # into each row, and out of each into the next plate
