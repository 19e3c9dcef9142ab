"""The machine that executes PTX: single instructions by the PTX manual, races, barriers, wrong addresses.

That every instruction of the engine's kernels is right shows where their numbers are compared (test_kernels); here
stand the cases that those seldom reach, and what the machine has to refuse.
"""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("numba_cuda", reason="no numba-cuda (extra cuda)")
from ptx.instructions import fma, fma_directed
from ptx.machine import Module
from ptx.memory import Fault, Memory, Race, Shadow
from ptx.text import Unsupported

pytestmark = pytest.mark.cuda
TEXT = """
.version 9.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 k_param_0, .param .u32 k_param_1)
{
    .reg .pred %p<3>; .reg .b32 %r<12>; .reg .b64 %rd<9>; .reg .f32 %f<8>; .reg .b16 %rs<3>; .reg .f64 %fd<5>;
    .shared .align 4 .b8 room[256];
    ld.param.u64 %rd1, [k_param_0];
    ld.param.u32 %r1, [k_param_1];
    mov.b32 %f1, %r1;
    cvt.s64.s32 %rd3, %r1;
    mov.u32 %r9, %tid.x;
    mul.wide.u32 %rd4, %r9, 4;
    mov.u64 %rd5, room;
    add.s64 %rd6, %rd5, %rd4;
BODY
    ret;
}
"""
STORES = {
    "OUT2": "st.global.v2.u32 [%rd1], {%r2, %r3};",
    "OUT8": "st.global.u64 [%rd1], %rd2;",
    "OUTF": "st.global.f32 [%rd1], %f2;",
    "OUT": "st.global.u32 [%rd1], %r2;",
    "MINE": "add.s64 %rd7, %rd1, %rd4; st.global.u32 [%rd7], %r2;",
}


def run_text(body, first=0, words=4, threads=1, blocks=1, contract=False, races=True):
    """What the instructions leave in memory: OUT stores %r2, MINE does at the thread's own place."""
    memory = Memory()
    address = memory.allocate(4 * words)
    for name, text in STORES.items():
        body = body.replace(name, text)
    module = Module(TEXT.replace("BODY", body), contract)
    module.launch("k", blocks, threads, 0, [address, first % 2**32], memory, races=races)
    return memory.view(address, words, np.uint32).copy()


