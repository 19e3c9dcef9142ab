"""The program of a page as text: the scripts of ``js/`` joined, the style sheets, and the window's shaders.

An inline script cannot import files, and a page loads nothing. Needed modules are therefore put before it, without
their import and export statements. Two rules make this safe, and a test checks every file: an import is one line,
``import { a, b } from "./name.js";``, and top-level names are unique over all files.
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
    """Return the names of the files in ``js/``, sorted."""
    return sorted(path.name for path in FOLDER.glob("*.js"))


@cache
def script(name: str) -> str:
    """Return the text of one script."""
    if name not in script_names():
        raise UnknownNameError(f"script {shown(name)} is not known; allowed: {listing(script_names())}")
    return (FOLDER / name).read_text(encoding="utf-8")


def imports_of(text: str) -> dict[str, list[str]]:
    """Return the names that a file imports, by source file."""
    return {source: names.split(", ") for names, source in _IMPORT.findall(text)}


def order(*entries: str) -> list[str]:
    """Return the files that the entries need, each after its imports."""
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
    """Return a file's text without import and export statements."""
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
    """Return these files and all their imports as one text: an inline script, or, with a default export, a module."""
    return '"use strict";\n' + "\n".join(plain(script(file)) for file in order(*entries))


_COMMENTS = re.compile(r"^[ \t]*(?:/\*\*?[^\n]*?\*/|/\*\*.*?\*/|//[^\n]*)[ \t]*\n", re.MULTILINE | re.DOTALL)
_REMARKS = re.compile(r"[ \t]+// [^\n\"'`]*$", re.MULTILINE)
"""Comments behind code; with a quotation mark it could be a text."""


def bare(text: str) -> str:
    """Return a script without comments, indentation and empty lines; template strings must not span lines."""
    return re.sub(r"\n\s*", "\n", _REMARKS.sub("", _COMMENTS.sub("", text))).strip() + "\n"


def bare_style(text: str) -> str:
    """Return a style sheet without comments, line ends and needless spaces."""
    text = re.sub(r"\s+", " ", re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL))
    return re.sub(r" ?([{};,]) ?", r"\1", text).replace(": ", ":").strip()


@cache
def read(name: str) -> str:
    """Return the text of a file in this folder, such as ``"cell.css"``; '' if there is none."""
    path = Path(__file__).with_name(name)
    return path.read_text(encoding="utf-8") if path.exists() else ""


def colours_of() -> str:
    """Return the themes' colours as variables of a style sheet."""
    names = ("background", "glow", "panel", "tray", "border", "text1", "text2", "text3", "grid", "selection", "pulse")
    colours = {name: " ".join(f"--{part}: {getattr(theme, part)};" for part in names) for name, theme in THEMES.items()}
    return "\n".join(
        f":root[data-theme={name}] {{ color-scheme: {name}; {said} "
        f"--gradient: {THEMES[name].gradient[3]}; --negative: {THEMES[name].gradient[0]}; }}"
        for name, said in colours.items()
    )


# ---- The window's shaders for a browser: GLSL 1.20 to GLSL ES 3.00 by a few word rules.

PARTS = ("common", "marks", "walk", "average")
"""Parts of the cubes' fragment shader; ``fragmentOf`` of ``cubes.js`` joins them like `cubes.slab.fragment`."""
WHOLE = ("glow", "tray", "flow", "bloom")


def programs() -> dict[str, str]:
    """Return shader texts by name: ``head``, ``vertex`` and parts of the cubes, and whole other shaders."""
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
"""Word replacements by kind of shader."""

_HEAD = "#version 300 es\nprecision highp float; precision highp int; precision highp sampler2D;\n"
HEADS = {"vertex": _HEAD, "fragment": f"{_HEAD}out vec4 o_colour;\n"}
"""Text before a shader: the first line must be the version."""

_VERSION = re.compile(r"^[ \t]*#version[ \t]+120[ \t]*\n", re.MULTILINE)
_COMMENT = re.compile(r"[ \t]*(?://[^\n]*|/\*.*?\*/)", re.DOTALL)


def stripped(text: str) -> str:
    """Return a shader without comments, indentation and empty lines."""
    lines = (re.sub(r"[ \t]+", " ", line).strip() for line in _COMMENT.sub("", text).splitlines())
    return "\n".join(filter(None, lines)) + "\n"


def translated(text: str, kind: Kind) -> str:
    """Return a GLSL 1.20 shader, or a part of one, in ES 3.00, without the head."""
    found = stripped(_VERSION.sub("", text))
    for pattern, word in RULES[kind]:
        found = re.sub(pattern, word, found)
    return found


def es300(text: str, kind: Kind) -> str:
    """Return a whole shader in GLSL ES 3.00, for WebGL 2."""
    return HEADS[kind] + translated(text, kind)
