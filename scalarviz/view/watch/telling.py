"""`Telling`: when a window speaks in large lines: before the first step, until it begins, and after the last one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from ...run.core.frame import Frame
from ...run.scene.scene import Scene
from ...run.source import Moment
from ..ink.text import loss_text
from ..panels.drawer import words_of
from ..screen.story import Cap, Told
from .actions import BY_NAME, GESTURES, Here

if TYPE_CHECKING:
    from .live import LiveView

FADE, REST = 0.3, 0.5
"""Seconds in which lines fade, and after the last step until they come."""
BREATH, LEVELS = 2.0, 24
"""Seconds of a breath of the first key cap, and how many different pictures of it are drawn."""
BREATHING = 60.0
"""Seconds after which it rests: a window in which nothing happens draws nothing."""
Answer = TypeVar("Answer")


class Telling:
    """The large lines of one window, which pauses at the step `last`.

    With `opens` it speaks before the first one too.
    """

    def __init__(self, view: LiveView, scene: Scene, last: int, *, opens: bool) -> None:
        self._view, self._story, self._source = view, scene.told, view.bench.subject.source
        self._first, self._last = scene.run.steps, last
        self._whole = (self._source.whole_loss(),) if scene.whole_loss else ()
        self._clock = 0.0
        self._begun: float | None = None  # the clock when it began
        self._stood: tuple[Frame, float] | None = None  # the frame at the end, and since when
        here = Here(view.bench.subject)
        self._opening = Told(self._story.opening(scene.run.n_weights), self._story.sentence, opening_caps(here))
        self._weights = scene.run.n_weights
        self._opened_with: Frame | None = None  # the frame of which the opening speaks
        self._ending: Told | None = None
        self._end_caps = ending_caps(here)
        if opens:
            self._tell(self._opening)
        else:  # nothing is waited for: there is nothing to be read before
            self._begun = -FADE

    def pass_time(self, seconds: float) -> None:
        """`seconds` have passed: the lines go on."""
        frame = self._view.worker.latest
        self._clock += seconds
        if self._begun is None and (self._view.playback.running or frame.step != self._first):
            self._begun = self._clock
        if self._begun is None:
            self._keep_true(frame)
        ended = self._ended(frame)
        self._tell(self._opened() or ended)

    def _tell(self, told: Told | None) -> None:
        story = self._view.bench.story
        if told != story.told:
            story.tell(told)
            self._view.refresh()

    def _keep_true(self, frame: Frame) -> None:
        """What a hand changes before the first step the opening says too."""
        if self._opened_with is None or frame is self._opened_with:
            self._opened_with = frame
            return
        old, story = self._opening, self._story
        self._weights += len(frame.values) - len(self._opened_with.values)
        self._opened_with = frame
        sentence = self._asked(story.anew, frame, "anew", old.sentence)
        headline = story.opening(self._weights)
        self._opening = replace(old, headline=headline, sentence=sentence or old.sentence)

    def _opened(self) -> Told | None:
        """The lines before the first step; they fade when it has begun."""
        opening = self._opening
        if self._begun is None:
            phase = np.rint(min(self._clock, BREATHING) / BREATH * LEVELS) / LEVELS
            return replace(opening, breath=float(0.5 - 0.5 * np.cos(2 * np.pi * (phase + 0.5))))
        alpha = 1.0 - (self._clock - self._begun) / FADE
        return replace(opening, alpha=alpha) if alpha > 0 else None

    def _ended(self, frame: Frame) -> Told | None:
        """The lines after the last step: while the window stands there, and nothing has been changed by hand."""
        view = self._view
        newest = frame.past is None or frame.past.newest == frame.step
        there = newest and frame.step == self._last and len(frame.curve.loss) > 0
        if view.playback.running or view.worker.error is not None or frame.edited or not there:
            self._stood = self._ending = None
            return None
        if self._stood is None or self._ending is None:
            self._stood, self._ending = (frame, self._clock), self._said(frame)
        alpha = (self._clock - self._stood[1] - REST) / FADE
        return replace(self._ending, alpha=min(alpha, 1.0)) if alpha > 0 else None

    def _said(self, frame: Frame) -> Told:
        losses, facts = frame.curve.loss, self._source.facts
        batches = 1 if facts is None else -(-facts.samples // max(facts.batch_size, 1))
        if self._whole:
            losses, batches = np.array([*self._whole, Moment(frame, self._source).whole_loss()]), 1
        story = self._story
        reached = bool(self._asked(story.reached, frame, "reached", learnt(losses, batches, story.fall)))
        said = str(self._asked(story.claim, frame, "claim", "")) if reached or story.reached is not None else ""
        if not reached:
            return Told(f"Stopped at loss {loss_text(float(losses[-1]))}.", said, self._end_caps)
        fall = loss_text(float(losses[0])), loss_text(float(losses[-1]))
        return Told("Learnt.", said, self._end_caps, fall)

    def _asked(self, function: Callable[[Moment], Answer] | None, frame: Frame, name: str, other: Answer) -> Answer:
        """What a function of the story says of a moment; `other` where there is none, or where it raises."""
        if function is None:
            return other
        try:
            return function(Moment(frame, self._source))
        except Exception as error:  # a scene's own code: the window goes on without the sentence
            self._view.bench.side.ground.notes.append(f"the story's {name}: {words_of(error)}")
            return other


def learnt(losses: np.ndarray, batches: int = 1, fall: float = 0.5) -> bool:
    """Whether a loss has fallen by half or more, or by another share (`fall`) of what it was.

    Of single `batches`, in which the data comes, the means of the first and the last round are compared.
    """
    count = max(1, min(batches, len(losses) // 4))
    first, last = float(np.mean(losses[:count])), float(np.mean(losses[-count:]))
    return bool(np.isfinite(last) and last <= first - fall * abs(first))


def opening_caps(here: Here) -> tuple[Cap, ...]:
    """What can be pressed before the first step."""
    return _caps(here, (("toggle_run", "begin"), ("step", "one step"), ("toggle_help", "all keys")))


def ending_caps(here: Here) -> tuple[Cap, ...]:
    """What can be tried after the last one."""
    caps = _caps(here, (("restart", "again"), ("type_word", "type a name")))
    for hand, does, begins in (("Click", "a cube", "a cube"), ("Shift+Wheel", "on it: break it", "over a cube")):
        found = next((g for g in GESTURES if g.hand == hand and g.does.startswith(begins)), None)
        if found is not None and found.applies(here):
            caps += (Cap(hand, does, says=f"{hand} {found.does}"),)
    return caps


def _caps(here: Here, wanted: tuple[tuple[str, str], ...]) -> tuple[Cap, ...]:
    """Caps of actions that there are, with the keys of the table."""
    found = [(BY_NAME[name], words) for name, words in wanted if name in BY_NAME]
    return tuple(Cap(action.keys[0], words, action.name) for action, words in found if action.applies(here))
