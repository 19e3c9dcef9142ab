"""Every layer of the kit: finite differences, PyTorch, the engines, its text, its state and its stage agree."""

import math

import numpy as np
import pytest

import scalarviz as sv
from kit.layers import LAYERS, POINTWISE
from kit.nested import flat, leaves, numbers
from kit.runs import TOLERANCE, far
from scalarviz import Run, Value, io, nn, optim

POINTS = (
    -800.0, -40.0, -21.0, -6.0, -3.3, -1.0, -0.5, -1e-3, -1e-9, -1e-300, -0.0, 0.0, 1e-300, 1e-9, 0.3, 1.0, 2.5, 5.999,
    6.0, 6.5, 19.9, 20.1, 40.0, 800.0,
)  # fmt: skip


@pytest.mark.filterwarnings("ignore:Using padding='same'")  # PyTorch's, of its own copies
@pytest.mark.parametrize("name", LAYERS)
def test_values_gradients_text_and_state_are_pytorchs(name, torch, tmp_path):
    from safetensors.torch import load_file, save_file

    row = LAYERS[name]
    module, sample = row.ours(), row.sample()
    state = module.state_dict()
    theirs, x = row.theirs(state), torch.tensor(sample[None], requires_grad=True)
    wanted = theirs(x)
    upstream = np.random.default_rng(3).normal(size=wanted.shape)
    wanted.backward(torch.tensor(upstream))
    mine = leaves(sample)
    found = module(mine)
    np.testing.assert_allclose(numbers(found), wanted.detach().numpy().ravel(), rtol=1e-12, atol=1e-14)
    assert np.array(found, object).shape == tuple(wanted.shape[1:])
    slopes = module.backward(upstream[0])
    np.testing.assert_allclose(slopes, x.grad.numpy()[0], rtol=1e-11, atol=1e-13)
    for path, parameter in module.named_parameters():
        wanted_gradient = dict(theirs.named_parameters())[path].grad.numpy()
        np.testing.assert_allclose(parameter.grad, wanted_gradient, rtol=1e-11, atol=1e-13, err_msg=path)
    # names, order, shapes and types; files go there and back
    reference = {k: a.numpy() for k, a in theirs.state_dict().items()}
    assert [(k, a.shape, a.dtype) for k, a in state.items()] == [(k, a.shape, a.dtype) for k, a in reference.items()]
    io.save_tensors(tmp_path / "ours.safetensors", state)
    save_file({k: torch.tensor(a) for k, a in reference.items()}, tmp_path / "theirs.safetensors")
    back, _ = io.load_tensors(tmp_path / "theirs.safetensors")
    for path, tensor in load_file(tmp_path / "ours.safetensors").items():
        assert tensor.numpy().tobytes() == back[path].tobytes() == reference[path].tobytes()
    text = repr(getattr(torch.nn, row.kind)(*row.args, **row.settings))
    if row.kind in ("Linear", "Conv1d", "Conv2d", "AdaptiveAvgPool1d", "AdaptiveAvgPool2d", "Dropout", "LeakyReLU"):
        assert repr(module) == text
    else:
        assert repr(module).startswith(row.kind)


@pytest.mark.parametrize("name", POINTWISE)
def test_activations_are_pytorchs_from_end_to_end(name, torch):
    row = LAYERS[name]
    module = row.ours()
    theirs, x = row.theirs(module.state_dict()), torch.tensor(POINTS, dtype=torch.float64, requires_grad=True)
    wanted = theirs(x)
    wanted.sum().backward()
    mine = [Value(p) for p in POINTS]
    found = module(mine) if row.kind != "PReLU" else [module([v])[0] for v in mine]
    sv.sum(found).backward()
    cancels = 2e-16 if row.kind == "GELU" else 1e-300  # PyTorch's 1 + erf(x) and 1 + tanh(u)
    np.testing.assert_allclose(numbers(found), wanted.detach().numpy(), rtol=4e-15, atol=cancels)
    np.testing.assert_allclose(numbers(mine, "grad"), x.grad.numpy(), rtol=1e-13, atol=1e-15)
    ends = torch.tensor([math.inf, -math.inf], dtype=torch.float64)
    found = [module([p])[0].data for p in ends.tolist()]
    np.testing.assert_array_equal(found, theirs(ends[:, None]).detach().numpy()[:, 0])


