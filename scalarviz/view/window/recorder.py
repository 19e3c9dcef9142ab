"""`Recorder`: a film of what a window shows, encoded in a thread of its own while the window goes on.

Time is the window's: so many frames as its seconds ask for, each the picture that was shown last. Where the encoder is
slower than that, pictures are left out, and those before them stay for longer: a second stays a second.
"""

from __future__ import annotations

import atexit
import os
import queue
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ...errors import ScalarvizError
from ..film_file import Film
from ..still import free
from ..watch.pace import FPS

Image = NDArray[np.uint8]
WAITING = 8
"""Pictures that may wait for the encoder."""
ENDS = 20.0
"""Seconds that the encoder has for what waits when the window closes."""


class Recorder:
    """Write a film; its file appears, whole, when it has ended.

    Parameters
    ----------
    folder : path
    name : str
        The file is called ``name-1.mp4``, or by the first number that is free when it has ended.
    picture : ndarray
        The first frame, uint8 (H, W, 3); all others have its size.
    encoder : callable
        ``encoder(path, size, fps, put)`` makes the film.

    Attributes
    ----------
    seconds : float
        How long the film is so far.
    path : Path
        The file.
    ended : bool
        Whether it has had its last frame.
    failure : str
        Why there is none; empty while all is well.
    frames : int
        Handed to the encoder so far.
    """

    def __init__(self, folder: Path, name: str, picture: Image, encoder: Callable[..., Film] = Film) -> None:
        self.seconds, self.frames, self.failure = 0.0, 0, ""
        self.size: tuple[int, int] = (picture.shape[1], picture.shape[0])
        self._folder, self._name, self._encoder = folder, name, encoder
        self.path = free(folder, name, Film.suffix)
        self._picture, self._taken = picture, 0
        self._sent: Image | None = None
        self._waiting: queue.Queue[tuple[Image, int] | None] = queue.Queue(WAITING)
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
        owed = self._owed
        if owed > 0 and not self._waiting.full():
            self._waiting.put_nowait((self._picture, owed))
            self._sent, self.frames = self._picture, self.frames + owed

    @property
    def _owed(self) -> int:
        """Frames that have passed and are not with the encoder yet."""
        return max(0, int(self.seconds * FPS) + 1 - self.frames)

    def end(self) -> None:
        """That was the last frame; the file is there when :attr:`done` says so."""
        if self.ended:
            return
        self.ended = True
        last = self._picture
        owed = max(self._owed, int(last is not self._sent))  # it ends with what was shown last
        self.frames += owed

        def put() -> None:  # what waits may be all that can
            self._waiting.put((last, owed))
            self._waiting.put(None)

        threading.Thread(target=put, daemon=True).start()

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
