"""The panels beside the cubes: pictures, colour cubes, loss curve. What the network makes of its data, every frame."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..run.frame import Frame
from .grid import Box
from .panel_colours import CubePlaces, colours_discs, colours_title, cube_boxes, displayed
from .panel_loss import Curve, loss_panel
from .panel_pictures import pictures, thumbnail, to_bytes
from .sketch import Sketch
from .subject import Subject
from .theme import Theme

Which = Literal["source", "target"]
RGB = tuple[float, float, float]
Ring = tuple[float, float, float]
"""Centre and diameter."""
_TEST_SHARE = 1 / 200  # the dashed curve gets a new point when the run is this much longer


class Disc(NamedTuple):
    """One disc of a colour cube.

    Attributes
    ----------
    which : {"source", "target"}
        Whether it is painted with what the network makes of `source`, or with `target`.
    source, target : (r, g, b)
        Its place in the cube, and what that colour is to become.
    ring : (x, y, diameter)
        Logical pixels.
    """

    which: Which
    source: RGB
    target: RGB
    ring: Ring


def _rgb(colour: NDArray[np.floating]) -> RGB:
    r, g, b = (float(c) for c in colour)
    return r, g, b


class SidePanels:
    """The panels of one subject; `place` says where, `update` draws them for a frame."""

    def __init__(self, subject: Subject, theme: Theme) -> None:
        self._subject, self._theme = subject, theme
        self._boxes: Mapping[str, Box] = {}
        self._test_steps: list[int] = []
        self._test_losses: list[float] = []
        self._drawn: dict[str, tuple[object, Sketch]] = {}
        if subject.pictures is not None:
            self._source = thumbnail(subject.pictures.source)
            self._shown = to_bytes(self._source), to_bytes(thumbnail(subject.pictures.target))

    def place(self, boxes: Mapping[str, Box]) -> None:
        """Put the panels into `boxes`; those that have none are left out."""
        self._boxes = boxes
        self._drawn.clear()
        self._static: list[Sketch] = []
        self._cubes: dict[Which, CubePlaces] = {}
        cube = self._subject.colour_cube
        if cube is not None and "colours" in boxes:
            near, far = (CubePlaces(cube.inputs, box) for box in cube_boxes(boxes["colours"]))
            self._cube = near
            self._cubes = {"source": near, "target": far}
            self._cube_inputs = np.asarray(cube.inputs)[near.visible]
            self._static.append(colours_title(boxes["colours"], self._theme, len(cube.inputs), (near, far)))
            self._static.append(colours_discs(far, np.asarray(cube.targets)[far.visible]))

    def change(self, theme: Theme) -> None:
        """Another look; the measured curves stay."""
        self._theme = theme
        self.place(self._boxes)

    def targets_changed(self) -> None:
        """The scene's targets of the colour cube were changed in place: paint them anew."""
        cube = self._subject.colour_cube
        if cube is not None and "target" in self._cubes:
            far = self._cubes["target"]
            self._static[-1] = colours_discs(far, np.asarray(cube.targets)[far.visible])

    def disc_at(self, x: float, y: float) -> Disc | None:
        """The disc of a colour cube that is seen at a point (logical pixels); None beside them."""
        cube = self._subject.colour_cube
        for which, places in self._cubes.items():
            disc = places.disc_at(x, y)
            if disc is not None and cube is not None:
                row = int(places.visible[disc])
                middle = places.centres[disc]
                source, target = (_rgb(np.asarray(colours)[row]) for colours in (cube.inputs, cube.targets))
                return Disc(which, source, target, (float(middle[0]), float(middle[1]), places.diameter))
        return None

    def output_of(self, colour: RGB, frame: Frame) -> RGB:
        """What the network makes of a colour."""
        return _rgb(displayed(self._predict(frame, np.array([colour])))[0])

    def rings(self, rgb: RGB) -> list[Ring]:
        """Centre and diameter of the disc of the input colour nearest to `rgb`, in each cube where it is seen."""
        cube = self._subject.colour_cube
        found = []
        for places in self._cubes.values():
            if cube is not None and len(places.visible):
                away = np.square(np.asarray(cube.inputs, float)[places.visible] - np.asarray(rgb)).sum(axis=1)
                x, y = places.centres[int(np.argmin(away))]
                found.append((float(x), float(y), places.diameter))
        return found

    def update(self, frame: Frame) -> list[Sketch]:
        """Sketches of this frame; a panel whose numbers are the same as last time keeps its sketch."""
        self._extend_test(frame)
        sketches = list(self._static)
        for name, draw in (("pictures", self._pictures), ("colours", self._colours), ("loss", self._loss)):
            if name in self._boxes:
                known = self._drawn.get(name)
                if known is None or known[0] is not frame:
                    self._drawn[name] = (frame, draw(frame))
                sketches.append(self._drawn[name][1])
        return sketches

    def _predict(self, frame: Frame, inputs: NDArray[np.floating]) -> NDArray[np.floating]:
        assert self._subject.run is not None  # pictures and colours come with a run
        return np.asarray(self._subject.run.predict(inputs, frame.values))

    def _pictures(self, frame: Frame) -> Sketch:
        assert self._subject.pictures is not None
        high, wide = self._source.shape[:2]
        made = to_bytes(self._predict(frame, self._source.reshape(-1, 3)).reshape(high, wide, -1))
        source, target = self._shown
        return pictures(self._boxes["pictures"], self._theme, (source, made, target), self._subject.pictures.label)

    def _colours(self, frame: Frame) -> Sketch:
        return colours_discs(self._cube, self._predict(frame, self._cube_inputs))

    def _loss(self, frame: Frame) -> Sketch:
        curves = [Curve(self._subject.curve_label, frame.curve.step, frame.curve.loss)]
        if self._subject.test is not None and len(self._test_steps) > 1:
            steps, losses = np.array(self._test_steps), np.array(self._test_losses)
            curves.append(Curve(self._subject.test.label, steps, losses, dashed=True))
        return loss_panel(self._boxes["loss"], self._theme, curves)

    def _extend_test(self, frame: Frame) -> None:
        """Measure the dashed curve, thinned as the run grows; a frame before its end cuts it there."""
        test, run = self._subject.test, self._subject.run
        if test is None or run is None or "loss" not in self._boxes:
            return
        while self._test_steps and self._test_steps[-1] > frame.step:
            self._test_steps.pop()
            self._test_losses.pop()
        if not self._test_steps or frame.step - self._test_steps[-1] >= max(1.0, frame.step * _TEST_SHARE):
            self._test_steps.append(frame.step)
            self._test_losses.append(float(run.evaluate(test.inputs, test.targets, frame.values)))
