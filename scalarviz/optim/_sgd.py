"""Stochastic gradient descent."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ..arguments import flag
from ..errors import InputError
from ..scalar import Block, Value, Weight
from ._optimizer import Optimizer, Update, at_least_zero


class SGD(Optimizer):
    """Stochastic gradient descent, with PyTorch's momentum, Nesterov momentum and weight decay.

    Parameters
    ----------
    params : iterable of Parameter and Weight
    lr : float
        Learning rate.
    momentum : float
        How much of the last step's direction is kept, >= 0.
    nesterov : bool
        Look ahead along the momentum; needs `momentum` > 0.
    weight_decay : float
        Adds ``weight_decay * w`` to the gradient, >= 0.

    Raises
    ------
    InputError
        A hyper-parameter is out of its range.
    """

    def __init__(
        self,
        params: Iterable[Block | Weight],
        lr: float = 1e-3,
        momentum: float = 0.0,
        *,
        nesterov: bool = False,
        weight_decay: float = 0.0,
    ) -> None:
        super().__init__(params, lr)
        self.momentum = at_least_zero(momentum, "SGD: momentum")
        self.nesterov = flag(nesterov, "SGD: nesterov")
        self.weight_decay = at_least_zero(weight_decay, "SGD: weight_decay")
        if self.nesterov and self.momentum == 0:
            raise InputError("SGD: nesterov=True needs momentum > 0, such as 0.9")
        self.state = ("momentum_buffer",) if self.momentum else ()

    def update(self, w: Value, g: Value, state: Mapping[str, Value], lr: Value, t: Value) -> Update:
        """``v = momentum * v + g; w -= lr * v`` (Nesterov: ``w -= lr * (g + momentum * v)``)."""
        if self.weight_decay:
            g = g + self.weight_decay * w
        if "momentum_buffer" not in state:
            return w - lr * g, {}
        v = self.momentum * state["momentum_buffer"] + g
        direction = g + self.momentum * v if self.nesterov else v
        return w - lr * direction, {"momentum_buffer": v}
