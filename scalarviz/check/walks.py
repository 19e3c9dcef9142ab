"""Check a pupil's walk back through many graphs; and walks with usual mistakes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import combinations
from threading import get_ident
from typing import Any

import numpy as np

from ..errors import shown
from ..scalar.value import Value
from .points import COUNT, near
from .pupil_code import call_pupil
from .report import CAUSE_TEXTS, CheckEnded, Report, wrong_report

MOST_NODES = 20_000
"""The most visits of a walk along every path."""
MOST_USES = 6
"""The most uses of one input for which all choices of them are tried."""


def ordered(root: Value) -> list[Value]:
    """Return every node at or below `root`, each before all of its users."""
    found: list[Value] = []
    seen: set[int] = set()
    waiting: list[tuple[Value, bool]] = [(root, False)]
    while waiting:
        node, done = waiting.pop()
        if done:
            found.append(node)
        elif id(node) not in seen:
            seen.add(id(node))
            waiting.append((node, True))
            waiting += [(parent, False) for parent in node.parents]
    return found


def operations(root: Value) -> list[str]:
    """Return the names of the operations in the graph, the last one first, each once."""
    return list(dict.fromkeys(node.op for node in reversed(ordered(root)) if node.op))


def slopes_inside(root: Value, leaf: Value) -> list[tuple[str, float]]:
    """Return the derivative of `root` by each inner node that depends on `leaf`, with its operation; last first."""
    nodes = [node for node in reversed(ordered(root)) if node is not root and node is not leaf]
    inner = [node for node in nodes if any(leaf is below for below in ordered(node))]
    return [(node.op, sum(parts)) for node, parts in zip(inner, shares(root, inner), strict=True)]


def shares(
    root: Value, leaves: Sequence[Value], without: str = "", flipped: str = "", valued: str = ""
) -> list[list[float]]:
    """Return the gradient that each leaf receives from each of its uses; their sum is the whole gradient.

    Parameters
    ----------
    without : str
        An operation whose slopes are taken as 1.
    flipped : str
        An operation whose slopes are taken with the wrong sign.
    valued : str
        An operation whose value is taken as its slopes.
    """
    come: dict[int, list[float]] = {id(leaf): [] for leaf in leaves}
    come.setdefault(id(root), []).append(1.0)
    for node in reversed(ordered(root)):
        if not node.parents:
            continue
        above = sum(come.get(id(node), []))
        slopes: Sequence[float] = node.local_gradients
        if node.op == without:
            slopes = [1.0 if slope else 0.0 for slope in slopes]  # an operand without a derivative stays without one
        if node.op == flipped:
            slopes = [-slope for slope in slopes]
        if node.op == valued:
            slopes = [node.data] * len(slopes)
        for parent, slope in zip(node.parents, slopes, strict=True):
            come.setdefault(id(parent), []).append(above * slope)
    return [come[id(leaf)] for leaf in leaves]


def single_ways(root: Value, leaves: Sequence[Value]) -> list[list[float]]:
    """Return the gradient that each leaf receives along each path from the root, each number once; 0 without a path."""
    come: dict[int, set[float]] = {id(root): {1.0}}
    for node in reversed(ordered(root)):
        for parent, slope in zip(node.parents, node.local_gradients, strict=True):
            come.setdefault(id(parent), set()).update(slope * above for above in come[id(node)])
    return [sorted(come.get(id(leaf), {0.0})) for leaf in leaves]


def partial_sums(parts: Sequence[float]) -> list[float]:
    """Return the sums of some but not all `parts`, in a fixed order; empty if there are too many parts."""
    if not 1 < len(parts) <= MOST_USES:
        return []
    return [sum(chosen) for count in range(1, len(parts)) for chosen in combinations(parts, count)]


DrawnGraph = tuple[Any, list[Any], str]
WalkBack = Callable[[Value], dict[int, float]]


def graphs(seed: int, make: Callable[[float], Any] = Value, plain: bool = False) -> Iterator[DrawnGraph]:
    """Yield fifty graphs with their leaves and their formulas: small well-known ones first, then random ones.

    `make` makes a leaf; `plain`: only sums and products.
    """
    a, b = make(2.0), make(-3.0)
    yield a * b + a, [a, b], "a * b + a"
    a = make(2.0)
    c = a + a
    yield c + c, [a], "c + c with c = a + a"
    if not plain:
        a, b = make(0.5), make(-1.5)
        c = a * b
        yield c.tanh() * c + a, [a, b], "tanh(c) * c + a with c = a * b"
    draw = np.random.default_rng(seed)
    kinds = (*(lambda a, b: a + b, lambda a, b: a * b), *(() if plain else (lambda a, b: a - b, lambda a, b: a.tanh())))
    for _ in range(COUNT - (2 if plain else 3)):
        leaves = [make(float(draw.uniform(-1.5, 1.5))) for _ in range(int(draw.integers(1, 4)))]
        nodes, used = list(leaves), [{k} for k in range(len(leaves))]
        for _ in range(int(draw.integers(3, 9))):
            one, other = (int(draw.integers(max(0, len(nodes) - 4), len(nodes))) for _ in range(2))
            kind = int(draw.integers(len(kinds)))
            nodes.append(kinds[kind](nodes[one], nodes[other]))
            used.append(used[one] if kind == 3 else used[one] | used[other])
        yield nodes[-1], [leaves[k] for k in sorted(used[-1])], "a random graph"


@contextmanager
def _forbid_library_backward() -> Iterator[None]:
    """Forbid this thread the library's own backward inside the block."""
    own, me = Value.backward, get_ident()

    def backward(self: Value, *given: Any) -> Any:
        if get_ident() == me:
            raise CheckEnded("library", "not yet.", CAUSE_TEXTS["library"], state="wrong")
        return own(self, *given)

    Value.backward = backward  # type: ignore[method-assign, assignment]
    try:
        yield
    finally:
        Value.backward = own  # type: ignore[method-assign]


