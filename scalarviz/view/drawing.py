"""`Drawing`: the picture of a graph of Values, as SVG, as PNG, and in a notebook; `GraphView`: in a window."""

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
from ..errors import InputError, ScalarvizError, TypeMismatchError, shown
from ..io.atomic import as_path
from ..nn import Module, Parameter
from ..scalar import Value, mistaken
from ..scalar.nested import every
from ..scalar.single import Many
from .graph.figure import GraphFigure, node_label
from .graph.layout import Box, Layout
from .graph.nodes import Calls, called, key_of
from .graph.shown import Shown, Wish, shown_of, variables
from .ink.boxes import LABEL
from .ink.figure import View, svg_of
from .ink.overlay import banner, help_panel
from .ink.painter import Painter, require_vispy
from .ink.sketch import Point, Sketch, TextItem
from .ink.text import measure
from .ink.theme import get_theme
from .screen.hud import drawing_words
from .watch.actions import GRAPH
from .watch.host import Host, Room
from .watch.pointer import DOUBLE

Theme = Literal["auto", "dark", "light"]
Roots = Callable[[], tuple[Sequence[Value], Calls | None]]
"""Gives the results, as they are now, and what the modules did that made them, where that is known."""
THEMES = ("auto", "dark", "light")
SHARP = 2.0
"""Pixels of a PNG that one of the drawing becomes, where it is not too large for that."""
SIDE = 8192
"""The most pixels of a side of a PNG."""


class Drawing:
    """The picture of a graph, made anew whenever it is asked for: after ``backward()`` it has the new numbers.

    In a notebook it is the output of a cell that ends with it. :func:`draw` makes it.

    Attributes
    ----------
    theme : {"auto", "dark", "light"}
    folds : tuple of str
        What can be unfolded, as ``sv.draw(z, unfold="0")``.
    of : str
        What it is the graph of, where that has a name.
    wish : Wish
    handle : Handle or None
        The window in which it is shown.
    """

    def __init__(self, roots: Roots, model: Module | None, wish: Wish, theme: Theme = "auto") -> None:
        self._roots, self._model, self.wish, self.theme = roots, model, wish, theme
        self.handle: Any = None
        self._made_with = mistaken.words()
        shown = self.shown()
        self.folds, self.of = shown.folds, shown.of
        # an id is of one object as long as that lives: names are kept of what is in the graph, and that is held
        self._named = [of for of in shown.objects if id(of) in wish.names]
        self.wish = replace(wish, names={id(one): wish.names[id(one)] for one in self._named})

    # ---- what it is made of

    def shown(self, more: Sequence[str] = ()) -> Shown:
        """The graph with the numbers of now; `more` is unfolded as well."""
        roots, calls = self._roots()
        wish = replace(self.wish, unfold=(*self.wish.unfold, *more)) if more else self.wish
        return shown_of(roots, wish, self._model, calls)

    def layout(self, more: Sequence[str] = ()) -> Layout:
        """Where everything stands now."""
        return Layout(self.shown(more).items, self.wish.digits)

    def ink(self, theme: str, layout: Layout | None = None) -> GraphFigure:
        """The figure in one look."""
        return GraphFigure(layout or self.layout(), get_theme(theme), self.of, wrong=self.wrong)

    @property
    def wrong(self) -> str:
        """The mistakes that are on, or were when it was made, in words; empty where none is: ``sv.mistakes``."""
        return drawing_words(self._made_with)

    # ---- what it looks like

    @property
    def svg(self) -> str:
        """The picture as text, with the numbers of now."""
        layout = self.layout()
        title = f"graph of {self.of}" if self.of else "graph"
        if self.theme != "auto":
            return svg_of(self.ink(self.theme, layout), title=title)
        return svg_of(self.ink("light", layout), dark=self.ink("dark", layout), title=title)

    def _repr_svg_(self) -> str:
        return self.svg

    def _repr_html_(self) -> str | None:
        """As a part of the page, where the theme is to follow the notebook's: a picture of its own could not."""
        return self.svg if self.theme == "auto" else None

    def pixels(self, theme: str = "", scale: float = SHARP) -> np.ndarray[Any, np.dtype[np.uint8]]:
        """The picture as uint8 (H, W, 3); without a theme the drawing's, for which auto is light.

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
            Ends with ``.svg`` or ``.png``; both are the same drawing. Of the theme auto a PNG is light.

        Raises
        ------
        InputError
            Another ending, or a place where nothing can be written.
        MissingDependencyError
            A PNG, and nothing can paint here.
        """
        target = as_path(path)
        ending = target.suffix.lower()
        if ending not in (".svg", ".png"):
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
"""Logical pixels of a window at first."""


