"""The colour cube turns below the pointer: what is in front is seen and found, and it stays in its place."""

from __future__ import annotations

import numpy as np
import pytest

from kit.benches import pixels_of
from kit.windows import live_hand, make_colour_scene
from scalarviz.run.panels import ColourCube
from scalarviz.view.ink.maps import displayed
from scalarviz.view.panels.colour_cube import FITTED, CubePlaces, cube_boxes
from scalarviz.view.space.camera import turn_by


def grid(levels):
    steps = np.linspace(0, 1, levels)
    return np.stack(np.meshgrid(steps, steps, steps, indexing="ij"), -1).reshape(-1, 3)


GRID = grid(8)
BOX = (972.0, 180.0, 146.0, 144.0)
TURNS = [(0, 0), (90, 0), (-225, 30), (0, 150), (0, -400), (137, -90)]


@pytest.mark.parametrize("drag", TURNS)
def test_discs_in_front_hide_those_behind_from_every_side(drag):
    places = CubePlaces(GRID, BOX, turn_by(*FITTED, *drag))
    assert places._camera.scale <= CubePlaces(GRID, BOX)._camera.scale * (1 + 1e-9)
    where = np.stack([GRID[:, 1], -GRID[:, 0], -GRID[:, 2]], axis=1)
    away = np.linalg.norm(where - places._camera.eye[:3], axis=1)
    assert np.argmin(away) in places.visible
    flat, found = places._camera.project(where), 0
    for point in np.random.default_rng(1).uniform(flat.min(axis=0), flat.max(axis=0), (1500, 2)):
        gaps = np.linalg.norm(flat - point, axis=1) - places.diameter / 2
        under, hit = np.flatnonzero(gaps < 0), places.disc_at(*point)
        if np.abs(gaps).min() < 0.3:
            continue  # at an edge
        assert (hit is None) == (len(under) == 0)
        if hit is not None:
            found += 1
            assert places.visible[hit] == under[np.argmin(away[under])]
    assert found > 10
    low, high = places.centres.min(axis=0), places.centres.max(axis=0)
    assert (low >= np.array(BOX[:2]) - 1).all()
    assert (high <= np.add(BOX[:2], BOX[2:]) + 1).all()


def test_outputs_that_are_no_colours_are_shown_all_the_same():
    shown = displayed([[np.nan, np.inf, -np.inf], [2.0, -1.0, 0.5]])
    assert shown.tolist() == [[0.0, 1.0, 0.0], [1.0, 0.0, 0.5]]
    assert displayed([[0.25]]).tolist() == [[0.25] * 3]


@pytest.fixture
def hand():
    with live_hand(make_colour_scene(panels=(ColourCube(GRID, 1 - GRID),))) as made:
        yield made


def cubes(hand):
    return cube_boxes(hand.bench.places.panels["colours"])


def picture(hand):
    hand.bench.hover(None)
    hand.settled()
    return pixels_of(hand.bench)


@pytest.mark.gl
@pytest.mark.parametrize("number", [0, 1])
def test_a_drag_on_a_colour_cube_turns_both_and_no_camera(hand, number):
    camera, before = hand.bench.camera, picture(hand)
    hand.drag(hand.middle(cubes(hand)[number]), (120, 20))
    moved = (np.abs(picture(hand) - before).max(axis=2) > 20).any(axis=0)
    assert hand.bench.camera is camera
    assert hand.drawer(ColourCube).marked is None  # a drag is no click
    for x, _, width, _ in cubes(hand):
        assert moved[int(x) : int(x + width)].mean() > 0.3
    assert not moved[: int(hand.bench.places.panels["colours"][0]) - 10].any()
    hand.do("fit")
    assert np.array_equal(picture(hand), before)


@pytest.mark.gl
def test_colours_are_found_where_they_are_seen_after_a_turn(hand):
    hand.drag(hand.middle(cubes(hand)[0]), (-300, 60))
    seen, found, under = picture(hand), 0, hand.drawer(ColourCube).under
    x, y, width, height = cubes(hand)[1]
    for at in np.random.default_rng(0).uniform((x, y), (x + width, y + height), (400, 2)).astype(int) + 0.5:
        hits = {under((at[0] + a, at[1] + b)) for a, b in ((0, 0), (2, 0), (-2, 0), (0, 2), (0, -2))}
        if len(hits) == 1 and (hit := hits.pop()) is not None:
            found += 1
            drawn, colour = seen[int(at[1]), int(at[0])] / 255, np.array(hit.target)
            assert (drawn <= colour + 0.02).all()
            assert (drawn >= 0.8 * colour - 0.02).all()
    assert found > 40
