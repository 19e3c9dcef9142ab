"""Losses whose target is the number of a class: what they share, and `NLLLoss`.

Classes may count differently (`weight`), and samples may be left out (`ignore_index`). PyTorch's mean divides by the
sum of the weights of the batch's own targets, so the divisor of a step depends on its samples: a Run computes it from
the targets before the forward pass (`batch_shares`), and the graph of a sample is what it adds (`batch_part`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..checks import integer
from ..errors import InputError, TracingError, shown
from ..scalar import Value, tracing
from ..scalar.kernel import kernel
from ..scalar.nested import every, shape_of
from ..scalar.value import Symbol, apply, as_value
from ._batches import Reduction
from ._factors import Numbers, loss_weights
from ._losses import Loss, reduce_sum

MOST = 1 << 24
"""Above it not every whole number is one of float32."""


class ClassLoss(Loss):
    """A loss of C outputs and the number of a class.

    Parameters
    ----------
    weight : sequence of float, optional
        One a class, a factor of the losses of its samples.
    ignore_index : int
        Samples with this target count for nothing.
    reduction : {"mean", "sum", "none"}
        Over a batch. ``"mean"`` divides by the sum of the weights of the targets, so that one sample alone has the
        loss that it has without; of a batch without any target that counts it is NaN.

    Raises
    ------
    InputError
        Another reduction, no finite weights, no whole number; when called: a target that is no whole number in
        ``0 .. C-1``, or not one weight a class.
    """

    weight: Numbers | None
    ignore_index: int | None
    divides: ClassVar[bool] = True  # whether a mean divides by weights

    def __init__(
        self, weight: Sequence[float] | None = None, *, ignore_index: int | None = -100, reduction: Reduction = "mean"
    ) -> None:
        super().__init__(reduction)
        name = type(self).__name__
        self.weight = loss_weights(weight, f"{name}: weight")
        self.ignore_index = (
            None if ignore_index is None else integer(f"{name}: ignore_index", ignore_index, -MOST, MOST)
        )

    def __call__(self, outputs: Any, targets: Any) -> Value:
        """The loss of one sample.

        Parameters
        ----------
        outputs : sequence of C Values or floats
        targets : int, Value, or a sequence of one of them
            The class.
        """
        if self.reduction != "mean" or not self.divides:
            return self.batch_part(outputs, targets)
        wanted = self.target(targets, outputs)
        if isinstance(wanted, Symbol):
            return self._alone(outputs, wanted)
        part = self.batch_part(outputs, targets)
        share = 1.0 if isinstance(wanted, list) else float(self._shares(np.array([_number(wanted, self)]))[0])
        return part if share == 1.0 else part / share

    def _alone(self, outputs: Any, target: Value) -> Value:
        """A recorded loss of one sample, of whose batch nothing is known."""
        if self.weight is not None:
            raise TracingError(
                f"{type(self).__name__}: a mean with weights divides by the weights of the whole batch, which a "
                "function around it does not know: give the loss itself to the Run, or take reduction='sum'"
            )
        return self._recorded(self.row(outputs), target, math.nan)

    def _recorded(self, row: list[Value], target: Value, ignored: float) -> Value:
        """The part of a sample whose class is not known yet; `ignored` where it counts for nothing."""
        if len(row) == 1:  # a class other than 0 would be taken in silence
            raise InputError(
                f"{type(self).__name__}: one output for a target that is the number of a class; it needs one output a "
                "class, at least 2 of them: of a nested output take a whole row; of yes and no take BCEWithLogitsLoss"
            )
        recorder = tracing.active()
        if recorder is not None:  # the targets are checked by those who have them
            recorder.classes.append((target, self, len(row)))
        part = self.part_of_symbol(row, target)
        if self.ignore_index is None:
            return part
        return apply(_WHERE, (target >= self.ignore_index) * (target <= self.ignore_index), ignored, part)

    def batch_part(self, outputs: Any, targets: Any) -> Value:
        """What a sample adds to the loss of its batch, which is divided by the sum of `batch_shares` then."""
        row = self.row(outputs)
        if self.weight is not None and len(self.weight) != len(row):
            raise InputError(
                f"{type(self).__name__}: weight has {len(self.weight)} numbers for {len(row)} outputs; it needs one a "
                "class"
            )
        wanted = self.target(targets, outputs)
        if isinstance(wanted, list):
            return self.part_of_shares(row, wanted)
        if isinstance(wanted, Symbol):
            return self._recorded(row, wanted, 0.0)
        number = _number(wanted, self)
        if self.ignore_index is not None and number == self.ignore_index:
            return Value(0.0)
        self._check(np.array([number]), len(row), "a target")
        return self.part_of_class(row, int(number))

    def part_of_class(self, row: list[Value], k: int) -> Value:
        """The part of a sample of class `k`."""
        raise NotImplementedError

    def part_of_symbol(self, row: list[Value], target: Value) -> Value:
        """The part of a sample whose class is not known yet."""
        raise NotImplementedError

    def part_of_shares(self, row: list[Value], shares: list[Value]) -> Value:
        """The part of a sample that has a share of every class."""
        raise NotImplementedError

    def row(self, outputs: Any) -> list[Value]:
        """The outputs as a list of Values.

        Raises
        ------
        InputError
            They are no row of numbers.
        """
        if isinstance(outputs, Value):
            return [outputs]
        row = outputs.tolist() if isinstance(outputs, np.ndarray) else outputs
        shape = shape_of(row)
        if len(shape) > 1 and shape[0] > 1 and set(shape[1:]) == {1}:  # C x 1 x 1, as pooling over a picture gives it
            return every(row, type(self).__name__)
        if len(shape) != 1 or shape[0] == 0:
            raise InputError(
                f"{type(self).__name__}: one sample at a time, a row of one number a class; got the shape {shape} of "
                f"{type(outputs).__name__}. Of a batch: sv.mean([loss(o, t) for o, t in zip(outputs, targets)]), or "
                "let a Run take it; of a picture: nn.Flatten() at the end of the model"
            )
        return [as_value(v) for v in row]

    def target(self, targets: Any, outputs: Any) -> Any:
        """The class, taken out of a list or array of one."""
        given = targets.ravel().tolist() if isinstance(targets, np.ndarray) else targets
        if not isinstance(given, list | tuple):
            return given
        if len(given) != 1 or isinstance(given[0], list | tuple):
            self.row(outputs)  # a batch is refused as one
            raise InputError(self._one_number(f"{len(given)} numbers" if len(given) != 1 else shown(given)))
        return given[0]

    def batch_shares(self, targets: NDArray[Any]) -> NDArray[np.float64]:
        """What each sample adds to the divisor of a mean.

        Parameters
        ----------
        targets : ndarray, shape (N, 1)

        Returns
        -------
        ndarray of float64, shape (N,)
        """
        return self._shares(targets[:, 0]) if self.divides and targets.shape[1] == 1 else np.ones(len(targets))

    def _shares(self, classes: NDArray[Any]) -> NDArray[np.float64]:
        counted = np.ones(len(classes), bool) if self.ignore_index is None else classes != self.ignore_index
        shares = counted.astype(np.float64)
        if self.weight is not None:
            shares[counted] = np.array(self.weight)[classes[counted].astype(np.int64)]
        return shares

    def check_targets(self, targets: NDArray[Any], n_outputs: int) -> None:
        """What a Run asks before it takes targets.

        Parameters
        ----------
        targets : ndarray, shape (N, 1)
        n_outputs : int
            Classes C.

        Raises
        ------
        InputError
            A target is no whole number in ``0 .. C-1`` and not `ignore_index`; names the first such row.
        """
        if targets.ndim != 2 or targets.shape[1] != 1:
            raise InputError(self._one_number(f"the shape {targets.shape}"))
        column = targets[:, 0]
        if self.ignore_index is not None:
            column = np.where(column == self.ignore_index, 0, column)
        self._check(column, n_outputs, "the target of sample {row}")

    def _check(self, column: NDArray[Any], classes: int, whose: str) -> None:
        with np.errstate(invalid="ignore"):
            bad = ~((column >= 0) & (column < classes) & (column == np.floor(column)))
        if not bad.any():
            return
        row = int(np.argmax(bad))
        many = f" ({int(bad.sum())} of {len(bad)} are not)" if len(bad) > 1 else ""
        ignored = "" if self.ignore_index in (None, -100) else f", or {self.ignore_index}, which is left out"
        raise InputError(
            f"{type(self).__name__}: {whose.format(row=row)} is {column[row]}; a target is the number of a class, a "
            f"whole number 0 .. {classes - 1} for {classes} outputs{ignored}{many}"
        )

    def _one_number(self, got: str) -> str:
        return (
            f"{type(self).__name__} takes one target a sample, the number of its class, got {got}; of one-hot rows "
            "take argmax(axis=1)"
        )

    def extra_repr(self) -> str:
        """What is not the default."""
        parts = [] if self.weight is None else [f"weight={list(self.weight)}"]
        if self.ignore_index not in (None, -100):
            parts.append(f"ignore_index={self.ignore_index}")
        return ", ".join(parts)


class NLLLoss(ClassLoss):
    """The negative logarithm of a class's probability, ``-outputs[target]``; the outputs are those of LogSoftmax.

    See :class:`ClassLoss` for the parameters.

    Examples
    --------
    >>> NLLLoss()([-2.0, -0.5], 1).data
    0.5
    """

    def part_of_class(self, row: list[Value], k: int) -> Value:
        """``-weight[k] * row[k]``."""
        return row[k] * (-1.0 if self.weight is None else -self.weight[k])

    def part_of_symbol(self, row: list[Value], target: Value) -> Value:
        """The same by a mask."""
        mask = masks(target, len(row))
        chosen = -selected(mask, row)
        return chosen if self.weight is None else chosen * selected(mask, self.weight)


_WHERE = kernel("where")


def masks(target: Value, classes: int) -> list[Value]:
    """For each class, 1 where a target that is not known yet is that class, else 0."""
    return [(target >= k) * (target <= k) for k in range(classes)]


def selected(mask: Sequence[Value], row: Sequence[Any]) -> Value:
    """The number of `row` at the class that the mask says; 0 if it says none."""
    zero = Value(0.0)
    return reduce_sum([apply(_WHERE, m, x, zero) for m, x in zip(mask, row, strict=True)])


def _number(target: Any, loss: Loss) -> float:
    number = target.data if isinstance(target, Value) else target
    if not isinstance(number, int | float | np.integer | np.floating) or isinstance(number, bool):
        raise InputError(
            f"{type(loss).__name__}: a target is the number of a class, a whole number; got {shown(number)}"
        )
    try:
        return float(number)
    except OverflowError:  # a whole number that no float holds
        raise InputError(f"{type(loss).__name__}: there is no class {shown(number)}") from None
