"""Passes: plain functions from tape to tape. Each keeps the meaning and makes the tape cheaper to run.

* Neurons that keep their weights and bias side by side, as objects of a class do, become a layer. Each row of weights
  ends (or begins) with its bias, so a row of ones becomes one more operand.
* Layers typed as ``x @ W + b`` with W of shape (inputs, outputs) have sums that read columns of a matrix. They run
  together if their biases become weights of a row of ones. Engines may find the matrix again (``cpu/encode/sums``).
* Squared errors: what `MSELoss` records becomes one node.
* Gradients: which rows get one is decided here, once; every engine follows :attr:`Program.needs_gradient`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from enum import IntEnum
from itertools import islice
from typing import Any, TypeVar

from ..scalar.functions import MAX
from ..scalar.kernel import Kernel, kernel
from .program import CODES
from .tape import Memo, Node, Tape, Terms, moved, terms_of, weights_at


class Needs(IntEnum):
    """What a node depends on; decides how often it must be computed."""

    NOTHING = 0  # constant: once
    PARAMETERS = 1  # parameter-only: once a step
    INPUTS = 2  # input-only (frequency encodings): once a data set
    BOTH = 3  # per sample and step


def rebuild(tape: Tape, changed: dict[int, Node]) -> Tape:
    """The tape with some nodes replaced and everything that no root needs left out.

    A replacement may read only rows that stand before the node it replaces.
    """
    nodes: Sequence[Node] = tape.nodes
    if changed:
        nodes = [changed.get(row, node) for row, node in enumerate(nodes)]
    alive = needed(nodes, tape.roots())
    first = alive.find(0)  # up to there every row keeps its number
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
    """A 1 for each row that `roots` are made of, themselves included."""
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
    """How many read each row, roots included; of a tuple of operands that many share, two readers are counted."""
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
    """As :func:`rebuild`, with new rows: ``made[k]`` is row ``len(tape.nodes) + k``.

    New rows stand before the old rows that `before` names, in the order it gives; they and replacements may read each
    other in that order.
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
    """Let the sums over the same rows hold one tuple of operands: later passes look at a tuple once."""
    known: dict[tuple[int, ...], tuple[int, ...]] = {}
    same: dict[int, tuple[int, ...]] = {}  # most do already
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
    """What each node depends on."""
    found: list[int] = []
    known: dict[int, int] = {}  # of tuples of operands that several nodes share
    inputs, parameters = int(Needs.INPUTS), int(Needs.PARAMETERS)
    for node in tape.nodes:
        own = 0
        if node.code == "input":
            own = inputs
        elif node.code in ("mask", "batch_mean"):
            own = inputs | parameters  # another one at every step: neither encoded nor kept
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
    """Whether the node reads nothing but its ``args``."""
    return node.terms is None or node.terms.kind != "row"


def reads_theta(terms: Terms) -> bool:
    """Whether a weighted sum has a parameter among its weights, or as its bias."""
    return terms.bias is not None or terms.kind == "param"


def reads_parameters(node: Node) -> bool:
    """Whether a node reads parameters by itself, not through its operands."""
    direct = node.code in ("param", "gather") or node.code in CODES
    return direct or (node.terms is not None and reads_theta(node.terms))


def kernel_of(node: Node) -> Kernel:
    """The kernel of a node that is an operation of the table, or the largest of its operands."""
    return MAX if node.code == "max" else kernel(node.code)


def fold_constants(tape: Tape) -> Tape:
    """Compute what depends on nothing; ``x ** 2`` becomes a square."""
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
    """A gather by a number that is known: the parameter itself, or NaN where the table has none."""
    table = node.table
    assert table is not None
    if not (0 <= number < table.rows and number == int(number)):
        return Node("const", number=math.nan)
    return Node("param", index=node.index + int(number) * table.step)


def plain_dots(tape: Tape) -> Tape:
    """Give every dot the cheapest kind: a row that is a parameter or a constant is no row.

    A dot is symmetric, so its inputs may turn out to be the weights. Parameters that are neighbours become a range.
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
    """Indices as a range where they count up by one: such weights may be a row of a layer."""
    span = range(weights[0], weights[0] + len(weights)) if weights else range(0)
    return span if weights and all(a == b for a, b in zip(weights, span, strict=True)) else tuple(weights)


FEW = 8
"""Operands that are compared one by one."""


Without = tuple[int, tuple[int, ...], tuple[Any, ...] | range]
"""The row of a sum, and its operands and weights once the bias is one of these."""


def without_biases(tape: Tape, sums: Iterable[Without]) -> Tape:
    """The tape with these sums; an operand ``len(tape.nodes)`` is a row of ones."""
    changed = {}
    for row, args, weights in sums:
        node = tape.nodes[row]
        changed[row] = replace(node, args=args, terms=replace(terms_of(node), weights=weights, bias=None))
    made = [Node("const", number=1.0)]
    return spliced(tape, changed, made, {0: [len(tape.nodes)]}) if changed else tape


def neurons(tape: Tape) -> Tape:
    """Let sums over the same rows, each with its bias beside its weights, be rows of a layer without biases."""
    return without_biases(tape, _neurons(tape))


def _neurons(tape: Tape) -> Iterator[Without]:
    one = len(tape.nodes)
    for first, rows in _layers(tape):
        args = tape.nodes[rows[0]].args
        wider = (one, *args) if first else (*args, one)
        for row in rows:
            terms = terms_of(tape.nodes[row])
            start: Any = terms.bias if first else terms.weights[0]
            yield row, wider, range(start, start + len(wider))


def _layers(tape: Tape) -> Iterator[tuple[bool, list[int]]]:
    """Rows of neurons over the same operands, one behind the other in theta; whether their biases stand in front."""
    groups: dict[tuple[bool, object], list[tuple[int, int]]] = {}
    for row, node in enumerate(tape.nodes):
        terms = node.terms
        if terms is None or terms.bias is None or not isinstance(terms.weights, range) or terms.offset or not node.args:
            continue
        if terms.bias in (terms.weights.start - 1, terms.weights.stop):
            first = terms.bias < terms.weights.start
            same = id(node.args) if len(node.args) > FEW else node.args  # long ones are one tuple
            groups.setdefault((first, same), []).append((terms.weights.start, row))
    for (first, _), members in groups.items():
        step = len(tape.nodes[members[0][1]].args) + 1
        for run in runs(sorted(members), lambda a, b, step=step: b[0] == a[0] + step):  # type: ignore[misc]
            if len(run) > 1:
                yield first, [row for _, row in run]


T = TypeVar("T")


def runs(items: Iterable[T], follows: Callable[[T, T], bool]) -> list[list[T]]:
    """The items in pieces, cut where one does not follow the one before it."""
    found: list[list[T]] = []
    for item in items:
        if found and follows(found[-1][-1], item):
            found[-1].append(item)
        else:
            found.append([item])
    return found


def columns(tape: Tape) -> Tape:
    """Let sums over the same rows, whose weights and biases are their neighbour's moved by one, have equal forms."""
    return without_biases(tape, _columns(tape))


