"""`Values`: an array of Values, with PyTorch's shapes: slices of a `Parameter` and sums of such slices.

It is a NumPy array of objects: slices, broadcasting and transposes are NumPy's, operations come from the table of
operations. A reduction is one node a lane. Rows and sums of whole parameters take a shorter way: `Parameter @ x`,
`(p * p).sum()`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from math import prod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError, OutOfRangeError, TypeMismatchError, listing, shown
from ..scalar import Value, dot, functions
from ..scalar.functions import OPERATIONS, log_softmax, softmax
from ..scalar.kernel import kernel
from ..scalar.nested import DEEPEST, too_deep
from ..scalar.single import Many, Single
from ..scalar.value import apply, as_value

Lane = list[Any]


class TensorWords(Many):
    """Shapes and reductions in PyTorch's words.

    ``dim`` is one dimension, or several as a tuple; ``keepdim=True`` (or NumPy's ``keepdims``, ``axis``) leaves a side
    of 1 in their place.

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
        """``self @ other``."""
        return self @ other

    # ---- reductions

    def sum(self, dim: Any = None, keepdim: bool = False, **numpy: Any) -> Any:
        """The sum of all, or along `dim`; each is one node."""
        return along(self, functions.sum, "sum", dim, keepdim, numpy)

    def mean(self, dim: Any = None, keepdim: bool = False, **numpy: Any) -> Any:
        """The mean of all, or along `dim`."""
        return along(self, functions.mean, "mean", dim, keepdim, numpy)

    def max(self, dim: Any = None, keepdim: bool = False, **numpy: Any) -> Any:
        """The largest of all; along `dim`, as in PyTorch, the pair (values, indices). See `amax` for the values alone.

        The gradient goes to the first that is largest. With NumPy's word ``axis=`` the values alone.
        """
        return self._extremes("max", functions.max, dim, keepdim, numpy)

    def min(self, dim: Any = None, keepdim: bool = False, **numpy: Any) -> Any:
        """The smallest, likewise."""
        return self._extremes("min", functions.min, dim, keepdim, numpy)

    def _extremes(
        self, name: str, reduce: Callable[[Lane], Value], dim: Any, keepdim: bool, numpy: dict[str, Any]
    ) -> Any:
        found = along(self, reduce, name, dim, keepdim, numpy)
        if dim is None:
            return found
        return Extremes(found, (self.argmax if name == "max" else self.argmin)(dim, keepdim))

    def amax(self, dim: Any = None, keepdim: bool = False) -> Any:
        """The largest of all, or along `dim`."""
        return along(self, functions.max, "amax", dim, keepdim, {})

    def amin(self, dim: Any = None, keepdim: bool = False) -> Any:
        """The smallest, likewise."""
        return along(self, functions.min, "amin", dim, keepdim, {})

    def logsumexp(self, dim: Any, keepdim: bool = False) -> Any:
        """``log(sum(exp(x)))`` along `dim`, without overflow."""
        return along(self, functions.logsumexp, "logsumexp", dim, keepdim, {})

    def var(
        self, dim: Any = None, unbiased: bool = True, keepdim: bool = False, *, correction: float = 1, **numpy: Any
    ) -> Any:
        """The variance, as PyTorch has it: divided by the count minus `correction` (0 with ``unbiased=False``).

        ``np.var(x)`` divides by the count, as NumPy has it.
        """
        less = numpy.pop("ddof", correction if unbiased else 0)
        return along(self, partial(spread, correction=less), "var", dim, keepdim, numpy)

    def std(
        self, dim: Any = None, unbiased: bool = True, keepdim: bool = False, *, correction: float = 1, **numpy: Any
    ) -> Any:
        """The square root of :meth:`var`."""
        return self.var(dim, unbiased, keepdim, correction=correction, **numpy).sqrt()

    def argmax(self, dim: Any = None, keepdim: bool = False, **numpy: Any) -> Any:
        """The place of the largest, a number, or those along `dim`."""
        return _places(np.argmax, self, dim, keepdim, numpy)

    def argmin(self, dim: Any = None, keepdim: bool = False, **numpy: Any) -> Any:
        """The place of the smallest, likewise."""
        return _places(np.argmin, self, dim, keepdim, numpy)

    def softmax(self, dim: int) -> Any:
        """Shares along `dim` that add up to 1."""
        return each_lane(self, softmax, "softmax", dim)

    def log_softmax(self, dim: int) -> Any:
        """The logarithms of :meth:`softmax`."""
        return each_lane(self, log_softmax, "log_softmax", dim)

    # ---- shapes

    def view(self, *shape: Any) -> Any:
        """The same numbers, in C order, in another shape."""
        return self.as_values().reshape(*shape)

    def unsqueeze(self, dim: int) -> Any:
        """A side of 1 more, at `dim`."""
        array = self.as_values()
        (place,) = dimensions(array.ndim + 1, dim, "unsqueeze", array.shape)
        return array.reshape(*array.shape[:place], 1, *array.shape[place:])

    def squeeze(self, dim: Any = None, axis: Any = None) -> Any:
        """Without the sides of 1, or without those of `dim`, as far as they are 1."""
        array = self.as_values()
        asked = dimensions(array.ndim, axis if dim is None else dim, "squeeze", array.shape)
        return array.reshape([side for d, side in enumerate(array.shape) if d not in asked or side != 1])

    def t(self) -> Any:
        """The transpose."""
        return self.as_values().T

    def transpose(self, *dims: Any) -> Any:
        """`dims` two numbers: these two dimensions change places, as in PyTorch. Else as in NumPy: see `permute`."""
        if len(dims) == 2:
            a, b = (dimensions(self.as_values().ndim, d, "transpose", self.as_values().shape)[0] for d in dims)
            return self.as_values().swapaxes(a, b)
        return np.ndarray.transpose(self.as_values(), *dims)

    def permute(self, *dims: Any) -> Any:
        """The dimensions in this order."""
        return np.ndarray.transpose(self.as_values(), *dims)

    def dim(self) -> int:
        """Number of dimensions."""
        number: int = self.as_values().ndim
        return number

    def nelement(self) -> int:
        """How many there are."""
        count: int = self.as_values().size
        return count

    # ---- copies

    def masked_fill(self, mask: Any, number: float) -> Any:
        """A copy with `number` where `mask` (of 0 and 1, or of booleans; broadcast) is."""
        array = self.as_values()
        flags = np.broadcast_to(
            np.asarray(getattr(mask, "data", mask) if isinstance(mask, Many) else mask), array.shape
        )
        found = array.copy()
        found[flags.astype(bool)] = float(number)
        return found

    def clone(self) -> Any:
        """An array of its own of the same objects."""
        return self.as_values().copy()

    def detach(self) -> Any:
        """The numbers as Values from which nothing leads back."""
        array = self.as_values()
        return like(array, [Value(v.data) for v in array.ravel().tolist()], array.shape)

    def numpy(self) -> NDArray[np.float64]:
        """The numbers, a copy."""
        return np.array(self.as_values().data)


class Extremes(NamedTuple):
    """The result of ``x.max(dim)``: the largest of each lane, and its place in the lane."""

    values: Any
    indices: Any


def like(array: Any, items: list[Any], shape: tuple[int, ...]) -> Any:
    """An array of that kind of those objects, in C order."""
    flat = np.empty(prod(shape), object)
    flat[:] = items
    return flat.reshape(shape).view(type(array))


def dimensions(ndim: int, dim: Any, name: str, shape: tuple[int, ...]) -> tuple[int, ...]:
    """`dim`, one or several of `ndim`, None for all, as numbers from 0."""
    given = tuple(range(ndim)) if dim is None else tuple(dim) if isinstance(dim, tuple | list) else (dim,)
    for d in given:
        if isinstance(d, bool) or not isinstance(d, int | np.integer) or not -ndim <= d < ndim:
            raise InputError(f".{name}(dim): dim must be a dimension of the shape {shape}, got {shown(dim)}")
    found = tuple([int(d) % ndim for d in given])
    if len(set(found)) < len(found):
        raise InputError(f".{name}(dim): give each dimension of the shape {shape} at most once, got {shown(dim)}")
    return found


def one_dimension(array: Any, dim: Any, name: str) -> int:
    if isinstance(dim, tuple | list) or dim is None:
        raise InputError(f".{name}(dim): dim must be a dimension of the shape {array.shape}, got {shown(dim)}")
    (place,) = dimensions(array.ndim, dim, name, array.shape)
    return place


def along(
    words: TensorWords, reduce: Callable[[Lane], Value], name: str, dim: Any, keepdim: bool, numpy: dict[str, Any]
) -> Any:
    """`reduce` of all numbers, or of those along `dim`; `numpy` is what ``np.sum(array)`` says besides."""
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
    """PyTorch's words and NumPy's, of which the functions of NumPy give more, with nothing in them."""
    axis, kept = numpy.pop("axis", None), numpy.pop("keepdims", False)
    if any(option is not None for option in numpy.values()):
        raise TypeMismatchError(f".{name}() of Values takes dim= and keepdim=, got {listing(numpy)}")
    return axis if dim is None else dim, keepdim or kept is True


def spread(lane: Lane, correction: float) -> Value:
    """The mean square of the differences from the mean."""
    if len(lane) <= correction:
        raise InputError(
            f"var of {len(lane)} numbers, divided by {len(lane)} - {correction}: give more, or unbiased=False"
        )
    middle = functions.mean(lane)
    differences = [as_value(x) - middle for x in lane]
    return dot(differences, differences) / (len(lane) - correction)


def each_lane(words: TensorWords, function: Callable[[Lane], Lane], name: str, dim: Any) -> Any:
    """`function` of every row along one dimension, of the same shape."""
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
    "long": "Values are float64; use .data.astype(int) for whole numbers",
    "int": "Values are float64; use .data.astype(int) for whole numbers",
    "to": "the Run chooses device and dtype: sv.Run(..., engine=, dtype=)",
    "cuda": "the Run chooses the device: sv.Run(..., engine='cuda')",
    "zero_": "assign instead: x[...] = 0.0",
    "retain_grad": "every Value keeps its gradient; leave it out",
    "requires_grad": "Weights and Parameters are trained; Values are computed from them",
}
"""Attributes that PyTorch's arrays have, and what is said of each."""


