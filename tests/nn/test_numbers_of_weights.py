"""The numbers of weights in PyTorch's words, its functions that fill a parameter, and its changes in place."""

import copy
import pickle

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import nn, optim
from scalarviz.errors import InputError, StateError, TypeMismatchError

WORDS = [
    "x.norm()", "x.norm(1)", "x.abs().max()", "x.abs().mean()", "x.data.norm(2).item()", "x.clone()", "x.pow(2).sum()",
    "x.detach().cpu().numpy()", "x.numel()", "x.dim()", "x.size()", "x.size(0)", "x.view(-1)", "x.view(3, 2)", "x.t()",
    "x.square().mean().sqrt()", "x.add_(g)", "x.add_(g, alpha=-0.1)", "x.sub_(g, alpha=2)", "x.mul_(0.9)", "x.div_(2)",
    "x.addcmul_(g, g, value=0.5)", "x.addcdiv_(g, g.abs() + 1, value=-0.1)", "x.lerp_(g, 0.25)", "x.copy_(g)",
    "x.fill_(0.5)", "x.zero_()", "x.clamp_(-0.5, 0.5)", "x.mul_(0.9).add_(g, alpha=0.1)", "x.neg_()", "x.exp_()",
    "x.tolist()", "x.flatten()", "x.unsqueeze(0)", "(x > 0).sum()", "x.gt(0).double().mean()", "x.double().mean()",
    "x.sigmoid()", "x.requires_grad", "x.argmax()", "x.device", "x.sum(dim=1)", "x.mean(dim=0)", "x.std(dim=1)",
    "x.max(dim=1).values", "x.argmax(dim=1)", "x.min(dim=0, keepdim=True)[0]", "x.prod(dim=0)", "x.cumsum(dim=1)",
    "x.var(dim=0, unbiased=False)", "(x > 0).any(dim=1)", "x.mean(1, keepdim=True)", "x.isnan()", "x.isfinite().all()",
]  # fmt: skip


def numbers(found):
    return [numbers(one) for one in found] if isinstance(found, tuple) else np.asarray(found)


@pytest.mark.ci
@pytest.mark.parametrize("text", WORDS)
def test_words_of_data_and_grad_give_pytorchs_numbers(text, torch):
    given, other = np.random.default_rng(0).normal(size=(2, 2, 3))
    p = nn.Parameter(given)
    p.grad = other
    theirs = {"x": torch.tensor(given), "g": torch.tensor(other)}
    expected, found = eval(text, theirs), eval(text, {"x": p.data, "g": p.grad})
    if text == "x.device":
        assert found == str(expected)
        return
    np.testing.assert_allclose(numbers(found), numbers(expected), rtol=1e-12)
    np.testing.assert_allclose(p.data, theirs["x"], rtol=1e-12)


def test_data_is_a_numpy_array_and_a_live_view():
    p = nn.Parameter([[1.0, 2.0], [3.0, 4.0]])
    seen = p.data
    p[0][0].data = 9.0
    assert seen[0, 0] == 9.0
    assert seen.std() == np.std([9.0, 2.0, 3.0, 4.0])
    for copied in (pickle.loads(pickle.dumps(seen)), copy.deepcopy(seen).numpy(), p.data.numpy()):
        assert type(copied) is np.ndarray
        assert copied.tolist() == seen.tolist()
    assert repr(seen) == repr(np.array(seen.tolist()))
    with pytest.raises(AttributeError, match=r"an array of numbers has no attribute 'topl'"):
        _ = p.data.topl


CHANGES = ["p.mul_(0.9)", "p.add_(g, alpha=-0.1)", "p.copy_(g)", "p.zero_()", "p.fill_(2)", "p.clamp_(-0.1, 0.1)"]


@pytest.mark.parametrize("text", CHANGES)
def test_a_parameter_changes_in_place_only_where_no_gradient_is_wanted(text):
    given, other = np.random.default_rng(0).normal(size=(2, 2, 3))
    p = nn.Parameter(given)
    with pytest.raises(StateError, match=r"only under sv\.no_grad\(\)"):
        eval(text, {"p": p, "g": other})
    np.testing.assert_array_equal(p.data, given)
    with sv.no_grad():
        assert eval(text, {"p": p, "g": other}) is p
    expected = nn.Parameter(given)
    eval(text.replace("p.", "p.data."), {"p": expected, "g": other})
    np.testing.assert_array_equal(p.data, expected.data)


