"""Parameter groups: PyTorch's steps, by hand and in a Run on every engine; their numbers are edits of the run."""

from __future__ import annotations

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import Weight, nn, optim
from scalarviz.optim import lr_scheduler

ENGINES = ["objects", "numpy", "numba"]
X = np.random.default_rng(0).random((6, 3))


def decay(count):
    return 0.9**count


def slower(count):
    return 1 / (1 + count)


KINDS = {
    "sgd": ("SGD", {"lr": 0.3}, [{"weight_decay": 0.1}, {"lr": 0.05, "momentum": 0.8, "nesterov": True}]),
    "momentum": ("SGD", {"lr": 0.3, "momentum": 0.9}, [{}, {"lr": 0.1}]),
    "adam": ("Adam", {"lr": 0.02}, [{"lr": 0.05, "betas": (0.5, 0.6)}, {"weight_decay": 0.1, "eps": 1e-4}]),
    "amsgrad": ("AdamW", {"lr": 0.02}, [{"amsgrad": True}, {"weight_decay": 0.0, "maximize": True}]),
    "rmsprop": ("RMSprop", {"lr": 0.02}, [{"centered": True}, {"momentum": 0.5, "lr": 0.01}]),
    "three": ("Adagrad", {"lr": 0.1}, [{"lr": 0.3}, {"lr_decay": 0.1}, {"lr": 0.05, "eps": 1e-3}]),
}
SCHEDULES = {
    "none": lambda module, o: None,
    "cosine": lambda module, o: module.CosineAnnealingLR(o, T_max=15, eta_min=0.01),
    "lambda": lambda module, o: module.LambdaLR(o, [decay, *[slower] * (len(o.param_groups) - 1)]),
}  # fmt: skip


def network():
    return nn.Sequential(nn.Linear(3, 4, seed=1), nn.Tanh(), nn.Linear(4, 2, seed=2))


def parts(net, count):
    return [list(net[0].parameters()), list(net[2].parameters())] if count == 2 else [
        [net[0].weight], [net[0].bias, net[2].bias], [net[2].weight]
    ]  # fmt: skip


def optimizer(kind, net, module=optim):
    name, numbers, groups = KINDS[kind]
    given = [{"params": own, **group} for own, group in zip(parts(net, len(groups)), groups, strict=True)]
    return getattr(module, name)(given, **numbers)


def make(kind, engine="numpy", dtype="float64", schedule="none", **more):
    net = network()
    opt = optimizer(kind, net)
    SCHEDULES[schedule](lr_scheduler, opt)
    return sv.Run(net, nn.MSELoss(), opt, (X, X[:, :2]), engine=engine, dtype=dtype, **more)


