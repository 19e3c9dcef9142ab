"""Conv1d, padding in words, pools of rows, adaptive pools, GroupNorm beside PyTorch; MLP; engines; bad input."""

from __future__ import annotations

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import Run, nn, optim
from scalarviz.scalar.nested import flatten, shape_of

KINDS = {
    "conv1d": ("Conv1d", (2, 3, 3), {}, (2, 7)),
    "conv1d strides": ("Conv1d", (2, 3, (4,)), {"stride": 2, "padding": 3, "bias": False}, (2, 8)),
    "conv1d same": ("Conv1d", (2, 1, 4), {"padding": "same"}, (2, 5)),
    "conv2d same": ("Conv2d", (2, 3, (2, 3)), {"padding": "same"}, (2, 4, 5)),
    "conv2d valid": ("Conv2d", (1, 2, 3), {"padding": "valid", "stride": 2}, (1, 7, 6)),
    "conv1d groups": ("Conv1d", (4, 6, 3), {"groups": 2, "dilation": 2, "padding": 1}, (4, 7)),
    "conv2d groups": ("Conv2d", (4, 8, (3, 2), 1, 1, 1, 2), {}, (4, 4, 5)),
    "conv2d wide groups": ("Conv2d", (6, 3, 2), {"groups": 3, "stride": 2, "bias": False}, (6, 4, 4)),
    "conv2d depthwise": ("Conv2d", (3, 6, 3), {"groups": 3, "padding": 1}, (3, 4, 4)),
    "conv2d dilation": ("Conv2d", (2, 4, 3), {"dilation": (2, 1), "stride": (1, 2), "padding": (1, 2)}, (2, 6, 5)),
    "conv2d dilation same": ("Conv2d", (2, 2, (2, 3)), {"dilation": (3, 2), "padding": "same"}, (2, 5, 4)),
    "max1d": ("MaxPool1d", (3,), {"stride": 2, "padding": 1}, (2, 8)),
    "avg1d": ("AvgPool1d", (3,), {"stride": 2, "padding": 1}, (2, 8)),
    "avg1d rest": ("AvgPool1d", (2,), {}, (3, 5)),
    "adaptive1d": ("AdaptiveAvgPool1d", (3,), {}, (2, 7)),
    "adaptive1d more": ("AdaptiveAvgPool1d", (5,), {}, (2, 3)),
    "adaptive2d": ("AdaptiveAvgPool2d", ((2, 3),), {}, (2, 5, 4)),
    "adaptive2d one": ("AdaptiveAvgPool2d", (1,), {}, (3, 4, 4)),
    "adaptive2d none": ("AdaptiveAvgPool2d", ((None, 2),), {}, (2, 3, 5)),
    "group": ("GroupNorm", (2, 4), {"eps": 1e-3}, (4, 3)),
    "group row": ("GroupNorm", (2, 6), {}, (6,)),
    "group plain": ("GroupNorm", (3, 3), {"affine": False}, (3, 2, 3)),
}


def pytorch():
    return pytest.importorskip("torch", reason="no PyTorch (extra oracle)")


def drawn(module, seed):
    rng = np.random.default_rng(seed)
    for parameter in module.parameters():
        parameter.data = rng.normal(size=parameter.shape)
    return module


@pytest.mark.filterwarnings("ignore:Using padding='same'")  # PyTorch's, of its own copies
@pytest.mark.parametrize("name", KINDS)
def test_layers_are_pytorchs(name, values, numbers, gradients):
    torch = pytorch()
    kind, args, given, shape = KINDS[name]
    module = drawn(getattr(nn, kind)(*args, **given), 1)
    theirs = getattr(torch.nn, kind)(*args, **given).double()
    theirs.load_state_dict({k: torch.tensor(v) for k, v in module.state_dict().items()})
    given = np.random.default_rng(2).normal(size=shape)
    x = torch.tensor(given[None], requires_grad=True)
    wanted = theirs(x)
    upstream = np.random.default_rng(3).normal(size=wanted.shape)
    wanted.backward(torch.tensor(upstream))
    leaves = values(given)
    found = module(leaves)
    np.testing.assert_allclose(numbers(found), wanted.detach().numpy()[0], rtol=1e-12, atol=1e-14)
    sv.dot(upstream.ravel().tolist(), flatten(found)).backward()
    np.testing.assert_allclose(gradients(leaves), x.grad.numpy()[0], rtol=1e-11, atol=1e-13)
    for path, parameter in module.named_parameters():
        wanted_grad = dict(theirs.named_parameters())[path].grad.numpy()
        np.testing.assert_allclose(parameter.grad, wanted_grad, rtol=1e-11, atol=1e-13)
    if hasattr(module, "made_shape"):
        assert module.made_shape(shape) == shape_of(found)


