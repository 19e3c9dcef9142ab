"""Opened steps of every kind of network: terms make the gradient, and PyTorch finds the same deltas."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import scalarviz as sv
from scalarviz import Run, nn, optim

RANDOM = np.random.default_rng(0)
ROWS = RANDOM.uniform(-1, 1, (12, 4))
PICTURES = RANDOM.uniform(-1, 1, (6, 2, 4, 4))
NUMBERS, CLASSES = RANDOM.uniform(0.1, 0.9, (12, 3)), RANDOM.integers(0, 3, 12)


def norm(layer, seed=3):
    """Weights that are no ones and zeros, statistics that are no zeros and ones."""
    random = np.random.default_rng(seed)
    for block in layer.parameters():
        block.values[:] = random.uniform(0.5, 1.5, block.size)
    for name, shift in (("running_mean", 0.3), ("running_var", 1.7)):
        if hasattr(layer, name):
            getattr(layer, name)[...] = shift
    return layer


class Residual(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.act = nn.Linear(4, 4, seed=5), nn.Tanh()

    def forward(self, x):
        return [u + v for u, v in zip(x, self.act(self.a(x)), strict=True)]


class Attention(nn.Module):
    """Two tokens of two numbers, one head."""

    def __init__(self):
        super().__init__()
        self.q, self.k, self.v = (nn.Linear(2, 2, bias=False, seed=s) for s in range(3))
        self.weigh, self.out = nn.Softmax(), nn.Linear(4, 3, seed=9)

    def forward(self, x):
        tokens = [x[:2], x[2:]]
        q, k, v = ([layer(t) for t in tokens] for layer in (self.q, self.k, self.v))
        shares = [self.weigh([sv.dot(one, other) for other in k]) for one in q]
        return self.out([sv.dot(share, [one[c] for one in v]) for share in shares for c in range(2)])


class Waves(nn.Module):
    """Numbers that are made of the sample alone: fast ones are others in another precision."""

    def __init__(self, speed=1):
        super().__init__()
        self.speed = speed

    def forward(self, x):
        return [f(k * self.speed * v) for v in x for k in (1, 2) for f in (sv.sin, sv.cos)]


class Derived(nn.Module):
    """A layer whose weights are made of others: a product of two matrices, scaled."""

    def __init__(self):
        super().__init__()
        self.a, self.b, self.scale = nn.Linear(2, 3, seed=1), nn.Linear(4, 2, seed=2), sv.Weight(0.5, name="scale")

    def forward(self, x):
        rows = []
        for i in range(3):
            column = [sv.dot([self.a.weight[i][k] for k in range(2)], [self.b.weight[k][j] for k in range(2)])
                      for j in range(4)]  # fmt: skip
            rows.append(sv.dot([c * self.scale.exp() for c in column], x) + self.a.bias[i])
        return rows

    def parameters(self):
        return [*super().parameters(), self.scale]


class LearntInputs(nn.Module):
    """Weights beside the numbers of a sample, and in the place of a channel of its picture."""

    def __init__(self, picture):
        super().__init__()
        self.own, self.picture = nn.Linear(2 * 16 if picture else 3, 1, bias=False, seed=3), picture
        self.reader = nn.Conv2d(3, 2, 3, seed=4) if picture else nn.Linear(7, 3, seed=4)
        self.last = nn.Linear(8, 3, seed=5) if picture else nn.Sigmoid()

    def forward(self, x):
        own = list(self.own.weight[0])
        if not self.picture:
            return self.last(self.reader([*x, *own]))
        rows = self.reader([x[0], [own[4 * k : 4 * k + 4] for k in range(4)], x[1]])
        return self.last([v for channel in rows for row in channel for v in row])


def pulled(outputs, targets):
    """A loss that reads weights: they stand on either side of a square."""
    first, second, *rest = outputs
    pairs = [(targets[0], first), (second, targets[1]), (targets[2], rest[0] * second)]
    return sum(((a - b) ** 2 for a, b in pairs), sv.Value(0.0)) * 0.7


class Outputs(nn.Module):
    """What it returns are weights, and one number that is not."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 1, seed=6)

    def forward(self, x):
        return [self.layer.weight[0][1], self.layer.weight[0][2], self.layer(x)[0]]


def tied():
    layer = nn.Linear(4, 4, seed=1)
    return nn.Sequential(layer, nn.Tanh(), layer, nn.Sigmoid(), nn.Linear(4, 3, seed=2))


