"""Batches without a module: formulas of Parameters and arrays, and what else people of PyTorch type."""

import numpy as np
import pytest

import scalarviz as sv
import scalarviz.nn.functional as F
from scalarviz import nn, optim
from scalarviz.errors import StateError, TypeMismatchError

DRAW = np.random.default_rng(0)
X, CLASSES, Y = DRAW.normal(size=(6, 4)), DRAW.integers(0, 3, 6), DRAW.normal(size=(6, 3))
W, B, V = DRAW.normal(size=(4, 3)), DRAW.normal(size=3), DRAW.normal(size=(3, 3))
FORMULAS = [
    "F.cross_entropy(x @ w + b, c)", "((x @ w + b - y) ** 2).mean()", "F.nll_loss((x @ w).log_softmax(1), c)",
    "F.mse_loss(F.relu(x @ w + b) @ v, y)", "(b + x @ w).sigmoid().sum()",
    "F.cross_entropy((x @ w).tanh() @ v + b, c, reduction='none').sum()", "(x @ w)[:, 0].square().mean()",
    "F.mse_loss((x @ w)[:, 0], y[:, 0], reduction='none').square().sum()", "(x @ w).norm() + (w * w).sum()",
    "F.cross_entropy((x @ w).log_softmax(-1), c)", "(w.clone() * 2).sum() + (x @ w).mean()",
]  # fmt: skip


@pytest.mark.ci
@pytest.mark.parametrize("text", FORMULAS)
def test_a_formula_of_parameters_and_a_batch_has_pytorchs_gradients(text, torch):
    ours = {"w": nn.Parameter(W), "b": nn.Parameter(B), "v": nn.Parameter(V)}
    theirs = {name: torch.tensor(p.data.numpy(), requires_grad=True) for name, p in ours.items()}
    found = eval(text, {"F": F, "x": X, "c": CLASSES, "y": Y, **ours})
    wanted = eval(text, {"F": torch.nn.functional, "x": torch.tensor(X), "c": torch.tensor(CLASSES),
                         "y": torch.tensor(Y), **theirs})  # fmt: skip
    found.backward()
    wanted.backward()
    assert found.item() == pytest.approx(wanted.item(), rel=1e-12)
    for name, p in ours.items():
        expected = np.zeros(p.shape) if theirs[name].grad is None else theirs[name].grad.numpy()
        np.testing.assert_allclose(p.grad, expected, rtol=1e-10, atol=1e-12, err_msg=name)


@pytest.mark.ci
def test_a_layer_of_a_function_has_pytorchs_gradient(torch):
    weight, theirs = nn.Parameter(W.T), torch.tensor(W.T.copy(), requires_grad=True)
    F.linear(X, weight).square().sum().backward()
    torch.nn.functional.linear(torch.tensor(X), theirs).square().sum().backward()
    np.testing.assert_allclose(weight.grad, theirs.grad.numpy(), rtol=1e-12)


def test_a_formula_builds_no_object_for_each_weight():
    wide = nn.Parameter(np.ones((300, 300)))
    (np.ones((50, 300)) @ wide).sum().backward()
    assert len(list(wide.held())) == 0
    assert wide.grad[0, 0] == 50


def test_weights_that_changed_since_a_formula_are_refused():
    w = nn.Parameter(W)
    loss = (X @ w).sum()
    w.data += 1
    with pytest.raises(StateError, match="a weight has changed"):
        loss.backward()


@pytest.mark.parametrize("loss", ["mse_loss", "l1_loss", "smooth_l1_loss", "binary_cross_entropy_with_logits"])
def test_the_losses_of_one_column_have_its_shape(loss):
    column = nn.Linear(4, 3)(X)[:, 0]
    assert getattr(F, loss)(column, CLASSES % 2.0, reduction="none").shape == (6,)


def test_a_whole_number_beside_an_array_stays_one():
    class Heads(nn.Module):
        def __init__(self):
            self.heads = [nn.Linear(4, 2, seed=0), nn.Linear(4, 2, seed=1)]

        def forward(self, x, which=0):
            return self.heads[which](x) if which == 1 else self.heads[0](x)

    net = Heads()
    assert net(X[0], 1).data.tolist() == net(X[0], which=1).data.tolist() == net.heads[1](X[0]).data.tolist()


def test_a_clone_is_a_copy_that_passes_its_gradient_on():
    p = nn.Parameter(W)
    copy = p.clone()
    with sv.no_grad():
        number = p.clone()
        p.add_(1.0)
    assert copy.data.tolist() == number.tolist() == W.tolist()
    (p.clone() * 3).sum().backward()
    assert p.grad.tolist() == np.full(W.shape, 3.0).tolist()


