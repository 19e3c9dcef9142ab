"""Optimisers: rules that turn a weight, its gradient and some state into the weight's next value.

Open `_sgd` first: a rule is a function of Values, recorded once. What all share stands in `_optimizer`.
"""

from ..arguments import explain
from ._absent import COMMON
from ._adam import Adam, AdamW
from ._holding import holding
from ._optimizer import Optimizer, overrides_step
from ._sgd import SGD

__all__ = ["SGD", "Adam", "AdamW", "Optimizer", "holding", "overrides_step"]

for _kind in (SGD, Adam, AdamW):
    explain(_kind, COMMON)
