"""Checks before a file is opened for reading: it exists, is a regular file, and is no pickle.

Reading a pickle (PyTorch's ``.pt``) runs a program; users convert it to safetensors where it was made.
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import TypeGuard

from ..errors import FileFormatError, InputError
from .atomic import StrPath, as_path, path_text


def check_source(path: StrPath, what: str) -> Path:
    """Return `path` if it is a regular file; reading a device or a pipe might never end.

    `what` names the file in the InputError, as ``"picture"``.
    """
    name = as_path(path)
    try:
        mode = os.stat(name).st_mode
    except FileNotFoundError:
        raise InputError(f"there is no {what} {path_text(path)}") from None
    except OSError as error:
        raise unreadable(path, error) from None
    except ValueError as error:  # a NUL, or letters that the file system cannot encode
        raise InputError(f"{path_text(path)!a} is not a valid file name: {error}") from None
    if stat.S_ISDIR(mode):
        raise InputError(f"{path_text(path)} is a folder, not {'an' if what[0] in 'aeiouAEIOU' else 'a'} {what}")
    if not stat.S_ISREG(mode):
        raise InputError(f"{path_text(path)} is a device or a pipe, not a regular file; copy its content into a file")
    return name


def of_disk(error: Exception) -> TypeGuard[OSError]:
    """Return whether the system failed to read a file; False if a library failed at its content."""
    return isinstance(error, OSError) and error.errno not in (None, errno.EINVAL, errno.EOVERFLOW)


def unreadable(path: StrPath, error: OSError) -> InputError:
    """Return the error for a file that cannot be read."""
    return InputError(f"cannot read {path_text(path)}: {(error.strerror or str(error)).lower()}")


PICKLES = (".pt", ".pth", ".ckpt", ".pkl", ".pickle", ".joblib", ".bin")
ZIP, PICKLE = b"PK\x03\x04", b"\x80"
"""First bytes: PyTorch writes an archive with a pickle in it; a pickle begins with this byte and its version."""
PROTOCOLS = (b"\x02", b"\x03", b"\x04", b"\x05")
OPENINGS = (b"}", b"\x95", b"c", b"]", b"\x8a")
"""The next byte of most pickles: a dict, a frame, a class, a list, or PyTorch's old number."""


def refuse_pickle(path: Path, *, network: bool = False) -> None:
    """Raise FileFormatError, with the line that converts the file, if pickle or ``torch.save`` wrote it.

    The first bytes decide; for an archive also its name. `network`: the user wants a network (ONNX), not its weights.
    """
    with path.open("rb") as file:
        head = file.read(4)
    named = path.suffix.lower() in PICKLES
    pickle = head[:1] == PICKLE and head[1:2] in PROTOCOLS and (named or head[2:3] in OPENINGS)
    if pickle or (named and head == ZIP):
        source, target = path_text(path), path_text(path.with_suffix(".safetensors"))
        way = (
            'If you trust it, convert it: python -c "import torch, safetensors.torch as s; s.save_file({k: v.clone()'
            f".contiguous() for k, v in torch.load({source!r}, map_location='cpu', weights_only=True).items()}}, "
            f'{target!r})"'
        )
        if network:
            onnx = path_text(path.with_suffix(".onnx"))
            way = f"Load it in PyTorch, and write the network as ONNX: torch.onnx.export(net, (one_batch,), {onnx!r})"
        why = "scalarviz never opens one, because it can run any program"
        raise FileFormatError(f"{source} holds a pickle; {why}. {way}")
