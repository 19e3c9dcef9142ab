"""`show`: open a window on anything that has weights."""

from __future__ import annotations

import ctypes
import select
import sys
import threading
import time
from collections.abc import Callable
from typing import Any, Self

from ..errors import InputError, MissingDependencyError, StateError
from ..run import Run, Scene
from ..run.source import Source
from ..run.sources.played import Played, RecordedSource
from ..run.sources.recording.recorded import Recorded
from ..run.sources.watched import RATE, SHARE, Pace, Watched
from ..sweep.groups import StoredResults
from .cubes.atlas import Sizing
from .ink.theme import Theme, presenting
from .out.canvas import title_of
from .out.desktop import Window
from .shown.subject import Subject, subject_of
from .walls.runs import check_plain
from .watch.host import Guest
from .watch.live import LiveView
from .watch.viewer import WAIT, Viewer, bench_of


class Handle:
    """A window that stays open while the program continues.

    Call ``update()`` after each round of your own loop to repaint, and ``wait()`` after the last one to keep the window
    open. At a Python or IPython prompt, and in a notebook, the window serves itself. As a context manager it closes the
    window at the end of the block.

    Without a window (``show(x, block=False, required=False)`` and no display) the loop still runs: ``update()`` takes
    everything over, so ``watched`` can be recorded, and ``wait()`` returns at once.
    """

    def __init__(self, window: Window | Source) -> None:
        self.window = window if isinstance(window, Window) else None
        self._given = None if isinstance(window, Window) else window
        self._closed, self._serves_itself, self._thread = False, False, threading.get_ident()
        self._turns: Turns | None = None
        if isinstance(window, Window) and isinstance(window.view, Viewer) and (watched := self.watched) is not None:
            self._turns = Turns(window, watched)

    @property
    def closed(self) -> bool:
        """True if the window is gone, for example because someone closed it."""
        return self._closed if self.window is None else self.window.closed

    @property
    def display_lost(self) -> bool:
        """True if the window is gone because its display went away."""
        return self.window is not None and self.window.display_lost

    @property
    def viewer(self) -> Viewer:
        """The viewer in the window, for programs that press its keys."""
        if self.window is None:
            raise StateError("no window can open here; sv.render(x) draws a picture of x instead")
        if not isinstance(self.window.view, Viewer):
            raise StateError("the window shows a wall of runs; open a run there to get a viewer")
        return self.window.view

    @property
    def watched(self) -> Watched | None:
        """The watched loop of another library, for ``sv.Recording(handle.watched)``; None for anything else."""
        return self._source if isinstance(self._source, Watched) else None

    @property
    def _source(self) -> Source:
        return self._given or self.viewer.bench.subject.source

    def update(
        self, params: object = None, grads: object = None, *,
        loss: object = None, step: object = None, lr: object = None,
    ) -> bool:  # fmt: skip
        """Show the changes and handle keys and mouse; return whether the window is still open.

        The loop of another library is painted so often that it costs 2 % of the loop's time, at most thirty times a
        second; while you use the mouse or keys, thirty times a second. In a thread other than the window's it paints
        nothing; ``wait()`` does.

        Parameters
        ----------
        params, grads : tree of arrays, optional
            The new arrays if a step makes new ones (JAX), and their gradients, with the same names and shapes.
        loss, lr : number, optional
            Loss and learning rate of the loop's last step. They appear in the picture, and losses make a curve.
        step : int, optional
            Number of the step; default: every change of the numbers counts as one.

        Raises
        ------
        InputError, TypeMismatchError
            No numbers; other names or shapes than before; arrays for something that is read in place.
        StateError
            A Run or Scene is shown, which knows its loss and steps itself.
        """
        if self._turns is not None:
            return self._turns.update(params, grads, loss=loss, step=step, lr=lr)
        if isinstance(self._given, Watched):
            self._given.update(params, grads, loss=loss, step=step, lr=lr)
            return not self.closed
        if params is not None or grads is not None:
            raise InputError("update: got params or grads; the arrays shown are read in place: try update(loss=loss)")
        if not (loss is None and step is None and lr is None):
            self._source.tell(step=step, loss=loss, lr=lr)
        return self._serve() if threading.get_ident() == self._thread else not self.closed

    def _serve(self) -> bool:
        if self.window is not None and not self.closed:
            self.window.serve()
        return not self.closed

    def wait(self) -> None:
        """Keep the window until it is closed; Ctrl-C closes it. A window that serves itself returns at once."""
        if self.window is not None and not self.closed and not self._serves_itself:
            self.window.run()

    def begin(self) -> None:
        """Show the window; at a prompt, let it serve itself."""
        if self.window is not None:
            self.window.show().serve()
            self._serves_itself = serve_prompt(self._serve)

    def close(self) -> None:
        """Close the window; without one, make ``update()`` return False."""
        self._closed = True
        if self.window is not None:
            self.window.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _note(line: str) -> None:
    """Print a line on stderr, if there is one; otherwise `print` would write it to stdout, among the results."""
    if sys.stderr is not None:
        print(line, file=sys.stderr)


