"""What is said of a node on which a pointer rests: its operation, its shape, and the derivative as the table has it."""

from __future__ import annotations

from ...scalar.sums import Row
from ...scalar.value import Value
from ..ink.text import MINUS
from .folds import Item, counted
from .nodes import Node


def said_of(item: Item) -> str:
    """Lines of words about a node or a fold."""
    if item.folded:
        said = f"{item.name} {item.title}".strip()
        return f"{said}: {counted(item.members):,} nodes" + (f", {item.weights:,} weights" if item.weights else "")
    node = item.node
    return "\n".join(filter(None, [_head(node), *_numbers(node), *_formulas(node)]))


def _head(node: Node) -> str:
    name = f"{node.name}: " if node.name else ""
    if isinstance(node.of, Row):
        return f"{name}{node.count:,} weights"
    if node.kind == "weight":
        return f"{name}weight"
    if node.leaf:
        return f"{name}number"
    return f"{name}{node.op} of {len(node.operands)}"


def _numbers(node: Node) -> list[str]:
    if isinstance(node.of, Row):
        return []
    found = [f"value {_plain(node.value)}"]
    if node.grad is not None:
        found.append(f"gradient {_plain(node.grad)}")
    return found


def _plain(value: float) -> str:
    return f"{value:.6g}".replace("-", MINUS)


def _formulas(node: Node) -> list[str]:
    """``d/da: 1 - y * y``, from the table of operations."""
    if node.leaf or not isinstance(node.of, Value) or node.of._op is None:
        return []
    entry = node.of._op.entry
    partials = [
        f"d/d{arg}: {partial if partial is not None else 'none'}"
        for arg, partial in zip(entry.args, entry.partials, strict=True)
    ]
    return [f"{entry.name}({', '.join(entry.args)}) = {entry.value}", *partials]