def users(outputs, targets):
    """A loss of the user's own."""
    return sum((sv.abs(o - t) ** 1.5 for o, t in zip(outputs, targets, strict=True)), sv.Value(0.0))


def mlp(*last):
    return nn.Sequential(nn.Linear(4, 5, seed=1), nn.Tanh(), nn.Linear(5, 3, seed=2), *last)


def pictures(*middle, flat):
    return nn.Sequential(nn.Conv2d(2, 3, 3, padding=1, seed=1), *middle, nn.Flatten(), nn.Linear(flat, 3, seed=2))


NETWORKS = {
    "mlp": (lambda: mlp(nn.Sigmoid()), ROWS, NUMBERS, nn.MSELoss()),
    "sum": (mlp, ROWS, NUMBERS, nn.MSELoss(reduction="sum")),
    "relu": (lambda: nn.Sequential(nn.Linear(4, 6, seed=1), nn.ReLU(), nn.Linear(6, 3, seed=2), nn.LeakyReLU()), ROWS,
             NUMBERS, nn.HuberLoss()),
    "classes": (mlp, ROWS, CLASSES, nn.CrossEntropyLoss()),
    "binary": (lambda: mlp(nn.Sigmoid()), ROWS, NUMBERS, nn.BCELoss()),
    "users loss": (mlp, ROWS, NUMBERS, users),
    "learnt inputs": (lambda: LearntInputs(False), ROWS, NUMBERS, nn.MSELoss()),
    "learnt channel": (lambda: LearntInputs(True), PICTURES, CLASSES[:6], nn.CrossEntropyLoss()),
    "weights in the loss": (Outputs, ROWS, NUMBERS, pulled),
    "tied": (tied, ROWS, NUMBERS, nn.MSELoss()),
    "residual": (lambda: nn.Sequential(Residual(), nn.Linear(4, 3, seed=1)), ROWS, NUMBERS, nn.MSELoss()),
    "attention": (Attention, ROWS, NUMBERS, nn.MSELoss()),
    "encoded": (lambda: nn.Sequential(Waves(), nn.Linear(16, 3, seed=1), nn.Sigmoid()), ROWS, NUMBERS, nn.MSELoss()),
    "fast waves": (lambda: nn.Sequential(Waves(900), nn.Linear(16, 3, seed=1), nn.Sigmoid()), ROWS, NUMBERS,
                   nn.MSELoss()),
    "derived": (Derived, ROWS, NUMBERS, nn.MSELoss()),
    "layer norm": (lambda: nn.Sequential(nn.Linear(4, 5, seed=1), norm(nn.LayerNorm(5)), nn.Linear(5, 3, seed=2)), ROWS,
                   NUMBERS, nn.MSELoss()),
    "batch norm": (lambda: nn.Sequential(nn.Linear(4, 5, seed=1), norm(nn.BatchNorm1d(5)).eval(),
                   nn.Linear(5, 3, seed=2)), ROWS, NUMBERS, nn.MSELoss()),
    "softmax": (lambda: mlp(nn.Softmax()), ROWS, NUMBERS, nn.MSELoss()),
    "conv, max pool": (lambda: pictures(nn.ReLU(), nn.MaxPool2d(2), flat=12), PICTURES, CLASSES[:6],
                       nn.CrossEntropyLoss()),
    "conv, mean pool": (lambda: pictures(nn.Tanh(), nn.AvgPool2d(2), flat=12), PICTURES, CLASSES[:6],
                        nn.CrossEntropyLoss()),
    "conv, norm, conv": (lambda: pictures(norm(nn.BatchNorm2d(3)).eval(), nn.ReLU(), nn.Conv2d(3, 2, 2, stride=2,
                         seed=4), flat=8), PICTURES, CLASSES[:6], nn.CrossEntropyLoss()),
}  # fmt: skip
KINDS = [pytest.param(name, id=name) for name in NETWORKS]


def run_of(name, engine="numpy", dtype="float64", batch=4):
    make, x, y, loss = NETWORKS[name]
    net = make()
    # where a gradient is nearly 0 Adam divides rounding by rounding; this one moves along the gradient itself
    optimizer = optim.SGD(net.parameters(), lr=0.01, momentum=0.5)
    return Run(net, loss, optimizer, (x, y), batch_size=batch, seed=5, engine=engine, dtype=dtype)


def sums(opened):
    found = [opened.terms(i) for i in range(len(opened.values))]
    return np.array([t.sum for t in found]), np.array([t.absolute for t in found])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("engine", ["objects", "numpy", "numba"])
