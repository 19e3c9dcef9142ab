"""Edits: whatever changes a run from outside, as data that prints, writes and reads.

Open `base` first: what an edit is, and the hands that it works with. The kinds stand in `weights`, `training` and
`data`; `written` is their JSON.
"""

from .applied import Applied
from .base import Edit
from .data import AddSamples, Refill, SetTargets
from .training import Call, SetBatchSize, SetEngine, SetOptimizer
from .weights import AddToWeights, SetFrozen, SetWeights
from .written import read_edit, write_edit

__all__ = [
    "AddSamples", "AddToWeights", "Applied", "Call", "Edit", "Refill", "SetBatchSize", "SetEngine", "SetFrozen",
    "SetOptimizer", "SetTargets", "SetWeights", "read_edit", "write_edit",
]  # fmt: skip
