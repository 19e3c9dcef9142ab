"""What a page writes is what the window writes: around the cubes, on them, below them and in panels."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import scalarviz as sv
from kit import benches
from kit.benches import SIZE, bench_of, texts
from kit.commands import SCENES
from scalarviz.view.cubes.scale import ActivationScale, Coloring
from scalarviz.view.ink.listed import changes, records_of
from scalarviz.view.ink.sketch import meet, rgba
from scalarviz.view.ink.theme import DARK, LIGHT, hexed
from scalarviz.view.notes.scenery import Scenery, is_single
from scalarviz.view.page.document import document_of, laid_out
from scalarviz.view.page.pictures import panel_pictures
from scalarviz.view.panels.drawer import quantity_words
from scalarviz.view.screen.strip import Strip
from scalarviz.view.shown.subject import subject_of
from scalarviz.view.space.camera import pose_of

from .players import pixels_of, scene

OTHERS = {
    "two hidden layers": lambda: scene("rgb", hidden=(16, 16)),
    "arrays": lambda: {"weights": np.random.default_rng(1).normal(size=(4, 5)), "v": np.arange(100.0)},
    "zeros": lambda: {"a": np.zeros((4, 5)), "b": np.ones((4, 5))},
    "a list": lambda: [sv.Weight(x, name=f"w{k}") for k, x in enumerate((0.5, -1.0, 2.0))],
}


@pytest.fixture(scope="module")
def subjects():
    """Every scene some steps on, and what is none."""
    return {name: subject_of(make()) for name, make in OTHERS.items()} | {
        name: subject_of(scene(name)) for name in SCENES
    }


def marked(subject):
    """Its frame with a frozen and an infinite number, in the numbers that a page has."""
    frame = subject.frame()
    places = np.arange(len(frame.values))
    values = np.where(places == 2, np.inf, frame.values.astype(np.float32))
    rows = {name: np.asarray(row, np.float32) for name, row in frame.activations.items()}
    return replace(frame, frozen=places == 1, values=values, activations=rows)


def of_texts(items):
    return sorted([t.text, t.x, t.y, t.size, t.anchor, hexed(rgba(t.colour)), t.bold] for t in items)


def in_the_window(subject, frame, size, look, quantity, marks, about):
    """What the window writes around, on and below the cubes of the page's layout."""
    laid = laid_out(subject, size, look)
    colouring = Coloring(subject.tensors, look, quantity, moments=lambda: subject.source.moments)
    rows = ActivationScale(subject.stages, look, sheet=subject.sample.sheet)
    colouring.update(frame, None)
    rows.update(frame, None)
    scenery, whole = (Scenery(subject, laid.layout, look, laid.project, laid.places.scene,
                              panels=panels, quantity=quantity) for panels in (False, True))  # fmt: skip
    sketches = [*scenery.static, *scenery.cubes(frame, colouring, rows)]
    sketches += (scenery if laid.layout.blueprint else whole).around(frame, colouring, subject.probe_loss(frame))
    drawn = any(plate.kind == "activation" for plate in laid.layout.plates)
    single = is_single(subject, laid.layout)
    strip = Strip(subject, look, colouring, rows, rows=drawn, single=single, density=1.0)
    return of_texts(texts([*sketches, *strip.sketches(laid.places.strip, frame, marks=marks)]))


INKS = {"#0c0e11", "#ffffff"}
"""Of numbers on cubes: where one is as good as the other the browser, which has colours as bytes, may choose it."""


def agree(here, there, name, most):
    """The same words in the same places, sizes and colours; returns how many are in the other ink."""
    assert here, name
    assert [line[0] for line in here] == [line[0] for line in there], name
    other = 0
    for mine, theirs in zip(here, there, strict=True):
        assert mine[1:3] == pytest.approx(theirs[1:3], abs=most), (name, mine, theirs)
        if mine[5] != theirs[5] and {mine[5], theirs[5]} == INKS:
            mine[5], other = theirs[5], other + 1
        assert mine[3:] == theirs[3:], (name, mine, theirs)
    return other


def test_around_the_cubes_and_below_them(pages, subjects):
    """Every scene in both looks, with every mark; and of few weights other quantities in a small picture."""
    written = other = 0
    for name, subject in subjects.items():
        for size, look, quantity in (
            (SIZE, DARK, "weight"), (SIZE, LIGHT, "weight"), ((1100, 700), DARK, "gradient"),
            ((640, 400), DARK, "|gradient|"),
        ):  # fmt: skip
            frame = marked(subject)
            about = [quantity_words(one, subject, frame) for one in ("gradient", "update")]
            pages.play(subject, size, theme=look.name)
            pages.show(frame, sample_loss=subject.probe_loss(frame), about=about)
            pages.set(quantity=quantity)
            here = pages.texts()
            marks = pages.page.evaluate("marksOn(player.shown, player.cubes.detailed(player.view.camera, 1))")
            there = in_the_window(subject, frame, size, look, quantity, marks, about)
            # what stands in chips is rounded to whole pixels, and so is their middle
            other += agree(here, there, (name, size, look.name, quantity), 0.51)
            written += len(there)
    assert other < 0.01 * written


