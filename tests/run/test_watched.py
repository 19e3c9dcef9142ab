"""What another library trains is followed: its numbers are read where they lie, its steps are counted."""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import scalarviz as sv
from scalarviz.errors import InputError, TypeMismatchError
from scalarviz.run.watched import Watched
from scalarviz.run.watched.alike import alike
from scalarviz.run.watched.kept import Kept, nbytes
from scalarviz.run.watched.pace import Pace
from scalarviz.run.watched.trees import leaves


class Layer(NamedTuple):
    w: Any
    b: Any


@dataclass
class Net:
    width: int
    layers: list[Layer]
    scale: Any
    act: Any = math.tanh
    name: str = "net"


class Device:
    """An array of a library that NumPy knows nothing of but that it can be read; JAX's are such, and can be gone."""

    def __init__(self, numbers):
        self._numbers, self.deleted = np.asarray(numbers, np.float32), False

    @property
    def shape(self):
        return self._numbers.shape

    def __array__(self, dtype=None, copy=None):
        if self.deleted:
            raise RuntimeError("Array has been deleted with shape=float32[2].")
        view = self._numbers.view()
        view.flags.writeable = False
        return view


def net(seed=0):
    rng = np.random.default_rng(seed)
    layers = [Layer(rng.normal(size=(3, 2)), rng.normal(size=3)), Layer(rng.normal(size=(1, 3)), rng.normal(size=1))]
    return Net(3, layers, np.float32(2.0))


def test_names_are_the_way_to_the_array():
    tree = {"a": [np.ones(2), (np.ones(1), None)], "net": net(), 3: {"x": 1.5, "rows": [[1, 2], [3, 4]]}}
    found = {name: np.shape(leaf) for name, leaf in leaves(tree)}
    assert found == {
        "a.0": (2,), "a.1.0": (1,), "net.layers.0.w": (3, 2), "net.layers.0.b": (3,), "net.layers.1.w": (1, 3),
        "net.layers.1.b": (1,), "net.scale": (), "3.x": (), "3.rows": (2, 2),
    }  # fmt: skip


def test_names_that_come_twice_are_told_apart():
    assert [name for name, _ in leaves({"a.b": np.ones(1), "a": {"b": np.ones(2)}})] == ["a.b", "a.b (2)"]


def test_a_tree_that_holds_itself_is_refused():
    tree: dict[str, Any] = {"w": np.ones(2)}
    tree["self"] = tree
    with pytest.raises(InputError, match="nested deeper than 100"):
        sv.watch(tree)


trees = st.recursive(
    st.lists(st.floats(-1e3, 1e3), min_size=1, max_size=4).map(np.array),
    lambda inner: st.dictionaries(st.text("abc", min_size=1, max_size=3), inner, min_size=1, max_size=3)
    | st.lists(inner, min_size=1, max_size=3),
    max_leaves=8,
).filter(lambda tree: not isinstance(tree, np.ndarray))  # fmt: skip


@given(trees)
def test_all_numbers_of_a_tree_are_there_once_and_under_their_names(tree):
    watched = sv.watch(tree)
    values = watched.frame().values
    assert sum(tensor.size for tensor in watched.tensors) == len(values)
    by_name = dict(leaves(tree))
    for tensor in watched.tensors:
        assert np.array_equal(tensor.of(values), by_name[tensor.name])


def test_arrays_are_read_where_they_lie_and_a_change_is_a_step():
    w = np.zeros((2, 2))
    watched = sv.watch({"w": w})
    assert (watched.frame().step, watched.counted) == (0, False)
    w += 1
    frame = watched.frame()
    assert (frame.step, frame.values.tolist(), frame.update.tolist()) == (1, [1.0] * 4, [1.0] * 4)
    assert watched.frame() is frame  # looking is no step, and a picture sees that nothing is new


def test_calls_that_say_nothing_are_steps_only_where_numbers_change():
    w = np.zeros(2)
    watched = sv.watch({"w": w})
    for _ in range(5):
        watched.update()
    assert watched.frame().step == 0
    for _ in range(3):
        w += 1
        watched.update()
    assert watched.frame().step == 3


