"""Points that a hand adds to a playground, as texts: ``--point 1.5,-2,1`` is what a click at that place adds."""

from __future__ import annotations

import math

import numpy as np

from scalarviz.errors import InputError, listing, shown

from ._sort import Sort
from ._units import FARTHEST, Column, Units

FINE = 10_000
"""Places are told apart that are a map's width divided by this from each other: finer than any pixel."""
_MINUS = "\N{MINUS SIGN}"

Point = tuple[tuple[float, float], float]
"""Two numbers of a place, and what is to be found there, as a network gets them."""


def written(at: tuple[float, float], target: float, units: Units, sort: Sort) -> str:
    """A point in the units of before, with as many digits as :data:`FINE` needs: ``1.5,-2,1``."""
    places = [_rounded(number, column) for number, column in zip(at, units.inputs, strict=False)]
    kind = sort.kind
    if kind:
        word = sort.classes[int(target > 0) if kind == 2 else int(target)].replace(_MINUS, "-")
    else:
        word = _rounded(target, units.target)
    return ",".join([*places, word])


def point_of(text: str, units: Units, sort: Sort) -> Point:
    """What such a text says.

    Raises
    ------
    InputError
        It has too few numbers, or what is to be found there is none of the classes.
    """
    count = len(units.inputs)
    *places, word = text.split(",", count)
    if len(places) < count:
        names = ",".join([*(column.name for column in units.inputs), units.target.name])
        raise InputError(f"--point {shown(text)}: wanted {names}, with commas between")
    numbers = [_number(place, column, text) for place, column in zip(places, units.inputs, strict=True)]
    if not sort.kind:
        return (numbers[0], numbers[-1] if count == 2 else 0.0), _number(word, units.target, text)
    words = [name.replace(_MINUS, "-") for name in sort.classes]
    said = word.strip().replace(_MINUS, "-")
    if said not in words:
        raise InputError(f"--point {shown(text)}: there is no class {shown(said)}; allowed: {listing(words)}")
    found = words.index(said)
    return (numbers[0], numbers[-1] if count == 2 else 0.0), float(2 * found - 1 if sort.kind == 2 else found)


def _rounded(number: float, column: Column) -> str:
    low, high = column.shown
    digits = math.ceil(math.log10(FINE / (high - low)))
    found = round(column.before(number), digits)
    return repr(int(found) if found.is_integer() and abs(found) < FINE * FINE else found)


def _number(text: str, column: Column, whole: str) -> float:
    """A number of before, as a network gets it."""
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    with np.errstate(all="ignore"):
        found = float((np.float64(number) - column.mean) / column.scale)
    if not math.isfinite(found) or abs(number) > FARTHEST or abs(found) > np.finfo(np.float32).max:
        raise InputError(f"--point {shown(whole)}: {column.name} is a number, got {shown(text.strip())}")
    return found
