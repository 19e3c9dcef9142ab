"""A film as a GIF: frames are kept without loss until the last one, then painted with the 256 colours that fit all."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Generator, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Any, ClassVar, Self

from ..errors import InputError, listing, shown
from ..io import replacing
from .film import Film, whole_mp4
from .watch.pace import FPS

MOST_FPS = 50
"""A frame of a GIF stays for whole hundredths of a second; viewers slow down what stays for one."""
END = b";"
"""The last byte of every GIF."""
PAINT = "paletteuse=dither=bayer:bayer_scale=4:diff_mode=rectangle"
"""Ordered dithering stands still while the picture does: what does not change costs nothing."""


class Gif(Film):
    """Write frames into a GIF that plays round and round; as a `Film`, of any size.

    Parameters
    ----------
    path : path-like
        Ends in ``.gif``.
    size : (int, int)
    fps : int
        At most `MOST_FPS`.

    Raises
    ------
    InputError
        More frames a second, or another name.
    """

    suffix: ClassVar[str] = ".gif"

    def __init__(self, path: str | os.PathLike[str], size: tuple[int, int], fps: int = FPS) -> None:
        check_fps(Path(path), fps)
        super().__init__(path, size, fps)
        self._even = size
        self._stack = ExitStack()
        self._frames = Path(path)

    def __enter__(self) -> Self:
        beside = self.path.with_name(f"{self.path.stem}-frames.mp4")
        self._frames = self._stack.enter_context(_passing(beside))
        try:
            return super().__enter__()
        except BaseException:
            self._stack.close()
            raise

    def _encoder(self, file: Path) -> Generator[None, Any, None]:
        import imageio_ffmpeg

        return imageio_ffmpeg.write_frames(  # type: ignore[no-any-return]
            str(self._frames), self.size, fps=self.fps, codec="libx264rgb", quality=None, macro_block_size=1,
            pix_fmt_in="rgb24", pix_fmt_out="rgb24", ffmpeg_log_level="quiet",
            output_params=["-qp", "0", "-preset", "ultrafast"],
        )  # fmt: skip

    def _complete(self) -> bool:
        """Find the colours, paint with them; whether all of it is there."""
        colours = self._frames.with_suffix(".png")
        try:
            painted = whole_mp4(self._frames) and _ffmpeg(
                ["-i", self._frames, "-vf", "palettegen=stats_mode=full", "-update", "1", "-frames:v", "1", colours]
            )
            painted = painted and _ffmpeg(["-i", self._frames, "-i", colours, "-lavfi", PAINT, self._file])
        finally:
            colours.unlink(missing_ok=True)
        return painted and _ends(self._file)

    @property
    def _written(self) -> Path:
        """Where the frames are meanwhile."""
        return self._frames

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._stack:
            super().__exit__(kind, error, trace)


@contextmanager
def _passing(path: Path) -> Iterator[Path]:
    """A file beside `path` that is removed at the end; so is what a process that was killed has left of one."""
    with suppress(_Used), replacing(path) as file:
        yield file
        raise _Used


class _Used(Exception):
    """No fault: the file has served, and gets no name."""


FILMS: dict[str, type[Film]] = {film.suffix: film for film in (Film, Gif)}
"""What a film can be, by the end of its name."""


def film_of(path: Path, size: tuple[int, int], fps: int = FPS) -> Film:
    """The film that a name asks for.

    Raises
    ------
    InputError
        It ends in none of `FILMS`, or there are more frames a second than it can have.
    MissingDependencyError
        Without the ``video`` extra.
    """
    kind = FILMS.get(path.suffix.lower())
    if kind is None:
        raise InputError(f"film: got {shown(path.name)}; allowed: a name that ends in {listing(FILMS)}")
    return kind(path, size, fps)


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
