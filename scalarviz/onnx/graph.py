"""The content of an ONNX file as plain data: `Graph`, `Node`, `Port`; and PyTorch's notes in it.

Numbers may lie in other files: only in regular files of the ONNX file's folder, links resolved.
"""

from __future__ import annotations

import math
import os
import re
import stat
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..checks import check_memory
from ..errors import FileFormatError, shown

MOST_LETTERS = 10_000_000
"""Most characters in a tensor of texts; each text counts as long as the longest."""

MISSING = 'ONNX files need the package onnx; install it with: pip install "scalarviz[onnx]"'
"""Error message without the package `onnx`."""
OURS = "scalarviz"
"""Producer name in our files."""
Array = NDArray[Any]
Attribute = float | int | str | Array | tuple[Any, ...]
"""An attribute of a node: a number, a text, a tensor, or a row of numbers or texts."""


@dataclass(frozen=True, slots=True)
class Node:
    """One operation."""

    operator: str  # the standard's name: "Conv"
    inputs: tuple[str, ...]  # names of tensors; empty for one that is left out; last those that branches read
    outputs: tuple[str, ...]
    attributes: Mapping[str, Attribute] = field(default_factory=dict)  # those in the file
    name: str = ""  # the file's, or "Conv_3" by its position; unique
    domain: str = ""  # empty for the standard's operators
    module: str = ""  # path of the module that computes it, if the file notes it: "layers.0.norm"

    def attribute(self, name: str, default: Any = None) -> Any:
        """Return the attribute of that name, or the operator's default."""
        return self.attributes.get(name, default)

    def listed(self, name: str, default: Any = None) -> Any:
        """Return an attribute that is a row of numbers as a list, or the default."""
        given: Any = self.attributes.get(name)
        return default if given is None else list(given)


@dataclass(frozen=True, slots=True)
class Port:
    """An input or output of the graph."""

    name: str
    dtype: np.dtype[Any] | None = None  # None: unknown
    shape: tuple[int | str | None, ...] | None = None  # a side is a number, a name ("N") or unknown


@dataclass(frozen=True, slots=True)
class Graph:
    """The content of a file."""

    nodes: tuple[Node, ...]  # sorted: every operand is computed before it is used
    inputs: tuple[Port, ...]  # without stored tensors, which old files list here too
    outputs: tuple[Port, ...]
    constants: Mapping[str, Array]  # weights and other stored tensors, read-only
    opset: int  # version of the standard's operators
    name: str = "graph"  # the file's stem, for messages
    # constants from `Constant` nodes: part of the computation; the other constants are stored numbers, weights
    fixed: frozenset[str] = frozenset()
    ours: bool = False  # written by `to_onnx`: each stored tensor, also a single number, is a weight or a statistic
    noted: Mapping[str, str] = field(default_factory=dict)  # the former kinds of stored tensors, see `kinds`
    folded: bool = False  # some noted parameters were computed into other stored tensors


SIGNATURE = "pkg.torch.export.ExportedProgram.graph_signature"
PARAMETER = "PARAMETER"
_LINE = re.compile(r"^\w+: (PARAMETER|BUFFER|CONSTANT_TENSOR) target='([^'\n]*)'", re.MULTILINE)
WEIGHED = frozenset({
    "BatchNormalization", "Conv", "ConvTranspose", "Einsum", "Gather", "Gemm", "GroupNormalization",
    "InstanceNormalization", "LayerNormalization", "MatMul", "PRelu", "RMSNormalization",
})  # fmt: skip
"""Operators that take a module's weights unchanged or transposed."""


def note(said: Any, key: str) -> str:
    """Return the note of a graph or a node under a key; empty without a text there."""
    found: Any = next((one.value for one in getattr(said, "metadata_props", ()) if one.key == key), "")
    return found if isinstance(found, str) else ""  # protobuf returns bytes if the text is not UTF-8


def kinds(said: Any) -> dict[str, str]:
    """Return the former kind of each stored tensor, by its name in the module; empty if the file notes no parameter.

    The exporter notes plain tensors of a module as constants. Without any parameter, they are the weights.
    """
    found = {name: kind for kind, name in _LINE.findall(note(said, SIGNATURE))}
    return found if PARAMETER in found.values() else {}


def merged(noted: Mapping[str, str], stored: frozenset[str], nodes: Sequence[Node]) -> bool:
    """Return whether a parameter is neither stored nor used in a node of its module: it is part of other constants.

    A layer's matrix is stored transposed, under another name, but the node that multiplies by it is its module's.
    """
    modules = {node.module for node in nodes if node.operator in WEIGHED and node.module}
    absent = (name.rpartition(".") for name, kind in noted.items() if kind == PARAMETER and name not in stored)
    return any(module not in modules or not last.endswith(("weight", "bias")) for module, _, last in absent)


# ---- From a file's tensors to arrays. Shape, type and numbers must agree first.


PLACE = re.compile(r"[0-9]{1,19}")
"""Larger numbers are beyond the end of any file."""
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
            f"{where} lies in {shown(name)}, outside the folder of the ONNX file; export the file again into one folder"
        )
    if not stat.S_ISREG(mode):
        raise FileFormatError(f"{where} lies in {shown(name)}, which is not a regular file")
    return path


def _number(text: str, what: str, where: str) -> int | None:
    if not text:
        return None
    if not PLACE.fullmatch(text):
        raise FileFormatError(
            f"{where}: the {what} in bytes must be a whole number >= 0 of at most 19 digits, got {shown(text)}"
        )
    return int(text)


def _check_extent(path: Path, start: int, size: int, where: str) -> None:
    there = path.stat().st_size
    if start + size > there:
        raise FileFormatError(
            f"{where} needs bytes {start:,} to {start + size:,} of {shown(path.name)}, which has only {there:,}; "
            "copy that file again, completely"
        )


def _piece(path: Path, start: int, size: int, where: str) -> bytearray:
    descriptor = os.open(path, FLAGS)
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise FileFormatError(f"{where} lies in {shown(path.name)}, which is not a regular file")
        file.seek(start)
        read = bytearray(size)
        if file.readinto(read) < size:  # a buffered file reads on until the end
            raise FileFormatError(f"{where}: {shown(path.name)} was shortened while it was read")
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
