"""Losses for classes, and the layers before them: yes or no for each output, or one class of several.

Functions with an exponential first subtract the largest number, so that none overflows. The shift cancels from the
result, so no gradient goes through it (operation ``held_max``).

PyTorch's mean divides by the summed class weights of the targets in the batch. So a Run computes the divisor of a step
from its targets before the forward pass (`batch_shares`), and each sample contributes its undivided term
(`batch_part`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence, Sized
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..checks import integer
from ..errors import InputError, TracingError, shown
from ..scalar import Value, dot, functions, tracing
from ..scalar.array import Values
from ..scalar.functions import parted
from ..scalar.kernel import kernel
from ..scalar.nested import every, shape_of
from ..scalar.number import checked_number
from ..scalar.outputs import Outputs, as_outputs, plain
from ..scalar.value import Symbol, apply, as_value
from ._batch import batch_loss
from ._inputs import titled
from ._losses import Joined, Loss, Reduction, reduce_sum
from ._module import Module

Numbers = tuple[float, ...]


def loss_weights(given: Any, what: str) -> Numbers | None:
    if given is None:
        return None
    array = np.asarray(given.tolist() if hasattr(given, "tolist") else given, dtype=object)
    row = np.atleast_1d(array)
    if isinstance(given, str | bytes) or row.ndim != 1 or row.size == 0 or not all(map(_finite, row)):
        raise InputError(f"{what} must be a row of finite numbers, such as [1.0, 2.0]; got {shown(given)}")
    return tuple(float(number) for number in row)


def _finite(number: Any) -> bool:
    real = isinstance(number, int | float | np.integer | np.floating) and not isinstance(number, bool)
    try:
        return real and math.isfinite(number)
    except OverflowError:  # a whole number that no float holds
        return False


def one_each(loss: Loss, numbers: Numbers, what: str, outputs: int, each: str = "output") -> None:
    if len(numbers) != outputs:
        raise InputError(
            f"{type(loss).__name__}: {what} must have one number per {each}, {outputs} in all; got {len(numbers)}"
        )


class BinaryLoss(Loss):
    """Base of the two binary losses: each output has its own yes-or-no target.

    Parameters
    ----------
    weight : sequence of float, optional
        One factor for the loss of each output. A mean still divides by the number of outputs.
    reduction, batch_reduction
        As for :class:`Loss`.

    Raises
    ------
    InputError
        The weights are not finite, or when called: not one for every output.
    """

    def __init__(
        self, weight: Sequence[float] | None = None, *, reduction: Reduction = "mean",
        batch_reduction: Joined | None = None,
    ) -> None:  # fmt: skip
        super().__init__(reduction, batch_reduction=batch_reduction)
        self.weight = loss_weights(weight, f"{type(self).__name__}: weight")

    def terms(self, outputs: Sequence[Any], targets: Sequence[Any]) -> list[Value]:
        terms = self.plain_terms(outputs, targets)
        if self.weight is None:
            return terms
        one_each(self, self.weight, "weight", len(outputs))
        return [term * factor for term, factor in zip(terms, self.weight, strict=True)]

    def plain_terms(self, outputs: Sequence[Any], targets: Sequence[Any]) -> list[Value]:
        return super().terms(outputs, targets)

    def extra_repr(self) -> str:
        return "" if self.weight is None else f"weight={list(self.weight)}"


class BCELoss(BinaryLoss):
    """Binary cross-entropy of outputs in 0..1, the mean or sum of ``-(t*log(o) + (1-t)*log(1-o))``.

    See :class:`BinaryLoss` for the parameters. As in PyTorch the logarithms are at least -100 and the derivative's
    denominator is at least 1e-12. The derivative with respect to the target uses the same bounded logarithms; PyTorch's
    are unbounded there. An output outside 0..1 gives NaN; in a batch it is an error.
    """

    def __init__(
        self, reduction: Reduction = "mean", *, weight: Sequence[float] | None = None,
        batch_reduction: Joined | None = None,
    ) -> None:  # fmt: skip
        super().__init__(weight, reduction=reduction, batch_reduction=batch_reduction)

    def __call__(self, outputs: Any, targets: Any) -> Any:
        """Return the loss; InputError for outputs of a batch outside 0..1."""
        if isinstance(outputs, Outputs):
            wrong = plain(outputs)[(plain(outputs) < 0) | (plain(outputs) > 1)]
            if wrong.size:
                raise InputError(
                    f"BCELoss: all outputs should be between 0 and 1, got {shown(float(wrong[0]))}; end the network "
                    "with a sigmoid, or use BCEWithLogitsLoss, which has it"
                )
        return super().__call__(outputs, targets)

    def term(self, output: Any, target: Any) -> Value:
        return apply(_BCE, output, target)


class BCEWithLogitsLoss(BinaryLoss):
    """Binary cross-entropy of ``sigmoid(x)``, computed from the logits ``x`` without overflow.

    ``-(pos_weight * t * log(sigmoid(x)) + (1 - t) * log(1 - sigmoid(x)))``, mean or sum.

    Parameters
    ----------
    weight, reduction, batch_reduction
        As for :class:`BinaryLoss`, errors too.
    pos_weight : sequence of float, optional
        One factor for each output (or one number for all): it scales the loss of positive targets.
    """

    def __init__(
        self, weight: Sequence[float] | None = None, *, reduction: Reduction = "mean",
        pos_weight: Sequence[float] | None = None, batch_reduction: Joined | None = None,
    ) -> None:  # fmt: skip
        super().__init__(weight, reduction=reduction, batch_reduction=batch_reduction)
        self.pos_weight = loss_weights(pos_weight, "BCEWithLogitsLoss: pos_weight")

    def plain_terms(self, outputs: Sequence[Any], targets: Sequence[Any]) -> list[Value]:
        factors = (1.0,) if self.pos_weight is None else self.pos_weight
        if len(factors) == 1:
            factors *= len(outputs)
        one_each(self, factors, "pos_weight", len(outputs))
        return [apply(_LOGITS, x, t, p) for x, t, p in zip(outputs, targets, factors, strict=True)]

    def extra_repr(self) -> str:
        positive = "" if self.pos_weight is None else f"pos_weight={list(self.pos_weight)}"
        return ", ".join(part for part in (super().extra_repr(), positive) if part)


_BCE, _LOGITS = kernel("binary_cross_entropy"), kernel("bce_with_logits")


MOST = 1 << 24
"""Above this, float32 cannot hold every whole number."""


class ClassLoss(Loss):
    """Base of the losses of C outputs and one class index.

    Parameters
    ----------
    weight : sequence of float, optional
        One factor for each class: it scales the losses of its samples.
    ignore_index : int
        Samples with this target are left out.
    reduction : {"mean", "sum", "none"}
        Over a batch. ``"mean"`` divides by the summed weights of the targets; it is NaN if every target is ignored.

    Raises
    ------
    InputError
        An unknown reduction, weights that are not finite, an `ignore_index` that is no whole number; when called: a
        target that is no whole number in ``0 .. C-1``, or not one weight for each class.
    """

    divides: ClassVar[bool] = True  # a mean divides by the class weights

    def __init__(
        self, weight: Sequence[float] | None = None, *, ignore_index: int | None = -100, reduction: Reduction = "mean"
    ) -> None:
        super().__init__(reduction)
        name = type(self).__name__
        self.weight = loss_weights(weight, f"{name}: weight")
        self.ignore_index = (
            None if ignore_index is None else integer(f"{name}: ignore_index", ignore_index, -MOST, MOST)
        )

    def __call__(self, outputs: Any, targets: Any) -> Any:
        """Return the loss of one sample: C outputs, and its class index (or a sequence of that one number)."""
        if isinstance(outputs, Outputs) or isinstance(targets, Outputs):
            return batch_loss(self, outputs, targets)
        rows = isinstance(outputs, Values) and outputs.ndim == 2 and np.shape(targets) == outputs.shape[:1]
        if rows and tracing.at_top():  # a batch that a formula of Parameters gives
            return batch_loss(self, as_outputs(outputs), targets)
        if self.reduction != "mean" or not self.divides:
            return self.batch_part(outputs, targets)
        wanted = self.target(targets, outputs)
        if isinstance(wanted, Symbol):
            if self.weight is not None:
                raise TracingError(
                    f"{type(self).__name__}: a weighted mean divides by the weights of the whole batch, which a "
                    "function around the loss cannot know; pass the loss itself to the Run, or use reduction='sum'"
                )
            return self._recorded(self.row(outputs), wanted, math.nan)
        part = self.batch_part(outputs, targets)
        share = 1.0 if isinstance(wanted, list) else float(self._shares(np.array([_number(wanted, self)]))[0])
        return part if share == 1.0 else part / share

    def _recorded(self, row: list[Value], target: Value, ignored: float) -> Value:
        """Return the term of a sample whose class is not known yet; `ignored` if its target is `ignore_index`."""
        if len(row) == 1:  # another class would go unnoticed
            raise InputError(
                f"{type(self).__name__}: got one output for a class index; it needs one output per class, at least "
                "2. If the output is nested, pass a whole row; for two classes with one output use BCEWithLogitsLoss"
            )
        recorder = tracing.active()
        if recorder is not None:  # the Run checks the targets
            recorder.classes.append((target, self, len(row)))
        part = self.part_of_symbol(row, target)
        if self.ignore_index is None:
            return part
        return apply(_WHERE, (target >= self.ignore_index) * (target <= self.ignore_index), ignored, part)

    def batch_part(self, outputs: Any, targets: Any) -> Value:
        """Return the term of one sample in its batch's loss, before the division by the sum of `batch_shares`."""
        row = self.row(outputs)
        if self.weight is not None:
            one_each(self, self.weight, "weight", len(row), "class")
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

    def logs(self, outputs: Outputs) -> Outputs | None:
        """Return the numbers of which the loss is minus that of the class, for a batch; None for other losses."""
        return None

    def part_of_class(self, row: list[Value], k: int) -> Value:
        """Return the term of a sample of class `k`."""
        raise NotImplementedError

    def part_of_symbol(self, row: list[Value], target: Value) -> Value:
        """Return the term of a sample whose class is not known yet."""
        raise NotImplementedError

    def part_of_shares(self, row: list[Value], shares: list[Value]) -> Value:
        """Return the term of a sample whose target is a share of every class."""
        raise NotImplementedError

    def row(self, outputs: Any) -> list[Value]:
        """Return the outputs as a list of Values; InputError if they are not a row of numbers."""
        if isinstance(outputs, Value):
            return [outputs]
        shape = shape_of(outputs)
        if len(shape) > 1 and shape[0] > 1 and set(shape[1:]) == {1}:  # C x 1 x 1, the output of pooling over a picture
            return every(outputs, type(self).__name__)
        if len(shape) != 1 or shape[0] == 0:
            raise InputError(
                f"{type(self).__name__} takes one sample at a time, a row with one number per class; got the shape "
                f"{shape} of {type(outputs).__name__}. For a batch use sv.mean([loss(o, t) for o, t in zip(outputs, "
                "targets)]) or run.evaluate(X, Y); for a picture end the model with nn.Flatten()"
            )
        return [as_value(v) for v in outputs]

    def target(self, targets: Any, outputs: Any) -> Any:
        """Return the class index, unpacked from a list or array with one item."""
        given = targets.ravel().tolist() if isinstance(targets, np.ndarray) else targets
        if not isinstance(given, list | tuple):
            return given
        if len(given) != 1 or isinstance(given[0], list | tuple):
            self.row(outputs)  # first refuse a batch
            raise InputError(self._one_number(f"{len(given)} numbers" if len(given) != 1 else shown(given)))
        return given[0]

    def batch_shares(self, targets: NDArray[Any]) -> NDArray[np.float64]:
        """Return the share of each sample in the divisor of a mean, for targets (N, 1): float64 of shape (N,)."""
        return self._shares(targets[:, 0]) if self.divides and targets.shape[1] == 1 else np.ones(len(targets))

    def _shares(self, classes: NDArray[Any]) -> NDArray[np.float64]:
        counted = np.ones(len(classes), bool) if self.ignore_index is None else classes != self.ignore_index
        shares = counted.astype(np.float64)
        if self.weight is not None:
            shares[counted] = np.array(self.weight)[classes[counted].astype(np.int64)]
        return shares

    def check_targets(self, targets: NDArray[Any], n_outputs: int) -> None:
        """Check targets (N, 1) with `n_outputs` classes for a Run; InputError names the first bad row."""
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
        many = f" (wrong: {int(bad.sum())} of {len(bad)} targets)" if len(bad) > 1 else ""
        ignored = "" if self.ignore_index in (None, -100) else f", or {self.ignore_index}, which is ignored"
        raise InputError(
            f"{type(self).__name__}: {whose.format(row=row)} is {column[row]}; a target must be a class index, 0 .. "
            f"{classes - 1} for {classes} outputs{ignored}{many}"
        )

    def _one_number(self, got: str) -> str:
        return (
            f"{type(self).__name__} takes one target per sample, the class index; got {got}; convert one-hot rows "
            "with argmax(axis=1). For positions in rows, axis 1 counts the classes: logits.transpose(1, 2)"
        )

    def extra_repr(self) -> str:
        parts = [] if self.weight is None else [f"weight={list(self.weight)}"]
        if self.ignore_index not in (None, -100):
            parts.append(f"ignore_index={self.ignore_index}")
        return ", ".join(parts)


