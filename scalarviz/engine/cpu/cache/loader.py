"""From source to machine code: through the cache where that works, in memory where it does not."""

from __future__ import annotations

import ctypes
import os
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

import numba
from numba.core import config

from ....scalar import ops
from .. import compiled
from ..compiled import conv, few, layers, one, squares, steps, sums, windows
from ..compiled.noalias import NoAlias
from ..source.rows import kernel_names, module_source
from ..source.updates import UPDATES, update_source
from ..vector import capability
from . import units

T = TypeVar("T")
KERNELS = compiled.__name__
"""Where generated sources find what they call."""

_LOCK = threading.RLock()
_LOADED: dict[str, dict[str, Any]] = {}
_POINTERS = {"float32": numba.types.CPointer(numba.float32), "float64": numba.types.CPointer(numba.float64)}


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
        home = units.folder() / unit
        if home.is_dir():
            if units.intact(home):
                try:
                    with _directory(home):
                        return compile_with(True)
                except Exception:
                    pass  # whatever numba makes of a strange file; an error of ours comes again when it is compiled
            units.warn_once(f"compiled kernels in {home} are damaged and are made anew")
            units.remove(home)
        try:
            return _build(home, compile_with)
        except OSError as error:
            units.warn_once(
                f"cannot keep compiled kernels in {units.user_cache()} ({error.strerror or error}); "
                "compiling in memory. Free some space, or set SCALARVIZ_CACHE_DIR to a folder that can be written"
            )
            return compile_with(False)


def row_addresses(name: str, dtype: str) -> dict[str, int]:
    """Addresses of the row kernels of the operation `name`: ``forward`` and ``backward_0`` .. ``backward_2``."""
    op = ops.get(name)
    unit = units.rows_unit(op, dtype)
    return _addresses(unit, lambda cached: _compile_rows(op, dtype, unit, cached))


def kernel_address(name: str, dtype: str) -> int:
    """Address of another kernel: one of ``layout.KERNELS``, or one with ``_plain`` behind its name."""
    return _addresses(units.core_unit(name, dtype), lambda cached: _compile_kernel(name, dtype, cached))[name]


def function(name: str, dtype: str) -> Any:
    """One of the functions of ``layout.CALLS``, compiled for `dtype`."""
    unit = units.core_unit(name, dtype)
    with _LOCK:
        if unit not in _LOADED:
            _LOADED[unit] = {name: load(unit, lambda cached: _compile_function(name, dtype, cached))}
        return _LOADED[unit][name]


def _addresses(unit: str, compile_with: Callable[[bool], dict[str, Any]]) -> dict[str, int]:
    with _LOCK:
        if unit not in _LOADED:
            _LOADED[unit] = load(unit, compile_with)
        return {name: _entry(found) for name, found in _LOADED[unit].items()}


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


def _build(home: Path, compile_with: Callable[[bool], T]) -> T:
    home.parent.mkdir(parents=True, exist_ok=True)
    build = Path(tempfile.mkdtemp(prefix="build-", dir=home.parent))
    try:
        with _directory(build):
            result = compile_with(True)
        units.seal(build)
        try:
            os.rename(build, home)
        except OSError:
            if not home.is_dir():  # else another process was first
                raise
    finally:
        units.remove(build)
    units.prune()
    return result


@contextmanager
def _directory(path: Path) -> Iterator[None]:
    """Point numba's cache directory at `path` for our own decorators; the user's setting comes back."""
    before = config.CACHE_DIR
    config.CACHE_DIR = str(path)
    try:
        yield
    finally:
        config.CACHE_DIR = before


def _compile_rows(op: ops.Op, dtype: str, unit: str, cached: bool) -> dict[str, Any]:
    module = _written(unit, module_source(op, dtype, KERNELS), cached)
    decorate = _kernel_decorator([_POINTERS[dtype]] * 6, cached, pipeline_class=NoAlias)
    return {kernel: decorate(getattr(module, kernel)) for kernel in kernel_names(op)}


def _compile_update(name: str, dtype: str, cached: bool) -> dict[str, Any]:
    module = _written(units.core_unit(name, dtype), update_source(name, dtype, KERNELS), cached)
    # nothing is contracted: the bits are those of the operations one by one
    decorate = _kernel_decorator([_POINTERS[dtype]] * 6, cached, pipeline_class=NoAlias, fastmath=False)
    return {name: decorate(getattr(module, name))}


def _written(unit: str, source: str, cached: bool) -> ModuleType:
    """The module of a source that we have made ourselves."""
    path = units.write_source(unit, source) if cached else unit
    module = sys.modules[f"scalarviz_rows.{unit}"] = ModuleType(f"scalarviz_rows.{unit}")  # numba looks it up
    exec(compile(source, str(path), "exec"), module.__dict__)
    return module


def _compile_kernel(name: str, dtype: str, cached: bool) -> dict[str, Any]:
    if name in UPDATES:
        return _compile_update(name, dtype, cached)
    real, words = _POINTERS[dtype], numba.types.CPointer(numba.int64)
    vectors = name in capability.VECTOR_KERNELS and capability.vector_bytes() > 0
    plain = name.removesuffix("_plain")
    modules = (layers,) if vectors else (sums, conv, one, few, squares, windows)
    source = next(getattr(module, plain) for module in modules if hasattr(module, plain))
    return {name: _kernel_decorator([words, words, words, real, real, real], cached)(source)}


def _kernel_decorator(pointers: list[Any], cached: bool, **options: Any) -> Any:
    signature = numba.void(*pointers, numba.int64, numba.int64)
    return numba.cfunc(signature, cache=cached, error_model="numpy", **{"fastmath": {"contract"}, **options})


def _compile_function(name: str, dtype: str, cached: bool) -> Any:
    function = numba.njit(cache=cached, nogil=True, error_model="numpy")(getattr(steps, name))
    function.compile(steps.signature(name, dtype))
    function.disable_compile()
    return function
