"""`Desk`: the panel of controls of one viewer: what a hand wants there is done here, as keys and edits do it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import contextmanager
from itertools import count
from typing import TYPE_CHECKING, Any

from ...errors import ScalarvizError
from ...run.controls import Reader, Segments, Slider
from ..screen.control_contents import Contents
from ..screen.control_ring import Wish, number_of
from .driving import WAITS, Driving

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ...run.core.frame import Frame
    from ...run.scene.scene import Scene
    from ..screen.control_rows import Item
    from .live import LiveView

Point = tuple[float, float]
DOUBLE = 0.4
"""Seconds within which a second click on a number types it."""
_gestures = count(1)


class Desk(Driving):
    """What the panel asks for, and where keys and pointer go while it is open.

    Parameters
    ----------
    viewer : LiveView
    scene : Scene
        Its controls and its command.

    Attributes
    ----------
    handlers : dict of str to callable
        By the names of the table of actions.
    """

    def __init__(self, viewer: LiveView, scene: Scene) -> None:
        super().__init__(viewer)
        self._scene = scene
        self.panel = viewer.bench.controls
        self.panel.closes = self.keys_of("toggle_controls")
        self._contents = Contents(self, scene.controls, scene.command, scene.hide)
        self._wanted: dict[str, tuple[Any, float]] = {}  # what was set by hand and no frame shows yet, and until when
        self._gesture = ""
        self._pressed = False
        self._clicked: tuple[str, float] | None = None
        self.handlers: dict[str, Callable[..., None]] = {"toggle_controls": self.toggle}

    # ---- open and closed

    def toggle(self) -> None:
        """Open the panel, or close it."""
        self._let_go()
        self._wanted.clear()
        self.panel.toggle()
        self._viewer.bench.make_room()
        self._viewer.refresh()

    def close(self) -> None:
        """Close the panel if it is open."""
        if self.open and not self.panel.hidden:
            self.toggle()

    @property
    def open(self) -> bool:
        """Whether the panel is there."""
        return self.panel.open

    @contextmanager
    def put_away(self) -> Iterator[bool]:
        """While the block runs the picture is that without the panel: no still and no film shows it.

        Gives whether that is another one.
        """
        bench = self._viewer.bench
        if not self.panel.open:
            yield False
            return
        was, self.panel.hidden = self.panel.hidden, True
        bench.make_room()
        bench.refresh()
        try:
            yield True
        finally:
            self.panel.hidden = was
            bench.make_room()
            bench.refresh()

    def pass_time(self, seconds: float, frame: Frame) -> bool:
        """`seconds` have passed and `frame` is shown; returns whether the panel has changed."""
        panel, bench = self.panel, self._viewer.bench
        if not panel.open:
            self._contents.notice(self._reader(frame))
            return False
        stood = panel.stands, panel.side
        panel.pass_time(seconds)
        now = self._viewer.clock
        self._wanted = {name: kept for name, kept in self._wanted.items() if kept[1] > now}
        rows = self._contents.rows(self._reader(frame), {name: value for name, (value, _) in self._wanted.items()})
        for name in self._contents.arrived:  # from now on it is what the frames show, whoever changes it
            self._wanted.pop(name, None)
        self._contents.arrived.clear()
        for line in self._contents.troubles:
            self._viewer.say(line)
            self._viewer.tell(line)
        self._contents.troubles.clear()
        changed = panel.show(rows, running=self._viewer.playback.running)
        moved = stood != (panel.stands, panel.side)
        if moved:
            bench.place_side()
            bench.refresh()
        return changed or moved or panel.moving

    def _reader(self, frame: Frame | None = None) -> Reader:
        viewer = self._viewer
        return Reader(viewer.shown if frame is None else frame, viewer.bench.subject.source, self._scene.options)

    # ---- pointer, in logical pixels, and keys

    def owns(self, at: Point) -> bool:
        """Whether a point is the panel's."""
        return self.panel.owns(at) and not self.panel.hidden

    def hover(self, at: Point | None) -> bool:
        """The pointer is over a point (None: elsewhere); returns whether the picture changes."""
        return self.panel.open and self.panel.hover(at if at is not None and self.owns(at) else None)

    def press(self, at: Point, button: str) -> bool:
        """A button went down; whether it is the panel's until it goes up."""
        if not (self.open and self.owns(at)):
            return False
        self._pressed = True
        item = self.panel.number_at(at)
        if button == "left" and item is not None and self._again(item.name):
            self.type(item)
        elif button == "left":
            self._do(self.panel.press(at))
        return True

    def drag(self, at: Point) -> bool:
        """The pointer moved; whether the panel holds it."""
        if self._pressed:
            self._do(self.panel.drag(at))
            if self.panel.carries:
                self._clicked = None  # what was dragged was not clicked
                self._viewer.refresh()
        return self._pressed

    def release(self, at: Point) -> bool:
        """The button went up; whether it was the panel's."""
        if not self._pressed:
            return False
        self._pressed = False
        wish = self.panel.release(at)
        self._let_go()
        self._do(wish)
        return True

    def scroll(self, at: Point, notches: float) -> bool:
        """The wheel turned; whether that was over the panel, or over what stands in it."""
        if self.panel.hidden or not self.panel.covers(at):
            return False
        if notches:
            self.panel.scroll(notches)
        return True

    def key(self, pressed: str, *, shift: bool = False) -> bool:
        """A key while the panel is open; whether it is the panel's."""
        if not self.open:
            return False
        if pressed == "Escape":
            if not self.panel.let_go():  # what is dragged out goes back
                self.toggle()
            return True
        found = self.panel.key(pressed, shift=shift)
        if isinstance(found, Wish):
            self._do(found)
        return found is not False

    def _again(self, name: str) -> bool:
        now, before = self._viewer.clock, self._clicked
        again = before is not None and before[0] == name and now - before[1] <= DOUBLE
        self._clicked = None if again else (name, now)
        return again

    # ---- what is wanted

    def _do(self, wish: Wish | None) -> None:
        """Do it; what cannot be done is said, and the control shows what is."""
        if wish is None:
            return
        if wish.what == "type":
            self.type(wish.item)
            return
        item, viewer = wish.item, self._viewer
        if wish.held and not self._gesture:
            self._gesture = f"controls {next(_gestures)}"
            viewer.hold()
        if wish.held and item.name in self._wanted and self._wanted[item.name][0] == wish.value:
            return
        try:
            self._set(item, wish.value)
        except ScalarvizError as error:
            self._wanted.pop(item.name, None)
            viewer.say(str(error))
        viewer.refresh()

    def _set(self, item: Item, value: Any) -> None:
        control = item.control
        taken = control.taken(value)
        if taken is not None and taken == item.value and item.name not in self._wanted:
            return  # it is so already: no edit
        edit = control.change(taken, self._reader())
        until = self._viewer.clock + (float("inf") if self._gesture else WAITS)
        if taken is not None:
            self._wanted[item.name] = taken, until
        elif item.part_of:
            self._wanted[item.part_of] = item.value, until
        if edit is not None:
            self._viewer.change(edit, self._gesture)

    def _let_go(self) -> None:
        """The hand is open: what it did was one edit, and training goes on."""
        if not self._gesture:
            return
        self._gesture = ""
        until = self._viewer.clock + WAITS
        self._wanted = {name: (value, min(kept, until)) for name, (value, kept) in self._wanted.items()}
        self._viewer.release_hold()

    # ---- typing

    def type(self, item: Item) -> None:
        """A number for a control, in the host's own field; training goes on meanwhile."""
        host, control = self._viewer.host, item.control
        if host is None:
            return
        allowed = ""
        if isinstance(control, Slider):
            allowed = f"{control.least:,g} to {control.most:,g} on the slider; others are tried"
        elif isinstance(control, Segments):
            allowed = f"such as {', '.join(f'{one:,}' for one in control.choices)}"
        now = f"{item.value:.10g}" if isinstance(item.value, float) else str(item.value)
        host.ask_text(item.name, allowed, now, lambda text: self.typed(item, text))

    def typed(self, item: Item, text: str) -> None:
        """What was typed for a control."""
        viewer = self._viewer
        try:
            control = item.control
            value: Any = number_of(text, item.name, whole=isinstance(control, Segments) or control.whole)  # type: ignore[attr-defined]
            edit = control.change(control.taken(value) if isinstance(control, Slider) else value, self._reader())
            if edit is not None:
                viewer.change(edit)
        except ScalarvizError as error:
            viewer.say(str(error))
        viewer.refresh()

    # ---- what is no edit (see Contents)

    def copy(self, words: str) -> None:
        """To the clipboard of whoever sits there."""
        host = self._viewer.host
        if host is not None and words:
            host.copy(words)
            self._viewer.say(f"copied: {words}")