class NLLLoss(ClassLoss):
    """The negative log-probability of the target class, ``-outputs[target]``; the outputs come from LogSoftmax.

    See :class:`ClassLoss` for the parameters.

    Examples
    --------
    >>> NLLLoss()([-2.0, -0.5], 1).data
    0.5
    """

    def logs(self, outputs: Outputs) -> Outputs | None:
        return outputs

    def part_of_class(self, row: list[Value], k: int) -> Value:
        return row[k] * (-1.0 if self.weight is None else -self.weight[k])

    def part_of_symbol(self, row: list[Value], target: Value) -> Value:
        mask = masks(target, len(row))
        chosen = -selected(mask, row)
        return chosen if self.weight is None else chosen * selected(mask, self.weight)


_WHERE = kernel("where")


def masks(target: Value, classes: int) -> list[Value]:
    """Return one 0-1 Value for each class: 1 if the target, not known yet, is that class."""
    return [(target >= k) * (target <= k) for k in range(classes)]


def selected(mask: Sequence[Value], row: Sequence[Any]) -> Value:
    """Return the number of `row` at the class whose mask is 1; 0 if there is none."""
    zero = Value(0.0)
    return reduce_sum([apply(_WHERE, m, x, zero) for m, x in zip(mask, row, strict=True)])


