"""What stands among the cubes of a network of few inputs: a small map beside every neuron, and its features."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ...checks import function
from ...errors import InputError, TypeMismatchError, shown
from ..edits import Edit
from ..moment import Moment
from .base import Panel, Place
from .plane import Axis, check_axes, itself

Float = NDArray[np.floating]


@dataclass(frozen=True, slots=True, eq=False)
class NeuronMaps(Panel):
    """A small map beside every hidden neuron of a chain of layers: its output over the plane, in the signed map.

    Of layers of up to eight units the flow turns at each layer, so that there is room for them. In a window pointing at
    one shows it large, with the weights that lead into it.

    Attributes
    ----------
    across, up : Axis
    inputs : callable
        ``inputs(points) -> samples``: what the network gets, (N, n_inputs), for points of the plane (N, 2).
    change : callable or None
        ``change(hidden) -> Edit | None``: hidden layers of so many units each, a tuple of int; with it + and - stand
        beside a layer that is pointed at.

    Raises
    ------
    InputError, TypeMismatchError
        For any of them; the message says what is allowed.
    """

    among: ClassVar[bool] = True

    across: Axis
    up: Axis
    inputs: Callable[[Float], Float] = itself
    change: Callable[[tuple[int, ...]], Edit | None] | None = None
    place: Place = field(default="among", kw_only=True)

    def __post_init__(self) -> None:
        Panel.__post_init__(self)
        check_axes(self, self.across, self.up)
        function(self.inputs, "NeuronMaps: inputs")
        if self.change is not None:
            function(self.change, "NeuronMaps: change")


@dataclass(frozen=True, slots=True, eq=False)
class Features(Panel):
    """What a network gets of a point of the plane: a column of small maps left of the cubes, each with a switch.

    Attributes
    ----------
    names : tuple of str
        From top to bottom, at least one.
    across, up : Axis
    values : callable
        ``values(points) -> (N, n)``: each of them over points of the plane (N, 2), whether it is on or not.
    on : callable
        ``on(moment)``: for each of them whether the network gets it.
    rows : callable or None
        ``rows(moment)``: for each of them the number of its row of cubes in the first layer, or None. Default: those
        that are on, one after the other.
    change : callable or None
        ``change(name) -> Edit | None``: switches one of them; None: a hand cannot.

    Raises
    ------
    InputError, TypeMismatchError
        For any of them; the message says what is allowed.
    """

    among: ClassVar[bool] = True

    names: tuple[str, ...]
    across: Axis
    up: Axis
    values: Callable[[Float], Float]
    on: Callable[[Moment], Sequence[bool]]
    rows: Callable[[Moment], Sequence[int | None]] | None = None
    change: Callable[[str], Edit | None] | None = None
    place: Place = field(default="among", kw_only=True)

    def __post_init__(self) -> None:
        Panel.__post_init__(self)
        names: Any = self.names
        if not isinstance(names, tuple | list) or not all(isinstance(name, str) for name in names):
            raise TypeMismatchError(f"Features: names is a tuple of texts, got {shown(names)}")
        if not names or len(set(names)) < len(names):
            raise InputError(f"Features: names are at least one, each once, got {shown(names)}")
        check_axes(self, self.across, self.up)
        function(self.values, "Features: values")
        function(self.on, "Features: on")
        for what, given in (("rows", self.rows), ("change", self.change)):
            if given is not None:
                function(given, f"Features: {what}")
