"""`Drawing`: the picture of a graph of Values, as SVG, as PNG, and in a notebook; `GraphView`: the same in a window."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import Any, Literal

import numpy as np

from ..checks import flag, integer, one_of
from ..errors import InputError, ScalarvizError, TypeMismatchError, shown, typed
from ..io.atomic import as_path
from ..nn import Module, Parameter
from ..scalar import Value, mistaken
from ..scalar.nested import every
from ..scalar.number import Many
from .graph.figure import GraphFigure, Shown, Wish, node_label, shown_of, variables
from .graph.layout import Box, Layout
from .graph.nodes import Calls, called, key_of
from .ink.boxes import LABEL
from .ink.figure import View, svg_of
from .ink.painter import Painter, require_vispy
from .ink.sketch import Point, Sketch, TextItem
from .ink.text import measure
from .ink.theme import get_theme
from .ink.widgets import banner, help_panel
from .screen.hud import drawing_words
from .watch.actions import GRAPH
from .watch.host import Host, Room
from .watch.pointer import DOUBLE

Theme = Literal["auto", "dark", "light"]
Roots = Callable[[], tuple[Sequence[Value], Calls | None]]
"""Returns the current results, and the calls of the modules that made them, or None if unknown."""
THEMES = ("auto", "dark", "light")
SHARP = 2.0
"""Pixels of a PNG per pixel of the drawing; fewer for a large drawing."""
SIDE = 8192
"""Most pixels of a side of a PNG."""


class Drawing:
    """The picture of a graph. It is drawn again each time you use it, so after ``backward()`` it has the new numbers.

    A notebook cell that ends with it shows it. :func:`draw` makes it.

    Attributes
    ----------
    theme : {"auto", "dark", "light"}
    folds : tuple of str
        Names that can be unfolded, as in ``sv.draw(z, unfold="0")``.
    of : str
        The name of the graph's result; empty without one.
    wish : Wish
    handle : Handle or None
        The window that shows it.
    """

    def __init__(self, roots: Roots, model: Module | None, wish: Wish, theme: Theme = "auto") -> None:
        self._roots, self._model, self.wish, self.theme = roots, model, wish, theme
        self.handle: Any = None
        self._made_with = mistaken.words()
        shown = self.shown()
        self.folds, self.of = shown.folds, shown.of
        # an id may be reused after its object dies: keep names only of the graph's objects, and hold these
        self._named = [of for of in shown.objects if id(of) in wish.names]
        self.wish = replace(wish, names={id(one): wish.names[id(one)] for one in self._named})

    # ---- parts

    def shown(self, more: Sequence[str] = ()) -> Shown:
        """Return the graph with the current numbers; `more` is unfolded as well."""
        roots, calls = self._roots()
        wish = replace(self.wish, unfold=(*self.wish.unfold, *more)) if more else self.wish
        return shown_of(roots, wish, self._model, calls)

    def layout(self, more: Sequence[str] = ()) -> Layout:
        """Return the current layout."""
        return Layout(self.shown(more).items, self.wish.digits)

    def ink(self, theme: str, layout: Layout | None = None) -> GraphFigure:
        """Return the figure in a theme."""
        return GraphFigure(layout or self.layout(), get_theme(theme), self.of, wrong=drawing_words(self._made_with))

    # ---- output

    @property
    def svg(self) -> str:
        """The picture as SVG text, with the current numbers."""
        layout = self.layout()
        title = f"graph of {self.of}" if self.of else "graph"
        if self.theme != "auto":
            return svg_of(self.ink(self.theme, layout), title=title)
        return svg_of(self.ink("light", layout), dark=self.ink("dark", layout), title=title)

    def _repr_svg_(self) -> str:
        return self.svg

    def _repr_html_(self) -> str | None:
        """Return inline SVG, which follows the notebook's theme; a separate image could not. None for a fixed theme."""
        return self.svg if self.theme == "auto" else None

    def pixels(self, theme: str = "", scale: float = SHARP) -> np.ndarray[Any, np.dtype[np.uint8]]:
        """Return the picture as uint8 (H, W, 3). Default theme: the drawing's, or light if that is auto.

        Raises
        ------
        MissingDependencyError
            Nothing can paint here; the message says what to install.
        """
        require_vispy()
        from .out.offscreen import offscreen

        ink = self.ink(theme or ("light" if self.theme == "auto" else self.theme))
        scale = min(scale, SIDE / max(ink.width, ink.height))
        size = round(ink.width * scale), round(ink.height * scale)
        sketch = ink.placed()
        with offscreen():
            painter = Painter((size[0] / scale, size[1] / scale), scale)
        return offscreen().render(lambda _: painter.draw([sketch]), size)

    def save(self, path: str | Path) -> Path:
        """Write the picture.

        Parameters
        ----------
        path : str or Path
            Ends with ``.svg`` or ``.png``; both show the same drawing. With the theme auto a PNG is light.

        Raises
        ------
        InputError
            Another suffix, or a file that cannot be written.
        MissingDependencyError
            Nothing can paint a PNG here.
        """
        target = as_path(path)
        if target.suffix.lower() not in (".svg", ".png"):
            raise InputError(f"drawing: got the file name {shown(str(path))}; allowed: .svg or .png, such as graph.svg")
        from .out.files import save

        return save(target, self.pixels, lambda: self.svg)

    def __repr__(self) -> str:
        now = self.shown()
        folded = sum(item.folded for item in now.items)
        more = f", {folded} folded" if folded else ""
        count = f"{len(now.objects)} node{'s' if len(now.objects) > 1 else ''}"
        return f"Drawing({self.of + ': ' if self.of else ''}{count}, {len(now.items)} drawn{more})"


