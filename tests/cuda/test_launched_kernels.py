"""All that training launches, on any machine: kernels of real sizes compiled to the end, launches that a GPU can do."""

from __future__ import annotations

import importlib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from machine_code import ARCHITECTURES, allowed, assembled, faults

import scalarviz as sv
from scalarviz import Run, nn, optim
from scalarviz.engine.cuda import trainer
from scalarviz.engine.cuda.device import Buffer
from scalarviz.engine.cuda.listing import launches

pytestmark = pytest.mark.cuda
DTYPES = ("float32", "float64")
MOSTLY = ("float32", pytest.param("float64", marks=pytest.mark.slow))
"""Where float64 compiles the same kernels again for minutes; derived weights have both."""
BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"
SHARED = {75: 64, 80: 163, 86: 99, 87: 163, 89: 99, 90: 227, 100: 227, 103: 227, 120: 99}
"""Kilobytes of shared memory that a block may have, by CUDA's programming guide."""
REGISTERS = 65536
"""Of a multiprocessor, all that a block can have; a warp takes them by 256."""
POINTERS = {"Words": np.int32, "Longs": np.int64, "Doubles": np.float64, "Flags": np.uint8}
WORKLOADS = (
    "rgb", "3-16-16-3", "XOR", "circle", "UiNN", "UV 12-64x4-3 Adam, 1024", "UV 12-64x4-3 Adam, 65536",
    "CNN 8/16 3x3 28x28, 64", "CNN 8/16 3x3 28x28, 1", "scalar graph",
)  # fmt: skip


class Long(optim.Optimizer):
    """An update of more rows than stay in registers."""

    def update(self, w, g, state, lr, t):
        for k in range(300):
            g = (g * (1.0 + k)).tanh()
        return w - lr * g, {}


def network():
    return nn.Sequential(nn.Linear(3, 4, seed=1), nn.Tanh(), nn.Linear(4, 2, seed=2))


class Derived(nn.Module):
    """A weight that is made of others."""

    def __init__(self):
        self.w = [sv.Weight(x) for x in (0.3, -0.7)]

    def forward(self, x):
        return [self.w[0] * self.w[1] * x[0] + x[1], self.w[0].exp() * x[2]]


def optimisers():
    """One of every kind that there is."""
    return {
        "SGD": lambda w: optim.SGD(w, lr=0.1), "momentum": lambda w: optim.SGD(w, lr=0.1, momentum=0.9),
        "Adam": lambda w: optim.Adam(w, lr=0.1), "long": lambda w: Long(w, lr=0.1),
    }  # fmt: skip


@pytest.fixture(scope="module")
def benchmarks():
    """The modules of the benchmarks: networks, and runs of them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(BENCHMARKS))
        yield importlib.import_module("_ours"), importlib.import_module("_workloads")


def test_all_workloads_are_among_them(benchmarks):
    _, workloads = benchmarks
    assert [workloads.named(name) for name in WORKLOADS] == list(workloads.WORKLOADS)


@pytest.mark.parametrize("dtype", MOSTLY)
@pytest.mark.parametrize("name", WORKLOADS)
def test_the_launches_of_a_workload(benchmarks, name, dtype):
    ours, workloads = benchmarks
    run = ours.build(workloads.named(name), "numpy", dtype=dtype)
    check(launches(run.problem), dtype)
    run.close()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ["3-16-16-3", "XOR", "UV 12-64x4-3 Adam, 1024"])
def test_the_launches_of_a_small_workload_that_is_not_computed_in_blocks(benchmarks, name, dtype, monkeypatch):
    ours, workloads = benchmarks
    monkeypatch.setattr(trainer, "SHAPE", replace(trainer.SHAPE, lanes=0))
    run = ours.build(workloads.named(name), "numpy", dtype=dtype)
    found = launches(run.problem)
    assert not {"block", "alone"} & {launch.kernel.name for launch in found}
    check(found, dtype)
    run.close()


@pytest.mark.parametrize("dtype", MOSTLY)
@pytest.mark.parametrize("batch", [20, 6])
@pytest.mark.parametrize("optimiser", list(optimisers()))
def test_the_launches_of_an_optimiser(optimiser, batch, dtype):
    check(launches(problem(network(), optimiser, batch, dtype)), dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("lanes", "kernel"), [(8, "alone"), (0, "derived_back")])
def test_the_launches_of_derived_weights(lanes, kernel, dtype, monkeypatch):
    monkeypatch.setattr(trainer, "SHAPE", replace(trainer.SHAPE, lanes=lanes))
    found = launches(problem(Derived(), "Adam", 20, dtype))
    assert kernel in {launch.kernel.name for launch in found}
    check(found, dtype)


def problem(model, optimiser, batch, dtype):
    make = np.random.default_rng(3)
    weights = model.w if isinstance(model, Derived) else model.parameters()
    data = make.normal(size=(20, 3)), make.normal(size=(20, 2))
    run = Run(
        model, nn.MSELoss(), optimisers()[optimiser](weights), data, batch_size=batch, engine="numpy", dtype=dtype
    )
    return run.problem


def check(found, dtype):
    assert found
    for launch in found:
        fits(launch, dtype)
    for kernel in {launch.kernel for launch in found}:
        for architecture in ARCHITECTURES:
            assert faults(kernel, architecture) <= allowed(kernel), kernel.name
    for architecture in ARCHITECTURES:
        for launch in found:
            code, threads = assembled(launch.kernel, architecture), launch.block[0] * launch.block[1]
            warps, of_a_warp = -(-threads // 32), -(-code.registers * 32 // 256) * 256
            assert warps * of_a_warp <= REGISTERS, f"{launch.kernel.name}: {code.registers} registers"
            assert code.shared + launch.shared <= SHARED[architecture] * 1024, launch.kernel.name


def fits(launch, dtype):
    """What the driver would refuse, or what a kernel would read as something else."""
    name = launch.kernel.name
    assert launch.kernel.dtype == dtype
    assert 1 <= launch.grid[0] < 2**31, name
    assert 1 <= launch.grid[1] < 2**16, name
    assert 1 <= launch.block[0] * launch.block[1] <= 1024, name
    for annotation, argument in zip(launch.kernel.parameters, launch.arguments, strict=True):
        if annotation == "Reals":
            assert isinstance(argument, Buffer), name
            assert argument.dtype == dtype, name
        elif annotation in POINTERS:
            assert isinstance(argument, Buffer), name
            assert argument.dtype == POINTERS[annotation], name
        elif annotation == "Int":
            assert -(2**63) <= int(argument) == argument < 2**63, name
        elif annotation == "Key":
            assert 0 <= int(argument) == argument < 2**64, name
        else:
            assert annotation in ("Real", "Double"), name
            assert float(argument) == float(np.dtype(dtype).type(argument)) or annotation == "Double", name


def test_a_listing_leaves_the_numbers_as_they_were():
    given = problem(network(), "Adam", 20, "float64")
    before = [array.copy() for array in (given.store.value, given.previous, *given.state)]
    assert launches(given)
    after = [given.store.value, given.previous, *given.state]
    assert all(np.array_equal(a, b) for a, b in zip(before, after, strict=True))
