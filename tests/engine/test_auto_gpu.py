"""`auto` takes a GPU where a step is long enough to repay it, once, at the start, and says why. Nowhere else."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import Run, nn, optim
from scalarviz.engine import choose as choosing
from scalarviz.engine import cost
from scalarviz.engine.arrays.trainer import NumpyTrainer
from scalarviz.engine.table import ENGINES
from scalarviz.errors import MissingDependencyError

FOLDER = Path(__file__).resolve().parents[2] / "benchmarks"
MEASURED = json.loads((FOLDER / "results" / "peers.json").read_text(encoding="utf-8"))["seconds"]


@pytest.fixture
def workloads(monkeypatch):
    """The networks of the benchmarks, as problems."""
    monkeypatch.syspath_prepend(str(FOLDER))
    before = set(sys.modules)
    ours, work = importlib.import_module("_ours"), importlib.import_module("_workloads")
    yield {w.name: ours.build(w, "numpy").problem for w in work.WORKLOADS}
    for name in set(sys.modules) - before:
        if name in {path.stem for path in FOLDER.glob("*.py")}:
            del sys.modules[name]


class Gpu(NumpyTrainer):
    """Stands in for the engine on a GPU."""

    name = "cuda"


@pytest.fixture
def gpu(monkeypatch):
    """A machine with a GPU, as far as `auto` asks; the list is of what it was asked."""
    asked = []
    entry = replace(
        ENGINES["cuda"],
        make=lambda problem, model, loss, device: Gpu(problem),
        missing=lambda device: asked.append(device) or "",
        warm=lambda dtype, operations: True,
    )
    monkeypatch.setitem(ENGINES, "cuda", entry)
    monkeypatch.setattr(choosing, "_may_have_cuda", lambda: True)
    monkeypatch.delenv("NUMBA_ENABLE_CUDASIM", raising=False)
    return asked


def make(engine="auto", batch=256, width=512, **kwargs):
    """By default some 200 million multiplications a step, seconds of the objects; a batch of 1 is small."""
    net = nn.Sequential(nn.Linear(8, width, seed=1), nn.Tanh(), nn.Linear(width, width, seed=2), nn.Tanh())
    X = np.random.default_rng(0).random((batch, 8))
    Y = np.random.default_rng(1).random((batch, width))
    return Run(net, nn.MSELoss(), optim.SGD(net.parameters(), lr=0.1), (X, Y), engine=engine, **kwargs)


def test_the_estimate_is_that_of_the_benchmarks(workloads):
    for name, problem in workloads.items():
        measured = MEASURED[f"{name}: numba"]["median"]
        found = cost.numba_seconds(problem.plan, problem.batch, "float32")
        if problem.batch > 4:  # a step of 0.1 us is all beginning and end
            assert 0.5 < found / measured < 2, name
        assert cost.numba_seconds(problem.plan, problem.batch, "float64") == 2 * found
        repaid = cost.repays_a_gpu(problem.plan, found)
        assert repaid == (measured >= 100e-6), name
    assert {name for name, problem in workloads.items() if len(problem.plan.body.instructions) > 50} == {
        "scalar graph, 1024"
    }


def test_a_long_step_takes_the_gpu_and_says_why(gpu):
    run = make()
    assert (run.engine.name, run._training.trainer.name) == ("cuda", "cuda")
    assert run.engine.why.startswith("a step would take numba about ")
    assert run.engine.why.endswith(" ms, which a GPU repays")
    assert gpu == [0]
    run.step(1)
    assert gpu == [0]  # once, at the start


def test_kernels_that_are_not_compiled_yet_are_not_waited_for(gpu, monkeypatch):
    monkeypatch.setitem(ENGINES, "cuda", replace(ENGINES["cuda"], warm=lambda dtype, operations: False))
    found = make().engine
    assert found.name in ("numba", "numpy")
    assert found.why.endswith("a GPU repays, but its kernels are not compiled yet: `scalarviz warmup` does that")
    assert found.instead is None


@pytest.mark.parametrize(("batch", "width"), [(1, 64), (256, 4)])
def test_a_short_step_does_not_even_ask(gpu, batch, width):
    assert make(batch=batch, width=width).engine.name in ("numba", "numpy")
    assert gpu == []


@pytest.mark.parametrize("engine", ["numpy", "numba", "objects"])
def test_who_names_an_engine_gets_that(gpu, engine):
    run = make(engine, batch=2)
    assert run.engine.name == engine
    assert run.engine.why == "asked for"
    assert gpu == []


def test_many_small_instructions_do_not_repay_their_launches(gpu):
    """A graph of single numbers, 200 us by numba, is 400 instructions: 2.4 ms of launches."""
    weights = [sv.Weight(0.1, name=f"w{k}") for k in range(200)]

    def chain(x):
        h = x[0]
        for w in weights:
            h = (w * h).tanh()
        return h

    X = np.random.default_rng(0).random((2048, 1))
    run = Run(chain, nn.MSELoss(), optim.SGD(weights, lr=0.1), (X, X))
    assert cost.numba_seconds(run.problem.plan, run.problem.batch, run.dtype) > cost.WORTH
    assert run.engine.name in ("numba", "numpy")
    assert gpu == []


def test_a_larger_batch_later_changes_no_engine(gpu):
    run = make(batch=256, batch_size=1, width=64)
    assert run.engine.name in ("numba", "numpy")
    run.batch_size = 256
    run.step(1)
    assert run.engine.name in ("numba", "numpy")
    assert gpu == []


def test_the_simulator_is_no_gpu(gpu, monkeypatch):
    monkeypatch.setattr("scalarviz.engine.cuda.there.simulated", lambda: True)
    assert make().engine.name in ("numba", "numpy")


def test_a_gpu_that_is_missing_is_not_taken(gpu, monkeypatch):
    monkeypatch.setitem(ENGINES, "cuda", replace(ENGINES["cuda"], missing=lambda device: "finds no GPU"))
    found = make().engine
    assert found.name in ("numba", "numpy")
    assert "GPU" not in found.why
    assert found.instead is None


def test_a_gpu_that_turns_out_not_to_work_is_said_and_another_engine_goes_on(gpu, monkeypatch):
    def broken(problem, model, loss, device):
        raise MissingDependencyError("libNVVM is not there")

    monkeypatch.setitem(ENGINES, "cuda", replace(ENGINES["cuda"], make=broken))
    run = make()
    assert run.engine.name in ("numba", "numpy")
    assert run.engine.why.endswith("; the GPU cannot be used: libNVVM is not there")
    run.step(1)
    with pytest.raises(MissingDependencyError, match="libNVVM"):
        make("cuda")


def test_without_the_package_nothing_of_cuda_is_loaded():
    code = """
import sys
from importlib.abc import MetaPathFinder
class NoCuda(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("numba_cuda", "cuda"):
            raise ImportError(name)
sys.meta_path.insert(0, NoCuda())
import numpy as np
from scalarviz import Run, nn, optim
net = nn.Linear(512, 512, seed=1)
X = np.zeros((256, 512))
run = Run(net, nn.MSELoss(), optim.SGD(net.parameters(), lr=0.1), (X, X), dtype="float32")
assert run.engine.name in ("numba", "numpy"), run.engine
from scalarviz.engine.cost import WORTH, numba_seconds
assert numba_seconds(run.problem.plan, 256, "float32") > WORTH
print(sorted(name for name in sys.modules if name.startswith(("scalarviz.engine.cuda", "numba_cuda", "numba.cuda"))))
"""
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False)
    assert (found.stdout, found.stderr) == ("[]\n", "")
