"""Pictures as SVG: they say what the window says, and their polygons have the colours that the shader paints."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import numpy as np
import pytest

import scalarviz as sv
from kit.commands import make_scene
from scalarviz.errors import InputError, StateError
from scalarviz.run.edits import SetFrozen
from scalarviz.view.out.offscreen import offscreen
from scalarviz.view.out.vector import svg_of_bench
from scalarviz.view.workbench import Workbench

pytestmark = pytest.mark.gl
SCENES = ("rgb", "neuron", "xor", "uinn", "expression", "texture", "digits", "microgpt", "playground")
SIZES = ((640, 360), (1280, 720))
SVG = "{http://www.w3.org/2000/svg}"


def bench_of(scene, size=SIZES[1], theme="dark", steps=20):
    with offscreen():
        bench = Workbench(scene, size, theme, None, "weight")
        scene.run.step(steps)
        bench.update(bench.subject.frame(), "a pace")
    return bench


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", SCENES)
def test_every_scene_says_in_svg_what_its_picture_says(name, size):
    bench = bench_of(make_scene(name), size)
    tree = ElementTree.fromstring(svg_of_bench(bench, "some words"))
    said = [text.text.replace("\N{NO-BREAK SPACE}", " ") for text in tree.iter(f"{SVG}text")]
    shown = [item.text for layer in (bench.sketches, *bench.overlays) for sketch in layer for item in sketch.texts]
    assert sorted(said) == sorted(shown)
    assert tree.find(f"{SVG}title").text == "some words"
    numbers = [
        value for node in tree.iter() for key, value in node.attrib.items() if key in ("x", "y", "width", "points", "d")
    ]
    assert not re.search("nan|inf|None", " ".join(numbers))


@pytest.mark.parametrize("theme", ["dark", "light"])
@pytest.mark.parametrize("name", ["rgb", "neuron", "playground"])
def test_polygons_have_the_colours_that_the_shader_paints(name, theme):
    """At every corner of a grid of pixels on the cubes: the last polygon there, and what OpenGL painted."""
    bench = bench_of(make_scene(name), theme=theme)
    wide, high = map(int, bench.places.size)
    painted = offscreen().render(bench.draw_below, (wide, high)).astype(int)
    tree = ElementTree.fromstring(svg_of_bench(bench))
    found, depth = np.full((high, wide, 3), -1), np.zeros((high, wide), int)
    y, x = np.mgrid[2:high:5, 2:wide:5]
    for polygon in tree.iter(f"{SVG}polygon"):
        corners = np.array([float(part) for part in re.split("[ ,]", polygon.get("points"))]).reshape(-1, 2)
        ends = np.roll(corners, -1, axis=0)
        sides = [(b[0] - a[0]) * (y + 0.5 - a[1]) - (b[1] - a[1]) * (x + 0.5 - a[0])
                 for a, b in zip(corners, ends, strict=True)]  # fmt: skip
        inside = np.all([s > 0 for s in sides], axis=0) | np.all([s < 0 for s in sides], axis=0)
        fill = [int(polygon.get("fill")[k : k + 2], 16) for k in (1, 3, 5)]
        found[y[inside], x[inside]] = fill
        depth[y[inside], x[inside]] += 1
    there = depth > 1  # not a tray alone, on which the shader throws shadows
    off = np.abs(found[there] - painted[there]).max(axis=1)
    assert there.sum() > 300
    assert np.median(off) <= 2  # main faces
    assert (off <= 45).mean() > 0.97  # sides, whose foot is darker than their head; what is left are edges


def test_many_cubes_and_marks_are_an_image_inside():
    """What polygons would not show, or would show in more bytes than a picture has."""
    few, many = make_scene("rgb"), make_scene("texture")
    assert len(re.findall("<polygon", svg_of_bench(bench_of(few)))) > 24
    for scene, changed in ((many, None), (few, few.run)):
        if changed is not None:
            changed.do(SetFrozen(0, [True]))
        tree = ElementTree.fromstring(svg_of_bench(bench_of(scene)))
        first = next(tree.iter(f"{SVG}image"))
        assert (float(first.get("width")), float(first.get("height"))) == SIZES[1]


def test_a_picture_is_saved_as_svg(tmp_path):
    net = sv.nn.Sequential(sv.nn.Linear(3, 2))
    picture = sv.view.picture(net)
    picture.save(tmp_path / "net.svg")
    assert (tmp_path / "net.svg").read_text(encoding="utf-8") == picture.svg
    assert picture.words in picture.svg
    with pytest.raises(StateError, match=r"sv\.view\.picture"):
        type(picture)(picture.pixels, "pixels").save(tmp_path / "pixels.svg")
    assert not (tmp_path / "pixels.svg").exists()
    with pytest.raises(InputError):
        picture.save(tmp_path / "net.svg" / "net.svg")  # a file is no folder
