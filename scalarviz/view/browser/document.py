"""`document_of`: everything of a picture that stays from frame to frame, as plain data for the player in a browser.

A frame is then one number for each texel (`texels_of`), 48 bytes for twelve weights, and one byte of marks
(`flags_of`). Names are not listed, they are made from those of the tensors: a document of a million weights is as small
as one of ten.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...checks import one_of
from ...errors import InputError
from ...run.core.frame import Frame, Stage, Tensor, is_chain
from ...run.questions.ranges import KNEE
from ..cubes.atlas import APART, DEAD, FROZEN, NOT_COMPUTED, Atlas
from ..cubes.own import LOOKS, Colour, OwnLook
from ..cubes.quantity import OWN, Quantity
from ..cubes.scale import rows_of
from ..cubes.slab import COLOURS, DETAIL_PIXELS, RIM
from ..cubes.tray import DENSE_ALPHA, DENSE_WIDTH, FLOW_ALPHA, FLOW_WIDTH
from ..cubes.vertices import front_sides, last_row, upright
from ..draw.text import measure
from ..draw.theme import Theme, get_theme
from ..shown.subject import Subject, subject_of
from ..space.arrangement import TRAY_MARGIN
from ..space.layout import FEW, Layout
from ..space.plate import Plate
from ..space.pose import pose_of
from .laid import laid_out
from .looks import maps, quantities, themes
from .programs import programs
from .words import words_of

VERSION = 1
LARGEST = float(np.finfo(np.float32).max)


def document_of(
    subject: object,
    size: tuple[int, int] = (960, 600),
    theme: str | Theme = "dark",
    *,
    title: str = "",
    strip: bool = True,
    looks: Mapping[int, OwnLook] | None = None,
    turned: bool = False,
) -> dict[str, Any]:
    """What a player draws `subject` from, whatever its numbers are.

    Parameters
    ----------
    subject : Subject, Scene, Run, Module, Weight, sequence of Weight, or mapping of str to array
    size : (int, int)
        Width and height in pixels that the picture is laid out for, 160 to 8192; in a canvas of another size it is
        shown larger or smaller.
    theme : {"dark", "light"}
        The look that it opens with; both are in it.
    title : str
        What the page is called.
    strip : bool
        Whether legends stand below the cubes.
    looks : mapping of int to OwnLook, optional
        Given by hand, by flat index; default: those of the subject's weights.
    turned : bool
        Whether the flow turns at each layer even if no panel of the subject asks for it.

    Returns
    -------
    dict
        Of numbers, texts, lists and dicts alone: ``json.dumps`` takes it.

    Raises
    ------
    TypeMismatchError, InputError, UnknownNameError
        As :func:`~scalarviz.view.render`.
    """
    shown = subject if isinstance(subject, Subject) else subject_of(subject)
    look = get_theme(theme)
    laid = laid_out(shown, size, look, strip=strip, turned=turned)
    layout = laid.layout
    own = _own(LOOKS.of(shown.source) if looks is None else looks, layout)
    return {
        **({"own": own} if own else {}),
        "version": VERSION,
        "title": title,
        "theme": look.name,
        "size": list(layout.size),
        **_cubes(layout),
        **_network(shown),
        "words": words_of(shown, layout),
        "rect": list(layout.rect),
        "scene": list(laid.places.scene),
        "pose": _pose(layout),
        **_common(),
    }


def _network(shown: Subject) -> dict[str, Any]:
    """Tensors, stages, and the names of what goes in and comes out."""
    return {
        "tensors": [_tensor(tensor) for tensor in shown.tensors],
        "stages": [_stage(stage) for stage in shown.way],
        "rows": rows_of(shown.stages) if shown.stages else {},
        "names": {"inputs": list(shown.sample.inputs), "outputs": list(shown.sample.outputs)},
        "chain": is_chain(shown.way),
        "sheet": shown.sample.sheet,
    }


def _own(looks: Mapping[int, OwnLook], layout: Layout) -> list[list[Any]]:
    """Looks given by hand: place, colour, side, label."""
    most = Atlas(layout.plates).parameters
    return [[index, None if look.colour is None else _hex(look.colour), look.share, look.label]
            for index, look in sorted(looks.items()) if index < most]  # fmt: skip


def _hex(colour: Colour) -> str:
    return "#" + "".join(f"{int(np.rint(255.0 * part)):02x}" for part in colour)


def _common() -> dict[str, Any]:
    """What every document has."""
    return {
        "themes": themes(),
        "maps": maps(),
        "quantities": quantities(tuple(OWN)),
        "knee": KNEE,
        "colours": COLOURS,
        "widest": {"plain": measure("+0.00", 1, True), "decades": measure("+0.0e\N{MINUS SIGN}0", 1, True)},
        "glsl": programs(),
    }


def _cubes(layout: Layout) -> dict[str, Any]:
    """Plates, trays and lines, and how their numbers lie in a texture."""
    atlas, few = Atlas(layout.plates), layout.mode == "few"
    weights = sum(plate.size for plate in layout.plates if plate.kind != "activation")
    return {
        "mode": layout.mode,
        "plates": [_plate(plate, atlas) for plate in layout.plates],
        "trays": [{"corners": _rounded(corners), "plate": plate, "last": last_row(layout.plates[plate])}
                  for corners, plate in zip(layout.trays, layout.tray_plates, strict=True)],
        "margin": list(TRAY_MARGIN),
        "flow": {"width": FLOW_WIDTH if few else DENSE_WIDTH, "alpha": FLOW_ALPHA if few else DENSE_ALPHA,
                 "lines": _rounded(layout.flow.reshape(-1, 6))},
        "atlas": [atlas.shape[1], atlas.shape[0]],
        "parameters": atlas.parameters,
        "texels": max(atlas.span(plate).stop for plate in layout.plates),
        "numbered": layout.turns or weights <= FEW,
        "rim": 0.0 if layout.mode == "big" else RIM,
        "detail": DETAIL_PIXELS,
    }  # fmt: skip


def _pose(layout: Layout) -> dict[str, Any]:
    pose = pose_of(layout.camera, layout.bounds.mean(axis=0))
    eye = None if pose.eye is None else pose.eye.tolist()
    return {"az": pose.azimuth, "el": pose.elevation, "centre": pose.centre.tolist(), "place": pose.place.tolist(),
            "scale": pose.scale, "eye": eye}  # fmt: skip


def _plate(plate: Plate, atlas: Atlas) -> dict[str, Any]:
    grid = plate.grid
    return {
        "name": plate.name, "kind": plate.kind, "size": plate.size, "start": plate.start,
        "texel": atlas.span(plate).start, "shape": list(grid.shape), "cells": list(grid.cells),
        "tile": list(grid.tile), "folded": grid.folded, "period": list(grid.period), "strides": list(grid.strides),
        "origin": plate.origin.tolist(), "axes": plate.axes.tolist(), "half": plate.half, "depth": plate.depth,
        "style": [*front_sides(plate), last_row(plate), upright(plate)],
    }  # fmt: skip


def _tensor(tensor: Tensor) -> dict[str, Any]:
    return {"name": tensor.name, "shape": list(tensor.shape), "start": tensor.start, "role": tensor.role}


def _stage(stage: Stage) -> dict[str, Any]:
    weight, bias = (None if part is None else part.name for part in (stage.weight, stage.bias))
    return {"name": stage.name, "kind": stage.kind, "outputs": stage.outputs, "weight": weight, "bias": bias,
            "sources": list(stage.sources), "whole": stage.whole, "shape": list(stage.shape)}  # fmt: skip


def _rounded(numbers: ArrayLike) -> list[Any]:
    """As float32, which is what is drawn, in as few letters as tell it from its neighbours."""
    block = np.asarray(numbers, np.float32)
    return np.array([float(str(x)) for x in block.ravel()]).reshape(block.shape).tolist()  # type: ignore[no-any-return]


def texels_of(frame: Frame, document: dict[str, Any], quantity: str | Quantity = "weight") -> NDArray[np.float32]:
    """The numbers of a frame in the order in which the player uploads them: parameters, then rows of activations.

    Parameters
    ----------
    frame : Frame
    document : dict
        Of :func:`document_of`.
    quantity : str or Quantity
        ``"weight"``, ``"gradient"`` or ``"update"``, of which the browser makes the others; or what the optimiser
        keeps.

    Returns
    -------
    ndarray of float32, shape (texels,)
        Where there is no number of it (no gradient yet, no such row), 0.

    Raises
    ------
    InputError
        The frame is of another network; no quantity that every frame has.
    """
    kind = quantity if isinstance(quantity, Quantity) else OWN[one_of(quantity, OWN, "texels_of: the quantity")]
    numbers = kind.numbers(frame)
    if numbers is None:
        numbers = np.zeros_like(frame.values)
    texels, count = np.zeros(document["texels"], np.float32), document["parameters"]
    if len(numbers) < count:
        raise InputError(f"texels_of: the frame has {len(numbers)} weights, the document {count}; make another")
    texels[:count] = _single(numbers[:count])
    for plate in document["plates"]:
        if plate["kind"] == "activation" and plate["name"] in frame.activations:
            row = np.ravel(frame.activations[plate["name"]])
            if len(row) != plate["size"]:
                raise InputError(
                    f"texels_of: row {plate['name']!r} has {len(row)} numbers, the document {plate['size']}"
                )
            texels[plate["texel"] : plate["texel"] + plate["size"]] = _single(row)
    return texels


def _single(numbers: NDArray[np.floating]) -> NDArray[np.float32]:
    """As float32; what is finite stays so."""
    if numbers.dtype == np.float32:
        return np.asarray(numbers, np.float32)
    return np.where(np.isfinite(numbers), np.clip(numbers, -LARGEST, LARGEST), numbers).astype(np.float32)


def flags_of(frame: Frame, document: dict[str, Any]) -> NDArray[np.uint8]:
    """The marks of a frame that do not follow from its numbers: frozen, dead, gradient not computed, row not known.

    One more says that an update is known where the gradient is not, or the other way round.

    Returns
    -------
    ndarray of uint8, shape (texels,)
        Bits as in :mod:`scalarviz.view.cubes.atlas`.
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
