"""The collector of cycles waits, and goes on whatever happens."""

from __future__ import annotations

import gc

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import nn, optim
from scalarviz.collecting import collection_paused


@pytest.fixture(autouse=True)
def as_before():
    was = gc.isenabled()
    yield
    (gc.enable if was else gc.disable)()


def test_it_waits_and_goes_on():
    gc.enable()
    with collection_paused():
        assert not gc.isenabled()
        with collection_paused():
            pass
        assert not gc.isenabled(), "the inner one did not stop it"
    assert gc.isenabled()


def test_who_switched_it_off_keeps_it_off():
    gc.disable()
    with collection_paused():
        pass
    assert not gc.isenabled()


def test_a_model_that_raises_leaves_it_on():
    gc.enable()
    seen = []

    class Broken(nn.Module):
        def __init__(self):
            self.w = sv.Weight(1.0)

        def forward(self, x):
            seen.append(gc.isenabled())
            raise ZeroDivisionError

    net = Broken()
    with pytest.raises(ZeroDivisionError):
        sv.Run(net, nn.MSELoss(), optim.SGD(net.parameters(), lr=0.1), (np.ones((2, 1)), np.ones((2, 1))))
    assert seen == [False]
    assert gc.isenabled()
