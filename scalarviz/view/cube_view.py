"""`CubeView`: cubes with their numbers, ranges and legends. A picture of a run has one, a comparison has three."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..run.core.frame import Frame
from ..run.source import Source
from .cubes.atlas import Sizing
from .cubes.own import LOOKS
from .cubes.scale import ActivationScale, Coloring, Float, Quantity
from .cubes.slab import SlabVisual
from .ink.boxes import Places
from .ink.painter import Painter, Viewport, clipped, gloo
from .ink.sketch import Box, Sketch
from .ink.theme import Theme
from .screen.strip import Strip
from .shown.subject import Subject
from .space.camera import Camera
from .space.layout import Layout


class CubeView:
    """The cubes of one frame, `left` logical pixels left of where the layout has them, and what is written on them."""

    left = 0.0

    def __init__(
        self,
        subject: Subject,
        theme: Theme,
        quantity: str | Quantity,
        cmap: str,
        *,
        fixed: str = "",
        activations: ActivationScale | None = None,
    ) -> None:
        self._subject, self._fixed, self._theme = subject, fixed, theme
        self.colouring = Coloring(subject.tensors, theme, quantity, fixed or cmap or None,
                                  lambda: subject.source.moments)  # fmt: skip
        self.colouring.recorded = subject.source.recorded
        if not subject.stages:
            self.colouring.scope = "all numbers"
        self.activations = activations or ActivationScale(subject.stages, theme, sheet=subject.sample.sheet)
        self.sketches: Sequence[Sketch] = ()  # of a column of its own; those of the last one are the picture's

    def stand(self, layout: Layout, places: Places, density: float, *, single: bool, legends: bool) -> None:
        """What depends on the layout: `single` is one small layer, `legends` those of rows beside that of the cubes."""
        self.slab = SlabVisual(layout, self._theme, self.colouring.cmap, self.activations.cmap)
        self.rows = any(plate.kind == "activation" for plate in layout.plates)
        self.strip = Strip(self._subject, self._theme, self.colouring, self.activations, rows=self.rows and legends,
                           single=single, density=density)  # fmt: skip
        self._places, self._painter = places, Painter(places.size, density)

    def change(self, theme: Theme, quantity: str, cmap: str, sizing: Sizing) -> None:
        """Another look; errors as of :meth:`Coloring.change`, and nothing is changed then."""
        self.colouring.change(theme, quantity, self._fixed or cmap or None)
        self.activations.change(theme)
        if theme is not self._theme:
            self._theme = theme
            self.slab.set_theme(theme)
        self.slab.set_colours(self.colouring.cmap, self.activations.cmap)
        self.strip.sizing = sizing
        self.strip.change(theme)

    def refit(self) -> None:
        """Fit the ranges of the colours to the next frame."""
        self.colouring.refit()
        self.activations.refit()

    def update(self, frame: Frame, seconds: float | None, sizing: Sizing, whole: Float | None, rows: Frame) -> bool:
        """Take over a frame; `whole` are numbers and `rows` a frame whose ranges its numbers and rows have.

        Returns whether looks given by hand changed.
        """
        self.colouring.update(frame, seconds, whole)
        self.activations.update(rows, seconds)
        self.slab.sizing = sizing
        return hand_over(self.slab, frame, self.colouring, self.activations, self._subject.source, rows=self.rows)

    def draw(self, camera: Camera, window: Box, viewport: Viewport) -> None:
        """Paint the cubes, and in a column of its own what is written there, inside `window`."""
        x, y, wide, high = (0, 0, *viewport) if len(viewport) == 2 else viewport
        own = (x - round(self.left * wide / self._places.size[0]), y, wide, high) if self.left else viewport
        with clipped(window, self._places.size, own):
            self.slab.draw(camera, viewport=own)
            if self.sketches:
                gloo.set_state(scissor_test=True)
                self._painter.draw(self.sketches)


def hand_over(
    slab: SlabVisual, frame: Frame, colouring: Coloring, activations: ActivationScale, source: Source, *, rows: bool
) -> bool:
    """Give cubes a frame's numbers, ranges, marks, and looks given by hand; returns whether these changed.

    `rows`: whether rows of activations are drawn.
    """
    version = LOOKS.version
    changed = slab.set_own(LOOKS.of(source), version)
    slab.set_flat(colouring.drawn)
    slab.set_range(colouring.range)
    missing = colouring.missing(frame) if colouring.quantity != "weight" else None
    dead = frame.dead if activations.rectified else None  # they are found out by a forward pass, if asked
    slab.set_flags(frozen=frame.frozen, not_computed=missing, dead=dead)
    if rows:
        if source.recorded:
            unknown = [plate for plate in slab.layout.plates if plate.name not in frame.activations]
            slab.set_rows_missing({plate.name: np.ones(plate.size, bool) for plate in unknown})
        slab.set_activations(frame.activations)
        slab.set_activation_range(activations.range.low, activations.range.high, activations.own)
    return changed
