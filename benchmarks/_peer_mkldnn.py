"""PyTorch with the products of oneDNN: the same layers over ``torch.ops.mkldnn._linear_pointwise``.

By itself PyTorch takes the products of its BLAS (MKL), which uses AVX2 on processors of AMD, and leaves oneDNN, which
uses AVX-512 there, to convolutions and to compiled inference. Nobody trains like this; it is what PyTorch could do.
"""

from __future__ import annotations

from typing import Any

import torch


def linear(x: Any, weight: Any, bias: Any = None) -> Any:
    """``x @ weight.T + bias`` by oneDNN."""
    return torch.ops.mkldnn._linear_pointwise(x, weight, bias, "none", [], "")


class Product(torch.autograd.Function):
    """A layer whose three products are oneDNN's."""

    @staticmethod
    def forward(ctx: Any, x: Any, weight: Any, bias: Any) -> Any:
        ctx.save_for_backward(x, weight)
        return linear(x, weight, bias)

    @staticmethod
    def backward(ctx: Any, upstream: Any) -> Any:
        x, weight = ctx.saved_tensors
        below = linear(upstream, weight.T) if ctx.needs_input_grad[0] else None
        return below, linear(upstream.T, x.T), upstream.sum(0)


class Linear(torch.nn.Linear):
    """`torch.nn.Linear` over it."""

    def forward(self, x: Any) -> Any:
        return Product.apply(x, self.weight, self.bias)
