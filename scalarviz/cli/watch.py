"""`scalarviz watch train.py [arguments]`: run an unchanged script and show the weights that it trains as cubes."""

from __future__ import annotations

import os
import runpy
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from pydantic import Field

from ..display import GONE, WindowProbe
from ..errors import InputError, ScalarvizError
from ..run.sources.script_hooks import LayerFlow, ReportStep, hooks
from ..run.sources.watched import Watched
from .console import fail, say
from .flags import Command, argument, model_of
from .interrupt import INTERRUPTED
from .pictures import FOLDER, canvas_of, check_look
from .recording import RunRecording, check_recording
from .stop import StopSignals
from .window import has_window, show_in_window

if TYPE_CHECKING:
    from ..view.show import Handle

BUDGET = 64_000_000
"""Bytes of a recording. The number of steps of a script is unknown: when it is full, every second frame is dropped."""
NOTE_SECONDS = 20.0


def command() -> Command:
    """Return the flags, which stand before the script, and the function of the command."""
    flags = {
        "script": (Path, Field(description="Python script that trains with PyTorch or with its own Value class",
                               json_schema_extra={"argument": True})),
        "arguments": (list[str], argument("arguments for the script; put flags of scalarviz before the script's name")),
        "every": (int | None, Field(None, ge=1, le=10**12, json_schema_extra={"metavar": "STEPS", "shown": "1"},
                                    description="steps from one frame of the recording to the next")),
    }  # fmt: skip
    shared = ("recording", "html", "headless", "size", "theme", "presenter", "cmap")
    model: Any = model_of("WatchOptions", flags, shared)
    model.rare = model.rare - {"recording", "every"}
    return model, watch


def watch(options: Any) -> int:
    """Run the script; return its exit code, 130 after Ctrl-C, or 2 if something cannot be shown or written."""
    check_look(options)
    check_recording(options, alone=True)
    if options.headless and not (options.html or options.recording):
        raise InputError("--headless shows nothing; add --html FILE or --recording FILE")
    if not options.script.is_file():
        raise InputError(f"there is no file {options.script}; give a Python script: scalarviz watch train.py")
    for word in {"--html", "--recording"} & {*(options.arguments or [])}:
        if not options.given(word[2:]):
            say(f"{word} goes to the script; to give it to scalarviz, put it before {options.script}")
    follower = Follower(options)
    followed = hooks(follower.begin, follower.note)
    try:
        for one in followed:
            one.install()
        code = run_script(options.script, options.arguments or [])
    finally:
        for one in followed:
            one.remove()
    return follower.end(code)


