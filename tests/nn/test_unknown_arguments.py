"""Arguments and attributes that nothing reads are refused, in words; what PyTorch has and we honour is honoured."""

from __future__ import annotations

import copy
import inspect
import pickle

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import Value, nn, optim


class Plain(nn.Module):
    def forward(self, x):
        return x


class Own(nn.Module):
    def __init__(self, width):
        self.width = width


class Mixin:
    def __init__(self, size):
        self.size = size


class Mixed(nn.Module, Mixin):
    pass


@pytest.mark.parametrize(
    "call",
    [
        lambda: Plain(1, 2, hidden=3),
        lambda: Plain(hidden=3),
        lambda: Own(1, 2),
        lambda: Own(1, hidden=3),
        Own,
        lambda: Mixed(1, 2),
    ],
)
def test_a_users_module_has_pythons_own_check(call):
    with pytest.raises(TypeError) as caught:
        call()
    assert not isinstance(caught.value, sv.ScalarvizError)


def test_a_module_beside_another_base_hands_its_arguments_on():
    assert Mixed(3).size == 3


def test_a_module_is_whole_without_its_base_constructor():
    net = Own(3)
    twin = pickle.loads(pickle.dumps(net))
    assert (vars(net), vars(twin)) == ({"width": 3}, {"width": 3})
    holder = nn.Sequential(Plain(), nn.Linear(1, 1))
    assert [name for name, _ in copy.deepcopy(holder).named_parameters()] == ["1.weight", "1.bias"]


def weights():
    return [sv.Weight(1.0)]


REFUSED = [
    (lambda: nn.ReLU(banana=3), r"ReLU has no argument 'banana'\. It takes none"),
    (lambda: nn.ReLU(inplace=True), "ReLU has no argument 'inplace': the numbers of a graph are never overwritten"),
    (lambda: nn.Tanh(True), "Tanh takes no argument without a name, got 1"),
    (lambda: nn.Identity(54, unused=1), "Identity has no argument 'unused'"),
    (lambda: nn.Softplus(treshold=10), "Softplus has no argument 'treshold'; did you mean 'threshold'"),
    (lambda: nn.Softplus(beta=0), "Softplus: beta must be a finite number > 0, got 0"),
    (lambda: nn.Softplus(beta=float("nan")), "beta must be a finite number > 0"),
    (lambda: nn.Linear(2, 3, device="cuda"), r"Linear has no argument 'device': .*sv\.Run\(.*engine="),
    (lambda: nn.Linear(2, 3, dtype=float), "Linear has no argument 'dtype'"),
    (lambda: nn.Linear(2, 3, biass=False), r"'biass'; did you mean 'bias'\? It takes n_in, n_out, bias=True"),
    (lambda: nn.Linear(in_features=2, n_out=3), "'in_features': it is called n_in here"),
    (lambda: nn.Linear(2), "Linear: n_out must be given"),
    (lambda: nn.Linear(2, 3, n_in=2), "n_in is given twice"),
    (lambda: nn.Linear(2, 3, bias="no"), "Linear: bias must be True or False, got str 'no'"),
    (lambda: nn.Perceptron(2, bias=np.ones(2)), "Perceptron: bias must be True or False, got ndarray"),
    (lambda: nn.Conv2d(2, 4, 3, 1, 0, 1, 1, True, "zeros"), r"at most 8 arguments without a name, got 9"),
    (lambda: nn.Conv2d(2, 4, 3, padding_mode="reflect"), "padding_mode': the border is zeros"),
    (lambda: nn.MaxPool2d(2, ceil_mode=True), "MaxPool2d has no argument 'ceil_mode'"),
    (lambda: nn.AvgPool2d(2, count_include_pad=False), "AvgPool2d has no argument 'count_include_pad'"),
    (
        lambda: nn.BatchNorm2d(3, 1e-5, 0.2, True, True, None),
        "BatchNorm2d takes at most 5 arguments without a name, got 6",
    ),
    (lambda: nn.BatchNorm1d(3, device="cpu"), "BatchNorm1d has no argument 'device'"),
    (lambda: nn.LayerNorm(3, elementwise_affine="x"), "elementwise_affine must be True or False"),
    (lambda: nn.Flatten(0), "start_dim must be a whole number other than 0, the batch"),
    (lambda: nn.Flatten(start_dim=1.0), "start_dim must be a whole number"),
    (lambda: nn.Flatten(2)([1.0, 2.0]), r"no dimensions to join in a sample of shape \(2,\): it has 1 \.\. 1"),
    (lambda: nn.Flatten(3, 2)(np.ones((2, 2, 2))), "start_dim must not be above end_dim"),
    (lambda: nn.Unflatten(1, (1, 2, 2)), "Unflatten takes one argument without a name, got 2"),
    (lambda: nn.Softmax(dim=True), "dim must be 1 or -1"),
    (lambda: nn.MSELoss(reduce=False), "MSELoss has no argument 'reduce': take reduction='mean'"),
    (lambda: nn.L1Loss(redction="sum"), "L1Loss has no argument 'redction'; did you mean 'reduction'"),
    (lambda: nn.MSELoss(weight=[1.0]), "MSELoss has no argument 'weight'"),
    (lambda: nn.MultiMarginLoss(ignore_index=1), "MultiMarginLoss has no argument 'ignore_index'"),
    (lambda: optim.SGD(weights(), lr=0.1, fused=True), "SGD has no argument 'fused'"),
    (lambda: optim.SGD(weights(), 0.1, 0.9, 0, 0, False, True), "SGD takes at most 6 arguments without a name, got 7"),
    (lambda: optim.SGD(weights(), nesterov="yes", momentum=0.9), "SGD: nesterov must be True or False"),
    (lambda: optim.Adam(weights(), foreach=True), "Adam has no argument 'foreach'"),
    (lambda: optim.AdamW(weights(), weight_decy=0.1), "'weight_decy'; did you mean 'weight_decay'"),
    (lambda: sv.Run(nn.Linear(1, 1), batchsize=3), r"Run has no argument 'batchsize'; did you mean 'batch_size'\?"),
    (lambda: nn.Linear(10**30, 2), "n_in must be a whole number <= 1099511627776, got 1000000000000000000000000000000"),
    (
        lambda: nn.Linear(2**40, 2**39),
        r"weights in 2 dimensions: that takes [0-9]+ GB of memory, [0-9]+ are free; take smaller layers",
    ),
]


