"""`Canvas`: the picture of anything that has cubes: pixels, a file, SVG, or a description in words."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from math import isnan
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ...io import save_picture, write_bytes
from ...io.atomic import StrPath, as_path
from ...nn import Module
from ...run.core.frame import Frame
from ...run.run import Run
from ...run.scene.scene import Scene
from ...run.sources.played import Played
from ...run.sources.recording.recorded import Recorded
from ...run.sources.watched import Watched
from ...sweep.groups import ALL, StoredResults
from ..cubes.atlas import ALL_ALIKE, Sizing
from ..cubes.picking import can_be_outlined, outlined
from ..ink.boxes import Places
from ..ink.figure import picture_svg
from ..ink.painter import Viewport
from ..ink.sketch import Box, Sketch
from ..ink.text import loss_text
from ..ink.theme import Theme
from ..micro.step_view import MicroStepView
from ..notes.scenery import face_room
from ..panels.drawer import loss_words
from ..shown.subject import Subject, at_step
from ..workbench import Workbench
from .files import SVG
from .offscreen import offscreen

Pixels = NDArray[np.uint8]
FINE = 2
"""Pixels of an embedded image per pixel of the picture."""


class Canvas:
    """An offscreen workbench; `tell` gets a line about each panel that a scene's own function failed to paint."""

    def __init__(
        self, x: object, size: tuple[int, int], theme: str | Theme, cmap: str | None = None, quantity: str = "weight",
        *, sizing: Sizing = ALL_ALIKE, supersample: int = 1, tell: Callable[[str], object] = lambda line: None,
        name: str = "weights",
    ) -> None:  # fmt: skip
        self._screen, self.size, self._fine, self._tell, self._name = offscreen(), size, supersample, tell, name
        with self._screen:
            self.bench = Workbench(x, size, theme, cmap, quantity, sizing=sizing, supersample=supersample)

    def update(self, words: str, seconds: float | None = None, frame: Frame | None = None) -> None:
        """Take over a frame, by default the present one, `seconds` after the last one (None: exactly)."""
        with self._screen:
            self.bench.update(frame or self.bench.subject.frame(), words, seconds)
        told = self.bench.side.shared.notes
        for line in told:
            self._tell(line)
        told.clear()

    def picture(self, words: str = "", seconds: float | None = None, frame: Frame | None = None) -> Pixels:
        """Take over a frame; return its picture, uint8 (H, W, 3)."""
        self.update(words, seconds, frame)
        return self.draw()

    def draw(self) -> Pixels:
        """Return the picture of what was taken over."""
        return self._screen.render(self.bench.draw, self.size, supersample=self._fine)

    def tile(self, size: tuple[int, int], seconds: float | None = None, frame: Frame | None = None) -> Pixels:
        """Return the cubes without names, and beside them what they learnt, in a picture of `size`: uint8 (H, W, 3)."""
        bench = self.bench
        if bench.size != size:
            scale = size[1] / TILE
            half, high = size[0] / scale / 2, TILE - 2 * EDGE
            name = learnt_panel(bench)
            above, below = bench.side.drawers[name].frame if name else (0.0, 0.0)
            room = (half + EDGE / 2, EDGE - above, half - 1.5 * EDGE, high + above + below)
            panels = {name: room} if name else {}
            scene = (EDGE, EDGE, (half if panels else 2 * half) - 1.5 * EDGE, high)
            places = Places((2 * half, TILE), scale, scene=scene, hud=None, strip=None, panels=panels)
            with self._screen:
                bench.resize(size)
                bench.stage(places, named=False)
        self.update("", seconds, frame)
        plates = [plate for plate in bench.layout.plates if plate.kind != "activation"]
        large = min(min(face_room(plate, bench.project)) for plate in plates) >= NUMBERED
        sketches = [*(bench.parts["cubes"] if large else ()), *map(_whole, bench.parts["beside"])]

        def draw(viewport: Viewport) -> None:
            bench.draw_below(viewport)
            bench.painter.draw(sketches)

        return self._screen.render(draw, size)

    def smooth_picture(self, words: str, step: int | None = None) -> Pixels:
        """Return a picture drawn at twice the size and averaged, for smooth edges, of the present step or `step`."""
        self._fine = 2 if 2 * max(self.size) <= self._screen.longest else 1
        with self._screen:
            self.bench.resize(self.size, supersample=self._fine)
        with at_step(self.bench.subject.source, step):
            return self.picture(words)

    def write(self, path: StrPath, words: str, step: int | None = None) -> Path:
        """Write the picture of the present step or `step`, in the format of the suffix."""
        if as_path(path).suffix.lower() != SVG:
            save_picture(path, self.smooth_picture(words, step))
            return Path(path)
        subject = self.bench.subject
        with self._screen, at_step(subject.source, step):
            self.update(words)
            title = words_of(self._name, subject, subject.frame())
            write_bytes(path, svg_of_bench(self.bench, title).encode())
        return Path(path)


