"""The window's shaders in a browser: every one that can come is compiled and linked by WebGL 2."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from scalarviz.errors import UnknownNameError
from scalarviz.run.questions.ranges import KNEE
from scalarviz.view import glsl
from scalarviz.view.cubes.shader import Variant, fragment
from scalarviz.view.cubes.slab import COLOURS, SAMPLES
from scalarviz.view.page.scripts import HEADS, es300, stripped, translated

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


def test_every_variant_of_the_cubes_is_compiled_and_linked(page):
    programs = [pair(glsl.read("cubes_vertex"), fragment(variant, knee=KNEE, table=COLOURS)) for variant in variants()]
    assert len(programs) == 8 * (3 * (2 + SAMPLES) + 1)
    assert len(set(programs)) == len(programs)
    assert compiled(page, programs) == []


def test_every_other_program_is_compiled_and_linked(page):
    files = {path.stem for path in glsl_files()}
    assert {f"{name}_fragment" for name in glsl.PROGRAMS} == {n for n in files if n.endswith("_fragment")}
    assert compiled(page, [pair(*glsl.program(name)) for name in glsl.PROGRAMS]) == []


def test_a_program_that_is_none_is_told(page):
    good = pair(*glsl.program("tray"))
    assert len(compiled(page, [good, (good[0], good[1].replace("vec4", "vec5")), (good[0], "#version 120\n")])) == 2


def glsl_files():
    return sorted(Path(glsl.__file__).parent.glob("*.glsl"))


def test_every_file_is_ascii_and_read_by_somebody():
    """What is no comment must be ASCII in ES 3.00; a file that nobody reads would be a shader that nobody tests."""
    texts = [glsl.read("cubes_vertex"), *(fragment(v, knee=KNEE, table=COLOURS) for v in variants())]
    texts += [text for name in glsl.PROGRAMS for text in glsl.program(name)]
    for path in glsl_files():
        text = path.read_text(encoding="utf-8")
        assert text.isascii(), path.name
        assert any(text in whole for whole in texts), path.name


def test_only_the_words_of_the_rules_differ():
    text = fragment(Variant(detail=True), knee=KNEE, table=COLOURS)
    before = stripped(text).removeprefix("#version 120\n").split()
    after = es300(text, "fragment").removeprefix(HEADS["fragment"]).split()
    changed = {(a, b) for a, b in zip(before, after, strict=True) if a != b}
    assert ("varying", "in") in changed
    assert all(a.replace("texture2D", "texture").replace("gl_FragColor", "o_colour") == b or a == "varying"
               for a, b in changed)  # fmt: skip


def test_words_in_comments_and_in_other_words_are_left_alone():
    text = "// texture2D and varying\nfloat varying_1 = my_texture2D(); /* gl_FragData */ int x;\n"
    assert translated(text, "fragment") == "float varying_1 = my_texture2D(); int x;\n"


def test_an_unknown_program_is_named():
    with pytest.raises(UnknownNameError, match="'glitter' is not known; allowed: tray, flow"):
        glsl.program("glitter")
