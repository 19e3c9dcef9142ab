"""The drawer of the four calls of a training step: which have happened, with their numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...run.core.frame import Frame
from ...run.panels import TrainingLoop
from ...run.source import Moment
from ..ink.places import LABEL
from ..ink.sketch import Box, Sketch
from ..ink.text import loss_text, short
from ..ink.theme import mixed
from .drawer import Drawer, Ground, Inner, cut, sentence, title_of
from .pace import Written
from .wording import BEFORE

CALLS = ("zero_grad()", "forward()", "backward()", "step()")
_OF_PHASE = (0, 1, 1, 2, 2, 3)
"""Which of the calls each phase of an opened step belongs to."""
_LINE, _TOP, _WORDS = 20.0, 22.0, 112.0


class _Call(NamedTuple):
    """One line: whether it has happened, happens now or waits, and what came of it."""

    state: str
    said: str


class LoopDrawer(Drawer[TrainingLoop]):
    """Between steps all four have happened; inside an opened step they happen one after another."""

    name = "one step"
    height = _TOP + 4 * _LINE + 4
    within = height

    def __init__(self, panel: TrainingLoop, ground: Ground) -> None:
        super().__init__(panel, ground)
        self._written = Written()

    @property
    def moving(self) -> bool:
        """Whether the words are of a frame before, as those of the HUD are."""
        return self._written.late

    def draw(self, moment: Moment, box: Box, seconds: float | None) -> Sequence[Sketch]:
        """The step that was done last."""
        frame, own = self._written.of(moment.frame, writes=self.ground.writes), np.array(self.panel.weights)
        if own.max() >= len(frame.values):
            return [sentence(box, self.ground.theme, f"one step: this network has {len(frame.values)} weights")]
        done = frame.step > 0 and bool(frame.computed[own].all())
        if not done:
            return [self._lines(box, "none has happened yet", [_Call("waits", "")] * 4)]
        state = "before" if frame.edited else "done"
        said = self._grads(frame), self._values(frame)
        lines = [self._zeros(), f"loss {loss_text(frame.loss)}", said[0], "" if frame.edited else said[1]]
        note = BEFORE if frame.edited else f"all four happened in step {frame.step:,}"
        return [self._lines(box, note, [_Call(state, line) for line in lines])]

    def inside(self, inner: Inner, box: Box) -> Sequence[Sketch]:
        """The one that happens now."""
        own = np.array(self.panel.weights)
        if own.max() >= len(inner.frame.values):
            return ()
        now = _OF_PHASE[inner.phase]
        there = bool(inner.frame.computed[own].all()), bool(inner.moved[own].all())
        lines = [
            self._zeros(),
            f"loss {loss_text(inner.frame.loss)}" if inner.frame.loss == inner.frame.loss else "",
            self._grads(inner.frame) if there[0] else "",
            self._values(inner.frame) if there[1] else "",
        ]
        calls = [
            _Call("done" if k < now else "now" if k == now else "waits", line if k <= now else "")
            for k, line in enumerate(lines)
        ]
        return [self._lines(box, inner.added or f"in step {inner.frame.step:,}", calls)]

    def _zeros(self) -> str:
        return self._words(".grad", ["0"] * len(self.panel.names))

    def _grads(self, frame: Frame) -> str:
        return self._said(frame.gradient, ".grad")

    def _values(self, frame: Frame) -> str:
        return self._said(frame.values, "")

    def _said(self, flat: NDArray[np.floating], of: str) -> str:
        numbers = flat[np.array(self.panel.weights)].tolist()
        return self._words(of, [short(number) for number in numbers])

    def _words(self, of: str, numbers: Sequence[str]) -> str:
        """``w.grad = 0.5``; of several weights ``grad w 0.5, b 0.1``, for which there is room."""
        names = self.panel.names
        if len(names) == 1 or not of:
            return ", ".join(f"{name}{of} = {number}" for name, number in zip(names, numbers, strict=True))
        return "grad " + ", ".join(f"{name} {number}" for name, number in zip(names, numbers, strict=True))

    def _lines(self, box: Box, note: str, calls: Sequence[_Call]) -> Sketch:
        sketch, theme, (x, y, width, _) = Sketch(), self.ground.theme, box
        title_of(sketch, box, theme, "one step", note)
        for row, (name, call) in enumerate(zip(CALLS, calls, strict=True)):
            middle = y + _TOP + _LINE * row + _LINE / 2
            now = call.state == "now"
            if now:
                fill = mixed(theme.gradient[3], theme.panel, 0.5)
                sketch.rect(x, middle - _LINE / 2, width, _LINE, radius=4, fill=fill, stroke=theme.pulse)
            if call.state in ("done", "now"):
                sketch.disc(x + 10, middle, 4.0, theme.pulse if now else theme.text2)
            else:
                sketch.disc(x + 10, middle, 4.0, stroke=theme.flow, border=1.4)
            ink = theme.text1 if call.state in ("now", "done") else theme.text3
            sketch.text(x + 22, middle + 4.5, name, LABEL, ink, bold=now)
            ink = theme.pulse if row == 2 and call.state != "before" else theme.text2
            sketch.text(x + _WORDS, middle + 4.5, cut(call.said, width - _WORDS - 6), LABEL,
                        theme.text3 if call.state == "before" else ink)  # fmt: skip
        return sketch
