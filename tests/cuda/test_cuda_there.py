"""Why CUDA cannot be used: each reason in words, told from a made-up driver and toolkit; and where libNVVM is found.

Internals: ``there``, which a user meets as the words behind ``engine="cuda"`` and in ``scalarviz doctor``.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from scalarviz.cli import doctor
from scalarviz.engine import cache, cost
from scalarviz.engine.cuda import nvvm, there
from scalarviz.engine.table import usable
from scalarviz.errors import MissingDependencyError, ScalarvizError

ROOT = Path(__file__).resolve().parents[2]
CARDS = [("NVIDIA H200", 150_110_011_392, (9, 0)), ("NVIDIA GeForce GTX 1080", 8_510_701_568, (6, 1))]
INSTALL = 'pip install "scalarviz[cuda]"'


def raises(error):
    def fail(*_):
        raise error

    return fail


@pytest.fixture
def machine(install_fake_driver, monkeypatch):
    """Makes machines where packages, driver, two GPUs and toolkit are there: ``machine(cuInit error, options)``."""
    for name in ("NUMBA_ENABLE_CUDASIM", "CUDA_VISIBLE_DEVICES"):
        monkeypatch.delenv(name, raising=False)
    for place, name, value in (
        (there.sys, "platform", "linux"), (there, "simulated", lambda: False), (nvvm, "toolkit", lambda: "13.0.88"),
        (cost.importlib.util, "find_spec", lambda name: object()), (there.metadata, "version", lambda name: "0.30.4"),
        (nvvm, "processors", lambda: (75, 80, 90)),
    ):  # fmt: skip
        monkeypatch.setattr(place, name, value)

    def make(start="", **options):
        fake = install_fake_driver(**{"devices": CARDS, **options})
        if start == "no library":
            fake.cuInit = raises(RuntimeError('Failure finding "libcuda.so"'))
        elif start:
            fake.fail("cuInit", f"CUDA_ERROR_{start}")
        return fake

    return make


@pytest.mark.cuda
def test_nothing_is_missing_where_all_is_there(machine):
    machine()
    assert there.no_cuda(0) == ""
    facts = ("NVIDIA H200, 139.8 GiB, sm_90", "GTX 1080, 7.9 GiB, sm_61", "driver for CUDA 13.0", "toolkit 13.0.88")
    assert [fact for fact in facts if fact not in there.gpu_summary()] == []
    assert [(gpu.name, gpu.memory, gpu.capability) for gpu in there.driver().gpus] == CARDS
    machine(version=13020)
    assert there.no_cuda(0) == ""


def without(*names):
    return {"importlib.util.find_spec": lambda name: None if name in names else object()}


BLOCKED = {"importlib.util.find_spec": raises(ModuleNotFoundError("blocked")), "no_numba": lambda: ""}
NO_NVVM = raises(MissingDependencyError("needs libNVVM"))
REASONS = {
    "no package": ({}, without("numba_cuda"), 0, "numba-cuda", "not installed", INSTALL),
    "no bindings": ({}, without("cuda.bindings"), 0, "cuda-bindings", "not installed", INSTALL),
    "a blocked package": ({}, BLOCKED, 0, "numba-cuda", "not installed"),
    "an old package": ({}, {"metadata.version": lambda name: "0.9.1"}, 0, "0.30 or newer", "0.9.1", INSTALL),
    "no numba": ({}, {"no_numba": lambda: "needs numba"}, 0, "needs numba"),
    "no driver": ({"start": "no library"}, {}, 0, "NVIDIA's driver", "libcuda.so.1", "install the driver"),
    "a service": ({"start": "SYSTEM_NOT_READY"}, {}, 0, "SYSTEM_NOT_READY", "nvidia-fabricmanager"),
    "the system": ({"start": "OPERATING_SYSTEM"}, {}, 0, "OPERATING_SYSTEM", "nvidia-smi"),
    "two versions": ({"start": "SYSTEM_DRIVER_MISMATCH"}, {}, 0, "different versions", "restart"),
    "no GPU": ({"devices": []}, {}, 0, "no GPU", "nvidia-smi"),
    "none visible": ({"devices": []}, {"": ""}, 0, "no GPU", "CUDA_VISIBLE_DEVICES is ''"),
    "no such number": ({}, {}, 5, "GPU 5", "there are 2", '"cuda:1"'),
    "only one": ({"devices": CARDS[:1]}, {}, 1, "GPU 1", "there is only one", '"cuda:0"'),
    "an old driver": ({"version": 12080}, {}, 0, "CUDA 13.0 or newer", "CUDA 12.8", "install a newer one"),
    "an old GPU": ({}, {}, 1, "GPU 1", "GTX 1080", "sm_61", "CUDA 13.0 needs sm_75 or newer"),
    "no compiler": ({}, {"nvvm.toolkit": NO_NVVM}, 0, "needs libNVVM"),
    "no processors": ({}, {"nvvm.processors": NO_NVVM}, 0, "needs libNVVM"),
    "macOS": ({}, {"sys.platform": "darwin"}, 0, "NVIDIA GPU", "macOS"),
}
"""What the machine lacks: options of the driver, parts of ``there`` that are replaced; the GPU asked for; facts."""


@pytest.mark.cuda
@pytest.mark.parametrize("reason", REASONS)
def test_what_is_missing_is_said_with_a_way_out(machine, monkeypatch, reason):
    options, parts, number, *facts = REASONS[reason]
    machine(**options)
    for path, value in parts.items():
        if path:
            monkeypatch.setattr(path if path.startswith("importlib") else f"scalarviz.engine.cuda.there.{path}", value)
        else:
            monkeypatch.setenv("CUDA_VISIBLE_DEVICES", value)
    said = there.no_cuda(number)
    assert [fact for fact in facts if fact not in said] == [], said
    assert 'engine="numba"' in said or reason == "no numba"
    if reason == "only one":
        with pytest.raises(ScalarvizError, match=r'^engine="cuda:1" .*there is only one'):
            usable("cuda:1", "float32")


@pytest.mark.cuda
def test_a_forked_process_is_told_so(machine, monkeypatch):
    fake = machine()
    assert (there.no_cuda(0), there.no_cuda(0), fake.calls["cuInit"]) == ("", "", 1)
    monkeypatch.setattr(there.os, "getpid", lambda: -1)
    said = there.no_cuda(0)
    assert [fact for fact in ("CUDA_ERROR_NOT_INITIALIZED", "fork of", '"spawn"') if fact not in said] == []


@pytest.mark.cuda
def test_the_doctor_says_the_same_and_survives_a_broken_driver(machine, monkeypatch, capsys):
    monkeypatch.setattr(doctor, "CHECKS", {"CUDA": doctor.CHECKS["CUDA"]})  # the others look for a window and films

    def said():
        assert doctor.doctor(SimpleNamespace(scene=None, report=False, ops=False)) == 0
        return " ".join(capsys.readouterr().out.split())

    machine(devices=CARDS[:1])
    assert said() == "ok CUDA NVIDIA H200, 139.8 GiB, sm_90; driver for CUDA 13.0, toolkit 13.0.88"
    machine("no library")
    assert said() == f"no CUDA {' '.join(there.no_cuda(0).split())}"
    machine().cuDeviceGetName = lambda size, card: 1 / 0
    assert said() == "no CUDA ZeroDivisionError: division by zero"


WHAT = """
import sys
from scalarviz.engine.cuda.there import gpu_summary, no_cuda, simulated
why = no_cuda(int(sys.argv[1]))
print(why or gpu_summary())
print(sorted({name.split(".")[0] for name in sys.modules} & {"numba", "numba_cuda", "cuda"}))
"""


def python(code, *arguments, **environment):
    """What a new process says, without warnings."""
    settings = {k: v for k, v in os.environ.items() if not k.startswith(("NUMBA_", "SCALARVIZ_NVVM"))}
    command = [sys.executable, "-W", "error", "-c", code, *arguments]
    settings |= {"PYTHONPATH": str(ROOT), **environment}
    result = subprocess.run(command, env=settings, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    return result.stdout.splitlines()


def test_without_the_package_nothing_is_loaded():
    line, loaded = python(f"import sys\nsys.modules['numba_cuda'] = None\n{WHAT}", "0")
    assert [fact for fact in ("needs numba-cuda", INSTALL, ', or use engine="numba"') if fact not in line] == []
    assert loaded == "['numba_cuda']"  # what stands for its absence


@pytest.mark.parametrize(("setting", "usable"), [("1", True), ("0", False)])
def test_the_simulator_is_usable(setting, usable):
    line, _ = python(WHAT, "3", NUMBA_ENABLE_CUDASIM=setting)
    assert line.startswith("numba's simulator") == usable


# ---- libNVVM: one that the user names is code, so it is loaded only where nobody else can change it

posix = pytest.mark.skipif(sys.platform == "win32", reason="Windows has other modes and names of files")
NAME = nvvm.LIBRARIES[0]


@pytest.fixture
def toolkit(tmp_path, monkeypatch):
    """A folder that looks like a CUDA toolkit, whose libNVVM is a file of text; it is named to be used."""
    (tmp_path / "cuda" / "nvvm" / "lib64").mkdir(parents=True)
    (tmp_path / "cuda" / "nvvm" / "libdevice").mkdir()
    (tmp_path / "cuda" / "nvvm" / "libdevice" / "libdevice.10.bc").write_bytes(b"BC")
    (tmp_path / "cuda" / "nvvm" / "lib64" / NAME).write_text("no library" * 100)
    for part in (tmp_path, *tmp_path.rglob("*")):
        part.chmod(0o755)
    monkeypatch.setenv("SCALARVIZ_NVVM", str(tmp_path / "cuda"))
    nvvm._loaded.cache_clear()
    yield tmp_path / "cuda"
    nvvm._loaded.cache_clear()


@pytest.fixture
def loads(monkeypatch):
    """Libraries that are loaded, and the finder's answer: the last of them."""
    loaded = []
    monkeypatch.setattr(nvvm.ctypes, "CDLL", lambda name, mode: loaded.append(Path(name)))
    monkeypatch.setattr(nvvm, "_found", lambda: loaded[-1] if loaded else None)
    return loaded


