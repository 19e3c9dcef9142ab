"""A file holds how a run trains: groups, limits, schedule, frozen weights; a fresh run goes on bit for bit."""

from __future__ import annotations

import json

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import nn, optim
from scalarviz.errors import FileFormatError, InputError, TypeMismatchError
from scalarviz.io import load_tensors, save_tensors
from scalarviz.optim import described, lr_scheduler, remade
from scalarviz.run.checkpoint import KEY, RULE, read_checkpoint

ENGINES = ["objects", "numpy", "numba"]
X = np.random.default_rng(0).random((12, 3))
SCHEDULES = {
    "step": lambda o: lr_scheduler.StepLR(o, 3, 0.5),
    "many": lambda o: lr_scheduler.MultiStepLR(o, [2, 5, 9], 0.5, unit="epoch"),
    "power": lambda o: lr_scheduler.ExponentialLR(o, 0.9),
    "cosine": lambda o: lr_scheduler.CosineAnnealingLR(o, 7, 0.01),
    "line": lambda o: lr_scheduler.LinearLR(o, 0.5, 0.1, 12),
    "cycle": lambda o: lr_scheduler.OneCycleLR(o, [0.3, 0.2], 40, cycle_momentum=False, three_phase=True),
    "row": lambda o: lr_scheduler.SequentialLR(
        o, [lr_scheduler.LinearLR(o, 0.1, total_iters=4), lr_scheduler.CosineAnnealingLR(o, 16)], [4]
    ),
    "plateau": lambda o: lr_scheduler.ReduceLROnPlateau(o, patience=0, every=3, min_lr=[0.01, 0.02]),
}


def make(kind=optim.SGD, engine="numpy", dtype="float64", schedule=None, **more):
    net = nn.Sequential(nn.Linear(3, 4, seed=1), nn.Tanh(), nn.Linear(4, 2, seed=2))
    first, second = net[0].parameters(), net[2].parameters()
    optimizer = kind([{"params": first}, {"params": second, "lr": 0.02}], lr=0.1)
    if schedule is not None:
        SCHEDULES[schedule](optimizer)
    return sv.Run(net, nn.MSELoss(), optimizer, (X, X[:, :2]), engine=engine, dtype=dtype, batch_size=5, seed=3, **more)


def goes_on(run, other, path, steps=9):
    """Whether `other` does what `run` does, after a file."""
    run.save(path)
    other.load(path)
    run.step(steps), other.step(steps)
    assert other.values.tobytes() == run.values.tobytes()
    assert other.history.lr.tolist() == run.history.lr.tolist()[-steps:]
    np.testing.assert_array_equal(other.history.loss, run.history.loss[-steps:])
    assert [dict(g) | {"params": 0} for g in other.optimizer.param_groups] == [
        dict(g) | {"params": 0} for g in run.optimizer.param_groups
    ]
    assert other.problem.limits == run.problem.limits


def changed(run):
    run.step(4)
    run.optimizer.param_groups[1]["lr"] = 0.07
    run.optimizer.param_groups[0]["weight_decay"] = 0.1
    run.change(l1=0.01, clip_norm=0.5, clip_value=0.2)
    run.step(3)
    return run


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("kind", [optim.SGD, optim.Adam, optim.RMSprop])
def test_numbers_of_groups_and_limits_come_back(tmp_path, engine, kind):
    run = changed(make(kind, engine, "float32"))
    if kind is not optim.Adam:
        run.optimizer.param_groups[1]["momentum"] = 0.8  # a state that the other run does not have yet
        run.step(2)
    other = make(kind, engine, "float32", l2=0.3)
    other.step(2)
    goes_on(run, other, tmp_path / "a.safetensors")
    other.undo()
    assert other.steps == 2
    assert other.problem.limits.l2 == 0.3
    assert other.optimizer.param_groups[1]["lr"] == 0.02
    assert other.optimizer.param_groups[0]["weight_decay"] == 0.0
    fresh = make(kind, engine, "float32", l2=0.3)
    fresh.step(6), other.step(4)
    assert other.values.tobytes() == fresh.values.tobytes()


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_a_schedule_comes_back_with_its_arguments_to_a_run_that_has_none_or_another(tmp_path, schedule):
    run = changed(make(schedule=schedule))
    run.step(6)
    for number, other in enumerate((make(), make(schedule="power"), make(schedule=schedule))):
        run.save(tmp_path / f"{number}.safetensors")
        goes_on(run, other, tmp_path / f"{number}.safetensors", 5)
        other.undo()
        assert other.optimizer.lr_schedule is None or number > 0


