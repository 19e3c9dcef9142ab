"""Camera, orbit and the cube under the pointer: the browser's against the window's, on random cases.

Every test asks the page once for all of its cases.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from scalarviz.run.core.frame import Stage, Tensor
from scalarviz.run.questions.ranges import Range
from scalarviz.run.scene.scene import Group, Placed, Plan
from scalarviz.view.cubes.atlas import Atlas, Sizing
from scalarviz.view.cubes.picking import Picker
from scalarviz.view.cubes.slab import DETAIL_PIXELS, cells_per_pixel, variant_for
from scalarviz.view.space.camera import (
    Pose,
    between,
    camera_of,
    in_perspective,
    parallel,
    pose_of,
    shifted,
    size_of,
    turned,
    zoomed,
)  # fmt: skip
from scalarviz.view.space.layout import Apart, layout_for
from scalarviz.view.space.lying import Turns
from scalarviz.view.space.viewpoint import shift_to, way_back

SIZE = (480, 320)
RECT = (0.0, 0.0, 480.0, 320.0)
CASES = 1000


def chain(*sizes):
    tensors, stages, start = [], [], 0
    for k, (n_in, n_out) in enumerate(pairwise(sizes)):
        weight = Tensor(f"{2 * k}.weight", (n_out, n_in), start)
        bias = Tensor(f"{2 * k}.bias", (n_out,), start + weight.size, "bias")
        start += weight.size + n_out
        tensors += [weight, bias]
        stages += [Stage(str(2 * k), "linear", n_out, weight, bias), Stage(str(2 * k + 1), "tanh", n_out)]
    return tensors, stages


def arrays(*shapes):
    starts = np.cumsum([0, *(int(np.prod(shape)) for shape in shapes)])
    return [Tensor(f"{k}.weight", shape, int(starts[k])) for k, shape in enumerate(shapes)], []


def fork():
    """Two ways that meet again."""
    tensors, stages = chain(3, 4, 3)
    a, b = (replace(stage, sources=("input",)) for stage in (stages[0], stages[0]))
    b = replace(b, name="b", weight=tensors[2], bias=tensors[3], outputs=3)
    return tensors, [a, b, Stage("sum", "cat", 7, sources=("0", "b"))]


def convolution():
    first = Tensor("0.weight", (6, 1, 3, 3), 0)
    last = Tensor("3.weight", (10, 96), first.size)
    stages = [
        Stage("0", "conv2d", 384, first, None, (6, 8, 8), (1, 8, 8)),
        Stage("1", "relu", 384, shape=(6, 8, 8), input_shape=(6, 8, 8)),
        Stage("2", "max_pool2d", 96, shape=(6, 4, 4), input_shape=(6, 8, 8)),
        Stage("3", "linear", 10, last, None, (10,), (96,)),
    ]
    return [first, last], stages


def planned():
    tensors, stages = arrays((16, 8), (8, 16), (12, 8))
    columns = tuple((Placed(tensor.name, "what it is"),) for tensor in tensors)
    return tensors, stages, Plan((Group("all", columns),))


@pytest.fixture(scope="module")
def layouts():
    """One of each kind that the window can draw, by name."""
    made = {
        "one cube": arrays((1, 1)), "few": chain(3, 3), "chain": chain(3, 16, 16, 3), "stack": chain(12, 64, 64, 3),
        "folded": arrays((1, 300), (100,)), "gallery": arrays((40, 30), (7,), (12, 12)), "tiles": convolution(),
        "kernels": arrays((5, 3, 3, 3), (4, 2, 5)), "unequal": arrays((1,), (10,), (40, 3), (1, 6400)),
        "fork": fork(), "many": arrays((1000, 1000)),
    }  # fmt: skip
    found = {name: layout_for(tensors, stages, SIZE, RECT) for name, (tensors, stages) in made.items()}
    tensors, stages, plan = planned()
    found["planned"] = layout_for(tensors, stages, (1280, 720), plan=plan)
    assert found["planned"].blueprint is not None
    found["turned"] = layout_for(*chain(2, 4, 3, 1), (1280, 720), turns=Turns(rows=True))
    assert found["turned"].turns
    found["apart"] = Apart(wide=True).of(found["chain"])
    found["alone"] = Apart(layer="2").of(found["stack"])
    return found


def plates_of(layout):
    """What the browser knows of a layout's plates."""
    return [
        {"name": p.name, "size": p.size, "start": p.start, "cells": list(p.grid.cells), "tile": list(p.grid.tile),
         "folded": p.grid.folded, "period": list(p.grid.period), "strides": list(p.grid.strides),
         "origin": p.origin.tolist(), "axes": p.axes.tolist(), "half": p.half, "depth": p.depth}
        for p in layout.plates
    ]  # fmt: skip


