"""Losses: functions ``(outputs, targets) -> Value`` of one sample, and the rules by which a Run reduces a batch.

``batch_reduction`` is "mean" (also for a plain function) or "sum". ``batch_part(outputs, targets)`` is the term of a
sample in the batch's loss, if that is not the sample's loss. ``batch_shares(targets)`` is the share of each sample of
(N, n_targets) in the divisor of a mean, if that is not always 1.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from ..checks import one_of
from ..errors import InputError, TypeMismatchError, shown
from ..scalar import Value, functions, tracing
from ..scalar.array import like
from ..scalar.kernel import kernel
from ..scalar.nested import NESTED, every, shape_of
from ..scalar.number import at_least_zero, checked_number, positive
from ..scalar.outputs import Outputs
from ..scalar.value import apply
from ._batch import batch_loss
from ._elementwise import Elementwise
from ._inputs import titled

Reduction = Literal["mean", "sum", "none"]
Joined = Literal["mean", "sum"]


def joined_of(given: object, what: str) -> Joined:
    joined: tuple[Joined, ...] = ("mean", "sum")
    return one_of(given, joined, what)


def batch_reduction(loss: Callable[[Any, Any], Any]) -> Joined:
    """Return how a Run reduces `loss` over a batch: its own attribute, or "mean" for a plain function."""
    if getattr(loss, "reduction", None) == "none":
        raise InputError(
            f"{type(loss).__name__}(reduction='none') gives one number per output, but a Run minimises a single "
            "number; use reduction='mean' or reduction='sum'"
        )
    return joined_of(getattr(loss, "batch_reduction", "mean"), "the loss's batch_reduction")


def batch_part(loss: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """Return the function for the term of a sample in the loss of a batch, before any division."""
    batch_reduction(loss)
    return getattr(loss, "batch_part", loss)


def batch_shares(loss: Callable[[Any, Any], Any]) -> BatchShares | None:
    """Return the function that computes each sample's share in the divisor of a mean; None if every share is 1."""
    own = getattr(loss, "batch_shares", None)
    return None if own is None or batch_reduction(loss) != "mean" else BatchShares(loss)


@dataclass(frozen=True, eq=False)
class BatchShares:
    """Computes each sample's share with `loss`, in float64 whatever the run's dtype.

    So equal targets have equal shares everywhere.
    """

    loss: Any

    def __call__(self, targets: NDArray[Any]) -> NDArray[np.float64]:
        return np.asarray(self.loss.batch_shares(np.asarray(targets, np.float64)), np.float64)


class Loss:
    """Base of the losses: an operation on every pair (output, target), summed or averaged.

    Parameters
    ----------
    reduction : {"mean", "sum", "none"}
        Over the outputs, and over a batch. ``"none"`` returns an array with the loss of each output; not for a Run.
    batch_reduction : {"mean", "sum"}, optional
        Over a batch, if it differs. Many books sum the errors of a sample's outputs and average over the samples:
        ``reduction="sum", batch_reduction="mean"``.

    Raises
    ------
    InputError
        An unknown reduction; when called: the numbers of outputs and targets differ.
    """

    _numbers: ClassVar[tuple[str, ...]] = ()
    """Names of the further arguments, which are printed."""
    _broadcasts: ClassVar[bool] = False
    """Whether PyTorch's loss of this name broadcasts outputs and targets."""

    def __init__(self, reduction: Reduction = "mean", *, batch_reduction: Joined | None = None) -> None:
        name = type(self).__name__
        self.reduction: Reduction = one_of(reduction, ("mean", "sum", "none"), f"{name}: reduction")
        self._joined = None if batch_reduction is None else joined_of(batch_reduction, f"{name}: batch_reduction")
        self.factor = 1.0

    @property
    def batch_reduction(self) -> Reduction:
        """How a Run reduces over the batch."""
        return self._joined or self.reduction

    def __call__(self, outputs: Any, targets: Any) -> Any:
        """Return the loss of one sample: a Value, or an array of Values with ``reduction="none"``.

        There must be as many outputs as targets. Nested ones pair by position; a row and a nested one pair in C order.
        """
        if isinstance(outputs, Outputs) or isinstance(targets, Outputs):
            loss = batch_loss(self, outputs, targets)
            if self._broadcasts:
                _warn_of_shapes(self, np.shape(outputs), tuple(np.shape(targets)))
            return loss
        found, wanted = _row(outputs, self), _row(targets, self)
        if len(found) != len(wanted):
            raise InputError(misfit(self, found, wanted))
        if _nested(outputs) and _nested(targets) and _form(outputs) != _form(targets):
            raise InputError(
                f"{type(self).__name__}: outputs and targets of {len(found)} numbers each are nested differently; "
                "give both the same shape, or one of them as a flat row"
            )
        if not found:
            raise InputError(f"{type(self).__name__}: got no outputs, so the mean is undefined")
        terms = self.terms(found, wanted)
        if self.reduction == "none":
            made = terms if self.factor == 1.0 else [term * self.factor for term in terms]
            return like(outputs, made, shape_of(outputs) if isinstance(outputs, np.ndarray) else (len(made),))
        total = reduce_sum(terms)
        scale = self.factor / len(found) if self.reduction == "mean" else self.factor
        return total if scale == 1.0 else total * scale

    def terms(self, outputs: Sequence[Any], targets: Sequence[Any]) -> list[Value]:
        """Return the term of each output."""
        return [self.term(output, target) for output, target in zip(outputs, targets, strict=True)]

    def term(self, output: Any, target: Any) -> Value:
        """Return the term of one output."""
        raise TypeMismatchError(f"{type(self).__name__} defines no term(output, target); add that method")

    def extra_repr(self) -> str:
        """Return the printed arguments after the reduction."""
        return ", ".join(f"{name}={getattr(self, name):g}" for name in self._numbers)

    def __repr__(self) -> str:
        joined = "" if self._joined is None else f", batch_reduction={self._joined!r}"
        more = f", {self.extra_repr()}" if self.extra_repr() else ""
        return f"{type(self).__name__}(reduction={self.reduction!r}{joined}{more})"


