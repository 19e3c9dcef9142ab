"""Wanderings as in ``test_timeline`` where masks, schedules, groups, rates of some weights and limits come together."""

from __future__ import annotations

import numpy as np
import pytest
import test_timeline as plain
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from test_timeline import bits, fresh_run_on_the_same_way, scheduled, wander

import scalarviz as sv
from scalarviz import nn, optim
from scalarviz.optim import lr_scheduler

KINDS = {"adam": {}, "sgd": {"momentum": 0.5}, "rmsprop": {}}
OPTIMISERS = {"adam": optim.Adam, "sgd": optim.SGD, "rmsprop": optim.RMSprop}


def make(engine="numpy", kind="adam", dtype="float32"):
    random = np.random.default_rng(7)
    net = nn.Sequential(nn.Linear(3, 4), nn.Dropout(0.3), nn.Tanh(), nn.Linear(4, 3), nn.Sigmoid(), nn.Dropout(0.5))
    net.initialize(seed=1)
    first, *rest = net.parameters()
    groups = [{"params": rest}, {"params": first, "lr": 0.05, "weight_decay": 0.1}]
    optimizer = scheduled(OPTIMISERS[kind](groups, lr=0.02, **KINDS[kind]), 2)
    data = random.random((24, 3)), random.random((24, 3))
    return sv.Run(
        net, nn.MSELoss(), optimizer, data=data, batch_size=8, seed=3, engine=engine, dtype=dtype, l2=0.01,
        clip_norm=0.5,
    )  # fmt: skip


def all_of(run):
    """The bits of a run, and all that it trains by."""
    optimizer = run.optimizer
    rule = optimizer.all_group_numbers(), optimizer.group_of.tolist(), repr(optimizer.lr_schedule), run.problem.limits
    return bits(run), rule, optimizer.lr_pace.moment()[2:]


def change_rule(run, random, _engines=()):
    """Something of how it trains."""
    weights = run.model[int(random.choice([0, 3]))].weight
    row, column = int(random.integers(3)), int(random.integers(3))
    some = (weights[row], weights[:, column], [weights[row][column], run.model[3].bias], weights)
    match int(random.integers(0, 9)):
        case 0 | 1:
            run.set_numbers(some[int(random.integers(4))], lr=float(random.random() / 20))
        case 2:
            run.set_numbers(some[int(random.integers(4))], weight_decay=float(random.random() / 5))
        case 3:
            groups = run.optimizer.param_groups
            groups[int(random.integers(len(groups)))]["lr"] = float(random.random() / 20)
        case 4:
            scheduled(run.optimizer, int(random.integers(5)))
        case 5:
            lr_scheduler.OneCycleLR(run.optimizer, 0.1, 20, cycle_momentum=bool(random.integers(2)))
        case 6:
            run.change(clip_norm=[None, 0.1, 1.0][row], clip_value=[None, 0.01][column % 2])
        case 7:
            run.change(l1=float(random.integers(2)) / 100, l2=float(random.integers(2)) / 50)
        case 8:
            run.lr = float(random.random() / 10)


@pytest.mark.parametrize(
    ("engine", "kind", "dtype"), [("numpy", "adam", "float64"), ("numba", "sgd", "float32"),
                                  ("objects", "adam", "float32"), ("numba", "rmsprop", "float32")],
)  # fmt: skip
@pytest.mark.parametrize("seed", range(2))
def test_every_place_is_as_it_was_and_as_a_fresh_run_has_it(engine, kind, dtype, seed, monkeypatch):
    others = plain.random_edit
    monkeypatch.setattr(plain, "make", make)
    monkeypatch.setattr(
        plain, "random_edit",
        lambda run, random, engines: (change_rule if random.random() < 0.7 else edited)(run, random, engines),
    )  # fmt: skip

    def edited(run, random, engines):
        others(_Named(run), random, engines)

    run = make(engine, kind, dtype)
    engines = ("numpy", "numba") if engine != "objects" else ("objects",)
    _, revisited = wander(run, seed, 25 if engine == "objects" else 60, engines, all_of)
    assert revisited > 2  # else nothing was compared
    assert all_of(fresh_run_on_the_same_way(run, engine, kind, dtype)) == all_of(run)


class _Named:
    """The run with its second layer where those edits look for it."""

    def __init__(self, run):
        self._run = run
        self.model = {0: run.model[0], 2: run.model[3]}

    def __getattr__(self, name):
        return getattr(self._run, name)

    def __setattr__(self, name, value):
        if name in ("_run", "model"):
            object.__setattr__(self, name, value)
        else:
            setattr(self._run, name, value)


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(st.integers(0, 2**31), st.integers(0, 6)), max_size=8), st.sampled_from(["adam", "sgd"]),
       st.integers(1, 9))  # fmt: skip
def test_a_file_has_all_that_a_fresh_run_needs_to_go_on(tmp_path, program, kind, more):
    run = make("numpy", kind)
    for seed, steps in program:
        change_rule(run, np.random.default_rng(seed))
        run.step(steps)
    if isinstance(run.optimizer.lr_schedule, lr_scheduler.LambdaLR):
        run.optimizer.lr_schedule = None
    run.save(tmp_path / "a.safetensors")
    other = make("numpy", kind)
    other.step(2)
    other.load(tmp_path / "a.safetensors")
    assert all_of(other)[1:] == all_of(run)[1:]
    run.step(more), other.step(more)
    assert other.values.tobytes() == run.values.tobytes()
    assert other.optimizer.all_group_numbers() == run.optimizer.all_group_numbers()


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(300, 306))
def test_long_wanderings(seed, monkeypatch):
    monkeypatch.setattr(plain, "make", make)
    monkeypatch.setattr(plain, "random_edit", change_rule)
    kind = list(KINDS)[seed % 3]
    run = make("numba", kind)
    wander(run, seed, 150, check=all_of)
    assert all_of(fresh_run_on_the_same_way(run, "numba", kind)) == all_of(run)
