"""A chain of layers as standing plates that alternate: each output axis is the next plate's input axis.

Outputs of the first plate count downwards, of the second across, and so on; so the lines from a row of
activations to the next plate run side by side and never weave.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ...run.core.frame import Stage, Tensor, is_chain
from .arrangement import (
    ACROSS,
    DOWN,
    FLOW,
    OUTPUTS_ACROSS,
    OUTPUTS_DOWN,
    Layout,
    Mode,
    fitted,
    inner,
    laid,
    plate_for,
    row_plate,
)
from .camera import Floats, Rect, Size, basis
from .plate import Plate, grid_for


@dataclass(frozen=True, slots=True)
class ChainLayer:
    """A linear stage and the row of numbers that leaves it (after the activation that follows, if one does).

    `source` is the row that enters the first one: the sample, or what was made of it before any weight.
    """

    weight: Tensor
    bias: Tensor | None
    row: str
    outputs: int
    source: str = "input"


def chain_of(tensors: Sequence[Tensor], stages: Sequence[Stage]) -> list[ChainLayer]:
    """The layers of a chain; empty where one of them reads other rows than those that left the layer before it.

    Nor are they one where `stages` do not account for every tensor by weight matrices and biases.
    """
    if not is_chain(stages):
        return []
    layers: list[ChainLayer] = []
    covered: set[str] = set()
    source = "input"
    for stage in stages:
        if stage.weight is not None:
            if len(stage.weight.shape) != 2 or stage.weight.size == 0:
                return []
            layers.append(ChainLayer(stage.weight, stage.bias, stage.name, stage.outputs, source))
            covered |= {t.name for t in (stage.weight, stage.bias) if t is not None}
        elif not layers:
            source = stage.name
        elif stage.outputs != layers[-1].outputs:
            return []  # it widens or narrows its input: a row of its own
        else:
            last = layers[-1]
            layers[-1] = replace(last, row=stage.name)
    return layers if covered == {t.name for t in tensors} else []


@dataclass(frozen=True, slots=True)
class _Style:
    """Distances in pitches.

    `row_flow` and `row_rise` lead from a plate to its row of activations, `steps` to the next plate: of
    layers whose outputs count down, and of those whose outputs count across.
    """

    half: float
    azimuth: float
    elevation: float
    row_depth: float
    row_flow: tuple[float, float]
    row_rise: float
    steps: tuple[float, float] = (7.0, 9.0)

    @property
    def side(self) -> float:
        """From one plate to a strip beside it, so that the plate's visible side ends where the strip begins."""
        return 2.0 * self.half * (1.0 + 1.0 / float(np.tan(np.radians(-self.azimuth)))) + 0.06


STAIRS = _Style(half=0.42, azimuth=-42.0, elevation=13.0, row_depth=0.19, row_flow=(3.8, 6.3), row_rise=1.65)
TIGHT = replace(STAIRS, row_flow=(2.3, 3.6), steps=(4.5, 6.0))
STACK = _Style(half=0.46, azimuth=-31.0, elevation=14.0, row_depth=0.46, row_flow=(0.0, 0.0), row_rise=2.5)
# One or two plates do not fill the width: seen more from the front they are larger.
FRONTAL = {1: replace(STACK, azimuth=-62.0), 2: replace(STACK, azimuth=-42.0)}

_CLEAR = 1.4  # pitches from the end of a layer of a stack to the next plate
_OVER = 1.9  # pitches on screen from a row of activations down to the plate that it hangs over


def _at(flow: float, across: float, down: float) -> Floats:
    return np.asarray(flow * FLOW + across * ACROSS + down * DOWN)


@dataclass(slots=True)
class _Spot:
    """A layer's place: the first cell of its plate, and whether its outputs count down (else across)."""

    flow: float
    across: float
    down: float
    outputs_down: bool


