"""`Room`: what windows that show no run have in common: their keys, the list of them, a line of news, how they close.

What they show, and what their own keys do, is the business of the wall, of the tour and of a graph.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext

from ..ink.overlay import help_pages
from .actions import action_of
from .guest import AGAIN_SECONDS, Hosted
from .keys import normalised
from .room_actions import SHARED, RoomAction, lines

NOTICE_SECONDS = 8.0
"""How long news stand."""
Does = Callable[[], object]


def keys_of(guest: Hosted, actions: Sequence[RoomAction], own: Mapping[str, Does]) -> dict[str, Does]:
    """What each key does: `actions`, and those that all windows share; `own` has them by name."""
    does = {**own, **guest.asks}
    keys = {key: does[action.name] for action in actions for key in action.keys}
    return keys | {key: does[name] for name in SHARED for key in action_of(name).keys}


def table_of(actions: Sequence[RoomAction]) -> list[tuple[str, str]]:
    """The list of keys of a room: keys and what they do."""
    return [*lines(actions), *((" or ".join(action_of(name).keys), action_of(name).does) for name in SHARED)]


class Room(Hosted, ABC):
    """A room with a line of news and a list of keys; it closes when Escape is pressed twice.

    Parameters
    ----------
    actions : sequence of RoomAction
        What its keys do.
    own : mapping of str to callable
        How, by their names; what every window can do, and Escape, is here.
    """

    def __init__(self, actions: Sequence[RoomAction], own: Mapping[str, Does]) -> None:
        shared = {"escape": self._escape, "toggle_help": self._toggle_help, "toggle_theme": self.toggle_theme}
        self._does = keys_of(self, actions, {**own, **shared})
        self._clock, self._notice, self._until, self._escape_until = 0.0, "", 0.0, 0.0
        self._help = 0
        self._dirty = True

    # ---- what a room has of its own

    @property
    @abstractmethod
    def page(self) -> tuple[float, float]:
        """Logical pixels of the picture."""

    @abstractmethod
    def toggle_theme(self) -> None:
        """Light or dark."""

    @abstractmethod
    def table(self) -> list[tuple[str, str]]:
        """The list of keys."""

    def give_up(self) -> bool:
        """Escape: let go of what was begun; returns whether there was something."""
        return False

    # ---- time

    def pass_time(self, seconds: float) -> None:
        """News go when they have stood long enough."""
        self._clock += seconds
        if self._notice and self._clock >= self._until:
            self._notice, self._dirty = "", True

    def repaint(self) -> None:
        """Let the host paint what has changed."""
        if self._dirty and self.host is not None:
            self._dirty = False
            self.host.repaint()

    def say(self, line: str, seconds: float = NOTICE_SECONDS) -> None:
        """Show a line of news for a while."""
        self._notice, self._until, self._dirty = line, self._clock + seconds, True

    def for_file(self) -> AbstractContextManager[bool]:
        """While the block runs the picture is one for stills and films; gives whether that is another one."""
        return nullcontext(False)

    # ---- keys

    def key(self, name: str | None, text: str = "", *, shift: bool = False, ctrl: bool = False) -> bool:
        """A key was pressed; returns whether it means something here."""
        pressed = normalised(name, text, ctrl=ctrl)
        does = self._does.get(pressed)
        if does is None:
            if pressed:
                self.say(f"{pressed} does nothing here; ? shows the keys")
            return False
        if pressed != "Escape":
            self._escape_until = 0.0
        does()
        self._dirty = True
        return True

    def _escape(self) -> None:
        """Close what is open; twice, the window."""
        if self._help:
            self._help = 0
        elif self.give_up():
            return
        elif self.host is not None and self.host.full_screen:
            self.host.show_full_screen(False)
        elif self._clock < self._escape_until:
            self._close()
        else:
            self._escape_until = self._clock + AGAIN_SECONDS
            self.say("Escape again closes the window", AGAIN_SECONDS)

    def _toggle_help(self) -> None:
        pages = help_pages(self.page, self.table())
        self._help = self._help + 1 if self._help < len(pages) else 0
