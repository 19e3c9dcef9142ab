"""The value printed on each cube of a small net, in a readable colour."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...run.core.frame import Frame
from ..cubes.looks import CubeLook
from ..cubes.picking import Picked, Picker, Shares
from ..cubes.scale import ActivationScale, Coloring
from ..ink.maps import Colormap, text_colour
from ..ink.sketch import Bound, Box, Sketch
from ..ink.text import chip_text, measure, tenths
from ..ink.theme import Theme
from ..space.arrangement import Project
from ..space.camera import Camera, Floats
from ..space.layout import FEW, Layout
from ..space.plate import Plate

_SIZES = (22, 20, 18, 16, 15, 14, 13)
WIDEST = {"decades": "+0.0e\N{MINUS SIGN}0", "brief": "+0.00", "cube": "+0.00", "tenths": "+0.0"}
_MIDDLE = 0.357  # from the baseline to half the height of a digit, of the size


class Small(NamedTuple):
    """The sizes of cubes that are not all alike."""

    shares: Shares  # size of each cube as a share of the largest, by plate and element
    picked: Picked  # the cube at a point (logical pixels)
    own: Mapping[int, CubeLook]  # looks given by hand, by flat index


def colours_at(cmap: Colormap, unit: ArrayLike) -> Floats:
    """Return the colours at fractions 0..1 of a scale, shape (..., 3): those of the main faces."""
    place = np.asarray(unit, np.float64)
    return cmap(2.0 * place - 1.0 if cmap.diverging else place)


class CubeValues:
    """The places and the type size of the numbers; both depend only on layout and camera.

    If they span `decades`, as gradients do, each has an exponent, or is written in brief; others get fewer decimals on
    small cubes. For a camera that was `moved` by hand a number appears only on a visible main face that holds it,
    inside the `window` of the cubes. `size` is that of the type: 0 for too many weights or too small cubes.
    """

    def __init__(
        self, layout: Layout, theme: Theme, project: Project, moved: Camera | None, window: Box, *, decades: bool
    ) -> None:
        plates = layout.plates
        self.theme, self.moved = theme, moved is not None
        self._plates, self._project = plates, project
        few = layout.turns or sum(p.size for p in plates if p.kind != "activation") <= FEW
        self._seen: dict[Plate, NDArray[np.bool_]] = {}
        self.size = 0
        for self._form in ("decades", "brief") if decades else ("cube", "tenths"):
            widest = WIDEST[self._form]
            if few and moved is not None:
                self._seen, self.size = _readable(layout, moved, project, widest)
            elif few:
                fits = {p: _fitting(p, project, widest) for p in layout.plates}
                # on weights all or none; rows without room have no numbers
                bare = any(fit == 0 for plate, fit in fits.items() if plate.kind != "activation")
                self.size = 0 if bare else min((fit for fit in fits.values() if fit > 0), default=0)
                plates = tuple(p for p in layout.plates if fits[p] >= max(self.size, 1))
            if self.size:
                break
        self._centres = {p: project(p.tops) for p in plates if self.size}
        if moved is not None:
            reach = np.array([measure(widest, self.size, True), self.size]) / 2
            low, high = np.array(window[:2]) + reach, np.array(window[:2]) + np.array(window[2:]) - reach
            for plate, middles in self._centres.items():
                self._seen[plate] &= np.all((middles >= low) & (middles <= high), axis=1)

    def sketch(
        self, frame: Frame, colouring: Coloring, skip: NDArray[np.bool_] | None = None, small: Small | None = None
    ) -> Sketch:
        """Return the numbers of one frame, by plate, in C order; cubes to `skip` (P,) have another text.

        A number that is not computed yet is replaced by the weight in small type, since a zero would look like a
        result.
        """
        sketch, missing = Sketch(), colouring.missing(frame)
        for plate in self._centres:
            if plate.kind == "activation":
                continue
            span, (centres, seen) = slice(plate.start, plate.start + plate.size), self.places(plate)
            if skip is not None:
                seen = seen & ~skip[span]
            size = np.full(len(centres), self.size)
            colours = colours_at(colouring.cmap, colouring.range.unit(colouring.drawn[span]))
            if small is not None:
                centres, size = self._on_small(plate, small)
                seen = seen & (size > 0)
                for index, look in small.own.items():
                    if look.colour is not None and span.start <= index < span.stop:
                        colours[index - span.start] = look.colour
            for k in np.flatnonzero(seen).tolist():
                (x, y), value = centres[k].tolist(), float(colouring.flat[span.start + k])
                if missing[span.start + k]:
                    least, written = min(self.size, 15), tenths if self._form == "tenths" else chip_text
                    weight = written(frame.values[span.start + k], signed=True)
                    letter = plate.name if plate.size == 1 and len(plate.name) == 1 else "w"
                    said = weight if colouring.opened else f"{letter} {weight}"  # there the legend explains it
                    sketch.text(x, y + _MIDDLE * least, said, least, self.theme.text2, anchor="middle")
                    continue
                form = ("signed " if colouring.signed else "") + self._form
                bound = Bound(colouring.quantity, span.start + k, form)
                self._write(sketch, (x, y), value, bound, colours[k], int(size[k]))
        return sketch

    def _on_small(self, plate: Plate, small: Small) -> tuple[Floats, NDArray[np.intp]]:
        """Return the middles of the present main faces, and type sizes; 0 if none fits or the face is hidden."""
        index = self._plates.index(plate)
        share = np.array([small.shares(index, element) for element in range(plate.size)])
        middles = self._project(plate.centres + (plate.depth * (2.0 * share - 1.0))[:, None] * plate.axes[2])
        size = np.array([max((s for s in _SIZES if s <= self.size * part), default=0) for part in share], np.intp)
        for element in np.flatnonzero(size).tolist():
            x, y = middles[element]
            hit = small.picked((float(x), float(y)))
            size[element] *= hit is not None and hit[:2] == (index, element)
        return middles, size

    def lift(self, rise: NDArray[np.floating] | None, project: Project) -> None:
        """Move the numbers to faces that are higher by shares of the cubes' height (P,); None: back."""
        for plate in self._centres:
            if plate.kind != "activation":
                up = np.zeros(plate.size) if rise is None else rise[plate.start : plate.start + plate.size]
                up = np.where(up < 0, up / 2, up)  # the cube in front hides the lower half of a lowered face
                self._centres[plate] = project(plate.tops + (2.0 * plate.depth * up)[:, None] * plate.axes[2])

    def writes(self, plate: Plate) -> bool:
        """Return whether the cubes of a plate have numbers."""
        return plate in self._centres

    def places(self, plate: Plate) -> tuple[Floats, NDArray[np.bool_]]:
        """Return the middles (N, 2) of a plate's main faces in logical pixels, and which are readable."""
        centres = self._centres[plate]
        return centres, self._seen.get(plate, np.ones(len(centres), bool))

    def rows(self, frame: Frame, scale: ActivationScale, light: float = 1.0) -> Sketch:
        """Return the numbers of one frame's rows of activations; a dead unit has only its cross.

        `light` is the remaining share of their colours.
        """
        sketch = Sketch()
        for plate in self._centres:
            if plate.kind == "activation" and plate.name in frame.activations:
                numbers = np.asarray(frame.activations[plate.name], float)
                centres, seen = self.places(plate)
                seen = seen & ~np.asarray(frame.dead.get(plate.name, False))
                colours = light * colours_at(scale.cmap, scale.range.unit(numbers))
                for k in np.flatnonzero(seen).tolist():
                    bound = Bound(plate.name, k, "tenths" if self._form == "tenths" else "chip")
                    self._write(sketch, centres[k].tolist(), numbers[k], bound, colours[k], self.size)
        return sketch

    def _write(
        self, sketch: Sketch, at: tuple[float, float], value: float, bound: Bound, colour: Floats, size: int
    ) -> None:
        x, y = at
        ink = text_colour(colour)
        if value != value:  # the mark below is a checkerboard: a patch keeps the word readable
            wide = measure("NaN", size, True) + 10
            sketch.rect(x - wide / 2, y - size * 0.62, wide, size * 1.24, fill=self.theme.ink)
            ink = self.theme.paper
        sketch.number(x, y + _MIDDLE * size, value, bound, size, ink)


