"""A program as a table of numbers that a kernel walks along: a line a call of a kernel of the plain form."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ..encode import Call

WIDTH = 12
"""Numbers of a line: which kind, then what the kernel is given."""


def kinds_of(*ways: Sequence[Call]) -> tuple[str, ...]:
    """Names of the kernels that occur; a line names one by its place here."""
    return tuple(sorted({call.kernel for calls in ways for call in calls}))


def lines(calls: Sequence[Call], kinds: tuple[str, ...]) -> NDArray[np.int32]:
    """The calls, shape (calls, WIDTH)."""
    found = np.zeros((len(calls), WIDTH), np.int32)
    for line, call in zip(found, calls, strict=True):
        given = [number for number in call.arguments if not isinstance(number, str)]
        line[0] = kinds.index(call.kernel)
        line[1 : 1 + len(given)] = given
    return found
