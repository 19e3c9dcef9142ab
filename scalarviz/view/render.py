"""`render`: one picture of anything that has weights."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import NDArray

from ..run.core.frame import Frame
from ..sweep.groups import Kept
from .benches import any_subject, bench_of
from .cubes.quantity import quantity_of
from .cubes.sizes import Sizing
from .described import title_of, words_of
from .ink.gl import require_vispy
from .ink.places import check_size
from .ink.theme import Theme, presenting
from .micro.told import Told
from .micro.walk import told_of
from .out.offscreen import offscreen
from .out.vector import svg_of_bench
from .shown.standing import standing
from .shown.subject import Subject
from .walls.kept_runs import check_plain, picture_of_kept
from .workbench import Workbench


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
    if isinstance(x, Kept):
        check_plain(render, cmap=cmap, quantity=quantity, sized=sized, threshold=threshold, supersample=supersample,
                    pace_text=pace_text, step=step, inside=inside, whole_batch=whole_batch)  # fmt: skip
        return *picture_of_kept(x, size, presenting(theme, presenter)), None
    size, subject, sizing = check_size(size), any_subject(x), Sizing(sized, threshold)
    frame, told = _moment(subject, quantity, step, inside, whole_batch)
    with offscreen():
        look = presenting(theme, presenter)
        bench = bench_of(subject, size, look, cmap, quantity, sizing=sizing, supersample=supersample)
        _show(bench, frame, pace_text, told)
    shows = quantity_of(quantity, subject.source.moments).words
    words = words_of(title_of(x), frame, subject.source.counted, shows=shows, told=told, which=subject.step_loss)
    return paint(bench, size, supersample), words, partial(svg_of_bench, bench, words)


def _moment(
    subject: Subject, quantity: str, step: int | None, inside: int | None, whole_batch: bool
) -> tuple[Frame, Told | None]:
    """The frame of a step (None: now) with what `quantity` needs, and a micro-step after it."""
    with standing(subject.source, step):
        frame = subject.frame(state=quantity_of(quantity, subject.source.moments).state)
        return frame, None if inside is None else told_of(subject, frame, inside, whole_batch=whole_batch)


def _show(bench: Workbench, frame: Frame, pace_text: str, told: Told | None) -> None:
    """A frame, or in its place a micro-step of the step that follows it."""
    facts = bench.subject.source.facts
    bench.update(frame, pace_text or ("" if facts is None else facts.engine))
    if told is not None:
        bench.inside.show(told, runs=False)
        bench.update(told.frame, told.headline)


def paint(bench: Workbench, size: tuple[int, int], supersample: int = 1) -> NDArray[np.uint8]:
    """The workbench's picture, drawn offscreen, uint8 (height, width, 3)."""
    return offscreen().render(bench.draw, size, supersample=supersample)
