"""`LiveView`: a scene that trains in a window. Edits happen between two steps and are logged."""

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
from ...run.opened.opened import Opened
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
from ..micro.walk import lacks_first_gradient, with_first_gradient
from ..panels.drawer import words_of
from ..screen.strip import Cap, StoryText
from ..shown.subject import Forecast, Subject, scene_subject
from ..workbench import Workbench
from .actions import BY_NAME, GESTURES, ActionContext, bottom_line
from .playback import Playback, speed_of
from .scene_controls import SceneControls
from .travels import stopped_by
from .viewer import Viewer

STEPS = 3000
"""Step at which a run pauses if its scene sets none."""
REHEARSAL_SECONDS = 0.4
"""Most seconds that the start of a window spends on finding out when there will be something to see."""
LESSON_SECONDS = 8.0
"""Seconds for which the result of teaching is shown."""
NEWS_SECONDS = 20.0
"""Seconds for which news of a recording is shown; training goes on, so nothing else reports it."""
COMPILING = "compiling kernels (once per machine)"
"""Shown in place of the speed while the speed is unknown."""


class LiveSource(RunSource):
    """The run of a worker as panels see it: their requests wait for a boundary between steps.

    So do their edits, which need a `view`. The view also starts journeys to other steps.
    """

    def __init__(self, worker: Worker, view: LiveView | None = None) -> None:
        super().__init__(worker.run)
        self._worker, self._view = worker, view

    def ask(self, function: Callable[[Run], Any]) -> PendingCall:
        """Call a function with the run at the next boundary between steps."""
        return self._worker.ask(function)

    def edit(self, edit: Edit, *, gesture: str = "") -> None:
        """Change the run at the next boundary between steps."""
        if self._view is not None:
            self._view.teach(edit, gesture)

    def to(self, step: int) -> None:
        """Start the journey to a step."""
        if self._view is not None:
            self._view.travels.go(step)


