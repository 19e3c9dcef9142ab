"""Which rows get a gradient. It is decided here, once; every engine follows :attr:`Program.needs_gradient`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from .passes import kernel_of, reads_parameters, reads_theta
from .tape import Node, Tape


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
