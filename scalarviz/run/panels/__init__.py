"""What stands beside the cubes, as plain descriptions: a scene lists them, a view draws each by a drawer of its kind.

A kind of your own is a subclass of :class:`Panel` and a drawer that is registered for it
(``scalarviz.view.register_panel``); for most wishes an :class:`Image` or a :class:`Table` will do. Open `base` first.
"""

from .base import Beside, Panel, Place
from .colours import ColourCube, Pictures
from .curve import HeldBack, LossCurve, TestCurve
from .curve_fit import CurveFit
from .descent import LossOver, TrainingLoop
from .digits import DigitBoard, DigitPad
from .graph import GraphPanel, Made
from .histogram import Histogram
from .neurons import Features, NeuronMaps
from .own import Image, Table, as_rows
from .painting import Painting, psnr
from .plane import Axis, PlaneMap, PointEdits, Points
from .recorded import RecordedPictures
from .tree import GradientTree
from .words import Invented, Reading, WordBoard

__all__ = [
    "Axis", "Beside", "ColourCube", "CurveFit", "DigitBoard", "DigitPad", "Features", "GradientTree", "GraphPanel",
    "HeldBack", "Histogram", "Image", "Invented", "LossCurve", "LossOver", "Made", "NeuronMaps", "Painting", "Panel",
    "Pictures", "Place", "PlaneMap", "PointEdits", "Points", "Reading", "RecordedPictures", "Table", "TestCurve",
    "TrainingLoop", "WordBoard", "as_rows", "psnr",
]  # fmt: skip
