"""A breakpoint in a window: the worker stops, the playback pauses and nothing goes on until somebody says so."""

from __future__ import annotations

import time

import numpy as np
import pytest

from scalarviz import Run, Scene, nn, optim
from scalarviz.run.worker import Worker
from scalarviz.view.watch.live import LiveView
from scalarviz.view.watch.playback import RATE, Playback
from scalarviz.view.window.unseen import Unseen

X = np.random.default_rng(0).random((64, 3))


def make(engine="numpy"):
    net = nn.Sequential(nn.Linear(3, 3, seed=1), nn.Sigmoid())
    return Run(net, nn.MSELoss(), optim.SGD(net.parameters(), lr=0.1), (X, 1 - X), engine=engine)


@pytest.fixture
def worker():
    with Worker(make()) as worker:
        yield worker


def test_a_worker_stops_and_stays_until_it_is_told(worker):
    point = worker.run.break_on("step == 20 or step == 40")
    worker.train_to(100)
    assert worker.settle().step == 20
    assert not worker.busy
    assert worker.stopped is worker.run.stopped_by is not None
    assert worker.latest.stopped_by == "breakpoint 1 at step 20: step == 20 or step == 40 (step 20)"
    worker.train_to(200)
    assert worker.settle().step == 20
    worker.resume()
    assert worker.stopped is None
    assert worker.settle().step == 40
    worker.travel(10)
    assert worker.settle().step == 10
    assert worker.latest.stopped_by == ""
    assert worker.stopped is None
    worker.train_to(30)
    assert worker.settle().step == 20
    assert point.hits == 3


def test_a_step_that_somebody_else_asks_for_stops_nobody_else(worker):
    worker.run.break_on("step == 5")
    worker.run.step(10)
    assert worker.run.steps == 5
    worker.train_to(8)
    assert worker.settle().step == 8


def test_a_breakpoint_that_is_set_meanwhile(worker):
    worker.train_to(10**9)
    while worker.run.steps < 50:
        time.sleep(0.001)
    at = worker.run.steps + 2000
    worker.run.break_on(f"step == {at}")
    assert worker.settle().step == at


def test_the_playback_pauses_and_goes_on(worker):
    playback = Playback(worker, 3000, 20.0)
    worker.run.break_on("step == 4 or step == 9")
    playback.play()
    for _ in range(20):
        playback.tick(1 / RATE)
        worker.settle()
    assert worker.run.steps == 4
    assert not playback.running
    assert playback.text() == "paused at a breakpoint"
    playback.play()
    assert playback.running
    for _ in range(20):
        playback.tick(1 / RATE)
        worker.settle()
    assert (worker.run.steps, playback.running) == (9, False)
    playback.step(1)
    assert worker.settle().step == 10
    assert playback.text() == "paused"
    playback.step(3)
    assert worker.settle().step == 13


def test_steps_by_hand_stop_there_too(worker):
    playback = Playback(worker, 3000)
    worker.run.break_on("step == 4")
    playback.step(10)
    assert worker.settle().step == 4
    assert playback.text() == "paused at a breakpoint"
    playback.step(10)
    assert worker.settle().step == 14


def test_without_a_limit(worker):
    playback = Playback(worker, 10**9)
    worker.run.break_on("loss < 0.05")
    playback.change_speed(+9)
    playback.play()
    for _ in range(200):
        playback.tick(1 / RATE)
        time.sleep(0.005)
        if not playback.running:
            break
    assert worker.run.loss < 0.05 <= worker.run.history.loss[-2]
    assert not playback.running


def test_the_view_says_which_and_where_once_and_what_it_costs():
    told = []
    view = LiveView(Scene("t", make(), X[:1], panels=()), (640, 400), steps=3000, playing=False)
    try:
        view.on_tell = told.append
        view.tell = told.append
        view.run.break_on("grad > 99")
        view.run.break_on("step == 6")
        view.toggle_run()
        for _ in range(60):
            view.advance(1 / RATE)
            view.worker.settle()
        assert view.run.steps == 6
        assert told == ["breakpoint 2 at step 6: step == 6 (step 6)"]
        assert "paused at a breakpoint" in view.pace_text()
        assert view.bench.selected is None
        view.toggle_run()
        assert "one step a call, for breakpoints 1 and 2" not in view.pace_text()
        assert "one step a call, for breakpoint 1" in view.pace_text()
        assert "one step a call, for breakpoint 1" in view.run.engine.why
        view.run.breakpoints.disable(1)
        assert "one step a call" not in view.pace_text() + view.run.engine.why
    finally:
        view.close()


@pytest.mark.gl
def test_the_weight_in_question_is_selected_where_none_is():
    offscreen = Unseen(lambda size: LiveView(Scene("t", make(), X[:1], panels=()), size, steps=3000, playing=False))
    view = offscreen.view
    try:
        view.run.break_on("0.weight[2][1] > -9 and step / 4 == 1", once=True)
        view.run.break_on("0.weight[0][0] > -9 and step == 8")
        for step in (4, 8):
            view.toggle_run()
            for _ in range(30):
                view.advance(1 / RATE)
                view.worker.settle()
            assert view.run.steps == step
            assert view.bench.selected == 2 * 3 + 1
    finally:
        view.close()
