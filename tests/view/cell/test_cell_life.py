"""What a cell leaves behind and what it costs: no thread, no bit, at most thirty messages a second, two unanswered."""

import itertools
import threading
import time

import numpy as np
import pytest

from scalarviz import Weight
from scalarviz.run.edits import SetFrozen, SetWeights
from scalarviz.view.cell.channel import RATE, UNANSWERED
from scalarviz.view.cell.shown import Shown

PATIENT = 60.0
"""Seconds: a machine may be slow."""


def of_cells():
    return {one for one in threading.enumerate() if "scalarviz" in one.name}


def until(condition, seconds=30.0):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


@pytest.mark.ci  # each draws the picture that stays
def test_twenty_cells_of_one_run_leave_no_thread(watch, scene):
    """Closed, run again without a close, gone: whoever comes next has the run, and in the end nobody is left."""
    before, made = of_cells(), []
    for turn in range(20):
        made.append(Shown(scene, (240, 200)))
        page = watch(made[-1], f"place {turn}")
        made[-1].act("step")
        page.wait(lambda p: p.frames)
        if turn % 3 == 0:
            made[-1].session.close(PATIENT)
        elif turn % 3 == 1:
            page.say(kind="gone")
    assert len(of_cells() - before) <= 4  # of the last cell, and of one that ends
    for shown in made:
        shown.session.close(PATIENT)
    until(lambda: of_cells() <= before)
    assert scene.run._store.gate is None


WAYS = ("step", "micro", "rate", "weight", "freeze")


def happened(rng, count):
    """A random session: what is done, with its numbers."""
    found = []
    for _ in range(7):
        way = WAYS[rng.integers(len(WAYS))]
        numbers = {"step": int(rng.integers(1, 9)), "micro": int(rng.integers(1, 12)), "freeze": 0,
                   "rate": float(rng.choice([0.5, 0.25, 0.125])), "weight": float(rng.normal())}  # fmt: skip
        found.append((way, int(rng.integers(count)), numbers[way]))
    return [*found, ("step", 0, 5)]


@pytest.mark.parametrize(
    ("name", "engine", "seed"),
    [("rgb", "numba", 1), ("xor", "objects", 3), ("uinn", "numpy", 5), ("neuron", "numba", 6)],
)
def test_watched_and_touched_training_has_the_bits_of_the_same_edits_unwatched(cell, watch, made, name, engine, seed):
    scene, alone = made(name, engine=engine), made(name, engine=engine).run
    page = watch(cell(scene, hide=("panels",)))
    page.wait(lambda p: p.frames)
    count = len(scene.run.values)

    def at_rest(play):
        play.viewer.worker.settle()
        return not play.viewer.micro.pending

    def settle():
        until(lambda: page.shown.session.call(at_rest))

    for way, index, number in happened(np.random.default_rng(seed), count):
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
    """A browser that draws only the newest of what has come, now and then; and one that is dead."""
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