def test_frozen_weights_do_not_count_in_the_norm_of_the_gradients():
    net = nn.Sequential(nn.Linear(4, 3), nn.Linear(3, 2))
    net[0].weight.requires_grad = net[0].bias.requires_grad = False
    net(X).square().sum().backward()
    expected = np.sqrt(sum((p.grad**2).sum() for p in net[1].parameters()))
    assert nn.utils.clip_grad_norm_(net.parameters(), 1e9) == pytest.approx(expected, rel=1e-12)


def test_noise_that_all_samples_share_is_said():
    class Noisy(nn.Module):
        def __init__(self):
            self.inner = nn.Linear(4, 4)

        def forward(self, x):
            return self.inner(x + np.random.randn(*x.shape))

    net = Noisy()
    with pytest.warns(RuntimeWarning, match="every sample of the batch gets the same ones"):
        net(X)


def test_words_that_change_rows_in_place_inside_forward():
    class InPlace(nn.Module):
        def __init__(self):
            self.inner = nn.Linear(4, 3)

        def forward(self, x):
            h = self.inner(x)
            h.mul_(2).add_(h, alpha=-0.25).clamp_(max=1.0)
            return h.relu_()

    net = InPlace()
    h = 1.5 * (X @ net.inner.weight.data.T + net.inner.bias.data)
    np.testing.assert_allclose(np.asarray(net(X)), np.clip(h, 0, 1), rtol=1e-12)


def test_the_first_of_the_parameters():
    net = nn.Linear(4, 3)
    left = net.parameters()
    assert next(net.parameters()) is net.weight
    assert [next(left), next(left), next(left, None)] == [net.weight, net.bias, None]


def test_an_optimiser_of_ones_own_in_pytorchs_words_is_told_how():
    class Own(optim.Optimizer):
        def __init__(self, params, lr):
            super().__init__(params, {"lr": lr})

        def step(self):
            pass

    with pytest.raises(TypeMismatchError, match=r"super\(\)\.__init__\(params, lr\)"):
        Own(nn.Linear(2, 1).parameters(), 0.1)


def test_outputs_in_functions_of_numpy_and_python():
    out = nn.Linear(4, 3)(X)
    assert out.argmax(1).view(dtype=np.int64).shape == (6,)
    assert np.random.default_rng(0).choice(3, p=F.softmax(out, dim=-1)[0]) in (0, 1, 2)
    assert round(out.sum(), 2) == round(out.sum().item(), 2)
    assert out.argsort(dim=1, descending=True)[:, 0].tolist() == out.argmax(1).tolist()
    with pytest.raises(TypeMismatchError, match=r"cannot take Values in place; use their numbers, x\.data"):
        net_weight = nn.Parameter(W)
        net_weight.data -= net_weight * 1.0 + 0.0


class Inside(nn.Module):
    def __init__(self, function):
        self.w, self.function = nn.Parameter([[1.0, 2.0], [3.0, 4.0]]), function

    def forward(self, x):
        return self.function(self.w) * x


INSIDE = {
    "a product": lambda w: (np.ones((2, 2)) @ w).sum(-2),
    "a layer": lambda w: F.linear(np.ones((2, 2)), w).sum(-2),
    "rolled": lambda w: (w * 1.0).roll(1, -1).sum(-2),
}


@pytest.mark.parametrize("name", INSIDE)
def test_a_formula_inside_forward_has_one_gradient_for_a_sample_a_batch_and_a_run(name):
    one, many, trained = (Inside(INSIDE[name]) for _ in range(3))
    one([1.0, 2.0]).sum().backward()
    many(np.array([[1.0, 2.0]])).sum().backward()
    assert one.w.grad.tolist() == many.w.grad.tolist() != [[0, 0], [0, 0]]
    run = sv.Run(trained, lambda o, t: sv.sum(o), optim.SGD(trained.parameters(), lr=1.0), ([[1.0, 2.0]], [[0.0]]))
    run.step(1)
    np.testing.assert_allclose(trained.w.data, one.w.data - one.w.grad, rtol=1e-6)


@pytest.mark.parametrize("function", [sv.sum, sv.softmax, lambda y: sv.cat([y, y]), lambda y: sv.dot(y, y)])
def test_numbers_of_a_batch_in_lists_do_not_lose_their_gradient_silently(function):
    with pytest.raises(TypeMismatchError, match="use the words of arrays"):
        function(list(X @ nn.Parameter(W[:, 0])))


def test_a_kernel_that_could_not_be_found_is_looked_for_again():
    net = nn.Linear(4, 3, seed=0)
    run = sv.Run(net, nn.MSELoss(), optim.SGD(net.parameters(), lr=0.1), (X, Y), engine="numba")
    run.step(2)
    net.freeze()
    before, kernel = net.weight.data.clone(), run._training.trainer._machines.kernel
    find, kernel._find = kernel._find, lambda name: (_ for _ in ()).throw(KeyboardInterrupt)
    with pytest.raises(KeyboardInterrupt):
        run.step(1)
    kernel._find = find
    run.step(2)
    assert net.weight.data.tolist() == before.tolist()
