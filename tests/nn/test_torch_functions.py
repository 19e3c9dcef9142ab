"""PyTorch's functions of outputs of a batch: they get the numbers, unless a gradient would get lost."""

import re

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import nn
from scalarviz.errors import TypeMismatchError

X = np.random.default_rng(0).normal(size=(6, 4))
Y = np.array([0, 1, 2, 3, 0, 1])

WORDS = """
torch.isnan(o) | torch.isfinite(o).all() | torch.isinf(o) | o.isnan().any() | o.isfinite() | torch.sign(o) |
torch.equal(p, y) | torch.allclose(o, o.detach()) | torch.allclose(o, x) | torch.isclose(o, x) | torch.floor(o) |
torch.bincount(p, minlength=9) | torch.ones_like(o) | torch.zeros_like(o) | torch.full_like(o, 3.0) |
torch.empty_like(o).shape | torch.rand_like(o).shape | torch.unique(p, return_counts=True) | torch.argsort(o, dim=1) |
torch.count_nonzero(p == y) | torch.nonzero(p == y) | torch.where(p != y) | torch.argmin(o, dim=1) | y.view_as(p) |
y.view_as(o.argmax(1)) | x[p != y] | x[p] | x[o[:, 0] > 0, 1] | torch.any(p == y) | torch.all(o > 0, dim=1) |
(o > 0).all(dim=1) | (o > 0).any(1, keepdim=True) | (p == y).all() | torch.max(o, x) | torch.min(o, x) | o.amin(1) |
o.clip(min=0.0) | torch.clamp(o, max=0.1) | o.add(o, alpha=2) | torch.sub(o, x, alpha=0.5) | torch.erf(o.detach()) |
torch.sort(o.detach(), dim=1)[1] | torch.logical_and(p == y, p == y) | torch.zeros_like(w) | torch.equal(w, w) |
torch.zeros(6, 4).copy_(o.detach()) | torch.zeros(4, 4).index_put((y, p), torch.tensor(1.0)) | torch.dot(o[0], o[1]) |
torch.searchsorted(x[0].sort()[0], o) | torch.median(o.detach()) | o[:1, 0].std() | torch.std(o[:1, 0])
"""


def numbers(found):
    if isinstance(found, tuple):
        return [np.asarray(numbers(part)) for part in found]
    return np.asarray(found.detach()) if hasattr(found, "detach") else getattr(found, "data", found)


@pytest.mark.ci
@pytest.mark.filterwarnings("ignore:std:UserWarning", "ignore:torch.searchsorted:UserWarning")
@pytest.mark.filterwarnings("ignore:Using a non-tuple sequence:UserWarning")  # PyTorch looks into an index first
@pytest.mark.parametrize("text", re.findall(r"[^|\s][^|\n]*[^|\s]", WORDS))
def test_a_function_gives_pytorchs_numbers(text, torch):
    ours, theirs = nn.Linear(4, 4, seed=0), torch.nn.Linear(4, 4).double()
    theirs.load_state_dict(ours.state_dict())
    given, found = {"torch": torch, "x": torch.tensor(X), "y": torch.tensor(Y)}, []
    for net in (ours, theirs):
        outputs = net(given["x"])
        found.append(numbers(eval(text, given | {"o": outputs, "p": outputs.argmax(1), "w": net.weight})))
    for mine, wanted in zip(*map(np.atleast_1d, found), strict=True):
        np.testing.assert_allclose(mine, wanted, rtol=1e-12)


LOST = (
    "torch.erf(o)", "torch.cdist(o, x)", "torch.sort(o, dim=1)", "torch.nn.functional.pad(o, (1, 1))",
    "torch.zeros(6, 4).copy_(o)", "x.mul_(o)", "x.__setitem__(0, o[0])", "torch.autograd.grad(o.sum(), [w])",
)  # fmt: skip


@pytest.mark.ci
@pytest.mark.parametrize("text", LOST)
def test_no_gradient_gets_lost(text, torch):
    net, x = nn.Linear(4, 4, seed=0), torch.tensor(X)
    with pytest.raises(TypeMismatchError, match=r"\.detach\(\) gives the numbers alone"):
        eval(text, {"torch": torch, "x": x, "o": net(X), "w": net.weight})
    assert x.tolist() == X.tolist()
    if "autograd" in text:
        return
    with sv.no_grad():  # nothing to lose
        eval(text, {"torch": torch, "x": x, "o": net(X), "w": net.weight})


@pytest.mark.ci
def test_a_table_of_classes_is_counted_in_a_tensor(torch):
    table, found = torch.zeros(4, 4, dtype=torch.int64), nn.Linear(4, 4, seed=0)(X).argmax(1)
    table[torch.tensor(Y).long(), found.long()] += 1
    expected = np.zeros((4, 4))
    expected[Y, found.numpy()] = 1
    assert (table.numpy() == expected).all()
    right = torch.tensor(0.0)
    kept = right
    right += (found == torch.tensor(Y)).sum()
    assert kept.item() == np.sum(found.numpy() == Y)


def test_one_number_without_a_graph_is_hashable():
    out = nn.Linear(4, 4, seed=0)(X)
    classes = out.argmax(1)
    assert set(classes) == set(classes.tolist())
    assert {classes[0]: "first"}[classes[0].item()] == "first"
    for unhashable in (classes, out[0, 0]):
        with pytest.raises(TypeError, match=r"y\.item\(\)"):
            hash(unhashable)


