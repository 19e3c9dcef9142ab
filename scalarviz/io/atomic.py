"""The only way to write a file: whole, or not at all; and what is checked before one is opened for reading.

Reading a pickle (PyTorch's ``.pt``) runs a program; users convert it to safetensors where it was made.
"""

from __future__ import annotations

import errno
import os
import re
import secrets
import shutil
import socket
import stat
import subprocess
import sys
import tempfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import TypeGuard

from ..errors import FileFormatError, InputError, MissingDependencyError, TypeMismatchError, shown, typed

StrPath = str | os.PathLike[str]
LONGEST = 240  # the most characters of a path in a message


def as_path(path: object) -> Path:
    """Return `path` as a Path; TypeMismatchError if it is neither a text nor a path."""
    if isinstance(path, str | os.PathLike) and isinstance(os.fspath(path), str):
        return Path(path)
    raise TypeMismatchError(f"a file name must be a string or a path, got {typed(path)}")


def path_text(path: StrPath) -> str:
    """Return a path for a message, quoted if it could be a word; the middle of a long one is left out."""
    text = str(path) if {*str(path)} & {*"./\\"} or not str(path).isprintable() else f"'{path}'"
    return text if len(text) <= LONGEST else f"{text[: LONGEST // 2]} ... {text[-LONGEST // 2 :]}"


def check_target(path: StrPath) -> Path:
    """Return the file to write, with links resolved; nothing is changed.

    InputError if `path` is a folder, a device or a read-only file, if its link is a cycle, or if no file can be created
    there.
    """
    target = as_path(path)
    try:
        _check_name(target)
        if target.is_symlink():
            target = Path(os.path.realpath(target))
        if target.is_symlink():  # pathlib reports nothing, or raises RuntimeError
            raise InputError(f"cannot write {path}: its symbolic link points back to itself")
        if target.is_dir():
            raise InputError(f"cannot write {path_text(path)}: it is a folder; give a file name")
        if target.exists() and not target.is_file():
            raise InputError(f"cannot write {path_text(path)}: it is not a regular file")
        # the folder's rights decide who may replace a file, and root may do everything: only the mode shows the owner's
        # wish
        if target.exists() and not (mode := stat.S_IMODE(target.stat().st_mode)) & 0o222:
            why = f"it is read-only (mode {mode:04o})"
            raise InputError(f"cannot write {path_text(path)}: {why}; give another name, or allow writing: chmod u+w")
        parent, made = target.absolute().parent, [target.name]
        while not parent.exists():
            parent, made = parent.parent, [*made, parent.name]
        if not target.parent.exists():  # the system cannot check these names yet
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
    """Yield a new file's name beside `path`; when the block ends without an error, the file becomes `path`.

    The new file is empty, in the same folder, with the same suffix (programs detect formats by it). ``put(new, path)``
    renames it; default: replace `path`. Missing folders are created. After an error the new file is removed, an old
    `path` is unchanged, and an InputError gives the reason. Leftovers of killed processes that wrote the same `path`
    are removed. The new file has the mode of the old one from the start, or the mode of any new file under the umask.
    """
    target = check_target(path)
    begin, end = _beginning(target), f".part{target.suffix}"
    fresh = target.with_name(f"{begin}{os.getpid()}-{secrets.token_hex(4)}{end}")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        for leftover in _of_ended(target.parent, rf"{re.escape(begin)}(\d+)-[0-9a-f]{{8}}{re.escape(end)}"):
            with suppress(OSError):  # a file that cannot be removed stays
                leftover.unlink(missing_ok=True)
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
    """Write `data` to `path`, whole or not at all; InputError if that fails."""
    if not isinstance(data, bytes | bytearray | memoryview):
        raise TypeMismatchError(f"write_bytes {shown(path)}: the data must be bytes, got {type(data).__name__}")
    with replacing(path) as fresh:
        fresh.write_bytes(data)


def append_bytes(path: StrPath, data: bytes) -> None:
    """Write `data` behind what a file holds, in one call of the system; InputError if that fails: nothing is added."""
    try:
        with open(path, "r+b", buffering=0) as file:
            end = file.seek(0, os.SEEK_END)
            try:
                if file.write(data) < len(data):
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
                os.fsync(file.fileno())
            except OSError:
                file.truncate(end)
                raise
    except OSError as error:
        raise _refusal(path, error) from error


def _beginning(target: Path) -> str:
    """Return the start of new files' names on this machine, with as much of the target's name as fits."""
    stem = target.stem
    while len(os.fsencode(stem)) > 80:
        stem = stem[:-1]
    return f".{stem}.{machine_id()}-"


