"""The life of a cell and what it costs: a cell run twice, everybody gone, a page that does not answer.

No thread stays, no bit differs, at most thirty messages go in a second and two are unanswered.
"""

import itertools
import threading
import time

import numpy as np
import pytest

from kit.commands import make_scene
from scalarviz import Weight
from scalarviz.errors import StateError
from scalarviz.run.edits import SetFrozen, SetWeights
from scalarviz.run.worker import Worker
from scalarviz.view.cell.channel import RATE, UNANSWERED


def of_cells():
    return {one for one in threading.enumerate() if "scalarviz" in one.name}


def until(condition, seconds=30.0):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_a_run_is_of_the_last_cell_and_of_nobody_in_the_end(cell, watch, scene):
    """Closed, run again without a close, gone: whoever comes next has the run."""
    before, pages = of_cells(), []
    for turn in range(7):
        pages.append(watch(cell(scene), f"place {turn}"))
        pages[-1].do("toggle_run")
        pages[-1].wait(lambda p: p.step > 2)
        if turn % 3 == 0:
            pages[-1].shown.close()
        elif turn % 3 == 1:
            pages[-1].say(kind="gone")
    assert len(of_cells() - before) <= 4  # the last cell's and its worker's, and those of one that ends
    for page, why in ((pages[0], "closed"), (pages[2], "shown by another cell now")):
        page.wait(lambda p, why=why: p.other and p.other[-1] == {"kind": "over", "why": why})
        page.say(kind="ready")  # a page that does not know yet cannot take it back
        page.wait(lambda p: len(p.other) >= 2)
    pages[-1].shown.close()
    until(lambda: of_cells() <= before)
    with Worker(scene.run):
        page = watch(cell(scene))
        page.wait(lambda p: p.other)
        assert page.other[0]["kind"] == "trouble"
        with pytest.raises(StateError, match="another Worker trains this run"):
            page.shown.act("step")


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
    page.say(kind="ready")
    page.stepped(2, scene.run.steps + 2)


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
    page.wait(lambda p: p.step > 0)
    page.shown.close()
    page.shown.close()
    for thread in threads:
        thread.join(20)
    with pytest.raises(StateError, match="closed"):
        page.shown.update()
    assert len(said) == 3
    assert all("closed" in one for one in said)
    assert scene.run._store.gate is None


@pytest.mark.parametrize(("name", "engine", "seed"), [("rgb", "numpy", 1), ("xor", "objects", 3)])
def test_watched_and_touched_training_has_the_bits_of_the_same_edits_unwatched(cell, watch, name, engine, seed):
    scene, alone = make_scene(name, engine=engine), make_scene(name, engine=engine).run
    page, rng = watch(cell(scene, hide=("panels",))), np.random.default_rng(seed)

    def at_rest(play):
        play.viewer.worker.settle()
        return play.viewer.micro._wanted is None and play.viewer.micro._awaited is None

    def settle():
        until(lambda: page.ask(at_rest))

    for way in (*rng.permutation(["step", "micro", "rate", "weight", "freeze"]), "step"):
        index, number = int(rng.integers(len(alone.values))), int(rng.integers(1, 9))
        if way == "step":
            page.do("step", number)
            alone.step(number)
        elif way == "micro":
            for _ in range(number):
                page.do("micro_next")
                settle()
            if page.ask(lambda play: play.viewer.bench.inside.told) is not None:
                page.do("step")
            settle()
            alone.step(scene.run.steps - alone.steps)
        elif way == "rate":
            page.say(kind="control", name="learning rate", value=number / 16)
            alone.lr = number / 16
        elif way == "weight":
            page.say(kind="set", index=index, value=number / 8)
            alone.do(SetWeights(index, np.array([number / 8])))
        else:
            page.say(kind="select", index=index)
            page.do("freeze")
            alone.do(SetFrozen(index, np.array([True])))
        settle()
    page.shown.close()
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
    before = trained.still.html
    trained.hear({"kind": "set", "index": 0, "value": 0.5})
    until(lambda: "step 3, loss 0.0833" in loop.still.html and trained.still.html != before, 20.0)
