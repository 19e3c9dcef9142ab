"""From a network to plates in space: which plate stands where, seen by which camera. Pure NumPy.

Three pictures of the same numbers: ``"few"`` (one layer, cubes lying on a tray, large enough to carry their number),
``"mlp"`` (a small chain, no plate hides another) and ``"big"`` (plates in a stack, one behind the other).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from ...errors import InputError, UnknownNameError, listing, shown
from ...run.core.frame import Stage, Tensor
from ...run.scene.scene import Plan
from .arrangement import Arrangement, Segments
from .blueprint import Blueprint
from .camera import Camera, Rect, Size
from .chain import ChainLayer, chain_of, stack, staircase
from .conv import conv_chain, conv_row
from .few import few_chain, few_gallery, one_layer
from .gallery import gallery
from .graph import graph
from .planned import planned
from .plate import Floats, Grid, Kind, Plate, grid_for
from .turning import Turns, turning

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
