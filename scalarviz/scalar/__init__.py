"""Scalars as objects: the operations, `Value`, `Weight` and the flat store behind them.

Open `ops` first: the one table of formulas and derivatives. `emit` translates it, `kernel` makes Python of it, `value`
and `weight` are the objects, `store` holds the numbers. Nothing here knows of batches.
"""

from . import ops
from .functions import (
    abs,
    add,
    clip,
    cos,
    div,
    exp,
    function,
    leaky_relu,
    log,
    log_softmax,
    logsumexp,
    max,
    maximum,
    mean,
    min,
    minimum,
    mul,
    neg,
    pow,
    register,
    relu,
    sigmoid,
    sin,
    softmax,
    softplus,
    sqrt,
    square,
    sub,
    sum,
    tanh,
    where,
)  # fmt: skip
from .gradcheck import GradCheck, gradcheck
from .store import Block, Store
from .sums import dot
from .tracing import no_grad
from .value import Value
from .weight import Weight

__all__ = [
    "Block", "GradCheck", "Store", "Value", "Weight", "abs", "add", "clip", "cos", "div", "dot", "exp", "function",
    "gradcheck", "leaky_relu", "log", "log_softmax", "logsumexp", "max", "maximum", "mean", "min", "minimum", "mul",
    "neg", "no_grad", "ops", "pow", "register", "relu", "sigmoid", "sin", "softmax", "softplus", "sqrt", "square",
    "sub", "sum", "tanh", "where",
]  # fmt: skip
