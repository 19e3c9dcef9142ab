"""Words and numbers around the cubes in a browser: those of the window, in its places, from every camera."""

from __future__ import annotations

import importlib
from dataclasses import replace

import numpy as np
import pytest

import scalarviz as sv
from scalarviz.view.browser.laid import laid_out
from scalarviz.view.cubes.scale import ActivationScale, Coloring
from scalarviz.view.draw import text
from scalarviz.view.draw.theme import DARK
from scalarviz.view.flow.scenery import Scenery
from scalarviz.view.shown.subject import subject_of
from scalarviz.view.space.pose import camera_of, pose_of

from .players import SIZE, Pages

LARGE = (1100, 700)


def scene(name, **options):
    module = importlib.import_module(f"scalarviz.scenes.{name}")
    made = module.build(module.Options(engine="numpy", **options))
    made.run.step(3)
    return made


WHAT = {
    "one layer": lambda: scene("rgb"),
    "two hidden layers": lambda: scene("rgb", hidden=(16, 16)),
    "xor": lambda: scene("xor"),
    "convolutions": lambda: scene("digits"),
    "a plan": lambda: scene("microgpt"),
    "arrays": lambda: {"weights": np.random.default_rng(1).normal(size=(4, 5)), "v": np.arange(100.0)},
    "a list": lambda: [sv.Weight(x, name=f"w{k}") for k, x in enumerate((0.5, -1.0, 2.0))],
}


def written(subject, frame, size, camera=None, quantity="weight"):
    """Texts of the window's scenery with places, sizes and ends, sorted."""
    laid = laid_out(subject, size, DARK)
    eye = camera or laid.layout.camera
    colouring = Coloring(subject.tensors, DARK, quantity, moments=lambda: subject.source.moments)
    rows = ActivationScale(subject.stages, DARK, sheet=subject.sample.sheet)
    colouring.update(frame, None)
    rows.update(frame, None)
    scenery = Scenery(subject, laid.layout, DARK, lambda xyz: eye.project(xyz) / laid.ratio, laid.places.scene,
                      panels=False, quantity=quantity, moved=camera)  # fmt: skip
    sketches = [*scenery.static, *scenery.cubes(frame, colouring, rows)]
    sketches += scenery.around(frame, colouring, subject.probe_loss(frame))
    return sorted([item.text, item.x, item.y, item.size, item.anchor] for sketch in sketches for item in sketch.texts)


def read(pages, frame, subject):
    """The same of the player, without legends."""
    loss = subject.probe_loss(frame)
    pages.page.evaluate("(loss) => { player.frame.sample_loss = loss; }", loss)
    found = pages.page.evaluate("""() => { const found = [], { ink } = player.overlay, write = ink.text;
        ink.text = (x, y, text, size, colour, how) => text && found.push([text, x, y, size, how?.end ?? "left"]);
        player.overlay.placed = {}; player.overlay.former = null; player.draw(); ink.text = write; return found; }""")
    return sorted(found)


def agree(here, there, name):
    assert here, name
    assert [line[0] for line in here] == [line[0] for line in there], name
    for mine, theirs in zip(here, there, strict=True):
        assert mine[3:] == theirs[3:], name
        # what stands in chips is rounded to whole pixels, and so is their middle
        assert mine[1:3] == pytest.approx(theirs[1:3], abs=0.51), (name, mine, theirs)


@pytest.fixture(scope="module")
def subjects():
    return {name: subject_of(make()) for name, make in WHAT.items()}


def test_they_are_the_windows_at_its_places(scripts, subjects):
    pages = Pages(scripts)
    pages.page.evaluate("window.player = { dispose() {} }")
    for size, names in ((LARGE, list(subjects)), (SIZE, ["one layer", "xor", "a list"])):
        for name, subject in ((name, subjects[name]) for name in names):
            frame = subject.frame()
            pages.again(subject, size, legends="none", density=0.1)
            for quantity in ("weight", "gradient", "|gradient|") if size is SIZE else ("weight",):
                pages.page.evaluate("(name) => { player.quantity = name; }", quantity)
                pages.show(frame)
                agree(
                    read(pages, frame, subject),
                    written(subject, frame, size, quantity=quantity),
                    (name, size, quantity),
                )


def test_they_move_with_their_cubes(scripts, subjects):
    """From random cameras, zoomed in and out, they stand where the window has them, and are left out where it does."""
    pages = Pages(scripts)
    pages.page.evaluate("window.player = { dispose() {} }")
    rng = np.random.default_rng(3)
    for name, subject in subjects.items():
        frame = subject.frame()
        layout = laid_out(subject, LARGE, DARK).layout
        points = np.concatenate([plate.corners for plate in layout.plates] + list(layout.trays))
        home = pose_of(layout.camera, layout.bounds.mean(axis=0))
        pages.again(subject, LARGE, legends="none", density=0.1)
        pages.show(frame)
        for _ in range(4):
            azimuth, elevation = home.azimuth + rng.uniform(-80, 80), rng.uniform(5, 80)
            place, scale = home.place + rng.uniform(-60, 60, 2), home.scale * rng.uniform(0.6, 1.3)
            pose = replace(home, azimuth=azimuth, elevation=elevation, place=place, scale=scale)
            told = {"az": azimuth, "el": elevation, "place": place.tolist(), "scale": scale}
            pages.page.evaluate("(pose) => { player.pose = pose; }", told)
            camera = camera_of(pose, layout.size, points)
            agree(read(pages, frame, subject), written(subject, frame, LARGE, camera), (name, told))


KINDS = {
    "numberText": text.number, "shortText": text.short, "exponentText": text.exponent, "figureText": text.figure,
    "chipText": text.chip_text, "lossText": text.loss_text, "rateText": text.rate_text,
}  # fmt: skip


def test_numbers_are_written_as_in_the_window(scripts):
    page = scripts("numbers.js")
    rng = np.random.default_rng(5)
    numbers = [*(rng.normal(size=400) * 10.0 ** rng.integers(-9, 9, 400)), *(rng.integers(-4000, 4000, 400) / 8.0)]
    numbers += [*(rng.integers(-200, 200, 200) / 2.0 ** rng.integers(0, 12, 200))]
    numbers += [0.0, -0.0, 0.125, -0.375, 2.5, 0.005, 1e-3, 9.995, 99.95, 9999.5, 1e4, 1e99, 1e100, 0.5, 1.5]
    floats = [float(x) for x in numbers]
    for name, kind in KINDS.items():
        given = [abs(x) for x in floats] if name == "rateText" else floats
        assert page.evaluate(f"(numbers) => numbers.map((x) => {name}(x))", given) == [kind(x) for x in given], name
    for name in ("numberText", "exponentText"):
        signed = page.evaluate(f"(numbers) => numbers.map((x) => {name}(x, 1, true))", floats)
        assert signed == [KINDS[name](x, 1, signed=True) for x in floats]
    special = "[NaN, Infinity, -Infinity]"
    for name in ("numberText", "shortText", "figureText", "chipText", "lossText"):
        there = [KINDS[name](x) for x in (float("nan"), float("inf"), -float("inf"))]
        assert page.evaluate(f"{special}.map((x) => {name}(x))") == there
