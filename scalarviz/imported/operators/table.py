"""The table of operators: the function that computes each, and what it is given."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import InputError, ScalarvizError, shown
from ...nn._array import values
from ...onnx.graph import Node
from ...scalar import Value
from .schema import misfit
from .versions import VERSIONS

Array = NDArray[Any]
"""Numbers of any dtype that is known, or objects: Values of a graph that is made."""


@dataclass(frozen=True, slots=True)
class Call:
    """One node with what it is given.

    Attributes
    ----------
    node : Node
    inputs : tuple of ndarray or None
        None: left out. Arrays of numbers are known; arrays of objects (`nn._array.Values`) are being computed.
    opset : int
    dtypes : tuple of dtype or None
        What the file says of the inputs' types, as far as it is known: Values have none. May be shorter.
    """

    node: Node
    inputs: tuple[Array | None, ...]
    opset: int
    dtypes: tuple[np.dtype[Any] | None, ...] = ()

    def attribute(self, name: str, default: Any = None) -> Any:
        """What the node gives under that name, or the operator's default."""
        return self.node.attributes.get(name, default)

    def listed(self, name: str, default: Any = None) -> Any:
        """An attribute that is a row of numbers, as a list; or the default."""
        given = self.node.attributes.get(name)
        if given is None:
            return default
        return list(given) if isinstance(given, tuple | list | np.ndarray) else [given]

    @property
    def known(self) -> bool:
        """Whether all inputs are numbers: then the result is numbers too, and nothing is added to the graph."""
        return all(x is None or x.dtype != np.dtype(object) for x in self.inputs)

    @property
    def version(self) -> int:
        """The version of the operator in this opset."""
        return version(self.node.operator, self.opset)

    def given(self, place: int) -> bool:
        """Whether there is such an input."""
        return place < len(self.inputs) and self.inputs[place] is not None

    def input(self, place: int) -> Array:
        """One input.

        Raises
        ------
        InputError
            It is left out.
        """
        found = self.inputs[place] if place < len(self.inputs) else None
        if found is None:
            raise self.wrong(f"its input {place} is missing; this operator needs it")
        return found

    def numbers(self, place: int, what: str) -> Array:
        """An input whose numbers must be known now, such as a shape.

        Raises
        ------
        InputError
            The graph computes them.
        """
        found = self.input(place)
        if found.dtype == object:
            raise self.wrong(
                f"{what} (its input {place}) is computed from data or weights; it must be known before: a constant, "
                "or made of shapes"
            )
        return found

    def whole(self, place: int, what: str) -> list[int]:
        """Such an input as a list of whole numbers."""
        return [int(number) for number in self.numbers(place, what).ravel().tolist()]

    def only_numbers(self) -> list[Array]:
        """All inputs, for an operator that has no form for Values.

        Raises
        ------
        InputError
            One of them is being computed.
        """
        if not self.known:
            raise self.wrong(
                "it is taken of numbers that are known before (shapes, constants), but these are computed from data or "
                "weights, and it has no derivative"
            )
        return [x for x in self.inputs if x is not None]

    @property
    def title(self) -> str:
        """How messages name the node."""
        return f"{self.node.operator} {shown(self.node.name)}"

    def wrong(self, said: str) -> InputError:
        """An error that names the node."""
        return InputError(f"{self.title}: {said}")

    def unfit(self, error: Exception) -> InputError:
        """What is said of inputs that do not go together: their shapes, and what came of them."""
        shapes = ", ".join("none" if x is None else str(x.shape) for x in self.inputs[:5])
        more = f" and {len(self.inputs) - 5:,} more" if len(self.inputs) > 5 else ""
        return self.wrong(
            f"inputs of the shapes {shapes}{more} do not go together ({' '.join(str(error).split())[:200]})"
        )


Function = Callable[[Call], Sequence[Array]]
TABLE: dict[str, Function] = {}
"""By the operator's name."""


def operator(*names: str) -> Callable[[Function], Function]:
    """Put a function into the table under these names.

    In the table an infinity or a NaN is a result, and each error names the node.
    """

    def put(function: Function) -> Function:
        for name in names:
            TABLE[name] = partial(_called, function)
        return function

    return put


UNFIT = (ValueError, LookupError, TypeError, OverflowError, ZeroDivisionError, RuntimeError, MemoryError)
"""What NumPy raises of shapes and numbers that do not go together."""


def _called(function: Function, call: Call) -> Sequence[Array]:
    for x in call.inputs:
        if x is not None and x.dtype.kind not in "biufO":
            raise call.wrong(
                f"an input of the type {x.dtype}; floats of 16 to 64 bits, whole numbers and truths are known"
            )
    try:
        with np.errstate(all="ignore"):
            return [_as_array(x) for x in function(call)]
    except ScalarvizError as error:
        raise error if str(error).startswith(call.title) else call.wrong(str(error)) from None
    except UNFIT as error:
        raise call.unfit(error) from error


def _as_array(x: Any) -> Array:
    """NumPy and Values give single numbers where a result has no dimension."""
    if isinstance(x, np.ndarray):
        return x
    return values([x], ()) if isinstance(x, Value) else np.asarray(x)


@cache
def version(name: str, opset: int) -> int:
    """The version of an operator that an opset has; 0 where it has none."""
    import onnx.defs

    try:
        return int(onnx.defs.get_schema(name, opset, "").since_version)
    except onnx.defs.SchemaError:
        return 0


QUANTISED = frozenset({
    "ConvInteger", "DequantizeLinear", "DynamicQuantizeLinear", "MatMulInteger", "QLinearConv", "QLinearMatMul",
    "QuantizeLinear",
})  # fmt: skip
DOMAINS = {"com.microsoft": ": onnxruntime fuses nodes into it; let it write with ORT_ENABLE_BASIC"}
"""What helps where nodes of another domain stand."""


def supported(node: Node, opset: int) -> str:
    """Why a node cannot be computed here, in one clause; empty where it can.

    Parameters
    ----------
    node : Node
    opset : int
        Of the standard's own operators.

    Examples
    --------
    >>> supported(Node("Relu", ("x",), ("y",)), 17), supported(Node("Loop", ("n",), ("y",)), 17)
    ('', 'there is no such operator here')
    """
    if node.domain not in ("", "ai.onnx"):
        return f"it is of the domain {node.domain!r}, not of the standard{DOMAINS.get(node.domain, '')}"
    if node.operator in QUANTISED:
        return "it computes with quantised numbers, which have no gradient: take the file from before quantisation"
    if node.operator not in VERSIONS:
        return "there is no such operator here"
    oldest, newest = VERSIONS[node.operator]
    found = version(node.operator, opset)
    if found == 0:
        return f"opset {opset} has no such operator"
    if found < oldest:
        return f"it is of version {found}, versions from {oldest} on are known: export with a newer opset"
    if found > newest:
        return f"it is of version {found}, versions up to {newest} are known: export with an older opset"
    return misfit(node, opset)