@pytest.mark.parametrize(
    ("body", "first", "expected"),
    [
        ("bfi.b32 %r2, %r1, 0xFFFFFFFF, 8, 8; OUT", 0x12, [0xFFFF12FF]),
        ("add.cc.u32 %r2, %r1, 1; addc.u32 %r3, 0, 0; OUT2", 0xFFFFFFFF, [0, 1]),
        ("add.cc.u32 %r4, %r1, 1; addc.cc.u32 %r2, %r1, 0; addc.u32 %r3, 0, 0; OUT2", 0xFFFFFFFF, [0, 1]),
        ("sub.cc.u32 %r4, %r1, 1; subc.cc.u32 %r2, 0, 0; subc.u32 %r3, 0, 0; OUT2", 0, [0xFFFFFFFF, 0xFFFFFFFF]),
        ("mad.lo.cc.u32 %r2, %r1, %r1, 7; madc.hi.u32 %r3, %r1, %r1, 0; OUT2", 0xFFFFFFFB, [32, 0xFFFFFFF6]),
        ("mul.hi.s32 %r2, %r1, -3; mul.hi.u32 %r3, %r1, 5; OUT2", 2**31, [1, 2]),
        ("mul.hi.s64 %rd2, %rd3, 9000000000000000000; OUT8", -5, [0xFFFFFFFD, 0xFFFFFFFF]),
        ("mul.wide.s32 %rd2, %r1, 1000000; OUT8", -5, [(-5000000) % 2**32, 0xFFFFFFFF]),
        ("div.s32 %r2, %r1, 2; rem.s32 %r3, %r1, 2; OUT2", -7, [(-3) % 2**32, 0xFFFFFFFF]),
        ("div.s32 %r2, %r1, -1; OUT", -(2**31), [2**31]),
        ("shl.b32 %r2, %r1, 32; shr.u32 %r3, %r1, 33; OUT2", -7, [0, 0]),
        ("shr.s32 %r2, %r1, 40; shr.s32 %r3, %r1, 1; OUT2", -7, [0xFFFFFFFF, (-4) % 2**32]),
        ("setp.gt.u32 %p1, %r1, 3; mov.u32 %r2, 1; @%p1 bra L; mov.u32 %r2, 7; L: OUT", 3, [7]),
        ("clz.b32 %r2, %r1; not.b32 %r3, %r1; OUT2", 6, [29, 0xFFFFFFF9]),
        ("cvt.s32.s8 %r2, %r1; cvt.u32.u8 %r3, %r1; OUT2", 0x180, [0xFFFFFF80, 0x80]),
        ("cvt.u16.u32 %rs1, %r1; st.global.v4.u8 [%rd1], {%rs1, 0, 1, 0};", 0x1F7, [0x100F7]),
        ("cvt.rzi.s32.f32 %r2, %f1; cvt.rzi.u32.f32 %r3, %f1; OUT2", 0x7F800000, [0x7FFFFFFF, 0xFFFFFFFF]),
        ("cvt.rzi.s32.f32 %r2, %f1; cvt.rzi.u32.f32 %r3, %f1; OUT2", 0xC0200000, [(-2) % 2**32, 0]),
        ("cvt.rni.s32.f32 %r2, %f1; cvt.rpi.s32.f32 %r3, %f1; OUT2", 0x40200000, [2, 3]),
        ("cvt.rzi.s32.f32 %r2, %f1; cvt.f64.f32 %fd1, %f1; cvt.rzi.s32.f64 %r3, %fd1; OUT2", 0x7FC00000, [0, 2**31]),
        ("cvt.sat.f32.f32 %f2, %f1; OUTF", 0x40000000, [0x3F800000]),
        ("max.f32 %f2, %f1, 0f7FC00000; OUTF", 0x3F800000, [0x3F800000]),
        ("min.f32 %f2, 0f00000000, %f1; OUTF", 0x80000000, [0x80000000]),
        ("max.f32 %f2, %f1, 0f80000000; OUTF", 0, [0]),
        ("mul.ftz.f32 %f2, %f1, 0f4E800000; OUTF", 5, [0]),
        ("mul.f32 %f2, %f1, 0f4E800000; OUTF", 5, [0x05200000]),
        ("add.sat.f32 %f2, %f1, %f1; OUTF", 0x3F800000, [0x3F800000]),
        ("add.rz.f32 %f2, %f1, 0f33000000; add.rp.f32 %f3, %f1, 0f33000000; mov.b32 %r2, %f2; mov.b32 %r3, %f3; OUT2",
         0x3F800000, [0x3F800000, 0x3F800001]),
        ("copysign.f32 %f2, %f1, 0f40000000; OUTF", 0x80000000, [0xC0000000]),
        ("mov.b64 %rd2, {%r1, 7}; mov.b64 {%r2, %r3}, %rd2; OUT2", 9, [9, 7]),
        ("setp.eq.u32 %p1, %r1, 3; @!%p1 bra L; OUT L: mov.u32 %r2, 4; @%p1 OUT", 3, [4]),
    ],
)  # fmt: skip
def test_single_instructions(body, first, expected):
    found = run_text(body, first)
    assert [hex(v) for v in found[: len(expected)]] == [hex(v) for v in expected]


ORDERED = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}


@pytest.mark.parametrize("a", [0.5, 1.0, 2.0, float("nan")])
@pytest.mark.parametrize("test", [*ORDERED, *(f"{name}u" for name in ORDERED), "num", "nan"])
def test_comparisons_of_floats(test, a):
    """Ordered ones are false for NaN, unordered ones true."""
    if test in ("num", "nan"):
        expected = (a == a) == (test == "num")
    else:
        expected = eval(f"a {ORDERED[test[:2]]} 1.0") if a == a else test.endswith("u")
    body = f"setp.{test}.f32 %p1, %f1, 0f3F800000; selp.u32 %r2, 1, 0, %p1; OUT"
    assert run_text(body, int(np.float32(a).view(np.uint32)))[0] == expected