def _whole(sketch: Sketch) -> Sketch:
    """Return a sketch without the texts that a tile would cut."""
    own = copy(sketch)
    own.texts = [text for text in sketch.texts if text.size <= text.y <= TILE - 0.3 * text.size]
    return own


def learnt_panel(bench: Workbench) -> str:
    """Return the name of the panel that shows what is learnt: at the network's end, or the worthiest; empty: none."""
    own = {name: drawer for name, drawer in bench.side.drawers.items() if drawer.panel.place == "column"}
    return max(own, key=lambda name: (own[name].ends or (0.0, 0.0), own[name].worth), default="")


TILE, EDGE, NUMBERED = 146.0, 8.0, 34.0
"""Logical pixels of a tile: its height, the air in it, and the least face of a cube with a number."""


def svg_of_bench(bench: Workbench, title: str = "") -> str:
    """Return the picture as SVG text, with real letters, lines and cubes.

    With more than 5,000 cubes, cubes with marks or looks given by hand, or several networks side by side, everything
    below the texts is an embedded image.
    """
    size = bench.places.size
    below: tuple[list[Sketch], Box | None]
    if bench.compared is None and can_be_outlined(bench.slab):
        below = [outlined(bench.slab, bench.camera, bench.project)], bench.window
    else:
        sketch, pixels = Sketch(), (round(FINE * size[0]), round(FINE * size[1]))
        sketch.image((0.0, 0.0, *size), np.asarray(offscreen().render(bench.draw_below, pixels)))
        below = [sketch], None
    layers = [below, *((part, None) for part in (bench.sketches, *bench.overlays) if part)]
    return picture_svg(size, bench.ground, layers, title, bench.size)


# ---- Descriptions: the name, the step, and what the cubes show.


def title_of(x: object) -> str:
    """Return the name of a thing that has cubes: a scene's or recording's name, or a module's class."""
    if isinstance(x, StoredResults):
        return ALL
    x = x.source if isinstance(x, Subject) else x
    if isinstance(x, Recorded):
        return x.about.name
    if isinstance(x, Scene | Played | Watched):
        return x.name
    return type(x).__name__.lower() if isinstance(x, Module | Run) else "weights"


def words_of(
    name: str, subject: Subject, frame: Frame, *, shows: str = "weight", micro_step: MicroStepView | None = None
) -> str:
    """Return the description of a picture: ``"rgb, step 300, loss 0.0123: 15 numbers as cubes"``.

    `micro_step` is the micro-step that is shown after that moment.
    """
    count = len(frame.values)
    cubes = "1 number as a cube" if count == 1 else f"{count:,} numbers as cubes"
    if micro_step is not None:
        said = micro_step.sentence
        formula = "".join(word.text for word in said.formulas[0].numbers) if said.formulas else said.meaning
        place = f"inside step {micro_step.step:,}, micro-step {micro_step.position} of {micro_step.count}"
        return (
            f"{name}, {place} ({micro_step.phases[micro_step.phase].name}), {said.name} {formula}".rstrip()
            + f": {cubes}. {said.caption.text}"
        )
    step = f", step {frame.step:,}" if subject.source.counted else ""
    if step and (frame.step or not isnan(subject.loss(frame))):
        step += f", loss {loss_text(subject.loss(frame))} {loss_words(subject, frame)}".rstrip()
    return f"{name}{step}: {cubes}" + (f", coloured by {shows}" if shows != "weight" else "")
