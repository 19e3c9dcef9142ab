"""`Panel`: the base of all kinds, and the places where one can stand."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from ...checks import function
from ...errors import InputError, shown
from ..moment import Moment


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
