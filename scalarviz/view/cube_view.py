"""`CubeView`: cubes with their numbers, ranges and legends. A picture of a run has one, a comparison has three."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..run.core.frame import Frame
from ..run.source import Source
from .cubes.atlas import NOT_COMPUTED, Sizing
from .cubes.looks import LOOKS
from .cubes.scale import ActivationScale, Coloring, Float, Quantity
from .cubes.slab import SlabVisual
from .ink.boxes import Places
from .ink.painter import Painter, Viewport, clipped, gloo
from .ink.sketch import Box, Point, Sketch
from .ink.theme import Theme
from .screen.strip import Strip
from .shown.subject import Subject
from .space.camera import Camera
from .space.layout import Layout


class CubeView:
    """The cubes of one frame with their labels, drawn `aside` logical pixels from their place in the layout."""

    aside: Point = (0.0, 0.0)

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
        self.sketches: Sequence[Sketch] = ()  # of its own column; the last one uses the picture's

    def lay_out(self, layout: Layout, places: Places, density: float, *, single: bool, legends: bool) -> None:
        """Create what depends on the layout. `single`: one small layer; `legends`: with legends of rows."""
        self.slab = SlabVisual(layout, self._theme, self.colouring.cmap, self.activations.cmap)
        self.rows = any(plate.kind == "activation" for plate in layout.plates)
        self.strip = Strip(self._subject, self._theme, self.colouring, self.activations, rows=self.rows and legends,
                           single=single, density=density)  # fmt: skip
        self._places, self._painter = places, Painter(places.size, density)

    def change(self, theme: Theme, quantity: str, cmap: str, sizing: Sizing) -> None:
        """Change the look. Errors are those of :meth:`Coloring.change`; nothing is changed then."""
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
        """Take over a frame; return whether looks given by hand changed.

        `whole` are the numbers that set the range of the cubes, and `rows` is the frame that sets the range of the
        rows.
        """
        self.colouring.update(frame, seconds, whole)
        self.activations.update(rows, seconds)
        self.slab.sizing = sizing
        return hand_over(self.slab, frame, self.colouring, self.activations, self._subject.source, rows=self.rows)

    def draw(self, camera: Camera, window: Box, viewport: Viewport) -> None:
        """Paint the cubes inside `window`, and in a column of its own also its labels."""
        own, (across, down), size = viewport, self.aside, self._places.size
        if across or down:
            x, y, wide, high = (0, 0, *viewport) if len(viewport) == 2 else viewport
            own = (x + round(across * wide / size[0]), y - round(down * high / size[1]), wide, high)
        with clipped(window, self._places.size, own):
            self.slab.draw(camera, viewport=own)
            if self.sketches:
                gloo.set_state(scissor_test=True)
                self._painter.draw(self.sketches)


def hand_over(
    slab: SlabVisual, frame: Frame, colouring: Coloring, activations: ActivationScale, source: Source, *, rows: bool
) -> bool:
    """Give the cubes a frame's numbers, ranges, marks and looks given by hand; return whether these looks changed.

    `rows`: whether rows of activations are drawn.
    """
    version = LOOKS.version
    changed = slab.set_looks(LOOKS.looks_of(source), version)
    slab.atlas.set_flat(colouring.drawn)
    slab.set_range(colouring.range)
    missing = colouring.missing(frame) if colouring.quantity != "weight" and not colouring.opened else None
    # `dead` costs a forward pass; inside an opened step a zero may still change.
    dead = frame.dead if activations.rectified and not colouring.opened else None
    slab.set_flags(frozen=frame.frozen, not_computed=missing, dead=dead)
    if rows:
        if source.recorded:
            unknown = [plate for plate in slab.layout.plates if plate.name not in frame.activations]
            slab.mark_rows(NOT_COMPUTED, {plate.name: np.ones(plate.size, bool) for plate in unknown})
        slab.set_activations(frame.activations)
        slab.set_activation_range(activations.range.low, activations.range.high, activations.own)
    return changed
