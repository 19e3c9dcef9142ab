"""Parts `there`, `compile` and `costs` of `gpu.py`: what the machine has, and what everything else is made of."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
from _gpu_networks import case_of, layers, made
from _gpu_setting import Setting
from _workloads import named

PACKAGES = ("numpy", "numba", "numba-cuda", "llvmlite", "cuda-bindings", "cuda-pathfinder", "torch")
MEMORY_RATE, FLOPS = 4.8e12, {"float32": 67e12, "float64": 34e12}
"""Bytes and operations a second of an H200, by its data sheet."""


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
    setting.row("kernels compiled elsewhere", carried or "none", remark=f"{_files(carried)} files" if carried else "")


def _files(folder: str) -> int:
    return sum(1 for path in Path(folder).rglob("*.cubin"))


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
    code = (
        "import sys, time; start = time.perf_counter(); sys.path[:0] = sys.argv[1:3]\n"
        "import _gpu_networks as n\n"
        "work = next(w for w in n.workloads(sys.argv[3] == 'True') if w.name == sys.argv[4])\n"
        "run = n.case_of(work).build('cuda', 'float32'); built = time.perf_counter()\n"
        "run.step(1); print(built - start, time.perf_counter() - built)\n"
    )
    here = Path(__file__).parent
    with tempfile.TemporaryDirectory(prefix="scalarviz-") as folder:
        around = {**os.environ, "SCALARVIZ_CACHE_DIR": folder, "CUDA_CACHE_DISABLE": "1"}
        for what in ("cold", "cached"):
            command = [sys.executable, "-c", code, str(here.parent), str(here), str(setting.tiny), name]
            done = subprocess.run(command, env=around, capture_output=True, text=True, check=True)
            built, first = map(float, done.stdout.split())
            setting.row(f"{name}, {what}: imports, record, lower, encode", built, "s")
            setting.row(f"{name}, {what}: the first step", first, "s")


# ---- costs


def costs(setting: Setting) -> None:
    """A launch, a step that is replayed, copies: on an own device, by the engine's own means."""
    from scalarviz.engine.cuda.trainer import open_device

    device: Any = open_device(0)
    _launches(setting, device)
    _copies(setting, device)
    device.close()
    _calls(setting)


def _launches(setting: Setting, device: Any) -> None:
    """The smallest kernel there is, alone and many in one record."""
    from scalarviz.engine.cuda.catalog import find
    from scalarviz.engine.cuda.device import Launch

    values = device.empty(64, np.float32)
    device.upload(values, np.zeros(64, np.float32))
    launch = Launch(find("keep", "float32"), (1, 1), (32, 1), (values.part(32, 32), values.part(0, 32), 32))
    many = 3 if setting.tiny else 100
    recorded = {f"{count} launches in a record": (device.record([launch] * count), count) for count in (1, many)}

    def replay(record: Any) -> Callable[[int], None]:
        def run(times: int) -> None:
            record.run(times)
            device.wait()

        return run

    found = setting.in_turns({name: replay(record) for name, (record, _) in recorded.items()})
    for name, (_, count) in recorded.items():
        setting.timed(f"{name}, replayed", found[name], predicted=4e-6 + 1.5e-6 * count)
    if device.remark:
        setting.row("the device says", device.remark)


def _copies(setting: Setting, device: Any) -> None:
    """Up, down, and within the device."""
    for size in (1 << 10, 1 << 12) if setting.tiny else (1 << 10, 1 << 20, 1 << 26):
        array = np.random.default_rng(0).random(size, np.float32)
        here, other = device.empty(size, np.float32), device.empty(size, np.float32)
        device.upload(here, array)

        def up(times: int, here: Any = here, array: Any = array) -> None:
            for _ in range(times):
                device.upload(here, array)
                device.wait()

        def down(times: int, here: Any = here, array: Any = array) -> None:
            for _ in range(times):
                device.download(here, array)
                device.wait()

        def within(times: int, here: Any = here, other: Any = other) -> None:
            for _ in range(times):
                device.copy(other, here)
            device.wait()

        found = setting.in_turns({"upload": up, "download": down, "copy within": within}, rounds=5)
        for name, timing in found.items():
            moved = array.nbytes * (2 if name == "copy within" else 1)
            floor = moved / (MEMORY_RATE if name == "copy within" else 64e9)
            rate = f"{moved / timing.median / 1e9:.4g} GB/s"
            setting.timed(f"{name}, {array.nbytes} bytes", timing, floor=floor, remark=rate)


def _calls(setting: Setting) -> None:
    """What a call costs beside its steps: one step a call against many."""
    build = made(layers, (3, 2), "Adam") if setting.tiny else case_of(named("3-16-16-3")).build
    run = build("cuda", "float32")
    steps = 2 if setting.tiny else 1000
    train = run._training.trainer.train
    train(0, 1, 1e-3)
    times = {}
    for count in (1, steps):
        start = time.perf_counter()
        train(0, count, 1e-3)
        times[count] = time.perf_counter() - start
    each = (times[steps] - times[1]) / (steps - 1)
    setting.row("a step inside a call", each, "s")
    setting.row("a call beside its steps", max(times[1] - each, 0.0), "s", remark="upload, download, one wait")
    run.close()
