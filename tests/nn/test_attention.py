"""Tables, root mean square normalisation, softmax and attention against PyTorch, by hand and on every engine."""

from __future__ import annotations

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import Run, nn, optim
from scalarviz.errors import InputError, TypeMismatchError
from scalarviz.scalar.nested import flatten

NORMS = {
    "rms_norm": lambda: nn.RMSNorm(5),
    "rms_norm_inner": lambda: nn.RMSNorm((2, 3), eps=0.1),
    "rms_norm_plain": lambda: nn.RMSNorm(4, elementwise_affine=False),
}
HEADS = {"self": 2, "causal": 4, "one": 1, "cross": 2, "added": 2, "hidden": 2}


@pytest.mark.parametrize("name", NORMS)
def test_rms_norm_agrees_with_pytorch(oracle, compare, name):
    compare(oracle("attention"), name, NORMS[name]())


def test_an_embedding_agrees_with_pytorch(oracle, numbers):
    arrays = oracle("attention")
    net = nn.Embedding(6, 3)
    net.load_state_dict({"weight": arrays["embedding/weight"]})
    rows = net(arrays["embedding/ids"])
    np.testing.assert_array_equal(numbers(rows), arrays["embedding/weight"][arrays["embedding/ids"]])
    sv.dot(arrays["embedding/upstream"].ravel().tolist(), flatten(rows)).backward()
    np.testing.assert_allclose(net.weight.grad, arrays["embedding/grad"], rtol=1e-14)


def attention(arrays, name):
    net = nn.MultiheadAttention(8, HEADS[name], bias=f"{name}/param/in_proj_bias" in arrays)
    prefix = f"{name}/param/"
    net.load_state_dict({k.removeprefix(prefix): a for k, a in arrays.items() if k.startswith(prefix)})
    return net


def asked(arrays, name):
    """How a call says which positions meet: the causal one needs no mask."""
    return {"is_causal": True} if name in ("causal", "one") else {"attn_mask": arrays[f"{name}/mask"]}


