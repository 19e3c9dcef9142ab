"""`LiveView`: a scene that trains while it is watched. What changes the run happens between two steps, logged."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from ...errors import ScalarvizError
from ...run.callbacks import condition_name, holds
from ...run.core.frame import Frame, Units
from ...run.edits import AddSamples, Edit, SetOptimizer, SetTargets
from ...run.engines import full_speed, ready
from ...run.frames import PendingCall
from ...run.questions.breakpoints import Breakpoint, Stop
from ...run.questions.expression import brief
from ...run.run import Run
from ...run.scene.scene import Scene
from ...run.source import Moment, RunSource
from ...run.sources.played import rehearse
from ...run.sources.watched import Pace
from ...run.travel import span
from ...run.worker import Worker
from ..ink.text import loss_text
from ..ink.theme import Theme
from ..panels.drawer import words_of
from ..screen.strip import Cap, StoryText
from ..shown.subject import Forecast, Subject, scene_subject
from ..workbench import Workbench
from .actions import BY_NAME, GESTURES, ActionContext, bottom_line
from .desk import Desk
from .playback import Playback
from .travels import stopped_by
from .viewer import Viewer

STEPS = 3000
"""Where a run pauses of which no scene says it."""
REHEARSAL_SECONDS = 0.4
"""What a window's start may take to find out when there will be something to see."""
LESSON_SECONDS = 8.0
"""How long it is said what has come of what a hand taught."""
NEWS_SECONDS = 20.0
"""How long it is said what happens to a recording: training goes on, so nothing else tells of it."""
COMPILING = "compiling kernels (once per machine)"
"""Stands where the speed stands while it is not known."""


class LiveSource(RunSource):
    """The run of a worker, as panels see it: what they ask waits for a call boundary.

    What they change does too, and where a `view` shows it they may: it says when a way to another step begins.
    """

    def __init__(self, worker: Worker, view: LiveView | None = None) -> None:
        super().__init__(worker.run)
        self._worker, self._view = worker, view

    def ask(self, function: Callable[[Run], Any]) -> PendingCall:
        """Let a function look at the run at the next call boundary."""
        return self._worker.ask(function)

    def edit(self, edit: Edit, *, gesture: str = "") -> None:
        """Change the run at the next call boundary."""
        if self._view is not None:
            self._view.teach(edit, gesture)

    def to(self, step: int) -> None:
        """Set out for a step."""
        if self._view is not None:
            self._view.travels.go(step)


