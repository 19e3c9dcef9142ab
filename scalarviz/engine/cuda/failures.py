"""What the errors of NVIDIA's driver mean, in words; and which GPUs this process cannot use any more.

Loads nothing: the codes are those of ``CUresult`` in ``cuda.h``.
"""

from __future__ import annotations

import os
from typing import Any

from ...errors import DeviceError, DeviceLostError, DeviceMemoryError, MissingDependencyError

__all__ = ["BROKEN", "FORKED", "HINTS", "OLD", "failure", "forget", "in_words", "lose", "lost", "older"]

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
    """The error to raise.

    Parameters
    ----------
    api : module
        ``cuda.bindings.driver``.
    name : str
        The function that returned it.
    error : CUresult
    version : int
        Of the driver, as it says it; 0 if it did not.
    begun : bool
        Whether the device was there before: what is not there at all is not lost.
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

    Parameters
    ----------
    toolkit : str
        Its release, ``"13.0.88"``; empty if it is not known.
    version : int
        Of the driver, ``1000 * major + 10 * minor``; 0 if it is not known.
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
