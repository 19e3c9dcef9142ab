"""Runs of exclusive or, trained in this process: what tests of walls and reports are shown (fixture ``few_runs``)."""

import numpy as np

import scalarviz as sv
from scalarviz import nn, optim
from scalarviz.run.panels import Axis, LossCurve, PlaneMap
from scalarviz.sweep.result import Result, thinned
from scalarviz.view.walls.runs import Runs

BITS = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
XOR = BITS.sum(axis=1, keepdims=True) % 2


def xor(result):
    """The scene of a run; an option says its rate."""
    net = nn.Sequential(nn.Linear(2, 3), nn.Tanh(), nn.Linear(3, 1))
    net.initialize(nn.init.uniform(-1, 1), seed=result.seed)
    lr = result.options.get("lr", 0.5)
    run = sv.Run(net, nn.MSELoss(), optim.SGD(net.parameters(), lr=lr), data=(BITS, XOR), engine="numpy")
    plane = PlaneMap("plane", Axis("x", 0, 1), Axis("y", 0, 1), span=(0, 1), cells=8)
    return sv.Scene("xor", run, panels=(plane, LossCurve()))


def trained(count=6, rates=(0.5,), steps=40):
    """So many seeds for each rate."""
    results, weights = [], {}
    for number in range(count * len(rates)):
        options = {"lr": rates[number % len(rates)]} if len(rates) > 1 else {}
        seed = number // len(rates)
        run = xor(Result(number, options, seed, "done")).run
        run.step(steps)
        loss = float(np.square(run.predict(BITS) - XOR).mean())
        curve = thinned(run.history.step, run.history.loss)
        results.append(Result(number, options, seed, "done", steps, loss, reached=loss < 0.22, curve=curve))
        weights[number] = run.state_dict()
        run.close()
    return Runs("xor", tuple(results), xor, weights.__getitem__, len(results))
