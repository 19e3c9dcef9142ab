"""The table of operators: each is a function of its node, found by the operator's name.

An opset older than the version in which the standard last changed an operator takes the version before.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from ...arguments import first_of
from ...errors import InputError, ScalarvizError, shown
from ...onnx.graph import Node
from .arrays import Array, Tensors, any_values, as_array
from .schema import misfit, version

SETTINGS: dict[str, tuple[int, ...]] = {
    "BatchNormalization": (3, 4), "Clip": (1, 2), "Dropout": (1,), "OneHot": (1,), "Pad": (2,), "Range": (0, 1, 2),
    "Resize": (1, 2), "Upsample": (1,),
}  # fmt: skip
"""Floating inputs that are settings (bounds, a ratio, scales, statistics) and never trained."""
SIDES = ("Shape", "Size")
"""Operators that need only the shape of a tensor."""
QUANTISED = frozenset({
    "ConvInteger", "DequantizeLinear", "DynamicQuantizeLinear", "MatMulInteger", "QLinearConv", "QLinearMatMul",
    "QuantizeLinear",
})  # fmt: skip
DOMAINS = {"com.microsoft": ", because onnxruntime fused nodes; write the file with ORT_ENABLE_BASIC"}
"""Advice for nodes of other domains."""
OLDEST, NEWEST = {"MaxPool": 1, "Upsample": 9}, 28
"""The oldest known version of some operators (opset 8 for all others), and the newest opset."""


def supported(node: Node, opset: int) -> str:
    """Return why a node is not supported, in one clause ("this operator is not supported"); empty if it is."""
    if node.domain not in ("", "ai.onnx"):
        return f"its domain {node.domain!r} is not the standard's{DOMAINS.get(node.domain, '')}"
    if node.operator in QUANTISED:
        return "it computes with quantised numbers, which have no gradient; use the file from before quantisation"
    if node.operator not in TABLE:
        return "this operator is not supported"
    oldest, found = OLDEST.get(node.operator) or version(node.operator, 8), version(node.operator, opset)
    if found == 0:
        return f"opset {opset} has no such operator"
    if found < oldest:
        return f"its version is {found}, but only {oldest} and newer are supported; export with a newer opset"
    if found > NEWEST:
        return f"its version is {found}, but only {NEWEST} and older are supported; export with an older opset"
    return misfit(node, opset)


@dataclass(frozen=True, slots=True)
class OperatorCall:
    """One node with its inputs."""

    node: Node
    # None: left out; an array of numbers: known; an array of objects (`scalar.array.Values`): computed
    inputs: tuple[Array | None, ...]
    opset: int
    # types from the file as far as they are known, since Values have none; may be shorter
    dtypes: tuple[np.dtype[Any] | None, ...] = ()

    def attribute(self, name: str, default: Any = None) -> Any:
        """See `Node.attribute`."""
        return self.node.attribute(name, default)

    def listed(self, name: str, default: Any = None) -> Any:
        """See `Node.listed`."""
        return self.node.listed(name, default)

    @property
    def known(self) -> bool:
        """True if all inputs are numbers: the result is numbers too, and the graph gets no node."""
        return not any_values(*self.inputs)

    @property
    def version(self) -> int:
        """The version of the operator in this opset."""
        return version(self.node.operator, self.opset)

    def optional(self, place: int) -> Array | None:
        """Return an input, or None if it is left out."""
        return self.inputs[place] if place < len(self.inputs) else None

    def input(self, place: int) -> Array:
        """Return a required input."""
        found = self.optional(place)
        if found is None:
            raise self.wrong(f"its input {place} is missing; this operator needs it")
        return found

    def all(self) -> list[Array]:
        """Return all inputs, which are all required."""
        return [self.input(k) for k in range(max(len(self.inputs), 1))]

    def numbers(self, place: int, what: str) -> Array:
        """Return an input whose numbers must be known now, such as a shape; refuse it if the graph computes it."""
        found = self.input(place)
        if found.dtype == object:
            raise self.wrong(
                f"{what} (its input {place}) is computed from data or weights; it must be a constant "
                "or come from shapes"
            )
        return found

    def integers(self, place: int, what: str) -> list[int]:
        """Return a known input as a list of whole numbers."""
        return [int(number) for number in self.numbers(place, what).ravel().tolist()]

    def row(self, place: int, what: str, default: Any = None) -> Any:
        """Return a known input as a list of whole numbers, or the default if it is left out."""
        return default if self.optional(place) is None else self.integers(place, what)

    def only_numbers(self) -> list[Array]:
        """Return all inputs, for an operator without a form for Values."""
        if not self.known:
            raise self.wrong(
                "it has no derivative, so its inputs must be constants or shapes; here they are computed from data or "
                "weights"
            )
        return self.all()

    @property
    def title(self) -> str:
        """The name of the node in messages."""
        return f"{self.node.operator} {shown(self.node.name)}"

    def wrong(self, said: str) -> InputError:
        """Return an error that names the node."""
        return InputError(f"{self.title}: {said}")

    def unfit(self, error: Exception) -> InputError:
        """Return the error for inputs that do not fit together, with their shapes."""
        shapes = first_of(("none" if x is None else x.shape for x in self.inputs), 5)
        return self.wrong(f"inputs of the shapes {shapes} do not fit together ({' '.join(str(error).split())[:200]})")


Function = Callable[[OperatorCall], Sequence[Array]]
TABLE: dict[str, Function] = {}
"""The function of each operator, by name."""


def operator(*names: str) -> Callable[[Function], Function]:
    """Register a function under these names.

    When it is called, an infinity or a NaN is a valid result, and each error names the node.
    """

    def register(function: Function) -> Function:
        TABLE.update(dict.fromkeys(names, partial(_called, function)))
        return function

    return register


UNFIT = (ValueError, LookupError, TypeError, OverflowError, ZeroDivisionError, RuntimeError, MemoryError)
"""NumPy's errors for shapes and numbers that do not fit together."""


def _called(function: Function, call: OperatorCall) -> Sequence[Array]:
    for x in call.inputs:
        if x is not None and x.dtype.kind not in "biufO":
            raise call.wrong(f"an input has type {x.dtype}; allowed: floats of 16 to 64 bits, integers and booleans")
    try:
        with np.errstate(all="ignore"):
            return [as_array(x) for x in function(call)]
    except ScalarvizError as error:
        raise error if str(error).startswith(call.title) else call.wrong(str(error)) from None
    except UNFIT as error:
        raise call.unfit(error) from error


def compute(node: Node, tensors: Tensors, opset: int, dtypes: Mapping[str, np.dtype[Any]]) -> None:
    """Compute a node and add its results to `tensors`, which has all of its inputs.

    `dtypes` are the file's types of tensors that are Values here. Unsuitable numbers, or too little memory, are an
    InputError that names the node.
    """
    inputs = tuple(tensors[name] if name else None for name in node.inputs)
    call = OperatorCall(node, inputs, opset, tuple(dtypes.get(name) for name in node.inputs))
    tensors |= {name: array for name, array in zip(node.outputs, TABLE[node.operator](call), strict=False) if name}
