"""What an opened step needs of the workbench that it is drawn on."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...run.frame import Frame
from ..cubes.scale import ActivationScale, Coloring
from ..cubes.slab import SlabVisual
from ..draw.places import Box, Places
from ..draw.sketch import Sketch
from ..draw.theme import Theme
from ..flow.scenery import Scenery
from ..shown.subject import Subject
from ..space.layout import Layout


class Bench(Protocol):
    """A picture, as far as it is needed here."""

    subject: Subject
    theme: Theme
    colouring: Coloring
    activations: ActivationScale
    layout: Layout
    places: Places
    slab: SlabVisual

    @property
    def scenery(self) -> Scenery:
        """What stands flat around the cubes."""
        ...

    def project(self, xyz: ArrayLike) -> NDArray[np.float64]:
        """World points as logical pixels."""
        ...

    def set_look(self, *, quantity: str | None = None) -> None:
        """What the cubes show."""
        ...

    def place_side(self) -> None:
        """Panels into their places."""
        ...

    def write_static(self) -> None:
        """The words that stay from frame to frame."""
        ...

    def refresh(self) -> None:
        """Everything is to be written anew."""
        ...

    def legend(self, box: Box, frame: Frame) -> Sketch:
        """The legend of the cubes' colours."""
        ...
