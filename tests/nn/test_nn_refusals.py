"""Bad layers, losses, optimisers and parameters: each is refused by name, says what is allowed, and changes nothing."""

import inspect
import math  # noqa: F401 (rows)

import numpy as np
import pytest

import scalarviz as sv
from kit.refusals import refusals
from scalarviz import Value, Weight, nn, optim
from scalarviz.errors import InputError, OutOfRangeError, StateError, TypeMismatchError

PICTURE = np.ones((1, 4, 4))
X = [[0.1, 0.2], [0.3, 0.4], [0.5, 0.6]]


def heads():
    return nn.MultiheadAttention(2, 2, seed=1)


def weights(slope=1.0):
    weight = Weight(1.0)
    (weight * slope).backward()
    return [weight]


LAYERS = {
    "nn.utils.clip_grad_norm_(weights(math.inf), 1.0, error_if_nonfinite=True)": (StateError, "inf", "no gradient was"),
    "sv.relu([sv.Value(1.0)])": (TypeMismatchError, "relu", "list", "[relu(v) for v in row]"),
    "sv.max([1.0, 2.0], dim=0)": (TypeMismatchError, "max", "dim", "sv.stack"),
    "sv.logsumexp([1.0, 2.0], 0)": (TypeMismatchError, "logsumexp", "dim"),
    "nn.Linear(3, 2)([1.0, 2.0])": (InputError, "Linear(3, 2)", 3, 2),
    "nn.Sequential(nn.Linear(3, 2), nn.Linear(4, 1))([1.0, 2.0, 3.0])": (InputError, "Linear(4, 1)", "'1'", 4, 2),
    "nn.Linear(2, 1)('ab')": (TypeMismatchError, "sequence"),
    "nn.Linear(2, 1)([1.0, 'x'])": (TypeMismatchError, "'x'"),
    "nn.Sequential(nn.Linear(1, 1), nn.Tanh)": (TypeMismatchError, 1, "Module", "Tanh()"),
    "nn.Network(2, 2, loss=nn.MSELoss)": (TypeMismatchError, "function"),
    "nn.LeakyReLU(math.inf)": (InputError, "negative_slope"),
    "nn.Module()(1.0)": (TypeMismatchError, "has no forward"),
    "nn.Linear(2, 1).backward(1.0)": (StateError, "module"),
    "nn.Conv1d(1, 1, 3)([1.0, 2.0, 3.0])": (InputError, "(1, L)", "nn.Unflatten((C, L))"),
    "nn.Conv2d(4, 6, 3, groups=3)": (InputError, "Conv2d", 4, "in_channels", 3),
    "nn.Conv2d(1, 1, 3, padding='full')": (InputError, "'valid'", "'same'", "'full'"),
    "nn.Conv2d(1, 1, 3, stride=2, padding='same')": (InputError, "'same'", 1),
    "nn.AdaptiveAvgPool2d(1)([[1.0]])": (InputError, "picture"),
    "nn.MLP(2, '8', 1)": (InputError, "list", "whole"),
    "nn.MLP(3, 4)": (TypeMismatchError, "nn.MLP(3, 4, 1)"),
    "nn.MLP(3, [])": (TypeMismatchError, "nn.MLP(3, [], 1)"),
    "nn.MLP()": (TypeMismatchError, "activation=Tanh,"),
    "nn.Embedding(5, 2, padding_idx=5)": (OutOfRangeError, "padding_idx", ".. 4"),
    "nn.Embedding(5, 2, padding_idx=1.5)": (TypeMismatchError, "padding_idx", "1.5"),
    "nn.Sequential({'a.b': nn.Tanh()})": (InputError, "'a.b'", "dot"),
    "nn.Sequential({'': nn.Tanh()})": (InputError, "''", "empty"),
    "nn.Sequential({'forward': nn.Tanh()})": (InputError, "'forward'", "method"),
    "nn.Sequential({(1, 2): nn.Tanh()})": (TypeMismatchError, "(1, 2)", "string"),
    "nn.Sequential({'fc': nn.Tanh})": (TypeMismatchError, "fc", "Tanh()"),
    "nn.GELU('sigmoid')": (InputError, "approximate"),
    "nn.Softplus(threshold=math.nan)": (InputError, "NaN"),
    "nn.PReLU(2)([1.0])": (InputError, "PReLU(2)", 2, "(1,)"),
    "nn.Conv2d(0, 2, 3)": (InputError, "in_channels", ">= 1", 0),
    "nn.Conv2d(3, 2, 3)(PICTURE)": (InputError, "Conv2d(3, 2)", "(3, H, W)", "(1, 4, 4)"),
    "nn.Conv2d(1, 2, 3)([[[1.0, 2.0], [3.0]]])": (InputError, "Conv2d", "(2,)", "(1,)"),
    "nn.Linear(16, 2)(PICTURE)": (InputError, "Linear(16, 2)", 16, "(4, 4)", "put", "Flatten"),
    "nn.Unflatten((1, 2, 2))([1.0, 2.0])": (InputError, "Unflatten((1, 2, 2))", 4, "(2,)"),
    "nn.Flatten()([[1.0], [1.0, 2.0]])": (InputError, "Flatten", "ragged"),
    "nn.Sequential(nn.AvgPool2d((5, 2)))(np.ones((1, 4, 4)))": (InputError, "'0'", "(5, 2)", "(4, 4)"),
    "nn.LayerNorm(3)([1.0, 2.0])": (InputError, "LayerNorm((3,))", "(3,)", "(2,)"),
    "nn.BatchNorm1d(3).eval()(np.ones((2, 2, 2)))": (InputError, "(3,)", "(3, L)", "(2, 2)"),
    "nn.BatchNorm2d(3)(np.ones((3, 2, 2)))": (InputError, "training"),
    "nn.BatchNorm1d(3).eval()(np.ones((3, 3)).tolist())": (InputError, "(1, 3, 3)", "(3, 3, 1)"),
    "nn.BatchNorm1d(3, momentum=1.5)": (InputError, 0, 1, "None", "1.5"),
    "setattr(nn.BatchNorm1d(3), 'num_batches_tracked', 0.5)": (InputError, "from 0", "whole"),
    "nn.MultiheadAttention(6, 4)": (InputError, "divisible", 6, 4),
    "nn.MultiheadAttention(4, 2, kdim=3)": (TypeMismatchError, "kdim"),
    "heads()(X, X, X[:2])": (InputError, "keys", "values"),
    "heads()(X, X, X, attn_mask=[[0.0]])": (InputError, "attn_mask", "(3, 3)"),
    "heads()(X, X, X, attn_mask=np.full((3, 3), np.nan))": (InputError, "NaN"),
    "heads()(X, X, X, attn_mask=np.ones((3, 3), bool))": (InputError, "query 0"),
    "heads()(X, X, X, is_causal='no')": (TypeMismatchError, "is_causal"),
    "sv.softmax([])": (InputError, "softmax"),
    "nn.Dropout(-0.1)": (InputError, "p", -0.1),
    "nn.Dropout(0.5, inplace=True)": (TypeMismatchError, "inplace"),
    "nn.Sequential(nn.Tanh())[1]": (OutOfRangeError, "has no index 1", "-1 .. 0"),
    "nn.Linear(2, 3).backward([1.0, 2.0])": (StateError, "call"),
    "called(nn.Linear(2, 3)).backward([1.0, 2.0])": (InputError, 2, 3),
    "nn.Linear(2, 1).weights()[13]": (OutOfRangeError, "weights()", 13),
    "nn.Sequential(nn.Linear(3, 16)).freeze('0.wieght')": (InputError, "0.wieght", "0.weight"),
    "nn.Sequential(nn.Linear(3, 16)).freeze('0.weight[99][0]')": (OutOfRangeError, "0.weight", 99),
}
LOSSES = {
    "nn.MSELoss('all')": (InputError, "'all'"),
    "nn.MSELoss(factor=2)": (InputError, 1, "0.5", 2),
    "nn.HuberLoss(delta=0)": (InputError, "delta"),
    "nn.MSELoss()([1.0, 2.0], [1.0])": (InputError, "(2,)", "(1,)", "CrossEntropyLoss"),
    "nn.MSELoss()([0.5], ['a'])": (TypeMismatchError, "number"),
    "nn.Loss()([0.5], [0.5])": (TypeMismatchError, "defines"),
    "nn.CrossEntropyLoss([])": (InputError, "[]", "weight", "row", "finite"),
    "nn.CrossEntropyLoss(ignore_index=0.5)": (InputError, "ignore_index", "whole"),
    "nn.CrossEntropyLoss(label_smoothing=1.5)": (InputError, "label_smoothing", "0..1", "1.5"),
    "nn.CrossEntropyLoss(ignore_index=1)([1.0, 2.0], [0.5, 0.5])": (InputError, "row", "probabilities"),
    "nn.NLLLoss()([1.0, 2.0], [0.0, 1.0])": (InputError, "NLLLoss"),
    "nn.MultiMarginLoss(3)": (InputError, 1, 2, 3),
    "nn.BCEWithLogitsLoss(pos_weight=[1.0, 2.0])([1.0] * 3, [1.0] * 3)": (InputError, "pos_weight", 2, 3),
    "nn.MSELoss(batch_reduction='none')": (InputError, "batch_reduction"),
    "nn.CrossEntropyLoss()([1.0, 2.0], 2)": (InputError, 2, 0, 1),
    "nn.CrossEntropyLoss()(np.ones((2, 2)), 0)": (InputError, "(2, 2)"),
    "nn.Softmax(dim=0)": (InputError, 0, -1),
    "nn.LogSoftmax(dim=1)": (InputError, 1, -1),
    "nn.Sequential(nn.Softmax())(1.0)": (InputError, "Softmax()", "'0'", "()"),
    "nn.Softmax()(np.ones((2, 2)).tolist())": (InputError, "softmax", "dim=-1", "(2, 2)"),
    "nn.MultiheadAttention(2, 1, batch_first=False)": (InputError, "batch_first", "True", "embed_dim"),
    "nn.Parameter([[1.0, 2.0]]).expand(3, 3)": (InputError, "expand", "(1, 2)"),
    "nn.Softmax(dim=-3)(np.ones((2, 2)).tolist())": (InputError, "softmax", -3, "(2, 2)"),
}
ARGUMENTS = {
    "nn.ReLU(banana=3)": (TypeMismatchError, "ReLU", "'banana'", "takes"),
    "nn.Linear(2, 3, device='cuda')": (TypeMismatchError, "Linear", "'device'", "Run"),
    "nn.Linear(2, 3, biass=False)": (TypeMismatchError, "'biass'", "'bias'", "in_features", "out_features", "True"),
    "nn.Linear(2)": (TypeMismatchError, "Linear", "out_features"),
    "nn.Linear(2, 3, bias='no')": (TypeMismatchError, "Linear", "True", "False", "str", "'no'"),
    "nn.Conv2d(2, 4, 3, 1, 0, 1, 1, True, 'zeros')": (TypeMismatchError, 8, 9),
    "nn.Flatten(0)": (InputError, "start_dim", 0),
    "nn.Flatten(3, 2)(np.ones((2, 2, 2)))": (InputError, "start_dim", "end_dim"),
    "nn.MSELoss(reduce=False)": (TypeMismatchError, "MSELoss", "'reduce'", "'mean'"),
    "optim.AdamW(weights(), weight_decy=0.1)": (TypeMismatchError, "'weight_decy'", "'weight_decay'"),
    "sv.Run(nn.Linear(1, 1), batchsize=3)": (TypeMismatchError, "Run", "'batchsize'", "'batch_size'"),
    "nn.Linear(10 ** 30, 2)": (InputError, "in_features", "<= 1099511627776", 1000000000000000000000000000000),
}
INITIALISERS = {
    "nn.init.uniform(1, 0)": (InputError, ""),
    "nn.Linear(2, 2, seed=2 ** 64)": (InputError, "seed"),
    "nn.Linear(2, 2).initialize(3)": (TypeMismatchError, "initialiser"),
    "nn.Linear(2, 2, init=lambda *a: np.zeros(3))": (InputError, "(2, 2)", "(3,)"),
}
OPTIMISERS = {
    "optim.SGD([it], 0.1, nesterov=True)": (InputError, "momentum"),
    "optim.Adam([it], betas=(1.0, 0.9))": (InputError, "[0]", "betas"),
    "optim.Rprop([it], etas=(0.5, 1.0))": (InputError, "[1]", "etas", "> 1"),
    "optim.Rprop([it], step_sizes=(0.1, 0.01))": (InputError, "[1]", "step_sizes", ">= 0.1"),
    "optim.Rprop([it], step_sizes=0.1)": (InputError, "step_sizes", "(1e-6, 50)"),
    "optim.Adadelta([it], rho=1.1)": (InputError, "rho", "<= 1"),
    "optim.SGD(it, 0.1)": (TypeMismatchError, "list"),
    "optim.SGD([it, Value(1.0)], 0.1)": (TypeMismatchError, "[1]", "Parameter", "Weight", "Value"),
    "optim.SGD([{'params': it}, it], 0.1)": (TypeMismatchError, "groups"),
    "optim.Optimizer([it], 0.1)": (TypeMismatchError, "update"),
    "setattr(optim.SGD([it], 0.1), 'lr', math.inf)": (InputError, "lr"),
}
PARAMETERS = {
    "nn.Parameter('abc')": (TypeMismatchError, "str"),
    "nn.Parameter([[1], [1, 2]])": (TypeMismatchError, "numbers"),
    "nn.Parameter(np.zeros((0, 3)))": (InputError, "elements"),
    "it[2]": (OutOfRangeError, 2),
    "it[[0, 2]]": (OutOfRangeError, "bounds"),
    "it[[[Value(0.0)], [Value(1.0), 2]]]": (InputError, "ragged"),
    "it[:, :, 0]": (TypeMismatchError, "indices"),
    "it.__isub__(1.0)": (StateError, "no_grad"),
    "it @ [1.0]": (InputError, "(2, 3)", "(1,)"),
    "it + np.ones((2, 2))": (InputError, "broadcast"),
    "it * 'a'": (TypeMismatchError, "Value"),
    "it.item()": (InputError, 6),
    "np.add.reduce(it[:, 0])": (TypeMismatchError, "sum()"),
    "np.sum(it[:, 0], initial=2.0)": (TypeMismatchError, "initial"),
    "setattr(it, 'data', np.ones(3))": (InputError, "(2, 3)", "(3,)"),
    "setattr(it[0], 'data', [1, 2])": (InputError, "(3,)"),
}


