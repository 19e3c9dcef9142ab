"""Finding libNVVM; one that the user names is code, so it is loaded only where nobody else can change it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from scalarviz.engine.cache import trust
from scalarviz.engine.cuda import nvvm
from scalarviz.errors import MissingDependencyError

ROOT = Path(__file__).resolve().parents[2]
NAME, ELSEWHERE = nvvm.LIBRARIES[0], 12345

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows has other modes and names of files")


@pytest.fixture
def toolkit(tmp_path, monkeypatch):
    """A folder that looks like a CUDA toolkit; a file of text is its libNVVM."""
    (tmp_path / "cuda" / "nvvm" / "lib64").mkdir(parents=True)
    (tmp_path / "cuda" / "nvvm" / "libdevice").mkdir()
    (tmp_path / "cuda" / "nvvm" / "libdevice" / "libdevice.10.bc").write_bytes(b"BC")
    (tmp_path / "cuda" / "nvvm" / "lib64" / NAME).write_text("no library" * 100)
    for part in (tmp_path, *tmp_path.rglob("*")):
        part.chmod(0o755)
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


@pytest.mark.parametrize("named", ["", "nvvm", "nvvm/lib64", f"nvvm/lib64/{NAME}"])
def test_a_toolkit_or_a_library_can_be_named(toolkit, loads, monkeypatch, named):
    place = toolkit / named
    if named == "nvvm":
        (toolkit / "nvvm" / NAME).symlink_to(f"lib64/{NAME}")
    monkeypatch.setenv("SCALARVIZ_NVVM", str(place))
    libdevice = toolkit / "nvvm" / "libdevice" / "libdevice.10.bc"
    found = nvvm.use_nvvm()
    assert found.library == library(toolkit)
    assert found.libdevice.resolve() == libdevice
    assert nvvm.use_nvvm() == found
    assert loads == [library(toolkit)]


@pytest.mark.parametrize(("name", "says"), [("gone", "that is not there"), ("cuda/bin", f"there is no {NAME} or")])
def test_what_is_named_and_not_there_is_not_replaced(toolkit, loads, monkeypatch, name, says):
    (toolkit / "bin").mkdir()
    monkeypatch.setenv("SCALARVIZ_NVVM", str(toolkit.parent / name))
    with pytest.raises(MissingDependencyError, match=f"^has no compiler: SCALARVIZ_NVVM is .*{name}', and {says}"):
        nvvm.use_nvvm()
    assert loads == []


def refused(toolkit, loads, monkeypatch, *facts):
    monkeypatch.setenv("SCALARVIZ_NVVM", str(toolkit))
    with pytest.raises(MissingDependencyError) as error:
        nvvm.use_nvvm()
    assert [fact for fact in facts if fact not in str(error.value)] == [], str(error.value)
    assert loads == []


PARTS = ["nvvm/lib64/" + NAME, "nvvm/libdevice/libdevice.10.bc", "nvvm/libdevice", "nvvm/lib64", "nvvm", "", ".."]


@pytest.mark.parametrize("way", [0o020, 0o002, "another user"])
@pytest.mark.parametrize("part", PARTS)
def test_what_others_can_write_or_own_is_not_loaded(toolkit, loads, monkeypatch, part, way):
    path, real = Path(os.path.normpath(toolkit / part)), os.stat

    def stat(asked, **options):
        found = real(asked, **options)
        return os.stat_result((*found[:4], ELSEWHERE, *found[5:])) if str(asked) == str(path) else found

    if way == "another user":
        monkeypatch.setattr(trust.os, "stat", stat)
        refused(toolkit, loads, monkeypatch, f"{path} belongs to another user (number {ELSEWHERE})")
        return
    if way == 0o020 and os.getuid() == trust.ROOT:
        monkeypatch.setattr(trust, "ROOT", -1)  # root may give its folders to a group; this user is no root
    path.chmod(path.stat().st_mode | way)
    mode = path.stat().st_mode & 0o7777
    refused(toolkit, loads, monkeypatch, f"{path} can be written by others (mode {mode:o})", f"`chmod go-w {path}`")
    monkeypatch.undo()
    subprocess.run(["chmod", "go-w", path], check=True)  # what the message names helps
    assert trust.intruder(library(toolkit)) == ""


def test_a_link_is_followed_to_what_others_can_write(toolkit, loads, monkeypatch, tmp_path):
    safe = tmp_path / "safe"
    safe.mkdir(mode=0o755)
    (safe / NAME).symlink_to(library(toolkit))
    library(toolkit).parent.chmod(0o777)
    refused(safe, loads, monkeypatch, f"{library(toolkit).parent} can be written by others (mode 777)")


@pytest.mark.parametrize(
    ("mode", "root", "passes"), [(0o1777, False, True), (0o777, False, False), (0o775, True, True)]
)
def test_folders_where_only_owners_rename_or_that_root_opened_to_a_group_are_passed(
    toolkit, monkeypatch, mode, root, passes
):
    if root:
        monkeypatch.setattr(trust, "ROOT", os.getuid())
    toolkit.chmod(mode)
    assert (trust.intruder(library(toolkit)) == "") == passes


def test_a_library_that_is_none_is_called_so(toolkit, monkeypatch):
    monkeypatch.setenv("SCALARVIZ_NVVM", str(toolkit))
    with pytest.raises(MissingDependencyError, match=r"^cannot load .*, which SCALARVIZ_NVVM names \(.*invalid ELF"):
        nvvm.use_nvvm()


def test_another_one_that_is_loaded_already_is_told(toolkit, loads, monkeypatch, tmp_path):
    (tmp_path / "other").touch()
    monkeypatch.setenv("SCALARVIZ_NVVM", str(toolkit))
    monkeypatch.setattr(nvvm, "_found", lambda: tmp_path / "other")
    with pytest.raises(MissingDependencyError, match=f"{tmp_path / 'other'} is loaded already; start Python anew"):
        nvvm.use_nvvm()


def test_the_one_beside_nvcc_is_taken_where_the_finder_finds_none(toolkit, loads, monkeypatch, tmp_path):
    monkeypatch.delenv("SCALARVIZ_NVVM", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    (tmp_path / "bin").mkdir()
    with pytest.raises(
        MissingDependencyError, match=r"^needs libNVVM, which was not found: pip install .scalarviz\[cuda"
    ):
        nvvm.use_nvvm()
    (toolkit / "bin").mkdir()
    (toolkit / "bin" / "nvcc").write_text("#!/bin/sh\n")
    (toolkit / "bin" / "nvcc").chmod(0o755)
    (tmp_path / "bin" / "nvcc").symlink_to(toolkit / "bin" / "nvcc")
    assert nvvm.use_nvvm().library == library(toolkit)


WHAT = """
from numba.cuda import cuda_paths
from scalarviz.engine.cuda import catalog, nvvm
print(nvvm.use_nvvm().library, nvvm.toolkit())
print("ex2.approx" in catalog.find("forward:exp", "float32").ptx((9, 0)))
print(cuda_paths.get_cuda_paths()["libdevice"].info)
print(*sorted({line.split()[-1] for line in open("/proc/self/maps") if "libnvvm" in line}))
"""


@pytest.mark.cuda
def test_numba_compiles_with_the_one_that_is_named(tmp_path):
    """A copy of the real one: it, and no other, is loaded; its mathematical functions are taken."""
    code = (
        "from scalarviz.engine.cuda import nvvm; print(*map(str, (nvvm.use_nvvm().library, nvvm.use_nvvm().libdevice)))"
    )
    settings = {**os.environ, "PYTHONPATH": str(ROOT)}
    settings.pop("SCALARVIZ_NVVM", None)

    def says(program):
        result = subprocess.run(
            [sys.executable, "-c", program], env=settings, capture_output=True, text=True, check=False
        )
        assert result.returncode == 0, result.stderr
        return result.stdout.splitlines()

    real, functions = says(code)[0].split()
    (tmp_path / "libdevice").mkdir()
    shutil.copy(real, tmp_path / NAME)
    shutil.copy(functions, tmp_path / "libdevice" / "libdevice.10.bc")
    settings["SCALARVIZ_NVVM"] = str(tmp_path)
    version = says(f"{code}; print(nvvm.toolkit())")[1]
    assert says(WHAT) == [
        f"{tmp_path / NAME} {version}", "True", str(tmp_path / "libdevice" / "libdevice.10.bc"), str(tmp_path / NAME)
    ]  # fmt: skip
