"""``scalarviz warmup``, and the same in the background of a run that somebody watches."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Mapping
from contextlib import suppress

from ..engine.cpu.cache import background
from ..engine.cpu.cache.place import refusal
from ..engine.cpu.there import no_numba
from ..engine.problem import DTYPES
from ..errors import InputError, ScalarvizError
from . import warmup_gpu
from .console import Progress, say

# the modules are found where this process found them, not in whatever folder the user stands in
_CODE = "import sys; sys.path[:] = {path!r}; from scalarviz.cli.main import main; sys.exit(main(['warmup', '--quiet']))"


def warm_up(quiet: bool = False, gpu: str | None = None) -> int:
    """Compile the kernels into the cache, those for the GPUs that are here too.

    Parameters
    ----------
    quiet : bool
        Say nothing, give way to other programs, and end at once if another process is at it.
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
    from ..engine.cpu import warmup
    from ..engine.cpu.cache.units import CORE
    from ..scalar import ops

    _check_folder()
    with background.holding() as mine:
        if quiet:
            if mine:
                _give_way()
                for dtype in DTYPES:  # the usual one is whole as early as can be
                    warmup((dtype,), progress=lambda *_: _check_folder())
                warmup_gpu.compile_quietly(gpus)
            return 0
        start = time.perf_counter()
        with Progress("compiling", 0, len(DTYPES) * (len(CORE) + len(ops.TABLE))) as bar:

            def report(done: int, total: int, what: str) -> None:
                _check_folder()
                bar.update(done, what)

            warmup(DTYPES, progress=report)
        say(f"scalarviz: the kernels are compiled and cached ({time.perf_counter() - start:.1f} s)")
        warmup_gpu.compile_for(gpus)
        return 0


def compile_for(name: str, options: Mapping[str, object]) -> None:
    """Compile the kernels that the runs of a sweep want before the first one, so that all are computed alike.

    Parameters
    ----------
    name : str
        Of the scene, for the words.
    options : mapping of str to object
        Those that are given; of a swept one its values as text.
    """
    engine, dtype = (str(options.get(option, "")) for option in ("engine", "dtype"))
    if (engine and not {"auto", "numba"} & set(engine.split())) or no_numba():
        return
    from ..engine.cpu.cache.units import CORE, cache_is_warm
    from ..scalar import ops

    wanted = [one for one in DTYPES if one in dtype.split()] or [DTYPES[0]]
    cold = [one for one in wanted if not cache_is_warm(one, ops.TABLE)]
    if not cold:
        return
    if reason := refusal():
        say(f"{name}: the runs are computed with NumPy: {reason}")
        return
    from ..engine.cpu import warmup

    say(f"{name}: first start: the fast kernels are compiled first, which takes a minute and is kept")
    with Progress("compiling", 0, len(cold) * (len(CORE) + len(ops.TABLE))) as bar:
        warmup(cold, progress=lambda done, total, what: bar.update(done, what))


def warm_up_beside(engine: str) -> str:
    """Fill a cold cache beside a run that `engine` computes meanwhile; returns the line to say, or an empty one."""
    from ..engine.cpu import cache_is_warm

    if engine == "numba" or no_numba() or all(cache_is_warm(dtype, ()) for dtype in DTYPES):
        return ""
    command = [sys.executable, "-c", _CODE.format(path=sys.path)]
    if not (background.start(command) or background.running()):
        return ""
    return (
        "first start: the fast kernels are being compiled beside this run; a window goes on with them when they are "
        f"ready ({background.SWITCH}=0 turns that off)"
    )


def _check_folder() -> None:
    """Raise where kernels would not be kept, also when the disk fills up meanwhile: compiling on would be in vain."""
    if reason := refusal():
        raise InputError(reason)


def _give_way() -> None:
    with suppress(AttributeError, OSError):  # Windows has no nice
        os.nice(10)
