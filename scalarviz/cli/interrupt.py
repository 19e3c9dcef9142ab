"""Answer Ctrl-C before and after a command: one line and the exit code, never a traceback.

Inside an import, C code would turn `KeyboardInterrupt` into another error or swallow it. Nothing needs cleaning up
there, so the process ends at once. Elsewhere it is raised as usual, and the command or the run answers. This module
loads only a little of the standard library, because nothing can answer before `listening`.
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
"""Exit code that a shell expects after Ctrl-C."""
MESSAGE = "scalarviz: interrupted"
_IMPORTING = "<frozen importlib"


@contextmanager
def listening() -> Iterator[None]:
    """Answer Ctrl-C during the block, a whole command; afterwards, until the process ends, exit at once."""
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
    """Answer a Ctrl-C where Python cannot raise, such as in a callback of the garbage collector."""
    if isinstance(problem.exc_value, KeyboardInterrupt):
        _leave()
    sys.__unraisablehook__(problem)


def _leave(*_: object) -> None:
    with suppress(OSError):  # stderr may be closed
        os.write(2, f"{MESSAGE}\n".encode())
    os._exit(INTERRUPTED)
