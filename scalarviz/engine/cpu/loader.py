"""From source to machine code: through the cache where that works, in memory where it does not."""

from __future__ import annotations

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

from ...scalar import ops
from . import cache, capability, compact, conv_kernels, kernels, training, vector_kernels, vector_pool
from .dialect import kernel_names, module_source
from .noalias import NoAlias

T = TypeVar("T")
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
        home = cache.folder() / unit
        if home.is_dir():
            if cache.intact(home):
                try:
                    with _directory(home):
                        return compile_with(True)
                except Exception:
                    pass  # whatever numba makes of a strange file; an error of ours comes again when it is compiled
            cache.warn_once(f"compiled kernels in {home} are damaged and are made anew")
            cache.remove(home)
        try:
            return _build(home, compile_with)
        except OSError as error:
            cache.warn_once(
                f"cannot keep compiled kernels in {cache.user_cache()} ({error.strerror or error}); "
                "compiling in memory. Free some space, or set SCALARVIZ_CACHE_DIR to a folder that can be written"
            )
            return compile_with(False)


def row_addresses(name: str, dtype: str) -> dict[str, int]:
    """Addresses of the row kernels of the operation `name`: ``forward`` and ``backward_0`` .. ``backward_2``."""
    op = ops.get(name)
    unit = cache.rows_unit(op, dtype)
    return _addresses(unit, lambda cached: _compile_rows(op, dtype, unit, cached))


def kernel_address(name: str, dtype: str) -> int:
    """Address of another kernel: one of ``layout.KERNELS``, or one with ``_plain`` behind its name."""
    return _addresses(cache.core_unit(name, dtype), lambda cached: _compile_kernel(name, dtype, cached))[name]


def function(name: str, dtype: str) -> Any:
    """One of the functions of ``layout.CALLS``, compiled for `dtype`."""
    unit = cache.core_unit(name, dtype)
    with _LOCK:
        if unit not in _LOADED:
            _LOADED[unit] = {name: load(unit, lambda cached: _compile_function(name, dtype, cached))}
        return _LOADED[unit][name]


def _addresses(unit: str, compile_with: Callable[[bool], dict[str, Any]]) -> dict[str, int]:
    with _LOCK:
        if unit not in _LOADED:
            _LOADED[unit] = load(unit, compile_with)
        return {name: found.address for name, found in _LOADED[unit].items()}


def _build(home: Path, compile_with: Callable[[bool], T]) -> T:
    home.parent.mkdir(parents=True, exist_ok=True)
    build = Path(tempfile.mkdtemp(prefix="build-", dir=home.parent))
    try:
        with _directory(build):
            result = compile_with(True)
        cache.seal(build)
        try:
            os.rename(build, home)
        except OSError:
            if not home.is_dir():  # else another process was first
                raise
    finally:
        cache.remove(build)
    cache.prune()
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
    source = module_source(op, dtype, __package__ or "")
    path = cache.write_source(unit, source) if cached else unit
    module = sys.modules[f"scalarviz_rows.{unit}"] = ModuleType(f"scalarviz_rows.{unit}")  # numba looks it up
    exec(compile(source, str(path), "exec"), module.__dict__)
    real = _POINTERS[dtype]
    decorate = _kernel_decorator([real] * 6, cached, pipeline_class=NoAlias)
    return {kernel: decorate(getattr(module, kernel)) for kernel in kernel_names(op)}


def _compile_kernel(name: str, dtype: str, cached: bool) -> dict[str, Any]:
    real, words = _POINTERS[dtype], numba.types.CPointer(numba.int64)
    vectors = name in capability.VECTOR_KERNELS and capability.vector_bytes() > 0
    plain = name.removesuffix("_plain")
    modules = (vector_kernels,) if vectors else (kernels, conv_kernels, compact, vector_pool)
    source = next(getattr(module, plain) for module in modules if hasattr(module, plain))
    return {name: _kernel_decorator([words, words, words, real, real, real], cached)(source)}


def _kernel_decorator(pointers: list[Any], cached: bool, **options: Any) -> Any:
    signature = numba.void(*pointers, numba.int64, numba.int64)
    return numba.cfunc(signature, cache=cached, error_model="numpy", fastmath={"contract"}, **options)


def _compile_function(name: str, dtype: str, cached: bool) -> Any:
    function = numba.njit(cache=cached, nogil=True, error_model="numpy")(getattr(training, name))
    function.compile(training.signature(name, dtype))
    function.disable_compile()
    return function
