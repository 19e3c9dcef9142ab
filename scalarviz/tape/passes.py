"""Passes: functions from tape to tape. Each keeps the meaning and makes the tape cheaper to run.

* Neurons whose objects store weights and bias side by side become a layer. Each row of weights ends (or begins) with
  its bias, so a row of ones becomes one more operand.
* Layers written as ``x @ W + b`` with W of shape (inputs, outputs) have sums that read columns of a matrix. They run
  together if their biases become weights of a row of ones. Engines may find the matrix again (``cpu/encode/sums``).
* The nodes of an `MSELoss` become one node.
* Which rows get a gradient is decided here, once. Every engine follows :attr:`Program.needs_gradient`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from enum import IntEnum
from itertools import islice
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..scalar.functions import MAX
from ..scalar.kernel import Kernel, kernel
from .program import CODES
from .tape import Memo, Node, Tape, Terms, moved, terms_of, weights_at


class Needs(IntEnum):
    """The dependence of a node; it decides how often the node must be computed."""

    NOTHING = 0  # constants only: once
    PARAMETERS = 1  # parameters only: once per step
    INPUTS = 2  # inputs only (frequency encodings): once per data set
    BOTH = 3  # for each sample and step


def rebuild(tape: Tape, changed: dict[int, Node]) -> Tape:
    """Return the tape with some nodes replaced, and without nodes that no root needs.

    A replacement may read only rows before the node that it replaces.
    """
    nodes: Sequence[Node] = tape.nodes
    if changed:
        nodes = [changed.get(row, node) for row, node in enumerate(nodes)]
    alive = needed(nodes, tape.roots())
    first = alive.find(0)  # rows before this one keep their numbers
    if first < 0:
        return replace(tape, nodes=tuple(nodes)) if changed else tape
    kept = list(nodes[:first])
    row_of = list(range(first))
    memo: Memo = {}
    for node, lives in zip(islice(nodes, first, None), islice(alive, first, None), strict=True):
        row_of.append(len(kept))
        if lives:
            kept.append(moved(node, row_of, memo))
    return tape.rewired(kept, row_of)


def needed(nodes: Sequence[Node], roots: Iterable[int]) -> bytearray:
    """Return a 1 for each row that `roots` depend on, and for the roots."""
    alive = bytearray(len(nodes))
    for root in roots:
        alive[root] = 1
    seen: set[int] = set()  # the rows of a layer share one tuple of operands
    for row in range(len(nodes) - 1, -1, -1):
        if not alive[row]:
            continue
        node = nodes[row]
        args = node.args
        if len(args) > 2 or node.terms is not None:
            if id(args) in seen and _plain(node):
                continue
            seen.add(id(args))
            args = node.operands()
        for arg in args:
            alive[arg] = 1
    return alive


def readers_of(tape: Tape) -> list[int]:
    """Return the number of readers of each row, roots included; a shared operand tuple counts as two readers."""
    count = [0] * len(tape.nodes)
    for row in tape.roots():
        count[row] += 1
    shared: dict[int, int] = {}
    for node in tape.nodes:
        args = node.args
        if len(args) > 2 or node.terms is not None:
            times = shared.get(id(args), 0) + 1
            shared[id(args)] = times
            if times > 2 and _plain(node):
                continue
            args = node.operands()
        for row in args:
            count[row] += 1
    return count


def spliced(tape: Tape, changed: dict[int, Node], made: Sequence[Node], before: Mapping[int, Sequence[int]]) -> Tape:
    """Rebuild a tape like :func:`rebuild`, with new rows: ``made[k]`` is row ``len(tape.nodes) + k``.

    New rows come before the old rows that `before` names, in its order. New rows and replacements may read earlier
    ones.
    """
    count = len(tape.nodes)
    order: list[int] = []
    for row in range(count):
        order.extend(before.get(row, ()))
        order.append(row)
    row_of = [0] * len(order)
    for place, row in enumerate(order):
        row_of[row] = place
    memo: Memo = {}
    nodes = [
        moved(changed.get(row, tape.nodes[row]) if row < count else made[row - count], row_of, memo) for row in order
    ]
    return rebuild(tape.rewired(nodes, row_of), {})


def share_operands(tape: Tape) -> Tape:
    """Return the tape with one operand tuple for all sums over the same rows, so that later passes visit it once."""
    known: dict[tuple[int, ...], tuple[int, ...]] = {}
    same: dict[int, tuple[int, ...]] = {}  # most sums already share one
    nodes = list(tape.nodes)
    for row, node in enumerate(nodes):
        if node.terms is None:
            continue
        args = same.get(id(node.args))
        if args is None:
            args = same[id(node.args)] = known.setdefault(node.args, node.args)
        if args is not node.args:
            nodes[row] = Node(node.code, args, node.index, node.number, node.terms)
    return replace(tape, nodes=tuple(nodes))


def needs(tape: Tape) -> list[Needs]:
    """Return the dependence of each node."""
    found: list[int] = []
    known: dict[int, int] = {}  # results for operand tuples that several nodes share
    inputs, parameters = int(Needs.INPUTS), int(Needs.PARAMETERS)
    for node in tape.nodes:
        own = 0
        if node.code == "input":
            own = inputs
        elif node.code in ("mask", "batch_mean"):
            own = inputs | parameters  # differs at every step, so it cannot be computed in advance
        elif node.code == "buffer" or reads_parameters(node):
            own = parameters
        if node.args:
            below = known.get(id(node.args)) if _plain(node) else None
            if below is None:
                below = 0
                for row in node.operands():
                    below |= found[row]
                if _plain(node):
                    known[id(node.args)] = below
            own |= below
        found.append(own)
    names = list(Needs)
    return [names[number] for number in found]


def _plain(node: Node) -> bool:
    """Return whether the node reads only its ``args``."""
    return node.terms is None or node.terms.kind != "row"


def reads_theta(terms: Terms) -> bool:
    """Return whether a weighted sum has a parameter among its weights, or as its bias."""
    return terms.bias is not None or terms.kind == "param"


def reads_parameters(node: Node) -> bool:
    """Return whether a node itself reads parameters, not through its operands."""
    direct = node.code in ("param", "gather") or node.code in CODES
    return direct or (node.terms is not None and reads_theta(node.terms))


def kernel_of(node: Node) -> Kernel:
    """Return the kernel of a node with the code of an operation or ``"max"``."""
    return MAX if node.code == "max" else kernel(node.code)


def fold_constants(tape: Tape) -> Tape:
    """Return the tape with nodes of constants computed; ``x ** 2`` becomes a square."""
    numbers: dict[int, float] = {}
    changed: dict[int, Node] = {}
    for row, node in enumerate(tape.nodes):
        if node.code == "const":
            numbers[row] = node.number
        elif node.code in ("input", "param", "buffer", "mask", "dot") or node.code in CODES:
            continue
        elif node.code == "gather":
            if node.args[0] in numbers:
                found = changed[row] = _gathered(node, numbers[node.args[0]])
                if found.code == "const":
                    numbers[row] = found.number
        elif node.code == "batch_mean":
            if node.args[0] in numbers:
                numbers[row] = numbers[node.args[0]]
                changed[row] = Node("const", number=numbers[row])
        elif node.args[0] in numbers and all(a in numbers for a in node.args):
            numbers[row] = kernel_of(node).value(*(numbers[a] for a in node.args))
            changed[row] = Node("const", number=numbers[row])
        elif node.code == "pow" and numbers.get(node.args[1]) == 2.0:
            changed[row] = Node("square", node.args[:1])
    return rebuild(tape, changed)


def _gathered(node: Node, number: float) -> Node:
    """Return the node of a gather with a constant id: the parameter, or NaN if the table does not have that row."""
    table = node.table
    assert table is not None
    if not (0 <= number < table.rows and number == int(number)):
        return Node("const", number=math.nan)
    return Node("param", index=node.index + int(number) * table.step)


def plain_dots(tape: Tape) -> Tape:
    """Return the tape with the cheapest kind for every dot: parameters or constants as weights, if possible.

    A dot is symmetric, so its inputs may become the weights. Neighbouring parameters become a range.
    """
    changed = {}
    for row, node in enumerate(tape.nodes):
        if node.terms is not None and node.terms.kind == "param" and isinstance(node.terms.weights, tuple):
            span = as_range(node.terms.weights)
            if isinstance(span, range):
                changed[row] = replace(node, terms=replace(node.terms, weights=span))
        if node.terms is not None and node.terms.kind == "row":
            sides = (tuple(node.terms.weights), node.args)
            for weights, xs in (sides, sides[::-1]):
                kind, found = weights_at(tape.nodes, weights)
                if kind != "row":
                    own = as_range(found) if kind == "param" else found
                    changed[row] = replace(node, args=xs, terms=replace(node.terms, kind=kind, weights=own))
                    break
    return rebuild(tape, changed) if changed else tape


def as_range(weights: Sequence[int]) -> tuple[int, ...] | range:
    """Return indices that count up by one as a range, which may be a row of a layer; other indices as a tuple."""
    span = range(weights[0], weights[0] + len(weights)) if weights else range(0)
    return span if weights and all(a == b for a, b in zip(weights, span, strict=True)) else tuple(weights)


FEW = 8
"""Operand tuples up to this length are compared by value, longer ones by identity."""


Without = tuple[int, tuple[int, ...], tuple[Any, ...] | range]
"""The row of a sum, and its operands and weights, which include the bias."""


def without_biases(tape: Tape, sums: Iterable[Without]) -> Tape:
    """Return the tape with these sums; an operand ``len(tape.nodes)`` is a row of ones."""
    changed = {}
    for row, args, weights in sums:
        node = tape.nodes[row]
        changed[row] = replace(node, args=args, terms=replace(terms_of(node), weights=weights, bias=None))
    made = [Node("const", number=1.0)]
    return spliced(tape, changed, made, {0: [len(tape.nodes)]}) if changed else tape


def neurons(tape: Tape) -> Iterator[Without]:
    """Yield sums over the same rows, with biases beside weights, as a layer without biases."""
    one = len(tape.nodes)
    for first, rows in _layers(tape):
        args = tape.nodes[rows[0]].args
        wider = (one, *args) if first else (*args, one)
        for row in rows:
            terms = terms_of(tape.nodes[row])
            start: Any = terms.bias if first else terms.weights[0]
            yield row, wider, range(start, start + len(wider))


def _layers(tape: Tape) -> Iterator[tuple[bool, list[int]]]:
    """Yield rows of neurons over the same operands, consecutive in theta; first, whether biases precede weights."""
    groups: dict[tuple[bool, object], list[tuple[int, int]]] = {}
    for row, node in enumerate(tape.nodes):
        terms = node.terms
        if terms is None or terms.bias is None or not isinstance(terms.weights, range) or terms.offset or not node.args:
            continue
        if terms.bias in (terms.weights.start - 1, terms.weights.stop):
            first = terms.bias < terms.weights.start
            same = id(node.args) if len(node.args) > FEW else node.args  # equal long tuples are one object
            groups.setdefault((first, same), []).append((terms.weights.start, row))
    for (first, _), members in groups.items():
        step = len(tape.nodes[members[0][1]].args) + 1
        for run in runs(sorted(members), lambda a, b, step=step: b[0] == a[0] + step):  # type: ignore[misc]
            if len(run) > 1:
                yield first, [row for _, row in run]


T = TypeVar("T")


def runs(items: Iterable[T], follows: Callable[[T, T], bool]) -> list[list[T]]:
    """Return the items, split wherever one does not follow the one before it."""
    found: list[list[T]] = []
    for item in items:
        if found and follows(found[-1][-1], item):
            found[-1].append(item)
        else:
            found.append([item])
    return found


def columns(tape: Tape) -> Iterator[Without]:
    """Yield equal forms for sums over the same rows that read neighbouring columns of a matrix."""
    for rows in _matrices(tape):
        wider = (*tape.nodes[rows[0]].args, len(tape.nodes))
        for row in rows:
            terms = terms_of(tape.nodes[row])
            yield row, wider, (*terms.weights, terms.bias)


def _matrices(tape: Tape) -> Iterator[list[int]]:
    """Yield groups of rows of sums that read neighbouring columns and have a bias each."""
    groups: dict[tuple[int, ...], list[int]] = {}
    for row, node in enumerate(tape.nodes):
        terms = node.terms
        if terms is None or terms.kind != "param" or terms.bias is None:
            continue
        if not isinstance(terms.weights, range) and len(terms.weights) > 1:
            groups.setdefault(node.args, []).append(row)
    for rows in groups.values():
        found = runs(rows, lambda a, b: _follows(terms_of(tape.nodes[a]), terms_of(tape.nodes[b])))
        yield from (run for run in found if len(run) > 1)


def _follows(a: Terms, b: Terms) -> bool:
    """Return whether each index that `b` reads is one more than that of `a`."""
    assert a.bias is not None
    same = b.bias == a.bias + 1 and b.offset == a.offset and len(b.weights) == len(a.weights)
    return same and all(y == x + 1 for x, y in zip(a.weights, b.weights, strict=True))


def squared_errors(tape: Tape) -> Tape:
    """Return the tape with each ``factor * ((a - b)**2 + ...)`` as one node ``squares``, if no other node reads parts.

    The operands of the node are all ``a``, then all ``b``; its number is the factor.
    """
    finder = _Squares(tape)
    changed: dict[int, Node] = {}
    inner: set[int] = set()
    for row in range(len(tape.nodes) - 1, -1, -1):  # from the end, so that a factor comes before its sum
        found = None if row in inner else finder.at(row)
        if found is not None:
            pairs, factor, parts = found
            changed[row] = Node("squares", tuple(a for a, _ in pairs) + tuple(b for _, b in pairs), number=factor)
            inner.update(parts)
    return rebuild(tape, changed) if changed else tape


Found = tuple[list[tuple[int, int]], float, list[int]]  # operands, factor, rows that the node replaces


class _Squares:
    def __init__(self, tape: Tape) -> None:
        self.nodes = tape.nodes
        self.uses = readers_of(tape)

    def at(self, row: int) -> Found | None:
        """Return the squared differences whose weighted sum is `row`, or None."""
        node = self.nodes[row]
        if node.code == "mul":
            for factor, rest in (node.args, node.args[::-1]):
                if self.nodes[factor].code == "const" and self.uses[rest] == 1:
                    below = self.total(rest)
                    if below is not None:
                        return below[0], below[1] * self.nodes[factor].number, [rest, *below[2]]
            return None
        return self.total(row)

    def total(self, row: int) -> Found | None:
        """Return the same for a sum without a factor."""
        node, terms = self.nodes[row], self.nodes[row].terms
        if terms is None:
            pair = squared_difference(self.nodes, self.uses, row)
            return None if pair is None else ([pair[0]], 1.0, pair[1])
        if terms.kind != "const" or terms.bias is not None or terms.offset or len(set(terms.weights)) != 1:
            return None
        if any(self.uses[arg] > 1 for arg in node.args):
            return None
        each = (squared_difference(self.nodes, self.uses, arg) for arg in node.args)
        squares = [square for square in each if square is not None]
        if len(squares) < len(node.args):
            return None
        parts = [row for _, rows in squares for row in rows]
        return [pair for pair, _ in squares], float(terms.weights[0]), [*node.args, *parts]


def squared_difference(
    nodes: Sequence[Node], uses: Sequence[int], row: int
) -> tuple[tuple[int, int], list[int]] | None:  # fmt: skip
    """Return the operands of ``(a - b)**2`` and the row of the difference, if no other node reads it; else None."""
    if nodes[row].code != "square":
        return None
    (below,) = nodes[row].args
    if nodes[below].code != "sub" or uses[below] > 1:
        return None
    a, b = nodes[below].args
    return (a, b), [below]


def gradient_rows(tape: Tape, roots: Iterable[int], inputs: int = 0) -> list[bool]:
    """Return whether each row gets a gradient: `roots` depend on it, and it on a parameter or the first `inputs`.

    Both paths use only operands that have a derivative. A row that only a comparison or the condition of ``where``
    reads gets no gradient. Multiplying by a derivative of 0 would differ, because 0 * inf is NaN.
    """
    flowing = _all_differentiated(tape.nodes)
    depends = _depends(tape.nodes, flowing, inputs)
    reached = [False] * len(tape.nodes)
    for root in roots:
        reached[root] = True
    seen: set[int] = set()  # the rows of a layer share one tuple of operands
    for row in range(len(tape.nodes) - 1, -1, -1):
        if reached[row] and depends[row]:
            operands = flowing[row]
            if len(operands) > 2:
                if id(operands) in seen:
                    continue
                seen.add(id(operands))
            for operand in operands:
                reached[operand] = True
    return [a and b for a, b in zip(reached, depends, strict=True)]


def differentiated(node: Node) -> tuple[int, ...]:
    """Return the operands of a node that have a derivative."""
    if node.code == "gather":  # its id is a whole number, without a derivative
        return ()
    if node.terms is not None or not node.args or node.code in ("squares", "batch_mean"):
        return node.operands()
    op = kernel_of(node)
    return tuple([node.args[k] for k in op.flowing]) if op.partly else node.args


def _all_differentiated(nodes: Sequence[Node]) -> list[tuple[int, ...]]:
    """Return the same for every node, with one lookup per operation."""
    whole: set[str] = set()
    found = []
    for node in nodes:
        if node.code in whole:
            found.append(node.args)
            continue
        operands = differentiated(node)
        if operands is node.args and node.terms is None:
            whole.add(node.code)
        found.append(operands)
    return found


def made_of_buffers(tape: Tape) -> set[int]:
    """Return the rows that do not depend on a parameter, if the tape reads buffers; otherwise an empty set."""
    if not any(node.code == "buffer" for node in tape.nodes):
        return set()
    depends = _depends(tape.nodes, _all_differentiated(tape.nodes))
    return {row for row, found in enumerate(depends) if not found}


def parameters_reached(tape: Tape, gets: Iterable[bool], first: int) -> set[int]:
    """Return the parameters from index `first` on that get a gradient, because a row with a gradient reads them."""
    found: set[int] = set()
    for node, gets_one in zip(tape.nodes, gets, strict=True):
        terms = node.terms
        if gets_one and node.code == "param":
            found.add(node.index)
        elif gets_one and terms is not None:
            found.add(-1 if terms.bias is None else terms.bias)
            if terms.kind == "param" and not (isinstance(terms.weights, range) and terms.weights.stop <= first):
                found.update(terms.weights)
    return {index for index in found if index >= first}


def _depends(nodes: Sequence[Node], flowing: Sequence[tuple[int, ...]], inputs: int = 0) -> list[bool]:
    """Return whether each row depends on a parameter or an input, through operands that have a derivative."""
    found: list[bool] = []
    known: dict[int, bool] = {}  # results for operand tuples that several nodes share
    for node, operands in zip(nodes, flowing, strict=True):
        if not operands:
            found.append(reads_parameters(node) or (node.code == "input" and node.index < inputs))
        elif node.terms is not None and reads_theta(node.terms):
            found.append(True)
        elif len(operands) > 2:
            below = known.get(id(operands))
            if below is None:
                below = known[id(operands)] = any(found[row] for row in operands)
            found.append(below)
        else:
            found.append(found[operands[0]] or found[operands[-1]])
    return found


def parameters_read(tape: Tape) -> NDArray[np.bool_]:
    """Return which parameters the loss reads. The others get no gradient; an optimiser skips them in a loop, too."""
    read = np.zeros(tape.n_parameters, bool)
    for node in rebuild(replace(tape.only(loss=tape.loss is not None, outputs=tape.loss is None), tracks=()), {}).nodes:
        if node.code == "param":
            read[node.index] = True
        if node.code in CODES:  # a sum over a span of them
            read[node.index : node.index + int(node.number)] = True
        if node.table is not None:
            read[node.index : node.index + node.table.rows * node.table.step : node.table.step] = True
        if node.terms is not None:
            if node.terms.kind == "param":
                read[np.asarray(node.terms.weights, np.int64)] = True
            if node.terms.bias is not None:
                read[node.terms.bias] = True
    return read
