"""`layout_for`: the plates of a network in space, and their camera; `Apart`: a layout taken apart. Pure NumPy.

A scene's own plan is one plane: its groups from left to right, fitted to the box. Words and gaps have fixed pixels,
whatever the size of the cubes; the cubes are as large as the rest allows. The upper left corner of a plate is at its
planned place on screen: the plane is seen at an angle, so the same height on screen is not the same height in the
world.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np

from ...errors import InputError
from ...run.core.tensors import Stage, Tensor
from ...run.scene.scene import Column, Placed, Plan, Room
from ..ink.sketch import Box
from .arrangement import Blueprint, Caption, Heading, Layout, Plate, Wire, grid_for, laid, plate_for
from .blocks import Item, blocks
from .camera import ACROSS, DOWN, OUTPUTS_ACROSS, OUTPUTS_DOWN, Camera, Floats, Pose, Rect, Size, basis, camera_of, fit
from .chain import ChainLayer, Turns, chain_of, few_chain, few_gallery, one_layer, stack, staircase, turning
from .plane import conv_chain, conv_row, gallery, graph

__all__ = ["FEW", "Apart", "Layout", "layer_of", "layers_of", "layout_for", "scene_rect"]

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
    upright = size[1] > size[0] or box[3] - box[1] > box[2] - box[0]
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
    """Options for taking a layout apart."""

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


# ---- A scene's own plan.

HALF = 0.46
AZIMUTH, ELEVATION = -63.0, 14.0
LEAST, MOST = 2.4, 16.0
"""Least and most pixels of a cube in a plan."""
SIDE = 24.0
"""Pixels to the left and right."""
HEAD, NAME, AIR = 20.0, 42.0, 6.0
"""Pixels of a group's title and rule, of a plate's two lines, and between plates."""
STREAM, ROW_WIDE, ROW_HIGH = 58.0, 84.0, 32.0
"""Height of the stream below the plates; width and height of its rows, in pixels."""
LETTER = 9.6
"""Approximate pixels of a letter of a title."""
ALONE = 0.25
"""Share of the height that must be free for a single plate to be in the middle."""
GAP, INNER, BUS = 38.0, 14.0, 16.0
"""Least pixels between groups, between columns of a group, and from a plate to the line that rises to it."""

_RIGHT, _UP, _ = basis(AZIMUTH, ELEVATION)
_WIDE = float(ACROSS @ _RIGHT)  # pixels of a column of cubes at one pixel a unit, and what follows from the angle
_SLOPE = float(-(ACROSS @ _UP))
_HIGH = float(-(DOWN @ _UP))
_FACE = HALF * OUTPUTS_DOWN[2]  # from the middle of a cube to its main face


class _Part:
    """A plate of the plan: rows and columns as drawn."""

    def __init__(self, tensor: Tensor, placed: Placed) -> None:
        self.tensor, self.placed = tensor, placed
        self.rows, self.columns = tensor.shape[::-1] if placed.turned else tensor.shape


@dataclass(slots=True)
class _Slot:
    """A column of the plan: its parts, or an empty room; and its place."""

    group: int
    parts: list[_Part]
    room: Room | None
    x: float = 0.0
    width: float = 0.0
    boxes: list[Box] = field(default_factory=list)  # on screen, the slant included


def planned(tensors: Sequence[Tensor], plan: Plan, size: Size, box: Rect) -> Layout | None:
    """Return the picture of a plan; None if it names other tensors, or cubes would be too small."""
    known = {tensor.name: tensor for tensor in tensors}
    if known.keys() != {placed.tensor for placed in plan.plates} or any(len(t.shape) != 2 for t in tensors):
        return None
    slots = [_slot(number, column, known) for number, group in enumerate(plan.groups) for column in group.columns]
    inner = (box[0] + SIDE, box[1] + HEAD, box[2] - SIDE, box[3] - (STREAM if plan.stream else 0.0))
    titles = [group.title for group in plan.groups]
    gaps = _gaps(slots, titles, MOST)
    for _ in range(3):  # with small cubes a title is wider than its group, and widens the gap behind it
        gaps = _gaps(slots, titles, _scale(slots, gaps, inner))
    scale = _scale(slots, gaps, inner)
    if scale < LEAST:
        return None
    _across(slots, gaps, inner, scale)
    for slot in slots:
        _stack_boxes(slot, inner, scale)
    place = np.array([inner[0], inner[1]])
    plates = [_plate(part, slot, k, scale, place) for slot in slots for k, part in enumerate(slot.parts)]
    pose = Pose(AZIMUTH, ELEVATION, np.zeros(3), place, scale, None)
    camera = camera_of(pose, size, np.concatenate([plate.corners for plate in plates]))
    anchors = np.array([np.zeros(3), 40.0 * ACROSS, 40.0 * DOWN])
    sheet = _blueprint(plan, slots, inner, anchors, camera.project(anchors))
    return replace(laid("big", camera, plates, box), blueprint=sheet)


def _slot(group: int, column: Column, known: Mapping[str, Tensor]) -> _Slot:
    if isinstance(column, Room):
        return _Slot(group, [], column)
    return _Slot(group, [_Part(known[placed.tensor], placed) for placed in column], None)


def _width(slot: _Slot, scale: float) -> float:
    """Return the least width of a column in pixels."""
    return slot.room.width if slot.room else max(part.columns for part in slot.parts) * _WIDE * scale


def _gaps(slots: Sequence[_Slot], titles: Sequence[str], scale: float) -> list[float]:
    """Return the least pixels between neighbours; behind a group they include room for its title."""
    found, wide = list[float](), 0.0
    for a, b in pairwise(slots):
        wide += _width(a, scale)
        if a.group == b.group:
            found.append(INNER)
            wide += INNER
        else:
            found.append(max(GAP, LETTER * len(titles[a.group]) + 12.0 - wide))
            wide = 0.0
    return found


def _scale(slots: Sequence[_Slot], gaps: Sequence[float], inner: Rect) -> float:
    """Return the largest pixels of a cube that fit both ways."""
    fixed = sum(gaps) + sum(slot.room.width for slot in slots if slot.room)
    cells = sum(max(p.columns for p in slot.parts) for slot in slots if slot.parts)
    fitting = [(inner[2] - inner[0] - fixed) / (cells * _WIDE), MOST]
    for slot in (slot for slot in slots if slot.parts):
        words = len(slot.parts) * NAME + (len(slot.parts) - 1) * AIR
        units = sum(part.rows * _HIGH + part.columns * _SLOPE for part in slot.parts)
        fitting.append((inner[3] - inner[1] - words) / units)
    return min(fitting)


def _across(slots: Sequence[_Slot], gaps: Sequence[float], inner: Rect, scale: float) -> None:
    """Set the left edges; the rest of the width goes to rooms and to the gaps between groups."""
    widths = [_width(slot, scale) for slot in slots]
    loose = sum(gap != INNER for gap in gaps) + sum(slot.room is not None for slot in slots)
    more = max(inner[2] - inner[0] - sum(gaps) - sum(widths), 0.0) / max(loose, 1)
    x = inner[0]
    for slot, width, gap in zip(slots, widths, [*gaps, 0.0], strict=True):
        slot.x, slot.width = x, width + (more if slot.room else 0.0)
        x += slot.width + gap + (0.0 if gap == INNER or slot is slots[-1] else more)


def _stack_boxes(slot: _Slot, inner: Rect, scale: float) -> None:
    """Set the boxes on screen, the slant included: several from the top, a single one in the middle."""
    high, top = inner[3] - inner[1], inner[1]
    if slot.room:
        slot.boxes = [(slot.x, top + NAME, slot.width, high - NAME)]
        return
    sizes = [(p.columns * _WIDE * scale, (p.rows * _HIGH + p.columns * _SLOPE) * scale) for p in slot.parts]
    spare = high - sum(size[1] + NAME for size in sizes) - AIR * (len(sizes) - 1)
    air = AIR + (spare / (len(sizes) - 1) if len(sizes) > 2 else min(spare, 2.0 * AIR))
    y = top + (0.5 * spare if len(sizes) == 1 and spare > ALONE * high else 0.0)
    for wide, tall in sizes:
        slot.boxes.append((slot.x, y + NAME, wide, tall))
        y += NAME + tall + air


def _plate(part: _Part, slot: _Slot, number: int, scale: float, place: Floats) -> Plate:
    """Return a plate in the world; the upper left corner of its main face is that of the box."""
    x, y = (np.array(slot.boxes[number][:2]) - place) / scale
    face = np.array([_FACE @ _RIGHT, -(_FACE @ _UP)])
    across = (x - face[0]) / _WIDE + 0.5
    down = (y - face[1] - (across - 0.5) * _SLOPE) / _HIGH + 0.5
    axes = OUTPUTS_ACROSS if part.placed.turned else OUTPUTS_DOWN
    return plate_for(part.tensor, "weight", across * ACROSS + down * DOWN, axes, HALF)


# ---- The flat part of a plan.


def _blueprint(plan: Plan, slots: Sequence[_Slot], inner: Rect, anchors: Floats, places: Floats) -> Blueprint:
    headings, captions = [], []
    groups = [[slot for slot in slots if slot.group == k] for k in range(len(plan.groups))]
    for group, own in zip(plan.groups, groups, strict=True):
        count = sum(part.tensor.size for slot in own for part in slot.parts)
        wide = own[-1].x + own[-1].width - own[0].x
        headings.append(Heading(group.title, count, own[0].x, inner[1], wide))
    for k, slot in enumerate(slots):
        free = slots[k + 1].x if k + 1 < len(slots) else inner[2]
        for part, box in zip(slot.parts, slot.boxes, strict=False):
            wide, shape = free - box[0] - 4.0, f"{part.rows:,}×{part.columns:,}"
            captions.append(Caption(part.tensor.name, part.placed.title, box[0], box[1] - NAME, wide, shape))
    rooms = {slot.room.name: slot.boxes[0] for slot in slots if slot.room}
    wires = [wire for own in groups for wire in _inside(own)]
    if not plan.stream:
        return Blueprint(tuple(headings), tuple(captions), tuple(wires), rooms, anchors, places)
    line = inner[3] + STREAM - 0.5 * ROW_HIGH - 4.0
    pluses = [(_bottom(own)[0], line) for own in groups[1:-1]]
    rows = [(x, line - 0.5 * ROW_HIGH, ROW_WIDE, ROW_HIGH) for x in (inner[0], *(p[0] + 20.0 for p in pluses))]
    x = groups[min(1, len(groups) - 1)][0].x  # the words about the stream are below it, between its first two rows
    end = pluses[0][0] - 14.0 if pluses else groups[-1][-1].x
    note = x, line + 16.0, max(end - x, 0.0)
    wires = [*_stream(groups, rows, line), *wires]
    return Blueprint(tuple(headings), tuple(captions), tuple(wires), rooms, anchors, places, tuple(pluses),
                     tuple(rows), note, plan.stream)  # fmt: skip


def _middle(box: Box) -> float:
    return box[1] + 0.5 * box[3]


def _bottom(own: Sequence[_Slot]) -> tuple[float, float]:
    """Return the middle of the lower edge of a group's last plate."""
    last = [slot for slot in own if slot.parts][-1]
    x, y, wide, high = last.boxes[-1]
    return x + 0.5 * wide, y + high - 0.5 * last.parts[-1].columns * _SLOPE


