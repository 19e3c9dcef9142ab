"""`Sheet`: the picture of the digit whose way is drawn, as something to draw on. No events, no training here."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..draw.sketch import Box, holds

Point = tuple[float, float]

DRAW = "draw on it; the right button erases"
LABEL_IT = "0\N{EN DASH}9: learn it as that digit   Backspace: clear"


class Sheet:
    """One picture, changed in place.

    Parameters
    ----------
    side : (int, int)
        Rows and columns of the picture.
    picture : ndarray, shape (H * W,)
        The sample itself: what is painted goes through the network at the next frame.
    label : int or None
        What it is.

    Attributes
    ----------
    drawn : bool
        Whether a hand has changed it.
    active : bool
        Whether the pointer is on it: then digit keys belong to it.
    learnt : int
        Pictures that were added to the data.
    box : Box or None
        Where it stands (logical pixels); None where it is not shown.
    """

    def __init__(self, side: tuple[int, int], picture: NDArray[np.floating], label: int | None) -> None:
        self.side = side
        self.picture, self.label = picture, label
        self.drawn = self.active = False
        self.learnt = 0
        self.box: Box | None = None

    @property
    def pixels(self) -> NDArray[np.floating]:
        """The picture as (H, W)."""
        return self.picture.reshape(self.side)

    @property
    def title(self) -> str:
        """What the picture is."""
        return "your drawing" if self.drawn else "test digit"

    @property
    def truth(self) -> str:
        """What it should be read as, where that is known."""
        return "" if self.label is None else f"is {self.label}"

    @property
    def hint(self) -> str:
        """What the hand can do next."""
        if self.active and self.picture.any():
            return LABEL_IT
        return DRAW if not self.learnt else f"{DRAW}; {self.learnt} learnt"

    def place(self, at: Point) -> Point | None:
        """A point in logical pixels as (column, row) of the picture, fractions included; None beside it."""
        if self.box is None or not holds(self.box, at):
            return None
        x, y, width, height = self.box
        return (at[0] - x) / width * self.side[1], (at[1] - y) / height * self.side[0]

    def clear(self) -> None:
        """An empty sheet."""
        self.picture[...] = 0.0
        self.drawn, self.label = True, None

    def put(self, picture: NDArray[np.floating]) -> None:
        """A picture (H, W, 3) as ink on paper: paper is the shade of its rim, ink is what differs, the most is 1."""
        grey = np.asarray(picture, float).mean(axis=2)
        rim = np.concatenate([grey[0], grey[-1], grey[:, 0], grey[:, -1]])
        ink = np.abs(grey - np.median(rim))
        side = max(ink.shape)
        square = np.zeros((side, side))
        top, left = (side - ink.shape[0]) // 2, (side - ink.shape[1]) // 2
        square[top : top + ink.shape[0], left : left + ink.shape[1]] = ink
        small = _shrunk(_shrunk(square, self.side[0]).T, self.side[1]).T
        self.pixels[...] = small / max(float(small.max()), 1e-12)
        self.drawn, self.label = True, None

    def stroke(self, start: Point, end: Point, *, erase: bool = False) -> None:
        """Paint (or erase) a line with a soft round brush; points as :meth:`place` gives them.

        The first stroke on a digit that nobody drew begins on an empty sheet.
        """
        if not self.drawn and not erase:
            self.clear()
        high, wide = self.side
        across, down = np.meshgrid(np.arange(wide) + 0.5, np.arange(high) + 0.5)
        along = np.subtract(end, start)
        length = float(along @ along)
        part = ((across - start[0]) * along[0] + (down - start[1]) * along[1]) / length if length else 0.0
        part = np.clip(part, 0.0, 1.0)
        away = np.hypot(across - start[0] - part * along[0], down - start[1] - part * along[1])
        # the strokes of both data sets are about an eighth of the picture wide; an eraser is wider
        ink = np.clip(high / 16 + (1.25 if erase else 0.75) - away, 0.0, 1.0)
        pixels = self.pixels
        pixels[...] = np.minimum(pixels, 1 - ink) if erase else np.maximum(pixels, ink)
        self.drawn, self.label = True, None


def _shrunk(rows: NDArray[np.floating], count: int) -> NDArray[np.floating]:
    """`rows` as `count` rows, each the mean of its share of them."""
    edges = np.linspace(0.0, len(rows), count + 1)
    total = np.concatenate([np.zeros((1, rows.shape[1])), np.cumsum(rows, axis=0)])
    whole = np.minimum(edges.astype(int), len(rows) - 1)
    at = total[whole] + (edges - whole)[:, None] * rows[whole]
    return np.asarray(np.diff(at, axis=0) * count / len(rows))
