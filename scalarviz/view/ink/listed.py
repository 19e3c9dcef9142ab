"""Records of a display list as plain data: a browser paints them (``list.js``), a recording stores them.

A record is a list: its kind, its places in pixels, its colours. Colours of the theme are names, so that the browser can
change the theme; others are ``"#rrggbb"``, with two more digits if they are not opaque.
"""

from __future__ import annotations

import json
import re
import zlib
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from io import BytesIO
from math import isfinite
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .boxes import LABEL
from .sketch import (
    BEND,
    OTHER,
    RULE,
    Box,
    Cells,
    Colour,
    Curve,
    Lines,
    Path,
    Polygon,
    Rect,
    Shape,
    Sketch,
    TextItem,
    meet,
    rgba,
)
from .text import CAP_HEIGHT, measure
from .theme import OF_A_THEME as MAPS
from .theme import STEPS, Theme, chip_colour, hexed, name_of, resolved, rgb

Record = list[Any]
One = TypeVar("One")
OF_A_THEME = (
    "background", "glow", "past", "panel", "tray", "border", "text1", "text2", "text3", "flow", "grid", "selection",
    "pulse", "ink", "paper",
)  # fmt: skip
"""Names of the theme's colours in the browser, without those of the maps."""
SMOOTH, QUALITY = 4096, 80  # least pixels of a picture for lossy encoding, and its quality
KEPT, KEPT_RECORDS = 64, 2_000  # most cached addresses, and records of texts and boxes
_BEYOND = 12.0  # pixels by which a text may reach beyond a small panel
_FEW = 3  # words of a panel that can be very small
PASSING = "passing"
"""Stands before a record that is true of one moment alone."""
MARKS = (PASSING, RULE, BEND, OTHER + RULE)
"""What may stand before a record of a page's frame or opened step."""
CUBE = "cube"  # colour of a number on a cube: the one that is readable on the cube's own
SIGN, SIGNS = "sign", ("gradient@0", "gradient@256")  # colour of a printed gradient: that of its sign


def colours_of(theme: Theme) -> dict[str, Any]:
    """Return the colours of a theme by name, and the stops of its maps; ``chip`` is the background of a delta."""
    # plain texts: not every notebook sends a text that has a name
    return {**{name: str(getattr(theme, name)) for name in OF_A_THEME}, "chip": hexed(chip_colour(theme)),
            "maps": {name: [*map(str, getattr(theme, name))] for name in MAPS}}  # fmt: skip


