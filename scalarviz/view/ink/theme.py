"""Colours and shading constants of the two themes, dark and light, and the colour maps: every colour on screen.

The stops of the maps depend on the background: on a dark one the neutral is dark, so small weights recede and large
ones glow; on a light one the neutral is white and cubes need edges.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field, fields, replace
from functools import cache
from math import isfinite
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...checks import text
from ...display import GROUND
from ...errors import UnknownNameError, listing, shown

ThemeName = Literal["dark", "light"]
Stops = tuple[str, ...]
STEPS = 256
"""Steps of a colour map, by which a colour of it is named."""


class Named(str):
    """A colour ``#rrggbb`` with its name: display lists store the name, so that a page can change the theme."""

    name: str = ""


class Shade(tuple[float, ...]):
    """A colour as three or four numbers in 0..1, with its name in display lists; "" for a colour of its own."""

    name: str = ""


def named(colour: str, name: str) -> Named:
    """Return a colour with its name."""
    found = Named(colour)
    found.name = name
    return found


def shade_of(parts: Iterable[float], name: str = "") -> Shade:
    """Return numbers in 0..1 as a colour with a name."""
    found = Shade(parts)
    found.name = name
    return found


def name_of(colour: object) -> str:
    """Return the name of a colour; "" if it has none."""
    return colour.name if isinstance(colour, Named | Shade) else ""


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

    def __post_init__(self) -> None:
        for one in fields(self):
            colour = getattr(self, one.name)
            if isinstance(colour, tuple):
                last = len(colour) - 1
                stops = tuple(named(stop, f"{one.name}@{round(STEPS * k / last)}") for k, stop in enumerate(colour))
                object.__setattr__(self, one.name, stops)
            elif isinstance(colour, str) and colour.startswith("#"):
                object.__setattr__(self, one.name, named(colour, one.name))


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


def mixed(colour: str | Shade, ground: str, share: float) -> Shade:
    """Return a `share` of a colour over a ground, as three floats in 0..1."""
    share, names = round(share, 2), (name_of(colour), name_of(ground))
    own = rgb(colour) if isinstance(colour, str) else colour[:3]
    parts = (share * a + (1.0 - share) * b for a, b in zip(own, rgb(ground), strict=True))
    return shade_of(parts, f"{names[0]}:{names[1]}:{share:g}" if all(names) else "")


def negative(said: str) -> bool:
    """Return whether a printed number, or a product of some, is below 0."""
    factors = said.replace("e\N{MINUS SIGN}", "")
    zero = any(not float(found.replace(",", "")) for found in re.findall(r"\d[\d.,]*", factors))
    return not zero and factors.count("\N{MINUS SIGN}") % 2 == 1


def hue(theme: Theme, said: str) -> str:
    """Return the colour of a printed delta or gradient: that of its sign on cubes."""
    return theme.gradient[0] if negative(said) else theme.gradient[4]


def chip_colour(theme: Theme) -> Shade:
    """Return the background of a delta."""
    return mixed(theme.gradient[3], theme.panel, 0.3)


def area_colour(theme: Theme, *, lit: bool) -> Shade:
    """Return the colour below a curve of the time bar, before or after the cursor."""
    return mixed(theme.text3, theme.panel, 0.3 if lit else 0.11)


# ---- Colour maps: from a position on the scale to a colour. Ranges are computed in `run.questions.ranges`.

Floats = NDArray[np.float64]
Bytes = NDArray[np.uint8]

TABLE_SIZE = STEPS + 1
"""Odd, so that zero, the quarters and both ends have an entry of their own and are exact."""

DIVERGING = ("weight", "gradient", "update", "difference")
OF_A_THEME = (*DIVERGING, "activation")
"""Maps that are other ones in another theme; their colours have names."""


