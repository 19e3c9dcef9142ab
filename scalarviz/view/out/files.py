"""Films and pictures on disk, which appear complete or not at all; `Taking` makes those of a window."""

from __future__ import annotations

import atexit
import os
import queue
import shutil
import signal
import subprocess
import threading
from collections.abc import Callable
from contextlib import ExitStack, suppress
from itertools import count
from pathlib import Path
from types import TracebackType
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from ...errors import InputError, MissingDependencyError, ScalarvizError, shown
from ...io import replacing, write_bytes
from ...io.atomic import StrPath, as_path
from ..ink.boxes import LABEL
from ..ink.painter import Painter
from ..ink.sketch import Sketch
from ..ink.text import measure
from ..panels.drawer import cut
from ..watch.playback import FPS

SVG = ".svg"
ROOM = 1 << 16
"""Bytes of free space below which a disk counts as full."""


PATIENCE = 60.0
"""Seconds in which an encoder must take a frame, or write something."""


def check_video() -> str:
    """Return the encoder's program; raise MissingDependencyError, with install advice, if films cannot be written."""
    try:
        import imageio_ffmpeg

        return str(imageio_ffmpeg.get_ffmpeg_exe())
    except (ImportError, RuntimeError) as error:
        lacks = "imageio-ffmpeg" if isinstance(error, ImportError) else f"ffmpeg ({str(error).splitlines()[0]})"
        raise MissingDependencyError(
            f"a film (.mp4, .gif) needs {lacks}; install it with: pip install 'scalarviz[video]'"
        ) from error


class Film:
    """Write frames into an MP4, as a context manager. The file appears when the block ends without an error.

    Parameters
    ----------
    path : path-like
        Ends in ``.mp4``.
    size : (int, int)
        Width and height of the frames. Odd sizes get one more column or row, a copy of the last: the codec needs even
        ones and would otherwise rescale.
    fps : int
    put : callable, optional
        ``put(new, path)`` gives the complete file its name; default: `path`, replacing an old file.
    """

    suffix: ClassVar[str] = ".mp4"

    def __init__(
        self, path: StrPath, size: tuple[int, int], fps: int = FPS, put: Callable[[Path, Path], object] | None = None
    ) -> None:
        check_video()
        self.path = Path(path)
        if self.path.suffix.lower() != self.suffix:
            raise InputError(f"film: got {shown(self.path.name)}; allowed: a name that ends in {self.suffix}")
        self.size, self.fps, self.frames = size, fps, 0
        self._even, self._put = even_size(size), put
        self._file = self._written = self.path  # temporary names until it is complete
        self._stack, self._stuck = ExitStack(), False
        self._encoder: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            self._file = stack.enter_context(replacing(self.path, self._put))
            self._written = self._place(stack)
            raw = ["-f", "rawvideo", "-s", "{}x{}".format(*self._even), "-pix_fmt", "rgb24", "-r", str(self.fps)]
            self._encoder = _ffmpeg([*raw, "-i", "-", "-an", *self._codec, _named(self._written)], subprocess.PIPE)
            stack.push(self._end)
            self._stack = stack.pop_all()
        return self

    _codec: ClassVar[list[str]] = [
        "-vcodec", "libx264", "-pix_fmt", "yuv420p", "-crf", "16", "-preset", "veryfast", "-movflags", "+faststart",
        "-color_primaries", "bt709", "-color_trc", "iec61966-2-1", "-colorspace", "bt709",
        "-vf", "scale=out_color_matrix=bt709",
    ]  # fmt: skip

    def _place(self, stack: ExitStack) -> Path:
        """Return the temporary file of the frames."""
        return self._file

    def _complete(self) -> bool:
        """Finish the file after its last frame; return whether it is complete."""
        return True

    def add(self, picture: NDArray[np.uint8]) -> None:
        """Append one frame, uint8 (H, W, 3) of the film's size."""
        check_picture(picture)
        if picture.shape[1::-1] != self.size or self._encoder is None:
            raise InputError(
                f"film: got a frame of {picture.shape[1]}x{picture.shape[0]} pixels; allowed: "
                f"{self.size[0]}x{self.size[1]}, inside the with block"
            )
        if self._even != self.size:
            right, below = self._even[0] - self.size[0], self._even[1] - self.size[1]
            picture = np.pad(picture, ((0, below), (0, right), (0, 0)), mode="edge")
        pipe, watch = self._encoder.stdin, threading.Timer(PATIENCE, self._stop_encoder)
        assert pipe is not None
        watch.daemon = True
        watch.start()
        try:
            pipe.write(np.ascontiguousarray(picture).data)
            pipe.flush()
        except OSError as error:  # the encoder no longer reads
            raise InputError(f"cannot write {self.path}: {self._why(self._encoder)}") from error
        finally:
            watch.cancel()
        self.frames += 1

    def _stop_encoder(self) -> None:
        """Kill an encoder that makes no progress."""
        if self._encoder is not None:
            self._stuck = True
            self._encoder.kill()

    def _why(self, encoder: subprocess.Popen[bytes]) -> str:
        """Return why the encoder has ended, as far as known."""
        if self._stuck:
            return f"the encoder (ffmpeg) did nothing for {PATIENCE:g} s and was stopped"
        with suppress(subprocess.TimeoutExpired):
            encoder.wait(1.0)
        if not self._written.parent.is_dir():
            return "its folder was removed"
        if shutil.disk_usage(self._written.parent).free < ROOM:
            return "no space left on device"
        if (code := encoder.returncode or 0) < 0:
            return f"the encoder stopped: another process ended ffmpeg ({signal.Signals(-code).name})"
        if not self._written.exists():
            return "the encoder stopped and its file is gone; was the folder removed?"
        return "the encoder stopped; is the disk full?"

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.__exit__(kind, error, trace)

    def _end(self, kind: type[BaseException] | None, *_: object) -> None:
        """Let the encoder finish, or kill it; an incomplete film raises an error, so it gets no name."""
        encoder = self._encoder
        assert encoder is not None
        try:
            if kind is None and self.frames:
                self._wait(encoder)
            whole = encoder.returncode == 0
        finally:  # a signal also kills it at once
            encoder.kill()
            encoder.wait()
            with suppress(OSError):
                encoder.stdin.close()  # type: ignore[union-attr]  # a pipe
        if kind is None and not self.frames:
            raise InputError(f"film {self.path}: no frame was added")
        if kind is None and not (whole and self._complete()):
            raise InputError(f"cannot write {self.path}: {self._why(encoder)}")

    def _wait(self, encoder: subprocess.Popen[bytes]) -> None:
        """Close the input and wait for the encoder as long as it writes."""
        with suppress(OSError):
            encoder.stdin.close()  # type: ignore[union-attr]  # a pipe
        before = None
        while True:
            with suppress(subprocess.TimeoutExpired):
                encoder.wait(PATIENCE)
                return
            now = self._written.stat() if self._written.exists() else None
            if before == now:
                self._stop_encoder()
            before = now


