"""The rules: SGD, Adagrad, RMSprop, Adam and AdamW. Each `update` is the formula of one weight."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

from ..checks import flag
from ..errors import InputError, shown
from ..scalar import Block, Value, Weight, maximum, minimum
from ..scalar.number import at_least_zero
from ._checked import below_one, finite
from ._optimizer import Checks, Optimizer, Update


class SGD(Optimizer):
    """Stochastic gradient descent, with PyTorch's momentum, Nesterov momentum and weight decay.

    Parameters
    ----------
    params, lr
        As for :class:`Optimizer`.
    momentum : float
        The share of the last step's direction that is kept, >= 0. Setting it to 0 discards the direction; PyTorch keeps
        it.
    dampening : float
        Momentum leaves out this share of the gradient, except at the first step; finite.
    weight_decay : float
        Adds ``weight_decay * w`` to the gradient, >= 0.
    nesterov : bool
        Look ahead along the momentum; needs `momentum` > 0 and no `dampening`.
    maximize : bool
        Increase the loss instead.

    Raises
    ------
    InputError
        A hyper-parameter is out of its range.
    """

    _checks: ClassVar[Checks] = {
        "momentum": at_least_zero, "dampening": finite, "weight_decay": at_least_zero, "nesterov": flag,
        "maximize": flag,
    }  # fmt: skip

    def __init__(
        self, params: Iterable[Block | Weight], lr: float = 1e-3, momentum: float = 0.0, dampening: float = 0.0,
        weight_decay: float = 0.0, nesterov: bool = False, *, maximize: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(params, lr)
        self.momentum, self.dampening, self.weight_decay = momentum, dampening, weight_decay
        self.nesterov, self.maximize = nesterov, maximize

    def check_together(self, numbers: Mapping[str, Any]) -> None:
        if numbers.get("nesterov") and numbers.get("momentum") == 0:
            raise InputError("SGD: nesterov=True needs momentum > 0, such as 0.9")
        if numbers.get("nesterov") and numbers.get("dampening"):
            raise InputError("SGD: nesterov=True needs dampening=0")

    def assign(self, numbers: Mapping[str, Any]) -> None:
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
        # the first step stores the whole gradient
        taken = (1 - self.dampening * minimum(t - 1, 1.0)) * g if self.dampening else g
        v = self.momentum * state["momentum_buffer"] + taken
        direction = g + self.momentum * v if self.nesterov else v
        return w - lr * direction, {"momentum_buffer": v}


class Adagrad(Optimizer):
    """Divide the gradient by the root of the sum of its squares so far (Duchi, Hazan and Singer, 2011), as in PyTorch.

    Parameters
    ----------
    params, lr, weight_decay, maximize
        As for :class:`SGD`.
    lr_decay : float
        Step t has the rate ``lr / (1 + (t - 1) * lr_decay)``; >= 0.
    initial_accumulator_value : float
        Initial value of the sum, >= 0.
    eps : float
        Added to the root, >= 0.

    Raises
    ------
    InputError
        A hyper-parameter is out of its range.
    """

    state = squares = ("sum",)
    _checks: ClassVar[Checks] = {
        "lr_decay": at_least_zero, "weight_decay": at_least_zero, "initial_accumulator_value": at_least_zero,
        "eps": at_least_zero, "maximize": flag,
    }  # fmt: skip

    def __init__(
        self, params: Iterable[Block | Weight], lr: float = 1e-2, lr_decay: float = 0.0, weight_decay: float = 0.0,
        initial_accumulator_value: float = 0.0, eps: float = 1e-10, *, maximize: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(params, lr)
        self.lr_decay, self.weight_decay, self.eps, self.maximize = lr_decay, weight_decay, eps, maximize
        self.initial_accumulator_value = initial_accumulator_value

    def state_start(self, name: str) -> float:
        return self.initial_accumulator_value

    def update(self, w: Value, g: Value, state: Mapping[str, Value], lr: Value, t: Value) -> Update:
        """``w -= lr / (1 + (t - 1) * lr_decay) * g / (sqrt(sum of g**2) + eps)``."""
        g = -g if self.maximize else g
        g = g + self.weight_decay * w if self.weight_decay else g
        total = state["sum"] + g * g
        rate = lr / (1 + (t - 1) * self.lr_decay) if self.lr_decay else lr
        return w - rate * (g / (total.sqrt() + self.eps)), {"sum": total}


class RMSprop(Optimizer):
    """Divide the gradient by the root of the running mean of its squares (Tieleman and Hinton, 2012), as in PyTorch.

    Parameters
    ----------
    params, lr, weight_decay, momentum, maximize
        As for :class:`SGD`.
    alpha : float
        The share of the running mean that is kept, >= 0.
    eps : float
        Added to the root, >= 0.
    centered : bool
        Divide by the standard deviation instead: subtract the squared running mean of the gradient.

    Raises
    ------
    InputError
        A hyper-parameter is out of its range.
    """

    squares = ("square_avg",)
    _checks: ClassVar[Checks] = {
        "alpha": at_least_zero, "eps": at_least_zero, "weight_decay": at_least_zero, "momentum": at_least_zero,
        "centered": flag, "maximize": flag,
    }  # fmt: skip

    def __init__(
        self, params: Iterable[Block | Weight], lr: float = 1e-2, alpha: float = 0.99, eps: float = 1e-8,
        weight_decay: float = 0.0, momentum: float = 0.0, centered: bool = False, *, maximize: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(params, lr)
        self.alpha, self.eps, self.weight_decay, self.momentum = alpha, eps, weight_decay, momentum
        self.centered, self.maximize = centered, maximize

    def assign(self, numbers: Mapping[str, Any]) -> None:
        super().assign(numbers)
        given = vars(self)
        self.state = (
            "square_avg",
            *(("momentum_buffer",) if given.get("momentum") else ()),
            *(("grad_avg",) if given.get("centered") else ()),
        )

    def update(self, w: Value, g: Value, state: Mapping[str, Value], lr: Value, t: Value) -> Update:
        """``w -= lr * g / (sqrt(mean of g**2) + eps)``, with momentum if it is not 0."""
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


def _betas(given: Any, what: str) -> tuple[float, float]:
    try:
        first, second = given
    except (TypeError, ValueError):
        raise InputError(f"{what} must be two numbers, such as (0.9, 0.999), got {shown(given)}") from None
    return below_one(first, f"{what}[0]"), below_one(second, f"{what}[1]")


class Adam(Optimizer):
    """Adam (Kingma and Ba, 2015), as in PyTorch, except for weights that join later (see Notes).

    Parameters
    ----------
    params, lr, weight_decay, maximize
        As for :class:`SGD`.
    betas : (float, float)
        The kept shares of the running means of the gradient and of its square, each in ``0 <= beta < 1``.
    eps : float
        Added to the root of the mean square, >= 0.
    amsgrad : bool
        Divide by the largest mean square so far (Reddi, Kale and Kumar, 2018).

    Raises
    ------
    InputError
        A hyper-parameter is out of its range.

    Notes
    -----
    The bias correction counts the steps of the optimiser; PyTorch counts the steps of each tensor. So a weight that
    joins late moves up to 6.6 times as far as in PyTorch for some hundred steps, with the usual betas.
    """

    state: tuple[str, ...] = ("exp_avg", "exp_avg_sq")
    squares = ("exp_avg_sq", "max_exp_avg_sq")
    _checks: ClassVar[Checks] = {
        "betas": _betas, "eps": at_least_zero, "weight_decay": at_least_zero, "amsgrad": flag, "maximize": flag,
    }  # fmt: skip

    def __init__(
        self, params: Iterable[Block | Weight], lr: float = 1e-3, betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8, weight_decay: float = 0.0, amsgrad: bool = False, *, maximize: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(params, lr)
        self.betas, self.eps, self.weight_decay = betas, eps, weight_decay
        self.amsgrad, self.maximize = amsgrad, maximize

    def assign(self, numbers: Mapping[str, Any]) -> None:
        super().assign(numbers)
        if "amsgrad" in numbers:
            self.state = (*Adam.state, "max_exp_avg_sq") if self.amsgrad else Adam.state

    def update(self, w: Value, g: Value, state: Mapping[str, Value], lr: Value, t: Value) -> Update:
        """``w -= lr * m_hat / (sqrt(v_hat) + eps)`` with the bias-corrected running means m_hat and v_hat."""
        g = -g if self.maximize else g
        return self._moments(w, g + self.weight_decay * w if self.weight_decay else g, state, lr, t)

    def _moments(self, w: Value, g: Value, state: Mapping[str, Value], lr: Value, t: Value) -> Update:
        beta1, beta2 = self.betas
        m = beta1 * state["exp_avg"] + (1 - beta1) * g
        v = beta2 * state["exp_avg_sq"] + (1 - beta2) * (g * g)
        # factors of lr and t alone are grouped: engines compute them once a step
        step_size = lr / (1 - beta1**t)
        root = (1 - beta2**t).sqrt()
        new, largest = {"exp_avg": m, "exp_avg_sq": v}, v
        if "max_exp_avg_sq" in state:
            new["max_exp_avg_sq"] = largest = maximum(state["max_exp_avg_sq"], v)
        return w - step_size * (m / (largest.sqrt() / root + self.eps)), new


class AdamW(Adam):
    """Adam with decoupled weight decay (Loshchilov and Hutter, 2019): it also applies ``w -= lr * weight_decay * w``.

    Parameters and errors are those of :class:`Adam`; `weight_decay` defaults to 0.01, as in PyTorch.
    """

    def __init__(
        self, params: Iterable[Block | Weight], lr: float = 1e-3, betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8, weight_decay: float = 1e-2, amsgrad: bool = False, *, maximize: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(params, lr, betas, eps, weight_decay, amsgrad, maximize=maximize)

    def update(self, w: Value, g: Value, state: Mapping[str, Value], lr: Value, t: Value) -> Update:
        """Shrink the weight, then apply Adam's step."""
        if self.weight_decay:
            w = w * (1 - lr * self.weight_decay)
        return self._moments(w, -g if self.maximize else g, state, lr, t)
