"""Parts `there` and `compile` of `gpu.py`: what the machine has, and how long a new process takes to its first step."""

from __future__ import annotations

import os
import platform
import shutil
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from importlib import metadata
from pathlib import Path
from typing import Any

from _gpu_setting import Setting
from _timing import child, command_of, fresh, main, say

PACKAGES = ("numpy", "numba", "numba-cuda", "llvmlite", "cuda-bindings", "cuda-pathfinder", "torch")


def there(setting: Setting) -> None:
    """Versions, compiler, driver, GPU."""
    from scalarviz.engine.cuda import nvvm, there

    setting.row("Python", platform.python_version(), remark=f"{platform.platform()}, {os.cpu_count()} processors")
    for name in PACKAGES:
        with suppress(metadata.PackageNotFoundError):
            setting.row(name, metadata.version(name))
    for home in (nvvm.NAMED, "CUDA_HOME", "CUDA_PATH"):
        setting.row(home, os.environ.get(home) or "not set")
    setting.row("nvcc", shutil.which("nvcc") or "not on the PATH")
    asked: dict[str, Callable[[], Any]] = {
        "libNVVM": lambda: nvvm.use_nvvm().library, "libdevice": lambda: nvvm.use_nvvm().libdevice,
        "toolkit of libNVVM": nvvm.toolkit, "NVRTC": _nvrtc, "nvJitLink": _nvjitlink,
        "driver": lambda: "CUDA {}.{}".format(*there.driver().version),
        "GPUs": lambda: "; ".join(map(str, there.driver().gpus)),
    }  # fmt: skip
    for what, ask in asked.items():
        try:
            setting.row(what, str(ask()))
        except Exception as error:  # whatever is missing is the finding
            setting.row(what, None, remark=f"{type(error).__name__}: {error}")
    carried = os.environ.get("SCALARVIZ_CUBINS", "")
    files = sum(1 for _ in Path(carried).rglob("*.cubin"))
    setting.row("kernels compiled elsewhere", carried or "none", remark=f"{files} files" if carried else "")


def _nvrtc() -> str:
    from cuda.bindings import nvrtc

    _, major, minor = nvrtc.nvrtcVersion()
    return f"{major}.{minor}"


def _nvjitlink() -> str:
    from cuda.bindings import nvjitlink

    return "{}.{}".format(*nvjitlink.version())


# ---- compiling


def compiling(setting: Setting) -> None:
    """From a new process to the first step, the kernels compiled and kept; then again, from what was kept."""
    name = "tiny 2-3-1" if setting.tiny else "UV 12-64x4-3 Adam, 1024"
    with tempfile.TemporaryDirectory(prefix="scalarviz-") as folder:
        around = {"SCALARVIZ_CACHE_DIR": folder, "CUDA_CACHE_DISABLE": "1"}
        for what in ("cold", "cached"):
            for part, seconds in fresh(command_of(first_step, name), around).json().items():
                setting.row(f"{name}, {what}: {part}", seconds, "s")


@child
def first_step(name: str) -> None:
    """Seconds of a workload in this process, whose imports took what it says."""
    start = time.perf_counter()
    from _gpu_networks import case_of, workloads

    work = next(work for tiny in (True, False) for work in workloads(tiny) if work.name == name)
    run = case_of(work).build("cuda", "float32")
    built = time.perf_counter()
    run.step(1)
    say(**{"imports, record, lower, encode": built - start, "the first step": time.perf_counter() - built})


if __name__ == "__main__":
    main()
