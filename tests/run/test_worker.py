"""`Worker`: training in a thread, frames of one step, edits at call boundaries."""

from __future__ import annotations

import threading
import time

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import Run, nn, optim
from scalarviz.errors import DivergedError, StateError
from scalarviz.run.edits import SetOptimizer
from scalarviz.run.worker import Worker

X = np.random.default_rng(0).random((64, 3))


def make(lr=0.1, **kwargs):
    net = nn.Sequential(nn.Linear(3, 3, seed=1), nn.Sigmoid())
    return net, Run(net, nn.MSELoss(), optim.SGD(net.parameters(), lr=lr), (X, 1 - X), engine="numpy", **kwargs)


def wait(condition, seconds=10.0):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.001)


def test_trains_to_a_step_with_the_bits_of_an_unwatched_run():
    _, plain = make(batch_size=10)
    plain.step(300)
    _, run = make(batch_size=10)
    with Worker(run) as worker:
        for target in (1, 2, 50, 300):
            worker.train_to(target)
            assert worker.settle().step == target
    assert run.steps == 300
    assert run.values.tobytes() == plain.values.tobytes()


def test_a_frame_holds_one_steps_values():
    """Under a fast worker every frame's values are those that an unwatched run has after that very step."""
    _, run = make(batch_size=10)
    frames = {}
    with Worker(run) as worker:
        worker.train_to(10**9)
        while len(frames) < 40:
            worker.request()
            frame = worker.latest
            frames[frame.step] = frame
            time.sleep(0.0005)
    _, plain = make(batch_size=10)
    for step in sorted(frames):
        plain.step(step - plain.steps)
        assert frames[step].values.tobytes() == plain.values.tobytes()
        assert len(frames[step].curve.step) == step
        assert np.array_equal(frames[step].curve.loss, plain.history.loss)
    assert len(frames) == 40


def test_pause_stops_at_the_next_boundary_and_goes_on():
    _, run = make()
    with Worker(run) as worker:
        worker.train_to(10**9)
        wait(lambda: run.steps > 10)
        worker.pause()
        stopped = worker.settle().step
        time.sleep(0.05)
        assert run.steps == stopped
        worker.train_to(stopped + 1)
        wait(lambda: run.steps == stopped + 1)


def test_weights_are_read_and_written_at_boundaries():
    net, run = make(lr=1e-3)  # half a million steps, as many as a waiting test may see, leave it above 1
    weight = net[0].weight[1][2]
    with Worker(run) as worker:
        worker.train_to(10**9)
        wait(lambda: run.steps > 5)
        weight.data = 5.0
        assert weight.data == 5.0  # one's own edit is seen at once
        net[0].bias.data = [1.0, 2.0, 3.0]
        assert net[0].bias[1].data == 2.0
        wait(lambda: len(worker.log) == 2)
        assert [e.what for e in worker.log] == ["0.weight[1][2] = 5", "0.bias[0] and 2 more = 1"]
        assert worker.log[0].step <= worker.log[1].step
        wait(lambda: run.steps > worker.log[1].step + 5)
        worker.pause()
        assert worker.settle().step == run.steps
        assert weight.data == run.values[5] == worker.latest.values[5]
    assert 1.0 < weight.data < 5.0  # training went on from the edit
    assert run.gate is None
    weight.data = 0.5
    assert run.values[5] == 0.5


def test_an_edit_while_paused_shows_at_once_and_leaves_the_last_update():
    net, run = make()
    run.step(3)
    before = run.frame()
    with Worker(run) as worker:
        net[0].weight[0][0].data = -2.0
        wait(lambda: worker.latest.values[0] == -2.0)
        np.testing.assert_allclose(worker.latest.update, before.update, atol=1e-6)
        assert run.steps == 3