class Values(TensorWords, np.ndarray[Any, Any]):  # type: ignore[misc]  # PyTorch's arguments, not NumPy's
    """An array of Values.

    Attributes
    ----------
    data, grad : ndarray of float64
        Copies of the numbers and of the gradients, of the same shape.

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
                f"{' with options' if options else ''}: they have .sum(), .mean(), .max() and .min(), with dim="
            )
        if ufunc is np.matmul:
            return product(*operands)
        if ufunc.__name__ not in OPERATIONS:
            raise TypeMismatchError(f"np.{ufunc.__name__} of Values: use np.{listing(OPERATIONS)}")
        return each(OPERATIONS[ufunc.__name__], *operands)

    def __array_function__(self, function: Any, types: Any, args: Any, options: Any) -> Any:
        found: Any = super().__array_function__(function, types, args, options)
        if type(found) is not np.ndarray or found.dtype != object:
            return found
        return values([as_value(x) for x in found.ravel().tolist()], found.shape)

    def __getitem__(self, index: Any) -> Any:
        try:
            return super().__getitem__(index)
        except Exception as error:  # NumPy's, of many kinds
            kind = OutOfRangeError if "out of bounds" in str(error) else TypeMismatchError
            raise kind(f"Values of the shape {self.shape}[{shown(index)}]: {error!s:.200}") from None

    def __setitem__(self, index: Any, numbers: Any) -> None:
        """Put Values, or numbers, in the place of others; what was computed of these stays as it is."""
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
        """The numbers, a copy."""
        return np.array([value.data for value in self.flat], np.float64).reshape(self.shape)

    @property
    def grad(self) -> NDArray[np.float64]:
        """The gradients, a copy; 0 where there is none."""
        return np.array([value.grad or 0.0 for value in self.flat], np.float64).reshape(self.shape)

    def item(self) -> Any:  # type: ignore[override]
        """The number of an array of one."""
        return only(self, "item").item()

    def backward(self, upstream: float = 1.0) -> None:
        """`Value.backward` of an array of one."""
        only(self, "backward").backward(upstream)

    def numel(self) -> int:
        return self.size

    def pow(self, exponent: Any) -> Any:
        """``self ** exponent``."""
        return each("pow", self, exponent)

    def __repr__(self) -> str:
        numbers = all(not isinstance(v, Value) or "Symbol" not in repr(v) for v in self.flat)
        return f"Values(shape={self.shape})\n{self.data if numbers else ''}".rstrip()

    __str__ = __repr__

    def __getattr__(self, name: str) -> Any:
        said = f": {ABSENT[name]}" if name in ABSENT else ""
        raise AttributeError(f"an array of Values has no attribute {name!r}{said}")

    def _in_place(self, result: Any) -> Values:
        self[...] = result
        return self

    def __bool__(self) -> bool:
        return bool(only(self, "bool()"))

    def __float__(self) -> float:
        return float(only(self, "float()"))


def values(items: Iterable[Any], shape: tuple[int, ...]) -> Values:
    flat = np.empty(int(np.prod(shape)), object)
    flat[:] = list(items)
    return flat.reshape(shape).view(Values)


def as_objects(x: Any, what: str, level: int = 0) -> Objects:
    """`x`, a number, a Value, a parameter, an array or nested lists of these, as an array of objects."""
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
    """An operation of the table with each of the operands, broadcast."""
    given = [as_objects(x, name) for x in operands]
    try:
        with np.errstate(all="ignore"):  # a NaN or an infinity is a result, as of single Values
            found = np.frompyfunc(partial(apply, kernel(name)), len(given), 1)(*given)
    except ValueError:
        shapes = " and ".join(str(x.shape) for x in given)
        raise InputError(f"{name}: NumPy cannot broadcast the shapes {shapes}") from None
    return found.view(Values) if isinstance(found, np.ndarray) else found


def product(a: Any, b: Any) -> Any:
    """``a @ b`` of one or two dimensions each, every number a weighted sum of its own."""
    left, right = as_objects(a, "@"), as_objects(b, "@")
    fits = left.ndim in (1, 2) and right.ndim in (1, 2) and left.shape[-1] == right.shape[0]
    if not fits:
        raise InputError(
            f"@ of the shapes {left.shape} and {right.shape}: one or two dimensions each, and the last side of the "
            "left one is the first side of the right one"
        )
    columns = list(right.T) if right.ndim == 2 else [right]
    rows = list(left) if left.ndim == 2 else [left]
    sums = [dot(row.tolist(), column.tolist()) for row in rows for column in columns]
    shape = (*left.shape[:-1], *right.shape[1:])
    return values(sums, shape) if shape else sums[0]


def only(array: Values, what: str) -> Value:
    """The Value of an array of one."""
    if array.size != 1:
        raise InputError(f"{what} needs one Value, got an array of {array.size}; use .sum(), .mean() or an index")
    return as_value(array.ravel()[0])


def _method(name: str) -> Callable[..., Any]:
    def method(self: Any, *others: Any) -> Any:
        return each(name, self, *others)

    method.__name__, method.__doc__ = name, f"{name} of each number."
    return method


def _assigning(name: str) -> Callable[..., Any]:
    return lambda self, other: self._in_place(each(name, self, other))


OPERATORS = (("add", "add"), ("sub", "sub"), ("mul", "mul"), ("truediv", "div"), ("pow", "pow"))
"""Python's names of what two operands make, and those of the table."""
for _symbol, _name in OPERATORS:
    setattr(Values, f"__i{_symbol}__", _assigning(_name))

METHODS = ("add", "sub", "mul", "div", "neg", "exp", "log", "sqrt", "sin", "cos", "tanh", "sigmoid", "softplus", "relu",
           "abs", "square", "minimum", "maximum", "leaky_relu", "clip")  # fmt: skip
for _name in METHODS:
    setattr(Values, _name, _method(_name))