def test_a_schedule_is_described_and_made_again_with_the_same_rates():
    for name, schedule in SCHEDULES.items():
        one, two = make().optimizer, make().optimizer
        own = schedule(one)
        said = json.loads(json.dumps(described(own)))
        again = remade(said, two, 2)
        assert described(again) == said
        if name != "plateau":
            np.testing.assert_array_equal(again.at(np.arange(50)), own.at(np.arange(50)))
        assert two.lr_schedule is None
        assert remade(said, one, 2) is own


def test_one_with_functions_is_the_runs_own(tmp_path):
    def made(lr=0.1):
        run = make()
        run.optimizer.lr = lr
        lr_scheduler.LambdaLR(run.optimizer, lambda count: 1 / (1 + count))
        return run

    run = made(0.4)
    run.step(5)
    goes_on(run, made(0.1), tmp_path / "a.safetensors")
    with pytest.raises(InputError, match="LambdaLR cannot be made"):
        make().load(tmp_path / "a.safetensors")


def test_steps_that_an_optimiser_had_done_before_count_on(tmp_path):
    run = make(optim.SGD)
    run.step(6)
    run.change(optimizer="Adam", lr=0.01)
    run.step(3)  # its corrections are those of three steps
    net = nn.Sequential(nn.Linear(3, 4, seed=1), nn.Tanh(), nn.Linear(4, 2, seed=2))
    other = sv.Run(
        net, nn.MSELoss(), optim.Adam(net.parameters()), (X, X[:, :2]), engine="numpy", dtype="float64", batch_size=5,
        seed=3,
    )  # fmt: skip
    goes_on(run, other, tmp_path / "a.safetensors")


def test_what_is_frozen_stays_frozen(tmp_path):
    run = make()
    run.do(sv.run.edits.SetFrozen(2, np.array([True, False, True, True])))
    run.step(3)
    other = make()
    goes_on(run, other, tmp_path / "a.safetensors")
    assert other.values[2] == make().values[2]
    assert read_checkpoint(tmp_path / "a.safetensors").rule["frozen"] == {"0.weight": [2, 3, 4, 6]}


def test_what_is_kept_is_the_runs(tmp_path):
    run = changed(make(schedule="step"))
    run.save(tmp_path / "a.safetensors")
    other = make(l2=0.2, schedule="cosine")
    other.load(tmp_path / "a.safetensors", keep=["weight_decay", "clip_norm", "schedule"])
    assert other.optimizer.param_groups[0]["weight_decay"] == 0.0
    assert (other.problem.limits.l1, other.problem.limits.l2, other.problem.limits.clip_norm) == (0.01, 0.0, None)
    assert type(other.optimizer.lr_schedule).__name__ == "CosineAnnealingLR"
    assert other.lr == 0.1
    scaled = make()
    scaled.lr = 0.8
    scaled.load(tmp_path / "a.safetensors", keep=["lr"])
    assert scaled.optimizer.lr_schedule.base_lrs[0] == 0.8
    assert scaled.lr == 0.2  # two halvings in seven steps
    for wrong, error in ((["speed"], InputError), ("lr", TypeMismatchError), (3, TypeMismatchError)):
        with pytest.raises(error, match="keep"):
            other.load(tmp_path / "a.safetensors", keep=wrong)


def test_a_file_of_an_earlier_version_is_read_as_before(tmp_path):
    run = changed(make(schedule="step"))
    run.save(tmp_path / "a.safetensors")
    tensors, metadata = load_tensors(tmp_path / "a.safetensors")
    about = {name: part for name, part in json.loads(metadata[KEY]).items() if name not in RULE}
    old = {"kind": "StepLR", "state": run.optimizer.lr_schedule.state_dict()}
    save_tensors(tmp_path / "b.safetensors", tensors, {KEY: json.dumps({**about, "schedule": old})})
    other = make(schedule="step", l2=0.3)
    other.load(tmp_path / "b.safetensors")
    assert other.steps == run.steps
    assert other.lr == run.lr
    assert other.problem.limits.l2 == 0.3
    with pytest.raises(InputError, match="trained with the schedule"):
        make().load(tmp_path / "b.safetensors")


