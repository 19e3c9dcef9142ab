"""The activations of PyTorch's list: values and derivatives beside PyTorch's, kinks and ends; engines; bad input."""

from __future__ import annotations

import math

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import Run, Value, nn, optim
from scalarviz.scalar import function

POINTS = (
    -800.0, -40.0, -21.0, -6.0, -3.3, -1.0, -0.5, -1e-3, -1e-9, -1e-300, -0.0, 0.0, 1e-300, 1e-9, 0.3, 1.0, 2.5, 5.999,
    6.0, 6.5, 19.9, 20.1, 40.0, 800.0,
)  # fmt: skip
KINDS = {
    "gelu": ("GELU", {}), "gelu tanh": ("GELU", {"approximate": "tanh"}), "silu": ("SiLU", {}), "elu": ("ELU", {}),
    "elu 0.3": ("ELU", {"alpha": 0.3}), "elu -2": ("ELU", {"alpha": -2.0}), "log_sigmoid": ("LogSigmoid", {}),
    "relu6": ("ReLU6", {}), "softplus": ("Softplus", {}), "sharp": ("Softplus", {"beta": 3.0, "threshold": 5.0}),
    "exact": ("Softplus", {"beta": 0.4, "threshold": math.inf}), "prelu": ("PReLU", {"init": 0.375}),
}  # fmt: skip


def pytorch():
    return pytest.importorskip("torch", reason="no PyTorch (extra oracle)")


def ours(module, points):
    leaves = [Value(x) for x in points]
    found = module(leaves)
    sv.sum(found).backward()
    return np.array([v.data for v in found]), np.array([v.grad for v in leaves])


@pytest.mark.parametrize("name", KINDS)
def test_values_and_derivatives_are_pytorchs(name):
    torch = pytorch()
    kind, given = KINDS[name]
    x = torch.tensor(POINTS, dtype=torch.float64, requires_grad=True)
    wanted = getattr(torch.nn, kind)(**given).double()(x)
    wanted.sum().backward()
    values, gradients = ours(getattr(nn, kind)(**given), POINTS)
    cancels = 2e-16 if kind == "GELU" else 1e-300  # PyTorch's 1 + erf(x) and 1 + tanh(u); ours: engine/test_whole_range
    np.testing.assert_allclose(values, wanted.detach().numpy(), rtol=4e-15, atol=cancels)
    np.testing.assert_allclose(gradients, x.grad.numpy(), rtol=1e-13, atol=1e-15)


@pytest.mark.parametrize("name", ["gelu", "gelu_tanh", "silu", "log_sigmoid", "relu6", "erf", "elu", "softplus_up_to"])
def test_derivatives_against_finite_differences_and_nan(name):
    rest = {"elu": (0.7,), "softplus_up_to": (1.5, 2.0)}.get(name, ())
    for x in (-2.3, -0.4, 0.6, 3.1):
        assert sv.gradcheck(lambda a, *more: function(name)(a, *(more or rest)), x)
    x = Value(math.nan)
    found = function(name)(x, *rest)
    found.backward()
    assert math.isnan(found.data)
    assert math.isnan(x.grad)
    assert sv.gradcheck(function("elu"), -1.3, 0.7)


@pytest.mark.parametrize("name", KINDS)
def test_infinities_are_those_of_pytorch(name):
    torch = pytorch()
    kind, given = KINDS[name]
    x = torch.tensor([math.inf, -math.inf], dtype=torch.float64)
    wanted = getattr(torch.nn, kind)(**given).double()(x).detach().numpy()
    np.testing.assert_array_equal(ours(getattr(nn, kind)(**given), [math.inf, -math.inf])[0], wanted)