class _Builder:
    """Puts one layer after the other; keeps the plates and the lines between them."""

    def __init__(self, style: _Style) -> None:
        self.style = style
        self.plates: list[Plate] = []
        self.lines: list[Floats] = []
        self._measured, self._right = 0, float("-inf")

    def layer(self, layer: ChainLayer, spot: _Spot, *, strips_below: bool) -> tuple[Plate, Plate, float]:
        """Add plate, bias and row; return plate, row and where the strip at the output edge stands."""
        style, axes = self.style, OUTPUTS_DOWN if spot.outputs_down else OUTPUTS_ACROSS
        plate = plate_for(layer.weight, "weight", _at(spot.flow, spot.across, spot.down), axes, style.half)
        straight = not plate.grid.folded
        length = plate.grid.cells[1] - 1
        edge = spot.across + length if spot.outputs_down else spot.down + (length if strips_below else 0)
        sign = 1.0 if spot.outputs_down or strips_below else -1.0
        self.plates.append(plate)
        strip, last = edge, plate
        if layer.bias is not None:
            deep = 0 if straight else grid_for((layer.outputs,)).cells[1] - 1  # folded, it is a block
            strip = edge + sign * (style.side if spot.outputs_down else 1.75 if not strips_below else 2.5)
            first = strip if sign > 0 else strip - deep
            place = _at(spot.flow, first, spot.down) if spot.outputs_down else _at(spot.flow, spot.across, first)
            last = plate_for(layer.bias, "bias", place, axes, style.half, strip=straight)
            strip += sign * deep
            self.plates.append(last)
        row = self._row(layer, spot, strip, sign, straight)
        if straight:
            cell = (0, plate.shape[1] - 1 if sign > 0 else 0)
            self._join(last, row, (0, 0) if last is not plate else cell, layer.outputs, spot.outputs_down, sign)
        return plate, row, strip

    def _row(self, layer: ChainLayer, spot: _Spot, strip: float, sign: float, straight: bool) -> Plate:
        style = self.style
        axes = OUTPUTS_DOWN if spot.outputs_down else OUTPUTS_ACROSS
        flow = spot.flow + style.row_flow[0 if spot.outputs_down else 1]
        coplanar = style.row_flow == (0.0, 0.0)
        off = (style.side if coplanar else 0.42) if spot.outputs_down else style.row_rise
        first = strip + sign * off
        if not straight and sign < 0:
            first -= grid_for((layer.outputs,)).cells[1] - 1
        place = _at(flow, first, spot.down) if spot.outputs_down else _at(flow, spot.across, first)
        row = row_plate(layer.row, layer.outputs, place, axes, style.half, style.row_depth, straight)
        self.plates.append(row)
        return row

    def _join(self, source: Plate, row: Plate, cell: tuple[int, int], count: int, down: bool, sign: float) -> None:
        """Lines from the output edge of a plate or bias strip to the row of activations."""
        if self.style.row_flow == (0.0, 0.0):
            return
        step = np.arange(count)[:, None] * (DOWN if down else ACROSS)
        out = ACROSS if down else sign * DOWN
        start = source.cell_centre(*cell) + out * source.half + FLOW * source.depth + step
        end = row.cell_centre(0) - out * row.half - FLOW * row.depth + step
        self.lines.append(np.stack([start, end], axis=1))

    def ends(self, angle: float) -> float:
        """Right end on screen, in pitches, of what stands so far; the flow runs at one `angle` to the screen."""
        right = np.cos(angle) * FLOW + np.sin(angle) * ACROSS
        new, self._measured = self.plates[self._measured :], len(self.plates)  # each is measured once
        self._right = max([self._right, *(float((plate.corners @ right).max()) for plate in new)])
        return self._right

    def feed(self, row: Plate, plate: Plate, down: bool) -> None:
        """Lines from a row of activations into the input edge of the next plate."""
        if plate.grid.folded or row.grid.folded or row.size != plate.shape[1]:
            return
        step = np.arange(row.size)[:, None] * (DOWN if down else ACROSS)
        start = row.cell_centre(0) + (ACROSS if down else DOWN) * row.half + FLOW * row.depth + step
        into = plate.cell_centre(0) - (ACROSS if down else DOWN) * 0.5 + step
        self.lines.append(np.stack([start, into], axis=1))

    def seen(self, mode: Mode, size: Size, room: Rect, box: Rect) -> Layout:
        """All of it, as large as it goes in a room."""
        camera = fitted(self.plates, size, room, self.style.azimuth, self.style.elevation)
        return laid(mode, camera, self.plates, box, self.lines)

    def inputs(self, layer: ChainLayer, plate: Plate, *, flow: float, below: float) -> None:
        """The sample itself, as a row below the first plate."""
        count, straight = layer.weight.shape[1], not plate.grid.folded
        rows, _ = plate.grid.cells
        axes = OUTPUTS_ACROSS if straight else OUTPUTS_DOWN
        place = plate.origin + flow * FLOW + (rows - 1 + below) * DOWN
        row = row_plate(layer.source, count, place, axes, self.style.half, self.style.row_depth, straight)
        self.plates.append(row)
        if flow and straight:
            step = np.arange(count)[:, None] * ACROSS
            foot = plate.origin + (rows - 0.5) * DOWN
            self.lines.append(np.stack([row.cell_centre(0) + FLOW * row.depth + step, foot + step], axis=1))


