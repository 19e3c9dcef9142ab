"""Scalars as objects: the operations, `Value`, `Weight` and the flat store behind them.

Read `ops` first: the one table of formulas and derivatives. `emit` translates it and `kernel` turns it into Python.
`value` and `weight` are the objects, `store` holds the numbers. Nothing here knows batches.
"""

from . import ops
from .functions import clip, function, max, maximum, min, minimum, register, where
from .store import Block
from .sums import dot
from .value import Value
from .weight import Weight

__all__ = [
    "Block", "Value", "Weight", "clip", "dot", "function", "max", "maximum", "min", "minimum", "ops", "register",
    "where",
]  # fmt: skip
