"""PyTorch's sample inputs of operations (OpInfo) as cases for what is offered here, or the reason why there is none."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

from pytorch_samples import DIMENSIONS, Case, databases, loss_cases, module_cases, of_loss, of_module, plain

import scalarviz as sv
from scalarviz.scalar import function

MOST = 300
"""Numbers of an operand that are compared; the others of that sample say nothing new."""


class Each(NamedTuple):
    """An operation of single numbers: of as many Values as there are operands, and what keywords mean."""

    call: Callable[..., Any]
    keywords: dict[str, str] = {}  # noqa: RUF012  # theirs to ours; another one is refused


def _clip(a: Any, low: Any = None, high: Any = None) -> Any:
    return sv.clip(a, -math.inf if low is None else low, math.inf if high is None else high)


def _gelu(a: Any, approximate: str = "none") -> Any:
    return function("gelu" if approximate == "none" else "gelu_tanh")(a)


def _softplus(a: Any, beta: float = 1.0, threshold: float = 20.0) -> Any:
    return function("softplus_up_to")(a, beta, threshold)


def _elu(a: Any, alpha: float = 1.0) -> Any:
    return function("elu")(a, alpha)


EACH = {
    "add": Each(lambda a, b: a + b), "sub": Each(lambda a, b: a - b), "mul": Each(lambda a, b: a * b),
    "true_divide": Each(lambda a, b: a / b), "div/no_rounding_mode": Each(lambda a, b: a / b),
    "__radd__": Each(lambda a, b: b + a), "__rsub__": Each(lambda a, b: b - a), "__rmul__": Each(lambda a, b: b * a),
    "__rdiv__": Each(lambda a, b: b / a), "__rpow__": Each(lambda a, b: b**a), "rsub": Each(lambda a, b: b - a),
    "pow": Each(lambda a, b: a**b), "float_power": Each(sv.pow), "reciprocal": Each(lambda a: 1 / a),
    "neg": Each(lambda a: -a), "abs": Each(abs), "exp": Each(sv.exp), "log": Each(sv.log), "sqrt": Each(sv.sqrt),
    "sin": Each(sv.sin), "cos": Each(sv.cos), "tanh": Each(sv.tanh), "sigmoid": Each(sv.sigmoid),
    "square": Each(sv.square), "erf": Each(function("erf")), "logaddexp": Each(function("logaddexp")),
    "minimum": Each(sv.minimum), "maximum": Each(sv.maximum), "min/binary": Each(sv.minimum),
    "max/binary": Each(sv.maximum), "clamp": Each(_clip, {"min": "low", "max": "high"}), "clamp_min": Each(_clip),
    "clamp_max": Each(lambda a, high: _clip(a, None, high)), "where": Each(lambda a, c, b: sv.where(c, a, b)),
    "lt": Each(lambda a, b: a < b), "le": Each(lambda a, b: a <= b), "gt": Each(lambda a, b: a > b),
    "ge": Each(lambda a, b: a >= b), "nn.functional.relu": Each(sv.relu), "nn.functional.silu": Each(function("silu")),
    "nn.functional.leaky_relu": Each(sv.leaky_relu, {"negative_slope": "slope"}),
    "nn.functional.gelu": Each(_gelu, {"approximate": "approximate"}),
    "nn.functional.elu": Each(_elu, {"alpha": "alpha"}),
    "nn.functional.softplus": Each(_softplus, {"beta": "beta", "threshold": "threshold"}),
    "nn.functional.logsigmoid": Each(function("log_sigmoid")), "nn.functional.relu6": Each(function("relu6")),
}  # fmt: skip
ALL = {
    "sum": sv.sum, "mean": sv.mean, "logsumexp": sv.logsumexp, "amax": sv.max, "amin": sv.min,
    "max/reduction_no_dim": sv.max, "min/reduction_no_dim": sv.min, "max/reduction_with_dim": sv.max,
    "min/reduction_with_dim": sv.min,
}  # fmt: skip
"""One number of a list."""
ROWS = {"softmax": sv.softmax, "log_softmax": sv.log_softmax}
MODULES = {
    "nn.functional.conv1d": "Conv1d", "nn.functional.conv2d": "Conv2d", "nn.functional.avg_pool1d": "AvgPool1d",
    "nn.functional.avg_pool2d": "AvgPool2d", "nn.functional.max_pool1d": "MaxPool1d",
    "nn.functional.max_pool2d": "MaxPool2d", "nn.functional.adaptive_avg_pool1d": "AdaptiveAvgPool1d",
    "nn.functional.adaptive_avg_pool2d": "AdaptiveAvgPool2d", "nn.functional.layer_norm": "LayerNorm",
    "nn.functional.rms_norm": "RMSNorm", "nn.functional.group_norm": "GroupNorm", "nn.functional.linear": "Linear",
    "nn.functional.embedding": "Embedding",
}  # fmt: skip
"""Functions that are called as a module with these weights."""
PLACES = {
    "Conv1d": ("weight", "bias", "stride", "padding", "dilation", "groups"), "Linear": ("weight", "bias"),
    "AvgPool1d": ("kernel_size", "stride", "padding", "ceil_mode", "count_include_pad"),
    "MaxPool1d": ("kernel_size", "stride", "padding", "dilation", "ceil_mode", "return_indices"),
    "AdaptiveAvgPool1d": ("output_size",), "LayerNorm": ("normalized_shape", "weight", "bias", "eps"),
    "RMSNorm": ("normalized_shape", "weight", "eps"), "GroupNorm": ("num_groups", "weight", "bias", "eps"),
    "Embedding": ("weight",),
}  # fmt: skip
USUAL = {"stride": 1, "padding": 0, "dilation": 1, "groups": 1, "ceil_mode": False, "return_indices": False,
         "count_include_pad": True, "divisor_override": None}  # fmt: skip
LOSSES = {
    "nn.functional.mse_loss": "MSELoss", "nn.functional.l1_loss": "L1Loss",
    "nn.functional.smooth_l1_loss": "SmoothL1Loss", "nn.functional.huber_loss": "HuberLoss",
    "nn.functional.hinge_embedding_loss": "HingeEmbeddingLoss", "nn.functional.binary_cross_entropy": "BCELoss",
    "nn.functional.binary_cross_entropy_with_logits": "BCEWithLogitsLoss",
    "nn.functional.cross_entropy": "CrossEntropyLoss", "nn.functional.nll_loss": "NLLLoss",
    "nn.functional.multi_margin_loss": "MultiMarginLoss",
}  # fmt: skip
NAMES = (*EACH, *ALL, *ROWS, "dot", *MODULES, *LOSSES)


def cases_of(kind: str) -> list[Case | str]:
    """Every sample of a module, a loss or an operation."""
    if kind in DIMENSIONS:
        return module_cases(kind)
    return operation_cases(kind) if kind in NAMES else loss_cases(kind)


def operation_cases(name: str) -> list[Case | str]:
    """Every sample of an operation."""
    import torch

    key, _, variant = name.partition("/")
    info = databases()[1][key, variant]
    torch.manual_seed(0)
    samples = info.sample_inputs("cpu", torch.float64, requires_grad=True)
    return [_case(name, info.op, sample) for sample in samples]


def _case(name: str, op: Any, sample: Any) -> Case | str:
    if name in LOSSES:
        return _of_loss(LOSSES[name], op, sample)
    if name in MODULES:
        return _of_module(MODULES[name], op, sample)
    if sample.input.numel() == 0:
        return "no numbers"
    if name in EACH:
        return _of_each(EACH[name], op, sample)
    if name == "dot":
        import torch

        both = torch.stack([sample.input.detach(), sample.args[0].detach()]).requires_grad_()
        return Case(lambda rows: [sv.dot(*rows)], both, lambda x: op(*x))
    return _of_all(name, op, sample)


def _of_each(each: Each, op: Any, sample: Any) -> Case | str:
    """All operands that are numbers as rows of one tensor, so that the gradient reaches each of them."""
    import torch

    if unknown := set(sample.kwargs) - set(each.keywords):
        return f"no argument {min(unknown)}"
    given = [sample.input, *sample.args]
    if any(isinstance(v, torch.Tensor) and not v.numel() for v in given):
        return "no numbers"
    tensors = [torch.as_tensor(v) for v in given if v is not None]
    spread = [t.detach().reshape(-1)[:MOST] for t in torch.broadcast_tensors(*tensors)]
    x = torch.stack([t.double() for t in spread]).requires_grad_()
    places = [k for k, v in enumerate(given) if v is not None]
    kinds = [t.dtype for t in tensors]

    def operands(rows: Any, cast: Callable[[Any, Any], Any]) -> list[Any]:
        found = [None] * len(given)
        for row, place, kind in zip(rows, places, kinds, strict=True):
            found[place] = cast(row, kind)
        return found

    def theirs(rows: Any) -> Any:
        cast = operands(rows, lambda row, kind: row != 0 if kind == torch.bool else row)
        return op(*cast, **sample.kwargs).double()

    keywords = {each.keywords[k]: plain(v) for k, v in sample.kwargs.items()}

    def ours(rows: Any) -> list[Any]:
        columns = zip(*rows, strict=True)
        return [each.call(*operands(column, lambda v, _: v), **keywords) for column in columns]

    return Case(ours, x, theirs)


def _of_all(name: str, op: Any, sample: Any) -> Case | str:
    """Along some dimensions: they are brought to the end."""
    import torch

    x = sample.input
    args, kwargs = list(sample.args), dict(sample.kwargs)
    along = kwargs["dim"] if "dim" in kwargs else args[0] if args else None
    if set(kwargs) - {"dim", "keepdim"}:
        return f"no argument {min(set(kwargs) - {'dim', 'keepdim'})}"
    dims = (along,) if isinstance(along, int) else along or tuple(range(x.ndim))
    dims = tuple(sorted(d % max(x.ndim, 1) for d in dims)) if x.ndim else ()
    rest = tuple(d for d in range(x.ndim) if d not in dims)
    size = math.prod(x.shape[d] for d in dims)
    rows = x.detach().permute((*rest, *dims)).reshape(-1, size).requires_grad_()
    back = [(*rest, *dims).index(d) for d in range(x.ndim)]
    sizes = [x.shape[d] for d in (*rest, *dims)]

    def theirs(rows: Any) -> Any:
        found = op(rows.reshape(sizes).permute(back), *args, **kwargs)
        found = found if isinstance(found, torch.Tensor) else found.values
        return found.permute((*rest, *dims)) if name in ROWS and x.ndim else found

    call = ROWS.get(name) or ALL[name]
    return Case(lambda rows: [call(row) for row in rows], rows, theirs)


def _of_module(kind: str, op: Any, sample: Any) -> Case | str:
    """The module with the weights that the function is given."""
    import torch

    places = PLACES[kind.replace("2d", "1d")] + (("divisor_override",) if kind == "AvgPool2d" else ())
    given = dict(zip(places, sample.args, strict=False)) | sample.kwargs
    x, table = sample.input, None
    if kind == "Embedding":
        x, table = given.pop("weight"), sample.input.detach().requires_grad_()
    tensors = {k: v.detach().requires_grad_() for k, v in given.items() if isinstance(v, torch.Tensor)}
    rest = {k: v for k, v in given.items() if k not in tensors}
    weights = tensors if table is None else {"weight": table}
    shape = weights["weight"].shape if "weight" in weights else ()
    kwargs = {k: v for k, v in rest.items() if v is not None and (k not in USUAL or v != USUAL[k])}
    kwargs |= _told(kind, x, shape, set(weights), rest.get("groups", 1))

    def theirs(x: Any) -> Any:
        return op(x, **rest, **tensors) if table is None else op(table, x, **rest)

    return of_module(kind, kwargs, x, theirs, weights, weights)


def _told(kind: str, x: Any, shape: Any, weights: set[str], groups: int) -> dict[str, Any]:
    """What a constructor is told that a function sees by itself: sizes, and which weights there are."""
    match kind:
        case "Linear":
            out, inner = shape if len(shape) == 2 else (1, *shape)
            return {"in_features": inner, "out_features": out, "bias": "bias" in weights}
        case "Conv1d" | "Conv2d":
            sizes = {"in_channels": shape[1] * groups, "out_channels": shape[0], "kernel_size": tuple(shape[2:])}
            return sizes | {"bias": "bias" in weights}
        case "LayerNorm":
            return {"elementwise_affine": "weight" in weights, "bias": "bias" in weights}
        case "RMSNorm":
            return {"elementwise_affine": "weight" in weights}
        case "GroupNorm":
            return {"num_channels": x.shape[1], "affine": "weight" in weights}
        case "Embedding":
            return {"num_embeddings": shape[0], "embedding_dim": shape[1]}
    return {}


def _of_loss(kind: str, op: Any, sample: Any) -> Case | str:
    kwargs = {k: v for k, v in sample.kwargs.items() if v is not None}
    return of_loss(kind, kwargs, sample.input, sample.args[0], lambda x, y: op(x, y, **sample.kwargs))
