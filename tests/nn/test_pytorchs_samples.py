"""PyTorch's own sample inputs (ModuleInfo) of every module and loss that is offered here.

On objects: values, gradients by inputs and weights, running statistics. In runs: a step of the other engines. Every
sample is compared or has a reason. Single operations stand beside PyTorch in ``tests/scalar/test_operations.py``.
"""

from __future__ import annotations

import inspect
import re
from collections import Counter
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pytest

import scalarviz as sv
from kit.learning import pytorchs_samples
from kit.nested import flat, leaves, numbers
from scalarviz import Run, nn, optim

pytestmark = pytest.mark.ci  # loading the samples alone takes PyTorch 10 seconds
LEADING, CHANNELS = "leading", "channels"
# The dimensions of one sample here; None where each number is by itself. LEADING: those that are normalised, and the
# rest are samples; CHANNELS: all but the first.
DIMENSIONS = {
    "AdaptiveAvgPool1d": 2, "AdaptiveAvgPool2d": 3, "AvgPool1d": 2, "AvgPool2d": 3, "BatchNorm1d": CHANNELS,
    "BatchNorm2d": 3, "Conv1d": 2, "Conv2d": 3, "ELU": None, "GELU": None, "GroupNorm": CHANNELS,
    "LayerNorm": LEADING, "LeakyReLU": None, "Linear": LEADING, "LogSigmoid": None, "LogSoftmax": LEADING,
    "MaxPool1d": 2, "MaxPool2d": 3, "PReLU": CHANNELS, "RMSNorm": LEADING, "ReLU": None, "ReLU6": None, "SiLU": None,
    "Sigmoid": None, "Softmax": LEADING, "Softplus": None, "Tanh": None, "Embedding": None, "MultiheadAttention": 2,
}  # fmt: skip
CLASSES = ("CrossEntropyLoss", "NLLLoss", "MultiMarginLoss")
LOSSES = ("MSELoss", "L1Loss", "SmoothL1Loss", "HuberLoss", "HingeEmbeddingLoss", "BCELoss", "BCEWithLogitsLoss",
          *CLASSES)  # fmt: skip
# How many samples of each are compared,
COMPARED = {
    "AdaptiveAvgPool1d": 3, "AdaptiveAvgPool2d": 5, "AvgPool1d": 4, "AvgPool2d": 4, "BatchNorm1d": 7, "BatchNorm2d": 6,
    "Conv1d": 4, "Conv2d": 4, "ELU": 4, "GELU": 3, "GroupNorm": 8, "LayerNorm": 6, "LeakyReLU": 5, "Linear": 3,
    "LogSigmoid": 3, "LogSoftmax": 2, "MaxPool1d": 2, "MaxPool2d": 2, "PReLU": 8, "RMSNorm": 5, "ReLU": 4, "ReLU6": 4,
    "SiLU": 3, "Sigmoid": 4, "Softmax": 2, "Softplus": 5, "Tanh": 3, "Embedding": 2, "MultiheadAttention": 8,
    "MSELoss": 8, "L1Loss": 5, "SmoothL1Loss": 8, "HuberLoss": 4, "HingeEmbeddingLoss": 10, "BCELoss": 6,
    "BCEWithLogitsLoss": 6, "CrossEntropyLoss": 105, "NLLLoss": 28, "MultiMarginLoss": 7,
}  # fmt: skip
# and how many are not: they want an argument that is not offered (it is refused, never left out), or another layout.
LEFT_OUT = {
    **{kind: {"no numbers": 1} for kind in ("BatchNorm1d", "BatchNorm2d", "LayerNorm", "RMSNorm")},
    "AvgPool2d": {"no argument divisor_override": 3}, "GroupNorm": {"no argument bias": 2},
    "LogSoftmax": {"classes that are not last": 1, "dim must be 1 or -1": 1}, "Softmax": {"dim must be 1 or -1": 1},
    "MaxPool1d": {"no argument return_indices": 1}, "MaxPool2d": {"no argument return_indices": 1},
    "MultiheadAttention": {"a mask for each head": 8, "no argument add_bias_kv": 32, "no argument add_zero_attn": 16},
}  # fmt: skip


