"""Colours, maps and quantities of a picture as plain data, for a page to choose from."""

from __future__ import annotations

import base64
from dataclasses import asdict
from typing import Any

from ..cubes.scale import OWN, RATIO, Quantity
from ..ink.maps import get_map
from ..ink.theme import THEMES, Theme

COLOURS = (
    "background", "glow", "past", "panel", "tray", "border", "text1", "text2", "text3", "flow", "grid", "selection",
    "pulse", "ink", "paper",
)  # fmt: skip
"""Of a theme, one by one; its maps stand apart."""


def themes() -> dict[str, dict[str, Any]]:
    """Every colour of both looks, and how faces are shaded."""
    return {name: {**{c: getattr(theme, c) for c in COLOURS}, "shading": asdict(theme.shading)}
            for name, theme in THEMES.items()}  # fmt: skip


def maps() -> dict[str, dict[str, dict[str, Any]]]:
    """The colour maps of all quantities and of activations, by name and theme."""
    names = dict.fromkeys([*(quantity.cmap for quantity in OWN.values()), "activation"])
    return {name: map_of(name) for name in names}


def map_of(name: str) -> dict[str, dict[str, Any]]:
    """One map by theme."""
    return {look: _map(name, theme) for look, theme in THEMES.items()}


def _map(name: str, theme: Theme) -> dict[str, Any]:
    """The colours it is made from, or where there are none its table of bytes (257, 3)."""
    made = get_map(name, theme)
    if made.stops:
        return {"diverging": made.diverging, "stops": list(made.stops)}
    return {"diverging": made.diverging, "table": base64.b64encode(made.table().tobytes()).decode()}


def quantities(names: tuple[str, ...]) -> list[dict[str, Any]]:
    """What cubes can show, in the order of `names`."""
    return [quantity_spec(OWN[name]) for name in names]


def quantity_spec(one: Quantity) -> dict[str, Any]:
    """A number of each weight: its name and words, its map and its scale."""
    return {"name": one.name, "words": one.words, "map": one.cmap, "scale": one.scale, "decades": one.decades,
            "range": [RATIO.low, RATIO.high] if one.name == "update/value" else None}  # fmt: skip
