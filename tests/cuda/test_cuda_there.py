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
    facts = ("NVIDIA H200, 139.8 GiB, sm_90", "GTX 1080, 7.9 GiB, sm_61", "driver of CUDA 13.0", "toolkit 13.0.88")
    assert [fact for fact in facts if fact not in there.found()] == []
    assert gpus.driver().gpus == (H200, OLD)
    machine(Api(version=13020))
    assert there.no_cuda(0) == ""


def without(*names):
    """`find_spec` of a machine without these packages; a name that is "blocked" raises."""

    def find(name):
        if "blocked" in names:
            raise ModuleNotFoundError(name)
        return None if name in names else object()

    return lambda machine, patch: patch.setattr(there.importlib.util, "find_spec", find)


def blocked(machine, patch):
    patch.setattr(there, "no_numba", lambda: "")
    without("blocked")(machine, patch)


def driver(**options):
    return lambda machine, patch: machine(Api(**options))


def no_gpu_is_visible(machine, patch):
    machine(Api(start=CUresult.CUDA_ERROR_NO_DEVICE))
    patch.setenv("CUDA_VISIBLE_DEVICES", "")


def forked(machine, patch):
    api = machine(Api())
    assert there.no_cuda(0) == there.no_cuda(0) == ""
    assert api.asked == 1  # once
    patch.setattr(gpus.os, "getpid", lambda: -1)
    api.start = CUresult.CUDA_ERROR_NOT_INITIALIZED


def without_compiler(asked):
    def missing():
        raise MissingDependencyError("needs libNVVM")

    return lambda machine, patch: patch.setattr(nvvm, asked, missing)


def attribute(place, name, value):
    return lambda machine, patch: patch.setattr(place, name, value)


NOTHING = driver()
INSTALL = 'pip install "scalarviz[cuda]"'
REASONS = {
    "no package": (without("numba_cuda"), 0, "numba-cuda", "not installed", INSTALL),
    "no bindings": (without("cuda.bindings"), 0, "cuda-bindings", "not installed", INSTALL),
    "a blocked package": (blocked, 0, "numba-cuda", "not installed"),
    "an old package": (
        attribute(there.metadata, "version", lambda name: "0.9.1"),
        0,
        "0.30 or newer",
        "0.9.1",
        INSTALL,
    ),
    "no numba": (attribute(there, "no_numba", lambda: "needs numba"), 0, "needs numba"),
    "no driver": (driver(start=None), 0, "NVIDIA's driver", "libcuda.so.1", "install the driver"),
    "a service": (driver(start=CUresult.CUDA_ERROR_SYSTEM_NOT_READY), 0, "SYSTEM_NOT_READY", "nvidia-fabricmanager"),
    "the system": (driver(start=CUresult.CUDA_ERROR_OPERATING_SYSTEM), 0, "OPERATING_SYSTEM", "nvidia-smi"),
    "two versions": (driver(start=CUresult.CUDA_ERROR_SYSTEM_DRIVER_MISMATCH), 0, "different versions", "restart"),
    "no GPU": (driver(start=CUresult.CUDA_ERROR_NO_DEVICE), 0, "no GPU", "nvidia-smi"),
    "none visible": (no_gpu_is_visible, 0, "no GPU", "CUDA_VISIBLE_DEVICES is ''"),
    "no such number": (NOTHING, 5, "GPU 5", "there are 2", '"cuda:1"'),
    "only one": (driver(cards=(H200,)), 1, "GPU 1", "there is one", '"cuda:0"'),
    "an old driver": (driver(version=12080), 0, "CUDA 13.0 or newer", "CUDA 12.8", "install a newer one"),
    "an old GPU": (NOTHING, 1, "GPU 1", "GTX 1080", "sm_61", "CUDA 13.0 begins with sm_75"),
    "no compiler": (without_compiler("toolkit"), 0, "needs libNVVM"),
    "no processors": (without_compiler("processors"), 0, "needs libNVVM"),
    "macOS": (attribute(there.sys, "platform", "darwin"), 0, "NVIDIA GPU", "macOS"),
    "a fork": (forked, 0, "CUDA_ERROR_NOT_INITIALIZED", "forked", '"spawn"'),
}
"""What a machine lacks, the GPU that is asked for, facts of the message."""


@pytest.mark.parametrize("reason", REASONS)
def test_what_is_missing_is_said_with_a_way_out(machine, monkeypatch, reason):
    change, number, *facts = REASONS[reason]
    change(machine, monkeypatch)
    said = there.no_cuda(number)
    assert [fact for fact in facts if fact not in said] == [], said
    assert 'engine="numba"' in said or reason == "no numba"
    if reason == "only one":
        with pytest.raises(ScalarvizError, match=r'^engine="cuda:1" .*there is one'):
            usable("cuda:1", "float32")


def test_the_oldest_numba_cuda_is_what_is_asked_for():
    parser = configparser.ConfigParser()
    parser.read(ROOT / "setup.cfg", encoding="utf-8")
    assert f"numba-cuda>={there.OLDEST[0]}.{there.OLDEST[1]};" in parser["options.extras_require"]["cuda"]


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
    assert all(fact in line for fact in ("needs numba-cuda", INSTALL, OR_NUMBA))
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
