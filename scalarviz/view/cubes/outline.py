"""Marks around cubes, and cubes as outlines: the selected one or several, the hovered one, and all of them for SVG.

An outline is drawn at the depth of its cube: what stands in front covers it. Pure NumPy.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import groupby
from operator import itemgetter

import numpy as np
from numpy.typing import NDArray

from ..ink.sketch import Sketch
from ..ink.theme import rgb
from ..space.arrangement import Project
from ..space.camera import Camera, Floats, convex_hull
from ..space.layout import Layout
from ..space.plate import Plate
from .picking import Hit
from .slab import DETAIL_PIXELS, RIM, SlabVisual, flow_style, front_sides

Picked = Callable[[tuple[float, float]], Hit | None]

STEP, INSET = 7.0, 2.0
"""Pixels between the points of an outline that are tried, and how far inside of the cube's edge."""
AIR = 5.0
"""Between a cube and its outline, in pixels."""
LEAST = 12.0
"""The least side of a mark: it must be seen around a cube of one pixel too."""

_FACES = np.array([[4, 5, 7, 6], [0, 1, 3, 2], [0, 1, 5, 4], [2, 3, 7, 6], [0, 2, 6, 4], [1, 3, 7, 5]])
"""Corners of each face of :meth:`Plate.corners_of`, the main face first."""
_OUTWARD = np.array([[0, 0, 1], [0, 0, -1], [0, -1, 0], [0, 1, 0], [-1, 0, 0], [1, 0, 0]], np.float64)


def seen_outline(
    layout: Layout, index: int, element: int, camera: Camera, project: Project, picked: Picked, share: float = 1.0
) -> list[Floats]:
    """The parts (N, 2) of a selected cube's outline that nothing in front covers; none where all is covered.

    Cubes of its own plate may cover its sides; then its main face alone is outlined, which they cannot cover.
    `picked` says what is drawn at a point of the picture (logical pixels), `share` how large the cube is
    beside the largest.
    """
    plate = layout.plates[index]
    corners = plate.corners_of(element, share)
    if not camera.before(corners):
        return []
    hits = _behind(project(corners), picked)
    facing = camera.towards_eye(corners[4:].mean(axis=0)) @ plate.axes[2] > 0.0
    if facing and any(hit is not None and hit.plate == index and hit.element != element for _, hit in hits):
        hits = _behind(project(corners[4:]), picked)
        covered = [hit is not None and hit.plate != index for _, hit in hits]
    else:
        covered = [hit is not None and hit[:2] != (index, element) for _, hit in hits]
    return _runs(np.array([point for point, _ in hits]), covered)


def _behind(corners: Floats, picked: Picked) -> list[tuple[Floats, Hit | None]]:
    """Points around projected corners (N, 2), and what is drawn a little inside of the edge beside each."""
    ring = convex_hull(_at_least(corners))
    small = bool(np.ptp(corners, axis=0).min() < LEAST)
    outer, inner = grown(ring, AIR), np.tile(ring.mean(axis=0), (len(ring), 1)) if small else grown(ring, -INSET)
    found = []
    for k in range(len(ring)):
        ends = [np.stack([rim[k], rim[(k + 1) % len(ring)]]) for rim in (outer, inner)]
        steps = max(1, int(np.hypot(*(ends[0][1] - ends[0][0])) / STEP))
        for share in np.arange(steps) / steps:
            point, inside = (start + share * (end - start) for start, end in ends)
            found.append((point, picked((float(inside[0]), float(inside[1])))))
    return found


def _runs(points: Floats, covered: list[bool]) -> list[Floats]:
    """The paths between covered points of a closed ring."""
    if not any(covered):
        return [np.concatenate([points, points[:1]])]
    first = covered.index(True)
    points, marks = np.roll(points, -first, axis=0), covered[first:] + covered[:first]
    runs = groupby(zip([*points, points[0]], [*marks, True], strict=True), key=itemgetter(1))
    paths = [np.array([point for point, _ in run]) for hidden, run in runs if not hidden]
    return [path for path in paths if len(path) > 1]


def brackets(plate: Plate, element: int, camera: Camera, project: Project, share: float = 1.0) -> list[Floats] | None:
    """Four corner paths (3, 2) around the face of a cube, so large beside the largest, that looks at us most."""
    corners = plate.corners_of(element, share)
    if not camera.before(corners):
        return None
    outward = _OUTWARD @ plate.axes / plate.pitch
    faces = corners[_FACES].mean(axis=1)
    ways = camera.towards_eye(faces)
    towards = (outward * ways).sum(axis=1) / np.linalg.norm(ways, axis=1)
    # The main face, unless it is turned away: numbers stand there, and it should not change while the scene turns.
    best = 0 if towards[0] > 0.25 else int(np.argmax(towards))
    flat = project(corners[_FACES[best]])
    if np.ptp(flat, axis=0).min() < LEAST:
        low, high = flat.min(axis=0), flat.max(axis=0)
        flat = _at_least(np.array([low, (high[0], low[1]), high, (low[0], high[1])]))
    ring = grown(convex_hull(flat), AIR)
    following, before = np.roll(ring, -1, axis=0), np.roll(ring, 1, axis=0)
    return [np.array([_along(p, b), p, _along(p, f)]) for p, b, f in zip(ring, before, following, strict=True)]


