"""Recordings: a run taken down while it trains, in one file that can be played back without it.

Open `recording` first (``sv.Recording``: who is told, and when), then `recorded` (``sv.load_recording``). The tables of
the file stand in `file`.

* writing: `taken` sees what is new where a run stands, and hands it over as items; `writer` is the thread that writes
  them; `about` says what run it is of
* reading: `contents` opens a file, believes nothing and repairs what was not closed; `index` has its networks, branches
  and frames, `recorded` its numbers
* micro-steps of the step after a frame: `step_written` and `recorded_step`

No drawing: a view shows recordings from :mod:`scalarviz.view.recorded`.
"""

from .about import About
from .contents import Picture
from .recorded import Recorded
from .recorded_step import RecordedStep
from .recording import Recording

__all__ = ["About", "Picture", "Recorded", "RecordedStep", "Recording"]
