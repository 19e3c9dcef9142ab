"""Conversion of arguments to numbers: plain numbers, `Single` (a list of one Value) and `Many`."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, SupportsFloat

import numpy as np

from ..errors import InputError, ScalarvizError, TypeMismatchError, shown, typed


def as_number(x: SupportsFloat, what: str) -> float:
    """Return `x` as a float; TypeMismatchError if it is no number, InputError if a whole number is too large."""
    kind = type(x)
    if kind is float:
        return x  # type: ignore[return-value]
    try:
        if kind is int:  # the checks below would cost more than the conversion
            return float(x)
        if isinstance(x, str | bytes | bytearray):  # float("1") is 1.0, but text is no number here
            raise TypeError
        # float() would accept an array of one, the real part of a complex one, and a masked one
        if isinstance(x, np.ndarray | np.generic) and not (x.ndim == 0 and x.dtype.kind in "biuf"):
            raise TypeError
        if isinstance(x, np.ma.MaskedArray):
            raise TypeError
        return float(x)
    except (TypeError, ValueError):
        raise TypeMismatchError(f"{what} must be a number, got {typed(x)}") from None
    except OverflowError:
        raise InputError(f"{what} must be a float64 number, at most about 1.8e308; got a larger whole number") from None


def checked_number(x: SupportsFloat, what: str, fits: Callable[[float], bool], must: str, advice: str = "") -> float:
    """Return `x` as a float that `fits`; else raise InputError: `what` must `must`, followed by `advice`."""
    number = as_number(x, what)
    if not fits(number):
        raise InputError(f"{what} must {must}, got {shown(x)}{advice}")
    return number


def positive(x: SupportsFloat, what: str, advice: str = "") -> float:
    """Return `x` as a finite float above 0; InputError if it is none."""
    return checked_number(x, what, lambda number: 0 < number < math.inf, "be a finite number > 0", advice)


def at_least_zero(x: SupportsFloat, what: str, advice: str = "") -> float:
    """Return `x` as a finite float of at least 0; InputError if it is none."""
    return checked_number(x, what, lambda number: 0 <= number < math.inf, "be a finite number >= 0", advice)


class Many:
    """Base of operands with many numbers: ``value * many``, and the functions, leave the work to them."""

    __slots__ = ()

    def each(self, name: str, *operands: Any) -> Any:
        """Apply the operation `name` of the table elementwise to its operands; this object is one of them."""
        raise NotImplementedError

    def as_values(self) -> Any:
        """Return the array of the objects."""
        raise NotImplementedError

    def reduced(self, name: str) -> Any:
        """Return its ``sum``, ``mean``, ``max`` or ``min``."""
        return getattr(self, name)()


if TYPE_CHECKING:
    from .value import Value


class Single(list["Value"]):
    """The result of a module with one output: the list of its outputs, and a number.

    It behaves like a list in ``out[0]``, ``len(out)`` and iteration, and ``+`` joins it with another list. Everything
    else means its one Value: ``out * 2``, ``out - target``, ``out.data``, ``out.backward()``, ``float(out)``.

    Examples
    --------
    >>> from scalarviz import Value
    >>> out = Single([Value(3.0)])
    >>> (out * 2).data, out.data, (out + 1).data, len(out + [0.0])
    (6.0, 3.0, 4.0, 2)
    """

    __slots__ = ()

    __array_priority__ = 1000.0  # np.float64(2) * out calls this class

    @property
    def value(self) -> Value:
        """The Value; TypeMismatchError if the list was changed and no longer has one element."""
        if len(self) != 1:
            raise TypeMismatchError(
                f"expected a number, got a list of {len(self)} outputs; use one of them, outputs[0]"
            )
        return self[0]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")
        return getattr(self.value, name)

    def __add__(self, other: Any) -> Any:
        return list(self) + other if isinstance(other, list) else self.value + other

    def __radd__(self, other: Any) -> Any:
        return other + list(self) if isinstance(other, list) else other + self.value

    def __iadd__(self, other: Any) -> Any:
        return super().__iadd__(other) if isinstance(other, list) else self.value + other

    def __eq__(self, other: object) -> Any:
        return super().__eq__(other) if isinstance(other, list) else self.value == other

    def __ne__(self, other: object) -> Any:
        return super().__ne__(other) if isinstance(other, list) else self.value != other

    __hash__ = None  # as for any list

    def __index__(self) -> int:
        return self.value.__index__()

    def __format__(self, spec: str) -> str:
        return format(self.value, spec) if spec else str(self)

    def __repr__(self) -> str:
        return f"[{', '.join(map(repr, self))}]"

    def __reduce__(self) -> tuple[Any, ...]:
        return Single, (list(self),)


LISTS = (
    "A sample is a list of Values without a batch dimension. np.array(x) makes an array of it, which has x.shape, "
    "x.reshape() and + - * /. Layers, sv.relu, sv.softmax and nn.MSELoss() replace PyTorch's functions."
)


INPUTS = "A Run and a batch give forward one input. Join several as np.hstack([a, b]), and split the row in forward."


def say_lists(error: AttributeError | TypeError) -> None:
    """Note it on an error of a user's function that took lists of Values for tensors, or one input for several."""
    wrong = isinstance(getattr(error, "obj", None), list) or any(w in str(error) for w in ("list", "must be Tensor"))
    note = LISTS if wrong else INPUTS if "forward() missing" in str(error) else ""
    if note and not isinstance(error, ScalarvizError) and not hasattr(error, "__notes__"):
        error.add_note(note)


def usable(result: Any) -> Any:
    """Return `result`: a list or an array of one number as a `Single`, NumPy's arrays as (nested) lists."""
    if isinstance(result, np.ndarray) and result.ndim > 0 and not (isinstance(result, Many) and result.size > 1):
        result = result.tolist()
    one = type(result) is list and len(result) == 1 and not isinstance(result[0], list | tuple)
    return Single(result) if one else result


def _of_value(operation: Callable[..., Any]) -> Callable[..., Any]:
    return lambda self, *others: operation(self.value, *others)


def _reflected(operation: Callable[..., Any]) -> Callable[..., Any]:
    return lambda self, other: operation(other, self.value)


for _name in ("sub", "mul", "truediv", "pow"):
    _operation = getattr(operator, _name)
    setattr(Single, f"__{_name}__", _of_value(_operation))
    setattr(Single, f"__i{_name}__", _of_value(_operation))
    setattr(Single, f"__r{_name}__", _reflected(_operation))
for _name in ("neg", "pos", "abs", "lt", "le", "gt", "ge"):
    setattr(Single, f"__{_name}__", _of_value(getattr(operator, _name)))
for _function in (float, int, round):
    setattr(Single, f"__{_function.__name__}__", _of_value(_function))
