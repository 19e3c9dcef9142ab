"""Films on disk: frames written into an MP4 or a GIF, which appears whole or not at all."""

from __future__ import annotations

import os
import shutil
import struct
import subprocess
import warnings
from collections.abc import Callable, Generator
from contextlib import ExitStack
from itertools import count
from pathlib import Path
from types import TracebackType
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from ...errors import InputError, MissingDependencyError, listing, shown
from ...io import replacing
from ..watch.pace import FPS

ROOM = 1 << 16
"""Bytes: a disk that has less is full, as encoders see it."""


def check_video() -> None:
    """Raise MissingDependencyError, which says what to install, unless films can be written."""
    try:
        import imageio_ffmpeg  # noqa: F401
    except ImportError as error:
        raise MissingDependencyError(
            "a film (.mp4, .gif) needs imageio-ffmpeg; install it with: pip install 'scalarviz[video]'"
        ) from error


class Film:
    """Write frames into an MP4; a context manager. The file appears when the block ends without an error.

    Parameters
    ----------
    path : path-like
        Ends in ``.mp4``.
    size : (int, int)
        Width and height of the frames. Odd sizes get one more column or row, a copy of the last: the codec needs
        even ones and would otherwise rescale.
    fps : int
    put : callable, optional
        ``put(new, path)`` gives the file a name when it is whole; default: `path`, in place of an old one.
    """

    suffix: ClassVar[str] = ".mp4"

    def __init__(
        self,
        path: str | os.PathLike[str],
        size: tuple[int, int],
        fps: int = FPS,
        put: Callable[[Path, Path], object] | None = None,
    ) -> None:
        check_video()
        self.path = Path(path)
        if self.path.suffix.lower() != self.suffix:
            raise InputError(f"film: got {shown(self.path.name)}; allowed: a name that ends in {self.suffix}")
        self.size, self.fps, self.frames = size, fps, 0
        self._even, self._put = even(size), put
        self._file = self._written = self.path  # the names that are written under until it is whole
        self._stack = ExitStack()
        self._writer: Generator[None, Any, None] | None = None

    def __enter__(self) -> Self:
        import imageio_ffmpeg

        with ExitStack() as stack:
            self._file = stack.enter_context(replacing(self.path, self._put))
            self._written = self._place(stack)
            self._writer = imageio_ffmpeg.write_frames(
                str(self._written), self._even, fps=self.fps, quality=None, pix_fmt_in="rgb24",
                ffmpeg_log_level="quiet", **self._codec,
            )  # fmt: skip
            with warnings.catch_warnings():  # JAX warns of every fork; this one becomes the encoder at once
                warnings.filterwarnings("ignore", r"os\.fork\(\) was called", RuntimeWarning)
                self._writer.send(None)
            self._stack = stack.pop_all()
        return self

    _codec: ClassVar[dict[str, Any]] = {
        "codec": "libx264", "macro_block_size": 2, "pix_fmt_out": "yuv420p",
        "output_params": ["-crf", "16", "-preset", "veryfast", "-movflags", "+faststart",
                          "-color_primaries", "bt709", "-color_trc", "iec61966-2-1", "-colorspace", "bt709",
                          "-vf", "scale=out_color_matrix=bt709"],
    }  # fmt: skip

    def _place(self, stack: ExitStack) -> Path:
        """Where the frames are meanwhile."""
        return self._file

    def _complete(self) -> bool:
        """Finish the file; whether it is whole: the encoder's own exit code is not passed on."""
        return whole_mp4(self._file)

    def add(self, picture: NDArray[np.uint8]) -> None:
        """Append one frame, uint8 (H, W, 3) of the film's size."""
        check_picture(picture)
        if picture.shape[1::-1] != self.size or self._writer is None:
            raise InputError(
                f"film: got a frame of {picture.shape[1]}x{picture.shape[0]} pixels; allowed: "
                f"{self.size[0]}x{self.size[1]}, inside the with block"
            )
        if self._even != self.size:
            right, below = self._even[0] - self.size[0], self._even[1] - self.size[1]
            picture = np.pad(picture, ((0, below), (0, right), (0, 0)), mode="edge")
        try:
            self._writer.send(np.ascontiguousarray(picture))
        except (OSError, StopIteration) as error:  # nobody reads any more
            raise InputError(f"cannot write {self.path}: {self._why()}") from error
        self.frames += 1

    def _why(self) -> str:
        """Why the encoder has ended, as far as can be seen."""
        if not self._written.parent.is_dir():
            return "its folder was removed meanwhile"
        if shutil.disk_usage(self._written.parent).free < ROOM:
            return "no space left on device"
        if not self._written.exists():
            return "the encoder stopped, and what it had written is gone; was the folder removed?"
        return "the encoder stopped; is the disk full?"

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if self._writer is not None:
                self._writer.close()
            if kind is None and not self.frames:
                raise InputError(f"film {self.path}: no frame was added")
            if kind is None and not self._complete():
                raise InputError(f"cannot write {self.path}: {self._why()}")
        except BaseException as own:  # no file is left
            self._stack.__exit__(type(own), own, own.__traceback__)
            raise
        self._stack.__exit__(kind, error, trace)


def even(size: tuple[int, int]) -> tuple[int, int]:
    """The size of an MP4 of such frames: its colours stand for two by two pixels."""
    return size[0] + size[0] % 2, size[1] + size[1] % 2


