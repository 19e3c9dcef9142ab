"""`Taking`: stills and films of a window, numbered files, and what the window says of them."""

from __future__ import annotations

import atexit
import os
import queue
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ...errors import MissingDependencyError, ScalarvizError
from ..ink.boxes import LABEL
from ..ink.painter import Painter
from ..ink.sketch import Sketch
from ..ink.text import measure
from ..panels.drawer import cut
from ..watch.pace import FPS
from .files import Film, check_video, free, save_png

SAID = 4.0
"""Seconds for which it is said what was written."""


class Taking:
    """Writes what a window hands it."""

    def __init__(self, folder: str | Path, note: Callable[[str], None]) -> None:
        self.folder, self._note = Path(folder), note
        self._film: Recorder | None = None
        self._painter: tuple[object, Painter] | None = None  # and the size that it paints for
        self._said, self._left = "", 0.0
        self._missed = False  # a picture that came too soon after the one before

    # ---- stills

    def still(self, name: str, image: NDArray[np.uint8]) -> Path | None:
        """Save a picture as a PNG; returns the file, or None if it could not be written (and says so)."""
        try:
            path = save_png(free(self.folder, name, ".png"), image)
        except (OSError, ValueError) as error:
            self._say(f"no screenshot: {error}")
            return None
        self._say(f"wrote {path}")
        return path

    # ---- films

    def due(self) -> bool:
        """A picture is painted: whether it will be seen in a film, and should be taken."""
        due = self._film is not None and self._film.due
        self._missed = self._film is not None and not due
        return due

    def take(self, picture: NDArray[np.uint8]) -> None:
        """A picture as it stands in files."""
        if self._film is not None:
            self._film.take(picture)

    def begin_or_end(self, name: str, picture: Callable[[], NDArray[np.uint8]]) -> None:
        """Let a film begin with the picture of now, or end."""
        if self._film is not None:
            self.take(picture())
            self._film.end()
            return
        try:
            check_video()
        except MissingDependencyError as error:
            self._say(f"no film: {error}")
            return
        self._film, self._said = Recorder(self.folder, name, picture()), ""

    def resized(self, size: tuple[int, int]) -> None:
        """The window has another size: a film keeps the one that it began with, and ends."""
        if self._film is not None and size != self._film.size:
            self._film.end()
            self._note("the film has ended: the window has another size")

    def pass_time(self, seconds: float) -> bool:
        """`seconds` have passed; returns whether the window should be painted anew."""
        before = self.text
        self._left -= seconds
        if self._said and self._left <= 0:
            self._said = ""
        if self._film is not None:
            self._film.pass_time(seconds)
            if self._film.failure:
                self._film.end()
            if self._film.done:
                self.close()
        again = self._missed and self._film is not None and self._film.due
        return again or self.text != before

    def close(self) -> None:
        """End what is made, and wait until it is written: what was recorded is not lost."""
        film, self._film = self._film, None
        if film is None:
            return
        film.close()
        if film.failure:
            self._say(f"no film: {film.failure}")
        elif not film.done:
            self._say(f"no film: {film.path} could not be finished in time")
        else:
            self._say(f"wrote {film.path}")

    # ---- the mark

    @property
    def text(self) -> str:
        """What is said over the picture; empty for nothing."""
        if self._film is None or self._said:
            return self._said
        if self._film.ended:
            return "the film is being written"
        minutes, seconds = divmod(int(self._film.seconds), 60)
        return f"{minutes}:{seconds:02}  ·  Ctrl+S ends the film"

    def draw(self, size: tuple[int, int], ratio: float) -> None:
        """Paint it over the window's picture, where something is to be said."""
        if not self.text:
            return
        logical = size[0] / ratio, size[1] / ratio
        if self._painter is None or self._painter[0] != (size, ratio):
            self._painter = (size, ratio), Painter(logical, ratio)
        self._painter[1].draw([mark(self.text, logical, red=self._film is not None and not self._said)])

    def _say(self, line: str) -> None:
        self._note(line)
        self._said, self._left = line, SAID


# ---- What a window says over its picture of stills and films: it is in none of them.

GROUND, INK, EDGE, RED = "#0c0e11", "#ffffff", "#5a616b", "#ff4d4d"
HIGH, ROOM, RIM, BELOW = 20.0, 10.0, 8.0, 3.0
"""Logical pixels: its height, what is left of the text at both ends, at its right and below: under all panels."""