# ---- `draw`: the graph of a Value, a neuron or a small network as a picture, in a notebook, a file or a window.

MOST_DIGITS = 12
WINDOW = (1280, 720)
"""Initial size of a window in logical pixels."""


def draw(
    z: Any, *inputs: Any, chains: bool = False, unfold: str | Iterable[str] | bool = (), theme: Theme = "auto",
    window: bool = False, digits: int | None = None,
) -> Drawing:  # fmt: skip
    """Draw the graph of `z`: operations, data, gradients and names.

    Parameters
    ----------
    z : Value, Weight, list of Values, Module, neuron or function
        A result with everything it was computed from, or a callable that computes one from `inputs`.
    *inputs : float or sequence of float
        One sample for a module, a neuron (``net.perceptrons[0]``) or a function, which is called with it each time the
        picture is drawn. Without inputs, the last call of a module is drawn.
    chains : bool
        Draw ``a + b + c`` as two sums; default: as one.
    unfold : str, iterable of str or True
        What to unfold in a graph with more than 60 nodes: modules (``"0"``), rows of weights (``"0.weight[3]"``),
        ``"inputs"``, the nodes between modules (``"after 0"``), ``"earlier"``; True: everything.
    theme : {"auto", "dark", "light"}
        Auto follows the notebook, or the system.
    window : bool
        Show it in a window, which follows the numbers. In a script the call returns when the window is closed.
    digits : int, optional
        Decimals of the numbers, 0 to 12; default: two, and fewer for large ones.

    Returns
    -------
    Drawing
        The output of a notebook cell; ``.svg`` is its text, ``.save("graph.png")`` writes it.

    Raises
    ------
    TypeMismatchError, InputError, UnknownNameError
        An object without a graph; a module without inputs that was not called yet; inputs for a computed Value; more
        than 2,000 nodes; an unknown name to unfold; another theme; too many digits.
    MissingDependencyError
        A window without Qt or OpenGL.

    Notes
    -----
    A node without a name gets the name of the variable that holds it where `draw` is called. Gradients are violet; they
    are hatched, without a number, where no ``backward()`` set them.

    Examples
    --------
    >>> import scalarviz as sv
    >>> a, w = sv.Value(2.0), sv.Weight(-0.7, name="w")
    >>> z = (a * w).tanh()
    >>> sv.draw(z)
    Drawing(z: 4 nodes, 4 drawn)
    """
    one_of(theme, THEMES, "draw: the theme")
    places = None if digits is None else integer("draw: digits", digits, 0, MOST_DIGITS)
    unfolded = () if isinstance(unfold, bool) else _names(unfold)
    wish = Wish(flag(chains, "draw: chains"), unfolded, unfold is True, _variables(sys._getframe(1)), places)
    drawing = Drawing(*_asked(z, inputs), wish, theme)
    if flag(window, "draw: window"):
        _open(drawing)
    return drawing


