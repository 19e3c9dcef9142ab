"""`layout_for`: the plates of a network in space, and their camera; `Apart`: a layout taken apart. Pure NumPy."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ...errors import InputError
from ...run.core.frame import Stage, Tensor
from ...run.scene.scene import Plan
from .arrangement import Grid, Kind, Layout, Mode, Plate, grid_for
from .blocks import Item, blocks
from .camera import Camera, Floats, Rect, Size, fit
from .chain import ChainLayer, Turns, chain_of, few_chain, few_gallery, one_layer, stack, staircase, turning
from .plane import conv_chain, conv_row, gallery, graph
from .planned import planned

__all__ = ["FEW", "Apart", "Grid", "Kind", "Layout", "Mode", "Plate", "layer_of", "layers_of", "layout_for",
           "scene_rect"]  # fmt: skip

FEW = 64
"""Most weights for numbers on all cubes."""
MOST_CALLS = 4
"""A layer with more calls has only its plate, without rows and lines."""
FEW_SIDE = 10
"""Longest side of a single layer whose cubes can hold a number."""
FLAT_PIXELS = 9.0
"""Least size in pixels of the cubes of a chain on trays."""
LINE_PIXELS, LINES_WORTH = 4.5, 2.0
"""A chain is drawn as a stack, without lines, if its cubes would be smaller than this in pixels, or if a stack makes
them larger by this factor."""
WIDER = 1.7
"""Factor on the distance from the middle for spread plates."""

# The mock-ups' grid at 1280x720: everything right of the cubes and around them has a fixed width.
_SCENE = (0.0, 84.0, 936.0, 556.0)
_WINDOW = (1280, 720)


def scene_rect(size: Size) -> Rect:
    """Return the part of a window for the cubes: the mock-ups' grid, with extra width and height for the scene.

    In a small window the fixed margins shrink in proportion.
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
    plan: Plan | Sequence[Item] | None = None,
    turns: Turns | None = None,
) -> Layout:
    """Return the places of every tensor and every activation row.

    Parameters
    ----------
    tensors : sequence of Tensor
        Everything that has cubes.
    stages : sequence of Stage
        The outputs of the modules, from input to output: a chain of layers, or any graph. Without stages the tensors
        are side by side.
    size : (int, int)
        Logical size of the window in px.
    rect : (x0, y0, x1, y1), optional
        Pixels of the scene; default: the mock-ups' grid.
    plan : Plan or sequence of Item, optional
        The scene's own arrangement, or the network as its file describes it; used if it names these tensors and its
        cubes are large enough.
    turns : Turns, optional
        Options of a chain of small layers whose flow turns at each layer; used if its cubes are large enough.

    Raises
    ------
    InputError
        Nothing to draw, a tensor without elements, a window without pixels.
    """
    drawn = [t for t in tensors if t.size and t.role != "count"]
    if not drawn:
        raise InputError("there are no weights to draw; give a model with parameters or named arrays")
    box = scene_rect(size) if rect is None else rect
    total, chain = sum(t.size for t in drawn), chain_of(drawn, stages)
    if isinstance(plan, Plan) and (found := planned(drawn, plan, size, box)):
        return found
    if plan and not isinstance(plan, Plan) and (found := blocks(drawn, plan, size, box, few=total <= FEW)):
        return found
    if turns is not None and chain and (found := turning(chain, size, box, turns)):
        return found
    alone = len(chain) == 1 and chain[0].source == "input"
    if alone and total <= FEW and max(chain[0].weight.shape) <= FEW_SIDE:
        return one_layer(chain[0], size, box)
    if chain:
        return _largest(chain, total, size, box)
    if stations := conv_chain(drawn, stages):
        return conv_row(stations, size, box)
    used = Counter(stage.weight.name for stage in stages if stage.weight is not None)
    if stages and max(used.values(), default=0) <= MOST_CALLS:
        return graph(drawn, stages, size, box)
    return (few_gallery if total <= FEW else gallery)(drawn, size, box)


