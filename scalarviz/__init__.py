"""scalarviz: every weight is an object, and every object is a cube.

A per-parameter scalar autograd library with a 3-D view. See the README for ten lines to start with.
"""

from . import nn, optim
from .errors import ScalarvizError
from .scalar import (
    Value,
    Weight,
    clip,
    cos,
    dot,
    exp,
    gradcheck,
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

__version__ = "0.1.0"

__all__ = [
    "ScalarvizError", "Value", "Weight", "clip", "cos", "dot", "exp", "gradcheck", "leaky_relu", "log", "logsumexp",
    "max", "maximum", "minimum", "nn", "optim", "register", "relu", "sigmoid", "sin", "softplus", "sqrt", "square",
    "sum", "tanh", "where",
]  # fmt: skip
