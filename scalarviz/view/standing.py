"""`Standing`: the part of a workbench that is made for one network, and made anew when a run gets another one."""

from __future__ import annotations

from abc import abstractmethod

from ..run.core.frame import Frame
from .aim import Aim
from .cubes.quantity import Quantity, check_kept
from .cubes.scale import ActivationScale, Coloring
from .draw.theme import Theme
from .micro.inside import Inside
from .panels.side import SidePanels
from .shown.probed import Probed
from .shown.subject import Subject
from .space.layout import Layout
from .space.viewpoint import Viewpoint
from .touched.input_swatch import InputSwatch
from .touched.touch import Touch


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
