"""Runs: training as something that can be stepped and looked at, and what a view shows of it."""

from . import panels
from .frame import Frame, Stage, Tensor
from .history import History
from .moment import Moment
from .run import Run
from .scene import Scene
from .source import Source

__all__ = ["Frame", "History", "Moment", "Run", "Scene", "Source", "Stage", "Tensor", "panels"]
