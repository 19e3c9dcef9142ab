"""How the wall of runs looks: title, pictures with their losses, the chosen one's words, the line of keys."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ...sweep.groups import swept
from ...sweep.result import Result
from ..draw.places import BIG, LABEL, TITLE, Box
from ..draw.sketch import Sketch
from ..draw.text import measure
from ..draw.theme import Theme
from ..panels.drawer import cut
from ..panels.hud import keys
from ..panels.overlay import wrapped
from ..rooms.wall_drawing import Picture
from .grid import BAR, CAPTION, MARGIN, RunGrid
from .words import ending_colour, ending_of, number_text, options_text

HEAD, LINE, KEYS = 42.0, 70.0, 17.0
"""Baselines of the title and of the line below it from above, and of the keys from below."""


def head(grid: RunGrid, theme: Theme, title: str, notes: Sequence[str], line: str) -> Sketch:
    """The title, at the right the first of some notes that leaves it room, and a line below."""
    sketch, wide = Sketch(), grid.size[0] - 2 * MARGIN
    needed = measure(title, BIG, True) + 24
    note = next((note for note in notes if needed + measure(note, LABEL) <= wide), "")
    sketch.text(MARGIN, HEAD, _shortened(title, wide, BIG, bold=True), BIG, theme.text1, bold=True)
    sketch.text(MARGIN + wide, HEAD, note, LABEL, theme.text3, anchor="right")
    sketch.text(MARGIN, LINE, _shortened(line, wide, TITLE), TITLE, theme.text2)
    return sketch


def foot(grid: RunGrid, theme: Theme, table: Sequence[tuple[str, str]]) -> Sketch:
    """The line of keys."""
    return keys(MARGIN, grid.size[1] - KEYS, grid.size[0] - 2 * MARGIN, theme, table)


def tiles(
    grid: RunGrid,
    theme: Theme,
    results: Sequence[Result],
    pictures: Mapping[int, Picture],
    chosen: int | None,
    remarks: Mapping[int, str],
    said: Mapping[int, str],
) -> Sketch:
    """The runs that are seen.

    Parameters
    ----------
    results : sequence of Result
        All of them, in the order of the wall.
    pictures : mapping of int to ndarray
        By place, in the pixels of a tile; a run without one shows its words.
    chosen : int or None
        A place.
    remarks : mapping of int to str
        What is said instead of a loss ("opening").
    said : mapping of int to str
        Why a run has no picture, by its number.
    """
    sketch, names = Sketch(), swept(results)
    for place in grid.shown:
        result, box = results[place], grid.box(place)
        x, y, wide, high = box
        mine = place == chosen
        rim = 2.5 if mine else 1.0
        sketch.rect(x - rim, y - rim, wide + 2 * rim, high + 2 * rim, fill=theme.selection if mine else theme.border,
                    radius=rim)  # fmt: skip
        if place in pictures:
            sketch.image(box, pictures[place])
        else:
            sketch.rect(*box, fill=theme.panel)
            _words(sketch, box, theme, result, said.get(result.number, ""))
        _caption(sketch, box, theme, result, (options_text(result.options, names), remarks.get(place, "")), mine)
    _bar(sketch, grid, theme)
    return sketch


def _words(sketch: Sketch, box: Box, theme: Theme, result: Result, why: str) -> None:
    """What stands in the place of a picture."""
    x, y, wide, high = box
    said = f"{result.state} after step {result.steps:,}" if result.state != "done" else ""
    why = why or result.error
    lines = wrapped(": ".join(filter(None, (said, why))), wide - 20)[: max(1, int(high // 18) - 1)]
    top = y + (high - 18 * len(lines)) / 2 + 13
    for row, line in enumerate(lines):
        sketch.text(x + 10, top + 18 * row, cut(line, wide - 20), LABEL, theme.text3)


def _caption(sketch: Sketch, box: Box, theme: Theme, result: Result, words: tuple[str, str], mine: bool) -> None:
    """A disc for how it ended, its loss or a remark; at the right its options and its seed, as far as there is room."""
    x, y, wide, high = box
    baseline, options, remark = y + high + CAPTION - 6, *words
    ending = ending_of(result)
    sketch.disc(x + 4.5, baseline - 4.5, 4.5, ending_colour(ending, theme))
    said = remark or (number_text(result.loss) if result.state == "done" else result.state)
    said = cut(said, wide - 14)
    sketch.text(x + 14, baseline, said, LABEL, theme.text1 if mine else theme.text2, bold=mine)
    room = wide - 14 - measure(said, LABEL, mine) - 10
    seed = f"seed {result.seed:,}"
    for beside in (f"{options}, {seed}" if options else seed, options, seed):
        if beside and measure(beside, LABEL) <= room:
            sketch.text(x + wide, baseline, beside, LABEL, theme.text3, anchor="right")
            return


def _bar(sketch: Sketch, grid: RunGrid, theme: Theme) -> None:
    if grid.bar is not None:
        whole, part = grid.bar
        sketch.rect(*whole, fill=theme.panel, radius=BAR / 4)
        sketch.rect(*part, fill=theme.flow, radius=BAR / 4)


def _shortened(line: str, room: float, size: float, *, bold: bool = False) -> str:
    """As much of a line as has room."""
    if measure(line, size, bold) <= room:
        return line
    while line and measure(f"{line}…", size, bold) > room:
        line = line[:-1]
    return f"{line.rstrip()}…" if line else ""
