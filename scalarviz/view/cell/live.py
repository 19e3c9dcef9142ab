"""`live`: a scene that trains in a notebook's cell, with sliders, drawn by the browser; and its widgets.

Their classes are made when they are first asked for: all else works without packages of notebooks.
"""

from __future__ import annotations

import sys
import threading
import weakref
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import cache
from importlib import import_module
from typing import Any, Literal, cast, get_args
from uuid import uuid4

from ...checks import flag, one_of
from ...errors import (
    InputError,
    MissingDependencyError,
    ScalarvizError,
    StateError,
    TypeMismatchError,
    UnknownNameError,
    listing,
    shown,
)
from ...run.run import Run
from ...run.scene.scene import Scene
from ...run.sources.watched import Watched
from ...scalar import Value, Weight
from ..drawing import Drawing, graph_of
from ..ink.boxes import check_size
from ..page.pictures import Output, image_tag
from ..page.scripts import joined, read
from .play import PLACE, names_of
from .saved import StillOutput
from .shown import Shown

Display = Literal["values", "pictures"]
SIZE = (960, 640)  # pixels of a picture in a cell; in a narrower one it is laid out for what there is
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
        The window's picture, both times. Values: the browser draws it, from 4 bytes a weight and a list of words,
        shapes and panels. Pictures: Python draws it and sends pixels, for browsers without WebGL 2.
    size : (int, int), optional
        Width and height in pixels; default: 960 x 640. In a narrower cell it is laid out for the width that there is.
    hide : iterable of str
        Controls that are left out: by their names ("learning rate" or "lr", "pace", "batch"), buttons ("restart",
        "micro-step"), "timeline", "inspector", "panels". What is left out cannot be asked for either.
    controls : bool
        Whether there are a time bar and controls; keys work without them.

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
    one_of(display, get_args(Display), "live: the display")
    pixels = SIZE if size is None else check_size(size)
    hidden, wanted = _hidden(x, hide), flag(controls, "live: controls")
    if is_graph(x):
        if display != "values" or hidden or not wanted:
            raise InputError("live: a graph takes no display, hide or controls; leave them out")
        return live_class()(GraphShown(graph_of(x, sys._getframe(1)), pixels), script("renderGraph", "notebook.js"))
    if display == "pictures":
        return pictures_class()(Shown(x, pixels, hidden, wanted, pictures=True))
    return live_class()(Shown(x, pixels, hidden, wanted), script("renderCell", "cell.js"), read("cell.css"))


def is_graph(x: object) -> bool:
    """Whether it is a result, with all that it was computed from: there are no cubes of it."""
    several = list(x) if isinstance(x, list | tuple) else [x]
    return bool(several) and all(isinstance(one, Value) and not isinstance(one, Weight) for one in several)


@cache
def script(render: str, *names: str) -> str:
    """Files of the page's scripts, with what they need, as a module that anywidget renders."""
    return f"{joined(*names)}\nexport default {{ render: {render} }};\n"


def _hidden(x: object, hide: Any) -> tuple[str, ...]:
    """The names of what is left out, in full."""
    given = (hide,) if isinstance(hide, str) else tuple(hide) if isinstance(hide, Iterable) else None
    if given is None or not all(isinstance(name, str) for name in given):
        raise TypeMismatchError(f"live: hide: got {shown(hide)}; allowed: one name or several names")
    names = tuple(SHORT.get(name, name) for name in given)
    scene = x if isinstance(x, Scene) else Scene("run", x) if isinstance(x, Run) else None
    known = {*PARTS, *(() if scene is None else names_of(scene))}
    for name, full in zip(given, names, strict=True):
        if full not in known:
            raise UnknownNameError(f"live: hide: got {shown(name)}; allowed: {listing(sorted(known | set(SHORT)))}")
    return names


