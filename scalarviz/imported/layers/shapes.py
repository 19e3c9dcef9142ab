"""`Flatten` and `Unflatten`."""

from __future__ import annotations

from math import prod

from ... import nn
from ...onnx.graph import Node
from .table import Facts, Found, layer


@layer("Flatten", "Reshape", "Squeeze", "Unsqueeze")
def reshaped(node: Node, facts: Facts) -> Found | None:
    """A sample as a row, or a row as a sample of another shape."""
    x, y = node.inputs[0], node.outputs[0]
    before, behind = facts.shapes.get(x, ()), facts.shapes.get(y, ())
    if not facts.made(x) or min(len(before), len(behind)) < 2 or before[0] != 1 or behind[0] != 1:
        return None
    sample, row = before[1:], (prod(before[1:]),)
    if behind[1:] == row and len(sample) > 1:
        return Found(nn.Flatten(), (node,), x, y, "samples")
    if sample == row and len(behind) > 2 and 0 not in behind:
        return Found(nn.Unflatten(behind[1:]), (node,), x, y, "samples")
    return None
