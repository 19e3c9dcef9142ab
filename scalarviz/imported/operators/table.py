"""The table of operators: the function of each, the checks of a node, and helpers for the functions.

A version is the opset in which the standard last changed the operator: opset 17 has Softmax of version 13. An opset
older than a version here takes the version before. A node must have the inputs, outputs and attributes that the
standard gives its operator.

The helpers take arrays of numbers and arrays of Values alike.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...arguments import first_of
from ...errors import InputError, ScalarvizError, listing, shown
from ...onnx.graph import Node
from ...scalar import Value
from ...scalar import array as of_values
from ...scalar.kernel import numpy_form

SETTINGS: dict[str, tuple[int, ...]] = {
    "BatchNormalization": (3, 4), "Clip": (1, 2), "Dropout": (1,), "OneHot": (1,), "Pad": (2,), "Range": (0, 1, 2),
    "Resize": (1, 2), "Upsample": (1,),
}  # fmt: skip
"""Floating inputs that are settings (bounds, a ratio, scales, statistics) and never trained."""
SIDES = ("Shape", "Size")
"""Operators that need only the shape of a tensor."""
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


Array = NDArray[Any]
"""Numbers of any known dtype, or objects: Values of a graph."""
Tensors = dict[str, Array]


@dataclass(frozen=True, slots=True)
class Call:
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


Function = Callable[[Call], Sequence[Array]]
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


def _called(function: Function, call: Call) -> Sequence[Array]:
    for x in call.inputs:
        if x is not None and x.dtype.kind not in "biufO":
            raise call.wrong(f"an input has type {x.dtype}; allowed: floats of 16 to 64 bits, integers and booleans")
    try:
        with np.errstate(all="ignore"):
            return [_as_array(x) for x in function(call)]
    except ScalarvizError as error:
        raise error if str(error).startswith(call.title) else call.wrong(str(error)) from None
    except UNFIT as error:
        raise call.unfit(error) from error


def _as_array(x: Any) -> Array:
    """Return the result as an array: NumPy and Values give single numbers for results without dimensions."""
    if isinstance(x, np.ndarray):
        return x
    return values([x], ()) if isinstance(x, Value) else np.asarray(x)


def compute(node: Node, tensors: Tensors, opset: int, dtypes: Mapping[str, np.dtype[Any]]) -> None:
    """Compute a node and add its results to `tensors`, which has all of its inputs.

    `dtypes` are the file's types of tensors that are Values here. Unsuitable numbers, or too little memory, are an
    InputError that names the node.
    """
    inputs = tuple(tensors[name] if name else None for name in node.inputs)
    call = Call(node, inputs, opset, tuple(dtypes.get(name) for name in node.inputs))
    tensors |= {name: array for name, array in zip(node.outputs, TABLE[node.operator](call), strict=False) if name}


Lane = list[Any]
OBJECT = np.dtype(object)
values = of_values.values
LARGEST, MOST_VALUES = 1 << 27, 2_000_000
"""The most numbers, and Values, of one result: a file may ask for more than any memory holds."""
DEEPEST = 32
"""The most dimensions, as in NumPy's functions."""


def check_size(shape: Sequence[int], computed: bool = False) -> None:
    """Refuse a result of numbers or Values whose shape is too large or negative."""
    most = MOST_VALUES if computed else LARGEST
    if min(shape, default=0) < 0 or prod(shape) > most or len(shape) > DEEPEST:
        what = f"{'Values' if computed else 'numbers'} in {DEEPEST} dimensions"
        raise InputError(f"the result would have the shape {shown(tuple(shape))}; allowed: at most {most:,} {what}")


def broadcast(operands: Sequence[Any]) -> None:
    """Check that broadcast operands are not too large."""
    check_size(np.broadcast_shapes(*[np.shape(x) for x in operands]), any_values(*operands))


def any_values(*operands: Any) -> bool:
    """Return whether an operand is computed: an array of Values."""
    return any(isinstance(x, np.ndarray) and x.dtype == OBJECT for x in operands)


def each(name: str, *operands: Any) -> Array:
    """Apply an operation of the table elementwise, with broadcasting; numbers keep NumPy's result dtype."""
    broadcast(operands)
    if any_values(*operands):
        return _as_array(of_values.each(name, *operands))
    arrays = [x for x in operands if isinstance(x, np.ndarray | np.generic)]
    kind = np.result_type(*arrays) if arrays else np.dtype(np.float64)
    dtype = kind if kind.kind == "f" else np.dtype(np.float64)
    return np.asarray(numpy_form(name, dtype)[0](*[np.asarray(x, dtype) for x in operands]), dtype)


def either(name: str, function: Callable[..., Any], *operands: Any) -> Array:
    """Apply NumPy's function to numbers, or an operation of the table to Values."""
    if any_values(*operands):
        return each(name, *operands)
    broadcast(operands)
    return np.asarray(function(*operands))


def bare(x: Any) -> Array:
    """Return an array as a plain NumPy array, for NumPy's shape functions."""
    return np.ndarray.view(np.asarray(x), np.ndarray)


def dressed(x: Array) -> Array:
    """Return objects as `Values`; numbers unchanged."""
    return x if x.dtype != object else np.ndarray.view(x, of_values.Values)


def objects(x: Array) -> Array:
    """Return an array as Values; each number becomes its own constant."""
    if x.dtype == object:
        return dressed(x)
    check_size(x.shape, computed=True)
    return of_values.row_of(x)


def alike(*arrays: Array) -> list[Array]:
    """Return all arrays as Values if one of them is."""
    return [objects(x) for x in arrays] if any_values(*arrays) else list(arrays)


def padded(x: Array, widths: Sequence[tuple[int, int]], **how: Any) -> Array:
    """Pad as NumPy does, if it is not too large; negative widths cut off."""
    inside: list[Any] = [slice(max(0, -a), side - max(0, -b)) for (a, b), side in zip(widths, x.shape, strict=True)]
    inner, outer = bare(x)[(*inside, ...)], [(max(0, a), max(0, b)) for a, b in widths]
    check_size([side + a + b for side, (a, b) in zip(inner.shape, outer, strict=True)])
    return np.pad(inner, outer, **how)


def by_lane(x: Array, axis: int, function: Callable[[Lane], Lane]) -> Array:
    """Replace each row of Values along an axis by others."""
    return np.asanyarray(of_values.each_lane(x.view(of_values.Values), function, "by_lane", axis))


def reduced(x: Array, axes: tuple[int, ...], keep: bool, function: Callable[[Lane], Value]) -> Array:
    """Replace each row of Values over some axes by one Value."""
    return _as_array(of_values.along(x.view(of_values.Values), function, "reduce", axes, keep, {}))


def mean_of(x: Array, axis: int | tuple[int, ...], keepdims: bool = False) -> Array:
    """Return the mean of numbers; NaN for none, without a warning."""
    total = x.sum(axis, keepdims=keepdims, dtype=np.float64)
    return np.asarray(total / np.float64(x.size / total.size if total.size else 1))


def axis_of(axis: int, ndim: int) -> int:
    """Return an axis counted from the front."""
    return int(axis) + ndim if axis < 0 else int(axis)