class Case(NamedTuple):
    """What is computed of `x` here (nested lists, one a sample) and there, the module or loss, and its weights."""

    ours: Any
    x: Any
    theirs: Any
    module: Any
    weights: dict[str, Any] = {}  # noqa: RUF012
    targets: Any = None


@cache
def database():
    pytest.importorskip("torch", reason="no PyTorch (extra oracle)")
    pytest.importorskip("expecttest", reason="no expecttest (extra oracle)")
    return {info.name.removeprefix("nn."): info for info in pytorchs_samples("common_modules").module_db}


def made(kind, kwargs):
    """The module or loss of that name here; the reason why not, as a text."""
    sizes = [kwargs.pop(k) for k in ("in_features", "out_features")] if kind == "Linear" else []  # ours by place
    try:
        return getattr(nn, kind)(*sizes, **{k: v.tolist() if hasattr(v, "tolist") else v for k, v in kwargs.items()})
    except sv.ScalarvizError as error:
        found = re.search(r"no argument '(\w+)'", str(error))
        return f"no argument {found[1]}" if found else str(error).partition(":")[2].strip().partition(",")[0]


def samples(kind):
    """A constructor's arguments by name, those of the call, and a PyTorch module made of them."""
    import torch

    info = database()[kind]
    signature = inspect.signature(info.module_cls)
    torch.manual_seed(0)
    for sample in info.module_inputs_func(info, device="cpu", dtype=torch.float64, requires_grad=True, training=False):
        given, forward = sample.constructor_input, sample.forward_input
        theirs = info.module_cls(*given.args, **given.kwargs).double().eval()
        bound = signature.bind(*given.args, **given.kwargs).arguments
        bound |= bound.pop("kwargs", {})
        kwargs = {k: v for k, v in bound.items() if v is not signature.parameters[k].default}
        yield kwargs, forward.args or tuple(forward.kwargs.values()), forward.kwargs, theirs


def cases_of(kind, training=False):
    """Every sample as a case, or the reason why there is none."""
    import torch

    for kwargs, args, more, theirs in samples(kind):
        if kind in LOSSES:
            yield of_loss(kind, kwargs, *args, theirs)
            continue
        for tensor in theirs.state_dict().values():  # away from where they begin: else scales are 1, means 0
            if tensor.is_floating_point():
                tensor.add_(torch.rand_like(tensor) * 0.2)
        module = made(kind, {k: v for k, v in kwargs.items() if k != "batch_first"})  # no batch in a sample here
        if isinstance(module, str) or args[0].numel() == 0:
            yield module if isinstance(module, str) else "no numbers"
            continue
        module.load_state_dict({k: v.detach().numpy() for k, v in theirs.state_dict().items()})
        weights = dict(theirs.named_parameters())
        if training:
            yield Case(lambda rows, module=module: [module(rows)], args[0], theirs.train(), module, weights)
        elif kind == "MultiheadAttention":
            yield of_attention(module, args, more, theirs, weights)
        else:
            yield of_module(kind, kwargs, module.eval(), args[0], theirs, weights)


def of_module(kind, kwargs, module, x, theirs, weights):
    """A module that is called on each sample of a batch."""
    last = DIMENSIONS[kind]
    if last == LEADING:
        last = len(getattr(module, "normalized_shape", (1,)))
        if "dim" in kwargs and kwargs["dim"] not in (-1, x.ndim - 1):
            return "classes that are not last"
    elif last == CHANNELS:
        by_itself = kind == "PReLU" and (x.ndim < 2 or module.num_parameters == 1)
        last = None if by_itself else max(x.ndim - 1, 1)
    if last is None or not getattr(module, "track_running_stats", True):  # that norm takes the batch in eval, too
        return Case(lambda rows: [module(rows)], x, theirs, module, weights)
    lead = x.shape[: x.ndim - last]

    def ours(rows):
        for _ in lead[1:]:
            rows = [row for part in rows for row in part]
        return [module(row) for row in rows] if lead else [module(rows)]

    return Case(ours, x, theirs, module, weights)


