"""The first lesson runs from top to bottom, is what its ``.py`` says, and shows pictures that are true."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import scalarviz as sv
from scalarviz import nn, optim
from scalarviz.run import Scene
from scalarviz.run.panels import ColourCube, LossCurve
from scalarviz.view.draw.theme import LIGHT, rgb
from scalarviz.view.shown.subject import arrays_subject
from scalarviz.view.window.offscreen import offscreen
from scalarviz.view.workbench import Workbench

pytestmark = pytest.mark.gl

ROOT = Path(__file__).resolve().parents[2]
STORED = ROOT / "notebooks" / "01-one-weight.ipynb"
NAMES = ("one weight", "path", "before", "gradient", "after")
NUMBER = r"[-+]?\d+\.\d*"


def code_cells(notebook):
    return [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]


def printed(notebook):
    """What every code cell wrote, stdout and stderr together."""
    streams = [[o for o in cell["outputs"] if o["output_type"] == "stream"] for cell in code_cells(notebook)]
    return ["".join("".join(o["text"]) for o in outputs) for outputs in streams]


@pytest.fixture(scope="module")
def stored():
    return json.loads(STORED.read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def fresh(made_anew):
    return made_anew("01")


@pytest.fixture(scope="module")
def pictures(fresh, pictures_of):
    """The pictures of the fresh notebook by name, arrays of ints (height, width, 3)."""
    decoded = [np.asarray(Image.open(io.BytesIO(data)).convert("RGB")).astype(int) for data in pictures_of(fresh)]
    return dict(zip(NAMES, decoded, strict=True))


def numbers_after(notebook, word, count):
    """The first `count` decimal numbers that any cell printed after `word`."""
    text = "\n".join(printed(notebook)).split(word, 1)[1]
    return [float(number) for number in re.findall(NUMBER, text)[:count]]


# ---- text and numbers


def test_the_pair_is_in_sync(fresh, stored):
    def content(notebook):
        return [(cell["id"], cell["cell_type"], "".join(cell["source"])) for cell in notebook["cells"]]

    assert content(stored) == content(fresh), "run: make notebooks"


def test_every_cell_ran_in_order_and_nothing_went_wrong(fresh, stored):
    for notebook in (fresh, stored):
        cells = code_cells(notebook)
        assert [cell["execution_count"] for cell in cells] == list(range(1, len(cells) + 1))
        outputs = [o for cell in cells for o in cell["outputs"]]
        assert {o["output_type"] for o in outputs} <= {"stream", "execute_result", "display_data"}
        assert {o["name"] for o in outputs if o["output_type"] == "stream"} == {"stdout"}


def test_stored_outputs_are_those_of_a_fresh_run(fresh, stored, pictures_of):
    assert printed(stored) == printed(fresh)
    assert sum(bool(text) for text in printed(fresh)) >= 20
    sizes = [[Image.open(io.BytesIO(data)).size for data in pictures_of(notebook)] for notebook in (stored, fresh)]
    assert sizes[0] == sizes[1]


def test_cells_are_short_and_pictures_small(stored):
    assert max(len("".join(cell["source"]).splitlines()) for cell in code_cells(stored)) <= 10
    assert STORED.stat().st_size <= 300_000
    assert all("image/png" not in o.get("data", ()) for cell in code_cells(stored) for o in cell["outputs"])


def test_it_asks_before_it_tells_and_ends_in_exercises(stored):
    texts = ["".join(cell["source"]) for cell in stored["cells"] if cell["cell_type"] == "markdown"]
    assert "**The question of this lesson: " in texts[0]
    assert sum("**Predict:**" in text for text in texts) >= 2
    exercises = [tag for cell in code_cells(stored) for tag in cell["metadata"].get("tags", ())]
    assert exercises == ["exercise: by-hand", "exercise: product-rule", "exercise: one-step"]
    ends = [k for k, text in enumerate(texts) if text.startswith("## To remember")]
    assert len(ends) == 1
    assert texts[ends[0] + 1].startswith("## The second lesson")


def test_the_numbers_of_the_lesson(fresh):
    """By hand: (2w - 4)**2 from w = -3 with lr 0.05 leaves 0.6 of the distance; inverting a colour."""
    path = numbers_after(fresh, "w: ", 8)
    assert path == pytest.approx([2 - 5 * 0.6**k for k in range(8)], abs=5e-4)
    total = 0.8 * 0.9 - 0.4 * 0.5 + 0.3 * 0.1 + 0.2
    out = 1 / (1 + np.exp(-total))
    assert numbers_after(fresh, "z = ", 3) == pytest.approx([total, out, (out - 0.1) ** 2], abs=5e-5)
    slope = 2 * (out - 0.1) * out * (1 - out)
    found = [numbers_after(fresh, f"{name}: value", 2)[1] for name in ("w0", "w1", "w2", "bias")]
    assert found == pytest.approx([slope * x for x in (0.9, 0.5, 0.1, 1.0)], abs=5e-5)
    assert numbers_after(fresh, "-> [", 3) == pytest.approx([0.1, 0.5, 0.9], abs=0.06)


# ---- pixels


@pytest.mark.parametrize("name", NAMES)
def test_the_corners_are_background_and_a_good_part_is_not(pictures, name):
    picture, ground = pictures[name], 255 * np.array(rgb(LIGHT.background))
    for corner in (picture[0, 0], picture[0, -1], picture[-1, 0], picture[-1, -1]):
        assert np.abs(corner - ground).max() <= 1
    glow = np.abs(255 * np.array(rgb(LIGHT.glow)) - ground).max() + 2
    least = 0.15 if name == "one weight" else 0.2  # one number is a cube and no wall
    assert (np.abs(picture - ground).max(axis=2) > glow).mean() > least


def test_training_changes_the_picture_and_the_gradient_has_its_own(pictures):
    shots = [pictures[name] for name in ("before", "gradient", "after")]
    cubes = np.s_[120:400, 60:420]  # below the headline, above the legend
    for a, b in ((0, 1), (1, 2), (0, 2)):
        assert (np.abs(shots[a] - shots[b])[cubes].max(axis=2) > 40).mean() > 0.1


def legend_colours(picture, places):
    """The colours of the picture's own legend at `places`, 0 (left end) to 1; shape (places, 3)."""
    red, green, blue = np.moveaxis(picture, 2, 0)
    ends = []
    for y in range(int(0.7 * len(picture)), len(picture)):  # above it there may be a swatch
        warm, cool = np.flatnonzero(red[y] - blue[y] > 100), np.flatnonzero(blue[y] - np.minimum(red, green)[y] > 80)
        if len(warm) and len(cool) and cool[-1] - warm[0] > 150:
            ends.append((warm[0], cool[-1], y))  # from the orange end to the blue or violet one
    assert len(ends) >= 8
    left, right, row = np.median(ends, axis=0).astype(int)
    return picture[row, left + np.rint(np.clip(places, 0, 1) * (right - left)).astype(int)]


