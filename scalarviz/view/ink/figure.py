"""`Figure`: a drawing with a size of its own, such as a graph or a plot: whole as SVG, or placed on a sketch."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from html import escape
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from .listed import address_of
from .sketch import (
    Box,
    Cells,
    Colour,
    Curve,
    Lines,
    Path,
    Point,
    Polygon,
    Rect,
    Shape,
    Sketch,
    Spot,
    SpritesItem,
    TextItem,
    meet,
    rgba,
    spot_at,
)
from .theme import hexed

AROUND = 100.0
"""Most pixels that a part extends beyond its spot."""


@dataclass(slots=True)
class Figure:
    """A drawing with a size; its parts go from back to front, and the first one is the background."""

    width: float
    height: float
    parts: list[Sketch] = field(default_factory=list)

    def __iter__(self) -> Iterator[Shape | TextItem]:
        """Iterate over all shapes and texts, part by part."""
        return (record for part in self.parts for record in (*part.shapes, *part.texts))

    def spot(self, at: Point) -> Spot | None:
        """Return the spot under a point of the figure, or None."""
        return spot_at((spot for part in self.parts for spot in part.spots), at)

    def placed(
        self, *, scale: float = 1.0, at: Point = (0.0, 0.0), ground: bool = True, window: Box | None = None
    ) -> Sketch:
        """Return the figure on one sketch, or the part of it in a window."""
        sketch = Sketch(clip=window)
        for part in self.parts[0 if ground else 1 :]:
            x, y, wide, high = part.spots[0].box if part.spots else (0.0, 0.0, self.width, self.height)
            there = at[0] + x * scale, at[1] + y * scale, wide * scale, high * scale
            if window is not None and not meet(there, window, AROUND * scale):
                continue
            sketch.shapes += [_moved(shape, scale, at) for shape in part.shapes]
            for text in part.texts:
                put = replace(text, x=at[0] + text.x * scale, y=at[1] + text.y * scale, size=text.size * scale)
                if window is None or meet((put.left, put.y - put.size, put.width, put.size), window):
                    sketch.texts.append(put)
        return sketch


def _moved(shape: Shape, scale: float, at: Point) -> Shape:
    """Return a shape in another place and size."""
    left, top = at
    if isinstance(shape, Rect):
        return Rect(left + shape.x * scale, top + shape.y * scale, shape.width * scale, shape.height * scale,
                    shape.fill, shape.stroke, shape.border * scale, shape.radius * scale)  # fmt: skip
    if isinstance(shape, Cells):
        rects = shape.rects * scale + np.array([left, top, 0.0, 0.0], np.float32)
        rings = None if shape.rings is None else shape.rings * scale
        return replace(shape, rects=rects, radius=shape.radius * scale, rings=rings)
    if isinstance(shape, Lines):
        starts, ends = (points * scale + np.array(at) for points in (shape.starts, shape.ends))
        return replace(shape, starts=starts, ends=ends, width=shape.width * scale)
    points = shape.points(scale) if isinstance(shape, Curve) else shape.points
    points = (points * scale + np.array(at)).astype(np.float32)
    if isinstance(shape, Polygon):
        return Polygon(points, shape.fill)
    return Path(points, shape.colour, shape.width * scale)


# ---- `View`: the part and size of a figure in a window; it can be moved and zoomed, but never lost.

LEAST, MOST = 0.05, 4.0
"""Least and largest scale."""
LARGEST = 1.5
"""Largest scale for the whole figure."""
SEEN = 60.0
"""Pixels of the figure that stay in the window."""


@dataclass(frozen=True, slots=True)
class View:
    """The visible part of a figure in a window."""

    figure: tuple[float, float]
    window: tuple[float, float]  # width and height of figure and window
    scale: float
    left: float
    top: float  # the figure's corner in the window

    @classmethod
    def whole(cls, figure: tuple[float, float], window: tuple[float, float]) -> View:
        """Return a view of the whole figure in the middle."""
        scale = max(min(window[0] / figure[0], window[1] / figure[1], LARGEST), LEAST)
        left, top = ((room - scale * side) / 2 for room, side in zip(window, figure, strict=True))
        return cls(figure, window, scale, left, top)

    @classmethod
    def readable(cls, figure: tuple[float, float], window: tuple[float, float], least: float) -> View:
        """Return a view of the whole figure, never enlarged; below the scale `least`, of its upper left part."""
        scale = max(min(window[0] / figure[0], window[1] / figure[1], 1.0), least)
        return cls(figure, window, scale, 0.0, 0.0).within()

    @property
    def fitting(self) -> float:
        """The scale at which the whole figure is visible."""
        return min(room / side for room, side in zip(self.window, self.figure, strict=True))

    def within(self, by: Point = (0.0, 0.0)) -> View:
        """Return the view moved by `by`, without empty space; a figure smaller than the window is in the middle."""
        kept = []
        for at, move, side, room in zip((self.left, self.top), by, self.figure, self.window, strict=True):
            free = room - side * self.scale
            kept.append(free / 2 if free > 0 else min(max(at + move, free), 0.0))
        return replace(self, left=kept[0], top=kept[1])

    def to_figure(self, at: Point) -> Point:
        """Return a point of the window in pixels of the figure."""
        return (at[0] - self.left) / self.scale, (at[1] - self.top) / self.scale

    def moved(self, by: Point) -> View:
        """Return the view moved by pixels of the window."""
        return self._clamped(self.left + by[0], self.top + by[1], self.scale)

    def zoomed(self, factor: float, at: Point) -> View:
        """Return the view zoomed around the point `at`."""
        scale = min(max(self.scale * factor, LEAST), MOST)
        x, y = self.to_figure(at)
        return self._clamped(at[0] - x * scale, at[1] - y * scale, scale)

    def showing(self, figure: tuple[float, float], part: tuple[float, float, float, float]) -> View:
        """Return a view of another figure with a part (left, top, right, bottom) whole and centred; never enlarged."""
        left, top, right, bottom = part
        wide, high = right - left + 2 * SEEN, bottom - top + 2 * SEEN
        scale = max(min(self.scale, self.window[0] / wide, self.window[1] / high), LEAST)
        middle = (left + right) / 2, (top + bottom) / 2
        x, y = (room / 2 - scale * at for room, at in zip(self.window, middle, strict=True))
        return replace(self, figure=figure)._clamped(x, y, scale)

    def _clamped(self, left: float, top: float, scale: float) -> View:
        """Return the view with a part of the figure inside the window."""
        kept = []
        for at, side, room in zip((left, top), self.figure, self.window, strict=True):
            seen = min(SEEN, side * scale, room)
            kept.append(min(max(at, seen - side * scale), room - seen))
        return View(self.figure, self.window, scale, kept[0], kept[1])


# ---- Figures and whole pictures as SVG. No font is needed: each text has its measured width.

FONT = "'Open Sans', 'Segoe UI', 'Helvetica Neue', Arial, sans-serif"
DARK = ':is([data-jp-theme-light="false"],.vscode-dark,[theme="dark"],[data-theme="dark"])'
LIGHT = ':is([data-jp-theme-light="true"],.vscode-light,[theme="light"],[data-theme="light"])'
"""Selectors of the theme in pages of JupyterLab, Visual Studio Code, Colab and Sphinx."""
_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_SPACES = re.compile("^ +|  +| +$")
Record = Shape | TextItem
ANCHORS = {"left": "start", "middle": "middle", "right": "end"}


def svg_of(figure: Figure, *, dark: Figure | None = None, title: str = "") -> str:
    """Return a figure as SVG text."""
    colours = _Colours(figure, dark)
    parts = [*_head((figure.width, figure.height), title, colours.name), *colours.style()]
    for part in figure.parts:
        inner = "".join(_record(record, colours) for record in (*part.shapes, *part.texts))
        tips = "".join(f"<title>{_plain(spot.tip)}</title>" for spot in part.spots if spot.tip)
        parts.append(f"<g>{tips}{inner}</g>")
    return "\n".join([*parts, "</svg>"])


def picture_svg(
    size: Point, ground: tuple[Colour, Colour], layers: Iterable[tuple[Sequence[Sketch], Box | None]], title: str,
    pixels: tuple[int, int],
) -> str:  # fmt: skip
    """Return many sketches on a canvas of `size` as SVG text, shown on so many `pixels`."""
    colours, body, wide, high = _Colours(), list[str](), _number(size[0]), _number(size[1])
    stops = "".join(_stop(k / 8, ground) for k in range(9))
    middle, reach = (f"{_number(x * size[0])} {_number(y * size[1])}" for x, y in ((0.42, 0.45), (0.58, 0.62)))
    body += [
        '<defs><radialGradient id="glow" cx="0" cy="0" r="1" gradientUnits="userSpaceOnUse" '
        f'gradientTransform="translate({middle}) scale({reach})">{stops}</radialGradient>',
        '<radialGradient id="ball"><stop offset="0" stop-opacity="0"/><stop offset="1" stop-opacity="0.13"/>'
        f'</radialGradient></defs><rect width="{wide}" height="{high}" fill="url(#glow)"/>',
    ]
    for number, (sketches, box) in enumerate(layers):
        cut = ""
        if box is not None:
            body.append(f'<clipPath id="c{number}"><rect{_frame(Rect(*box), 0.0)}/></clipPath>')
            cut = f' clip-path="url(#c{number})"'
        body += [f"<g{cut}>", *_painted(sketches, colours, f"p{number}-"), "</g>"]
    return "\n".join([*_head(size, title, pixels=pixels), *body, "</svg>"])


def _stop(away: float, ground: tuple[Colour, Colour]) -> str:
    """Return a stop of the glow, which falls to exactly the background, as in the shader."""
    share = (1 - away) ** 2 * (1 + 2 * away)
    rim, glow = (np.array(rgba(colour)) for colour in ground)
    return f'<stop offset="{_number(away)}" stop-color="{hexed(rim + share * (glow - rim))}"/>'


def _painted(sketches: Sequence[Sketch], colours: _Colours, name: str) -> Iterator[str]:
    """Yield shapes, pictures, sprites, shapes over these, discs, texts."""
    clips = {part.clip: f"{name}clip{k}" for k, part in enumerate(sketches) if part.clip is not None}
    yield from (f'<clipPath id="{clip}"><rect{_frame(Rect(*box), 0.0)}/></clipPath>' for box, clip in clips.items())

    def inside(part: Sketch, records: Sequence[Record]) -> str:
        """Return the records of a sketch, clipped to its box."""
        drawn = "\n".join(_record(record, colours) for record in records)
        return f'<g clip-path="url(#{clips[part.clip]})">{drawn}</g>' if drawn and part.clip else drawn

    yield from filter(None, (inside(part, part.shapes) for part in sketches if not part.over))
    yield from (_image(item.rect, item.pixels, item.linear) for part in sketches for item in part.images)
    for number, item in enumerate(item for part in sketches for item in part.small):
        yield from _sprites(item, f"{name}{number}")
    yield from filter(None, (inside(part, part.tops) for part in sketches))
    for balls in (balls for part in sketches for balls in part.points):
        for (x, y), own in zip(balls.centres.tolist(), balls.colours.tolist(), strict=True):
            at = f'<circle cx="{_number(x)}" cy="{_number(y)}" r="{_number(balls.diameter / 2)}"'
            yield f'{at} fill="{hexed(own)}"/>{at} fill="url(#ball)"/>'
    texts = ((part, [text for text in part.texts if text.text]) for part in sketches)
    yield from filter(None, (inside(*both) for both in texts))


def _image(rect: Box, pixels: NDArray[np.uint8], linear: bool, name: str = "") -> str:
    named = f' id="{name}"' if name else ""
    look = ' preserveAspectRatio="none"' + ("" if linear else ' style="image-rendering:pixelated"')
    return f'<image{named}{_frame(Rect(*rect), 0.0)}{look} href="{address_of(pixels, "PNG")}"/>'


def _sprites(item: SpritesItem, name: str) -> Iterator[str]:
    """Yield one picture, and for each sprite a window on a part of it."""
    high, wide = item.pixels.shape[:2]
    yield f"<defs>{_image((0.0, 0.0, float(wide), float(high)), item.pixels, item.linear, name)}</defs>"
    cells = item.cells * np.array([wide, high, wide, high])
    for rect, cell in zip(item.rects.tolist(), cells.tolist(), strict=True):
        part = " ".join(map(_number, cell))
        yield f'<svg{_frame(Rect(*rect), 0.0)} viewBox="{part}" preserveAspectRatio="none"><use href="#{name}"/></svg>'


def _head(size: Point, title: str, name: str = "", pixels: Point | None = None) -> Iterator[str]:
    (width, height), (wide, high) = map(_number, size), map(_number, pixels or size)
    classed = f' class="{name}"' if name else ""
    yield (
        f'<svg xmlns="http://www.w3.org/2000/svg"{classed} width="{wide}" height="{high}" '
        f'viewBox="0 0 {width} {height}" role="img" font-family="{FONT}" style="max-width:100%;height:auto">'
    )
    yield f"<title>{_plain(title)}</title>"


class _Colours:
    """Colours as attributes; with two themes, those of the light one, and classes for the style sheet."""

    def __init__(self, light: Iterable[Record] = (), dark: Iterable[Record] | None = None) -> None:
        self.name = "scalarviz-graph"
        self._pairs: dict[tuple[str, str], str] = {}
        self._of: dict[int, dict[str, str]] = {}
        if dark is None:
            return
        for record, other in zip(light, dark, strict=True):
            pairs = dict(zip(_colours_of(record), _colours_of(other), strict=True))
            names = {one: self._pairs.setdefault((one, two), str(len(self._pairs))) for one, two in pairs.items()}
            self._of[id(record)] = names
        self.name += f"-{crc32(repr(list(self._pairs)).encode()):08x}"  # two pictures on one page

    def style(self) -> Iterator[str]:
        """Yield the style of two themes: the system's, or that of the page if a notebook states one."""
        if self._pairs:
            pages = self._rules(DARK, 1) + self._rules(LIGHT, 0)
            yield f"<style>@media (prefers-color-scheme:dark){{{self._rules('', 1)}}}{pages}</style>"

    def _rules(self, page: str, look: int) -> str:
        """Return the colours of one theme for pages that match a selector."""
        before = f"{page} .{self.name}".strip()
        return "".join(
            f"{before} .f{name}{{fill:{pair[look]}}}{before} .s{name}{{stroke:{pair[look]}}}"
            for pair, name in self._pairs.items()
        )

    def paint(self, record: Record, kind: str, colour: Colour | None) -> str:
        """Return `` fill="#..."``, its opacity, and its class."""
        if colour is None:
            return f' {kind}="none"'
        said, alpha = hexed(rgba(colour)), rgba(colour)[3]
        name = self._of.get(id(record), {}).get(said)
        faint = f' {kind}-opacity="{_number(alpha)}"' if alpha < 1 else ""
        return f' {kind}="{said}"{faint}' + (f' class="{kind[0]}{name}"' if name else "")


