"""exp, log, log1p and tanh in float32 as straight-line code that LLVM vectorises.

Right everywhere (NaN, infinities, signed zeros, denormals), within 4 ulp. exp is its Taylor polynomial after range
reduction; the logarithm is FreeBSD's e_logf.c; tanh for small arguments is the polynomial of Cephes' tanhf.c.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import njit

from .intrinsics import from_bits, select, to_bits, two_power

_T = np.float32
_ZERO, _HALF, _ONE, _TWO = _T(0), _T(0.5), _T(1), _T(2)
_INF, _NAN = _T(np.inf), _T(np.nan)

_ROUND = _T(1.5 * 2.0**23)  # adding it rounds to an integer that stands in the low bits
_LOG2E = _T(1.4426950408889634)
_LN2_HIGH, _LN2_LOW = _T(0.693359375), _T(-2.12194440e-4)  # the high part has 9 bits: n * high is exact
_EXP_LOW, _EXP_HIGH = _T(-104.0), _T(89.0)  # beyond them the result is 0 or inf anyway
_E2, _E3, _E4, _E5, _E6, _E7 = (_T(1 / math.factorial(n)) for n in range(2, 8))

_SQRT_HALF = np.int32(0x3F3504F3)
_SHIFT = np.int32(23)
_TINY, _GROW, _GROWN = _T(2.0**-126), _T(2.0**25), _T(25)
_L1, _L2, _L3, _L4 = _T(0.66666662693), _T(0.40000972152), _T(0.28498786688), _T(0.24279078841)
_LOG_HIGH, _LOG_LOW = _T(6.9313812256e-01), _T(9.0580006145e-06)

_T0, _T1, _T2, _T3, _T4 = (
    _T(-5.70498872745e-3), _T(2.06390887954e-2), _T(-5.37397155531e-2), _T(1.33314422036e-1), _T(-3.33332819422e-1)
)  # fmt: skip
_TANH_SMALL, _TANH_ONE = _T(0.625), _T(9.1)  # from there on the result is 1


@njit(forceinline=True, error_model="numpy")
def _factors(x: Any) -> Any:
    """``p`` and a whole number ``n`` with e**x = p * 2**n."""
    n = (x * _LOG2E + _ROUND) - _ROUND
    r = (x - n * _LN2_HIGH) - n * _LN2_LOW
    p = (((((_E7 * r + _E6) * r + _E5) * r + _E4) * r + _E3) * r + _E2) * r * r + r + _ONE
    return p, n


@njit(forceinline=True, error_model="numpy")
def exp(x: Any) -> Any:
    """e**x."""
    p, n = _factors(select(x < _EXP_LOW, _EXP_LOW, select(x > _EXP_HIGH, _EXP_HIGH, x)))
    half = (n * _HALF + _ROUND) - _ROUND  # two factors: 2**n alone would overflow or vanish too early
    return p * two_power(half + _ROUND) * two_power((n - half) + _ROUND)


@njit(forceinline=True, error_model="numpy")
def log(x: Any) -> Any:
    """The natural logarithm."""
    small = x < _TINY
    bits = to_bits(select(small, x * _GROW, x))
    e = np.int32(bits - _SQRT_HALF) >> _SHIFT
    f = from_bits(np.int32(bits - np.int32(e << _SHIFT))) - _ONE  # in sqrt(1/2) - 1 .. sqrt(2) - 1
    k = _T(e) - select(small, _GROWN, _ZERO)
    s = f / (_TWO + f)
    z = s * s
    w = z * z
    series = z * (_L1 + w * _L3) + w * (_L2 + w * _L4)
    half = _HALF * f * f
    result = k * _LOG_HIGH - ((half - (s * (half + series) + k * _LOG_LOW)) - f)
    result = select(x == _INF, _INF, select(x == _ZERO, -_INF, result))
    return select(x < _ZERO, _NAN, select(x != x, x, result))


@njit(forceinline=True, error_model="numpy")
def log1p(x: Any) -> Any:
    """``log(1 + x)``: the rounding of ``1 + x`` is undone by a quotient (W. Kahan)."""
    u = _ONE + x
    return select(u == _ONE, x, select(x == _INF, x, log(u) * (x / (u - _ONE))))


@njit(forceinline=True, error_model="numpy")
def tanh(x: Any) -> Any:
    """The hyperbolic tangent."""
    a = abs(x)
    z = a * a
    small = ((((_T0 * z + _T1) * z + _T2) * z + _T3) * z + _T4) * z * a + a
    p, n = _factors(_TWO * select(a > _TANH_ONE, _TANH_ONE, a))
    large = _ONE - _TWO / (p * two_power(n + _ROUND) + _ONE)
    return math.copysign(select(a < _TANH_SMALL, small, large), x)
