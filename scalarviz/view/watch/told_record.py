"""`ToldRecord`: tells the inspector how the selected weight moved, where the source knows that at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ...errors import ScalarvizError
from ..screen.inspector import record_key

if TYPE_CHECKING:
    from ...run.core.frame import Frame
    from ..workbench import Workbench


class ToldRecord:
    """Looks at the inspector of a workbench.

    Parameters
    ----------
    bench : Workbench
    say : callable
        Told in words why it cannot be read.
    """

    def __init__(self, bench: Workbench, say: Callable[[str], object]) -> None:
        self._bench, self._say = bench, say
        self._told: tuple[object, object] | None = None

    def tell(self, frame: Frame) -> bool:
        """Tell it of the past of a frame, once; returns whether the inspector has another record now."""
        inspector = self._bench.touch.inspector
        if inspector is None or not inspector.single:
            return False
        key = record_key(frame)
        if key is None or (inspector, key) == self._told:
            return False
        self._told = inspector, key
        try:
            record = self._bench.subject.source.weight_record(inspector.index)
        except ScalarvizError as error:
            self._say(str(error))
            return False
        inspector.record = None if record is None else (key, record)
        return True
