"""Filling the cache of compiled kernels."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Sequence

from ....scalar.ops import TABLE
from ...cache.version import PACKAGE
from ...problem import DTYPES
from ...processors import processors
from ..wire import CALLS, KERNELS
from .loader import function, kernel_address, row_addresses
from .place import closed, make_folder
from .units import core_unit, has, has_rows

Progress = Callable[[int, int, str], None]
Unit = tuple[str, str, str]  # kind, name, dtype

MAKERS: dict[str, Callable[[str, str], object]] = {
    "function": function, "kernel": kernel_address, "rows": row_addresses
}  # fmt: skip
FEW = 8
"""Below so many units a second process is not worth its start."""


def warmup(dtypes: Iterable[str] = DTYPES, ops: Iterable[str] | None = None, progress: Progress | None = None) -> None:
    """Compile what is not in the cache yet, in two processes where there are two cores.

    Parameters
    ----------
    dtypes : iterable of {"float32", "float64"}
    ops : iterable of str, optional
        Operations of the table; all by default.
    progress : callable, optional
        Called before each unit with the number done, the number in all and what comes next, and once at the end.

    Raises
    ------
    UnknownNameError
        No such operation.
    """
    chosen = list(TABLE if ops is None else ops)
    kinds = (("function", CALLS), ("kernel", KERNELS), ("rows", chosen))
    units = [(kind, name, dtype) for dtype in dtypes for kind, names in kinds for name in names]
    missing = [unit for unit in units if not _is_there(unit)]
    report = _Report(progress, units)
    helper = _start_helper(missing[1::2]) if len(missing) >= FEW else None
    try:
        for unit in missing[0::2] if helper else missing:
            report(unit)
            _make(unit)
        while helper is not None and helper.poll() is None:
            report(next((unit for unit in missing[1::2] if not _is_there(unit)), None))
            time.sleep(0.1)
    finally:
        if helper is not None:
            helper.terminate()
            helper.wait()
    for unit in missing:  # what the helper could not do: operations that only this process knows
        if not _is_there(unit):
            _make(unit)
    report(None)


class _Report:
    """Tells `progress` how far it is, each number once."""

    def __init__(self, progress: Progress | None, units: Sequence[Unit]) -> None:
        self.progress, self.units, self.last = progress, units, -1

    def __call__(self, unit: Unit | None) -> None:
        if self.progress is None:
            return
        done = len(self.units) if unit is None else sum(_is_there(u) for u in self.units)
        if done > self.last:
            self.last = done
            self.progress(done, len(self.units), "done" if unit is None else f"{unit[1]}, {unit[2]}")


def _is_there(unit: Unit) -> bool:
    kind, name, dtype = unit
    return has_rows(name, dtype) if kind == "rows" else has(core_unit(name, dtype))


def _make(unit: Unit) -> None:
    kind, name, dtype = unit
    MAKERS[kind](name, dtype)


def _start_helper(units: Sequence[Unit]) -> subprocess.Popen[bytes] | None:
    """A process that compiles `units`; None where there is no second core or no cache to share."""
    if processors() < 2 or closed():
        return None
    code = "import sys; from scalarviz.engine.cpu.cache.warm import help_out; help_out(sys.argv[1])"
    paths = os.pathsep.join([str(PACKAGE.parent), *filter(None, [os.environ.get("PYTHONPATH")])])
    try:
        make_folder()
        return subprocess.Popen(
            [sys.executable, "-c", code, json.dumps(units)],
            env={**os.environ, "PYTHONPATH": paths},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,  # this process meets the same trouble and tells it
        )
    except OSError:
        return None


def help_out(units: str) -> None:
    """Compile units for another process (they come as JSON)."""
    for kind, name, dtype in json.loads(units):
        if kind != "rows" or name in TABLE:
            _make((kind, name, dtype))
