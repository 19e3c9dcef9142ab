"""`document_of`: the parts of a picture that all frames share, as plain data for the player in a browser.

A frame is then one number for each texel (`texels_of`), 48 bytes for twelve weights, and one byte of marks
(`flags_of`). Cube names are computed from tensor names, so that a document of a million weights is as small as one of
ten.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...checks import one_of
from ...errors import InputError
from ...run.core.frame import Frame
from ...run.core.tensors import Tensor
from ...run.questions.ranges import KNEE
from ..cubes.atlas import APART, DEAD, FROZEN, NOT_COMPUTED, Atlas
from ..cubes.looks import LOOKS, CubeLook
from ..cubes.scale import LIT, PLAIN, QUANTITIES, RATIO, Coloring, Quantity, kinds_of, rows_of
from ..cubes.slab import COLOURS, DETAIL_PIXELS, RIM, flow_style, front_sides, upright
from ..ink.boxes import GAP, Places, arrange, check_size
from ..ink.listed import Listed, colours_of
from ..ink.sketch import Box, Sketch, Stand
from ..ink.text import ADVANCES, LETTERS, UNKNOWN, measure
from ..ink.theme import OF_A_THEME, THEMES, Theme, get_map, get_theme, hexed
from ..notes.labels import own_labels
from ..notes.scenery import WIDEST, Scenery, cubes_box, is_single
from ..screen.side import SidePanels
from ..screen.strip import ICONS, WORDS, legend_width
from ..shown.names import Names, along
from ..shown.subject import Subject, subject_of
from ..space.arrangement import TRAY_MARGIN, Blueprint, Plate, Project
from ..space.camera import Camera, Floats, pose_of
from ..space.chain import Turns
from ..space.layout import FEW, Layout, layout_for
from .pack import text_of
from .scripts import programs

LARGEST = float(np.finfo(np.float32).max)


def document_of(
    subject: object,
    size: tuple[int, int] = (960, 600),
    theme: str | Theme = "dark",
    *,
    strip: bool = True,
    looks: Mapping[int, CubeLook] | None = None,
    turned: bool = False,
) -> dict[str, Any]:
    """Return the data from which a player draws `subject`, for any numbers; ``json.dumps`` takes it.

    The layout is for `size` logical pixels, with legends below the cubes if `strip`; both themes are included. The flow
    turns at each layer if a panel asks for it, or if `turned`. `looks` are custom looks by flat index; default: those
    of the subject's weights.
    """
    shown = subject if isinstance(subject, Subject) else subject_of(subject)
    look = get_theme(theme)
    laid = laid_out(shown, size, look, strip=strip, turned=turned)
    layout = laid.layout
    most, given = Atlas(layout.plates).parameters, LOOKS.looks_of(shown.source) if looks is None else looks
    own = [[index, None if one.colour is None else hexed(one.colour), one.share]
           for index, one in sorted(given.items()) if index < most]  # fmt: skip
    return {
        **constants_of(),
        **({"own": own} if own else {}),
        "theme": look.name,
        "size": list(layout.size),
        **cubes_of(layout),
        **_network(shown),
        "words": words_of(shown, laid, look, given),
        "rect": list(layout.rect),
        "scene": list(laid.places.scene),
        "pose": pose_data(layout.camera, layout),
        "themes": {name: {**colours_of(theme), "shading": asdict(theme.shading)} for name, theme in THEMES.items()},
        "maps": {name: map_of(name)
                 for name in dict.fromkeys(one.cmap for one in QUANTITIES.values()) if name not in OF_A_THEME},
        "quantities": [quantity_spec(one) for one in (*QUANTITIES.values(), *LIT.values())],
        "marks": _marks(),
        "widest": {form: measure(widest, 1, True) for form, widest in WIDEST.items()},
    }  # fmt: skip


def constants_of() -> dict[str, Any]:
    """Return the data that all pictures share: shaders and their constants."""
    return {"glsl": programs(), "knee": KNEE, "colours": COLOURS, "detail": DETAIL_PIXELS, "margin": list(TRAY_MARGIN)}


def advances_of() -> dict[str, Any]:
    """Return the widths of the window's characters, in thousandths of the type size."""
    regular, bold = ([round(1000 * ADVANCES[one][letter]) for letter in LETTERS] for one in (False, True))
    return {"letters": LETTERS, "regular": regular, "bold": bold, "unknown": [UNKNOWN[False], UNKNOWN[True]]}


