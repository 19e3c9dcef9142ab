"""The table of operators: names and known versions, the function that computes each, and its inputs.

A version is the opset in which the standard last changed the operator: opset 17 has Softmax of version 13. An opset
that is older than a version here takes the one before it. A node must have the inputs, outputs and attributes that the
standard gives its operator.

Operators are written with functions that take arrays of numbers and arrays of Values alike.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from math import prod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...engine.arrays.rows import numpy_form
from ...errors import InputError, ScalarvizError, listing, shown
from ...nn import _array
from ...onnx.graph import Node
from ...scalar import Value
from ...scalar.value import as_value

VERSIONS: dict[str, tuple[int, int]] = {
    # arithmetic
    "Abs": (6, 13), "Add": (7, 14), "Ceil": (6, 13), "Clip": (6, 13), "Cos": (7, 22), "Div": (7, 14), "Erf": (9, 13),
    "Exp": (6, 13), "Floor": (6, 13), "Log": (6, 13), "Max": (8, 13), "Mean": (8, 13), "Min": (8, 13), "Mod": (10, 28),
    "Mul": (7, 14), "Neg": (6, 13), "Pow": (7, 15), "Reciprocal": (6, 13), "Round": (11, 22), "Sign": (9, 13),
    "Sin": (7, 22), "Sqrt": (6, 13), "Sub": (7, 14), "Sum": (8, 13), "Tan": (7, 22), "Tanh": (6, 13),
    # logic
    "And": (7, 7), "Equal": (7, 19), "Greater": (7, 13), "GreaterOrEqual": (12, 16), "IsInf": (10, 20),
    "IsNaN": (9, 20), "Less": (7, 13), "LessOrEqual": (12, 16), "Not": (1, 1), "Or": (7, 7), "Where": (9, 16),
    "Xor": (7, 7),
    # activations
    "Celu": (12, 28), "Elu": (6, 22), "Gelu": (20, 20), "HardSigmoid": (6, 22), "HardSwish": (14, 22),
    "LeakyRelu": (6, 16), "Mish": (18, 22), "PRelu": (7, 16), "Relu": (6, 14), "Selu": (6, 22), "Shrink": (9, 9),
    "Sigmoid": (6, 13), "Softplus": (1, 22), "Softsign": (1, 22), "Swish": (24, 24), "ThresholdedRelu": (10, 22),
    # softmax
    "Hardmax": (1, 13), "LogSoftmax": (1, 13), "Softmax": (1, 13),
    # products
    "Einsum": (12, 28), "Gemm": (7, 13), "MatMul": (1, 13),
    # shapes
    "Expand": (8, 13), "Flatten": (1, 25), "Identity": (1, 25), "Reshape": (5, 25), "Shape": (1, 25), "Size": (1, 25),
    "Squeeze": (1, 25), "Tile": (6, 13), "Transpose": (1, 25), "Unsqueeze": (1, 25),
    # parts and joins
    "Concat": (4, 13), "DepthToSpace": (1, 28), "Gather": (1, 13), "GatherElements": (11, 13), "GatherND": (11, 13),
    "Pad": (2, 25), "ScatterElements": (11, 18), "ScatterND": (11, 18), "Slice": (1, 13), "SpaceToDepth": (1, 28),
    "Split": (2, 18), "Trilu": (14, 14),
    # reductions
    "ArgMax": (1, 13), "ArgMin": (1, 13), "CumSum": (11, 14), "ReduceL1": (1, 18), "ReduceL2": (1, 18),
    "ReduceLogSum": (1, 28), "ReduceLogSumExp": (1, 28), "ReduceMax": (1, 20), "ReduceMean": (1, 18),
    "ReduceMin": (1, 20), "ReduceProd": (1, 18), "ReduceSum": (1, 13), "ReduceSumSquare": (1, 18),
    # convolutions and pools
    "AveragePool": (7, 22), "Conv": (1, 22), "ConvTranspose": (1, 22), "GlobalAveragePool": (1, 22),
    "GlobalLpPool": (2, 22), "GlobalMaxPool": (1, 22), "LpPool": (2, 22), "MaxPool": (1, 22),
    "Resize": (10, 19), "Upsample": (9, 10),
    # normalisations, dropout
    "BatchNormalization": (7, 15), "Dropout": (7, 22), "GroupNormalization": (18, 21),
    "InstanceNormalization": (6, 22), "LRN": (1, 13), "LayerNormalization": (17, 17), "LpNormalization": (1, 22),
    "MeanVarianceNormalization": (9, 13), "RMSNormalization": (23, 23),
    # numbers of the graph's own
    "Cast": (6, 28), "CastLike": (15, 25), "Constant": (1, 25), "ConstantOfShape": (9, 25), "EyeLike": (9, 22),
    "NonZero": (9, 13), "OneHot": (9, 28), "Range": (11, 27),
}  # fmt: skip
SETTINGS: dict[str, tuple[int, ...]] = {
    "BatchNormalization": (3, 4), "Clip": (1, 2), "Dropout": (1,), "OneHot": (1,), "Pad": (2,), "Range": (0, 1, 2),
    "Resize": (1, 2), "Upsample": (1,),
}  # fmt: skip
"""Floating inputs that say what an operator does: bounds, a ratio, scales, statistics. They are nothing to train."""


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


Lane = list[Any]
OBJECT = np.dtype(object)
values = _array.values


LARGEST, MOST_VALUES = 1 << 27, 2_000_000
"""Numbers, and Values, of one result: what a file asks for may be more than any memory holds."""


DEEPEST = 32
"""Dimensions: as many as NumPy's functions take."""


