"""What cubes can show: a number of each weight, its colour map, and how it is laid on a scale."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...checks import text
from ...errors import InputError, UnknownNameError, listing, shown
from ...run.core.frame import Frame
from ...run.questions.ranges import Range, Scale
from ...run.source import Source

Float = NDArray[np.floating]

GRADIENT_DECADES, SQUARE_DECADES = 4, 8
"""Of a magnitude's scale: a square spans twice as many."""
RATIO = Range(1e-6, 1.0, "log")
"""Of update/value, always: about 1e-3 is what a learning rate is tuned for, and a colour means the same everywhere."""
_WORDS = {
    "exp_avg": "m (exp_avg)", "exp_avg_sq": "v (exp_avg_sq)", "max_exp_avg_sq": "largest v",
    "momentum_buffer": "velocity", "square_avg": "v (square_avg)", "sum": "sum of squares", "grad_avg": "mean gradient",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number of each weight.

    Attributes
    ----------
    name : str
        What it is asked for by.
    words : str
        What it is called in a picture.
    numbers : callable
        From a frame, shape (P,); None where the frame has none of it.
    cmap : str
        Its own colour map.
    scale : {"linear", "symlog", "log"}
        Signs have a range on both sides of 0, magnitudes (``"log"``) so many `decades` below its end.
    decades : int
    state : bool
        Whether it is what the optimiser keeps, which a frame holds where it was asked for.
    """

    name: str
    words: str
    numbers: Callable[[Frame], Float | None]
    cmap: str
    scale: Scale
    decades: int = 0
    state: bool = False

    @property
    def signed(self) -> bool:
        """Whether it has signs."""
        return self.scale != "log"

    def range(self, v: float) -> Range:
        """The range whose end is `v`."""
        if self.name == "update/value":
            return RATIO
        return Range.decades(v, self.decades) if self.decades else Range.symmetric(v, self.scale)


def _ratio(frame: Frame) -> Float:
    """How large the last update is beside the value that it made; 0 where there was none."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        found = np.abs(frame.update) / np.abs(frame.values)
    return np.asarray(np.where(frame.update == 0, np.zeros_like(found), found))


_OWN = (
    Quantity("weight", "weight", lambda frame: frame.values, "weight", "linear"),
    Quantity("gradient", "gradient", lambda frame: frame.gradient, "gradient", "symlog"),
    Quantity("|gradient|", "|gradient|", lambda frame: np.abs(frame.gradient), "magnitude", "log", GRADIENT_DECADES),
    Quantity("update", "update", lambda frame: frame.update, "update", "symlog"),
    Quantity("update/value", "update / value", _ratio, "magnitude", "log", 6),
)
OWN = {quantity.name: quantity for quantity in _OWN}
"""What every frame has."""


def _moments(signs: Mapping[str, bool]) -> Iterator[Quantity]:
    """What an optimiser keeps: by its names, whether each has signs."""
    for name, signed in signs.items():
        words = _WORDS.get(name, name)
        if signed:
            yield Quantity(name, words, lambda f, n=name: f.state.get(n), "gradient", "symlog", state=True)  # type: ignore[misc]
        else:
            yield Quantity(
                name, words, lambda f, n=name: f.state.get(n), "magnitude", "log", SQUARE_DECADES, state=True  # type: ignore[misc]
            )  # fmt: skip


def quantity_of(name: object, moments: Mapping[str, bool]) -> Quantity:
    """The quantity of a name.

    Parameters
    ----------
    name : str or Quantity
        One that was shown already stays, although the optimiser may have become one that does not keep it.
    moments : mapping of str to bool
        What the optimiser keeps for each weight, and whether it has signs.

    Raises
    ------
    TypeMismatchError, UnknownNameError
        It is no name, or none that there is.
    """
    if isinstance(name, Quantity):
        return name
    given = text(name, "the quantity")
    if given in OWN:
        return OWN[given]
    for found in _moments(moments):
        if found.name == given:
            return found
    more = "" if moments else " (the optimiser here keeps no others for each weight)"
    raise UnknownNameError(f"quantity {shown(name)} is not known; allowed: {listing([*OWN, *moments])}{more}")


def check_kept(source: Source, quantity: object) -> None:
    """Raise InputError, which says why, where a recording holds nothing of a quantity."""
    name = quantity.name if isinstance(quantity, Quantity) else str(quantity)
    if quantity is not None and (reason := source.lacks(name)):
        raise InputError(f"quantity {shown(name)}: {reason}; allowed: {listing(n for n in OWN if not source.lacks(n))}")


def short(name: str) -> str:
    """What an array of the optimiser is called where there is little room."""
    return {"exp_avg": "m", "exp_avg_sq": "v", "momentum_buffer": "momentum"}.get(name, name)
