"""A layout taken apart: its plates further from each other, or one layer alone. Pure NumPy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from .camera import Camera, fit
from .layout import Layout
from .plate import Floats, Plate

WIDER = 1.7
"""How much further from the middle plates stand that are apart."""


@dataclass(frozen=True, slots=True)
class Apart:
    """How a layout is taken apart.

    Attributes
    ----------
    wide : bool
        Whether plates stand further from each other.
    layer : str
        The layer that stands alone; empty: all of them.
    """

    wide: bool = False
    layer: str = ""

    def of(self, layout: Layout) -> Layout:
        """The layout, taken apart; itself where there is nothing to take apart, or where it has a plan of its own."""
        if layout.blueprint is not None or layout.turns:
            return layout
        if self.layer in layers_of(layout):
            layout = _alone(layout, self.layer)
        return _wider(layout) if self.wide and len(layout.plates) > 1 else layout


def layer_of(plate: Plate) -> str:
    """The layer that a plate of weights or biases belongs to: the module's path, or its own name."""
    return plate.name.rpartition(".")[0] or plate.name


def layers_of(layout: Layout) -> tuple[str, ...]:
    """The layers of a layout in their order; none where a single one fills it, or a plan says where they stand."""
    names = tuple(dict.fromkeys(layer_of(plate) for plate in layout.plates if plate.kind != "activation"))
    own = layout.blueprint is not None or layout.turns
    return names if len(names) > 1 and not own else ()


def _alone(layout: Layout, layer: str) -> Layout:
    chosen = [k for k, p in enumerate(layout.plates) if p.kind != "activation" and layer_of(p) == layer]
    trays = [k for k, owner in enumerate(layout.tray_plates) if owner in chosen]
    plates = tuple(layout.plates[k] for k in chosen)
    x0, y0, x1, y1 = layout.rect
    inset = 0.12 * min(x1 - x0, y1 - y0)  # for the names
    boxes = (x0 + inset, y0 + inset, x1 - inset, y1 - inset), _box(layout)
    owners = tuple(chosen.index(layout.tray_plates[k]) for k in trays)
    found = replace(layout, plates=plates, trays=layout.trays[trays], tray_plates=owners, flow=np.zeros((0, 2, 3)))
    ways = [replace(found, camera=_fitted(found, layout.camera, box)) for box in boxes]
    return max(ways, key=Layout.pixels_per_cube)


def _wider(layout: Layout) -> Layout:
    middle = layout.bounds.mean(axis=0)
    shifts = [(WIDER - 1.0) * (plate.bounds.mean(axis=0) - middle) for plate in layout.plates]
    plates = tuple(plate.moved(shift) for plate, shift in zip(layout.plates, shifts, strict=True))
    trays = [tray + shifts[owner] for tray, owner in zip(layout.trays, layout.tray_plates, strict=True)]
    flow = [[end + shifts[_nearest(end, layout.plates)] for end in line] for line in layout.flow]
    found = replace(layout, plates=plates, trays=np.array(trays).reshape(-1, 4, 3),
                    flow=np.array(flow).reshape(-1, 2, 3))  # fmt: skip
    return replace(found, camera=_fitted(found, layout.camera, _box(layout)))


def _box(layout: Layout) -> tuple[float, float, float, float]:
    """What its plates take of the picture (pixels)."""
    seen = layout.camera.project(np.concatenate([plate.corners for plate in layout.plates]))
    (x0, y0), (x1, y1) = seen.min(axis=0), seen.max(axis=0)
    return float(x0), float(y0), float(x1), float(y1)


def _nearest(point: Floats, plates: Sequence[Plate]) -> int:
    """The plate that a line ends at."""
    away = [np.maximum(np.maximum(p.bounds[0] - point, point - p.bounds[1]), 0.0) for p in plates]
    return int(np.argmin([float(d @ d) for d in away]))


def _fitted(layout: Layout, camera: Camera, box: tuple[float, float, float, float]) -> Camera:
    """A camera that looks the same way, and shows all of a layout in a box (pixels)."""
    points = np.concatenate([p.corners for p in layout.plates] + list(layout.trays))
    distance = None
    if not camera.orthographic:
        distance = max(float(np.linalg.norm(camera.eye[:3] - layout.bounds.mean(axis=0))),
                       1.5 * float(np.linalg.norm(np.ptp(points, axis=0))))  # fmt: skip
    return fit(points, camera.size, box, azimuth=camera.azimuth, elevation=camera.elevation, distance=distance)
