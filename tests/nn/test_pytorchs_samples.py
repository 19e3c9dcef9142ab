"""PyTorch's own sample inputs (ModuleInfo, OpInfo) for what is offered here, on objects: values and all gradients.

Every sample is compared or has a reason; how many there are of each is stated.
"""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from pytorch_operations import NAMES, cases_of
from pytorch_samples import CLASSES, DIMENSIONS, PAIRED, databases, norm_cases

import scalarviz as sv
from kit.nested import flat
from scalarviz import nn

pytestmark = pytest.mark.ci  # loading the samples alone takes PyTorch 10 seconds
KINDS = (*DIMENSIONS, *PAIRED, *CLASSES, *NAMES)

# How many samples of each are compared,
COMPARED = {
    "AdaptiveAvgPool1d": 3, "AdaptiveAvgPool2d": 5, "AvgPool1d": 4, "AvgPool2d": 4, "BatchNorm1d": 7, "BatchNorm2d": 6,
    "Conv1d": 4, "Conv2d": 4, "ELU": 4, "GELU": 3, "GroupNorm": 8, "LayerNorm": 6, "LeakyReLU": 5, "Linear": 3,
    "LogSigmoid": 3, "LogSoftmax": 2, "MaxPool1d": 2, "MaxPool2d": 2, "PReLU": 8, "RMSNorm": 5, "ReLU": 4, "ReLU6": 4,
    "SiLU": 3, "Sigmoid": 4, "Softmax": 2, "Softplus": 5, "Tanh": 3, "Embedding": 2, "MultiheadAttention": 8,
    "MSELoss": 8, "L1Loss": 5, "SmoothL1Loss": 8, "HuberLoss": 4, "HingeEmbeddingLoss": 10, "BCELoss": 6,
    "BCEWithLogitsLoss": 6, "CrossEntropyLoss": 105, "NLLLoss": 28, "MultiMarginLoss": 7, "add": 8, "sub": 8, "mul": 8,
    "true_divide": 8, "div/no_rounding_mode": 8, "__radd__": 8, "__rsub__": 8, "__rmul__": 8, "__rdiv__": 8,
    "__rpow__": 8, "rsub": 8, "pow": 8, "float_power": 8, "reciprocal": 2, "neg": 1, "abs": 1, "exp": 2, "log": 2,
    "sqrt": 1, "sin": 1, "cos": 2, "tanh": 1, "sigmoid": 2, "square": 2, "erf": 1, "logaddexp": 8, "minimum": 8,
    "maximum": 8, "min/binary": 8, "max/binary": 8, "clamp": 7, "clamp_min": 8, "clamp_max": 8, "where": 6, "lt": 8,
    "le": 8, "gt": 8, "ge": 8, "nn.functional.relu": 4, "nn.functional.silu": 2, "nn.functional.leaky_relu": 9,
    "nn.functional.gelu": 8, "nn.functional.elu": 2, "nn.functional.softplus": 2, "nn.functional.logsigmoid": 2,
    "nn.functional.relu6": 2, "sum": 20, "mean": 20, "logsumexp": 15, "amax": 20, "amin": 20, "max/reduction_no_dim": 2,
    "min/reduction_no_dim": 2, "max/reduction_with_dim": 4, "min/reduction_with_dim": 4, "softmax": 6, "log_softmax": 6,
    "dot": 1, "nn.functional.conv1d": 10, "nn.functional.conv2d": 30, "nn.functional.avg_pool1d": 4,
    "nn.functional.avg_pool2d": 1, "nn.functional.max_pool1d": 108, "nn.functional.max_pool2d": 180,
    "nn.functional.adaptive_avg_pool1d": 5, "nn.functional.adaptive_avg_pool2d": 10, "nn.functional.layer_norm": 4,
    "nn.functional.rms_norm": 4, "nn.functional.group_norm": 13, "nn.functional.linear": 14,
    "nn.functional.embedding": 3, "nn.functional.mse_loss": 6, "nn.functional.l1_loss": 6,
    "nn.functional.smooth_l1_loss": 8, "nn.functional.huber_loss": 9, "nn.functional.hinge_embedding_loss": 10,
    "nn.functional.binary_cross_entropy": 8, "nn.functional.binary_cross_entropy_with_logits": 17,
    "nn.functional.cross_entropy": 21, "nn.functional.nll_loss": 61, "nn.functional.multi_margin_loss": 9,
}  # fmt: skip
# and how many are not, by reason: of most operations one has no numbers,
EMPTY = (
    "BatchNorm1d", "BatchNorm2d", "LayerNorm", "RMSNorm",
    "mul", "true_divide", "div/no_rounding_mode", "__radd__", "__rsub__", "__rmul__",
    "__rdiv__", "__rpow__", "pow", "float_power", "reciprocal", "exp", "log", "cos", "sigmoid", "square",
    "logaddexp", "minimum", "maximum", "min/binary", "max/binary", "clamp_min", "clamp_max", "lt", "le", "gt", "ge",
    "nn.functional.silu", "nn.functional.elu", "nn.functional.softplus", "nn.functional.logsigmoid",
    "nn.functional.relu6", "softmax", "log_softmax", "nn.functional.adaptive_avg_pool1d",
)  # fmt: skip
# others want an argument that is not offered (it is refused, never left out), or have another layout.
LEFT_OUT: dict[str, dict[str, int]] = {
    **{name: {"no numbers": 1} for name in EMPTY},
    "AvgPool2d": {"no argument divisor_override": 3},
    "GroupNorm": {"no argument bias": 2},
    "LogSoftmax": {"classes that are not last": 1, "dim must be 1 or -1": 1},
    "MaxPool1d": {"no argument return_indices": 1},
    "MaxPool2d": {"no argument return_indices": 1},
    "Softmax": {"dim must be 1 or -1": 1},
    "MultiheadAttention": {"a mask for each head": 8, "no argument add_bias_kv": 32, "no argument add_zero_attn": 16},
    "add": {"no argument alpha": 2, "no numbers": 1},
    "sub": {"no argument alpha": 2, "no numbers": 1},
    "rsub": {"no argument alpha": 2, "no numbers": 1},
    "nn.functional.avg_pool1d": {"no argument ceil_mode": 4, "no numbers": 1},
    "nn.functional.avg_pool2d": {"no argument ceil_mode": 5, "no argument divisor_override": 1},
    "nn.functional.max_pool1d": {
        "no argument ceil_mode": 432,
        "no argument dilation": 216,
        "no argument return_indices": 108,
    },
    "nn.functional.max_pool2d": {
        "no argument ceil_mode": 720,
        "no argument dilation": 360,
        "no argument return_indices": 180,
    },
    "nn.functional.layer_norm": {"eps must be a finite number >= 0": 1, "no numbers": 1},
    "nn.functional.rms_norm": {"eps must be a finite number >= 0": 1, "no numbers": 1},
    "nn.functional.group_norm": {"eps must be a finite number >= 0": 4, "no numbers": 4},
    "nn.functional.linear": {"no numbers": 4},
    "nn.functional.binary_cross_entropy": {"a weight a sample": 3},
    "nn.functional.binary_cross_entropy_with_logits": {"a weight a sample": 9},
    "nn.functional.multi_margin_loss": {"0 dimensions": 1},
}