class GraphShown:
    """One cell with a graph, drawn anew when its numbers change: the same as `Shown` for a widget."""

    scene = watched = None

    def __init__(self, drawing: Drawing, size: tuple[int, int]) -> None:
        self._drawing, self._sent, self.closed = drawing, "", False
        self.title = f"graph of {drawing.of}" if drawing.of else "graph"
        self.post: Callable[[dict[str, object], list[bytes]], None] = lambda content, buffers: None
        self.still = StillOutput(f"scalarviz-still-{uuid4().hex[:12]}", self.title)
        self.about: dict[str, object] = {"title": self.title, "still": self.still.name, "size": list(size)}

    @property
    def svg(self) -> str:
        """The picture with the numbers of now."""
        return self._drawing.svg

    def appear(self) -> None:
        """It is put into a notebook."""
        svg, still = self.svg, self.still
        tag = image_tag(svg.encode(), "image/svg+xml", self.title, name=still.name)
        still.set_output(Output(tag, "image/svg+xml", svg, self.title))

    def hear(self, said: object) -> None:
        """A message of the browser: somebody looks."""
        if isinstance(said, dict) and said.get("kind") == "ready":
            self._send(self.svg)

    def look(self) -> None:
        """Draw it anew, if the numbers are others."""
        svg = self.svg
        if not self.closed and svg != self._sent:
            self._send(svg)

    def _send(self, svg: str) -> None:
        if self._sent and svg != self._sent:
            self.appear()
            self.still.renew()
        self._sent = svg
        self.post({"kind": "graph", "svg": svg}, [])

    def act(self, name: str, value: int | None = None) -> None:
        """Nothing can be done to a graph."""
        raise InputError(f"act: a graph has no action {str(name)[:60]!r}; change its Values and call update()")

    def update(self, *arrays: object, **told: object) -> None:
        """Draw it again."""
        if any(one is not None for one in (*arrays, *told.values())):
            raise InputError("update: a graph has no steps; call update() without loss, step, lr and arrays")
        if self.closed:
            raise StateError("update: this cell is closed; run it again")
        self.look()

    def close(self) -> None:
        """The last picture stays."""
        self.closed = True


# ---- The notebook


def need(name: str) -> Any:
    """An optional package of notebooks."""
    try:
        return import_module(name)
    except ImportError as error:
        said = f"{name} is missing, which live cells need; install it: pip install 'scalarviz[notebook]'"
        raise MissingDependencyError(said) from error


def follow(shown: Shown | GraphShown) -> None:
    """After each cell of the notebook look at what it has changed, as long as anybody looks."""
    try:
        shell = import_module("IPython").get_ipython()
    except ImportError:
        return
    if not hasattr(shell, "kernel"):  # no kernel that takes outputs one by one
        return
    events, weak = shell.events, weakref.ref(shown)

    def look(*_: object) -> None:
        one = weak()
        if one is None or one.closed:
            events.unregister("post_run_cell", look)
            return
        with suppress(ScalarvizError):  # a cell that was run is not the place to say it
            one.look()

    events.register("post_run_cell", look)


class InCell:
    """What `Live` does beside being an anywidget: it passes everything on to a `Shown`."""

    _shown: Shown | GraphShown

    def _begin(self, shown: Shown | GraphShown) -> None:
        self._shown, self._sending = shown, threading.Lock()
        shown.post, widget = self._post, cast("Any", self)
        # ipykernel 7.4 takes answers in the shell that a comm was last used from. Frames come from a thread of our own,
        # for which that is whichever shell ran last: while a cell of the user's computes, all would wait for it.
        if hasattr(widget.comm, "_reply_subshell_for"):
            widget.comm._reply_subshell_for = lambda data, addressed: addressed

    def act(self, name: str, value: int | None = None) -> None:
        """Do an action of `scalarviz.view.watch.actions`, as its key does in the window: ``act("step", 10)``."""
        self._shown.act(name, value)

    @property
    def watched(self) -> Watched | None:
        """What another library trains, where that is shown: for ``sv.Recording(cell.watched)``."""
        return self._shown.watched

    def update(
        self, params: object = None, grads: object = None, *,
        loss: object = None, step: object = None, lr: object = None,
    ) -> None:  # fmt: skip
        """Show what a loop of your own has changed; it may say loss, step and learning rate too.

        Where a step makes new arrays (JAX) these are `params`, with their gradients `grads`.
        """
        self._shown.update(params, grads, loss=loss, step=step, lr=lr)

    def close(self) -> None:
        """Stop training and end its thread; the run is free again, and the last picture stays."""
        self._shown.close()
        super().close()  # type: ignore[misc]  # of the widget

    def _post(self, content: dict[str, object], buffers: list[bytes]) -> None:
        """To every place that shows it; where nobody can be reached any more nothing happens."""
        widget: Any = self
        with self._sending, suppress(OSError, RuntimeError, ValueError):  # the socket is being closed
            widget.send(content, buffers)

    def _ipython_display_(self, **named: Any) -> None:
        widget: Any = self
        self._shown.appear()
        if widget.comm is not None:
            data, about = super()._repr_mimebundle_()  # type: ignore[misc]  # of the widget
            need("IPython.display").display(data, metadata=about, raw=True)
        self._shown.still.show()
        if self._shown.scene is None:
            follow(self._shown)

    def __repr__(self) -> str:
        return f"Live({self._shown.title})"


