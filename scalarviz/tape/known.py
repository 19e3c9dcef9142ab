"""What was made of a graph before is given again: a thousand runs of one network lower one, and encode one."""

from __future__ import annotations

import marshal
import threading
from collections import OrderedDict
from typing import Generic, TypeVar

from ..scalar.ops import TABLE
from .tape import Node, Tape

K = TypeVar("K")
V = TypeVar("V")

SMALL = 2000
"""Nodes of the largest graph that is kept; who makes a larger one makes few."""
MOST = 32


class Kept(Generic[K, V]):
    """The last `MOST` things that were made, by what they were made of. Threads may share it."""

    def __init__(self) -> None:
        self._there: OrderedDict[K, V] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: K) -> V | None:
        """What was kept, or None."""
        with self._lock:
            if key in self._there:
                self._there.move_to_end(key)
            return self._there.get(key)

    def put(self, key: K, made: V) -> V:
        """Keep something; what was not asked for longest goes. Returns it."""
        with self._lock:
            self._there[key] = made
            self._there.move_to_end(key)
            if len(self._there) > MOST:
                self._there.popitem(last=False)
        return made


def content_of(tape: Tape) -> bytes | None:
    """All that a plan is made of, bit by bit (0.0 is not -0.0); None of a graph that is large, or odd.

    What modules the taps are of is no part of it, only where they are.
    """
    if len(tape.nodes) > SMALL:
        return None
    said = (
        [_node(node) for node in tape.nodes], [TABLE[code].expressions() for code in _operations(tape)],
        tape.n_inputs, tape.n_targets, tape.n_parameters, tape.outputs, tape.loss, [rows for _, rows in tape.taps],
        [(t.index, t.row, t.rate, t.positions, t.count) for t in tape.tracks], tape.fewest,
    )  # fmt: skip
    try:
        return marshal.dumps(said, 2)  # of a later version the bytes would depend on which objects are the same
    except ValueError:  # a number of a kind of its own
        return None


def _operations(tape: Tape) -> list[str]:
    """Operations of the table, whose formulas may be registered anew."""
    return sorted({node.code for node in tape.nodes} & TABLE.keys())


def _node(node: Node) -> tuple[object, ...]:
    terms, table = node.terms, node.table
    if terms is None and table is None:
        return node.code, node.args, node.index, node.number
    weights = () if terms is None else terms.weights
    told = (weights.start, weights.stop, weights.step) if isinstance(weights, range) else weights
    return (
        node.code, node.args, node.index, node.number,
        None if terms is None else (terms.kind, isinstance(weights, range), told, terms.bias, terms.offset),
        None if table is None else (table.rows, table.step),
    )  # fmt: skip
