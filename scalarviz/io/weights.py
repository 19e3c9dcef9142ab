"""Weights on disk: safetensors, written whole or not at all, with a checksum.

A file holds named arrays and text. The names of weights are PyTorch's (``"0.weight"``), so a PyTorch state_dict saved
as safetensors reads the same way, without our text. An optimiser's state lies beside them under the prefix
``optimizer.``.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import FileFormatError, InputError
from .atomic import StrPath, write_bytes

Array = NDArray[Any]

FORMAT_KEY, FORMAT = "scalarviz.format", "1"
SUM_KEY = "scalarviz.sha256"
OPTIMIZER = "optimizer."


def save_tensors(path: StrPath, tensors: Mapping[str, Array], metadata: Mapping[str, str] | None = None) -> None:
    """Write arrays and text.

    Parameters
    ----------
    path : path
        Any name; an old file there is replaced in one step.
    tensors : mapping of str to ndarray
        Bool, integer or float arrays of any shape and memory order.
    metadata : mapping of str to str, optional
        Kept as it is; the format's version and the checksum are added.

    Raises
    ------
    InputError
        If an array's dtype cannot be stored or the file cannot be written.
    """
    from safetensors.numpy import save

    # safetensors stores the buffer as it lies: an array that is not contiguous would come back with wrong values
    arrays = {name: _plain(name, array) for name, array in tensors.items()}
    text = {**(metadata or {}), FORMAT_KEY: FORMAT, SUM_KEY: checksum(arrays)}
    write_bytes(path, save(arrays, metadata=text))


def load_tensors(path: StrPath) -> tuple[dict[str, Array], dict[str, str]]:
    """Read arrays and text; the checksum is verified where there is one.

    Returns
    -------
    tensors : dict of str to ndarray
    metadata : dict of str to str
        Empty for a file that another program wrote without text.

    Raises
    ------
    InputError
        If there is no such file or it cannot be read.
    FileFormatError
        If it is no safetensors file, a damaged one, or one of a newer version of this package.
    """
    from safetensors import SafetensorError, safe_open

    if Path(path).is_dir():
        raise InputError(f"{path} is a folder, not a file of weights")
    try:
        with safe_open(str(path), framework="numpy") as opened:
            metadata = dict(opened.metadata() or {})
            tensors = {name: opened.get_tensor(name) for name in opened.keys()}  # noqa: SIM118 (not a dict)
    except FileNotFoundError:
        raise InputError(f"there is no file of weights {path}") from None
    except OSError as error:
        raise InputError(f"cannot read {path}: {(error.strerror or str(error)).lower()}") from None
    except (SafetensorError, TypeError, AttributeError) as error:  # the latter two: a dtype that NumPy lacks (bfloat16)
        raise FileFormatError(f"{path} is not a file of weights that can be read: {error}") from None
    if metadata.get(FORMAT_KEY, FORMAT) != FORMAT:
        raise FileFormatError(f"{path} has format {metadata[FORMAT_KEY]}, known is {FORMAT}; update scalarviz")
    if SUM_KEY in metadata and metadata[SUM_KEY] != checksum(tensors):
        raise FileFormatError(f"{path} is damaged: its numbers do not match its checksum")
    return tensors, metadata


def checksum(tensors: Mapping[str, Array]) -> str:
    """SHA-256 over names, dtypes, shapes and numbers, in the order of the names."""
    digest = hashlib.sha256()
    for name in sorted(tensors):
        array = np.asarray(tensors[name], order="C")
        digest.update(f"{name}\0{array.dtype.str}\0{array.shape}\0".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()


def under(prefix: str, tensors: Mapping[str, Array]) -> dict[str, Array]:
    """The entries whose names begin with `prefix`, without it."""
    return {name.removeprefix(prefix): array for name, array in tensors.items() if name.startswith(prefix)}


def _plain(name: str, array: Array) -> Array:
    """The array in C order and the machine's byte order (`ascontiguousarray` would turn a scalar into a vector)."""
    plain = np.asarray(array, order="C")
    if plain.dtype.kind not in "biuf" or plain.dtype.itemsize > 8:
        raise InputError(f"cannot store {name}: its dtype is {plain.dtype}; allowed are bool, integers and floats")
    return plain.astype(plain.dtype.newbyteorder("="), copy=False)
