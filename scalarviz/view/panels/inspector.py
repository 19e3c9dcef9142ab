"""The inspector: what a selected weight is, what it is worth, why it moved, and how it got there."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...run.frame import Frame, Stage, Tensor
from ...run.gather import weight_name
from ..cubes.outline import Floats
from ..draw.places import LABEL, TITLE, Box
from ..draw.sketch import Sketch
from ..draw.text import chip_text, exponent, measure, number
from ..draw.theme import Theme
from ..shown.subject import Subject

WIDE, HIGH, LOW = 524.0, 106.0, 84.0
"""Width, and the heights with and without the line about the terms."""
LARGEST = 20_000
"""Weights up to which a sample's own gradient is worked out at every change of the text."""
POINTS = 400
_CURVE_FROM = 440.0


@dataclass(frozen=True, slots=True)
class Identity:
    """Who a flat index is.

    Attributes
    ----------
    name : str
        ``0.weight[2][0]``.
    meaning : str
        ``from r to b``.
    """

    name: str
    meaning: str


def who(subject: Subject, index: int) -> Identity:
    """Name and meaning of the scalar at flat `index`."""
    tensor = _tensor(subject, index)
    place = tuple(int(i) for i in np.unravel_index(index - tensor.start, tensor.shape)) if tensor.shape else ()
    return Identity(weight_name(subject.tensors, index), _meaning(subject, tensor, place))


def _tensor(subject: Subject, index: int) -> Tensor:
    return next(t for t in subject.tensors if t.start <= index < t.start + t.size)


def _meaning(subject: Subject, tensor: Tensor, place: tuple[int, ...]) -> str:
    for at, stage in enumerate(subject.stages):
        if stage.weight is tensor and len(place) == 2:
            return f"from {_source(subject, at, place[1])} to {_target(subject, at, place[0])}"
        if stage.bias is tensor and len(place) == 1:
            return f"bias of {_target(subject, at, place[0])}"
    if len(place) == 2:
        return f"row {place[0]}, column {place[1]}"
    if len(place) >= 3:
        return f"output {place[0]}, input {place[1]}, kernel {', '.join(str(i) for i in place[2:])}"
    return ""


def _source(subject: Subject, at: int, number: int) -> str:
    """What feeds input `number` of the layer at place `at` of the chain."""
    if at == 0:
        return _named(subject.sample.inputs, number, "input")
    return f"{_kind(subject.stages[at - 1])} {number}"


def _target(subject: Subject, at: int, number: int) -> str:
    """What output `number` of that layer becomes: the activation after it, or an output with a name."""
    after = at + 1 if at + 1 < len(subject.stages) and subject.stages[at + 1].weight is None else at
    if after == len(subject.stages) - 1:
        return _named(subject.sample.outputs, number, "output")
    return f"{_kind(subject.stages[after])} {number}"


def _named(names: tuple[str, ...], number: int, word: str) -> str:
    return names[number] if number < len(names) else f"{word} {number}"


def _kind(stage: Stage) -> str:
    return "sum" if stage.weight is not None else stage.kind


def figure(value: float) -> str:
    """A number of the inspector: four decimals while they say something, else the exponent form."""
    size = abs(value)
    if size == 0 or (1e-3 <= size < 1e4) or not np.isfinite(value):
        return number(value, 4 if size < 100 else 1, signed=True) if size else "0"
    return exponent(value, signed=True)


