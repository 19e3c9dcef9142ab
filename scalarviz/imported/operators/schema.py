"""Whether a node has the inputs, outputs and attributes that the standard gives its operator, and of their kinds."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from ...errors import listing, shown
from ...onnx.graph import Node

KINDS: dict[str, tuple[type, ...]] = {
    "FLOAT": (float, int), "INT": (int,), "STRING": (str,), "TENSOR": (np.ndarray,), "FLOATS": (float, int),
    "INTS": (int,), "STRINGS": (str,),
}  # fmt: skip
"""By the standard's name of a kind: what its numbers are here; of those in plural there is a row."""


class Form(NamedTuple):
    """What the standard says of an operator of a version."""

    least_inputs: int
    most_inputs: int
    least_outputs: int
    most_outputs: int
    attributes: Mapping[str, tuple[str, bool]]
    """The kind of each, and whether it must be there."""


@cache
def form_of(operator: str, opset: int) -> Form:
    """What an opset says of one of its operators."""
    import onnx.defs

    said = onnx.defs.get_schema(operator, opset, "")
    attributes = {name: (str(one.type).rpartition(".")[2], bool(one.required)) for name, one in said.attributes.items()}
    return Form(said.min_input, said.max_input, said.min_output, said.max_output, attributes)


def misfit(node: Node, opset: int) -> str:
    """Why a node is none of its operator, in one clause; empty where it is.

    Parameters
    ----------
    node : Node
        Of an operator of the opset.
    opset : int

    Examples
    --------
    >>> misfit(Node("Relu", ("x", "y"), ("z",)), 17), misfit(Node("Relu", ("x",), ("z",)), 17)
    ('it has 2 inputs, the standard gives it 1', '')
    """
    form = form_of(node.operator, opset)
    return (
        _count(node.inputs, form.least_inputs, form.most_inputs, "input")
        or _count(node.outputs, form.least_outputs, form.most_outputs, "output")
        or _attributes(node, form)
    )


def _count(names: tuple[str, ...], least: int, most: int, what: str) -> str:
    if not least <= len(names) <= most:
        span = f"{least}" if least == most else f"{least} or more" if most > 1000 else f"{least} to {most}"
        return f"it has {len(names):,} {what}{'' if len(names) == 1 else 's'}, the standard gives it {span}"
    left_out = [str(place) for place, name in enumerate(names[:least]) if not name and what == "input"]
    return f"its input {listing(left_out)} is left out, which it needs" if left_out else ""


def _attributes(node: Node, form: Form) -> str:
    for name, value in node.attributes.items():
        if name not in form.attributes:
            allowed = listing(sorted(form.attributes)) or "none"
            return f"the standard knows no attribute {shown(name)} of it in this version; it knows {allowed}"
        kind = form.attributes[name][0]
        if kind in KINDS and not _of(value, kind):
            return f"its attribute {name} must be of the kind {kind}, got {shown(value)}"
    missing = [name for name, (_, needed) in form.attributes.items() if needed and name not in node.attributes]
    return f"its attribute {listing(missing)} is missing" if missing else ""


def _of(value: Any, kind: str) -> bool:
    """Whether it is of that kind; an empty row is of all kinds of rows."""
    if kind.endswith("S"):
        return isinstance(value, tuple) and all(isinstance(one, KINDS[kind]) for one in value)
    return isinstance(value, KINDS[kind])
