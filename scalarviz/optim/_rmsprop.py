"""RMSprop."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ..checks import flag
from ..scalar import Block, Value, Weight
from ._given import at_least_zero
from ._optimizer import Optimizer, Update


class RMSprop(Optimizer):
    """The gradient over the root of the running mean of its squares (Tieleman and Hinton, 2012), as in PyTorch.

    Parameters
    ----------
    params : iterable of Parameter and Weight
    lr : float
        Learning rate.
    alpha : float
        How much of the running mean is kept, >= 0.
    eps : float
        Added to the root, >= 0.
    weight_decay : float
        Adds ``weight_decay * w`` to the gradient, >= 0.
    momentum : float
        How much of the last step's direction is kept, >= 0.
    centered : bool
        Divide by the deviation instead: the square of the gradient's running mean is taken off.
    maximize : bool
        Make the loss larger.

    Raises
    ------
    InputError
        A hyper-parameter is out of its range.
    """

    squares = ("square_avg",)
    alpha: float
    eps: float
    weight_decay: float
    momentum: float
    centered: bool
    maximize: bool

    def __init__(
        self, params: Iterable[Block | Weight], lr: float = 1e-2, alpha: float = 0.99, eps: float = 1e-8,
        weight_decay: float = 0.0, momentum: float = 0.0, centered: bool = False, *, maximize: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(params, lr)
        self.alpha, self.eps, self.weight_decay, self.momentum = alpha, eps, weight_decay, momentum
        self.centered, self.maximize = centered, maximize

    def check_number(self, name: str, number: Any) -> Any:
        """All numbers are >= 0."""
        what = f"RMSprop: {name}"
        return flag(number, what) if name in ("centered", "maximize") else at_least_zero(number, what)

    def assign(self, numbers: Mapping[str, Any]) -> None:
        """There is no state that nothing reads."""
        super().assign(numbers)
        given = vars(self)
        self.state = (
            "square_avg",
            *(("momentum_buffer",) if given.get("momentum") else ()),
            *(("grad_avg",) if given.get("centered") else ()),
        )

    def update(self, w: Value, g: Value, state: Mapping[str, Value], lr: Value, t: Value) -> Update:
        """``w -= lr * g / (sqrt(mean of g**2) + eps)``, by momentum where there is some."""
        g = -g if self.maximize else g
        g = g + self.weight_decay * w if self.weight_decay else g
        square = self.alpha * state["square_avg"] + (1 - self.alpha) * (g * g)
        new, spread = {"square_avg": square}, square
        if "grad_avg" in state:
            new["grad_avg"] = mean = self.alpha * state["grad_avg"] + (1 - self.alpha) * g
            spread = square - mean * mean
        step = g / (spread.sqrt() + self.eps)
        if "momentum_buffer" in state:
            new["momentum_buffer"] = step = self.momentum * state["momentum_buffer"] + step
        return w - lr * step, new
