"""Lowering: turn a tape into a plan of programs that an engine can execute.

Rows are ordered by level, and rows that can run together stand side by side:

* Layers that share their weights: a convolution is recorded as one layer per position of a picture. The search looks
  for this structure, not for a module: weights that several tuples of inputs use at one level.
* Gathers run together if they read columns for one id, or the same columns of a table for several ids.
* Sums run as one instruction if they have equally many terms and the same constants.
* A scale and a shift per feature, ``g*x + b``, would be one layer of one row each. As sums with weights at any index
  they run together; the bias becomes the weight of a row of ones.

Plans are cached (`Cached`): a thousand runs of one network lower and encode it once.
"""

from __future__ import annotations

import marshal
import threading
from collections import Counter, OrderedDict, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

import numpy as np

from ..contexts import collection_paused
from ..scalar.mask import UNITS
from ..scalar.ops import TABLE
from . import passes
from .passes import Needs, Without
from .program import _NONE, CODES, Instruction, Plan, Program, Rows, in_front, shifted
from .sums import means, weighted_sums
from .tape import Memo, Node, Tape, Terms, moved, terms_of


def is_layer(terms: Terms) -> bool:
    """Return whether a weighted sum may be a row of a layer: its weights are neighbours in theta, without offset."""
    return terms.kind == "param" and isinstance(terms.weights, range) and terms.offset == 0.0 and len(terms.weights) > 0


@dataclass(frozen=True, slots=True)
class SumPlace:
    """The place of a weighted sum: the group of layers with the same weights, the row in a layer, and the layer."""

    group: int
    output: int
    position: int


def shared_layers(nodes: Sequence[Node], level: Sequence[int], gets: Sequence[bool]) -> dict[int, SumPlace]:
    """Return the place of every row of two or more layers that share their weights, at one level.

    Either all rows of a group get a gradient (`gets`), or none.
    """
    layers: dict[tuple[int, bool, tuple[int, ...]], list[int]] = {}
    for row, node in enumerate(nodes):
        if node.terms is not None and is_layer(node.terms):
            layers.setdefault((level[row], gets[row], node.args), []).append(row)
    groups: dict[tuple[int, ...], list[list[int]]] = {}
    for (depth, gets_one, _), rows in layers.items():
        rows.sort(key=lambda row: terms_of(nodes[row]).weights[0])
        key = _weights(nodes, rows)
        if key is not None:
            groups.setdefault((depth, int(gets_one), *key), []).append(rows)
    found = {}
    several = [members for members in groups.values() if len(members) > 1]
    for group, members in enumerate(several):
        for position, rows in enumerate(members):
            for output, row in enumerate(rows):
                found[row] = SumPlace(group, output, position)
    return found


def _weights(nodes: Sequence[Node], rows: list[int]) -> tuple[int, ...] | None:
    """Return outputs, inputs, first weight and first bias of a layer; None if its weights are not one whole block."""
    first, n = terms_of(nodes[rows[0]]), len(nodes[rows[0]].args)
    for k, row in enumerate(rows):
        terms = terms_of(nodes[row])
        bias = None if first.bias is None else first.bias + k
        if terms.weights[0] != first.weights[0] + k * n or terms.bias != bias:
            return None
    return len(rows), n, first.weights[0], -1 if first.bias is None else first.bias


def gather_places(nodes: Sequence[Node], level: Sequence[int], gets: Sequence[bool]) -> dict[int, SumPlace]:
    """Return the place of every gather: ``output`` counts the ids of a group, ``position`` the columns.

    Groups have the numbers -1, -2, ... The rows of a group are at one level, and all get a gradient (`gets`) or none.
    No group has a weight twice for one id.
    """
    columns: dict[tuple[object, ...], list[int]] = defaultdict(list)
    times: dict[tuple[object, ...], int] = defaultdict(int)
    for row, node in enumerate(nodes):
        if node.code == "gather":
            key = (level[row], gets[row], node.table, node.args[0])
            again = times[(*key, node.index)]
            times[(*key, node.index)] += 1
            columns[(*key, again)].append(row)
    groups: dict[tuple[object, ...], list[list[int]]] = defaultdict(list)
    for (depth, gets_one, table, *_), rows in columns.items():
        rows.sort(key=lambda row: nodes[row].index)
        groups[(depth, gets_one, table, tuple([nodes[row].index for row in rows]))].append(rows)
    return {
        row: SumPlace(-1 - group, output, position)
        for group, ids in enumerate(groups.values())
        for output, rows in enumerate(ids)
        for position, row in enumerate(rows)
    }


