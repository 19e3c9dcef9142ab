"""Edits as JSON: one object a line, arrays with dtype and shape, every bit kept.

::

    {"edit": "SetWeights", "start": 6, "numbers": {"dtype": "float32", "shape": [1], "base64": "AAAAPw=="}}
"""

from __future__ import annotations

import base64
import binascii
import inspect
import json
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...engine.outside import is_source
from ...errors import FileFormatError, InputError, ScalarvizError, listing, shown
from .base import Edit

KIND = "edit"
_ARRAY = {"dtype", "shape", "base64"}


def write_edit(edit: Edit) -> str:
    """One line of JSON.

    An edit that holds a function writes the function's name; :func:`read_edit` refuses it.

    Raises
    ------
    InputError
        A number of it is not finite outside of an array, which JSON cannot say.
    """
    try:
        return json.dumps(_encoded(edit), allow_nan=False)
    except ValueError:
        raise InputError(f"{edit}: a number that is not finite cannot be written as JSON") from None


def read_edit(text: str) -> Edit:
    """The edit that `text` says; nothing is done with it yet.

    Raises
    ------
    FileFormatError
        It is no JSON, of no known kind, has other parts than that kind, or holds a function.
    InputError
        Its numbers cannot be used.
    """
    try:
        said = json.loads(text)
    except (ValueError, TypeError, RecursionError) as error:
        raise FileFormatError(f"no edit: {shown(text)} is no JSON ({type(error).__name__})") from None
    return _edit(said, text)


def _edit(said: Any, text: str) -> Edit:
    """The edit that JSON says; `text` is what stood there."""
    if not isinstance(said, dict) or not isinstance(said.get(KIND), str) or said[KIND] not in Edit.kinds:
        raise FileFormatError(f"no edit: {shown(text)}; {KIND!r} must be one of {listing(Edit.kinds)}")
    kind = Edit.kinds[said.pop(KIND)]
    _check_parts(kind, said)
    parts = {name: _decoded(part, f"{kind.__name__}: {name}") for name, part in said.items()}
    try:
        return kind(**parts)
    except ScalarvizError:
        raise
    except (TypeError, ValueError, OverflowError) as error:
        raise FileFormatError(f"{kind.__name__} cannot be read: {error}") from None


def _check_parts(kind: type[Edit], said: dict[str, Any]) -> None:
    parameters = inspect.signature(kind).parameters
    unknown = [name for name in said if name not in parameters]
    missing = [name for name, p in parameters.items() if p.default is p.empty and name not in said]
    if unknown or missing:
        wrong = "; ".join(
            f"{what} {listing(names)}" for what, names in (("missing", missing), ("unknown", unknown)) if names
        )
        raise FileFormatError(f"{kind.__name__} cannot be read: {wrong}; it has {listing(parameters)}")


def _encoded(part: Any) -> Any:
    if isinstance(part, np.ndarray):
        little = np.ascontiguousarray(part).astype(part.dtype.newbyteorder("<"), copy=False)
        return {
            "dtype": part.dtype.name,
            "shape": list(part.shape),
            "base64": base64.b64encode(little.tobytes()).decode(),
        }
    if isinstance(part, Edit):
        return {KIND: type(part).__name__, **{name: _encoded(own) for name, own in part.parts().items()}}
    if isinstance(part, tuple):
        return [_encoded(one) for one in part]
    if is_source(part):
        raise InputError(f"{part.name} is read from elsewhere: an edit with it cannot be written; give arrays")
    if not isinstance(part, str | int | float | None):
        kind = type(part)
        module = getattr(part, "__module__", kind.__module__)
        return {"function": f"{module}.{getattr(part, '__qualname__', kind.__qualname__)}"}
    return part


def _decoded(part: Any, what: str) -> Any:
    if isinstance(part, list):
        return tuple(_decoded(one, what) for one in part)
    if not isinstance(part, dict):
        return part
    if KIND in part:
        return _edit(part, json.dumps(part))
    if set(part) == {"function"}:
        raise FileFormatError(
            f"{what} is the function {shown(str(part['function']))}, which cannot be read back: do it by hand"
        )
    if set(part) != _ARRAY:
        raise FileFormatError(f"{what}: an array has {listing(sorted(_ARRAY))}, got {listing(map(str, part))}")
    return _array(part, what)


def _array(part: dict[str, Any], what: str) -> NDArray[Any]:
    try:
        dtype = np.dtype(part["dtype"])
        shape = part["shape"]
        if dtype.kind not in "fiub" or not all(type(side) is int and side >= 0 for side in shape):
            raise ValueError(f"{part['dtype']} {shape}")
        data = base64.b64decode(part["base64"], validate=True)
        if len(data) != math.prod(shape) * dtype.itemsize:
            raise ValueError(f"{len(data)} bytes for {shape} of {dtype.name}")
    except (TypeError, ValueError, binascii.Error, OverflowError) as error:
        raise FileFormatError(f"{what}: the array cannot be read ({error})") from None
    return np.frombuffer(data, dtype.newbyteorder("<")).reshape(shape).astype(dtype)
