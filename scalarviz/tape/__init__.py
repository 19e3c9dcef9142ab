"""From a graph of objects to something that an engine can run: record, simplify, lower.

Open `trace` first (graph to `tape`), then `lower` (tape to `program`) with its `passes`, `sums` (what is typed with
plain operators) and `ordered` rows (what runs together). `half` rounds a tape to float16. No engine here.
"""

from .half import halved
from .lower import lower, plainly
from .program import Instruction, Plan, Program
from .tape import Node, Table, Tape, Terms, Track
from .trace import trace

__all__ = ["Instruction", "Node", "Plan", "Program", "Table", "Tape", "Terms", "Track", "halved", "lower",
           "plainly", "trace"]  # fmt: skip
