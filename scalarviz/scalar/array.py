"""`Values`: an array of Values, the row that modules get and return.

It is a NumPy array of objects: NumPy does slices, broadcasting and transposes; the operations come from the table of
operations. A reduction is one node for each lane. Rows and sums of whole parameters use shortcuts: `Parameter @ x`,
`(p * p).sum()`. Inside ``forward`` an array is a `Sample`, which knows that its batch axis is missing.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache, partial, reduce
from itertools import accumulate
from math import prod
from types import FunctionType
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..arguments import attributes, explained
from ..checks import integer
from ..errors import InputError, OutOfRangeError, TypeMismatchError, listing, shown, typed
from . import functions, tracing
from ._absent import TENSOR
from .functions import OPERATIONS
from .kernel import kernel
from .nested import DEEPEST, too_deep
from .number import Many, as_number
from .sums import dot
from .value import OF_ARRAYS, Value, apply, as_value, binary, lacks, unary

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

    def item_value(self) -> Value:
        return only(self.as_values(), "a number")

    @classmethod
    def __torch_function__(cls, function: Any, types: Any, args: Any = (), options: Any = None) -> Any:
        """Let PyTorch's functions of tensors, such as ``torch.relu(row)``, mean ours of the same name."""
        name = str(getattr(function, "__name__", function)).strip("_")
        named = {key: option for key, option in (options or {}).items() if option is not None and key[0] != "_"}
        given, tensor = args, bool(args) and hasattr(args[0], "detach") and not isinstance(args[0], TensorWords)
        if tensor:  # torch.ones(3) @ row
            own = next((x for x in args if isinstance(x, TensorWords)), None)
            args = (args[0] if own is None else own.of_tensor(args[0]), *args[1:])
        kind = type(args[0]) if args and isinstance(args[0], TensorWords) else Values
        ours = TORCH.get(name) or getattr(kind, name, None)
        if (
            not callable(ours)
            or ours is getattr(np.ndarray, name, None)  # NumPy's, with other arguments
            or (name == "where" and len(args) == 1)
            or (tensor and in_place(function))
        ):
            return cls._by_torch(function, name, given, options or {})
        return explained(ARGUMENTS, f"torch.{name}")(ours)(*args, **named)

    @classmethod
    def _by_torch(cls, function: Any, name: str, args: Any, options: Any) -> Any:
        """Refuse a function of PyTorch that is not here."""
        raise TypeMismatchError(f"torch.{name} of an array of Values is not supported{instead_of(name)}")

    @classmethod
    def of_tensor(cls, x: Any) -> Any:
        """Return a tensor of PyTorch as an array of this kind."""
        return row_of(x.detach().cpu().numpy())

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
        if isinstance(dim, np.ndarray | Many | Value) or hasattr(dim, "detach"):  # torch.max(a, b)
            return self.each(f"{name}imum", self, dim)
        found = self._largest(name, reduce, dim, keepdim, numpy)
        return found if dim is None else Extremes(found, partial(getattr(self, f"arg{name}"), dim, keepdim))

    def _largest(self, name: str, reduce: Callable[[Lane], Value], dim: Any, keepdim: bool, numpy: Any) -> Any:
        return along(self, reduce, name, dim, keepdim, numpy)

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
        return _root(self.var(dim, unbiased, keepdim, correction=correction, **numpy))

    def argmax(self, dim: Any = None, keepdim: bool = False, **numpy: Any) -> Any:
        """Return the index of the largest number, or the indices along `dim`."""
        return _places(np.argmax, self, dim, keepdim, numpy)

    def argmin(self, dim: Any = None, keepdim: bool = False, **numpy: Any) -> Any:
        """Return the index of the smallest number, or the indices along `dim`."""
        return _places(np.argmin, self, dim, keepdim, numpy)

    def softmax(self, dim: int | None = None) -> Any:
        """Return shares along `dim` that add up to 1; a row needs no `dim`."""
        return each_lane(self, functions.shares, "softmax", last(self, dim, "softmax"))

    def log_softmax(self, dim: int | None = None) -> Any:
        """Return the logarithms of :meth:`softmax`."""
        return each_lane(self, functions.log_shares, "log_softmax", last(self, dim, "log_softmax"))

    def norm(self, p: Any = 2, dim: Any = None, keepdim: bool = False) -> Any:
        """Return the root of the sum of squares of all numbers, or along `dim`; with `p` 1 the sum of absolutes."""
        p = 2 if p in ("fro", None) else p
        if p not in (1, 2):
            raise InputError(f".norm(p): p must be 1 or 2, got {shown(p)}")
        numbers = self.as_values()
        if p == 1:
            return numbers.abs().sum(dim, keepdim)
        return _root(numbers.square().sum(dim, keepdim))

    # ---- shapes

    def view(self, *shape: Any) -> Any:
        """Return the same numbers, in C order, in another shape."""
        return self.as_values().reshape(*shape)

    def flatten(self, start_dim: int = 0, end_dim: int = -1) -> Any:
        """Return the array with neighbouring dimensions as one; by default all."""
        return flattened(self.as_values(), start_dim, end_dim)

    def unflatten(self, dim: int, sizes: Any) -> Any:
        """Return the array with the dimension `dim` as several, of these sizes."""
        array, sides = self.as_values(), tuple(self.as_values().shape)
        place = one_dimension(array, dim, "unflatten")
        return array.reshape(*sides[:place], *sizes, *sides[place + 1 :])

    def chunk(self, chunks: int, dim: int = 0) -> tuple[Any, ...]:
        """Return `chunks` parts of equal size along `dim`; the last one may be smaller."""
        side = tuple(self.as_values().shape)[one_dimension(self.as_values(), dim, "chunk")]
        return self.split(-(-side // chunks), dim)

    def split(self, size: Any, dim: int = 0) -> tuple[Any, ...]:
        """Return parts of `size` numbers along `dim`, or of several sizes."""
        array = self.as_values()
        place = one_dimension(array, dim, "split")
        side = tuple(array.shape)[place]
        sizes = list(size) if isinstance(size, list | tuple) else [size] * -(-side // max(int(size), 1))
        if min(sizes, default=0) < 1 or (isinstance(size, list | tuple) and sum(sizes) != side):
            raise InputError(f".split(size): the dimension {dim} has {side} numbers, got {shown(size)}")
        parts = np.split(np.ndarray.view(array, np.ndarray), np.cumsum(sizes)[:-1], place)
        return tuple(part.view(type(array)) for part in parts)

    def unbind(self, dim: int = 0) -> tuple[Any, ...]:
        """Return the parts along `dim`, without that dimension."""
        return tuple(np.moveaxis(self.as_values(), one_dimension(self.as_values(), dim, "unbind"), 0))

    def flip(self, *dims: Any) -> Any:
        """Return the array in the reverse order along dimensions."""
        array = self.as_values()
        given = dims[0] if len(dims) == 1 and isinstance(dims[0], tuple | list) else dims
        return np.flip(array, tuple([one_dimension(array, dim, "flip") for dim in given]))

    def roll(self, shifts: int, dims: int | None = None) -> Any:
        """Return the array, turned by some places along a dimension; what leaves at the end returns at the start."""
        array = self.as_values()
        if dims is None:
            return self.flatten().roll(shifts, -1).reshape(tuple(array.shape))
        order = np.arange(tuple(array.shape)[one_dimension(array, dims, "roll")])
        return self.index_select(dims, np.roll(order, integer("roll: shifts", shifts, -(1 << 62))))

    def index_select(self, dim: int, index: Any) -> Any:
        """Return the parts with these numbers along `dim`."""
        array = self.as_values()
        return _chosen(np.take, array, _indices(index, "index_select"), one_dimension(array, dim, "index_select"))

    def gather(self, dim: int, index: Any) -> Any:
        """Return the number at ``index[i, j]`` along `dim` for each place (i, j) of `index`."""
        array, places = self.as_values(), _indices(index, "gather")
        place = one_dimension(array, dim, "gather")
        part = tuple([slice(None) if d == place else slice(side) for d, side in enumerate(places.shape)])
        return _chosen(np.take_along_axis, array[part], places, place)

    def narrow(self, dim: int, start: int, length: int) -> Any:
        """Return `length` parts along `dim`, from number `start` on."""
        array = self.as_values()
        place = one_dimension(array, dim, "narrow")
        return array[(slice(None),) * place + (slice(start, start + length),)]

    def select(self, dim: int, index: int) -> Any:
        """Return the part with this number along `dim`, without that dimension."""
        return self.unbind(dim)[index]

    def cumsum(self, dim: Any = None, **numpy: Any) -> Any:
        """Return the sums of all parts up to each along `dim`."""
        dim, _ = _dim_and_keepdim("cumsum", dim, False, numpy)
        if dim is None:  # as in NumPy
            return self.flatten().cumsum(0)
        return stack(list(accumulate(self.unbind(dim))), dim)

    def cumprod(self, dim: Any = None, **numpy: Any) -> Any:
        """Return the products of all parts up to each along `dim`."""
        dim, _ = _dim_and_keepdim("cumprod", dim, False, numpy)
        return stack(list(accumulate(self.unbind(dim), operator.mul)), dim)

    def prod(self, dim: Any = None, keepdim: bool = False, **numpy: Any) -> Any:
        """Return the product of all numbers, or along `dim`."""
        dim, keepdim = _dim_and_keepdim("prod", dim, keepdim, numpy)
        found = reduce(operator.mul, self.as_values().ravel() if dim is None else self.unbind(dim))
        return found.unsqueeze(dim) if keepdim else found

    def tril(self, diagonal: int = 0) -> Any:
        """Return the array with 0 above the diagonal of its last two dimensions."""
        return self.each("where", _triangle(self, diagonal), self, 0.0)

    def triu(self, diagonal: int = 0) -> Any:
        """Return the array with 0 below the diagonal of its last two dimensions."""
        return self.each("where", _triangle(self, diagonal - 1), 0.0, self)

    def unsqueeze(self, dim: int) -> Any:
        """Return the array with a new dimension of size 1 at `dim`."""
        array = self.as_values()
        (place,) = dimensions(array, dim, "unsqueeze", array.ndim + 1)
        return np.expand_dims(array, place)

    def expand(self, *sizes: Any) -> Any:
        """Return the array with sides of 1 repeated to these sizes; -1 keeps a side.

        In ``p.expand(x.size(0), -1)`` the batch axis is left out.
        """
        array, given = self.as_values(), tuple(sizes[0]) if sizes and isinstance(sizes[0], tuple | list) else sizes
        if given and getattr(given[0], "of_batch", False):
            given = given[1:]
            array = array[0] if array.ndim == len(given) + 1 and len(array) == 1 else array
        own = (*(1,) * (len(given) - array.ndim), *array.shape)
        try:
            sides = [side if size == -1 else size for size, side in zip(given, own, strict=True)]
            return np.broadcast_to(array, sides, subok=True).copy()
        except (TypeError, ValueError):
            raise InputError(f".expand{given}: the shape {tuple(array.shape)} does not expand to it") from None

    def squeeze(self, dim: Any = None, axis: Any = None) -> Any:
        """Return the array without dimensions of size 1, or only without those of `dim`."""
        array = self.as_values()
        asked = dimensions(array, axis if dim is None else dim, "squeeze")
        return scalar(array.reshape([side for d, side in enumerate(array.shape) if d not in asked or side != 1]))

    def t(self) -> Any:
        """Return the transpose."""
        return self.as_values().T

    def transpose(self, *dims: Any) -> Any:
        """Swap two dimensions, as in PyTorch.

        With any other number of arguments, permute as NumPy does (see `permute`).
        """
        if len(dims) == 2:
            a, b = (one_dimension(self.as_values(), d, "transpose") for d in dims)
            return np.ndarray.swapaxes(self.as_values(), a, b)
        return self.permute(*dims)

    swapaxes = transpose

    def permute(self, *dims: Any) -> Any:
        """Return the array with its dimensions in this order."""
        array = self.as_values()
        try:
            return np.ndarray.transpose(array, *dims)
        except ValueError:
            raise InputError(f".permute{dims}: name each dim of the shape {tuple(array.shape)} once") from None

    def dim(self) -> int:
        """Return the number of dimensions."""
        return int(self.as_values().ndim)

    ndimension = dim

    def numel(self) -> int:
        """Return the number of elements."""
        return int(self.as_values().size)

    def nelement(self) -> int:
        """Return the number of elements."""
        return self.numel()

    def pow(self, exponent: Any) -> Any:
        """Return ``self ** exponent``."""
        return self**exponent

    def item(self) -> Any:
        """Return the number of an array with one element."""
        return only(self.as_values(), "item").item()

    # ---- copies

    def masked_fill(self, mask: Any, number: float) -> Any:
        """Return a copy with `number` where `mask` is true. The mask holds booleans or 0 and 1, and is broadcast."""
        if isinstance(mask, Many):
            return each("where", mask, number, self)
        found, flags = self.as_values().copy(), np.asarray(mask, bool)
        while flags.ndim > found.ndim and len(flags) == 1:  # PyTorch's batch axis, and more
            flags = flags[0]
        try:
            found[np.broadcast_to(flags, tuple(found.shape))] = float(number)
        except ValueError:
            shapes = f"{np.shape(mask)} for an array of shape {tuple(found.shape)}"
            raise InputError(f".masked_fill: the mask has the shape {shapes}") from None
        return found

    def contiguous(self) -> Any:
        """Return the array itself."""
        return self.as_values()

    def clone(self) -> Any:
        """Return a new array of the same objects."""
        return self.as_values().copy()

    def detach(self) -> Any:
        """Return the numbers as Values without a graph; in a recording, Values that pass no gradient on."""
        array = self.as_values()
        if tracing.active() is not None:
            return each("held_max", array, array)
        return like(array, [Value(v.data) for v in array.ravel().tolist()], array.shape)

    def numpy(self) -> NDArray[np.float64]:
        """Return a copy of the numbers."""
        return np.array(self.as_values().data)


def in_place(function: Any) -> bool:
    """Return whether a function of PyTorch changes its first argument: ``x.mul_(y)``, ``x += y``, ``x[i] = y``."""
    name = str(getattr(function, "__name__", ""))
    inside = name.startswith("__i") and f"__{name[3:]}" in dir(int)  # such as __iadd__, and not __invert__
    return inside or name == "__setitem__" or (name.endswith("_") and not name.startswith("__"))


def instead_of(name: str) -> str:
    """Return what to write instead of a function of PyTorch, as the end of a message."""
    plain = name.removeprefix("linalg_").removeprefix("special_")
    said = TENSOR.get(name) or TENSOR.get(plain)
    return f": {said}" if said else "; use its methods, or sv.nn"


class Extremes:
    """The result of ``x.max(dim)``: the largest number of each lane, and its index in the lane.

    It unpacks into the two. While a graph is recorded, the indices are not known, and None stands for them.
    """

    __slots__ = ("_find", "values")

    def __init__(self, values: Any, find: Callable[[], Any]) -> None:
        self.values, self._find = values, find

    @property
    def indices(self) -> Any:
        """The index of each number in its lane."""
        return self._find()

    def __iter__(self) -> Iterator[Any]:
        return iter((self.values, None if tracing.active() is not None else self.indices))

    def __getitem__(self, index: int) -> Any:
        return (self.values, None if index in (0, -2) else self.indices)[index]


def _root(squares: Any) -> Any:
    """Return the square root; its gradient at 0 is 0, as in PyTorch's ``norm`` and ``std``."""
    return functions.sqrt(functions.where(squares, squares, 1.0)) * (squares > 0)


def like(array: Any, items: list[Any], shape: Sequence[int]) -> Any:
    """Return the objects `items`, in C order, as an array of the same type as `array`."""
    kind = type(array) if isinstance(array, Values) else Values
    return np.fromiter(items, object, len(items)).reshape(shape).view(kind)


def scalar(array: Any) -> Any:
    """Return the Value of an array without dimensions; any other array as it is."""
    return array.item_value() if array.ndim == 0 else array


def dimensions(array: Any, dim: Any, name: str, ndim: int | None = None) -> tuple[int, ...]:
    """Return `dim` as a tuple of dimensions from 0, of an array or of `ndim` dimensions; None stands for all."""
    ndim = array.ndim if ndim is None else ndim
    given = tuple(range(ndim)) if dim is None else tuple(dim) if isinstance(dim, tuple | list) else (dim,)
    for d in given:
        if array.of_sample and dim is not None:
            array.refuse_batch(name, d, ndim)
        if isinstance(d, bool) or not isinstance(d, int | np.integer) or not -ndim <= d < ndim:
            shape = tuple(array.shape)
            raise InputError(f".{name}(dim): dim must be a dimension of the shape {shape}, got {shown(dim)}")
    found = tuple([int(d) % ndim for d in given])
    if len(set(found)) < len(found):
        raise InputError(
            f".{name}(dim): give each dimension of the shape {tuple(array.shape)} at most once, got {shown(dim)}"
        )
    return found


def last(array: Any, dim: int | None, name: str) -> int:
    """Return `dim`, by default the only dimension of a row; InputError if it is missing and there are several."""
    if dim is None and len(tuple(array.shape)) > 1:
        raise InputError(f"{name}: give dim, such as dim=-1 for the last dimension of the shape {tuple(array.shape)}")
    return -1 if dim is None else dim


def _triangle(words: TensorWords, diagonal: int) -> NDArray[np.float64]:
    sides = tuple(words.as_values().shape)
    if len(sides) < 2:
        raise InputError(f".tril() and .triu() need two dimensions, got the shape {sides}")
    return np.tri(sides[-2], sides[-1], integer("tril and triu: diagonal", diagonal, -(1 << 31)))


def _indices(given: Any, name: str) -> NDArray[Any]:
    try:
        found = np.asarray(given.detach().cpu() if hasattr(given, "detach") else given)
    except ValueError:  # lists of unequal length, or one that holds itself
        raise TypeMismatchError(f".{name}: indices must be an array of whole numbers, got {typed(given)}") from None
    if found.dtype.kind not in "iu":
        raise TypeMismatchError(f".{name}: indices must be whole numbers that are known beforehand, got {typed(given)}")
    return found


def _chosen(choose: Callable[..., Any], array: Any, places: NDArray[Any], dim: int) -> Any:
    try:
        return choose(array, places, dim)
    except (IndexError, ValueError) as error:
        raise OutOfRangeError(f".{choose.__name__} of the shape {tuple(array.shape)}: {error}") from None


def one_dimension(array: Any, dim: Any, name: str) -> int:
    """Return `dim`, which must be a single dimension, counted from 0."""
    if isinstance(dim, tuple | list) or dim is None:
        shape = tuple(array.shape)
        raise InputError(f".{name}(dim): dim must be a dimension of the shape {shape}, got {shown(dim)}")
    return dimensions(array, dim, name)[0]


def along(
    words: TensorWords, reduce: Callable[[Lane], Value], name: str, dim: Any, keepdim: bool, numpy: dict[str, Any]
) -> Any:
    """Apply `reduce` to all numbers, or along `dim`. `numpy` holds further arguments of ``np.sum(array)``."""
    array = words.as_values()
    dim, keepdim = _dim_and_keepdim(name, dim, keepdim, numpy)
    gone, sides = dimensions(array, dim, name), tuple(array.shape)
    left = [d for d in range(array.ndim) if d not in gone]
    count, shape = prod(sides[d] for d in gone), tuple(sides[d] for d in left)
    lanes = np.ndarray.transpose(np.ndarray.view(array, np.ndarray), (*left, *gone)).reshape(prod(shape), count)
    found = [reduce(lane) for lane in lanes.tolist()]
    if keepdim:
        shape = tuple(1 if d in gone else side for d, side in enumerate(sides))
    return like(array, found, shape) if shape else found[0]


def _dim_and_keepdim(name: str, dim: Any, keepdim: bool, numpy: dict[str, Any]) -> tuple[Any, bool]:
    """Merge PyTorch's words with NumPy's. NumPy's functions also pass options that are None."""
    axis, kept = numpy.pop("axis", None), numpy.pop("keepdims", False)
    if any(option is not None for option in numpy.values()):
        raise TypeMismatchError(f".{name}() of Values takes dim= and keepdim=, got {listing(numpy)}")
    return axis if dim is None else dim, keepdim or kept is True


def spread(lane: Lane, correction: float) -> Value:
    """Return the variance of the lane: squared differences from the mean, divided by the count minus `correction`.

    Of too few numbers it is NaN, as in PyTorch.
    """
    middle = functions.mean(lane)
    differences = [as_value(x) - middle for x in lane]
    return dot(differences, differences) / max(len(lane) - correction, 0)


def each_lane(words: TensorWords, function: Callable[[Lane], Lane], name: str, dim: Any) -> Any:
    """Apply `function` to every row along one dimension, which may get another size by it."""
    array = words.as_values()
    place = one_dimension(array, dim, name)
    lanes = np.moveaxis(np.ndarray.view(array, np.ndarray), place, -1)
    found = [function(lane) for lane in lanes.reshape(prod(lanes.shape[:-1]), lanes.shape[-1]).tolist()]
    shape = *lanes.shape[:-1], len(found[0]) if found else lanes.shape[-1]
    return np.moveaxis(like(array, [v for lane in found for v in lane], shape), -1, place)


def flattened(array: Any, start: int, end: int) -> Any:
    """Return an array with the dimensions from `start` to `end` as one; of a sample, 1 is the first dimension."""
    sides = tuple(array.shape) or (1,)
    if array.of_sample and start == 0 and end != -1:
        array.refuse_batch("flatten", 0, array.ndim)
    own = array.of_sample and start != 0  # x.flatten(1) leaves PyTorch's batch as it is
    first, last = (d - own if d > 0 else d + len(sides) if d < 0 else 0 for d in (start, end))
    if not 0 <= first <= last < len(sides):
        raise InputError(f".flatten({start}, {end}): the shape {sides} has no such dimensions")
    return array.reshape(*sides[:first], prod(sides[first : last + 1]), *sides[last + 1 :])


def _places(find: Callable[..., Any], words: TensorWords, dim: Any, keepdim: bool, numpy: dict[str, Any]) -> Any:
    array = words.as_values()
    dim, keepdim = _dim_and_keepdim(find.__name__, dim, keepdim, numpy)
    place = None if dim is None else one_dimension(array, dim, find.__name__)
    return find(np.asarray(array.data), axis=place, keepdims=keepdim)


Objects = NDArray[np.object_]

MASKS = {"bitwise_and": "minimum", "logical_and": "minimum", "bitwise_or": "maximum", "logical_or": "maximum"}
"""NumPy's names of operations between comparisons, which are 0 and 1, and the table's."""


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

    of_sample: ClassVar[bool] = False
    """Whether PyTorch's batch axis is missing."""

    def refuse_batch(self, name: str, dim: Any, ndim: int) -> None:
        """Raise an error for a dimension that would count the batch; a `Sample` does."""

    def __array_ufunc__(self, ufunc: Any, method: str, *operands: Any, **options: Any) -> Any:
        if "out" in options and not isinstance(options["out"][0], Values):
            raise TypeMismatchError(
                f"np.{ufunc.__name__}: an array of numbers cannot take Values in place; use their numbers, x.data"
            )
        if method != "__call__" or options:
            raise TypeMismatchError(
                f"np.{ufunc.__name__}{'' if method == '__call__' else '.' + method} of Values"
                f"{' with options' if options else ''} is not supported; use .sum(), .mean(), .max(), .min() with dim="
            )
        if ufunc is np.matmul:
            return product(*operands)
        if ufunc is np.positive:
            return self.copy()
        name = ufunc.__name__
        if name == "add" and any(type(x) in (list, tuple) for x in operands):
            raise TypeMismatchError(f"+ of a list and a row of Values: {JOIN}, or list.extend(row)")
        if name in ("equal", "not_equal"):
            same = each("le", *operands) * each("ge", *operands)
            return same if name == "equal" else 1.0 - same
        if name == "invert":
            return 1.0 - operands[0]
        if name not in OPERATIONS and name not in MASKS:
            raise TypeMismatchError(f"np.{name} of Values is not supported; use np.{listing(OPERATIONS)}")
        return each(MASKS.get(name) or OPERATIONS[name], *operands)

    def __array_function__(self, function: Any, types: Any, args: Any, options: Any) -> Any:
        found: Any = super().__array_function__(function, types, _bare(args), options)
        if not isinstance(found, np.ndarray) or found.dtype != object:
            return found
        kind = next((t for t in types if getattr(t, "of_sample", False)), Values)
        if type(found) is kind:
            return found
        return values([as_value(x) for x in found.ravel().tolist()], found.shape).view(kind)

    def __iter__(self) -> Any:
        return iter(self.tolist() if self.ndim == 1 else [self[i] for i in range(len(self))])

    def __format__(self, spec: str) -> str:
        return format(only(self, "format"), spec) if spec else str(self)

    def __getitem__(self, index: Any) -> Any:
        try:
            return super().__getitem__(index)
        except Exception as error:  # NumPy raises many kinds
            raise self._misplaced(index, error) from None

    def _misplaced(self, index: Any, error: Exception) -> Exception:
        kind = OutOfRangeError if "out of bounds" in str(error) else TypeMismatchError
        hint = "; choose with sv.where(condition, a, b) or x.masked_fill(mask, number)"
        words = f"{error!s:.200}{hint if isinstance(index, Many) else ''}"
        return kind(f"index [{shown(index)}] of Values of shape {tuple(self.shape)}: {words}")

    def __setitem__(self, index: Any, numbers: Any) -> None:
        """Replace elements by Values or numbers; results computed from the old ones stay as they are."""
        given = as_objects(numbers, "Values[...] =")
        given = np.ndarray.view(values([as_value(x) for x in given.ravel().tolist()], given.shape), np.ndarray)
        try:
            super().__setitem__(index, given if given.ndim else given[()])
        except ValueError:
            part = tuple(np.shape(self[index]))
            raise InputError(
                f"Values[...] = ...: got shape {given.shape}; the selected part has shape {part}"
            ) from None
        except Exception as error:
            raise self._misplaced(index, error) from None

    def as_values(self) -> Values:
        return self

    def all(self, dim: Any = None, keepdim: bool = False, **numpy: Any) -> Any:  # type: ignore[override]
        """Return 1 if no number is 0, else 0; or so along `dim`."""
        return (self != 0).min(dim, keepdim, **numpy) if numpy else (self != 0).amin(dim, keepdim)

    def any(self, dim: Any = None, keepdim: bool = False, **numpy: Any) -> Any:  # type: ignore[override]
        """Return 1 if a number is not 0, else 0; or so along `dim`."""
        return (self != 0).max(dim, keepdim, **numpy) if numpy else (self != 0).amax(dim, keepdim)

    def view(self, *shape: Any) -> Any:  # type: ignore[override]
        return np.ndarray.view(self, *shape) if shape and isinstance(shape[0], type) else self.reshape(*shape)

    def reshape(self, *shape: Any, **numpy: Any) -> Any:
        """Return the same numbers, in C order, in another shape."""
        try:
            return super().reshape(*shape, **numpy)
        except ValueError:
            raise InputError(f"cannot reshape {tuple(self.shape)} to {shown(shape)}: the numbers differ") from None

    @property
    def size(self) -> Any:
        """The number of elements; called, PyTorch's ``size()`` and ``size(dim)``."""
        return Size(self.shape)

    @property
    def data(self) -> NDArray[np.float64]:  # type: ignore[override]
        """A copy of the numbers."""
        return np.array([value.data for value in self.ravel().tolist()], np.float64).reshape(tuple(self.shape))

    @property
    def grad(self) -> NDArray[np.float64]:
        """A copy of the gradients; 0 for a Value without one."""
        numbers = [value.grad or 0.0 for value in self.ravel().tolist()]
        return np.array(numbers, np.float64).reshape(tuple(self.shape))

    def backward(self, upstream: float = 1.0) -> None:
        """Call `Value.backward` of an array with one element."""
        only(self, "backward").backward(upstream)

    def __repr__(self) -> str:
        numbers = all(not isinstance(v, Value) or "Symbol" not in repr(v) for v in self.flat)
        return f"Values(shape={tuple(self.shape)})\n{self.data if numbers else ''}".rstrip()

    __str__ = __repr__

    _missing = attributes(TENSOR, "an array of Values")

    def __getattr__(self, name: str) -> Any:
        own = name.removesuffix("_")
        if own != name and (own in IN_PLACE or own in _GIVEN):
            return partial(self._change, own)
        return self._missing(name)

    def _change(self, word: str, *args: Any, **named: Any) -> Values:
        """Replace all elements by what a word computes from them, or by numbers, and return the array."""
        self[...] = _GIVEN[word](*args) if word in _GIVEN else getattr(self, word)(*args, **named)
        return self

    def _in_place(self, result: Any) -> Values:
        self[...] = result
        return self

    def __bool__(self) -> bool:
        return bool(only(self, "bool()"))

    def __float__(self) -> float:
        return float(only(self, "float()"))


def _bare(x: Any) -> Any:
    """Return the arguments of a NumPy function with its arrays as `Values`: its own words count the array's axes."""
    if isinstance(x, list | tuple):
        return type(x)([_bare(part) for part in x])
    return np.ndarray.view(x, Values) if isinstance(x, Values) else x


class Size(int):
    """The number of elements of an array; called, its sides."""

    sides: tuple[int, ...]

    def __new__(cls, sides: tuple[int, ...]) -> Size:
        """Return the product of the sides."""
        made = super().__new__(cls, prod(tuple(sides)))
        made.sides = sides
        return made

    def __reduce__(self) -> Any:
        return Size, (self.sides,)

    def __call__(self, dim: int | None = None) -> Any:
        return self.sides if dim is None else self.sides[dim]


TORCH: dict[str, Callable[..., Any]] = {}
"""Functions that stand for PyTorch's of the same name, given arrays of Values; `nn.functional` adds its own."""

JOIN = "to join rows: sv.cat([a, b])"


def values(items: Iterable[Any], shape: Sequence[int]) -> Values:
    """Return objects, in C order, as an array of this shape."""
    return np.fromiter(items, object, prod(shape)).reshape(shape).view(Values)


def row_of(items: Any, what: str = "an array of Values") -> Values:
    """Return numbers and Values, in nested lists of regular shape or in an array, as an array of Values."""
    kinds = set(map(type, items)) if type(items) is list else ()
    if kinds and all(kind in (float, int) or issubclass(kind, Value) for kind in kinds):
        return values(items if kinds.isdisjoint((float, int)) else map(as_value, items), (len(items),))
    found = as_objects(items, what)
    return values([as_value(x) for x in found.ravel().tolist()], found.shape)


def as_objects(x: Any, what: str, level: int = 0) -> Objects:
    """Return `x` as an array of objects: a number, a Value, a parameter, an array, or nested lists of these."""
    if level > DEEPEST:
        raise too_deep(f"{what}: a list")
    if isinstance(x, Values):
        return np.ndarray.view(x, np.ndarray)
    if isinstance(x, Many) and x.taped and getattr(x, "requires_grad", False):
        raise TypeMismatchError(f"{what}: outputs of a batch are numbers of an array, not Values; {OF_ARRAYS}")
    if isinstance(x, Many):
        found: Objects = np.asarray(x.as_values()).astype(object, copy=False)
        return found
    if isinstance(x, Value):
        return np.array(x, dtype=object)
    if type(x) in (float, int):
        return np.array(as_number(x, what), dtype=object)
    if isinstance(x, Extremes):
        raise TypeMismatchError(f"{what}: .max(dim) and .min(dim) return a pair; use its .values (or .indices)")
    if isinstance(x, list | tuple):
        if all(type(item) in (float, int) or isinstance(item, Value) for item in x):
            return np.fromiter(x, object, len(x))
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


def of_batch(operands: Iterable[Any]) -> Any:
    """Return the first operand that is a batch of outputs, whose tape has the operation; or None."""
    return next((x for x in operands if isinstance(x, Many) and x.taped), None)


@lru_cache(maxsize=256)
def _elementwise(name: str, arity: int) -> Any:
    op = kernel(name)
    return np.frompyfunc(partial(unary if arity == 1 else binary if arity == 2 else apply, op), arity, 1)


def each(name: str, *operands: Any) -> Any:
    """Apply an operation of the table elementwise to the operands, which are broadcast."""
    if (batch := of_batch(operands)) is not None:
        return batch.each(name, *operands)
    given = [as_objects(x, name) for x in operands]
    kind = _kind(operands, given)
    try:
        with np.errstate(all="ignore"):  # a NaN or an infinity is a result, as for single Values
            found = _elementwise(name, len(given))(*given)
    except ValueError:
        shapes = " and ".join(str(x.shape) for x in given)
        raise InputError(f"{name}: NumPy cannot broadcast the shapes {shapes}; {JOIN}") from None
    return found.view(kind) if isinstance(found, np.ndarray) else found


def _kind(operands: Sequence[Any], given: list[Objects]) -> type[Values]:
    """Return the type of a result. An operand with PyTorch's batch axis of size 1 loses it beside a sample."""
    samples = [x for x in operands if isinstance(x, Values) and x.of_sample]
    if not samples:
        return Values
    most = max([x.ndim for x in samples])
    for place, x in enumerate(given):
        if x.ndim == most + 1 and len(x) == 1:
            given[place] = x[0]
    return type(samples[0])


def product(a: Any, b: Any) -> Any:
    """Return ``a @ b``, in NumPy's sense; each number is its own weighted sum."""
    if (batch := of_batch((a, b))) is not None:
        return batch.product(a, b)
    left, right = as_objects(a, "@"), as_objects(b, "@")
    kind = _kind((a, b), [])
    if not (left.ndim and right.ndim) or left.shape[-1] != right.shape[-2 if right.ndim > 1 else 0]:
        raise InputError(
            f"@ cannot multiply the shapes {left.shape} and {right.shape}: the last dimension of the left operand must "
            "equal the last but one of the right operand, or its only one"
        )
    rows, columns = (left if left.ndim > 1 else left[None]), (right if right.ndim > 1 else right[:, None])
    columns = np.swapaxes(columns, -2, -1)
    try:
        front = np.broadcast_shapes(rows.shape[:-2], columns.shape[:-2])
    except ValueError:
        raise InputError(f"@ cannot broadcast the shapes {left.shape} and {right.shape}") from None
    lefts, rights = (
        np.broadcast_to(x, (*front, *x.shape[-2:])).reshape(prod(front), *x.shape[-2:]) for x in (rows, columns)
    )
    sums = [dot(r, c) for i, j in zip(lefts.tolist(), rights.tolist(), strict=True) for r in i for c in j]
    shape = (*front, *left.shape[-2:-1], *((right.shape[-1],) if right.ndim > 1 else ()))
    return values(sums, shape).view(kind) if shape else sums[0]


def cat(rows: Sequence[Any], dim: int | None = None) -> Any:
    """Return arrays joined along `dim`: rows side by side.

    Parameters
    ----------
    rows : sequence of arrays of Values, Parameters, lists of numbers
        A single Value is a row of one.
    dim : int
        Rows need none. Of an array inside ``forward`` it counts from the end, as PyTorch's 0 is the batch there.

    Raises
    ------
    InputError
        There is nothing to join, `dim` is no dimension, or the other sides differ.

    Examples
    --------
    >>> from scalarviz.nn import Parameter
    >>> cat([Parameter([1.0, 2.0]), [3.0]]).data.tolist()
    [1.0, 2.0, 3.0]
    """
    return _joined(rows, dim, "cat", 0)


def stack(rows: Sequence[Any], dim: int = 0) -> Any:
    """Return arrays of one shape along a new dimension `dim`; otherwise like :func:`cat`.

    Examples
    --------
    >>> stack([[1.0, 2.0], [3.0, 4.0]], dim=-1).data.tolist()
    [[1.0, 3.0], [2.0, 4.0]]
    """
    return _joined(rows, dim, "stack", 1)


def _joined(rows: Sequence[Any], dim: int | None, name: str, more: int) -> Any:
    if not isinstance(rows, list | tuple) or not rows:
        raise InputError(f"{name} takes a list of arrays, {name}([a, b]); got {shown(rows)}")
    if (batch := of_batch(rows)) is not None:
        return batch.joined(rows, dim or 0, more)
    given = [as_objects(x, name) for x in rows]
    kind = _kind(rows, given)
    parts = [np.atleast_1d(x) for x in given] if more == 0 else given
    dim = dim if more else last(given[0], dim, name)
    place = dimensions(given[0].view(kind), (dim,), name, max(parts[0].ndim + more, 1))[0]
    try:
        found = (np.stack if more else np.concatenate)(parts, axis=place)
    except ValueError:
        shapes = " and ".join(str(x.shape) for x in given)
        raise InputError(f"{name}: the shapes {shapes} do not fit along dim={dim}") from None
    return values([as_value(x) for x in found.ravel().tolist()], found.shape).view(kind)


def softmax(xs: Any, dim: int | None = None) -> Any:
    """Return ``exp(x) / sum(exp(xs))`` for each of `xs`: shares along `dim` that add up to 1.

    Parameters
    ----------
    xs : sequence or array of Values and numbers
    dim : int
        The dimension whose numbers share; a row needs none.

    Returns
    -------
    array of Values, shaped like `xs`

    Raises
    ------
    InputError
        `xs` is empty, or lacks the dimension `dim`.
    TypeMismatchError
        `xs` is no sequence of Values and numbers.

    Examples
    --------
    >>> softmax([1000.0, 1000.0]).data.tolist()
    [0.5, 0.5]
    """
    return _lanes(xs, "softmax").softmax(dim)


def log_softmax(xs: Any, dim: int | None = None) -> Any:
    """Return the logarithms of :func:`softmax`, ``x - log(sum(exp(xs)))``; the arguments are the same.

    Examples
    --------
    >>> log_softmax([1000.0, 1000.0]).data.round(4).tolist()
    [-0.6931, -0.6931]
    """
    return _lanes(xs, "log_softmax").log_softmax(dim)


def _lanes(xs: Any, name: str) -> Any:
    return xs if isinstance(xs, Many) else row_of(xs if isinstance(xs, np.ndarray) else functions.values_of(name, xs))


TORCH.update(
    stack=stack, where=partial(each, "where"), dot=product, ravel=lambda x: x.flatten(),
    diagonal=lambda x, offset=0, dim1=0, dim2=1: x.as_values().diagonal(offset, dim1, dim2),
    **dict.fromkeys(("cat", "concat", "concatenate"), lambda rows, dim=0: cat(rows, dim)),
)  # fmt: skip


def only(array: Values, what: str) -> Value:
    """Return the Value of an array with one element."""
    if int(array.size) != 1:
        raise InputError(f"{what} needs one Value, got {int(array.size)} in an array; use .sum(), .mean() or an index")
    return as_value(array.ravel()[0])


def _method(name: str) -> Callable[..., Any]:
    def of_one(self: Any) -> Any:
        return (self.each if isinstance(self, Many) else each)(name, self)

    def of_two(self: Any, other: Any) -> Any:
        return (self.each if isinstance(self, Many) else each)(name, self, other)

    def of_scaled(self: Any, other: Any, *, alpha: Any = 1) -> Any:
        return of_two(self, other if alpha == 1 else other * alpha)

    two = ("mul", "div", "minimum", "maximum", "leaky_relu")
    method: Callable[..., Any] = of_scaled if name in ("add", "sub") else of_two if name in two else of_one
    method.__name__, method.__doc__ = name, f"{name} of each number."
    return method


def _clip(self: Any, min: Any = None, max: Any = None, out: None = None) -> Any:
    """Return each number, moved into the range from `min` to `max`; None is no bound, and `out` is for NumPy."""
    bounds = -np.inf if min is None else min, np.inf if max is None else max
    return (self.each if isinstance(self, Many) else each)("clip", self, *bounds)


def _assigning(name: str) -> Callable[..., Any]:
    return lambda self, other: self._in_place(getattr(operator, name)(self, other))


_GIVEN: dict[str, Callable[..., Any]] = {"copy": lambda x: x, "fill": lambda x: x, "zero": lambda: 0.0}
"""PyTorch's changes in place that compute nothing."""

OPERATORS = (("add", "add"), ("sub", "sub"), ("mul", "mul"), ("truediv", "div"), ("pow", "pow"))
"""Python's names of binary operators, and the table's."""
for _symbol, _name in OPERATORS:
    setattr(Values, f"__i{_symbol}__", _assigning(_symbol))

METHODS = ("add", "sub", "mul", "div", "neg", "exp", "log", "sqrt", "sin", "cos", "tanh", "sigmoid", "softplus", "relu",
           "abs", "square", "minimum", "maximum", "leaky_relu", "clip")  # fmt: skip
IN_PLACE = frozenset((*METHODS, "clamp", "masked_fill", "pow"))
"""Words with ``_`` that change an array of Values: ``h.mul_(2)`` replaces its elements."""
for _name in METHODS:
    setattr(Values, _name, _clip if _name == "clip" else _method(_name))
Values.clamp = _clip  # type: ignore[attr-defined]


def _missing(array: Any) -> Any:
    """Raise AttributeError, so that `TENSOR` says what there is instead."""
    raise AttributeError


ARGUMENTS = {
    "dtype": "numbers are float64; omit it", "out": "a result is a new array; omit it",
    "rounding_mode": "use a / b, or NumPy for the numbers alone, x.data // 2",
}  # fmt: skip
"""Arguments of PyTorch's words that words here lack."""


def explain_words(kind: type) -> None:
    """Let the public methods that a class defines refuse arguments in words."""
    for name, held in list(vars(kind).items()):
        if isinstance(held, FunctionType) and not name.startswith("_"):
            setattr(kind, name, explained(ARGUMENTS, f".{name}()")(held))


explain_words(TensorWords)
explain_words(Values)
for _name in ("repeat", "sort"):  # NumPy's methods, which PyTorch's of the same name are not
    setattr(Values, _name, property(_missing))
_OF_ARRAYS = [name for name in (*dir(Values), *TENSOR) if name[0] != "_"]
lacks(dict.fromkeys(_OF_ARRAYS, "it is one number; arrays of Values have it: x[0:1], sv.stack([a, b])"))
_CHANGING = [f"{name}_" for name in (*METHODS, *_OF_ARRAYS, "pow")]
lacks(dict.fromkeys(_CHANGING, "a Value keeps its number; write y = x * 2"))


def _torch_call(function: Any, args: Any, options: Any) -> Any:
    """Return what a function of PyTorch means for Values: they are arrays without dimensions."""
    found = function(*_without_dimensions(args), **options)
    return found.item_value() if isinstance(found, Values) and found.ndim == 0 else found


def _without_dimensions(x: Any) -> Any:
    if isinstance(x, list | tuple):
        return type(x)(map(_without_dimensions, x))
    return values([x], ()) if isinstance(x, Value) else x


Value.torch_call = staticmethod(_torch_call)