def gather_instruction(nodes: Sequence[Node], row: int, count: int, positions: int) -> Instruction:
    """Return the instruction of a group of `count` rows from `row` on, with `positions` ids."""
    width = count // positions
    ids = np.array([node.args[0] for node in nodes[row : row + count : width]], np.int64)
    weights = np.array([node.index for node in nodes[row : row + width]], np.int64)
    return Instruction("gather", row, count, ids[None], weights=weights, table=nodes[row].table)


def together(node: Node, terms: Terms) -> tuple[object, ...]:
    """Return a key: sums of one level with equal keys can become one instruction."""
    numbers = terms.weights if terms.kind == "const" else ()
    return terms.kind, len(node.args), numbers, terms.offset, terms.bias


def sums(nodes: Sequence[Node], row: int) -> Instruction:
    """Return the instruction of sums that run together; `row` is its first result row."""
    first, count = terms_of(nodes[0]), len(nodes)
    bias = -1 if first.bias is None else first.bias
    # a product alone keeps its sign of zero: -0.0 + -0.0 is -0.0, but 0.0 + -0.0 is 0.0
    offset = first.offset or (-0.0 if bias < 0 and len(first.weights) == 1 else 0.0)
    args = np.array([node.args for node in nodes], np.int64).reshape(count, -1)
    if first.kind == "const":
        return Instruction(
            "weighted", row, count, args, numbers=np.array(first.weights, float), bias=bias, offset=offset
        )
    others = np.array([terms_of(node).weights for node in nodes], np.int64).ravel()
    if first.kind == "row":
        return Instruction("product", row, count, np.stack([others, args.ravel()]), bias=bias, offset=offset)
    return Instruction("dot", row, count, args, weights=others, bias=bias, offset=offset)


_FIRST = {"input": 0, "const": 1, "param": 2, "buffer": 2, "mask": 3}
"""Rows without operands come first, in this order."""


def ordered(tape: Tape, gets: list[bool]) -> tuple[Tape, list[bool], list[int], dict[int, SumPlace]]:
    """Return the tape sorted by level, then so that rows of one operation or layer are neighbours.

    Rows with and without a gradient do not run together: their instruction would multiply the zeros of the latter.
    Layers that share weights are sorted by output, then position; gathers by id, then column. Also returns, in the new
    order: `gets`, a group number for each row (rows with equal numbers may run together), and the places of rows of
    layers that share weights and of gathers.
    """
    level = levels(tape.nodes)
    shared = shared_layers(tape.nodes, level, gets) | gather_places(tape.nodes, level, gets)
    keys = np.array(_keys(tape.nodes, gets, level, shared), np.int64).reshape(-1, 4)
    order = np.lexsort(keys.T[::-1])  # stable: rows with one key keep their order
    begins = np.diff(keys[order, :2], axis=0, prepend=-1).any(1)
    groups: list[int] = np.cumsum(begins).tolist()
    if np.array_equal(order, np.arange(len(order))):
        return tape, gets, groups, shared
    inverse = np.empty_like(order)
    inverse[order] = np.arange(len(order))
    row_of: list[int] = inverse.tolist()
    memo: Memo = {}
    olds: list[int] = order.tolist()
    nodes = [moved(tape.nodes[old], row_of, memo) for old in olds]
    places = {row_of[row]: place for row, place in shared.items()}
    return tape.rewired(nodes, row_of), [gets[old] for old in olds], groups, places