def _fitting(plate: Plate, project: Project, widest: str) -> int:
    """Return the largest type size whose widest usual number fits every cube of the plate; 0 for none."""
    wide, high = face_room(plate, project)
    # beside it 8 pixels, and for the smallest type the cube's dark rim, before there would be no number
    airs = {s: 8.0 if s > _SIZES[-1] else 3.5 for s in _SIZES}
    return next((s for s in _SIZES if measure(widest, s, True) + airs[s] <= wide and s + 6 <= high), 0)


def face_room(plate: Plate, project: Project) -> tuple[float, float]:
    """Return the width and height in logical pixels for a text on the main face of each cube of a plate."""
    half, tops = plate.half * plate.axes[:2], plate.tops
    spans = [np.abs(project(tops + half[k]) - project(tops - half[k])) for k in (0, 1)]
    # Through the middle of a sheared face a horizontal line is as long as its flatter edge's horizontal part.
    flat = 0 if spans[0][:, 0].mean() >= spans[1][:, 0].mean() else 1
    return float(spans[flat][:, 0].min()), float(spans[1 - flat][:, 1].min())


def face_quads(plate: Plate, project: Project) -> Floats:
    """Return the corners of the main faces of a plate's cubes, (N, 4, 2), in logical pixels."""
    ring = np.array([(-1, -1), (1, -1), (1, 1), (-1, 1)]) @ (plate.half * plate.axes[:2])
    return project((plate.tops[:, None] + ring).reshape(-1, 3)).reshape(-1, 4, 2)


