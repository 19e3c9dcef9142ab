"""A name of PyTorch is here, or the error says what to write instead."""

import inspect
import math
from operator import attrgetter

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import nn, optim
from scalarviz.errors import ScalarvizError
from scalarviz.nn import _absent as _nn_absent
from scalarviz.scalar import _absent

NET = nn.Linear(2, 2)
OPT = optim.SGD(NET.parameters(), lr=0.1)
OURS = {
    "nn.Module": NET, "optim.Optimizer": OPT, "optim": optim, "nn": nn,
    "optim.lr_scheduler.LRScheduler": optim.lr_scheduler.StepLR(OPT, 2),
}  # fmt: skip


def public(theirs):
    """The names of a class, or those of the classes in a module."""
    for name in dir(theirs):
        if not name.startswith("_") and (inspect.isclass(theirs) or inspect.isclass(getattr(theirs, name))):
            yield name


@pytest.mark.ci
@pytest.mark.parametrize("kind", OURS)
def test_a_name_is_here_or_the_error_says_what_to_write(kind, torch):
    theirs, ours = attrgetter(kind)(torch), OURS[kind]
    names = list(public(theirs))
    assert len(names) > 3
    silent = []
    for name in names:
        try:
            getattr(ours, name)
        except AttributeError as error:
            if "attribute" not in str(error) or len(str(error).partition(f"{name!r}: ")[2]) < 10:
                silent.append(name)
    assert " ".join(silent) == ""


def an_output():
    return NET(np.ones((3, 2)))


THINGS = {
    "outputs": an_output,
    "an array of Values": lambda: NET.weight[0:1] * 2,
    "a Parameter": lambda: NET.weight,
    "a row of one": lambda: NET.weight[0],
    "data": lambda: NET.weight.data,
    "a Value": lambda: sv.Value(1.0),
    "a Weight": lambda: NET.weight[0][0],
}


@pytest.mark.ci
@pytest.mark.parametrize("kind", THINGS)
def test_a_word_of_tensors_is_here_or_the_error_says_what_to_write(kind, torch):
    thing, silent = THINGS[kind](), []
    for name in dir(torch.Tensor):
        if name.startswith("_"):
            continue
        try:
            getattr(thing, name)
        except AttributeError as error:
            if len(str(error).partition(f"{name!r}: ")[2]) < 6:
                silent.append(name)
        except ScalarvizError:  # such as of an array where one number is needed
            pass
    assert " ".join(silent) == ""


FOLDERS = {"": sv, "nn.functional": nn.functional, "nn.init": nn.init, "nn.utils": nn.utils}


@pytest.mark.ci
@pytest.mark.parametrize("kind", FOLDERS)
def test_a_function_is_here_or_the_error_says_what_to_write(kind, torch):
    theirs, ours, silent = attrgetter(kind)(torch) if kind else torch, FOLDERS[kind], []
    for name in dir(theirs):
        function = getattr(theirs, name)
        if name.startswith(("_", "assert_", "boolean_")) or isinstance(function, type) or not callable(function):
            continue
        if not kind and not hasattr(torch.Tensor, name):  # what is no word of tensors is named in the docs
            continue
        if not str(getattr(function, "__module__", "torch")).startswith("torch") or "torch_func" in name:
            continue
        try:
            getattr(ours, name)
        except AttributeError as error:
            if len(str(error).partition(f"{name!r}: ")[2]) < 6:
                silent.append(name)
    assert " ".join(silent) == ""


FORMULAS = {name: text.removeprefix("use ") for name, text in _absent.FORMULAS.items() if text.startswith("use ")}
OPERANDS = {
    **dict.fromkeys(("multiply", "divide", "true_divide", "subtract", "float_power", "hypot", "fmax", "fmin",
                     "logaddexp"), "a b"),
    "xlogy": "x y", "addcmul": "x a b", "addcdiv": "x a b", "lerp": "a b weight",
}  # fmt: skip
WORDS = ("clamp", "greater", "less", "not_equal", "eq", "ge", "gt", "le", "lt", "ne", "hardshrink", "prelu", "ldexp")
"""Their texts name several things, or they take another kind of operand."""


@pytest.mark.ci
@pytest.mark.parametrize("name", [name for name in FORMULAS if not name.startswith(WORDS) and name != "logaddexp2"])
def test_what_to_write_is_what_pytorch_computes(name, torch):
    function, draw = getattr(torch, name, None) or getattr(torch.Tensor, name), np.random.default_rng(0)
    given = [draw.uniform(*((1.1, 3.0) if "cosh" in name else (0.1, 0.9)), 2) for _ in OPERANDS.get(name, "x").split()]
    expected = function(*map(torch.tensor, given)).numpy()
    net = nn.Linear(2, 2, bias=False)
    net.weight.data = np.eye(2)
    names = dict(zip(OPERANDS.get(name, "x").split(), (net(x[None]) for x in given), strict=True))
    found = eval(FORMULAS[name], {"math": math, "sv": sv, "value": 1, **names})
    np.testing.assert_allclose(found.numpy()[0], expected, rtol=1e-12)


@pytest.mark.ci
@pytest.mark.parametrize("name", ["RNN", "LSTM", "GRU"])
def test_the_loop_of_a_recurrent_layer_is_what_pytorch_computes(name, torch):
    n_in, hidden, draw = 3, 4, np.random.default_rng(0)
    sequence, theirs = draw.normal(size=(5, n_in)), getattr(torch.nn, name)(n_in, hidden).double()
    said = _nn_absent.NAMES[name]
    assert said == _nn_absent.NAMES[f"{name}Cell"]
    loop, made = said.partition("time steps: ")[2].split(", with ")
    names = {"sv": sv, "nn": nn, "n_in": n_in, "hidden": hidden, "h": np.zeros(hidden), "c": np.zeros(hidden)}
    exec(made, names)
    w, u, v, k = (p.detach().numpy() for p in theirs.parameters())
    if name == "GRU":
        parts = {names["a"]: (w, v), names["b"]: (u, k)}
    else:
        parts = {names["gates" if name == "LSTM" else "inner"]: (np.hstack([w, u]), v + k)}
    for layer, (weight, bias) in parts.items():
        layer.weight.data, layer.bias.data = weight, bias
    exec(loop, names | {"sequence": sequence}, names)
    expected = theirs(torch.tensor(sequence))[0][-1].detach().numpy()
    np.testing.assert_allclose(names["h"].data, expected, rtol=1e-12)
