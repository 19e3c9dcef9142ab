"""`Standing`: which parts stand in a picture of one size, and where: panels, and the plates of its cubes in space."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from .ink.places import (
    OPENED,
    SPREAD,
    STRIP,
    Places,
    Wanted,
    arrange,
    at_the_edge,
    narrowed,
    over_column,
)
from .ink.sketch import Box
from .notes.scenery import cubes_box
from .screen.touch import column_of
from .space.layout import Layout, layers_of, layout_for

if TYPE_CHECKING:
    from .workbench import Workbench

_BESIDE = 0.7
"""Of the room left of the cubes: an arrangement that does not expect anything there has margins of its own."""


class Standing:
    """Where everything stands. The panel of controls may open later, without that anything else moves."""

    places: Places
    layout: Layout

    def __init__(self, bench: Workbench, size: tuple[int, int]) -> None:
        self._bench, self._size = bench, size
        self.spread = self.narrow = False
        self._opened, self._shown = bench.inside.told is not None, bench.panels_shown
        bare = self._opened or not self._shown
        if not bare and bench.subject.plan is not None and bench.side.spreads:
            self.spread = True  # a panel draws among the cubes of the scene's own plan, and in the strip
            self._lay(planned=True)
            self.spread = self.places.legend is not None and self.layout.blueprint is not None
        if not self.spread:  # with panels that stand beside the cubes its rooms would be empty
            self._lay(planned=bare)
        if not self.stand_controls():
            self.narrow = True
            self._lay(planned=False)
            bench.controls.place(at_the_edge(self.places), self._small)

    @property
    def _small(self) -> Sequence[Wanted]:
        """The panels that want a place beside the controls."""
        return self._bench.side.column.smaller() if self._shown else ()

    def stand_controls(self) -> bool:
        """Put the panel of controls over other panels, if it is open; whether the scene need not make room for it."""
        panel, box = self._bench.controls, None
        if is_open := panel.open and not panel.hidden:
            box = over_column(self.places, column_of(self.places))
        panel.place(box, self._small)
        return box is not None or not is_open

    def _lay(self, *, planned: bool) -> None:
        """Places, and the layout in them: the scene's own plan, where it is `planned`."""
        side, subject = self._bench.side, self._bench.subject
        full = self._shown and not self._opened
        above = self._lay_panels()
        if full and side.lodge():
            above = self._lay_panels()
        if above is not None:
            self.places = replace(self.places, scene=above)
        # The camera counts in whole pixels; the difference to the logical size is a fraction of one.
        camera_size = (round(self.places.size[0]), round(self.places.size[1]))
        self.ratio = ratio = np.array(camera_size) / self.places.size
        x, y, w, h = cubes_box(subject, self.places.scene)
        rect = (x * ratio[0], y * ratio[1], (x + w) * ratio[0], (y + h) * ratio[1])
        plan, turns = subject.plan if planned else None, side.turns(w, h, rows=not full)
        whole = layout_for(subject.tensors, subject.stages, camera_size, rect, plan, turns)
        if turns is not None and turns.left and not whole.turns:  # what stands left of the cubes takes room there
            rest = (rect[0] + turns.left * ratio[0] * _BESIDE, *rect[1:])
            whole = layout_for(subject.tensors, subject.stages, camera_size, rest, plan)
        self.layer_names = layers_of(whole)
        self.layout = whole if self._opened else self._bench.apart.of(whole)

    def _lay_panels(self) -> Box | None:
        """Places of all that is no cube; returns what panels above the cubes leave of their scene."""
        bench, shown, opened, hall = self._bench, self._shown, self._opened, self._bench.theme.presenter
        source, hands = bench.subject.source, shown and bool(bench.keys)
        self.places = arrange(self._size, bench.side.column.wanted(spread=self.spread) if shown else (),
                              hud=shown and source.counted, strip=shown,
                              strip_high=OPENED if opened else SPREAD if self.spread else STRIP,
                              keys=hands and not hall, time=hands and source.can.go and not opened,
                              replayed=source.recorded, spread=self.spread, presenter=hall)  # fmt: skip
        if self.narrow:
            self.places = narrowed(self.places)
        above = bench.side.put_above(self.places.scene if shown and not opened else None)
        if bench.compared is None:
            return above
        self.places = bench.compared.place(self.places, shown)
        return None
