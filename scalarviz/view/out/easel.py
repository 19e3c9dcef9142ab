"""`Easel`: the picture of anything that has cubes: pixels, a file, SVG, or a description in words."""

from __future__ import annotations

import os
from collections.abc import Callable
from math import isnan
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ...io import save_picture, write_bytes
from ...io.atomic import as_path
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
from ..ink.figure import picture_svg
from ..ink.painter import Viewport
from ..ink.sketch import Box, Sketch
from ..ink.text import loss_text
from ..ink.theme import Theme
from ..micro.step_view import MicroStepView
from ..panels.drawer import loss_words
from ..shown.subject import Subject, at_step
from ..workbench import Workbench
from .files import SVG
from .offscreen import offscreen

Pixels = NDArray[np.uint8]
FINE = 2
"""Pixels of an embedded image per pixel of the picture."""


class Easel:
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
        told = self.bench.side.ground.notes
        for line in told:
            self._tell(line)
        told.clear()

    def picture(self, words: str = "", seconds: float | None = None, frame: Frame | None = None) -> Pixels:
        """Take over a frame; return its picture, uint8 (H, W, 3)."""
        self.update(words, seconds, frame)
        return self._screen.render(self.bench.draw, self.size, supersample=self._fine)

    def close_up(self, size: tuple[int, int], seconds: float | None = None, frame: Frame | None = None) -> Pixels:
        """Return the cubes alone, without words, so near that they fill a picture of `size`: uint8 (H, W, 3)."""
        with self._screen:
            self.bench.show_panels(False)
        self.update("", seconds, frame)
        whole, (x, y, wide, high) = self.bench.places.size, _filling(self.bench, size[0] / size[1])

        def draw(viewport: Viewport) -> None:
            left, bottom, across, _ = (0, 0, *viewport) if len(viewport) == 2 else viewport
            near = across / wide
            left, bottom = round(left - near * x), round(bottom - near * (whole[1] - y - high))
            self.bench.draw_below((left, bottom, round(near * whole[0]), round(near * whole[1])))

        return self._screen.render(draw, size, supersample=2)

    def smooth_picture(self, words: str, step: int | None = None) -> Pixels:
        """Return a picture drawn at twice the size and averaged, for smooth edges, of the present step or `step`."""
        self._fine = 2 if 2 * max(self.size) <= self._screen.longest else 1
        with self._screen:
            self.bench.resize(self.size, supersample=self._fine)
        with at_step(self.bench.subject.source, step):
            return self.picture(words)

    def write(self, path: str | os.PathLike[str], words: str, step: int | None = None) -> Path:
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


FEW, NEAR = 200, 0.65
"""Up to `FEW` weights a close-up has the whole width, beyond that a share `NEAR` with most cubes."""


def _filling(bench: Workbench, aspect: float) -> Box:
    """Return the part of a picture (logical pixels), of the given aspect, that its weights fill."""
    plates = [plate for plate in bench.layout.plates if plate.kind != "activation"]
    corners = bench.project(np.concatenate([plate.corners for plate in plates]))
    low, high = corners.min(0), corners.max(0)
    tops = bench.project(np.concatenate([plate.tops for plate in plates]))
    wide, middle = max((high - low) * (NEAR if len(tops) > FEW else 1.04, NEAR * aspect)), (low + high) / 2
    if len(tops) > FEW:
        size, tried = np.array([wide, wide / aspect]), tops[:: len(tops) // FEW]
        middle = max(tried, key=lambda at: int((2 * abs(tops - at) < size).all(1).sum()))
    return float(middle[0] - wide / 2), float(middle[1] - wide / aspect / 2), float(wide), float(wide / aspect)


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
