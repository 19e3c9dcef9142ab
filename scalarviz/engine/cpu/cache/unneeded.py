"""What numba would load although none of our kernels needs it: SciPy, for the sums of products of other people's code.

numba asks for SciPy's BLAS when its array functions are imported, to know whether ``np.vdot`` may call it: a tenth of
all that the start of a small scene costs. Here that question is answered by whether SciPy is installed, so code that
does call it finds it: numba asks again whenever it compiles such a call.
"""

from __future__ import annotations

import importlib
import sys
from importlib.util import find_spec
from typing import Any

ARRAYS, BLAS, SLOW = "numba.np.arraymath", "numba.np.linalg", "scipy.linalg.cython_blas"


def arrays_without_scipy() -> None:
    """Import numba's array functions, and SciPy only where this numba is built otherwise than those that we know."""
    if ARRAYS in sys.modules or SLOW in sys.modules or not _scipy():
        return
    blas: Any = importlib.import_module(BLAS)
    asked = getattr(blas, "ensure_blas", None)
    if asked is None:
        return
    blas.ensure_blas = lambda: None  # what it would find out, `_scipy` has
    try:
        arrays: Any = importlib.import_module(ARRAYS)
    finally:
        blas.ensure_blas = asked
    if hasattr(arrays, "ensure_blas"):
        arrays.ensure_blas = asked


def _scipy() -> bool:
    """Whether it is installed; where it is not, numba finds that out quickly."""
    try:
        return find_spec("scipy") is not None
    except (ImportError, ValueError):  # somebody blocks it
        return False
