"""What is asked of every file before it is opened for reading: that it is there, and that it is a file."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import TypeGuard

from ..errors import InputError
from .atomic import StrPath, as_path, path_text


def check_source(path: StrPath, what: str) -> Path:
    """`path`, if it is a regular file. A device or a pipe would be read for ever, or never.

    Parameters
    ----------
    path : path
    what : str
        For the message, as ``"picture"``.

    Raises
    ------
    InputError
        There is none, it is something else, or the name can be no file's.
    """
    name = as_path(path)
    try:
        mode = os.stat(name).st_mode
    except FileNotFoundError:
        raise InputError(f"there is no {what} {path_text(path)}") from None
    except OSError as error:
        raise unreadable(path, error) from None
    except ValueError as error:  # a NUL, or letters that the file system's encoding has not
        raise InputError(f"{path_text(path)!a} can be no file's name: {error}") from None
    if stat.S_ISDIR(mode):
        raise InputError(f"{path_text(path)} is a folder, not {'an' if what[0] in 'aeiouAEIOU' else 'a'} {what}")
    if not stat.S_ISREG(mode):
        raise InputError(f"{path_text(path)} is no regular file but a device or a pipe; copy what it gives into a file")
    return name


def of_disk(error: Exception) -> TypeGuard[OSError]:
    """Whether the system could not read a file; False where a library stumbled over what stands in it."""
    return isinstance(error, OSError) and error.errno not in (None, errno.EINVAL, errno.EOVERFLOW)


def unreadable(path: StrPath, error: OSError) -> InputError:
    """The error of a file that cannot be read."""
    return InputError(f"cannot read {path_text(path)}: {(error.strerror or str(error)).lower()}")
