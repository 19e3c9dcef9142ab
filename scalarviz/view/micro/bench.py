"""What an opened step needs of the workbench that it is drawn on."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..cubes.scale import ActivationScale, Coloring
from ..cubes.slab import SlabVisual
from ..ink.places import Places
from ..ink.theme import Theme
from ..notes.scenery import Scenery
from ..screen.controls import ControlsPanel
from ..screen.side import SidePanels
from ..screen.strip import Strip
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
    scenery: Scenery
    strip: Strip
    side: SidePanels
    controls: ControlsPanel

    def project(self, xyz: ArrayLike) -> NDArray[np.float64]:
        """World points as logical pixels."""
        ...

    def set_look(self, *, quantity: str | None = None) -> None:
        """What the cubes show."""
        ...

    def lay_out(self) -> None:
        """Everything into its place anew."""
        ...

    def refresh(self) -> None:
        """Everything is to be written anew."""
        ...
