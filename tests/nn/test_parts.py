"""Parts of a module in lists and lists of lists: found, named, and named rightly after they have moved."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import nn
from scalarviz.nn._parts import parts_in, written


class Held(nn.Module):
    def __init__(self):
        self.w = [[sv.Weight(1.0), sv.Weight(2.0)], [sv.Weight(3.0)]]
        self.deep = ([[nn.Linear(1, 1, seed=0)]],)
        self.data = [[0.5] * 10] * 1000  # no parts

    def forward(self, x):
        return x[0]


def test_lists_of_lists_hold_parts():
    net = Held()
    names = ["w.0.0", "w.0.1", "w.1.0", "deep.0.0.0.weight", "deep.0.0.0.bias"]
    assert [name for name, _ in net.named_parameters()] == names == list(net.state_dict())
    assert net.w[1][0].name == "w.1.0"
    assert net.deep[0][0][0].full_name() == "deep.0.0.0"
    assert net.deep[0][0][0].weight.name == "deep.0.0.0.weight"
    assert [p.data for p in net.parameters()[:3]] == [1.0, 2.0, 3.0]


@pytest.mark.parametrize("twin", [copy.deepcopy, lambda net: pickle.loads(pickle.dumps(net))])
def test_copies_name_their_own(twin):
    net = twin(Held())
    assert net.w[0][1].name == "w.0.1"
    net.load_state_dict({name: np.zeros_like(part) for name, part in net.state_dict().items()})
    assert net.w[1][0].data == 0.0


def test_a_part_that_moves_has_its_new_name():
    net = Held()
    first, last = net.w[0][0], net.w[1][0]
    assert (first.name, last.name) == ("w.0.0", "w.1.0")
    net.w[0].insert(0, sv.Weight(9.0))
    net.w.pop()
    net.parameters()
    assert first.name == "w.0.1"
    assert last.name == "", "nobody holds it"
    net.other = last
    assert last.name == "other"
    del net.w
    assert first.name == ""


def test_a_list_that_holds_itself_ends():
    items = [sv.Weight(1.0)]
    items.append(items)
    kinds = (sv.Weight,)
    assert [written(place) for place, _ in parts_in("w", items, kinds)] == ["w.0"]
