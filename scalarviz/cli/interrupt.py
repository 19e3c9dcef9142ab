"""Ctrl-C before a command can answer it, and after: one line and the exit code, never a traceback.

Inside an import `KeyboardInterrupt` would go through C code that makes another error of it, or swallows it, and there
is nothing to clean up: the process ends at once. Elsewhere it is raised as usual, and the command or the run answers.
Loads nothing but a little of the standard library: what comes before `listening` cannot be answered.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any

INTERRUPTED = 130
"""The exit code that a shell expects after Ctrl-C."""
MESSAGE = "scalarviz: interrupted"
_IMPORTING = "<frozen importlib"


@contextmanager
def listening() -> Iterator[None]:
    """For the rest of the process: answer Ctrl-C in the block, which is a whole command, and end at once after it."""
    if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:  # a background job ignores it
        yield
        return
    signal.signal(signal.SIGINT, _answer)
    sys.unraisablehook = _unraisable
    try:
        yield
    except KeyboardInterrupt:
        _leave()
    finally:
        signal.signal(signal.SIGINT, _leave)  # Python's own end would print a traceback


def _answer(number: int, frame: FrameType | None) -> None:
    while frame is not None:
        if frame.f_code.co_filename.startswith(_IMPORTING):
            _leave()
        frame = frame.f_back
    raise KeyboardInterrupt


def _unraisable(problem: Any) -> None:
    """A Ctrl-C counts where Python cannot raise, too, as in a callback of the collector."""
    if isinstance(problem.exc_value, KeyboardInterrupt):
        _leave()
    sys.__unraisablehook__(problem)


def _leave(*_: object) -> None:
    with suppress(OSError):  # nobody may be listening
        os.write(2, f"{MESSAGE}\n".encode())
    os._exit(INTERRUPTED)
