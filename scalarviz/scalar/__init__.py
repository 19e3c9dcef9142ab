"""Scalars as objects: the operations, `Value`, `Weight` and the flat store behind them."""

from . import ops
from .dot import dot
from .functions import (
    absolute,
    clip,
    cos,
    exp,
    function,
    leaky_relu,
    log,
    logsumexp,
    max,
    maximum,
    minimum,
    register,
    relu,
    sigmoid,
    sin,
    softplus,
    sqrt,
    square,
    sum,
    tanh,
    where,
)  # fmt: skip
from .gradcheck import GradCheck, gradcheck
from .store import Block, Store
from .value import Value
from .weight import Weight

__all__ = [
    "Block", "GradCheck", "Store", "Value", "Weight", "absolute", "clip", "cos", "dot", "exp", "function",
    "gradcheck", "leaky_relu", "log", "logsumexp", "max", "maximum", "minimum", "ops", "register", "relu",
    "sigmoid", "sin", "softplus", "sqrt", "square", "sum", "tanh", "where",
]  # fmt: skip
