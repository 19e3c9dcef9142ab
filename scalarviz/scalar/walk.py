"""A backward walk between two sets of nodes: from some outputs down to some inputs and no further."""

from __future__ import annotations

from collections.abc import Sequence

from .value import Value, inner_nodes


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
