"""Films and pictures of a run: choose them, check that they can be made, and write them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import InputError, MissingDependencyError, ScalarvizError, listing
from ..io import check_target
from ..io.pictures import FORMATS
from .console import say

if TYPE_CHECKING:
    from ..run.scene.scene import Scene
    from ..view.out.canvas import Canvas

FOLDER = Path("out")
FILM, FILMS = ".mp4", (".mp4", ".gif")
STILLS = (*FORMATS, ".svg")


@dataclass(slots=True)
class Outputs:
    """The films and stills to write."""

    films: list[Path]
    stills: list[Path]
    options: Any
    notes: list[str] = field(default_factory=list)  # messages for the user before the run
    failures: list[str] = field(default_factory=list)  # why files that were asked for, or usually made, are missing
    _canvas: Canvas | None = None

    @contextmanager
    def film(self, scene: Scene, steps: int, stopped: Callable[[], bool] = lambda: False) -> Iterator[Iterator[int]]:
        """Yield the steps to train to, in order, the last one included; each film gets a frame at every one.

        The pace of a film follows the visible changes. They are measured beforehand on a copy of the run, until
        `stopped()`.
        """
        if not self.films:
            yield iter([scene.run.steps + steps])
            return
        from ..view.render import SHORT, Reel, film_of_step, film_of_training
        from ..view.short_film import ShortFilm, Stage

        options, films, self.films, reel = self.options, self.films, [], None
        try:
            if films_one_step(options):
                yield iter([scene.run.steps + steps])
                canvas = self._canvas_of(scene)
                with Reel(films, canvas, options.fps) as reel:
                    film_of_step(reel, canvas, stopped)
                return
            short = None
            if options.story == SHORT:
                stage = canvas_of(scene.name, options, scene, Stage)
                assert isinstance(stage, Stage)
                short = ShortFilm(stage, scene.run, scene.story)
            canvas = self._canvas_of(scene) if short is None else short.stage
            with film_of_training(
                scene.run, steps, films, canvas, options.fps, options.duration,
                steady=scene.steps_a_frame, stopped=stopped, short=short,
            ) as (reel, stops):  # fmt: skip
                yield stops
        finally:  # a diverged run leaves its film, too
            if reel is not None:
                self.failures += reel.failures
                self.films = reel.written

    def _canvas_of(self, scene: Scene) -> Canvas:
        """Return one canvas for the film and the pictures, because the film's has gathered the test curve."""
        if self._canvas is None:
            self._canvas = canvas_of(scene.name, self.options, scene)
        return self._canvas

    def pictures(self, scene: Scene) -> list[Path]:
        """Write the stills; return every written file, films included."""
        written = list(self.films)
        if self.stills:
            canvas = self._canvas_of(scene)
            if self.options.at is not None and self.options.at > scene.run.steps:
                why = f"the run stopped at step {scene.run.steps:,}"
                self.failures.append(f"--at {self.options.at}: no picture was written, because {why}")
                return written
            written += self.drawn(canvas, str(scene.run.engine))
        return written

    def drawn(self, canvas: Canvas, words: str) -> list[Path]:
        """Write the stills with a few words on each; return the written ones."""
        written = []
        for path in self.stills:
            try:
                written.append(canvas.write(path, words, self.options.at))
            except ScalarvizError as error:
                self.failures.append(str(error))
        return written


def canvas_of(name: str, options: Any, x: object, kind: type[Canvas] | None = None) -> Canvas:
    """Return a canvas of a `kind` with the size and theme in `options`; `name` stands in messages."""
    from ..view.ink.theme import presenting
    from ..view.out.canvas import Canvas

    theme, cmap = presenting(options.theme, options.presenter), options.cmap if options.given("cmap") else None
    return (kind or Canvas)(x, options.size, theme, cmap, tell=lambda line: say(f"{name}: {line}"), name=name)


