"""`Drawing`: the picture of a graph of Values, as SVG, as PNG, and in a notebook."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from ..errors import InputError
from ..errors import shown as written
from ..io import replacing
from ..io.atomic import as_path
from ..nn import Module
from ..scalar import Value, mistaken
from .graph.figure import ink_of
from .graph.layout import Layout, laid_out
from .graph.modules import Calls
from .graph.said import said_of
from .graph.shown import Shown, Wish, shown
from .ink.figure import Figure
from .ink.gl import require_vispy
from .ink.svg import svg_of
from .ink.theme import get_theme
from .screen.hud import drawing_words

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
        self._named = [node.of for node in shown.nodes if id(node.of) in wish.names]
        self.wish = replace(wish, names={id(one): wish.names[id(one)] for one in self._named})

    # ---- what it is made of

    def shown(self, more: Sequence[str] = ()) -> Shown:
        """The graph with the numbers of now; `more` is unfolded as well."""
        roots, calls = self._roots()
        wish = replace(self.wish, unfold=(*self.wish.unfold, *more)) if more else self.wish
        return shown(roots, wish, self._model, calls)

    def layout(self, more: Sequence[str] = ()) -> Layout:
        """Where everything stands now."""
        return laid_out(self.shown(more).items, self.wish.digits)

    def ink(self, theme: str, layout: Layout | None = None) -> Figure:
        """The figure in one look."""
        return ink_of(layout or self.layout(), get_theme(theme), self.of, said=said_of, wrong=self.wrong)

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
        from .ink.painter import Painter
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
            raise InputError(f"a drawing is written as .svg or .png, got {written(str(path))}; try graph.svg")
        if ending == ".png":
            from .out.still import save_png

            return save_png(target, self.pixels())
        with replacing(target) as temporary:
            temporary.write_text(self.svg, encoding="utf-8")
        return target

    def __repr__(self) -> str:
        now = self.shown()
        folded = sum(item.folded for item in now.items)
        more = f", {folded} folded" if folded else ""
        count = f"{now.count} node{'s' if now.count > 1 else ''}"
        return f"Drawing({self.of + ': ' if self.of else ''}{count}, {len(now.items)} drawn{more})"
