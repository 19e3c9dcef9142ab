"""Stochastic gradient descent."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ..checks import flag
from ..errors import InputError
from ..scalar import Block, Value, Weight, minimum
from ._given import at_least_zero, finite
from ._optimizer import Optimizer, Update


class SGD(Optimizer):
    """Stochastic gradient descent, with PyTorch's momentum, Nesterov momentum and weight decay.

    Parameters
    ----------
    params : iterable of Parameter and Weight
    lr : float
        Learning rate.
    momentum : float
        How much of the last step's direction is kept, >= 0. Set to 0 the direction is forgotten; PyTorch keeps it
        aside and goes on with the old one when there is momentum again.
    dampening : float
        The share of the gradient that the momentum does not take, but for the first step; finite.
    weight_decay : float
        Adds ``weight_decay * w`` to the gradient, >= 0.
    nesterov : bool
        Look ahead along the momentum; needs `momentum` > 0 and no `dampening`.
    maximize : bool
        Make the loss larger.

    Raises
    ------
    InputError
        A hyper-parameter is out of its range.
    """

    momentum: float
    dampening: float
    weight_decay: float
    nesterov: bool
    maximize: bool

    def __init__(
        self,
        params: Iterable[Block | Weight],
        lr: float = 1e-3,
        momentum: float = 0.0,
        dampening: float = 0.0,
        weight_decay: float = 0.0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
    ) -> None:
        super().__init__(params, lr)
        self.momentum, self.dampening, self.weight_decay = momentum, dampening, weight_decay
        self.nesterov, self.maximize = nesterov, maximize

    def check_number(self, name: str, number: Any) -> Any:
        """Momentum and weight decay are >= 0, dampening is finite."""
        if name == "dampening":
            return finite(number, "SGD: dampening")
        if name in ("momentum", "weight_decay"):
            return at_least_zero(number, f"SGD: {name}")
        if name in ("nesterov", "maximize"):
            return flag(number, f"SGD: {name}")
        return super().check_number(name, number)

    def check_together(self, numbers: Mapping[str, Any]) -> None:
        """Nesterov's momentum needs one."""
        if numbers.get("nesterov") and numbers.get("momentum") == 0:
            raise InputError("SGD: nesterov=True needs momentum > 0, such as 0.9")
        if numbers.get("nesterov") and numbers.get("dampening"):
            raise InputError("SGD: nesterov=True needs dampening=0")

    def assign(self, numbers: Mapping[str, Any]) -> None:
        """Without momentum there is no state."""
        super().assign(numbers)
        if "momentum" in numbers:
            self.state = ("momentum_buffer",) if self.momentum else ()

    def update(self, w: Value, g: Value, state: Mapping[str, Value], lr: Value, t: Value) -> Update:
        """``v = momentum * v + g; w -= lr * v`` (Nesterov: ``w -= lr * (g + momentum * v)``)."""
        g = -g if self.maximize else g
        if self.weight_decay:
            g = g + self.weight_decay * w
        if "momentum_buffer" not in state:
            return w - lr * g, {}
        # the first step's gradient is the buffer, as a whole
        taken = (1 - self.dampening * minimum(t - 1, 1.0)) * g if self.dampening else g
        v = self.momentum * state["momentum_buffer"] + taken
        direction = g + self.momentum * v if self.nesterov else v
        return w - lr * direction, {"momentum_buffer": v}
