"""Edits: whatever changes a run from outside, as data that prints, writes and reads.

Open `base` first: what an edit is, and the hands that it works with. The kinds stand in `weights`, `training` and
`data`, those of many weights in `selections` and `numbers`, several of any kind in `several`; `written` is their JSON.
"""

from .applied import Applied
from .base import Edit
from .change import Change
from .data import AddSamples, Refill, SetTargets
from .numbers import SetNumbers
from .selections import RedrawWeights, ScaleWeights, Together
from .several import Several
from .training import Call, SetBatchSize, SetEngine, SetLimits, SetOptimizer, SetSampling, SetSchedule
from .weights import AddToWeights, SetFrozen, SetWeights
from .written import read_edit, write_edit

__all__ = [
    "AddSamples", "AddToWeights", "Applied", "Call", "Change", "Edit", "RedrawWeights", "Refill", "ScaleWeights",
    "SetBatchSize", "SetEngine", "SetFrozen", "SetLimits", "SetNumbers", "SetOptimizer", "SetSampling", "SetSchedule",
    "SetTargets", "SetWeights", "Several", "Together", "read_edit", "write_edit",
]  # fmt: skip