def _number(target: Any, loss: Loss) -> float:
    number = target.data if isinstance(target, Value) else target
    if not isinstance(number, int | float | np.integer | np.floating) or isinstance(number, bool):
        raise InputError(f"{type(loss).__name__}: a target must be a class index, a whole number; got {shown(number)}")
    try:
        return float(number)
    except OverflowError:  # a whole number that no float holds
        raise InputError(f"{type(loss).__name__}: a target must be a class index, got {shown(number)}") from None


class Softmax(Module):
    """Probabilities of classes, ``exp(x[k]) / sum(exp(x))``, without overflow.

    To train, pass the logits to :class:`CrossEntropyLoss`, which contains the softmax.

    Parameters
    ----------
    dim : int
        The dimension of the classes, counted from the end, as PyTorch's 0 is the batch. A row needs none.

    Raises
    ------
    InputError
        `dim` is not negative; when called: the input lacks this dimension.
    """

    stage: ClassVar[str] = "softmax"
    keeps_shape: ClassVar[bool] = True
    _word: ClassVar[str] = "softmax"

    def __init__(self, dim: int | None = None) -> None:
        given: Any = -1 if dim is None else dim
        if isinstance(given, bool) or not isinstance(given, int | np.integer) or given >= 0:
            raise InputError(
                f"{type(self).__name__}: dim must be negative, such as -1 for the last dimension, which means the same "
                f"in PyTorch; its 0 is the batch, which a sample lacks; got {shown(dim)}"
            )
        self.dim = None if dim is None else int(dim)

    def forward(self, x: Any) -> Any:
        """Return the shares along `dim`."""
        if isinstance(x, Value) or not x.size:
            title = titled(self, f"{type(self).__name__}()")
            raise InputError(f"{title} takes a row of numbers, got the shape {shape_of(x)}")
        return getattr(x, self._word)(self.dim)  # without dim, of a row only

    def extra_repr(self) -> str:
        return f"dim={-1 if self.dim is None else self.dim}"


