"""`Recorder`: somebody who takes down where a run stands, whatever moved it there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from .run import Run


class Recorder(Protocol):
    """Told of every place at which a run comes to stand: after a call of the engine, an edit, a way back, a load."""

    @property
    def every(self) -> int:
        """Calls of the engine end at the steps that this divides, which changes no bit."""
        ...

    @property
    def news(self) -> str:
        """What has happened to it that somebody should know; empty where nothing has."""
        ...

    def say(self) -> None:
        """Say the news on the terminal, each once, whoever asks for it first."""
        ...

    def look(self, run: Run) -> None:
        """The run stands, between two calls of the engine, in the thread that trains; copies are taken, no more.

        It raises nothing: whoever looks on stops no training.
        """
        ...

    def ended(self, run: Run) -> None:
        """The run is closed, or gives its weights away: this is its last place."""
        ...
