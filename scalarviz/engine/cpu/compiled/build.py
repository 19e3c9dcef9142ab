"""How a function becomes machine code: its signature, and what LLVM may assume. Hashed like the functions."""

from __future__ import annotations

from collections.abc import Iterable
from types import ModuleType
from typing import Any

import numba

from . import body, conv, layers, one, order, several, steps, sums
from .intrinsics import NoAlias

_POINTERS = {"float32": numba.types.CPointer(numba.float32), "float64": numba.types.CPointer(numba.float64)}

_MODULES = (steps, sums, layers, conv, one, several, order, body)


def rows(module: ModuleType, names: Iterable[str], dtype: str, cached: bool) -> dict[str, Any]:
    """The row kernels of one operation."""
    decorate = _decorator([_POINTERS[dtype]] * 6, cached, pipeline_class=NoAlias)
    return {name: decorate(getattr(module, name)) for name in names}


def update(module: ModuleType, name: str, dtype: str, cached: bool) -> dict[str, Any]:
    """The update of an optimiser: nothing is contracted, the bits are those of the operations one by one."""
    decorate = _decorator([_POINTERS[dtype]] * 6, cached, pipeline_class=NoAlias, fastmath=False)
    return {name: decorate(getattr(module, name))}


def kernel(name: str, dtype: str, cached: bool) -> dict[str, Any]:
    """Another kernel of ``wire.KERNELS``; ``load_uint8`` is ``load`` for data of that dtype."""
    if name.startswith("load"):
        return {name: _load(name, dtype, cached)}
    real, words = _POINTERS[dtype], numba.types.CPointer(numba.int64)
    source = next(getattr(module, name) for module in _MODULES if hasattr(module, name))
    exact = {"fastmath": False} if source.__module__ == steps.__name__ else {}  # the bits of the other engines
    return {name: _decorator([words, words, words, real, real, real], cached, **exact)(source)}


def _load(name: str, dtype: str, cached: bool) -> Any:
    """A kernel of ``compiled/body``, for data of the dtype in its name or of the run's."""
    source = numba.types.CPointer(getattr(numba, name.removeprefix("load_") if "_" in name else dtype))
    real, words = _POINTERS[dtype], numba.types.CPointer(numba.int64)
    return _decorator([words, words, words, real, source, real], cached)(body.load)


def _decorator(pointers: list[Any], cached: bool, **options: Any) -> Any:
    signature = numba.void(*pointers, numba.int64, numba.int64)
    return numba.cfunc(signature, cache=cached, error_model="numpy", **{"fastmath": {"contract"}, **options})