class LiveView(Viewer):
    """A scene, its worker, and its picture of `size` device pixels.

    The run pauses after `steps`, which take `duration` seconds. It starts after `wait` seconds without input; meanwhile
    the story's opening is shown. With ``wait=None`` it starts only with the Space key; without `playing` it stays
    paused and shows no opening.
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
            bench.side.shared.ahead = Forecast.from_rehearsal(rehearsal, self.worker.latest)
        self._compiling = not at_once
        if self._compiling:
            self.ask_run(self._compile, self._compiled, lambda error: self._compiled(math.nan))
        self._asked = self.worker.request()
        self.frames, self._steps = Rate(), Rate()
        self._raw: Frame | None = None
        self._with_rows: Frame | None = None
        self._units = UnitsPace()
        self._probes = 0
        self._lesson: Lesson | None = None
        self._told: set[str] = set()  # news already shown
        self._asked_gradient: tuple[int, bytes] | None = None  # edits and weights of the moment of the last question
        self._first_step: Opened | None = None  # the answer: it has the gradient that cubes show at step 0
        self.left_at: int | None = None  # the step shown at closing, if that was a past one
        self.prompt: Prompt | None = None  # the line being typed
        self.breaks, self.controls = Breakpoints(self, self.worker), SceneControls(self, scene)
        self.handlers |= self.breaks.handlers | self.controls.handlers | {
            "raise_rate": lambda: self._scale_rate(2.0), "lower_rate": lambda: self._scale_rate(0.5),
            "type_value": self._type_value,
        }  # fmt: skip
        self._telling = StoryTelling(self, scene, self.run.steps + steps, opens=playing and wait != 0)

    def close(self) -> None:
        """Stop training at the newest step and release the run."""
        self._closing = True
        self.left_at = self.worker.latest.step if self.travels.behind else None
        if self.left_at is not None:
            self.worker.ask(lambda run: run.to(span(run)[1]))
        self.worker.close()

    # ---- numbers

    def advance(self, seconds: float) -> None:
        """Advance training at its pace, whether or not the picture is drawn."""
        super().advance(seconds)
        self.breaks.pass_time()
        self._tell_recordings()
        self._tell_lesson()
        self._telling.pass_time(seconds)

    def tick(self, seconds: float) -> bool:
        """Advance by `seconds`; return whether the picture has to be drawn again."""
        self.follow(self.worker.latest)
        state = self.worker.state_wanted = self.bench.colouring.shows.state
        if (self.worker.moving or (state and not self.worker.latest.state)) and self._asked.done:
            self._asked = self.worker.request(state=state)
        return super().tick(seconds)

    def follow(self, frame: Frame) -> bool:
        """Rebuild the picture for another network, and close an opened step then."""
        if not self.bench.fits(frame):
            self.micro.close()
            self._raw = self._with_rows = None
        return super().follow(frame)

    def current_frame(self) -> Frame:
        """Return the worker's last frame with the activations of the probe sample."""
        frame, probes = self.worker.latest, self.bench.side.shared.probes
        if self._with_rows is not None and not self.bench.fits(frame):  # the next tick rebuilds the picture for it
            return self._with_rows
        late = self._with_rows is not None and self._with_rows.units_step is not None and self.is_idle
        if frame is not self._raw or self._with_rows is None or probes != self._probes or late:
            self._raw, self._probes = frame, probes
            probe = self.bench.subject.probe
            rows = {} if probe is None or frame.forward is None else frame.forward.activations(probe, frame.values)
            self._with_rows = self._units.shown(frame, rests=self.is_idle).with_activations(rows)
            self._steps.mark(frame.step)
        return self._with_rows

    def frame(self) -> Frame:
        """Return the numbers to show; cubes that show gradients at step 0 get those of the coming step."""
        frame, inside = super().frame(), self.bench.step_drawing.micro_step is not None
        if inside or not lacks_first_gradient(self.bench.subject, frame, self.bench.colouring.quantity):
            return frame
        asked = self.bench.subject.source.edits, frame.exact.tobytes()
        if self._asked_gradient != asked:
            self._asked_gradient, self._first_step = asked, None
            self.ask_run(lambda run: run.open(), partial(self._take_first_step, asked))
        return frame if self._first_step is None else with_first_gradient(frame, self._first_step)

    def _take_first_step(self, asked: tuple[int, bytes], opened: Opened) -> None:
        if asked == self._asked_gradient:
            self._first_step = opened

    def draw(self, viewport: tuple[int, int] | None = None) -> None:
        """Draw the picture into the bound framebuffer."""
        self.frames.mark()
        super().draw(viewport)

    def notice(self) -> str:
        """Return the line being typed, or else the notice."""
        return super().notice() if self.prompt is None else self.prompt.words()

    def ask_text(
        self, title: str, enter: Callable[[str], object], offered: str, more: Callable[[], list[str]] = list,
        hint: str = "",
    ) -> None:  # fmt: skip
        """Let a line be typed under a title, `offered` until a key is pressed; `enter` takes it or raises an error.

        `more` are further words behind it, and `hint` is one that stands in an empty line.
        """
        self.prompt = Prompt(title, enter, offered, more, hint)

    def send(self, name: str, value: int | None = None) -> bool:
        """Run an action; typing ends."""
        self.prompt = None
        return super().send(name, value)

    def _typed(self, pressed: str, text: str, *, shift: bool) -> bool:
        prompt = self.prompt
        if prompt is None:
            return super()._typed(pressed, text, shift=shift)
        if prompt.key(pressed, text):
            self.prompt = None
        return True

    def message(self) -> str:
        """Return what stopped the training, or ''."""
        return stopped_by(self.worker.error, keys=self.controls is None or not self.controls.panel.open)

    def _compile(self, run: Run) -> float:
        """Prepare the first step, in the training thread; return the engine's speed in steps a second."""
        run.prepare(lambda: self._closing)
        return full_speed(run)

    def _compiled(self, speed: float) -> None:
        """Store the speed. NaN means that compiling failed; training then meets and reports the same error."""
        self._compiling, self._full_speed = False, speed
        if self.playback.running:
            self.playback.resume_here()  # continue at the normal pace, without a jump

    def pace(self, frame: Frame) -> list[str]:
        """Return pace, steps a second (measured and possible; when paused only possible), frames a second, engine."""
        parts = [self.playback.text(), COMPILING if self._compiling else f"up to {speed_of(self._full_speed)} steps/s"]
        past = self.travels.words(frame)
        seen = self._steps.value  # full speed was measured once, maybe while the machine had more to do
        if past and self.playback.running:
            parts = [past, self.playback.text(), f"plays {speed_of(seen)} steps/s"]
        elif past:
            parts = [past]
        elif self.playback.running and not self._compiling and seen:
            parts[1] = f"{speed_of(seen)} of {speed_of(max(seen, self._full_speed))} steps/s"
        if self.playback.running:
            frames = self.frames.value
            parts.append(f"{frames:.{0 if frames >= 2 else 1}f} frames/s")
            parts += [self.run.breakpoints.remark] * bool(self.run.breakpoints.remark)
        else:  # a pause must not count in steps a second
            self._steps = Rate()
        if not self.playback.running and frame.step == 0 and not frame.edited:
            parts.insert(1, "not trained yet")
        return [*parts, str(self.run.engine)]

    # ---- keys

    def _type_value(self) -> None:
        """Type digits of the selected value. An opened step closes, as its column has no place for them."""
        self.micro.close()
        self.selected.type_value()

    def _scale_rate(self, factor: float) -> None:
        self.worker.do(SetOptimizer((("lr", factor * self.worker.number("lr")),)))

    def load(self, path: Path) -> str:
        """Continue from the weights in a file, at their step."""
        done = super().load(path)
        self.playback.resume_here()
        return done

    # ---- touching

    @property
    def is_busy(self) -> bool:
        """True if the run trains or travels."""
        return self.playback.running or self.worker.busy or self.worker.journey_progress is not None

    @property
    def is_idle(self) -> bool:
        """True if nothing trains or travels and no weight is held."""
        return not self.is_busy and self.pointer.grip is None

    def change(self, edit: Edit, gesture: str = "") -> None:
        """Make an edit at the next boundary between steps; a paused run stays paused."""
        self.worker.do(edit, gesture=gesture)

    def teach(self, edit: Edit, gesture: str) -> None:
        """Make a panel's edit at the next boundary; a paused run then trains on what was taught."""
        self.worker.do(edit, gesture=gesture)
        if isinstance(edit, AddSamples | SetTargets) and (not self.playback.running or self._lesson is not None):
            end = self.playback.end if self._lesson is None else self._lesson.end
            self._lesson = Lesson(edit, self.bench.subject, self.worker.latest.step, end)
            self.playback.end = self._lesson.last
            self.playback.play()
            self.say(self._lesson.begins())

    def _tell_lesson(self) -> None:
        """End the lesson when it is learnt, or after its last step; then pause and report."""
        lesson = self._lesson
        if lesson is None:
            return
        said, frame = lesson.end_words(self.worker.latest), self.worker.latest
        late = frame.step < lesson.last <= self.run.steps  # the last frame is on its way
        if not said and (self.playback.running or late):
            return
        self._lesson = None
        self.playback.pause()
        if self.playback.end == lesson.last:  # unless a new run began meanwhile
            self.playback.end = lesson.end
        self.refresh()
        if said:
            self.say(said, LESSON_SECONDS)

    def _tell_recordings(self) -> None:
        """Show news of the run's recordings once, here and on the terminal, even while paused."""
        for recorder in self.run._recorders:
            news = recorder.news
            if news and news not in self._told:
                self._told.add(news)
                recorder.say()
                self.say(news, NEWS_SECONDS)


