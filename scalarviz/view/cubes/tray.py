"""What lies under and between the cubes: trays with soft contact shadows, and thin lines along which numbers flow."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import glsl
from ..ink.gl import gloo
from ..ink.theme import Theme, rgb
from ..space.arrangement import TRAY_MARGIN
from ..space.camera import Camera
from ..space.layout import Layout

FLOW_WIDTH, FLOW_ALPHA = 1.4, 0.9
"""Of the few lines on a tray; logical pixels."""
DENSE_WIDTH, DENSE_ALPHA = 1.0, 0.5
"""Of the many side by side in a chain, which must not be louder than the cubes."""

_QUAD = np.array([[0, 1, 2], [0, 2, 3]], np.uint32)


class TrayVisual:
    """Trays and flow lines of a layout; drawn before the cubes."""

    def __init__(self, layout: Layout, theme: Theme) -> None:
        self._trays = _tray_program(layout) if len(layout.trays) else None
        self._tray_indices = _quads(len(layout.trays))
        self._corner = layout.trays[0, 0] if len(layout.trays) else np.zeros(3)
        self._flow = _flow_program(layout) if len(layout.flow) else None
        self._width = FLOW_WIDTH if layout.mode == "few" else DENSE_WIDTH
        self._flow_indices = _quads(len(layout.flow))
        self._alpha = FLOW_ALPHA if layout.mode == "few" else DENSE_ALPHA
        self.set_theme(theme)

    def set_theme(self, theme: Theme) -> None:
        """Another palette."""
        if self._trays is not None:
            self._trays["u_tray"], self._trays["u_border"] = rgb(theme.tray), rgb(theme.border)
            self._shadow = theme.shading.shadow
        if self._flow is not None:
            self._flow["u_colour"] = (*rgb(theme.flow), self._alpha)

    def draw_trays(self, camera: Camera, viewport: tuple[int, int], *, shadows: bool = True) -> None:
        """Draw the trays, opaque, with depth; from below they would hide everything, so they are left out.

        `shadows` are those of cubes that are all as large as can be.
        """
        if self._trays is not None and camera.towards_eye(self._corner)[2] > 0.0:
            self._trays["u_matrix"] = camera.matrix.T.astype(np.float32)
            self._trays["u_shadow"] = self._shadow if shadows else 0.0
            self._trays["u_density"] = viewport[0] / camera.size[0]
            self._trays.draw("triangles", self._tray_indices)

    def draw_flow(self, camera: Camera, viewport: tuple[int, int]) -> None:
        """Draw the lines, on the trays and below every cube: they leave no depth."""
        if self._flow is not None:
            gloo.set_state(
                depth_test=True, blend=True, depth_mask=False, blend_func=("src_alpha", "one_minus_src_alpha")
            )
            self._flow["u_matrix"] = camera.matrix.T.astype(np.float32)
            self._flow["u_viewport"] = viewport
            self._flow["u_width"] = self._width * viewport[0] / camera.size[0]
            self._flow.draw("triangles", self._flow_indices)
            gloo.set_state(depth_test=True, blend=False, depth_mask=True)


def _quads(count: int) -> Any:
    if not count:
        return None
    return gloo.IndexBuffer((4 * np.arange(count)[:, None, None] + _QUAD).astype(np.uint32).ravel())


def _tray_program(layout: Layout) -> Any:
    table = np.zeros(
        4 * len(layout.trays), [("a_pos", np.float32, 3), ("a_cell", np.float32, 2), ("a_dims", np.float32, 4)]
    )
    for index, (corners, owner) in enumerate(zip(layout.trays, layout.tray_plates, strict=True)):
        plate = layout.plates[owner]
        rows, cols = plate.grid.cells
        block = table[4 * index : 4 * index + 4]
        block["a_pos"] = corners
        (x, y), right, near = TRAY_MARGIN, cols - 0.5 + TRAY_MARGIN[0], rows - 0.5 + TRAY_MARGIN[1]
        block["a_cell"] = [(0.5 - x, 0.5 - y), (right, 0.5 - y), (right, near), (0.5 - x, near)]
        block["a_dims"] = (cols, rows, plate.half, plate.last)
    program = gloo.Program(*glsl.program("tray"))
    program.bind(gloo.VertexBuffer(table))
    program["u_margin"] = TRAY_MARGIN
    return program


def _flow_program(layout: Layout) -> Any:
    segments: NDArray[np.float64] = np.repeat(layout.flow, 4, axis=0)
    table = np.zeros(len(segments), [("a_from", np.float32, 3), ("a_to", np.float32, 3), ("a_end", np.float32, 2)])
    table["a_from"], table["a_to"] = segments[:, 0], segments[:, 1]
    table["a_end"] = np.tile([[0, -1], [1, -1], [1, 1], [0, 1]], (len(layout.flow), 1))
    program = gloo.Program(*glsl.program("flow"))
    program.bind(gloo.VertexBuffer(table))
    return program
