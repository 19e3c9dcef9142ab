"""The cube under a pixel, outlines of cubes, and cubes as polygons; all on the CPU.

`Picker` walks like the fragment shader (`slab`), in plain Python numbers. Nothing is read back from the graphics card,
so a pick costs the same for any size of picture. It uses cubes as they are drawn: with gaps from six pixels on, without
gaps below, and below one pixel the cell under the pixel's middle.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from math import floor, inf, sqrt
from operator import itemgetter
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..ink.sketch import Cached, Sketch
from ..ink.theme import rgb
from ..space.arrangement import Plate, Project
from ..space.camera import Camera, Floats, convex_hull, triple
from ..space.layout import Layout
from .slab import DETAIL_PIXELS, RIM, SlabVisual, flow_style, front_sides, variant_for

STEPS = 128
"""Most cells that the walk visits in one plate, as in the shader."""
START = 1e-4
"""Start of a perspective ray as a share of its length to the far plane: just before the eye."""

Vector = tuple[float, float, float]
Shares = Callable[[int, int], float]
Share = Callable[[int], float]


class Hit(NamedTuple):
    """The cube that was found."""

    plate: int  # index of its plate in the layout
    element: int  # its element of the plate
    flat: int | None  # in a frame's flat arrays; None for a cube of an activation row


@dataclass(frozen=True, slots=True)
class _Slab:
    """A plate's constants as Python numbers; coordinates are cells, cell c spans c..c+1.

    `axes` lead from the world to cells and have the length 1 / pitch.
    """

    origin: Vector
    axes: tuple[Vector, Vector, Vector]
    rows: int
    cols: int
    half: float
    depth: float
    period: tuple[int, int]
    strides: tuple[int, int, int, int]
    last: int  # cells in use in the last row

    def element(self, row: int, col: int) -> int:
        """Return the number of the element in a cell; -1 for an empty cell."""
        tile_row, inner_row = divmod(row, self.period[0])
        tile_col, inner_col = divmod(col, self.period[1])
        if inner_row == self.period[0] - 1 or inner_col == self.period[1] - 1:
            return -1
        if row == self.rows - 1 and col >= self.last:
            return -1
        a, b, c, d = self.strides
        return tile_row * a + inner_row * b + tile_col * c + inner_col * d


def _slab(plate: Plate) -> _Slab:
    rows, cols = plate.grid.cells
    origin = plate.origin - 0.5 * (plate.axes[0] + plate.axes[1])
    u, v, w = (triple(axis) for axis in plate.axes / plate.pitch**2)
    return _Slab(triple(origin), (u, v, w), rows, cols, plate.half, plate.depth, plate.grid.period,
                 plate.grid.strides, plate.last)  # fmt: skip


def _dot(a: Vector, b: Vector) -> float:
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


class Picker:
    """Finds the cubes of one layout."""

    def __init__(self, layout: Layout) -> None:
        self._plates = layout.plates
        self._slabs = [_slab(plate) for plate in layout.plates]
        self._seen = Cached[tuple[Floats, list[tuple[bool, float]]]]()

    def pick(
        self, camera: Camera, at: tuple[float, float], density: float = 1.0, shares: Shares | None = None
    ) -> Hit | None:
        """Return the nearest cube under a point, given in the camera's pixels, or None.

        The middle of the first pixel is (0.5, 0.5). `density`, device pixels per camera pixel, decides how a plate is
        drawn. ``shares(plate, element)`` gives the size of a cube as a share of the largest, 0 if it is not drawn;
        default: all have full size.
        """
        inverse, samples = self._seen.get((camera, density), lambda: self._look(camera, density))
        origin, ray, (start, near) = _ray(camera, inverse, at)
        best, found = inf, None
        for index, (slab, (mean, half)) in enumerate(zip(self._slabs, samples, strict=True)):
            relative = (origin[0] - slab.origin[0], origin[1] - slab.origin[1], origin[2] - slab.origin[2])
            p = (_dot(relative, slab.axes[0]), _dot(relative, slab.axes[1]), _dot(relative, slab.axes[2]))
            d = _steady((_dot(ray, slab.axes[0]), _dot(ray, slab.axes[1]), _dot(ray, slab.axes[2])))
            own = None if shares is None else partial(shares, index)
            t, element = _walk(slab, p, d, start, near, best, half, mean, own)
            if element >= 0 and t < best:
                first = self._plates[index].start
                best, found = t, Hit(index, element, first + element if first >= 0 else None)
        return found

    def _look(self, camera: Camera, density: float) -> tuple[Floats, list[tuple[bool, float]]]:
        """Return the matrix from screen to world, and per plate whether means are drawn, and half a cube's side."""
        variants = [variant_for(plate, camera, density) for plate in self._plates]
        sizes = [(v.samples > 0, p.half if v.detail else 0.5) for v, p in zip(variants, self._plates, strict=True)]
        return np.asarray(np.linalg.inv(camera.matrix), np.float64), sizes