class Follower:
    """Shows or records what a script trains, as soon as its first step reveals that."""

    def __init__(self, options: Any) -> None:
        self.options, self.name = options, options.script.stem
        self._path = options.recording and options.recording.absolute()  # the script may change its folder
        self.watched: Watched | None = None
        self.handle: Handle | None = None
        self.recording: RunRecording | None = None
        self.stop, self._failed = StopSignals(), 0
        shows = not (options.html or options.recording)
        self._probe = WindowProbe() if shows and has_window() else None
        self._reason = "" if self._probe or not shows else "there is no display"

    def begin(self, x: Any, called: str, flow: LayerFlow | None) -> ReportStep:
        """Watch `x` before the script's first step; return the function that reports steps."""
        try:
            self.watched = watched = Watched(x)
        except ScalarvizError as error:
            say(f"{self.name}: {called} is not watched: {error}")
            return lambda **_: None
        watched.name = called
        if flow is not None:
            watched.show_flow(flow)
        say(f"{self.name}: {called}, {watched.last.values.size:,} numbers")
        try:
            tell = self._record(watched) if self._probe is None else self._show(watched)
        except ScalarvizError as error:  # since the check, the file may have appeared, or the disk filled up
            self._failed = fail(str(error))
            return lambda **_: None

        def told(**step: Any) -> None:
            nonlocal tell
            with self._delay_interrupt():
                try:
                    tell(**step)
                except ScalarvizError as error:  # the script continues
                    say(f"{self.name}: {called} is no longer watched: {error}")
                    watched.over = str(error)
                    tell = lambda **_: None  # noqa: E731

        return told

    def note(self, line: str) -> None:
        """Print a line in the terminal, and show it for a while in the window."""
        say(f"{self.name}: {line}")
        if self.handle is not None and self.handle.window is not None:
            self.handle.viewer.say(line, NOTE_SECONDS)

    @contextmanager
    def _delay_interrupt(self) -> Iterator[None]:
        """Delay Ctrl-C until an update is complete: inside a picture, Qt would print the error and continue."""
        before, asked = signal.getsignal(signal.SIGINT), list[int]()
        if threading.current_thread() is not threading.main_thread() or not callable(before):
            yield
            return
        signal.signal(signal.SIGINT, lambda number, frame: asked.append(number))
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)
        if asked:
            before(asked[0], sys._getframe())

    def _record(self, watched: Watched) -> ReportStep:
        options, size = self.options, watched.last.values.size
        if options.html or options.recording:
            from ..view.page.recording import Recording

            recording = Recording(watched, options.every or 1, gradients=True, updates=True, path=self._path,
                                  budget=BUDGET)  # fmt: skip
            recording.tell = lambda line: say(f"{self.name}: {line}")
            self.recording = RunRecording(self.name, size, recording, options, self.stop)
        return watched.update

    def _show(self, watched: Watched) -> ReportStep:
        assert self._probe is not None
        self._reason = self._probe.reason()
        if not self._reason:
            say(f"{self.name}: ? shows the keys, Ctrl+Q closes the window; the script goes on")
            self.handle = show_in_window(self.name, watched, self.options, block=False, required=False)
            return self.handle.update
        return watched.update

    def end(self, code: int) -> int:
        """After the script: keep the window if it succeeded, write all files; return the exit code."""
        if self.watched is None:
            return code or fail(
                f"{self.name}: nothing was trained: no PyTorch optimiser made a step, and no class with backward, + "
                "and * changed its weights: numbers in an attribute data (or as float(value)), gradients in an "
                "attribute grad. For a network of scalarviz write sv.show(run) in the script"
            )
        if self._failed:
            return code or self._failed
        with self.stop as stop:
            if self.recording is not None:
                self.recording.close()
                return code or self.recording.code(code)
            if self.handle is not None and self.handle.window is not None:
                if code == 0:
                    with stop.while_window_open():
                        self.handle.wait()
                failed = fail(GONE) if self.handle.display_lost else stop.code
                return code or failed
            say(f"{self.name}: writing a picture instead of a window: {self._reason or 'it could not be opened'}")
            say(f"wrote {canvas_of(self.name, self.options, self.watched).write(FOLDER / f'{self.name}.png', '')}")
            return code


def run_script(script: Path, arguments: list[str]) -> int:
    """Run a file as ``python script arguments`` does; return its exit code. An uncaught error prints its traceback."""
    whole = str(script.absolute())
    with _as_main(script, arguments):
        try:
            runpy.run_path(whole, run_name="__main__")
        except SystemExit as end:
            if end.code is None or isinstance(end.code, int):
                return end.code or 0
            print(end.code, file=sys.stderr)
            return 1
        except KeyboardInterrupt:
            say(f"{script.stem}: interrupted; the frames so far are kept")
            return INTERRUPTED
        except BaseException as error:
            trace = _script_traceback(whole, error.__traceback__)
            sys.excepthook(type(error), error.with_traceback(trace), trace)
            return 1
    return 0


@contextmanager
def _as_main(script: Path, arguments: list[str]) -> Iterator[None]:
    """Set arguments and search path as Python does for a script; restore them and the folder afterwards."""
    former, folder = (sys.argv, sys.path), Path.cwd()
    sys.argv, sys.path = [str(script), *arguments], [str(script.resolve().parent), *sys.path]
    try:
        yield
    finally:
        sys.argv, sys.path = former
        os.chdir(folder)


def _script_traceback(script: str, trace: TracebackType | None) -> TracebackType | None:
    """Return a traceback without the entries before the script's own lines."""
    while trace is not None and trace.tb_frame.f_code.co_filename != script:
        trace = trace.tb_next
    return trace
