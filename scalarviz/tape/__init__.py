"""From a graph of objects to something that an engine can run: record, simplify, lower.

Open `record` first (graph to `tape`), then `lower` (tape to `program`) with its `passes`, `ordered` rows and
`shared` weights. What is typed with plain operators is read by `typed` and becomes `sums` (`squares`, `neurons`,
`lonely` ones), which run `together`. `gradients` decides which rows get one. No engine here.
"""

from .lower import lower
from .program import Instruction, Plan, Program
from .record import record
from .tape import Node, Table, Tape, Terms, Track

__all__ = ["Instruction", "Node", "Plan", "Program", "Table", "Tape", "Terms", "Track", "lower", "record"]
