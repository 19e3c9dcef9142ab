"""What the command line says: messages and progress on stderr; stdout belongs to results."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Any, Self

from ..errors import InputError
from .streams import empty

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


def unwritable(error: OSError) -> InputError:
    """The error of a stdout that takes nothing; what is still in its buffer is dropped."""
    empty(sys.stdout)
    return InputError(f"cannot write the result to stdout: {(error.strerror or str(error)).lower()}")


class Progress:
    """A bar on a terminal, a line now and then elsewhere; a context manager.

    Parameters
    ----------
    title : str
        What goes on.
    first, last : int
        The count at the start and at the end.
    """

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

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
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
