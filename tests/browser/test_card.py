"""What the card gets in a browser: the window's boxes, triangles and means, and its shaders, compiled by WebGL 2."""

from __future__ import annotations

import itertools
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest

from scalarviz.run.questions.ranges import KNEE, Range
from scalarviz.view import glsl
from scalarviz.view.cubes.atlas import Atlas
from scalarviz.view.cubes.slab import COLOURS, SAMPLES, Variant, block_means, fragment, indices, vertices
from scalarviz.view.ink.theme import get_map
from scalarviz.view.page.document import document_of, layout_of
from scalarviz.view.page.scripts import es300
from scalarviz.view.workbench import Workbench

from .players import SIZE

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


def test_boxes_and_triangles_are_the_windows(scripts):
    page = scripts("boxes.js")
    for name in SHAPES:
        bench = Workbench(arrays(name), SIZE)
        document, layout = document_of(bench.subject, layout_of(bench)), bench.layout
        table, triangles = page.evaluate(
            "d => [[...boxNumbers(d.plates, d.atlas[0])], [...boxTriangles(d.plates)]]", document
        )
        wanted = vertices(layout, Atlas(layout.plates))
        columns = [wanted[n].reshape(len(wanted), -1) for n in wanted.dtype.names if n != "a_range"]
        np.testing.assert_array_equal(np.float32(table).reshape(len(wanted), -1), np.concatenate(columns, axis=1), name)
        there = indices(layout, list(range(len(layout.plates)))).reshape(-1, 3).tolist()
        assert sorted(map(turned, np.reshape(triangles, (-1, 3)).tolist())) == sorted(map(turned, there)), name


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
        "cubes.js",
        """([range, table, cases]) => cases.map(([values, marks, cells, block]) => [...blockMeans(
            new Float32Array(values), new Uint8Array(marks), cells, range, new Uint8Array(table), block)])""",
        [{"low": chosen.low, "high": chosen.high, "scale": scale}, table.ravel().tolist(), cases],
    )
    for got, want in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(np.reshape(got, want.shape), want)


COMPILE = """programs => {
    const gl = document.createElement("canvas").getContext("webgl2");
    return programs.map(([vertex, fragment]) => {
        const program = gl.createProgram();
        for (const [kind, text] of [[gl.VERTEX_SHADER, vertex], [gl.FRAGMENT_SHADER, fragment]]) {
            const shader = gl.createShader(kind);
            gl.shaderSource(shader, text); gl.compileShader(shader);
            if (!gl.getShaderParameter(shader, gl.COMPILE_STATUS)) return gl.getShaderInfoLog(shader) || "lost";
            gl.attachShader(program, shader); gl.deleteShader(shader);
        }
        gl.linkProgram(program);
        const said = gl.getProgramParameter(program, gl.LINK_STATUS) ? "" : gl.getProgramInfoLog(program) || "lost";
        gl.deleteProgram(program);
        return said;
    });
}"""


def pair(vertex, fragment):
    return es300(vertex, "vertex"), es300(fragment, "fragment")


def compiled(page, programs):
    """What the browser says against each program; nothing for those that it takes."""
    said = page.evaluate(COMPILE, [list(program) for program in programs])
    assert len(said) == len(programs)
    return [line for line in said if line]


def variants():
    """Every variant that the cubes can ask for: own looks come with sizes, and block means with neither."""
    for flags, tiled, curved in itertools.product((False, True), repeat=3):
        marks = {"flags": flags, "tiled": tiled, "curved": curved}
        for sized, own in ((False, False), (True, False), (True, True)):
            yield Variant(detail=True, sized=sized, own=own, **marks)
            for samples in range(SAMPLES + 1):
                yield Variant(samples=samples, sized=sized, own=own, **marks)
        yield Variant(samples=SAMPLES, means=True, **marks)


def test_every_variant_of_the_cubes_is_compiled_and_linked_and_the_page_puts_it_together_as_the_window_does(scripts):
    bench = Workbench({"w": np.ones((3, 4), np.float32)}, SIZE)
    page, document = scripts("cubes.js"), document_of(bench.subject, layout_of(bench))
    every = [*variants()]
    programs = [pair(glsl.read("cubes_vertex"), fragment(variant, knee=KNEE, table=COLOURS)) for variant in every]
    assert len(programs) == len(set(programs)) == 8 * (3 * (2 + SAMPLES) + 1)
    assert compiled(page, programs) == []
    vertex, *found = page.evaluate(
        "([document, variants]) => [document.glsl.vertex, ...variants.map((variant) => fragmentOf(document, variant))]",
        [document, [asdict(variant) for variant in every]],
    )
    assert vertex == programs[0][0]
    for got, (_, wanted) in zip(found, programs, strict=True):
        assert sorted(got.splitlines()) == sorted(wanted.splitlines())
        assert without_defines(got) == without_defines(wanted)


def without_defines(text):
    return [line for line in text.splitlines() if not line.startswith("#define")]


def test_every_other_program_is_compiled_and_linked(page):
    files = [*Path(glsl.__file__).parent.glob("*.glsl")]
    names = [f.name.removesuffix("_fragment.glsl") for f in files if "_fragment" in f.name]
    assert all(file.read_text(encoding="utf-8").isascii() for file in files)  # some drivers take nothing else
    programs = [pair(*glsl.program(name)) for name in names]
    assert compiled(page, programs) == []
    good = programs[0]
    assert len(compiled(page, [good, (good[0], good[1].replace("vec4", "vec5")), (good[0], "#version 120\n")])) == 2
