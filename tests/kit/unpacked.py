"""The way back of `scalarviz.view.page.pack`, in Python: what a browser makes of a page's numbers (`js/unpack.js`)."""

from __future__ import annotations

import base64
import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scalarviz.errors import InputError
from scalarviz.view.page.pack import (
    _DENSE,
    _INF,
    _MARK,
    _MINUS_INF,
    _NAN,
    _ZERO,
    LARGEST,
    LED,
    Float32,
    _expected,
    _finite_keys,
)


def unpacked(said: dict[str, Any], led: Float32 | None = None) -> Float32:
    """The table (N, T) of what `packed` has made; of 16 bits the rounded one, as `js/unpack.js` has it."""
    frames, columns, order = said["frames"], said["columns"], said["order"]
    whole, width = frames * columns, said["bits"] // 8
    raw = np.frombuffer(zlib.decompress(bytes_of(said["data"]), -15), np.uint8)
    if len(raw) != whole * width:
        raise InputError(f"a packed table: {len(raw):,} bytes; {frames} x {columns} numbers take {whole * width:,}")
    moved = np.ascontiguousarray(raw.reshape(width, whole).T).view(f"<u{width}").reshape(columns, frames).T
    if order == LED:
        wide, keys = moved.astype(np.int64), _ZERO if led is None else _finite_keys(led)
        return _numbers((keys + ((wide >> 1) ^ -(wide & 1))) & 0xFFFFFFFF)
    if said["bits"] == 32:
        return _followed(moved.astype(np.int64), order)
    step = np.frombuffer(base64.b64decode(said["step"]), "<f4").astype(np.float64)
    return _widened(_followed16(moved.astype(np.int64), order), step)


def errors_of(said: dict[str, Any]) -> NDArray[np.float64]:
    """By how much a number of each column may be off, (T,); 0 where every bit is kept."""
    if said["bits"] == 32:
        return np.zeros(said["columns"])
    return np.frombuffer(base64.b64decode(said["step"]), "<f4").astype(np.float64) / 2


def bytes_of(text: str) -> bytes:
    """The bytes of a `text_of` or a `dense_text`."""
    if not text.startswith(_MARK):
        return base64.b64decode(text)
    back = {there: here for here, there in _DENSE.items()}
    return base64.b85decode(text[1:].translate(back))


def _followed(folded: NDArray[np.int64], order: int) -> Float32:
    table, moved = np.zeros(folded.shape, np.float32), (folded >> 1) ^ -(folded & 1)
    for k in range(len(table)):
        wanted = _expected([table[k - j] for j in range(1, min(order, k) + 1)], order)
        table[k] = _numbers((wanted + moved[k]) & 0xFFFFFFFF)
    return table


def _numbers(keys: NDArray[np.int64]) -> Float32:
    """The way back."""
    bits = np.where(keys >= _ZERO, keys ^ _ZERO, ~keys & 0xFFFFFFFF).astype(np.uint32)
    return bits.view(np.float32)


def _followed16(folded: NDArray[np.int64], order: int) -> NDArray[np.int64]:
    numbers = (folded >> 1) ^ -(folded & 1)
    for _ in range(order):
        numbers = np.cumsum(numbers, axis=0)
    return (numbers + 0x8000) % 0x10000 - 0x8000


def _widened(numbers: NDArray[np.int64], step: NDArray[np.float64]) -> Float32:
    table = (np.where(np.abs(numbers) <= LARGEST, numbers, 0) * step).astype(np.float32)
    table[numbers == _NAN], table[numbers == _INF], table[numbers == _MINUS_INF] = np.nan, np.inf, -np.inf
    return table
