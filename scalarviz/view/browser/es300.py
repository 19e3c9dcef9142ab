"""The window's shaders as a browser's: GLSL 1.20 into GLSL ES 3.00, by a few rules for words.

Everything else means the same in both, so there is one text of each shader (`view.glsl`). A word that ES 3.00 lacks and
no rule turns into another is an error here, not in somebody's browser.
"""

from __future__ import annotations

import re
from typing import Literal

from ...errors import InputError, UnknownNameError, listing, shown

Kind = Literal["vertex", "fragment"]

RULES: dict[str, tuple[tuple[str, str], ...]] = {
    "vertex": ((r"\battribute\b", "in"), (r"\bvarying\b", "out")),
    "fragment": ((r"\btexture2D\b", "texture"), (r"\bvarying\b", "in"), (r"\bgl_FragColor\b", "o_colour")),
}
"""What a word becomes, by the kind of shader."""

HEADS = {
    "vertex": "#version 300 es\nprecision highp float; precision highp int; precision highp sampler2D;\n",
    "fragment": "#version 300 es\nprecision highp float; precision highp int; precision highp sampler2D;\n"
    "out vec4 o_colour;\n",
}
"""What stands before the text: the first line has to be the version."""

_VERSION = re.compile(r"^[ \t]*#version[ \t]+120[ \t]*\n", re.MULTILINE)
_COMMENT = re.compile(r"[ \t]*(?://[^\n]*|/\*.*?\*/)", re.DOTALL)
# of GLSL 1.20 (specification, chapters 3, 4, 7 and 8), what ES 3.00 does not have or has under another name
_GONE = re.compile(
    r"\b(?:attribute|varying|(?:texture|shadow)[123]D\w*|textureCube\w*|ftransform|noise[1234]|"
    r"gl_(?:FragColor|FragData|Vertex|Normal|Color|SecondaryColor|MultiTexCoord\d|FogCoord|ClipVertex|FrontColor|"
    r"BackColor|FrontSecondaryColor|BackSecondaryColor|TexCoord|FogFragCoord|ModelView\w*|Projection\w*|NormalMatrix|"
    r"NormalScale|TextureMatrix\w*|DepthRangeParameters|Clip\w*|Point|Light\w*|Front\w*Material|Back\w*Material|Fog))\b"
    r"|^[ \t]*#version\b",
    re.MULTILINE,
)


def bare(text: str) -> str:
    """A shader without comments, indentation and empty lines; what it computes stays."""
    lines = (re.sub(r"[ \t]+", " ", line).strip() for line in _COMMENT.sub("", text).splitlines())
    return "\n".join(filter(None, lines)) + "\n"


def translated(text: str, kind: Kind) -> str:
    """A shader, or a part of one, in the words of ES 3.00, without the head.

    Parameters
    ----------
    text : str
        GLSL 1.20; preprocessor lines are kept.
    kind : {"vertex", "fragment"}

    Raises
    ------
    UnknownNameError
        Another kind.
    InputError
        A word that ES 3.00 lacks and no rule knows.
    """
    if kind not in RULES:
        raise UnknownNameError(f"kind of shader {shown(kind)} is not known; allowed: {listing(RULES)}")
    found = bare(_VERSION.sub("", text))
    for pattern, word in RULES[kind]:
        found = re.sub(pattern, word, found)
    left = _GONE.search(found)
    if left:
        raise InputError(
            f"es300: {shown(left[0].strip())} of GLSL 1.20 has no rule in a {kind} shader; "
            f"write it without, or add a rule to {__name__}"
        )
    return found


def es300(text: str, kind: Kind) -> str:
    """A whole shader in GLSL ES 3.00, as WebGL 2 compiles it; see :func:`translated`."""
    return HEADS[kind] + translated(text, kind) if kind in HEADS else translated(text, kind)


def pair(vertex: str, fragment: str) -> tuple[str, str]:
    """Both shaders of a program: ``pair(*glsl.program("tray"))``."""
    return es300(vertex, "vertex"), es300(fragment, "fragment")