@pytest.mark.parametrize("name", KINDS)
def test_terms_gradient_and_the_engine_agree(name, engine, dtype):
    run = run_of(name, engine, dtype)
    run.step(2)
    opened = run.open()
    total, sizes = sums(opened)
    assert np.linalg.norm(total - opened.gradient) <= 1e-12 * np.linalg.norm(sizes)
    run.step(1)
    bound = 1e-5 if dtype == "float32" else 1e-12
    assert np.linalg.norm(run.frame().gradient - opened.gradient) <= bound * np.linalg.norm(sizes)
    assert run.loss == pytest.approx(opened.loss, rel=bound, abs=bound)
    rounding = np.finfo(dtype).eps * np.linalg.norm(opened.values)
    assert np.linalg.norm(run.values - opened.new_values) <= rounding + 0.01 * bound * np.linalg.norm(sizes)


@pytest.mark.parametrize("name", KINDS)
def test_the_list_is_all_of_it_where_it_is_not_capped(name):
    opened = run_of(name).open()
    for index in range(0, len(opened.values), 3):
        terms = opened.terms(index, most=10**6)
        assert len(terms) == terms.count
        assert terms.products.sum() == pytest.approx(terms.sum, rel=1e-12, abs=1e-15)
        assert np.abs(terms.products).sum() == pytest.approx(terms.absolute, rel=1e-12)
        assert set(terms["sample"]) <= set(opened.batch.tolist())
        assert len(terms.at) == len(terms.met) == len(terms.uses)
        few = opened.terms(index, most=3)
        largest = np.sort(np.abs(terms.products))[::-1][:3]
        np.testing.assert_allclose(np.sort(np.abs(few.products))[::-1], largest, rtol=1e-12)
        assert few.sum == terms.sum
        if terms.count > 3:
            assert few.said == f"3 of {terms.count:,}"


@pytest.mark.parametrize("name", KINDS)
def test_blocks_of_samples_change_nothing(name, monkeypatch):
    run = run_of(name, batch=None)
    whole = run.open()
    run._network.lanes = 5
    monkeypatch.setattr("scalarviz.run.opened.passes.KEPT_BYTES", 0)
    monkeypatch.setattr("scalarviz.run.opened.passes.SHOWN_BYTES", 0)
    blocks = run.open()
    np.testing.assert_allclose(blocks.gradient, whole.gradient, rtol=1e-12, atol=1e-15)
    assert blocks.loss == pytest.approx(whole.loss, rel=1e-13)
    assert blocks.shown == 1
    for stage in whole.stages:
        np.testing.assert_allclose(blocks.rows[stage.name], whole.rows[stage.name][:, :1], rtol=1e-12)
        np.testing.assert_allclose(blocks.deltas[stage.name], whole.deltas[stage.name][:, :1], rtol=1e-11, atol=1e-15)
        np.testing.assert_allclose(blocks.means[stage.name], whole.rows[stage.name].mean(axis=1), atol=1e-13)
        np.testing.assert_allclose(blocks.delta_sums[stage.name], whole.deltas[stage.name].sum(axis=1), atol=1e-13)
    for index in (0, len(whole.values) - 1):
        mine, theirs = blocks.terms(index, 7), whole.terms(index, 7)
        assert mine["sample"].tolist() == theirs["sample"].tolist()
        np.testing.assert_allclose(mine.products, theirs.products, rtol=1e-11, atol=1e-15)


# PyTorch


SIZES = {
    "Linear": "in_features out_features", "LayerNorm": "normalized_shape", "BatchNorm1d": "num_features",
    "BatchNorm2d": "num_features", "Conv2d": "in_channels out_channels kernel_size stride padding",
    "MaxPool2d": "kernel_size", "AvgPool2d": "kernel_size", "LeakyReLU": "negative_slope",
}  # fmt: skip


def twin(net):
    """The same layers in PyTorch, with the same numbers."""
    torch = pytest.importorskip("torch", reason="no PyTorch (extra oracle)")
    made = []
    for layer in net:
        kind = type(layer).__name__
        sizes = [-1] if kind == "Softmax" else [getattr(layer, name) for name in SIZES.get(kind, "").split()]
        made.append(getattr(torch.nn, kind)(*sizes).double().eval())
    other = torch.nn.Sequential(*made)
    own = {name: torch.tensor(np.array(array, float)) for name, array in net.state_dict().items()}
    other.load_state_dict(own, strict=False)
    return torch, other