def check_class(cls: Any, title: str, tolerance: float, seed: int, back: bool = True) -> Report:
    """Compare a pupil's own class of numbers, with ``+`` and ``*``, with `Value`; with `back` also its backward()."""
    if back and not hasattr(cls, "backward"):
        raise CheckEnded("kind", "the class has no backward(). Did you define the class again afterwards?")
    for (ours, at, text), (root, leaves, _) in zip(graphs(seed, plain=True), _make_graphs(cls, seed), strict=True):
        got = _attribute(root, "data", "the result")
        if not near(got, ours.data, tolerance):
            difference = f"in {text}: data is {got:.4g}; expected {ours.data:.4g}."
            return wrong_report(title, ("not yet.", difference), "forward", None, "data", got, ours.data)
        if len(getattr(root, "parents", ())) != 2:
            difference = (
                f"in {text}: expected the two operands in parents; got {shown(getattr(root, 'parents', None))}."
            )
            return wrong_report(title, ("not yet.", difference), "parents", None, "parents")
        if back:
            call_pupil(type(root).backward, (root,), f"in the graph {text}")
            wanted = [sum(parts) for parts in shares(ours, at)]
            for name, leaf, right in zip("abc", leaves, wanted, strict=False):
                got = _attribute(leaf, "grad", name)
                if not near(got, right, tolerance):
                    difference = f"in {text}: {name}.grad is {got:.4g}; expected {right:.4g}."
                    return wrong_report(title, ("not yet.", difference), "backward", None, name, got, right)
    return Report(title, "right", (f"right in all {COUNT} graphs.",))


def _make_graphs(cls: Any, seed: int) -> list[DrawnGraph]:
    return call_pupil(lambda: list(graphs(seed, cls, plain=True)), (), of=cls.__init__)  # type: ignore[no-any-return]


def _attribute(node: Any, name: str, what: str) -> float:
    try:
        return float(getattr(node, name))
    except (TypeError, ValueError, AttributeError):
        got = shown(getattr(node, name, None))
        raise CheckEnded("kind", f"Expected a number as {name} of {what}; it is {got}.") from None


def check_walk(walk: Callable[..., Any], title: str, tolerance: float, seed: int, plain: bool = False) -> Report:
    """Compare the gradients that a pupil's walk leaves in the leaves."""
    tried: list[DrawnGraph] = list(graphs(seed, plain=plain))
    wanted = [[sum(parts) for parts in shares(root, leaves)] for root, leaves, _ in tried]
    found: list[list[float]] = []
    with _forbid_library_backward():
        for root, leaves, text in tried:
            for node in ordered(root):
                node.grad = 0.0
            call_pupil(walk, (root,), f"in the graph {text}")
            found.append([_attribute(leaf, "grad", name) for name, leaf in zip("abc", leaves, strict=False)])
    differ = [
        (g, k)
        for g, (got, right) in enumerate(zip(found, wanted, strict=True))
        for k in range(len(right))
        if not near(got[k], right[k], tolerance)
    ]
    if not differ:
        return Report(title, "right", (f"right in all {COUNT} graphs.",))
    g, k = differ[0]
    root, leaves, text = tried[g]
    agree = COUNT - len({graph for graph, _ in differ})
    got, right, name = found[g][k], wanted[g][k], "abc"[k]
    lines = (
        f"not yet: {agree} of {COUNT} graphs agree.",
        f"in {text}: {name}.grad is {got:.4g} afterwards; expected {right:.4g}.",
    )
    cause = _cause(tried, found, tolerance)
    times = got / right if right else 1.0
    if not cause and times in (2.0, 3.0) and all(near(*of, tolerance).all() for of in zip(
        found, [[times * number for number in row] for row in wanted], strict=True
    )):  # fmt: skip
        cause = "backwards"
    return wrong_report(title, lines, cause, {"name": name, "factor": f"{times:g}"}, name, got, right)