def _along(corner: Floats, towards: Floats) -> Floats:
    """The end of a bracket's arm: a quarter of the side, 14 px at most."""
    way = towards - corner
    length = float(np.hypot(*way)) or 1.0
    return corner + way / length * min(0.25 * length, 14.0)


def _at_least(points: Floats) -> Floats:
    """Points spread from their middle so that they measure `LEAST` in both directions."""
    middle = (points.min(axis=0) + points.max(axis=0)) / 2
    span = np.maximum(np.ptp(points, axis=0), 1e-6)
    away = points - middle
    small = span < 1.0
    away = np.where(small, np.sign(away) * LEAST / 2, away * np.maximum(1.0, LEAST / span))
    return np.asarray(middle + away)


def grown(ring: Floats, air: float) -> Floats:
    """A convex ring (N, 2), as :func:`convex_hull` gives it, moved outward by `air` pixels on every side."""
    if len(ring) < 3:
        return ring
    edges = np.roll(ring, -1, axis=0) - ring
    lengths = np.maximum(np.hypot(edges[:, 0], edges[:, 1]), 1e-9)
    outward = np.stack([edges[:, 1], -edges[:, 0]], axis=1) / lengths[:, None]
    if (outward * (ring + edges / 2 - ring.mean(axis=0))).sum() < 0:
        outward = -outward
    before = np.roll(outward, 1, axis=0)
    # The corner lies on both moved edges; a sharp one is cut off at twice the distance.
    bisector = outward + before
    reach = np.minimum(2.0 / np.maximum((bisector**2).sum(axis=1), 1e-9), 2.0)
    return np.asarray(ring + air * bisector * reach[:, None])


# ---- Several cubes of a plate: along the gaps, at the height of their main faces.

REGION_STEP, POINTS = 8.0, 300
"""Pixels between the points of an outline that are tried, and how many are tried at most."""
_INSIDE = 0.35  # cells from the outline into the selected cube beside it, where it is seen whether that is covered
Cells = NDArray[np.bool_]


def cells_of(plate: Plate, mask: Cells) -> Cells:
    """The cells (rows, columns) that hold the elements of `mask` (size,).

    Gaps between two selected tiles belong to them: a row of kernels has one outline.
    """
    grid = plate.grid
    found = np.zeros(grid.cells, bool)
    found[grid.places(np.flatnonzero(mask))] = True
    if not grid.tile[0]:
        return found
    tall, wide = grid.period
    found[tall - 1 : -1 : tall] = found[tall - 2 : -2 : tall] & found[tall::tall]
    found[:, wide - 1 : -1 : wide] = found[:, wide - 2 : -2 : wide] & found[:, wide::wide]
    return found


def sides_of(cells: Cells) -> tuple[Floats, Floats, Floats]:
    """The sides of the region of `cells`: starts, ends, and the way inside, each (N, 2) as column and row.

    Cell (r, c) spans c ± 0.5 and r ± 0.5; sides in one line are one.
    """
    starts, ends, inward = list[Floats](), list[Floats](), list[Floats]()
    for turned in (False, True):
        grid = np.pad(cells.T if turned else cells, 1).astype(np.int8)
        step = np.diff(grid, axis=0)  # row k: between the rows k - 1 and k of the cells
        for way in (1, -1):
            edge = np.pad((step == way)[:, 1:-1].astype(np.int8), ((0, 0), (1, 1)))
            change = np.diff(edge, axis=1)
            row, first = np.nonzero(change == 1)
            _, last = np.nonzero(change == -1)
            at = row - 0.5
            pair = [np.stack([along - 0.5, at], axis=1) for along in (first, last)]
            side = np.tile([0.0, float(way)], (len(row), 1))
            for into, part in zip((starts, ends, inward), (*pair, side), strict=True):
                into.append(part[:, ::-1] if turned else part)
    return np.concatenate(starts), np.concatenate(ends), np.concatenate(inward)


def region_outline(
    layout: Layout, index: int, mask: Cells, camera: Camera, project: Project, picked: Picked
) -> list[Floats]:
    """The parts (2, 2) of the outline around the cubes of a plate in `mask` that nothing of another plate covers."""
    plate = layout.plates[index]
    starts, ends, inward = sides_of(cells_of(plate, mask))
    if not len(starts):
        return []
    facing = camera.towards_eye(plate.origin) @ plate.axes[2] > 0.0
    height = plate.depth * (1.0 if facing else -1.0)

    def world(cells: Floats) -> Floats:
        return np.asarray(plate.origin + cells @ plate.axes[:2] + height * plate.axes[2])

    if not camera.before(np.concatenate([world(starts), world(ends)])):
        return []
    long = np.hypot(*(project(world(ends)) - project(world(starts))).T)
    step = max(REGION_STEP, float(long.sum()) / POINTS)
    found: list[Floats] = []
    for start, end, side, length in zip(starts, ends, inward, long, strict=True):
        pieces = max(1, round(length / step))
        share = np.arange(pieces + 1)[:, None] / pieces
        path = project(world(start + share * (end - start)))
        middle = project(world(start + (share[1:] + share[:-1]) / 2 * (end - start) + _INSIDE * side))
        for k, (x, y) in enumerate(middle):
            hit = picked((float(x), float(y)))
            if hit is None or hit.plate == index:
                found.append(path[k : k + 2])
    return found


# ---- Cubes as polygons of a display list, for SVG: the same faces, colours and light that the shader draws.

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
