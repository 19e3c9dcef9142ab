"""Recording: call a function once with symbolic inputs and store its operations.

Random numbers that the function draws become constants, the same in every step; a warning says so.
"""

from __future__ import annotations

import math
import random
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from operator import attrgetter
from typing import Any

import numpy as np

from ..checks import integer
from ..errors import InputError, TypeMismatchError, typed
from ..scalar import tracing
from ..scalar.array import values
from ..scalar.batch import Tracked
from ..scalar.functions import Gathered
from ..scalar.mask import Mask
from ..scalar.nested import every
from ..scalar.store import Block
from ..scalar.sums import Dot, Row, Total
from ..scalar.value import Symbol, Value
from ..scalar.weight import Weight
from .tape import Node, Table, Tape, Terms, Track, weights_at

SAID = (
    "the recorded function drew random numbers ({}); they are constants now, the same for every sample and step. For "
    "new numbers in each step use nn.Dropout; for fixed numbers draw them before the function runs"
)


@contextmanager
def drawing_is_said() -> Iterator[None]:
    """Warn if the block draws from the shared generators `random` and ``np.random``; others are not watched."""
    before = random_states()
    yield
    moved = [name for name, state in random_states().items() if state != before[name]]
    if moved:
        warnings.warn_explicit(SAID.format(" and ".join(moved)), RuntimeWarning, "scalarviz", 0)


def random_states() -> dict[str, tuple[Any, ...]]:
    """Return the states of the shared generators `random` and ``np.random``."""
    state: Any = np.random.get_state(legacy=False)
    legacy = state["state"]
    torch = sys.modules.get("torch")
    more = {} if torch is None else {"torch": (torch.get_rng_state().numpy().tobytes(),)}
    return {**more, "random": random.getstate(), "np.random": (legacy["pos"], bytes(legacy["key"]), state["has_gauss"])}


MOST = 1 << 32
"""The most inputs of one sample; recording makes an object for each."""


def trace(
    fn: Callable[..., Any],
    n_inputs: int,
    n_targets: int = 0,
    *,
    loss: Callable[..., Value] | None = None,
    blocks: Iterable[Block] = (),
) -> Tape:
    """Return the tape of ``fn(inputs)`` and, with `loss`, of ``loss(outputs, targets)``.

    Parameters
    ----------
    fn : callable
        Takes an array of `n_inputs` Values; without `loss`, also one of `n_targets` Values if that is not 0.
        Returns a Value, or lists, tuples, arrays and dicts of Values, also nested.
    n_inputs, n_targets : int
        Numbers per sample.
    loss : callable, optional
        Takes the result of `fn` and the array of targets; returns one Value, or an array of one.
    blocks : iterable of Block
        Parameters that come first in theta, in this order; others follow in the order of the graph.

    Returns
    -------
    Tape

    Raises
    ------
    TracingError
        `fn` reads the number of a symbolic Value.
    InputError
        `fn` or `loss` returns something other than Values, or a length is not a whole number.
    TypeMismatchError
        `fn` or `loss` is not a function.

    Notes
    -----
    Other Values that `fn` uses become constants. Each called module leaves a tap. Random numbers from `random` or
    ``np.random`` become constants too, with a warning.
    """
    _check(fn, n_inputs, n_targets, loss)
    blocks = _blocks(blocks)
    with tracing.recording() as recorder, drawing_is_said():
        inputs: list[Value] = [Symbol() for _ in range(n_inputs)]
        targets: list[Value] = [Symbol() for _ in range(n_targets)]
        given, wanted = values(inputs, (n_inputs,)), values(targets, (n_targets,))
        result = fn(given, wanted) if n_targets and loss is None else fn(given)
        outputs = every(result, "the recorded function")
        loss_node = None if loss is None else _single_value(loss(result, wanted), "the loss")
    taps = [(module, every(found, "a module")) for module, found in recorder.taps]
    stats = [track.stat for track in recorder.tracks if track.stat is not None]
    writer = _Writer([*inputs, *targets], blocks)
    roots = [*outputs, *([] if loss_node is None else [loss_node])]
    writer.write([*roots, *(v for _, values in taps for v in values), *stats])
    row_of, tracks = writer.row_of, tuple(writer.track(track) for track in recorder.tracks)
    place = {id(target): k for k, target in enumerate(targets)}
    return Tape(
        nodes=tuple(writer.nodes),
        n_inputs=len(inputs),
        n_targets=len(targets),
        n_parameters=writer.n_parameters,
        blocks=tuple(writer.blocks),
        outputs=tuple(row_of[id(v)] for v in outputs),
        loss=None if loss_node is None else row_of[id(loss_node)],
        taps=tuple((module, tuple(row_of[id(v)] for v in values)) for module, values in taps),
        modes=tuple(recorder.modes),
        tracks=tracks,
        fewest=recorder.fewest,
        classes=tuple((place[id(t)], part, count) for t, part, count in recorder.classes if id(t) in place),
    )


def _check(fn: Any, n_inputs: Any, n_targets: Any, loss: Any) -> None:
    for what, function in (("fn", fn), ("loss", loss)):
        if not (callable(function) or (what == "loss" and function is None)):
            raise TypeMismatchError(f"record: {what} must be a function of Values, got {type(function).__name__}")
    integer("record: n_inputs", n_inputs, 0, MOST)
    integer("record: n_targets", n_targets, 0, MOST)


