"""Edits: whatever changes a run from outside, as data that prints, writes and reads.

Open `base` first: what an edit is, what it may do, and its JSON. The kinds stand in `numbers` (of weights, of how the
run trains) and `change` (another model or data, several edits as one). `RunHands` in `scalarviz.run.editing` is how an
edit reaches into a run.
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