def test_directed_rounding_brackets_the_result():
    a, b, c = np.random.default_rng(0).normal(size=(3, 4000)).astype(np.float32)
    down, up = fma_directed(a, b, c, "rm"), fma_directed(a, b, c, "rp")
    exact = a.astype(np.longdouble) * b + c
    assert ((down <= exact) & (exact <= up) & (np.nextafter(down, np.float32(np.inf)) >= up)).all()
    np.testing.assert_array_equal(fma_directed(a, b, c, "rz"), np.where(exact > 0, down, up))
    # a sum a hair above the middle of two float32: rounded to float64 first, it would be the middle
    p, one = np.array([1 + 2**-12], np.float32), np.ones(1, np.float32)
    assert fma_directed(p, one, np.float32([2.0**-80]), "rp") == np.nextafter(p, np.float32(2))
    assert fma(np.float64(1 + 2**-30), np.float64(1 - 2**-30), np.float64(-1)) == -(2.0**-60)


@pytest.mark.parametrize("contract", [False, True])
@pytest.mark.parametrize(
    ("body", "fused"),
    [
        ("mul.f32 %f3, %f1, %f1; sub.f32 %f2, %f3, 0f3F801000; OUTF", True),
        ("mul.f32 %f3, %f1, %f1; mov.f32 %f4, 0fBF801000; add.f32 %f2, %f4, %f3; OUTF", True),
        ("mul.f32 %f3, %f1, %f1; sub.f32 %f4, 0f3F801000, %f3; neg.f32 %f2, %f4; OUTF", True),
        ("mul.rn.f32 %f3, %f1, %f1; sub.f32 %f2, %f3, 0f3F801000; OUTF", False),
        ("mul.f32 %f3, %f1, %f1; sub.rn.f32 %f2, %f3, 0f3F801000; OUTF", False),
        ("mov.f32 %f4, %f1; mul.f32 %f3, %f4, %f4; mov.f32 %f4, 0f40000000; sub.f32 %f2, %f3, 0f3F801000; OUTF", False),
    ],
)
def test_products_are_fused_where_that_is_tried_and_allowed(body, fused, contract):
    """(1 + 2**-12)**2 is 1 + 2**-11 + 2**-24, whose last term a product of its own loses."""
    found = run_text(body, 0x3F800800, contract=contract).view(np.float32)[0]
    assert found == (2.0**-24 if fused and contract else 0.0)


def test_threads_that_part_meet_again():
    """Each adds its number as often as its number says; one of them leaves before."""
    body = """mov.u32 %r2, 0; mov.u32 %r3, 0; setp.eq.u32 %p2, %r9, 5; @%p2 bra E;
    L: setp.ge.u32 %p1, %r3, %r9; @%p1 bra E; add.u32 %r2, %r2, %r9; add.u32 %r3, %r3, 1; bra.uni L;
    E: MINE"""
    assert run_text(body, 0, 40, 40).tolist() == [k * k * (k != 5) for k in range(40)]


# ---- what is refused


@pytest.mark.parametrize("space", ["shared", "local"])
def test_alignment_is_that_of_the_declaration(space):
    body = f".{space} .align ALIGN .b8 s[64]; mov.u64 %rd2, s; st.{space}.v4.u32 [%rd2], {{%r1, 1, 2, 3}};"
    body += f"ld.{space}.v4.u32 {{%r2, %r3, %r4, %r5}}, [%rd2]; st.global.v4.u32 [%rd1], {{%r5, %r4, %r3, %r2}};"
    assert run_text(body.replace("ALIGN", "16"), 7).tolist() == [3, 2, 1, 7]
    with pytest.raises(Fault, match="misaligned address"):
        run_text(body.replace("ALIGN", "8"), 7)


AT = "mul.wide.s32 %rd7, %r1, 4; setp.eq.u32 %p1, %r9, 13; add.s64 %rd8, %rd1, %rd7; @%p1 st.global.u32 [%rd8], 7;"


