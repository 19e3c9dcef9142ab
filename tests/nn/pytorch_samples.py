"""PyTorch's own sample inputs (ModuleInfo, OpInfo) as cases for what is offered here, or the reason why there is none.

A case holds a function of nested lists of numbers and PyTorch's of a tensor: the tests call the one on Values, on the
other engines inside a Run, and compare with the other.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import pytest

import scalarviz as sv
from kit.nested import flat
from scalarviz import nn

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
PAIRED = ("MSELoss", "L1Loss", "SmoothL1Loss", "HuberLoss", "HingeEmbeddingLoss", "BCELoss", "BCEWithLogitsLoss")
CLASSES = ("CrossEntropyLoss", "NLLLoss", "MultiMarginLoss")


class Case(NamedTuple):
    """One sample: what is computed of `x` here (nested lists, one a sample) and there, the module or loss, its weights.

    `targets` are those of a loss, a row a sample.
    """

    ours: Callable[[Any], list[Any]]
    x: Any
    theirs: Callable[[Any], Any]
    module: Any = None
    weights: dict[str, Any] = {}  # noqa: RUF012
    targets: Any = None


@cache
def databases() -> tuple[dict[str, Any], dict[tuple[str, str], Any]]:
    """ModuleInfo by name, OpInfo by name and variant."""
    pytest.importorskip("torch", reason="no PyTorch (extra oracle)")
    pytest.importorskip("expecttest", reason="no expecttest (extra oracle)")
    from torch.testing._internal.common_methods_invocations import op_db
    from torch.testing._internal.common_modules import module_db

    return {m.name.removeprefix("nn."): m for m in module_db}, {(o.name, o.variant_test_name): o for o in op_db}


def plain(x: Any) -> Any:
    """Lists of numbers of a tensor."""
    return x.tolist() if hasattr(x, "tolist") else x


def made(kind: str, kwargs: dict[str, Any]) -> Any:
    """The module or loss of that name here; the reason why not, as a text."""
    sizes = [kwargs.pop(k) for k in ("in_features", "out_features")] if kind == "Linear" else []  # ours by place
    try:
        return getattr(nn, kind)(*sizes, **{k: plain(v) for k, v in kwargs.items()})
    except sv.ScalarvizError as error:
        found = re.search(r"no argument '(\w+)'", str(error))
        return f"no argument {found[1]}" if found else str(error).partition(":")[2].strip().partition(",")[0]


def named(cls: Any, args: Any, kwargs: dict[str, Any]) -> dict[str, Any]:
    """A constructor's arguments by name, without those that are what they would be anyway."""
    signature = inspect.signature(cls)
    bound = signature.bind(*args, **kwargs).arguments
    bound |= bound.pop("kwargs", {})
    return {k: v for k, v in bound.items() if v is not signature.parameters[k].default}


def module_samples(kind: str) -> Any:
    """Constructor and forward arguments of each sample, and a PyTorch module made of them."""
    import torch

    info = databases()[0][kind]
    torch.manual_seed(0)
    for sample in info.module_inputs_func(info, device="cpu", dtype=torch.float64, requires_grad=True, training=False):
        given, forward = sample.constructor_input, sample.forward_input
        theirs = info.module_cls(*given.args, **given.kwargs).double().eval()
        yield named(info.module_cls, given.args, given.kwargs), (forward.args, forward.kwargs), theirs


def module_cases(kind: str) -> list[Case | str]:
    """Every sample of a module."""
    cases: list[Case | str] = []
    for kwargs, (args, more), theirs in module_samples(kind):
        _move(theirs)
        if kind == "MultiheadAttention":
            cases.append(_attention(kwargs, args, more, theirs))
            continue
        (x,) = args or tuple(more.values())
        cases.append(of_module(kind, kwargs, x, theirs, dict(theirs.named_parameters()), theirs.state_dict()))
    return cases


def _move(theirs: Any) -> None:
    """Weights and statistics away from where they begin: else scales are 1, shifts and means 0."""
    import torch

    for tensor in theirs.state_dict().values():
        if tensor.is_floating_point():
            tensor.add_(torch.rand_like(tensor) * 0.2)