def of_attention(module, args, more, theirs, weights):
    import torch

    mask, padding = more["attn_mask"], more["key_padding_mask"]
    if mask is not None and mask.ndim == 3:
        return "a mask for each head"
    hidden = None if padding is None else padding.bool()[None].expand(len(args[0]), -1).tolist()

    def together(x):
        outputs, shares = theirs(*x, **more)
        return torch.cat([outputs.ravel(), shares.ravel()])

    x = torch.stack([a.detach() for a in args]).requires_grad_()
    return Case(lambda rows: [module(*rows, attn_mask=hidden)], x, together, module, weights)


def of_loss(kind, kwargs, x, y, theirs):
    """A loss of a batch, as a Run adds it up: a part a sample, and the divisor that the targets make."""
    if kind not in CLASSES:
        row = x.shape[-1:] or (1,)
        kwargs = {k: v.expand(row) if k.endswith("weight") and v is not None else v for k, v in kwargs.items()}
    loss = made(kind, kwargs)
    if isinstance(loss, str):
        return loss
    if kind in CLASSES:
        batch = x[None] if x.ndim == 1 else x
        targets = (y[None] if x.ndim == 1 and y.ndim == 0 else y).detach()
        shares = targets.shape == batch.shape and targets.is_floating_point()
        targets = targets.movedim(1, -1).reshape(-1, batch.shape[1]) if shares else targets.reshape(-1, 1)
    else:
        targets = y.detach().reshape(-1, y.shape[-1] if y.ndim else 1)
    wanted = targets.numpy()

    def ours(rows):
        values = np.array(flat(rows), object).reshape(x.shape)
        if kind in CLASSES:
            values = np.moveaxis(values[None] if values.ndim == 1 else values, 1, -1)
            given = [t.tolist() if len(t) > 1 else t[0].item() for t in wanted]
            call, divisor = loss.batch_part, float(loss.batch_shares(wanted).sum())
        else:
            given, call, divisor = wanted.tolist(), loss, len(wanted)
        parts = [call(row, t) for row, t in zip(values.reshape(len(wanted), -1).tolist(), given, strict=True)]
        return parts if loss.reduction == "none" else [sv.sum(parts) / (divisor if loss.reduction == "mean" else 1.0)]

    return Case(ours, x, lambda x: theirs(x, y), loss, {}, targets)


# ---- on objects


def close(found, wanted):
    np.testing.assert_allclose(np.ravel(found), np.asarray(wanted.detach()).ravel(), rtol=1e-10, atol=1e-11)


def check(case):
    """Values, and the gradients by the inputs and by the weights of what they are made of."""
    import torch

    real = case.x.is_floating_point()
    given = leaves(case.x.tolist()) if real else case.x.tolist()
    found, wanted = flat(case.ours(given)), case.theirs(case.x)
    close(numbers(found), wanted)
    upstream = np.random.default_rng(0).normal(size=wanted.numel())
    sv.dot(upstream.tolist(), found).backward()
    sources = [case.x] * real + list(case.weights.values())
    (wanted * torch.tensor(upstream).reshape(wanted.shape)).sum().backward(
        inputs=[source for source in sources if source.requires_grad]
    )
    if real:
        close(numbers(given, "grad"), case.x.grad)
    parameters = dict(case.module.named_parameters()) if case.weights else {}
    for name, tensor in case.weights.items():
        close(parameters[name].grad, tensor.grad)


@pytest.mark.filterwarnings("ignore:Using padding='same'")  # PyTorch's, of its own copies
@pytest.mark.parametrize("kind", [*DIMENSIONS, *LOSSES])
def test_every_sample_is_compared_or_has_a_reason(kind):
    cases = list(cases_of(kind))
    compared = [case for case in cases if not isinstance(case, str)]
    reasons = Counter(case for case in cases if isinstance(case, str))
    assert (len(compared), dict(reasons)) == (COMPARED[kind], LEFT_OUT.get(kind, {}))
    for case in compared:
        check(case)


@pytest.mark.parametrize("kind", ["BatchNorm1d", "BatchNorm2d"])
def test_norms_in_training(kind):
    """By hand, N samples at once: values, gradients, and what the running statistics become."""
    *cases, empty = sorted(cases_of(kind, training=True), key=lambda case: isinstance(case, str))
    assert (len(cases), empty) == (COMPARED[kind], "no numbers")
    for case in cases:
        check(case)
        assert case.module.state_dict().keys() == case.theirs.state_dict().keys()
        for name, tensor in case.theirs.state_dict().items():
            close(case.module.state_dict()[name], tensor)


