"""``scalarviz warmup``: all kernels are compiled beforehand, those for GPUs too: for the ones here, or a named kind."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass

from ..engine.cpu.there import no_numba
from ..engine.cpu.units import refusal
from ..engine.cuda import nvvm, there
from ..engine.cuda.there import no_compiler, no_cuda, simulated
from ..engine.problem import DTYPES
from ..errors import InputError, ScalarvizError, listing, shown
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
    gpus = here_gpus() if gpu is None else asked_gpus(gpu)
    from ..engine.cpu.loader import warmup
    from ..engine.cpu.wire import KERNELS
    from ..scalar import ops

    _check_folder()
    if quiet:
        _give_way()
        warmup(DTYPES, progress=lambda *_: _check_folder())
        compile_quietly(gpus)
        return 0
    start = time.perf_counter()
    with Progress("compiling", 0, len(DTYPES) * (len(KERNELS) + len(ops.TABLE))) as bar:

        def report(done: int, total: int, what: str) -> None:
            _check_folder()
            bar.update(done, what)

        warmup(DTYPES, progress=report)
    say(f"scalarviz: the kernels are compiled and cached ({time.perf_counter() - start:.1f} s)")
    compile_for(gpus)
    return 0


def _check_folder() -> None:
    """Raise where kernels would not be kept, also when the disk fills up meanwhile: compiling on would be in vain."""
    if reason := refusal():
        raise InputError(reason)


def _give_way() -> None:
    with suppress(AttributeError, OSError):  # Windows has no nice
        os.nice(10)


@dataclass(frozen=True, slots=True)
class Target:
    """What is compiled for.

    Attributes
    ----------
    capability : (int, int)
    number : int or None
        Of a GPU that is here_gpus: its driver makes machine code of the PTX.
    name : str
    """

    capability: tuple[int, int]
    number: int | None
    name: str


def here_gpus() -> list[Target]:
    """The GPUs of this machine, one of each kind; none where CUDA cannot be used."""
    if simulated() or no_cuda(0):
        return []
    usable = [gpu for gpu in there.driver().gpus if not no_cuda(gpu.number)]
    kinds = {gpu.capability: gpu for gpu in reversed(usable)}
    return [Target(kind, gpu.number, f"{_words(kind)} ({gpu.name})") for kind, gpu in sorted(kinds.items())]


def asked_gpus(kind: str) -> list[Target]:
    """The kind of GPU that is named, as ``"sm_90"``.

    Raises
    ------
    InputError
        The toolkit compiles for no such kind.
    ScalarvizError
        There is no compiler; the message says why.
    """
    if why := no_compiler():
        raise ScalarvizError(f"--gpu {kind} {why}")
    known = nvvm.processors()
    found = re.fullmatch(r"sm_(\d{2,3})", kind, re.ASCII)
    if found is None or int(found[1]) not in known:
        kinds = listing(f"sm_{number}" for number in known)
        raise InputError(f"--gpu: this CUDA toolkit compiles for {kinds}; got {shown(kind)}")
    number = int(found[1])
    return [Target((number // 10, number % 10), None, kind)]


def compile_for(targets: Sequence[Target]) -> None:
    """Compile, with a progress bar and a line at the end, for each of them."""
    for target in targets:
        start = time.perf_counter()
        with Progress(f"compiling for {target.name}", 0, _count(target)) as bar:
            _compile(target, bar.update)
        say(f"scalarviz: the kernels for {target.name} are compiled and cached ({time.perf_counter() - start:.1f} s)")


def compile_quietly(targets: Sequence[Target]) -> None:
    """The same without a word, and without the GPU, which others may be using."""
    for target in targets:
        _compile(Target(target.capability, None, target.name), lambda done, note: None)


def _compile(target: Target, tell: Callable[[int, str], None]) -> None:
    from ..engine.cuda import warm

    def report(before: int) -> Callable[[int, int, str], None]:
        def progress(done: int, total: int, what: str) -> None:
            _check_images()
            tell(before + done, what)

        return progress

    warm.warmup(target.capability, progress=report(0))
    if target.number is not None:
        warm.warmup_device(target.number, progress=report(warm.count()))


def _count(target: Target) -> int:
    from ..engine.cuda import warm

    return warm.count() * (1 if target.number is None else 2)


def _check_images() -> None:
    from ..engine.cuda import images

    if reason := images.PLACE.refusal():
        raise InputError(reason)


def _words(capability: tuple[int, int]) -> str:
    return f"sm_{capability[0]}{capability[1]}"