@pytest.mark.parametrize(("call", "text"), REFUSED)
def test_what_is_not_honoured_is_refused(call, text):
    with pytest.raises(sv.ScalarvizError, match=text):
        call()


def constructors():
    kinds = [getattr(nn, name) for name in nn.__all__] + [optim.SGD, optim.Adam, optim.AdamW]
    ours = (nn.Module, nn.Loss, optim.Optimizer)
    return [kind for kind in kinds if isinstance(kind, type) and issubclass(kind, ours) and kind is not nn.Module]


@pytest.mark.parametrize("kind", constructors(), ids=lambda kind: kind.__name__)
def test_every_constructor_names_an_unknown_argument(kind):
    with pytest.raises(sv.ScalarvizError, match=f"{kind.__name__} has no argument 'zzz'"):
        kind(zzz=1)
    assert "zzz" not in inspect.signature(kind).parameters
    assert not any(p.kind is p.VAR_KEYWORD for p in inspect.signature(kind).parameters.values())


def test_an_error_from_inside_a_constructor_keeps_its_own_words():
    class Broken:
        def __float__(self):
            raise TypeError("not today")

    with pytest.raises(TypeError, match="negative_slope must be a number"):
        nn.LeakyReLU(Broken())


# ---- honoured


@pytest.mark.parametrize("beta", [0.5, 2.0, 7.25])
def test_softplus_bends_as_sharply_as_asked(beta):
    points = np.linspace(-3, 3, 13)
    xs = [Value(p) for p in points]
    out = nn.Softplus(beta, np.inf)(xs)
    np.testing.assert_allclose([y.data for y in out], np.logaddexp(0, beta * points) / beta, rtol=1e-14)
    sv.sum(out).backward()
    np.testing.assert_allclose([x.grad for x in xs], 1 / (1 + np.exp(-beta * points)), rtol=1e-13)
    nested = nn.Softplus(beta, np.inf)(points[:12].reshape(3, 2, 2))
    assert nested[2][1][1].data == out[11].data
    assert repr(nn.Softplus(beta)) == f"Softplus(beta={beta:g}, threshold=20)"


