"""`Taking`: stills and films of a window, numbered files, and what the window says of them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ...errors import MissingDependencyError
from ..film_file import check_video
from ..still import free, save_png
from .mark import Mark
from .recorder import Recorder

SAID = 4.0
"""Seconds for which it is said what was written."""


class Taking:
    """Writes what a window hands it.

    Parameters
    ----------
    folder : path
    note : callable
        Told in one line what was written.

    Attributes
    ----------
    folder : Path
    """

    def __init__(self, folder: str | Path, note: Callable[[str], None]) -> None:
        self.folder, self._note = Path(folder), note
        self._film: Recorder | None = None
        self._mark = Mark()
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

    @property
    def making(self) -> bool:
        """Whether a film is made, or still written."""
        return self._film is not None

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
            self.end()
            return
        try:
            check_video()
        except MissingDependencyError as error:
            self._say(f"no film: {error}")
            return
        self._film, self._said = Recorder(self.folder, name, picture()), ""

    def end(self, why: str = "") -> None:
        """End the film, if one is made; the file is told when it is there."""
        if self._film is not None:
            self._film.end()
            if why:
                self._note(f"the film has ended: {why}")

    def resized(self, size: tuple[int, int]) -> None:
        """The window has another size: a film keeps the one that it began with, and ends."""
        if self._film is not None and size != self._film.size:
            self.end("the window has another size")

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
                self._over()
        again = self._missed and self._film is not None and self._film.due
        return again or self.text != before

    def close(self) -> None:
        """End what is made, and wait until it is written: what was recorded is not lost."""
        if self._film is not None:
            self._film.close()
            self._over()

    def _over(self) -> None:
        film, self._film = self._film, None
        assert film is not None
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
        if self.text:
            self._mark.draw(self.text, size, ratio, red=self._film is not None and not self._said)

    def _say(self, line: str) -> None:
        self._note(line)
        self._said, self._left = line, SAID
