"""Adagrad."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ..checks import flag
from ..scalar import Block, Value, Weight
from ._given import at_least_zero
from ._optimizer import Optimizer, Update


class Adagrad(Optimizer):
    """The gradient over the root of the sum of its squares so far (Duchi, Hazan and Singer, 2011), as in PyTorch.

    Parameters
    ----------
    params : iterable of Parameter and Weight
    lr : float
        Learning rate.
    lr_decay : float
        Step t has the rate ``lr / (1 + (t - 1) * lr_decay)``; >= 0.
    weight_decay : float
        Adds ``weight_decay * w`` to the gradient, >= 0.
    initial_accumulator_value : float
        What the sum begins with, >= 0.
    eps : float
        Added to the root, >= 0.
    maximize : bool
        Make the loss larger.

    Raises
    ------
    InputError
        A hyper-parameter is out of its range.
    """

    state = squares = ("sum",)
    lr_decay: float
    weight_decay: float
    initial_accumulator_value: float
    eps: float
    maximize: bool

    def __init__(
        self, params: Iterable[Block | Weight], lr: float = 1e-2, lr_decay: float = 0.0, weight_decay: float = 0.0,
        initial_accumulator_value: float = 0.0, eps: float = 1e-10, *, maximize: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(params, lr)
        self.lr_decay, self.weight_decay, self.eps, self.maximize = lr_decay, weight_decay, eps, maximize
        self.initial_accumulator_value = initial_accumulator_value

    def check_number(self, name: str, number: Any) -> Any:
        """All numbers are >= 0."""
        what = f"Adagrad: {name}"
        return flag(number, what) if name == "maximize" else at_least_zero(number, what)

    def state_start(self, name: str) -> float:
        """The sum begins with `initial_accumulator_value`."""
        return self.initial_accumulator_value

    def update(self, w: Value, g: Value, state: Mapping[str, Value], lr: Value, t: Value) -> Update:
        """``w -= lr / (1 + (t - 1) * lr_decay) * g / (sqrt(sum of g**2) + eps)``."""
        g = -g if self.maximize else g
        g = g + self.weight_decay * w if self.weight_decay else g
        total = state["sum"] + g * g
        rate = lr / (1 + (t - 1) * self.lr_decay) if self.lr_decay else lr
        return w - rate * (g / (total.sqrt() + self.eps)), {"sum": total}