NOT_OPERATIONS = {"gather", "item", "view"}
"""Names that mean something else here, or a shape."""


def leaves_of(x):
    return sv.Value(x) if not isinstance(x, list) else [leaves_of(part) for part in x]


def close(found, wanted):
    np.testing.assert_allclose(found, np.asarray(wanted.detach()).ravel(), rtol=1e-10, atol=1e-11)


def check(case):
    """Values, and the gradients by the inputs and by the weights of what they are made of."""
    import torch

    real = case.x.is_floating_point()
    given = leaves_of(case.x.tolist()) if real else case.x.tolist()
    found, wanted = flat(case.ours(given)), case.theirs(case.x)
    close([v.data for v in found], wanted)
    upstream = np.random.default_rng(0).normal(size=wanted.numel())
    sv.dot(upstream.tolist(), found).backward()
    if not wanted.requires_grad:
        assert not any(v.grad for v in flat(given))
        return
    sources = [case.x] * real + list(case.weights.values())
    (wanted * torch.tensor(upstream).reshape(wanted.shape)).sum().backward(
        inputs=[s for s in sources if s.requires_grad]
    )
    if real:
        close([v.grad for v in flat(given)], case.x.grad)
    for name, tensor in case.weights.items():
        parameter = dict(case.module.named_parameters())[name]
        close(np.asarray(parameter.grad).ravel(), tensor.grad)


@pytest.mark.filterwarnings("ignore:Using padding='same'")  # PyTorch's, of its own copies
@pytest.mark.parametrize("kind", KINDS)
def test_every_sample_is_compared_or_has_a_reason(kind):
    cases = cases_of(kind)
    reasons = Counter(case for case in cases if isinstance(case, str))
    compared = [case for case in cases if not isinstance(case, str)]
    assert (len(compared), dict(reasons)) == (COMPARED[kind], LEFT_OUT.get(kind, {}))
    for case in compared:
        check(case)


@pytest.mark.parametrize(("kind", "count"), [("BatchNorm1d", 7), ("BatchNorm2d", 6)])
def test_norms_in_training(kind, count):
    """By hand, N samples at once: values, gradients, and what the running statistics become."""
    cases = norm_cases(kind)
    compared = [case for case in cases if not isinstance(case, str)]
    assert (len(compared), len(cases)) == (count, count + 1)  # one has no numbers
    for case in compared:
        check(case)
        assert case.module.state_dict().keys() == case.theirs.state_dict().keys()
        for name, tensor in case.theirs.state_dict().items():
            close(np.ravel(case.module.state_dict()[name]), tensor)


def test_nothing_that_is_offered_and_has_samples_is_forgotten():
    """Modules and losses by their names; of operations those that have a function or a method here."""
    modules, operations = databases()
    offered = {name for name in dir(nn) if isinstance(getattr(nn, name), type)}
    assert set(modules) & offered == set(DIMENSIONS) | set(PAIRED) | set(CLASSES)
    functions = {name for name in {*dir(sv), *dir(sv.Value)} if not name.startswith("_")}
    named = {name for name, _ in operations} & (functions | set(sv.scalar.ops.TABLE))
    assert named - {name.partition("/")[0] for name in NAMES} == NOT_OPERATIONS
