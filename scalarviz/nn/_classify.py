"""Choosing one class of several: `Softmax`, `LogSoftmax`, `CrossEntropyLoss` and `MultiMarginLoss`.

The first three shift the numbers by the largest one, so that no exponential overflows. The shift cancels from the
result, so no gradient goes through it (operation ``held_max``).
"""

from __future__ import annotations

import math
from collections.abc import Sequence, Sized
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError, shown
from ..onnx.export.sheet import Sheet, Tensor
from ..scalar import Value, dot, functions
from ..scalar.kernel import kernel
from ..scalar.nested import shape_of
from ..scalar.numbers import as_number
from ..scalar.softmax import log_softmax, parted, softmax
from ..scalar.value import apply, as_value
from ._batches import Reduction
from ._classes import ClassLoss, masks, selected
from ._inputs import titled
from ._losses import reduce_sum
from ._module import Module


class Softmax(Module):
    """Probabilities of classes, ``exp(x[k]) / sum(exp(x))``, without overflow.

    Parameters
    ----------
    dim : {1, -1}
        PyTorch's place of the classes in a batch N x C; here a sample is a row of C numbers.

    Raises
    ------
    InputError
        Another `dim`; when called: no row of numbers.

    Notes
    -----
    To train, give the numbers before the softmax to :class:`CrossEntropyLoss`, which contains it.
    """

    stage: ClassVar[str] = "softmax"
    onnx_stacks: ClassVar[bool] = True
    keeps_shape: ClassVar[bool] = True
    dim: int

    def __init__(self, dim: int = -1) -> None:
        given: Any = dim
        if isinstance(given, bool) or not isinstance(given, int | np.integer) or given not in (1, -1):
            raise InputError(
                f"{type(self).__name__}: dim must be 1 or -1, the classes of an N x C batch; got {shown(dim)}"
            )
        self.dim = int(dim)

    def forward(self, x: Any) -> list[Value]:
        """The probabilities of one row."""
        self._check(x)
        found: list[Value] = softmax(x)
        return found

    def write_onnx(self, sheet: Sheet, x: Tensor) -> Tensor:
        """A Softmax."""
        return sheet.node("Softmax", x, shape=x.shape, axis=-1)

    def _check(self, x: Any) -> None:
        shape = shape_of(x)
        if len(shape) != 1 or shape[0] == 0:
            title = titled(self, f"{type(self).__name__}()")
            raise InputError(f"{title} takes a row of numbers, got the shape {shape}")

    def extra_repr(self) -> str:
        """PyTorch's text."""
        return f"dim={self.dim}"


class LogSoftmax(Softmax):
    """The logarithms of :class:`Softmax`, ``x[k] - log(sum(exp(x)))``, without overflow.

    See :class:`Softmax` for `dim`. To train, give them to :class:`NLLLoss`.
    """

    stage: ClassVar[str] = "log_softmax"

    def forward(self, x: Any) -> list[Value]:
        """The logarithms of the probabilities of one row."""
        self._check(x)
        found: list[Value] = log_softmax(x)
        return found

    def write_onnx(self, sheet: Sheet, x: Tensor) -> Tensor:
        """A LogSoftmax."""
        return sheet.node("LogSoftmax", x, shape=x.shape, axis=-1)


