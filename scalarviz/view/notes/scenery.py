"""`Scenery`: names, numbers and lines that belong to the cubes and move with them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...run.core.frame import Frame, Stage, Tensor
from ...run.panels import PlaneMap
from ...run.questions.diagnosis import diagnose
from ..cubes.scale import ActivationScale, Coloring
from ..ink.places import CHANNEL, LABEL
from ..ink.sketch import Box, Sketch
from ..ink.text import measure
from ..ink.theme import Theme
from ..shown.subject import Subject
from ..space.arrangement import Blueprint, Caption, Wire
from ..space.camera import Camera
from ..space.layout import FEW, Layout
from ..space.plate import Floats
from .labels import FlowLabels, range_text
from .layer import FewFlow
from .outcome import input_swatch, outcome, outcome_size
from .taken import Taken
from .trouble import TroubleNotes
from .turns import TurnLabels
from .values import CubeValues, Small
from .words import is_single, labelled, read_words, row_words, side_words, titles_in, turned_in, unit_words

_CHIPS_ABOVE, _CHIPS_BESIDE = 58.0, 238.0  # what the flow around a single layer takes
Project = Callable[[ArrayLike], NDArray[np.float64]]


class Scenery:
    """Everything flat around the cubes of one layout, seen by one camera. Boxes and names are placed once.

    Another look (`change`) writes the same words in the same places.

    Parameters
    ----------
    subject : Subject
    layout : Layout
    theme : Theme
    project : callable
        World points to logical pixels.
    box : Box
        The scene.
    moved : Camera, optional
        Given where it is not the layout's own: then everything is tried against the cubes, and what would lie on
        them or is hidden by them is left out.
    panels : bool
        Whether the sample's outcome stands beside the cubes of a chain.
    quantity : str
        What the cubes show.
    before : Scenery, optional
        Of the camera a moment ago: names stay where they were while there is room.

    Attributes
    ----------
    blueprint : Blueprint or None
        The flat part of a planned picture as this camera shows it, in logical pixels.
    """

    def __init__(
        self,
        subject: Subject,
        layout: Layout,
        theme: Theme,
        project: Project,
        box: Box,
        *,
        moved: Camera | None = None,
        panels: bool = True,
        quantity: str = "weight",
        before: Scenery | None = None,
    ) -> None:
        self._subject = subject
        window = window_of(box, panels, layout.size)
        self._forms: dict[bool, CubeValues] = {}  # how numbers stand on cubes, with exponents and without
        self._form = partial(CubeValues, layout, theme, project, moved, window=window)
        single = is_single(subject, layout)
        self.flow: FewFlow | None = None
        if single:
            taken = Taken(box)
            for plate in layout.plates:
                for element in range(plate.size):
                    taken.add_polygon(project(plate.corners_of(element)))
            self.flow = FewFlow(layout, subject.stages, subject.sample, project, box, taken, moved is not None)
        shapes = labelled(subject)
        former = None if before is None or moved is None else before._labels
        names = row_words(subject)
        self._labels: FlowLabels | PlanLabels | TurnLabels | None = None
        self.blueprint = None if layout.blueprint is None else layout.blueprint.seen(project)
        if self.blueprint is not None and subject.plan is not None:
            self._labels = PlanLabels(self.blueprint, shapes, turned_in(subject.plan), window)
        elif layout.spots:
            column = box[0] + box[2] < layout.size[0] - 200  # that is where a map of the output stands
            arrow = panels and column and any(isinstance(panel, PlaneMap) for panel in subject.panels)
            self._labels = TurnLabels(layout, subject.stages, read_words(subject), project, box, arrow)
        elif not single:
            untrained = [t.name for t in subject.tensors if t.buffer]
            titles = titles_in(subject.plan)
            if theme.presenter:
                titles, names = clean_titles(subject.tensors, subject.stages) | titles, clean_rows(names)
            former = former if isinstance(former, FlowLabels) else None
            self._labels = FlowLabels(layout, shapes, names, project, box, unit_words(subject), former,
                                      untrained, titles, side_words(subject))  # fmt: skip
        size = outcome_size(subject.sample) if self._labels is not None and subject.stages and panels else None
        there: Box | None = None if former is None or before is None else before._outcome
        self._outcome: Box | None = None
        if self._labels is not None and size is not None:
            self._outcome = self._labels.free_place(*size, there)
        self._trouble = TroubleNotes(layout, theme, project, box) if panels else None
        self.change(theme, quantity)

    def change(self, theme: Theme, quantity: str) -> None:
        """Another look."""
        decades, self._quantity = quantity != "weight", quantity
        if decades not in self._forms:
            self._forms[decades] = self._form(decades=decades)
        self._values, self._theme = self._forms[decades], theme
        self._values.theme = theme
        if self._trouble is not None:
            self._trouble.theme = theme
        self.static: list[Sketch] = []
        if self.flow is not None:
            self.flow.change(theme)
            self.static.append(self.flow.static)
        if self._labels is not None:
            self.static.append(self._labels.names(theme))

    def show_outcome(self, shown: bool) -> bool:
        """Whether the swatches of a single layer's outcome stand below it; returns whether that changes."""
        if self.flow is None or self.flow.outcome == shown:
            return False
        self.flow.outcome = shown
        self.change(self._theme, self._quantity)
        return True

    @property
    def values(self) -> CubeValues:
        """Where the numbers of the quantity shown stand."""
        return self._values

    @property
    def reserved(self) -> list[Box]:
        """Boxes on which nothing else should stand."""
        words = self._labels.way_out if isinstance(self._labels, TurnLabels) else []
        return words if self._outcome is None else [self._outcome, *words]

    @property
    def swatch(self) -> Box | None:
        """Where the swatch of the sample stands; None where there is none."""
        if self.flow is not None:
            return self.flow.swatch
        sample = self._subject.sample
        shown = self._outcome is not None and sample.colours and sample.wanted is not None
        return input_swatch(self._outcome) if shown and self._outcome is not None else None

    def cubes(
        self,
        frame: Frame,
        colouring: Coloring,
        activations: ActivationScale,
        skip: NDArray[np.bool_] | None = None,
        small: Small | None = None,
    ) -> list[Sketch]:
        """The numbers on the cubes: weights but for those to `skip` (P,), and rows of activations."""
        if not self._values.size:  # too many of them, or too small
            return []
        missing = None
        if (nowhere := colouring.missing(frame)).any():
            weights = np.where(nowhere, frame.values, np.nan)
            missing = {t.name: t.of(weights) for t in self._subject.tensors}
        others = None if skip is None else {t.name: skip[t.span] for t in self._subject.tensors}
        weights_of = self._values.sketch(colouring.values(), colouring.units(), colouring.cmap, missing, others,
                                          signed=colouring.signed, small=small)  # fmt: skip
        return [weights_of, self._values.rows(frame, activations)]

    def around(
        self,
        frame: Frame,
        colouring: Coloring,
        loss: float | None,
        reached: Mapping[str, NDArray[np.bool_]] | None = None,
    ) -> list[Sketch]:
        """The numbers beside them; `loss` is the probe sample's own, `reached` says which are there (None: all)."""
        sketches = []
        if self.flow is not None:
            sketches.append(self.flow.numbers(frame, loss, reached))
        if self._labels is not None:
            sketches.append(self._labels.ranges(colouring.extents(), self._theme, colouring.bound))
        last = self._subject.stages[-1] if self._subject.stages else None
        if self._outcome is not None and last is not None and (reached is None or reached[last.name].all()):
            sketches.append(outcome(self._outcome, self._theme, self._subject.sample, frame, last, loss))
        return sketches

    def trouble(self, frame: Frame, around: Sequence[Sketch]) -> Sketch:
        """What is wrong with a layer, beside its cubes; `around` holds the texts that are there already."""
        if self._trouble is None:
            return Sketch()
        return self._trouble.sketch(diagnose(frame, self._subject.tensors, self._subject.stages), around)

    @property
    def homeless(self) -> tuple[str, ...]:
        """What of it found no place there."""
        return () if self._trouble is None else self._trouble.homeless


