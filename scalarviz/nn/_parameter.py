"""`Parameter`: a block of weights with a shape, indexed down to the single `Weight`.

``p[x]`` with a Value x selects the row with that number.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial
from math import prod
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..checks import check_memory, flag, position, real_array
from ..errors import InputError, OutOfRangeError, StateError, TypeMismatchError, shown
from ..scalar import Block, Value, tracing
from ..scalar.array import Size, Values, as_objects, values
from ..scalar.functions import Gathered
from ..scalar.nested import flatten, shape_of
from ..scalar.outputs import Outputs
from ..scalar.sums import Row
from ..scalar.value import as_value
from ._elementwise import Elementwise
from ._numbers import CHANGED, Numbers


def chosen(parameter: Parameter, start: int, shape: tuple[int, ...], id: Value, rest: tuple[Any, ...]) -> Any:
    """Return what `id` and the later indices `rest` select from the span of `parameter` that begins at `start`."""
    rows, *inner = shape
    offset, left, step = start, tuple(inner), prod(inner)
    for i in rest:
        if isinstance(i, Value):
            raise InputError(f"{parameter._title()}: only the first index may be a Value, got {shown(rest)} after it")
        side, *deeper = left
        left = tuple(deeper)
        offset += position(i, side, parameter._title()) * prod(left)
    if tracing.active() is not None and (id._op is not None or type(id) is not Value):  # known only when the graph runs
        return _nested(left, offset, lambda at: Gathered(parameter, at, rows, step, id))
    number = id.data
    if 0 <= number < rows and number == int(number):
        return _nested(left, offset + int(number) * step, parameter.weight)
    if id._op is None:
        raise OutOfRangeError(
            f"{parameter._title()}: there is no row {shown(number)}; an id must be a whole number from 0 to {rows - 1}"
        )
    return _nested(left, offset, lambda at: Value(math.nan))


def _nested(shape: tuple[int, ...], at: int, make: Callable[[int], Value]) -> Any:
    """Return Values as an array of this shape, in C order from flat index `at` on."""
    return values([make(k) for k in range(at, at + prod(shape))], shape) if shape else make(at)


FloatArray = NDArray[np.floating]

BYTES = 52
"""The bytes that a new weight takes: value, gradient, two flags, and the draw of its initial value."""


def check_size(shape: tuple[int, ...], title: str, what: str = "weights") -> None:
    """Check that the memory of this computer holds so many numbers."""
    count = prod(shape)
    check_memory(count * BYTES, f"{title} has {shown(count)} {what} in {len(shape)} dimensions", "use smaller layers")
    if len(shape) > 32:  # NumPy has 64 dimensions, NumPy 1 had 32
        raise InputError(f"{title} has {len(shape)} dimensions; allowed are at most 32")


_OF_GRAPH = frozenset(("backward", "clamp", "diagonal", "dot", "ravel"))
"""Words of an array of Values that need no other definition here."""
_OF_NUMBERS = frozenset(("all", "any", "argsort", "dtype", "eq", "ge", "gt", "le", "lt", "ne", "nonzero", "tolist"))
"""Words whose results have no gradient."""


class Span(Elementwise):
    """Base of `Parameter` and `ParameterView`: weights of a Parameter that lie side by side in memory."""

    __slots__ = ()

    device = "cpu"
    is_leaf = True
    grad_fn = None

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            if name in _OF_GRAPH:
                return getattr(self.as_values(), name)
            if name in _OF_NUMBERS:
                return getattr(self.data, name)
            return super().__getattr__(name)

    def cpu(self) -> Self:
        """Return the weights: they are on the CPU and float64."""
        return self

    double = cpu

    def clone(self) -> Any:
        """Return a copy that passes its gradient on; the numbers alone under ``sv.no_grad()``."""
        if tracing.active() is not None:
            return super().clone()
        return self.data.clone() if tracing.untracking() else self.as_values() * 1.0

    def detach(self) -> Any:
        """Return the numbers, a live view as in PyTorch; in a recording, Values that pass no gradient on."""
        return self.data if tracing.active() is None else super().detach()

    def _place(self) -> tuple[Parameter, int, int]:
        """Return the Parameter, and the first and end flat index."""
        raise NotImplementedError

    def _title(self) -> str:
        raise NotImplementedError

    @property
    def data(self) -> Numbers:
        """The values, shape `shape`, as a live view; during training in a thread, a read-only copy.

        Assigning copies.
        """
        parameter, start, stop = self._place()
        return parameter._seen("value", start, stop).reshape(self.shape).view(Numbers)

    @data.setter
    def data(self, array: ArrayLike) -> None:
        parameter, start, _ = self._place()
        parameter._write(start, fitted(array, self.shape, f"{self._title()}.data").ravel())

    @property
    def grad(self) -> Numbers:
        """The gradients, shape `shape`, like `data`; 0 before any backward pass.

        Assigning copies and marks the gradients as computed; None sets them to 0, "not computed yet".
        """
        parameter, start, stop = self._place()
        return parameter._seen("grad", start, stop).reshape(self.shape).view(Numbers)

    @grad.setter
    def grad(self, array: ArrayLike | None) -> None:
        new = 0.0 if array is None else fitted(array, self.shape, f"{self._title()}.grad")
        parameter, start, stop = self._place()
        parameter._own_grads()
        self.grad[...] = new
        parameter.computed[start:stop] = array is not None

    @property
    def frozen(self) -> bool:
        """True if optimisers skip all of the weights. Assigning sets all of them."""
        parameter, start, stop = self._place()
        return bool(parameter._seen("frozen", start, stop).all())

    @frozen.setter
    def frozen(self, frozen: bool) -> None:
        parameter, start, _ = self._place()
        parameter._freeze(start, np.full(self.numel(), flag(frozen, f"{self._title()}.frozen")))

    @property
    def has_grad(self) -> bool:
        """True if a gradient of any of the weights was computed since the last ``zero_grad``."""
        parameter, start, stop = self._place()
        return bool(parameter.computed[start:stop].any())

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self.shape)

    def numel(self) -> int:
        """Return the number of scalars."""
        return prod(self.shape)

    def row(self) -> Row:
        """Return the weights as a row of their block."""
        parameter, start, stop = self._place()
        return Row(parameter, start, stop - start)

    def __len__(self) -> int:
        if not self.shape:
            raise TypeMismatchError(
                "len(): a Parameter without dimensions has no length; it holds one Weight, parameter[()]"
            )
        return self.shape[0]

    def __getitem__(self, index: Any) -> Picked:
        parameter, start, _ = self._place()
        found: Picked = _pick(parameter, start, self.shape, index)
        return found

    def __iter__(self) -> Iterator[Picked]:
        return (self[i] for i in range(len(self)))


if TYPE_CHECKING:

    class Picked(Span, Any):  # type: ignore[misc]
        """What an index selects: a row or a single weight. A checker knows no shapes, so it may be used as either."""

        data: Any
        grad: Any
        name: str
        requires_grad: bool


class Parameter(Block, Span):
    """A trainable array; each element is one scalar weight.

    Parameters
    ----------
    data : array-like of float
        The initial values, of any shape; copied as float64.
    requires_grad : bool
        False: optimisers skip it (`frozen`).

    Attributes
    ----------
    shape : tuple of int

    Raises
    ------
    TypeMismatchError
        `data` is no array of real numbers.
    InputError
        `data` has no elements.

    Examples
    --------
    >>> p = Parameter([[1.0, 2.0], [3.0, 4.0]])
    >>> p[1][0].data, p[1, 0] is p[1][0]
    (3.0, True)
    >>> (p * p).sum().data, (p @ [1.0, 1.0]).data.tolist(), p[:, 1].data.tolist()
    (30.0, [3.0, 7.0], [2.0, 4.0])
    """

    __slots__ = ("shape",)

    shape: tuple[int, ...]

    def __init__(self, data: ArrayLike, requires_grad: bool = True) -> None:
        array = float_array(data, "Parameter: the data")
        if array.size == 0:
            raise InputError(f"Parameter: an array of shape {array.shape} has no elements; give at least one")
        super().__init__(array.size)
        self.shape, self.size = array.shape, Size(array.shape)
        self.flat_value[:] = array.ravel()
        if requires_grad is not True:
            self.requires_grad = requires_grad

    @classmethod
    def filled(cls, number: float, shape: tuple[int, ...], title: str) -> Parameter:
        """Return a Parameter of equal numbers; `title` names its layer in errors."""
        check_size(shape, title)
        return cls(np.full(shape, number))

    def _place(self) -> tuple[Parameter, int, int]:
        return self, 0, self.size

    @property
    def role(self) -> str:
        """The kind of picture: ``"bias"`` if its owner holds it under that name, else ``"weight"``."""
        return "bias" if self.name.rpartition(".")[2] == "bias" else "weight"

    @property
    def requires_grad(self) -> bool:
        """The opposite of `frozen`, under PyTorch's name."""
        return not self.frozen

    @requires_grad.setter
    def requires_grad(self, requires: bool) -> None:
        self.frozen = not flag(requires, f"{self._title()}.requires_grad")

    def requires_grad_(self, requires_grad: bool = True) -> Parameter:
        """Set `requires_grad` and return the Parameter."""
        self.requires_grad = requires_grad
        return self

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            if name.removesuffix("_") in CHANGED and name.endswith("_"):
                return partial(self._change, name)
            return super().__getattr__(name)

    def _change(self, name: str, *args: Any, **named: Any) -> Parameter:
        """Change the numbers by a word that ends with ``_``, such as ``p.mul_(0.9)``; only under ``sv.no_grad()``."""
        return self._overwrite(getattr(self.data.clone(), name)(*args, **named))

    def __setitem__(self, index: Any, numbers: Any) -> None:
        """Overwrite some of the values; only under ``sv.no_grad()``, like ``+=``."""
        changed = np.array(self.data)
        try:
            changed[index] = getattr(numbers, "data", numbers)
        except (IndexError, TypeError, ValueError) as error:
            raise InputError(f"{self._title()}[{shown(index)}] = ..., shape {self.shape}: {error}") from None
        self._overwrite(changed)

    def __iadd__(self, other: Any) -> Parameter:
        return self._overwrite((self._operand(other) + other).data)

    def __isub__(self, other: Any) -> Parameter:
        return self._overwrite((self._operand(other) - other).data)

    def __imul__(self, other: Any) -> Parameter:
        return self._overwrite((self._operand(other) * other).data)

    def __itruediv__(self, other: Any) -> Parameter:
        return self._overwrite((self._operand(other) / other).data)

    def _operand(self, other: Any) -> Any:
        """Return the numbers alone where that is all that `other` needs: Values for each weight would take long."""
        alone = type(other) in (float, int, Numbers, Outputs) or (type(other) is np.ndarray and other.dtype.kind == "f")
        return self.data if alone and np.shape(other) in ((), self.shape) else self

    def _overwrite(self, numbers: ArrayLike) -> Parameter:
        if not tracing.untracking():
            raise StateError(
                f"{self._title()}: a change in place (+=, -=, *=, /=, [...] =, or a word such as mul_) is allowed only "
                "under sv.no_grad(); elsewhere write p = p - ..., or assign to p.data"
            )
        self.data = numbers
        return self

    def weight_name(self, index: int) -> str:
        """Return the name of the scalar at flat `index`, such as ``"0.weight[4][2]"``."""
        flat = position(index, self.size, f"{self._title()}.weight_name")
        place = "".join(f"[{i}]" for i in np.unravel_index(flat, self.shape)) if self.shape else ""
        return f"{self.name}{place}"

    def _title(self) -> str:
        return self.name or "Parameter"

    def __repr__(self) -> str:
        name = f"{self.name!r}, " if self.name else ""
        return f"Parameter({name}shape={self.shape})\n{self.data}"

    def __deepcopy__(self, memo: dict[int, object]) -> Parameter:
        return _restored(*self._numbers())

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, self._numbers()

    def _numbers(self) -> tuple[NDArray[Any], ...]:
        return self.data, self.grad.ravel(), self.computed, self._seen("frozen", 0, self.size)


