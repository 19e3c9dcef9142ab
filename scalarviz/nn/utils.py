"""Clip gradients between ``backward()`` and ``optimizer.step()`` in hand-written loops, named as in PyTorch.

A Run has arguments for this: ``Run(..., clip_norm=1.0, clip_value=0.5)``.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arguments import explained, module_names
from ..checks import flag
from ..errors import StateError
from ..scalar import Block, Weight
from ..scalar._absent import each_name
from ..scalar.number import checked_number
from ..scalar.weight import Indices, named_blocks

_FOREACH = {"foreach": "the function is always fast; omit foreach"}
TINY = 1e-6
"""PyTorch adds this to the norm before it divides by it."""
Parts = list[tuple[Block, Indices]]


@explained(_FOREACH)
def clip_grad_norm_(
    parameters: Iterable[Block | Weight] | Block | Weight, max_norm: float, norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
) -> float:  # fmt: skip
    """Scale the gradients down so that their joint norm is at most `max_norm`; smaller gradients stay.

    Parameters
    ----------
    parameters : iterable of Parameter and Weight
        Such as ``net.parameters()``. Gradients that are not computed do not count, nor those of frozen weights.
    max_norm : float
        At least 0.
    norm_type : float
        2 for the Euclidean norm, ``math.inf`` for the largest number; above 0.
    error_if_nonfinite : bool
        Raise if the norm is not finite; else gradients become NaN or 0, as in PyTorch.

    Returns
    -------
    float
        The norm before scaling.

    Raises
    ------
    TypeMismatchError
        Something in `parameters` is neither a Parameter nor a Weight.
    InputError
        A number is out of its range.
    StateError
        The norm is not finite, and `error_if_nonfinite` is True.
    """
    parts, most = _computed(parameters, "clip_grad_norm_"), _number(max_norm, "clip_grad_norm_: max_norm")
    kind = checked_number(norm_type, "clip_grad_norm_: norm_type", lambda number: number > 0, "be above 0")
    strict = flag(error_if_nonfinite, "clip_grad_norm_: error_if_nonfinite")
    found = [np.abs(block.flat_grad[places].astype(np.float64)) for block, places in parts]
    numbers = np.concatenate([*found, np.zeros(0)])
    with np.errstate(over="ignore", invalid="ignore"):
        if kind == math.inf:
            length = float(numbers.max(initial=0.0))
        elif kind == 2:
            length = math.sqrt(np.square(numbers).sum())
        else:
            length = float((numbers**kind).sum() ** (1 / kind))
        if strict and not math.isfinite(length):
            raise StateError(f"clip_grad_norm_: the norm of the gradients is {length}; no gradient was changed")
        factor = min(1.0, most / (length + TINY)) if length == length else math.nan
        for block, places in parts:
            block.flat_grad[places] *= factor
    return np.float64(length)  # a float that has PyTorch's item()


def clip_grad_value_(parameters: Iterable[Block | Weight] | Block | Weight, clip_value: float) -> None:
    """Clip each number of the gradients to ``-clip_value .. clip_value``.

    Parameters
    ----------
    parameters : iterable of Parameter and Weight
    clip_value : float
        At least 0.

    Raises
    ------
    TypeMismatchError, InputError
        As for :func:`clip_grad_norm_`.
    """
    parts, most = _computed(parameters, "clip_grad_value_"), _number(clip_value, "clip_grad_value_: clip_value")
    for block, places in parts:
        block.flat_grad[places] = np.clip(block.flat_grad[places], -most, most)


def _number(given: Any, what: str) -> float:
    return checked_number(given, what, lambda number: number >= 0, "be a number >= 0")


def _computed(parameters: Any, title: str) -> Parts:
    """Return each block once, with the flat indices of the computed gradients."""
    listed = [parameters] if isinstance(parameters, Block | Weight) else parameters
    named = named_blocks(listed, title, "parameters")
    counted = ((block.computed[places] != 0) & (block.frozen_flags[places] == 0) for block, places in named)
    return [(block, places[here]) for (block, places), here in zip(named, counted, strict=True)]


_ALL = ["clip_grad_norm_", "clip_grad_value_"]
_ABSENT = each_name({
    "clip_grad_norm": "use clip_grad_norm_", "rnn": "all samples of a Run have one length: pad them yourself",
    "parameters_to_vector": "use np.concatenate([p.data.ravel() for p in net.parameters()])",
    "vector_to_parameters": "for each parameter: p.data = vector[a:b].reshape(p.shape)",
    "get_total_norm clip_grads_with_norm_": "use clip_grad_norm_(parameters, most), which returns the norm",
    "spectral_norm weight_norm remove_spectral_norm remove_weight_norm parametrizations parametrize":
        "compute the weights in forward from a Parameter, such as w / w.norm()",
    "fuse_conv_bn_eval fuse_conv_bn_weights fuse_linear_bn_eval fuse_linear_bn_weights fusion memory_format "
    "convert_conv2d_weight_memory_format convert_conv3d_weight_memory_format": "a Run compiles the network as it is",
    "skip_init": "make the layer, and set p.data",
})  # fmt: skip
if not TYPE_CHECKING:
    __dir__, __getattr__ = module_names(__name__, _ALL, _ABSENT)