class ValueHistory:
    """Values of one weight since it was selected, thinned so that any length fits."""

    def __init__(self) -> None:
        self.steps: list[int] = []
        self.values: list[float] = []
        self._every = 1

    def add(self, step: int, value: float) -> None:
        """The value after `step`; an edit at the same step replaces, a step back cuts."""
        while self.steps and self.steps[-1] > step:
            self.steps.pop()
            self.values.pop()
        if len(self.steps) > 1 and self.steps[-1] == step:
            self.values[-1] = value
        elif len(self.steps) > 1 and step - self.steps[-2] < self._every:
            self.steps[-1], self.values[-1] = step, value  # the end always stands at the present step
        elif not self.steps or self.steps[-1] != step or self.values[-1] != value:
            self.steps.append(step)
            self.values.append(value)
        if len(self.steps) > POINTS:
            self.steps, self.values = self.steps[:-1:2] + self.steps[-1:], self.values[:-1:2] + self.values[-1:]
            self._every = max(self._every * 2, (self.steps[-1] - self.steps[0]) // POINTS)


class Inspector:
    """The panel of one selected weight.

    Parameters
    ----------
    subject : Subject
    index : int
        Flat.
    """

    def __init__(self, subject: Subject, index: int) -> None:
        self.index = index
        self.who = who(subject, index)
        self._subject, self._tensor = subject, _tensor(subject, index)
        self._history = ValueHistory()
        self._stage = next((k for k, s in enumerate(subject.stages) if self._tensor in (s.weight, s.bias)), None)

    def follow(self, frame: Frame) -> None:
        """Take over the value of a frame."""
        self._history.add(frame.step, float(frame.values[self.index]))

    # where its gradient comes from

    def explanation(self, frame: Frame) -> tuple[str, ...]:
        """``gradient = mean of 4,096 terms δ·x; here −0.0455 × 0.92 = −0.0418``, in two parts; as much as is true."""
        facts = self._subject.source.facts
        if facts is None or self._stage is None or not frame.computed[self.index] or frame.step == 0:
            return ()
        bias = self._tensor is self._subject.stages[self._stage].bias
        count, kind = facts.batch_size, facts.reduction
        term = "δ" if bias else "δ·x"
        said = f"gradient = {kind} of {count:,} terms {term}" if count > 1 else f"gradient = {term}"
        parts = self._probe_term(frame, bias)
        return () if parts is None else (said, parts)

    def _probe_term(self, frame: Frame, bias: bool) -> str | None:
        """The drawn sample's own term, at the values at which the step took its gradient.

        Empty where that cannot be told, None where the gradient is no such sum (a penalty in the loss, tied weights).
        """
        subject, source = self._subject, self._subject.source
        shown = frame.activations.get("input")
        if (not source.can.predict or subject.probe is None or subject.sample.target is None or shown is None
                or len(frame.values) > LARGEST or not np.array_equal(shown, subject.probe)):  # fmt: skip
            return ""  # a sample that was drawn by hand has no target that it should become
        before = frame.values.astype(np.float64) - frame.update
        gradient = source.sample_gradient(subject.probe, subject.sample.target, before)
        inputs = source.activations(subject.probe, before)
        delta, x, own = self._factors(gradient, inputs)
        if abs(delta * x - own) > 1e-9 * max(abs(own), abs(delta * x), 1e-12):
            return None
        if bias:
            return f"here {figure(own)}"
        factor = chip_text(x)
        return f"here {figure(delta)} × {factor if x >= 0 else f'({factor})'} = {figure(own)}".replace("+", "")

    def _factors(self, gradient: Floats, activations: object) -> tuple[float, float, float]:
        """δ of the unit, x of the input, and the gradient itself, for one sample."""
        assert self._stage is not None
        assert isinstance(activations, dict)
        stage = self._subject.stages[self._stage]
        assert stage.weight is not None  # only layers are looked into
        own = float(gradient[self.index])
        x = activations["input" if self._stage == 0 else self._subject.stages[self._stage - 1].name]
        bias = self._tensor is stage.bias
        i, j = (self.index - self._tensor.start, 0) if bias else divmod(self.index - self._tensor.start, len(x))
        if stage.bias is not None and not bias:
            return float(gradient[stage.bias.start + i]), float(x[j]), own
        # δ from the weight with the largest input, so that a bias is checked as well
        row, largest = stage.weight.of(gradient)[i], int(np.argmax(np.abs(x)))
        delta = float(row[largest] / x[largest]) if x[largest] else (own if bias else 0.0)
        return delta, 1.0 if bias else float(x[j]), own

    # the panel

    def sketch(self, box: Box, theme: Theme, frame: Frame, explanation: tuple[str, ...]) -> Sketch:
        """The panel in `box`; what does not fit is left out."""
        sketch = Sketch()
        x, y, width, height = box
        sketch.rect(*box, radius=6, fill=theme.panel, stroke=theme.border)
        pad = 16.0 if width >= 300 else 10.0
        curve = width >= _CURVE_FROM and height >= LOW
        right = x + width - pad
        title = f"value since step {self._history.steps[0]:,}" if curve and self._history.steps else ""
        if title:
            sketch.text(right, y + 26, title, LABEL, theme.text3, anchor="right")
        self._heading(sketch, x + pad, y + 26, right - measure(title, LABEL) - 12, theme)
        if height >= LOW:
            self._numbers(sketch, x + pad, y + 50, (x + 330 if curve else right) - x - pad, theme, frame)
        if curve:
            self._curve(sketch, (x + 346, y + 38, right - x - 346 - 4, 38), theme)
        if height >= HIGH:
            line = "; ".join(part for part in explanation if part)
            if measure(line, LABEL) > width - 2 * pad and explanation:
                line = explanation[0]
            if measure(line, LABEL) <= width - 2 * pad:
                sketch.text(x + pad, y + 94, line, LABEL, theme.text2)
        return sketch

    def _heading(self, sketch: Sketch, x: float, y: float, right: float, theme: Theme) -> None:
        name = self.who.name
        if x + measure(name, TITLE, True) > right:
            return
        sketch.text(x, y, name, TITLE, theme.text1, bold=True)
        x += measure(name, TITLE, True) + 15
        if x + measure(self.who.meaning, LABEL) <= right:
            sketch.text(x, y, self.who.meaning, LABEL, theme.text2)

    def _numbers(self, sketch: Sketch, x: float, y: float, width: float, theme: Theme, frame: Frame) -> None:
        """Value, gradient and last update in columns."""
        step = min(width / 3, 98.0)
        computed = bool(frame.computed[self.index])
        shown = [("value", figure(float(frame.values[self.index])))]
        if self._subject.source.facts is not None or frame.computed.any():
            missing = "not computed yet" if step * 2 > measure("not computed yet", LABEL) + 8 else "\N{EN DASH}"
            shown.append(("gradient", figure(float(frame.gradient[self.index])) if computed else missing))
            if frame.frozen[self.index]:
                shown.append(("last update", "frozen"))
            elif computed:
                shown.append(("last update", figure(float(frame.update[self.index]))))
        for k, (word, value) in enumerate(shown):
            size = TITLE if k == 0 or computed else LABEL
            if measure(word, LABEL) <= step - 4 or k == 0:
                sketch.text(x + k * step, y, word, LABEL, theme.text3)
                sketch.text(x + k * step, y + 21, value, size, theme.text1 if size == TITLE else theme.text3)

    def _curve(self, sketch: Sketch, box: Box, theme: Theme) -> None:
        """The value since it was selected: start as a thin line across, the end as a disc."""
        x, y, width, height = box
        steps, values = np.array(self._history.steps, float), np.array(self._history.values)
        known = np.isfinite(values)
        steps, values = steps[known], values[known]
        if not len(steps):
            return
        low, high = float(values.min()), float(values.max())
        middle, span = (low + high) / 2, max(high - low, 1e-3 * max(abs(low), abs(high)), 1e-12)
        across = x + width * (steps - steps[0]) / max(steps[-1] - steps[0], 1.0)
        up = y + height * (0.5 - (values - middle) / span)
        sketch.line((x, float(up[0])), (x + width, float(up[0])), theme.grid, 1.0)
        if len(steps) > 1:
            sketch.polyline(np.stack([across, up], axis=1), theme.text1, 2.0)
        sketch.disc(float(across[-1]), float(up[-1]), 3.5, theme.text1)