@pytest.mark.parametrize("name", HEADS)
def test_attention_agrees_with_pytorch(oracle, values, numbers, gradients, name):
    arrays = oracle("attention")
    net = attention(arrays, name)
    x = values(arrays[f"{name}/x"])
    other = x if name in ("self", "causal", "one") else values(arrays[f"{name}/other"])
    y, shares = net(x, other, other, average_attn_weights=False, **asked(arrays, name))
    np.testing.assert_allclose(numbers(y), arrays[f"{name}/y"], rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(numbers(shares), arrays[f"{name}/shares"], rtol=1e-12, atol=1e-15)
    weights = [*arrays[f"{name}/upstream"].ravel().tolist(), *arrays[f"{name}/above"].ravel().tolist()]
    sv.dot(weights, [*flatten(y), *flatten(shares)]).backward()
    np.testing.assert_allclose(gradients(x), arrays[f"{name}/x.grad"], rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(gradients(other), arrays[f"{name}/other.grad"], rtol=1e-12, atol=1e-12)
    assert [path for path, _ in net.named_parameters()] == list(net.state_dict())
    for path, parameter in net.named_parameters():
        np.testing.assert_allclose(parameter.grad, arrays[f"{name}/grad/{path}"], rtol=1e-12, atol=1e-12, err_msg=path)


class Reads(nn.Module):
    """Attention over five positions of a causal net, normed."""

    def __init__(self, arrays):
        self.attention, self.norm = attention(arrays, "causal"), nn.RMSNorm(8, eps=1e-5)
        self.norm.weight.data = np.linspace(0.5, 1.5, 8)

    def forward(self, x):
        rows = [x[k * 8 : k * 8 + 8] for k in range(5)]
        y, _ = self.attention(rows, rows, rows, is_causal=True, need_weights=False)
        return [v for row in y for v in self.norm(row)]


@pytest.mark.parametrize("engine", ["numpy", "numba"])
@pytest.mark.parametrize("batch", [1, 6])
def test_every_engine_computes_it(oracle, engine, batch):
    """The objects are PyTorch's; the others are the objects'."""
    arrays = oracle("attention")
    draw = np.random.default_rng(3)
    data = draw.normal(size=(6, 40)), draw.normal(size=(6, 40))
    found = {}
    for which in ("objects", engine):
        net = Reads(arrays)
        run = Run(net, nn.MSELoss(), optim.SGD(net.parameters(), lr=0.1), data, batch_size=batch, engine=which,
                  dtype="float64")  # fmt: skip
        loss = run._training.trainer.gradient(0)
        found[which] = np.append(run._store.grad.copy(), loss)
    np.testing.assert_allclose(found[engine], found["objects"], rtol=1e-12, atol=1e-13)


def test_softmax_is_the_module():
    xs = [0.3, -1.0, 2.0, 700.0, -800.0]
    assert [p.data for p in sv.softmax(xs)] == [p.data for p in nn.Softmax()(xs)]
    assert sv.softmax([5.0])[0].data == 1.0
    assert sv.gradcheck(lambda *v: sv.dot([1.0, -2.0, 0.5], sv.softmax(v)), 0.3, -0.4, 1.2)


def test_the_start_is_pytorchs():
    net = nn.MultiheadAttention(64, 4, seed=0)
    bound = np.sqrt(6 / (64 + 192))
    assert 0.98 * bound < np.abs(net.in_proj_weight.data).max() <= bound
    assert 0.98 / 8 < np.abs(net.out_proj.weight.data).max() <= 1 / 8
    assert not net.in_proj_bias.data.any()
    assert not net.out_proj.bias.data.any()
    table = nn.Embedding(100, 100, seed=0).weight.data
    assert abs(table.mean()) < 0.05
    assert abs(table.std() - 1) < 0.05


X = [[0.1, 0.2], [0.3, 0.4], [0.5, 0.6]]


def test_weights_are_averaged_unless_asked_for():
    net = nn.MultiheadAttention(2, 2, seed=1)
    y, mean = net(X, X, X)
    _, each = net(X, X, X, average_attn_weights=False)
    np.testing.assert_allclose([[v.data for v in row] for row in mean], np.mean(
        [[[v.data for v in row] for row in head] for head in each], axis=0), rtol=1e-14)  # fmt: skip
    plain, none = net(X, X, X, need_weights=False)
    assert none is None
    assert [[v.data for v in row] for row in plain] == [[v.data for v in row] for row in y]


@pytest.mark.parametrize(
    ("attempt", "text", "kind"),
    [
        (lambda net: nn.MultiheadAttention(6, 4), "divide", InputError),
        (lambda net: nn.MultiheadAttention(0, 1), "embed_dim", InputError),
        (lambda net: nn.MultiheadAttention(4, 2.0), "num_heads", InputError),
        (lambda net: nn.MultiheadAttention(4, 2, bias="no"), "bias", TypeMismatchError),
        (lambda net: nn.MultiheadAttention(4, 2, kdim=3), "kdim", TypeMismatchError),
        (lambda net: net(X[0], X[0], X[0]), "shapes", InputError),
        (lambda net: net(X, X, X[:2]), "as many keys as values", InputError),
        (lambda net: net([[1.0]], X, X), "positions of 2 numbers", InputError),
        (lambda net: net(X, X, X, attn_mask=[[0.0]]), r"attn_mask must have the shape \(3, 3\)", InputError),
        (lambda net: net(X, X, X, attn_mask=np.full((3, 3), np.nan)), "NaN", InputError),
        (lambda net: net(X, X, X, attn_mask=np.ones((3, 3), bool)), "nothing to see for position 0", InputError),
        (lambda net: net(X, X, X, attn_mask="no"), "attn_mask", TypeMismatchError),
        (lambda net: net(X, X, X, is_causal="no"), "is_causal", TypeMismatchError),
        (lambda net: nn.RMSNorm(()), "at least one side", InputError),
        (lambda net: nn.RMSNorm(2, eps=-1.0), "eps", InputError),
        (lambda net: nn.RMSNorm(2)([1.0, 2.0, 3.0]), "ends in", InputError),
        (lambda net: sv.softmax([]), "softmax of nothing", InputError),
        (lambda net: sv.softmax(1.0), "softmax takes one sequence", TypeMismatchError),
    ],
)
def test_bad_input(attempt, text, kind):
    with pytest.raises(kind, match=text):
        attempt(nn.MultiheadAttention(2, 2, seed=1))