def _colours_of(record: Record) -> Sequence[str]:
    if isinstance(record, Rect):
        return [hexed(rgba(colour)) for colour in (record.fill, record.stroke) if colour is not None]
    if isinstance(record, Cells):
        return []
    return [hexed(rgba(record.fill if isinstance(record, Polygon) else record.colour))]


def _record(record: Record, colours: _Colours) -> str:
    match record:
        case Rect(fill=fill, stroke=None):
            return f"<rect{_frame(record, 0.0)}{colours.paint(record, 'fill', fill)}/>"
        case Rect(fill=fill, stroke=stroke, border=border):
            # two, so that each has a style of its own
            inner = "" if fill is None else f"<rect{_frame(record, 0.0)}{colours.paint(record, 'fill', fill)}/>"
            line = f' stroke-width="{_number(border)}"{colours.paint(record, "stroke", stroke)}'
            return f'{inner}<rect{_frame(record, border / 2)} fill="none"{line}/>'
        case Cells(rects, fills, radius, rings):
            frames = [0.0] * len(rects) if rings is None else rings.tolist()
            cells = [
                Rect(x, y, wide, high, None if frame else fill, fill if frame else None, frame or 1.0,
                     min(radius, wide / 2, high / 2))
                for (x, y, wide, high), fill, frame in zip(rects.tolist(), fills.tolist(), frames, strict=True)
            ]  # fmt: skip
            return "".join(_record(cell, colours) for cell in cells)
        case Lines(starts, ends, width=width):
            pairs = zip(starts.tolist(), ends.tolist(), strict=True)
            way = "".join(f"M{_point(start)}L{_point(end)}" for start, end in pairs)
            return f'<path d="{way}"{_stroke(record, width, colours, round_ends=record.round_ends)}/>'
        case Path(points, width=width):
            way = " ".join(map(_point, points.tolist()))
            return f'<polyline points="{way}" stroke-linejoin="round"{_stroke(record, width, colours)}/>'
        case Curve(pieces, width=width):
            way = f"M{_point(pieces[0][0])}" + "".join(f"C{' '.join(map(_point, piece[1:]))}" for piece in pieces)
            return f'<path d="{way}"{_stroke(record, width, colours)}/>'
        case Polygon(points, fill):
            corners = " ".join(map(_point, points.tolist()))
            return f'<polygon points="{corners}"{colours.paint(record, "fill", fill)}/>'
        case TextItem():
            return _letters(record, colours)