class Listed:
    """Makes records in the colours of one theme; if they are `bound`, the painter inserts the numbers.

    With `marks`, what else shows numbers of the moment has the word `PASSING` before it.
    Large smooth pictures are reduced to `density` pixels per pixel of their place (None: not).
    """

    def __init__(self, theme: Theme, *, bound: bool = False, density: float | None = None, marks: bool = False) -> None:
        self.theme, self._bound, self._density, self._marks = theme, bound, density, marks
        self._addresses: dict[int, tuple[NDArray[np.uint8], str]] = {}
        self._made: dict[object, Record | None] = {}  # of texts and boxes; None: not a valid record

    def records(self, sketches: Sequence[Sketch]) -> list[Record]:
        """Return all records of some sketches in painting order; places that are not finite are left out."""
        below = [one for part in sketches if not part.over for one in self._within(part, part.shapes)]
        found = list[Record]()
        for item in (item for part in sketches for item in part.images):
            bar = f"map {item.cmap}" if item.cmap else ""
            address = bar or self._address(item.pixels, smooth=item.linear, width=item.rect[2])
            found.append(["image", *short(item.rect), address, int(item.linear)])
        for one in (one for part in sketches for one in part.small):
            cells = np.round(np.ravel(one.cells).astype(float), 4).tolist()
            found.append(["sprites", *(short(one.rects), cells), self._address(one.pixels), int(one.linear)])
        tops = [one for part in sketches for one in self._within(part, part.tops)]
        points = list[Record]()
        for discs in (discs for part in sketches for discs in part.points):
            there = _finite(discs.centres)
            points.append(["points", short(discs.centres[there]), discs.diameter, _digits(discs.colours[there])])
        texts = [one for part in sketches for one in self._within(part, part.texts)]
        return [*below, *filter(_is_record, found), *tops, *filter(_is_record, points), *texts]

    def _within(self, part: Sketch, items: Iterable[Shape | TextItem]) -> list[Record]:
        """Return the records of a sketch, clipped to its box."""
        made = [*self._each(items)]
        if self._marks and part.passing:
            kept = {*MARKS, *BOUND_FORMS} - {"next text"}
            made = [one if one[0] in kept else [PASSING, *one] for one in made]
        if part.clip is None or not made:
            return made
        return [["clip", *short(part.clip)], *made, ["clip", *short(EVERYWHERE)]]

    def _each(self, items: Iterable[Shape | TextItem]) -> Iterator[Record]:
        """Yield the valid records of shapes or texts; equal texts and boxes have the same one."""
        for item in items:
            key = self._key(item)
            if key is not None and key in self._made:
                made = self._made[key]
            else:
                new = self.text(item) if isinstance(item, TextItem) else self.shape(item)
                made = new if _is_record(new[new[0] in MARKS :], FORMS | BOUND_FORMS) else None
                if len(self._made) >= KEPT_RECORDS:
                    self._made.clear()
                if key is not None:
                    self._made[key] = made
            if made is not None:
                yield made

    def _key(self, item: Shape | TextItem) -> object:
        """Return what a record depends on, with the names of its colours; None if that cannot be compared.

        A number that the painter inserts is not part of it, so that the moments of a run share a record.
        """
        match item:
            case TextItem(x, y, text, size, _, bold, anchor, bound, gap):
                return x, y, "" if self._fills(item) else text, size, self._ink(item), bold, anchor, bound, gap
            case Rect(fill=fill, stroke=stroke) if all(isinstance(ink, str | tuple | None) for ink in (fill, stroke)):
                return item, name_of(fill), name_of(stroke)
        return None

    def _fills(self, text: TextItem) -> bool:
        """Return whether the painter inserts the number that a text shows."""
        return self._bound and text.bound is not None and text.bound.name is not None

    def _ink(self, text: TextItem) -> str:
        """Return the colour of a text; an inserted number on a cube, or with the colour of its sign, has its own."""
        said = self.colour(text.colour) or ""
        if self._fills(text):
            said = CUBE if said.startswith("on ") else SIGN if said in SIGNS else said
        return said

    def colour(self, colour: Colour | None) -> str | None:
        """Return a colour by its name in a theme, any other by its digits."""
        if colour is None:
            return None
        shade = rgba(colour)
        said, alpha = name_of(shade) or hexed(shade), round(255 * max(shade[3], 0.0))
        return said if alpha >= 255 else f"{said}/{alpha:02x}" if not said.startswith("#") else f"{said}{alpha:02x}"

    def shape(self, shape: Shape) -> Record:
        """Return the record of a shape, or of the numbers that it shows: a colour, or places on a scale."""
        match shape:
            case Rect(x, y, wide, high, _, stroke, border, radius, bound) if bound is not None and self._bound:
                return ["swatch", *short((x, y, wide, high)), bound, self.colour(stroke), border, radius]
            case Rect(x, y, wide, high, fill, stroke, border, radius):
                inks = self.colour(fill), self.colour(stroke)
                return ["rect", *short((x, y, wide, high)), *inks, border, radius, 0]  # 0: as in older files
            case Cells(rects, fills, radius, rings):
                there = _finite(rects)
                own = None if rings is None else short(rings[there])
                return ["cells", short(rects[there]), _digits(fills[there]), min(radius, 999.0), own]
            case Lines(ends=ends, colour=colour, below=line) if line is not None:
                return ["area", short(line), *short(ends[:1, 1]), self.colour(colour)]
            case Lines(along=(x, wide), colour=colour, width=width) if self._bound:
                top, foot = shape.starts[0, 1], shape.ends[0, 1]
                return ["marks", *short((x, top, wide, foot - top)), self.colour(colour), width]
            case Lines(starts, ends, colour, width, round_ends):
                ways = np.concatenate([starts, ends], axis=1)
                return ["strokes" if round_ends else "lines", short(ways[_finite(ways)]), self.colour(colour), width]
            case Path(points, colour, width):
                return ["path", short(points[_finite(points)]), self.colour(colour), width]
            case Curve(_, colour, width):
                return ["path", short(shape.points()), self.colour(colour), width]
            case Polygon(points, fill):
                return ["polygon", short(points), self.colour(fill)]

    def text(self, text: TextItem) -> Record:
        """Return the record of a text, or of the number that it shows."""
        place, bound, ink = short((text.x, text.y)), text.bound, self._ink(text)
        if behind := self._bound and text.gap is not None:
            place[:1] = short(text.gap or 0.0)
        look = [text.size, ink, int(text.bold), text.anchor]
        mark = [bound.needs] if bound is not None and bound.needs and self._marks else []
        if bound is None or not self._fills(text):
            mark = mark or ([PASSING] if bound is not None and self._marks else [])
            return [*mark, "next text" if behind else "text", *place, text.text, *look]
        within = bound.within if np.isfinite(bound.within) else 0
        said = [bound.name, bound.index, bound.form, bound.before, within, bound.after]
        more = [part for number in bound.more for part in number]
        return [*mark, "next number" if behind else "number", *place, *look, *said, more]

    def _address(self, pixels: NDArray[np.uint8], *, smooth: bool = False, width: float = np.inf) -> str:
        """Return a picture as a data URL; the same array is encoded once."""
        known = self._addresses.get(id(pixels))
        if known is None or known[0] is not pixels:
            loose = smooth and pixels.shape[0] * pixels.shape[1] >= SMOOTH
            how: dict[str, Any] = {"quality": QUALITY} if loose else {"lossless": True, "quality": 0}
            if len(self._addresses) >= KEPT:
                del self._addresses[next(iter(self._addresses))]
            less = 1.0 if self._density is None or not loose else self._density * width / pixels.shape[1]
            known = self._addresses[id(pixels)] = (pixels, address_of(smaller(pixels, less), method=0, **how))
        return known[1]


