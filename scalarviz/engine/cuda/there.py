"""Check whether CUDA can be used, what is missing, which GPUs there are, and what the driver's errors mean.

The codes are those of ``CUresult`` in ``cuda.h``. This module loads the driver only to look for a GPU. It never loads
numba, and loads nothing if numba-cuda is not installed.
"""

from __future__ import annotations

import os
import re
import sys
from dataclasses import dataclass
from functools import cache
from importlib import metadata
from typing import Any

from ...errors import DeviceError, DeviceLostError, DeviceMemoryError, MissingDependencyError
from ..cost import has_package
from ..cpu.units import no_numba
from . import images, nvvm

FORKED = 'this process is a fork of a process that used the GPU; start processes with "spawn"'

BROKEN = frozenset((4, 201, 214, 220, 226, 700, 702, 709, 710, 714, 715, 716, 717, 718, 719, 721, 810, 911, 999))
"""After these errors a context cannot be used: according to ``cuda.h``, all further work returns the same error, or
the context is destroyed (4, 201, 709), or memory or a link has lost numbers (214, 220), or it says nothing (999)."""

GONE = frozenset((46, 100, 101))
"""The same for a device that was in use: it was disconnected, or taken away."""

OLD = frozenset((36, 222, 227, 804))
"""Errors of a driver that is too old."""

MEMORY, NOT_READY = 2, 600

HINTS = {
    3: FORKED,
    34: "a stub of the driver was found first: remove the toolkit's `stubs` from LD_LIBRARY_PATH",
    46: "another program may use it exclusively: `nvidia-smi` shows the compute mode",
    221: "the driver's compiler (libnvidia-ptxjitcompiler) is missing: install the whole driver",
    223: "CUDA_DISABLE_PTX_JIT forbids compiling: unset it",
    802: "a service of the driver is not running yet, such as nvidia-fabricmanager",
    803: "the driver's library and its kernel module are of different versions: restart the computer",
}
"""The remedy for each code."""

_LOST: dict[tuple[int, int], str] = {}


def lost(number: int) -> str:
    """Return why this process can no longer use a GPU, as one clause; empty if it can."""
    return _LOST.get((os.getpid(), number), "")


def lose(number: int, why: str) -> None:
    """Mark a GPU as lost for this process."""
    _LOST[os.getpid(), number] = why


def failure(api: Any, name: str, error: Any, version: int, begun: bool) -> DeviceError:
    """Return the error to raise for an error code of a function of ``cuda.bindings.driver`` (`api`).

    `version` is the driver's, 0 if unknown. A device that has not `begun` to work cannot be lost.
    """
    code, said = int(error), f"{in_words(api, error)} in {name}"
    hint = f"; {HINTS[code]}" if code in HINTS else ""
    if code == MEMORY:
        return DeviceMemoryError(f"the GPU has not enough free memory ({said})")
    if begun and code in BROKEN | GONE:
        return DeviceLostError(f"the GPU has stopped working ({said})")
    if code in OLD:
        return DeviceError(f'engine="cuda" {older(_toolkit(), version)} ({said})')
    return DeviceError(f"the GPU's driver refuses ({said}){hint}")


def in_words(api: Any, error: Any) -> str:
    """Return ``CUDA_ERROR_X: its meaning``."""
    name = getattr(error, "name", f"error {int(error)}")
    _, text = api.cuGetErrorString(error)  # None for an unknown code
    return f"{name}: {text.decode(errors='replace')}" if text else f"{name}, code {int(error)}"


def older(toolkit: str, version: int) -> str:
    """Return the clause, after the engine's name, for a driver that is older than the toolkit of the kernels.

    The toolkit's release is ``"13.0.88"``, or empty. The driver's version is ``1000 * major + 10 * minor``, or 0.
    """
    wanted = f"for CUDA {'.'.join(toolkit.split('.')[:2])} or newer" if toolkit else "newer than the installed one"
    here = f", but the installed one is for CUDA {version // 1000}.{version % 1000 // 10}" if version else ""
    return f"needs a driver {wanted}{here}: install a newer one"


def _toolkit() -> str:
    from .nvvm import toolkit

    try:
        return toolkit()
    except MissingDependencyError:  # the kernels were compiled elsewhere
        return ""


VISIBLE = "CUDA_VISIBLE_DEVICES"
"""The driver's environment variable with the numbers of the visible GPUs."""
LIBRARY = "nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1"


@dataclass(frozen=True, slots=True)
class Gpu:
    """One GPU."""

    number: int  # as in ``"cuda:1"``
    name: str
    memory: int  # total bytes
    capability: tuple[int, int]  # ``(9, 0)`` for sm_90

    def __str__(self) -> str:
        return f"{self.name}, {self.memory / 2**30:.1f} GiB, sm_{self.capability[0]}{self.capability[1]}"


@dataclass(frozen=True, slots=True)
class Driver:
    """NVIDIA's driver."""

    version: tuple[int, int]  # the newest CUDA that it supports
    gpus: tuple[Gpu, ...]


def driver() -> Driver:
    """Return the installed driver.

    MissingDependencyError has a clause that follows the engine's name: there is no driver, or it does not start.
    """
    return _asked(os.getpid())


