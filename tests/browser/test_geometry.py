"""Camera, orbit and the cube under the pointer: the browser's against the window's, on random cases.

Every test asks the page once for all of its cases.
"""

from __future__ import annotations

import itertools
import json
import re
import zlib

import numpy as np
import pytest
from scalarviz.scenes import rgb

import scalarviz as sv
from kit.plates import arrays, chain
from scalarviz.run.questions.ranges import Range
from scalarviz.view.cubes.atlas import NOT_COMPUTED, Atlas, Sizing
from scalarviz.view.cubes.picking import Picker
from scalarviz.view.cubes.slab import DETAIL_PIXELS, cells_per_pixel, variant_for
from scalarviz.view.page import scripts as files
from scalarviz.view.page.document import document_of, flags_of, layout_of, texels_of
from scalarviz.view.space.camera import (
    Pose,
    between,
    camera_of,
    in_perspective,
    parallel,
    pose_of,
    shift_into_view,
    shifted,
    size_of,
    turned,
    zoomed,
)
from scalarviz.view.space.chain import Turns
from scalarviz.view.space.layout import Apart, layout_for
from scalarviz.view.workbench import Workbench

from .players import pose_as_json, scene

SIZE = (480, 320)
RECT = (0.0, 0.0, 480.0, 320.0)
CASES = 1000


@pytest.fixture(scope="module")
def layouts():
    """One of each kind that the window can draw, by name."""
    made = {
        "one cube": arrays((1, 1)), "few": chain(3, 3), "chain": chain(3, 16, 16, 3), "stack": chain(12, 64, 64, 3),
        "folded": arrays((1, 300), (100,)), "gallery": arrays((40, 30), (7,), (12, 12)),
        "kernels": arrays((5, 3, 3, 3), (4, 2, 5)), "unequal": arrays((1,), (10,), (40, 3), (1, 6400)),
        "many": arrays((1000, 1000)),
    }  # fmt: skip
    found = {name: layout_for(tensors, stages, SIZE, RECT) for name, (tensors, stages) in made.items()}
    for name, one in (("tiles", scene("digits", 0)), ("planned", scene("microgpt", 0, embd=8, heads=2))):
        found[name] = Workbench(one).layout
    assert found["planned"].blueprint is not None
    found["turned"] = layout_for(*chain(2, 4, 3, 1), (1280, 720), turns=Turns(rows=True))
    assert found["turned"].turns
    found["apart"] = Apart(wide=True).apply_to(found["chain"])
    found["alone"] = Apart(layer="2").apply_to(found["stack"])
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


