"""`render`, `picture` and SVG: what has weights can be seen, in every form the same, with true words."""

from __future__ import annotations

import base64
import html
import io
import re
from xml.etree import ElementTree

import numpy as np
import pytest
from PIL import Image

import scalarviz as sv
from kit.benches import said_anywhere
from kit.commands import make_scene
from kit.runs import make_run
from scalarviz import nn, optim
from scalarviz.errors import InputError, StateError, TypeMismatchError
from scalarviz.run import Scene
from scalarviz.run.edits import SetFrozen
from scalarviz.view.ink.text import loss_text
from scalarviz.view.ink.theme import DARK, rgb
from scalarviz.view.out.canvas import svg_of_bench
from scalarviz.view.out.offscreen import offscreen
from scalarviz.view.workbench import Workbench

pytestmark = pytest.mark.gl
SIZE = (320, 240)
THINGS = {
    "the same name twice": lambda: [sv.Weight(0.1, name="w"), sv.Weight(0.2, name="w")],
    "module": lambda: nn.Sequential(nn.Linear(3, 16), nn.Tanh(), nn.Linear(16, 3)),
    "kernels": lambda: {"conv": np.linspace(-1, 1, 108).reshape(4, 3, 3, 3), "scalar": 1.5},
    "integers and booleans": lambda: {"a": np.arange(12).reshape(3, 4), "b": np.array([True, False])},
    "not finite": lambda: {"a": np.array([[np.nan, np.inf], [-np.inf, 1.0]])},
    "only NaN": lambda: {"a": np.full((3, 3), np.nan)},
    "huge and tiny": lambda: {"a": np.array([1e300, -1e300, 1e-300])},
    "float16 and an empty one": lambda: {"a": np.ones((3, 3), np.float16), "b": np.empty((0, 3))},
    "a nested tree": lambda: {"a": {"w": np.eye(3)}},
    **{f"a run of {name}": lambda name=name: make_run(name) for name in ("one weight", "wide", "picture", "gpt")},
}


@pytest.mark.parametrize("name", THINGS)
def test_everything_with_weights_can_be_seen_and_looks_the_same_every_time(name):
    thing = THINGS[name]()
    picture = sv.render(thing, (640, 360))
    ground = np.array([round(255 * c) for c in rgb(DARK.background)])
    assert (picture.shape, picture.dtype) == ((360, 640, 3), np.uint8)
    assert (np.abs(picture.astype(int) - ground).max(axis=2) > 14).mean() > 0.02
    assert picture.max() > 150  # there is text
    assert np.array_equal(sv.render(thing, (640, 360)), picture)
    assert sv.render(thing, SIZE, theme="light")[0, 0].min() > 240


def test_what_has_no_weights_and_impossible_options_are_refused_in_words():
    for thing in ([], {}, [1.0], {"a": np.empty(0)}, {"a": "text"}, {"a": [[1], [1, 2]]}, [sv.Weight(1.0), "b"]):
        with pytest.raises((InputError, TypeMismatchError), match="allowed"):
            sv.render(thing)
    with pytest.raises(TypeMismatchError, match=r'cannot show ndarray .*; allowed: .*in a dict .*; try \{"x": x\}'):
        sv.render(np.zeros((2, 3)))
    with pytest.raises(TypeMismatchError, match="cannot show int 3; allowed: a Scene, a Run, a Module"):
        sv.render(3)
    for words, bad in (("allowed", {"size": (0, 0)}), ("allowed", {"size": (1e9, 5)}), ("allowed", {"size": "640x360"}),
                       ("render: supersample", {"supersample": 1.5}), ("the colour map", {"cmap": []})):  # fmt: skip
        with pytest.raises((InputError, TypeMismatchError), match=words):
            sv.render(sv.Weight(1.0), **bad)


# ---- the output of a cell


def scene_of():
    """Two inputs, one output, in the order of two samples; named, so that its words are known."""
    net = nn.Sequential(nn.Linear(2, 1))
    net[0].weight.data = [[0.5, -0.25]]  # drawn ones may fit so well that the loss is written with an exponent
    data = np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([[1.0], [0.0]])
    run = sv.Run(net, nn.MSELoss(), optim.SGD(net.parameters(), lr=0.1), data=data, engine="numpy", batch_size=1)
    return Scene("pair", run, data[0][0], data[1][0])


def image(data):
    return np.asarray(Image.open(io.BytesIO(base64.b64decode(data))).convert("RGB"))


def parts(picture):
    data, about = picture._repr_mimebundle_()
    found = re.fullmatch(r'<img alt="([^"]*)" width="(\d+)" src="data:image/webp;base64,([^"]+)">', data["text/html"])
    return html.unescape(found[1]), int(found[2]), image(found[3]), data, about


def test_a_cell_holds_the_pixels_of_render_and_words_of_the_moment_that_is_drawn():
    scene = scene_of()

    def told():  # the loss of the weights shown, on the sample that the coming step takes
        (x, y), k, weights = scene.run.samples(), scene.run.steps % 2, scene.run.values
        loss = loss_text(float(((x[k] @ weights[:2] + weights[2] - y[k]) ** 2).item()))
        return f"pair, step {scene.run.steps}, loss {loss} of the next sample: 3 numbers as cubes"

    assert sv.view.picture(scene, SIZE).words == told()
    scene.run.step(3)
    picture, wanted = sv.view.picture(scene, SIZE), sv.render(scene, SIZE, theme="light")
    words, width, seen, data, about = parts(picture)
    assert np.array_equal(picture.pixels, wanted)
    assert np.array_equal(seen, wanted)  # every bit
    assert width == SIZE[0]
    assert np.abs(image(data["image/jpeg"]).astype(int) - wanted).mean() < 4
    assert words == data["text/plain"] == picture.words == told()
    assert about == {"image/jpeg": {"alt": words}, "vscode_altText": words}
    assert repr(picture) == f"Picture({words})"
    for thing, given, says in (
        (scene, {"quantity": "|gradient|"}, r"pair, step 3, loss .* 3 numbers as cubes, coloured by \|gradient\|"),
        (scene, {"step": 2}, "pair, step 2, loss .*"),
        (scene, {"inside": -1}, r"pair, inside step 4, micro-step (\d+) of \1 \(update\), bias of y0 .*"),
        (sv.Weight(1.0), {}, "weights: 1 number as a cube"),
        (nn.Linear(2, 3), {}, "linear: 9 numbers as cubes"),
    ):
        assert re.fullmatch(says, sv.view.picture(thing, SIZE, **given).words)