@pytest.mark.ci
def test_scikit_learn_counts_classes():
    metrics = pytest.importorskip("sklearn.metrics")
    classes = nn.Linear(4, 4, seed=0)(X).argmax(1)
    assert metrics.accuracy_score(Y, classes) == np.mean(classes.numpy() == Y)


def forward_of(text, torch):
    class Net(nn.Module):
        def __init__(self):
            self.p = nn.Parameter(np.linspace(-1, 1, 4))

        def forward(self, x):
            return eval(text, {"torch": torch, "nn": nn, "x": x, "p": self.p})

    return Net()(X)


INSIDE = """
torch.max(x, p) | torch.min(x, x * 2) | x.clip(min=0.0) | x.clip(0, None) | torch.clip(x, max=0.5) | x.add(p, alpha=2) |
torch.sub(x, p, alpha=0.5) | (x > 0).all(dim=-1) * p | (x > -9).any(-1, keepdim=True) * p | torch.dot(p, p) * x |
torch.any(x > 0, dim=-1, keepdim=True) * p | x.clamp(min=0, max=None)
"""


@pytest.mark.ci
@pytest.mark.parametrize("text", re.findall(r"[^|\s][^|\n]*[^|\s]", INSIDE))
def test_keywords_in_forward_mean_what_pytorchs_do(text, torch):
    p, many = torch.linspace(-1, 1, 4, dtype=torch.double), "-1)" in text and "keepdim" not in text
    x = torch.tensor(X)
    expected = eval(text.replace("all(dim=-1)", "all(dim=-1, keepdim=True)") if many else text, {"torch": torch, "x": x,
                                                                                               "p": p})  # fmt: skip
    np.testing.assert_allclose(np.asarray(forward_of(text, torch)), expected.numpy(), rtol=1e-12)


SAME = (
    "zeros_like ones_like randn_like sign log1p expm1 log2 tan atan erf rsqrt outer diag mm bmm einsum addmm lerp "
    "hstack tile logical_and gt isnan topk"
)


@pytest.mark.ci
@pytest.mark.parametrize("name", SAME.split())
def test_a_function_in_forward_says_what_the_word_says(name, torch):
    arguments = {"einsum": "'...i->...', x", "hstack": "[x, x]", "addmm": "x, x, x", "lerp": "x, x, x"}
    two = ("outer", "mm", "bmm", "logical_and", "gt", "tile", "topk")
    text = arguments.get(name, "x, x" if name in two else "x")
    with pytest.raises(AttributeError) as word:
        forward_of(f"x.{name}", torch)
    with pytest.raises(TypeMismatchError) as function:
        forward_of(f"torch.{name}({text})", torch)
    said = str(word.value).partition(f"{name!r}: ")[2]
    assert len(said) > 5
    assert str(function.value).endswith(said)


@pytest.mark.ci
@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("x.softmax(-1, dtype=torch.double)", r"\.softmax\(\) has no argument 'dtype': numbers are float64"),
        ("torch.softmax(x, -1, dtype=torch.double)", r"torch\.softmax has no argument 'dtype'"),
        ("x.div(3, rounding_mode='floor')", r"\.div\(\) has no argument 'rounding_mode': use a / b"),
        ("x.exp().div_(3, rounding_mode='floor')", r"\.div\(\) has no argument 'rounding_mode'"),
        ("torch.where(x > 0)", r"torch\.where .* use sv\.where\(mask, a, b\)"),
        ("x.transpose(dim=0)", r"\.transpose\(\) takes \*dims"),
        ("x.sin(3)", r"\.sin\(\) takes no argument"),
        ("torch.linalg.norm(x, dim=-1)", r"use x\.norm\(dim=-1\)"),
        ("torch.autograd.grad(x, x)", "only weights keep a gradient"),
    ],
)
def test_messages_name_what_was_typed(text, said, torch):
    with pytest.raises(TypeMismatchError, match=said):
        forward_of(text, torch)


@pytest.mark.ci
@pytest.mark.parametrize("text", ["x.to(x.device)", "x.to('cpu')", "x.float()", "x.cuda()", "x.double()", "x.cpu()"])
def test_what_has_no_effect_in_forward_is_to_be_omitted(text, torch):
    with pytest.raises(AttributeError, match="omit"):
        forward_of(text, torch)


ON_NUMBERS = {
    "sigmoid": lambda torch, h: torch.sigmoid(h.squeeze(-1)),
    "exp and stack": lambda torch, h: torch.stack([torch.exp(h[..., 0]), h[..., 0]], -1),
    "clamp": lambda torch, h: torch.clamp(h.squeeze(-1), -0.1, 0.1),
    "sqrt of a square": lambda torch, h: torch.sqrt(torch.square(h.squeeze(-1)) + 1),
}


@pytest.mark.parametrize("name", ON_NUMBERS)
def test_functions_of_pytorch_take_a_single_number_inside_forward(name, torch):
    of = ON_NUMBERS[name]

    class Net(nn.Module):
        def __init__(self):
            self.fc = nn.Linear(3, 1, seed=0)

        def forward(self, x):
            return of(torch, self.fc(x))

    net, x = Net(), np.random.default_rng(0).normal(size=(4, 3))
    weight, bias = (torch.tensor(np.array(p.data), requires_grad=True) for p in net.parameters())
    wanted = of(torch, torch.nn.functional.linear(torch.tensor(x), weight, bias))
    np.testing.assert_allclose(net(x), wanted.detach().numpy(), rtol=1e-12)
    net(x).sum().backward()
    wanted.sum().backward()
    np.testing.assert_allclose(net.fc.weight.grad, weight.grad.numpy(), rtol=1e-12)