@pytest.mark.parametrize(
    ("name", "part", "says"),
    [
        ("groups", [], "groups cannot"), ("groups", [{}], "members"), ("groups", {}, "groups cannot"),
        ("groups", [{"lr": 1}, {"speed": 1}], "speed"), ("groups", [{"lr": -1}, {}], "lr"),
        ("groups", [{"lr": 1}, {"lr": [1]}], "lr"), ("groups", [{"momentum": "a"}, {}], "momentum"),
        ("groups", [{"lr": None}, {}], "lr"), ("groups", [{}, {"a": {"b": 1}}], "groups cannot"),
        ("members", {"x": []}, "members"), ("members", {"0.bias": [4, 2]}, "members"),
        ("members", {"0.bias": [4, 0]}, "not groups of the weights"), ("members", {"0.bias": ["a", 0]}, "members"),
        ("momenta", [0.5], "momenta"), ("momenta", 3, "momenta"), ("momenta", [0.5, "a"], "momenta"),
        ("initial", [0.5], "initial"), ("initial", [0.5, -1], "initial"), ("initial", "ab", "initial"),
        ("limits", [], "limits cannot"), ("limits", {"l3": 1}, "limits cannot"), ("limits", {"l1": -1}, "l1"),
        ("limits", {"clip_norm": 0}, "clip_norm"), ("limits", {"l1": "a"}, "l1"),
        ("before", "a", "before cannot"), ("before", True, "before cannot"), ("before", 2**60, "before cannot"),
        ("frozen", [], "frozen"), ("frozen", {"x": [0, 1]}, "frozen"), ("frozen", {"0.weight": [0]}, "frozen"),
        ("frozen", {"0.weight": [0, 99]}, "frozen"), ("frozen", {"0.weight": [0, "a"]}, "frozen"),
        ("schedule", {"kind": "StepLR"}, "schedule cannot"), ("schedule", {"kind": 3, "state": {}}, "schedule cannot"),
        ("schedule", {"kind": "Own", "state": {}, "base_lrs": [1, 1]}, "Own cannot be made"),
        ("schedule", {"kind": "StepLR", "state": {}, "base_lrs": [1], "arguments": {}}, "base_lrs"),
        ("schedule", {"kind": "StepLR", "state": {}, "base_lrs": [1, 1], "arguments": {}}, "step_size"),
        ("schedule", {"kind": "StepLR", "state": {}, "base_lrs": [1, 1], "arguments": {"step_size": 0}}, "step_size"),
        ("schedule", {"kind": "StepLR", "state": {}, "base_lrs": [1, 1], "arguments": {"step_size": 1}}, "the state"),
        ("schedule", {"kind": "StepLR", "state": {}, "base_lrs": [1, 1], "arguments": {"a": 1}}, "no argument"),
        ("schedule", {"kind": "SequentialLR", "state": {}, "base_lrs": [1, 1], "arguments": {"schedulers": [{}]}},
         "parts"),
    ],
)  # fmt: skip
def test_nonsense_is_refused_and_changes_nothing(tmp_path, name, part, says):
    run = make()
    run.save(tmp_path / "a.safetensors")
    tensors, metadata = load_tensors(tmp_path / "a.safetensors")
    about = json.dumps({**json.loads(metadata[KEY]), name: part})
    save_tensors(tmp_path / "b.safetensors", tensors, {KEY: about})
    run.step(2)
    before, numbers = run.values.tobytes(), run.optimizer.all_group_numbers()
    with pytest.raises((FileFormatError, InputError), match=says) as caught:
        run.load(tmp_path / "b.safetensors")
    assert "b.safetensors" in str(caught.value)
    assert (run.values.tobytes(), run.steps, run.optimizer.all_group_numbers()) == (before, 2, numbers)


def test_tensors_that_do_not_fit_leave_numbers_and_limits_as_they_were(tmp_path):
    run = changed(make())
    run.save(tmp_path / "a.safetensors")
    tensors, metadata = load_tensors(tmp_path / "a.safetensors")
    del tensors["0.bias"]
    save_tensors(tmp_path / "b.safetensors", tensors, {KEY: metadata[KEY]})
    other = make()
    other.step(2)
    numbers, limits = other.optimizer.all_group_numbers(), other.problem.limits
    with pytest.raises(InputError, match=r"missing 0\.bias"):
        other.load(tmp_path / "b.safetensors")
    assert (other.optimizer.all_group_numbers(), other.problem.limits) == (numbers, limits)
    other.step(3)
    fresh = make()
    fresh.step(5)
    assert other.values.tobytes() == fresh.values.tobytes()
