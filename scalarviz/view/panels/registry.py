"""Which drawer a kind of panel has: one table, which a user's kinds join."""

from __future__ import annotations

from typing import Any

from ...errors import TypeMismatchError, listing
from ...run import panels as kinds
from ...run.panels import Panel
from .colour_cube import ColourCubeDrawer
from .curve_fit import CurveFitDrawer
from .digits import BoardDrawer, PadDrawer
from .drawer import Drawer, Ground
from .features import FeaturesDrawer
from .graph import GraphDrawer
from .histogram import HistogramDrawer
from .image import ImageDrawer, RecordedPicturesDrawer
from .loop import LoopDrawer
from .loss import LossDrawer
from .loss_over import LossOverDrawer
from .neuron_maps import NeuronMapsDrawer
from .painting import PaintingDrawer
from .pictures import PicturesDrawer
from .plane import PlaneDrawer
from .table import TableDrawer
from .tree import TreeDrawer
from .word import WordDrawer

OWN: dict[type[Panel], type[Drawer[Any]]] = {
    kinds.Pictures: PicturesDrawer,
    kinds.ColourCube: ColourCubeDrawer,
    kinds.DigitBoard: BoardDrawer,
    kinds.DigitPad: PadDrawer,
    kinds.LossCurve: LossDrawer,
    kinds.Image: ImageDrawer,
    kinds.Painting: PaintingDrawer,
    kinds.PlaneMap: PlaneDrawer,
    kinds.NeuronMaps: NeuronMapsDrawer,
    kinds.Features: FeaturesDrawer,
    kinds.Table: TableDrawer,
    kinds.WordBoard: WordDrawer,
    kinds.GraphPanel: GraphDrawer,
    kinds.LossOver: LossOverDrawer,
    kinds.TrainingLoop: LoopDrawer,
    kinds.CurveFit: CurveFitDrawer,
    kinds.GradientTree: TreeDrawer,
    kinds.Histogram: HistogramDrawer,
    kinds.RecordedPictures: RecordedPicturesDrawer,
}
"""The kinds that every scene has."""
_USERS: dict[type[Panel], type[Drawer[Any]]] = {}


def register_panel(kind: type[Panel], drawer: type[Drawer[Any]]) -> None:
    """Let panels of a kind of your own be drawn. A second registration of the same kind replaces the first.

    Parameters
    ----------
    kind : type
        A subclass of :class:`~scalarviz.run.panels.Panel`, by custom a frozen dataclass.
    drawer : type
        A subclass of :class:`Drawer`; ``drawer(panel, ground)`` is made once a picture.

    Raises
    ------
    TypeMismatchError
        Another kind of class, or a kind that scalarviz draws itself.
    """
    given: tuple[tuple[str, object, type], ...] = ("kind", kind, Panel), ("drawer", drawer, Drawer)
    for what, found, base in given:
        if not (isinstance(found, type) and issubclass(found, base) and found is not base):
            raise TypeMismatchError(
                f"register_panel: the {what} must be a subclass of {base.__name__}, got {_word(found)}"
            )
    if kind in OWN:
        raise TypeMismatchError(f"register_panel: {kind.__name__} has a drawer; subclass it and register the subclass")
    _USERS[kind] = drawer


def is_own(panel: Panel) -> bool:
    """Whether the kind is one of scalarviz's: an error while it is drawn is then a defect of ours."""
    return type(panel) in OWN


def drawer_of(panel: Panel, ground: Ground) -> Drawer[Any]:
    """The drawer of a panel; that of its nearest registered base class for a subclass."""
    for kind in type(panel).__mro__:
        found = _USERS.get(kind) or OWN.get(kind)
        if found is not None:
            return found(panel, ground)
    raise TypeMismatchError(
        f"no drawer for panels of the kind {_word(type(panel))}; allowed: "
        f"{listing(k.__name__ for k in (*OWN, *_USERS))}; try sv.view.register_panel({type(panel).__name__}, drawer)"
    )


def _word(thing: object) -> str:
    return thing.__name__ if isinstance(thing, type) else type(thing).__name__
