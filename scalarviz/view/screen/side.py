"""`SidePanels`: all panels of one picture. Knows places, moments and hands, and no kind of panel."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ...run.core.frame import Frame
from ...run.panels import Panel
from ...run.source import Moment
from ..cubes.scale import LegendScale
from ..ink.places import GAP
from ..ink.sketch import Box, Sketch, holds
from ..ink.theme import Theme
from ..panels.drawer import Drawer, Ground, Headline, Inner, Point, Setting, sentence, words_of
from ..panels.registry import drawer_of, is_own
from ..shown.subject import Subject
from ..space.layout import Layout
from ..space.lying import Turns
from .floating import GROUND_MARGIN, Column, Project, above_boxes, backed, beside_boxes, check_places, overlay_boxes

Kind = TypeVar("Kind", bound=Panel)


class SidePanels:
    """The panels of one subject; `place` says where, `update` draws them for a frame.

    Attributes
    ----------
    ground : Ground
        What the drawers share.
    drawers : dict of str to Drawer
        By name, in the order of the scene.
    column : Column
        Those of the side column.
    written : Frame or None
        The one that words and numbers of panels are of; between two of them cubes and pictures may be newer.
    strip_shown : bool
        Whether what panels draw in the strip is to be seen, and touched.
    unseen : frozenset of str
        Panels that have a place where nobody looks: they measure what they would, and draw nothing.
    """

    def __init__(self, subject: Subject, theme: Theme, *, hints: bool = False) -> None:
        self.ground = Ground(subject, theme, hints)
        self.drawers: dict[str, Drawer[Any]] = {}
        for panel in subject.panels:
            self._take(panel)
        check_places(subject, self.drawers)
        self.column = Column(self.drawers, self.ground)
        self._above: dict[str, Box] = {}
        self._homeless: tuple[str, ...] = ()  # those without room above the cubes
        self._drawn: dict[str, Sequence[Sketch]] = {}
        self._around: dict[str, tuple[Sequence[Sketch], Sequence[Sketch]]] = {}  # among the cubes, and in the strip
        self.strip_shown = True
        self.unseen: frozenset[str] = frozenset()
        self._frame: Frame | None = None
        self.written: Frame | None = None
        self._over: str | None = None  # the panel under the pointer
        self._held: str | None = None  # the panel that a button went down on

    def _take(self, panel: Panel) -> str:
        """Give a panel its drawer; returns the name under which it is kept."""
        drawer = drawer_of(panel, self.ground)
        count = sum(isinstance(d, type(drawer)) for d in self.drawers.values())
        name = f"{drawer.name} {count + 1}" if count else drawer.name
        self.drawers[name] = drawer
        return name

    def keep(self, before: SidePanels) -> None:
        """What hands have set at the same panels of a picture before, and what they have measured."""
        self.ground.probes = before.ground.probes
        for name, drawer in self.drawers.items():
            if type(before.drawers.get(name)) is type(drawer):
                drawer.keep(before.drawers[name])

    def add(self, panel: Panel) -> None:
        """One more panel in the column; lay out again after it."""
        self.column.names.append(self._take(panel))

    def drawer(self, kind: type[Panel]) -> Drawer[Any] | None:
        """The first drawer whose panel is of a kind; None without one."""
        return next((d for d in self.drawers.values() if isinstance(d.panel, kind)), None)

    # ---- where

    @property
    def spreads(self) -> bool:
        """Whether a panel of the column can draw among the cubes of a planned picture."""
        return any(self.drawers[name].spread is not None for name in self.column)

    def place(self, boxes: Mapping[str, Box], left_out: Sequence[str] = (), more: Box | None = None) -> None:
        """Put the panels of the column into `boxes`; of those `left_out` a line at `more` tells."""
        self.column.leave_out(left_out, more)
        for name in self.column:
            self._put(name, boxes.get(name))

    def put_above(self, scene: Box | None) -> Box | None:
        """Give the panels above the cubes their part of a scene; returns the rest of it."""
        self._above, rest = ({}, None) if scene is None else above_boxes(self.drawers, scene)
        self._homeless = () if scene is None else tuple(
            name for name, drawer in self.drawers.items() if drawer.panel.place == "above" and name not in self._above
        )  # fmt: skip
        return rest

    def lodge(self) -> bool:
        """Give those without room above the cubes a place in the column; returns whether that is to be laid out anew.

        Others that were there have their own place again.
        """
        return self.column.lodge(self._homeless)

    def float_over(self, layout: Layout, project: Project, scene: Box | None, taken: Sequence[Box] = ()) -> None:
        """Put the panels over the scene (None: nowhere) where there is room; called again when the camera moves.

        Those beside a stage keep off the boxes that are `taken`.
        """
        boxes: dict[str, Box] = {}
        if scene is not None and len(self.column) < len(self.drawers):
            boxes = self._above | overlay_boxes(self.drawers, scene)
            boxes |= beside_boxes(self.drawers, layout, project, scene, [*boxes.values(), *taken])
        for name, drawer in self.drawers.items():
            if name not in self.column and not drawer.panel.among and drawer.box != boxes.get(name):
                self._put(name, boxes.get(name))

    def stand(self, setting: Setting | None, among: Setting | None = None) -> None:
        """Panels that can draw among the cubes of a plan do so from now on, those of any cubes `among` them.

        None: no longer.
        """
        self._around.clear()
        for drawer in self.drawers.values():
            if drawer.spread is not None:
                drawer.setting, drawer.stale = setting, True
            elif drawer.panel.among:
                drawer.setting, drawer.stale = among, True

    @property
    def among(self) -> bool:
        """Whether a panel draws among any cubes."""
        return any(drawer.panel.among for drawer in self.drawers.values())

    def turns(self, width: float, height: float, *, rows: bool) -> Turns | None:
        """What panels that draw among the cubes of a scene want of its layers."""
        left = sum(drawer.beside_cubes(width, height) for drawer in self.drawers.values())
        return Turns(0.0 if rows else left, rows) if any(drawer.turns for drawer in self.drawers.values()) else None

    @property
    def scale(self) -> LegendScale | None:
        """A second legend beside that of the cubes."""
        scales = (d.scale for d in self.drawers.values() if d.box is not None or d.setting is not None)
        return next((scale for scale in scales if scale is not None), None)

    def _put(self, name: str, box: Box | None) -> None:
        drawer = self.drawers[name]
        drawer.box, drawer.stale = box, True
        self._drawn.pop(name, None)
        if box is not None:
            drawer.lay_out(box)
        elif name == self._over:
            drawer.hover(None)
            self._over = None

    def change(self, theme: Theme) -> None:
        """Another look; what was measured stays."""
        self.ground.theme = theme
        for name, drawer in self.drawers.items():
            self._put(name, drawer.box)

    # ---- what they look like

    @property
    def frame(self) -> Frame | None:
        """What they were drawn of last."""
        return self._frame

    @property
    def moving(self) -> bool:
        """Whether a panel goes on changing while the frame stays."""
        return any(d.moving for d in self.drawers.values() if d.box is not None or d.setting is not None)

    @property
    def counts(self) -> bool:
        """Whether the number of a panel without a place is still to come."""
        return any(d.moving for d in self.drawers.values() if d.box is None and d.measures)

    @property
    def headlines(self) -> list[Headline]:
        """Numbers that the HUD shows too."""
        found = (d.headline for d in self.drawers.values() if d.box is not None or d.measures)
        return [headline for headline in found if headline is not None]

    def _shown(self) -> dict[str, Drawer[Any]]:
        return {name: drawer for name, drawer in self.drawers.items() if drawer.box is not None}

    def _now(self, name: str, moment: Moment) -> Drawer[Any]:
        """The drawer of a panel as it is at a moment: another one where the panel is another, in the same place."""
        drawer = self.drawers[name]
        panel = drawer.panel if drawer.panel.at is None else drawer.panel.at(moment)
        if panel is drawer.panel:
            return drawer
        other = self.drawers[name] = drawer_of(panel, self.ground)
        other.keep(drawer)
        other.setting = drawer.setting
        self._put(name, drawer.box)
        self._around.pop(name, None)
        return other

    def update(self, frame: Frame, seconds: float | None = None, *, writes: bool = True) -> list[Sketch]:
        """Sketches of the column for this frame; a panel whose numbers are those of last time keeps its own."""
        self.ground.writes = writes
        moment = Moment(frame, self.ground.subject.source)
        for name in tuple(self.drawers):
            drawer = self._now(name, moment)
            if not drawer.alive:
                continue
            there = name in (self._drawn if drawer.setting is None else self._around)
            there &= name in self.unseen or bool(self._drawn.get(name)) or drawer.box is None
            if frame is not self._frame or drawer.stale or drawer.moving or not there:
                drawer.stale = False
                drawer.look(moment, seconds)
                self._drawn[name] = self._draw(drawer, moment, seconds, seen=name not in self.unseen)
                if drawer.setting is not None:
                    self._around[name] = drawer.around(drawer.setting), drawer.below(drawer.setting.strip)
        self._frame = frame
        self.written = frame if writes or self.written is None else self.written
        return [*(sketch for name in self.column for sketch in self._drawn.get(name, ())), *self.column.told()]

    def leave(self, names: frozenset[str]) -> None:
        """From now on these panels are `unseen`, and others that were are drawn with the next frame."""
        for name in self.unseen - names:
            self.drawers[name].stale = True
        self._drawn |= dict.fromkeys(names, ())
        self.unseen = names

    def drawn(self, name: str) -> Sequence[Sketch]:
        """What a panel drew last in its place."""
        return self._drawn.get(name, ())

    def spread_out(self) -> list[Sketch]:
        """Sketches of what panels draw among the cubes and in the strip."""
        parts = self._around.values()
        return [sketch for around, below in parts for sketch in (*around, *(below if self.strip_shown else ()))]

    def floating(self) -> list[Sketch]:
        """Sketches of the panels over the scene, each on a ground of its own."""
        found: list[Sketch] = []
        for name, drawer in self._shown().items():
            if name not in self.column and drawer.box is not None:
                found += [backed(drawer.box, self.ground.theme), *self._drawn.get(name, ())]
        return found

    def _draw(self, drawer: Drawer[Any], moment: Moment, seconds: float | None, *, seen: bool) -> Sequence[Sketch]:
        if drawer.box is None or not seen:
            drawer.measure(moment, seconds)
            return ()
        theme, source = self.ground.theme, moment.source
        lacking = [need for need in drawer.needs if not getattr(source.can, need)]
        if lacking:
            return [sentence(drawer.box, theme, f"{drawer.name}: {source.what} cannot {lacking[0]}")]
        try:
            return drawer.draw(moment, drawer.box, seconds)
        except Exception as error:
            if is_own(drawer.panel):
                raise
            return [sentence(drawer.box, theme, f"{drawer.name}: {words_of(error)}")]

    def inside(self, inner: Inner, box: Box) -> tuple[list[Sketch], float]:
        """What panels draw of an opened step into the column of that, as far as there is room; and where they end."""
        x, y, width, height = box
        sketches: list[Sketch] = []
        own = [d for d in self.drawers.values() if d.within]
        for drawer in own:
            if y + drawer.within <= box[1] + height and (found := drawer.inside(inner, (x, y, width, drawer.within))):
                sketches += found
                y += drawer.within + GAP / 2
        return sketches, y - GAP / 2 if sketches else y

    def marks(self) -> list[Sketch]:
        """What lies right over the panels."""
        return [sketch for drawer in self._shown().values() for sketch in drawer.marks()]

    def label(self, frame: Frame, size: tuple[float, float]) -> list[Sketch]:
        """What stands beside the pointer."""
        if self._over is None:
            return []
        return list(self.drawers[self._over].label(Moment(frame, self.ground.subject.source), size))

    # ---- hands, in logical pixels

    @property
    def gestures(self) -> tuple[tuple[str, str], ...]:
        """Keys and gestures of all panels, each once."""
        found = [line for drawer in self.drawers.values() for line in drawer.gestures]
        if self.ground.chooses():
            found += [line for drawer in self.drawers.values() for line in drawer.choices]
        if self.ground.teaches:
            found += [line for drawer in self.drawers.values() for line in drawer.lessons]
        return tuple(dict.fromkeys(found))

    def at(self, point: Point) -> str | None:
        """The panel under a point, those over the scene first."""
        shown = self._shown()
        for name in sorted(shown, key=lambda n: n in self.column):
            if holds(shown[name].box, point, 0.0 if name in self.column else GROUND_MARGIN):
                return name
        return next((name for name, d in self.drawers.items() if self._drawn_at(d, point)), None)

    def _drawn_at(self, drawer: Drawer[Any], point: Point) -> bool:
        """Whether a panel has drawn something among the cubes or in the strip that is at a point, and to be seen."""
        setting = drawer.setting
        return setting is not None and (self.strip_shown or point[1] < setting.strip[1]) and drawer.covers(point)

    def covers(self, point: Point) -> bool:
        """Whether a panel lies over the scene there."""
        name = self.at(point)
        return name is not None and (name not in self.column or self._drawn_at(self.drawers[name], point))

    def hover(self, point: Point | None) -> bool:
        """The pointer is over a point (None: gone, or over a cube); returns whether the picture changes."""
        name = None if point is None else self.at(point)
        changed = False
        if self._over is not None and self._over != name:
            changed = self.drawers[self._over].hover(None)
        self._over = name
        return (name is not None and self.drawers[name].hover(point)) or changed

    def press(self, point: Point | None, button: str) -> bool:
        """A button went down (None: not for panels); whether all movement until the release belongs to a panel."""
        self._held = None if point is None else self.at(point)
        return point is not None and self._held is not None and self.drawers[self._held].press(point, button)

    def drag(self, point: Point, by: Point, button: str) -> bool:
        """The pointer moved with the button held; whether that belongs to the panel on which it went down."""
        return self._held is not None and self.drawers[self._held].drag(point, by, button)

    def release(self, point: Point) -> None:
        """The button went up after a press that was taken."""
        if self._held is not None:
            self.drawers[self._held].release(point)
        self._held = None

    def click(self, point: Point, *, shift: bool = False) -> bool:
        """Pressed and released on one point; whether it meant something to a panel."""
        name = self.at(point)
        for other, drawer in self.drawers.items():
            if other != name and drawer.typing:
                drawer.end_typing()
        if name is None:
            return False
        drawer = self.drawers[name]
        return drawer.shift_click(point) if shift else drawer.click(point)

    def double_click(self, point: Point) -> bool:
        """The second click of two on a panel; whether it meant something else than one."""
        name = self.at(point)
        return name is not None and self.drawers[name].double_click(point)

    def zoom(self, point: Point, factor: float) -> bool:
        """The wheel turned; whether a panel takes it."""
        name = self.at(point)
        return name is not None and self.drawers[name].zoom(point, factor)

    def key(self, name: str, text: str) -> bool:
        """A key; whether the panel takes it into which something is typed, or the one under the pointer."""
        if any(drawer.typing and drawer.key(name, text) for drawer in self.drawers.values()):
            return True
        return self._over is not None and self.drawers[self._over].key(name, text)

    @property
    def typing(self) -> bool:
        """Whether something is being typed into a panel."""
        return any(drawer.typing for drawer in self.drawers.values())

    @property
    def takes_strip(self) -> bool:
        """Whether a panel needs the strip."""
        return any(drawer.takes_strip for drawer in self.drawers.values())

    def take(self, picture: NDArray[np.floating]) -> str | None:
        """A picture was opened: what the first panel that has a use for it did; None without one."""
        return next((said for d in self.drawers.values() if (said := d.take(picture)) is not None), None)

    def let_go(self) -> bool:
        """Escape; whether a panel gave something up."""
        there = [drawer.let_go() for drawer in self.drawers.values()]  # all of them, not up to the first
        return any(there)

    def fit(self) -> None:
        """All panels as they were at first."""
        for drawer in self.drawers.values():
            drawer.fit()
