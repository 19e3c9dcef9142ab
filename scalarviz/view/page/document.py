"""`document_of`: the parts of a picture that all frames share, as plain data for the player in a browser.

A frame is then one number for each texel (`texels_of`), 48 bytes for twelve weights, and one byte of marks
(`flags_of`). Cube names are computed from tensor names, so that a document of a million weights is as small as one of
ten.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...checks import one_of
from ...errors import InputError
from ...run.core.frame import Frame
from ...run.core.tensors import Tensor
from ...run.questions.ranges import KNEE
from ..cubes.atlas import APART, DEAD, FROZEN, NOT_COMPUTED, Atlas
from ..cubes.looks import LOOKS
from ..cubes.scale import LIT, PLAIN, QUANTITIES, RATIO, Quantity, rows_of
from ..cubes.slab import COLOURS, DETAIL_PIXELS, RIM, flow_style, front_sides, upright
from ..ink.listed import colours_of, short
from ..ink.text import ADVANCES, LETTERS, UNKNOWN
from ..ink.theme import OF_A_THEME, THEMES, Theme, get_map, get_theme, hexed
from ..shown.names import Names, along
from ..shown.subject import Subject, subject_of
from ..space.arrangement import TRAY_MARGIN, Plate
from ..space.camera import Camera, pose_of
from ..space.layout import Layout
from ..workbench import Workbench
from .pack import text_of
from .scripts import programs

LARGEST = float(np.finfo(np.float32).max)


def document_of(subject: object, layout: Mapping[str, Any], theme: str | Theme = "dark") -> dict[str, Any]:
    """Return the data from which a player draws `subject`, for any numbers; ``json.dumps`` takes it.

    `layout` has the cubes and their camera (:func:`layout_of`); both themes are included.
    """
    shown = subject if isinstance(subject, Subject) else subject_of(subject)
    given = LOOKS.looks_of(shown.source)
    own = [[index, None if one.colour is None else hexed(one.colour), one.share]
           for index, one in sorted(given.items()) if index < layout["parameters"]]  # fmt: skip
    wanted = shown.sample.target_values
    return {
        **constants_of(),
        **({"own": own} if own else {}),
        "theme": get_theme(theme).name,
        **layout,
        **_network(shown),
        "advances": advances_of(),
        "target": None if wanted is None else [None if np.isnan(x) else float(x) for x in wanted],
        "themes": {name: {**colours_of(theme), "shading": asdict(theme.shading)} for name, theme in THEMES.items()},
        "maps": {name: map_of(name)
                 for name in dict.fromkeys(one.cmap for one in QUANTITIES.values()) if name not in OF_A_THEME},
        "quantities": [quantity_spec(one) for one in (*QUANTITIES.values(), *LIT.values())],
    }  # fmt: skip


def layout_of(bench: Workbench) -> dict[str, Any]:
    """Return the cubes of a picture, their camera, and the box for the time bar, in logical pixels.

    Of a comparison it is the layout of one column, whose lists are `left` and `top` pixels off, with the size of the
    whole picture and the boxes of all columns.
    """
    layout, places = bench.layout, bench.places
    found = {
        **cubes_of(layout), "size": list(bench.camera.size), "rect": list(layout.rect), "scene": short(places.scene),
        "pose": pose_data(layout.camera, layout), "time": None if places.time is None else short(places.time),
    }  # fmt: skip
    if bench.compared is None:
        return found
    boxes, ratio = bench.compared.columns.boxes, np.array(bench.camera.size) / places.size
    box = np.array(boxes[-1])
    corner = box[:2] * ratio  # in pixels of the camera
    return found | {
        "size": (box[2:] * ratio).tolist(), "rect": (np.array(layout.rect) - [*corner, *corner]).tolist(),
        "scene": short(np.array(places.scene) - [*box[:2], 0.0, 0.0]),
        "pose": found["pose"] | {"place": (np.array(found["pose"]["place"]) - corner).tolist()},
        "left": box[0], "top": box[1], "picture": short(places.size), "columns": [short(one) for one in boxes],
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


def _network(shown: Subject) -> dict[str, Any]:
    """Return tensors, stages, and the names of inputs and outputs."""
    names, drawn = Names(shown), rows_of(shown.stages) if shown.stages else {}
    units = {s.name: _runs(f"output {names.unit(s, k)}" if s is shown.stages[-1] else names.unit(s, k)
                           for k in range(s.outputs)) for s in shown.stages if s.name in drawn}  # fmt: skip
    return {
        "tensors": [{"name": one.name, "shape": list(one.shape), "start": one.start, "role": one.role,
                     **meaning_of(shown, one, names)} for one in shown.tensors],
        "units": units | {"input": _runs(f"input {name}" for name in shown.sample.inputs)},
        "rows": drawn,
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
    return {
        "plates": [_plate(plate, atlas) for plate in layout.plates],
        "trays": [{"corners": _rounded(corners), "plate": plate, "last": layout.plates[plate].last}
                  for corners, plate in zip(layout.trays, layout.tray_plates, strict=True)],
        "flow": {"width": width, "alpha": alpha, "lines": _rounded(layout.flow.reshape(-1, 6))},
        "atlas": [atlas.shape[1], atlas.shape[0]],
        "parameters": atlas.parameters,
        "texels": max(atlas.span(plate).stop for plate in layout.plates),
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
