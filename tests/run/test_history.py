"""Histories of lines that leave one another: each has all its steps, and what they share is held once."""

from collections.abc import Sequence

import numpy as np
import pytest

from scalarviz.run import History


def check(found, expected):
    for line, steps in zip(found, expected, strict=True):
        assert [*zip(*map(np.ndarray.tolist, line.curve()), strict=True)] == steps


@pytest.mark.parametrize("seed", range(8))
def test_random_forks_are_those_of_plain_lists(seed):
    random = np.random.default_rng(seed)
    found, lists, kept, here = [History()], [[]], [], 0
    for count in range(150):
        steps = lists[here]
        newest = steps[-1][0] if steps else 0
        match int(random.integers(0, 6)):
            case 0 | 1:
                losses = random.random(int(random.integers(1, 40)))
                found[here].extend(newest, losses, count)
                steps += [(newest + k + 1, loss, float(count)) for k, loss in enumerate(losses)]
            case 2:
                parent, step = int(random.integers(len(found))), int(random.integers(0, newest + 2))
                lists.append([entry for entry in lists[parent] if entry[0] <= step])
                found.append(found[parent].fork(step))
                found[here].rest()
                here = len(found) - 1
            case 3:
                found[here].rest()
                here = int(random.integers(len(found)))
            case 4:
                line, first = int(random.integers(len(found))), int(random.integers(0, newest + 2))
                assert found[line].curve(first=first).step.tolist() == [e[0] for e in lists[line] if e[0] > first]
                kept.append((found[line].curve(), list(lists[line])))
            case 5 if len(found) > 2 and random.random() < 0.3:
                line = int(random.integers(len(found)))
                step = int(random.integers(0, newest + 2))
                found[line].cut(step)
                lists[line] = [entry for entry in lists[line] if entry[0] <= step]
    check(found, lists)
    for curve, steps in kept:  # what was handed out stays as it was
        assert [*zip(*map(np.ndarray.tolist, curve), strict=True)] == steps
    assert [len(line.step) for line in found[0].lines][:-1] == [len(e) for e in lists[1:] if e]


@pytest.fixture
def three():
    history = History()
    history.extend(0, np.array([3.0, 2.0, 1.5]), np.array([0.1, 0.1, 0.2]))
    return history


def test_a_history_is_a_sequence_of_steps_and_has_arrays_by_name(three):
    assert repr(three) == "History(3 steps, loss 3 at step 1, loss 1.5 at step 3; names: step, loss, lr)"
    assert repr(History()) == "History(0 steps; names: step, loss, lr)"
    assert (len(three), three[-1], three[0].loss, three[-1].step) == (3, (3, 1.5, 0.2), 3.0, 3)
    assert list(three) == [three[0], three[1], three[2]] == three[:]
    assert three[::2] == [three[0], three[2]]
    assert list(reversed(three)) == three[::-1]
    assert [entry.loss for entry in three] == three["loss"].tolist() == three.loss.tolist()
    found = dict(three)
    assert list(found) == list(three.keys()) == ["step", "loss", "lr"]
    assert found["lr"].tolist() == [0.1, 0.1, 0.2]
    assert "loss" in three
    assert three[1] in three
    assert "epoch" not in three
    np.testing.assert_array_equal(np.asarray(three), three.loss)
    assert np.asarray(three, np.float32).dtype == np.float32
    with pytest.raises(KeyError, match="no 'losses'; it has step, loss, lr"):
        three["losses"]
    with pytest.raises(IndexError, match="3 steps has no index 3"):
        three[3]


def test_what_pandas_and_matplotlib_ask(three):
    """pandas takes a sequence of named tuples as rows; matplotlib asks for an array, or for names of its `data`."""
    assert isinstance(three, Sequence)
    assert three[0]._fields == ("step", "loss", "lr")
    assert [type(x) for x in three[0]] == [int, float, float]
    assert np.atleast_1d(three).tolist() == three.loss.tolist()
    assert not any(hasattr(three, name) for name in ("values", "to_numpy", "shape"))
