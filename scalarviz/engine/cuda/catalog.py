"""Every kernel by its name: the structural ones, and two for each operation (``forward:exp``, ``backward:exp``)."""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, lru_cache
from types import FunctionType
from typing import Any

import numpy as np

from ... import rng
from ...scalar import ops
from ...scalar.sources import define
from . import jit, typed, wide
from .kernels import backward, forward, steps, sums
from .source.ops import backward_source, forward_source, has_backward

MODULES = (forward, backward, sums, steps)


@dataclass(frozen=True, eq=False)
class Kernel:
    """A kernel in one dtype.

    Attributes
    ----------
    name, dtype : str
    function : function
        Over pointers.
    text : str
        All of the source that it is made of.
    """

    name: str
    dtype: str
    function: FunctionType
    text: str

    @property
    def parameters(self) -> tuple[str, ...]:
        """Annotations of its parameters, see ``typed``."""
        return typed.parameters(self.function)

    @property
    def key(self) -> str:
        """What names this version of it: a hash of its source and its dtype (of the compilers, see ``kept``)."""
        said = repr((self.name, self.dtype, self.text))
        return hashlib.sha256(said.encode()).hexdigest()[:24]

    def ptx(self, capability: tuple[int, int]) -> str:
        """Its machine code for a virtual processor."""
        return jit.ptx(self.function, self.parameters, self.dtype, capability)


def names() -> Iterator[str]:
    """All of them, the registered operations included."""
    yield from _structural("float64")
    for op in ops.TABLE.values():
        yield f"forward:{op.name}"
        if has_backward(op):
            yield f"backward:{op.name}"


def find(name: str, dtype: str) -> Kernel:
    """The kernel of a name.

    Parameters
    ----------
    name : str
        As :func:`names` gives them.
    dtype : {"float32", "float64"}
    """
    which, colon, operation = name.partition(":")
    if colon:
        return _of_operation(which, ops.get(operation), dtype)
    return _structural(dtype)[name]


@cache
def _structural(dtype: str) -> dict[str, Kernel]:
    found = {}
    for module in MODULES:
        text = inspect.getsource(module) + (inspect.getsource(rng) if module is steps else "")
        space = typed.namespace(module, dtype)
        for name, function in space.items():
            if isinstance(function, FunctionType) and function.__globals__ is space:
                found[name] = Kernel(name, dtype, function, text)
    return found


@cache
def _of_operation(which: str, op: ops.Op, dtype: str) -> Kernel:
    return written(f"{which}:{op.name}", forward_source(op) if which == "forward" else backward_source(op), dtype)


@lru_cache(maxsize=1024)
def written(name: str, text: str, dtype: str) -> Kernel:
    """A kernel whose source is made: the function of the text called like the part of `name` before the colon."""
    real = np.dtype(dtype).type
    space: dict[str, Any] = {
        "_cuda": jit.cuda, "_range": range, "_abs": abs, "_real": real, "_infinity": real("inf"),
        "_shared": jit.shared, **{f"_{function}": found for function, found in jit.FUNCTIONS.items()},
        "cuda": jit.cuda, "device": jit.device_function, "shared": jit.shared, "load4": wide.load4,
        "store4": wide.store4, "np": np, "real": real,
    }  # fmt: skip
    define(f"cuda {name} {dtype}", "from __future__ import annotations\n" + text, space)
    return Kernel(name, dtype, space[name.partition(":")[0]], text)
