"""How a Run makes the loss of a batch from those of its samples; a loss says it by attributes.

``batch_reduction``: "mean" (also of a plain function) or "sum". ``batch_part(outputs, targets)``: what a sample adds,
where that is not what the loss is of the sample alone. ``batch_shares(targets)``: what each sample of (N, n_targets)
adds to the number that a mean divides by, where it is not always 1.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..checks import one_of
from ..errors import InputError

Reduction = Literal["mean", "sum", "none"]
Joined = Literal["mean", "sum"]
Shares = Callable[[NDArray[Any]], NDArray[np.float64]]


def reduction_of(given: object, what: str) -> Reduction:
    """One of the three.

    Raises
    ------
    InputError
        It is none of them.
    """
    one_of(given, ("mean", "sum", "none"), what)
    return "sum" if given == "sum" else "none" if given == "none" else "mean"


def joined_of(given: object, what: str) -> Joined:
    """``"mean"`` or ``"sum"``.

    Raises
    ------
    InputError
        It is neither.
    """
    return "sum" if one_of(given, ("mean", "sum"), what) == "sum" else "mean"


def batch_reduction(loss: Callable[[Any, Any], Any]) -> Joined:
    """How a Run reduces `loss` over a batch: its own attribute, or the mean for a plain function.

    Raises
    ------
    InputError
        The attribute is neither ``"mean"`` nor ``"sum"``; or the loss is a list of losses.
    """
    if getattr(loss, "reduction", None) == "none":
        raise InputError(
            f"{type(loss).__name__}(reduction='none') gives no single number, and a Run minimises one: take "
            "reduction='mean' or reduction='sum'"
        )
    return joined_of(getattr(loss, "batch_reduction", "mean"), "the loss's batch_reduction")


def batch_part(loss: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """What a sample adds to the loss of a batch, before that is divided by anything: its own, or `loss` itself.

    Raises
    ------
    InputError
        As :func:`batch_reduction`.
    """
    batch_reduction(loss)
    part: Callable[[Any, Any], Any] = getattr(loss, "batch_part", loss)
    return part


def batch_shares(loss: Callable[[Any, Any], Any]) -> Shares | None:
    """What each sample adds to the divisor of a mean, from its targets; None: 1."""
    shares: Shares | None = getattr(loss, "batch_shares", None)
    return shares if batch_reduction(loss) == "mean" else None