def called(module):
    """The module, which has seen a sample."""
    module([Value(1.0), 2.0])
    return module


@refusals(LAYERS | LOSSES | ARGUMENTS | INITIALISERS, globals())
def test_layers_losses_and_initialisers(refusal):
    refusal.check()


@refusals(OPTIMISERS, globals())
def test_optimisers(refusal):
    w = Weight(1.0)
    refusal.check(w)
    assert (w.data, w.grad, w.frozen) == (1.0, 0.0, False)


@refusals(PARAMETERS, globals())
def test_parameters(refusal):
    p = nn.Parameter(np.ones((2, 3)))
    refusal.check(p)
    assert p.data.tolist() == [[1.0] * 3] * 2


# ---- arguments that nothing reads


def constructors():
    kinds = [getattr(room, name) for room in (nn, optim) for name in room.__all__]
    ours, bases = (nn.Module, nn.Loss, optim.Optimizer), (nn.Module, optim.Optimizer)
    return [kind for kind in kinds if isinstance(kind, type) and issubclass(kind, ours) and kind not in bases]


@pytest.mark.parametrize("kind", constructors(), ids=lambda kind: kind.__name__)
def test_every_constructor_names_an_unknown_argument(kind):
    with pytest.raises(sv.ScalarvizError, match=f"{kind.__name__} has no argument 'zzz'"):
        kind(zzz=1)
    assert "zzz" not in inspect.signature(kind).parameters
    assert not any(p.kind is p.VAR_KEYWORD for p in inspect.signature(kind).parameters.values())


