"""BLAS has one thread while the NumPy tier computes, and what it had before afterwards."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import nn, optim
from scalarviz.engine.arrays.blas import blas_threads, one_blas_thread


def make():
    net = nn.Linear(3, 2, seed=1)
    x = np.random.default_rng(0).random((8, 3))
    return sv.Run(net, nn.MSELoss(), optim.SGD(net.parameters(), lr=0.1), (x, x[:, :2]), engine="numpy")


def known():
    """Whether this NumPy's BLAS can be asked; that of its wheels can."""
    return blas_threads() is not None


def test_inside_there_is_one_and_afterwards_what_was_before():
    before = blas_threads()
    with one_blas_thread():
        assert blas_threads() == (1 if known() else None)
        with one_blas_thread():
            assert blas_threads() == (1 if known() else None)
        assert blas_threads() == (1 if known() else None)
    assert blas_threads() == before


def test_an_error_leaves_nothing_behind():
    before = blas_threads()
    with pytest.raises(ValueError, match="stop"), one_blas_thread():
        raise ValueError("stop")
    assert blas_threads() == before


def test_two_threads_that_leave_in_any_order():
    before, first_out = blas_threads(), threading.Event()
    entered = threading.Barrier(2)

    def early():
        with one_blas_thread():
            entered.wait(5)
        first_out.set()

    other = threading.Thread(target=early)
    other.start()
    with one_blas_thread():
        entered.wait(5)
        assert first_out.wait(5)
        assert blas_threads() == (1 if known() else None)
    other.join()
    assert blas_threads() == before


def test_training_and_predicting_use_it(monkeypatch):
    run, seen = make(), []
    forward = run._training.trainer.runner.body.forward

    def watched(*arguments):
        seen.append(blas_threads())
        return forward(*arguments)

    monkeypatch.setattr(run._training.trainer.runner.body, "forward", watched)
    run.step(2)
    assert seen == [1 if known() else None] * 2
