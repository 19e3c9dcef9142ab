"""Single PTX instructions that numba seldom writes, and the rules of races, each against what the PTX manual says."""

from __future__ import annotations

import operator
from fractions import Fraction

import numpy as np
import pytest
from ptx.machine import Module
from ptx.memory import Fault, Memory, Race, Shadow
from ptx.numbers import add_directed, fma, fma_directed, mul_directed, narrow
from ptx.text import Unsupported

pytestmark = pytest.mark.cuda

TEXT = """
.version 9.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 k_param_0, .param .u32 k_param_1)
{
    .reg .pred %p<3>; .reg .b32 %r<12>; .reg .b64 %rd<9>; .reg .f32 %f<8>; .reg .b16 %rs<3>; .reg .f64 %fd<5>;
    ld.param.u64 %rd1, [k_param_0];
    ld.param.u32 %r1, [k_param_1];
    mov.b32 %f1, %r1;
    cvt.s64.s32 %rd3, %r1;
BODY
    ret;
}
"""


def run_text(body: str, first: int, words: int = 4, threads: int = 1, contract: bool = False) -> np.ndarray:
    """What the instructions leave in memory; OUT stores %r2, OUT2 %r2 and %r3, OUT8 %rd2, OUTF %f2."""
    memory = Memory()
    address = memory.allocate(4 * words)
    stores = {
        "OUT2": "st.global.v2.u32 [%rd1], {%r2, %r3};", "OUT8": "st.global.u64 [%rd1], %rd2;",
        "OUTF": "st.global.f32 [%rd1], %f2;", "OUT": "st.global.u32 [%rd1], %r2;",
    }  # fmt: skip
    for name, text in stores.items():
        body = body.replace(name, text)
    Module(TEXT.replace("BODY", body), contract).launch("k", 1, threads, 0, [address, first % 2**32], memory)
    return memory.view(address, words, np.uint32).copy()


