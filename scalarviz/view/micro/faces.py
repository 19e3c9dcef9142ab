"""Two lines on a cube: how its number comes about, and the number. Where there is room for one, the number."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from ..cubes.scale import Coloring
from ..draw.maps import text_colour
from ..draw.sketch import Sketch
from ..draw.text import measure
from ..flow.values import CubeValues, Project, colours_at, face_room
from ..space.layout import Layout
from ..space.plate import Plate
from .told import Face

Floats = NDArray[np.float64]
_ABOVE, _BELOW = 13, (17, 16, 15, 14, 13)
_TWO = 44.0  # pixels of a face from top to bottom that hold two lines
_AIR = 6.0


class Faces:
    """Where two lines have room on the cubes of a layout.

    Parameters
    ----------
    layout : Layout
    project : callable
        World points to logical pixels.
    values : CubeValues
        Which cubes can be read at all, and where.
    """

    def __init__(self, layout: Layout, project: Project, values: CubeValues) -> None:
        self._plates = [plate for plate in layout.plates if plate.kind != "activation"]
        self._room = {plate.name: face_room(plate, project) for plate in self._plates} if values.size else {}
        self._values = values

    def sketch(self, faces: Mapping[int, Face], colouring: Coloring) -> Sketch:
        """The lines of those cubes that have some, in the colour that can be read on them."""
        sketch = Sketch()
        units = colouring.units() if faces and self._room else {}
        for plate in self._plates:
            own = {index - plate.start: face for index, face in faces.items() if 0 <= index - plate.start < plate.size}
            if own and plate.name in self._room:
                self._write(sketch, plate, own, colours_at(colouring.cmap, units[plate.name].ravel()))
        return sketch

    def _write(self, sketch: Sketch, plate: Plate, faces: Mapping[int, Face], colours: Floats) -> None:
        wide, high = self._room[plate.name]
        centres, seen = self._values.places(plate.name)
        longest = max(faces.values(), key=lambda face: measure(face.above, _ABOVE)).above
        two = high >= _TWO and measure(longest, _ABOVE) + _AIR <= wide
        below = max((face.below for face in faces.values()), key=lambda text: measure(text, 17, True))
        bare = max((_bare(face.below) for face in faces.values()), key=len)
        size = next((s for s in _BELOW if measure(below, s, True) + _AIR <= wide), 0)
        alone = next((s for s in _BELOW if measure(bare, s, True) + _AIR <= wide), 0)
        for element, face in faces.items():
            if not seen[element]:
                continue
            x, y = centres[element]
            ink = text_colour(colours[element])
            if two and size:
                sketch.text(x, y - 3, face.above, _ABOVE, ink, anchor="middle")
                sketch.text(x, y + 15, face.below, size, ink, bold=True, anchor="middle")
            elif alone:
                text = _bare(face.below)
                sketch.text(x, y + 0.357 * alone, text, alone, ink, bold=True, anchor="middle")


def _bare(text: str) -> str:
    """The number alone."""
    return text.removeprefix("= ").removeprefix("w' ")
