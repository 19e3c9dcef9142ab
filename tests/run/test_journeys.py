"""A worker goes to steps that were done, while somebody watches who changes their mind."""

import threading
import time

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import nn, optim
from scalarviz.errors import InputError
from scalarviz.run.worker import Worker


def make(engine="numpy"):
    random = np.random.default_rng(7)
    net = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 3))
    net.initialize(seed=1)
    data = random.random((24, 3)), random.random((24, 3))
    return sv.Run(net, nn.MSELoss(), optim.Adam(net.parameters()), data=data, batch_size=8, engine=engine)


def whole(frame, losses):
    """Whether all numbers of a frame are of its step."""
    step = frame.step
    assert frame.loss == losses[step - 1] if step else np.isnan(frame.loss)
    assert frame.curve.step.tolist() == list(range(1, step + 1))
    assert frame.past.newest == len(losses)
    return True


@pytest.fixture
def run():
    run = make()
    run.step(200)
    return run


def test_the_last_goal_that_was_asked_for_is_where_it_stands_and_training_has_stopped(run):
    losses = run.history.loss.copy()
    with Worker(run) as worker:
        for step in (150, 20, 77):
            worker.travel(step)
        frame = worker.settle()
        assert frame.step == 77
        assert whole(frame, losses)
        assert worker.journey is None
        assert not worker.moving
        worker.travel(10**9)
        assert worker.settle().step == 200
        worker.travel(-5)
        assert worker.settle().step == 0
        worker.train_to(30)  # follows the record
        assert worker.settle().step == 30
        assert run.history.loss.tobytes() == losses.tobytes()


def test_a_hand_that_still_moves_gets_a_step_near_by_with_its_own_numbers(run):
    losses = run.history.loss.copy()
    run.to(100)
    run.timeline._keep()
    run.to(200)
    run._training._seconds_a_step = 0.01  # as of a large network
    with Worker(run) as worker:
        worker.travel(140, nearest=True)
        frame = worker.settle()
        assert frame.step - 1 in {key.step for key in run.timeline.line.keys}  # the gradient is there after one step
        assert 101 <= frame.step <= 140
        assert whole(frame, losses)
        assert frame.computed.all()
        worker.travel(140)
        assert worker.settle().step == 140


def test_what_is_given_up_stays_where_it_set_out():
    run = make("objects")
    run.step(300)
    run.timeline.keyframes.drop(run.timeline.line, lambda key: not key.whole)
    run.timeline.line.tip = None
    with Worker(run) as worker:
        worker.travel(290)
        while worker.journey is None or worker.journey < 0.05:
            assert worker.latest.step == 300
            time.sleep(0.001)
        worker.give_up()
        assert worker.settle().step == 300
        assert worker.journey is None
        worker.travel(5)
        assert worker.settle().step == 5


def test_a_journey_pauses_training_and_edits_on_the_way_wait_for_its_end(run):
    with Worker(run) as worker:
        worker.train_to(10**7)
        while worker.latest.step < 300:
            worker.request().result(5)
        worker.travel(250)
        worker.edit(lambda run: run.change(lr=0.5), "rate")
        frame = worker.settle()
        assert frame.step in (250, frame.past.newest)  # before or after it
        assert not worker.busy
    assert run.log[-1].edit.numbers == (("lr", 0.5),)


def test_what_is_asked_is_called_between_two_steps_and_nobody_waits(run):
    with Worker(run) as worker:
        worker.travel(50)
        asked = worker.ask(lambda run: (run.steps, threading.current_thread().name))
        assert asked.done.wait(5)
        assert asked.answer()[1] == "scalarviz-training"
        failing = worker.ask(lambda run: run.undo())
        assert failing.done.wait(5)
        with pytest.raises(sv.ScalarvizError, match="undo"):
            failing.answer()
        assert worker.error is None
    asked = worker.ask(lambda run: run.steps)  # nobody is there any more: at once
    assert asked.done.is_set()
    assert asked.answer() == 50


def test_an_engine_that_breaks_on_the_way_is_said_and_the_run_stays(run, monkeypatch):
    with Worker(run) as worker:
        monkeypatch.setattr(run._training, "replay", lambda most: (_ for _ in ()).throw(InputError("no more")))
        worker.travel(100)
        deadline = time.monotonic() + 5
        while worker.error is None and time.monotonic() < deadline:
            time.sleep(0.001)
        assert "no more" in str(worker.error)
        monkeypatch.undo()
        worker.travel(100)
        assert worker.settle().step == 100
        assert worker.error is None


def test_an_edit_between_two_goals_is_done_at_the_first(run):
    go = threading.Event()
    with Worker(run) as worker:
        asked = worker.ask(lambda run: go.wait(5))
        worker.travel(20)
        assert worker.moving  # it waits for its turn
        worker.edit(lambda run: run.change(lr=0.5), "rate")
        worker.travel(77)
        go.set()
        assert worker.settle().step == 20  # the branch that the edit began has no other step
        assert asked.done.is_set()
    assert [done.step for done in run.log] == [20]
    assert run.branches[-1].first == 20


def test_who_goes_elsewhere_is_no_longer_stopped():
    run = make()
    run.break_on("step == 10")
    with Worker(run) as worker:
        worker.train_to(50)
        assert worker.settle().step == 10
        assert worker.stopped is not None
        worker.travel(3)
        assert worker.settle().step == 3
        assert worker.stopped is None


@pytest.mark.parametrize("bad", [1.5, "3", None, True])
def test_a_goal_is_a_whole_number(run, bad):
    with Worker(run) as worker, pytest.raises(InputError, match="travel"):
        worker.travel(bad)


def test_frames_of_other_threads_are_whole_while_it_goes_back_and_forth():
    run = make("numba")
    run.step(500)
    losses = run.history.loss.copy()
    random, wrong, stop = np.random.default_rng(0), [], threading.Event()

    def look():
        while not stop.is_set():
            try:
                whole(run.frame(), losses)
            except AssertionError as error:
                wrong.append(error)

    with Worker(run) as worker:
        threads = [threading.Thread(target=look) for _ in range(2)]
        for thread in threads:
            thread.start()
        for _ in range(60):
            worker.travel(int(random.integers(0, 501)), nearest=bool(random.random() < 0.3))
            time.sleep(0.002)
        worker.settle()
        stop.set()
        for thread in threads:
            thread.join(10)
            assert not thread.is_alive()
    assert wrong == []
