"""Checks of single arguments: each gives back what was given in the form that is wanted, or says what is wrong.

Whatever is given, only the package's own errors come out. Below are the checks that a mapped file still has an array,
and that there is enough memory.
"""

from __future__ import annotations

import mmap
import operator
import os
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from .errors import InputError, OutOfRangeError, TypeMismatchError, listing, shown, typed

Called = TypeVar("Called", bound=Callable[..., Any])
Name = TypeVar("Name", bound=str)


def flag(given: object, what: str) -> bool:
    """`given` as True or False.

    Raises
    ------
    TypeMismatchError
        It is neither (nor 0 or 1): the truth of a text, a list or an array is rarely what was meant.
    """
    if isinstance(given, bool | int | np.bool_) and given in (0, 1):
        return bool(given)
    raise TypeMismatchError(f"{what} must be True or False, got {typed(given)}")


def check_set_to_none(given: object) -> None:
    """Check the argument of ``zero_grad``: a gradient is always a number, and 0 after it means "not computed yet"."""
    if not flag(given, "zero_grad: set_to_none"):
        raise InputError("zero_grad: set_to_none=False is not here: a gradient of 0 is not computed yet; omit it")


def one_of(given: object, allowed: Iterable[Name], what: str) -> Name:
    """`given` if it is one of the names `allowed`.

    Raises
    ------
    InputError
        It is another one, or no text at all.
    """
    names = tuple(allowed)
    if isinstance(given, str) and given in names:
        return names[names.index(given)]
    raise InputError(f"{what} must be one of {listing(map(repr, names))}, got {shown(given)}")


def text(given: object, what: str) -> str:
    """`given` if it is a text.

    Raises
    ------
    TypeMismatchError
        It is none.
    """
    if isinstance(given, str):
        return given
    raise TypeMismatchError(f"{what} must be a string, got {typed(given)}")


def mapping(given: object, what: str) -> Mapping[str, Any]:
    """`given` if it is a mapping with texts as names, such as a dict.

    Raises
    ------
    TypeMismatchError
        It is none, or a name is no text.
    """
    if isinstance(given, Mapping) and all(isinstance(name, str) for name in given):
        return given
    raise TypeMismatchError(f"{what} must be a mapping with strings as keys, such as a dict; got {typed(given)}")


def function(given: Called, what: str) -> Called:
    """`given` if it can be called.

    Raises
    ------
    TypeMismatchError
        It cannot.
    """
    if callable(given):
        return given
    raise TypeMismatchError(f"{what} must be a function, got {typed(given)}")


def integer(name: str, given: Any, least: int, most: int | None = None) -> int:
    """`given` as an int of at least `least` and at most `most`.

    Raises
    ------
    InputError
        It is no whole number, or outside.
    """
    if isinstance(given, bool) or not isinstance(given, int | np.integer) or given < least:
        raise InputError(f"{name} must be a whole number >= {least}, got {shown(given)}")
    if most is not None and given > most:
        raise InputError(f"{name} must be a whole number <= {most}, got {shown(given)}")
    return int(given)


def position(index: Any, length: int, what: str, advice: str = "") -> int:
    """The place ``0 .. length - 1`` that ``[index]`` means; negative ones count from the end.

    Raises
    ------
    TypeMismatchError
        `index` is no whole number.
    OutOfRangeError
        There is no such place.
    """
    try:
        if isinstance(index, bool | np.bool_ | np.ndarray):
            raise TypeError
        place = operator.index(index)
    except TypeError:
        raise TypeMismatchError(f"{what}[{shown(index)}]: an index must be a whole number{advice}") from None
    if not -length <= place < length:
        raise OutOfRangeError(f"{what} has no index {shown(place)}; allowed: {-length} .. {length - 1}")
    return place % length


def _number(x: Any) -> float:
    if x is None or isinstance(x, str | bytes | np.ndarray):  # NumPy would make NaN of None and read texts
        raise TypeError(f"it contains {typed(x)}")
    return float(x)


