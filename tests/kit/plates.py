"""Chains of layers and named arrays as tensors and stages, and their layout in all of a window."""

from __future__ import annotations

from itertools import pairwise
from math import prod

import numpy as np

from scalarviz.run.core.tensors import Stage, Tensor
from scalarviz.view.space.layout import Layout, layout_for


def chain(*widths: int, bias: bool = True, kind: str = "tanh") -> tuple[list[Tensor], list[Stage]]:
    """Linear layers, each with an activation."""
    tensors: list[Tensor] = []
    stages: list[Stage] = []
    start = 0
    for k, (n_in, n_out) in enumerate(pairwise(widths)):
        weight = Tensor(f"{2 * k}.weight", (n_out, n_in), start)
        offset = Tensor(f"{2 * k}.bias", (n_out,), start + weight.size, "bias") if bias else None
        start += weight.size + (n_out if bias else 0)
        tensors += [weight] if offset is None else [weight, offset]
        stages += [Stage(f"{2 * k}", "linear", n_out, weight, offset), Stage(f"{2 * k + 1}", kind, n_out)]
    return tensors, stages


def arrays(*shapes: tuple[int, ...]) -> tuple[list[Tensor], list[Stage]]:
    """``t0``, ``t1``, ... of no stage."""
    starts = np.cumsum([0, *(prod(shape) for shape in shapes)])
    return [Tensor(f"t{k}", shape, int(starts[k])) for k, shape in enumerate(shapes)], []


def whole(parts: tuple[list[Tensor], list[Stage]], size: tuple[int, int]) -> Layout:
    """Their layout in all of a window."""
    return layout_for(*parts, size, (0.0, 0.0, float(size[0]), float(size[1])))
