"""What numba's Python cannot say: selection without a branch, powers of two by bits, a call by address, ``noalias``.

`NoAlias` promises LLVM that a kernel writes nothing that it reads: no pointers are compared before a loop.
That took 14 to 46 % off a step of small networks. The encoder keeps the promise: the destinations of an
instruction are different rows, and none of them is a source.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.core.compiler import Compiler
from numba.core.errors import RequireLiteralValue

from ..vector.emitter import CallSite, inline
from ..wire import LINE


class NoAlias(Compiler):  # type: ignore[misc]  # numba has no types
    """The usual pipeline with ``noalias`` on every pointer argument."""

    def __init__(self, *context: Any) -> None:
        *_, flags, _ = context
        flags.noalias = True
        super().__init__(*context)


def callee(**options: Any) -> Any:
    """Decorates what only kernels call: numba makes no entries for Python and C, which took a fifth of its time."""
    return njit(error_model="numpy", no_cpython_wrapper=True, no_cfunc_wrapper=True, **options)


_WORD = {types.float32: (32, 23, 127), types.float64: (64, 52, 1023)}  # bits, bits of the fraction, bias
_LONG = types.int64


@inline(lambda condition, a, b: a(condition, a, a) if a == b and a in _WORD else None)
def select(call: CallSite, condition: Any, a: Any, b: Any) -> Any:
    """``a if condition else b`` as one LLVM select, which vectorises. A number is true unless it is 0."""
    flag = condition
    if call.kinds[0] == types.boolean:
        flag = call.context.get_value_as_data(call.b, types.boolean, flag) if flag.type.width != 1 else flag
        flag = call.b.trunc(flag, ir.IntType(1)) if flag.type.width != 1 else flag
    else:
        flag = call.b.fcmp_unordered("!=", flag, ir.Constant(flag.type, 0.0))
    return call.b.select(flag, a, b)


@inline(lambda x: (types.int32 if x == types.float32 else types.int64)(x))
def to_bits(call: CallSite, x: Any) -> Any:
    """The bits of a float as a signed integer of its width."""
    return call.b.bitcast(x, ir.IntType(_WORD[call.kinds[0]][0]))


@inline(lambda word: {types.int32: types.float32, types.int64: types.float64}[word](word))
def from_bits(call: CallSite, word: Any) -> Any:
    """The float of the same width with these bits."""
    return call.b.bitcast(word, call.context.get_value_type(call.result))


@inline(lambda shifted: shifted(shifted))
def two_power(call: CallSite, shifted: Any) -> Any:
    """2**n, where `shifted` is ``n + 1.5 * 2**23`` (float32) or ``n + 1.5 * 2**52`` (float64).

    In that sum the low bits of the fraction are the integer n; the exponent's bits fall off at the shift.
    """
    width, fraction, bias = _WORD[call.kinds[0]]
    word = ir.IntType(width)
    biased = call.b.add(call.b.bitcast(shifted, word), word(bias))
    return call.b.bitcast(call.b.shl(biased, word(fraction)), shifted.type)


@inline(lambda *given: types.void(*[_LONG] * 9))
def call_kernel(
    call: CallSite, address: Any, a: Any, b: Any, c: Any, y: Any, g: Any, d: Any, count: Any, fresh: Any
) -> None:  # fmt: skip
    """Call the kernel at `address`; everything is an int64, the first six arguments are addresses too.

    The convention is numba's: places for a result and an exception first. Kernels have neither.
    """
    kind = call.context.call_conv.get_function_type(types.void, [types.voidptr] * 6 + [types.int64] * 2)
    function = call.b.inttoptr(address, kind.as_pointer())
    places = [cgutils.alloca_once(call.b, place.pointee) for place in kind.args[:2]]
    addresses = [call.b.inttoptr(arg, ir.IntType(8).as_pointer()) for arg in (a, b, c, y, g, d)]
    call.b.call(function, [*places, *addresses, count, fresh])


@inline(lambda address, like: (like if isinstance(like, types.CPointer) else types.CPointer(like.dtype))(_LONG, like))
def row_at(call: CallSite, address: Any, like: Any) -> Any:
    """The numbers at an address: a pointer of the type of `like`, or to the dtype of an array `like`."""
    return call.b.inttoptr(address, call.context.get_value_type(call.result))


def _numbers_at(kind: Any, what: str) -> Any:
    def numbers_at(call: CallSite, address: Any) -> Any:
        return call.b.inttoptr(address, call.context.get_value_type(call.result))

    numbers_at.__doc__ = f"The {what} at an address."
    return inline(lambda address: types.CPointer(kind)(_LONG))(numbers_at)


word_at, natural_at = _numbers_at(types.int64, "int64 numbers"), _numbers_at(types.uint64, "uint64 numbers")
doubles_at, bytes_at = _numbers_at(types.float64, "float64 numbers"), _numbers_at(types.uint8, "bytes")


@inline(_LONG)
def address_of(call: CallSite, pointer: Any) -> Any:
    """Where a pointer points to."""
    return call.b.ptrtoint(pointer, ir.IntType(64))


@inline(_LONG)
def size_of(call: CallSite, pointer: Any) -> Any:
    """Bytes of one of the numbers, whole or real, that a pointer points to."""
    return ir.Constant(ir.IntType(64), call.kinds[0].dtype.bitwidth // 8)


@inline(lambda to, source, first: types.void(to, source, _LONG))
def stream(call: CallSite, to: Any, source: Any, first: Any) -> None:
    """A cache line of numbers, ``to[first:] = source[first:]``, written past the cache; `to` begins a line there."""
    size, real = _WORD[call.kinds[0].dtype][0], call.context.get_value_type(call.kinds[0].dtype)
    line = ir.VectorType(real, LINE * 8 // size).as_pointer()
    target, given = (call.b.bitcast(call.b.gep(place, [first]), line) for place in (to, source))
    store = call.b.store(call.b.load(given, align=size // 8), target, align=LINE)
    store.set_metadata("nontemporal", call.b.module.add_metadata([ir.Constant(ir.IntType(32), 1)]))


@inline(types.void)
def widest(call: CallSite, count: Any) -> None:
    """Let LLVM use the widest vectors in this function: on Intel's processors it prefers 256 to 512 bits.

    Rows do little beside their operations, so they gain: 1.2 times in a step of small networks, with the same bits.
    """
    set.add(call.b.function.attributes, '"prefer-vector-width"="512"')  # llvmlite's own `add` knows no values


def _room(like: Any, size: Any) -> Any:
    if not isinstance(size, types.IntegerLiteral):
        raise RequireLiteralValue("the size on the stack is a literal")
    return like(like, size)


@inline(_room)
def stack_room(call: CallSite, like: Any, size: Any) -> Any:
    """So many bytes (a literal) on the stack, for numbers of the kind that `like` points to; there until the return."""
    with call.b.goto_entry_block():
        room = call.b.alloca(ir.ArrayType(ir.IntType(8), call.kinds[1].literal_value))
    room.align = 64
    return call.b.bitcast(room, call.context.get_value_type(call.result))


def _constant(number: int, why: str) -> Any:
    def constant_of(call: CallSite, like: Any) -> Any:
        return call.context.get_constant(call.result, number)

    constant_of.__doc__ = f"{number} in the dtype that the pointer `like` points to{why}."
    return inline(lambda like: like.dtype(like))(constant_of)


zero_of, one_of = _constant(0, ""), _constant(1, " (``zero_of(like) + 1`` would be float64)")


@inline(lambda words, number: types.void(words, _LONG))
def add_atomically(call: CallSite, words: Any, number: Any) -> None:
    """Add to the first of some int64 numbers that other threads use too."""
    call.b.atomic_rmw("add", words, number, "seq_cst")


@inline(_LONG)
def read_atomically(call: CallSite, words: Any) -> Any:
    """The first of some int64 numbers, as other threads have left it."""
    return call.b.load_atomic(words, "seq_cst", 8)


@inline(lambda address: types.void(_LONG))
def call_bare(call: CallSite, address: Any) -> None:
    """Call a C function without arguments."""
    kind = ir.FunctionType(ir.IntType(32), [])
    call.b.call(call.b.inttoptr(address, kind.as_pointer()), [])


@inline(lambda number, like: like.dtype(number, like))
def converted(call: CallSite, number: Any, like: Any) -> Any:
    """A whole or real number in the dtype that `like` points to, rounded to the nearest."""
    return call.context.cast(call.b, number, call.kinds[0], call.result)
