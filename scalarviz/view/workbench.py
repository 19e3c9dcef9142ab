"""`Workbench`: the whole picture, drawn into the current GL context (window, offscreen, notebook).

Call `update` once a frame to take over the numbers and `draw` to paint them. Unchanged parts are neither rebuilt nor
uploaded again. Overlays (hover, selection, messages, the list of keys) have layers of their own above everything else.

The parts do not know each other: `views` hold the cubes and legends, `scenery` the labels around them, `side` the
panels, `bar` the time bar, `controls` the controls, `story` the large lines, `step_drawing` the opened step, `layers`
the table of layers, `interaction` the pointer, selection and messages. `places` has the box of each part.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..checks import text
from ..run.core.frame import Frame
from ..run.questions.ranges import weight_extent
from ..run.sources.recorded_pair import RecordedPair
from .comparison import ComparisonParts
from .cube_view import CubeView
from .cubes.atlas import ALL_ALIKE, Sizing
from .cubes.looks import LOOKS
from .cubes.picking import Hit, Picker
from .cubes.scale import Quantity, check_kept
from .ink.boxes import GROUND, MARGIN, STAGE, Places, arrange, at_the_edge, check_size, narrowed, over_column, uncovered
from .ink.painter import Painter, Viewport, gloo
from .ink.sketch import Box, Point, Sketch, Spot, contains, spot_at
from .ink.theme import Theme, get_theme, presenting
from .interaction import Interaction, plate_of
from .micro.captions import caption_at_rest, has_target
from .notes.scenery import Scenery, Small, cubes_box, least_width, window_of
from .panels.drawer import Setting, changed_by_hand, newest_beyond, time_jumped
from .panels.pace import TextPace
from .panels.table import LayerTable
from .screen.controls import ControlsPanel
from .screen.hud import MOST_KEYS, hud, keys, mistake_line, mistake_words, state_of, trouble_line
from .screen.side import MORE, NEXT, SidePanels
from .screen.strip import StoryLines, marks_on
from .screen.time_bar import TimeBar
from .shown.names import Selection
from .shown.subject import ProbeFollower, subject_of
from .space.camera import Camera, Viewpoint
from .space.layout import Apart, Layout, layers_of, layout_for
from .step_drawing import StepDrawing

_BESIDE = 0.7
"""Share of the wanted room left of the cubes; an arrangement without turns has a margin of its own there."""
_SINGLE, _STAGED = 0.5, 234.0
"""Least heights of a scene in a standing picture: of a single layer, as a share of its width; below another panel."""


class Workbench:
    """The cubes, labels, panels and HUD of one subject at one size. Drawing needs a current GL context.

    It is one concept: the order in which its parts are laid out, take over a frame and are painted.

    Parameters
    ----------
    scene : Scene, Subject, or anything else that can be shown
        See :func:`~scalarviz.view.shown.subject.subject_of`.
    size : (int, int)
        Output pixels.
    theme : str or Theme
        ``"dark"`` or ``"light"``.
    cmap : str, optional
        Name of a colour map; default: that of the quantity. A difference of two recordings ignores it.
    quantity : str
        What the cubes show: ``"weight"``, ``"gradient"``, ``"|gradient|"``, ``"update"``, ``"update/value"``, or a
        number that the optimiser stores for each weight, by its name (``"exp_avg"``).
    sizing : Sizing
        How large the cubes are.
    keys : sequence of (str, str)
        Keys and their actions, for the line at the bottom; a film has none.
    text_hz : float, optional
        The highest rate (per second) at which numbers in text change; default: every frame.
    supersample : int
        Device pixels per output pixel, in each direction.

    Attributes
    ----------
    apart : Apart
        How far the plates are spread; :meth:`take_apart` changes it.
    layer_names : tuple of str
        The layers that can be shown alone.
    overlays : sequence of list of Sketch
        Sketches above the picture that depend on pointer and keys, lowest layer first.
    left_out : frozenset of str
        Parts that are hidden: "timeline", "inspector", "panels", "keys". Call :meth:`lay_out` after setting it.
    """

    places: Places
    layout: Layout
    apart = Apart()
    left_out: frozenset[str] = frozenset()
    timed: bool  # whether there is a place for a time bar without the line of keys, as in a page
    layer_names: tuple[str, ...] = ()
    overlays: Sequence[list[Sketch]] = ()
    _staged: Places | None = None  # places in a film or a tile, instead of its own
    _named = True  # whether the cubes need room for names there
    _over_row = False  # whether the pointer is over a row of activations

    def __init__(
        self,
        scene: object,
        size: tuple[int, int] = (1280, 720),
        theme: str | Theme = "dark",
        cmap: str | None = None,
        quantity: str = "weight",
        *,
        sizing: Sizing = ALL_ALIKE,
        keys: Sequence[tuple[str, str]] = (),
        text_hz: float | None = None,
        supersample: int = 1,
        timed: bool = False,
    ) -> None:
        self.timed = timed
        self.subject = subject_of(scene)
        self.theme, self.cmap_name = get_theme(theme), "" if cmap is None else text(cmap, "the colour map")
        self.keys, self.sizing = tuple(keys), sizing
        self.bar = TimeBar(self.theme)
        self.controls = ControlsPanel(self.theme)
        self.text_pace = TextPace(text_hz)
        self.story = StoryLines(self.text_pace)
        self.side = SidePanels(self.subject, self.theme, hints=bool(keys))
        self.layers = LayerTable()
        source = self.subject.source
        self.compared = ComparisonParts(self, source) if isinstance(source, RecordedPair) else None
        self._make_parts(quantity)
        self.step_drawing: StepDrawing = StepDrawing(self)
        self._pace, self.panels_shown = "", True
        self._output, self._supersample = check_size(size), supersample
        self.probed = ProbeFollower(self.subject)
        self._arrange()
        self._view = Viewpoint(self.layout)
        self._make_views()

    def _make_parts(self, quantity: str | Quantity) -> None:
        """Create the parts that depend on the tensors and stages."""
        subject = self.subject
        check_kept(subject.source, quantity)
        self._made_for = subject.tensors, subject.stages
        self.interaction = Interaction(self)  # its `table` is the list of keys
        self._frame: Frame | None = None
        if self.compared is None:
            self.views = [CubeView(subject, self.theme, quantity, self.cmap_name)]
        else:
            self.views = self.compared.views(quantity)
        self.colouring, self.activations = self.views[-1].colouring, self.views[-1].activations

    # ---- another network

    def fits(self, frame: Frame) -> bool:
        """Return whether a frame belongs to the network that the picture was made for."""
        way = frame.forward
        return way is None or (way.tensors, way.stages) == self._made_for

    def taken(self, frame: Frame) -> Frame:
        """Follow a frame; return it, with new activations if the probe sample changed."""
        before = self.side.shared.probes
        self.follow(frame)
        probe, way = self.subject.probe, frame.forward
        if self.side.shared.probes == before or probe is None or way is None:
            return frame
        return frame.with_activations(way.activations(probe, frame.values))

    def follow(self, frame: Frame) -> bool:
        """Lay the picture out again if the frame is of another network; return whether it is.

        The selection is closed. Cubes do not move from their old places, because a new layer has new weights. Only the
        camera glides, until the whole network is in view.
        """
        subject, had = self.subject.after(frame), self.interaction
        self.side.shared.probes += self.probed.follow(subject, frame)
        called = subject.sample.outputs == self.subject.sample.outputs  # other classes have other names
        if called and (subject.tensors, subject.stages) == self._made_for:
            return False
        if subject is not self.subject:
            self.subject, before = subject, self.side
            self.side = SidePanels(subject, self.theme, hints=bool(self.keys))
            self.side.keep(before)
        self._make_parts(self.colouring.shows)
        now = self.interaction
        now.table, now.opens_steps, now.help = had.table, had.opens_steps, had.help
        self.step_drawing.forget()
        self._arrange()
        self._view.follow(self.layout)
        self._make_views()
        return True

    # ---- layout

    def resize(self, size: tuple[int, int], supersample: int = 1) -> None:
        """Lay everything out for another size. The last frame stays on screen, and a moved camera keeps its view."""
        self._output, self._supersample = check_size(size), supersample
        self.lay_out()

    def show_panels(self, shown: bool) -> None:
        """Show everything, or only the cubes on the whole canvas."""
        if shown != self.panels_shown:
            self.panels_shown = shown
            self.lay_out()

    def stage(self, places: Places, *, named: bool = True) -> None:
        """Draw only the cubes, `named` or not, and some panels, in the given places."""
        self._staged, self._named, self.panels_shown = places, named, False
        self.lay_out()

    def _fill(self, scene: Box) -> None:
        """Enlarge the cubes until they, with their names, fill the scene."""
        for _ in range(2):  # names do not grow
            corners = self.project(np.concatenate([plate.corners for plate in self.layout.plates]))
            ends = [
                (x + dx * wide, y + dy * high) for x, y, wide, high in self.scenery.words for dx, dy in ((0, 0), (1, 1))
            ]
            points = np.concatenate([corners, np.array(ends).reshape(-1, 2)]) * self._ratio
            x, y, wide, high = scene
            room = (x * self._ratio[0], y * self._ratio[1], (x + wide) * self._ratio[0], (y + high) * self._ratio[1])
            self._view.fill((*points.min(axis=0).tolist(), *points.max(axis=0).tolist()), room)
            self._place_scenery(None)

    def take_apart(self, apart: Apart) -> None:
        """Spread the plates, or show one layer alone; deselect a weight that is no longer drawn."""
        self.apart = apart
        self.lay_out()
        if self.selected is not None and plate_of(self.layout, self.selected) is None:
            self.let_go()

    def next_panels(self) -> None:
        """Switch from the first look to all panels, then to the cubes alone, and back."""
        shared, before = self.side.shared, self.panels_shown
        self.panels_shown = not (before and shared.shows_all)
        shared.shows_all = before and not shared.shows_all
        if not shared.shows_all:
            self.side.column.rest()
        self.lay_out()

    def make_room(self) -> None:
        """Lay out after the panel of controls opened or closed. If it covers other panels, nothing else moves."""
        if self._narrow or not self._stand_controls():
            self.lay_out()
        else:
            self.place_side()

    def lay_out(self) -> None:
        """Put everything into its place again, as for another size."""
        self._arrange()
        self._view.relaid(self.layout)
        self.interaction.hover(None)
        self._make_views()
        if self._staged is not None:
            self._fill(self._staged.scene)
        self._outdated = True

    def _arrange(self) -> None:
        """Place the panels, and the plates in space."""
        self.size = (self._output[0] * self._supersample, self._output[1] * self._supersample)
        self.spread = self._narrow = False  # True: the scene makes room for the controls
        bare = not self.panels_shown
        if not bare and self.subject.plan is not None and self.side.spreads:
            self.spread = True  # a panel draws among the cubes of the scene's own plan, and in the strip
            self._lay(planned=True)
            self.spread = self.places.legend is not None and self.layout.blueprint is not None
        if not self.spread:  # beside panels the plan's rooms would be empty
            self._lay(planned=bare)
        if not self._stand_controls():
            self._narrow = True
            self._lay(planned=False)
            self._stand_controls()
        self.painter = Painter(self.places.size, self.scale)
        self._above = list[Painter]()
        self.place_side()
        self._picker = Picker(self.layout)
        below = [] if self.places.strip is None else [self.places.strip]
        time = self.places.time if self.step_drawing.micro_step is None and not self.timed else None
        self.bar.place(time, [*below, *self.places.panels.values()])

    def _stand_controls(self) -> bool:
        """Put the open panel of controls over other panels; return False if the scene has to make room for it."""
        panel, places, box = self.controls, self.places, None
        if panel.open:
            box = at_the_edge(places) if self._narrow else over_column(places)
        panel.place(box, self.side.column.smaller() if self.panels_shown else ())
        return box is not None or not panel.open

    def _lay(self, *, planned: bool) -> None:
        """Compute the places and the layout in them; `planned` uses the scene's own plan."""
        side, subject, full = self.side, self.subject, self.panels_shown
        self._lay_panels()
        if full and side.column.take_in(side.unplaced):
            self._lay_panels()
        # The camera counts in whole pixels; the difference to the logical size is a fraction of one.
        camera_size = (round(self.places.size[0]), round(self.places.size[1]))
        self._ratio = ratio = np.array(camera_size) / self.places.size
        x, y, w, h = cubes_box(subject, self.places.scene)
        w -= side.ending(w)
        rect = (x * ratio[0], y * ratio[1], (x + w) * ratio[0], (y + h) * ratio[1])
        plan, turns = subject.items or (subject.plan if planned else None), side.turns(w, h, rows=not full)
        whole = layout_for(subject.tensors, subject.stages, camera_size, rect, plan, turns)
        if turns is not None and turns.left and not whole.turns:  # parts left of the cubes need room
            rest = (rect[0] + turns.left * ratio[0] * _BESIDE, *rect[1:])
            whole = layout_for(subject.tensors, subject.stages, camera_size, rest, plan)
        self.layer_names = layers_of(whole)
        self.layout = whole if self.step_drawing.micro_step is not None else self.apart.apply_to(whole)

    def _lay_panels(self) -> None:
        """Compute the places of everything but the cubes."""
        if self._staged is not None:
            self.side.put_at_end(there=False)
            self.places = self._staged
            return
        shown, hall, source = self.panels_shown, self.theme.presenter, self.subject.source
        hands, opened = shown and bool(self.keys), self.step_drawing.micro_step is not None
        panels = shown and "panels" not in self.left_out
        timed = opened or self.timed or (hands and source.can.go and "timeline" not in self.left_out)
        lined = hands and "keys" not in self.left_out
        above = [d for d in self.side.drawers.values() if d.panel.place == "above"]
        # below the legend is a sentence about the sample's output, or for a presenter the purpose
        speaks = hall or has_target(self.subject)
        aside = STAGE <= self._output[1] <= self._output[0]  # others have no column for a narrow panel
        asked, staged = self.side.shared.shows_all, opened and any(drawer.wide or not aside for drawer in above)
        cubes = 0.0 if asked else max(least_width(self.subject), (STAGE + 2 * (MARGIN + GROUND)) * staged)
        lifts = any(drawer.least_across <= self._output[0] for drawer in above)
        upright = max(_STAGED * lifts, _SINGLE * least_width(self.subject))
        for at_end in (panels and not asked and not self.controls.open, False):
            self.side.put_at_end(there=at_end)
            wanted = self.side.column.wanted_panels(spread=self.spread, inside=opened) if panels else []
            wanted = [*self.step_drawing.wanted_panels, *wanted]
            self.places = arrange(self._output, wanted, hud=shown and source.counted, strip=shown, keys=lined,
                                  time=timed, replayed=source.recorded, spread=self.spread, presenter=hall, rail=opened,
                                  words=opened or hands or speaks, cubes=cubes, upright=upright)  # fmt: skip
            if self.side.ending(self.places.scene[2]):
                break
        if self._narrow:
            self.places = narrowed(self.places)
        below = self.side.put_above(self.places.scene if shown else None, stage=staged or asked)
        if self.compared is not None:
            self.places = self.compared.place(self.places, shown)
        elif below is not None:
            self.places = replace(self.places, scene=below)

    def place_side(self) -> None:
        """Place the panels that the inspector does not cover."""
        inside = self.step_drawing.micro_step is not None  # the inspector describes whole steps
        self.interaction.column_taken = self.controls.open or inside
        if self.controls.has_place:
            hidden = [name for name in self.side.column.names if name not in self.controls.side]
            self.side.place(self.controls.side, hidden if self.panels_shown else (), self.controls.more, turns=False)
            return
        offered = self.side.column.names if self.panels_shown and "panels" not in self.left_out else ()
        there = {*self.places.panels, self.side.column.end}
        left_out = [name for name in offered if name not in there]
        covered = self.interaction.column(self.places) if self.panels_shown else None
        turns = len(left_out) < len(self.side.column.names) or self.places.yields
        self.side.place(uncovered(self.places, covered), left_out, self.places.more, turns=turns)

    def _make_views(self) -> None:
        """Create what depends on the layout. Another look only recolours it."""
        self._place_scenery(None)
        for view in self.views:
            last = view is self.views[-1]
            view.lay_out(self.layout, self.places, self.scale, single=last and self.scenery.flow is not None,
                       legends=last)  # fmt: skip
            view.strip.sizing = self.sizing
        self.slab, self.strip = self.views[-1].slab, self.views[-1].strip
        self._numbers, self._moving, self.overlays = list[Sketch](), list[Sketch](), ()
        self._time, self._on_cubes = list[Sketch](), list[Sketch]()

    def _place_scenery(self, before: Scenery | None) -> None:
        """Create what depends on the camera; with `before`, names stay on their side."""
        view = self._view
        view.stale = False
        moved, quantity = view.camera if view.moved else None, self.colouring.quantity
        scene, shown = self.places.scene, self.panels_shown
        left = (*scene[:2], scene[2] - self.side.ending(scene[2]), scene[3])
        self.scenery: Scenery = Scenery(self.subject, self.layout, self.theme, self.project, left, moved=moved,
                                        panels=shown, quantity=quantity, before=before)  # fmt: skip
        self.scenery.show_outcome(self.step_drawing.micro_step is None)
        self.side.swatch.box = self.scenery.swatch
        planned = self.spread and self.places.strip is not None
        among = self.side.among and shown
        self.side.set_settings(self._setting(planned=True) if planned else None, self._setting() if among else None)
        self.side.float_over(self.layout, self.project, scene if shown else None, self.scenery.reserved)
        self._write_static()

    def _setting(self, *, planned: bool = False) -> Setting:
        """Return where panels draw among the cubes: in the scene's own plan (`planned`), or anywhere."""
        window = window_of(self.places.scene, True, self.places.size)
        strip = self.places.strip or (0.0, self.places.size[1], 0.0, 0.0)
        plates = {plate.name: plate for plate in self.layout.plates}
        if planned:
            return Setting(self.scenery.blueprint, plates, self.project, window, strip)
        plates |= {spot.name: spot for spot in self.layout.spots}
        taken = self.scenery.reserved if self.layout.turns else self.scenery.words
        return Setting(None, plates, self.project, window, strip, self.layout.turns, taken)

    # ---- words that stay from frame to frame

    def lead_keys(self, key: str, words: str) -> None:
        """Put another key first in the line of keys, outside an opened step. A full line stays as long as it was."""
        self.keys = ((key, words), *self.keys[:-1][: MOST_KEYS - 2], *self.keys[-1:])
        self._write_static()

    def _write_static(self) -> None:
        y, wide = self.places.keys, self.places.scene[0] + self.places.scene[2] - 2 * MARGIN
        wide = wide if self.places.limit is None else min(wide, self.places.limit - MARGIN)
        if self.theme.presenter and self.places.more and self.side.column.left_out_line():  # both are in the margin
            wide = min(wide, self.places.more[0] - 2 * MARGIN)
        table = self.keys if self.step_drawing.micro_step is None else self.step_drawing.keys or self.keys
        self._key_line = [] if y is None else [keys(MARGIN, y, wide, self.theme, table)]
        self._static = [*self.scenery.static, *self._key_line]
        self.refresh()

    # ---- looks

    def set_look(
        self,
        *,
        quantity: str | None = None,
        cmap: str | None = None,
        theme: str | Theme | None = None,
        sizing: Sizing | None = None,
    ) -> None:
        """Change the quantity, the colour map (``""``: that of the quantity), the theme, and the size of the cubes.

        Raises
        ------
        UnknownNameError, InputError
            An unknown name, or a quantity that was not recorded; nothing is changed then.
        """
        if not self.colouring.opened:  # an opened step has its numbers, recorded or not
            check_kept(self.subject.source, quantity)
        look = self.theme if theme is None else presenting(theme, self.theme.presenter)
        name = self.cmap_name if cmap is None else cmap
        for view in self.views:
            view.change(look, quantity or self.colouring.quantity, name, sizing or self.sizing)
        self.cmap_name, self.sizing = name, sizing or self.sizing
        if look is not self.theme:
            self.theme = self.bar.theme = self.controls.theme = look
            self.side.change(look)
        self.scenery.change(look, self.colouring.quantity)
        self._write_static()

    def refresh(self) -> None:
        """Write words, numbers and cubes again at the next drawing."""
        self.text_pace.hurry()
        self._outdated = True

    def refit_range(self) -> None:
        """Fit the ranges of the colours to the next frame."""
        for view in self.views:
            view.refit()
        self.text_pace.hurry()

    def extent_of(self, index: int) -> float:
        """Return V of the weight at a flat index: its colour scale goes from -V to V when values are shown."""
        if self.colouring.quantity == "weight" or self._frame is None:
            return self.colouring.range.high
        return weight_extent(self._frame.values)

    @property
    def moving(self) -> bool:
        """True while the picture changes by itself: camera, colour ranges, or text that lags behind."""
        growing = self.colouring.growing or self.activations.growing or self.slab.own_version != LOOKS.version
        growing |= self.step_drawing.micro_step is None and self.side.counts
        return growing or self._view.gliding or self.text_pace.late or self.side.moving or self.step_drawing.moving

    # ---- frames

    @np.errstate(all="ignore")  # values may be infinite or NaN
    def update(self, frame: Frame, pace_text: str = "", seconds: float | None = None) -> None:
        """Take over one frame.

        Parameters
        ----------
        frame : Frame
            Its numbers are shown unchanged.
        pace_text : str
            The second line of the HUD: pace, true speed, engine.
        seconds : float, optional
            Time since the last update, on the viewer's clock; colour ranges grow slowly. None fits them to this frame.
        """
        frame = self.taken(frame)
        gone = time_jumped(self._frame, frame)  # then the colours take the range of that step
        by_hand = changed_by_hand(self._frame, frame) or (gone and not self.bar.running)
        waits = None if by_hand else seconds  # a change by hand is shown at once
        self._frame, self._pace, subject = frame, pace_text, self.subject
        self.bar.follow(subject, frame)
        self._view.tick(seconds)
        if self._view.stale:
            self._place_scenery(self.scenery)
        explained = self.step_drawing.micro_step is None  # inspector and HUD describe whole steps
        sizing = self.sizing if explained else ALL_ALIKE  # formulas need large faces
        range_values = self.step_drawing.range_values
        shown = [(frame, range_values, frame)] if self.compared is None else self.compared.shown(frame)
        for view, (one, whole, rows) in zip(self.views, shown, strict=True):
            if view.update(one, None if gone else seconds, sizing, whole, rows):
                self.text_pace.hurry()
        self.side.shared.extent = self.extent_of(0)
        self.step_drawing.paint()
        writes = self.text_pace.ready(waits)
        step, outside = self.step_drawing.opened_step, self.step_drawing.whole_step_frame(frame)
        self._moving = self.side.update(outside, seconds, writes=writes, inner=step)
        self.bar.ahead = self.side.shared.ahead
        self._time = self.bar.update(frame, writes=writes)
        if explained:
            self.interaction.follow(frame)
        room = explained and not self.interaction.below(self.places) and not self.side.takes_strip
        self.story.update(self.places, self.theme, bar=bool(self._time), free=room)
        self.side.strip_shown = self.story.beside is None
        small = None if self.slab.shares is None else Small(self.slab.shares, self.cube_at, self.slab.looks)
        # Numbers of the HUD's step; of an opened step those computed so far, except those that its texts write.
        written = self.side.shared.words_frame if explained else None
        fits = written is not None and written.values.shape == frame.values.shape
        rows = self.step_drawing.rows_frame(written if written is not None and fits else frame)
        light = self.step_drawing.row_light
        skip = self.step_drawing.written_cubes
        self._on_cubes = self.scenery.cubes(rows, self.colouring, self.activations, skip, small, light)
        if self.text_pace.due(frame, (pace_text, *self.side.headlines), waits):
            if explained:
                self.interaction.explain(frame)
            self._numbers = self._texts(frame, pace_text)
            self.layers.write(self.subject, frame, self.theme, self.places)
        self._outdated = False
        self._lay_over(frame, explained, seconds)

    def _lay_over(self, frame: Frame, explained: bool, seconds: float | None) -> None:
        """Make the overlays that depend on pointer and keys."""
        above = self.interaction.layers(frame)
        above[0] += self.step_drawing.overlay(seconds) + (self.layers.sketches if explained else [])
        above[1] += [*self.controls.label(self.places.size), *self.bar.label(self.places.size)]
        panel = self.controls.sketch()
        if panel is not None:
            above.insert(1, [panel, *(self._moving if self.controls.has_place else ())])
            self._moving = [] if self.controls.has_place else self._moving
        first = [self.side.floating(), [] if self.compared is None else self.compared.mark(frame)]
        self.overlays = [part for part in first if part] + above

    def _texts(self, frame: Frame, pace_text: str) -> list[Sketch]:
        """Return the words and numbers that change at the pace of text."""
        if self.compared is not None:
            return self.compared.texts(frame, pace_text)
        drawing, sketches = self.step_drawing, self.step_drawing.texts()
        marks = marks_on(self.slab, self.colouring, self.camera, self.density)
        if self.places.legend is not None and self.spread:
            sketches += self.strip.foot(self.places.legend, frame, marks, drawing.about)
        elif self.places.strip is not None and drawing.micro_step is None:
            selected, beside = self.selected if self.interaction.below(self.places) else None, self.story.beside
            purpose = self.subject.purpose if self.theme.presenter else ""
            said = caption_at_rest(self.subject, frame, f"{purpose} ".lstrip())
            sketches += self.strip.sketches(self.places.strip, frame, selected=selected, marks=marks, beside=beside,
                                            other=self.side.scale, asked=self._asked(),
                                            caption=said or purpose)  # fmt: skip
        loss, one = drawing.loss(frame), not drawing.mean
        sketches += self.scenery.around(frame, self.colouring, loss, drawing.reached, outcome=one)
        sketches.append(self.scenery.trouble(frame, [*self._static, *self._on_cubes, *sketches]))
        wrong = mistake_words(self.subject)
        if self.places.hud is None and wrong:
            sketches.append(mistake_line(self.places, self.theme, wrong))
        elif self.places.low and (wrong or self.scenery.unplaced):
            sketches.append(trouble_line(self.places, self.theme, [wrong, *self.scenery.unplaced]))
        if self.places.hud is not None:
            outside = drawing.micro_step is None
            second = "  ·  ".join([*filter(None, (wrong,)), *self.scenery.unplaced, pace_text])  # no room at the layer
            found = self.side.headlines if outside else ()  # of whole steps
            state = state_of(self.subject, frame, second, self.colouring.shows, found)
            about = "  ·  ".join(filter(None, (state.about, self.sizing.words() if outside else "")))
            alone = outside and self.story.beside is None and not (wrong or self.scenery.unplaced)
            purpose = self.subject.purpose if alone else ""
            x, y, wide, high = self.places.hud
            sketches.append(
                hud((x, y, wide, high), self.theme, drawing.hud_state(replace(state, about=about, purpose=purpose)))
            )
        return sketches

    def _asked(self) -> tuple[bool, bool]:
        """Return whether to show the legend of rows, and the formulas."""
        everything, touched = self.side.shared.shows_all, self.interaction.hovered is not None
        return everything or self._over_row, everything or touched

    # ---- drawing

    @property
    def full(self) -> bool:
        """True if panels are shown and no step is open."""
        return self.panels_shown and self.step_drawing.micro_step is None

    @property
    def parts(self) -> dict[str, Sequence[Sketch]]:
        """All flat sketches of the picture, by the part that renews them: labels, panels, time, numbers."""
        still = [*self.scenery.static, *self.story.sketches] if self.story.sketches else self._static
        beside = [*self.side.spread_out(), *self._moving]
        return {"still": still, "beside": beside, "time": self._time, "cubes": self._on_cubes, "numbers": self._numbers}

    @property
    def sketches(self) -> list[Sketch]:
        """All flat sketches but the overlays."""
        return [sketch for part in self.parts.values() for sketch in part]

    def renew(self) -> None:
        """Write words and numbers again if something has changed them since the last frame."""
        if (self._outdated or self._view.stale) and self._frame is not None:
            self.update(self._frame, self._pace, 0.0)

    @np.errstate(all="ignore")
    def draw(self, viewport: Viewport | None = None) -> None:
        """Paint the whole picture into the `viewport` of the bound framebuffer (default: `size` device pixels)."""
        self.renew()
        self.draw_below(viewport or self.size)
        self.painter.draw(self.sketches)
        for index, layer in enumerate(self.overlays):
            if layer:
                while len(self._above) <= index:
                    self._above.append(Painter(self.places.size, self.scale))
                self._above[index].draw(layer)

    @property
    def ground(self) -> tuple[str, str]:
        """Colours of the background: at the rim, and of the glow."""
        past = self._frame is not None and newest_beyond(self._frame) > 0
        return self.theme.background, self.theme.past if past else self.theme.glow

    def draw_below(self, viewport: Viewport) -> None:
        """Paint what is below texts and panels: the background and the cubes."""
        self.painter.background(*self.ground, viewport)
        for view in self.views:
            view.draw(self.camera, self.window, viewport)
        if self.compared is not None:
            gloo.set_viewport(*((0, 0, *viewport) if len(viewport) == 2 else viewport))

    # ---- pixels, points and the camera

    @property
    def scale(self) -> float:
        """Device pixels per logical pixel."""
        return self.places.scale * self._supersample

    @property
    def density(self) -> float:
        """Device pixels per pixel of the camera."""
        return self.size[0] / self.camera.size[0]

    def to_logical(self, at: Point) -> Point:
        """Return a point in device pixels as logical pixels."""
        return at[0] / self.scale, at[1] / self.scale

    def _to_camera(self, at: Point) -> Point:
        """Return a point in logical pixels as pixels of the camera."""
        return float(at[0] * self._ratio[0]), float(at[1] * self._ratio[1])

    def project(self, xyz: ArrayLike) -> NDArray[np.float64]:
        """Return world points (N, 3) as logical pixels (N, 2)."""
        return np.asarray(self._view.camera.project(xyz) / self._ratio)

    @property
    def window(self) -> Box:
        """The box of the cubes in logical pixels.

        A camera moved by hand must not draw them below the panels.
        """
        moved = self.compared is not None or (self._view.moved and self.panels_shown)
        return window_of(self.places.scene, moved, self.places.size)

    @property
    def viewpoint(self) -> Viewpoint:
        """The viewpoint of the scene. Draw again after moving it."""
        self._outdated = True
        return self._view

    @property
    def camera(self) -> Camera:
        """The camera of the cubes."""
        return self._view.camera

    def orbit(self, dx: float, dy: float) -> None:
        """Turn around the middle of the scene by a drag of device pixels."""
        self.hover(None)
        self._view.orbit(*self.to_logical((dx, dy)))

    def pan(self, dx: float, dy: float) -> None:
        """Shift the picture by device pixels."""
        self.hover(None)
        self._view.pan(*self._to_camera(self.to_logical((dx, dy))))

    def zoom(self, factor: float, at: Point) -> None:
        """Enlarge the picture around a point in device pixels."""
        self.hover(None)
        self._view.zoom(factor, self._to_camera(self._in_layout(at)))

    def fit_camera(self) -> None:
        """Glide back to the camera that shows everything; rotated panels turn back too."""
        self.hover(None)
        self._view.fit()
        self.side.fit()
        self._outdated = True

    # ---- pointer and selection

    def _in_layout(self, at: Point) -> Point:
        """Return a point in device pixels as logical pixels of the layout. The columns of a comparison map to one."""
        point = self.to_logical(at)
        return point if self.compared is None else self.compared.in_layout(point)

    def pick(self, at: Point) -> int | None:
        """Return the flat index of the weight or bias whose cube is under a point in device pixels, or None."""
        hit = self._hit(at)
        return None if hit is None else hit.flat

    def _hit(self, at: Point) -> Hit | None:
        point = self._in_layout(at)
        return self.cube_at(point) if contains(self.window, point) else None

    def cube_at(self, at: Point) -> Hit | None:
        """Return the cube under a point in logical pixels, or None."""
        return self._picker.pick(self.camera, self._to_camera(at), self.density, self.slab.shares)

    @property
    def spots(self) -> list[Spot]:
        """All spots that react to a pointer, the topmost last."""
        return [spot for layer in (self.sketches, *self.overlays) for sketch in layer for spot in sketch.spots]

    def spot_at(self, point: Point) -> Spot | None:
        """Return the topmost spot at a point in logical pixels, or None."""
        return spot_at(self.spots, point)

    def hover(self, at: Point | None) -> bool:
        """Put the pointer at a point in device pixels (None: gone); return whether the picture changes."""
        point = None if at is None else self.to_logical(at)
        over = point is not None and (self.spot_at(point) is not None or self.side.covers(point))
        hit = None if at is None or over else self._hit(at)
        index, before = None if hit is None else hit.flat, (self._asked(), self.side.scale)
        beside = self.side.hover(point if index is None else None) | self.bar.hover(point)
        changed = self.interaction.hover(index, point or (0.0, 0.0)) or beside
        self._over_row = hit is not None and index is None
        self._point()
        self._outdated |= changed
        if before != (self._asked(), self.side.scale):
            self.refresh()
            changed = True
        return changed

    def _point(self) -> None:
        """Tell the panels which number is hovered or selected."""
        self.side.shared.pointed = self.selected if self.interaction.hovered is None else self.interaction.hovered

    def click(self, at: Point, *, shift: bool = False) -> bool:
        """Click a panel, or else select the cube at a point in device pixels; return whether something changed."""
        point, self._outdated = self.to_logical(at), True
        spot = self.spot_at(point)
        name = "" if spot is None else spot.name
        if name == MORE:
            self.side.column.turn_page()
            self.lay_out()
        elif not (self.step_drawing.click(point) or self.side.click(point, shift=shift) or self.side.covers(point)):
            if name != NEXT:
                index, before = self.pick(at), self.selected
                self.select(index)
                return index is not None or before is not None
            self.side.swatch.choose_next()
        return True

    def let_go(self) -> bool:
        """Deselect, close the table of layers and stop what a panel began; return whether there was something."""
        there = self.layers.close() or self.side.let_go() or self.selected is not None
        self.select(None)
        self._outdated |= there
        return there

    @property
    def selected(self) -> int | None:
        """Flat index of the weight in the inspector, or on the card of a comparison."""
        return None if self.interaction.selection is None else self.interaction.selection.main

    def select(self, selection: Selection | int | None) -> None:
        """Open the inspector for a weight by its flat index, or for several; None closes it."""
        selection = None if "inspector" in self.left_out else selection
        if self.interaction.select(selection, self._frame):
            self._point()
            self.place_side()
            self.refresh()
