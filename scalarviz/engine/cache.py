"""Compiled kernels on disk: their folder, who may write there, their version, and compiling many at once.

::

    <user's cache>/scalarviz/<version>/      one folder for each version of all that becomes machine code

These files are code: whoever can write them can run code as this user. So `foreign` refuses files and folders that
other users can change. A version is a hash of sources, compilers and settings, without paths and times: all copies of
one version share their kernels. A folder that was not used for a month is removed.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import stat
import subprocess
import sys
import tempfile
import time
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from importlib import metadata
from pathlib import Path
from shlex import quote
from threading import Thread
from typing import Any, Generic, TypeVar

from ..errors import InputError, StateError
from .cost import processors

ROOT = 0
"""The user number of the administrator, who may change everything."""


def foreign(path: Path) -> str:
    """Return why users other than this one and root can change a file or folder, as one clause; empty on Windows."""
    if not hasattr(os, "getuid"):
        return ""
    try:
        found = os.stat(path)
    except OSError:
        return ""
    if found.st_uid not in (os.getuid(), ROOT):
        return _owner_words(found)
    return _writable(path, found, "-R ") if found.st_mode & (stat.S_IWGRP | stat.S_IWOTH) else ""


def intruder(path: Path) -> str:
    """Return the first of a file and its parent folders that users other than this one and root can change, and why.

    It checks the path as given and with links resolved; empty if there is none. It allows sticky folders such as
    ``/tmp``, where only owners may rename and remove, and folders that root opened to a group.
    """
    if not hasattr(os, "getuid"):
        return ""
    for part in _with_parents(path):
        found = os.stat(part)
        if found.st_uid not in (os.getuid(), ROOT):
            return f"{part} {_owner_words(found)}"
        group = found.st_mode & stat.S_IWGRP and found.st_uid != ROOT
        sticky = stat.S_ISDIR(found.st_mode) and found.st_mode & stat.S_ISVTX
        if (group or found.st_mode & stat.S_IWOTH) and not sticky:
            return f"{part} {_writable(part, found)}"
    return ""


def _with_parents(path: Path) -> Iterator[Path]:
    named = Path(os.path.abspath(path))
    yield from dict.fromkeys(part for way in (named, named.resolve()) for part in (way, *way.parents))


def _owner_words(found: os.stat_result) -> str:
    return f"belongs to another user (number {found.st_uid})"


def _writable(path: Path, found: os.stat_result, whole: str = "") -> str:
    remedy = f"chmod {whole}go-w {quote(str(path))}"
    return f"can be written by others (mode {stat.S_IMODE(found.st_mode):o}); run `{remedy}`"


PACKAGE = Path(__file__).resolve().parents[1]
SETTINGS_FILE = ".numba_config.yaml"
"""numba also reads settings from this file, in the working folder."""


def digest(said: object, texts: Iterable[tuple[str, str]]) -> str:
    """Return a hash of an object's `repr` and of named texts, 16 characters."""
    hasher = hashlib.sha256(repr(said).encode())
    for name, text in texts:
        hasher.update(f"\0{name}\0{text}".encode())
    return hasher.hexdigest()[:16]


def sources(package: Path, patterns: Sequence[str]) -> list[tuple[str, str]]:
    r"""Return the name and the text of every file that becomes machine code.

    Line endings are read as ``\n``, so that they do not change the hash. RuntimeError if there are no sources, because
    all versions would then have the same hash.
    """
    found = []
    for pattern in patterns:
        paths = sorted(package.glob(pattern))
        if not paths:
            raise RuntimeError(f"{package} has no {pattern}; the cache needs the sources to tell which kernels fit")
        found += [(path.relative_to(package).as_posix(), path.read_text(encoding="utf-8")) for path in paths]
    return found


def installed(package: str) -> str:
    """Return the installed version of a package, or "none"."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "none"


def settings(names: Sequence[str]) -> list[str | None]:
    """Return the values of environment variables."""
    return [os.environ.get(name) for name in names]


def settings_file() -> str:
    """Return the text of numba's settings file; empty if there is none."""
    try:
        return Path(SETTINGS_FILE).read_text(encoding="utf-8")
    except (OSError, UnicodeError):
        return ""


OWN = "SCALARVIZ_CACHE_DIR"
"""The environment variable that names another cache folder."""
PRIVATE = 0o700
"""The mode of new folders: other users can neither read nor write them."""
LOCK = "compiling"
"""The lock file of a process that compiles into a folder."""
BUILD = "build-"
"""Prefix of unfinished files and folders."""
UNUSED_DAYS, UNFINISHED_DAYS = 30, 1
SAMPLE = bytes(1 << 16)
"""Data of a write test; a full disk may still accept a few bytes."""


