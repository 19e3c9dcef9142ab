"""The graph of a result, with the numbers of the moment that is shown."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from ...checks import flag, function, text
from ...errors import InputError
from ...scalar import Value
from ...scalar.nested import every
from ..moment import Moment
from .base import Panel


class Made(NamedTuple):
    """What a :class:`GraphPanel` shows of one moment.

    Attributes
    ----------
    roots : sequence of Value
        The results of which the graph is drawn.
    note : str
        Of what they are ("row 3 of 60").
    """

    roots: Sequence[Value]
    note: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class GraphPanel(Panel):
    """The graph of a result: operations, values, gradients and names, as :func:`scalarviz.draw` draws it.

    Attributes
    ----------
    title : str
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
        """What it is of a moment.

        Raises
        ------
        InputError
            `make` returned something else.
        """
        given: Any = self.make(moment)
        made = given if isinstance(given, Made) else Made(given)
        roots = every(made.roots, "make")
        if not roots:
            raise InputError("make returned an empty list; at least one Value is wanted")
        return Made(roots, text(made.note, "make: the note"))