def test_hands_move_a_pose_as_in_the_window(ask, layouts):
    rng, given, wanted = np.random.default_rng(2), [], []
    for layout in layouts.values():
        all_poses = list(poses(layout, rng, 1 + CASES // len(layouts)))
        for pose, after in zip(all_poses, all_poses[1:] + all_poses[:1], strict=True):
            dx, dy, factor, share = rng.uniform(-900, 900), rng.uniform(-900, 900), rng.uniform(0.2, 5), rng.uniform()
            at, other = rng.uniform(0, 480, 2), after if (after.eye is None) == (pose.eye is None) else pose
            given.append([pose_as_json(pose), pose_as_json(other), dx, dy, factor, at.tolist(), share])
            wanted.append((
                turned(pose, dx, dy), shifted(pose, dx, dy), zoomed(pose, factor, (at[0], at[1])),
                between(pose, other, share), size_of(pose),
            ))  # fmt: skip
    found = ask(
        "camera.js",
        """cases => cases.map(([pose, other, dx, dy, factor, at, share]) => [turned(pose, dx, dy),
            shifted(pose, dx, dy), zoomed(pose, factor, at), between(pose, other, share), sizeOf(pose)])""",
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


PICK = """groups => groups.map(({ plates, points, size, cases, sizing, values, range }) => {
    const placeOf = value => Math.abs(2 * Math.min(Math.max(unitOf(range, value), 0), 1) - 1);
    const shareOf = place => place < sizing.threshold ? 0 : sizing.byValue ? Math.max(Math.sqrt(place), 0.1) : 1;
    const shares = sizing && ((plate, element) => plates[plate].start < 0 ? 1
        : shareOf(placeOf(values[plates[plate].start + element])));
    return cases.map(([pose, density, pixels]) => {
        const camera = cameraOf(pose, size, points);
        const drawn = plates.map(plate =>
            [cellsPerPixel(plate, camera, density), variantFor(plate, camera, density, 6)]);
        const hits = pixels.map(at => pickCube(plates, camera, at, density, shares));
        return [hits.map(hit => hit && [hit.plate, hit.element, hit.flat]), drawn];
    });
})"""


SIZED = (None, Sizing(True), Sizing(False, 0.4), Sizing(True, 0.6))


def picked_so(layouts, rng, pixels=20):
    """Cases for the page, cubes all alike and of different size, and what the window picks."""
    groups, wanted = [], []
    for (name, layout), sizing in itertools.product(layouts.items(), SIZED):
        if sizing and name in ("many", "one cube"):
            continue
        count = max(p.start + p.size for p in layout.plates if p.start >= 0)
        values = np.float32(rng.normal(0, 0.5, count))
        chosen, atlas, picker = Range.symmetric(1.0), Atlas(layout.plates), Picker(layout)
        atlas.set_flat(values)

        def shares(index, element, layout=layout, atlas=atlas, chosen=chosen, sizing=sizing):
            plate = layout.plates[index]
            return 1.0 if plate.start < 0 else sizing.share_of(atlas, atlas.span(plate).start + element, chosen)

        cases = []
        for pose in poses(layout, rng, 4 if sizing else 8):
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
    asked, hits, kinds = 0, 0, set()
    found = [case for group in ask("picking.js ranges.js", PICK, groups) for case in group]
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
            wanted.append(shift_into_view(camera, boxes, layout.rect))
    found = ask(
        "viewpoint.js",
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


# ---- What a page is made of: plain data, and little of it; scripts of one scope; a browser that sees what is forbidden


def document(thing):
    """The data of its picture."""
    bench = Workbench(thing)
    return document_of(bench.subject, layout_of(bench))


def test_it_is_plain_data_and_small():
    scene = rgb.build(rgb.Options(engine="numpy"))
    text = json.dumps(document(scene), separators=(",", ":"))
    assert json.loads(text) == document(scene)
    assert len(text) < 26_000
    assert len(zlib.compress(text.encode(), 9)) < 8_700


def test_a_million_weights_take_no_more():
    few, many = (document({"a": np.zeros((side, side), np.float32)}) for side in (10, 1000))
    assert len(json.dumps(many)) < len(json.dumps(few)) + 100
    told = {"means": "{0}, {1} of a", "along": [[["row ", 1, 1000]], [["column ", 1, 1000]]]}
    assert many["tensors"] == [{"name": "a", "shape": [1000, 1000], "start": 0, "role": "weight", **told}]


def test_what_nobody_computed_and_what_no_float32_holds():
    bench = Workbench([sv.Weight(1e300, name="w"), sv.Weight(np.inf, name="v")])
    frame, told = bench.subject.frame(), document_of(bench.subject, layout_of(bench))
    assert flags_of(frame, told).tolist() == [NOT_COMPUTED, NOT_COMPUTED]
    largest = float(np.finfo(np.float32).max)
    assert texels_of(frame, told).tolist() == [largest, np.inf]


def test_every_file_is_short_ends_no_script_and_imports_what_the_other_exports():
    for name in files.script_names():
        text = files.script(name)
        assert len(text.splitlines()) <= 400, name
        assert "</script" not in text.lower(), name  # it would end an inline script
        assert "<!--" not in text, name
        for source, wanted in files.imports_of(text).items():
            for word in wanted:
                exported = rf"^export (?:async )?(?:function|class|const|let) {word}\b"
                assert re.search(exported, files.script(source), re.MULTILINE), (name, word, source)


def test_all_of_them_together_are_one_module(page):
    """They share one scope: a browser refuses a module in which a name stands twice, or that is no JavaScript."""
    page.set_content("<!doctype html><title>x</title>")
    loaded = """text => import(URL.createObjectURL(new Blob([text], { type: 'text/javascript' })))
        .then(() => '', error => String(error))"""
    assert page.evaluate(loaded, files.joined(*files.script_names())) == ""
    assert "already been declared" in page.evaluate(loaded, "function a() {}\nfunction a() {}\n")


def test_errors_and_requests_are_seen_but_not_the_page_itself(page, complaints, tmp_path):
    path = tmp_path / "page.html"
    path.write_text("<!doctype html><title>one</title>", encoding="utf-8")
    page.goto(path.as_uri())
    assert complaints == []
    (tmp_path / "other.js").write_text("1", encoding="utf-8")
    path.write_text('''<!doctype html><script src="other.js"></script><img src="http://127.0.0.1:9/picture.png">
        <img src="data:image/gif;base64,R0lGODlhAQABAAAAACw=">
        <script>console.error("loud"); console.warn("quiet");
        setTimeout(() => { throw new Error("thrown"); })</script>''', encoding="utf-8")  # fmt: skip
    with page.expect_event("pageerror"):
        page.goto(path.as_uri())
    page.wait_for_function("document.images[0].complete")
    said = "\n".join(complaints)
    for words in ("request: http://127.0.0.1:9/picture.png", "other.js", "console: loud", "error: thrown"):
        assert words in said
    assert "quiet" not in said
    assert "data:" not in said
    complaints.clear()
