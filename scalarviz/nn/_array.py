"""`Values`: an array of Values, with PyTorch's shapes: what slices of a `Parameter` and sums of such are.

It is a NumPy array of objects, so slices, broadcasting, transposes and loops are NumPy's; what is computed comes from
the table of operations. Rows and sums of whole parameters take a shorter way: `Parameter @ x`, `(p * p).sum()`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError, OutOfRangeError, TypeMismatchError, listing, shown
from ..scalar import Value, dot
from ..scalar.kernel import kernel
from ..scalar.many import Many
from ..scalar.nested import DEEPEST, too_deep
from ..scalar.single import Single
from ..scalar.ufuncs import OPERATIONS
from ..scalar.value import apply, as_value
from ._tensor_words import Extremes, TensorWords

Objects = NDArray[np.object_]

ABSENT = {
    "float": "numbers are float64; a comparison gives 0 and 1",
    "long": "numbers are float64; take .data.astype(int) for whole numbers",
    "int": "numbers are float64; take .data.astype(int) for whole numbers",
    "to": "a network lies where its Run computes: sv.Run(..., engine=, dtype=)",
    "cuda": "a network lies where its Run computes: sv.Run(..., engine='cuda')",
    "zero_": "assign: x[...] = 0.0",
    "retain_grad": "every Value keeps its gradient; leave it out",
    "requires_grad": "Weights and Parameters are trained; Values are what is computed of them",
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
            raise TypeMismatchError(f"np.{ufunc.__name__} of Values: they know np.{listing(OPERATIONS)}")
        return each(OPERATIONS[ufunc.__name__], *operands)

    def __array_function__(self, function: Any, types: Any, args: Any, options: Any) -> Any:
        """``np.concatenate`` and its like: what NumPy makes of the objects, as Values again."""
        found: Any = super().__array_function__(function, types, args, options)
        if type(found) is not np.ndarray or found.dtype != object:
            return found
        return values([as_value(x) for x in found.ravel().tolist()], found.shape)

    def __getitem__(self, index: Any) -> Any:
        """What NumPy makes of an index."""
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
                f"Values[...] = of the shape {given.shape}: what is meant has the shape {np.shape(self[index])}"
            ) from None

    def as_values(self) -> Values:
        """Itself."""
        return self

    def view(self, *shape: Any) -> Any:  # type: ignore[override]
        """The same numbers, in C order, in another shape, as PyTorch has it (a type: NumPy's view)."""
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

    def each(self, name: str, *operands: Any) -> Any:
        """An operation of the table with each of the numbers."""
        return each(name, *operands)

    def item(self) -> Any:  # type: ignore[override]
        """The number of an array of one."""
        return only(self, "item").item()

    def backward(self, upstream: float = 1.0) -> None:
        """`Value.backward` of an array of one."""
        only(self, "backward").backward(upstream)

    def numel(self) -> int:
        """How many there are."""
        return self.size

    def pow(self, exponent: Any) -> Any:
        """``self ** exponent``."""
        return each("pow", self, exponent)

    def matmul(self, other: Any) -> Any:
        """``self @ other``."""
        return self @ other

    def __repr__(self) -> str:
        return f"Values(shape={self.shape})\n{self.data if all(_has_number(v) for v in self.flat) else ''}".rstrip()

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


def _has_number(value: Any) -> bool:
    return not isinstance(value, Value) or "Symbol" not in repr(value)


def values(items: Iterable[Any], shape: tuple[int, ...]) -> Values:
    """An array of those, in C order."""
    flat = np.empty(int(np.prod(shape)), object)
    flat[:] = list(items)
    return flat.reshape(shape).view(Values)


def as_objects(x: Any, what: str, level: int = 0) -> Objects:
    """`x`, a number, a Value, a parameter, an array or nested lists of these, as an array of objects.

    Raises
    ------
    TypeMismatchError
        It is something else.
    InputError
        The lists are ragged, or nested too deeply: `level` is how many are around `x`.
    """
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
        raise TypeMismatchError(f"{what}: .max(dim) and .min(dim) give a pair; take its .values (or .indices)")
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
        raise TypeMismatchError(f"{what}: an operand is a number, a Value or an array of them, got {shown(x)}")
    return array.astype(np.float64).astype(object)


def each(name: str, *operands: Any) -> Any:
    """An operation of the table with each of the operands, broadcast.

    Raises
    ------
    InputError
        The shapes do not fit.
    """
    given = [as_objects(x, name) for x in operands]
    try:
        with np.errstate(all="ignore"):  # a NaN or an infinity is a result, as of single Values
            found = np.frompyfunc(partial(apply, kernel(name)), len(given), 1)(*given)
    except ValueError:
        shapes = " and ".join(str(x.shape) for x in given)
        raise InputError(f"{name}: arrays of the shapes {shapes} do not fit together (as NumPy broadcasts)") from None
    return found.view(Values) if isinstance(found, np.ndarray) else found


def product(a: Any, b: Any) -> Any:
    """``a @ b`` of one or two dimensions each, every number a weighted sum of its own.

    Raises
    ------
    InputError
        The shapes do not fit, or there are more dimensions.
    """
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
    """The Value of an array of one.

    Raises
    ------
    InputError
        It holds more, or none.
    """
    if array.size != 1:
        raise InputError(f"{what} of an array of {array.size} Values: it is for one; take .sum(), .mean() or an index")
    return as_value(array.ravel()[0])


def _method(name: str) -> Callable[..., Any]:
    def method(self: Any, *others: Any) -> Any:
        return each(name, self, *others)

    method.__name__, method.__doc__ = name, f"{name} of each number."
    return method


def _assigning(name: str) -> Callable[..., Any]:
    return lambda self, other: self._in_place(each(name, self, other))


for _symbol, _name in (("add", "add"), ("sub", "sub"), ("mul", "mul"), ("truediv", "div"), ("pow", "pow")):
    setattr(Values, f"__i{_symbol}__", _assigning(_name))

METHODS = ("add", "sub", "mul", "div", "neg", "exp", "log", "sqrt", "sin", "cos", "tanh", "sigmoid", "softplus", "relu",
           "abs", "square", "minimum", "maximum", "leaky_relu", "clip")  # fmt: skip
for _name in METHODS:
    setattr(Values, _name, _method(_name))