def legend_colour(picture, place):
    """The one at `place`."""
    return legend_colours(picture, [place])[0]


def faces(scene, size):
    """Where the top faces are, beside their numbers: pixels (x, y) by tensor, in C order. Any values will do."""
    with offscreen():
        bench = Workbench(scene, size, "light")
        spots = {}
        for tensor in bench.subject.tensors:
            plate = bench.layout.plate(tensor.name)
            beside = 0.6 * plate.half * (plate.axes[0] + plate.axes[1])
            tops = [plate.cell_centre_top(*divmod(k, plate.shape[1])) - beside for k in range(tensor.size)]
            spots[tensor.name] = bench.project(tops).astype(int)
    return spots


def check_faces(picture, spots, values):
    v = np.abs(values).max()
    for (x, y), value in zip(spots, values, strict=True):
        expected = legend_colour(picture, 0.5 + 0.5 * value / v)
        assert np.abs(picture[y, x] - expected).max() <= 4, value


def network_faces(size):
    net = nn.Network(3, 3, activation=nn.Sigmoid())
    data = np.eye(3), 1 - np.eye(3)
    run = sv.Run(net, nn.MSELoss(), optim.SGD(net.parameters(), lr=0.5), data=data, engine="numpy")
    names = ("r", "g", "b")
    panels = ColourCube(*data), LossCurve()
    found = faces(Scene("invert", run, data[0][0], data[1][0], names, names, panels), size)
    run.close()
    return np.concatenate([found["0.weight"], found["0.bias"]])


def size_of(picture):
    return picture.shape[1], picture.shape[0]


def test_the_face_of_one_weight_has_the_legends_colour(pictures):
    picture = pictures["one weight"]
    spots = faces(arrays_subject({"w": 1.0})[0], size_of(picture))["w"]
    check_faces(picture, spots, [-3.0])
    red, _, blue = picture[spots[0][1], spots[0][0]]
    assert red > blue + 100  # negative is orange, as the text says


def test_the_faces_of_the_path_have_the_colours_of_the_printed_numbers(fresh, pictures):
    picture = pictures["path"]
    spots = faces(arrays_subject({"w after 0 to 5 steps": np.ones(6)})[0], size_of(picture))
    check_faces(picture, next(iter(spots.values())), numbers_after(fresh, "w: ", 6))


def test_the_faces_of_the_network_have_the_colours_of_the_printed_numbers(fresh, pictures):
    spots = network_faces(size_of(pictures["before"]))
    tree = numbers_after(fresh, "network 3 -> 3", 12)  # a perceptron: three weights, a bias
    rows = np.reshape(tree, (3, 4))
    check_faces(pictures["before"], spots, [*rows[:, :3].ravel(), *rows[:, 3]])
    trained = [*numbers_after(fresh, "[[", 9), *numbers_after(fresh, "biases", 3)]
    check_faces(pictures["after"], spots, trained)


@pytest.mark.ci
def test_every_gradient_is_violet_since_all_are_positive(pictures):
    picture = pictures["gradient"]
    bar = legend_colours(picture, np.linspace(0.5, 1, 400))
    for x, y in network_faces(size_of(picture)):
        assert np.abs(bar - picture[y, x]).max(axis=1).min() <= 4
        assert picture[y, x][2] > picture[y, x][1] + 50