def draw(
    z: Any, *inputs: Any, chains: bool = False, unfold: str | Iterable[str] | bool = (), theme: Theme = "auto",
    window: bool = False, digits: int | None = None,
) -> Drawing:  # fmt: skip
    """Draw the graph of `z`: operations, data, gradients and names.

    Parameters
    ----------
    z : Value, Weight, list of Values, Module, neuron or function
        A result, with all that it was computed from; or what computes one from `inputs`.
    *inputs : float or sequence of float
        One sample for a module, a neuron (``net.perceptrons[0]``) or a function, which is called with it whenever the
        picture is asked for. Without inputs a module's last call is drawn.
    chains : bool
        Whether ``a + b + c`` is drawn as two sums; else it is one.
    unfold : str, iterable of str or True
        Of a graph with more than 60 nodes: modules (``"0"``) whose nodes are wanted, rows of weights
        (``"0.weight[3]"``), ``"inputs"``, what stands between modules (``"after 0"``), ``"earlier"``; True: all.
    theme : {"auto", "dark", "light"}
        Auto follows the notebook, or the system.
    window : bool
        Show it in a window, which follows the numbers. In a script this returns when the window is closed.
    digits : int, optional
        Decimals of the numbers, 0 to 12; default: two, and fewer for large ones.

    Returns
    -------
    Drawing
        The output of a notebook's cell; ``.svg`` is its text, ``.save("graph.png")`` writes it.

    Raises
    ------
    TypeMismatchError, InputError, UnknownNameError
        Something that has no graph; a module without inputs, not called yet; inputs of what is computed already; more
        than 2,000 nodes; a name that nothing can be unfolded by, another theme, too many digits.
    MissingDependencyError
        A window, and there is no Qt or no OpenGL.

    Notes
    -----
    A node without a name of its own has that of the variable that holds it where `draw` is called. Gradients are
    violet; they are hatched, without a number, where no ``backward()`` came by.

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
    """The graph of what is computed already, with the names that a frame of the program has for it."""
    return Drawing(*_asked(z, ()), Wish(names=_variables(caller)), "auto")


def _variables(frame: FrameType) -> dict[int, str]:
    return {**variables(frame.f_globals), **variables(frame.f_locals)}


def _open(drawing: Drawing) -> None:
    """A window that serves itself where there is a prompt; elsewhere until it is closed."""
    from .out.desktop import Window
    from .show import Handle

    handle = Handle(Window(lambda size: GraphView(drawing, size), drawing.of or "graph", WINDOW))
    drawing.handle = handle
    handle.begin()
    handle.wait()


def _asked(z: Any, inputs: tuple[Any, ...]) -> tuple[Roots, Module | None]:
    """What gives the results of which the graph is drawn, and the model that they are of."""
    if isinstance(z, Value | list | tuple | Many | np.ndarray) and not isinstance(z, Parameter):
        if inputs:
            raise InputError("draw: a Value takes no inputs; pass inputs only with a Module")
        values = [z] if isinstance(z, Value) else every(z, "draw: a list")
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
            f"{type(z).__name__} {shown(z)}. Try sv.show(x) for what has cubes"
        )
    if not inputs:
        raise InputError(f"draw: {type(z).__name__} needs an example input, as in sv.draw(neuron, [0.5, 1.0])")
    return lambda: called(z, inputs), z if isinstance(z, Module) else None


def _names(unfold: Any) -> tuple[str, ...]:
    """What is to be unfolded."""
    scalar = isinstance(unfold, np.ndarray) and unfold.ndim == 0
    one = scalar or isinstance(unfold, str) or not isinstance(unfold, Iterable)
    given = (unfold,) if one else tuple(unfold)
    if not all(isinstance(name, str) for name in given):
        raise TypeMismatchError(f"draw: unfold is a name, several names or True, got {shown(unfold)}")
    return given


# ---- `GraphView`: a drawing in a window: moved, enlarged, unfolded by clicks; its numbers follow the objects.

FOOT = 30.0
"""Height of the line of keys."""
NOTCH, STEP = 1.15, 80.0
"""What a notch of the wheel enlarges by, and what an arrow moves by."""
LOOK, SHARE = 0.25, 0.1
"""Seconds between two looks at the objects, and the part of the time that they may take."""
STILL = 4.0
"""Pixels by which a click may move."""


class GraphView(Room):
    """A guest of a host."""

    def __init__(self, drawing: Drawing, size: tuple[int, int]) -> None:
        self.drawing = drawing
        self.theme = get_theme("dark" if drawing.theme == "auto" else drawing.theme)
        self._device, self._ratio = size, 1.0
        self.unfolded: list[str] = []
        self._at: Point | None = None
        self._pressed: Point | None = None
        self._dragged = False
        self._clicked = -math.inf  # when a click last meant nothing: a second one soon is a double click
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
        """Logical pixels."""
        return self._device[0] / self._ratio, self._device[1] / self._ratio

    @property
    def room(self) -> tuple[float, float]:
        """What is left of them for the figure."""
        return self.page[0], max(self.page[1] - FOOT, 1.0)

    def _read(self) -> None:
        """The graph with the numbers of now."""
        begin = time.perf_counter()
        self.ink: GraphFigure = self.drawing.ink(self.theme.name, self.drawing.layout(self.unfolded))
        self._pause = max(LOOK, (time.perf_counter() - begin) / SHARE)

    def _lay_out(self) -> None:
        self._painters = [Painter(self.page, self._ratio) for _ in range(2)]
        self._dirty = True

    def fit(self) -> None:
        """All of the graph."""
        self.view = View.whole(self.ink.size, self.room)
        self._dirty = True

    def _reread(self) -> None:
        """Look whether the numbers are others by now; a hand is not disturbed by it."""
        before = [shape.text for shape in self.ink if isinstance(shape, TextItem)]
        size = self.ink.size
        self._read()
        if self.ink.size != size:
            self.view = self.view.with_figure(self.ink.size)
        self._dirty |= before != [shape.text for shape in self.ink if isinstance(shape, TextItem)]

    # ---- time

    def attach(self, host: Host) -> None:
        """Appear in `host`."""
        super().attach(host)
        if host.pixel_ratio != self._ratio:
            self._ratio = host.pixel_ratio
            self._lay_out()
            self.fit()

    def _beat(self, seconds: float) -> None:
        assert self.host is not None
        self.pass_time(seconds)
        if self.host.visible and self.clock - self._look >= self._pause and self._pressed is None:
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
        """The line of keys, as far as it fits."""
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
        """Another size in device pixels; what was all of it is all of it again."""
        whole = self.view == View.whole(self.ink.size, self.room)
        self._device = size
        self._lay_out()
        kept = View(self.view.figure, self.room, self.view.scale, self.view.left, self.view.top)
        self.view = View.whole(kept.figure, self.room) if whole else kept.moved((0.0, 0.0))

    # ---- hands

    def _logical(self, at: Point) -> Point:
        return at[0] / self._ratio, at[1] / self._ratio

    def _box_under_pointer(self) -> Box | None:
        """The node under the pointer."""
        return None if self._at is None else self.ink.box_at(self.view.to_figure(self._at))

    def press(self, at: Point, button: str = "left", *, shift: bool = False, ctrl: bool = False) -> None:
        """A button went down."""
        self._at = self._pressed = self._logical(at)
        self._dragged = False

    def move(self, at: Point) -> None:
        """The pointer is at `at`: with a button held it moves the graph."""
        before, self._at = self._at, self._logical(at)
        if self._pressed is not None and before is not None:
            self._dragged |= max(abs(a - b) for a, b in zip(self._at, self._pressed, strict=True)) > STILL
            if self._dragged:
                self.view = self.view.moved((self._at[0] - before[0], self._at[1] - before[1]))
        self._dirty = True

    def release(self, at: Point) -> None:
        """The button went up: a click unfolds."""
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
        """Unfold exactly these; what was clicked is shown whole."""
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
        found = inside or list(self.ink.layout.boxes)
        corners = [(b.x, b.y, b.x + b.width, b.y + b.height) for b in found]
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
        """The wheel turned: larger or smaller, to the pointer."""
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
        """Light or dark."""
        self.theme = get_theme("light" if self.theme.name == "dark" else "dark")
        self._read()