def test_nothing_that_is_offered_and_has_samples_is_forgotten():
    offered = {name for name in dir(nn) if isinstance(getattr(nn, name), type)}
    assert set(database()) & offered == {*DIMENSIONS, *LOSSES}


# ---- in runs

SHRUNK = (1.0, 0.75, 0.5)
"""The samples of a run are that of PyTorch in these sizes: none leaves the domain of its function."""


class Stretched(nn.Module):
    """``call(x * scale)`` of a flat sample, which `call` sees as nested lists of `shape`."""

    def __init__(self, shape, call, module=None):
        self.shape, self.call, self.module = tuple(shape), call, module
        self.scale = nn.Parameter(np.ones(int(np.prod(shape))))

    def forward(self, x):
        scaled = [a * w for a, w in zip(x, self.scale, strict=True)]
        return flat(self.call(np.array(scaled, object).reshape(self.shape).tolist()))


def step(model, loss, x, y, engine):
    """Predictions, and how far a step at rate 1 moves each weight: its gradient."""
    before = {name: np.array(p.data) for name, p in model.named_parameters()}
    rule = optim.SGD(model.parameters(), lr=1.0)
    with Run(model, loss, rule, (x, y), engine=engine, dtype="float64", batch_size=len(x), seed=0) as run:
        predicted = np.array(run.predict(x))
        run.step(1)
        return predicted, {name: before[name] - np.array(p.data) for name, p in model.named_parameters()}


def near(found, wanted):
    wanted = np.asarray(wanted.detach()).ravel()
    np.testing.assert_allclose(np.ravel(found), wanted, rtol=1e-10, atol=1e-12 * float(np.abs(wanted).max(initial=1.0)))


@pytest.mark.parametrize("engine", ["numpy", "numba"])
@pytest.mark.parametrize("kind", [*(kind for kind in DIMENSIONS if kind != "Embedding"), *LOSSES])
def test_a_step_of_a_run_is_pytorchs(kind, engine):
    """Of the sample with about 24 numbers; ids of a table are not scaled: ``tests/engine/test_gathers.py``."""
    import torch

    some = [case for case in cases_of(kind) if not isinstance(case, str)]
    if kind in LOSSES:
        some = [c for c in some if c.module.reduction != "none" and (c.x.ndim == 2 if kind in CLASSES else c.x.ndim)]
    case = min(some, key=lambda case: abs(case.x.numel() - 24))
    if kind in LOSSES:
        x, targets = case.x.detach().reshape(-1, case.x.shape[-1]).numpy(), case.targets.numpy()
        scale = torch.ones(x.shape[1], dtype=torch.float64, requires_grad=True)
        case.theirs((torch.tensor(x) * scale).reshape(case.x.shape)).backward(inputs=[scale])
        targets = targets[:, 0] if targets.shape[1] == 1 else targets
        _, moved = step(Stretched(x.shape[1:], lambda row: row), case.module, x, targets, engine)
    else:
        flat_sample = case.x.detach().numpy().ravel()
        x = np.stack([flat_sample * size for size in SHRUNK])
        scale = torch.ones(len(flat_sample), dtype=torch.float64, requires_grad=True)
        wanted = torch.stack([case.theirs((torch.tensor(row) * scale).reshape(case.x.shape)).ravel() for row in x])
        targets = np.random.default_rng(0).normal(size=wanted.shape)
        ((wanted - torch.tensor(targets)) ** 2).mean().backward(inputs=[scale, *case.weights.values()])
        predicted, moved = step(Stretched(case.x.shape, case.ours, case.module), nn.MSELoss(), x, targets, engine)
        near(predicted, wanted)
    assert moved.keys() == {"scale", *(f"module.{name}" for name in case.weights)}
    near(moved["scale"], scale.grad)
    for name, tensor in case.weights.items():
        near(moved[f"module.{name}"], tensor.grad)
