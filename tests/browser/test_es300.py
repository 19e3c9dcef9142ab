"""The window's shaders in a browser: every one that can come is compiled and linked by WebGL 2."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from scalarviz.errors import InputError, UnknownNameError
from scalarviz.run.questions.ranges import KNEE
from scalarviz.view import glsl
from scalarviz.view.cubes.shader import Variant, fragment, vertex
from scalarviz.view.cubes.slab import COLOURS, SAMPLES
from scalarviz.view.page.scripts import HEADS, RULES, es300, pair, stripped, translated

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
    programs = [pair(vertex(), fragment(variant, knee=KNEE, table=COLOURS)) for variant in variants()]
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
    texts = [vertex(), *(fragment(v, knee=KNEE, table=COLOURS) for v in variants())]
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


@pytest.mark.parametrize(
    "line",
    ["gl_FragData[0] = c;", "vec4 c = texture2DLod(s, p, 0.0);", "vec4 c = texture1D(s, p);", "x = gl_TexCoord[0];",
     "#version 110", "attribute vec3 a;", "c = shadow2D(s, p);", "gl_FrontColor = c;", "x = gl_NormalMatrix * n;"],
)  # fmt: skip
def test_a_word_without_a_rule_is_refused(line):
    with pytest.raises(InputError, match="has no rule in a fragment shader"):
        es300(f"void main() {{ }}\n{line}\n", "fragment")


def test_a_vertex_shader_has_no_colour_to_write():
    with pytest.raises(InputError, match="gl_FragColor"):
        es300("void main() { gl_FragColor = vec4(1.0); }", "vertex")


def test_words_in_comments_and_in_other_words_are_left_alone():
    text = "// texture2D and varying\nfloat varying_1 = my_texture2D(); /* gl_FragData */ int x;\n"
    assert translated(text, "fragment") == "float varying_1 = my_texture2D(); int x;\n"


@pytest.mark.parametrize("function", [translated, es300])
def test_another_kind_is_refused(function):
    with pytest.raises(UnknownNameError, match="allowed: vertex, fragment"):
        function("void main() {}", "geometry")


def test_an_unknown_program_is_named():
    with pytest.raises(UnknownNameError, match="'glitter' is not known; allowed: tray, flow"):
        glsl.program("glitter")


@pytest.mark.parametrize(("kind", "rule"), [(kind, k) for kind in RULES for k in range(len(RULES[kind]))])
def test_each_rule_is_needed(monkeypatch, kind, rule):
    text = vertex() if kind == "vertex" else fragment(Variant(), knee=KNEE, table=COLOURS)
    assert es300(text, kind).startswith("#version 300 es\n")
    monkeypatch.setitem(RULES, kind, [kept for k, kept in enumerate(RULES[kind]) if k != rule])
    with pytest.raises(InputError, match="has no rule"):
        es300(text, kind)
