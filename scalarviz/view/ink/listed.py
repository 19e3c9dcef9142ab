"""Records of a display list as plain data: a browser paints them (``list.js``), a recording keeps them.

A record is a list: its kind, its places in pixels, its colours. Those of the theme are names, so that the browser can
change the look; others are ``"#rrggbb"``, with two more digits where they are not opaque.
"""

from __future__ import annotations

import json
import zlib
from base64 import b64decode, b64encode
from collections.abc import Sequence
from io import BytesIO
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .maps import hexed
from .sketch import (
    Box,
    Cells,
    Colour,
    Curve,
    Lines,
    Path,
    PointsItem,
    Polygon,
    Rect,
    Shape,
    Sketch,
    SpritesItem,
    TextItem,
    rgba,
)
from .theme import Theme, chip_colour, rgb

Record = list[Any]
KINDS = ("rect", "cells", "lines", "path", "polygon", "image", "sprites", "points", "text")
OF_A_THEME = (
    "background", "glow", "past", "panel", "tray", "border", "text1", "text2", "text3", "flow", "grid", "selection",
    "pulse", "ink", "paper",
)  # fmt: skip
"""Colours that a browser has by their names; maps stand apart."""
SMOOTH, QUALITY = 4096, 80  # pixels of a picture from which on its bytes may lose something, and how little


def colours_of(theme: Theme) -> dict[str, Any]:
    """The colours of a look by their names; ``chip`` lies below a delta."""
    return {**{name: getattr(theme, name) for name in OF_A_THEME}, "chip": hexed(chip_colour(theme))}


class Listed:
    """Makes records in the colours of one look."""

    def __init__(self, theme: Theme) -> None:
        # of two that are alike the first has the name: "text1" is written more often than "ink"
        self._names = {hexed(rgba(colour)): name for name, colour in reversed(colours_of(theme).items())}
        self._addresses: dict[int, tuple[NDArray[np.uint8], str]] = {}

    def of(self, sketches: Sequence[Sketch]) -> list[Record]:
        """All that is painted of some sketches, in the order of painting."""
        found = [self.shape(shape) for part in sketches if not part.over for shape in part.shapes]
        for item in (item for part in sketches for item in part.images):
            found.append(["image", *item.rect, self._address(item.pixels, smooth=item.linear), int(item.linear)])
        found += [self._sprites(item) for part in sketches for item in part.small]
        found += [self.shape(shape) for part in sketches for shape in part.tops]
        found += [_points(item) for part in sketches for item in part.points]
        return found + [["text", *self.text(item)] for part in sketches for item in part.texts]

    def colour(self, colour: Colour | None) -> str | None:
        """A colour of the theme by its name, any other by its digits."""
        if colour is None:
            return None
        said, alpha = hexed(rgba(colour)), rgba(colour)[3]
        return self._names.get(said, said) if alpha >= 1 else f"{said}{round(255 * max(alpha, 0.0)):02x}"

    def shape(self, shape: Shape) -> Record:
        """A shape; the fill of a bound one is the name of the row whose numbers are its colour."""
        match shape:
            case Rect(x, y, wide, high, fill, stroke, border, radius, bound):
                colours = bound or self.colour(fill), self.colour(stroke)
                return ["rect", *short((x, y, wide, high)), *colours, border, radius, int(bool(bound))]
            case Cells(rects, fills, radius, rings):
                own = None if rings is None else short(rings)
                return ["cells", short(rects), "".join(hexed(fill)[1:] for fill in fills), min(radius, 999.0), own]
            case Lines(starts, ends, colour, width):
                return ["lines", short(np.concatenate([starts, ends], axis=1)), self.colour(colour), width]
            case Path(points, colour, width):
                return ["path", short(points), self.colour(colour), width]
            case Curve(_, colour, width):
                return ["path", short(shape.points()), self.colour(colour), width]
            case Polygon(points, fill):
                return ["polygon", short(points), self.colour(fill)]

    def text(self, text: TextItem) -> Record:
        """Place, words, size, colour, whether they are bold, and which end stands at the place."""
        return [*short((text.x, text.y)), text.text, text.size, self.colour(text.colour), int(text.bold), text.anchor]

    def _sprites(self, item: SpritesItem) -> Record:
        cells = np.round(np.ravel(item.cells).astype(float), 4).tolist()
        return ["sprites", short(item.rects), cells, self._address(item.pixels), int(item.linear)]

    def _address(self, pixels: NDArray[np.uint8], *, smooth: bool = False) -> str:
        """A picture as an address of its own data; the same array is encoded once."""
        known = self._addresses.get(id(pixels))
        if known is None or known[0] is not pixels:
            loose = smooth and pixels.shape[0] * pixels.shape[1] >= SMOOTH
            how = {"quality": QUALITY} if loose else {"lossless": True, "quality": 0}
            known = self._addresses[id(pixels)] = (pixels, address_of(pixels, method=0, **how))
        return known[1]


