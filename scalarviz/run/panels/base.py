"""`Panel`: the base of all kinds, and the kinds that any network can have: pictures, tables, trees, graphs."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from functools import cache
from math import inf
from types import NoneType, UnionType
from typing import Any, ClassVar, Literal, NamedTuple, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...checks import flag, function, integer, real_array, text
from ...errors import InputError, TypeMismatchError, shown
from ...scalar import Value
from ...scalar.nested import every
from ..source import Moment


class Described:
    """A description that refuses values of another type than its annotations say; see `check_field`."""

    __slots__ = ()

    def __post_init__(self) -> None:
        ours = next(one for one in type(self).__mro__ if one.__module__.startswith(__package__))
        for name, allowed in _allowed(ours).items():  # a kind of the user's own checks its own fields
            check_field(getattr(self, name), allowed, type(self).__name__, name)
        self._check()

    def _check(self) -> None:
        """Refuse fields that do not fit together."""


@cache
def _allowed(kind: type) -> dict[str, tuple[Any, ...]]:
    """The types that each field may have."""
    hints = {field.name: get_type_hints(kind)[field.name] for field in fields(kind)}
    return {name: get_args(hint) if isinstance(hint, UnionType) else (hint,) for name, hint in hints.items()}


def check_field(given: Any, allowed: tuple[Any, ...], kind: str, name: str) -> None:
    """Refuse what is no text, flag, function, description or tuple, where one is wanted."""
    hint, what = allowed[0], f"{kind}: {name}"
    if given is None and NoneType in allowed:
        return
    if allowed == (str,):
        text(given, f"{kind}: {name}")
    elif hint is bool:
        flag(given, what)
    elif get_origin(hint) is Callable:
        function(given, what)
    elif isinstance(hint, type) and issubclass(hint, Described):
        if not isinstance(given, allowed):
            names = ["None" if one is NoneType else one.__name__ for one in allowed]
            tip = f"; try {_EXAMPLES[hint.__name__]}" if hint.__name__ in _EXAMPLES else ""
            said = f"{type(given).__name__} {shown(given)}"
            raise TypeMismatchError(f"{what} must be {' or '.join(names)}, got {said}{tip}")
    elif get_origin(hint) is tuple and get_args(hint)[0] is str:
        if not isinstance(given, tuple | list) or not all(isinstance(word, str) for word in given):
            raise TypeMismatchError(f"{what} must be a tuple of texts, got {shown(given)}")
        if get_args(hint) == (str, str) and len(given) != 2:
            raise InputError(f"{what} has {len(given)} texts; allowed: 2")
    elif hint == tuple[int, int]:
        if not isinstance(given, tuple | list) or len(given) != 2:
            raise InputError(f"{what} must be (H, W), got {shown(given)}")
        for side, number in zip("HW", given, strict=True):
            integer(f"{kind}: {side}", number, 1)
    elif hint == tuple[float, float]:
        pair(given, what)


_EXAMPLES = {"Axis": 'Axis("x", -1.0, 1.0)', "PointEdits": "PointEdits(add, remove)"}


def pair(given: Any, what: str) -> tuple[float, float]:
    """`given` as two finite numbers, the first one smaller; InputError otherwise."""
    try:
        one, other = given
        fine = not any(isinstance(number, str | bytes) or number is np.ma.masked for number in (one, other))
        low, high = (float(one), float(other)) if fine else (0.0, 0.0)
    except (TypeError, ValueError, OverflowError):
        low = high = 0.0
    if not -inf < low < high < inf:
        raise InputError(f"{what} must be two finite numbers, the first one smaller, got {shown(given)}")
    return low, high


def arrays_of(description: object, *names: str) -> list[NDArray[Any]]:
    """Fields of a description as arrays of real numbers."""
    kind = type(description).__name__
    return [real_array(getattr(description, name), f"{kind}: {name}") for name in names]


@dataclass(frozen=True, slots=True)
class Beside:
    """A place beside one stage of the network; it moves with the cubes.

    Attributes
    ----------
    stage : str
        Name of the stage (``"2"``); ``"input"`` is the sample itself.
    unit : int or None
        Number of the output beside which it stands; None: beside the whole row.
    """

    stage: str
    unit: int | None = None


Place = Literal["column", "overlay", "above", "among"] | Beside
PLACES = ("column", "overlay", "above")


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel(Described):
    """The base of all kinds.

    Attributes
    ----------
    place : "column", "overlay", "above", Beside or "among"
        In the column beside the cubes, over the upper right corner of their scene, above them all as wide as their
        scene, or beside a stage or a unit. Some kinds draw among the cubes and stand nowhere else.
    at : callable or None
        ``at(moment)``: the panel as it is at a moment, of the same kind and place (its axes may be others after an
        edit); the same object as long as nothing of it is another. None: always as it is.
    """

    speaks_of: ClassVar[Literal["", "colours", "sheet"]] = ""
    """What a panel of this kind says about a sample: three numbers are a colour; it is a sheet with ink on it."""
    among: ClassVar[bool] = False
    """Whether panels of this kind draw among the cubes."""

    place: Place = "column"
    at: Callable[[Moment], Panel] | None = None

    def __post_init__(self) -> None:
        given: Any = self.place
        allowed = ("among",) if self.among else PLACES
        if not (isinstance(given, str) and given in allowed) and (self.among or not isinstance(given, Beside)):
            names = '"among"' if self.among else '"column", "overlay", "above" or Beside("name of a stage", unit)'
            raise InputError(f"{type(self).__name__}: place: got {shown(given)}; allowed: {names}")
        Described.__post_init__(self)


# ---- Panels that a function of the user's own fills: pictures, and tables of words


Rows = Sequence[Sequence[str]]


@dataclass(frozen=True, slots=True, eq=False)
class Image(Panel):
    """A picture that a function of yours makes of every moment.

    Attributes
    ----------
    paint : callable
        ``paint(moment) -> H x W x 3``, uint8 or floats in 0..1. If it raises, the error stands in the picture's place
        in one line and everything else goes on. It is called as often as a quarter of the time allows.
    note : str
        Stands to the right of the title.
    smooth : bool
        Whether enlarged pixels flow into each other.
    """

    title: str
    paint: Callable[[Moment], ArrayLike]
    note: str = ""
    smooth: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Table(Panel):
    """Rows of words.

    Attributes
    ----------
    rows : sequence of rows, or callable
        A row is a sequence of str, all of one length; or ``rows(moment)`` makes them of every moment.
    heads : tuple of str
        One over each column; empty for none.
    lines : int
        Rows for which it asks room where a function makes them, 1 to 12.
    """

    title: str
    rows: Rows | Callable[[Moment], Rows]
    heads: tuple[str, ...] = ()
    lines: int = 7

    def _check(self) -> None:
        integer("Table: lines", self.lines, 1, 12)
        if not callable(self.rows):
            as_rows(self.rows, len(self.heads))


def as_rows(given: Any, columns: int = 0) -> list[tuple[str, ...]]:
    """Checked rows of a table; `columns` words each, 0 for as many as the first has."""
    if isinstance(given, str) or not isinstance(given, Sequence):
        raise InputError(f"rows must be a list of rows, got {type(given).__name__} {shown(given)}")
    rows: list[tuple[str, ...]] = []
    for number, row in enumerate(given):
        if isinstance(row, str) or not isinstance(row, Sequence) or not all(isinstance(word, str) for word in row):
            raise InputError(f"row {number} must be a list of str, got {shown(row)}")
        columns = columns or len(row)
        if len(row) != columns or not columns:
            raise InputError(f"row {number} has {len(row)} words; allowed: {columns or 1}, as in the other rows")
        rows.append(tuple(row))
    return rows


@dataclass(frozen=True, slots=True)
class Picture:
    """A panel at the step of a frame; `image` is its list, or a PNG or WebP of width x height pixels."""

    panel: str
    step: int
    width: int
    height: int
    image: bytes


@dataclass(frozen=True, slots=True, eq=False)
class RecordedPictures(Panel):
    """What a panel looked like at some steps: shown is the last one that is not after the step, with its own step.

    `title` is that of the panel; `pictures` are by step, one at least.
    """

    title: str
    pictures: tuple[Picture, ...]

    def at_step(self, step: int) -> int | None:
        """The number of the picture that is shown at a step; None before the first."""
        found = bisect_right([picture.step for picture in self.pictures], step) - 1
        return found if found >= 0 else None


# ---- The tree of a model beside the tree of its gradients


@dataclass(frozen=True, slots=True, eq=False)
class GradientTree(Panel):
    """A line for each stage of a chain, and under each layer its weight and bias, with numbers and gradients.

    Inside an opened step the gradients come in two passes: first by each stage's output, from the loss back along the
    chain; then each layer's leaves, where a weight's is the outer product of its output's and its input.
    """

    title: str = "model"


# ---- The graph of a result, with the numbers of the moment that is shown


class Made(NamedTuple):
    """What a :class:`GraphPanel` shows of one moment: the results, and a note of what they are ("row 3 of 60")."""

    roots: Sequence[Value]
    note: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class GraphPanel(Panel):
    """The graph of a result: operations, values, gradients and names, as :func:`scalarviz.draw` draws it.

    Attributes
    ----------
    make : callable
        ``make(moment) -> Value``, a list of Values, or :class:`Made`: computed anew of the numbers of the moment, with
        Values and Weights of its own, never with those of the run. Gradients are there if it calls ``backward()``.
    chains : bool
        Whether sums of sums are drawn as they are.
    """

    title: str
    make: Callable[[Moment], Value | Sequence[Value] | Made]
    chains: bool = False

    def made(self, moment: Moment) -> Made:
        """What it is of a moment; InputError if `make` returned something else."""
        given: Any = self.make(moment)
        made = given if isinstance(given, Made) else Made(given)
        roots = every(made.roots, "make")
        if not roots:
            raise InputError("make returned an empty list; return at least one Value")
        return Made(roots, text(made.note, "make: the note"))
