"""The outline above a weight: network, layer, tensor, neuron, row, column, weight. A click selects one of them."""

from __future__ import annotations

from collections.abc import Sequence

from ..draw.places import LABEL
from ..draw.text import measure
from .page import Page
from .parts import Part

HEIGHT = 20.0
_SHORTER = (("row", "row"), ("column", "column"), ("neuron", "neuron"), ("weight", "one"), ("network", "all"),
            ("layer", "layer"))  # fmt: skip
_BETWEEN = {"neuron": " › ", "row": " · ", "column": " · "}


def draw_crumbs(page: Page, parts: Sequence[Part], selected: str) -> None:
    """One line; where it is too long parts lose their numbers, then the first ones go.

    A weight that is selected itself has its name above.
    """
    parts = [part for part in parts if part.kind != "weight" or selected != "weight"] or parts
    names = [part.short for part in parts]
    for kind, shorter in _SHORTER:
        if _width(parts, names) <= page.width:
            break
        names = [shorter if p.kind == kind else n for p, n in zip(parts, names, strict=True)]
    first = 0
    while first < len(parts) - 1 and _width(parts[first:], names[first:]) > page.width:
        first += 1
    x, base = page.x, page.y + 14
    for number, (part, name) in enumerate(zip(parts[first:], names[first:], strict=True)):
        if number:
            between = _BETWEEN.get(part.kind, " › ")
            page.sketch.text(x, base, between, LABEL, page.theme.flow)
            x += measure(between, LABEL)
        chosen = part.kind == selected
        wide = measure(name, LABEL, chosen)
        over = page.spot((x - 2, page.y, wide + 4, HEIGHT), "part", part.kind)
        colour = page.theme.text1 if chosen or over else page.theme.text3
        page.sketch.text(x, base, name, LABEL, colour, bold=chosen)
        if over:
            page.sketch.line((x, base + 3), (x + wide, base + 3), page.theme.text1, 1.0)
        x += wide
    page.y += HEIGHT


def _width(parts: Sequence[Part], names: Sequence[str]) -> float:
    signs = sum(measure(_BETWEEN.get(part.kind, " › "), LABEL) for part in parts[1:])
    return sum(measure(name, LABEL, True) for name in names) + signs
