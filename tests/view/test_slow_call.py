"""A window on a run whose engine is in the middle of a long call: it goes on drawing what it has, and asks once."""

from __future__ import annotations

import threading
import time

import numpy as np
import pytest

from scalarviz import Run, nn, optim
from scalarviz.engine.arrays.trainer import NumpyTrainer
from scalarviz.run import Scene
from scalarviz.run.worker import Worker
from scalarviz.view.out.offscreen import offscreen
from scalarviz.view.shown.subject import subject_of
from scalarviz.view.watch.live import LiveView
from scalarviz.view.watch.mirror import Mirror

pytestmark = pytest.mark.gl
SIZE = (640, 360)
X = np.random.default_rng(0).random((32, 3))
CALL = 2.0
"""Seconds of a call, if nobody lets it end."""


class Slow(NumpyTrainer):
    """Its calls last until they are let go, two seconds at most."""

    def __init__(self, problem):
        super().__init__(problem)
        self.begun, self.go_on = threading.Event(), threading.Event()

    def train(self, first, count, lr):
        self.begun.set()
        self.go_on.wait(CALL)
        return super().train(first, count, lr)


def slow_run():
    net = nn.Sequential(nn.Linear(3, 3, seed=1), nn.Sigmoid())
    run = Run(net, nn.MSELoss(), optim.SGD(net.parameters(), lr=0.5), (X, 1 - X), engine="numpy")
    return run


def test_a_window_asks_once_and_shows_what_comes():
    with offscreen():
        view = LiveView(Scene("t", slow_run(), probe=X[0]), SIZE, playing=False)
        trainer = Slow(view.run._problem)
        view.worker.edit(lambda run: run._training.change(trainer), "a slow engine")
        view.worker.settle()
        view.tick(0.0)
        view.step()
        assert trainer.begun.wait(10)
        start = time.monotonic()
        for _ in range(20):
            view.tick(1 / 60)
        assert time.monotonic() - start < CALL / 2
        assert len(view.worker._waiting) == 1
        assert view.frame().step == 0
        trainer.go_on.set()
        view.worker.settle()
        view.tick(1 / 60)
        assert view.frame().step == 1
        view.close()


def test_a_mirror_does_not_wait_for_another_thread():
    run = slow_run()
    with offscreen():
        view = Mirror(subject_of(run), SIZE)
        view.tick(0.0)
        trainer = Slow(run._problem)
        run._training.change(trainer)
        with Worker(run) as worker:
            worker.train_to(1)
            assert trainer.begun.wait(10)
            start = time.monotonic()
            for _ in range(20):
                view.tick(1 / 60)
            assert time.monotonic() - start < CALL / 2
            assert view.frame().step == 0
            trainer.go_on.set()
            worker.settle()
            view.tick(1 / 60)
            assert view.frame().step == 1
        run.step(2)
        assert view.frame().step == 3
        view.close()
