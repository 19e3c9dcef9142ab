"""L1, L2 and clipping of a Run: PyTorch's loop with them typed, step by step, on every engine."""

from __future__ import annotations

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import nn, optim
from scalarviz.engine.limits import Limits
from scalarviz.run.edits import SetLimits, read_edit, write_edit

ENGINES = ["objects", "numpy", "numba"]
X = np.random.default_rng(0).random((6, 3))
LIMITS = {
    "l2": {"l2": 0.03},
    "l1": {"l1": 0.02},
    "norm": {"clip_norm": 0.05},
    "value": {"clip_value": 0.004},
    "all": {"l1": 0.01, "l2": 0.02, "clip_norm": 0.1, "clip_value": 0.03},
    "never": {"clip_norm": 1e6, "clip_value": 1e6},
}
RULES = {
    "sgd": ("SGD", {"lr": 0.5, "momentum": 0.5}),
    "adam": ("Adam", {"lr": 0.02}),
}


def network():
    return nn.Sequential(nn.Linear(3, 4, seed=1), nn.Tanh(), nn.Linear(4, 2, seed=2))


def make(engine="numpy", dtype="float64", rule="sgd", net=None, **limits):
    net = network() if net is None else net
    kind, numbers = RULES[rule]
    optimizer = getattr(optim, kind)(net.parameters(), **numbers)
    return sv.Run(net, nn.MSELoss(), optimizer, (X, X[:, :2]), engine=engine, dtype=dtype, **limits)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("which", LIMITS)
def test_every_step_is_that_of_pytorchs_loop(engine, rule, which):
    torch = pytest.importorskip("torch", reason="no PyTorch (extra oracle)")
    limits = LIMITS[which]
    run, (kind, numbers) = make(engine, rule=rule, **limits), RULES[rule]
    net = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 2)).double()
    net.load_state_dict({name: torch.tensor(array) for name, array in run.state_dict().items()})
    opt, x, losses = getattr(torch.optim, kind)(net.parameters(), **numbers), torch.tensor(X), []
    for _ in range(22):
        loss = torch.nn.functional.mse_loss(net(x), x[:, :2])
        loss = loss + limits.get("l1", 0.0) * sum(p.abs().sum() for p in net.parameters())
        loss = loss + limits.get("l2", 0.0) * sum((p * p).sum() for p in net.parameters())
        opt.zero_grad()
        loss.backward()
        if "clip_norm" in limits:
            torch.nn.utils.clip_grad_norm_(net.parameters(), limits["clip_norm"])
        if "clip_value" in limits:
            torch.nn.utils.clip_grad_value_(net.parameters(), limits["clip_value"])
        opt.step()
        losses.append(loss.item())
    run.step(5), run.step(17)
    np.testing.assert_allclose(run.history.loss, losses, rtol=1e-10)
    for name, array in run.state_dict().items():
        np.testing.assert_allclose(array, net.state_dict()[name].numpy(), rtol=1e-10, atol=1e-11)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("which", ["all", "norm", "l1"])
def test_the_way_back_and_calls_of_any_length_have_the_same_bits(engine, which):
    run, other = (make(engine, "float32", **LIMITS[which]) for _ in range(2))
    run.step(30)
    for count in (1, 7, 2, 20):
        other.step(count)
    assert other.values.tobytes() == run.values.tobytes()
    assert other.history.loss.tolist() == run.history.loss.tolist()
    bits = run.values.tobytes()
    run.to(11), run.to(30)
    assert run.values.tobytes() == bits


