"""Losses: functions ``(outputs, targets) -> Value`` of one sample.

Attribute `batch_reduction` says how a Run reduces them over a batch: with ``"mean"`` it averages, as over the
outputs, with ``"sum"`` it adds; both together are PyTorch's result for the whole batch.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np

from ..checks import one_of
from ..errors import InputError, TypeMismatchError, shown
from ..scalar import Value, functions, tracing
from ..scalar.kernel import kernel
from ..scalar.numbers import as_number
from ..scalar.value import apply
from ._inputs import titled

Reduction = Literal["mean", "sum"]


class Loss:
    """What the losses share: an operation on every pair (output, target), summed or averaged.

    Parameters
    ----------
    reduction : {"mean", "sum"}
        Over the outputs, and over a batch.

    Raises
    ------
    InputError
        Another reduction; when called: numbers of outputs and targets that differ.
    """

    reduction: Reduction
    factor: float

    def __init__(self, reduction: Reduction = "mean") -> None:
        self.reduction = _reduction(reduction, f"{type(self).__name__}: reduction")
        self.factor = 1.0

    @property
    def batch_reduction(self) -> Reduction:
        """How a Run reduces over the batch."""
        return self.reduction

    def __call__(self, outputs: Any, targets: Any) -> Value:
        """The loss of one sample.

        Parameters
        ----------
        outputs, targets : sequences of Value or float of the same length, or one each
        """
        found, wanted = _row(outputs, self), _row(targets, self)
        if len(found) != len(wanted):
            raise InputError(misfit(self, found, wanted))
        if not found:
            raise InputError(f"{type(self).__name__}: no outputs; the mean of nothing is undefined")
        total = reduce_sum([self.term(a, b) for a, b in zip(found, wanted, strict=True)])
        scale = self.factor / len(found) if self.reduction == "mean" else self.factor
        return total if scale == 1.0 else total * scale

    def term(self, output: Any, target: Any) -> Value:
        """The part of one output."""
        raise TypeMismatchError(f"{type(self).__name__} defines no term(output, target)")

    def __repr__(self) -> str:
        return f"{type(self).__name__}(reduction={self.reduction!r})"


class MSELoss(Loss):
    """Squared error, ``factor * mean((output - target)**2)`` or the sum.

    Parameters
    ----------
    reduction : {"mean", "sum"}
    factor : {1, 0.5}
        1 is PyTorch's; the half of many books makes the derivative ``output - target``.

    Raises
    ------
    InputError
        Another reduction or factor; when called: numbers of outputs and targets that differ.
    """

    def __init__(self, reduction: Reduction = "mean", factor: float = 1.0) -> None:
        super().__init__(reduction)
        self.factor = as_number(factor, "MSELoss: factor")
        if self.factor not in (1.0, 0.5):
            raise InputError(f"MSELoss: factor must be 1 or 0.5, got {shown(factor)}")

    def term(self, output: Any, target: Any) -> Value:
        """``(output - target)**2``."""
        return apply(_SQUARE, apply(_SUB, output, target))

    def __repr__(self) -> str:
        return f"MSELoss(reduction={self.reduction!r}, factor={self.factor:g})"


class L1Loss(Loss):
    """Absolute error, the mean or sum of ``abs(output - target)``; derivative 0 where they are equal."""

    def term(self, output: Any, target: Any) -> Value:
        """``abs(output - target)``."""
        return apply(_ABS, apply(_SUB, output, target))


class BCELoss(Loss):
    """Binary cross-entropy of outputs in 0..1, the mean or sum of ``-(t*log(o) + (1-t)*log(1-o))``.

    As in PyTorch the logarithms are at least -100 and the derivative's denominator at least 1e-12. By the target the
    derivative is made of the same logarithms, in PyTorch of unbounded ones.
    An output outside 0..1 gives NaN.
    """

    def term(self, output: Any, target: Any) -> Value:
        """The cross-entropy of one output."""
        return apply(_BCE, output, target)


class HuberLoss(Loss):
    """``d**2 / 2`` for differences up to `delta`, ``delta * (abs(d) - delta / 2)`` beyond; mean or sum.

    Raises
    ------
    InputError
        `delta` is not positive and finite.
    """

    def __init__(self, reduction: Reduction = "mean", delta: float = 1.0) -> None:
        super().__init__(reduction)
        self.delta = as_number(delta, "HuberLoss: delta")
        if not (math.isfinite(self.delta) and self.delta > 0):
            raise InputError(f"HuberLoss: delta must be a finite number > 0, got {shown(delta)}")

    def term(self, output: Any, target: Any) -> Value:
        """The loss of one output."""
        return apply(_HUBER, apply(_SUB, output, target), self.delta)

    def __repr__(self) -> str:
        return f"HuberLoss(reduction={self.reduction!r}, delta={self.delta:g})"


_SUB, _SQUARE, _ABS = kernel("sub"), kernel("square"), kernel("abs")
_BCE, _HUBER = kernel("binary_cross_entropy"), kernel("huber")


def reduce_sum(terms: list[Value]) -> Value:
    """The sum of the terms, one node (a single term is itself)."""
    return terms[0] if len(terms) == 1 else functions.sum(terms)


def misfit(loss: Loss, outputs: Sequence[Any], targets: Sequence[Any]) -> str:
    """What is said of outputs and targets that do not pair up."""
    advice = f"give targets of shape (N, {len(outputs)}), or let the model end in {len(targets)}"
    if len(targets) == 1:
        advice += "; for the number of a class take CrossEntropyLoss"
    return (
        f"{type(loss).__name__}: outputs of shape ({len(outputs)},){_made_by(outputs)} for targets of shape "
        f"({len(targets)},), which must pair up: {advice}"
    )


def _made_by(outputs: Sequence[Any]) -> str:
    """Which module a recorded graph has these outputs from: the innermost, which was done first."""
    recorder = tracing.active()
    for module, values in recorder.taps if recorder is not None else ():
        if len(values) == len(outputs) and all(a is b for a, b in zip(values, outputs, strict=True)):
            return f" from {titled(module, type(module).__name__)}"
    return ""


def _row(numbers: Any, loss: Loss) -> Any:
    if isinstance(numbers, list | tuple):
        return numbers
    if isinstance(numbers, Value):
        return [numbers]
    array = np.asarray(numbers)
    if array.ndim > 1 or array.dtype.kind not in "biuf":
        raise InputError(
            f"{type(loss).__name__}: one sample at a time, a row of numbers; got shape {array.shape} of {array.dtype}"
        )
    return np.atleast_1d(array).tolist()


def batch_reduction(loss: Callable[[Any, Any], Any]) -> Reduction:
    """How a Run reduces `loss` over a batch: its own attribute, or the mean for a plain function.

    Raises
    ------
    InputError
        The attribute is neither ``"mean"`` nor ``"sum"``.
    """
    how = getattr(loss, "batch_reduction", "mean")
    return _reduction(how, "the loss's batch_reduction")


def _reduction(given: object, what: str) -> Reduction:
    return "sum" if one_of(given, ("mean", "sum"), what) == "sum" else "mean"
