"""From a graph of objects to something that an engine can run: record, simplify, lower."""

from .lower import lower
from .program import Instruction, Plan, Program
from .record import record
from .tape import Node, Tape, Terms

__all__ = ["Instruction", "Node", "Plan", "Program", "Tape", "Terms", "lower", "record"]
