"""OneCycleLR moves momentum (of Adam the first beta), and schedules that go on from elsewhere: as in PyTorch."""

from __future__ import annotations

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import nn, optim
from scalarviz.errors import InputError
from scalarviz.optim import lr_scheduler

ENGINES = ["objects", "numpy", "numba"]
X = np.random.default_rng(0).random((8, 3))
Y = X[:, :2] ** 2
KINDS = {
    "sgd": ("SGD", {"lr": 0.1}),
    "nesterov": ("SGD", {"lr": 0.1, "momentum": 0.5, "nesterov": True}),
    "adam": ("Adam", {"lr": 0.02}),
    "adamw": ("AdamW", {"lr": 0.02, "betas": (0.5, 0.99)}),
    "rmsprop": ("RMSprop", {"lr": 0.01}),
}
CYCLES = {
    "cos": {"max_lr": 0.1, "total_steps": 24},
    "straight": {"max_lr": [0.1, 0.05], "total_steps": 24, "anneal_strategy": "linear", "pct_start": 0.5},
    "three": {"max_lr": 0.1, "total_steps": 30, "three_phase": True, "base_momentum": [0.5, 0.6], "max_momentum": 0.9},
}  # fmt: skip


def parts(net):
    return [{"params": list(net[0].parameters())}, {"params": list(net[2].parameters()), "lr": 0.05}]


def make(kind, cycle="cos", engine="numpy", dtype="float64", **more):
    name, numbers = KINDS[kind]
    net = nn.Sequential(nn.Linear(3, 4, seed=1), nn.Tanh(), nn.Linear(4, 2, seed=2))
    optimizer = getattr(optim, name)(parts(net), **numbers)
    if cycle is not None:
        lr_scheduler.OneCycleLR(optimizer, **CYCLES[cycle])
    return sv.Run(net, nn.MSELoss(), optimizer, (X, Y), engine=engine, dtype=dtype, **more)


def momenta(optimizer):
    return [group["momentum"] if "momentum" in group else group["betas"][0] for group in optimizer.param_groups]


def pytorchs(torch, run, kind, cycle, steps):
    """Rates, momenta and values of PyTorch's steps; it stands after them."""
    net = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 2)).double()
    net.load_state_dict({name: torch.tensor(array) for name, array in run.state_dict().items()})
    name, numbers = KINDS[kind]
    opt = getattr(torch.optim, name)(parts(net), **numbers)
    schedule = torch.optim.lr_scheduler.OneCycleLR(opt, **CYCLES[cycle])
    x, y, found = torch.tensor(X), torch.tensor(Y), []
    for _ in range(steps):
        opt.zero_grad()
        torch.nn.functional.mse_loss(net(x), y).backward()
        opt.step()
        schedule.step()
        values = np.concatenate([p.detach().numpy().ravel() for p in net.parameters()])
        found.append(([group["lr"] for group in opt.param_groups], momenta(opt), values))
    return found


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("kind", "cycle"), [*((kind, "cos") for kind in KINDS), ("sgd", "straight"), ("adam", "three"),
                                             ("rmsprop", "straight"), ("nesterov", "three")])  # fmt: skip
def test_every_step_is_pytorchs(engine, kind, cycle):
    torch = pytest.importorskip("torch", reason="no PyTorch (extra oracle)")
    run = make(kind, cycle, engine)
    assert momenta(run.optimizer) == [CYCLES[cycle].get("max_momentum", 0.95)] * 2
    for rates, moved, values in pytorchs(torch, run, kind, cycle, 23):
        run.step(1)
        np.testing.assert_allclose([group["lr"] for group in run.optimizer.param_groups], rates, rtol=1e-10)
        np.testing.assert_allclose(momenta(run.optimizer), moved, rtol=1e-10)
        np.testing.assert_allclose(run.values, values, rtol=1e-10, atol=1e-11)