# ---- state that does not fit


def test_a_state_dict_that_does_not_fit_is_listed_at_once_and_changes_nothing():
    model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2))
    before = model.state_dict()
    state = model.state_dict() | {"3.weight": np.ones(2), "extra": np.ones(1), "2.weight": np.ones((3, 3))}
    del state["0.bias"], state["2.bias"]
    state["0.weight"] = before["0.weight"] + 1
    with pytest.raises(sv.ScalarvizError) as caught:
        model.load_state_dict(state)
    for fact in ("0.bias", "2.bias", "3.weight", "extra", "(2, 4)", "(3, 3)", "strict=False"):
        assert fact in str(caught.value)
    for bad, kind in (({"0.bias": [1, 2]}, ValueError), ([1, 2], TypeError), ({"0.bias": "text"}, ValueError)):
        with pytest.raises(kind):
            model.load_state_dict(bad, strict=False)
    for name, array in model.state_dict().items():
        np.testing.assert_array_equal(array, before[name])
    result = model.load_state_dict({"0.bias": [1, 2, 3, 4], "more": 1}, strict=False)
    assert (result.missing_keys, result.unexpected_keys) == (["0.weight", "2.weight", "2.bias"], ["more"])
    assert model[0].bias.data.tolist() == [1, 2, 3, 4]