def run_of(name, engine, dtype):
    row = LAYERS[name]
    n = math.prod(row.shape)
    parts = [nn.Linear(3, n, seed=1), nn.Tanh(), nn.Unflatten(row.shape), row.ours(), nn.Flatten()]
    out = len(nn.Sequential(*parts)([0.0] * 3))
    net = nn.Sequential(*parts, nn.Linear(out, 2, seed=2))
    draw = np.random.default_rng(4)
    data = draw.normal(size=(5, 3)), draw.normal(size=(5, 2))
    return Run(net, nn.MSELoss(), optim.SGD(net.parameters(), 0.01), data, engine=engine, dtype=dtype, batch_size=4)


def trained(name, engine, dtype="float64"):
    with run_of(name, engine, dtype) as run:
        run.step(2)
        frame = run.frame()
        return [run.history.loss, frame.values, frame.gradient, run.predict(np.eye(3))], run.stages


@pytest.mark.parametrize("name", LAYERS)
def test_numpy_trains_as_objects_do(name):
    found, stages = trained(name, "numpy")
    wanted, _ = trained(name, "objects")
    assert all(far(a, b) <= 10 * TOLERANCE["float64"] for a, b in zip(found, wanted, strict=True))
    shown = getattr(LAYERS[name].ours(), "stage", None)
    if shown and "dropout" not in name:  # there is none in evaluation
        assert [stage.kind for stage in stages if stage.name == "3"] == [shown]


def test_every_layer_is_in_the_kit():
    others = {"Activation", "BatchNorm1d", "Embedding", "MLP", "Module", "MultiheadAttention", "Network", "Perceptron",
              "Sequential", "Unflatten"}  # fmt: skip
    offered = {n for n in nn.__all__ if isinstance(getattr(nn, n), type) and issubclass(getattr(nn, n), nn.Module)}
    assert offered - others <= {row.kind for row in LAYERS.values()}


def test_softmax_of_large_and_equal_numbers():
    assert [p.data for p in nn.Softmax()([1000.0, 1000.0])] == [0.5, 0.5]
    assert [p.data for p in nn.Softmax()([-1000.0, 1000.0])] == [0.0, 1.0]
    assert [p.data for p in sv.softmax([0.3, 700.0, -800.0])] == [p.data for p in nn.Softmax()([0.3, 700.0, -800.0])]
    assert math.isnan(nn.Softmax()([math.nan, 0.0])[1].data)
    row = [1000.0, 1001.0, -1000.0]
    np.testing.assert_allclose(numbers(nn.LogSoftmax()(row)), [-1.3132616875182228, -0.3132616875182228,
                                                               -2001.3132616875182])  # fmt: skip


def test_the_variance_does_not_cancel():
    assert [y.data for y in nn.LayerNorm(3)([5.0, 5.0, 5.0])] == [0.0, 0.0, 0.0]
    assert [y.data for y in nn.LayerNorm(2, eps=0)([1e8, 1e8 + 2])] == [-1.0, 1.0]
    norm = nn.BatchNorm1d(2).eval()
    norm.running_var[0] = -1.0
    a, b = norm([1.0, 2.0])
    assert math.isnan(a.data)
    assert math.isfinite(b.data)


def test_the_gradient_goes_to_the_first_maximum():
    x = leaves([[[1.0, 2.0], [2.0, 2.0]], [[0.0, 0.0], [0.0, 0.0]]])
    sv.sum(flat(nn.MaxPool2d(2)(x))).backward()
    assert numbers(x, "grad").tolist() == [0, 1, 0, 0, 1, 0, 0, 0]


