"""Something short that tells arrays of numbers from all others."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Any

from numpy.typing import NDArray


def fingerprint(arrays: Iterable[NDArray[Any]]) -> bytes:
    """Something short that two rows of arrays share only if every bit is the same."""
    made = hashlib.blake2b(digest_size=16)
    for array in arrays:
        made.update(repr(array.shape).encode())
        made.update(array.tobytes())
    return made.digest()