def _blocks(given: Any) -> list[Block]:
    listed = isinstance(given, Iterable) and not isinstance(given, str | Block | np.ndarray)
    blocks: list[Any] = list(given) if listed else [None]
    if not all(isinstance(block, Block) for block in blocks):
        raise TypeMismatchError(f"record: blocks must be a list of Parameters, got {typed(given)}")
    return blocks


def _single_value(result: Any, what: str) -> Value:
    values = every(result, what)
    if len(values) != 1:
        raise InputError(f"{what} must return one Value, got {len(values)}; use .sum() or .mean()")
    return values[0]


_order_of = attrgetter("_order")


class _Writer:
    """Numbers the nodes of a graph, oldest first, without recursion."""

    def __init__(self, inputs: Sequence[Value], blocks: Iterable[Block]) -> None:
        self.nodes: list[Node] = [Node("input", index=i) for i in range(len(inputs))]
        self.held: list[Value] = list(inputs)  # keeps objects alive, so that no id is used twice
        self.row_of: dict[int, int] = {id(v): i for i, v in enumerate(inputs)}
        self.rows_of: dict[int, tuple[int, ...]] = {}
        self.blocks: list[Block] = []
        self.offset: dict[Block, int] = {}
        self.n_parameters = 0
        for block in blocks:
            self.start_of(block)

    def start_of(self, block: Block) -> int:
        """Return the index of the first number of `block` in theta."""
        start = self.offset.get(block)
        if start is None:
            start = self.offset[block] = self.n_parameters
            self.blocks.append(block)
            self.n_parameters += block.size
        return start

    def write(self, roots: Iterable[Value]) -> None:
        """Append every node below `roots` that has no row yet."""
        found = sorted(self.reachable(roots), key=_order_of)
        self.held += found
        for value in found:
            node = self.node(value)  # may append another node first
            self.row_of[id(value)] = len(self.nodes)
            self.nodes.append(node)

    def reachable(self, roots: Iterable[Value]) -> list[Value]:
        """Return the values below `roots`, themselves included, that have no row yet."""
        row_of, seen = self.row_of, {id(v): v for v in roots}
        found = [v for v in seen.values() if id(v) not in row_of]
        walked: set[int] = set()  # the neurons of a layer share one tuple of inputs
        for value in found:  # the loop appends to `found`
            parents = value._graph_parents()
            if type(value) is Dot and parents is value.xs:
                if id(parents) in walked:
                    continue
                walked.add(id(parents))
            for parent in parents:
                number = id(parent)
                if number not in seen and number not in row_of:
                    seen[number] = parent
                    found.append(parent)
        return found

    def node(self, value: Value) -> Node:
        """Return the node of a value whose operands already have rows."""
        if isinstance(value, Weight):
            return Node("buffer" if value._block.buffer else "param", index=self.parameter(value))
        if value._op is None:
            if isinstance(value, Mask):
                return Node("mask", index=value.number, number=value.p)
            if isinstance(value, Symbol):
                raise InputError(
                    "this graph uses a Value from another traced function; compute everything inside one function"
                )
            return Node("const", number=value.data)
        if isinstance(value, Dot):
            return self.dot(value)
        if isinstance(value, Gathered):
            table = Table(value.rows, value.step)
            return Node("gather", (self.row_of[id(value.id)],), self.start_of(value.block) + value.start, table=table)
        if isinstance(value, Total):
            start = self.start_of(value.row.block) + value.row.start
            return Node(f"total {value.how}", index=start, number=float(len(value.row)))
        return Node(value._op.name, tuple([self.row_of[id(p)] for p in value._parents]))

    def parameter(self, weight: Weight) -> int:
        """Return the index of a weight in theta."""
        return self.start_of(weight._block) + weight._index

    def track(self, tracked: Tracked) -> Track:
        """Return the track of a statistic that already has a row."""
        row = -1 if tracked.stat is None else self.row_of[id(tracked.stat)]
        rate = math.nan if tracked.rate is None else tracked.rate
        count = -1 if tracked.count is None else self.parameter(tracked.count)
        return Track(self.parameter(tracked.buffer), row, rate, tracked.positions, count)

    def dot(self, value: Dot) -> Node:
        """Return the node of a weighted sum; a second node adds a bias that is computed."""
        row_of = self.row_of
        xs = self.rows_of.get(id(value.xs))
        if xs is None:  # the neurons of a layer share one tuple of inputs, and one of rows
            xs = self.rows_of[id(value.xs)] = tuple([row_of[id(x)] for x in value.xs])
        bias = value.bias
        index = None
        if isinstance(bias, Row):
            index = self.start_of(bias.block) + bias.start
        elif isinstance(bias, Weight):
            index = self.parameter(bias)
        terms = Terms(*self.weights(value.weights), bias=index)
        node = Node("dot", xs, terms=terms)
        if isinstance(bias, Value) and not isinstance(bias, Weight):
            self.nodes.append(node)
            return Node("add", (len(self.nodes) - 1, row_of[id(bias)]))
        return node

    def weights(self, weights: Row | tuple[Value, ...]) -> tuple[Any, Any]:
        """Return the kind of a sum's weights (parameters, constants or rows), and the weights."""
        if isinstance(weights, Row):
            start = self.start_of(weights.block) + weights.start
            return "param", range(start, start + weights.length)
        return weights_at(self.nodes, [self.row_of[id(w)] for w in weights])
