"""libNVVM, NVIDIA's compiler from LLVM code to GPU code: finding it, and loading it before numba does.

numba-cuda uses NVIDIA's own finder (``cuda.pathfinder``): it looks in pip's and conda's packages, where the system
looks for libraries, and below ``CUDA_HOME`` or ``CUDA_PATH``. This module also looks in the folder of ``nvcc``, and
``SCALARVIZ_NVVM`` may name a library, or its folder, to use first. The finder uses a library that is already loaded,
so it is enough to load ours first. Loads no numba.
"""

from __future__ import annotations

import ctypes
import os
import re
import shutil
import sys
import threading
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from ...errors import MissingDependencyError
from ..cache import intruder

NAMED = "SCALARVIZ_NVVM"
"""Environment variable that names a libNVVM, or a folder with one, such as a CUDA toolkit."""
LIBRARIES = ("libnvvm.so.4", "libnvvm.so") if sys.platform != "win32" else ("nvvm70.dll", "nvvm64_40_0.dll")
FOLDERS = ("", "nvvm/lib64", "nvvm/bin/x64", "nvvm/bin", "lib64", "lib", "bin")
"""Its places below such a folder, or below a toolkit."""
LIBDEVICE = "libdevice.10.bc"
INSTALL = 'pip install "scalarviz[cuda]"'
EMPTY = """target triple = "nvptx64-unknown-cuda"
target datalayout = "e-p:64:64:64-i1:8:8-i8:8:8-i16:16:16-i32:32:32-i64:64:64-i128:128:128-f32:32:32-f64:64:64-\
v16:16:16-v32:32:32-v64:64:64-v128:128:128-n16:32:64"
!nvvmir.version = !{!0}
!0 = !{i32 2, i32 0}
"""
_LOCK = threading.Lock()


@dataclass(frozen=True, slots=True)
class Compiler:
    """A loaded libNVVM."""

    library: Path
    libdevice: Path | None  # its mathematical functions; None if there is no file: numba looks for one


def use_nvvm() -> Compiler:
    """Load libNVVM for numba's compiler.

    Raises MissingDependencyError, whose clause follows the engine's name, if there is none, or if it may not
    be loaded.
    """
    with _LOCK:
        return _loaded(os.environ.get(NAMED, ""), os.environ.get("PATH", ""))


@cache
def _loaded(named: str, path: str) -> Compiler:
    """Return the same for given settings; a loaded library stays loaded in this process."""
    if named:
        library = _named(Path(os.path.expanduser(named)))
        _load(library, f"which {NAMED} names")
    else:
        library = _found() or _beside_nvcc(path)
    return Compiler(library, libdevice_of(library))


def toolkit() -> str:
    """Return the release of the CUDA toolkit with this libNVVM, as the library reports it: ``"13.0.88"``."""
    return _release(use_nvvm())


@cache
def _release(compiler: Compiler) -> str:
    from cuda.bindings import nvvm

    program = nvvm.create_program()
    try:
        nvvm.add_module_to_program(program, EMPTY.encode(), len(EMPTY), "empty")
        nvvm.compile_program(program, 0, [])
        text = bytearray(nvvm.get_compiled_result_size(program))
        nvvm.get_compiled_result(program, text)
    except nvvm.nvvmError as error:
        raise MissingDependencyError(f"cannot compile with {compiler.library} ({error}): {INSTALL}") from None
    finally:
        nvvm.destroy_program(program)
    found = re.search(rb"release [0-9.]+, V([0-9.]+)", text)
    if found is None:
        raise MissingDependencyError(f"cannot read the version of {compiler.library}: {INSTALL}")
    return found[1].decode()


@cache
def processors() -> tuple[int, ...]:
    """Return the GPUs that the toolkit supports: 90 for sm_90. numba also asks NVRTC for them, which may be missing."""
    from cuda.bindings import nvrtc

    try:
        code, found = nvrtc.nvrtcGetSupportedArchs()
    except RuntimeError:  # the bindings raise this for a missing library
        raise MissingDependencyError(
            f"needs NVRTC, which was not found: {INSTALL}, or name a toolkit in CUDA_HOME"
        ) from None
    if int(code) or not found:
        raise MissingDependencyError(f"cannot ask NVRTC for the GPUs that it knows ({code.name}): {INSTALL}")
    return tuple(found)


def library_in(place: Path) -> Path | None:
    """Return the libNVVM in a folder, which may be a toolkit; None if there is none."""
    tried = (place / folder / name for folder in FOLDERS for name in LIBRARIES)
    return next(filter(os.path.isfile, tried), None)


def libdevice_of(library: Path) -> Path | None:
    """Return the file of mathematical functions of a libNVVM: ``nvvm/libdevice`` of a toolkit, or in its folder."""
    folders = ("", "libdevice", "nvvm/libdevice")
    tried = (up / folder / LIBDEVICE for up in list(library.parents)[:3] for folder in folders)
    return next(filter(os.path.isfile, tried), None)


def _named(place: Path) -> Path:
    """Return the library that the user named; no other user may be able to change it, because it is code."""
    library = place if os.path.isfile(place) else library_in(place)
    if library is None:
        kind = f"that folder has no {' or '.join(LIBRARIES)}" if os.path.isdir(place) else "that does not exist"
        raise MissingDependencyError(f"has no compiler: {NAMED} is {str(place)!r}, but {kind}; set it to libNVVM")
    beside = libdevice_of(library)
    for file in (library, beside) if beside else (library,):
        if reason := intruder(file):
            raise MissingDependencyError(
                f"does not load {file} (named by {NAMED}), because a compiler is code: {reason}, or name another file"
            )
    return library.resolve()


def _found() -> Path | None:
    """Return the library that NVIDIA's finder finds and loads."""
    from cuda import pathfinder

    try:
        return Path(pathfinder.load_nvidia_dynamic_lib("nvvm").abs_path)
    except (pathfinder.DynamicLibNotFoundError, OSError):  # OSError: the library exists but is broken
        return None


def _beside_nvcc(path: str) -> Path:
    nvcc = shutil.which("nvcc", path=path)
    library = library_in(Path(nvcc).resolve().parents[1]) if nvcc else None
    if library is None:
        raise MissingDependencyError(
            f"needs libNVVM, which was not found: {INSTALL}, or name a CUDA toolkit's in CUDA_HOME or {NAMED}"
        )
    _load(library, "which lies beside nvcc")
    return library


def _load(library: Path, which: str) -> None:
    try:
        ctypes.CDLL(str(library), mode=ctypes.RTLD_GLOBAL)
    except OSError as error:
        why = " ".join(str(error).split())
        raise MissingDependencyError(f"cannot load {library}, {which} ({why}): {INSTALL}") from None
    taken = _found()
    if taken is None or not taken.samefile(library):
        raise MissingDependencyError(f"cannot use {library}, {which}: {taken} is already loaded; restart Python")
