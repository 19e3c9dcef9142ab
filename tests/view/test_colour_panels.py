"""Panels of colours: a picture that a network paints, pixel by pixel, and the colour cube that turns."""

from __future__ import annotations

import math

import numpy as np
import pytest

import scalarviz as sv
from kit.benches import bench_of, pixels_of, said, words
from kit.networks import mlp
from kit.refusals import refusals
from kit.windows import live_hand, make_colour_scene
from scalarviz import nn, optim
from scalarviz.errors import InputError, ScalarvizError
from scalarviz.run import Moment, Scene
from scalarviz.run.panels import ColourCube, Painting, psnr
from scalarviz.view.panels import pace
from scalarviz.view.panels.colour_cube import cube_boxes
from scalarviz.view.panels.image import BUDGET, FILM, LADDER, STILL, image_boxes
from scalarviz.view.panels.pace import Grid

WANTED = np.random.default_rng(8).random((30, 40, 3)).astype(np.float32)
Y, X = np.mgrid[:30, :40]
PLACES = np.stack([(X + 0.5).ravel() / 40, (Y + 0.5).ravel() / 30], axis=1)


def exact(down, across):
    """A network that has learnt `WANTED` by heart."""
    return WANTED[np.ix_((down * 30).astype(int), (across * 40).astype(int))].reshape(-1, 3)


def trained():
    net = mlp(2, 4, 3)(nn)
    net.initialize(seed=1)
    rule, data = optim.Adam(net.parameters(), lr=0.01), (PLACES, WANTED.reshape(-1, 3))
    run = sv.Run(net, nn.MSELoss(), rule, data=data, batch_size=64, engine="numpy")
    run.step(5)
    return run


def scene_of(run, panel):
    return Scene("painting", run, input_names=("x", "y"), panels=(panel,))


@pytest.mark.parametrize(("seconds", "longest"), [(None, STILL), (1 / 30, FILM)])
def test_films_and_stills_are_always_painted_at_the_same_pixels(seconds, longest):
    big = np.zeros((900, 1200, 3), np.float32)
    bench = bench_of(scene_of(trained(), Painting(lambda _: big, (900, 1200))))
    drawer = bench.side.drawers["painting"]
    for _ in range(2):
        drawer.look(Moment(bench.subject.frame(), bench.subject.source), seconds)
        assert drawer.grid.numbers.shape == (0.75 * longest, longest, 3)
        assert not drawer.moving
        bench.subject.source.run.step()


def test_at_rest_all_places_are_worked_out_and_a_new_frame_begins_anew():
    grid, asked = Grid(True, (8, 12), BUDGET), []

    def ask(down, across):
        asked.append(len(down) * len(across))
        return exact(down, across)

    assert grid.update("one", 0.02, (30, 40), ask)
    assert (grid.numbers.shape, grid.unfinished) == ((6, 8, 3), True)
    while grid.unfinished:
        grid.update("one", 0.02, (30, 40), ask)
    np.testing.assert_array_equal(grid.numbers, WANTED)
    assert (sum(asked[1:]), grid.is_complete) == (1200, True)
    count = len(asked)
    assert not grid.update("one", 0.02, (30, 40), ask)
    assert len(asked) == count
    assert grid.update("two", 0.02, (30, 40), ask)
    assert grid.unfinished


@pytest.mark.parametrize("cost", [1e-7, 1e-6, 5e-6, 4e-5])
def test_while_frames_change_a_picture_is_painted_with_what_a_frame_has(cost, monkeypatch):
    """Counted over passes, by a clock that goes on by what places cost: no machine is measured."""
    clock, grid, size = [0.0], Grid(True, LADDER, BUDGET), (240, 304)
    monkeypatch.setattr(pace, "perf_counter", lambda: clock[0])

    def ask(down, across):
        clock[0] += cost * len(down) * len(across)
        return np.zeros((len(down) * len(across), 3))

    counts = []
    for frame in range(60):
        grid.update(frame, 1 / 30, size, ask)
        counts.append(grid.numbers[..., 0].size)
    least = min(0.3 * BUDGET / cost, 240 * 304)
    assert all(least <= count <= max(BUDGET / cost, 108) for count in counts[30:]), counts


BAD = [{"wanted": 3}, {"size": 3}, {"size": (0, 4)}, {"gain": 0}, {"gain": math.nan}, {"gain": "x"}, {"other": 1},
       {"place": "left"}]  # fmt: skip


@refusals(
    {
        **{str(bad): (lambda bad=bad: Painting(**{"wanted": lambda moment: WANTED, "size": (30, 40), **bad}),
                      ScalarvizError, "Painting") for bad in BAD},
        "another shape": (lambda: psnr(WANTED, WANTED[:2]), InputError, "psnr"),
        "no pixels": (lambda: psnr(np.zeros((0, 3)), np.zeros((0, 3))), InputError, "psnr"),
    }
)  # fmt: skip
def test_panels_that_cannot_be(refusal):
    refusal.check()


def test_network_target_and_five_times_the_error_are_drawn_and_a_click_shows_a_pixels_way_and_no_bit_changes():
    run, twin = trained(), trained()
    bench = bench_of(scene_of(run, Painting(lambda moment: WANTED, (30, 40))))
    made, drawer = run.predict(PLACES).reshape(30, 40, 3), bench.side.drawers["painting"]
    shown = np.clip(made, 0, 1), WANTED, np.clip(0.5 + 10 * (made - WANTED) / 2, 0, 1)
    boxes = image_boxes(drawer.box, 4 / 3)
    (sketch,) = bench.side.drawn("painting")
    assert [item.rect for item in sketch.images] == list(boxes)
    for item, pixels in zip(sketch.images, shown, strict=True):
        np.testing.assert_allclose(item.pixels / 255, pixels, atol=0.005)
    ratio = f"{10 * math.log10(1 / ((made - WANTED) ** 2).mean()):.1f} dB"
    assert drawer.headline.value == ratio
    assert {ratio, "all 1,200 pixels"} <= set(said(bench))

    bench.side.shared.hints = True
    x, y, wide, tall = boxes[1]
    at = x + wide * 0.51, y + tall * 0.26
    assert drawer.under(at) == (7, 20)
    assert drawer.under((x - 50, y)) is None
    bench.hover(at)
    assert any("row 7, column 20" in text for text in words(bench.side.label(bench.subject.frame(), (1280, 720))))
    assert drawer.click(at)
    np.testing.assert_allclose(bench.subject.probe, [20.5 / 40, 7.5 / 30], atol=1e-6)
    np.testing.assert_allclose(bench.subject.target, WANTED[7, 20], atol=1e-6)
    for _ in range(6):
        run.step(3)
        bench.update(bench.subject.frame(), "", 0.03)
        twin.step(3)
    np.testing.assert_array_equal(run.values, twin.values)
    assert psnr(made, made) == math.inf
    assert math.isnan(psnr(made * math.nan, made))


def grid(levels):
    steps = np.linspace(0, 1, levels)
    return np.stack(np.meshgrid(steps, steps, steps, indexing="ij"), -1).reshape(-1, 3)


GRID = grid(8)
TURNS = [(-300, 60), (90, 10), (-225, 30), (10, 150), (10, -400), (137, -90)]


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
@pytest.mark.parametrize("drag", TURNS)
def test_colours_are_found_where_they_are_seen_after_any_turn(hand, drag):
    hand.drag(hand.middle(cubes(hand)[0]), drag)
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
