"""LambdaLR: the rates times what a function says."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..checks import function
from ..errors import InputError, ScalarvizError
from ..scalar.numbers import as_number
from ..scalar.value import Value
from ..tape import Tape, record
from ._optimizer import Optimizer
from ._pace import Floats
from ._scheduler import LRScheduler, groups_of
from ._vector import run_tape

Factor = Callable[[int], Any]
_TRIED = (0, 1, 2, 7, 100)
"""Counts at which a recorded function must give what it gives when it is called."""


class LambdaLR(LRScheduler):
    """The rates times ``lr_lambda(count)``.

    Parameters
    ----------
    optimizer : Optimizer
    lr_lambda : callable or list of callable
        Of all groups or one for each: takes how often the schedule was stepped, and gives a factor >= 0. One that can
        be recorded (arithmetic, ``sv.minimum``, ``sv.cos``, ...) is computed for many steps at once; another one is
        called with numbers, step by step: `remark` says so. It must give the same for the same count.
    last_epoch, unit
        See :class:`LRScheduler`.

    Raises
    ------
    TypeMismatchError
        No function, or it gives no number.
    InputError
        As many functions as there are groups are wanted; or the first rate is negative or not finite.
    """

    _of_groups = ("base_lrs", "lr_lambdas", "_tapes")

    def __init__(
        self, optimizer: Optimizer, lr_lambda: Factor | Sequence[Factor], last_epoch: int = -1, *, unit: str = "step"
    ) -> None:
        groups = groups_of(optimizer)
        given: Any = lr_lambda
        listed = list(given) if isinstance(given, list | tuple) else [given] * groups
        if len(listed) != groups:
            raise InputError(f"LambdaLR: there are {groups} parameter groups, got {len(listed)} functions")
        self.lr_lambdas = [function(one, "LambdaLR: lr_lambda") for one in listed]
        known: dict[int, Tape | None] = {}
        for one in self.lr_lambdas:
            if id(one) not in known:
                known[id(one)] = _recorded(one)
        self._tapes = [known[id(one)] for one in self.lr_lambdas]
        super().__init__(optimizer, last_epoch, unit=unit)
        if any(tape is None for tape in self._tapes):
            self.remark = "lr_lambda cannot be recorded: it is called with numbers, step by step"

    def at(self, counts: NDArray[np.int64]) -> Floats:
        """``base_lr * lr_lambda(count)``."""
        known: dict[int, Floats] = {}
        for one, tape in zip(self.lr_lambdas, self._tapes, strict=True):
            if id(one) not in known:
                known[id(one)] = _called(one, counts) if tape is None else _computed(tape, counts)
        found: Floats = np.stack([known[id(one)] for one in self.lr_lambdas], axis=1) * np.array(self.base_lrs)
        return found

    def __repr__(self) -> str:
        names = [str(getattr(one, "__name__", type(one).__name__)) for one in dict.fromkeys(self.lr_lambdas)]
        return f"LambdaLR({', '.join(names)}{'' if self.unit == 'step' else ', unit=' + repr(self.unit)})"


def _called(one: Factor, counts: NDArray[np.int64]) -> Floats:
    return np.array([_call(one, count) for count in counts.tolist()], np.float64)


def _call(one: Factor, count: int) -> float:
    try:
        found = one(count)
    except ScalarvizError:
        raise
    except Exception as error:  # a user's function
        raise InputError(f"LambdaLR: lr_lambda({count}) raised {type(error).__name__}: {error!s:.200}") from error
    return _number(found)


def _number(found: Any) -> float:
    return as_number(found, "LambdaLR: what lr_lambda gives")


def _computed(tape: Tape, counts: NDArray[np.int64]) -> Floats:
    found: Floats = run_tape(tape, counts[np.newaxis].astype(np.float64), np.zeros(0))[0]
    return found


def _recorded(one: Factor) -> Tape | None:
    """The function written down; None where it asks for a number, or does not give what it gives when it is called."""

    def traced(inputs: list[Value]) -> Value:
        given: Any = inputs[0]
        found: Any = one(given)
        return found if isinstance(found, Value) else Value(_number(found))

    try:
        called = _called(one, np.array(_TRIED))  # it may be a list that ends before
        tape = record(traced, 1)
        found = _computed(tape, np.array(_TRIED))
    except Exception:  # a Value is not what it was written for
        return None
    return tape if np.allclose(found, called, rtol=1e-13, atol=0, equal_nan=True) else None