# ---- `Rate`: frames or steps a second, measured.


class Rate:
    """Events a second, or the increase of a counter a second, over the last half second."""

    def __init__(self) -> None:
        self._marks: list[tuple[float, float]] = []
        self._count = 0.0

    def mark(self, value: float | None = None) -> None:
        """Count one more event, or set the counter to `value`."""
        self._count = self._count + 1 if value is None else value
        now = time.perf_counter()
        self._marks.append((now, self._count))
        while len(self._marks) > 2 and now - self._marks[0][0] > 0.5:
            self._marks.pop(0)

    @property
    def value(self) -> float:
        """The rate a second; 0 before the second event."""
        if len(self._marks) < 2:
            return 0.0
        (start, first), (end, last) = self._marks[0], self._marks[-1]
        return max(0.0, (last - first) / max(end - start, 1e-9))


# ---- How often a window looks for dead units: always when idle, otherwise within a share of the time.

SHARE = 0.02
"""Share of the time for finding dead units during training: on average at most 0.7 ms of 1/30 s."""


class UnitsPace:
    """Gives frames the units of an earlier frame when finding their own would take too long."""

    def __init__(self) -> None:
        self._pace = Pace(math.inf, SHARE, math.inf)
        self._last: Units | None = None
        self._network: object = None

    def shown(self, frame: Frame, *, rests: bool) -> Frame:
        """Return the frame to draw; `rests` says that nothing trains and there is time."""
        own, last, now = frame.units, self._last, time.perf_counter()
        if own is None or own is last:
            return frame
        first = frame.forward is not self._network
        if not (rests or last is None or first or self._pace.due(now)):
            return frame.with_units(last)
        own.find()
        self._last, self._network = own, frame.forward
        # a network prepares itself for its first samples: that time is not typical
        self._pace.took(now, now + (0.0 if first else own.seconds))
        return frame


