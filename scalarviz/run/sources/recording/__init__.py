"""Recordings: record a run while it trains, in one file that plays back without it.

Open `recording` first (``sv.Recording``), then `recorded` (``sv.load_recording``). `tables` has the form of the
file, `file` makes one and opens it.

* writing: `changes` finds what is new in a run and makes `items` of it (`About` describes the run); `recording` has
  the thread that writes them
* reading: `contents` opens a file, checks everything and repairs a file that was not closed; `index` has its networks,
  branches and frames, `recorded` its numbers
* the steps after its frames and between them: `programs` writes and reads what makes a step, `steps` opens one
"""

from ...panels.base import PanelPicture
from .items import About
from .recorded import Recorded
from .recording import Recording

__all__ = ["About", "PanelPicture", "Recorded", "Recording"]
