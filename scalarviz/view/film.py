"""`film`: a run while it trains, or a recording, as a film; and what draws films and pictures offscreen."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Self

import numpy as np
from numpy.typing import NDArray

from ..checks import integer
from ..errors import DivergedError, InputError, ScalarvizError, TypeMismatchError
from ..io import check_target, save_picture, write_bytes
from ..io.atomic import as_path
from ..run import Run, Scene
from ..run.engines import full_speed
from ..run.sources.played import Played, rehearse
from .described import words_of
from .ink.gl import require_vispy
from .ink.places import check_size
from .ink.theme import Theme, presenting
from .out.files import Film, check_fps, film_of, kind_of
from .out.offscreen import offscreen
from .out.vector import SVG, svg_of_bench
from .shown.subject import standing, subject_of
from .watch.pace import DURATION, FPS, pace, steps_a_frame
from .workbench import Workbench

STEPS = 1000
"""Steps that a run does for a film of which nothing else is said."""


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
) -> Path:
    """Film a run while it trains, or a recording as it was.

    Frames are spread so that as much is seen in each; what comes is tried beforehand on a copy of the run.

    Parameters
    ----------
    x : Scene, Run, recording or two of them
    path : path-like
        Ends in ``.mp4`` or ``.gif``. The file appears when it is whole.
    steps : int, optional
        Steps that the run does (1,000); of a recording, the number of its frames that are shown (all).
    size : (int, int)
        Width and height in pixels, from 160 to 8192.
    fps : int
        Frames a second.
    duration : float
        Seconds.
    theme, cmap, presenter
        As of :func:`scalarviz.view.render`.

    Returns
    -------
    pathlib.Path
        The film.

    Raises
    ------
    TypeMismatchError
        `x` neither trains nor plays.
    InputError
        Another suffix, sizes and numbers that a film cannot have, or a file that cannot be written.
    DivergedError
        The run diverged; the film shows it up to there.
    MissingDependencyError
        Without vispy or the ``video`` extra; the message says what to install.

    Examples
    --------
    >>> sv.film(run, "learning.mp4", 2000)  # doctest: +SKIP
    """
    require_vispy()
    subject, file = subject_of(x), as_path(path)
    source, run = subject.source, x.run if isinstance(x, Scene) else x
    if not isinstance(run, Run) and not isinstance(source, Played):
        raise TypeMismatchError(f"film: a Scene, a Run or a recording is filmed, got {type(x).__name__}")
    size = check_size(size)
    kind_of(file)
    fps = integer("film: fps", fps, 1, 240)
    check_fps(file, fps)
    check_target(file)
    stopped: BaseException | None = None
    painter = Painter(partial(Workbench, subject), size, presenting(theme, presenter), cmap)
    if isinstance(run, Run):
        steady = x.steps_a_frame if isinstance(x, Scene) else None
        steps = integer("film: steps", STEPS if steps is None else steps, 0)
        with film_of_training(run, steps, [file], painter, fps, duration, steady=steady) as (reel, stops):
            try:
                for stop in () if reel.failure else stops:
                    run.step(stop - run.steps)
            except (DivergedError, KeyboardInterrupt) as error:  # what was filmed is kept
                stopped = error
    else:
        assert isinstance(source, Played)
        last = len(source.steps) - 1 if steps is None else integer("film: steps", steps, 1, len(source.steps)) - 1
        stops_of_record = pace(last, duration, fps, source.seen(last))  # what there is to see
        with Reel([file], painter, fps) as reel:
            for _ in frames_of_record(source, stops_of_record, reel):
                pass
    if stopped is not None:
        raise stopped
    if reel.failure:
        raise InputError(reel.failure)
    return file


@contextmanager
def film_of_training(
    run: Run, steps: int, paths: Sequence[Path], painter: Painter, fps: int, duration: float, *,
    steady: int | None = None, stopped: Callable[[], bool] = lambda: False,
) -> Iterator[tuple[Reel, Iterator[int]]]:  # fmt: skip
    """Films of the coming steps, and the steps to train to, one after another: each is a frame, the last always there.

    A film is paced by what will be seen, which is tried beforehand on a copy of the run until `stopped()`.
    """
    first, last = run.steps, run.steps + steps
    known = None if steady else rehearse(run, steps, stopped=stopped)
    stops = pace(steps, duration, fps, known, steady=steady)
    paces, ended = steps_a_frame(stops, fps), False
    with Reel(paths, painter, fps) as reel:

        def frames() -> Iterator[int]:
            nonlocal ended
            for number, stop in enumerate(stops):
                yield first + int(stop)
                ended = bool(stop == stops[-1])  # then every number is that of a still
                words = f"at the end  ·  {run.engine}" if ended else _pace_text(run, float(paces[number]), fps)
                if not reel.add(words, exact=ended):
                    break
            if run.steps < last:  # a film that failed ends no training
                yield last

        yield reel, frames()
        if not ended:  # stopped on the way: a film ends with how it stands
            reel.add(str(run.engine), exact=True)


def frames_of_record(source: Played, stops: NDArray[np.int64], reel: Reel) -> Iterator[int]:
    """Film a recording at the places `stops`; yields how many frames are done."""
    for number, place in enumerate(stops):
        source.stand(int(place))
        if not reel.add(words_of_record(source)):
            return
        yield number + 1


def words_of_record(source: Played) -> str:
    """The second line of the HUD over a recording."""
    facts = source.facts
    return "  ·  ".join(filter(None, ("recording", source.spread, "" if facts is None else facts.engine)))


def _pace_text(run: Run, pace: float, fps: int) -> str:
    shown, possible = pace * fps, full_speed(run)
    rate = f"{shown:,.0f}" if shown >= 10 else f"{shown:.2g}"
    if shown <= possible:
        speed = f"{rate} of {possible:,.0f} steps/s"
    else:  # a film is no slower than its plan, however long it took to compute
        speed = f"{rate} steps/s, computed at {possible:,.0f} steps/s"
    a_frame = f"{pace:,.0f}" if pace >= 10 else f"{pace:.2g}"
    return f"pace {a_frame} step{'' if a_frame == '1' else 's'} a frame  ·  {speed}  ·  {run.engine}"


class Painter:
    """Draws whatever has a workbench, at one size, offscreen."""

    def __init__(
        self, make: Callable[[tuple[int, int], Theme, str | None], Workbench], size: tuple[int, int], theme: Theme,
        cmap: str | None = None, tell: Callable[[str], object] = lambda line: None, name: str = "",
    ) -> None:  # fmt: skip
        self._screen, self.size, self._tell, self._name = offscreen(), size, tell, name
        with self._screen:
            self._bench = make(size, theme, cmap)

    def picture(self, pace_text: str, seconds: float | None) -> NDArray[np.uint8]:
        """The run as it stands, `seconds` after the last picture (None: exactly): uint8 (H, W, 3)."""
        self._update(pace_text, seconds)
        return self._screen.render(self._bench.draw, self.size)

    def write(self, path: str | os.PathLike[str], pace_text: str, step: int | None = None) -> Path:
        """Write the run as it stands, or stood at `step`: as SVG, or as the kind of picture that the name ends in."""
        if as_path(path).suffix.lower() == SVG:
            with self._screen, standing(self._bench.subject.source, step):
                self._update(pace_text, None)
                subject = self._bench.subject
                frame, counted = subject.frame(), subject.source.counted
                words = words_of(self._name or "weights", frame, counted, which=subject.step_loss)
                write_bytes(path, svg_of_bench(self._bench, words).encode())
        else:
            save_picture(path, self.still(pace_text, step))
        return Path(path)

    def still(self, pace_text: str, step: int | None = None) -> NDArray[np.uint8]:
        """The same drawn at twice the size and averaged, for smooth edges; of another `step`, if one is given."""
        fine = 2 if 2 * max(self.size) <= self._screen.longest else 1
        with self._screen:
            self._bench.resize(self.size, supersample=fine)
        with standing(self._bench.subject.source, step):
            self._update(pace_text, None)
        return self._screen.render(self._bench.draw, self.size, supersample=fine)

    def _update(self, pace_text: str, seconds: float | None) -> None:
        with self._screen:
            self._bench.update(self._bench.subject.frame(), pace_text, seconds)
        told = self._bench.side.ground.notes  # what a panel of the scene's own could not paint
        for line in told:
            self._tell(line)
        told.clear()


class Reel:
    """The films of a run; a context manager. A film that cannot be written ends; the training goes on without it."""

    def __init__(self, paths: Sequence[Path], painter: Painter, fps: int) -> None:
        self.failure, self.frames, self.fps = "", 0, fps
        self._paths, self._painter = paths, painter
        self._stack, self._films = ExitStack(), list[Film]()

    def __enter__(self) -> Self:
        with self._told():
            size = self._painter.size
            self._films = [self._stack.enter_context(film_of(path, size, self.fps)) for path in self._paths]
        return self

    def add(self, pace_text: str, *, exact: bool = False) -> bool:
        """One more frame: the run as it stands, `exact` as in a still. Returns whether there is still a film."""
        if self.failure:
            return False
        picture = self._painter.picture(pace_text, None if exact else 1 / self.fps)
        with self._told():
            for film in self._films:
                film.add(picture)
            self.frames += 1
        return not self.failure

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._told():
            self._stack.__exit__(kind, error, trace)

    @contextmanager
    def _told(self) -> Iterator[None]:
        """Turn an error of the disk or the encoder into `failure`, and leave no half film behind."""
        try:
            yield
        except (OSError, ScalarvizError) as error:
            lines = (line.strip() for line in str(error).splitlines())
            self.failure = (
                self.failure or f"the film could not be written: {next(filter(None, lines), type(error).__name__)}"
            )
            with suppress(OSError, ScalarvizError):
                self._stack.__exit__(type(error), error, error.__traceback__)
