"""Choosing one class of several: `Softmax` and `CrossEntropyLoss`.

Both shift the numbers by the largest one, so that no exponential overflows. The shift cancels from the result, so no
gradient goes through it (operation ``held_max``).
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError, shown
from ..scalar import Value, functions
from ..scalar.kernel import kernel
from ..scalar.nested import shape_of
from ..scalar.value import Symbol, apply, apply_each, as_value
from ._inputs import titled
from ._losses import Loss, Reduction, reduce_sum
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
    dim: int

    def __init__(self, dim: int = -1) -> None:
        given: Any = dim
        if isinstance(given, bool) or not isinstance(given, int | np.integer) or given not in (1, -1):
            raise InputError(f"Softmax: dim must be 1 or -1, the classes of an N x C batch; got {shown(dim)}")
        self.dim = int(dim)

    def forward(self, x: Any) -> list[Value]:
        """The probabilities of one row."""
        shape = shape_of(x)
        if len(shape) != 1 or shape[0] == 0:
            raise InputError(f"{titled(self, 'Softmax()')} takes a row of numbers, got the shape {shape}")
        exponentials = apply_each(_EXP, shifted(x))
        factor = 1.0 / functions.sum(exponentials)
        return [e * factor for e in exponentials]

    def extra_repr(self) -> str:
        """PyTorch's text."""
        return f"dim={self.dim}"


class CrossEntropyLoss(Loss):
    """The cross-entropy of a class, ``log(sum(exp(outputs))) - outputs[target]``; the outputs are logits.

    Parameters
    ----------
    reduction : {"mean", "sum"}
        Over a batch.

    Raises
    ------
    InputError
        Another reduction; when called: a target that is no whole number in ``0 .. C-1``.

    Notes
    -----
    The target of a sample is one number: an int, or in the data of a Run a column of whole numbers (N,) or (N, 1),
    checked when the Run is made. A recorded graph selects the logit by a mask of comparisons; they depend on the
    targets alone, so an engine computes the mask once a data set (C numbers a sample), not at every step.

    Examples
    --------
    >>> round(CrossEntropyLoss()([2.0, 1.0, 0.0], 0).data, 4)
    0.4076
    """

    def __init__(self, reduction: Reduction = "mean") -> None:
        super().__init__(reduction)

    def __call__(self, outputs: Any, target: Any) -> Value:
        """The loss of one sample.

        Parameters
        ----------
        outputs : sequence of C Values or floats
            One logit a class.
        target : int, Value, or a sequence of one of them
            The class.
        """
        row = [outputs] if isinstance(outputs, Value) else [as_value(v) for v in _row_of(outputs)]
        wanted = _single(target)
        differences = shifted(row)
        total = functions.log(functions.sum(apply_each(_EXP, differences)))
        if isinstance(wanted, Symbol):
            chosen = _selected(differences, wanted)
        else:
            chosen = differences[_class(wanted, len(row))]
        return total - chosen

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
            A target is no whole number in ``0 .. C-1``; names the first such row.
        """
        if targets.ndim != 2 or targets.shape[1] != 1:
            raise InputError(_one_number(f"the shape {targets.shape}"))
        column = targets[:, 0]
        bad = ~((column >= 0) & (column < n_outputs) & (column == np.floor(column)))
        if bad.any():
            row = int(np.argmax(bad))
            raise InputError(
                f"CrossEntropyLoss: the target of sample {row} is {column[row]}; a target is the number of a class, "
                f"a whole number 0 .. {n_outputs - 1} for {n_outputs} outputs ({int(bad.sum())} of {len(bad)} are not)"
            )


_EXP, _SUB, _WHERE, _HELD_MAX = kernel("exp"), kernel("sub"), kernel("where"), kernel("held_max")


def shifted(row: list[Value]) -> list[Value]:
    """The numbers minus the largest one, which is found in pairs: log2(n) levels instead of n."""
    level = row
    while len(level) > 1:
        paired = [apply(_HELD_MAX, a, b) for a, b in zip(level[::2], level[1::2], strict=False)]
        level = paired if len(level) % 2 == 0 else [*paired, level[-1]]
    return [apply(_SUB, x, level[0]) for x in row]


def _selected(row: list[Value], target: Value) -> Value:
    """``row[target]`` of a target that is not known yet."""
    zero = Value(0.0)
    return reduce_sum([apply(_WHERE, (target >= k) * (target <= k), x, zero) for k, x in enumerate(row)])


def _class(target: Any, classes: int) -> int:
    number = target.data if isinstance(target, Value) else target
    real = isinstance(number, int | float | np.integer | np.floating) and not isinstance(number, bool)
    if not real or not 0 <= number < classes or number != int(number):
        raise InputError(
            f"CrossEntropyLoss: a target is the number of a class, a whole number 0 .. {classes - 1} for {classes} "
            f"outputs; got {shown(number)}"
        )
    return int(number)


def _row_of(outputs: Any) -> Any:
    row = outputs.tolist() if isinstance(outputs, np.ndarray) else outputs
    shape = shape_of(row)
    if len(shape) != 1 or shape[0] == 0:
        raise InputError(
            f"CrossEntropyLoss: one sample at a time, a row of one logit a class; got the shape {shape} of "
            f"{type(outputs).__name__}"
        )
    return row


def _single(target: Any) -> Any:
    """The target itself, taken out of a list or array of one."""
    given = target.ravel().tolist() if isinstance(target, np.ndarray) else target
    if not isinstance(given, list | tuple):
        return given
    if len(given) != 1:
        raise InputError(_one_number(f"{len(given)} numbers"))
    return given[0]


def _one_number(got: str) -> str:
    return (
        f"CrossEntropyLoss takes one target a sample, the number of its class, got {got}; of one-hot rows take "
        "argmax(axis=1)"
    )
