"""What kernels are written in, of numba's CUDA, and running them in its simulator.

numba-cuda is in maintenance and its successor has no simulator, so all that is asked of it stands here and in `kernel`,
which compiles: the name `cuda` that kernels use (thread numbers, shared memory, barriers), the types and functions of
their language, and `simulated`. Nothing is launched on a GPU by numba (see ``driver``), so its warnings of launches
never come up.

Kernels are plain functions over flat pointers, written once for both dtypes. Their annotations are their signature:

========== ==============================================
``Reals``  pointer to numbers of the dtype
``Words``  pointer to int32 (rows, tables of indices)
``Longs``  pointer to int64
``Doubles`` pointer to float64
``Flags``  pointer to uint8
``Halves`` pointer to uint16 (the bits of float16)
``Int``    int64
``Real``   one number of the dtype
``Double`` float64
``Key``    uint64
========== ==============================================

Pointers have no length and no wrap-around of negative indices, so index arithmetic is plain int64 and offsets beyond
2**31 are right. A literal is ``real(0)``: a bare 0.5 would make float64 of everything that it meets. ``load4`` and
``store4`` move sixteen bytes in one instruction; the place has to be a multiple of four from where the memory begins.

What is different in the simulator (``NUMBA_ENABLE_CUDASIM=1``, read when numba is loaded):

* Kernels are Python: ``math.exp(1000)`` would raise and ``1 / 0`` warn. `FUNCTIONS` are NumPy's there, which know IEEE
  754, and a kernel runs with NumPy's warnings off, in each of its threads: a thread has settings of its own.
* One launch at a time, in the whole process.
* A pointer is a `Pointer`, which refuses what lies outside of its memory. Nothing shows types or races.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from functools import cache
from types import FunctionType, ModuleType
from typing import Any

import numpy as np
from numba import config, types
from numba import cuda as cuda  # noqa: PLC0414 (kernels take it from here, and mypy wants that said)
from numpy.typing import NDArray

from ...scalar.erf import erf, erfc

SIMULATED = bool(config.ENABLE_CUDASIM)

FUNCTIONS: dict[str, Any] = {
    name: getattr(np if SIMULATED else math, name) for name in ("exp", "log", "log1p", "sqrt", "sin", "cos", "tanh")
} | {"erf": erf if SIMULATED else math.erf, "erfc": erfc if SIMULATED else math.erfc}
"""What the vocabulary of the ops table is called in kernels; ``abs`` is Python's."""

TYPES: dict[str, Callable[[Any], Any]] = {
    "Reals": types.CPointer,
    "Real": lambda real: real,
    "Words": lambda real: types.CPointer(types.int32),
    "Longs": lambda real: types.CPointer(types.int64),
    "Doubles": lambda real: types.CPointer(types.float64),
    "Flags": lambda real: types.CPointer(types.uint8),
    "Halves": lambda real: types.CPointer(types.uint16),
    "Int": lambda real: types.int64,
    "Double": lambda real: types.float64,
    "Key": lambda real: types.uint64,
}
"""Names of the annotations of kernels to numba's types, for a dtype."""

_LAUNCHING = threading.Lock()


def device_function(function: Callable[..., Any]) -> Any:
    """`function` as kernels can call it."""
    return cuda.jit(device=True)(function)


@cache
def float16(dtype: str) -> Any:
    """A function for kernels: the nearest number that a float16 holds, of a number of `dtype`.

    It works on the bits, which compilers of kernels cannot join to other arithmetic.
    """
    real = np.dtype(dtype).type
    word, dropped, spaced = (np.int32, 13, 2.0**-1) if dtype == "float32" else (np.int64, 42, 2.0**28)
    below, odd, kept, shift = word(2 ** (dropped - 1) - 1), word(1), word(-(2**dropped)), word(dropped)
    normal, too_large, infinity, nothing, step = real(2.0**-14), real(65520), real("inf"), real(0), real(spaced)

    def nearest(x: Any) -> Any:
        size = abs(x)
        if not size < too_large:
            return x * infinity
        if x == nothing:
            return x  # with its sign
        if size < normal:
            size = (size + step) - step
            return -size if x < nothing else size
        bits = x.view(word)
        return word(word(bits + below + ((bits >> shift) & odd)) & kept).view(real)

    return device_function(nearest)


def intrinsic(function: Callable[..., Any]) -> Any:
    """`function`, which writes LLVM's language, as kernels can call it; there is no such thing in the simulator."""
    from numba.cuda import extending

    return extending.intrinsic(function)


class Pointer:
    """A pointer in the simulator, which refuses what lies outside of its array.

    Whole numbers come as Python's, so that index arithmetic has no end as it has none in 64 bits.
    """

    __slots__ = ("array", "read", "size")

    def __init__(self, array: NDArray[Any]) -> None:
        self.array, self.size = array, array.size
        self.read = array.__getitem__ if array.dtype.kind == "f" else array.item

    def __getitem__(self, index: int) -> Any:
        if not 0 <= index < self.size:
            raise IndexError(f"reads number {index} of {self.size}")
        return self.read(index)

    def __setitem__(self, index: int, number: Any) -> None:
        if not 0 <= index < self.size:
            raise IndexError(f"writes number {index} of {self.size}")
        self.array[index] = number