# ---- `Lesson`: samples or targets that the user taught, and when they are learnt.

LEAST, MOST = 30, 500
"""Fewest steps, so that something is seen, and most steps of a lesson."""


class Lesson:
    """Samples or targets taught to a paused run; training ends when they are learnt, at the latest at step `last`.

    `end` is the step at which the run would pause without the lesson.
    """

    def __init__(self, edit: Edit, subject: Subject, start: int, end: int) -> None:
        self._subject, self._start, self.last, self.end = subject, start, start + MOST, end
        self._classes = _classes(edit, subject)
        self._samples = edit.inputs if isinstance(edit, AddSamples) else np.zeros(0)
        names = subject.sample.outputs  # the classes that the samples should be read as; empty if no class was taught
        self._name = ", ".join(dict.fromkeys(names[k] for k in self._classes))

    def begins(self) -> str:
        """Return the opening message."""
        if self._name:
            return f"teaching {self._name}: trains until the network reads it correctly, at most {MOST:,} steps"
        return f"teaching your sample: {MOST:,} steps"

    def end_words(self, frame: Frame) -> str:
        """Return the message once the lesson has ended at this frame; '' before that."""
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
    """Return the classes of taught samples; [] if the targets are not classes."""
    if not isinstance(edit, AddSamples) or subject.sample.target is None:
        return []
    targets = np.asarray(edit.targets, float).reshape(len(edit.targets), -1)
    count = len(subject.sample.outputs)
    if targets.shape[1] != 1 or count < 2 or not np.isin(targets, np.arange(count)).all():
        return []
    return [int(k) for k in targets[:, 0]]


# ---- The large lines of a window: before the first step, until it starts, and after the last step.

FADE, REST = 0.3, 0.5
"""Seconds of a fade, and seconds between the last step and the closing lines."""
DIVERGED = 10.0
"""A run whose last loss is more than this many times the first one has diverged."""
ROUNDING = 1e-6
"""A first loss below this is 0 but for rounding errors: ten times as much is no divergence."""
BREATH, LEVELS = 2.0, 24
"""Seconds of one pulse of the first key cap, and number of different pictures of it."""
BREATHING = 60.0
"""Seconds after which the pulse stops, so that an idle window draws nothing."""
Answer = TypeVar("Answer")