def library(toolkit):
    return toolkit / "nvvm" / "lib64" / NAME


def refused(loads, *facts):
    with pytest.raises(MissingDependencyError) as error:
        nvvm.use_nvvm()
    assert [fact for fact in facts if fact not in str(error.value)] == [], str(error.value)
    assert loads == []


@posix
@pytest.mark.parametrize("named", ["", "nvvm/lib64", f"nvvm/lib64/{NAME}"])
def test_a_toolkit_or_a_library_can_be_named(toolkit, loads, monkeypatch, named):
    monkeypatch.setenv("SCALARVIZ_NVVM", str(toolkit / named))
    found = nvvm.use_nvvm()
    assert (found.library, found.libdevice.resolve().name) == (library(toolkit), "libdevice.10.bc")
    assert nvvm.use_nvvm() == found
    assert loads == [library(toolkit)]


@posix
@pytest.mark.parametrize(
    ("name", "says"), [("gone", "that does not exist"), ("cuda/bin", f"that folder has no {NAME} or")]
)
def test_what_is_named_and_not_there_is_not_replaced(toolkit, loads, monkeypatch, name, says):
    (toolkit / "bin").mkdir()
    monkeypatch.setenv("SCALARVIZ_NVVM", str(toolkit.parent / name))
    refused(loads, "has no compiler: SCALARVIZ_NVVM is ", f"{name}', but {says}")


