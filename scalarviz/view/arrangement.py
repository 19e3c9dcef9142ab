"""`Arrangement`: the places of one picture of one size: of its panels, and of the plates of its cubes in space."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from .ink.places import (
    OPENED,
    SPREAD,
    STRIP,
    Places,
    arrange,
    at_the_edge,
    beside_cubes,
    narrowed,
    over_column,
    written_beside,
)
from .ink.sketch import Box
from .ink.theme import Theme
from .notes.scenery import cubes_box
from .screen.controls import ControlsPanel
from .screen.side import SidePanels
from .screen.touch import column_of
from .shown.subject import Subject
from .space.layout import Apart, Layout, layers_of, layout_for

_BESIDE = 0.7
"""Of the room left of the cubes: an arrangement that does not expect anything there has margins of its own."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a picture is to have room for."""

    size: tuple[int, int]
    subject: Subject
    theme: Theme
    side: SidePanels
    controls: ControlsPanel
    keys: bool
    panels: bool  # whether there is more than the cubes
    opened: bool  # whether a step is opened
    apart: Apart
    columns: Callable[[Places, bool], Places] | None = None  # of a comparison: the places of its last column


class Arrangement:
    """Where everything stands. The panel of controls may open later, without that anything else moves."""

    places: Places
    layout: Layout

    def __init__(self, wanted: Wanted) -> None:
        self._wanted = wanted
        self.spread = self.narrow = False
        bare = wanted.opened or not wanted.panels
        if not bare and wanted.subject.plan is not None and wanted.side.spreads:
            self.spread = True  # a panel draws among the cubes of the scene's own plan, and in the strip
            self._lay(planned=True)
            self.spread = self.places.legend is not None and self.layout.blueprint is not None
        if not self.spread:  # with panels that stand beside the cubes its rooms would be empty
            self._lay(planned=bare)
        self.stand_controls()

    def stand_controls(self) -> None:
        """The panel of controls over the side column; where there is none and cubes leave no room, the scene does."""
        panel, places = self._wanted.controls, self.places
        if not panel.open or panel.hidden:
            panel.place(None, ())
            return
        box = over_column(places, column_of(places))
        if box is None:
            corners = np.concatenate([plate.corners for plate in self.layout.plates])
            box = beside_cubes(places, float((self.layout.camera.project(corners) / self.ratio)[:, 0].max()))
            self.places = places if box is None else written_beside(places, box[0] - 8)
        if box is None:
            self.narrow = True
            self._lay(planned=False)
            box = at_the_edge(places)
        column = self._wanted.panels and column_of(places) is not None
        panel.place(box, self._wanted.side.column.smaller() if column else ())

    def _lay(self, *, planned: bool) -> None:
        """Places, and the layout in them: the scene's own plan, where it is `planned`."""
        wanted, side, subject = self._wanted, self._wanted.side, self._wanted.subject
        full = wanted.panels and not wanted.opened
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
        self.layout = whole if wanted.opened else wanted.apart.of(whole)

    def _lay_panels(self) -> Box | None:
        """Places of all that is no cube; returns what panels above the cubes leave of their scene."""
        wanted, shown, hall = self._wanted, self._wanted.panels, self._wanted.theme.presenter
        source = wanted.subject.source
        hands = shown and wanted.keys
        self.places = arrange(wanted.size, wanted.side.column.wanted(spread=self.spread) if shown else (),
                              hud=shown and source.counted, strip=shown,
                              strip_high=OPENED if wanted.opened else SPREAD if self.spread else STRIP,
                              keys=hands and not hall, time=hands and source.can.go and not wanted.opened,
                              replayed=source.recorded, spread=self.spread, presenter=hall)  # fmt: skip
        if self.narrow:
            self.places = narrowed(self.places)
        above = wanted.side.put_above(self.places.scene if shown and not wanted.opened else None)
        if wanted.columns is None:
            return above
        self.places = wanted.columns(self.places, shown)
        return None