def of_module(
    kind: str, kwargs: dict[str, Any], x: Any, theirs: Callable[..., Any], weights: dict[str, Any],
    state: dict[str, Any],
) -> Case | str:  # fmt: skip
    """A module that is called on each sample of a batch."""
    module = made(kind, kwargs)
    if isinstance(module, str):
        return module
    if x.numel() == 0:
        return "no numbers"
    if state:
        module.load_state_dict({k: v.detach().numpy() for k, v in state.items()})
    module.eval()
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
    if x.ndim < last:
        return f"{x.ndim} dimensions"
    lead = x.shape[: x.ndim - last]

    def ours(rows: Any) -> list[Any]:
        for _ in lead[1:]:
            rows = [row for part in rows for row in part]
        return [module(row) for row in rows] if lead else [module(rows)]

    return Case(ours, x, theirs, module, weights)


def _attention(kwargs: dict[str, Any], args: Any, more: dict[str, Any], theirs: Any) -> Case | str:
    """One sample of lists of positions: it has no batch dimension, so that `batch_first` says nothing."""
    import torch

    module = made("MultiheadAttention", {k: v for k, v in kwargs.items() if k != "batch_first"})
    if isinstance(module, str):
        return module
    mask, padding = more["attn_mask"], more["key_padding_mask"]
    if mask is not None and mask.ndim == 3:
        return "a mask for each head"
    module.load_state_dict({k: v.detach().numpy() for k, v in theirs.state_dict().items()})
    hidden = None if padding is None else padding.bool()[None].expand(len(args[0]), -1).tolist()

    def together(x: Any) -> Any:
        outputs, shares = theirs(*x, **more)
        return torch.cat([outputs.ravel(), shares.ravel()])

    x = torch.stack([a.detach() for a in args]).requires_grad_()
    return Case(lambda rows: [module(*rows, attn_mask=hidden)], x, together, module, dict(theirs.named_parameters()))


def norm_cases(kind: str) -> list[Case | str]:
    """Every sample of a batch norm in training: N of them at once, by hand."""
    cases: list[Case | str] = []
    for kwargs, ((x,), _), theirs in module_samples(kind):
        module = made(kind, kwargs)
        if isinstance(module, str) or x.numel() == 0:
            cases.append(module if isinstance(module, str) else "no numbers")
            continue
        _move(theirs)
        module.load_state_dict({k: v.detach().numpy() for k, v in theirs.state_dict().items()})
        cases.append(Case(_whole(module), x, theirs.train(), module, dict(theirs.named_parameters())))
    return cases


def _whole(module: Any) -> Callable[[Any], list[Any]]:
    return lambda rows: [module(rows)]


def loss_cases(kind: str) -> list[Case | str]:
    """Every sample of a loss."""
    return [of_loss(kind, kwargs, args[0], args[1], theirs) for kwargs, (args, _), theirs in module_samples(kind)]


def of_loss(kind: str, kwargs: dict[str, Any], x: Any, y: Any, theirs: Callable[..., Any]) -> Case | str:
    """A loss of a batch, as a Run adds it up: a part a sample, and the divisor that the targets make."""
    weights = [kwargs[k] for k in ("weight", "pos_weight") if kwargs.get(k) is not None]
    if x.numel() == 0:
        return "no numbers"
    if kind in CLASSES and x.ndim == 0:
        return "0 dimensions"
    if any(w.ndim > 1 for w in weights):
        return "a weight a sample"
    if kind not in CLASSES:
        if x.shape != y.shape:
            return "targets of another shape"
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
    return Case(_added_up(loss, kind, x, targets), x, lambda x: theirs(x, y), loss, {}, targets)


def _added_up(loss: Any, kind: str, x: Any, targets: Any) -> Callable[[Any], list[Any]]:
    import numpy as np

    numbers = targets.numpy()

    def ours(rows: Any) -> list[Any]:
        leaves = np.array(flat(rows), object).reshape(x.shape)
        if kind in CLASSES:
            leaves = np.moveaxis(leaves[None] if leaves.ndim == 1 else leaves, 1, -1)
        lists = leaves.reshape(len(numbers), -1).tolist()
        if kind not in CLASSES:
            parts = [loss(row, t.tolist()) for row, t in zip(lists, numbers, strict=True)]
            if loss.reduction == "none":
                return parts
            return [sv.sum(parts) / (len(parts) if loss.reduction == "mean" else 1.0)]
        given = [t.tolist() if len(t) > 1 else t[0].item() for t in numbers]
        parts = [loss.batch_part(row, t) for row, t in zip(lists, given, strict=True)]
        if loss.reduction == "none":
            return parts
        shares = loss.batch_shares(numbers)
        return [sv.sum(parts) / (float(shares.sum()) if loss.reduction == "mean" else 1.0)]

    return ours
