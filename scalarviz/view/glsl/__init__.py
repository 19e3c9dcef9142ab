"""The shaders' text: GLSL 1.20 in files, read by the window and by what makes a page of them (`view.page.scripts`).

``cubes_*`` are the parts that `view.cubes.slab` puts together, in variants. Every other program is two files,
``NAME_vertex`` and ``NAME_fragment`` (the glow has the vertex shader of images); those of the flat ink (shapes, images,
points, text, the glow) have ``place`` before their vertex shader. Files are read when a program is made, each once.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

_PLACED = ("shape", "image", "point", "text", "glow")
_VERTEX_OF = {"glow": "image"}  # a picture as large as the ground


@cache
def read(name: str) -> str:
    """The text of the file ``NAME.glsl``."""
    return Path(__file__).with_name(f"{name}.glsl").read_text(encoding="utf-8")


def program(name: str) -> tuple[str, str]:
    """Vertex and fragment shader of a program that comes in one form."""
    vertex = read(f"{_VERTEX_OF.get(name, name)}_vertex")
    return read("place") + vertex if name in _PLACED else vertex, read(f"{name}_fragment")
