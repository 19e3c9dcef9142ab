"""The error function of arrays, which NumPy has not: the rationals of Cephes' ndtr.c, within 4 ulp of float64."""

from __future__ import annotations

from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

# of x**2 below 1, where erf(x) = x * T/U; of x up to 8, where erfc(x) = exp(-x**2) * P/Q
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
ONE = 6.0
"""From there on the result is 1."""


def erf(x: Any) -> Any:
    """``2 / sqrt(pi)`` times the integral of ``exp(-t**2)`` from 0 to x, in the dtype of x; computed in float64.

    Parameters
    ----------
    x : ndarray or NumPy scalar of float32 or float64

    Returns
    -------
    ndarray or scalar of the same shape and dtype
        -0 for -0, NaN for NaN, 1 and -1 for infinities.
    """
    given = np.asarray(x)
    a = np.minimum(np.abs(given.astype(np.float64)), ONE)
    z = a * a
    small = a * _horner(T, z) / _horner(U, z)
    large = 1.0 - np.exp(-z) * _horner(P, a) / _horner(Q, a)
    return np.copysign(np.where(a < 1.0, small, large), given).astype(given.dtype)[()]


def _horner(coefficients: tuple[float, ...], x: NDArray[np.float64]) -> Any:
    return reduce(lambda total, c: total * x + c, coefficients[1:], np.full_like(x, coefficients[0]))
