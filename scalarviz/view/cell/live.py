"""`live`: a scene that trains in a notebook's cell, with sliders, drawn by the browser."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterable
from functools import cache
from typing import TYPE_CHECKING, Any, Literal
from uuid import uuid4

from ...checks import flag, one_of
from ...errors import InputError, StateError, TypeMismatchError, UnknownNameError, listing, shown
from ...run.run import Run
from ...run.scene.scene import Scene
from ...scalar import Value, Weight
from ..drawing import Drawing
from ..drawn import graph_of
from ..ink.places import check_size
from ..page.pictures import Output, image_tag
from ..page.scripts import joined, read
from .controls import names_of
from .pictures import PLACE
from .shown import Shown, known_place
from .still import put
from .widget import InCell, heard_where_sent, live_class, need

if TYPE_CHECKING:
    from .shown import Shown


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
        Shown(x, pixels, hidden, wanted, script("renderCell", "cell.js", "ownlooks.js"), read("cell.css"))
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


# ---- `GraphShown`: the graph of a Value in a cell, drawn anew when its numbers change. Nothing trains there.


class Ended:
    """Whether it was closed; in the place of a session."""

    closed = False


class GraphShown:
    """One cell with a graph; for a widget the same as :class:`~.shown.Shown`.

    Parameters
    ----------
    drawing : Drawing
    size : (int, int)
    esm, css : str
    """

    scene = None

    def __init__(self, drawing: Drawing, size: tuple[int, int], esm: str, css: str) -> None:
        self._drawing, self.size, self.esm, self.css = drawing, size, esm, css
        self.title = f"graph of {drawing.of}" if drawing.of else "graph"
        self.post: Callable[[dict[str, object], list[bytes]], None] = lambda content, buffers: None
        self.session, self._sent = Ended(), ""
        self.name = f"scalarviz-still-{uuid4().hex[:12]}"
        self.about: dict[str, object] = {"title": self.title, "still": self.name, "size": list(size)}
        self.still = GraphStill(self)

    @property
    def svg(self) -> str:
        """The picture with the numbers of now."""
        return self._drawing.svg

    # ---- what happens to it

    def appear(self) -> None:
        """It is put into a notebook."""
        self.still.draw()

    def hear(self, said: object) -> None:
        """A message of the browser: somebody looks."""
        if isinstance(said, dict) and said.get("kind") == "ready" and known_place(said.get("place")) is not None:
            self._send()

    def look(self, *, rarely: bool = False) -> None:
        """Draw it anew, if the numbers are others."""
        if not self.session.closed:
            self._send(only_new=True)

    def _send(self, *, only_new: bool = False) -> None:
        svg = self.svg
        if only_new and svg == self._sent:
            return
        if self._sent and svg != self._sent:
            self.still.draw()
            self.still.renew()
        self._sent = svg
        self.post({"kind": "graph", "svg": svg}, [])

    def act(self, name: str, value: int | None = None) -> None:
        """Nothing can be done to a graph.

        Raises
        ------
        InputError
        """
        raise InputError(f"act: a graph has no action {str(name)[:60]!r}; change its Values and call update()")

    def update(
        self, params: object = None, grads: object = None, *,
        loss: object = None, step: object = None, lr: object = None,
    ) -> None:  # fmt: skip
        """Draw it anew.

        Raises
        ------
        InputError
            Something was told of a step: a graph has none.
        StateError
            The cell is closed.
        """
        if any(told is not None for told in (params, grads, loss, step, lr)):
            raise InputError(
                "update: a graph has no steps; call update() without loss, step and lr, and without arrays"
            )
        if self.session.closed:
            raise StateError("update: this cell is closed; run it again")
        self.look()

    def close(self) -> None:
        """The last picture stays."""
        self.session.closed = True


class GraphStill:
    """The picture below the widget that stays in a saved notebook."""

    def __init__(self, shown: GraphShown) -> None:
        self._shown, self.output = shown, Output("", "", "", shown.title)
        self._place: Any = None

    @property
    def html(self) -> str:
        """What most notebooks show of it."""
        return self.output.html

    def draw(self) -> None:
        """The graph of now as an image."""
        shown, svg = self._shown, self._shown.svg
        tag = image_tag(svg.encode(), "image/svg+xml", shown.title, name=shown.name)
        self.output = Output(tag, "image/svg+xml", svg, shown.title)

    def show(self) -> None:
        """Put it below the widget."""
        self._place = put(self.output, self._shown.name)

    def renew(self) -> None:
        """Replace it wherever it stands."""
        if self._place is not None:
            self._place.update(self.output)


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
      const end = made.render(place), density = window.devicePixelRatio || 1;
      const endTheme = watchTheme(theme => place.model.send({ kind: "look", place: "pictures", theme, density }));
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
    """The class of what ``sv.live(x, display="pictures")`` returns.

    Raises
    ------
    MissingDependencyError
        There is no jupyter_rfb.
    """
    rfb, traitlets, capture = need("jupyter_rfb"), need("traitlets"), need("IPython.utils.capture")

    class Pictures(InCell, rfb.RemoteFrameBuffer):  # type: ignore[misc, name-defined]
        """What a cell of pictures shows; it does what `Live` does."""

        _esm = script_of(rfb.RemoteFrameBuffer._esm)
        about = traitlets.Dict().tag(sync=True)

        def __init__(self, shown: Shown) -> None:
            self._shown, self._sending = shown, threading.Lock()
            width, height = shown.size
            with capture.capture_output():  # an output widget of its own, for errors that are told elsewhere here
                super().__init__(css_width=f"{width}px", css_height=f"{height}px", about=shown.about)
            shown.post = self._post
            heard_where_sent(self)
            self.observe(lambda change: self._fed_back(change["new"]), "_frame_feedback")
            self.observe(lambda change: self._seen(change["new"]), "_has_visible_views")

        def _fed_back(self, feedback: dict[str, Any]) -> None:
            self._shown.hear({"kind": "drawn", "place": PLACE, "number": feedback.get("index")})

        def _seen(self, visible: bool) -> None:
            self._shown.hear({"kind": "ready" if visible else "gone", "place": PLACE})

        def _rfb_handle_msg(self, widget: object, content: Any, buffers: object) -> None:
            self._shown.hear(content)

        def get_frame(self) -> None:
            """Nothing: pictures are sent when the channel is free."""

    return Pictures