class LogSoftmax(Softmax):
    """The logarithms of :class:`Softmax`, ``x[k] - log(sum(exp(x)))``, without overflow.

    See :class:`Softmax` for `dim`. To train, pass the result to :class:`NLLLoss`.
    """

    stage: ClassVar[str] = "log_softmax"
    _word = "log_softmax"


class CrossEntropyLoss(ClassLoss):
    """The cross-entropy of the target class, ``log(sum(exp(outputs))) - outputs[target]``; the outputs are logits.

    Parameters
    ----------
    weight, ignore_index, reduction
        As for :class:`ClassLoss`, errors too.
    label_smoothing : float
        In 0..1: this share of each target is spread evenly over all classes.

    Notes
    -----
    The target of a sample is one class index; the data of a Run hold a column of whole numbers (N,) or (N, 1). With C
    numbers a sample, (N, C), the target is a share of every class, as in one-hot rows; a mean then divides by N. A
    recorded graph selects the logit by comparisons that depend only on the targets: an engine computes them once for a
    data set.

    Examples
    --------
    >>> round(CrossEntropyLoss()([2.0, 1.0, 0.0], 0).data, 4)
    0.4076
    >>> round(CrossEntropyLoss()([2.0, 1.0, 0.0], [1.0, 0.0, 0.0]).data, 4)
    0.4076
    """

    def __init__(
        self, weight: Sequence[float] | None = None, *, ignore_index: int = -100, reduction: Reduction = "mean",
        label_smoothing: float = 0.0,
    ) -> None:  # fmt: skip
        super().__init__(weight, ignore_index=ignore_index, reduction=reduction)
        title = "CrossEntropyLoss: label_smoothing"
        self.label_smoothing = checked_number(label_smoothing, title, lambda share: 0 <= share <= 1, "be in 0..1")

    def logs(self, outputs: Outputs) -> Outputs | None:
        return None if self.label_smoothing else outputs.log_softmax(1)

    def part_of_class(self, row: list[Value], k: int) -> Value:
        differences, total = parted(row)
        loss = total - differences[k]
        return self._smoothed(loss if self.weight is None else loss * self.weight[k], differences, total)

    def part_of_symbol(self, row: list[Value], target: Value) -> Value:
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
        differences, total = parted(row)
        kept, spread = 1.0 - self.label_smoothing, self.label_smoothing / len(row)
        wanted = shares if self.label_smoothing == 0.0 else [share * kept + spread for share in shares]
        if self.weight is not None:
            wanted = [share * factor for share, factor in zip(wanted, self.weight, strict=True)]
        return total * functions.sum(wanted) - dot(wanted, differences)

    def target(self, targets: Any, outputs: Any) -> Any:
        """Return the class index, or the list of the shares of all classes."""
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
                f"CrossEntropyLoss: ignore_index={self.ignore_index} needs class indices as targets, got a row of "
                "probabilities"
            )

    def check_targets(self, targets: NDArray[Any], n_outputs: int) -> None:
        """Check targets as :class:`ClassLoss` does, or (N, C) shares, which may be any finite numbers."""
        if n_outputs > 1 and targets.ndim == 2 and targets.shape[1] == n_outputs:
            self._no_ignoring()
        else:
            super().check_targets(targets, n_outputs)

    def extra_repr(self) -> str:
        smoothing = f"label_smoothing={self.label_smoothing:g}" if self.label_smoothing else ""
        return ", ".join(part for part in (super().extra_repr(), smoothing) if part)


