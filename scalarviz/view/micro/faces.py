"""Two lines on a cube: how its number comes about, and the number. Where there is room for one, the number."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from ..cubes.scale import Coloring
from ..ink.maps import text_colour
from ..ink.sketch import Sketch
from ..ink.text import measure
from ..notes.values import CubeValues, colours_at, face_room
from ..space.arrangement import Project
from ..space.layout import FEW, Layout
from ..space.plate import Plate
from .told import Face

Floats = NDArray[np.float64]
_ABOVE, _BELOW = 13, (17, 16, 15, 14, 13)
_TWO = 44.0  # pixels of a face from top to bottom that hold two lines
_AIR, _CLOSE = 6.0, 3.0  # beside two lines, and beside a number that stands alone


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
        few = sum(p.size for p in layout.plates if p.kind != "activation") <= FEW
        readable = few and (values.size > 0 or not values.moved)
        self._plates = [plate for plate in layout.plates if plate.kind != "activation"] if readable else []
        self._room = {plate.name: face_room(plate, project) for plate in self._plates}
        self._places = {plate.name: self._of(plate, project, values) for plate in self._plates}

    @staticmethod
    def _of(plate: Plate, project: Project, values: CubeValues) -> tuple[Floats, NDArray[np.bool_]]:
        """Middles of the main faces, and which can be read."""
        if values.size:
            return values.places(plate)
        return project(plate.tops), np.ones(plate.size, bool)

    def written(self, faces: Mapping[int, Face], *, alone: bool) -> list[int]:
        """The cubes on which something is written; with `alone` a number alone where there is no room for two lines."""
        found = []
        for plate, own in self._own(faces):
            if self._form(plate, own, alone=alone) is not None:
                found += [plate.start + element for element in own]
        return found

    def sketch(self, faces: Mapping[int, Face], colouring: Coloring, *, alone: bool) -> Sketch:
        """The lines of those cubes that have some, in the colour that can be read on them."""
        sketch = Sketch()
        units = colouring.units() if faces and self._room else {}
        for plate, own in self._own(faces):
            form = self._form(plate, own, alone=alone)
            if form is not None:
                self._write(sketch, plate, own, form, colours_at(colouring.cmap, units[plate.name].ravel()))
        return sketch

    def _own(self, faces: Mapping[int, Face]) -> list[tuple[Plate, dict[int, Face]]]:
        """The faces of each plate, by element."""
        found = []
        for plate in self._plates:
            own = {index - plate.start: face for index, face in faces.items() if 0 <= index - plate.start < plate.size}
            if own:
                found.append((plate, own))
        return found

    def _form(self, plate: Plate, faces: Mapping[int, Face], *, alone: bool) -> tuple[bool, int, bool] | None:
        """Whether there are two lines, the size of the number, whether it is bold; None where nothing has room."""
        wide, high = self._room[plate.name]
        above = max(measure(face.above, _ABOVE) for face in faces.values())
        if high >= _TWO and above + _AIR <= wide:
            below = max((face.below for face in faces.values()), key=lambda text: measure(text, 17, True))
            size = next((s for s in _BELOW if measure(below, s, True) + _AIR <= wide), 0)
            if size:
                return True, size, True
        bare = max((_bare(face.below) for face in faces.values()), key=lambda text: measure(text, 17, True))
        sizes = [(s, True) for s in _BELOW] + [(13, False)]
        fitting = [(s, bold) for s, bold in sizes if measure(bare, s, bold) + _CLOSE <= wide and s + 4 <= high]
        return (False, *fitting[0]) if alone and fitting else None

    def _write(
        self, sketch: Sketch, plate: Plate, faces: Mapping[int, Face], form: tuple[bool, int, bool], colours: Floats
    ) -> None:
        (centres, seen), (two, size, bold) = self._places[plate.name], form
        for element, face in faces.items():
            if not seen[element]:
                continue
            x, y = centres[element]
            ink = text_colour(colours[element])
            if two:
                sketch.text(x, y - 3, face.above, _ABOVE, ink, anchor="middle")
                sketch.text(x, y + 15, face.below, size, ink, bold=True, anchor="middle")
            else:
                sketch.text(x, y + 0.357 * size, _bare(face.below), size, ink, bold=bold, anchor="middle")


def _bare(text: str) -> str:
    """The number alone."""
    return text.removeprefix("= ").removeprefix("≈ ").removeprefix("w' ")
