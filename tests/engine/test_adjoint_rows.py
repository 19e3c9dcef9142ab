"""Adjoints that lie where others lay before: never in the way of one that is still wanted, and the same gradients."""

from __future__ import annotations

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import Run, nn, optim
from scalarviz.engine.cpu.encode.adjoints import FEWEST, AdjointRows

WIDE = FEWEST + 3


class Network(nn.Module):
    """Layers as wide as adjoints must be to move, put together in a way of `wiring`."""

    def __init__(self, wiring):
        self.first, self.second, self.third = nn.Linear(2, WIDE), nn.Linear(WIDE, WIDE), nn.Linear(WIDE, WIDE)
        self.last = nn.Linear(WIDE, 2)
        self.scale = sv.Weight(0.3)
        self.wiring = wiring

    def forward(self, x):
        return self.last(WIRINGS[self.wiring](self, [v.tanh() for v in self.first(x)]))


def _chain(net, h):
    return [v.leaky_relu(0.1) for v in net.third([v.sin() for v in net.second(h)])]


def _around(net, h):
    """What a layer reads is read again behind it."""
    further = [v.tanh() for v in net.third([v.tanh() for v in net.second(h)])]
    return [a + b * net.scale for a, b in zip(h, further, strict=True)]


def _fork(net, h):
    left, right = [v.tanh() for v in net.second(h)], [v.sin() for v in net.third(h)]
    return [a * b for a, b in zip(left, right, strict=True)]


def _partly(net, h):
    """Of one layer's results a few are used, and some twice."""
    some = net.second(h)
    return net.third([*[v.tanh() for v in some[:5]], *some[:5], *h[10:]])


def _twice(net, h):
    """One layer in two places."""
    return net.second([v.tanh() for v in net.second(h)])


WIRINGS = {"chain": _chain, "around": _around, "fork": _fork, "partly": _partly, "twice": _twice}


def start(wiring, engine):
    model = Network(wiring)
    rng = np.random.default_rng(5)
    for parameter in model.parameters():
        parameter.data = rng.normal(0, 0.5, np.shape(parameter.data))
    data = rng.normal(size=(7, 2)), rng.normal(size=(7, 2))
    return Run(model, nn.MSELoss(), optim.SGD(model.parameters(), lr=0.1), data, engine=engine, dtype="float64")


@pytest.mark.parametrize("wiring", WIRINGS)
def test_gradients_are_those_of_the_objects(wiring):
    found = {}
    for engine in ("objects", "numba"):
        run = start(wiring, engine)
        run._training.trainer.gradient(0)  # leaves its numbers in the workspace
        found[engine] = np.append(run.problem.store.grad, run._training.trainer.gradient(1))
        run.close()
    np.testing.assert_allclose(found["numba"], found["objects"], rtol=1e-10, atol=1e-13)


@pytest.mark.parametrize("wiring", WIRINGS)
def test_no_two_adjoints_in_use_share_a_row(wiring):
    run = start(wiring, "numba")
    program = run.problem.plan.body
    run.close()
    places = AdjointRows(program, [program.loss])
    in_use = {program.loss: places(program.loss)}
    touched = 0
    for instruction in reversed(program.instructions):
        for row in (*instruction.args.ravel().tolist(), *range(instruction.dst, instruction.dst + instruction.count)):
            if program.needs_gradient[row]:
                assert in_use.setdefault(row, places(row)) == places(row)
        touched = max(touched, *in_use.values())
        assert len(set(in_use.values())) == len(in_use)
        assert min(in_use.values()) >= program.n_rows
        places.done(instruction)
        for row in range(instruction.dst, instruction.dst + instruction.count):
            in_use.pop(row, None)
    assert touched < 2 * program.n_rows
    assert not set(in_use) & {row for i in program.instructions for row in range(i.dst, i.dst + i.count)}


def test_a_deep_chain_needs_the_rows_of_a_few_layers():
    run = start("chain", "numba")
    program = run.problem.plan.body
    run.close()
    places, used = AdjointRows(program, [program.loss]), set()
    for instruction in reversed(program.instructions):
        rows = {*instruction.args.ravel().tolist(), *range(instruction.dst, instruction.dst + instruction.count)}
        used |= {places(row) for row in rows if program.needs_gradient[row]}
        places.done(instruction)
    moving = sum(i.count for i in program.instructions if i.count >= FEWEST)
    others = int(program.needs_gradient.sum()) - moving
    assert len(used) <= others + 2 * WIDE < others + moving


def test_few_rows_and_those_of_the_loss_stay():
    run = start("chain", "numba")
    program = run.problem.plan.body
    run.close()
    places = AdjointRows(program, range(program.n_rows))
    assert [places(row) for row in range(program.n_rows)] == list(range(program.n_rows, 2 * program.n_rows))
