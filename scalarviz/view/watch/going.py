"""`Going`: what lets time go on, as far as going back and forth has to know it: a run's playback, or a recording's."""

from __future__ import annotations

from typing import Protocol


class Going(Protocol):
    """Whether time goes on by itself, and where it stands still.

    Attributes
    ----------
    running : bool
        Whether it goes on.
    limit : int or None
        The step at which it waits, where there is one.
    """

    running: bool
    limit: int | None

    @property
    def aim(self) -> int | None:
        """The step that was asked for by hand and is not reached yet."""
        ...

    def stand(self, step: int | None) -> None:
        """Time stands still, at `step` or (None) where it is then."""
        ...

    def play(self) -> None:
        """Go on from here."""
        ...

    def again(self) -> None:
        """It begins anew."""
        ...
