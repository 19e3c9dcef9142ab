"""What NVIDIA's driver says of itself and of its GPUs. Loads the driver, and nothing of numba."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from functools import cache
from typing import Any

from ...errors import MissingDependencyError
from .failures import HINTS, in_words

VISIBLE = "CUDA_VISIBLE_DEVICES"
"""Environment variable of the driver: numbers of the GPUs that it shows."""
LIBRARY = "nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1"


@dataclass(frozen=True, slots=True)
class Gpu:
    """One GPU.

    Attributes
    ----------
    number : int
        As in ``"cuda:1"``.
    name : str
    memory : int
        Bytes in all.
    capability : tuple of int
        ``(9, 0)`` for sm_90.
    """

    number: int
    name: str
    memory: int
    capability: tuple[int, int]

    def __str__(self) -> str:
        return f"{self.name}, {self.memory / 2**30:.1f} GiB, sm_{self.capability[0]}{self.capability[1]}"


@dataclass(frozen=True, slots=True)
class Driver:
    """NVIDIA's driver.

    Attributes
    ----------
    version : tuple of int
        The newest CUDA that it runs.
    gpus : tuple of Gpu
    """

    version: tuple[int, int]
    gpus: tuple[Gpu, ...]


def driver() -> Driver:
    """The driver that is here.

    Raises
    ------
    MissingDependencyError
        There is none, or it does not start: one clause that follows the engine's name.
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


def _gpu(api: Any, number: int) -> Gpu:
    device = _checked(api, api.cuDeviceGet(number))
    name = _checked(api, api.cuDeviceGetName(256, device))
    kinds = api.CUdevice_attribute
    major, minor = (
        _checked(api, api.cuDeviceGetAttribute(kind, device))
        for kind in (
            kinds.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR,
            kinds.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR,
        )
    )
    memory = _checked(api, api.cuDeviceTotalMem(device))
    return Gpu(number, name.split(b"\0")[0].decode(errors="replace"), memory, (major, minor))


def _checked(api: Any, answer: tuple[Any, Any]) -> Any:
    """What the driver answers, if it is no error."""
    code, result = answer
    if code == api.CUresult.CUDA_SUCCESS:
        return result
    hint = HINTS.get(int(code), "`nvidia-smi` may say more")
    raise MissingDependencyError(f"cannot start NVIDIA's driver ({in_words(api, code)}); {hint}")
