"""Attention in a word: a map of each head, and the list of what one letter takes from the others."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...run.opened.attention import Attention, AttentionState
from ...run.opened.digits import MINUS, number, sides_of
from ...run.opened.equations import mixture, query_delta, score_delta, score_of
from ..ink.boxes import LABEL
from ..ink.sketch import Box, Sketch, Spot, rgba
from ..ink.text import delta_text, measure
from ..ink.theme import Theme, get_map, mixed, rgb
from .drawer import Point, Setting, title_of

BEGINNING = "start"
Float = NDArray[np.floating]


# ---- Letters as keys, shares as greys, signed numbers as cells.


def key(sketch: Sketch, box: Box, theme: Theme, name: str, size: float, *, here: bool) -> None:
    """Draw a letter of the word as a key; `here`: it is the chosen one."""
    (x, y, wide, high), start = box, name == BEGINNING
    fill, ink = (theme.text1, theme.background) if here else (theme.panel, theme.text1)
    sketch.rect(*box, fill=fill, stroke=theme.flow, radius=4)
    middle = x + wide / 2
    sketch.text(middle, y + high / 2 + 5, name, LABEL if start else size, ink, bold=not start, anchor="middle")


def quoted(name: str) -> str:
    """Return a letter in quotes, because matrices are named by letters too."""
    return name if name == BEGINNING else f"\N{LEFT DOUBLE QUOTATION MARK}{name}\N{RIGHT DOUBLE QUOTATION MARK}"


def percent(share: float) -> str:
    """Return a share in per cent without its sign: ``49``, ``<1``."""
    return "<1" if 0 < share < 0.005 else f"{100 * share:.0f}"


DARKEST = 0.16
"""The grey of a share of 0, at which cells can still be counted."""


def greys(shares: Float, theme: Theme) -> Float:
    """Return the greys (N, 3) of shares (N,) of attention."""
    grey = DARKEST + (1 - DARKEST) * np.clip(shares, 0, 1)
    grey = grey if theme.name == "dark" else 1.06 - grey
    return np.repeat(np.asarray(grey)[:, None], 3, axis=1)


def triangle(sketch: Sketch, at: Point, cell: float, theme: Theme, shares: Float, chosen: int) -> None:
    """Draw one head: rows attend to columns; the row of the chosen letter has a frame."""
    left, top = at
    down, across = np.tril_indices(len(shares))
    side = np.full((2, len(down)), cell - (1.0 if cell > 4 else 0.0))
    boxes = np.stack([left + across * cell, top + down * cell, *side], axis=1)
    sketch.cells(boxes, greys(shares[down, across], theme), 1.5 if cell > 8 else 0.0)
    wide = (chosen + 1) * cell
    sketch.rect(left - 2, top + chosen * cell - 2, wide + 3, cell + 3, stroke=theme.selection, border=1.4)


def cells(sketch: Sketch, box: Box, numbers: Float, most: float, cmap: Callable[[Float], Float]) -> None:
    """Draw signed numbers (rows, columns) as cells that fill a box."""
    rows, columns = numbers.shape
    wide, high = box[2] / columns, box[3] / rows
    gap = 0.7 if min(wide, high) > 3 else 0.0
    row, column = (part.ravel() for part in np.indices(numbers.shape))
    left, top = box[0] + column * wide, box[1] + row * high
    size = np.full_like(left, wide - gap), np.full_like(top, high - gap)
    sketch.cells(np.stack([left, top, *size], axis=1), cmap(np.clip(numbers.ravel() / max(most, 1e-30), -1, 1)))


# ---- An opened step: what a letter takes from each letter that it looks at.

_DARK, _HALF = 0.85, 0.5  # opacity of the veil over what waits, and over what is done
_LIGHT = (0.3, 1.0, 1.0, 0.5, 1.0, 1.0, 0.5)
"""Brightness of the list by `AttentionState.reached`."""
_BESIDE = 14.0  # pixels of a row's spot left of its cells
_TOP, _LINE, _BELOW = 46.0, 27.0, 78.0  # pixels above the lines, of one line at most, and below them
_SCORE, _SHARE, _WHOLE = 44.0, 104.0, 62.0  # where numbers begin, and the bar of a whole share


def attention_lines(
    box: Box, theme: Theme, names: Sequence[str], place: int, head: int, seen: AttentionState, gone: float, note: str
) -> Sketch:
    """Return what the letter at `place` attends to: score, share and share × v of each, and their sum.

    `gone` is the elapsed share of this stage, 0 to 1: so much of it has moved.
    """
    sketch, (x, y, width, height), attention = Sketch(), box, seen.attention_at(place)
    if attention is None:
        return sketch
    count = len(attention.shares[head])
    back, light, ground = seen.reached > 3, _LIGHT[seen.reached], np.array(rgb(theme.background))
    colours, text = get_map("gradient" if back else "weight", theme), mixed(theme.text1, theme.background, light)
    scores, shares = attention.scores[head], attention.shares[head]
    parts, taken = attention.parts[head], attention.outputs[head]
    letter = quoted(names[place])
    title = f"head {head + 1}: " + (f"gradients back to {letter}" if back else f"{letter} looks back")
    title_of(sketch, box, theme, title, note)
    pitch, wide = min(_LINE, (height - _TOP - _BELOW) / count), min(18.0, 84.0 / len(taken))
    left, high = x + width - wide * len(taken), pitch - 4
    heads = ("δ score", "share %", "share × δ") if back else ("score", "share %", "share × v")
    for start, word in zip((x + _SCORE, x + _SHARE, left), heads, strict=True):
        sketch.text(start, y + 38, word, LABEL, theme.text3)
    flown = count if seen.reached > 2 else math.ceil(gone * count) if seen.reached == 2 else 0
    largest = max(float(np.abs(parts).max()), float(np.abs(taken).max()))

    def lit(part: ArrayLike) -> Float:
        return np.asarray(light * colours(part) + (1 - light) * ground)

    for k, name in enumerate(names[:count]):
        top = y + _TOP + k * pitch
        base = top + high / 2 + 5
        key(sketch, (x, top, 26.0 if k else 38.0, high), theme, name, LABEL, here=k == place)
        if seen.reached > 0:
            fill = lit(scores[k : k + 1] / max(float(np.abs(scores).max()), 1e-30))[0]
            grey = light * greys(shares[k : k + 1], theme)[0] + (1 - light) * ground
            said = delta_text(float(scores[k])) if back else number(float(scores[k]), 2, signed=True)
            ink = max((theme.text1, theme.background), key=lambda ink: abs(float(np.mean(rgb(ink)) - np.mean(fill))))
            sketch.rect(x + _SCORE, top, 52, high, fill=tuple(fill.tolist()), radius=4)
            sketch.text(x + _SCORE + 26, base, said, LABEL, ink, anchor="middle")
            own = max(1.5, _WHOLE * float(shares[k]))
            sketch.rect(x + _SHARE, top + 2, own, high - 4, fill=tuple(grey.tolist()), radius=2)
            sketch.text(x + _SHARE + own + 5, base, percent(float(shares[k])), LABEL, text)
        cells(sketch, (left, top, wide * len(taken), high), parts[k : k + 1] * (k < flown), largest, lit)
    foot = y + _TOP + count * pitch + 6
    sketch.line((left, foot - 4), (x + width, foot - 4), theme.border, 1.0)
    so_far = taken if back else parts[:flown].sum(axis=0)
    cells(sketch, (left, foot, wide * len(taken), 18.0), so_far[None], largest, lit)
    sketch.text(left - 8, foot + 14, "δ of the sum" if back else "sum", LABEL, text, bold=True, anchor="right")
    if seen.reached > 0:
        kind = "query" if seen.reached > 4 else "back" if back else "sum" if flown == count else "score"
        what, said = _example(attention, head, names, width, kind)
        left_of, sign, result = sides_of(said)
        sketch.text(x, foot + 37, what, LABEL, theme.text3)
        sketch.text(x, foot + 54, left_of, LABEL, text)
        sketch.text(x, foot + 70, f"{sign.strip()} {result}", LABEL, text, bold=True)
    return sketch


def _example(attention: Attention, head: int, names: Sequence[str], width: float, kind: str) -> tuple[str, str]:
    """Return one number in words and as an equation: `kind` is "score", "sum", "back" (to a score) or "query"."""
    shares, taken = attention.shares[head], attention.outputs[head]
    if kind == "score":
        which = int(np.argmax(shares))
        letters, said, short = score_of(attention, head, which, 3)
        return f"{letters} for {quoted(names[which])}", said if measure(sides_of(said)[0], LABEL) <= width else short
    if kind == "sum":
        column = int(np.abs(taken).argmax())
        return f"sum of share × v, number {column + 1}", mixture(attention, head, column, 3)
    if kind == "query":
        column = int(np.abs(attention.scores[head] @ attention.keys[head]).argmax())
        letters, said, short = query_delta(attention, head, column)
        said = said if measure(sides_of(said)[0], LABEL) <= width else short
        return f"δ of q: {letters}, number {column + 1}", said
    which = int(np.abs(attention.scores[head]).argmax())
    return f"share · (δ {MINUS} Σ share · δ) for {quoted(names[which])}", score_delta(attention, head, which)


def row_light(
    maps: Sequence[Spot], theme: Theme, setting: Setting, seen: AttentionState, now: int, gone: float
) -> Sketch:
    """Return veils over the maps, except the current row, and the line on which its values run to the layer."""
    sketch, plate = Sketch(over=True), setting.plates.get(seen.reads)
    for (x, y, wide, high), row in ((spot.box, int(spot.value)) for spot in maps if seen.reached):
        veil = (_DARK if row > now else _HALF * (row < now)) if seen.reached < 3 else _HALF
        sketch.rect(x + _BESIDE, y, wide - _BESIDE, high, fill=rgba(theme.background, veil))
        if row == now and seen.reached < 3:
            sketch.rect(x + _BESIDE - 2, y - 2, wide - _BESIDE + 3, high + 3, stroke=theme.selection, border=1.4)
        if seen.reached == 2 and row == now and plate is not None:
            corners = setting.project(plate.corners)
            end, middle = float(corners[:, 0].min()), float(corners[:, 1].mean())
            way = np.array([(x + wide + 3, y + high / 2), (end - 14, y + high / 2), (end - 14, middle), (end, middle)])
            far = np.append(0.0, np.abs(np.diff(way, axis=0)).sum(axis=1).cumsum())
            left, top = (float(np.interp(gone * far[-1], far, way[:, axis])) for axis in (0, 1))
            sketch.polyline([*way[far < gone * far[-1]].tolist(), (left, top)], theme.selection, 1.6)
            sketch.disc(left, top, 3.0, theme.selection)
    return sketch