@posix
@pytest.mark.parametrize("way", [0o002, "another user"])
@pytest.mark.parametrize("part", [f"nvvm/lib64/{NAME}", "nvvm/libdevice/libdevice.10.bc", "nvvm", ".."])
def test_what_others_can_write_or_own_is_not_loaded(toolkit, loads, monkeypatch, part, way):
    path, real = Path(os.path.normpath(toolkit / part)), os.stat

    def stat(asked, **options):
        found = real(asked, **options)
        return os.stat_result((*found[:4], 12345, *found[5:])) if str(asked) == str(path) else found

    if way == "another user":
        monkeypatch.setattr(cache.os, "stat", stat)
        refused(loads, f"{path} belongs to another user (number 12345)")
        return
    path.chmod(path.stat().st_mode | way)
    mode = path.stat().st_mode & 0o7777
    refused(loads, f"{path} can be written by others (mode {mode:o})", f"`chmod go-w {path}`")
    subprocess.run(["chmod", "go-w", path], check=True)  # what the message names helps
    assert cache.intruder(library(toolkit)) == ""


@posix
def test_a_library_that_is_none_is_called_so(toolkit):
    with pytest.raises(MissingDependencyError, match=r"^cannot load .*, which SCALARVIZ_NVVM names \(.*invalid ELF"):
        nvvm.use_nvvm()


