"""`SidePanels`: all panels of one picture, with their places, updates and pointer events, for any kind of panel.

`Column` decides which panels want the side column. `InputSwatch` is the colour swatch of the probe sample.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...errors import InputError, UnknownNameError, listing
from ...run.core.frame import Frame
from ...run.panels import Beside, Panel
from ...run.source import Moment
from ..cubes.scale import LegendScale
from ..ink.boxes import (
    ABOUT,
    COLUMN,
    GAP,
    GROUND,
    HALL_COLUMN,
    LABEL,
    MARGIN,
    WantedPanel,
    beside_box,
    corner_boxes,
    top_boxes,
)
from ..ink.sketch import Box, Point, Sketch, contains
from ..ink.text import measure
from ..ink.theme import Theme, hexed
from ..ink.widgets import tip
from ..panels.drawer import Drawer, Headline, OpenedStep, Setting, SharedState, sentence
from ..panels.registry import drawer_of
from ..shown.subject import Subject
from ..space.chain import Turns
from ..space.layout import Layout

_ENDS = 1.7
"""Least width of a scene, in multiples of a panel at the end of its network."""


Project = Callable[[ArrayLike], NDArray[np.float64]]
TELLS = ABOUT - 1
"""Worth of a panel that shows an opened step, while there is one."""
MORE, NEXT = "more panels", "next sample"  # spots: the line that turns the column's page, and the swatch


class SidePanels:
    """The panels of one subject; `place` sets their boxes, `update` draws them for a frame.

    It is one concept: which panel stands where now. What a panel shows is its drawer's.
    """

    def __init__(self, subject: Subject, theme: Theme, *, hints: bool = False) -> None:
        self.shared = SharedState(subject, theme, hints)  # state shared by the drawers
        self.drawers: dict[str, Drawer[Any]] = {}  # by name, in the order of the scene
        for panel in subject.panels:
            self._add_drawer(panel)
        self._check_places()
        self.column, self.swatch = Column(self.drawers, self.shared), InputSwatch(self.shared)
        self._above: dict[str, Box] = {}
        self.unplaced: tuple[str, ...] = ()  # panels without room above the cubes
        self._drawn: dict[str, Sequence[Sketch]] = {}
        self._around: dict[str, tuple[Sequence[Sketch], Sequence[Sketch]]] = {}  # among the cubes, and in the strip
        self.strip_shown = True  # whether the panels' part of the strip is visible and clickable
        self.unseen: frozenset[str] = frozenset()  # panels out of sight: they measure, but draw nothing
        self.frame: Frame | None = None  # the frame drawn last
        self._over: str | None = None  # the panel under the pointer
        self._held: str | None = None  # the panel under the pressed button

    def _check_places(self) -> None:
        """Raise an error for a stage or unit that the network lacks, or a panel too large to stand beside one."""
        subject = self.shared.subject
        sizes = {"input": subject.source.n_inputs, **{stage.name: stage.outputs for stage in subject.stages}}
        small = sorted({d.name for d in self.drawers.values() if d.beside is not None} | {"image", "table"})
        for name, drawer in self.drawers.items():
            place = drawer.panel.place
            if not isinstance(place, Beside):
                continue
            if place.stage not in sizes:
                raise UnknownNameError(f"panel {name}: there is no stage {place.stage!r}; allowed: {listing(sizes)}")
            most = sizes[place.stage] - 1
            if place.unit is not None and not 0 <= place.unit <= most:
                raise InputError(f"panel {name}: stage {place.stage!r} has no unit {place.unit}; allowed: 0 to {most}")
            if drawer.beside is None:
                raise InputError(f"panel {name}: this kind has no place beside a stage; allowed: {listing(small)}")

    def _add_drawer(self, panel: Panel) -> str:
        """Add a drawer for a panel; return its name."""
        drawer = drawer_of(panel, self.shared)
        count = sum(isinstance(d, type(drawer)) for d in self.drawers.values())
        name = f"{drawer.name} {count + 1}" if count else drawer.name
        self.drawers[name] = drawer
        return name

    def keep(self, before: SidePanels) -> None:
        """Take over settings and measurements of the same panels from an earlier picture."""
        shared = before.shared
        self.shared.probes, self.shared.ahead, self.shared.shows_all = shared.probes, shared.ahead, shared.shows_all
        self.column.keep(before.column)
        for name, drawer in self.drawers.items():
            if type(before.drawers.get(name)) is type(drawer):
                drawer.keep(before.drawers[name])

    def add(self, panel: Panel) -> None:
        """Add a panel to the column; lay out again afterwards."""
        self.column.names.append(self._add_drawer(panel))

    def drawer(self, kind: type[Panel]) -> Drawer[Any] | None:
        """Return the first drawer whose panel is of a kind, or None."""
        return next((d for d in self.drawers.values() if isinstance(d.panel, kind)), None)

    # ---- places

    @property
    def spreads(self) -> bool:
        """True if a panel of the column can draw among the cubes of a planned picture."""
        return any(self.drawers[name].spread is not None for name in self.column.names)

    def place(
        self, boxes: Mapping[str, Box], left_out: Sequence[str] = (), more: Box | None = None, *, turns: bool = True
    ) -> None:
        """Set the boxes of the column's panels; a line at `more` counts the panels `left_out`; see `Column`."""
        self.column.set_left_out(left_out, more, turns=turns)
        for name in self.column.names:
            if name != self.column.end:
                self._set_box(name, boxes.get(name))

    def put_above(self, scene: Box | None, *, stage: bool = False, foot: float = 0.0) -> Box | None:
        """Place the panels above the cubes in a scene; return the rest.

        `stage`: they are the main picture. `foot` pixels at the foot of each stay free.
        """
        self._above, self.unplaced = {}, ()
        if scene is None:
            return None
        wanted = {name: (d.above, stage or d.first) for name, d in self.drawers.items() if d.panel.place == "above"}
        fitting = {name: one for name, one in wanted.items() if self.drawers[name].least_across <= scene[2]}
        self._above, rest = top_boxes(fitting, scene, stage=stage)
        self.unplaced = tuple(name for name in wanted if name not in self._above)
        for name in wanted:
            box = self._above.get(name)
            self._set_box(name, box and (*box[:3], box[3] - foot))
        return rest

    def put_at_end(self, *, there: bool) -> None:
        """Choose the panel at the end of the network, instead of in the column."""
        ending = (name for name in self.column.names if self.drawers[name].ends)
        self.column.end = next(ending, "") if there else ""

    def ending(self, width: float) -> float:
        """Return the width (logical pixels) of the panel at the end of the network, 0 in a scene that is too narrow."""
        wide, _ = (self.column.end and self.drawers[self.column.end].ends) or (0.0, 0.0)
        return wide if width >= _ENDS * wide else 0.0

    def _end_box(self, layout: Layout, project: Project, scene: Box) -> Box | None:
        """Return the box at the end of the network, level with the last plate's foot if it fits there."""
        (x, y, width, height), wide = scene, self.ending(scene[2])
        high = min((self.drawers[self.column.end].ends or (0.0, 0.0))[1], height)
        foot = float(project(layout.plates[-1].corners)[:, 1].max())
        return (x + width - wide, min(max(foot, y + high), y + height) - high, wide - MARGIN, high) if wide else None

    def float_over(self, layout: Layout, project: Project, scene: Box | None, taken: Sequence[Box] = ()) -> None:
        """Place the panels over the scene where there is room (None: nowhere); call again when the camera moves.

        Panels beside a stage avoid the boxes that are `taken`.
        """
        boxes: dict[str, Box] = {}
        if self.column.end:
            self._set_box(self.column.end, None if scene is None else self._end_box(layout, project, scene))
        if scene is not None and len(self.column.names) < len(self.drawers):
            over = [(name, d) for name, d in self.drawers.items() if d.panel.place == "overlay"]
            sizes = {name: (d.overlay[0], d.overlay[1] or d.height) for name, d in over}
            boxes = self._above | corner_boxes(sizes, scene)
            for name, drawer in self.drawers.items():
                place = drawer.panel.place
                ends = _ends(place, layout, project) if isinstance(place, Beside) else None
                if ends is not None and drawer.beside is not None:
                    free = beside_box(ends, drawer.beside, scene, [*taken, *boxes.values()])
                    boxes |= {} if free is None else {name: free}
        for name, drawer in self.drawers.items():
            if name not in self.column.names and not drawer.panel.among and drawer.box != boxes.get(name):
                self._set_box(name, boxes.get(name))

    def set_settings(self, setting: Setting | None, among: Setting | None = None) -> None:
        """Let panels draw among the cubes: `setting` for planned pictures, `among` for any cubes.

        None ends it.
        """
        self._around.clear()
        for drawer in self.drawers.values():
            if drawer.spread is not None:
                drawer.setting, drawer.stale = setting, True
            elif drawer.panel.among or drawer.ends:
                drawer.setting, drawer.stale = among, True

    @property
    def among(self) -> bool:
        """True if a panel draws among any cubes."""
        return any(drawer.panel.among or drawer.ends is not None for drawer in self.drawers.values())

    def turns(self, width: float, height: float, *, rows: bool) -> Turns | None:
        """Return how the layers turn for panels among the cubes, or None if no panel wants that."""
        left = sum(drawer.beside_cubes(width, height) for drawer in self.drawers.values())
        return Turns(0.0 if rows else left, rows) if any(drawer.turns for drawer in self.drawers.values()) else None

    @property
    def scale(self) -> LegendScale | None:
        """The second legend: that of the hovered panel, or of any panel while all are shown."""
        there = {name: d for name, d in self.drawers.items() if d.box is not None or d.setting is not None}
        scales = (d.scale for name, d in there.items() if self.shared.shows_all or name == self._over)
        return next((scale for scale in scales if scale is not None), None)

    def _set_box(self, name: str, box: Box | None) -> None:
        drawer = self.drawers[name]
        drawer.box, drawer.stale = box, True
        self._drawn.pop(name, None)
        if box is not None:
            drawer.lay_out(box)
        elif name == self._over:
            drawer.hover(None)
            self._over = None

    def change(self, theme: Theme) -> None:
        """Change the theme; measurements stay."""
        self.shared.theme = theme
        for name, drawer in self.drawers.items():
            self._set_box(name, drawer.box)

    # ---- drawing

    @property
    def moving(self) -> bool:
        """True if a panel changes while the frame stays, or its text is of an older frame."""
        there = [d for d in self.drawers.values() if d.box is not None or d.setting is not None]
        return any(self.shared.words_late or d.moving for d in there)

    @property
    def counts(self) -> bool:
        """True if a panel without a place is still computing its number."""
        return any(d.moving for d in self.drawers.values() if d.box is None and d.measures)

    @property
    def headlines(self) -> list[Headline]:
        """Numbers that the HUD shows too."""
        found = (d.headline for d in self.drawers.values() if d.box is not None or d.measures)
        return [headline for headline in found if headline is not None]

    def _drawer_at(self, name: str, moment: Moment) -> Drawer[Any]:
        """Return the drawer of a panel at a moment; if the panel itself changed, a new drawer in the same place."""
        drawer = self.drawers[name]
        panel = drawer.panel if drawer.panel.at is None else drawer.panel.at(moment)
        if panel is drawer.panel:
            return drawer
        other = self.drawers[name] = drawer_of(panel, self.shared)
        other.keep(drawer)
        other.setting = drawer.setting
        self._set_box(name, drawer.box)
        self._around.pop(name, None)
        return other

    def update(
        self, frame: Frame, seconds: float | None = None, *, writes: bool = True, inner: OpenedStep | None = None
    ) -> list[Sketch]:
        """Return the column's sketches for this frame; panels with unchanged numbers keep theirs.

        Panels that can show the opened step `inner` do so.
        """
        anew = self.shared.set_opened_step(inner) or frame is not self.frame or self.shared.words_late
        self.shared.follow(frame, writes=writes)
        moment = Moment(frame, self.shared.subject.source)
        for name in tuple(self.drawers):
            drawer = self._drawer_at(name, moment)
            if not drawer.alive:
                continue
            there = name in (self._drawn if drawer.setting is None else self._around)
            there &= name in self.unseen or bool(self._drawn.get(name)) or drawer.box is None
            within = drawer.box is not None and 0 < drawer.within <= drawer.box[3] + GAP / 2
            old, setting = anew or drawer.stale or drawer.moving or not there, drawer.setting
            drawer.stale &= not old
            if old and setting is not None:
                drawer.look(moment, seconds)
                self._around[name] = drawer.around(setting), drawer.below(setting.strip)
            told = drawer.inside(inner, drawer.box) if inner is not None and drawer.box is not None and within else ()
            if told:
                self._drawn[name], drawer.stale = told, drawer.stale or setting is None
            elif old:
                if setting is None:
                    drawer.look(moment, seconds)
                self._drawn[name] = self._draw(drawer, moment, seconds, seen=name not in self.unseen)
        self.frame = frame
        drawn = (sketch for name in self.column.names for sketch in self._drawn.get(name, ()))
        return [*drawn, *self.column.left_out_line()]

    def set_unseen(self, names: frozenset[str]) -> None:
        """Set which panels are out of sight; panels that return are drawn with the next frame."""
        for name in self.unseen - names:
            self.drawers[name].stale = True
        self._drawn |= dict.fromkeys(names, ())
        self.unseen = names

    def drawn(self, name: str) -> Sequence[Sketch]:
        """Return the last sketches of a panel in its place."""
        return self._drawn.get(name, ())

    def spread_out(self) -> list[Sketch]:
        """Return the sketches among the cubes and in the strip."""
        parts = self._around.values()
        return [sketch for around, below in parts for sketch in (*around, *(below if self.strip_shown else ()))]

    def floating(self) -> list[Sketch]:
        """Return the sketches of the panels over the scene, each with a background."""
        found: list[Sketch] = []
        for name, drawer in self.drawers.items():
            if name not in self.column.names and drawer.box is not None:
                ground, (x, y, width, height) = Sketch(), drawer.box
                box = (x - GROUND, y - GROUND, width + 2 * GROUND, height + 2 * GROUND)
                theme = self.shared.theme
                ground.rect(*box, fill=theme.panel, stroke=theme.border, radius=6)
                found += [ground, *self._drawn.get(name, ())]
        return found

    def _draw(self, drawer: Drawer[Any], moment: Moment, seconds: float | None, *, seen: bool) -> Sequence[Sketch]:
        if drawer.box is None or not seen:
            drawer.measure(moment, seconds)
            return ()
        theme, source = self.shared.theme, moment.source
        lacking = [need for need in drawer.needs if not getattr(source.can, need)]
        if lacking:
            return [sentence(drawer.box, theme, f"{drawer.name}: {source.what} cannot {lacking[0]}")]
        return drawer.draw(moment, drawer.box, seconds)

    def marks(self) -> list[Sketch]:
        """Return the marks over the panels."""
        drawers = (drawer for drawer in self.drawers.values() if drawer.box is not None)
        return [sketch for drawer in drawers for sketch in drawer.marks()]

    def label(self, frame: Frame, size: tuple[float, float]) -> list[Sketch]:
        """Return the labels beside the pointer."""
        moment, found = Moment(frame, self.shared.subject.source), self.swatch.label(self.shared.theme, size)
        return [*(() if self._over is None else self.drawers[self._over].label(moment, size)), *found]

    # ---- pointer, in logical pixels, and keys

    @property
    def gestures(self) -> tuple[tuple[str, str], ...]:
        """Keys and gestures of all panels, each once."""
        every = list(self.drawers.values())
        found = [line for drawer in every for line in drawer.gestures]
        found += [line for drawer in every for line in drawer.choices if self.shared.can_choose()]
        found += [line for drawer in every for line in drawer.lessons if self.shared.can_teach]
        return tuple(dict.fromkeys(found))

    def panel_at(self, point: Point) -> str | None:
        """Return the panel under a point, or None; panels over the scene come first."""
        for name in sorted(self.drawers, key=lambda n: n in self.column.names):
            if contains(self.drawers[name].box, point, 0.0 if name in self.column.names else GROUND):
                return name
        return next((name for name, d in self.drawers.items() if self._drawn_at(d, point)), None)

    def _drawn_at(self, drawer: Drawer[Any], point: Point) -> bool:
        """Return whether a panel's drawing among the cubes or in the strip is visible at a point."""
        setting = drawer.setting
        return setting is not None and (self.strip_shown or point[1] < setting.strip[1]) and drawer.covers(point)

    def covers(self, point: Point) -> bool:
        """Return whether a panel covers the scene at a point."""
        name = self.panel_at(point)
        return name is not None and (name not in self.column.names or self._drawn_at(self.drawers[name], point))

    def hover(self, point: Point | None) -> bool:
        """Handle the pointer at a point (None: gone, or over a cube); return whether the picture changes."""
        name = None if point is None else self.panel_at(point)
        changed = self.swatch.hover(point)
        if self._over is not None and self._over != name:
            changed |= self.drawers[self._over].hover(None)
        self._over = name
        return (name is not None and self.drawers[name].hover(point)) or changed

    def press(self, point: Point | None, button: str) -> bool:
        """Handle a button press (None: not for panels); return whether a panel takes the pointer until release."""
        self._held = None if point is None else self.panel_at(point)
        return point is not None and self._held is not None and self.drawers[self._held].press(point, button)

    def drag(self, point: Point, by: Point, button: str) -> bool:
        """Handle a drag; return whether the pressed panel takes it."""
        return self._held is not None and self.drawers[self._held].drag(point, by, button)

    def release(self, point: Point) -> None:
        """Handle a release after a press that a panel took."""
        if self._held is not None:
            self.drawers[self._held].release(point)
        self._held = None

    def click(self, point: Point, *, shift: bool = False) -> bool:
        """Handle a click; return whether a panel used it."""
        name = self.panel_at(point)
        for other, drawer in self.drawers.items():
            if other != name and drawer.typing:
                drawer.end_typing()
        if name is None:
            return False
        drawer = self.drawers[name]
        return drawer.shift_click(point) if shift else drawer.click(point)

    def double_click(self, point: Point) -> bool:
        """Handle a double click; return whether it differs from a click."""
        name = self.panel_at(point)
        return name is not None and self.drawers[name].double_click(point)

    def zoom(self, point: Point, factor: float) -> bool:
        """Handle the wheel; return whether a panel used it."""
        name = self.panel_at(point)
        return name is not None and self.drawers[name].zoom(point, factor)

    def key(self, name: str, text: str) -> bool:
        """Handle a key; return whether the panel being typed into, or the hovered one, used it."""
        if any(drawer.typing and drawer.key(name, text) for drawer in self.drawers.values()):
            return True
        return self._over is not None and self.drawers[self._over].key(name, text)

    @property
    def typing(self) -> bool:
        """True while the user types into a panel."""
        return any(drawer.typing for drawer in self.drawers.values())

    @property
    def takes_strip(self) -> bool:
        """True if a panel needs the strip."""
        return any(drawer.takes_strip for drawer in self.drawers.values())

    def open_picture(self, picture: NDArray[np.floating]) -> str | None:
        """Pass an opened picture to the first panel that uses it; return the panel's message, or None."""
        return next((said for d in self.drawers.values() if (said := d.take(picture)) is not None), None)

    def let_go(self) -> bool:
        """Handle Escape; return whether a panel cancelled something."""
        there = [drawer.let_go() for drawer in self.drawers.values()]  # call all of them, not only up to the first
        return any(there)

    def fit(self) -> None:
        """Restore the first view of all panels."""
        for drawer in self.drawers.values():
            drawer.fit()


