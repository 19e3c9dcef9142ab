"""Runs: training as something that can be stepped and looked at."""

from .frame import Frame, Stage, Tensor
from .history import History
from .run import Run
from .scene import ColourCube, Pictures, Scene, TestCurve

__all__ = ["ColourCube", "Frame", "History", "Pictures", "Run", "Scene", "Stage", "Tensor", "TestCurve"]
