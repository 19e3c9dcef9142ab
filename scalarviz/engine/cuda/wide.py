"""Four numbers at once: what kernels call ``load4`` and ``store4``.

A thread that moves sixteen bytes in one instruction asks a quarter as often. The place has to be a multiple of four
from where the memory begins, which is aligned.
"""

from __future__ import annotations

from typing import Any

from .jit import SIMULATED, intrinsic, types

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