class LiveView(Viewer):
    """One scene, its worker, and its picture of `size` device pixels.

    It pauses after `steps`, which take `duration` seconds. It begins after `wait` seconds without a touch, in which its
    story is told (None: not before the Space key); or it is not `playing`, and says nothing of what will happen.
    """

    trains = True

    def __init__(
        self,
        scene: Scene,
        size: tuple[int, int],
        *,
        steps: int | None = None,
        duration: float = 20.0,
        theme: str | Theme = "dark",
        cmap: str | None = None,
        playing: bool = True,
        wait: float | None = 0.0,
    ) -> None:
        self.scene, self.run, self.worker = scene, scene.run, Worker(scene.run)
        subject = scene_subject(scene, LiveSource(self.worker, self))
        if steps is None:
            steps = getattr(scene.options, "steps", STEPS)
        bench = Workbench(subject, size, theme, cmap, keys=bottom_line(ActionContext(subject)), text_hz=10.0)
        at_once, self._closing = ready(self.run), False
        # before the thread starts: it reads the numbers
        self._full_speed = full_speed(self.run) if at_once else math.nan
        rehearsal = rehearse(self.run, steps, REHEARSAL_SECONDS, speed=self._full_speed)
        self.worker.start()
        paced = Playback(self.worker, steps, duration, rehearsal, scene.steps_a_frame)
        super().__init__(bench, paced, wait=wait if playing else None)
        if rehearsal is not None:
            bench.side.ground.ahead = Forecast.from_rehearsal(rehearsal, self.worker.latest)
        self._compiling = not at_once
        if self._compiling:
            self.ask_run(self._compile, self._compiled, lambda error: self._compiled(math.nan))
        self._asked = self.worker.request()
        self._frames, self._steps = Rate(), Rate()
        self._raw: Frame | None = None
        self._with_rows: Frame | None = None
        self._units = UnitsPace()
        self._probes = 0
        self._lesson: Lesson | None = None
        self._told: set[str] = set()  # news of recordings
        self.left_at: int | None = None  # where it stood when it was closed, if that was in the past
        self.breaks, self.desk = BreakpointPrompt(self, self.worker), Desk(self, scene)
        self.handlers |= self.breaks.handlers | self.desk.handlers | {
            "raise_rate": lambda: self._scale_rate(2.0), "lower_rate": lambda: self._scale_rate(0.5),
            "type_value": self._type_value,
        }  # fmt: skip
        self._telling = StoryTelling(self, scene, self.run.steps + steps, opens=playing and wait != 0)

    def close(self) -> None:
        """Stop training, at the newest step; the run is free again."""
        self._closing = True
        self.left_at = self.worker.latest.step if self.travels.behind else None
        if self.left_at is not None:
            self.worker.ask(lambda run: run.to(span(run)[1]))
        self.worker.close()

    # ---- numbers

    def advance(self, seconds: float) -> None:
        """Training goes on at its pace, seen or not."""
        super().advance(seconds)
        self.breaks.pass_time()
        self._tell_recordings()
        self._tell_lesson()
        self._telling.pass_time(seconds)

    def tick(self, seconds: float) -> bool:
        """`seconds` have passed; returns whether the picture has to be drawn again."""
        self.follow(self.worker.latest)
        state = self.worker.state_wanted = self.bench.colouring.shows.state
        if (self.worker.moving or (state and not self.worker.latest.state)) and self._asked.done:
            self._asked = self.worker.request(state=state)
        return super().tick(seconds)

    def follow(self, frame: Frame) -> bool:
        """For another network an opened step is closed too."""
        if not self.bench.fits(frame):
            self.micro.close()
            self._raw = self._with_rows = None
        return super().follow(frame)

    def current_frame(self) -> Frame:
        """The worker's last frame, with the activations of the sample."""
        frame, probes = self.worker.latest, self.bench.side.ground.probes
        if self._with_rows is not None and not self.bench.fits(frame):  # the next tick stands anew for it
            return self._with_rows
        late = self._with_rows is not None and self._with_rows.units_step is not None and self.is_idle
        if frame is not self._raw or self._with_rows is None or probes != self._probes or late:
            self._raw, self._probes = frame, probes
            probe = self.bench.subject.probe
            rows = {} if probe is None or frame.forward is None else frame.forward.activations(probe, frame.values)
            self._with_rows = self._units.shown(frame, rests=self.is_idle).with_activations(rows)
            self._steps.mark(frame.step)
        return self._with_rows

    def draw(self, viewport: tuple[int, int] | None = None) -> None:
        """Paint the picture into the bound framebuffer."""
        self.mark_frame()
        super().draw(viewport)

    def mark_frame(self) -> None:
        """A frame was drawn, here or by somebody who was sent it."""
        self._frames.mark()

    def notice(self) -> str:
        """A condition that is being typed, before all news."""
        return self.breaks.prompt() or super().notice()

    def send(self, name: str, value: int | None = None) -> bool:
        """Do an action; a condition that is being typed is left."""
        self.breaks.typed = None
        return super().send(name, value)

    def _typed(self, pressed: str, text: str, *, shift: bool) -> bool:
        return self.breaks.key(pressed, text) or super()._typed(pressed, text, shift=shift)

    def message(self) -> str:
        """What stopped the training."""
        return stopped_by(self.worker.error, keys=self.desk is None or not self.desk.panel.open)

    def _compile(self, run: Run) -> float:
        """In the training thread: what the first step needs. Returns how fast the engine is then."""
        run.prepare(lambda: self._closing)
        return full_speed(run)

    def _compiled(self, speed: float) -> None:
        """NaN: it cannot be; the training meets the same trouble, and says so."""
        self._compiling, self._full_speed = False, speed
        if self.playback.running:
            self.playback.resume_here()  # it is to be watched, not to leap

    def pace(self, frame: Frame) -> list[str]:
        """Pace, steps a second (shown and possible; at rest what is possible), frames a second, engine."""
        parts = [self.playback.text(), COMPILING if self._compiling else f"up to {self._full_speed:,.0f} steps/s"]
        past = self.travels.words(frame)
        seen = self._steps.value  # full speed was measured once, maybe while the machine had more to do
        if past and self.playback.running:
            parts = [past, self.playback.text(), f"plays {seen:,.0f} steps/s"]
        elif past:
            parts = [past]
        elif self.playback.running and not self._compiling:
            parts[1] = f"{seen:,.0f} of {max(seen, self._full_speed):,.0f} steps/s"
        if self.playback.running:
            frames = self._frames.value
            parts.append(f"{frames:.{0 if frames >= 2 else 1}f} frames/s")
            parts += [self.run.breakpoints.remark] * bool(self.run.breakpoints.remark)
        else:  # the time of a pause is not that of steps
            self._steps = Rate()
        if not self.playback.running and frame.step == 0 and not frame.edited:
            parts.insert(1, "not trained yet")
        return [*parts, str(self.run.engine)]

    # ---- keys

    def _type_value(self) -> None:
        """Keys are digits of the selected value; an opened step, whose column has no place for them, closes."""
        self.micro.close()
        self.selected.type_value()

    def _scale_rate(self, factor: float) -> None:
        self.worker.do(SetOptimizer((("lr", factor * self.worker.number("lr")),)))

    def load(self, path: Path) -> str:
        """Go on from the weights in a file, at their step."""
        done = super().load(path)
        self.playback.resume_here()
        return done

    # ---- touching

    @property
    def is_idle(self) -> bool:
        """Whether nothing trains or travels and no hand holds a weight."""
        busy = self.playback.running or self.worker.busy or self.worker.journey_progress is not None
        return not busy and self.pointer.grip is None

    def change(self, edit: Edit, gesture: str = "") -> None:
        """Do an edit at the next call boundary; a run that is paused stays so."""
        self.worker.do(edit, gesture=gesture)

    def teach(self, edit: Edit, gesture: str) -> None:
        """A panel changes the run, at the next call boundary; what is taught to one that stands is learnt."""
        self.worker.do(edit, gesture=gesture)
        taught = isinstance(edit, AddSamples | SetTargets)
        if taught and (not self.playback.running or self._lesson is not None):
            end = self.playback.end if self._lesson is None else self._lesson.end
            self._lesson = Lesson(edit, self.bench.subject, self.worker.latest.step, end)
            self.playback.end = self._lesson.last
            self.playback.play()
            self.say(self._lesson.begins())

    def _tell_lesson(self) -> None:
        """What was taught to a run that stood is learnt, or was tried long enough: it stands again."""
        lesson = self._lesson
        if lesson is None:
            return
        said, frame = lesson.end_words(self.worker.latest), self.worker.latest
        late = frame.step < lesson.last <= self.run.steps  # the last frame is on its way
        if not said and (self.playback.running or late):
            return
        self._lesson = None
        self.playback.pause()
        if self.playback.end == lesson.last:  # and it was not begun anew meanwhile
            self.playback.end = lesson.end
        self.refresh()
        if said:
            self.say(said, LESSON_SECONDS)

    def _tell_recordings(self) -> None:
        """Say news of the run's recordings once, here and on the terminal, also while it stands."""
        for recorder in self.run._recorders:
            news = recorder.news
            if news and news not in self._told:
                self._told.add(news)
                recorder.say()
                self.say(news, NEWS_SECONDS)
                self.refresh()


