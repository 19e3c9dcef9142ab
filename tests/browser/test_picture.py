"""The picture in a browser, beside what the window draws of the same numbers: 99 % of pixels within 2 of 255."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import scalarviz as sv
from scalarviz.run.core.frame import Frame
from scalarviz.run.sources.played import RecordedSource
from scalarviz.view.cubes.atlas import Sizing
from scalarviz.view.ink.theme import DARK
from scalarviz.view.page.document import laid_out
from scalarviz.view.shown.subject import subject_of
from scalarviz.view.space.camera import camera_of, in_perspective, parallel, pose_of, turned

from .players import SIZE, Pages, drawn_same, same, scene, window

RNG = np.random.default_rng(0)


WHAT = {
    "one layer": lambda: scene("rgb"),
    "two hidden layers": lambda: scene("rgb", hidden=(16, 16)),
    "xor": lambda: scene("xor"),
    "convolutions": lambda: scene("digits"),
    "large layers": lambda: scene("texture"),
    "a plan": lambda: scene("microgpt"),
    "layers that turn": lambda: scene("playground"),
    "a number": lambda: sv.Weight(0.7, name="w"),
    "a list": lambda: [sv.Weight(x, name=f"w{k}") for k, x in enumerate((0.5, -1.0, 2.0))],
    "kernels, a folded row": lambda: {"kernels": RNG.normal(size=(8, 3, 3, 3)), "long": RNG.normal(size=(2000, 2))},
}


@pytest.fixture(scope="module")
def subjects():
    return {name: subject_of(make()) for name, make in WHAT.items()}


def test_it_is_the_windows(scripts, subjects):
    pages = Pages(scripts)
    pages.page.evaluate("window.player = { dispose() {} }")
    for name, subject in subjects.items():
        frame = subject.frame()
        pages.again(subject)
        pages.show(frame)
        page, there = pages.pixels(), window(subject, frame)
        assert same(page, there) > 0.99, name
        assert drawn_same(page, there) > 0.98, name


def boxes(picture, side=8):
    height, width = (n // side * side for n in picture.shape[:2])
    return picture[:height, :width].reshape(height // side, side, width // side, side, 3).mean(axis=(1, 3))


@pytest.mark.parametrize("side", [600, pytest.param(1000, marks=pytest.mark.ci)])
def test_cubes_below_a_pixel_are_averaged_alike(scripts, side):
    """Of noise each pixel is a few samples, which rounding may put into the cell beside; over 8 x 8 that is nothing."""
    pages = Pages(scripts)
    pages.page.evaluate("window.player = { dispose() {} }")
    y, x = np.indices((side, side)) / side
    smooth = np.sin(9 * x + 5 * y * y)
    for values, size in ((smooth, SIZE), (RNG.normal(size=(side, side)), SIZE), (smooth, (320, 200))):
        subject = subject_of({"a": values.astype(np.float32)})
        frame = subject.frame()
        pages.again(subject, size)
        pages.show(frame, ("weight",))
        page, there = pages.pixels(), window(subject, frame, size)
        difference = np.abs(boxes(page) - boxes(there)).max(axis=-1)
        assert (difference <= 2).mean() > 0.99
        assert values is not smooth or same(page, there) > 0.99


def marked(subject):
    """A frame in which every mark is somewhere, and one in which values are beyond the range."""
    frame = subject.frame()
    values, flags = frame.values.copy(), np.zeros(len(frame.values), bool)
    values[:4] = [np.nan, np.inf, -np.inf, 40.0]
    frozen, computed = flags.copy(), ~flags
    frozen[4:6] = True
    computed[5:8] = False
    units = {
        plate.name: plate.size for plate in laid_out(subject, SIZE, DARK).layout.plates if plate.kind == "activation"
    }
    dead = {name: np.arange(size) % 3 == 0 for name, size in units.items() if name != "input"}
    gradient = np.where(np.arange(len(values)) == 9, np.nan, frame.gradient)
    return replace(frame, values=values, gradient=gradient, frozen=frozen, computed=computed, dead=dead)


def test_marks(scripts, subjects):
    pages = Pages(scripts)
    pages.page.evaluate("window.player = { dispose() {} }")
    for name in ("one layer", "two hidden layers", "convolutions", "kernels, a folded row"):
        subject = subjects[name]
        frame: Frame = marked(subject)
        pages.again(subject)
        pages.show(frame)
        assert same(pages.pixels(), window(subject, frame)) > 0.99, name
        pages.page.evaluate("player.quantity = 'gradient'")
        assert same(pages.pixels(), window(subject, frame, quantity="gradient")) > 0.99, name


def test_sizes_and_thresholds(scripts, subjects):
    pages = Pages(scripts)
    pages.page.evaluate("window.player = { dispose() {} }")
    for name in ("one layer", "two hidden layers"):
        subject = subjects[name]
        frame = subject.frame()
        pages.again(subject)
        pages.show(frame)
        for sizing in (Sizing(by_value=True), Sizing(threshold=0.2), Sizing(by_value=True, threshold=0.1)):
            told = {"byValue": sizing.by_value, "threshold": sizing.threshold}
            pages.page.evaluate("(sizing) => { player.sizing = sizing; }", told)
            assert same(pages.pixels(), window(subject, frame, sizing=sizing)) > 0.99, (name, sizing)


def test_other_cameras(scripts, subjects):
    """Turned by hand, with parallel lines and in perspective."""
    pages = Pages(scripts)
    pages.page.evaluate("window.player = { dispose() {} }")
    for name in ("one layer", "two hidden layers"):
        subject = subjects[name]
        frame = subject.frame()
        layout = laid_out(subject, SIZE, DARK).layout
        points = np.concatenate([plate.corners for plate in layout.plates] + list(layout.trays))
        pose = turned(pose_of(layout.camera, layout.bounds.mean(axis=0)), 60.0, -30.0)
        other = in_perspective(pose, 3.0 * float(np.ptp(points, axis=0).max())) if pose.eye is None else parallel(pose)
        pages.again(subject, legends="none")
        pages.show(frame)
        for view in (pose, other):
            told = {"az": view.azimuth, "el": view.elevation, "place": view.place.tolist(), "scale": view.scale}
            told |= {"eye": None if view.eye is None else view.eye.tolist()}
            pages.page.evaluate("(pose) => { player.pose = pose; }", told)
            camera = camera_of(view, layout.size, points)
            assert same(pages.pixels(), window(subject, frame, camera=camera)) > 0.99, name


def test_looks_given_by_hand(scripts):
    """A colour, a size, one that is not seen, labels: as the window draws them, picks them and counts them."""
    pages = Pages(scripts, "player.js", "ownlooks.js")
    pages.page.evaluate("window.player = { dispose() {} }")
    made = scene("rgb", hidden=(4,))
    subject = subject_of(made)
    plain = subject.frame()
    cubes = [sv.view.cube(made.run.model[0].weight[row][0]) for row in range(4)]
    try:
        cubes[0].colour, cubes[0].label = "#00ff00", "the first"
        cubes[1].size, cubes[1].colour = 0.4, (1.0, 0.5, 0.0)
        cubes[2].visible = False
        cubes[3].label = "another with a long name"
        pages.again(subject)
        pages.show(plain)
        worn, there = pages.pixels(), window(subject, plain)
        assert same(worn, there) > 0.99
        assert drawn_same(worn, there) > 0.98
        green = (np.abs(worn - [0, 255, 0]) <= 60).all(axis=-1).sum()
        assert green > 100
        shares = pages.page.evaluate("""() => {
            const plate = player.document.plates.findIndex(({ start }) => start === 0);
            return [0, 1, 2, 3].map((row) => player.overlay.shareOf(plate, 3 * row)); }""")
        assert shares == [1, round(0.4 * 126) / 126, 0, 1]
        texts = pages.page.evaluate("player.overlay.ink.texts.map(([x, y, text]) => text)")
        assert {"the first", "another with a long name"} <= set(texts)
    finally:
        for one in cubes:
            one.reset()
    assert "own" not in pages.again(subject)


def test_rows_that_were_not_recorded_are_marked_and_not_zero(scripts):
    pages = Pages(scripts)
    pages.page.evaluate("window.player = { dispose() {} }")
    made = scene("rgb", hidden=(4,))
    with sv.Recording(made, every=2) as recording:
        made.run.step(4)
        with recording.read() as memory:
            subject = subject_of(RecordedSource(memory))
            frame = memory.frame(1)
            pages.again(subject)
            pages.show(frame, ("weight",))
            page, there = pages.pixels(), window(subject, frame)
    assert not frame.activations
    assert same(page, there) > 0.99
    assert drawn_same(page, there) > 0.98
    assert pages.page.evaluate("[player.shown.rowless, ...marksOn(player.shown, true)]") == [True, "unrecorded"]
    tip = pages.page.evaluate("""() => {
        const plate = player.document.plates.findIndex(({ kind }) => kind === "activation");
        return tipLines(player.shown, player.frame, { plate, element: 0 }); }""")  # fmt: skip
    assert [words for _, words in tip] == ["not recorded"]
