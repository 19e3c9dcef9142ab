"""The one way a file gets written: whole, or not at all."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ..errors import InputError

StrPath = str | os.PathLike[str]


def check_target(path: StrPath) -> Path:
    """Say before a long run what would stop `path` from being written after it; touches nothing.

    Returns
    -------
    Path
        The file that will be written, a link followed to its end.

    Raises
    ------
    InputError
        If `path` is a folder or a device, or no file can be made there.
    """
    target = Path(path)
    try:
        if target.is_symlink():
            target = target.resolve()
        if target.is_dir():
            raise InputError(f"cannot write {path}: it is a folder; give a file name")
        if target.exists() and not target.is_file():
            raise InputError(f"cannot write {path}: it is not a regular file")
        parent = target.absolute().parent
        while not parent.exists():
            parent = parent.parent
    except OSError as error:
        raise _refusal(path, error) from None
    if not parent.is_dir():
        raise InputError(f"cannot write {path}: {parent} is a file, not a folder")
    if not os.access(parent, os.W_OK | os.X_OK):
        raise InputError(f"cannot write {path}: no permission to write in {parent}")
    return target


@contextmanager
def replacing(path: StrPath) -> Iterator[Path]:
    """Give a new file's name beside `path`; what was written there becomes `path` when the block ends well.

    Missing folders are made. After an error the new file is gone and an old `path` is untouched.

    Yields
    ------
    Path
        A name in the same folder with the same suffix (programs tell formats by it). No file is there yet.

    Raises
    ------
    InputError
        If the file cannot be written (folder, permission, full disk); the message says which.
    """
    target = check_target(path)
    fresh = target.with_name(f".{target.stem[:80]}.{secrets.token_hex(4)}.part{target.suffix}")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        yield fresh
        with open(fresh, "rb+") as written:
            os.fsync(written.fileno())
        os.replace(fresh, target)
    except OSError as error:
        raise _refusal(path, error) from error
    finally:
        with suppress(OSError):
            fresh.unlink(missing_ok=True)
    _sync_folder(target.parent)


def write_bytes(path: StrPath, data: bytes) -> None:
    """Write `data` to `path`, whole or not at all; InputError if that cannot be done."""
    with replacing(path) as fresh:
        fresh.write_bytes(data)


def _sync_folder(folder: Path) -> None:
    """Make the rename itself last through a power cut, where the system can (Windows cannot open folders)."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _refusal(path: StrPath, error: OSError) -> InputError:
    return InputError(f"cannot write {path}: {(error.strerror or str(error)).lower()}")
