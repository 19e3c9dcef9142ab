"""What the card gets in a browser against what it gets from the window: boxes, triangles, means, texts of shaders."""

from __future__ import annotations

import base64
import itertools

import numpy as np
import pytest

from scalarviz.run.questions.ranges import KNEE, Range
from scalarviz.view import glsl
from scalarviz.view.cubes.atlas import Atlas
from scalarviz.view.cubes.shader import Variant, fragment, indices, vertices
from scalarviz.view.cubes.slab import COLOURS, SAMPLES, block_means
from scalarviz.view.ink.maps import get_map
from scalarviz.view.ink.theme import DARK
from scalarviz.view.page.document import document_of, laid_out
from scalarviz.view.page.scripts import es300
from scalarviz.view.shown.subject import subject_of

SIZE = (640, 400)
SHAPES = {
    "matrix": {"w": (3, 4)},
    "several": {"a": (40, 30), "b": (7,), "c": (12, 12)},
    "folded": {"a": (1, 300), "b": (100,)},
    "kernels": {"a": (5, 3, 3, 3), "b": (4, 2, 5)},
    "unequal": {"a": (1,), "b": (40, 3), "c": (1, 6400)},
    "wide atlas": {"a": (100, 100), "b": (90, 90)},
}


def arrays(name):
    rng = np.random.default_rng(1)
    return {key: rng.normal(size=shape).astype(np.float32) for key, shape in SHAPES[name].items()}


def numbers(text, kind):
    return np.frombuffer(base64.b64decode(text), kind)


CODED = "array => btoa(Array.from(new Uint8Array(array.buffer), byte => String.fromCharCode(byte)).join(''))"


@pytest.mark.parametrize("name", SHAPES)
def test_boxes_and_triangles_are_the_windows(scripts, name):
    document = document_of(arrays(name), SIZE)
    page = scripts("boxes.js")
    table = numbers(
        page.evaluate(f"d => ({CODED})(boxNumbers(d.plates, d.atlas[0]))", document), np.float32
    ).reshape(8 * len(document["plates"]), -1)  # fmt: skip
    triangles = page.evaluate("d => [...boxTriangles(d.plates)]", document)
    layout = laid_out(subject_of(arrays(name)), SIZE, DARK).layout
    wanted = vertices(layout, Atlas(layout.plates))
    columns = [n for n in wanted.dtype.names if n != "a_range"]
    np.testing.assert_array_equal(table, np.concatenate([wanted[n].reshape(len(wanted), -1) for n in columns], axis=1))
    own = [sorted(map(turned, np.reshape(triangles, (-1, 3)).tolist()))]
    assert own == [sorted(map(turned, indices(layout, list(range(len(layout.plates)))).reshape(-1, 3).tolist()))]


def turned(triangle):
    """The same triangle, its least corner first: which way round it goes is what counts."""
    at = triangle.index(min(triangle))
    return tuple(triangle[at:] + triangle[:at])


@pytest.mark.parametrize("scale", ["linear", "symlog", "log"])
def test_mean_colours_of_blocks_are_the_windows_to_the_byte(ask, scale):
    rng = np.random.default_rng(2)
    chosen = Range(1e-3, 1.0, "log") if scale == "log" else Range.symmetric(1.0, scale)
    table = get_map("weight", "light").bytes(2.0 * np.linspace(0, 1, COLOURS) - 1.0)
    cases, wanted = [], []
    for _ in range(60):
        cells, block = rng.integers(1, 40, 2), int(rng.integers(2, 9))
        values = np.float32(rng.normal(0, 0.7, cells))
        marks = rng.choice([0, 1, 2, 4, 8, 16, 32, 40], cells, p=[0.79] + [0.03] * 7).astype(np.uint8)
        if rng.random() < 0.5:
            marks[:] = 0
        cases.append([values.astype(float).ravel().tolist(), marks.ravel().tolist(), cells.tolist(), block])
        wanted.append(block_means(values, marks, chosen, table, block))
    found = ask(
        "means.js",
        """([range, table, cases]) => cases.map(([values, marks, cells, block]) => [...blockMeans(
            new Float32Array(values), new Uint8Array(marks), cells, range, new Uint8Array(table), block)])""",
        [{"low": chosen.low, "high": chosen.high, "scale": scale}, table.ravel().tolist(), cases],
    )
    for got, want in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(np.reshape(got, want.shape), want)


def test_the_page_puts_every_shader_together_as_the_window_does(scripts):
    """The document carries parts; what is made of them is the text that the test of all variants compiles."""
    document = document_of({"w": np.ones((3, 4), np.float32)}, SIZE)
    asked = []
    for flags, tiled, curved in itertools.product((False, True), repeat=3):
        for sized, own in ((False, False), (True, False), (True, True)):
            marks = {"flags": flags, "tiled": tiled, "curved": curved, "sized": sized, "own": own}
            asked += [{"detail": True, "samples": 0, "means": False, **marks}]
            asked += [{"detail": False, "samples": n, "means": False, **marks} for n in range(SAMPLES + 1)]
        asked.append({"detail": False, "samples": 4, "means": True, "flags": flags, "tiled": tiled, "curved": curved,
                      "sized": False, "own": False})  # fmt: skip
    found = scripts("cubes.js").evaluate(
        "([document, variants]) => [document.glsl.vertex, ...variants.map((variant) => fragmentOf(document, variant))]",
        [document, asked],
    )
    assert found[0] == es300(glsl.read("cubes_vertex"), "vertex")
    for got, variant in zip(found[1:], asked, strict=True):
        wanted = es300(fragment(Variant(**variant), knee=KNEE, table=COLOURS), "fragment")
        assert sorted(got.splitlines()) == sorted(wanted.splitlines()), variant
        assert without_defines(got) == without_defines(wanted), variant


def without_defines(text):
    return [line for line in text.splitlines() if not line.startswith("#define")]
