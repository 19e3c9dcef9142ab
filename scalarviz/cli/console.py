"""What the command line says: messages and progress on stderr; stdout belongs to results.

There may be no streams (a service, pythonw, ``2>&-``), and they may take nothing.
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
    """Stands in for a missing stdout: writing to it fails, so a result never gets lost in silence."""

    def writable(self) -> bool:
        """Whether one may try."""
        return True

    def write(self, text: str) -> int:
        """Raise OSError, as a closed descriptor does."""
        raise OSError(errno.EBADF, "the stream is closed")


@contextmanager
def usable() -> Iterator[None]:
    """Give a command the streams that the process lacks.

    Messages that nobody can read go nowhere. A descriptor that is closed gets the null device: else the next file
    that is opened would have its number, and a library that prints an error would print into that file. What the
    encoding of a stream lacks is written as an escape.
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
                with suppress(OSError, ValueError):  # a stream that is closed says so when it is written to
                    stream.reconfigure(errors="backslashreplace")
        try:
            yield
        finally:
            sys.stdout, sys.stderr = former


def empty(stream: IO[Any]) -> None:
    """Drop what a stream that takes nothing has in its buffer: it would fail once more at the end of the process."""
    with suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)


def _occupy(number: int) -> None:
    try:
        os.fstat(number)
    except OSError:
        # the lowest free number; one that may not be written to leaves a result that C code prints unwritten
        taken = os.open(os.devnull, os.O_RDWR if number != 1 else os.O_RDONLY)
        if taken != number:
            os.dup2(taken, number)
            os.close(taken)


LINE_SECONDS = 10.0  # between two lines where there is no terminal for a bar


def say(message: str) -> None:
    """One message on stderr; where nobody can be told (a full disk, a closed terminal) the work goes on."""
    try:
        print(_shown(message), file=sys.stderr, flush=True)
    except (OSError, ValueError):
        empty(sys.stderr)


def _shown(message: str) -> str:
    """A message without what a terminal obeys: a file's own names stand in it."""
    return message if message.isprintable() else "".join(c if c.isprintable() or c in "\n\t" else " " for c in message)


def fail(message: str, hint: str = "") -> int:
    """Say what is wrong, in one line or two; returns the exit code of a wrong use, 2."""
    say("scalarviz: " + " ".join(message.split()))
    if hint:
        say(hint)
    return 2


def tell(line: str = "") -> None:
    """One line of a result on stdout; InputError if it cannot be written, as on a full disk."""
    try:
        print(line, flush=True)
    except OSError as error:
        raise unwritable(error) from None


def number_of(value: float, digits: int | None = None) -> float | None:
    """JSON has no NaN; a count stays one."""
    if isinstance(value, int):
        return value
    if not math.isfinite(value):
        return None
    return float(value) if digits is None else round(float(value), digits)


def unwritable(error: OSError) -> InputError:
    """The error of a stdout that takes nothing; what is still in its buffer is dropped."""
    empty(sys.stdout)
    return InputError(f"cannot write the result to stdout: {(error.strerror or str(error)).lower()}")


class Progress:
    """A bar on a terminal, else a line now and then; a context manager. Counts go from `first` to `last`."""

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
        """Show that `done` are done, and a few words: what `note` is as a text, where it is shown."""
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
    """A terminal that was closed takes no bar; the training goes on, and what it leaves is written."""
    try:
        yield
    except OSError:
        empty(sys.stderr)
