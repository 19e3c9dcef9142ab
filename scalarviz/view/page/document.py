"""`document_of`: everything of a picture that stays from frame to frame, as plain data for the player in a browser.

A frame is then one number for each texel (`texels_of`), 48 bytes for twelve weights, and one byte of marks
(`flags_of`). Names are not listed, they are made from those of the tensors: a document of a million weights is as small
as one of ten.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...checks import one_of
from ...errors import InputError, UnknownNameError, listing, shown
from ...run.core.frame import Frame, Stage, Tensor, is_chain
from ...run.questions.ranges import KNEE
from .. import glsl
from ..cubes.atlas import APART, DEAD, FROZEN, LEAST, NOT_COMPUTED, Atlas
from ..cubes.own import LOOKS, Colour, OwnLook
from ..cubes.scale import OWN, Quantity, rows_of
from ..cubes.shader import front_sides, upright, vertex
from ..cubes.slab import COLOURS, DENSE_ALPHA, DENSE_WIDTH, DETAIL_PIXELS, FLOW_ALPHA, FLOW_WIDTH, RIM
from ..ink.places import Places, arrange, check_size
from ..ink.text import measure
from ..ink.theme import Theme, get_theme
from ..notes.scenery import cubes_box
from ..screen.side import SidePanels
from ..shown.subject import Subject, subject_of
from ..space.arrangement import TRAY_MARGIN
from ..space.camera import pose_of
from ..space.layout import FEW, Layout, layout_for
from ..space.lying import Turns
from ..space.plate import Plate
from .looks import maps, quantities, themes
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
        "trays": [{"corners": _rounded(corners), "plate": plate, "last": layout.plates[plate].last}
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
        "style": [*front_sides(plate), plate.last, upright(plate)],
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


# ---- The shaders of a document: those of the cubes in parts, from which the browser makes the variants that it needs.

PARTS = ("common", "marks", "walk", "average")
"""Of the fragment shader of the cubes; ``fragmentOf`` of ``cubes.js`` joins them as `cubes.shader.fragment` does."""
WHOLE = ("glow", "tray", "flow")


def programs() -> dict[str, str]:
    """Texts in GLSL ES 3.00 by name: ``head``, ``vertex`` and parts of the cubes, pairs of the others."""
    found = {name: translated(glsl.read(f"cubes_{name}"), "fragment") for name in PARTS}
    for name in WHOLE:
        found[f"{name}_vertex"], found[name] = pair(*glsl.program(name))
    return {"head": HEADS["fragment"], "vertex": es300(vertex(), "vertex"), "least": f"{LEAST:g}", **found}


# ---- The window's shaders as a browser's: GLSL 1.20 into GLSL ES 3.00, by a few rules for words.

Kind = Literal["vertex", "fragment"]

RULES: dict[str, tuple[tuple[str, str], ...]] = {
    "vertex": ((r"\battribute\b", "in"), (r"\bvarying\b", "out")),
    "fragment": ((r"\btexture2D\b", "texture"), (r"\bvarying\b", "in"), (r"\bgl_FragColor\b", "o_colour")),
}
"""What a word becomes, by the kind of shader."""

HEADS = {
    "vertex": "#version 300 es\nprecision highp float; precision highp int; precision highp sampler2D;\n",
    "fragment": "#version 300 es\nprecision highp float; precision highp int; precision highp sampler2D;\n"
    "out vec4 o_colour;\n",
}
"""What stands before the text: the first line has to be the version."""

_VERSION = re.compile(r"^[ \t]*#version[ \t]+120[ \t]*\n", re.MULTILINE)
_COMMENT = re.compile(r"[ \t]*(?://[^\n]*|/\*.*?\*/)", re.DOTALL)
# of GLSL 1.20 (specification, chapters 3, 4, 7 and 8), what ES 3.00 does not have or has under another name
_GONE = re.compile(
    r"\b(?:attribute|varying|(?:texture|shadow)[123]D\w*|textureCube\w*|ftransform|noise[1234]|"
    r"gl_(?:FragColor|FragData|Vertex|Normal|Color|SecondaryColor|MultiTexCoord\d|FogCoord|ClipVertex|FrontColor|"
    r"BackColor|FrontSecondaryColor|BackSecondaryColor|TexCoord|FogFragCoord|ModelView\w*|Projection\w*|NormalMatrix|"
    r"NormalScale|TextureMatrix\w*|DepthRangeParameters|Clip\w*|Point|Light\w*|Front\w*Material|Back\w*Material|Fog))\b"
    r"|^[ \t]*#version\b",
    re.MULTILINE,
)


def bare(text: str) -> str:
    """A shader without comments, indentation and empty lines; what it computes stays."""
    lines = (re.sub(r"[ \t]+", " ", line).strip() for line in _COMMENT.sub("", text).splitlines())
    return "\n".join(filter(None, lines)) + "\n"


def translated(text: str, kind: Kind) -> str:
    """A shader, or a part of one, in the words of ES 3.00, without the head.

    Parameters
    ----------
    text : str
        GLSL 1.20; preprocessor lines are kept.
    kind : {"vertex", "fragment"}

    Raises
    ------
    UnknownNameError
        Another kind.
    InputError
        A word that ES 3.00 lacks and no rule knows.
    """
    if kind not in RULES:
        raise UnknownNameError(f"kind of shader {shown(kind)} is not known; allowed: {listing(RULES)}")
    found = bare(_VERSION.sub("", text))
    for pattern, word in RULES[kind]:
        found = re.sub(pattern, word, found)
    left = _GONE.search(found)
    if left:
        raise InputError(
            f"es300: {shown(left[0].strip())} of GLSL 1.20 has no rule in a {kind} shader; "
            f"write it without, or add a rule to {__name__}"
        )
    return found


def es300(text: str, kind: Kind) -> str:
    """A whole shader in GLSL ES 3.00, as WebGL 2 compiles it; see :func:`translated`."""
    return HEADS[kind] + translated(text, kind) if kind in HEADS else translated(text, kind)


def pair(vertex: str, fragment: str) -> tuple[str, str]:
    """Both shaders of a program: ``pair(*glsl.program("tray"))``."""
    return es300(vertex, "vertex"), es300(fragment, "fragment")


# ---- Where the cubes stand in a browser: the window's arrangement without its panels, which a page has around it.

Floats = NDArray[np.float64]
_ABOVE, _BELOW = 12.0, 16.0  # of the window's margin of 24
_LITTLE = 4.0


@dataclass(frozen=True, slots=True)
class Laid:
    """A layout and the boxes around it.

    Attributes
    ----------
    layout : Layout
        Whose camera shows everything.
    places : Places
        The scene, and the strip of the legends below it.
    ratio : ndarray, shape (2,)
        The camera's pixels in a logical one: the camera counts in whole pixels.
    """

    layout: Layout
    places: Places
    ratio: Floats

    def project(self, xyz: ArrayLike) -> Floats:
        """World points (N, 3) as logical pixels (N, 2)."""
        return np.asarray(self.layout.camera.project(xyz) / self.ratio)


def _nearer(places: Places) -> Places:
    """With the scene and the legends nearer to the edges: a page has margins of its own."""
    x, y, width, height = places.scene
    if places.strip is None:  # nothing stands below
        return replace(places, scene=(x, _LITTLE, width, max(places.size[1] - 2 * _LITTLE, 1.0)))
    strip = (places.strip[0], places.strip[1] + _BELOW, *places.strip[2:])
    return replace(places, scene=(x, y - _ABOVE, width, height + _ABOVE + _BELOW), strip=strip)


def laid_out(
    subject: Subject, size: tuple[int, int], theme: Theme, *, strip: bool = True, turned: bool = False
) -> Laid:
    """Plates, camera and boxes for a picture of `size` pixels, with or without a strip of legends below the cubes.

    The flow turns at each layer where a panel of the subject asks for it, or where it is to be `turned`.

    Raises
    ------
    InputError
        A size that is none, or nothing to draw.
    """
    places = _nearer(arrange(check_size(size), hud=False, strip=strip, presenter=theme.presenter))
    camera_size = (round(places.size[0]), round(places.size[1]))
    ratio = np.array(camera_size) / places.size
    x, y, width, height = cubes_box(subject, places.scene)
    rect = (x * ratio[0], y * ratio[1], (x + width) * ratio[0], (y + height) * ratio[1])
    turns = SidePanels(subject, theme).turns(width, height, rows=True) or (Turns(0.0, True) if turned else None)
    return Laid(layout_for(subject.tensors, subject.stages, camera_size, rect, subject.plan, turns), places, ratio)