@posix
def test_the_one_beside_nvcc_is_taken_where_the_finder_finds_none(toolkit, loads, monkeypatch, tmp_path):
    monkeypatch.delenv("SCALARVIZ_NVVM")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    (tmp_path / "bin").mkdir()
    refused(loads, "needs libNVVM, which was not found: pip install")
    (toolkit / "bin").mkdir()
    (toolkit / "bin" / "nvcc").write_text("#!/bin/sh\n")
    (toolkit / "bin" / "nvcc").chmod(0o755)
    (tmp_path / "bin" / "nvcc").symlink_to(toolkit / "bin" / "nvcc")
    assert nvvm.use_nvvm().library == library(toolkit)


COMPILES = """
from scalarviz.engine.cuda import catalog, nvvm
print(nvvm.use_nvvm().library, "ex2.approx" in catalog.find("forward:exp", "float32").ptx((9, 0)))
print(*sorted({line.split()[-1] for line in open("/proc/self/maps") if "libnvvm" in line}))
"""


@posix
@pytest.mark.cuda
def test_numba_compiles_with_the_one_that_is_named(tmp_path, monkeypatch):
    """A copy of the real one: it, and no other, is loaded."""
    monkeypatch.delenv("SCALARVIZ_NVVM", raising=False)
    real = nvvm.use_nvvm()
    (tmp_path / "libdevice").mkdir()
    shutil.copy(real.library, tmp_path / NAME)
    shutil.copy(real.libdevice, tmp_path / "libdevice" / "libdevice.10.bc")
    monkeypatch.setenv("SCALARVIZ_NVVM", str(tmp_path))
    said = subprocess.check_output([sys.executable, "-c", COMPILES], text=True, cwd=ROOT).splitlines()
    assert said == [f"{tmp_path / NAME} True", str(tmp_path / NAME)]


WITHOUT = """
import numba.np.arrayobj, numpy  # numba asks which NumPy it is
from scalarviz.engine.cuda import catalog
vars(numpy).pop("row_stack", None)  # NumPy 2.5 has none, and numba-cuda 0.30 names it
numpy.__all__ = [name for name in numpy.__all__ if name != "row_stack"]
print(".entry" in catalog.find("join", "float32").ptx((9, 0)), hasattr(numpy, "row_stack"))
"""


@pytest.mark.cuda
def test_kernels_are_compiled_beside_a_numpy_without_row_stack():
    said = subprocess.check_output([sys.executable, "-W", "error", "-c", WITHOUT], text=True, cwd=ROOT)
    assert said.split() == ["True", "False"]