def mark(text: str, size: tuple[float, float], *, red: bool) -> Sketch:
    """The line in a picture of logical pixels."""
    sketch = Sketch(over=True)
    disc = 16.0 if red else 0.0
    shown = cut(text, size[0] - 2 * (RIM + ROOM) - disc)
    wide = measure(shown, LABEL) + 2 * ROOM + disc
    x, y = size[0] - RIM - wide, size[1] - BELOW - HIGH
    sketch.rect(x, y, wide, HIGH, fill=GROUND, stroke=EDGE, radius=HIGH / 2)
    if red:
        sketch.disc(x + ROOM + 5, y + HIGH / 2, 5, fill=RED)
    sketch.text(x + ROOM + disc, y + HIGH / 2 + 5, shown, LABEL, INK)
    return sketch


# ---- `Recorder`: a film of what a window shows, encoded in a thread of its own while the window goes on.

Image = NDArray[np.uint8]
WAITING = 8
"""Pictures that may wait for the encoder."""
ENDS = 20.0
"""Seconds that the encoder has for what waits when the window closes."""


class Recorder:
    """Write a film; its file appears, whole, when it has ended."""

    def __init__(self, folder: Path, name: str, picture: Image, encoder: Callable[..., Film] = Film) -> None:
        self.seconds, self.frames, self.failure = 0.0, 0, ""
        self.size: tuple[int, int] = (picture.shape[1], picture.shape[0])
        self._folder, self._name, self._encoder = folder, name, encoder
        self.path = free(folder, name, Film.suffix)
        self._picture, self._taken = picture, 0
        self._sent: Image | None = None
        self._waiting: queue.SimpleQueue[tuple[Image, int] | None] = queue.SimpleQueue()
        self.ended = False
        self._thread = threading.Thread(target=self._encode, name="film of the window", daemon=True)
        self._thread.start()
        atexit.register(self.close)  # a program may end with its windows open
        self.pass_time(0.0)

    # ---- the window's thread

    @property
    def due(self) -> bool:
        """Whether a picture that is painted now would be seen in the film: the last one was taken a frame ago."""
        return not self.ended and int(self.seconds * FPS) > self._taken

    def take(self, picture: Image) -> None:
        """`picture` is shown from now on."""
        self._picture, self._taken = picture, int(self.seconds * FPS)

    def pass_time(self, seconds: float) -> None:
        """`seconds` have passed, in which the picture that was taken last was shown."""
        if self.ended:
            return
        self.seconds += seconds
        if self._waiting.qsize() < WAITING:
            self._send(0)

    def _send(self, least: int) -> None:
        """Hand the encoder the frames that have passed since it got some, `least` at least."""
        owed = max(least, int(self.seconds * FPS) + 1 - self.frames)
        if owed > 0:
            self._waiting.put((self._picture, owed))
            self._sent, self.frames = self._picture, self.frames + owed

    def end(self) -> None:
        """That was the last frame; the file is there when :attr:`done` says so."""
        if not self.ended:
            self.ended = True
            self._send(int(self._picture is not self._sent))  # it ends with what was shown last
            self._waiting.put(None)

    @property
    def done(self) -> bool:
        """Whether the film has ended, well or not."""
        return not self._thread.is_alive()

    def close(self) -> None:
        """End it and wait for the file."""
        self.end()
        self._thread.join(ENDS)
        atexit.unregister(self.close)

    # ---- the encoder's thread

    def _encode(self) -> None:
        try:
            with self._encoder(self.path, self.size, FPS, self._put) as film:
                while (shown := self._waiting.get()) is not None:
                    picture, times = shown
                    for _ in range(times):
                        film.add(picture)
        except (ScalarvizError, OSError) as error:
            self.failure = str(error)

    def _put(self, fresh: Path, target: Path) -> None:
        """Give a film that is whole a name that nobody has taken meanwhile: another window may record as well."""
        while True:
            self.path = free(self._folder, self._name, target.suffix)
            try:
                os.link(fresh, self.path)
            except FileExistsError:
                continue
            except OSError:  # a file system without second names
                os.replace(fresh, self.path)
            return