@cache
def live_class() -> type:
    """The class of what :func:`live` returns."""
    anywidget, traitlets = need("anywidget"), need("traitlets")

    class Live(InCell, anywidget.AnyWidget):  # type: ignore[misc, name-defined]
        """What a cell shows.

        ``w.act("step", 10)`` does an action of the window's table, ``w.update(loss=0.1)`` shows what a loop of yours
        has changed, ``w.close()`` stops it: the last picture stays.
        """

        _esm = traitlets.Unicode().tag(sync=True)
        _css = traitlets.Unicode().tag(sync=True)
        about = traitlets.Dict().tag(sync=True)

        def __init__(self, shown: Shown | GraphShown, esm: str, css: str = "") -> None:
            super().__init__(_esm=esm, _css=css, about=shown.about)
            self._begin(shown)
            self.on_msg(lambda _, content, buffers: shown.hear(content))

    return Live


# ---- The widget of a cell of pictures: jupyter_rfb's page with our channel behind it.

LIVES = """
%s
const scalarvizPictures = %s;
export default () => {
  const made = scalarvizPictures();
  return {
    initialize: place => made.initialize(place),
    render(place) {
      const hidden = document.head.appendChild(document.createElement("style"));
      hidden.textContent = `.${place.model.get("about").still} { display: none !important; }`;  // while this lives
      const end = made.render(place);
      const endTheme = watchTheme(theme => place.model.send({ kind: "look", place: "pictures", theme }));
      return () => { endTheme(); hidden.remove(); end?.(); };
    },
  };
};
"""


def script_of(own: str) -> str:
    """jupyter_rfb's module, which hides the still of a notebook while it lives, and says how the notebook looks."""
    body, _, what = own.rpartition("export default")
    return body + LIVES % (joined("notebook.js"), what.strip().rstrip(";"))


@cache
def pictures_class() -> type:
    """The class of what ``sv.live(x, display="pictures")`` returns."""
    rfb, traitlets, capture = need("jupyter_rfb"), need("traitlets"), need("IPython.utils.capture")

    class Pictures(InCell, rfb.RemoteFrameBuffer):  # type: ignore[misc, name-defined]
        """What a cell of pictures shows; it does what `Live` does."""

        _esm = script_of(rfb.RemoteFrameBuffer._esm)
        about = traitlets.Dict().tag(sync=True)

        def __init__(self, shown: Shown) -> None:
            width, height = shown.size
            with capture.capture_output():  # an output widget of its own, for errors that are told elsewhere here
                super().__init__(css_width=f"{width}px", css_height=f"{height}px", about=shown.about)
            self._begin(shown)
            self.observe(lambda change: self._tell("drawn", number=change["new"].get("index")), "_frame_feedback")
            self.observe(lambda change: self._tell("ready" if change["new"] else "gone"), "_has_visible_views")

        def _tell(self, kind: str, **more: object) -> None:
            self._shown.hear({"kind": kind, "place": PLACE, **more})

        def _rfb_handle_msg(self, widget: object, content: Any, buffers: object) -> None:
            self._shown.hear(content)

        def get_frame(self) -> None:
            """Nothing: pictures are sent when the channel is free."""

    return Pictures
