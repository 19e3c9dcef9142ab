"""Colours and shading constants of the two themes, dark and light: the one place for every colour on screen.

The stops of the colour maps are here too, because they depend on the background: on a dark one the neutral is dark, so
small weights recede and large ones glow; on a light one the neutral is white and cubes need edges.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from typing import Literal

from ...checks import text
from ...display import GROUND
from ...errors import UnknownNameError, listing, shown

ThemeName = Literal["dark", "light"]
Stops = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Shading:
    """Factors on the colour of a cube's value; its main face, towards the camera, is never shaded."""

    rim_top: float  # the rim of the main face
    rim_side: float
    side_front: float  # the side towards the viewer
    side_other: float
    foot: float  # further factor at the foot of a side face, reached linearly
    shadow: float  # of the contact shadow on the tray; 0: none


@dataclass(frozen=True, slots=True)
class Theme:
    """Every colour of one theme, as ``#rrggbb``."""

    name: ThemeName
    background: str
    glow: str
    past: str  # the glow while older weights are shown
    panel: str
    tray: str
    border: str
    text1: str
    text2: str
    text3: str
    flow: str
    grid: str
    weight: Stops  # of the diverging maps: at -V, -V/2, 0, V/2, V
    gradient: Stops
    update: Stops
    difference: Stops
    activation: Stops  # from low to high
    selection: str
    pulse: str
    ink: str  # with `paper`, the colours of a mark that must be visible on any cube
    paper: str
    shading: Shading
    presenter: bool = False  # for a lecture hall: larger type (`boxes.PRESENTER`), no small print, pressed keys


DARK = Theme(
    name="dark",
    background=GROUND["dark"][0], glow="#1b1e24", past="#20263a", panel="#191c21", tray="#1d2026", border="#2b3038",
    text1="#f2f4f7", text2=GROUND["dark"][1], text3="#8791a0", flow="#5a6370", grid="#2a2f37",
    weight=("#ffc76e", "#c8651a", "#2b2e35", "#1d6dcf", "#74c8ff"),
    gradient=("#ffb45e", "#a9591d", "#2b2a33", "#6a4ac0", "#cdb6ff"),
    update=("#ffe566", "#b08f1a", "#2c2d31", "#0f8fb0", "#6fe3f5"),
    difference=("#ff9a8c", "#a8261b", "#2d2c31", "#19cbaa", "#a4f7e4"),
    activation=("#1c1e22", "#ffffff"),
    selection="#ffffff", pulse="#c9b0ff", ink="#0c0e11", paper="#e9ebef",
    shading=Shading(0.58, 0.50, 0.74, 0.54, 0.72, 0.55),
)  # fmt: skip

LIGHT = Theme(
    name="light",
    background=GROUND["light"][0], glow="#ffffff", past="#e6ecf8", panel="#ffffff", tray="#ecedea", border="#d5d7d3",
    text1="#14161a", text2=GROUND["light"][1], text3="#666e79", flow="#8a929c", grid="#d9dbd8",
    weight=("#a84300", "#ef9c52", "#ffffff", "#69a7e0", "#0a4c99"),
    gradient=("#a85a00", "#ecab5f", "#ffffff", "#a58fdc", "#4d2a9e"),
    update=("#8a6a00", "#dcbc3c", "#ffffff", "#55b0d2", "#00627f"),
    difference=("#9c1a10", "#e2493a", "#ffffff", "#8fefdd", "#0a6f5e"),
    activation=("#ffffff", "#1c1e22"),
    selection="#14161a", pulse="#5b36b0", ink="#14161a", paper="#ffffff",
    shading=Shading(0.70, 0.62, 0.86, 0.74, 0.88, 0.16),
)  # fmt: skip

THEMES: dict[str, Theme] = {"dark": DARK, "light": LIGHT}


def get_theme(theme: str | Theme = "dark") -> Theme:
    """Return the theme of a name; a :class:`Theme` is returned unchanged. Raises UnknownNameError for another name."""
    if isinstance(theme, Theme):
        return theme
    if text(theme, "the theme") not in THEMES:
        raise UnknownNameError(f"theme: got {shown(theme)}; allowed: {listing(THEMES)}")
    return THEMES[theme]


def presenting(theme: str | Theme = "dark", presenter: bool = True) -> Theme:
    """Return the theme for a presenter; unchanged without `presenter`."""
    look = get_theme(theme)
    return replace(look, presenter=True) if presenter else look


@cache
def rgb(colour: str) -> tuple[float, float, float]:
    """Return ``"#rrggbb"`` as three floats in 0..1."""
    return tuple(int(colour[k : k + 2], 16) / 255.0 for k in (1, 3, 5))  # type: ignore[return-value]


def mixed(colour: str, ground: str, share: float) -> tuple[float, float, float]:
    """Return a `share` of a colour over a ground, as three floats in 0..1."""
    return tuple(share * a + (1.0 - share) * b for a, b in zip(rgb(colour), rgb(ground), strict=True))  # type: ignore[return-value]


def negative(said: str) -> bool:
    """Return whether a printed number is below 0."""
    return said.lstrip(" (").startswith("\N{MINUS SIGN}")


def hue(theme: Theme, said: str) -> str:
    """Return the colour of a printed delta or gradient: that of its sign on cubes."""
    return theme.gradient[0] if negative(said) else theme.gradient[4]


def chip_colour(theme: Theme) -> tuple[float, float, float]:
    """Return the background of a delta."""
    return mixed(theme.gradient[3], theme.panel, 0.3)