def test_a_network_in_one_line():
    net = nn.MLP(3, [5, 4], 2, nn.ReLU, seed=7)
    plain = nn.Sequential(nn.Linear(3, 5), nn.ReLU(), nn.Linear(5, 4), nn.ReLU(), nn.Linear(4, 2))
    nn.init.apply(plain, None, 7)
    assert repr(net)[3:] == repr(plain)[10:]
    for key, array in plain.state_dict().items():
        np.testing.assert_array_equal(net.state_dict()[key], array)
    assert isinstance(nn.MLP(1, 3, 1)[1], nn.Tanh)
    assert len(nn.MLP(4, [], 2)) == 1
    assert repr(nn.MLP(3, [4, 4, 1])) == repr(nn.MLP(3, [4, 4], 1))  # micrograd's way
    assert nn.MLP(2, 3, 1, bias=False)[0].bias is None
    assert nn.MLP(2, [3, 3], 1, lambda: nn.ELU(0.5))[3].alpha == 0.5


# ---- tables and attention


MASKS = {
    "none": (4, 4, None), "causal": (5, 5, "causal"), "one": (1, 1, "causal"), "another sequence": (3, 5, None),
    "added": (3, 4, np.random.default_rng(5).normal(size=(3, 4))),
    "hidden": (3, 4, np.arange(12).reshape(3, 4) % 5 == 1),
}  # fmt: skip


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("name", MASKS)
def test_attention_is_pytorchs(name, bias, torch):
    n, m, mask = MASKS[name]
    draw = np.random.default_rng(3)
    net = nn.MultiheadAttention(8, 2, bias=bias, seed=1)
    theirs = torch.nn.MultiheadAttention(8, 2, bias=bias, batch_first=True).double()
    for parameter in net.parameters():
        parameter.data = draw.normal(size=parameter.shape)
    theirs.load_state_dict({k: torch.tensor(a) for k, a in net.state_dict().items()})
    x, other = (leaves(draw.normal(size=(side, 8))) for side in (n, m))
    tx, tother = (torch.tensor(numbers(side).reshape(1, -1, 8), requires_grad=True) for side in (x, other))
    causal = isinstance(mask, str)
    asked = {"is_causal": True} if causal else {} if mask is None else {"attn_mask": mask}
    hidden = np.triu(np.ones((n, m), bool), 1) if causal else mask
    given = {} if hidden is None else {"attn_mask": torch.tensor(hidden)}
    y, shares = net(x, other, other, average_attn_weights=False, **asked)
    wanted, wanted_shares = theirs(tx, tother, tother, average_attn_weights=False, **given)
    above = draw.normal(size=wanted.shape), draw.normal(size=wanted_shares.shape)
    ((wanted * torch.tensor(above[0])).sum() + (wanted_shares * torch.tensor(above[1])).sum()).backward()
    sv.dot([*above[0].ravel().tolist(), *above[1].ravel().tolist()], [*flat(y), *flat(shares)]).backward()
    pairs = [(numbers(y), wanted), (numbers(shares), wanted_shares), (numbers(x, "grad"), tx.grad)]
    pairs += [(numbers(other, "grad"), tother.grad)]
    pairs += [(p.grad.ravel(), dict(theirs.named_parameters())[k].grad) for k, p in net.named_parameters()]
    for found, reference in pairs:
        np.testing.assert_allclose(found, reference.detach().numpy().ravel(), rtol=1e-11, atol=1e-12)
    averaged = net(x, other, other, **asked)[1]
    np.testing.assert_allclose(numbers(averaged), numbers(shares).reshape(2, -1).mean(0), rtol=1e-14)
    plain, none = net(x, other, other, need_weights=False, **asked)
    assert none is None
    assert numbers(plain).tolist() == numbers(y).tolist()
