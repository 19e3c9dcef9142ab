"""Numbers that lie beside an ONNX file: regular files in its own folder, links resolved, nothing else."""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path
from typing import Any

from ..errors import FileFormatError, shown
from ..memory import check_memory

PLACE = re.compile(r"[0-9]{1,18}")
FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0) | getattr(os, "O_NOFOLLOW", 0)
"""A pipe that took the file's place meanwhile would be waited for, and a link followed."""


class Outside:
    """What lies beside one ONNX file.

    Parameters
    ----------
    folder : Path or None
        That of the file; None: the model came from none.
    """

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._taken = 0

    def bytes_of(self, tensor: Any, size: int, where: str) -> bytearray:
        """What a tensor refers to.

        Parameters
        ----------
        tensor : onnx.TensorProto
            Its data location is external.
        size : int
            Bytes that its shape and type say.
        where : str
            The file and the tensor, for messages.

        Raises
        ------
        FileFormatError
            It refers to no regular file in the folder, or to a place where there is not that much.
        InputError
            With what was read before there is not enough memory: a file of holes may be as large as it likes, and many
            tensors may refer to one place.
        """
        said = {entry.key: entry.value for entry in tensor.external_data}
        name = said.get("location", "")
        if self._folder is None:
            raise FileFormatError(
                f"{where} lies in the file {shown(name)}, but a model in memory has no folder; read it from its file"
            )
        path = _inside(self._folder, name, where)
        start, length = (
            _number(said.get("offset", ""), "offset", where),
            _number(said.get("length", ""), "length", where),
        )
        if length is not None and length != size:
            raise FileFormatError(f"{where} has {size:,} bytes by its shape, but {length:,} by its length; export anew")
        try:
            _check_extent(path, start or 0, size, where)
            self._taken += size
            check_memory(self._taken, where, "close other programs")
            return _piece(path, start or 0, size, where)
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            raise FileFormatError(f"{where}: cannot read {shown(name)}: {reason}") from None


def _inside(folder: Path, name: str, where: str) -> Path:
    """The file called `name`, which is in `folder` or deeper when all links are followed."""
    try:
        home = Path(os.path.realpath(folder))
        path = Path(os.path.realpath(home / name))
        inside = bool(name) and not os.path.isabs(name) and path.is_relative_to(home) and path != home
        mode = os.stat(path).st_mode if inside else 0
    except OSError as error:
        raise FileFormatError(
            f"{where} lies in the file {shown(name)}, which cannot be read ({(error.strerror or str(error)).lower()}); "
            "put it beside the ONNX file"
        ) from None
    except ValueError:  # a NUL
        raise FileFormatError(f"{where} lies in {shown(name)}, which can be no file's name") from None
    if not inside:
        raise FileFormatError(
            f"{where} lies in {shown(name)}, outside the folder of the ONNX file; copy it there and export anew"
        )
    if not stat.S_ISREG(mode):
        raise FileFormatError(f"{where} lies in {shown(name)}, which is no regular file")
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
            raise FileFormatError(f"{where} lies in {path.name}, which is no regular file")
        file.seek(start)
        return _exactly(file, size, where, path)


def _exactly(file: Any, size: int, where: str, path: Path) -> bytearray:
    read = bytearray(size)
    at, view = 0, memoryview(read)
    while at < size:
        got = file.readinto(view[at:])
        if not got:
            raise FileFormatError(f"{where}: {path.name} was shortened while it was read")
        at += got
    return read