def _ray(camera: Camera, inverse: Floats, at: tuple[float, float]) -> tuple[Vector, Vector, tuple[float, float]]:
    """Return a pixel's ray: origin, vector to the far plane, and the shares of it where cubes and near plane begin."""
    x, y = 2 * at[0] / camera.size[0] - 1, 1 - 2 * at[1] / camera.size[1]
    near, far = (p[:3] / p[3] for p in (inverse @ (x, y, z, 1.0) for z in (-1.0, 1.0)))
    if camera.orthographic:
        return triple(near), triple(far - near), (-inf, -inf)
    eye = camera.eye[:3]
    way = far - eye
    return triple(eye), triple(way), (START, float(way @ (near - eye) / (way @ way)))


def _steady(d: Vector) -> Vector:
    """Return a direction without components so small that a division by them overflows."""
    tiny = 1e-6 * sqrt(_dot(d, d))
    x, y, z = (c if abs(c) >= tiny else tiny for c in d)
    return x, y, z


def _walk(
    slab: _Slab,
    p: Vector,
    d: Vector,
    start: float,
    near: float,
    best: float,
    half: float,
    mean: bool,
    share: Share | None,
) -> tuple[float, int]:
    """Walk from cell to cell to the first cube; return its place on the ray as a share, and its element, or -1.

    If the `mean` of cubes below a pixel is drawn, the result is the cell of the main face under the ray.
    """
    ix, iy, iz = 1 / d[0], 1 / d[1], 1 / d[2]
    sx, sy = (1 if d[0] > 0 else -1), (1 if d[1] > 0 else -1)
    reach = slab.depth if d[2] > 0 else -slab.depth
    z_in, z_out = (-reach - p[2]) * iz, (reach - p[2]) * iz
    edge = 0.5 - slab.half
    xa, xb = (edge - p[0]) * ix, (slab.cols - edge - p[0]) * ix
    ya, yb = (edge - p[1]) * iy, (slab.rows - edge - p[1]) * iy
    t = max(min(xa, xb), min(ya, yb), z_in, start)
    end = min(max(xa, xb), max(ya, yb), z_out)
    # the ray misses the box, another cube is nearer, or the box ends before the near plane
    if t > end or (t > best and not mean) or end <= near:
        return inf, -1
    t = max(z_in, start) if mean else t
    col = min(max(floor(p[0] + d[0] * t), 0), slab.cols - 1)
    row = min(max(floor(p[1] + d[1] * t), 0), slab.rows - 1)
    for _ in range(STEPS):
        x, y = col + 0.5 - p[0], row + 0.5 - p[1]
        side, first, last, element = half, z_in, z_out, -2
        if share is not None:
            element = slab.element(row, col)
            size = share(element) if element >= 0 else 0.0
            element = element if size > 0.0 else -1
            # below six pixels a smaller cube is drawn as a darker cell of full size
            size = size if half < 0.5 else 1.0
            side, thick = half * size, reach * size
            middle = slab.depth * (size - 1.0) - p[2]  # a smaller cube stands on the foot of its plate
            first, last = (middle - thick) * iz, (middle + thick) * iz
        if mean:
            return t, slab.element(row, col) if element == -2 else element
        t_in = max((x - side * sx) * ix, (y - side * sy) * iy, first, start)
        if element != -1 and t_in <= min((x + side * sx) * ix, (y + side * sy) * iy, last):
            element = slab.element(row, col) if element == -2 else element
            if element >= 0:
                return t_in, element
        next_x, next_y = (x + 0.5 * sx) * ix, (y + 0.5 * sy) * iy
        if min(next_x, next_y) > end:
            break
        if next_x < next_y:
            col += sx
        else:
            row += sy
        if not (0 <= col < slab.cols and 0 <= row < slab.rows):
            break
    return inf, -1