@pytest.mark.parametrize("engine", ["numpy", "numba"])
@pytest.mark.parametrize("name", KINDS)
def test_engines_have_the_same_gradients(name, engine):
    kind, args, given, shape = KINDS[name]
    n = int(np.prod(shape))
    x, y = np.random.default_rng(4).normal(size=(5, 3)), np.random.default_rng(5).normal(size=(5, 2))
    ends = []
    for each in (engine, "objects"):
        module = drawn(getattr(nn, kind)(*args, **given), 1)
        parts = [nn.Linear(3, n, seed=1), nn.Tanh(), nn.Unflatten(shape), module, nn.Flatten()]
        out = len(nn.Sequential(*parts)([0.0] * 3))
        net = nn.Sequential(*parts, nn.Linear(out, 2, seed=2))
        run = Run(net, nn.MSELoss(), optim.SGD(net.parameters(), 0.01), (x, y), engine=each, dtype="float64")
        run.step(2)
        ends.append((list(run.history.loss), run.values.copy(), run.problem.store.grad.copy()))
        (stage,) = [stage for stage in run.stages if stage.name == "3"]
        assert stage.kind == module.stage
    for found, wanted in zip(*ends, strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("groups", [1, 2, 4])
def test_groups_are_layers_of_their_own(groups):
    """Each reads its planes alone, starts from its own fan, prints what PyTorch prints."""
    net = nn.Conv2d(4, 8, 3, padding=1, groups=groups, seed=1)
    x = np.random.default_rng(2).normal(size=(4, 3, 3))
    out = net(x)
    net.zero_grad()
    out[7][1][1].backward()
    reached = np.abs(net.weight.grad).reshape(8, -1).sum(axis=1)
    assert np.flatnonzero(reached).tolist() == [7]
    assert np.flatnonzero(net.bias.grad).tolist() == [7]
    assert net.fans(net.weight) == (4 // groups * 9, 72)
    assert abs(net.weight.data).max() <= (4 // groups * 9) ** -0.5
    assert repr(net).endswith(f", padding=(1, 1), groups={groups})" if groups > 1 else ", padding=(1, 1))")


def test_a_network_in_one_line():
    net = nn.MLP(3, [5, 4], 2, nn.ReLU, seed=7)
    assert [type(part).__name__ for part in net] == ["Linear", "ReLU", "Linear", "ReLU", "Linear"]
    assert [part.weight.shape for part in net if isinstance(part, nn.Linear)] == [(5, 3), (4, 5), (2, 4)]
    assert [name for name, _ in net.named_parameters()][:3] == ["0.weight", "0.bias", "2.weight"]
    plain = nn.Sequential(nn.Linear(3, 5), nn.ReLU(), nn.Linear(5, 4), nn.ReLU(), nn.Linear(4, 2))
    nn.init.apply(plain, None, 7)
    for key, array in plain.state_dict().items():
        np.testing.assert_array_equal(net.state_dict()[key], array)
    assert isinstance(nn.MLP(1, 3, 1)[1], nn.Tanh)
    assert len(nn.MLP(4, [], 2)) == 1
    assert nn.MLP(2, 3, 1, bias=False)[0].bias is None
    assert nn.MLP(2, [3, 3], 1, lambda: nn.ELU(0.5))[3].alpha == 0.5
    assert len(nn.MLP(2, 3, 1, nn.PReLU).parameters()) == 5


BAD = [
    (lambda: nn.Conv1d(1, 1, (2, 3)), "Conv1d: kernel_size must be a whole number"),
    (lambda: nn.Conv1d(1, 1, 0), "kernel_size must be a whole number >= 1"),
    (lambda: nn.Conv1d(1, 1, 3)([1.0, 2.0, 3.0]), r"takes a sample of shape \(1, L\).*nn.Unflatten\(\(C, L\)\)"),
    (lambda: nn.Conv1d(1, 1, 3)([[1.0, 2.0]]), r"a window of \(1, 3\) is larger than the picture, \(1, 2\)"),
    (lambda: nn.Conv2d(4, 6, 3, groups=3), "Conv2d: 4 in_channels do not make 3 groups of the same size"),
    (lambda: nn.Conv2d(4, 6, 3, groups=4), "Conv2d: 6 out_channels do not make 4 groups of the same size"),
    (lambda: nn.Conv1d(4, 6, 3, groups=0), "Conv1d: groups must be a whole number >= 1, got 0"),
    (lambda: nn.Conv2d(4, 6, 3, dilation=(1, 0)), "Conv2d: dilation must be a whole number >= 1 or a pair"),
    (lambda: nn.Conv2d(1, 1, 3, dilation=2)(np.ones((1, 4, 5))),
     r"a window of \(5, 5\) is larger than the picture, \(4, 5\)"),
    (lambda: nn.Conv2d(1, 1, 3, padding="full"), "padding must be whole numbers, 'valid' or 'same', got 'full'"),
    (lambda: nn.Conv2d(1, 1, 3, stride=2, padding="same"), "padding='same' goes with stride 1 only"),
    (lambda: nn.MaxPool1d(2, padding=2), "at most half the window"),
    (lambda: nn.AvgPool1d(2)([[1.0]]), "larger than the picture"),
    (lambda: nn.AdaptiveAvgPool1d(0), "output_size must be a whole number >= 1"),
    (lambda: nn.AdaptiveAvgPool2d((1, 2, 3)), "output_size needs 2 whole numbers"),
    (lambda: nn.AdaptiveAvgPool2d(1)([[1.0]]), "takes a picture of shape"),
    (lambda: nn.GroupNorm(2, 3), "3 channels do not make 2 groups of the same size"),
    (lambda: nn.GroupNorm(1, 2, eps=-1.0), "GroupNorm: eps must be a finite number"),
    (lambda: nn.GroupNorm(1, 2)([1.0, 2.0, 3.0]), r"2 channels, got the shape \(3,\)"),
    (lambda: nn.GroupNorm(1, 2)(1.0), r"got the shape \(\)"),
    (lambda: nn.MLP(2, 0, 1), "MLP: hidden must be a whole number >= 1"),
    (lambda: nn.MLP(2, "8", 1), "hidden must be a whole number or a list of them"),
    (lambda: nn.MLP(2, 3, 1, nn.ReLU()), "activation must make a module"),
    (lambda: nn.MLP(2, 3, 1, lambda: 3), "activation must make a module"),
    (lambda: nn.MLP(2, 3, 1, activaton=nn.ReLU), "did you mean 'activation'"),
]  # fmt: skip


@pytest.mark.parametrize(("attempt", "text"), BAD)
def test_bad_input_is_refused(attempt, text):
    with pytest.raises(sv.ScalarvizError, match=text):
        attempt()


def test_text_is_pytorchs():
    torch = pytorch()
    for name in ("conv1d", "conv1d strides", "conv2d same", "conv2d valid", "adaptive1d", "adaptive2d"):
        kind, args, given, _ = KINDS[name]
        assert repr(getattr(nn, kind)(*args, **given)) == repr(getattr(torch.nn, kind)(*args, **given))
    assert repr(nn.GroupNorm(2, 4)) == "GroupNorm(2, 4, eps=1e-05, affine=True)"
    assert repr(nn.MaxPool1d(3)) == "MaxPool1d(kernel_size=3, stride=3, padding=0)"