def _keys(
    nodes: Sequence[Node], gets: Sequence[bool], level: Sequence[int], shared: dict[int, SumPlace]
) -> list[int]:  # fmt: skip
    """Return four sort keys per row: level with class, group, and two for the place in the group."""
    names: dict[object, int] = {}
    same_operands: dict[int, tuple[int, ...]] = {}  # compares a long tuple once, not for each row of its layer
    known: dict[tuple[int, ...], tuple[int, ...]] = {}
    keys: list[int] = []
    for row, node in enumerate(nodes):
        first = _FIRST.get(node.code)
        if first is not None:
            keys += (first, not gets[row], row if first == 1 else node.index, 0)
            continue
        terms, place = node.terms, shared.get(row)
        what: object
        depth, at = 2 * level[row] + 3, (0, 0)
        if place is not None:
            what, at = place.group, (place.output, place.position)
        elif terms is None:
            what, depth = (node.code, len(node.args), gets[row]), depth + 1
            if node.code == "float16" and (operand := shared.get(node.args[0])) is not None:
                at = (operand.output, operand.position)  # a tile rounds its results, if they stand in one order
        elif not is_layer(terms):
            what = together(node, terms), gets[row]
        else:
            args = same_operands.get(id(node.args))
            if args is None:
                args = same_operands[id(node.args)] = known.setdefault(node.args, node.args)
            what, at = (id(args), len(terms.weights), gets[row]), (terms.weights[0], 0)
        keys += (depth, names.setdefault(what, len(names)), *at)
    return keys


def levels(nodes: Sequence[Node]) -> list[int]:
    """Return the level of each row: one more than the highest level of its operands, 0 without operands."""
    found: list[int] = []
    known: dict[int, int] = {}  # levels of operand tuples that several nodes share
    for node in nodes:
        args = node.args
        if not args:
            found.append(0)
        elif node.terms is None and len(args) == 2:
            a, b = found[args[0]], found[args[1]]
            found.append(1 + (a if a > b else b))
        else:
            found.append(_level_of_many(node, found, known))
    return found


def _level_of_many(node: Node, level: Sequence[int], known: dict[int, int]) -> int:
    operands = node.operands()
    found = known.get(id(operands))
    if found is None:
        found = 1 + max([level[row] for row in operands])
        if operands is node.args:  # the id of a temporary tuple may be used again
            known[id(operands)] = found
    return found


SHORT = 8
"""The most terms of a small sum; for longer ones the kernels of layers are as fast."""


def lonely_sums(tape: Tape) -> Iterator[Without]:
    """Yield equal forms for small sums of one level that share neither weights nor operands."""
    alone = list(_lonely_rows(tape))
    level = levels(tape.nodes) if alone else []
    kinds = [(level[row], len(tape.nodes[row].args), terms_of(tape.nodes[row]).bias is None) for row in alone]
    several = Counter(kinds)
    for row, kind in zip(alone, kinds, strict=True):
        if several[kind] > 1:
            node, terms = tape.nodes[row], terms_of(tape.nodes[row])
            one, bias = ((), ()) if terms.bias is None else ((len(tape.nodes),), (terms.bias,))
            yield row, (*node.args, *one), (*terms.weights, *bias)


def _lonely_rows(tape: Tape) -> Iterator[int]:
    """Yield the rows of such sums, without results of modules: an inspector may look up the inputs of their weights."""
    taps = {row for _, rows in tape.taps for row in rows}
    every = ((row, node.terms) for row, node in enumerate(tape.nodes) if node.args)
    sums = [row for row, terms in every if terms is not None and terms.kind == "param"]
    operands = Counter(id(tape.nodes[row].args) for row in sums)
    known: dict[tuple[int, ...], int] = {}
    same = Counter(known.setdefault(tape.nodes[row].args, row) for row in sums if len(tape.nodes[row].args) <= SHORT)
    weights = Counter(terms_of(tape.nodes[row]).weights[0] for row in sums)
    for row in sums:
        node, terms = tape.nodes[row], terms_of(tape.nodes[row])
        if row in taps or len(node.args) > SHORT or operands[id(node.args)] > 1:
            continue
        single = same[known[node.args]] == 1 and weights[terms.weights[0]] == 1
        if single if isinstance(terms.weights, range) else terms.bias is not None:
            yield row


# ---- Plans


K = TypeVar("K")
V = TypeVar("V")

SMALL = 2000
"""The most nodes of a cached graph; a program makes only few larger ones."""
MOST = 32
"""The most entries of a cache."""