class MSELoss(Loss):
    """Squared error, ``factor * mean((output - target)**2)`` or the sum.

    Parameters
    ----------
    reduction, batch_reduction
        As for :class:`Loss`.
    factor : {1, 0.5}
        1 as in PyTorch; 0.5, as in many books, makes the derivative ``output - target``.

    Raises
    ------
    InputError
        An unknown reduction or factor; when called: the numbers of outputs and targets differ.
    """

    _numbers = ("factor",)
    _broadcasts = True

    def __init__(
        self, reduction: Reduction = "mean", factor: float = 1.0, *, batch_reduction: Joined | None = None
    ) -> None:
        super().__init__(reduction, batch_reduction=batch_reduction)
        self.factor = checked_number(factor, "MSELoss: factor", (1.0, 0.5).__contains__, "be 1 or 0.5")

    def term(self, output: Any, target: Any) -> Value:
        return apply(_SQUARE, apply(_SUB, output, target))


class L1Loss(Loss):
    """Absolute error, the mean or sum of ``abs(output - target)``; derivative 0 where they are equal."""

    _broadcasts = True

    def term(self, output: Any, target: Any) -> Value:
        return apply(_ABS, apply(_SUB, output, target))


class HuberLoss(Loss):
    """``d**2 / 2`` for differences up to `delta`, ``delta * (abs(d) - delta / 2)`` beyond; mean or sum.

    Raises
    ------
    InputError
        `delta` is not positive and finite.
    """

    _numbers = ("delta",)
    _broadcasts = True

    def __init__(
        self, reduction: Reduction = "mean", delta: float = 1.0, *, batch_reduction: Joined | None = None
    ) -> None:
        super().__init__(reduction, batch_reduction=batch_reduction)
        self.delta = positive(delta, "HuberLoss: delta")

    def term(self, output: Any, target: Any) -> Value:
        return apply(_HUBER, apply(_SUB, output, target), self.delta)


class SmoothL1Loss(Loss):
    """``d**2 / (2 * beta)`` for differences below `beta`, ``abs(d) - beta / 2`` beyond; mean or sum.

    With `beta` 0 it is the absolute error.

    Raises
    ------
    InputError
        `beta` is negative or not finite.
    """

    _numbers = ("beta",)
    _broadcasts = True

    def __init__(
        self, reduction: Reduction = "mean", beta: float = 1.0, *, batch_reduction: Joined | None = None
    ) -> None:
        super().__init__(reduction, batch_reduction=batch_reduction)
        self.beta = at_least_zero(beta, "SmoothL1Loss: beta")

    def term(self, output: Any, target: Any) -> Value:
        difference = apply(_SUB, output, target)
        return apply(_ABS, difference) if self.beta == 0.0 else apply(_SMOOTH_L1, difference, self.beta)