EVERYWHERE = (-1e5, -1e5, 2e5, 2e5)
"""A box that clips nothing."""


def encoded(pixels: NDArray[np.uint8], kind: str, **how: object) -> bytes:
    """Return a picture (H, W, 3) as a file of that kind: ``"WEBP"``, ``"JPEG"``, ``"PNG"``."""
    from PIL import Image

    buffer = BytesIO()
    Image.fromarray(np.ascontiguousarray(pixels)).save(buffer, kind, **how)
    return buffer.getvalue()


def smaller(pixels: NDArray[np.uint8], share: float) -> NDArray[np.uint8]:
    """Return a picture with less width and height; unchanged for a `share` of 1 or more."""
    from PIL import Image

    if share >= 1:
        return pixels
    high, wide = (max(1, round(share * size)) for size in pixels.shape[:2])
    return np.asarray(Image.fromarray(np.ascontiguousarray(pixels)).resize((wide, high), Image.Resampling.BOX))


def address_of(pixels: NDArray[np.uint8], kind: str = "WEBP", **how: object) -> str:
    """Return a picture as a data URL."""
    return f"data:image/{kind.lower()};base64,{b64encode(encoded(pixels, kind, **how)).decode('ascii')}"


def _finite(rows: NDArray[np.floating]) -> NDArray[np.bool_]:
    """Return which rows (N, K) are finite."""
    return np.asarray(np.isfinite(rows).all(axis=1))


def _digits(colours: NDArray[np.floating]) -> str:
    """Return colours (N, 3) in 0..1 as six digits each; NaN is 0."""
    return bytes(np.rint(255 * np.clip(np.nan_to_num(colours), 0.0, 1.0)).astype(np.uint8)).hex()


def short(numbers: ArrayLike) -> list[float]:
    """Return tenths of a pixel with as few letters as possible."""
    if isinstance(numbers, tuple) and all(map(isfinite, numbers)):  # most places: NumPy takes ten times as long
        tenths = [round(10.0 * float(x)) / 10 for x in numbers]
    else:
        tenths = np.round(np.ravel(numbers).astype(float), 1).tolist()
    return [int(x) if x.is_integer() else x for x in tenths]


def changes(before: Sequence[One] | None, now: Sequence[One]) -> list[One] | dict[str, One]:
    """Return the changes from the list before to `now`: records by number, or all of them."""
    if before is None or len(before) != len(now):
        return [*now]
    return {str(k): new for k, (old, new) in enumerate(zip(before, now, strict=True)) if old != new}


