"""The cubes that a micro-step lights: those whose numbers it makes. The others show their weights, darker."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...run.core.tensors import Stage
from ...run.opened.micro import MicroStep, module_path
from ...run.opened.opened import Window
from ...run.questions.ranges import Range, weight_extent
from ..ink.theme import Theme, get_map, rgb
from ..panels.neuron_maps import rounded_up

if TYPE_CHECKING:
    from .walk import Walk

Floats = NDArray[np.float64]
SINKS = 0.6
"""Share of its height by which a cube sinks at most, so that a number on it stays visible."""
HALF = 0.5
"""Share of its colour that a cube in the dark keeps."""


class Lit(NamedTuple):
    """The numbers of the lit cubes."""

    quantity: str  # what they are: see `cubes.scale`
    numbers: Floats  # (P,), NaN: the cube is dark
    range_values: Floats  # (P,), all numbers that this stage will light; the colours have their range


class Sums(NamedTuple):
    """Partial sums of a layer, in the row in which they will stand."""

    numbers: Floats  # (N,), NaN: nothing is added yet
    complete: NDArray[np.bool_]  # (N,), whether all terms are added


class WindowPosition(NamedTuple):
    """One position of the window of a convolution or a pooling."""

    window: Window
    row: str  # row and unit: the stage whose row has the number that is made there, and which one it is
    unit: int
    made: NDArray[np.bool_]  # (N,), the numbers of that row that are made by then


STOPS = 4
"""Positions of a convolution's window along each side of a map."""


