"""Which drawer a kind of panel has: one table, which a user's kinds join."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from inspect import isfunction
from typing import Any

from ...errors import ScalarvizError, TypeMismatchError, listing
from ...run import panels as kinds
from ...run.panels import Panel
from ..ink.sketch import Sketch
from .colour_cube import ColourCubeDrawer
from .curve_fit import CurveFitDrawer
from .digits import BoardDrawer, PadDrawer
from .drawer import Drawer, Ground, sentence
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

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> import scalarviz as sv
    >>> from scalarviz.run.panels import Panel
    >>> @dataclass(frozen=True)
    ... class Bar(Panel):
    ...     label: str
    >>> class BarDrawer(sv.view.Drawer[Bar]):
    ...     name, height = "bar", 40.0
    ...
    ...     def draw(self, moment, box, seconds):
    ...         sketch, (x, y, width, _) = sv.view.Sketch(), box
    ...         sketch.text(x, y + 14, self.panel.label, 13, self.ground.theme.text1)
    ...         sketch.rect(x, y + 20, width * min(moment.frame.loss, 1.0), 12, fill=self.ground.theme.pulse)
    ...         return [sketch]
    >>> sv.view.register_panel(Bar, BarDrawer)
    >>> panels = (Bar("loss of 1 at most"),)  # of sv.Scene("mine", run, panels=panels)
    """
    given: tuple[tuple[str, object, type], ...] = ("kind", kind, Panel), ("drawer", drawer, Drawer)
    for what, found, base in given:
        if not (isinstance(found, type) and issubclass(found, base) and found is not base):
            raise TypeMismatchError(
                f"register_panel: the {what} must be a subclass of {base.__name__}, got {_word(found)}"
            )
    if kind in OWN:
        raise TypeMismatchError(f"register_panel: {kind.__name__} has a drawer; subclass it and register the subclass")
    _USERS[kind] = _guarded(drawer)


_ASKED = frozenset(name for name in vars(Drawer) if not name.startswith("_"))
_DRAWS = ("draw", "around", "below", "inside", "marks", "label")
_HANDS = ("press", "drag", "release", "click", "shift_click", "double_click", "zoom", "key", "take")


def _guarded(drawer: type[Drawer[Any]]) -> type[Drawer[Any]]:
    """A user's drawer that takes no window down: what raises is told once; `Drawer` answers instead.

    What a hand asked for and scalarviz refused is said in the picture, as for drawers of its own.
    """

    def failed(self: Drawer[Any], name: str, error: Exception) -> str:
        return self.ground.failed(f"{drawer.__name__}.{name}", error)

    def call(self: Drawer[Any], name: str, method: Callable[..., Any], *given: Any) -> Any:
        try:
            found = method(*given)
            if name in _DRAWS and not (isinstance(found, Sequence) and all(isinstance(one, Sketch) for one in found)):
                raise TypeMismatchError(f"{name} gave {type(found).__name__}, not a list of Sketch")
            return found
        except Exception as error:
            if name in _HANDS and isinstance(error, ScalarvizError):
                raise
            said = failed(self, name, error)
            if name == "draw":
                return [sentence(given[1], self.ground.theme, f"{self.name}: {said}")]
            return getattr(Drawer, name)(self, *given)

    def get(self: Drawer[Any], name: str) -> Any:
        if name not in _ASKED:
            return drawer.__getattribute__(self, name)
        try:
            found = drawer.__getattribute__(self, name)
        except Exception as error:  # of a property
            own, raised = vars(Drawer)[name], error
            if not isfunction(own):
                failed(self, name, error)
                return own.__get__(self) if isinstance(own, property) else own

            def found(*given: Any) -> Any:
                raise raised

        return partial(call, self, name, found) if callable(found) else found

    return type(drawer.__name__, (drawer,), {"__getattribute__": get})


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
