"""A run with few weights of all sorts, and its bits: what the tests of runs share."""

from __future__ import annotations

import numpy as np
import test_engine_change as change
import test_engines_agree as agree
import test_loop_equals_run as loops

from scalarviz import Run, nn

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
