"""Whether the folder of compiled kernels can be filled at all. Loads no numba."""

from __future__ import annotations

import os
import tempfile

from .place import closed, user_cache

SAMPLE = bytes(1 << 16)
"""What is written to see: on a full disk a few bytes may still find a place."""


def refusal() -> str:
    """Why kernels are not kept or not loaded: the folder, the reason and what to do, as one clause; empty if they are.

    A folder that is not there yet is not made.
    """
    if reason := closed():
        return reason
    folder = user_cache()
    nearest = next(path for path in (folder, *folder.parents) if os.path.exists(path))  # Path.exists() may raise
    try:
        if nearest != folder:
            if not nearest.is_dir():
                raise NotADirectoryError(None, "not a directory")
            if not os.access(nearest, os.W_OK | os.X_OK):
                raise PermissionError(None, "permission denied")
        else:
            with tempfile.TemporaryFile(dir=folder) as file:
                file.write(SAMPLE)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        return f"the cache folder {folder} cannot be written ({reason}); SCALARVIZ_CACHE_DIR names another one"
    return ""
