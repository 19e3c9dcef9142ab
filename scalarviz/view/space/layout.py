"""`layout_for`: from a network to plates in space, seen by a camera; `Apart`: a layout taken apart. Pure NumPy."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ...errors import InputError
from ...run.core.frame import Stage, Tensor
from ...run.scene.scene import Plan
from .arrangement import Layout, Mode
from .blocks import Item, blocks
from .camera import Camera, Floats, Rect, Size, fit
from .chain import ChainLayer, chain_of, stack, staircase
from .lying import Turns, few_chain, few_gallery, one_layer, turning
from .plane import conv_chain, conv_row, gallery, graph
from .planned import planned
from .plate import Grid, Kind, Plate, grid_for

__all__ = ["FEW", "Apart", "Grid", "Kind", "Layout", "Mode", "Plate", "layer_of", "layers_of", "layout_for",
           "scene_rect"]  # fmt: skip

FEW = 64
"""Up to this many weights each cube carries its number."""
MOST_CALLS = 4
"""A layer that is used more often has its plate alone, and no rows or lines around it."""
FEW_SIDE = 10
"""A single layer with a longer side than this would have cubes too small for a number."""
FLAT_PIXELS = 9.0
"""Cubes of a chain that lies on trays are no smaller."""
LINE_PIXELS, LINES_WORTH = 4.5, 2.0
"""A chain whose cubes, and so the lines between them, would be smaller than this is drawn as a stack, without lines;
and so is one whose cubes would be this much larger there."""
WIDER = 1.7
"""How much further from the middle plates stand that are apart."""

# The mock-ups' grid at 1280x720: everything right of the cubes and around them has a fixed width.
_SCENE = (0.0, 84.0, 936.0, 556.0)
_WINDOW = (1280, 720)


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
    plan: Plan | Sequence[Item] | None = None,
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
    plan : Plan or sequence of Item, optional
        Where the scene wants them, or what the file of a network says of it; followed if it names these tensors and
        cubes are large enough in it.
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
    """The picture of several layers in which cubes are large enough for what they carry."""
    steps = staircase(chain, size, box)
    upright = box[3] - box[1] > box[2] - box[0]
    if (total <= FEW or upright) and not any(grid_for(layer.weight.shape).folded for layer in chain):
        flat = few_chain(chain, size, box)
        if flat.pixels_per_cube() > max(steps.pixels_per_cube(), FLAT_PIXELS):
            return flat
    stacked = stack(chain, size, box)
    larger = stacked.pixels_per_cube() / steps.pixels_per_cube()
    most = LINES_WORTH if len(chain) > 1 else 1.0  # one layer has no other to be joined with
    return steps if steps.pixels_per_cube() >= LINE_PIXELS and larger <= most else stacked


@dataclass(frozen=True, slots=True)
class Apart:
    """How a layout is taken apart."""

    wide: bool = False  # whether plates stand further from each other
    layer: str = ""  # the layer that stands alone; empty: all of them

    def apply_to(self, layout: Layout) -> Layout:
        """The layout, taken apart; itself where there is nothing to take apart, or where it has a plan of its own."""
        if self.layer in layers_of(layout):
            layout = _layer_alone(layout, self.layer)
        whole = layout.blueprint is not None or layout.turns
        return _wider(layout) if self.wide and not whole and len(layout.plates) > 1 else layout


def layer_of(plate: Plate) -> str:
    """The layer that a plate of weights or biases belongs to: the module's path, or its own name."""
    return plate.name.rpartition(".")[0] or plate.name


def layers_of(layout: Layout) -> tuple[str, ...]:
    """The layers of a layout in their order; none where a single one fills it, or a plan says where they stand."""
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
    """What its plates take of the picture (pixels)."""
    seen = layout.camera.project(np.concatenate([plate.corners for plate in layout.plates]))
    (x0, y0), (x1, y1) = seen.min(axis=0), seen.max(axis=0)
    return float(x0), float(y0), float(x1), float(y1)


def _nearest(point: Floats, plates: Sequence[Plate]) -> int:
    """The plate that a line ends at."""
    away = [np.maximum(np.maximum(p.bounds[0] - point, point - p.bounds[1]), 0.0) for p in plates]
    return int(np.argmin([float(d @ d) for d in away]))


def _fitted(layout: Layout, camera: Camera, box: Rect) -> Camera:
    """A camera that looks the same way, and shows all of a layout in a box (pixels)."""
    points, distance = layout.outline, None
    if not camera.orthographic:
        away = float(np.linalg.norm(camera.eye[:3] - layout.bounds.mean(axis=0)))
        distance = max(away, 1.5 * float(np.linalg.norm(np.ptp(points, axis=0))))
    return fit(points, camera.size, box, azimuth=camera.azimuth, elevation=camera.elevation, distance=distance)
