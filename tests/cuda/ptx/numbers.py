"""Arithmetic that NumPy has no operator for: products fused with sums, directed rounding, carries, fields of bits.

The processor's own instruction does the fused product (``llvm.fma``), so it is exact in both widths. A sum that is
to be rounded in another direction than to nearest is first rounded *to odd* in float64, which keeps the information
that a second rounding to float32 needs.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import njit, vectorize
from numba.extending import intrinsic

NEAREST, ZERO, DOWN, UP = range(4)
MODES = {"rn": NEAREST, "rz": ZERO, "rm": DOWN, "rp": UP}


@intrinsic
def _fused(typing: Any, a: Any, b: Any, c: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.fma(*args)

    return a(a, b, c), generate


@vectorize(["float32(float32,float32,float32)", "float64(float64,float64,float64)"], cache=True)
def fma(a, b, c):
    return _fused(a, b, c)


@njit(cache=True)
def _odd_sum(p: float, c: float) -> float:
    """``p + c`` rounded to odd: inexact results have a last bit of 1."""
    s = p + c
    part = s - p
    error = (p - (s - part)) + (c - part)
    if error == 0.0 or not math.isfinite(s) or not math.isfinite(error):
        return s
    bits = np.float64(s).view(np.int64)
    if bits & 1:
        return s
    return np.int64(bits + (1 if (error > 0.0) == (s > 0.0) else -1)).view(np.float64)


@njit(cache=True)
def _to_single(s: float, mode: int) -> np.float32:
    r = np.float32(s)
    wide = np.float64(r)
    if mode == ZERO and abs(wide) > abs(s):
        return np.nextafter(r, np.float32(0))
    if mode == DOWN and wide > s:
        return np.nextafter(r, np.float32(-np.inf))
    if mode == UP and wide < s:
        return np.nextafter(r, np.float32(np.inf))
    return r


@vectorize(["float32(float32,float32,float32,int64)"], cache=True)
def fma_directed(a, b, c, mode):
    """Float32 ``a * b + c`` in another rounding mode (the product of two float32 is exact in float64)."""
    return _to_single(_odd_sum(np.float64(a) * np.float64(b), np.float64(c)), mode)


@vectorize(["float32(float64,int64)"], cache=True)
def narrow(a, mode):
    """float64 -> float32."""
    return _to_single(a, mode)


@vectorize(["float64(float64,float64,int64)"], cache=True)
def add_directed(a, b, mode):
    """Float64 ``a + b`` in another rounding mode."""
    s = a + b
    part = s - a
    error = (a - (s - part)) + (b - part)
    if not math.isfinite(error):
        return s
    if (mode == ZERO and ((s > 0 and error < 0) or (s < 0 and error > 0))) or (mode == DOWN and error < 0):
        return np.nextafter(s, 0.0 if mode == ZERO else -np.inf)
    if mode == UP and error > 0:
        return np.nextafter(s, np.inf)
    return s


@vectorize(["float64(float64,float64,int64)"], cache=True)
def mul_directed(a, b, mode):
    """Float64 ``a * b`` in another rounding mode (exact but for results below 2**-969)."""
    s = a * b
    error = _fused(a, b, -s)
    if not math.isfinite(error):
        return s
    if (mode == ZERO and ((s > 0 and error < 0) or (s < 0 and error > 0))) or (mode == DOWN and error < 0):
        return np.nextafter(s, 0.0 if mode == ZERO else -np.inf)
    if mode == UP and error > 0:
        return np.nextafter(s, np.inf)
    return s


def flush(a: np.ndarray) -> np.ndarray:
    """``.ftz``: a subnormal number becomes zero and keeps its sign."""
    return np.where(np.abs(a) < np.finfo(a.dtype).tiny, np.copysign(a.dtype.type(0), a), a)


def minimum(a: np.ndarray, b: np.ndarray, propagate: bool = False) -> np.ndarray:
    """The number where the other is NaN; -0 below +0."""
    r = np.where(a == b, np.where(np.signbit(a), a, b), np.fmin(a, b))
    return np.where(np.isnan(a) | np.isnan(b), a.dtype.type(np.nan), r) if propagate else r


def maximum(a: np.ndarray, b: np.ndarray, propagate: bool = False) -> np.ndarray:
    return -minimum(-a, -b, propagate)


def saturate(a: np.ndarray) -> np.ndarray:
    """``.sat``: into [0, 1]; NaN becomes +0."""
    kind = a.dtype.type
    return np.where(np.isnan(a), kind(0), np.minimum(np.maximum(a, kind(0)), kind(1)) + kind(0))


ROUND = {"rni": np.rint, "rzi": np.trunc, "rmi": np.floor, "rpi": np.ceil}


def to_integer(a: np.ndarray, mode: str, kind: np.dtype[Any]) -> np.ndarray:
    """A conversion that stops at the bounds. NaN: 0, but from float64 or to 64 bits the upper bit alone."""
    limits = np.iinfo(kind)
    r = ROUND[mode](a)
    end = np.float64(2.0) ** (limits.bits - (limits.min < 0))  # the first number above; exact in every type
    low, high, nan = r < np.float64(limits.min), r >= end, np.isnan(r)
    out = np.where(low | high | nan, a.dtype.type(0), r).astype(kind)
    out = np.where(high, kind.type(limits.max), np.where(low, kind.type(limits.min), out))
    odd = 0 if a.dtype != np.float64 and limits.bits != 64 else 1 << (limits.bits - 1)
    return np.where(nan, np.array([odd], f"u{limits.bits // 8}").view(kind), out)


def gross_reciprocal(a: np.ndarray) -> np.ndarray:
    """``rcp.approx.ftz.f64``: from the upper half of the number, to an upper half."""
    upper = np.uint64(0xFFFFFFFF00000000)
    r = flush(np.float64(1) / flush((a.view(np.uint64) & upper).view(np.float64)))
    return (r.view(np.uint64) & upper).view(np.float64)


def rough(a: np.ndarray, bits: int) -> np.ndarray:
    """As many leading bits of a float32 as an approximate instruction promises; the others are cut."""
    mask = np.uint32(0xFFFFFFFF << (23 - bits) & 0xFFFFFFFF)
    return np.where(np.isfinite(a), (a.view(np.uint32) & mask).view(np.float32), a)


def through_double(function: Any, a: np.ndarray) -> np.ndarray:
    """An approximate float32 function: that of float64, rounded (the device may be off in its last bits)."""
    return function(a.astype(np.float64)).astype(np.float32)


def rsqrt(a: np.ndarray) -> np.ndarray:
    return (np.float64(1) / np.sqrt(a.astype(np.float64))).astype(a.dtype)


@vectorize(["uint64(uint64,uint64)"], cache=True)
def _umulhi64(a, b):
    mask, half = np.uint64(0xFFFFFFFF), np.uint64(32)
    al, ah, bl, bh = a & mask, a >> half, b & mask, b >> half
    low, one, two = al * bl, ah * bl, al * bh
    middle = (low >> half) + (one & mask) + (two & mask)
    return ah * bh + (one >> half) + (two >> half) + (middle >> half)


def mulhi(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The upper half of the product, for signed or unsigned `a` and `b`."""
    bits = 8 * a.dtype.itemsize
    if bits < 64:
        wide = np.dtype(f"{a.dtype.kind}{a.dtype.itemsize * 2}")
        return ((a.astype(wide) * b.astype(wide)) >> wide.type(bits)).astype(a.dtype)
    r = _umulhi64(a.view(np.uint64), b.view(np.uint64))
    if a.dtype.kind == "i":  # the unsigned product, corrected for the sign bits
        zero = np.int64(0)
        r = r.view(np.int64) - np.where(a < 0, b, zero) - np.where(b < 0, a, zero)
    return r.astype(a.dtype, copy=False)


