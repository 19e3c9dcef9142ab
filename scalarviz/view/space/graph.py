"""Any graph of stages in one plane: a column a depth, in each stage its weights and the row that it makes, and lines.

A stage stands one column behind the last of its sources. A line to the next column goes straight; one that skips
columns (a residual) goes over their heads, each at a height of its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from ...run.core.frame import Stage, Tensor
from .arrangement import ACROSS, DOWN, FLOW, OUTPUTS_DOWN, Arrangement, inner, plate_for
from .camera import Rect, Size, fit
from .plate import Floats, Kind, Plate, grid_for

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