class Cached(Generic[K, V]):
    """A cache of the last `MOST` results, by their keys. Threads may share it."""

    def __init__(self) -> None:
        self._entries: OrderedDict[K, V] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: K) -> V | None:
        """Return the cached result, or None."""
        with self._lock:
            if key in self._entries:
                self._entries.move_to_end(key)
            return self._entries.get(key)

    def store(self, key: K, made: V) -> V:
        """Store a result and return it; the least recently used one is dropped."""
        with self._lock:
            self._entries[key] = made
            self._entries.move_to_end(key)
            if len(self._entries) > MOST:
                self._entries.popitem(last=False)
        return made


def content_of(tape: Tape) -> bytes | None:
    """Return the exact content of a tape as a cache key (0.0 differs from -0.0); None if the tape cannot be cached.

    The key has the rows of the taps, but not their modules.
    """
    if len(tape.nodes) > SMALL:
        return None
    operations = sorted({node.code for node in tape.nodes} & TABLE.keys())  # a formula may be registered again
    said = (
        [_node(node) for node in tape.nodes], [TABLE[code].expressions() for code in operations],
        tape.n_inputs, tape.n_targets, tape.n_parameters, tape.outputs, tape.loss, [rows for _, rows in tape.taps],
        [(t.index, t.row, t.rate, t.positions, t.count) for t in tape.tracks], tape.fewest,
    )  # fmt: skip
    try:
        return marshal.dumps(said, 2)  # in later versions, the bytes depend on which objects are identical
    except ValueError:  # a number of an unknown type
        return None


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


_PLANS: Cached[tuple[bytes, bool], Plan] = Cached()


def lower(tape: Tape, *, encode: bool = True) -> Plan:
    """Return the plan of a tape: split by dependence, with weighted sums and layers recognised, ordered by level.

    Nodes that are not recognised run row by row, with the same result. A small graph that was lowered before gets the
    same plan, whose arrays are read-only. Without `encode`, input-only nodes stay in the body: the inputs of an
    optimiser, for example, change at every step.
    """
    content = content_of(tape)
    if content is None:
        return _lowered(tape, encode)
    plan = _PLANS.get((content, encode)) or _PLANS.store((content, encode), _shared(_lowered(_unnamed(tape), encode)))
    return _named(plan, [module for module, _ in tape.taps]) if tape.taps else plan


def lower_unfused(tape: Tape) -> tuple[Tape, Plan]:
    """Return a plan with a row for every node, for looking at single operations, and the tape in that order."""
    tape = passes.rebuild(tape, {})  # without nodes that nothing reads
    tape, *_ = ordered(tape, passes.gradient_rows(tape, tape.roots()))
    body = _program(tape, passes.gradient_rows(tape, tape.outputs if tape.loss is None else (tape.loss,)))
    return tape, Plan(tape.n_parameters, 0, tape.n_inputs, tape.n_targets, 0, None, None, body)


def lower_rows(tape: Tape, inputs: int) -> Program:
    """Return a program whose first `inputs` get gradients, for a function of outputs without weights."""
    tape = passes.squared_errors(means(weighted_sums(passes.fold_constants(passes.share_operands(tape)))))
    return _program(tape, passes.gradient_rows(tape, tape.outputs, inputs))


def _unnamed(tape: Tape) -> Tape:
    """Return the tape without references to a model, which a cached plan would keep alive."""
    taps = tuple((number, rows) for number, (_, rows) in enumerate(tape.taps))
    return replace(tape, blocks=(), modes=(), taps=taps)


def _named(plan: Plan, modules: Sequence[Any]) -> Plan:
    """Return a cached plan, with the modules of a tape."""
    taps = tuple((modules[number], rows) for number, rows in plan.body.taps)
    return replace(plan, body=replace(plan.body, taps=taps))


def _shared(plan: Plan) -> Plan:
    """Return the plan with read-only arrays, because many runs share it: a write raises an error."""
    for program in (plan.prologue, plan.encode, plan.body):
        if program is not None:
            instructions = (getattr(i, name) for i in program.instructions for name in Instruction.__slots__)
            own = (getattr(program, name) for name in Program.__slots__)
            for part in (*own, *instructions, *(rows for _, rows in program.taps)):
                if isinstance(part, np.ndarray):
                    part.setflags(write=False)
    return plan


