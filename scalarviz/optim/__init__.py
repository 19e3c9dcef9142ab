"""Optimisers: rules that turn a weight, its gradient and some state into the weight's next value.

Read `_rules` first: a rule is a function of Values, recorded once. `_optimizer` holds the shared base,
`_pace` the base of the schedules, and `lr_scheduler` the schedules.
"""

from typing import TYPE_CHECKING

from ..arguments import explain, module_names
from . import lr_scheduler
from ._optimizer import Optimizer
from ._pace import LRScheduler as Schedule
from ._rules import RULES, SGD, Adadelta, Adagrad, Adam, Adamax, AdamW, NAdam, RAdam, RMSprop, Rprop

__all__ = ["SGD", "Adadelta", "Adagrad", "Adam", "AdamW", "Adamax", "NAdam", "Optimizer", "RAdam", "RMSprop", "Rprop",
           "Schedule", "lr_scheduler"]  # fmt: skip

_SPEED = "every engine already takes its fastest step; omit the argument"
_ABSENT = {
    "decoupled_weight_decay": "take AdamW, NAdam or RAdam",
    "foreach": _SPEED,
    "fused": _SPEED,
    "capturable": _SPEED,
    "differentiable": "a step is never part of the graph; omit differentiable",
    "learning_rate": "use lr",
}
"""PyTorch's arguments that the rules lack, with advice. They raise an error and are never ignored."""

_OWN = "use Adam, SGD or another optimiser of scalarviz.optim, or write a subclass of optim.Optimizer with update()"
_RULES = {
    **dict.fromkeys(("ASGD", "Adafactor", "LBFGS", "Lion", "Muon", "SparseAdam"), _OWN),
    **{name: f"use optim.lr_scheduler.{name}" for name in lr_scheduler.__all__},
}
"""PyTorch's rules that this package lacks, with advice."""

for _kind in RULES:
    explain(_kind, _ABSENT)

if not TYPE_CHECKING:
    __dir__, __getattr__ = module_names(__name__, __all__, _RULES)
