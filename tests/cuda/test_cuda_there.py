"""Why CUDA cannot be used: each reason in words, told from a made-up driver and toolkit; and this machine as it is."""

from __future__ import annotations

import configparser
import os
import subprocess
import sys
from enum import IntEnum
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

from scalarviz.cli import doctor
from scalarviz.engine.cuda import gpus, nvvm, there
from scalarviz.engine.table import usable
from scalarviz.errors import MissingDependencyError, ScalarvizError

ROOT = Path(__file__).resolve().parents[2]
OR_NUMBA = ', or take engine="numba"'
H200 = gpus.Gpu(0, "NVIDIA H200", 150_110_011_392, (9, 0))
OLD = gpus.Gpu(1, "NVIDIA GeForce GTX 1080", 8_510_701_568, (6, 1))


class CUresult(IntEnum):
    CUDA_SUCCESS = 0
    CUDA_ERROR_NOT_INITIALIZED = 3
    CUDA_ERROR_NO_DEVICE = 100
    CUDA_ERROR_OPERATING_SYSTEM = 304
    CUDA_ERROR_SYSTEM_NOT_READY = 802
    CUDA_ERROR_SYSTEM_DRIVER_MISMATCH = 803


class Api:
    """As much of ``cuda.bindings.driver`` as is asked: a driver of CUDA 13.0 with the GPUs above."""

    CUresult = CUresult
    CUdevice_attribute = SimpleNamespace(
        CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR="major", CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR="minor"
    )

    def __init__(self, start=CUresult.CUDA_SUCCESS, version=13000, cards=(H200, OLD)):
        self.start, self.version, self.cards, self.asked = start, version, cards, 0

    def cuInit(self, flags):
        self.asked += 1
        if self.start is None:
            raise RuntimeError('Failure finding "libcuda.so"')
        return (self.start,)

    def cuDriverGetVersion(self):
        return CUresult.CUDA_SUCCESS, self.version

    def cuGetErrorString(self, code):
        return CUresult.CUDA_SUCCESS, b"system not yet initialized"

    def cuDeviceGetCount(self):
        return CUresult.CUDA_SUCCESS, len(self.cards)

    def cuDeviceGet(self, number):
        return CUresult.CUDA_SUCCESS, self.cards[number]

    def cuDeviceGetName(self, size, card):
        return CUresult.CUDA_SUCCESS, card.name.encode().ljust(size, b"\0")

    def cuDeviceTotalMem(self, card):
        return CUresult.CUDA_SUCCESS, card.memory

    def cuDeviceGetAttribute(self, kind, card):
        return CUresult.CUDA_SUCCESS, card.capability[kind == "minor"]


