"""The lives of a cell: two tabs, a cell run twice, everybody gone, a socket that breaks; no thread stays."""

import threading
import time

import numpy as np
import pytest

from scalarviz.errors import StateError
from scalarviz.run.worker import Worker


def until(condition, seconds=15.0):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_a_cell_that_nobody_looks_at_has_no_thread(cell, scene):
    before = threading.active_count()
    shown = cell(scene)
    assert threading.active_count() == before
    del shown


def test_two_tabs_see_the_same(cell, watch, scene):
    shown = cell(scene)
    one = watch(shown, "one")
    one.do("step", 3)
    one.wait(lambda p: p.step == 3)
    two = watch(shown, "two")
    two.wait(lambda p: p.step == 3)
    assert np.array_equal(one.values, two.values)
    assert two.known["head"] == one.known["head"]
    two.do("step", 2)
    one.wait(lambda p: p.step == 5)
    two.wait(lambda p: p.step == 5)


def test_a_second_cell_takes_the_run_over(cell, watch, scene):
    first = watch(cell(scene))
    first.do("toggle_run")
    first.wait(lambda p: p.step > 2)
    second = watch(cell(scene))
    second.wait(lambda p: p.step > 2)
    first.wait(lambda p: p.other and p.other[-1]["kind"] == "over")
    assert first.other[-1]["why"] == "shown by another cell now"
    assert not first.shown.session.alive
    first.ready()  # a page that does not know yet cannot take it back
    first.wait(lambda p: len(p.other) >= 2)
    at = second.step
    second.do("step", 1)
    second.wait(lambda p: p.step > at)


def test_when_everybody_is_gone_training_stops_and_goes_on_when_somebody_comes(cell, watch, scene, monkeypatch):
    monkeypatch.setattr("scalarviz.view.cell.shown.LEFT", 0.2)
    shown = cell(scene)
    page = watch(shown)
    page.do("toggle_run")
    page.wait(lambda p: p.step > 2)
    page.say(kind="gone")
    until(lambda: not shown.session.alive)
    assert scene.run._store.gate is None
    steps = scene.run.steps
    page.ready()
    page.do("step", 1)
    page.wait(lambda p: p.step == steps + 1)


def test_a_cell_that_stands_and_is_not_heard_of_goes_to_sleep(cell, watch, scene, monkeypatch):
    monkeypatch.setattr("scalarviz.view.cell.shown.ASLEEP", 0.3)
    shown = cell(scene)
    page = watch(shown)
    page.wait(lambda p: p.step == 0)
    until(lambda: not shown.session.alive)
    page.do("step", 2)
    page.ready()
    page.wait(lambda p: p.step == 2)


def test_a_hidden_tab_lets_training_go_on(cell, watch, scene):
    page = watch(cell(scene))
    page.wait(lambda p: p.step == 0)
    page.answers = False
    page.do("toggle_run")
    until(lambda: scene.run.steps >= 150)
    assert len(page.frames) <= 4
    page.answers = True
    page.answer(page.frames[-1][0]["number"])
    page.wait(lambda p: p.step >= 150)


def test_a_run_that_a_window_has_is_said(cell, watch, scene):
    with Worker(scene.run):
        page = watch(cell(scene))
        page.wait(lambda p: p.other)
        assert page.other[0]["kind"] == "trouble"
        assert "another Worker trains this run" in page.other[0]["why"]
        with pytest.raises(StateError, match="another Worker"):
            page.shown.act("step")


def test_closing_twice_and_what_comes_after_it(cell, watch, scene):
    page = watch(cell(scene))
    page.do("toggle_run")
    page.wait(lambda p: p.step > 2)
    page.shown.close()
    page.shown.close()
    assert scene.run._store.gate is None
    with pytest.raises(StateError, match="closed"):
        page.shown.act("step")
    with pytest.raises(StateError, match="closed"):
        page.shown.update()
    page.do("step")
    assert page.other[-1]["kind"] == "over"


def test_frames_that_a_broken_socket_swallowed_come_again(cell, watch, scene):
    page = watch(cell(scene))
    page.wait(lambda p: p.step == 0)
    former, lost = page.shown.post, threading.Event()
    page.shown.post = lambda content, buffers: lost.set()
    page.do("step", 4)
    assert lost.wait(10)
    page.shown.post = former
    page.ready()
    page.wait(lambda p: p.step == 4)


def test_a_cell_may_be_closed_while_others_call_it(cell, watch, scene):
    page = watch(cell(scene))
    page.wait(lambda p: p.step == 0)
    said = []

    def press():
        try:
            while True:
                page.shown.act("step")
        except StateError as error:
            said.append(str(error))

    threads = [threading.Thread(target=press, daemon=True) for _ in range(3)]
    for thread in threads:
        thread.start()
    time.sleep(0.3)
    page.shown.close()
    for thread in threads:
        thread.join(20)
    assert said
    assert all("closed" in one for one in said)
    assert scene.run._store.gate is None