def even_size(size: tuple[int, int]) -> tuple[int, int]:
    """Return the size of an MP4 with such frames; its colours cover two by two pixels."""
    return size[0] + size[0] % 2, size[1] + size[1] % 2


# ---- A film as a GIF: frames are stored without loss until the last one, then get the 256 best colours.


MOST_FPS = 50
"""Most frames per second of a GIF: frames last whole hundredths of a second, and viewers slow down single ones."""
PAINT = "paletteuse=dither=bayer:bayer_scale=4:diff_mode=rectangle"
"""Ordered dithering: it does not move in a still picture, so unchanged parts cost nothing."""


class Gif(Film):
    """Write frames into a GIF that loops; like `Film`, of any size."""

    suffix: ClassVar[str] = ".gif"

    def __init__(self, path: StrPath, size: tuple[int, int], fps: int = FPS) -> None:
        check_fps(Path(path), fps)
        super().__init__(path, size, fps)
        self._even = size

    _codec: ClassVar[list[str]] = ["-vcodec", "libx264rgb", "-pix_fmt", "rgb24", "-qp", "0", "-preset", "ultrafast"]

    def _place(self, stack: ExitStack) -> Path:
        frames, self._colours = (  # temporary, removed at the end
            stack.enter_context(replacing(self.path.with_name(f"{self.path.stem}-frames{ending}"), lambda *_: None))
            for ending in (".mp4", ".png")
        )
        return frames

    def _complete(self) -> bool:
        """Find the colours and paint with them; return whether both succeeded."""
        frames, colours = _named(self._written), _named(self._colours)
        find = ["-i", frames, "-vf", "palettegen=stats_mode=full", "-update", "1", "-frames:v", "1", colours]
        paint = ["-i", frames, "-i", colours, "-lavfi", PAINT, _named(self._file)]
        return all(_ffmpeg(arguments).wait() == 0 for arguments in (find, paint))


FILMS: dict[str, type[Film]] = {film.suffix: film for film in (Film, Gif)}
"""Classes of films by suffix."""


def film_class(path: Path) -> type[Film]:
    """Return the class for a name; raise InputError if it ends in none of `FILMS`."""
    kind = FILMS.get(path.suffix.lower())
    if kind is None:
        raise InputError(f"film: got {shown(path.name)}; allowed: a name that ends in {' or '.join(FILMS)}")
    return kind


