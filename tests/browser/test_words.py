"""Words and numbers around the cubes in a browser: those of the window, in its places, from every camera."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import scalarviz as sv
from scalarviz.view.cubes.scale import ActivationScale, Coloring
from scalarviz.view.ink import text
from scalarviz.view.ink.sketch import meet
from scalarviz.view.ink.theme import DARK
from scalarviz.view.notes.scenery import Scenery, is_single
from scalarviz.view.page.document import laid_out
from scalarviz.view.panels.wording import said_of
from scalarviz.view.screen.strip import Strip
from scalarviz.view.screen.strip import written as written_out
from scalarviz.view.shown.subject import subject_of
from scalarviz.view.space.camera import pose_of

from .players import SIZE, Pages, scene

LARGE = (1100, 700)


WHAT = {
    "one layer": lambda: scene("rgb"),
    "two hidden layers": lambda: scene("rgb", hidden=(16, 16)),
    "xor": lambda: scene("xor"),
    "convolutions": lambda: scene("digits"),
    "a plan": lambda: scene("microgpt"),
    "arrays": lambda: {"weights": np.random.default_rng(1).normal(size=(4, 5)), "v": np.arange(100.0)},
    "a list": lambda: [sv.Weight(x, name=f"w{k}") for k, x in enumerate((0.5, -1.0, 2.0))],
}


def written(subject, frame, size, quantity="weight"):
    """Texts of the window's scenery with places, sizes and ends, sorted."""
    laid = laid_out(subject, size, DARK)
    colouring = Coloring(subject.tensors, DARK, quantity, moments=lambda: subject.source.moments)
    rows = ActivationScale(subject.stages, DARK, sheet=subject.sample.sheet)
    colouring.update(frame, None)
    rows.update(frame, None)
    scenery, whole = (Scenery(subject, laid.layout, DARK, laid.project, laid.places.scene,
                              panels=panels, quantity=quantity) for panels in (False, True))  # fmt: skip
    sketches = [*scenery.static, *scenery.cubes(frame, colouring, rows)]
    sketches += (scenery if laid.layout.blueprint else whole).around(frame, colouring, subject.probe_loss(frame))
    return sorted([item.text, item.x, item.y, item.size, item.anchor] for sketch in sketches for item in sketch.texts)


def read(pages, frame, subject):
    """The same of the player, without legends."""
    loss = subject.probe_loss(frame)
    pages.page.evaluate("(loss) => { player.frame.sample_loss = loss; }", loss)
    found = pages.page.evaluate("""() => { const found = [], { ink } = player.overlay, write = ink.text;
        ink.text = (x, y, text, size, colour, how) => text && found.push([text, x, y, size, how?.end ?? "left"]);
        player.overlay.placed = {}; player.draw(); ink.text = write; return found; }""")
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
    """From random cameras each is as far from its point as in the list, or on its other side; none hides a cube."""
    pages = Pages(scripts)
    pages.page.evaluate("window.player = { dispose() {} }")
    rng, seen = np.random.default_rng(3), 0
    for name, subject in subjects.items():
        frame = subject.frame()
        layout = laid_out(subject, LARGE, DARK).layout
        home = pose_of(layout.camera, layout.bounds.mean(axis=0))
        pages.again(subject, LARGE, legends="none", density=0.1)
        pages.show(frame)
        for _ in range(4):
            place, scale = home.place + rng.uniform(-60, 60, 2), home.scale * rng.uniform(0.6, 1.3)
            pose = {"az": home.azimuth + rng.uniform(-80, 80), "el": rng.uniform(5, 80), "scale": scale}
            pose["place"] = place.tolist()
            placed = pages.page.evaluate(PLACED, pose)
            seen += len(placed)
            for one in placed:
                (x, y), (ax, ay), (left, top), (bx, by) = one["here"], one["at"], one["listed"], one["home"]
                apart, before = np.array([x - ax, y - ay]), np.array([left - bx, top - by])
                assert np.abs(apart) == pytest.approx(np.abs(before), abs=0.2), (name, pose, one)
                assert not one["covered"], (name, pose, one)
            for k, one in enumerate(placed):
                assert not any(meet(one["box"], other["box"]) for other in placed[:k]), (name, pose, one)
    assert seen > 50


PLACED = """(pose) => {
    player.pose = pose;
    player.draw();
    const { around } = player.overlay, { view } = around, middle = ([x, y, wide, high]) => [x + wide / 2, y + high / 2];
    const boxOf = ({ texts }, move) => {
        const [x, y, text, size, , bold, end] = texts[0], wide = around.measure(text, size, bold);
        const [left, foot] = move([x - { left: 0, middle: 0.5, right: 1 }[end] * wide, y]);
        return [left, foot - 0.7 * size, wide, 0.7 * size];
    };
    return around.placed.filter(([{ at, texts }]) => Array.isArray(at) && texts.length === 1).map(([group, move]) => {
        const box = boxOf(group, move), [x, y, wide, high] = box;
        const points = [[x, y], [x + wide, y], middle(box), [x, y + high], [x + wide, y + high]];
        return { box, here: middle(box), at: project(view.camera, group.at).slice(0, 2), text: group.texts[0][2],
            listed: middle(boxOf(group, (point) => point)), home: project(view.listed, group.at).slice(0, 2),
            covered: points.some((point) => pickCube(around.document.plates, view.camera, point)) };
    });
}"""


