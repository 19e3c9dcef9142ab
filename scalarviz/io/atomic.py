"""The one way a file gets written: whole, or not at all."""

from __future__ import annotations

import errno
import os
import re
import secrets
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ..errors import InputError, TypeMismatchError, shown
from ..process import is_running, machine_id

StrPath = str | os.PathLike[str]
LONGEST = 240  # letters of a path that a message shows


def as_path(path: object) -> Path:
    """`path` as a Path; TypeMismatchError if it is neither a text nor a path."""
    if isinstance(path, str | os.PathLike) and isinstance(os.fspath(path), str):
        return Path(path)
    raise TypeMismatchError(f"a file name must be a string or a path, got {type(path).__name__} {shown(path)}")


def path_text(path: StrPath) -> str:
    """A path for a message; of a very long one the middle is left out, so that its name is seen."""
    text = str(path) or "''"
    return text if len(text) <= LONGEST else f"{text[: LONGEST // 2]} ... {text[-LONGEST // 2 :]}"


def check_target(path: StrPath) -> Path:
    """The file that will be written, links followed, if it can be; touches nothing.

    InputError if `path` is a folder, a device or a read-only file, its link leads in a circle, or no file can be made
    there.
    """
    target = as_path(path)
    try:
        _check_name(target)
        if target.is_symlink():
            target = Path(os.path.realpath(target))
        if target.is_symlink():  # pathlib says nothing of it, or raises RuntimeError
            raise InputError(f"cannot write {path}: its symbolic link points back to itself")
        if target.is_dir():
            raise InputError(f"cannot write {path_text(path)}: it is a folder; give a file name")
        if target.exists() and not target.is_file():
            raise InputError(f"cannot write {path_text(path)}: it is not a regular file")
        # the folder decides who may replace a file, and root may everything: what its owner wants stands in its mode
        if target.exists() and not (mode := stat.S_IMODE(target.stat().st_mode)) & 0o222:
            why = f"it is read-only (mode {mode:04o})"
            raise InputError(f"cannot write {path_text(path)}: {why}; give another name, or allow writing: chmod u+w")
        parent, made = target.absolute().parent, [target.name]
        while not parent.exists():
            parent, made = parent.parent, [*made, parent.name]
        if not target.parent.exists():  # the system cannot know yet that it will refuse these names
            _check_lengths(parent, made)
    except OSError as error:
        raise _refusal(path, error) from None
    if not parent.is_dir():
        raise InputError(f"cannot write {path_text(path)}: {path_text(parent)} is a file, not a folder")
    if not os.access(parent, os.W_OK | os.X_OK):
        raise InputError(f"cannot write {path_text(path)}: no permission to write in {path_text(parent)}")
    return target


@contextmanager
def replacing(path: StrPath, put: Callable[[Path, Path], object] | None = None) -> Iterator[Path]:
    """Give a new file's name beside `path`; what was written there becomes `path` when the block ends well.

    The file is empty, in the same folder, with the same suffix (programs tell formats by it). ``put(new, path)`` gives
    it a name; default: that of `path`, in place of an old one. Missing folders are made. After an error the new file is
    gone and an old `path` is untouched; an InputError says what is wrong. What a process that was killed while it wrote
    the same `path` has left behind is removed. The new file has the old one's mode, also while it is written; without
    an old one it has what the umask leaves, as a file of ``open`` has.
    """
    target = check_target(path)
    begin, end = _beginning(target), f".part{target.suffix}"
    fresh = target.with_name(f"{begin}{os.getpid()}-{secrets.token_hex(4)}{end}")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        _sweep(target.parent, begin, end)
        os.close(os.open(fresh, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
        if target.exists():
            _keep_access(target, fresh)
        yield fresh
        with open(fresh, "rb+") as written:
            os.fsync(written.fileno())
        (put or os.replace)(fresh, target)
    except OSError as error:
        raise _refusal(path, error) from error
    finally:
        with suppress(OSError):
            fresh.unlink(missing_ok=True)
    _sync_folder(target.parent)


def write_bytes(path: StrPath, data: bytes) -> None:
    """Write `data` to `path`, whole or not at all; InputError if that cannot be done."""
    if not isinstance(data, bytes | bytearray | memoryview):
        raise TypeMismatchError(f"write_bytes {shown(path)}: the data must be bytes, got {type(data).__name__}")
    with replacing(path) as fresh:
        fresh.write_bytes(data)


def _beginning(target: Path) -> str:
    """How the new files' names begin on this machine: with as much of the target's as a name has room for."""
    stem = target.stem
    while len(os.fsencode(stem)) > 80:
        stem = stem[:-1]
    return f".{stem}.{machine_id()}-"


def _sweep(folder: Path, begin: str, end: str) -> None:
    """Remove the new files of processes that are no more; one of a living process is never touched."""
    mine = re.compile(rf"{re.escape(begin)}(\d+)-[0-9a-f]{{8}}{re.escape(end)}")
    with suppress(OSError):  # a courtesy: what cannot be looked at or removed stays
        for name in os.listdir(folder):
            if (found := mine.fullmatch(name)) and not is_running(int(found[1])):
                (folder / name).unlink(missing_ok=True)


def _keep_access(old: Path, new: Path) -> None:
    """Let those read and write the new file who may the old one."""
    known = old.stat()
    if hasattr(os, "chown"):
        with suppress(OSError):  # only root may give files away
            os.chown(new, known.st_uid, known.st_gid)
    os.chmod(new, stat.S_IMODE(known.st_mode))


def _sync_folder(folder: Path) -> None:
    """Make the rename itself last through a power cut, where the system can (Windows cannot open folders)."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _refusal(path: StrPath, error: OSError) -> InputError:
    return InputError(f"cannot write {path_text(path)}: {(error.strerror or str(error)).lower()}")


def _check_lengths(folder: Path, names: list[str]) -> None:
    """OSError if a name is too long for `folder`, where the system says how long they may be."""
    if hasattr(os, "pathconf"):
        most = os.pathconf(folder, "PC_NAME_MAX")
        if any(len(os.fsencode(name)) > most > 0 for name in names):
            raise OSError(errno.ENAMETOOLONG, os.strerror(errno.ENAMETOOLONG))


def _check_name(path: Path) -> None:
    """InputError if no file can have that name; OSError if it is too long or its folder cannot be searched."""
    try:
        os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        pass
    except ValueError as error:  # a NUL, or letters that the file system's encoding has not
        raise InputError(f"cannot write {path_text(path)!a}: it is not a valid file name ({error})") from None


# ---- Names of folders for files that nobody keeps: those of a process that was killed go away with the next one.


def scratch() -> str:
    """How the name of a temporary folder of this process begins: ``TemporaryDirectory(prefix=scratch())``.

    Folders that were begun so by processes which are no more, and are this user's own, are removed.
    """
    begin = f"scalarviz-{machine_id()}-"
    mine = re.compile(rf"{begin}(\d+)-\w+")
    with suppress(OSError):  # a courtesy: what cannot be looked at stays
        folder = Path(tempfile.gettempdir())
        for name in os.listdir(folder):
            if (found := mine.fullmatch(name)) and not is_running(int(found[1])) and _owned(folder / name):
                shutil.rmtree(folder / name, ignore_errors=True)
    return f"{begin}{os.getpid()}-"


def _owned(folder: Path) -> bool:
    """Whether it is a folder, and no link to one, of who runs this."""
    with suppress(OSError):
        return not folder.is_symlink() and (not hasattr(os, "getuid") or folder.stat().st_uid == os.getuid())
    return False