@pytest.mark.parametrize(
    ("body", "first", "expected"),
    [
        ("prmt.b32 %r2, %r1, 0x55667788, 0x0f61; OUT", 0x11223344, [0x44_00_66_33]),
        ("shf.l.wrap.b32 %r2, %r1, 0x80000001, 36; OUT", 0xF0000000, [0x0000001F]),
        ("shf.r.clamp.b32 %r2, %r1, 0x80000001, 36; OUT", 0xF0000000, [0x80000001]),
        ("bfe.s32 %r2, %r1, 4, 8; bfe.u32 %r3, %r1, 4, 8; OUT2", 0xF80, [0xFFFFFFF8, 0xF8]),
        ("bfi.b32 %r2, %r1, 0xFFFFFFFF, 8, 8; OUT", 0x12, [0xFFFF12FF]),
        ("add.cc.u32 %r2, %r1, 1; addc.u32 %r3, 0, 0; OUT2", 0xFFFFFFFF, [0, 1]),
        ("add.cc.u32 %r4, %r1, 1; addc.cc.u32 %r2, %r1, 0; addc.u32 %r3, 0, 0; OUT2", 0xFFFFFFFF, [0, 1]),
        ("sub.cc.u32 %r4, %r1, 1; subc.cc.u32 %r2, 0, 0; subc.u32 %r3, 0, 0; OUT2", 0, [0xFFFFFFFF, 0xFFFFFFFF]),
        ("mad.lo.cc.u32 %r2, %r1, %r1, 7; madc.hi.u32 %r3, %r1, %r1, 0; OUT2", 0xFFFFFFFB, [32, 0xFFFFFFF6]),
        ("lop3.b32 %r2, %r1, 0xFF00FF00, 0x0F0F0F0F, 0xE8; OUT", 0xF0F0F0F0, [0xFF00FF00]),
        ("mul.hi.s32 %r2, %r1, -3; mul.hi.u32 %r3, %r1, 5; OUT2", 2**31, [1, 2]),
        ("mul.hi.s64 %rd2, %rd3, 9000000000000000000; OUT8", -5, [0xFFFFFFFD, 0xFFFFFFFF]),
        ("mul.wide.s32 %rd2, %r1, 1000000; OUT8", -5, [(-5000000) % 2**32, 0xFFFFFFFF]),
        ("div.s32 %r2, %r1, 2; rem.s32 %r3, %r1, 2; OUT2", -7, [(-3) % 2**32, 0xFFFFFFFF]),
        ("div.s32 %r2, %r1, -1; OUT", -(2**31), [2**31]),
        ("shl.b32 %r2, %r1, 32; shr.u32 %r3, %r1, 33; OUT2", -7, [0, 0]),
        ("shr.s32 %r2, %r1, 40; shr.s32 %r3, %r1, 1; OUT2", -7, [0xFFFFFFFF, (-4) % 2**32]),
        ("setp.gt.u32 %p1, %r1, 3; mov.u32 %r2, 1; @%p1 bra L; mov.u32 %r2, 7; L: OUT", 3, [7]),
        ("setp.lt.and.s32 %p1|%p2, %r1, 3, %p2; selp.u32 %r2, 1, 0, %p1; selp.u32 %r3, 1, 0, %p2; OUT2", -3, [0, 0]),
        ("set.lt.u32.s32 %r2, %r1, 3; OUT", -3, [0xFFFFFFFF]),
        ("brev.b32 %r2, %r1; clz.b32 %r3, %r1; OUT2", 6, [0x60000000, 29]),
        ("popc.b32 %r2, %r1; bfind.u32 %r3, %r1; OUT2", 0x50001, [3, 18]),
        ("cvt.s32.s8 %r2, %r1; cvt.u32.u8 %r3, %r1; OUT2", 0x180, [0xFFFFFF80, 0x80]),
        ("cvt.sat.s8.s32 %r2, %r1; OUT", 1000, [127]),
        ("cvt.u16.u32 %rs1, %r1; st.global.v4.u8 [%rd1], {%rs1, 0, 1, 0};", 0x1F7, [0x100F7]),
        ("cvt.rzi.s32.f32 %r2, %f1; cvt.rzi.u32.f32 %r3, %f1; OUT2", 0x7F800000, [0x7FFFFFFF, 0xFFFFFFFF]),
        ("cvt.rzi.s32.f32 %r2, %f1; cvt.rzi.u32.f32 %r3, %f1; OUT2", 0xC0200000, [(-2) % 2**32, 0]),
        ("cvt.rni.s32.f32 %r2, %f1; cvt.rpi.s32.f32 %r3, %f1; OUT2", 0x40200000, [2, 3]),
        ("cvt.rzi.s32.f32 %r2, %f1; cvt.f64.f32 %fd1, %f1; cvt.rzi.s32.f64 %r3, %fd1; OUT2", 0x7FC00000, [0, 2**31]),
        ("cvt.rz.f32.u32 %f2, %r1; OUTF", 0xFFFFFFFF, [0x4F7FFFFF]),
        ("max.f32 %f2, %f1, 0f7FC00000; OUTF", 0x3F800000, [0x3F800000]),
        ("max.NaN.f32 %f2, %f1, 0f3F800000; mov.b32 %r2, %f2; and.b32 %r2, %r2, 0x7F800001; OUT", -1, [0x7F800000]),
        ("min.f32 %f2, %f1, 0f00000000; OUTF", 0x80000000, [0x80000000]),
        ("min.f32 %f2, 0f00000000, %f1; OUTF", 0x80000000, [0x80000000]),
        ("max.f32 %f2, %f1, 0f80000000; OUTF", 0, [0]),
        ("mul.ftz.f32 %f2, %f1, 0f4E800000; OUTF", 5, [0]),
        ("mul.f32 %f2, %f1, 0f4E800000; OUTF", 5, [0x05200000]),
        ("mul.ftz.f32 %f2, %f1, 0f2EDBE6FF; OUTF", 0x0DA24260, [0]),
        ("add.sat.f32 %f2, %f1, %f1; OUTF", 0x3F800000, [0x3F800000]),
        ("add.rz.f32 %f2, %f1, 0f33000000; add.rp.f32 %f3, %f1, 0f33000000; mov.b32 %r2, %f2; mov.b32 %r3, %f3; OUT2",
         0x3F800000, [0x3F800000, 0x3F800001]),
        ("copysign.f32 %f2, %f1, 0f40000000; OUTF", 0x80000000, [0xC0000000]),
        ("testp.notanumber.f32 %p1, %f1; selp.u32 %r2, 1, 0, %p1; OUT", 0x7FC00000, [1]),
        ("slct.u32.s32 %r2, 5, 6, %r1; OUT", -1, [6]),
        ("mov.b64 %rd2, {%r1, 7}; mov.b64 {%r2, %r3}, %rd2; OUT2", 9, [9, 7]),
        ("ts: .branchtargets A, B, C; brx.idx %r1, ts; A: mov.u32 %r2, 5; C: mov.u32 %r2, 6; B: OUT", 2, [6]),
        ("setp.eq.u32 %p1, %r1, 3; @!%p1 bra L; OUT L: mov.u32 %r2, 4; @%p1 OUT", 3, [4]),
    ],
)  # fmt: skip
def test_single_instructions(body, first, expected):
    found = run_text(body, first)
    assert [hex(v) for v in found[: len(expected)]] == [hex(v) for v in expected]