def graph_of(z: Any, caller: FrameType) -> Drawing:
    """Return the graph of a computed result, with the variable names of the frame `caller`."""
    return Drawing(*_asked(z, ()), Wish(names=_variables(caller)), "auto")


def _variables(frame: FrameType) -> dict[int, str]:
    return {**variables(frame.f_globals), **variables(frame.f_locals)}


def _open(drawing: Drawing) -> None:
    """Open a window that serves itself at a prompt; elsewhere block until it is closed."""
    from .out.desktop import Window
    from .show import Handle

    handle = Handle(Window(lambda size: GraphView(drawing, size), drawing.of or "graph", WINDOW))
    drawing.handle = handle
    handle.begin()
    handle.wait()


def _asked(z: Any, inputs: tuple[Any, ...]) -> tuple[Roots, Module | None]:
    """Return a function that gives the results to draw, and the model they come from, or None."""
    if isinstance(z, Value | list | tuple | Many | np.ndarray) and not isinstance(z, Parameter):
        if inputs:
            raise InputError("draw: a Value takes no inputs; pass inputs only with a Module")
        values = [z] if isinstance(z, Value) else every(z, "draw")
        if not values:
            raise InputError("draw: the list is empty; give at least one Value")
        return lambda: (values, None), None
    if isinstance(z, Module) and not inputs:
        if z._books.outputs is None:
            raise InputError(
                f"draw: this {type(z).__name__} has not been called yet; give an example input, as in "
                "sv.draw(net, [0.5, 1.0])"
            )
        last = every(z._books.outputs, "draw: the module")
        return lambda: (last, None), z
    if not callable(z) or isinstance(z, type | Parameter):
        raise TypeMismatchError(
            f"draw takes a Value, a Weight, a list of Values, or a Module with an example input; got "
            f"{typed(z)}. To see cubes, use sv.show(x)"
        )
    if not inputs:
        raise InputError("draw: a function needs an example input, as in sv.draw(neuron, [0.5, 1.0])")
    return lambda: called(z, inputs), z if isinstance(z, Module) else None


def _names(unfold: Any) -> tuple[str, ...]:
    """Return the names to unfold as a tuple."""
    scalar = isinstance(unfold, np.ndarray) and unfold.ndim == 0
    one = scalar or isinstance(unfold, str) or not isinstance(unfold, Iterable)
    given = (unfold,) if one else tuple(unfold)
    if not all(isinstance(name, str) for name in given):
        raise TypeMismatchError(f"draw: unfold must be a name, a list of names or True, got {shown(unfold)}")
    return given


# ---- `GraphView`: a drawing in a window, which you move, zoom and unfold by clicks; its numbers follow the objects.

FOOT = 30.0
"""Height of the line of keys."""
NOTCH, STEP = 1.15, 80.0
"""Zoom factor of one notch of the wheel; logical pixels that an arrow key moves."""
LOOK, SHARE = 0.25, 0.1
"""Seconds between two reads of the objects, and the share of the time that they may take."""
STILL = 4.0
"""Logical pixels that the pointer may move during a click."""


