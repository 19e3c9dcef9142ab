"""What nodes must know before anything is computed: shapes, axes, places. Asked when a file is loaded, of all nodes.

An operator refuses such an input by itself when it is called; but then the network is there already, and one node is
named instead of all.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from ..errors import InputError, shown
from ..onnx.graph import Graph, Node
from .layers.table import Facts, Found
from .operators.versions import SETTINGS

NO_DERIVATIVE = frozenset(("ArgMax", "ArgMin", "Ceil", "Floor", "Hardmax", "Mod", "NonZero", "Round"))
"""Operators of known numbers alone."""
CUT = frozenset(("Div", "Pow", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMean"))
"""Operators that cut off what they make of whole numbers at the point."""
KNOWN: Mapping[str, tuple[int, ...]] = {
    "ConstantOfShape": (0,), "CumSum": (1,), "Dropout": (1, 2), "Expand": (1,), "GatherElements": (1,),
    "GatherND": (1,), "OneHot": (1,), "Pad": (1, 3), "Range": (0, 1, 2), "ReduceL1": (1,), "ReduceL2": (1,),
    "ReduceLogSum": (1,), "ReduceLogSumExp": (1,), "ReduceMax": (1,), "ReduceMean": (1,), "ReduceMin": (1,),
    "ReduceProd": (1,), "ReduceSum": (1,), "ReduceSumSquare": (1,), "Reshape": (1,), "Resize": (1, 2, 3),
    "ScatterElements": (1,), "ScatterND": (1,), "Slice": (1, 2, 3, 4), "Split": (1,), "Squeeze": (1,), "Tile": (1,),
    "Trilu": (1,), "Unsqueeze": (1,), "Upsample": (1,),
}  # fmt: skip
"""The inputs of operators that say what is made, and not of which numbers."""
OF_SIDES = frozenset(("EyeLike", "Shape", "Size"))
"""Operators that ask for the sides of a tensor, which are known where its numbers are not."""


def check_given(nodes: Sequence[Node], graph: Graph) -> None:
    """Refuse nodes whose settings are inputs of the file, which are known when it runs: a shape, or scales.

    Raises
    ------
    InputError
        There are some; names all.
    """
    moving = {port.name for port in graph.inputs}
    reasons: dict[tuple[str, str], list[str]] = {}
    for node in nodes:
        asked = [k for k in KNOWN.get(node.operator, ()) if k < len(node.inputs) and node.inputs[k] in moving]
        if asked:
            reasons.setdefault((node.operator, f"its input {asked[0]} says what is made"), []).append(node.name)
    _refuse(reasons, graph)


def check_known(order: Sequence[Found | Node], facts: Facts) -> None:
    """Refuse nodes whose settings, or whose numbers, are computed where they must be known.

    Parameters
    ----------
    order : sequence of Found or Node
        What is computed, in order.
    facts : Facts

    Raises
    ------
    InputError
        There are some; names all.
    """
    moving = {port.name for port in facts.graph.inputs}
    reasons: dict[tuple[str, str], list[str]] = {}
    for step in order:
        if isinstance(step, Found):
            moving.add(step.writes)
            continue
        places = [k for k, name in enumerate(step.inputs) if name in moving or _weight(step, k, facts)]
        reason = _reason(step, places, facts)
        if reason:
            reasons.setdefault((step.operator, reason), []).append(step.name)
        if places and step.operator not in OF_SIDES:
            moving.update(step.outputs)
    _refuse(reasons, facts.graph)


def _refuse(reasons: Mapping[tuple[str, str], Sequence[str]], graph: Graph) -> None:
    if reasons:
        raise InputError(
            f"{graph.name}: nodes ask for numbers that are known before, which are computed from data or weights "
            f"here: {'; '.join(_told(*key, names) for key, names in reasons.items())}"
        )


def _weight(node: Node, place: int, facts: Facts) -> bool:
    return place not in SETTINGS.get(node.operator, ()) and facts.trained(node.inputs[place])


def _reason(node: Node, places: Iterable[int], facts: Facts) -> str:
    """Why a node cannot be computed if these of its inputs are; empty where it can."""
    places = [*places]
    if places and node.operator in NO_DERIVATIVE:
        return "it has no derivative"
    asked = [k for k in places if k in KNOWN.get(node.operator, ())]
    if asked:
        return f"its input {asked[0]} says what is made"
    if places and node.operator == "Cast" and _rounds(node, facts):
        return "rounding has no derivative; give whole numbers as such, or cut it off"
    if places and node.operator in CUT and _cuts(node, facts):
        return "of whole numbers it cuts off at the point, which has no derivative; cast them to floats before"
    return ""


def _rounds(node: Node, facts: Facts) -> bool:
    before, behind = (facts.dtypes.get(name) for name in (node.inputs[0], node.outputs[0]))
    return before is not None and behind is not None and before.kind == "f" and behind.kind in "iu"


def _cuts(node: Node, facts: Facts) -> bool:
    """Whether it makes whole numbers, and others than a power with a whole exponent that is known."""
    made = facts.dtypes.get(node.outputs[0])
    exponent = facts.constants.get(node.inputs[1]) if node.operator == "Pow" else None
    whole = exponent is not None and bool((exponent >= 0).all() and (exponent == np.floor(exponent)).all())
    return made is not None and made.kind in "iu" and not whole


def _told(operator: str, reason: str, names: Sequence[str]) -> str:
    more = f" and {len(names) - 100:,} more" if len(names) > 100 else ""
    return f"{operator} {', '.join(map(shown, names[:100]))}{more} ({reason})"
