"""What cannot be done to a run is refused in words that help, and changes nothing."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import scalarviz as sv
from kit.edits import trains_by
from kit.learning import OwnRule
from kit.networks import NETWORKS
from kit.refusals import refusals
from kit.runs import bits, make_run
from scalarviz import nn, optim
from scalarviz.errors import FileFormatError, InputError, ScalarvizError, StateError, TypeMismatchError
from scalarviz.optim import lr_scheduler
from scalarviz.run import Run

edits = sv.run.edits
X = np.random.default_rng(0).random((24, 3))
TWO = ((0, 1), (0, 1))
KEPT, LONE = nn.Linear(2, 1), sv.Weight(0.5)


class Needy(optim.Optimizer):
    """Has no usual learning rate."""

    def __init__(self, params: Any, lr: float) -> None:
        super().__init__(params, lr)


class Own(nn.Module):
    """No Sequential, and two weights that nobody draws."""

    def __init__(self) -> None:
        self.a = nn.Linear(3, 3, seed=1)
        self.scale, self.shift = nn.Parameter(np.full(3, 0.5)), sv.Weight(0.1)

    def forward(self, x: Any) -> Any:
        return [o * s + self.shift for o, s in zip(self.a(x), self.scale, strict=True)]


def run_of(net: Any, **more: Any) -> Run:
    return Run(net, nn.MSELoss(), optim.SGD(net.parameters(), lr=0.1), (X, 1 - X), engine="numpy", **more)


def lone() -> Run:
    """Its weight belongs to no module."""
    return Run(lambda x: [LONE * x[0]], nn.MSELoss(), optim.SGD([LONE], lr=0.1), (X[:, :1], X[:, :1]))


def sgd(**numbers: Any) -> optim.SGD:
    return optim.SGD(KEPT.parameters(), lr=0.1, **numbers)


def done(make: Any) -> Any:
    """A row of an edit: made, and done."""
    return lambda run: run.do(make())


def change(**given: Any) -> Any:
    return lambda run: run.change(**given)


EDITS = {
    "no edit": (lambda run: run.do("lr = 3"), TypeMismatchError, "edit", "str"),
    "weights behind the last": (done(lambda: edits.SetWeights(30, [1.0, 2.0])), InputError, 30, 31),
    "weights before the first": (done(lambda: edits.AddToWeights(-1, [1.0])), InputError, "start", -1),
    "a truth value as a place": (done(lambda: edits.SetFrozen(True, [True])), InputError, "start", True),
    "flags behind the last": (done(lambda: edits.SetFrozen(30, np.ones(2, bool))), InputError, 31),
    "scaled behind the last": (done(lambda: edits.ScaleWeights(((0, 3), (30, 2)), 0.5)), InputError, 31),
    "drawn behind the last": (done(lambda: edits.RedrawWeights(((30, 2),))), InputError, 31),
    "named twice": (done(lambda: edits.ScaleWeights(((0, 2), (1, 1)), 2.0)), InputError, "two"),
    "a factor that is none": (done(lambda: edits.ScaleWeights(((0, 1),), np.nan)), InputError, "factor", "nan"),
    "a factor in letters": (done(lambda: edits.ScaleWeights(((0, 1),), "2")), ScalarvizError, "factor"),
    "targets of fewer samples": (lambda run: run.set_targets(X[:5]), InputError, 24, 5),
    "targets of another shape": (lambda run: run.set_targets(np.ones((24, 2))), InputError, 3, 2),
    "samples of another shape": (lambda run: run.add_samples(np.ones((2, 4)), np.ones((2, 3))), InputError, 3, 4),
    "more inputs than targets": (lambda run: run.add_samples(np.ones((5, 3)), np.ones((3, 3))), InputError, 5, 3),
    "samples that are not finite": (lambda run: run.add_samples(np.full((1, 3), np.nan), X[:1]), InputError, "finite"),
    "samples too large": (lambda run: run.refill(np.full((2, 3), 1e300), X[:2]), InputError, "1e+300", "float32"),
    "a batch larger than the data": (change(batch_size=25), InputError, 25, 24),
    "no sampling": (change(activation="relu", sampling="no"), InputError, "epochs", "replacement"),
    "auto": (lambda run: run.adopt_engine("auto"), InputError, "auto", "numba"),
    "no engine": (lambda run: run.adopt_engine("jax"), InputError, "jax", "numpy", "numba"),
    "no such GPU": (lambda run: run.adopt_engine("cuda:99"), ScalarvizError, "cuda:99"),
    "a GPU of many digits": (lambda run: run.adopt_engine(f"cuda:{'9' * 5000}"), InputError, "engine"),
    "a rate below 0": (change(lr=-1.0), InputError, "lr", -1),
    "a rate that is none": (change(lr=np.nan), InputError, "lr", "nan"),
    "a number that is not there": (change(betas=(0.1, 0.2)), InputError, "betas"),
    "nesterov alone": (change(nesterov=True), InputError, "momentum"),
    "one good and one bad": (change(lr=0.1, momentum=-3), InputError, "momentum", -3),
    "a group that is not there": (lambda run: run.do(edits.SetOptimizer({"lr": 0.1}, 3)), InputError, 3, 1),
    "no schedule": (done(lambda: edits.SetSchedule("StepLR")), TypeMismatchError, "LRScheduler", "str"),
    "numbers of no weights": (done(lambda: edits.SetNumbers((), {"lr": 1})), TypeMismatchError, "SetNumbers"),
    "numbers of the same twice": (done(lambda: edits.SetNumbers(TWO, {"lr": 1})), InputError, "two"),
    "numbers before the first": (done(lambda: edits.SetNumbers(((-1, 1),), {"lr": 1})), InputError, "start", -1),
    "numbers of 0 weights": (done(lambda: edits.SetNumbers(((0, 0),), {"lr": 1})), InputError, "count"),
    "no numbers": (done(lambda: edits.SetNumbers(((0, 1),), {})), InputError, "number"),
    "numbers without names": (done(lambda: edits.SetNumbers(((0, 1),), 3)), TypeMismatchError, 3),
    "numbers with a wrong title": (done(lambda: edits.SetNumbers(((0, 1),), {"lr": 1}, 3)), TypeMismatchError, "said"),
    "numbers behind the last": (done(lambda: edits.SetNumbers(((0, 99),), {"lr": 1})), InputError, 98, 31),
    "a rate of some below 0": (done(lambda: edits.SetNumbers(((0, 1),), {"lr": -1})), InputError, "lr", -1),
    "no number of some": (done(lambda: edits.SetNumbers(((0, 1),), {"speed": 1})), InputError, "speed"),
    "numbers of another's weight": (lambda run: run.set_numbers(sv.Weight(1.0), lr=0.1), InputError, "weights"),
    "numbers of a name": (lambda run: run.set_numbers("0.weight", lr=0.1), ScalarvizError, "weights"),
    "no limit of 0": (change(clip_norm=0), InputError, "clip_norm", 0),
    "a limit below 0": (change(clip_value=-1), InputError, "clip_value", -1),
    "a penalty in letters": (change(l1="1"), ScalarvizError, "l1"),
    "a penalty that is none": (change(l2=float("inf")), InputError, "l2", "inf"),
    "no penalty at all": (change(l1=None), ScalarvizError, "l1"),
    "together nothing": (done(lambda: edits.Together(())), TypeMismatchError, "Together"),
    "together a batch": (done(lambda: edits.Together((edits.SetBatchSize(3),))), TypeMismatchError, "SetBatchSize"),
    "together the same twice": (
        done(lambda: edits.Together((edits.SetWeights(0, [1.0, 2.0]), edits.SetWeights(1, [1.0])))), InputError, "two"),
    "together one that does not fit": (
        done(lambda: edits.Together((edits.SetWeights(0, [9.0]), edits.SetFrozen(30, [True, True])))), InputError, 31),
    "several of none": (done(lambda: edits.Several(())), InputError, "one"),
    "several that are none": (done(lambda: edits.Several((edits.SetBatchSize(1), 3))), TypeMismatchError, "edits"),
    "several in several": (
        done(lambda: edits.Several((edits.Several((edits.SetBatchSize(1),)),))), InputError, "Several"),
    "a function in several": (done(lambda: edits.Several((edits.Call(print),))), InputError, "function"),
    "two changes in several": (
        done(lambda: edits.Several((edits.Change(activation="relu"), edits.Change(loss="L1Loss")))), InputError, "one"),
    "several that do not fit": (
        done(lambda: edits.Several((edits.SetWeights(0, [1.0]), edits.Refill(X[:9], X[:9]), edits.SetBatchSize(10)))),
        InputError, 10, 9),
    "several with weights of before": (
        done(lambda: edits.Several((edits.Change(model=NETWORKS["rgb"].ours()), edits.SetFrozen(20, [True])))),
        InputError, 20, 12),
    "no function": (done(lambda: edits.Call(3)), TypeMismatchError, "function"),
    "no change": (done(edits.Change), InputError, "change(activation="),
    "no activation": (change(activation="sinus"), InputError, "sinus", "tanh", "relu"),
    "a number as an activation": (change(activation=3), TypeMismatchError, 3, "tanh"),
    "a layer as an activation": (change(activation=nn.Linear(3, 3)), TypeMismatchError, "tanh"),
    "no loss": (change(loss="squares"), InputError, "squares", "MSELoss"),
    "a module as a loss": (change(loss=nn.Module), TypeMismatchError, "MSELoss"),
    "a loss of classes": (change(loss="NLLLoss"), ScalarvizError, "NLLLoss", "target"),
    "a loss that is no number": (change(loss=lambda o, t: o), InputError, "loss"),
    "no optimiser": (change(optimizer="Adadelta"), InputError, "Adadelta", "SGD", "Adam", "RMSprop"),
    "a class as an optimiser": (change(optimizer=int), TypeMismatchError, "SGD"),
    "an optimiser that needs numbers": (change(optimizer=Needy), InputError, "numbers", "lr="),
    "a number of the other optimiser": (change(optimizer="Adam", momentum=0.5), ScalarvizError, "momentum"),
    "a bad rate of an optimiser": (change(optimizer="Adam", lr=-1), InputError, "lr", -1),
    "an optimiser of other weights": (
        lambda run: run.change(optimizer=optim.SGD([sv.Weight(1.0)], lr=0.1)), InputError, "trained"),
    "a network without weights that are trained": (
        lambda run: run.change(model=lambda x: [LONE * x[0], x[1], x[2]]), InputError, "trained"),
    "no network": (change(model=3), TypeMismatchError, "model", "int"),
    "a class as a network": (change(model=nn.Linear), TypeMismatchError, "model"),
    "a network of other inputs": (change(model=nn.Linear(4, 3)), InputError, 4, 3),
    "a network of other outputs": (change(model=nn.Linear(3, 4)), InputError, 4),
    "a change and a large batch": (change(activation="relu", batch_size=41), InputError, 41, 24),
    "a change and no number": (change(activation="relu", momentum=-1), InputError, "momentum"),
    "a change and no engine": (change(activation="relu", engine="gpu"), InputError, "gpu"),
    "a change and an unknown number": (change(activation="relu", beta=2), InputError, "beta"),
    "back before the first": (lambda run: run.back(6), InputError, 6, 2, 0),
    "back by less than nothing": (lambda run: run.back(-1), InputError, -1),
    "back by half a step": (lambda run: run.back(1.5), InputError, 1.5),
    "to a step that was not done": (lambda run: run.to(3), InputError, 3, "0 to 2"),
    "to a step in letters": (lambda run: run.to("3"), InputError, "step"),
    "to no branch": (lambda run: run.to(2, 7), InputError, 7),
    "to a branch in letters": (lambda run: run.to(2, "main"), TypeMismatchError, "branch", "str"),
    "to a step with no function": (lambda run: run.to(2, progress=True), TypeMismatchError, "progress"),
    "no branch": (lambda run: run.switch(3), InputError, 3),
    "a name that is none": (lambda run: run.name(3), TypeMismatchError, "label"),
    "a name of no step": (lambda run: run.name("x", 9), InputError, 9, "0 to 2"),
    "a budget below nothing": (lambda run: setattr(run.timeline, "budget", -1), InputError, "budget", -1),
    "a budget in letters": (lambda run: setattr(run.timeline, "budget", "much"), InputError, "budget"),
    "nothing to undo": (lambda run: run.undo(), StateError, "undo"),
    "nothing to redo": (lambda run: run.redo(), StateError, "redo"),
    "a seed below 0": (lambda run: run.restart(seed=-1), InputError, "seed", -1),
    "a seed of a half": (lambda run: run.restart(seed=1.5), InputError, "seed"),
    "a seed too large": (lambda run: run.restart(seed=2**64), InputError, "seed"),
    "a state of another run": (lambda run: run.take(make_run("rgb").state()), InputError, "another run"),
    "no state": (lambda run: run.take({"weights": 3}), TypeMismatchError, "state()"),
    "a step by hand": (lambda run: run.optimizer.step(), StateError, "run.step"),
    "an optimiser's state by hand": (
        lambda run: run.optimizer.load_state_dict(run.optimizer.state_dict()), StateError, "load_state_dict"),
    "steps by hand": (lambda run: setattr(run.optimizer, "steps", 3), StateError, "steps"),
    "too many steps": (lambda run: run.restore(run.state_dict(), {}, 2**63), InputError, "steps"),
    "an unknown number of a group": (lambda run: run.optimizer.param_groups[0]["speed"], ScalarvizError, "speed"),
    "a bad number of a group": (
        lambda run: run.optimizer.param_groups[0].__setitem__("lr", "a"), ScalarvizError, "lr"),
    "other weights of a group": (lambda run: run.optimizer.param_groups[0].__setitem__("params", []), ScalarvizError),
    "no number of a group": (lambda run: run.optimizer.param_groups[0].__delitem__("lr"), ScalarvizError),
}  # fmt: skip


@refusals(EDITS)
def test_what_does_not_fit_is_refused_and_changes_nothing(refusal):
    run, plain = (make_run("mlp", optimizer="sgd", dtype="float32") for _ in range(2))
    run.step(2)
    before, activation = (bits(run), trains_by(run)), run.model[1]
    refusal.check(run)
    assert (bits(run), trains_by(run)) == before
    assert run.model[1] is activation
    assert (run.log, len(run.branches)) == ([], 1)
    run.step(2)
    plain.step(4)
    assert run.values.tobytes() == plain.values.tobytes()


OTHERS = {
    "an activation of no Sequential": (
        lambda: run_of(Own()).change(activation="relu"), InputError, "Sequential", "model="),
    "no activation before a layer": (
        lambda: run_of(NETWORKS["rgb"].ours()).change(activation="relu"), InputError, "no activation", "model="),
    "drawn anew, made by hand": (lambda: run_of(Own()).restart(seed=1), InputError, "scale", "shift"),
    "redrawn, made by hand": (lambda: lone().do(edits.RedrawWeights(((0, 1),))), InputError, "w", "module"),
    "a network, and in which group": (
        lambda: make_run("mlp", optimizer="groups").change(model=NETWORKS["rgb"].ours()), ScalarvizError, "optimizer="),
    "a batch of one to a batch norm": (
        lambda: make_run("batch norm").change(batch_size=1), InputError, "batch of 1", "eval()"),
    "a run with a batch of one": (lambda: make_run("batch norm", batch_size=1), InputError, "batch of 1"),
    "a class that is not there": (
        lambda: make_run("classes", "cross-entropy").add_samples(X[:1], [3]), InputError, 3, "sample 0"),
    "half a class": (lambda: make_run("classes", "cross-entropy").add_samples(X[:1], [0.5]), InputError, "whole", 0.5),
    "a picture cut off": (
        lambda: make_run("picture", "cross-entropy").add_samples(np.ones((5, 1, 6, 5)), [0] * 5), InputError, 36, 6, 5),
    "weights that are not trained": (
        lambda: Run((net := NETWORKS["rgb"].ours()), nn.MSELoss(), optim.SGD([net[0].bias]), (X, X)).set_numbers(
            net[0].weight, lr=0.1), InputError, "trained"),
    "penalties of a new run": (lambda: make_run("rgb", l1=-1), InputError, "l1", -1),
    "clipping of a new run": (lambda: make_run("rgb", clip_norm=0), InputError, "clip_norm", 0),
    "a cycle of no momentum": (
        lambda: lr_scheduler.OneCycleLR(optim.Adagrad(KEPT.parameters()), 0.1, 10), InputError, "momentum", "betas"),
    "a cycle in a row": (
        lambda: lr_scheduler.SequentialLR(o := sgd(), [
            lr_scheduler.OneCycleLR(o, 0.1, 10), lr_scheduler.StepLR(o, 3)], [4]), InputError, "cycle_momentum=False"),
    "a group of no parameters": (lambda: optim.SGD([{"lr": 0.1}]), ScalarvizError, "params"),
    "an empty group": (lambda: optim.SGD([{"params": []}]), ScalarvizError, "parameters"),
    "a group of a number": (lambda: optim.SGD([{"params": 3}]), ScalarvizError, "group 0"),
    "a group of a text": (lambda: optim.SGD([{"params": ["a"]}]), ScalarvizError, "group 0"),
    "a group of a bad rate": (lambda: optim.SGD([{"params": [LONE], "lr": -1}]), ScalarvizError, "lr", -1),
    "a group of no number": (lambda: optim.SGD([{"params": [LONE], "speed": 1}]), ScalarvizError, "speed"),
    "a weight in two groups": (lambda: optim.SGD([{"params": [LONE]}] * 2), ScalarvizError, "group 0", "group 1"),
    "half groups": (lambda: optim.SGD([{"params": [LONE]}, "more"]), ScalarvizError, "groups"),
    "a group without a name": (lambda: optim.SGD([{"params": [LONE], 3: 1}]), ScalarvizError, "params"),
    "nesterov alone in a group": (lambda: optim.SGD([{"params": LONE, "nesterov": True}]), ScalarvizError, "momentum"),
    "a first rate below 0": (
        lambda: sgd().param_groups[0].__setitem__("initial_lr", -1), InputError, "initial_lr"),
    "a closed run": (lambda: (run := make_run("rgb"), run.close(), run.change(loss="L1Loss")), StateError, "closed"),
    "a closed run's way": (lambda: (run := make_run("rgb"), run.close(), run.restart()), StateError, "closed"),
    "a closed run's state": (
        lambda: (run := make_run("rgb"), state := run.state(), run.close(), run.take(state)), StateError, "closed"),
    "an infinite number as text": (
        lambda: edits.write_edit(edits.SetOptimizer({"lr": float("inf")})), InputError, "finite"),
}  # fmt: skip


@refusals(OTHERS)
def test_what_does_not_fit_other_runs_is_refused(refusal):
    refusal.check()


@pytest.mark.ci
def test_there_are_at_most_so_many_groups():
    net = nn.Linear(10, 10, seed=1)
    run = Run(net, nn.MSELoss(), optim.SGD(net.parameters(), lr=0.1), (np.eye(10), np.eye(10)), engine="numpy")
    for index in range(63):
        run.do(edits.SetNumbers(((index, 1),), {"lr": 0.2}))
    with pytest.raises(InputError, match="64"):
        run.do(edits.SetNumbers(((99, 1),), {"lr": 0.2}))
    run.step(1)


@pytest.mark.parametrize("wrong", [[], [{}], [{}, {"lr": -1}], [{}, 3], "ab"])
def test_a_state_dict_with_other_groups_is_refused(wrong):
    net = NETWORKS["mlp"].ours()
    optimizer = optim.SGD([{"params": list(net[k].parameters())} for k in (0, 2)], lr=0.5)
    with pytest.raises(ScalarvizError):
        optimizer.load_state_dict(optimizer.state_dict() | {"param_groups": wrong})
    assert optimizer.lr == 0.5


@pytest.mark.parametrize(("kind", "numbers", "fact"), [
    ("RMSprop", {"alpha": -0.1}, "alpha"), ("RMSprop", {"eps": -1}, "eps"),
    ("RMSprop", {"momentum": float("nan")}, "momentum"), ("RMSprop", {"centered": "yes"}, "centered"),
    ("RMSprop", {"weight_decay": None}, "weight_decay"), ("Adagrad", {"lr_decay": -1}, "lr_decay"),
    ("Adagrad", {"initial_accumulator_value": -1}, "initial_accumulator_value"), ("Adagrad", {"eps": "0"}, "eps"),
    ("Adagrad", {"maximize": 3}, "maximize"), ("SGD", {"dampening": float("inf")}, "dampening"),
    ("SGD", {"momentum": 0.5, "dampening": 0.5, "nesterov": True}, "dampening"), ("SGD", {"maximize": "a"}, "maximize"),
    ("Adam", {"amsgrad": 2}, "amsgrad"), ("AdamW", {"maximize": None}, "maximize"),
])  # fmt: skip
def test_numbers_out_of_their_range_are_refused(kind, numbers, fact):
    with pytest.raises(ScalarvizError, match=fact):
        getattr(optim, kind)(nn.Linear(2, 1).parameters(), **numbers)


# ---- texts


def written(kind: str, **parts: Any) -> str:
    return json.dumps({"edit": kind, **parts})


def packed(dtype: str = "float32", shape: Any = (1,), base64: str = "AAAAPw==") -> dict[str, Any]:
    return {"dtype": dtype, "shape": list(shape), "base64": base64}


TEXTS = [
    "", "{", "[]", "3", "null", "[" * 100_000, written(3), written("Edit"), written("Nothing"),  # type: ignore[arg-type]
    written("SetBatchSize"), written("SetBatchSize", batch_size="3"), written("SetBatchSize", batch_size=3, more=1),
    written("SetBatchSize", batch_size=0), written("SetBatchSize", batch_size=True),
    written("SetWeights", start=0, numbers=[1.0, [2.0]]), written("SetWeights", start=0, numbers={"dtype": "float32"}),
    *(written("SetWeights", start=0, numbers=packed(**wrong)) for wrong in (
        {"shape": [2]}, {"shape": [-1]}, {"base64": "!!!"}, {"dtype": "object"})),
    written("SetWeights", start=-1, numbers=packed()), written("SetEngine", engine="gpu"),
    written("SetWeights", start=0, numbers=packed()).replace(": 0", ": 1e400"),
    written("SetEngine", engine="numba", why=3), *(written("SetOptimizer", numbers=wrong) for wrong in (3, [])),
    *(written("Together", edits=wrong) for wrong in (
        [], [3], {"edit": 3}, [{"edit": "SetBatchSize", "batch_size": 3}], [{"edit": "Nothing"}])),
    written("ScaleWeights", spans=[[0]], factor=2), written("ScaleWeights", spans=[[0, 1]], factor="2"),
    written("ScaleWeights", spans=3, factor=2), *(written("RedrawWeights", spans=s) for s in ([], [[0, 0]], [[-1, 2]])),
    written("Call", function={"function": "os.system"}),
]  # fmt: skip


@pytest.mark.parametrize("text", TEXTS, ids=range(len(TEXTS)))
def test_text_that_is_no_edit_is_refused(text):
    with pytest.raises(ScalarvizError):
        edits.read_edit(text)


@pytest.mark.parametrize("edit", [
    edits.Call(run_of, "look"), edits.Change(model=NETWORKS["rgb"].ours()), edits.Change(loss=nn.MSELoss()),
    edits.Change(optimizer=sgd()), edits.Change(optimizer=OwnRule),
])  # fmt: skip
def test_what_holds_an_object_is_written_by_name_and_not_read_back(edit):
    text = edits.write_edit(edit)
    with pytest.raises(FileFormatError, match="cannot be read back"):
        edits.read_edit(text)
