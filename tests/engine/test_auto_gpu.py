"""`auto` takes a GPU where a step is long enough to repay it, once, at the start, and says why. Nowhere else.

Imports internals: the table of engines gets a GPU that is none, and the estimate is compared with what was measured.
"""

import importlib
import json
import sys
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from scalarviz import Run, nn, optim
from scalarviz.engine import cost
from scalarviz.engine import table as choosing
from scalarviz.engine.arrays.trainer import NumpyTrainer
from scalarviz.engine.table import ENGINES
from scalarviz.errors import MissingDependencyError

FOLDER = Path(__file__).resolve().parents[2] / "benchmarks"
PEERS = [json.loads((FOLDER / "results" / name).read_text("utf-8")) for name in ("peers.json", "avx2/peers.json")]
"""Of processors of two kinds."""


class Gpu(NumpyTrainer):
    """Stands in for the engine on a GPU."""

    name = "cuda"


@pytest.fixture
def gpu(monkeypatch):
    """A machine with a GPU, as far as `auto` asks: changes its entry of the table; `gpu.asked` is what it was asked."""
    asked = []

    def change(**given):
        monkeypatch.setitem(ENGINES, "cuda", replace(ENGINES["cuda"], **given))

    change(
        make=lambda problem, model, loss, device: Gpu(problem),
        warm=lambda dtype, operations: True,
        missing=lambda device: asked.append(device) or "",
    )
    monkeypatch.setattr(choosing, "has_package", lambda name: True)
    monkeypatch.delenv("NUMBA_ENABLE_CUDASIM", raising=False)
    change.asked = asked
    return change


def make(engine="auto", batch=256, width=512, **kwargs):
    """By default some 200 million multiplications a step, seconds of the objects; a batch of 1 is small."""
    net = nn.Sequential(nn.Linear(8, width, seed=1), nn.Tanh(), nn.Linear(width, width, seed=2), nn.Tanh())
    X = np.random.default_rng(0).random((batch, 8))
    Y = np.random.default_rng(1).random((batch, width))
    return Run(net, nn.MSELoss(), optim.SGD(net.parameters(), lr=0.1), (X, Y), engine=engine, **kwargs)


@pytest.mark.ci
def test_the_estimate_is_that_of_the_benchmarks(monkeypatch):
    monkeypatch.syspath_prepend(str(FOLDER))
    before = set(sys.modules)
    ours, work = importlib.import_module("_contestants"), importlib.import_module("_workloads")
    try:
        problems = {w.name: ours.build(w, "numpy")._problem for w in work.WORKLOADS}
    finally:
        for name in set(sys.modules) - before:
            if name in {path.stem for path in FOLDER.glob("*.py")}:
                del sys.modules[name]
    widths = [{"AVX-512": 64, "AVX2": 32}[report["machine"]["processor"].split(", ")[-1]] for report in PEERS]
    assert sorted(widths) == [32, 64]
    for (name, problem), (report, vector_bytes) in product(problems.items(), zip(PEERS, widths, strict=True)):
        measured = report["seconds"][f"{name}: numba"]["median"]
        found = cost.numba_seconds(problem.plan, problem.batch, "float32", vector_bytes)
        assert problem.batch <= 4 or 0.5 < found / measured < 2, name  # a step of 0.1 us is all beginning and end
        assert cost.numba_seconds(problem.plan, problem.batch, "float64", vector_bytes) == 2 * found
        assert cost.repays_a_gpu(problem.plan, found) == (measured >= 100e-6), name
    assert {name for name, problem in problems.items() if len(problem.plan.body.instructions) > 50} == {
        "scalar graph, 1024"
    }


def test_a_long_step_takes_the_gpu_once_and_says_why(gpu):
    run = make()
    assert run.engine.name == "cuda"
    assert "numba" in run.engine.why
    assert "ms" in run.engine.why
    run.step(1)
    assert gpu.asked == [0]  # once, at the start


def test_a_short_step_and_who_names_an_engine_do_not_even_ask(gpu):
    for batch, width in ((1, 64), (256, 4)):
        assert make(batch=batch, width=width).engine.name in ("numba", "numpy")
    for engine in ("numpy", "numba", "objects"):
        run = make(engine, batch=2048, width=192)
        assert (run.engine.name, run.engine.why, gpu.asked) == (engine, "asked for", [])


def test_a_larger_batch_later_changes_no_engine(gpu):
    run = make(batch=256, batch_size=1, width=64)
    first = run.engine.name
    run.batch_size = 256
    run.step(1)
    assert (run.engine.name, first in ("numba", "numpy"), gpu.asked) == (first, True, [])


def broken(problem, model, loss, device):
    raise MissingDependencyError("libNVVM is not there")


@pytest.mark.parametrize(("why", "change"), [
    ("warmup", {"warm": lambda dtype, operations: False}), ("libNVVM is not there", {"make": broken}),
    ("", {"missing": lambda device: "finds no GPU"}), ("", {}),
])  # fmt: skip
def test_a_gpu_that_cannot_be_used_is_not_taken(gpu, monkeypatch, why, change):
    """Kernels that are not compiled are not waited for; one that breaks is said; one that is missing is not; nor the
    simulator, the last row."""
    gpu(**change)
    if not change:
        monkeypatch.setattr("scalarviz.engine.cuda.there.simulated", lambda: True)
    run = make()
    assert run.engine.name in ("numba", "numpy")
    assert why in run.engine.why
    assert why or "GPU" not in run.engine.why
    assert run.engine.instead is None
    run.step(1)
    if "make" in change:
        with pytest.raises(MissingDependencyError, match="libNVVM"):
            make("cuda")
