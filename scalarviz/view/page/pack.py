"""Tables of numbers over time as short texts: exact float32 bits, or 16 bits a number for large tables.

Training moves weights smoothly. Each number is therefore stored as the difference from an extrapolation (a line or a
curve) of earlier frames. These differences are small; their high bytes, stored together, compress well. Updates mostly
follow bit for bit from values and gradients (`led_updates`). `js/unpack.js` is the inverse.
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import InputError

Float32 = NDArray[np.float32]

EXACT = 2_000 * 300  # largest table (frames x columns) that keeps every bit
ORDERS = (1, 2, 3, 4)
"""Number of earlier frames in the extrapolation: 1 constant, 2 line, 3 parabola, 4 cubic."""
WEIGHTS = ((1,), (2, -1), (3, -3, 1), (4, -6, 4, -1))  # of earlier frames, the newest first
LED = 0  # the order of a table that another table predicts, number by number; without one nothing is predicted
LARGEST = 32_766  # largest 16-bit number; then +Inf (32767), -Inf (-32767) and NaN (-32768)
_INF, _MINUS_INF, _NAN = 32_767, -32_767, -32_768
_TINY = np.float32(1e-45)  # smallest number above 0
_ZERO = 0x80000000  # key of +0
_MARK = "!"  # starts a dense text
_DENSE = str.maketrans("&<>`", ".,:/")


def packed(table: Float32, *, exact: bool | None = None, led: Float32 | None = None) -> dict[str, Any]:
    """Return a float32 table (frames, columns) as JSON data.

    Every bit is kept if `exact` (default: up to `EXACT` numbers). Otherwise the error is at most half of the column's
    ``step``, and the column's largest number has `LARGEST` steps. `led` predicts exact numbers; the reader needs it
    too. ``data`` has compressed bytes as a :func:`dense_text`.
    """
    if table.dtype != np.float32 or table.ndim != 2:
        raise InputError(f"cannot pack a table of {table.dtype} {table.shape}; allowed: float32 (frames, columns)")
    said: dict[str, Any] = {"frames": len(table), "columns": table.shape[1]}
    if table.size <= EXACT if exact is None else exact:
        moved = {order: _differences(table, order) for order in ORDERS}
        moved[LED] = _folded(_keys(table) - (_ZERO if led is None else _finite_keys(led)), 32).astype(np.uint32)
        found = ((deflated(_bytes_apart(one), zlib.Z_FILTERED), order) for order, one in moved.items())
        said |= {"bits": 32}
    else:
        numbers, step = _rounded(table)
        said |= {"bits": 16, "step": text_of(step.astype("<f4").tobytes())}
        found = ((deflated(_bytes_apart(_differences16(numbers, order))), order) for order in ORDERS[:2])
    data, order = min(found, key=lambda one: (len(one[0]), one[1]))
    return said | {"order": order, "data": dense_text(data)}


def deflated(data: bytes, how: int = zlib.Z_DEFAULT_STRATEGY) -> bytes:
    """Return compressed bytes without a header: ``deflate-raw`` in browsers."""
    press = zlib.compressobj(9, zlib.DEFLATED, -15, strategy=how)
    return press.compress(data) + press.flush()


def squeezed(told: object) -> bytes:
    """Return compressed JSON."""
    return deflated(json.dumps(told, separators=(",", ":")).encode("ascii"))


def packed_text(table: Float32, *, exact: bool | None = None, led: Float32 | None = None) -> str:
    """Return a packed table as JSON."""
    return json.dumps(packed(table, exact=exact, led=led), separators=(",", ":"))


KINDS = {"u1": "Uint8", "i1": "Int8", "i2": "Int16", "f4": "Float32", "f8": "Float64"}
"""Types of the numbers of an array, the smallest first, and their names in a browser."""


def array_text(array: NDArray[Any]) -> str:
    """Return an array's numbers as JSON, in the smallest type that holds each of them exactly."""
    for kind in KINDS:
        with np.errstate(all="ignore"):
            small = array.astype(f"<{kind}")
        if kind == array.dtype.str[1:] or (
            np.array_equal(small, array) and not (np.signbit(array) & (array == 0)).any()
        ):
            break
    flat = small.ravel().view(np.uint8).reshape(-1, small.itemsize)
    said = {"kind": KINDS[kind], "bytes": small.itemsize, "data": dense_text(deflated(flat.T.tobytes()))}
    return json.dumps(said, separators=(",", ":"))


def text_of(data: bytes) -> str:
    """Return bytes as base64."""
    return base64.b64encode(data).decode("ascii")


