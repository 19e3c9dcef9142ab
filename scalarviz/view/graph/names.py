"""What nodes are called that have no name of their own: the variables of whoever asks for the picture."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...scalar.value import Value
from .nodes import Node

LISTED = 64
"""Elements of a list that are looked at."""


def variables(scope: Mapping[str, Any]) -> dict[int, str]:
    """Names of Values by their ids: variables, and elements of lists as ``h[0]``; the first name counts.

    Names that begin with an underscore are left out: notebooks keep results under such.
    """
    found: dict[int, str] = {}
    listed: dict[int, str] = {}
    for name, held in list(scope.items()):
        if name.startswith("_"):
            continue
        if isinstance(held, Value):
            found.setdefault(id(held), name)
        elif isinstance(held, list | tuple):
            for k, item in enumerate(held[:LISTED]):
                if isinstance(item, Value):
                    listed.setdefault(id(item), f"{name}[{k}]")
    return {**listed, **found}


def name_nodes(nodes: Sequence[Node], names: Mapping[int, str]) -> None:
    """Give names to those that have none."""
    for node in nodes:
        if not node.name:
            node.name = names.get(id(node.of), "")
