"""Panels beside the cubes, as plain descriptions: a scene lists them, and a view has a drawer for each kind.

For a kind of your own, write a subclass of :class:`Panel` and register a drawer for it
(``scalarviz.view.register_panel``). Often an :class:`Image` or a :class:`Table` is enough.

Open `base` first; `kinds` are panels for single tasks.
"""

from .base import (
    Beside,
    GradientTree,
    GraphPanel,
    Image,
    Made,
    Panel,
    Place,
    RecordedPictures,
    SampleRows,
    Table,
    as_rows,
)
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
    "Pictures", "Place", "PlaneMap", "PointEdits", "Points", "Reading", "RecordedPictures", "SampleRows", "Table",
    "TestCurve", "TrainingLoop", "WordBoard", "as_rows", "psnr",
]  # fmt: skip
