"""Filling the cache of compiled kernels."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterable, Sequence

from ....scalar.ops import TABLE
from ...cache.filling import Filling, Progress, start_helper
from ...problem import DTYPES
from ...processors import processors
from ..wire import CALLS, KERNELS
from .loader import function, kernel_address, row_addresses
from .place import PLACE
from .units import core_unit, has, has_rows

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
    helper = _start_helper(missing[1::2]) if len(missing) >= FEW else None
    filling = Filling(units, _is_there, _make, _named, progress)
    filling.fill(missing, [helper] if helper else [], missing[0::2] if helper else missing)


def _is_there(unit: Unit) -> bool:
    kind, name, dtype = unit
    return has_rows(name, dtype) if kind == "rows" else has(core_unit(name, dtype))


def _make(unit: Unit) -> None:
    kind, name, dtype = unit
    MAKERS[kind](name, dtype)


def _named(unit: Unit) -> str:
    return f"{unit[1]}, {unit[2]}"


def _start_helper(units: Sequence[Unit]) -> subprocess.Popen[bytes] | None:
    """A process that compiles `units`; None where there is no second core or no cache to share."""
    return start_helper(__name__, units, PLACE) if processors() >= 2 else None


def help_out(units: str) -> None:
    """Compile units for another process (they come as JSON)."""
    for kind, name, dtype in json.loads(units):
        if kind != "rows" or name in TABLE:
            _make((kind, name, dtype))