def points_of(layout):
    return np.concatenate([p.corners for p in layout.plates] + list(layout.trays))


def pose_as_json(pose):
    return {"az": pose.azimuth, "el": pose.elevation, "centre": pose.centre.tolist(), "place": pose.place.tolist(),
            "scale": pose.scale, "eye": None if pose.eye is None else pose.eye.tolist()}  # fmt: skip


def poses(layout, rng, count):
    """Turned, shifted, zoomed and taken through all kinds of cameras; some from within the scene."""
    centre = layout.bounds.mean(axis=0)
    fitted = pose_of(layout.camera, centre)
    span = float(np.linalg.norm(np.ptp(points_of(layout), axis=0)))
    for k in range(count):
        pose = turned(fitted, *rng.uniform(-500, 500, 2))
        kind = k % 4
        if kind == 0:
            pose = parallel(pose)
        elif kind == 1:
            pose = in_perspective(pose, float(rng.uniform(0.9, 3.0)) * span)
        elif kind == 2:
            eye = rng.uniform(*layout.bounds)
            yield Pose(pose.azimuth, pose.elevation, eye, np.array(layout.size) / 2, 200.0, np.array([0.0, 0.0, 1.0]))
            continue
        at = tuple(float(x) for x in rng.uniform(0, layout.size))
        yield shifted(zoomed(pose, float(np.exp(rng.uniform(-1, 3))), at), *rng.uniform(-60, 60, 2))