class CrossEntropyLoss(ClassLoss):
    """The cross-entropy of a class, ``log(sum(exp(outputs))) - outputs[target]``; the outputs are logits.

    Parameters
    ----------
    weight, ignore_index, reduction
        As for :class:`ClassLoss`.
    label_smoothing : float
        In 0..1: this part of each target is spread over all classes alike.

    Raises
    ------
    InputError
        As for :class:`ClassLoss`; or `label_smoothing` is not in 0..1.

    Notes
    -----
    The target of a sample is one number: an int, or in the data of a Run a column of whole numbers (N,) or (N, 1),
    checked when the Run is made. A recorded graph selects the logit by a mask of comparisons; they depend on the
    targets alone, so an engine computes the mask once a data set (C numbers a sample), not at every step.

    C numbers a sample, (N, C), are a share of every class, as one-hot rows are; a mean divides by N then.

    Examples
    --------
    >>> round(CrossEntropyLoss()([2.0, 1.0, 0.0], 0).data, 4)
    0.4076
    >>> round(CrossEntropyLoss()([2.0, 1.0, 0.0], [1.0, 0.0, 0.0]).data, 4)
    0.4076
    """

    label_smoothing: float

    def __init__(
        self, weight: Sequence[float] | None = None, *, ignore_index: int = -100, reduction: Reduction = "mean",
        label_smoothing: float = 0.0,
    ) -> None:  # fmt: skip
        super().__init__(weight, ignore_index=ignore_index, reduction=reduction)
        self.label_smoothing = as_number(label_smoothing, "CrossEntropyLoss: label_smoothing")
        if not 0.0 <= self.label_smoothing <= 1.0:
            raise InputError(f"CrossEntropyLoss: label_smoothing must be in 0..1, got {shown(label_smoothing)}")

    def part_of_class(self, row: list[Value], k: int) -> Value:
        """The part of a sample of class `k`."""
        differences, total = parted(row)
        loss = total - differences[k]
        return self._smoothed(loss if self.weight is None else loss * self.weight[k], differences, total)

    def part_of_symbol(self, row: list[Value], target: Value) -> Value:
        """The same by a mask."""
        differences, total = parted(row)
        mask = masks(target, len(row))
        loss = total - selected(mask, differences)
        return self._smoothed(loss if self.weight is None else loss * selected(mask, self.weight), differences, total)

    def _smoothed(self, loss: Value, differences: list[Value], total: Value) -> Value:
        if self.label_smoothing == 0.0:
            return loss
        classes = len(differences)
        weights = self.weight or (1.0,) * classes
        spread = total * sum(weights) - dot(weights, differences)
        return loss * (1.0 - self.label_smoothing) + spread * (self.label_smoothing / classes)

    def part_of_shares(self, row: list[Value], shares: list[Value]) -> Value:
        """The part of a sample that has a share of every class."""
        differences, total = parted(row)
        kept, spread = 1.0 - self.label_smoothing, self.label_smoothing / len(row)
        wanted = shares if self.label_smoothing == 0.0 else [share * kept + spread for share in shares]
        if self.weight is not None:
            wanted = [share * factor for share, factor in zip(wanted, self.weight, strict=True)]
        return total * functions.sum(wanted) - dot(wanted, differences)

    def target(self, targets: Any, outputs: Any) -> Any:
        """The class, or the list of the shares of all classes."""
        alone = isinstance(outputs, np.ndarray) and outputs.ndim == 0
        many = len(outputs) if isinstance(outputs, Sized) and not alone else 1
        given = targets.ravel().tolist() if isinstance(targets, np.ndarray) else targets
        if many > 1 and isinstance(given, list | tuple) and len(given) == many:
            self._no_ignoring()
            return [as_value(share) for share in given]
        return super().target(targets, outputs)

    def _no_ignoring(self) -> None:
        if self.ignore_index is not None and self.ignore_index >= 0:
            raise InputError(
                f"CrossEntropyLoss: ignore_index={self.ignore_index} is for targets that are the number of a class; a "
                "row of shares has none"
            )

    def check_targets(self, targets: NDArray[Any], n_outputs: int) -> None:
        """As for :class:`ClassLoss`; or targets (N, C), which any finite numbers may be."""
        if n_outputs > 1 and targets.ndim == 2 and targets.shape[1] == n_outputs:
            self._no_ignoring()
        else:
            super().check_targets(targets, n_outputs)

    def extra_repr(self) -> str:
        """What is not the default."""
        smoothing = f"label_smoothing={self.label_smoothing:g}" if self.label_smoothing else ""
        return ", ".join(part for part in (super().extra_repr(), smoothing) if part)


class MultiMarginLoss(ClassLoss):
    """By how much other classes come too near: ``mean(max(0, margin - outputs[target] + outputs[k])**p)``, k != target.

    Parameters
    ----------
    p : {1, 2}
    margin : float
    weight, reduction
        As for :class:`ClassLoss`; but a mean divides by the number of samples, whatever their weights.

    Raises
    ------
    InputError
        As for :class:`ClassLoss`; or another `p`, or a `margin` that is not finite.
    """

    divides = False

    def __init__(
        self, p: int = 1, margin: float = 1.0, weight: Sequence[float] | None = None, *, reduction: Reduction = "mean"
    ) -> None:
        super().__init__(weight, ignore_index=None, reduction=reduction)
        given: Any = p
        if isinstance(given, bool) or not isinstance(given, int | float | np.integer) or given not in (1, 2):
            raise InputError(f"MultiMarginLoss: p must be 1 or 2, got {shown(p)}")
        self.p, self.margin = int(given), as_number(margin, "MultiMarginLoss: margin")
        if not math.isfinite(self.margin):
            raise InputError(f"MultiMarginLoss: margin must be finite, got {shown(margin)}; try 1")

    def part_of_class(self, row: list[Value], k: int) -> Value:
        """The part of a sample of class `k`."""
        terms = [self._term(row[k], x) for j, x in enumerate(row) if j != k]
        scale = (1.0 if self.weight is None else self.weight[k]) / len(row)
        return reduce_sum(terms) * scale if terms else row[0] * 0.0

    def part_of_symbol(self, row: list[Value], target: Value) -> Value:
        """The same by a mask."""
        mask = masks(target, len(row))
        own = selected(mask, row)
        terms = [apply(_WHERE, m, 0.0, self._term(own, x)) for m, x in zip(mask, row, strict=True)]
        total = reduce_sum(terms) * (1.0 / len(row))
        return total if self.weight is None else total * selected(mask, self.weight)

    def _term(self, own: Value, other: Value) -> Value:
        above = functions.relu(self.margin - own + other)
        return above if self.p == 1 else functions.square(above)

    def extra_repr(self) -> str:
        """Power and margin, and what is not the default."""
        return ", ".join(part for part in (f"p={self.p}, margin={self.margin:g}", super().extra_repr()) if part)


_WHERE = kernel("where")
