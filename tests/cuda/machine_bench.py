"""A kernel of ``machine_kernels`` in one dtype on the PTX machine."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from ptx.machine import Module
from ptx.memory import Memory

CAPABILITY = (9, 0)


@functools.cache
def kernel(name: str, dtype: str) -> Module:
    """Compiled by numba-cuda, offline."""
    import machine_kernels
    from numba import types

    from scalarviz.engine.cuda import jit, typed

    space = typed.namespace(machine_kernels, dtype, shape=getattr(types, dtype))
    function = space[name]
    return Module(jit.ptx(function, typed.parameters(function), dtype, CAPABILITY))


class Bench:
    """Arrays in a device memory, and launches that use them by name."""

    def __init__(self, **arrays: Any) -> None:
        self.memory = Memory()
        self.places: dict[str, tuple[int, int, Any]] = {}
        for name, array in arrays.items():
            self.put(name, np.asarray(array))

    def put(self, name: str, array: np.ndarray) -> None:
        address = self.memory.allocate(array.nbytes, name)
        self.memory.view(address, array.size, array.dtype)[:] = array.reshape(-1)
        self.places[name] = (address, array.size, array.dtype)

    def get(self, name: str) -> np.ndarray:
        return self.memory.view(*self.places[name])

    def run(
        self, name: str, dtype: str, grid: Any, block: Any, *args: Any, shared: int = 0, races: bool = True
    ) -> None:
        """Launch; an argument that is a text is the address of that array."""
        module = kernel(name, dtype)
        given = [self.places[a][0] if isinstance(a, str) else a for a in args]
        module.launch(module.kernels[0], grid, block, shared, given, self.memory, races=races)