@dataclass(frozen=True, eq=False)
class Colormap:
    """A colour scale as a table; between two entries colours are interpolated linearly, as in the shader."""

    name: str
    diverging: bool  # positions run over -1..1 with the neutral at 0, else over 0..1
    entries: Bytes = field(repr=False)  # from low to high, shape (257, 3), sRGB in 0..255
    stops: tuple[str, ...] = ()  # evenly spaced colours that made the table, as #rrggbb; empty for a sampled map

    def unit(self, t: ArrayLike) -> Floats:
        """Return positions `t` in this map's range as fractions 0..1 of the table, clipped at the ends."""
        position = np.asarray(t, np.float64)
        return np.clip(position * 0.5 + 0.5 if self.diverging else position, 0.0, 1.0)

    def __call__(self, t: ArrayLike) -> Floats:
        """Return the colours at `t`."""
        place = self.unit(t) * (TABLE_SIZE - 1)
        steps = np.arange(TABLE_SIZE)
        return np.stack([np.interp(place, steps, self.entries[:, k] / 255.0) for k in range(3)], axis=-1)

    def shade(self, t: float) -> Shade:
        """Return the colour at `t` under its name."""
        return self.shades(np.array([t]))[0]

    def shades(self, t: Floats) -> list[Shade]:
        """Return the colours at `t` (N,), each under the name of the nearest step."""
        colours, steps = self(t).tolist(), np.rint(STEPS * self.unit(t)).astype(int).tolist()
        return [shade_of(one, f"{self.name}@{step}" if self.name in OF_A_THEME else "")
                for one, step in zip(colours, steps, strict=True)]  # fmt: skip

    def bytes(self, t: ArrayLike) -> Bytes:
        """Return the colours at finite positions `t`, rounded to 0..255."""
        return np.rint(self(t) * 255.0).astype(np.uint8)


def _from_stops(name: str, stops: tuple[str, ...], diverging: bool) -> Colormap:
    at, grid = np.linspace(0.0, 1.0, len(stops)), np.linspace(0.0, 1.0, TABLE_SIZE)
    table = np.stack([np.interp(grid, at, channel) for channel in zip(*map(rgb, stops), strict=True)], axis=-1)
    return Colormap(name, diverging, np.rint(table * 255.0).astype(np.uint8), stops)


@cache
def _vispy_names() -> tuple[str, ...]:
    from vispy.color import get_colormaps  # heavy; only a named map needs it

    return tuple(sorted(get_colormaps()))


VIRIDIS = (
    "440154470d6048186a482374472d7b4536814240863f49893b528b375a8d33638d2f6a8e2c728e297a8e26818e23898e21908c"
    "1f988b1f9f8821a68528ae8031b57b3ebc744cc26c5dc9636ece5882d34c96d83fabdc32c0df24d5e21aeae51afde725"
)
"""33 of its colours, for pages written without vispy; interpolated, they are off by at most 2 of 255."""


def _sampled(name: str) -> Colormap:
    try:
        from vispy.color import get_colormap
    except ImportError:  # then only magnitudes can be shown
        return _from_stops("viridis", tuple(f"#{VIRIDIS[k : k + 6]}" for k in range(0, len(VIRIDIS), 6)), False)
    # A vispy map's own texture has few colours and gives steps; its values at our positions do not.
    # As a column: three of its maps (fire, hot, winter) take nothing else.
    table = np.asarray(get_colormap(name).map(np.linspace(0.0, 1.0, TABLE_SIZE)[:, None]))[:, :3]
    return Colormap(name, False, np.rint(np.clip(table, 0.0, 1.0) * 255.0).astype(np.uint8))


@cache
def _get(name: str, theme: str) -> Colormap:
    look = get_theme(theme)
    if name in DIVERGING:
        return _from_stops(name, getattr(look, name), True)
    if name == "activation":
        return _from_stops(name, look.activation, False)
    if name in ("grey", "gray"):  # brightness is the value, as in the per-weight lesson, on any background
        return _from_stops("grey", ("#000000", "#ffffff"), False)
    if name == "magnitude":
        return _sampled("viridis")
    if name in _vispy_names():
        return _sampled(name)
    names = dict.fromkeys((*DIVERGING, "magnitude", "activation", "grey", *_vispy_names()))
    raise UnknownNameError(f"colour map: got {shown(name)}; allowed: {listing(names)}")


def get_map(name: str, theme: str | Theme = "dark") -> Colormap:
    """Return the colour map of a quantity, ``grey``, or a map of vispy (``viridis``), for a background.

    Raises UnknownNameError for another name. Only the quantities' own maps differ with the theme.
    """
    return _get(text(name, "the colour map"), get_theme(theme).name)


CLASS_COLOURS = ("#56b4e9", "#e69f00", "#009e73", "#cc79a7", "#f0e442", "#d55e00", "#0072b2", "#999999")
"""Colours of up to eight classes, distinct for every kind of colour vision (Okabe and Ito, "Color
Universal Design", 2008; their black is a grey here)."""


def signed_shades(
    values: ArrayLike, span: tuple[float, float], theme: str | Theme = "dark", share: float = 1.0
) -> Bytes:
    """Return the colours of values in the signed map: orange at the low end of `span`, blue at the high end."""
    look, numbers = get_theme(theme), np.asarray(values, np.float64)
    low, high = span
    with np.errstate(invalid="ignore", over="ignore"):
        t = np.clip((numbers - low) / (high - low) * 2.0 - 1.0, -1.0, 1.0) * share
        place = np.rint((t * 0.5 + 0.5) * (TABLE_SIZE - 1))
    shades = get_map("weight", look).entries[np.nan_to_num(place).astype(np.intp)]
    return _checkered(shades, np.isnan(numbers), look)