NAN = float("nan")
ORDERED = {
    "eq": lambda a, b: a == b, "ne": lambda a, b: a != b, "lt": lambda a, b: a < b, "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b, "ge": lambda a, b: a >= b,
}  # fmt: skip


@pytest.mark.parametrize("a", [0.5, 1.0, 2.0, NAN])
@pytest.mark.parametrize("test", [*ORDERED, *(f"{name}u" for name in ORDERED), "num", "nan"])
def test_comparisons_of_floats(test, a):
    """Ordered ones are false for NaN, unordered ones true."""
    number = a == a
    if test in ("num", "nan"):
        expected = number == (test == "num")
    else:
        expected = ORDERED[test[:2]](a, 1.0) if number else test.endswith("u")
    bits = int(np.float32(a).view(np.uint32))
    body = f"setp.{test}.f32 %p1, %f1, 0f3F800000; selp.u32 %r2, 1, 0, %p1; OUT"
    assert run_text(body, bits)[0] == expected


@pytest.mark.parametrize("space", ["shared", "local"])
def test_alignment_is_that_of_the_declaration(space):
    body = f".{space} .align ALIGN .b8 s[64]; mov.u64 %rd2, s; st.{space}.v4.u32 [%rd2], {{%r1, 1, 2, 3}};"
    body += f"ld.{space}.v4.u32 {{%r2, %r3, %r4, %r5}}, [%rd2]; st.global.v4.u32 [%rd1], {{%r5, %r4, %r3, %r2}};"
    assert run_text(body.replace("ALIGN", "16"), 7).tolist() == [3, 2, 1, 7]
    with pytest.raises(Fault, match="misaligned address"):
        run_text(body.replace("ALIGN", "8"), 7)


def test_generic_addresses_mean_their_space():
    body = """.shared .align 8 .b8 s[8]; .local .align 8 .b8 d[8];
    mov.u64 %rd2, s; cvta.shared.u64 %rd4, %rd2; mov.u64 %rd5, d; cvta.local.u64 %rd6, %rd5;
    st.u32 [%rd4+4], 5; st.u32 [%rd6], 6; ld.shared.u32 %r2, [s+4]; ld.local.u32 %r3, [%rd5];
    st.v2.u32 [%rd1], {%r2, %r3};
    isspacep.shared %p1, %rd4; selp.u32 %r4, 1, 0, %p1; isspacep.global %p2, %rd4; selp.u32 %r5, 1, 0, %p2;
    cvta.to.shared.u64 %rd7, %rd4; sub.u64 %rd8, %rd7, %rd2; cvt.u32.u64 %r6, %rd8; add.u32 %r5, %r5, %r6;
    st.global.v2.u32 [%rd1+8], {%r4, %r5};"""
    assert run_text(body, 0).tolist() == [5, 6, 1, 0]