def check_fps(path: Path, fps: int) -> None:
    """Raise InputError if a film of that name cannot have so many frames per second."""
    if path.suffix.lower() == Gif.suffix and fps > MOST_FPS:
        raise InputError(f"{path}: a GIF has at most {MOST_FPS} frames a second, got {fps}; try --fps 25, or .mp4")


def _named(path: Path) -> str:
    """Return a file for the encoder, where a colon in a bare name would end a protocol."""
    return f"file:{path}"


def _ffmpeg(arguments: list[str], stdin: int = subprocess.DEVNULL) -> subprocess.Popen[bytes]:
    """Start the encoder, out of reach of the terminal's Ctrl-C; its exit code is 0 on success."""
    program = check_video()
    nothing, own = subprocess.DEVNULL, getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0)
    try:
        return subprocess.Popen(
            [program, "-v", "quiet", "-xerror", "-y", *arguments],
            stdin=stdin, stdout=nothing, stderr=nothing, start_new_session=True, creationflags=own,
        )  # fmt: skip
    except OSError as error:
        raise MissingDependencyError(
            f"a film needs ffmpeg, and {program} does not start ({error.strerror}); reinstall it with: "
            "pip install --force-reinstall imageio-ffmpeg"
        ) from error


# ---- Pictures to disk, atomically: a reader sees the old file or the complete new one.


def save_png(path: StrPath, picture: NDArray[np.uint8]) -> Path:
    """Write `picture`, uint8 (H, W, 3), as a PNG."""
    from PIL import Image

    check_picture(picture)
    with replacing(path) as temporary:
        Image.fromarray(np.ascontiguousarray(picture)).save(temporary, format="PNG")
    return Path(path)


def save(path: StrPath, picture: Callable[[], NDArray[np.uint8]], svg: Callable[[], str]) -> Path:
    """Write `svg()` if the name ends in ``.svg``, else `picture()` as a PNG."""
    if as_path(path).suffix.lower() != SVG:
        return save_png(path, picture())
    write_bytes(path, svg().encode())
    return Path(path)


def check_picture(picture: NDArray[np.uint8]) -> None:
    """Raise InputError unless `picture` is uint8 (H, W, 3) with at least one pixel."""
    if picture.dtype != np.uint8 or picture.ndim != 3 or picture.shape[2] != 3 or picture.size == 0:
        raise InputError(f"picture: got {picture.dtype} {picture.shape}; allowed: uint8 (H, W, 3); try sv.render(...)")


def free(folder: Path, name: str, suffix: str) -> Path:
    """Return ``folder/name-1.png``, or the first number without a file."""
    stem = name.replace(" ", "-")
    return next(path for number in count(1) if not (path := folder / f"{stem}-{number}{suffix}").exists())


# ---- `Taking`: stills and films of a window, numbered files, and messages about them.

SAID = 4.0
"""Seconds that a message stays."""


class Taking:
    """Writes the stills and films of a window."""

    def __init__(self, folder: str | Path, note: Callable[[str], None]) -> None:
        self.folder, self._note = Path(folder), note
        self._film: Recorder | None = None
        self._painter: tuple[object, Painter] | None = None  # and the size that it paints for
        self._said, self._left = "", 0.0
        self._missed = False  # whether a picture came too soon after the one before

    # ---- stills

    def save_still(self, name: str, image: NDArray[np.uint8]) -> Path | None:
        """Save a picture as a PNG; return the file, or None with a message if it could not be written."""
        try:
            path = save_png(free(self.folder, name, ".png"), image)
        except (OSError, ValueError) as error:
            self._say(f"no screenshot: {error}")
            return None
        self._say(f"wrote {path}")
        return path

    # ---- films

    def due(self) -> bool:
        """Return whether the picture being painted is needed for a film."""
        due = self._film is not None and self._film.due
        self._missed = self._film is not None and not due
        return due

    def add_picture(self, picture: NDArray[np.uint8]) -> None:
        """Add a picture, as it is written to files, to the film."""
        if self._film is not None:
            self._film.set_picture(picture)

    def begin_or_end(self, name: str, picture: Callable[[], NDArray[np.uint8]]) -> None:
        """Begin a film with the present picture, or end it."""
        if self._film is not None:
            self.add_picture(picture())
            self._film.end()
            return
        try:
            check_video()
        except MissingDependencyError as error:
            self._say(f"no film: {error}")
            return
        self._film, self._said = Recorder(self.folder, name, picture()), ""

    def resized(self, size: tuple[int, int]) -> None:
        """End a film if the window has another size, because a film keeps its size."""
        if self._film is not None and size != self._film.size:
            self._film.end()
            self._note("the film has ended: the window was resized")

    def pass_time(self, seconds: float) -> bool:
        """Advance by `seconds`; return whether the window should be repainted."""
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
        return (self._missed and self._film is not None and self._film.due) or self.text != before

    def close(self) -> None:
        """End a film and wait until it is written."""
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
        """The message over the picture; empty for none."""
        if self._film is None or self._said:
            return self._said
        if self._film.ended:
            return "the film is being written"
        minutes, seconds = divmod(int(self._film.seconds), 60)
        return f"{minutes}:{seconds:02}  ·  Ctrl+S ends the film"

    def draw(self, size: tuple[int, int], ratio: float) -> None:
        """Paint the message over the window's picture, if there is one."""
        if not self.text:
            return
        logical = size[0] / ratio, size[1] / ratio
        if self._painter is None or self._painter[0] != (size, ratio):
            self._painter = (size, ratio), Painter(logical, ratio)
        self._painter[1].draw([mark(self.text, logical, red=self._film is not None and not self._said)])

    def _say(self, line: str) -> None:
        self._note(line)
        self._said, self._left = line, SAID