def _readable(
    layout: Layout, camera: Camera, project: Project, widest: str
) -> tuple[dict[Plate, NDArray[np.bool_]], int]:
    """Return by plate which cubes show a main face that holds a number, and the type size for all of them."""
    seen: dict[Plate, NDArray[np.bool_]] = {}
    sizes: dict[Plate, NDArray[np.intp]] = {}
    for plate in layout.plates:
        seen[plate] = camera.towards_eye(plate.tops) @ plate.axes[2] > 1e-6
        own = _sizes(plate, project, widest)
        fits = bool((own[seen[plate]] > 0).all())  # a plate has numbers on all its cubes or on none
        sizes[plate] = own if fits else np.zeros_like(own)
    size = int(min((s for plate, given in sizes.items() for s in given[seen[plate]] if s > 0), default=0))
    found = {plate: seen[plate] & (sizes[plate] >= max(size, 1)) for plate in seen}
    if size:
        _leave_out_covered(found, layout, camera, measure(widest, size, True))
    return found, size


def _leave_out_covered(seen: dict[Plate, NDArray[np.bool_]], layout: Layout, camera: Camera, width: float) -> None:
    """Remove the numbers that a cube in front would cut at either end or in the middle."""
    picker = Picker(layout)
    heights = [float((p.origin + p.depth * p.axes[2])[2]) if p.axes[2][2] > 0.99 else -np.inf for p in layout.plates]
    for index, plate in enumerate(layout.plates):
        marks = seen[plate]
        if heights[index] > -np.inf and heights[index] == max(heights):
            continue  # on a tray nothing is higher, so nothing hides these faces
        for element, (x, y) in enumerate(camera.project(plate.tops)):
            if marks[element]:
                hits = [picker.pick(camera, (float(x + shift), float(y))) for shift in (0.0, -width / 2, width / 2)]
                marks[element] = all(hit is not None and hit[:2] == (index, element) for hit in hits)


def _sizes(plate: Plate, project: Project, widest: str) -> NDArray[np.intp]:
    """Return for each main face the largest type size whose widest usual number fits; 0 for none."""
    tops, quads = plate.tops, face_quads(plate, project)
    middles = project(tops)
    edges = np.roll(quads, -1, axis=1) - quads
    turn = np.sign(edges[:, 0, 0] * edges[:, 1, 1] - edges[:, 0, 1] * edges[:, 1, 0])
    lengths = np.maximum(np.hypot(edges[..., 0], edges[..., 1]), 1e-9)
    found = np.zeros(len(tops), np.intp)
    for size in _SIZES[::-1]:
        half = np.array([measure(widest, size, True) + 6, size + 2.0]) / 2
        corners = middles[:, None] + half * [(-1, -1), (1, -1), (1, 1), (-1, 1)]
        to = corners[:, None] - quads[:, :, None]  # face, edge, corner
        inside = (edges[:, :, None, 0] * to[..., 1] - edges[:, :, None, 1] * to[..., 0]) * turn[:, None, None]
        found[(inside / lengths[..., None]).min(axis=(1, 2)) > 0] = size
    return found
