"""The value printed on each cube of a small net, in the colour that can be read on it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...run.core.frame import Frame
from ..cubes.outline import Picked
from ..cubes.own import OwnLook
from ..cubes.picking import Picker, Shares
from ..cubes.scale import ActivationScale
from ..ink.maps import Colormap, text_colour
from ..ink.sketch import Box, Sketch
from ..ink.text import chip_text, exponent, measure
from ..ink.theme import Theme
from ..space.camera import Camera
from ..space.layout import FEW, Layout
from ..space.plate import Plate
from .placer import Floats, Project

_Key = tuple[bool, str]  # whether it is a row of activations, and its name
_SIZES = (22, 20, 18, 16, 15, 14, 13)
_MIDDLE = 0.357  # from the baseline to half the height of a digit, of the size


class Small(NamedTuple):
    """Where cubes are not all as large as can be."""

    shares: Shares  # how large each is beside the largest, by plate and element
    picked: Picked  # what is drawn at a point (logical pixels)
    own: Mapping[int, OwnLook]  # looks given by hand, by flat index


def colours_at(cmap: Colormap, unit: ArrayLike) -> Floats:
    """Colours at fractions 0..1 of a scale, shape (..., 3): what a cube's main face shows."""
    place = np.asarray(unit, np.float64)
    return cmap(2.0 * place - 1.0 if cmap.diverging else place)


