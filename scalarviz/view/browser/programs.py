"""The shaders of a document: those of the cubes in parts, from which the browser makes the variants that it needs."""

from __future__ import annotations

from .. import glsl
from ..cubes.shader import vertex
from ..cubes.sizes import LEAST
from .es300 import HEADS, es300, pair, translated

PARTS = ("common", "marks", "walk", "average")
"""Of the fragment shader of the cubes; ``fragmentOf`` of ``cubes.js`` joins them as `cubes.shader.fragment` does."""
WHOLE = ("glow", "tray", "flow")


def programs() -> dict[str, str]:
    """Texts in GLSL ES 3.00 by name: ``head``, ``vertex`` and parts of the cubes, pairs of the others."""
    found = {name: translated(glsl.read(f"cubes_{name}"), "fragment") for name in PARTS}
    for name in WHOLE:
        found[f"{name}_vertex"], found[name] = pair(*glsl.program(name))
    return {"head": HEADS["fragment"], "vertex": es300(vertex(), "vertex"), "least": f"{LEAST:g}", **found}