@collection_paused()
def _lowered(tape: Tape, encode: bool) -> Plan:
    tape = passes.fold_constants(passes.share_operands(tape))
    prologue, encoder, body = _split(tape, encode)
    gets = passes.gradient_rows(body, body.outputs if body.loss is None else (body.loss,))
    derived = passes.parameters_reached(body, gets, tape.n_parameters) if prologue else set()
    return Plan(
        n_parameters=tape.n_parameters,
        n_derived=len(prologue.outputs) if prologue else 0,
        n_inputs=tape.n_inputs,
        n_targets=tape.n_targets,
        n_features=len(encoder.outputs) if encoder else 0,
        prologue=_program(prologue, _prologue_rows(prologue, derived, tape.n_parameters)) if prologue else None,
        encode=_program(encoder, [False] * len(encoder.nodes)) if encoder else None,
        body=_program(body, gets),
    )


def _split(tape: Tape, encode: bool) -> tuple[Tape | None, Tape | None, Tape]:
    """Return prologue, encoder and body: the tape, cut where parameter-only and input-only values enter the body."""
    kinds, untrained = passes.needs(tape), passes.made_of_buffers(tape)
    frontier: dict[Needs, list[int]] = {Needs.PARAMETERS: [], Needs.INPUTS: []}
    cut = (Needs.PARAMETERS, Needs.INPUTS) if encode else (Needs.PARAMETERS,)
    used = set(tape.roots())
    seen: set[int] = set()  # the rows of a layer share one tuple of operands
    for node, kind in zip(tape.nodes, kinds, strict=True):
        if kind is Needs.BOTH or (kind is Needs.INPUTS and not encode):
            operands = node.operands()
            if len(operands) > 2 and operands is node.args:
                if id(operands) in seen:
                    continue
                seen.add(id(operands))
            used.update(operands)
    changed: dict[int, Node] = {}
    for row in sorted(used):
        node, kind = tape.nodes[row], kinds[row]
        if kind in cut and node.code not in ("input", "param", "buffer"):
            rows = frontier[kind]
            if kind is Needs.PARAMETERS:
                code = "buffer" if row in untrained else "param"
                changed[row] = Node(code, index=tape.n_parameters + len(rows))
            else:
                changed[row] = Node("input", index=tape.n_inputs + tape.n_targets + len(rows))
            rows.append(row)
    body = passes.plain_dots(
        passes.rebuild(replace(tape, n_parameters=tape.n_parameters + len(frontier[Needs.PARAMETERS])), changed)
    )
    parts = [
        passes.rebuild(replace(tape, outputs=tuple(rows), loss=None, taps=(), tracks=()), {}) if rows else None
        for rows in frontier.values()
    ]
    if not encode:  # an optimiser: operations alone compute the numbers of a step for many steps at once
        return parts[0], parts[1], passes.squared_errors(means(weighted_sums(body)))
    prologue, encoder = (None if part is None else _with_sums(part) for part in parts)
    return prologue, encoder, _with_sums(body)


def _with_sums(tape: Tape) -> Tape:
    """Return the tape with each sum as one node."""
    tape = passes.squared_errors(means(weighted_sums(tape)))
    for finder in (passes.neurons, passes.columns, lonely_sums):
        tape = passes.without_biases(tape, finder(tape))
    return tape


def _prologue_rows(prologue: Tape, derived: set[int], n_parameters: int) -> list[bool]:
    """Return a flag for each row of the prologue that gets a gradient: derived parameters with one in the body."""
    return passes.gradient_rows(
        prologue, [row for k, row in enumerate(prologue.outputs) if n_parameters + k in derived]
    )


