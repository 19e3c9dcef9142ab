"""Optimisers: rules that turn a weight, its gradient and some state into the weight's next value.

Open `_rules` first: a rule is a function of Values, recorded once. What all share stands in `_optimizer`,
schedules of the learning rate in `lr_scheduler`.
"""

from typing import TYPE_CHECKING, Any

from ..arguments import explain, no_name
from . import lr_scheduler
from ._absent import COMMON, RULES
from ._optimizer import Optimizer
from ._rules import SGD, Adagrad, Adam, AdamW, RMSprop
from ._scheduler import LRScheduler as Schedule

__all__ = [
    "SGD", "Adagrad", "Adam", "AdamW", "Optimizer", "RMSprop", "Schedule", "lr_scheduler",
]  # fmt: skip

for _kind in (SGD, Adagrad, Adam, AdamW, RMSprop):
    explain(_kind, COMMON)

if not TYPE_CHECKING:

    def __dir__() -> list[str]:
        return __all__

    def __getattr__(name: str) -> Any:
        """Say what there is instead of a rule of PyTorch's."""
        raise no_name(__name__, name, __all__, RULES)
