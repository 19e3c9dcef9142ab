"""The table from kinds of panels to their drawers, which a user's kinds join."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import fields
from inspect import isfunction
from itertools import chain
from math import isfinite
from numbers import Real
from types import UnionType
from typing import Any, get_args

import numpy as np

from ...errors import InputError, ScalarvizError, TypeMismatchError, listing, shown
from ...run import panels as kinds
from ...run.panels import Panel
from ..cubes.scale import LegendScale
from ..ink.sketch import Anchor, Sketch, TextItem, rgba
from .colour_cube import ColourCubeDrawer
from .digits import BoardDrawer, PadDrawer
from .drawer import Drawer, Headline, SharedState, sentence
from .image import GraphDrawer, ImageDrawer, PaintingDrawer, PicturesDrawer, RecordedPicturesDrawer
from .loss import LossDrawer
from .neuron_maps import FeaturesDrawer, NeuronMapsDrawer
from .one_step import LoopDrawer, LossOverDrawer, TreeDrawer
from .points import CurveFitDrawer, PlaneDrawer
from .table import HistogramDrawer, TableDrawer
from .word import WordDrawer

DRAWERS: dict[type[Panel], type[Drawer[Any]]] = {
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
"""The built-in kinds."""
_USERS: dict[type[Panel], type[Drawer[Any]]] = {}


def register_panel(kind: type[Panel], drawer: type[Drawer[Any]]) -> None:
    """Let panels of your own kind be drawn. A second registration of the same kind replaces the first.

    Parameters
    ----------
    kind : type
        A subclass of :class:`~scalarviz.run.panels.Panel`, usually a frozen dataclass.
    drawer : type
        A subclass of :class:`Drawer`; ``drawer(panel, shared)`` is called once per picture.

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
    ...         sketch.text(x, y + 14, self.panel.label, 13, self.shared.theme.text1)
    ...         sketch.rect(x, y + 20, width * min(moment.frame.loss, 1.0), 12, fill=self.shared.theme.pulse)
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
    if kind in DRAWERS:
        raise TypeMismatchError(f"register_panel: {kind.__name__} has a drawer; subclass it and register the subclass")
    _USERS[kind] = _guarded(drawer)


_ASKED = {name: own for name, own in vars(Drawer).items() if not name.startswith("_")}
_HANDS = ("press", "drag", "release", "click", "shift_click", "double_click", "zoom", "key", "take")


def _are(found: Any, kind: type | UnionType, count: int | None = None) -> bool:
    """Return whether an object is a sequence of a kind, with `count` elements if given."""
    several = isinstance(found, Sequence) and not isinstance(found, str) and all(isinstance(one, kind) for one in found)
    return several and count in (None, len(found))


def _is_colour(found: Any) -> bool:
    with suppress(TypeError, ValueError, IndexError):
        return _is_finite(rgba(found))
    return False


def _is_finite(found: Any) -> bool:
    with suppress(TypeError, ValueError):
        return not isinstance(found, str) and bool(np.isfinite(np.asarray(found).astype(np.float32)).all())
    return False


Rule = tuple[str, Callable[[Any], bool]]
_FINITE: Rule = "finite numbers", _is_finite
_LEAST: Rule = "0 or more", lambda found: _is_finite(found) and found >= 0
_IN_SKETCHES: dict[str, Rule] = {
    "text": ("a text", lambda found: isinstance(found, str)),
    "anchor": (listing(get_args(Anchor)), lambda found: found in get_args(Anchor)),
    "size": ("above 0", lambda found: _is_finite(found) and found > 0),
    "pixels": ("uint8 (H, W, 3)", lambda found: found.dtype == np.uint8 and found.shape[2:] == (3,) and found.size > 0),
    "gap": ("finite, or None", lambda found: found is None or _is_finite(found)),
    **dict.fromkeys(("colour", "fill", "stroke"), ("#rrggbb, or numbers", lambda f: f is None or _is_colour(f))),
    **dict.fromkeys(("width", "height", "radius", "border", "diameter"), _LEAST),
    **dict.fromkeys(("name", "value", "words", "tip", "bound", "linear", "round_ends", "rings"), ("", lambda _: True)),
}
"""Allowed values in the records of a display list, by name of field; other fields hold finite numbers."""


def _records(sketch: Sketch) -> tuple[Sequence[Any], ...]:
    return sketch.shapes, sketch.tops, sketch.texts, sketch.images, sketch.points, sketch.small, sketch.spots