def _stroke(record: Lines | Path | Curve, width: float, colours: _Colours, *, round_ends: bool = True) -> str:
    ends = ' stroke-linecap="round"' if round_ends else ""
    return f' fill="none"{ends} stroke-width="{_number(width)}"{colours.paint(record, "stroke", record.colour)}'


def _letters(text: TextItem, colours: _Colours) -> str:
    weight = ' font-weight="700"' if text.bold else ""
    return (
        f'<text x="{_number(text.x)}" y="{_number(text.y)}" font-size="{_number(text.size)}"{weight} '
        f'text-anchor="{ANCHORS[text.anchor]}" textLength="{_number(text.width)}" lengthAdjust="spacingAndGlyphs"'
        f"{colours.paint(text, 'fill', text.colour)}>{_plain(_SPACES.sub(_kept, text.text))}</text>"
    )


def _kept(spaces: re.Match[str]) -> str:
    """Return non-breaking spaces for spaces that SVG would collapse."""
    return "\N{NO-BREAK SPACE}" * len(spaces[0])


def _plain(text: str) -> str:
    """Return a text for XML, with a replacement character for each character that XML forbids."""
    return escape(_NO_XML.sub("\N{REPLACEMENT CHARACTER}", text))


def _frame(rect: Rect, inset: float) -> str:
    x, y = _number(rect.x + inset), _number(rect.y + inset)
    width, height = _number(rect.width - 2 * inset), _number(rect.height - 2 * inset)
    radius = f' rx="{_number(rect.radius - inset)}"' if rect.radius else ""
    return f' x="{x}" y="{y}" width="{width}" height="{height}"{radius}'


def _point(point: Sequence[float]) -> str:
    return f"{_number(point[0])},{_number(point[1])}"


def _number(value: float) -> str:
    """Return a number with at most two decimals."""
    return f"{value:.2f}".rstrip("0").rstrip(".")
