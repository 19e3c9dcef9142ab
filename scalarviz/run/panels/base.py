"""`Panel`: the base of all panels, and panels for any network: pictures, tables, trees, graphs."""

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
from ...errors import InputError, TypeMismatchError, shown, typed
from ...scalar import Value
from ...scalar.nested import every
from ..source import Float, Moment


class Described:
    """A description that refuses values of other types than its annotations allow; see `check_field`."""

    __slots__ = ()

    def __post_init__(self) -> None:
        ours = next(one for one in type(self).__mro__ if one.__module__.startswith(__package__))
        for name, allowed in _allowed(ours).items():  # a user's subclass checks its own fields
            check_field(getattr(self, name), allowed, type(self).__name__, name)
        self._check()

    def _check(self) -> None:
        """Refuse fields that do not fit together."""


@cache
def _allowed(kind: type) -> dict[str, tuple[Any, ...]]:
    """Return the types that each field may have."""
    hints = {field.name: get_type_hints(kind)[field.name] for field in fields(kind)}
    return {name: get_args(hint) if isinstance(hint, UnionType) else (hint,) for name, hint in hints.items()}


def check_field(given: Any, allowed: tuple[Any, ...], kind: str, name: str) -> None:
    """Refuse a value that does not fit the types allowed for a field: text, flag, function, description or tuple."""
    hint, what = allowed[0], f"{kind}: the argument {name!r}"
    if given is None and NoneType in allowed:
        return
    if allowed == (str,):
        text(given, what)
    elif hint is bool:
        flag(given, what)
    elif get_origin(hint) is Callable:
        function(given, what)
    elif isinstance(hint, type) and issubclass(hint, Described):
        if not isinstance(given, allowed):
            names = ["None" if one is NoneType else one.__name__ for one in allowed]
            tip = f"; try {_EXAMPLES[hint.__name__]}" if hint.__name__ in _EXAMPLES else ""
            said = f"{typed(given)}"
            raise TypeMismatchError(f"{what} must be of type {' or '.join(names)}, got {said}{tip}")
    elif get_origin(hint) is tuple and get_args(hint)[0] is str:
        if not isinstance(given, tuple | list) or not all(isinstance(word, str) for word in given):
            raise TypeMismatchError(f"{what} must be a tuple of texts, got {shown(given)}")
        if get_args(hint) == (str, str) and len(given) != 2:
            raise InputError(f"{what} must have 2 texts, got {len(given)}")
    elif hint == tuple[int, int]:
        if not isinstance(given, tuple | list) or len(given) != 2:
            raise InputError(f"{what} must be (H, W), got {shown(given)}")
        for side, number in zip("HW", given, strict=True):
            integer(f"{kind}: {side}", number, 1)
    elif hint == tuple[float, float]:
        pair(given, what)


_EXAMPLES = {"Axis": 'Axis("x", -1.0, 1.0)', "PointEdits": "PointEdits(add, remove)"}


