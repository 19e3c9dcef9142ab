"""`Kernel`: a kernel in one dtype, and its machine code for a virtual processor, which needs no GPU and no driver."""

from __future__ import annotations

import hashlib
import importlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from types import FunctionType, SimpleNamespace
from typing import Any

import numpy as np
from numba import types

from .jit import TYPES, cuda, parameters
from .nvvm import use_nvvm


@dataclass(frozen=True, eq=False)
class Kernel:
    """A kernel in one dtype."""

    name: str
    dtype: str
    function: FunctionType  # over pointers
    text: str  # all of the source that it is made of
    bounds: tuple[int, int] | None = None  # threads of a block, and blocks of a multiprocessor: limits registers
    alone: bool = False  # whether no other kernel calls the functions that stand beside it

    @property
    def parameters(self) -> tuple[str, ...]:
        """Annotations of its parameters, see ``jit``."""
        return parameters(self.function)

    @property
    def key(self) -> str:
        """What names this version of it: a hash of its source and its dtype (of the compilers, see ``images``)."""
        said = repr((self.name, self.dtype, self.text, self.bounds))
        return hashlib.sha256(said.encode()).hexdigest()[:24]

    def ptx(self, capability: tuple[int, int]) -> str:
        """Its machine code for a virtual processor."""
        options = {} if self.bounds is None else {"launch_bounds": self.bounds}
        try:
            return ptx(self.function, self.dtype, capability, **options)
        finally:
            if self.alone:
                forget(self.function)


def ptx(function: Callable[..., Any], dtype: str, capability: tuple[int, int], **options: Any) -> str:
    """Machine code of a kernel for a virtual processor."""
    real = getattr(types, dtype)
    signature = tuple(TYPES[name](real) for name in parameters(function))
    _use_compiler()
    with _compiling_for(capability):
        text, _ = cuda.compile(function, signature, cc=capability, device=False, abi="numba", output="ptx", **options)
    return str(text)


def forget(function: FunctionType) -> None:
    """Have numba let go of the functions beside a compiled kernel, where no other kernel calls them.

    It keeps their typed trees and LLVM's text of them as long as the process lives: 100,000 objects of a
    large one.
    """
    from numba.cuda.dispatcher import CUDADispatcher

    for beside in function.__globals__.values():
        if not isinstance(beside, CUDADispatcher) or beside.py_func.__globals__ is not function.__globals__:
            continue
        for compiled in beside.overloads.values():
            with suppress(KeyError):  # one function for several types
                compiled.target_context.remove_user_function(compiled.entry_point)
        beside.overloads.clear()


@cache
def _use_compiler() -> None:
    """Load libNVVM; its mathematical functions numba looks for elsewhere, so it is told of those that belong to it.

    numba-cuda 0.30 names ``np.row_stack`` when it loads what it knows of NumPy; NumPy 2.5 has none.
    """
    from numba.cuda import cuda_paths

    if not hasattr(np, "row_stack"):
        vars(np)["row_stack"] = np.vstack
        try:
            importlib.import_module("numba.cuda.cudaimpl")
        finally:
            vars(np).pop("row_stack", None)  # another thread may have been here
    libdevice = use_nvvm().libdevice
    if libdevice is not None:
        paths = cuda_paths.get_cuda_paths()  # kept by numba, and asked for each time
        paths["libdevice"] = paths["libdevice"]._replace(info=str(libdevice))


@contextmanager
def _compiling_for(capability: tuple[int, int]) -> Iterator[None]:
    """A device function that is not inlined asks for the GPU at hand; here the one that is compiled for is named."""
    from numba.cuda import dispatcher

    asked = dispatcher.get_current_device
    dispatcher.get_current_device = lambda: SimpleNamespace(compute_capability=capability)
    try:
        yield
    finally:
        dispatcher.get_current_device = asked