def class_shades(outputs: ArrayLike, theme: str | Theme = "dark", share: float = 1.0, *, hard: bool = False) -> Bytes:
    """Return the colour of the likeliest class of `outputs` (..., n), paler if less sure; `hard`: as if certain."""
    look, numbers = get_theme(theme), np.asarray(outputs, np.float64)
    count = numbers.shape[-1]
    nan = np.asarray(np.isnan(numbers).any(axis=-1))
    sure = np.where(nan, 0.0, (np.nan_to_num(numbers).max(axis=-1) - 1 / count) / (1 - 1 / count))
    weight = share * (np.ones_like(sure) if hard else 0.25 + 0.75 * np.clip(sure, 0.0, 1.0))[..., None]
    colours = class_colours(count)[np.argmax(np.nan_to_num(numbers), axis=-1)]
    shades = np.rint(255 * (weight * colours + (1 - weight) * np.array(rgb(look.background)))).astype(np.uint8)
    return _checkered(shades, nan, look)


def class_colours(count: int) -> Floats:
    """Return the colours of `count` classes, shape (count, 3) in 0..1; they repeat beyond eight."""
    return np.array([rgb(CLASS_COLOURS[k % len(CLASS_COLOURS)]) for k in range(count)])


def _checkered(shades: Bytes, marked: NDArray[np.bool_], look: Theme) -> Bytes:
    if marked.any():
        parity = np.indices(marked.shape)[-2:].sum(axis=0) % 2
        marks = np.rint(255 * np.array([rgb(look.ink), rgb(look.paper)])).astype(np.uint8)
        shades = np.where(marked[..., None], marks[parity], shades)
    return shades


def luminance(colour: ArrayLike) -> Floats:
    """Return the relative luminance of sRGB colours in 0..1, shape (..., 3) -> (...) (WCAG 2.1)."""
    c = np.asarray(colour, np.float64)
    linear = np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4)
    return np.asarray(linear @ np.array([0.2126, 0.7152, 0.0722]))


def resolved(name: str, theme: Theme) -> Shade:
    """Return the colour of a name of `name_of` in a theme, as four floats; raise LookupError for another name.

    A name is ``#rrggbb``, a field of the theme, or ``map@step``. ``a:b:0.3`` mixes two of them, ``on a`` is text on
    one, and ``a/80`` has an alpha of 0x80 of 255.
    """
    said, _, alpha = name.partition("/")
    if said.startswith("on "):
        parts: tuple[float, ...] = rgb(text_colour(resolved(said[3:], theme)[:3]))
    elif ":" in said:
        over, ground, share = said.split(":")
        ends = (resolved(one, theme) for one in (over, ground))
        parts = tuple(float(share) * a + (1 - float(share)) * b for a, b in zip(*ends, strict=True))[:3]
    elif "@" in said:
        map_name, _, step = said.partition("@")
        parts = tuple(get_map(map_name, theme).entries[int(step)] / 255.0)
    else:
        parts = rgb(said if said.startswith("#") else getattr(theme, said))
    return shade_of((*parts, int(alpha or "ff", 16) / 255), said)


def text_colour(background: ArrayLike) -> str:
    """Return the colour of text on a cube of colour `background` (sRGB in 0..1, shape (3,))."""
    colour, name = "#0c0e11" if float(luminance(background)) > 0.22 else "#ffffff", name_of(background)
    return named(colour, f"on {name}" if name else colour)


def displayed(colours: ArrayLike) -> NDArray[np.float32]:
    """Return outputs as displayable colours, (..., 3) in 0..1: clipped; one channel is grey; NaN is black."""
    array = np.nan_to_num(np.asarray(colours, dtype=np.float32), nan=0.0, posinf=1.0, neginf=0.0)
    return np.clip(np.repeat(array, 3 if array.shape[-1] == 1 else 1, axis=-1), 0.0, 1.0)


def hexed(colour: ArrayLike) -> str:
    """Return three numbers in 0..1 as ``"#rrggbb"``; numbers outside are clipped; NaN gives "no colour"."""
    numbers = [float(part) for part in np.asarray(colour, float)[:3]]
    if not all(map(isfinite, numbers)):
        return "no colour"
    return "#" + "".join(f"{round(255 * min(max(part, 0.0), 1.0)):02x}" for part in numbers)