def _restored(data: Any, grad: Any, computed: Any, frozen: Any) -> Parameter:
    copy = Parameter(data)
    copy.flat_grad[:] = grad
    copy.computed[:] = computed
    copy.frozen_flags[:] = frozen
    return copy


class ParameterView(Span):
    """A row or plane of a Parameter. It holds no numbers of its own."""

    __slots__ = ("parameter", "shape", "start")

    size = Values.__dict__["size"]

    def __init__(self, parameter: Parameter, start: int, shape: tuple[int, ...]) -> None:
        self.parameter, self.start, self.shape = parameter, start, shape

    def _place(self) -> tuple[Parameter, int, int]:
        return self.parameter, self.start, self.start + prod(self.shape)

    @property
    def name(self) -> str:
        """``"0.weight[4]"``, or the names of its first and last weight."""
        parameter, first, stop = self._place()
        outer = parameter.ndim - len(self.shape)
        if parameter.shape[outer:] != self.shape or first % max(self.numel(), 1):
            return f"{parameter.weight_name(first)}..{parameter.weight_name(stop - 1)}"
        place = np.unravel_index(first, parameter.shape)[:outer]
        return parameter.name + "".join(f"[{i}]" for i in place)

    def _title(self) -> str:
        return self.name or "a row"

    def __repr__(self) -> str:
        return f"ParameterView({self.name!r}, shape={self.shape})\n{self.data}"