def address_of(pixels: NDArray[np.uint8], **how: object) -> str:
    """Pixels (H, W, 3) as an address of their own data, a WebP."""
    from PIL import Image

    buffer = BytesIO()
    Image.fromarray(np.ascontiguousarray(pixels)).save(buffer, "WEBP", **how)
    return f"data:image/webp;base64,{b64encode(buffer.getvalue()).decode('ascii')}"


def _points(item: PointsItem) -> Record:
    return ["points", short(item.centres), item.diameter, "".join(hexed(one)[1:] for one in item.colours)]


def short(numbers: ArrayLike) -> list[float]:
    """Tenths of a pixel, as few letters as say them."""
    tenths = np.round(np.ravel(numbers).astype(float), 1).tolist()
    return [int(x) if x == int(x) else x for x in tenths]


def changes(before: Sequence[Record] | None, now: Sequence[Record]) -> list[Record] | dict[str, Record]:
    """What makes `now` of the list before it: records by their numbers, or all of it."""
    if before is None or len(before) != len(now):
        return [*now]
    return {str(k): new for k, (old, new) in enumerate(zip(before, now, strict=True)) if old != new}


# ---- As bytes, which a recording holds; anybody may have made one.

MOST_LETTERS = 8 << 20  # of a list


def stored(records: object) -> bytes:
    """A list, or what changes in one, as JSON, deflated."""
    return zlib.compress(json.dumps(records, separators=(",", ":")).encode("ascii"), 9)


def checked(data: bytes) -> list[Record]:
    """The list of `stored`; empty where it is none."""
    try:
        press = zlib.decompressobj()
        records = json.loads(press.decompress(data, MOST_LETTERS).decode("ascii"))
    except (zlib.error, ValueError, RecursionError):
        return []
    good = isinstance(records, list) and press.eof and all(map(_is_record, records))
    return records if good else []


def records_of(image: bytes, size: tuple[int, int]) -> list[Record]:
    """The list of a panel as a recording holds it; an image, which earlier ones hold, is a list of one record."""
    if image.startswith(b"x\xda"):
        return checked(image)
    kind = "webp" if image.startswith(b"RIFF") else "png"
    address = f"data:image/{kind};base64,{b64encode(image).decode('ascii')}"
    return [["box", 0, 0, *size], ["image", 0, 0, *size, address, 1]]


def _is_record(record: object) -> bool:
    """Whether it is a record of numbers and texts, and what it shows is in it."""
    if not isinstance(record, list) or not record or record[0] not in (*KINDS, "box"):
        return False
    plain = (str, int, float, type(None))
    if not all(isinstance(one, plain) or (isinstance(one, list) and all(isinstance(x, int | float) for x in one))
               for one in record):  # fmt: skip
        return False
    address = {"image": 5, "sprites": 3}.get(record[0])
    return address is None or (len(record) > address and str(record[address]).startswith("data:image/"))


MOST_PIXELS = 1 << 24  # of a picture