def user_cache() -> Path:
    """Return the user's cache folder, or that in ``SCALARVIZ_CACHE_DIR``; InputError without a home folder."""
    own = os.environ.get(OWN)
    try:
        if own:
            return Path(own).expanduser()
        if sys.platform == "win32":
            return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local") / "scalarviz"
        if sys.platform == "darwin":
            return Path.home() / "Library" / "Caches" / "scalarviz"
        return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "scalarviz"
    except RuntimeError:  # pathlib raises this for an unknown home folder
        if own:
            raise InputError(f"{OWN} is {own!r}, but that user has no home folder; set {OWN} to a folder") from None
        raise InputError(f"there is no home folder for compiled kernels; set {OWN} to a folder") from None


class CacheFolder:
    """The cache folders of one engine: the name is `prefix` plus the version hash from `key`."""

    def __init__(self, key: Callable[[], str], prefix: str = "") -> None:
        self.key, self.prefix = key, prefix

    def folder(self) -> Path:
        """Return the folder of this version (it may not exist yet)."""
        return user_cache() / (self.prefix + self.key())

    def make(self) -> Path:
        """Return the folder of this version, created for this user alone if needed; OSError if that fails."""
        path = self.folder()
        path.parent.parent.mkdir(parents=True, exist_ok=True)
        for made in (path.parent, path):
            made.mkdir(mode=PRIVATE, exist_ok=True)
        return path

    @contextmanager
    def alone(self, stopped: Callable[[], bool]) -> Iterator[None]:
        """Hold a lock so that one process at a time compiles (not on Windows); StateError if `stopped` ends it."""
        with ExitStack() as stack:
            with suppress(OSError):
                file = stack.enter_context(open(self.make() / LOCK, "a", encoding="utf-8"))
                while not _locked(file.fileno()):
                    if stopped():
                        raise StateError("the kernels are not compiled: compilation was cancelled")
                    time.sleep(0.1)
            yield

    def closed(self, unit: str = "") -> str:
        """Return why nothing may be loaded from the folder, or a unit in it, as one clause; empty if loading is safe.

        Every folder from the user's cache down, and the unit (a file, or a folder with its files), must belong to this
        user or to root, who may have filled it for a whole class, and no other user may write to it.
        """
        try:
            root = user_cache()
        except InputError as error:
            return str(error)
        for path in self._on_the_way(root, unit):
            if reason := foreign(path):
                why = f"{path} {reason}, or set {OWN} to another folder"
                return f"the cache folder {root} is not used, because compiled kernels are code: {why}"
        return ""

    def _on_the_way(self, root: Path, unit: str) -> Iterator[Path]:
        here = self.folder()
        yield from (root, here)
        if unit:
            yield here / unit
            with suppress(OSError):  # a file, or missing or unreadable, which its reader will report
                yield from sorted((here / unit).iterdir())

    def refusal(self) -> str:
        """Return why kernels are not stored or loaded: folder, reason and remedy as one clause; empty if they are."""
        if reason := self.closed():
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
            return f"cannot write to the cache folder {folder} ({reason}); set {OWN} to another folder"
        return ""

    def prune(self) -> None:
        """Remove other versions that were not used for a month, and unfinished files."""
        here = self.folder()
        with suppress(OSError):  # cleaning up is optional
            os.utime(here)
            old = [p for p in here.parent.iterdir() if p != here and self._is_version(p) and _age(p) > UNUSED_DAYS]
            for path in (*old, *(p for p in here.glob(f"{BUILD}*") if _age(p) > UNFINISHED_DAYS)):
                remove(path)

    def _is_version(self, path: Path) -> bool:
        return path.name.startswith(self.prefix) and len(path.name) == len(self.folder().name)

    def used(self) -> None:
        """Mark this version as used, once per process."""
        _touch(self.folder())


def _locked(number: int) -> bool:
    try:
        import fcntl
    except ImportError:  # Windows
        return True
    try:
        fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def remove(path: Path) -> None:
    """Remove a folder or a file, as far as permissions allow."""
    shutil.rmtree(path, ignore_errors=True)
    with suppress(OSError):
        path.unlink(missing_ok=True)


@cache
def warn_once(message: str) -> None:
    """Warn in one line, without a source line, once per process."""
    warnings.warn_explicit(message, RuntimeWarning, filename="scalarviz", lineno=0)


