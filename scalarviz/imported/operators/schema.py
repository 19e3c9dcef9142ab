"""What the ONNX standard says of an operator: the version of an opset, and whether a node fits its schema.

A version is the opset in which the standard last changed the operator: opset 17 has Softmax of version 13. A node must
have the inputs, outputs and attributes that the standard gives its operator.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np

from ...errors import listing, shown
from ...onnx.graph import Node

KINDS: dict[str, type | tuple[type, ...]] = {
    "FLOAT": (float, int), "INT": int, "STRING": str, "TENSOR": np.ndarray, "FLOATS": (float, int), "INTS": int,
    "STRINGS": str,
}  # fmt: skip
"""The Python type for each kind of attribute in the standard; plural kinds are a row of it."""


@cache
def schema(operator: str, opset: int) -> Any:
    """Return the schema of an operator in an opset, or None."""
    import onnx.defs

    try:
        return onnx.defs.get_schema(operator, opset, "")
    except onnx.defs.SchemaError:
        return None


@cache
def version(operator: str, opset: int) -> int:
    """Return the version of an operator in an opset; 0 if it has none."""
    said = schema(operator, opset)
    return 0 if said is None else int(said.since_version)


def misfit(node: Node, opset: int) -> str:
    """Return why a node violates its schema ("it has 2 inputs, the standard gives it 1"); empty if it does not."""
    said = schema(node.operator, opset)
    return (
        _count(node.inputs, said.min_input, said.max_input, "input")
        or _count(node.outputs, said.min_output, said.max_output, "output")
        or _attributes(node, said.attributes)
    )


def _count(names: tuple[str, ...], least: int, most: int, what: str) -> str:
    if not least <= len(names) <= most:
        span = f"{least}" if least == most else f"{least} or more" if most > 1000 else f"{least} to {most}"
        return f"it has {len(names):,} {what}{'' if len(names) == 1 else 's'}, but the standard allows {span}"
    left_out = [str(place) for place, name in enumerate(names[:least]) if not name and what == "input"]
    return f"it needs its input {listing(left_out)}, which is left out" if left_out else ""


def _attributes(node: Node, known: Mapping[str, Any]) -> str:
    for name, value in node.attributes.items():
        if name not in known:
            allowed = listing(sorted(known)) or "none"
            return f"it has no attribute {shown(name)} in this opset; allowed: {allowed}"
        kind = str(known[name].type).rpartition(".")[2]
        row = isinstance(value, tuple)
        parts: Any = value if row else [value]  # an empty row fits all kinds of rows
        fits = row == kind.endswith("S") and all(isinstance(one, KINDS.get(kind, object)) for one in parts)
        if kind in KINDS and not fits:
            return f"its attribute {name} must be of the kind {kind}, got {shown(value)}"
    missing = [name for name, one in known.items() if one.required and name not in node.attributes]
    return f"its attribute {listing(missing)} is missing" if missing else ""