def test_a_wrong_address_names_kernel_line_and_thread():
    assert run_text(AT, 3, threads=32)[3] == 7
    with pytest.raises(
        Fault, match=r"out of bounds.* in k, block \(0, 0, 0\) thread \(13, 0, 0\), line \d+: .*st"
    ) as found:
        run_text(AT + "\n", 4, threads=32)
    assert found.value.thread == ((0, 0, 0), (13, 0, 0))
    for body, first, says in (
        (AT, -1, "out of bounds"),
        ("mov.u64 %rd1, 0; OUT", 0, "NULL"),
        ("add.s64 %rd1, %rd1, 2; OUT", 0, "misaligned"),
        ("st.shared.u32 [%rd5+256], 1;", 0, "out of bounds"),
        ("div.u32 %r2, 4, %r1;", 0, "division by zero"),
        ("trap;", 0, "trap"),
        ("setp.eq.u32 %p1, %r9, 0; @%p1 bar.sync 0;", 0, "31 threads .* never reach the barrier"),
        ("setp.eq.u32 %p1, %r9, 0; @%p1 bra L; bar.sync 0; bra M; L: bar.sync 0; M: OUT", 0, "two different barriers"),
        ("bar.sync 0, 16;", 0, "barriers of all threads of a block alone"),
    ):
        with pytest.raises(Fault, match=says):
            run_text(body, first, threads=32)


def test_memory_is_poison_ends_and_is_not_used_after_it_was_freed():
    memory = Memory(limit=1000)
    first = memory.allocate(600)
    assert np.isnan(memory.view(first, 10, np.float64)).all()
    with pytest.raises(MemoryError, match="500 bytes asked for, 400 of 1000 are free"):
        memory.allocate(500)
    memory.free(first)
    assert memory.allocate(1000) != first
    for call, says in (
        (lambda: memory.view(first, 1, "u1"), "use after free"),
        (lambda: memory.free(first), "free of"),
    ):
        with pytest.raises(Fault, match=says):
            call()


def test_threads_of_one_instruction_may_reach_into_several_allocations():
    memory = Memory()
    places = [memory.allocate(4 * n) for n in (3, 5)]
    body = """and.b32 %r2, %r9, 1; setp.eq.u32 %p1, %r2, 0; ld.global.u64 %rd2, [%rd1]; ld.global.u64 %rd3, [%rd1+8];
        selp.b64 %rd3, %rd2, %rd3, %p1; shr.u32 %r2, %r9, 1; mul.wide.u32 %rd4, %r2, 4; add.s64 %rd5, %rd3, %rd4;
        ld.global.u32 %r2, [%rd5]; add.u32 %r2, %r2, %r9; st.global.u32 [%rd5], %r2;"""
    module, table = Module(TEXT.replace("BODY", body)), memory.allocate(16)
    memory.view(table, 2, np.uint64)[:] = places
    for address, n in zip(places, (3, 5), strict=True):
        memory.view(address, n, np.uint32)[:] = 10
    module.launch("k", 1, 6, 0, [table, 0], memory)
    assert memory.view(places[0], 3, np.uint32).tolist() == [10, 12, 14]
    assert memory.view(places[1], 5, np.uint32).tolist() == [11, 13, 15, 10, 10]
    with pytest.raises(Fault, match=r"thread \(6, 0, 0\)"):  # the fourth of the first
        module.launch("k", 1, 8, 0, [table, 0], memory)


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ("atom.global.add.u32 %r2, [%rd1], 1;", "atomics make sums depend on luck"),
        ("mma.sync.aligned.m16n8k16 %r2, %r1, %r1, %r1;", r"line \d+: instruction mma\.sync"),
        ("call.uni nobody, ();", "a call of nobody"), ("sqrt.approx.f32 %f2, %f1;", "instruction sqrt.approx"),
        ("cvt.rz.f32.f64 %f2, %fd1;", "instruction cvt.rz"), ("add.sat.s32 %r2, %r1, 1;", "instruction add.sat"),
        ("cvt.s32.f32 %r2, %f1;", "instruction cvt.s32.f32"), ("ld.u32 %r2, [%rd1];", "instruction ld.u32"),
        ("mov.u32 %r2, %laneid;", "operand %laneid"),
    ],
)  # fmt: skip
def test_what_the_machine_does_not_know_is_refused(body, says):
    with pytest.raises(Unsupported, match=says):
        run_text(body)


