"""`Values`: an array of Values, with PyTorch's shapes: slices of a `Parameter` and sums of such slices.

It is a NumPy array of objects: NumPy does slices, broadcasting and transposes; the operations come from the table of
operations. A reduction is one node for each lane. Rows and sums of whole parameters use shortcuts: `Parameter @ x`,
`(p * p).sum()`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from math import prod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..arguments import attributes
from ..errors import InputError, OutOfRangeError, TypeMismatchError, listing, shown
from . import functions
from .functions import OPERATIONS, log_softmax, softmax
from .kernel import kernel
from .nested import DEEPEST, too_deep
from .single import Many, Single
from .sums import dot
from .value import Value, apply, as_value

Lane = list[Any]


class TensorWords(Many):
    """Shapes and reductions in PyTorch's words.

    ``dim`` is one dimension, or a tuple of several. With ``keepdim=True`` these dimensions stay, with size 1. NumPy's
    ``axis`` and ``keepdims`` work too.

    Examples
    --------
    >>> from scalarviz.nn import Parameter
    >>> p = Parameter([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    >>> p.mean(0, keepdim=True).data.tolist(), p.var(0).data.tolist(), p.view(-1, 3).shape
    ([[3.0, 4.0]], [4.0, 4.0], (2, 3))
    """

    __slots__ = ()

    def each(self, name: str, *operands: Any) -> Any:
        return each(name, *operands)

    def matmul(self, other: Any) -> Any:
        """Return ``self @ other``."""
        return self @ other

    # ---- reductions

    def sum(self, dim: Any = None, keepdim: bool = False, **numpy: Any) -> Any:
        """Return the sum of all numbers, or along `dim`; each sum is one node."""
        return along(self, functions.sum, "sum", dim, keepdim, numpy)

    def mean(self, dim: Any = None, keepdim: bool = False, **numpy: Any) -> Any:
        """Return the mean of all numbers, or along `dim`."""
        return along(self, functions.mean, "mean", dim, keepdim, numpy)

    def max(self, dim: Any = None, keepdim: bool = False, **numpy: Any) -> Any:
        """Return the largest number; along `dim`, as in PyTorch, the pair (values, indices).

        `amax` returns values only.

        The gradient goes to the first of equal largest numbers. NumPy's ``axis=`` returns the values only.
        """
        return self._extremes("max", functions.max, dim, keepdim, numpy)

    def min(self, dim: Any = None, keepdim: bool = False, **numpy: Any) -> Any:
        """Return the smallest number; otherwise like :meth:`max`."""
        return self._extremes("min", functions.min, dim, keepdim, numpy)

    def _extremes(
        self, name: str, reduce: Callable[[Lane], Value], dim: Any, keepdim: bool, numpy: dict[str, Any]
    ) -> Any:
        found = along(self, reduce, name, dim, keepdim, numpy)
        if dim is None:
            return found
        return Extremes(found, (self.argmax if name == "max" else self.argmin)(dim, keepdim))

    def amax(self, dim: Any = None, keepdim: bool = False) -> Any:
        """Return the largest number, or the largest along `dim`."""
        return along(self, functions.max, "amax", dim, keepdim, {})

    def amin(self, dim: Any = None, keepdim: bool = False) -> Any:
        """Return the smallest number, or the smallest along `dim`."""
        return along(self, functions.min, "amin", dim, keepdim, {})

    def logsumexp(self, dim: Any, keepdim: bool = False) -> Any:
        """Return ``log(sum(exp(x)))`` along `dim`, without overflow."""
        return along(self, functions.logsumexp, "logsumexp", dim, keepdim, {})

    def var(
        self, dim: Any = None, unbiased: bool = True, keepdim: bool = False, *, correction: float = 1, **numpy: Any
    ) -> Any:
        """Return the variance as in PyTorch: divided by the count minus `correction` (0 with ``unbiased=False``).

        ``np.var(x)`` divides by the count, as in NumPy.
        """
        less = numpy.pop("ddof", correction if unbiased else 0)
        return along(self, partial(spread, correction=less), "var", dim, keepdim, numpy)

    def std(
        self, dim: Any = None, unbiased: bool = True, keepdim: bool = False, *, correction: float = 1, **numpy: Any
    ) -> Any:
        """Return the square root of :meth:`var`."""
        return self.var(dim, unbiased, keepdim, correction=correction, **numpy).sqrt()

    def argmax(self, dim: Any = None, keepdim: bool = False, **numpy: Any) -> Any:
        """Return the index of the largest number, or the indices along `dim`."""
        return _places(np.argmax, self, dim, keepdim, numpy)

    def argmin(self, dim: Any = None, keepdim: bool = False, **numpy: Any) -> Any:
        """Return the index of the smallest number, or the indices along `dim`."""
        return _places(np.argmin, self, dim, keepdim, numpy)

    def softmax(self, dim: int) -> Any:
        """Return shares along `dim` that add up to 1."""
        return each_lane(self, softmax, "softmax", dim)

    def log_softmax(self, dim: int) -> Any:
        """Return the logarithms of :meth:`softmax`."""
        return each_lane(self, log_softmax, "log_softmax", dim)

    # ---- shapes

    def view(self, *shape: Any) -> Any:
        """Return the same numbers, in C order, in another shape."""
        return self.as_values().reshape(*shape)

    def unsqueeze(self, dim: int) -> Any:
        """Return the array with a new dimension of size 1 at `dim`."""
        array = self.as_values()
        (place,) = dimensions(array.ndim + 1, dim, "unsqueeze", array.shape)
        return array.reshape(*array.shape[:place], 1, *array.shape[place:])

    def squeeze(self, dim: Any = None, axis: Any = None) -> Any:
        """Return the array without dimensions of size 1, or only without those of `dim`."""
        array = self.as_values()
        asked = dimensions(array.ndim, axis if dim is None else dim, "squeeze", array.shape)
        return array.reshape([side for d, side in enumerate(array.shape) if d not in asked or side != 1])

    def t(self) -> Any:
        """Return the transpose."""
        return self.as_values().T

    def transpose(self, *dims: Any) -> Any:
        """Swap two dimensions, as in PyTorch.

        With any other number of arguments, permute as NumPy does (see `permute`).
        """
        if len(dims) == 2:
            a, b = (dimensions(self.as_values().ndim, d, "transpose", self.as_values().shape)[0] for d in dims)
            return self.as_values().swapaxes(a, b)
        return np.ndarray.transpose(self.as_values(), *dims)

    def permute(self, *dims: Any) -> Any:
        """Return the array with its dimensions in this order."""
        return np.ndarray.transpose(self.as_values(), *dims)

    def dim(self) -> int:
        """Return the number of dimensions."""
        return int(self.as_values().ndim)

    def nelement(self) -> int:
        """Return the number of elements."""
        return int(self.as_values().size)

    # ---- copies

    def masked_fill(self, mask: Any, number: float) -> Any:
        """Return a copy with `number` where `mask` is true. The mask holds booleans or 0 and 1, and is broadcast."""
        array = self.as_values()
        flags = np.broadcast_to(
            np.asarray(getattr(mask, "data", mask) if isinstance(mask, Many) else mask), array.shape
        )
        found = array.copy()
        found[flags.astype(bool)] = float(number)
        return found

    def clone(self) -> Any:
        """Return a new array of the same objects."""
        return self.as_values().copy()

    def detach(self) -> Any:
        """Return the numbers as Values without a graph."""
        array = self.as_values()
        return like(array, [Value(v.data) for v in array.ravel().tolist()], array.shape)

    def numpy(self) -> NDArray[np.float64]:
        """Return a copy of the numbers."""
        return np.array(self.as_values().data)


class Extremes(NamedTuple):
    """The result of ``x.max(dim)``: the largest number of each lane, and its index in the lane."""

    values: Any
    indices: Any


def like(array: Any, items: list[Any], shape: tuple[int, ...]) -> Any:
    """Return the objects `items`, in C order, as an array of the same type as `array`."""
    flat = np.empty(prod(shape), object)
    flat[:] = items
    return flat.reshape(shape).view(type(array))


def dimensions(ndim: int, dim: Any, name: str, shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return `dim` as a tuple of dimensions from 0; None stands for all `ndim`."""
    given = tuple(range(ndim)) if dim is None else tuple(dim) if isinstance(dim, tuple | list) else (dim,)
    for d in given:
        if isinstance(d, bool) or not isinstance(d, int | np.integer) or not -ndim <= d < ndim:
            raise InputError(f".{name}(dim): dim must be a dimension of the shape {shape}, got {shown(dim)}")
    found = tuple([int(d) % ndim for d in given])
    if len(set(found)) < len(found):
        raise InputError(f".{name}(dim): give each dimension of the shape {shape} at most once, got {shown(dim)}")
    return found


def one_dimension(array: Any, dim: Any, name: str) -> int:
    """Return `dim`, which must be a single dimension, counted from 0."""
    if isinstance(dim, tuple | list) or dim is None:
        raise InputError(f".{name}(dim): dim must be a dimension of the shape {array.shape}, got {shown(dim)}")
    (place,) = dimensions(array.ndim, dim, name, array.shape)
    return place


def along(
    words: TensorWords, reduce: Callable[[Lane], Value], name: str, dim: Any, keepdim: bool, numpy: dict[str, Any]
) -> Any:
    """Apply `reduce` to all numbers, or along `dim`. `numpy` holds further arguments of ``np.sum(array)``."""
    array = words.as_values()
    dim, keepdim = _dim_and_keepdim(name, dim, keepdim, numpy)
    gone = dimensions(array.ndim, dim, name, array.shape)
    left = [d for d in range(array.ndim) if d not in gone]
    count, shape = prod(array.shape[d] for d in gone), tuple(array.shape[d] for d in left)
    lanes = np.ndarray.transpose(array, (*left, *gone)).reshape(prod(shape), count)
    found = [reduce(lane.tolist()) for lane in lanes]
    if keepdim:
        shape = tuple(1 if d in gone else side for d, side in enumerate(array.shape))
    return like(array, found, shape) if shape else found[0]


def _dim_and_keepdim(name: str, dim: Any, keepdim: bool, numpy: dict[str, Any]) -> tuple[Any, bool]:
    """Merge PyTorch's words with NumPy's. NumPy's functions also pass options that are None."""
    axis, kept = numpy.pop("axis", None), numpy.pop("keepdims", False)
    if any(option is not None for option in numpy.values()):
        raise TypeMismatchError(f".{name}() of Values takes dim= and keepdim=, got {listing(numpy)}")
    return axis if dim is None else dim, keepdim or kept is True


def spread(lane: Lane, correction: float) -> Value:
    """Return the variance of the lane: squared differences from the mean, divided by the count minus `correction`."""
    if len(lane) <= correction:
        raise InputError(f"var divides by {len(lane)} - {correction}; give more numbers, or unbiased=False")
    middle = functions.mean(lane)
    differences = [as_value(x) - middle for x in lane]
    return dot(differences, differences) / (len(lane) - correction)


def each_lane(words: TensorWords, function: Callable[[Lane], Lane], name: str, dim: Any) -> Any:
    """Apply `function` to every row along one dimension; the shape stays."""
    array = words.as_values()
    place = one_dimension(array, dim, name)
    lanes = np.moveaxis(array, place, -1)
    found = [v for lane in lanes.reshape(-1, lanes.shape[-1]) for v in function(lane.tolist())]
    return np.moveaxis(like(array, found, lanes.shape), -1, place)


def _places(find: Callable[..., Any], words: TensorWords, dim: Any, keepdim: bool, numpy: dict[str, Any]) -> Any:
    array = words.as_values()
    dim, keepdim = _dim_and_keepdim(find.__name__, dim, keepdim, numpy)
    place = None if dim is None else one_dimension(array, dim, find.__name__)
    return find(array.data, axis=place, keepdims=keepdim)


Objects = NDArray[np.object_]

ABSENT = {
    "float": "Values are float64; a comparison gives 0 and 1",
    **dict.fromkeys(("long", "int"), "Values are float64; use .data.astype(int) for whole numbers"),
    "to": "choose device and dtype in sv.Run(..., engine=, dtype=)",
    "cuda": "the Run chooses the device: sv.Run(..., engine='cuda')",
    "zero_": "assign instead: x[...] = 0.0",
    "retain_grad": "every Value keeps its gradient; omit the call",
    "requires_grad": "Weights and Parameters are trained; Values are computed from them",
}
"""Attributes of PyTorch's arrays that are missing here, each with advice."""


class Values(TensorWords, np.ndarray[Any, Any]):  # type: ignore[misc]  # PyTorch's arguments, not NumPy's
    """An array of Values.

    Attributes
    ----------
    data, grad : ndarray of float64
        Copies of the numbers and of the gradients, in the shape of the array.

    Examples
    --------
    >>> from scalarviz.nn import Parameter
    >>> p = Parameter([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    >>> p[1:].shape, p[:, 0].data.tolist(), (p[[0, 2]] * 2).sum().data
    ((2, 2), [1.0, 3.0, 5.0], 28.0)
    """

    __slots__ = ()

    def __array_ufunc__(self, ufunc: Any, method: str, *operands: Any, **options: Any) -> Any:
        if method != "__call__" or options:
            raise TypeMismatchError(
                f"np.{ufunc.__name__}{'' if method == '__call__' else '.' + method} of Values"
                f"{' with options' if options else ''} is not supported; use .sum(), .mean(), .max(), .min() with dim="
            )
        if ufunc is np.matmul:
            return product(*operands)
        if ufunc.__name__ not in OPERATIONS:
            raise TypeMismatchError(f"np.{ufunc.__name__} of Values is not supported; use np.{listing(OPERATIONS)}")
        return each(OPERATIONS[ufunc.__name__], *operands)

    def __array_function__(self, function: Any, types: Any, args: Any, options: Any) -> Any:
        found: Any = super().__array_function__(function, types, args, options)
        if type(found) is not np.ndarray or found.dtype != object:
            return found
        return values([as_value(x) for x in found.ravel().tolist()], found.shape)

    def __getitem__(self, index: Any) -> Any:
        try:
            return super().__getitem__(index)
        except Exception as error:  # NumPy raises many kinds
            kind = OutOfRangeError if "out of bounds" in str(error) else TypeMismatchError
            raise kind(f"index [{shown(index)}] of Values of shape {self.shape}: {error!s:.200}") from None

    def __setitem__(self, index: Any, numbers: Any) -> None:
        """Replace elements by Values or numbers; results computed from the old ones stay as they are."""
        given = as_objects(numbers, "Values[...] =")
        given = np.ndarray.view(values([as_value(x) for x in given.ravel().tolist()], given.shape), np.ndarray)
        try:
            super().__setitem__(index, given if given.ndim else given[()])
        except ValueError:
            raise InputError(
                f"Values[...] = ...: got shape {given.shape}; the selected part has shape {np.shape(self[index])}"
            ) from None

    def as_values(self) -> Values:
        return self

    def view(self, *shape: Any) -> Any:  # type: ignore[override]
        first = shape[0] if shape else None
        return super().reshape(*shape) if isinstance(first, int | np.integer | tuple) else np.ndarray.view(self, *shape)

    @property
    def data(self) -> NDArray[np.float64]:  # type: ignore[override]
        """A copy of the numbers."""
        return np.array([value.data for value in self.flat], np.float64).reshape(self.shape)

    @property
    def grad(self) -> NDArray[np.float64]:
        """A copy of the gradients; 0 for a Value without one."""
        return np.array([value.grad or 0.0 for value in self.flat], np.float64).reshape(self.shape)

    def item(self) -> Any:  # type: ignore[override]
        """Return the number of an array with one element."""
        return only(self, "item").item()

    def backward(self, upstream: float = 1.0) -> None:
        """Call `Value.backward` of an array with one element."""
        only(self, "backward").backward(upstream)

    def numel(self) -> int:
        return self.size

    def pow(self, exponent: Any) -> Any:
        """Return ``self ** exponent``."""
        return each("pow", self, exponent)

    def __repr__(self) -> str:
        numbers = all(not isinstance(v, Value) or "Symbol" not in repr(v) for v in self.flat)
        return f"Values(shape={self.shape})\n{self.data if numbers else ''}".rstrip()

    __str__ = __repr__

    __getattr__: Callable[[Any, str], Any] = attributes(ABSENT, "an array of Values")

    def _in_place(self, result: Any) -> Values:
        self[...] = result
        return self

    def __bool__(self) -> bool:
        return bool(only(self, "bool()"))

    def __float__(self) -> float:
        return float(only(self, "float()"))


def values(items: Iterable[Any], shape: tuple[int, ...]) -> Values:
    """Return objects, in C order, as an array of this shape."""
    flat = np.empty(int(np.prod(shape)), object)
    flat[:] = list(items)
    return flat.reshape(shape).view(Values)


def as_objects(x: Any, what: str, level: int = 0) -> Objects:
    """Return `x` as an array of objects: a number, a Value, a parameter, an array, or nested lists of these."""
    if level > DEEPEST:
        raise too_deep(f"{what}: a list")
    if isinstance(x, Values):
        return np.ndarray.view(x, np.ndarray)
    if isinstance(x, Many):
        found: Objects = x.as_values().view(np.ndarray)
        return found
    if isinstance(x, Value | Single):
        return np.array(as_value(x), dtype=object)
    if isinstance(x, Extremes):
        raise TypeMismatchError(f"{what}: .max(dim) and .min(dim) return a pair; use its .values (or .indices)")
    if isinstance(x, list | tuple):
        rows = [as_objects(item, what, level + 1) for item in x]
        if len({row.shape for row in rows}) > 1:
            raise InputError(f"{what}: the lists are ragged, of the shapes {listing(str(row.shape) for row in rows)}")
        joined = np.empty((len(rows), *(rows[0].shape if rows else ())), object)
        for place, row in enumerate(rows):
            joined[place] = row if row.ndim else row[()]
        return joined
    array = np.asarray(x)
    if array.dtype.kind == "O" and isinstance(x, np.ndarray):
        return as_objects(x.tolist(), what, level + 1)
    if array.dtype.kind not in "biuf" or isinstance(x, np.ma.MaskedArray):
        raise TypeMismatchError(f"{what}: an operand must be a number, a Value or an array of them, got {shown(x)}")
    return array.astype(np.float64).astype(object)


def each(name: str, *operands: Any) -> Any:
    """Apply an operation of the table elementwise to the operands, which are broadcast."""
    given = [as_objects(x, name) for x in operands]
    try:
        with np.errstate(all="ignore"):  # a NaN or an infinity is a result, as for single Values
            found = np.frompyfunc(partial(apply, kernel(name)), len(given), 1)(*given)
    except ValueError:
        shapes = " and ".join(str(x.shape) for x in given)
        raise InputError(f"{name}: NumPy cannot broadcast the shapes {shapes}") from None
    return found.view(Values) if isinstance(found, np.ndarray) else found


def product(a: Any, b: Any) -> Any:
    """Return ``a @ b`` for operands with one or two dimensions; each number is its own weighted sum."""
    left, right = as_objects(a, "@"), as_objects(b, "@")
    fits = left.ndim in (1, 2) and right.ndim in (1, 2) and left.shape[-1] == right.shape[0]
    if not fits:
        raise InputError(
            f"@ cannot multiply the shapes {left.shape} and {right.shape}: each operand needs one or two dimensions, "
            "and the last dimension of the left one must equal the first dimension of the right one"
        )
    columns = list(right.T) if right.ndim == 2 else [right]
    rows = list(left) if left.ndim == 2 else [left]
    sums = [dot(row.tolist(), column.tolist()) for row in rows for column in columns]
    shape = (*left.shape[:-1], *right.shape[1:])
    return values(sums, shape) if shape else sums[0]


def only(array: Values, what: str) -> Value:
    """Return the Value of an array with one element."""
    if array.size != 1:
        raise InputError(f"{what} needs one Value, got {array.size} in an array; use .sum(), .mean() or an index")
    return as_value(array.ravel()[0])


def _method(name: str) -> Callable[..., Any]:
    def method(self: Any, *others: Any) -> Any:
        return each(name, self, *others)

    method.__name__, method.__doc__ = name, f"{name} of each number."
    return method


def _assigning(name: str) -> Callable[..., Any]:
    return lambda self, other: self._in_place(each(name, self, other))


OPERATORS = (("add", "add"), ("sub", "sub"), ("mul", "mul"), ("truediv", "div"), ("pow", "pow"))
"""Python's names of binary operators, and the table's."""
for _symbol, _name in OPERATORS:
    setattr(Values, f"__i{_symbol}__", _assigning(_name))

METHODS = ("add", "sub", "mul", "div", "neg", "exp", "log", "sqrt", "sin", "cos", "tanh", "sigmoid", "softplus", "relu",
           "abs", "square", "minimum", "maximum", "leaky_relu", "clip")  # fmt: skip
for _name in METHODS:
    setattr(Values, _name, _method(_name))
