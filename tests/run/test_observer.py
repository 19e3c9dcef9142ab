"""The observer changes nothing: a run that is questioned all the time beside one that nobody asks. And `on_step`."""

import contextlib

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from kit.edits import CHANGES, EDITS, MOVES
from kit.networks import SMALL
from kit.refusals import refusals
from kit.runs import bits, make_run
from scalarviz.errors import DivergedError, InputError, ScalarvizError, StateError, TypeMismatchError
from scalarviz.run.callbacks import holds
from scalarviz.run.core.gather import weight_name
from scalarviz.run.travel import span


def ask(run, a):
    """Every question there is."""
    first, newest = span(run)
    opened = run.open()
    run.frame(state=True), run.request_frame(), run.predict(run.samples()[0])
    opened.terms(a % run.n_weights), opened.loss_along(a % run.n_weights, 5), opened.micro_steps()
    run.open(sample=a % len(run.samples()[0])).new_values  # noqa: B018
    run.open(run.frame()).update(0)
    holds(run, "loss < 1 and grad > 0")
    with contextlib.suppress(StateError):  # the step may have been done with another model
        run.open(step=first + 1 + a % (newest - first + 1))
        run.why(a % run.n_weights)
        run.why(0, step=first + 1 + a % max(1, newest - first)) if newest > first else None
        run.compare(first + a % (newest - first + 1), newest)
    run.find("loss > 1.01 * before(loss) and 0.weight > 9" if "0.weight" in run.state_dict() else "grad > 9")


def seen(run):
    past = run.frame().past
    branches = [(b.first, b.newest, b.current, b.why, len(b.edits)) for b in run.branches]
    log = [(done.step, done.what) for done in run.log]
    return bits(run), past.undo, past.redo, past.flags, past.newest, branches, span(run), log


DEEDS = {**EDITS, **CHANGES, **MOVES, **{f"step {k}": MOVES["step"] for k in range(8)}}


@pytest.mark.ci
@settings(max_examples=6)
@given(st.integers(0, 999), st.sampled_from(SMALL), st.sampled_from(["sgd", "sgd_momentum", "adam", "groups"]),
       st.lists(st.sampled_from(sorted(DEEDS)), min_size=1, max_size=6))  # fmt: skip
@example(0, "residual", "sgd", ["step", "together", "model"])
@pytest.mark.parametrize("engine", ["numpy", "numba"])
def test_walks_that_are_asked_are_the_walks_that_are_not(engine, seed, network, optimizer, deeds):
    asked, alone = (make_run(network, "mse", optimizer, engine=engine) for _ in range(2))
    dice = [np.random.default_rng(seed) for _ in range(2)]
    for deed in deeds:
        done = []
        for run, random in zip((asked, alone), dice, strict=True):
            try:
                DEEDS[deed](run, random)
                done.append("")
            except ScalarvizError as error:  # whether it works must not depend on the questions either
                done.append(str(error))
        assert done[0] == done[1]
        ask(asked, seed)
        assert seen(asked) == seen(alone), deed
    for run in (asked, alone):
        run.step(5)
    assert seen(asked) == seen(alone)


@given(st.lists(st.integers(0, 13), max_size=4), st.lists(st.integers(1, 9), min_size=1, max_size=3))
@settings(max_examples=6)
def test_it_is_called_after_the_steps_that_it_divides(calls, everies):
    run, plain = make_run(), make_run()
    found = {k: [] for k in range(len(everies))}
    for k, every in enumerate(everies):
        run.on_step(lambda run, k=k: found[k].append((run.steps, run.loss)), every=every)
    for count in calls:
        run.step(count)
    plain.step(sum(calls))
    assert bits(run) == bits(plain)
    losses = plain.history.loss.tolist()
    for k, every in enumerate(everies):
        assert found[k] == [(step, losses[step - 1]) for step in range(every, sum(calls) + 1, every)]
    assert run.log == []


@pytest.mark.parametrize("engine", ["numpy", "objects", pytest.param("numba", marks=pytest.mark.ci)])
def test_what_it_changes_is_recorded_and_done_again_without_it(engine):
    run, tuned, moments = make_run(engine=engine), [], []

    def tune(run):
        run.lr *= 0.5
        if run.steps == 6:
            run.model[0].bias.data[1] = 0.25  # through a view, which nobody announces
            run.change(activation="relu")

    run.on_step(tune, every=3)
    run.on_step(lambda run: tuned.append(run.steps), every=1)
    for _ in range(10):
        run.step(1)
        moments.append(bits(run))
    log, facts = run.log, ("lr = 0.01", "lr = 0.005", "0.bias[1] = 0.25", "relu", "lr = 0.0025")
    assert [done.step for done in log] == [3, 6, 6, 6, 9]
    assert all(fact in done.what for done, fact in zip(log, facts, strict=True))
    run.to(0)
    run.step(4)
    assert bits(run) == moments[3]
    run.to(7)
    run.back(3)
    run.step(6)
    assert bits(run) == moments[9]
    assert tuned == list(range(1, 11))
    run.to(7)
    run.lr = 0.5  # an edit in the past makes steps that are new
    run.step(3)
    assert tuned == [*range(1, 11), 8, 9, 10]


