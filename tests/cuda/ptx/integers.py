"""Integer instructions that NumPy has no operator for, on vectors of one unsigned type."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import vectorize


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
