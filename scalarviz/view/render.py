"""`render`: one picture of anything that has weights; `picture`: the same for a notebook cell; `film`: a film of it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cached_property, partial
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ..arguments import check_names, parameters_of
from ..checks import integer, text
from ..errors import DivergedError, InputError, ScalarvizError, StateError, TypeMismatchError, listing
from ..io import check_target
from ..io.atomic import as_path
from ..run import Run, Scene
from ..run.core.frame import Frame
from ..run.engines import full_speed
from ..run.sources.played import Played, rehearse
from ..sweep.groups import StoredResults
from .cubes.atlas import Sizing
from .cubes.scale import quantity_of
from .ink.boxes import check_size
from .ink.painter import require_vispy
from .ink.theme import Theme, presenting
from .micro.walk import Walk, lacks_first_gradient, micro_step_of, open_step, sides, with_first_gradient
from .out.apart import apart
from .out.canvas import Canvas, Pixels, svg_of_bench, title_of, words_of
from .out.files import Film, check_fps, check_picture, film_class, save
from .out.offscreen import offscreen
from .page.pictures import Output, output_of
from .short_film import SECONDS, ShortFilm, Stage
from .shown.subject import at_step, subject_of
from .walls.runs import check_plain, runs_of
from .watch.microsteps import pass_seconds
from .watch.playback import DURATION, FPS, pace, speed_of, steps_a_frame


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
    size, subject, micro_step = check_size(size), subject_of(x), None
    shows = quantity_of(quantity, subject.source.moments)
    with at_step(subject.source, step):
        frame = subject.frame(state=shows.state)
        if inside is not None:  # a micro-step of the step after it
            micro_step = micro_step_of(subject, frame, inside, whole_batch=whole_batch)
        elif lacks_first_gradient(subject, frame, shows.name):
            frame = with_first_gradient(frame, open_step(subject, alone=False))
    canvas = Canvas(subject, size, look, cmap, quantity, sizing=Sizing(sized, threshold), supersample=supersample)
    facts = subject.source.facts
    line = pace_text or ("" if facts is None else facts.engine)
    if micro_step is not None:
        canvas.update(line, frame=frame)
        with offscreen():
            canvas.bench.step_drawing.show(micro_step, animated=False)
    said, seen = (line, frame) if micro_step is None else (micro_step.headline, micro_step.frame)
    canvas.update(said, frame=seen)
    picture = apart(canvas.draw)
    words = words_of(title_of(x), subject, frame, shows=shows.words, micro_step=micro_step)
    return picture, words, partial(svg_of_bench, canvas.bench, words)


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
        """The picture as SVG text: letters, lines and cubes are sharp at any size.

        Raises StateError for a picture that was made of pixels.
        """
        if self._svg is None:
            raise StateError("this picture has only pixels, which an SVG cannot store; try sv.view.picture(x).svg")
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


# ---- `film`: write a run while it trains, or a recording, as a film.

KEEPS = (DivergedError, KeyboardInterrupt)
"""Exceptions that end a film but keep it."""
TRAINING, STEP, SHORT = STORIES = ("training", "step", "short")
"""The stories of a film."""
STEPS = 1000
"""Default number of steps in a film of a run."""


def film(
    x: object,
    path: str | os.PathLike[str],
    steps: int | None = None,
    *,
    size: tuple[int, int] = (1280, 720),
    fps: int = FPS,
    duration: float = DURATION,
    theme: str | Theme = "dark",
    cmap: str | None = None,
    presenter: bool = False,
    story: str = TRAINING,
) -> Path:
    """Film a run while it trains, or a recording.

    Frames are spread so that each shows about the same amount of change; a rehearsal on a copy of the run finds it out.

    Parameters
    ----------
    x : Scene, Run, recording or two of them
    path : path-like
        Ends in ``.mp4`` or ``.gif``. The file appears when it is complete.
    steps : int, optional
        Steps to train the run (default 1,000), or number of the recording's frames to show (default: all).
    size : (int, int)
        Width and height in pixels, from 160 to 8192.
    fps : int
        Frames per second.
    duration : float
        Seconds of a film of the training.
    theme, cmap, presenter
        As in :func:`scalarviz.view.render`.
    story : str
        ``"step"``: show the one step after `steps`, opened, micro-step by micro-step, in at most 60 seconds.
        ``"short"``: 20 seconds with a sentence each for the purpose, one weight through one step, the training, and
        what was learnt. A recording has no such film.

    Returns
    -------
    pathlib.Path
        The film.

    Raises
    ------
    TypeMismatchError
        `x` neither trains nor plays.
    InputError
        Another suffix, an unsupported size or number, or a file that cannot be written.
    DivergedError
        The run diverged; the film shows it up to that step.
    MissingDependencyError
        Vispy or the ``video`` extra is missing; the message says what to install.

    Examples
    --------
    >>> sv.film(run, "learning.mp4", 2000)  # doctest: +SKIP
    """
    require_vispy()
    subject, file = subject_of(x), as_path(path)
    source, run = subject.source, x.run if isinstance(x, Scene) else x
    if not isinstance(run, Run) and not isinstance(source, Played):
        raise TypeMismatchError(f"film takes a Scene, a Run or a recording, got {type(x).__name__}")
    size = check_size(size)
    film_class(file)
    fps = integer("film: fps", fps, 1, 240)
    check_fps(file, fps)
    check_target(file)
    if story not in STORIES:
        raise InputError(f"film: story: got {story!r:.60}; allowed: {listing(STORIES)}")
    if story == SHORT and not isinstance(run, Run):
        raise InputError("film: story 'short' shows a run while it trains, not a recording; allowed: a Scene or a Run")
    canvas = (Stage if story == SHORT else Canvas)(subject, size, presenting(theme, presenter), cmap)
    if story == STEP:
        if isinstance(run, Run):
            run.step(integer("film: steps", 0 if steps is None else steps, 0))
        with Reel([file], canvas, fps) as reel:
            film_of_step(reel, canvas)
    elif isinstance(run, Run):
        steady = x.steps_a_frame if isinstance(x, Scene) else None
        steps = integer("film: steps", STEPS if steps is None else steps, 0)
        short = ShortFilm(canvas, run, x.story if isinstance(x, Scene) else None) if isinstance(canvas, Stage) else None
        with film_of_training(run, steps, [file], canvas, fps, duration, steady=steady, keeps=KEEPS, short=short) as (
            reel,
            stops,
        ):
            for stop in () if reel.failures else stops:
                run.step(stop - run.steps)
    else:
        assert isinstance(source, Played)
        last = len(source.steps) - 1 if steps is None else integer("film: steps", steps, 1, len(source.steps)) - 1
        stops_of_record = pace(last, duration, fps, source.recorded_rehearsal(last))  # the change of each step
        with Reel([file], canvas, fps) as reel:
            for _ in frames_of_record(source, stops_of_record, reel):
                pass
    for failure in reel.failures:
        raise InputError(failure)
    return file


@contextmanager
def film_of_training(
    run: Run, steps: int, paths: Sequence[Path], canvas: Canvas, fps: int, duration: float, *,
    steady: int | None = None, stopped: Callable[[], bool] = lambda: False,
    keeps: tuple[type[BaseException], ...] = (DivergedError,), short: ShortFilm | None = None,
) -> Iterator[tuple[Reel, Iterator[int]]]:  # fmt: skip
    """Yield the film's reel, and the steps to train to, one after another. Each is a frame; the last always is.

    The film is paced by how much changes, which is rehearsed on a copy of the run until `stopped()`. An exception in
    `keeps` ends the films, which stay complete up to there. The colours have one range for the whole film. In a `short`
    film, the training is one beat.
    """
    first, last = run.steps, run.steps + steps
    known = rehearse(run, steps, stopped=stopped)
    stops = pace(steps, duration, fps, known, steady=steady)
    if short is not None:
        stops = pace(steps, SECONDS["run"], fps, known, rest=0.0)
    paces, ended = steps_a_frame(stops, fps), False
    error: BaseException | None = None
    with Reel(paths, canvas, fps) as reel:
        if short is not None:
            short.opening(reel, stopped)
        canvas.bench.colouring.least = 0.0 if known is None else known.extent

        def frames() -> Iterator[int]:
            nonlocal ended
            for number, stop in enumerate(stops):
                yield first + int(stop)
                ended = bool(stop == stops[-1])  # then the numbers are exact, as in a still
                words = f"at the end  ·  {run.engine}" if ended else _pace_text(run, float(paces[number]), fps)
                if not reel.add(words if short is None else short.words(), exact=ended):
                    break
            if run.steps < last:  # training continues after a failed film
                yield last

        try:
            yield reel, frames()
        except keeps as raised:
            error = raised
        if short is not None:
            short.ending(reel)
        elif not ended:  # stopped early: the film ends with the present state
            reel.add(str(run.engine), exact=True)
    if error is not None:
        raise error


def film_of_step(reel: Reel, canvas: Canvas, stopped: Callable[[], bool] = lambda: False) -> None:
    """Film the step after the current one, as it plays in a window, until `stopped()`."""
    subject, bench, end = canvas.bench.subject, canvas.bench, 0.0
    walk = Walk(open_step(subject, alone=True in sides(subject)), subject, subject.frame())
    for at, seconds in enumerate(pass_seconds(walk), start=1):
        micro_step, end = walk.micro_step_at(at), end + seconds
        with offscreen():
            bench.step_drawing.show(micro_step, seconds=seconds)
        while reel.frames < round(end * reel.fps):
            if not reel.add(micro_step.headline.removeprefix("paused "), micro_step.frame) or stopped():
                return


def frames_of_record(source: Played, stops: NDArray[np.int64], reel: Reel) -> Iterator[int]:
    """Film a recording at the places `stops`; yield the number of frames done."""
    for number, place in enumerate(stops):
        source.show_frame(int(place))
        if not reel.add(words_of_record(source)):
            return
        yield number + 1


def words_of_record(source: Played) -> str:
    """Return the second line of the HUD for a recording."""
    facts = source.facts
    return "  ·  ".join(filter(None, ("recording", source.spread, "" if facts is None else facts.engine)))


def _pace_text(run: Run, pace: float, fps: int) -> str:
    shown, possible = pace * fps, full_speed(run)
    rate = speed_of(shown)
    if shown <= possible:
        speed = f"{rate} of {speed_of(possible)} steps/s"
    else:  # a film is no slower than its plan, however long it took to compute
        speed = f"{rate} steps/s, computed at {speed_of(possible)} steps/s"
    a_frame = speed_of(pace)
    return f"pace {a_frame} step{'' if a_frame == '1' else 's'} a frame  ·  {speed}  ·  {run.engine}"


class Reel:
    """The films of a run, as a context manager. A film that cannot be written ends; the others continue."""

    def __init__(self, paths: Sequence[Path], canvas: Canvas, fps: int) -> None:
        self.frames, self.fps = 0, fps
        self.failures: list[str] = []
        self.written: list[Path] = []
        self._paths, self._canvas, self._films = paths, canvas, dict[Path, Film]()

    def __enter__(self) -> Self:
        for path in self._paths:
            with self._catching_errors(path):
                self._films[path] = film_class(path)(path, self._canvas.size, self.fps).__enter__()
        return self

    def add(self, pace_text: str, frame: Frame | None = None, *, exact: bool = False) -> bool:
        """Add one picture of the run, `exact` as in a still; return whether a film is left."""
        if self._films:
            picture = self._canvas.picture(pace_text, None if exact else 1 / self.fps, frame)
            self.frames += 1
            for path, film in [*self._films.items()]:
                with self._catching_errors(path):
                    film.add(picture)
        return bool(self._films)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for path, film in [*self._films.items()]:
            with self._catching_errors(path):
                film.__exit__(kind, error, trace)
                self.written += [path] if kind is None else []

    @contextmanager
    def _catching_errors(self, path: Path) -> Iterator[None]:
        """Turn a disk or encoder error into a line of `failures`, and delete the unfinished film."""
        try:
            yield
        except (OSError, ScalarvizError) as error:
            lines = (line.strip() for line in str(error).splitlines())
            said = next(filter(None, lines), type(error).__name__)
            self.failures.append(f"the film could not be written: {said}")
            if (film := self._films.pop(path, None)) is not None:
                with suppress(OSError, ScalarvizError):
                    film.__exit__(type(error), error, error.__traceback__)
