"""`DifferenceScale`: the range and the colours of differences between rows of activations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ...run.core.frame import Frame, Stage
from ...run.questions.ranges import Range, extent
from ..cubes.scale import ActivationScale, LegendScale, grown
from ..draw.maps import get_map
from ..draw.theme import Theme

MAP = "difference"
"""The colour map of a difference, whatever it is of."""


class DifferenceScale(ActivationScale):
    """One range for the differences of all rows, alike on both sides of 0; `of`: what the difference is called."""

    def __init__(self, stages: Sequence[Stage], theme: Theme, of: str) -> None:
        super().__init__(stages, theme)
        self.cmap, self._of = get_map(MAP, theme), of

    def legend(self) -> LegendScale:
        """What the legend says of it."""
        return replace(super().legend(), title=f"activation, {self._of}", note="")

    def change(self, theme: Theme) -> None:
        """Another look."""
        self.cmap = get_map(MAP, theme)

    def update(self, frame: Frame, seconds: float | None) -> None:
        """Take over a frame of differences."""
        rows = [np.ravel(np.asarray(row, float)) for name, row in frame.activations.items() if name in self._rows]
        wanted = extent(np.concatenate([*rows, np.zeros(0)]))
        v = grown(self._tracker, {"": wanted}, seconds)[""]
        self.growing, self.range = wanted > v, Range(-v, v)


def both_rows(a: Frame, b: Frame) -> Frame:
    """The first of two frames with the rows of both, one after the other: what makes the range that they share."""
    rows = {name: np.concatenate([np.ravel(row), np.ravel(b.activations[name])])
            for name, row in a.activations.items() if name in b.activations}  # fmt: skip
    return replace(a, activations=rows)