@pytest.mark.parametrize("kind", KINDS)
def test_a_loop_by_hand_is_the_run(kind):
    run, net, lossf = (
        make(kind),
        nn.Sequential(nn.Linear(3, 4, seed=1), nn.Tanh(), nn.Linear(4, 2, seed=2)),
        nn.MSELoss(),
    )
    name, numbers = KINDS[kind]
    opt = getattr(optim, name)(parts(net), **numbers)
    schedule = lr_scheduler.OneCycleLR(opt, **CYCLES["cos"])
    for _ in range(12):
        opt.zero_grad()
        for x, y in zip(X, Y, strict=True):
            (lossf(net(x), list(y)) * (1 / len(X))).backward()
        opt.step()
        schedule.step()
    run.step(5), run.step(7)
    assert momenta(opt) == momenta(run.optimizer)
    for name, array in run.state_dict().items():
        np.testing.assert_allclose(array, net.state_dict()[name], rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("kind", ["nesterov", "adam"])
def test_the_way_back_has_the_same_bits(tmp_path, engine, kind):
    def done():
        run = make(kind, None, engine, "float32", l2=0.01, clip_norm=0.5)
        run.step(4)
        lr_scheduler.OneCycleLR(run.optimizer, 0.2, total_steps=20)  # an edit
        run.step(5)
        run.lr = 0.1
        run.step(3)
        run.set_numbers(run.model[0].weight[1], lr=0.03)
        run.step(3)
        return run

    run, fresh = done(), done()
    bits, moved = run.values.tobytes(), momenta(run.optimizer)
    assert fresh.values.tobytes() == bits
    assert len(moved) == 3
    run.to(2)
    assert run.optimizer.lr_pace.momenta == ()
    assert momenta(run.optimizer) == momenta(make(kind, None).optimizer)
    run.to(11), run.to(15)
    assert (run.values.tobytes(), momenta(run.optimizer)) == (bits, moved)
    opened = run.open()
    run.save(tmp_path / "a.safetensors")
    run.step(1)
    np.testing.assert_allclose(opened.new_values, run.values, rtol=1e-4, atol=1e-5)
    other = make(kind, None, engine, "float32")
    other.load(tmp_path / "a.safetensors")
    other.step(9), run.step(8)
    end = run.values.tobytes()
    assert other.values.tobytes() == run.values.tobytes()
    assert momenta(other.optimizer) == momenta(run.optimizer)
    other.undo()
    assert other.optimizer.lr_pace.momenta == ()
    run.undo(), run.undo(), run.undo()
    assert run.steps == 4
    assert run.optimizer.lr_pace.momenta == ()
    run.redo(), run.redo(), run.redo()
    run.to(run.span[1])
    assert run.values.tobytes() == end


def test_where_the_schedule_ends_the_momentum_stays(tmp_path):
    run = make("sgd")
    run.step(6)
    before = momenta(run.optimizer)
    run.optimizer.lr_schedule = None
    run.step(3)
    assert momenta(run.optimizer) == before
    run.optimizer.param_groups[1]["momentum"] = 0.25
    assert momenta(run.optimizer) == [before[0], 0.25]
    run.step(2)
    run.save(tmp_path / "a.safetensors")
    other = make("sgd", None)
    other.load(tmp_path / "a.safetensors")
    run.step(4), other.step(4)
    assert other.values.tobytes() == run.values.tobytes()
    bits = run.values.tobytes()
    run.to(3), run.to(15)
    assert run.values.tobytes() == bits


def test_a_momentum_that_is_set_is_that_of_one_step_as_in_pytorch():
    run = make("sgd")
    run.step(3)
    run.change(momentum=0.1)
    assert momenta(run.optimizer) == [0.1, 0.1]
    run.step(1)
    other = make("sgd")
    other.step(4)
    assert momenta(run.optimizer) == momenta(other.optimizer)
    assert (run.values != other.values).any()


def test_optimisers_without_a_momentum_are_refused():
    net = nn.Linear(2, 1)
    with pytest.raises(InputError, match="neither momentum nor betas"):
        lr_scheduler.OneCycleLR(optim.Adagrad(net.parameters()), 0.1, 10)
    optimizer = optim.SGD(net.parameters(), lr=0.1)
    cycle = lr_scheduler.OneCycleLR(optimizer, 0.1, 10)
    with pytest.raises(InputError, match="cycle_momentum=False"):
        lr_scheduler.SequentialLR(optimizer, [cycle, lr_scheduler.StepLR(optimizer, 3)], [4])
    nesterov = optim.SGD(net.parameters(), lr=0.1, momentum=0.9, nesterov=True)
    with pytest.raises(InputError, match="momentum > 0"):
        lr_scheduler.OneCycleLR(nesterov, 0.1, 10, max_momentum=0.0, base_momentum=0.0)
    assert nesterov.lr_schedule is None


RESUMED = [
    ("StepLR", {"step_size": 3, "gamma": 0.5}),
    ("MultiStepLR", {"milestones": [2, 6, 9], "gamma": 0.5}),
    ("ExponentialLR", {"gamma": 0.9}),
    ("CosineAnnealingLR", {"T_max": 20, "eta_min": 0.01}),
    ("LinearLR", {"start_factor": 0.5, "total_iters": 12}),
    ("LambdaLR", {"lr_lambda": lambda count: 1 / (1 + count)}),
    ("OneCycleLR", {"max_lr": 0.3, "total_steps": 30}),
]


@pytest.mark.parametrize(("name", "settings"), RESUMED)
def test_one_that_goes_on_from_elsewhere_has_pytorchs_rates(name, settings):
    torch = pytest.importorskip("torch", reason="no PyTorch (extra oracle)")
    theirs = torch.optim.SGD([torch.zeros(2, dtype=torch.float64, requires_grad=True)], lr=0.1, momentum=0.9)
    ours = optim.SGD(nn.Linear(2, 1).parameters(), lr=0.1, momentum=0.9)
    found, wanted = [], []
    for module, optimizer, rates in ((torch.optim.lr_scheduler, theirs, wanted), (lr_scheduler, ours, found)):
        schedule = getattr(module, name)(optimizer, **settings)
        for _ in range(5):
            optimizer.step(), schedule.step()
        schedule = getattr(module, name)(optimizer, **settings, last_epoch=4)
        for _ in range(9):
            rates.append((optimizer.param_groups[0]["lr"], optimizer.param_groups[0]["momentum"]))
            optimizer.step(), schedule.step()
        assert schedule.last_epoch == 14
    np.testing.assert_allclose(found, wanted, rtol=1e-10)


def test_the_rates_that_it_began_with_are_said_or_asked_for(tmp_path):
    net = nn.Linear(2, 1)
    optimizer = optim.SGD(net.parameters(), lr=0.1)
    with pytest.raises(InputError, match="initial_lr"):
        lr_scheduler.StepLR(optimizer, 3, 0.5, last_epoch=5)
    with pytest.raises(InputError, match="initial_lr"):
        optimizer.param_groups[0]["initial_lr"]
    with pytest.raises(InputError, match="initial_lr"):
        optimizer.param_groups[0]["initial_lr"] = -1
    optimizer.param_groups[0]["initial_lr"] = 0.8
    lr_scheduler.StepLR(optimizer, 3, 0.5, last_epoch=5)
    assert optimizer.lr == 0.2
    given = [{"params": net.weight, "initial_lr": 0.8}, {"params": net.bias, "initial_lr": 0.4, "lr": 0.3}]
    both = optim.SGD(given, lr=0.1)
    assert both.param_groups[1]["initial_lr"] == 0.4
    run = sv.Run(net, nn.MSELoss(), both, (X[:, :2], Y[:, :1]), engine="numpy")
    schedule = lr_scheduler.StepLR(both, 3, 0.5, last_epoch=1)
    run.step(2)
    assert schedule.get_last_lr() == [0.4, 0.2]
    run.restart()
    assert schedule.last_epoch == 2
    run.save(tmp_path / "a.safetensors")
    other = sv.Run(
        net, nn.MSELoss(), optim.SGD([{"params": net.weight}, {"params": net.bias}], lr=0.1), (X[:, :2], Y[:, :1])
    )
    other.load(tmp_path / "a.safetensors")
    other.step(1)
    other.restart()
    assert other.optimizer.lr_schedule.last_epoch == 2
    for wrong in (-2, True, 1.5, "a"):
        with pytest.raises(sv.ScalarvizError, match="last_epoch"):
            lr_scheduler.ExponentialLR(optimizer, 0.9, last_epoch=wrong)
