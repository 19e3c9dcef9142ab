"""What numba's Python cannot say: selection without a branch, powers of two by bits, a call by address, ``noalias``.

`NoAlias` promises LLVM that a kernel writes nothing that it reads. LLVM then needs neither to compare pointers before a
loop nor to keep a plain loop in case they overlap. It took 14 to 46 % off a step of networks with hidden layers (16,16
to 64,64), most where the blocks are small. The encoder keeps the promise: the destinations of an instruction are
different rows, and none of them is a source.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.core.compiler import Compiler
from numba.core.errors import RequireLiteralValue
from numba.extending import intrinsic

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


@intrinsic
def select(typingctx: Any, condition: Any, a: Any, b: Any) -> Any:
    """``a if condition else b`` as one LLVM select, which vectorises. A number is true unless it is 0."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        flag = args[0]
        if condition == types.boolean:
            flag = context.get_value_as_data(builder, types.boolean, flag) if flag.type.width != 1 else flag
            flag = builder.trunc(flag, ir.IntType(1)) if flag.type.width != 1 else flag
        else:
            flag = builder.fcmp_unordered("!=", flag, ir.Constant(flag.type, 0.0))
        return builder.select(flag, args[1], args[2])

    if a != b or a not in _WORD:
        return None
    return a(condition, a, a), generate


@intrinsic
def to_bits(typingctx: Any, x: Any) -> Any:
    """The bits of a float as a signed integer of its width."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.bitcast(args[0], ir.IntType(_WORD[x][0]))

    return (types.int32 if x == types.float32 else types.int64)(x), generate


@intrinsic
def from_bits(typingctx: Any, word: Any) -> Any:
    """The float of the same width with these bits."""
    result = {types.int32: types.float32, types.int64: types.float64}[word]

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.bitcast(args[0], context.get_value_type(result))

    return result(word), generate


@intrinsic
def two_power(typingctx: Any, shifted: Any) -> Any:
    """2**n, where `shifted` is ``n + 1.5 * 2**23`` (float32) or ``n + 1.5 * 2**52`` (float64).

    In that sum the low bits of the fraction are the integer n; the exponent's bits fall off at the shift.
    """
    width, fraction, bias = _WORD[shifted]

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        word = ir.IntType(width)
        biased = builder.add(builder.bitcast(args[0], word), word(bias))
        return builder.bitcast(builder.shl(biased, word(fraction)), args[0].type)

    return shifted(shifted), generate


@intrinsic
def call_kernel(
    typingctx: Any, address: Any, a: Any, b: Any, c: Any, y: Any, g: Any, d: Any, count: Any, fresh: Any
) -> Any:
    """Call the kernel at `address`; everything is an int64, the first six arguments are addresses too.

    The convention is numba's: places for a result and an exception first. Kernels have neither.
    """

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        pointer = ir.IntType(8).as_pointer()
        kind = context.call_conv.get_function_type(types.void, [types.voidptr] * 6 + [types.int64] * 2)
        function = builder.inttoptr(args[0], kind.as_pointer())
        places = [cgutils.alloca_once(builder, place.pointee) for place in kind.args[:2]]
        addresses = [builder.inttoptr(arg, pointer) for arg in args[1:7]]
        builder.call(function, [*places, *addresses, *args[7:]])
        return context.get_dummy_value()

    return types.void(*[types.int64] * 9), generate


@intrinsic
def row_at(typingctx: Any, address: Any, like: Any) -> Any:
    """The numbers at an address: a pointer of the type of `like`, or to the dtype of an array `like`."""
    pointer = like if isinstance(like, types.CPointer) else types.CPointer(like.dtype)

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.inttoptr(args[0], context.get_value_type(pointer))

    return pointer(types.int64, like), generate


def _numbers_at(kind: Any, what: str) -> Any:
    pointer = types.CPointer(kind)

    @intrinsic
    def numbers_at(typingctx: Any, address: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            return builder.inttoptr(args[0], context.get_value_type(pointer))

        return pointer(types.int64), generate

    numbers_at.__doc__ = f"The {what} at an address."
    return numbers_at


word_at, natural_at = _numbers_at(types.int64, "int64 numbers"), _numbers_at(types.uint64, "uint64 numbers")
doubles_at, bytes_at = _numbers_at(types.float64, "float64 numbers"), _numbers_at(types.uint8, "bytes")


@intrinsic
def address_of(typingctx: Any, pointer: Any) -> Any:
    """Where a pointer points to."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.ptrtoint(args[0], ir.IntType(64))

    return types.int64(pointer), generate


