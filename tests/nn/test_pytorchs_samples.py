"""PyTorch's own sample inputs (ModuleInfo, OpInfo, of optimisers) for what is offered here, on objects.

A sample whose arguments are not offered is refused by ours, never computed as something else; how many are compared is
counted.
"""

from __future__ import annotations

from functools import cache
from itertools import islice

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import nn, optim
from scalarviz.scalar.nested import flatten

pytestmark = pytest.mark.slow  # loading the samples alone takes PyTorch 10 seconds
BATCHED = -1
MOST = 300  # numbers of a sample that are compared
# The dimensions of one sample here, None where each number is by itself; and how many samples are compared at least.
MODULES = {
    "AdaptiveAvgPool1d": (2, 2), "AdaptiveAvgPool2d": (3, 4), "AvgPool1d": (2, 2), "AvgPool2d": (3, 1),
    "BatchNorm1d": (1, 4), "BatchNorm2d": (3, 5), "Conv1d": (2, 4), "Conv2d": (3, 4), "ELU": (None, 3),
    "GELU": (None, 2), "GroupNorm": (BATCHED, 2), "LayerNorm": (1, 1), "LeakyReLU": (None, 3), "Linear": (1, 2),
    "LogSigmoid": (None, 2), "LogSoftmax": (1, 1), "MaxPool1d": (2, 2), "MaxPool2d": (3, 1), "PReLU": (None, 2),
    "ReLU": (None, 2), "ReLU6": (None, 2), "SiLU": (None, 2), "Sigmoid": (None, 2), "Softmax": (1, 1),
    "Softplus": (None, 3), "Tanh": (None, 2),
}  # fmt: skip
PAIRED = ("MSELoss", "L1Loss", "SmoothL1Loss", "HuberLoss", "HingeEmbeddingLoss", "BCELoss", "BCEWithLogitsLoss")
CLASSES = ("CrossEntropyLoss", "NLLLoss", "MultiMarginLoss")
OPERATIONS = {
    "add": "add", "sub": "sub", "mul": "mul", "true_divide": "div", "neg": "neg", "exp": "exp", "log": "log",
    "sqrt": "sqrt", "sin": "sin", "cos": "cos", "tanh": "tanh", "sigmoid": "sigmoid", "abs": "abs", "square": "square",
    "erf": "erf", "logaddexp": "logaddexp", "nn.functional.relu": "relu", "nn.functional.silu": "silu",
    "nn.functional.logsigmoid": "log_sigmoid", "nn.functional.relu6": "relu6",
}  # fmt: skip


@cache
def databases():
    pytest.importorskip("torch", reason="no PyTorch (extra oracle)")
    pytest.importorskip("expecttest", reason="no expecttest (extra oracle)")
    from torch.testing._internal.common_methods_invocations import op_db
    from torch.testing._internal.common_modules import module_db

    return {m.name.removeprefix("nn."): m for m in module_db}, {(o.name, o.variant_test_name): o for o in op_db}


def module_samples(name):
    """Constructor and forward arguments of each sample, and a PyTorch module made of them."""
    import torch

    (info,) = [info for key, info in databases()[0].items() if key == name]
    torch.manual_seed(0)
    made = info.module_inputs_func(info, device="cpu", dtype=torch.float64, requires_grad=True, training=False)
    for sample in made:
        args, kwargs = sample.constructor_input.args, sample.constructor_input.kwargs
        inputs = sample.forward_input.args or tuple(sample.forward_input.kwargs.values())
        yield args, kwargs, inputs, info.module_cls(*args, **kwargs).double().eval()


def ours(kind, args, kwargs):
    """The same module here; None where an argument is not offered."""

    def plain(x):
        return x.tolist() if hasattr(x, "tolist") else x

    try:
        return getattr(nn, kind)(*map(plain, args), **{k: plain(v) for k, v in kwargs.items()})
    except sv.ScalarvizError:
        return None


def leaves_of(x):
    return sv.Value(x) if not isinstance(x, list) else [leaves_of(part) for part in x]


def close(found, wanted):
    np.testing.assert_allclose(found, np.asarray(wanted).ravel(), rtol=1e-10, atol=1e-11)


def compare(found, given, wanted, x):
    """Values of nested lists, and the gradients by what they were made of."""
    import torch

    close([v.data for v in flatten(found)], wanted.detach())
    upstream = np.random.default_rng(0).normal(size=wanted.numel())
    (gradient,) = torch.autograd.grad(wanted, [x], torch.tensor(upstream).reshape(wanted.shape), retain_graph=True)
    sv.dot(upstream.tolist(), flatten(found)).backward()
    close([v.grad for v in flatten(given)], gradient)


@pytest.mark.parametrize("kind", MODULES)
def test_modules(kind):
    shape, least = MODULES[kind]
    compared = 0
    for args, kwargs, inputs, theirs in module_samples(kind):
        module, x = ours(kind, args, kwargs), inputs[0]
        if module is None or len(inputs) > 1 or getattr(theirs, "running_mean", x) is None:
            continue  # the last: by the batch in eval, too; see `test_norms_in_training`
        if theirs.state_dict():
            module.load_state_dict({k: v.detach().numpy() for k, v in theirs.state_dict().items()})
        module.eval()
        dimensions = x.ndim - 1 if shape == BATCHED else shape
        if dimensions is None or x.ndim == dimensions:
            if kind == "PReLU" and module.num_parameters > 1 and x.ndim > 1:
                continue  # its channels stand behind those of a batch
            given = leaves_of(x.tolist())
            compare(module(given), given, theirs(x), x)
            compared += 1
        elif x.ndim == dimensions + 1:
            given = leaves_of(x.tolist())
            compare([module(sample) for sample in given], given, theirs(x), x)
            compared += 1
    assert compared >= least


