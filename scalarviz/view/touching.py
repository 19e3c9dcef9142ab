"""`Touching`: the part of a workbench that answers to the pointer: which cube is under it, and what is selected."""

from __future__ import annotations

from abc import abstractmethod

from .aim import Point
from .cubes.picking import Hit
from .cubes.slab import SlabVisual
from .ink.sketch import holds
from .laying import Laying
from .panels.table import LayerTable
from .screen.selection import Selection


class Touching(Laying):
    """What lies under a point, and what a click there does."""

    layers: LayerTable
    slab: SlabVisual

    @abstractmethod
    def refresh(self) -> None:
        """Draw the frame anew."""

    def pick(self, at: Point) -> int | None:
        """Flat index of the weight or bias whose cube is under a point in device pixels."""
        point = self.to_logical(at)
        hit = self._hit(point) if holds(self.window, point) else None
        return None if hit is None else hit.flat

    def _hit(self, at: Point) -> Hit | None:
        """The cube under a point in logical pixels."""
        camera, (across, down) = self._view.camera, self._ratio
        return self._picker.pick(camera, (float(at[0] * across), float(at[1] * down)), self.size[0] / camera.size[0],
                                 self.slab.shares)  # fmt: skip

    def hover(self, at: Point | None) -> bool:
        """The pointer is over a point in device pixels (None: gone); returns whether the picture changes."""
        point = None if at is None else self.to_logical(at)
        index = None if at is None or point is None or self.side.covers(point) else self.pick(at)
        free = point if index is None else None
        beside = self.side.hover(free) | self.bar.hover(point) | self.swatch.hover(free)
        changed = self.touch.hover(index, point or (0.0, 0.0)) or beside
        self._point()
        self._outdated |= changed
        return changed

    def _point(self) -> None:
        """Tell the panels which number is looked at."""
        self.side.ground.pointed = self.selected if self.touch.hovered is None else self.touch.hovered

    def click(self, at: Point, *, shift: bool = False) -> bool:
        """A panel answers, or else the cube at a point in device pixels is selected, or nothing: whether one was."""
        point, self._outdated = self.to_logical(at), True
        inside = self.inside.click(point)
        if not inside and self.side.column.on_more(point):
            self.side.column.turn_page()
            self.lay_out()
        elif not (inside or self.side.click(point, shift=shift) or self.side.covers(point)):
            index, before = self.pick(at), self.selected
            if index is not None or not self.swatch.click(point):
                self.select(index)
                return index is not None or before is not None
        return True

    def let_go(self) -> bool:
        """Give up what is selected or begun; returns whether there was something."""
        there = self.layers.close() or self.side.let_go() or self.selected is not None
        self.select(None)
        self._outdated |= there
        return there

    @property
    def selected(self) -> int | None:
        """Flat index of the weight in the inspector."""
        return None if self.touch.inspector is None else self.touch.inspector.index

    def select(self, selection: Selection | int | None) -> None:
        """Look into a weight by its flat index, or into several; None closes the inspector."""
        if self.touch.select(selection, self._frame):
            self._point()
            self.place_side()
            self.refresh()

    @property
    def help(self) -> int:
        """Which page of the list of keys is shown, 0 for none; may be set."""
        return self.touch.help

    @help.setter
    def help(self, page: int) -> None:
        self.touch.help, self._outdated = page, True

    @property
    def message(self) -> str:
        """What the banner says; may be set, empty for none."""
        return self.touch.message

    @message.setter
    def message(self, text: str) -> None:
        self._outdated |= text != self.touch.message
        self.touch.message = text