def whole_mp4(path: Path) -> bool:
    """Whether the boxes of an MP4 (ISO 14496-12: length, name, content) fill the file exactly, its index among them."""
    try:
        with path.open("rb") as file:
            end = file.seek(0, os.SEEK_END)
            place, names = 0, set()
            while place + 8 <= end:
                file.seek(place)
                length, name = struct.unpack(">I4s", file.read(8))
                if length == 1:  # a long one
                    length = int.from_bytes(file.read(8), "big")
                names.add(name)
                if length < 8:
                    return False
                place += length
    except OSError:
        return False
    return place == end and b"moov" in names


# ---- A film as a GIF: frames are kept without loss until the last one, then painted with the 256 colours that fit all.


MOST_FPS = 50
"""A frame of a GIF stays for whole hundredths of a second; viewers slow down what stays for one."""
END = b";"
"""The last byte of every GIF."""
PAINT = "paletteuse=dither=bayer:bayer_scale=4:diff_mode=rectangle"
"""Ordered dithering stands still while the picture does: what does not change costs nothing."""


class Gif(Film):
    """Write frames into a GIF that plays round and round; as a `Film`, of any size."""

    suffix: ClassVar[str] = ".gif"

    def __init__(self, path: str | os.PathLike[str], size: tuple[int, int], fps: int = FPS) -> None:
        check_fps(Path(path), fps)
        super().__init__(path, size, fps)
        self._even = size

    _codec: ClassVar[dict[str, Any]] = {
        "codec": "libx264rgb", "macro_block_size": 1, "pix_fmt_out": "rgb24",
        "output_params": ["-qp", "0", "-preset", "ultrafast"],
    }  # fmt: skip

    def _place(self, stack: ExitStack) -> Path:
        beside = self.path.with_name(f"{self.path.stem}-frames.mp4")
        return stack.enter_context(replacing(beside, lambda fresh, path: None))  # it gets no name, and is removed

    def _complete(self) -> bool:
        """Find the colours, paint with them; whether all of it is there."""
        colours = self._written.with_suffix(".png")
        try:
            painted = whole_mp4(self._written) and _ffmpeg(
                ["-i", self._written, "-vf", "palettegen=stats_mode=full", "-update", "1", "-frames:v", "1", colours]
            )
            painted = painted and _ffmpeg(["-i", self._written, "-i", colours, "-lavfi", PAINT, self._file])
        finally:
            colours.unlink(missing_ok=True)
        return painted and _ends(self._file)


FILMS: dict[str, type[Film]] = {film.suffix: film for film in (Film, Gif)}
"""What a film can be, by the end of its name."""


def film_of(path: Path, size: tuple[int, int], fps: int = FPS) -> Film:
    """The film that a name asks for; errors as of `kind_of`, and MissingDependencyError without the ``video`` extra."""
    return kind_of(path)(path, size, fps)


def kind_of(path: Path) -> type[Film]:
    """What a name asks for; InputError if it ends in none of `FILMS`."""
    kind = FILMS.get(path.suffix.lower())
    if kind is None:
        raise InputError(f"film: got {shown(path.name)}; allowed: a name that ends in {listing(FILMS)}")
    return kind


def check_fps(path: Path, fps: int) -> None:
    """Raise InputError if a film of that name cannot have so many frames a second."""
    if path.suffix.lower() == Gif.suffix and fps > MOST_FPS:
        raise InputError(f"{path}: a GIF has at most {MOST_FPS} frames a second, got {fps}; try --fps 25, or .mp4")


def _ffmpeg(arguments: list[str | Path]) -> bool:
    """Run the encoder, which a Ctrl-C of the terminal does not reach; whether it has done its work."""
    import imageio_ffmpeg

    command = [imageio_ffmpeg.get_ffmpeg_exe(), "-v", "error", "-y", *map(str, arguments)]
    nothing = subprocess.DEVNULL
    return subprocess.run(command, check=False, stdin=nothing, stderr=nothing, start_new_session=True).returncode == 0


def _ends(path: Path) -> bool:
    """Whether a GIF is whole: it has its last byte."""
    try:
        with path.open("rb") as file:
            file.seek(-1, os.SEEK_END)
            return file.read(1) == END
    except OSError:
        return False


# ---- Pictures to disk, atomically: a reader sees the old file or the whole new one, never a half.


def save_png(path: str | os.PathLike[str], picture: NDArray[np.uint8]) -> Path:
    """Write `picture`, uint8 (H, W, 3), as a PNG."""
    from PIL import Image

    check_picture(picture)
    with replacing(path) as temporary:
        Image.fromarray(np.ascontiguousarray(picture)).save(temporary, format="PNG")
    return Path(path)


def check_picture(picture: NDArray[np.uint8]) -> None:
    """Raise InputError unless `picture` is uint8 (H, W, 3) with at least one pixel."""
    if picture.dtype != np.uint8 or picture.ndim != 3 or picture.shape[2] != 3 or picture.size == 0:
        raise InputError(
            f"picture: got {picture.dtype} {picture.shape}; allowed: uint8 (height, width, 3); try sv.render(...)"
        )


def free(folder: Path, name: str, suffix: str) -> Path:
    """``folder/name-1.png``, or the first number that no file has."""
    stem = name.replace(" ", "-")
    return next(path for number in count(1) if not (path := folder / f"{stem}-{number}{suffix}").exists())