@pytest.mark.parametrize("said", [{"loss": 1.0}, {}, {"lr": 0.1}])
def test_a_step_that_was_seen_before_it_was_told_counts_once(said):
    """A cell of a notebook does the step, the next one tells of it; the loop goes on after that."""
    w = np.zeros(2)
    watched = sv.watch({"w": w})
    for step in range(1, 5):
        w += 1
        assert watched.frame().step == step
        watched.update(**said)
        assert (watched.frame().step, watched.frame().loss == 1.0) == (step, "loss" in said)
    w += 1
    watched.update(**said)
    assert watched.frame().step == 5


def test_what_one_step_did_is_known_however_seldom_it_is_looked_at():
    w = np.zeros(3)
    watched = sv.watch({"w": w})
    watched.pace = Pace(rate=1e9, share=1.0)  # it is always time: one call copies, the next one looks
    seen = set()
    for step in range(1, 40):
        w += step
        if watched.update(loss=1 / step):
            frame = watched.last
            assert (frame.step, frame.loss) == (step, 1 / step)
            assert frame.update.tolist() == [step] * 3
            seen.add(step)
    assert len(seen) >= 19
    assert watched.curve.step.tolist() == list(range(1, 40))
    assert watched.curve.loss.tolist() == [1 / step for step in range(1, 40)]


def test_new_arrays_of_each_step_are_taken_with_their_gradients():
    params = {"w": np.ones((2, 3), np.float32), "b": np.zeros(2, np.float32)}
    watched = sv.watch(params)
    assert not watched.frame().computed.any()
    grads = {"w": np.full((2, 3), 0.5, np.float32), "b": None}
    params = {name: one - 0.1 for name, one in params.items()}
    watched.update(params, grads, loss=3.0, lr=0.2)
    frame = watched.frame()
    w, b = watched.tensors
    assert (frame.step, frame.loss, frame.lr, frame.values.dtype) == (1, 3.0, 0.2, np.float32)
    assert np.allclose(w.of(frame.values), 0.9)
    assert np.allclose(frame.update, -0.1)
    assert (w.of(frame.gradient) == 0.5).all()
    assert (w.of(frame.computed).all(), b.of(frame.computed).any()) == (True, False)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"w": np.ones((3, 2))}, "got the shape"), ({"v": np.ones((2, 3))}, "v is new"), ({}, "w is missing"),
        ({"w": np.ones((2, 3)), "b": np.ones(1)}, "b is new"), (3, "by itself, without a name, is new"),
    ],
)  # fmt: skip
def test_other_shapes_and_names_are_refused_and_change_nothing(given, said):
    watched = sv.watch({"w": np.ones((2, 3))})
    with pytest.raises(InputError, match=said):
        watched.update(given, loss=1.0)
    with pytest.raises(InputError, match="grads"):
        watched.update({"w": np.zeros((2, 3))}, {"w": np.ones(2)})
    frame = watched.frame()
    assert (frame.step, frame.values.tolist()) == (0, [1.0] * 6)


class Unread(Device):
    """An array that JAX still computes: whoever reads it waits."""

    dtype, read = np.dtype(np.float32), 0

    def __array__(self, dtype=None, copy=None):
        Unread.read += 1
        return super().__array__()


def test_steps_that_pass_unseen_are_not_read():
    watched = sv.watch({"w": Unread([0.0, 0.0])})
    Unread.read = 0
    for step in range(1, 51):
        watched.update({"w": Unread([step, step])}, {"w": Unread([1.0, 2.0])}, step=step)
    with pytest.raises(InputError, match=r"got the shape \(3,\)"):
        watched.update({"w": Unread([1.0, 2.0, 3.0])})
    assert Unread.read == 0
    frame = watched.frame()
    assert (frame.step, frame.values.tolist(), frame.gradient.tolist()) == (50, [50, 50], [1, 2])


@given(trees, trees)
def test_trees_that_are_alike_have_the_same_names_and_shapes(one, other):
    def outline(tree):
        return {name: np.shape(leaf) for name, leaf in leaves(tree)}

    assert alike(one, copy.deepcopy(one))
    if alike(one, other):
        assert outline(one) == outline(other)


def test_memory_that_was_given_away_leaves_the_last_look():
    watched = sv.watch({"w": Device([1.0, 2.0])})
    new = Device([3.0, 4.0])
    watched.update({"w": new}, loss=1.0)
    assert watched.frame().values.tolist() == [3.0, 4.0]
    new.deleted = True
    assert watched.frame().values.tolist() == [3.0, 4.0]
    with pytest.raises(InputError, match=r"w: Array has been deleted.*try update\(params\)"):
        watched.look()


