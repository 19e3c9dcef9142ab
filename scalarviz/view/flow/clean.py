"""What layers and rows are called where nobody reads code: in a picture for a hall."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from ...run.core.frame import Stage, Tensor

LAYERS = {"linear": "layer", "conv1d": "convolution", "conv2d": "convolution"}
"""What a stage with weights is, by its kind; others are called as their kind."""
ROWS = {
    "relu": "ReLU", "leaky_relu": "leaky ReLU", "relu6": "ReLU6", "gelu": "GELU", "silu": "SiLU", "elu": "ELU",
    "max_pool1d": "max pool", "max_pool2d": "max pool", "avg_pool1d": "mean pool", "avg_pool2d": "mean pool", **LAYERS,
}  # fmt: skip
"""What a row of activations is, by its kind; others are called as their kind, in words."""


def clean_titles(tensors: Sequence[Tensor], stages: Sequence[Stage]) -> dict[str, str]:
    """``layer 1``, ``layer 2`` for the weights of stages, by the names of the tensors; alone a kind has no number."""
    named = {tensor.name for tensor in tensors}
    found: dict[str, str] = {}
    for stage in stages:
        name = f"{stage.name}.weight" if stage.weight is None else stage.weight.name
        if name in named and name not in found:
            found[name] = LAYERS.get(stage.kind, _words(stage.kind))
    counts, numbers = Counter(found.values()), Counter[str]()
    for name, noun in found.items():
        numbers[noun] += 1
        found[name] = f"{noun} {numbers[noun]}" if counts[noun] > 1 else noun
    return found


def clean_rows(names: Mapping[str, str]) -> dict[str, str]:
    """The same for rows of activations: what each stage's is called."""
    return {stage: ROWS.get(kind, _words(kind)) for stage, kind in names.items()}


def _words(kind: str) -> str:
    return kind.replace("_", " ")
