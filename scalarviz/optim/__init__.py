"""Optimisers: rules that turn a weight, its gradient and some state into the weight's next value.

Open `_sgd` first: a rule is a function of Values, recorded once. What all share stands in `_optimizer`,
schedules of the learning rate in `lr_scheduler`.
"""

from typing import TYPE_CHECKING, Any

from ..arguments import explain, no_name
from . import lr_scheduler
from ._absent import COMMON, RULES
from ._adagrad import Adagrad
from ._adam import Adam, AdamW
from ._described import described, remade
from ._given import at_least_zero, held_by
from ._grouping import GroupNumbers
from ._holding import holding
from ._optimizer import Optimizer, overrides_step
from ._pace import Pace, PaceMoment, Schedule
from ._rmsprop import RMSprop
from ._sgd import SGD

__all__ = [
    "SGD", "Adagrad", "Adam", "AdamW", "GroupNumbers", "Optimizer", "Pace", "PaceMoment", "RMSprop", "Schedule",
    "at_least_zero", "described", "held_by", "holding", "lr_scheduler", "overrides_step", "remade",
]  # fmt: skip

for _kind in (SGD, Adagrad, Adam, AdamW, RMSprop):
    explain(_kind, COMMON)

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        """Say what there is instead of a rule of PyTorch's."""
        raise no_name(__name__, name, __all__, RULES)