def pose_data(camera: Camera, layout: Layout) -> dict[str, Any]:
    """Return the camera pose for a layout, as ``camera.js`` takes it."""
    pose = pose_of(camera, layout.bounds.mean(axis=0))
    return {"az": pose.azimuth, "el": pose.elevation, "centre": pose.centre.tolist(), "place": pose.place.tolist(),
            "scale": pose.scale, "eye": None if pose.eye is None else pose.eye.tolist()}  # fmt: skip


def _marks() -> dict[str, Any]:
    """Return each mark's long and short meaning, and its shapes at (0, 0)."""
    found, dark = {}, THEMES["dark"]  # in the light theme some colours coincide, so that their names would be lost
    for name, words in WORDS.items():
        sketch = Sketch()
        ICONS[name](sketch, 0.0, -13.0, dark)
        found[name] = [*words, [Listed(dark).shape(shape) for shape in sketch.shapes]]
    return found


def _network(shown: Subject) -> dict[str, Any]:
    """Return tensors, stages, and the names of inputs and outputs."""
    names, drawn = Names(shown), rows_of(shown.stages) if shown.stages else {}
    units = {s.name: _runs(f"output {names.unit(s, k)}" if s is shown.stages[-1] else names.unit(s, k)
                           for k in range(s.outputs)) for s in shown.stages if s.name in drawn}  # fmt: skip
    return {
        "tensors": [{"name": one.name, "shape": list(one.shape), "start": one.start, "role": one.role,
                     **meaning_of(shown, one, names)} for one in shown.tensors],
        "units": units | {"input": _runs(f"input {name}" for name in shown.sample.inputs)},
        "stages": [{"name": stage.name, "weight": stage.weight is not None} for stage in shown.way],
        "rows": drawn,
        "kinds": kinds_of(drawn),
        "names": {"inputs": list(shown.sample.inputs), "outputs": list(shown.sample.outputs)},
        "sheet": shown.sample.sheet,
    }  # fmt: skip


def meaning_of(shown: Subject, tensor: Tensor, names: Names) -> dict[str, Any]:
    """Return the names of a tensor's elements: words with axes in braces, and the names along each axis."""
    words, named = along(shown, tensor, names)
    return {"means": words, "along": [_runs(map(name, range(side)))
                                      for name, side in zip(named, tensor.shape, strict=True)]}  # fmt: skip


def _runs(names: Iterable[str]) -> list[Any]:
    """Return names, with counting ones (``"h1"`` to ``"h12"``) as word, first number and count."""
    found: list[Any] = []
    for name in names:
        word = name.rstrip("0123456789")
        number = name[len(word) :]
        if found and found[-1][0] == word and number == str(found[-1][1] + found[-1][2]):
            found[-1][2] += 1
        else:
            counts = word and number.isascii() and number and number == str(int(number))
            found.append([word, int(number), 1] if counts else [name, 0, 0])
    return [name if not count else [name, first, count] for name, first, count in found]