# ---- Messages over the window's picture, which stills and films do not contain.

GROUND, INK, EDGE, RED = "#0c0e11", "#ffffff", "#5a616b", "#ff4d4d"
HIGH, ENDS_AIR, RIM, BELOW = 20.0, 10.0, 8.0, 3.0
"""Logical pixels of the message: height, air at both ends, right margin, and margin below: under all panels."""


def mark(text: str, size: tuple[float, float], *, red: bool) -> Sketch:
    """Return the message for a picture of logical pixels."""
    sketch = Sketch(over=True)
    disc = 16.0 if red else 0.0
    shown = cut(text, size[0] - 2 * (RIM + ENDS_AIR) - disc)
    wide = measure(shown, LABEL) + 2 * ENDS_AIR + disc
    x, y = size[0] - RIM - wide, size[1] - BELOW - HIGH
    sketch.rect(x, y, wide, HIGH, fill=GROUND, stroke=EDGE, radius=HIGH / 2)
    if red:
        sketch.disc(x + ENDS_AIR + 5, y + HIGH / 2, 5, fill=RED)
    sketch.text(x + ENDS_AIR + disc, y + HIGH / 2 + 5, shown, LABEL, INK)
    return sketch


# ---- `Recorder`: a film of a window, encoded in a thread of its own.

Image = NDArray[np.uint8]
WAITING = 8
"""Most pictures that wait for the encoder."""
ENDS = 20.0
"""Seconds for the encoder to finish when the window closes."""


class Recorder:
    """Writes a film in a thread; its file appears, complete, after its end."""

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
        atexit.register(self.close)  # a program can end with open windows
        self.pass_time(0.0)

    # ---- the window's thread

    @property
    def due(self) -> bool:
        """True if a picture painted now would be in the film: a frame has passed since the last one."""
        return not self.ended and int(self.seconds * FPS) > self._taken

    def set_picture(self, picture: Image) -> None:
        """Show `picture` in the film from now on."""
        self._picture, self._taken = picture, int(self.seconds * FPS)

    def pass_time(self, seconds: float) -> None:
        """Advance by `seconds`, which show the last picture."""
        if self.ended:
            return
        self.seconds += seconds
        if self._waiting.qsize() < WAITING:
            self._send(0)

    def _send(self, least: int) -> None:
        """Send the encoder the frames since the last call, at least `least`."""
        owed = max(least, int(self.seconds * FPS) + 1 - self.frames)
        if owed > 0:
            self._waiting.put((self._picture, owed))
            self._sent, self.frames = self._picture, self.frames + owed

    def end(self) -> None:
        """End the film; the file exists once :attr:`done` is True."""
        if not self.ended:
            self.ended = True
            self._send(int(self._picture is not self._sent))  # it ends with the last picture
            self._waiting.put(None)

    @property
    def done(self) -> bool:
        """True if the film has ended, successfully or not."""
        return not self._thread.is_alive()

    def close(self) -> None:
        """End it and wait for the file."""
        self.end()
        self._thread.join(ENDS)
        atexit.unregister(self.close)

    # ---- the encoder's thread

    def _encode(self) -> None:
        try:
            with self._encoder(self.path, self.size, FPS, self._name_file) as film:
                while (shown := self._waiting.get()) is not None:
                    picture, times = shown
                    for _ in range(times):
                        film.add(picture)
        except (ScalarvizError, OSError) as error:
            self.failure = str(error)

    def _name_file(self, fresh: Path, target: Path) -> None:
        """Give a complete film a free name; another window may record as well."""
        while True:
            self.path = free(self._folder, self._name, target.suffix)
            try:
                os.link(fresh, self.path)
            except FileExistsError:
                continue
            except OSError:  # a file system without hard links
                os.replace(fresh, self.path)
            return
