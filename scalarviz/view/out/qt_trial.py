"""Whether windows can be opened here, found out by another process.

Qt ends the whole process when it cannot reach the display or lacks a system library, so a run that wants a window
asks beforehand. The probe runs while the scene is being built and costs next to nothing.
"""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec
from typing import Any

from .display import INSTALL, without_library

BINDINGS = {"PySide6": "PySide6-Essentials", "PyQt6": "PyQt6"}
"""Python's bindings of Qt and the packages that they come in."""
SECONDS = 20.0
_CODE = "from {binding}.QtGui import QGuiApplication as A; a = A([]); print(a.platformName())"


class WindowProbe:
    """Starts Qt in another process; :meth:`reason` says how that went.

    Attributes
    ----------
    binding, package : str
        What was found of Qt (``PySide6`` out of ``PySide6-Essentials``); empty if nothing was.
    """

    def __init__(self) -> None:
        self.binding = next((name for name in BINDINGS if find_spec(name)), "")
        self.package = BINDINGS.get(self.binding, "")
        self._process: subprocess.Popen[str] | None = None
        self._outcome: tuple[str, str] | None = None
        if self.binding:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-c", _CODE.format(binding=self.binding)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                errors="replace",
                env={**os.environ, "QT_DEBUG_PLUGINS": "0", "QT_FATAL_WARNINGS": "0"},
            )

    def reason(self) -> str:
        """Why no window can be opened, in one line with what to install; empty if it can."""
        return self._answer()[0]

    def platform(self) -> str:
        """Qt's name of the window system, as ``xcb``; empty if it does not start."""
        return self._answer()[1]

    def _answer(self) -> tuple[str, str]:
        if self._outcome is None:
            self._outcome = (INSTALL, "") if self._process is None else _finished(self._process)
        return self._outcome


def _finished(process: subprocess.Popen[Any]) -> tuple[str, str]:
    try:
        out, err = process.communicate(timeout=SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        return f"Qt did not start within {SECONDS:g} s", ""
    if process.returncode == 0:
        return "", out.strip()
    return _explained(err), ""


def _explained(said: str) -> str:
    """One line out of what a Qt that does not start has to say."""
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    display = next((line for line in lines if "could not connect to display" in line.lower()), "")
    if display:
        return (
            f"{display.partition('qt.qpa.xcb: ')[2] or display}; check DISPLAY and its permission (xhost, XAUTHORITY)"
        )
    missing = next((line.split("ImportError: ")[-1] for line in lines if "cannot open shared object" in line), "")
    return without_library(missing)
