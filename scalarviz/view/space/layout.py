"""From a network to plates in space: which plate stands where, seen by which camera. Pure NumPy.

Three pictures of the same numbers: ``"few"`` (one layer, cubes lying on a tray, large enough to carry their number),
``"mlp"`` (a small chain, no plate hides another) and ``"big"`` (plates in a stack, one behind the other).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from ...errors import InputError, UnknownNameError, listing, shown
from ...run.core.frame import Stage, Tensor
from ...run.scene.scene import Plan
from .arrangement import ACROSS, DOWN, FLOW, OUTPUTS_DOWN, Arrangement, Segments, inner, plate_for
from .blueprint import Blueprint
from .camera import Camera, Rect, Size, fit
from .chain import ChainLayer, chain_of, stack, staircase
from .conv import conv_chain, conv_row
from .few import few_chain, few_gallery, one_layer
from .gallery import gallery
from .planned import planned
from .plate import Floats, Grid, Kind, Plate, grid_for
from .turning import Turns, turning

HALF, DEPTH = 0.45, 0.2
AZIMUTH, ELEVATION = -76.0, 11.0
TALLEST = 24
"""A row of more numbers is folded into a block."""
_BETWEEN = 1.0  # pitches between the parts of a stage
_ROOM = 3.4  # between columns: lines, and the names of rows
_APART = 4.5  # between stages of a column: a name has two lines
_LANE = 1.1  # between lines that go over columns
_RIM, _NAMED = 0.34, 0.7  # round the cubes of a function; above them stand their names


@dataclass(slots=True)
class _Group:
    """A stage: its parts from left to right, their size, and where it came to stand."""

    name: str
    sources: Sequence[str]
    tensors: list[Tensor]
    count: int
    left: float = 0.0
    middle: float = 0.0
    plates: list[Plate] = field(default_factory=list)

    def build(self) -> None:
        """Its plates around the origin: left edge at 0, middle at 0."""
        at = 0.0
        for tensor in self.tensors:
            strip = len(tensor.shape) <= 1 and tensor.size <= TALLEST
            kind: Kind = "bias" if tensor.role == "bias" else "weight"
            plate = plate_for(tensor, kind, (0, 0, 0), OUTPUTS_DOWN, HALF, strip=strip)
            at = self._put(plate, at)
        if self.count:
            grid = grid_for((self.count,), strip=self.count <= TALLEST)
            self._put(Plate(self.name, "activation", self.count, grid, np.zeros(3), OUTPUTS_DOWN, HALF, DEPTH), at)

    def _put(self, plate: Plate, at: float) -> float:
        rows, cols = plate.grid.cells
        self.plates.append(plate.moved((at + 0.5) * ACROSS - 0.5 * (rows - 1) * DOWN))
        return at + cols + _BETWEEN

    @property
    def width(self) -> float:
        """Pitches across."""
        return sum(p.grid.cells[1] + _BETWEEN for p in self.plates) - _BETWEEN

    @property
    def height(self) -> float:
        """Pitches down."""
        return float(max(p.grid.cells[0] for p in self.plates))

    def place(self, left: float, middle: float) -> None:
        """Move it to its place."""
        self.left, self.middle = left, middle
        self.plates = [plate.moved(left * ACROSS + middle * DOWN) for plate in self.plates]

    @property
    def entry(self) -> Floats:
        """Where lines come in (across, down)."""
        return np.array([self.left - (_RIM if self.framed else 0.0), self.middle])

    @property
    def framed(self) -> bool:
        """Whether it has loose numbers alone, and several: x goes to all of them, and not to the first."""
        return len(self.tensors) > 1 and all(tensor.shape == () for tensor in self.tensors)

    @property
    def exit(self) -> Floats:
        """Where they leave."""
        return np.array([self.left + self.width, self.middle])


def graph(tensors: Sequence[Tensor], stages: Sequence[Stage], size: Size, box: Rect) -> Arrangement:
    """The picture of stages that are no chain; see the module.

    Parameters
    ----------
    tensors : sequence of Tensor
        Everything that has cubes; what belongs to no stage stands with the last one.
    stages : sequence of Stage
        At least one.
    """
    groups = _groups(tensors, stages)
    depth = {"input": 0}
    for name, group in groups.items():
        depth.setdefault(name, 1 + max((depth[s] for s in group.sources), default=0))
    columns = [[g for name, g in groups.items() if depth[name] == k] for k in range(max(depth.values()) + 1)]
    left = 0.0
    for column in columns:
        high = sum(g.height + _APART for g in column) - _APART
        down = -0.5 * high
        for group in column:
            group.place(left, down + 0.5 * group.height)
            down += group.height + _APART
        left += max((g.width for g in column), default=0.0) + _ROOM
    plates = [plate for group in groups.values() for plate in group.plates]
    lines = [*_lines(groups, depth), *(frame for group in groups.values() for frame in _frame(group))]
    seen = np.concatenate([*(plate.corners for plate in plates), *(line.reshape(-1, 3) for line in lines)])
    camera = fit(seen, size, inner(box, 60, 60, 60, 20), azimuth=AZIMUTH, elevation=ELEVATION)
    return Arrangement(camera, plates, False, lines)


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
    """The stage that a tensor stands with: the first that names it, else the one with the longest path to it."""
    for stage in stages:
        if any(own is not None and own.start == tensor.start for own in (stage.weight, stage.bias)):
            return stage.name
    path = tensor.name.rpartition(".")[0]
    while path:
        for stage in stages:
            if stage.name == path:
                return stage.name
        path = path.rpartition(".")[0]
    return stages[-1].name


def _lines(groups: Mapping[str, _Group], depth: Mapping[str, int]) -> list[Floats]:
    lines: list[list[Floats]] = []
    lanes: list[tuple[float, float]] = []  # what is taken of each lane: its right end, by lane
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
    """The frame round the numbers of a function, and the line from there to what it makes."""
    if not group.framed:
        return []
    count = len(group.tensors)
    left, right = group.left - _RIM, group.left + count + (count - 1) * _BETWEEN + _RIM
    up, down = group.middle - 0.5 - _NAMED, group.middle + 0.5 + _RIM
    corners = [(left, up), (right, up), (right, down), (left, down), (left, up)]
    on = [(right, group.middle), (right + _BETWEEN - _RIM, group.middle)] if group.count else []
    return [_segments([np.array(point) for point in line]) for line in (corners, on) if line]


def _segments(points: Sequence[Floats]) -> Floats:
    """A line through points (across, down) as segments in the plane, (S, 2, 3)."""
    there = np.array([across * ACROSS + down * DOWN + DEPTH * FLOW for across, down in points])
    return np.stack([there[:-1], there[1:]], axis=1)


# ----

__all__ = ["FEW", "Grid", "Kind", "Layout", "Mode", "Plate", "layout_for", "scene_rect"]

Mode = Literal["few", "mlp", "big"]

FEW = 64
"""Up to this many weights each cube carries its number."""
FEW_GRAPH = 4096
"""A graph of more weights has no edges around its cubes."""
MOST_CALLS = 4
"""A layer that is used more often has its plate alone, and no rows or lines around it."""
FEW_SIDE = 10
"""A single layer with a longer side than this would have cubes too small for a number."""
FLAT_PIXELS = 9.0
"""Cubes of a chain that lies on trays are no smaller."""
LINE_PIXELS, LINES_WORTH = 4.5, 2.0
"""A chain whose cubes, and so the lines between them, would be smaller than this is drawn as a stack, without lines;
and so is one whose cubes would be this much larger there."""

# The mock-ups' grid at 1280x720: everything right of the cubes and around them has a fixed width.
_SCENE = (0.0, 84.0, 936.0, 556.0)
_WINDOW = (1280, 720)


@dataclass(frozen=True, eq=False)
class Layout:
    """Plates in space and the camera that shows them.

    Attributes
    ----------
    size : (int, int)
        Logical size of the window.
    rect : (x0, y0, x1, y1)
        Pixels reserved for the scene; the cubes leave room in it for labels and chips.
    mode : {"few", "mlp", "big"}
        Which picture it is.
    plates : tuple of Plate
        Weights, biases and activation rows.
    trays : ndarray, shape (T, 4, 3)
        Corners of the trays that plates lie on.
    tray_plates : tuple of int
        Index of the plate on each tray.
    flow : ndarray, shape (S, 2, 3)
        Line segments along which numbers travel from row to plate.
    camera : Camera
        Fitted to all of it.
    blueprint : Blueprint or None
        What is flat in the picture of a scene's own plan.
    turns : bool
        Whether the flow turns at each layer (:mod:`.turning`).
    spots : tuple of Plate
        Rows of activations that are not drawn: their place is left to pictures.
    """

    size: Size
    rect: Rect
    mode: Mode
    plates: tuple[Plate, ...]
    trays: Floats
    tray_plates: tuple[int, ...]
    flow: Segments
    camera: Camera
    blueprint: Blueprint | None = None
    turns: bool = False
    spots: tuple[Plate, ...] = ()

    def plate(self, name: str) -> Plate:
        """The plate of a tensor or of a stage's activations; a tensor's goes first."""
        for plate in sorted(self.plates, key=lambda p: p.kind == "activation"):
            if plate.name == name:
                return plate
        raise UnknownNameError(f"no plate {shown(name)}; there are {listing(p.name for p in self.plates)}")

    def activation(self, name: str) -> Plate | None:
        """The row of a stage (or of ``"input"``), None if it is not drawn."""
        return next((p for p in self.plates if p.kind == "activation" and p.name == name), None)

    @property
    def bounds(self) -> Floats:
        """Low and high corner of everything, shape (2, 3)."""
        boxes = np.concatenate([p.bounds for p in self.plates])
        return np.stack([boxes.min(0), boxes.max(0)])

    def pixels_per_cube(self) -> float:
        """Size of one pitch on screen, in logical px, at the middle of the picture."""
        return float(self.camera.pixels_per_unit(self.bounds.mean(0))[0])


def scene_rect(size: Size) -> Rect:
    """The part of a window that belongs to the cubes: the mock-ups' grid, extra width and height to the scene.

    A window that is too small for the fixed margins gets them in proportion.
    """
    width, height = size
    right = width - (_WINDOW[0] - _SCENE[2]) if width >= 900 else width * _SCENE[2] / _WINDOW[0]
    if height > width:
        right = float(width)  # upright: the panels go below the scene, if anywhere
    scale = min(1.0, height / _WINDOW[1])
    return (0.0, _SCENE[1] * scale, float(right), height - (_WINDOW[1] - _SCENE[3]) * scale)


def layout_for(
    tensors: Sequence[Tensor],
    stages: Sequence[Stage],
    size: Size,
    rect: Rect | None = None,
    plan: Plan | None = None,
    turns: Turns | None = None,
) -> Layout:
    """Where every tensor and every activation row stands.

    Parameters
    ----------
    tensors : sequence of Tensor
        Everything that has cubes.
    stages : sequence of Stage
        What the modules made, from input to output: a chain of layers, or any graph. Without stages the tensors stand
        side by side.
    size : (int, int)
        Logical size of the window in px.
    rect : (x0, y0, x1, y1), optional
        Pixels reserved for the scene; default: the mock-ups' grid.
    plan : Plan, optional
        Where the scene wants them; followed if it names these tensors and cubes are large enough in it.
    turns : Turns, optional
        For a chain of small layers whose flow is to turn at each layer; followed if cubes are large enough in it.

    Raises
    ------
    InputError
        Nothing to draw, a tensor without elements, a window without pixels.
    """
    drawn = [t for t in tensors if t.size and t.role != "count"]
    if not drawn:
        raise InputError("there are no weights to draw; give a model with parameters or named arrays")
    box = scene_rect(size) if rect is None else rect
    if plan is not None and (found := planned(drawn, plan, size, box)) is not None:
        scene, flat = found
        return Layout(size, box, "big", tuple(scene.plates), scene.trays(), (), scene.segments(), scene.camera, flat)
    if turns is not None and (chain := chain_of(drawn, stages)):
        turned = turning(chain, size, box, turns)
        if turned is not None:
            return Layout(size, box, "mlp", tuple(turned.plates), turned.trays(), turned.tray_plates,
                          turned.segments(), turned.camera, turns=True, spots=tuple(turned.spots))  # fmt: skip
    mode, scene = _arrange(drawn, stages, size, box)
    return Layout(
        size, box, mode, tuple(scene.plates), scene.trays(), scene.tray_plates, scene.segments(), scene.camera
    )


def _arrange(tensors: list[Tensor], stages: Sequence[Stage], size: Size, box: Rect) -> tuple[Mode, Arrangement]:
    total = sum(t.size for t in tensors)
    chain = chain_of(tensors, stages)
    alone = len(chain) == 1 and chain[0].source == "input"
    if alone and total <= FEW and max(chain[0].weight.shape) <= FEW_SIDE:
        return "few", one_layer(chain[0], size, box)
    if chain:
        return _arrange_chain(chain, total, size, box)
    if blocks := conv_chain(tensors, stages):
        return "big", conv_row(blocks, size, box)
    if stages and not _unrolled(stages):
        return "mlp" if total <= FEW_GRAPH else "big", graph(tensors, stages, size, box)
    if total <= FEW:
        return "few", few_gallery(tensors, size, box)
    return "big", gallery(tensors, size, box)


def _unrolled(stages: Sequence[Stage]) -> bool:
    """Whether one layer is used more often than can be drawn, as at every letter of a word: then it stands once."""
    used = Counter(stage.weight.name for stage in stages if stage.weight is not None)
    return max(used.values(), default=0) > MOST_CALLS


def _arrange_chain(chain: list[ChainLayer], total: int, size: Size, box: Rect) -> tuple[Mode, Arrangement]:
    """The picture of several layers in which cubes are large enough for what they carry."""
    steps = staircase(chain, size, box)
    upright = box[3] - box[1] > box[2] - box[0]
    if (total <= FEW or upright) and not any(grid_for(layer.weight.shape).folded for layer in chain):
        flat = few_chain(chain, size, box)
        if flat.pixels_per_cube() > max(steps.pixels_per_cube(), FLAT_PIXELS):
            return "mlp", flat
    stacked = stack(chain, size, box)
    larger = stacked.pixels_per_cube() / steps.pixels_per_cube()
    most = LINES_WORTH if len(chain) > 1 else 1.0  # one layer has no other to be joined with
    return ("mlp", steps) if steps.pixels_per_cube() >= LINE_PIXELS and larger <= most else ("big", stacked)
