"""`Viewer`: a picture that is watched and touched. Knows no window system: it is told keys, pointer and time.

A `Host` (a window, a canvas that nobody sees) gives it time, tells it what happens and draws when it says so. What a
user can do is an action of the table in `actions`, told by its name, or a pointer event. A recording plays; what
somebody else changes (a hand-written loop, ``w.step()``, a run stepped by hand) is followed; a `LiveView` trains a run.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from ...errors import InputError, ScalarvizError
from ...io import CsvTable, load_picture, parse_csv, read_csv
from ...run.core.frame import Frame
from ...run.edits import Edit, SetWeights
from ...run.frames import FrameRequest, PendingCall
from ...run.panels import WordBoard
from ...run.run import Run
from ...run.sources.played import Played, RecordedSource
from ...run.sources.recorded_pair import NAMES, RecordedPair
from ...run.sources.recording.recorded import Following
from ..cubes.atlas import THRESHOLDS
from ..ink.overlay import help_pages
from ..ink.theme import Theme
from ..panels.word import WordDrawer
from ..screen.hud import mistake_words
from ..shown.subject import LOOP_CURVE, subject_of
from ..workbench import Workbench
from .actions import Action, ActionContext, action_for_key, action_of, action_words, bottom_line, help_lines, normalised
from .desk import Desk
from .host import Guest, Host, Point
from .microsteps import MicroSteps
from .playback import DURATION, LONGEST_TICK, Guide, Playback, speed_text
from .pointer import Pointer
from .selected import Asking, SelectedWeights
from .travels import Travels

Take = Callable[[Any], object]
"""Is given an answer, or an error."""
WAIT = 4.0
"""Seconds without a touch after which a window begins by itself; whoever touches it has them again."""
PRESSED_SECONDS = 1.6
"""How long a hall sees which key was pressed."""


def bench_of(x: object, size: tuple[int, int], theme: str | Theme = "dark", cmap: str | None = None) -> Workbench:
    """A workbench with a line of keys, and a time bar where there is a past."""
    subject = subject_of(x)
    return Workbench(subject, size, theme, cmap, keys=bottom_line(ActionContext(subject, trains=False)), text_hz=10.0)


class Viewer(Guest):
    """Keys, pointer and redrawing around one workbench. Use it with the workbench's GL context current.

    Its `playback` lets time go on. All of a recording takes `duration` seconds. Time begins by itself after `wait`
    seconds without a touch, None: not before the Space key lets it. `handlers` say how each action is done, `clock`
    counts seconds, and `touches` keys, buttons and turns of the wheel.
    """

    trains = False
    """Whether it trains what it shows."""
    notice_seconds = 4.0

    def __init__(
        self, bench: Workbench, playback: Playback | None = None, duration: float = DURATION, wait: float | None = None
    ) -> None:
        self.bench = bench
        source = self._source = bench.subject.source
        self._request: FrameRequest | None = None  # of what another thread may train
        self._at: tuple[object, int] | None = None  # where a recording stood when its frame was read
        self._last: Frame | None = None
        self._trouble = ""
        self._wait, self._waited, self._touched = wait, 0.0, 0
        self._waiting: list[tuple[PendingCall, Take, Take]] = []
        tells = source.facts is not None or LOOP_CURVE in bench.subject.panels
        self._room = source.counted, tells, source.can.go
        self._shown: Frame | None = None
        bench.bar.action_words = lambda name: action_words(name, self.action_context(in_general=True))
        bench.touch.table = (*help_lines(self.action_context(in_general=True)), *bench.side.gestures)
        self.playback = playback or Playback(Guide(source), duration=duration)
        self._first = self.playback.current_step
        self.pointer, self.selected, self.asking = Pointer(self), SelectedWeights(self), Asking(self)
        self.travels, self.micro = Travels(self), MicroSteps(self)
        self.growing = Growing(self)
        self.desk: Desk | None = None  # what a panel of controls asks for, where there is one
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
        """The numbers as they are, or were recorded; of another thread the last that it has given."""
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
        """Room for step, loss and time, as soon as a loop of the user's own counts or tells them."""
        source, tells = self._source, self._room[1]
        room = source.counted, tells or len(source.curve.step) > 0, source.can.go
        if room != self._room:
            self._room = room
            if room[1] and not tells:
                self.bench.side.add(LOOP_CURVE)
            self.resize(self.bench.size)

    def pace(self, frame: Frame) -> list[str]:
        """What the HUD's second line says of the moment of `frame`: meanwhile a worker may have gone on."""
        source, facts = self._source, self._source.facts
        engine = "" if facts is None else facts.engine
        if isinstance(source, Played):
            return ["recording", self.playback.text(), self.growing.words, source.spread, engine]
        return [self.travels.words(frame), engine]

    def message(self) -> str:
        """What went wrong, empty if nothing did: then the picture may be that of another step."""
        return f"step {self.playback.current_step:,} cannot be read: {self._trouble}" if self._trouble else ""

    @property
    def is_idle(self) -> bool:
        """Whether nothing plays, trains or travels: there is time to look closer."""
        return not self.playback.running

    def frame(self) -> Frame:
        """The numbers as they are to be shown: inside a step as far as that has come."""
        return self.micro.shown(self.current_frame())

    def pace_text(self, frame: Frame | None = None) -> str:
        """The HUD's second line, of the moment of `frame`; None: of now."""
        return self.micro.headline or "  ·  ".join(
            filter(None, self.pace(self.current_frame() if frame is None else frame))
        )

    @property
    def shown(self) -> Frame:
        """The numbers in the picture."""
        return self._shown or self.frame()

    def set_weight(self, index: int, value: float, gesture: str = "") -> None:
        """Set the flat weight `index`; what one gesture does is one edit."""
        self.change(SetWeights(index, np.array([value])), gesture)

    def change(self, edit: Edit, gesture: str = "") -> None:
        """Do an edit; those of one gesture that leave nothing of each other are one."""
        self._source.edit(edit, gesture=gesture)

    def close(self) -> None:
        """Let go of what is shown."""
        self.growing.close()

    def ask_run(self, function: Callable[[Run], object], then: Take, failed: Take | None = None) -> None:
        """Call a function with the run between two steps; `then` gets the answer, or `failed` the error."""
        said = failed or (lambda error: self.say(str(error)))
        self._waiting.append((self._source.ask(function), then, said))
        if not self.trains:  # else it comes between two looks, never while somebody asks
            self._take_answers()

    def _take_answers(self) -> None:
        """Hand on what has come."""
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
        """Continue from the weights in a file; returns a sentence for the user."""
        return f"loaded the weights of step {self._source.load(path):,}"

    # ---- time

    def advance(self, seconds: float) -> None:
        """`seconds` have passed, seen or not: what is shown goes on at its pace."""
        self.pass_time(seconds)
        if self._waiting:
            self._take_answers()
        self.pointer.pass_time(self.clock)
        self.travels.pass_time()
        running = self.playback.running
        if not self.micro.pass_time(seconds):
            self.playback.tick(seconds)
        if self.playback.running != running:  # at its end: said, although no cube changes any more
            self.refresh()
        self.growing.pass_time()
        self._begin(min(seconds, LONGEST_TICK))  # one that takes a while to come up has not waited meanwhile

    def _begin(self, seconds: float) -> None:
        """It plays by itself when nothing has been touched for a while, and nothing is open."""
        bench, playback = self.bench, self.playback
        if self._wait is None or playback.running or playback.current_step != self._first:
            self._wait = None
            return
        something = bench.touch.help or bench.selected is not None or bench.inside.micro_step or bench.side.typing
        untouched, self._touched = self.touches == self._touched, self.touches
        free = self.pointer.free and untouched and not something and playback.worker.error is None
        self._waited = self._waited + seconds if free else 0.0
        if self._waited >= self._wait:
            playback.play()

    def _beat(self, seconds: float) -> None:
        """`seconds` have passed on the host's clock."""
        assert self.host is not None
        if not self.host.visible:
            self.advance(seconds)
        elif self.tick(seconds):
            self.host.repaint()

    def open(self, paths: Sequence[Path]) -> None:
        """Files were dropped on the picture, or chosen: a picture, or weights; a notice says what came of the last."""
        for path in paths:
            try:
                said = _open(self, path)
            except ScalarvizError as error:
                said = str(error)
            self.say(said)
            self.refresh()

    def tell(self, line: str) -> None:
        """Say a line on the terminal."""
        if self.host is not None:
            self.host.tell(line)

    def notice(self) -> str:
        """The news, for as long as they are to be shown."""
        return self._notice

    def tick(self, seconds: float) -> bool:
        """`seconds` have passed; returns whether the picture has to be drawn again."""
        if not (self.trains or self._source.recorded):
            self._make_room()
        self.advance(seconds)
        self.bench.bar.running = self.playback.running
        told = self.bench.side.ground.notes
        for line in told:
            self.tell(line)
        told.clear()
        frame, said = self.frame(), (self.message(), self.notice())
        self.follow(frame)
        wrong, touch = mistake_words(self.bench.subject), self.bench.touch
        if wrong != self._wrong:  # it went on or off, and no number has changed
            self._wrong, self._dirty = wrong, True
            self.bench.text_pace.hurry()
        if touch.pressed is not None and self.clock >= self._pressed_until:
            touch.pressed, self._dirty = None, True
        self.selected.pass_time()
        self.asking.pass_time(seconds, frame)
        self._dirty |= self.desk is not None and self.desk.pass_time(seconds, frame)
        self._dirty |= self.bench.moving or said != (touch.message, touch.notice) or differs(self._shown, frame)
        if not self._dirty:
            self.bench.text_pace.rest(seconds)
            return False
        self._shown, self._dirty = frame, False
        touch.message, touch.notice = said
        self.bench.update(frame, self.pace_text(frame), seconds)
        return True

    def follow(self, frame: Frame) -> bool:
        """Whether the picture stands anew, as the frame is of another network; hands are empty then."""
        grown = self.bench.follow(frame)
        if grown:
            self.pointer.let_go()
            self._shown = None
        return grown

    def draw(self, viewport: tuple[int, int] | None = None) -> None:
        """Paint the picture into the bound framebuffer."""
        self.bench.draw(viewport)

    def for_file(self) -> AbstractContextManager[bool]:
        """While the block runs the picture is one for stills and films; gives whether that is another one."""
        return nullcontext(False) if self.desk is None else self.desk.put_away()

    def refresh(self) -> None:
        """Draw at the next tick whatever happened."""
        self._dirty = True

    def resize(self, size: tuple[int, int]) -> None:
        """Lay out for another size in device pixels."""
        self.bench.resize(size)
        self.refresh()

    # ---- actions

    def action_context(self, *, in_general: bool = False) -> ActionContext:
        """Where an action would happen now, or `in_general`: with a window and after a step."""
        seen, asked = self._shown, ("gradient", "update")
        computed, moved = (in_general or (seen is not None and bool(seen.known(name).any())) for name in asked)
        host, selected = in_general or self.host is not None, in_general or self.bench.touch.inspector is not None
        return ActionContext(self.bench.subject, trains=self.trains, computed=computed, moved=moved, selected=selected,
                    host=host, layers=len(self.bench.layer_names))  # fmt: skip

    def send(self, name: str, value: int | None = None) -> bool:
        """Do an action by its name, with a value if it takes one; None: what its key sends.

        Returns whether it applies here; if not, a notice says why.

        Raises
        ------
        UnknownNameError
            There is no such action.
        TypeMismatchError, InputError
            A value that it does not take.
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
        """A key was pressed; returns whether it means something. What means nothing here says why."""
        self.touches += 1
        pressed = normalised(name, text, ctrl=ctrl)
        shifted = action_for_key(normalised(name, text, ctrl=ctrl, shift=True)) if shift else None
        with self.saying():
            if not ctrl and self._typed(pressed, text, shift=shift):
                self.refresh()
                return True
        action = shifted or action_for_key(pressed)
        if action is None:
            if pressed:
                self.say(f"{pressed} does nothing here; ? shows the keys")
                self.refresh()
            return False
        self._show_pressed(action, pressed, shifted=shift and (action is shifted or action.values is not None))
        with self.saying():
            self.send(action.name, action.value_of(pressed, shift=shift))
        return True

    def _typed(self, pressed: str, text: str, *, shift: bool) -> bool:
        """Whether a key belongs to what is open: the controls, a number that is typed, or a panel."""
        if self.bench.touch.help:
            return False
        controls = self.desk is not None and self.desk.key(pressed, shift=shift)
        return controls or self.selected.key(pressed, text) or self.bench.side.key(pressed, text)

    def _show_pressed(self, action: Action, pressed: str, *, shifted: bool) -> None:
        """Let a hall see which key was pressed, and what it does."""
        if self.bench.theme.presenter:
            key = pressed if action.numbered else action.keys[0]
            what = re.sub(r"\s*\([^)]*\)", "", action.words_in(self.action_context()).does)
            self.bench.touch.pressed = f"Shift+{key}" if shifted and not key.startswith("Shift") else key, what
            self._pressed_until = self.clock + PRESSED_SECONDS

    @contextmanager
    def saying(self) -> Iterator[None]:
        """What a key or a hand asked for and cannot be done is said in the picture: nobody is there to catch it."""
        try:
            yield
        except ScalarvizError as error:
            self.say(str(error))
            self.refresh()

    def toggle_help(self) -> None:
        """Show the list of keys, page by page, or hide it."""
        pages, shown = help_pages(self.bench.places.size, self.bench.touch.table), self.bench.touch.help
        self.bench.touch.help = shown + 1 if shown < len(pages) else 0

    def escape(self) -> None:
        """Close what is open; where nothing is, take the way out, or close the window at the second press."""
        if self._close_first():
            self._escape_until = 0.0
            self.refresh()
        else:
            self._leave_window()

    def _close_first(self) -> bool:
        """Close one thing that is open; whether there was one.

        That is, in this order, the list of keys, an opened step, a long way to another step, a search, a weight that is
        being changed (which becomes what it was), a selected cube or colour.
        """
        if self.bench.touch.help:
            self.bench.touch.help = 0
            return True
        if self.pointer.grip is None and self.micro.close():
            return True
        if self.travels.cancel():
            self.say("stays here")
            return True
        return self.selected.cancel() or self.pointer.let_go(undo=True) or self.bench.let_go()

    # ---- time, by hand

    def toggle_run(self) -> None:
        """Go on or pause; a step opened by hand plays to its end first, and a way to another one ends there."""
        if self.travels.play_there():
            return
        if not (self.playback.running or self.playback.slowest):
            if self.micro.play_inside():
                return
            self.micro.close()
        self.playback.toggle()

    def step(self, count: int = 1) -> None:
        """Training steps by hand, or those that were done before; inside a step the rest of it."""
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
        self.bench.refresh()  # texts that wait for their time to change are of this moment, too
        super()._ask_host(what)

    def _ask_file(self) -> None:
        if self.host is not None:
            self.host.ask_file(TITLE, (*PICTURES, *WEIGHTS), lambda path: self.open([path]))

    # ---- pointer, in device pixels

    def press(self, at: Point, button: str = "left", *, shift: bool = False, ctrl: bool = False) -> None:
        """A button went down, perhaps with Shift held."""
        self.touches += 1
        with self.saying():
            self.pointer.press(at, button, shift=shift, ctrl=ctrl)

    def move(self, at: Point) -> None:
        """The pointer is at `at`."""
        with self.saying():
            self.pointer.move(at)

    def release(self, at: Point) -> None:
        """The button went up."""
        with self.saying():
            self.pointer.release(at)

    def leave(self) -> None:
        """The pointer left the window."""
        self.pointer.leave()

    def scroll(self, at: Point, notches: tuple[float, float], *, shift: bool = False) -> None:
        """The wheel turned by `notches` across and up."""
        self.touches += 1
        with self.saying():
            self.pointer.scroll(at, notches, shift=shift)


# ---- Whether a frame looks different from the one before it.


def differs(old: Frame | None, frame: Frame) -> bool:
    """Whether the picture of `frame` is another one than that of `old`."""
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


# ---- Files that come into a picture, dropped or chosen: weights and tables for the run, pictures for a panel.

WEIGHTS = (".safetensors",)
PICTURES = (".png", ".jpg", ".jpeg", ".webp", ".bmp", ".gif", ".tif", ".tiff", ".avif", ".ppm")
TABLES = (".csv", ".tsv", ".txt")
TITLE = "Open a picture or weights"


def paste(viewer: Viewer) -> None:
    """Let a viewer take the table on the clipboard; a notice says what came of it."""
    text = "" if viewer.host is None else viewer.host.pasted()
    if not text.strip():
        viewer.say("the clipboard has no text: copy a table first, with column names in its first line")
    else:
        viewer.say(_learnt(viewer, parse_csv(text, "the pasted table")))
    viewer.refresh()


def _learnt(viewer: Viewer, table: CsvTable) -> str:
    """Let a run learn a table from now on, as its scene says how; returns what came of it."""
    learn = viewer.bench.subject.table
    if learn is None:
        return f"{table.what}: this scene takes no table"
    edit = learn(table)
    viewer.change(edit)
    return f"{table.what}: {edit.words()}"


def _open(viewer: Viewer, path: Path) -> str:
    """Returns what came of it, in one line."""
    ending = path.suffix.lower()
    if ending in WEIGHTS:
        return f"{path.name}: {viewer.load(path)}"
    if ending in TABLES:
        return _learnt(viewer, read_csv(path))
    if ending not in PICTURES:
        known = f"a picture, a table ({', '.join(TABLES)}) or weights ({', '.join(WEIGHTS)})"
        return f"{path.name} cannot be opened; allowed: {known}"
    done = viewer.bench.side.open_picture(load_picture(path).rgb)
    return f"{path.name}: {done or 'this scene has no panel for your picture'}"


# ---- Recordings that are still being written while they are watched.

NEWS_SECONDS = 12.0
"""How long it is said that nothing more will come."""


@dataclass(slots=True, eq=False)
class _Written:
    """One of them: what is shown grows with it."""

    name: str  # its letter where two are compared, else empty
    source: RecordedSource
    following: Following
    grow: Callable[..., str]  # takes a newer moment, and whether to go along; returns what is said of it


class Growing:
    """Those of what a viewer shows; none where that is no recording, or one that has ended."""

    def __init__(self, viewer: Viewer) -> None:
        source, self._viewer = viewer.bench.subject.source, viewer
        halves = zip(NAMES, source.pair, strict=True) if isinstance(source, RecordedPair) else [("", source)]
        self._written: list[_Written] = []
        for which, (name, one) in enumerate(halves):
            if isinstance(one, RecordedSource) and one.record.growing:
                grow = partial(source.grow, which) if isinstance(source, RecordedPair) else one.grow
                self._written.append(_Written(name, one, Following(one.record), grow))

    @property
    def words(self) -> str:
        """What the second line says of them."""
        names = [one.name for one in self._written if one.name]
        who = "" if not names else "both are " if len(names) > 1 else f"{names[0]} is "
        return f"{who}still being recorded: new steps are shown as they come" if self._written else ""

    def pass_time(self) -> None:
        """Show what was written since, of a file that still is; and say when nothing more will come."""
        ends = []
        for one in list(self._written):
            ended, newer = (
                one.following.ended,
                one.following.take_newest(),
            )  # in this order: then what was last is taken, too
            before = f"{one.name}: " if one.name else ""
            if newer is None and not ended:
                continue
            self._viewer.refresh()
            if newer is not None:
                if words := one.grow(newer, along=self._viewer.micro.walk is None):
                    self._viewer.say(before + words)
            else:
                one.following.close()
                self._written.remove(one)
                ends.append(f"{before}{ended}: it ends at step {one.source.span[1]:,}")
        if ends:
            self._viewer.say("; ".join(ends), NEWS_SECONDS)

    def close(self) -> None:
        """Look no further whether there is more."""
        for one in self._written:
            one.following.close()
        self._written.clear()


# ---- How the picture looks, as keys change it: what cubes show, where they are seen from, words.

MAPS = ("", "grey", "viridis", "coolwarm")
"""What the key for the next colour map goes through; empty: the quantity's own."""


