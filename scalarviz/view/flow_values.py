"""The value printed on each cube of a small net, in the colour that can be read on it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .colors import Colormap, text_colour
from .flow_few import chip_text
from .layout import FEW, Layout
from .layout_plate import Plate
from .sketch import Sketch
from .text import measure
from .theme import Theme

Floats = NDArray[np.float64]
Project = Callable[[ArrayLike], Floats]
_SIZES = (22, 20, 18, 16, 15, 14, 13)
_MIDDLE = 0.357  # from the baseline to half the height of a digit, of the size


def colours_at(cmap: Colormap, unit: ArrayLike) -> Floats:
    """Colours at fractions 0..1 of a scale, shape (..., 3): what a cube's main face shows."""
    place = np.asarray(unit, np.float64)
    return cmap(2.0 * place - 1.0 if cmap.diverging else place)


class CubeValues:
    """Where the numbers stand and how large they are; both depend on the layout alone.

    Attributes
    ----------
    size : int
        Size of type; 0 when there are too many weights or the cubes are too small.
    """

    def __init__(self, layout: Layout, theme: Theme, project: Project) -> None:
        plates = [p for p in layout.plates if p.kind != "activation"]
        self._theme, self._plates = theme, plates
        few = sum(p.size for p in plates) <= FEW
        self.size = min((_fitting(p, project) for p in plates), default=0) if few else 0
        self._centres = {
            p.name: project([p.cell_centre_top(*divmod(k, p.shape[1])) for k in range(p.size)])
            for p in plates if self.size
        }

    def sketch(self, values: dict[str, NDArray[np.floating]], units: dict[str, Floats], cmap: Colormap) -> Sketch:
        """The numbers: `values` and their fractions `units` of the colour scale, by plate, in C order."""
        sketch = Sketch()
        for name, centres in self._centres.items():
            colours = colours_at(cmap, units[name].ravel())
            for (x, y), value, colour in zip(centres, values[name].ravel(), colours, strict=True):
                self._print(sketch, float(x), float(y), float(value), colour)
        return sketch

    def _print(self, sketch: Sketch, x: float, y: float, value: float, colour: Floats) -> None:
        text = chip_text(value, signed=True)
        ink = text_colour(colour)
        if value != value:  # the mark below is a checkerboard: a patch keeps the word readable
            wide = measure(text, self.size, True) + 10
            sketch.rect(x - wide / 2, y - self.size * 0.62, wide, self.size * 1.24, fill=self._theme.ink)
            ink = self._theme.paper
        sketch.text(x, y + _MIDDLE * self.size, text, self.size, ink, bold=True, anchor="middle")


def _fitting(plate: Plate, project: Project) -> int:
    """The largest size whose widest usual number fits every cube of the plate; 0 if none does."""
    centres = np.array([plate.cell_centre_top(*divmod(k, plate.shape[1])) for k in range(plate.size)])
    half = plate.half * plate.axes[:2]
    spans = [np.abs(project(centres + half[k]) - project(centres - half[k])) for k in (0, 1)]
    # Through the middle of a sheared face a horizontal line is as long as its flatter edge's horizontal part.
    flat = 0 if spans[0][:, 0].mean() >= spans[1][:, 0].mean() else 1
    wide, high = spans[flat][:, 0].min(), spans[1 - flat][:, 1].min()
    text = "+0.00"
    return next((s for s in _SIZES if measure(text, s, True) + 8 <= wide and s + 6 <= high), 0)
