"""Floating point as PTX defines it, on vectors: fused multiply-add, directed rounding, minimum, conversion.

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
