"""`live`: a scene that trains in a notebook cell, with sliders, drawn by the browser; and its widgets.

The widget classes are created on first use, so that everything else works without notebook packages.
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
    typed,
)
from ...run.run import Run
from ...run.scene.scene import Scene
from ...run.sources.watched import Watched
from ...scalar import Value, Weight
from ..drawing import Drawing, graph_of
from ..ink.boxes import check_size
from ..out.apart import kernel
from ..page.pictures import Output, image_tag
from ..page.scripts import joined, read
from .play import PLACE, names_of
from .saved import StillOutput
from .shown import Shown

Display = Literal["values", "pictures"]
SIZE = (960, 640)  # pixels of a picture in a cell; a narrower cell changes the layout
SHORT = {"lr": "learning rate", "run": "toggle_run", "micro-step": "micro_next"}
"""Short names for `hide`."""
PARTS = ("timeline", "inspector", "panels")


def live(
    x: object,
    *,
    display: Display = "values",
    size: tuple[int, int] | None = None,
    hide: Iterable[str] = (),
    controls: bool = True,
) -> Any:
    """Show `x` live in a notebook cell: it trains while other cells run, and sliders change it.

    Parameters
    ----------
    x : Scene, Run, Module, Weight, list of Weights, or Value
        A Scene or Run trains when its run button is pressed. Everything else is followed while your own cells change
        it; inside a loop call ``update(loss=...)`` of the returned object. A Value is drawn as its graph, as by
        ``sv.draw``.
    display : {"values", "pictures"}
        Both show the window's picture. Values: the browser draws it, from 4 bytes a weight and a list of words, shapes
        and panels. Pictures: Python draws it and sends pixels, for browsers without WebGL 2.
    size : (int, int), optional
        Width and height in pixels; default: 960 x 640. A narrower cell is laid out for its own width.
    hide : iterable of str
        Controls to leave out: names ("learning rate" or "lr", "pace", "batch"), buttons ("restart", "micro-step"),
        "timeline", "inspector", "panels". Keys for hidden controls do nothing either.
    controls : bool
        Whether to show a time bar and controls; keys work without them.

    Returns
    -------
    Live
        An anywidget; make it the last line of the cell. ``act("step", 10)`` does what a key does, ``close()`` stops it.
        The saved notebook keeps the last frame as a picture.

    Raises
    ------
    TypeMismatchError, InputError, UnknownNameError
        `x` has no weights, the size cannot be drawn, or a control is unknown.
    MissingDependencyError
        A package of the extra `notebook` is missing.

    Notes
    -----
    Watching does not change the bits that training computes.
    """
    one_of(display, get_args(Display), "live: the display")
    pixels = SIZE if size is None else check_size(size)
    hidden, wanted = _hidden(x, hide), flag(controls, "live: controls")
    if is_graph(x):
        if display != "values" or hidden or not wanted:
            raise InputError("live: a graph takes no display, hide or controls; remove these arguments")
        return live_class()(GraphShown(graph_of(x, sys._getframe(1)), pixels), script("renderGraph", "notebook.js"))
    if display == "pictures":
        return pictures_class()(Shown(x, pixels, hidden, wanted, pictures=True))
    return live_class()(Shown(x, pixels, hidden, wanted), script("renderCell", "cell.js"), read("cell.css"))


def predict(x: Scene | Run, *, size: tuple[int, int] | None = None) -> Any:
    """Ask in a notebook cell whether each weight rises or falls in the next training step.

    The cell opens the step at its first gradient. Press the arrow on the cube, or the keys Up and Down; the answer
    comes with its reason, and right answers are counted. The key ``.`` goes on.

    Parameters
    ----------
    x : Scene or Run
        Its next step is opened; it trains as usual once all weights are told.
    size : (int, int), optional
        Width and height in pixels, as for :func:`live`.

    Returns
    -------
    Live
        As :func:`live` returns it.

    Raises
    ------
    TypeMismatchError, InputError
        `x` is no Scene or Run, or the size cannot be drawn.
    MissingDependencyError
        A package of the extra `notebook` is missing.
    """
    if not isinstance(x, Scene | Run):
        raise TypeMismatchError(
            f"predict: got {typed(x)}; allowed: a Scene or Run; try sv.predict(Run(net, loss, opt, x, y))"
        )
    cell = live(x, size=size)
    cell.act("predict")
    return cell


def is_graph(x: object) -> bool:
    """Return whether `x` is a computed Value, or several: it is shown as a graph, not as cubes."""
    several = list(x) if isinstance(x, list | tuple) else [x]
    return bool(several) and all(isinstance(one, Value) and not isinstance(one, Weight) for one in several)


@cache
def script(render: str, *names: str) -> str:
    """Return script files of the page with their dependencies, as a module for anywidget."""
    return f"{joined(*names)}\nexport default {{ render: {render} }};\n"


def _hidden(x: object, hide: Any) -> tuple[str, ...]:
    """Return the full names of the hidden controls."""
    given = (hide,) if isinstance(hide, str) else tuple(hide) if isinstance(hide, Iterable) else None
    if given is None or not all(isinstance(name, str) for name in given):
        raise TypeMismatchError(f"live: hide must be a name or a list of names, got {shown(hide)}")
    names = tuple(SHORT.get(name, name) for name in given)
    scene = x if isinstance(x, Scene) else Scene("run", x) if isinstance(x, Run) else None
    known = {*PARTS, *(() if scene is None else names_of(scene))}
    for name, full in zip(given, names, strict=True):
        if full not in known:
            raise UnknownNameError(f"live: hide: got {shown(name)}; allowed: {listing(sorted(known | set(SHORT)))}")
    return names


class GraphShown:
    """A cell with a graph, redrawn when its numbers change; it has the interface of `Shown`."""

    scene = watched = None

    def __init__(self, drawing: Drawing, size: tuple[int, int]) -> None:
        self._drawing, self._sent, self.closed = drawing, "", False
        self.title = f"graph of {drawing.of}" if drawing.of else "graph"
        self.post: Callable[[dict[str, object], list[bytes]], None] = lambda content, buffers: None
        self.still = StillOutput(f"scalarviz-still-{uuid4().hex[:12]}", self.title)
        self.about: dict[str, object] = {"title": self.title, "still": self.still.name, "size": list(size)}

    def appear(self) -> None:
        """Draw the still for a cell that appears."""
        svg, still = self._drawing.svg, self.still
        tag = image_tag(svg.encode(), "image/svg+xml", self.title, name=still.name)
        still.set_output(Output(tag, "image/svg+xml", svg, self.title))

    def hear(self, said: object) -> None:
        """Handle a message of the browser."""
        if isinstance(said, dict) and said.get("kind") == "ready":
            self._send(self._drawing.svg)

    def look(self) -> None:
        """Redraw if the numbers have changed."""
        svg = self._drawing.svg
        if not self.closed and svg != self._sent:
            self._send(svg)

    def _send(self, svg: str) -> None:
        if self._sent and svg != self._sent:
            self.appear()
            self.still.renew()
        self._sent = svg
        self.post({"kind": "graph", "svg": svg}, [])

    def act(self, name: str, value: int | None = None) -> None:
        """Raise InputError: a graph has no actions."""
        raise InputError(f"act: a graph has no action {str(name)[:60]!r}; change its Values and call update()")

    def update(self, *arrays: object, **told: object) -> None:
        """Draw the graph again."""
        if any(one is not None for one in (*arrays, *told.values())):
            raise InputError("update: a graph has no steps; call update() without loss, step, lr and arrays")
        if self.closed:
            raise StateError("update: this cell is closed; run it again")
        self.look()

    def close(self) -> None:
        """Stop updating; the last picture stays."""
        self.closed = True


# ---- The notebook


def need(name: str) -> Any:
    """Return an optional package of notebooks."""
    try:
        return import_module(name)
    except ImportError as error:
        said = f"{name} is missing, which live cells need; install it: pip install 'scalarviz[notebook]'"
        raise MissingDependencyError(said) from error


def follow(shown: Shown | GraphShown) -> None:
    """Look for changes after each cell of the notebook until the view closes."""
    shell = kernel()
    if shell is None:
        return
    events, weak = shell.events, weakref.ref(shown)

    def look(*_: object) -> None:
        one = weak()
        if one is None or one.closed:
            events.unregister("post_run_cell", look)
            return
        with suppress(ScalarvizError):  # another cell is not the place for this error
            one.look()

    events.register("post_run_cell", look)


class InCell:
    """The methods that `Live` adds to an anywidget; they call a `Shown`."""

    _shown: Shown | GraphShown

    def _begin(self, shown: Shown | GraphShown) -> None:
        self._shown, self._sending = shown, threading.Lock()
        shown.post, widget = self._post, cast("Any", self)
        # ipykernel 7.4 takes answers in the shell that a comm was last used from. Frames come from a thread of our own,
        # for which that is whichever shell ran last: while a cell of the user's computes, all would wait for it.
        if hasattr(widget.comm, "_reply_subshell_for"):
            widget.comm._reply_subshell_for = lambda data, addressed: addressed

    def act(self, name: str, value: int | None = None) -> None:
        """Run an action of `scalarviz.view.watch.actions`, as its key does in the window: ``act("step", 10)``."""
        self._shown.act(name, value)

    @property
    def watched(self) -> Watched | None:
        """The model of another library that the cell shows, or None: for ``sv.Recording(cell.watched)``."""
        return self._shown.watched

    def update(
        self, params: object = None, grads: object = None, *,
        loss: object = None, step: object = None, lr: object = None,
    ) -> None:  # fmt: skip
        """Show what your own loop has changed; optionally with loss, step and learning rate.

        If a step creates new arrays (JAX), pass them as `params`, with their gradients as `grads`.
        """
        self._shown.update(params, grads, loss=loss, step=step, lr=lr)

    def close(self) -> None:
        """Stop training and end its thread; the run is free again, and the last picture stays."""
        self._shown.close()
        super().close()  # type: ignore[misc]  # of the widget

    def _post(self, content: dict[str, object], buffers: list[bytes]) -> None:
        """Send to all views of the widget; ignore closed connections."""
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
    """Return the class of the object that :func:`live` returns."""
    anywidget, traitlets = need("anywidget"), need("traitlets")

    class Live(InCell, anywidget.AnyWidget):  # type: ignore[misc, name-defined]
        """The live view in a cell.

        ``w.act("step", 10)`` runs an action of the window, ``w.update(loss=0.1)`` shows the changes of your own loop,
        ``w.close()`` stops it: the last picture stays.
        """

        _esm = traitlets.Unicode().tag(sync=True)
        _css = traitlets.Unicode().tag(sync=True)
        about = traitlets.Dict().tag(sync=True)

        def __init__(self, shown: Shown | GraphShown, esm: str, css: str = "") -> None:
            super().__init__(_esm=esm, _css=css, about=shown.about)
            self._begin(shown)
            self.on_msg(lambda _, content, buffers: shown.hear(content))

    return Live


# ---- The widget of a cell of pictures: the page of jupyter_rfb with our `Channel`.

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
    """Return jupyter_rfb's module, changed to hide the still while it lives and to send the notebook's theme."""
    body, _, what = own.rpartition("export default")
    return body + LIVES % (joined("notebook.js"), what.strip().rstrip(";"))


@cache
def pictures_class() -> type:
    """Return the class of the object that ``sv.live(x, display="pictures")`` returns."""
    rfb, traitlets, capture = need("jupyter_rfb"), need("traitlets"), need("IPython.utils.capture")

    class Pictures(InCell, rfb.RemoteFrameBuffer):  # type: ignore[misc, name-defined]
        """The live view in a cell of pictures, with the methods of `Live`."""

        _esm = script_of(rfb.RemoteFrameBuffer._esm)
        about = traitlets.Dict().tag(sync=True)

        def __init__(self, shown: Shown) -> None:
            width, height = shown.size
            with capture.capture_output():  # it creates an output widget for errors, which are reported elsewhere
                super().__init__(css_width=f"{width}px", css_height=f"{height}px", about=shown.about)
            self._begin(shown)
            self.observe(lambda change: self._tell("drawn", number=change["new"].get("index")), "_frame_feedback")
            self.observe(lambda change: self._tell("ready" if change["new"] else "gone"), "_has_visible_views")

        def _tell(self, kind: str, **more: object) -> None:
            self._shown.hear({"kind": kind, "place": PLACE, **more})

        def _rfb_handle_msg(self, widget: object, content: Any, buffers: object) -> None:
            self._shown.hear(content)

        def get_frame(self) -> None:
            """Do nothing: pictures are sent when the channel is free."""

    return Pictures
