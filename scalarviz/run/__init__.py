"""Runs: training as something that can be stepped, changed and looked at, and what a view shows of it.

Open `run` first: the class that users hold. Its methods hand on to the files beside it, which are functions of a run:
`making`, `engines`, `callbacks` (steps and conditions), `frames` (one moment, inside a step), `editing` (changes),
`travel` (the past), `state` (all that a run is, in memory and on disk), `regraph` (another model).

Below it stand rooms that know no Run, each of which knows those before it: `checks`, ``edits/`` (changes from outside,
as data), ``core/`` (graph, setup, engine at work, one moment), ``past/`` (lines of steps, keyframes), ``opened/``
(inside a step), ``questions/`` (conditions, diagnosis, colour ranges).

Above it: `source` (what a view may ask, of a run or of another source), `controls`, ``panels/`` and ``scene/``
(descriptions that a view shows), ``sources/`` (recordings, networks of other libraries), `worker` (a thread that
trains).

No drawing: that is a floor above.
"""

from . import controls, panels
from .core.frame import Frame, Stage, Tensor
from .core.history import History
from .frames import FrameRequest
from .opened.opened import Opened
from .run import Run
from .scene.scene import Group, Placed, Plan, Room, Scene, Story
from .source import Moment, Source

__all__ = [
    "Frame", "FrameRequest", "Group", "History", "Moment", "Opened", "Placed", "Plan", "Room", "Run", "Scene", "Source",
    "Stage", "Story", "Tensor", "controls", "panels",
]  # fmt: skip


def __dir__() -> list[str]:
    return __all__