def plan_outputs(name: str, options: Any) -> Outputs:
    """Return the films and pictures of a run: those of `--out`, or the usual ones if no other file is asked for.

    InputError: a bad file name or frame rate.
    MissingDependencyError: a film was asked for by name, without the ``video`` extra.
    """
    recorded = options.html or getattr(options, "recording", None)  # a replay records nothing
    asked = options.out or options.headless or recorded
    outputs = _named(options) if asked else _usual(name, options)
    outputs.notes += _even_sides(outputs.films, options.size)
    if (outputs.films or outputs.stills) and (reason := _no_drawing(options)):
        outputs.films, outputs.stills = [], []
        if options.out:
            outputs.failures.append(reason)
        else:
            outputs.notes = [reason]
    return outputs


def _named(options: Any) -> Outputs:
    films = [path for path in options.out if path.suffix.lower() in FILMS]
    stills = [path for path in options.out if path.suffix.lower() in STILLS]
    for path in options.out:
        if path not in films and path not in stills:
            raise InputError(f"--out '{path}': give a film ({listing(FILMS)}) or picture ({listing(STILLS)})")
        check_target(path)
    if films:
        from ..view.out.files import check_fps, check_video

        check_video()
        for path in films:
            check_fps(path, options.fps)
    return Outputs(films, stills, options)


def _even_sides(films: list[Path], size: tuple[int, int]) -> list[str]:
    """Return messages about films that cannot have the requested size."""
    if not films or not any(side % 2 for side in size):
        return []
    from ..view.out.files import even_size

    said, asked = ("{}x{}".format(*sides) for sides in (even_size(size), size))
    return [
        f"{path} gets {said} pixels: an MP4 needs even sides, so its last row or column is repeated; a .gif keeps "
        f"{asked}"
        for path in films if path.suffix.lower() == FILM
    ]  # fmt: skip


def _usual(name: str, options: Any) -> Outputs:
    outputs = Outputs([FOLDER / f"{name}{FILM}"], [FOLDER / f"{name}.png"], options)
    for path in (*outputs.films, *outputs.stills):
        check_target(path)
    try:
        from ..view.out.files import check_video

        check_video()
    except MissingDependencyError as error:
        outputs.films = []
        outputs.notes.append(f"only a picture is written, no film: {error}")
    return outputs


def films_one_step(options: Any) -> bool:
    """Return whether the film shows one opened step; InputError if no film is made."""
    if options.story == "training":
        return False
    if not any(path.suffix.lower() in FILMS for path in options.out):
        raise InputError(f"--story {options.story} needs a film; add --out {options.story}.mp4")
    return bool(options.story == "step")


def check_moment(options: Any, first: int) -> None:
    """Refuse ``--at`` if the run, from step `first` on, does not reach that step, or if no picture is written."""
    if options.at is None:
        return
    last = first + options.steps
    if not first <= options.at <= last:
        raise InputError(f"--at {options.at}: give a step of this run, {first:,} to {last:,}")
    if not (films_one_step(options) or any(path.suffix.lower() in STILLS for path in options.out)):
        raise InputError(f"--at needs a picture; add --out step-{options.at}.png")


def check_unused_flags(options: Any) -> None:
    """Refuse flags of a window or a film if neither is made."""
    if not (options.headless or options.out):
        return
    if getattr(options, "story", "") == "short":  # a replay tells no story
        options.refuse(["duration"], "a short film has 20 seconds")
    if options.paused:
        options.refuse(["paused"], f"{'--headless' if options.headless else '--out'} opens no window")
    if not any(path.suffix.lower() in FILMS for path in options.out):
        options.refuse(["fps"], "no film is written; add --out film.mp4")


def check_look(options: Any) -> None:
    """Check that the colour map exists; UnknownNameError lists the known ones.

    Maps are known only with vispy; without it nothing is drawn anyway.
    """
    if not options.given("cmap"):
        return
    try:
        from ..view.ink.theme import get_map
    except MissingDependencyError:
        return
    get_map(options.cmap)


def _no_drawing(options: Any) -> str:
    """Return why nothing can be drawn here, or an empty text."""
    try:
        from ..view.out.offscreen import available
    except MissingDependencyError as error:
        return str(error)
    return available()
