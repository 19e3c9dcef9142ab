"""How a function becomes machine code: its signature, and what LLVM may assume. Hashed like the functions."""

from __future__ import annotations

from collections.abc import Iterable
from types import ModuleType
from typing import Any

import numba

from ..vector import capability
from . import batch, conv, few, layers, load, masks, one, one_sums, several, squares, steps, sums, tables, windows
from .noalias import NoAlias

_POINTERS = {"float32": numba.types.CPointer(numba.float32), "float64": numba.types.CPointer(numba.float64)}


_MODULES = (sums, conv, one, one_sums, few, several, squares, masks, tables, batch, windows)


def rows(module: ModuleType, names: Iterable[str], dtype: str, cached: bool) -> dict[str, Any]:
    """The row kernels of one operation."""
    decorate = _decorator([_POINTERS[dtype]] * 6, cached, pipeline_class=NoAlias)
    return {name: decorate(getattr(module, name)) for name in names}


def update(module: ModuleType, name: str, dtype: str, cached: bool) -> dict[str, Any]:
    """The update of an optimiser: nothing is contracted, the bits are those of the operations one by one."""
    decorate = _decorator([_POINTERS[dtype]] * 6, cached, pipeline_class=NoAlias, fastmath=False)
    return {name: decorate(getattr(module, name))}


def kernel(name: str, dtype: str, cached: bool) -> dict[str, Any]:
    """Another kernel of ``wire.KERNELS``, or one with ``_plain`` behind its name.

    ``load_uint8`` is ``load`` for data of that dtype.
    """
    if name.startswith("load"):
        return {name: _load(name, dtype, cached)}
    real, words = _POINTERS[dtype], numba.types.CPointer(numba.int64)
    vectors = name in capability.VECTOR_KERNELS and capability.vector_bytes() > 0
    plain = name.removesuffix("_plain")
    modules = (layers,) if vectors else _MODULES
    source = next(getattr(module, plain) for module in modules if hasattr(module, plain))
    return {name: _decorator([words, words, words, real, real, real], cached)(source)}


def _load(name: str, dtype: str, cached: bool) -> Any:
    """A kernel of ``compiled/load``, for data of the dtype in its name or of the run's."""
    kind, plain = name.removesuffix("_plain"), name.endswith("_plain")
    source = numba.types.CPointer(getattr(numba, kind.removeprefix("load_") if "_" in kind else dtype))
    real, words = _POINTERS[dtype], numba.types.CPointer(numba.int64)
    vectors = not plain and capability.vector_bytes() > 0
    written = load.load if vectors else load.load_plain
    return _decorator([words, words, words, real, source, real], cached)(written)


def function(name: str, dtype: str, cached: bool) -> Any:
    """One of the functions of ``wire.CALLS``, that Python calls."""
    compiled = numba.njit(cache=cached, nogil=True, error_model="numpy")(getattr(steps, name))
    compiled.compile(steps.signature(name, dtype))
    compiled.disable_compile()
    return compiled


def _decorator(pointers: list[Any], cached: bool, **options: Any) -> Any:
    signature = numba.void(*pointers, numba.int64, numba.int64)
    return numba.cfunc(signature, cache=cached, error_model="numpy", **{"fastmath": {"contract"}, **options})