def test_threads_of_one_instruction_may_reach_into_several_allocations():
    memory = Memory()
    places = [memory.allocate(4 * n) for n in (3, 5)]
    module = Module(
        """.version 9.0\n.target sm_90\n.address_size 64
        .visible .entry k(.param .u64 a, .param .u64 b, .param .u32 n) {
        .reg .b64 %rd<6>; .reg .b32 %r<4>; .reg .pred %p1;
        ld.param.u64 %rd1, [a]; ld.param.u64 %rd2, [b]; ld.param.u32 %r3, [n];
        mov.u32 %r1, %tid.x; and.b32 %r2, %r1, 1; setp.eq.u32 %p1, %r2, 0; selp.b64 %rd3, %rd1, %rd2, %p1;
        shr.u32 %r2, %r1, 1; mul.wide.u32 %rd4, %r2, 4; add.s64 %rd5, %rd3, %rd4;
        ld.global.u32 %r2, [%rd5]; add.u32 %r2, %r2, %r1; st.global.u32 [%rd5], %r2; ret; }"""
    )
    for address, n in zip(places, (3, 5), strict=True):
        memory.view(address, n, np.uint32)[:] = 10
    module.launch("k", 1, 6, 0, [*places, 0], memory)
    assert memory.view(places[0], 3, np.uint32).tolist() == [10, 12, 14]
    assert memory.view(places[1], 5, np.uint32).tolist() == [11, 13, 15, 10, 10]
    with pytest.raises(Fault, match=r"thread \(6, 0, 0\)"):  # the fourth of the first
        module.launch("k", 1, 8, 0, [*places, 0], memory)


def test_two_barriers_are_not_one():
    body = "mov.u32 %r2, %tid.x; setp.eq.u32 %p1, %r2, 0; @%p1 bra L; bar.sync 0; bra M; L: bar.sync 0; M: OUT"
    with pytest.raises(Fault, match="wait at two different barriers"):
        run_text(body, 0, threads=2)


def test_what_the_machine_does_not_know_is_refused():
    with pytest.raises(Unsupported, match="atomics make sums depend on luck"):
        run_text("atom.global.add.u32 %r2, [%rd1], 1;", 0)
    with pytest.raises(Unsupported, match=r"line 12: instruction mma\.sync"):
        run_text("mma.sync.aligned.m16n8k16 %r2, %r1, %r1, %r1;", 0)
    with pytest.raises(Unsupported, match="a call of nobody"):
        run_text("call.uni nobody, ();", 0)
    with pytest.raises(Fault, match="division by zero"):
        run_text("div.u32 %r2, 4, %r1;", 0)
    with pytest.raises(Fault, match="trap"):
        run_text("trap;", 0)


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


def test_constant_loads_see_no_stores_of_the_launch():
    """``ld.global.nc`` goes through a cache that stores do not reach, one's own neither."""
    with pytest.raises(Race):
        run_text("mov.u32 %r2, 4; OUT ld.global.nc.u32 %r3, [%rd1];", 0)


def test_a_fused_product_is_rounded_once():
    a, b = np.float32(1) + np.float32(2.0**-12), np.float32(1) - np.float32(2.0**-12)
    assert fma(a, b, np.float32(-1)) == -np.float32(2.0**-24)
    assert fma(np.float64(1 + 2**-30), np.float64(1 - 2**-30), np.float64(-1)) == -(2.0**-60)
    # a sum a hair above the middle of two float32: rounded to float64 first, it would be the middle
    p, c = np.float32(1 + 2**-12), np.float32(2.0**-80)
    assert fma_directed(p, np.float32(1), c, 3) == np.nextafter(p, np.float32(2))
    # 1 + 2**-52 - 2**-76 rounds to an odd float64, which has to stay as it is
    up = fma_directed(np.float32(2.0**-52), np.float32(1 - 2**-24), np.float32(1), 3)
    assert up == np.nextafter(np.float32(1), np.float32(2))


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


def test_directed_rounding_brackets_the_result():
    make = np.random.default_rng(0)
    a, b, c = make.normal(size=(3, 4000)).astype(np.float32)
    down, up = fma_directed(a, b, c, 2), fma_directed(a, b, c, 3)
    exact = a.astype(np.longdouble) * b + c
    assert (down <= exact).all()
    assert (exact <= up).all()
    assert (np.nextafter(down, np.float32(np.inf)) >= up).all()
    np.testing.assert_array_equal(fma_directed(a, b, c, 1), np.where(exact > 0, down, up))
    wide = make.normal(size=1000)
    assert (narrow(wide, 2) <= wide).all()
    assert (narrow(wide, 3) >= wide).all()
    for function, exactly in ((add_directed, operator.add), (mul_directed, operator.mul)):
        low, high = (function(wide, 1 + 1e-9, mode) for mode in (2, 3))
        for x, a, b in zip(wide.tolist(), low.tolist(), high.tolist(), strict=True):
            true = exactly(Fraction(x), Fraction(1 + 1e-9))
            assert a <= true <= b
            assert b == (a if a == true else np.nextafter(a, np.inf))
