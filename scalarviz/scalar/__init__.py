"""Scalars as objects: the operations, `Value`, `Weight` and the flat store behind them.

Open `ops` first: the one table of formulas and derivatives. `emit` translates it, `kernel` makes Python of it, `value`
and `weight` are the objects, `walk` goes through a graph, `store` holds the numbers. Nothing here knows of batches.
"""

from . import ops
from . import ufuncs as ufuncs  # gives Value its answers to NumPy
from .dot import dot
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
    softplus,
    sqrt,
    square,
    sub,
    sum,
    tanh,
    where,
)  # fmt: skip
from .gradcheck import GradCheck, gradcheck
from .no_grad import no_grad
from .softmax import log_softmax, softmax
from .store import Block, Store
from .value import Value
from .weight import Weight

__all__ = [
    "Block", "GradCheck", "Store", "Value", "Weight", "abs", "add", "clip", "cos", "div", "dot", "exp", "function",
    "gradcheck", "leaky_relu", "log", "log_softmax", "logsumexp", "max", "maximum", "mean", "min", "minimum", "mul",
    "neg", "no_grad", "ops", "pow", "register", "relu", "sigmoid", "sin", "softmax", "softplus", "sqrt", "square",
    "sub", "sum", "tanh", "where",
]  # fmt: skip