@pytest.mark.parametrize("engine", ENGINES)
def test_shared_weights_and_several_blocks_and_threads(engine):
    """A program with derived parameters, more samples than a block, and weights that are not trained."""
    data = np.random.default_rng(1).random((700, 3))
    runs = []
    for name in (engine, "numpy"):
        net = nn.Sequential(nn.Linear(3, 5, seed=1), nn.LayerNorm(5), nn.Tanh(), nn.Linear(5, 2, seed=2))
        net[0].weight.frozen = True
        optimizer = optim.SGD([*net[0].parameters(), *net[3].parameters()], lr=0.3)
        run = sv.Run(
            net, nn.MSELoss(), optimizer, (data, data[:, :2]), engine=name, dtype="float64", threads=2,
            batch_size=100 if engine == "objects" else 700, **LIMITS["all"],
        )  # fmt: skip
        run.step(20 if engine in ("numpy", "numba") else 3)
        runs.append(run)
    np.testing.assert_allclose(runs[0].values, runs[1].values, rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(runs[0].history.loss, runs[1].history.loss, rtol=1e-9)


def test_penalties_typed_in_the_loss_are_the_same():
    net = network()

    def loss(outputs, targets):
        weights = [w for p in net.parameters() for w in p]
        flat = [v for w in weights for v in (w if isinstance(w, list) or hasattr(w, "__iter__") else [w])]
        return nn.MSELoss()(outputs, targets) + 0.05 * sv.sum([w * w for w in flat])

    typed = sv.Run(net, loss, optim.SGD(net.parameters(), lr=0.5), (X, X[:, :2]), engine="numpy", dtype="float64")
    run = make(l2=0.05)
    run.change(momentum=0.0)
    typed.step(10), run.step(10)
    np.testing.assert_allclose(typed.history.loss, run.history.loss, rtol=1e-12)
    np.testing.assert_allclose(typed.values, run.values, rtol=1e-10)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("which", LIMITS)
@pytest.mark.parametrize("rule", RULES)
def test_an_opened_step_says_what_the_engine_does(engine, which, rule):
    run = make(engine, rule=rule, **LIMITS[which])
    run.step(3)
    opened = run.open()
    run.step(1)
    np.testing.assert_allclose(opened.new_values, run.values, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(opened.loss + opened.penalty, run.loss, rtol=1e-10)
    np.testing.assert_allclose(opened.gradient, run.frame().gradient, rtol=1e-9, atol=1e-12)
    for index in range(0, run.n_weights, 5):
        update = opened.update(index)
        np.testing.assert_allclose(update.after, run.values[index], rtol=1e-10, atol=1e-12)
    text = str(run.open(step=4).update(0))
    assert ("clip" in text) == ("clip_norm" in LIMITS[which] or "clip_value" in LIMITS[which])
    assert "gt(" not in text


def test_changes_are_edits_and_come_and_go_with_the_past():
    run = make("numba", "float32")
    run.step(4)
    run.change(l2=0.1, clip_norm=0.02)
    assert run.log[-1].what == "l2 = 0.1, clip_norm = 0.02"
    run.step(4)
    run.change(clip_norm=None, clip_value=0.5)
    assert run.problem.limits == Limits(l2=0.1, clip_value=0.5)
    run.step(4)
    bits = run.values.tobytes()
    run.to(6)
    assert run.problem.limits == Limits(l2=0.1, clip_norm=0.02)
    run.to(2)
    assert run.problem.limits == Limits()
    run.to(12)
    assert run.values.tobytes() == bits
    run.undo()
    assert run.problem.limits == Limits(l2=0.1, clip_norm=0.02)
    run.change(l2=0, clip_norm=None)
    assert run.log[-1].what == "no limits"
    run.change(optimizer="Adam", lr=0.01)
    run.change(l1=0.1)
    run.change(loss="L1Loss")
    run.step(2)
    assert run.problem.limits == Limits(l1=0.1)


def test_a_rehearsal_and_a_state_have_them():
    from scalarviz.run.rehearsal import rehearse

    run, other = make(**LIMITS["all"]), make(**LIMITS["all"])
    rehearsed = rehearse(run, 10)
    other.step(10)
    assert rehearsed.loss.tolist() == other.history.loss.tolist()
    before = run.state()
    run.change(l1=0, l2=0, clip_norm=None, clip_value=None)
    run.step(3)
    run.take(before)
    run.step(10)
    assert run.values.tobytes() == other.values.tobytes()


def test_a_weight_of_0_gets_nothing_of_l1_and_a_gradient_that_is_not_finite_stays_so():
    net = nn.Sequential(nn.Linear(1, 1))
    net[0].weight.data = np.array([[0.0]])
    net[0].bias.data = np.array([0.0])
    run = sv.Run(net, nn.MSELoss(), optim.SGD(net.parameters(), lr=1.0), ([[0.0]], [[0.0]]), engine="numpy", l1=0.5)
    run.step(3)
    assert run.values.tolist() == [0.0, 0.0]
    for engine in ENGINES:
        run = make(engine, clip_norm=1.0)
        run.set_weights(run.n_weights - 1, [1e200])
        with pytest.raises(sv.ScalarvizError, match="diverged"):
            run.step(3)


def test_the_edit_as_text():
    for edit in (SetLimits(), SetLimits(l1=0.1, clip_value=2.0), SetLimits(0.1, 0.2, 0.3, 0.4)):
        assert read_edit(write_edit(edit)) == edit
    assert str(SetLimits()) == "no limits"


@pytest.mark.parametrize("name", ["l1", "l2", "clip_norm", "clip_value"])
@pytest.mark.parametrize("bad", [-1, float("nan"), float("inf"), "1", [1.0], 1j, {}])
def test_bad_numbers_are_refused_by_name(name, bad):
    with pytest.raises(sv.ScalarvizError, match=name):
        make(**{name: bad})
    run = make()
    with pytest.raises(sv.ScalarvizError, match=name):
        run.change(**{name: bad})
    assert run.problem.limits == Limits()


@pytest.mark.parametrize("name", ["clip_norm", "clip_value"])
def test_a_limit_of_0_would_stop_everything(name):
    with pytest.raises(sv.ScalarvizError, match="above 0"):
        make(**{name: 0})
    with pytest.raises(sv.ScalarvizError, match="l1"):
        make(l1=None)
