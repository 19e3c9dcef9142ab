"""The command line in this process: quick, and what it says is caught."""

from __future__ import annotations

import json
import os
import signal
from dataclasses import dataclass

import pytest

from scalarviz.cli.main import main

from .windowed import Program


@dataclass
class Result:
    """What a command left."""

    code: int
    out: str
    err: str

    @property
    def json(self):
        """The one line on stdout."""
        assert self.out.count("\n") == 1, self.out
        return json.loads(self.out)


@pytest.fixture(autouse=True)
def no_display(monkeypatch):
    """The tests that want a window say so; the others give the same files on a desktop as in CI."""
    for name in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("scalarviz.view.window.display.has_display", lambda: bool(os.environ.get("DISPLAY")))


@pytest.fixture
def cli(tmp_path, monkeypatch, capsys):
    """Run a command in an empty folder."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments):
        capsys.readouterr()
        code = main([str(a) for a in arguments])
        return Result(code, *capsys.readouterr())

    return run


@pytest.fixture
def rgb(cli):
    """`scalarviz rgb`, headless, with the engine that needs no compiling."""
    return lambda *arguments: cli("rgb", "--headless", "--engine", "numpy", *arguments)


@pytest.fixture
def press(monkeypatch):
    """Have a signal sent so many times, usually Ctrl-C, at the beginning of a function's call of that number."""

    def at(owner, name, times=1, call=1, number=signal.SIGINT):
        genuine, calls = getattr(owner, name), []

        def pressed(self, *arguments, **named):
            calls.append(1)
            if len(calls) == call:
                for _ in range(times):
                    os.kill(os.getpid(), number)
            return genuine(self, *arguments, **named)

        monkeypatch.setattr(owner, name, pressed)

    return at


@pytest.fixture
def program(tmp_path, display):
    """Start the program with its window, in an empty folder; it does not outlive the test."""
    started = []

    def start(*arguments, screen=display, **environment):
        started.append(Program(tmp_path, screen, *arguments, **environment))
        return started[-1]

    yield start
    for each in started:
        each.close()
