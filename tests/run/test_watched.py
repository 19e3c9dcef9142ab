"""What another library trains is followed: its numbers are read where they lie, its steps are counted and recorded."""

import math
import re
import threading
import time
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import scalarviz as sv
from kit.refusals import refusals
from scalarviz import nn, optim
from scalarviz.errors import InputError, TypeMismatchError
from scalarviz.run.sources.watched import ABSENT, Pace

ALWAYS: Any = SimpleNamespace(due=lambda now, rests=False: True, took=lambda start, end: None)
"""It is always time to look: one call copies, the next one looks."""


class Layer(NamedTuple):
    w: Any
    b: Any


@dataclass
class Net:
    layers: list[Layer]
    act: Any = math.tanh
    name: str = "net"


def fixed(array):
    """Numbers that nobody can change, as arrays of JAX are."""
    array.flags.writeable = False
    return array


def test_names_are_the_way_to_the_array():
    net = Net([Layer(np.ones((3, 2)), np.ones(3))])
    tree = {"a": [np.ones(2), (np.ones(1), None)], "net": net, 3: {"x": 1.5, "rows": [[1, 2], [3, 4]]}}
    tree |= {"a.b": np.ones(1), "c": {"d": np.ones(2)}, "c.d": np.ones(3)}
    assert {tensor.name: tensor.shape for tensor in sv.watch(tree).tensors} == {
        "a.0": (2,), "a.1.0": (1,), "net.layers.0.w": (3, 2), "net.layers.0.b": (3,), "3.x": (), "3.rows": (2, 2),
        "a.b": (1,), "c.d": (2,), "c.d (2)": (3,),
    }  # fmt: skip


@pytest.mark.parametrize("kind", ["int64", "int32", "uint8"])
def test_a_number_that_counts_is_no_weight_unless_it_is_alone(kind):
    roles = {t.name: t.role for t in sv.watch({"bn.weight": np.ones(3), "bn.seen": np.array(50, kind)}).tensors}
    assert roles == {"bn.weight": "weight", "bn.seen": "count"}
    assert sv.render({"bn.seen": np.array(50, kind)}, size=(320, 240)).any()


@refusals({
    "Values": (lambda watched: sv.watch([sv.Value(1.0)]), TypeMismatchError, "list", "sv.draw(value)"),
    "an array": (lambda watched: sv.watch(np.ones(3)), TypeMismatchError, "ndarray", "{'x': x}"),
    "dates": (lambda watched: sv.watch({"a": np.array(["2026-11-22"], "M8[D]")}), InputError, "'a'", "datetime64"),
    "recorded": (lambda watched: sv.Recording(watched, deltas=True), InputError, "deltas", "gradients, updates"),
    "turned": (lambda watched: watched.update({"w": np.ones((3, 2))}, loss=1), InputError, "w", "(3, 2)", "(2, 3)"),
    "missing": (lambda watched: watched.update({}), InputError, "w", "missing"),
    "more": (lambda watched: watched.update({"w": np.ones((2, 3)), "b": np.ones(1)}), InputError, "'b' was"),
    "no name": (lambda watched: watched.update(3), InputError, "without a name", "not there before"),
    "gradients": (lambda watched: watched.update({"w": np.zeros((2, 3))}, {"w": np.ones(2)}), InputError, "grads"),
    "step": (lambda watched: watched.update(step=-1), InputError, "step"),
})  # fmt: skip
def test_refused(refusal):
    """Nothing that was given with it is taken over."""
    watched = sv.watch({"w": np.ones((2, 3))})
    refusal.check(watched)
    assert (watched.frame().step, watched.frame().values.tolist()) == (0, [1.0] * 6)


# ---- steps


def test_arrays_are_read_where_they_lie_and_a_change_is_a_step():
    w = np.zeros((2, 2))
    watched = sv.watch({"w": w})
    assert (watched.frame().step, watched.counted) == (0, False)
    w += 1
    frame = watched.frame()
    assert (frame.step, frame.values.tolist(), frame.update.tolist()) == (1, [1.0] * 4, [1.0] * 4)
    assert watched.frame() is frame  # looking is no step, and a picture sees that nothing is new
    w[0] = np.nan
    assert watched.frame().step == 2
    assert watched.frame().step == 2  # NaN is as it was