def tell(line: str) -> None:
    """Print a line on stderr; ignore errors, such as a full disk or a closed terminal."""
    with suppress(OSError, ValueError, AttributeError):
        print(line, file=sys.stderr, flush=True)


@cache
def _touch(folder: Path) -> None:
    with suppress(OSError):
        os.utime(folder)


def _age(path: Path) -> float:
    return (time.time() - path.stat().st_mtime) / 86400


Unit = TypeVar("Unit", bound=tuple[Any, ...])
Progress = Callable[[int, int, str], None]
Helper = subprocess.Popen[bytes]
Helpers = Sequence[Helper]


@dataclass(frozen=True, slots=True)
class Filling(Generic[Unit]):
    """A compilation of all `units`, in order; ``make(unit)`` puts one into the cache.

    ``progress(done, total, next_name)`` is called before each unit, and once at the end. `stopped` is called ten times
    per second; True cancels the compilation. Units that are `only_here` are not for helpers: this process makes them
    meanwhile.
    """

    units: Sequence[Unit]
    is_there: Callable[[Unit], bool]
    make: Callable[[Unit], object]
    named: Callable[[Unit], str]
    progress: Progress | None = None
    stopped: Callable[[], bool] = lambda: False
    only_here: Callable[[Unit], bool] = lambda unit: False

    def fill(self, missing: Sequence[Unit], helpers: Helpers = ()) -> None:
        """Compile the missing units in the helper processes, or without helpers in this one.

        All helpers have ended when this returns. StateError if it was cancelled.
        """
        told, left = -1, deque(unit for unit in missing if not self.only_here(unit))

        def report(unit: Unit | None) -> None:
            nonlocal told
            if self.progress is None:
                return
            done = len(self.units) if unit is None else sum(map(self.is_there, self.units))
            if done > told:
                told = done
                self.progress(done, len(self.units), "done" if unit is None else self.named(unit))

        threads = [Thread(target=_hand_out, args=(helper, left), name="scalarviz-compiling") for helper in helpers]
        try:
            for thread in threads:
                thread.start()
            for unit in filter(self.only_here, missing if threads else ()):
                report(unit)
                self.make(unit)
            for thread in threads:
                while thread.is_alive():
                    report(next((unit for unit in missing if not self.is_there(unit)), None))
                    if self.stopped():
                        raise StateError("the kernels are not compiled: compilation was cancelled")
                    thread.join(0.1)
        finally:
            for helper in helpers:
                helper.kill()
            for helper, thread in zip(helpers, threads, strict=True):
                if thread.ident is not None:
                    thread.join()
                with suppress(BrokenPipeError), helper:  # closes its pipes
                    pass
        for unit in missing:  # also units that helpers cannot compile: operations registered in this process
            if not self.is_there(unit):
                report(unit)
                self.make(unit)
        report(None)


def _hand_out(helper: Helper, left: deque[Unit]) -> None:
    """Send a helper one unit after the other until none is left, or the helper has ended."""
    assert helper.stdin is not None
    assert helper.stdout is not None
    with suppress(IndexError, OSError):
        while True:
            helper.stdin.write(json.dumps(left.popleft()).encode() + b"\n")
            helper.stdin.flush()
            if not helper.stdout.readline():
                return


FEW = 8
"""For fewer units, starting a helper process takes longer than it saves."""
MOST = 8
"""The most helper processes."""


def start_helpers(module: str, units: int, place: CacheFolder, few: int = FEW) -> list[Helper]:
    """Start helper processes that call ``help_out(unit)`` of a module; none for few units or without a shared cache."""
    if units < few or place.closed():
        return []
    code = f"from {__name__} import serve; from {module} import help_out; serve(help_out)"
    paths = os.pathsep.join([str(PACKAGE.parent), *filter(None, [os.environ.get("PYTHONPATH")])])
    found: list[Helper] = []
    with suppress(OSError):
        place.make()
        for _ in range(min(processors(), units, MOST)):
            found.append(
                subprocess.Popen(
                    [sys.executable, "-c", code],
                    env={**os.environ, "PYTHONPATH": paths},
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.DEVNULL,  # this process will report the same errors
                    start_new_session=True,  # Ctrl-C goes to this process, which ends the helpers
                )
            )
    return found


def serve(help_out: Callable[[Any], object]) -> None:
    """Compile the units that another process sends, until it ends."""
    for line in sys.stdin:
        with suppress(Exception):  # the other process then compiles the unit and reports the error
            help_out(tuple(json.loads(line)))
        print(flush=True)
