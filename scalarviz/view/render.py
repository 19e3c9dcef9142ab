"""`render`: one picture of anything that has weights; `picture`: the same for a notebook cell."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np

from ..arguments import check_names, parameters_of
from ..checks import integer, text
from ..errors import StateError
from ..sweep.groups import StoredResults
from .cubes.atlas import Sizing
from .cubes.scale import quantity_of
from .ink.boxes import check_size
from .ink.painter import require_vispy
from .ink.theme import Theme, presenting
from .micro.walk import micro_step_of
from .out.easel import Easel, Pixels, svg_of_bench, title_of, words_of
from .out.files import check_picture, save
from .out.offscreen import offscreen
from .page.pictures import Output, output_of
from .shown.subject import at_step, subject_of
from .walls.runs import check_plain, runs_of


def render(
    x: object,
    size: tuple[int, int] = (1280, 720),
    *,
    theme: str | Theme = "dark",
    cmap: str | None = None,
    quantity: str = "weight",
    sized: bool = False,
    threshold: float = 0.0,
    supersample: int = 1,
    pace_text: str = "",
    step: int | None = None, inside: int | None = None,
    whole_batch: bool = False, presenter: bool = False,
) -> Pixels:  # fmt: skip
    """Return a picture of `x`, as it is now or at a past step.

    Parameters
    ----------
    x : Scene, Run, recording, two of them, sweep, Module, Weight, sequence of Weight, or mapping of str to array
        A scene or run is shown with its panels, the runs of a sweep with a file (or of ``sv.sweep.Results``) as a wall,
        anything else as cubes with their names and a legend.
    size : (int, int)
        Width and height in pixels, from 160 to 8192.
    theme, cmap : str
        ``"dark"`` or ``"light"``; name of a colour map (``"grey"``, ``"viridis"``), default: that of the quantity.
    quantity : str
        What the cubes show: ``"weight"``, ``"gradient"``, ``"|gradient|"``, ``"update"``, ``"update/value"``, or a
        number that the optimiser stores for each weight (``"exp_avg"``, ``"exp_avg_sq"``, ``"momentum_buffer"``).
    sized, threshold : bool, float
        `sized`: cubes are as large as their numbers (a Hinton diagram). `threshold`: the share of the range below which
        cubes are hidden.
    supersample, pace_text : int, str
        2 draws at twice the size and averages. `pace_text`: the HUD's second line.
    step, inside : int, optional
        `step`: the step of a Run or Scene to show; afterwards it returns to its present step. Default: the present
        step. `inside`: a micro-step of the step after it; 1 is the first, -1 the last. The step is opened on copies.
    whole_batch, presenter : bool
        `whole_batch`: `inside` shows the real step; default: a trial step with the probe sample. `presenter`: for a
        lecture hall, with text half again as large and no small print.

    Returns
    -------
    ndarray of uint8, shape (height, width, 3)
        sRGB, first row on top.

    Raises
    ------
    TypeMismatchError
        `x` is of another type.
    InputError
        A size, array or name that cannot be drawn; a step that was not done; a micro-step that does not exist; options
        for the cubes of one run, given for the runs of a sweep.
    MissingDependencyError
        Nothing can draw here; the message says what to install.
    """
    return rendered(
        x, size, theme=theme, cmap=cmap, quantity=quantity, sized=sized, threshold=threshold, supersample=supersample,
        pace_text=pace_text, step=step, inside=inside, whole_batch=whole_batch, presenter=presenter,
    )[0]  # fmt: skip


def rendered(
    x: object, size: tuple[int, int], *,
    theme: str | Theme = "dark", cmap: str | None = None, quantity: str = "weight", sized: bool = False,
    threshold: float = 0.0, supersample: int = 1, pace_text: str = "", step: int | None = None,
    inside: int | None = None, whole_batch: bool = False, presenter: bool = False,
) -> tuple[Pixels, str, Callable[[], str] | None]:  # fmt: skip
    """Return the picture of :func:`render`, its description in words, and a function that gives its SVG, or None."""
    require_vispy()
    look = presenting(theme, presenter)
    if isinstance(x, StoredResults):
        from .walls.run_plots import sentence
        from .walls.run_wall import wall_picture

        check_plain(render, cmap=cmap, quantity=quantity, sized=sized, threshold=threshold, supersample=supersample,
                    pace_text=pace_text, step=step, inside=inside, whole_batch=whole_batch)  # fmt: skip
        path, build = x.shown()
        runs = runs_of(path, build)
        picture = wall_picture(path, size, build=build, theme=look)
        return picture, f"{runs.title}: {sentence(runs.results)}", None
    supersample = integer("render: supersample", supersample, 1, 64)
    size, subject, told = check_size(size), subject_of(x), None
    shows = quantity_of(quantity, subject.source.moments)
    with at_step(subject.source, step):
        frame = subject.frame(state=shows.state)
        if inside is not None:  # a micro-step of the step after it
            told = micro_step_of(subject, frame, inside, whole_batch=whole_batch)
    easel = Easel(subject, size, look, cmap, quantity, sizing=Sizing(sized, threshold), supersample=supersample)
    facts = subject.source.facts
    line = pace_text or ("" if facts is None else facts.engine)
    if told is not None:
        easel.update(line, frame=frame)
        with offscreen():
            easel.bench.inside.show(told, animated=False)
    picture = easel.picture(line, frame=frame) if told is None else easel.picture(told.headline, frame=told.frame)
    words = words_of(title_of(x), subject, frame, shows=shows.words, micro_step=told)
    return picture, words, partial(svg_of_bench, easel.bench, words)


# ---- `picture`: the output of `render` in a notebook cell, with a description for those who cannot see it.

SIZE = (680, 510)
"""Default size of a picture in a cell, in pixels."""


class Picture:
    """Pixels with a description in words.

    Parameters
    ----------
    pixels : ndarray of uint8, shape (height, width, 3)
        sRGB, first row on top.
    words : str
        The description for readers who cannot see them.
    svg : callable, optional
        Returns the same picture as SVG text.

    Raises
    ------
    InputError, TypeMismatchError
        Invalid pixels, or words that are not a text.

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
        """The output for a notebook cell, lossless in most notebooks."""
        return output_of(self.pixels, self.words, lossless=True)

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> tuple[dict[str, str], object]:
        return self.output._repr_mimebundle_()

    def _repr_html_(self) -> str:
        return self.output.html

    @property
    def svg(self) -> str:
        """The same picture as SVG text: letters, lines and cubes are sharp at any size.

        Raises StateError for a picture that was made of pixels.
        """
        if self._svg is None:
            raise StateError("this picture was made of pixels, which no SVG holds; try sv.view.picture(x).svg")
        return self._svg()

    def save(self, path: str | Path) -> Path:
        """Write the picture as PNG, or as SVG if the name ends in ``.svg``."""
        return save(path, lambda: self.pixels, lambda: self.svg)

    def __repr__(self) -> str:
        return f"Picture({self.words})"


def picture(x: object, size: tuple[int, int] = SIZE, *, theme: str = "light", **options: Any) -> Picture:
    """Return a picture of `x` for a notebook cell, with a description: name, step, loss, and what the cubes show.

    Parameters
    ----------
    x, size, theme, **options
        As in :func:`render`.

    Returns
    -------
    Picture
        The output of a cell that ends with it. ``.pixels`` is the result of :func:`render`, ``.words`` the text for a
        screen reader.

    Raises
    ------
    TypeMismatchError, InputError, MissingDependencyError
        As in :func:`render`.
    """
    check_names("picture", options, ("theme", "size", *parameters_of(rendered, besides=("x", "size", "theme"))))
    return Picture(*rendered(x, size, theme=theme, **options))