# ---- `Rate`: how often something happens, measured: frames a second, steps a second.


class Rate:
    """Events a second, or a counter's increase, over the last half second."""

    def __init__(self) -> None:
        self._marks: list[tuple[float, float]] = []
        self._count = 0.0

    def mark(self, value: float | None = None) -> None:
        """One more event, or the counter stands at `value`."""
        self._count = self._count + 1 if value is None else value
        now = time.perf_counter()
        self._marks.append((now, self._count))
        while len(self._marks) > 2 and now - self._marks[0][0] > 0.5:
            self._marks.pop(0)

    @property
    def value(self) -> float:
        """The rate, 0 before the second event."""
        if len(self._marks) < 2:
            return 0.0
        (start, first), (end, last) = self._marks[0], self._marks[-1]
        return max(0.0, (last - first) / max(end - start, 1e-9))


# ---- How often a window finds out which units are dead: always at rest, and else as often as it may cost.

SHARE = 0.02
"""Of the time, for finding them while steps go on: a thirtieth of a second holds at most 0.7 ms of it on average."""


class UnitsPace:
    """Gives frames the units of an earlier one where finding their own would take too long."""

    def __init__(self) -> None:
        self._pace = Pace(math.inf, SHARE, math.inf)
        self._last: Units | None = None
        self._network: object = None

    def shown(self, frame: Frame, *, rests: bool) -> Frame:
        """The frame as it is to be drawn; `rests`: nothing trains, there is time."""
        own, last, now = frame.units, self._last, time.perf_counter()
        if own is None or own is last:
            return frame
        first = frame.forward is not self._network
        if not (rests or last is None or first or self._pace.due(now)):
            return frame.with_units(last)
        own.find()
        self._last, self._network = own, frame.forward
        # for its first samples a network is made ready: that time says nothing
        self._pace.took(now, now + (0.0 if first else own.seconds))
        return frame


