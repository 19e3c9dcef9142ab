"""The names that people type: ``sv.Value``, ``sv.Run``, ``sv.nn`` ... Loaded when the first of them is asked for."""

from . import nn, optim
from .errors import ScalarvizError
from .nn._gather import gather
from .run import Run, Scene
from .scalar import (
    Value,
    Weight,
    abs,
    add,
    clip,
    cos,
    div,
    dot,
    exp,
    gradcheck,
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
    no_grad,
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
)
from .tape import record

__all__ = [
    "Run", "ScalarvizError", "Scene", "Value", "Weight", "abs", "add", "clip", "cos", "div", "dot", "exp", "gather",
    "gradcheck", "leaky_relu", "log", "logsumexp", "max", "maximum", "mean", "min", "minimum", "mul", "neg", "nn",
    "no_grad", "optim", "pow", "record", "register", "relu", "sigmoid", "sin", "softmax", "softplus", "sqrt", "square",
    "sub", "sum", "tanh", "where",
]  # fmt: skip
