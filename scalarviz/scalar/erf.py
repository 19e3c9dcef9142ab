"""The error function of arrays, which NumPy has not, and what it lacks of 1: the rationals of Cephes' ndtr.c."""

from __future__ import annotations

from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

# of x**2 below 1, where erf(x) = x * T/U; of x up to 8, where erfc(x) = exp(-x**2) * P/Q; beyond, where it is R/S
T = (9.60497373987051638749e0, 9.00260197203842689217e1, 2.23200534594684319226e3, 7.00332514112805075473e3,
     5.55923013010394962768e4)  # fmt: skip
U = (1.0, 3.35617141647503099647e1, 5.21357949780152679795e2, 4.59432382970980127987e3, 2.26290000613890934246e4,
     4.92673942608635921086e4)  # fmt: skip
P = (2.46196981473530512524e-10, 5.64189564831068821977e-1, 7.46321056442269912687e0, 4.86371970985681366614e1,
     1.96520832956077098242e2, 5.26445194995477358631e2, 9.34528527171957607540e2, 1.02755188689515710272e3,
     5.57535335369399327526e2)  # fmt: skip
Q = (1.0, 1.32281951154744992508e1, 8.67072140885989742329e1, 3.54937778887819891062e2, 9.75708501743205489753e2,
     1.82390916687909736289e3, 2.24633760818710981792e3, 1.65666309194161350182e3,
     5.57535340817727675546e2)  # fmt: skip
R = (5.64189583547755073984e-1, 1.27536670759978104416e0, 5.01905042251180477414e0, 6.16021097993053585195e0,
     7.40974269950948939160e0, 2.97886665372100240670e0)  # fmt: skip
S = (1.0, 2.26052863220117276590e0, 9.39603524938001434673e0, 1.20489539808096656605e1, 1.70814450747565897222e1,
     9.60896809063285878198e0, 3.36907645100081516050e0)  # fmt: skip
ONE = 6.0
"""From there on the error function is 1."""
FAR, NONE = 8.0, 28.0
"""Where erfc changes its rational, and from where on it is 0."""


def erf(x: Any) -> Any:
    """``2 / sqrt(pi)`` times the integral of ``exp(-t**2)`` from 0 to x, in the dtype of x; computed in float64.

    Within 4 ulp; -0 for -0, NaN for NaN, 1 and -1 for infinities.
    """
    given = np.asarray(x)
    a = np.minimum(np.abs(given.astype(np.float64)), ONE)
    z = a * a
    small = a * _horner(T, z) / _horner(U, z)
    large = 1.0 - np.exp(-z) * _horner(P, a) / _horner(Q, a)
    return np.copysign(np.where(a < 1.0, small, large), given).astype(given.dtype)[()]


def erfc(x: Any) -> Any:
    """``1 - erf(x)`` with all its digits where that is nearly 0, in the dtype of x; computed in float64.

    Within 4 ulp for an argument within 1 ulp (far out its last place is worth ``2 * x**2`` of the result's). NaN
    for NaN, 0 and 2 for infinities.
    """
    given = np.asarray(x)
    a = np.minimum(np.abs(given.astype(np.float64)), NONE)
    z = a * a
    small = a * _horner(T, z) / _horner(U, z)
    tail = np.exp(-z) * np.where(a < FAR, _horner(P, a) / _horner(Q, a), _horner(R, a) / _horner(S, a))
    beyond = np.where(given < 0, 2.0 - tail, tail)
    return np.where(a < 1.0, 1.0 - np.copysign(small, given), beyond).astype(given.dtype)[()]


def _horner(coefficients: tuple[float, ...], x: NDArray[np.float64]) -> Any:
    return reduce(lambda total, c: total * x + c, coefficients[1:], np.full_like(x, coefficients[0]))
