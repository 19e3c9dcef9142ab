"""Compiling many units into a cache, by this process and others at the same time."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from .place import Place
from .version import PACKAGE

Unit = TypeVar("Unit", bound=tuple[Any, ...])
Progress = Callable[[int, int, str], None]
Processes = Sequence["subprocess.Popen[bytes]"]


@dataclass(frozen=True, slots=True)
class Filling(Generic[Unit]):
    """What is to be compiled.

    Attributes
    ----------
    units : sequence
        All of it, in order.
    is_there : callable
        ``is_there(unit)`` -> whether it is in the cache.
    make : callable
        ``make(unit)`` puts it there.
    named : callable
        ``named(unit)`` -> what a progress bar says of it.
    progress : callable, optional
        Called before each unit with the number done, the number in all and what comes next, and once at the end.
    """

    units: Sequence[Unit]
    is_there: Callable[[Unit], bool]
    make: Callable[[Unit], object]
    named: Callable[[Unit], str]
    progress: Progress | None = None

    def fill(self, missing: Sequence[Unit], helpers: Processes = (), own: Sequence[Unit] | None = None) -> None:
        """Compile what is missing.

        Parameters
        ----------
        missing : sequence
            What has to be there in the end.
        helpers : sequence of Popen
            Processes that compile some of it; they have ended when this returns.
        own : sequence, optional
            What no helper compiles, all by default.
        """
        report = _Report(self)
        try:
            for unit in missing if own is None else own:
                report(unit)
                self.make(unit)
            while any(helper.poll() is None for helper in helpers):
                report(next((unit for unit in missing if not self.is_there(unit)), None))
                time.sleep(0.1)
        finally:
            for helper in helpers:
                helper.terminate()
                helper.wait()
        for unit in missing:  # what the helpers could not do: operations that only this process knows
            if not self.is_there(unit):
                self.make(unit)
        report(None)


class _Report(Generic[Unit]):
    """Tells `progress` how far it is, each number once."""

    def __init__(self, filling: Filling[Unit]) -> None:
        self.filling, self.last = filling, -1

    def __call__(self, unit: Unit | None) -> None:
        filling, total = self.filling, len(self.filling.units)
        if filling.progress is None:
            return
        done = total if unit is None else sum(filling.is_there(u) for u in filling.units)
        if done > self.last:
            self.last = done
            filling.progress(done, total, "done" if unit is None else filling.named(unit))


def start_helper(module: str, units: Sequence[Unit], place: Place) -> subprocess.Popen[bytes] | None:
    """A process that calls ``help_out(units)``, as JSON, of a module; None where there is no cache to share."""
    if place.closed():
        return None
    code = f"import sys; from {module} import help_out; help_out(sys.argv[1])"
    paths = os.pathsep.join([str(PACKAGE.parent), *filter(None, [os.environ.get("PYTHONPATH")])])
    try:
        place.make()
        return subprocess.Popen(
            [sys.executable, "-c", code, json.dumps(units)],
            env={**os.environ, "PYTHONPATH": paths},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,  # this process meets the same trouble and tells it
        )
    except OSError:
        return None
