"""exp, log, log1p, tanh, erf and erfc in float64 as straight-line code that LLVM vectorises.

Right everywhere (NaN, infinities, signed zeros, denormals), within 4 ulp (erfc: for an argument within 1 ulp). exp is
its Taylor polynomial after range reduction; the logarithm is FreeBSD's e_log.c; tanh for small arguments is the
rational of Cephes' tanh.c, the error function and what it lacks of 1 those of its ndtr.c (see ``scalar/erf``).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ....scalar.erf import FAR, NONE, ONE
from ....scalar.erf import P as ERF_P
from ....scalar.erf import Q as ERF_Q
from ....scalar.erf import R as ERF_R
from ....scalar.erf import S as ERF_S
from ....scalar.erf import T as ERF_T
from ....scalar.erf import U as ERF_U
from .intrinsics import callee, from_bits, select, to_bits, two_power

_T = np.float64
_ZERO, _HALF, _ONE, _TWO = _T(0), _T(0.5), _T(1), _T(2)
_INF, _NAN = _T(np.inf), _T(np.nan)

_ROUND = _T(1.5 * 2.0**52)  # adding it rounds to an integer that stands in the low bits
_LOG2E = _T(1.4426950408889634)
_LN2_HIGH, _LN2_LOW = _T(0.693145751953125), _T(1.42860682030941723212e-6)  # n * high is exact
_EXP_LOW, _EXP_HIGH = _T(-746.0), _T(710.0)  # beyond them the result is 0 or inf anyway
_E2, _E3, _E4, _E5, _E6, _E7, _E8, _E9, _E10, _E11, _E12, _E13 = (_T(1 / math.factorial(n)) for n in range(2, 14))

_SQRT_HALF = np.int64(0x3FE6A09E667F3BCD)
_SHIFT = np.int64(52)
_TINY, _GROW, _GROWN = _T(2.0**-1022), _T(2.0**54), _T(54)
_L1, _L2 = _T(6.666666666666735130e-01), _T(3.999999999940941908e-01)
_L3, _L4 = _T(2.857142874366239149e-01), _T(2.222219843214978396e-01)
_L5, _L6, _L7 = _T(1.818357216161805012e-01), _T(1.531383769920937332e-01), _T(1.479819860511658591e-01)
_LOG_HIGH, _LOG_LOW = _T(6.93147180369123816490e-01), _T(1.90821492927058770002e-10)

_P0, _P1, _P2 = _T(-9.64399179425052238628e-1), _T(-9.92877231001918586564e1), _T(-1.61468768441708447952e3)
_Q0, _Q1, _Q2 = _T(1.12811678491632931402e2), _T(2.23548839060100448583e3), _T(4.84406305325125486048e3)
_TANH_SMALL, _TANH_ONE = _T(0.625), _T(19.1)  # from there on the result is 1

_A0, _A1, _A2, _A3, _A4 = (_T(c) for c in ERF_T)
_B1, _B2, _B3, _B4, _B5 = (_T(c) for c in ERF_U[1:])
_F0, _F1, _F2, _F3, _F4, _F5, _F6, _F7, _F8 = (_T(c) for c in ERF_P)
_D1, _D2, _D3, _D4, _D5, _D6, _D7, _D8 = (_T(c) for c in ERF_Q[1:])
_G0, _G1, _G2, _G3, _G4, _G5 = (_T(c) for c in ERF_R)
_I1, _I2, _I3, _I4, _I5, _I6 = (_T(c) for c in ERF_S[1:])
_ERF_ONE, _ERFC_FAR, _ERFC_NONE = _T(ONE), _T(FAR), _T(NONE)

NEAR = _T(1e6)
"""Sine and cosine have a fast form up to here: the quarter turns times the upper parts of pi / 2 are exact."""
_TWO_PI = _T(2 / math.pi)  # quarter turns
_H1, _H2, _H3 = (
    _T(float.fromhex(h)) for h in ("0x1.921fb544p+0", "0x1.0b4611a6p-34", "0x1.3198a2e037073p-69")
)  # pi / 2  # fmt: skip
_S1, _S2, _S3 = _T(-1.66666666666666324348e-01), _T(8.33333333332248946124e-03), _T(-1.98412698298579493134e-04)
_S4, _S5, _S6 = _T(2.75573137070700676789e-06), _T(-2.50507602534068634195e-08), _T(1.58969099521155010221e-10)
_C1, _C2, _C3 = _T(4.16666666666666019037e-02), _T(-1.38888888888741095749e-03), _T(2.48015872894767294178e-05)
_C4, _C5, _C6 = _T(-2.75573143513906633035e-07), _T(2.08757232129817482790e-09), _T(-1.13596475577881948265e-11)
_NONE, _BIT, _NEXT = np.int64(0), np.int64(1), np.int64(2)
_DROPPED, _BELOW, _KEPT = np.int64(42), np.int64(2**41 - 1), np.int64(-(2**42))  # bits of float16
_NORMAL, _TOO_LARGE = _T(2.0**-14), _T(65520)
_SPACED = _T(2.0**28)  # its neighbours are 2**-24 apart, as the smallest numbers of float16 are


@callee(forceinline=True)
def _factors(x: Any) -> Any:
    """``p`` and a whole number ``n`` with e**x = p * 2**n."""
    n = (x * _LOG2E + _ROUND) - _ROUND
    r = (x - n * _LN2_HIGH) - n * _LN2_LOW
    p = (((((_E13 * r + _E12) * r + _E11) * r + _E10) * r + _E9) * r + _E8) * r + _E7
    p = (((((p * r + _E6) * r + _E5) * r + _E4) * r + _E3) * r + _E2) * r * r + r + _ONE
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
    e = np.int64(bits - _SQRT_HALF) >> _SHIFT
    f = from_bits(np.int64(bits - np.int64(e << _SHIFT))) - _ONE  # in sqrt(1/2) - 1 .. sqrt(2) - 1
    k = _T(e) - select(small, _GROWN, _ZERO)
    s = f / (_TWO + f)
    z = s * s
    w = z * z
    series = z * (_L1 + w * (_L3 + w * (_L5 + w * _L7))) + w * (_L2 + w * (_L4 + w * _L6))
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
    small = a + a * (z * ((_P0 * z + _P1) * z + _P2) / (((z + _Q0) * z + _Q1) * z + _Q2))
    p, n = _factors(_TWO * select(a > _TANH_ONE, _TANH_ONE, a))
    large = _ONE - _TWO / (p * two_power(n + _ROUND) + _ONE)
    return math.copysign(select(a < _TANH_SMALL, small, large), x)


@callee(forceinline=True)
def _erf_small(a: Any) -> Any:
    """The error function below 1."""
    z = a * a
    above = (((_A0 * z + _A1) * z + _A2) * z + _A3) * z + _A4
    return a * above / (((((z + _B1) * z + _B2) * z + _B3) * z + _B4) * z + _B5)


@callee(forceinline=True)
def _rational(a: Any) -> Any:
    """Numerator and denominator of ``exp(a * a) * erfc(a)`` from 1 to 8."""
    above = (((((((_F0 * a + _F1) * a + _F2) * a + _F3) * a + _F4) * a + _F5) * a + _F6) * a + _F7) * a + _F8
    below = (((((((a + _D1) * a + _D2) * a + _D3) * a + _D4) * a + _D5) * a + _D6) * a + _D7) * a + _D8
    return above, below


@callee(forceinline=True)
def erf(x: Any) -> Any:
    """The error function."""
    a = abs(x)
    a = select(a > _ERF_ONE, _ERF_ONE, a)
    above, below = _rational(a)
    large = _ONE - exp(-(a * a)) * above / below
    return math.copysign(select(a < _ONE, _erf_small(a), large), x)


@callee(forceinline=True)
def erfc(x: Any) -> Any:
    """``1 - erf(x)`` without its cancellation."""
    a = abs(x)
    a = select(a > _ERFC_NONE, _ERFC_NONE, a)
    above, below = _rational(a)
    beyond = ((((_G0 * a + _G1) * a + _G2) * a + _G3) * a + _G4) * a + _G5
    under = (((((a + _I1) * a + _I2) * a + _I3) * a + _I4) * a + _I5) * a + _I6
    far = a > _ERFC_FAR
    tail = exp(-(a * a)) * (select(far, beyond, above) / select(far, under, below))
    large = select(x < _ZERO, _TWO - tail, tail)
    return select(a < _ONE, _ONE - math.copysign(_erf_small(a), x), large)


@callee(forceinline=True)
def _turned(x: Any) -> Any:
    """Sine and cosine of what is left of x after whole quarter turns, and the number of those in the low bits."""
    shifted = x * _TWO_PI + _ROUND
    k = shifted - _ROUND
    r = ((x - k * _H1) - k * _H2) - k * _H3
    z = r * r
    sine = select(
        z == _ZERO, r, (((((_S6 * z + _S5) * z + _S4) * z + _S3) * z + _S2) * z + _S1) * z * r + r
    )  # -0 stays
    cosine = (((((_C6 * z + _C5) * z + _C4) * z + _C3) * z + _C2) * z + _C1) * z * z - _HALF * z + _ONE
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
    odd = np.int64(bits >> _DROPPED) & _BIT
    rounded = from_bits(np.int64(np.int64(bits + np.int64(_BELOW + odd)) & _KEPT))
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