class StoryTelling:
    """The large lines of one window, whose run pauses at the step `last`.

    With `opens` they also appear before the first step.
    """

    def __init__(self, view: LiveView, scene: Scene, last: int, *, opens: bool) -> None:
        self._view, self._story, self._source = view, scene.shown_story, view.bench.subject.source
        self._first, self._last = scene.run.steps, last
        self._first_loss = view.bench.subject.loss(view.worker.latest)
        self._clock = 0.0
        self._begun: float | None = None  # the clock at the first step
        self._stood: tuple[Frame, float] | None = None  # the frame at the end, and when it was reached
        here = ActionContext(view.bench.subject)
        self._weights = scene.run.n_weights
        begins = _caps(here, (("toggle_run", "begin"), ("step", "one step"), ("toggle_help", "all keys")))
        self._opening = StoryText(self._story.opening(self._weights), self._story.sentence, begins)
        self._opened_with: Frame | None = None  # the frame that the opening describes
        self._ending: StoryText | None = None
        self._end_caps = ending_caps(here)
        if opens:
            self._tell(self._opening)
        else:  # nothing is waited for, so no opening
            self._begun = -FADE

    def pass_time(self, seconds: float) -> None:
        """Advance by `seconds` and update the lines."""
        frame = self._view.worker.latest
        self._clock += seconds
        if self._begun is None and (self._view.playback.running or frame.step != self._first):
            self._begun = self._clock
        if self._begun is None:
            self._keep_true(frame)
        ended = self._ended(frame)
        self._tell(self._opened() or ended)

    def _tell(self, text: StoryText | None) -> None:
        story = self._view.bench.story
        if text != story.text:
            story.set_text(text)
            self._view.refresh()

    def _keep_true(self, frame: Frame) -> None:
        """Update the opening after an edit before the first step."""
        if self._opened_with is None or frame is self._opened_with:
            self._opened_with = frame
            return
        old, story = self._opening, self._story
        self._weights += len(frame.values) - len(self._opened_with.values)
        self._opened_with = frame
        sentence = self._asked(story.anew, frame, "anew", old.sentence)
        self._opening = replace(old, headline=story.opening(self._weights), sentence=sentence or old.sentence)

    def _opened(self) -> StoryText | None:
        """Return the opening; it fades after the start."""
        opening = self._opening
        if self._begun is None:
            phase = np.rint(min(self._clock, BREATHING) / BREATH * LEVELS) / LEVELS
            return replace(opening, breath=float(0.5 - 0.5 * np.cos(2 * np.pi * (phase + 0.5))))
        alpha = 1.0 - (self._clock - self._begun) / FADE
        return replace(opening, alpha=alpha) if alpha > 0 else None

    def _ended(self, frame: Frame) -> StoryText | None:
        """Return the closing lines while the run is paused at its last step without later edits."""
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
        loss, first = self._view.bench.subject.loss(frame), self._first_loss
        losses = np.append(losses, loss)
        if self._view.bench.subject.whole_loss:
            losses, batches = np.array([first, loss]), 1
        story = self._story
        reached = bool(self._asked(story.reached, frame, "reached", learnt(losses, batches, story.fall)))
        said = str(self._asked(story.claim, frame, "claim", "")) if reached or story.reached is not None else ""
        if not reached and not loss <= DIVERGED * max(first, ROUNDING):
            advice = f"The loss began at {loss_text(first)}. Try a smaller learning rate."
            return StoryText(f"Diverged to loss {loss_text(loss)}.", said or advice, self._end_caps)
        if not reached:
            return StoryText(f"Stopped at loss {loss_text(loss)}.", said, self._end_caps)
        return StoryText("Learnt.", said, self._end_caps, (loss_text(first), loss_text(loss)))

    def _asked(self, function: Callable[[Moment], Answer] | None, frame: Frame, name: str, other: Answer) -> Answer:
        """Return what a function of the story says about the frame; `other` if there is none or if it raises."""
        if function is None:
            return other
        try:
            return function(Moment(frame, self._source))
        except Exception as error:  # scene code: the window goes on without the sentence
            self._view.bench.side.shared.notes.append(f"the story's {name}: {words_of(error)}")
            return other


