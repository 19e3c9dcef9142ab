"""The standard streams of a command: there may be none (a service, pythonw, ``2>&-``), and they may take nothing."""

from __future__ import annotations

import errno
import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import IO, Any


class Closed(io.TextIOBase):
    """Stands in for a stdout that is not there: what is written fails, so a result never gets lost in silence."""

    def writable(self) -> bool:
        """Whether one may try."""
        return True

    def write(self, text: str) -> int:
        """Raise OSError, as a closed descriptor does."""
        raise OSError(errno.EBADF, "it is closed")


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
