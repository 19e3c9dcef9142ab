"""Recordings: a run taken down while it trains, in one file that can be played back without it.

Open `recording` first (``sv.Recording``: who is told, and when), then `recorded` (``sv.load_recording``). The file
itself is in `schema`.

* writing: `subjects` (what can be recorded), `watching` (what is new where a run stands; of what another library
  trains `looks` at it) makes the items of `taken`, `writer` is the thread that writes
  them as the `rows` of the file, with `encoding`; `thinning` keeps the budget, `files` makes and finishes the file,
  `probing` and `deltas` are passes of one sample,
  `about` says what run it is of
* micro-steps of the step after a frame: `coming` is what is copied of a run, `step_written` (by `step_rows`) what is
  kept of it, `step_plan` what all steps of a network share; `recorded_step` is what is read, found by `step_table`
* reading: `opening` believes nothing and repairs what was not closed; `contents` is a file at one moment: `networks`,
  `branches`, `index` and `pictures` are read and checked at once (`checksums`), numbers when they are asked for, as
  `frames` and `quantities`; `following` looks whether a file that is still written has more

No drawing: a view shows recordings from :mod:`scalarviz.view.recorded`.
"""

from .about import About
from .pictures import Picture
from .recorded import Recorded
from .recorded_step import RecordedStep
from .recording import Recording

__all__ = ["About", "Picture", "Recorded", "RecordedStep", "Recording"]