def test_what_was_asked_for_before_steps_is_done_before_them(monkeypatch):
    _, run = make()
    worker, before = Worker(run), run.values.copy()
    drained, asked = worker._boundary, []

    def boundary():
        """Between what waited and the steps somebody asks for a rate, and then for steps with it."""
        drained()
        if asked == ["now"]:
            asked.append("done")
            worker.do(SetOptimizer((("lr", 0.0),)))
            worker.train_to(5)

    monkeypatch.setattr(worker, "_boundary", boundary)
    with worker:
        asked.append("now")
        worker.request().result(5)
        wait(lambda: run.steps == 5)
        worker.settle()
    np.testing.assert_array_equal(run.values, before)
    assert run.history.lr.tolist() == [0.0] * 5


def test_edits_replay_to_the_same_bits():
    """The same edits after the same steps, without a thread, give the same run."""
    net, run = make()
    with Worker(run) as worker:
        worker.train_to(10**9)
        for k in range(5):
            wait(lambda k=k: len(worker.log) == k)
            net[0].weight[k % 3][0].data = float(k)
            time.sleep(0.003)
        wait(lambda: len(worker.log) == 5)
    _, plain = make()
    for k, edit in enumerate(worker.log):
        plain.step(edit.step - plain.steps)
        plain.set_weights(3 * (k % 3), [float(k)])
    plain.step(run.steps - plain.steps)
    assert plain.values.tobytes() == run.values.tobytes()


def test_an_error_reaches_the_viewer_and_an_edit_heals_it():
    w = sv.Weight(1.0, name="w")
    run = Run(lambda x: w * x[0], nn.MSELoss(), optim.SGD([w], lr=3.0), ([[3.0]], [[0.0]]), engine="numpy")
    with Worker(run) as worker:
        worker.train_to(1000)
        wait(lambda: worker.error is not None)
        assert isinstance(worker.error, DivergedError)
        assert f"step {run.steps}" in str(worker.error)
        assert worker.latest.step == run.steps
        assert not worker.busy
        w.data = 0.0
        worker.train_to(run.steps + 5)
        wait(lambda: not worker.busy)
        assert worker.error is None


def test_an_edit_that_fails_is_an_error_not_the_end():
    _, run = make()
    with Worker(run) as worker:
        worker.edit(lambda r: r.set_weights(999, [1.0]), "no such weight")
        wait(lambda: worker.error is not None)
        worker.train_to(3)
        wait(lambda: run.steps == 3)


def test_close_is_quick_applies_waiting_edits_and_restores_the_process():
    import sys

    before = sys.getswitchinterval(), threading.active_count()
    _, run = make()
    worker = Worker(run).start()
    worker.train_to(10**9)
    wait(lambda: run.steps > 0)
    worker.edit(lambda r: r.set_weights(0, [7.0]), "last")
    start = time.perf_counter()
    worker.close()
    assert time.perf_counter() - start < 0.5  # it takes one call of the engine, 6 ms
    assert (sys.getswitchinterval(), threading.active_count()) == before
    assert any(e.what == "last" for e in worker.log)
    run.step(1)  # the run is free again


def test_a_stuck_engine_is_said(monkeypatch):
    _, run = make()
    release = threading.Event()
    monkeypatch.setattr(run._training, "advance", lambda most: release.wait(5) and most)
    worker = Worker(run).start()
    worker.train_to(5)
    time.sleep(0.02)
    with pytest.raises(StateError, match="did not stop"):
        worker.close(timeout=0.05)
    release.set()
    worker._thread.join()
    worker.close()


def test_the_budget_of_the_past_is_kept_in_the_thread_that_trains(monkeypatch):
    (_, run), seen = make(), []
    drop = run.timeline._fit
    monkeypatch.setattr(run.timeline, "_fit", lambda: (seen.append(threading.current_thread().name), drop()))
    with Worker(run) as worker:
        worker.train_to(10**9)
        wait(lambda: run.steps > 0)
        run.timeline.budget = 10_000
    assert set(seen) == {"scalarviz-training"}
    assert run.timeline.budget == 10_000
