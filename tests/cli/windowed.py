"""The program as a process with its window: keys by real events, what it says in files."""

from __future__ import annotations

import os
import subprocess
import sys
import time

SMALL = ["--size", "480x270"]


class Program:
    """The program with its window."""

    def __init__(self, folder, display, *arguments, **environment):
        self.display = display
        self._said, self._printed = (folder / f".{name}{display.replace(':', '-')}" for name in ("stderr", "stdout"))
        with self._said.open("w") as said, self._printed.open("w") as printed:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "scalarviz", *map(str, arguments)],
                cwd=folder,
                env={**os.environ, "DISPLAY": display, "QT_QPA_PLATFORM": "xcb", **environment},
                stdin=subprocess.DEVNULL,
                stderr=said,
                stdout=printed,
            )

    def xdo(self, *words):
        env = {**os.environ, "DISPLAY": self.display}
        return subprocess.run(["xdotool", *words], env=env, capture_output=True, text=True, check=False).stdout.split()

    def until(self, condition, seconds=30.0):
        end = time.monotonic() + seconds
        while not condition():
            assert self.process.poll() is None, self.err
            assert time.monotonic() < end, f"it did not happen in time: {self.err}"
            time.sleep(0.05)

    def opened(self, *, begins=True):
        """Wait for the window, until it has taken the keyboard by itself, and perhaps let it begin."""
        self.until(self._focused)
        time.sleep(0.3)
        if begins:
            self.key("space")
            time.sleep(0.3)
        return self

    def _focused(self):
        found = self.xdo("search", "--onlyvisible", "--name", "^scalarviz: ")
        return bool(found) and self.xdo("getwindowfocus")[:1] == found[:1]

    def key(self, name):
        self.xdo("key", name)

    def ended(self, seconds=20.0):
        """The exit code."""
        try:
            return self.process.wait(seconds)
        finally:
            if self.process.poll() is None:
                self.process.kill()
                self.process.wait()

    @property
    def err(self):
        return self._said.read_text()

    @property
    def out(self):
        return self._printed.read_text()

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
