"""The last step of a recording as a picture, for where no player plays."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...run.sources.played import RecordedSource
from ...run.sources.recording.recorded import Recorded
from ..draw.text import loss_text
from ..shown.subject import subject_of
from .still import picture_of


def last_still(record: Recorded, size: tuple[int, int], theme: str) -> NDArray[np.uint8]:
    """The last frame, uint8 (H, W, 3).

    Raises
    ------
    MissingDependencyError
        Nothing can draw here.
    """
    source = RecordedSource(record)
    source.to(source.span[1])
    frame = source.frame()
    return picture_of(subject_of(source).after(frame), frame, size, theme)


def words_about(record: Recorded, title: str = "") -> str:
    """What stands in its place: ``"rgb: a recording of steps 0 to 300, loss 0.1326 to 0.0431"``."""
    finite = [float(loss) for loss in record.loss if loss == loss]
    fall = f", loss {loss_text(finite[0])} to {loss_text(finite[-1])}" if finite else ""
    steps = f"steps {int(record.steps[0]):,} to {int(record.steps[-1]):,}"
    return f"{title or record.about.name}: a recording of {steps}{fall}"