def cubes_of(layout: Layout) -> dict[str, Any]:
    """Return plates, trays and lines, and the layout of their numbers in a texture."""
    atlas, (width, alpha) = Atlas(layout.plates), flow_style(layout)
    weights = sum(plate.size for plate in layout.plates if plate.kind != "activation")
    return {
        "plates": [_plate(plate, atlas) for plate in layout.plates],
        "trays": [{"corners": _rounded(corners), "plate": plate, "last": layout.plates[plate].last}
                  for corners, plate in zip(layout.trays, layout.tray_plates, strict=True)],
        "flow": {"width": width, "alpha": alpha, "lines": _rounded(layout.flow.reshape(-1, 6))},
        "atlas": [atlas.shape[1], atlas.shape[0]],
        "parameters": atlas.parameters,
        "texels": max(atlas.span(plate).stop for plate in layout.plates),
        "numbered": layout.turns or weights <= FEW,
        "rim": 0.0 if layout.mode == "big" else RIM,
    }  # fmt: skip


def _plate(plate: Plate, atlas: Atlas) -> dict[str, Any]:
    grid = plate.grid
    return {
        "name": plate.name, "kind": plate.kind, "size": plate.size, "start": plate.start,
        "texel": atlas.span(plate).start, "cells": list(grid.cells),
        "tile": list(grid.tile), "folded": grid.folded, "period": list(grid.period), "strides": list(grid.strides),
        "origin": plate.origin.tolist(), "axes": plate.axes.tolist(), "half": plate.half, "depth": plate.depth,
        "style": [*front_sides(plate), plate.last, upright(plate)],
    }  # fmt: skip


def _rounded(numbers: ArrayLike) -> list[Any]:
    """Return numbers rounded to float32, as they are drawn, with the fewest digits that identify them."""
    block = np.asarray(numbers, np.float32)
    return np.array([float(str(x)) for x in block.ravel()]).reshape(block.shape).tolist()  # type: ignore[no-any-return]


def texels_of(frame: Frame, document: dict[str, Any], quantity: str | Quantity = "weight") -> NDArray[np.float32]:
    """Return the numbers of a frame as the player uploads them, (texels,): parameters, then rows of activations.

    `quantity` is ``"weight"``, ``"gradient"`` or ``"update"``, from which the browser computes others, or a `Quantity`
    of the optimiser's state. Missing numbers (no gradient yet, no such row) are 0.
    """
    if not isinstance(quantity, Quantity):
        quantity = QUANTITIES[one_of(quantity, QUANTITIES, "texels_of: the quantity")]
    numbers = quantity.numbers(frame)
    numbers = np.zeros_like(frame.values) if numbers is None else numbers
    texels, count = np.zeros(document["texels"], np.float32), document["parameters"]
    if len(numbers) < count:
        raise InputError(f"texels_of: the frame has {len(numbers)} weights, the document {count}; make a new document")
    texels[:count] = _narrow(numbers[:count])
    for plate in document["plates"]:
        if plate["kind"] == "activation" and plate["name"] in frame.activations:
            row = np.ravel(frame.activations[plate["name"]])
            if len(row) != plate["size"]:
                raise InputError(f"texels_of: row {plate['name']!r} has {len(row)} numbers, not {plate['size']}")
            texels[plate["texel"] : plate["texel"] + plate["size"]] = _narrow(row)
    return texels


def _narrow(numbers: NDArray[np.floating]) -> NDArray[np.float32]:
    """Return numbers as float32; finite numbers stay finite."""
    return np.where(np.isfinite(numbers), np.clip(numbers, -LARGEST, LARGEST), numbers).astype(np.float32)


def flags_of(frame: Frame, document: dict[str, Any]) -> NDArray[np.uint8]:
    """Return the marks of a frame that do not follow from its numbers, uint8 (texels,): bits of `view.cubes.atlas`.

    These are: frozen, dead, gradient not computed, row not known, and whether only one of update and gradient is known.
    """
    flags, count = np.zeros(document["texels"], np.uint8), document["parameters"]
    flags[:count] = np.where(frame.frozen[:count], FROZEN, 0) + np.where(frame.computed[:count], 0, NOT_COMPUTED)
    flags[:count] += np.where(frame.known("update")[:count] != frame.computed[:count], APART, 0).astype(np.uint8)
    for plate in document["plates"]:
        if plate["kind"] == "activation":
            span, dead = slice(plate["texel"], plate["texel"] + plate["size"]), frame.dead.get(plate["name"])
            flags[span] = 0 if dead is None else np.where(np.ravel(dead), DEAD, 0)
            flags[span] |= 0 if plate["name"] in frame.activations else NOT_COMPUTED
    return flags


