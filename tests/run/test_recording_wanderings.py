"""Random wanderings of a run: steps, edits, undo, ways back, branches, restarts. The file says what the run said."""

from __future__ import annotations

import sqlite3
import tempfile
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import scalarviz as sv
from scalarviz import nn, optim
from scalarviz.run import Frame, Run

X = np.random.default_rng(5).normal(size=(8, 2)).astype(np.float32)
NUMBERS = st.integers(0, 7)
DONE = {
    "step": lambda run, n: run.step(n),
    "lr": lambda run, n: run.change(lr=0.01 * (n + 1)),
    "weight": lambda run, n: run.set_weights(n, [0.1 * n]),
    "written": lambda run, n: run.values.__setitem__(n, 0.5),
    "frozen": lambda run, n: setattr(run.model[0].bias, "frozen", n % 2 == 0),
    "batch": lambda run, n: run.change(batch_size=n + 1),
    "back": lambda run, n: run.back(min(n, run.steps - run.span[0])),
    "to": lambda run, n: run.to(run.span[0] + (n * (run.span[1] - run.span[0])) // 7),
    "switch": lambda run, n: run.switch(run.branches[n % len(run.branches)]),
    "undo": lambda run, n: run.undo(),
    "redo": lambda run, n: run.redo(),
    "restart": lambda run, n: run.restart(n or None),
    "name": lambda run, n: run.name(f"here {n}"),
    "targets": lambda run, n: run.set_targets(X[:, :1] * n),
    "network": lambda run, n: run.change(activation=("relu", "tanh")[n % 2]),
}  # fmt: skip
MOVES: dict[str, Callable[[Run, int], object]] = DONE


def made() -> Run:
    """Nine weights and a bias of three."""
    net = nn.Sequential(nn.Linear(2, 3), nn.Tanh(), nn.Linear(3, 1))
    net.initialize(seed=3)
    return Run(net, nn.MSELoss(), optim.SGD(net.parameters(), lr=0.1), (X, X[:, :1]), batch_size=4, engine="numpy")


def bits(frame: Frame) -> tuple[Any, ...]:
    """Numbers of a frame."""
    arrays = (frame.values, frame.gradient, frame.update, frame.computed, frame.frozen)
    loss = None if np.isnan(frame.loss) else frame.loss
    return frame.step, loss, frame.lr, frame.edited, tuple(array.tobytes() for array in arrays)


def place(run: Run) -> tuple[int, int, int]:
    """Where a run stands, as its timeline has it."""
    line, step, edits = run.timeline.place()
    return line.owner(step, edits).number, step, edits


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.tuples(st.sampled_from(sorted(MOVES)), NUMBERS), max_size=14), st.integers(1, 3))
def test_the_file_says_what_the_run_said(moves: list[tuple[str, int]], every: int) -> None:
    run, said = made(), {}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.svz"
        with sv.Recording(run, every, gradients=True, updates=True, path=path):
            said[place(run)] = bits(run.frame())
            for move, number in moves:
                with suppress(sv.ScalarvizError):  # nothing to undo, say
                    MOVES[move](run, number)
                frame = run.frame()
                said[place(run)] = bits(frame)
        compare(path, run, said, every)


def compare(path: Path, run: Run, said: dict[tuple[int, int, int], tuple[Any, ...]], every: int) -> None:
    """Each place by itself, then each branch as the reader has it."""
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as database:
        rows = {
            (branch, step, edits): rest
            for branch, step, edits, *rest in database.execute(
                "SELECT branch, step, edits, loss, value, gradient, moved FROM frame"
            )
        }
    for at, (step, loss, _, _, arrays) in said.items():
        if at in rows:
            assert (rows[at][0], *rows[at][1:]) == (loss, *arrays[:3]), at
        else:
            assert step % every, f"the run stood at {at}, and the file has no frame of it"
    with sv.load_recording(path) as recorded:
        assert not recorded.remark
        assert {branch.number for branch in run.branches} <= {branch.number for branch in recorded.branches}
        assert recorded.past.flags == run.frame().past.flags  # type: ignore[union-attr]
        for branch in run.branches:
            if branch.number not in {kept.number for kept in run.branches}:
                continue  # nothing was done on it, and the run has left it
            run.switch(branch)
            with recorded.on(branch) as there:
                assert [(e.step, e.what) for e in there.edits] == [(e.step, e.what) for e in run.log]
                assert there.curve.loss.tobytes() == run.history.loss.tobytes()
                assert set(range(*run.span, every)) & set(range(0, 99, every)) <= set(there.steps.tolist())
                for k, step in enumerate(there.steps):
                    run.to(int(step))
                    assert bits(there.frame(k)) == bits(run.frame()), (branch, step)


@pytest.mark.parametrize("moves", [
    ["step", "lr", "lr", "step", "back", "weight", "step", "undo", "step"],
    ["step", "weight", "undo", "redo", "undo", "step"],
    ["step", "restart", "step", "undo", "step", "restart", "undo"],
    ["step", "network", "step", "back", "lr", "undo", "switch", "step"],
    ["written", "step", "written", "to", "written", "step"],
    ["step", "targets", "step", "undo", "redo", "name", "to", "name", "step"],
])  # fmt: skip
def test_ways_that_were_worth_a_thought(moves: list[str]) -> None:
    test_the_file_says_what_the_run_said.hypothesis.inner_test([(move, 3) for move in moves], 1)
