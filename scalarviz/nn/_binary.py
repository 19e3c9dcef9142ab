"""Yes or no, for each output: `BCELoss` of probabilities and `BCEWithLogitsLoss` of the numbers before the sigmoid."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..errors import InputError
from ..scalar import Value
from ..scalar.kernel import kernel
from ..scalar.value import apply
from ._batches import Joined, Reduction
from ._factors import Numbers, loss_weights
from ._losses import Loss


class BinaryLoss(Loss):
    """What the two share: a weight of each output.

    Parameters
    ----------
    weight : sequence of float, optional
        One an output, a factor of its loss. A mean divides by the number of outputs all the same.
    reduction, batch_reduction
        As for :class:`Loss`.

    Raises
    ------
    InputError
        No finite weights, or when called: not one for every output.
    """

    weight: Numbers | None

    def __init__(
        self, weight: Sequence[float] | None = None, *, reduction: Reduction = "mean",
        batch_reduction: Joined | None = None,
    ) -> None:  # fmt: skip
        super().__init__(reduction, batch_reduction=batch_reduction)
        self.weight = loss_weights(weight, f"{type(self).__name__}: weight")

    def terms(self, outputs: Sequence[Any], targets: Sequence[Any]) -> list[Value]:
        """The losses of all outputs."""
        terms = self.plain_terms(outputs, targets)
        if self.weight is None:
            return terms
        self.one_each(self.weight, "weight", len(outputs))
        return [term * factor for term, factor in zip(terms, self.weight, strict=True)]

    def plain_terms(self, outputs: Sequence[Any], targets: Sequence[Any]) -> list[Value]:
        """The same without their weights."""
        return super().terms(outputs, targets)

    def one_each(self, numbers: Numbers, what: str, outputs: int) -> None:
        """An error where there is not one number for every output."""
        if len(numbers) != outputs:
            raise InputError(
                f"{type(self).__name__}: {what} has {len(numbers)} numbers for {outputs} outputs; it needs one each"
            )

    def extra_repr(self) -> str:
        """The weights, where there are any."""
        return "" if self.weight is None else f"weight={list(self.weight)}"


class BCELoss(BinaryLoss):
    """Binary cross-entropy of outputs in 0..1, the mean or sum of ``-(t*log(o) + (1-t)*log(1-o))``.

    See :class:`BinaryLoss` for the parameters. As in PyTorch the logarithms are at least -100 and the derivative's
    denominator at least 1e-12. By the target the derivative is made of the same logarithms, in PyTorch of unbounded
    ones. An output outside 0..1 gives NaN.
    """

    def __init__(
        self, reduction: Reduction = "mean", *, weight: Sequence[float] | None = None,
        batch_reduction: Joined | None = None,
    ) -> None:  # fmt: skip
        super().__init__(weight, reduction=reduction, batch_reduction=batch_reduction)

    def term(self, output: Any, target: Any) -> Value:
        """The cross-entropy of one output."""
        return apply(_BCE, output, target)


class BCEWithLogitsLoss(BinaryLoss):
    """Binary cross-entropy of ``sigmoid(x)``, from the numbers x before the sigmoid, without overflow.

    ``-(pos_weight * t * log(sigmoid(x)) + (1 - t) * log(1 - sigmoid(x)))``, mean or sum.

    Parameters
    ----------
    weight, reduction, batch_reduction
        As for :class:`BinaryLoss`.
    pos_weight : sequence of float, optional
        One an output (one number: for all), a factor of the losses of positive targets.

    Raises
    ------
    InputError
        No finite weights, or when called: not one for every output.
    """

    pos_weight: Numbers | None

    def __init__(
        self, weight: Sequence[float] | None = None, *, reduction: Reduction = "mean",
        pos_weight: Sequence[float] | None = None, batch_reduction: Joined | None = None,
    ) -> None:  # fmt: skip
        super().__init__(weight, reduction=reduction, batch_reduction=batch_reduction)
        self.pos_weight = loss_weights(pos_weight, "BCEWithLogitsLoss: pos_weight")

    def plain_terms(self, outputs: Sequence[Any], targets: Sequence[Any]) -> list[Value]:
        """The losses of all outputs, `weight` left out."""
        factors = (1.0,) if self.pos_weight is None else self.pos_weight
        if len(factors) == 1:
            factors *= len(outputs)
        self.one_each(factors, "pos_weight", len(outputs))
        return [apply(_LOGITS, x, t, p) for x, t, p in zip(outputs, targets, factors, strict=True)]

    def extra_repr(self) -> str:
        """The weights, where there are any."""
        positive = "" if self.pos_weight is None else f"pos_weight={list(self.pos_weight)}"
        return ", ".join(part for part in (super().extra_repr(), positive) if part)


_BCE, _LOGITS = kernel("binary_cross_entropy"), kernel("bce_with_logits")
