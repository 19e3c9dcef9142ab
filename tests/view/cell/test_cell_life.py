"""The life of a cell and what it costs: tabs, a cell run twice, everybody gone, a socket that breaks.

No thread stays, no bit differs, at most thirty messages go in a second and two are unanswered.
"""

import itertools
import threading
import time

import numpy as np
import pytest

from scalarviz import Weight
from scalarviz.errors import StateError
from scalarviz.run.edits import SetFrozen, SetWeights
from scalarviz.run.worker import Worker
from scalarviz.view.cell.channel import RATE, UNANSWERED

PATIENT = 60.0
"""Seconds: a machine may be slow."""


def of_cells():
    return {one for one in threading.enumerate() if "scalarviz" in one.name}


def until(condition, seconds=30.0):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_two_tabs_see_the_same(cell, watch, scene):
    shown, before = cell(scene), of_cells()
    one = watch(shown, "one")
    one.do("step", 3)
    one.wait(lambda p: p.step == 3)
    assert len(of_cells() - before) == 2  # the cell's and its worker's; none before somebody looked
    two = watch(shown, "two")
    two.wait(lambda p: p.step == 3)
    assert np.array_equal(one.values, two.values)
    assert two.known["head"] == one.known["head"]
    two.do("step", 2)
    for page in (one, two):
        page.wait(lambda p: p.step == 5)


def test_a_second_cell_takes_the_run_over(cell, watch, scene):
    first = watch(cell(scene))
    first.do("toggle_run")
    first.wait(lambda p: p.step > 2)
    second = watch(cell(scene))
    second.wait(lambda p: p.step > 2)
    first.wait(lambda p: p.other and p.other[-1] == {"kind": "over", "why": "shown by another cell now"})
    assert not first.shown.session.alive
    first.ready()  # a page that does not know yet cannot take it back
    first.wait(lambda p: len(p.other) >= 2)
    at = second.step
    second.do("step", 1)
    second.wait(lambda p: p.step > at)


@pytest.mark.parametrize(("after", "gone"), [("LEFT", True), ("ASLEEP", False)])
def test_with_nobody_there_it_sleeps_until_somebody_comes(cell, watch, scene, monkeypatch, after, gone):
    monkeypatch.setattr(f"scalarviz.view.cell.shown.{after}", 0.3)
    page = watch(cell(scene))
    page.wait(lambda p: p.step == 0)
    if gone:
        page.do("toggle_run")
        page.wait(lambda p: p.step > 2)
        page.say(kind="gone")
    until(lambda: not page.shown.session.alive)
    assert scene.run._store.gate is None
    steps = scene.run.steps
    page.ready()
    page.do("step", 2)
    page.wait(lambda p: p.step == steps + 2)


def test_a_run_that_a_window_has_is_said(cell, watch, scene):
    with Worker(scene.run):
        page = watch(cell(scene))
        page.wait(lambda p: p.other)
        assert page.other[0]["kind"] == "trouble"
        assert "another Worker trains this run" in page.other[0]["why"]
        with pytest.raises(StateError, match="another Worker"):
            page.shown.act("step")


def test_a_cell_may_be_closed_twice_while_others_call_it(cell, watch, scene):
    page, said = watch(cell(scene)), []
    page.wait(lambda p: p.step == 0)

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
    page.shown.close()
    for thread in threads:
        thread.join(20)
    with pytest.raises(StateError, match="closed"):
        page.shown.update()
    page.do("step")
    assert page.other[-1]["kind"] == "over"
    assert len(said) == 3
    assert all("closed" in one for one in said)
    assert scene.run._store.gate is None


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


@pytest.mark.ci  # each draws the picture that stays
def test_twenty_cells_of_one_run_leave_no_thread(cell, watch, scene):
    """Closed, run again without a close, gone: whoever comes next has the run, and in the end nobody is left."""
    before, made = of_cells(), []
    for turn in range(20):
        made.append(cell(scene))
        page = watch(made[-1], f"place {turn}")
        made[-1].act("step")
        page.wait(lambda p: p.frames)
        if turn % 3 == 0:
            made[-1].session.close(PATIENT)
        elif turn % 3 == 1:
            page.say(kind="gone")
    assert len(of_cells() - before) <= 4  # of the last cell, and of one that ends
    made[-1].session.close(PATIENT)
    until(lambda: of_cells() <= before)
    assert scene.run._store.gate is None