FILLS = [
    "constant_({}, 0.3)", "zeros_({})", "ones_({})", "eye_({})", "normal_({}, 1.0, 0.02)", "uniform_({}, -0.1, 0.2)",
    "trunc_normal_({}, std=0.02)", "trunc_normal_({}, 0.0, 1.0, -0.5, 1.0)", "xavier_uniform_({})",
    "xavier_normal_({}, gain=2.0)", "kaiming_uniform_({}, a=5 ** 0.5)", "kaiming_normal_({}, nonlinearity='relu')",
    "kaiming_normal_({}, mode='fan_out', nonlinearity='tanh')", "orthogonal_({})",
]  # fmt: skip


@pytest.mark.ci
@pytest.mark.parametrize("text", FILLS)
def test_a_filled_parameter_is_distributed_as_pytorchs(text, torch):
    p, theirs = nn.Parameter(np.zeros((200, 300))), torch.zeros(200, 300, dtype=torch.float64)
    nn.init.manual_seed(0)
    torch.manual_seed(0)
    assert eval(f"init.{text.format('p')}", {"init": nn.init, "p": p}) is p
    eval(f"init.{text.format('p')}", {"init": torch.nn.init, "p": theirs})
    found, expected = p.data, theirs.numpy()
    shares = np.linspace(0.01, 0.99, 99)  # the ends of a normal distribution differ from draw to draw
    assert np.abs(np.quantile(found, shares) - np.quantile(expected, shares)).max() <= 0.05 * max(expected.std(), 1e-9)
    assert abs(found.std() - expected.std()) <= 0.02 * expected.std()
    if "orthogonal" in text:
        np.testing.assert_allclose(p.data @ p.data.T, np.eye(200), atol=1e-12)


@pytest.mark.ci
def test_gains_are_pytorchs(torch):
    for name, slope in [("tanh", None), ("relu", None), ("leaky_relu", 0.2), ("leaky_relu", None), ("linear", None),
                        ("sigmoid", None), ("selu", None), ("conv2d", None)]:  # fmt: skip
        assert nn.init.calculate_gain(name, slope) == pytest.approx(torch.nn.init.calculate_gain(name, slope))


def test_a_convolution_counts_its_window():
    nn.init.manual_seed(0)
    layer = nn.Conv2d(3, 8, 5)
    nn.init.kaiming_uniform_(layer.weight, nonlinearity="relu")
    assert 0.9 < np.abs(layer.weight.data).max() / np.sqrt(6 / (3 * 25)) <= 1


def test_what_is_filled_may_be_data_and_the_function_of_apply():
    def start(layer):
        if isinstance(layer, nn.Linear):
            nn.init.ones_(layer.weight)
            layer.bias.data.fill_(0.01)

    net = nn.Sequential(nn.Linear(2, 3), nn.Tanh(), nn.Linear(3, 1))
    net.apply(start)
    nn.init.constant_(net[2].weight.data, 4)
    assert net[0].weight.data.tolist() == [[1, 1]] * 3
    assert net[2].weight.data.tolist() == [[4, 4, 4]]
    assert net[0].bias.data.tolist() == [0.01] * 3


@pytest.mark.parametrize(
    ("text", "error", "said"),
    [
        ("nn.init.zeros_([1.0])", TypeMismatchError, "must be a Parameter or its data, got list"),
        ("nn.init.xavier_uniform_(nn.Parameter([1.0]))", InputError, "two dimensions or more"),
        ("nn.init.kaiming_normal_(nn.Parameter([[1.0]]), mode='fan')", InputError, "mode"),
        ("nn.init.calculate_gain('swish')", InputError, "nonlinearity"),
        ("nn.init.trunc_normal_(nn.Parameter([1.0]), 0, 1, 30, 40)", InputError, "no number lies between"),
        ("nn.init.xavier_normal(nn.Parameter([[1.0]]))", AttributeError, "use nn.init.xavier_normal_"),
        ("nn.init.sparse_(nn.Parameter([[1.0]]), 0.1)", AttributeError, "assign an array"),
        ("nn.Linear(2, 1).to('cuda')", InputError, "weights are on the CPU"),
        ("nn.Linear(2, 1).to(np.float32)", InputError, "weights are on the CPU"),
        ("optim.SGD(nn.Linear(2, 1).parameters()).zero_grad(set_to_none=False)", InputError, "omit it"),
        ("nn.Linear(2, 1).zero_grad(set_to_none='no')", TypeMismatchError, "set_to_none"),
        ("nn.Sequential(nn.Tanh()).__setitem__(1, nn.Tanh())", IndexError, "Sequential"),
        ("nn.Sequential(nn.Tanh()).__setitem__(0, nn.Tanh)", TypeMismatchError, "did you mean Tanh"),
    ],
)
def test_refusals(text, error, said):
    with pytest.raises(error, match=said):
        eval(text, {"nn": nn, "optim": optim, "np": np})