# ---- Outlines of selected and hovered cubes, with hidden parts left out.

Picked = Callable[[tuple[float, float]], Hit | None]

STEP, INSET = 7.0, 2.0
"""Pixels between the tested points of an outline, and from the cube's edge inwards."""
AIR = 5.0
"""Pixels between a cube and its outline."""
LEAST = 12.0
"""Least side of an outline in pixels: it must be visible around a cube of one pixel too."""

_FACES = np.array([[4, 5, 7, 6], [0, 1, 3, 2], [0, 1, 5, 4], [2, 3, 7, 6], [0, 2, 6, 4], [1, 3, 7, 5]])
"""Corners of each face of :meth:`Plate.corners_of`, the main face first."""
_OUTWARD = np.array([[0, 0, 1], [0, 0, -1], [0, -1, 0], [0, 1, 0], [-1, 0, 0], [1, 0, 0]], np.float64)


def seen_outline(
    layout: Layout, index: int, element: int, camera: Camera, project: Project, picked: Picked, share: float = 1.0
) -> list[Floats]:
    """Return the visible parts (N, 2) of a selected cube's outline; empty if all of it is covered.

    If cubes of its own plate cover its sides, only its main face is outlined, which they cannot cover. `picked` finds
    the cube at a point (logical pixels), `share` is the cube's size as a share of the largest.
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
    """Return points around projected corners (N, 2), each with the cube drawn just inside the edge there."""
    ring = convex_hull(_spread_to_least(corners))
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
    """Return the paths between covered points of a closed ring."""
    if not any(covered):
        return [np.concatenate([points, points[:1]])]
    first = covered.index(True)
    points, marks = np.roll(points, -first, axis=0), covered[first:] + covered[:first]
    runs = groupby(zip([*points, points[0]], [*marks, True], strict=True), key=itemgetter(1))
    paths = [np.array([point for point, _ in run]) for hidden, run in runs if not hidden]
    return [path for path in paths if len(path) > 1]


def brackets(plate: Plate, element: int, camera: Camera, project: Project, share: float = 1.0) -> list[Floats] | None:
    """Return four corner paths (3, 2) around the face of a cube that looks at the viewer most, or None."""
    corners = plate.corners_of(element, share)
    if not camera.before(corners):
        return None
    outward = _OUTWARD @ plate.axes / plate.pitch
    ways = camera.towards_eye(corners[_FACES].mean(axis=1))
    towards = (outward * ways).sum(axis=1) / np.linalg.norm(ways, axis=1)
    # The main face, unless it is turned away: it has the number, and should not change while the scene turns.
    best = 0 if towards[0] > 0.25 else int(np.argmax(towards))
    flat = project(corners[_FACES[best]])
    if np.ptp(flat, axis=0).min() < LEAST:
        low, high = flat.min(axis=0), flat.max(axis=0)
        flat = _spread_to_least(np.array([low, (high[0], low[1]), high, (low[0], high[1])]))
    ring = grown(convex_hull(flat), AIR)
    following, before = np.roll(ring, -1, axis=0), np.roll(ring, 1, axis=0)
    return [np.array([_along(p, b), p, _along(p, f)]) for p, b, f in zip(ring, before, following, strict=True)]


def _along(corner: Floats, towards: Floats) -> Floats:
    """Return the end of a bracket's arm: a quarter of the side, 14 px at most."""
    way = towards - corner
    length = float(np.hypot(*way)) or 1.0
    return corner + way / length * min(0.25 * length, 14.0)


