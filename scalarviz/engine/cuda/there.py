"""Whether CUDA can be used here and what is missing, which GPUs there are, and what the driver's errors mean in words.

The codes are those of ``CUresult`` in ``cuda.h``. The driver is loaded only when a GPU is looked for; numba never is,
and nothing is loaded where numba-cuda is not installed.
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
from ..cpu.there import no_numba
from . import images, nvvm

FORKED = 'this process was forked from one that had started it: start processes by "spawn"'

BROKEN = frozenset((4, 201, 214, 220, 226, 700, 702, 709, 710, 714, 715, 716, 717, 718, 719, 721, 810, 911, 999))
"""After these a context is of no use: ``cuda.h`` says of them that all further work returns the same error, or that
the context is destroyed (4, 201, 709), that memory or a link has lost numbers (214, 220), or nothing at all (999)."""

GONE = frozenset((46, 100, 101))
"""Likewise, of a device that was there already: it has fallen off the bus, or was taken away."""

OLD = frozenset((36, 222, 227, 804))
"""The driver is older than what it is given."""

MEMORY, NOT_READY = 2, 600

HINTS = {
    3: FORKED,
    34: "a stub of the driver was found first: take the toolkit's `stubs` out of LD_LIBRARY_PATH",
    46: "another program may have it for itself: `nvidia-smi` shows the compute mode",
    221: "the driver's compiler (libnvidia-ptxjitcompiler) is missing: install the whole driver",
    223: "CUDA_DISABLE_PTX_JIT forbids to compile: unset it",
    802: "a service of the driver is not running yet, such as nvidia-fabricmanager",
    803: "the driver's library and its kernel module are of different versions: restart the computer",
}
"""What to do, by code."""

_LOST: dict[tuple[int, int], str] = {}


def lost(number: int) -> str:
    """Why this process cannot use a GPU any more, as one clause; empty if it can."""
    return _LOST.get((os.getpid(), number), "")


def lose(number: int, why: str) -> None:
    """A GPU is of no use to this process from now on."""
    _LOST[os.getpid(), number] = why


def forget() -> None:
    """All GPUs are as if new: for tests."""
    _LOST.clear()


def failure(api: Any, name: str, error: Any, version: int, begun: bool) -> DeviceError:
    """The error to raise for what a function of ``cuda.bindings.driver`` (`api`) returned.

    `version` is the driver's, 0 if it did not say it. What has not `begun`, so was never there, is not lost.
    """
    code, said = int(error), f"{in_words(api, error)} in {name}"
    hint = f"; {HINTS[code]}" if code in HINTS else ""
    if code == MEMORY:
        return DeviceMemoryError(f"the GPU has not enough free memory ({said})")
    if begun and code in BROKEN | GONE:
        return DeviceLostError(f"the GPU broke off ({said})")
    if code in OLD:
        return DeviceError(f'engine="cuda" {older(_toolkit(), version)} ({said})')
    return DeviceError(f"the GPU's driver refuses ({said}){hint}")


def in_words(api: Any, error: Any) -> str:
    """``CUDA_ERROR_X: its meaning``."""
    name = getattr(error, "name", f"error {int(error)}")
    _, text = api.cuGetErrorString(error)  # None for a code that it does not know
    return f"{name}: {text.decode(errors='replace')}" if text else f"{name}, code {int(error)}"


def older(toolkit: str, version: int) -> str:
    """The clause, behind the engine's name, for a driver that is older than the toolkit of the kernels.

    The toolkit's release is ``"13.0.88"``, or empty; the driver's version ``1000 * major + 10 * minor``, or
    0.
    """
    wanted = f"of CUDA {'.'.join(toolkit.split('.')[:2])} or newer" if toolkit else "newer than the one here"
    here = f", and the one here is of CUDA {version // 1000}.{version % 1000 // 10}" if version else ""
    return f"needs a driver {wanted}{here}: install a newer one"


def _toolkit() -> str:
    from .nvvm import toolkit

    try:
        return toolkit()
    except MissingDependencyError:  # the kernels were compiled elsewhere
        return ""


VISIBLE = "CUDA_VISIBLE_DEVICES"
"""Environment variable of the driver: numbers of the GPUs that it shows."""
LIBRARY = "nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1"


@dataclass(frozen=True, slots=True)
class Gpu:
    """One GPU."""

    number: int  # as in ``"cuda:1"``
    name: str
    memory: int  # bytes in all
    capability: tuple[int, int]  # ``(9, 0)`` for sm_90

    def __str__(self) -> str:
        return f"{self.name}, {self.memory / 2**30:.1f} GiB, sm_{self.capability[0]}{self.capability[1]}"


@dataclass(frozen=True, slots=True)
class Driver:
    """NVIDIA's driver."""

    version: tuple[int, int]  # the newest CUDA that it runs
    gpus: tuple[Gpu, ...]