class Lighting:
    """Finds the cubes that the micro-steps of one walk light."""

    def __init__(self, walk: Walk) -> None:
        self._walk = walk
        self._values = np.asarray(walk.frame.values, np.float64)
        self._layers = [stage for stage in walk.subject.stages if stage.weight is not None]
        self.forward_factors, self.backward_factors = self._factors()
        self._stops = dict[int, Sequence[WindowPosition]]()
        self._reads = dict[str, NDArray[np.int64]]()  # by stage, the weights that it reads
        for step in walk.steps:
            if step.phase == "gradients":
                self._reads[step.stage] = np.append(self._reads.get(step.stage, step.weights[:0]), step.weights)
        self._readers = dict[str, set[str]]()  # by stage, its readers, each by the name of its first call
        for before, stage in zip([None, *walk.subject.stages], walk.subject.stages, strict=False):
            for source in stage.sources or (() if before is None else (before.name,)):
                self._readers.setdefault(module_path(source), set()).add(module_path(stage.name))

    def _factors(self) -> tuple[Floats, Floats]:
        """Return the factor of each weight, forward and back; the sample's own if a layer reads whole rows."""
        opened = self._walk.opened
        given = opened.met()
        x, delta = given[0].copy(), given[1].copy()
        for stage in self._layers:
            rows, weight = self._walk.rows_before(stage), stage.weight
            if rows is not None and weight is not None and stage.whole and len(weight.shape) == 2:
                x[weight.span] = np.broadcast_to(rows, weight.shape).ravel()
                delta[weight.span] = np.repeat(np.asarray(opened.delta_sums[stage.name]), weight.shape[1])
                if stage.bias is not None:
                    x[stage.bias.span] = 1.0
        return x, delta

    def layer_of(self, at: int) -> Stage | None:
        """Return the layer whose cubes a micro-step lights; None unless it multiplies one row by weights."""
        now = self._walk.steps[at - 1]
        above = self._above(now.stage)
        own = now.phase != "backward" or not len(now.units)  # back from a layer to what it reads
        name = now.stage if own else above[0] if len(above) == 1 else ""
        if now.phase == "forward":
            name = next((step.stage for step in reversed(self._worked(at))), "")
        found = next((stage for stage in self._layers if stage.name == name), None)
        plain = found is not None and found.whole and found.weight is not None and len(found.weight.shape) == 2
        return found if plain else None

    def forward(self, at: int) -> Lit:
        """Return the products of the current layer that are computed so far."""
        products, found = self._values * self.forward_factors, []
        done = self._worked(at) if self._walk.steps[at - 1].phase == "forward" else []
        for some in (done, self._worked() if done else []):
            found.append(np.full(len(products), np.nan))
            for step in some:
                if step.stage == done[-1].stage:
                    found[-1][step.weights] = products[step.weights]
        read = done and self._walk.stages[done[-1].stage].kind == "embedding"
        return Lit("read" if read else "product", *found)

    def _worked(self, at: int | None = None) -> list[MicroStep]:
        """Return the forward micro-steps that have weights, up to one of them or all."""
        return [step for step in self._walk.steps[:at] if step.phase == "forward" and len(step.weights)]

    def sums(self, lit: Lit) -> dict[str, Sums]:
        """Return what the lit products of a layer sum to so far, by row."""
        found = {}
        for stage in self._layers:
            weight, bias = stage.weight, stage.bias
            if weight is None or len(weight.shape) != 2 or not stage.whole:
                continue
            if np.isnan(weight.of(lit.range_values)).any():
                continue
            parts = weight.of(lit.numbers)
            if bias is not None:
                parts = np.concatenate([parts, bias.of(lit.numbers)[:, None]], axis=1)
            there = ~np.isnan(parts)
            numbers = np.where(there.any(axis=1), np.nansum(parts, axis=1), np.nan)
            found[self._walk.row_of(stage)] = Sums(numbers, np.asarray(there.all(axis=1)))
        return found

    def stops(self, at: int) -> Sequence[WindowPosition]:
        """Return the window's positions; the last is at the largest number, a pooling has only that one."""
        if at not in self._stops:
            self._stops[at] = [*self._slide(self._walk.steps[at - 1])]
        return self._stops[at]

    def _slide(self, now: MicroStep) -> Iterator[WindowPosition]:
        opened, stage = self._walk.opened, self._walk.stages.get(now.stage)
        if stage is None or now.phase != "forward" or len(stage.shape) != 3:
            return
        count, high, wide = stage.shape
        rows, columns = (np.unique(np.linspace(0, n - 1, STOPS).round().astype(int)) for n in (high, wide))
        turns = np.searchsorted(rows, range(high))[:, None] * len(columns) + np.searchsorted(columns, range(wide))
        channel, last = divmod(max(now.column, 0), high * wide)
        grid = np.add.outer(rows * wide, columns).ravel().tolist() if len(now.weights) else []
        row = self._walk.row_of(stage) if len(now.weights) else stage.name
        for turn, place in enumerate((*grid, last)):
            window = opened.window(stage.name, channel * high * wide + place)
            if window is not None:
                made = np.tile((turns <= turn).ravel() | (turn == len(grid)), count)
                yield WindowPosition(window, row, channel * high * wide + place, made)

    def marks(self, now: MicroStep, index: int) -> dict[str, NDArray[np.int64]]:
        """Return, by row, the numbers of maps from which a delta or the gradient of weight `index` comes."""
        walk, opened = self._walk, self._walk.opened
        places = opened.origins(now, index)
        rows = {place.stage: walk.row_of(walk.stages[place.stage]) for place in places if place.stage in walk.stages}
        return {rows.get(stage, stage): np.array([k for k in units if k >= 0], int) for stage, units in places}

    def backward(self, at: int, deltas: Mapping[str, Floats]) -> Lit:
        """Return the terms w · δ that go through the weights to the layer whose deltas are computed."""
        numbers, whole = (np.full(len(self._values), np.nan) for _ in range(2))
        now, passed = self._walk.steps[at - 1], self._values * self.backward_factors
        above, own = self._above(now.stage), deltas[now.stage]
        above = above if len(now.units) else self.beside(now.stage)  # back from layers to what they read
        weight = next((stage.weight for stage in self._layers if [stage.name] == above), None)
        reads = np.concatenate([np.zeros(0, np.int64), *(self._reads[name] for name in above)])
        whole[reads] = passed[reads]
        maps = any(len(stage.shape) == 3 for stage in map(self._walk.stages.get, above) if stage is not None)
        if maps and len(now.units) and now.column >= 0:  # terms of the δ
            places, terms = self._walk.opened.passed_on(now)
            whole[:] = np.nan
            numbers[places] = whole[places] = terms
        elif weight is not None and weight.shape[1:] == own.shape:  # column by column
            there = np.broadcast_to(~np.isnan(own), weight.shape).ravel()
            numbers[weight.span] = np.where(there, passed[weight.span], np.nan)
        elif not np.isnan(own).any():
            numbers[reads] = passed[reads]
        return Lit("passed on", numbers, whole)

    def beside(self, name: str) -> list[str]:
        """Return the layers that read the same as a layer, itself among them."""
        sources = self._walk.stages[name].sources
        return list(dict.fromkeys(module_path(one.name) for one in self._layers if one.sources == sources))

    def _above(self, name: str) -> list[str]:
        """Return the first stages with weights that read a stage, directly or through others."""
        readers = [found for found in self._behind(name, through=False) if found in self._reads]
        later = {behind for reader in readers for behind in self._behind(reader) if behind != reader}
        return [reader for reader in readers if reader not in later] or readers

    def _behind(self, name: str, *, through: bool = True) -> list[str]:
        """Return all that depends on a stage; without `through`, up to the first stages with weights."""
        found, todo = dict[str, None](), [module_path(name)]
        while todo:
            for reader in self._readers.get(todo.pop(), ()):
                if reader not in found:
                    found[reader] = None
                    todo += [reader] if through or reader not in self._reads else []
        return list(found)

    def update(self, moved: NDArray[np.bool_]) -> Lit:
        """Return the changes of the weights that have moved."""
        change = self._walk.change
        return Lit("change", np.where(moved, change, np.nan), change)