class HingeEmbeddingLoss(Loss):
    """A distance ``x`` for target 1, ``max(0, margin - x)`` for target -1; mean or sum.

    Raises
    ------
    InputError
        `margin` is not finite; in a Run: a target that is neither 1 nor -1.
    """

    _numbers = ("margin",)

    def __init__(
        self, margin: float = 1.0, *, reduction: Reduction = "mean", batch_reduction: Joined | None = None
    ) -> None:
        super().__init__(reduction, batch_reduction=batch_reduction)
        self.margin = checked_number(margin, "HingeEmbeddingLoss: margin", math.isfinite, "be finite", "; try 1")

    def term(self, output: Any, target: Any) -> Value:
        return apply(_HINGE, output, target, self.margin)

    def check_targets(self, targets: NDArray[Any], n_outputs: int) -> None:
        """Check targets (N, n_outputs) for a Run."""
        bad = (np.abs(targets) != 1).any(axis=1)
        if bad.any():
            row = int(np.argmax(bad))
            raise InputError(
                f"HingeEmbeddingLoss: a target must be 1 or -1, got {shown(targets[row].tolist())} for sample {row}; "
                "convert 0 and 1 with 2*y - 1"
            )


_SUB, _SQUARE, _ABS = kernel("sub"), kernel("square"), kernel("abs")
_HUBER, _SMOOTH_L1, _HINGE = kernel("huber"), kernel("smooth_l1"), kernel("hinge_embedding")


def _warn_of_shapes(loss: Loss, outputs: tuple[int, ...], targets: tuple[int, ...]) -> None:
    """Warn, as PyTorch does, where PyTorch would compute another loss; Python shows it once for a line."""
    try:
        together = np.broadcast_shapes(outputs, targets)
    except ValueError:  # PyTorch refuses them
        return
    if together != outputs:
        warnings.warn(
            f"{type(loss).__name__}: the targets have the shape {targets}, and the outputs {outputs}. The numbers pair "
            f"one by one here, but PyTorch would broadcast both to {together}. Give both one shape: net(X).squeeze(-1) "
            "for y, or y.reshape(-1, 1)", UserWarning, stacklevel=3,
        )  # fmt: skip


def reduce_sum(terms: list[Value]) -> Value:
    """Return the sum of the terms as one node; a single term is returned as it is."""
    return terms[0] if len(terms) == 1 else functions.sum(terms)


def misfit(loss: Loss, outputs: Sequence[Any], targets: Sequence[Any]) -> str:
    advice = f"give targets of shape (N, {len(outputs)}), or change the model's number of outputs to {len(targets)}"
    if len(targets) == 1:
        advice += "; for class indices use CrossEntropyLoss"
    return (
        f"{type(loss).__name__}: outputs of shape ({len(outputs)},){_producer_words(outputs)} for targets of shape "
        f"({len(targets)},); they must match: {advice}"
    )


def _producer_words(outputs: Sequence[Any]) -> str:
    """Return words for the innermost module of the recorded graph that produced these outputs."""
    recorder = tracing.active()
    for module, values in recorder.taps if recorder is not None else ():
        if len(values) == len(outputs) and all(a is b for a, b in zip(values, outputs, strict=True)):
            return f" from {titled(module, type(module).__name__)}"
    return ""


def _row(numbers: Any, loss: Loss) -> Any:
    """Return the numbers of a sample; nested lists and arrays in C order."""
    if isinstance(numbers, list | tuple):
        return every(numbers, type(loss).__name__) if _nested(numbers) else numbers
    if isinstance(numbers, Value):
        return [numbers]
    array = np.asarray(numbers)
    if array.dtype.kind not in ("biufO" if isinstance(numbers, np.ndarray | Elementwise) else "biuf"):  # O: Values
        raise InputError(f"{type(loss).__name__} takes a row of numbers, or nested rows; got {shown(numbers)}")
    return array.ravel().tolist()


def _nested(numbers: Any) -> bool:
    if isinstance(numbers, list | tuple):
        return any(isinstance(part, NESTED) for part in numbers)
    return isinstance(numbers, np.ndarray) and numbers.ndim > 1


def _form(numbers: Any) -> Any:
    """Return the nesting of `numbers`: None for each number, a list for each list."""
    parts = numbers.tolist() if isinstance(numbers, np.ndarray) else numbers
    return [_form(part) for part in parts] if isinstance(parts, list | tuple) else None