def test_a_loop_over_a_network_of_ours_is_followed():
    net = nn.Sequential(nn.Linear(3, 2, seed=0), nn.BatchNorm1d(2), nn.Linear(2, 1, seed=1))
    net[2].bias.frozen = True
    x, watched, rule = np.random.default_rng(0).normal(size=(5, 3)), sv.watch(net), optim.SGD(net.parameters(), lr=0.1)
    watched.pace = ALWAYS
    for _ in range(3):
        rule.zero_grad()
        loss = net(x).square().mean()
        loss.backward()
        rule.step()
        watched.update(loss=loss)
    frame, parts = watched.frame(), dict(net.named_parameters())
    assert (frame.step, frame.loss) == (3, loss.item())
    for tensor in watched.tensors:
        own = parts.get(tensor.name)
        wanted = dict(net.named_buffers())[tensor.name] if own is None else own.data
        np.testing.assert_array_equal(tensor.of(frame.values), wanted, err_msg=tensor.name)
        if own is not None:
            np.testing.assert_array_equal(tensor.of(frame.gradient), own.grad, err_msg=tensor.name)
            assert tensor.of(frame.frozen).all() == own.frozen


@pytest.mark.parametrize("said", [{"loss": 1.0}, {}])
def test_a_step_that_was_seen_before_it_was_told_counts_once(said):
    """A cell of a notebook does the step, the next one tells of it; the loop goes on after that."""
    w = np.zeros(2)
    watched = sv.watch({"w": w})
    watched.update()  # nothing is said and nothing changed: no step
    assert watched.frame().step == 0
    for step in range(1, 5):
        w += 1
        assert watched.frame().step == step
        watched.update(**said)
        assert (watched.frame().step, watched.frame().loss == 1.0) == (step, "loss" in said)
        assert f"2 numbers, step {step}, loss {said.get('loss', float('nan')):g})" in repr(watched)
    for _ in range(3):
        w += 1
        watched.update(**said)
    assert watched.frame().step == step + 3


@pytest.mark.parametrize("way", ["paced", "in place", "fixed"])
def test_what_a_step_did_is_known_or_said_to_be_of_several(way):
    """Of numbers that cannot change the last step is known, of others all since the last look."""
    w = np.zeros(3)
    watched = sv.watch({"w": w})
    watched.pace, looks = ALWAYS if way == "paced" else None, 0
    for step in range(1, 41):
        w = fixed(w + step) if way == "fixed" else w.__iadd__(step)
        if watched.update({"w": w}, loss=1 / step):  # another container each time, its array the same or not
            frame, looks = watched.last, looks + 1
            assert (frame.step, frame.loss, frame.together, frame.update.tolist()) == (step, 1 / step, 1, [step] * 3)
    assert looks >= (19 if way == "paced" else 0)
    watched.pace = None
    frame = watched.frame()
    assert frame.update.tolist() == [sum(range(41 - frame.together, 41))] * 3
    assert frame.together == {"in place": 40, "fixed": 1}.get(way, frame.together)
    assert watched.curve.step.tolist() == list(range(1, 41))
    assert watched.curve.loss.tolist() == [1 / step for step in range(1, 41)]


def test_a_loop_that_begins_again_begins_its_curve_and_its_past_again():
    w = np.zeros(1)
    watched = sv.watch({"w": w})
    for step in (1, 2, 3, 4, 2, 3):
        w += 1
        watched.update(step=step, loss=10.0 * w[0])
        assert watched.look().known("update").all() == (step != 2 or watched.rounds == 0)  # of its first step it is not
    assert (watched.curve.step.tolist(), watched.curve.loss.tolist()) == ([1, 2, 3], [10.0, 50.0, 60.0])