def _spread_to_least(points: Floats) -> Floats:
    """Spread points from their middle until they measure at least `LEAST` in both directions."""
    middle = (points.min(axis=0) + points.max(axis=0)) / 2
    span = np.maximum(np.ptp(points, axis=0), 1e-6)
    away = points - middle
    small = span < 1.0
    away = np.where(small, np.sign(away) * LEAST / 2, away * np.maximum(1.0, LEAST / span))
    return np.asarray(middle + away)


def grown(ring: Floats, air: float) -> Floats:
    """Return a convex ring (N, 2) of :func:`convex_hull`, moved outward by `air` pixels on every side."""
    if len(ring) < 3:
        return ring
    edges = np.roll(ring, -1, axis=0) - ring
    lengths = np.maximum(np.hypot(edges[:, 0], edges[:, 1]), 1e-9)
    outward = np.stack([edges[:, 1], -edges[:, 0]], axis=1) / lengths[:, None]
    if (outward * (ring + edges / 2 - ring.mean(axis=0))).sum() < 0:
        outward = -outward
    # The corner lies on both moved edges; a sharp one is cut off at twice the distance.
    bisector = outward + np.roll(outward, 1, axis=0)
    reach = np.minimum(2.0 / np.maximum((bisector**2).sum(axis=1), 1e-9), 2.0)
    return np.asarray(ring + air * bisector * reach[:, None])


# ---- Outlines of several cubes of a plate: along the gaps, at the height of their main faces.

REGION_STEP, POINTS = 8.0, 300
"""Pixels between the tested points of an outline, and the most that are tested."""
_INSIDE = 0.35  # cells from the outline into the selected cube, to the point that is tested
Cells = NDArray[np.bool_]


def cells_of(plate: Plate, mask: Cells) -> Cells:
    """Return the cells (rows, columns) that hold the elements of `mask` (size,).

    Gaps between two selected tiles are included, so that a row of kernels has one outline.
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
    """Return the sides of the region of `cells`: starts, ends, and inward direction, each (N, 2) as column and row.

    Cell (r, c) spans c ± 0.5 and r ± 0.5; sides in one line are joined.
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
    """Return the parts (2, 2) of the outline around a plate's cubes in `mask` that no other plate covers."""
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
"""Most cubes that are drawn as polygons: beyond that, a bitmap is smaller."""
_SQUARE = np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]], np.float64)


def can_be_outlined(slab: SlabVisual) -> bool:
    """Return whether there are few cubes, and none has a mark or a look that only the shader draws."""
    marked = slab.atlas.marks or slab.looks or any(map(slab.clips, range(len(slab.layout.plates))))
    return sum(plate.size for plate in slab.layout.plates) <= MOST and not marked


def outlined(slab: SlabVisual, camera: Camera, project: Project) -> Sketch:
    """Return trays, lines of flow, and the visible faces of each cube, the farthest first.

    `project` makes pixels (N, 2) of world points (N, 3).
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
    """Return a plate's visible faces: corners (F, 4, 3), colours (F, 3), distances of their cubes (F,)."""
    plate = slab.layout.plates[number]
    shares = np.array([slab.share_of(number, k) for k in range(plate.size)])
    there = np.flatnonzero(shares > 0)
    half = shares[there, None] * [plate.half, plate.half, plate.depth]
    # a smaller cube stands on the foot
    middle = plate.centres[there] - (1.0 - shares[there, None]) * plate.depth * plate.axes[2]
    colours = slab.colours_of(number)[there]
    # a nearer cube hides the one behind it; a cube's main face is painted last
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
    """Return the factors on the colour of a face, and of its rim."""
    look = slab.theme.shading
    if axis == 2:
        return 1.0, look.rim_top
    foot = 0.5 * (1.0 + look.foot)  # the mean from the main face to the foot
    side = look.side_front if front_sides(plate)[axis] else look.side_other
    return side * foot, min(look.rim_side, side) * foot


def _rim(plate: Plate, camera: Camera, middle: Floats) -> float:
    """Return the width of the rim as a share of the half side; small cubes have none."""
    pixels = float(camera.pixels_per_unit(middle.mean(axis=0))[0]) * plate.pitch if len(middle) else 0.0
    return RIM if pixels >= DETAIL_PIXELS else 0.0
