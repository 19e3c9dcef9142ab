"""What stands among the cubes of a playground: a map of every neuron, and the features of a point with switches."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from scalarviz.errors import InputError
from scalarviz.run import Moment
from scalarviz.run.edits import Edit
from scalarviz.run.panels import Axis, Features, NeuronMaps, Panel

from ._features import FEATURES
from ._known_points import PointSet
from ._playground_edits import SwitchFeature
from ._playground_net import MOST_LAYERS, MOST_UNITS, SetHidden, shape_of

Float = NDArray[np.floating]


def neurons(across: Axis, up: Axis, *, at: Callable[[Moment], Panel] | None = None) -> NeuronMaps:
    """A map beside every neuron; + and - for neurons and layers."""
    return NeuronMaps(across, up, change=other_layers, at=at)


def other_layers(hidden: tuple[int, ...]) -> Edit:
    """Hidden layers of so many units each.

    Raises
    ------
    InputError
        More than there may be.
    """
    if len(hidden) > MOST_LAYERS or any(units > MOST_UNITS for units in hidden):
        raise InputError(f"at most {MOST_LAYERS} hidden layers of at most {MOST_UNITS} neurons")
    return SetHidden(hidden)


def features(points: PointSet, across: Axis, up: Axis, *, at: Callable[[Moment], Panel] | None = None) -> Features:
    """The features of a point, those that it has."""
    count = len(points.units.inputs)
    switches = _Switches(tuple(name for name, feature in FEATURES.items() if feature.inputs <= count))
    titles = tuple(FEATURES[name].title for name in switches.names)
    return Features(titles, across, up, switches.values, switches.on, switches.rows, switches.change, at=at)


class _Switches:
    """Which features are on, and what switches one.

    Attributes
    ----------
    names : tuple of str
    """

    def __init__(self, names: tuple[str, ...]) -> None:
        self.names = names
        self._on = frozenset[str]()

    def values(self, points: Float) -> Float:
        """Each of them at points of the plane."""
        return np.stack([FEATURES[name].at(points) for name in self.names], axis=1)

    def on(self, moment: Moment) -> list[bool]:
        """Those that the network of a moment gets."""
        shape = shape_of(moment.frame)
        self._on = frozenset(shape.on if shape is not None else ())
        return [name in self._on for name in self.names]

    def rows(self, moment: Moment) -> list[int | None]:
        """Their columns of weights."""
        shape = shape_of(moment.frame)
        found = shape.features if shape is not None else ()
        return [found.index(name) if name in found else None for name in self.names]

    def change(self, title: str) -> Edit | None:
        """The feature of that title on, or off; the last one stays."""
        name = next(name for name in self.names if FEATURES[name].title == title)
        return None if self._on == {name} else SwitchFeature(name)
