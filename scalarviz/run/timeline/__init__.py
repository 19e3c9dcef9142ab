"""The past of a run: lines of steps that leave one another, keyframes on them, and the way to any place.

Open `timeline` first (what happens: steps, edits, going back, undo); `record` is the lines that there are, `line` one
of them with its edits and keyframes, `keyframes` which moments are kept within the budget, `traveller` what of a run
is needed. Nothing here knows a Run: `scalarviz.run.travel` joins both.
"""

from .timeline import Timeline
from .traveller import Traveller

__all__ = ["Timeline", "Traveller"]