def _program(tape: Tape, gets: list[bool]) -> Program:
    """Return the program of a tape; `gets` says which rows get a gradient."""
    tape, gets, groups, shared = ordered(tape, gets)
    nodes = tape.nodes
    totals, flags = in_front(nodes, gets)
    front = len(flags)
    inputs = [(r + front, n.index) for r, n in enumerate(nodes) if n.code == "input"]
    constants = [(r + front, n.number) for r, n in enumerate(nodes) if n.code == "const"]
    instructions = tuple(_instructions(tape.nodes, groups, shared))
    if front:
        instructions = (*totals, *(shifted(instruction, front) for instruction in instructions))
    return Program(
        n_rows=front + len(nodes),
        n_theta=tape.n_parameters,
        instructions=instructions,
        input_rows=_rows(r for r, _ in inputs),
        input_index=_rows(i for _, i in inputs),
        constant_rows=_rows(r for r, _ in constants),
        constants=np.array([c for _, c in constants], float),
        outputs=_rows(tape.outputs) + front,
        loss=-1 if tape.loss is None else front + tape.loss,
        taps=tuple((module, _rows(rows) + front) for module, rows in tape.taps),
        needs_gradient=np.array([*flags, *gets], bool),
        tracks=tuple(t if t.row < 0 else replace(t, row=front + t.row) for t in tape.tracks),
        fewest=tape.fewest,
    )


def _rows(rows: object) -> Rows:
    return np.array(list(rows), np.int64)  # type: ignore[call-overload]


def _instructions(
    nodes: tuple[Node, ...], groups: Sequence[int], shared: Mapping[int, SumPlace]
) -> Iterator[Instruction]:  # fmt: skip
    row = 0
    while row < len(nodes):
        node, end = nodes[row], row + 1
        while end < len(nodes) and groups[end] == groups[row]:
            if row not in shared and not _continues(node, nodes[end], end - row):
                break
            end += 1
        if node.code == "gather":
            yield gather_instruction(nodes, row, end - row, 1 + shared[end - 1].output)
        elif row in shared:
            yield _layers(nodes[row:end], row, 1 + shared[end - 1].output)
        elif node.code not in ("input", "const") and node.code not in CODES:
            yield _instruction(nodes[row:end], row)
        row = end


def _continues(first: Node, node: Node, count: int) -> bool:
    """Return whether `node` can be row `count` of the instruction that begins with `first`."""
    if node.code == "dot":
        a, b = terms_of(first), terms_of(node)
        bias = None if a.bias is None else a.bias + count
        return not is_layer(a) or (b.weights[0] == a.weights[0] + count * len(a.weights) and b.bias == bias)
    if node.code == "mask":  # of one call of a module
        return (node.index // UNITS, node.number) == (first.index // UNITS, first.number)
    return node.code == first.code and node.code != "squares"


def _layers(nodes: tuple[Node, ...], row: int, outputs: int | None = None) -> Instruction:
    """Return the instruction of a layer, or of several layers that share their weights, sorted by output."""
    terms, n = terms_of(nodes[0]), len(nodes[0].args)
    table = _rows(nodes[0].args)[None]
    if outputs is not None:
        table = np.array([node.args for node in nodes[: len(nodes) // outputs]], np.int64)
    starts = range(terms.weights[0], terms.weights[0] + (outputs or len(nodes)) * n, n)
    bias = -1 if terms.bias is None else terms.bias
    return Instruction("layer" if outputs is None else "conv", row, len(nodes), table, weights=_rows(starts), bias=bias)


def _instruction(nodes: tuple[Node, ...], row: int) -> Instruction:
    first, count = nodes[0], len(nodes)
    if first.terms is not None:
        return _layers(nodes, row) if is_layer(first.terms) else sums(nodes, row)
    if first.code == "mask":
        call, units = first.index // UNITS, _rows(node.index % UNITS for node in nodes)
        return Instruction("mask", row, count, _NONE, numbers=np.array([first.number]), call=call, units=units)
    if first.code in ("param", "buffer"):
        return Instruction("param", row, count, _NONE, weights=_rows(node.index for node in nodes))
    args = np.array([node.args for node in nodes], np.int64)
    if first.code == "max":
        return Instruction("max", row, count, args)
    if first.code == "squares":
        return Instruction("squares", row, 1, args.reshape(2, -1), numbers=np.array([first.number]))
    columns = args.reshape(-1, 1) if count == 1 else args.T.copy()
    if first.code == "batch_mean":
        return Instruction("batch_mean", row, count, columns)
    return Instruction("op", row, count, columns, op=first.code)
