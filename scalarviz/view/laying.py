"""`Laying`: the part of a workbench that puts panels and plates in their places, for one size."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace

import numpy as np

from ..run.core.frame import Frame
from .aim import Aim
from .cubes.picking import Picker
from .cubes.quantity import Quantity, check_kept
from .cubes.scale import ActivationScale, Coloring
from .ink.painter import Painter
from .ink.places import (
    OPENED,
    SPREAD,
    STRIP,
    arrange,
    at_the_edge,
    beside_cubes,
    narrowed,
    over_column,
    written_beside,
)
from .ink.sketch import Box
from .ink.theme import Theme
from .micro.inside import Inside
from .notes.scenery import Scenery, cubes_box, window_of
from .panels.drawer import Setting
from .screen.controls import ControlsPanel
from .screen.side import InputSwatch, SidePanels
from .screen.time_bar import TimeBar
from .screen.touch import Touch, column_of, uncovered
from .shown.probed import Probed
from .shown.subject import Subject
from .space.apart import Apart, layers_of
from .space.layout import Layout, layout_for
from .space.viewpoint import Viewpoint


class Standing(Aim):
    """Colours, what is touched, and the layout of one network's tensors and stages."""

    subject: Subject
    theme: Theme
    cmap_name: str
    inside: Inside
    layout: Layout
    probed: Probed
    swatch: InputSwatch
    _keys: tuple[tuple[str, str], ...]

    @abstractmethod
    def _arrange(self) -> None:
        """Places of the panels, and of the plates in space."""

    @abstractmethod
    def _stand(self) -> None:
        """What depends on the layout."""

    def _set_up(self) -> None:
        """Everything in its place, seen as a whole."""
        self.probed = Probed(self.subject)
        self._arrange()
        self._view = Viewpoint(self.layout)
        self._stand()

    def _make(self, quantity: str | Quantity) -> None:
        """What belongs to the tensors and stages that there are."""
        subject, look = self.subject, self.theme
        check_kept(subject.source, quantity)
        self._made_for = subject.tensors, subject.stages
        self.colouring = Coloring(subject.tensors, look, quantity, self.cmap_name or None,
                                  lambda: subject.source.moments)  # fmt: skip
        self.colouring.recorded = subject.source.recorded
        if not subject.stages:
            self.colouring.scope = "all numbers"
        self.activations = ActivationScale(subject.stages, look, sheet=subject.sample.sheet)
        self.touch = Touch(subject)  # its `table` is the list of keys
        self._frame: Frame | None = None

    def fits(self, frame: Frame) -> bool:
        """Whether a frame is of the network that the picture was made for."""
        way = frame.forward
        return way is None or (way.tensors, way.stages) == self._made_for

    def taken(self, frame: Frame) -> Frame:
        """Follow a frame; returns it with the rows of the sample that is drawn at its moment."""
        before = self.side.ground.probes
        self.follow(frame)
        probe, way = self.subject.probe, frame.forward
        if self.side.ground.probes == before or probe is None or way is None:
            return frame
        return frame.with_activations(way.activations(probe, frame.values))

    def follow(self, frame: Frame) -> bool:
        """Stand anew for a frame of another network; returns whether it is one. What was selected is let go of.

        No cube flies: a layer that has other units begins with other weights, and one that flew would be taken for the
        one that it was. The new network stands in its place at once, and the camera glides to where all of it is seen.
        """
        subject, touch = self.subject.after(frame), self.touch
        self.side.ground.probes += self.probed.follow(subject, frame)
        called = subject.sample.outputs == self.subject.sample.outputs  # other classes have other names
        if called and (subject.tensors, subject.stages) == self._made_for:
            return False
        if subject is not self.subject:
            self.subject, ahead = subject, self.side.ground.ahead
            before, self.side = self.side, SidePanels(subject, self.theme, hints=bool(self._keys))
            self.side.keep(before)
            self.side.ground.ahead, self.swatch = ahead, InputSwatch(self.side.ground)
        self._make(self.colouring.shows)
        self.touch.table, self.touch.asks, self.touch.help = touch.table, touch.asks, touch.help
        self.inside.forget()
        self._arrange()
        self._view.follow(self.layout)
        self._stand()
        return True


# ----

_BESIDE = 0.7
"""Of the room left of the cubes: an arrangement that does not expect anything there has margins of its own."""