def test_pixels_of_ones_own_are_kept_and_what_is_no_picture_is_refused(tmp_path):
    pixels = np.arange(2 * 5 * 3, dtype=np.uint8).reshape(2, 5, 3)[:, ::-1]
    own = sv.view.Picture(pixels, 'a "hill" & a <b>lake</b>')
    words, width, seen, _, _ = parts(own)
    assert (words, width) == ('a "hill" & a <b>lake</b>', 5)
    assert np.array_equal(seen, pixels)
    assert np.array_equal(np.asarray(Image.open(own.save(tmp_path / "own.png"))), pixels)
    with pytest.raises(StateError, match=r"sv\.view\.picture"):
        own.save(tmp_path / "own.svg")
    for bad in (np.zeros((2, 2)), np.zeros((2, 2, 3)), np.zeros((0, 2, 3), np.uint8)):
        with pytest.raises(InputError, match="allowed: uint8"):
            sv.view.Picture(bad, "words")
    picture = sv.view.picture(nn.Sequential(nn.Linear(3, 2)))
    assert picture.save(tmp_path / "net.svg").read_text(encoding="utf-8") == picture.svg
    assert picture.words in picture.svg
    for path in (tmp_path / "net.svg" / "net.svg", tmp_path / "own.png" / "a.png"):  # a file is no folder
        with pytest.raises(InputError):
            picture.save(path)


# ---- SVG: it says what the window says, and its polygons have the colours that the shader paints

SVG = "{http://www.w3.org/2000/svg}"


def drawn(scene, theme="dark"):
    """A workbench, and its picture as a tree."""
    with offscreen():
        bench = Workbench(scene, (1280, 720), theme)
        scene.run.step(20)
        bench.update(bench.subject.frame(), "a pace")
    return bench, ElementTree.fromstring(svg_of_bench(bench, "some words"))


@pytest.mark.parametrize("name", ["digits", "xor", "expression", "microgpt"])
def test_a_scene_says_in_svg_what_its_picture_says(name):
    bench, tree = drawn(make_scene(name))
    said = [text.text.replace("\N{NO-BREAK SPACE}", " ") for text in tree.iter(f"{SVG}text")]
    assert sorted(said) == sorted(said_anywhere(bench))
    assert tree.find(f"{SVG}title").text == "some words"
    assert (tree.get("width"), tree.get("height")) == tuple(map(str, bench.size))
    numbers = (node.get(key, "") for node in tree.iter() for key in ("x", "y", "width", "points", "d"))
    assert not re.search("nan|inf|None", " ".join(numbers))


@pytest.mark.parametrize(("name", "theme"), [("rgb", "dark"), ("neuron", "dark"), ("playground", "light")])
def test_polygons_have_the_colours_that_the_shader_paints(name, theme):
    """At every corner of a grid of pixels on the cubes: the last polygon there, and what OpenGL painted."""
    bench, tree = drawn(make_scene(name), theme=theme)
    wide, high = map(int, bench.places.size)
    painted = offscreen().render(bench.draw_below, (wide, high)).astype(int)
    found, depth = np.full((high, wide, 3), -1), np.zeros((high, wide), int)
    y, x = np.mgrid[2:high:5, 2:wide:5]
    for polygon in tree.iter(f"{SVG}polygon"):
        corners = np.array([float(part) for part in re.split("[ ,]", polygon.get("points"))]).reshape(-1, 2)
        sides = [(b[0] - a[0]) * (y + 0.5 - a[1]) - (b[1] - a[1]) * (x + 0.5 - a[0])
                 for a, b in zip(corners, np.roll(corners, -1, axis=0), strict=True)]  # fmt: skip
        inside = np.all([s > 0 for s in sides], axis=0) | np.all([s < 0 for s in sides], axis=0)
        found[y[inside], x[inside]] = [int(polygon.get("fill")[k : k + 2], 16) for k in (1, 3, 5)]
        depth[y[inside], x[inside]] += 1
    there = depth > 1  # not a tray alone, on which the shader throws shadows
    off = np.abs(found[there] - painted[there]).max(axis=1)
    assert there.sum() > 300
    assert np.median(off) <= 2  # main faces
    assert (off <= 45).mean() > 0.97  # sides, whose foot is darker than their head; what is left are edges


def test_many_cubes_and_marks_are_an_image_inside():
    """What polygons would not show, or would show in more bytes than a picture has."""
    few = make_scene("rgb")
    assert len(list(drawn(few)[1].iter(f"{SVG}polygon"))) > 24
    few.run.do(SetFrozen(0, [True]))
    for scene in (make_scene("texture"), few):
        first = next(drawn(scene)[1].iter(f"{SVG}image"))
        assert (float(first.get("width")), float(first.get("height"))) == (1280, 720)