class GraphView(Room):
    """A drawing in a window."""

    def __init__(self, drawing: Drawing, size: tuple[int, int]) -> None:
        self.drawing = drawing
        self.theme = get_theme("dark" if drawing.theme == "auto" else drawing.theme)
        self._device, self._ratio = size, 1.0
        self.unfolded: list[str] = []
        self._at: Point | None = None
        self._pressed: Point | None = None
        self._dragged = False
        self._clicked = -math.inf  # time of the last click on nothing: a second one soon after is a double click
        self._look, self._pause = 0.0, LOOK
        self._painters: list[Painter] = []
        super().__init__(GRAPH, {
            "closer": lambda: self._zoom(NOTCH**2), "farther": lambda: self._zoom(NOTCH**-2),
            "left": lambda: self._move(STEP, 0), "right": lambda: self._move(-STEP, 0),
            "up": lambda: self._move(0, STEP), "down": lambda: self._move(0, -STEP), "fit": self.fit, "fold": self.fold,
        })  # fmt: skip
        self._read()
        self._lay_out()
        self.fit()

    # ---- what is shown

    @property
    def page(self) -> tuple[float, float]:
        """Size of the window in logical pixels."""
        return self._device[0] / self._ratio, self._device[1] / self._ratio

    @property
    def room(self) -> tuple[float, float]:
        """Size of the part that the figure has, in logical pixels."""
        return self.page[0], max(self.page[1] - FOOT, 1.0)

    def _read(self) -> None:
        """Read the graph with the current numbers."""
        begin = time.perf_counter()
        self.ink: GraphFigure = self.drawing.ink(self.theme.name, self.drawing.layout(self.unfolded))
        self._pause = max(LOOK, (time.perf_counter() - begin) / SHARE)

    def _lay_out(self) -> None:
        self._painters = [Painter(self.page, self._ratio) for _ in range(2)]
        self._dirty = True

    def fit(self) -> None:
        """Show the whole graph."""
        self.view = View.whole(self.ink.size, self.room)
        self._dirty = True

    def _reread(self) -> None:
        """Read the numbers again; a view moved by hand stays."""
        before = [shape.text for shape in self.ink if isinstance(shape, TextItem)]
        self._read()
        self.view = replace(self.view, figure=self.ink.size).moved((0.0, 0.0))
        self._dirty |= before != [shape.text for shape in self.ink if isinstance(shape, TextItem)]

    # ---- time

    def attach(self, host: Host) -> None:
        """Appear in `host`."""
        super().attach(host)
        if host.pixel_ratio != self._ratio:
            self._ratio = host.pixel_ratio
            self._lay_out()
            self.fit()

    def _beat(self, host: Host, seconds: float) -> None:
        self.pass_time(seconds)
        if host.visible and self.clock - self._look >= self._pause and self._pressed is None:
            self._look = self.clock
            try:
                self._reread()
            except ScalarvizError as error:
                self.say(str(error).partition("\n")[0])
        self.repaint()

    # ---- picture

    def draw(self, viewport: tuple[int, int] | None = None) -> None:
        """Paint the picture into the bound framebuffer."""
        theme, view = self.theme, self.view
        page, above = self._painters
        page.background(theme.background, theme.background)
        page.draw([self.ink.placed(scale=view.scale, at=(view.left, view.top), ground=False)])
        over = [self._foot()]
        box = self._box_under_pointer()
        if box is not None and self._at is not None and self._pressed is None:
            over.append(node_label(box, self._at, self.page, theme))
        if self._notice:
            over.append(banner(self._notice, self.page, 12.0, self.page[0], theme, alarm=False))
        if self._help:
            over.append(help_panel(self.page, self.table(), theme, self._help))
        above.draw(over)

    def _foot(self) -> Sketch:
        """Return the line of keys, shortened to fit."""
        sketch, theme, (wide, high) = Sketch(), self.theme, self.page
        sketch.rect(0, high - FOOT, wide, FOOT, fill=theme.panel)
        said = "wheel: larger, smaller   ·   drag: move   ·   Home: all of it"
        if self.unfolded or any(box.item.unfolds for box in self.ink.layout.boxes):
            said += "   ·   click: unfold   ·   Backspace: fold again"
        for line in (f"{said}   ·   ?: all keys", said.partition("   ·   ")[0], ""):
            if measure(line, LABEL) <= wide - 32:
                sketch.text(16.0, high - 10.0, line, LABEL, theme.text3)
                break
        return sketch

    def resize(self, size: tuple[int, int]) -> None:
        """Take another size in device pixels; a graph shown whole stays whole."""
        whole = self.view == View.whole(self.ink.size, self.room)
        self._device = size
        self._lay_out()
        kept = replace(self.view, window=self.room).moved((0.0, 0.0))
        self.view = View.whole(self.ink.size, self.room) if whole else kept

    # ---- input

    def _logical(self, at: Point) -> Point:
        return at[0] / self._ratio, at[1] / self._ratio

    def _box_under_pointer(self) -> Box | None:
        return None if self._at is None else self.ink.box_at(self.view.to_figure(self._at))

    def press(self, at: Point, button: str = "left", *, shift: bool = False, ctrl: bool = False) -> None:
        """A mouse button was pressed."""
        self._at = self._pressed = self._logical(at)
        self._dragged = False

    def move(self, at: Point) -> None:
        """Move the pointer to `at`; with a button pressed, drag the graph."""
        before, self._at = self._at, self._logical(at)
        if self._pressed is not None and before is not None:
            self._dragged |= max(abs(a - b) for a, b in zip(self._at, self._pressed, strict=True)) > STILL
            if self._dragged:
                self.view = self.view.moved((self._at[0] - before[0], self._at[1] - before[1]))
        self._dirty = True

    def release(self, at: Point) -> None:
        """The mouse button was released; a click unfolds."""
        self._at, pressed, self._pressed = self._logical(at), self._pressed, None
        if pressed is not None and not self._dragged:
            self._click()
        self._dirty = True

    def _click(self) -> None:
        box = self._box_under_pointer()
        if self._help:
            self._help = 0
        elif box is not None and box.item.unfolds:
            self._fold_to([*self.unfolded, box.item.unfolds], box)
        elif self.clock - self._clicked <= DOUBLE:
            self.fit()
        else:
            self._clicked = self.clock

    def _fold_to(self, names: list[str], box: Box | None = None) -> None:
        """Unfold exactly these names; bring the clicked part into view."""
        was = self.unfolded
        self.unfolded = list(dict.fromkeys(names))
        try:
            self._read()
        except ScalarvizError as error:
            self.unfolded = was
            self._read()
            self.say(str(error).partition("\n")[0])
            return
        if box is None:
            self.fit()
            return
        held = set(map(key_of, box.item.held))
        inside = [b for b in self.ink.layout.boxes if not held.isdisjoint(map(key_of, b.item.held))]
        corners = [(b.x, b.y, b.x + b.width, b.y + b.height) for b in inside or self.ink.layout.boxes]
        left, top, right, bottom = zip(*corners, strict=True)
        self.view = self.view.showing(self.ink.size, (min(left), min(top), max(right), max(bottom)))

    def fold(self) -> None:
        """Fold what was unfolded last."""
        if self.unfolded:
            self._fold_to(self.unfolded[:-1])
        else:
            self.say("nothing is unfolded")

    def leave(self) -> None:
        """The pointer left the window."""
        self._at, self._dirty = None, True

    def scroll(self, at: Point, notches: tuple[float, float], *, shift: bool = False) -> None:
        """Turn the wheel: zoom in or out around the pointer."""
        self._at = self._logical(at)
        self._zoom(NOTCH ** notches[1], self._at)

    def _zoom(self, factor: float, at: Point | None = None) -> None:
        middle = self.room[0] / 2, self.room[1] / 2
        self.view, self._dirty = self.view.zoomed(factor, at or middle), True

    def _move(self, across: float, down: float) -> None:
        self.view, self._dirty = self.view.moved((across, down)), True

    def open(self, paths: Sequence[Path]) -> None:
        """Refuse dropped files."""
        self.say("a graph cannot open files")

    def toggle_theme(self) -> None:
        """Switch between light and dark."""
        self.theme = get_theme("light" if self.theme.name == "dark" else "dark")
        self._read()
