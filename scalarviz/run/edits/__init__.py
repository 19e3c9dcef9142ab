"""Edits: changes of a run from outside, as data that can be printed, written and read.

Open `base` first: the interface of an edit, and its JSON. The kinds are in `numbers` (of weights and training
settings) and `change` (another model or data, several edits as one). An edit changes a run through `RunAccess` in
`scalarviz.run.editing`.
"""

from .base import Applied, Edit, read_edit, write_edit
from .change import AddSamples, Change, Refill, SetTargets, Several
from .numbers import (
    AddToWeights,
    Call,
    RedrawWeights,
    ScaleWeights,
    SetBatchSize,
    SetEngine,
    SetFrozen,
    SetLimits,
    SetNumbers,
    SetOptimizer,
    SetSampling,
    SetSchedule,
    SetWeights,
    Together,
)

__all__ = [
    "AddSamples", "AddToWeights", "Applied", "Call", "Change", "Edit", "RedrawWeights", "Refill", "ScaleWeights",
    "SetBatchSize", "SetEngine", "SetFrozen", "SetLimits", "SetNumbers", "SetOptimizer", "SetSampling", "SetSchedule",
    "SetTargets", "SetWeights", "Several", "Together", "read_edit", "write_edit",
]  # fmt: skip