def test_one_that_raises_is_named_and_nothing_is_lost():
    run, plain, told = make_run(), make_run(), []

    def fails(run):
        run.lr = 0.3
        raise ValueError("no good")

    run.on_step(lambda run: told.append(run.steps), every=5)
    handle = run.on_step(fails, every=7)
    with pytest.raises(StateError, match=r"fails.*ValueError.*step 7.*no good") as found:
        run.step(20)
    assert isinstance(found.value.__cause__, ValueError)
    assert (run.steps, len(run.history.loss), run.lr, len(run.log)) == (7, 7, 0.3, 1)
    handle.remove()
    run.step(13)
    plain.step(7)
    plain.lr = 0.3
    plain.step(13)
    assert bits(run) == bits(plain)
    assert told == [5, 10, 15, 20]


def test_it_may_go_back_and_breakpoints_stop_after_it():
    """Steps that follow the record then call nobody; where it ends they are new again."""
    run, found = make_run(), []
    run.on_step(lambda run: found.append(run.steps) or (len(found) == 1 and run.back(3)), every=4)
    run.step(10)
    assert (run.steps, found) == (7, [4])
    run.step(3)
    assert found == [4, 8]
    run.break_on("step == 12")
    run.step(20)
    assert (run.steps, found, run.stopped_by is None) == (12, [4, 8, 12], False)


def test_a_function_removes_itself_and_may_not_step_or_close_the_run():
    run, found = make_run(), []
    handle = run.on_step(lambda run: (found.append(run.steps), handle.remove()))
    assert "every 1" in repr(handle)
    run.step(5)
    assert (found, "removed" in repr(handle)) == ([1], True)
    run.on_step(lambda run: second.remove())
    second = run.on_step(found.append)
    run.step(2)
    assert found == [1]
    for deed, fact in ((lambda run: run.step(1), "step"), (lambda run: run.close(), "closed")):
        other = run.on_step(deed)
        with pytest.raises(StateError, match=fact):
            run.step(5)
        other.remove()


@refusals({
    "fn": (lambda: make_run().on_step(3), TypeMismatchError, "on_step", "fn", "function"),
    "every": (lambda: make_run().on_step(print, every=0), InputError, "on_step", "every"),
})  # fmt: skip
def test_refusals(refusal):
    refusal.check()


def diverge(run, steps=500):
    with pytest.raises(DivergedError) as caught:
        run.step(steps)
    return caught.value


@pytest.mark.ci
@pytest.mark.parametrize("engine", ["numpy", "objects", "numba"])
def test_the_last_good_step_is_named_and_can_be_gone_on_from(engine):
    run, seen = make_run("no bias", "mse", "sgd", engine=engine, dtype="float32", batch_size=None), []
    run.step(20)
    run.on_step(lambda run: seen.append(run.steps))
    run.lr = 50.0
    error = diverge(run)
    good, losses = error.good, run.history.loss
    assert f"run.to({good})" in str(error)
    assert weight_name(run.tensors, int(np.flatnonzero(~np.isfinite(run.values))[0])) in str(error)
    assert seen == list(range(21, run.steps))  # the divergence comes before it
    assert 20 <= good < run.steps
    assert losses[good] <= losses[0] < losses[good + 1 :].min()
    run.to(good)
    assert np.isfinite(run.values).all()
    run.lr = 0.05
    run.step(100)
    assert run.loss < losses[0]
    assert [branch.first for branch in run.branches] == [0, good]


@pytest.mark.parametrize("optimizer", ["sgd", "adam"])
def test_a_state_that_a_nan_has_spoilt_is_named_until_it_is_gone(optimizer):
    run = make_run("rgb", "mse", optimizer)
    run.step(3)
    before = run.state()
    run.set_weights(0, [np.nan])
    at_once = diverge(run, 2)
    said, keeps = str(at_once), optimizer != "sgd"
    assert (at_once.good, "0.weight[0][0]" in said, "nan" in said) == (None, True, True)
    assert ("state" in said, "go back" in said, "set it to a number" in said) == (keeps, keeps, not keeps)
    run.set_weights(0, np.full(run.n_weights, 0.5))
    if keeps:
        said = str(diverge(run, 2))
        assert "state" in said
        assert "weight" in said
        run.take(before)
    run.step(2)  # what it says helps
    assert np.isfinite(run.values).all()