# ---- The layout of the cubes in a browser: the window's, without panels, which the page has around it.

_ABOVE, _BELOW = 12.0, 16.0  # parts of the window's margin of 24
_LITTLE = 4.0


@dataclass(frozen=True, slots=True)
class Laid:
    """A layout and the boxes around it."""

    layout: Layout
    places: Places  # the scene, and the strip of legends below it
    ratio: Floats  # (2,): camera pixels per logical pixel; the camera has whole pixels

    def project(self, xyz: ArrayLike) -> Floats:
        """Return world points (N, 3) as logical pixels (N, 2)."""
        return np.asarray(self.layout.camera.project(xyz) / self.ratio)


def _nearer(places: Places) -> Places:
    """Return places with scene and legends nearer to the edges, because a page has its own margins."""
    x, y, width, height = places.scene
    if places.strip is None:  # nothing is below
        return replace(places, scene=(x, _LITTLE, width, max(places.size[1] - 2 * _LITTLE, 1.0)))
    strip = (places.strip[0], places.strip[1] + _BELOW, *places.strip[2:])
    return replace(places, scene=(x, y - _ABOVE, width, height + _ABOVE + _BELOW), strip=strip)


def laid_out(
    subject: Subject, size: tuple[int, int], theme: Theme, *, strip: bool = True, turned: bool = False
) -> Laid:
    """Return plates, camera and boxes for a picture of `size` pixels; arguments as for :func:`document_of`."""
    places = _nearer(arrange(check_size(size), hud=False, strip=strip, presenter=theme.presenter))
    camera_size = (round(places.size[0]), round(places.size[1]))
    ratio = np.array(camera_size) / places.size
    x, y, width, height = cubes_box(subject, places.scene)
    rect = (x * ratio[0], y * ratio[1], (x + width) * ratio[0], (y + height) * ratio[1])
    turns = SidePanels(subject, theme).turns(width, height, rows=True) or (Turns(0.0, True) if turned else None)
    return Laid(layout_for(subject.tensors, subject.stages, camera_size, rect, subject.plan, turns), places, ratio)


# ---- Colours, maps and quantities that a page can switch between.


def map_of(name: str) -> dict[str, dict[str, Any]]:
    """Return a colour map by theme: its colour stops, or its table of bytes (257, 3)."""
    found: dict[str, dict[str, Any]] = {}
    for look, theme in THEMES.items():
        made = get_map(name, theme)
        found[look] = {"stops": list(made.stops)} if made.stops else {"table": text_of(made.entries.tobytes())}
    return found


def quantity_spec(one: Quantity) -> dict[str, Any]:
    """Return the description of a quantity that cubes can show: name, words, map and scale."""
    return {"name": one.name, "words": one.words, "map": one.cmap, "scale": one.scale,
            "decades": one.decades, "plain": one.name in PLAIN,
            "range": [RATIO.low, RATIO.high] if one.name == "update/value" else None}  # fmt: skip


# ---- Words around the cubes.


def words_of(subject: Subject, laid: Laid, theme: Theme, own: Mapping[int, CubeLook]) -> dict[str, Any]:
    """Return the words around the cubes, the layer with formulas below, and the flat part of a plan."""
    layout, wanted = laid.layout, subject.sample.target_values
    return {
        "advances": advances_of(),
        "around": around_of(subject, layout, theme, laid.project, laid.places.scene, own),
        "target": None if wanted is None else [None if np.isnan(x) else float(x) for x in wanted],
        "single": _single(subject, laid) if is_single(subject, layout) else None,
        "plan": None if layout.blueprint is None else _plan(layout.blueprint),
    }