def show(
    x: object,
    *,
    block: bool = True, required: bool = True,
    size: tuple[int, int] = (1280, 720),
    steps: int | None = None, duration: float = 20.0,
    theme: str = "dark", cmap: str | None = None,
    quantity: str = "weight", sized: bool = False, threshold: float = 0.0,
    paused: bool = False, presenter: bool = False,
    on_note: Callable[[str], None] = _note,
    on_lost: Callable[[], object] | None = None,
) -> Handle:  # fmt: skip
    """Open a window on `x`.

    Parameters
    ----------
    x : Scene, Run, recording, sweep, Module, Weight, Parameter, list of these, torch.nn.Module, or arrays
        A recording plays; the runs of a sweep's file, or of ``sv.sweep.Results``, are a wall, which grows with it. With
        `block`, the window trains a Scene or Run; everything else, and everything without `block`, is followed while
        your own code changes it. Arrays may be in nested dicts, lists and dataclasses.
    block : bool
        True: return when the window is closed. False: return a handle at once; call its ``update()`` in your loop, and
        its ``wait()`` after it.
    required : bool
        False, with ``block=False``: if no window can be opened (a server), print one line and let the loop run.
    size : (int, int)
        Inner size of the window in logical pixels.
    steps, duration : int, float
        The step at which a trained run pauses (default: that of its scene, else 3,000), and the seconds to get there.
    theme, cmap, quantity, sized, threshold
        The initial theme, colours, quantity and sizes of the cubes: see :func:`~scalarviz.view.render.render`.
    paused, presenter : bool
        `paused`: a trained run waits for the Space key; default: it begins after four seconds without input.
        `presenter`: for a lecture hall, with text half again as large, no small print, and pressed keys shown.
    on_note : callable
        Receives one line about each event (a screenshot was written).
    on_lost : callable, optional
        Called, with training stopped, when the display is gone and the process must end: save your data here, and
        report the lost display. If the process need not end, ``handle.display_lost`` is True instead.

    Returns
    -------
    Handle

    Raises
    ------
    TypeMismatchError
        `x` has no weights.
    InputError
        Options for the cubes of one run, given for a sweep; a sweep without a file.
    MissingDependencyError
        No display, Qt or OpenGL; the message says what to do or to install.
    """
    look = presenting(theme, presenter)
    if isinstance(x, StoredResults):
        check_plain(show, cmap=cmap, quantity=quantity, sized=sized, steps=steps, duration=duration,
                    threshold=threshold, paused=paused)  # fmt: skip
        from .walls.run_wall import wall_of

        make: Callable[[tuple[int, int]], Guest] = wall_of(*x.shown(), look).appear
    else:
        sizing, trains = Sizing(sized, threshold), block and isinstance(x, Scene | Run)
        thing = x if trains or isinstance(x, Recorded | Played | Subject) else subject_of(x)

        def make(size: tuple[int, int]) -> Viewer:
            view = _viewer(thing, size, steps, duration, look, cmap, paused)
            view.bench.set_look(quantity=quantity, sizing=sizing)
            return view

    try:
        window = Window(make, title_of(x), size, look=look.name, on_note=on_note)
    except MissingDependencyError as missing:
        if block or required or isinstance(x, StoredResults | Recorded | Played):  # no loop to continue
            raise
        on_note(f"no window is shown, training continues: {missing}")
        return Handle(subject_of(x).source)
    window.on_lost = on_lost
    handle = Handle(window)
    (handle.wait if block else handle.begin)()
    return handle


