"""`Desk`: the panel of controls of one viewer: what a hand wants there is done here, as keys and edits do it."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ...errors import InputError, ScalarvizError, shown
from ...run.controls import Segments, Slider
from ..screen.controls import Wish
from .actions import action_of
from .driving import Driving

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ...run.core.frame import Frame
    from ...run.scene.scene import Scene
    from ..screen.control_rows import Item
    from .live import LiveView

Point = tuple[float, float]


class Desk(Driving):
    """What the panel asks for, and where keys and pointer go while it is open."""

    def __init__(self, viewer: LiveView, scene: Scene) -> None:
        super().__init__(viewer, scene)
        self.panel = viewer.bench.controls
        self.panel.closes = action_of("toggle_controls").keys[0]
        self.handlers: dict[str, Callable[..., None]] = {"toggle_controls": self.toggle}

    # ---- open and closed

    def toggle(self) -> None:
        """Open the panel, or close it."""
        self.let_go()
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
        """While the block runs the picture is that without the panel; gives whether that is another one."""
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
            self.notice(self.reader(frame))
            return False
        stood = panel.stands, panel.side
        panel.pass_time(seconds)
        changed = panel.show(self.shown(frame), running=self._viewer.playback.running)
        moved = stood != (panel.stands, panel.side)
        if moved:
            bench.place_side()
            bench.refresh()
        return changed or moved or panel.moving

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
        item = self.panel.number_at(at)
        if button == "left" and item is not None and self._viewer.pointer.again(("typed", item.name)):
            self.type(item)
        elif button == "left":
            self._do(self.panel.press(at))
        return True

    def drag(self, at: Point) -> None:
        """The pointer moved while the panel has it."""
        self._do(self.panel.drag(at))
        if self.hover(at) or self.panel.carries:
            self._viewer.refresh()

    def release(self, at: Point) -> None:
        """The button of the panel went up."""
        wish = self.panel.release(at)
        self.let_go()
        self._do(wish)

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

    # ---- what is wanted

    def _do(self, wish: Wish | None) -> None:
        """Do it; what cannot be done is said, and the control shows what is."""
        if wish is None:
            return
        if wish.what == "type":
            self.type(wish.item)
            return
        try:
            self.set(wish.item, wish.value, held=wish.held)
        except ScalarvizError as error:
            self._wanted.pop(wish.item.name, None)
            self._viewer.say(str(error))
        self._viewer.refresh()

    def type(self, item: Item) -> None:
        """A number for a control, in the host's own field; training goes on meanwhile."""
        host, control, allowed = self._viewer.host, item.control, ""
        if isinstance(control, Slider):
            allowed = f"{control.least:,g} to {control.most:,g} on the slider; others are tried"
        elif isinstance(control, Segments):
            allowed = f"such as {', '.join(f'{one:,}' for one in control.choices)}"
        now = f"{item.value:.10g}" if isinstance(item.value, float) else str(item.value)
        if host is not None:
            host.ask_text(item.name, allowed, now, lambda text: self.typed(item, text))

    def typed(self, item: Item, text: str) -> None:
        """What was typed for a control."""
        control = item.control
        with self._viewer.saying():
            slider = control if isinstance(control, Slider) else None
            number: object = number_of(text, item.name, whole=slider is None or slider.whole)
            edit = control.change(number if slider is None else slider.taken(number), self.reader())
            if edit is not None:
                self._viewer.change(edit)
        self._viewer.refresh()


_GROUPS = re.compile(r"[+-]?[1-9]\d{0,2}(,\d{3})+(\.\d*)?")
"""``1,024``, ``12,000.5``: commas between thousands. One alone in a number that need not be whole is a decimal one."""


def number_of(text: str, name: str, *, whole: bool) -> int | float:
    """A number as people type it: ``0.03``, ``0,03``, ``1e-3``, ``1,024`` where it has to be `whole`, ``1_024``.

    Raises
    ------
    InputError
        It is none; `name` says for what it was typed.
    """
    plain = text.strip().replace("\N{MINUS SIGN}", "-")
    if _GROUPS.fullmatch(plain) and (whole or plain.count(",") > 1 or "." in plain):
        plain = plain.replace(",", "")
    elif plain.count(",") == 1 and "." not in plain:
        plain = plain.replace(",", ".")
    if re.fullmatch(r"[+-]?\d{1,18}", plain):
        return int(plain)
    try:
        return float(plain)
    except ValueError:
        said = shown(text) if plain else "nothing"
        raise InputError(f"{name}: {said} is no number; such as {'16' if whole else '0.03 or 1e-3'}") from None
