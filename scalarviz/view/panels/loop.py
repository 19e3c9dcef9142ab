"""The drawer of the four calls of a training step: which have happened, with their numbers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

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
        return self._written.late

    def draw(self, moment: Moment, box: Box, seconds: float | None) -> Sequence[Sketch]:
        """The step that was done last."""
        frame, own = self._written.of(moment.frame, writes=self.ground.writes), np.array(self.panel.weights)
        if own.max() >= len(frame.values):
            return [sentence(box, self.ground.theme, f"one step: this network has {len(frame.values)} weights")]
        if frame.step == 0 or not frame.computed[own].all():
            return [self._lines(box, "none has happened yet", "waits", [""] * 4)]
        said = self._said(frame)
        if frame.edited:
            return [self._lines(box, BEFORE, "before", [*said[:3], ""])]
        return [self._lines(box, f"all four happened in step {frame.step:,}", "done", said)]

    def inside(self, inner: Inner, box: Box) -> Sequence[Sketch]:
        """The one that happens now."""
        own, frame = np.array(self.panel.weights), inner.frame
        if own.max() >= len(frame.values):
            return ()
        now = _OF_PHASE[inner.phase]
        there = (True, frame.loss == frame.loss, frame.computed[own].all(), inner.moved[own].all())
        said = [line if is_there else "" for line, is_there in zip(self._said(frame), there, strict=True)]
        states = ["done"] * now + ["now"] + ["waits"] * (3 - now)
        said = [line if k <= now else "" for k, line in enumerate(said)]
        return [self._lines(box, inner.added or f"in step {frame.step:,}", states, said)]

    def _said(self, frame: Frame) -> list[str]:
        """What comes of each of the four calls."""
        grads, values = ([short(x) for x in of[np.array(self.panel.weights)].tolist()] for of in
                         (frame.gradient, frame.values))  # fmt: skip
        zeros = ["0"] * len(grads)
        return [self._words(".grad", zeros), f"loss {loss_text(frame.loss)}", self._words(".grad", grads),
                self._words("", values)]  # fmt: skip

    def _words(self, of: str, numbers: Sequence[str]) -> str:
        """``w.grad = 0.5``; of several weights ``grad w 0.5, b 0.1``, for which there is room."""
        names = self.panel.names
        if len(names) == 1 or not of:
            return ", ".join(f"{name}{of} = {number}" for name, number in zip(names, numbers, strict=True))
        return "grad " + ", ".join(f"{name} {number}" for name, number in zip(names, numbers, strict=True))

    def _lines(self, box: Box, note: str, states: str | Sequence[str], said: Sequence[str]) -> Sketch:
        """The four calls: each is done, happens now, waits, or was before a change by hand; and what came of it."""
        sketch, theme, (x, y, width, _) = Sketch(), self.ground.theme, box
        title_of(sketch, box, theme, "one step", note)
        states = [states] * 4 if isinstance(states, str) else states
        for row, (name, state, line) in enumerate(zip(CALLS, states, said, strict=True)):
            middle = y + _TOP + _LINE * row + _LINE / 2
            now, there = state == "now", state in ("done", "now")
            if now:
                fill = mixed(theme.gradient[3], theme.panel, 0.5)
                sketch.rect(x, middle - _LINE / 2, width, _LINE, radius=4, fill=fill, stroke=theme.pulse)
            dot = (theme.pulse if now else theme.text2) if there else None
            sketch.disc(x + 10, middle, 4.0, dot, stroke=None if there else theme.flow, border=1.4)
            ink = theme.text1 if there else theme.text3
            sketch.text(x + 22, middle + 4.5, name, LABEL, ink, bold=now)
            ink = theme.text3 if state == "before" else theme.pulse if row == 2 else theme.text2
            sketch.text(x + _WORDS, middle + 4.5, cut(line, width - _WORDS - 6), LABEL, ink)
        return sketch
