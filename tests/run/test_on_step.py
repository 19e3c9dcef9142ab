"""`run.on_step`: functions that are called between steps, where steps are new."""

from __future__ import annotations

import gc
import threading
import time
import weakref

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scalarviz import Run, nn, optim
from scalarviz.errors import DivergedError, InputError, StateError, TypeMismatchError
from scalarviz.run.worker import Worker

X = np.random.default_rng(0).random((40, 3))
ENGINES = ["objects", "numpy", "numba"]


def make(engine="numpy", **kwargs):
    net = nn.Sequential(nn.Linear(3, 4, seed=1), nn.Tanh(), nn.Linear(4, 3, seed=2))
    opt = optim.SGD(net.parameters(), lr=0.1)
    return net, Run(
        net, nn.MSELoss(), opt, (X, 1 - X), engine=engine, **{"batch_size": 8, "dtype": "float64", **kwargs}
    )


@given(st.lists(st.integers(0, 23), max_size=6), st.lists(st.integers(1, 9), min_size=1, max_size=3))
@settings(max_examples=40, deadline=None)
def test_it_is_called_after_the_steps_that_it_divides(calls, everies):
    _, run = make("numba")
    _, plain = make("numba")
    seen = {k: [] for k in range(len(everies))}
    for k, every in enumerate(everies):
        run.on_step(lambda run, k=k: seen[k].append((run.steps, run.loss)), every=every)
    for count in calls:
        run.step(count)
    plain.step(sum(calls))
    assert run.values.tobytes() == plain.values.tobytes()
    losses = dict(zip(plain.history.step.tolist(), plain.history.loss.tolist(), strict=True))
    for k, every in enumerate(everies):
        assert seen[k] == [(step, losses[step]) for step in range(every, sum(calls) + 1, every)]


@pytest.mark.parametrize("engine", ENGINES)
def test_what_it_changes_is_recorded_and_done_again_without_it(engine):
    net, run = make(engine)

    def tune(run):
        run.lr *= 0.9
        if run.steps == 6:
            net[0].bias.data[1] = 0.25  # through a view, which nobody announces
            run.change(activation="relu")

    tuned = []
    handle = run.on_step(tune, every=3)
    run.on_step(lambda run: tuned.append(run.steps), every=1)
    moments = []
    for _ in range(10):
        run.step(1)
        moments.append((run.values.copy(), run.lr))
    assert [(done.step, done.what) for done in run.log] == [
        (3, "lr = 0.09"), (6, "lr = 0.081"), (6, "0.bias[1] = 0.25"), (6, "activation = relu"), (9, "lr = 0.0729"),
    ]  # fmt: skip
    run.to(0)
    run.step(4)
    run.to(7)
    run.back(3)
    run.step(6)
    assert tuned == list(range(1, 11))
    values, lr = moments[9]
    assert (run.values.tobytes(), run.lr) == (values.tobytes(), lr)
    run.to(6)
    run.step(1)
    assert run.values.tobytes() == moments[6][0].tobytes()
    # an edit in the past makes steps that are new
    run.lr = 0.5
    run.step(3)
    assert tuned == [*range(1, 11), 8, 9, 10]
    assert handle.active


def test_words_of_unannounced_changes_come_in_order():
    _, run = make()
    run.on_step(lambda run: run.values.__setitem__(slice(0, 2), 0.0), every=2)
    run.step(5)
    assert [(done.step, done.what) for done in run.log] == [
        (2, "0.weight[0][0] and 1 more = 0"), (4, "0.weight[0][0] and 1 more = 0"),
    ]  # fmt: skip


def test_a_looking_function_leaves_no_edit_and_changes_no_bit():
    _, run = make()
    _, plain = make()
    run.on_step(lambda run: (run.frame(X[0]), run.predict(X), run.values.sum(), run.state()))
    run.step(20)
    plain.step(20)
    assert run.values.tobytes() == plain.values.tobytes()
    assert run.log == []


def test_one_that_raises_is_named_and_nothing_is_lost():
    _, run = make()
    _, plain = make()
    told = []

    def fails(run):
        run.lr = 0.3
        raise ValueError("no good")

    run.on_step(lambda run: told.append(run.steps), every=5)
    handle = run.on_step(fails, every=7)
    with pytest.raises(StateError, match=r"fails raised ValueError after step 7: no good") as found:
        run.step(20)
    assert isinstance(found.value.__cause__, ValueError)
    assert (run.steps, len(run.history.loss), run.lr) == (7, 7, 0.3)
    assert [(done.step, done.what) for done in run.log] == [(7, "lr = 0.3")]
    handle.remove()
    run.step(13)
    plain.step(7)
    plain.lr = 0.3
    plain.step(13)
    assert run.values.tobytes() == plain.values.tobytes()
    assert told == [5, 10, 15, 20]