def _of_ended(folder: Path, pattern: str) -> Iterator[Path]:
    """Yield the files and folders in a folder whose process, a number in their names, has ended."""
    with suppress(OSError):  # best effort: what cannot be listed stays
        for name in os.listdir(folder):
            if (found := re.fullmatch(pattern, name)) and not is_running(int(found[1])):
                yield folder / name


def _keep_access(old: Path, new: Path) -> None:
    """Give the new file the owner and the mode of the old one."""
    known = old.stat()
    if hasattr(os, "chown"):
        with suppress(OSError):  # only root may change the owner
            os.chown(new, known.st_uid, known.st_gid)
    os.chmod(new, stat.S_IMODE(known.st_mode))


def _sync_folder(folder: Path) -> None:
    """Make the rename survive a power cut, if the system can (Windows cannot open folders)."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _refusal(path: StrPath, error: OSError) -> InputError:
    return InputError(f"cannot write {path_text(path)}: {(error.strerror or str(error)).lower()}")


def _check_lengths(folder: Path, names: list[str]) -> None:
    """Raise OSError if a name is too long for `folder`, if the system knows the limit."""
    if hasattr(os, "pathconf"):
        most = os.pathconf(folder, "PC_NAME_MAX")
        if any(len(os.fsencode(name)) > most > 0 for name in names):
            raise OSError(errno.ENAMETOOLONG, os.strerror(errno.ENAMETOOLONG))


def _check_name(path: Path) -> None:
    """Raise InputError if no file can have that name, or OSError if it is too long or its folder cannot be searched."""
    try:
        os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        pass
    except ValueError as error:  # a NUL, or letters that the file system cannot encode
        raise InputError(f"cannot write {path_text(path)!a}: it is not a valid file name ({error})") from None


# ---- Names of temporary folders: the next process removes those of a killed one.


def scratch() -> str:
    """Return the start of this process's temporary folder names: ``TemporaryDirectory(prefix=scratch())``.

    Also remove this user's folders of that kind whose processes have ended.
    """
    begin = f"scalarviz-{machine_id()}-"
    for folder in _of_ended(Path(tempfile.gettempdir()), rf"{begin}(\d+)-\w+"):
        if _owned(folder):
            shutil.rmtree(folder, ignore_errors=True)
    return f"{begin}{os.getpid()}-"


def _owned(folder: Path) -> bool:
    """Return whether it is a folder of this user, not a link."""
    with suppress(OSError):
        return not folder.is_symlink() and (not hasattr(os, "getuid") or folder.stat().st_uid == os.getuid())
    return False


# ---- Before a file is opened for reading: it exists, is a regular file, and is no pickle.


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


def in_wheel(package: str, file: StrPath, needs: str) -> Path:
    """Return a file of an installed package of the extra ``data``, which is not imported: that may take seconds.

    MissingDependencyError, which begins with `needs`, if there is none.
    """
    spec = find_spec(package)
    for folder in (spec.submodule_search_locations or []) if spec else []:
        if (path := Path(folder) / file).is_file():
            return path
    raise MissingDependencyError(f'{needs} the data extra: pip install "scalarviz[data]"')


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
            'To convert a trusted file: python -c "import torch, safetensors.torch as s; s.save_file({k: v.clone()'
            f".contiguous() for k, v in torch.load({source!r}, map_location='cpu', weights_only=True).items()}}, "
            f'{target!r})"'
        )
        if network:
            onnx = path_text(path.with_suffix(".onnx"))
            way = f"Load it in PyTorch, and write the network as ONNX: torch.onnx.export(net, (one_batch,), {onnx!r})"
        why = "scalarviz never opens pickles, because they can run any program"
        raise FileFormatError(f"{source} holds a pickle; {why}. {way}")


# ---- Processes: is the one that wrote a name still running.


def is_running(pid: int) -> bool:
    """Return whether a process with this id runs on this machine; one that ended and is not waited for does not."""
    if sys.platform == "win32":  # os.kill(pid, 0) would end it there
        listed = subprocess.run(
            ["tasklist", "/FI", f"PID eq {pid}", "/NH"], capture_output=True, text=True, check=False
        )
        return str(pid) in listed.stdout.split()
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:  # another user's
        return True
    return _status(pid)[:1] not in (["Z"], ["X"])


def born(pid: int) -> str:
    """Return when a process began, in the system's count; empty if unknown. Ids are used again."""
    return "".join(_status(pid)[19:20])


def machine_id() -> str:
    """Return eight hex digits for the machine, or the container, whose process ids this process sees."""
    name = socket.gethostname()
    with suppress(OSError):  # containers may share the name of their machine, and have process ids of their own
        name += os.readlink("/proc/self/ns/pid")
    return f"{zlib.crc32(name.encode()):08x}"


def _status(pid: int) -> list[str]:
    """Return Linux's words about a process, from its state on; empty on other systems, or without that process."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
    except OSError:
        return []