def cubes_box(subject: Subject, scene: Box) -> Box:
    """The scene, less what the chips around a single small layer need beyond the layout's own margins.

    Those shrink with the scene, the chips do not.
    """
    x, y, width, height = scene
    linear = [s for s in subject.stages if s.weight is not None]
    if len(linear) != 1 or sum(t.size for t in subject.tensors) > FEW:
        return scene
    above = _CHIPS_ABOVE - 35.0 * min(1.0, height / 472.0) if height >= 250 else 0.0
    beside = _CHIPS_BESIDE - 228.0 * min(1.0, width / 936.0) if width >= 560 else 0.0
    return x, y + max(above, 0.0), width - max(beside, 0.0), height - max(above, 0.0)


def window_of(scene: Box, panels: bool, size: tuple[float, float]) -> Box:
    """Where a camera moved by hand may bring cubes (logical pixels): not below the panels, where there are any."""
    x, y, width, height = scene
    return (x, y - 12.0, width, height + 12.0) if panels else (0.0, 0.0, float(size[0]), float(size[1]))


# ---- What layers and rows are called where nobody reads code: in a picture for a hall.

LAYERS = {"linear": "layer", "conv1d": "convolution", "conv2d": "convolution"}
"""What a stage with weights is, by its kind; others are called as their kind."""
ROWS = {
    "relu": "ReLU", "leaky_relu": "leaky ReLU", "relu6": "ReLU6", "gelu": "GELU", "silu": "SiLU", "elu": "ELU",
    "max_pool1d": "max pool", "max_pool2d": "max pool", "avg_pool1d": "mean pool", "avg_pool2d": "mean pool", **LAYERS,
}  # fmt: skip
"""What a row of activations is, by its kind; others are called as their kind, in words."""


