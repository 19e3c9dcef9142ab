"""From a graph of objects to a program that an engine can run: record, simplify, lower.

Read `trace` first (from graph to `tape`), then `lower` (from tape to `program`). `lower` uses `passes` and `sums`
(finds weighted sums in plain operators), and puts rows that run together side by side. `half` rounds a tape to float16.
This folder has no engine.
"""

from .half import CHOOSING, halved
from .lower import lower, lower_unfused
from .program import Instruction, Plan, Program
from .tape import Node, Table, Tape, Terms, Track
from .trace import trace

__all__ = ["CHOOSING", "Instruction", "Node", "Plan", "Program", "Table", "Tape", "Terms", "Track", "halved", "lower",
           "lower_unfused", "trace"]  # fmt: skip
