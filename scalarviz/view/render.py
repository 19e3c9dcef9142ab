"""`render`: one picture of anything that has weights."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import NDArray

from ..checks import integer
from ..sweep.groups import Kept
from .cubes.atlas import Sizing
from .cubes.scale import quantity_of
from .described import title_of, words_of
from .ink.gl import require_vispy
from .ink.places import check_size
from .ink.theme import Theme, presenting
from .micro.walk import told_of
from .out.easel import Easel, svg_of_bench
from .out.offscreen import offscreen
from .shown.subject import standing, subject_of
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
) -> NDArray[np.uint8]:  # fmt: skip
    """A picture of `x` as it is now, or was.

    Parameters
    ----------
    x : Scene, Run, recording, two of them, sweep, Module, Weight, sequence of Weight, or mapping of str to array
        A scene or run is shown with its panels, the runs of a sweep with a file (or of ``sv.sweep.Results``) as a wall,
        anything else as cubes with their names and a legend.
    size : (int, int)
        Width and height in pixels, from 160 to 8192.
    theme, cmap : str
        ``"dark"`` or ``"light"``; a colour map by name (``"grey"``, ``"viridis"``), default: the quantity's own.
    quantity : str
        What the cubes show: ``"weight"``, ``"gradient"``, ``"|gradient|"``, ``"update"``, ``"update/value"``, or what
        the optimiser keeps for each weight (``"exp_avg"``, ``"exp_avg_sq"``, ``"momentum_buffer"``).
    sized, threshold : bool, float
        Whether cubes are as large as what they show (a Hinton diagram); the share of the range below which they hide.
    supersample, pace_text : int, str
        2 draws at twice the size and averages; the HUD's second line.
    step, inside : int, optional
        Which step of a Run or Scene; afterwards it stands where it stood. Default: as it is now. A micro-step of the
        step that comes then: 1 is the first, -1 the last; the step is opened on copies.
    whole_batch, presenter : bool
        Whether that shows the real step, else a trial step with the one sample whose way is drawn; whether the picture
        is for a hall: text is half again as large, and there is no small print.

    Returns
    -------
    ndarray of uint8, shape (height, width, 3)
        sRGB, first row on top.

    Raises
    ------
    TypeMismatchError
        For anything else.
    InputError
        For sizes, arrays or names that cannot be drawn, for steps that were not done, micro-steps that are none; for
        what is said of the cubes of one run, where the runs of a sweep are shown.
    MissingDependencyError
        Where nothing can draw; the message says what to install.
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
) -> tuple[NDArray[np.uint8], str, Callable[[], str] | None]:  # fmt: skip
    """The picture that :func:`render` returns, the words that stand in its place, and what writes it as SVG."""
    require_vispy()
    look = presenting(theme, presenter)
    if isinstance(x, Kept):
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
    with standing(subject.source, step):
        frame = subject.frame(state=shows.state)
        if inside is not None:  # a micro-step of the step that follows
            told = told_of(subject, frame, inside, whole_batch=whole_batch)
    easel = Easel(subject, size, look, cmap, quantity, sizing=Sizing(sized, threshold), supersample=supersample)
    facts = subject.source.facts
    line = pace_text or ("" if facts is None else facts.engine)
    if told is not None:
        easel.update(line, frame=frame)
        with offscreen():
            easel.bench.inside.show(told, runs=False)
    picture = easel.picture(line, frame=frame) if told is None else easel.picture(told.headline, frame=told.frame)
    words = words_of(title_of(x), frame, subject.source.counted, shows=shows.words, told=told, which=subject.step_loss)
    return picture, words, partial(svg_of_bench, easel.bench, words)