def test_one_goes_back_to_what_was_looked_at():
    w = np.zeros(2)
    watched = sv.watch({"w": w})
    for step in range(1, 6):
        w += 1
        watched.update(loss=float(step), lr=0.1)
        watched.look()
    assert (watched.can.go, watched.span) == (True, (0, 5))
    watched.to(2)
    frame = watched.frame()
    assert (frame.step, frame.loss, frame.lr, frame.values.tolist()) == (2, 2.0, 0.1, [2.0, 2.0])
    assert frame.curve.step.tolist() == [1, 2]
    assert (frame.past.newest, frame.past.steps.tolist()) == (5, [0, 1, 2, 3, 4, 5])
    w += 1
    watched.update(loss=6.0)
    assert watched.frame().step == 2  # the loop goes on; who looks stays
    watched.to(6)
    assert watched.frame().values.tolist() == [6.0, 6.0]
    with pytest.raises(InputError, match=r"9.*0 to 6"):
        watched.to(9)
    record = watched.weight_record(1)
    assert (record.steps.tolist(), record.values.tolist()) == (list(range(7)), list(range(7)))


@settings(max_examples=40)
@given(st.integers(0, 4000), st.lists(st.integers(1, 3), min_size=1, max_size=60))
def test_looks_are_kept_within_their_budget_the_first_and_the_newest_always(budget, gaps):
    w = np.zeros(5)
    watched = sv.watch({"w": w}, budget=budget)
    one = watched.frame()
    size = sum(part.nbytes for part in (one.values, one.gradient, one.update, one.computed, one.frozen))
    for step in np.cumsum(gaps):
        w += 1
        watched.update(step=step)
        steps = watched.look() and watched.weight_record(0).steps
        assert steps[-1] == step
        assert len(steps) == 1 or (steps[0] == 0 and len(steps) * size <= budget)
        assert np.all(np.diff(steps) > 0)
    assert len(steps) * 2 >= min(len(gaps), budget // size) - 1


def test_looking_gets_its_share_of_the_time_and_a_loop_that_rests_is_looked_at(monkeypatch):
    pace, now, spent, looks = Pace(rate=30, share=0.02), 0.0, 0.0, 0
    while now < 100:
        if pace.due(now):
            pace.took(now, now + 0.005)
            now, spent, looks = now + 0.005, spent + 0.005, looks + 1
        now += 0.01
    assert looks > 300
    assert spent / now <= 0.02
    pace.touched(now)
    assert pace.due(now + 0.04)
    w, clock = np.zeros(1), SimpleNamespace(now=100.0)
    watched = sv.watch({"w": w})
    monkeypatch.setattr(time, "perf_counter", lambda: clock.now)
    watched.pace = Pace()
    watched.update(loss=1.0)
    for seconds, seen in ((0.0, 0), (10.0, 1)):
        clock.now += seconds
        w[:] = 1
        assert watched.frame().values.tolist() == [seen]


def test_nobody_looks_in_the_middle_of_a_step_or_counts_it_twice(tmp_path, monkeypatch):
    w = np.zeros(2)
    watched, on, halfway, done, end = sv.watch({"w": w}), *(threading.Event() for _ in range(4))

    def loop():
        """It stands in the middle of its second step, half of its numbers changed, until it is let go on."""
        for step in (1, 2):
            w[0] += 1
            if step == 2:
                halfway.set()
                on.wait(30)
            w[1] += 1
            watched.update(loss=1 / step)
        done.set()
        end.wait(30)

    recording = sv.Recording(watched, path=tmp_path / "a.svz")
    thread = threading.Thread(target=loop, daemon=True)
    thread.start()
    assert halfway.wait(30)
    watched.frame(), recording.close()
    assert watched.last.values[0] == watched.last.values[1]  # it was [2, 1]
    assert watched.last.step < 2
    on.set()
    assert done.wait(30)
    genuine = time.perf_counter
    monkeypatch.setattr(time, "perf_counter", lambda: genuine() + 1000)  # a thread that lives on idle is looked at
    assert (watched.frame().step, watched.frame().values.tolist()) == (2, [2, 2])
    end.set()
    thread.join(30)
    with sv.load_recording(recording.path) as recorded:
        assert (recorded.values["w"][:, 0] == recorded.values["w"][:, 1]).all()


# ---- recordings


def train(watched, w, steps, begin=1):
    """A loop as JAX has them: each step makes new arrays; returns those of each step."""
    seen = {}
    for step in range(begin, begin + steps):
        grads = {name: np.cos(step + np.arange(one.size, dtype="f4")).reshape(one.shape) for name, one in w.items()}
        w = {name: one - np.float32(0.1) * grads[name] for name, one in w.items()}
        watched.update(w, grads, loss=1 / step, lr=0.1, step=step)
        seen[step] = w, grads
    return seen


def flat(arrays):
    return np.concatenate([array.ravel() for array in arrays.values()])


def begun():
    return {"fc.weight": np.arange(6, dtype=np.float32).reshape(2, 3), "fc.bias": np.zeros(2, np.float32)}


@pytest.mark.parametrize("every", [1, 3])
def test_each_recorded_frame_is_what_the_loop_had(tmp_path, every):
    w = begun()
    watched = sv.watch(w)
    with sv.Recording(watched, every=every, gradients=True, updates=True, path=tmp_path / "a.svz") as recording:
        seen = {0: (w, None)} | train(watched, w, 10)
    with sv.load_recording(recording.path) as recorded:
        steps = recorded.steps.tolist()
        assert steps == sorted({0, 10, *range(0, 11, every)})
        assert (recorded.about.name, recorded.has) == ("dict", {"gradients", "updates"})
        assert [tensor.name for tensor in recorded.tensors] == ["fc.weight", "fc.bias"]
        for place, step in enumerate(steps[1:], 1):
            frame, (now, grads) = recorded.frame(place), seen[step]
            assert frame.values.tobytes() == flat(now).tobytes()
            assert frame.gradient.tobytes() == flat(grads).tobytes()
            assert frame.update.tobytes() == (flat(now) - flat(seen[step - 1][0])).tobytes()
            assert (frame.loss, frame.lr, frame.computed.all()) == (1 / step, 0.1, True)
        assert not recorded.frame(0).computed.any()
        assert recorded.curve.step.tolist() == list(range(1, 11))
        assert recorded.curve.loss.tolist() == [1 / step for step in range(1, 11)]


def test_a_recording_that_begins_later_knows_the_losses_before_and_a_loop_begun_again_is_a_branch(tmp_path):
    w = begun()
    watched = sv.watch(w)
    seen = train(watched, w, 5)
    with sv.Recording(watched, path=tmp_path / "later.svz") as recording:
        train(watched, seen[5][0], 2, begin=6)
        again = train(watched, w, 2)
    with sv.load_recording(recording.path) as recorded, recorded.on(0) as first:
        assert recorded.steps.tolist() == [1, 2]
        assert recorded.frame(1).values.tobytes() == flat(again[2][0]).tobytes()
        assert [branch.number for branch in recorded.frame(0).past.branches] == [0, 1]
        assert first.steps.tolist() == [5, 6, 7]
        assert first.curve.step.tolist() == list(range(1, 8))


@pytest.mark.parametrize("every", [1, 5])
def test_a_recording_leaves_open_what_it_does_not_know(tmp_path, every):
    w = np.zeros(3)
    watched = sv.watch({"w": w})
    with sv.Recording(watched, every=every, updates=True, path=tmp_path / "w.svz") as recording:
        for step in range(1, 13):
            w += step
            watched.update(loss=1.0)
            if step == 4 and every == 5:  # the numbers were copied for the look at step 5
                frame = watched.look()
                assert (frame.step, frame.together, frame.update[0]) == (4, 4, 10)
    with sv.load_recording(recording.path) as recorded:
        steps, updates = recorded.steps, recorded.updates["w"][:, 0]
        looked = (steps % every == 0) & (steps > 0)
        assert steps[looked | (steps == 0)].tolist() == list(range(0, 13, every))
        assert steps[-1] == 12
        assert recorded.values["w"][:, 0].tolist() == (steps * (steps + 1) / 2).tolist()
        assert updates[looked].tolist() == steps[looked].tolist()
        frames = [recorded.frame(k) for k in range(len(steps))]
        assert [bool(frame.known("update").all()) for frame in frames] == (~np.isnan(updates)).tolist()
        assert np.isnan(updates[0])
        assert all(np.isfinite(frame.update).all() and not frame.computed.any() for frame in frames)


@pytest.mark.parametrize("name", ABSENT)
def test_a_name_that_what_is_watched_lacks_says_what_to_write(name):
    watched = sv.watch({"w": np.ones((2, 3))})
    with pytest.raises(AttributeError, match=f"no attribute '{name}': ") as error:
        getattr(watched, name)
    for function in re.findall(r"sv\.(\w+)\(", str(error.value)):
        assert callable(getattr(sv, function))
    assert callable(watched.update)
