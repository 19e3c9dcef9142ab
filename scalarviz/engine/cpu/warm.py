"""Filling the cache of compiled kernels."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from ...scalar.ops import TABLE
from .dialect import DTYPES
from .layout import CALLS, KERNELS
from .loader import function, kernel_address, row_addresses

Progress = Callable[[int, int, str], None]


def warmup(dtypes: Iterable[str] = DTYPES, ops: Iterable[str] | None = None, progress: Progress | None = None) -> None:
    """Compile the interpreter and the row kernels that are not in the cache yet.

    Parameters
    ----------
    dtypes : iterable of {"float32", "float64"}
    ops : iterable of str, optional
        Operations of the table; all by default.
    progress : callable, optional
        Called before each unit with the number done, the number in all and what comes next, and once at the end.
    """
    chosen = list(TABLE if ops is None else ops)
    makers = [(function, CALLS), (kernel_address, KERNELS), (row_addresses, chosen)]
    work = [(make, name, dtype) for dtype in dtypes for make, names in makers for name in names]
    for done, (make, name, dtype) in enumerate(work):
        if progress is not None:
            progress(done, len(work), f"{name}, {dtype}")
        make(name, dtype)
    if progress is not None:
        progress(len(work), len(work), "done")