def _viewer(
    x: object, size: tuple[int, int], steps: int | None, duration: float, theme: Theme, cmap: str | None, paused: bool
) -> Viewer:
    """Return a viewer of a recording, of a run that the window trains, or of a source that other code changes."""
    wait = None if paused else WAIT
    if isinstance(x, Scene | Run):
        scene = x if isinstance(x, Scene) else Scene("run", x)
        return LiveView(scene, size, steps=steps, duration=duration, theme=theme, cmap=cmap, wait=wait)
    source = RecordedSource(x) if isinstance(x, Recorded) else x
    return Viewer(bench_of(source, size, theme, cmap), duration=duration, wait=wait)


# ---- Serving windows while Python waits for a line at its prompt.

_hook: Any = None  # the C side keeps only a pointer
_clients: list[Callable[[], bool]] = []


def serve_prompt(update: Callable[[], bool]) -> bool:
    """Call `update` while a prompt waits for input, until it returns False; return whether there is a prompt.

    In IPython this switches on its Qt integration. At the plain prompt it uses Python's input hook, if standard input
    can be polled (not on Windows). In a script nothing happens: the loop calls ``update()`` itself.
    """
    global _hook  # noqa: PLW0603 - one hook a process is how Python has it
    module: Any = sys.modules.get("IPython")
    shell = module.get_ipython() if module is not None else None
    if shell is not None and hasattr(shell, "enable_gui"):
        shell.enable_gui("qt6")
        return True
    if not hasattr(sys, "ps1") or sys.platform == "win32":
        return False
    _clients.append(update)
    if _hook is None:
        _hook = ctypes.CFUNCTYPE(ctypes.c_int)(_serve)
        pointer = ctypes.c_void_p.in_dll(ctypes.pythonapi, "PyOS_InputHook")
        pointer.value = ctypes.cast(_hook, ctypes.c_void_p).value
    return True


def _serve() -> int:
    """Serve the clients until a line can be read; Python calls this before it reads one."""
    ready: list[Any] = []
    while _clients and not ready:
        _clients[:] = [update for update in _clients if update()]
        ready, _, _ = select.select([sys.stdin], [], [], 1 / 60)
    return 0


# ---- `Turns`: one thread for a window and the loop of another library.

LISTENING = SHARE / 4
"""Largest share of the loop's time for keys and mouse; painting has the rest of `SHARE`."""
LATEST = 0.2
"""Longest time in seconds until a key is handled."""


class Turns:
    """Shares one thread between a window and a loop.

    It paints the watched arrays and handles keys and mouse in its share of the time.
    """

    def __init__(self, window: Window, watched: Watched) -> None:
        self._window, self._watched, self._thread = window, watched, threading.get_ident()
        self._pace = watched.pace = Pace(RATE, SHARE - LISTENING)
        self._ears = Pace(RATE, LISTENING, LATEST)
        for name in ("mouse_move", "mouse_press", "mouse_wheel", "key_press", "resize"):
            getattr(window.canvas.events, name).connect(self._touched)

    def _touched(self, event: Any) -> None:
        now = time.perf_counter()
        self._pace.touched(now)
        self._ears.touched(now)

    def update(self, params: Any, grads: Any, **told: Any) -> bool:
        """Take over a step; return whether the window is still open.

        In a thread other than the window's it does nothing else: the window's thread paints and handles input in
        `wait`.
        """
        start = time.perf_counter()
        looked = self._watched.update(params, grads, **told)
        if not self._window.closed and threading.get_ident() == self._thread:
            if looked:
                self._window.serve()
                self._pace.took(start, time.perf_counter())
            elif self._ears.due(start):
                self._window.application.process_events()  # its timer paints changes by hand
                self._ears.took(start, time.perf_counter())
        return not self._window.closed
