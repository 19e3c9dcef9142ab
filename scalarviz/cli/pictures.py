"""The film and the pictures that a run leaves: which, whether they can be made here, and making them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import InputError, MissingDependencyError, ScalarvizError, listing
from ..io import check_target, save_picture
from ..io.pictures import FORMATS

if TYPE_CHECKING:
    from ..run.scene.scene import Scene
    from .painter import Painter

FOLDER = Path("out")
FILM, FILMS = ".mp4", (".mp4", ".gif")


@dataclass(slots=True)
class Outputs:
    """What is to be written of the picture.

    Attributes
    ----------
    films, stills : list of Path
    options : SceneOptions
        Size, frames a second, duration and colour map.
    notes : list of str
        What the user should know beforehand.
    failures : list of str
        Why files that were asked for, or usually made, are missing.
    """

    films: list[Path]
    stills: list[Path]
    options: Any
    notes: list[str] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    _painter: Painter | None = None

    @contextmanager
    def film(self, scene: Scene, steps: int, stopped: Callable[[], bool] = lambda: False) -> Iterator[Iterator[int]]:
        """Steps to train to, one after another; each film gets a frame for every one. The last one is always there.

        A film is paced by what will be seen, which is tried beforehand on a copy of the run until `stopped()`.
        """
        run = scene.run
        first, last = run.steps, run.steps + steps
        if not self.films:
            yield iter([last])
            return
        from ..run.sources.played import rehearse
        from ..view.watch.pace import pace, steps_a_frame
        from .painter import Painter, Reel

        fps = self.options.fps
        steady = scene.steps_a_frame
        known = None if steady else rehearse(run, steps, stopped=stopped)
        stops = pace(steps, self.options.duration, fps, known, steady=steady)
        paces = steps_a_frame(stops, fps)
        painter = self._painter = Painter.of(scene, self.options)
        with Reel(self.films, painter, self.options.size, fps) as reel:

            def frames() -> Iterator[int]:
                for number, stop in enumerate(stops):
                    yield first + int(stop)
                    if not reel.add(_pace_text(scene, float(paces[number]), fps)):
                        break
                if run.steps < last:  # a film that failed ends no training
                    yield last

            yield frames()
            if not reel.frames:  # interrupted in the first frame: a film shows at least how it stands
                reel.add(str(run.engine))
        if reel.failure:
            self.failures.append(reel.failure)
            self.films = []

    def pictures(self, scene: Scene) -> list[Path]:
        """Write the stills; returns every file of the picture that was written, films included."""
        written = list(self.films)
        if self.stills:
            from .painter import Painter

            painter = self._painter or Painter.of(scene, self.options)  # the film's has gathered the test curve
            speed = f"{scene.run.full_speed:,.0f} steps/s  ·  {scene.run.engine}"
            try:
                image = painter.still(speed, self.options.at)
            except InputError as error:  # it was stopped before that step
                self.failures.append(f"no picture of --at {self.options.at}: {error}")
                return written
            for path in self.stills:
                try:
                    save_picture(path, image)
                    written.append(path)
                except ScalarvizError as error:
                    self.failures.append(str(error))
        return written


def _pace_text(scene: Scene, pace: float, fps: int) -> str:
    run = scene.run
    if pace == 0:
        return f"at the end  ·  {run.engine}"
    shown, possible = pace * fps, run.full_speed
    rate = f"{shown:,.0f}" if shown >= 10 else f"{shown:.2g}"
    if shown <= possible:
        speed = f"{rate} of {possible:,.0f} steps/s"
    else:  # a film is no slower than its plan, however long it took to compute
        speed = f"{rate} steps/s, computed at {possible:,.0f}"
    a_frame = f"{pace:,.0f}" if pace >= 10 else f"{pace:.2g}"
    return f"pace {a_frame} step{'' if a_frame == '1' else 's'} a frame  ·  {speed}  ·  {run.engine}"


def plan_outputs(name: str, options: Any) -> Outputs:
    """Which films and pictures a run will leave.

    Raises
    ------
    InputError
        A name that ends in neither a film's nor a picture's suffix, or that cannot be written; more frames a second
        than a film can have.
    MissingDependencyError
        A film that was asked for by name, without the ``video`` extra.
    """
    outputs = _named(options) if options.out or options.headless else _usual(name, options)
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
    stills = [path for path in options.out if path.suffix.lower() in FORMATS]
    for path in options.out:
        if path not in films and path not in stills:
            raise InputError(f"--out {path}: allowed are a film ({listing(FILMS)}) or a picture ({listing(FORMATS)})")
        check_target(path)
    if films:
        from ..view.film import check_video
        from ..view.gif import check_fps

        check_video()
        for path in films:
            check_fps(path, options.fps)
    return Outputs(films, stills, options)


def _even_sides(films: list[Path], size: tuple[int, int]) -> list[str]:
    """What is said of a film that cannot have the size that was asked for."""
    if not films or not any(side % 2 for side in size):
        return []
    from ..view.film import even

    said, asked = ("{}x{}".format(*sides) for sides in (even(size), size))
    return [
        f"{path} has {said} pixels: an MP4 has even sides, its last row or column stands twice; a .gif has {asked}"
        for path in films if path.suffix.lower() == FILM
    ]  # fmt: skip


def _usual(name: str, options: Any) -> Outputs:
    outputs = Outputs([FOLDER / f"{name}{FILM}"], [FOLDER / f"{name}.png"], options)
    for path in (*outputs.films, *outputs.stills):
        check_target(path)
    try:
        from ..view.film import check_video

        check_video()
    except MissingDependencyError as error:
        outputs.films = []
        outputs.notes.append(f"no film, only a picture: {error}")
    return outputs


def check_moment(options: Any, first: int) -> None:
    """Refuse a moment that no picture will show.

    Raises
    ------
    InputError
        A step that will not be done from step `first` on, or none of the files is a picture.
    """
    if options.at is None:
        return
    last = first + options.steps
    if not first <= options.at <= last:
        raise InputError(f"--at {options.at}: allowed are {first:,} to {last:,}, the steps of this run")
    if not any(path.suffix.lower() in FORMATS for path in options.out):
        raise InputError(f"--at is of a picture: name one with --out, as --out step-{options.at}.png")


def check_heard(options: Any) -> None:
    """Refuse flags of a window or a film where the others leave neither.

    Raises
    ------
    InputError
        One was given.
    """
    if not (options.headless or options.out):
        return
    if options.paused:
        options.refuse(["paused"], f"no window opens beside {'--headless' if options.headless else '--out'}")
    if not any(path.suffix.lower() in FILMS for path in options.out):
        options.refuse(["fps"], "no film is made; name one with --out, as --out film.mp4")


def check_look(options: Any) -> None:
    """Refuse a colour map that does not exist, drawn or not; UnknownNameError lists those there are.

    Maps are known where vispy is; without it nothing is drawn anyway.
    """
    if not options.given("cmap"):
        return
    try:
        from ..view.draw.maps import get_map
    except MissingDependencyError:
        return
    get_map(options.cmap)


def _no_drawing(options: Any) -> str:
    """Why nothing can be drawn here, or an empty text."""
    try:
        from ..view.window.offscreen import available
    except MissingDependencyError as error:
        return str(error)
    return available()
