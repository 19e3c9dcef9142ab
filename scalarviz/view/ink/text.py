"""Text: Open Sans (shipped in vispy's wheel), rasterised by pillow into one atlas, drawn in one call; and its numbers.

Glyphs are rasterised at their device size, at four horizontal sub-pixel phases, and their baselines are on whole device
pixels. So letters are crisp at 13 px and evenly spaced, at 1x as at 2x.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache, lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ...errors import MissingDependencyError
from ...run.opened.digits import MINUS, chip_digits, exponent, number

if TYPE_CHECKING:
    from PIL.ImageFont import FreeTypeFont

    from .sketch import TextItem

Float = NDArray[np.float32]


_UNITS = 1000  # advances are measured once at this size and scaled: the same at every scale
_PHASES = 4
_PADDING = 1
_LARGEST = 2048
_TRIANGLES = np.array([(x, y, x + 4, y + 4) for x, y in ((0, 1), (2, 1), (2, 3), (0, 1), (2, 3), (0, 3))])
DOT = "  \N{MIDDLE DOT}  "
"""Separates parts of a line."""
LAID_OUT = 1024
"""Most cached texts. A picture has some hundreds; numbers change in every frame, and with a large cache memory grew for
half an hour."""
CAP_HEIGHT = 0.714  # of the size, from the font's own metrics


@cache
def font_path(bold: bool = False) -> Path:
    """Return the file of Open Sans in vispy."""
    import vispy.util.fonts

    path = Path(vispy.util.fonts.__file__).parent / "data" / f"OpenSans-{'Bold' if bold else 'Regular'}.ttf"
    if not path.is_file():
        raise MissingDependencyError(f"text: {path} is missing; reinstall vispy (pip install --force-reinstall vispy)")
    return path


@cache
def _face(size: float, bold: bool) -> FreeTypeFont:
    from PIL import ImageFont

    return ImageFont.truetype(str(font_path(bold)), size, layout_engine=ImageFont.Layout.BASIC)


@cache
def _advance(character: str, bold: bool) -> float:
    known = ADVANCES[bold].get(character)
    if known is not None:
        return known
    try:
        return asked_advance(character, bold)
    except ImportError:  # no font: nothing can be painted, but SVG can be written
        return UNKNOWN[bold]


def asked_advance(character: str, bold: bool) -> float:
    """Return the width of a letter from the font, relative to the size."""
    return float(_face(_UNITS, bold).getlength(character)) / _UNITS


@lru_cache(maxsize=LAID_OUT)
def measure(text: str, size: float, bold: bool = False) -> float:
    """Return the width of `text` in logical pixels. Digits are tabular, so numbers of equal length are equally wide."""
    return size * sum(_advance(c, bold) for c in text)


class GlyphAtlas:
    """One picture with every glyph drawn so far."""

    def __init__(self) -> None:
        self.version = 0  # counts every change of the pixels
        self.pixels: NDArray[np.uint8] = np.zeros((512, 1024), np.uint8)  # coverage; a new array when it grows
        self._glyphs: dict[tuple[str, float, bool, int], tuple[int, int, int, int, int, int]] = {}
        self._runs: dict[tuple[str, float, bool, int], Float] = {}
        self._x = self._y = self._row = 0

    @property
    def full(self) -> bool:
        """True if the atlas is larger than a texture of old cards; then start a new one."""
        return len(self.pixels) > _LARGEST

    def glyph(self, character: str, size: float, bold: bool, phase: int) -> tuple[int, int, int, int, int, int]:
        """Return (x, y, width, height) in the atlas and (left, top) relative to the pen, in device pixels."""
        key = (character, size, bold, phase)
        if key in self._glyphs:
            return self._glyphs[key]
        from PIL import Image, ImageDraw

        face = _face(size, bold)
        left, top, right, bottom = (round(v) for v in face.getbbox(character, anchor="ls"))
        left, top, right, bottom = left - 1, top - 1, right + 2, bottom + 1
        width, height = right - left, bottom - top
        image = Image.new("L", (width, height))
        ImageDraw.Draw(image).text((phase / _PHASES - left, -top), character, fill=255, font=face, anchor="ls")
        x, y = self._place(width, height)
        self.pixels[y : y + height, x : x + width] = np.asarray(image)
        self.version += 1
        self._glyphs[key] = (x, y, width, height, left, top)
        return self._glyphs[key]

    def _place(self, width: int, height: int) -> tuple[int, int]:
        """Return a free spot, row by row; a full picture grows downwards."""
        if self._x + width + _PADDING > self.pixels.shape[1]:
            self._x, self._y, self._row = 0, self._y + self._row + _PADDING, 0
        while self._y + height + _PADDING > len(self.pixels):
            self.pixels = np.concatenate([self.pixels, np.zeros_like(self.pixels)])
        spot = (self._x, self._y)
        self._x += width + _PADDING
        self._row = max(self._row, height)
        return spot

    def run(self, text: str, size: float, bold: bool, phase: int) -> Float:
        """Return the boxes of a run whose pen starts at `phase` quarter pixels: (N, 8), device and atlas pixels."""
        key = (text, size, bold, phase)
        found = self._runs.get(key)
        if found is None:
            if len(self._runs) >= LAID_OUT:  # else changing numbers would grow it without limit
                self._runs.clear()
            found = self._runs[key] = self._lay_out(text, size, bold, phase)
        return found

    def _lay_out(self, text: str, size: float, bold: bool, phase: int) -> Float:
        rows = []
        pen = phase / _PHASES
        for character in text:
            whole, part = divmod(round(pen * _PHASES), _PHASES)
            if character != " ":
                x, y, w, h, left, top = self.glyph(character, size, bold, part)
                rows.append((whole + left, top, whole + left + w, top + h, x, y, x + w, y + h))
            pen += size * _advance(character, bold)
        return np.array(rows, np.float32).reshape(-1, 8)

    def quads(self, items: Iterable[TextItem], scale: float) -> Float:
        """Return triangles for `items`: (6 N, 8) of device position 2, atlas pixel 2, RGBA 4."""
        runs, pens, colours = [], [], []
        for item in items:
            size = round(item.size * scale * 8) / 8
            whole, part = divmod(round(item.left * scale * _PHASES), _PHASES)
            runs.append(self.run(item.text, size, item.bold, part))
            pens.append((whole, round(item.y * scale)))
            colours.append(item.colour)
        if not runs:
            return np.empty((0, 8), np.float32)
        counts = [len(run) for run in runs]
        pen = np.repeat(np.array(pens, np.float32), counts, axis=0)
        return _triangles(np.concatenate(runs), pen, np.repeat(np.array(colours, np.float32), counts, axis=0))


def _triangles(boxes: Float, pen: Float, colours: Float) -> Float:
    """Return six vertices per box, corners in the order of two triangles."""
    out = np.empty((len(boxes), 6, 8), np.float32)
    out[:, :, :4] = boxes[:, _TRIANGLES]
    out[:, :, :2] += pen[:, None]
    out[:, :, 4:] = colours[:, None]
    return out.reshape(-1, 8)


def short(value: float, *, signed: bool = False) -> str:
    """Return two or three significant digits, with an exponent for very small and very large numbers (``1.8e−4``)."""
    size = abs(value)
    if 1e-2 <= size < 1e4:
        digits = 3 if size < 0.1 else (2 if size < 10 else (1 if size < 100 else 0))
        return number(value, digits, signed=signed)
    return exponent(value, signed=signed)


def figure(value: float) -> str:
    """Return a number of the inspector: four decimals if they are meaningful, else with an exponent."""
    size = abs(value)
    return number(value, 4 if size < 100 else 1, signed=True) if 1e-3 <= size < 1e4 else exponent(value, signed=True)


def chip_text(value: float, *, signed: bool = False) -> str:
    """Return a number that fits a chip: four characters and a sign, a fifth from 1e100 on."""
    value = float(value)
    if 9999.5 <= abs(value) < float("inf"):
        return exponent(value, 0, signed=signed)
    return number(value, chip_digits(value), signed=signed)


def loss_text(loss: float) -> str:
    """Return a loss with four decimals, or five, or an exponent, as its size needs; a dash before the first step."""
    if loss != loss:
        return "\N{EN DASH}"
    size = abs(loss)
    if size >= 1000 or size == float("inf"):
        return short(loss)
    if size >= 1e-3 or loss == 0:
        return number(loss, 4 if size < 10 else 2)
    return number(loss, 5) if size >= 1e-4 else short(loss)


def _on_cube(value: float, *, signed: bool, decades: bool = False) -> str:
    """Return a number for a cube, zero without decimals, because 0.00 may be a small number."""
    return "0" if value == 0 else (short if decades else chip_text)(value, signed=signed)


def _brief(value: float, *, signed: bool) -> str:
    """Return a number that spans decades in four letters and a sign: ``+0.06``, ``−4e−3``."""
    small = np.isfinite(value) and 0 < abs(value) < 0.00995
    return exponent(value, 0, signed=signed) if small else _on_cube(value, signed=signed)


def tenths(value: float, *, signed: bool = False) -> str:
    """Return three characters and a sign, ``+0.4``, if four have no room."""
    return number(value, 1 if abs(value) < 9.95 else 0, signed=signed) if value else "0"


def delta_text(value: float) -> str:
    """Return a delta or a gradient for a chip: four decimals, from 10 on three digits; or an exponent."""
    size = abs(value)
    if size == 0 or not np.isfinite(size):
        return number(value, 4)
    if 0.001 <= size < 99999.5:
        return number(value, 4 if size < 10 else chip_digits(size), signed=True)
    return exponent(value, signed=True)


_FORMS: dict[str, Callable[..., str]] = {"chip": chip_text, "cube": _on_cube, "brief": _brief, "tenths": tenths}
_FORMS["decades"] = partial(_on_cube, decades=True)


def rate_text(lr: float) -> str:
    """Return a learning rate as people write it: ``1.0``, ``0.01``, ``3e−4``, ``4,096``."""
    if lr == 0:
        return "0"  # "0.0" would look like a rounded small number
    if 1e3 <= lr < 1e6:
        return f"{lr:,g}"
    text = f"{lr:.4g}"  # a schedule makes long numbers
    return (text if "." in text or "e" in text else text + ".0").replace("e-0", "e-").replace("-", MINUS)


def share_text(share: float) -> str:
    """Return a share as ``0 %``, ``2.6 %``, ``100 %``; a small share that is not zero is ``<0.1 %``."""
    percent = 100.0 * share
    if percent == 0:
        return "0 %"
    if percent < 0.1:
        return "<0.1 %"
    return f"{percent:.0f} %" if percent >= 10 else f"{percent:.2g} %"


WRITTEN: dict[str, Callable[[float], str]] = {
    "count": lambda value: f"{value:,.0f}",
    **{f"{'signed ' * s}{name}": partial(form, signed=s) for name, form in _FORMS.items() for s in (False, True)},
    "target": lambda value: "?" if np.isnan(value) else chip_text(value),
    "loss": loss_text,
    "rate": rate_text,
    "delta": delta_text,
    "plain": partial(number, digits=4),
    **{f"{digits} decimals": partial(number, digits=digits, signed=True) for digits in range(1, 7)},
    "share": share_text,
    "tick": partial(short, signed=True),
    "small tick": lambda value: exponent(value, signed=True) if abs(value) < 0.1 else short(value, signed=True),
    "decade": lambda value: exponent(value).replace("1.0e", "1e"),
    "range ±": lambda most: f"±{short(most)}" if most else "all 0",
    "range ≤\N{THIN SPACE}": lambda most: f"≤\N{THIN SPACE}{short(most)}" if most else "all 0",
}
"""Formats of a number of the moment, by the `form` of a `Bound`."""


# ---- Widths of letters in Open Sans: a copy of the font's numbers, for speed and for machines without it.

LETTERS = "".join(map(chr, range(32, 127))) + "×−÷·√∞≤≥…±–ΣσδαβγεμΔ²³"

_REGULAR = (
    260, 267, 401, 646, 572, 823, 730, 221, 296, 296, 552, 572, 245, 322, 266, 367, 572, 572, 572, 572, 572,
    572, 572, 572, 572, 572, 266, 266, 572, 572, 572, 429, 899, 633, 648, 631, 729, 556, 516, 728, 738, 279,
    267, 614, 519, 903, 754, 779, 602, 779, 618, 549, 553, 728, 595, 926, 577, 560, 571, 329, 367, 329, 542,
    448, 577, 556, 613, 476, 613, 561, 339, 548, 614, 253, 253, 525, 253, 930, 614, 604, 613, 613, 408, 477,
    353, 614, 501, 778, 524, 504, 468, 379, 551, 379, 572, 572, 572, 572, 266, 549, 705, 572, 572, 784, 572,
    500, 567, 613, 580, 611, 628, 512, 475, 619, 572, 347, 347,
)  # fmt: skip
_BOLD = (
    260, 286, 472, 646, 571, 901, 750, 266, 339, 339, 545, 571, 290, 322, 285, 413, 571, 571, 571, 571, 571,
    571, 571, 571, 571, 571, 285, 290, 571, 571, 571, 477, 897, 690, 672, 637, 740, 560, 549, 724, 765, 331,
    331, 664, 565, 943, 813, 796, 628, 796, 660, 551, 579, 756, 650, 967, 667, 624, 579, 331, 413, 331, 532,
    411, 607, 604, 633, 514, 633, 591, 387, 565, 657, 305, 305, 620, 305, 982, 657, 619, 633, 633, 454, 497,
    434, 657, 569, 856, 578, 569, 488, 394, 551, 394, 571, 571, 571, 571, 285, 549, 707, 571, 571, 855, 571,
    500, 593, 653, 619, 647, 660, 568, 555, 660, 658, 379, 379,
)  # fmt: skip

ADVANCES = {
    bold: {letter: width / 1000 for letter, width in zip(LETTERS, widths, strict=True)}
    for bold, widths in ((False, _REGULAR), (True, _BOLD))
}
"""Widths by boldness and letter, relative to the size."""
UNKNOWN = {False: 0.8, True: 0.86}
"""Width of any other letter without a font: rather too wide than cut."""
