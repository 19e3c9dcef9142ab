"""Adam and AdamW."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ..checks import flag
from ..errors import InputError, shown
from ..scalar import Block, Value, Weight, maximum
from ._given import at_least_zero, below_one
from ._optimizer import Optimizer, Update


class Adam(Optimizer):
    """Adam (Kingma and Ba, 2015), as PyTorch computes it while no weight waits.

    Parameters
    ----------
    params : iterable of Parameter and Weight
    lr : float
        Learning rate.
    betas : (float, float)
        How much of the running means of the gradient and of its square is kept, each in ``0 <= beta < 1``.
    eps : float
        Added to the root of the mean square, >= 0.
    weight_decay : float
        Adds ``weight_decay * w`` to the gradient, >= 0.
    amsgrad : bool
        Divide by the largest mean square so far (Reddi, Kale and Kumar, 2018).
    maximize : bool
        Make the loss larger.

    Raises
    ------
    InputError
        A hyper-parameter is out of its range.

    Notes
    -----
    The corrections of the running means count the steps of the optimiser, PyTorch's those of each tensor. So a weight
    that was frozen from the first step on and joins much later is not corrected: with the usual betas it moves up to
    6.6 times as far as PyTorch would move it, for some hundred steps. A new optimiser begins anew for all.
    """

    state: tuple[str, ...] = ("exp_avg", "exp_avg_sq")
    squares = ("exp_avg_sq", "max_exp_avg_sq")
    betas: tuple[float, float]
    eps: float
    weight_decay: float
    amsgrad: bool
    maximize: bool

    def __init__(
        self,
        params: Iterable[Block | Weight],
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
    ) -> None:
        super().__init__(params, lr)
        self.betas, self.eps, self.weight_decay = betas, eps, weight_decay
        self.amsgrad, self.maximize = amsgrad, maximize

    def check_number(self, name: str, number: Any) -> Any:
        """Betas lie in ``0 <= beta < 1``, eps and weight decay are >= 0."""
        what = f"{type(self).__name__}: {name}"
        if name == "betas":
            try:
                first, second = number
            except (TypeError, ValueError):
                raise InputError(f"{what} must be two numbers, such as (0.9, 0.999), got {shown(number)}") from None
            return below_one(first, f"{what}[0]"), below_one(second, f"{what}[1]")
        if name in ("amsgrad", "maximize"):
            return flag(number, what)
        return at_least_zero(number, what) if name in ("eps", "weight_decay") else super().check_number(name, number)

    def assign(self, numbers: Mapping[str, Any]) -> None:
        """The largest mean square is kept where it is asked for."""
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
        # the factors that depend on lr and t alone stand together: engines compute them once a step
        step_size = lr / (1 - beta1**t)
        root = (1 - beta2**t).sqrt()
        new, largest = {"exp_avg": m, "exp_avg_sq": v}, v
        if "max_exp_avg_sq" in state:
            new["max_exp_avg_sq"] = largest = maximum(state["max_exp_avg_sq"], v)
        return w - step_size * (m / (largest.sqrt() / root + self.eps)), new


class AdamW(Adam):
    """Adam with decoupled weight decay (Loshchilov and Hutter, 2019): ``w -= lr * weight_decay * w`` beside the step.

    Parameters and errors are those of :class:`Adam`; `weight_decay` is 0.01 by default, as in PyTorch.
    """

    def __init__(
        self,
        params: Iterable[Block | Weight],
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
    ) -> None:
        super().__init__(params, lr, betas, eps, weight_decay, amsgrad, maximize=maximize)

    def update(self, w: Value, g: Value, state: Mapping[str, Value], lr: Value, t: Value) -> Update:
        """Shrink the weight, then do Adam's step."""
        if self.weight_decay:
            w = w * (1 - lr * self.weight_decay)
        return self._moments(w, -g if self.maximize else g, state, lr, t)
