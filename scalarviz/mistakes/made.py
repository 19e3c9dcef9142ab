"""The mistakes; `walking` and the functions below them make the changes."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import contextmanager
from functools import wraps
from threading import get_ident
from typing import Any

import numpy as np

from ..arguments import explained
from ..checks import one_of, text
from ..nn import init
from ..nn._module import Module
from ..optim import Adam, Optimizer
from ..run.core.optimizer import Given, LossScale
from ..scalar import Value, Weight, mistaken, ops
from ..scalar.store import Block as Numbers
from .block import Block
from .engines import Patch
from .walking import LEAVES, WALK


@explained(name="mistakes.overwrite")
def overwrite() -> Block:
    """A gradient replaces the old one: ``parent.grad = ...`` instead of ``+=``.

    For ``b = a + a`` only one of the two paths counts: ``a.grad`` is 1. Of several backward calls only the last counts.

    Examples
    --------
    >>> a = Value(3.0)
    >>> with overwrite():
    ...     (a + a).backward()
    >>> a.grad
    1.0
    """
    return Block("overwrite", (WALK, *LEAVES))


@explained(name="mistakes.wrong_order")
def wrong_order(order: str = "oldest") -> Block:
    """Nodes pass their gradients on before they are complete.

    Parameters
    ----------
    order : {"oldest", "found"}
        ``"oldest"``: from the oldest node to the youngest, in the order of the forward pass ("forgot reversed").
        ``"found"``: each node as soon as one of its users was visited: wrong if a short and a long path meet.

    Raises
    ------
    InputError
        There is no such order.

    Examples
    --------
    >>> a = Value(3.0)
    >>> b = a + a
    >>> with wrong_order():
    ...     (b + b).backward()
    >>> a.grad
    0.0
    """
    name = one_of(order, ("oldest", "found"), "mistakes.wrong_order: order")
    return Block("wrong_order", (WALK,), "" if name == "oldest" else name)


@explained(name="mistakes.missing_factor")
def missing_factor(op: str | None = None) -> Block:
    """Operations pass the upstream gradient on without their own slope.

    Parameters
    ----------
    op : str, optional
        The operation, such as ``"square"`` (also written ``x ** 2`` or ``x * x``); default: all activations. A block
        that meets none warns when it ends.

    Raises
    ------
    UnknownNameError
        There is no such operation.

    Examples
    --------
    >>> x = Value(3.0)
    >>> with missing_factor("square") as mistake:
    ...     ((x - 1) ** 2).backward()
    >>> x.grad
    1.0
    >>> print(mistake)
    missing_factor (square): touched 1 operation
    """
    return Block("missing_factor", (WALK,), "" if op is None else ops.get(text(op, "mistakes.missing_factor: op")).name)


@explained(name="mistakes.no_zero_grad")
def no_zero_grad() -> Block:
    """``zero_grad()`` of weights, modules and optimisers does nothing: the gradients of all steps add up.

    ``w.grad = 0.0`` still clears the gradient.

    Examples
    --------
    >>> w = Weight(3.0)
    >>> with no_zero_grad():
    ...     for _ in range(2):
    ...         w.zero_grad()
    ...         (w * 2).backward()
    >>> w.grad
    4.0
    """
    return Block("no_zero_grad", _CLEARING)


@explained(name="mistakes.symmetric_init")
def symmetric_init() -> Block:
    """Layers that are made or initialised inside start with one number for all weights of a tensor.

    All units of such a layer compute the same, get the same gradient, and stay equal. A Run of the network may be made
    and trained inside the block too; when it restarts, it uses this mistake again.
    """
    return Block("symmetric_init", (_APPLY,), refuses=False)


@explained(name="mistakes.no_bias_correction")
def no_bias_correction() -> Block:
    """Adam uses its running means without bias correction: they start at 0, so the first steps have a wrong size."""
    return Block("no_bias_correction", (_STEP, _MOMENTS))


@explained(name="mistakes.no_loss_scale")
def no_loss_scale() -> Block:
    """A float16 Run that is made inside has a loss scale of 1: gradients below 6e-8 are rounded to 0.

    More and more weights stop while the loss is small. The Run may be trained inside the block too. Only a dynamic loss
    scale is affected, not ``loss_scale=1024``.
    """
    return Block("no_loss_scale", (_SCALE,), refuses=False)


# ---- clearing gradients


def _not_cleared(owner: Any) -> Patch:
    own: Callable[[Any], None] = vars(owner)["zero_grad"]

    @wraps(own)
    def zero_grad(self: Any) -> None:
        mistake = mistaken.current("no_zero_grad")
        if mistake is None:
            own(self)
        else:
            mistake.touched.append(1)

    return Patch(owner, "zero_grad", own, zero_grad)


_CLEARING = tuple(_not_cleared(owner) for owner in (Weight, Numbers, Module, Optimizer))

# ---- initial weights


class _Symmetric:
    """An initialiser that fills a tensor with its first number."""

    def __init__(self, rule: init.Function) -> None:
        self.rule = rule

    def __call__(self, shape: init.Shape, *fans: Any) -> Any:
        return _level(self.rule(shape, *fans))

    def bias(self, shape: init.Shape, *fans: Any) -> Any:
        """Return equal biases."""
        own = getattr(self.rule, "bias", None)
        return np.zeros(shape) if own is None else _level(own(shape, *fans))

    def __repr__(self) -> str:
        return f"symmetric({self.rule!r})"


def _level(drawn: Any) -> Any:
    numbers = np.asarray(drawn)
    return np.full(numbers.shape, numbers.flat[0]) if numbers.size else numbers


_apply = init.apply


@wraps(_apply)
def _symmetric_apply(module: Any, initializer: Any = None, seed: int | None = 0) -> None:
    mistake = mistaken.current("symmetric_init")
    if mistake is not None and (initializer is None or callable(initializer)):
        initializer = _Symmetric(init.pytorch_default() if initializer is None else initializer)
        mistake.touched.append(len(list(module.parameters())))
    _apply(module, initializer, seed)


_APPLY = Patch(init, "apply", _apply, _symmetric_apply)

# ---- half precision

_scale_init = LossScale.__init__


@wraps(_scale_init)
def _unscaled(self: LossScale, given: Given) -> None:
    mistake = mistaken.current("no_loss_scale")
    forgotten = given in (None, "dynamic") and mistake is not None
    if mistake is not None and forgotten:
        mistake.touched.append(1)
    _scale_init(self, 1 if forgotten else given)


_SCALE = Patch(LossScale, "__init__", _scale_init, _unscaled)

# ---- Adam in a hand-written loop

_stepping: set[int] = set()
"""Threads in a step by hand. A Run records the same rule for its engine, which must stay correct."""
_own_step, _own_moments = Optimizer.step, Adam._moments


@contextmanager
def _in_step() -> Any:
    me = get_ident()
    _stepping.add(me)
    try:
        yield
    finally:
        _stepping.discard(me)


@wraps(_own_step)
def _step(self: Optimizer, closure: Any = None) -> Any:
    if mistaken.current("no_bias_correction") is None:
        return _own_step(self, closure)
    with _in_step():
        return _own_step(self, closure)


@wraps(_own_moments)
def _moments(self: Adam, w: Value, g: Value, state: Any, lr: Value, t: Value) -> Any:
    mistake = mistaken.current("no_bias_correction")
    if mistake is not None and get_ident() in _stepping:
        mistake.touched.append(1)
        t = Value(_LATE)
    return _own_moments(self, w, g, state, lr, t)


_LATE = 1e9
"""A step number at which the correction is 1: beta**t is 0."""
_STEP = Patch(Optimizer, "step", _own_step, _step)
_MOMENTS = Patch(Adam, "_moments", _own_moments, _moments)
