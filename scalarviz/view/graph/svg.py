"""A figure as SVG. It needs no font: each text has the width that was reckoned with, whatever letters it is set in."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from html import escape
from zlib import crc32

from .ink import Ink, Letters, Line, Path, Polygon, Rect, Shape

FONT = "'Open Sans', 'Segoe UI', 'Helvetica Neue', Arial, sans-serif"
DARK = ':is([data-jp-theme-light="false"],.vscode-dark,[theme="dark"],[data-theme="dark"])'
LIGHT = ':is([data-jp-theme-light="true"],.vscode-light,[theme="light"],[data-theme="light"])'
"""How the pages of JupyterLab, Visual Studio Code, Colab and Sphinx say which look they have."""
_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
ANCHORS = {"left": "start", "middle": "middle", "right": "end"}


def svg_of(ink: Ink, *, dark: Ink | None = None, title: str = "") -> str:
    """The text of a picture.

    Parameters
    ----------
    ink : Ink
        The figure, in its only look or in its light one.
    dark : Ink, optional
        The same figure in its dark look: which of the two is shown follows the page, or the system.
    title : str
        What a screen reader says.
    """
    colours = _Colours(ink, dark)
    width, height = _number(ink.width), _number(ink.height)
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="{colours.name}" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" role="img" font-family="{FONT}" style="max-width:100%;height:auto">'
    )
    parts = [head, f"<title>{_plain(title)}</title>", *colours.style()]
    for group in ink.groups:
        inner = "".join(_shape(shape, colours) for shape in group.shapes)
        said = f"<title>{_plain(group.said)}</title>" if group.said else ""
        parts.append(f"<g>{said}{inner}</g>")
    return "\n".join([*parts, "</svg>"])


class _Colours:
    """Colours as attributes; where there are two looks, those of the light one, and classes for the style sheet."""

    def __init__(self, light: Ink, dark: Ink | None) -> None:
        self.name = "scalarviz-graph"
        self._pairs: dict[tuple[str, str], str] = {}
        self._of: dict[int, dict[str, str]] = {}
        if dark is None:
            return
        for shape, other in zip(light, dark, strict=True):
            pairs = dict(zip(_colours_of(shape), _colours_of(other), strict=True))
            self._of[id(shape)] = {
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

    def paint(self, shape: Shape, kind: str, colour: str | None) -> str:
        """`` fill="#..."``, and its class."""
        if colour is None:
            return f' {kind}="none"'
        name = self._of.get(id(shape), {}).get(colour)
        return f' {kind}="{colour}"' + (f' class="{kind[0]}{name}"' if name else "")


def _colours_of(shape: Shape) -> Sequence[str]:
    if isinstance(shape, Rect):
        return [colour for colour in (shape.fill, shape.stroke) if colour is not None]
    return [shape.colour]


def _shape(shape: Shape, colours: _Colours) -> str:
    match shape:
        case Rect(fill=fill, stroke=None):
            return f"<rect{_frame(shape, 0.0)}{colours.paint(shape, 'fill', fill)}/>"
        case Rect(fill=fill, stroke=stroke, border=border):
            if fill is not None:  # two, so that each has a style of its own
                inner = f"<rect{_frame(shape, 0.0)}{colours.paint(shape, 'fill', fill)}/>"
            else:
                inner = ""
            line = f' stroke-width="{_number(border)}"{colours.paint(shape, "stroke", stroke)}'
            return f'{inner}<rect{_frame(shape, border / 2)} fill="none"{line}/>'
        case Path(pieces=pieces, width=width):
            way = f"M{_point(pieces[0][0])}" + "".join(f"C{' '.join(map(_point, piece[1:]))}" for piece in pieces)
            line = f' stroke-width="{_number(width)}"{colours.paint(shape, "stroke", shape.colour)}'
            return f'<path d="{way}" fill="none" stroke-linecap="round"{line}/>'
        case Line(points=points, width=width):
            line = f' stroke-width="{_number(width)}"{colours.paint(shape, "stroke", shape.colour)}'
            way = " ".join(map(_point, points))
            return f'<polyline points="{way}" fill="none" stroke-linejoin="round" stroke-linecap="round"{line}/>'
        case Polygon(points=points):
            return f'<polygon points="{" ".join(map(_point, points))}"{colours.paint(shape, "fill", shape.colour)}/>'
        case Letters():
            return _letters(shape, colours)


def _letters(shape: Letters, colours: _Colours) -> str:
    weight = ' font-weight="700"' if shape.bold else ""
    return (
        f'<text x="{_number(shape.x)}" y="{_number(shape.y)}" font-size="{_number(shape.size)}"{weight} '
        f'text-anchor="{ANCHORS[shape.anchor]}" textLength="{_number(shape.width)}" lengthAdjust="spacingAndGlyphs"'
        f"{colours.paint(shape, 'fill', shape.colour)}>{_plain(shape.text)}</text>"
    )


def _plain(text: str) -> str:
    """A text as XML has it: a replacement character for each letter that no file of XML may hold, however written."""
    return escape(_NO_XML.sub("\N{REPLACEMENT CHARACTER}", text))


def _frame(shape: Rect, inset: float) -> str:
    x, y = _number(shape.x + inset), _number(shape.y + inset)
    width, height = _number(shape.width - 2 * inset), _number(shape.height - 2 * inset)
    radius = f' rx="{_number(shape.radius - inset)}"' if shape.radius else ""
    return f' x="{x}" y="{y}" width="{width}" height="{height}"{radius}'


def _point(point: tuple[float, float]) -> str:
    return f"{_number(point[0])},{_number(point[1])}"


def _number(value: float) -> str:
    """At most two decimals, and no more than needed."""
    return f"{value:.2f}".rstrip("0").rstrip(".")
