"""``gpu.py --write-kernels``: machine code of all that the script launches, for a machine that has no libNVVM."""

from __future__ import annotations

import time
from multiprocessing import get_all_start_methods, get_context
from pathlib import Path

from _gpu_forms import forms_of, taken
from _gpu_networks import Case, every_case
from _gpu_setting import DTYPES

from scalarviz.engine.cost import processors
from scalarviz.engine.cuda import images, ptxas
from scalarviz.engine.cuda.catalog import Kernel, find, names
from scalarviz.engine.cuda.trainer import launches

Task = tuple[Kernel, tuple[int, int], Path]
_tasks: list[Task] = []
"""What the processes that are forked from this one find here: a kernel cannot be sent to them."""


def write(folder: Path, architectures: tuple[int, ...]) -> None:
    """Compile every kernel for every architecture into a folder, which is made; 90 stands for sm_90."""
    start = time.perf_counter()
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    for old in folder.glob("*.cubin"):
        old.unlink()
    found = needed(every_case())
    _tasks[:] = [(kernel, divmod(architecture, 10), folder) for architecture in architectures for kernel in found]
    if "fork" in get_all_start_methods() and processors() > 1:
        with get_context("fork").Pool(processors()) as pool:
            sizes = pool.map(_write, range(len(_tasks)), chunksize=4)
    else:
        sizes = [_write(k) for k in range(len(_tasks))]
    gpus = ", ".join(f"sm_{architecture}" for architecture in architectures)
    seconds = time.perf_counter() - start
    print(f"{len(found)} kernels for {gpus} in {folder}: {sum(sizes) / 2**20:.1f} MB, {seconds:.0f} s")


def needed(cases: list[Case]) -> list[Kernel]:
    """Every kernel of the catalog, and all that the cases launch in all their forms; both dtypes, each once."""
    found = {find(name, dtype): None for dtype in DTYPES for name in names()}
    for case in cases:
        for dtype in DTYPES:
            run = case.build("numpy", dtype)
            for shape in forms_of(run.problem).values():
                with taken(shape):
                    found |= {launch.kernel: None for launch in launches(run.problem)}
            run.close()
    return list({(kernel.name, kernel.dtype, kernel.key): kernel for kernel in found}.values())


def _write(number: int) -> int:
    kernel, capability, folder = _tasks[number]
    code = ptxas.assemble(images.text(kernel, capability), capability).code
    images.store_carried(folder, kernel, images.entry(kernel), capability, code)
    return len(code)