def _columns(tape: Tape) -> Iterator[Without]:
    for rows in _matrices(tape):
        wider = (*tape.nodes[rows[0]].args, len(tape.nodes))
        for row in rows:
            terms = terms_of(tape.nodes[row])
            yield row, wider, (*terms.weights, terms.bias)


def _matrices(tape: Tape) -> Iterator[list[int]]:
    """Rows of sums that read columns side by side and have a bias each."""
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
    """Whether all that `b` reads stands one behind what `a` does."""
    assert a.bias is not None
    same = b.bias == a.bias + 1 and b.offset == a.offset and len(b.weights) == len(a.weights)
    return same and all(y == x + 1 for x, y in zip(a.weights, b.weights, strict=True))


def squared_errors(tape: Tape) -> Tape:
    """Turn ``factor * ((a - b)**2 + ...)`` whose parts nobody else reads into one node ``squares``.

    Its operands are all ``a``, then all ``b``; its number is the factor.
    """
    finder = _Squares(tape)
    changed: dict[int, Node] = {}
    inner: set[int] = set()
    for row in range(len(tape.nodes) - 1, -1, -1):  # from the top, so that a factor comes before its sum
        found = None if row in inner else finder.at(row)
        if found is not None:
            pairs, factor, parts = found
            changed[row] = Node("squares", tuple(a for a, _ in pairs) + tuple(b for _, b in pairs), number=factor)
            inner.update(parts)
    return rebuild(tape, changed) if changed else tape


Found = tuple[list[tuple[int, int]], float, list[int]]  # operands, factor, rows that are done with


class _Squares:
    def __init__(self, tape: Tape) -> None:
        self.nodes = tape.nodes
        self.uses = readers_of(tape)

    def at(self, row: int) -> Found | None:
        """The squares whose weighted sum is `row`."""
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
        """The same without a factor in front."""
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
    """The operands of ``(a - b)**2``, and the row of the difference, which nobody else reads."""
    if nodes[row].code != "square":
        return None
    (below,) = nodes[row].args
    if nodes[below].code != "sub" or uses[below] > 1:
        return None
    a, b = nodes[below].args
    return (a, b), [below]


def gradient_rows(tape: Tape, roots: Iterable[int]) -> list[bool]:
    """Whether each row gets a gradient: `roots` depend on it and it depends on a parameter.

    Both ways lead through operands that have a derivative alone. What only a comparison or the condition of ``where``
    reads gets none: a product with a derivative of 0 would not be the same, for 0 * inf is NaN.
    """
    flowing = _all_differentiated(tape.nodes)
    depends = _depends(tape.nodes, flowing)
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
    """The operands that a derivative goes to."""
    if node.code == "gather":  # which weights are read does not change by a little
        return ()
    if node.terms is not None or not node.args or node.code in ("squares", "batch_mean"):
        return node.operands()
    op = kernel_of(node)
    return tuple([node.args[k] for k in op.flowing]) if op.partly else node.args


def _all_differentiated(nodes: Sequence[Node]) -> list[tuple[int, ...]]:
    """The same of every node; what an operation lets through is looked up once."""
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
    """The rows that no gradient goes to on the way to a parameter, of a tape that reads buffers; else none."""
    if not any(node.code == "buffer" for node in tape.nodes):
        return set()
    depends = _depends(tape.nodes, _all_differentiated(tape.nodes))
    return {row for row, found in enumerate(depends) if not found}


def parameters_reached(tape: Tape, gets: Iterable[bool], first: int) -> set[int]:
    """The parameters from index `first` on that get a gradient: rows that get one read them."""
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


def _depends(nodes: Sequence[Node], flowing: Sequence[tuple[int, ...]]) -> list[bool]:
    """Whether each row depends on a parameter, through operands that have a derivative."""
    found: list[bool] = []
    known: dict[int, bool] = {}  # of tuples of operands that several nodes share
    for node, operands in zip(nodes, flowing, strict=True):
        if not operands:
            found.append(reads_parameters(node))
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
