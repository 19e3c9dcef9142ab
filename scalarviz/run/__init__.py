"""Runs: training as something that can be stepped, changed and looked at, and what a view shows of it.

Open `run` first. What belongs to it stands in these files:

* training: `training` (calls of the engine, divergence), `engines`, `history`, `optimizer`, `samples`, `ids`, `checks`,
  `gather` (weights into one store), `graph` (a recorded model with its weights) and `regraph` (going on with another),
  `memory` (what a network would need)
* changes from outside: `editing` (``run.do``), ``edits/`` (what an edit is), `hands` (what it may do),
  `redrawn` (weights that begin anew), `changing` (another model) and `fitting_layers`, `dataset`
* functions of the user between steps: `callbacks` (``run.on_step``)
* the past: `travel` (``run.to``, ``run.undo``), `restarted`, ``timeline/`` (how), `run_traveller`,
  `past` (what a picture sees), `weight_record` (how one weight moved)
* keeping: `state` (all that a run is, as parts), `keeping`, `checkpoint` (on disk) and `kept_rule` (how a run trains
  in it)
* recordings: ``recording/`` (files of runs that can be played back), which a run tells as its `recorder`
* weights that another library trains: ``watched/`` (``sv.watch``)
* beside a thread: `worker` with its queue (`serving`) and its `weights_gate`, `journeys` (to steps that were
  done), `turns`, `asked_call`, `signals`
* looking: `looking` (``run.frame``, ``run.predict``), `requests` (``run.request_frame``), `frame` (one moment) and
  `reading` (what it is made of), `stages` (and of which others they are `made_of`), `forward` (rows of a sample; which
  units are dead or saturated), `diagnosis` (what is wrong, in words), `layer_table`, `ranges`, `sample_gradient`,
  `rehearsal` (how a run will go)
* inside a step: ``opened/`` (``run.open``), `naming` (which weight is meant)
* for a view: `scene`, `story`, `plan`, `controls` and `panels` (descriptions), `source` and `run_source` (what a view
  may ask), `moment`, `settings` (how a run trained then); `scene_file` (scenes by name, file or text)

No drawing: that is a floor above.
"""

from . import controls, panels
from .frame import Frame, Stage, Tensor
from .history import History
from .moment import Moment
from .opened.opened import Opened
from .plan import Group, Placed, Plan, Room
from .requests import FrameRequest
from .run import Run
from .scene import Scene
from .source import Source
from .story import Story

__all__ = [
    "Frame",
    "FrameRequest",
    "Group",
    "History",
    "Moment",
    "Opened",
    "Placed",
    "Plan",
    "Room",
    "Run",
    "Scene",
    "Source",
    "Stage",
    "Story",
    "Tensor",
    "controls",
    "panels",
]


def __dir__() -> list[str]:
    return __all__