def whose_deltas(
    stages: Sequence[Stage], deltas: Mapping[str, NDArray[np.floating]], drawn: Container[str]
) -> dict[str, str]:
    """Return the stage whose deltas each `drawn` row shows.

    A row that stands for a layer's sums and for what becomes of them shows the deltas of the sums, once they are
    there. The row of a dropout shows the deltas of what it reads, since none come through dropped numbers.
    """
    found, pending = dict[str, str](), ""
    for stage in stages:
        if stage.name in drawn:
            sums, own = deltas.get(pending), deltas[stage.name]
            there = sums is not None and len(sums) == len(own) and not np.isnan(sums).all()
            before = [name for name in stage.sources if stage.kind == "dropout" and name in deltas]
            found[stage.name], pending = pending if there else (*before, stage.name)[0], ""
        elif stage.weight is not None:
            pending = stage.name
    return found


def height_scale(change: Floats, height: float) -> float:
    """Return the factor from changes to heights: 1, 2 or 5 times a power of ten; no cube leaves its tray.

    `height` is that of a cube, in the unit of the heights.
    """
    most = float(np.nanmax(np.abs(change), initial=0.0))
    return 1 / rounded_up(most / (SINKS * height)) if 0.0 < most < np.inf else 1.0


def dark(values: Floats, lit: NDArray[np.bool_], theme: Theme) -> Floats:
    """Return colours (P, 3) of cubes that are not lit: those of their weights, darker; NaN for lit cubes."""
    chosen = Range.symmetric(weight_extent(values))
    colours = get_map("weight", theme)(2 * np.clip(chosen.unit(values), 0.0, 1.0) - 1)
    return np.where(lit[:, None], np.nan, dimmed(colours, theme))


def dimmed(colours: Floats, theme: Theme) -> Floats:
    """Return colours at half light, over the ground on which cubes stand."""
    return np.asarray(HALF * colours + (1 - HALF) * np.array(rgb(theme.tray)))