def test_removing():
    _, run = make()
    seen = []

    def once(run):
        seen.append(run.steps)
        handle.remove()

    handle = run.on_step(once)
    late = run.on_step(lambda run: late.remove())
    repr_before = repr(handle)
    run.step(5)
    assert seen == [1]
    assert "once, every 1 steps" in repr_before
    assert "removed" in repr(handle)
    handle.remove()
    other = run.on_step(once)
    run.close()
    assert not other.active
    with pytest.raises(StateError, match="closed"):
        run.on_step(once)


def test_a_run_that_nobody_holds_is_gone_at_once():
    net, run = make()
    handle = run.on_step(lambda run: None, every=2)
    run.step(3)
    run.change(activation="relu", model=nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 3)))
    run.step(3)
    there = weakref.ref(run)
    gc.disable()
    try:
        del run
        assert there() is None
    finally:
        gc.enable()
    assert not handle.active
    handle.remove()
    assert net[0].weight.store.owner is None


def test_it_may_remove_the_next_one_close_the_run_and_not_step_it():
    _, run = make()
    seen = []
    run.on_step(lambda run: second.remove())
    second = run.on_step(seen.append)
    run.step(2)
    assert seen == []
    _, run = make()
    run.on_step(lambda run: run.step(1), every=2)
    with pytest.raises(StateError, match="must not step the run"):
        run.step(5)
    assert run.steps == 2
    _, run = make()
    run.on_step(lambda run: run.close(), every=3)
    with pytest.raises(StateError, match="closed"):
        run.step(5)
    assert run.steps == 3


def test_it_may_go_back():
    """Steps that follow the record then call nobody; where it ends they are new again."""
    _, run = make()
    seen = []

    def back(run):
        seen.append(run.steps)
        if len(seen) == 1:
            run.back(3)

    run.on_step(back, every=4)
    run.step(10)
    assert (run.steps, seen) == (7, [4])
    run.step(3)
    assert seen == [4, 8]


def test_a_breakpoint_stops_after_it():
    _, run = make()
    seen = []
    run.on_step(lambda run: seen.append(run.steps), every=2)
    run.break_on("step == 6")
    run.step(20)
    assert (run.steps, seen) == (6, [2, 4, 6])
    assert run.stopped_by is not None
    run.step(3)
    assert seen == [2, 4, 6, 8]
    run.find("loss < 0")
    run.open(step=3)
    assert seen == [2, 4, 6, 8]


def test_a_divergence_comes_before_it():
    _, run = make()
    seen = []
    run.on_step(lambda run: seen.append(run.steps))
    run.lr = 1e200
    with pytest.raises(DivergedError):
        run.step(50)
    assert seen == list(range(1, run.steps))


def test_beside_a_thread_it_is_called_there():
    _, run = make("numba")
    threads, seen = set(), []

    def note(run):
        threads.add(threading.current_thread().name)
        seen.append(run.steps)
        run.lr = 0.1 / run.steps

    worker = Worker(run).start()
    try:
        handle = run.on_step(note, every=10)
        worker.train_to(100)
        start = time.monotonic()
        while run.steps < 100 and time.monotonic() - start < 20:
            time.sleep(0.01)
        handle.remove()
    finally:
        worker.close(5.0)
    assert threads == {"scalarviz-training"}
    assert seen == list(range(10, 101, 10))
    assert [done.step for done in run.log] == seen


@pytest.mark.parametrize(
    ("fn", "every", "kind", "says"),
    [
        (3, 1, TypeMismatchError, "on_step: fn must be a function"),
        (None, 1, TypeMismatchError, "on_step: fn must be a function"),
        (print, 0, InputError, "on_step: every"),
        (print, -3, InputError, "on_step: every"),
        (print, 1.5, InputError, "on_step: every"),
        (print, True, InputError, "on_step: every"),
        (print, "2", InputError, "on_step: every"),
    ],
)
def test_bad_input(fn, every, kind, says):
    _, run = make()
    with pytest.raises(kind, match=says):
        run.on_step(fn, every=every)
    run.step(1)