def driver() -> Driver:
    """The driver that is here.

    Raises MissingDependencyError with a clause that follows the engine's name: there is none, or it does not
    start.
    """
    return _asked(os.getpid())


@cache
def _asked(process: int) -> Driver:
    """The same, of a process: one that was forked has to ask anew."""
    from cuda.bindings import driver as api

    try:
        (code,) = api.cuInit(0)
    except RuntimeError:  # the word of the bindings for a library that is not there
        raise MissingDependencyError(
            f"needs NVIDIA's driver, and {LIBRARY} was not found: install the driver"
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
    """What the driver answers, if it is no error."""
    code, result = answer
    if code == api.CUresult.CUDA_SUCCESS:
        return result
    hint = HINTS.get(int(code), "`nvidia-smi` may say more")
    raise MissingDependencyError(f"cannot start NVIDIA's driver ({in_words(api, code)}); {hint}")


INSTEAD = 'or take engine="numba"'
OLDEST = (0, 30)
"""Of numba-cuda; what ``setup.cfg`` asks for."""
SIMULATOR = "NUMBA_ENABLE_CUDASIM"
"""Environment variable of numba."""


def no_cuda(device: int) -> str:
    """Why there is no CUDA on GPU number `device`, as one clause that follows the engine's name; empty if there is."""
    if why := no_numba():
        return why
    if simulated():
        return ""
    if sys.platform == "darwin":
        return 'needs an NVIDIA GPU, and macOS has no CUDA: take engine="numba"'
    try:
        why = _lost(device) or _no_packages() or _no_gpu(device)
        if not why and not images.named():
            why = _old_driver() or _too_old(device)
    except MissingDependencyError as error:
        why = str(error)
    return f"{why}, {INSTEAD}" if why else ""


def no_compiler() -> str:
    """Why kernels cannot be compiled here, for which no GPU is needed; a clause as of :func:`no_cuda`, or nothing."""
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


def found() -> str:
    """The GPUs, the driver and the toolkit, where :func:`no_cuda` is empty; one line."""
    if simulated():
        return f"numba's simulator ({SIMULATOR}=1): right, slow, and for tests"
    there = driver()
    cards = "; ".join(f"{gpu.number}: {gpu}" if len(there.gpus) > 1 else str(gpu) for gpu in there.gpus)
    made = f"kernels of {folder}" if (folder := images.named()) else f"toolkit {nvvm.toolkit()}"
    return f"{cards}; driver of CUDA {_dotted(there.version)}, {made}"


def simulated() -> bool:
    """Whether numba runs kernels in its simulator, which needs neither a GPU nor a toolkit."""
    loaded = sys.modules.get("numba.core.config")
    if loaded is not None:  # it was read then
        return bool(loaded.ENABLE_CUDASIM)
    given = os.environ.get(SIMULATOR, "")
    return given.strip().isdigit() and int(given) != 0


def _lost(device: int) -> str:
    why = lost(device)
    return f"cannot use GPU {device} in this process any more ({why}): start the program anew" if why else ""


def _no_packages() -> str:
    for module, package in (("numba_cuda", "numba-cuda"), ("cuda.bindings", "cuda-bindings")):
        if not has_package(module):
            return f"needs {package}, which is not installed here: {nvvm.INSTALL}"
    version = metadata.version("numba-cuda")
    if _numbers(version) < OLDEST:
        return f"needs numba-cuda {_dotted(OLDEST)} or newer, and {version} is installed: {nvvm.INSTALL}"
    return ""


def _no_gpu(device: int) -> str:
    there = len(driver().gpus)
    hidden = os.environ.get(VISIBLE)
    shown = "" if hidden is None else f" ({VISIBLE} is {hidden!r})"
    if not there:
        return f"finds NVIDIA's driver and no GPU{shown}: `nvidia-smi` lists them"
    if device >= there:
        several = f'there are {there}{shown}: "cuda:{there - 1}" is the last'
        some = f'there is one{shown}: take "cuda:0"' if there == 1 else several
        return f"names GPU {device}, and {some}"
    return ""


def _old_driver() -> str:
    toolkit, (major, minor) = nvvm.toolkit(), driver().version
    return older(toolkit, 1000 * major + 10 * minor) if (major, minor) < _numbers(toolkit) else ""


def _too_old(device: int) -> str:
    gpu, oldest = driver().gpus[device], min(nvvm.processors())
    if gpu.capability < (oldest // 10, oldest % 10):
        return f"cannot use GPU {device} ({gpu}): CUDA {_dotted(_numbers(nvvm.toolkit()))} begins with sm_{oldest}"
    return ""


def _numbers(version: str) -> tuple[int, int]:
    major, minor = re.findall(r"\d+", f"{version}.0")[:2]
    return int(major), int(minor)


def _dotted(version: tuple[int, int]) -> str:
    return f"{version[0]}.{version[1]}"
