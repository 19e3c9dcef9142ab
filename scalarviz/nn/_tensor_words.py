"""`TensorWords`: what PyTorch calls the shapes and reductions of an array, for `Values` and for weights side by side.

A reduction is one node a lane: ``x.mean(0, keepdim=True)`` of a batch is a row of means. Nothing is laid out anew:
another shape is the same objects.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import prod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError, TypeMismatchError, listing, shown
from ..scalar import Value, dot, functions
from ..scalar.many import Many
from ..scalar.softmax import log_softmax, softmax
from ..scalar.value import as_value

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
        return self._most("max", functions.max, dim, keepdim, numpy)

    def min(self, dim: Any = None, keepdim: bool = False, **numpy: Any) -> Any:
        """The smallest, likewise."""
        return self._most("min", functions.min, dim, keepdim, numpy)

    def _most(self, name: str, reduce: Callable[[Lane], Value], dim: Any, keepdim: bool, numpy: dict[str, Any]) -> Any:
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
    """What ``x.max(dim)`` gives: the largest of each lane, and where in the lane it is."""

    values: Any
    indices: Any


def like(array: Any, items: list[Any], shape: tuple[int, ...]) -> Any:
    """An array of that kind of those objects, in C order."""
    flat = np.empty(prod(shape), object)
    flat[:] = items
    return flat.reshape(shape).view(type(array))


def dimensions(ndim: int, dim: Any, name: str, shape: tuple[int, ...]) -> tuple[int, ...]:
    """`dim`, one or several of `ndim`, None for all, as numbers from 0.

    Raises
    ------
    InputError
        There is no such dimension, or one is said twice.
    """
    given = tuple(range(ndim)) if dim is None else tuple(dim) if isinstance(dim, tuple | list) else (dim,)
    for d in given:
        if isinstance(d, bool) or not isinstance(d, int | np.integer) or not -ndim <= d < ndim:
            raise InputError(f".{name}(dim): one of the dimensions of the shape {shape}, got {shown(dim)}")
    found = tuple([int(d) % ndim for d in given])
    if len(set(found)) < len(found):
        raise InputError(f".{name}(dim): each dimension of the shape {shape} once, got {shown(dim)}")
    return found


def one_dimension(array: Any, dim: Any, name: str) -> int:
    """The same of a single dimension."""
    if isinstance(dim, tuple | list) or dim is None:
        raise InputError(f".{name}(dim): one of the dimensions of the shape {array.shape}, got {shown(dim)}")
    (place,) = dimensions(array.ndim, dim, name, array.shape)
    return place


def along(
    words: TensorWords, reduce: Callable[[Lane], Value], name: str, dim: Any, keepdim: bool, numpy: dict[str, Any]
) -> Any:
    """`reduce` of all numbers, or of those along `dim`; `numpy` is what ``np.sum(array)`` says besides."""
    array = words.as_values()
    dim, keepdim = _said(name, dim, keepdim, numpy)
    gone = dimensions(array.ndim, dim, name, array.shape)
    left = [d for d in range(array.ndim) if d not in gone]
    count, shape = prod(array.shape[d] for d in gone), tuple(array.shape[d] for d in left)
    lanes = np.ndarray.transpose(array, (*left, *gone)).reshape(prod(shape), count)
    found = [reduce(lane.tolist()) for lane in lanes]
    if keepdim:
        shape = tuple(1 if d in gone else side for d, side in enumerate(array.shape))
    return like(array, found, shape) if shape else found[0]


def _said(name: str, dim: Any, keepdim: bool, numpy: dict[str, Any]) -> tuple[Any, bool]:
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
    """Whole numbers of NumPy."""
    array = words.as_values()
    dim, keepdim = _said(find.__name__, dim, keepdim, numpy)
    place = None if dim is None else one_dimension(array, dim, find.__name__)
    return find(array.data, axis=place, keepdims=keepdim)
