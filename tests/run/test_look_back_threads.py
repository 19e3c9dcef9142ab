"""While one thread looks at a run's past, the others are told where it stands."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import nn, optim
from scalarviz.run.look_back import visited


def test_steps_and_loss_are_of_one_moment_for_who_does_not_look_back():
    """The thread that visits sees the step that it visits, with its loss; any other sees where the run stands."""
    x = np.random.default_rng(0).random((16, 3))
    net = nn.Linear(3, 3, seed=1)
    run = sv.Run(net, nn.MSELoss(), optim.SGD(net.parameters(), lr=0.1), data=(x, 1 - x), engine="numpy")
    run.step(20)
    loss, losses = run.loss, run.history.loss.copy()
    with ThreadPoolExecutor(1) as other:
        seen = visited(
            run, (5, 9, 14), lambda r: ((r.steps, r.loss), other.submit(lambda: (r.steps, r.loss, repr(r))).result())
        )
    for step, (own, others) in seen.items():
        assert own == (step, losses[step - 1])
        assert others[:2] == (20, loss)
        assert "step 20" in others[2]
    assert (run.steps, run.loss) == (20, loss)


def test_it_stands_again_after_an_error():
    x = np.random.default_rng(0).random((16, 3))
    net = nn.Linear(3, 3, seed=1)
    run = sv.Run(net, nn.MSELoss(), optim.SGD(net.parameters(), lr=0.1), data=(x, 1 - x), engine="numpy")
    run.step(10)
    with pytest.raises(ZeroDivisionError):
        visited(run, (3,), lambda r: 1 // 0)
    with ThreadPoolExecutor(1) as other:
        run.step(1)
        assert other.submit(lambda: run.steps).result() == 11