def test_a_state_of_an_optimiser_that_does_not_fit_changes_nothing():
    opt = optim.Adam([nn.Parameter([1.0, 2.0])])
    good = opt.state_dict()
    for change, fact in (
        ({"state": {}}, "exp_avg, exp_avg_sq"), ({"state": {"exp_avg": [0.0], "exp_avg_sq": [0.0]}}, r"\(2,\)"),
        ({"hyperparameters": {"momentum": 1}}, "momentum"),
    ):  # fmt: skip
        with pytest.raises(sv.ScalarvizError, match=fact):
            opt.load_state_dict(good | change)
    with pytest.raises(sv.ScalarvizError, match="'steps', 'hyperparameters', 'state'"):
        opt.load_state_dict({})
    assert opt.steps == 0


def test_buffers_and_running_statistics_that_do_not_fit():
    net = nn.Linear(2, 2)
    for name in ("weight", "forward", "a b", 3):
        with pytest.raises(sv.ScalarvizError):
            net.register_buffer(name, [1.0])
    with pytest.raises(sv.ScalarvizError, match="real numbers"):
        net.register_buffer("text", ["a"])
    norm = nn.BatchNorm1d(2)
    state = norm.state_dict() | {"running_mean": np.array([5.0, 6.0])}
    for name, wrong in (("num_batches_tracked", 1.5), ("num_batches_tracked", -1), ("running_var", [1.0])):
        with pytest.raises(sv.ScalarvizError, match=name):
            norm.load_state_dict(state | {name: np.array(wrong)})
        assert norm.running_mean.tolist() == [0.0, 0.0]


