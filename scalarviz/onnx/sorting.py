"""The order of nodes: each after all that it needs. A file that is in order stays as it is."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from heapq import heapify, heappop, heappush

from ..errors import FileFormatError, listing, shown
from .graph import Node

SHOWN = 5
"""Names in a message."""


def in_order(nodes: Sequence[Node], given: Collection[str], where: str) -> tuple[Node, ...]:
    """The nodes in an order in which every operand is made before it is used.

    Parameters
    ----------
    nodes : sequence of Node
        Names are unique.
    given : collection of str
        Tensors that are there before the first node: inputs and constants.
    where : str
        The file, for messages.

    Raises
    ------
    FileFormatError
        A tensor is made twice or never, or nodes need each other in a circle.
    """
    maker = _makers(nodes, given, where)
    _check_made(nodes, maker, given, where)
    needs = [{maker[name] for name in node.inputs if name in maker} for node in nodes]
    users: list[list[int]] = [[] for _ in nodes]
    for number, needed in enumerate(needs):
        for other in needed:
            users[other].append(number)
    waits = [len(needed) for needed in needs]
    ready = [number for number, count in enumerate(waits) if not count]
    heapify(ready)  # the first of the file comes first
    order = []
    while ready:
        number = heappop(ready)
        order.append(number)
        for user in users[number]:
            waits[user] -= 1
            if not waits[user]:
                heappush(ready, user)
    if len(order) < len(nodes):
        raise FileFormatError(
            f"{where}: {_circle(nodes, needs, waits)}; a network has no circles, export the file anew"
        )
    return tuple(nodes[number] for number in order)


def _makers(nodes: Sequence[Node], given: Collection[str], where: str) -> dict[str, int]:
    """Which node makes a tensor."""
    found: dict[str, int] = {}
    for number, node in enumerate(nodes):
        for name in filter(None, node.outputs):
            if name in found or name in given:
                other = f"node {shown(nodes[found[name]].name)}" if name in found else "an input or a stored tensor"
                raise FileFormatError(
                    f"{where}: tensor {shown(name)} is made twice: by {other} and by node {shown(node.name)}; each "
                    "name stands for one tensor, export the file anew"
                )
            found[name] = number
    return found


def _check_made(nodes: Sequence[Node], maker: Collection[str], given: Collection[str], where: str) -> None:
    missing: dict[str, str] = {}
    for node in nodes:
        for name in node.inputs:
            if name and name not in maker and name not in given:
                missing.setdefault(name, node.name)
    if missing:
        first = [f"{shown(name)} of node {shown(node)}" for name, node in list(missing.items())[:SHOWN]]
        more = f" and {len(missing) - SHOWN:,} more" if len(missing) > SHOWN else ""
        raise FileFormatError(
            f"{where}: no node, input or stored tensor has the name {listing(first)}{more}; export the whole network"
        )


def _circle(nodes: Sequence[Node], needs: Sequence[set[int]], waits: Sequence[int]) -> str:
    """Names of nodes that wait for each other. Whoever waits waits for one that waits too: going back meets itself."""
    at = next(number for number, count in enumerate(waits) if count)
    place: dict[int, int] = {}
    way: list[int] = []
    while at not in place:
        place[at] = len(way)
        way.append(at)
        at = min(other for other in needs[at] if waits[other])
    names = [shown(nodes[number].name) for number in reversed(way[place[at] :])]
    more = f" and {len(names) - SHOWN:,} more" if len(names) > SHOWN else ""
    if len(names) == 1:
        return f"node {names[0]} needs its own output"
    return f"nodes need each other in a circle: {' -> '.join(names[:SHOWN])}{more}"
