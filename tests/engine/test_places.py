"""One sample through layers that are used at several places, such as the letters of a text: against other engines."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain

import numpy as np
import pytest

from scalarviz import Run, nn, optim
from scalarviz.engine.arrays.trainer import NumpyTrainer
from scalarviz.engine.cpu.encode.pictures import can_be_compact
from scalarviz.engine.cpu.trainer import NumbaTrainer
from scalarviz.engine.data import Data

TOLERANCE = {"float64": 1e-13, "float32": 2e-6}
PLACES, WIDE = 5, 9


class Text(nn.Module):
    """Layers that each letter goes through; `kind` says what stands between them."""

    def __init__(self, kind):
        self.kind = kind
        self.first, self.second = nn.Linear(WIDE, 12, bias=kind != "bare", seed=1), nn.Linear(12, WIDE, seed=2)
        self.third, self.shift = nn.Linear(WIDE, WIDE, seed=3), nn.Parameter(np.linspace(-1, 1, WIDE).tolist())

    def forward(self, x):
        letters = [x[k : k + WIDE] for k in range(0, PLACES * WIDE, WIDE)]
        if self.kind == "shifted":  # else the first layer reads the sample itself, which wants no gradient
            letters = [[v + b for v, b in zip(letter, self.shift, strict=True)] for letter in letters]
        if self.kind == "partly":
            letters = [[*letter[:4], *(v * b for v, b in zip(letter[4:], self.shift[4:], strict=True))]
                       for letter in letters]  # fmt: skip
        if self.kind == "apart":
            letters = [letter[::-1] for letter in letters]
        found = []
        for letter in letters:
            inner = self.second([v.tanh() for v in self.first(letter)])
            added = [a + b for a, b in zip(inner, letter, strict=True)]  # who reads the operands of a layer again
            found.append(self.third(added) if self.kind != "once" else added)
        return list(chain(*found))


KINDS = ("plain", "bare", "shifted", "partly", "once", "apart")


def bound(kind, dtype, engine="numba"):
    rng = np.random.default_rng(7)
    net = Text(kind)
    data = rng.normal(size=(3, PLACES * WIDE)), rng.normal(size=(3, PLACES * WIDE))
    optimiser = optim.SGD(net.parameters(), lr=0.1)
    return Run(net, nn.MSELoss(), optimiser, data, batch_size=1, engine=engine, dtype=dtype)


def gradient_of(problem, trainer):
    loss = trainer(problem).gradient(0)
    return np.append(loss, problem.store.grad.astype(float))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("kind", KINDS)
def test_gradients_agree_with_numpy(kind, dtype):
    with bound(kind, dtype) as run:
        program = run.problem.plan.body
        assert any(i.kind == "conv" for i in program.instructions), "layers at several places are one instruction"
        assert can_be_compact(program) == (kind not in ("partly", "apart"))  # their operands are no neighbours
        expected = gradient_of(run.problem, NumpyTrainer)
        found = gradient_of(run.problem, NumbaTrainer)
        assert np.linalg.norm(found - expected) <= TOLERANCE[dtype] * np.linalg.norm(expected)


@pytest.mark.parametrize("kind", KINDS)
def test_one_sample_has_the_gradient_that_it_has_among_others(kind):
    """With two samples every instruction works on rows of lanes instead of single numbers."""
    with bound(kind, "float64") as run:
        problem = run.problem
        alone = gradient_of(problem, NumbaTrainer)
        sample = problem.data[:, problem.indices(0)]
        twice = replace(problem, batch=2, data=Data(problem.data.dtype, np.repeat(sample, 2, axis=1)))
        np.testing.assert_allclose(gradient_of(twice, NumbaTrainer), alone, rtol=1e-12, atol=1e-14)


def test_training_agrees_with_the_objects():
    found = []
    for engine in ("numba", "objects"):
        with bound("shifted", "float64", engine) as run:
            run.step(6)
            found.append(run.values.copy())
    np.testing.assert_allclose(found[0], found[1], rtol=1e-11, atol=1e-13)


def test_few_weights_stay_in_lanes():
    """Three by three at each place: calls would take longer than what is empty of a vector."""
    small = nn.Linear(3, 3, seed=0)

    def model(x):
        return list(chain(*([v.tanh() for v in small(x[k : k + 3])] for k in range(0, 12, 3))))

    data = np.random.default_rng(0).normal(size=(2, 2, 12))
    optimiser = optim.SGD(small.parameters(), lr=0.1)
    with Run(model, nn.MSELoss(), optimiser, tuple(data), batch_size=1, engine="numba", dtype="float64") as run:
        assert any(i.kind == "conv" for i in run.problem.plan.body.instructions)
        assert not can_be_compact(run.problem.plan.body)
        expected = gradient_of(run.problem, NumpyTrainer)
        np.testing.assert_allclose(gradient_of(run.problem, NumbaTrainer), expected, rtol=1e-12, atol=1e-14)
