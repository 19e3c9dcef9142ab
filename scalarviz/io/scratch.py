"""Names of folders for files that nobody keeps: those of a process that was killed go away with the next one."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path

from ..process import place, runs


def scratch() -> str:
    """How the name of a temporary folder of this process begins: ``TemporaryDirectory(prefix=scratch())``.

    Folders that were begun so by processes which are no more, and are this user's own, are removed.
    """
    begin = f"scalarviz-{place()}-"
    mine = re.compile(rf"{begin}(\d+)-\w+")
    with suppress(OSError):  # a courtesy: what cannot be looked at stays
        folder = Path(tempfile.gettempdir())
        for name in os.listdir(folder):
            if (found := mine.fullmatch(name)) and not runs(int(found[1])) and _owned(folder / name):
                shutil.rmtree(folder / name, ignore_errors=True)
    return f"{begin}{os.getpid()}-"


def _owned(folder: Path) -> bool:
    """Whether it is a folder, and no link to one, of who runs this."""
    with suppress(OSError):
        return not folder.is_symlink() and (not hasattr(os, "getuid") or folder.stat().st_uid == os.getuid())
    return False
