"""What a micro-step lights: the cubes whose numbers come about. All others show their weights in the dark."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...run.core.frame import Stage
from ...run.opened.opened import Opened
from ...run.questions.ranges import Range, weight_extent
from ..ink.maps import get_map
from ..ink.theme import Theme, rgb

if TYPE_CHECKING:
    from .walk import Walk

Floats = NDArray[np.float64]
HALF = 0.5
"""Of its colour, what is left of a cube in the dark."""


class Lit(NamedTuple):
    """The numbers of the lit cubes."""

    quantity: str  # what they are: see `cubes.scale`
    numbers: Floats  # (P,), NaN: the cube is dark
    whole: Floats  # (P,), all that will be lit in this stage: the range of the colours


class Sums(NamedTuple):
    """Sums of a layer on their way, by the row in which they will stand."""

    numbers: Floats  # (N,), NaN: nothing has been added yet
    whole: NDArray[np.bool_]  # (N,), whether all has


class Lighting:
    """What the micro-steps of one walk light."""

    def __init__(self, walk: Walk) -> None:
        self._walk = walk
        self._values = np.asarray(walk.frame.values, np.float64)
        self._layers = [stage for stage in walk.subject.stages if stage.weight is not None]
        self.met = self._inputs()

    def _inputs(self) -> Floats:
        """What each weight is multiplied with: the sample's rows, where a layer reads them as they are."""
        opened = self._walk.opened
        found = opened.met.copy() if isinstance(opened, Opened) else np.full(len(self._values), np.nan)
        for stage in self._layers:
            rows = self._walk.rows_before(stage)
            if rows is not None and stage.weight is not None and stage.whole:
                found[stage.weight.span] = np.broadcast_to(rows, stage.weight.shape).ravel()
                if stage.bias is not None:
                    found[stage.bias.span] = 1.0
        return found

    def layer_of(self, at: int) -> Stage | None:
        """The layer whose cubes are lit at a micro-step; None where it is no product of one row with weights."""
        now = self._walk.steps[at - 1]
        found = self._above(now.stage) if now.phase == "backward" else None
        if now.phase == "gradients":
            found = next((stage for stage in self._layers if stage.name == now.stage), None)
        if now.phase == "forward":
            steps = [step.stage for step in self._walk.steps[:at] if step.phase == "forward" and len(step.weights)]
            found = next((stage for stage in self._layers if steps and stage.name == steps[-1]), None)
        plain = found is not None and found.whole and found.weight is not None and len(found.weight.shape) == 2
        return found if plain else None

    def forward(self, at: int) -> Lit:
        """The products of the layer that is worked out, as far as they have come."""
        walk, products, none = self._walk, self._values * self.met, np.full(len(self._values), np.nan)
        steps = [step for step in walk.steps if step.phase == "forward" and len(step.weights)]
        done = [step for step in walk.steps[:at] if step.phase == "forward" and len(step.weights)]
        if not done or walk.steps[at - 1].phase != "forward":
            return Lit("product", none, none)
        found = []
        for some in (done, steps):
            numbers = none.copy()
            for step in some:
                if step.stage == done[-1].stage:
                    numbers[step.weights] = products[step.weights]
            found.append(numbers)
        return Lit("product", *found)

    def sums(self, lit: Lit) -> dict[str, Sums]:
        """What the lit products of a layer come to so far."""
        found = {}
        for stage in self._layers:
            weight, bias = stage.weight, stage.bias
            if weight is None or len(weight.shape) != 2 or not stage.whole or np.isnan(weight.of(lit.whole)).any():
                continue
            parts = weight.of(lit.numbers)
            if bias is not None:
                parts = np.concatenate([parts, bias.of(lit.numbers)[:, None]], axis=1)
            there = ~np.isnan(parts)
            numbers = np.where(there.any(axis=1), np.nansum(parts, axis=1), np.nan)
            found[self._walk.row_of(stage)] = Sums(numbers, np.asarray(there.all(axis=1)))
        return found

    def backward(self, at: int, deltas: Mapping[str, Floats]) -> Lit:
        """What goes on through the weights to the layer whose deltas are worked out."""
        numbers, whole = (np.full(len(self._values), np.nan) for _ in range(2))
        now = self._walk.steps[at - 1]
        above = self._above(now.stage)
        if above is not None and above.weight is not None:
            passed = above.weight.of(self._values) * np.asarray(self._walk.opened.joined[above.name])[:, None]
            whole[above.weight.span] = passed.ravel()
            there = np.zeros(passed.shape, bool)
            there[:, : len(deltas[now.stage])] = ~np.isnan(deltas[now.stage])[: passed.shape[1]]
            numbers[above.weight.span] = np.where(there, passed, np.nan).ravel()
        return Lit("passed on", numbers, whole)

    def _above(self, name: str) -> Stage | None:
        """The layer that reads a stage, or what becomes of each of its numbers."""
        stages = [stage.name for stage in self._walk.subject.stages]
        if name not in stages:
            return None
        own = self._walk.subject.stages[stages.index(name)]
        later = self._walk.subject.stages[stages.index(name) + 1 :]
        found = next((stage for stage in later if stage.weight is not None), None)
        fits = found is not None and found.whole and found.weight is not None and len(found.weight.shape) == 2
        return found if fits and found is not None and found.weight.shape[1] == own.outputs else None  # type: ignore[union-attr]

    def update(self, moved: NDArray[np.bool_]) -> Lit:
        """The changes of the weights that have moved."""
        change = np.asarray(self._walk.opened.new_values, np.float64) - self._values
        return Lit("change", np.where(moved, change, np.nan), change)


def height_scale(change: Floats, height: float) -> float:
    """By how much changes are larger as heights: 1, 2 or 5 times a power of ten, so that no cube leaves its tray.

    `height` is that of a cube, in the unit of the heights.
    """
    most = float(np.nanmax(np.abs(change), initial=0.0))
    if not 0.0 < most < np.inf:
        return 1.0
    reach = 0.9 * height / most
    power = 10.0 ** np.floor(np.log10(reach))
    return float(power * max(k for k in (1, 2, 5) if k * power <= reach * (1 + 1e-9)))


def dark(values: Floats, lit: NDArray[np.bool_], theme: Theme) -> Floats:
    """Colours (P, 3) of cubes that are not lit: those of their weights, darker; NaN of those that are."""
    chosen = Range.symmetric(weight_extent(values))
    colours = get_map("weight", theme)(2 * np.clip(chosen.unit(values), 0.0, 1.0) - 1)
    return np.where(lit[:, None], np.nan, dimmed(colours, theme))


def dimmed(colours: Floats, theme: Theme) -> Floats:
    """Colours at half light, over the ground on which cubes stand."""
    return np.asarray(HALF * colours + (1 - HALF) * np.array(rgb(theme.tray)))
