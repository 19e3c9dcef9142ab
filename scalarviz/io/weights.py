"""Weights on disk: safetensors, written whole or not at all, with a checksum over numbers and text.

A file holds named arrays and text. Weights have PyTorch's names (``"0.weight"``), so a PyTorch state_dict saved as
safetensors can be read too, without this package's text. An optimiser's state has the prefix ``optimizer.``.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..checks import mapping, real_array
from ..checks import text as check_text
from ..errors import FileFormatError, InputError, TypeMismatchError, shown
from .atomic import StrPath, check_source, path_text, refuse_pickle, unreadable, write_bytes

Array = NDArray[Any]

OURS = "scalarviz."
FORMAT_KEY, FORMAT = OURS + "format", "2"
NUMBERS_ONLY = "1"
"""The previous format, whose checksum covers only the numbers. Such a file can be read; this version tells it apart."""
SUM_KEY = OURS + "sha256"
OPTIMIZER = "optimizer."
LONGEST_HEADER = 20_000_000  # bytes; 100,000 tensors need about half of it


def save_tensors(path: StrPath, tensors: Mapping[str, Array], metadata: Mapping[str, str] | None = None) -> None:
    """Write arrays and text, whole or not at all. The format's version and the checksum are added to the text.

    Arrays are bool, integer or float, with any shape and memory order. InputError if one cannot be stored, or the file
    cannot be written.
    """
    from safetensors.numpy import save

    # safetensors stores the buffer as it is: a non-contiguous array would come back with wrong values
    mapping(tensors, "save_tensors: the tensors")
    for name, note in mapping({} if metadata is None else metadata, "save_tensors: the metadata").items():
        check_text(note, f"save_tensors: the metadata {shown(name)}")
    arrays = {name: _plain(name, array) for name, array in tensors.items()}
    text = {**(metadata or {}), FORMAT_KEY: FORMAT}
    try:
        encoded = save(arrays, metadata={**text, SUM_KEY: checksum(arrays, text)})
    except UnicodeEncodeError as error:
        raise InputError(f"cannot write {path}: UTF-8 cannot encode a name or a note: {error}") from None
    write_bytes(path, _ordered(encoded))


def _ordered(encoded: bytes) -> bytes:
    """Return the file with its text sorted by key; safetensors uses another order every time."""
    size = int.from_bytes(encoded[:8], "little")
    header = json.loads(encoded[8 : 8 + size])
    header["__metadata__"] = dict(sorted(header["__metadata__"].items()))
    written = json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode()
    written += b" " * (-len(written) % 8)
    return len(written).to_bytes(8, "little") + written + encoded[8 + size :]


class Entry(NamedTuple):
    """One tensor of a file: its type in the file's words, its shape, and its byte range in the file."""

    kind: str
    shape: tuple[int, ...]
    start: int
    stop: int


def load_tensors(path: StrPath) -> tuple[dict[str, Array], dict[str, str]]:
    """Read arrays and text; files of other programs have no text. A checksum is verified if there is one.

    bfloat16 and 8-bit floats become float32, which holds all their numbers. InputError if the file does not exist or
    cannot be read. FileFormatError if it is no safetensors file, is damaged or edited, or is from a newer version of
    this package.
    """
    while True:
        before = _version(path)
        try:
            entries, metadata = _opened(path)
            tensors = tensors_of(path, entries, sorted(entries))
            _verify(path, tensors, metadata)
        except FileFormatError:
            if _version(path) == before:
                raise
        if _version(path) == before:  # else another program has replaced the file meanwhile
            return tensors, metadata


def _version(path: object) -> tuple[int, int] | None:
    """Return what tells a file from the one that replaces it; None for no file."""
    if not isinstance(path, str | os.PathLike):
        return None
    try:
        found = os.stat(path)
    except (OSError, ValueError, TypeError):
        return None
    return found.st_ino, found.st_mtime_ns


def entries_of(path: StrPath) -> dict[str, Entry]:
    """Return the tensors of a safetensors file in byte order, without reading numbers."""
    return _opened(path)[0]