@cache
def _asked(process: int) -> Driver:
    """Return the same for one process; a forked process must look again."""
    from cuda.bindings import driver as api

    try:
        (code,) = api.cuInit(0)
    except RuntimeError:  # the bindings raise this for a missing library
        raise MissingDependencyError(
            f"needs NVIDIA's driver, but {LIBRARY} was not found: install the driver"
        ) from None
    version = _checked(api, api.cuDriverGetVersion())
    gpus: tuple[Gpu, ...] = ()
    if code != api.CUresult.CUDA_ERROR_NO_DEVICE:
        _checked(api, (code, None))
        gpus = tuple(_gpu(api, number) for number in range(_checked(api, api.cuDeviceGetCount())))
    return Driver((version // 1000, version % 1000 // 10), gpus)


CAPABILITY = "CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY"


def _gpu(api: Any, number: int) -> Gpu:
    device = _checked(api, api.cuDeviceGet(number))
    name = _checked(api, api.cuDeviceGetName(256, device))
    kinds = (getattr(api.CUdevice_attribute, f"{CAPABILITY}_{part}") for part in ("MAJOR", "MINOR"))
    major, minor = (_checked(api, api.cuDeviceGetAttribute(kind, device)) for kind in kinds)
    memory = _checked(api, api.cuDeviceTotalMem(device))
    return Gpu(number, name.split(b"\0")[0].decode(errors="replace"), memory, (major, minor))


def _checked(api: Any, answer: tuple[Any, Any]) -> Any:
    """Return the driver's answer, if it is not an error."""
    code, result = answer
    if code == api.CUresult.CUDA_SUCCESS:
        return result
    hint = HINTS.get(int(code), "`nvidia-smi` may say more")
    raise MissingDependencyError(f"cannot start NVIDIA's driver ({in_words(api, code)}); {hint}")


INSTEAD = 'or use engine="numba"'
OLDEST = (0, 30)
"""The version of numba-cuda that ``setup.cfg`` requires."""
SIMULATOR = "NUMBA_ENABLE_CUDASIM"
"""numba's environment variable for its simulator."""


def no_cuda(device: int) -> str:
    """Return why GPU number `device` cannot be used, as one clause that follows the engine's name; empty if it can."""
    if why := no_numba():
        return why
    if simulated():
        return ""
    if sys.platform == "darwin":
        return 'needs an NVIDIA GPU, and macOS has no CUDA: use engine="numba"'
    try:
        why = _lost(device) or _no_packages() or _no_gpu(device)
        if not why and not images.named():
            why = _old_driver() or _too_old(device)
    except MissingDependencyError as error:
        why = str(error)
    return f"{why}, {INSTEAD}" if why else ""


def no_compiler() -> str:
    """Return why kernels cannot be compiled here, as one clause; empty if they can. Compiling needs no GPU."""
    if why := no_numba():
        return why
    if simulated():
        return f"cannot compile in numba's simulator: unset {SIMULATOR}"
    try:
        if not (why := _no_packages()):
            nvvm.toolkit(), nvvm.processors()
    except MissingDependencyError as error:
        return str(error)
    return why


def gpu_summary() -> str:
    """Return one line with the GPUs, the driver and the toolkit, if :func:`no_cuda` is empty."""
    if simulated():
        return f"numba's simulator ({SIMULATOR}=1): correct but slow, for tests"
    there = driver()
    cards = "; ".join(f"{gpu.number}: {gpu}" if len(there.gpus) > 1 else str(gpu) for gpu in there.gpus)
    made = f"kernels of {folder}" if (folder := images.named()) else f"toolkit {nvvm.toolkit()}"
    return f"{cards}; driver for CUDA {_dotted(there.version)}, {made}"


def simulated() -> bool:
    """Return whether numba's simulator runs the kernels; it needs neither a GPU nor a toolkit."""
    loaded = sys.modules.get("numba.core.config")
    if loaded is not None:  # the setting was read then
        return bool(loaded.ENABLE_CUDASIM)
    given = os.environ.get(SIMULATOR, "")
    return given.strip().isdigit() and int(given) != 0


def _lost(device: int) -> str:
    why = lost(device)
    return f"cannot use GPU {device} in this process any more ({why}): restart the program" if why else ""


def _no_packages() -> str:
    for module, package in (("numba_cuda", "numba-cuda"), ("cuda.bindings", "cuda-bindings")):
        if not has_package(module):
            return f"needs {package}, which is not installed here: {nvvm.INSTALL}"
    version = metadata.version("numba-cuda")
    if _numbers(version) < OLDEST:
        return f"needs numba-cuda {_dotted(OLDEST)} or newer, but {version} is installed: {nvvm.INSTALL}"
    return ""


def _no_gpu(device: int) -> str:
    there = len(driver().gpus)
    hidden = os.environ.get(VISIBLE)
    shown = "" if hidden is None else f" ({VISIBLE} is {hidden!r})"
    if not there:
        return f"finds NVIDIA's driver but no GPU{shown}: `nvidia-smi` lists them"
    if device >= there:
        several = f'there are {there}{shown}: the last one is "cuda:{there - 1}"'
        some = f'there is only one{shown}: use "cuda:0"' if there == 1 else several
        return f"names GPU {device}, but {some}"
    return ""


def _old_driver() -> str:
    toolkit, (major, minor) = nvvm.toolkit(), driver().version
    return older(toolkit, 1000 * major + 10 * minor) if (major, minor) < _numbers(toolkit) else ""


def _too_old(device: int) -> str:
    gpu, oldest = driver().gpus[device], min(nvvm.processors())
    if gpu.capability < (oldest // 10, oldest % 10):
        return f"cannot use GPU {device} ({gpu}): CUDA {_dotted(_numbers(nvvm.toolkit()))} needs sm_{oldest} or newer"
    return ""


def _numbers(version: str) -> tuple[int, int]:
    major, minor = re.findall(r"\d+", f"{version}.0")[:2]
    return int(major), int(minor)


def _dotted(version: tuple[int, int]) -> str:
    return f"{version[0]}.{version[1]}"
