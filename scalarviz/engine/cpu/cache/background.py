"""Filling numba's cache beside a run: one detached process at a time, under a lock file in the cache folder.

The starter writes the lock with a token and hands the token to the process that it starts; that process puts its own
id into the lock, works, and removes it. Whoever's token is not in the lock any more lets it be, so also after a race
for a dead process's lock only one compiles. Standard library only; nothing here loads numba.
"""

from __future__ import annotations

import json
import os
import secrets
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ....process import runs
from .place import closed, folder, make_folder

SWITCH = "SCALARVIZ_WARMUP"
"""Environment variable; ``0`` turns the process off."""
TOKEN = "SCALARVIZ_WARMUP_TOKEN"
LOCK = "warmup.lock"
STALE_SECONDS = 1800.0
"""Age from which a lock counts for nothing: compiling takes a minute or two, process ids come again."""

_started: list[subprocess.Popen[bytes]] = []  # a Popen that is forgotten while its process runs would warn


@dataclass(frozen=True, slots=True)
class Owner:
    """Who holds the lock: a process, the machine it runs on (folders may be shared), and the token."""

    pid: int
    host: str
    token: str

    @property
    def alive(self) -> bool:
        """Whether the process runs; of another machine that is taken for granted."""
        return self.host != socket.gethostname() or runs(self.pid)


def lock_path() -> Path:
    """The lock of this version's cache."""
    return folder() / LOCK


def running() -> bool:
    """Whether a process fills the cache at this moment."""
    owner = _owner()
    return owner is not None and owner.alive and not _old()


def start(command: Sequence[str]) -> bool:
    """Start `command` detached, unless another one is at it or the switch is off.

    It gets the lock's token in its environment and has to work inside :func:`holding`. Its input and output are
    closed, it has a session of its own, so it outlives this process and its terminal.

    Returns
    -------
    bool
        Whether it was started. A cache folder that cannot be written is no error: False.
    """
    if os.environ.get(SWITCH) == "0":
        return False
    token = secrets.token_hex(8)
    if not _take(token):
        return False
    try:
        process = subprocess.Popen(
            list(command),
            env={**os.environ, TOKEN: token},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            close_fds=True,
            **_detached(),
        )
    except OSError:
        _release(token)
        return False
    _started.append(process)
    # a child that nobody waits for stays in the table of processes after its death: its lock would look alive
    threading.Thread(target=process.wait, name="scalarviz-warmup", daemon=True).start()
    return True


@contextmanager
def holding() -> Iterator[bool]:
    """Hold the lock while the block fills the cache; in a process of :func:`start` the lock that was taken for it.

    Yields
    ------
    bool
        False: somebody else is at it. A detached process should end then; one that the user waits for may go on.
    """
    given = os.environ.get(TOKEN)
    token = given or secrets.token_hex(8)
    owner = _owner()
    if given:
        mine = owner is not None and owner.token == given and _write(given)
    else:
        mine = _take(token)
    try:
        yield mine
    finally:
        if mine:
            _release(token)


def _take(token: str) -> bool:
    """Take the lock if it is free or its owner is gone."""
    if closed():
        return False
    with suppress(OSError):
        path = make_folder() / LOCK
        if running():
            return False
        path.unlink(missing_ok=True)  # a dead process's
        with open(path, "x", encoding="utf-8") as file:  # fails if another was quicker
            file.write(_text(token))
        return True
    return False


def _write(token: str) -> bool:
    """Put this process into the lock, whole or not at all."""
    fresh = lock_path().with_suffix(f".{token}")
    with suppress(OSError):
        fresh.write_text(_text(token), encoding="utf-8")
        os.replace(fresh, lock_path())
        return True
    return False


def _release(token: str) -> None:
    owner = _owner()
    if owner is not None and owner.token == token:
        with suppress(OSError):
            lock_path().unlink(missing_ok=True)


def _text(token: str) -> str:
    return json.dumps(asdict(Owner(os.getpid(), socket.gethostname(), token)))


def _owner() -> Owner | None:
    """What the lock says; None if there is none, or none that can be read."""
    try:
        said = json.loads(lock_path().read_text(encoding="utf-8"))
        return Owner(int(said["pid"]), str(said["host"]), str(said["token"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _old() -> bool:
    try:
        return time.time() - lock_path().stat().st_mtime > STALE_SECONDS
    except OSError:
        return True


def _detached() -> dict[str, Any]:
    if sys.platform == "win32":
        return {"creationflags": 0x00000008 | 0x00000200}  # DETACHED_PROCESS, CREATE_NEW_PROCESS_GROUP
    return {"start_new_session": True}
