"""A rehearsal does what the run will do, on copies, and gives up in time."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import nn, optim
from scalarviz.run.history import LIMIT
from scalarviz.run.rehearsal import rehearse

X = np.random.default_rng(0).random((64, 3))


def a_run(engine: str = "numpy", width: int = 4, **more: Any) -> sv.Run:
    net = nn.Sequential(nn.Linear(3, width), nn.Tanh(), nn.Linear(width, 3))
    net.initialize(nn.init.normal(0, 0.5), seed=1)
    optimizer = optim.Adam(net.parameters(), lr=more.pop("lr", 0.01))
    return sv.Run(net, nn.MSELoss(), optimizer, data=(X, 1 - X), engine=engine, seed=3, **more)


@pytest.mark.parametrize("engine", ["numpy", "numba"])
@pytest.mark.parametrize("batch", [None, 8])
def test_the_run_does_what_was_rehearsed_and_nothing_before(engine: str, batch: int | None) -> None:
    with a_run(engine, batch_size=batch) as run, a_run(engine, batch_size=batch) as other:
        for each in (run, other):
            each.model[0].weight[0][1].frozen = True
            each.step(7)  # in the middle of a run
        before = [run.values.copy(), run.frame().gradient.copy(), *(a.copy() for a in run.problem.state)]
        found = rehearse(run, 300)
        assert found is not None
        now = [run.values, run.frame().gradient, *run.problem.state]
        assert all(np.array_equal(a, b) for a, b in zip(before, now, strict=True))
        assert (run.steps, len(run.history)) == (7, 7)
        run.step(300)
        other.step(300)
        assert np.array_equal(run.values, other.values)
        assert np.array_equal(found.loss, run.history.loss[-300:])


def test_the_way_is_what_the_weights_go() -> None:
    with a_run() as run:
        found = rehearse(run, 40)
        assert found is not None
        assert found.marks[0] == 0
        assert found.marks[-1] == 40
        values, way = [run.values.astype(float)], 0.0
        for _ in range(40):
            run.step()
            values.append(run.values.astype(float))
        for k, (here, there) in enumerate(zip(found.marks[:-1], found.marks[1:], strict=True), start=1):
            way += float(np.linalg.norm(values[there] - values[here]) / np.linalg.norm(values[there]))
            assert found.way[k] == pytest.approx(way)


def test_objects_are_rehearsed_on_arrays() -> None:
    with a_run("objects") as run:
        found = rehearse(run, 5)
        assert found is not None
        before = run.values.copy()
        run.step(5)
        assert not np.array_equal(before, run.values)
        assert np.allclose(found.loss, run.history.loss, rtol=1e-5)


def test_what_takes_too_long_is_given_up_soon() -> None:
    with a_run(width=64) as run:
        start = time.perf_counter()
        assert rehearse(run, LIMIT, 0.3) is None
        assert time.perf_counter() - start < 2.0


def test_what_is_known_to_take_too_long_is_not_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    with a_run() as run:
        made = []
        monkeypatch.setattr(run, "_trainer", lambda *given, kept=run._trainer: made.append(given) or kept(*given))
        assert rehearse(run, 1000, 2.0, speed=300.0) is None
        assert not made
        assert rehearse(run, 1000, 60.0, speed=300.0) is not None
        assert rehearse(run, 1000, 60.0, speed=float("nan")) is not None  # not known
        assert len(made) == 2
    with a_run("objects") as run:  # rehearsed by another engine, whose speed that is not
        assert rehearse(run, 5, 60.0, speed=1e-3) is not None


def test_it_can_be_stopped() -> None:
    asked = []

    def stopped() -> bool:
        asked.append(True)
        return len(asked) == 3

    with a_run() as run:
        assert rehearse(run, 10_000, stopped=stopped) is None
        assert len(asked) == 3


@pytest.mark.parametrize("steps", [0, -1, LIMIT + 1])
def test_no_steps_and_too_many_are_not_rehearsed(steps: int) -> None:
    with a_run() as run:
        assert rehearse(run, steps) is None


def test_a_run_that_will_diverge_is_not_known() -> None:
    with a_run() as run:
        run.model[0].weight.data = np.full((4, 3), 3e38)
        run.model[2].weight.data = np.full((3, 4), 3e38)
        assert rehearse(run, 50) is None
        assert run.steps == 0
