"""The program of a page as text: the scripts of ``js/`` joined, the style sheets, and the window's shaders.

An inline script cannot import from a file, and nothing may be fetched; so the modules that one needs are put before it
and what makes them modules is taken out. Two rules for their text make that safe, and a test reads every file for
them: an import is one line, ``import { a, b } from "./name.js";``, and whatever stands at the top of a file has a name
that no other file has there, exported or not.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Literal

from ...errors import InputError, UnknownNameError, listing, shown
from .. import glsl
from ..cubes.atlas import LEAST
from ..ink.theme import THEMES

FOLDER = Path(__file__).with_name("js")

_IMPORT = re.compile(r'^import \{ ([\w$]+(?:, [\w$]+)*) \} from "\./([\w-]+\.js)";$', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:async )?function\b|class\b|const\b|let\b)", re.MULTILINE)
_LEFT = re.compile(r"^(?:import|export)\b.*$", re.MULTILINE)


def script_names() -> list[str]:
    """The files in ``js/``, sorted."""
    return sorted(path.name for path in FOLDER.glob("*.js"))


@cache
def script(name: str) -> str:
    """The text of one file."""
    if name not in script_names():
        raise UnknownNameError(f"script {shown(name)} is not known; allowed: {listing(script_names())}")
    return (FOLDER / name).read_text(encoding="utf-8")


def imports_of(text: str) -> dict[str, list[str]]:
    """Names that a file takes from others, by the file that has them."""
    return {source: names.split(", ") for names, source in _IMPORT.findall(text)}


def order(*entries: str) -> list[str]:
    """The files that the entries need, each after those that it imports."""
    found: list[str] = []

    def visit(name: str) -> None:
        if name not in found:
            for other in imports_of(script(name)):
                visit(other)
            found.append(name)

    for entry in entries:
        visit(entry)
    return found


def plain(text: str) -> str:
    """One file's text without what makes it a module."""
    found = _EXPORT.sub("", _IMPORT.sub("", text))
    left = _LEFT.search(found)
    if left:
        raise InputError(
            f"scripts.plain: {shown(left[0])} cannot be joined; allowed: "
            'import { a, b } from "./name.js"; and export before function, class, const, let'
        )
    return found.strip() + "\n"


@cache
def joined(*entries: str) -> str:
    """One text of those files and all that they import: an inline script, or, with an ``export default``, a module."""
    return '"use strict";\n' + "\n".join(plain(script(file)) for file in order(*entries))


_COMMENTS = re.compile(r"^[ \t]*(?:/\*\*?[^\n]*?\*/|/\*\*.*?\*/|//[^\n]*)[ \t]*\n", re.MULTILINE | re.DOTALL)


def bare(text: str) -> str:
    """A script without comment lines, indentation and empty lines; no text between backticks may go over lines."""
    return re.sub(r"\n\s*", "\n", _COMMENTS.sub("", text)).strip() + "\n"


def bare_style(text: str) -> str:
    """A style sheet without comments, line ends and the spaces that say nothing."""
    text = re.sub(r"\s+", " ", re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL))
    return re.sub(r" ?([{};,]) ?", r"\1", text).replace(": ", ":").strip()


@cache
def read(name: str) -> str:
    """The text of a file beside this one, such as ``"cell.css"``; empty where there is none."""
    path = Path(__file__).with_name(name)
    return path.read_text(encoding="utf-8") if path.exists() else ""


def colours_of() -> str:
    """The themes' colours as variables of a style sheet."""
    names = ("background", "glow", "panel", "tray", "border", "text1", "text2", "text3", "grid", "selection", "pulse")
    colours = {name: " ".join(f"--{part}: {getattr(theme, part)};" for part in names) for name, theme in THEMES.items()}
    return "\n".join(
        f":root[data-theme={name}] {{ color-scheme: {name}; {said} "
        f"--gradient: {THEMES[name].gradient[3]}; --negative: {THEMES[name].gradient[0]}; }}"
        for name, said in colours.items()
    )


# ---- The window's shaders as a browser's: GLSL 1.20 into GLSL ES 3.00, by a few rules for words.

PARTS = ("common", "marks", "walk", "average")
"""Of the fragment shader of the cubes; ``fragmentOf`` of ``cubes.js`` joins them as `cubes.slab.fragment` does."""
WHOLE = ("glow", "tray", "flow", "bloom")


def programs() -> dict[str, str]:
    """Texts by name: ``head``, ``vertex`` and parts of the cubes, of which the browser makes variants; whole others."""
    found = {"head": HEADS["fragment"], "vertex": es300(glsl.read("cubes_vertex"), "vertex"), "least": f"{LEAST:g}"}
    found |= {name: translated(glsl.read(f"cubes_{name}"), "fragment") for name in PARTS}
    for name in WHOLE:
        vertex, fragment = glsl.program(name)
        found |= {f"{name}_vertex": es300(vertex, "vertex"), name: es300(fragment, "fragment")}
    return found


Kind = Literal["vertex", "fragment"]

RULES: dict[str, tuple[tuple[str, str], ...]] = {
    "vertex": ((r"\battribute\b", "in"), (r"\bvarying\b", "out")),
    "fragment": ((r"\btexture2D\b", "texture"), (r"\bvarying\b", "in"), (r"\bgl_FragColor\b", "o_colour")),
}
"""What a word becomes, by the kind of shader."""

_HEAD = "#version 300 es\nprecision highp float; precision highp int; precision highp sampler2D;\n"
HEADS = {"vertex": _HEAD, "fragment": f"{_HEAD}out vec4 o_colour;\n"}
"""What stands before the text: the first line has to be the version."""

_VERSION = re.compile(r"^[ \t]*#version[ \t]+120[ \t]*\n", re.MULTILINE)
_COMMENT = re.compile(r"[ \t]*(?://[^\n]*|/\*.*?\*/)", re.DOTALL)


def stripped(text: str) -> str:
    """A shader without comments, indentation and empty lines; what it computes stays."""
    lines = (re.sub(r"[ \t]+", " ", line).strip() for line in _COMMENT.sub("", text).splitlines())
    return "\n".join(filter(None, lines)) + "\n"


def translated(text: str, kind: Kind) -> str:
    """A shader of GLSL 1.20, or a part of one, in the words of ES 3.00, without the head."""
    found = stripped(_VERSION.sub("", text))
    for pattern, word in RULES[kind]:
        found = re.sub(pattern, word, found)
    return found


def es300(text: str, kind: Kind) -> str:
    """A whole shader in GLSL ES 3.00, as WebGL 2 compiles it."""
    return HEADS[kind] + translated(text, kind)