def room(shape: Sequence[int], computed: bool = False) -> None:
    """Make sure that a result of that shape may be made.

    Raises
    ------
    InputError
        It is too large, or a side is negative.
    """
    most = MOST_VALUES if computed else LARGEST
    if min(shape, default=0) < 0 or prod(shape) > most or len(shape) > DEEPEST:
        what = f"{'Values' if computed else 'numbers'} in {DEEPEST} dimensions"
        raise InputError(f"its result would have the shape {shown(tuple(shape))}; at most {most:,} {what}")


def _broadcast(operands: Sequence[Any]) -> None:
    """Make sure that there is room for operands that are broadcast."""
    room(np.broadcast_shapes(*[np.shape(x) for x in operands]), made(*operands))


def made(*operands: Any) -> bool:
    """Whether one of them is being computed: an array of Values."""
    return any(isinstance(x, np.ndarray) and x.dtype == OBJECT for x in operands)


def each(name: str, *operands: Any) -> Array:
    """An operation of the table with each of the numbers, broadcast; of numbers in the dtype that NumPy gives them."""
    _broadcast(operands)
    if made(*operands):
        found = _array.each(name, *operands)
        return found if isinstance(found, np.ndarray) else values([found], ())
    arrays = [x for x in operands if isinstance(x, np.ndarray | np.generic)]
    kind = np.result_type(*arrays) if arrays else np.dtype(np.float64)
    dtype = kind if kind.kind == "f" else np.dtype(np.float64)
    return np.asarray(numpy_form(name, dtype)[0](*[np.asarray(x, dtype) for x in operands]), dtype)


def both(name: str, function: Callable[..., Any], *operands: Any) -> Array:
    """NumPy's function of numbers, else an operation of the table."""
    if made(*operands):
        return each(name, *operands)
    _broadcast(operands)
    return np.asarray(function(*operands))


def bare(x: Any) -> Array:
    """An array as NumPy's own, whose functions of shapes it takes."""
    return np.ndarray.view(np.asarray(x), np.ndarray)


def dressed(x: Array) -> Array:
    """Objects as Values; numbers as they are."""
    if x.dtype != object:
        return x
    found: Array = np.ndarray.view(x, _array.Values)
    return found


def objects(x: Array) -> Array:
    """As Values: numbers become constants, each one of its own."""
    if x.dtype == object:
        return dressed(x)
    room(x.shape, computed=True)
    return values([as_value(number) for number in x.astype(np.float64).ravel().tolist()], x.shape)


def alike(*arrays: Array) -> list[Array]:
    """All as Values if one is."""
    return [objects(x) for x in arrays] if made(*arrays) else list(arrays)


def lanes(x: Array, axis: int) -> Iterator[tuple[Any, Lane]]:
    """The rows of objects along an axis, each with its index in what is left of the shape."""
    moved = bare(np.moveaxis(bare(x), axis, -1))
    for index in np.ndindex(*moved.shape[:-1]):
        yield index, moved[index].tolist()


def over_lanes(x: Array, axis: int, function: Callable[[Lane], Lane], length: int | None = None) -> Array:
    """Rows of Values along an axis, each replaced by as many others, or by `length`."""
    others = np.moveaxis(bare(x), axis, -1).shape
    moved = np.empty((*others[:-1], others[-1] if length is None else length), object)
    for index, lane in lanes(x, axis):
        moved[index] = function(lane)
    return dressed(np.moveaxis(moved, -1, axis))


def reduced(x: Array, axes: tuple[int, ...], keep: bool, function: Callable[[Lane], Value]) -> Array:
    """Rows of Values over some axes, each replaced by one."""
    others = [a for a in range(x.ndim) if a not in axes]
    shape = tuple(x.shape[a] for a in others)
    flat = bare(x).transpose(*others, *axes).reshape(*shape, prod(x.shape[a] for a in axes))
    found = values([function(flat[index].tolist()) for index in np.ndindex(*shape)], shape)
    return found.reshape(*(1 if a in axes else side for a, side in enumerate(x.shape))) if keep else found


def over_last(rows: Array, function: Callable[[Lane], Value]) -> Array:
    """Rows of Values along the last axis, each replaced by one."""
    shape, flat = rows.shape[:-1], bare(rows)
    return values([function(flat[index].tolist()) for index in np.ndindex(*shape)], shape)


def mean_of(x: Array, axis: int | tuple[int, ...], keepdims: bool = False) -> Array:
    """The mean of numbers; of none NaN, without a warning."""
    total = x.sum(axis, keepdims=keepdims, dtype=np.float64)
    return np.asarray(total / np.float64(x.size / total.size if total.size else 1))


def axis_of(axis: int, ndim: int) -> int:
    """An axis counted from the front."""
    return int(axis) + ndim if axis < 0 else int(axis)


Tensors = dict[str, Array]
Dtypes = Mapping[str, np.dtype[Any]]
SIDES = ("Shape", "Size")
"""Operators that ask for sides alone, and not for the numbers of a tensor."""


def compute(node: Node, tensors: Tensors, opset: int, dtypes: Dtypes) -> None:
    """Put what a node makes of `tensors` among them.

    Parameters
    ----------
    node : Node
        Of an operator that is known.
    tensors : dict of str to ndarray
        All that it reads is there.
    opset : int
    dtypes : mapping of str to dtype
        Types that the file has for tensors which are computed here of Values.

    Raises
    ------
    InputError
        The operator does not take such numbers, or the memory does not suffice; names the node.
    """
    inputs = tuple(tensors[name] if name else None for name in node.inputs)
    call = Call(node, inputs, opset, tuple(dtypes.get(name) for name in node.inputs))
    try:
        made = TABLE[node.operator](call)
    except MemoryError:
        raise InputError(f"{call.title}: the memory does not suffice for what it makes; take smaller inputs") from None
    for name, array in zip(node.outputs, made, strict=False):
        if name:
            tensors[name] = array
