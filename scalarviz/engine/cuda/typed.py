"""A module of kernels in one dtype.

Kernels are plain functions over flat pointers, written once for both dtypes. Their annotations are their signature:

========== ==============================================
``Reals``  pointer to numbers of the dtype
``Words``  pointer to int32 (rows, tables of indices)
``Longs``  pointer to int64
``Doubles`` pointer to float64
``Flags``  pointer to uint8
``Int``    int64
``Real``   one number of the dtype
``Double`` float64
``Key``    uint64
========== ==============================================

Pointers have no length and no wrap-around of negative indices, so index arithmetic is plain int64 and offsets beyond
2**31 are right. A literal is ``real(0)``: a bare 0.5 would make float64 of everything that it meets.
"""

from __future__ import annotations

from types import FunctionType, ModuleType
from typing import Any

import numpy as np

Reals = Any
Words = Any
Longs = Any
Doubles = Any
Flags = Any
Int = Any
Real = Any
Double = Any
Key = Any

nan = np.float32(np.nan)
"""Becomes what a row's dtype is where it is put."""

real: Any = np.float64
"""The dtype, in a kernel; `namespace` sets it."""


def namespace(module: ModuleType, dtype: str, **given: Any) -> dict[str, Any]:
    """The names of a module of kernels with `real` in `dtype`.

    Parameters
    ----------
    module : module
    dtype : {"float32", "float64"}
    **given
        Other names to set; functions that kernels call are in :func:`~scalarviz.engine.cuda.jit.device_function`.
    """
    space: dict[str, Any] = {**vars(module), "real": np.dtype(dtype).type, **given}
    for name, found in list(space.items()):
        if isinstance(found, FunctionType) and found.__module__ == module.__name__:
            own = FunctionType(found.__code__, space, name, found.__defaults__)
            own.__annotations__ = found.__annotations__
            space[name] = own
    for name in space.get("DEVICE", ()):
        space[name] = _device(space[name])
    return space


def _device(function: FunctionType) -> Any:
    from .jit import device_function

    return device_function(function)


def parameters(function: Any) -> tuple[str, ...]:
    """Annotations of a kernel's parameters, in order."""
    return tuple(name for parameter, name in function.__annotations__.items() if parameter != "return")