def test_in_panels(pages):
    """Every scene in both looks, by way of what has changed since a list that was made in the other one."""
    for name in SCENES:
        one = scene(name)
        frame = one.run.frame(one.probe)
        lists = {look.name: panel_pictures(one, [0], lambda _, frame=frame: frame, look) for look in (DARK, LIGHT)}
        for look, other in (("dark", "light"), ("light", "dark")):
            bench = bench_of(one, SIZE, look, asked=True)
            window = benches.pixels_of(bench)
            for before, now in zip(lists[other], lists[look], strict=True):
                first, records = (
                    records_of(picture.image, (picture.width, picture.height)) for picture in (before, now)
                )
                url, told, here = pages.page.evaluate(SHOWN, [first, changes(first, records), document_of(one), look])
                drawer = bench.side.drawers[now.panel]
                if drawer.setting is not None and drawer.spread is not None:
                    continue  # the window has it among the cubes: test_letters
                there = of_texts(texts(bench.side.drawn(now.panel)))
                agree(sorted(here), there, (name, look, now.panel), 0.051) if there else None
                assert all(line[0] in told for line in there)
                assert apart(pixels_of(url, "RGBA"), window, records[0]) < 0.1, (name, look, now.panel)


SHOWN = """async ([records, others, document, look]) => {
    const canvas = window.document.createElement("canvas"), listing = new Listing(canvas, document.words.advances);
    const list = changedList(records, others), encoded = list.flat().filter((one) => /^data:/.test(one));
    listing.show(list, document.themes[look], "a panel");
    await Promise.all(encoded.map((src) => Object.assign(new Image(), { src }).decode()));
    await new Promise((done) => setTimeout(done, 20));
    written.length = 0;
    listing.show(list, { ...document.themes[look] }, "a panel");
    return [canvas.toDataURL(), canvas.getAttribute("aria-label"), [...written]];
}"""


def apart(picture, window, box):
    """Share of pixels of a panel that differ: letters are another font's, and edges are smoothed in another way."""
    (_, x, y, *_), ground, alpha = box, window[2, 2], picture[..., 3:] / 255
    mine = picture[..., :3] * alpha + ground * (1 - alpha)
    left, top = max(int(np.ceil(x)), 0), max(int(np.ceil(y)), 0)
    theirs = window[top : top + mine.shape[0], left : left + mine.shape[1]]
    assert (np.abs(theirs - ground).max(axis=2) > 20).any()
    return float((np.abs(mine[: theirs.shape[0], : theirs.shape[1]] - theirs).max(axis=2) > 40).mean())


def test_they_move_with_their_cubes(pages, subjects):
    """From random cameras each is as far from its point as in the list, or on its other side; none hides a cube."""
    rng, seen = np.random.default_rng(3), 0
    for name in ("two hidden layers", "rgb", "xor", "digits", "microgpt", "arrays", "a list"):
        subject = subjects[name]
        layout = laid_out(subject, (1100, 700), DARK).layout
        home = pose_of(layout.camera, layout.bounds.mean(axis=0))
        pages.play(subject, (1100, 700), legends="none", density=0.1)
        pages.show(subject.frame())
        for _ in range(4):
            pose = {
                "az": home.azimuth + rng.uniform(-80, 80),
                "el": rng.uniform(5, 80),
                "place": (home.place + rng.uniform(-60, 60, 2)).tolist(),
                "scale": home.scale * rng.uniform(0.6, 1.3),
            }
            placed = pages.page.evaluate(PLACED, pose)
            seen += len(placed)
            for k, one in enumerate(placed):
                apart, before = (np.subtract(*ends) for ends in (one["now"], one["listed"]))
                assert np.abs(apart) == pytest.approx(np.abs(before), abs=0.2), (name, pose, one)
                assert not one["covered"], (name, pose, one)
                beside = [other for other in placed[:k] if together(one, other)]
                assert not any(meet(one["box"], other["box"]) for other in beside), (name, pose, one)
    assert seen > 50


def together(one, other):
    """Whether two groups stand there at the same moment: deltas are of one sample or of a batch, and of one sign."""
    deltas = [group["delta"] is not None for group in (one, other)]
    if all(deltas):
        return one["mean"] == other["mean"] and one["delta"] != other["delta"]
    return not any(deltas) or not (one["below"] or other["below"])


PLACED = """(pose) => {
    player.pose = pose;
    player.draw();
    const { around } = player.overlay, { view } = around, middle = ([x, y, wide, high]) => [x + wide / 2, y + high / 2];
    const boxOf = ({ texts }, move) => {
        const [x, y, text, size, , bold, end] = texts[0], wide = around.measure(text, size, bold);
        const [left, foot] = move([x - { left: 0, middle: 0.5, right: 1 }[end] * wide, y]);
        return [left, foot - 0.75 * size, wide, 0.75 * size];
    };
    return around.placed.filter(([{ at, texts }]) => Array.isArray(at) && texts.length === 1).map(([group, move]) => {
        const box = boxOf(group, move), [x, y, wide, high] = box;
        const points = [[x, y], [x + wide, y], middle(box), [x, y + high], [x + wide, y + high]];
        const { delta, mean, below } = group;
        return { box, delta, mean, below, text: group.texts[0][2],
            now: [middle(box), project(view.camera, group.at).slice(0, 2)],
            listed: [middle(boxOf(group, (point) => point)), project(view.listed, group.at).slice(0, 2)],
            covered: points.some((point) => pickCube(around.document.plates, view.camera, point)) };
    });
}"""