def _cause(tried: Sequence[DrawnGraph], found: Sequence[Sequence[float]], tolerance: float) -> str:
    """Return the first usual mistake that leaves the same gradients in every graph."""
    pairs = list(zip(tried, found, strict=True))
    for cause, walk in WALKS:
        if all(_same(walk(root), leaves, got, tolerance) for (root, leaves, _), got in pairs):
            return cause
    kept = all(_matches_one_path(single_ways(root, leaves), got, tolerance) for (root, leaves, _), got in pairs)
    return "overwrite" if kept else ""


def _matches_one_path(ways: Sequence[Sequence[float]], got: Sequence[float], tolerance: float) -> bool:
    """Return whether each leaf has the gradient of one of its paths: the others were overwritten."""
    return all(near(number, of, tolerance).any() for of, number in zip(ways, got, strict=True))


def _same(grads: dict[int, float], leaves: Sequence[Value], got: Sequence[float], tolerance: float) -> bool:
    return bool(near(got, [grads.get(id(leaf), 0.0) for leaf in leaves], tolerance).all())


def _in_order(nodes: Sequence[Value], root: Value, keep: bool = False, sign: float = 1.0) -> dict[int, float]:
    """Visit each node once, in this order; `keep`: the last gradient replaces the others."""
    grads = {id(root): 1.0}
    for node in nodes:
        for parent, slope in zip(node.parents, node.local_gradients, strict=True):
            share = sign * slope * grads.get(id(node), 0.0)
            grads[id(parent)] = share + (0.0 if keep else grads.get(id(parent), 0.0))
    return grads


def _found_first(root: Value) -> list[Value]:
    """Return the nodes breadth first: each node when it is found."""
    nodes = [root]
    for node in nodes:  # grows during the loop
        nodes += [parent for parent in dict.fromkeys(node.parents) if not any(parent is n for n in nodes)]
    return nodes


def _depth_first(root: Value) -> list[Value]:
    """Return the nodes depth first: each node when it is found, and all below it before its neighbour."""
    nodes: list[Value] = []

    def visit(node: Value) -> None:
        if not any(node is n for n in nodes):
            nodes.append(node)
            for parent in node.parents:
                visit(parent)

    visit(root)
    return nodes


def _order_by_paths(root: Value, last: bool = False) -> list[Value]:
    """Return each node once for each path to it, in the order of finding; `last`: take the latest found first."""
    nodes: list[Value] = []
    waiting = [root]
    while waiting and len(nodes) < MOST_NODES:
        nodes.append(waiting.pop(-1 if last else 0))
        waiting += nodes[-1].parents
    return nodes


def _behind_parents(root: Value) -> list[Value]:
    """Return each node once for each path to it, in the reverse of an order with parents first."""
    nodes: list[Value] = []

    def visit(node: Value) -> None:
        for parent in node.parents if len(nodes) < MOST_NODES else ():
            visit(parent)
        nodes.append(node)

    visit(root)
    return nodes[::-1]


def _push_each_path(root: Value, at_once: bool = False) -> dict[int, float]:
    """Recurse without memory: a node passes on its whole gradient at each visit.

    With `at_once` the recursion enters each parent before the next one gets its share.
    """
    grads = {id(root): 1.0}
    left = MOST_NODES

    def visit(node: Value) -> None:
        nonlocal left
        left -= 1
        if left < 0:
            return
        for parent, slope in zip(node.parents, node.local_gradients, strict=True):
            grads[id(parent)] = grads.get(id(parent), 0.0) + slope * grads[id(node)]
            if at_once:
                visit(parent)
        for parent in () if at_once else node.parents:
            visit(parent)

    visit(root)
    return grads


WALKS: tuple[tuple[str, WalkBack], ...] = (
    ("root", lambda root: {}),
    ("order", lambda root: _in_order(ordered(root), root)),
    ("overwrite", lambda root: _in_order(ordered(root)[::-1], root, keep=True)),
    ("sign", lambda root: _in_order(ordered(root)[::-1], root, sign=-1.0)),
    ("found", lambda root: _in_order(_found_first(root), root)),
    ("found", lambda root: _in_order(_depth_first(root), root)),
    ("visits", lambda root: _in_order(_order_by_paths(root), root)),
    ("visits", lambda root: _in_order(_order_by_paths(root, last=True), root)),
    ("visits", lambda root: _in_order(_behind_parents(root), root)),
    ("visits", lambda root: _in_order([root, *root.parents], root)),
    ("visits", _push_each_path),
    ("visits", lambda root: _push_each_path(root, at_once=True)),
)
"""Usual mistakes, with the gradients that they leave."""