class CubeValues:
    """Where the numbers stand and how large they are; both depend on layout and camera alone.

    Where they span `decades`, as gradients do, each is written with its exponent. For a camera that was `moved` by hand
    a number stands only on a main face that can be seen and holds it, and not where it would leave the `window` in
    which cubes are drawn. `size` is that of the type: 0 where there are too many weights or the cubes are too small.
    """

    def __init__(
        self,
        layout: Layout,
        theme: Theme,
        project: Project,
        moved: Camera | None = None,
        *,
        decades: bool = False,
        window: Box | None = None,
    ) -> None:
        plates = layout.plates
        self.theme, self.moved = theme, moved is not None  # the theme may be set: places do not depend on it
        self._plates, self._project = plates, project
        few = layout.turns or sum(p.size for p in plates if p.kind != "activation") <= FEW
        self._decades = decades
        widest = "+0.0e\N{MINUS SIGN}0" if decades else "+0.00"
        self._seen: dict[_Key, NDArray[np.bool_]] = {}
        if few and moved is not None:
            self._seen, self.size = _readable(layout, moved, project, widest)
        else:
            fits = {_key(p): _fitting(p, project, widest) for p in plates} if few else {}
            self.size = _size_of(fits)
            plates = tuple(p for p in plates if fits.get(_key(p), 0) >= max(self.size, 1))
        self._centres = {_key(p): project(p.tops) for p in plates if self.size}
        if window is not None and moved is not None:
            reach = np.array([measure(widest, self.size, True), self.size]) / 2
            low, high = np.array(window[:2]) + reach, np.array(window[:2]) + np.array(window[2:]) - reach
            for key, middles in self._centres.items():
                self._seen[key] &= np.all((middles >= low) & (middles <= high), axis=1)

    def sketch(
        self,
        values: dict[str, NDArray[np.floating]],
        units: dict[str, Floats],
        cmap: Colormap,
        missing: Mapping[str, NDArray[np.floating]] | None = None,
        skip: Mapping[str, NDArray[np.bool_]] | None = None,
        *,
        signed: bool = True,
        small: Small | None = None,
    ) -> Sketch:
        """The numbers of one frame, by plate, in C order: `values`, and `units`, their places on the colour scale.

        Where a number has not been computed yet, the weight in `missing` (else NaN) stands there, small, since a zero
        would be read as a result. On cubes to `skip` something else is written. Numbers that are not `signed` are
        magnitudes.
        """
        sketch = Sketch()
        for row, name in self._centres:
            if row:
                continue
            centres, seen = self.places(name)
            if skip is not None:
                seen = seen & ~skip[name].ravel()
            size = np.full(len(centres), self.size)
            if small is not None:
                centres, size = self._on_small(name, small)
                seen = seen & (size > 0)
            weights = np.full(len(centres), np.nan) if missing is None else np.asarray(missing[name]).ravel()
            colours = colours_at(cmap, units[name].ravel())
            if small is not None:
                self._given(colours, name, small.own)
            rows = zip(centres[seen], values[name].ravel()[seen], colours[seen], weights[seen], size[seen], strict=True)
            for (x, y), value, colour, weight, high in rows:
                if weight == weight:
                    least = min(self.size, 15)
                    text = f"w {chip_text(weight, signed=True)}"
                    sketch.text(x, y + _MIDDLE * least, text, least, self.theme.text2, anchor="middle")
                else:
                    self._print(sketch, (float(x), float(y)), float(value), colour, signed, int(high))
        return sketch

    def _given(self, colours: Floats, name: str, own: Mapping[int, OwnLook]) -> None:
        """Put colours that were given by hand among those of a tensor's cubes."""
        plate = next(p for p in self._plates if p.name == name and p.kind != "activation")
        for index, look in own.items():
            if look.colour is not None and plate.start <= index < plate.start + plate.size:
                colours[index - plate.start] = look.colour

    def _on_small(self, name: str, small: Small) -> tuple[Floats, NDArray[np.intp]]:
        """Middles of the main faces as they are, and sizes of type; 0 where none fits or something is before it."""
        index = next(k for k, p in enumerate(self._plates) if p.name == name and p.kind != "activation")
        plate = self._plates[index]
        share = np.array([small.shares(index, element) for element in range(plate.size)])
        middles = self._project(plate.centres + (plate.depth * (2.0 * share - 1.0))[:, None] * plate.axes[2])
        size = np.array([max((s for s in _SIZES if s <= self.size * part), default=0) for part in share], np.intp)
        for element in np.flatnonzero(size).tolist():
            x, y = middles[element]
            hit = small.picked((float(x), float(y)))
            size[element] *= hit is not None and hit[:2] == (index, element)
        return middles, size

    def places(self, name: str) -> tuple[Floats, NDArray[np.bool_]]:
        """Middles (N, 2) of the main faces of a tensor's cubes in logical pixels, and which of them can be read."""
        centres = self._centres[False, name]
        return centres, self._seen.get((False, name), np.ones(len(centres), bool))

    def rows(self, frame: Frame, scale: ActivationScale) -> Sketch:
        """The numbers of one frame's rows of activations; a dead unit has its cross alone."""
        sketch = Sketch()
        for (row, name), centres in self._centres.items():
            if row and name in frame.activations:
                numbers = np.asarray(frame.activations[name], float)
                alive = np.ones(len(centres), bool) if name not in frame.dead else ~np.asarray(frame.dead[name])
                seen = alive & self._seen.get((row, name), np.ones(len(centres), bool))
                colours = colours_at(scale.cmap, scale.range.unit(numbers))
                for (x, y), value, colour in zip(centres[seen], numbers[seen], colours[seen], strict=True):
                    self._write(sketch, (float(x), float(y)), chip_text(value), colour, self.size)
        return sketch

    def _print(
        self, sketch: Sketch, at: tuple[float, float], value: float, colour: Floats, signed: bool, size: int
    ) -> None:
        decades = self._decades and bool(np.isfinite(value))
        text = exponent(value, signed=signed) if decades else chip_text(value, signed=signed)
        self._write(sketch, at, "0" if value == 0 else text, colour, size)  # 0.00 may be a small number, too

    def _write(self, sketch: Sketch, at: tuple[float, float], text: str, colour: Floats, size: int) -> None:
        x, y = at
        ink = text_colour(colour)
        if text == "NaN":  # the mark below is a checkerboard: a patch keeps the word readable
            wide = measure(text, size, True) + 10
            sketch.rect(x - wide / 2, y - size * 0.62, wide, size * 1.24, fill=self.theme.ink)
            ink = self.theme.paper
        sketch.text(x, y + _MIDDLE * size, text, size, ink, bold=True, anchor="middle")


def _key(plate: Plate) -> _Key:
    return plate.kind == "activation", plate.name


