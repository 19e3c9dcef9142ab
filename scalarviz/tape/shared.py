"""Finding layers that share their weights: a convolution is recorded as one layer at each position of a picture.

What is looked for is the structure, not the module that made it: any weights that are used on several rows of inputs
at one depth will do. Nothing about pictures is assumed: an engine is given the table of operands.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .tape import Node, Terms


def is_layer(terms: Terms) -> bool:
    """Whether a weighted sum may be a row of a layer: its weights are neighbours in theta, nothing else is added."""
    return terms.kind == "param" and isinstance(terms.weights, range) and terms.offset == 0.0 and len(terms.weights) > 0


@dataclass(frozen=True, slots=True)
class Place:
    """Where a weighted sum stands in a group of layers with the same weights.

    Attributes
    ----------
    group, output, position : int
        Which group, which row of the weights, which layer.
    """

    group: int
    output: int
    position: int


def shared_layers(nodes: Sequence[Node], level: Sequence[int], gets: Sequence[bool]) -> dict[int, Place]:
    """The place of every row that belongs to two or more layers over the same weights, at one level.

    Their rows get a gradient (`gets`), or none of them does.
    """
    layers: dict[tuple[int, bool, tuple[int, ...]], list[int]] = {}
    for row, node in enumerate(nodes):
        if node.terms is not None and is_layer(node.terms):
            layers.setdefault((level[row], gets[row], node.args), []).append(row)
    groups: dict[tuple[int, ...], list[list[int]]] = {}
    for (depth, gets_one, _), rows in layers.items():
        rows.sort(key=lambda r: _first_weight(nodes[r]))
        key = _weights(nodes, rows)
        if key is not None:
            groups.setdefault((depth, int(gets_one), *key), []).append(rows)
    found = {}
    several = [members for members in groups.values() if len(members) > 1]
    for group, members in enumerate(several):
        for position, rows in enumerate(members):
            for output, row in enumerate(rows):
                found[row] = Place(group, output, position)
    return found


def _first_weight(node: Node) -> int:
    assert node.terms is not None
    first: int = node.terms.weights[0]
    return first


def _weights(nodes: Sequence[Node], rows: list[int]) -> tuple[int, ...] | None:
    """What layers must share: outputs, inputs, first weight, first bias; None if the weights are no whole block."""
    first = nodes[rows[0]]
    assert first.terms is not None
    n, bias = len(first.args), first.terms.bias
    for k, row in enumerate(rows):
        terms = nodes[row].terms
        assert terms is not None
        if terms.weights[0] != first.terms.weights[0] + k * n or terms.bias != (None if bias is None else bias + k):
            return None
    return len(rows), n, _first_weight(first), -1 if bias is None else bias
