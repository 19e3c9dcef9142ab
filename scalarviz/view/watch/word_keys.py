"""`WordKeys`: keys of a panel that reads words and makes up others."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from ...run.panels import WordBoard
from ..panels.word import WordDrawer

if TYPE_CHECKING:
    from .viewer import Viewer


class WordKeys:
    """What keys do to the first such panel of one viewer.

    Attributes
    ----------
    handlers : dict of str to callable
        By the names of the table of actions.
    """

    def __init__(self, viewer: Viewer) -> None:
        self._viewer = viewer
        self.handlers: dict[str, Callable[..., None]] = {
            "type_word": self._type, "cooler": partial(self._warm, -1), "warmer": partial(self._warm, 1)
        }  # fmt: skip

    @property
    def _drawer(self) -> WordDrawer:
        found = self._viewer.bench.side.drawer(WordBoard)
        assert isinstance(found, WordDrawer)  # the table says that there is one
        return found

    def _type(self) -> None:
        if self._drawer.there:
            self._drawer.begin_typing()
        else:
            self._viewer.say("E: the word is not shown here")

    def _warm(self, steps: int) -> None:
        self._drawer.warm(steps)
        self._viewer.say(f"temperature of new words {self._drawer.temperature:.1f}")
