"""Runs: training as something that can be stepped and looked at."""

from .frame import Frame, Stage, Tensor
from .history import History
from .run import Run
from .scene import ColourCube, DigitBoard, Pictures, Scene, TestCurve

__all__ = ["ColourCube", "DigitBoard", "Frame", "History", "Pictures", "Run", "Scene", "Stage", "Tensor", "TestCurve"]
