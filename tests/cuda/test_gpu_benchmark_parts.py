"""Parts of benchmarks/gpu.py on the driver that executes the real PTX: the figures mean nothing, the checks hold."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

pytestmark = pytest.mark.cuda
BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"
PARTS = {
    "targets": ("_gpu_steps", "targets"), "graph": ("_gpu_runs", "many_nodes"), "frames": ("_gpu_runs", "frames"),
    "costs": ("_gpu_there", "costs"), "there": ("_gpu_there", "there"),
}  # fmt: skip


@pytest.fixture
def part(monkeypatch, tmp_path, install_fake_driver):
    """Do a part, tiny; returns its rows."""
    install_fake_driver()
    monkeypatch.syspath_prepend(str(BENCHMARKS))

    def do(name, module, function):
        setting = importlib.import_module("_gpu_setting").Setting(name, tmp_path / "rows.jsonl", tiny=True)
        getattr(importlib.import_module(module), function)(setting)
        return importlib.import_module("_gpu_rows").read(setting.results)

    return do


@pytest.mark.parametrize("name", PARTS)
def test_a_part(part, name):
    rows = part(name, *PARTS[name])
    assert rows
    assert not [row for row in rows if row.ok is False]


@pytest.mark.hunt
def test_kernels(part):
    rows = part("kernels", "_gpu_kernels", "measure")
    assert rows
    assert all(row.ok for row in rows)


@pytest.mark.parametrize("dtype", ["float32", pytest.param("float64", marks=pytest.mark.hunt)])
def test_every_operation_is_that_of_numpy(part, dtype):
    ops = importlib.import_module("scalarviz.scalar.ops")
    kernels = importlib.import_module("_gpu_kernels")
    device = importlib.import_module("scalarviz.engine.cuda.devices").open_device(0)
    found = {name: kernels._operation(device, name, dtype, True) for name in ops.TABLE}
    assert {name: words for name, (_, words) in found.items() if words} == {}
    assert max(error for error, _ in found.values()) <= kernels.MOST_ULPS


def test_a_wide_network_in_tiles(part, tmp_path):
    kernels, networks = importlib.import_module("_gpu_kernels"), importlib.import_module("_gpu_networks")
    setting = importlib.import_module("_gpu_setting").Setting("kernels", tmp_path / "rows.jsonl")
    case = next(case for case in networks.checks() if case.name == "64 wide, LeakyReLU, 200")
    kernels._case(setting, case, "float32", "cuda", 1)
    rows = importlib.import_module("_gpu_rows").read(setting.results)
    assert [row.ok for row in rows] == [True, True]


def test_what_is_carried_is_what_is_needed(part, tmp_path):
    """The kernels of one case: written, found again by name, and machine code indeed."""
    carried, networks = importlib.import_module("_gpu_carried"), importlib.import_module("_gpu_networks")
    engine = importlib.import_module("scalarviz.engine.cuda.carried")
    images = importlib.import_module("scalarviz.engine.cuda.images")
    case = next(networks.checks())
    found = carried.needed([case])
    names = {(kernel.name, kernel.dtype) for kernel in found}
    assert {("update", "float32"), ("update", "float64"), ("pairs", "float32")} <= names
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(carried, "needed", lambda cases: found[:4])
        carried.write(tmp_path / "cubins", (80, 90))
        assert len(list((tmp_path / "cubins").iterdir())) == 8
        patch.setenv(engine.NAMED, str(tmp_path / "cubins"))
        for kernel in found[:4]:
            assert engine.load(kernel, images.entry(kernel), (9, 0)).startswith(b"\x7fELF")