class LookActions:
    """The actions that change the look of one viewer; `handlers` has them by their names."""

    def __init__(self, viewer: Viewer) -> None:
        self._viewer, self._bench = viewer, viewer.bench
        bench, show = viewer.bench, viewer.bench.set_look
        self.handlers: dict[str, Callable[..., object]] = {
            "show_weights": lambda: show(quantity="weight"), "show_updates": lambda: show(quantity="update"),
            "show_ratio": lambda: show(quantity="update/value"), "show_gradients": self._show_gradients,
            "show_moment": self._show_moment, "next_map": self._next_map,
            "toggle_sizes": lambda: show(sizing=replace(bench.sizing, by_value=not bench.sizing.by_value)),
            "hide_less": partial(self._threshold, -1), "hide_more": partial(self._threshold, +1),
            "refit_range": bench.refit_range, "fit": bench.fit_camera,
            "toggle_panels": bench.next_panels,
            "toggle_theme": lambda: show(theme="light" if bench.theme.name == "dark" else "dark"),
            "toggle_layers": self._toggle_layers,
            "keep_view": self._keep_view, "go_view": self._go_view, "toggle_turntable": self._toggle_turntable,
            "toggle_parallel": lambda: viewer.say(
                "parallel lines" if bench.viewpoint.toggle_parallel() else "in perspective"),
            "toggle_apart": lambda: bench.take_apart(replace(bench.apart, wide=not bench.apart.wide)),
            "layer_before": partial(self._layer, -1), "layer_after": partial(self._layer, +1),
            "type_word": self._type_word, "cooler": partial(self._warm, -1), "warmer": partial(self._warm, +1),
        }  # fmt: skip

    def _show_gradients(self) -> None:
        """Colour by gradient, or by its magnitude where that is shown already."""
        shown, source = self._bench.colouring.quantity, self._bench.subject.source
        size = shown == "gradient" and not source.lacks("|gradient|")
        self._bench.set_look(quantity="|gradient|" if size else "gradient")

    def _show_moment(self) -> None:
        """Colour by what the optimiser keeps for each weight: the next one of that."""
        names = list(self._bench.subject.source.moments)
        shown = self._bench.colouring.quantity
        self._bench.set_look(quantity=names[(names.index(shown) + 1 if shown in names else 0) % len(names)])

    def _next_map(self) -> None:
        here = MAPS.index(self._bench.cmap_name) if self._bench.cmap_name in MAPS else -1
        self._bench.set_look(cmap=MAPS[(here + 1) % len(MAPS)])

    def _threshold(self, by: int) -> None:
        now = self._bench.sizing
        other = [t for t in THRESHOLDS if (t - now.threshold) * by > 0]
        if other:
            self._bench.set_look(sizing=replace(now, threshold=other[0] if by > 0 else other[-1]))

    def _toggle_layers(self) -> None:
        """Show or hide the table of the layers."""
        table = self._bench.layers
        if not table.close():
            table.shown = True
        self._bench.refresh()

    # ---- where it is seen from

    def _keep_view(self, number: int) -> None:
        self._bench.viewpoint.keep(number)
        self._viewer.say(f"view {number} saved: press {number} to return to it")

    def _go_view(self, number: int) -> None:
        if not self._bench.viewpoint.go(number):
            self._viewer.say(f"no view {number} yet: Ctrl+{number} saves this one")

    def _toggle_turntable(self) -> None:
        self._bench.viewpoint.turning = not self._bench.viewpoint.turning

    def _layer(self, by: int) -> None:
        """The next layer alone, or the one before; beyond the last and before the first all of them."""
        bench = self._bench
        names = ("", *bench.layer_names)
        here = names.index(bench.apart.layer) if bench.apart.layer in names else 0
        chosen = names[(here + by) % len(names)]
        bench.take_apart(replace(bench.apart, layer=chosen))
        self._viewer.say(f"layer {chosen} alone, {names.index(chosen)} of {len(names) - 1}" if chosen else "all layers")

    # ---- a panel that reads words and makes up others

    @property
    def _words(self) -> WordDrawer:
        found = self._bench.side.drawer(WordBoard)
        assert isinstance(found, WordDrawer)  # the table of actions says that there is one
        return found

    def _type_word(self) -> None:
        if self._words.is_visible:
            self._words.begin_typing()
        else:
            self._viewer.say("E: this picture shows no word")

    def _warm(self, steps: int) -> None:
        self._words.warm(steps)
        self._viewer.say(f"temperature of new words {self._words.temperature:.1f}")