# ---- As bytes in a recording, which is untrusted.

MOST_LETTERS, MOST_RECORDS, MOST_SIZES = 8 << 20, 20_000, 64  # of a list; the last of its letters, each has an atlas
FAR, LONGEST, SIZES = 1e6, 1_000, (4.0, 200.0)  # pixels of any place; letters of a text, and how large they may be
FORMS = {
    "box": "nnnn", "clip": "nnnn", "rect": "nnnnccnnn", "cells": "ldnr", "lines": "lcn", "strokes": "lcn",
    "path": "lcn", "polygon": "lc", "area": "lnc", "image": "nnnnan", "sprites": "llan", "points": "lnd",
    "text": "nntzcne",
}  # fmt: skip
"""Types of a record's parts after its kind, one letter each."""
BOUND_FORMS = {"number": "nnzknetnttntm", "swatch": "nnnntcnn", "marks": "nnnncn", "next text": FORMS["text"]}
BOUND_FORMS["next number"] = BOUND_FORMS["number"]
"""The same of records that a browser fills in; a panel in a file has none of them."""
_NAME = rf"(?:{'|'.join(OF_A_THEME)}|(?:{'|'.join(MAPS)})@(?:\d\d?|1\d\d|2[0-4]\d|25[0-6]))"
_COLOUR = re.compile(
    rf"#[0-9a-f]{{6}}(?:[0-9a-f]{{2}})?|chip|(?:on )?{_NAME}(?::{_NAME}:(?:0|1|0\.\d\d?))?(?:/[0-9a-f]{{2}})?"
)
_ADDRESS = re.compile(rf"data:image/(?:webp|png);base64,[A-Za-z0-9+/]*={{0,2}}|map (?:{'|'.join(MAPS)})(?::tray:0\.5)?")


def _is_number(x: object) -> bool:
    return isinstance(x, int | float) and abs(x) <= FAR  # NaN is not


def _are_numbers(x: object) -> bool:
    return isinstance(x, list) and all(map(_is_number, x))


def _matches(pattern: re.Pattern[str], x: object) -> bool:
    return isinstance(x, str) and pattern.fullmatch(x) is not None


CHECKS: dict[str, Callable[[Any], bool]] = {
    "n": _is_number,
    "l": _are_numbers,
    "r": lambda x: x is None or _are_numbers(x),
    "c": lambda x: x is None or _matches(_COLOUR, x),
    "k": lambda x: x in (CUBE, SIGN) or CHECKS["c"](x),
    "m": lambda x: isinstance(x, list) and all(isinstance(one, str) or _is_number(one) for one in x),
    "d": lambda x: _matches(re.compile("(?:[0-9a-f]{6})*"), x),
    "a": lambda x: _matches(_ADDRESS, x),
    "t": lambda x: isinstance(x, str) and len(x) <= LONGEST,
    "z": lambda x: _is_number(x) and SIZES[0] <= x <= SIZES[1],
    "e": lambda x: x in ("left", "middle", "right"),
}


def _is_record(record: object, forms: Mapping[str, str] = FORMS) -> bool:
    """Return whether every part of a record has the form of its kind."""
    if not isinstance(record, list) or not record or not isinstance(record[0], str) or record[0] not in forms:
        return False
    form = forms[record[0]]
    return len(record) == len(form) + 1 and all(CHECKS[one](x) for one, x in zip(form, record[1:], strict=True))


def stored(records: object) -> bytes:
    """Return a list, or its changes, as deflated JSON."""
    return zlib.compress(json.dumps(records, separators=(",", ":")).encode("ascii"), 9)


@lru_cache(maxsize=4)  # several pictures of one moment show the same panels
def checked(data: bytes) -> list[Record]:
    """Return the list of `stored` bytes, which begins with its box; empty if it is invalid."""
    try:
        press = zlib.decompressobj()
        records = json.loads(press.decompress(data, MOST_LETTERS).decode("ascii"))
    except (zlib.error, ValueError, RecursionError):
        return []
    if not isinstance(records, list) or not press.eof or not 0 < len(records) <= MOST_RECORDS:
        return []
    if not all(map(_is_record, records)) or [k for k, one in enumerate(records) if one[0] == "box"] != [0]:
        return []
    sizes = {one[4] for one in records if one[0] == "text"}
    return records if min(records[0][3:]) >= 1 and len(sizes) <= MOST_SIZES else []


