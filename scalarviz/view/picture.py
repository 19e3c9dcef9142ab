"""`picture`: what `render` draws, as the output of a notebook's cell, with words for who cannot see it."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from ..arguments import check_names, parameters_of
from ..checks import text
from ..errors import StateError
from ..io import write_bytes
from ..io.atomic import as_path
from .out.easel import SVG
from .out.files import check_picture, save_png
from .page.pictures import Output, Pixels, output_of
from .render import rendered

SIZE = (680, 510)
"""Pixels of a picture in a cell."""


class Picture:
    """Pixels and what they show, in words.

    Parameters
    ----------
    pixels : ndarray of uint8, shape (height, width, 3)
        sRGB, first row on top.
    words : str
        What stands in their place for who cannot see them.
    svg : callable, optional
        Gives the same picture as the text of an SVG.

    Raises
    ------
    InputError, TypeMismatchError
        Pixels that are none; words that are no text.

    Examples
    --------
    >>> import numpy as np
    >>> Picture(np.zeros((2, 3, 3), np.uint8), "a black field")
    Picture(a black field)
    """

    def __init__(self, pixels: Pixels, words: str, svg: Callable[[], str] | None = None) -> None:
        self._svg = svg
        self.pixels = np.ascontiguousarray(pixels)
        check_picture(self.pixels)
        self.words = text(words, "Picture: the words")

    @cached_property
    def output(self) -> Output:
        """What a notebook's cell holds: no pixel is changed in what most notebooks show."""
        return output_of(self.pixels, self.words, lossless=True)

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> tuple[dict[str, str], object]:
        return self.output._repr_mimebundle_()

    def _repr_html_(self) -> str:
        return self.output.html

    @property
    def svg(self) -> str:
        """The same picture as text: letters, lines and cubes that are sharp at any size.

        StateError for one that was made of pixels.
        """
        if self._svg is None:
            raise StateError("this picture was made of pixels, which no SVG holds; try sv.view.picture(x).svg")
        return self._svg()

    def save(self, path: str | Path) -> Path:
        """Write it as a PNG, or as SVG where the name ends in ``.svg``."""
        if as_path(path).suffix.lower() != SVG:
            return save_png(path, self.pixels)
        write_bytes(path, self.svg.encode())
        return Path(path)

    def __repr__(self) -> str:
        return f"Picture({self.words})"


def picture(x: object, size: tuple[int, int] = SIZE, *, theme: str = "light", **options: Any) -> Picture:
    """A picture of `x` for a notebook's cell, with words: name, step, loss, and what the cubes show.

    Parameters
    ----------
    x, size, theme, **options
        As of :func:`render`.

    Returns
    -------
    Picture
        The output of a cell that ends with it. ``.pixels`` is what :func:`render` returns, ``.words`` what a screen
        reader says.

    Raises
    ------
    TypeMismatchError, InputError, MissingDependencyError
        As :func:`render`.
    """
    check_names("picture", options, ("theme", "size", *parameters_of(rendered, besides=("x", "size", "theme"))))
    return Picture(*rendered(x, size, theme=theme, **options))
