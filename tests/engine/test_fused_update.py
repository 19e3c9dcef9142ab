"""Optimisers in one pass over the parameters: the bits of the recorded update, operation by operation."""

from __future__ import annotations

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import Run, optim
from scalarviz.engine.cpu import trainer
from scalarviz.engine.cpu.layout import FUSED
from scalarviz.engine.cpu.machine import Loaded

OPTIMISERS = {
    "Adam": optim.Adam,
    "betas": lambda p: optim.Adam(p, betas=(0.7, 0.7), eps=0.1),
    "decay": lambda p: optim.Adam(p, weight_decay=0.1),
    "AdamW": lambda p: optim.AdamW(p, weight_decay=0.3),
    "no decay": lambda p: optim.AdamW(p, weight_decay=0.0),
}


class Other(optim.Adam):
    """Adam with one change."""

    def __init__(self, params, change):
        super().__init__(params)
        self.change = change

    def update(self, w, g, state, lr, t):
        (b1, b2), change = self.betas, self.change
        grad = g + (0.1 * w if change == "two decays" else 0.0)
        square = g + (0.2 * w if change == "two decays" else 0.0)
        m = b1 * state["exp_avg"] + ((1 - b1) * grad if change != "operands" else grad * (1 - b1))
        v = b2 * state["exp_avg_sq"] + (1 - b2) * (square * square)
        size, root = lr / (1 - b1**t), (1 - b2**t).sqrt()
        v_hat = (state["exp_avg_sq"] if change == "late" else v).sqrt()
        step = size * (m / (v_hat / root + self.eps))
        return (w + step if change == "upwards" else w - step), {"exp_avg": m, "exp_avg_sq": v}


class Doubling(optim.Optimizer):
    """Every part is used twice in the next one."""

    def update(self, w, g, state, lr, t):
        for _ in range(60):
            g = (g * g).sqrt()
        return w - lr * g, {}


def special(n, dtype):
    """Numbers of all kinds."""
    x = np.random.default_rng(1).normal(size=n).astype(dtype)
    tiny = np.finfo(dtype).smallest_subnormal
    kinds = [0.0, -0.0, np.inf, -np.inf, np.nan, tiny, -3 * tiny, np.finfo(dtype).max]
    x[: len(kinds)] = kinds[:n]
    return x


def run_of(optimiser, n, dtype, engine="numba"):
    """A weight's gradient is its input, whatever its value."""
    w, x = [sv.Weight(1.0) for _ in range(n)], np.ones((1, n))
    return Run(lambda x: [sv.dot(w, x)], lambda y, t: y[0], optimiser(w), (x, x[:, :1]), batch_size=1, engine=engine,
               dtype=dtype)  # fmt: skip


def numbers_after(run, steps=5):
    """Values and states after steps of the engine itself, which does not mind what they become."""
    problem = run.problem
    n, dtype = problem.store.value.size, problem.store.value.dtype
    problem.data[:n, 0], problem.store.value[:] = special(n, dtype), special(n, dtype)[::-1]
    with np.errstate(all="ignore"):
        run._training.trainer.train(0, steps, 0.1)
    return [problem.store.value.copy(), *(s.copy() for s in problem.state)]


def fused(run):
    return bool(run._training.trainer._update.machine[FUSED + 1])


@pytest.fixture
def apart(monkeypatch):
    """Updates operation by operation."""
    monkeypatch.setattr(trainer, "Loaded", lambda *args, **more: Loaded(*args, **more, plain="update" in more))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("n", [1, 9, 530])
@pytest.mark.parametrize("name", OPTIMISERS)
def test_the_bits_are_those_of_the_operations(name, n, dtype, request):
    run = run_of(OPTIMISERS[name], n, dtype)
    assert fused(run)
    found = numbers_after(run)
    run.close()
    request.getfixturevalue("apart")
    run = run_of(OPTIMISERS[name], n, dtype)
    assert not fused(run)
    expected = numbers_after(run)
    run.close()
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_array_equal(a, b)
        np.testing.assert_array_equal(np.signbit(a), np.signbit(b))


@pytest.mark.parametrize("change", ["operands", "late", "two decays", "upwards"])
def test_what_differs_in_one_term_is_not_taken_for_it(change):
    found = {}
    for engine in ("numba", "numpy"):
        run = run_of(lambda p: Other(p, change), 12, "float64", engine)
        assert engine == "numpy" or not fused(run)
        found[engine] = numbers_after(run)
        run.close()
    for a, b in zip(found["numba"], found["numpy"], strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12)


def test_an_update_that_would_be_a_long_text_is_not_written_out():
    run = run_of(lambda p: Doubling(p, lr=0.1), 3, "float64")
    assert not fused(run)
    run.step()
    run.close()


def test_frozen_weights_stay_and_the_others_move_as_before():
    found = []
    for frozen in ((), (1, 4)):
        w = [sv.Weight(0.5) for _ in range(6)]
        for k in frozen:
            w[k].frozen = True
        x = np.arange(6.0)[None] - 2.5
        run = Run(lambda x, w=w: [sv.dot(w, x)], lambda y, t: y[0], optim.Adam(w, lr=0.1), (x, x[:, :1]),
                  batch_size=1, engine="numba")  # fmt: skip
        run.step(7)
        found.append(np.array([u.data for u in w]))
        run.close()
    everything, some = found
    np.testing.assert_array_equal(some[[1, 4]], 0.5)
    np.testing.assert_array_equal(some[[0, 2, 3, 5]], everything[[0, 2, 3, 5]])
