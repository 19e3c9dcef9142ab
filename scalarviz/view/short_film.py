"""`ShortFilm`: a run in twenty seconds: its purpose, one weight through one step, all weights, and what they learnt."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import ScalarvizError
from ..run import Run
from ..run.core.frame import Frame
from ..run.opened import captions
from ..run.opened.captions import Caption, gap_of
from ..run.opened.digits import digits_of
from ..run.questions.ranges import weight_extent
from ..run.scene.scene import Story, weights_text
from ..run.source import Moment
from .ink.boxes import LABEL, MARGIN, TITLE, Places
from .ink.sketch import Box, Sketch
from .ink.text import loss_text, short
from .ink.theme import Theme, hue
from .ink.widgets import caption_lines
from .micro import beside_cubes
from .micro.step_view import FORWARD, LOSS, UPDATE, MicroStepView
from .micro.walk import Walk, open_step, sides
from .out.canvas import Canvas, Pixels, learnt_panel
from .out.offscreen import offscreen
from .panels.drawer import noun

if TYPE_CHECKING:
    from .render import Reel

SECONDS = {"purpose": 2.5, "cubes": 2.0, "step": 2.4, "run": 3.2, "result": 2.7}
"""Seconds of each beat; a step has four, and together they are 20."""
GRIDS = (640.0, 320.0), (360.0, 640.0)
"""Logical pixels of a wide and of an upright picture; a larger one enlarges everything."""
CAPTION, LINES = 23, (72.0, 138.0)
"""The largest type of the sentence, and the height of its room in a wide and in an upright picture."""
COUNTER = 26.0
"""Height of the line with step and loss."""
_SHARE = 0.57  # of the main part, where there are two


class Stage(Canvas):
    """A canvas with a sentence below; `picture` takes the sentence as its words."""

    def __init__(self, x: object, size: tuple[int, int], theme: Theme, cmap: str | None = None, **rest: Any) -> None:
        self.upright = size[1] > size[0]
        wide, high = GRIDS[self.upright]
        self.scale = min(size[0] / wide, size[1] / high)
        self.logical = size[0] / self.scale, size[1] / self.scale
        super().__init__(x, size, theme, cmap, supersample=1 if self.scale >= 2 else 2, **rest)
        self.beside: list[Sketch] = []  # what stands beside the cubes
        self._last: tuple[object, Pixels] | None = None
        self.learnt = learnt_panel(self.bench)

    def rooms(self) -> tuple[Box, Box]:
        """Return the main part of the picture above the sentence, and the other one."""
        wide, high = self.logical
        left, top, below = (18.0, 18.0, LINES[1]) if self.upright else (MARGIN, 10.0, LINES[0])
        width, height = wide - 2 * left, high - top - below - 18.0
        if self.upright:
            part = _SHARE * height
            return (left, top, width, part - 8), (left, top + part + 8, width, height - part - 8)
        part = _SHARE * width
        return (left, top, part - 10, height), (left + part + 10, top, width - part - 10, height)

    def arrange(self, *, learnt: bool) -> None:
        """Give the main part to what is learnt, and the other to the cubes; or the main part to the cubes."""
        main, other = self.rooms()
        panels = {self.learnt: main} if learnt and self.learnt else {}
        x, y, wide, high = other if panels else main
        scene = x, y, wide, high - (COUNTER if learnt else 0.0)
        with self._screen:
            self.bench.stage(Places(self.logical, self.scale, scene=scene, hud=None, strip=None, panels=panels))
        self.beside = []

    def count(self, frame: Frame) -> None:
        """Write the step and the loss below the cubes, as the window shows them."""
        step, loss = frame.step, self.bench.subject.loss(frame)
        (x, y, wide, high), theme, sketch = self.rooms()[1 if self.learnt else 0], self.bench.theme, Sketch()
        for words, value, at in (("step", f"{step:,}", x), ("loss", loss_text(loss), x + wide / 2)):
            end = sketch.text(at, y + high - 4, words, LABEL, theme.text2)
            sketch.text(end + 7, y + high - 4, value, TITLE, theme.text1, bold=True)
        self.beside = [sketch]

    def picture(self, words: str = "", seconds: float | None = None, frame: Frame | None = None) -> Pixels:
        """Take over a frame; return its picture with a sentence; a picture that does not change is not drawn again."""
        frame = frame or self.bench.subject.frame()
        key = words, frame, *self.beside
        if self._last is None or self._last[0] != key or self.bench.moving:
            self.update("", seconds, frame)
            self.bench.overlays = [*self.bench.overlays, [*self.beside, self._sentence(words)]]
            self._last = key, self._screen.render(self.bench.draw, self.size, supersample=self._fine)
        return self._last[1]

    def _sentence(self, words: str) -> Sketch:
        sketch, theme, (wide, high) = Sketch(), self.bench.theme, self.logical
        left, room = (18.0, LINES[1]) if self.upright else (MARGIN, LINES[0])
        top = high - room
        sketch.line((left, top), (wide - left, top), theme.border, 1.0)
        caption_lines(sketch, (left, top + 7.0, wide - 2 * left, room - 10.0), theme, words, CAPTION, bold=True)
        return sketch


class ShortFilm:
    """The beats of one film: `opening` before the run trains, `words` while it does, `ending` after it."""

    def __init__(self, stage: Stage, run: Run, story: Story | None) -> None:
        self.stage, self._run = stage, run
        self._bench, self._subject = stage.bench, stage.bench.subject
        self._reach = math.inf
        self._claim = None if story is None else story.claim

    # ---- beats

    def opening(self, reel: Reel, stopped: Callable[[], bool]) -> None:
        """Film the purpose, the cubes, and one weight in the coming step."""
        stage, count = self.stage, self._run.n_weights
        stage.arrange(learnt=True)
        self._hold(reel, "purpose", self._subject.purpose or f"{weights_text(count)} They train.", stopped)
        stage.arrange(learnt=False)
        stage.beside, self._reach = self._legend(), weight_extent(self._subject.frame().values)
        which = "The cube is the weight" if count == 1 else "Each cube is one weight"
        self._hold(reel, "cubes", f"{which}, a number that training will change.", stopped)
        with suppress(ScalarvizError):  # a run without a step to open has no such beats
            walk = Walk(
                open_step(self._subject, alone=True in sides(self._subject)), self._subject, self._subject.frame()
            )
            index = followed(walk)
            for at in beats_of(walk, index):
                micro_step = alone(walk.micro_step_at(at, index), walk, index)
                with offscreen():
                    self._bench.step_drawing.show(micro_step, seconds=1.0)
                stage.beside = self._explained(walk, micro_step, index)
                self._hold(reel, "step", self._said(walk, micro_step, index), stopped, micro_step.frame)
        with offscreen():
            self._bench.step_drawing.show(None)
        stage.arrange(learnt=True)

    def _said(self, walk: Walk, micro_step: MicroStepView, index: int) -> str:
        """Return the caption of a beat; after a trial no weight goes back here, since the run follows."""
        if micro_step.phase != UPDATE or not walk.opened.trial:
            return micro_step.sentence.caption.text
        one = walk.opened.update(index)
        moved = captions.update(one.before, one.after, one.gradient, None, one.why).text
        return f"For this {noun(self._subject)} alone, {moved[:1].lower()}{moved[1:]}"

    def words(self) -> str:
        """Count the step, and return the sentence while all weights train."""
        run, facts = self._run, self._subject.source.facts
        samples = 1 if facts is None else facts.batch_size
        self.stage.count(self._subject.frame())
        who = "it moves" if run.n_weights == 1 else f"all {run.n_weights:,} weights move"
        whose = f"{samples:,} {noun(self._subject, samples)} at once"
        if samples == 1:
            whose = f"one {noun(self._subject)} after another"
        reach = self._bench.colouring.least  # the weights of the whole run, which grow beyond those of the beats before
        scale = f" The brightest colours now mean ±{short(reach)}." if reach > 1.1 * self._reach else ""
        return f"Now {who} at every step, for {whose}.{scale}"

    def ending(self, reel: Reel) -> None:
        """Film what was learnt."""
        frame, run, claim = self._subject.frame(), self._run, self._claim
        self.stage.count(frame)
        said = "" if claim is None else claim(Moment(frame, self._subject.source))
        said = said or f"the loss is now {loss_text(self._subject.loss(frame))}."
        words = f"After {run.steps:,} step{'s' * (run.steps != 1)}: {said[:1].lower()}{said[1:]}"
        self._hold(reel, "result", words, bool, frame, exact=True)

    def _hold(
        self, reel: Reel, beat: str, words: str, stopped: Callable[[], bool], frame: Frame | None = None, *,
        exact: bool = False,
    ) -> None:  # fmt: skip
        """Show one sentence for the seconds of its beat."""
        frame = frame or self._subject.frame()
        for _ in range(round(SECONDS[beat] * reel.fps)):
            if stopped() or not reel.add(words, frame, exact=exact):
                return

    # ---- what stands beside the cubes

    def _legend(self) -> list[Sketch]:
        """Return the colours of the cubes."""
        bench, (x, y, width, height) = self._bench, self.stage.rooms()[1]
        wide = min(width, 260.0)
        return [bench.strip.legend((x + (width - wide) / 2, y + height / 2 - 30, wide, 60.0), self._subject.frame())]

    def _explained(self, walk: Walk, micro_step: MicroStepView, index: int) -> list[Sketch]:
        """Return the output with its target as two bars, from the loss on with their gap; and the equation."""
        theme, (x, y, width, height) = self._bench.theme, self.stage.rooms()[1]
        outcome, top = walk.sentences.captions.outcome_behind(index), y
        sketches = []
        if outcome is not None and walk.opened.trial:
            sketches.append(bars(theme, (x, y, width, 118.0), *outcome, known=micro_step.phase >= LOSS))
            top += 134.0
        if micro_step.phase != LOSS or outcome is None:
            box = (x, top, width, max(y + height - top, beside_cubes.TALL_LINE))
            said = micro_step.sentence
            formulas = said.formulas if said.short is None or len(micro_step.rule) < 2 else (said.short,)
            said = replace(said, caption=Caption(), meaning="", formulas=formulas)
            sketches += beside_cubes.sentence(box, theme, said)
            if micro_step.phase == FORWARD:
                sketches.append(self._summed(walk, micro_step, (x, y + height - 3.0)))
        return sketches

    def _summed(self, walk: Walk, micro_step: MicroStepView, at: tuple[float, float]) -> Sketch:
        """Return the sum to which a product is added, and what becomes of it, in two lines that end `at` a height."""
        sketch, theme, lines = Sketch(), self._bench.theme, list[str]()
        product, later = walk.steps[micro_step.position - 1], walk.steps[micro_step.position :]
        total = next((step for step in later if step.kind == "sum" and step.stage == product.stage), None)
        if total is not None and walk.opened.trial:
            lines.append(f"sum with the others: {digits_of(total.value, 4)}")
            after = walk.after(walk.stages[total.stage])
            same = (s for s in later if s.kind == "unit" and after is not None and s.stage == after.name)
            lines += [step.numbers for step in same if (step.units == total.units).all()][:1]
        for k, line in enumerate(reversed(lines)):
            sketch.text(at[0], at[1] - 18.0 * k, line, LABEL, theme.text1)
        return sketch


def bars(theme: Theme, box: Box, name: str, output: float, target: float, *, known: bool) -> Sketch:
    """Draw an output and its target as bars of one scale, and their gap if the loss is `known`."""
    sketch, (x, y, width, _) = Sketch(), box
    low, high = min(0.0, output, target), max(1.0, output, target)

    def across(value: float) -> float:
        return x + width * (value - low) / (high - low)

    said = gap_of(output, target)
    sketch.text(x, y + 13, name, TITLE, theme.text1, bold=True)
    rows = (("is", output, said["y"].text, theme.text1), ("should be", target, said["t"].text, theme.text2))
    for k, (words, value, text, ink) in enumerate(rows[: 1 + known]):
        top = y + 20.0 + 38.0 * k
        sketch.text(x, top + 13, words, LABEL, theme.text2)
        sketch.text(x + width, top + 13, text, TITLE, ink, bold=True, anchor="right")
        sketch.rect(x, top + 18, width, 14.0, radius=3, fill=theme.tray)
        start, end = sorted((across(0.0), across(value)))
        sketch.rect(start, top + 18, max(end - start, 1.5), 14.0, radius=3, fill=ink)
    if known and output != target:
        colour = hue(theme, "+" if output > target else "\N{MINUS SIGN}")
        start, end, line = across(output), across(target), y + 100.0
        for top, foot in ((y + 52.0, y + 59.0), (y + 75.0, line + 4)):  # not through the words between the bars
            sketch.line((start, top), (start, foot), colour, 1.4)
        sketch.arrow((start, line), (end, line), colour, 2.0)
        words = f"too {'high' if output > target else 'low'} by {said['gap'].text}"
        sketch.text(min(max((start + end) / 2, x + 60), x + width - 60), line + 17, words, TITLE, colour, bold=True,
                    anchor="middle")  # fmt: skip
    return sketch


# ---- One weight in one step.


def followed(walk: Walk) -> int:
    """Return the flat index of the weight to follow: that with the largest gradient, in the last layer if possible."""
    size = np.abs(np.nan_to_num(walk.opened.gradient))
    stage = next((s for s in reversed(walk.subject.stages) if s.weight is not None and s.whole), None)
    if stage is None or stage.weight is None:
        return int(np.argmax(size))
    own = size[stage.weight.span]
    return stage.weight.start + int(np.argmax(own))


def beats_of(walk: Walk, index: int) -> Iterator[int]:
    """Yield the micro-steps, from 1, that tell of a weight: its product, the loss, its gradient, its update."""
    weights = ((stage.name, stage.weight) for stage in walk.subject.stages if stage.weight is not None)
    layer = next((name for name, t in weights if t.start <= index < t.start + t.size), "")
    for phase in ("forward", "loss", "gradients", "update"):
        own = [k for k, step in enumerate(walk.steps, start=1) if step.phase == phase]
        mine = [k for k in own if index in walk.steps[k - 1].weights or phase == "loss"]
        mine = mine or [k for k in own if walk.steps[k - 1].stage == layer]
        if mine:
            yield mine[0]


def alone(micro_step: MicroStepView, walk: Walk, index: int) -> MicroStepView:
    """Return a micro-step in which one weight is lit and all others are dark."""
    other = np.ones(len(micro_step.frame.values), bool)
    other[index] = False
    frame, name = micro_step.frame, micro_step.quantity
    state = {name: np.where(other, np.nan, frame.state[name])} if name in frame.state else {}
    values = np.where(other, walk.frame.values, frame.values) if micro_step.phase == UPDATE else frame.values
    frame = replace(frame, state={**frame.state, **state}, values=values, computed=frame.computed & ~other)
    texts = {k: text for k, text in micro_step.cube_texts.items() if k == index}
    reached = {name: np.full(len(there), name == "input") for name, there in micro_step.reached.items()}
    deltas = {name: np.full(len(row), np.nan) for name, row in micro_step.deltas.items()}
    said = replace(micro_step.sentence, index=index)  # which also outlines it beside the loss
    return replace(micro_step, frame=frame, cube_texts=texts, deltas=deltas, reached=reached, sentence=said)