def test_legends_are_the_windows(scripts, subjects):
    """Ranges, ticks, shares, what marks mean, and the formulas of a single layer: of the frame that is shown."""
    pages = Pages(scripts)
    pages.page.evaluate("window.player = { dispose() {} }")
    for name, subject in subjects.items():
        frame = subject.frame()
        frozen = np.arange(len(frame.values)) == 1
        values = np.where(np.arange(len(frozen)) == 2, np.inf, frame.values.astype(np.float32))
        frame = replace(frame, frozen=frozen, values=values, activations=as_drawn(frame))
        laid = laid_out(subject, LARGE, DARK)
        colouring = Coloring(subject.tensors, DARK, "weight")
        rows = ActivationScale(subject.stages, DARK, sheet=subject.sample.sheet)
        colouring.update(frame, None)
        rows.update(frame, None)
        drawn = any(plate.kind == "activation" for plate in laid.layout.plates)
        single = is_single(subject, laid.layout)
        strip = Strip(subject, DARK, colouring, rows, rows=drawn, single=single, density=1.0)
        pages.again(subject, LARGE, density=1)
        pages.show(frame)
        if single:
            lines = written_out(subject, frame, *pages.document["words"]["single"]["room"])
            pages.page.evaluate("(lines) => { player.frame.formulas = lines; }", lines)
        pages.pixels()
        names = pages.page.evaluate("marksOn(player.shown, player.cubes.detailed(player.view.camera, 1))")
        assert {"above", "frozen"} <= set(names) or name in ("convolutions", "a plan"), (name, names)
        sketches = strip.sketches(laid.places.strip, frame, marks=names)
        there = sorted([item.text, item.x, item.y, item.size, item.anchor] for part in sketches for item in part.texts)
        here = [line for line in read(pages, frame, subject) if line[2] > laid.places.strip[1]]
        agree(here, there, name)
        assert single == any("=" in line[0] for line in here)


def as_drawn(frame):
    return {name: np.asarray(row, np.float32) for name, row in frame.activations.items()}


def test_a_legend_says_whose_gradients_they_are(scripts, subjects):
    pages = Pages(scripts)
    pages.page.evaluate("window.player = { dispose() {} }")
    for size, name in ((LARGE, "one layer"), (LARGE, "xor"), (LARGE, "two hidden layers")):
        subject = subjects[name]
        frame = replace(subject.frame(), edited=name == "xor")
        laid, colouring = laid_out(subject, size, DARK), Coloring(subject.tensors, DARK, "gradient")
        colouring.update(frame, None)
        rows = ActivationScale(subject.stages, DARK, sheet=False)
        strip = Strip(subject, DARK, colouring, rows, rows=False, single=False, density=1.0)
        sketches = strip.sketches(laid.places.strip, frame)
        there = [item.text for part in sketches for item in part.texts if "clipped" in item.text]
        pages.again(subject, size, density=1)
        pages.show(frame)
        said = [said_of(quantity, subject, frame) for quantity in ("gradient", "update")]
        pages.page.evaluate("(about) => { player.frame.about = about; player.quantity = 'gradient'; }", said)
        here = [line[0] for line in read(pages, frame, subject) if " clipped" in line[0]]
        assert here == there, name
        assert "before the change" in here[0] if frame.edited else "of all" in here[0]


def test_a_plate_of_zeros_says_so(scripts):
    pages, subject = Pages(scripts), subject_of({"a": np.zeros((4, 5)), "b": np.ones((4, 5))})
    frame = subject.frame()
    pages.play(subject, LARGE, legends="none", density=0.1)
    pages.show(frame)
    here = read(pages, frame, subject)
    agree(here, written(subject, frame, LARGE), "zeros")
    assert {"4×5   all 0", "4×5   ±1.00"} <= {line[0] for line in here}


def test_the_selected_cube_says_its_name_and_its_numbers(scripts, subjects):
    pages, subject = Pages(scripts), subjects["two hidden layers"]
    frame = subject.frame()
    pages.play(subject, LARGE, density=1)
    pages.show(frame)
    pages.page.evaluate("player.selected = 30; player.history = { steps: [1, 2, 3], values: [0.1, NaN, 0.3] }")
    said = [line[0] for line in read(pages, frame, subject)]
    numbers = [text.figure(float(part[30])) for part in (frame.values, frame.gradient, frame.update)]
    assert {"0.weight[10][0]", "from r to tanh 10", "value since step 1", *numbers} <= set(said)
    pages.page.evaluate("player.selected = { row: 'input', unit: 1 }")
    assert {"input g", text.chip_text(frame.activations["input"][1])} <= {
        line[0] for line in read(pages, frame, subject)
    }
    pages.page.evaluate("player.selected = null")
    assert "0.weight[10][0]" not in [line[0] for line in read(pages, frame, subject)]


KINDS = {
    "numberText": text.number, "shortText": text.short, "exponentText": text.exponent, "figureText": text.figure,
    "chipText": text.chip_text, "deltaText": text.delta_text, "lossText": text.loss_text, "rateText": text.rate_text,
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
