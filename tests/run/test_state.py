"""A state is all that a run is: going back to one gives the same bits again, and nothing is owned by nobody."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from scalarviz import Run, nn, optim
from scalarviz.errors import DivergedError, InputError, StateError, TypeMismatchError
from scalarviz.run.state import PARTS, State

X = np.random.default_rng(0).random((64, 3))
OWNED = frozenset().union(*(part.owns for part in PARTS.values()))
NO_STATE = {
    "timeline": "what was done stays done",
    "_traveller": "what the timeline sees of the run",
    "breakpoints": "whoever looks is no part of what is looked at",
    "_stop": "likewise",
    "_named_": "what tensors and stages are called",
    "_training.onlooker": "only while a call is done",
    "_stands": "whether it is made to its end",
    "_closed": "a closed run is not gone back to",
    "_taken_by": "likewise",
    "problem": "its fields are asked for one by one",
    "_training": "likewise",
    "_store": "likewise",
    "_said": "only while a function is called",
    "_store.owner": "the run itself",
    "_store.gate": "a thread that is there or not",
    "problem._shares": "made of data and loss where they change",
    "problem._ahead": "batches that are read for the next steps, anew wherever others are wanted",
    "_training.problem": "the run's",
    "_training.call_seconds": "how steps are cut into calls changes no bit",
    "_training._asked": "a thread that is there or not",
    "_training.turn": "a lock: whose turn it is among threads",
    "_training._seconds_a_step": "a measurement",
    "_training._seconds": "a measurement",
    "_training._timed": "a measurement",
    "optimizer._held": "never changed",
    "optimizer._edit": "the run itself",
    "optimizer._give": "likewise",
    "optimizer._scheduled": "likewise",
    "_callbacks": "functions of the user",
    "_calling": "only while one is called",
    "_left": "what happens at its end",
    "optimizer._done": "never changed",
    "optimizer._arguments": "never changed",
}


def make(engine="numpy", kind=optim.SGD, **kwargs):
    net = nn.Sequential(nn.Linear(3, 4, seed=1), nn.Tanh(), nn.Linear(4, 3, seed=2), nn.Sigmoid())
    run = Run(
        net, nn.MSELoss(), kind(net.parameters(), lr=0.1), (X, 1 - X), engine=engine, **{"batch_size": 16, **kwargs}
    )
    return net, run


def attributes(run):
    """Every attribute of a run and of what it is made of."""
    found = set(vars(run))
    found |= {f"problem.{field.name}" for field in dataclasses.fields(run.problem)}
    found |= {f"_training.{name}" for name in vars(run._training)}
    found |= {f"_store.{name}" for name in run._store.__slots__ if not name.startswith("__")}
    numbers = run.optimizer.hyperparameters()
    found |= {f"optimizer.{'numbers' if name in numbers else name}" for name in vars(run.optimizer)}
    return found


@pytest.mark.parametrize("kind", [optim.SGD, optim.Adam])
def test_every_attribute_is_owned_by_a_part_or_is_no_state(kind):
    _, run = make(kind=kind)
    run.step(3)
    run.lr = 0.3
    _ = run.full_speed
    nobody = attributes(run) - OWNED - set(NO_STATE)
    assert nobody == set(), f"no part of run/state.py gives and takes {sorted(nobody)}"
    assert not OWNED & set(NO_STATE)


def test_no_attribute_has_two_owners():
    assert sum(len(part.owns) for part in PARTS.values()) == len(OWNED)


def bits(run):
    return (
        run.values.tobytes(), run._store.grad.tobytes(), run.problem.previous.tobytes(), run._store.frozen.tobytes(),
        [a.tobytes() for a in run.problem.state], run.optimizer.hyperparameters(), run.steps, run.batch_size,
        run.engine.name, run.problem.data[:].tobytes(), run._training.edited,
    )  # fmt: skip


def random_edit(run, net, random):
    """Something that changes the run from outside."""
    match int(random.integers(0, 9)):
        case 0:
            run.lr = float(random.random() / 2)
        case 1:
            net[0].weight[int(random.integers(4))][0].data = float(random.normal())
        case 2:
            net[2].bias.frozen = not net[2].bias.frozen
        case 3:
            run.batch_size = int(random.integers(1, len(run._dataset)))
        case 4:
            run.add_samples(random.random((3, 3)), random.random((3, 3)))
        case 5:
            run.set_targets(random.random((len(run._dataset), 3)))
        case 6:
            run.refill(random.random((40, 3)), random.random((40, 3)))
        case 7:
            numbers = {"SGD": {"momentum": float(random.choice([0.0, 0.5]))}, "Adam": {"eps": float(random.random())}}
            run.change(**numbers[type(run.optimizer).__name__])
        case 8:
            run.adopt_engine(str(random.choice(["numpy", "numba"])))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("kind", [optim.SGD, optim.Adam])
@pytest.mark.parametrize("seed", range(6))
def test_back_to_a_state_and_on_by_the_same_edits_is_the_same_run(kind, dtype, seed):
    """Number, names and shapes of the arrays change on the way."""
    random = np.random.default_rng(seed)
    net, run = make("numba", kind, dtype=dtype)
    moments = []
    for _ in range(15):
        run.step(int(random.integers(0, 4)))
        random_edit(run, net, random)
        moments.append((run.state(), bits(run), len(run.log)))
    run.step(3)
    end = bits(run)
    for state, then, logged in [moments[int(k)] for k in random.integers(0, 15, 5)]:
        edits = run.log[logged:]
        run.take(state)
        assert bits(run) == then
        for applied in edits:
            run.step(applied.step - run.steps)
            run.do(applied.edit)
        run.step(end[6] - run.steps)
        assert bits(run) == end


def test_a_state_shares_no_array_with_the_run_but_its_data():
    _, run = make(kind=optim.Adam)
    run.step(2)
    state = run.state()
    weights = state.parts["weights"]
    kept = weights.values.copy()
    run.step(5)
    assert weights.values.tobytes() == kept.tobytes()
    assert state.parts["data"] is run._dataset
    assert state.step == 2
    n = run.n_weights
    assert state.nbytes == 4 * n * 3 + 2 * n + 2 * 4 * n


def test_a_state_of_another_run_is_refused_before_anything_changes():
    _, run = make()
    _, other = make()
    run.step(3)
    before = bits(run)
    with pytest.raises(InputError, match="of another Run"):
        run.take(other.state())
    with pytest.raises(TypeMismatchError):
        run.take({"weights": 3})
    broken = State({**run.state().parts, "engine": dataclasses.replace(run.engine, name="cuda:99")})
    with pytest.raises(Exception, match="cuda"):
        run.take(broken)
    assert bits(run) == before
    state = run.state()
    run.close()
    with pytest.raises(StateError):
        run.take(state)


def test_the_history_of_a_run_that_went_back_rises_and_keeps_what_was_computed():
    _, run = make()
    run.step(10)
    state = run.state()
    run.step(20)
    run.take(state)
    run.step(5)
    assert run.history.step.tolist() == list(range(1, 16))
    assert [len(line.step) for line in run.history.lines] == [30, 15]
    assert run.history.lines[0].loss[:15].tobytes() == run.history.loss.tobytes()


@pytest.mark.parametrize("engine", ["numpy", "numba"])
def test_a_compiled_call_of_one_step_copies_nothing_and_stands_at_the_bad_step(engine, monkeypatch):
    def diverging():
        net = nn.Linear(3, 3, seed=1)
        return Run(net, nn.MSELoss(), optim.SGD(net.parameters(), lr=3e3), (X, 1 - X), engine=engine, batch_size=16)

    run = diverging()
    copied = []
    trainer = type(run._training.trainer)
    snapshot = trainer.snapshot
    monkeypatch.setattr(trainer, "snapshot", lambda self: copied.append(1) or snapshot(self))
    with pytest.raises(DivergedError, match="diverged at step") as one_by_one:
        for _ in range(100):
            run.step(1)
    assert bool(copied) == run._training.trainer.breakable  # Python code that can be broken off is undone
    monkeypatch.undo()
    many = diverging()
    with pytest.raises(DivergedError) as together:
        many.step(100)
    assert many.steps == run.steps > 3
    assert str(together.value).split(". ")[0] == str(one_by_one.value).split(". ")[0]
    assert many.values.tobytes() == run.values.tobytes()