class MultiMarginLoss(ClassLoss):
    """The sum of ``max(0, margin - outputs[target] + outputs[k])**p`` over all k != target, divided by C.

    Parameters
    ----------
    p : {1, 2}
    margin : float
        Finite.
    weight, reduction
        As for :class:`ClassLoss`, errors too; but a mean divides by the number of samples, whatever the weights.
    """

    divides = False

    def __init__(
        self, p: int = 1, margin: float = 1.0, weight: Sequence[float] | None = None, *, reduction: Reduction = "mean"
    ) -> None:
        super().__init__(weight, ignore_index=None, reduction=reduction)
        given: Any = p
        if isinstance(given, bool) or not isinstance(given, int | float | np.integer) or given not in (1, 2):
            raise InputError(f"MultiMarginLoss: p must be 1 or 2, got {shown(p)}")
        self.p = int(given)
        self.margin = checked_number(margin, "MultiMarginLoss: margin", math.isfinite, "be finite", "; try 1")

    def part_of_class(self, row: list[Value], k: int) -> Value:
        terms = [self._term(row[k], x) for j, x in enumerate(row) if j != k]
        scale = (1.0 if self.weight is None else self.weight[k]) / len(row)
        return reduce_sum(terms) * scale if terms else row[0] * 0.0

    def part_of_symbol(self, row: list[Value], target: Value) -> Value:
        mask = masks(target, len(row))
        own = selected(mask, row)
        terms = [apply(_WHERE, m, 0.0, self._term(own, x)) for m, x in zip(mask, row, strict=True)]
        total = reduce_sum(terms) * (1.0 / len(row))
        return total if self.weight is None else total * selected(mask, self.weight)

    def _term(self, own: Value, other: Value) -> Value:
        above = functions.relu(self.margin - own + other)
        return above if self.p == 1 else functions.square(above)

    def extra_repr(self) -> str:
        return ", ".join(part for part in (f"p={self.p}, margin={self.margin:g}", super().extra_repr()) if part)