def pair(given: Any, what: str) -> tuple[float, float]:
    """Return `given` as two finite numbers, the first one smaller; InputError otherwise."""
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
    """Return fields of a description as arrays of real numbers."""
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
        Number of the output that the panel stands beside; None: beside the whole row.
    """

    stage: str
    unit: int | None = None


Place = Literal["column", "overlay", "above", "among"] | Beside
PLACES = ("column", "overlay", "above")


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel(Described):
    """The base of all panels.

    Attributes
    ----------
    place : "column", "overlay", "above", Beside or "among"
        In the column beside the cubes; over the upper right corner of the cubes; above them in full width; or beside a
        stage or a unit. Some kinds draw only among the cubes.
    at : callable or None
        ``at(moment)``: the panel at a moment, of the same kind and place (an edit may change its axes). It returns the
        same object until something changes. None: the panel never changes.
    """

    speaks_of: ClassVar[Literal["", "colours", "sheet"]] = ""
    """The description of a sample by panels of this kind: a colour (three numbers), or a sheet with ink on it."""
    among: ClassVar[bool] = False
    """True if panels of this kind draw among the cubes."""

    place: Place = "column"
    at: Callable[[Moment], Panel] | None = None

    def __post_init__(self) -> None:
        given: Any = self.place
        allowed = ("among",) if self.among else PLACES
        if not (isinstance(given, str) and given in allowed) and (self.among or not isinstance(given, Beside)):
            names = '"among"' if self.among else '"column", "overlay", "above" or Beside("name of a stage", unit)'
            raise InputError(f"{type(self).__name__}: 'place' must be {names}, got {shown(given)}")
        Described.__post_init__(self)


# ---- Panels that a user's function fills: pictures, and tables of words


Rows = Sequence[Sequence[str]]


@dataclass(frozen=True, slots=True, eq=False)
class Image(Panel):
    """A picture that your function makes of every moment.

    Attributes
    ----------
    paint : callable
        ``paint(moment) -> H x W x 3``, uint8 or floats in 0..1. If it raises, one line with the error replaces the
        picture, and everything else continues. Its calls take at most a quarter of the time.
    note : str
        Text to the right of the title.
    smooth : bool
        Whether enlarged pixels blend into each other.
    """

    title: str
    paint: Callable[[Moment], ArrayLike]
    note: str = ""
    smooth: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class SampleRows(Described):
    """Rows of a :class:`Table`, one for each sample: words, then output, output - target, and the sample's own loss.

    A page that trains computes these numbers too. The network has one output.

    Attributes
    ----------
    inputs : ndarray, shape (N, n_inputs)
    targets : ndarray, shape (N, 1)
    words : sequence of rows
        The words of each sample, a sequence of str, such as its name and its target.
    """

    inputs: Float
    targets: NDArray[np.number]
    words: Rows

    def _check(self) -> None:
        inputs, targets = arrays_of(self, "inputs", "targets")
        if inputs.ndim != 2 or not len(inputs) or targets.shape != (len(inputs), 1) or len(self.words) != len(inputs):
            given = f"inputs {inputs.shape}, targets {targets.shape}, {len(self.words)} rows of words"
            raise InputError(f"SampleRows: give each sample one target and one row of words, got {given}")
        as_rows(self.words)

    def numbers(self, moment: Moment) -> list[tuple[float, float, float]]:
        """Return the numbers of each sample at a moment."""
        inputs, targets = np.asarray(self.inputs), np.asarray(self.targets)
        made = moment.predict(inputs)
        if made.shape[1] != 1:
            raise InputError(
                f"SampleRows: the network has {made.shape[1]} outputs; allowed: one; try a function as the table's rows"
            )
        losses = [moment.evaluate(inputs[k : k + 1], targets[k : k + 1]) for k in range(len(inputs))]
        return [*zip(made[:, 0].tolist(), (made - targets)[:, 0].tolist(), losses, strict=True)]


NUMBERS = 3
"""How many these are."""


@dataclass(frozen=True, slots=True, eq=False)
class Table(Panel):
    """Rows of words.

    Attributes
    ----------
    rows : sequence of rows, SampleRows, or callable
        A row is a sequence of str, all of one length; or ``rows(moment)`` makes them of every moment.
    heads : tuple of str
        One heading per column; empty for none.
    lines : int
        Rows to reserve room for if a function makes them, 1 to 12.
    """

    title: str
    rows: Rows | SampleRows | Callable[[Moment], Rows]
    heads: tuple[str, ...] = ()
    lines: int = 7

    def _check(self) -> None:
        integer("Table: lines", self.lines, 1, 12)
        if isinstance(self.rows, SampleRows):
            as_rows([(*row, *[""] * NUMBERS) for row in self.rows.words], len(self.heads))
        elif not callable(self.rows):
            as_rows(self.rows, len(self.heads))


def as_rows(given: Any, columns: int = 0) -> list[tuple[str, ...]]:
    """Return checked rows of a table with `columns` words each; 0: as many as the first row has."""
    if isinstance(given, str) or not isinstance(given, Sequence):
        raise InputError(f"rows must be a list of rows, got {typed(given)}")
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
class PanelPicture:
    """A panel at the step of a frame; `image` is a PNG or WebP of width x height pixels, or its list."""

    panel: str
    step: int
    width: int
    height: int
    image: bytes


@dataclass(frozen=True, slots=True, eq=False)
class RecordedPictures(Panel):
    """Pictures of a panel at some steps; it shows the last one that is not after the current step, with its step.

    `title` is that of the panel; `pictures` are in order of step, at least one.
    """

    title: str
    pictures: tuple[PanelPicture, ...]

    def at_step(self, step: int) -> int | None:
        """Return the index of the picture for a step; None before the first."""
        found = bisect_right([picture.step for picture in self.pictures], step) - 1
        return found if found >= 0 else None


# ---- The tree of a model beside the tree of its gradients


@dataclass(frozen=True, slots=True, eq=False)
class GradientTree(Panel):
    """A line for each stage of a chain, and under each layer its weight and bias, with numbers and gradients.

    Inside an opened step the gradients appear in two passes. First come those of each stage's output, from the loss
    back along the chain. Then come those of each layer's leaves; a weight's is the outer product of the gradient of its
    output and its input.
    """

    title: str = "model"


# ---- The graph of a result, with the numbers of the shown moment


class Made(NamedTuple):
    """The results that a :class:`GraphPanel` shows at a moment, a note about them ("row 3 of 60"), and their title."""

    roots: Sequence[Value]
    note: str = ""
    title: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class GraphPanel(Panel):
    """The graph of a result: operations, values, gradients and names, as :func:`scalarviz.draw` draws it.

    Attributes
    ----------
    make : callable
        ``make(moment) -> Value``, a list of Values, or :class:`Made`. It computes from the numbers of the moment, with
        Values and Weights of its own, never with those of the run. Call ``backward()`` in it to show gradients.
    chains : bool
        Draw sums of sums as they are.
    """

    title: str
    make: Callable[[Moment], Value | Sequence[Value] | Made]
    chains: bool = False

    def made(self, moment: Moment) -> Made:
        """Return the results at a moment; InputError if `make` returned something else."""
        given: Any = self.make(moment)
        made = given if isinstance(given, Made) else Made(given)
        roots = every(made.roots, "make")
        if not roots:
            raise InputError("make returned an empty list; return at least one Value")
        return Made(roots, text(made.note, "make: the note"), text(made.title, "make: the title"))
