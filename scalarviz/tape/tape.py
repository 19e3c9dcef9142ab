"""`Tape`: a recorded graph as a flat list of nodes. One node is one scalar of the model, and one *row* in an engine.

Each operand comes before the nodes that use it. Parameters are indices into the flat parameter vector *theta* (the
blocks of the tape, one after the other).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from ..scalar.store import Block

Kind = Literal["param", "const", "row"]


@dataclass(frozen=True, slots=True)
class Terms:
    """The weights of a weighted sum: indices into theta, numbers or rows, depending on `kind`."""

    kind: Kind
    weights: tuple[Any, ...] | range
    bias: int | None = None  # index into theta of a parameter that is added
    offset: float = 0.0  # a number that is added


@dataclass(frozen=True, slots=True)
class Table:
    """The parameters that a ``gather`` may read: ``index + k * step`` for ``k`` from 0 to ``rows - 1``."""

    rows: int
    step: int


@dataclass(frozen=True, slots=True)
class Track:
    """A number of theta that follows a row: after a committed step ``(1 - rate) * number + rate * stat``."""

    index: int
    row: int  # of `stat`, which is the same on all lanes; -1: the number counts steps
    rate: float  # NaN: 1 / theta[count], after the count has grown
    # `stat` is a variance over this many numbers per sample; it is multiplied by n / (n - 1), n = batch * positions.
    # 0: no correction
    positions: int
    count: int  # index into theta, or -1


@dataclass(slots=True)
class Node:
    """One scalar. Treat it as immutable: passes make new nodes; creating frozen ones would take three times as long.

    The code is ``"input"``, ``"const"``, ``"param"``, ``"buffer"`` (a number of theta that gets no gradient),
    ``"mask"`` (of dropout), ``"dot"``, ``"max"`` (of three or more), ``"gather"`` (a parameter of a table, chosen
    by the row's number), ``"batch_mean"`` (over all samples), one of ``program.CODES`` (of `number` parameters from
    `index` on), or the name of an operation.
    """

    code: str
    args: tuple[int, ...] = ()  # operand rows; for a dot, its inputs
    # the number of the input (targets and features come after the inputs), the index of the parameter in theta (for a
    # gather, that of table row 0), or the number of the mask (see `scalar.mask.UNITS`)
    index: int = 0
    number: float = 0.0  # the value of a constant; the probability of a zero in a mask
    terms: Terms | None = None  # for a dot
    table: Table | None = None  # for a gather

    def operands(self) -> tuple[int, ...]:
        """Return every row that the node reads."""
        if self.terms is not None and self.terms.kind == "row":
            return (*self.args, *self.terms.weights)
        return self.args


@dataclass(frozen=True, slots=True)
class Tape:
    """A recorded function: its nodes, and the rows of its results."""

    nodes: tuple[Node, ...]
    n_inputs: int  # of one sample; input numbers run over inputs, targets, then features
    n_targets: int
    n_parameters: int
    blocks: tuple[Block, ...] = ()  # the parts of theta, in order
    outputs: tuple[int, ...] = ()
    loss: int | None = None  # of one sample
    taps: tuple[tuple[Any, tuple[int, ...]], ...] = ()  # called modules, and the rows that each returned
    modes: tuple[Any, ...] = ()  # modules that were in training when the recording checked
    tracks: tuple[Track, ...] = ()  # numbers besides the weights that a training step changes, in this order
    fewest: int = 1  # the least samples of a batch
    # for each target that is a class number: its index, the loss that reads it, and the number of classes
    classes: tuple[tuple[int, Any, int], ...] = ()

    def roots(self) -> tuple[int, ...]:
        """Return the rows that every pass must keep."""
        loss = () if self.loss is None else (self.loss,)
        tracked = (track.row for track in self.tracks if track.row >= 0)
        return (*self.outputs, *loss, *(row for _, rows in self.taps for row in rows), *tracked)

    def only(self, *, loss: bool = False, outputs: bool = False, taps: bool = False) -> Tape:
        """Return the tape with only the named roots; lowering removes dead nodes. Tracks stay with the loss."""
        return replace(
            self,
            loss=self.loss if loss else None,
            outputs=self.outputs if outputs else (),
            taps=self.taps if taps else (),
            tracks=self.tracks if loss else (),
        )

    def rewired(self, nodes: list[Node], row_of: Sequence[int]) -> Tape:
        """Return the tape with `nodes` and every root moved to ``row_of[root]``."""
        return replace(
            self,
            nodes=tuple(nodes),
            outputs=tuple(row_of[r] for r in self.outputs),
            loss=None if self.loss is None else row_of[self.loss],
            taps=tuple((module, tuple(row_of[r] for r in rows)) for module, rows in self.taps),
            tracks=tuple(t if t.row < 0 else replace(t, row=row_of[t.row]) for t in self.tracks),
        )

    def __str__(self) -> str:
        counts = Counter(n.code for n in self.nodes)
        found = ", ".join(f"{count} {code}" for code, count in counts.most_common())
        return f"Tape of {len(self.nodes)} nodes ({found}), {self.n_parameters} parameters"


def terms_of(node: Node) -> Terms:
    """Return the terms of a weighted sum."""
    assert node.terms is not None
    return node.terms


def weights_at(nodes: Sequence[Node], rows: Sequence[int]) -> tuple[Kind, tuple[Any, ...]]:
    """Return the kind of weights that these rows make in a sum (parameters, constants or rows), and the weights."""
    found = [nodes[row] for row in rows]
    if all(node.code == "param" for node in found):
        return "param", tuple(node.index for node in found)
    if all(node.code == "const" for node in found):
        return "const", tuple(node.number for node in found)
    return "row", tuple(rows)


Memo = dict[int, tuple[int, ...]]


def moved(node: Node, row_of: Sequence[int], memo: Memo) -> Node:
    """Return `node` with its operand rows renamed.

    `memo` caches renamed operand tuples, so that the rows of a layer still share one tuple.
    """
    args, terms = node.args, node.terms
    if len(args) == 2 and terms is None:
        a, b = args
        return Node(node.code, (row_of[a], row_of[b]), node.index, node.number)
    if not args:
        return node
    if terms is not None and terms.kind == "row":
        terms = replace(terms, weights=tuple([row_of[r] for r in terms.weights]))
    renamed = memo.get(id(args))
    if renamed is None:
        renamed = tuple([row_of[r] for r in args])
        if len(args) > 2:
            memo[id(args)] = renamed
    return Node(node.code, renamed, node.index, node.number, terms, node.table)