@pytest.fixture
def machine(monkeypatch):
    """A machine where everything is there: packages, a driver, two GPUs, the toolkit; change what `api` says."""
    for name in ("NUMBA_ENABLE_CUDASIM", "CUDA_VISIBLE_DEVICES"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(there.sys, "platform", "linux")
    monkeypatch.setattr(there, "simulated", lambda: False)
    monkeypatch.setattr(there.importlib.util, "find_spec", lambda name: object())
    monkeypatch.setattr(there.metadata, "version", lambda name: "0.30.4")
    monkeypatch.setattr(nvvm, "toolkit", lambda: "13.0.88")
    monkeypatch.setattr(nvvm, "processors", lambda: (75, 80, 90))
    package, bindings = ModuleType("cuda"), ModuleType("cuda.bindings")
    package.__path__, bindings.__path__ = [], []
    monkeypatch.setitem(sys.modules, "cuda", package)
    monkeypatch.setitem(sys.modules, "cuda.bindings", bindings)

    def with_driver(api):
        monkeypatch.setattr(bindings, "driver", api, raising=False)
        monkeypatch.setitem(sys.modules, "cuda.bindings.driver", api)
        gpus._asked.cache_clear()
        return api

    with_driver(Api())
    yield with_driver
    gpus._asked.cache_clear()


def test_nothing_is_missing_where_all_is_there(machine):
    assert there.no_cuda(0) == ""
    assert there.found() == (
        "0: NVIDIA H200, 139.8 GiB, sm_90; 1: NVIDIA GeForce GTX 1080, 7.9 GiB, sm_61; driver of CUDA 13.0, "
        "toolkit 13.0.88"
    )
    assert gpus.driver().gpus == (H200, OLD)


def test_the_driver_is_asked_once_and_again_after_a_fork(machine, monkeypatch):
    api = machine(Api())
    assert there.no_cuda(0) == there.no_cuda(0) == ""
    assert api.asked == 1
    monkeypatch.setattr(gpus.os, "getpid", lambda: -1)
    api.start = CUresult.CUDA_ERROR_NOT_INITIALIZED
    assert there.no_cuda(0) == (
        "cannot start NVIDIA's driver (CUDA_ERROR_NOT_INITIALIZED: system not yet initialized); this process was "
        f'forked from one that had started it: start processes by "spawn"{OR_NUMBA}'
    )


@pytest.mark.parametrize("missing", ["numba_cuda", "cuda.bindings"])
def test_a_package_that_is_missing(machine, monkeypatch, missing):
    monkeypatch.setattr(there.importlib.util, "find_spec", lambda name: None if name == missing else object())
    package = missing.replace("_", "-").replace(".", "-")
    said = f'needs {package}, which is not installed here: pip install "scalarviz[cuda]"{OR_NUMBA}'
    assert there.no_cuda(0) == said


def test_a_package_that_is_blocked_is_missing(machine, monkeypatch):
    def blocked(name):
        raise ModuleNotFoundError(name)

    monkeypatch.setattr(there, "no_numba", lambda: "")
    monkeypatch.setattr(there.importlib.util, "find_spec", blocked)
    assert there.no_cuda(0).startswith("needs numba-cuda, which is not installed here")


def test_numba_cuda_that_is_too_old(machine, monkeypatch):
    monkeypatch.setattr(there.metadata, "version", lambda name: "0.9.1")
    said = 'needs numba-cuda 0.30 or newer, and 0.9.1 is installed: pip install "scalarviz[cuda]"'
    assert there.no_cuda(0) == said + OR_NUMBA


def test_the_oldest_numba_cuda_is_what_is_asked_for():
    parser = configparser.ConfigParser()
    parser.read(ROOT / "setup.cfg", encoding="utf-8")
    assert f"numba-cuda>={there.OLDEST[0]}.{there.OLDEST[1]};" in parser["options.extras_require"]["cuda"]


def test_no_numba(machine, monkeypatch):
    monkeypatch.setattr(there, "no_numba", lambda: "needs numba")
    assert there.no_cuda(0) == "needs numba"


def test_no_driver(machine):
    machine(Api(start=None))
    said = f"needs NVIDIA's driver, and libcuda.so.1 was not found: install the driver{OR_NUMBA}"
    assert there.no_cuda(0) == said


def test_a_driver_that_does_not_start(machine):
    machine(Api(start=CUresult.CUDA_ERROR_SYSTEM_NOT_READY))
    assert there.no_cuda(0) == (
        "cannot start NVIDIA's driver (CUDA_ERROR_SYSTEM_NOT_READY: system not yet initialized); a service of the "
        f"driver is not running yet, such as nvidia-fabricmanager{OR_NUMBA}"
    )
    machine(Api(start=CUresult.CUDA_ERROR_OPERATING_SYSTEM))
    assert there.no_cuda(0).endswith(f"; `nvidia-smi` may say more{OR_NUMBA}")


def test_a_driver_whose_library_and_kernel_module_differ(machine):
    machine(Api(start=CUresult.CUDA_ERROR_SYSTEM_DRIVER_MISMATCH))
    assert there.no_cuda(0).endswith(
        f"; the driver's library and its kernel module are of different versions: restart the computer{OR_NUMBA}"
    )


def test_no_gpu(machine, monkeypatch):
    machine(Api(start=CUresult.CUDA_ERROR_NO_DEVICE))
    assert there.no_cuda(0) == f"finds NVIDIA's driver and no GPU: `nvidia-smi` lists them{OR_NUMBA}"
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    assert "no GPU (CUDA_VISIBLE_DEVICES is '')" in there.no_cuda(0)


def test_no_gpu_of_that_number(machine):
    assert there.no_cuda(5) == f'names GPU 5, and there are 2: "cuda:1" is the last{OR_NUMBA}'
    machine(Api(cards=(H200,)))
    assert there.no_cuda(1) == f'names GPU 1, and there is one: take "cuda:0"{OR_NUMBA}'
    with pytest.raises(ScalarvizError, match=r'^engine="cuda:1" names GPU 1, and there is one'):
        usable("cuda:1", "float32")


def test_a_driver_older_than_the_toolkit(machine):
    machine(Api(version=12080))
    assert there.no_cuda(0) == (
        f"needs a driver of CUDA 13.0 or newer, and the one here is of CUDA 12.8: install a newer one{OR_NUMBA}"
    )
    machine(Api(version=13020))
    assert there.no_cuda(0) == ""


def test_a_gpu_older_than_the_toolkit(machine):
    assert there.no_cuda(1) == (
        "cannot use GPU 1 (NVIDIA GeForce GTX 1080, 7.9 GiB, sm_61): CUDA 13.0 begins with sm_75" + OR_NUMBA
    )


@pytest.mark.parametrize("asked", ["toolkit", "processors"])
def test_a_compiler_that_is_missing(machine, monkeypatch, asked):
    def missing():
        raise MissingDependencyError("needs libNVVM")

    monkeypatch.setattr(nvvm, asked, missing)
    assert there.no_cuda(0) == "needs libNVVM" + OR_NUMBA


def test_macos_has_no_cuda(machine, monkeypatch):
    monkeypatch.setattr(there.sys, "platform", "darwin")
    assert there.no_cuda(0) == 'needs an NVIDIA GPU, and macOS has no CUDA: take engine="numba"'


def test_the_doctor_says_the_same(machine, monkeypatch):
    monkeypatch.setattr(doctor, "_window", lambda: (True, ""))
    machine(Api(cards=(H200,)))
    said = {finding.name: finding for finding in doctor.examine()}["CUDA"]
    assert (said.works, said.says) == (True, "NVIDIA H200, 139.8 GiB, sm_90; driver of CUDA 13.0, toolkit 13.0.88")
    machine(Api(start=None))
    said = {finding.name: finding for finding in doctor.examine()}["CUDA"]
    assert (said.works, said.says) == (False, there.no_cuda(0))


def test_a_driver_that_is_broken_leaves_the_doctor_alive(machine, monkeypatch):
    api = Api()
    api.cuDeviceGetName = lambda size, card: 1 / 0
    machine(api)
    monkeypatch.setattr(doctor, "_window", lambda: (True, ""))
    said = {finding.name: finding for finding in doctor.examine()}["CUDA"]
    assert (said.works, said.says) == (False, "ZeroDivisionError: division by zero")


WHAT = """
import sys
from scalarviz.engine.cuda.there import found, no_cuda, simulated
why = no_cuda(int(sys.argv[1]))
print(why or found())
print(sorted({name.split(".")[0] for name in sys.modules} & {"numba", "numba_cuda", "cuda"}))
"""


def python(code, *arguments, **environment):
    """What a new process says, without warnings."""
    settings = {k: v for k, v in os.environ.items() if k not in ("NUMBA_ENABLE_CUDASIM", "SCALARVIZ_NVVM")}
    result = subprocess.run(
        [sys.executable, "-W", "error", "-c", code, *arguments],
        env={**settings, "PYTHONPATH": str(ROOT), **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    return result.stdout.splitlines()


def test_without_the_package_nothing_is_loaded():
    line, loaded = python(f"import sys\nsys.modules['numba_cuda'] = None\n{WHAT}", "0")
    assert line == f'needs numba-cuda, which is not installed here: pip install "scalarviz[cuda]"{OR_NUMBA}'
    assert loaded == "['numba_cuda']"  # what stands for its absence


@pytest.mark.cuda
def test_with_the_package_this_machine_is_asked():
    """A GPU or not: one line, and numba is not loaded for it."""
    line, loaded = python(WHAT, "99")
    assert line.startswith(("needs NVIDIA's driver, ", "finds NVIDIA's driver and no GPU", "names GPU 99, ", "cannot"))
    assert line.endswith(OR_NUMBA)
    assert loaded == "['cuda']"


@pytest.mark.parametrize(("setting", "usable"), [("1", True), ("0", False)])
@pytest.mark.parametrize("device", ["0", "3"])
def test_the_simulator_is_usable(setting, usable, device):
    line, _ = python(WHAT, device, NUMBA_ENABLE_CUDASIM=setting)
    assert line.startswith("numba's simulator") == usable
