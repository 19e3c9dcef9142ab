"""`StepAxis`: which step stands where under a curve, for a hand that points there."""

from __future__ import annotations

from dataclasses import dataclass

from ..draw.places import Box

END = 6.0
"""Logical pixels that a curve leaves at its right for the disc at its end."""


@dataclass(slots=True)
class StepAxis:
    """The steps of a curve as they were drawn last.

    Attributes
    ----------
    plot : Box or None
        Where; None where nothing is drawn.
    first, last : float
        Steps at its ends.
    """

    plot: Box | None = None
    first: float = 0.0
    last: float = 0.0

    def step(self, point: tuple[float, float]) -> int | None:
        """The step under a point; None beside the plot."""
        if self.plot is None:
            return None
        x, y, width, height = self.plot
        if not (x - END <= point[0] <= x + width and y <= point[1] <= y + height + 20):
            return None
        part = min(max((point[0] - x) / (width - END), 0.0), 1.0)
        return round(self.first + part * max(self.last - self.first, 1.0))