def _pick(parameter: Parameter, start: int, shape: tuple[int, ...], index: Any) -> Any:
    """Return what ``[index]`` selects from a span of `parameter`.

    Whole numbers select a smaller span, or the Weight if no dimension is left. Slices, lists and arrays select as in
    NumPy: a span if the weights lie side by side, else an array of Weights. If an index is a Value, the result is a
    Value or an array of Values (see `chosen`).
    """
    indices = index if isinstance(index, tuple) else (index,)
    if any(isinstance(i, slice | list | np.ndarray) or i is None or i is Ellipsis for i in indices):
        return _several(parameter, start, shape, index)
    if len(indices) > len(shape):
        raise InputError(f"{parameter._title()}: {len(indices)} indices for the {len(shape)} dimensions of {shape}")
    for k, i in enumerate(indices):
        if isinstance(i, Value):
            return chosen(parameter, start, shape, i, indices[k + 1 :])
        side, *rest = shape
        shape = tuple(rest)
        start += position(i, side, parameter._title()) * prod(shape)
    return parameter.weight(start) if not shape else ParameterView(parameter, start, shape)


def _several(parameter: Parameter, start: int, shape: tuple[int, ...], index: Any) -> Any:
    """Return several rows or columns at once, also those that a list or an array of Values selects."""
    if isinstance(index, list):
        shape_of(index, f"{parameter._title()}[...]")  # refuses a list that holds itself
    if isinstance(index, list | np.ndarray) and getattr(index, "dtype", "O") == "O" and flatten(index):
        ids = as_objects(index, f"{parameter._title()}[...]")
        found = [as_objects(_pick(parameter, start, shape, as_value(id)), "") for id in ids.ravel().tolist()]
        return values(np.stack(found).ravel().tolist(), (*ids.shape, *shape[1:]))
    try:
        places = np.arange(start, start + prod(shape)).reshape(shape)[index]
    except IndexError as error:
        kind = OutOfRangeError if "out of bounds" in str(error) else TypeMismatchError
        raise kind(f"{parameter._title()}[{shown(index)}], shape {shape}: {error}") from None
    except (TypeError, ValueError) as error:
        raise TypeMismatchError(f"{parameter._title()}[{shown(index)}]: {error}") from None
    if np.ndim(places) == 0:  # such as p[..., 0] of a row
        return parameter.weight(int(places))
    flat = places.ravel()
    if len(flat) and np.array_equal(flat, np.arange(flat[0], flat[0] + len(flat))):
        return ParameterView(parameter, int(flat[0]), places.shape)
    return values([parameter.weight(i) for i in flat.tolist()], places.shape)


def float_array(data: Any, what: str) -> NDArray[np.float64]:
    with np.errstate(over="ignore", invalid="ignore"):  # a large longdouble; a signalling NaN
        return np.array(real_array(data, what), np.float64)


def fitted(data: Any, shape: tuple[int, ...], what: str) -> NDArray[np.float64]:
    array = float_array(data, what)
    if array.shape != shape:
        raise InputError(f"{what} has shape {shape}, got an array of shape {array.shape}")
    return array