@intrinsic
def size_of(typingctx: Any, pointer: Any) -> Any:
    """Bytes of one of the numbers that a pointer points to."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return ir.Constant(ir.IntType(64), _WORD[pointer.dtype][0] // 8)

    return types.int64(pointer), generate


@intrinsic
def stream(typingctx: Any, to: Any, source: Any, first: Any) -> Any:
    """A cache line of numbers, ``to[first:] = source[first:]``, written past the cache; `to` begins a line there."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        real = context.get_value_type(to.dtype)
        line = ir.VectorType(real, LINE * 8 // _WORD[to.dtype][0]).as_pointer()
        target, given = (builder.bitcast(builder.gep(place, [args[2]]), line) for place in args[:2])
        store = builder.store(builder.load(given, align=_WORD[to.dtype][0] // 8), target, align=LINE)
        store.set_metadata("nontemporal", builder.module.add_metadata([ir.Constant(ir.IntType(32), 1)]))
        return context.get_dummy_value()

    return types.void(to, source, types.int64), generate


@intrinsic
def stack_room(typingctx: Any, like: Any, size: Any) -> Any:
    """So many bytes (a literal) on the stack, for numbers of the kind that `like` points to; there until the return."""
    if not isinstance(size, types.IntegerLiteral):
        raise RequireLiteralValue("the size on the stack is a literal")

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        with builder.goto_entry_block():
            room = builder.alloca(ir.ArrayType(ir.IntType(8), size.literal_value))
        room.align = 64
        return builder.bitcast(room, context.get_value_type(like))

    return like(like, size), generate


@intrinsic
def zero_of(typingctx: Any, like: Any) -> Any:
    """0 in the dtype that the pointer `like` points to."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return context.get_constant(like.dtype, 0)

    return like.dtype(like), generate


@intrinsic
def one_of(typingctx: Any, like: Any) -> Any:
    """1 in the dtype that the pointer `like` points to (``zero_of(like) + 1`` would be float64)."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return context.get_constant(like.dtype, 1)

    return like.dtype(like), generate


@intrinsic
def add_atomically(typingctx: Any, words: Any, number: Any) -> Any:
    """Add to the first of some int64 numbers that other threads use too."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        builder.atomic_rmw("add", args[0], args[1], "seq_cst")
        return context.get_dummy_value()

    return types.void(words, types.int64), generate


@intrinsic
def read_atomically(typingctx: Any, words: Any) -> Any:
    """The first of some int64 numbers, as other threads have left it."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.load_atomic(args[0], "seq_cst", 8)

    return types.int64(words), generate


@intrinsic
def call_bare(typingctx: Any, address: Any) -> Any:
    """Call a C function without arguments."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        kind = ir.FunctionType(ir.IntType(32), [])
        builder.call(builder.inttoptr(args[0], kind.as_pointer()), [])
        return context.get_dummy_value()

    return types.void(types.int64), generate


@intrinsic
def width_of(typingctx: Any, pointer: Any) -> Any:
    """Bytes of one of the numbers, whole or real, that a pointer points to."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return ir.Constant(ir.IntType(64), pointer.dtype.bitwidth // 8)

    return types.int64(pointer), generate


@intrinsic
def converted(typingctx: Any, number: Any, like: Any) -> Any:
    """A whole or real number in the dtype that `like` points to, rounded to the nearest."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return context.cast(builder, args[0], number, like.dtype)

    return like.dtype(number, like), generate
