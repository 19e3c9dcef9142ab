"""The rules: SGD, Adagrad, Adadelta, RMSprop, Adam and its variants, Rprop.

Each `update` is the formula of one weight.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

from ..checks import flag
from ..errors import InputError, shown
from ..scalar import Block, Value, Weight, maximum, minimum, where
from ..scalar.number import at_least_zero, checked_number
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
        g = _downhill(self, w, g)
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
        g = _downhill(self, w, g)
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
        g = _downhill(self, w, g)
        square = self.alpha * state["square_avg"] + (1 - self.alpha) * (g * g)
        new, spread = {"square_avg": square}, square
        if "grad_avg" in state:
            new["grad_avg"] = mean = self.alpha * state["grad_avg"] + (1 - self.alpha) * g
            spread = square - mean * mean
        step = g / (spread.sqrt() + self.eps)
        if "momentum_buffer" in state:
            new["momentum_buffer"] = step = self.momentum * state["momentum_buffer"] + step
        return w - lr * step, new


class Adadelta(Optimizer):
    """Scale the gradient so that a step is about as large as the former ones (Zeiler, 2012), as in PyTorch.

    Parameters
    ----------
    params, lr, weight_decay, maximize
        As for :class:`SGD`; `lr` is a factor of the step and usually 1.
    rho : float
        The kept share of both running means, ``0 <= rho <= 1``.
    eps : float
        Added to both means, >= 0; it sets the size of the first steps.

    Raises
    ------
    InputError
        A hyper-parameter is out of its range.
    """

    state = squares = ("square_avg", "acc_delta")
    _checks: ClassVar[Checks] = {
        "rho": lambda rho, what: checked_number(rho, what, lambda x: 0 <= x <= 1, "be >= 0 and <= 1"),
        "eps": at_least_zero, "weight_decay": at_least_zero, "maximize": flag,
    }  # fmt: skip

    def __init__(
        self, params: Iterable[Block | Weight], lr: float = 1.0, rho: float = 0.9, eps: float = 1e-6,
        weight_decay: float = 0.0, *, maximize: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(params, lr)
        self.rho, self.eps, self.weight_decay, self.maximize = rho, eps, weight_decay, maximize

    def update(self, w: Value, g: Value, state: Mapping[str, Value], lr: Value, t: Value) -> Update:
        """``w -= lr * d`` with ``d = sqrt(mean of d**2 so far + eps) / sqrt(mean of g**2 + eps) * g``."""
        g = _downhill(self, w, g)
        square = self.rho * state["square_avg"] + (1 - self.rho) * (g * g)
        step = (state["acc_delta"] + self.eps).sqrt() / (square + self.eps).sqrt() * g
        kept = self.rho * state["acc_delta"] + (1 - self.rho) * (step * step)
        return w - lr * step, {"square_avg": square, "acc_delta": kept}


def _two(given: Any, what: str, usual: str) -> tuple[Any, Any]:
    try:
        first, second = given
    except (TypeError, ValueError):
        raise InputError(f"{what} must be two numbers, such as {usual}, got {shown(given)}") from None
    return first, second


def _betas(given: Any, what: str) -> tuple[float, float]:
    first, second = _two(given, what, "(0.9, 0.999)")
    return below_one(first, f"{what}[0]"), below_one(second, f"{what}[1]")


def _means(betas: tuple[float, float], g: Value, state: Mapping[str, Value]) -> tuple[Value, Value]:
    """Return the new running means of the gradient and of its square."""
    m = betas[0] * state["exp_avg"] + (1 - betas[0]) * g
    return m, betas[1] * state["exp_avg_sq"] + (1 - betas[1]) * (g * g)


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
        return self._moments(w, _downhill(self, w, g), state, lr, t)

    def _moments(self, w: Value, g: Value, state: Mapping[str, Value], lr: Value, t: Value) -> Update:
        (beta1, beta2), (m, v) = self.betas, _means(self.betas, g, state)
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


def _downhill(rule: Any, w: Value, g: Value) -> Value:
    """Return the gradient to descend, the negated one with `maximize`, with the rule's weight decay in it."""
    g = -g if rule.maximize else g
    return g + rule.weight_decay * w if rule.weight_decay else g


