"""`Snapshot`: a picture of what the user's own cells change, looked at only when they say so."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..watch.mirror import Mirror

if TYPE_CHECKING:
    from ...run.core.frame import Frame
    from ...run.edits import Edit


class Snapshot(Mirror):
    """A `Mirror` whose numbers stay until :meth:`look`.

    Whoever trains by hand does so in another thread; read in the middle of a step, half of the numbers would be of the
    step before.
    """

    _seen: Frame | None = None

    def look(self) -> None:
        """Take over the numbers of now."""
        self._seen = super().now()

    def now(self) -> Frame:
        """Those that were looked at last."""
        if self._seen is None:
            self.look()
        assert self._seen is not None
        return self._seen

    def change(self, edit: Edit, gesture: str = "") -> None:
        """Do an edit, which is seen at once."""
        super().change(edit, gesture)
        self.look()