def decoded(image: bytes) -> NDArray[np.uint8] | None:
    """Pixels (H, W, 3) of what somebody else's file calls a picture, a PNG or WebP."""
    from PIL import Image

    try:
        with Image.open(BytesIO(image), formats=("PNG", "WEBP")) as picture:
            if not 0 < picture.width * picture.height <= MOST_PIXELS:
                return None
            return np.asarray(picture.convert("RGB"))
    except Exception:  # whatever a decoder says of bytes that are no picture
        return None


def sketches_of(records: Sequence[Record], theme: Theme, to: Box) -> list[Sketch] | None:
    """The list of a panel, which fills a box of the same shape; None of one that cannot be read."""
    try:
        return _sketched(records, theme, to)
    except (ArithmeticError, LookupError, TypeError, ValueError):
        return None


def _sketched(records: Sequence[Record], theme: Theme, to: Box) -> list[Sketch]:
    (_, left, top, wide, _), names, below, over = records[0], colours_of(theme), Sketch(), Sketch(over=True)
    scale, pixels = to[2] / wide, dict[str, NDArray[np.uint8]]()

    def placed(flat: Sequence[float], each: int = 2) -> NDArray[np.float64]:
        corner = np.array([to[0] - left * scale, to[1] - top * scale])
        return np.asarray((np.reshape(flat, (-1, 2)) * scale + corner).reshape(-1, each))

    def boxed(flat: Sequence[float]) -> NDArray[np.float64]:
        shift = np.array([to[0] - left * scale, to[1] - top * scale, 0.0, 0.0])
        return np.asarray(np.reshape(flat, (-1, 4)) * scale + shift)

    def colour(name: str | None) -> Colour | None:
        said = None if name is None else names.get(name, name)
        return None if said is None else (*rgb(said[:7]), int(said[7:9] or "ff", 16) / 255)

    def shown(address: str) -> NDArray[np.uint8]:
        if address not in pixels:
            found = decoded(b64decode(address.partition(",")[2]))
            if found is None:
                raise ValueError("no picture")
            pixels[address] = found
        return pixels[address]

    for kind, *said in records[1:]:
        sketch = over if below.images or below.small else below
        match kind, said:
            case "rect", [x, y, across, down, fill, stroke, border, radius, _]:
                box = boxed([x, y, across, down])[0].tolist()
                sketch.rect(
                    *box, fill=colour(fill), stroke=colour(stroke), border=border * scale, radius=radius * scale
                )
            case "cells", [rects, fills, radius, rings]:
                own = None if rings is None else np.asarray(rings, np.float32) * scale
                rgbs = np.frombuffer(bytes.fromhex(fills), np.uint8).reshape(-1, 3) / 255
                sketch.shapes.append(Cells(_f32(boxed(rects)), _f32(rgbs), radius * scale, own))
            case "lines", [ways, said_colour, width]:
                ends = placed(ways, 4)
                sketch.lines(ends[:, :2], ends[:, 2:], colour(said_colour) or "#000000", width * scale)
            case "path", [points, said_colour, width]:
                sketch.polyline(placed(points), colour(said_colour) or "#000000", width * scale)
            case "polygon", [points, fill]:
                sketch.polygon(placed(points), colour(fill) or "#000000")
            case "image", [x, y, across, down, address, smooth]:
                box = boxed([x, y, across, down])[0].tolist()
                below.image((box[0], box[1], box[2], box[3]), shown(address), linear=bool(smooth))
            case "sprites", [rects, cells, address, smooth]:
                below.sprites(boxed(rects), np.reshape(cells, (-1, 4)), shown(address), linear=bool(smooth))
            case "points", [centres, diameter, colours]:
                rgbs = np.frombuffer(bytes.fromhex(colours), np.uint8).reshape(-1, 3) / 255
                below.discs(placed(centres), diameter * scale, rgbs)
            case "text", [x, y, words, size, said_colour, bold, anchor]:
                x, y = placed([x, y])[0].tolist()
                below.text(x, y, words, size * scale, colour(said_colour) or "#000000", bold=bool(bold), anchor=anchor)
    return [below, over]


def _f32(numbers: ArrayLike) -> NDArray[np.float32]:
    return np.asarray(numbers, np.float32)
