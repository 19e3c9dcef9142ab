"""Schedules of the learning rate, with PyTorch's names and arguments.

Read `_scheduler` first: a schedule gives the rates after a number of its steps. `_schedules` holds those with one
formula and `LambdaLR`; `_plateau` holds those that depend on more. `_pace` stores the rates of an optimiser.

Examples
--------
>>> from scalarviz import nn, optim
>>> optimizer = optim.SGD(nn.Linear(2, 1).parameters(), lr=0.1)
>>> schedule = optim.lr_scheduler.StepLR(optimizer, step_size=2, gamma=0.5)
>>> for _ in range(3):
...     optimizer.step(); schedule.step()
>>> optimizer.lr
0.05
"""

from typing import TYPE_CHECKING

from ..arguments import explain, module_names
from ._plateau import ReduceLROnPlateau, SequentialLR
from ._scheduler import LRScheduler, Standing
from ._schedules import CosineAnnealingLR, ExponentialLR, LambdaLR, LinearLR, MultiStepLR, OneCycleLR, StepLR

__all__ = [
    "CosineAnnealingLR", "ExponentialLR", "LRScheduler", "LambdaLR", "LinearLR", "MultiStepLR", "OneCycleLR",
    "ReduceLROnPlateau", "SequentialLR", "Standing", "StepLR",
]  # fmt: skip

_ABSENT = {"verbose": "run.lr and get_last_lr() give the rates"}

for _kind in map(globals().__getitem__, __all__):
    if issubclass(_kind, LRScheduler) and _kind is not LRScheduler:  # Python checks users' schedules itself
        explain(_kind, _ABSENT)

_OWN = "use LambdaLR for any function of the count, SequentialLR to chain schedules"
_SCHEDULES = dict.fromkeys(
    ("ChainedScheduler", "ConstantLR", "CosineAnnealingWarmRestarts", "CyclicLR", "MultiplicativeLR", "PolynomialLR"),
    _OWN,
)
"""PyTorch's schedules that are missing here, with advice."""

if not TYPE_CHECKING:
    __dir__, __getattr__ = module_names(__name__, __all__, _SCHEDULES)
