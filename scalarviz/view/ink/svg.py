"""Figures and whole pictures as SVG. No font is needed: each text has the width that was reckoned with."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from html import escape
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from .figure import Figure
from .listed import address_of
from .maps import hexed
from .sketch import (
    Box,
    Cells,
    Colour,
    Curve,
    Lines,
    Path,
    Point,
    PointsItem,
    Polygon,
    Rect,
    Shape,
    Sketch,
    SpritesItem,
    TextItem,
    rgba,
)

FONT = "'Open Sans', 'Segoe UI', 'Helvetica Neue', Arial, sans-serif"
DARK = ':is([data-jp-theme-light="false"],.vscode-dark,[theme="dark"],[data-theme="dark"])'
LIGHT = ':is([data-jp-theme-light="true"],.vscode-light,[theme="light"],[data-theme="light"])'
"""How the pages of JupyterLab, Visual Studio Code, Colab and Sphinx say which look they have."""
_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_SPACES = re.compile("^ +|  +| +$")
Record = Shape | TextItem
ANCHORS = {"left": "start", "middle": "middle", "right": "end"}


def svg_of(figure: Figure, *, dark: Figure | None = None, title: str = "") -> str:
    """The text of a picture."""
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
    """The text of a picture of many sketches, which lie on `size` and are shown on so many `pixels`."""
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
    """The glow falls to exactly the ground, as the shader's does."""
    share = (1 - away) ** 2 * (1 + 2 * away)
    rim, glow = (np.array(rgba(colour)) for colour in ground)
    return f'<stop offset="{_number(away)}" stop-color="{hexed(rim + share * (glow - rim))}"/>'


def _painted(sketches: Sequence[Sketch], colours: _Colours, name: str) -> Iterator[str]:
    """Shapes, pictures, small pictures, shapes over these, discs, texts."""
    clips = {part.clip: f"{name}clip{k}" for k, part in enumerate(sketches) if part.clip is not None}
    yield from (f'<clipPath id="{clip}"><rect{_frame(Rect(*box), 0.0)}/></clipPath>' for box, clip in clips.items())

    def inside(part: Sketch, records: Sequence[Record]) -> str:
        """Records of a sketch, as far as they lie in its clip."""
        drawn = "\n".join(_record(record, colours) for record in records)
        return f'<g clip-path="url(#{clips[part.clip]})">{drawn}</g>' if drawn and part.clip else drawn

    yield from filter(None, (inside(part, part.shapes) for part in sketches if not part.over))
    yield from (_image(item.rect, item.pixels, item.linear) for part in sketches for item in part.images)
    for number, item in enumerate(item for part in sketches for item in part.small):
        yield from _sprites(item, f"{name}{number}")
    yield from filter(None, (inside(part, part.tops) for part in sketches))
    for ball in (ball for part in sketches for ball in part.points):
        yield from _discs(ball)
    yield from filter(None, (inside(part, part.texts) for part in sketches))


def _image(rect: Box, pixels: NDArray[np.uint8], linear: bool, name: str = "") -> str:
    named = f' id="{name}"' if name else ""
    look = ' preserveAspectRatio="none"' + ("" if linear else ' style="image-rendering:pixelated"')
    return f'<image{named}{_frame(Rect(*rect), 0.0)}{look} href="{address_of(pixels, "PNG")}"/>'


def _sprites(item: SpritesItem, name: str) -> Iterator[str]:
    """One picture, and a window on a part of it for each."""
    high, wide = item.pixels.shape[:2]
    yield f"<defs>{_image((0.0, 0.0, float(wide), float(high)), item.pixels, item.linear, name)}</defs>"
    cells = item.cells * np.array([wide, high, wide, high])
    for rect, cell in zip(item.rects.tolist(), cells.tolist(), strict=True):
        part = " ".join(map(_number, cell))
        yield f'<svg{_frame(Rect(*rect), 0.0)} viewBox="{part}" preserveAspectRatio="none"><use href="#{name}"/></svg>'


def _discs(item: PointsItem) -> Iterator[str]:
    """Balls."""
    for (x, y), own in zip(item.centres.tolist(), item.colours.tolist(), strict=True):
        at = f'<circle cx="{_number(x)}" cy="{_number(y)}" r="{_number(item.diameter / 2)}"'
        yield f'{at} fill="{hexed(own)}"/>{at} fill="url(#ball)"/>'


def _head(size: Point, title: str, name: str = "", pixels: Point | None = None) -> Iterator[str]:
    (width, height), (wide, high) = map(_number, size), map(_number, pixels or size)
    classed = f' class="{name}"' if name else ""
    yield (
        f'<svg xmlns="http://www.w3.org/2000/svg"{classed} width="{wide}" height="{high}" '
        f'viewBox="0 0 {width} {height}" role="img" font-family="{FONT}" style="max-width:100%;height:auto">'
    )
    yield f"<title>{_plain(title)}</title>"


class _Colours:
    """Colours as attributes; where there are two looks, those of the light one, and classes for the style sheet."""

    def __init__(self, light: Iterable[Record] = (), dark: Iterable[Record] | None = None) -> None:
        self.name = "scalarviz-graph"
        self._pairs: dict[tuple[str, str], str] = {}
        self._of: dict[int, dict[str, str]] = {}
        if dark is None:
            return
        for record, other in zip(light, dark, strict=True):
            pairs = dict(zip(_colours_of(record), _colours_of(other), strict=True))
            self._of[id(record)] = {
                one: self._pairs.setdefault((one, two), str(len(self._pairs))) for one, two in pairs.items()
            }
        self.name += f"-{crc32(repr(list(self._pairs)).encode()):08x}"  # two pictures on one page

    def style(self) -> Iterator[str]:
        """The two looks: that of the system, and that of the page where a notebook says what it has."""
        if self._pairs:
            pages = self._rules(DARK, 1) + self._rules(LIGHT, 0)
            yield f"<style>@media (prefers-color-scheme:dark){{{self._rules('', 1)}}}{pages}</style>"

    def _rules(self, page: str, look: int) -> str:
        """The colours of one look, of pages that a selector knows."""
        before = f"{page} .{self.name}".strip()
        return "".join(
            f"{before} .f{name}{{fill:{pair[look]}}}{before} .s{name}{{stroke:{pair[look]}}}"
            for pair, name in self._pairs.items()
        )

    def paint(self, record: Record, kind: str, colour: Colour | None) -> str:
        """`` fill="#..."``, how opaque it is, and its class."""
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
    """Spaces that SVG would take for one, or for none."""
    return "\N{NO-BREAK SPACE}" * len(spaces[0])


def _plain(text: str) -> str:
    """A text as XML has it: a replacement character for each letter that no file of XML may hold, however written."""
    return escape(_NO_XML.sub("\N{REPLACEMENT CHARACTER}", text))


def _frame(rect: Rect, inset: float) -> str:
    x, y = _number(rect.x + inset), _number(rect.y + inset)
    width, height = _number(rect.width - 2 * inset), _number(rect.height - 2 * inset)
    radius = f' rx="{_number(rect.radius - inset)}"' if rect.radius else ""
    return f' x="{x}" y="{y}" width="{width}" height="{height}"{radius}'


def _point(point: Sequence[float]) -> str:
    return f"{_number(point[0])},{_number(point[1])}"


def _number(value: float) -> str:
    """At most two decimals, and no more than needed."""
    return f"{value:.2f}".rstrip("0").rstrip(".")
