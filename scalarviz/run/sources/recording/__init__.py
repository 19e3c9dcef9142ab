"""Recordings: record a run while it trains, in one file that plays back without it.

Open `recording` first (``sv.Recording``), then `recorded` (``sv.load_recording``). `file` has the tables.

* writing: `items` finds changes in a run and makes items of them (`About` describes the run); `recording` has
  the thread that writes them
* reading: `contents` opens a file, checks everything and repairs a file that was not closed; `index` has its networks,
  branches and frames, `recorded` its numbers
* micro-steps of the step after a frame, written and read: `recorded_step`
"""

from ...panels.base import Picture
from .items import About
from .recorded import Recorded
from .recorded_step import RecordedStep
from .recording import Recording

__all__ = ["About", "Picture", "Recorded", "RecordedStep", "Recording"]