def records_of(image: bytes, size: tuple[int, int]) -> list[Record]:
    """Return the records of a panel in a recording; an image of an older file becomes one record."""
    if image.startswith(b"x\xda"):
        return checked(image)
    kind = "webp" if image.startswith(b"RIFF") else "png"
    address = f"data:image/{kind};base64,{b64encode(image).decode('ascii')}"
    return [["box", 0, 0, *size], ["image", 0, 0, *size, address, 1]]


MOST_PIXELS = 1 << 24  # of all pictures of a list


def decoded(image: bytes, most: int = MOST_PIXELS) -> NDArray[np.uint8] | None:
    """Return the pixels (H, W, 3), at most `most`, of an untrusted PNG or WebP, or None."""
    from PIL import Image

    try:
        with Image.open(BytesIO(image), formats=("PNG", "WEBP")) as picture:
            if not 0 < picture.width * picture.height <= most:
                return None
            return np.asarray(picture.convert("RGB"))
    except Exception:  # a decoder can raise anything for invalid bytes
        return None


def sketches_of(records: Sequence[Record], theme: Theme, to: Box) -> list[Sketch] | None:
    """Return the sketches of a panel's records in a box of the same shape; None for records that cannot be read."""
    try:
        return _sketched(records, theme, to)
    except (ArithmeticError, LookupError, TypeError, ValueError):
        return None


def legible(records: Sequence[Record], scale: float) -> list[Record]:
    """Return a panel's records for a smaller scale: texts keep their size, inside the panel, up to `LABEL` pixels.

    A text without room beside titles and those before it is left out, and a small box before a text goes with it;
    `js/list.js` has the same.
    """
    (_, left, _, wide, _), placed, taken = records[0], dict[int, Record](), list[Box]()
    texts, beyond = [k for k, record in enumerate(records) if record[0] == "text"], _BEYOND / scale
    boxes = {k: mark for k in texts for mark, one in enumerate(records) if _is_before(one, records[k])}
    for k in sorted(texts, key=lambda k: not records[k][6]):  # titles first
        _, x, y, words, size, colour, bold, anchor = records[k]
        own = max(size, min(size, LABEL) / scale)
        across = measure(words, own, bool(bold))
        before = 0.0 if k not in boxes else x - records[boxes[k]][1]
        start = x - across * ("left", "middle", "right").index(anchor) / 2
        start = max(left - beyond + before, min(start, left + wide + beyond - across))
        y += CAP_HEIGHT / 2 * (own - size)
        box = start - before - 2, y - 0.75 * own, before + across + 4, 0.8 * own
        if not any(meet(box, other) for other in taken):
            taken.append(box)
            placed[k] = ["text", start, y, words, own, colour, bold, "left"]
            if k in boxes:
                kind, _, *rest = records[boxes[k]]
                placed[boxes[k]] = [kind, start - before, *rest]
    gone = {*texts, *boxes.values()} - placed.keys()
    return [placed.get(k, record) for k, record in enumerate(records) if k not in gone]


def _is_before(record: Record, text: Record) -> bool:
    """Return whether a record is a small box that stands before a text, in its line."""
    if record[0] != "rect" or max(record[3:5]) > LABEL or text[7] != "left":
        return False
    return bool(0 < text[1] - record[1] - record[3] < LABEL and abs(text[2] - record[2] - record[4]) < LABEL / 2)


def least_scale(records: Sequence[Record]) -> float:
    """Return the least scale at which at most one text of a panel has no room; one of many words is never tiny."""

    def texts(some: Iterable[Record]) -> int:
        return sum(record[0] == "text" for record in some)

    count = texts(records)
    scales = ((0.4 if count <= _FEW else 0.6) + k / 20 for k in range(12))
    with suppress(ArithmeticError, LookupError, TypeError, ValueError):  # records that cannot be read
        return next((scale for scale in scales if texts(legible(records, scale)) >= count - 1), 1.0)
    return 1.0