# ---- names that people bring along from PyTorch


@pytest.mark.parametrize(("ask", "text"), [
    (lambda: nn.LSTM, "LSTM"), (lambda: nn.functional.fold, "'fold'"),
    (lambda: nn.Sequentail, "'Sequential'"), (lambda: nn.KLDivLoss, "function"),
    (lambda: nn.init.sparse_, r"parameter\.data"), (lambda: nn.init.xavier_normal, r"nn\.init\.xavier_normal_"),
    (lambda: optim.LBFGS, "subclass"), (lambda: optim.lr_scheduler.CyclicLR, "LambdaLR"),
    (lambda: optim.lr_scheduler.StepLr, "'StepLR'"), (lambda: optim.adam, "'Adam'"),
    (lambda: sv.tensor, r"nn\.Parameter"), (lambda: sv.concat, r"sv\.cat"),
    (lambda: sv.cross_entropy, r"nn\.CrossEntropyLoss"), (lambda: sv.save, r"run\.save"),
    (lambda: sv.softmx, "'softmax'"), (lambda: sv.manual_seed, "seed="),
    (lambda: nn.Linear(2, 1).half, r"sv\.Run"), (lambda: nn.Linear(2, 1).fit, r"sv\.Run"),
    (lambda: nn.Linear(2, 1).nothing, "'nothing'$"), (lambda: nn.Sequential([nn.Tanh()]), r"Sequential\(\*layers\)"),
    (lambda: optim.SGD([sv.Value(1.0)], 0.1), r"sv\.Weight"),
    (lambda: optim.SGD(weights()).add_param_group({}), "'params': a"), (lambda: optim.StepLR, r"lr_scheduler\.StepLR"),
    (lambda: sv.MSELoss, r"nn\.MSELoss"), (lambda: sv.DataLoader, "batch_size="), (lambda: sv.device, r"sv\.Run"),
    (lambda: sv.inference_mode, r"sv\.no_grad"), (lambda: nn.Mish, r"sv\.softplus"),
    (lambda: nn.F, r"nn\.functional as F"),
    (lambda: nn.Linear(2, 1).compile(), "a Run compiles"), (lambda: sv.Value(1.0).shape, r"sv\.stack"),
    (lambda: nn.Linear(2, 1)([1.0, 2.0]).cpu(), "omit"), (lambda: sv.Value(1.0).nothing, "'nothing'$"),
    (lambda: sv.Value(1.0).backward(retain_graph=True), "omit retain_graph"),
    (lambda: nn.utils.clip_grad_norm(weights(), 1.0), "clip_grad_norm_"), (lambda: nn.utils.rnn, "one length"),
    (lambda: sv.Run(nn.Linear(1, 1), criterion=nn.MSELoss()), "use loss="),
    (lambda: sv.Run(nn.Linear(1, 1), max_norm=1.0), "clip_norm="), (lambda: sv.Run(nn.Linear(1, 1), lr=1), "optimiser"),
    (lambda: sv.Run(nn.Linear(1, 1), scheduler=1), r"StepLR\(optimizer"),
    (lambda: nn.utils.clip_grad_norm_(weights(), 1.0, foreach=True), "omit foreach"),
])  # fmt: skip
def test_a_name_of_pytorchs_says_what_there_is(ask, text):
    with pytest.raises((AttributeError, TypeError), match=text):
        ask()


@pytest.mark.parametrize("module", [nn, optim, optim.lr_scheduler, sv], ids=lambda module: module.__name__)
def test_a_name_in_wrong_capitals_is_told_the_right_one(module):
    names = [name for name in dir(module) if not name.startswith("_")]
    for name in names:
        right = [other for other in names if other.casefold() == name.casefold()]
        typos = {name.lower(), name.title(), name.upper(), name.swapcase()}
        for typed in typos - {*names, "run"}:  # sv.run is a folder
            with pytest.raises(AttributeError) as caught:
                getattr(module, typed)
            said = str(caught.value)  # or there is advice, such as nn.Sigmoid for sv.Sigmoid
            assert any(f"did you mean {other!r}?" in said for other in right) or f"{typed!r}: " in said, typed


def test_pytorchs_names_of_the_sizes_of_a_layer_work():
    assert nn.Linear(in_features=3, out_features=2, bias=False).weight.shape == (2, 3)
    with pytest.raises(TypeMismatchError, match="n_in"):
        nn.Linear(n_in=3, n_out=2)