def happened(rng, count):
    """A random session: what is done, to which weight, with its number."""
    for _ in range(7):
        way = str(rng.choice(["step", "micro", "rate", "weight", "freeze"]))
        number = {"step": int(rng.integers(1, 9)), "micro": int(rng.integers(1, 12)), "freeze": 0,
                  "rate": float(rng.choice([0.5, 0.25, 0.125])), "weight": float(rng.normal())}[way]  # fmt: skip
        yield way, int(rng.integers(count)), number
    yield "step", 0, 5


@pytest.mark.parametrize(
    ("name", "engine", "seed"),
    [("rgb", "numba", 1), ("xor", "objects", 3), ("uinn", "numpy", 5), ("neuron", "numba", 6)],
)
def test_watched_and_touched_training_has_the_bits_of_the_same_edits_unwatched(cell, watch, made, name, engine, seed):
    scene, alone = made(name, engine=engine), made(name, engine=engine).run
    page = watch(cell(scene, hide=("panels",)))
    page.wait(lambda p: p.frames)

    def at_rest(play):
        play.viewer.worker.settle()
        return play.viewer.micro._wanted is None and play.viewer.micro._awaited is None

    def settle():
        until(lambda: page.shown.session.call(at_rest))

    for way, index, number in happened(np.random.default_rng(seed), len(scene.run.values)):
        if way == "step":
            page.do("step", number)
            alone.step(number)
        elif way == "micro":
            for _ in range(number):
                page.do("micro_next")
                settle()
            page.do("show_gradients")
            if page.shown.session.call(lambda play: play.viewer.bench.inside.told) is not None:
                page.do("step")
            settle()
            alone.step(scene.run.steps - alone.steps)
        elif way == "rate":
            page.say(kind="control", name="learning rate", value=number)
            alone.lr = number
        elif way == "weight":
            page.say(kind="set", index=index, value=number)
            alone.do(SetWeights(index, np.array([number])))
        else:
            page.say(kind="select", index=index)
            frozen = bool(alone.frame().frozen[index])
            page.do("freeze")
            alone.do(SetFrozen(index, np.array([not frozen])))
        settle()
    page.shown.session.close(PATIENT)
    assert (scene.run.steps, scene.run.lr) == (alone.steps, alone.lr)
    assert np.array_equal(scene.run.values, alone.values)
    assert np.array_equal(scene.run.history.loss, alone.history.loss, equal_nan=True)


def test_at_most_thirty_messages_a_second_and_two_unanswered(cell, watch, scene):
    """A browser that draws only the newest of what has come, now and then; and one that is dead or hidden."""
    page = watch(cell(scene, hide=("panels",)), answers=False)
    began, seen = time.monotonic(), 0
    page.do("toggle_run")
    for turn in range(12):
        page.wait(lambda p, seen=seen: len(p.frames) > seen)
        seen = len(page.frames)
        answered = max(0, page.frames[-1][0]["number"] - turn % 2)
        page.answer(answered)
        assert page.shown.channel.sent - answered <= UNANSWERED + 1  # one may be on its way after the answer
    assert len(page.frames) <= RATE * (time.monotonic() - began) + 2
    assert all(b > a for a, b in itertools.pairwise(said["number"] for said, _ in page.frames))
    steps = scene.run.steps
    until(lambda: scene.run.steps > steps + 30)  # nobody answers any more: training goes on
    assert page.shown.channel.sent - answered <= UNANSWERED
    page.answers = True
    page.answer(page.frames[-1][0]["number"])
    page.wait(lambda p: p.step > steps + 30)


@pytest.mark.gl
def test_the_picture_that_stays_is_of_the_end_of_a_loop_and_of_an_edit(cell, watch, scene):
    weights = [Weight(0.5, name="a")]
    loop, trained = cell(weights), cell(scene)
    for shown in (loop, trained):
        shown.appear()
        watch(shown).wait(lambda p: p.frames)
    for step in range(1, 4):
        weights[0].data = 0.5 / step
        loop.update(loss=0.25 / step, step=step)
    loop.look()
    trained.hear({"kind": "set", "index": 0, "value": 0.5})
    before = trained.still.html
    until(lambda: "step 3, loss 0.0833" in loop.still.html and trained.still.html != before, 20.0)