def _stream(groups: Sequence[Sequence[_Slot]], rows: Sequence[Box], line: float) -> list[Wire]:
    """Return the line of the stream, and its connections up and down."""
    found: list[Wire] = []
    for number, own in enumerate(groups):
        if number < len(groups) - 1:
            x, y = _bottom(own)
            found.append(Wire(np.array([[x, y + 3.0], [x, line]])))
        if number:
            first = next(slot for slot in own if slot.parts)
            bus = first.x - BUS
            heights = [_middle(box) for box in first.boxes]
            found.append(Wire(np.array([[bus, line], [bus, min(heights)]])))
            found += [Wire(np.array([[bus, y], [first.x - 3.0, y]]), True) for y in heights]
    ends = [rows[-1][0] + rows[-1][2]] + [w.points[0, 0] for w in found]
    return [Wire(np.array([[rows[0][0], line], [max(ends), line]])), *found]


def _inside(own: Sequence[_Slot]) -> list[Wire]:
    """Return the lines of a group: several plates join in a room, and its output goes to the next plate."""
    found: list[Wire] = []
    for before, room, after in zip(own, own[1:], own[2:], strict=False):
        if not room.room or len(before.parts) < 2 or not after.parts:
            continue
        edge, heights = before.x + before.width, [_middle(box) for box in before.boxes]
        bend = edge + 0.6 * (room.x - edge)
        found += [Wire(np.array([[edge + 3.0, y], [bend, y]])) for y in heights]
        found.append(Wire(np.array([[bend, min(heights)], [bend, max(heights)]])))
        x, y, wide, high = room.boxes[0]
        middle = _middle(after.boxes[0])
        out = x + wide
        found.append(Wire(np.array([[out, y + 0.12 * high], [out, y + 0.88 * high]])))
        found.append(Wire(np.array([[out, middle], [after.x - 3.0, middle]]), True))
    return found