def _ends(place: Beside, layout: Layout, project: Project) -> NDArray[np.float64] | None:
    """Return the leftmost and rightmost pixel of a row or of one cube, shape (2, 2); None if it is not drawn."""
    plate = layout.activation(place.stage)
    if plate is None:
        return None
    corners = project(plate.corners if place.unit is None else plate.corners_of(place.unit))
    return np.asarray(corners[[np.argmin(corners[:, 0]), np.argmax(corners[:, 0])]])


class Column:
    """The panels of the column. A line counts those without room; a click on it shows them first."""

    def __init__(self, drawers: Mapping[str, Drawer[Any]], shared: SharedState) -> None:
        self._drawers, self._shared = drawers, shared
        self.names = [name for name, drawer in drawers.items() if drawer.panel.place == "column"]  # in page order
        self._taken_in: tuple[str, ...] = ()
        self.end = ""  # the panel at the end of the network
        self._alone = False  # whether a page has room for one panel only
        self._left_out: tuple[str, ...] = ()
        self._more: Box | None = None
        self._turns = False

    def keep(self, before: Column) -> None:
        """Take over the page of an earlier column with the same panels."""
        if sorted(before.names) == sorted(self.names):
            self.names, self._alone = before.names, before._alone

    def wanted_panels(self, *, spread: bool = False, inside: bool = False) -> list[WantedPanel]:
        """Return the wanted panels, those of this page first; with `spread`, some may draw among the cubes.

        Normally these are the panel that best shows what is learnt, and the loss; `inside` an opened step, also the
        panels that show it. A presenter has those of some worth, small rather than left out, and no loss. Another page
        has all panels with equal worth; if only one has room, it has the most.
        """
        hall = self._shared.theme.presenter and not self._shared.shows_all

        def wanted(name: str, d: Drawer[Any]) -> WantedPanel:
            after = name in self._taken_in and not d.first  # after the column's own panels
            worth = min(d.worth, ABOUT) if after else d.worth
            if self._shared.shows_all:
                worth = ABOUT if self._alone and name == self.names[0] else 0
            elif inside and d.within > 0:
                worth = max(worth, TELLS)
            first = d.first or (inside and d.within > 0)
            if hall and d.aspect:  # a recorded picture, which is scaled as a whole
                height, most = (d.height + (wide - COLUMN) / d.aspect for wide in (d.narrowest, HALL_COLUMN))
                return WantedPanel(name, min(height, most), most, worth, first, d.wide)
            height = (d.spread if spread else None) or d.height
            height = max(height, d.within) if spread and inside and d.spread else height
            if (hall or (spread and inside and not d.within)) and d.most > height:  # shrink it rather than drop it
                height = d.least or height
            return WantedPanel(name, height, d.most, worth, first, d.wide, d.least, d.aspect, d.narrowest)

        every = [wanted(name, self._drawers[name]) for name in self.names if name != self.end]
        least = min(ABOUT, max((panel.worth for panel in every), default=0))
        if hall and least:
            return [panel for panel in every if panel.worth >= TELLS]
        least = min(least, TELLS) if inside else least
        return every if self._shared.shows_all else [panel for panel in every if panel.worth >= least or panel.first]

    def smaller(self) -> list[WantedPanel]:
        """Return the same panels at their smallest readable size, for a place beside the controls.

        First comes the panel that shows the answer, so that a control's effect is visible; then panels that always
        stay.
        """
        drawers = [(panel.name, self._drawers[panel.name]) for panel in self.wanted_panels()]
        drawers.sort(key=lambda one: (one[1].worth < ABOUT, not one[1].first))
        return [WantedPanel(name, d.least or d.height, max(d.most, d.height), d.worth, d.first) for name, d in drawers]

    def take_in(self, names: Sequence[str]) -> bool:
        """Take in panels from other places, at the end; return whether they are new."""
        if tuple(names) == self._taken_in:
            return False
        own = [name for name in self.names if name not in self._taken_in]
        self.names, self._taken_in = [*own, *names], tuple(names)
        return True

    def rest(self) -> None:
        """Restore the first page."""
        order = list(self._drawers)
        self.names.sort(key=lambda name: (name in self._taken_in, order.index(name)))
        self._shared.shows_all = self._alone = False

    def set_left_out(self, names: Sequence[str], more: Box | None, *, turns: bool) -> None:
        """Set the panels without room, and the box `more` of their line; `turns`: a click turns the page."""
        self._left_out, self._more = tuple(names), more
        self._turns = turns and self._shared.hints
        if not self._shared.hints:  # no clicks here: count only wanted panels
            rest = {panel.name for panel in self.wanted_panels()}
            self._left_out = tuple(name for name in names if name in rest)

    def left_out_line(self) -> list[Sketch]:
        """Return the line that counts the panels without room."""
        theme = self._shared.theme
        back = self._shared.shows_all and self._turns
        if not (self._left_out or back) or self._more is None or (theme.presenter and not self._turns):
            return []
        sketch, count, (x, y, wide, height) = Sketch(over=True), len(self._left_out), self._more
        none = count == len(self.names)
        after = " (click)" if self._turns else " in a larger picture" if none or self._shared.hints else ""
        short = f"+{count} panel{'s' if count > 1 else ''}" if count else "fewer panels"
        line = short + after if measure(short + after, LABEL) <= wide else short
        own = measure(line, LABEL)
        sketch.rect(x - 4, y, own + 8, height, fill=theme.background, radius=4)  # a photograph may be below it
        sketch.text(x, y + height - 4, line, LABEL, theme.text2)
        if self._turns or not self._shared.hints:  # a page has them below its picture
            sketch.spot((x, y, own, height), MORE, words="show the other panels")
        return [sketch]

    def turn_page(self) -> None:
        """Show the panels without room first, or the next one if there is room for one; lay out again afterwards.

        Once all were shown, the next page is the first again.
        """
        if self._shared.shows_all and not self._left_out:
            self.rest()
            return
        self._shared.shows_all, self._alone = True, len(self.names) - len(self._left_out) <= 1
        fixed = [name for name in self.names if self._alone or not self._drawers[name].first]
        turned = iter(sorted(fixed, key=lambda name: name not in self._left_out))
        self.names = [next(turned) if name in fixed else name for name in self.names if name != self.end]


