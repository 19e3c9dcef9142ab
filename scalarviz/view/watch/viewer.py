"""`Viewer`: an interactive picture. It is independent of the window system.

A `Host` (a window or an off-screen canvas) sends it time, keys and pointer events, and draws on request. Users send
actions of the table in `actions` by name, or pointer events. A recording plays. A `Viewer` follows changes made
elsewhere (a hand-written loop, ``w.step()``, a run stepped by hand); a `LiveView` trains a run.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from ...errors import InputError, ScalarvizError
from ...run.core.frame import Frame
from ...run.edits import Edit, SetWeights
from ...run.frames import FrameRequest, PendingCall
from ...run.run import Run
from ...run.sources.played import Played
from ..ink.theme import Theme
from ..ink.widgets import help_pages
from ..screen.hud import mistake_words
from ..shown.subject import LOOP_CURVE, subject_of
from ..workbench import Workbench
from .actions import Action, ActionContext, action_for_key, action_of, action_words, bottom_line, help_lines, normalised
from .files import PICTURES, WEIGHTS, Growing, open_file, paste
from .host import Guest, Host, Point
from .looks import LookActions
from .microsteps import MicroSteps
from .playback import DURATION, LONGEST_TICK, Guide, Playback, speed_text
from .pointer import Pointer
from .scene_controls import SceneControls
from .selected import Asking, SelectedWeights
from .travels import Travels

Take = Callable[[Any], object]
"""Takes the answer, or the error."""
WAIT = 4.0
"""Seconds without input after which a window starts by itself; input restarts the count."""
PRESSED_SECONDS = 1.6
"""Seconds for which the presenter theme shows a pressed key."""


def bench_of(x: object, size: tuple[int, int], theme: str | Theme = "dark", cmap: str | None = None) -> Workbench:
    """Return a workbench with a line of keys, and a time bar where past steps are kept."""
    subject = subject_of(x)
    return Workbench(subject, size, theme, cmap, keys=bottom_line(ActionContext(subject, trains=False)), text_hz=10.0)


class Viewer(Guest):
    """Keys, pointer and redrawing around one workbench. Use it while the workbench's GL context is current.

    Its `playback` advances time. A whole recording takes `duration` seconds. Playing starts after `wait` seconds
    without input; with None it starts only with the Space key. `handlers` maps action names to functions, `clock`
    counts seconds, and `touches` counts keys, buttons and turns of the wheel.
    """

    trains = False
    """True if the viewer trains the run that it shows."""
    notice_seconds = 4.0

    def __init__(
        self, bench: Workbench, playback: Playback | None = None, duration: float = DURATION, wait: float | None = None
    ) -> None:
        self.bench = bench
        source = self._source = bench.subject.source
        self._request: FrameRequest | None = None  # a request that another thread may still be answering
        self._at: tuple[object, int] | None = None  # position in the recording when its frame was read
        self._last: Frame | None = None
        self._trouble = ""
        self._wait, self._waited, self._touched = wait, 0.0, 0
        self._waiting: list[tuple[PendingCall, Take, Take]] = []
        tells = source.facts is not None or LOOP_CURVE in bench.subject.panels
        self._room = source.counted, tells, source.can.go
        self._shown: Frame | None = None
        bench.bar.action_words = lambda name: action_words(name, self.action_context(in_general=True))
        bench.interaction.table = (*help_lines(self.action_context(in_general=True)), *bench.side.gestures)
        self.playback = playback or Playback(Guide(source), duration=duration)
        self._first = self.playback.current_step
        self.pointer, self.selected, self.asking = Pointer(self), SelectedWeights(self), Asking(self)
        self.travels, self.micro = Travels(self), MicroSteps(self)
        self.growing = Growing(self)
        self.controls: SceneControls | None = None  # the panel of controls, if there is one
        self.touches, self._wrong, self._pressed_until = 0, "", 0.0
        self.handlers: dict[str, Callable[..., object]] = {
            **LookActions(self).handlers, **self.selected.handlers, **self.travels.handlers,
            **self.micro.handlers, **self.host_handlers,
            "toggle_run": self.toggle_run, "step": self.step, "slower": partial(self._change_speed, -1),
            "faster": partial(self._change_speed, +1), "normal_speed": partial(self._change_speed, 0),
            "toggle_help": self.toggle_help, "escape": self.escape, "paste": partial(paste, self),
            "open": self._ask_file,
        }  # fmt: skip
        if wait == 0:
            self.playback.play()

    # ---- numbers

    def current_frame(self) -> Frame:
        """Return the current or recorded numbers; while another thread trains, its last finished frame."""
        source = self._source
        if isinstance(source, Played):
            return self._recorded(source)
        before = request = self._request
        if request is None or request.done:
            request = source.request_frame(self.bench.subject.probe, state=self.bench.colouring.shows.state)
        self._request = None if request.done else request
        come = next((asked for asked in (request, before) if asked is not None and asked.done), None)
        if come is not None or self._last is None:
            self._last = (come or request).result()
        return self._last

    def _recorded(self, source: Played) -> Frame:
        at = (source.past, source.place)
        if self._last is None or self._at != at:
            self._at = at
            try:
                self._last, self._trouble = source.frame(), ""
            except ScalarvizError as error:  # the file was cut or changed meanwhile
                if self._last is None:
                    raise
                self._trouble = str(error)
                self.playback.pause()
        return self._last

    def _make_room(self) -> None:
        """Make room for step, loss and time once a hand-written loop counts or reports them."""
        source, tells = self._source, self._room[1]
        room = source.counted, tells or len(source.curve.step) > 0, source.can.go
        if room != self._room:
            self._room = room
            if room[1] and not tells:
                self.bench.side.add(LOOP_CURVE)
            self.resize(self.bench.size)

    def pace(self, frame: Frame) -> list[str]:
        """Return the parts of the HUD's second line for `frame`; the worker may be further by now."""
        source, facts = self._source, self._source.facts
        engine = "" if facts is None else facts.engine
        if isinstance(source, Played):
            return ["recording", self.playback.text(), self.growing.words, source.spread, engine]
        return [self.travels.words(frame), engine]

    def message(self) -> str:
        """Return the error message, or ''. After an error the picture may show another step."""
        return f"step {self.playback.current_step:,} cannot be read: {self._trouble}" if self._trouble else ""

    @property
    def is_idle(self) -> bool:
        """True if there is time for extra work: nothing plays, trains or travels."""
        return not self.playback.running

    def frame(self) -> Frame:
        """Return the numbers to show; inside an opened step, up to the current micro-step."""
        frame, step = self.current_frame(), self.bench.step_drawing.micro_step
        return frame if step is None else step.frame

    def pace_text(self, frame: Frame | None = None) -> str:
        """Return the HUD's second line for `frame`, or for the current moment with None."""
        frame = self.current_frame() if frame is None else frame
        return self.micro.headline or "  ·  ".join(filter(None, self.pace(frame)))

    @property
    def shown(self) -> Frame:
        """The frame in the picture."""
        return self._shown or self.frame()

    def set_weight(self, index: int, value: float, gesture: str = "") -> None:
        """Set the weight at flat `index`; all changes of one gesture form one edit."""
        self.change(SetWeights(index, np.array([value])), gesture)

    def change(self, edit: Edit, gesture: str = "") -> None:
        """Make an edit; edits of one gesture that overwrite each other become one."""
        self._source.edit(edit, gesture=gesture)

    def close(self) -> None:
        """Stop following recordings."""
        self.growing.close()

    def ask_run(self, function: Callable[[Run], object], then: Take, failed: Take | None = None) -> None:
        """Call a function with the run between two steps; pass the answer to `then`, or the error to `failed`."""
        self._waiting.append((self._source.ask(function), then, failed or (lambda error: self.say(str(error)))))
        if not self.trains:  # otherwise answers are taken between two ticks, never during a request
            self._take_answers()

    def _take_answers(self) -> None:
        """Pass finished answers on."""
        done = [one for one in self._waiting if one[0].done()]
        self._waiting = [one for one in self._waiting if one not in done]
        for asked, then, failed in done:
            try:
                found = asked.result()
            except (ScalarvizError, MemoryError) as error:
                failed(error)
            else:
                then(found)
            self.refresh()

    def load(self, path: Path) -> str:
        """Continue from the weights in a file; return a sentence for the user."""
        return f"loaded the weights of step {self._source.load(path):,}"

    # ---- time

    def advance(self, seconds: float) -> None:
        """Advance what is shown by `seconds`, whether or not it is drawn."""
        self.pass_time(seconds)
        self._take_answers()
        self.pointer.pass_time(self.clock)
        self.travels.pass_time()
        running = self.playback.running
        if not self.micro.pass_time(seconds):
            self.playback.tick(seconds)
        if self.playback.running != running:  # at its end: report it although no cube changes any more
            self.refresh()
        self.growing.pass_time()
        self._begin(min(seconds, LONGEST_TICK))  # a slow start does not count as waiting

    def _begin(self, seconds: float) -> None:
        """Start playing once nothing was touched for a while and nothing is open."""
        bench, playback = self.bench, self.playback
        if self._wait is None or playback.running or playback.current_step != self._first:
            self._wait = None
            return
        opened = bench.selected is not None or bench.step_drawing.micro_step
        something = bench.interaction.help or opened or bench.side.typing
        untouched, self._touched = self.touches == self._touched, self.touches
        free = self.pointer.free and untouched and not something and playback.worker.error is None
        self._waited = self._waited + seconds if free else 0.0
        if self._waited >= self._wait:
            playback.play()

    def _beat(self, host: Host, seconds: float) -> None:
        """Advance by `seconds` of the host's clock."""
        if not host.visible:
            self.advance(seconds)
        elif self.tick(seconds):
            host.repaint()

    def open(self, paths: Sequence[Path]) -> None:
        """Open files that were dropped or chosen (pictures, tables, weights); a notice reports each result."""
        for path in paths:
            with self.saying():
                self.say(open_file(self, path))

    def tell(self, line: str) -> None:
        """Print a line on the terminal."""
        if self.host is not None:
            self.host.tell(line)

    def notice(self) -> str:
        """Return the current notice, or ''."""
        return self._notice

    def tick(self, seconds: float) -> bool:
        """Advance by `seconds`; return whether the picture has to be drawn again."""
        if not (self.trains or self._source.recorded):
            self._make_room()
        self.advance(seconds)
        self.bench.bar.running = self.playback.running
        told = self.bench.side.shared.notes
        for line in told:
            self.tell(line)
        told.clear()
        frame, said = self.frame(), (self.message(), self.notice())
        self.follow(frame)
        wrong, on = mistake_words(self.bench.subject), self.bench.interaction
        if wrong != self._wrong:  # switched on or off without changing a number
            self._wrong, self._dirty = wrong, True
            self.bench.text_pace.hurry()
        if on.pressed is not None and self.clock >= self._pressed_until:
            on.pressed, self._dirty = None, True
        self.selected.pass_time()
        self.asking.pass_time(seconds, frame)
        self._dirty |= self.controls is not None and self.controls.pass_time(seconds, frame)
        self._dirty |= self.bench.moving or said != (on.message, on.notice) or differs(self._shown, frame)
        if not self._dirty:
            self.bench.text_pace.rest(seconds)
            return False
        self._shown, self._dirty = frame, False
        on.message, on.notice = said
        self.bench.update(frame, self.pace_text(frame), seconds)
        return True

    def follow(self, frame: Frame) -> bool:
        """Rebuild the picture if the frame is of another network; return whether it did. A held weight is dropped."""
        grown = self.bench.follow(frame)
        if grown:
            self.pointer.let_go()
            self._shown = None
        return grown

    def draw(self, viewport: tuple[int, int] | None = None) -> None:
        """Draw the picture into the bound framebuffer."""
        self.bench.draw(viewport)

    def for_file(self) -> AbstractContextManager[bool]:
        """Show the picture for stills and films inside the block; yield whether it differs."""
        return nullcontext(False) if self.controls is None else self.controls.put_away()

    def refresh(self) -> None:
        """Redraw at the next tick in any case."""
        self._dirty = True

    def resize(self, size: tuple[int, int]) -> None:
        """Lay out for another size in device pixels."""
        self.bench.resize(size)
        self.refresh()

    # ---- actions

    def action_context(self, *, in_general: bool = False) -> ActionContext:
        """Return the context for actions now; with `in_general`, as in a window after a step."""
        seen, asked = self._shown, ("gradient", "update")
        computed, moved = (in_general or (seen is not None and bool(seen.known(name).any())) for name in asked)
        host, selected = in_general or self.host is not None, in_general or self.bench.interaction.inspector is not None
        return ActionContext(self.bench.subject, trains=self.trains, computed=computed, moved=moved, selected=selected,
                    host=host, layers=len(self.bench.layer_names))  # fmt: skip

    def send(self, name: str, value: int | None = None) -> bool:
        """Run the action `name`, with a value if it takes one; None stands for the value that its key sends.

        Return whether the action applies here; if not, a notice says why.

        Raises
        ------
        UnknownNameError
            There is no such action.
        TypeMismatchError, InputError
            The action does not take this value.
        """
        action = action_of(name)
        if action.values is None and value is not None:
            raise InputError(f"{name}: got {value!r:.60}; allowed: no value")
        values = [] if action.values is None else [action.values.checked(name, value)]
        here, said = self.action_context(), action.keys[0] if action.keys else name
        reason = action.missing(here)
        if reason:
            self.say(f"{said}: {reason}")
        else:
            if name != "escape":
                self._escape_until = 0.0
            self.handlers[name](*values)
            if remark := action.remark(here):
                self.say(f"{said}: {remark}")
        self.refresh()
        return not reason

    def key(self, name: str | None, text: str = "", *, shift: bool = False, ctrl: bool = False) -> bool:
        """Handle a key; return whether it has a meaning. A notice explains a key that does nothing here."""
        self.touches += 1
        pressed = normalised(name, text, ctrl=ctrl)
        shifted = action_for_key(normalised(name, text, ctrl=ctrl, shift=True)) if shift else None
        with self.saying():
            if not ctrl and self._typed(pressed, text, shift=shift):
                self.refresh()
                return True
        action = shifted or action_for_key(pressed)
        if action is None:
            return self._does_nothing(pressed)
        self._show_pressed(action, pressed, shifted=shift and (action is shifted or action.values is not None))
        with self.saying():
            self.send(action.name, action.value_of(pressed, shift=shift))
        return True

    def _typed(self, pressed: str, text: str, *, shift: bool) -> bool:
        """Return whether the controls, a number being typed or a panel takes the key."""
        answers = pressed in ("Up", "Down") and self.micro.asks
        if self.bench.interaction.help:  # the list of keys covers the question
            return answers
        if answers:
            self.micro.answer(rises=pressed == "Up")
            return True
        controls = self.controls is not None and self.controls.key(pressed, shift=shift)
        return controls or self.selected.key(pressed, text) or self.bench.side.key(pressed, text)

    def _show_pressed(self, action: Action, pressed: str, *, shifted: bool) -> None:
        """Show the audience the pressed key and its action."""
        if self.bench.theme.presenter:
            key = pressed if action.numbered else action.keys[0]
            what = re.sub(r"\s*\([^)]*\)", "", action.words_in(self.action_context()).does)
            self.bench.interaction.pressed = f"Shift+{key}" if shifted and not key.startswith("Shift") else key, what
            self._pressed_until = self.clock + PRESSED_SECONDS

    @contextmanager
    def saying(self) -> Iterator[None]:
        """Show errors of the block in the picture instead of raising them."""
        try:
            yield
        except ScalarvizError as error:
            self.say(str(error))

    def toggle_help(self) -> None:
        """Show the next page of the list of keys, or hide the list."""
        pages, shown = help_pages(self.bench.places.size, self.bench.interaction.table), self.bench.interaction.help
        self.bench.interaction.help = shown + 1 if shown < len(pages) else 0

    def escape(self) -> None:
        """Close what is open; otherwise run `escape_action`, or close the window at the second press."""
        if self._close_first():
            self._escape_until = 0.0
        else:
            self._leave_window()

    def _close_first(self) -> bool:
        """Close one open thing; return whether there was one.

        The order: the list of keys, an opened step, a journey to another step, a search, a weight being changed (its
        old value returns), a selected cube or colour.
        """
        if self.bench.interaction.help:
            self.bench.interaction.help = 0
            return True
        if self.pointer.grip is None and self.micro.close():
            return True
        if self.travels.cancel():
            self.say("stays here")
            return True
        return self.selected.cancel() or self.pointer.let_go(undo=True) or self.bench.let_go()

    # ---- time, by hand

    def toggle_run(self) -> None:
        """Run or pause. An opened step first plays to its end; a journey to another step ends."""
        if self.travels.play_there():
            return
        if not (self.playback.running or self.playback.slowest):
            if self.micro.play_inside():
                return
            self.micro.close()
        self.playback.toggle()

    def step(self, count: int = 1) -> None:
        """Train `count` steps, or move forward through past ones; inside an opened step, finish it."""
        if self.micro.finish():
            return
        if self.trains:
            self.playback.step(count, on_the_way=self.travels.goal is not None)
        elif not self.travels.forward(count):
            self.travels.newest()

    def _change_speed(self, by: int) -> None:
        before = self.playback.speed
        self.playback.change_speed(by)
        if self.playback.speed == before:
            self.say(f"the speed is already {speed_text(before)}")

    # ---- files

    def _ask_host(self, what: Callable[[Host], object]) -> None:
        self.bench.refresh()  # texts on a slower clock must show this moment too
        super()._ask_host(what)

    def _ask_file(self) -> None:
        if self.host is not None:
            self.host.ask_file("Open a picture or weights", (*PICTURES, *WEIGHTS), lambda path: self.open([path]))

    # ---- pointer, in device pixels

    def press(
        self, at: Point, button: str = "left", *, shift: bool = False, ctrl: bool = False, when: float | None = None
    ) -> None:
        """Handle a button press, in device pixels, at a time in seconds; default: now."""
        self.touches += 1
        with self.saying():
            self.pointer.press(at, button, shift=shift, ctrl=ctrl, when=when)

    def move(self, at: Point) -> None:
        """Handle a pointer move."""
        with self.saying():
            self.pointer.move(at)

    def release(self, at: Point) -> None:
        """Handle a button release."""
        with self.saying():
            self.pointer.release(at)

    def leave(self) -> None:
        """Handle the pointer leaving the window."""
        self.pointer.leave()

    def scroll(self, at: Point, notches: tuple[float, float], *, shift: bool = False) -> None:
        """Handle the wheel; `notches` count to the right and up."""
        self.touches += 1
        with self.saying():
            self.pointer.scroll(at, notches, shift=shift)


def differs(old: Frame | None, frame: Frame) -> bool:
    """Return whether `frame` gives another picture than `old`."""
    if old is frame:
        return False
    return (
        old is None
        or any(getattr(old, name) != getattr(frame, name) for name in ("step", "edited", "next_lr", "units_step"))
        or old.state.keys() != frame.state.keys()
        or not np.array_equal(old.activations.get("input", ()), frame.activations.get("input", ()), equal_nan=True)
        or not all(
            np.array_equal(getattr(old, name), getattr(frame, name), equal_nan=name != "frozen")
            for name in ("loss", "values", "gradient", "frozen")
        )
    )
