"""`Recording` and `Recorded` with what a view can do with them; ``sv.Recording`` and ``sv.load_recording``."""

from __future__ import annotations

from typing import ClassVar

from ...io.atomic import StrPath
from ...run import recording


class Recorded(recording.Recorded):
    """See :class:`scalarviz.run.recording.Recorded`."""


class Recording(recording.Recording):
    """See :class:`scalarviz.run.recording.Recording`."""

    reader: ClassVar[type[recording.Recorded]] = Recorded


def load_recording(path: StrPath) -> Recorded:
    """Open a recording to read it; close it, or use it in a ``with``.

    Parameters
    ----------
    path : path
        What ``sv.Recording`` or ``scalarviz SCENE --recording FILE`` wrote. One that was not closed (its program was
        killed) is repaired where it can be written to, else read from a copy; one that is being written can be read.

    Returns
    -------
    Recorded
        ``.steps``, ``.loss``, ``.lr``, ``.values[name]``, ``.frame(k)``, ...

    Raises
    ------
    InputError
        There is no such file, or it is a folder.
    FileFormatError
        It is no recording, one of another version, or so damaged that nothing can be read. What can be read of a
        damaged one is there; ``.remark`` says what is missing.
    """
    return Recorded(path)