def _wrong_in(sketches: Sequence[Sketch]) -> str:
    """Return the first invalid part of a user's display lists in words, or ""."""
    for record in chain.from_iterable(parts for sketch in sketches for parts in _records(sketch)):
        for part in fields(record):
            found, (wanted, right) = getattr(record, part.name), _IN_SKETCHES.get(part.name, _FINITE)
            if not right(found):
                kind = type(record).__name__.removesuffix("Item").lower()
                kind += f" {shown(record.text)}" if isinstance(record, TextItem) else ""
                return f"{kind}: {part.name} {shown(found)}; allowed: {wanted}"
    return ""


_NUMBER: Rule = "a finite number", lambda found: isinstance(found, Real) and isfinite(found)
_PAIR: Rule = "two numbers", lambda found: _are(found, Real, 2) and _is_finite(found)
_TEXTS: Rule = "a tuple of texts", lambda found: _are(found, str)
_LINES: Rule = "pairs of texts", lambda found: _are(found, Sequence) and all(_are(one, str, 2) for one in found)
_DRAWS = ("draw", "around", "below", "inside", "marks", "label")
_RULES: dict[str, Rule] = {
    **dict.fromkeys(_DRAWS, ("a list of Sketch", lambda found: _are(found, Sketch))),
    **dict.fromkeys(("height", "most", "least", "above", "within", "worth", "beside_cubes"), _NUMBER),
    **dict.fromkeys(("gestures", "choices", "lessons"), _LINES),
    "overlay": _PAIR,
    "beside": ("two numbers, or None", lambda found: found is None or _PAIR[1](found)),
    "spread": ("a finite number, or None", lambda found: found is None or _NUMBER[1](found)),
    "needs": _TEXTS,
    "keys": _TEXTS,
    "name": ("a text", lambda found: isinstance(found, str)),
    "take": ("a text, or None", lambda found: isinstance(found, str | None)),
    "scale": ("a LegendScale, or None", lambda found: isinstance(found, LegendScale | None)),
    "headline": ("a Headline of texts, or None",
                 lambda found: found is None or (isinstance(found, Headline) and _are(found[:2], str))),
}  # fmt: skip
"""Rules for the results of a drawer's methods; other results are not checked."""


def _guarded(drawer: type[Drawer[Any]]) -> type[Drawer[Any]]:
    """Return a user's drawer guarded: an exception or an invalid result is reported once; `Drawer` answers instead.

    A drawer that cannot be made shows its error in its place. A refused edit is shown in the picture, as for built-in
    drawers.
    """

    def begin(self: Any, panel: Panel, shared: SharedState) -> None:
        Drawer.__init__(self, panel, shared)
        try:
            drawer.__init__(self, panel, shared)
        except Exception as error:
            self.unmade = error

    def get(self: Any, name: str) -> Any:
        if name not in _ASKED:
            return drawer.__getattribute__(self, name)
        plain, unmade = _ASKED[name], vars(self).get("unmade")

        def ask(*given: Any) -> Any:
            try:
                if unmade is not None:
                    raise unmade
                found = drawer.__getattribute__(self, name)
                found = found(*given) if isfunction(plain) else found
                wanted, right = _RULES.get(name, ("", None))
                if right is not None and not right(found):
                    raise TypeMismatchError(f"{name} returned {_word(type(found))}; allowed: {wanted}")
                if name in _DRAWS and (wrong := _wrong_in(found)):
                    raise InputError(wrong)
                return found
            except Exception as error:
                if name in _HANDS and isinstance(error, ScalarvizError) and error is not unmade:
                    raise
                said = self.shared.report_failure(f"{drawer.__name__}.{'__init__' if error is unmade else name}", error)
            if name == "draw":
                return [sentence(given[1], self.shared.theme, f"{self.name}: {said}")]
            if isfunction(plain):
                return plain(self, *given)
            return plain.__get__(self) if isinstance(plain, property) else plain

        return ask if isfunction(plain) else ask()

    return type(drawer.__name__, (drawer,), {"__init__": begin, "__getattribute__": get})


def drawer_of(panel: Panel, shared: SharedState) -> Drawer[Any]:
    """Return the drawer of a panel, or that of its nearest registered base class."""
    for kind in type(panel).__mro__:
        found = _USERS.get(kind) or DRAWERS.get(kind)
        if found is not None:
            return found(panel, shared)
    raise TypeMismatchError(
        f"no drawer for panels of the kind {_word(type(panel))}; allowed: "
        f"{listing(k.__name__ for k in (*DRAWERS, *_USERS))}; "
        f"try sv.view.register_panel({type(panel).__name__}, drawer)"
    )


def _word(thing: object) -> str:
    return thing.__name__ if isinstance(thing, type) else type(thing).__name__