def _lowered(row: Plate, spot: _Spot, style: _Style) -> float:
    """How much further down a plate has to stand so that the row before it hangs over it and not before it."""
    right, up, _ = basis(style.azimuth, style.elevation)
    way = _at(spot.flow, spot.across, spot.down) - row.origin
    way = way - (right @ way) / (right @ ACROSS) * ACROSS  # both run across: compare what is at one place of the screen
    return max(0.0, (_OVER + float(up @ way)) / -float(up @ DOWN))


def staircase(chain: Sequence[ChainLayer], size: Size, box: Rect) -> Layout:
    """Plates that step aside as well as back, so that none hides another (mock-up ``mlp``); closer in a long chain."""
    style = STAIRS if len(chain) <= 3 else TIGHT
    build = _Builder(style)
    angle = np.radians(-style.azimuth)
    spot = _Spot(0.0, 0.0, 0.0, True)
    row: Plate | None = None
    for index, layer in enumerate(chain):
        plate, new_row, strip = build.layer(layer, spot, strips_below=False)
        if row is None:
            build.inputs(layer, plate, flow=-1.5, below=2.3)
        else:
            build.feed(row, plate, down=not spot.outputs_down)
        row = new_row
        if index + 1 < len(chain):
            if spot.outputs_down:
                spot = _Spot(spot.flow + style.steps[0], strip + 0.6, spot.down, False)
            else:  # far enough back to come out from behind this plate
                clear = (plate.grid.cells[0] * np.sin(angle) + 0.9) / np.cos(angle)
                spot = _Spot(spot.flow + max(clear, style.steps[1]), spot.across, spot.down + 1.65, True)
                spot.down += _lowered(row, spot, style)
    room = inner(box, 92, 48, 75, 11 if style is STAIRS else 44)
    return build.seen("mlp", size, room, box)


def stack(chain: Sequence[ChainLayer], size: Size, box: Rect) -> Layout:
    """Plates one behind the other (mock-up ``texture``): each begins where the one before it, with its strips, ends."""
    style = FRONTAL.get(len(chain), STACK)
    build = _Builder(style)
    spot = _Spot(0.0, 0.0, 0.0, True)
    angle = np.radians(-style.azimuth)
    for index, layer in enumerate(chain):
        plate, _, _ = build.layer(layer, spot, strips_below=True)
        if index == 0:
            build.inputs(layer, plate, flow=0.0, below=2.5)
        if index + 1 == len(chain):
            break
        following = grid_for(chain[index + 1].weight.shape).cells
        largest = max(*plate.grid.cells, *following)
        gap = build.ends(angle) / np.cos(angle) - spot.flow + _CLEAR + 0.03 * largest
        rows = plate.grid.cells[0 if spot.outputs_down else 1]
        spot = _Spot(spot.flow + gap, 0.0, spot.down, not spot.outputs_down)
        if spot.outputs_down:  # the outputs left at the foot: the next plate stands on it
            spot.down += rows - following[0]
    return build.seen("big", size, inner(box, 84, 45, 78, -9), box)
