"""Convert tensors of an ONNX file to arrays; shape, type and numbers must agree first.

Numbers may lie in other files: only in regular files of the ONNX file's folder, links resolved.
"""

from __future__ import annotations

import math
import os
import re
import stat
from pathlib import Path
from typing import Any

import numpy as np

from ..checks import check_memory
from ..errors import FileFormatError, shown
from .graph import MOST_LETTERS, Array

PLACE = re.compile(r"[0-9]{1,18}")
FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0) | getattr(os, "O_NOFOLLOW", 0)
"""Flags that neither wait for a pipe nor follow a link that replaced the file meanwhile."""


class Outside:
    """External data of one ONNX file, in its folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._taken = 0

    def bytes_of(self, tensor: Any, size: int, where: str) -> bytearray:
        """Return `size` bytes of a tensor's external data, from a regular file of the folder.

        All external data together must fit into memory: a sparse file can have any size, and many tensors
        may refer to one place.
        """
        said = {entry.key: entry.value for entry in tensor.external_data}
        name = said.get("location", "")
        path = _inside(self._folder, name, where)
        start, length = (_number(said.get(key, ""), key, where) for key in ("offset", "length"))
        if length is not None and length != size:
            raise FileFormatError(
                f"{where} needs {size:,} bytes for its shape, but its length is {length:,}; export again"
            )
        try:
            _check_extent(path, start or 0, size, where)
            self._taken += size
            check_memory(self._taken, where, "close other programs")
            return _piece(path, start or 0, size, where)
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            raise FileFormatError(f"{where}: cannot read {shown(name)}: {reason}") from None


def _inside(folder: Path, name: str, where: str) -> Path:
    """Return the file called `name`, which must be inside `folder` after all links are followed."""
    try:
        home = Path(os.path.realpath(folder))
        path = Path(os.path.realpath(home / name))
        inside = bool(name) and not os.path.isabs(name) and path.is_relative_to(home) and path != home
        mode = os.stat(path).st_mode if inside else 0
    except OSError as error:
        raise FileFormatError(
            f"{where} lies in the file {shown(name)}, which cannot be read ({(error.strerror or str(error)).lower()}); "
            "put it next to the ONNX file"
        ) from None
    except ValueError:  # a NUL character
        raise FileFormatError(f"{where} lies in {shown(name)}, which is not a valid file name") from None
    if not inside:
        raise FileFormatError(
            f"{where} lies in {shown(name)}, outside the folder of the ONNX file; copy it there and export again"
        )
    if not stat.S_ISREG(mode):
        raise FileFormatError(f"{where} lies in {shown(name)}, which is not a regular file")
    return path


def _number(text: str, what: str, where: str) -> int | None:
    if not text:
        return None
    if not PLACE.fullmatch(text):
        raise FileFormatError(f"{where}: its {what} must be a number of bytes, got {shown(text)}")
    return int(text)


def _check_extent(path: Path, start: int, size: int, where: str) -> None:
    there = path.stat().st_size
    if start + size > there:
        raise FileFormatError(
            f"{where} needs bytes {start:,} to {start + size:,} of {path.name}, which has {there:,}; copy the whole "
            "file"
        )


def _piece(path: Path, start: int, size: int, where: str) -> bytearray:
    descriptor = os.open(path, FLAGS)
    with os.fdopen(descriptor, "rb", buffering=0) as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise FileFormatError(f"{where} lies in {path.name}, which is not a regular file")
        file.seek(start)
        read = bytearray(size)
        at, view = 0, memoryview(read)
        while at < size:
            got = file.readinto(view[at:])
            if not got:
                raise FileFormatError(f"{where}: {path.name} was shortened while it was read")
            at += got
        return read


FIELDS = {
    "FLOAT": ("float32", "float_data"), "DOUBLE": ("float64", "double_data"), "INT64": ("int64", "int64_data"),
    "INT32": ("int32", "int32_data"), "INT16": ("int16", "int32_data"), "INT8": ("int8", "int32_data"),
    "BOOL": ("bool", "int32_data"), "UINT8": ("uint8", "int32_data"), "UINT16": ("uint16", "int32_data"),
    "UINT32": ("uint32", "uint64_data"), "UINT64": ("uint64", "uint64_data"), "FLOAT16": ("float16", "int32_data"),
    "BFLOAT16": ("float32", "int32_data"),
}  # fmt: skip
"""The standard's types: the dtype of the array, and the field of numbers that are not stored as bytes."""