CHAINS = [
    "mlp", "sum", "relu", "classes", "binary", "layer norm", "batch norm", "softmax", "conv, max pool",
    "conv, mean pool", "conv, norm, conv",
]  # fmt: skip


@pytest.mark.parametrize("name", CHAINS)
def test_pytorch_finds_the_same_rows_deltas_and_gradient(name):
    run = run_of(name)
    torch, net = twin(run.model)
    opened = run.open()
    x, y = NETWORKS[name][1][opened.batch], NETWORKS[name][2][opened.batch]
    loss_function = NETWORKS[name][3]
    given, made = torch.tensor(x), {}
    for k, layer in enumerate(net):
        given = layer(given)
        given.retain_grad()
        made[str(k)] = given
    reduction = getattr(loss_function, "reduction", "mean")
    loss = getattr(torch.nn, type(loss_function).__name__)(reduction=reduction)(given, torch.tensor(y))
    loss.backward()
    assert opened.loss == pytest.approx(loss.item(), rel=1e-10)
    for stage in opened.stages:
        rows, deltas = made[stage.name].detach().numpy(), made[stage.name].grad.numpy()
        np.testing.assert_allclose(opened.rows[stage.name], rows.reshape(len(x), -1).T, rtol=1e-10, atol=1e-12)
        np.testing.assert_allclose(opened.deltas[stage.name], deltas.reshape(len(x), -1).T, rtol=1e-9, atol=1e-12)
    theirs = {name: p.grad.numpy() for name, p in net.named_parameters()}
    for tensor in opened.tensors:
        wanted = np.zeros(tensor.shape) if tensor.buffer else theirs[tensor.name]
        np.testing.assert_allclose(tensor.of(opened.gradient), wanted, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", CHAINS)
def test_every_term_is_of_the_stage_that_its_weight_is_of(name):
    opened = run_of(name).open()
    for tensor in (tensor for tensor in opened.tensors if not tensor.buffer):
        for index in range(tensor.start, tensor.start + tensor.size):
            terms = opened.terms(index)
            assert {place.stage for place in terms.at} == {tensor.name.partition(".")[0]}
            before = {None if place is None else place.stage for place in terms.met}
            assert "loss" not in before


class Widened(nn.Module):
    """Two learnt numbers beside one of the sample."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 2, seed=1)

    def forward(self, x):
        return [*self.layer(x), x[0] * 1.0]


def test_what_no_weight_stands_before_has_no_deltas():
    opened = run_of("encoded").open()
    assert np.isnan(opened.deltas["0"]).all()
    assert np.isnan(opened.delta_sums["0"]).all()
    assert not any(np.isnan(opened.deltas[stage.name]).any() for stage in opened.stages[1:])
    net = nn.Sequential(Widened(), nn.Linear(3, 3, seed=2))
    run = Run(net, nn.MSELoss(), optim.SGD(net.parameters(), lr=0.1), (ROWS, NUMBERS), engine="numpy")
    opened = run.open()
    missing = {s.name: np.isnan(opened.deltas[s.name]).all(axis=1).tolist() for s in opened.stages}
    assert missing == {"0.layer": [False] * 2, "0": [False, False, True], "1": [False] * 3}


def test_inner_rows_are_of_the_stage_that_is_made_of_them():
    weights = [sv.Weight(0.3 + k, name=f"w{k}") for k in range(4)]
    layer = nn.Linear(3, 3, seed=1)

    def model(x):
        return layer([sv.sin(sv.tanh(w * v)) for w, v in zip(weights, x, strict=True)][:3])

    optimizer = optim.SGD([*weights, *layer.parameters()], lr=0.1)
    opened = Run(model, nn.MSELoss(), optimizer, (ROWS, NUMBERS), engine="numpy").open()
    (stage,) = opened.stages
    for k in range(3):
        (use,) = opened.terms(f"w{k}").at
        (met,) = opened.terms(f"w{k}").met
        assert use.stage == stage.name
        assert use.units == (-1,)
        assert (met.stage, met.units) == ("input", (k,))
    assert opened.terms("w3").at == ()
    assert {place.stage for place in opened.terms("weight[2][1]").at} == {stage.name}


def test_pytorch_finds_the_same_terms_of_a_convolution():
    """The gradient of each sample alone is the sum of its positions."""
    run = run_of("conv, max pool")
    torch, net = twin(run.model)
    opened = run.open()
    terms = opened.terms("0.weight[1][0][2][0]", most=10**6)
    assert terms.count == 4 * 16
    for place, sample in enumerate(opened.batch.tolist()):
        net.zero_grad()
        out = net(torch.tensor(PICTURES[sample : sample + 1]))
        (torch.nn.functional.cross_entropy(out, torch.tensor(CLASSES[sample : sample + 1])) / 4).backward()
        mine = terms.array[terms["sample"] == sample]
        assert mine["position"].tolist() == list(range(16))
        assert (mine["delta"] * mine["x"]).sum() == pytest.approx(net[0].weight.grad[1, 0, 2, 0].item(), abs=1e-14)
        # what the weight meets at a position is the pixel that lies two below and one to the left of it
        padded = np.pad(PICTURES[sample], ((0, 0), (1, 1), (1, 1)))
        np.testing.assert_array_equal(mine["x"].reshape(4, 4), padded[0, 2:6, 0:4])
        np.testing.assert_array_equal(mine["delta"], opened.deltas["0"][16:32, place])
    (at,), (met,) = terms.at, terms.met
    assert (at.stage, at.units) == ("0", tuple(range(16, 32)))
    numbered = np.pad(np.arange(16).reshape(4, 4), 1, constant_values=-1)
    assert (met.stage, met.units) == ("input", tuple(numbered[2:6, 0:4].ravel().tolist()))


# formulas of the user's own


OPERATIONS = {
    "add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b,
    "div": lambda a, b: a / (b * b + 1.5), "pow": lambda a, b: (a * a + 0.5) ** b, "tanh": lambda a, b: sv.tanh(a),
    "sigmoid": lambda a, b: sv.sigmoid(a), "softplus": lambda a, b: sv.softplus(a), "sin": lambda a, b: sv.sin(a),
    "cos": lambda a, b: sv.cos(a), "exp": lambda a, b: sv.exp(sv.tanh(a)), "log": lambda a, b: sv.log(a * a + 1.0),
    "sqrt": lambda a, b: sv.sqrt(a * a + 1.0), "neg": lambda a, b: -a, "square": lambda a, b: a**2,
    "relu": lambda a, b: sv.relu(a), "leaky": lambda a, b: sv.leaky_relu(a, 0.1), "abs": lambda a, b: sv.abs(a),
    "minimum": sv.minimum, "maximum": sv.maximum, "clip": lambda a, b: sv.clip(a, -0.7, b),
    "where": lambda a, b: sv.where(a > b, a * b, b), "max": lambda a, b: sv.max([a, b, 0.1]),
    "dot": lambda a, b: sv.dot([a, b], [b, 0.3], a), "weighted": lambda a, b: sv.dot([0.5, -0.25], [a, b]),
    "logsumexp": lambda a, b: sv.logsumexp([a, b, a * b]),
}  # fmt: skip


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from(sorted(OPERATIONS)), st.integers(0, 99), st.integers(0, 99)), min_size=1,
             max_size=14),
    st.integers(0, 10**6),
)  # fmt: skip
def test_any_formula_is_the_sum_of_its_terms(program, seed):
    random = np.random.default_rng(seed)
    weights = [sv.Weight(w, name=f"w{k}") for k, w in enumerate(random.uniform(-1, 1, 3))]
    x, y = random.uniform(-1, 1, (5, 2)), random.uniform(-1, 1, (5, 1))

    def model(inputs):
        pool = [*weights, *inputs]
        for name, a, b in program:
            pool.append(OPERATIONS[name](pool[a % len(pool)], pool[b % len(pool)]))
        return [sv.tanh(pool[-1]) + sv.tanh(pool[len(pool) // 2]) * weights[0]]

    run = Run(model, nn.MSELoss(), optim.SGD(weights, lr=0.1), (x, y), batch_size=3, engine="objects", dtype="float64")
    opened = run.open()
    total, sizes = sums(opened)
    assert np.linalg.norm(total - opened.gradient) <= 1e-12 * np.linalg.norm(sizes)
    run.step(1)  # the objects' own backward, which knows no programs
    assert np.linalg.norm(run.frame().gradient - opened.gradient) <= 1e-10 * np.linalg.norm(sizes)
    assert run.loss == pytest.approx(opened.loss, rel=1e-12)
    for index in range(3):
        assert opened.update(index).after == pytest.approx(run.values[index], rel=1e-9, abs=1e-12)
