"""Filling the cache of compiled kernels."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from ...scalar import ops
from .dialect import DTYPES
from .loader import row_addresses
from .machine import core

Progress = Callable[[int, int, str], None]


def warmup(
    dtypes: Iterable[str] = DTYPES, names: Iterable[str] | None = None, progress: Progress | None = None
) -> None:
    """Compile the interpreter and the row kernels that are not in the cache yet.

    Parameters
    ----------
    dtypes : iterable of {"float32", "float64"}
    names : iterable of str, optional
        Operations of the table; all by default.
    progress : callable, optional
        Called before each unit with the number done, the number in all and what comes next, and once at the end.
    """
    chosen = list(ops.TABLE if names is None else names)
    work = [(dtype, name) for dtype in dtypes for name in [None, *chosen]]
    for done, (dtype, name) in enumerate(work):
        if progress is not None:
            progress(done, len(work), f"{name or 'interpreter'}, {dtype}")
        if name is None:
            core(dtype)
        else:
            row_addresses(name, dtype)
    if progress is not None:
        progress(len(work), len(work), "done")
