"""`Predictions`: the viewer says whether a weight will rise or fall before an opened step shows it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import NamedTuple

from ...run.opened.captions import Caption
from ..micro.step_view import GRADIENTS, UPDATE, MicroStepView, Sentence
from ..micro.walk import Walk

ASKED = {GRADIENTS: "to lower the loss, must this weight rise or fall?", UPDATE: "will this weight rise or fall?"}
"""The question before a gradient, and before an update."""
HOW = "press an arrow on the cube, or the key Up or Down"


class Question(NamedTuple):
    """What is asked: the micro-step that gives the answer, whether the weight rises, and the selected weight."""

    at: int
    rises: bool
    about: int | None


class Predictions:
    """The questions of one view: whether they are `on`, the open one, and how many of those `asked` were `right`.

    A micro-step without a weight, and a weight that stays as it is, give no question.
    """

    def __init__(self) -> None:
        self.on = False
        self.right = self.asked = 0
        self.question: Question | None = None

    @property
    def score(self) -> str:
        """The count of right answers; empty before the first."""
        return f"{self.right} of {self.asked}" if self.on and self.asked else ""

    def next_in(self, walk: Walk, places: Iterable[int], about: int | None) -> MicroStepView | None:
        """Return the picture with the first question about micro-steps at some `places`; None without one.

        `about` is the selected weight.
        """
        self.question = None
        for at in (at for at in places if walk.phases[at - 1] in ASKED):
            before, after, phase = walk.micro_step_at(at - 1, about), walk.micro_step_at(at), walk.phases[at - 1]
            old, now = (one.moved if phase == UPDATE else one.frame.computed for one in (before, after))
            new = about if about is not None and now[about] and not old[about] else None  # asked about only once
            said = after.sentence if new is None else walk.micro_step_at(at, new).sentence
            rises = self._change(walk, at, said.index)
            if rises < 0 or rises > 0:
                self.question = Question(at, rises > 0, new)
                asked = Sentence(said.name, HOW, index=said.index, caption=Caption(ASKED[phase]))
                texts = {k: text for k, text in before.cube_texts.items() if k != said.index}  # the arrows stand there
                return replace(before, sentence=asked, asks=True, cube_texts=texts)
        return None

    @staticmethod
    def _change(walk: Walk, at: int, index: int) -> float:
        """Return the change of a weight that a micro-step asks for, or makes; 0 without a weight."""
        if index < 0:
            return 0.0
        return float(-walk.opened.gradient[index] if walk.phases[at - 1] == GRADIENTS else walk.change[index])

    def judge(self, rises: bool) -> str:
        """Count an answer to the open question; return whether it is right, in a word."""
        assert self.question is not None
        good = rises == self.question.rises
        self.asked, self.right, self.question = self.asked + 1, self.right + good, None
        return "right" if good else "wrong"


def judged(step: MicroStepView, verdict: str) -> MicroStepView:
    """Return a micro-step whose caption begins with a verdict."""
    caption = step.sentence.caption
    told = replace(caption, template=f"{verdict}: {caption.template}")
    return replace(step, sentence=replace(step.sentence, caption=told))
