"""Serving windows while Python waits for a line at its prompt."""

from __future__ import annotations

import ctypes
import select
import sys
from collections.abc import Callable
from typing import Any

_hook: object | None = None  # the C side keeps only a pointer
_clients: list[Callable[[], bool]] = []


def serve_prompt(update: Callable[[], bool]) -> bool:
    """Call `update` while an interactive prompt waits for input, until it returns False.

    In IPython its own Qt integration is switched on; at the plain prompt Python's input hook is used where standard
    input can be polled (not on Windows). In a script nothing happens: the loop calls ``update()`` itself.

    Returns
    -------
    bool
        Whether there is such a prompt.
    """
    shell = _ipython()
    if shell is not None:
        shell.enable_gui("qt6")
        return True
    if hasattr(sys, "ps1") and sys.platform != "win32":
        _clients.append(update)
        _install()
        return True
    return False


def _ipython() -> Any:
    module = sys.modules.get("IPython")
    shell = module.get_ipython() if module is not None else None
    return shell if shell is not None and hasattr(shell, "enable_gui") else None


def _install() -> None:
    global _hook  # noqa: PLW0603 - one hook a process is how Python has it
    if _hook is None:
        _hook = ctypes.CFUNCTYPE(ctypes.c_int)(_serve)
        pointer = ctypes.c_void_p.in_dll(ctypes.pythonapi, "PyOS_InputHook")
        pointer.value = ctypes.cast(_hook, ctypes.c_void_p).value


def _serve() -> int:
    """Called by Python before it reads a line: serve until there is one."""
    while _clients:
        _clients[:] = [update for update in _clients if update()]
        ready, _, _ = select.select([sys.stdin], [], [], 1 / 60)
        if ready:
            break
    return 0
