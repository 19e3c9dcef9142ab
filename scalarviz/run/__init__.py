"""Runs: train a model step by step, edit it and inspect it; and the descriptions that a view shows.

Open `run` first: the class that users hold. Its methods call functions in the files beside it:
`making`, `engines`, `callbacks` (steps and conditions), `frames` (one moment, inside a step), `editing` (changes),
`travel` (the past), `state` (a whole run, in memory and on disk), `regraph` (another model).

These parts know no Run, and each may use those before it: `checks`, ``edits/`` (changes from outside,
as data), ``core/`` (graph, setup, engine at work, one moment), ``past/`` (lines of steps, keyframes), ``opened/``
(inside a step), ``questions/`` (conditions, diagnosis, colour ranges).

These parts use a Run: `source` (the questions that a view may ask of a run or another source), `controls`, ``panels/``
and ``scene/`` (descriptions that a view shows), ``sources/`` (recordings, networks of other libraries), `worker` (a
thread that trains).

Nothing here draws.
"""

from . import controls, panels
from .core.frame import Frame
from .core.history import History
from .core.tensors import Stage, Tensor
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
