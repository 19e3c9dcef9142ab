"""What cannot be done to a run is refused in words that help, and changes nothing."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import scalarviz as sv
from kit.edits import everything
from kit.learning import OwnRule
from kit.networks import NETWORKS
from kit.refusals import refusals
from kit.runs import make_run
from scalarviz import nn, optim
from scalarviz.errors import FileFormatError, InputError, ScalarvizError, StateError, TypeMismatchError
from scalarviz.run import Run

edits, lr = sv.run.edits, optim.lr_scheduler
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


def biased() -> Run:
    """Only its bias is trained."""
    return Run(KEPT, nn.MSELoss(), optim.SGD([KEPT.bias], lr=0.1), (X[:, :2], X[:, :1]), engine="numpy")


def sgd(**numbers: Any) -> optim.SGD:
    return optim.SGD(KEPT.parameters(), lr=0.1, **numbers)


V, T, ANY = InputError, TypeMismatchError, ScalarvizError
EDITS = {
    "it.do('lr = 3')": (T, "edit", "str"), "it.do(edits.SetWeights(30, [1.0, 2.0]))": (V, 30, 31),
    "it.do(edits.AddToWeights(-1, [1.0]))": (V, "start", -1),
    "it.do(edits.SetFrozen(30, np.ones(2, bool)))": (V, 31), "it.do(edits.RedrawWeights(((30, 2),)))": (V, 31),
    "it.do(edits.ScaleWeights(((0, 3), (30, 2)), 0.5))": (V, 31),
    "it.do(edits.ScaleWeights(((0, 2), (1, 1)), 2.0))": (V, "two"),
    "it.do(edits.ScaleWeights(((0, 1),), np.nan))": (V, "factor", "nan"), "it.set_targets(X[:5])": (V, 24, 5),
    "it.add_samples(np.ones((2, 4)), np.ones((2, 3)))": (V, 3, 4),
    "it.add_samples(np.full((1, 3), np.nan), X[:1])": (V, "finite"),
    "it.refill(np.full((2, 3), 1e+300), X[:2])": (V, "1e+300", "float32"),
    "it.change(batch_size=25)": (V, 25, 24),
    "it.change(activation='relu', sampling='no')": (V, "epochs", "replacement"),
    "it.change(engine='auto')": (V, "auto", "numba"), "it.change(engine='jax')": (V, "jax", "numpy", "numba"),
    "it.change(engine='cuda:99')": (ANY, "cuda:99"), "it.change(lr=np.nan)": (V, "lr", "nan"),
    "it.change(betas=(0.1, 0.2))": (V, "betas"), "it.change(nesterov=True)": (V, "momentum"),
    "it.change(lr=0.1, momentum=-3)": (V, "momentum", -3),
    "it.do(edits.SetOptimizer({'lr': 0.1}, 3))": (V, 3, 0),
    "it.do(edits.SetSchedule('StepLR'))": (T, "LRScheduler", "str"),
    "it.do(edits.SetNumbers((), {'lr': 1}))": (T, "SetNumbers"),
    "it.do(edits.SetNumbers(TWO, {'lr': 1}))": (V, "two"),
    "it.do(edits.SetNumbers(((0, 0),), {'lr': 1}))": (V, "count"),
    "it.do(edits.SetNumbers(((0, 1),), {}))": (V, "number"), "it.do(edits.SetNumbers(((0, 1),), 3))": (T, 3),
    "it.do(edits.SetNumbers(((0, 99),), {'lr': 1}))": (V, 98, 30),
    "it.do(edits.SetNumbers(((0, 1),), {'speed': 1}))": (V, "speed"),
    "it.set_numbers(sv.Weight(1.0), lr=0.1)": (V, "weights"), "it.change(clip_norm=0)": (V, "clip_norm", 0),
    "it.change(clip_value=-1)": (V, "clip_value", -1), "it.change(l2=float('inf'))": (V, "l2", "inf"),
    "it.do(edits.Together(()))": (T, "Together"),
    "it.do(edits.Together((edits.SetBatchSize(3),)))": (T, "SetBatchSize"),
    "it.do(edits.Together((edits.SetWeights(0, [1.0, 2.0]), edits.SetWeights(1, [1.0]))))": (V, "two"),
    "it.do(edits.Together((edits.SetWeights(0, [9.0]), edits.SetFrozen(30, [True, True]))))": (V, 31),
    "it.do(edits.Several(()))": (V, "one"), "it.do(edits.Several((edits.SetBatchSize(1), 3)))": (T, "edits"),
    "it.do(edits.Several((edits.Several((edits.SetBatchSize(1),)),)))": (V, "Several"),
    "it.do(edits.Several((edits.Call(print),)))": (V, "Call"),
    "it.do(edits.Several((edits.Change(activation='relu'), edits.Change(loss='L1Loss'))))": (V, "one"),
    "it.do(edits.Several((edits.SetWeights(0, [1.0]), edits.Refill(X[:9], X[:9]), edits.SetBatchSize(10))))":
     (V, 10, 9),
    "it.do(edits.Several((edits.Change(model=NETWORKS['rgb'].ours()), edits.SetFrozen(20, [True]))))":
     (V, 20, 11),
    "it.do(edits.Call(3))": (T, "function"), "it.do(edits.Change())": (V, "change(activation="),
    "it.change(activation='sinus')": (V, "sinus", "tanh", "relu"), "it.change(activation=3)": (T, 3, "tanh"),
    "it.change(loss='squares')": (V, "squares", "MSELoss"), "it.change(loss=nn.Module)": (T, "MSELoss"),
    "it.change(loss='NLLLoss')": (ANY, "NLLLoss", "target"), "it.change(loss=lambda o, t: o)": (V, "loss"),
    "it.change(optimizer='LBFGS')": (V, "LBFGS", "SGD", "Adam", "RMSprop"),
    "it.change(optimizer=int)": (T, "SGD"), "it.change(optimizer=Needy)": (V, "arguments", "lr="),
    "it.change(optimizer='Adam', momentum=0.5)": (ANY, "momentum"),
    "it.change(optimizer='Adam', lr=-1)": (V, "lr", -1),
    "it.change(optimizer=optim.SGD([sv.Weight(1.0)], lr=0.1))": (V, "trained"),
    "it.change(model=lambda x: [LONE * x[0], x[1], x[2]])": (V, "trained"),
    "it.change(model=3)": (T, "model", "int"), "it.change(model=nn.Linear)": (T, "model"),
    "it.change(model=nn.Linear(4, 3))": (V, 4, 3), "it.change(model=nn.Linear(3, 4))": (V, 4),
    "it.change(activation='relu', batch_size=41)": (V, 41, 24),
    "it.change(activation='relu', engine='gpu')": (V, "gpu"), "it.back(6)": (V, 6, 2, 0),
    "it.back(1.5)": (V, 1.5), "it.to(3)": (V, 3, "0 to 2"), "it.to('3')": (V, "step"), "it.to(2, 7)": (V, 7),
    "it.to(2, 'main')": (T, "branch", "str"), "it.to(2, progress=True)": (T, "progress"),
    "it.switch(3)": (V, 3), "it.name(3)": (T, "label"), "it.name('x', 9)": (V, 9, "0 to 2"),
    "setattr(it.timeline, 'budget', -1)": (V, "budget", -1), "it.undo()": (StateError, "undo"),
    "it.redo()": (StateError, "redo"), "it.restart(seed=2 ** 64)": (V, "seed"),
    "it.take(make_run('rgb').state())": (V, "another run"), "it.take({'weights': 3})": (T, "state()"),
    "it.optimizer.step()": (StateError, "run.step"),
    "it.optimizer.load_state_dict(it.optimizer.state_dict())": (StateError, "load_state_dict"),
    "setattr(it.optimizer, 'steps', 3)": (StateError, "steps"),
    "it.optimizer.param_groups[0]['speed']": (ANY, "speed"),
    "it.optimizer.param_groups[0].__setitem__('lr', 'a')": (ANY, "lr"),
    "it.optimizer.param_groups[0].__setitem__('params', [])": (ANY,),
    "it.optimizer.param_groups[0].__delitem__('lr')": (ANY,),
}  # fmt: skip


@refusals(EDITS, globals())
def test_what_does_not_fit_is_refused_and_changes_nothing(refusal):
    run, plain = (make_run("mlp", optimizer="sgd", dtype="float32") for _ in range(2))
    run.step(2)
    before, activation = everything(run), run.model[1]
    refusal.check(run)
    assert everything(run) == before
    assert run.model[1] is activation
    assert (run.log, len(run.branches)) == ([], 1)
    run.step(2)
    plain.step(4)
    assert run.values.tobytes() == plain.values.tobytes()


OTHERS = {
    "run_of(Own()).change(activation='relu')": (V, "Sequential", "model="),
    "run_of(NETWORKS['rgb'].ours()).change(activation='relu')": (V, "no hidden activation", "model="),
    "run_of(Own()).restart(seed=1)": (V, "scale", "shift"),
    "lone().do(edits.RedrawWeights(((0, 1),)))": (V, "parameter 0", "module"),
    "make_run('mlp', optimizer='groups').change(model=NETWORKS['rgb'].ours())": (ANY, "optimizer="),
    "make_run('batch norm').change(batch_size=1)": (V, "batch of 1", "eval()"),
    "make_run('classes', 'cross-entropy').add_samples(X[:1], [3])": (V, 3, "sample 0"),
    "make_run('picture', 'cross-entropy').add_samples(np.ones((5, 1, 6, 5)), [0] * 5)": (V, 36, 6, 5),
    "biased().set_numbers(KEPT.weight, lr=0.1)": (V, "trained"), "make_run('rgb', l1=-1)": (V, "l1", -1),
    "make_run('rgb', clip_norm=0)": (V, "clip_norm", 0),
    "lr.OneCycleLR(optim.Adagrad(KEPT.parameters()), 0.1, 10)": (V, "momentum", "betas"),
    "lr.SequentialLR(o := sgd(), [lr.OneCycleLR(o, 0.1, 10), lr.StepLR(o, 3)], [4])":
     (V, "cycle_momentum=False"),
    "optim.SGD([{'lr': 0.1}])": (ANY, "params"), "optim.SGD([{'params': []}])": (ANY, "parameters"),
    "optim.SGD([{'params': 3}])": (ANY, "group 0"), "optim.SGD([{'params': ['a']}])": (ANY, "group 0"),
    "optim.SGD([{'params': [LONE], 'speed': 1}])": (ANY, "speed"),
    "optim.SGD([{'params': [LONE]}] * 2)": (ANY, "groups 0 and 1"),
    "optim.SGD([{'params': LONE, 'nesterov': True}])": (ANY, "momentum"),
    "sgd().param_groups[0].__setitem__('initial_lr', -1)": (V, "initial_lr"),
    "((run := make_run('rgb')), run.close(), run.change(loss='L1Loss'))": (StateError, "closed"),
    "((run := make_run('rgb')), run.close(), run.restart())": (StateError, "closed"),
    "((run := make_run('rgb')), (state := run.state()), run.close(), run.take(state))":
     (StateError, "closed"),
    "edits.write_edit(edits.SetOptimizer({'lr': float('inf')}))": (V, "finite"),
    "optim.SGD([LONE], momentum=0.5, dampening=0.5, nesterov=True)": (ANY, "dampening"),
}  # fmt: skip


@refusals(OTHERS, globals())
def test_what_does_not_fit_other_runs_is_refused(refusal):
    refusal.check()


@pytest.mark.parametrize("wrong", [[], [{}, {"lr": -1}], [{}, 3], "ab"])
def test_a_state_dict_with_other_groups_is_refused(wrong):
    net = NETWORKS["mlp"].ours()
    optimizer = optim.SGD([{"params": list(net[k].parameters())} for k in (0, 2)], lr=0.5)
    with pytest.raises(ScalarvizError):
        optimizer.load_state_dict(optimizer.state_dict() | {"param_groups": wrong})
    assert optimizer.lr == 0.5


def packed(dtype: str = "float32", shape: Any = (1,), base64: str = "AAAAPw==") -> dict[str, Any]:
    return {"dtype": dtype, "shape": list(shape), "base64": base64}


BATCH = {"edit": "SetBatchSize", "batch_size": 3}
NUMBERS = (
    [1.0, [2.0]],
    {"dtype": "float32"},
    packed(shape=[2]),
    packed(shape=[-1]),
    packed(base64="!"),
    packed("object"),
)
WRONG = {
    "SetBatchSize": [{}, {"batch_size": "3"}, {"batch_size": 3, "more": 1}, {"batch_size": 0}],
    "SetWeights": [{"start": 0, "numbers": numbers} for numbers in NUMBERS],
    "SetEngine": [{"engine": "gpu"}], "SetOptimizer": [{"numbers": 3}],
    "Together": [{"edits": wrong} for wrong in ([], [3], {"edit": 3}, [BATCH])],
    "ScaleWeights": [{"spans": [[0]], "factor": 2}, {"spans": 3, "factor": 2}],
    "Call": [{"function": {"function": "os.system"}}], "Edit": [{}], "Nothing": [{}],
}  # fmt: skip
TEXTS = ["", "{", "[]", "3", "null", "[" * 100_000, '{"edit": 3}']
TEXTS += [json.dumps({"edit": kind, **parts}) for kind, wrong in WRONG.items() for parts in wrong]
TEXTS += [json.dumps({"edit": "SetWeights", "start": 0, "numbers": packed()}).replace(": 0", ": 1e400")]


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
    with pytest.raises(FileFormatError, match="which a file cannot hold"):
        edits.read_edit(text)
