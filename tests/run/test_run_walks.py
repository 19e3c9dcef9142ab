"""Random edits and moves of runs of every kind, and the laws that hold wherever one stands."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import scalarviz as sv
from kit import hunt
from kit.edits import CHANGES, EDITS, JUMPS, MOVES, Done, done_again, everything, one_of, place, trains_by
from kit.runs import make_run
from scalarviz.errors import DivergedError, ScalarvizError
from scalarviz.run import Run
from scalarviz.run.travel import span

edits = sv.run.edits
REFUSED: dict[str, Done] = {
    "weights that are not there": lambda run, random: run.set_weights(len(run.values) - 1, [1.0, 2.0]),
    "no weight": lambda run, random: run.do(edits.ScaleWeights(((0, 1), (len(run.values), 2)), 0.5)),
    "a part that does not fit": lambda run, random: run.do(
        edits.Several((edits.SetWeights(0, [1.0]), edits.SetOptimizer({"lr": 0.2}), edits.SetFrozen(9999, [True])))
    ),
    "number": lambda run, random: run.change(lr=0.1, speed=1.0),
    "batch": lambda run, random: run.change(batch_size=9999, sampling="epochs"),
    "targets": lambda run, random: run.set_targets(run.samples()[1][:-1]),
    "samples": lambda run, random: run.add_samples(np.full_like(run.samples()[0], np.nan), run.samples()[1]),
    "loss": lambda run, random: run.change(loss="squares", activation="tanh"),
    "network and optimiser": lambda run, random: run.change(model=run.model, optimizer=sv.optim.SGD([sv.Weight(1.0)])),
    "step": lambda run, random: run.to(span(run)[1] + 1),
    "branch": lambda run, random: run.switch(999),
    "file": lambda run, random: run.load("/nowhere/at-all"),
    "state": lambda run, random: run.take(make_run("rgb", samples=8).state()),
}  # fmt: skip


class Walk:
    """A run that somebody plays with; what each place had when it was first looked at."""

    def __init__(self, run: Run, seed: int) -> None:
        self.run, self.random = run, np.random.default_rng(seed)
        self.seen: dict[tuple[Any, ...], Any] = {}
        self.here: Any = None
        self.revisited = 0

    def look(self) -> Any:
        """At a place that was seen before everything is as it was then; and what is told of the past fits."""
        now, there, frame = everything(self.run), place(self.run), self.run.frame()
        past, steps = frame.past, frame.curve.step.tolist()
        assert (past.first, past.newest) == span(self.run)
        assert steps == past.curve.step[past.curve.step <= frame.step].tolist()
        assert [branch.current for branch in self.run.branches].count(True) == 1
        assert list(self.run.log) == [done for done in past.edits if done.step <= frame.step]
        self.revisited += there in self.seen
        assert self.seen.setdefault(there, now) == now, there[0]
        return now

    def act(self, act: Done) -> bool:
        """Do it; whether it was done. Nobody looks first, but when somebody did, a refusal has changed nothing."""
        before, self.here = self.here, None
        try:
            act(self.run, self.random)
        except DivergedError:
            return False
        except ScalarvizError:
            assert before is None or everything(self.run) == before
            return False
        return True

    def edit(self, kinds: dict[str, Done]) -> None:
        """Some edit; one that is undone was never there, and redone it is there again."""
        before, logged = self.here, len(self.run.log)
        if not self.act(one_of(kinds.values(), self.random)) or before is None or self.random.random() < 0.5:
            return
        after, count = self.look(), len(self.run.log) - logged
        for _ in range(count):
            words = self.run.frame().past.undo
            assert self.run.undo() == words
        assert count <= 0 or everything(self.run) == before
        for _ in range(count):
            words = self.run.frame().past.redo
            if not words:  # its branch made room
                assert self.run.timeline.budget < 100_000
                return
            assert self.run.redo() == words
        assert everything(self.run) == after

    def go(self, count: int, kinds: dict[str, Done], moves: dict[str, Done]) -> Walk:
        """So many things are done, and most of the time somebody looks."""
        for _ in range(count):
            match int(self.random.integers(10)):
                case 0 | 1 | 2:
                    self.act(MOVES["step"])
                case 3 | 4 | 5:
                    self.edit(kinds)
                case 6:
                    name = one_of(REFUSED, self.random)
                    assert not self.act(REFUSED[name]), name
                case _:
                    self.act(one_of(moves.values(), self.random))
            if self.random.random() < 0.7:  # else the next comes before anybody looked
                self.here = self.look()
        assert self.revisited > 2
        return self


KINDS: dict[str, dict[str, Any]] = {
    "plain": {"network": "mlp", "optimizer": "adam", "dtype": "float32"},
    "masks": {"network": "dropout", "optimizer": "groups", "schedule": "step", "l2": 0.01, "clip_norm": 0.5},
    "statistics": {"network": "batch norm", "optimizer": "sgd_nesterov", "schedule": "plateau"},
    "own rule": {"network": "residual", "optimizer": "own", "schedule": "lambda"},
    "classes": {"network": "words", "loss": "cross-entropy", "optimizer": "rmsprop_all", "schedule": "one cycle"},
    "hardly any room": {"optimizer": "adam_amsgrad", "budget": 20_000},
    "objects": {"network": "rgb", "optimizer": "adagrad_all", "engine": "objects", "samples": 12, "batch_size": 4},
}
WIDE = {
    "pictures": {"network": "picture", "loss": "cross-entropy, smoothed", "optimizer": "adamw_amsgrad"},
    "attention": {"network": "gpt", "loss": "cross-entropy", "optimizer": "sgd_dampening", "schedule": "sequential"},
    "formula": {"network": "formula", "optimizer": "sgd_momentum", "schedule": "cosine", "engine": "numba"},
    "tied": {"network": "tied", "loss": "huber", "optimizer": "adam_amsgrad", "sampling": "replacement"},
}


def made(kind: str) -> Run:
    own = dict({**KINDS, **WIDE}[kind])
    budget = own.pop("budget", None)
    run = make_run(**own)
    if budget is not None:
        run.timeline.budget = budget
    return run


def walked(kind: str, seed: int, count: int, kinds: dict[str, Done], moves: dict[str, Done]) -> Walk:
    return Walk(made(kind), seed).go(count // 3 if kind in ("objects", "formula") else count, kinds, moves)


def check_history(kind: str, run: Run, folder: Path) -> None:
    """A fresh run that does what survived has the same bits on every branch; a file lets another one go on."""
    run.timeline.budget = 2**40  # no branch makes room for those that are looked at
    for branch in [branch for branch in run.branches if branch.newest > branch.first][-3:]:
        run.switch(branch)
        *_, (root, _, _) = run.timeline.line.path()
        if root.number > 0:  # it began with a state, and what led there made room
            continue
        assert everything(done_again(run, made(kind))) == everything(run)
    if type(run.optimizer.lr_schedule).__name__ != "LambdaLR":  # a function is not written
        run.to(span(run)[1])
        other = made(kind)
        other.refill(*run.samples())
        other.change(batch_size=run.batch_size, sampling=run.frame().settings.sampling, engine=run.engine.name)
        run.save(folder / "weights.safetensors")
        other.load(folder / "weights.safetensors")
        for each in (run, other):
            each.step(5)
        assert other.steps == run.steps
        assert other.values.tobytes() == run.values.tobytes()
        assert trains_by(other) == trains_by(run)


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused_leaves_the_run_as_it_was(name):
    walk = Walk(made("statistics"), 0)
    walk.run.step(3)
    walk.here = walk.look()
    assert not walk.act(REFUSED[name])


@pytest.mark.parametrize("kind", KINDS)
def test_a_place_has_the_bits_of_the_first_time_and_a_fresh_run_and_a_file_have_them(kind, tmp_path):
    check_history(kind, walked(kind, 1, 30, EDITS, MOVES).run, tmp_path)


@pytest.mark.parametrize("kind", KINDS)
def test_so_it_is_when_networks_and_rules_change_and_runs_begin_anew(kind):
    walked(kind, 2, 30, {**EDITS, **CHANGES}, {**MOVES, **JUMPS})


@pytest.mark.ci
@pytest.mark.parametrize("seed", [3])
@pytest.mark.parametrize("kind", [*KINDS, *WIDE])
def test_longer_walks(kind, seed, tmp_path):
    check_history(kind, walked(kind, seed, 80, EDITS, MOVES).run, tmp_path)
    walked(kind, seed, 80, {**EDITS, **CHANGES}, {**MOVES, **JUMPS})


@pytest.mark.hunt
def test_long_walks(tmp_path):
    for seed in hunt.seeds():
        kind = one_of([*KINDS, *WIDE], np.random.default_rng(seed))
        check_history(kind, walked(kind, seed, 400, EDITS, MOVES).run, tmp_path)
        walked(kind, seed, 400, {**EDITS, **CHANGES}, {**MOVES, **JUMPS})
