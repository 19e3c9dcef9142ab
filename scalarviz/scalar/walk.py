"""Walks back through a graph: the nodes below others, and from some outputs down to some inputs and no further."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .value import Value

holder: type = object
"""What a leaf is that keeps its own gradient; ``value``, which defines it, sets it. A Weight's lies in its store."""

_order_of = attrgetter("_order")


def inner_nodes(roots: Iterable[Value], ends: Iterable[Value] = ()) -> list[Value]:
    """Every node with parents that a derivative of `roots` goes to, youngest first, gradients cleared.

    The walk does not go below `ends`, which are left out. Nodes that it does not come to because an operand has no
    derivative (the condition of ``where``) have their gradients cleared too: the older call's would be no gradient of
    `roots`.
    """
    seen = set(ends)
    found = [root for root in dict.fromkeys(roots) if root._op is not None and root not in seen]
    seen.update(found)
    aside: list[Value] = []
    for node in found:  # grows meanwhile
        node.grad = 0.0
        op: Any = node._op
        if op.straight:
            below: Sequence[Value] = node._parents
        else:
            below = node._below()
            if op.partly:
                aside += node._parents  # some of them: the others are met anyhow
        for parent in below:
            if parent._op is None:
                if type(parent) is holder and parent.grad is None:  # cleared as in PyTorch
                    parent.grad = 0.0  # type: ignore[unreachable]
            elif parent not in seen:
                seen.add(parent)
                found.append(parent)
    if aside:
        _clear(aside, seen)
    found.sort(key=_order_of, reverse=True)
    return found


def _clear(nodes: list[Value], apart: set[Value]) -> None:
    """Set the gradients of `nodes` and of all below to 0, except for leaves and for what is `apart`."""
    done: set[Value] = set()
    while nodes:
        node = nodes.pop()
        op = node._op
        if op is not None and node not in apart and node not in done:
            done.add(node)
            node.grad = 0.0
            nodes += node._parents if op.partly else node._below()


def backward_between(outputs: Sequence[Value], upstreams: Sequence[float], inputs: Sequence[Value]) -> list[float]:
    """Gradients of ``sum(upstream * output)`` by the inputs, taking the inputs as leaves.

    Parameters
    ----------
    outputs, upstreams : sequences of the same length
        Where the walk starts, and with which gradients.
    inputs : sequence of Value
        Where it ends: nothing below them is touched.

    Returns
    -------
    list of float
        One gradient an input. A Value that stands at two places has its whole gradient at the first and 0 at the
        second, so that the sum over places is right.

    Notes
    -----
    Other leaves (weights) accumulate, and so do inputs that are leaves themselves.
    """
    ends = dict.fromkeys(inputs)
    before = {end: end.grad if end._op is None else 0.0 for end in ends}
    for end in ends:
        end.grad = 0.0
    nodes = inner_nodes(outputs, ends)
    for output, upstream in zip(outputs, upstreams, strict=True):
        output.grad += upstream
    for node in nodes:
        node._op.pull(node)  # type: ignore[union-attr]
    found = {end: end.grad for end in ends}
    for end, old in before.items():
        end.grad = old + found[end]
    return [found.pop(x, 0.0) for x in inputs]