def tensors_of(path: StrPath, entries: Mapping[str, Entry], names: Iterable[str]) -> dict[str, Array]:
    """Return some tensors of a file by its `entries`; types that NumPy lacks become float32."""
    found = {}
    try:
        with Path(path).open("rb") as file:
            for name in names:
                kind, shape, start, stop = entries[name]
                if kind not in DTYPES:
                    raise FileFormatError(
                        f"{path_text(path)} cannot be read: the weights {name!r} have the type {kind}; allowed are "
                        f"{', '.join(DTYPES)}"
                    )
                dtype = np.dtype(DTYPES[kind])
                file.seek(start)
                stored = np.fromfile(file, dtype, (stop - start) // dtype.itemsize)
                if stored.nbytes < stop - start:
                    raise FileFormatError(f"{path_text(path)} was shortened while it was read")
                found[name] = widened(stored, kind).reshape(shape)
    except OSError as error:
        raise unreadable(path, error) from None
    return found


def _opened(path: StrPath) -> tuple[dict[str, Entry], dict[str, str]]:
    """Return the tensors in the header of a safetensors file, and its text."""
    from safetensors import safe_open

    source = check_source(path, "file of weights")
    try:
        refuse_pickle(source)
        header, begin = read_header(source)
        with safe_open(str(source), framework="numpy") as opened:  # checks that every byte belongs to a tensor
            metadata = dict(opened.metadata() or {})
    except FileFormatError:
        raise
    except OSError as error:
        raise unreadable(path, error) from None
    except Exception as error:  # safetensors' own errors, and those of an invalid header
        reason = " ".join(str(error).split())[:200] or type(error).__name__
        raise FileFormatError(f"{path_text(path)} is not a readable file of weights: {reason}") from None
    header.pop("__metadata__", None)
    found = {
        name: Entry(said["dtype"], tuple(said["shape"]), *(begin + offset for offset in said["data_offsets"]))
        for name, said in header.items()
    }
    return dict(sorted(found.items(), key=lambda item: item[1].start)), metadata


def read_header(path: Path) -> tuple[dict[str, Any], int]:
    """Return the header of a safetensors file, and the offset of its numbers; ValueError if it has no valid header.

    safetensors would silently accept a name that occurs twice.
    """
    with path.open("rb") as file:
        begin = file.read(8)
        if len(begin) < 8:
            raise ValueError(f"it has {len(begin)} bytes")
        size = int.from_bytes(begin, "little")
        if size > LONGEST_HEADER:
            raise ValueError(f"its header would have {size:,} bytes; allowed: {LONGEST_HEADER:,}")
        text = file.read(size)
    try:
        header = parse_json(text.decode())
    except RecursionError:
        raise ValueError("its header is nested too deeply") from None
    if not isinstance(header, dict):
        raise ValueError("its header is not a list of tensors")
    return header, 8 + size


def parse_json(text: str) -> Any:
    """Parse strict JSON: no NaN or infinity, no duplicate names; ValueError otherwise."""

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            names = [name for name, _ in pairs]
            raise ValueError(f"{next(name for name in names if names.count(name) > 1)!r} occurs twice")
        return found

    def finite(number: str) -> float:
        if not math.isfinite(float(number)):
            raise ValueError(f"{number[:40]} is not a finite number")
        return float(number)

    return json.loads(text, object_pairs_hook=once, parse_float=finite, parse_constant=finite)


def _verify(path: StrPath, tensors: Mapping[str, Array], metadata: Mapping[str, str]) -> None:
    """Raise FileFormatError if the text names another format, or the checksum does not match."""
    if not any(key.startswith(OURS) for key in metadata):  # a file of another program
        return
    known = metadata.get(FORMAT_KEY, "none")
    if known not in (NUMBERS_ONLY, FORMAT):
        raise FileFormatError(
            f"{path} has format {known[:40]}; this version reads {NUMBERS_ONLY}, {FORMAT}; update scalarviz"
        )
    said = metadata.get(SUM_KEY)
    if known == NUMBERS_ONLY and said is None:
        return
    text = {key: value for key, value in metadata.items() if key != SUM_KEY}
    if said != checksum(tensors, None if known == NUMBERS_ONLY else text):
        raise FileFormatError(f"{path} is damaged or was edited by hand: its content does not match its checksum")


def checksum(tensors: Mapping[str, Array], text: Mapping[str, str] | None = None) -> str:
    """Return the SHA-256 over names, dtypes, shapes and numbers, sorted by name, then over the text, if any."""
    digest = hashlib.sha256()
    for name in sorted(tensors):
        array = np.asarray(tensors[name], order="C")
        digest.update(f"{name}\0{array.dtype.str}\0{array.shape}\0".encode())
        digest.update(array.tobytes())
    if text is not None:
        digest.update(json.dumps(dict(text), sort_keys=True).encode())
    return digest.hexdigest()


def entries_under(prefix: str, tensors: Mapping[str, Array]) -> dict[str, Array]:
    """Return the entries whose names begin with `prefix`, without the prefix."""
    return {name.removeprefix(prefix): array for name, array in tensors.items() if name.startswith(prefix)}


def _plain(name: str, array: Array) -> Array:
    """Return the array in C order and native byte order (`ascontiguousarray` would turn a scalar into a vector)."""
    try:
        plain = np.asarray(real_array(array, "a tensor"), order="C")
    except TypeMismatchError as error:
        raise InputError(f"cannot store {shown(name)}: {error}") from None
    if plain.dtype.kind not in "biuf" or plain.dtype.itemsize > 8:
        raise InputError(f"cannot store {name}: its dtype is {plain.dtype}; allowed are bool, integers and floats")
    return plain.astype(plain.dtype.newbyteorder("="), copy=False)


DTYPES = {
    "F64": "<f8", "F32": "<f4", "F16": "<f2", "BF16": "<u2", "F8_E5M2": "u1", "F8_E4M3": "u1",
    "I64": "<i8", "I32": "<i4", "I16": "<i2", "I8": "i1", "U64": "<u8", "U32": "<u4", "U16": "<u2", "U8": "u1",
    "BOOL": "?",
}  # fmt: skip
"""The readable types, and the NumPy types that they are read as."""


def widened(stored: Array, kind: str) -> Array:
    """Return numbers of types that NumPy lacks, exactly, as float32."""
    if kind == "BF16":  # the upper half of a float32
        return (stored.astype(np.uint32) << 16).view(np.float32)
    if kind == "F8_E5M2":  # the upper half of a float16
        return (stored.astype(np.uint16) << 8).view(np.float16).astype(np.float32)
    if kind == "F8_E4M3":
        return _e4m3()[stored]
    return stored


def _e4m3() -> NDArray[np.float32]:
    """Return the 256 numbers with four exponent bits and three mantissa bits: no infinity, two NaN."""
    code = np.arange(256)
    exponent, mantissa = (code >> 3) & 15, code & 7
    size = np.where(exponent, (1 + mantissa / 8) * 2.0 ** (exponent - 7), mantissa * 2.0**-9)
    size[code & 127 == 127] = np.nan
    return np.where(code < 128, size, -size).astype(np.float32)
