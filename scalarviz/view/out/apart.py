"""`apart`: draw in a process of its own, so that a notebook's kernel has no OpenGL."""

from __future__ import annotations

import gc
import multiprocessing
import os
import sys
import warnings
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any, TypeVar

from .offscreen import offscreen

T = TypeVar("T")

PATIENCE = 30.0
"""Seconds that such a process may take, before the picture is drawn here."""


def apart(draw: Callable[[], T]) -> T:
    """Return ``draw()``, which a forked process computes for a notebook's kernel on Linux.

    OpenGL takes 110 MB of a process until that ends, and a kernel draws now and then: a class of 30 shares a machine.
    What `draw` returns is pickled on its way here. If the other process fails, this one draws.
    """
    if kernel() is None or offscreen().started or not sys.platform.startswith("linux"):
        return draw()
    reader, writer = multiprocessing.Pipe(duplex=False)
    child = multiprocessing.get_context("fork").Process(target=_answer, args=(draw, writer), daemon=True)
    with offscreen(), warnings.catch_warnings():  # no other thread has the turn, which the child would wait for
        warnings.simplefilter("ignore", DeprecationWarning)  # of forks beside threads: PATIENCE is the answer
        child.start()
    writer.close()
    try:
        if reader.poll(PATIENCE):
            found: T = reader.recv()
            return found
    except EOFError:
        pass
    finally:
        reader.close()
        child.kill()
        child.join()
    return draw()


def _answer(draw: Callable[[], object], writer: Connection) -> None:
    """Send the result, or nothing, and end without what ends a kernel: its prints and its folders are the parent's."""
    gc.disable()
    try:
        writer.send(draw())
    finally:
        os._exit(0)


def kernel() -> Any:
    """Return IPython's shell in the kernel of a notebook, else None."""
    module = sys.modules.get("IPython")
    shell = module.get_ipython() if module is not None else None
    return shell if hasattr(shell, "kernel") else None
