"""Messages and progress of the command line, on stderr; stdout belongs to results.

A stream may be missing (a service, pythonw, ``2>&-``), or fail when it is written to.
"""

from __future__ import annotations

import errno
import io
import math
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import IO, Any, Self

from ..errors import InputError


class Closed(io.TextIOBase):
    """Replaces a missing stdout. Writing to it fails, so a result is never lost silently."""

    def writable(self) -> bool:
        """Return True, so that callers try to write."""
        return True

    def write(self, text: str) -> int:
        """Raise OSError, as a closed descriptor does."""
        raise OSError(errno.EBADF, "the stream is closed")


@contextmanager
def usable() -> Iterator[None]:
    """Give a command the streams that the process lacks.

    Messages without a stderr are dropped. A closed descriptor gets the null device. Otherwise the next opened file
    would get its number, and a library that prints an error would write into that file. Characters that a stream
    cannot encode are written as escapes.
    """
    former = sys.stdout, sys.stderr
    for number in (0, 1, 2):
        _occupy(number)
    with open(os.devnull, "w", encoding="utf-8") as nowhere:
        if sys.stdout is None:
            sys.stdout = Closed()
        if sys.stderr is None:
            sys.stderr = nowhere
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, io.TextIOWrapper):
                with suppress(OSError, ValueError):  # a closed stream raises when it is written to
                    stream.reconfigure(errors="backslashreplace")
        try:
            yield
        finally:
            sys.stdout, sys.stderr = former


def empty(stream: IO[Any]) -> None:
    """Drop the buffer of a stream that cannot be written to; it would fail again when the process ends."""
    with suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)


def _occupy(number: int) -> None:
    try:
        os.fstat(number)
    except OSError:
        # `os.open` takes the lowest free number; a read-only stdout lets output of C code fail
        taken = os.open(os.devnull, os.O_RDWR if number != 1 else os.O_RDONLY)
        if taken != number:
            os.dup2(taken, number)
            os.close(taken)


LINE_SECONDS = 10.0  # between two lines without a terminal


def say(message: str) -> None:
    """Print one message on stderr. If that fails (a full disk, a closed terminal), the work continues."""
    try:
        print(_shown(message), file=sys.stderr, flush=True)
    except (OSError, ValueError):
        empty(sys.stderr)


def _shown(message: str) -> str:
    """Return a message without control characters, since names in files may contain some."""
    return message if message.isprintable() else "".join(c if c.isprintable() or c in "\n\t" else " " for c in message)


def fail(message: str, hint: str = "") -> int:
    """Print an error in one or two lines; return the exit code of wrong use, 2."""
    say("scalarviz: " + " ".join(message.split()))
    if hint:
        say(hint)
    return 2


def tell(line: str = "") -> None:
    """Print one line of a result on stdout; InputError if that fails, as on a full disk."""
    try:
        print(line, flush=True)
    except OSError as error:
        raise unwritable(error) from None


def number_of(value: float, digits: int | None = None) -> float | None:
    """Return a number for JSON: integers unchanged, None for NaN and infinity."""
    if isinstance(value, int):
        return value
    if not math.isfinite(value):
        return None
    return float(value) if digits is None else round(float(value), digits)


def unwritable(error: OSError) -> InputError:
    """Return the error of a stdout that cannot be written to; drop its buffer."""
    empty(sys.stdout)
    return InputError(f"cannot write the result to stdout: {(error.strerror or str(error)).lower()}")


class Progress:
    """A progress bar on a terminal, or a line every 10 s; a context manager. Counts go from `first` to `last`."""

    def __init__(self, title: str, first: int, last: int) -> None:
        self.title, self.first, self.last = title, first, last
        self._bar: Any = None
        self._next_line = time.monotonic() + LINE_SECONDS

    def __enter__(self) -> Self:
        if sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
            from rich.progress import Progress as Bar

            self._bar = Bar(
                TextColumn("{task.description}"),
                BarColumn(),
                MofNCompleteColumn(),
                TextColumn("{task.fields[note]}"),
                TimeRemainingColumn(),
                console=Console(stderr=True),
            )
            self._task = self._bar.add_task(self.title, total=self.last, completed=self.first, note="")
            self._bar.start()
        return self

    def update(self, done: int, note: object) -> None:
        """Show the count `done` and a note, which is converted to text only if it is shown."""
        if self._bar is not None:
            with _whatever_the_terminal_says():
                self._bar.update(self._task, completed=done, note=str(note))
        elif time.monotonic() >= self._next_line:
            self._next_line = time.monotonic() + LINE_SECONDS
            say(f"{self.title}: {done:,} of {self.last:,}, {note}")

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            with _whatever_the_terminal_says():
                self._bar.stop()


@contextmanager
def _whatever_the_terminal_says() -> Iterator[None]:
    """Ignore errors of a closed terminal; the training continues and still writes its files."""
    try:
        yield
    except OSError:
        empty(sys.stderr)