def clean_titles(tensors: Sequence[Tensor], stages: Sequence[Stage]) -> dict[str, str]:
    """``layer 1``, ``layer 2`` for the weights of stages, by the names of the tensors; alone a kind has no number."""
    named = {tensor.name for tensor in tensors}
    found: dict[str, str] = {}
    for stage in stages:
        name = f"{stage.name}.weight" if stage.weight is None else stage.weight.name
        if name in named and name not in found:
            found[name] = LAYERS.get(stage.kind, _words(stage.kind))
    counts, numbers = Counter(found.values()), Counter[str]()
    for name, noun in found.items():
        numbers[noun] += 1
        found[name] = f"{noun} {numbers[noun]}" if counts[noun] > 1 else noun
    return found


def clean_rows(names: Mapping[str, str]) -> dict[str, str]:
    """The same for rows of activations: what each stage's is called."""
    return {stage: ROWS.get(kind, _words(kind)) for stage, kind in names.items()}


def _words(kind: str) -> str:
    return kind.replace("_", " ")


# ---- `PlanLabels`: titles, names and wires of a planned picture, where its blueprint says.

PLUS = 8.0
"""Radius of the disc at which something is added."""
_ARROW, _WIRE = 7.0, 1.4


class PlanLabels:
    """The words of one blueprint as one camera shows it.

    Parameters
    ----------
    sheet : Blueprint
        In logical pixels.
    shapes : mapping of str to tuple of int
        Of the tensors.
    turned : set of str
        Tensors whose inputs are drawn downwards: their shape is written as it is drawn.
    box : Box
        What would leave it is left out.
    """

    def __init__(self, sheet: Blueprint, shapes: Mapping[str, tuple[int, ...]], turned: set[str], box: Box) -> None:
        self.sheet, self._box = sheet, box
        self._shapes = {
            name: "×".join(f"{n:,}" for n in (shape[::-1] if name in turned else shape))
            for name, shape in shapes.items()
        }

    def names(self, theme: Theme) -> Sketch:
        """The words that stay from frame to frame, and the wires."""
        sketch = Sketch()
        for wire in self.sheet.wires:
            self._wire(sketch, wire, theme)
        for x, y in self.sheet.pluses:
            if self._inside(x - PLUS, y - PLUS, 2 * PLUS, 2 * PLUS):
                sketch.disc(x, y, PLUS, theme.background, stroke=theme.text2, border=1.4)
                sketch.lines([[x - 4, y], [x, y - 4]], [[x + 4, y], [x, y + 4]], theme.text1, 1.4)
        for head in self.sheet.headings:
            if self._inside(head.x, head.y - 20, head.width, 24):
                count = f"{head.count:,}"
                wide = measure(head.text, CHANNEL, True)
                sketch.text(head.x, head.y - 6, head.text, CHANNEL, theme.text1, bold=True)
                if wide + 8 + measure(count, CHANNEL) <= head.width + 30:
                    sketch.text(head.x + wide + 8, head.y - 6, count, CHANNEL, theme.text3)
                sketch.line((head.x, head.y), (head.x + head.width, head.y), theme.flow, 1.0)
        note = self.sheet.note
        fits = self.sheet.says_words(measure(self.sheet.words, LABEL))
        if note is not None and fits and self._inside(note[0], note[1] - 12, note[2], 14):
            sketch.text(note[0], note[1], self.sheet.words, LABEL, theme.text3)
        for name in self._captions():
            sketch.text(name.x, name.y + 17, name.title, CHANNEL, theme.text1, bold=True)
        return sketch

    def ranges(self, extents: Mapping[str, float], theme: Theme, bound: str = "±") -> Sketch:
        """The second lines: shape, and `bound` and the range of each tensor in `extents`."""
        sketch = Sketch()
        for name in self._captions():
            shape = self._shapes[name.tensor]
            span = f" {range_text(extents, name.tensor, bound)}" if name.tensor in extents else ""
            line = next((text for text in (shape + span, shape) if measure(text, LABEL) <= name.width), "")
            sketch.text(name.x, name.y + 33, line, LABEL, theme.text2)
        return sketch

    def free_place(self, width: float, height: float, before: Box | None = None) -> Box | None:
        """None: the plan fills its place."""
        return None

    def _captions(self) -> list[Caption]:
        return [c for c in self.sheet.captions if self._inside(c.x, c.y, c.width, 36)]

    def _inside(self, x: float, y: float, width: float, height: float) -> bool:
        left, top, wide, high = self._box
        return left <= x and top <= y and x + width <= left + wide and y + height <= top + high

    def _wire(self, sketch: Sketch, wire: Wire, theme: Theme) -> None:
        """As far as it is inside: its parts run along the axes of the screen."""
        low = np.array(self._box[:2])
        points: Floats = np.clip(wire.points, low, low + self._box[2:])
        if np.any(np.all(wire.points < low, axis=0) | np.all(wire.points > low + self._box[2:], axis=0)):
            return
        whole = np.array_equal(points[-1], wire.points[-1])
        if wire.arrow and whole:
            sketch.arrow(points[-2], points[-1], theme.flow, _WIRE, head=_ARROW)
        else:
            sketch.polyline(points, theme.flow, _WIRE)
