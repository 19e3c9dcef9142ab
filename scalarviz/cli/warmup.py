"""``scalarviz warmup``: compile all kernels beforehand, also for the local GPUs or a named kind of GPU."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Literal, NamedTuple

from pydantic import Field
from pydantic.config import JsonDict

from ..engine.cpu.units import no_numba, refusal
from ..engine.cuda import nvvm, there
from ..engine.cuda.there import no_compiler, no_cuda, simulated
from ..engine.problem import DTYPES
from ..errors import InputError, ScalarvizError, listing, shown
from .console import Progress, say
from .flags import Command, model_of


def command() -> Command:
    """Return the flags and the function of the command."""
    kind: JsonDict = {"metavar": "sm_90"}
    flags = {
        "quiet": (bool, Field(False, description="Print nothing, and run at low priority.")),
        "gpu": (
            str | None,
            Field(
                None, json_schema_extra=kind, description="Also compile for this kind of GPU; the machine needs no GPU."
            ),
        ),
        "only": (
            Literal["lessons"] | None,
            Field(None, json_schema_extra={"flag": "--for"}, description="Compile no more than the lessons need."),
        ),
    }
    return model_of("WarmupOptions", flags, ()), warm_up


def warm_up(options: Any) -> int:
    """Compile the kernels into the cache, also for the local GPUs or a named kind; return the exit code 0.

    Raises
    ------
    InputError
        The cache folder would keep nothing; no such kind of GPU.
    ScalarvizError
        numba, or numba-cuda if a GPU is named, cannot be used; the message says why.
    """
    if why := no_numba():
        raise ScalarvizError(f"numba {why}")
    gpus = [_named(options.gpu)] if options.gpu is not None else [] if options.only else _local_gpus()
    from ..engine.cpu.loader import fill, warmup
    from ..engine.cpu.wire import KERNELS
    from ..scalar import ops

    _checked(refusal())
    units = _needed_by_lessons() if options.only == "lessons" else None
    count = len(DTYPES) * (len(KERNELS) + len(ops.TABLE)) if units is None else len(units)

    def compile_all(update: Callable[[int, str], object]) -> None:
        def report(done: int, total: int, what: str) -> None:
            _checked(refusal(), update, done, what)

        if units is None:
            warmup(DTYPES, progress=report)
        else:
            fill(units, report)

    if options.quiet:
        with suppress(AttributeError, OSError):  # Windows has no nice
            os.nice(10)
    _show_progress("", options.quiet, count, compile_all)
    for gpu in gpus:
        _show_progress(f" for {gpu.name}", options.quiet, *_work_for(gpu, options.quiet))
    return 0


def _needed_by_lessons() -> list[tuple[str, str, str]]:
    """Return the kernels that the lessons' networks miss, in both dtypes."""
    from ..lessons.scenes import SCENES
    from ..run import Run
    from ..run.engines import missing_kernels

    found: dict[tuple[str, str, str], None] = {}
    for scene in SCENES.values():
        for dtype in DTYPES:
            run = scene().run
            parts = run.model, run.loss_function, run.optimizer, run.samples()
            with Run(*parts, batch_size=run.batch_size, engine="numba", dtype=dtype) as again:
                found |= dict.fromkeys(missing_kernels(again))
    return list(found)


def _show_progress(where: str, quiet: bool, count: int, work: Callable[[Callable[[int, str], object]], None]) -> None:
    """Do some work with a progress bar, and print a line at its end."""
    start = time.perf_counter()
    if quiet:
        work(lambda done, what: None)
        return
    with Progress(f"compiling{where}", 0, count) as bar:
        work(bar.update)
    say(f"scalarviz: the kernels{where} are compiled and cached ({time.perf_counter() - start:.1f} s)")


def _checked(reason: str, update: Callable[..., object] = lambda: None, *done: object) -> None:
    """Raise InputError if kernels would not be kept, also if the disk fills up during the work."""
    if reason:
        raise InputError(reason)
    update(*done)


class Target(NamedTuple):
    """A GPU to compile for. `number` is that of a local GPU, whose driver turns the PTX into machine code."""

    capability: tuple[int, int]
    number: int | None
    name: str


def _local_gpus() -> list[Target]:
    """Return the GPUs of this machine, one of each kind; none if CUDA cannot be used."""
    if simulated() or no_cuda(0):
        return []
    usable = [gpu for gpu in there.driver().gpus if not no_cuda(gpu.number)]
    kinds = {gpu.capability: gpu for gpu in reversed(usable)}
    return [Target(kind, gpu.number, "sm_{}{} ({})".format(*kind, gpu.name)) for kind, gpu in sorted(kinds.items())]


def _named(kind: str) -> Target:
    """Return the kind of GPU that is named, such as ``"sm_90"``."""
    if why := no_compiler():
        raise ScalarvizError(f"--gpu {kind} {why}")
    known = nvvm.processors()
    found = re.fullmatch(r"sm_(\d{2,3})", kind, re.ASCII)
    if found is None or int(found[1]) not in known:
        kinds = listing(f"sm_{number}" for number in known)
        raise InputError(f"--gpu: this CUDA toolkit compiles for {kinds}, got {shown(kind)}")
    number = int(found[1])
    return Target((number // 10, number % 10), None, kind)


def _work_for(gpu: Target, quiet: bool) -> tuple[int, Callable[[Callable[[int, str], object]], None]]:
    """Return the number of kernels for a GPU and the function that compiles them; `quiet` does not use the GPU."""
    from ..engine.cuda import images, warm

    number = None if quiet else gpu.number

    def compile_all(update: Callable[[int, str], object]) -> None:
        def report(before: int) -> Callable[[int, int, str], None]:
            return lambda done, total, what: _checked(images.PLACE.refusal(), update, before + done, what)

        warm.warmup(gpu.capability, progress=report(0))
        if number is not None:
            from ..engine.cuda.driver import context_of

            warm.warmup_device(context_of(number), progress=report(warm.count()))

    return warm.count() * (1 if number is None else 2), compile_all
