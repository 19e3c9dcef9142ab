"""How the wall looks: title, pictures with their commands, the chosen one's sentence, the line of keys."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from ...errors import ScalarvizError
from ...io import load_picture
from ..ink.overlay import wrapped
from ..ink.places import BIG, LABEL, TITLE
from ..ink.sketch import Box, Sketch
from ..ink.text import measure
from ..ink.theme import Theme
from ..screen.hud import keys
from .door import Door
from .grid import Grid

Picture = NDArray[np.uint8]
COMMAND = "scalarviz"


def still_of(door: Door) -> Picture | None:
    """A door's picture, uint8 (H, W, 3); None where there is none that can be read."""
    if door.still is None:
        return None
    try:
        return np.rint(255 * load_picture(door.still).rgb).astype(np.uint8)
    except ScalarvizError:  # a picture that is missing keeps nobody from the scene
        return None


def fitting(picture: Picture, tile: Box, scale: float) -> Picture:
    """A picture in the device pixels of a tile, averaged, so that drawing it loses no lines."""
    from PIL import Image

    size = max(1, round(tile[2] * scale)), max(1, round(tile[3] * scale))
    if size == picture.shape[1::-1]:
        return picture
    smaller = size < picture.shape[1::-1]
    way = Image.Resampling.BOX if smaller else Image.Resampling.BILINEAR
    return np.asarray(Image.fromarray(picture).resize(size, way))


def head(grid: Grid, theme: Theme, door: Door | None) -> Sketch:
    """The title, and what happens in the chosen scene."""
    sketch = Sketch()
    big, text = (20, LABEL) if grid.small else (BIG, TITLE)
    sketch.text(grid.margin, grid.head, COMMAND, big, theme.text1, bold=True)
    after = grid.margin + measure(COMMAND, big, True) + 18
    sketch.text(after, grid.head, "every weight is a cube", text, theme.text3)
    if door is not None:
        line = _beginning(
            f"needs: {door.missing}" if door.missing else door.summary, grid.size[0] - 2 * grid.margin, text
        )
        sketch.text(grid.margin, grid.head + (19 if grid.small else 28), line, text, theme.text2)
    return sketch


def _beginning(sentence: str, width: float, size: float) -> str:
    """As many whole parts of a sentence as fit; of a single one as many words."""
    first = next(iter(wrapped(sentence, width, size)), "")
    if first == sentence:
        return sentence
    whole = max((first.rfind(mark) for mark in ";,."), default=-1)
    return f"{first[:whole]}." if whole > 0 else f"{first} ..."


def foot(grid: Grid, theme: Theme, table: Sequence[tuple[str, str]]) -> Sketch:
    """The line of keys."""
    return keys(grid.margin, grid.foot, grid.size[0] - 2 * grid.margin, theme, table)


def tiles(
    grid: Grid,
    theme: Theme,
    doors: Sequence[Door],
    pictures: Mapping[int, Picture],
    chosen: int | None,
    remarks: Mapping[int, str],
) -> Sketch:
    """The pictures with their commands.

    Parameters
    ----------
    pictures : mapping of int to ndarray
        By the number of the tile; the others show their words.
    chosen : int or None
    remarks : mapping of int to str
        What is said at the right of a caption ("step 312", "opening").
    """
    sketch, first = Sketch(), _prefix(grid, doors)
    for number, (door, box) in enumerate(zip(doors, grid.tiles, strict=True)):
        x, y, wide, high = box
        mine = number == chosen
        rim = 2.5 if mine else 1.0
        colour = theme.selection if mine else theme.border
        sketch.rect(x - rim, y - rim, wide + 2 * rim, high + 2 * rim, fill=colour, radius=rim)
        if number in pictures:
            sketch.image(box, pictures[number])
        else:
            sketch.rect(*box, fill=theme.panel)
            _words(sketch, box, theme, door)
        name = theme.text1 if mine else theme.text3 if door.missing else theme.text2
        _caption(sketch, grid, box, (first, door.name, remarks.get(number, "")), (name, theme.text3))
    return sketch


def _words(sketch: Sketch, box: Box, theme: Theme, door: Door) -> None:
    """What stands in the place of a picture: how to get the scene, or what it is."""
    x, y, wide, high = box
    pad = min(14.0, wide / 12)
    said = (f"needs: {door.missing}", "needs an extra") if door.missing else (door.summary,)
    for words in said:
        lines = wrapped(words, wide - 2 * pad)
        if 18 * len(lines) + pad <= high and all(measure(line, LABEL) <= wide - pad for line in lines):
            break
    else:
        return
    top = y + (high - 18 * len(lines)) / 2 + 13
    for row, line in enumerate(lines):
        sketch.text(x + pad, top + 18 * row, line, LABEL, theme.text2)


def _type(grid: Grid) -> float:
    """The size of a caption's type."""
    return LABEL if grid.small else 15


def _prefix(grid: Grid, doors: Sequence[Door]) -> str:
    """What stands before each name, if there is room before all."""
    size, first = _type(grid), f"{COMMAND} "
    widest = max((measure(door.name, size, True) for door in doors), default=0.0)
    return first if grid.tiles and measure(first, size) + widest <= grid.tiles[0][2] else ""


def _caption(sketch: Sketch, grid: Grid, box: Box, words: tuple[str, str, str], colours: tuple[str, str]) -> None:
    """What stands before the name, the name, and a remark at the right; the colours of name and rest."""
    x, y, wide, high = box
    first, name, remark = words
    baseline, size = y + high + grid.caption - (5 if grid.small else 8), _type(grid)
    sketch.text(x, baseline, first, size, colours[1])
    begin = x + measure(first, size)
    while len(name) > 1 and begin + measure(name, size, True) > x + wide:
        name = name[:-1]
    sketch.text(begin, baseline, name, size, colours[0], bold=True)
    end = begin + measure(name, size, True)
    if remark and end + 12 + measure(remark, LABEL) <= x + wide:
        sketch.text(x + wide, baseline, remark, LABEL, colours[1], anchor="right")