def test_points_are_projected_where_the_window_projects_them(ask, layouts):
    rng, cases = np.random.default_rng(1), []
    for layout in layouts.values():
        for pose in poses(layout, rng, 1 + CASES // len(layouts)):
            points, camera = points_of(layout), camera_of(pose, layout.size, points_of(layout))
            seen = rng.uniform(*layout.bounds, (5, 3))
            w = np.concatenate([seen, np.ones((5, 1))], axis=1) @ camera.matrix[3]
            pixels = camera.project(seen)
            cases.append((pose, layout.size, points, camera, seen, pixels, w))
    assert len(cases) >= CASES
    given = [
        [pose_as_json(pose), list(size), points.tolist(), seen.tolist()] for pose, size, points, _, seen, *_ in cases
    ]
    found = ask(
        "camera.js",
        """cases => cases.map(([pose, size, points, seen]) => {
            const camera = cameraOf(pose, size, points);
            return { pixels: seen.map(p => project(camera, p)), matrix: camera.matrix, columns: [...camera.columns],
                eye: camera.eye, scale: camera.scale, units: seen.map(p => pixelsPerUnit(camera, p)),
                towards: towardsEye(camera, seen[0]) };
        })""",
        given,
    )
    got = {name: np.array([case[name] for case in found]) for name in found[0]}
    cameras = [camera for _, _, _, camera, *_ in cases]
    w, pixels = (np.array([case[k] for case in cases]) for k in (6, 5))
    seen_well = (w > 1e-3 * abs(w).max(axis=1, keepdims=True)) & (np.abs(pixels) < 1e5).all(axis=2)
    assert seen_well.mean() > 0.5
    np.testing.assert_allclose(got["pixels"][seen_well, :2], pixels[seen_well], atol=0.01, rtol=0)
    same(got["pixels"][..., 2], w)
    same(got["matrix"].reshape(-1, 16), np.array([camera.matrix.ravel() for camera in cameras]))
    columns = got["columns"].reshape(-1, 4, 4).swapaxes(1, 2)
    np.testing.assert_array_equal(np.float32(columns), np.float32(got["matrix"]))
    same(got["eye"], np.array([camera.eye for camera in cameras]))
    same(got["scale"][:, None], np.array([[camera.scale] for camera in cameras]))
    units = np.array([camera.pixels_per_unit(seen) for _, _, _, camera, seen, *_ in cases])
    np.testing.assert_allclose(got["units"], units, rtol=1e-6)
    same(got["towards"], np.array([camera.towards_eye(seen[0]) for _, _, _, camera, seen, *_ in cases]))


def same(got, wanted, most=1e-9):
    """Rows of numbers that differ by no more than that share of the largest of their row."""
    np.testing.assert_allclose((got - wanted) / np.maximum(abs(wanted).max(axis=1, keepdims=True), 1.0), 0.0, atol=most)


def test_a_camera_without_points_sees_its_centre(ask):
    pose = Pose(10.0, 20.0, np.array([1.0, 2.0, 3.0]), np.array([50.0, 60.0]), 7.0, None)
    at = ask("camera.js", "pose => project(cameraOf(pose, [480, 320], []), pose.centre)", pose_as_json(pose))
    np.testing.assert_allclose(at, [50, 60, 1])


def test_hands_move_a_pose_as_in_the_window(ask, layouts):
    rng, given, wanted = np.random.default_rng(2), [], []
    for layout in layouts.values():
        all_poses = list(poses(layout, rng, 1 + CASES // len(layouts)))
        for pose, other in zip(all_poses, all_poses[1:] + all_poses[:1], strict=True):
            dx, dy, factor, share = rng.uniform(-900, 900), rng.uniform(-900, 900), rng.uniform(0.2, 5), rng.uniform()
            at, far = rng.uniform(0, 480, 2), rng.uniform(1, 99)
            given.append([pose_as_json(pose), pose_as_json(other), dx, dy, factor, at.tolist(), share, far])
            wanted.append((
                turned(pose, dx, dy), shifted(pose, dx, dy), zoomed(pose, factor, (at[0], at[1])), parallel(pose),
                in_perspective(pose, far), between(pose, other, share), size_of(pose),
            ))  # fmt: skip
    found = ask(
        "orbit.js",
        """cases => cases.map(([pose, other, dx, dy, factor, at, share, far]) => [turned(pose, dx, dy),
            shifted(pose, dx, dy), zoomed(pose, factor, at), parallelPose(pose), perspectivePose(pose, far),
            between(pose, other, share), sizeOf(pose)])""",
        given,
    )
    assert len(found) >= CASES
    same(np.array([flat(case[-1], *case[:-1]) for case in found]),
         np.array([flat(case[-1], *map(pose_as_json, case[:-1])) for case in wanted]))  # fmt: skip


def flat(size, *poses):
    """All numbers of some poses in a row; an eye that is not there is far from any other."""
    row = [size]
    for pose in poses:
        row += [pose["az"], pose["el"], *pose["centre"], *pose["place"], pose["scale"], *(pose["eye"] or [1e6] * 3)]
    return row


def test_a_pose_of_another_size_shows_the_same(ask, layouts):
    """Every point moves by the growth, from the middle of the one picture to that of the other."""
    layout = layouts["chain"]
    pose = pose_of(layout.camera, layout.bounds.mean(axis=0))
    before, after = ask(
        "camera.js orbit.js",
        """([pose, points]) => [[480, 320], [900, 500]].map(size =>
            points.map(p => project(cameraOf(resizedPose(pose, [480, 320], size), size, points), p).slice(0, 2)))""",
        [pose_as_json(pose), points_of(layout).tolist()],
    )
    np.testing.assert_allclose(np.array(before), layout.camera.project(points_of(layout)), atol=1e-6)
    np.testing.assert_allclose((np.array(after) - [450, 250]), 500 / 320 * (np.array(before) - [240, 160]), atol=1e-6)


PICK = """groups => groups.map(({ plates, points, size, cases, sizing, values, range }) => {
    const shares = sizing && ((plate, element) => plates[plate].start < 0 ? 1
        : shareOf(sizing, range, values[plates[plate].start + element], 0));
    return cases.map(([pose, density, pixels]) => {
        const camera = cameraOf(pose, size, points);
        const drawn = plates.map(plate =>
            [cellsPerPixel(plate, camera, density), variantFor(plate, camera, density, 6)]);
        const hits = pixels.map(at => pickCube(plates, camera, at, density, shares));
        return [hits.map(hit => hit && [hit.plate, hit.element, hit.flat]), drawn];
    });
})"""


def picked_so(layouts, rng, sizing=None, each=8, pixels=20):
    """Cases for the page, and what the window picks."""
    groups, wanted = [], []
    for layout in layouts.values():
        count = max(p.start + p.size for p in layout.plates if p.start >= 0)
        values = np.float32(rng.normal(0, 0.5, count))
        chosen, atlas, picker = Range.symmetric(1.0), Atlas(layout.plates), Picker(layout)
        atlas.set_flat(values)

        def shares(index, element, layout=layout, atlas=atlas, chosen=chosen):
            plate = layout.plates[index]
            return 1.0 if plate.start < 0 else sizing.share_of(atlas, atlas.span(plate).start + element, chosen)

        cases = []
        for pose in poses(layout, rng, each):
            camera, density = camera_of(pose, layout.size, points_of(layout)), float(rng.choice([1.0, 2.0]))
            spots = rng.uniform(0, layout.size, (pixels, 2))
            aim = camera.project(rng.uniform(*layout.bounds, (pixels, 3)))  # at what there is to be seen
            spots[::2] = np.where(np.isfinite(aim[::2]), aim[::2], spots[::2])
            cases.append([pose_as_json(pose), density, spots.tolist()])
            hits = [picker.pick(camera, (x, y), density, shares if sizing else None) for x, y in spots]
            drawn = [(cells_per_pixel(p, camera, density), variant_for(p, camera, density)) for p in layout.plates]
            wanted.append(([None if hit is None else list(hit) for hit in hits], drawn))
        groups.append({
            "plates": plates_of(layout), "points": points_of(layout).tolist(), "size": list(layout.size),
            "cases": cases, "sizing": sizing and {"byValue": sizing.by_value, "threshold": sizing.threshold},
            "values": values.tolist() if sizing else [], "range": {"low": -1, "high": 1, "scale": "linear"},
        })  # fmt: skip
    return groups, wanted


def test_the_cube_under_the_pointer_is_the_windows(ask, layouts):
    assert DETAIL_PIXELS == 6
    groups, wanted = picked_so(layouts, np.random.default_rng(3))
    found = [case for group in ask("picking.js ranges.js", PICK, groups) for case in group]
    asked, hits, kinds = 0, 0, set()
    for (cubes, drawn), (got, said) in zip(wanted, found, strict=True):
        assert got == cubes
        asked, hits = asked + len(cubes), hits + sum(cube is not None for cube in cubes)
        for (dense, variant), (number, answer) in zip(drawn, said, strict=True):
            assert number == pytest.approx(dense, rel=1e-9)
            assert answer == {"detail": variant.detail, "samples": variant.samples, "means": variant.means}
            kinds.add((variant.detail, variant.samples, variant.means))
    assert asked >= 2 * CASES
    assert hits > asked / 4
    assert {(True, 0, False), (False, 0, False), (False, 2, False), (False, 4, True)} <= kinds


@pytest.mark.parametrize(
    "sizing", [Sizing(True), Sizing(False, 0.4), Sizing(True, 0.6)], ids=["sized", "hidden", "both"]
)
def test_cubes_of_different_size_too(ask, layouts, sizing):
    small = {name: layout for name, layout in layouts.items() if name not in ("many", "one cube")}
    groups, wanted = picked_so(small, np.random.default_rng(4), sizing, each=4)
    found = [case for group in ask("picking.js ranges.js", PICK, groups) for case in group]
    assert [got for got, _ in found] == [cubes for cubes, _ in wanted]
    assert sum(cube is not None for cubes, _ in wanted for cube in cubes) > 100


def test_the_middle_of_every_cube_belongs_to_it(ask, layouts):
    """From straight before its main face, in each kind of layout: it needs no other picker to compare with."""
    rng, groups, wanted = np.random.default_rng(5), [], []
    for layout in layouts.values():
        cases = []
        for index, plate in enumerate(layout.plates):
            for element in rng.integers(0, plate.size, 6):
                middle, outward = plate.centre_of(int(element)) + plate.depth * plate.axes[2], plate.axes[2]
                azimuth = float(np.degrees(np.arctan2(outward[0], -outward[1])))
                elevation = float(np.clip(np.degrees(np.arcsin(outward[2] / plate.pitch)), -89, 89))
                eye = np.array([0.0, 0.0, 0.4 * plate.pitch])
                pose = Pose(azimuth, elevation, middle, np.array(layout.size) / 2, 40.0, eye)
                cases.append([pose_as_json(pose), 1.0, [[layout.size[0] / 2, layout.size[1] / 2]]])
                flat = plate.start + int(element) if plate.start >= 0 else None
                wanted.append([[index, int(element), flat]])
        groups.append({"plates": plates_of(layout), "points": points_of(layout).tolist(), "size": list(layout.size),
                       "cases": cases, "sizing": None})  # fmt: skip
    found = [case[0] for group in ask("picking.js ranges.js", PICK, groups) for case in group]
    assert found == wanted


def test_the_way_back_is_the_windows(ask, layouts):
    """Pictures that hands have moved far away come back by the same shift."""
    rng, given, wanted = np.random.default_rng(6), [], []
    for layout in layouts.values():
        boxes = [plate.corners for plate in layout.plates]
        for pose in poses(layout, rng, 40):
            away = shifted(pose, *rng.uniform(-2000, 2000, 2))
            camera = camera_of(away, layout.size, points_of(layout))
            given.append([pose_as_json(away), list(layout.size), points_of(layout).tolist(),
                          [box.tolist() for box in boxes], list(layout.rect)])  # fmt: skip
            wanted.append(way_back(camera, boxes, layout.rect))
    found = ask(
        "leash.js",
        """cases => cases.map(([pose, size, points, boxes, rect]) => {
            const camera = cameraOf(pose, size, points), shift = wayBack(camera, boxes, rect);
            const back = { ...pose, place: [pose.place[0] + shift[0], pose.place[1] + shift[1]] };
            return [shift, wayBack(cameraOf(back, size, points), boxes, rect)];
        })""",
        given,
    )
    shifts = np.array([shift for shift, _ in found])
    assert 0.2 < (shifts != 0).any(axis=1).mean() < 1
    np.testing.assert_allclose(shifts, wanted, atol=1e-6, rtol=1e-9)
    np.testing.assert_allclose([again for _, again in found], 0.0, atol=1e-6)


def test_hulls_meet_by_the_shortest_way(ask):
    """Points on a grid: many lie on one line, some on one place."""
    rng = np.random.default_rng(7)
    cases = [[rng.integers(-9, 10, (int(rng.integers(1, 9)), 2)).tolist() for _ in range(2)] for _ in range(CASES)]
    found = ask("leash.js", "cases => cases.map(([a, b]) => shiftTo(a, b))", cases)
    wanted = [shift_to(np.array(a, float), np.array(b, float)) for a, b in cases]
    # another shift may be as short where two sides are as near
    np.testing.assert_allclose(np.hypot(*np.array(found).T), np.hypot(*np.array(wanted).T), atol=1e-9)
