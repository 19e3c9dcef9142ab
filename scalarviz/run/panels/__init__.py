"""What stands beside the cubes, as plain descriptions: a scene lists them, a view draws each by a drawer of its kind.

A kind of your own is a subclass of :class:`Panel` and a drawer that is registered for it
(``scalarviz.view.register_panel``); for most wishes an :class:`Image` or a :class:`Table` will do.

Open `base` first; `kinds` are those of single tasks.
"""

from .base import Beside, GradientTree, GraphPanel, Image, Made, Panel, Place, RecordedPictures, Table, as_rows
from .kinds import (
    Axis,
    ColourCube,
    CurveFit,
    DigitBoard,
    DigitPad,
    Features,
    HeldOut,
    Histogram,
    Invented,
    LossCurve,
    LossOver,
    NeuronMaps,
    Painting,
    Pictures,
    PlaneMap,
    PointEdits,
    Points,
    Reading,
    TestCurve,
    TrainingLoop,
    WordBoard,
    psnr,
)

__all__ = [
    "Axis", "Beside", "ColourCube", "CurveFit", "DigitBoard", "DigitPad", "Features", "GradientTree", "GraphPanel",
    "HeldOut", "Histogram", "Image", "Invented", "LossCurve", "LossOver", "Made", "NeuronMaps", "Painting", "Panel",
    "Pictures", "Place", "PlaneMap", "PointEdits", "Points", "Reading", "RecordedPictures", "Table", "TestCurve",
    "TrainingLoop", "WordBoard", "as_rows", "psnr",
]  # fmt: skip