# ---- `Lesson`: what a hand has taught, and when that is learnt

LEAST, MOST = 30, 500
"""Steps: so many at least, or nothing would be seen, and so many at most."""


class Lesson:
    """What a hand has taught to a run that stood; it stops when that is learnt, at `last` at the latest.

    `end` is the step to which the run would go without it.
    """

    def __init__(self, edit: Edit, subject: Subject, start: int, end: int) -> None:
        self._subject, self._start, self.last, self.end = subject, start, start + MOST, end
        self._classes = _classes(edit, subject)
        self._samples = edit.inputs if isinstance(edit, AddSamples) else np.zeros(0)
        names = subject.sample.outputs  # what the samples should be read as; empty where no class was taught
        self._name = ", ".join(dict.fromkeys(names[k] for k in self._classes))

    def begins(self) -> str:
        """What is said when it begins."""
        if self._name:
            return f"teaching {self._name}: trains until the network reads it correctly, at most {MOST:,} steps"
        return f"teaching it: {MOST:,} steps"

    def end_words(self, frame: Frame) -> str:
        """What is said when it has ended at a frame; empty while it goes on."""
        done, name = frame.step - self._start, self._name
        if done >= LEAST and name and self._read(frame):
            return f"read as {name} after {done:,} steps"
        if frame.step < self.last:
            return ""
        return f"{f'not yet read as {name} after {done:,} steps' if name else f'{done:,} steps later'}; Space trains on"

    def _read(self, frame: Frame) -> bool:
        found = self._subject.source.predict(self._samples, frame.values)
        return bool(np.array_equal(np.argmax(found, axis=1), self._classes))


def _classes(edit: Edit, subject: Subject) -> list[int]:
    """The classes of samples that were taught; none where the targets are no classes."""
    if not isinstance(edit, AddSamples) or subject.sample.target is None:
        return []
    targets = np.asarray(edit.targets, float).reshape(len(edit.targets), -1)
    count = len(subject.sample.outputs)
    if targets.shape[1] != 1 or count < 2 or not np.isin(targets, np.arange(count)).all():
        return []
    return [int(k) for k in targets[:, 0]]


# ---- When a window speaks in large lines: before the first step, until it begins, and after the last one.

FADE, REST = 0.3, 0.5
"""Seconds in which lines fade, and after the last step until they come."""
BREATH, LEVELS = 2.0, 24
"""Seconds of a breath of the first key cap, and how many different pictures of it are drawn."""
BREATHING = 60.0
"""Seconds after which it rests: a window in which nothing happens draws nothing."""
Answer = TypeVar("Answer")