def test_slopes_that_are_learnt():
    torch = pytorch()
    given = np.random.default_rng(0).normal(size=(3, 2, 4))
    theirs = torch.nn.PReLU(3).double()
    module = nn.PReLU(3)
    slopes = [0.25, -0.5, 1.5]
    with torch.no_grad():
        theirs.weight[:] = torch.tensor(slopes)
    module.weight.data = slopes
    x = torch.tensor(given[None], requires_grad=True)
    wanted = theirs(x)
    wanted.square().sum().backward()
    leaves = [[[Value(v) for v in row] for row in plane] for plane in given.tolist()]
    found = module(leaves)
    flat = [v for plane in found for row in plane for v in row]
    sv.sum([v * v for v in flat]).backward()
    np.testing.assert_allclose([v.data for v in flat], wanted.detach().numpy().ravel(), rtol=1e-15)
    np.testing.assert_allclose(module.weight.grad, theirs.weight.grad.numpy(), rtol=1e-13)
    found = [v.grad for plane in leaves for row in plane for v in row]
    np.testing.assert_allclose(found, x.grad.numpy().ravel(), rtol=1e-13)
    nn.init.apply(module)
    assert (module.weight.data == 0.25).all()


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("engine", ["numpy", "numba"])
def test_engines_train_alike(engine, dtype):
    """A network with all of them, one behind the other."""
    x = np.random.default_rng(3).normal(0, 2, (9, 4))
    y = np.random.default_rng(4).normal(size=(9, 3))
    ends = []
    for kind in (engine, "objects"):
        made = [getattr(nn, name)(**given) for name, given in KINDS.values()]
        layers = [part for k, module in enumerate(made) for part in (nn.Linear(4, 4, seed=k), module)]
        net = nn.Sequential(*layers, nn.Linear(4, 3, seed=99), nn.LogSoftmax())
        loss = nn.MSELoss()
        run = Run(net, loss, optim.SGD(net.parameters(), 0.05), (x, y), batch_size=4, engine=kind, dtype=dtype)
        run.step(3)
        ends.append((list(run.history.loss), run.values.copy(), run.problem.store.grad.copy()))
    tolerance = 1e-11 if dtype == "float64" else 2e-5
    for found, wanted in zip(*ends, strict=True):
        np.testing.assert_allclose(found, wanted, rtol=tolerance, atol=tolerance)


def test_log_softmax_is_the_logarithm_and_does_not_overflow():
    row = [1000.0, 1001.0, -1000.0]
    found = nn.LogSoftmax()(row)
    np.testing.assert_allclose([v.data for v in found], [-1.3132616875182228, -0.3132616875182228, -2001.3132616875182])
    assert sv.gradcheck(lambda *xs: sv.dot([1.0, -2.0, 0.5], nn.LogSoftmax()(xs)), 0.3, -1.2, 0.8)
    assert nn.NLLLoss()(found, 0).data == pytest.approx(nn.CrossEntropyLoss()(row, 0).data, rel=1e-15)


def test_a_run_takes_them_by_name():
    x = np.random.default_rng(0).normal(size=(5, 2))
    net = nn.Sequential(nn.Linear(2, 3, seed=1), nn.Tanh(), nn.Linear(3, 1, seed=2))
    run = Run(net, nn.MSELoss(), optim.SGD(net.parameters(), 0.1), (x, x[:, :1]), engine="numpy")
    for name in ("gelu", "silu", "elu", "log_sigmoid", "relu6", "softplus"):
        run.change(activation=name)
        run.step()
        assert run.stages[1].kind == name
    assert math.isfinite(run.loss)


BAD = [
    (lambda: nn.GELU("sigmoid"), "GELU: approximate must be one of none, tanh"),
    (lambda: nn.ELU(math.inf), "ELU: alpha must be finite"),
    (lambda: nn.Softplus(threshold=math.nan), "threshold is NaN"),
    (lambda: nn.PReLU(0), "num_parameters must be a whole number >= 1"),
    (lambda: nn.PReLU(init=math.nan), "init must be finite"),
    (lambda: nn.PReLU(2)([1.0]), r"PReLU\(2\) takes a sample of 2 channels, got the shape \(1,\)"),
    (lambda: nn.PReLU(2)(1.0), r"2 channels, got the shape \(\)"),
    (lambda: nn.LogSoftmax(0), "LogSoftmax: dim must be 1 or -1"),
    (lambda: nn.LogSoftmax()([[1.0]]), r"LogSoftmax\(\) takes a row of numbers, got the shape \(1, 1\)"),
]  # fmt: skip


@pytest.mark.parametrize(("attempt", "text"), BAD)
def test_bad_input_is_refused(attempt, text):
    with pytest.raises(sv.ScalarvizError, match=text):
        attempt()


def test_text_is_pytorchs():
    torch = pytorch()
    for kind, given in KINDS.values():
        if kind != "PReLU":
            text = repr(getattr(torch.nn, kind)(**given)).replace("5.0", "5").replace("20.0", "20")
            assert repr(getattr(nn, kind)(**given)) == text.replace("=1.0", "=1").replace("3.0,", "3,").replace(
                "-2.0", "-2"
            )
