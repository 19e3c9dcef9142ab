"""A convolutional chain: kernels as tiles and, between them, the maps that they make of the sample.

Everything stands in one plane and is read from left to right: the picture, the kernels (a row an output channel, a
column an input channel), the maps after the rectifier, the pooled maps, the next kernels. A linear layer at the end
stands upright, its inputs downwards; one with many inputs is cut into tiles too, one for each output and map.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from ...run.core.frame import Stage, Tensor, is_chain
from .arrangement import ACROSS, DOWN, OUTPUTS_ACROSS, OUTPUTS_DOWN, Arrangement, fitted, inner, plate_for
from .camera import Rect, Size
from .plate import Floats, Grid, Plate, grid_for

HALF = 0.45
DEPTH = 0.19  # of maps: they are no weights
AZIMUTH, ELEVATION = -66.0, 12.0
GAP = 3.4
SLIM = 16
"""A linear layer with more inputs for an output than this times its outputs is cut into tiles."""
MAP_PIXELS = 5.0
"""Where cells would be smaller than this, maps before a pool are left out: the pooled ones say the same."""

NEW_MAPS = ("conv2d", "max_pool2d", "avg_pool2d")
"""Kinds of stages that make new maps; any other between them changes maps one number at a time."""


@dataclass(frozen=True, slots=True)
class Block:
    """One station of the chain.

    Attributes
    ----------
    weight, bias : Tensor or None
        Of a convolution or linear layer.
    maps : (str, tuple of int) or None
        Stage (``"input"``) and shape (C, H, W) of pictures that are drawn.
    pooled : bool
        Whether the next station makes these maps smaller and says the same.
    shape : tuple of int
        In which the weights are drawn: their own, or that of tiles.
    """

    weight: Tensor | None = None
    bias: Tensor | None = None
    maps: tuple[str, tuple[int, ...]] | None = None
    pooled: bool = False
    shape: tuple[int, ...] = ()


def conv_chain(tensors: Sequence[Tensor], stages: Sequence[Stage]) -> list[Block]:
    """The stations of a convolutional chain; empty when `stages` are none or leave a tensor out."""
    first = next((s for s in stages if s.kind == "conv2d"), None)
    if first is None or not stages or stages[0] is not first or not is_chain(stages):
        return []
    known = {t.name: t for t in tensors}
    weight = known.get(f"{first.name}.weight")
    if weight is None or len(weight.shape) != 4 or len(stages[0].input_shape) != 3:
        return []
    blocks = [Block(maps=("input", stages[0].input_shape))]
    shape = stages[0].input_shape
    for stage in stages:
        own = [known.pop(f"{stage.name}.{part}", None) for part in ("weight", "bias")]
        if own[0] is not None:
            blocks.append(Block(own[0], own[1], shape=_drawn_shape(own[0].shape, shape)))
        if len(stage.shape) == 3:
            if stage.kind not in NEW_MAPS:
                blocks.pop()  # the maps before the rectifier
            elif blocks[-1].maps and stage.kind != "conv2d":
                blocks[-1] = Block(maps=blocks[-1].maps, pooled=len(blocks) > 1)
            blocks.append(Block(maps=(stage.name, stage.shape)))
            shape = stage.shape
    return [] if known else blocks


def _drawn_shape(weight: tuple[int, ...], maps: tuple[int, ...]) -> tuple[int, ...]:
    if len(weight) == 2 and weight[1] == prod(maps) and weight[1] > SLIM * weight[0]:
        return weight[:1] + maps
    return weight


def conv_row(blocks: Sequence[Block], size: Size, box: Rect) -> Arrangement:
    """All stations side by side; without the maps that are pooled next, where cells would be tiny."""
    full = _row(blocks, size, box)
    if full.pixels_per_cube() >= MAP_PIXELS:
        return full
    return max(full, _row([b for b in blocks if not b.pooled], size, box), key=Arrangement.pixels_per_cube)


def map_grid(shape: Sequence[int]) -> Grid:
    """Channels as tiles, in as many rows as make the block about as high as wide."""
    count, height, width = shape
    rows = [r for r in range(1, count + 1) if count % r == 0]
    best = min(rows, key=lambda r: abs(np.log(1.3 * (count // r) * (width + 1) / (r * (height + 1)))))
    return grid_for((best, count // best, height, width))


def _row(blocks: Sequence[Block], size: Size, box: Rect) -> Arrangement:
    plates: list[Plate] = []
    lines: list[Floats] = []
    across = 0.0
    for block in blocks:
        new = _maps(block) if block.maps is not None else _weights(block)
        corners = np.concatenate([p.corners for p in new])
        left, right = corners[:, 1].max(), corners[:, 1].min()  # across is -y
        placed = [p.moved((across + left) * ACROSS) for p in new]
        if plates:
            lines.append(np.array([[(across - GAP + 0.6) * ACROSS, (across - 0.6) * ACROSS]]))
        plates += placed
        across += left - right + GAP
    camera = fitted(plates, size, inner(box, 40, 62, 40, 26), AZIMUTH, ELEVATION)
    return Arrangement(camera, plates, False, lines)


def _maps(block: Block) -> list[Plate]:
    assert block.maps is not None
    name, shape = block.maps
    grid = map_grid(shape)
    place = -0.5 * (grid.cells[0] - 1) * DOWN
    return [Plate(name, "activation", prod(shape), grid, place, OUTPUTS_DOWN, HALF, DEPTH)]


def _weights(block: Block) -> list[Plate]:
    """The weights, and the bias at the edge where the outputs leave: right of kernels, below a linear layer."""
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
