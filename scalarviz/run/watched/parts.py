"""`Part`: one array of what is watched, by name; `Parts`: all of them, read anew at every look."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import InputError
from ..frame import Role, Tensor
from ..grouped import grouped
from .leaves import Numbers, gradient, numbers

Float = NDArray[np.floating]


@dataclass(frozen=True, slots=True)
class Part:
    """One array.

    Attributes
    ----------
    name : str
    leaf : array_like or tensor
        Held, not copied.
    role : {"weight", "bias", "buffer", "count"}
    frozen : bool
        Whether no gradient goes to it.
    """

    name: str
    leaf: Any
    role: Role = "weight"
    frozen: bool = False


def role_of(name: str, leaf: object = None) -> Role:
    """What an array is drawn as, by the words of its name; flax says which arrays are statistics of batches."""
    *way, last = name.split(".")
    if "batch_stats" in way or any(kind.__name__ == "BatchStat" for kind in type(leaf).__mro__):
        return "buffer"
    return "bias" if last == "bias" or last.startswith("bias_") or last.endswith("_bias") else "weight"


class Parts:
    """Where the arrays lie in the flat arrays of a frame. Names and shapes stay what they are.

    Parameters
    ----------
    parts : sequence of Part

    Attributes
    ----------
    tensors : tuple of Tensor
    size : int
        Numbers in all.

    Raises
    ------
    InputError
        There are no numbers.
    """

    def __init__(self, parts: Sequence[Part]) -> None:
        found = [(part, numbers(part.name, part.leaf)) for part in parts]
        self._places: dict[str, tuple[slice, tuple[int, ...]]] = {}
        tensors, start = list[Tensor](), 0
        for part, array in found:
            if array.size:
                tensors.append(Tensor(part.name, array.shape, start, part.role))
                self._places[part.name] = slice(start, start + array.size), array.shape
                start += array.size
        if not start:
            raise InputError("nothing to draw: got no numbers; allowed: at least one array with at least one element")
        self.tensors, self.size = grouped(tensors), start
        wide = any(array.dtype.itemsize > 4 or array.dtype.kind != "f" for part, array in found if part.role != "count")
        self.dtype = np.dtype(np.float64 if wide else np.float32)

    def values(self, parts: Sequence[Part]) -> Float:
        """All numbers, a copy (P,).

        Raises
        ------
        InputError
            They have other names or shapes.
        """
        found = {part.name: numbers(part.name, part.leaf) for part in parts}
        self.fit_all({name: array.shape for name, array in found.items()})
        flat = np.empty(self.size, self.dtype)
        for name, (span, _) in self._places.items():
            _fill(flat, span, found[name])
        return flat

    def gradients(self, found: Callable[[str], Numbers | None]) -> tuple[Float, NDArray[np.bool_]]:
        """All gradients (P,), 0 where there is none, and where there is one (P,)."""
        flat, computed = np.zeros(self.size, self.dtype), np.zeros(self.size, bool)
        for name, (span, _) in self._places.items():
            array = found(name)
            if array is not None:
                self.fit(f"the gradient of {name}", name, array.shape)
                _fill(flat, span, array)
                computed[span] = True
        return flat, computed

    def frozen(self, parts: Sequence[Part]) -> NDArray[np.bool_]:
        """To which no gradient goes, (P,)."""
        flat = np.zeros(self.size, bool)
        for part in parts:
            if part.frozen and part.name in self._places:
                flat[self._places[part.name][0]] = True
        return flat

    def fit(self, said: str, name: str, shape: tuple[int, ...]) -> slice | None:
        """Where an array belongs; None for one without numbers.

        Raises
        ------
        InputError
            There is none of that name and shape.
        """
        place = self._places.get(name)
        if place is None:
            if 0 in shape:
                return None
            raise InputError(f"{said if name else 'an array by itself, without a name,'} is new; {_SAME}")
        if shape != place[1]:
            raise InputError(f"{said}: got the shape {shape}, it was {place[1]}; {_SAME}")
        return place[0]

    def fit_all(self, shapes: Mapping[str, tuple[int, ...]]) -> None:
        """Check that these are the arrays that there were.

        Raises
        ------
        InputError
            One is missing, is new, or has another shape.
        """
        for name, shape in shapes.items():
            self.fit(name, name, shape)
        missing = [name for name in self._places if name not in shapes]
        if missing:
            raise InputError(f"{missing[0]} is missing; {_SAME}")


def _fill(flat: Float, span: slice, array: Numbers) -> None:
    with np.errstate(invalid="ignore", over="ignore"):  # a diverged network holds infinities
        flat[span] = array.reshape(-1)


_SAME = "allowed: the same names and shapes each time; what has others is shown by a new window"


def own_gradient(parts: Sequence[Part]) -> Callable[[str], Numbers | None]:
    """The gradients that the parts themselves hold, by name."""
    by_name = {part.name: part.leaf for part in parts if part.role not in ("buffer", "count")}

    def found(name: str) -> Numbers | None:
        return gradient(name, by_name[name]) if name in by_name else None

    return found
