"""`live`: a scene that trains in a notebook's cell, with sliders, drawn by the browser."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal

from ...checks import flag, one_of
from ...errors import TypeMismatchError, UnknownNameError, listing, shown
from ...run.run import Run
from ...run.scene import Scene
from ..draw.places import check_size
from .controls import names_of
from .shown import Shown
from .widget import live_class

Display = Literal["values", "pictures"]
DISPLAYS = ("values", "pictures")
SIZE = (680, 510)
"""Pixels of a picture in a cell: cells are narrower than 960."""
SHORT = {"lr": "learning rate", "run": "toggle_run", "micro-step": "micro_next"}
"""Other names of what can be left out."""
PARTS = ("timeline", "inspector")


def live(
    x: object,
    *,
    display: Display = "values",
    size: tuple[int, int] | None = None,
    hide: Iterable[str] = (),
    controls: bool = True,
) -> Any:
    """Show `x` in a notebook's cell, live: it trains while other cells run, and sliders change it.

    Parameters
    ----------
    x : Scene, Run, Module, Weight, or a list of Weights
        A Scene or Run trains when its run button is pressed. Everything else is followed while your own cells change
        it; call ``update(loss=...)`` of what is returned inside a loop.
    display : {"values", "pictures"}
        Values: the browser draws the cubes from numbers, 4 bytes a weight. Pictures: the window's whole picture is
        drawn in Python and sent, for browsers that cannot draw.
    size : (int, int), optional
        Width and height in pixels; default: 680 x 510.
    hide : iterable of str
        Controls that are left out: by their names ("learning rate" or "lr", "pace", "batch"), buttons ("restart",
        "micro-step"), "timeline", "inspector". What is left out cannot be asked for either.
    controls : bool
        Whether there are buttons and sliders below the picture.

    Returns
    -------
    Live
        An anywidget, the output of a cell that ends with it. ``act("step", 10)`` does what a key does, ``close()``
        stops it. The last frame stays in the saved notebook as a picture.

    Raises
    ------
    TypeMismatchError, InputError, UnknownNameError
        Something without weights, a size that cannot be drawn, names of controls that there are not.
    MissingDependencyError
        A package of the extra `notebook` is missing.

    Notes
    -----
    Training that is watched computes the same bits as training that is not.
    """
    one_of(display, DISPLAYS, "live: the display")
    pixels = SIZE if size is None else check_size(size)
    hidden = _hidden(x, hide)
    kind = live_class()
    return kind(Shown(x, pixels, hidden, flag(controls, "live: controls"), _script(), ""))


def _script() -> str:
    return "export default { render() {} };"


def _hidden(x: object, hide: Any) -> tuple[str, ...]:
    """The names of what is left out, in full.

    Raises
    ------
    TypeMismatchError, UnknownNameError
        No texts; a name that nothing here has.
    """
    given = (hide,) if isinstance(hide, str) else tuple(hide) if isinstance(hide, Iterable) else None
    if given is None or not all(isinstance(name, str) for name in given):
        raise TypeMismatchError(f"live: hide is several names, got {shown(hide)}")
    names = tuple(SHORT.get(name, name) for name in given)
    scene = x if isinstance(x, Scene) else Scene("run", x) if isinstance(x, Run) else None
    known = {*PARTS, *(() if scene is None else names_of(scene))}
    for name, full in zip(given, names, strict=True):
        if full not in known:
            raise UnknownNameError(f"live: hide has {name!r}; there are {listing(sorted(known | set(SHORT)))}")
    return names