def _shared_here() -> Any:
    """What kernels call ``shared(dtype, offset)``."""
    if SIMULATED:
        from numba.cuda.simulator.kernel import _get_kernel_context

        def array(dtype: Any, offset: int) -> Pointer:
            return Pointer(_get_kernel_context().shared.array(0, np.dtype(dtype))[offset:])

        return array
    from llvmlite import ir
    from numba.core import cgutils

    def pointer(typing: Any, dtype: Any, offset: Any) -> Any:
        def code(context: Any, builder: Any, signature: Any, given: Any) -> Any:
            memory = builder.module.globals.get(_SHARED)
            if memory is None:
                none = ir.ArrayType(ir.IntType(8), 0)
                memory = cgutils.add_global_variable(builder.module, none, _SHARED, addrspace=3)
                memory.linkage, memory.align = "external", 16
            wanted = context.get_value_type(signature.return_type)
            anywhere = builder.addrspacecast(memory, ir.PointerType(ir.IntType(8)), "generic")
            return builder.gep(builder.bitcast(anywhere, wanted), [given[1]])

        return types.CPointer(dtype.dtype)(dtype, offset), code

    return intrinsic(pointer)


_SHARED = "scalarviz_shared"

shared: Any = _shared_here()
"""``shared(dtype, offset)`` in a kernel: a pointer into the block's shared memory, of which the launch says how much
there is (`Launch.shared`), from number `offset` of that dtype on; aligned to 16 bytes at 0."""


def _moved_here() -> Any:
    """What kernels call ``moved(pointer, offset)``."""
    if SIMULATED:
        return lambda pointer, offset: Pointer(pointer.array[offset:])

    def moved(typing: Any, pointer: Any, offset: Any) -> Any:
        def code(context: Any, builder: Any, signature: Any, given: Any) -> Any:
            return builder.gep(given[0], [given[1]])

        return pointer(pointer, types.int64), code

    return intrinsic(moved)


moved: Any = _moved_here()
"""``moved(pointer, offset)`` in a kernel: the pointer, so many numbers further."""


@cache
def simulated(function: FunctionType) -> Callable[[tuple[int, ...], tuple[int, ...], tuple[Any, ...], int], None]:
    """`function` as ``launch(grid, block, arguments, bytes of shared memory)`` in the simulator."""
    kernel = cuda.jit(_quiet(function))

    def launch(grid: tuple[int, ...], block: tuple[int, ...], arguments: tuple[Any, ...], shared: int = 0) -> None:
        with _LAUNCHING:
            kernel[grid, block, 0, shared](*arguments)

    return launch


def _quiet(function: FunctionType) -> FunctionType:
    """`function` with NumPy's warnings off, and with the same globals: the simulator looks for `cuda` there."""
    text = (
        "def quiet(*arguments, function=function, errstate=errstate):\n"
        "    with errstate(all='ignore'):\n"
        "        function(*arguments)\n"
    )
    found: dict[str, Any] = {"function": function, "errstate": np.errstate}
    exec(text, function.__globals__, found)
    quiet: FunctionType = found["quiet"]
    return quiet


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
    """The names of a module of kernels with `real` in `dtype`, and the `given` ones besides."""
    space: dict[str, Any] = {**vars(module), "real": np.dtype(dtype).type, **given}
    for name, found in list(space.items()):
        if isinstance(found, FunctionType) and found.__module__ == module.__name__:
            own = FunctionType(found.__code__, space, name, found.__defaults__)
            own.__annotations__ = found.__annotations__
            space[name] = own
    for name in space.get("DEVICE", ()):
        space[name] = device_function(space[name])
    return space


def parameters(function: Any) -> tuple[str, ...]:
    """Annotations of a kernel's parameters, in order."""
    return tuple(name for parameter, name in function.__annotations__.items() if parameter != "return")


ALIGNMENT = 16
"""Bytes; of two float64 too, so that four of them go in two instructions."""


def _simulated() -> tuple[Any, Any]:
    def load4(numbers: Any, place: int) -> tuple[Any, ...]:
        _check(place)
        return tuple(numbers[place + k] for k in range(4))

    def store4(numbers: Any, place: int, *given: Any) -> None:
        _check(place)
        for k, number in enumerate(given):
            numbers[place + k] = number

    return load4, store4


def _check(place: int) -> None:
    if place % 4:
        raise IndexError(f"four numbers begin at a multiple of four, not at {place}")


def _compiled() -> tuple[Any, Any]:
    from llvmlite import ir

    def vector(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        """The place as a pointer to four numbers."""
        kind, pointer = signature.args[0], given[0]
        if not isinstance(kind, types.CPointer):
            pointer = context.make_array(kind)(context, builder, pointer).data
        four = ir.VectorType(context.get_data_type(kind.dtype), 4)
        return builder.bitcast(builder.gep(pointer, [given[1]]), four.as_pointer()), four

    def load4(typing: Any, numbers: Any, place: Any) -> Any:
        def code(context: Any, builder: Any, signature: Any, given: Any) -> Any:
            loaded = builder.load(vector(context, builder, signature, given)[0])
            loaded.align = ALIGNMENT
            parts = [builder.extract_element(loaded, ir.IntType(32)(k)) for k in range(4)]
            return context.make_tuple(builder, signature.return_type, parts)

        return types.UniTuple(numbers.dtype, 4)(numbers, types.int64), code

    def store4(typing: Any, numbers: Any, place: Any, a: Any, b: Any, c: Any, d: Any) -> Any:
        def code(context: Any, builder: Any, signature: Any, given: Any) -> Any:
            to, four = vector(context, builder, signature, given)
            whole = ir.Constant(four, ir.Undefined)
            for k, number in enumerate(given[2:]):
                whole = builder.insert_element(whole, number, ir.IntType(32)(k))
            builder.store(whole, to).align = ALIGNMENT
            return context.get_dummy_value()

        kind = numbers.dtype
        return types.void(numbers, types.int64, kind, kind, kind, kind), code

    return intrinsic(load4), intrinsic(store4)


load4, store4 = _simulated() if SIMULATED else _compiled()
