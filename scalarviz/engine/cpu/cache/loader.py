"""From source to machine code: through the cache where that works, in memory where it does not."""

from __future__ import annotations

import ctypes
import os
import sys
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

from ....scalar import ops
from ....scalar.sources import define
from ...cache.place import BUILD, remove, user_cache, warn_once
from ..compiled import build
from ..source.rows import kernel_names
from ..source.updates import UPDATES
from . import units
from .key import key
from .locator import kept_in, trouble
from .place import PLACE, closed, folder, make_folder
from .unneeded import arrays_without_scipy

T = TypeVar("T")
_ENTRIES = "addresses of"

arrays_without_scipy()

_LOCK = threading.RLock()
_LOADED: dict[str, dict[str, Any]] = {}
"""By unit: its functions, and where its kernels begin."""


def load(unit: str, compile_with: Callable[[bool], T]) -> T:
    """Compile a unit, or take it from the cache.

    Parameters
    ----------
    unit : str
        Its name in the cache.
    compile_with : callable
        Decorates and compiles the unit's functions; its argument is numba's ``cache``.

    Returns
    -------
    What `compile_with` returns.
    """
    with _LOCK:
        if reason := trouble() or closed(unit):
            warn_once(f"{reason}; compiling in memory")
            return compile_with(False)
        home = folder() / unit
        if home.is_dir():
            if units.intact(home):
                PLACE.used()
                try:
                    with kept_in(home, _stamp(unit), filling=False):
                        return compile_with(True)
                except Exception:
                    pass  # whatever numba makes of a strange file; an error of ours comes again when it is compiled
            warn_once(f"compiled kernels in {home} are damaged and are made anew")
            remove(home)
        try:
            return _fill(unit, compile_with)
        except OSError as error:
            warn_once(
                f"cannot keep compiled kernels in {user_cache()} ({error.strerror or error}); "
                "compiling in memory. Free some space, or set SCALARVIZ_CACHE_DIR to a folder that can be written"
            )
            return compile_with(False)


def row_addresses(name: str, dtype: str) -> dict[str, int]:
    """Addresses of the row kernels of the operation `name`: ``forward`` and ``backward_0`` .. ``backward_2``."""
    op = ops.get(name)
    unit = units.rows_unit(op, dtype)
    return _addresses(unit, lambda cached: _compile_rows(op, dtype, unit, cached))


def kernel_address(name: str, dtype: str) -> int:
    """Address of another kernel: one of ``wire.KERNELS``, or one with ``_plain`` behind its name."""
    unit = units.core_unit(name, dtype)
    return _addresses(unit, lambda cached: _compile_kernel(name, dtype, unit, cached))[name]


def function(name: str, dtype: str) -> Any:
    """One of the functions of ``wire.CALLS``, compiled for `dtype`."""
    unit = units.core_unit(name, dtype)
    with _LOCK:
        if unit not in _LOADED:
            _LOADED[unit] = {name: load(unit, lambda cached: build.function(name, dtype, cached))}
        return _LOADED[unit][name]


def _addresses(unit: str, compile_with: Callable[[bool], dict[str, Any]]) -> dict[str, int]:
    with _LOCK:
        if unit not in _LOADED:
            kernels = load(unit, compile_with)
            _LOADED[unit] = {**kernels, _ENTRIES: {name: _entry(found) for name, found in kernels.items()}}
        return _LOADED[unit][_ENTRIES]  # type: ignore[no-any-return]


def _entry(kernel: Any) -> int:
    """Where the kernel itself begins, behind the wrapper for C.

    That one would copy half of the arguments from stack to stack, which takes longer than a short row.
    """
    address: int = kernel._library.get_pointer_to_function(kernel.native_name.removeprefix("cfunc."))
    return address


def callable_at(address: int) -> Callable[..., None]:
    """The kernel at an address as a Python function, slow: of six addresses and two numbers."""
    # numba's own convention: a status is returned, and two places for a result and an exception come first
    entry = ctypes.CFUNCTYPE(ctypes.c_int32, *[ctypes.c_void_p] * 8, ctypes.c_int64, ctypes.c_int64)(address)
    places = (ctypes.c_void_p * 2)()
    first = ctypes.addressof(places)

    def call(*args: int) -> None:
        entry(first, first + ctypes.sizeof(ctypes.c_void_p), *args)

    return call


def _fill(unit: str, compile_with: Callable[[bool], T]) -> T:
    home = make_folder() / unit
    making = Path(tempfile.mkdtemp(prefix=BUILD, dir=home.parent))  # this user's alone
    try:
        with kept_in(making, _stamp(unit), filling=True):
            result = compile_with(True)
        units.seal(making)
        try:
            os.rename(making, home)
        except OSError:
            if not home.is_dir():  # else another process was first
                raise
    finally:
        remove(making)
    PLACE.prune()
    return result


def _stamp(unit: str) -> str:
    return f"{key()}/{unit}"


def _compile_rows(op: ops.Op, dtype: str, unit: str, cached: bool) -> dict[str, Any]:
    module = _module(unit, units.rows_source(op, dtype))
    return build.rows(module, kernel_names(op), dtype, cached)


def _compile_kernel(name: str, dtype: str, unit: str, cached: bool) -> dict[str, Any]:
    if name in UPDATES:
        return build.update(_module(unit, units.updates_source(name, dtype)), name, dtype, cached)
    return build.kernel(name, dtype, cached)


def _module(unit: str, source: str) -> ModuleType:
    """The module of a source that we have made ourselves."""
    module = sys.modules[f"scalarviz_rows.{unit}"] = ModuleType(f"scalarviz_rows.{unit}")  # numba looks it up
    define(unit, source, module.__dict__)
    return module