def _decayed(rule: NAdam | RAdam, w: Value, g: Value, lr: Value) -> tuple[Value, Value]:
    """Return the weight and the gradient with the rule's weight decay in one of them."""
    if rule.weight_decay and rule.decoupled_weight_decay:
        return w * (1 - lr * rule.weight_decay), -g if rule.maximize else g
    return w, _downhill(rule, w, g)


class NAdam(Optimizer):
    """Adam with Nesterov's momentum (Dozat, 2016), as in PyTorch; the notes of :class:`Adam` hold.

    Parameters
    ----------
    params, lr, betas, eps, weight_decay, maximize
        As for :class:`Adam`.
    momentum_decay : float
        How fast the momentum grows from ``betas[0] / 2`` to ``betas[0]``, >= 0.
    decoupled_weight_decay : bool
        Decay the weight as :class:`AdamW` does.

    Raises
    ------
    InputError
        A hyper-parameter is out of its range.
    """

    state = ("exp_avg", "exp_avg_sq", "mu_product")
    squares = ("exp_avg_sq", "mu_product")
    _checks: ClassVar[Checks] = {**Adam._checks, "momentum_decay": at_least_zero, "decoupled_weight_decay": flag}

    def __init__(
        self, params: Iterable[Block | Weight], lr: float = 2e-3, betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8, weight_decay: float = 0.0, momentum_decay: float = 4e-3,
        decoupled_weight_decay: bool = False, *, maximize: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(params, lr)
        self.betas, self.eps, self.weight_decay, self.momentum_decay = betas, eps, weight_decay, momentum_decay
        self.decoupled_weight_decay, self.maximize = decoupled_weight_decay, maximize

    def state_start(self, name: str) -> float:
        return 1.0 if name == "mu_product" else 0.0

    def update(self, w: Value, g: Value, state: Mapping[str, Value], lr: Value, t: Value) -> Update:
        """Apply Adam's step with the mean that the next step would have: the momentum looks ahead."""
        w, g = _decayed(self, w, g, lr)
        (beta1, beta2), (m, v) = self.betas, _means(self.betas, g, state)
        mu, coming = (beta1 * (1 - 0.5 * 0.96 ** (k * self.momentum_decay)) for k in (t, t + 1))
        product = state["mu_product"] * mu
        ahead = lr * (1 - mu) * (g / (1 - product)) + lr * coming * (m / (1 - product * coming))
        root = (1 - beta2**t).sqrt()
        return w - ahead / (v.sqrt() / root + self.eps), {"exp_avg": m, "exp_avg_sq": v, "mu_product": product}


class RAdam(Optimizer):
    """Rectified Adam: no division before the mean square is reliable (Liu et al., 2020), as in PyTorch.

    Parameters and errors are those of :class:`NAdam`, without `momentum_decay`. The notes of :class:`Adam` hold.
    """

    state, squares = Adam.state, ("exp_avg_sq",)
    _checks = NAdam._checks

    def __init__(
        self, params: Iterable[Block | Weight], lr: float = 1e-3, betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8, weight_decay: float = 0.0, decoupled_weight_decay: bool = False, *, maximize: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(params, lr)
        self.betas, self.eps, self.weight_decay = betas, eps, weight_decay
        self.decoupled_weight_decay, self.maximize = decoupled_weight_decay, maximize

    def update(self, w: Value, g: Value, state: Mapping[str, Value], lr: Value, t: Value) -> Update:
        """``w -= lr * m_hat`` in the first steps, then ``w -= lr * r * m_hat / (sqrt(v_hat) + eps)`` with r below 1."""
        w, g = _decayed(self, w, g, lr)
        (beta1, beta2), (m, v) = self.betas, _means(self.betas, g, state)
        step, last = lr / (1 - beta1**t) * m, 2 / (1 - beta2) - 1
        if last > 5:  # the length of the mean square's memory, which rho approaches
            rho = last - 2 * t * beta2**t / (1 - beta2**t)
            long = maximum(rho, 5.0)  # for a root of a number above 0
            rectified = ((long - 4) * (long - 2) * last / ((last - 4) * (last - 2) * long) * (1 - beta2**t)).sqrt()
            step = step * where(rho > 5, rectified / (v.sqrt() + self.eps), 1.0)
        return w - step, {"exp_avg": m, "exp_avg_sq": v}


class Adamax(Optimizer):
    """Adam with the largest gradient so far, which fades, in place of the root (Kingma and Ba, 2015), as in PyTorch.

    Parameters, errors and notes are those of :class:`Adam`, without `amsgrad`; `eps` is added to ``abs(g)``.
    """

    state, squares = ("exp_avg", "exp_inf"), ("exp_inf",)
    _checks = Adam._checks

    def __init__(
        self, params: Iterable[Block | Weight], lr: float = 2e-3, betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8, weight_decay: float = 0.0, *, maximize: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(params, lr)
        self.betas, self.eps, self.weight_decay, self.maximize = betas, eps, weight_decay, maximize

    def update(self, w: Value, g: Value, state: Mapping[str, Value], lr: Value, t: Value) -> Update:
        """``w -= lr * m_hat / u`` with ``u = max(beta2 * u, abs(g) + eps)``."""
        g = _downhill(self, w, g)
        beta1, beta2 = self.betas
        m = beta1 * state["exp_avg"] + (1 - beta1) * g
        largest = maximum(beta2 * state["exp_inf"], abs(g) + self.eps)
        return w - lr / (1 - beta1**t) * (m / largest), {"exp_avg": m, "exp_inf": largest}


def _etas(given: Any, what: str) -> tuple[float, float]:
    less, more = _two(given, what, "(0.5, 1.2)")
    return (
        checked_number(less, f"{what}[0]", lambda x: 0 < x < 1, "be > 0 and < 1"),
        checked_number(more, f"{what}[1]", lambda x: 1 < x < math.inf, "be a finite number > 1"),
    )


def _step_sizes(given: Any, what: str) -> tuple[float, float]:
    least, most = _two(given, what, "(1e-6, 50)")
    least = at_least_zero(least, f"{what}[0]")
    return least, finite(most, f"{what}[1]", least)


class Rprop(Optimizer):
    """A step size for each weight, which only the signs of its gradients change (Riedmiller and Braun, 1993).

    As in PyTorch: a weight whose gradient changes its sign waits for one step. Use batches with all samples.

    Parameters
    ----------
    params, maximize
        As for :class:`SGD`.
    lr : float
        The first step size of a weight. It is not used later.
    etas : (float, float)
        Factors of the step size after a change of the sign, and without one: ``0 < etas[0] < 1 < etas[1]``.
    step_sizes : (float, float)
        The smallest and the largest step size, >= 0.

    Raises
    ------
    InputError
        A hyper-parameter is out of its range.
    """

    state, squares = ("prev", "step_size"), ("step_size",)
    _checks: ClassVar[Checks] = {"etas": _etas, "step_sizes": _step_sizes, "maximize": flag}

    def __init__(
        self, params: Iterable[Block | Weight], lr: float = 1e-2, etas: tuple[float, float] = (0.5, 1.2),
        step_sizes: tuple[float, float] = (1e-6, 50.0), *, maximize: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(params, lr)
        self.etas, self.step_sizes, self.maximize = etas, step_sizes, maximize

    def update(self, w: Value, g: Value, state: Mapping[str, Value], lr: Value, t: Value) -> Update:
        """``w -= sign(g) * size``; the size grows while the sign stays."""
        g = -g if self.maximize else g
        same = g * state["prev"]
        factor = where(same > 0, self.etas[1], where(same < 0, self.etas[0], 1.0))
        begun = where(state["step_size"] > 0, state["step_size"], lr)  # 0 before the weight's first step
        size = minimum(maximum(begun * factor, self.step_sizes[0]), self.step_sizes[1])
        g = where(same < 0, 0.0, g)
        return w - ((g > 0) - (g < 0)) * size, {"prev": g, "step_size": size}


RULES: tuple[type[Optimizer], ...] = (
    SGD, Adam, AdamW, RMSprop, Adagrad, NAdam, RAdam, Adamax, Adadelta, Rprop,
)  # fmt: skip
"""Every rule."""
