"""What kernels ask of tensor cores: fragments of float16 matrices, their products, and a barrier for a whole grid.

Halves lie in a block's shared memory, at places in bytes from where it begins. A word holds two of them. The threads of
a warp call these functions together. How the numbers of a fragment are spread over the threads stands in the PTX ISA,
"Matrix Fragments for mma.m16n8k16" and "ldmatrix". numba's simulator knows none of it.
"""

from __future__ import annotations

from typing import Any

from numba import types

from .jit import _SHARED, SIMULATED, intrinsic

_MMA = (
    "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
    "{$0, $1, $2, $3}, {$4, $5, $6, $7}, {$8, $9}, {$10, $11, $12, $13};"
)
_LOAD = "ldmatrix.sync.aligned.m8n8.x4{}.shared.b16 {{$0, $1, $2, $3}}, [$4];"


def _compiled() -> dict[str, Any]:
    from llvmlite import ir

    word, number, short = ir.IntType(32), ir.FloatType(), ir.IntType(16)

    def asked(text: str, constraints: str, result: Any, given: list[Any]) -> ir.InlineAsm:
        return ir.InlineAsm(ir.FunctionType(result, given), text, constraints, side_effect=True)

    def four(context: Any, builder: Any, kind: Any, found: Any) -> Any:
        parts = [builder.extract_value(found, k) for k in range(4)]
        return context.make_tuple(builder, kind, parts)

    def place_of(builder: Any, offset: Any) -> Any:
        """The 32-bit address in shared memory, as `jit.shared` declares it."""
        memory = builder.module.globals.get(_SHARED)
        if memory is None:
            memory = ir.GlobalVariable(builder.module, ir.ArrayType(ir.IntType(8), 0), _SHARED, addrspace=3)
            memory.linkage, memory.align = "external", 16
        return builder.add(builder.ptrtoint(memory, word), builder.trunc(offset, word))

    def at(builder: Any, pointer: Any) -> Any:
        return builder.ptrtoint(builder.addrspacecast(pointer, ir.PointerType(word, 1)), ir.IntType(64))

    def mma(
        typing: Any, a0: Any, a1: Any, a2: Any, a3: Any, b0: Any, b1: Any, c0: Any, c1: Any, c2: Any, c3: Any
    ) -> Any:
        def code(context: Any, builder: Any, signature: Any, given: Any) -> Any:
            result = ir.LiteralStructType([number] * 4)
            constraints = ",".join(["=f"] * 4 + ["r"] * 6 + ["f"] * 4)
            found = builder.call(asked(_MMA, constraints, result, [word] * 6 + [number] * 4), given)
            return four(context, builder, signature.return_type, found)

        words, numbers = [types.uint32] * 6, [types.float32] * 4
        return types.UniTuple(types.float32, 4)(*words, *numbers), code

    def fragments(turned: str) -> Any:
        def load(typing: Any, offset: Any) -> Any:
            def code(context: Any, builder: Any, signature: Any, given: Any) -> Any:
                result = ir.LiteralStructType([word] * 4)
                function = asked(_LOAD.format(turned), "=r,=r,=r,=r,r,~{memory}", result, [word])
                found = builder.call(function, [place_of(builder, given[0])])
                return four(context, builder, signature.return_type, found)

            return types.UniTuple(types.uint32, 4)(types.int64), code

        return load

    def pack(typing: Any, low: Any, high: Any) -> Any:
        def code(context: Any, builder: Any, signature: Any, given: Any) -> Any:
            return builder.call(asked("cvt.rn.f16x2.f32 $0, $2, $1;", "=r,f,f", word, [number] * 2), given)

        return types.uint32(types.float32, types.float32), code

    def part(shift: int) -> Any:
        def half_of(typing: Any, halves: Any) -> Any:
            def code(context: Any, builder: Any, signature: Any, given: Any) -> Any:
                bits = builder.trunc(builder.lshr(given[0], word(shift)), short)
                return builder.call(asked("cvt.f32.f16 $0, $1;", "=f,h", number, [short]), [bits])

            return types.float32(types.uint32), code

        return half_of

    def copy16(typing: Any, offset: Any, halves: Any, index: Any) -> Any:
        def code(context: Any, builder: Any, signature: Any, given: Any) -> Any:
            vector = ir.VectorType(word, 4)
            source = builder.bitcast(builder.gep(given[1], [given[2]]), vector.as_pointer())
            to = builder.inttoptr(place_of(builder, given[0]), ir.PointerType(vector, 3))
            loaded = builder.load(source)
            loaded.align = 16
            builder.store(loaded, to).align = 16
            return context.get_dummy_value()

        return types.void(types.int64, halves, types.int64), code

    def arrive(typing: Any, counter: Any) -> Any:
        def code(context: Any, builder: Any, signature: Any, given: Any) -> Any:
            text = "atom.acq_rel.gpu.global.add.u32 $0, [$1], 1;"
            function = asked(text, "=r,l,~{memory}", word, [ir.IntType(64)])
            return builder.call(function, [at(builder, given[0])])

        return types.uint32(counter), code

    def arrived(typing: Any, counter: Any) -> Any:
        def code(context: Any, builder: Any, signature: Any, given: Any) -> Any:
            function = asked("ld.acquire.gpu.global.u32 $0, [$1];", "=r,l,~{memory}", word, [ir.IntType(64)])
            return builder.call(function, [at(builder, given[0])])

        return types.uint32(counter), code

    return {
        "mma": intrinsic(mma), "fragments": intrinsic(fragments("")),
        "fragments_turned": intrinsic(fragments(".trans")),
        "pack": intrinsic(pack), "low": intrinsic(part(0)), "high": intrinsic(part(16)), "copy16": intrinsic(copy16),
        "arrive": intrinsic(arrive), "arrived": intrinsic(arrived),
    }  # fmt: skip


WORDS: dict[str, Any] = {} if SIMULATED else _compiled()
"""By the names that kernels use:

===================== =================================================================================
``mma``               ``a`` (16, 16) times ``b`` (16, 8) plus ``c`` (16, 8): four words, two, four float32
``fragments``         four matrices (8, 8) as four words; lanes 8 k .. 8 k + 7 give the rows of matrix k
``fragments_turned``  the same, transposed
``pack``              two float32 as the nearest halves in a word, the first in the lower half
``low``, ``high``     a half of a word as float32
``copy16``            sixteen bytes of a table of halves to a place of shared memory
``arrive``            counts a block that comes to the grid's barrier; the count before
``arrived``           how many have come
===================== =================================================================================
"""