@pytest.mark.parametrize(("kind", "least"), [("BatchNorm1d", 7), ("BatchNorm2d", 6)])
def test_norms_in_training(kind, least):
    """By hand, N samples at once: values, gradients, and what the running statistics become."""
    compared = 0
    for args, kwargs, (x,), theirs in module_samples(kind):
        module = ours(kind, args, kwargs)
        if module is None or x.numel() == 0 or x.ndim == (3 if kind == "BatchNorm2d" else 1):
            continue
        module.load_state_dict({k: v.detach().numpy() for k, v in theirs.state_dict().items()})
        given = leaves_of(x.tolist())
        compare(module(given), given, theirs.train()(x), x)
        for name, array in theirs.state_dict().items():
            close(np.ravel(module.state_dict()[name]), array)
        compared += 1
    assert compared >= least


@pytest.mark.parametrize("kind", PAIRED)
def test_losses_of_pairs(kind):
    compared = 0
    for args, kwargs, (x, y, *_), theirs in module_samples(kind):
        loss = ours(kind, args, kwargs)
        if loss is None or x.shape != y.shape or x.numel() == 0 or (x.ndim > 1 and kwargs.get("weight") is not None):
            continue
        given = leaves_of(x.reshape(-1).tolist())
        if getattr(loss, "pos_weight", None) not in (None, ()) and len(loss.pos_weight) not in (1, len(given)):
            continue
        found = loss(given, y.reshape(-1).tolist())
        compare(found if isinstance(found, list) else [found], given, theirs(x, y), x)
        compared += 1
    assert compared >= 3


@pytest.mark.parametrize("kind", CLASSES)
def test_losses_of_classes(kind):
    compared = 0
    for args, kwargs, (x, y, *_), theirs in module_samples(kind):
        loss = ours(kind, args, kwargs)
        if loss is None or x.ndim > 2 or x.numel() == 0:
            continue
        rows, targets = (x, y) if x.ndim == 2 else (x[None], y[None])
        given = leaves_of(rows.tolist())
        parts = [loss.batch_part(row, t) for row, t in zip(given, targets.tolist(), strict=True)]
        found = parts
        if loss.reduction != "none":
            shares = loss.batch_shares(targets.detach().reshape(len(rows), -1).numpy())
            found = [sv.sum(parts) / (float(shares.sum()) if loss.reduction == "mean" else 1.0)]
        compare(found, given, theirs(x, y), x)
        compared += 1
    assert compared >= 5


@pytest.mark.parametrize("name", OPERATIONS)
def test_operations(name):
    import torch

    info = databases()[1][name, ""]
    call, compared = sv.scalar.function(OPERATIONS[name]), 0
    torch.manual_seed(0)
    for sample in islice(info.sample_inputs("cpu", torch.float64, requires_grad=True), 60):
        operands = [sample.input, *sample.args]
        if sample.kwargs or len(operands) != len(sv.scalar.ops.get(OPERATIONS[name]).args):
            continue
        tensors = [torch.as_tensor(o, dtype=torch.float64) for o in operands]
        columns = [t.detach().reshape(-1).tolist()[:MOST] for t in torch.broadcast_tensors(*tensors)]
        inputs = [torch.tensor(column, dtype=torch.float64, requires_grad=True) for column in columns]
        wanted = info.op(*inputs)
        wanted.sum().backward()
        leaves = [[sv.Value(v) for v in column] for column in columns]
        found = [call(*row) for row in zip(*leaves, strict=True)]
        for value in found:
            value.backward()
        close([v.data for v in found], wanted.detach())
        for column, tensor in zip(leaves, inputs, strict=True):
            close([v.grad for v in column], tensor.grad)
        compared += 1
    assert compared >= 1


@pytest.mark.parametrize("name", ["SGD", "Adam", "AdamW", "RMSprop", "Adagrad"])
def test_optimisers_for_20_steps(name):
    torch = pytest.importorskip("torch", reason="no PyTorch (extra oracle)")
    pytest.importorskip("expecttest", reason="no expecttest (extra oracle)")
    from torch.testing._internal.common_optimizers import optim_db

    (info,) = [info for info in optim_db if info.optim_cls.__name__ == name]
    start, compared = np.linspace(-1.5, 2.0, 6), 0
    for sample in info.optim_inputs_func(device="cpu"):
        weights = nn.Parameter(start)
        theirs = torch.tensor(start, requires_grad=True)
        kwargs = {k: v for k, v in sample.kwargs.items() if k not in ("foreach", "fused", "capturable")}
        try:
            rule = getattr(optim, name)([weights], **kwargs)
        except sv.ScalarvizError:
            continue
        reference = info.optim_cls([theirs], **sample.kwargs)
        for step in range(20):
            gradient = np.cos(weights.data * (step + 1)) + weights.data
            weights.grad, theirs.grad = gradient, torch.tensor(gradient)
            rule.step()
            reference.step()
            close(weights.data, theirs.detach())
        compared += 1
    assert compared >= 4