def test_module_words_that_change_nothing():
    net = nn.Sequential(nn.Linear(2, 3), nn.Tanh())
    assert net.to("cpu").to(device="cpu").double().cpu() is net
    net[1] = nn.ReLU()
    assert [type(part).__name__ for part in net] == ["Linear", "ReLU"]
    net(np.ones((4, 2))).sum().backward()
    net.zero_grad(set_to_none=True)
    assert not net[0].weight.has_grad


def test_words_that_look_at_numbers_in_another_way_share_their_memory():
    p = nn.Parameter(np.zeros((4, 2)))
    p.data.chunk(4)[1][...] = 1
    p.data.narrow(0, 2, 1).fill_(2)
    p.data.t()[1, 3] = 3
    for row in p.data.unbind(0):
        row[...] = row + 10
    p.data.detach()[0] = 5
    assert p.data.tolist() == [[5, 5], [11, 11], [12, 12], [10, 13]]


def test_reductions_are_numpys_numbers_and_sizes_copy():
    p = nn.Parameter([[1.0, 2.0]])
    for found in (p.data.sum(), p.data.mean(), p.data.max(), p.data.std()):
        assert type(found) is np.float64
    assert copy.deepcopy(p.size) == pickle.loads(pickle.dumps(p.size)) == 2
    assert p.data.view("i8").dtype == np.int64
    with pytest.raises(AttributeError, match=r"write x = x\.unsqueeze"):
        p.data.unsqueeze_(0)
    with pytest.raises(TypeError, match="same_kind"):
        nn.BatchNorm1d(2).state_dict()["num_batches_tracked"].add_(0.5)


def test_assigning_to_outputs_without_a_graph_reaches_them():
    y = nn.Linear(3, 2)(np.ones((4, 3))).detach()
    y[0], y[1:2], y[[2]] = 7, 8, 9
    assert y[:3].tolist() == [[7, 7], [8, 8], [9, 9]]
    assert np.cumsum(y > 7.5).tolist() == [0, 0, 1, 2, 3, 4, 4, 4]


@pytest.mark.ci
def test_a_buffer_knows_pytorchs_words_and_takes_a_tensor(torch):
    def moved(kind):
        net = kind()
        net.register_buffer("mean", torch.zeros(4, dtype=torch.double))
        for x in torch.linspace(-1, 1, 8, dtype=torch.double).reshape(2, 4):
            net.mean = 0.9 * net.mean + 0.1 * x
            net.mean.mul_(0.5).add_(x, alpha=0.25)
        return net

    ours, theirs = moved(nn.Module), moved(torch.nn.Module)
    for net in (ours, copy.deepcopy(ours), pickle.loads(pickle.dumps(ours))):
        np.testing.assert_allclose(net.mean, theirs.mean, rtol=1e-12)
        net.mean.zero_()
        assert net.state_dict()["mean"].tolist() == [0, 0, 0, 0]
        net.load_state_dict(theirs.state_dict())
        np.testing.assert_array_equal(net.mean, theirs.mean)


def test_a_buffer_may_be_set_to_outputs():
    net = nn.Linear(3, 2, seed=0)
    net.register_buffer("mean", np.zeros(2))
    found = net(np.ones((4, 3))).mean(0)
    net.mean = found
    assert net.mean is found
    expected = 2 * found.numpy()
    net.mean = found.detach()
    net.mean.mul_(2)
    np.testing.assert_array_equal(net.state_dict()["mean"], expected)