BITS = {"FLOAT16": np.uint16, "BFLOAT16": np.uint16}
"""Types whose ``int32_data`` holds bit patterns."""


def dtype_of(code: int) -> np.dtype[Any] | None:
    """Return the NumPy dtype of a type of the standard, or None if there is none.

    ``bfloat16`` becomes float32, which holds all its numbers.
    """
    name = type_name(code)
    if name == "STRING":
        return np.dtype(str)
    return np.dtype(FIELDS[name][0]) if name in FIELDS else None


def type_name(code: int) -> str:
    """Return the standard's name of a type, such as ``"FLOAT"``."""
    from onnx import TensorProto

    known: dict[int, str] = {number: name for name, number in TensorProto.DataType.items()}
    return known.get(code, f"number {code}")


def array_of(tensor: Any, where: str, outside: Outside) -> Array:
    """Return the numbers of a tensor, read-only; refuse unknown types, or a shape that does not fit the numbers.

    `where` names the file and the tensor in messages.
    """
    name = type_name(tensor.data_type)
    shape = tuple(tensor.dims)
    if any(side < 0 for side in shape) or len(shape) > 32:
        raise FileFormatError(f"{where} has the shape {shown(shape)}; allowed: at most 32 sides, none negative")
    if name == "STRING":
        made = _texts(tensor, shape, where)
    elif name in FIELDS:
        made = _numbers(tensor, name, shape, where, outside)
    else:
        raise FileFormatError(f"{where} has the type {name}; allowed: {', '.join(FIELDS)}, STRING; export it as FLOAT")
    made.flags.writeable = False
    return made


def _numbers(tensor: Any, name: str, shape: tuple[int, ...], where: str, outside: Outside) -> Array:
    kind, field = FIELDS[name]
    stored = np.dtype(BITS.get(name, kind)).newbyteorder("<")
    count = math.prod(shape)
    size = count * stored.itemsize
    if tensor.data_location == tensor.EXTERNAL:
        flat = np.frombuffer(outside.bytes_of(tensor, size, where), stored)
    elif tensor.HasField("raw_data"):
        raw = tensor.raw_data  # a copy at every access
        _check_amount(len(raw), size, "byte", shape, name, where)
        flat = np.frombuffer(raw, stored)
    else:
        flat = _listed(getattr(tensor, field), count, stored, shape, name, where)
    return _meant(flat, name, kind).reshape(shape)


def _meant(flat: Array, name: str, kind: str) -> Array:
    """Decode stored numbers."""
    if name == "BFLOAT16":  # the upper half of a float32
        return (flat.astype(np.uint32) << 16).view(np.float32)
    if name == "FLOAT16":
        return flat.astype(np.uint16).view(np.float16)
    if name == "BOOL":  # a byte of a file may be anything; a bool is 0 or 1
        return np.not_equal(flat.view(np.uint8), 0)
    return flat.astype(kind, copy=False)


def _listed(given: Any, count: int, stored: np.dtype[Any], shape: tuple[int, ...], name: str, where: str) -> Array:
    """Return numbers that are stored one by one; small types are stored in larger ones."""
    _check_amount(len(given), count, "number", shape, name, where)
    if stored.kind == "f":
        return np.fromiter(given, stored, count)
    flat = np.fromiter(given, np.uint64 if name in ("UINT32", "UINT64") else np.int64, count)
    kept: Array = flat.astype(stored)
    if name != "BOOL" and not np.array_equal(kept, flat):
        raise FileFormatError(f"{where} has numbers that do not fit its type {name}; export the file again")
    return kept


def _check_amount(there: int, wanted: int, what: str, shape: tuple[int, ...], name: str, where: str) -> None:
    if there != wanted:
        raise FileFormatError(
            f"{where} has the shape {shown(shape)} of {name} and needs {wanted:,} {what}{'' if wanted == 1 else 's'}, "
            f"but stores {there:,}; export the file again"
        )


def _texts(tensor: Any, shape: tuple[int, ...], where: str) -> Array:
    _check_amount(len(tensor.string_data), math.prod(shape), "text", shape, "STRING", where)
    texts = [text.decode() for text in tensor.string_data]
    longest = max(map(len, texts), default=0)
    if longest * len(texts) > MOST_LETTERS:  # an array gives each text the room of the longest
        raise FileFormatError(
            f"{where} has {len(texts):,} texts of up to {longest:,} letters; allowed: {MOST_LETTERS:,} in all"
        )
    return np.array(texts, str).reshape(shape)