class InputSwatch:
    """The swatch of the probe sample: it has a tooltip, and a click chooses the next sample."""

    def __init__(self, shared: SharedState) -> None:
        self._shared = shared
        self.box: Box | None = None  # its box; None if it is not drawn
        self._shown: tuple[int, int] | None = None  # index of the chosen sample, and number of the choice
        self._pointer: Point | None = None

    def hover(self, at: Point | None) -> bool:
        """Handle the pointer at a point (None: elsewhere); return whether the picture changes."""
        before, self._pointer = self._pointer, at if contains(self.box, at) else None
        return before != self._pointer

    def choose_next(self) -> None:
        """Choose the next sample of the data."""
        source = self._shared.subject.source
        assert source.facts is not None  # otherwise there is no spot
        number = 0 if self._shown is None else (self._shown[0] + 1) % source.facts.samples
        self._shared.choose_by(lambda: source.sample(number))
        self._shown = number, self._shared.choices

    def label(self, theme: Theme, size: tuple[float, float]) -> list[Sketch]:
        """Return the clickable swatch, and its tooltip: the colour, the sample's number, and what a click does."""
        probe, source, sketch = self._shared.subject.probe, self._shared.subject.source, Sketch()
        if self.box is None or probe is None:
            return []
        chooses, facts = self._shared.can_choose(3), source.facts
        if chooses and facts is not None:
            sketch.spot(self.box, NEXT)
        if self._pointer is None:
            return [sketch]
        x, y, width, height = self.box
        sketch.rect(x - 2, y - 2, width + 4, height + 4, radius=7, stroke=theme.selection, border=1.6)
        number, more, said = None, list[str](), ""
        if self._shown is not None and self._shown[1] == self._shared.choices:  # otherwise it was chosen elsewhere
            number = self._shown[0]
        if facts is not None and chooses:
            more.append(f"click: {'one' if number is None else 'the next'} of the {facts.samples:,} samples")
        elif source.recorded:
            more.append("only this sample was recorded")
        if facts is not None and number is not None:
            said = f"sample {number + 1:,} of {facts.samples:,}"
        return [sketch, tip(self._pointer, size, hexed(np.ravel(probe)), said, more, theme)]