def _single(subject: Subject, laid: Laid) -> dict[str, Any]:
    """Return the rows of the single layer, and the room for its formulas below the cubes."""
    stages, strip = subject.stages, laid.places.strip
    linear = next(s for s in stages if s.weight is not None)
    room = None if strip is None else [strip[2] - legend_width(strip[2]) - GAP, strip[3]]
    return {"sums": linear.name, "last": stages[-1].name, "room": room}


def _plan(sheet: Blueprint) -> dict[str, Any]:
    """Return the flat part of a plan, in camera pixels of the layout."""
    return {
        "rooms": {name: list(box) for name, box in sheet.rooms.items()},
        "rows": [list(box) for box in sheet.rows],
        "note": None if sheet.note is None else list(sheet.note),
        "words": sheet.words,
        "anchors": sheet.anchors.tolist(),
        "places": sheet.places.tolist(),
    }


# ---- The words around the cubes as plain data for ``notes.js``: the window's own list of words, chips and lines in
# groups, each with its point of the world. Numbers are bound: the browser fills in those of the shown frame, so that
# one list serves all frames.

GroupData = dict[str, Any]


def around_of(
    subject: Subject, layout: Layout, theme: Theme, project: Project, box: Box, own: Mapping[int, CubeLook]
) -> list[GroupData]:
    """Return groups of records: the point, the shapes and the texts of each.

    A plan also has the labels of its plates, for other cameras than that of its layout. Labels of custom looks are over
    the cubes.
    """
    frame = _blank(subject)
    colouring = Coloring(subject.tensors, theme)
    colouring.update(replace(frame, values=np.ones(sum(tensor.size for tensor in subject.tensors))), None)
    alone = Scenery(subject, layout, theme, project, box, panels=False)
    scenery = Scenery(subject, layout, theme, project, box, panels=layout.blueprint is None)
    found = _Groups(theme)
    written = [*alone.static, *scenery.around(frame, colouring, 0.0)]
    found.add(written)
    if layout.blueprint is not None:
        plain = Scenery(subject, replace(layout, blueprint=None), theme, project, box, panels=False)
        found.add([*plain.static, *plain.around(frame, colouring, None)], turned=True)
    if own:

        def share(plate: int, element: int) -> float:
            look = own.get(layout.plates[plate].start + element)
            return 1.0 if look is None or look.share is None else look.share

        whole = (0.0, 0.0, float(layout.size[0]), float(layout.size[1]))
        labels = own_labels(own, layout.plates, layout.camera, project, share, whole, theme, written)
        found.add([labels], over=True)
    return list(found.groups.values())


def _blank(subject: Subject) -> Frame:
    """Return a frame of zeros, as positions do not depend on numbers."""
    stages, zeros, none = subject.stages, np.zeros(0), np.zeros(0, bool)
    first = next((stage.weight for stage in stages if stage.weight is not None), None)
    reads = max(len(subject.sample.inputs), 0 if first is None else int(np.prod(first.shape[1:])))
    rows = {"input": np.zeros(reads), **{stage.name: np.zeros(stage.outputs) for stage in stages}}
    return Frame(0, float("nan"), 0.0, zeros, zeros, zeros, none, none, rows if stages else {})


class _Groups:
    """Records grouped by the point that they belong to."""

    def __init__(self, theme: Theme) -> None:
        self.groups: dict[object, GroupData] = {}
        self._listed = Listed(theme, bound=True)

    def add(self, sketches: Iterable[Sketch], whose: Stand = None, **more: object) -> None:
        """Add the records of sketches; `whose` is their point unless they name one."""
        for sketch in sketches:
            for own, shapes, texts in sketch.groups():
                if shapes or texts:
                    at = own or whose
                    empty = {"at": list(at) if isinstance(at, tuple) else at, **more, "shapes": [], "texts": []}
                    group = self.groups.setdefault((at, *more.items()), empty)
                    group["shapes"] += map(self._listed.shape, shapes)
                    group["texts"] += map(self._listed.text, texts)