class StoryTelling:
    """The large lines of one window, which pauses at the step `last`.

    With `opens` it speaks before the first one too.
    """

    def __init__(self, view: LiveView, scene: Scene, last: int, *, opens: bool) -> None:
        self._view, self._story, self._source = view, scene.told, view.bench.subject.source
        self._first, self._last = scene.run.steps, last
        self._first_loss = view.bench.subject.loss(view.worker.latest)
        self._clock = 0.0
        self._begun: float | None = None  # the clock when it began
        self._stood: tuple[Frame, float] | None = None  # the frame at the end, and since when
        here = ActionContext(view.bench.subject)
        self._opening = StoryText(self._story.opening(scene.run.n_weights), self._story.sentence, opening_caps(here))
        self._weights = scene.run.n_weights
        self._opened_with: Frame | None = None  # the frame of which the opening speaks
        self._ending: StoryText | None = None
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

    def _tell(self, told: StoryText | None) -> None:
        story = self._view.bench.story
        if told != story.text:
            story.set_text(told)
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

    def _opened(self) -> StoryText | None:
        """The lines before the first step; they fade when it has begun."""
        opening = self._opening
        if self._begun is None:
            phase = np.rint(min(self._clock, BREATHING) / BREATH * LEVELS) / LEVELS
            return replace(opening, breath=float(0.5 - 0.5 * np.cos(2 * np.pi * (phase + 0.5))))
        alpha = 1.0 - (self._clock - self._begun) / FADE
        return replace(opening, alpha=alpha) if alpha > 0 else None

    def _ended(self, frame: Frame) -> StoryText | None:
        """The lines after the last step: while the window stands there, and nothing has been changed by hand."""
        view = self._view
        newest = frame.past is None or frame.past.newest == frame.step
        there = newest and frame.step == self._last and len(frame.curve.loss) > 0
        if view.playback.running or view.worker.error is not None or frame.edited or not there:
            self._stood = self._ending = None
            return None
        if self._stood is None or self._ending is None:
            self._stood, self._ending = (frame, self._clock), self._ending_text(frame)
        alpha = (self._clock - self._stood[1] - REST) / FADE
        return replace(self._ending, alpha=min(alpha, 1.0)) if alpha > 0 else None

    def _ending_text(self, frame: Frame) -> StoryText:
        losses, facts = frame.curve.loss, self._source.facts
        batches = 1 if facts is None else -(-facts.samples // max(facts.batch_size, 1))
        told, first = self._view.bench.subject.loss(frame), self._first_loss
        losses = np.append(losses, told)
        if self._view.bench.subject.whole_loss:
            losses, batches = np.array([first, told]), 1
        story = self._story
        reached = bool(self._asked(story.reached, frame, "reached", learnt(losses, batches, story.fall)))
        said = str(self._asked(story.claim, frame, "claim", "")) if reached or story.reached is not None else ""
        if not reached:
            return StoryText(f"Stopped at loss {loss_text(told)}.", said, self._end_caps)
        fall = loss_text(first), loss_text(told)
        return StoryText("Learnt.", said, self._end_caps, fall)

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


def opening_caps(here: ActionContext) -> tuple[Cap, ...]:
    """What can be pressed before the first step."""
    return _caps(here, (("toggle_run", "begin"), ("step", "one step"), ("toggle_help", "all keys")))


def ending_caps(here: ActionContext) -> tuple[Cap, ...]:
    """What can be tried after the last one."""
    caps = _caps(here, (("restart", "again"), ("type_word", "type a name")))
    for hand, does, begins in (
        ("Click", "inspect a cube", "on a cube"),
        ("Shift+Wheel", "over a cube: change it", "over a cube"),
    ):
        found = next((g for g in GESTURES if g.hand == hand and g.does.startswith(begins)), None)
        if found is not None and found.applies(here):
            caps += (Cap(hand, does, says=f"{hand} {found.does}"),)
    return caps


def _caps(here: ActionContext, wanted: tuple[tuple[str, str], ...]) -> tuple[Cap, ...]:
    """Caps of actions that there are, with the keys of the table."""
    found = [(BY_NAME[name], words) for name, words in wanted if name in BY_NAME]
    return tuple(Cap(action.keys[0], words, action.name) for action, words in found if action.applies(here))


# ---- Breakpoints in a window: a condition is typed, and one that is hit is told.

STOP_SECONDS = 20.0
"""How long it is said which breakpoint stopped the run, and with what numbers."""
SET_SECONDS = 6.0
LONGEST = 400
"""Letters that are typed; ``run.break_on`` takes longer conditions."""
LISTED = 3
EXAMPLES = "e.g. loss < 0.01, grad > 10, nan, 0.weight[0][0] crosses 0"


class BreakpointPrompt:
    """The breakpoints of one view; `typed` is the condition that is being typed, None while none is."""

    def __init__(self, view: Viewer, worker: Worker) -> None:
        self._view, self._worker = view, worker
        self._told: Stop | None = None
        self._refused = ""
        self._offered = False  # what is typed was put there, so letters replace it
        self._new = ""  # what was said of a new one, of which it is asked whether it is true already
        self.typed: str | None = None
        self.handlers: dict[str, Callable[..., None]] = {"break_on": self.open}

    # ---- one that was hit

    def pass_time(self) -> None:
        """What stopped the training is said once; the weight in question is selected, where none is."""
        stop = self._worker.stopped
        if stop is self._told:
            return
        self._told, self._new = stop, ""
        self._view.refresh()
        if stop is not None:
            if stop.weights and self._view.bench.selected is None:
                self._view.bench.select(stop.weights[0])  # why did it move?
            self._view.say(f"{stop}  \N{MIDDLE DOT}  press , to look inside that step", STOP_SECONDS)
            self._view.tell(str(stop))

    # ---- typing one

    def open(self) -> None:
        """From now on keys are letters of a condition; one of the selected weight is offered."""
        index = self._view.bench.selected
        self.typed = "" if index is None else f"{condition_name(self._worker.run, index)} crosses 0"
        self._refused, self._offered = "", index is not None

    def prompt(self) -> str:
        """What is typed, what is wrong with it, and what else there is; empty while nothing is typed."""
        if self.typed is None:
            return ""
        points = self._worker.run.breakpoints
        there = [_listed(point) for point in points[-LISTED:]]
        if len(points) > LISTED:
            there.insert(0, f"{len(points) - LISTED} more")
        hint = f"  ({EXAMPLES})" if not self.typed else ""
        ways = "Enter sets it, typing replaces it, End edits it" if self._offered else "Enter sets it"
        parts = [f"pause when: {self.typed}|{hint}", self._refused or f"{ways}, Escape cancels"]
        if there and not self._refused:
            parts += ["; ".join(there), "type a number to switch one off or on, minus a number to remove it"]
        return "  ·  ".join(parts)

    def key(self, pressed: str, text: str) -> bool:
        """A key while a condition is typed; whether it was taken."""
        if self.typed is None:
            return False
        if pressed == "Enter":
            self._enter(self.typed.strip())
        elif pressed == "Escape":
            self.typed = None
        elif pressed in ("Backspace", "Delete"):
            self.typed, self._refused = self.typed[:-1] if pressed == "Backspace" else "", ""
        elif text and text.isprintable():
            self.typed, self._refused = (text if self._offered else self.typed + text)[:LONGEST], ""
        self._offered = False
        return True

    def _enter(self, text: str) -> None:
        if not text:
            self.typed = None
            return
        try:
            self.apply(text)
        except ScalarvizError as error:
            first = str(error).partition("\n")[0]
            said, near, _ = first[max(first.find("at character"), 0) :].partition("?")  # the text stands before it
            self._refused = said + near
            return
        self.typed = None

    def apply(self, text: str) -> None:
        """Set a condition, by its number switch one off or on, or with a minus take it away; it is said.

        Raises
        ------
        InputError, UnknownNameError
            It cannot be read; there is no breakpoint of that number.
        """
        said = self._switched(text) if text.removeprefix("-").isdecimal() else self._add_breakpoint(text)
        self._view.say(said, SET_SECONDS)

    @property
    def listed(self) -> list[dict[str, object]]:
        """Those of the run: number, condition, hits, whether it is on."""
        return [{"number": p.number, "text": brief(p.text, 60), "hits": p.hits, "on": p.enabled}
                for p in self._worker.run.breakpoints]  # fmt: skip

    def _add_breakpoint(self, text: str) -> str:
        run = self._worker.run
        point = run.break_on(text)
        cost = "" if point.condition.of_losses else "; training checks after every step"
        said = f"breakpoint {point.number}: pauses when {point.text}{cost}"
        if not point.condition.expression.needs_before:
            self._new = said
            # it fails where the model is changed meanwhile, or the run closed
            self._view.ask_run(lambda run: holds(run, text), partial(self._say_whether_true, said), lambda error: None)
        return said

    def _say_whether_true(self, said: str, true: bool) -> None:
        """A condition that is true already pauses the run when it becomes true again."""
        if true and said == self._new:
            self._view.say(f"{said}; it is true now, so it waits until it becomes true again", SET_SECONDS)

    def _switched(self, text: str) -> str:
        points = self._worker.run.breakpoints
        point = points.numbered(int(text.removeprefix("-")[:9]))
        if text.startswith("-"):
            points.remove(point)
            return f"breakpoint {point.number} removed"
        point.enabled = not point.enabled
        return f"breakpoint {point.number} is {'on' if point.enabled else 'off'}: {point.text}"


def _listed(point: Breakpoint) -> str:
    said = [f"{point.number} {brief(point.text, 40)}"]
    said += [f"{point.hits:,} hit{'s' * (point.hits > 1)}"] * bool(point.hits)
    said += [] if point.enabled else ["off"]
    return ", ".join(said)
