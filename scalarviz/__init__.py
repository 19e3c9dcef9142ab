"""scalarviz: every weight is an object, and every object is a cube.

A per-parameter scalar autograd library with a 3-D view. See the README for ten lines to start with.
"""

from importlib import import_module
from types import ModuleType

from . import nn, optim
from .errors import ScalarvizError
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
)
from .tape import record

__version__ = "0.1.0"

__all__ = [
    "Run", "ScalarvizError", "Scene", "Value", "Weight", "abs", "add", "clip", "cos", "div", "dot", "exp", "gradcheck",
    "leaky_relu", "log", "logsumexp", "max", "maximum", "minimum", "mul", "neg", "nn", "optim", "pow",
    "record", "register", "relu", "sigmoid", "sin", "softplus", "sqrt", "square", "sub", "sum", "tanh", "view", "where",
]  # fmt: skip


def __getattr__(name: str) -> ModuleType:
    """Load ``sv.view`` when it is first used: it needs vispy, training does not."""
    if name == "view":
        return import_module(".view", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