def _sketched(records: Sequence[Record], theme: Theme, to: Box) -> list[Sketch]:
    (_, left, top, wide, _), names, below, over = records[0], colours_of(theme), Sketch(), Sketch(over=True)
    parts = [below, over]
    scale, pixels = to[2] / wide, dict[str, NDArray[np.uint8]]()

    corner = to[0] - left * scale, to[1] - top * scale
    records = legible(records, scale) if scale < 1 else records

    def placed(flat: Sequence[float], each: int = 2) -> NDArray[np.float64]:
        return np.asarray((np.reshape(flat, (-1, 2)) * scale + corner).reshape(-1, each))

    def boxed(flat: Sequence[float]) -> NDArray[np.float64]:
        return np.asarray(np.reshape(flat, (-1, 4)) * scale + (*corner, 0.0, 0.0))

    def colour(name: str | None) -> Colour | None:
        if name is None or (not name.startswith("#") and name != "chip"):
            return None if name is None else resolved(name, theme)
        said = names.get(name, name)
        return (*rgb(said[:7]), int(said[7:9] or "ff", 16) / 255)

    def shown(address: str) -> NDArray[np.uint8]:
        if address.startswith("map "):
            name, _, rest = address[4:].partition(":")
            steps = (resolved(f"{name}@{k}{f':{rest}' if rest else ''}", theme)[:3] for k in range(STEPS + 1))
            return np.asarray(np.rint(255 * np.array([*steps])[None]), np.uint8)
        if address not in pixels:
            left = MOST_PIXELS - sum(one.shape[0] * one.shape[1] for one in pixels.values())
            found = decoded(b64decode(address.partition(",")[2]), left)
            if found is None:
                raise ValueError("no picture")
            pixels[address] = found
        return pixels[address]

    for kind, *said in records[1:]:
        sketch = over if below.images or below.small else below
        match kind, said:
            case "clip", place:
                parts += [below := Sketch(clip=_box(boxed(place))), over := Sketch(over=True, clip=below.clip)]
            case "rect", [x, y, across, down, fill, stroke, border, radius, _]:
                inks, sizes = (colour(fill), colour(stroke)), (border * scale, radius * scale)
                sketch.shapes.append(Rect(*_box(boxed([x, y, across, down])), *inks, *sizes))
            case "cells", [rects, fills, radius, rings]:
                own = None if rings is None else np.asarray(rings, np.float32) * scale
                sketch.shapes.append(Cells(np.asarray(boxed(rects), np.float32), _rgbs(fills), radius * scale, own))
            case "lines" | "strokes", [ways, said_colour, width]:
                ends, ink = placed(ways, 4), colour(said_colour) or "#000000"
                sketch.lines(ends[:, :2], ends[:, 2:], ink, width * scale, round_ends=kind == "strokes")
            case "path", [points, said_colour, width]:
                sketch.polyline(placed(points), colour(said_colour) or "#000000", width * scale)
            case "area", [points, bottom, fill]:
                sketch.area(placed(points), bottom * scale + corner[1], colour(fill) or "#000000")
            case "polygon", [points, fill]:
                sketch.polygon(placed(points), colour(fill) or "#000000")
            case "image", [x, y, across, down, address, smooth]:
                below.image(_box(boxed([x, y, across, down])), shown(address), linear=bool(smooth))
            case "sprites", [rects, cells, address, smooth]:
                below.sprites(boxed(rects), np.reshape(cells, (-1, 4)), shown(address), linear=bool(smooth))
            case "points", [centres, diameter, colours]:
                below.discs(placed(centres), diameter * scale, _rgbs(colours))
            case "text", [x, y, words, size, said_colour, bold, anchor]:
                x, y = placed([x, y])[0].tolist()
                below.text(x, y, words, size * scale, colour(said_colour) or "#000000", bold=bool(bold), anchor=anchor)
    return parts


def _box(rows: NDArray[np.float64]) -> Box:
    x, y, wide, high = rows[0].tolist()
    return x, y, wide, high


def _rgbs(digits: str) -> NDArray[np.float32]:
    return np.asarray(np.frombuffer(bytes.fromhex(digits), np.uint8).reshape(-1, 3) / 255, np.float32)