def real_array(data: Any, what: str) -> NDArray[Any]:
    """`data` as an array of whole or real numbers, of the dtype that it has; not copied.

    Raises
    ------
    TypeMismatchError
        It is ragged, complex, masked, or no numbers.
    InputError
        It lies in a file that was shortened since.
    """
    if isinstance(data, np.ndarray):
        check_length(data, what)
    try:
        array = np.asarray(data)
        if array.dtype.kind == "O":  # Python's numbers of any size
            array = np.array([_number(x) for x in array.ravel().tolist()], np.float64).reshape(array.shape)
        if array.dtype.kind not in "biuf":
            raise TypeError(f"dtype {array.dtype}")
        if np.ma.isMaskedArray(data):
            raise TypeError("a masked array; use filled(...) or compressed()")
        return array
    except Exception as error:  # elements of any class, which may raise what they like when asked for their number
        raise TypeMismatchError(
            f"{what} must be an array of real numbers, got {type(data).__name__} ({error!s:.100})"
        ) from None


# ---- Arrays that lie in a file: whether the file still has them. To read behind its end ends the process.


class InFile:
    """The file that an array is mapped from.

    Parameters
    ----------
    array : ndarray
        A ``np.memmap``, or any view of one; other arrays have no file, and are always there.
    """

    def __init__(self, array: NDArray[Any]) -> None:
        self._map, begin = _below(array)
        self._needed = 0 if self._map is None else begin + _last(array, self._map)

    def missing(self) -> str:
        """What is missing, as the end of a sentence; empty if nothing is."""
        try:
            size = self._needed if self._map is None else self._map.size()
        except (OSError, ValueError):  # memory without a file
            return ""
        if size >= self._needed:
            return ""
        return f"the file was shortened to {size:,} bytes; {self._needed:,} are needed"


def check_length(array: NDArray[Any], what: str) -> None:
    """Raise InputError unless all numbers of an array can be read."""
    missing = InFile(array).missing() if array.base is not None else ""
    if missing:
        raise InputError(f"{what}: {missing}; restore the file")


def _below(array: Any) -> tuple[mmap.mmap | None, int]:
    """The map below an array, and where in the file it begins."""
    begin = 0
    while array is not None and not isinstance(array, mmap.mmap):
        if isinstance(array, np.memmap):
            begin = array.offset - array.offset % mmap.ALLOCATIONGRANULARITY
        array = getattr(array, "base", None)
    return array, begin


def _last(array: NDArray[Any], below: mmap.mmap) -> int:
    """Where in the map the numbers of an array end."""
    if array.size == 0:
        return 0
    last = sum((n - 1) * max(step, 0) for n, step in zip(array.shape, array.strides, strict=True))
    place = array.ctypes.data - int(np.frombuffer(below, np.uint8).ctypes.data)
    return int(place + last + array.itemsize)


# ---- How much memory there is, and one refusal for all that would need more: before it is tried.


GB = 10**9


def check_memory(needed: int, what: str, remedy: str) -> None:
    """InputError, which says both numbers, if `what` needs more bytes than are free.

    A system lets a program take more than there is and kills it later, with all that it has trained.
    """
    there = free_memory()
    if needed > there:
        raise InputError(f"{what}: this needs {shown(needed // GB)} GB of memory, {there // GB} GB are free; {remedy}")


def free_memory() -> int:
    """Bytes of memory that a program can still have, or that the computer has; 64 GB where the system does not say."""
    with suppress(OSError, ValueError, IndexError), open("/proc/meminfo", encoding="ascii") as lines:
        for line in lines:
            if line.startswith("MemAvailable:"):
                return 1024 * int(line.split()[1])
    with suppress(AttributeError, ValueError, OSError):  # Windows has no sysconf, other systems not these names
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return 1 << 36