class Laying(Standing):
    """Where everything stands.

    Attributes
    ----------
    spread : bool
        Whether a panel draws among the cubes of the scene's own plan, and in the strip.
    apart : Apart
        How the plates are taken apart; :meth:`take_apart` changes it.
    layer_names : tuple of str
        The layers that may stand alone.
    page : bool
        Whether a page draws the cubes and writes its own words: here only what panels show is drawn, and none makes
        way for what is known of a weight.
    """

    apart = Apart()
    layer_names: tuple[str, ...] = ()
    page = False
    spread: bool
    _narrow: bool
    panels_shown: bool
    bar: TimeBar
    controls: ControlsPanel
    scenery: Scenery
    size: tuple[int, int]
    _output: tuple[int, int]

    def _arrange(self) -> None:
        """Places of the panels, and of the plates in space."""
        wide, high = self._output
        self.size = (wide * self._supersample, high * self._supersample)
        self.spread = self._narrow = False
        if self.panels_shown and self.inside.told is None and self.subject.plan is not None and self.side.spreads:
            self.spread = True
            self._lay(planned=True)
            self.spread = self.places.legend is not None and self.layout.blueprint is not None
        if not self.spread:  # with panels that stand beside the cubes its rooms would be empty
            self._lay(planned=self.inside.told is not None or not self.panels_shown)
        self._stand_controls()
        self.painter = Painter(self.places.size, self.scale)
        self._above: list[Painter] = []
        self.place_side()
        self._picker = Picker(self.layout)
        below = [] if self.places.strip is None else [self.places.strip]
        self.bar.place(self.places.time, [*below, *self.places.panels.values()])

    def _stand_controls(self) -> None:
        """The panel of controls over the side column; where there is none and cubes leave no room, the scene does."""
        panel, places = self.controls, self.places
        if not panel.open or panel.hidden:
            panel.place(None, ())
            return
        box = over_column(places, column_of(places))
        if box is None:
            corners = np.concatenate([plate.corners for plate in self.layout.plates])
            right = float((self.layout.camera.project(corners) / self._ratio)[:, 0].max())
            box = beside_cubes(places, right)
            self.places = places if box is None else written_beside(places, box[0] - 8)
        if box is None:
            self._narrow = True
            self._lay(planned=False)
            box = at_the_edge(places)
        panel.place(box, self.side.column.smaller() if self.panels_shown and column_of(places) is not None else ())

    def take_apart(self, apart: Apart) -> None:
        """Plates further from each other, or one layer alone; a selected weight that is not drawn then is let go of."""
        self.apart = apart
        self.lay_out()
        inspector = self.touch.inspector
        if inspector is not None and not any(p.start <= inspector.index < p.start + p.size for p in self.layout.plates):
            self.let_go()

    @abstractmethod
    def let_go(self) -> bool:
        """Give up what is selected or begun; returns whether there was something."""

    def make_room(self) -> None:
        """The panel of controls opens or closes: where it stands over the side column, nothing else moves."""
        before = self._narrow
        if before or column_of(self.places) is None:
            self.lay_out()
            return
        self._stand_controls()
        if self._narrow != before:
            self.lay_out()
        self.place_side()

    @abstractmethod
    def lay_out(self) -> None:
        """Everything into its place anew."""

    def _lay(self, *, planned: bool) -> None:
        """Places, and the layout in them: the scene's own plan, where it is `planned`."""
        shown, opened = self.panels_shown, self.inside.told is not None
        above = self._lay_panels(shown, opened)
        if shown and not opened and self.side.lodge():
            above = self._lay_panels(shown, opened)
        if above is not None:
            self.places = replace(self.places, scene=above)
        logical = self.places.size
        # The camera counts in whole pixels; the difference to the logical size is a fraction of one.
        camera_size = (round(logical[0]), round(logical[1]))
        ratio = np.array(camera_size) / logical
        x, y, w, h = cubes_box(self.subject, self.places.scene)
        rect = (x * ratio[0], y * ratio[1], (x + w) * ratio[0], (y + h) * ratio[1])
        plan = self.subject.plan if planned else None
        turns = self.side.turns(w, h, rows=opened or not shown)
        tensors, stages = self.subject.tensors, self.subject.stages
        whole = layout_for(tensors, stages, camera_size, rect, plan, turns)
        if turns is not None and turns.left and not whole.turns:  # what stands left of the cubes takes room there
            rest = (rect[0] + turns.left * ratio[0] * _BESIDE, *rect[1:])
            whole = layout_for(tensors, stages, camera_size, rest, plan)
        self.layer_names = layers_of(whole)
        self.layout: Layout = whole if opened else self.apart.of(whole)
        self._ratio = ratio

    def _lay_panels(self, shown: bool, opened: bool) -> Box | None:
        """Places of all that is no cube; returns what panels above the cubes leave of their scene."""
        hall, hands = self.theme.presenter, shown and bool(self._keys)
        self.places = arrange(self._output, self.side.column.wanted(spread=self.spread) if shown else (),
                              hud=shown and self.subject.source.counted, strip=shown,
                              strip_high=OPENED if opened else SPREAD if self.spread else STRIP,
                              keys=hands and not hall, time=hands and self.subject.source.can.go and not opened,
                              replayed=self.subject.source.recorded, spread=self.spread,
                              presenter=hall)  # fmt: skip
        if self._narrow:
            self.places = narrowed(self.places)
        return self.side.put_above(self.places.scene if shown and not opened else None)

    def place_side(self) -> None:
        """Panels in their places but for those below the inspector; none where an opened step has their column."""
        self.touch.column_taken = self.controls.open and not self.controls.hidden
        if self.controls.stands and not self.controls.hidden:
            self.side.place(self.controls.side)
            return
        left_out = self.places.left_out if self.panels_shown else ()
        covered = self.touch.column(self.places) if self.panels_shown and not self.page else None
        if self.inside.column is not None:
            self.side.place({})
        else:
            self.side.place(uncovered(self.places, covered), left_out, self.places.more)

    def _setting(self) -> Setting | None:
        """Where panels draw among the cubes."""
        sheet, strip = self.scenery.blueprint, self.places.strip
        if not self.spread or strip is None:
            return None
        plates = {plate.name: plate for plate in self.layout.plates}
        return Setting(sheet, plates, self.project, window_of(self.places.scene, True, self.places.size), strip)

    def _among(self) -> Setting | None:
        """Where panels draw that stand among any cubes."""
        if not (self.side.among and self.panels_shown and self.inside.told is None):
            return None
        rows = (*self.layout.plates, *self.layout.spots)
        window = window_of(self.places.scene, True, self.places.size)
        strip = self.places.strip or (0.0, self.places.size[1], 0.0, 0.0)
        plates = {plate.name: plate for plate in rows}
        return Setting(None, plates, self.project, window, strip, self.layout.turns, self.scenery.reserved)

    @property
    def window(self) -> Box:
        """Where cubes are drawn (logical pixels): a camera moved by hand must not bring them below the panels."""
        return window_of(self.places.scene, self._view.moved and self.panels_shown, self.places.size)
