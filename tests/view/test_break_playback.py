"""A breakpoint in a window: the worker stops, the playback pauses and nothing goes on until somebody says so."""

from __future__ import annotations

import time

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import Run, Scene, nn, optim
from scalarviz.run.worker import Worker
from scalarviz.view.out.offscreen import offscreen
from scalarviz.view.out.unseen import Unseen
from scalarviz.view.watch.live import LiveView
from scalarviz.view.watch.playback import RATE, Playback

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


# ---- typed in the window


def typed(view, text):
    for letter in text:
        assert view.key(None if letter == " " else letter, letter)


@pytest.fixture
def live():
    view = Unseen(lambda size: LiveView(Scene("t", make(), X[:1], panels=()), size, steps=3000, playing=False)).view
    with offscreen():
        view.tick(0.0)
        yield view
        view.close()


@pytest.mark.gl
def test_a_condition_is_typed(live):
    assert live.key("F9")
    assert "pause when: |" in live.notice()
    assert "grad > 10" in live.notice()  # an example
    typed(live, "loss < 0.5x")
    live.key("Backspace", "\x08")
    typed(live, " and step > 7")
    assert "pause when: loss < 0.5 and step > 7|" in live.notice()
    live.key("Return", "\r")
    assert [point.text for point in live.run.breakpoints] == ["loss < 0.5 and step > 7"]
    assert "true now" not in live.notice()
    assert live.notice() == "breakpoint 1: pauses when loss < 0.5 and step > 7"
    live.toggle_run()
    for _ in range(40):
        live.tick(1 / RATE)
        live.worker.settle()
    assert live.run.steps == 8
    assert live.notice().startswith("breakpoint 1 at step 8: loss < 0.5 and step > 7 (loss ")
    live.draw()


@pytest.mark.gl
def test_the_selected_weight_is_asked_of(live):
    live.bench.select(7)
    live.send("break_on")
    assert "pause when: 0.weight[2][1] crosses 0|" in live.notice()
    live.key("Enter")
    assert live.run.breakpoints[0].text == "0.weight[2][1] crosses 0"
    assert "the engine does one step a call" in live.notice()


@pytest.mark.gl
def test_what_is_offered_gives_way_to_letters_and_stays_after_another_key(live):
    live.bench.select(7)
    live.send("break_on")
    assert "letters replace it" in live.notice()
    typed(live, "loss < 0.5")
    assert "pause when: loss < 0.5|" in live.notice()
    live.key("Escape")
    live.send("break_on")
    live.key("End")
    assert "letters replace it" not in live.notice()
    typed(live, ".5")
    assert "pause when: 0.weight[2][1] crosses 0.5|" in live.notice()
    live.key("Escape")
    live.send("break_on")
    live.key("Backspace")
    typed(live, "1")
    assert "pause when: 0.weight[2][1] crosses 1|" in live.notice()


@pytest.mark.gl
def test_a_mistake_is_said_and_can_be_mended(live):
    live.send("break_on")
    typed(live, "los < 1")
    live.key("Enter")
    assert "at character 1, there is no 'los'; did you mean 'loss'?" in live.notice()
    assert len(live.run.breakpoints) == 0
    for _ in range(4):
        live.key("Backspace")
    typed(live, "s < 1")
    assert "at character" not in live.notice()
    live.key("Enter")
    assert live.run.breakpoints[0].text == "loss < 1"


@pytest.mark.gl
def test_keys_are_letters_while_it_is_typed_and_escape_leaves_it(live):
    steps, theme = live.run.steps, live.bench.theme
    live.send("break_on")
    typed(live, "rLg?[] .,")
    assert "pause when: rLg?[] .,|" in live.notice()
    live.key("Right")
    live.key("Tab")
    live.worker.settle()
    assert (live.run.steps, live.bench.theme, live.bench.help) == (steps, theme, False)
    live.key("Delete")
    assert "pause when: |" in live.notice()
    live.key("Escape")
    assert live.breaks.typed is None
    assert live.notice() == ""
    live.send("break_on")
    live.key("Enter")  # nothing was typed
    assert live.breaks.typed is None
    assert len(live.run.breakpoints) == 0


@pytest.mark.gl
def test_numbers_switch_and_take_away(live):
    for text in ("loss < 1", "nan", "step == 9", "grad > 4", "grad > " + "0" * 60 + "5"):
        live.run.break_on(text)
    live.send("break_on")
    assert "2 more; 3 step == 9; 4 grad > 4; 5 grad > 000" in live.notice()
    for text, said in (("2", "breakpoint 2 is off"), ("2", "breakpoint 2 is on"), ("-2", "breakpoint 2 is gone")):
        live.send("break_on")
        typed(live, text)
        live.key("Enter")
        assert live.notice().startswith(said)
    assert [point.number for point in live.run.breakpoints] == [1, 3, 4, 5]
    live.send("break_on")
    typed(live, "77")
    live.key("Enter")
    assert "there is no breakpoint 77" in live.notice()
    assert live.breaks.typed == "77"


@pytest.mark.gl
def test_no_text_is_longer_than_what_is_read(live):
    live.send("break_on")
    typed(live, "1" * 500)
    live.key("Enter")
    assert len(live.breaks.typed) == 400
    assert len(live.notice()) < 1200
    live.tick(0.1)
    live.draw()


@pytest.mark.gl
def test_one_that_is_true_already_says_so(live):
    live.worker.train_to(3)
    live.worker.settle()
    for text, true in (("loss > 0", True), ("loss > 9", False), ("0.weight > -9", True), ("loss changes", False)):
        live.send("break_on")
        typed(live, text)
        live.key("Enter")
        live.worker.settle()
        live.tick(0.01)
        assert f"pauses when {text}" in live.notice()
        assert ("it is true now, so it waits until it is again" in live.notice()) is true


@pytest.mark.gl
def test_a_weight_with_an_odd_name_is_asked_of_too():
    weight = sv.Weight(0.05, name="my weight")
    run = Run(
        lambda x: [weight * x[0]], nn.MSELoss(), optim.SGD([weight], lr=0.1), (X[:, :1], -X[:, :1]), engine="numpy"
    )
    view = Unseen(lambda size: LiveView(Scene("t", run, X[0, :1], panels=()), size, steps=300, playing=False)).view
    with offscreen():
        view.tick(0.0)
        view.bench.select(0)
        view.send("break_on")
        assert 'pause when: "my weight" crosses 0|' in view.notice()
        view.key("Escape")
        view.worker.train_to(40)
        view.worker.settle()
        assert weight.data < 0
        view.send("find_sign")
        for _ in range(50):
            view.tick(0.05)
            view.worker.settle()
        assert 0 < run.steps < 40
        view.close()
