"""Everything in one plane, read from left to right: networks that are no chain of matrices.

A convolutional chain: kernels as tiles (a row per output channel, a column per input channel) and, between them, the
maps that they make of the sample; a linear layer at the end stands upright, one with many inputs is cut into tiles too.
A graph: its stages in columns, with lines between them. Named arrays: on shelves, cubes of one size, except for small
arrays beside very large ones, which would be dots.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import prod

import numpy as np

from ...run.core.tensors import Stage, Tensor, is_chain
from .arrangement import Grid, Kind, Layout, Plate, fitted, grid_for, inner, laid, plate_for, row_plate
from .camera import ACROSS, DOWN, FLOW, OUTPUTS_ACROSS, OUTPUTS_DOWN, Floats, Rect, Size, fit

HALF = 0.45
CONV_ANGLES, GRAPH_ANGLES, GALLERY_ANGLES = (-66.0, 12.0), (-76.0, 11.0), (-62.0, 14.0)
"""Azimuth and elevation."""

# ---- A convolutional chain.

DEPTH = 0.19  # of maps, which are no weights
GAP = 3.4
SLIM = 16
"""A linear layer with more inputs than this times its outputs is cut into tiles."""
MAP_PIXELS = 5.0
"""Least pixels of cells; below, maps before a pool are left out, because the pooled ones show the same."""
NEW_MAPS = ("conv2d", "max_pool2d", "avg_pool2d")
"""Kinds of stages that make new maps; any other between them changes maps one number at a time."""


@dataclass(frozen=True, slots=True)
class ChainStation:
    """One station of the chain: weights of a layer, or maps that are drawn."""

    weight: Tensor | None = None
    bias: Tensor | None = None
    maps: tuple[str, tuple[int, ...]] | None = None  # the stage ("input") and shape (C, H, W) of pictures
    pooled: bool = False  # whether the next station shows the same maps, pooled
    shape: tuple[int, ...] = ()  # shape as drawn: that of the weights, or of tiles


def conv_chain(tensors: Sequence[Tensor], stages: Sequence[Stage]) -> list[ChainStation]:
    """Return the stations of a convolutional chain; empty for other stages, or if they leave a tensor out."""
    if not stages or stages[0].kind != "conv2d" or not is_chain(stages):
        return []
    known = {t.name: t for t in tensors}
    weight = known.get(f"{stages[0].name}.weight")
    if weight is None or len(weight.shape) != 4 or len(stages[0].input_shape) != 3:
        return []
    blocks = [ChainStation(maps=("input", stages[0].input_shape))]
    shape = stages[0].input_shape
    for stage in stages:
        own = [known.pop(f"{stage.name}.{part}", None) for part in ("weight", "bias")]
        if own[0] is not None:
            blocks.append(ChainStation(own[0], own[1], shape=_drawn_shape(own[0].shape, shape)))
        if len(stage.shape) == 3:
            if stage.kind not in NEW_MAPS:
                blocks.pop()  # the maps before the rectifier
            elif blocks[-1].maps and stage.kind != "conv2d":
                blocks[-1] = ChainStation(maps=blocks[-1].maps, pooled=len(blocks) > 1)
            blocks.append(ChainStation(maps=(stage.name, stage.shape)))
            shape = stage.shape
    return [] if known else blocks


def _drawn_shape(weight: tuple[int, ...], maps: tuple[int, ...]) -> tuple[int, ...]:
    in_tiles = len(weight) == 2 and weight[1] == prod(maps) and weight[1] > SLIM * weight[0]
    return weight[:1] + maps if in_tiles else weight


def conv_row(blocks: Sequence[ChainStation], size: Size, box: Rect) -> Layout:
    """Return all stations side by side; maps that are pooled next are left out if cells would be tiny."""
    full = _row(blocks, size, box)
    if full.pixels_per_cube() >= MAP_PIXELS:
        return full
    return max(full, _row([b for b in blocks if not b.pooled], size, box), key=Layout.pixels_per_cube)


def map_grid(shape: Sequence[int]) -> Grid:
    """Return channels as tiles, in as many rows as make the block about as high as wide."""
    count, height, width = shape
    rows = [r for r in range(1, count + 1) if count % r == 0]
    best = min(rows, key=lambda r: abs(np.log(1.3 * (count // r) * (width + 1) / (r * (height + 1)))))
    return grid_for((best, count // best, height, width))


def _row(blocks: Sequence[ChainStation], size: Size, box: Rect) -> Layout:
    plates: list[Plate] = []
    lines: list[Floats] = []
    across = 0.0
    for block in blocks:
        new = _maps(block) if block.maps is not None else _weights(block)
        corners = np.concatenate([p.corners for p in new])
        left, right = corners[:, 1].max(), corners[:, 1].min()  # across is -y
        if plates:
            lines.append(np.array([[(across - GAP + 0.6) * ACROSS, (across - 0.6) * ACROSS]]))
        plates += [p.moved((across + left) * ACROSS) for p in new]
        across += left - right + GAP
    return laid("big", fitted(plates, size, inner(box, 40, 62, 40, 26), *CONV_ANGLES), plates, box, lines)


def _maps(block: ChainStation) -> list[Plate]:
    assert block.maps is not None
    name, shape = block.maps
    grid = map_grid(shape)
    place = -0.5 * (grid.cells[0] - 1) * DOWN
    return [Plate(name, "activation", prod(shape), grid, place, OUTPUTS_DOWN, HALF, DEPTH)]


def _weights(block: ChainStation) -> list[Plate]:
    """Return the weights, and the bias at the output edge: right of kernels, below a linear layer."""
    weight, bias = block.weight, block.bias
    assert weight is not None
    tiles = len(block.shape) == 4
    axes, grid = OUTPUTS_DOWN if tiles else OUTPUTS_ACROSS, grid_for(block.shape)
    rows, columns = grid.cells
    corner = -0.5 * ((rows if tiles else columns) - 1) * DOWN
    plate = Plate(weight.name, "weight", weight.size, grid, corner, axes, HALF, HALF, weight.start)
    if bias is None:
        return [plate]
    if tiles:
        edge = (columns + 0.9) * ACROSS - 0.5 * (bias.size - 1) * DOWN
        return [plate, plate_for(bias, "bias", edge, axes, HALF, strip=True)]
    return [plate, plate_for(bias, "bias", corner + (columns + 0.9) * DOWN, axes, HALF, strip=not grid.folded)]


# ---- A graph.

FEW_GRAPH = 4096
"""Most weights of a graph whose cubes have edges."""
GRAPH_DEPTH = 0.2
TALLEST = 24
"""Most numbers of a row that is not folded into a block."""
_BETWEEN, _LOOSE = 1.0, 0.35  # pitches between the parts of a stage, and between loose numbers
_ROOM, _NEAR = 3.4, 1.8  # pitches between columns, for lines and names of rows; around loose numbers
_APART = 4.5  # between stages of a column: a name has two lines
_LANE = 1.1  # between lines that go over columns
_RIM, _NAMED = 0.34, 0.95  # around the cubes of a function; above them, for their names


@dataclass(slots=True)
class _Group:
    """A stage: its parts from left to right, their size, and its place."""

    name: str
    sources: Sequence[str]
    tensors: list[Tensor]
    count: int
    width: float = 0.0  # pitches across
    left: float = 0.0
    middle: float = 0.0
    plates: list[Plate] = field(default_factory=list)

    def build(self) -> None:
        """Build its plates around the origin: left edge at 0, middle at 0."""
        at = 0.0
        for tensor in self.tensors:
            strip = len(tensor.shape) <= 1 and tensor.size <= TALLEST
            kind: Kind = "bias" if tensor.role == "bias" else "weight"
            at = self._add_plate(plate_for(tensor, kind, (0, 0, 0), OUTPUTS_DOWN, HALF, strip=strip), at)
        if self.count:
            origin, strip = np.zeros(3), self.count <= TALLEST
            row = row_plate(self.name, self.count, origin, OUTPUTS_DOWN, HALF, GRAPH_DEPTH, strip)
            at = self._add_plate(row, at + _BETWEEN - self.between)
        self.width = at - self.between

    def _add_plate(self, plate: Plate, at: float) -> float:
        rows, cols = plate.grid.cells
        self.plates.append(plate.moved((at + 0.5) * ACROSS - 0.5 * (rows - 1) * DOWN))
        return at + cols + self.between

    @property
    def height(self) -> float:
        """Height in pitches."""
        return float(max(p.grid.cells[0] for p in self.plates))

    def place(self, left: float, middle: float) -> None:
        """Move it to its place."""
        self.left, self.middle = left, middle
        self.plates = [plate.moved(left * ACROSS + middle * DOWN) for plate in self.plates]

    @property
    def entry(self) -> Floats:
        """Place where lines enter (across, down)."""
        return np.array([self.left - (_RIM if self.framed else 0.0), self.middle])

    @property
    def between(self) -> float:
        """Pitches between its parts."""
        return _LOOSE if self.framed else _BETWEEN

    @property
    def framed(self) -> bool:
        """True if the stage has several single numbers and nothing else; then x goes to all of them."""
        return len(self.tensors) > 1 and all(tensor.shape == () for tensor in self.tensors)

    @property
    def exit(self) -> Floats:
        """Place where lines leave."""
        return np.array([self.left + self.width, self.middle])


def graph(tensors: Sequence[Tensor], stages: Sequence[Stage], size: Size, box: Rect) -> Layout:
    """Return stages that are no chain, at least one, column by column; a tensor of no stage joins the last one."""
    groups = _groups(tensors, stages)
    depth = {"input": 0}
    for name, group in groups.items():
        depth.setdefault(name, 1 + max((depth[s] for s in group.sources), default=0))
    columns = [[g for name, g in groups.items() if depth[name] == k] for k in range(max(depth.values()) + 1)]
    left, room = 0.0, _NEAR if any(group.framed for group in groups.values()) else _ROOM
    for column in columns:
        high = sum(g.height + _APART for g in column) - _APART
        down = -0.5 * high
        for group in column:
            group.place(left, down + 0.5 * group.height)
            down += group.height + _APART
        left += max((g.width for g in column), default=0.0) + room
    plates = [plate for group in groups.values() for plate in group.plates]
    lines = [*_lines(groups, depth), *(frame for group in groups.values() for frame in _frame(group))]
    seen = np.concatenate([*(plate.corners for plate in plates), *(line.reshape(-1, 3) for line in lines)])
    azimuth, elevation = GRAPH_ANGLES
    camera = fit(seen, size, inner(box, 60, 60, 60, 20), azimuth=azimuth, elevation=elevation)
    return laid("mlp" if sum(t.size for t in tensors) <= FEW_GRAPH else "big", camera, plates, box, lines)


def _groups(tensors: Sequence[Tensor], stages: Sequence[Stage]) -> dict[str, _Group]:
    count = stages[0].input_shape or (max((s.weight.shape[1] for s in stages if s.weight is not None), default=1),)
    groups = {"input": _Group("input", (), [], int(np.prod(count)))}
    before = "input"
    for stage in stages:
        groups[stage.name] = _Group(stage.name, stage.sources or (before,), [], stage.outputs)
        before = stage.name
    for tensor in tensors:
        groups[_home(tensor, stages)].tensors.append(tensor)
    for group in groups.values():
        group.build()
    return groups


def _home(tensor: Tensor, stages: Sequence[Stage]) -> str:
    """Return the stage for a tensor: the first that names it, else the one with the longest path to it."""
    for stage in stages:
        if any(own is not None and own.start == tensor.start for own in (stage.weight, stage.bias)):
            return stage.name
    path = tensor.name.rpartition(".")[0]
    while path:
        if any(stage.name == path for stage in stages):
            return path
        path = path.rpartition(".")[0]
    return stages[-1].name


def _lines(groups: Mapping[str, _Group], depth: Mapping[str, int]) -> list[Floats]:
    lines: list[list[Floats]] = []
    lanes: list[tuple[float, float]] = []  # right end of the used part, by lane
    top = min(g.middle - 0.5 * g.height for g in groups.values())
    for group in groups.values():
        for name in group.sources:
            start, end = groups[name].exit, group.entry
            if depth[group.name] - depth[name] == 1:
                lines.append([start, end])
                continue
            lane = next((k for k, (_, taken) in enumerate(lanes) if taken < start[0]), len(lanes))
            lanes[lane : lane + 1] = [(start[0], end[0])]
            over = top - _APART - lane * _LANE
            out, into = start[0] + 0.3 * _ROOM, end[0] - 0.3 * _ROOM
            lines.append([start, np.array([out, start[1]]), np.array([out, over]), np.array([into, over]),
                          np.array([into, end[1]]), end])  # fmt: skip
    return [_segments(line) for line in lines]


def _frame(group: _Group) -> list[Floats]:
    """Return the frame around the numbers of a function, and the line from there to its output."""
    if not group.framed:
        return []
    count = len(group.tensors)
    left, right = group.left - _RIM, group.left + count + (count - 1) * group.between + _RIM
    up, down = group.middle - 0.5 - _NAMED, group.middle + 0.5 + _RIM
    corners = [(left, up), (right, up), (right, down), (left, down), (left, up)]
    on = [(right, group.middle), (right + _BETWEEN - _RIM, group.middle)] if group.count else []
    return [_segments([np.array(point) for point in line]) for line in (corners, on) if line]


def _segments(points: Sequence[Floats]) -> Floats:
    """Return a line through points (across, down) as segments in the plane, (S, 2, 3)."""
    there = np.array([across * ACROSS + down * DOWN + GRAPH_DEPTH * FLOW for across, down in points])
    return np.stack([there[:-1], there[1:]], axis=1)


# ---- Named arrays.

CUBE, PLATE = 28.0, 160.0
"""Largest cubes, and largest longer side, of an enlarged small array beside a large one, in pixels at 1280x720."""
WORTH = 3.0
"""Cubes of all arrays have one size unless one array needs cubes this much larger."""


def shelves(cells: Sequence[tuple[float, float]], *, gap: float, aspect: float) -> list[tuple[float, float]]:
    """Return the places (row, column) of blocks of (rows, columns) cells, on shelves of about the given aspect."""
    area = sum((rows + gap) * (cols + gap) for rows, cols in cells)
    widest = max(cols for _, cols in cells)
    # Try a few widths around the ideal one; the outline nearest to the aspect wins.
    widths = [max(widest, k * (area * aspect) ** 0.5) for k in np.linspace(0.7, 1.6, 19)]
    packed = (_pack(cells, gap, width) for width in widths)
    return min(packed, key=lambda p: max(p[1][1] / aspect, p[1][0]))[0]


def _pack(
    cells: Sequence[tuple[float, float]], gap: float, width: float
) -> tuple[list[tuple[float, float]], tuple[float, float]]:
    """Fill shelf by shelf; return the places and the outline (rows, columns)."""
    places: list[tuple[float, float]] = []
    top = col = height = right = 0.0
    for rows, cols in cells:
        if col > 0 and col + cols > width + 1e-9:
            top, col, height = top + height + gap, 0.0, 0.0
        places.append((top, col))
        col += cols + gap
        height, right = max(height, float(rows)), max(right, col - gap)
    return places, (top + height, right)


def gallery(tensors: Sequence[Tensor], size: Size, box: Rect) -> Layout:
    """Return every array as a standing plate; small ones share a shelf."""
    plates = [plate_for(t, "bias" if t.role == "bias" else "weight", (0, 0, 0), OUTPUTS_DOWN, HALF) for t in tensors]
    largest = max(max(p.grid.cells) for p in plates)
    aspect = (box[2] - box[0]) / (box[3] - box[1]) / float(np.sin(np.radians(-GALLERY_ANGLES[0])))

    def placed(given: Sequence[Plate]) -> Layout:
        blocks = [(p.grid.cells[0] * p.pitch, p.grid.cells[1] * p.pitch) for p in given]
        spots = shelves(blocks, gap=max(2.0, 0.12 * largest), aspect=aspect)
        there = [p.moved((row + 0.5 * p.pitch) * DOWN + (col + 0.5 * p.pitch) * ACROSS)
                 for p, (row, col) in zip(given, spots, strict=True)]  # fmt: skip
        return laid("big", fitted(there, size, inner(box, 60, 45, 60, 8), *GALLERY_ANGLES), there, box)

    scene = placed(plates)
    share = min(1.0, max(0.6, size[1] / 720)) / scene.pixels_per_cube()  # of the pixels of a pitch
    pitches = [max(1.0, min(CUBE, PLATE / max(p.grid.cells)) * share) for p in plates]
    if max(pitches) < WORTH:
        return scene
    return placed([plate.scaled(pitch) for plate, pitch in zip(plates, pitches, strict=True)])
