"""`live`: a scene that trains in a notebook's cell, with sliders, drawn by the browser."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from functools import cache
from typing import Any, Literal

from ...checks import flag, one_of
from ...errors import InputError, TypeMismatchError, UnknownNameError, listing, shown
from ...run.run import Run
from ...run.scene.scene import Scene
from ...scalar import Value, Weight
from ..browser.scripts import joined
from ..browser.style import style
from ..draw.places import check_size
from ..drawn import graph_of
from .controls import names_of
from .graph_cell import GraphShown
from .picture_widget import pictures_class
from .shown import Shown
from .widget import live_class

Display = Literal["values", "pictures"]
DISPLAYS = ("values", "pictures")
SIZE = (680, 510)
"""Pixels of a picture in a cell: cells are narrower than 960."""
SHORT = {"lr": "learning rate", "run": "toggle_run", "micro-step": "micro_next"}
"""Other names of what can be left out."""
PARTS = ("timeline", "inspector", "panels")


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
    x : Scene, Run, Module, Weight, list of Weights, or Value
        A Scene or Run trains when its run button is pressed. Everything else is followed while your own cells change
        it; call ``update(loss=...)`` of what is returned inside a loop. Of a Value its graph is drawn, as by
        ``sv.draw``.
    display : {"values", "pictures"}
        Values: the browser draws the cubes from numbers, 4 bytes a weight. Pictures: the window's whole picture is
        drawn in Python and sent, for browsers that cannot draw.
    size : (int, int), optional
        Width and height in pixels; default: 680 x 510.
    hide : iterable of str
        Controls that are left out: by their names ("learning rate" or "lr", "pace", "batch"), buttons ("restart",
        "micro-step"), "timeline", "inspector", "panels". What is left out cannot be asked for either.
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
    hidden, wanted = _hidden(x, hide), flag(controls, "live: controls")
    if is_graph(x):
        if display != "values" or hidden or not wanted:
            raise InputError(
                "live: a graph has no controls, and the browser draws it: no display, hide or controls here"
            )
        graph = GraphShown(graph_of(x, sys._getframe(1)), pixels, script("renderGraph", "graph.js"), "")
        return live_class()(graph)
    if display == "pictures":
        return pictures_class()(Shown(x, pixels, hidden, wanted, "", "", pictures=True))
    return live_class()(
        Shown(x, pixels, hidden, wanted, script("renderCell", "cell.js", "ownlooks.js"), style("cell.css"))
    )


def is_graph(x: object) -> bool:
    """Whether it is a result, with all that it was computed from: there are no cubes of it."""
    several = list(x) if isinstance(x, list | tuple) else [x]
    return bool(several) and all(isinstance(one, Value) and not isinstance(one, Weight) for one in several)


@cache
def script(render: str, *names: str) -> str:
    """Files of the page's scripts, with what they need, as a module that anywidget renders."""
    return f"{joined(*names)}\nexport default {{ render: {render} }};\n"


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
            raise UnknownNameError(f"live: hide has {shown(name)}; there are {listing(sorted(known | set(SHORT)))}")
    return names
