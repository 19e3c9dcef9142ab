"""Where a weight's gradient comes from and what was done with it, as equations that are true as printed."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from ...run.core.frame import Frame, Tensor
from ...scalar.emit import float16
from ..ink.equation import descent, product, significant
from ..panels.wording import BEFORE, batch_of, noun
from ..shown.subject import Subject

Floats = NDArray[np.floating]
LARGEST = 20_000
"""Weights up to which a sample's own gradient is worked out at every change of the text."""
Lines = tuple[tuple[str, ...], ...]
"""Lines of text, each in several ways, the longest first."""


class Explanation:
    """The lines about one weight."""

    def __init__(self, subject: Subject, index: int, tensor: Tensor) -> None:
        self._subject, self._index, self._tensor = subject, index, tensor
        reading = [k for k, s in enumerate(subject.stages) if s.whole and tensor in (s.weight, s.bias)]
        self._stage = reading[0] if len(reading) == 1 else None  # a layer that is called twice has two inputs
        self._bias = self._stage is not None and tensor is subject.stages[self._stage].bias

    def lines(self, frame: Frame) -> Lines:
        """``gradient: mean of 1,024 colours' δ·x; of this colour −0.0455 × 0.92 = −0.0419``, and the update.

        After a change by hand they say that gradient and update are older, and what this sample's gradient is now.
        """
        if self._subject.source.facts is None or not frame.computed[self._index] or frame.step == 0:
            return ()
        own = None if self._stage is None else self._own_term(frame)
        if frame.edited:
            now = ((f"gradient of this {noun(self._subject)} now: {own}",),) if own else ()
            return ((f"gradient and update: {BEFORE}",), *now)
        after = (*self._descent(frame), *self._rounded(frame))
        if own is None:  # no layer that is looked into, or a gradient that is no such sum: a penalty, tied weights
            return ((f"gradient: {batch_of(self._subject)}",), *after)
        return (self._said(own), *after)

    def _said(self, own: str) -> tuple[str, ...]:
        """What the gradient is a mean of, and the drawn sample's own term (empty where that cannot be told)."""
        batch, term = batch_of(self._subject), "δ" if self._bias else "δ·x"
        assert batch is not None  # only a run's gradients are explained
        if batch.count == 1:
            said = short = f"gradient: {term} of {batch.samples}"
        else:
            said = f"gradient: {batch.kind} of {batch.samples}' {term}"
            short = f"gradient: {batch.kind} of {batch.count:,} {term}"
        if not own:
            return said, short
        one = noun(self._subject)
        return f"{said}; of this {one} {own}", f"{short}; of this {one} {own}", said, short

    def _own_term(self, frame: Frame) -> str | None:
        """The drawn sample's own term, at the values at which the step took its gradient; after a change at those now.

        Empty where that cannot be told, None where the gradient is no such sum.
        """
        subject, source, target = self._subject, self._subject.source, self._subject.target
        if source.couples:
            return None
        shown = frame.activations.get("input")
        if (not source.can.predict or subject.probe is None or target is None or shown is None
                or len(frame.values) > LARGEST or not np.array_equal(shown, np.ravel(subject.probe))):  # fmt: skip
            return ""  # a sample that was drawn by hand has no target that it should become
        at = frame.exact.astype(np.float64) - (0.0 if frame.edited else frame.update)
        gradient = source.sample_gradient(subject.probe, target, at)
        delta, x, own = self._factors(gradient, source.activations(subject.probe, at))
        if abs(delta * x - own) > 1e-9 * max(abs(own), abs(delta * x), 1e-12):
            return None
        return significant(own, 3).text if self._bias else product(delta, x, own)

    def _factors(self, gradient: Floats, activations: Mapping[str, Floats]) -> tuple[float, float, float]:
        """δ of the unit, x of the input, and the gradient itself, for one sample."""
        assert self._stage is not None
        stage = self._subject.stages[self._stage]
        assert stage.weight is not None  # only layers are looked into
        own = float(gradient[self._index])
        before = "input" if self._stage == 0 else self._subject.stages[self._stage - 1].name
        x = np.concatenate([activations[name] for name in stage.sources or (before,)])
        place = self._index - self._tensor.start
        i, j = (place, 0) if self._bias else divmod(place, len(x))
        if stage.bias is not None and not self._bias:
            return float(gradient[stage.bias.start + i]), float(x[j]), own
        # δ from the weight with the largest input, so that a bias is checked as well
        row, largest = stage.weight.of(gradient)[i], int(np.argmax(np.abs(x)))
        delta = float(row[largest] / x[largest]) if x[largest] else (own if self._bias else 0.0)
        return delta, 1.0 if self._bias else float(x[j]), own

    def _rounded(self, frame: Frame) -> Lines:
        """Of a run in float16: the weight that the optimiser changes, and whether the network saw the change."""
        if frame.master is None or self._tensor.buffer:
            return ()
        master, update = float(frame.master[self._index]), float(frame.update[self._index])
        said = f"float32 weight: {master:.7g}"
        if update and float16(master - update) == frame.values[self._index]:
            short = f"{said}; rounds to the same float16"
            return ((f"{said}; the update was too small, it rounds to the same float16", short, said),)
        return ((said,),)

    def _descent(self, frame: Frame) -> Lines:
        """``w − lr·g:  0.2369 − 0.5 × 0.0048 = 0.2345``, where that is what the step did."""
        after, gradient = float(frame.exact[self._index]), float(frame.gradient[self._index])
        before = after - float(frame.update[self._index])
        change = frame.lr * gradient
        slack = 8 * float(np.finfo(frame.values.dtype).eps) * max(abs(before), abs(after), abs(change))
        if frame.frozen[self._index] or not abs(before - change - after) <= slack:
            return ()
        line = descent(before, frame.lr, gradient, after)
        return ((f"last update: w \N{MINUS SIGN} lr·gradient = {line}", line),)