def test_nothing_of_what_is_watched_is_changed():
    w = np.arange(4.0)
    w.flags.writeable = False
    watched = sv.watch({"w": w})
    watched.update(loss=1.0)
    frame = watched.frame()
    frame.values[:] = 9
    assert w.tolist() == [0, 1, 2, 3]


def test_one_goes_back_to_what_was_looked_at():
    w = np.zeros(2)
    watched = sv.watch({"w": w})
    for step in range(1, 6):
        w += 1
        watched.update(loss=float(step))
        watched.look()
    assert watched.can.go
    assert watched.span == (0, 5)
    watched.to(2)
    frame = watched.frame()
    assert (frame.step, frame.loss, frame.values.tolist()) == (2, 2.0, [2.0, 2.0])
    assert frame.curve.step.tolist() == [1, 2]
    assert (frame.past.newest, frame.past.steps.tolist()) == (5, [0, 1, 2, 3, 4, 5])
    w += 1
    watched.update(loss=6.0)
    assert watched.frame().step == 2  # the loop goes on; who looks stays
    watched.to(6)
    assert watched.frame().values.tolist() == [6.0, 6.0]
    with pytest.raises(InputError, match="step 9 was not looked at"):
        watched.to(9)
    record = watched.weight_record(1)
    assert (record.steps.tolist(), record.values.tolist()) == (list(range(7)), list(range(7)))


def test_a_loop_that_begins_again_begins_its_curve_and_its_past_again():
    w = np.zeros(1)
    watched = sv.watch({"w": w})
    for step in (1, 2, 3, 4, 2, 3):
        w += 1
        watched.update(step=step, loss=10.0 * w[0])
        watched.look()
    assert watched.curve.step.tolist() == [1, 2, 3]
    assert watched.curve.loss.tolist() == [10.0, 50.0, 60.0]
    assert watched.rounds == 1
    watched.to(2)
    assert watched.frame().values.tolist() == [5.0]


@given(st.integers(0, 4000), st.lists(st.integers(1, 3), min_size=1, max_size=60))
def test_looks_are_kept_within_their_budget_the_first_and_the_newest_always(budget, gaps):
    kept, size = Kept(budget), 0
    for step in np.cumsum([0, *gaps]):
        flat = np.zeros(5)
        frame = sv.run.Frame(int(step), 0.0, 0.0, flat, flat, flat, flat > 0, flat > 0)
        size = nbytes(frame)
        kept.add(frame)
        assert kept.steps[-1] == step
        assert len(kept) == 1 or (kept.steps[0] == 0 and len(kept) * size <= budget)
        assert np.all(np.diff(kept.steps) > 0)
    assert len(kept) * 2 >= min(len(gaps), budget // size) - 1


def test_looking_gets_its_share_of_the_time():
    pace, now, spent, looks = Pace(rate=30, share=0.02), 0.0, 0.0, 0
    while now < 100:
        if pace.due(now):
            pace.took(now, now + 0.005)
            now, spent, looks = now + 0.005, spent + 0.005, looks + 1
        now += 0.01
    assert spent / now <= 0.02
    assert looks > 300
    pace.touched(now)
    assert pace.due(now + 0.04)
    assert not pace.due(now - 0.2 + 1e-9)


def test_a_network_of_this_library_among_arrays_is_not_left_out():
    net = sv.nn.Linear(2, 1)
    watched = sv.watch({"net": net, "w": np.ones(2)})
    assert [tensor.name for tensor in watched.tensors] == ["net.weight", "net.bias", "w"]
    net.weight[0][1].data = 7.0
    assert watched.frame().values[1] == 7


def test_what_cannot_be_watched_is_refused_in_words():
    with pytest.raises(TypeMismatchError, match=r"watch: got ndarray.*try \{'x': x\}"):
        sv.watch(np.ones(3))
    with pytest.raises(InputError, match=r"'a': got ndarray \(dtype datetime64"):
        sv.watch({"a": np.array(["2026-11-22"], "datetime64[D]")})
    assert isinstance(sv.watch({"a": 1}), Watched)