def test_softplus_is_drawn_as_a_stage_whatever_its_beta():
    for beta in (1.0, 2.0):
        net = nn.Sequential(nn.Linear(2, 3), nn.Softplus(beta), nn.Linear(3, 1))
        run = sv.Run(net, nn.MSELoss(), optim.SGD(net.parameters()), (np.eye(2), np.ones(2)), engine="numpy")
        assert [stage.kind for stage in run.stages] == ["linear", "softplus", "linear"]


@pytest.mark.parametrize(("start", "end"), [(1, -1), (2, -1), (1, 2), (-2, -1), (2, 2), (-3, -2)])
def test_flatten_joins_the_dimensions_asked_for(start, end):
    picture = np.arange(24.0).reshape(2, 3, 4)
    batch = picture[None]
    first, last = start % 4, end % 4
    wanted = batch.reshape(*batch.shape[:first], -1, *batch.shape[last + 1 :])[0]
    out = nn.Flatten(start, end)(picture)
    np.testing.assert_array_equal(np.vectorize(float)(np.array(out, object)), wanted)


def test_a_flattened_picture_is_a_chain_still():
    net = nn.Sequential(nn.Unflatten((2, 2, 2)), nn.MaxPool2d(1), nn.Flatten(2), nn.Flatten(), nn.Linear(8, 1))
    run = sv.Run(net, nn.MSELoss(), optim.SGD(net.parameters()), (np.ones((3, 8)), np.ones(3)), engine="numpy")
    assert [(stage.name, stage.input_shape) for stage in run.stages] == [("4", (8,))]


# ---- attributes of optimisers


class Momentum(optim.Optimizer):
    state = ("speed",)

    def __init__(self, params, lr, beta=0.9):
        super().__init__(params, lr)
        self.beta = beta

    def update(self, w, g, state, lr, t):
        speed = self.beta * state["speed"] + g
        return w - lr * speed, {"speed": speed}


@pytest.mark.parametrize(
    ("make", "slip", "meant"),
    [
        (optim.SGD, "weight_decy", "weight_decay"),
        (optim.AdamW, "beta", "betas"),
        (optim.Adam, "learning", None),
        (lambda p: Momentum(p, 0.1), "betta", "beta"),
        (lambda p: copy.deepcopy(optim.SGD([nn.Parameter([1.0])])), "momentun", "momentum"),
    ],
)
def test_a_misspelt_number_of_an_optimiser_is_refused(make, slip, meant):
    opt = make(weights())
    before = dict(vars(opt))
    with pytest.raises(AttributeError, match=f"has no '{slip}'") as caught:
        setattr(opt, slip, 3)
    assert isinstance(caught.value, sv.ScalarvizError)
    assert meant is None or f"did you mean '{meant}'" in str(caught.value)
    assert vars(opt) == before


def test_numbers_that_there_are_can_be_set():
    opt = Momentum(weights(), 0.1)
    opt.lr, opt.beta, opt._note = 0.5, 0.8, "mine"
    assert opt.hyperparameters() == {"lr": 0.5, "beta": 0.8}


# ---- what is not for users has no public name


def test_the_ways_to_repoint_a_parameter_are_private():
    for kind in (nn.Parameter, sv.scalar.Block):
        assert not {"move", "point", "write", "adopt", "accumulate"} & set(dir(kind))


@pytest.mark.parametrize("index", [-1, 6, 10**30])
def test_a_parameter_has_no_weight_outside_of_it(index):
    p = nn.Parameter(np.ones((2, 3)))
    with pytest.raises(IndexError, match=f"there is no number {index}, it has 6"):
        p.weight(index)
    assert p.weight(5) is p[1][2]


def test_the_store_of_a_lone_weight_is_not_copied_without_it():
    with pytest.raises(sv.ScalarvizError, match="copy the Weight"):
        copy.deepcopy(optim.SGD(weights()))


@pytest.mark.parametrize("given", [None, "no", 2, 1.0, [True], np.ones(1), np.ones(3)])
def test_frozen_is_true_or_false(given):
    net = nn.Linear(2, 2)
    for part in (net.weight, net.weight[0], net.weight[0][1], sv.Weight(1.0)):
        for name in ("frozen", "requires_grad"):
            if hasattr(part, name):
                with pytest.raises(sv.ScalarvizError, match=f"{name} must be True or False"):
                    setattr(part, name, given)
    assert not net.weight.frozen_flags.any()
