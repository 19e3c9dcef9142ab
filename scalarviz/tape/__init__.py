"""From a graph of objects to something that an engine can run: record, simplify, lower.

Open `record` first (graph to `tape`), then `lower` (tape to `program`) with its `passes`, `sums` (what is typed with
plain operators) and `ordered` rows (what runs together). No engine here.
"""

from .lower import lower
from .program import Instruction, Plan, Program
from .record import record
from .tape import Node, Table, Tape, Terms, Track

__all__ = ["Instruction", "Node", "Plan", "Program", "Table", "Tape", "Terms", "Track", "lower", "record"]
