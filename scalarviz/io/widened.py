"""Types of safetensors files that NumPy has not: their numbers, exactly, as float32."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

DTYPES = {
    "F64": "<f8", "F32": "<f4", "F16": "<f2", "BF16": "<u2", "F8_E5M2": "u1", "F8_E4M3": "u1",
    "I64": "<i8", "I32": "<i4", "I16": "<i2", "I8": "i1", "U64": "<u8", "U32": "<u4", "U16": "<u2", "U8": "u1",
    "BOOL": "?",
}  # fmt: skip
"""The types that are read, and what NumPy reads them as."""
NARROW = ("BF16", "F8_E5M2", "F8_E4M3")
"""Those that are widened."""


def widened(stored: Array, kind: str) -> Array:
    """The numbers of types that NumPy has not, exactly, as float32."""
    if kind == "BF16":  # the upper half of a float32
        return (stored.astype(np.uint32) << 16).view(np.float32)
    if kind == "F8_E5M2":  # the upper half of a float16
        return (stored.astype(np.uint16) << 8).view(np.float16).astype(np.float32)
    if kind == "F8_E4M3":
        return _e4m3()[stored]
    return stored


def _e4m3() -> NDArray[np.float32]:
    """The 256 numbers of four bits of exponent and three of mantissa, which has no infinity and two NaN."""
    code = np.arange(256)
    exponent, mantissa = (code >> 3) & 15, code & 7
    size = np.where(exponent, (1 + mantissa / 8) * 2.0 ** (exponent - 7), mantissa * 2.0**-9)
    size[code & 127 == 127] = np.nan
    return np.where(code < 128, size, -size).astype(np.float32)
