"""Cubes as polygons of a display list, for SVG: the same faces, colours and light that the shader draws."""

from __future__ import annotations

import numpy as np

from ..ink.sketch import Sketch
from ..ink.theme import rgb
from ..space.arrangement import Project
from ..space.camera import Camera, Floats
from ..space.plate import Plate
from .shader import front_sides
from .slab import DETAIL_PIXELS, RIM, SlabVisual, flow_style

MOST = 5_000
"""Cubes that are drawn so: of more, a picture is smaller than its polygons."""
_SQUARE = np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]], np.float64)


def can_be_outlined(slab: SlabVisual) -> bool:
    """Whether there are few cubes, and none has a mark or a look that only the shader draws."""
    count = sum(plate.size for plate in slab.layout.plates)
    return count <= MOST and not (slab.atlas.marks or slab.own or any(map(slab.clips, range(len(slab.layout.plates)))))


def outlined(slab: SlabVisual, camera: Camera, project: Project) -> Sketch:
    """Trays, lines of flow, and of each cube the faces that are seen, the farthest first.

    `project` makes pixels (N, 2) of points (N, 3) of the world.
    """
    sketch, theme, layout = Sketch(), slab.theme, slab.layout
    if len(layout.trays) and camera.towards_eye(layout.trays[0, 0])[2] > 0.0:
        for tray in layout.trays:
            corners = project(tray)
            sketch.polygon(corners, theme.tray)
            sketch.polyline([*corners, corners[0]], theme.border, 1.0)
    if len(layout.flow):
        width, alpha = flow_style(layout)
        starts, ends = (project(layout.flow[:, k]) for k in (0, 1))
        sketch.lines(starts, ends, (*rgb(theme.flow), alpha), width)
    faces = [_faces(slab, number, camera) for number in range(len(layout.plates))]
    corners, colours, away = (np.concatenate(parts) for parts in zip(*faces, strict=True))
    flat = project(corners.reshape(-1, 3)).reshape(-1, 4, 2)
    for face in np.argsort(-away, kind="stable"):
        sketch.polygon(flat[face], colours[face])
    return sketch


def _faces(slab: SlabVisual, number: int, camera: Camera) -> tuple[Floats, Floats, Floats]:
    """Of a plate: corners (F, 4, 3) of the faces that are seen, colours (F, 3), distances of their cubes (F,)."""
    plate = slab.layout.plates[number]
    shares = np.array([slab.share_of(number, k) for k in range(plate.size)])
    there = np.flatnonzero(shares > 0)
    half = shares[there, None] * [plate.half, plate.half, plate.depth]
    middle = (
        plate.centres[there] - (1.0 - shares[there, None]) * plate.depth * plate.axes[2]
    )  # a smaller one stands on the foot
    colours = slab.colours_of(number)[there]
    # the cube whose middle is nearer hides the one behind it; the main face is the last of a cube's own
    away = -(middle @ camera.eye[:3]) if camera.orthographic else np.linalg.norm(camera.eye[:3] - middle, axis=1)
    rim = _rim(plate, camera, middle)
    found: list[tuple[Floats, Floats, Floats]] = []
    for axis in (0, 1, 2):
        for sign in (-1.0, 1.0):
            normal = sign * plate.axes[axis]
            centre = middle + half[:, axis, None] * normal
            seen = camera.towards_eye(centre) @ normal > 0
            across, down = (k for k in (0, 1, 2) if k != axis)
            shade, edge = _light(slab, plate, axis)
            for inset, light in ((0.0, edge), (rim, shade)) if rim else ((0.0, shade),):
                sides = half - inset * half[:, :1]
                corners = centre[:, None] + (
                    _SQUARE[None, :, :1] * sides[:, None, across, None] * plate.axes[across]
                    + _SQUARE[None, :, 1:] * sides[:, None, down, None] * plate.axes[down]
                )
                found.append((corners[seen], colours[seen] * light, away[seen]))
    corners, shaded, distance = (np.concatenate(parts) for parts in zip(*found, strict=True))
    return corners, shaded, distance


def _light(slab: SlabVisual, plate: Plate, axis: int) -> tuple[float, float]:
    """Factors on the colour of a face, and of its rim."""
    look = slab.theme.shading
    if axis == 2:
        return 1.0, look.rim_top
    foot = 0.5 * (1.0 + look.foot)  # the mean from the main face to the foot
    side = look.side_front if front_sides(plate)[axis] else look.side_other
    return side * foot, min(look.rim_side, side) * foot


def _rim(plate: Plate, camera: Camera, middle: Floats) -> float:
    """The width of the rim, as a share of the half side: small cubes have none."""
    pixels = float(camera.pixels_per_unit(middle.mean(axis=0))[0]) * plate.pitch if len(middle) else 0.0
    return RIM if pixels >= DETAIL_PIXELS else 0.0
