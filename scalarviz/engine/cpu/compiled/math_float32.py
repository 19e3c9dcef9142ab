"""exp, log, log1p, tanh, erf, erfc, sin and cos in float32 as straight-line code that LLVM vectorises.

Right everywhere (NaN, infinities, signed zeros, denormals), within 4 ulp (erfc: for an argument within 1 ulp). exp is
its Taylor polynomial; the logarithm is FreeBSD's e_logf.c; polynomials of Cephes are tanh for small arguments
(tanhf.c), sine and cosine (sinf.c), and the error function below 1 (ndtrf.c), which is beyond 1 minus the exponential
of a polynomial fitted to ``log(erfc(x))`` in 1..4. erfc is from 1/2 on ``exp(-x * x)`` times a polynomial of
``t = 2 / (2 + x)`` fitted to ``exp(x * x) * erfc(x)`` up to 10.2, where the result is 0.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .intrinsics import callee, from_bits, select, to_bits, two_power

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

_A0, _A1, _A2, _A3, _A4, _A5, _A6 = (
    _T(7.853861353153693e-5), _T(-8.010193625184903e-4), _T(5.188327685732524e-3), _T(-2.685381193529856e-2),
    _T(1.128358514861418e-1), _T(-3.761262582423300e-1), _T(1.128379165726710),
)  # fmt: skip
_B0, _B1, _B2, _B3, _B4, _B5, _B6 = (
    _T(1.3242540644667e-4), _T(-1.5822171946132e-3), _T(9.489107878542e-3), _T(-4.121076003558e-2),
    _T(-8.4320747234531e-1), _T(-2.6389574710516), _T(-1.8496056624344),
)  # fmt: skip
_ERF_ONE = _T(4)
_F0, _F1, _F2, _F3, _F4, _F5, _F6, _F7, _F8 = (
    _T(-6.2699805704612e-02), _T(3.0176629694924e-01), _T(-5.2079015556068e-01), _T(3.1352738183256e-01),
    _T(-4.8750865428527e-02), _T(2.1103315112936e-01), _T(2.4124771594457e-01), _T(2.8259747217279e-01),
    _T(2.8207546414202e-01),
)  # fmt: skip
_ERFC_NONE = _T(10.2)

NEAR = _T(12000)
"""Sine and cosine have a fast form up to here: the quarter turns times the upper parts of pi / 2 are exact."""
_TWO_PI = _T(2 / math.pi)  # quarter turns
_H1, _H2, _H3, _H4 = (
    _T(float.fromhex(h)) for h in ("0x1.92p+0", "0x1.fb4p-12", "0x1.444p-24", "0x1.68c234p-39")
)  # pi / 2  # fmt: skip
_S0, _S1, _S2 = _T(-1.9515295891e-4), _T(8.3321608736e-3), _T(-1.6666654611e-1)
_C0, _C1, _C2 = _T(2.443315711809948e-5), _T(-1.388731625493765e-3), _T(4.166664568298827e-2)
_NONE, _BIT, _NEXT = np.int32(0), np.int32(1), np.int32(2)
_DROPPED, _BELOW, _KEPT = np.int32(13), np.int32(2**12 - 1), np.int32(-(2**13))  # bits of float16
_NORMAL, _TOO_LARGE = _T(2.0**-14), _T(65520)
_SPACED = _T(0.5)  # its neighbours are 2**-24 apart, as the smallest numbers of float16 are


@callee(forceinline=True)
def _factors(x: Any) -> Any:
    """``p`` and a whole number ``n`` with e**x = p * 2**n."""
    n = (x * _LOG2E + _ROUND) - _ROUND
    r = (x - n * _LN2_HIGH) - n * _LN2_LOW
    p = (((((_E7 * r + _E6) * r + _E5) * r + _E4) * r + _E3) * r + _E2) * r * r + r + _ONE
    return p, n


@callee(forceinline=True)
def exp(x: Any) -> Any:
    """e**x."""
    p, n = _factors(select(x < _EXP_LOW, _EXP_LOW, select(x > _EXP_HIGH, _EXP_HIGH, x)))
    half = (n * _HALF + _ROUND) - _ROUND  # two factors: 2**n alone would overflow or vanish too early
    return p * two_power(half + _ROUND) * two_power((n - half) + _ROUND)


@callee(forceinline=True)
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


@callee(forceinline=True)
def log1p(x: Any) -> Any:
    """``log(1 + x)``: the rounding of ``1 + x`` is undone by a quotient (W. Kahan)."""
    u = _ONE + x
    return select(u == _ONE, x, select(x == _INF, x, log(u) * (x / (u - _ONE))))


@callee(forceinline=True)
def tanh(x: Any) -> Any:
    """The hyperbolic tangent."""
    a = abs(x)
    z = a * a
    small = ((((_T0 * z + _T1) * z + _T2) * z + _T3) * z + _T4) * z * a + a
    p, n = _factors(_TWO * select(a > _TANH_ONE, _TANH_ONE, a))
    large = _ONE - _TWO / (p * two_power(n + _ROUND) + _ONE)
    return math.copysign(select(a < _TANH_SMALL, small, large), x)


@callee(forceinline=True)
def _erf_small(a: Any) -> Any:
    """The error function below 1."""
    z = a * a
    return a * ((((((_A0 * z + _A1) * z + _A2) * z + _A3) * z + _A4) * z + _A5) * z + _A6)


@callee(forceinline=True)
def erf(x: Any) -> Any:
    """The error function."""
    a = abs(x)
    a = select(a > _ERF_ONE, _ERF_ONE, a)
    b = a - _ONE
    large = _ONE - exp((((((_B0 * b + _B1) * b + _B2) * b + _B3) * b + _B4) * b + _B5) * b + _B6)
    return math.copysign(select(a < _ONE, _erf_small(a), large), x)


@callee(forceinline=True)
def erfc(x: Any) -> Any:
    """``1 - erf(x)`` without its cancellation."""
    a = abs(x)
    a = select(a > _ERFC_NONE, _ERFC_NONE, a)
    t = _TWO / (_TWO + a)
    series = (((((((_F0 * t + _F1) * t + _F2) * t + _F3) * t + _F4) * t + _F5) * t + _F6) * t + _F7) * t + _F8
    tail = exp(-(a * a)) * (series * t)
    large = select(x < _ZERO, _TWO - tail, tail)
    return select(a < _HALF, _ONE - math.copysign(_erf_small(a), x), large)


@callee(forceinline=True)
def _turned(x: Any) -> Any:
    """Sine and cosine of what is left of x after whole quarter turns, and the number of those in the low bits."""
    shifted = x * _TWO_PI + _ROUND
    k = shifted - _ROUND
    r = ((x - k * _H1) - k * _H2) - k * _H3 - k * _H4
    z = r * r
    sine = select(z == _ZERO, r, ((_S0 * z + _S1) * z + _S2) * z * r + r)  # -0 stays
    cosine = ((_C0 * z + _C1) * z + _C2) * z * z - _HALF * z + _ONE
    return sine, cosine, to_bits(shifted)


@callee(forceinline=True)
def sin_near(x: Any) -> Any:
    """The sine, for ``|x| <= NEAR``."""
    sine, cosine, turns = _turned(x)
    found = select((turns & _BIT) != _NONE, cosine, sine)
    return select((turns & _NEXT) != _NONE, -found, found)


@callee(forceinline=True)
def cos_near(x: Any) -> Any:
    """The cosine, for ``|x| <= NEAR``."""
    sine, cosine, turns = _turned(x)
    found = select((turns & _BIT) != _NONE, sine, cosine)
    return select(((turns + _BIT) & _NEXT) != _NONE, -found, found)


@callee(forceinline=True)
def float16(x: Any) -> Any:
    """The nearest number that a float16 holds, the even one of two; an infinity from 65,520 on."""
    bits = to_bits(x)
    odd = np.int32(bits >> _DROPPED) & _BIT
    rounded = from_bits(np.int32(np.int32(bits + np.int32(_BELOW + odd)) & _KEPT))
    small = math.copysign((abs(x) + _SPACED) - _SPACED, x)
    large = select(abs(x) < _TOO_LARGE, rounded, math.copysign(_INF, x))
    return select(x != x, x, select(abs(x) < _NORMAL, small, large))


@callee()
def all_near(x: Any, n: int) -> bool:
    """Whether `sin_near` and `cos_near` may take every number of a row (a NaN or an infinity forbids it)."""
    far = 0
    for i in range(n):
        far += not (abs(x[i]) <= NEAR)
    return far == 0
