"""The colour cube turns below the pointer: what is in front is seen, found and hovered, and it stays in its place."""

from __future__ import annotations

import numpy as np
import pytest

from scalarviz import Run, nn, optim
from scalarviz.run import Scene
from scalarviz.run.panels import ColourCube
from scalarviz.view.out.offscreen import offscreen
from scalarviz.view.panels.colour_cube import FITTED, CubePlaces, cube_boxes, turned
from scalarviz.view.watch.live import LiveView

pytestmark = pytest.mark.gl

SIDE = np.linspace(0, 1, 8)
GRID = np.stack(np.meshgrid(SIDE, SIDE, SIDE, indexing="ij"), -1).reshape(-1, 3)
BOX = (972.0, 180.0, 146.0, 144.0)
TURNS = [(90, 0), (-225, 30), (450, 0), (0, 150), (0, -400), (137, -90)]


@pytest.fixture
def view():
    net = nn.Sequential(nn.Linear(3, 3, seed=1), nn.Sigmoid())
    run = Run(net, nn.MSELoss(), optim.SGD(net.parameters(), lr=0.5), (GRID, 1 - GRID), engine="numpy")
    with offscreen():
        made = LiveView(Scene("test", run, panels=(ColourCube(GRID, 1 - GRID),)), (1280, 720), playing=False)
        made.tick(0.0)
    yield made
    made.close()


def middle_of(view, number):
    x, y, width, height = cube_boxes(view.bench.places.panels["colours"])[number]
    return x + width / 2, y + height / 2


def drag(view, start, by):
    with offscreen():
        view.press(start)
        view.move((start[0] + by[0] / 2, start[1] + by[1] / 2))
        view.move((start[0] + by[0], start[1] + by[1]))
        view.release((start[0] + by[0], start[1] + by[1]))
        view.tick(0.0)


def picture(view):
    view.bench.hover(None)
    return offscreen().render(view.draw, (1280, 720)).astype(int)


@pytest.mark.parametrize("drag", TURNS)
def test_discs_in_front_hide_those_behind_from_every_side(drag):
    places = CubePlaces(GRID, BOX, turned(FITTED, *drag))
    eye = places._camera.eye[:3]
    where = np.stack([GRID[:, 1], -GRID[:, 0], -GRID[:, 2]], axis=1)
    away = np.linalg.norm(where - eye, axis=1)
    assert np.argmin(away) in places.visible
    flat, found = places._camera.project(where), 0
    for point in np.random.default_rng(1).uniform(flat.min(axis=0), flat.max(axis=0), (1500, 2)):
        gaps = np.linalg.norm(flat - point, axis=1) - places.diameter / 2
        if np.abs(gaps).min() < 0.3:
            continue  # at an edge
        under = np.flatnonzero(gaps < 0)
        hit = places.disc_at(*point)
        assert (hit is None) == (len(under) == 0)
        if hit is not None:
            found += 1
            assert places.visible[hit] == under[np.argmin(away[under])]
    assert found > 10
    x, y, width, height = BOX
    low, high = places.centres.min(axis=0), places.centres.max(axis=0)
    assert np.all(low >= (x - 1, y - 1))
    assert np.all(high <= (x + width + 1, y + height + 1))


def test_a_turned_cube_is_no_larger_than_the_fitted_one():
    fitted = CubePlaces(GRID, BOX)._camera.scale
    for azimuth in range(0, 360, 15):
        for elevation in (-89, -40, 0, 26, 60, 89):
            assert CubePlaces(GRID, BOX, (azimuth, elevation))._camera.scale <= fitted * (1 + 1e-9)


@pytest.mark.parametrize("number", [0, 1])
def test_a_drag_on_a_colour_cube_turns_both_and_no_camera(view, number):
    camera, before, steps = view.bench.camera, picture(view), view.run.steps
    at = middle_of(view, number)
    drag(view, at, (120.0, 20.0))
    after = picture(view)
    assert view.bench.camera is camera
    assert view.bench.side.drawer(ColourCube).marked is None  # a drag is no click
    assert view.run.steps == steps
    moved = (np.abs(after - before).max(axis=2) > 20).any(axis=0)
    for k in (0, 1):
        x, _, width, _ = cube_boxes(view.bench.places.panels["colours"])[k]
        assert moved[int(x) : int(x + width)].mean() > 0.3
    assert not moved[: int(view.bench.places.panels["colours"][0]) - 10].any()
    view.key("f")
    with offscreen():
        view.tick(1.0)
    assert np.array_equal(picture(view), before)


def test_colours_are_found_where_they_are_seen_after_a_turn(view):
    drag(view, middle_of(view, 0), (-300.0, 60.0))
    seen = picture(view)
    found = 0
    x, y, width, height = cube_boxes(view.bench.places.panels["colours"])[1]
    for px, py in np.random.default_rng(0).uniform((x, y), (x + width, y + height), (400, 2)):
        at = (float(int(px)) + 0.5, float(int(py)) + 0.5)
        beside = ((0, 0), (2, 0), (-2, 0), (0, 2), (0, -2))
        hits = {view.bench.side.drawer(ColourCube).under((at[0] + a, at[1] + b)) for a, b in beside}
        if len(hits) == 1 and (hit := hits.pop()) is not None:
            found += 1
            drawn, colour = seen[int(at[1]), int(at[0])] / 255, np.array(hit.target)
            assert np.all(drawn <= colour + 0.02)
            assert np.all(drawn >= 0.8 * colour - 0.02)
    assert found > 40


def test_a_drag_on_the_scene_turns_the_scene_alone(view):
    before, places = view.bench.camera.azimuth, view.bench.side.drawer(ColourCube)._cubes["source"]
    drag(view, (400.0, 300.0), (80.0, 0.0))
    assert view.bench.camera.azimuth != before
    assert view.bench.side.drawer(ColourCube)._cubes["source"] is places


def test_a_drag_that_began_on_the_scene_goes_on_over_the_cube(view):
    places = view.bench.side.drawer(ColourCube)._cubes["source"]
    end = middle_of(view, 0)
    drag(view, (600.0, 300.0), (end[0] - 600.0, end[1] - 300.0))
    assert view.bench.side.drawer(ColourCube)._cubes["source"] is places


@pytest.mark.parametrize("levels", [2, 3, 4, 5, 6, 8, 10, 16])
def test_no_disc_is_cut_at_the_edge_of_the_panel(levels):
    """A cell cuts the panel out of a picture with four pixels around it."""
    steps = np.linspace(0, 1, levels)
    colours = np.stack(np.meshgrid(steps, steps, steps), axis=-1).reshape(-1, 3)
    for box in cube_boxes((100.0, 50.0, 312.0, 166.0)):
        places = CubePlaces(colours, box)
        x, y, width, height = box
        low = (places.centres - places.diameter / 2).min(axis=0)
        high = (places.centres + places.diameter / 2).max(axis=0)
        assert (low >= [x - 4, y - 4]).all()
        assert (high <= [x + width + 4, y + height + 4]).all()