def dense_text(data: bytes) -> str:
    """Return ``!`` and five characters for every four bytes; HTML, JSON and templates need not escape them."""
    return _MARK + base64.b85encode(data).decode("ascii").translate(_DENSE)


def led_updates(values: Float32, gradients: Float32 | None, steps: Sequence[int], rates: Sequence[float]) -> Float32:
    """Return the updates of plain gradient descent, predicted from other tables: all (N, T), `steps` and `rates` (N,).

    After a single step this is the difference of two values; otherwise the learning rate times the gradient. For other
    optimisers the prediction fails and saves nothing.
    """
    led = np.zeros_like(values)
    with np.errstate(over="ignore", invalid="ignore"):
        wide = values.astype(np.float64)
        if gradients is not None:
            before = (wide + np.asarray(rates, np.float64)[:, None] * gradients.astype(np.float64)).astype(np.float32)
            led = (wide - before.astype(np.float64)).astype(np.float32)
        one = np.flatnonzero(np.diff(steps) == 1) + 1
        led[one] = (wide[one] - wide[one - 1]).astype(np.float32)
    return led


# ---- 32 bits


def _keys(table: Float32) -> NDArray[np.int64]:
    """Return each number's bits as an integer 0 to 2^32 - 1 in the same order: neighbours differ by 1."""
    bits = np.ascontiguousarray(table).view(np.uint32)
    return np.where(bits >> 31, ~bits, bits | np.uint32(_ZERO)).astype(np.int64)


def _expected(before: list[Float32], order: int) -> NDArray[np.int64]:
    """Return the keys that earlier frames (newest first) extrapolate to; the newest keys where that is not finite."""
    if not before:
        return np.array([_ZERO], np.int64)
    with np.errstate(over="ignore", invalid="ignore"):  # signalling NaN
        use = [frame.astype(np.float64) for frame in before[:order]]
        if len(use) < 2:
            return _keys(before[0])
        led = np.zeros_like(use[0])
        for weight, frame in zip(WEIGHTS[len(use) - 1], use, strict=True):
            led = led + weight * frame
        narrow = led.astype(np.float32)
    return np.where(np.isfinite(narrow), _keys(narrow), _keys(before[0]))


def _finite_keys(led: Float32) -> NDArray[np.int64]:
    """Return the keys of predictions; the key of 0 for predictions that are not finite."""
    return np.where(np.isfinite(led), _keys(led), _ZERO)


def _differences(table: Float32, order: int) -> NDArray[np.uint32]:
    """Return the differences from expected keys, folded: 0, -1, 1, -2 as 0, 1, 2, 3."""
    keys, out = _keys(table), np.zeros(table.shape, np.int64)
    for k in range(len(table)):
        out[k] = keys[k] - _expected([table[k - j] for j in range(1, min(order, k) + 1)], order)
    return _folded(out, 32).astype(np.uint32)


def _folded(differences: NDArray[np.int64], bits: int) -> NDArray[np.int64]:
    half = 1 << (bits - 1)
    short = (differences + half) % (1 << bits) - half
    return (short << 1) ^ (short >> 63)


def _bytes_apart(folded: NDArray[Any]) -> bytes:
    """Return the low bytes of all numbers, then higher ones, column by column."""
    width = folded.dtype.itemsize
    flat = np.ascontiguousarray(folded.T).astype(f"<u{width}")
    return np.frombuffer(flat.tobytes(), np.uint8).reshape(-1, width).T.tobytes()


# ---- 16 bits


def _rounded(table: Float32) -> tuple[NDArray[np.int64], Float32]:
    """Return whole numbers of steps (N, T), and each column's step (T,)."""
    wide = np.where(np.isfinite(table), table, 0).astype(np.float64)
    top = np.max(np.abs(wide), axis=0, initial=0.0)
    step = np.maximum((top / LARGEST).astype(np.float32), _TINY)
    low = step.astype(np.float64) * LARGEST < top
    step[low] = np.nextafter(step[low], np.float32(np.inf))
    beyond = step.astype(np.float64) * LARGEST > np.finfo(np.float32).max
    step[beyond] = np.nextafter(step[beyond], np.float32(0))
    numbers = np.clip(np.rint(wide / step.astype(np.float64)), -LARGEST, LARGEST).astype(np.int64)
    numbers[np.isnan(table)] = _NAN
    numbers[np.isposinf(table)], numbers[np.isneginf(table)] = _INF, _MINUS_INF
    return numbers, step


def _differences16(numbers: NDArray[np.int64], order: int) -> NDArray[np.uint16]:
    out = numbers.copy()
    for _ in range(order):
        out[1:] -= out[:-1].copy()
    return _folded(out, 16).astype(np.uint16)
