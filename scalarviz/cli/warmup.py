"""``scalarviz warmup``: all kernels are compiled beforehand."""

from __future__ import annotations

import os
import time
from contextlib import suppress

from ..engine.cpu.there import no_numba
from ..engine.cpu.units import refusal
from ..engine.problem import DTYPES
from ..errors import InputError, ScalarvizError
from . import warmup_gpu
from .console import Progress, say


def warm_up(quiet: bool = False, gpu: str | None = None) -> int:
    """Compile the kernels into the cache, those for the GPUs that are here too.

    Parameters
    ----------
    quiet : bool
        Say nothing, and give way to other programs.
    gpu : str, optional
        A kind of GPU to compile for that need not be here, as ``"sm_90"``.

    Returns
    -------
    int
        The exit code, 0.

    Raises
    ------
    InputError
        The cache folder would keep nothing; no such kind of GPU.
    ScalarvizError
        numba, or numba-cuda where a GPU is named, cannot be used; the message says why.
    """
    if why := no_numba():
        raise ScalarvizError(f"numba {why}")
    gpus = warmup_gpu.here() if gpu is None else warmup_gpu.asked(gpu)
    from ..engine.cpu.loader import warmup
    from ..engine.cpu.wire import KERNELS
    from ..scalar import ops

    _check_folder()
    if quiet:
        _give_way()
        warmup(DTYPES, progress=lambda *_: _check_folder())
        warmup_gpu.compile_quietly(gpus)
        return 0
    start = time.perf_counter()
    with Progress("compiling", 0, len(DTYPES) * (len(KERNELS) + len(ops.TABLE))) as bar:

        def report(done: int, total: int, what: str) -> None:
            _check_folder()
            bar.update(done, what)

        warmup(DTYPES, progress=report)
    say(f"scalarviz: the kernels are compiled and cached ({time.perf_counter() - start:.1f} s)")
    warmup_gpu.compile_for(gpus)
    return 0


def _check_folder() -> None:
    """Raise where kernels would not be kept, also when the disk fills up meanwhile: compiling on would be in vain."""
    if reason := refusal():
        raise InputError(reason)


def _give_way() -> None:
    with suppress(AttributeError, OSError):  # Windows has no nice
        os.nice(10)
