"""Whether CUDA can be used here, and what is missing. Loads nothing where numba-cuda is not installed."""

from __future__ import annotations

import importlib.util
import os
import re
import sys
from importlib import metadata

from ...errors import MissingDependencyError
from ..cpu.there import no_numba
from . import carried, failures, gpus, nvvm

INSTEAD = 'or take engine="numba"'
OLDEST = (0, 30)
"""Of numba-cuda; what ``setup.cfg`` asks for."""
SIMULATOR = "NUMBA_ENABLE_CUDASIM"
"""Environment variable of numba."""


def no_cuda(device: int) -> str:
    """Why there is no CUDA on a device, as one clause that follows the engine's name; empty if there is.

    Parameters
    ----------
    device : int
        Number of the GPU, as in ``"cuda:1"``.
    """
    if why := no_numba():
        return why
    if simulated():
        return ""
    if sys.platform == "darwin":
        return 'needs an NVIDIA GPU, and macOS has no CUDA: take engine="numba"'
    try:
        why = _lost(device) or _no_packages() or _no_gpu(device)
        if not why and not carried.named():
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
    """The GPUs, the driver and the toolkit, where :func:`no_cuda` is empty; one line.

    Raises
    ------
    MissingDependencyError
        They cannot be asked.
    """
    if simulated():
        return f"numba's simulator ({SIMULATOR}=1): right, slow, and for tests"
    there = gpus.driver()
    cards = "; ".join(f"{gpu.number}: {gpu}" if len(there.gpus) > 1 else str(gpu) for gpu in there.gpus)
    made = f"kernels of {folder}" if (folder := carried.named()) else f"toolkit {nvvm.toolkit()}"
    return f"{cards}; driver of CUDA {_dotted(there.version)}, {made}"


def simulated() -> bool:
    """Whether numba runs kernels in its simulator, which needs neither a GPU nor a toolkit."""
    loaded = sys.modules.get("numba.core.config")
    if loaded is not None:  # it was read then
        return bool(loaded.ENABLE_CUDASIM)
    given = os.environ.get(SIMULATOR, "")
    return given.strip().isdigit() and int(given) != 0


def _lost(device: int) -> str:
    why = failures.lost(device)
    return f"cannot use GPU {device} in this process any more ({why}): start the program anew" if why else ""


def _no_packages() -> str:
    for module, package in (("numba_cuda", "numba-cuda"), ("cuda.bindings", "cuda-bindings")):
        try:
            there = importlib.util.find_spec(module) is not None
        except (ImportError, ValueError):  # somebody blocks it; or there is no package of which it is a part
            there = False
        if not there:
            return f"needs {package}, which is not installed here: {nvvm.INSTALL}"
    version = metadata.version("numba-cuda")
    if _numbers(version) < OLDEST:
        return f"needs numba-cuda {_dotted(OLDEST)} or newer, and {version} is installed: {nvvm.INSTALL}"
    return ""


def _no_gpu(device: int) -> str:
    there = len(gpus.driver().gpus)
    hidden = os.environ.get(gpus.VISIBLE)
    shown = "" if hidden is None else f" ({gpus.VISIBLE} is {hidden!r})"
    if not there:
        return f"finds NVIDIA's driver and no GPU{shown}: `nvidia-smi` lists them"
    if device >= there:
        some = (
            f'there is one{shown}: take "cuda:0"'
            if there == 1
            else f'there are {there}{shown}: "cuda:{there - 1}" is the last'
        )
        return f"names GPU {device}, and {some}"
    return ""


def _old_driver() -> str:
    toolkit, (major, minor) = nvvm.toolkit(), gpus.driver().version
    return failures.older(toolkit, 1000 * major + 10 * minor) if (major, minor) < _numbers(toolkit) else ""


def _too_old(device: int) -> str:
    gpu, oldest = gpus.driver().gpus[device], min(nvvm.processors())
    if gpu.capability < (oldest // 10, oldest % 10):
        return f"cannot use GPU {device} ({gpu}): CUDA {_dotted(_numbers(nvvm.toolkit()))} begins with sm_{oldest}"
    return ""


def _numbers(version: str) -> tuple[int, int]:
    major, minor = re.findall(r"\d+", f"{version}.0")[:2]
    return int(major), int(minor)


def _dotted(version: tuple[int, int]) -> str:
    return f"{version[0]}.{version[1]}"
