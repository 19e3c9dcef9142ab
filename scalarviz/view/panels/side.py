"""The panels beside the cubes: pictures, colour cubes, loss curve. What the network makes of its data, every frame."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...run.frame import Frame
from ..draw.maps import displayed
from ..draw.places import Box
from ..draw.sketch import Sketch
from ..draw.theme import Theme
from ..shown.subject import Subject
from .colours import FITTED, CubePlaces, Turn, colours_discs, colours_title, cube_boxes, turned
from .digit import field_box, probe_panel
from .digits import DigitColumns
from .loss import LossCurve, loss_panel
from .moments import BEFORE
from .pictures import pictures, thumbnail, to_bytes

Which = Literal["source", "target"]
RGB = tuple[float, float, float]
Ring = tuple[float, float, float]
"""Centre and diameter."""
_TEST_SHARE = 1 / 200  # the dashed curve gets a new point when the run is this much longer
_ACCURACY_SECONDS = 0.25  # how often a window measures the share read rightly, and at rest; a film in every frame


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
    """The panels of one subject; `place` says where, `update` draws them for a frame.

    Attributes
    ----------
    columns : DigitColumns or None
        The board of digits.
    """

    def __init__(self, subject: Subject, theme: Theme, *, hints: bool = False) -> None:
        self._subject, self._theme = subject, theme
        self._boxes: Mapping[str, Box] = {}
        self._test_steps: list[int] = []
        self._test_losses: list[float] = []
        self._drawn: dict[str, tuple[object, Sketch]] = {}
        self._accuracies: list[float] = []
        self._measured: Frame | None = None
        self._waited = float("inf")
        self._read: tuple[Frame, NDArray[np.integer]] | None = None
        self._hints, self._late = hints, False
        self._turn: Turn = FITTED
        self._pause = _ACCURACY_SECONDS if hints else 0.0
        self.columns = None if subject.digits is None else DigitColumns(subject.digits, theme)
        if subject.pictures is not None:
            self._source = thumbnail(subject.pictures.source)
            self._shown = to_bytes(self._source), to_bytes(thumbnail(subject.pictures.target))

    def place(self, boxes: Mapping[str, Box]) -> None:
        """Put the panels into `boxes`; those that have none are left out."""
        self._boxes = boxes
        self._drawn.clear()
        self._static: list[Sketch] = []
        self._cubes: dict[Which, CubePlaces] = {}
        if self.columns is not None and "digits" in boxes:
            self.columns.place(boxes["digits"])
        if self._subject.pad is not None:
            self._subject.pad.box = field_box(boxes["probe"]) if "probe" in boxes else None
        cube = self._subject.colour_cube
        if cube is not None and "colours" in boxes:
            near, far = (CubePlaces(cube.inputs, box, self._turn) for box in cube_boxes(boxes["colours"]))
            self._cube = near
            self._cubes = {"source": near, "target": far}
            self._cube_inputs = np.asarray(cube.inputs)[near.visible]
            self._static.append(colours_title(boxes["colours"], self._theme, len(cube.inputs), (near, far)))
            self._static.append(colours_discs(far, np.asarray(cube.targets)[far.visible]))

    def change(self, theme: Theme) -> None:
        """Another look; the measured curves stay."""
        self._theme = theme
        if self.columns is not None:
            self.columns.change(theme)
        self.place(self._boxes)

    def targets_changed(self) -> None:
        """The scene's targets of the colour cube were changed in place: paint them anew."""
        cube = self._subject.colour_cube
        if cube is not None and "target" in self._cubes:
            far = self._cubes["target"]
            self._static[-1] = colours_discs(far, np.asarray(cube.targets)[far.visible])

    def cube_at(self, x: float, y: float) -> bool:
        """Whether a point (logical pixels) is on a colour cube or close beside it."""
        return bool(self._cubes) and any(
            left <= x < left + width and top <= y < top + height
            for left, top, width, height in cube_boxes(self._boxes["colours"])
        )

    def turn_cube(self, dx: float, dy: float) -> None:
        """Both colour cubes turn by a drag of logical pixels."""
        self._turn = turned(self._turn, dx, dy)
        self.place(self._boxes)

    def fit_cube(self) -> None:
        """The colour cubes as they were at first."""
        if self._turn != FITTED:
            self._turn = FITTED
            self.place(self._boxes)

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

    @property
    def moving(self) -> bool:
        """Whether a digit is on its way to another column, or the accuracy is older than the cubes."""
        return self._late or (self.columns is not None and "digits" in self._boxes and self.columns.moving)

    @property
    def accuracy(self) -> float | None:
        """Share of the test's samples read rightly, when last measured."""
        return self._accuracies[-1] if self._accuracies else None

    def update(self, frame: Frame, seconds: float | None = None) -> list[Sketch]:
        """Sketches of this frame; a panel whose numbers are the same as last time keeps its sketch."""
        self._waited += float("inf") if seconds is None else seconds
        self._extend_test(frame)
        sketches = list(self._static)
        panels = {"pictures": self._pictures, "colours": self._colours, "probe": self._probe, "loss": self._loss}
        for name, draw in panels.items():
            if name in self._boxes:
                known = self._drawn.get(name)
                touched = name == "probe" and self._subject.pad is not None and self._subject.pad.touched()
                if known is None or known[0] is not frame or touched:
                    self._drawn[name] = (frame, draw(frame))
                sketches.append(self._drawn[name][1])
        if self.columns is not None and "digits" in self._boxes:
            sketches.append(self._digits(self.columns, frame, seconds))
        return sketches

    def _digits(self, columns: DigitColumns, frame: Frame, seconds: float | None) -> Sketch:
        known = self._drawn.get("digits")
        if known is not None and known[0] is frame and not columns.moving:
            return known[1]
        if self._read is None or self._read[0] is not frame:
            self._read = frame, np.argmax(self._predict(frame, columns.inputs), axis=1)
        columns.update(self._read[1], seconds)
        sketch = columns.sketch()
        self._drawn["digits"] = frame, sketch
        return sketch

    def _probe(self, frame: Frame) -> Sketch:
        pad, names = self._subject.pad, self._subject.sample.outputs
        logits = frame.activations.get(self._subject.stages[-1].name) if self._subject.stages else None
        if pad is None or logits is None:
            return Sketch()
        return probe_panel(
            self._boxes["probe"],
            self._theme,
            pad.pixels,
            logits,
            names=names,
            title=pad.title,
            truth=pad.truth,
            hint=pad.hint if self._hints else "",
            active=pad.active and self._hints,
        )

    def _predict(self, frame: Frame, inputs: NDArray[np.floating]) -> NDArray[np.floating]:
        return np.asarray(self._subject.source.predict(inputs, frame.values))

    def _pictures(self, frame: Frame) -> Sketch:
        assert self._subject.pictures is not None
        high, wide = self._source.shape[:2]
        made = to_bytes(self._predict(frame, self._source.reshape(-1, 3)).reshape(high, wide, -1))
        source, target = self._shown
        return pictures(self._boxes["pictures"], self._theme, (source, made, target), self._subject.pictures.label)

    def _colours(self, frame: Frame) -> Sketch:
        return colours_discs(self._cube, self._predict(frame, self._cube_inputs))

    def _loss(self, frame: Frame) -> Sketch:
        curves = [LossCurve(self._subject.curve_label, frame.curve.step, frame.curve.loss)]
        if self._subject.test is not None and len(self._test_steps) > 1:
            steps, losses = np.array(self._test_steps), np.array(self._test_losses)
            curves.append(LossCurve(self._subject.test.label, steps, losses, dashed=True))
        note = "" if self.accuracy is None else f"test accuracy {100 * self.accuracy:.1f} %"
        return loss_panel(self._boxes["loss"], self._theme, curves, note, BEFORE if frame.edited else "")

    def _extend_test(self, frame: Frame) -> None:
        """Measure the dashed curve, thinned as the run grows; a frame before its end cuts it there."""
        test, source, steps = self._subject.test, self._subject.source, self._test_steps
        self._late = False
        if test is None or not source.can.predict or "loss" not in self._boxes:
            return
        while steps and steps[-1] > frame.step:
            self._forget_last()
        due = not steps or frame.step - steps[-1] >= max(1.0, frame.step * _TEST_SHARE)
        if frame.edited and not test.accuracy and frame is not self._measured:  # its end is that of the numbers now
            if steps and steps[-1] == frame.step:
                self._forget_last()
            due, self._measured = True, frame
        if test.accuracy:
            if steps and (frame is self._measured or self._waited < self._pause):
                self._late = frame is not self._measured
                return
            if not due:  # the number is that of this frame; the curve gets no denser
                self._forget_last()
            due, self._measured, self._waited = True, frame, 0.0
            self._drawn.pop("loss", None)
            read = np.argmax(self._predict(frame, test.inputs), axis=1)
            self._accuracies.append(float(np.mean(read == np.ravel(test.targets))))
        if due:
            steps.append(frame.step)
            self._test_losses.append(float(source.evaluate(test.inputs, test.targets, frame.values)))

    def _forget_last(self) -> None:
        for measured in (self._test_steps, self._test_losses, self._accuracies):
            if measured:
                measured.pop()