def learnt(losses: np.ndarray, batches: int = 1, fall: float = 0.5) -> bool:
    """Return whether the loss has fallen by at least the share `fall` of its first value.

    With several `batches`, compare the mean losses of the first and the last epoch.
    """
    count = max(1, min(batches, len(losses) // 4))
    first, last = float(np.mean(losses[:count])), float(np.mean(losses[-count:]))
    return bool(np.isfinite(last) and last <= first - fall * abs(first))


def ending_caps(here: ActionContext) -> tuple[Cap, ...]:
    """Return the key caps and gestures after the last step."""
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
    """Return caps of the actions that apply, with the keys of the table."""
    found = [(BY_NAME[name], words) for name, words in wanted]
    return tuple(Cap(action.keys[0], words, action.name) for action, words in found if action.applies(here))


# ---- Typing a line in a window; breakpoints: typing a condition, and reporting a hit.

STOP_SECONDS = 20.0
"""Seconds for which a hit breakpoint and its numbers are shown."""
SET_SECONDS = 6.0
LONGEST = 400
"""Most characters that can be typed; ``run.break_on`` takes longer conditions."""
LISTED = 3
EXAMPLES = "e.g. loss < 0.01, grad > 10, nan, 0.weight[0][0] crosses 0"


class Prompt:
    """A line that is being typed, in the place of the notice. `enter` takes it, or says in its error why not."""

    def __init__(
        self, title: str, enter: Callable[[str], object], offered: str, more: Callable[[], list[str]], hint: str
    ) -> None:
        self._title, self._enter, self._more, self._hint = title, enter, more, hint
        self.text, self._refused = offered, ""
        self._offered = bool(offered)  # typing replaces it

    def words(self) -> str:
        """Return the typed text, its error and the options."""
        hint = f"  ({self._hint})" if not self.text else ""
        ways = "Enter sets it, typing replaces it, End edits it" if self._offered else "Enter sets it"
        parts = [f"{self._title}: {self.text}|{hint}", self._refused or f"{ways}, Escape cancels"]
        return "  ·  ".join([*parts, *([] if self._refused else self._more())])

    def key(self, pressed: str, text: str) -> bool:
        """Handle a key; return whether typing ends."""
        if pressed == "Enter":
            return self._ended(self.text.strip())
        if pressed in ("Backspace", "Delete"):
            self.text, self._refused = self.text[:-1] if pressed == "Backspace" else "", ""
        elif text and text.isprintable():
            self.text, self._refused = (text if self._offered else self.text + text)[:LONGEST], ""
        self._offered = False
        return pressed == "Escape"

    def _ended(self, text: str) -> bool:
        self._refused = ""
        try:
            self._enter(text)
        except ScalarvizError as error:
            first = str(error).partition("\n")[0]
            said, near, _ = first[max(first.find("at character"), 0) :].partition("?")  # the text is shown before it
            self._refused = said + near
        return not self._refused


class Breakpoints:
    """The breakpoints of one view."""

    def __init__(self, view: LiveView, worker: Worker) -> None:
        self._view, self._worker = view, worker
        self._told: Stop | None = None
        self._new = ""  # the message of a new breakpoint whose condition is being evaluated
        self.handlers: dict[str, Callable[..., None]] = {"break_on": self.open}

    # ---- a hit

    def pass_time(self) -> None:
        """Report once what stopped the training; select its weight if none is selected."""
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

    # ---- typing a condition

    def open(self) -> None:
        """Start typing a condition; suggest one for the selected weight."""
        index = self._view.bench.selected
        offered = "" if index is None else f"{condition_name(self._worker.run, index)} crosses 0"
        self._view.ask_text("pause when", self.apply, offered, self._listed, EXAMPLES)

    def _listed(self) -> list[str]:
        """Return the breakpoints in words, and what can be typed about them."""
        points = self._worker.run.breakpoints
        there = [_listed(point) for point in points[-LISTED:]]
        if len(points) > LISTED:
            there.insert(0, f"{len(points) - LISTED} more")
        ways = "type a number to switch one off or on, minus a number to remove it"
        return ["; ".join(there), ways] if there else []

    def apply(self, text: str) -> None:
        """Set a condition; a number switches that breakpoint off or on, minus a number removes it. A notice reports it.

        Raises
        ------
        InputError, UnknownNameError
            The condition cannot be parsed; there is no breakpoint with this number.
        """
        if text:
            said = self._switched(text) if text.removeprefix("-").isdecimal() else self._add_breakpoint(text)
            self._view.say(said, SET_SECONDS)

    def _add_breakpoint(self, text: str) -> str:
        run = self._worker.run
        point = run.break_on(text)
        cost = "" if point.condition.of_losses else "; training checks after every step"
        said = f"breakpoint {point.number}: pauses when {point.text}{cost}"
        if not point.condition.expression.needs_before:
            self._new = said
            # this fails when the model changes meanwhile or the run is closed
            self._view.ask_run(lambda run: holds(run, text), partial(self._say_whether_true, said), lambda error: None)
        return said

    def _say_whether_true(self, said: str, true: bool) -> None:
        """Report that a condition is true already, so that it pauses only when it becomes true again."""
        if true and said == self._new:
            self._view.say(f"{said}. That is true now; the run pauses when it becomes true again", SET_SECONDS)

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
