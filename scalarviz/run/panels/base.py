"""`Panel`: the base of all kinds, and the kinds that any network can have: pictures, tables, trees, graphs."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple, Protocol

from numpy.typing import ArrayLike

from ...checks import flag, function, integer, text
from ...errors import InputError, TypeMismatchError, shown
from ...scalar import Value
from ...scalar.nested import every
from ..source import Moment


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
class Panel:
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
        if self.at is not None:
            function(self.at, f"{type(self).__name__}: at")
        given: Any = self.place
        if self.among:
            if not (isinstance(given, str) and given == "among"):
                raise InputError(f'place of {type(self).__name__}: got {shown(given)}; allowed: "among"')
            return
        if not isinstance(given, Beside) and not (isinstance(given, str) and given in PLACES):
            raise InputError(
                f'place of {type(self).__name__}: got {shown(given)}; allowed: "column", "overlay", "above" or '
                'Beside("name of a stage", unit)'
            )


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

    def __post_init__(self) -> None:
        Panel.__post_init__(self)
        text(self.title, "Image: the title")
        text(self.note, "Image: the note")
        function(self.paint, "Image: paint")
        flag(self.smooth, "Image: smooth")


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

    def __post_init__(self) -> None:
        Panel.__post_init__(self)
        text(self.title, "Table: the title")
        heads: Any = self.heads
        if not isinstance(heads, tuple | list) or not all(isinstance(word, str) for word in heads):
            raise TypeMismatchError(f"Table: heads is a tuple of texts, got {shown(heads)}")
        integer("Table: lines", self.lines, 1, 12)
        if not callable(self.rows):
            as_rows(self.rows, len(self.heads))


def as_rows(given: Any, columns: int = 0) -> list[tuple[str, ...]]:
    """Checked rows of a table; `columns` words each, 0 for as many as the first has."""
    if isinstance(given, str) or not isinstance(given, Sequence):
        raise InputError(f"rows are a list of rows, got {type(given).__name__} {shown(given)}")
    rows: list[tuple[str, ...]] = []
    for number, row in enumerate(given):
        if isinstance(row, str) or not isinstance(row, Sequence) or not all(isinstance(word, str) for word in row):
            raise InputError(f"row {number} must be a list of str, got {shown(row)}")
        columns = columns or len(row)
        if len(row) != columns or not columns:
            raise InputError(f"row {number} has {len(row)} words; allowed: {columns or 1}, as the others")
        rows.append(tuple(row))
    return rows


class Kept(Protocol):
    """One picture; see :class:`scalarviz.run.sources.recording.Picture`."""

    @property
    def step(self) -> int:
        """That it is of."""
        ...

    @property
    def width(self) -> int:
        """Pixels."""
        ...

    @property
    def height(self) -> int:
        """Pixels."""
        ...

    @property
    def image(self) -> bytes:
        """PNG or WebP."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class RecordedPictures(Panel):
    """What a panel looked like at some steps: shown is the last one that is not after the step, with its own step.

    `title` is that of the panel; `pictures` are by step, one at least.
    """

    title: str
    pictures: tuple[Kept, ...]

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

    def __post_init__(self) -> None:
        Panel.__post_init__(self)
        text(self.title, "GradientTree: the title")


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

    def __post_init__(self) -> None:
        Panel.__post_init__(self)
        text(self.title, "GraphPanel: the title")
        function(self.make, "GraphPanel: make")
        flag(self.chains, "GraphPanel: chains")

    def made(self, moment: Moment) -> Made:
        """What it is of a moment; InputError if `make` returned something else."""
        given: Any = self.make(moment)
        made = given if isinstance(given, Made) else Made(given)
        roots = every(made.roots, "make")
        if not roots:
            raise InputError("make returned an empty list; at least one Value is wanted")
        return Made(roots, text(made.note, "make: the note"))