# ---- races

TURNED = "st.shared.u32 [%rd6], %r9; WAIT xor.b32 %r3, %r9, 63; mul.wide.u32 %rd7, %r3, 4; add.s64 %rd8, %rd5, %rd7;"
TURNED += "ld.shared.u32 %r2, [%rd8]; MINE"
OTHERS = "mov.u32 %r2, %ctaid.x; setp.eq.u32 %p1, %r9, 1; bar.sync 0; @%p1 bra L; OUT L:"


@pytest.mark.parametrize(
    ("body", "threads", "blocks", "space"),
    [
        ("mov.u32 %r2, %r9; OUT", 64, 1, "global"),
        ("ld.global.u32 %r2, [%rd1]; add.u32 %r2, %r2, %r9; MINE", 64, 1, "global"),
        (TURNED.replace("WAIT", ""), 64, 1, "shared"), (OTHERS, 2, 2, "global"),
        ("mov.u32 %r2, 4; OUT ld.global.nc.u32 %r3, [%rd1];", 1, 1, "global"),  # a cache that stores do not reach
    ],
)  # fmt: skip
def test_a_race_raises(body, threads, blocks, space):
    with pytest.raises(Race, match=f"race in {space} memory: .* without a barrier at address 0x.* in k, .*line"):
        run_text(body, 0, 64, threads, blocks)
    run_text(body, 0, 64, threads, blocks, races=False)


def test_a_barrier_orders_the_threads_of_a_block():
    assert run_text(TURNED.replace("WAIT", "bar.sync 0;"), 0, 64, 64).tolist() == list(range(63, -1, -1))
    assert run_text(OTHERS, 0, 4, 2, 1)[0] == 0


@pytest.mark.parametrize(
    ("uses", "race"),
    [
        # thread, writes, barriers that its block has passed; blocks of 4 threads
        ([(0, True, 0), (1, False, 0)], True),
        ([(0, True, 0), (1, False, 1)], False),
        ([(0, True, 0), (4, False, 1)], True),
        ([(0, True, 0), (0, False, 0), (0, True, 0)], False),
        ([(0, False, 0), (1, True, 0)], True),
        ([(0, False, 0), (1, True, 1)], False),
        ([(0, False, 0), (1, False, 0)], False),
        ([(0, False, 0), (1, False, 0), (0, True, 0)], True),
        ([(0, False, 0), (1, False, 0), (0, True, 1)], False),
        ([(0, False, 0), (4, False, 0), (0, True, 1)], True),
        ([(0, False, 0), (4, False, 0), (4, False, 1), (4, True, 2)], True),
        ([(0, False, 0), (1, False, 1), (1, True, 1)], False),
        ([(0, False, 0), (1, False, 1), (2, True, 1)], True),
        ([(0, True, 0), (1, True, 0)], True),
        ([(0, True, 0), (1, True, 1), (2, False, 1)], True),
        ([(0, True, 0), (1, True, 1), (2, False, 2)], False),
    ],
)
def test_who_may_use_a_number_when(uses, race):
    shadow, epochs = Shadow(64, 4), np.zeros(4, np.int32)
    found = -1
    for thread, writes, passed in uses:
        assert found == -1
        epochs[thread // 4] = passed
        found = shadow.note(np.array([3]), 4, 1, np.array([thread]), 4, epochs, writes)
    assert (found >= 0) == race


def test_parts_of_a_number_are_watched():
    shadow, epochs = Shadow(64, 4), np.zeros(4, np.int32)
    one, two = np.array([0]), np.array([1])
    assert shadow.note(np.array([1]), 8, 1, one, 4, epochs, True) < 0  # bytes 8 to 15
    assert shadow.note(np.array([7]), 1, 1, two, 4, epochs, True) < 0
    assert shadow.note(np.array([8]), 1, 1, two, 4, epochs, False) == 0
