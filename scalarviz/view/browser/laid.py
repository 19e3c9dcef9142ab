"""Where the cubes stand in a browser: the window's arrangement without its panels, which a page has around it."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..draw.places import Places, arrange, check_size
from ..draw.theme import Theme
from ..flow.scenery import cubes_box
from ..panels.side import SidePanels
from ..shown.subject import Subject
from ..space.layout import Layout, layout_for
from ..space.turning import Turns

Floats = NDArray[np.float64]
_ABOVE, _BELOW = 12.0, 16.0  # of the window's margin of 24
_LITTLE = 4.0


@dataclass(frozen=True, slots=True)
class Laid:
    """A layout and the boxes around it.

    Attributes
    ----------
    layout : Layout
        Whose camera shows everything.
    places : Places
        The scene, and the strip of the legends below it.
    ratio : ndarray, shape (2,)
        The camera's pixels in a logical one: the camera counts in whole pixels.
    """

    layout: Layout
    places: Places
    ratio: Floats

    def project(self, xyz: ArrayLike) -> Floats:
        """World points (N, 3) as logical pixels (N, 2)."""
        return np.asarray(self.layout.camera.project(xyz) / self.ratio)


def _nearer(places: Places) -> Places:
    """With the scene and the legends nearer to the edges: a page has margins of its own."""
    x, y, width, height = places.scene
    if places.strip is None:  # nothing stands below
        return replace(places, scene=(x, _LITTLE, width, max(places.size[1] - 2 * _LITTLE, 1.0)))
    strip = (places.strip[0], places.strip[1] + _BELOW, *places.strip[2:])
    return replace(places, scene=(x, y - _ABOVE, width, height + _ABOVE + _BELOW), strip=strip)


def laid_out(
    subject: Subject, size: tuple[int, int], theme: Theme, *, strip: bool = True, turned: bool = False
) -> Laid:
    """Plates, camera and boxes for a picture of `size` pixels, with or without a strip of legends below the cubes.

    The flow turns at each layer where a panel of the subject asks for it, or where it is to be `turned`.

    Raises
    ------
    InputError
        A size that is none, or nothing to draw.
    """
    places = _nearer(arrange(check_size(size), hud=False, strip=strip, presenter=theme.presenter))
    camera_size = (round(places.size[0]), round(places.size[1]))
    ratio = np.array(camera_size) / places.size
    x, y, width, height = cubes_box(subject, places.scene)
    rect = (x * ratio[0], y * ratio[1], (x + width) * ratio[0], (y + height) * ratio[1])
    turns = SidePanels(subject, theme).turns(width, height, rows=True) or (Turns(0.0, True) if turned else None)
    return Laid(layout_for(subject.tensors, subject.stages, camera_size, rect, subject.plan, turns), places, ratio)