def _largest(chain: list[ChainLayer], total: int, size: Size, box: Rect) -> Layout:
    """Return the picture of several layers whose cubes are large enough for their content."""
    steps = staircase(chain, size, box)
    upright = box[3] - box[1] > box[2] - box[0]
    if (total <= FEW or upright) and not any(grid_for(layer.weight.shape).folded for layer in chain):
        flat = few_chain(chain, size, box)
        if flat.pixels_per_cube() > max(steps.pixels_per_cube(), FLAT_PIXELS):
            return flat
    stacked = stack(chain, size, box)
    larger = stacked.pixels_per_cube() / steps.pixels_per_cube()
    most = LINES_WORTH if len(chain) > 1 else 1.0  # one layer has no other to connect to
    return steps if steps.pixels_per_cube() >= LINE_PIXELS and larger <= most else stacked


@dataclass(frozen=True, slots=True)
class Apart:
    """How a layout is taken apart."""

    wide: bool = False  # whether plates are spread
    layer: str = ""  # the only layer shown; empty: all

    def apply_to(self, layout: Layout) -> Layout:
        """Return the layout taken apart; unchanged if there is nothing to do, or if it has a plan of its own."""
        if self.layer in layers_of(layout):
            layout = _layer_alone(layout, self.layer)
        whole = layout.blueprint is not None or layout.turns
        return _wider(layout) if self.wide and not whole and len(layout.plates) > 1 else layout


def layer_of(plate: Plate) -> str:
    """Return the layer of a plate of weights or biases: the module's path, or the plate's own name."""
    return plate.name.rpartition(".")[0] or plate.name


def layers_of(layout: Layout) -> tuple[str, ...]:
    """Return the layers of a layout in order; empty if there is only one, or if a plan places them."""
    names = tuple(dict.fromkeys(layer_of(plate) for plate in layout.plates if plate.kind != "activation"))
    rooms = layout.blueprint is not None and layout.blueprint.rooms
    return names if len(names) > 1 and not rooms and not layout.turns else ()


def _layer_alone(layout: Layout, layer: str) -> Layout:
    plates = tuple(p for p in layout.plates if p.kind != "activation" and layer_of(p) == layer)
    x0, y0, x1, y1 = layout.rect
    inset = 0.12 * min(x1 - x0, y1 - y0)  # for the names
    boxes = (x0 + inset, y0 + inset, x1 - inset, y1 - inset), _box(layout)
    found = replace(layout, plates=plates, flow=np.zeros((0, 2, 3)), blueprint=None)
    ways = [replace(found, camera=_fitted(found, layout.camera, box)) for box in boxes]
    return max(ways, key=Layout.pixels_per_cube)


def _wider(layout: Layout) -> Layout:
    middle = layout.bounds.mean(axis=0)
    shifts = [(WIDER - 1.0) * (plate.bounds.mean(axis=0) - middle) for plate in layout.plates]
    plates = tuple(plate.moved(shift) for plate, shift in zip(layout.plates, shifts, strict=True))
    flow = [[end + shifts[_nearest(end, layout.plates)] for end in line] for line in layout.flow]
    found = replace(layout, plates=plates, flow=np.reshape(flow, (-1, 2, 3)))
    return replace(found, camera=_fitted(found, layout.camera, _box(layout)))


def _box(layout: Layout) -> Rect:
    """Return the box of the plates in the picture (pixels)."""
    seen = layout.camera.project(np.concatenate([plate.corners for plate in layout.plates]))
    (x0, y0), (x1, y1) = seen.min(axis=0), seen.max(axis=0)
    return float(x0), float(y0), float(x1), float(y1)


def _nearest(point: Floats, plates: Sequence[Plate]) -> int:
    """Return the index of the plate that a line ends at."""
    away = [np.maximum(np.maximum(p.bounds[0] - point, point - p.bounds[1]), 0.0) for p in plates]
    return int(np.argmin([float(d @ d) for d in away]))


def _fitted(layout: Layout, camera: Camera, box: Rect) -> Camera:
    """Return a camera with the same angle that shows the whole layout in a box (pixels)."""
    points, distance = layout.outline, None
    if not camera.orthographic:
        away = float(np.linalg.norm(camera.eye[:3] - layout.bounds.mean(axis=0)))
        distance = max(away, 1.5 * float(np.linalg.norm(np.ptp(points, axis=0))))
    return fit(points, camera.size, box, azimuth=camera.azimuth, elevation=camera.elevation, distance=distance)
