"""A run with few weights of all sorts, and its bits: what the tests of runs share."""

from __future__ import annotations

import engine_models as agree
import numpy as np
import test_engine_change as change
import test_loop_equals_run as loops

import scalarviz as sv
from scalarviz import Run, nn, optim

OPTIMISERS = {**agree.OPTIMISERS, **{f"{name}, of loops": make for name, make in loops.OPTIMISERS.items()}}
RNG = np.random.default_rng(2)
X, Y = RNG.uniform(-1, 1, (11, 3)), RNG.uniform(0, 1, (11, 4))


def make(engine="cuda", optimiser="adam", net=agree.Expression, dtype="float64", data=(X, Y), **options):
    """Few weights of all sorts: derived ones, some that are used in two ways; features that are made once."""
    net = net()
    chosen = {"batch_size": 4, "seed": 3, **options}
    made = OPTIMISERS[optimiser](net.parameters())
    return Run(net, nn.MSELoss(), made, data, engine=engine, dtype=dtype, **chosen)


def bits(run):
    return tuple(array.tobytes() for array in change.state_of(run))


class OfAllKinds(optim.Optimizer):
    """An update with an instruction of each kind that lowering makes of numbers, rates and rows."""

    state = ("m", "v")

    def update(self, w, g, state, lr, t):
        m = sv.dot([0.8, 0.25], [state["m"], g])
        v = sv.max([state["v"], g * g, 0.5 * m])
        turned = sv.dot([m, g], [g, v], lr)
        error = 0.5 * ((m - g) ** 2 + (v - w) ** 2)
        rated = [sv.dot([lr, t], [each, m]) for each in (g, v)]
        step = sv.dot([lr, lr], [rated[0].tanh(), turned]) + lr * error.tanh()
        return w - 0.1 * step - 0.01 * rated[1].tanh() * lr, {"m": m, "v": v}


OPTIMISERS["all kinds"] = lambda p: OfAllKinds(p, lr=0.05)
