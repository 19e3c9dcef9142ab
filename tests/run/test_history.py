"""Histories of lines that leave one another: each has all its steps, and what they share is held once."""

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
