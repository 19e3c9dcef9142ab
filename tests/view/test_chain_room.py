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
from scalarviz.view.notes.placer import apart
from scalarviz.view.space.camera import camera_of, convex_hull, pose_of, turned
from scalarviz.view.space.layout import layout_for

SIZES = [(1280, 720), (640, 360), (720, 1280), (1576, 1000)]
# Widths spread evenly over their decades: layers of one and of sixty side by side.
nets = st.lists(st.floats(0, 1).map(lambda u: round(64**u)), min_size=2, max_size=9)
EXAMPLES = [[8] * 7, [3, 16, 16, 3], [64] * 9, [3, 64, 2, 33, 1, 8], [4, 24, 24, 10, 2], [49, 30, 1, 36, 1, 21, 2]]


def into(a, b):
    """How far two convex rings reach into each other, by separating axes; 0 or less where they are apart."""
    edges = np.concatenate([np.roll(ring, -1, axis=0) - ring for ring in (a, b)])
    normals, lengths = np.stack([edges[:, 1], -edges[:, 0]], axis=1), np.hypot(*edges.T)
    normals = normals[lengths > 1e-9] / lengths[lengths > 1e-9][:, None]
    here, there = normals @ a.T, normals @ b.T
    return np.minimum(here.max(axis=1) - there.min(axis=1), there.max(axis=1) - here.min(axis=1)).min()


def depths(points, ring):
    """How deep points (N, 2) lie inside a convex ring; negative outside."""
    edges = np.roll(ring, -1, axis=0) - ring
    cross = edges[:, 0] * (points[:, None, 1] - ring[:, 1]) - edges[:, 1] * (points[:, None, 0] - ring[:, 0])
    turn = np.sign((edges[:, 0] * np.roll(edges[:, 1], -1) - edges[:, 1] * np.roll(edges[:, 0], -1)).sum())
    return (turn * cross / np.maximum(np.hypot(*edges.T), 1e-9)).min(axis=1)


def along(layout):
    """60 points of each line on screen (S, 60, 2), and how many pitches each is from the line's nearer end (S, 60)."""
    starts, ends = layout.flow[:, :1], layout.flow[:, 1:]
    points = starts + np.linspace(0, 1, 60)[:, None] * (ends - starts)
    away = np.minimum(np.linalg.norm(points - starts, axis=2), np.linalg.norm(points - ends, axis=2))
    return layout.camera.project(points.reshape(-1, 3)).reshape(-1, 60, 2), away


@given(nets, st.sampled_from(SIZES), st.booleans())
@settings(max_examples=80, deadline=None)
@example([8] * 7, (1280, 720), True)
def test_every_cube_shows_its_main_face_and_plates_lines_and_names_are_apart(widths, size, bias):
    tensors, stages = chain(*widths, bias=bias)
    layout = layout_for(tensors, stages, size)
    picker, rng = Picker(layout), np.random.default_rng(len(widths))
    for index, plate in enumerate(layout.plates):
        some = range(plate.size) if plate.size < 30 else rng.choice(plate.size, 30, replace=False)
        for element in map(int, some):
            x, y = layout.camera.project(plate.tops[element])[0]
            hit = picker.pick(layout.camera, (float(x), float(y)))
            assert hit is not None
            assert hit[:2] == (index, element), (plate.name, element, layout.plates[hit.plate].name)
    hulls = [convex_hull(layout.camera.project(plate.corners)) for plate in layout.plates]
    if not len(layout.trays):  # lying cubes hide each other's sides, as in every picture from above
        for first, second in combinations(hulls, 2):
            assert into(first, second) < 1.5
    lines, away = along(layout) if len(layout.flow) else (np.zeros((0, 60, 2)), np.zeros((0, 60)))
    if len(lines) and not len(layout.trays):  # along an edge they may come as near as the side of a cube
        near, lengths = max(3.0, 0.75 * layout.pixels_per_cube()), np.hypot(*(lines[:, -1] - lines[:, 0]).T)
        for ring in hulls:
            covered = (depths(lines.reshape(-1, 2), ring).reshape(away.shape) > near) & (away > 1.3)
            assert (covered.mean(axis=1) * lengths).max() < 10.0
    x0, y0, x1, y1 = layout.rect
    shapes = {t.name: t.shape for t in tensors if t.role == "weight"}
    kinds = {"input": "input", **{s.name: s.kind for s in stages if s.weight is None}}
    labels = FlowLabels(layout, shapes, kinds, layout.camera.project, (x0, y0, x1 - x0, y1 - y0))
    boxes = [box_of(t) for t in [*labels.still(DARK).texts, *labels.moving(DARK, {}, dict.fromkeys(shapes, 0.5)).texts]]
    for left, top, right, bottom in boxes:
        corners = np.array([(left, top), (right, top), (right, bottom), (left, bottom)])
        assert all(into(corners, ring) < 1.0 for ring in hulls)
        assert not ((lines > (left, top)) & (lines < (right, bottom))).all(axis=2).any()
    assert not any(overlap(a, b) for a, b in combinations(boxes, 2))


@pytest.mark.parametrize("turn", [(0, 0), (40, 20), (-60, 5), (90, 0)])
def test_the_middle_of_a_name_is_nearest_to_its_own_plate(turn):
    tensors, stages = chain(12, 64, 64, 64, 64, 3)
    layout, shapes = layout_for(tensors, stages, (1280, 720)), {t.name: t.shape for t in tensors if t.role == "weight"}
    pose = turned(pose_of(layout.camera, layout.bounds.mean(axis=0)), *turn)
    camera, (x0, y0, x1, y1) = camera_of(pose, layout.size, layout.outline), layout.rect
    labels = FlowLabels(layout, shapes, {}, camera.project, (x0, y0, x1 - x0, y1 - y0))
    faces = {p.name: camera.project(p.corners[4:]) for p in layout.plates if p.name in shapes}
    names = [name for name in labels.names if name.text in shapes]
    assert len(names) == len(shapes)
    for name in names:
        left, top, wide, high = name.box
        away = dict(
            zip(faces, apart((left + wide / 2, top + high / 2, 0, 0), np.array([*faces.values()])), strict=True)
        )
        assert min(away, key=away.get) == name.text


@pytest.mark.parametrize("size", [(1280, 720), (640, 360), (1576, 1000)])
@pytest.mark.parametrize("widths", EXAMPLES)
def test_there_are_lines_where_they_have_room(widths, size):
    layout = layout_for(*chain(*widths), size)
    assert len(layout.flow) or layout.pixels_per_cube() < 9.0, "without lines, and yet the cubes are large"
    if len(layout.flow):
        assert np.hypot(*np.diff(along(layout)[0][:, 30], axis=0).T).max() > 3.0
    if widths == [8] * 7:  # into each row, and out of each into the next plate
        assert layout.mode == "mlp"
        assert len(layout.flow) >= 8 * (6 + 5)