def divide(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Towards zero."""
    if a.dtype.kind == "u":
        return a // b
    lowest = (a == np.iinfo(a.dtype).min) & (b == -1)  # overflows to itself
    safe = np.where(lowest, a.dtype.type(1), b)
    q = a // safe
    return q + ((a % safe != 0) & ((a < 0) != (safe < 0))).astype(a.dtype)


def remainder(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return a - divide(a, b) * b


def clamp(a: np.ndarray, kind: np.dtype[Any]) -> np.ndarray:
    """An integer stopped at the bounds of a narrower type."""
    have, want = np.iinfo(a.dtype), np.iinfo(kind)
    return np.clip(a, max(have.min, want.min), min(have.max, want.max)).astype(kind)


def shift_left(a: np.ndarray, by: np.ndarray) -> np.ndarray:
    bits = 8 * a.dtype.itemsize
    return np.where(by < bits, a << np.minimum(by, bits - 1).astype(a.dtype), a.dtype.type(0))


def shift_right(a: np.ndarray, by: np.ndarray) -> np.ndarray:
    bits = 8 * a.dtype.itemsize
    if a.dtype.kind == "i":
        return a >> np.minimum(by, bits - 1).astype(a.dtype)
    return np.where(by < bits, a >> np.minimum(by, bits - 1).astype(a.dtype), a.dtype.type(0))


def popc(a: np.ndarray) -> np.ndarray:
    return np.bitwise_count(a).astype(np.uint32)


def clz(a: np.ndarray) -> np.ndarray:
    """Leading zeros: smear the highest one downwards, then count."""
    bits = 8 * a.dtype.itemsize
    for k in (1, 2, 4, 8, 16, 32)[: bits.bit_length() - 1]:
        a = a | (a >> a.dtype.type(k))
    return np.uint32(bits) - popc(a)


def brev(a: np.ndarray) -> np.ndarray:
    out, one = np.zeros_like(a), a.dtype.type(1)
    for _ in range(8 * a.dtype.itemsize):
        out, a = (out << one) | (a & one), a >> one
    return out


def bfe(a: np.ndarray, position: np.ndarray, length: np.ndarray) -> np.ndarray:
    """Bits `position` .. `position + length - 1` of a 32- or 64-bit word; signed ones keep their sign."""
    bits = 8 * a.dtype.itemsize
    at, n = position & np.uint32(255), length & np.uint32(255)
    unsigned = a.view(f"u{a.dtype.itemsize}")
    word = shift_right(unsigned, at) & mask(n, unsigned.dtype)
    if a.dtype.kind == "u":
        return word
    top = np.minimum(at + n - np.uint32(1), np.uint32(bits - 1))
    sign = np.where(n == 0, 0, shift_right(unsigned, top) & unsigned.dtype.type(1)).astype(bool)
    return np.where(sign, word | ~mask(np.minimum(n, bits), unsigned.dtype), word).view(a.dtype)


def mask(n: np.ndarray, kind: np.dtype[Any]) -> np.ndarray:
    """The lowest `n` bits."""
    one = np.ones(1, kind)
    return shift_left(one, n) - one


def bfi(field: np.ndarray, base: np.ndarray, position: np.ndarray, length: np.ndarray) -> np.ndarray:
    at, n = position & np.uint32(255), length & np.uint32(255)
    where = shift_left(mask(n, base.dtype), at)
    return (base & ~where) | (shift_left(field, at) & where)


def funnel(low: np.ndarray, high: np.ndarray, by: np.ndarray, direction: str, mode: str) -> np.ndarray:
    """``shf``: the double word ``high:low`` shifted by 0 .. 31 (wrap) or 0 .. 32 (clamp)."""
    n = (by & np.uint32(31) if mode == "wrap" else np.minimum(by, np.uint32(32))).astype(np.uint64)
    word = (high.astype(np.uint64) << np.uint64(32)) | low
    if direction == "l":
        return ((word << n) >> np.uint64(32)).astype(np.uint32)
    return (word >> n).astype(np.uint32)


def permute(a: np.ndarray, b: np.ndarray, selector: np.ndarray) -> np.ndarray:
    """``prmt.b32``: four bytes chosen of eight; with bit 3 of a choice the sign of that byte alone."""
    word = (b.astype(np.uint64) << np.uint64(32)) | a
    out = np.zeros(1, np.uint32)
    for k in range(4):
        choice = (selector >> np.uint32(4 * k)) & np.uint32(15)
        byte = ((word >> ((choice & np.uint32(7)).astype(np.uint64) * np.uint64(8))) & np.uint64(255)).astype(np.uint32)
        sign = np.where(byte & np.uint32(128), np.uint32(255), np.uint32(0))
        out = out | (np.where(choice & np.uint32(8), sign, byte) << np.uint32(8 * k))
    return out


def lop3(a: np.ndarray, b: np.ndarray, c: np.ndarray, table: int) -> np.ndarray:
    """Any logic of three words; bit ``4a + 2b + c`` of the table is the result."""
    out = np.zeros(1, a.dtype)
    for k in range(8):
        if table >> k & 1:
            out = out | ((a if k & 4 else ~a) & (b if k & 2 else ~b) & (c if k & 1 else ~c))
    return out


def add_carry(a: np.ndarray, b: np.ndarray, carry: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    s = a + b
    r = s + carry.astype(a.dtype)
    return r, (s < a) | (r < s)


def sub_borrow(a: np.ndarray, b: np.ndarray, borrow: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    d = a - b
    r = d - borrow.astype(a.dtype)
    return r, (a < b) | (r > d)