def _fitting(plate: Plate, project: Project, widest: str) -> int:
    """The largest size whose widest usual number fits every cube of the plate; 0 if none does."""
    found = 0
    for cells in ([0, plate.size - 1], range(plate.size)):  # where two are too small the others are not asked
        wide, high = face_room(plate, project, cells)
        found = next((s for s in _SIZES if measure(widest, s, True) + _air(s) <= wide and s + 6 <= high), 0)
        if not found:
            return 0
    return found


def face_room(plate: Plate, project: Project, cells: Sequence[int] | None = None) -> tuple[float, float]:
    """Width and height in logical pixels that a text may have on the main face of each cube of a plate, or of some."""
    tops = plate.tops
    centres = tops if cells is None else tops[list(cells)]
    half = plate.half * plate.axes[:2]
    spans = [np.abs(project(centres + half[k]) - project(centres - half[k])) for k in (0, 1)]
    # Through the middle of a sheared face a horizontal line is as long as its flatter edge's horizontal part.
    flat = 0 if spans[0][:, 0].mean() >= spans[1][:, 0].mean() else 1
    return float(spans[flat][:, 0].min()), float(spans[1 - flat][:, 1].min())


def _air(size: int) -> float:
    """Pixels beside a number: 8, and for the smallest type the cube's dark rim, before there would be no number."""
    return 8.0 if size > _SIZES[-1] else 3.5


def _size_of(fits: Mapping[_Key, int]) -> int:
    """The size for all plates by what fits on each: on weights all or none; rows where nothing fits have no numbers."""
    bare = any(fit == 0 for (row, _), fit in fits.items() if not row)
    return 0 if bare else min((fit for fit in fits.values() if fit > 0), default=0)


def _readable(
    layout: Layout, camera: Camera, project: Project, widest: str
) -> tuple[dict[_Key, NDArray[np.bool_]], int]:
    """Which cubes, by plate, show a main face that holds a number, and the size of type for all of them."""
    seen: dict[_Key, NDArray[np.bool_]] = {}
    sizes: dict[_Key, NDArray[np.intp]] = {}
    for plate in layout.plates:
        tops = plate.tops
        seen[_key(plate)] = camera.towards_eye(tops) @ plate.axes[2] > 1e-6
        own = _sizes(tops, plate, project, widest)
        fits = bool((own[seen[_key(plate)]] > 0).all())  # a plate has numbers on all its cubes or on none
        sizes[_key(plate)] = own if fits else np.zeros_like(own)
    usable = [s for key, given in sizes.items() for s in given[seen[key]] if s > 0]
    size = int(min(usable, default=0))
    found = {key: seen[key] & (sizes[key] >= max(size, 1)) for key in seen}
    if size:
        _leave_out_covered(found, layout, camera, measure(widest, size, True))
    return found, size


def _leave_out_covered(seen: dict[_Key, NDArray[np.bool_]], layout: Layout, camera: Camera, width: float) -> None:
    """Take away the numbers that would stand on a cube in front of their own, at either end or in the middle."""
    picker = Picker(layout)
    heights = [float((p.origin + p.depth * p.axes[2])[2]) if p.axes[2][2] > 0.99 else -np.inf for p in layout.plates]
    for index, plate in enumerate(layout.plates):
        marks = seen[_key(plate)]
        if heights[index] > -np.inf and heights[index] == max(heights):
            continue  # on a tray nothing is higher, so nothing stands before these faces
        for element, (x, y) in enumerate(camera.project(plate.tops)):
            if marks[element]:
                hits = [picker.pick(camera, (float(x + shift), float(y))) for shift in (0.0, -width / 2, width / 2)]
                marks[element] = all(hit is not None and hit[:2] == (index, element) for hit in hits)


def _sizes(tops: Floats, plate: Plate, project: Project, widest: str) -> NDArray[np.intp]:
    """The largest size of type, for each main face, whose widest usual number lies inside it; 0 where none does."""
    ring = np.array([(-1, -1), (1, -1), (1, 1), (-1, 1)]) @ (plate.half * plate.axes[:2])
    quads = project((tops[:, None] + ring).reshape(-1, 3)).reshape(-1, 4, 2)
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