def theirs(torch, run, kind):
    net = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 2)).double()
    net.load_state_dict({name: torch.tensor(array) for name, array in run.state_dict().items()})
    return net, optimizer(kind, net, torch.optim)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("engine", "schedule"), [("numpy", "none"), ("numpy", "cosine"), ("numpy", "lambda"), ("numba", "cosine"),
                             ("objects", "lambda")],
)  # fmt: skip
def test_every_step_is_pytorchs(engine, kind, schedule):
    torch = pytest.importorskip("torch", reason="no PyTorch (extra oracle)")
    run = make(kind, engine, schedule=schedule, clip_norm=0.05 if kind == "adam" else None)
    net, opt = theirs(torch, run, kind)
    stepped = SCHEDULES[schedule](torch.optim.lr_scheduler, opt)
    x = torch.tensor(X)
    for _ in range(22):
        opt.zero_grad()
        torch.nn.functional.mse_loss(net(x), x[:, :2]).backward()
        if kind == "adam":
            torch.nn.utils.clip_grad_norm_(net.parameters(), 0.05)
        opt.step()
        if stepped is not None:
            stepped.step()
    run.step(5), run.step(17)
    for name, array in run.state_dict().items():
        np.testing.assert_allclose(array, net.state_dict()[name].numpy(), rtol=1e-10, atol=1e-11)
    found = [group["lr"] for group in run.optimizer.param_groups]
    np.testing.assert_allclose(found, [group["lr"] for group in opt.param_groups], rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_a_loop_by_hand_is_the_run(kind):
    run, net, lossf = make(kind, schedule="cosine"), network(), nn.MSELoss()
    opt = optimizer(kind, net)
    schedule = lr_scheduler.CosineAnnealingLR(opt, T_max=15, eta_min=0.01)
    for _ in range(20):
        opt.zero_grad()
        for x in X:
            (lossf(net(x), x[:2]) * (1 / len(X))).backward()
        opt.step()
        schedule.step()
    run.step(20)
    for name, array in run.state_dict().items():
        np.testing.assert_allclose(array, net.state_dict()[name], rtol=1e-9, atol=1e-11)
    assert schedule.get_last_lr() == [group["lr"] for group in run.optimizer.param_groups]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("kind", KINDS)
def test_the_way_back_has_the_same_bits_and_an_opened_step_says_what_is_done(engine, kind):
    run = make(kind, engine, "float64", "cosine", l2=0.01)
    run.step(10)
    opened = run.open()
    run.step(1)
    np.testing.assert_allclose(opened.new_values, run.values, rtol=1e-10, atol=1e-12)
    for index in range(run.n_weights):
        np.testing.assert_allclose(opened.update(index).after, run.values[index], rtol=1e-10, atol=1e-12)
    run.step(9)
    bits = run.values.tobytes()
    run.to(3), run.to(20)
    assert run.values.tobytes() == bits
    run.back(12), run.step(12)
    assert run.values.tobytes() == bits


def test_numbers_of_a_group_are_edits():
    run = make("sgd", "numba", "float32")
    groups = run.optimizer.param_groups
    run.step(3)
    groups[1]["lr"] = 0.2
    assert run.log[-1].what == "group 1: lr = 0.2"
    groups[0]["momentum"] = 0.5
    groups[1]["weight_decay"] = 0.3
    run.step(3)
    assert [group["lr"] for group in groups] == [0.3, 0.2]
    assert [group["weight_decay"] for group in groups] == [0.1, 0.3]
    bits = run.values.tobytes()
    run.to(1)
    assert (groups[1]["lr"], groups[0]["momentum"], groups[1]["weight_decay"]) == (0.05, 0.0, 0.0)
    run.to(6)
    assert run.values.tobytes() == bits
    run.undo()
    assert groups[1]["weight_decay"] == 0.0
    run.lr = 0.6  # the others are scaled as the first
    np.testing.assert_allclose([group["lr"] for group in groups], [0.6, 0.4])
    run.change(momentum=0.7)
    assert [group["momentum"] for group in groups] == [0.7, 0.7]
    run.change(loss="L1Loss", weight_decay=0.2)
    assert [group["weight_decay"] for group in groups] == [0.2, 0.2]
    run.step(2)
    bits = run.values.tobytes()
    run.to(0), run.to(run.span[1])
    assert run.values.tobytes() == bits
    with pytest.raises(sv.ScalarvizError, match="give optimizer="):
        run.change(model=nn.Sequential(nn.Linear(3, 5), nn.Tanh(), nn.Linear(5, 2)))
    run.change(optimizer="Adam", lr=0.01)
    run.step(2)
    assert len(run.optimizer.param_groups) == 1
    run.to(3)
    assert len(run.optimizer.param_groups) == 2
    run.restart()
    run.step(2)


def test_groups_as_pytorch_says_them():
    net = network()
    opt = optimizer("adam", net)
    first, second = opt.param_groups
    assert [p.shape for p in first["params"]] == [(4, 3), (4,)]
    assert dict(second)["weight_decay"] == 0.1
    assert first["betas"] == (0.5, 0.6)
    for group in opt.param_groups:
        group["lr"] *= 0.5
    assert [group["lr"] for group in opt.param_groups] == [0.025, 0.01]
    assert opt.lr == 0.025
    one = optim.SGD(net.parameters(), lr=0.1)
    one.param_groups[0]["lr"] = 0.2
    assert one.lr == 0.2
    w, v = Weight(1.0), Weight(2.0)
    lone = optim.SGD([{"params": w, "lr": 1.0}, {"params": [v]}], lr=0.5)
    w.grad, v.grad = 1.0, 1.0
    lone.step()
    assert (w.data, v.data) == (0.0, 1.5)
    mixed = net[0].weight
    halves = optim.SGD([{"params": mixed[0]}, {"params": [mixed[1][0]], "lr": 3.0}], lr=1.0)
    assert halves.numel() == 4
    assert sorted(halves.group_of.tolist()) == [0, 0, 0, 1]


def test_a_state_dict_has_the_numbers_of_each_group():
    net, other = network(), network()
    opt, again = optimizer("rmsprop", net), optimizer("rmsprop", other)
    opt.param_groups[0]["lr"], opt.param_groups[1]["momentum"] = 0.5, 0.25
    for each in (net[0].weight, net[2].weight):
        each.grad = np.ones(each.shape)
    opt.step()
    saved = opt.state_dict()
    again.load_state_dict(saved)
    assert [dict(g) | {"params": 0} for g in again.param_groups] == [dict(g) | {"params": 0} for g in opt.param_groups]
    assert again.state == opt.state
    for wrong in ([], [{}], [{}, {"lr": -1}], [{}, 3], "ab"):
        with pytest.raises(sv.ScalarvizError):
            again.load_state_dict(saved | {"param_groups": wrong})
    assert again.lr == 0.5


@pytest.mark.parametrize(
    ("groups", "said"),
    [
        ([{"lr": 0.1}], "params"),
        ([{"params": []}], "no parameters"),
        ([{"params": 3}], "group 0"),
        ([{"params": ["a"]}], "group 0"),
        ([{"params": [0], "lr": -1}], "lr"),
        ([{"params": [0], "speed": 1}], "speed"),
        ([{"params": [0]}, {"params": [0]}], "in group 0 and in group 1"),
        ([{"params": [0]}, "more"], "groups alone"),
        ([{"params": [0], 3: 1}], "params"),
        ([{"params": [0], "nesterov": True}], "momentum"),
    ],
)
def test_bad_groups_are_refused_in_words(groups, said):
    net = network()
    filled = [
        {**g, "params": [net[2].weight if p == 0 else p for p in g["params"]]}
        if isinstance(g, dict) and isinstance(g.get("params"), list) else g
        for g in groups
    ]  # fmt: skip
    with pytest.raises(sv.ScalarvizError, match=said):
        optim.SGD(filled, lr=0.1)


def test_a_group_refuses_what_it_does_not_have():
    group = optimizer("sgd", network()).param_groups[1]
    for act in (
        lambda: group["speed"], lambda: group.__setitem__("speed", 1), lambda: group.__setitem__("lr", "a"),
        lambda: group.__setitem__("params", []), lambda: group.__delitem__("lr"),
        lambda: group.__setitem__("momentum", 0.0),
    ):  # fmt: skip
        with pytest.raises(sv.ScalarvizError):
            act()
    assert group["lr"] == 0.05
